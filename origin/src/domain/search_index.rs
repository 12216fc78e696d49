//! What an index knows of a comment, what it is asked, and how far it is built. Pure.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::wire::CommentState;
use serde::{Deserialize, Serialize};

use crate::domain::row::{CommentRow, ExportCursor};
use crate::domain::search_text::{IndexedText, SearchCondition};

/// The beginning of the id of each index. Another format of documents, or another analysis of texts, has another one:
/// an index of a former one is built again.
pub const INDEX_FORMAT: &str = "v1-";

/// A comment as an index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchDocument {
    pub id: CommentId,
    /// The subject's version when the row was read. It grows with every change that readers may see.
    pub version: u64,
    pub subject: SubjectKey,
    pub author: MemberId,
    pub state: CommentState,
    /// Whether every reader may see it.
    pub is_visible: bool,
    /// Unix milliseconds.
    pub created_at: u64,
    pub text: IndexedText,
}

impl SearchDocument {
    /// The document of a row.
    #[must_use]
    pub fn of(row: &CommentRow) -> Self {
        Self {
            id: row.id(),
            version: row.version,
            subject: row.subject.clone(),
            author: row.author.id,
            state: row.state,
            is_visible: row.is_visible(),
            created_at: row.created_at,
            text: IndexedText::of(&row.content),
        }
    }
}

/// A state as an index has it.
#[must_use]
pub const fn state_name(state: CommentState) -> &'static str {
    match state {
        CommentState::Published => "published",
        CommentState::Review => "review",
        CommentState::Rejected => "rejected",
        CommentState::Hidden => "hidden",
        CommentState::Deleted => "deleted",
    }
}

/// Which comments an index is asked for: those that fulfil all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    pub conditions: Vec<SearchCondition>,
    pub subject: Option<SubjectKey>,
    pub author: Option<MemberId>,
    pub state: Option<CommentState>,
    /// Those alone that every reader may see.
    pub visible_only: bool,
    /// Written at this time or later, in Unix milliseconds.
    pub from: Option<u64>,
    /// Written before this time.
    pub to: Option<u64>,
    /// Those with a smaller id.
    pub below: Option<CommentId>,
}

/// The indexes of an installation, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// The one that answers.
    pub answering: Option<String>,
    /// The one that is being built.
    pub building: Option<String>,
}

/// What the tables know of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchIndexState {
    /// The index that has every comment but those in the queues.
    pub complete: Option<String>,
    /// The one that is being built.
    pub build: Option<IndexBuild>,
    /// The process that indexes, and until when, in Unix milliseconds.
    pub indexer: Option<(String, u64)>,
}

/// How far an index is built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexBuild {
    pub id: String,
    /// The comments up to this one are in it.
    pub after: Option<BuiltUntil>,
    /// How many they are.
    pub comments: u64,
}

/// A place in the walk through all comments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltUntil {
    subject: i64,
    /// In hexadecimal digits.
    path: String,
}

impl From<&ExportCursor> for BuiltUntil {
    fn from(cursor: &ExportCursor) -> Self {
        Self { subject: cursor.subject, path: hex::encode(&cursor.path) }
    }
}

impl From<&BuiltUntil> for ExportCursor {
    fn from(until: &BuiltUntil) -> Self {
        Self { subject: until.subject, path: hex::decode(&until.path).unwrap_or_default() }
    }
}

impl SearchIndexState {
    /// The state in these bytes; that of an installation without an index where they are none of ours.
    #[must_use]
    pub fn decode(bytes: Option<&[u8]>) -> Self {
        bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether the index that answers is the complete one, of this format.
    #[must_use]
    pub fn is_complete(&self, status: &IndexStatus) -> bool {
        let complete = self.complete.as_ref().filter(|id| id.starts_with(INDEX_FORMAT));
        complete.is_some() && complete == status.answering.as_ref()
    }
}
