use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;

use crate::adapters::redis::Connection;
use crate::adapters::redis::counters::RedisCounters;
use crate::domain::operation::ReactionChange;
use crate::domain::reaction_state::ReactionState;
use crate::ports::counters::{Base, Counters, CountersError, Fold, Folded, PersistedReaction};
use crate::testing::redis_server::Server;

/// The largest offset that scripts tell from the next one, with room for a few more.
const FAR: u64 = (1 << 53) - 16;

fn slot() -> Slot {
    Slot::new(9).unwrap()
}

fn comment() -> CommentId {
    CommentId::from_parts(1_700_000_000_000, slot(), 0, 0)
}

fn member(number: u64) -> MemberId {
    MemberId::new((1 << 62) + number).unwrap()
}

fn standing(position: u64) -> ReactionState {
    ReactionState { position, reaction: None, visible: Some(true), likes: 10, dislikes: 1, reacted: 0 }
}

fn fold(version: u64, who: u64, react: ReactionChange, standing: ReactionState) -> Fold {
    Fold { id: comment(), member: member(who), react, version, standing }
}

async fn counters(server: &Server) -> RedisCounters {
    RedisCounters::new(Connection::open(&server.urls()).await.unwrap(), "test")
}

async fn open(counters: &RedisCounters, reached: u64) {
    let opening = counters.begin(&[slot()]).await.unwrap();
    counters.reopen(&opening, &HashMap::from([(slot(), reached)])).await.unwrap();
}

async fn ttl(counters: &RedisCounters) -> i64 {
    let key = counters.keys.view(comment());
    counters.connection.query(&key, ::redis::cmd("TTL").arg(&key)).await.unwrap()
}

const LIKE: ReactionChange = ReactionChange::Put(Reaction::Like);
const DISLIKE: ReactionChange = ReactionChange::Put(Reaction::Dislike);

#[tokio::test]
async fn operations_of_a_pair_are_folded_in_the_order_of_the_log() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    open(&counters, FAR).await;
    let s = standing(FAR);
    // Together, as concurrent callers of two servers are, the later first.
    let (b, a) = tokio::join!(
        counters.fold(fold(FAR + 2, 1, ReactionChange::Take(Reaction::Like), s)),
        counters.fold(fold(FAR + 1, 1, DISLIKE, s)),
    );
    assert_eq!(b.unwrap(), Folded { likes: 10, dislikes: 1, reaction: None });
    let dislike = Folded { likes: 10, dislikes: 2, reaction: Some(Reaction::Dislike) };
    assert_eq!(a.unwrap(), dislike);
    // The same again, and one that the base holds, change nothing.
    assert_eq!(counters.fold(fold(FAR + 1, 1, DISLIKE, s)).await.unwrap(), dislike);
    assert_eq!(counters.fold(fold(FAR - 1, 1, LIKE, s)).await.unwrap(), dislike);
    let (base, shown) = counters.view(comment()).await.unwrap().unwrap();
    assert_eq!((base.reacted, base.likes, base.dislikes, shown), (FAR, 10, 1, (10, 2)));
}

#[tokio::test]
async fn a_standing_from_before_the_base_is_read_again() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    open(&counters, 5).await;
    let early = counters.fold(fold(7, 1, LIKE, standing(4))).await;
    assert!(matches!(early, Err(CountersError::Behind)), "{early:?}");
    counters.fold(fold(7, 1, LIKE, standing(5))).await.unwrap();
    let base = Base { id: comment(), likes: 11, dislikes: 1, reacted: 8 };
    counters.persisted(&[PersistedReaction { base, operations: vec![(7, member(1), LIKE)] }]).await.unwrap();
    let early = counters.fold(fold(9, 2, LIKE, standing(5))).await;
    assert!(matches!(early, Err(CountersError::Behind)), "{early:?}");
    let now = ReactionState { likes: 11, ..standing(8) };
    assert_eq!(counters.fold(fold(9, 2, LIKE, now)).await.unwrap().likes, 12);
}

#[tokio::test]
async fn a_standing_from_before_a_view_that_was_evicted_is_read_again() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    open(&counters, 5).await;
    let evict = async || {
        let (view, order) = (counters.keys.view(comment()), counters.keys.order(comment()));
        counters.connection.query::<()>(&view, ::redis::cmd("DEL").arg(&view).arg(&order)).await.unwrap();
    };
    // Told by the job, and found out by a reader.
    for (told, version) in [(true, 7), (false, 9)] {
        let before = ReactionState { likes: version + 3, ..standing(version) };
        counters.fold(fold(version, version, LIKE, before)).await.unwrap();
        let base = Base { id: comment(), likes: version + 4, dislikes: 1, reacted: version + 1 };
        if told {
            let operations = vec![(version, member(version), LIKE)];
            counters.persisted(&[PersistedReaction { base, operations }]).await.unwrap();
        } else {
            counters.counts(&[base]).await.unwrap();
        }
        evict().await;
        let late = counters.fold(fold(version + 1, 2, LIKE, before)).await;
        assert!(matches!(late, Err(CountersError::Behind)), "{late:?}");
        let now = ReactionState { likes: version + 4, ..standing(version + 1) };
        assert_eq!(counters.fold(fold(version + 1, 2, LIKE, now)).await.unwrap().likes, version + 5);
        evict().await;
    }
}

#[tokio::test]
async fn a_view_lives_as_long_as_something_is_pending_in_it() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    open(&counters, 0).await;
    counters.fold(fold(1, 1, LIKE, standing(0))).await.unwrap();
    assert_eq!(ttl(&counters).await, -1, "no expiry");
    assert_eq!(counters.reactions(member(1), &[comment()]).await.unwrap()[&comment()], Some(Reaction::Like));
    let row = Base { id: comment(), likes: 11, dislikes: 1, reacted: 2 };
    assert_eq!(counters.counts(&[row]).await.unwrap()[&comment()], (11, 1));
    assert!((1..=60).contains(&ttl(&counters).await));
    assert!(counters.reactions(member(1), &[comment()]).await.unwrap().is_empty());
    counters
        .fold(fold(2, 1, DISLIKE, ReactionState { likes: 11, reaction: Some(Reaction::Like), ..standing(2) }))
        .await
        .unwrap();
    assert_eq!(ttl(&counters).await, -1);
    assert_eq!(counters.counts(&[row]).await.unwrap()[&comment()], (10, 2));
}

#[tokio::test]
async fn slots_that_share_scripts_are_told_apart() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    let slots: Vec<_> = (0..40).map(|n| Slot::new(n).unwrap()).collect();
    let (lost, opened) = slots.split_first().unwrap();
    let opening = counters.begin(opened).await.unwrap();
    // All but the first are open, each from another position on.
    let reached = opened.iter().map(|slot| (*slot, u64::from(slot.get()))).collect();
    counters.reopen(&opening, &reached).await.unwrap();
    let id = |slot: &Slot, n| CommentId::from_parts(1_700_000_000_000, *slot, 0, n);
    let fold = |slot: &Slot, n, who| {
        let standing = ReactionState { likes: n, ..standing(u64::from(slot.get())) };
        counters.fold(Fold { id: id(slot, n), ..fold(100 + n, who, LIKE, standing) })
    };
    // The first is sent alone; the others wait for it and go together.
    let asked = slots.iter().flat_map(|slot| (0..3).flat_map(move |n| [(slot, n, 1), (slot, n, 2)]));
    let folded = join_all(asked.clone().map(|(slot, n, who)| fold(slot, n, who))).await;
    for ((slot, n, who), folded) in asked.zip(folded) {
        match folded {
            Ok(folded) => assert!(slot != lost && (n + 1..=n + 2).contains(&folded.likes), "{slot:?} {n} {who}"),
            Err(error) => assert!(slot == lost && matches!(error, CountersError::Lost), "{slot:?}: {error}"),
        }
    }
    let rows: Vec<_> = opened.iter().flat_map(|slot| (0..3).map(|n| (id(slot, n), n))).collect();
    let base = |(id, n): &(CommentId, u64), reacted| Base { id: *id, likes: *n, dislikes: 1, reacted };
    let counts = counters.counts(&rows.iter().map(|row| base(row, 0)).collect::<Vec<_>>()).await.unwrap();
    assert!(rows.iter().all(|(id, n)| counts[id] == (n + 2, 1)), "{counts:?}");
    // Told of the first comment of each slot, they name the second and third.
    let settled = rows.iter().filter(|(_, n)| *n == 0).map(|row| PersistedReaction {
        base: Base { likes: 2, ..base(row, 200) },
        operations: vec![(100, member(1), LIKE), (100, member(2), LIKE)],
    });
    let left = counters.persisted(&settled.collect::<Vec<_>>()).await.unwrap();
    let unsettled = rows.iter().filter(|(_, n)| *n > 0).map(|(id, _)| *id);
    assert_eq!(BTreeSet::from_iter(left), unsettled.collect());
    let late = counters.counts(&[base(&(id(lost, 0), 0), 0)]).await;
    assert!(matches!(late, Err(CountersError::Lost)), "{late:?}");
}

#[tokio::test]
async fn what_nobody_told_is_named() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    open(&counters, 0).await;
    counters.fold(fold(1, 1, LIKE, standing(0))).await.unwrap();
    let other = CommentId::from_parts(1_700_000_000_001, slot(), 0, 0);
    let base = Base { id: other, likes: 0, dislikes: 0, reacted: 5 };
    let left = counters.persisted(&[PersistedReaction { base, operations: vec![] }]).await.unwrap();
    assert_eq!(left, [comment()]);
}

#[tokio::test]
async fn a_server_that_comes_back_from_a_snapshot_has_lost_the_slots() {
    let Some(server) = Server::start().await else { return };
    let before = counters(&server).await;
    open(&before, 0).await;
    before.fold(fold(1, 1, LIKE, standing(0))).await.unwrap();
    before.connection.query::<()>("", &::redis::cmd("SAVE")).await.unwrap();
    before.fold(fold(2, 2, LIKE, standing(0))).await.unwrap();
    let opening = before.begin(&[slot()]).await.unwrap();
    let server = server.restart().await;
    let after = counters(&server).await;
    assert!(matches!(after.fold(fold(3, 3, LIKE, standing(0))).await, Err(CountersError::Lost)));
    let row = Base { id: comment(), likes: 10, dislikes: 1, reacted: 0 };
    assert!(matches!(after.counts(&[row]).await, Err(CountersError::Lost)));
    assert!(matches!(after.reactions(member(1), &[comment()]).await, Err(CountersError::Lost)));
    let late = after.reopen(&opening, &HashMap::from([(slot(), 3)])).await;
    assert!(matches!(late, Err(CountersError::Lost)), "{late:?}");
    open(&after, 3).await;
    assert!(after.view(comment()).await.unwrap().is_none(), "what was pending is in the rows");
}

#[tokio::test]
async fn forgetting_what_is_pending_loses_the_slot() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    open(&counters, 0).await;
    counters.forget(comment()).await.unwrap();
    assert!(counters.lost(&[slot()]).await.unwrap().is_empty());
    counters.fold(fold(1, 1, LIKE, standing(0))).await.unwrap();
    counters.forget(comment()).await.unwrap();
    assert_eq!(counters.lost(&[slot()]).await.unwrap(), [slot()]);
}

#[tokio::test]
async fn a_server_that_stands_still_is_waited_for_once() {
    let Some(server) = Server::start().await else { return };
    let counters = counters(&server).await;
    open(&counters, 0).await;
    server.signal("STOP");
    let since = Instant::now();
    assert!(matches!(counters.fold(fold(1, 1, LIKE, standing(0))).await, Err(CountersError::Unavailable(_))));
    assert!(since.elapsed() < Duration::from_millis(1_500));
    let since = Instant::now();
    for version in 2..50 {
        assert!(counters.fold(fold(version, version, LIKE, standing(0))).await.is_err());
    }
    assert!(since.elapsed() < Duration::from_millis(400), "{:?}", since.elapsed());
    server.signal("CONT");
    let since = Instant::now();
    while counters.lost(&[slot()]).await.is_err() {
        assert!(since.elapsed() < Duration::from_secs(3));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let server = server.restart().await;
    let since = Instant::now();
    while counters.lost(&[slot()]).await.is_err() {
        assert!(since.elapsed() < Duration::from_secs(3));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(counters.lost(&[slot()]).await.unwrap(), [slot()]);
    drop(server);
}
