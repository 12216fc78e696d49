//! The signature of a request between edge and origin, made with the edge secret.
//!
//! It covers the time, method, path with query, client address and body, so none of them can be changed,
//! and the request cannot be sent again later than [`SIGNATURE_WINDOW_SECONDS`]. Within that window it can
//! be sent again: writes have their idempotency keys for that. It says nothing about the member; that is
//! [`crate::token`]. The time is a parameter.

use alloc::format;
use alloc::string::String;
use core::fmt;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// Most seconds between the time of a signature and the verifier's, either way.
pub const SIGNATURE_WINDOW_SECONDS: u64 = 60;

/// The parts of a request that are signed.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// Path and query, as on the request line.
    pub path_query: &'a str,
    /// The client's address, as in [`CLIENT_HEADER`](super::CLIENT_HEADER); empty without that header.
    pub client: &'a str,
    /// The whole body.
    pub body: &'a [u8],
}

/// Why a signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureError {
    /// Not `t=<digits>,v1=<64 hex digits>`.
    Malformed,
    /// Its time is more than [`SIGNATURE_WINDOW_SECONDS`] away.
    Time,
    /// Made with another secret, or for another request.
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
/// use gailou_shared::edge_protocol::{SignedRequest, sign_request, verify_request};
/// let request = SignedRequest { method: "GET", path_query: "/v1/me/overlay?ids=7", client: "192.0.2.1", body: b"" };
/// let header = sign_request(b"secret", 1_800_000_000, &request);
/// assert!(header.starts_with("t=1800000000,v1="));
/// assert_eq!(verify_request(b"secret", 1_800_000_030, &request, &header), Ok(()));
/// ```
#[must_use]
pub fn sign_request(secret: &[u8], now: u64, request: &SignedRequest<'_>) -> String {
    let Some(mac) = request_mac(secret, now, request) else { return String::new() };
    format!("t={now},v1={}", hex::encode(mac.finalize().into_bytes()))
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

/// Whether a header has the form of a signature of this time. A body is read only then.
///
/// # Errors
/// [`SignatureError::Malformed`] or [`SignatureError::Time`].
pub fn check_form(now: u64, header: &str) -> Result<(), SignatureError> {
    let (time, _) = parse_header(header).ok_or(SignatureError::Malformed)?;
    if now.abs_diff(time) > SIGNATURE_WINDOW_SECONDS { Err(SignatureError::Time) } else { Ok(()) }
}

/// The MAC over the five lines of a request. HMAC accepts keys of any length, so `None` is not expected.
fn request_mac(secret: &[u8], time: u64, request: &SignedRequest<'_>) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    let SignedRequest { method, path_query, client, body } = request;
    let body = hex::encode(Sha256::digest(body));
    mac.update(format!("{time}\n{method}\n{path_query}\n{client}\n{body}").as_bytes());
    Some(mac)
}

fn parse_header(header: &str) -> Option<(u64, [u8; 32])> {
    let (time, signature_hex) = header.strip_prefix("t=")?.split_once(",v1=")?;
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
    const REQUEST: SignedRequest<'_> =
        SignedRequest { method: "POST", path_query: "/v1/guests?x=1", client: "192.0.2.1", body: br#"{"name":"a"}"# };

    #[test]
    fn signature_format_is_fixed() {
        // Computed by another implementation from the documented five lines.
        let expected = "e7ffba85339d1bf63a48a1f6ac42d666c14992282cd4c2d85e5b3825ccb9650d";
        assert_eq!(sign_request(b"secret", NOW, &REQUEST), format!("t={NOW},v1={expected}"));
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
        check(NOW, SignedRequest { method: "PUT", ..REQUEST }, Err(SignatureError::Mismatch));
        check(NOW, SignedRequest { path_query: "/v1/guests", ..REQUEST }, Err(SignatureError::Mismatch));
        check(NOW, SignedRequest { client: "192.0.2.2", ..REQUEST }, Err(SignatureError::Mismatch));
        check(NOW, SignedRequest { body: b"{}", ..REQUEST }, Err(SignatureError::Mismatch));
        assert_eq!(verify_request(b"other", NOW, &REQUEST, &header), Err(SignatureError::Mismatch));
    }

    #[test]
    fn malformed_header_is_refused() {
        let good = sign_request(b"secret", NOW, &REQUEST);
        for bad in ["", "t=", "t=1", "t=,v1=", "t=+1,v1=", &good.replace("v1", "v2"), &good[..good.len() - 1]] {
            assert_eq!(verify_request(b"secret", NOW, &REQUEST, bad), Err(SignatureError::Malformed), "{bad}");
        }
        let later = good.replace(&NOW.to_string(), &(NOW + 1).to_string());
        assert_eq!(verify_request(b"secret", NOW, &REQUEST, &later), Err(SignatureError::Mismatch));
    }

    proptest! {
        #[test]
        fn arbitrary_header_is_refused(header: String, body: Vec<u8>) {
            let request = SignedRequest { body: &body, ..REQUEST };
            prop_assert!(verify_request(b"secret", NOW, &request, &header).is_err());
        }

        #[test]
        fn signed_request_is_verified(secret: Vec<u8>, path_query: String, client: String, body: Vec<u8>) {
            let request = SignedRequest { method: "PATCH", path_query: &path_query, client: &client, body: &body };
            prop_assert_eq!(verify_request(&secret, NOW, &request, &sign_request(&secret, NOW, &request)), Ok(()));
        }
    }
}
