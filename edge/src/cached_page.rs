//! A stored page: bytes and headers ready to be sent, the comments it shows, when it was made and
//! fetched, and how long the origin lets it be served. Not here: where pages are stored, and which
//! comments have changed since.

use std::any::Any;
use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::edge_protocol::{CACHE_TAGS_HEADER, HOT_FOR_HEADER, MADE_HEADER, SUBJECT_VERSION_HEADER};
use gailou_shared::{http_headers, limits};
use http::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::ports::{OriginBody, OriginResponse};

/// The header in which the origin says how long shared caches may serve a page.
pub const CDN_CACHE_CONTROL: &str = "cdn-cache-control";
/// Longest time a page is served after it was fetched, in seconds.
pub const MAX_PAGE_AGE_SECONDS: u32 = 86_400;
/// Largest page kept in an isolate's memory, in bytes: the largest tree, in which every tenth node has
/// the largest comment.
pub const MAX_MEMORY_PAGE_BYTES: usize = limits::MAX_TREE_NODES / 10 * limits::MAX_CONTENT_BYTES;
/// Time difference from which the time a page was made outweighs its version, in milliseconds. The
/// clocks of the origin's servers differ by less; a version that is lower a minute later is that of a
/// database restored from a backup.
const VERSION_TRUST_MS: u64 = 60_000;
/// How far a page's times may be ahead of the edge's clock, in milliseconds. A later time is clamped to
/// this, so that one wrong clock does not hold back correct pages for longer.
const MAX_CLOCK_SKEW_MS: u64 = 60_000;
/// The range to which the seconds of [`HOT_FOR_HEADER`] are clamped.
const POPULAR_SECONDS_RANGE: RangeInclusive<u32> = 5..=60;
/// Version of the stored form; other versions are ignored.
const STORED_FORMAT_VERSION: u8 = 2;

/// Headers of the origin that belong to the page itself. The edge writes those of a single answer (ids,
/// dates, limits, CORS).
const STORED_HEADERS: [&str; 9] = [
    "content-type",
    "content-language",
    "content-security-policy",
    "link",
    "permissions-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-frame-options",
    "x-robots-tag",
];

/// How long a page may be served, in seconds since it was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    /// Serve it without asking the origin.
    #[serde(rename = "fresh")]
    pub fresh_seconds: u32,
    /// After that, serve it while the next copy is fetched.
    #[serde(rename = "revalidate")]
    pub revalidate_seconds: u32,
    /// After `fresh_seconds`, serve it when the origin fails; at most a day.
    #[serde(rename = "on_error")]
    pub on_error_seconds: u32,
    /// Serve it without asking, because the origin declared the subject popular and pushes its pages; else 0.
    #[serde(rename = "hot")]
    pub popular_seconds: u32,
}

/// What may be done with a page of some age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    /// Serve it.
    Fresh,
    /// Serve it and fetch the next copy.
    Revalidate,
    /// Serve it only when the origin fails.
    OnError,
    /// Do not serve it.
    Expired,
}

/// A page as stored.
#[derive(Debug)]
pub struct CachedPage {
    /// The body, never empty.
    pub body: Bytes,
    /// The origin's headers that belong to the page, without its entity tag.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The entity tag of the body, a strong one.
    pub etag: Option<HeaderValue>,
    /// When it was requested or pushed, in Unix milliseconds by the edge's clock.
    pub fetched_ms: u64,
    /// A moment before its rows were read, in Unix milliseconds by the origin's clock.
    pub made_ms: u64,
    /// The subject's version; 0 for a page that is not about one subject.
    pub version: u64,
    /// The comments it shows.
    pub cache_tags: CacheTags,
    /// How long it may be served.
    pub freshness: Freshness,
    /// The last generation of the change feed that allowed it; not stored.
    pub checked_generation: AtomicU64,
    /// What the platform prepared to send it faster; not stored.
    pub prepared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for CachedPage {
    fn eq(&self, other: &Self) -> bool {
        let times = |page: &Self| (page.fetched_ms, page.made_ms, page.version, page.freshness);
        (&self.body, &self.headers, &self.etag, &self.cache_tags, times(self))
            == (&other.body, &other.headers, &other.etag, &other.cache_tags, times(other))
    }
}

/// The first line of a stored page.
#[derive(Serialize, Deserialize)]
struct StoredHead {
    v: u8,
    fetched_ms: u64,
    made_ms: u64,
    version: u64,
    freshness: Freshness,
    etag: Option<String>,
    #[serde(rename = "shows")]
    cache_tags: String,
    headers: Vec<(String, String)>,
}

impl CachedPage {
    /// The page in the origin's answer; `None` when the answer may not be stored: it is not a complete
    /// 200, or does not say how long it is fresh, what it shows, or when it was made.
    #[must_use]
    pub fn from_origin(answer: &OriginResponse, now_ms: u64) -> Option<Self> {
        let OriginBody::Whole(body) = &answer.body else { return None };
        if answer.status != http::StatusCode::OK || body.is_empty() {
            return None;
        }
        let freshness = Freshness::from_headers(&answer.headers)?;
        // A value that is not text cannot be stored, and a copy must not differ from the page.
        let text = |name: &HeaderName| answer.headers.get(name).filter(|value| value.to_str().is_ok()).cloned();
        let headers = STORED_HEADERS
            .iter()
            .map(|name| HeaderName::from_static(name))
            .filter_map(|name| text(&name).map(|value| (name, value)))
            .collect();
        Some(Self {
            body: body.clone(),
            headers,
            etag: text(&ETAG).and_then(strong_tag),
            fetched_ms: now_ms,
            made_ms: parse_number(&answer.headers, MADE_HEADER)?.min(now_ms + MAX_CLOCK_SKEW_MS),
            version: parse_number(&answer.headers, SUBJECT_VERSION_HEADER).unwrap_or(0),
            cache_tags: parse_cache_tags(&answer.headers)?,
            freshness,
            checked_generation: AtomicU64::new(0),
            prepared: OnceLock::new(),
        })
    }

    /// The same page, confirmed unchanged at `now_ms` by a 304 with these headers.
    #[must_use]
    pub fn revalidated(&self, headers: &HeaderMap, now_ms: u64) -> Self {
        let made_ms = parse_number(headers, MADE_HEADER).map(|made| made.min(now_ms + MAX_CLOCK_SKEW_MS));
        Self {
            body: self.body.clone(),
            headers: self.headers.clone(),
            etag: self.etag.clone(),
            fetched_ms: now_ms,
            made_ms: made_ms.unwrap_or(self.made_ms),
            version: parse_number(headers, SUBJECT_VERSION_HEADER).unwrap_or(self.version),
            cache_tags: parse_cache_tags(headers).unwrap_or_else(|| self.cache_tags.clone()),
            freshness: Freshness::from_headers(headers).unwrap_or(self.freshness),
            checked_generation: AtomicU64::new(0),
            prepared: OnceLock::new(),
        }
    }

    /// Which of two copies of one page is newer, `Greater` when this one is: by the subject's version,
    /// then by the time they were made. When they were made a minute or more apart, time alone decides:
    /// the version of a restored database goes back.
    #[must_use]
    pub fn compare_recency(&self, other: &Self) -> Ordering {
        if self.made_ms.abs_diff(other.made_ms) >= VERSION_TRUST_MS {
            return self.made_ms.cmp(&other.made_ms);
        }
        (self.version, self.made_ms).cmp(&(other.version, other.made_ms))
    }

    /// Whether it may replace `other`: it is newer, or the same and fetched no earlier.
    #[must_use]
    pub fn replaces(&self, other: &Self) -> bool {
        self.compare_recency(other).then(self.fetched_ms.cmp(&other.fetched_ms)) != Ordering::Less
    }

    /// What may be done with it at `now_ms`.
    #[must_use]
    pub fn state(&self, now_ms: u64) -> PageState {
        let age = self.age_seconds(now_ms);
        let Freshness { fresh_seconds, revalidate_seconds, on_error_seconds, popular_seconds } = self.freshness;
        let fresh = u64::from(fresh_seconds.max(popular_seconds));
        // `<`, so that a page with max-age=0 is never fresh.
        if age < fresh {
            PageState::Fresh
        } else if age < fresh + u64::from(revalidate_seconds) {
            PageState::Revalidate
        } else if age < (fresh + u64::from(on_error_seconds)).min(MAX_PAGE_AGE_SECONDS.into()) {
            PageState::OnError
        } else {
            PageState::Expired
        }
    }

    /// Whole seconds since it was fetched.
    #[must_use]
    pub fn age_seconds(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.fetched_ms) / 1_000
    }

    /// Whether the client's `If-None-Match` names its entity tag.
    #[must_use]
    pub fn matches_etag(&self, if_none_match: &str) -> bool {
        let etag = self.etag.as_ref().and_then(|tag| tag.to_str().ok());
        etag.is_some_and(|etag| http_headers::matches_etag(if_none_match, etag))
    }

    /// Its weight in memory, in bytes: the body twice (here and as the platform holds it), the comments
    /// it shows, and about 1 KiB of headers and map entries.
    #[must_use]
    pub fn weight(&self, key: &str) -> usize {
        let tags = self.cache_tags.entries().len() + self.cache_tags.subjects().len();
        self.body.len() * 2 + tags * 16 + key.len() * 2 + 1_024
    }

    /// The stored form: one line of JSON about the page, then the body as it is.
    #[must_use]
    pub fn encode(&self) -> Option<Bytes> {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).ok();
        let head = StoredHead {
            v: STORED_FORMAT_VERSION,
            fetched_ms: self.fetched_ms,
            made_ms: self.made_ms,
            version: self.version,
            freshness: self.freshness,
            etag: self.etag.as_ref().and_then(text),
            cache_tags: self.cache_tags.encode(),
            headers: self.headers.iter().filter_map(|(n, v)| Some((n.as_str().to_owned(), text(v)?))).collect(),
        };
        let mut bytes = serde_json::to_vec(&head).ok()?;
        bytes.reserve_exact(self.body.len() + 1);
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        Some(bytes.into())
    }

    /// The page stored as `bytes`; `None` for anything else, and for a page from the future.
    #[must_use]
    pub fn decode(bytes: &Bytes, now_ms: u64) -> Option<Self> {
        let end = bytes.iter().position(|b| *b == b'\n')?;
        let head: StoredHead = serde_json::from_slice(bytes.get(..end)?).ok()?;
        let body = bytes.slice(end + 1..);
        let is_from_future = head.fetched_ms > now_ms + MAX_CLOCK_SKEW_MS;
        if head.v != STORED_FORMAT_VERSION || body.is_empty() || is_from_future {
            return None;
        }
        let headers = head.headers.iter().filter_map(|(name, value)| {
            let name = STORED_HEADERS.iter().find(|stored| *stored == name)?;
            Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
        });
        Some(Self {
            headers: headers.collect(),
            etag: head.etag.and_then(|tag| HeaderValue::from_str(&tag).ok()),
            fetched_ms: head.fetched_ms,
            made_ms: head.made_ms,
            version: head.version,
            cache_tags: CacheTags::decode(&head.cache_tags)?,
            freshness: head.freshness,
            checked_generation: AtomicU64::new(0),
            prepared: OnceLock::new(),
            body,
        })
    }
}

impl Freshness {
    /// What the headers of an answer allow; `None` when they forbid storing it.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let cdn = text(CDN_CACHE_CONTROL).to_ascii_lowercase();
        let browser = text(CACHE_CONTROL.as_str()).to_ascii_lowercase();
        let forbids_storing = |list: &str| directives(list).any(|(name, _)| matches!(name, "private" | "no-store"));
        if forbids_storing(&cdn) || forbids_storing(&browser) {
            return None;
        }
        let seconds = |directive| {
            let found = directives(&cdn).find(|(name, _)| *name == directive);
            found.and_then(|(_, value)| value.parse().ok()).map(|s: u32| s.min(MAX_PAGE_AGE_SECONDS))
        };
        let popular = text(HOT_FOR_HEADER).parse().ok();
        Some(Self {
            fresh_seconds: seconds("max-age")?,
            revalidate_seconds: seconds("stale-while-revalidate").unwrap_or(0),
            on_error_seconds: seconds("stale-if-error").unwrap_or(MAX_PAGE_AGE_SECONDS),
            popular_seconds: popular
                .map_or(0, |s: u32| s.clamp(*POPULAR_SECONDS_RANGE.start(), *POPULAR_SECONDS_RANGE.end())),
        })
    }
}

/// The tag of the body as it is read. It was weak on its way if the body was compressed there.
fn strong_tag(tag: HeaderValue) -> Option<HeaderValue> {
    match tag.as_bytes().strip_prefix(b"W/") {
        Some(strong) => HeaderValue::from_bytes(strong).ok(),
        None => Some(tag),
    }
}

fn parse_number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

fn parse_cache_tags(headers: &HeaderMap) -> Option<CacheTags> {
    CacheTags::decode(headers.get(CACHE_TAGS_HEADER)?.to_str().ok()?)
}

/// The directives of a `Cache-Control` list, with their values.
fn directives(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(',').map(|directive| {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        (name.trim(), value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::page_answer;
    use proptest::prelude::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap())).collect()
    }

    #[test]
    fn freshness_comes_from_the_origins_headers() {
        let check = |list: &[(&'static str, &str)], expected: Option<[u32; 4]>| {
            let found = Freshness::from_headers(&headers(list))
                .map(|f| [f.fresh_seconds, f.revalidate_seconds, f.on_error_seconds, f.popular_seconds]);
            assert_eq!(found, expected, "{list:?}");
        };
        let cdn = |value| [("cdn-cache-control", value)];
        check(&cdn("public, max-age=2, stale-while-revalidate=30, stale-if-error=86400"), Some([2, 30, 86_400, 0]));
        check(&cdn("MAX-AGE=\"2\""), Some([2, 0, 86_400, 0]));
        check(&cdn("max-age=999999999, stale-if-error=10"), Some([86_400, 0, 10, 0]));
        check(&cdn("public"), None);
        check(&cdn("max-age=2, no-store"), None);
        check(&cdn("max-age=-2"), None);
        check(&[("cdn-cache-control", "max-age=2"), ("cache-control", "private, no-store")], None);
        check(&[("cache-control", "public, max-age=60")], None);
        let hot = |value| [("cdn-cache-control", "max-age=1"), ("x-gailou-hot-for", value)];
        check(&hot("30"), Some([1, 0, 86_400, 30]));
        check(&hot("1"), Some([1, 0, 86_400, 5]));
        check(&hot("3600"), Some([1, 0, 86_400, 60]));
        check(&hot("x"), Some([1, 0, 86_400, 0]));
    }

    #[test]
    fn state_follows_age() {
        let page =
            CachedPage::from_origin(&page_answer("x", "max-age=2, stale-while-revalidate=3, stale-if-error=86400"), 0)
                .unwrap();
        let check = |page: &CachedPage, ms, expected| assert_eq!(page.state(ms), expected, "{ms}");
        check(&page, 0, PageState::Fresh);
        check(&page, 1_999, PageState::Fresh);
        check(&page, 2_000, PageState::Revalidate);
        check(&page, 5_000, PageState::OnError);
        check(&page, 86_399_999, PageState::OnError);
        check(&page, 86_400_000, PageState::Expired);
        let freshness = Freshness { popular_seconds: 30, ..page.freshness };
        let hot = CachedPage { freshness, ..page.revalidated(&HeaderMap::new(), 0) };
        check(&hot, 10_000, PageState::Fresh);
        check(&hot, 30_000, PageState::Revalidate);
    }

    #[test]
    fn page_without_tags_or_time_is_not_stored() {
        let without = |name: &str| {
            let mut answer = page_answer("x", "max-age=2");
            answer.headers.remove(name);
            CachedPage::from_origin(&answer, 0)
        };
        assert_eq!((without(CACHE_TAGS_HEADER), without(MADE_HEADER)), (None, None));
        assert_eq!(without(SUBJECT_VERSION_HEADER).unwrap().version, 0);
        let ahead = CachedPage::from_origin(&page_answer("x", "max-age=2"), 0).unwrap();
        assert_eq!(
            (ahead.made_ms, ahead.revalidated(&HeaderMap::new(), 9).made_ms),
            (MAX_CLOCK_SKEW_MS, MAX_CLOCK_SKEW_MS)
        );
    }

    #[test]
    fn recency_is_version_then_time_made() {
        let page = |(version, made_ms)| {
            let page = CachedPage::from_origin(&page_answer("x", "max-age=2"), 0).unwrap();
            CachedPage { version, made_ms, ..page }
        };
        let check = |a, b, expected| {
            assert_eq!(page(a).compare_recency(&page(b)), expected, "{a:?} {b:?}");
            assert_eq!(page(b).compare_recency(&page(a)), expected.reverse(), "{b:?} {a:?}");
        };
        check((5, 1_000), (4, 2_000), Ordering::Greater);
        check((5, 1_000), (5, 999), Ordering::Greater);
        check((5, 1_000), (5, 1_000), Ordering::Equal);
        check((5, 0), (4, 59_999), Ordering::Greater);
        check((5, 0), (4, 60_000), Ordering::Less);
        let later = CachedPage { fetched_ms: 1, ..page((5, 7)) };
        assert!(later.replaces(&page((5, 7))) && !page((5, 7)).replaces(&later));
    }

    #[test]
    fn page_without_an_entity_tag_matches_none() {
        let mut page = CachedPage::from_origin(&page_answer("x", "max-age=2"), 0).unwrap();
        assert!(page.matches_etag("*") && page.matches_etag("W/\"x\"") && !page.matches_etag("\"y\""));
        page.etag = None;
        assert!(!page.matches_etag("*"));
    }

    #[test]
    fn page_that_was_compressed_on_its_way_has_the_strong_tag_of_what_is_kept() {
        let mut answer = page_answer("x", "max-age=2");
        answer.headers.insert(ETAG, HeaderValue::from_static("W/\"x\""));
        assert_eq!(CachedPage::from_origin(&answer, 0).unwrap().etag.unwrap(), "\"x\"");
    }

    proptest! {
        #[test]
        fn encoded_page_decodes_to_itself(body in prop::collection::vec(any::<u8>(), 1..200), fetched_ms in 0u64..1 << 42) {
            let mut answer = page_answer("x", "max-age=2, stale-while-revalidate=3");
            answer.body = OriginBody::Whole(body.into());
            answer.headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
            answer.headers.insert("set-cookie", HeaderValue::from_static("a=b"));
            let page = CachedPage::from_origin(&answer, fetched_ms).unwrap();
            prop_assert!(page.headers.iter().all(|(name, _)| name != "set-cookie"));
            prop_assert_eq!(CachedPage::decode(&page.encode().unwrap(), fetched_ms), Some(page));
        }

        #[test]
        fn arbitrary_bytes_are_no_page(bytes: Vec<u8>) {
            prop_assert_eq!(CachedPage::decode(&bytes.into(), 0), None);
        }
    }
}
