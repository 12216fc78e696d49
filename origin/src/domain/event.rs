//! Events: what happened to a comment that members, moderators or other programs are notified of.
//!
//! Pure data. The fold makes them, and they are rows of a queue in the transaction of what caused them. Not here: who is
//! notified.
//!
//! Promise: the id of an event is made of what happened, so an operation that is applied again, because its database
//! has gone back, makes the same event again. Two events of one millisecond have the same id with a probability of one
//! in four million: what has to be apart is keyed by the comment, too.

use gailou_shared::id::{CommentId, EventId, MemberId};
use sha2::{Digest as _, Sha256};

use crate::domain::columns::{StoredEnum, damaged};
use crate::domain::damaged_data::Result;
use crate::domain::review::Decision;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The comment was published for the first time, at once or after it had been held. Imported ones are not.
    Published,
    /// It began to wait for a moderator: itself, an edit of it, or because of reports.
    Held,
    /// A reader reported it.
    Reported,
    /// A moderator or the owner of the subject decided about it, and something changed.
    Decided(Decision),
    /// A moderator approved what readers saw all along, and with that dismissed what was reported of it.
    Dismissed,
    /// A moderator undid a decision.
    Undone,
}

/// Something that happened to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub comment: CommentId,
    pub kind: EventKind,
    /// Who reported or decided; `None` where it is the comment's author.
    pub actor: Option<MemberId>,
    /// Unix milliseconds.
    pub at: u64,
}

impl Event {
    /// The event with the id that it has wherever it is made.
    pub fn new(comment: CommentId, kind: EventKind, actor: Option<MemberId>, at: u64) -> Self {
        let mut hasher = Sha256::new();
        for part in [comment.signed(), kind.number(), actor.map_or(0, MemberId::signed)] {
            hasher.update(part.to_be_bytes());
        }
        let hash = hasher.finalize().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte));
        Self { id: EventId::from_parts(at, hash), comment, kind, actor, at }
    }
}

/// The number of the first decision; those of [`DECISIONS_BY_NUMBER`] follow it.
const FIRST_DECISION_NUMBER: i64 = 16;
/// Their order is that of their numbers in the tables.
const DECISIONS_BY_NUMBER: [Decision; 7] = [
    Decision::Approve,
    Decision::Reject,
    Decision::Hide,
    Decision::Restore,
    Decision::Delete,
    Decision::Feature,
    Decision::Unfeature,
];

impl StoredEnum for EventKind {
    fn number(self) -> i64 {
        match self {
            Self::Published => 0,
            Self::Held => 1,
            Self::Reported => 2,
            Self::Dismissed => 3,
            Self::Undone => 4,
            Self::Decided(decision) => {
                let place =
                    DECISIONS_BY_NUMBER.iter().position(|of| *of == decision).unwrap_or(DECISIONS_BY_NUMBER.len());
                FIRST_DECISION_NUMBER + place as i64
            }
        }
    }

    fn from_number(number: i64) -> Result<Self> {
        let decision =
            usize::try_from(number - FIRST_DECISION_NUMBER).ok().and_then(|place| DECISIONS_BY_NUMBER.get(place));
        match (number, decision) {
            (0, _) => Ok(Self::Published),
            (1, _) => Ok(Self::Held),
            (2, _) => Ok(Self::Reported),
            (3, _) => Ok(Self::Dismissed),
            (4, _) => Ok(Self::Undone),
            (_, Some(decision)) => Ok(Self::Decided(*decision)),
            (other, None) => Err(damaged(format_args!("event kind {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;
    use strum::VariantNames as _;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    #[test]
    fn id_is_made_of_what_happened_and_sorted_by_time() {
        let comment = CommentId::from_parts(NOW, Slot::FIRST, 0, 0);
        let event = |kind, actor: u64, at| Event::new(comment, kind, MemberId::new(actor).ok(), at).id;
        let published = event(EventKind::Published, 0, NOW);
        assert_eq!(published, event(EventKind::Published, 0, NOW));
        let others = [
            event(EventKind::Held, 0, NOW),
            event(EventKind::Published, 1, NOW),
            event(EventKind::Published, 0, NOW + 1),
            Event::new(CommentId::from_parts(NOW, Slot::FIRST, 0, 1), EventKind::Published, None, NOW).id,
        ];
        assert!(others.iter().all(|other| *other != published), "{others:?}");
        assert!(event(EventKind::Held, 0, NOW) < others[2]);
        assert!(event(EventKind::Reported, 9, NOW - 1) < published);
    }

    #[test]
    fn each_kind_has_a_number_of_its_own() {
        assert_eq!(DECISIONS_BY_NUMBER.len(), Decision::VARIANTS.len());
        let kinds =
            [EventKind::Published, EventKind::Held, EventKind::Reported, EventKind::Dismissed, EventKind::Undone];
        for kind in kinds.into_iter().chain(DECISIONS_BY_NUMBER.map(EventKind::Decided)) {
            assert_eq!(EventKind::from_number(kind.number()).unwrap(), kind);
        }
        assert!(EventKind::from_number(5).is_err() && EventKind::from_number(23).is_err());
    }
}
