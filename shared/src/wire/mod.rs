//! The types of the HTTP contract, version 1. Nothing else in the workspace describes its JSON.

mod change_feed;
mod live_events;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::{CommentId, MemberId, SubjectKey};
use crate::path::Mode;
use crate::rank::Sort;

pub use change_feed::{ChangeFeedPage, ChangedComment};
pub use live_events::{CommentLocation, LiveEvent, LiveEventKind, LiveEventPage, RemovedComment};

/// `application/problem+json` (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A URI reference that identifies the kind of problem.
    pub r#type: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, for a person.
    pub detail: String,
    /// What went wrong, for a program: stable, never translated.
    pub code: Cow<'static, str>,
    /// The request's id, as in `X-Request-Id`.
    pub trace_id: String,
    /// Each wrong field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// A wrong field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// Its name: a JSON field, a query parameter, a path segment or a header.
    pub field: Cow<'static, str>,
    /// What it must be.
    pub detail: Cow<'static, str>,
}

impl FieldError {
    /// The error of `field`.
    pub fn new(field: impl Into<Cow<'static, str>>, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }

    /// The categories of the blocked words in a text, separated by commas. The words themselves
    /// are never named.
    #[must_use]
    pub fn blocked_words(categories: &[String]) -> Self {
        Self::new("content", categories.join(", "))
    }
}

/// The codes of the contract with their statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum Code {
    InvalidRequest,
    BadCursor,
    TokenMissing,
    TokenInvalid,
    Forbidden,
    Muted,
    LevelTooLow,
    GuestsNotAllowed,
    UnknownSubjectType,
    CommentNotFound,
    ParentNotFound,
    NotFound,
    MethodNotAllowed,
    SubjectClosed,
    EditWindowOver,
    CursorExpired,
    BodyTooLarge,
    UnsupportedMediaType,
    ContentRejected,
    IdempotencyMismatch,
    RateLimited,
    Internal,
    Unavailable,
    Overloaded,
    OriginUnreachable,
}

impl Code {
    /// Code, status, and the status in words.
    #[must_use]
    pub const fn parts(self) -> (&'static str, u16, &'static str) {
        const BAD_REQUEST: &str = "Bad Request";
        const SERVICE_UNAVAILABLE: &str = "Service Unavailable";
        match self {
            Self::InvalidRequest => ("invalid_request", 400, BAD_REQUEST),
            Self::BadCursor => ("bad_cursor", 400, BAD_REQUEST),
            Self::TokenMissing => ("token_missing", 401, "Unauthorized"),
            Self::TokenInvalid => ("token_invalid", 401, "Unauthorized"),
            Self::Forbidden => ("forbidden", 403, "Forbidden"),
            Self::Muted => ("muted", 403, "Forbidden"),
            Self::LevelTooLow => ("level_too_low", 403, "Forbidden"),
            Self::GuestsNotAllowed => ("guests_not_allowed", 403, "Forbidden"),
            Self::UnknownSubjectType => ("unknown_subject_type", 404, "Not Found"),
            Self::CommentNotFound => ("comment_not_found", 404, "Not Found"),
            Self::ParentNotFound => ("parent_not_found", 404, "Not Found"),
            Self::NotFound => ("not_found", 404, "Not Found"),
            Self::MethodNotAllowed => ("method_not_allowed", 405, "Method Not Allowed"),
            Self::SubjectClosed => ("subject_closed", 409, "Conflict"),
            Self::EditWindowOver => ("edit_window_over", 409, "Conflict"),
            Self::CursorExpired => ("cursor_expired", 410, "Gone"),
            Self::BodyTooLarge => ("body_too_large", 413, "Content Too Large"),
            Self::UnsupportedMediaType => ("unsupported_media_type", 415, "Unsupported Media Type"),
            Self::ContentRejected => ("content_rejected", 422, "Unprocessable Content"),
            Self::IdempotencyMismatch => ("idempotency_mismatch", 422, "Unprocessable Content"),
            Self::RateLimited => ("rate_limited", 429, "Too Many Requests"),
            Self::Internal => ("internal", 500, "Internal Server Error"),
            Self::Unavailable => ("unavailable", 503, SERVICE_UNAVAILABLE),
            Self::Overloaded => ("overloaded", 503, SERVICE_UNAVAILABLE),
            Self::OriginUnreachable => ("origin_unreachable", 503, SERVICE_UNAVAILABLE),
        }
    }
}

impl Problem {
    /// The problem of this code in the request `trace_id`.
    #[must_use]
    pub fn new(code: Code, detail: String, trace_id: String, errors: Vec<FieldError>) -> Self {
        let (code, status, title) = code.parts();
        let r#type = alloc::format!("/problems/{code}");
        Self { r#type, title: title.into(), status, detail, code: Cow::Borrowed(code), trace_id, errors }
    }
}

/// The subject a comment belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectRef {
    /// The configured type.
    pub r#type: String,
    /// The host's key.
    pub key: String,
}

impl From<&SubjectKey> for SubjectRef {
    fn from(key: &SubjectKey) -> Self {
        Self { r#type: key.kind().into(), key: key.key().into() }
    }
}

/// The author of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The member.
    pub id: MemberId,
    /// Name when the comment was written.
    pub name: String,
    /// Address of a picture.
    pub avatar: Option<String>,
    /// The host's level of the member.
    pub level: u8,
}

/// A member named by a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRef {
    /// The member.
    pub id: MemberId,
    /// The last name known, empty when none is.
    pub name: String,
}

/// The state of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum CommentState {
    Published,
    Review,
    Rejected,
    Hidden,
    Deleted,
}

/// The readers of a published comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum Visibility {
    #[default]
    Everyone,
    #[serde(rename = "self")]
    Author,
}

/// A mark on a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum CommentFlag {
    Pinned,
    OwnerPinned,
    Featured,
    Edited,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Its id.
    pub id: CommentId,
    /// The subject's version its row was read at; not part of the JSON.
    #[serde(skip)]
    pub version: u64,
    /// What it is about.
    pub subject: SubjectRef,
    /// Its author; `null` on a tombstone.
    pub author: Option<Author>,
    /// The comment it answers.
    pub parent_id: Option<CommentId>,
    /// The root of its thread; of a root, itself.
    pub root_id: CommentId,
    /// The member it answers; `null` when that comment is a tombstone.
    pub reply_to: Option<MemberRef>,
    /// The true chain from the root to the comment itself.
    pub path: Vec<CommentId>,
    /// How deep it is drawn, from 1.
    pub level: u8,
    /// Its number in its list, from 1; `null` until it is first published.
    pub floor: Option<u64>,
    /// The text as written; never HTML.
    pub content: String,
    /// The text as safe HTML.
    pub html: String,
    /// Members it mentions.
    pub mentions: Vec<MemberRef>,
    /// Pictures.
    pub media: Vec<Media>,
    /// Its state.
    pub state: CommentState,
    /// The readers who may see it.
    pub visibility: Visibility,
    /// Its marks.
    pub flags: Vec<CommentFlag>,
    /// Members who like it.
    pub likes: u64,
    /// Members who dislike it.
    pub dislikes: u64,
    /// Visible descendants.
    pub replies: u64,
    /// When it was written, in Unix milliseconds.
    pub created_at: u64,
    /// When it was last edited, in Unix milliseconds.
    pub edited_at: Option<u64>,
    /// On roots in lists: the first replies by heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_replies: Option<Vec<Comment>>,
    /// On roots in lists: visible replies beyond `top_replies`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_replies: Option<u64>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub url: String,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
}

/// Whether a subject takes comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum SubjectState {
    #[default]
    Open,
    Closed,
    Hidden,
}

/// What is commented on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its version when it was read; not part of the JSON.
    #[serde(skip)]
    pub version: u64,
    /// The configured type.
    pub r#type: String,
    /// The host's key.
    pub key: String,
    /// As the host registered it.
    pub title: Option<String>,
    /// As the host registered it.
    pub url: Option<String>,
    /// The member it belongs to.
    pub owner_id: Option<MemberId>,
    /// How its threads are built.
    pub mode: Mode,
    /// Whether it takes comments.
    pub state: SubjectState,
    /// Visible roots.
    pub roots: u64,
    /// Visible comments.
    pub comments: u64,
    /// Pinned comments, in the order to show them.
    pub pinned: Vec<Comment>,
}

/// The place of a page in its list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageInfo {
    /// The cursor of the next page.
    pub next: Option<String>,
    /// Whether one follows.
    pub has_more: bool,
    /// The order.
    pub sort: Sort,
    /// The subject's version on the first page.
    pub epoch: String,
}

/// A page of comments. Histories have no subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentPage {
    /// The comments.
    pub data: Vec<Comment>,
    /// Its place in the list.
    pub page: PageInfo,
    /// What the comments are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
}

/// A comment with what is drawn under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentTree {
    /// The comment.
    pub comment: Comment,
    /// What is drawn under it.
    pub children: Vec<CommentTree>,
    /// What is not in this answer.
    pub more: Option<TreeMore>,
}

/// What a tree leaves out below a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeMore {
    /// Visible comments left out.
    pub count: u64,
    /// For the tree call of the node.
    pub cursor: String,
}

/// The answer for a permalink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentContext {
    /// The chain above the comment, root first, without the comment.
    pub ancestors: Vec<Comment>,
    /// The comment.
    pub comment: Comment,
    /// Others that answer the same comment.
    pub siblings: Vec<Comment>,
    /// The subject's first page.
    pub root_page: CommentPage,
}

/// The envelope of most answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataEnvelope<T> {
    /// The answer itself.
    pub data: T,
}

/// A subject's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SubjectCounts {
    /// Visible roots.
    pub roots: u64,
    /// Visible comments.
    pub comments: u64,
}

/// Counts by `type/key`.
pub type CountsBySubject = BTreeMap<String, SubjectCounts>;

/// A member's reaction to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum Reaction {
    Like,
    Dislike,
}

/// The answer to a reaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactionResult {
    /// The comment.
    pub id: CommentId,
    /// Members who like it now.
    pub likes: u64,
    /// Members who dislike it now.
    pub dislikes: u64,
    /// This member's reaction after the call.
    pub reaction: Option<Reaction>,
}

/// What one reader sees and may do on one comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlayEntry {
    /// The reader's reaction.
    pub reaction: Option<Reaction>,
    /// Whether the reader may edit it now.
    pub can_edit: bool,
    /// Whether the reader may delete it.
    pub can_delete: bool,
}

/// The reader's own layer over shared pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// By comment id.
    pub data: BTreeMap<CommentId, OverlayEntry>,
    /// The reader's own comments that are not in the lists.
    pub pending: Vec<Comment>,
}

/// The answer to a new guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCreated {
    /// The bearer token.
    pub token: String,
    /// The new guest.
    pub member: MemberRef,
}
