//! The keys of pages, as edge and origin write them: path and query in one canonical form.
//!
//! A key has percent-encoded segments, only the parameters that count, in a fixed order and without
//! defaults. So the page that the origin pushes is the page that the edge finds. Not here: which
//! requests are pages and which parameters they have.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::id::SubjectKey;
use crate::request_path::has_dot_segment;

/// Characters to percent-encode: all but the unreserved ones of RFC 3986.
const ESCAPED_CHARS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A segment of a path, or the value of a parameter, percent-encoded.
pub fn encode(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, ESCAPED_CHARS)
}

/// The name of a subject in a path: `type/key`, percent-encoded. `None` for a key that has a dot segment,
/// such as `..` or `a/../b`: it would change the path, however it is encoded.
///
/// ```
/// use gailou_shared::{id::SubjectKey, page_key::subject_segments};
/// let segments = |key: &str| subject_segments(&SubjectKey::new("article", key).unwrap());
/// assert_eq!(segments("a/b").as_deref(), Some("article/a%2Fb"));
/// assert_eq!(segments(".."), None);
/// ```
#[must_use]
pub fn subject_segments(subject: &SubjectKey) -> Option<String> {
    let segments = format!("{}/{}", encode(subject.kind()), encode(subject.key()));
    (!has_dot_segment(&segments)).then_some(segments)
}

/// The key of a path with these parameters; a parameter without a value is left out.
///
/// ```
/// use gailou_shared::page_key::page_key;
/// assert_eq!(page_key("/p", &[("sort", Some("new")), ("limit", None), ("cursor", Some("c"))]), "/p?sort=new&cursor=c");
/// ```
#[must_use]
pub fn page_key<V: AsRef<str>>(path: &str, parameters: &[(&str, Option<V>)]) -> String {
    let mut key = path.to_owned();
    let mut separator = '?';
    for (name, value) in parameters {
        let Some(value) = value else { continue };
        key.push(separator);
        key.push_str(name);
        key.push('=');
        key.extend(utf8_percent_encode(value.as_ref(), ESCAPED_CHARS));
        separator = '&';
    }
    key
}

/// The value of a parameter, unless it is the default.
#[must_use]
pub fn unless_default(value: usize, default: usize) -> Option<String> {
    (value != default).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_parameters_are_left_out() {
        let check = |parameters: &[(&str, Option<&str>)], expected: &str| {
            assert_eq!(page_key("/p", parameters), expected);
        };
        check(&[], "/p");
        check(&[("sort", None), ("limit", None)], "/p");
        check(&[("sort", None), ("limit", Some("5"))], "/p?limit=5");
        check(&[("sort", Some("new")), ("limit", None), ("cursor", Some("c"))], "/p?sort=new&cursor=c");
        check(&[("subject", Some("article/7"))], "/p?subject=article%2F7");
    }

    #[test]
    fn defaults_have_no_value() {
        assert_eq!(unless_default(20, 20), None);
        assert_eq!(unless_default(5, 20).as_deref(), Some("5"));
    }
}
