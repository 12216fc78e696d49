//! The value of a reservation.
//!
//! | first byte | then |
//! |---|---|
//! | `0` | the bytes of an operation that may have been appended or not |
//! | `1` | the bytes of an operation that was appended, as the first versions wrote it |
//! | `2` | of an operation that was appended: its time, its comment (8 bytes each, big-endian), the comment's state (1 byte), the hash of its request (32 bytes) |

use gailou_shared::id::CommentId;
use gailou_shared::wire::CommentState;

use crate::adapters::redis::pending::damaged;
use crate::domain::codec::operation::decode;
use crate::domain::columns::StoredEnum as _;
use crate::domain::operation::LoggedOperation;
use crate::domain::row::RememberedRequest;
use crate::ports::pending::{AppendedKey, KeyHolder, PendingError};

/// The length of a value that is kept of an appended operation.
pub(super) const APPENDED_BYTES: usize = 1 + 8 + 8 + 1 + 32;

/// The value of an appended operation.
pub(super) fn encode_appended(appended: &AppendedKey) -> Vec<u8> {
    let RememberedRequest { request, id, state } = &appended.request;
    let mut value = Vec::with_capacity(APPENDED_BYTES);
    value.push(b'2');
    value.extend(appended.at.to_be_bytes());
    value.extend(id.get().to_be_bytes());
    value.push(u8::try_from(state.number()).unwrap_or(u8::MAX));
    value.extend(request);
    value
}

pub(super) fn decode_holder(value: &[u8]) -> Result<KeyHolder, PendingError> {
    let operation = |bytes| -> Result<LoggedOperation, PendingError> { decode(bytes).map_err(damaged) };
    let holder = match value.split_first() {
        Some((b'0', bytes)) => Some(KeyHolder::Reserved(Box::new(operation(bytes)?))),
        Some((b'1', bytes)) => AppendedKey::of(&operation(bytes)?).map(KeyHolder::Appended),
        Some((b'2', bytes)) => decode_appended(bytes).map(KeyHolder::Appended),
        _ => None,
    };
    holder.ok_or_else(|| PendingError("a reservation cannot be read".into()))
}

fn decode_appended(bytes: &[u8]) -> Option<AppendedKey> {
    let (at, bytes) = bytes.split_first_chunk()?;
    let (id, bytes) = bytes.split_first_chunk()?;
    let (state, request) = bytes.split_first()?;
    let request = RememberedRequest {
        request: request.try_into().ok()?,
        id: CommentId::new(u64::from_be_bytes(*id)).ok()?,
        state: CommentState::from_number(i64::from(*state)).ok()?,
    };
    Some(AppendedKey { at: u64::from_be_bytes(*at), request })
}
