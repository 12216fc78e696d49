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
use crate::domain::operation::{LoggedOperation, Operation, PersistedBatch};
use crate::domain::row::{CommentList, CommentRow};
use crate::jobs::{rebuild, warm};
use crate::ports::broker::Topic;
use crate::ports::cache::{FRESH, KEPT};
use crate::ports::popularity::{Popularity as _, ReadLists, Reads};
use crate::ports::store::{CommentReader, IdempotencyReader, MemberReader, StoreError, ThreadReader};
use crate::testing::cached_store::{BEGIN, World, lock, member};
use crate::testing::doubles::new_row;

fn subject() -> SubjectKey {
    SubjectKey::new("article", "1").unwrap()
}

fn roots() -> CommentList {
    CommentList::Roots(subject())
}

/// A subject with so many roots and one answer to the first.
fn thread(world: &World, count: u64) -> (Vec<CommentId>, CommentId) {
    let ids: Vec<_> = (0..count).map(|n| world.tables.publish(&subject(), n, None).0).collect();
    let (answer, _) = world.tables.publish(&subject(), count, Some(ids[0]));
    (ids, answer)
}

async fn one(layered: &CachedStore, id: CommentId) -> CommentRow {
    layered.read_comments(&[id]).await.unwrap().remove(&id).unwrap()
}

async fn tell(layered: &CachedStore, persisted: &PersistedBatch) {
    layered.committed(&[], persisted).await;
}

/// What is noted in the log is filled.
async fn fill(world: &World) {
    // The note is sent by a task of its own.
    sleep(Duration::from_millis(1)).await;
    for payload in world.log.messages(Topic::Rebuild) {
        rebuild::fill(&world.layered, &RebuildRequest::from_bytes(&payload).unwrap(), true).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_a_fixed_number_of_round_trips() {
    let mut costs = vec![];
    for count in [3u64, 30] {
        let world = World::new();
        let (ids, _) = thread(&world, count);
        let page = async || {
            let before = (world.cache.calls.load(SeqCst), world.tables.calls(), world.counters.calls.load(SeqCst));
            world.layered.read_subjects(&[subject()]).await.unwrap();
            assert_eq!(world.layered.list_floors(&roots(), false, None, ids.len() + 1).await.unwrap().len(), ids.len());
            let top = world.layered.list_top_replies(&ids, limits::TOP_REPLIES).await.unwrap();
            let all: Vec<_> = ids.iter().chain(top.values().flatten()).copied().collect();
            assert_eq!(world.layered.read_comments(&all).await.unwrap().len(), ids.len() + 1);
            let cache = world.cache.calls.load(SeqCst) - before.0;
            (cache, world.tables.calls() - before.1, world.counters.calls.load(SeqCst) - before.2)
        };
        costs.push(page().await);
        fill(&world).await;
        let warm = page().await;
        assert_eq!(warm, (4, 0, 1), "four reads of the cache, none of the tables");
        costs.push(warm);
    }
    assert_eq!(costs[..2], costs[2..], "whatever the page's length");
}

#[tokio::test(start_paused = true)]
async fn one_query_however_many_ask() {
    let world = World::new();
    let (ids, _) = thread(&world, 20);
    let before = world.tables.calls();
    let asked = futures_util::future::join_all((0..50).map(|_| async {
        *lock(&world.tables.pause) = Duration::from_millis(5);
        world.layered.list_floors(&roots(), false, None, 9).await.unwrap();
        world.layered.read_comments(&ids).await.unwrap();
        world.layered.list_ranked(&roots(), Sort::Hot).await.unwrap()
    }));
    assert!(asked.await.iter().all(|ranked| ranked.len() == 20));
    assert_eq!(world.tables.calls() - before, 3);
    let answered = world.layered.figures().answered();
    assert!(answered.mysql > 0, "{answered:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_remembered_as_well() {
    let world = World::new();
    assert!(world.layered.read_subjects(&[subject()]).await.unwrap()[0].is_none());
    let before = world.tables.calls();
    assert!(world.other().read_subjects(&[subject(), subject()]).await.unwrap().iter().all(Option::is_none));
    assert_eq!(world.tables.calls(), before);
    // An empty list too, once it was filled.
    assert_eq!(world.layered.list_floors(&roots(), false, None, 9).await.unwrap(), []);
    fill(&world).await;
    let before = world.tables.calls();
    assert_eq!(world.layered.list_floors(&roots(), true, None, 9).await.unwrap(), []);
    assert_eq!(world.tables.calls(), before);
    let (id, first) = world.tables.publish(&subject(), 1, None);
    tell(&world.layered, &first).await;
    assert_eq!(world.layered.list_floors(&roots(), true, None, 9).await.unwrap(), [(1, id)]);
    assert_eq!(world.layered.read_subjects(&[subject()]).await.unwrap()[0].as_ref().unwrap().comments, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_is_read() {
    let world = World::new();
    let (ids, answer) = thread(&world, 2);
    // Hot, so that it is in this process too.
    for _ in 0..9 {
        one(&world.layered, ids[0]).await;
        one(&world.layered, answer).await;
    }
    assert!(world.layered.figures().answered().local > 0);
    tell(&world.layered, &world.tables.change(ids[0], |row| row.content = "edited".into())).await;
    assert_eq!(one(&world.layered, ids[0]).await.content, "edited");
    assert!(!one(&world.layered, answer).await.parent_gone);
    tell(&world.layered, &world.tables.change(ids[0], |row| row.state = CommentState::Deleted)).await;
    assert!(one(&world.layered, answer).await.parent_gone, "an answer depends on its parent");
    assert!(one(&world.other(), answer).await.parent_gone);

    let first = world.layered.list_top_replies(&ids[1..], limits::TOP_REPLIES).await.unwrap();
    assert!(first[&ids[1]].is_empty());
    let (reply, persisted) = world.tables.publish(&subject(), 9, Some(ids[1]));
    tell(&world.layered, &persisted).await;
    assert_eq!(world.layered.list_top_replies(&ids[1..], limits::TOP_REPLIES).await.unwrap()[&ids[1]], [reply]);

    world.layered.read_subjects(&[subject()]).await.unwrap();
    tell(&world.layered, &world.tables.name(&subject(), "t")).await;
    let title = world.layered.read_subjects(&[subject()]).await.unwrap()[0].as_ref().unwrap().title.clone();
    assert_eq!(title.as_deref(), Some("t"));
}

#[tokio::test(start_paused = true)]
async fn while_the_tables_are_down_what_is_remembered_is_served() {
    let world = World::new();
    let (ids, answer) = thread(&world, 9);
    let page = async |layered: &CachedStore| -> crate::ports::store::Result<(usize, usize)> {
        assert!(layered.read_subjects(&[subject()]).await?[0].is_some());
        let floors = layered.list_floors(&roots(), false, None, 9).await?;
        Ok((floors.len(), layered.read_comments(&ids).await?.len()))
    };
    page(&world.layered).await.unwrap();
    fill(&world).await;
    world.tables.down.store(true, SeqCst);
    assert_eq!(page(&world.layered).await.unwrap(), (9, 9));
    advance(FRESH * 2).await;
    assert_eq!(page(&world.other()).await.unwrap(), (9, 9), "old rather than nothing");
    // What is not remembered is an error, and not missing.
    let unknown = CommentId::from_parts(BEGIN - 99_000, subject().slot(), 0, 0);
    assert!(matches!(world.layered.read_comments(&[unknown]).await, Err(StoreError::Unavailable(_))));
    assert!(world.layered.read_subjects(&[SubjectKey::new("article", "2").unwrap()]).await.is_err());
    // What was taken down is not served.
    world.tables.down.store(false, SeqCst);
    assert_eq!(page(&world.layered).await.unwrap(), (9, 9));
    tell(&world.layered, &world.tables.change(ids[0], |row| row.state = CommentState::Deleted)).await;
    world.tables.down.store(true, SeqCst);
    assert!(world.layered.read_comments(&ids[..1]).await.is_err());
    assert_eq!(page(&world.layered).await.unwrap(), (8, 8));
    // Without the cache, what this process remembers.
    world.tables.down.store(false, SeqCst);
    for _ in 0..9 {
        one(&world.layered, answer).await;
    }
    world.tables.down.store(true, SeqCst);
    world.cache.down.store(true, SeqCst);
    advance(FRESH).await;
    assert_eq!(one(&world.layered, answer).await.content, "new");
    advance(KEPT).await;
    assert!(world.layered.read_comments(&[answer]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn without_the_cache_the_tables_answer_and_it_is_told_later() {
    let world = World::new();
    let (ids, _) = thread(&world, 3);
    one(&world.layered, ids[0]).await;
    world.cache.down.store(true, SeqCst);
    let begun = Instant::now();
    tell(&world.layered, &world.tables.change(ids[0], |row| row.content = "2".into())).await;
    tell(&world.layered, &world.tables.change(ids[0], |row| row.content = "3".into())).await;
    assert!(begun.elapsed() <= Duration::from_secs(2));
    assert_eq!(one(&world.layered, ids[0]).await.content, "3");
    assert_eq!(world.layered.list_floors(&roots(), false, None, 9).await.unwrap().len(), 3);
    world.cache.down.store(false, SeqCst);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(one(&world.other(), ids[0]).await.content, "3");
}

fn pending(id: CommentId) -> LoggedOperation {
    let mut row = new_row(&subject(), id);
    row.idempotency = Some(("key".into(), [7; 32]));
    LoggedOperation::new(BEGIN, Operation::Publish(Box::new(row)))
}

#[tokio::test(start_paused = true)]
async fn a_comment_that_is_no_row_yet_is_read() {
    let world = World::new();
    let (ids, _) = thread(&world, 9);
    let young = CommentId::from_parts(BEGIN - 1, subject().slot(), 0, 0);
    let looked_for = Instant::now();
    assert!(world.layered.read_comments(&[young]).await.unwrap().is_empty());
    assert!((1_000..1_100).contains(&looked_for.elapsed().as_millis()), "{:?}", looked_for.elapsed());
    // A page does not wait, nor does anybody for what cannot be on its way.
    let at_once = Instant::now();
    let page: Vec<_> = ids.iter().copied().chain([young]).collect();
    assert_eq!(world.layered.read_comments(&page).await.unwrap().len(), 9);
    let old = CommentId::from_parts(BEGIN - 20_000, subject().slot(), 0, 0);
    assert!(world.layered.read_comments(&[old]).await.unwrap().is_empty());
    assert_eq!(at_once.elapsed(), Duration::ZERO);

    let shelf = world.shelf.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(300)).await;
        lock(&shelf.0).insert(young, pending(young));
    });
    lock(&world.counters.counts).insert(young, (3, 1));
    let row = one(&world.layered, young).await;
    assert_eq!((row.content, row.floor, row.likes, row.dislikes), (format!("comment {young}"), None, 3, 1));
    assert_eq!(world.layered.list_pending(member(1), 9).await.unwrap(), [young]);
    let done = world.layered.find_remembered(&subject(), member(1), "key", BEGIN - 5).await.unwrap().unwrap();
    assert_eq!((done.id, done.request, done.state), (young, [7; 32], CommentState::Published));
    assert!(world.layered.find_remembered(&subject(), member(1), "key", BEGIN + 5).await.unwrap().is_none());
    // While the tables are down it is there too.
    world.tables.down.store(true, SeqCst);
    assert_eq!(one(&world.layered, young).await.likes, 3);
    world.tables.down.store(false, SeqCst);

    // It becomes a row, and then a held one.
    let (row, _) = world.tables.publish(&subject(), 59_999, None);
    assert_eq!(row, young);
    assert_eq!(world.layered.list_pending(member(1), 9).await.unwrap(), []);
    tell(&world.layered, &world.tables.change(young, |row| row.state = CommentState::Review)).await;
    assert_eq!(world.layered.list_pending(member(1), 9).await.unwrap(), [young]);
}

#[tokio::test(start_paused = true)]
async fn counts_are_those_of_the_counters() {
    let world = World::new();
    let (ids, answer) = thread(&world, 2);
    world.tables.change(ids[0], |row| row.likes = 1);
    lock(&world.counters.counts).insert(ids[0], (5, 2));
    lock(&world.counters.counts).insert(answer, (7, 0));
    assert_eq!(one(&world.layered, ids[0]).await.likes, 5);
    let under = world.layered.list_subtree(&Path::root(ids[0]), None, 9, 9).await.unwrap();
    assert_eq!(under.iter().map(|row| row.likes).collect::<Vec<_>>(), [7]);

    lock(&world.counters.own).extend([(ids[0], None), (answer, Some(Reaction::Dislike))]);
    let own = world.layered.read_reactions(member(1), &[ids[0], ids[1], answer]).await.unwrap();
    assert_eq!(own.into_iter().collect::<Vec<_>>(), [(answer, Reaction::Dislike)]);

    // Lost: they are opened first.
    world.counters.lost.store(true, SeqCst);
    assert_eq!(one(&world.layered, ids[0]).await.likes, 5);
    // They cannot be opened: the rows are served, after one wait.
    world.counters.lost.store(true, SeqCst);
    world.counters.shut.store(true, SeqCst);
    let begun = Instant::now();
    assert_eq!(one(&world.layered, ids[0]).await.likes, 1);
    assert_eq!(one(&world.layered, ids[0]).await.likes, 1);
    assert_eq!(begun.elapsed(), overlay::OPENING);
    assert_eq!(world.counters.begun.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_second_id_is_not_kept_under_its_name() {
    let world = World::new();
    let (ids, _) = thread(&world, 1);
    let second = CommentId::from_parts(BEGIN - 30_000, subject().slot(), 0, 1);
    world.tables.alias(second, ids[0]);
    assert_eq!(one(&world.layered, second).await.id(), ids[0]);
    tell(&world.layered, &world.tables.change(ids[0], |row| row.content = "edited".into())).await;
    assert_eq!(one(&world.layered, second).await.content, "edited");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_noted_once_filled_ahead_and_added_to() {
    let world = World::new();
    let ids: Vec<_> = (0..2_500).map(|n| world.tables.publish(&subject(), n, None).0).collect();
    let read = async |beyond| world.layered.list_floors(&roots(), false, beyond, 21).await.unwrap();
    assert_eq!(read(None).await[0], (2_500, ids[2_499]));
    let other = world.other();
    other.list_floors(&roots(), false, None, 21).await.unwrap();
    read(Some(100)).await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(world.log.messages(Topic::Rebuild).len(), 1, "noted once");

    fill(&world).await;
    let before = world.tables.calls();
    assert_eq!(read(None).await[0].0, 2_500);
    assert_eq!(read(Some(1_522)).await[20].0, 1_501);
    assert_eq!(world.layered.read_comments(&ids[2_400..]).await.unwrap().len(), 100, "with the contents of five pages");
    assert_eq!(world.tables.calls(), before);
    let (id, persisted) = world.tables.publish(&subject(), 2_500, None);
    tell(&other, &persisted).await;
    tell(&other, &world.tables.change(ids[2_498], |row| row.state = CommentState::Deleted)).await;
    assert_eq!(read(None).await[..3], [(2_501, id), (2_500, ids[2_499]), (2_498, ids[2_497])]);
    assert_eq!(world.tables.calls(), before);

    // At the edge of what is loaded it is noted again, and read ahead.
    sleep(Duration::from_secs(6)).await;
    assert_eq!(read(Some(1_505)).await[20].0, 1_484);
    fill(&world).await;
    let before = world.tables.calls();
    assert_eq!(read(Some(1_505)).await[20].0, 1_484);
    assert_eq!(read(Some(1_000)).await[20].0, 979);
    assert_eq!(world.layered.list_floors(&roots(), true, Some(1_000), 3).await.unwrap()[0].0, 1_001, "upwards too");
    assert_eq!(world.tables.calls(), before);
    // A jump far beyond is read from the tables.
    assert_eq!(read(Some(100)).await[20].0, 79);
    assert_eq!(world.layered.list_floors(&roots(), true, None, 3).await.unwrap()[0], (1, ids[0]));
}

#[tokio::test(start_paused = true)]
async fn the_job_fills_what_is_noted_and_warms_what_is_hot() {
    let world = World::new();
    thread(&world, 30);
    let stop = tokio_util::sync::CancellationToken::new();
    let (log, heat) = (Arc::new(world.log.clone()), Arc::new(MemoryPopularity::default()));
    let jobs = [
        tokio::spawn(rebuild::run(world.layered.clone(), log, stop.clone())),
        tokio::spawn(warm::run(world.layered.clone(), heat.clone(), stop.clone())),
    ];
    world.layered.list_floors(&roots(), false, None, 9).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    let before = world.tables.calls();
    world.layered.list_floors(&roots(), false, None, 9).await.unwrap();
    assert_eq!(world.tables.calls(), before);
    assert_eq!(world.log.commits(Topic::Rebuild)[&0], 1);

    // Read often, it is kept warm after everything vanished.
    heat.add(&[Reads { subject: subject(), count: 20, lists: ReadLists::default() }]).await.unwrap();
    sleep(Duration::from_secs(25)).await;
    world.cache.lose(0, 1);
    sleep(Duration::from_secs(31)).await;
    let before = world.tables.calls();
    world.other().read_subjects(&[subject()]).await.unwrap();
    world.other().list_floors(&roots(), false, None, 9).await.unwrap();
    assert_eq!(world.tables.calls(), before);
    stop.cancel();
    for job in jobs {
        job.await.unwrap();
    }
    assert_eq!(warm::subject(&world.layered, &subject()).await.unwrap(), 1, "it is warm");
    world.cache.lose(0, 1);
    assert_eq!(warm::subject(&world.layered, &subject()).await.unwrap(), 62, "the subject, 30 floors, 31 comments");
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_read_once() {
    let world = World::new();
    let (ids, _) = thread(&world, 3);
    let snapshot = Snapshot::rank(ids.iter().map(|id| (1, *id)).collect());
    let read = async || world.layered.read_snapshot(subject().slot(), snapshot.id()).await.unwrap();
    assert_eq!(read().await, None);
    world.tables.keep(snapshot.clone());
    assert_eq!(read().await.as_ref(), Some(&snapshot), "that there was none is not remembered");
    let before = world.tables.calls();
    assert_eq!(read().await.as_ref(), Some(&snapshot));
    assert_eq!(world.tables.calls(), before);
}

#[derive(Debug, Clone)]
enum Step {
    /// Edits a comment; tells of it after so many milliseconds.
    Edit(usize, u64),
    /// Deletes or restores the parent.
    Parent(bool),
    /// Begins a read that takes so long, in one process or the other.
    SlowRead(usize, u64, bool),
    Read(usize, bool),
    Lose(usize, usize),
    Sleep(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0usize..3, prop_oneof![Just(0u64), 1u64..20]).prop_map(|(i, ms)| Step::Edit(i, ms)),
        2 => any::<bool>().prop_map(Step::Parent),
        5 => (0usize..3, 0u64..60, any::<bool>()).prop_map(|(i, ms, b)| Step::SlowRead(i, ms, b)),
        8 => (0usize..3, any::<bool>()).prop_map(|(i, b)| Step::Read(i, b)),
        2 => (0usize..9, 1usize..4).prop_map(|(first, nth)| Step::Lose(first, nth)),
        4 => prop_oneof![Just(1u64), 1u64..30, Just(260u64)].prop_map(Step::Sleep),
    ]
}

/// Whoever reads slowly, whatever vanishes: no read that begins after a commit was told answers with
/// what was before; in another process, a quarter of a second later.
async fn nothing_old_after_it_was_told(steps: Vec<Step>) {
    let world = World::new();
    let (ids, answer) = thread(&world, 2);
    let all = [ids[0], ids[1], answer];
    let processes = [world.layered.clone(), world.other()];
    let (mut edits, mut slow) = (0u64, vec![]);
    // For each comment, and for the parent's state: what was told when.
    let mut told: Vec<Vec<(Instant, u64)>> = vec![vec![(Instant::now(), 0)]; 3];
    let mut parent = vec![(Instant::now(), false)];
    for id in all {
        let first = world.tables.change(id, |row| row.content = "0".into());
        tell(&processes[0], &first).await;
    }
    for step in steps {
        match step {
            Step::Edit(i, ms) => {
                edits += 1;
                let persisted = world.tables.change(all[i], |row| row.content = edits.to_string());
                sleep(Duration::from_millis(ms)).await;
                tell(&processes[0], &persisted).await;
                told[i].push((Instant::now(), edits));
            }
            Step::Parent(gone) => {
                let state = if gone { CommentState::Deleted } else { CommentState::Published };
                tell(&processes[0], &world.tables.change(ids[0], |row| row.state = state)).await;
                parent.push((Instant::now(), gone));
            }
            Step::SlowRead(i, ms, second) => {
                let (process, id) = (processes[usize::from(second)].clone(), all[i]);
                *lock(&world.tables.pause) = Duration::from_millis(ms);
                slow.push(tokio::spawn(async move { process.read_comments(&[id]).await.map(drop) }));
                tokio::task::yield_now().await;
            }
            Step::Read(i, second) => {
                let known = if second { Duration::from_millis(250) } else { Duration::ZERO };
                let at = Instant::now() - known;
                let floor = told[i].iter().rev().find(|(when, _)| *when <= at).map_or(0, |(_, n)| *n);
                let states: Vec<_> =
                    parent.iter().rev().take_while(|(when, _)| *when > at).map(|(_, gone)| *gone).collect();
                let last = parent.iter().rev().find(|(when, _)| *when <= at).is_some_and(|(_, gone)| *gone);
                let row = one(&processes[usize::from(second)], all[i]).await;
                let number: u64 = row.content.parse().unwrap();
                assert!(number >= floor, "{number} after {floor} was told");
                if i == 2 {
                    assert!(row.parent_gone == last || states.contains(&row.parent_gone), "the parent's state");
                }
            }
            Step::Lose(first, nth) => world.cache.lose(first, nth),
            Step::Sleep(ms) => sleep(Duration::from_millis(ms)).await,
        }
    }
    for read in slow {
        read.await.unwrap().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_slow_reader_puts_an_old_value_over_a_newer_one(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(nothing_old_after_it_was_told(steps));
    }
}
