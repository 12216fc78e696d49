//! Which requests are public pages, and the single key of each page.
//!
//! A key is the canonical path and query of a page: percent-encoded the way the platform does it, only
//! known parameters, in a fixed order, without defaults. So unknown parameters, their order and their
//! spelling never split a cache, and the origin is asked for exactly what is stored. A doubtful request
//! (a wrong value, a repeated parameter, an unusual limit) has no key: it is forwarded unchanged, and
//! the origin names the mistake.
//!
//! A position in a list has one key too: a cursor is accepted only in the canonical form of its bytes,
//! and the sort it contains is not repeated beside it. The edge cannot verify a cursor's signature; the
//! origin refuses a forged one, and refusals are not stored.

use std::borrow::Cow;

use gailou_shared::cursor::Cursor;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::list_view::{ListView, VIEW_PARAMETER};
use gailou_shared::page_key::{page_key, subject_segments};
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::rank::Sort;
use percent_encoding::percent_decode_str;

/// Limits whose lists are stored: those that clients have a reason to use. Lists of other limits are
/// forwarded each time, so that a client cannot fill the caches with a hundred copies of one list.
const STORED_LIMITS: [&str; 4] = ["10", "20", "50", "100"];

/// The key of a public page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageKey {
    /// Canonical path and query.
    pub path_query: String,
    /// Whether the global store may hold the page. Pages behind a cursor may not: there are too many
    /// of them for a store that is paid by the write.
    pub shared: bool,
}

/// A query parameter of a page and its valid values.
struct QueryParam {
    name: &'static str,
    /// Omitted from the key.
    default: &'static str,
    is_valid: fn(&str) -> bool,
}

const SORT_NAME: &str = "sort";
const CURSOR_PARAM: QueryParam =
    QueryParam { name: "cursor", default: "", is_valid: |v| Cursor::unverified(v).is_some() };
const LIMIT_PARAM: QueryParam =
    QueryParam { name: "limit", default: "20", is_valid: |v| is_number(v, 1, limits::MAX_PAGE_SIZE) };
const VIEW_PARAM: QueryParam =
    QueryParam { name: VIEW_PARAMETER, default: "full", is_valid: |v| ListView::parse(v).is_some() };

const LIST_PARAMS: &[QueryParam] = &[
    QueryParam { name: SORT_NAME, default: "hot", is_valid: |v| Sort::parse(v).is_some() },
    LIMIT_PARAM,
    CURSOR_PARAM,
    VIEW_PARAM,
];
const REPLIES_PARAMS: &[QueryParam] = &[
    QueryParam { name: SORT_NAME, default: "hot", is_valid: |v| matches!(v, "hot" | "old" | "new") },
    LIMIT_PARAM,
    CURSOR_PARAM,
    VIEW_PARAM,
];
const TREE_PARAMS: &[QueryParam] = &[
    QueryParam { name: "depth", default: "3", is_valid: |v| is_number(v, 1, limits::MAX_DEPTH) },
    QueryParam { name: "limit", default: "200", is_valid: |v| is_number(v, 1, limits::MAX_TREE_NODES) },
    CURSOR_PARAM,
    VIEW_PARAM,
];
const HISTORY_PARAMS: &[QueryParam] = &[LIMIT_PARAM, CURSOR_PARAM, VIEW_PARAM];
/// Of lists that are whole.
const WHOLE_LIST_PARAMS: &[QueryParam] = &[VIEW_PARAM];
const LANGUAGE_NAME: &str = "lang";
const HTML_PARAMS: &[QueryParam] = &[
    QueryParam { name: "fragment", default: "0", is_valid: |v| matches!(v, "0" | "1") },
    QueryParam { name: LANGUAGE_NAME, default: "", is_valid: |v| ReaderLanguage::parse(v).is_some() },
    QueryParam { name: "comment", default: "", is_valid: |v| v.parse::<CommentId>().is_ok() },
    QueryParam { name: SORT_NAME, default: "hot", is_valid: |v| Sort::parse(v).is_some() },
    LIMIT_PARAM,
    CURSOR_PARAM,
];

/// Longest value of a parameter of a widget of another system, in bytes: names of pages, or some of them.
const MAX_FOREIGN_BYTES: usize = 2_048;

/// A parameter of a widget of another system, which the origin judges.
const fn foreign(name: &'static str) -> QueryParam {
    QueryParam { name, default: "", is_valid: |v| v.len() <= MAX_FOREIGN_BYTES }
}

/// The reads of widgets of other systems that are pages: paths, and their parameters in the origin's order. Waline's
/// path has three kinds of lists.
const FOREIGN_PAGES: &[(&str, &[QueryParam])] = &[
    ("/compat/artalk/api/v2/comments", ARTALK_LIST),
    ("/compat/artalk/api/v2/stats/latest_comments", &[foreign("limit")]),
    ("/compat/artalk/api/v2/stats/page_comment", &[foreign("page_keys")]),
    ("/compat/isso/", ISSO_LIST),
    ("/compat/isso/latest", &[foreign("limit")]),
];
const ARTALK_LIST: &[QueryParam] = &[
    foreign("page_key"),
    foreign("site_name"),
    foreign("limit"),
    foreign("offset"),
    foreign("sort_by"),
    foreign("view_only_admin"),
];
const ISSO_LIST: &[QueryParam] =
    &[foreign("uri"), foreign("sort"), foreign("parent"), foreign("offset"), foreign("limit"), foreign("nested_limit")];
const WALINE_PATH: &str = "/compat/waline/api/comment";
const WALINE_LIST: &[QueryParam] = &[foreign("path"), foreign("pageSize"), foreign("page"), foreign("sortBy")];
const WALINE_COUNTS: &[QueryParam] = &[foreign("type"), foreign("url")];
/// Whether the language is named decides the form of the answer.
const WALINE_RECENT: &[QueryParam] =
    &[foreign("type"), foreign("count"), QueryParam { name: LANGUAGE_NAME, default: "", is_valid: |_| true }];

impl PageKey {
    /// The key of the page at `path` and `query`; `None` when that is not a page.
    ///
    /// ```
    /// use gailou_edge::page_key::PageKey;
    /// let key = PageKey::parse("/v1/subjects/video/7/comments", Some("utm=x&limit=20&sort=new")).unwrap();
    /// assert_eq!(key.path_query, "/v1/subjects/video/7/comments?sort=new");
    /// assert_eq!(PageKey::parse("/v1/subjects/video/7/comments", Some("limit=0")), None);
    /// ```
    #[must_use]
    pub fn parse(path: &str, query: Option<&str>) -> Option<Self> {
        let query = query.unwrap_or_default();
        if path == "/v1/counts" {
            return counts_key(query);
        }
        if path.starts_with("/compat/") {
            return foreign_key(path, query);
        }
        let mut segments = path.strip_prefix('/')?.split('/');
        let segments: [Option<&str>; 6] = std::array::from_fn(|_| segments.next());
        match segments {
            [Some("v1"), Some("subjects"), Some(kind), Some(key), None, None] => {
                with_query(&format!("/v1/subjects/{}", encode_subject(kind, key)?), query, &[])
            }
            [Some("v1"), Some("subjects"), Some(kind), Some(key), Some("comments"), None] => {
                with_query(&format!("/v1/subjects/{}/comments", encode_subject(kind, key)?), query, LIST_PARAMS)
            }
            [Some("v1"), Some("comments"), Some(id), rest, None, None] => {
                let id: CommentId = id.parse().ok()?;
                let (tail, params) = match rest {
                    None => ("", &[][..]),
                    Some("replies") => ("/replies", REPLIES_PARAMS),
                    Some("tree") => ("/tree", TREE_PARAMS),
                    Some("ancestors") => ("/ancestors", WHOLE_LIST_PARAMS),
                    Some("context") => ("/context", WHOLE_LIST_PARAMS),
                    Some(_) => return None,
                };
                with_query(&format!("/v1/comments/{id}{tail}"), query, params)
            }
            [Some("v1"), Some("members"), Some(id), Some("comments"), None, None] => {
                let id: MemberId = id.parse().ok()?;
                with_query(&format!("/v1/members/{id}/comments"), query, HISTORY_PARAMS)
            }
            [Some("t"), Some(kind), Some(key), None, None, None] => {
                with_query(&format!("/t/{}", encode_subject(kind, key)?), query, HTML_PARAMS)
            }
            _ => None,
        }
    }
}

/// The query of a page as HTML with the language that its reader prefers, where it names none: each language is a
/// page of its own. `None` for other paths.
#[must_use]
pub fn query_with_language(path: &str, query: Option<&str>, accept_language: Option<&str>) -> Option<String> {
    let query = query.unwrap_or_default();
    if !path.starts_with("/t/") || query_pairs(query).any(|(name, _)| name == LANGUAGE_NAME) {
        return None;
    }
    let language = ReaderLanguage::preferred(accept_language.unwrap_or_default()).name();
    Some(format!("{query}&{LANGUAGE_NAME}={language}"))
}

/// The key of `path` with the parameters of `query`; `None` when one of them is doubtful.
fn with_query(path: &str, query: &str, params: &[QueryParam]) -> Option<PageKey> {
    let mut values: [Option<Cow<'_, str>>; 6] = Default::default();
    for (name, value) in query_pairs(query) {
        let Some(at) = params.iter().position(|p| p.name == name) else { continue };
        let (param, slot) = (params.get(at)?, values.get_mut(at)?);
        let value = value?;
        if slot.is_some() || !(param.is_valid)(&value) {
            return None;
        }
        *slot = Some(value);
    }
    // A cursor contains its sort: the same sort beside it is redundant, another one is an error.
    let cursor = params.iter().zip(&values).find(|(param, _)| param.name == CURSOR_PARAM.name);
    let cursor = cursor.and_then(|(_, value)| Cursor::unverified(value.as_deref()?));
    let mut shared = cursor.is_none();
    let mut kept = Vec::with_capacity(params.len());
    for (param, value) in params.iter().zip(values) {
        let Some(value) = value else { continue };
        match cursor {
            Some(cursor) if param.name == SORT_NAME && value != cursor.sort.name() => return None,
            Some(_) if param.name == SORT_NAME => continue,
            _ if value == param.default => continue,
            _ => {}
        }
        if param.name == LIMIT_PARAM.name && !STORED_LIMITS.contains(&&*value) {
            return None;
        }
        shared &= matches!(param.name, SORT_NAME | LANGUAGE_NAME | VIEW_PARAMETER | "fragment" | "limit");
        kept.push((param.name, Some(value)));
    }
    Some(PageKey { path_query: page_key(path, &kept), shared })
}

/// The key of a counts call. The answer is a map by subject, so the order of the subjects and repeated
/// subjects make no difference.
fn counts_key(query: &str) -> Option<PageKey> {
    let mut subjects = Vec::new();
    for (name, value) in query_pairs(query) {
        if name != "subject" {
            continue;
        }
        let value = value?;
        let (kind, key) = value.split_once('/')?;
        SubjectKey::new(kind, key).ok()?;
        subjects.push(value);
        if subjects.len() > limits::MAX_COUNT_SUBJECTS {
            return None;
        }
    }
    if subjects.is_empty() {
        return None;
    }
    subjects.sort_unstable();
    subjects.dedup();
    // The origin pushes the counts of one subject; combinations of several are too many to store.
    let shared = subjects.len() == 1;
    let parameters: Vec<_> = subjects.into_iter().map(|subject| ("subject", Some(subject))).collect();
    Some(PageKey { path_query: page_key("/v1/counts", &parameters), shared })
}

/// The key of a page of a widget of another system. The global store holds none of them: each page has its own there
/// already, in the contract's form.
fn foreign_key(path: &str, query: &str) -> Option<PageKey> {
    let params = if path == WALINE_PATH {
        match query_pairs(query).find(|(name, _)| name == "type").and_then(|(_, value)| value).as_deref() {
            Some("count") => WALINE_COUNTS,
            Some("recent") => WALINE_RECENT,
            _ => WALINE_LIST,
        }
    } else {
        FOREIGN_PAGES.iter().find(|(of, _)| *of == path)?.1
    };
    Some(PageKey { shared: false, ..with_query(path, query, params)? })
}

/// `type/key`, percent-encoded anew.
fn encode_subject(kind: &str, key: &str) -> Option<String> {
    subject_segments(&SubjectKey::new(&percent_decode(kind)?, &percent_decode(key)?).ok()?)
}

fn percent_decode(segment: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(segment).decode_utf8().ok()
}

/// Names and values of a form-encoded query; a value is `None` when it is not UTF-8.
fn query_pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Option<Cow<'_, str>>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode_form(name).unwrap_or_default(), decode_form(value))
    })
}

fn decode_form(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        let text = text.replace('+', " ");
        return Some(Cow::Owned(percent_decode_str(&text).decode_utf8().ok()?.into_owned()));
    }
    percent_decode(text)
}

fn is_number(text: &str, from: usize, to: usize) -> bool {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    canonical && text.parse().is_ok_and(|n: usize| (from..=to).contains(&n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gailou_shared::cursor::{CursorKey, CursorList, WalkPosition};
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    /// A cursor with this sort, signed with a secret that the edge does not have.
    fn cursor(sort: Sort) -> String {
        let list = CursorList::roots(&SubjectKey::new("article", "7").unwrap());
        CursorKey::new(b"secret").encode(&Cursor { list, sort, epoch: 5, at: WalkPosition::After(9) })
    }

    fn key_of(uri: &str) -> Option<PageKey> {
        let (path, query) = uri.split_once('?').map_or((uri, None), |(p, q)| (p, Some(q)));
        PageKey::parse(path, query)
    }

    #[test]
    fn equivalent_requests_share_a_key() {
        let check = |uri: &str, expected: &str, shared| {
            let key = key_of(uri).unwrap_or_else(|| panic!("{uri} is a page"));
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
        check(&format!("{list}?view=compact&sort=hot&limit=20"), &format!("{list}?view=compact"), true);
        check(&format!("{list}?view=full&sort=new"), &format!("{list}?sort=new"), true);
        check(
            &format!("{list}?view=compact&sort=top&limit=50&cursor={top}"),
            &format!("{list}?limit=50&cursor={top}&view=compact"),
            false,
        );
        check("/v1/subjects/article/a%2fb%20%E6%A5%BC", "/v1/subjects/article/a%2Fb%20%E6%A5%BC", true);
        check("/v1/subjects/article/楼", "/v1/subjects/article/%E6%A5%BC", true);
        check("/v1/comments/5?sort=hot", "/v1/comments/5", true);
        check("/v1/comments/5/replies?sort=old", "/v1/comments/5/replies?sort=old", true);
        check("/v1/comments/5/tree?limit=200&depth=2", "/v1/comments/5/tree?depth=2", false);
        check("/v1/comments/5/tree?limit=50", "/v1/comments/5/tree?limit=50", true);
        check("/v1/comments/5/tree?view=compact&depth=2", "/v1/comments/5/tree?depth=2&view=compact", false);
        check("/v1/comments/5/replies?view=compact&sort=old", "/v1/comments/5/replies?sort=old&view=compact", true);
        check("/v1/comments/5/ancestors", "/v1/comments/5/ancestors", true);
        check("/v1/comments/5/ancestors?view=compact", "/v1/comments/5/ancestors?view=compact", true);
        check("/v1/comments/5?view=compact", "/v1/comments/5", true);
        check("/v1/comments/5/context?x", "/v1/comments/5/context", true);
        check("/v1/members/7/comments", "/v1/members/7/comments", true);
        check("/v1/members/7/comments?view=compact&limit=50", "/v1/members/7/comments?limit=50&view=compact", true);
        check("/t/article/7?view=compact&fragment=1&lang=zh", "/t/article/7?fragment=1&lang=zh", true);
        check("/t/article/7?lang=zh&fragment=1&x", "/t/article/7?fragment=1&lang=zh", true);
        check("/t/article/7?comment=5&lang=en", "/t/article/7?lang=en&comment=5", false);
        check("/t/article/7?lang=%7Ah%2DTW", "/t/article/7?lang=zh-TW", true);
        check("/t/article/7?limit=50&sort=new&fragment=0", "/t/article/7?sort=new&limit=50", true);
        let waline = "/compat/waline/api/comment";
        let list = format!("{waline}?path=%2Fa%2F&pageSize=10&page=1&sortBy=insertedAt_desc");
        check(&format!("{waline}?path=%2Fa%2F&pageSize=10&page=1&lang=en-US&sortBy=insertedAt_desc"), &list, false);
        check(
            &format!("{waline}?type=count&url=%2Fa%2F,%2Fb&lang=en"),
            &format!("{waline}?type=count&url=%2Fa%2F%2C%2Fb"),
            false,
        );
        let artalk = "/compat/artalk/api/v2/comments?page_key=%2Fa&site_name=Demo&limit=20&offset=0";
        check(
            "/compat/artalk/api/v2/comments?limit=20&offset=0&flat_mode=false&page_key=/a&site_name=Demo&name=Bo",
            artalk,
            false,
        );
        check("/compat/isso/?uri=/a&sort=oldest&offset=0", "/compat/isso/?uri=%2Fa&sort=oldest&offset=0", false);
        let counts = "/v1/counts?subject=video%2F1&subject=video%2F2";
        check("/v1/counts?subject=video/2&subject=video/1&subject=video%2F2", counts, false);
        check("/v1/counts?subject=video/2", "/v1/counts?subject=video%2F2", true);
    }

    #[test]
    fn page_as_html_has_the_language_of_its_reader() {
        let check = |path: &str, query: Option<&str>, accepted: Option<&str>, expected: Option<&str>| {
            assert_eq!(
                query_with_language(path, query, accepted).as_deref(),
                expected,
                "{path} {query:?} {accepted:?}"
            );
        };
        check("/t/article/7", None, Some("zh-CN, en;q=0.5"), Some("&lang=zh"));
        check("/t/article/7", Some("limit=50"), None, Some("limit=50&lang=en"));
        check("/t/article/7", None, Some("pl, pt;q=0.5"), Some("&lang=pt-BR"));
        check("/t/article/7", Some("lang=en"), Some("zh"), None);
        check("/v1/subjects/article/7/comments", None, Some("zh"), None);
        let query = query_with_language("/t/article/7", Some("sort=new"), Some("zh"));
        let key = PageKey::parse("/t/article/7", query.as_deref()).unwrap();
        assert_eq!(key.path_query, "/t/article/7?lang=zh&sort=new");
    }

    #[test]
    fn doubtful_request_has_no_key() {
        for uri in [
            "/v1/subjects/article/7/comments?limit=0",
            "/v1/subjects/article/7/comments?limit=7",
            "/v1/subjects/article/7/comments?limit=101",
            "/v1/subjects/article/7/comments?limit=020",
            "/v1/subjects/article/7/comments?limit=",
            "/v1/subjects/article/7/comments?sort=HOT",
            "/v1/subjects/article/7/comments?sort=hot&sort=new",
            "/v1/subjects/article/7/comments?view=small",
            "/v1/subjects/article/7/comments?view=COMPACT",
            "/v1/subjects/article/7/comments?view=compact&view=full",
            "/v1/comments/5/ancestors?view=",
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
            "/t/article/7?lang=pl",
            "/t/article/7?lang=zh-CN",
            "/t/article/7?lang=DE",
            "/t/article/7?lang=",
            "/t/article/7?lang=de&lang=fr",
            "/t/article/7?comment=x",
            "/",
            "",
        ] {
            assert_eq!(key_of(uri), None, "{uri}");
        }
        let many: Vec<_> = (0..101).map(|n| format!("subject=video/{n}")).collect();
        assert_eq!(key_of(&format!("/v1/counts?{}", many.join("&"))), None);
    }

    proptest! {
        #[test]
        fn key_parses_to_itself(uri in "/(v1/(subjects/[a-z]{1,3}/[^/?#]{1,6}(/comments)?|comments/[1-9]{1,3}(/tree|/replies)?)|t/a/[^/?#]{1,3})(\\?[a-z=&%0-9+]{0,30})?") {
            if let Some(key) = key_of(&uri) {
                prop_assert_eq!(key_of(&key.path_query), Some(key));
            }
        }

        #[test]
        fn unknown_parameter_does_not_change_the_key(name in "x[a-z]{0,5}", value in "[a-z0-9%+]{0,8}", sort in "hot|new|top") {
            let with = key_of(&format!("/v1/subjects/a/b/comments?{name}={value}&sort={sort}"));
            prop_assert_eq!(with, key_of(&format!("/v1/subjects/a/b/comments?sort={sort}")));
        }

        #[test]
        fn different_subjects_have_different_keys(a in "\\PC{1,8}", b in "\\PC{1,8}") {
            let key = |k: &str| key_of(&format!("/v1/subjects/a/{}", utf8_percent_encode(k, NON_ALPHANUMERIC)));
            prop_assume!(a != b);
            prop_assert!(key(&a).is_none() || key(&a) != key(&b));
        }
    }
}
