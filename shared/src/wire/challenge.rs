//! What a guest has to answer before a write is done, in the form of the service that made it.

use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// A challenge. The answer goes into the header `X-Gailou-Challenge` of the same request, sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Challenge {
    /// A proof of work.
    Altcha(AltchaChallenge),
    /// Cloudflare's widget.
    Turnstile(TurnstileChallenge),
}

/// A proof of work by ALTCHA's scheme, version 1: the number from 0 to `maxnumber` is to be found whose decimal digits
/// behind `salt` have the SHA-256 `challenge`. The answer is ALTCHA's payload: the JSON object of `algorithm`, `challenge`,
/// `number`, `salt` and `signature` in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AltchaChallenge {
    /// `SHA-256`.
    pub algorithm: String,
    /// 64 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{64}$"))]
    pub challenge: String,
    /// The largest number that it can be.
    pub maxnumber: u32,
    /// It says when the challenge expires (`expires`, in seconds since 1970) and for which guest it is (`guest`).
    pub salt: String,
    /// 64 hexadecimal digits, to be sent back as they are.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{64}$"))]
    pub signature: String,
}

/// A widget of Cloudflare Turnstile. The answer is the token that the widget gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnstileChallenge {
    /// The `sitekey` of the widget.
    pub sitekey: String,
}
