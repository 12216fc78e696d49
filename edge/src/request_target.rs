//! The path and query of a request in the one form in which it is routed, signed and sent.
//!
//! The platform sends a request by its URL parser, which resolves dot segments and encodes some characters.
//! So a path with a dot segment is refused, and these characters are encoded here first: the parser changes
//! nothing, and the origin receives the bytes that were signed. Not here: which paths exist.

use std::borrow::Cow;

use gailou_shared::request_path::has_dot_segment;
use http::Uri;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// Characters of a path that a URL parser encodes or replaces (the path percent-encode set of the URL
/// standard, and the backslash, which it takes for a slash).
const PATH_SET: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'}');
/// Characters of a query that a URL parser encodes (the special-query percent-encode set).
const QUERY_SET: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'\'').add(b'<').add(b'>');

/// Path and query as a URL parser leaves them; `None` for a path with a dot segment.
#[must_use]
pub fn canonical_target(uri: &Uri) -> Option<Cow<'_, str>> {
    let (path, query) = (uri.path(), uri.query());
    if has_dot_segment(path) {
        return None;
    }
    let canonical_path: Cow<'_, str> = utf8_percent_encode(path, PATH_SET).into();
    let Some(query) = query else { return Some(canonical_path) };
    let canonical_query: Cow<'_, str> = utf8_percent_encode(query, QUERY_SET).into();
    Some(Cow::Owned(format!("{canonical_path}?{canonical_query}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(text: &str) -> Option<String> {
        canonical_target(&text.parse().unwrap()).map(Cow::into_owned)
    }

    /// What the platform sends of this path and query.
    fn sent(path_query: &str) -> String {
        let url = url::Url::parse(&format!("https://origin.example{path_query}")).unwrap();
        url[url::Position::BeforePath..url::Position::AfterQuery].to_owned()
    }

    #[test]
    fn dot_segment_is_refused_in_every_spelling() {
        for path in [
            "/v1/me/../../metrics",
            "/v1/me/..",
            "/v1/me/./overlay",
            "/v1/me/%2e%2e/%2E%2e/metrics",
            "/v1/me/.%2e/x",
            "/v1/me/%2E./x",
            "/v1/me\\..\\..\\metrics",
            "/v1/me/%5c..%5cx",
            "/v1/me/x%2f..%2f..%2fmetrics",
            "/v1/subjects/article/%2E%2E",
            "/v1/subjects/article/.",
        ] {
            assert_eq!(target(path), None, "{path}");
        }
    }

    #[test]
    fn other_paths_are_kept_as_they_are() {
        for path in
            ["/", "/v1/subjects/article/a%2Fb.c/comments?x=%2e%2e/../&y", "/v1/subjects/article/..a?", "//x/..."]
        {
            assert_eq!(target(path).as_deref(), Some(path));
            assert_eq!(sent(path), path);
        }
        assert_eq!(target("/a\"{}^|\\b?'{}^`|\\").as_deref(), Some("/a%22%7B%7D%5E|%5Cb?%27{}^`|\\"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// What is signed is what is sent, and a second pass changes nothing.
        #[test]
        fn url_parser_leaves_the_target_as_it_is(path in "(/[!-~]{0,6}|/(\\.|%2e|%2E|%2f|%5C|\\\\|a){0,5}){1,5}", query in "(\\?[!-~]{0,12})?") {
            let Ok(uri) = format!("{path}{query}").parse::<Uri>() else { return Ok(()) };
            if uri.host().is_some() { return Ok(()) }
            let first = canonical_target(&uri).map(Cow::into_owned);
            let Some(first) = first else { return Ok(()) };
            prop_assert_eq!(sent(&first), first.clone());
            prop_assert_eq!(target(&first), Some(first));
        }
    }
}
