//! The header `Idempotency-Key`.

use axum::extract::OptionalFromRequestParts;
use axum::http::request::Parts;
use gailou_shared::limits;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::row::IdempotencyKey;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// The header with the key under which a repeated write is done once.
pub(in crate::http) const IDEMPOTENCY_KEY_HEADER: &str = "idempotency-key";

/// An idempotency key, not yet bound to the body it came with; a malformed one is
/// `400 invalid_request` on `Idempotency-Key`.
#[derive(Debug)]
pub(in crate::http) struct IdempotencyHeader {
    key: String,
    /// Over method and path so far.
    hasher: Sha256,
}

impl IdempotencyHeader {
    /// The key of this request with this body.
    pub(in crate::http) fn with_body(mut self, body: &[u8]) -> IdempotencyKey {
        hash_part(&mut self.hasher, body);
        IdempotencyKey { key: self.key, request: self.hasher.finalize().into() }
    }
}

impl OptionalFromRequestParts<HttpState> for IdempotencyHeader {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Option<Self>, Refusal> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY_HEADER) else { return Ok(None) };
        let is_good = |key: &&str| {
            (1..=limits::MAX_IDEMPOTENCY_KEY_BYTES).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic())
        };
        let Some(key) = value.to_str().ok().filter(is_good) else {
            return Err(Refusal::field("Idempotency-Key", "must be 1 to 128 visible ASCII characters"));
        };
        let mut hasher = Sha256::new();
        hash_part(&mut hasher, parts.method.as_str().as_bytes());
        hash_part(&mut hasher, parts.uri.path().as_bytes());
        Ok(Some(Self { key: key.to_owned(), hasher }))
    }
}

impl IntoParams for IdempotencyHeader {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let description = "The same key and body from the same member within 24 h get the first answer again. Without \
                           the header, a request is not deduplicated.";
        let key = parameters::text().pattern(Some("^[!-~]{1,128}$"));
        vec![parameters::header("Idempotency-Key", description, key)]
    }
}

/// Each part behind its length, so that no two requests hash the same bytes.
fn hash_part(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_be_bytes());
    hasher.update(part);
}
