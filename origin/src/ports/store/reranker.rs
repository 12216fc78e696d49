//! The port that ranks comments again when their weights have changed.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::ports::store::Result;

/// How far ranking again is, in parts of the tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RerankProgress {
    pub done: u64,
    pub total: u64,
}

/// Ranks comments again, a chunk in a transaction, while others read and write.
///
/// Until it ends, lists have keys of both kinds, and a reply that was written meanwhile may have a rank of each.
#[async_trait]
pub trait Reranker: Send + Sync + Debug {
    /// Ranks every comment again when the configured weights differ from those that the ranks are made with; how many
    /// comments got another rank, also before an interruption. What is interrupted goes on behind its last chunk;
    /// `report` is called after each.
    ///
    /// # Errors
    /// When the tables do not answer, and in a cluster while another process does the same or a slot moves. The
    /// chunks before are kept.
    async fn rank_again(&self, report: &(dyn Fn(RerankProgress) + Send + Sync)) -> Result<u64>;
}
