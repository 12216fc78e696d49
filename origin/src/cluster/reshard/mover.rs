//! The move of one slot, step by step.
//!
//! Every step is conditional on the state that the steps before it left, and on the number of this move. A mover
//! that stalls, while another finishes or undoes its move, therefore changes nothing when it goes on.

use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::Instant;

use crate::cluster::reshard::move_target::MoveTarget;
use crate::domain::slot_state::{SlotState, SlotStatus};
use crate::ports::store::{MoveLock, MoveSession, Result, SlotMoves, StoreError};

/// Dirty rows copied at a time while writers continue.
const DIRTY_ROWS_PER_PASS: usize = 1_000;
/// Passes that do not block writers.
const MAX_CATCH_UP_PASSES: usize = 100;
/// How long writers are blocked at a time; the next pause copies what remains.
const MAX_WRITE_PAUSE: Duration = Duration::from_millis(400);
/// Pauses before the move is given up. Between two pauses each writer writes one batch, and the copy is
/// faster than the writers.
const MAX_WRITE_PAUSES: usize = 500;

/// A step of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveStep {
    /// The source was seen to have the slot, and records dirty rows from here on.
    OpenSource,
    OpenTarget,
    EmptyTarget,
    CopyRows,
    CopyDirtyRows,
    /// The source takes no writes from here on.
    Seal,
    GiveToTarget,
    UpdateMap,
    ReleaseSource,
}

use MoveStep::{
    CopyDirtyRows, CopyRows, EmptyTarget, GiveToTarget, OpenSource, OpenTarget, ReleaseSource, Seal, UpdateMap,
};

/// The steps in their order.
pub(crate) const MOVE_STEPS: [MoveStep; 9] =
    [OpenSource, OpenTarget, EmptyTarget, CopyRows, CopyDirtyRows, Seal, GiveToTarget, UpdateMap, ReleaseSource];

/// The steps after the slot was sealed, by which any process finishes the move.
pub(super) const LAST_STEPS: [MoveStep; 3] = [GiveToTarget, UpdateMap, ReleaseSource];

/// A slot on its way from one database to another.
pub(crate) struct SlotMover<'s, T: SlotMoves> {
    tables: &'s T,
    slot: Slot,
    from: usize,
    to: usize,
    number: i64,
    /// What the rows said before the move.
    source_before: SlotStatus,
    target_before: SlotStatus,
    rows: T::Rows,
}

impl<'s, T: SlotMoves> SlotMover<'s, T> {
    /// A new move, with a number that is larger than those in the rows of both databases.
    pub(crate) async fn begin(tables: &'s T, lock: &mut T::Lock, slot: Slot, [from, to]: [usize; 2]) -> Result<Self> {
        let mut source = tables.move_session(from).await?;
        let source_before = source.read_status(slot).await?;
        let target_before = tables.move_session(to).await?.read_status(slot).await?;
        if source_before.state != SlotState::Owned || target_before.state != SlotState::Elsewhere {
            return Err(StoreError::Moved);
        }
        let least = source_before.move_number.max(target_before.move_number) + 1;
        let number = lock.take_move_number(least).await?;
        let rows = tables.rows_of_slot(&mut source, slot).await?;
        Ok(Self { tables, slot, from, to, number, source_before, target_before, rows })
    }

    /// The move of this number, as another process left it.
    pub(super) async fn resume(tables: &'s T, slot: Slot, [from, to]: [usize; 2], number: i64) -> Result<Self> {
        let rows = tables.rows_of_slot(&mut tables.move_session(from).await?, slot).await?;
        let before = SlotStatus { state: SlotState::Sealed, move_number: number };
        let target_before = before.with(SlotState::Incoming);
        Ok(Self { tables, slot, from, to, number, source_before: before, target_before, rows })
    }

    fn status(&self, state: SlotState) -> SlotStatus {
        SlotStatus { state, move_number: self.number }
    }

    async fn source(&self) -> Result<T::Session> {
        self.tables.move_session(self.from).await
    }

    async fn target(&self) -> Result<T::Session> {
        self.tables.move_session(self.to).await
    }

    /// Takes one step.
    ///
    /// # Errors
    /// [`StoreError::Moved`], and nothing was changed, when another process has finished or undone this move.
    pub(crate) async fn take_step(&self, lock: &mut T::Lock, step: MoveStep) -> Result<()> {
        lock.check().await?;
        match step {
            OpenSource => self.open_source().await,
            OpenTarget => {
                let next = self.status(SlotState::Incoming);
                self.target().await?.replace_status(self.slot, self.target_before, next).await
            }
            EmptyTarget => self.copy_in(&mut self.target().await?, lock)?.delete_all(&self.rows).await,
            CopyRows => {
                let (mut source, mut target) = (self.source().await?, self.target().await?);
                self.copy_in(&mut target, lock)?.copy_all(&self.rows, &mut source).await
            }
            CopyDirtyRows => self.copy_dirty_rows(lock).await,
            Seal => self.seal(lock).await,
            GiveToTarget => self.give_to_target().await,
            UpdateMap => lock.enter_move(self.slot, self.to, self.number).await,
            ReleaseSource => {
                let sealed = self.status(SlotState::Sealed);
                self.source().await?.replace_status(self.slot, sealed, sealed.with(SlotState::Elsewhere)).await
            }
        }
    }

    /// The copy in the target, while it is this move's.
    fn copy_in<'m>(
        &self,
        target: &'m mut T::Session,
        lock: &'m mut T::Lock,
    ) -> Result<MoveTarget<'m, T::Lock, T::Session>> {
        MoveTarget::new(target, lock, self.slot, self.status(SlotState::Incoming))
    }

    async fn open_source(&self) -> Result<()> {
        let mut source = self.source().await?;
        source.begin().await?;
        source.replace_status(self.slot, self.source_before, self.status(SlotState::Copying)).await?;
        source.forget_dirty_rows(self.slot).await?;
        source.commit().await
    }

    /// Begins a transaction of the source, and locks the slot's row, which this move must have left open.
    async fn lock_source(&self, source: &mut T::Session) -> Result<()> {
        source.begin().await?;
        if source.lock_status(self.slot).await? == self.status(SlotState::Copying) {
            return Ok(());
        }
        source.rollback().await?;
        Err(StoreError::Moved)
    }

    /// Copies what was written meanwhile, until few dirty rows remain.
    async fn copy_dirty_rows(&self, lock: &mut T::Lock) -> Result<()> {
        let (mut source, mut target) = (self.source().await?, self.target().await?);
        for _ in 0..MAX_CATCH_UP_PASSES {
            self.lock_source(&mut source).await?;
            let dirty = source.take_dirty_rows(self.slot, DIRTY_ROWS_PER_PASS).await?;
            source.commit().await?;
            self.copy_in(&mut target, lock)?.copy_dirty(&self.rows, &mut source, &dirty).await?;
            if dirty.len() < DIRTY_ROWS_PER_PASS {
                break;
            }
        }
        Ok(())
    }

    /// Copies the remaining dirty rows while writers are blocked, a short time at once, and seals the slot.
    async fn seal(&self, lock: &mut T::Lock) -> Result<()> {
        let (mut source, mut target) = (self.source().await?, self.target().await?);
        for _ in 0..MAX_WRITE_PAUSES {
            let begun = Instant::now();
            self.lock_source(&mut source).await?;
            while begun.elapsed() < MAX_WRITE_PAUSE {
                let dirty = source.take_dirty_rows(self.slot, DIRTY_ROWS_PER_PASS / 2).await?;
                if dirty.is_empty() {
                    let (open, sealed) = (self.status(SlotState::Copying), self.status(SlotState::Sealed));
                    source.replace_status(self.slot, open, sealed).await?;
                    // From here on the checkpoints pass what the target applies.
                    let applied = source.read_progress(self.slot, sealed).await?.raised_to_checkpoints();
                    source.receive_progress(self.slot, &applied).await?;
                    source.commit().await?;
                    let (slot, pause_ms) = (self.slot.get(), begun.elapsed().as_millis() as u64);
                    tracing::info!(slot, pause_ms, "Sealed slot {slot} after blocking its writers for {pause_ms} ms");
                    return Ok(());
                }
                self.copy_in(&mut target, lock)?.copy_dirty(&self.rows, &mut source, &dirty).await?;
            }
            source.commit().await?;
        }
        let text = format!("slot {} is written too fast to be moved now", self.slot.get());
        Err(StoreError::Unavailable(text.into()))
    }

    /// Makes the target the owner, with the positions of the sealed source.
    async fn give_to_target(&self) -> Result<()> {
        let (mut source, mut target) = (self.source().await?, self.target().await?);
        // It may be given a second time: the target may have gone back to its copy.
        let progress = source.read_progress(self.slot, self.status(SlotState::Sealed)).await?.lowered_to_positions();
        target.begin().await?;
        let (copy, owned) = (self.status(SlotState::Incoming), self.status(SlotState::Owned));
        match target.replace_status(self.slot, copy, owned).await {
            Ok(()) => {
                target.receive_progress(self.slot, &progress).await?;
                target.commit().await
            }
            Err(StoreError::Moved) => {
                target.rollback().await?;
                // Another process did so, or the target's positions have advanced since.
                if target.read_status(self.slot).await? == owned { Ok(()) } else { Err(StoreError::Moved) }
            }
            Err(error) => Err(error),
        }
    }
}
