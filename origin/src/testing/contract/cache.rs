//! The contract of the shared cache, on every adapter.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::adapters::redis::cache::RedisCache;
use crate::domain::row::FloorRange;
use crate::ports::cache::{
    Cache, CacheChanges, CacheKey, CacheLifetimes, CachePut, CacheStamp, CachedFloors, CachedList, Invalidation,
    ListEnd, ListFilling, ListMove, ListPart, LoadedWindow,
};
use crate::testing::memory_cache::MemoryCache;

const SLOT: Slot = Slot::FIRST;
const LIFETIMES: CacheLifetimes = CacheLifetimes {
    freshness: Duration::from_millis(400),
    retention: Duration::from_millis(1_000),
    stamp: Duration::from_millis(300),
};

fn id(number: u64) -> CommentId {
    CommentId::from_parts(1_700_000_000_000 + number, SLOT, 0, 0)
}

fn value(key: &CacheKey, stamp: CacheStamp, version: u64, text: &str) -> CachePut {
    CachePut { key: key.clone(), stamp, version, value: text.into() }
}

fn invalidate(key: &CacheKey, version: u64) -> CacheChanges {
    CacheChanges {
        values: HashMap::from([(key.clone(), Invalidation { version, is_gone: false })]),
        ..CacheChanges::default()
    }
}

/// The fresh value, the value that is there at all, and the stamp.
async fn read_value(cache: &dyn Cache, key: &CacheKey) -> (Option<String>, Option<String>, CacheStamp) {
    let found = cache.get_values(SLOT, std::slice::from_ref(key)).await.unwrap().remove(0);
    let text = found.value.map(|bytes| String::from_utf8(bytes).unwrap());
    (text.clone().filter(|_| found.is_fresh), text, found.stamp)
}

/// Values: stamps, versions, generations and lifetimes. `lose` makes a key vanish.
async fn check_values(cache: &dyn Cache, lose: impl AsyncFn(&CacheKey)) {
    let (comment, subject) = (CacheKey::Comment(id(1)), CacheKey::Subject(SubjectKey::new("video", "2").unwrap()));
    let (fresh, kept, first) = read_value(cache, &comment).await;
    assert_eq!((fresh, kept), (None, None));
    let (.., same) = read_value(cache, &comment).await;
    assert_eq!(first, same, "readers of the same missing value have the same stamp");
    cache.put_values(SLOT, &[value(&comment, first, 5, "five")]).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0.as_deref(), Some("five"));

    // A slow reader does not put an older value over it, a newer one is taken.
    cache.put_values(SLOT, &[value(&comment, same, 4, "four")]).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0.as_deref(), Some("five"));
    cache.put_values(SLOT, &[value(&comment, same, 6, "six")]).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0.as_deref(), Some("six"));

    // Invalidated: served only as stale, and replaced only by what is newer.
    let (.., before) = read_value(cache, &comment).await;
    cache.apply_changes(SLOT, &invalidate(&comment, 7)).await.unwrap();
    let (fresh, kept, after) = read_value(cache, &comment).await;
    assert_eq!((fresh, kept.as_deref()), (None, Some("six")));
    cache.put_values(SLOT, &[value(&comment, before, 7, "seven before it was committed")]).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0, None);
    cache.put_values(SLOT, &[value(&comment, after, 6, "six, of a database that the slot has left")]).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0, None);
    cache.put_values(SLOT, &[value(&comment, after, 7, "seven")]).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0.as_deref(), Some("seven"));
    cache.apply_changes(SLOT, &invalidate(&comment, 6)).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0.as_deref(), Some("seven"), "it is newer than the invalidation");

    // A takedown invalidates the slot's comments, also those being loaded, and nothing else.
    let (.., mine) = read_value(cache, &subject).await;
    cache.put_values(SLOT, &[value(&subject, mine, 7, "subject")]).await.unwrap();
    let other = CacheKey::Comment(id(2));
    let (.., slow) = read_value(cache, &other).await;
    let takedown = CacheChanges { takedown: true, ..CacheChanges::default() };
    cache.apply_changes(SLOT, &takedown).await.unwrap();
    cache.put_values(SLOT, &[value(&other, slow, 9, "old parent")]).await.unwrap();
    assert_eq!(read_value(cache, &other).await.1, None);
    let (fresh, _, again) = read_value(cache, &comment).await;
    assert_eq!(fresh, None);
    assert_eq!(read_value(cache, &subject).await.0.as_deref(), Some("subject"));
    cache.put_values(SLOT, &[value(&comment, again, 7, "seven again")]).await.unwrap();
    assert_eq!(read_value(cache, &comment).await.0.as_deref(), Some("seven again"));

    // A value that is gone is not served as stale. Values are any bytes.
    let mut gone = invalidate(&comment, 8);
    gone.values.values_mut().for_each(|invalidation| invalidation.is_gone = true);
    cache.apply_changes(SLOT, &gone).await.unwrap();
    let (_, kept, stamp) = read_value(cache, &comment).await;
    assert_eq!(kept, None);
    let bytes: Vec<u8> = (0..=255).collect();
    cache
        .put_values(SLOT, &[CachePut { key: comment.clone(), stamp, version: 8, value: bytes.clone() }])
        .await
        .unwrap();
    let many = cache.get_values(SLOT, &[comment.clone(), other, subject.clone()]).await.unwrap();
    assert_eq!(many[0].value.as_ref(), Some(&bytes));
    assert_eq!((many[1].is_fresh, many[2].is_fresh), (false, true));

    // A key that was lost accepts nothing from earlier readers, also after a later read.
    let lost = CacheKey::Comment(id(4));
    let (.., slow) = read_value(cache, &lost).await;
    cache.apply_changes(SLOT, &invalidate(&lost, 9)).await.unwrap();
    lose(&lost).await;
    cache.put_values(SLOT, &[value(&lost, slow, 8, "old")]).await.unwrap();
    let (_, kept, stamp) = read_value(cache, &lost).await;
    assert_eq!(kept, None);
    cache.put_values(SLOT, &[value(&lost, slow, 8, "old")]).await.unwrap();
    assert_eq!(read_value(cache, &lost).await.1, None);
    cache.put_values(SLOT, &[value(&lost, stamp, 9, "nine")]).await.unwrap();
    assert_eq!(read_value(cache, &lost).await.0.as_deref(), Some("nine"));

    // Without a version the stamp decides alone.
    let top = CacheKey::TopReplies(id(1));
    let (.., stamp) = read_value(cache, &top).await;
    cache.put_values(SLOT, &[value(&top, stamp, 0, "a")]).await.unwrap();
    cache.put_values(SLOT, &[value(&top, stamp, 0, "b")]).await.unwrap();
    assert_eq!(read_value(cache, &top).await.0.as_deref(), Some("a"));

    // Freshness, retention and stamps expire.
    let never = CacheKey::Comment(id(3));
    let (.., slow) = read_value(cache, &never).await;
    tokio::time::sleep(LIFETIMES.freshness.mul_f64(1.2)).await;
    cache.put_values(SLOT, &[value(&never, slow, 9, "too slow")]).await.unwrap();
    assert_eq!(read_value(cache, &never).await.1, None);
    let (fresh, kept, _) = read_value(cache, &subject).await;
    assert_eq!((fresh, kept.as_deref()), (None, Some("subject")));
    tokio::time::sleep(LIFETIMES.retention).await;
    assert_eq!(read_value(cache, &subject).await.1, None);
}

fn down(beyond: Option<u64>, count: usize) -> FloorRange {
    FloorRange { ascending: false, beyond, count }
}

fn up(beyond: Option<u64>, count: usize) -> FloorRange {
    FloorRange { ascending: true, beyond, count }
}

fn floors(range: impl IntoIterator<Item = u64>) -> Vec<(u64, CommentId)> {
    range.into_iter().map(|floor| (floor, id(floor))).collect()
}

fn moves(list: &CachedList, version: u64, moved: &[(u64, bool)]) -> CacheChanges {
    let moved =
        moved.iter().map(|(floor, is_listed)| (id(*floor), ListMove { floor: *floor, is_listed: *is_listed, version }));
    CacheChanges { lists: HashMap::from([(list.clone(), moved.collect())]), ..CacheChanges::default() }
}

async fn read(cache: &dyn Cache, list: &CachedList, range: FloorRange) -> Option<Vec<(u64, CommentId)>> {
    cache.read_floors(None, list, range).await.unwrap().filter(|found| found.is_fresh).map(|found| found.floors)
}

fn newest(low: u64, version: u64, of: impl IntoIterator<Item = u64>) -> ListPart {
    ListPart { end: ListEnd::Newest, low, high: None, version, floors: floors(of) }
}

/// What is forgotten is not served, and what was begun before cannot be put.
async fn check_forgotten_slot(cache: &dyn Cache) {
    let key = CacheKey::Comment(CommentId::from_parts(9, Slot::FIRST, 0, 0));
    let (.., stamp) = read_value(cache, &key).await;
    let put = |stamp| CachePut { key: key.clone(), stamp, version: 3, value: b"lost".to_vec() };
    cache.put_values(Slot::FIRST, &[put(stamp)]).await.unwrap();
    assert_eq!(read_value(cache, &key).await.0.as_deref(), Some("lost"));
    cache.forget_slot(Slot::FIRST).await.unwrap();
    let (fresh, stale, _) = read_value(cache, &key).await;
    assert_eq!((fresh, stale), (None, None));
    cache.put_values(Slot::FIRST, &[put(stamp)]).await.unwrap();
    assert_eq!(read_value(cache, &key).await.0, None, "it was read before");
}

/// Lists: windows, moves and fillings.
async fn check_lists(cache: &dyn Cache) {
    let list = CachedList::Replies(id(9));
    assert_eq!(read(cache, &list, down(None, 3)).await, None);
    // A move does not create a window.
    cache.apply_changes(SLOT, &moves(&list, 1, &[(1, true)])).await.unwrap();
    assert_eq!(read(cache, &list, down(None, 1)).await, None);

    let filling = cache.begin_fill(&list).await.unwrap();
    assert_eq!((filling.newest, filling.oldest), (None, None));
    assert!(cache.fill_part(&list, &filling, &newest(5, 9, 5..=9)).await.unwrap());
    assert_eq!(read(cache, &list, down(None, 5)).await, Some(floors((5..=9).rev())));
    assert_eq!(read(cache, &list, down(Some(8), 2)).await, Some(floors([7, 6])));
    assert_eq!(read(cache, &list, down(Some(8), 4)).await, None, "the window does not reach so far");
    assert_eq!(read(cache, &list, up(None, 2)).await, None);
    assert_eq!(read(cache, &list, up(Some(4), 2)).await, Some(floors([5, 6])));
    assert_eq!(read(cache, &list, up(Some(7), 9)).await, Some(floors([8, 9])), "the window is open above");

    cache.apply_changes(SLOT, &moves(&list, 10, &[(10, true), (7, false), (4, true)])).await.unwrap();
    assert_eq!(read(cache, &list, down(None, 5)).await, Some(floors([10, 9, 8, 6, 5])), "4 is below the window");
    // A part that touches the window joins it; then the list is complete.
    let filling = cache.begin_fill(&list).await.unwrap();
    assert_eq!(filling.newest, Some(LoadedWindow { low: 5, high: None, entries: 5 }));
    let more = ListPart { high: Some(4), ..newest(0, 10, [2, 4]) };
    assert!(cache.fill_part(&list, &filling, &more).await.unwrap());
    assert_eq!(read(cache, &list, down(Some(6), 9)).await, Some(floors([5, 4, 2])));
    assert_eq!(read(cache, &list, up(None, 2)).await, Some(floors([2, 4])), "complete from either end");
    // A part that does not touch the window replaces it.
    let filling = cache.begin_fill(&list).await.unwrap();
    let oldest = ListPart { end: ListEnd::Oldest, low: 0, high: Some(2), version: 10, floors: floors([1, 2]) };
    assert!(cache.fill_part(&list, &filling, &oldest).await.unwrap());
    assert!(
        cache
            .fill_part(&list, &filling, &ListPart { low: 8, high: Some(9), floors: floors([8, 9]), ..oldest.clone() })
            .await
            .unwrap()
    );
    assert_eq!(cache.begin_fill(&list).await.unwrap().oldest, Some(LoadedWindow { low: 8, high: Some(9), entries: 2 }));

    // The list changed since the filling began: the part may lack the change.
    let filling = cache.begin_fill(&list).await.unwrap();
    cache.apply_changes(SLOT, &moves(&list, 11, &[(11, true)])).await.unwrap();
    assert!(!cache.fill_part(&list, &filling, &newest(0, 10, [2, 4])).await.unwrap());
    // A move that arrives after a later one drops the window.
    cache.apply_changes(SLOT, &moves(&list, 9, &[(5, false)])).await.unwrap();
    assert_eq!(read(cache, &list, down(None, 1)).await, None);

    // An empty list is cached as empty, and expires.
    let filling = cache.begin_fill(&list).await.unwrap();
    assert!(cache.fill_part(&list, &filling, &newest(0, 12, [])).await.unwrap());
    assert_eq!(read(cache, &list, down(None, 5)).await, Some(vec![]));
    tokio::time::sleep(LIFETIMES.freshness.mul_f64(1.2)).await;
    let stale = cache.read_floors(None, &list, down(None, 5)).await.unwrap();
    assert_eq!(stale, Some(CachedFloors { floors: vec![], is_fresh: false, version: 12 }));
    assert!(!cache.fill_part(&list, &filling, &newest(0, 12, [])).await.unwrap(), "the stamp has expired");

    assert!(cache.claim_rebuild(&list, Duration::from_millis(60)).await.unwrap());
    assert!(!cache.claim_rebuild(&list, Duration::from_millis(60)).await.unwrap());
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert!(cache.claim_rebuild(&list, Duration::from_millis(60)).await.unwrap());
}

/// A step of a process that fills a list, or of others that commit and read. Numbers are taken modulo
/// what there is.
#[derive(Debug, Clone)]
enum ListStep {
    Publish,
    Hide(u64),
    Restore(u64),
    /// Applies the oldest commit that was not applied yet, or a later one.
    Apply(u64),
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

fn step() -> impl Strategy<Value = ListStep> {
    prop_oneof![
        4 => Just(ListStep::Publish),
        2 => (0u64..40).prop_map(ListStep::Hide),
        1 => (0u64..40).prop_map(ListStep::Restore),
        6 => prop_oneof![9 => Just(0u64), 1 => 1u64..4].prop_map(ListStep::Apply),
        3 => Just(ListStep::Begin),
        3 => (any::<bool>(), 1usize..12).prop_map(|(descending, count)| ListStep::Load { descending, count }),
        3 => Just(ListStep::Fill),
        4 => (any::<bool>(), prop::option::of(0u64..40), 1usize..9)
            .prop_map(|(ascending, beyond, count)| ListStep::Read { ascending, beyond, count }),
    ]
}

/// The list as the tables hold it, and the state of its filling.
struct ListModel {
    subject: SubjectKey,
    version: u64,
    floors: u64,
    hidden: BTreeSet<u64>,
    unapplied: Vec<(u64, u64, bool)>,
    filling: Option<ListFilling>,
    part: Option<ListPart>,
}

impl ListModel {
    fn new(subject: SubjectKey) -> Self {
        let (hidden, unapplied) = (BTreeSet::new(), vec![]);
        Self { subject, version: 0, floors: 0, hidden, unapplied, filling: None, part: None }
    }

    fn range(&self, range: FloorRange) -> Vec<(u64, CommentId)> {
        let mut all: Vec<u64> = (1..=self.floors).filter(|floor| !self.hidden.contains(floor)).collect();
        if !range.ascending {
            all.reverse();
        }
        all.retain(|f| range.beyond.is_none_or(|b| if range.ascending { *f > b } else { *f < b }));
        floors(all.into_iter().take(range.count))
    }

    fn commit(&mut self, floor: u64, listed: bool) {
        self.version += 1;
        self.unapplied.push((self.version, floor, listed));
    }

    async fn step(&mut self, cache: &dyn Cache, list: &CachedList, step: ListStep) {
        match step {
            ListStep::Publish => {
                self.floors += 1;
                self.commit(self.floors, true);
            }
            ListStep::Hide(n) if self.floors > 0 => {
                let floor = n % self.floors + 1;
                if self.hidden.insert(floor) {
                    self.commit(floor, false);
                }
            }
            ListStep::Restore(n) if self.floors > 0 => {
                let floor = n % self.floors + 1;
                if self.hidden.remove(&floor) {
                    self.commit(floor, true);
                }
            }
            ListStep::Apply(n) if !self.unapplied.is_empty() => {
                let (version, floor, listed) = self.unapplied.remove(n as usize % self.unapplied.len());
                let commits = HashMap::from([(self.subject.clone(), BTreeSet::from([version]))]);
                let changes = CacheChanges { commits, ..moves(list, version, &[(floor, listed)]) };
                cache.apply_changes(list.slot(), &changes).await.unwrap();
            }
            ListStep::Begin => (self.filling, self.part) = (Some(cache.begin_fill(list).await.unwrap()), None),
            ListStep::Load { descending, count } if self.filling.is_some() => {
                let (end, version) = (if descending { ListEnd::Newest } else { ListEnd::Oldest }, self.version);
                let loaded = self.range(FloorRange { ascending: !descending, beyond: None, count });
                let last = loaded.last().map(|(floor, _)| *floor).filter(|_| loaded.len() == count);
                let (low, high) = if descending { (last.unwrap_or(0), None) } else { (0, last) };
                self.part = Some(ListPart { end, low, high, version, floors: loaded });
            }
            ListStep::Fill => {
                if let (Some(filling), Some(part)) = (&self.filling, &self.part) {
                    cache.fill_part(list, filling, part).await.unwrap();
                }
            }
            ListStep::Read { ascending, beyond, count } => {
                let range = FloorRange { ascending, beyond, count };
                let Some(found) = cache.read_floors(Some(&self.subject), list, range).await.unwrap() else { return };
                assert!(found.version <= self.version, "{} of {}", found.version, self.version);

                // The answer must equal the tables, except for later commits that were not applied yet.
                let later = self.unapplied.iter().filter(|(version, ..)| *version > found.version);
                let unapplied: BTreeSet<u64> = later.map(|(_, floor, _)| *floor).collect();
                let applied = |floors: Vec<(u64, CommentId)>| -> Vec<u64> {
                    floors.into_iter().map(|(floor, _)| floor).filter(|floor| !unapplied.contains(floor)).collect()
                };
                let last_floor = found.floors.last().map(|(floor, _)| *floor).filter(|_| found.floors.len() == count);
                let is_covered =
                    |floor: u64| last_floor.is_none_or(|last| if ascending { floor <= last } else { floor >= last });
                let mut expected = applied(self.range(FloorRange { count: usize::MAX, ..range }));
                expected.retain(|floor| is_covered(*floor));
                assert_eq!(applied(found.floors), expected, "{range:?}");
            }
            _ => {}
        }
    }
}

/// Whatever is committed, applied late and filled meanwhile: no id is lost and none is invented.
fn check_windows(runtime: &tokio::runtime::Runtime, cases: u32, cache: &dyn Cache) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let next = std::sync::atomic::AtomicU64::new(10_000);
    runner
        .run(&prop::collection::vec(step(), 1..120), |steps| {
            let number = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let subject = SubjectKey::new("video", &number.to_string()).unwrap();
            let list = CachedList::Roots(subject.clone());
            runtime.block_on(async {
                let mut model = ListModel::new(subject);
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
fn contract_holds_in_memory() {
    let runtime = runtime();
    runtime.block_on(async {
        let cache = MemoryCache::with_lifetimes(LIFETIMES);
        check_values(&cache, async |key| cache.delete(SLOT, key)).await;
        check_lists(&MemoryCache::with_lifetimes(LIFETIMES)).await;
        check_forgotten_slot(&MemoryCache::with_lifetimes(LIFETIMES)).await;
    });
    check_windows(&runtime, 512, &MemoryCache::new());
}

#[test]
fn contract_holds_in_redis() {
    let runtime = runtime();
    let Some(server) = runtime.block_on(crate::testing::redis_server::RedisServer::start()) else { return };
    let cache = runtime.block_on(async {
        let connection = crate::adapters::redis::RedisConnection::open(&server.urls(), None).await.unwrap();
        let open = |lifetimes, name: &str| RedisCache::with_lifetimes(connection.clone(), name, lifetimes);
        let cache = open(LIFETIMES, "values");
        check_values(&cache, async |key| cache.delete(SLOT, key).await).await;
        check_lists(&open(LIFETIMES, "lists")).await;
        check_forgotten_slot(&open(LIFETIMES, "forgotten")).await;
        open(CacheLifetimes::DEFAULT, "windows")
    });
    check_windows(&runtime, 128, &cache);
}
