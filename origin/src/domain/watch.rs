//! Watches: the threads whose new comments a member is notified of.
//!
//! Pure. Promise: a watcher is notified of the first comment that they have not seen, and of no other one until they
//! have read that.

use gailou_shared::id::{EventId, MemberId, SubjectKey};
use sha2::{Digest as _, Sha256};

use crate::domain::event::Event;
use crate::domain::notification::{NewNotification, NotificationReason, new_notification};

/// Threads that a member watches at most: 200 bytes and two entries of indexes each, 500 kB in all.
pub const MAX_WATCHES: usize = 1_000;
/// For how long after its event was queued a comment may be missing in what readers see: caches of lists, and the
/// clocks of two databases.
const UNSEEN_MS: u64 = 2_000;

/// A thread that a member watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWatch {
    pub subject: SubjectKey,
    /// What the list of a member is sorted by: a larger one began later.
    pub id: EventId,
    /// Unix milliseconds.
    pub created_at: u64,
}

impl StoredWatch {
    /// A watch that begins at this moment, in Unix milliseconds.
    pub fn new(subject: SubjectKey, at: u64) -> Self {
        let hash = Sha256::new().chain_update(subject.kind()).chain_update([0]).chain_update(subject.key()).finalize();
        let hash = hash.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte));
        Self { subject, id: EventId::from_parts(at, hash), created_at: at }
    }
}

/// What became of watches that are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchInsertion {
    /// All are there.
    Watching,
    /// Some would be more than [`MAX_WATCHES`], and are not there.
    Full,
}

/// A watcher who has read what they were notified of in the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyWatcher {
    pub subject: SubjectKey,
    pub member: MemberId,
    /// What they were notified of last; `None`: nothing so far.
    pub last: Option<EventId>,
    /// When they began to watch or read that, in Unix milliseconds by the clock of the database.
    pub since: u64,
}

/// What a watcher is to be notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchNotification {
    pub subject: SubjectKey,
    pub new: NewNotification,
}

/// A comment that every reader sees, as its watchers are notified of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedComment {
    pub event: Event,
    /// When the event was queued, in Unix milliseconds by the clock of its database.
    pub queued_at: u64,
    /// Its author, and who is notified of it for another reason.
    pub except: Vec<MemberId>,
}

/// What a watcher is notified of among the comments of their thread, which are in the order of their events; `None`
/// where they have seen all. What was queued before they read is not news again when the job reads its event once more.
pub fn watch_notification(watcher: &ReadyWatcher, published: &[WatchedComment]) -> Option<WatchNotification> {
    let is_news = |comment: &&WatchedComment| {
        watcher.last.is_none_or(|last| last < comment.event.id)
            && watcher.since < comment.queued_at.saturating_add(UNSEEN_MS)
            && !comment.except.contains(&watcher.member)
    };
    let event = &published.iter().find(is_news)?.event;
    let new = new_notification(event, watcher.member, NotificationReason::Watched);
    Some(WatchNotification { subject: watcher.subject.clone(), new })
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::{CommentId, Slot};

    use super::*;
    use crate::domain::event::EventKind;

    const NOW: u64 = 1_700_000_000_000;

    /// A comment that was queued so many milliseconds after the start.
    fn published(after: u64, except: &[u64]) -> WatchedComment {
        let (at, except) = (NOW + after, except.iter().map(|id| MemberId::new(*id).unwrap()).collect());
        let event = Event::new(CommentId::from_parts(at, Slot::FIRST, 0, 0), EventKind::Published, None, at);
        WatchedComment { event, queued_at: at, except }
    }

    #[test]
    fn watcher_is_notified_of_the_first_comment_they_have_not_seen() {
        let all = [published(0, &[7]), published(10_000, &[8, 9]), published(20_000, &[7])];
        let check = |member: u64, last: Option<usize>, since: u64, expected: Option<usize>| {
            let watcher = ReadyWatcher {
                subject: SubjectKey::new("article", "a").unwrap(),
                member: MemberId::new(member).unwrap(),
                last: last.map(|place| all[place].event.id),
                since: NOW + since,
            };
            let found = watch_notification(&watcher, &all).map(|found| found.new.id);
            assert_eq!(found, expected.map(|place| all[place].event.id), "{member} {last:?} {since}");
        };
        check(1, None, 0, Some(0));
        // Their own, and what they are notified of for another reason, is none.
        check(7, None, 0, Some(1));
        check(8, None, 3_000, Some(2));
        check(8, Some(2), 3_000, None);
        // What was coalesced is not news after they have read.
        check(1, Some(0), 15_000, Some(2));
        check(1, Some(0), 30_000, None);
        // A list may be a little older than the moment of reading.
        check(1, None, 1_999, Some(0));
        check(1, Some(0), 1_999, Some(1));
        check(1, None, 2_000, Some(1));
    }

    #[test]
    fn later_watch_has_a_larger_id() {
        let watch = |key: &str, at| StoredWatch::new(SubjectKey::new("article", key).unwrap(), at).id;
        assert_eq!(watch("a", NOW), watch("a", NOW));
        assert_ne!(watch("a", NOW), watch("b", NOW));
        assert!(watch("a", NOW) < watch("b", NOW + 1) && watch("b", NOW) < watch("a", NOW + 1));
    }
}
