//! The counters against a Redis server of their own. `model` runs them through random histories.

mod model;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;

use crate::adapters::redis::counters::RedisCounters;
use crate::adapters::redis::{REDIS_TIMEOUT, RedisConnection};
use crate::domain::operation::ReactionChange;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::ReactionCounts;
use crate::ports::broker::Topic;
use crate::ports::counters::{
    CountBase, CounterSlots, CounterView, CounterViews, Counters, CountersError, FoldRequest, FoldedReaction,
    PersistedOperation, PersistedReaction,
};
use crate::testing::memory_broker::MemoryBroker;
use crate::testing::redis_server::RedisServer;

/// The largest offset that scripts can distinguish from the next one, minus room for a few more.
const LARGEST_OFFSET: u64 = (1 << 53) - 16;

const LIKE: ReactionChange = ReactionChange::Put(Reaction::Like);
const DISLIKE: ReactionChange = ReactionChange::Put(Reaction::Dislike);

fn slot() -> Slot {
    Slot::new(9).unwrap()
}

fn comment() -> CommentId {
    CommentId::from_parts(1_700_000_000_000, slot(), 0, 0)
}

fn member(number: u64) -> MemberId {
    MemberId::new((1 << 62) + number).unwrap()
}

fn counts(likes: u64, dislikes: u64) -> ReactionCounts {
    ReactionCounts { likes, dislikes }
}

fn state(position: u64) -> ReactionState {
    ReactionState { position, reaction: None, visible: Some(true), likes: 10, dislikes: 1, reactions_offset: 0 }
}

fn base(likes: u64, offset: u64) -> CountBase {
    CountBase { id: comment(), counts: counts(likes, 1), offset }
}

fn request(offset: u64, who: u64, change: ReactionChange, state: ReactionState) -> FoldRequest {
    FoldRequest { id: comment(), member: member(who), change, offset, state }
}

async fn connect(server: &RedisServer) -> RedisCounters {
    connect_to_log(server, MemoryBroker::new(1)).await
}

async fn connect_to_log(server: &RedisServer, log: MemoryBroker) -> RedisCounters {
    RedisCounters::new(RedisConnection::open(&server.urls(), None).await.unwrap(), "test", Arc::new(log))
}

async fn open_slot(counters: &RedisCounters, reached: u64) {
    let recovery = counters.begin_recovery(&[slot()]).await.unwrap();
    counters.finish_recovery(&recovery, &HashMap::from([(slot(), reached)])).await.unwrap();
}

async fn view_ttl(counters: &RedisCounters) -> i64 {
    let key = counters.keys.of(slot()).view(comment());
    counters.connection.query("test", &key, ::redis::cmd("TTL").arg(&key)).await.unwrap()
}

fn operation(offset: u64, by: u64, change: ReactionChange) -> PersistedOperation {
    PersistedOperation { offset, member: member(by), change }
}

#[tokio::test]
async fn operations_of_a_pair_are_folded_by_offset_whatever_their_order() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    open_slot(&counters, LARGEST_OFFSET).await;
    let s = state(LARGEST_OFFSET);
    // Concurrent callers of two processes, the later operation first.
    let (later, earlier) = tokio::join!(
        counters.fold(request(LARGEST_OFFSET + 2, 1, ReactionChange::Take(Reaction::Like), s)),
        counters.fold(request(LARGEST_OFFSET + 1, 1, DISLIKE, s)),
    );
    assert_eq!(later.unwrap(), FoldedReaction { counts: counts(10, 1), reaction: None });
    let disliked = FoldedReaction { counts: counts(10, 2), reaction: Some(Reaction::Dislike) };
    assert_eq!(earlier.unwrap(), disliked);
    // A repeated operation, and one that the base contains, change nothing.
    assert_eq!(counters.fold(request(LARGEST_OFFSET + 1, 1, DISLIKE, s)).await.unwrap(), disliked);
    assert_eq!(counters.fold(request(LARGEST_OFFSET - 1, 1, LIKE, s)).await.unwrap(), disliked);
    let view = counters.read_view(comment()).await.unwrap().unwrap();
    assert_eq!(view, CounterView { base: base(10, LARGEST_OFFSET), current: counts(10, 2) });
}

#[tokio::test]
async fn state_older_than_the_base_is_stale() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    open_slot(&counters, 5).await;
    let stale = counters.fold(request(7, 1, LIKE, state(4))).await;
    assert!(matches!(stale, Err(CountersError::StaleState)), "{stale:?}");
    counters.fold(request(7, 1, LIKE, state(5))).await.unwrap();
    let operations = vec![operation(7, 1, LIKE)];
    counters.settle(&[PersistedReaction { base: base(11, 8), operations }]).await.unwrap();
    let stale = counters.fold(request(9, 2, LIKE, state(5))).await;
    assert!(matches!(stale, Err(CountersError::StaleState)), "{stale:?}");
    let fresh = ReactionState { likes: 11, ..state(8) };
    assert_eq!(counters.fold(request(9, 2, LIKE, fresh)).await.unwrap().counts.likes, 12);
}

#[tokio::test]
async fn state_older_than_an_evicted_view_is_stale() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    open_slot(&counters, 5).await;
    let evict = async || {
        let keys = counters.keys.of(slot());
        let (view, order) = (keys.view(comment()), keys.order(comment()));
        counters.connection.query::<()>("test", &view, ::redis::cmd("DEL").arg(&view).arg(&order)).await.unwrap();
    };
    // The base moves because the job settles, and because a reader has a newer row.
    for (is_settled, offset) in [(true, 7), (false, 9)] {
        let before = ReactionState { likes: offset + 3, ..state(offset) };
        counters.fold(request(offset, offset, LIKE, before)).await.unwrap();
        let base = base(offset + 4, offset + 1);
        if is_settled {
            let operations = vec![operation(offset, offset, LIKE)];
            counters.settle(&[PersistedReaction { base, operations }]).await.unwrap();
        } else {
            counters.read_counts(&[base]).await.unwrap();
        }
        evict().await;
        let stale = counters.fold(request(offset + 1, 2, LIKE, before)).await;
        assert!(matches!(stale, Err(CountersError::StaleState)), "{stale:?}");
        let fresh = ReactionState { likes: offset + 4, ..state(offset + 1) };
        assert_eq!(counters.fold(request(offset + 1, 2, LIKE, fresh)).await.unwrap().counts.likes, offset + 5);
        evict().await;
    }
}

#[tokio::test]
async fn view_expires_only_without_pending_operations() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    open_slot(&counters, 0).await;
    counters.fold(request(1, 1, LIKE, state(0))).await.unwrap();
    assert_eq!(view_ttl(&counters).await, -1, "no expiry");
    let pending = counters.read_pending_reactions(member(1), &[comment()]).await.unwrap();
    assert_eq!(pending[&comment()], Some(Reaction::Like));
    let row = base(11, 2);
    assert_eq!(counters.read_counts(&[row]).await.unwrap()[&comment()], counts(11, 1));
    assert!((1..=60).contains(&view_ttl(&counters).await));
    assert!(counters.read_pending_reactions(member(1), &[comment()]).await.unwrap().is_empty());
    let liked = ReactionState { likes: 11, reaction: Some(Reaction::Like), ..state(2) };
    counters.fold(request(2, 1, DISLIKE, liked)).await.unwrap();
    assert_eq!(view_ttl(&counters).await, -1);
    assert_eq!(counters.read_counts(&[row]).await.unwrap()[&comment()], counts(10, 2));
}

#[tokio::test]
async fn slots_in_one_script_have_their_own_answers() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    let slots: Vec<_> = (0..40).map(|n| Slot::new(n).unwrap()).collect();
    let (lost, open) = slots.split_first().unwrap();
    let recovery = counters.begin_recovery(open).await.unwrap();
    // All but the first are open, each from another offset on.
    let reached = open.iter().map(|slot| (*slot, u64::from(slot.get()))).collect();
    counters.finish_recovery(&recovery, &reached).await.unwrap();
    let id = |slot: &Slot, n| CommentId::from_parts(1_700_000_000_000, *slot, 0, n);
    let fold = |slot: &Slot, n, who| {
        let state = ReactionState { likes: n, ..state(u64::from(slot.get())) };
        counters.fold(FoldRequest { id: id(slot, n), ..request(100 + n, who, LIKE, state) })
    };
    // The first is sent alone; the others wait for it and are sent together.
    let requests = slots.iter().flat_map(|slot| (0..3).flat_map(move |n| [(slot, n, 1), (slot, n, 2)]));
    let folded = join_all(requests.clone().map(|(slot, n, who)| fold(slot, n, who))).await;
    for ((slot, n, who), folded) in requests.zip(folded) {
        match folded {
            Ok(folded) => {
                assert!(slot != lost && (n + 1..=n + 2).contains(&folded.counts.likes), "{slot:?} {n} {who}");
            }
            Err(error) => assert!(slot == lost && matches!(error, CountersError::Lost), "{slot:?}: {error}"),
        }
    }
    let rows: Vec<_> = open.iter().flat_map(|slot| (0..3).map(|n| (id(slot, n), n))).collect();
    let base = |(id, n): &(CommentId, u64), offset| CountBase { id: *id, counts: counts(*n, 1), offset };
    let read = counters.read_counts(&rows.iter().map(|row| base(row, 0)).collect::<Vec<_>>()).await.unwrap();
    assert!(rows.iter().all(|(id, n)| read[id] == counts(n + 2, 1)), "{read:?}");
    // Only the first comment of each slot is settled; the answer names the second and the third.
    let settled = rows.iter().filter(|(_, n)| *n == 0).map(|row| PersistedReaction {
        base: CountBase { counts: counts(2, 1), ..base(row, 200) },
        operations: vec![operation(100, 1, LIKE), operation(100, 2, LIKE)],
    });
    let named = counters.settle(&settled.collect::<Vec<_>>()).await.unwrap();
    let unsettled = rows.iter().filter(|(_, n)| *n > 0).map(|(id, _)| *id);
    assert_eq!(BTreeSet::from_iter(named), unsettled.collect());
    let of_lost = counters.read_counts(&[base(&(id(lost, 0), 0), 0)]).await;
    assert!(matches!(of_lost, Err(CountersError::Lost)), "{of_lost:?}");
}

#[tokio::test]
async fn settling_names_comments_that_were_not_settled() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    open_slot(&counters, 0).await;
    counters.fold(request(1, 1, LIKE, state(0))).await.unwrap();
    let other = CommentId::from_parts(1_700_000_000_001, slot(), 0, 0);
    let base = CountBase { id: other, counts: counts(0, 0), offset: 5 };
    let named = counters.settle(&[PersistedReaction { base, operations: vec![] }]).await.unwrap();
    assert_eq!(named, [comment()]);
}

#[tokio::test]
async fn slots_are_lost_when_a_server_restarts_from_a_snapshot() {
    let Some(server) = RedisServer::start().await else { return };
    let before = connect(&server).await;
    open_slot(&before, 0).await;
    before.fold(request(1, 1, LIKE, state(0))).await.unwrap();
    before.connection.query::<()>("test", "", &::redis::cmd("SAVE")).await.unwrap();
    before.fold(request(2, 2, LIKE, state(0))).await.unwrap();
    let recovery = before.begin_recovery(&[slot()]).await.unwrap();
    let server = server.restart().await;
    let after = connect(&server).await;
    assert!(matches!(after.fold(request(3, 3, LIKE, state(0))).await, Err(CountersError::Lost)));
    assert!(matches!(after.read_counts(&[base(10, 0)]).await, Err(CountersError::Lost)));
    assert!(matches!(after.read_pending_reactions(member(1), &[comment()]).await, Err(CountersError::Lost)));
    let late = after.finish_recovery(&recovery, &HashMap::from([(slot(), 3)])).await;
    assert!(matches!(late, Err(CountersError::Lost)), "{late:?}");
    open_slot(&after, 3).await;
    assert!(after.read_view(comment()).await.unwrap().is_none(), "the pending operations are in the rows");
}

#[tokio::test]
async fn one_holder_has_a_claim_until_it_ends_with_its_lease_or_its_server() {
    const LEASE: Duration = Duration::from_millis(300);
    let Some(server) = RedisServer::start().await else { return };
    let (first, second) = (connect(&server).await, connect(&server).await);
    assert!(!first.is_recovery_claimed(slot()).await.unwrap());
    assert!(first.claim_recovery(slot(), "first", REDIS_TIMEOUT).await.unwrap());
    assert!(second.is_recovery_claimed(slot()).await.unwrap());
    assert!(!second.claim_recovery(slot(), "second", LEASE).await.unwrap());
    assert!(second.claim_recovery(Slot::FIRST, "second", LEASE).await.unwrap(), "other slots");
    second.release_recovery(slot(), "second").await.unwrap();
    assert!(first.claim_recovery(slot(), "first", LEASE).await.unwrap(), "its own is prolonged");
    first.release_recovery(slot(), "first").await.unwrap();
    assert!(second.claim_recovery(slot(), "second", LEASE).await.unwrap(), "it was given up");
    tokio::time::sleep(2 * LEASE).await;
    assert!(!first.is_recovery_claimed(slot()).await.unwrap());
    // Another server has the claim of a holder that has begun nothing there.
    assert!(first.claim_recovery(slot(), "first", Duration::from_secs(60)).await.unwrap());
    first.connection.query::<()>("test", "", &::redis::cmd("SAVE")).await.unwrap();
    let server = server.restart().await;
    let second = connect(&server).await;
    assert!(second.is_recovery_claimed(slot()).await.unwrap());
    assert!(second.claim_recovery(slot(), "second", LEASE).await.unwrap());
}

#[tokio::test]
async fn slots_begin_anew_when_the_log_was_accepted() {
    const BASE: u64 = 1 << 32;
    let Some(server) = RedisServer::start().await else { return };
    let log = MemoryBroker::new(8);
    let counters = connect_to_log(&server, log.clone()).await;
    open_slot(&counters, 0).await;
    counters.fold(request(1, 1, LIKE, state(0))).await.unwrap();
    let recovery = counters.begin_recovery(&[slot()]).await.unwrap();
    log.accept(Topic::Reactions, 1, BASE);
    // The log has lost the reaction; the tables know nothing of it.
    assert_eq!(counters.find_lost_slots(&[slot()]).await.unwrap(), [slot()]);
    let late = counters.finish_recovery(&recovery, &HashMap::from([(slot(), 0)])).await;
    assert!(matches!(late, Err(CountersError::Lost)), "{late:?}");
    open_slot(&counters, 0).await;
    assert!(counters.read_counts(&[base(10, 0)]).await.unwrap().is_empty());
    let stale = counters.fold(request(2, 2, LIKE, state(0))).await;
    assert!(matches!(stale, Err(CountersError::StaleState)), "its offset is of the former log: {stale:?}");
    assert_eq!(counters.fold(request(BASE, 1, LIKE, state(0))).await.unwrap().counts, counts(11, 1));
}

#[tokio::test]
async fn forgetting_pending_operations_loses_the_slot() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    open_slot(&counters, 0).await;
    counters.forget_view(comment()).await.unwrap();
    assert!(counters.find_lost_slots(&[slot()]).await.unwrap().is_empty());
    counters.fold(request(1, 1, LIKE, state(0))).await.unwrap();
    counters.forget_view(comment()).await.unwrap();
    assert_eq!(counters.find_lost_slots(&[slot()]).await.unwrap(), [slot()]);
}

#[tokio::test]
async fn stopped_server_costs_a_few_timeouts_and_is_used_again_when_it_continues() {
    let Some(server) = RedisServer::start().await else { return };
    let counters = connect(&server).await;
    open_slot(&counters, 0).await;
    server.signal("STOP");
    let since = Instant::now();
    assert!(matches!(counters.fold(request(1, 1, LIKE, state(0))).await, Err(CountersError::Unavailable(_))));
    assert!(since.elapsed() < Duration::from_millis(1_500));
    let since = Instant::now();
    for offset in 2..50 {
        assert!(counters.fold(request(offset, offset, LIKE, state(0))).await.is_err());
    }
    // The breaker opens after three.
    assert!(since.elapsed() < 4 * REDIS_TIMEOUT, "{:?}", since.elapsed());
    let wait_until_it_answers = async || {
        let since = Instant::now();
        while counters.find_lost_slots(&[slot()]).await.is_err() {
            assert!(since.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    server.signal("CONT");
    wait_until_it_answers().await;
    let server = server.restart().await;
    wait_until_it_answers().await;
    assert_eq!(counters.find_lost_slots(&[slot()]).await.unwrap(), [slot()]);
    drop(server);
}
