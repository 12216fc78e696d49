//! Reservations and pending comments on a private Redis server.

use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Visibility};

use crate::adapters::redis::RedisConnection;
use crate::adapters::redis::pending::{MAX_MEMBER_COMMENTS, PENDING_TTL, RESERVATION_TTL, RedisPending};
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::{IdempotencyKey, NewCommentRow};
use crate::ports::pending::{Pending, Reservation};
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
        idempotency: key.map(|key| IdempotencyKey { key: key.to_owned(), request: [7; 32] }),
        imported: None,
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
    let Reservation::Existing { operation, is_appended: false } = pending.reserve_key(&second).await.unwrap() else {
        panic!()
    };
    assert_eq!(id(&operation), id(&first));
    // Only the holder can release it, and not after it was appended.
    pending.release_key(&second).await.unwrap();
    assert_eq!(pending.find_reservation(member(), "k").await.unwrap().map(|e| id(&e)), Some(id(&first)));
    pending.release_key(&first).await.unwrap();
    assert!(pending.find_reservation(member(), "k").await.unwrap().is_none());
    pending.reserve_key(&second).await.unwrap();
    pending.put_comment(&second).await.unwrap();
    pending.release_key(&second).await.unwrap();
    let Reservation::Existing { operation, is_appended: true } = pending.reserve_key(&first).await.unwrap() else {
        panic!()
    };
    assert_eq!(id(&operation), id(&second));
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
async fn pending_comments_are_listed_newest_first_for_a_minute() {
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
    assert!(found.iter().all(|(key, operation)| *key == id(operation)));
    let own: Vec<_> = ids.iter().rev().take(MAX_MEMBER_COMMENTS).copied().collect();
    assert_eq!(pending.list_member_comments(member()).await.unwrap(), own);
    clock.advance(PENDING_TTL + Duration::from_millis(MAX_MEMBER_COMMENTS as u64 + 5));
    assert!(pending.list_member_comments(member()).await.unwrap().is_empty());
}
