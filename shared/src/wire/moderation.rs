//! What moderators read and decide.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::{AuditId, CommentId, MemberId, RefusedTextId};
use crate::wire::{Author, Comment, MemberRef, SubjectRef, Visibility};
use crate::word_filter::Term;

/// The part of the review queue that a comment is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReviewKind {
    /// It awaits a first decision, or an edit of it does.
    Held,
    /// Readers have reported it.
    Reported,
}

/// What put a comment into the review queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReviewReasonKind {
    /// A word of the filter; `detail` is its category.
    Word,
    /// A report by a reader; `detail` is the reason that the reader chose.
    Report,
    /// A rule of the installation; `detail` is its name.
    Rule,
    /// The external classifier; `detail` is its verdict.
    Classifier,
}

/// Why a comment is in the review queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReviewReason {
    /// What put it there.
    pub kind: ReviewReasonKind,
    /// See [`ReviewReasonKind`].
    pub detail: String,
    /// How often: the number of reports, and 1 for everything else.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub count: u64,
}

/// A comment in the review queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueEntry {
    /// The comment; where an edit of it waits, with the new text and `state` `review`.
    pub comment: Comment,
    /// The text as it was typed.
    pub written: String,
    /// The text that readers see while the edit waits; `null` where no edit waits.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub published: Option<String>,
    /// Why it is here: one reason for each kind and detail.
    #[cfg_attr(feature = "openapi", schema(max_items = 20))]
    pub why: Vec<ReviewReason>,
    /// Up to two comments above it, the higher one first.
    #[cfg_attr(feature = "openapi", schema(max_items = 2))]
    pub context: Vec<Comment>,
    /// What is shown of it; opaque. A decision that sends it back as `seen` is refused where the comment is another by then.
    pub version: String,
    /// Since when it is here, in Unix milliseconds.
    pub waiting_since: u64,
    /// The moderator who has it; `null` when none has.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub leased_by: Option<MemberRef>,
}

/// The place of a page in a list of the moderators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListPageInfo {
    /// The cursor of the next page; opaque.
    #[cfg_attr(feature = "openapi", schema(required, max_length = 256))]
    pub next: Option<String>,
    /// Whether another page follows.
    pub has_more: bool,
}

/// A page of the review queue, most urgent first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueuePage {
    /// The comments.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<QueueEntry>,
    /// Its place in the queue.
    pub page: ListPageInfo,
    /// How many comments wait in this part of the queue.
    pub count: u64,
}

/// The comments that a moderator has been given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeasedComments {
    /// Those of the request that are in the queue and that no other moderator has.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub leased: Vec<CommentId>,
}

/// What became of one of several decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionOutcome {
    /// The comment.
    pub id: CommentId,
    /// The status that the decision alone would have been answered with.
    #[cfg_attr(feature = "openapi", schema(minimum = 200, maximum = 599))]
    pub status: u16,
    /// The row of the audit log, where it was carried out.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_id: Option<AuditId>,
    /// The code of the error, where it was not.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum RefusedTextKind {
    /// A new comment.
    Post,
    /// An edit of a comment.
    Edit,
}

/// A text that the word filter refused, kept for moderators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedText {
    /// Its id.
    pub id: RefusedTextId,
    /// When it was refused, in Unix milliseconds.
    pub at: u64,
    /// What it was to be.
    pub kind: RefusedTextKind,
    /// The subject.
    pub subject: SubjectRef,
    /// The comment that a new comment answers.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub parent_id: Option<CommentId>,
    /// The comment that an edit is of.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub comment_id: Option<CommentId>,
    /// Its author.
    pub author: Author,
    /// The text as it was typed.
    pub content: String,
    /// Why it was refused: the categories of the words.
    pub why: Vec<ReviewReason>,
    /// Members that a new comment mentions.
    #[cfg_attr(feature = "openapi", schema(max_items = 20))]
    pub mentions: Vec<MemberId>,
    /// Who may see a new comment.
    pub visibility: Visibility,
}

/// A page of the refused texts, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedTextPage {
    /// The texts.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<RefusedText>,
    /// Its place in the list.
    pub page: ListPageInfo,
}

/// Why a reader reports a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum ReportReason {
    Spam,
    Abuse,
    Illegal,
    Other,
}

/// A report of a reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Report {
    /// Who reported.
    pub member: MemberRef,
    /// Why.
    pub reason: ReportReason,
    /// What the reader wrote.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub note: Option<String>,
    /// When, in Unix milliseconds.
    pub at: u64,
}

/// An earlier text of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FormerText {
    /// The text.
    pub content: String,
    /// When it was replaced, in Unix milliseconds.
    pub replaced_at: u64,
}

/// What an entry of the audit log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum AuditTargetKind {
    Comment,
    Member,
    Subject,
    Words,
    Settings,
    Webhook,
    Import,
}

/// What an entry of the audit log is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditTarget {
    /// What it is.
    pub kind: AuditTargetKind,
    /// Its id; `TYPE/KEY` of a subject, and empty where there is only one.
    pub id: String,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditRecord {
    /// Its id.
    pub id: AuditId,
    /// When, in Unix milliseconds.
    pub at: u64,
    /// Who did it.
    pub actor: MemberRef,
    /// What was done.
    pub action: String,
    /// What it was done to.
    pub target: AuditTarget,
    /// Why, in the moderator's words.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reason: Option<String>,
    /// What was changed, as it was before.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<Object>))]
    pub before: Option<serde_json::Value>,
    /// The same after it.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<Object>))]
    pub after: Option<serde_json::Value>,
}

/// A page of the audit log, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// The entries.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<AuditRecord>,
    /// Its place in the log.
    pub page: ListPageInfo,
}

/// The earlier texts of a comment, the first one first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FormerTextPage {
    /// The texts.
    pub data: Vec<FormerText>,
    /// All are on one page.
    pub page: ListPageInfo,
}

/// The reports of a comment, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReportPage {
    /// The reports.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<Report>,
    /// All that are answered are on one page.
    pub page: ListPageInfo,
}

/// A network that is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NetworkBlock {
    /// When the block ends, in Unix milliseconds.
    pub until: u64,
}

/// What became of several decisions, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionOutcomes {
    /// One outcome for each comment.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<DecisionOutcome>,
}

/// Terms of the word filter, in the order of their texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DictionaryPage {
    /// The version of the dictionary; 0 before the first one.
    pub version: u64,
    /// The terms.
    pub data: Vec<Term>,
    /// Their place in the dictionary.
    pub page: ListPageInfo,
}

/// The dictionary after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DictionaryVersion {
    /// Its version.
    pub version: u64,
    /// How many terms it has.
    pub count: u64,
}

/// The settings that admins change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AdminSettings {
    /// Grows by one with each change; 0 before the first.
    pub version: u64,
    /// What is in force, by section.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub settings: serde_json::Value,
    /// Dotted names of those that the configuration of the server fixes.
    pub fixed: Vec<String>,
}

/// A comment with a term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TermMatch {
    /// The comment.
    pub id: CommentId,
    /// Its text.
    pub content: String,
}

/// Which of the newest comments a term is found in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TermMatches {
    /// The newest of them.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<TermMatch>,
    /// How many they are.
    #[cfg_attr(feature = "openapi", schema(maximum = 1000))]
    pub count: u64,
}

/// What happened in one minute, hour or day. Each number counts acts, not what is left of them: a later deletion or
/// undo changes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActivityPoint {
    /// When it begins, in Unix milliseconds, in UTC.
    pub at: u64,
    /// Comments that were taken: answered `201`, or `202` because they are held. A repeated request counts once; what
    /// the word filter blocks and what is imported does not count.
    pub posts: u64,
    /// Texts that were held for a moderator, of new comments (which are among the `posts`) and of edits; and comments
    /// that reports took out of the lists.
    pub held: u64,
    /// Decisions `reject` that were carried out. A text that the word filter blocks is stored nowhere and not counted.
    pub rejected: u64,
    /// Reports by readers, the first of each reader on a comment.
    pub reports: u64,
    /// Likes and dislikes that were given, changed or taken back.
    pub reactions: u64,
}

impl ActivityPoint {
    /// Adds the numbers of another to these.
    pub fn add(&mut self, other: &Self) {
        self.posts += other.posts;
        self.held += other.held;
        self.rejected += other.rejected;
        self.reports += other.reports;
        self.reactions += other.reactions;
    }
}

/// What happened, step by step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActivitySeries {
    /// Each step of the time that was asked for, the oldest first; zeros where nothing happened.
    #[cfg_attr(feature = "openapi", schema(max_items = 1500))]
    pub data: Vec<ActivityPoint>,
}
