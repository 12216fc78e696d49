//! Which requests are public pages, and the one name each page has.
//!
//! A key is the canonical path and query of a page: percent-encoding as the platform would write
//! it, known parameters only, in a fixed order, defaults left out. So unknown parameters, their
//! order and spelling never split a cache, and the origin is asked for exactly what is stored.
//! What is doubtful here (a wrong value, a parameter given twice) is no page: it goes to the
//! origin as it came, which says what is wrong with it. So does a list of an odd limit.
//!
//! A place in a walk has one name too: a cursor counts only in the one form its bytes have, and the
//! sort it knows is not said beside it. Whether it is signed the origin alone can tell; a forged
//! one is refused there, and what is refused is not stored.

use std::borrow::Cow;

use gailou_shared::cursor::Cursor;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Limits whose lists are stored, beside the default: those that clients have a reason to use. A list
/// of another one is the origin's to answer each time, so that nobody fills the caches with a hundred
/// copies of it.
const STORED_LIMITS: [&str; 4] = ["10", "20", "50", "100"];
/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A public page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Canonical path and query.
    pub path_query: String,
    /// Whether the store all colos share may hold it. Pages behind a cursor may not: there are too
    /// many of them for a store that is paid by the write.
    pub shared: bool,
}

/// What a query parameter of a page may say.
struct Param {
    name: &'static str,
    /// Left out of the key.
    default: &'static str,
    ok: fn(&str) -> bool,
}

const SORT: &str = "sort";
const CURSOR: Param = Param { name: "cursor", default: "", ok: |v| Cursor::unverified(v).is_some() };
const LIMIT: Param = Param { name: "limit", default: "20", ok: |v| is_number(v, 1, limits::PAGE) };

const LIST: &[Param] = &[Param { name: SORT, default: "hot", ok: |v| Sort::parse(v).is_some() }, LIMIT, CURSOR];
const REPLIES: &[Param] =
    &[Param { name: SORT, default: "hot", ok: |v| matches!(v, "hot" | "old" | "new") }, LIMIT, CURSOR];
const TREE: &[Param] = &[
    Param { name: "depth", default: "3", ok: |v| is_number(v, 1, limits::DEPTH) },
    Param { name: "limit", default: "200", ok: |v| is_number(v, 1, limits::TREE_NODES) },
    CURSOR,
];
const HISTORY: &[Param] = &[LIMIT, CURSOR];
const HTML: &[Param] = &[
    Param { name: "fragment", default: "0", ok: |v| matches!(v, "0" | "1") },
    Param { name: SORT, default: "hot", ok: |v| Sort::parse(v).is_some() },
    LIMIT,
    CURSOR,
];

/// The key of the page at `path` and `query`, `None` when that is no page.
///
/// ```
/// use gailou_edge::key::page;
/// let key = page("/v1/subjects/video/7/comments", Some("utm=x&limit=20&sort=new")).unwrap();
/// assert_eq!(key.path_query, "/v1/subjects/video/7/comments?sort=new");
/// assert_eq!(page("/v1/subjects/video/7/comments", Some("limit=0")), None);
/// ```
#[must_use]
pub fn page(path: &str, query: Option<&str>) -> Option<Key> {
    let query = query.unwrap_or_default();
    if path == "/v1/counts" {
        return counts(query);
    }
    let mut segments = path.strip_prefix('/')?.split('/');
    let segments: [Option<&str>; 6] = std::array::from_fn(|_| segments.next());
    match segments {
        [Some("v1"), Some("subjects"), Some(kind), Some(key), None, None] => {
            build(format!("/v1/subjects/{}", subject(kind, key)?), query, &[])
        }
        [Some("v1"), Some("subjects"), Some(kind), Some(key), Some("comments"), None] => {
            build(format!("/v1/subjects/{}/comments", subject(kind, key)?), query, LIST)
        }
        [Some("v1"), Some("comments"), Some(id), rest, None, None] => {
            let id: CommentId = id.parse().ok()?;
            let (tail, params) = match rest {
                None => ("", &[][..]),
                Some("replies") => ("/replies", REPLIES),
                Some("tree") => ("/tree", TREE),
                Some("ancestors") => ("/ancestors", &[][..]),
                Some("context") => ("/context", &[][..]),
                Some(_) => return None,
            };
            build(format!("/v1/comments/{id}{tail}"), query, params)
        }
        [Some("v1"), Some("members"), Some(id), Some("comments"), None, None] => {
            let id: MemberId = id.parse().ok()?;
            build(format!("/v1/members/{id}/comments"), query, HISTORY)
        }
        [Some("t"), Some(kind), Some(key), None, None, None] => {
            build(format!("/t/{}", subject(kind, key)?), query, HTML)
        }
        _ => None,
    }
}

fn build(mut path_query: String, query: &str, params: &[Param]) -> Option<Key> {
    let mut values: [Option<Cow<'_, str>>; 4] = Default::default();
    for (name, value) in pairs(query) {
        let Some(at) = params.iter().position(|p| p.name == name) else { continue };
        let (param, slot) = (params.get(at)?, values.get_mut(at)?);
        let value = value?;
        if slot.is_some() || !(param.ok)(&value) {
            return None;
        }
        *slot = Some(value);
    }
    // A cursor knows its sort: beside it the same one says nothing, and another is an error.
    let cursor = params.iter().zip(&values).find(|(param, _)| param.name == CURSOR.name);
    let cursor = cursor.and_then(|(_, value)| Cursor::unverified(value.as_deref()?));
    let mut shared = cursor.is_none();
    let mut separator = '?';
    for (param, value) in params.iter().zip(values) {
        let Some(value) = value else { continue };
        match cursor {
            Some(cursor) if param.name == SORT && value != cursor.sort.name() => return None,
            Some(_) if param.name == SORT => continue,
            _ if value == param.default => continue,
            _ => {}
        }
        if param.name == LIMIT.name && !STORED_LIMITS.contains(&&*value) {
            return None;
        }
        shared &= matches!(param.name, SORT | "fragment" | "limit");
        path_query.push(separator);
        path_query.push_str(param.name);
        path_query.push('=');
        path_query.extend(utf8_percent_encode(&value, RESERVED));
        separator = '&';
    }
    Some(Key { path_query, shared })
}

/// The answer is a map by subject, so order and repetition of the subjects say nothing.
fn counts(query: &str) -> Option<Key> {
    let mut subjects = Vec::new();
    for (name, value) in pairs(query) {
        if name != "subject" {
            continue;
        }
        let value = value?;
        let (kind, key) = value.split_once('/')?;
        SubjectKey::new(kind, key).ok()?;
        subjects.push(utf8_percent_encode(&value, RESERVED).to_string());
        if subjects.len() > limits::COUNT_SUBJECTS {
            return None;
        }
    }
    if subjects.is_empty() {
        return None;
    }
    subjects.sort_unstable();
    subjects.dedup();
    // Of one subject it is among what the origin pushes; of several there are too many.
    let shared = subjects.len() == 1;
    Some(Key { path_query: format!("/v1/counts?subject={}", subjects.join("&subject=")), shared })
}

/// `type/key`, encoded.
fn subject(kind: &str, key: &str) -> Option<String> {
    let subject = SubjectKey::new(&decode(kind)?, &decode(key)?).ok()?;
    // As a segment these mean another path, however they are encoded.
    if matches!(subject.key(), "." | "..") {
        return None;
    }
    Some(format!("{}/{}", subject.kind(), utf8_percent_encode(subject.key(), RESERVED)))
}

fn decode(segment: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(segment).decode_utf8().ok()
}

/// Names and values of a query, as forms write them; the value is `None` when it is not UTF-8.
fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Option<Cow<'_, str>>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (form(name).unwrap_or_default(), form(value))
    })
}

fn form(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        let text = text.replace('+', " ");
        return Some(Cow::Owned(percent_decode_str(&text).decode_utf8().ok()?.into_owned()));
    }
    decode(text)
}

fn is_number(text: &str, from: usize, to: usize) -> bool {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    canonical && text.parse().is_ok_and(|n: usize| (from..=to).contains(&n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gailou_shared::cursor::{CursorKey, List, Position};
    use proptest::prelude::*;

    /// A cursor of this sort, signed with a secret the edge does not know.
    fn cursor(sort: Sort) -> String {
        let list = List::roots(&SubjectKey::new("article", "7").unwrap());
        CursorKey::new(b"secret").print(&Cursor { list, sort, epoch: 5, at: Position::After(9) })
    }

    fn of(uri: &str) -> Option<Key> {
        let (path, query) = uri.split_once('?').map_or((uri, None), |(p, q)| (p, Some(q)));
        page(path, query)
    }

    #[test]
    fn a_page_has_one_name() {
        let check = |uri: &str, expected: &str, shared| {
            let key = of(uri).unwrap_or_else(|| panic!("{uri} is a page"));
            assert_eq!((key.path_query.as_str(), key.shared), (expected, shared), "{uri}");
        };
        let list = "/v1/subjects/article/7/comments";
        check(list, list, true);
        check("/v1/subjects/article/7/comments?sort=hot&limit=20", list, true);
        check("/v1/subjects/article/7/comments?utm_source=x&limit=20&&sort=hot&_=1#", list, true);
        check("/v1/subjects/%61rticle/%37/comments", list, true);
        check("/v1/subjects/article/7/comments?limit=50&sort=new", &format!("{list}?sort=new&limit=50"), true);
        let (hot, top) = (cursor(Sort::Hot), cursor(Sort::Top));
        check(&format!("{list}?cursor={hot}"), &format!("{list}?cursor={hot}"), false);
        check(&format!("{list}?cursor={hot}&sort=hot&limit=20"), &format!("{list}?cursor={hot}"), false);
        check(&format!("{list}?sort=top&limit=50&cursor={top}"), &format!("{list}?limit=50&cursor={top}"), false);
        let spelled: String = top.bytes().map(|b| format!("%{b:02x}")).collect();
        check(&format!("{list}?cursor={spelled}"), &format!("{list}?cursor={top}"), false);
        check("/v1/subjects/article/a%2fb%20%E6%A5%BC", "/v1/subjects/article/a%2Fb%20%E6%A5%BC", true);
        check("/v1/subjects/article/楼", "/v1/subjects/article/%E6%A5%BC", true);
        check("/v1/comments/5?sort=hot", "/v1/comments/5", true);
        check("/v1/comments/5/replies?sort=old", "/v1/comments/5/replies?sort=old", true);
        check("/v1/comments/5/tree?limit=200&depth=2", "/v1/comments/5/tree?depth=2", false);
        check("/v1/comments/5/tree?limit=50", "/v1/comments/5/tree?limit=50", true);
        check("/v1/comments/5/ancestors", "/v1/comments/5/ancestors", true);
        check("/v1/comments/5/context?x", "/v1/comments/5/context", true);
        check("/v1/members/7/comments", "/v1/members/7/comments", true);
        check("/t/article/7?fragment=1&lang=zh", "/t/article/7?fragment=1", true);
        check("/t/article/7?limit=50&sort=new&fragment=0", "/t/article/7?sort=new&limit=50", true);
        let counts = "/v1/counts?subject=video%2F1&subject=video%2F2";
        check("/v1/counts?subject=video/2&subject=video/1&subject=video%2F2", counts, false);
        check("/v1/counts?subject=video/2", "/v1/counts?subject=video%2F2", true);
    }

    #[test]
    fn doubtful_requests_are_no_pages() {
        for uri in [
            "/v1/subjects/article/7/comments?limit=0",
            "/v1/subjects/article/7/comments?limit=7",
            "/v1/subjects/article/7/comments?limit=101",
            "/v1/subjects/article/7/comments?limit=020",
            "/v1/subjects/article/7/comments?limit=",
            "/v1/subjects/article/7/comments?sort=HOT",
            "/v1/subjects/article/7/comments?sort=hot&sort=new",
            "/v1/subjects/article/7/comments?cursor=",
            "/v1/subjects/article/7/comments?cursor=abc",
            "/v1/subjects/article/7/comments?cursor=%FF",
            "/v1/subjects/article/7/comments?cursor=a+b",
            &format!("/v1/subjects/article/7/comments?cursor={}=", cursor(Sort::Hot)),
            &format!("/v1/subjects/article/7/comments?cursor={}A", cursor(Sort::Hot)),
            &format!("/v1/subjects/article/7/comments?cursor={}&sort=new", cursor(Sort::Hot)),
            &format!("/v1/comments/5/replies?cursor={}&sort=hot", cursor(Sort::Top)),
            "/v1/subjects/article/7/comments/",
            "/v1/subjects/article/7/comments/friends",
            "/v1/subjects/article/7/events",
            "/v1/subjects/Article/7",
            "/v1/subjects/article/",
            "/v1/subjects/article/%FF",
            "/v1/subjects/article/%2e%2E/comments",
            "/v1/comments/05",
            "/v1/comments/%35",
            "/v1/comments/5/tree?depth=0",
            "/v1/comments/5/tree?limit=123",
            "/v1/comments/x/replies",
            "/v1/comments/5/replies?sort=top",
            "/v1/comments/5/likes",
            "/v1/counts",
            "/v1/counts?subject=video",
            "/v1/me/overlay?ids=1",
            "/v1/me",
            "/t/article",
            "/",
            "",
        ] {
            assert_eq!(of(uri), None, "{uri}");
        }
        let many: Vec<_> = (0..101).map(|n| format!("subject=video/{n}")).collect();
        assert_eq!(of(&format!("/v1/counts?{}", many.join("&"))), None);
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key(uri in "/(v1/(subjects/[a-z]{1,3}/[^/?#]{1,6}(/comments)?|comments/[1-9]{1,3}(/tree|/replies)?)|t/a/[^/?#]{1,3})(\\?[a-z=&%0-9+]{0,30})?") {
            if let Some(key) = of(&uri) {
                prop_assert_eq!(of(&key.path_query), Some(key));
            }
        }

        #[test]
        fn unknown_parameters_do_not_split(name in "x[a-z]{0,5}", value in "[a-z0-9%+]{0,8}", sort in "hot|new|top") {
            let with = of(&format!("/v1/subjects/a/b/comments?{name}={value}&sort={sort}"));
            prop_assert_eq!(with, of(&format!("/v1/subjects/a/b/comments?sort={sort}")));
        }

        #[test]
        fn subjects_never_share_a_key(a in "\\PC{1,8}", b in "\\PC{1,8}") {
            let key = |k: &str| of(&format!("/v1/subjects/a/{}", utf8_percent_encode(k, NON_ALPHANUMERIC)));
            prop_assume!(a != b);
            prop_assert!(key(&a).is_none() || key(&a) != key(&b));
        }
    }
}
