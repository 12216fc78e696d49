//! What the origin and the edge exchange beyond the HTTP contract: headers, the signature of a request,
//! and the form of a push.
//!
//! The change feed, which the edge polls, is [`crate::wire::ChangeFeedPage`]. No IO and no clock here.

mod push;
mod signature;

pub use push::{PUSH_FORMAT_VERSION, PUSH_PATH, PushDocument, PushOutcome, PushedDictionary, PushedPage};
pub use signature::{
    BodyHash, SIGNATURE_WINDOW_SECONDS, SignatureDirection, SignatureError, SignedRequest, sign_request, verify_request,
};

/// The header of a write that its sender does not want to be done: the edge has refused its text, and the origin judges
/// whether it is kept. It has any value, and anybody may send it.
pub const REFUSED_HEADER: &str = "x-gailou-refused";
/// The header with the client's address. It counts only beside a valid [`SIGNATURE_HEADER`].
pub const CLIENT_HEADER: &str = "x-gailou-client";
/// The header with time and signature: `t=<Unix seconds>,v2=<hex>`.
pub const SIGNATURE_HEADER: &str = "x-gailou-edge";
/// The header with the hash of a signed request's body, in hexadecimal digits ([`BodyHash`]).
pub const BODY_HASH_HEADER: &str = "x-gailou-body";
/// The header with the comments that a page shows ([`crate::cache_tags::CacheTags`]). An answer without
/// it is not cached. It is meant for the edge alone, as are the next three.
pub const CACHE_TAGS_HEADER: &str = "x-gailou-shows";
/// The header with a moment before the rows of a page were read, in Unix milliseconds by the origin's
/// clock.
pub const MADE_HEADER: &str = "x-gailou-made";
/// The header with the subject's version of a page; 0 for a page that is not about one subject.
pub const SUBJECT_VERSION_HEADER: &str = "x-gailou-version";
/// The header in which the origin declares the subjects of a page hot: the seconds for which any copy of
/// it may be served without asking.
pub const HOT_FOR_HEADER: &str = "x-gailou-hot-for";
