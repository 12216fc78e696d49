//! Request headers that edge and origin must read alike. Only the values are parsed here; no HTTP types.

/// Whether the value of `If-None-Match` names the entity tag `etag` (RFC 9110: weak comparison; a list,
/// or `*` for any tag). Tags that contain a comma never match.
///
/// ```
/// use gailou_shared::http_headers::matches_etag;
/// assert!(matches_etag("\"a\", W/\"b\"", "\"b\""));
/// assert!(matches_etag("*", "\"b\""));
/// assert!(!matches_etag("\"a\"", "\"b\""));
/// ```
#[must_use]
pub fn matches_etag(if_none_match: &str, etag: &str) -> bool {
    if_none_match.trim() == "*" || if_none_match.split(',').any(|tag| opaque_tag(tag) == opaque_tag(etag))
}

/// A tag without the mark of a weak one.
fn opaque_tag(tag: &str) -> &str {
    let tag = tag.trim();
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// Shortest body that is compressed, in bytes: what fits into one packet is not smaller on its way.
pub const MIN_COMPRESSED_BYTES: usize = 1_000;

/// Whether the value of `Accept-Encoding` names this coding (RFC 9110, 12.5.3), with any weight but 0.
///
/// ```
/// use gailou_shared::http_headers::accepts_coding;
/// assert!(accepts_coding("br;q=1.0, GZIP;q=0.5", "gzip"));
/// assert!(!accepts_coding("br, gzip;q=0.000", "gzip"));
/// assert!(!accepts_coding("", "gzip"));
/// ```
#[must_use]
pub fn accepts_coding(accept_encoding: &str, coding: &str) -> bool {
    accept_encoding.split(',').any(|accepted| {
        let (name, weight) = accepted.split_once(';').unwrap_or((accepted, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(is_zero);
        name.trim().eq_ignore_ascii_case(coding) && !is_refused
    })
}

/// Whether a weight is 0, however it is written.
fn is_zero(weight: &str) -> bool {
    weight.starts_with('0') && weight.bytes().all(|digit| matches!(digit, b'0' | b'.'))
}

/// The token in the value of an `Authorization` header with the scheme `Bearer`; `None` for another
/// scheme and for an empty token.
///
/// ```
/// use gailou_shared::http_headers::bearer_token;
/// assert_eq!(bearer_token("Bearer abc"), Some("abc"));
/// assert_eq!(bearer_token("bearer  abc "), Some("abc"));
/// assert_eq!(bearer_token("Basic abc"), None);
/// assert_eq!(bearer_token("Bearer "), None);
/// ```
#[must_use]
pub fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whether a body of this `Content-Type` is read as JSON: `application/json`, or `application/merge-patch+json` of RFC
/// 7396; parameters do not matter.
///
/// ```
/// use gailou_shared::http_headers::is_json_type;
/// assert!(is_json_type("Application/JSON; charset=utf-8"));
/// assert!(is_json_type("application/merge-patch+json"));
/// assert!(!is_json_type("text/plain; application/json"));
/// assert!(!is_json_type(""));
/// ```
#[must_use]
pub fn is_json_type(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    ["application/json", "application/merge-patch+json"].iter().any(|json| kind.eq_ignore_ascii_case(json))
}

/// Longest request id of a caller, in bytes.
const MAX_REQUEST_ID_BYTES: usize = 64;

/// Whether a caller's `X-Request-Id` is used as it is: 1 to 64 of `A-Z a-z 0-9 _ -`, which any log can
/// hold. Any other request gets a new id.
///
/// ```
/// use gailou_shared::http_headers::is_valid_request_id;
/// assert!(is_valid_request_id(b"abc-DEF_1"));
/// assert!(!is_valid_request_id(b"<x>"));
/// ```
#[must_use]
pub fn is_valid_request_id(id: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.iter().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_tags_compare_weakly() {
        let check = |if_none_match: &str, expected: bool| {
            assert_eq!(matches_etag(if_none_match, "\"a\""), expected, "{if_none_match}");
            assert_eq!(matches_etag(if_none_match, "W/\"a\""), expected, "{if_none_match}");
        };
        check("\"a\"", true);
        check("W/\"a\"", true);
        check(" \"b\" , W/\"a\"", true);
        check(" * ", true);
        check("\"b\"", false);
        check("a", false);
        check("", false);
    }

    #[test]
    fn request_ids_of_other_characters_or_lengths_are_refused() {
        let check = |id: &[u8], expected: bool| assert_eq!(is_valid_request_id(id), expected, "{id:?}");
        check(b"abc-DEF_1", true);
        check(&[b'x'; 64], true);
        check(&[b'x'; 65], false);
        check(b"", false);
        check(b"a b", false);
        check(b"<x>", false);
    }
}
