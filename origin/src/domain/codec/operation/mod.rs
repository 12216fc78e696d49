//! Operations in the broker and among the pending comments.
//!
//! Promise: a reader accepts this format and those before, and invalid bytes are an error, never a
//! panic or another operation. A new field stands at the end of a comment, so that a comment in a format before
//! is one in this format without its last bytes.

use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::path::Path;
use gailou_shared::wire::{Reaction, ReviewReason};
use serde::{Deserialize, Serialize};

use crate::domain::codec::flat_types::{
    FlatAuthor, FlatMedia, FlatNamed, FlatSubjectKey, enum_number, parse_comment_id, parse_enum, parse_media,
    parse_named, parse_option,
};
use crate::domain::damaged_data::DamagedData;
use crate::domain::network_digest::NetworkDigest;
use crate::domain::operation::{LoggedOperation, Operation, ReactionChange};
use crate::domain::row::{IdempotencyKey, ImportedFrom, NewCommentRow};

/// The format of the bytes. It changes with every field and variant below, and with their order.
const OPERATION_FORMAT: u8 = 6;
/// Bytes that begin with more than this are no format of any version.
const MAX_OPERATION_FORMAT: u8 = 31;
/// The formats before, and how many of the fields at the end of a comment they do not have: where it was posted from,
/// pictures, and why it is held.
const FORMER_OPERATION_FORMATS: [(u8, usize); 3] = [(5, 1), (4, 2), (2, 3)];
/// A reaction that became a dead letter: the position where it did, and then its bytes in one of the formats above.
const DEAD_REACTION_FORMAT: u8 = 3;

#[derive(Serialize, Deserialize)]
struct FlatLoggedOperation<'a> {
    at: u64,
    #[serde(borrow)]
    operation: FlatOperation<'a>,
}

#[derive(Serialize, Deserialize)]
enum FlatOperation<'a> {
    #[serde(borrow)]
    Publish(Box<FlatNewComment<'a>>),
    React {
        id: u64,
        member: u64,
        change: u8,
    },
}

#[derive(Serialize, Deserialize)]
struct FlatNewComment<'a> {
    #[serde(borrow)]
    subject: FlatSubjectKey<'a>,
    path: &'a [u8],
    parent_id: Option<u64>,
    #[serde(borrow)]
    reply_to: Option<FlatNamed<'a>>,
    state: u8,
    visibility: u8,
    #[serde(borrow)]
    author: FlatAuthor<'a>,
    created_at: u64,
    content: &'a str,
    html: &'a str,
    original_text: Option<&'a str>,
    #[serde(borrow)]
    mentions: Vec<FlatNamed<'a>>,
    idempotency: Option<(&'a str, [u8; 32])>,
    #[serde(borrow)]
    imported: Option<FlatImported<'a>>,
    role: Option<u8>,
    /// Kind, detail and count.
    #[serde(borrow)]
    reasons: Vec<(u8, &'a str, u64)>,
    #[serde(borrow)]
    media: Vec<FlatMedia<'a>>,
    network: Option<[u8; 16]>,
}

#[derive(Serialize, Deserialize)]
struct FlatImported<'a> {
    source: &'a str,
    likes: u64,
    dislikes: u64,
    edited_at: Option<u64>,
    pinned: bool,
}

/// The bytes of an [`Operation::Publish`] or [`Operation::React`]; `None` for an operation that is never
/// appended to the broker.
pub fn encode(logged: &LoggedOperation) -> Option<Vec<u8>> {
    let operation = match &logged.operation {
        Operation::Publish(row) => FlatOperation::Publish(Box::new(flat_comment(row))),
        Operation::React { id, member, change } => {
            FlatOperation::React { id: id.get(), member: member.get(), change: change_number(*change) }
        }
        Operation::Change { .. }
        | Operation::Subject { .. }
        | Operation::Snapshot { .. }
        | Operation::LeaseReviews { .. }
        | Operation::Standing { .. }
        | Operation::Dictionary { .. }
        | Operation::Settings { .. }
        | Operation::Webhook { .. }
        | Operation::Import { .. }
        | Operation::MemberNames(_)
        | Operation::DeleteExpired
        | Operation::DeleteEditHistory { .. }
        | Operation::Erasure { .. }
        | Operation::Merge { .. } => return None,
    };
    // Writing these structs into memory cannot fail.
    postcard::to_extend(&FlatLoggedOperation { at: logged.at, operation }, vec![OPERATION_FORMAT]).ok()
}

/// The bytes of a reaction that becomes a dead letter at this position, for the first time.
pub fn encode_dead_reaction(bytes: &[u8], position: u64) -> Vec<u8> {
    let mut dead = vec![DEAD_REACTION_FORMAT];
    // Writing a number into memory cannot fail.
    dead = postcard::to_extend(&position, dead).unwrap_or_default();
    dead.extend(bytes);
    dead
}

/// Splits [`encode_dead_reaction`]; `None` for bytes in another format.
fn split_dead_reaction(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let body = bytes.strip_prefix(&[DEAD_REACTION_FORMAT])?;
    postcard::take_from_bytes(body).ok()
}

/// Whether these bytes are in a format of a newer version, which may be an operation.
pub fn is_newer_format(bytes: &[u8]) -> bool {
    let bytes = split_dead_reaction(bytes).map_or(bytes, |(_, bytes)| bytes);
    bytes.first().is_some_and(|format| *format > OPERATION_FORMAT && *format <= MAX_OPERATION_FORMAT)
}

/// The operation in these bytes, without a position.
///
/// # Errors
/// For bytes that are not an operation, or in an unknown format.
pub fn decode(bytes: &[u8]) -> Result<LoggedOperation, DamagedData> {
    let Some((position, bytes)) = split_dead_reaction(bytes) else { return decode_living(bytes) };
    let logged = decode_living(bytes)?;
    match logged.operation {
        Operation::React { .. } => Ok(LoggedOperation { died_at: Some(position), ..logged }),
        _ => Err(damaged("only a reaction has the position where it became a dead letter")),
    }
}

/// The operation in bytes that have not been a dead letter.
fn decode_living(bytes: &[u8]) -> Result<LoggedOperation, DamagedData> {
    let (&format, body) = bytes.split_first().ok_or_else(|| damaged("there are no bytes"))?;
    if format == OPERATION_FORMAT {
        return decode_body(body, |_| 0);
    }
    let former = FORMER_OPERATION_FORMATS.into_iter().find(|(former, _)| *former == format);
    let (_, missing) = former.ok_or_else(|| damaged(&format!("format {format} is unknown")))?;
    // The missing lists are empty, and what may be absent is. A reaction has the same bytes in all formats, and leaves these over.
    let body = [body, &vec![0; missing]].concat();
    decode_body(&body, |operation| if matches!(operation, FlatOperation::React { .. }) { missing } else { 0 })
}

/// The operation in these bytes, which has so many bytes after its end.
fn decode_body(body: &[u8], bytes_after: impl Fn(&FlatOperation<'_>) -> usize) -> Result<LoggedOperation, DamagedData> {
    let (flat, rest) =
        postcard::take_from_bytes::<FlatLoggedOperation<'_>>(body).map_err(|error| damaged(&error.to_string()))?;
    if rest.len() != bytes_after(&flat.operation) {
        return Err(damaged("there are bytes after the end"));
    }
    parse_operation(&flat).ok_or_else(|| damaged("a field is invalid"))
}

fn damaged(what: &str) -> DamagedData {
    DamagedData::new(format_args!("not an operation: {what}"))
}

fn flat_comment(row: &NewCommentRow) -> FlatNewComment<'_> {
    FlatNewComment {
        subject: FlatSubjectKey::of(&row.subject),
        path: row.path.as_bytes(),
        parent_id: row.parent_id.map(CommentId::get),
        reply_to: row.reply_to.as_ref().map(FlatNamed::of),
        state: enum_number(row.state),
        visibility: enum_number(row.visibility),
        author: FlatAuthor::of(&row.author),
        created_at: row.created_at,
        content: &row.content,
        html: &row.html,
        original_text: row.original_text.as_deref(),
        mentions: row.mentions.iter().map(FlatNamed::of).collect(),
        idempotency: row.idempotency.as_ref().map(|idempotency| (idempotency.key.as_str(), idempotency.request)),
        imported: row.imported.as_ref().map(flat_imported),
        role: row.author.role.map(enum_number),
        reasons: row.reasons.iter().map(|r| (enum_number(r.kind), r.detail.as_str(), r.count)).collect(),
        media: row.media.iter().map(FlatMedia::of).collect(),
        network: row.network.map(|network| *network.as_bytes()),
    }
}

fn flat_imported(imported: &ImportedFrom) -> FlatImported<'_> {
    let ImportedFrom { source, likes, dislikes, edited_at, pinned } = imported;
    FlatImported { source, likes: *likes, dislikes: *dislikes, edited_at: *edited_at, pinned: *pinned }
}

fn parse_operation(flat: &FlatLoggedOperation<'_>) -> Option<LoggedOperation> {
    let operation = match &flat.operation {
        FlatOperation::Publish(row) => Operation::Publish(Box::new(parse_comment(row)?)),
        FlatOperation::React { id, member, change } => Operation::React {
            id: parse_comment_id(*id)?,
            member: MemberId::new(*member).ok()?,
            change: parse_change(*change)?,
        },
    };
    Some(LoggedOperation::new(flat.at, operation))
}

fn parse_comment(flat: &FlatNewComment<'_>) -> Option<NewCommentRow> {
    Some(NewCommentRow {
        subject: flat.subject.parse()?,
        path: Path::from_bytes(flat.path).ok()?,
        parent_id: parse_option(flat.parent_id, parse_comment_id)?,
        reply_to: parse_option(flat.reply_to.as_ref(), FlatNamed::parse)?,
        state: parse_enum(flat.state)?,
        visibility: parse_enum(flat.visibility)?,
        author: flat.author.parse(flat.role)?,
        created_at: flat.created_at,
        content: flat.content.to_owned(),
        html: flat.html.to_owned(),
        original_text: flat.original_text.map(str::to_owned),
        mentions: parse_named(&flat.mentions)?,
        media: parse_media(&flat.media)?,
        reasons: flat.reasons.iter().map(|flat| parse_reason(*flat)).collect::<Option<_>>()?,
        idempotency: flat.idempotency.map(|(key, request)| IdempotencyKey { key: key.to_owned(), request }),
        imported: flat.imported.as_ref().map(|imported| ImportedFrom {
            source: imported.source.to_owned(),
            likes: imported.likes,
            dislikes: imported.dislikes,
            edited_at: imported.edited_at,
            pinned: imported.pinned,
        }),
        network: flat.network.map(NetworkDigest::from_bytes),
    })
}

fn parse_reason((kind, detail, count): (u8, &str, u64)) -> Option<ReviewReason> {
    Some(ReviewReason { kind: parse_enum(kind)?, detail: detail.to_owned(), count })
}

/// The order of the changes, which gives them their numbers.
const CHANGE_ORDER: [ReactionChange; 4] = [
    ReactionChange::Put(Reaction::Like),
    ReactionChange::Put(Reaction::Dislike),
    ReactionChange::Take(Reaction::Like),
    ReactionChange::Take(Reaction::Dislike),
];

const fn change_number(change: ReactionChange) -> u8 {
    match change {
        ReactionChange::Put(Reaction::Like) => 0,
        ReactionChange::Put(Reaction::Dislike) => 1,
        ReactionChange::Take(Reaction::Like) => 2,
        ReactionChange::Take(Reaction::Dislike) => 3,
    }
}

fn parse_change(number: u8) -> Option<ReactionChange> {
    CHANGE_ORDER.get(usize::from(number)).copied()
}

#[cfg(test)]
mod tests;
