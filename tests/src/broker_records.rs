//! What a test does to the broker behind the back of a cluster: it deletes topics, and appends records of its own.

use gailou::domain::codec::operation;
use gailou::domain::operation::{LoggedOperation, Operation};
use gailou::domain::row::NewCommentRow;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Visibility};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The timeout of the admin request, in milliseconds.
const ADMIN_TIMEOUT_MS: u32 = 10_000;

/// Deletes a topic: an operator's mistake, in the words of the broker's protocol.
pub async fn delete_topic(broker: &str, topic: &str) {
    let text = |text: &str| [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat();
    // DeleteTopics, version 1: one name and a timeout.
    let head = [&20_u16.to_be_bytes()[..], &1_u16.to_be_bytes(), &7_u32.to_be_bytes(), &text("test")].concat();
    let request = [head, 1_u32.to_be_bytes().to_vec(), text(topic), ADMIN_TIMEOUT_MS.to_be_bytes().to_vec()].concat();
    let mut stream = TcpStream::connect(broker).await.expect("the broker listens");
    stream.write_all(&(request.len() as u32).to_be_bytes()).await.expect("the broker reads");
    stream.write_all(&request).await.expect("the broker reads");
    let mut reply = vec![0; stream.read_u32().await.expect("the broker replies") as usize];
    stream.read_exact(&mut reply).await.expect("the broker replies");
    assert_eq!(reply[reply.len() - 2..], [0, 0], "{topic} is not deleted: {reply:?}");
}

/// A new comment as an origin appends it.
pub fn encoded_publication(subject: &SubjectKey, id: CommentId, author: u64, text: &str) -> Vec<u8> {
    let author = Author::new(MemberId::new(author).expect("an id"), "A".into(), None, 1, None);
    let row = NewCommentRow {
        subject: subject.clone(),
        path: Path::root(id),
        parent_id: None,
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author,
        created_at: id.created_ms(),
        content: text.into(),
        html: format!("<p>{text}</p>"),
        original_text: None,
        mentions: vec![],
        media: vec![],
        reasons: vec![],
        idempotency: None,
        imported: None,
        network: None,
    };
    operation::encode(&LoggedOperation::new(id.created_ms(), Operation::Publish(Box::new(row))))
        .expect("the operation is encoded")
}
