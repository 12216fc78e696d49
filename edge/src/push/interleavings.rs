//! The law of order, under every interleaving the generator finds: reads, pushes, refreshes, stores
//! and the feed run as they would in one isolate, each stopped wherever it waits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use gailou_shared::id::CommentId;
use gailou_shared::shows::Shows;
use gailou_shared::wire::{Changed, ChangesDoc};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;
use crate::forward::Asker;
use crate::memory::Bounded;
use crate::ports::doubles::{Gate, Hand, START_MS, of};
use crate::ports::{Clock as _, Later, Origin, OriginFailed, PageStore, StoreFailed, Task, ToOrigin};
use crate::{Config, lock, pages};

const KEYS: [&str; 2] = ["/v1/subjects/article/7/comments", "/v1/members/7/comments"];

/// The origin's one subject.
#[derive(Default)]
struct Thread {
    version: u64,
    visible: Vec<u64>,
    feed: BTreeMap<u64, u64>,
    down: bool,
}

/// All there is outside the isolate. Every call stops a few times before it takes effect and a few
/// times after; how often, the generator has said.
struct Outside {
    thread: Mutex<Thread>,
    stops: Mutex<VecDeque<u8>>,
    clock: Arc<Hand>,
}

impl Outside {
    async fn stop(&self) {
        let count = {
            let mut stops = lock(&self.stops);
            let count = stops.pop_front().unwrap_or(0);
            stops.push_back(count);
            count
        };
        for _ in 0..count {
            let mut stopped = false;
            poll_fn(|_| if std::mem::replace(&mut stopped, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }

    /// The page of `key` now: its body is version, time, and what it shows.
    fn page(&self, key: &str) -> FromOrigin {
        let (thread, made) = (lock(&self.thread), self.clock.now_ms());
        let version = if key == KEYS[0] { thread.version } else { 0 };
        let shows: Vec<_> = thread.visible.iter().map(|id| (*id, thread.version)).collect();
        let text: Vec<_> = shows.iter().map(|(id, at)| format!("{id}:{at}")).collect();
        let headers = [
            ("cdn-cache-control", "max-age=1, stale-while-revalidate=2, stale-if-error=86400"),
            ("x-gailou-hot-for", "5"),
            ("x-gailou-shows", &*Shows::new(shows.iter().copied()).unwrap().encode()),
            ("x-gailou-made", &made.to_string()),
            ("x-gailou-version", &version.to_string()),
        ];
        of(200, &format!("{version} {made} {}", text.join(" ")), &headers)
    }
}

struct Far(Arc<Outside>);

impl Origin for Far {
    fn send(&self, request: ToOrigin, _: u32) -> Task<'_, Result<FromOrigin, OriginFailed>> {
        Box::pin(async move {
            self.0.stop().await;
            let answer = match (lock(&self.0.thread).down, request.path_query.starts_with(ChangesDoc::PATH)) {
                (true, _) => Err(OriginFailed("down".into())),
                (false, false) => Ok(None),
                (false, true) => Ok(Some(self.0.clock.now_ms())),
            };
            let answer = answer.map(|feed| match feed {
                None => self.0.page(&request.path_query),
                Some(now) => {
                    let rows = lock(&self.0.thread).feed.clone().into_iter();
                    let rows = rows.map(|(id, version)| Changed { id: CommentId::new(id).unwrap(), version });
                    of(200, &ChangesDoc::new(now, now - 120_000, 0, 0, rows.collect()).to_json(), &[])
                }
            });
            self.0.stop().await;
            answer
        })
    }
}

/// A store that may show what it held before the last put.
struct Slow {
    outside: Arc<Outside>,
    values: Mutex<HashMap<String, Vec<Bytes>>>,
    lags: bool,
}

impl PageStore for Slow {
    fn get<'a>(&'a self, key: &'a str) -> Task<'a, Result<Option<Bytes>, StoreFailed>> {
        Box::pin(async move {
            self.outside.stop().await;
            let found = lock(&self.values).get(key).and_then(|values| {
                let behind =
                    if self.lags { lock(&self.outside.stops).front().map_or(0, |n| usize::from(*n)) } else { 0 };
                values.iter().rev().nth(behind.min(values.len() - 1)).cloned()
            });
            self.outside.stop().await;
            Ok(found)
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> Task<'a, Result<(), StoreFailed>> {
        Box::pin(async move {
            self.outside.stop().await;
            lock(&self.values).entry(key.to_owned()).or_default().push(value);
            self.outside.stop().await;
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> Task<'a, Result<(), StoreFailed>> {
        Box::pin(async move {
            lock(&self.values).remove(key);
            Ok(())
        })
    }
}

#[derive(Default)]
struct Tasks(Mutex<Vec<Task<'static, ()>>>);

impl Later for Tasks {
    fn run(&self, task: Task<'static, ()>) {
        lock(&self.0).push(task);
    }
}

impl Tasks {
    /// Takes one of them a step further.
    fn step(&self, which: usize) {
        let mut task = {
            let mut tasks = lock(&self.0);
            if tasks.is_empty() {
                return;
            }
            let at = which % tasks.len();
            tasks.swap_remove(at)
        };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            lock(&self.0).push(task);
        }
    }
}

/// What readers have been shown, and whether it was lawful.
#[derive(Default)]
struct Seen {
    newest: BTreeMap<&'static str, (u64, u64)>,
    answers: usize,
    wrong: Vec<String>,
}

impl Seen {
    fn note(&mut self, edge: &Edge, key: &'static str, body: &str) {
        self.answers += 1;
        let mut parts = body.split(' ');
        let order = (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse().unwrap());
        let newest = self.newest.entry(key).or_default();
        if order < *newest {
            self.wrong.push(format!("{key}: {order:?} after {newest:?}"));
        }
        *newest = order.max(*newest);
        let shows = parts.filter_map(|part| part.split_once(':'));
        let shows = shows.map(|(id, at)| (id.parse().unwrap(), at.parse().unwrap()));
        let shows = Shows::new(shows).unwrap().encode();
        let late = 2 * START_MS;
        let headers =
            [("cdn-cache-control", "max-age=1"), ("x-gailou-shows", &*shows), ("x-gailou-made", &late.to_string())];
        let page = Page::from_origin(&of(200, "x", &headers), late).unwrap();
        if !edge.feed.passes(&page) {
            self.wrong.push(format!("{key}: {body} shows what the feed has taken down"));
        }
    }
}

/// One run of an isolate; one that forgets its pages all the time is one that cannot keep order.
fn run(stops: Vec<u8>, steps: Vec<(u8, u16)>, forgets: bool) -> Seen {
    let clock = Arc::new(Hand(START_MS.into()));
    let outside = Arc::new(Outside {
        thread: Mutex::new(Thread { version: 1, visible: vec![1, 2, 3], ..Thread::default() }),
        stops: Mutex::new(stops.into()),
        clock: Arc::clone(&clock),
    });
    let slow = |lags| Arc::new(Slow { outside: Arc::clone(&outside), values: Mutex::default(), lags });
    let tasks = Arc::new(Tasks::default());
    let world = World {
        origin: Arc::new(Far(Arc::clone(&outside))),
        colo: slow(false),
        global: slow(true),
        later: Arc::clone(&tasks) as _,
        limiter: Arc::<Gate>::default(),
        clock: Arc::clone(&clock) as _,
    };
    let edge = Arc::new(Edge::new(Config::default(), 7));
    let asker = Asker { id: edge.request_id(None), client: None };
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut pushed: Vec<(Key, Arc<Page>)> = Vec::new();
    for (what, n) in steps {
        let key = KEYS[usize::from(n) % 2];
        if forgets {
            *lock(&edge.memory) = Bounded::new(0, 0);
        }
        match what {
            0 => {
                let mut thread = lock(&outside.thread);
                thread.version += 1;
                let id = thread.version + 10;
                thread.visible.push(id);
            }
            1 => {
                let mut thread = lock(&outside.thread);
                thread.version += 1;
                let (version, count) = (thread.version, thread.visible.len());
                if count > 0 {
                    let at = usize::from(n) % count;
                    // Every third is edited, and stays.
                    let id = if n % 3 == 0 { thread.visible[at] } else { thread.visible.remove(at) };
                    thread.feed.insert(id, version);
                }
            }
            2 => {
                let mut thread = lock(&outside.thread);
                thread.down = n % 4 == 0;
            }
            3 => {
                clock.0.fetch_add(u64::from(n) % 2_500, std::sync::atomic::Ordering::Relaxed);
            }
            // A push is made now, and comes some time later, perhaps twice.
            4 => {
                let page = Page::from_origin(&outside.page(key), clock.now_ms()).unwrap();
                pushed.push((key::page(key, None).unwrap(), Arc::new(page)));
            }
            5 if !pushed.is_empty() => {
                let one = pushed[usize::from(n) % pushed.len()].clone();
                let (edge, world) = (Arc::clone(&edge), world.clone());
                tasks.run(Box::pin(async move {
                    let _ = store(&edge, &world, Push { pages: vec![one], words: None }).await;
                }));
            }
            6 => {
                if let Some(page) = pages::at_hand(&edge, key, clock.now_ms()) {
                    lock(&seen).note(&edge, key, std::str::from_utf8(&page.body).unwrap());
                }
            }
            7 | 8 => {
                let ask = pages::Ask {
                    key: key::page(key, None).unwrap(),
                    if_none_match: None,
                    no_cache: n % 5 == 0,
                    asker: asker.clone(),
                };
                let (edge, world, seen) = (Arc::clone(&edge), world.clone(), Arc::clone(&seen));
                tasks.run(Box::pin(async move {
                    let answer = pages::read(&edge, &world, ask).await;
                    if answer.status() == 200 {
                        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
                        lock(&seen).note(&edge, key, std::str::from_utf8(&body).unwrap());
                    }
                }));
            }
            _ => tasks.step(n.into()),
        }
    }
    let mut rest = 0..20_000;
    while !lock(&tasks.0).is_empty() {
        tasks.step(rest.next().expect("everything ends"));
    }
    std::mem::take(&mut *lock(&seen))
}

fn any_stops() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0u8..4, 1..30)
}

fn any_steps() -> impl Strategy<Value = Vec<(u8, u16)>> {
    prop::collection::vec((0u8..14, any::<u16>()), 20..250)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    /// Within one isolate no older page is served after a newer one, and none that shows a comment
    /// the isolate's feed has taken down, whatever overlaps whatever.
    #[test]
    fn no_older_page_after_a_newer_one_and_none_that_is_void(stops in any_stops(), steps in any_steps()) {
        let seen = run(stops, steps, false);
        prop_assert!(seen.wrong.is_empty(), "{} answers: {:?}", seen.answers, seen.wrong);
    }
}

/// The runs are such that order is lost where nothing keeps it.
#[test]
fn the_law_can_be_broken() {
    let mut runner = TestRunner::deterministic();
    let mut runs = (0..1_500).map(|_| {
        let (stops, steps) = (any_stops(), any_steps()).new_tree(&mut runner).expect("a case").current();
        run(stops, steps, true)
    });
    assert!(runs.any(|seen| seen.wrong.iter().any(|wrong| wrong.contains(" after "))));
}
