//! A push: pages of popular subjects and the dictionary, posted by the origin to the edge.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::word_filter::Term;

/// The path of the edge that accepts a push, by `POST` and signed.
pub const PUSH_PATH: &str = "/edge/push";
/// The version of [`PushDocument`] that is written and read.
pub const PUSH_FORMAT_VERSION: u8 = 1;

/// The body of a push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushDocument<'a> {
    /// Must be [`PUSH_FORMAT_VERSION`].
    pub v: u8,
    /// The pages.
    pub pages: Cow<'a, [PushedPage]>,
    /// The dictionary, when it is part of the push.
    #[serde(default)]
    pub words: Option<Cow<'a, PushedDictionary>>,
}

/// A page as the origin would answer it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedPage {
    /// Its canonical path and query.
    pub key: String,
    /// Its headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: String,
    /// The value of [`CACHE_TAGS_HEADER`](super::CACHE_TAGS_HEADER).
    #[serde(rename = "shows")]
    pub cache_tags: String,
    /// The value of [`MADE_HEADER`](super::MADE_HEADER), in Unix milliseconds.
    pub made: u64,
    /// The value of [`SUBJECT_VERSION_HEADER`](super::SUBJECT_VERSION_HEADER).
    pub version: u64,
}

/// A dictionary of the word filter. The edge also stores it in this form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedDictionary {
    /// Which of two dictionaries is newer.
    pub version: u64,
    /// Its entries.
    pub terms: Vec<Term>,
}

/// The answer to a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PushOutcome {
    /// Pages and dictionaries that were stored.
    pub stored: u64,
    /// Pages and dictionaries that were left out, because the edge has the same or a newer one.
    pub older: u64,
}
