//! The port to the tables: what is asked of them and what is written to them.
//!
//! A store answers from rows and never from a cache. It refuses nothing for business reasons:
//! those are decided before ([`crate::service`]). Writes reach it in batches, through the journal.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;
use gailou_shared::words::Term;

use crate::domain::operation::{ChangeRow, LoggedOperation, Persisted};
use crate::domain::row::{Exported, ListOf, Remembered, Row, SubjectRow};

/// Why a store could not answer. Nothing in here is the reader's fault.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The database answered with an error, or could not be reached.
    #[error("the database failed: {0}")]
    Database(String),
    /// A row that breaks the store's own rules.
    #[error("a row is damaged: {0}")]
    Damaged(String),
    /// The database could not be reached, did not answer in time, or gave up on a lock. Nothing is
    /// wrong with what was asked: asking again may succeed. Whether a write landed is not known.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The slot lives in another database now, or is on its way there: ask again.
    #[error("the slot is moving")]
    Moved,
}

pub type Result<T> = std::result::Result<T, StoreError>;

/// The tables. Reads see every batch that was acknowledged before they began.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Subjects in the order asked for; `None` where nobody has written yet.
    async fn subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>>;
    /// The comments that exist, whatever their state.
    async fn comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, Row>>;
    /// Listed comments by floor, beyond a floor (exclusive).
    async fn floors(
        &self,
        list: &ListOf,
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, CommentId)>>;
    /// What a snapshot of the list is made of: at least its best [`gailou_shared::limits::SNAPSHOT_IDS`].
    async fn ranked(&self, list: &ListOf, sort: Sort) -> Result<Vec<(i64, CommentId)>>;
    /// The first listed replies of each root by heat.
    async fn top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>>;
    /// Listed descendants of `top` in path order, after `after`, down to `max_depth`.
    async fn subtree(&self, top: &Path, after: Option<&[u8]>, max_depth: usize, count: usize) -> Result<Vec<Row>>;
    /// Listed comments that answer the same comment, newest first, without it.
    async fn siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>>;
    /// A snapshot of a list in this slot.
    async fn snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>>;
    /// A member's visible comments below an id, newest first.
    async fn history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>>;
    /// A member's comments that are in no list for others: held, or for themselves only.
    async fn pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>>;
    async fn reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>>;
    /// What an idempotency key stands for, if it was used after `since`.
    async fn remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<Remembered>>;
    /// The text of a comment before its first edit; `None` when it was never edited.
    async fn first_text(&self, id: CommentId) -> Result<Option<String>>;
    /// The last known names.
    async fn names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>>;
    /// Version and terms of the dictionary.
    async fn words(&self) -> Result<(u64, Vec<Term>)>;
    /// The dictionary's version alone.
    async fn words_version(&self) -> Result<u64> {
        Ok(self.words().await?.0)
    }
    /// Comments of one subject or of all, subject by subject, threads together, parents first.
    async fn export(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&(i64, Vec<u8>)>,
        count: usize,
    ) -> Result<Vec<Exported>>;
    /// What was imported into a subject under these ids, and native comments under their own.
    async fn sources(&self, subject: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>>;
    /// The largest comment id, so that ids go on after it.
    async fn last_id(&self) -> Result<Option<CommentId>>;
    /// A secret of this installation, made from `fresh` when it has none yet.
    async fn secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>>;
    /// What is damaged in the tables, nothing when all is well. Reads everything.
    async fn check(&self) -> Result<Vec<String>>;
    /// Rows of the change feed of one database (from 0), after `after`, in their order; nothing for
    /// a database that is not there.
    async fn feed(&self, shard: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>>;
    /// Writes a batch in order, one transaction a database; with one database all of it or nothing.
    /// One outcome an event.
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<Persisted>;
}
