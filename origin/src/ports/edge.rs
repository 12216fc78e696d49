//! The port to the Worker in front: pages and the dictionary are pushed to it.
//!
//! What is pushed when is the job's ([`crate::jobs::push`]). Promise of every adapter: an answer is an
//! answer of the Worker; after an error it is not known whether anything was stored.

use async_trait::async_trait;
use gailou_shared::edge_protocol::{PushOutcome, PushedDictionary, PushedPage};

/// Why it is not known that the edge has it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EdgeError {
    #[error("the edge cannot be reached: {0}")]
    Unreachable(String),
    #[error("the edge refuses what is pushed: {0}")]
    Refused(u16),
}

#[async_trait]
pub trait EdgeClient: Send + Sync + std::fmt::Debug {
    async fn push(&self, pages: &[PushedPage], words: Option<&PushedDictionary>) -> Result<PushOutcome, EdgeError>;
}
