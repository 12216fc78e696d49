//! The threads that a member watches.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::wire::ListPageInfo;

/// Whether a member watches a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WatchState {
    /// Whether they do.
    pub watching: bool,
}

/// A subject that a member watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WatchedThread {
    /// What kind of thing it is.
    pub r#type: String,
    /// The host's key of it.
    pub key: String,
    /// Its title; `null` where it has none, or is hidden.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub title: Option<String>,
    /// The address of its page; `null` where it has none, or is hidden.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub url: Option<String>,
    /// Since when they watch it, in Unix milliseconds.
    pub created_at: u64,
}

/// A page of what a member watches, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WatchPage {
    /// What they watch.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<WatchedThread>,
    /// Its place in the list.
    pub page: ListPageInfo,
}
