//! The port to tables behind a log: what they can besides, being spread over databases.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;

use crate::ports::store::{Result, Store};

/// The topics of the log that end in tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    Comments,
    Reactions,
}

/// What the tables say of one member's reaction to one comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReactionState {
    /// The slot's next position in the reactions' log: everything before it is in here.
    pub position: u64,
    pub reaction: Option<Reaction>,
    /// Whether every reader may see the comment; `None` where it has no row under this id.
    pub visible: Option<bool>,
    pub likes: u64,
    pub dislikes: u64,
    /// See `Row::reacted`.
    pub reacted: u64,
}

/// What tables behind a log can besides: they are spread over databases, and know how far they are.
#[async_trait]
pub trait Shards: Store {
    /// How many databases there are.
    fn shards(&self) -> usize;
    /// The database that holds a slot, from 0. What one database holds is written in one transaction.
    fn shard(&self, slot: Slot) -> usize;
    /// The next position of each slot in a stream; 0 for a slot nothing was ever written to.
    async fn positions(&self, stream: Stream, slots: &[Slot]) -> Result<HashMap<Slot, u64>>;
    /// Passes over a position that cannot be applied: what stands there is in the dead letters.
    async fn skip(&self, stream: Stream, slot: Slot, position: u64) -> Result<()>;
    /// What the tables say of these pairs, in their order; each answer is of one moment.
    async fn standing(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>>;
    /// A free node number for `ttl_ms`, or the one `holder` has, for as long again; `None` when all
    /// are taken. The importer's own number is not among them.
    async fn lease(&self, holder: &str, ttl_ms: u64) -> Result<Option<u64>>;
    /// Gives the number back.
    async fn release(&self, holder: &str) -> Result<()>;
}
