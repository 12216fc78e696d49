//! One story for every keeper of links, and how a chain is followed.

use gailou_shared::id::{CommentId, SubjectKey};

use crate::adapters::memory::revisions::MemoryRevisions;
use crate::domain::operation::{PersistedBatch, TouchedComment};
use crate::ports::revisions::*;

fn subject(key: &str) -> SubjectKey {
    SubjectKey::new("video", key).unwrap()
}

fn gone(id: u64) -> RevisionEvent {
    RevisionEvent::Removed { id: CommentId::new(id).unwrap() }
}

fn link(version: u64, ids: &[u64]) -> Revision {
    Revision { version, events: ids.iter().map(|id| gone(*id)).collect() }
}

async fn links_are_kept(events: &dyn Revisions) {
    let [one, other] = ["1", "2"].map(subject);
    assert_eq!(events.since(&one, 0).await.unwrap(), []);
    let id = CommentId::new(1 << 62).unwrap();
    let comment = Revision { version: 1, events: vec![RevisionEvent::Comment { id, root: id, parent: Some(id) }] };
    events.append(&[(one.clone(), comment.clone()), (other.clone(), link(7, &[]))]).await.unwrap();
    events.append(&[(one.clone(), link(2, &[5, 6]))]).await.unwrap();
    assert_eq!(events.since(&one, 0).await.unwrap(), [comment, link(2, &[5, 6])]);
    assert_eq!(events.since(&one, 1).await.unwrap(), [link(2, &[5, 6])]);
    assert_eq!(events.since(&one, 2).await.unwrap(), []);
    assert_eq!(events.since(&other, 0).await.unwrap(), [link(7, &[])]);
    let many: Vec<_> =
        (3..=MAX_REVISIONS_KEPT as u64 + 3).map(|version| (one.clone(), link(version, &[version]))).collect();
    events.append(&many).await.unwrap();
    let kept = events.since(&one, 0).await.unwrap();
    assert_eq!((kept.len(), kept[0].version), (MAX_REVISIONS_KEPT, 4), "the newest");
    assert_eq!(follow(2, &kept, 9), (2, vec![]), "a gap is not gone over");
}

#[tokio::test]
async fn in_memory() {
    links_are_kept(&MemoryRevisions::new()).await;
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn in_redis() {
    use crate::adapters::redis::Connection;
    use crate::adapters::redis::revisions::RedisRevisions;
    let Some(server) = crate::testing::redis_server::Server::start().await else { return };
    let connection = Connection::open(&server.urls()).await.unwrap();
    let events = RedisRevisions::new(connection, "t");
    links_are_kept(&events).await;
    // Two processes tell out of order, and one of them twice.
    let one = subject("3");
    for version in [3, 1, 2, 2] {
        events.append(&[(one.clone(), link(version, &[version]))]).await.unwrap();
    }
    let links = events.since(&one, 0).await.unwrap();
    assert_eq!(follow(0, &links, 9), (3, vec![(1, gone(1)), (2, gone(2)), (3, gone(3))]));
}

#[test]
fn a_chain_is_followed_to_its_first_gap() {
    let check = |from, links: &[Revision], most, end, ids: &[(u64, u64)]| {
        let expected: Vec<_> = ids.iter().map(|(version, id)| (*version, gone(*id))).collect();
        assert_eq!(follow(from, links, most), (end, expected), "{from} {most}");
    };
    let links = [link(4, &[1]), link(5, &[]), link(6, &[2, 3]), link(6, &[3, 4]), link(8, &[5])];
    check(3, &links, 9, 6, &[(4, 1), (6, 2), (6, 3), (6, 4)]);
    check(5, &links, 9, 6, &[(6, 2), (6, 3), (6, 4)]);
    check(6, &links, 9, 6, &[]);
    check(7, &links, 9, 8, &[(8, 5)]);
    check(2, &links, 9, 2, &[]);
    check(9, &links, 9, 9, &[]);
    // A commit is told whole.
    check(3, &links, 1, 4, &[(4, 1)]);
    check(4, &links, 1, 6, &[(6, 2), (6, 3), (6, 4)]);
}

#[test]
fn what_a_commit_did_is_told_as_readers_see_it() {
    let touched = |was_listed, listed, visible, takedown| {
        let id = CommentId::new(9).unwrap();
        let subject = subject("1");
        TouchedComment {
            id,
            subject,
            version: 3,
            root: id,
            parent: None,
            floor: Some(1),
            was_listed,
            listed,
            visible,
            takedown,
            likes: 0,
            dislikes: 0,
            reacted: 0,
        }
    };
    let check = |touched: TouchedComment, expected: &str| {
        let told = match event(&touched) {
            None => "",
            Some(RevisionEvent::Comment { .. }) => "comment",
            Some(RevisionEvent::Removed { .. }) => "removed",
        };
        assert_eq!(told, expected, "{touched:?}");
    };
    check(touched(false, true, true, false), "comment");
    check(touched(true, true, true, false), "");
    check(touched(true, true, true, true), "comment");
    check(touched(true, true, false, true), "removed");
    check(touched(true, false, false, true), "removed");
    check(touched(false, false, false, false), "");
    check(touched(true, false, false, false), "removed");
    let many = vec![touched(false, true, true, false); MAX_EVENTS_PER_REVISION + 1];
    let persisted = PersistedBatch { changed: vec![(subject("1"), 3)], touched: many, ..PersistedBatch::default() };
    assert_eq!(revisions_of(&persisted), [], "a missing link: readers begin anew");
    let persisted = PersistedBatch { changed: vec![(subject("1"), 3)], ..PersistedBatch::default() };
    assert_eq!(revisions_of(&persisted), [(subject("1"), link(3, &[]))]);
}
