//! Every bound of the contract, with its unit and its reason.
//!
//! Edge, origin and tests use the same numbers. Nothing here is configuration: the limits of a subject type
//! may be tighter, never wider.

/// Largest request body, in bytes. Four times the largest comment in UTF-8, with room for escapes.
pub const MAX_BODY_BYTES: usize = 64 * 1024;
/// Longest comment, in characters (Unicode scalar values).
pub const MAX_CONTENT_CHARS: usize = 5_000;
/// Longest comment, in bytes of UTF-8: 5,000 characters of four bytes each.
pub const MAX_CONTENT_BYTES: usize = 20_000;
/// Longest HTML of a comment, in bytes; a text whose markup would need more is shown as plain text, which
/// for 5,000 characters takes at most 30,000 (`"` is six bytes of HTML).
pub const MAX_HTML_BYTES: usize = 64_000;
/// Most elements of a comment's HTML inside each other; deeper markup is shown as plain text.
pub const MAX_HTML_NESTING: usize = 16;
/// Longest summary of a comment, in characters.
pub const SUMMARY_CHARS: usize = 500;
/// Most members that one comment may mention.
pub const MAX_MENTIONS: usize = 20;
/// Most pictures of one comment.
pub const MAX_COMMENT_MEDIA: usize = 4;
/// Largest picture that is uploaded, in bytes; a stored one is no larger.
pub const MAX_MEDIA_BYTES: usize = 5 * 1024 * 1024;
/// Largest body of an upload, in bytes: 5 MiB for a picture, and 64 KiB for its description and what is around them.
pub const MAX_UPLOAD_BYTES: usize = 81 * MAX_BODY_BYTES;
/// Most pixels of a picture that is uploaded: 6,000 × 4,000. Decoded they take 96 MB.
pub const MAX_PICTURE_PIXELS: u64 = 24_000_000;
/// Most pixels of a stored picture on one side; a larger one is made smaller.
pub const MAX_PICTURE_SIDE: u32 = 2_048;
/// Longest description of a picture, in characters.
pub const MAX_ALT_CHARS: usize = 500;
/// How long a picture is kept that no comment shows, in milliseconds (a day).
pub const MEDIA_RETENTION_MS: u64 = 86_400_000;
/// Longest member name, in characters.
pub const MAX_NAME_CHARS: usize = 64;
/// Longest URL of an avatar, in bytes.
pub const MAX_AVATAR_BYTES: usize = 512;
/// Longest subject key, in bytes of UTF-8.
pub const MAX_SUBJECT_KEY_BYTES: usize = 512;
/// Longest subject type name, in bytes.
pub const MAX_SUBJECT_TYPE_BYTES: usize = 32;
/// Most subject types of one installation.
pub const MAX_SUBJECT_TYPES: usize = 128;
/// Longest chain from a root to a reply, in comments: 8 bytes each, so a path is at most 1 KiB.
pub const MAX_DEPTH: usize = 128;
/// Most comments on one page of a list.
pub const MAX_PAGE_SIZE: usize = 100;
/// Largest answer of a list, in bytes: a page is cut short where its comments need more.
pub const MAX_LIST_BYTES: usize = 1024 * 1024;
/// Largest answer of the calls for a tree and a permalink, and of a page as HTML, in bytes.
pub const MAX_TREE_BYTES: usize = 2 * MAX_LIST_BYTES;
/// Most bytes of a subject's pinned comments in an answer; those that do not fit are left out.
pub const MAX_PINNED_BYTES: usize = MAX_LIST_BYTES / 4;
/// Most comments in a list of the newest of all subjects.
pub const MAX_LATEST: usize = 50;
/// Comments on a page of a list by default.
pub const DEFAULT_PAGE_SIZE: usize = 20;
/// Most floors that a page of a building quotes: five of each comment of a default page with its replies. The page is
/// cut short where its comments quote more.
pub const MAX_QUOTED_FLOORS: usize = 400;
/// Most bytes of them; the comments of such a page have the other half.
pub const MAX_QUOTED_BYTES: usize = MAX_LIST_BYTES / 2;
/// Replies shown under a root in a list.
pub const TOP_REPLIES: usize = 3;
/// Most ids in a ranked snapshot: 8 bytes each, so at most 8 kB.
pub const MAX_SNAPSHOT_IDS: usize = 1_000;
/// How long a snapshot can be walked, in milliseconds (25 h: a day of a stale edge page, and one hour).
pub const SNAPSHOT_LIFETIME_MS: u64 = 25 * 3_600_000;
/// Most nodes in one answer of the tree call.
pub const MAX_TREE_NODES: usize = 500;
/// Nodes in one answer of the tree call by default.
pub const DEFAULT_TREE_NODES: usize = 200;
/// Most ids in one overlay call: 100 roots with three replies each.
pub const MAX_OVERLAY_IDS: usize = 400;
/// Most subjects in one counts call.
pub const MAX_COUNT_SUBJECTS: usize = 100;
/// Most pinned comments of one subject.
pub const MAX_PINS: usize = 10;
/// Most of the reader's own comments that one overlay shows because they are not in the lists.
pub const MAX_PENDING_SHOWN: usize = 50;
/// Most friends of one member: a page of their comments looks into an index once for each.
pub const MAX_FRIENDS: usize = 1_000;
/// Longest note of moderators about a member, in characters.
pub const MAX_NOTE_CHARS: usize = 1_000;
/// Most points in one answer of the statistics.
pub const MAX_STATS_POINTS: u64 = 1_500;
/// Most refused texts of one author that are kept in an hour.
pub const MAX_REFUSED_TEXTS_PER_HOUR: usize = 20;
/// Most refused texts that are kept in one database; the oldest go first. At 20 kB each 200 MB, and at 200 bytes 2 MB.
pub const MAX_REFUSED_TEXTS: usize = 10_000;
/// How long a refused text is kept, in milliseconds (30 days).
pub const REFUSED_TEXT_RETENTION_MS: u64 = 30 * 86_400_000;
/// Longest idempotency key, in visible ASCII characters.
pub const MAX_IDEMPOTENCY_KEY_BYTES: usize = 128;
/// How long an idempotency key is valid, in milliseconds.
pub const IDEMPOTENCY_WINDOW_MS: u64 = 24 * 3_600_000;
/// How long an author may edit a comment after its publication, in milliseconds.
pub const EDIT_WINDOW_MS: u64 = 15 * 60_000;
/// Longest answer to a challenge, in bytes: ALTCHA's has about 500, Turnstile's at most 2,048.
pub const MAX_CHALLENGE_ANSWER_BYTES: usize = 4_096;
/// Longest bearer token, in bytes.
pub const MAX_TOKEN_BYTES: usize = 4_096;
/// Longest lifetime of a token, in seconds from now.
pub const MAX_TOKEN_LIFETIME_SECONDS: u64 = 30 * 86_400;
/// Longest cursor, in characters; a longer text is refused without decoding.
pub const MAX_CURSOR_CHARS: usize = 256;
