use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Visibility};

use crate::adapters::redis::Connection;
use crate::adapters::redis::pending::{OWN, RESERVED, RedisPending, SHOWN};
use crate::clock::Clock;
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::NewCommentRow;
use crate::ports::pending::{Pending, Reserved};
use crate::testing::redis_server::Server;

const NOW: u64 = 1_700_000_000_000;

fn member() -> MemberId {
    MemberId::new((1 << 62) + 5).unwrap()
}

fn event(at: u64, number: u64, key: Option<&str>) -> LoggedOperation {
    let subject = SubjectKey::new("article", "1").unwrap();
    let id = CommentId::from_parts(NOW + number, Slot::new(number as u16 % 3).unwrap(), 0, 0);
    let row = NewCommentRow {
        subject,
        path: Path::root(id),
        parent_id: None,
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author: Author { id: member(), name: "楼主".into(), avatar: None, level: 1 },
        created_at: at,
        content: format!("comment {number}"),
        html: format!("<p>comment {number}</p>"),
        written: None,
        mentions: vec![],
        idempotency: key.map(|key| (key.to_owned(), [7; 32])),
        imported: None,
    };
    LoggedOperation::new(at, Operation::Publish(Box::new(row)))
}

fn id(event: &LoggedOperation) -> CommentId {
    let Operation::Publish(row) = &event.operation else { panic!("{event:?}") };
    row.path.id()
}

async fn pending(server: &Server, now: &Arc<AtomicU64>) -> RedisPending {
    let now = now.clone();
    let connection = Connection::open(&server.urls()).await.unwrap();
    RedisPending::new(connection, "test", Clock::from_fn(move || now.load(Ordering::SeqCst)))
}

#[tokio::test]
async fn a_key_belongs_to_one_event_until_it_is_given_back() {
    let Some(server) = Server::start().await else { return };
    let now = Arc::new(AtomicU64::new(NOW));
    let pending = pending(&server, &now).await;
    let (first, second) = (event(NOW, 1, Some("k")), event(NOW, 2, Some("k")));
    assert!(matches!(pending.reserve(&first).await.unwrap(), Reserved::Now { sure: false }));
    let Reserved::Before { event, appended: false } = pending.reserve(&second).await.unwrap() else { panic!() };
    assert_eq!(id(&event), id(&first));
    // Only its own event gives it back, and not once it is appended.
    pending.release(&second).await.unwrap();
    assert_eq!(pending.reserved(member(), "k").await.unwrap().map(|e| id(&e)), Some(id(&first)));
    pending.release(&first).await.unwrap();
    assert!(pending.reserved(member(), "k").await.unwrap().is_none());
    pending.reserve(&second).await.unwrap();
    pending.put(&second).await.unwrap();
    pending.release(&second).await.unwrap();
    let Reserved::Before { event, appended: true } = pending.reserve(&first).await.unwrap() else { panic!() };
    assert_eq!(id(&event), id(&second));
}

#[tokio::test]
async fn a_server_is_sure_when_it_remembers_longer_than_reservations_live() {
    let Some(server) = Server::start().await else { return };
    let now = Arc::new(AtomicU64::new(NOW));
    let before = pending(&server, &now).await;
    let reserved = before.reserve(&event(NOW, 1, Some("a"))).await.unwrap();
    assert!(matches!(reserved, Reserved::Now { sure: false }));
    now.fetch_add(RESERVED.as_millis() as u64, Ordering::SeqCst);
    let reserved = before.reserve(&event(NOW, 2, Some("b"))).await.unwrap();
    assert!(matches!(reserved, Reserved::Now { sure: true }));
    // What it loads from a snapshot may lack the last reservations.
    before.connection.query::<()>("", &::redis::cmd("SAVE")).await.unwrap();
    let server = server.restart().await;
    let after = pending(&server, &now).await;
    assert!(after.reserved(member(), "b").await.unwrap().is_some());
    let reserved = after.reserve(&event(NOW, 3, Some("c"))).await.unwrap();
    assert!(matches!(reserved, Reserved::Now { sure: false }));
}

#[tokio::test]
async fn comments_are_shown_to_all_and_to_their_author_newest_first() {
    let Some(server) = Server::start().await else { return };
    let now = Arc::new(AtomicU64::new(NOW));
    let pending = pending(&server, &now).await;
    let events: Vec<_> = (0..OWN as u64 + 5).map(|n| event(NOW + n, n, None)).collect();
    for event in &events {
        pending.put(event).await.unwrap();
    }
    let ids: Vec<_> = events.iter().map(id).collect();
    let found = pending.comments(&ids).await.unwrap();
    assert_eq!(found.len(), ids.len());
    assert!(found.iter().all(|(key, event)| *key == id(event)));
    let own: Vec<_> = ids.iter().rev().take(OWN).copied().collect();
    assert_eq!(pending.of(member()).await.unwrap(), own);
    now.fetch_add(SHOWN.as_millis() as u64 + OWN as u64 + 5, Ordering::SeqCst);
    assert!(pending.of(member()).await.unwrap().is_empty());
}
