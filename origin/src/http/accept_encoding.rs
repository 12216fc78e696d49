//! The codings that a client takes (RFC 9110, 12.5.3).

use axum::http::{HeaderMap, header};

use gailou_shared::http_headers::accepts_coding;

use crate::domain::content_coding::ContentCoding;

/// Every coding, the one with the shortest answers first.
const CODINGS_BY_SIZE: [ContentCoding; 2] = [ContentCoding::Brotli, ContentCoding::Gzip];

/// Whether the client takes this coding.
pub(super) fn is_accepted(coding: ContentCoding, request: &HeaderMap) -> bool {
    let codings = request.get(header::ACCEPT_ENCODING).and_then(|codings| codings.to_str().ok()).unwrap_or_default();
    accepts_coding(codings, coding.into())
}

/// The best coding that the client takes. Weights above 0 are no wishes here: who takes both gets the shorter answer.
pub(super) fn best(request: &HeaderMap) -> Option<ContentCoding> {
    CODINGS_BY_SIZE.into_iter().find(|coding| is_accepted(*coding, request))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn client_gets_the_shortest_coding_that_it_names() {
        let check = |codings: &'static str, expected: Option<ContentCoding>| {
            let request = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(codings))]);
            assert_eq!(best(&request), expected, "{codings}");
        };
        check("gzip, deflate, br", Some(ContentCoding::Brotli));
        check("gzip, deflate", Some(ContentCoding::Gzip));
        check("br;q=1.0, GZIP;q=0.5", Some(ContentCoding::Brotli));
        check("br;q=0, gzip", Some(ContentCoding::Gzip));
        check("br;q=0.000, gzip;q=0", None);
        check("identity", None);
        assert_eq!(best(&HeaderMap::new()), None);
    }
}
