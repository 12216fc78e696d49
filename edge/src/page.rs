//! A stored page: bytes and headers ready to be sent, what they show, when they were made and
//! fetched, and for how long the origin lets them be served. What is not here: where pages are
//! stored, and which comments have changed since.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use gailou_shared::edge::{MADE_HEADER, SHOWS_HEADER, VERSION_HEADER};
use gailou_shared::limits;
use gailou_shared::shows::Shows;
use http::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::ports::{Body, FromOrigin};

/// The header in which the origin says for how long what stands between may serve a page.
pub const CDN_CACHE_CONTROL: &str = "cdn-cache-control";
/// The header in which the origin declares a subject hot: seconds any copy counts as fresh.
pub const HOT_FOR: &str = "x-gailou-hot-for";
/// Longest time a page is served after it was fetched, in seconds.
pub const DAY_SECONDS: u32 = 86_400;
/// By how much the time of a page outweighs its version, in milliseconds. No server of the origin is
/// that far behind another; a version that has gone back since is that of a restored database.
const RESTORED_MS: u64 = 60_000;
/// How far ahead of the edge's clock a page may say it was made, in milliseconds. What says more is
/// taken to say this, so that one wrong time holds true ones back no longer.
const AHEAD_MS: u64 = 60_000;
/// What a page's own statement of freshness is clamped to, in seconds.
const HOT_SECONDS: std::ops::RangeInclusive<u32> = 5..=60;

/// Headers of the origin that belong to the page itself. Those of one answer (ids, dates, limits,
/// CORS) are the edge's to write.
const KEPT: [&str; 9] = [
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

/// For how long a page may be served, in seconds since it was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    /// Without asking.
    pub fresh: u32,
    /// After `fresh`, while the next one is fetched.
    pub revalidate: u32,
    /// After `fresh`, when the origin fails; at most a day.
    pub on_error: u32,
    /// Without asking, where the origin declared the subject hot and pushes its pages; else 0.
    pub hot: u32,
}

/// What may be done with a page of some age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Serve it.
    Fresh,
    /// Serve it and fetch the next.
    Revalidate,
    /// Serve it when the origin fails.
    OnError,
    /// Nothing.
    Dead,
}

/// A page as stored.
#[derive(Debug)]
pub struct Page {
    /// The body, never empty.
    pub body: Bytes,
    /// The origin's headers that belong to it, without its tag.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The origin's strong tag.
    pub etag: Option<HeaderValue>,
    /// When it was asked for or pushed, in Unix milliseconds by the edge's clock.
    pub fetched_ms: u64,
    /// Before its rows were read, in Unix milliseconds by the origin's clock.
    pub made_ms: u64,
    /// The subject's version, 0 where it is about no one subject.
    pub version: u64,
    /// The comments it shows.
    pub shows: Shows,
    /// For how long it may be served.
    pub freshness: Freshness,
    /// The generation of the change feed that had nothing against it; never stored.
    pub checked: AtomicU64,
    /// What the platform made of it to send it faster; never stored.
    pub prepared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        let times = |page: &Self| (page.fetched_ms, page.made_ms, page.version, page.freshness);
        (&self.body, &self.headers, &self.etag, &self.shows, times(self))
            == (&other.body, &other.headers, &other.etag, &other.shows, times(other))
    }
}

/// The first line of a stored page.
#[derive(Serialize, Deserialize)]
struct Head {
    v: u8,
    fetched_ms: u64,
    made_ms: u64,
    version: u64,
    freshness: Freshness,
    etag: Option<String>,
    shows: String,
    headers: Vec<(String, String)>,
}

/// Version of the stored form; another one is not read.
const VERSION: u8 = 2;

impl Page {
    /// The page in the origin's answer, `None` when the answer may not be stored: it is not a
    /// whole 200, or the origin did not say for how long, what it shows, or when it was made.
    #[must_use]
    pub fn from_origin(answer: &FromOrigin, now_ms: u64) -> Option<Self> {
        let Body::Whole(body) = &answer.body else { return None };
        if answer.status != http::StatusCode::OK || body.is_empty() {
            return None;
        }
        let freshness = Freshness::of(&answer.headers)?;
        // What is no text cannot be stored, and a copy must not differ from the page.
        let text = |name: &HeaderName| answer.headers.get(name).filter(|value| value.to_str().is_ok()).cloned();
        let headers = KEPT
            .iter()
            .map(|name| HeaderName::from_static(name))
            .filter_map(|name| text(&name).map(|value| (name, value)))
            .collect();
        Some(Self {
            body: body.clone(),
            headers,
            etag: text(&ETAG),
            fetched_ms: now_ms,
            made_ms: number(&answer.headers, MADE_HEADER)?.min(now_ms + AHEAD_MS),
            version: number(&answer.headers, VERSION_HEADER).unwrap_or(0),
            shows: shows(&answer.headers)?,
            freshness,
            checked: AtomicU64::new(0),
            prepared: OnceLock::new(),
        })
    }

    /// The same page, found unchanged at `now_ms` by an answer with these headers.
    #[must_use]
    pub fn confirmed(&self, headers: &HeaderMap, now_ms: u64) -> Self {
        Self {
            body: self.body.clone(),
            headers: self.headers.clone(),
            etag: self.etag.clone(),
            fetched_ms: now_ms,
            made_ms: number(headers, MADE_HEADER).map_or(self.made_ms, |made| made.min(now_ms + AHEAD_MS)),
            version: number(headers, VERSION_HEADER).unwrap_or(self.version),
            shows: shows(headers).unwrap_or_else(|| self.shows.clone()),
            freshness: Freshness::of(headers).unwrap_or(self.freshness),
            checked: AtomicU64::new(0),
            prepared: OnceLock::new(),
        }
    }

    /// Which of two copies of one page is the newer, `Greater` when this one is: by the subject's
    /// version, then by when they were made. Where a minute and more lies between them the time
    /// alone decides: a version went back when the origin was restored from a backup.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        if self.made_ms.abs_diff(other.made_ms) >= RESTORED_MS {
            return self.made_ms.cmp(&other.made_ms);
        }
        (self.version, self.made_ms).cmp(&(other.version, other.made_ms))
    }

    /// Whether it may take the place of `other`: it is newer, or the same and looked at later.
    #[must_use]
    pub fn replaces(&self, other: &Self) -> bool {
        self.order(other).then(self.fetched_ms.cmp(&other.fetched_ms)) != Ordering::Less
    }

    /// What may be done with it at `now_ms`.
    #[must_use]
    pub fn age(&self, now_ms: u64) -> Age {
        let age = self.age_seconds(now_ms);
        let Freshness { fresh, revalidate, on_error, hot } = self.freshness;
        let fresh = fresh.max(hot);
        // `<`, so that a page with max-age=0 is never fresh.
        if age < u64::from(fresh) {
            Age::Fresh
        } else if age < u64::from(fresh) + u64::from(revalidate) {
            Age::Revalidate
        } else if age < (u64::from(fresh) + u64::from(on_error)).min(DAY_SECONDS.into()) {
            Age::OnError
        } else {
            Age::Dead
        }
    }

    /// Whole seconds since it was fetched.
    #[must_use]
    pub fn age_seconds(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.fetched_ms) / 1_000
    }

    /// Whether `if_none_match` names it (RFC 9110: weak comparison, a list or `*`).
    #[must_use]
    pub fn matches(&self, if_none_match: &str) -> bool {
        let Some(etag) = self.etag.as_ref().and_then(|tag| tag.to_str().ok()) else { return false };
        let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        if_none_match.trim() == "*" || if_none_match.split(',').any(|tag| strong(tag) == strong(etag))
    }

    /// What it weighs in memory: the body here and as the platform holds it, what it shows, headers,
    /// map entries.
    #[must_use]
    pub fn weight(&self, key: &str) -> usize {
        self.body.len() * 2 + self.shows.entries().len() * 16 + key.len() * 2 + 1_024
    }

    /// The stored form: one line of JSON about the page, then the body as it is.
    #[must_use]
    pub fn encode(&self) -> Option<Bytes> {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).ok();
        let head = Head {
            v: VERSION,
            fetched_ms: self.fetched_ms,
            made_ms: self.made_ms,
            version: self.version,
            freshness: self.freshness,
            etag: self.etag.as_ref().and_then(text),
            shows: self.shows.encode(),
            headers: self.headers.iter().filter_map(|(n, v)| Some((n.as_str().to_owned(), text(v)?))).collect(),
        };
        let mut bytes = serde_json::to_vec(&head).ok()?;
        bytes.reserve_exact(self.body.len() + 1);
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        Some(bytes.into())
    }

    /// The page stored as `bytes`; `None` for anything else, and for what comes from the future.
    #[must_use]
    pub fn decode(bytes: &Bytes, now_ms: u64) -> Option<Self> {
        let end = bytes.iter().position(|b| *b == b'\n')?;
        let head: Head = serde_json::from_slice(bytes.get(..end)?).ok()?;
        let body = bytes.slice(end + 1..);
        // Two machines' clocks may differ a little; a minute is a mistake.
        if head.v != VERSION || body.is_empty() || head.fetched_ms > now_ms + 60_000 {
            return None;
        }
        let headers = head.headers.iter().filter_map(|(name, value)| {
            let name = KEPT.iter().find(|kept| *kept == name)?;
            Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
        });
        Some(Self {
            headers: headers.collect(),
            etag: head.etag.and_then(|tag| HeaderValue::from_str(&tag).ok()),
            fetched_ms: head.fetched_ms,
            made_ms: head.made_ms,
            version: head.version,
            shows: Shows::decode(&head.shows)?,
            freshness: head.freshness,
            checked: AtomicU64::new(0),
            prepared: OnceLock::new(),
            body,
        })
    }
}

impl Freshness {
    /// What an answer's headers allow; `None` when they allow no storing.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let cdn = text(CDN_CACHE_CONTROL).to_ascii_lowercase();
        let browser = text(CACHE_CONTROL.as_str()).to_ascii_lowercase();
        let forbids = |list: &str| directives(list).any(|(name, _)| matches!(name, "private" | "no-store"));
        if forbids(&cdn) || forbids(&browser) {
            return None;
        }
        let seconds = |wanted| {
            let found = directives(&cdn).find(|(name, _)| *name == wanted);
            found.and_then(|(_, value)| value.parse().ok()).map(|s: u32| s.min(DAY_SECONDS))
        };
        let hot = text(HOT_FOR).parse().ok();
        Some(Self {
            fresh: seconds("max-age")?,
            revalidate: seconds("stale-while-revalidate").unwrap_or(0),
            on_error: seconds("stale-if-error").unwrap_or(DAY_SECONDS),
            hot: hot.map_or(0, |s: u32| s.clamp(*HOT_SECONDS.start(), *HOT_SECONDS.end())),
        })
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

fn shows(headers: &HeaderMap) -> Option<Shows> {
    Shows::decode(headers.get(SHOWS_HEADER)?.to_str().ok()?)
}

fn directives(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(',').map(|directive| {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        (name.trim(), value.trim().trim_matches('"'))
    })
}

/// Largest page kept in an isolate's memory, in bytes: the largest tree with four times the
/// largest comment at every tenth node.
pub const MEMORY_PAGE_BYTES: usize = limits::TREE_NODES / 10 * limits::CONTENT_BYTES;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::doubles::ok;
    use proptest::prelude::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap())).collect()
    }

    #[test]
    fn freshness_is_the_origins() {
        let check = |list: &[(&'static str, &str)], expected: Option<[u32; 4]>| {
            let found = Freshness::of(&headers(list)).map(|f| [f.fresh, f.revalidate, f.on_error, f.hot]);
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
    fn age_decides() {
        let page = Page::from_origin(&ok("x", "max-age=2, stale-while-revalidate=3, stale-if-error=86400"), 0).unwrap();
        let check = |page: &Page, ms, expected| assert_eq!(page.age(ms), expected, "{ms}");
        check(&page, 0, Age::Fresh);
        check(&page, 1_999, Age::Fresh);
        check(&page, 2_000, Age::Revalidate);
        check(&page, 5_000, Age::OnError);
        check(&page, 86_399_999, Age::OnError);
        check(&page, 86_400_000, Age::Dead);
        let freshness = Freshness { hot: 30, ..page.freshness };
        let hot = Page { freshness, ..page.confirmed(&HeaderMap::new(), 0) };
        check(&hot, 10_000, Age::Fresh);
        check(&hot, 30_000, Age::Revalidate);
    }

    #[test]
    fn what_cannot_be_checked_is_not_stored() {
        let without = |name: &str| {
            let mut answer = ok("x", "max-age=2");
            answer.headers.remove(name);
            Page::from_origin(&answer, 0)
        };
        assert_eq!((without(SHOWS_HEADER), without(MADE_HEADER)), (None, None));
        assert_eq!(without(VERSION_HEADER).unwrap().version, 0);
        let ahead = Page::from_origin(&ok("x", "max-age=2"), 0).unwrap();
        assert_eq!((ahead.made_ms, ahead.confirmed(&HeaderMap::new(), 9).made_ms), (AHEAD_MS, AHEAD_MS));
    }

    #[test]
    fn the_version_decides_then_the_time() {
        let page = |(version, made_ms)| {
            let page = Page::from_origin(&ok("x", "max-age=2"), 0).unwrap();
            Page { version, made_ms, ..page }
        };
        let check = |a, b, expected| {
            assert_eq!(page(a).order(&page(b)), expected, "{a:?} {b:?}");
            assert_eq!(page(b).order(&page(a)), expected.reverse(), "{b:?} {a:?}");
        };
        check((5, 1_000), (4, 2_000), Ordering::Greater);
        check((5, 1_000), (5, 999), Ordering::Greater);
        check((5, 1_000), (5, 1_000), Ordering::Equal);
        check((5, 0), (4, 59_999), Ordering::Greater);
        check((5, 0), (4, 60_000), Ordering::Less);
        let later = Page { fetched_ms: 1, ..page((5, 7)) };
        assert!(later.replaces(&page((5, 7))) && !page((5, 7)).replaces(&later));
    }

    #[test]
    fn tags_compare_weakly() {
        let mut page = Page::from_origin(&ok("x", "max-age=2"), 0).unwrap();
        page.etag = Some(HeaderValue::from_static("\"a\""));
        for (tags, expected) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", W/\"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
            ("", false),
        ] {
            assert_eq!(page.matches(tags), expected, "{tags}");
        }
        page.etag = None;
        assert!(!page.matches("*"));
    }

    proptest! {
        #[test]
        fn what_is_stored_comes_back(body in prop::collection::vec(any::<u8>(), 1..200), fetched_ms in 0u64..1 << 42) {
            let mut answer = ok("x", "max-age=2, stale-while-revalidate=3");
            answer.body = Body::Whole(body.into());
            answer.headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
            answer.headers.insert("set-cookie", HeaderValue::from_static("a=b"));
            let page = Page::from_origin(&answer, fetched_ms).unwrap();
            prop_assert!(page.headers.iter().all(|(name, _)| name != "set-cookie"));
            prop_assert_eq!(Page::decode(&page.encode().unwrap(), fetched_ms), Some(page));
        }

        #[test]
        fn noise_is_no_page(bytes: Vec<u8>) {
            prop_assert_eq!(Page::decode(&bytes.into(), 0), None);
        }
    }
}
