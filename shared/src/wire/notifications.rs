//! What a member is notified of.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::EventId;
use crate::wire::{Comment, ListPageInfo, MemberRef};

/// Why a member is notified of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum NotificationKind {
    /// It answers a comment of theirs.
    Reply,
    /// It mentions them.
    Mention,
    /// It is the first one they have not seen in a thread that they watch.
    Watched,
    /// It is theirs, and a moderator decided about it.
    Decision,
}

/// Something that a member is notified of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Notification {
    /// Its id: a larger one is newer.
    pub id: EventId,
    /// Why they are notified.
    pub kind: NotificationKind,
    /// What was decided: `approve`, `reject`, `hide`, `delete` or `feature`; of a decision alone.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub action: Option<String>,
    /// The title of the watched subject, where it has one and is not hidden; of `watched` alone.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub title: Option<String>,
    /// The comment as the member may see it today; `null` where they may not any more. Their own one is there in every
    /// state, a deleted one without its text.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub comment: Option<Comment>,
    /// Who wrote the comment; `null` where it is not shown, and of a decision.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub actor: Option<MemberRef>,
    /// When it happened, in Unix milliseconds.
    pub created_at: u64,
    /// Whether they have read it.
    pub read: bool,
}

/// A page of what a member is notified of, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotificationPage {
    /// What they are notified of.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<Notification>,
    /// Its place in the list.
    pub page: ListPageInfo,
    /// How many of all that are kept they have not read.
    pub unread: u64,
}
