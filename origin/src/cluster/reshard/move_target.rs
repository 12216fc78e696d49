//! Writes to the copy of a slot. Each is a transaction that first sees, under the lock of the slot's row, that the
//! copy is still the one that is meant: a mover that was thought dead, and wakes up, changes nothing.

use gailou_shared::id::Slot;

use crate::domain::slot_state::{SlotProgress, SlotState, SlotStatus};
use crate::ports::store::{CopiedSlot, MoveLock, MoveSession, Result, StoreError};

/// A database into which a slot is copied, or from which an old copy is deleted.
pub(crate) struct MoveTarget<'m, L, S> {
    session: &'m mut S,
    /// The right to move slots, which is seen to be held before each transaction.
    lock: &'m mut L,
    slot: Slot,
    expected: SlotStatus,
}

impl<'m, L: MoveLock, S: MoveSession> MoveTarget<'m, L, S> {
    /// The copy with this status.
    ///
    /// # Errors
    /// [`StoreError::Moved`] when it is no copy, but has the slot.
    pub(crate) fn new(session: &'m mut S, lock: &'m mut L, slot: Slot, expected: SlotStatus) -> Result<Self> {
        let is_copy = matches!(expected.state, SlotState::Incoming | SlotState::Elsewhere);
        if is_copy { Ok(Self { session, lock, slot, expected }) } else { Err(StoreError::Moved) }
    }

    /// Begins a transaction, and locks the slot's row.
    ///
    /// # Errors
    /// [`StoreError::Moved`] when the row has another status than the expected one.
    async fn begin(&mut self) -> Result<()> {
        self.lock.check().await?;
        self.session.begin().await?;
        if self.session.lock_status(self.slot).await? == self.expected {
            return Ok(());
        }
        self.session.rollback().await?;
        Err(StoreError::Moved)
    }

    /// Copies the slot's rows over the rows that exist, a chunk at a time.
    pub(crate) async fn copy_all<R: CopiedSlot<Session = S>>(&mut self, rows: &R, source: &mut S) -> Result<()> {
        let (mut walk, mut has_more) = (R::Walk::default(), true);
        while has_more {
            self.begin().await?;
            has_more = rows.copy_next(&mut walk, source, self.session).await?;
            self.session.commit().await?;
        }
        Ok(())
    }

    /// Copies the rows that dirty rows name.
    pub(super) async fn copy_dirty<R: CopiedSlot<Session = S>>(
        &mut self,
        rows: &R,
        source: &mut S,
        dirty: &[S::Dirty],
    ) -> Result<()> {
        self.begin().await?;
        rows.copy_dirty(source, self.session, dirty).await?;
        self.session.commit().await
    }

    /// Deletes the slot's rows, a chunk at a time. What is left where that is interrupted is a copy without positions
    /// ([`SlotProgress::is_complete`]).
    pub(crate) async fn delete_all<R: CopiedSlot<Session = S>>(&mut self, rows: &R) -> Result<()> {
        self.begin().await?;
        self.session.receive_progress(self.slot, &SlotProgress::default()).await?;
        self.session.commit().await?;
        let (mut walk, mut has_more) = (R::Walk::default(), true);
        while has_more {
            self.begin().await?;
            has_more = rows.delete_next(&mut walk, self.session).await?;
            self.session.commit().await?;
        }
        Ok(())
    }
}
