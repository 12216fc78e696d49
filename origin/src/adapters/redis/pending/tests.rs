//! Reservations and pending comments on a private Redis server.

use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{Author, CommentState, Visibility};

use crate::adapters::redis::RedisConnection;
use crate::adapters::redis::pending::reservation::APPENDED_BYTES;
use crate::adapters::redis::pending::{MAX_MEMBER_COMMENTS, RESERVATION_TTL, RedisPending};
use crate::domain::codec::operation::encode;
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::{IdempotencyKey, NewCommentRow, RememberedRequest};
use crate::ports::pending::{
    KeyHolder, MAX_PENDING_TIME, MAX_SNAPSHOT_TIME, Pending, PendingEnd, Reservation, STORED_COMMENT_TIME,
};
use crate::testing::manual_clock::ManualClock;
use crate::testing::redis_server::RedisServer;

const NOW: u64 = 1_700_000_000_000;

fn member() -> MemberId {
    MemberId::new((1 << 62) + 5).unwrap()
}

fn operation(at: u64, number: u64, key: Option<&str>) -> LoggedOperation {
    let subject = SubjectKey::new("article", "1").unwrap();
    let id = CommentId::from_parts(NOW + number, Slot::new(number as u16 % 3).unwrap(), 0, 0);
    let row = NewCommentRow {
        subject,
        path: Path::root(id),
        parent_id: None,
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author: Author::new(member(), "楼主".into(), None, 1, None),
        created_at: at,
        content: format!("comment {number}"),
        html: format!("<p>comment {number}</p>"),
        original_text: None,
        mentions: vec![],
        media: vec![],
        reasons: vec![],
        idempotency: key.map(|key| IdempotencyKey { key: key.to_owned(), request: [7; 32] }),
        imported: None,
        network: None,
    };
    LoggedOperation::new(at, Operation::Publish(Box::new(row)))
}

fn id(operation: &LoggedOperation) -> CommentId {
    let Operation::Publish(row) = &operation.operation else { panic!("{operation:?}") };
    row.path.id()
}

async fn pending(server: &RedisServer, clock: &ManualClock) -> RedisPending {
    let connection = RedisConnection::open(&server.urls(), None).await.unwrap();
    RedisPending::new(connection, "test", clock.clock())
}

#[tokio::test]
async fn key_belongs_to_one_operation_until_it_is_released() {
    let Some(server) = RedisServer::start().await else { return };
    let clock = ManualClock::at(NOW);
    let pending = pending(&server, &clock).await;
    let (first, second) = (operation(NOW, 1, Some("k")), operation(NOW, 2, Some("k")));
    assert!(matches!(pending.reserve_key(&first).await.unwrap(), Reservation::New { is_certain: false }));
    let Reservation::Existing(KeyHolder::Reserved(holder)) = pending.reserve_key(&second).await.unwrap() else {
        panic!()
    };
    assert_eq!(id(&holder), id(&first));
    // Only the holder can release it, and not after it was appended.
    pending.release_key(&second).await.unwrap();
    let holder = pending.find_reservation(member(), "k").await.unwrap().and_then(|holder| holder.appended());
    assert_eq!(holder.map(|holder| holder.request.id), Some(id(&first)));
    pending.release_key(&first).await.unwrap();
    assert!(pending.find_reservation(member(), "k").await.unwrap().is_none());
    pending.reserve_key(&second).await.unwrap();
    pending.put_comment(&second).await.unwrap();
    pending.release_key(&second).await.unwrap();
    // What is kept of it then is small.
    let key = pending.reservation_key(member(), "k");
    let length: usize = pending.connection.query("test", &key, ::redis::cmd("STRLEN").arg(&key)).await.unwrap();
    assert_eq!(length, APPENDED_BYTES);
    // Another operation with this key is shown, and leaves the key to its holder.
    pending.put_comment(&first).await.unwrap();
    let Reservation::Existing(KeyHolder::Appended(holder)) = pending.reserve_key(&first).await.unwrap() else {
        panic!()
    };
    let RememberedRequest { request, id: holding, state } = holder.request;
    assert_eq!((holder.at, request, holding, state), (NOW, [7; 32], id(&second), CommentState::Published));
    // As the first versions wrote it.
    let mut value = b"1".to_vec();
    value.extend(encode(&first).unwrap());
    pending.connection.query::<()>("test", &key, ::redis::cmd("SET").arg(&key).arg(value)).await.unwrap();
    let holder = pending.find_reservation(member(), "k").await.unwrap();
    assert!(matches!(holder, Some(KeyHolder::Appended(holder)) if holder.request.id == id(&first)));
}

#[tokio::test]
async fn reservation_is_certain_after_a_server_has_run_for_a_lifetime() {
    let Some(server) = RedisServer::start().await else { return };
    let clock = ManualClock::at(NOW);
    let before = pending(&server, &clock).await;
    let reserved = before.reserve_key(&operation(NOW, 1, Some("a"))).await.unwrap();
    assert!(matches!(reserved, Reservation::New { is_certain: false }));
    clock.advance(RESERVATION_TTL);
    let reserved = before.reserve_key(&operation(NOW, 2, Some("b"))).await.unwrap();
    assert!(matches!(reserved, Reservation::New { is_certain: true }));
    // A snapshot may lack the last reservations.
    before.connection.query::<()>("test", "", &::redis::cmd("SAVE")).await.unwrap();
    let server = server.restart().await;
    let after = pending(&server, &clock).await;
    assert!(after.find_reservation(member(), "b").await.unwrap().is_some());
    let reserved = after.reserve_key(&operation(NOW, 3, Some("c"))).await.unwrap();
    assert!(matches!(reserved, Reservation::New { is_certain: false }));
}

#[tokio::test]
async fn pending_comments_are_listed_newest_first_until_they_are_rows() {
    let Some(server) = RedisServer::start().await else { return };
    let clock = ManualClock::at(NOW);
    let pending = pending(&server, &clock).await;
    let operations: Vec<_> = (0..MAX_MEMBER_COMMENTS as u64 + 5).map(|n| operation(NOW + n, n, None)).collect();
    for operation in &operations {
        pending.put_comment(operation).await.unwrap();
    }
    let ids: Vec<_> = operations.iter().map(id).collect();
    let found = pending.read_comments(&ids).await.unwrap();
    assert_eq!(found.len(), ids.len());
    assert!(found.iter().all(|(key, found)| *key == id(&found.operation) && found.is_of_this_server));
    let own: Vec<_> = ids.iter().rev().take(MAX_MEMBER_COMMENTS).copied().collect();
    assert_eq!(pending.list_member_comments(member()).await.unwrap(), own);
    // They are pending until they are rows, for a day at most.
    let key = pending.comment_key(ids[0]);
    let expiry: u64 = pending.connection.query("test", &key, ::redis::cmd("PTTL").arg(&key)).await.unwrap();
    let most = MAX_PENDING_TIME.as_millis() as u64;
    assert!((most - 60_000..=most).contains(&expiry), "{expiry}");
    let rows: Vec<_> = ids[20..].iter().map(|id| (*id, PendingEnd::Stored(member()))).collect();
    pending.end_comments(&rows).await.unwrap();
    pending.end_comments(&[(ids[0], PendingEnd::Changed)]).await.unwrap();
    let found = pending.read_comments(&ids).await.unwrap();
    assert_eq!((found.len(), found.contains_key(&ids[0])), (ids.len() - 1, false));
    // A row is found here a little longer, by a reader whose slot map is old.
    let key = pending.comment_key(ids[20]);
    let expiry: u64 = pending.connection.query("test", &key, ::redis::cmd("PTTL").arg(&key)).await.unwrap();
    assert!((1..=STORED_COMMENT_TIME.as_millis() as u64).contains(&expiry), "{expiry}");
    let left: Vec<_> = ids[..20].iter().rev().copied().filter(|id| own.contains(id)).collect();
    assert_eq!(pending.list_member_comments(member()).await.unwrap(), left);
    clock.advance(MAX_PENDING_TIME + Duration::from_secs(1));
    assert!(pending.list_member_comments(member()).await.unwrap().is_empty());
}

/// A server that went back may have comments that became rows and were deleted since.
#[tokio::test]
async fn comments_of_another_server_are_marked() {
    let Some(server) = RedisServer::start().await else { return };
    let clock = ManualClock::at(NOW);
    let (before, after) = (operation(NOW, 1, None), operation(NOW, 2, None));
    let old = pending(&server, &clock).await;
    old.put_comment(&before).await.unwrap();
    old.connection.query::<()>("test", "", &::redis::cmd("SAVE")).await.unwrap();
    let server = server.restart().await;
    let new = pending(&server, &clock).await;
    new.put_comment(&after).await.unwrap();
    let found = new.read_comments(&[id(&before), id(&after)]).await.unwrap();
    assert!(!found[&id(&before)].is_of_this_server && found[&id(&after)].is_of_this_server);
}

#[tokio::test]
async fn ranking_is_kept_for_two_hours() {
    let Some(server) = RedisServer::start().await else { return };
    let pending = pending(&server, &ManualClock::at(NOW)).await;
    let snapshot = Snapshot::rank(vec![(2, id(&operation(NOW, 3, None))), (1, id(&operation(NOW, 6, None)))]);
    assert!(pending.read_snapshot(Slot::FIRST, snapshot.id()).await.unwrap().is_none());
    pending.put_snapshot(Slot::FIRST, &snapshot).await.unwrap();
    let found = pending.read_snapshot(Slot::FIRST, snapshot.id()).await.unwrap().unwrap();
    assert_eq!(found.ids(), snapshot.ids());
    let key = pending.snapshot_key(Slot::FIRST, snapshot.id());
    let expiry: u64 = pending.connection.query("test", &key, ::redis::cmd("PTTL").arg(&key)).await.unwrap();
    assert!(expiry <= MAX_SNAPSHOT_TIME.as_millis() as u64 && expiry > 3_600_000);
}
