//! The networks that have written by a widget of another system a moment ago. Such a widget asks for its page again as
//! if it had written nothing, without the epoch by which the element of this system asks for what it wrote; a copy from
//! before would hide a reader's own comment from them.
//!
//! An isolate knows the writes that passed through itself: a reader whose next request meets another isolate may wait for
//! as long as a copy is fresh.

use std::net::IpAddr;
use std::sync::Mutex;

use gailou_shared::request_path::COMPAT_PATHS;

use crate::lock;
use crate::lru::WeightedLru;

/// How long a network's reads ask the origin after its write, in milliseconds: longer than a copy is served without
/// asking.
const PAST_CACHES_MS: u64 = 30_000;
/// Most networks remembered.
const MAX_NETWORKS: usize = 4_096;
/// What writes, of the calls of widgets; the others that have a body count views or read.
const WIDGET_WRITES: [&str; 5] = [
    "/compat/waline/api/comment",
    "/compat/artalk/api/v2/comments",
    "/compat/artalk/api/v2/votes/",
    "/compat/isso/new",
    "/compat/isso/id/",
];

/// When each network last wrote.
#[derive(Debug)]
pub struct RecentWriters(Mutex<WeightedLru<u64>>);

impl Default for RecentWriters {
    fn default() -> Self {
        Self(Mutex::new(WeightedLru::new(usize::MAX, MAX_NETWORKS)))
    }
}

/// Clients whose address is unknown count as one network.
fn key(network: Option<IpAddr>) -> String {
    network.map(|network| network.to_string()).unwrap_or_default()
}

impl RecentWriters {
    /// Remembers a write that the origin has not refused.
    pub fn note(&self, path: &str, network: Option<IpAddr>, now_ms: u64) {
        if WIDGET_WRITES.iter().any(|write| path.starts_with(write)) {
            lock(&self.0).put(key(network).into(), now_ms, 0);
        }
    }

    /// Whether a reader of `path` is of a network that has just written by a widget.
    #[must_use]
    pub fn has_written(&self, path: &str, network: Option<IpAddr>, now_ms: u64) -> bool {
        path.starts_with(COMPAT_PATHS)
            && lock(&self.0).get(&key(network)).is_some_and(|last| now_ms.saturating_sub(last) < PAST_CACHES_MS)
    }
}

#[cfg(test)]
mod tests {
    use crate::EdgeConfig;
    use crate::testing::{EdgeTestBed, origin_answer, page_answer};

    const LIST: &str = "/compat/waline/api/comment?path=%2Fa";
    const FRESHNESS: &str = "public, max-age=2, stale-while-revalidate=10, stale-if-error=86400";

    /// A bed that has the list's first copy, and whose origin has another one now.
    fn outdated(method: &str, path: &str, status: u16) -> EdgeTestBed {
        let bed = EdgeTestBed::new(EdgeConfig::default());
        bed.set_answer(page_answer("before", FRESHNESS));
        assert_eq!(bed.get(LIST).body, "before");
        bed.set_answer(origin_answer(status, "{}", &[]));
        assert_eq!(bed.send(method, path, &[], "{}").status, status);
        bed.set_answer(page_answer("after", FRESHNESS));
        bed
    }

    #[test]
    fn who_has_written_reads_the_origins_copy() {
        let bed = outdated("POST", "/compat/waline/api/comment", 200);
        assert_eq!(bed.get(LIST).body, "after");
        bed.advance_ms(super::PAST_CACHES_MS);
        bed.drain_requests();
        for _ in 0..2 {
            assert_eq!(bed.get(LIST).body, "after");
        }
        assert_eq!(bed.drain_requests().len(), 1, "the caches serve again");
    }

    #[test]
    fn who_has_written_reads_the_copy_from_before_while_the_origin_is_away() {
        let bed = outdated("POST", "/compat/waline/api/comment", 503);
        bed.stop_origin();
        let answer = bed.get(LIST);
        assert_eq!((answer.status, answer.body.as_str(), answer.is_stale()), (200, "before", true));
    }

    #[test]
    fn reads_and_refused_writes_leave_the_copy() {
        for (method, path, status) in [
            ("POST", "/compat/waline/api/article", 200),
            ("POST", "/compat/isso/count", 200),
            ("POST", "/compat/artalk/api/v2/pages/pv", 200),
            ("POST", "/compat/waline/api/comment", 429),
        ] {
            assert_eq!(outdated(method, path, status).get(LIST).body, "before", "{method} {path} {status}");
        }
    }
}
