//! The types of the HTTP contract, version 1. Nothing else in the workspace describes its JSON.

mod challenge;
mod change_feed;
pub mod compact;
mod live_events;
mod members;
mod moderated_subjects;
mod moderation;
mod notifications;
#[cfg(feature = "openapi")]
pub mod openapi;
mod problem;
mod quoted_floor;
mod sign_in;
mod watches;
mod webhooks;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::{AuditId, CommentId, MediaId, MemberId, MemberKind, SubjectKey};
use crate::path::Mode;
use crate::rank::Sort;
use crate::token::Role;

pub use challenge::{AltchaChallenge, Challenge, TurnstileChallenge};
pub use change_feed::{ChangeFeedPage, ChangedComment, SlotsAhead, VoidSubject};
pub use live_events::{CommentLocation, LiveEvent, LiveEventKind, LiveEventPage, RemovedComment};
pub use members::{MemberAccount, MemberCounts, ModeratedMember, ModeratedMemberPage, NotifyChoice};
pub use moderated_subjects::{ModeratedSubject, ModeratedSubjectPage};
pub use moderation::{
    ActivityPoint, ActivitySeries, AdminSettings, AuditPage, AuditRecord, AuditTarget, AuditTargetKind,
    DecisionOutcome, DecisionOutcomes, DictionaryPage, DictionaryVersion, FormerText, FormerTextPage, LeasedComments,
    ListPageInfo, NetworkBlock, QueueEntry, QueuePage, RefusedText, RefusedTextKind, RefusedTextPage, Report,
    ReportPage, ReportReason, ReviewKind, ReviewReason, ReviewReasonKind, TermMatch, TermMatches,
};
pub use notifications::{Notification, NotificationKind, NotificationPage};
pub use problem::{Code, FieldError, Problem};
pub use quoted_floor::QuotedFloor;
pub use sign_in::{
    AccessToken, OwnProfile, Passkey, PasskeyChallenge, PasskeyList, ProviderKind, SignInProvider, SignInProviders,
};
pub use watches::{WatchPage, WatchState, WatchedThread};
pub use webhooks::{
    Webhook, WebhookDelivery, WebhookDeliveryPage, WebhookDeliveryStatus, WebhookEvent, WebhookList, WebhookMessage,
    WebhookMessageData, WebhookTemplate,
};

/// The subject a comment belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubjectRef {
    /// The configured type.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::SubjectTypeName))]
    pub r#type: String,
    /// The host's key.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::SubjectKeyText))]
    pub key: String,
    /// In lists of the newest comments and in what webhooks receive: its title, as the host registered it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<String>>,
    /// In lists of the newest comments and in what webhooks receive: its address, as the host registered it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Option<String>>,
}

impl From<&SubjectKey> for SubjectRef {
    fn from(key: &SubjectKey) -> Self {
        Self { r#type: key.kind().into(), key: key.key().into(), title: None, url: None }
    }
}

/// The author of a comment, as they were when they wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Author {
    /// The member.
    pub id: MemberId,
    /// Name when the comment was written.
    pub name: String,
    /// Address of a picture.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub avatar: Option<String>,
    /// The host's level of the member; 0 when the host gives none.
    #[cfg_attr(feature = "openapi", schema(maximum = 255))]
    pub level: u8,
    /// Whether the author has no account: the name is the guest's own choice.
    #[cfg_attr(feature = "openapi", schema(required))]
    #[serde(default)]
    pub guest: bool,
    /// The role when the comment was written; `null` for members and guests.
    #[cfg_attr(feature = "openapi", schema(required))]
    #[serde(default)]
    pub role: Option<StaffRole>,
}

impl Author {
    /// The author with this id, which says whether it is a guest.
    #[must_use]
    pub fn new(id: MemberId, name: String, avatar: Option<String>, level: u8, role: Option<StaffRole>) -> Self {
        Self { id, name, avatar, level, guest: id.kind() == MemberKind::Guest, role }
    }
}

/// A role that may moderate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum StaffRole {
    Moderator,
    Admin,
}

impl StaffRole {
    /// The role of staff; `None` for members.
    #[must_use]
    pub const fn of(role: Role) -> Option<Self> {
        match role {
            Role::Member => None,
            Role::Moderator => Some(Self::Moderator),
            Role::Admin => Some(Self::Admin),
        }
    }
}

/// A member, with the last name that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberRef {
    /// The member.
    pub id: MemberId,
    /// The name; empty when none is known.
    pub name: String,
}

/// The state of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum CommentFlag {
    Pinned,
    OwnerPinned,
    Featured,
    Edited,
}

/// A comment. A deleted one that has visible replies stays in lists as a tombstone: `author` is `null`, and
/// `content`, `html`, `mentions` and `media` are empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comment {
    /// Its id.
    pub id: CommentId,
    /// The subject's version its row was read at; not part of the JSON.
    #[serde(skip)]
    pub version: u64,
    /// Whether its subject is in mode `building`; not part of the JSON.
    #[serde(skip)]
    pub is_in_building: bool,
    /// What it is about.
    pub subject: SubjectRef,
    /// Its author; `null` on a tombstone.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub author: Option<Author>,
    /// The comment it answers.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub parent_id: Option<CommentId>,
    /// The root of its thread; of a root, itself.
    pub root_id: CommentId,
    /// The member it answers; `null` when that comment is a tombstone.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reply_to: Option<MemberRef>,
    /// The true chain from the root to the comment itself.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 128))]
    pub path: Vec<CommentId>,
    /// How deep it is drawn; the mode sets the limit.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 128))]
    pub level: u8,
    /// Its number among the roots of its subject, or among the replies of its root. `null` until it is first
    /// published; afterwards it never changes.
    #[cfg_attr(feature = "openapi", schema(required, minimum = 1))]
    pub floor: Option<u64>,
    /// The text as written; never HTML.
    pub content: String,
    /// The text as safe HTML.
    pub html: String,
    /// Members it mentions.
    #[cfg_attr(feature = "openapi", schema(max_items = 20))]
    pub mentions: Vec<MemberRef>,
    /// Its pictures; none on a tombstone.
    #[cfg_attr(feature = "openapi", schema(max_items = 4))]
    pub media: Vec<Media>,
    /// Its state.
    pub state: CommentState,
    /// The readers who may see it.
    pub visibility: Visibility,
    /// Its marks.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeSet<CommentFlag>))]
    pub flags: Vec<CommentFlag>,
    /// Members who like it.
    pub likes: u64,
    /// Members who dislike it.
    pub dislikes: u64,
    /// Visible descendants.
    pub replies: u64,
    /// When it was written, in Unix milliseconds.
    pub created_at: u64,
    /// When it was last edited, in Unix milliseconds; `null` when it never was.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub edited_at: Option<u64>,
    /// On roots in lists: the first replies in `hot` order.
    #[cfg_attr(feature = "openapi", schema(nullable = false, no_recursion, max_items = 3))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_replies: Option<Vec<Comment>>,
    /// On roots in lists: visible replies beyond `top_replies`.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_replies: Option<u64>,
    /// After a decision about it: the entry of the audit log, by which it is undone.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_id: Option<AuditId>,
    /// In the answer of a search: a part of the text as HTML, escaped, with what was found in `<mark>`.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<String>,
}

/// A picture of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Media {
    /// Its id.
    pub id: MediaId,
    /// Its address, relative to that of the API.
    pub url: String,
    /// Its width in pixels.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 2048))]
    pub width: u32,
    /// Its height in pixels.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 2048))]
    pub height: u32,
    /// What it shows, for who does not see it; may be empty.
    #[cfg_attr(feature = "openapi", schema(max_length = 500))]
    pub alt: String,
}

/// Whether a subject takes comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum SubjectState {
    #[default]
    Open,
    Closed,
    Hidden,
}

/// What is commented on. A subject without comments is answered as an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Subject {
    /// Its version when it was read; not part of the JSON.
    #[serde(skip)]
    pub version: u64,
    /// The configured type.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::SubjectTypeName))]
    pub r#type: String,
    /// The host's key.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::SubjectKeyText))]
    pub key: String,
    /// Its title, as the host registered it.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub title: Option<String>,
    /// Its address, as the host registered it.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub url: Option<String>,
    /// The member it belongs to.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub owner_id: Option<MemberId>,
    /// How its threads are built.
    pub mode: Mode,
    /// Whether it takes comments.
    pub state: SubjectState,
    /// Visible roots.
    pub roots: u64,
    /// Visible comments.
    pub comments: u64,
    /// Pinned comments, in the order to show them. They keep their place in the lists as well.
    #[cfg_attr(feature = "openapi", schema(max_items = 10))]
    pub pinned: Vec<Comment>,
    /// Whether readers may see the earlier texts of edited comments; left out where they may not.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub earlier_texts: bool,
}

/// The place of a page in its list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PageInfo {
    /// The cursor of the next page; opaque.
    #[cfg_attr(feature = "openapi", schema(required, max_length = 256))]
    pub next: Option<String>,
    /// Whether another page follows. One may follow even a page with fewer comments than `limit`, or none.
    pub has_more: bool,
    /// The order of the list.
    pub sort: Sort,
    /// The state of the list that the walk shows: the subject's version on the first page.
    pub epoch: String,
}

/// A page of comments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommentPage {
    /// The comments.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<Comment>,
    /// Its place in the list.
    pub page: PageInfo,
    /// What the comments are about. A member's history has no subject.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Subject))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// In lists of a subject in mode `building`: of the chain below each shown comment the first two and the last
    /// three that are not on the page themselves. Where they need more than a page holds, some are missing.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floors: Option<BTreeMap<CommentId, QuotedFloor>>,
}

/// A comment with what is drawn under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommentTree {
    /// The comment.
    pub comment: Comment,
    /// What is drawn under it.
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub children: Vec<CommentTree>,
    /// What this answer leaves out below the comment.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub more: Option<TreeMore>,
}

/// What a tree leaves out below a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TreeMore {
    /// Visible comments left out.
    pub count: u64,
    /// For the tree call of that comment.
    #[cfg_attr(feature = "openapi", schema(max_length = 256))]
    pub cursor: String,
}

/// What a permalink needs: a comment with what surrounds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommentContext {
    /// The chain above the comment, root first, without the comment.
    #[cfg_attr(feature = "openapi", schema(max_items = 127))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DataEnvelope<T> {
    /// The answer itself.
    pub data: T,
}

/// A subject's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum Reaction {
    Like,
    Dislike,
}

/// A comment's counts after a reaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReactionResult {
    /// The comment.
    pub id: CommentId,
    /// Members who like it now.
    pub likes: u64,
    /// Members who dislike it now.
    pub dislikes: u64,
    /// This member's reaction after the call.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reaction: Option<Reaction>,
}

/// What one reader sees and may do on one comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OverlayEntry {
    /// The reader's reaction.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reaction: Option<Reaction>,
    /// Whether the reader may edit it now.
    pub can_edit: bool,
    /// Whether the reader may delete it.
    pub can_delete: bool,
    /// How many passages of the reader's own text the word filter has masked; absent where it has masked none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub masked: Option<u32>,
}

/// The reader's own layer over the pages that all readers share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Overlay {
    /// By comment id. Unknown ids are left out.
    pub data: BTreeMap<CommentId, OverlayEntry>,
    /// The reader's own comments that are not in the lists: held for a moderator, visible to the reader alone, or
    /// not yet in the lists.
    #[cfg_attr(feature = "openapi", schema(max_items = 50))]
    pub pending: Vec<Comment>,
}

/// A new guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GuestCreated {
    /// The bearer token to write with.
    #[cfg_attr(feature = "openapi", schema(max_length = 4096))]
    pub token: String,
    /// The new guest.
    pub member: MemberRef,
}
