//! The contract of the revisions on every adapter, and how a chain is followed.

use gailou_shared::id::{CommentId, SubjectKey};

use crate::adapters::memory::revisions::MemoryRevisions;
use crate::domain::operation::{ChangedSubject, PersistedBatch, TouchedComment};
use crate::ports::revisions::{
    MAX_EVENTS_PER_REVISION, MAX_REVISIONS_KEPT, Revision, RevisionEvent, Revisions, event_of, follow_chain,
    revisions_of,
};

fn subject(key: &str) -> SubjectKey {
    SubjectKey::new("video", key).unwrap()
}

fn removed(id: u64) -> RevisionEvent {
    RevisionEvent::Removed { id: CommentId::new(id).unwrap() }
}

fn revision(version: u64, ids: &[u64]) -> Revision {
    Revision { version, events: ids.iter().map(|id| removed(*id)).collect() }
}

async fn check_appending(revisions: &dyn Revisions) {
    let [one, other] = ["1", "2"].map(subject);
    assert_eq!(revisions.since(&one, 0).await.unwrap(), []);
    let id = CommentId::new(1 << 62).unwrap();
    let comment = Revision { version: 1, events: vec![RevisionEvent::Comment { id, root: id, parent: Some(id) }] };
    revisions.append(&[(one.clone(), comment.clone()), (other.clone(), revision(7, &[]))]).await.unwrap();
    revisions.append(&[(one.clone(), revision(2, &[5, 6]))]).await.unwrap();
    assert_eq!(revisions.since(&one, 0).await.unwrap(), [comment, revision(2, &[5, 6])]);
    assert_eq!(revisions.since(&one, 1).await.unwrap(), [revision(2, &[5, 6])]);
    assert_eq!(revisions.since(&one, 2).await.unwrap(), []);
    assert_eq!(revisions.since(&other, 0).await.unwrap(), [revision(7, &[])]);
    let many: Vec<_> =
        (3..=MAX_REVISIONS_KEPT as u64 + 3).map(|version| (one.clone(), revision(version, &[version]))).collect();
    revisions.append(&many).await.unwrap();
    let kept = revisions.since(&one, 0).await.unwrap();
    assert_eq!((kept.len(), kept[0].version), (MAX_REVISIONS_KEPT, 4), "the newest are kept");
    assert_eq!(follow_chain(2, &kept, 9), (2, vec![]), "a gap is not skipped");
}

#[tokio::test]
async fn contract_holds_in_memory() {
    check_appending(&MemoryRevisions::new()).await;
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn contract_holds_in_redis() {
    use crate::adapters::redis::RedisConnection;
    use crate::adapters::redis::revisions::RedisRevisions;
    let Some(server) = crate::testing::redis_server::RedisServer::start().await else { return };
    let connection = RedisConnection::open(&server.urls(), None).await.unwrap();
    let revisions = RedisRevisions::new(connection, "t");
    check_appending(&revisions).await;
    // Two processes append out of order, and one of them twice.
    let one = subject("3");
    for version in [3, 1, 2, 2] {
        revisions.append(&[(one.clone(), revision(version, &[version]))]).await.unwrap();
    }
    let chain = revisions.since(&one, 0).await.unwrap();
    assert_eq!(follow_chain(0, &chain, 9), (3, vec![(1, removed(1)), (2, removed(2)), (3, removed(3))]));
}

#[test]
fn chain_is_followed_to_its_first_gap() {
    let check = |from, chain: &[Revision], max, end, ids: &[(u64, u64)]| {
        let expected: Vec<_> = ids.iter().map(|(version, id)| (*version, removed(*id))).collect();
        assert_eq!(follow_chain(from, chain, max), (end, expected), "{from} {max}");
    };
    let chain = [revision(4, &[1]), revision(5, &[]), revision(6, &[2, 3]), revision(6, &[3, 4]), revision(8, &[5])];
    check(3, &chain, 9, 6, &[(4, 1), (6, 2), (6, 3), (6, 4)]);
    check(5, &chain, 9, 6, &[(6, 2), (6, 3), (6, 4)]);
    check(6, &chain, 9, 6, &[]);
    check(7, &chain, 9, 8, &[(8, 5)]);
    check(2, &chain, 9, 2, &[]);
    check(9, &chain, 9, 9, &[]);
    // A revision is never cut.
    check(3, &chain, 1, 4, &[(4, 1)]);
    check(4, &chain, 1, 6, &[(6, 2), (6, 3), (6, 4)]);
}

#[test]
fn events_are_what_readers_see_of_a_commit() {
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
            reactions_offset: 0,
        }
    };
    let check = |touched: TouchedComment, expected: &str| {
        let seen = match event_of(&touched) {
            None => "",
            Some(RevisionEvent::Comment { .. }) => "comment",
            Some(RevisionEvent::Removed { .. }) => "removed",
        };
        assert_eq!(seen, expected, "{touched:?}");
    };
    check(touched(false, true, true, false), "comment");
    check(touched(true, true, true, false), "");
    check(touched(true, true, true, true), "comment");
    check(touched(true, true, false, true), "removed");
    check(touched(true, false, false, true), "removed");
    check(touched(false, false, false, false), "");
    check(touched(true, false, false, false), "removed");
    let many = vec![touched(false, true, true, false); MAX_EVENTS_PER_REVISION + 1];
    let persisted = PersistedBatch {
        changed: vec![ChangedSubject { subject: subject("1"), version: 3, is_new: true }],
        touched: many,
        ..PersistedBatch::default()
    };
    assert_eq!(revisions_of(&persisted), [], "a gap: readers load the page again");
    let persisted = PersistedBatch {
        changed: vec![ChangedSubject { subject: subject("1"), version: 3, is_new: true }],
        ..PersistedBatch::default()
    };
    assert_eq!(revisions_of(&persisted), [(subject("1"), revision(3, &[]))]);
}
