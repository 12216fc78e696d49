//! Levels, invalidation, failures and the laws of the cached store, over doubles.

mod pending;
mod versions;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{CommentState, Reaction};
use proptest::prelude::*;
use tokio::time::{Instant, advance, sleep};

use crate::adapters::memory::popularity::MemoryPopularity;
use crate::cluster::cached_store::{CachedStore, RebuildRequest, overlay};
use crate::domain::operation::PersistedBatch;
use crate::domain::row::{CommentList, CommentRow, FloorRange, SubjectRules};
use crate::jobs::{rebuild, warm};
use crate::ports::broker::Topic;
use crate::ports::cache::{CACHE_FRESHNESS, CACHE_RETENTION};
use crate::ports::journal::CommitListener as _;
use crate::ports::popularity::{Popularity as _, ReadLists, SubjectReads};
use crate::ports::store::{CommentReader, IdempotencyReader, MemberReader, StoreError, ThreadReader};
use crate::testing::fixtures::{TEST_START_MS, member};
use crate::testing::test_bed::TestBed;

/// One process over its doubles.
struct CachedStoreTestBed {
    doubles: TestBed,
    cached_store: Arc<CachedStore>,
}

impl CachedStoreTestBed {
    fn new() -> Self {
        let doubles = TestBed::new(1, 1);
        Self { cached_store: doubles.cached_store(), doubles }
    }

    async fn list_roots(&self, range: FloorRange) -> Vec<(u64, CommentId)> {
        self.cached_store.list_floors(&roots(), range).await.unwrap()
    }
}

fn subject() -> SubjectKey {
    SubjectKey::new("article", "1").unwrap()
}

fn roots() -> CommentList {
    CommentList::Roots(subject())
}

/// Publishes so many roots, and one reply to the first.
fn publish_thread(bed: &CachedStoreTestBed, count: u64) -> (Vec<CommentId>, CommentId) {
    let ids: Vec<_> = (0..count).map(|n| bed.doubles.store.publish(&subject(), n, None).0).collect();
    let (answer, _) = bed.doubles.store.publish(&subject(), count, Some(ids[0]));
    (ids, answer)
}

async fn read_one(cached_store: &CachedStore, id: CommentId) -> CommentRow {
    cached_store.read_comments(&[id]).await.unwrap().remove(&id).unwrap()
}

async fn commit(cached_store: &CachedStore, persisted: &PersistedBatch) {
    cached_store.on_commit(&[], persisted).await;
}

/// Carries out every rebuild request; a task of its own sends them.
async fn rebuild_requested(bed: &CachedStoreTestBed) {
    sleep(Duration::from_millis(1)).await;
    for payload in bed.doubles.broker.payloads(Topic::Rebuild) {
        rebuild::fill(&bed.cached_store, &RebuildRequest::from_bytes(&payload).unwrap(), true).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn page_costs_a_fixed_number_of_round_trips() {
    let mut costs = vec![];
    for count in [3u64, 30] {
        let bed = CachedStoreTestBed::new();
        let (ids, _) = publish_thread(&bed, count);
        let page = async || {
            let before = (
                bed.doubles.cache.calls.load(SeqCst),
                bed.doubles.store.reads(),
                bed.doubles.counters.calls.load(SeqCst),
            );
            bed.cached_store.read_subjects(&[subject()]).await.unwrap();
            assert_eq!(bed.list_roots(FloorRange::newest(ids.len() + 1)).await.len(), ids.len());
            let top = bed.cached_store.list_top_replies(&ids, limits::TOP_REPLIES).await.unwrap();
            let all: Vec<_> = ids.iter().chain(top.values().flatten()).copied().collect();
            assert_eq!(bed.cached_store.read_comments(&all).await.unwrap().len(), ids.len() + 1);
            let cache = bed.doubles.cache.calls.load(SeqCst) - before.0;
            (cache, bed.doubles.store.reads() - before.1, bed.doubles.counters.calls.load(SeqCst) - before.2)
        };
        costs.push(page().await);
        rebuild_requested(&bed).await;
        let warm = page().await;
        assert_eq!(warm, (4, 0, 1), "four reads of the cache, none of the tables");
        costs.push(warm);
    }
    assert_eq!(costs[..2], costs[2..], "whatever the page's length");
}

#[tokio::test(start_paused = true)]
async fn concurrent_reads_cost_one_query() {
    let bed = CachedStoreTestBed::new();
    let (ids, _) = publish_thread(&bed, 20);
    let before = bed.doubles.store.reads();
    let asked = futures_util::future::join_all((0..50).map(|_| async {
        bed.doubles.store.delay_next_read(Duration::from_millis(5));
        bed.list_roots(FloorRange::newest(9)).await;
        bed.cached_store.read_comments(&ids).await.unwrap();
        bed.cached_store.list_ranked(&roots(), Sort::Hot).await.unwrap()
    }));
    assert!(asked.await.iter().all(|ranked| ranked.len() == 20));
    assert_eq!(bed.doubles.store.reads() - before, 3);
    let answered = bed.cached_store.metrics().hit_counts();
    assert!(answered.mysql > 0, "{answered:?}");
}

#[tokio::test(start_paused = true)]
async fn what_writes_ask_of_many_subjects_is_read_together_and_remembered_while_the_tables_are_down() {
    let bed = CachedStoreTestBed::new();
    let (id, _) = bed.doubles.store.publish(&subject(), 1, None);
    let keys: Vec<_> = (1..=1_200).map(|n| SubjectKey::new("article", &n.to_string()).unwrap()).collect();
    let (reads, calls) = (bed.doubles.store.reads(), bed.doubles.cache.calls.load(SeqCst));
    let rules_of = async |key: &SubjectKey| bed.cached_store.read_subject_rules(std::slice::from_ref(key)).await;
    let rules = futures_util::future::join_all(keys.iter().map(rules_of)).await;
    assert!(rules.iter().all(|rules| *rules.as_ref().unwrap() == [SubjectRules::default()]));
    let subject_of = async |id: CommentId| bed.cached_store.read_subjects_of(&[id]).await;
    let subjects = futures_util::future::join_all((0..1_200).map(|_| subject_of(id))).await;
    assert!(subjects.iter().all(|found| found.as_ref().unwrap()[&id] == (subject(), SubjectRules::default())));
    assert!(bed.doubles.store.reads() - reads <= 12, "{}", bed.doubles.store.reads() - reads);
    assert_eq!(bed.doubles.cache.calls.load(SeqCst), calls, "each is asked for once");
    bed.cached_store.read_subjects(&[subject()]).await.unwrap();
    bed.doubles.store.take_all_down();
    assert_eq!(rules_of(&subject()).await.unwrap(), [SubjectRules::default()]);
    assert!(rules_of(&keys[1]).await.is_err());
    assert!(bed.cached_store.read_subjects_of(&[id]).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn missing_subject_and_empty_list_are_cached() {
    let bed = CachedStoreTestBed::new();
    assert!(bed.cached_store.read_subjects(&[subject()]).await.unwrap()[0].is_none());
    let before = bed.doubles.store.reads();
    assert!(
        bed.doubles.cached_store().read_subjects(&[subject(), subject()]).await.unwrap().iter().all(Option::is_none)
    );
    assert_eq!(bed.doubles.store.reads(), before);
    // An empty list is cached once it was filled.
    assert_eq!(bed.list_roots(FloorRange::newest(9)).await, []);
    rebuild_requested(&bed).await;
    let before = bed.doubles.store.reads();
    assert_eq!(bed.list_roots(FloorRange::oldest(9)).await, []);
    assert_eq!(bed.doubles.store.reads(), before);
    let (id, first) = bed.doubles.store.publish(&subject(), 1, None);
    commit(&bed.cached_store, &first).await;
    assert_eq!(bed.list_roots(FloorRange::oldest(9)).await, [(1, id)]);
    assert_eq!(bed.cached_store.read_subjects(&[subject()]).await.unwrap()[0].as_ref().unwrap().comments, 1);
}

#[tokio::test(start_paused = true)]
async fn reads_after_a_commit_see_it() {
    let bed = CachedStoreTestBed::new();
    let (ids, answer) = publish_thread(&bed, 2);
    // Hot, so that this process keeps it, too.
    for _ in 0..9 {
        read_one(&bed.cached_store, ids[0]).await;
        read_one(&bed.cached_store, answer).await;
    }
    assert!(bed.cached_store.metrics().hit_counts().local > 0);
    commit(&bed.cached_store, &bed.doubles.store.edit(ids[0], |row| row.content = "edited".into())).await;
    assert_eq!(read_one(&bed.cached_store, ids[0]).await.content, "edited");
    assert!(!read_one(&bed.cached_store, answer).await.parent_gone);
    commit(&bed.cached_store, &bed.doubles.store.edit(ids[0], |row| row.state = CommentState::Deleted)).await;
    assert!(read_one(&bed.cached_store, answer).await.parent_gone, "an answer depends on its parent");
    assert!(read_one(&bed.doubles.cached_store(), answer).await.parent_gone);
    let top_replies = async || bed.cached_store.list_top_replies(&ids[1..], limits::TOP_REPLIES).await.unwrap();
    assert!(top_replies().await[&ids[1]].is_empty());
    let (reply, persisted) = bed.doubles.store.publish(&subject(), 9, Some(ids[1]));
    commit(&bed.cached_store, &persisted).await;
    assert_eq!(top_replies().await[&ids[1]], [reply]);
    let read_subject = async || bed.cached_store.read_subjects(&[subject()]).await.unwrap().remove(0).unwrap();
    read_subject().await;
    commit(&bed.cached_store, &bed.doubles.store.set_title(&subject(), "t")).await;
    assert_eq!(read_subject().await.title.as_deref(), Some("t"));
    let changed = bed.doubles.store.set_title(&subject(), "u").changed;
    bed.cached_store.invalidate_subjects(&[(subject(), changed[0].version)].into()).await;
    assert_eq!(read_subject().await.title.as_deref(), Some("u"), "named by the change feed alone");
}

#[tokio::test(start_paused = true)]
async fn stale_values_are_served_while_the_tables_are_down() {
    let bed = CachedStoreTestBed::new();
    let (ids, answer) = publish_thread(&bed, 9);
    let page = async |layered: &CachedStore| -> crate::ports::store::Result<(usize, usize)> {
        assert!(layered.read_subjects(&[subject()]).await?[0].is_some());
        let floors = layered.list_floors(&roots(), FloorRange::newest(9)).await?;
        Ok((floors.len(), layered.read_comments(&ids).await?.len()))
    };
    page(&bed.cached_store).await.unwrap();
    rebuild_requested(&bed).await;
    bed.doubles.store.take_all_down();
    assert_eq!(page(&bed.cached_store).await.unwrap(), (9, 9));
    advance(CACHE_FRESHNESS * 2).await;
    assert_eq!(page(&bed.doubles.cached_store()).await.unwrap(), (9, 9), "old rather than nothing");
    // A comment that is not cached is an error, not missing.
    let unknown = CommentId::from_parts(TEST_START_MS - 99_000, subject().slot(), 0, 0);
    assert!(matches!(bed.cached_store.read_comments(&[unknown]).await, Err(StoreError::Unavailable(_))));
    assert!(bed.cached_store.read_subjects(&[SubjectKey::new("article", "2").unwrap()]).await.is_err());
    // A comment that was taken down is not served.
    bed.doubles.store.heal();
    assert_eq!(page(&bed.cached_store).await.unwrap(), (9, 9));
    commit(&bed.cached_store, &bed.doubles.store.edit(ids[0], |row| row.state = CommentState::Deleted)).await;
    bed.doubles.store.take_all_down();
    assert!(bed.cached_store.read_comments(&ids[..1]).await.is_err());
    assert_eq!(page(&bed.cached_store).await.unwrap(), (8, 8));
    // Without the cache, this process serves what it keeps.
    bed.doubles.store.heal();
    for _ in 0..9 {
        read_one(&bed.cached_store, answer).await;
    }
    bed.doubles.store.take_all_down();
    bed.doubles.cache.is_down.store(true, SeqCst);
    advance(CACHE_FRESHNESS).await;
    assert_eq!(read_one(&bed.cached_store, answer).await.content, "new");
    advance(CACHE_RETENTION).await;
    assert!(bed.cached_store.read_comments(&[answer]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn cache_that_was_down_is_invalidated_later() {
    let bed = CachedStoreTestBed::new();
    let (ids, _) = publish_thread(&bed, 3);
    read_one(&bed.cached_store, ids[0]).await;
    bed.doubles.cache.is_down.store(true, SeqCst);
    let begun = Instant::now();
    commit(&bed.cached_store, &bed.doubles.store.edit(ids[0], |row| row.content = "2".into())).await;
    commit(&bed.cached_store, &bed.doubles.store.edit(ids[0], |row| row.content = "3".into())).await;
    assert!(begun.elapsed() <= Duration::from_secs(2));
    assert_eq!(read_one(&bed.cached_store, ids[0]).await.content, "3");
    assert_eq!(bed.list_roots(FloorRange::newest(9)).await.len(), 3);
    bed.doubles.cache.is_down.store(false, SeqCst);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(read_one(&bed.doubles.cached_store(), ids[0]).await.content, "3");
}

#[tokio::test(start_paused = true)]
async fn counts_come_from_the_counters() {
    let bed = CachedStoreTestBed::new();
    let (ids, answer) = publish_thread(&bed, 2);
    bed.doubles.store.edit(ids[0], |row| row.likes = 1);
    bed.doubles.counters.set_counts(ids[0], 5, 2);
    bed.doubles.counters.set_counts(answer, 7, 0);
    assert_eq!(read_one(&bed.cached_store, ids[0]).await.likes, 5);
    let under = bed.cached_store.list_subtree(&Path::root(ids[0]), None, 9, 9).await.unwrap();
    assert_eq!(under.iter().map(|row| row.likes).collect::<Vec<_>>(), [7]);

    bed.doubles.counters.set_pending(ids[0], None);
    bed.doubles.counters.set_pending(answer, Some(Reaction::Dislike));
    let own = bed.cached_store.read_reactions(member(1), &[ids[0], ids[1], answer]).await.unwrap();
    assert_eq!(own.into_iter().collect::<Vec<_>>(), [(answer, Reaction::Dislike)]);

    // Lost counters are recovered first.
    bed.doubles.counters.lose_all();
    assert_eq!(read_one(&bed.cached_store, ids[0]).await.likes, 5);
    // If the recovery hangs, the rows are served after one wait.
    bed.doubles.counters.lose_all();
    bed.doubles.counters.hangs_in_recovery.store(true, SeqCst);
    let begun = Instant::now();
    assert_eq!(read_one(&bed.cached_store, ids[0]).await.likes, 1);
    assert_eq!(read_one(&bed.cached_store, ids[0]).await.likes, 1);
    assert_eq!(begun.elapsed(), overlay::RECOVERY_TIMEOUT);
    assert_eq!(bed.doubles.counters.begun.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn second_id_of_a_comment_is_not_cached() {
    let bed = CachedStoreTestBed::new();
    let (ids, _) = publish_thread(&bed, 1);
    let second = CommentId::from_parts(TEST_START_MS - 30_000, subject().slot(), 0, 1);
    bed.doubles.store.add_alias(second, ids[0]);
    assert_eq!(read_one(&bed.cached_store, second).await.id(), ids[0]);
    commit(&bed.cached_store, &bed.doubles.store.edit(ids[0], |row| row.content = "edited".into())).await;
    assert_eq!(read_one(&bed.cached_store, second).await.content, "edited");
}

#[tokio::test(start_paused = true)]
async fn list_is_requested_once_filled_ahead_and_kept_current() {
    let bed = CachedStoreTestBed::new();
    let ids: Vec<_> = (0..2_500).map(|n| bed.doubles.store.publish(&subject(), n, None).0).collect();
    let read = async |beyond| bed.list_roots(FloorRange { ascending: false, beyond, count: 21 }).await;
    assert_eq!(read(None).await[0], (2_500, ids[2_499]));
    let other = bed.doubles.cached_store();
    other.list_floors(&roots(), FloorRange::newest(21)).await.unwrap();
    read(Some(100)).await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(bed.doubles.broker.payloads(Topic::Rebuild).len(), 1, "noted once");

    rebuild_requested(&bed).await;
    let before = bed.doubles.store.reads();
    assert_eq!(read(None).await[0].0, 2_500);
    assert_eq!(read(Some(1_522)).await[20].0, 1_501);
    assert_eq!(
        bed.cached_store.read_comments(&ids[2_400..]).await.unwrap().len(),
        100,
        "with the contents of five pages"
    );
    assert_eq!(bed.doubles.store.reads(), before);
    let (id, persisted) = bed.doubles.store.publish(&subject(), 2_500, None);
    commit(&other, &persisted).await;
    commit(&other, &bed.doubles.store.edit(ids[2_498], |row| row.state = CommentState::Deleted)).await;
    assert_eq!(read(None).await[..3], [(2_501, id), (2_500, ids[2_499]), (2_498, ids[2_497])]);
    assert_eq!(bed.doubles.store.reads(), before);

    // At the end of the window it is requested again, and filled ahead.
    sleep(Duration::from_secs(6)).await;
    assert_eq!(read(Some(1_505)).await[20].0, 1_484);
    rebuild_requested(&bed).await;
    let before = bed.doubles.store.reads();
    assert_eq!(read(Some(1_505)).await[20].0, 1_484);
    assert_eq!(read(Some(1_000)).await[20].0, 979);
    let range = FloorRange { ascending: true, beyond: Some(1_000), count: 3 };
    assert_eq!(bed.list_roots(range).await[0].0, 1_001, "upwards too");
    assert_eq!(bed.doubles.store.reads(), before);
    // A jump far beyond the window is read from the tables.
    assert_eq!(read(Some(100)).await[20].0, 79);
    assert_eq!(bed.list_roots(FloorRange::oldest(3)).await[0], (1, ids[0]));
}

#[tokio::test(start_paused = true)]
async fn jobs_fill_requested_lists_and_warm_popular_subjects() {
    let bed = CachedStoreTestBed::new();
    publish_thread(&bed, 30);
    let stop = tokio_util::sync::CancellationToken::new();
    let (log, heat) = (Arc::new(bed.doubles.broker.clone()), Arc::new(MemoryPopularity::default()));
    let jobs = [
        tokio::spawn(rebuild::run(bed.cached_store.clone(), log, stop.clone())),
        tokio::spawn(warm::run(bed.cached_store.clone(), heat.clone(), stop.clone())),
    ];
    bed.list_roots(FloorRange::newest(9)).await;
    sleep(Duration::from_secs(3)).await;
    let before = bed.doubles.store.reads();
    bed.list_roots(FloorRange::newest(9)).await;
    assert_eq!(bed.doubles.store.reads(), before);
    assert_eq!(bed.doubles.broker.commits(Topic::Rebuild)[&0], 1);

    // A popular subject is warmed again after the cache lost everything.
    heat.add_reads(&[SubjectReads { subject: subject(), count: 20, lists: ReadLists::default() }]).await.unwrap();
    sleep(Duration::from_secs(25)).await;
    bed.doubles.cache.lose(0, 1);
    sleep(Duration::from_secs(31)).await;
    let before = bed.doubles.store.reads();
    bed.doubles.cached_store().read_subjects(&[subject()]).await.unwrap();
    bed.doubles.cached_store().list_floors(&roots(), FloorRange::newest(9)).await.unwrap();
    assert_eq!(bed.doubles.store.reads(), before);
    stop.cancel();
    for job in jobs {
        job.await.unwrap();
    }
    assert_eq!(warm::subject(&bed.cached_store, &subject()).await.unwrap(), 1, "it is warm");
    bed.doubles.cache.lose(0, 1);
    assert_eq!(warm::subject(&bed.cached_store, &subject()).await.unwrap(), 62, "the subject, 30 floors, 31 comments");
}

#[tokio::test(start_paused = true)]
async fn snapshot_is_cached() {
    let bed = CachedStoreTestBed::new();
    let (ids, _) = publish_thread(&bed, 3);
    let snapshot = Snapshot::rank(ids.iter().map(|id| (1, *id)).collect());
    let read = async || bed.cached_store.read_snapshot(subject().slot(), snapshot.id()).await.unwrap();
    assert_eq!(read().await, None);
    bed.doubles.store.add_snapshot(snapshot.clone());
    assert_eq!(read().await.as_ref(), Some(&snapshot), "that there was none is not remembered");
    let before = bed.doubles.store.reads();
    assert_eq!(read().await.as_ref(), Some(&snapshot));
    assert_eq!(bed.doubles.store.reads(), before);
}

#[derive(Debug, Clone)]
enum StoreStep {
    /// Edits a comment, and notifies the store after so many milliseconds.
    Edit(usize, u64),
    /// Deletes or restores the parent.
    Parent(bool),
    /// Starts a read that takes so many milliseconds, in the first or the second process.
    SlowRead(usize, u64, bool),
    Read(usize, bool),
    Lose(usize, usize),
    Sleep(u64),
}

fn step() -> impl Strategy<Value = StoreStep> {
    prop_oneof![
        4 => (0usize..3, prop_oneof![Just(0u64), 1u64..20]).prop_map(|(i, ms)| StoreStep::Edit(i, ms)),
        2 => any::<bool>().prop_map(StoreStep::Parent),
        5 => (0usize..3, 0u64..60, any::<bool>()).prop_map(|(i, ms, b)| StoreStep::SlowRead(i, ms, b)),
        8 => (0usize..3, any::<bool>()).prop_map(|(i, b)| StoreStep::Read(i, b)),
        2 => (0usize..9, 1usize..4).prop_map(|(first, nth)| StoreStep::Lose(first, nth)),
        4 => prop_oneof![Just(1u64), 1u64..30, Just(260u64)].prop_map(StoreStep::Sleep),
    ]
}

/// However slowly values are read, whatever the cache loses: a read that starts after the notification of
/// a commit sees it; in another process, a read that starts a quarter of a second later.
async fn check_reads_after_commits(steps: Vec<StoreStep>) {
    let bed = CachedStoreTestBed::new();
    let (ids, answer) = publish_thread(&bed, 2);
    let all = [ids[0], ids[1], answer];
    let processes = [bed.cached_store.clone(), bed.doubles.cached_store()];
    let (mut edits, mut slow) = (0u64, vec![]);
    // For each comment, and for the parent's state: what was committed when.
    let mut invalidated: Vec<Vec<(Instant, u64)>> = vec![vec![(Instant::now(), 0)]; 3];
    let mut parent = vec![(Instant::now(), false)];
    for id in all {
        let first = bed.doubles.store.edit(id, |row| row.content = "0".into());
        commit(&processes[0], &first).await;
    }
    for step in steps {
        match step {
            StoreStep::Edit(i, ms) => {
                edits += 1;
                let persisted = bed.doubles.store.edit(all[i], |row| row.content = edits.to_string());
                sleep(Duration::from_millis(ms)).await;
                commit(&processes[0], &persisted).await;
                invalidated[i].push((Instant::now(), edits));
            }
            StoreStep::Parent(gone) => {
                let state = if gone { CommentState::Deleted } else { CommentState::Published };
                commit(&processes[0], &bed.doubles.store.edit(ids[0], |row| row.state = state)).await;
                parent.push((Instant::now(), gone));
            }
            StoreStep::SlowRead(i, ms, second) => {
                let (process, id) = (processes[usize::from(second)].clone(), all[i]);
                bed.doubles.store.delay_next_read(Duration::from_millis(ms));
                slow.push(tokio::spawn(async move { process.read_comments(&[id]).await.map(drop) }));
                tokio::task::yield_now().await;
            }
            StoreStep::Read(i, second) => {
                let known = if second { Duration::from_millis(250) } else { Duration::ZERO };
                let at = Instant::now() - known;
                let floor = invalidated[i].iter().rev().find(|(when, _)| *when <= at).map_or(0, |(_, n)| *n);
                let states: Vec<_> =
                    parent.iter().rev().take_while(|(when, _)| *when > at).map(|(_, gone)| *gone).collect();
                let last = parent.iter().rev().find(|(when, _)| *when <= at).is_some_and(|(_, gone)| *gone);
                let row = read_one(&processes[usize::from(second)], all[i]).await;
                let number: u64 = row.content.parse().unwrap();
                assert!(number >= floor, "{number} after {floor} was invalidated");
                if i == 2 {
                    assert!(row.parent_gone == last || states.contains(&row.parent_gone), "the parent's state");
                }
            }
            StoreStep::Lose(first, nth) => bed.doubles.cache.lose(first, nth),
            StoreStep::Sleep(ms) => sleep(Duration::from_millis(ms)).await,
        }
    }
    for read in slow {
        read.await.unwrap().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slow_reader_never_replaces_a_newer_value(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(check_reads_after_commits(steps));
    }
}
