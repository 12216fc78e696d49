//! The port to the edge: pages and the dictionary are pushed to it.
//!
//! [`crate::jobs::push`] decides what is pushed and when. Promise of every adapter: an answer is an
//! answer of the Worker; after an error it is not known whether anything was stored.

use async_trait::async_trait;
use gailou_shared::edge_protocol::{PushOutcome, PushedDictionary, PushedPage};

use crate::ports::failure::Failure;

/// Why it is not known that the edge has what was pushed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EdgeError {
    #[error("the edge cannot be reached: {0}")]
    Unreachable(Failure),
    /// The status code of the answer.
    #[error("the edge refuses the push with status {0}")]
    Refused(u16),
}

/// Pushes to the edge.
#[async_trait]
pub trait EdgeClient: Send + Sync + std::fmt::Debug {
    /// Pushes pages and, if given, the dictionary in one request.
    async fn push(&self, pages: &[PushedPage], dictionary: Option<&PushedDictionary>)
    -> Result<PushOutcome, EdgeError>;
}
