//! What a page says of a comment that others quote.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Author, Comment, CommentState, Media};

/// A comment as those above it quote it. A deleted one is a tombstone: `author` is `null`, and `html` is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuotedFloor {
    /// The subject's version its row was read at; not part of the JSON.
    #[serde(skip)]
    pub version: u64,
    /// Its author; `null` on a tombstone.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub author: Option<Author>,
    /// The text as safe HTML.
    pub html: String,
    /// Its pictures; absent where there are none.
    #[cfg_attr(feature = "openapi", schema(max_items = 4))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Members who like it.
    pub likes: u64,
    /// When it was written, in Unix milliseconds.
    pub created_at: u64,
    /// Its state.
    pub state: CommentState,
}

impl From<Comment> for QuotedFloor {
    fn from(comment: Comment) -> Self {
        let Comment { version, author, html, media, likes, created_at, state, .. } = comment;
        Self { version, author, html, media, likes, created_at, state }
    }
}
