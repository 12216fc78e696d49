//! The port to the outboxes: what the transactions of one database owe the rows of another.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};

use crate::ports::store::Result;

/// What was delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    pub rows: usize,
    /// The last of the rows that the recipient did not have: a member, and the comment in the member's history. Where the
    /// recipient goes back to before this delivery, it has lost this row.
    pub last_new: Option<(MemberId, CommentId)>,
}

impl Delivered {
    pub fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.last_new = other.last_new.or(self.last_new);
    }
}

/// Delivers the rows of outboxes. Each database has one. A row that is delivered twice changes nothing, and
/// the order does not matter.
#[async_trait]
pub trait Outboxes: Send + Sync + Debug {
    /// The databases for which an outbox has rows.
    async fn list_recipients(&self, database: usize) -> Result<Vec<usize>>;
    /// Delivers some of the rows for one recipient. Of erased members nothing but the history is delivered. Several
    /// processes may deliver at the same time.
    async fn deliver(
        &self,
        database: usize,
        recipient: usize,
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
    ) -> Result<Delivered>;
    /// Whether a database has this comment in the member's history; `None` where it does not have the member's slot.
    async fn has_history(&self, database: usize, member: MemberId, id: CommentId) -> Result<Option<bool>>;
    /// How long the oldest row has waited, in milliseconds; `None` for an empty outbox.
    async fn read_outbox_age(&self, database: usize) -> Result<Option<u64>>;
    /// Waits until this process has written to an outbox since the last call.
    async fn wait_for_rows(&self, database: usize);
}
