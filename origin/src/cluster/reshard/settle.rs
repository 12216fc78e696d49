//! Settles slots: finishes or undoes moves that were interrupted, and corrects the stored map.
//!
//! The rows are believed, never the map. Where two databases say that they have a slot, nothing is changed.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::sleep;

use crate::cluster::reshard::move_target::MoveTarget;
use crate::cluster::reshard::mover::{LAST_STEPS, SlotMover};
use crate::cluster::reshard::{hold_during, lock_moves};
use crate::domain::positions::OperationStream;
use crate::domain::slot_state::{SlotOwner, SlotState, SlotStatus};
use crate::ports::broker::{PartitionOffsets, Topic};
use crate::ports::failure::Failure;
use crate::ports::store::{CopiedSlot as _, MoveLock, MoveSession, Result, Rewinds, SlotMoves, StoreError};

/// How long the source's rows are kept: a process refreshes its map every second, and one that knows states older
/// than five seconds asks the database before it reads.
const OLD_ROWS_RETENTION: Duration = Duration::from_secs(8);
/// How often it is tried to raise the versions of a database while another process does it, and how long between.
const MAX_PASS_TRIES: usize = 30;
const PASS_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What was done to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotRepair {
    MoveFinished { to: usize },
    MoveUndone { owner: usize },
    GivenBack { owner: usize },
    MapCorrected { owner: usize },
}

impl fmt::Display for SlotRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoveFinished { to } => write!(f, "its interrupted move to database {to} is finished"),
            Self::MoveUndone { owner } => write!(f, "its interrupted move from database {owner} is undone"),
            Self::GivenBack { owner } => {
                write!(f, "its interrupted move from database {owner} is undone: the other database has gone back")
            }
            Self::MapCorrected { owner } => write!(f, "the slot map names database {owner}, as its rows do"),
        }
    }
}

/// A slot that has one owner, and what had to be done for that.
pub(super) struct SettledSlot {
    pub(super) owner: usize,
    repairs: Vec<SlotRepair>,
}

/// What settling slots has found and done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SettledSlots {
    /// Slots that have a new database, whose former one still has their rows.
    pub moved: Vec<Slot>,
    /// Databases to which slots were given back that another one may have had meanwhile. Call [`count_as_rewound`] for
    /// each.
    pub given_back: BTreeSet<usize>,
    /// What was done, a sentence each.
    pub repairs: Vec<String>,
    /// Slots that nothing can be done about without a decision, and why.
    pub problems: Vec<(Slot, String)>,
}

/// Whether a caller may give a slot back: then it calls [`count_as_rewound`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GiveBack {
    Allow,
    Refuse,
}

/// Settles the slots whose rows, as last read, do not name one owner. Does nothing while another process moves slots.
///
/// # Errors
/// When the first database does not answer.
pub async fn settle_interrupted_moves<T: SlotMoves>(tables: &T) -> Result<SettledSlots> {
    let unsettled = tables.find_unsettled();
    let mut settled = SettledSlots::default();
    if unsettled.is_empty() {
        return Ok(settled);
    }
    // The process that holds the lock is moving them.
    let Some(mut lock) = tables.lock_moves(Duration::ZERO).await? else { return Ok(settled) };
    for slot in unsettled {
        settle_into(tables, &mut lock, slot, &mut settled).await?;
    }
    lock.release().await?;
    Ok(settled)
}

/// Settles every slot.
///
/// # Errors
/// When the first database does not answer, or another process is moving slots.
pub async fn settle_all<T: SlotMoves>(tables: &T) -> Result<SettledSlots> {
    let mut lock = lock_moves(tables).await?;
    let (mut settled, _) = (SettledSlots::default(), tables.refresh_slot_map().await);
    for slot in tables.find_unsettled() {
        settle_into(tables, &mut lock, slot, &mut settled).await?;
    }
    lock.release().await?;
    Ok(settled)
}

/// Deletes the rows of these slots where they are no more, after every process has had time to know it.
///
/// # Errors
/// When a database does not answer, another process is moving slots, or a copy is not complete.
pub async fn delete_old_copies<T: SlotMoves>(tables: &T, slots: &[Slot]) -> Result<()> {
    sleep(OLD_ROWS_RETENTION).await;
    for slot in slots {
        let mut lock = lock_moves(tables).await?;
        delete_copies_of(tables, &mut lock, *slot).await?;
        lock.release().await?;
    }
    Ok(())
}

/// Deletes the rows of a slot where it is no more. Its owner is seen alive, with at least as many comments, before.
async fn delete_copies_of<T: SlotMoves>(tables: &T, lock: &mut T::Lock, slot: Slot) -> Result<()> {
    let owner = settle_slot(tables, lock, slot, GiveBack::Refuse).await?.owner;
    let mut session = tables.move_session(owner).await?;
    if session.read_status(slot).await?.state != SlotState::Owned {
        return Err(StoreError::Moved);
    }
    let rows = tables.rows_of_slot(&mut session, slot).await?;
    let kept = hold_during(lock, rows.count_comments(&mut session)).await?;
    for database in (0..tables.count_databases()).filter(|database| *database != owner) {
        let mut session = tables.move_session(database).await?;
        let status = session.read_status(slot).await?;
        if status.state != SlotState::Elsewhere {
            return Err(StoreError::Moved);
        }
        let rows = tables.rows_of_slot(&mut session, slot).await?;
        // Comments are never deleted from their table, so a complete copy has all of them.
        let old = hold_during(lock, rows.count_comments(&mut session)).await?;
        if old > kept {
            let (one, other) = (tables.describe_database(database), tables.describe_database(owner));
            let number = slot.get();
            return Err(StoreError::damaged(format_args!(
                "slot {number}: {one} has {old} comments, {other} has only {kept}; nothing was deleted"
            )));
        }
        MoveTarget::new(&mut session, lock, slot, status)?.delete_all(&rows).await?;
    }
    Ok(())
}

async fn settle_into<T: SlotMoves>(
    tables: &T,
    lock: &mut T::Lock,
    slot: Slot,
    settled: &mut SettledSlots,
) -> Result<()> {
    match settle_slot(tables, lock, slot, GiveBack::Allow).await {
        Ok(SettledSlot { repairs, .. }) => {
            let number = slot.get();
            for repair in repairs {
                tracing::info!(slot = number, "Settled slot {number}: {repair}");
                settled.repairs.push(format!("slot {number}: {repair}"));
                match repair {
                    SlotRepair::MoveFinished { .. } => settled.moved.push(slot),
                    SlotRepair::GivenBack { owner } => _ = settled.given_back.insert(owner),
                    SlotRepair::MoveUndone { .. } | SlotRepair::MapCorrected { .. } => {}
                }
            }
        }
        Err(StoreError::Damaged(problem)) => settled.problems.push((slot, problem.to_string())),
        // Its database is away, or it changed in between: the next call sees.
        Err(StoreError::Unavailable(_) | StoreError::Busy(_) | StoreError::Moved) => lock.check().await?,
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The status of a slot in each database; `None` for a database that does not answer.
async fn read_statuses<T: SlotMoves>(tables: &T, slot: Slot) -> Vec<Option<SlotStatus>> {
    let mut statuses = Vec::with_capacity(tables.count_databases());
    for database in 0..tables.count_databases() {
        statuses.push(match tables.move_session(database).await {
            Ok(mut session) => session.read_status(slot).await.ok(),
            Err(_) => None,
        });
    }
    statuses
}

/// Finishes or undoes an interrupted move of a slot, whichever is safe, and corrects the stored map.
pub(super) async fn settle_slot<T: SlotMoves>(
    tables: &T,
    lock: &mut T::Lock,
    slot: Slot,
    may_give_back: GiveBack,
) -> Result<SettledSlot> {
    lock.check().await?;
    let statuses = read_statuses(tables, slot).await;
    let all_answer = statuses.iter().all(Option::is_some);
    let known = statuses.into_iter().enumerate().filter_map(|(shard, status)| Some((shard, status?)));
    let known: Vec<(usize, SlotStatus)> = known.collect();
    let mut repairs = Vec::new();
    let mut owner = match SlotOwner::find(known.iter().copied()) {
        SlotOwner::One(owner) => owner,
        SlotOwner::Conflict(one, other) => {
            let (one, other) = (tables.describe_database(one), tables.describe_database(other));
            return Err(StoreError::damaged(format_args!("{one} and {other} both have it; nothing was changed")));
        }
        SlotOwner::Unclaimed if all_answer => {
            return Err(StoreError::damaged("no database has it; nothing was changed"));
        }
        SlotOwner::Unclaimed => return Err(StoreError::Unavailable("its database does not answer".into())),
    };
    let (_, status) = known.iter().copied().find(|(shard, _)| *shard == owner).ok_or(StoreError::Moved)?;
    match status.state {
        SlotState::Copying => {
            undo(tables, slot, owner, status).await?;
            if all_answer {
                retire_others(tables, slot, owner, &known).await?;
            }
            repairs.push(SlotRepair::MoveUndone { owner });
        }
        SlotState::Sealed => {
            let copy = status.with(SlotState::Incoming);
            match known.iter().find(|(_, status)| *status == copy) {
                Some((to, _)) if hold_during(lock, tables.compare_copies(slot, owner, *to)).await?.is_empty() => {
                    let mover = SlotMover::resume(tables, slot, [owner, *to], status.move_number).await?;
                    for step in LAST_STEPS {
                        mover.take_step(lock, step).await?;
                    }
                    owner = *to;
                    repairs.push(SlotRepair::MoveFinished { to: owner });
                }
                _ if !all_answer => return Err(StoreError::Unavailable("its target does not answer".into())),
                _ if may_give_back == GiveBack::Refuse => {
                    return Err(StoreError::Unavailable("a job gives it back first; try again later".into()));
                }
                _ => {
                    // First, so that no process can make the copy the owner meanwhile.
                    retire_others(tables, slot, owner, &known).await?;
                    give_back(tables, slot, owner, status).await?;
                    repairs.push(SlotRepair::GivenBack { owner });
                }
            }
        }
        SlotState::Owned if all_answer => {
            if retire_others(tables, slot, owner, &known).await? {
                repairs.push(SlotRepair::MoveFinished { to: owner });
            }
        }
        SlotState::Owned | SlotState::Elsewhere | SlotState::Incoming => {}
    }
    if lock.correct_map(slot, owner).await? {
        repairs.push(SlotRepair::MapCorrected { owner });
    }
    Ok(SettledSlot { owner, repairs })
}

/// Returns the source to the state before the copy.
async fn undo<T: SlotMoves>(tables: &T, slot: Slot, from: usize, open: SlotStatus) -> Result<()> {
    let mut session = tables.move_session(from).await?;
    session.begin().await?;
    session.replace_status(slot, open, open.with(SlotState::Owned)).await?;
    session.forget_dirty_rows(slot).await?;
    session.commit().await
}

/// Gives a sealed slot back to its source, because the copy is not what was sealed: its database has gone back, maybe
/// after it had the slot and applied records of it. They are read again.
async fn give_back<T: SlotMoves>(tables: &T, slot: Slot, from: usize, sealed: SlotStatus) -> Result<()> {
    let (mut session, owned) = (tables.move_session(from).await?, sealed.with(SlotState::Owned));
    session.begin().await?;
    session.replace_status(slot, sealed, owned).await?;
    let progress = session.read_progress(slot, owned).await?.lowered_to_positions();
    session.receive_progress(slot, &progress).await?;
    session.commit().await
}

/// Takes the slot from every database but its owner: from copies, and from a source that is still sealed.
/// Answers whether there was such a source.
async fn retire_others<T: SlotMoves>(
    tables: &T,
    slot: Slot,
    owner: usize,
    known: &[(usize, SlotStatus)],
) -> Result<bool> {
    let mut was_sealed = false;
    for (shard, status) in known.iter().filter(|(shard, _)| *shard != owner) {
        if matches!(status.state, SlotState::Incoming | SlotState::Sealed) {
            let elsewhere = status.with(SlotState::Elsewhere);
            tables.move_session(*shard).await?.replace_status(slot, *status, elsewhere).await?;
        }
        was_sealed |= status.state == SlotState::Sealed;
    }
    Ok(was_sealed)
}

/// What becomes of the rows of a slot in a database that shall have it, where some of them were deleted, or were never
/// copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncompleteCopy {
    Refuse,
    /// They are deleted: among rows that are read again from the log they would be counted wrong.
    Discard,
}

/// Says which database has a slot, where the rows of two say so, or of none. The rows of the others stay. It may be
/// repeated. Call [`count_as_rewound`] after the last slot.
///
/// # Errors
/// When a database or the broker does not answer, another database has the slot, it is being moved, or its rows are not
/// complete there and may not be discarded.
pub async fn decide_owner<T: SlotMoves>(
    tables: &T,
    broker: &dyn PartitionOffsets,
    slot: Slot,
    owner: usize,
    incomplete: IncompleteCopy,
) -> Result<()> {
    let mut lock = lock_moves(tables).await?;
    let statuses = read_statuses(tables, slot).await.into_iter().collect::<Option<Vec<SlotStatus>>>();
    let all = statuses.ok_or_else(|| StoreError::Unavailable("every database must answer".into()))?;
    let Some(chosen) = all.get(owner) else {
        return Err(StoreError::Database("there is no such database".into()));
    };
    match SlotOwner::find(all.iter().copied().enumerate()) {
        SlotOwner::One(found) if found != owner => {
            return Err(StoreError::Database(format!("database {found} alone has it").into()));
        }
        SlotOwner::One(_) if chosen.state != SlotState::Owned => {
            return Err(StoreError::Database("it is being moved; `shard repair` ends the move".into()));
        }
        SlotOwner::One(_) => {}
        _ => {
            if !is_complete(tables, slot, owner, *chosen).await? {
                if incomplete == IncompleteCopy::Refuse {
                    let text = "some of its rows were deleted there, or never copied: restore that database, choose \
                                another one, or discard what is left";
                    return Err(StoreError::Database(text.into()));
                }
                let mut session = tables.move_session(owner).await?;
                let rows = tables.rows_of_slot(&mut session, slot).await?;
                MoveTarget::new(&mut session, &mut lock, slot, *chosen)?.delete_all(&rows).await?;
            }
            give(tables, broker, &mut lock, slot, owner, &all).await?;
        }
    }
    lock.correct_map(slot, owner).await?;
    lock.release().await
}

/// Whether a database has all rows of a slot that it had as its owner.
async fn is_complete<T: SlotMoves>(tables: &T, slot: Slot, database: usize, status: SlotStatus) -> Result<bool> {
    Ok(status.state.is_readable()
        || tables.move_session(database).await?.read_progress(slot, status).await?.is_complete())
}

/// Gives a slot to a database, and takes it from all others.
async fn give<T: SlotMoves>(
    tables: &T,
    broker: &dyn PartitionOffsets,
    lock: &mut T::Lock,
    slot: Slot,
    owner: usize,
    all: &[SlotStatus],
) -> Result<()> {
    // Before anything is changed.
    let partition = broker.partition_of(slot);
    let mut first_offsets = HashMap::new();
    for stream in [OperationStream::Comments, OperationStream::Reactions] {
        let first = broker.first_offset(Topic::of(stream), partition).await;
        first_offsets.insert(stream, first.map_err(|error| StoreError::Unavailable(Failure::of_driver(error)))?);
    }
    let last = all.iter().map(|status| status.move_number).max().unwrap_or(0);
    let move_number = lock.take_move_number(last + 1).await?;
    let others = all.iter().enumerate().filter(|(shard, _)| *shard != owner);
    for (shard, status) in others.filter(|(_, status)| status.state != SlotState::Elsewhere) {
        let next = SlotStatus { state: SlotState::Elsewhere, move_number };
        tables.move_session(shard).await?.replace_status(slot, *status, next).await?;
    }
    let next = SlotStatus { state: SlotState::Owned, move_number };
    let mut session = tables.move_session(owner).await?;
    session.begin().await?;
    session.replace_status(slot, all[owner], next).await?;
    let mut progress = session.read_progress(slot, next).await?;
    if !all[owner].state.is_readable() {
        // Rows may be missing that it has applied: they were deleted after a move, or not copied yet.
        (progress.comments, progress.reactions) = (0, 0);
    }
    // No database vouches for what was applied of it: everything behind its own positions is read again that the log
    // still has.
    progress.checkpoints.iter_mut().for_each(|(stream, _, next)| *next = first_offsets[&*stream]);
    session.receive_progress(slot, &progress).await?;
    session.commit().await
}

/// Treats a database to which slots were given, or given back, as one that has gone back: rows of histories and changes
/// of these slots were written in another one, so versions rise, and jobs deliver histories again. `now`: Unix
/// milliseconds.
///
/// # Errors
/// When the database does not answer, or another process raises its versions for longer than this waits.
pub async fn count_as_rewound(tables: &impl Rewinds, database: usize, now: impl Fn() -> u64) -> Result<()> {
    // By then every process that reads of it knows which slots the database has.
    sleep(OLD_ROWS_RETENTION).await;
    for _ in 0..MAX_PASS_TRIES {
        if tables.pass_rewind(database, now(), None).await? {
            return Ok(());
        }
        sleep(PASS_RETRY_INTERVAL).await;
    }
    Err(StoreError::Unavailable("another process raises the versions of its subjects".into()))
}
