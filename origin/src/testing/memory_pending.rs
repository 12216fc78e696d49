//! Pending comments in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::walk::Snapshot;

use crate::domain::operation::{LoggedOperation, Operation};
use crate::ports::pending::{AppendedKey, KeyHolder, Pending, PendingComment, PendingEnd, PendingError, Reservation};
use crate::testing::faults::lock;

/// Reservations, and the comments that are shown.
#[derive(Debug, Default)]
pub(crate) struct MemoryPending {
    reserved: Mutex<HashMap<(MemberId, String), KeyHolder>>,
    comments: Mutex<BTreeMap<CommentId, LoggedOperation>>,
    snapshots: Mutex<HashMap<SnapshotId, Snapshot>>,
    /// Whether earlier reservations may have been lost.
    pub(crate) is_uncertain: AtomicBool,
    /// Whether every call fails.
    pub(crate) is_down: AtomicBool,
    /// Whether another server has taken over, from a copy of what was here.
    pub(crate) is_other_server: AtomicBool,
    /// Whether comments cannot be put.
    pub(crate) refuses_comments: AtomicBool,
}

fn key_of(logged: &LoggedOperation) -> Option<(MemberId, String)> {
    let Operation::Publish(row) = &logged.operation else { return None };
    row.idempotency.as_ref().map(|idempotency| (row.author.id, idempotency.key.clone()))
}

impl MemoryPending {
    fn check(&self) -> Result<(), PendingError> {
        if self.is_down.load(Ordering::SeqCst) { Err(PendingError("down".into())) } else { Ok(()) }
    }

    pub(crate) fn is_reserved(&self, key: &str) -> bool {
        lock(&self.reserved).keys().any(|(_, reserved)| reserved == key)
    }

    /// The operation of a comment that is shown.
    pub(crate) fn shown(&self, id: CommentId) -> Option<LoggedOperation> {
        lock(&self.comments).get(&id).cloned()
    }

    /// Loses a comment, but not its reservation.
    pub(crate) fn lose_comment(&self, id: CommentId) {
        lock(&self.comments).remove(&id);
    }

    /// Shows a comment, with its reservation.
    pub(crate) fn show(&self, id: CommentId, logged: LoggedOperation) {
        if let Some(key) = key_of(&logged) {
            let appended = AppendedKey::of(&logged).unwrap();
            lock(&self.reserved).insert(key, KeyHolder::Appended(appended));
        }
        lock(&self.comments).insert(id, logged);
    }
}

#[async_trait]
impl Pending for MemoryPending {
    async fn reserve_key(&self, operation: &LoggedOperation) -> Result<Reservation, PendingError> {
        self.check()?;
        let mut reserved = lock(&self.reserved);
        let key = key_of(operation).unwrap();
        if let Some(holder) = reserved.get(&key) {
            return Ok(Reservation::Existing(holder.clone()));
        }
        reserved.insert(key, KeyHolder::Reserved(Box::new(operation.clone())));
        Ok(Reservation::New { is_certain: !self.is_uncertain.load(Ordering::SeqCst) })
    }

    async fn find_reservation(&self, member: MemberId, key: &str) -> Result<Option<KeyHolder>, PendingError> {
        Ok(lock(&self.reserved).get(&(member, key.to_owned())).cloned())
    }

    async fn release_key(&self, operation: &LoggedOperation) -> Result<(), PendingError> {
        self.check()?;
        lock(&self.reserved).remove(&key_of(operation).unwrap());
        Ok(())
    }

    async fn put_comment(&self, operation: &LoggedOperation) -> Result<(), PendingError> {
        self.check()?;
        if self.refuses_comments.load(Ordering::SeqCst) {
            return Err(PendingError("comments are refused".into()));
        }
        let Operation::Publish(row) = &operation.operation else { return Ok(()) };
        lock(&self.comments).insert(row.path.id(), operation.clone());
        if let (Some(key), Some(appended)) = (key_of(operation), AppendedKey::of(operation)) {
            let mut reserved = lock(&self.reserved);
            let holder = reserved.get(&key).and_then(KeyHolder::appended);
            if holder.is_none_or(|before| before.request.id == appended.request.id) {
                reserved.insert(key, KeyHolder::Appended(appended));
            }
        }
        Ok(())
    }

    /// Keeps no comment that is stored.
    async fn end_comments(&self, ended: &[(CommentId, PendingEnd)]) -> Result<(), PendingError> {
        self.check()?;
        let mut comments = lock(&self.comments);
        ended.iter().for_each(|(id, _)| drop(comments.remove(id)));
        Ok(())
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, PendingComment>, PendingError> {
        self.check()?;
        let comments = lock(&self.comments);
        let is_of_this_server = !self.is_other_server.load(Ordering::SeqCst);
        let pending = |id| Some(PendingComment { operation: comments.get(id)?.clone(), is_of_this_server });
        Ok(ids.iter().filter_map(|id| Some((*id, pending(id)?))).collect())
    }

    async fn put_snapshot(&self, _: Slot, snapshot: &Snapshot) -> Result<(), PendingError> {
        self.check()?;
        lock(&self.snapshots).insert(snapshot.id(), snapshot.clone());
        Ok(())
    }

    async fn read_snapshot(&self, _: Slot, id: SnapshotId) -> Result<Option<Snapshot>, PendingError> {
        self.check()?;
        Ok(lock(&self.snapshots).get(&id).cloned())
    }

    async fn list_member_comments(&self, _: MemberId) -> Result<Vec<CommentId>, PendingError> {
        Ok(lock(&self.comments).keys().rev().copied().collect())
    }
}
