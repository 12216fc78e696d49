//! Notifications: who is notified of an event, and why.
//!
//! Pure. Promise: a member is notified of one event at most once, and none of what they did themselves.

use std::collections::BTreeSet;

use gailou_shared::id::{CommentId, EventId, MemberId, MemberKind};
use gailou_shared::wire::NotificationKind;

use crate::domain::columns::{StoredEnum, damaged};
use crate::domain::damaged_data::Result;
use crate::domain::event::{Event, EventKind};
use crate::domain::review::Decision;
use crate::domain::row::CommentRow;

/// Notifications of a member that are kept, the newest ones: 60 bytes and an entry of an index each, 100 kB in all.
pub const MAX_NOTIFICATIONS: usize = 1_000;

/// Why a member is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationReason {
    Reply,
    Mention,
    Decision(Decision),
    /// The comment is in a thread that they watch. Any other reason for the same event is stronger.
    Watched,
    /// To the owner of the installation: a comment was published.
    New,
    /// To the owner: a comment, or an edit of it, waits for a moderator.
    Held,
}

/// Who stands for the owner of the installation among the members. No name of an import is this one, and no token has
/// this id: what is written for it is mailed, and read by none.
pub fn owner_member() -> MemberId {
    MemberId::imported("\0owner")
}

/// A notification to write. Its id is that of its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewNotification {
    pub member: MemberId,
    pub id: EventId,
    pub reason: NotificationReason,
    pub comment: CommentId,
    /// Unix milliseconds.
    pub at: u64,
    /// When it is mailed, in Unix milliseconds; `None`: it is not.
    pub mail_at: Option<u64>,
}

/// A notification as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredNotification {
    pub id: EventId,
    pub reason: NotificationReason,
    pub comment: CommentId,
    pub at: u64,
    pub is_read: bool,
}

/// Who is notified of an event of this comment. Members of an import cannot read, and are notified nothing.
pub fn notifications_of(event: &Event, comment: &CommentRow) -> Vec<NewNotification> {
    let author = comment.author.id;
    let of = |member, reason| new_notification(event, member, reason);
    match event.kind {
        EventKind::Published => {
            let answered = comment.reply_to.iter().map(|member| of(member.id, NotificationReason::Reply));
            let mentioned = comment.mentions.iter().map(|member| of(member.id, NotificationReason::Mention));
            let mut notified = BTreeSet::from([author]);
            let is_new =
                |new: &NewNotification| new.member.kind() != MemberKind::Imported && notified.insert(new.member);
            answered.chain(mentioned).filter(is_new).collect()
        }
        EventKind::Decided(
            decision @ (Decision::Approve | Decision::Reject | Decision::Hide | Decision::Delete | Decision::Feature),
        ) => {
            let is_by_other = event.actor != Some(author) && author.kind() != MemberKind::Imported;
            is_by_other.then(|| of(author, NotificationReason::Decision(decision))).into_iter().collect()
        }
        EventKind::Decided(Decision::Restore | Decision::Unfeature)
        | EventKind::Held
        | EventKind::Reported
        | EventKind::Dismissed
        | EventKind::Undone => vec![],
    }
}

/// What the owner of the installation is mailed of an event.
pub fn owner_notification(event: &Event) -> Option<NewNotification> {
    let reason = match event.kind {
        EventKind::Published => NotificationReason::New,
        EventKind::Held => NotificationReason::Held,
        EventKind::Reported | EventKind::Decided(_) | EventKind::Dismissed | EventKind::Undone => return None,
    };
    Some(new_notification(event, owner_member(), reason))
}

pub(super) fn new_notification(event: &Event, member: MemberId, reason: NotificationReason) -> NewNotification {
    NewNotification { member, id: event.id, reason, comment: event.comment, at: event.at, mail_at: None }
}

impl NotificationReason {
    /// What was decided, in the words of the call.
    pub fn action(self) -> Option<&'static str> {
        match self {
            Self::Reply | Self::Mention | Self::Watched | Self::New | Self::Held => None,
            Self::Decision(decision) => Some(decision.into_str()),
        }
    }

    /// The kind that readers see.
    pub fn kind(self) -> NotificationKind {
        match self {
            Self::Reply => NotificationKind::Reply,
            // The owner has no list: what is written for them is mailed alone.
            Self::Mention | Self::New | Self::Held => NotificationKind::Mention,
            Self::Watched => NotificationKind::Watched,
            Self::Decision(_) => NotificationKind::Decision,
        }
    }
}

/// A decision has the number of its event.
impl StoredEnum for NotificationReason {
    fn number(self) -> i64 {
        match self {
            Self::Reply => 0,
            Self::Mention => 1,
            Self::New => 2,
            Self::Held => 3,
            Self::Watched => 4,
            Self::Decision(decision) => EventKind::Decided(decision).number(),
        }
    }

    fn from_number(number: i64) -> Result<Self> {
        match number {
            0 => Ok(Self::Reply),
            1 => Ok(Self::Mention),
            2 => Ok(Self::New),
            3 => Ok(Self::Held),
            4 => Ok(Self::Watched),
            other => match EventKind::from_number(other)? {
                EventKind::Decided(decision) => Ok(Self::Decision(decision)),
                _ => Err(damaged(format_args!("notification kind {other}"))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::{Slot, SubjectKey};
    use gailou_shared::path::Path;
    use gailou_shared::wire::MemberRef;

    use super::*;
    use crate::testing::fixtures::comment_row;

    const NOW: u64 = 1_700_000_000_000;

    fn named(id: u64) -> MemberRef {
        MemberRef { id: MemberId::new(id).unwrap(), name: "name".into() }
    }

    /// Who is notified what of a comment by member 7.
    fn notified(
        kind: EventKind,
        actor: u64,
        reply_to: Option<u64>,
        mentions: &[u64],
    ) -> Vec<(u64, NotificationReason)> {
        let path = Path::root(CommentId::from_parts(NOW, Slot::FIRST, 0, 0));
        let row = comment_row(&SubjectKey::new("article", "a").unwrap(), path, "text");
        let author = gailou_shared::wire::Author { id: MemberId::new(7).unwrap(), ..row.author };
        let mentions = mentions.iter().copied().map(named).collect();
        let row = CommentRow { author, reply_to: reply_to.map(named), mentions, ..row };
        let event = Event::new(row.id(), kind, MemberId::new(actor).ok(), NOW);
        notifications_of(&event, &row).into_iter().map(|new| (new.member.get(), new.reason)).collect()
    }

    #[test]
    fn answered_and_mentioned_members_are_notified_once_and_the_author_never() {
        use NotificationReason::{Mention, Reply};
        let published = |reply_to, mentions: &[u64]| notified(EventKind::Published, 0, reply_to, mentions);
        assert_eq!(published(Some(8), &[9, 8, 9, 7]), [(8, Reply), (9, Mention)]);
        assert_eq!(published(Some(7), &[7]), []);
        assert_eq!(published(None, &[9]), [(9, Mention)]);
        let imported = MemberId::imported("Bob").get();
        assert_eq!(
            published(Some(imported), &[imported, MemberId::guest(1).get()]),
            [(MemberId::guest(1).get(), Mention)]
        );
    }

    #[test]
    fn author_is_notified_of_the_decisions_of_others() {
        let reason = NotificationReason::Decision;
        for (decision, is_notified) in [
            (Decision::Approve, true),
            (Decision::Reject, true),
            (Decision::Hide, true),
            (Decision::Delete, true),
            (Decision::Feature, true),
            (Decision::Restore, false),
            (Decision::Unfeature, false),
        ] {
            let expected = if is_notified { vec![(7, reason(decision))] } else { vec![] };
            assert_eq!(notified(EventKind::Decided(decision), 9, Some(8), &[8]), expected);
            assert_eq!(notified(EventKind::Decided(decision), 7, Some(8), &[8]), []);
        }
        for kind in [EventKind::Held, EventKind::Reported, EventKind::Dismissed, EventKind::Undone] {
            assert_eq!(notified(kind, 9, Some(8), &[8]), []);
        }
    }

    #[test]
    fn reason_is_stored_as_a_number() {
        for reason in [
            NotificationReason::Reply,
            NotificationReason::Mention,
            NotificationReason::New,
            NotificationReason::Held,
            NotificationReason::Watched,
            NotificationReason::Decision(Decision::Approve),
            NotificationReason::Decision(Decision::Feature),
        ] {
            assert_eq!(NotificationReason::from_number(reason.number()).unwrap(), reason);
        }
        assert!(NotificationReason::from_number(5).is_err());
    }
}
