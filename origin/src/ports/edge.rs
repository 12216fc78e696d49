//! The port to the Worker in front: pages and the dictionary are pushed to it.
//!
//! What is pushed when is the job's ([`crate::jobs::push`]). Promise of every adapter: an answer is an
//! answer of the Worker; after an error it is not known whether anything was stored.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gailou_shared::word_filter::Term;
use serde::{Deserialize, Serialize};

/// Why it is not known that the edge has it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EdgeError {
    #[error("the edge cannot be reached: {0}")]
    Unreachable(String),
    #[error("the edge refuses what is pushed: {0}")]
    Refused(u16),
}

/// A page as the origin answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PushedPage {
    /// Its canonical path and query.
    pub key: String,
    /// Headers that belong to it, by their names in small letters.
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// See [`gailou_shared::cache_tags`].
    pub shows: String,
    /// When its rows were read, in Unix milliseconds.
    pub made: u64,
    /// The subject's version.
    pub version: u64,
}

/// The dictionary.
#[derive(Debug, Clone, Serialize)]
pub struct PushedDictionary {
    pub version: u64,
    pub terms: Vec<Term>,
}

/// What the edge did with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct PushOutcome {
    pub stored: u64,
    /// Pages of which it has newer ones.
    pub older: u64,
}

#[async_trait]
pub trait EdgeClient: Send + Sync + std::fmt::Debug {
    async fn push(&self, pages: &[PushedPage], words: Option<&PushedDictionary>) -> Result<PushOutcome, EdgeError>;
}
