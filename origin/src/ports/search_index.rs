//! The port to the search index: embedded in the process, or a search engine that processes share.
//!
//! An index is a view of the rows: it may be lost and built again, and what it answers is compared with the rows.
//! Beside the one that answers there may be another one that is being built.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::CommentId;

use crate::domain::search_index::{IndexStatus, SearchDocument, SearchFilter};
use crate::ports::failure::Failure;

/// Why an index does not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SearchError {
    /// No index is complete yet.
    #[error("the search index is being built")]
    NotBuilt,
    /// This installation has no search.
    #[error("there is no search here: set search.url")]
    NotConfigured,
    #[error("{0}")]
    Unavailable(Failure),
}

/// What an index answers.
pub type SearchResult<T> = Result<T, SearchError>;

/// Finds comments, and takes what has changed of them.
#[async_trait]
pub trait SearchIndex: Send + Sync + Debug {
    /// The first `count` comments that fulfil the filter, the largest id first.
    async fn search(&self, filter: &SearchFilter, count: usize) -> SearchResult<Vec<CommentId>>;
    /// The indexes that there are.
    async fn status(&self) -> SearchResult<IndexStatus>;
    /// Puts documents into the index that answers and the one that is being built, whichever there are when this
    /// begins. A document is left out where the index has one of a larger version. What is put is safe and found after
    /// [`SearchIndex::commit`].
    async fn put(&self, documents: &[SearchDocument]) -> SearchResult<()>;
    /// Makes safe what was put, and lets it be found within a second.
    async fn commit(&self) -> SearchResult<()>;
    /// Makes an empty index with this id, to be built. One that was being built is dropped.
    async fn begin_build(&self, id: &str) -> SearchResult<()>;
    /// Lets the index that is being built answer from now on, and drops the former one.
    async fn finish_build(&self) -> SearchResult<()>;
    /// Gives back files and space of what was replaced or deleted. To be called from time to time.
    async fn compact(&self) -> SearchResult<()> {
        Ok(())
    }
}
