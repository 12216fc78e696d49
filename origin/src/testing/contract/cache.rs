//! One story of the port, told to every adapter.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::adapters::redis::cache::RedisCache;
use crate::ports::cache::{
    Cache, Changes, End, Filling, Floors, Invalidation, Key, ListKey, Lives, Loaded, Move, Part, Put, Range, Stamp,
};
use crate::testing::memory_cache::Memory;

const SLOT: Slot = Slot::FIRST;
const LIVES: Lives =
    Lives { fresh: Duration::from_millis(400), kept: Duration::from_millis(1_000), claim: Duration::from_millis(300) };

fn id(number: u64) -> CommentId {
    CommentId::from_parts(1_700_000_000_000 + number, SLOT, 0, 0)
}

fn value(key: &Key, stamp: Stamp, version: u64, text: &str) -> Put {
    Put { key: key.clone(), stamp, version, value: text.into() }
}

fn void(key: &Key, version: u64) -> Changes {
    Changes { values: HashMap::from([(key.clone(), Invalidation { version, gone: false })]), ..Changes::default() }
}

/// What is believed, and what is there at all.
async fn look(cache: &dyn Cache, key: &Key) -> (Option<String>, Option<String>, Stamp) {
    let found = cache.get(SLOT, std::slice::from_ref(key)).await.unwrap().remove(0);
    let text = found.value.map(|bytes| String::from_utf8(bytes).unwrap());
    (text.clone().filter(|_| found.fresh), text, found.stamp)
}

/// `lose` makes a key vanish.
async fn values(cache: &dyn Cache, lose: impl AsyncFn(&Key)) {
    let (comment, subject) = (Key::Comment(id(1)), Key::Subject(SubjectKey::new("video", "2").unwrap()));
    let (fresh, kept, first) = look(cache, &comment).await;
    assert_eq!((fresh, kept), (None, None));
    let (.., same) = look(cache, &comment).await;
    assert_eq!(first, same, "whoever waits for the same value holds the same stamp");
    cache.put(SLOT, &[value(&comment, first, 5, "five")]).await.unwrap();
    assert_eq!(look(cache, &comment).await.0.as_deref(), Some("five"));

    // A slow reader does not put an older value over it, a newer one is taken.
    cache.put(SLOT, &[value(&comment, same, 4, "four")]).await.unwrap();
    assert_eq!(look(cache, &comment).await.0.as_deref(), Some("five"));
    cache.put(SLOT, &[value(&comment, same, 6, "six")]).await.unwrap();
    assert_eq!(look(cache, &comment).await.0.as_deref(), Some("six"));

    // Void: shown to those who have nothing else, and only what is newer is taken.
    let (.., before) = look(cache, &comment).await;
    cache.change(SLOT, &void(&comment, 7)).await.unwrap();
    let (fresh, kept, after) = look(cache, &comment).await;
    assert_eq!((fresh, kept.as_deref()), (None, Some("six")));
    cache.put(SLOT, &[value(&comment, before, 7, "seven before it was committed")]).await.unwrap();
    assert_eq!(look(cache, &comment).await.0, None);
    cache.put(SLOT, &[value(&comment, after, 7, "seven")]).await.unwrap();
    assert_eq!(look(cache, &comment).await.0.as_deref(), Some("seven"));
    cache.change(SLOT, &void(&comment, 6)).await.unwrap();
    assert_eq!(look(cache, &comment).await.0.as_deref(), Some("seven"), "it is newer than what is void");

    // A takedown voids the comments of the slot, and what is being loaded of them, and no more.
    let (.., mine) = look(cache, &subject).await;
    cache.put(SLOT, &[value(&subject, mine, 7, "subject")]).await.unwrap();
    let other = Key::Comment(id(2));
    let (.., slow) = look(cache, &other).await;
    let takedown = Changes { takedown: true, ..Changes::default() };
    cache.change(SLOT, &takedown).await.unwrap();
    cache.put(SLOT, &[value(&other, slow, 9, "old parent")]).await.unwrap();
    assert_eq!(look(cache, &other).await.1, None);
    let (fresh, _, again) = look(cache, &comment).await;
    assert_eq!(fresh, None);
    assert_eq!(look(cache, &subject).await.0.as_deref(), Some("subject"));
    cache.put(SLOT, &[value(&comment, again, 7, "seven again")]).await.unwrap();
    assert_eq!(look(cache, &comment).await.0.as_deref(), Some("seven again"));

    // Gone is gone, and bytes are bytes.
    let mut gone = void(&comment, 8);
    gone.values.values_mut().for_each(|void| void.gone = true);
    cache.change(SLOT, &gone).await.unwrap();
    let (_, kept, stamp) = look(cache, &comment).await;
    assert_eq!(kept, None);
    let bytes: Vec<u8> = (0..=255).collect();
    cache.put(SLOT, &[Put { key: comment.clone(), stamp, version: 8, value: bytes.clone() }]).await.unwrap();
    let many = cache.get(SLOT, &[comment.clone(), other, subject.clone()]).await.unwrap();
    assert_eq!(many[0].value.as_ref(), Some(&bytes));
    assert_eq!((many[1].fresh, many[2].fresh), (false, true));

    // What vanished takes nothing from those who asked before, also when somebody asked after.
    let lost = Key::Comment(id(4));
    let (.., slow) = look(cache, &lost).await;
    cache.change(SLOT, &void(&lost, 9)).await.unwrap();
    lose(&lost).await;
    cache.put(SLOT, &[value(&lost, slow, 8, "old")]).await.unwrap();
    let (_, kept, stamp) = look(cache, &lost).await;
    assert_eq!(kept, None);
    cache.put(SLOT, &[value(&lost, slow, 8, "old")]).await.unwrap();
    assert_eq!(look(cache, &lost).await.1, None);
    cache.put(SLOT, &[value(&lost, stamp, 9, "nine")]).await.unwrap();
    assert_eq!(look(cache, &lost).await.0.as_deref(), Some("nine"));

    // Without a version the stamp decides alone.
    let top = Key::TopReplies(id(1));
    let (.., stamp) = look(cache, &top).await;
    cache.put(SLOT, &[value(&top, stamp, 0, "a")]).await.unwrap();
    cache.put(SLOT, &[value(&top, stamp, 0, "b")]).await.unwrap();
    assert_eq!(look(cache, &top).await.0.as_deref(), Some("a"));

    // Nothing is believed for ever, nothing is kept for ever, and a stamp ends.
    let never = Key::Comment(id(3));
    let (.., slow) = look(cache, &never).await;
    tokio::time::sleep(LIVES.fresh.mul_f64(1.2)).await;
    cache.put(SLOT, &[value(&never, slow, 9, "too slow")]).await.unwrap();
    assert_eq!(look(cache, &never).await.1, None);
    let (fresh, kept, _) = look(cache, &subject).await;
    assert_eq!((fresh, kept.as_deref()), (None, Some("subject")));
    tokio::time::sleep(LIVES.kept).await;
    assert_eq!(look(cache, &subject).await.1, None);
}

fn down(beyond: Option<u64>, count: usize) -> Range {
    Range { ascending: false, beyond, count }
}

fn up(beyond: Option<u64>, count: usize) -> Range {
    Range { ascending: true, beyond, count }
}

fn floors(range: impl IntoIterator<Item = u64>) -> Vec<(u64, CommentId)> {
    range.into_iter().map(|floor| (floor, id(floor))).collect()
}

fn moves(list: &ListKey, version: u64, moved: &[(u64, bool)]) -> Changes {
    let moved = moved.iter().map(|(floor, listed)| (id(*floor), Move { floor: *floor, listed: *listed, version }));
    Changes { lists: HashMap::from([(list.clone(), moved.collect())]), ..Changes::default() }
}

async fn read(cache: &dyn Cache, list: &ListKey, range: Range) -> Option<Vec<(u64, CommentId)>> {
    cache.range(list, range).await.unwrap().filter(|found| found.fresh).map(|found| found.floors)
}

fn newest(low: u64, version: u64, of: impl IntoIterator<Item = u64>) -> Part {
    Part { end: End::Newest, low, high: None, version, floors: floors(of) }
}

async fn lists(cache: &dyn Cache) {
    let list = ListKey::Replies(id(9));
    assert_eq!(read(cache, &list, down(None, 3)).await, None);
    // What is not kept is not begun by an addition.
    cache.change(SLOT, &moves(&list, 1, &[(1, true)])).await.unwrap();
    assert_eq!(read(cache, &list, down(None, 1)).await, None);

    let filling = cache.begin(&list).await.unwrap();
    assert_eq!((filling.newest, filling.oldest), (None, None));
    assert!(cache.fill(&list, &filling, &newest(5, 9, 5..=9)).await.unwrap());
    assert_eq!(read(cache, &list, down(None, 5)).await, Some(floors((5..=9).rev())));
    assert_eq!(read(cache, &list, down(Some(8), 2)).await, Some(floors([7, 6])));
    assert_eq!(read(cache, &list, down(Some(8), 4)).await, None, "it goes on below what is loaded");
    assert_eq!(read(cache, &list, up(None, 2)).await, None);
    assert_eq!(read(cache, &list, up(Some(4), 2)).await, Some(floors([5, 6])));
    assert_eq!(read(cache, &list, up(Some(7), 9)).await, Some(floors([8, 9])), "it is open above");

    cache.change(SLOT, &moves(&list, 10, &[(10, true), (7, false), (4, true)])).await.unwrap();
    assert_eq!(read(cache, &list, down(None, 5)).await, Some(floors([10, 9, 8, 6, 5])), "4 is below what is loaded");
    // Reading ahead goes beside it, and then there is nothing below.
    let filling = cache.begin(&list).await.unwrap();
    assert_eq!(filling.newest, Some(Loaded { low: 5, high: None, entries: 5 }));
    let more = Part { high: Some(4), ..newest(0, 10, [2, 4]) };
    assert!(cache.fill(&list, &filling, &more).await.unwrap());
    assert_eq!(read(cache, &list, down(Some(6), 9)).await, Some(floors([5, 4, 2])));
    assert_eq!(read(cache, &list, up(None, 2)).await, Some(floors([2, 4])), "whole from either end");
    // What does not touch it takes its place.
    let filling = cache.begin(&list).await.unwrap();
    let oldest = Part { end: End::Oldest, low: 0, high: Some(2), version: 10, floors: floors([1, 2]) };
    assert!(cache.fill(&list, &filling, &oldest).await.unwrap());
    assert!(
        cache
            .fill(&list, &filling, &Part { low: 8, high: Some(9), floors: floors([8, 9]), ..oldest.clone() })
            .await
            .unwrap()
    );
    assert_eq!(cache.begin(&list).await.unwrap().oldest, Some(Loaded { low: 8, high: Some(9), entries: 2 }));

    // A change since the beginning: what was loaded may lack it.
    let filling = cache.begin(&list).await.unwrap();
    cache.change(SLOT, &moves(&list, 11, &[(11, true)])).await.unwrap();
    assert!(!cache.fill(&list, &filling, &newest(0, 10, [2, 4])).await.unwrap());
    // A move out of its order: nothing is known any more.
    cache.change(SLOT, &moves(&list, 9, &[(5, false)])).await.unwrap();
    assert_eq!(read(cache, &list, down(None, 1)).await, None);

    // An empty list is known to be empty, and ends.
    let filling = cache.begin(&list).await.unwrap();
    assert!(cache.fill(&list, &filling, &newest(0, 12, [])).await.unwrap());
    assert_eq!(read(cache, &list, down(None, 5)).await, Some(vec![]));
    tokio::time::sleep(LIVES.fresh.mul_f64(1.2)).await;
    let stale = cache.range(&list, down(None, 5)).await.unwrap();
    assert_eq!(stale, Some(Floors { floors: vec![], fresh: false }));
    assert!(!cache.fill(&list, &filling, &newest(0, 12, [])).await.unwrap(), "its time is over");

    assert!(cache.first(&list, Duration::from_millis(60)).await.unwrap());
    assert!(!cache.first(&list, Duration::from_millis(60)).await.unwrap());
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert!(cache.first(&list, Duration::from_millis(60)).await.unwrap());
}

/// A step of one who fills and of those who commit and read; numbers are reduced to what is there.
#[derive(Debug, Clone)]
enum Step {
    Publish,
    Hide(u64),
    Restore(u64),
    /// Tells the oldest (or, late, another) of what was committed and not told yet.
    Tell(u64),
    Begin,
    Load {
        descending: bool,
        count: usize,
    },
    Fill,
    Read {
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Publish),
        2 => (0u64..40).prop_map(Step::Hide),
        1 => (0u64..40).prop_map(Step::Restore),
        6 => prop_oneof![9 => Just(0u64), 1 => 1u64..4].prop_map(Step::Tell),
        3 => Just(Step::Begin),
        3 => (any::<bool>(), 1usize..12).prop_map(|(descending, count)| Step::Load { descending, count }),
        3 => Just(Step::Fill),
        4 => (any::<bool>(), prop::option::of(0u64..40), 1usize..9)
            .prop_map(|(ascending, beyond, count)| Step::Read { ascending, beyond, count }),
    ]
}

/// The list as the tables hold it, and who is at work on the cached one.
#[derive(Default)]
struct Model {
    version: u64,
    floors: u64,
    hidden: BTreeSet<u64>,
    untold: Vec<(u64, u64, bool)>,
    filling: Option<Filling>,
    part: Option<Part>,
}

impl Model {
    fn range(&self, range: Range) -> Vec<(u64, CommentId)> {
        let mut all: Vec<u64> = (1..=self.floors).filter(|floor| !self.hidden.contains(floor)).collect();
        if !range.ascending {
            all.reverse();
        }
        all.retain(|f| range.beyond.is_none_or(|b| if range.ascending { *f > b } else { *f < b }));
        floors(all.into_iter().take(range.count))
    }

    fn commit(&mut self, floor: u64, listed: bool) {
        self.version += 1;
        self.untold.push((self.version, floor, listed));
    }

    async fn step(&mut self, cache: &dyn Cache, list: &ListKey, step: Step) {
        match step {
            Step::Publish => {
                self.floors += 1;
                self.commit(self.floors, true);
            }
            Step::Hide(n) if self.floors > 0 => {
                let floor = n % self.floors + 1;
                if self.hidden.insert(floor) {
                    self.commit(floor, false);
                }
            }
            Step::Restore(n) if self.floors > 0 => {
                let floor = n % self.floors + 1;
                if self.hidden.remove(&floor) {
                    self.commit(floor, true);
                }
            }
            Step::Tell(n) if !self.untold.is_empty() => {
                let (version, floor, listed) = self.untold.remove(n as usize % self.untold.len());
                cache.change(list.slot(), &moves(list, version, &[(floor, listed)])).await.unwrap();
            }
            Step::Begin => (self.filling, self.part) = (Some(cache.begin(list).await.unwrap()), None),
            Step::Load { descending, count } if self.filling.is_some() => {
                let (end, version) = (if descending { End::Newest } else { End::Oldest }, self.version);
                let loaded = self.range(Range { ascending: !descending, beyond: None, count });
                let last = loaded.last().map(|(floor, _)| *floor).filter(|_| loaded.len() == count);
                let (low, high) = if descending { (last.unwrap_or(0), None) } else { (0, last) };
                self.part = Some(Part { end, low, high, version, floors: loaded });
            }
            Step::Fill => {
                if let (Some(filling), Some(part)) = (&self.filling, &self.part) {
                    cache.fill(list, filling, part).await.unwrap();
                }
            }
            Step::Read { ascending, beyond, count } => {
                let range = Range { ascending, beyond, count };
                let Some(found) = cache.range(list, range).await.unwrap() else { return };
                // What is told to be so must be so, but for what nobody has told yet.
                let untold: BTreeSet<u64> = self.untold.iter().map(|(_, floor, _)| *floor).collect();
                let told = |floors: Vec<(u64, CommentId)>| -> Vec<u64> {
                    floors.into_iter().map(|(floor, _)| floor).filter(|floor| !untold.contains(floor)).collect()
                };
                let reach = found.floors.last().map(|(floor, _)| *floor).filter(|_| found.floors.len() == count);
                let within =
                    |floor: u64| reach.is_none_or(|last| if ascending { floor <= last } else { floor >= last });
                let mut expected = told(self.range(Range { count: usize::MAX, ..range }));
                expected.retain(|floor| within(*floor));
                assert_eq!(told(found.floors), expected, "{range:?}");
            }
            _ => {}
        }
    }
}

/// Whatever is committed, told late and filled meanwhile: no id is lost and none invented.
fn windows(runtime: &tokio::runtime::Runtime, cases: u32, cache: &dyn Cache) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let next = std::sync::atomic::AtomicU64::new(10_000);
    runner
        .run(&prop::collection::vec(step(), 1..120), |steps| {
            let list = ListKey::Replies(id(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst)));
            runtime.block_on(async {
                let mut model = Model::default();
                for step in steps {
                    model.step(cache, &list, step).await;
                }
            });
            Ok(())
        })
        .unwrap();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn memory_tells_the_story() {
    let runtime = runtime();
    runtime.block_on(async {
        let cache = Memory::living(LIVES);
        values(&cache, async |key| cache.lose_one(SLOT, key)).await;
        lists(&Memory::living(LIVES)).await;
    });
    windows(&runtime, 512, &Memory::new());
}

#[test]
fn redis_tells_the_story() {
    let runtime = runtime();
    let Some(server) = runtime.block_on(crate::testing::redis_server::Server::start()) else { return };
    let cache = runtime.block_on(async {
        let connection = crate::adapters::redis::Connection::open(&server.urls()).await.unwrap();
        let open = |lives, name: &str| RedisCache::living(connection.clone(), name, lives);
        let cache = open(LIVES, "values");
        values(&cache, async |key| cache.lose_one(SLOT, key).await).await;
        lists(&open(LIVES, "lists")).await;
        open(Lives::DEFAULT, "windows")
    });
    windows(&runtime, 128, &cache);
}
