//! The port to the databases as a mover of slots uses them: what one statement or one transaction does, and nothing
//! of the order in which a move does it (`crate::cluster::reshard`).

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;

use crate::domain::slot_state::{SlotProgress, SlotStatus};
use crate::ports::store::{Result, Sharding};

/// The databases between which slots move.
#[async_trait]
pub trait SlotMoves: Sharding {
    type Lock: MoveLock;
    type Session: MoveSession;
    type Rows: CopiedSlot<Session = Self::Session>;

    /// The right to move slots, which one process has at a time; `None` when another has it for as long as this waits.
    async fn lock_moves(&self, wait: Duration) -> Result<Option<Self::Lock>>;
    /// A connection for a step of a move. The server closes it soon after its process froze, with its transaction.
    async fn move_session(&self, database: usize) -> Result<Self::Session>;
    /// The rows of a slot, as the database of this connection describes them.
    async fn rows_of_slot(&self, session: &mut Self::Session, slot: Slot) -> Result<Self::Rows>;
    /// How the rows of a slot differ between two databases; nothing when they are equal. The answer has no meaning while
    /// the slot is written.
    async fn compare_copies(&self, slot: Slot, one: usize, other: usize) -> Result<Vec<String>>;
    /// Reads which slots each database has, and the stored map.
    async fn refresh_slot_map(&self) -> Result<()>;
    /// Slots whose rows, as last read, do not name one owner and nothing else, or whose owner the stored map does not
    /// name.
    fn find_unsettled(&self) -> Vec<Slot>;
    /// A database, for a person.
    fn describe_database(&self, database: usize) -> String;
}

/// The held right to move slots, and the connection that holds it: a process that dies holds nothing.
#[async_trait]
pub trait MoveLock: Send {
    /// Keeps the connection awake, and fails when it, or the lock by itself, is lost.
    async fn check(&mut self) -> Result<()>;
    async fn release(self) -> Result<()>;
    /// A number for a move: larger than every number before, and no smaller than `least`. By the clock it is so even
    /// when the first database has gone back.
    async fn take_move_number(&mut self, least: i64) -> Result<i64>;
    /// Enters the target of a move in the stored map, unless a later move has been entered.
    async fn enter_move(&mut self, slot: Slot, to: usize, move_number: i64) -> Result<()>;
    /// Enters the owner of a slot in the stored map if it names another database, or none; whether it did.
    async fn correct_map(&mut self, slot: Slot, owner: usize) -> Result<bool>;
}

/// A connection to one database. A method outside of a transaction is one by itself.
#[async_trait]
pub trait MoveSession: Send {
    /// A row that was written or deleted while its slot was copied.
    type Dirty: Send + Sync;

    async fn begin(&mut self) -> Result<()>;
    /// After an error it is unknown whether the transaction was committed.
    async fn commit(&mut self) -> Result<()>;
    async fn rollback(&mut self) -> Result<()>;
    async fn read_status(&mut self, slot: Slot) -> Result<SlotStatus>;
    /// Locks the slot's row until the transaction ends, as writers do; its status.
    async fn lock_status(&mut self, slot: Slot) -> Result<SlotStatus>;
    /// Stores `next` in place of `before`.
    ///
    /// # Errors
    /// [`StoreError::Moved`], and nothing is changed, when the row has another status than `before`.
    ///
    /// [`StoreError::Moved`]: crate::ports::store::StoreError::Moved
    async fn replace_status(&mut self, slot: Slot, before: SlotStatus, next: SlotStatus) -> Result<()>;
    /// Deletes and returns up to `limit` dirty rows, in a transaction that has locked the slot's row.
    async fn take_dirty_rows(&mut self, slot: Slot, limit: usize) -> Result<Vec<Self::Dirty>>;
    /// Deletes the dirty rows, in a transaction that has the slot's row.
    async fn forget_dirty_rows(&mut self, slot: Slot) -> Result<()>;
    /// How far the slot is applied here.
    ///
    /// # Errors
    /// [`StoreError::Moved`] when its row has another status than this.
    ///
    /// [`StoreError::Moved`]: crate::ports::store::StoreError::Moved
    async fn read_progress(&mut self, slot: Slot, status: SlotStatus) -> Result<SlotProgress>;
    /// Takes over positions, and lowers checkpoints to them.
    async fn receive_progress(&mut self, slot: Slot, progress: &SlotProgress) -> Result<()>;
}

/// The rows of a slot that is copied from one database to another, or deleted in one.
#[async_trait]
pub trait CopiedSlot: Send + Sync {
    type Session: MoveSession;
    /// How far a walk through the rows has come.
    type Walk: Default + Send;

    /// Copies the next rows over those that exist, in a transaction of the target; whether there are more.
    async fn copy_next(
        &self,
        walk: &mut Self::Walk,
        source: &mut Self::Session,
        target: &mut Self::Session,
    ) -> Result<bool>;
    /// Copies the rows that dirty rows name, as they are by now, in a transaction of the target.
    async fn copy_dirty(
        &self,
        source: &mut Self::Session,
        target: &mut Self::Session,
        dirty: &[<Self::Session as MoveSession>::Dirty],
    ) -> Result<()>;
    /// Deletes the next rows, in a transaction; whether there are more.
    async fn delete_next(&self, walk: &mut Self::Walk, session: &mut Self::Session) -> Result<bool>;
    async fn count_comments(&self, session: &mut Self::Session) -> Result<u64>;
}
