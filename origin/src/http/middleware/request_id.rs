//! The id of a request: in the logs, in problems, and in `X-Request-Id` of every answer.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use gailou_shared::http_headers::is_valid_request_id;

pub(in crate::http) const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The odd constant nearest to 2^64 divided by the golden ratio: its multiples spread over all ids.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The caller's id if it is valid, else that of its trace, else a new one: a random start and a count.
pub(in crate::http) fn of(headers: &HeaderMap, trace: Option<String>) -> HeaderValue {
    static ID_START: LazyLock<u64> = LazyLock::new(rand::random);
    static ID_COUNT: AtomicU64 = AtomicU64::new(0);
    if let Some(id) = headers.get(&REQUEST_ID_HEADER).filter(|id| is_valid_request_id(id.as_bytes())) {
        return id.clone();
    }
    if let Some(trace) = trace.and_then(|trace| HeaderValue::try_from(trace).ok()) {
        return trace;
    }
    let id = ID_START.wrapping_add(ID_COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(GOLDEN_RATIO));
    HeaderValue::try_from(format!("{id:016x}")).unwrap_or_else(|_| HeaderValue::from_static("0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_differ() {
        assert_ne!(of(&HeaderMap::new(), None), of(&HeaderMap::new(), None));
    }

    #[test]
    fn id_is_that_of_the_trace_unless_the_caller_has_one() {
        let mut headers = HeaderMap::new();
        assert_eq!(of(&headers, Some("0af7".into())), "0af7");
        headers.insert(REQUEST_ID_HEADER, HeaderValue::from_static("mine"));
        assert_eq!(of(&headers, Some("0af7".into())), "mine");
    }
}
