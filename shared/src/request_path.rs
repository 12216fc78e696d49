//! Paths that edge and origin treat alike: those that change on their way, and those of other systems' widgets. A dot
//! segment names another path after a client, a proxy or a URL parser has resolved it, so both refuse it.

use alloc::vec::Vec;

use percent_encoding::percent_decode_str;

/// Where the calls of other systems' widgets are.
pub const COMPAT_PATHS: &str = "/compat/";
/// What a refusal of such a path says about the field `path`.
pub const DOT_SEGMENT_DETAIL: &str = "must have no segment . or .., however it is encoded";

/// Whether a path has a segment `.` or `..` in any spelling: percent-encoded once, or between encoded
/// slashes or backslashes.
///
/// ```
/// use gailou_shared::request_path::has_dot_segment;
/// for path in ["/a/../b", "/a/%2E%2e", "/a/.%2e/b", "/v1/me/x%2f..%2fy", "/a\\..\\b", "/."] {
///     assert!(has_dot_segment(path), "{path}");
/// }
/// for path in ["/a.b/..c/...", "/v1/subjects/article/a%2Fb", "/%2e%2ea", "/%252e%252e", "/"] {
///     assert!(!has_dot_segment(path), "{path}");
/// }
/// ```
#[must_use]
pub fn has_dot_segment(path: &str) -> bool {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    decoded.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| matches!(segment, b"." | b".."))
}
