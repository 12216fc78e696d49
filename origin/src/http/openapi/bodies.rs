//! Descriptions of bodies that have no type of their own: those of requests are parsed field by field,
//! so that a refusal names every wrong field, and some answers are narrower than their type.

use std::collections::HashMap;

use gailou_shared::id::{CommentId, EventId, MemberId};
use gailou_shared::token::Role;
use gailou_shared::wire::{
    Comment, NotificationKind, NotifyChoice, PageInfo, Reaction, RefusedText, ReportReason, WebhookEvent,
    WebhookTemplate,
};
use gailou_shared::word_filter::Term;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, Ref, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::domain::review::ModeratorAction;

/// The new text of a comment.
#[derive(ToSchema)]
#[expect(dead_code, reason = "`content::parse_edit` reads it")]
pub(in crate::http) struct CommentEdit {
    /// The new text; the rules are those of a new comment.
    #[schema(min_length = 1, max_length = 5000)]
    content: String,
}

/// A text to preview.
#[derive(ToSchema)]
#[expect(dead_code, reason = "`content::parse_edit` reads it")]
pub(in crate::http) struct PreviewRequest {
    /// The text; the rules are those of a new comment.
    #[schema(min_length = 1, max_length = 5000)]
    content: String,
}

/// A guest to be.
#[derive(ToSchema)]
#[expect(dead_code, reason = "`content::parse_guest_name` reads it")]
pub(in crate::http) struct NewGuest {
    /// 1 to 64 characters, not blank, without control characters; spaces around the name are removed.
    #[schema(min_length = 1, max_length = 64, nullable = false)]
    name: Option<String>,
}

/// A mail that signs in.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct MailedLinkRequest {
    /// The mailbox.
    #[schema(format = Email, max_length = 254)]
    email: String,
    /// The origin of the page that gets the token.
    site: String,
    /// The page itself: the browser goes there when the link is opened, with
    /// `#gailou-code=…&gailou-state=…` in the address.
    #[schema(nullable = true, max_length = 2048)]
    page: Option<String>,
    /// What the page knows its request by.
    #[schema(nullable = true, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    state: Option<String>,
}

/// What a page exchanges for a session of its own.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct SignInCode {
    /// The code of the window, or of the address.
    code: String,
}

/// The refresh token of an app; browsers have a cookie.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct RefreshRequest {
    /// The token that was answered last.
    #[schema(nullable = true)]
    refresh_token: Option<String>,
}

/// A passkey to add.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct NewPasskey {
    /// That of the options.
    challenge: String,
    /// What its owner calls it.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// The answer of `navigator.credentials.create`, as its `toJSON()` writes it.
    #[schema(value_type = Object)]
    credential: (),
}

/// The answer of a passkey.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct PasskeyAnswer {
    /// That of the options.
    challenge: String,
    /// The answer of `navigator.credentials.get`, as its `toJSON()` writes it.
    #[schema(value_type = Object)]
    credential: (),
}

/// Another name of a passkey.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct PasskeyName {
    /// What its owner calls it.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
}

/// What a member changes of themselves.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct ProfileChanges {
    /// The new name, of an account of this installation; the rules are those of a new guest.
    #[schema(min_length = 1, max_length = 64, nullable = false)]
    name: Option<String>,
    /// The address of a picture, of an account of this installation; null for none.
    #[schema(max_length = 512)]
    avatar: Option<String>,
    /// How often mails come about replies, mentions and decisions.
    #[schema(nullable = false)]
    notify: Option<NotifyChoice>,
    /// A language tag, such as `zh-CN`; null for no choice.
    #[schema(max_length = 35)]
    language: Option<String>,
}

/// The new name of a guest.
#[derive(ToSchema)]
#[expect(dead_code, reason = "`content::parse_guest_name` reads it")]
pub(in crate::http) struct GuestChanges {
    /// The new name; the rules are those of a new guest.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
}

/// The guest that the reader was.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct GuestMerge {
    /// The token of the guest.
    guest_token: String,
}

/// What a moderator decides.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct CommentDecision {
    /// What happens to the comment.
    action: ModeratorAction,
    /// The reason, for the audit log; no control characters.
    #[schema(max_length = 1000)]
    reason: Option<String>,
    /// `version` of the entry of the queue that the moderator has seen: where the comment is another by now, nothing happens
    /// (409).
    seen: Option<String>,
}

/// What a moderator decides about several comments.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct BulkDecision {
    /// The comments.
    #[schema(min_items = 1, max_items = 100)]
    ids: Vec<CommentId>,
    /// What happens to each.
    action: ModeratorAction,
    /// The reason, for the audit log; no control characters.
    #[schema(max_length = 1000)]
    reason: Option<String>,
    /// The versions that the moderator has seen, by the ids of the comments; of one without it nothing is compared.
    seen: Option<HashMap<CommentId, String>>,
}

/// The comments that a moderator takes.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct QueueLease {
    /// The comments.
    #[schema(min_items = 1, max_items = 100)]
    ids: Vec<CommentId>,
}

/// All terms of the word filter.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct TermsReplacement {
    /// The terms, in place of all that are there.
    data: Vec<Term>,
}

/// Terms to add and to remove.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct TermsChange {
    /// Terms to add, in place of those with the same text.
    #[schema(nullable = false)]
    add: Option<Vec<Term>>,
    /// The texts of terms to remove; one that is not there is no error.
    #[schema(nullable = false)]
    remove: Option<Vec<String>>,
}

/// Settings to change.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct SettingsPatch {
    /// Sites that may write, unless the subject type says otherwise.
    #[schema(nullable = true)]
    sites: Option<Vec<String>>,
    /// `names.*`, as the configuration has them.
    names: Option<serde_json::Map<String, serde_json::Value>>,
    /// `rules.*`
    rules: Option<serde_json::Map<String, serde_json::Value>>,
    /// `degrade.*`
    degrade: Option<serde_json::Map<String, serde_json::Value>>,
    /// `limits.*`
    limits: Option<serde_json::Map<String, serde_json::Value>>,
    /// `tokens.*`
    tokens: Option<serde_json::Map<String, serde_json::Value>>,
}

/// A webhook to be.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct WebhookRequest {
    /// The address.
    #[schema(max_length = 2000)]
    url: String,
    /// What is sent to it.
    #[schema(min_items = 1)]
    events: Vec<WebhookEvent>,
    /// A chat service whose own form is sent. The address of a Telegram bot ends with `?chat_id=`.
    template: Option<WebhookTemplate>,
}

/// A term to try.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct TermTest {
    /// The text of the term.
    #[schema(min_length = 1)]
    term: String,
}

/// A reader's report.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct ReportRequest {
    /// Why.
    reason: ReportReason,
    /// What a moderator should know; no control characters.
    #[schema(max_length = 1000)]
    note: Option<String>,
}

/// A report in an export.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed as JSON")]
pub(in crate::http) struct MemberReport {
    /// The comment.
    comment_id: CommentId,
    /// Why it was reported.
    reason: ReportReason,
    /// What the member wrote.
    #[schema(required)]
    note: Option<String>,
    /// When, in Unix milliseconds.
    at: u64,
}

impl PartialSchema for ModeratorAction {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(Self::names())).into()
    }
}

impl ToSchema for ModeratorAction {}

/// What moderators say of a member. A field that is left out stays as it is; `null` takes it back.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct MemberChanges {
    /// The level that counts instead of the token's.
    level: Option<u8>,
    /// The role that counts instead of the token's; only admins change it.
    role: Option<Role>,
    /// Until when the member may not write, in Unix milliseconds.
    #[schema(maximum = 253402300799999_u64)]
    muted_until: Option<u64>,
    /// The member's friends.
    #[schema(max_items = 1000)]
    friends: Option<Vec<MemberId>>,
    /// What moderators should know; no control characters but line feeds.
    #[schema(max_length = 1000)]
    note: Option<String>,
    /// Tokens that were issued before are refused, and those that do not say when; in Unix milliseconds, not later than
    /// now.
    tokens_not_before: Option<u64>,
}

/// Everything that is stored of a member.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed part by part")]
pub(in crate::http) struct MemberData {
    /// The member, as the token says.
    member: ExportedMember,
    /// Their comments in every state, oldest first.
    comments: Vec<MemberComment>,
    /// Their reactions.
    reactions: Vec<MemberReaction>,
    /// Their reports.
    reports: Vec<MemberReport>,
    /// Their texts that the word filter refused, for as long as they are kept.
    rejected: Vec<RefusedText>,
    /// What they are notified of, newest first.
    notifications: Vec<MemberNotification>,
    /// What they watch, the latest first.
    watches: Vec<MemberWatch>,
}

/// The member of an export.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed as JSON")]
pub(in crate::http) struct ExportedMember {
    /// Their id.
    id: MemberId,
    /// Their name.
    name: String,
    /// The address of their picture.
    avatar: Option<String>,
    /// The host's level of them.
    level: u8,
    /// `member`, `moderator` or `admin`.
    role: String,
    /// Whether they have no account.
    guest: bool,
    /// Until when they may not write, in Unix milliseconds.
    muted_until: Option<u64>,
    /// Their friends.
    friends: Vec<MemberId>,
    /// Where they are mailed.
    email: Option<String>,
    /// How often.
    notify: NotifyChoice,
    /// The language that they have chosen, as a language tag.
    language: Option<String>,
    /// Since when they have an account of this installation, in Unix milliseconds.
    account_since: Option<u64>,
}

/// A comment of an export, with the texts that readers do not see.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed as JSON")]
pub(in crate::http) struct MemberComment {
    #[schema(inline = false)]
    #[serde(flatten)]
    comment: Comment,
    /// The text as it was typed, where the word filter masked part of it.
    written: Option<String>,
    /// Earlier texts, the first one first.
    history: Vec<ReplacedText>,
}

/// A text that an edit replaced.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed as JSON")]
pub(in crate::http) struct ReplacedText {
    /// The text.
    content: String,
    /// When it was replaced, Unix milliseconds.
    replaced_at: u64,
}

/// A reaction of an export.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed as JSON")]
pub(in crate::http) struct MemberReaction {
    /// The comment.
    comment_id: CommentId,
    /// The reaction.
    reaction: Reaction,
}

/// A notification of an export.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed as JSON")]
pub(in crate::http) struct MemberNotification {
    /// Its id.
    id: EventId,
    /// Why they were notified.
    kind: NotificationKind,
    /// What was decided; of a decision alone.
    action: Option<String>,
    /// The comment.
    comment_id: CommentId,
    /// When it happened, in Unix milliseconds.
    created_at: u64,
    /// Whether they have read it.
    read: bool,
}

/// A watched subject of an export.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is streamed as JSON")]
pub(in crate::http) struct MemberWatch {
    /// `type/key`.
    subject: String,
    /// Since when they watch it, in Unix milliseconds.
    created_at: u64,
}

/// Up to where a member has read.
#[derive(ToSchema)]
#[expect(dead_code, reason = "`notifications::parse_up_to` reads it")]
pub(in crate::http) struct ReadMark {
    /// The newest notification that they have read: it and all older ones are marked.
    up_to: EventId,
}

/// A page of comments on various subjects.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is sent as a `CommentPage` without a subject")]
pub(in crate::http) struct HistoryPage {
    /// The comments.
    #[schema(max_items = 100)]
    data: Vec<Comment>,
    /// The page's place in the list.
    page: PageInfo,
}

/// A comment in review.
pub(in crate::http) struct HeldComment;

impl PartialSchema for HeldComment {
    fn schema() -> RefOr<Schema> {
        let review = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["review"]));
        let in_review = ObjectBuilder::new().property("state", review);
        AllOfBuilder::new().item(Ref::from_schema_name(Comment::name())).item(in_review).into()
    }
}

impl ToSchema for HeldComment {}

/// A picture to upload.
#[derive(ToSchema)]
#[expect(dead_code, reason = "`extract::PictureUpload` reads it")]
pub(in crate::http) struct UploadForm {
    /// A JPEG, PNG, GIF or WebP of at most 5 MiB and 24 million pixels.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    file: Vec<u8>,
    /// What it shows, for who does not see it.
    #[schema(max_length = 500, nullable = false)]
    alt: Option<String>,
}

/// The bytes of a picture.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it is sent as a stream")]
pub(in crate::http) struct PictureFile(Vec<u8>);

/// The OpenAPI document.
pub(in crate::http) struct OpenApiDocument;

impl PartialSchema for OpenApiDocument {
    fn schema() -> RefOr<Schema> {
        ["openapi", "info", "paths"].into_iter().fold(ObjectBuilder::new(), ObjectBuilder::required).into()
    }
}

impl ToSchema for OpenApiDocument {}
