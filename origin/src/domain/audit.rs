//! The audit log: what moderators and operators did, and what undoing it needs.
//!
//! Pure data. An entry is written in the transaction of what it is about.

use gailou_shared::id::AuditId;
use gailou_shared::wire::{CommentState, MemberRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::columns;
use crate::domain::review::ReviewItem;

/// How long a decision can be undone, in milliseconds: a day.
pub const UNDO_WINDOW_MS: u64 = 24 * 3_600_000;

/// An entry of the audit log, before it is written.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    /// In the slot of what is changed.
    pub id: AuditId,
    pub actor: MemberRef,
    /// The verb of the call, such as `hide`.
    pub action: &'static str,
    pub reason: Option<String>,
    /// What changes, before and after it, as JSON. Of a comment the fold says both.
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// What an audited change of a comment may have changed, as it was before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UndoRecord {
    pub state: CommentState,
    pub flags: i64,
    pub pinned_at: Option<u64>,
    pub edited_at: Option<u64>,
    pub review: Option<ReviewItem>,
    /// The text that readers saw; only where the change replaced it.
    pub text: Option<CurrentText>,
}

/// The text of a comment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentText {
    pub content: String,
    pub html: String,
    /// The text as written, where the filter masked part of it.
    pub original_text: Option<String>,
}

/// What an entry says of a comment in this state with these flags.
pub(crate) fn describe_comment(state: CommentState, flags: i64) -> Value {
    serde_json::json!({ "state": state, "flags": columns::flags(flags) })
}
