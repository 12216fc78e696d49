//! Moves slots from one database to another while they are read and written.
//!
//! The slot's rows in the databases are the truth, and the stored map is a cache of them. The states of these rows
//! say how far a move has come:
//!
//! 1. Source `SlotState::Copying`, target `SlotState::Incoming`: the slot's rows are copied. Writers
//!    continue, and record their dirty rows. A move that is interrupted here is undone.
//! 2. Source `SlotState::Sealed`: under the lock of the source's row the last dirty rows were copied
//!    too. No process can write. A move that is interrupted from here on is finished.
//! 3. Target `SlotState::Owned` with the source's positions; the stored map names the target; source
//!    `SlotState::Elsewhere`.
//! 4. After the time in which every process refreshes its map, the source's rows are deleted.
//!
//! Every move has a number, which is stored with each state that it makes. A step is conditional on the state and the
//! number that it expects (`mover`), and rows are written or deleted only in a database whose own row, under its lock,
//! is the copy that is meant (`move_target`). Jobs finish or undo what was interrupted (`settle`).
//!
//! Not here: statements and rows ([`crate::ports::store::SlotMoves`]), and which slots should move.

mod move_target;
mod mover;
mod settle;

use std::pin::pin;
use std::time::Duration;

use gailou_shared::id::Slot;
#[cfg(test)]
pub(crate) use move_target::MoveTarget;
#[cfg(test)]
pub(crate) use mover::MOVE_STEPS;
pub(crate) use mover::SlotMover;
use settle::{GiveBack, settle_slot};
pub use settle::{
    IncompleteCopy, SettledSlots, count_as_rewound, decide_owner, delete_old_copies, settle_all,
    settle_interrupted_moves,
};
use tokio::time::timeout;

use crate::ports::store::{MoveLock, Result, SlotMoves, StoreError};

/// How long a caller waits while another process moves slots.
const MOVE_LOCK_WAIT: Duration = Duration::from_secs(5);
/// How often a lock is seen to be held: well within the time after which the server closes an idle connection.
const LOCK_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Moves a slot to a database, or continues a move that was interrupted. Its rows stay readable where
/// they were until [`delete_old_copies`].
///
/// # Errors
/// When a database does not answer, another process is moving slots, writers are too fast, or two databases
/// say that they have the slot. The slot stays where it was, or (when it was sealed already) refuses writes
/// until a job finishes the move.
pub async fn relocate<T: SlotMoves>(tables: &T, slot: Slot, to: usize) -> Result<()> {
    let databases = tables.count_databases();
    if to >= databases {
        return Err(StoreError::Database(format!("there are {databases} databases, from 0").into()));
    }
    let mut lock = lock_moves(tables).await?;
    let from = settle_slot(tables, &mut lock, slot, GiveBack::Refuse).await?.owner;
    if from != to {
        let mover = SlotMover::begin(tables, &mut lock, slot, [from, to]).await?;
        for step in mover::MOVE_STEPS {
            if let Err(error) = mover.take_step(&mut lock, step).await {
                // Dirty rows cost the writers time. If this fails too, a job settles the slot.
                let _ = settle_slot(tables, &mut lock, slot, GiveBack::Refuse).await;
                return Err(error);
            }
        }
    }
    lock.release().await?;
    tables.refresh_slot_map().await
}

/// The right to move slots, which one process has at a time.
async fn lock_moves<T: SlotMoves>(tables: &T) -> Result<T::Lock> {
    let lock = tables.lock_moves(MOVE_LOCK_WAIT).await?;
    lock.ok_or_else(|| StoreError::Unavailable("another process is moving slots; try again later".into()))
}

/// Waits for work that takes longer than the server keeps an idle connection.
///
/// # Errors
/// When the lock is lost meanwhile; the work is dropped then.
async fn hold_during<L: MoveLock, O>(lock: &mut L, work: impl Future<Output = Result<O>>) -> Result<O> {
    let mut work = pin!(work);
    loop {
        match timeout(LOCK_CHECK_INTERVAL, &mut work).await {
            Ok(done) => return done,
            Err(_) => lock.check().await?,
        }
    }
}
