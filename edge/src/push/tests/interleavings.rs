//! The promise of order under generated interleavings: reads, pushes, refreshes, stores and the feed run
//! as in one isolate, and each may be suspended wherever it awaits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use gailou_shared::cache_tags::{CacheTags, TaggedComment};
use gailou_shared::id::CommentId;
use gailou_shared::wire::{ChangeFeedPage, ChangedComment};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::forward::Requester;
use crate::lru::WeightedLru;
use crate::ports::{EdgeClock as _, Origin, OriginError, OriginRequest, PageStore, PortFuture, WaitUntil};
use crate::push::*;
use crate::testing::{FakeLimiter, ManualEdgeClock, START_MS, origin_answer};
use crate::{EdgeConfig, lock, page_service};

const PAGE_KEYS: [&str; 2] = ["/v1/subjects/article/7/comments", "/v1/members/7/comments"];

/// The origin's one subject.
#[derive(Default)]
struct ScriptedThread {
    version: u64,
    visible: Vec<u64>,
    feed: BTreeMap<u64, u64>,
    down: bool,
}

/// Everything outside the isolate. Each call is suspended a generated number of times before it takes
/// effect, and again after.
struct SteppedBackend {
    thread: Mutex<ScriptedThread>,
    stops: Mutex<VecDeque<u8>>,
    clock: Arc<ManualEdgeClock>,
}

impl SteppedBackend {
    async fn suspend(&self) {
        let count = {
            let mut stops = lock(&self.stops);
            let count = stops.pop_front().unwrap_or(0);
            stops.push_back(count);
            count
        };
        for _ in 0..count {
            let mut is_suspended = false;
            poll_fn(|_| if std::mem::replace(&mut is_suspended, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }

    /// The page of `key` now: its body is version, time, and what it shows.
    fn page(&self, key: &str) -> OriginResponse {
        let (thread, made) = (lock(&self.thread), self.clock.now_ms());
        let version = if key == PAGE_KEYS[0] { thread.version } else { 0 };
        let shows: Vec<_> = thread.visible.iter().map(|id| (*id, thread.version)).collect();
        let text: Vec<_> = shows.iter().map(|(id, at)| format!("{id}:{at}")).collect();
        let headers = [
            ("cdn-cache-control", "max-age=1, stale-while-revalidate=2, stale-if-error=86400"),
            ("x-gailou-hot-for", "5"),
            ("x-gailou-shows", &*encode_tags(shows.iter().copied())),
            ("x-gailou-made", &made.to_string()),
            ("x-gailou-version", &version.to_string()),
        ];
        origin_answer(200, &format!("{version} {made} {}", text.join(" ")), &headers)
    }
}

struct SteppedOrigin(Arc<SteppedBackend>);

impl Origin for SteppedOrigin {
    fn send(&self, request: OriginRequest, _: u32) -> PortFuture<'_, Result<OriginResponse, OriginError>> {
        Box::pin(async move {
            self.0.suspend().await;
            let answer = match (lock(&self.0.thread).down, request.path_query.starts_with(ChangeFeedPage::ROUTE_PATH)) {
                (true, _) => Err(OriginError::NoAnswer("down".into())),
                (false, false) => Ok(None),
                (false, true) => Ok(Some(self.0.clock.now_ms())),
            };
            let answer = answer.map(|feed| match feed {
                None => self.0.page(&request.path_query),
                Some(now) => {
                    let rows = lock(&self.0.thread).feed.clone().into_iter();
                    let rows = rows.map(|(id, version)| ChangedComment { id: CommentId::new(id).unwrap(), version });
                    origin_answer(200, &ChangeFeedPage::new(now, now - 120_000, 0, 0, rows.collect()).to_json(), &[])
                }
            });
            self.0.suspend().await;
            answer
        })
    }
}

/// A store that may still show an older value after a put.
struct SteppedStore {
    outside: Arc<SteppedBackend>,
    values: Mutex<HashMap<String, Vec<Bytes>>>,
    lags: bool,
}

impl PageStore for SteppedStore {
    fn get<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<Option<Bytes>, PageStoreError>> {
        Box::pin(async move {
            self.outside.suspend().await;
            let found = lock(&self.values).get(key).and_then(|values| {
                let behind =
                    if self.lags { lock(&self.outside.stops).front().map_or(0, |n| usize::from(*n)) } else { 0 };
                values.iter().rev().nth(behind.min(values.len() - 1)).cloned()
            });
            self.outside.suspend().await;
            Ok(found)
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> PortFuture<'a, Result<(), PageStoreError>> {
        Box::pin(async move {
            self.outside.suspend().await;
            lock(&self.values).entry(key.to_owned()).or_default().push(value);
            self.outside.suspend().await;
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<(), PageStoreError>> {
        Box::pin(async move {
            lock(&self.values).remove(key);
            Ok(())
        })
    }
}

#[derive(Default)]
struct SteppedTasks(Mutex<Vec<PortFuture<'static, ()>>>);

impl WaitUntil for SteppedTasks {
    fn spawn(&self, task: PortFuture<'static, ()>) {
        lock(&self.0).push(task);
    }
}

impl SteppedTasks {
    /// Polls one of the tasks once.
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

/// What readers received, and what of it broke the promise.
#[derive(Default)]
struct Observations {
    newest: BTreeMap<&'static str, (u64, u64)>,
    answers: usize,
    wrong: Vec<String>,
}

impl Observations {
    fn record(&mut self, isolate: &Isolate, key: &'static str, body: &str) {
        self.answers += 1;
        let mut parts = body.split(' ');
        let order = (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse().unwrap());
        let newest = self.newest.entry(key).or_default();
        if order < *newest {
            self.wrong.push(format!("{key}: {order:?} after {newest:?}"));
        }
        *newest = order.max(*newest);
        let shows = parts.filter_map(|part| part.split_once(':'));
        let shows = encode_tags(shows.map(|(id, at)| (id.parse().unwrap(), at.parse().unwrap())));
        let late = 2 * START_MS;
        let headers =
            [("cdn-cache-control", "max-age=1"), ("x-gailou-shows", &*shows), ("x-gailou-made", &late.to_string())];
        let page = CachedPage::from_origin(&origin_answer(200, "x", &headers), late).unwrap();
        if !isolate.change_feed.allows(&page) {
            self.wrong.push(format!("{key}: {body} shows a comment that the feed has taken down"));
        }
    }
}

/// One run of an isolate. With `forgets` it loses its pages all the time and cannot keep order.
fn run(stops: Vec<u8>, steps: Vec<(u8, u16)>, forgets: bool) -> Observations {
    let clock = Arc::new(ManualEdgeClock(START_MS.into()));
    let outside = Arc::new(SteppedBackend {
        thread: Mutex::new(ScriptedThread { version: 1, visible: vec![1, 2, 3], ..ScriptedThread::default() }),
        stops: Mutex::new(stops.into()),
        clock: Arc::clone(&clock),
    });
    let slow = |lags| Arc::new(SteppedStore { outside: Arc::clone(&outside), values: Mutex::default(), lags });
    let tasks = Arc::new(SteppedTasks::default());
    let ports = Ports {
        origin: Arc::new(SteppedOrigin(Arc::clone(&outside))),
        colo_cache: slow(false),
        global_store: slow(true),
        wait_until: Arc::clone(&tasks) as _,
        limiter: Arc::<FakeLimiter>::default(),
        clock: Arc::clone(&clock) as _,
    };
    let isolate = Arc::new(Isolate::new(EdgeConfig::default(), 7));
    let requester = Requester { id: isolate.request_id(None), client: None };
    let seen = Arc::new(Mutex::new(Observations::default()));
    let mut pushed: Vec<(PageKey, Arc<CachedPage>)> = Vec::new();
    for (what, n) in steps {
        let key = PAGE_KEYS[usize::from(n) % 2];
        if forgets {
            *lock(&isolate.pages) = WeightedLru::new(0, 0);
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
                    // Every third comment is edited instead of removed.
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
            // A push is rendered now and arrives later, perhaps twice.
            4 => {
                let page = CachedPage::from_origin(&outside.page(key), clock.now_ms()).unwrap();
                pushed.push((PageKey::parse(key, None).unwrap(), Arc::new(page)));
            }
            5 if !pushed.is_empty() => {
                let one = pushed[usize::from(n) % pushed.len()].clone();
                let (isolate, ports) = (Arc::clone(&isolate), ports.clone());
                tasks.spawn(Box::pin(async move {
                    let _ = store_batch(&isolate, &ports, PushBatch { pages: vec![one], dictionary: None }).await;
                }));
            }
            6 => {
                if let Some(page) = page_service::fresh_in_memory(&isolate, key, clock.now_ms()) {
                    lock(&seen).record(&isolate, key, std::str::from_utf8(&page.body).unwrap());
                }
            }
            7 | 8 => {
                let ask = page_service::PageRequest {
                    key: PageKey::parse(key, None).unwrap(),
                    if_none_match: None,
                    no_cache: n % 5 == 0,
                    has_written: false,
                    requester: requester.clone(),
                };
                let (isolate, ports, seen) = (Arc::clone(&isolate), ports.clone(), Arc::clone(&seen));
                tasks.spawn(Box::pin(async move {
                    let answer = page_service::answer_page(&isolate, &ports, ask).await;
                    if answer.status() == 200 {
                        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
                        lock(&seen).record(&isolate, key, std::str::from_utf8(&body).unwrap());
                    }
                }));
            }
            _ => tasks.step(n.into()),
        }
    }
    let mut steps_left = 0..20_000;
    while !lock(&tasks.0).is_empty() {
        tasks.step(steps_left.next().expect("everything ends"));
    }
    std::mem::take(&mut *lock(&seen))
}

/// The tags of comments of one subject with these versions.
fn encode_tags(comments: impl Iterator<Item = (u64, u64)>) -> String {
    let comments = comments.map(|(id, version)| TaggedComment { subject: 7, id, version });
    CacheTags::new(comments).unwrap().encode()
}

fn any_stops() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0u8..4, 1..30)
}

fn any_steps() -> impl Strategy<Value = Vec<(u8, u16)>> {
    prop::collection::vec((0u8..14, any::<u16>()), 20..250)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    /// Under any interleaving, one isolate serves no older page after a newer one, and no page with a
    /// comment that its feed has taken down.
    #[test]
    fn no_older_page_follows_a_newer_one_and_no_void_page_is_served(stops in any_stops(), steps in any_steps()) {
        let seen = run(stops, steps, false);
        prop_assert!(seen.wrong.is_empty(), "{} answers: {:?}", seen.answers, seen.wrong);
    }
}

/// The generated runs break the promise in an isolate that forgets its pages.
#[test]
fn forgetful_isolate_breaks_the_order() {
    let mut runner = TestRunner::deterministic();
    let mut runs = (0..1_500).map(|_| {
        let (stops, steps) = (any_stops(), any_steps()).new_tree(&mut runner).expect("a case").current();
        run(stops, steps, true)
    });
    assert!(runs.any(|seen| seen.wrong.iter().any(|wrong| wrong.contains(" after "))));
}
