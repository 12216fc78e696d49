//! The id of a request: in the logs, in problems, and in `X-Request-Id` of every answer.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub(in crate::http) const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id of a caller's, in bytes.
const MAX_ID_BYTES: usize = 64;
/// The odd constant nearest to 2^64 divided by the golden ratio: its multiples spread over all ids.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The caller's id if it is a sane one, else a new one: a random start and a count.
pub(in crate::http) fn of(headers: &HeaderMap) -> HeaderValue {
    static ID_START: LazyLock<u64> = LazyLock::new(rand::random);
    static ID_COUNT: AtomicU64 = AtomicU64::new(0);
    if let Some(id) = headers.get(&REQUEST_ID_HEADER).filter(|id| is_sane(id.as_bytes())) {
        return id.clone();
    }
    let id = ID_START.wrapping_add(ID_COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(GOLDEN_RATIO));
    HeaderValue::try_from(format!("{id:016x}")).unwrap_or_else(|_| HeaderValue::from_static("0"))
}

/// Whether an id can be printed in a log as it is.
fn is_sane(id: &[u8]) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sane_ids_are_kept() {
        let check = |id: &str, expected: bool| assert_eq!(is_sane(id.as_bytes()), expected, "{id}");
        check("abc-DEF_1", true);
        check(&"x".repeat(64), true);
        check(&"x".repeat(65), false);
        check("", false);
        check("a b", false);
        check("<x>", false);
    }

    #[test]
    fn new_ids_differ() {
        assert_ne!(of(&HeaderMap::new()), of(&HeaderMap::new()));
    }
}
