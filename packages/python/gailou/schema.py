"""The shapes of the HTTP interface. Written by generate.py from the OpenAPI document; not by hand."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict, Union

from gailou._typing import NotRequired, TypeAlias


class AccessToken(TypedDict):
    """
    A token to write with, for some minutes.
    """

    expires_at: int
    """
    When it expires, in Unix milliseconds.
    """
    refresh_token: NotRequired[str]
    """
    What the next token is for; where the former one was in the body.
    """
    token: str
    """
    The token.
    """


class ActivityPoint(TypedDict):
    """
    What happened in one minute, hour or day. Each number counts acts, not what is left of them: a later deletion or
    undo changes none.
    """

    at: int
    """
    When it begins, in Unix milliseconds, in UTC.
    """
    held: int
    """
    Texts that were held for a moderator, of new comments (which are among the `posts`) and of edits; and comments
    that reports took out of the lists.
    """
    posts: int
    """
    Comments that were taken: answered `201`, or `202` because they are held. A repeated request counts once; what
    the word filter blocks and what is imported does not count.
    """
    reactions: int
    """
    Likes and dislikes that were given, changed or taken back.
    """
    rejected: int
    """
    Decisions `reject` that were carried out. A text that the word filter blocks is stored nowhere and not counted.
    """
    reports: int
    """
    Reports by readers, the first of each reader on a comment.
    """


class ActivitySeries(TypedDict):
    """
    What happened, step by step.
    """

    data: list[ActivityPoint]
    """
    Each step of the time that was asked for, the oldest first; zeros where nothing happened.
    """


class AdminSettings(TypedDict):
    """
    The settings that admins change.
    """

    fixed: list[str]
    """
    Dotted names of those that the configuration of the server fixes.
    """
    settings: dict[str, Any]
    """
    What is in force, by section.
    """
    version: int
    """
    Grows by one with each change; 0 before the first.
    """


class AltchaChallenge(TypedDict):
    """
    A proof of work by ALTCHA's scheme, version 1: the number from 0 to `maxnumber` is to be found whose decimal digits
    behind `salt` have the SHA-256 `challenge`. The answer is ALTCHA's payload: the JSON object of `algorithm`, `challenge`,
    `number`, `salt` and `signature` in base64.
    """

    algorithm: str
    """
    `SHA-256`.
    """
    challenge: str
    """
    64 hexadecimal digits.
    """
    maxnumber: int
    """
    The largest number that it can be.
    """
    salt: str
    """
    It says when the challenge expires (`expires`, in seconds since 1970) and for which guest it is (`guest`).
    """
    signature: str
    """
    64 hexadecimal digits, to be sent back as they are.
    """


AuditId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


AuditTargetKind: TypeAlias = Literal[
    "comment", "member", "subject", "words", "settings", "webhook", "import"
]
"""
What an entry of the audit log is about.
"""


ChangedCommentItem: TypeAlias = str


ChangedComment: TypeAlias = list[ChangedCommentItem]
"""
A comment's id, and the subject's version with its last change.
"""


Code: TypeAlias = Literal[
    "invalid_request",
    "bad_cursor",
    "token_missing",
    "token_invalid",
    "forbidden",
    "muted",
    "level_too_low",
    "guests_not_allowed",
    "site_not_allowed",
    "challenge_required",
    "unknown_subject_type",
    "comment_not_found",
    "parent_not_found",
    "not_found",
    "method_not_allowed",
    "subject_closed",
    "edit_window_over",
    "version_conflict",
    "cursor_expired",
    "body_too_large",
    "unsupported_media_type",
    "content_rejected",
    "idempotency_mismatch",
    "rate_limited",
    "internal",
    "unavailable",
    "overloaded",
    "origin_unreachable",
]
"""
The codes of the contract, each with its status.
"""


class CommentEdit(TypedDict):
    """
    The new text of a comment.
    """

    content: str
    """
    The new text; the rules are those of a new comment.
    """


CommentFlag: TypeAlias = Literal["pinned", "owner_pinned", "featured", "edited"]
"""
A mark on a comment.
"""


CommentId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


class CommentLocation(TypedDict):
    """
    A comment and its place in the thread.
    """

    id: CommentId
    """
    The comment.
    """
    parent_id: Optional[CommentId]
    root_id: CommentId
    """
    The root of its thread; for a root, its own id.
    """


CommentState: TypeAlias = Literal["published", "review", "rejected", "hidden", "deleted"]
"""
The state of a comment.
"""


class DecisionOutcome(TypedDict):
    """
    What became of one of several decisions.
    """

    audit_id: NotRequired[AuditId]
    """
    The row of the audit log, where it was carried out.
    """
    code: NotRequired[str]
    """
    The code of the error, where it was not.
    """
    id: CommentId
    """
    The comment.
    """
    status: int
    """
    The status that the decision alone would have been answered with.
    """


class DecisionOutcomes(TypedDict):
    """
    What became of several decisions, in their order.
    """

    data: list[DecisionOutcome]
    """
    One outcome for each comment.
    """


DependencyState: TypeAlias = Literal["ok", "failed"]
"""
Whether a dependency answers.
"""


class DictionaryVersion(TypedDict):
    """
    The dictionary after a change.
    """

    count: int
    """
    How many terms it has.
    """
    version: int
    """
    Its version.
    """


EventId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


class FieldError(TypedDict):
    """
    A wrong field.
    """

    detail: str
    """
    What it must be.
    """
    field: str
    """
    Its name: a JSON field, a query parameter, a path segment or a header; `body` for the body as a whole.
    """


class FormerText(TypedDict):
    """
    An earlier text of a comment.
    """

    content: str
    """
    The text.
    """
    replaced_at: int
    """
    When it was replaced, in Unix milliseconds.
    """


class GuestChanges(TypedDict):
    """
    The new name of a guest.
    """

    name: str
    """
    The new name; the rules are those of a new guest.
    """


class GuestMerge(TypedDict):
    """
    The guest that the reader was.
    """

    guest_token: str
    """
    The token of the guest.
    """


class ImportLineAnswer1(TypedDict):
    """
    A line that is not imported.
    """

    line: int
    """
    Its number, from 1.
    """
    reason: str


class ImportLineAnswer2(TypedDict):
    """
    A comment of an export that is not imported.
    """

    item: str
    """
    Which one.
    """
    reason: str


class ImportLineAnswer3(TypedDict):
    """
    How many comments of an export are left out, by reason.
    """

    left_out: dict[str, int]


class ImportLineAnswer4(TypedDict):
    """
    How many comments are written.
    """

    done: int
    total: int


class ImportLineAnswer5(TypedDict):
    """
    How many lines had which outcome; with `strict` and bad lines, none is imported.
    """

    bad: int
    imported: int
    reparented: int
    skipped: int


class ImportLineAnswer6(TypedDict):
    """
    The import ended early.
    """

    error: str


ImportLineAnswer: TypeAlias = Union[
    ImportLineAnswer1,
    ImportLineAnswer2,
    ImportLineAnswer3,
    ImportLineAnswer4,
    ImportLineAnswer5,
    ImportLineAnswer6,
]
"""
A line of the answer.
"""


class LeasedComments(TypedDict):
    """
    The comments that a moderator has been given.
    """

    leased: list[CommentId]
    """
    Those of the request that are in the queue and that no other moderator has.
    """


class ListPageInfo(TypedDict):
    """
    The place of a page in a list of the moderators.
    """

    has_more: bool
    """
    Whether another page follows.
    """
    next: Optional[str]
    """
    The cursor of the next page; opaque.
    """


Liveness: TypeAlias = Literal["ok"]
"""
A process that answers is alive.
"""


class MailedLinkRequest(TypedDict):
    """
    A mail that signs in.
    """

    email: str
    """
    The mailbox.
    """
    page: NotRequired[Optional[str]]
    """
    The page itself: the browser goes there when the link is opened, with
    `#gailou-code=…&gailou-state=…` in the address.
    """
    site: str
    """
    The origin of the page that gets the token.
    """
    state: NotRequired[Optional[str]]
    """
    What the page knows its request by.
    """


MediaId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


class MemberAccount(TypedDict):
    """
    What the host's service says of a member; each `null` where it says nothing that can be used.
    """

    avatar: Optional[str]
    """
    Address of their picture.
    """
    level: Optional[int]
    """
    Their level, unless moderators gave them another one.
    """
    name: Optional[str]
    """
    The name that they write under.
    """


class MemberCounts(TypedDict):
    """
    How many comments a member has, among the newest 10,000.
    """

    complete: bool
    """
    Whether all of their comments were looked at.
    """
    held: int
    """
    Held for a moderator. One that readers see while an edit of it waits is published.
    """
    published: int
    """
    Published.
    """
    rejected: int
    """
    Rejected.
    """
    reported: int
    """
    Reported by readers, whatever became of them.
    """


MemberId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


class MemberRef(TypedDict):
    """
    A member, with the last name that is known.
    """

    id: MemberId
    """
    The member.
    """
    name: str
    """
    The name; empty when none is known.
    """


class MemberWatch(TypedDict):
    """
    A watched subject of an export.
    """

    created_at: int
    """
    Since when they watch it, in Unix milliseconds.
    """
    subject: str
    """
    `type/key`.
    """


Mode: TypeAlias = Literal["flat", "two_level", "tree", "building"]
"""
How the threads of a subject are built and drawn: one level (`flat`), roots with one flat list each
(`two_level`), nested down to a level limit (`tree`), or nested without a limit of its own (`building`, 盖楼).
"""


ModeratorAction: TypeAlias = Literal[
    "approve", "reject", "hide", "restore", "delete", "feature", "unfeature", "pin", "unpin"
]


class NetworkBlock(TypedDict):
    """
    A network that is blocked.
    """

    until: int
    """
    When the block ends, in Unix milliseconds.
    """


class NewGuest(TypedDict):
    """
    A guest to be.
    """

    name: NotRequired[str]
    """
    1 to 64 characters, not blank, without control characters; spaces around the name are removed.
    """


class NewPasskey(TypedDict):
    """
    A passkey to add.
    """

    challenge: str
    """
    That of the options.
    """
    credential: dict[str, Any]
    """
    The answer of `navigator.credentials.create`, as its `toJSON()` writes it.
    """
    name: str
    """
    What its owner calls it.
    """


NotificationKind: TypeAlias = Literal["reply", "mention", "watched", "decision"]
"""
Why a member is notified of a comment.
"""


NotifyChoice: TypeAlias = Literal["never", "daily", "each"]
"""
How often a member is notified by mail of what concerns them.
"""


class PasskeyAnswer(TypedDict):
    """
    The answer of a passkey.
    """

    challenge: str
    """
    That of the options.
    """
    credential: dict[str, Any]
    """
    The answer of `navigator.credentials.get`, as its `toJSON()` writes it.
    """


class PasskeyChallenge(TypedDict):
    """
    What a browser asks an authenticator for. It can be answered once, for 5 minutes.
    """

    challenge: str
    """
    What the answer is sent with.
    """
    options: dict[str, Any]
    """
    `publicKey` of `navigator.credentials.create` or `navigator.credentials.get`, as WebAuthn writes it in JSON:
    bytes are in base64 for addresses.
    """


PasskeyId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


class PasskeyName(TypedDict):
    """
    Another name of a passkey.
    """

    name: str
    """
    What its owner calls it.
    """


PictureFile: TypeAlias = bytes
"""
The bytes of a picture.
"""


class Preview(TypedDict):
    """
    A text as it would be shown.
    """

    html: str
    """
    Its HTML, of the elements that comments may have, with the words masked that the filter masks.
    """


class PreviewRequest(TypedDict):
    """
    A text to preview.
    """

    content: str
    """
    The text; the rules are those of a new comment.
    """


class ProfileChanges(TypedDict):
    """
    What a member changes of themselves.
    """

    avatar: NotRequired[Optional[str]]
    """
    The address of a picture, of an account of this installation; null for none.
    """
    language: NotRequired[Optional[str]]
    """
    A language tag, such as `zh-CN`; null for no choice.
    """
    name: NotRequired[str]
    """
    The new name, of an account of this installation; the rules are those of a new guest.
    """
    notify: NotRequired[NotifyChoice]
    """
    How often mails come about replies, mentions and decisions.
    """


ProviderKind: TypeAlias = Literal["oidc", "oauth2", "email"]
"""
How a provider is spoken to.
"""


class QueueLease(TypedDict):
    """
    The comments that a moderator takes.
    """

    ids: list[CommentId]
    """
    The comments.
    """


Reaction: TypeAlias = Literal["like", "dislike"]
"""
A member's reaction to a comment.
"""


class ReactionResult(TypedDict):
    """
    A comment's counts after a reaction.
    """

    dislikes: int
    """
    Members who dislike it now.
    """
    id: CommentId
    """
    The comment.
    """
    likes: int
    """
    Members who like it now.
    """
    reaction: Optional[Reaction]


class ReadMark(TypedDict):
    """
    Up to where a member has read.
    """

    up_to: EventId
    """
    The newest notification that they have read: it and all older ones are marked.
    """


ReadinessStatus: TypeAlias = Literal["ok", "degraded", "failed"]
"""
Whether requests can be served.
"""


class RefreshRequest(TypedDict):
    """
    The refresh token of an app; browsers have a cookie.
    """

    refresh_token: NotRequired[Optional[str]]
    """
    The token that was answered last.
    """


RefusedTextId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


RefusedTextKind: TypeAlias = Literal["post", "edit"]
"""
What was refused.
"""


class RemovedComment(TypedDict):
    """
    A removed comment.
    """

    id: CommentId
    """
    The comment.
    """


class ReplacedText(TypedDict):
    """
    A text that an edit replaced.
    """

    content: str
    """
    The text.
    """
    replaced_at: int
    """
    When it was replaced, Unix milliseconds.
    """


ReportReason: TypeAlias = Literal["spam", "abuse", "illegal", "other"]
"""
Why a reader reports a comment.
"""


class ReportRequest(TypedDict):
    """
    A reader's report.
    """

    note: NotRequired[Optional[str]]
    """
    What a moderator should know; no control characters.
    """
    reason: ReportReason
    """
    Why.
    """


ReviewReasonKind: TypeAlias = Literal["word", "report", "rule", "classifier"]
"""
What put a comment into the review queue.
"""


Role: TypeAlias = Literal["member", "moderator", "admin"]
"""
What a member may do beyond writing comments.
"""


class SettingsPatch(TypedDict):
    """
    Settings to change.
    """

    degrade: NotRequired[dict[str, Any]]
    """
    `degrade.*`
    """
    limits: NotRequired[dict[str, Any]]
    """
    `limits.*`
    """
    names: NotRequired[dict[str, Any]]
    """
    `names.*`, as the configuration has them.
    """
    rules: NotRequired[dict[str, Any]]
    """
    `rules.*`
    """
    sites: NotRequired[Optional[list[str]]]
    """
    Sites that may write, unless the subject type says otherwise.
    """
    tokens: NotRequired[dict[str, Any]]
    """
    `tokens.*`
    """


class SignInCode(TypedDict):
    """
    What a page exchanges for a session of its own.
    """

    code: str
    """
    The code of the window, or of the address.
    """


class SignInProvider(TypedDict):
    """
    A way to sign in.
    """

    id: str
    """
    What it is called in addresses.
    """
    kind: ProviderKind
    """
    How it is spoken to.
    """
    name: str
    """
    What readers know it by.
    """


class SignInProviders(TypedDict):
    """
    The ways to sign in; none where the host signs tokens.
    """

    data: list[SignInProvider]
    """
    In the order of the configuration, mail first.
    """


class SlotsAhead(TypedDict):
    """
    Slots with times of their own. A page that shows only comments of these may be judged by them; a comment's id has its slot.
    """

    behind: int
    """
    The document's `behind`, for these slots.
    """
    now: int
    """
    The document's `now`, for these slots.
    """
    since: int
    """
    The document's `since`, for these slots.
    """
    slots: list[list[int]]
    """
    The slots, as ranges `[first, last]` in ascending order.
    """


Sort: TypeAlias = Literal["hot", "new", "old", "top", "best", "replies", "controversial"]
"""
An order of a list.
"""


StaffRole: TypeAlias = Literal["moderator", "admin"]
"""
A role that may moderate.
"""


class SubjectCounts(TypedDict):
    """
    A subject's counts.
    """

    comments: int
    """
    Visible comments.
    """
    roots: int
    """
    Visible roots.
    """


SubjectKeyText: TypeAlias = str
"""
The host's key: 1 to 512 bytes of UTF-8 without control characters.
"""


SubjectState: TypeAlias = Literal["open", "closed", "hidden"]
"""
Whether a subject takes comments.
"""


SubjectTypeName: TypeAlias = str
"""
A configured name. The embedded default has `article` (`tree`, three levels), `video` (`two_level`), `post` (`flat`) and `topic` (`building`).
"""


SubjectVersion: TypeAlias = str
"""
A subject's version, in decimal digits. It grows by one with each commit that changes the subject.
"""


TermAction: TypeAlias = Literal["mask", "review", "block"]
"""
What happens to a text with a term. Ordered by severity.
"""


class TermMatch(TypedDict):
    """
    A comment with a term.
    """

    content: str
    """
    Its text.
    """
    id: CommentId
    """
    The comment.
    """


class TermMatches(TypedDict):
    """
    Which of the newest comments a term is found in.
    """

    count: int
    """
    How many they are.
    """
    data: list[TermMatch]
    """
    The newest of them.
    """


class TermTest(TypedDict):
    """
    A term to try.
    """

    term: str
    """
    The text of the term.
    """


class TreeMore(TypedDict):
    """
    What a tree leaves out below a comment.
    """

    count: int
    """
    Visible comments left out.
    """
    cursor: str
    """
    For the tree call of that comment.
    """


class TurnstileChallenge(TypedDict):
    """
    A widget of Cloudflare Turnstile. The answer is the token that the widget gives.
    """

    sitekey: str
    """
    The `sitekey` of the widget.
    """


class UploadForm(TypedDict):
    """
    A picture to upload.
    """

    alt: NotRequired[str]
    """
    What it shows, for who does not see it.
    """
    file: bytes
    """
    A JPEG, PNG, GIF or WebP of at most 5 MiB and 24 million pixels.
    """


Visibility: TypeAlias = Literal["everyone", "self"]
"""
The readers of a published comment.
"""


VoidSubjectItem: TypeAlias = str


VoidSubject: TypeAlias = list[VoidSubjectItem]
"""
A subject's number in cache tags, and the version before which its comments are void.
"""


class WatchState(TypedDict):
    """
    Whether a member watches a subject.
    """

    watching: bool
    """
    Whether they do.
    """


class WatchedThread(TypedDict):
    """
    A subject that a member watches.
    """

    created_at: int
    """
    Since when they watch it, in Unix milliseconds.
    """
    key: str
    """
    The host's key of it.
    """
    title: Optional[str]
    """
    Its title; `null` where it has none, or is hidden.
    """
    type: str
    """
    What kind of thing it is.
    """
    url: Optional[str]
    """
    The address of its page; `null` where it has none, or is hidden.
    """


WebhookDeliveryStatus: TypeAlias = Literal["pending", "delivered", "failed"]
"""
What became of a delivery.
"""


WebhookEvent: TypeAlias = Literal[
    "comment.created", "comment.held", "comment.reported", "comment.decided"
]
"""
What is sent to webhooks.
"""


WebhookId: TypeAlias = str
"""
A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold.
"""


WebhookTemplate: TypeAlias = Literal["slack", "telegram", "lark", "dingtalk", "discord"]
"""
Chat services whose own form is sent instead of the event's JSON.
"""


class AuditTarget(TypedDict):
    """
    What an entry of the audit log is about.
    """

    id: str
    """
    Its id; `TYPE/KEY` of a subject, and empty where there is only one.
    """
    kind: AuditTargetKind
    """
    What it is.
    """


class Author(TypedDict):
    """
    The author of a comment, as they were when they wrote it.
    """

    avatar: Optional[str]
    """
    Address of a picture.
    """
    guest: bool
    """
    Whether the author has no account: the name is the guest's own choice.
    """
    id: MemberId
    """
    The member.
    """
    level: int
    """
    The host's level of the member; 0 when the host gives none.
    """
    name: str
    """
    Name when the comment was written.
    """
    role: Optional[StaffRole]


class BulkDecision(TypedDict):
    """
    What a moderator decides about several comments.
    """

    action: ModeratorAction
    """
    What happens to each.
    """
    ids: list[CommentId]
    """
    The comments.
    """
    reason: NotRequired[Optional[str]]
    """
    The reason, for the audit log; no control characters.
    """
    seen: NotRequired[dict[str, str]]
    """
    The versions that the moderator has seen, by the ids of the comments; of one without it nothing is compared.
    """


Challenge: TypeAlias = Union[AltchaChallenge, TurnstileChallenge]
"""
A challenge. The answer goes into the header `X-Gailou-Challenge` of the same request, sent again.
"""


class ChangeFeedPage(TypedDict):
    """
    The published comments that were edited, removed or restored, as far as the tables were read at `now`.
    """

    ahead: NotRequired[Optional[SlotsAhead]]
    behind: int
    """
    How far `now` was behind the clock when the document was written, in milliseconds. It grows
    while the tables, or some of them, cannot be read.
    """
    now: int
    """
    Everything committed before this moment is known, in Unix milliseconds.
    """
    rows: list[ChangedComment]
    """
    Each comment once, with the version of its last change.
    """
    since: int
    """
    Everything committed from this moment on is in `rows` or `subjects`, in Unix milliseconds. A page whose rows were
    read earlier may show a comment that has changed without a row here.
    """
    subjects: list[VoidSubject]
    """
    Each subject that stands for changed comments of its own once, with the largest version of these changes.
    """
    v: int
    """
    The version of this document.
    """
    words: int
    """
    The version of the dictionary in force.
    """


class CommentDecision(TypedDict):
    """
    What a moderator decides.
    """

    action: ModeratorAction
    """
    What happens to the comment.
    """
    reason: NotRequired[Optional[str]]
    """
    The reason, for the audit log; no control characters.
    """
    seen: NotRequired[Optional[str]]
    """
    `version` of the entry of the queue that the moderator has seen: where the comment is another by now, nothing happens
    (409).
    """


class ExportedMember(TypedDict):
    """
    The member of an export.
    """

    account_since: NotRequired[Optional[int]]
    """
    Since when they have an account of this installation, in Unix milliseconds.
    """
    avatar: NotRequired[Optional[str]]
    """
    The address of their picture.
    """
    email: NotRequired[Optional[str]]
    """
    Where they are mailed.
    """
    friends: list[MemberId]
    """
    Their friends.
    """
    guest: bool
    """
    Whether they have no account.
    """
    id: MemberId
    """
    Their id.
    """
    language: NotRequired[Optional[str]]
    """
    The language that they have chosen, as a language tag.
    """
    level: int
    """
    The host's level of them.
    """
    muted_until: NotRequired[Optional[int]]
    """
    Until when they may not write, in Unix milliseconds.
    """
    name: str
    """
    Their name.
    """
    notify: NotifyChoice
    """
    How often.
    """
    role: str
    """
    `member`, `moderator` or `admin`.
    """


class FormerTextPage(TypedDict):
    """
    The earlier texts of a comment, the first one first.
    """

    data: list[FormerText]
    """
    The texts.
    """
    page: ListPageInfo
    """
    All are on one page.
    """


class GuestCreated(TypedDict):
    """
    A new guest.
    """

    member: MemberRef
    """
    The new guest.
    """
    token: str
    """
    The bearer token to write with.
    """


class HealthStatus(TypedDict):
    """
    The process is alive.
    """

    status: Liveness


class LiveEvent1(TypedDict):
    """
    A comment is published or edited.
    """

    data: CommentLocation
    id: SubjectVersion
    type: Literal["comment"]


class LiveEvent2(TypedDict):
    """
    A comment is removed.
    """

    data: RemovedComment
    id: SubjectVersion
    type: Literal["removed"]


class LiveEvent3(TypedDict):
    """
    The subject's counts change.
    """

    data: SubjectCounts
    id: SubjectVersion
    type: Literal["counts"]


LiveEvent: TypeAlias = Union[LiveEvent1, LiveEvent2, LiveEvent3]
"""
One event. `id` is the subject's version with it; events of one commit share it.
"""


class LiveEventPage(TypedDict):
    """
    What happened on a subject after a version.
    """

    events: list[LiveEvent]
    """
    In the order of their commits. An event may be sent twice.
    """
    reset: bool
    """
    Events are missing that the origin no longer has: the client must load what it shows again. There are
    no events then.
    """
    version: SubjectVersion
    """
    The version from which to continue.
    """


class Media(TypedDict):
    """
    A picture of a comment.
    """

    alt: str
    """
    What it shows, for who does not see it; may be empty.
    """
    height: int
    """
    Its height in pixels.
    """
    id: MediaId
    """
    Its id.
    """
    url: str
    """
    Its address, relative to that of the API.
    """
    width: int
    """
    Its width in pixels.
    """


class MemberChanges(TypedDict):
    """
    What moderators say of a member. A field that is left out stays as it is; `null` takes it back.
    """

    friends: NotRequired[Optional[list[MemberId]]]
    """
    The member's friends.
    """
    level: NotRequired[Optional[int]]
    """
    The level that counts instead of the token's.
    """
    muted_until: NotRequired[Optional[int]]
    """
    Until when the member may not write, in Unix milliseconds.
    """
    note: NotRequired[Optional[str]]
    """
    What moderators should know; no control characters but line feeds.
    """
    role: NotRequired[Optional[Role]]
    tokens_not_before: NotRequired[Optional[int]]
    """
    Tokens that were issued before are refused, and those that do not say when; in Unix milliseconds, not later than
    now.
    """


class MemberNotification(TypedDict):
    """
    A notification of an export.
    """

    action: NotRequired[Optional[str]]
    """
    What was decided; of a decision alone.
    """
    comment_id: CommentId
    """
    The comment.
    """
    created_at: int
    """
    When it happened, in Unix milliseconds.
    """
    id: EventId
    """
    Its id.
    """
    kind: NotificationKind
    """
    Why they were notified.
    """
    read: bool
    """
    Whether they have read it.
    """


class MemberReaction(TypedDict):
    """
    A reaction of an export.
    """

    comment_id: CommentId
    """
    The comment.
    """
    reaction: Reaction
    """
    The reaction.
    """


class MemberReport(TypedDict):
    """
    A report in an export.
    """

    at: int
    """
    When, in Unix milliseconds.
    """
    comment_id: CommentId
    """
    The comment.
    """
    note: Optional[str]
    """
    What the member wrote.
    """
    reason: ReportReason
    """
    Why it was reported.
    """


class ModeratedSubject(TypedDict):
    """
    A subject in the moderators' list.
    """

    comments: int
    """
    Visible comments; of a hidden subject too.
    """
    key: SubjectKeyText
    """
    The host's key.
    """
    last_activity: Optional[int]
    """
    When its newest comment was written, whatever its state, in Unix milliseconds; `null` where there is none.
    """
    mode: Mode
    """
    How its threads are built.
    """
    owner_id: Optional[MemberId]
    roots: int
    """
    Visible roots; of a hidden subject too.
    """
    state: SubjectState
    """
    Whether it takes comments.
    """
    title: Optional[str]
    """
    Its title, as it was registered.
    """
    type: SubjectTypeName
    """
    The configured type.
    """
    url: Optional[str]
    """
    Its address, as it was registered.
    """


class ModeratedSubjectPage(TypedDict):
    """
    A page of subjects.
    """

    data: list[ModeratedSubject]
    """
    The subjects.
    """
    page: ListPageInfo
    """
    The place of the page in the list.
    """


class NewComment(TypedDict):
    """
    A comment to publish.
    """

    content: str
    """
    The text as written: not blank; at most 5,000 characters and 20,000 bytes of UTF-8; no control
    characters other than line breaks and tabs, no bidirectional embeddings, overrides or isolates, and at most
    six combining marks on one letter. A subject type may allow less.
    """
    media: NotRequired[Optional[list[MediaId]]]
    """
    Pictures that its author has uploaded, in their order; duplicates are dropped.
    """
    mentions: NotRequired[Optional[list[MemberId]]]
    """
    Members it mentions; duplicates are dropped.
    """
    parent_id: NotRequired[Optional[CommentId]]
    visibility: NotRequired[Optional[Visibility]]


class OverlayEntry(TypedDict):
    """
    What one reader sees and may do on one comment.
    """

    can_delete: bool
    """
    Whether the reader may delete it.
    """
    can_edit: bool
    """
    Whether the reader may edit it now.
    """
    masked: NotRequired[int]
    """
    How many passages of the reader's own text the word filter has masked; absent where it has masked none.
    """
    reaction: Optional[Reaction]


class OwnProfile(TypedDict):
    """
    The member of a token.
    """

    avatar: Optional[str]
    """
    Address of a picture.
    """
    email: Optional[str]
    """
    Where mails go.
    """
    guest: bool
    """
    Whether they have no account.
    """
    id: MemberId
    """
    The member.
    """
    language: Optional[str]
    """
    The language that they have chosen.
    """
    level: int
    """
    The level.
    """
    name: str
    """
    The name; empty where none is chosen yet.
    """
    notify: NotifyChoice
    """
    How often mails come.
    """
    role: Role
    """
    What the member may do.
    """


class PageInfo(TypedDict):
    """
    The place of a page in its list.
    """

    epoch: str
    """
    The state of the list that the walk shows: the subject's version on the first page.
    """
    has_more: bool
    """
    Whether another page follows. One may follow even a page with fewer comments than `limit`, or none.
    """
    next: Optional[str]
    """
    The cursor of the next page; opaque.
    """
    sort: Sort
    """
    The order of the list.
    """


class Passkey(TypedDict):
    """
    A passkey of an account.
    """

    created_at: int
    """
    When it was added, in Unix milliseconds.
    """
    id: PasskeyId
    """
    The passkey.
    """
    name: str
    """
    What its owner calls it.
    """
    used_at: Optional[int]
    """
    When it signed in last; null before the first time.
    """


class PasskeyList(TypedDict):
    """
    The passkeys of an account.
    """

    data: list[Passkey]
    """
    In the order in which they were added.
    """


class Problem(TypedDict):
    """
    A refusal, as `application/problem+json` (RFC 9457).
    """

    challenge: NotRequired[Optional[Challenge]]
    code: Code
    """
    What went wrong, for a program: stable, never translated.
    """
    detail: str
    """
    What went wrong, for a person.
    """
    errors: NotRequired[list[FieldError]]
    """
    Each wrong field.
    """
    status: int
    """
    The HTTP status.
    """
    title: str
    """
    The status in words.
    """
    trace_id: str
    """
    The request's id, as in `X-Request-Id`.
    """
    type: str
    """
    A URI reference that names the kind of problem.
    """


class QuotedFloor(TypedDict):
    """
    A comment as those above it quote it. A deleted one is a tombstone: `author` is `null`, and `html` is empty.
    """

    author: Optional[Author]
    created_at: int
    """
    When it was written, in Unix milliseconds.
    """
    html: str
    """
    The text as safe HTML.
    """
    likes: int
    """
    Members who like it.
    """
    media: NotRequired[list[Media]]
    """
    Its pictures; absent where there are none.
    """
    state: CommentState
    """
    Its state.
    """


class Readiness(TypedDict):
    """
    Whether comments can be read, whether they can be written, and the state of each dependency.
    """

    dependencies: dict[str, DependencyState]
    """
    Each dependency by its name.
    """
    status: ReadinessStatus
    """
    `ok` when every dependency and the writes are, `failed` when nothing answers that comments are read from.
    """
    writes: DependencyState
    """
    Whether writes are stored. A process that stores none still answers reads, so this alone is not `failed`.
    """


class Report(TypedDict):
    """
    A report of a reader.
    """

    at: int
    """
    When, in Unix milliseconds.
    """
    member: MemberRef
    """
    Who reported.
    """
    note: Optional[str]
    """
    What the reader wrote.
    """
    reason: ReportReason
    """
    Why.
    """


class ReportPage(TypedDict):
    """
    The reports of a comment, the newest first.
    """

    data: list[Report]
    """
    The reports.
    """
    page: ListPageInfo
    """
    All that are answered are on one page.
    """


class ReviewReason(TypedDict):
    """
    Why a comment is in the review queue.
    """

    count: int
    """
    How often: the number of reports, and 1 for everything else.
    """
    detail: str
    """
    See [`ReviewReasonKind`].
    """
    kind: ReviewReasonKind
    """
    What put it there.
    """


class SubjectChanges(TypedDict):
    """
    New values of a subject. A field that is left out stays as it is; `null` removes its value.
    """

    mode: NotRequired[Mode]
    """
    How its threads are built.
    """
    moved_to: NotRequired[Optional[str]]
    """
    Another address of the page, `type/key` of the same type, which has the comments of this one from now on; both have
    them. It must have none of its own. `null`: no other address has them any more.
    """
    owner_id: NotRequired[Optional[MemberId]]
    state: NotRequired[SubjectState]
    """
    Whether the subject takes comments.
    """
    title: NotRequired[Optional[str]]
    """
    Its title; no control characters.
    """
    url: NotRequired[Optional[str]]
    """
    Its address; no control characters.
    """


class SubjectRef(TypedDict):
    """
    The subject a comment belongs to.
    """

    key: SubjectKeyText
    """
    The host's key.
    """
    title: NotRequired[Optional[str]]
    """
    In lists of the newest comments and in what webhooks receive: its title, as the host registered it.
    """
    type: SubjectTypeName
    """
    The configured type.
    """
    url: NotRequired[Optional[str]]
    """
    In lists of the newest comments and in what webhooks receive: its address, as the host registered it.
    """


class Term(TypedDict):
    """
    One entry of a dictionary, as an operator writes it.
    """

    action: TermAction
    """
    What happens to a text with it.
    """
    category: str
    """
    Why it is listed, such as `ad`; 1 to [`MAX_CATEGORY_BYTES`] bytes.
    """
    term: str
    """
    The text to find; 1 to [`MAX_TERM_BYTES`] bytes.
    """


class TermsChange(TypedDict):
    """
    Terms to add and to remove.
    """

    add: NotRequired[list[Term]]
    """
    Terms to add, in place of those with the same text.
    """
    remove: NotRequired[list[str]]
    """
    The texts of terms to remove; one that is not there is no error.
    """


class TermsReplacement(TypedDict):
    """
    All terms of the word filter.
    """

    data: list[Term]
    """
    The terms, in place of all that are there.
    """


class WatchPage(TypedDict):
    """
    A page of what a member watches, the latest first.
    """

    data: list[WatchedThread]
    """
    What they watch.
    """
    page: ListPageInfo
    """
    Its place in the list.
    """


class Webhook(TypedDict):
    """
    An address to which events are sent.
    """

    created_at: int
    """
    When it was made, in Unix milliseconds.
    """
    dropped: int
    """
    How many events were left out because too many were waiting.
    """
    events: list[WebhookEvent]
    """
    What is sent to it.
    """
    failing_since: Optional[int]
    """
    Since when no try was a success, in Unix milliseconds; `null` after one.
    """
    id: WebhookId
    """
    Its id.
    """
    secret: NotRequired[str]
    """
    What signs its deliveries: only in the answer of the call that made it.
    """
    template: Optional[WebhookTemplate]
    url: str
    """
    The address.
    """


class WebhookDelivery(TypedDict):
    """
    An event that is sent to one webhook.
    """

    attempts: int
    """
    How often it was tried.
    """
    created_at: int
    """
    When it was made, in Unix milliseconds.
    """
    event: WebhookEvent
    """
    The event.
    """
    id: str
    """
    Its id, which is the header `webhook-id` of every try.
    """
    last_status: Optional[int]
    """
    The status of the last answer; `null` where there was none.
    """
    next_at: Optional[int]
    """
    When it is tried next, in Unix milliseconds; `null` where it is not.
    """
    status: WebhookDeliveryStatus
    """
    What became of it.
    """


class WebhookDeliveryPage(TypedDict):
    """
    A page of the deliveries of a webhook, the newest first.
    """

    data: list[WebhookDelivery]
    """
    The deliveries.
    """
    page: ListPageInfo
    """
    Its place in the list.
    """


class WebhookList(TypedDict):
    """
    All webhooks, in the order in which they were made.
    """

    data: list[Webhook]
    """
    The webhooks.
    """


class WebhookRequest(TypedDict):
    """
    A webhook to be.
    """

    events: list[WebhookEvent]
    """
    What is sent to it.
    """
    template: NotRequired[Optional[WebhookTemplate]]
    url: str
    """
    The address.
    """


class AuditRecord(TypedDict):
    """
    An entry of the audit log.
    """

    action: str
    """
    What was done.
    """
    actor: MemberRef
    """
    Who did it.
    """
    after: Optional[dict[str, Any]]
    """
    The same after it.
    """
    at: int
    """
    When, in Unix milliseconds.
    """
    before: Optional[dict[str, Any]]
    """
    What was changed, as it was before.
    """
    id: AuditId
    """
    Its id.
    """
    reason: Optional[str]
    """
    Why, in the moderator's words.
    """
    target: AuditTarget
    """
    What it was done to.
    """


class Comment(TypedDict):
    """
    A comment. A deleted one that has visible replies stays in lists as a tombstone: `author` is `null`, and
    `content`, `html`, `mentions` and `media` are empty.
    """

    audit_id: NotRequired[AuditId]
    """
    After a decision about it: the entry of the audit log, by which it is undone.
    """
    author: Optional[Author]
    content: str
    """
    The text as written; never HTML.
    """
    created_at: int
    """
    When it was written, in Unix milliseconds.
    """
    dislikes: int
    """
    Members who dislike it.
    """
    edited_at: Optional[int]
    """
    When it was last edited, in Unix milliseconds; `null` when it never was.
    """
    flags: list[CommentFlag]
    """
    Its marks.
    """
    floor: Optional[int]
    """
    Its number among the roots of its subject, or among the replies of its root. `null` until it is first
    published; afterwards it never changes.
    """
    highlight: NotRequired[str]
    """
    In the answer of a search: a part of the text as HTML, escaped, with what was found in `<mark>`.
    """
    html: str
    """
    The text as safe HTML.
    """
    id: CommentId
    """
    Its id.
    """
    level: int
    """
    How deep it is drawn; the mode sets the limit.
    """
    likes: int
    """
    Members who like it.
    """
    media: list[Media]
    """
    Its pictures; none on a tombstone.
    """
    mentions: list[MemberRef]
    """
    Members it mentions.
    """
    more_replies: NotRequired[int]
    """
    On roots in lists: visible replies beyond `top_replies`.
    """
    parent_id: Optional[CommentId]
    path: list[CommentId]
    """
    The true chain from the root to the comment itself.
    """
    replies: int
    """
    Visible descendants.
    """
    reply_to: Optional[MemberRef]
    root_id: CommentId
    """
    The root of its thread; of a root, itself.
    """
    state: CommentState
    """
    Its state.
    """
    subject: SubjectRef
    """
    What it is about.
    """
    top_replies: NotRequired[list[Comment]]
    """
    On roots in lists: the first replies in `hot` order.
    """
    visibility: Visibility
    """
    The readers who may see it.
    """


CommentChain: TypeAlias = list[Comment]
"""
The chain from the root to the comment: the root first, the comment last.
"""


class CommentTree(TypedDict):
    """
    A comment with what is drawn under it.
    """

    children: list[CommentTree]
    """
    What is drawn under it.
    """
    comment: Comment
    """
    The comment.
    """
    more: Optional[TreeMore]


class CompactComment(TypedDict):
    """
    A comment of a list with `view=compact`: without `content` and `subject`; without `media` and `mentions` where they are empty; and without `path`, unless the subject is in mode `building`.
    """

    audit_id: NotRequired[AuditId]
    """
    After a decision about it: the entry of the audit log, by which it is undone.
    """
    author: Optional[Author]
    created_at: int
    """
    When it was written, in Unix milliseconds.
    """
    dislikes: int
    """
    Members who dislike it.
    """
    edited_at: Optional[int]
    """
    When it was last edited, in Unix milliseconds; `null` when it never was.
    """
    flags: list[CommentFlag]
    """
    Its marks.
    """
    floor: Optional[int]
    """
    Its number among the roots of its subject, or among the replies of its root. `null` until it is first
    published; afterwards it never changes.
    """
    highlight: NotRequired[str]
    """
    In the answer of a search: a part of the text as HTML, escaped, with what was found in `<mark>`.
    """
    html: str
    """
    The text as safe HTML.
    """
    id: CommentId
    """
    Its id.
    """
    level: int
    """
    How deep it is drawn; the mode sets the limit.
    """
    likes: int
    """
    Members who like it.
    """
    media: NotRequired[list[Media]]
    """
    Its pictures; none on a tombstone.
    """
    mentions: NotRequired[list[MemberRef]]
    """
    Members it mentions.
    """
    more_replies: NotRequired[int]
    """
    On roots in lists: visible replies beyond `top_replies`.
    """
    parent_id: Optional[CommentId]
    path: NotRequired[list[CommentId]]
    """
    The true chain from the root to the comment itself.
    """
    replies: int
    """
    Visible descendants.
    """
    reply_to: Optional[MemberRef]
    root_id: CommentId
    """
    The root of its thread; of a root, itself.
    """
    state: CommentState
    """
    Its state.
    """
    top_replies: NotRequired[list[CompactComment]]
    """
    On roots in lists: the first replies in `hot` order.
    """
    visibility: Visibility
    """
    The readers who may see it.
    """


CompactCommentChain: TypeAlias = list[CompactComment]
"""
The chain from the root to the comment, with compact comments.
"""


class CompactCommentTree(TypedDict):
    """
    A compact comment with what is drawn under it.
    """

    children: list[CompactCommentTree]
    """
    What is drawn under it.
    """
    comment: CompactComment
    """
    The comment.
    """
    more: Optional[TreeMore]


class CompactHistoryPage(TypedDict):
    """
    A page of compact comments on various subjects.
    """

    data: list[CompactComment]
    """
    The comments.
    """
    page: PageInfo
    """
    The page's place in the list.
    """


class CompactSubject(TypedDict):
    """
    A subject whose pinned comments are compact.
    """

    comments: int
    """
    Visible comments.
    """
    earlier_texts: NotRequired[bool]
    """
    Whether readers may see the earlier texts of edited comments; left out where they may not.
    """
    key: SubjectKeyText
    """
    The host's key.
    """
    mode: Mode
    """
    How its threads are built.
    """
    owner_id: Optional[MemberId]
    pinned: list[CompactComment]
    """
    Pinned comments, in the order to show them. They keep their place in the lists as well.
    """
    roots: int
    """
    Visible roots.
    """
    state: SubjectState
    """
    Whether it takes comments.
    """
    title: Optional[str]
    """
    Its title, as the host registered it.
    """
    type: SubjectTypeName
    """
    The configured type.
    """
    url: Optional[str]
    """
    Its address, as the host registered it.
    """


class DictionaryPage(TypedDict):
    """
    Terms of the word filter, in the order of their texts.
    """

    data: list[Term]
    """
    The terms.
    """
    page: ListPageInfo
    """
    Their place in the dictionary.
    """
    version: int
    """
    The version of the dictionary; 0 before the first one.
    """


class HistoryPage(TypedDict):
    """
    A page of comments on various subjects.
    """

    data: list[Comment]
    """
    The comments.
    """
    page: PageInfo
    """
    The page's place in the list.
    """


class MemberComment(Comment):
    """
    A comment of an export, with the texts that readers do not see.
    """

    history: list[ReplacedText]
    """
    Earlier texts, the first one first.
    """
    written: NotRequired[Optional[str]]
    """
    The text as it was typed, where the word filter masked part of it.
    """


class ModeratedMember(TypedDict):
    """
    A member, with what moderators say of them; each `null` where nothing is said.
    """

    account: NotRequired[MemberAccount]
    """
    What the host's service says of them today; left out in lists, and where the service is not asked, does not know
    them or does not answer.
    """
    avatar: Optional[str]
    """
    Address of the picture that they last wrote with.
    """
    counts: NotRequired[MemberCounts]
    """
    How many comments they have; left out in lists.
    """
    friends: NotRequired[list[MemberId]]
    """
    The friends that moderators gave them; left out in lists.
    """
    guest: bool
    """
    Whether they have no account.
    """
    id: MemberId
    """
    The member.
    """
    last: NotRequired[list[Comment]]
    """
    Their newest comments, whatever their state; left out in lists.
    """
    level: Optional[int]
    """
    The level that counts instead of the token's.
    """
    muted_until: Optional[int]
    """
    Until when they may not write, in Unix milliseconds.
    """
    name: str
    """
    The name that they last wrote under; empty before their first comment.
    """
    names: NotRequired[list[str]]
    """
    Other names under which they wrote their newest comments; left out in lists.
    """
    note: Optional[str]
    """
    What moderators have noted.
    """
    role: Optional[Role]
    token_level: int
    """
    The level that they last wrote with.
    """
    tokens_not_before: Optional[int]
    """
    Tokens that were issued before are refused, in Unix milliseconds.
    """


class ModeratedMemberPage(TypedDict):
    """
    A page of members.
    """

    data: list[ModeratedMember]
    """
    The members.
    """
    page: ListPageInfo
    """
    Its place in the list.
    """


class Notification(TypedDict):
    """
    Something that a member is notified of.
    """

    action: Optional[str]
    """
    What was decided: `approve`, `reject`, `hide`, `delete` or `feature`; of a decision alone.
    """
    actor: Optional[MemberRef]
    comment: Optional[Comment]
    created_at: int
    """
    When it happened, in Unix milliseconds.
    """
    id: EventId
    """
    Its id: a larger one is newer.
    """
    kind: NotificationKind
    """
    Why they are notified.
    """
    read: bool
    """
    Whether they have read it.
    """
    title: Optional[str]
    """
    The title of the watched subject, where it has one and is not hidden; of `watched` alone.
    """


class NotificationPage(TypedDict):
    """
    A page of what a member is notified of, newest first.
    """

    data: list[Notification]
    """
    What they are notified of.
    """
    page: ListPageInfo
    """
    Its place in the list.
    """
    unread: int
    """
    How many of all that are kept they have not read.
    """


class Overlay(TypedDict):
    """
    The reader's own layer over the pages that all readers share.
    """

    data: dict[str, OverlayEntry]
    """
    By comment id. Unknown ids are left out.
    """
    pending: list[Comment]
    """
    The reader's own comments that are not in the lists: held for a moderator, visible to the reader alone, or
    not yet in the lists.
    """


class QueueEntry(TypedDict):
    """
    A comment in the review queue.
    """

    comment: Comment
    """
    The comment; where an edit of it waits, with the new text and `state` `review`.
    """
    context: list[Comment]
    """
    Up to two comments above it, the higher one first.
    """
    leased_by: Optional[MemberRef]
    published: Optional[str]
    """
    The text that readers see while the edit waits; `null` where no edit waits.
    """
    version: str
    """
    What is shown of it; opaque. A decision that sends it back as `seen` is refused where the comment is another by then.
    """
    waiting_since: int
    """
    Since when it is here, in Unix milliseconds.
    """
    why: list[ReviewReason]
    """
    Why it is here: one reason for each kind and detail.
    """
    written: str
    """
    The text as it was typed.
    """


class QueuePage(TypedDict):
    """
    A page of the review queue, most urgent first.
    """

    count: int
    """
    How many comments wait in this part of the queue.
    """
    data: list[QueueEntry]
    """
    The comments.
    """
    page: ListPageInfo
    """
    Its place in the queue.
    """


class RefusedText(TypedDict):
    """
    A text that the word filter refused, kept for moderators.
    """

    at: int
    """
    When it was refused, in Unix milliseconds.
    """
    author: Author
    """
    Its author.
    """
    comment_id: Optional[CommentId]
    content: str
    """
    The text as it was typed.
    """
    id: RefusedTextId
    """
    Its id.
    """
    kind: RefusedTextKind
    """
    What it was to be.
    """
    mentions: list[MemberId]
    """
    Members that a new comment mentions.
    """
    parent_id: Optional[CommentId]
    subject: SubjectRef
    """
    The subject.
    """
    visibility: Visibility
    """
    Who may see a new comment.
    """
    why: list[ReviewReason]
    """
    Why it was refused: the categories of the words.
    """


class RefusedTextPage(TypedDict):
    """
    A page of the refused texts, newest first.
    """

    data: list[RefusedText]
    """
    The texts.
    """
    page: ListPageInfo
    """
    Its place in the list.
    """


class Subject(TypedDict):
    """
    What is commented on. A subject without comments is answered as an empty one.
    """

    comments: int
    """
    Visible comments.
    """
    earlier_texts: NotRequired[bool]
    """
    Whether readers may see the earlier texts of edited comments; left out where they may not.
    """
    key: SubjectKeyText
    """
    The host's key.
    """
    mode: Mode
    """
    How its threads are built.
    """
    owner_id: Optional[MemberId]
    pinned: list[Comment]
    """
    Pinned comments, in the order to show them. They keep their place in the lists as well.
    """
    roots: int
    """
    Visible roots.
    """
    state: SubjectState
    """
    Whether it takes comments.
    """
    title: Optional[str]
    """
    Its title, as the host registered it.
    """
    type: SubjectTypeName
    """
    The configured type.
    """
    url: Optional[str]
    """
    Its address, as the host registered it.
    """


class AuditPage(TypedDict):
    """
    A page of the audit log, newest first.
    """

    data: list[AuditRecord]
    """
    The entries.
    """
    page: ListPageInfo
    """
    Its place in the log.
    """


class CommentPage(TypedDict):
    """
    A page of comments.
    """

    data: list[Comment]
    """
    The comments.
    """
    floors: NotRequired[dict[str, QuotedFloor]]
    """
    In lists of a subject in mode `building`: of the chain below each shown comment the first two and the last
    three that are not on the page themselves. Where they need more than a page holds, some are missing.
    """
    page: PageInfo
    """
    Its place in the list.
    """
    subject: Subject
    """
    What the comments are about. A member's history has no subject.
    """


class CompactCommentPage(TypedDict):
    """
    A page of compact comments.
    """

    data: list[CompactComment]
    """
    The comments.
    """
    floors: NotRequired[dict[str, QuotedFloor]]
    """
    In lists of a subject in mode `building`: of the chain below each shown comment the first two and the last
    three that are not on the page themselves. Where they need more than a page holds, some are missing.
    """
    page: PageInfo
    """
    Its place in the list.
    """
    subject: CompactSubject
    """
    What the comments are about. A member's history has no subject.
    """


class CommentContext(TypedDict):
    """
    What a permalink needs: a comment with what surrounds it.
    """

    ancestors: list[Comment]
    """
    The chain above the comment, root first, without the comment.
    """
    comment: Comment
    """
    The comment.
    """
    root_page: CommentPage
    """
    The subject's first page.
    """
    siblings: list[Comment]
    """
    Others that answer the same comment.
    """


class CompactCommentContext(TypedDict):
    """
    A compact comment with what surrounds it.
    """

    ancestors: list[CompactComment]
    """
    The chain above the comment, root first, without the comment.
    """
    comment: CompactComment
    """
    The comment.
    """
    root_page: CompactCommentPage
    """
    The subject's first page.
    """
    siblings: list[CompactComment]
    """
    Others that answer the same comment.
    """
