//! The signature of a request between edge and origin, made with the edge secret.
//!
//! It covers the direction, the time, method, path with query, client address, token, idempotency key and
//! the hash of the body, so none of them can be changed, and the request cannot be sent again later than
//! [`SIGNATURE_WINDOW_SECONDS`]. Within that window the same request can be sent again: writes have their
//! idempotency keys for that. The hash travels in a header of its own, so a signature is verified before
//! the body is read. It says nothing about the member; that is [`crate::token`]. The time is a parameter.

use alloc::format;
use alloc::string::String;
use core::fmt;

use hmac::digest::CtOutput;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// Most seconds between the time of a signature and the verifier's, either way.
pub const SIGNATURE_WINDOW_SECONDS: u64 = 60;

/// Which way a signed request goes. A signature of one direction never verifies in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureDirection {
    /// A reader's request that the edge forwards, or a question of the edge's own.
    EdgeToOrigin,
    /// A push.
    OriginToEdge,
}

impl SignatureDirection {
    const fn label(self) -> &'static str {
        match self {
            Self::EdgeToOrigin => "gailou edge to origin",
            Self::OriginToEdge => "gailou origin to edge",
        }
    }
}

/// The SHA-256 of a body, as in [`BODY_HASH_HEADER`](super::BODY_HASH_HEADER).
///
/// ```
/// use gailou_shared::edge_protocol::BodyHash;
/// let hash = BodyHash::of(b"{}");
/// assert!(hash.is_of(b"{}") && !hash.is_of(b"[]"));
/// assert_eq!(BodyHash::parse(&hash.to_string()), Some(hash));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyHash([u8; 32]);

impl BodyHash {
    /// The hash of `body`.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        Self(Sha256::digest(body).into())
    }

    /// The hash in the value of a header: 64 hexadecimal digits.
    #[must_use]
    pub fn parse(header: &str) -> Option<Self> {
        let mut hash = [0; 32];
        hex::decode_to_slice(header, &mut hash).ok()?;
        Some(Self(hash))
    }

    /// Whether this is the hash of `body`, in constant time.
    #[must_use]
    pub fn is_of(&self, body: &[u8]) -> bool {
        CtOutput::<Sha256>::new(self.0.into()) == CtOutput::new(Sha256::digest(body))
    }
}

impl fmt::Display for BodyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// The parts of a request that are signed.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// Which way it goes.
    pub direction: SignatureDirection,
    /// The method, in capitals.
    pub method: &'a str,
    /// Path and query, as on the request line.
    pub path_query: &'a str,
    /// The client's address, as in [`CLIENT_HEADER`](super::CLIENT_HEADER); empty without that header.
    pub client: &'a str,
    /// The value of `Authorization`; empty without that header.
    pub authorization: &'a str,
    /// The value of `Idempotency-Key`; empty without that header.
    pub idempotency_key: &'a str,
    /// The hash of the whole body.
    pub body_hash: BodyHash,
}

impl<'a> SignedRequest<'a> {
    /// A request without a token and an idempotency key.
    #[must_use]
    pub const fn anonymous(
        direction: SignatureDirection,
        method: &'a str,
        path_query: &'a str,
        client: &'a str,
        body_hash: BodyHash,
    ) -> Self {
        Self { direction, method, path_query, client, authorization: "", idempotency_key: "", body_hash }
    }
}

/// Why a signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureError {
    /// Not `t=<digits>,v2=<64 hex digits>`.
    Malformed,
    /// Its time is more than [`SIGNATURE_WINDOW_SECONDS`] away.
    Time,
    /// Made with another secret, for another request or for the other direction.
    Mismatch,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the edge signature is malformed",
            Self::Time => "the edge signature is too old or from the future",
            Self::Mismatch => "the edge signature does not match the request",
        })
    }
}

impl core::error::Error for SignatureError {}

/// The value of [`SIGNATURE_HEADER`](super::SIGNATURE_HEADER) for `request` at `now` (Unix seconds).
///
/// ```
/// use gailou_shared::edge_protocol::{BodyHash, SignatureDirection, SignedRequest, sign_request, verify_request};
/// let request = SignedRequest::anonymous(SignatureDirection::OriginToEdge, "POST", "/edge/push", "", BodyHash::of(b"{}"));
/// let header = sign_request(b"secret", 1_800_000_000, &request);
/// assert!(header.starts_with("t=1800000000,v2="));
/// assert_eq!(verify_request(b"secret", 1_800_000_030, &request, &header), Ok(()));
/// ```
#[must_use]
pub fn sign_request(secret: &[u8], now: u64, request: &SignedRequest<'_>) -> String {
    let Some(mac) = request_mac(secret, now, request) else { return String::new() };
    format!("t={now},v2={}", hex::encode(mac.finalize().into_bytes()))
}

/// Verifies that `header` signs `request` at `now` (Unix seconds), in constant time.
///
/// # Errors
/// [`SignatureError`] says which rule the header breaks.
pub fn verify_request(
    secret: &[u8],
    now: u64,
    request: &SignedRequest<'_>,
    header: &str,
) -> Result<(), SignatureError> {
    let (time, signature) = parse_header(header).ok_or(SignatureError::Malformed)?;
    if now.abs_diff(time) > SIGNATURE_WINDOW_SECONDS {
        return Err(SignatureError::Time);
    }
    let mac = request_mac(secret, time, request).ok_or(SignatureError::Mismatch)?;
    mac.verify_slice(&signature).map_err(|_| SignatureError::Mismatch)
}

/// The MAC over the eight lines of a request; no part of a request has a line break. HMAC accepts keys of
/// any length, so `None` is not expected.
fn request_mac(secret: &[u8], time: u64, request: &SignedRequest<'_>) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    let SignedRequest { direction, method, path_query, client, authorization, idempotency_key, body_hash } = request;
    let direction = direction.label();
    let (authorization, idempotency_key) = (hash_of_value(authorization), hash_of_value(idempotency_key));
    let lines = [method, path_query, client, &*authorization, &*idempotency_key];
    mac.update(format!("{direction}\n{time}\n{}\n{body_hash}", lines.join("\n")).as_bytes());
    Some(mac)
}

/// The hash of a header's value in hexadecimal digits; empty without the header.
fn hash_of_value(value: &str) -> String {
    if value.is_empty() { String::new() } else { hex::encode(Sha256::digest(value)) }
}

fn parse_header(header: &str) -> Option<(u64, [u8; 32])> {
    let (time, signature_hex) = header.strip_prefix("t=")?.split_once(",v2=")?;
    if time.is_empty() || !time.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut signature = [0; 32];
    hex::decode_to_slice(signature_hex, &mut signature).ok()?;
    Some((time.parse().ok()?, signature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const NOW: u64 = 1_800_000_000;
    const REQUEST: SignedRequest<'_> = SignedRequest {
        direction: SignatureDirection::EdgeToOrigin,
        method: "POST",
        path_query: "/v1/guests?x=1",
        client: "192.0.2.1",
        authorization: "Bearer a.b.c",
        idempotency_key: "k1",
        body_hash: BodyHash([7; 32]),
    };

    #[test]
    fn signature_format_is_fixed() {
        // Computed by another implementation from the documented eight lines.
        let check = |request: SignedRequest<'_>, expected: &str| {
            assert_eq!(sign_request(b"secret", NOW, &request), format!("t={NOW},v2={expected}"), "{request:?}");
        };
        check(REQUEST, "be971f0e7da721e309ab7b27f6d1717db14e5511d9b79b92ea994078f31c6238");
        let (direction, body_hash) = (SignatureDirection::OriginToEdge, BodyHash::of(b"{}"));
        check(
            SignedRequest::anonymous(direction, "POST", "/edge/push", "", body_hash),
            "ebc1739aef77851018881233c6f68be4f74e4c6fd7178abca7c3361431d40283",
        );
    }

    #[test]
    fn signature_fits_one_request_for_a_minute() {
        let header = sign_request(b"secret", NOW, &REQUEST);
        let check = |now, request: SignedRequest<'_>, expected| {
            assert_eq!(verify_request(b"secret", now, &request, &header), expected, "{now} {request:?}");
        };
        check(NOW + 60, REQUEST, Ok(()));
        check(NOW - 60, REQUEST, Ok(()));
        check(NOW + 61, REQUEST, Err(SignatureError::Time));
        check(NOW - 61, REQUEST, Err(SignatureError::Time));
        let mismatch = |request| check(NOW, request, Err(SignatureError::Mismatch));
        mismatch(SignedRequest { direction: SignatureDirection::OriginToEdge, ..REQUEST });
        mismatch(SignedRequest { method: "PUT", ..REQUEST });
        mismatch(SignedRequest { path_query: "/v1/guests", ..REQUEST });
        mismatch(SignedRequest { client: "192.0.2.2", ..REQUEST });
        mismatch(SignedRequest { authorization: "Bearer a.b.d", ..REQUEST });
        mismatch(SignedRequest { authorization: "", ..REQUEST });
        mismatch(SignedRequest { idempotency_key: "k2", ..REQUEST });
        mismatch(SignedRequest { idempotency_key: "", ..REQUEST });
        mismatch(SignedRequest { authorization: "", idempotency_key: "Bearer a.b.c", ..REQUEST });
        mismatch(SignedRequest { body_hash: BodyHash::of(b"{}"), ..REQUEST });
        assert_eq!(verify_request(b"other", NOW, &REQUEST, &header), Err(SignatureError::Mismatch));
    }

    #[test]
    fn malformed_header_is_refused() {
        let good = sign_request(b"secret", NOW, &REQUEST);
        for bad in ["", "t=", "t=1", "t=,v2=", "t=+1,v2=", &good.replace("v2", "v1"), &good[..good.len() - 1]] {
            assert_eq!(verify_request(b"secret", NOW, &REQUEST, bad), Err(SignatureError::Malformed), "{bad}");
        }
        let later = good.replace(&NOW.to_string(), &(NOW + 1).to_string());
        assert_eq!(verify_request(b"secret", NOW, &REQUEST, &later), Err(SignatureError::Mismatch));
    }

    #[test]
    fn hash_of_a_body_has_64_digits() {
        let digits = BodyHash::of(b"").to_string();
        assert_eq!(digits, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for bad in ["", "e3", &digits[1..], &format!("{digits}00"), &digits.replace('e', "g")] {
            assert_eq!(BodyHash::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_header_is_refused(header: String, body: Vec<u8>) {
            let request = SignedRequest { body_hash: BodyHash::of(&body), ..REQUEST };
            prop_assert!(verify_request(b"secret", NOW, &request, &header).is_err());
        }

        #[test]
        fn signed_request_is_verified(secret: Vec<u8>, path_query: String, client: String, body: Vec<u8>) {
            let body_hash = BodyHash::of(&body);
            prop_assert!(body_hash.is_of(&body));
            let request = SignedRequest { method: "PATCH", path_query: &path_query, client: &client, body_hash, ..REQUEST };
            prop_assert_eq!(verify_request(&secret, NOW, &request, &sign_request(&secret, NOW, &request)), Ok(()));
        }
    }
}
