//! The state of a slot in one database: how far a move of the slot has come; and which database has it.

use crate::domain::columns::stored_enum;
use crate::domain::positions::OperationStream;

/// What a slot's row says of the slot in this database. [`crate::cluster::reshard`] describes the transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    /// Another database has the slot.
    Elsewhere,
    /// This database has the slot.
    Owned,
    /// It has the slot, complete, on its way out: writes to it are refused.
    Sealed,
    /// The slot is being copied into this database.
    Incoming,
    /// It has the slot, and the slot is being copied from it: writers record their dirty rows.
    Copying,
}

stored_enum!("slot state", SlotState { Elsewhere = 0, Owned = 1, Sealed = 2, Incoming = 3, Copying = 4 });

impl SlotState {
    /// Whether this database has the newest rows, and writers may change them.
    pub fn is_owned(self) -> bool {
        matches!(self, Self::Owned | Self::Copying)
    }

    /// Whether this database has the newest rows.
    pub fn is_readable(self) -> bool {
        matches!(self, Self::Owned | Self::Sealed | Self::Copying)
    }
}

/// A slot's state in one database, and the number of the move that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotStatus {
    pub state: SlotState,
    pub move_number: i64,
}

impl SlotStatus {
    /// The same move, in another state.
    #[must_use]
    pub fn with(self, state: SlotState) -> Self {
        Self { state, ..self }
    }
}

/// Which database has a slot, as its rows in the databases say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotOwner {
    /// No row says that its database has the slot.
    Unclaimed,
    One(usize),
    /// Two databases say that they have it. The first of them was given it by the later move.
    Conflict(usize, usize),
}

impl SlotOwner {
    /// The owner by the statuses of a slot in databases. A sealed slot whose move, or a later one, has given it to
    /// another database is only on its way to [`SlotState::Elsewhere`]. Of two with the same move, the one that is not
    /// being copied was given the slot, and the other has gone back since.
    pub fn find(statuses: impl Iterator<Item = (usize, SlotStatus)>) -> Self {
        let mut claims: Vec<(usize, SlotStatus)> = statuses.filter(|(_, status)| status.state.is_readable()).collect();
        let progress =
            |state| [SlotState::Sealed, SlotState::Copying, SlotState::Owned].iter().position(|of| *of == state);
        claims.sort_by_key(|(_, status)| (status.move_number, progress(status.state)));
        let Some((owner, newest)) = claims.pop() else { return Self::Unclaimed };
        let rival = claims.iter().rev().find(|(_, status)| status.state.is_owned() || !newest.state.is_owned());
        rival.map_or(Self::One(owner), |(other, _)| Self::Conflict(owner, *other))
    }

    /// The database to ask: in a conflict the one with the later move, which was the owner last.
    pub fn database(self) -> Option<usize> {
        match self {
            Self::Unclaimed => None,
            Self::One(owner) | Self::Conflict(owner, _) => Some(owner),
        }
    }
}

/// How far a database has applied the streams of a slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlotProgress {
    /// The next positions of the slot: of comments and of reactions.
    pub comments: u64,
    pub reactions: u64,
    /// The checkpoints of its partition: stream, partition and next offset.
    pub checkpoints: Vec<(OperationStream, u32, u64)>,
}

impl SlotProgress {
    /// Whether the rows of a former owner are all there. It has positions until the first of its rows is deleted.
    pub fn is_complete(&self) -> bool {
        (self.comments, self.reactions) != (0, 0)
    }

    /// With the positions that the checkpoints vouch for, and without checkpoints to lower. A database that has the slot
    /// has applied everything of it that is before its checkpoints.
    #[must_use]
    pub fn raised_to_checkpoints(mut self) -> Self {
        for (stream, _, next) in std::mem::take(&mut self.checkpoints) {
            let position = if stream == OperationStream::Comments { &mut self.comments } else { &mut self.reactions };
            *position = (*position).max(next);
        }
        self
    }

    /// With checkpoints that say nothing beyond the positions: what they have passed may have been applied elsewhere, and
    /// lost there.
    #[must_use]
    pub fn lowered_to_positions(mut self) -> Self {
        self.checkpoints.iter_mut().for_each(|(.., next)| *next = 0);
        self
    }

    /// The checkpoints that a database may have at most which takes the slot with this progress: what follows may not be
    /// applied.
    pub fn checkpoints_at_most(&self) -> impl Iterator<Item = (OperationStream, u32, u64)> {
        self.checkpoints.iter().map(|(stream, partition, next)| {
            let applied = if *stream == OperationStream::Comments { self.comments } else { self.reactions };
            (*stream, *partition, applied.max(*next))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_slot_is_applied_to_its_checkpoints_and_no_further() {
        let (comments, reactions) = (OperationStream::Comments, OperationStream::Reactions);
        let progress = |at, checkpoints| SlotProgress { comments: at, reactions: 9, checkpoints };
        let open = progress(5, vec![(comments, 1, 7), (reactions, 1, 8)]);
        assert_eq!(open.raised_to_checkpoints(), progress(7, vec![]));
        // The checkpoints have passed what the next owner has applied.
        let sealed = progress(7, vec![(comments, 1, 20), (reactions, 1, 21)]);
        let at_most: Vec<_> = sealed.lowered_to_positions().checkpoints_at_most().collect();
        assert_eq!(at_most, [(comments, 1, 7), (reactions, 1, 9)]);
    }

    #[test]
    fn rows_name_one_owner_or_are_in_conflict() {
        use SlotState::{Copying, Elsewhere, Incoming, Owned, Sealed};
        let check = |statuses: &[(SlotState, i64)], expected: SlotOwner| {
            let statuses =
                statuses.iter().map(|(state, move_number)| SlotStatus { state: *state, move_number: *move_number });
            assert_eq!(SlotOwner::find(statuses.enumerate()), expected);
        };
        check(&[(Owned, 0), (Elsewhere, 0)], SlotOwner::One(0));
        check(&[(Elsewhere, 9), (Owned, 3)], SlotOwner::One(1));
        check(&[(Copying, 5), (Incoming, 5)], SlotOwner::One(0));
        check(&[(Sealed, 5), (Incoming, 5)], SlotOwner::One(0));
        check(&[(Sealed, 5), (Owned, 5)], SlotOwner::One(1));
        check(&[(Sealed, 5), (Elsewhere, 7), (Copying, 7)], SlotOwner::One(2));
        check(&[(Elsewhere, 5), (Incoming, 5)], SlotOwner::Unclaimed);
        check(&[(Owned, 4), (Owned, 5)], SlotOwner::Conflict(1, 0));
        check(&[(Owned, 5), (Copying, 5)], SlotOwner::Conflict(0, 1));
        check(&[(Copying, 5), (Owned, 5)], SlotOwner::Conflict(1, 0));
        check(&[(Sealed, 6), (Owned, 5)], SlotOwner::Conflict(0, 1));
        check(&[(Sealed, 5), (Sealed, 6)], SlotOwner::Conflict(1, 0));
        check(&[(Copying, 6), (Owned, 5), (Sealed, 4)], SlotOwner::Conflict(0, 1));
    }
}
