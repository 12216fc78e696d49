//! Public reads: caches, freshness, failures of the origin.

mod moderator_reads;
mod origin_failures;

use std::sync::atomic::Ordering;

use super::*;
use crate::EdgeConfig;
use crate::testing::{EdgeTestBed, START_MS, StoreFault, TestResponse, origin_answer, page_answer, stepping};
use gailou_shared::edge_protocol::HOT_FOR_HEADER;
use gailou_shared::page_language::ReaderLanguage;
use http::header::HeaderValue;
use proptest::prelude::*;

const LIST: &str = "/v1/subjects/article/7/comments";
const FRESHNESS: &str = "public, max-age=2, stale-while-revalidate=10, stale-if-error=86400";

fn bed() -> EdgeTestBed {
    EdgeTestBed::new(EdgeConfig::default())
}

/// A bed whose memory, colo cache and global store hold `LIST` with the body `one`, and whose isolate
/// knows the change feed.
fn warm() -> EdgeTestBed {
    let bed = bed();
    bed.set_answer(page_answer("one", FRESHNESS));
    for _ in 0..2 {
        assert_eq!(bed.get(LIST).body, "one");
        bed.tasks.drain();
    }
    assert_eq!(bed.drain_requests().len(), 1);
    bed
}

#[test]
fn fresh_page_is_served_from_memory() {
    let bed = warm();
    bed.advance_ms(1_500);
    let answer = bed.get(LIST);
    assert_eq!((answer.status, answer.body.as_str(), answer.is_stale()), (200, "one", false));
    assert_eq!(bed.drain_requests().len() + bed.tasks.drain(), 0);
    for (name, value) in [
        ("cache-control", "public, no-cache"),
        ("content-type", "application/json"),
        ("etag", "\"one\""),
        ("age", "1"),
        ("access-control-allow-origin", "*"),
        ("cdn-cache-control", ""),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    assert_ne!(answer.header("x-request-id"), "");
    assert_eq!(bed.send("HEAD", LIST, &[], "").body, "");
}

#[test]
fn page_to_revalidate_is_served_while_one_request_fetches_the_next() {
    let bed = warm();
    bed.set_answer(page_answer("two", FRESHNESS));
    bed.advance_ms(3_000);
    for _ in 0..5 {
        let answer = bed.get(LIST);
        assert_eq!((answer.body.as_str(), answer.is_stale()), ("one", false));
    }
    bed.tasks.drain();
    let sent = bed.drain_requests();
    assert_eq!(sent.len(), 1, "one refresh for five readers");
    assert_eq!(sent[0].0.headers.get("if-none-match").unwrap(), "\"one\"");
    assert_eq!(bed.get(LIST).body, "two");
}

#[test]
fn refresh_that_never_ends_is_replaced_after_its_timeout() {
    let bed = warm();
    bed.set_answer(page_answer("two", FRESHNESS));
    bed.advance_ms(3_000);
    assert_eq!(bed.get(LIST).body, "one");
    // Its task stays in the queue, as if the platform had killed it.
    bed.advance_ms(4_999);
    assert_eq!(bed.get(LIST).body, "one");
    bed.advance_ms(1);
    assert_eq!(bed.get(LIST).body, "one");
    assert_eq!(bed.tasks.drain(), 5, "two refreshes, one page stored, two copies of the feed");
    assert_eq!(bed.drain_requests().len(), 1, "the second refresh finds what the first has fetched");
}

#[test]
fn page_past_revalidation_is_fetched_before_the_answer() {
    let bed = warm();
    bed.set_answer(page_answer("two", FRESHNESS));
    bed.advance_ms(12_000);
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.header("age")), ("two", "0"));
}

#[test]
fn if_none_match_is_answered_with_304() {
    let bed = warm();
    for (tags, status) in [("\"one\"", 304), ("W/\"one\"", 304), ("\"zero\", \"one\"", 304), ("\"two\"", 200)] {
        let answer = bed.send("GET", LIST, &[("if-none-match", tags)], "");
        assert_eq!((answer.status, answer.header("etag")), (status, "\"one\""), "{tags}");
        assert_eq!(answer.body.is_empty(), status == 304);
    }
    assert_eq!(bed.drain_requests().len(), 0);
}

#[test]
fn origins_304_makes_the_page_fresh_again() {
    let bed = warm();
    bed.set_answer(origin_answer(304, "", &[("etag", "\"one\""), ("cdn-cache-control", "max-age=60")]));
    bed.advance_ms(20_000);
    let answer = bed.get(LIST);
    assert_eq!((answer.status, answer.body.as_str(), answer.header("age")), (200, "one", "0"));
    bed.advance_ms(50_000);
    assert_eq!(bed.get(LIST).body, "one");
    assert_eq!(bed.drain_requests().len(), 1);
}

#[test]
fn global_store_is_read_only_when_the_origin_fails() {
    let mut bed = warm();
    bed.restart_isolate();
    bed.colo_cache.values.lock().unwrap().clear();
    bed.set_answer(page_answer("two", FRESHNESS));
    let gets = bed.global_store.gets.load(Ordering::Relaxed);
    assert_eq!(bed.get(LIST).body, "two");
    assert_eq!(bed.global_store.gets.load(Ordering::Relaxed), gets);

    bed.restart_isolate();
    bed.colo_cache.values.lock().unwrap().clear();
    bed.stop_origin();
    bed.advance_ms(3_600_000);
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale(), answer.header("age")), ("one", true, "3600"));
}

#[test]
fn page_as_html_is_stored_once_for_each_language() {
    let bed = bed();
    for language in ReaderLanguage::ALL {
        bed.set_answer(page_answer(language.name(), FRESHNESS));
        let answer = bed.send("GET", "/t/article/7", &[("accept-language", language.tag())], "");
        assert_eq!((answer.body.as_str(), answer.header("vary")), (language.name(), "Accept-Language"));
        let sent = bed.drain_requests().into_iter().map(|(request, _)| request.path_query).collect::<Vec<_>>();
        assert_eq!(sent, [format!("/t/article/7?lang={}", language.name())]);
        bed.tasks.drain();
    }
    // From memory each reader gets the own language, and an address with a language that one.
    for language in ReaderLanguage::ALL {
        let own = bed.send("GET", "/t/article/7?utm=x", &[("accept-language", language.tag())], "");
        assert_eq!((own.body.as_str(), own.header("vary")), (language.name(), "Accept-Language"));
        let other = [("accept-language", "de, ar;q=0.5")];
        let named = bed.send("GET", &format!("/t/article/7?lang={}", language.name()), &other, "");
        assert_eq!((named.body.as_str(), named.header("vary")), (language.name(), ""));
    }
    assert_eq!(bed.drain_requests().len(), 0);
}

#[test]
fn new_isolate_is_served_from_the_colo_cache() {
    let mut bed = warm();
    bed.restart_isolate();
    bed.stop_origin();
    bed.advance_ms(1_000);
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale(), answer.header("age")), ("one", false, "1"));
    assert_eq!(bed.drain_requests().len(), 0);
}

#[test]
fn popular_page_is_served_from_the_global_store_for_its_popular_seconds() {
    let hot = |body| {
        let mut answer = page_answer(body, "max-age=1, stale-while-revalidate=1");
        answer.headers.insert(HOT_FOR_HEADER, HeaderValue::from_static("30"));
        answer
    };
    let mut bed = bed();
    bed.set_answer(hot("one"));
    bed.get(LIST);
    bed.tasks.drain();
    // Another colo put a newer copy.
    bed.set_answer(hot("three"));
    let newer = CachedPage::from_origin(&hot("two"), bed.clock_ms() + 8_000).unwrap();
    bed.global_store.values.lock().unwrap().insert(LIST.into(), newer.encode().unwrap());
    bed.advance_ms(29_000);
    assert_eq!(bed.get(LIST).body, "one", "memory and colo are as good for as long");
    bed.advance_ms(3_000);
    bed.drain_requests();
    let gets = bed.global_store.gets.load(Ordering::Relaxed);
    for _ in 0..2 {
        let answer = bed.get(LIST);
        assert_eq!((answer.body.as_str(), answer.is_stale(), answer.header("age")), ("two", false, "24"));
    }
    assert_eq!(bed.drain_requests().len(), 0);
    assert_eq!(bed.global_store.gets.load(Ordering::Relaxed), gets + 1, "then it is in memory");
    bed.tasks.drain();
    bed.restart_isolate();
    assert_eq!(bed.get(LIST).body, "two", "and in the colo");
    bed.advance_ms(7_000);
    assert_eq!(bed.get(LIST).body, "three");
}

#[test]
fn page_is_written_to_the_global_store_once_a_minute() {
    let bed = bed();
    for n in 0..10 {
        bed.set_answer(page_answer(&format!("v{n}"), "max-age=0"));
        bed.get(LIST);
        bed.tasks.drain();
        bed.advance_ms(7_000);
    }
    assert_eq!(bed.global_store.puts.load(Ordering::Relaxed), 2);
    bed.get(&format!("{LIST}?limit=7"));
    bed.get(&format!("{LIST}?cursor=abc"));
    bed.tasks.drain();
    assert_eq!(bed.global_store.puts.load(Ordering::Relaxed), 2, "odd limits and cursors are not shared");
}

#[test]
fn unknown_parameters_share_the_cached_page() {
    let bed = warm();
    for query in ["?utm=1", "?limit=20", "?sort=hot&limit=20&x=y", "?_=1&_=2"] {
        assert_eq!(bed.get(&format!("{LIST}{query}")).body, "one", "{query}");
    }
    assert_eq!(bed.drain_requests().len(), 0);
    bed.get(&format!("{LIST}?sort=new&x=1"));
    assert_eq!(bed.drain_requests()[0].0.path_query, format!("{LIST}?sort=new"));
}

#[test]
fn no_cache_reaches_the_origin_once_a_second() {
    let bed = warm();
    bed.set_answer(page_answer("two", FRESHNESS));
    let past = || bed.send("GET", LIST, &[("cache-control", "no-cache")], "").body;
    assert_eq!(past(), "two");
    assert_eq!(bed.drain_requests()[0].0.headers.get("cache-control").unwrap(), "no-cache");
    assert_eq!(bed.get(LIST).body, "two", "and refreshes what is stored");
    bed.set_answer(page_answer("three", FRESHNESS));
    assert_eq!(past(), "two");
    bed.advance_ms(1_000);
    assert_eq!(past(), "three");
    bed.stop_origin();
    bed.advance_ms(1_000);
    assert_eq!(past(), "three");
}

#[test]
fn answer_that_is_no_page_is_not_stored() {
    let not_stored = [
        origin_answer(404, "{}", &[("content-type", "application/problem+json"), ("cdn-cache-control", "max-age=60")]),
        origin_answer(410, "{}", &[("content-type", "application/problem+json")]),
        origin_answer(200, "x", &[("cache-control", "private, no-store"), ("cdn-cache-control", "max-age=60")]),
        origin_answer(200, "x", &[]),
    ];
    for answer in not_stored {
        let bed = bed();
        bed.set_answer(answer.clone());
        for _ in 0..2 {
            assert_eq!(bed.get(LIST).status, answer.status.as_u16());
            assert_eq!(bed.drain_requests().len(), 1);
        }
        bed.tasks.drain();
        assert_eq!(bed.colo_cache.puts.load(Ordering::Relaxed) + bed.global_store.puts.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn page_that_becomes_404_is_removed_everywhere() {
    let mut bed = warm();
    bed.set_answer(origin_answer(404, "{}", &[("content-type", "application/problem+json")]));
    bed.advance_ms(20_000);
    assert_eq!(bed.get(LIST).status, 404);
    bed.tasks.drain();
    bed.stop_origin();
    bed.restart_isolate();
    assert_eq!(bed.get(LIST).status, 503);
}

#[test]
fn failed_store_counts_as_empty() {
    for fault in [StoreFault::Before, StoreFault::AfterPut] {
        let bed = bed();
        *bed.colo_cache.fault.lock().unwrap() = Some(fault);
        *bed.global_store.fault.lock().unwrap() = Some(fault);
        bed.set_answer(page_answer("one", FRESHNESS));
        assert_eq!(bed.get(LIST).body, "one");
        bed.tasks.drain();
        bed.advance_ms(20_000);
        bed.set_answer(page_answer("two", FRESHNESS));
        assert_eq!(bed.get(LIST).body, "two");
        bed.stop_origin();
        bed.advance_ms(20_000);
        let answer = bed.get(LIST);
        assert_eq!((answer.body.as_str(), answer.is_stale()), ("two", true), "{fault:?}");
    }
}

#[test]
fn older_copy_does_not_replace_a_newer_one() {
    let bed = warm();
    let page = |body, version, made_ms| {
        let page = CachedPage::from_origin(&page_answer(body, FRESHNESS), bed.clock_ms()).unwrap();
        Arc::new(CachedPage { version, made_ms, ..page })
    };
    let check = |page: Arc<CachedPage>, expected: &str| {
        assert_eq!(admit(&bed.isolate, LIST, &page).unwrap().body, expected);
        assert_eq!(bed.get(LIST).body, expected);
    };
    check(page("two", 2, START_MS), "two");
    check(page("older version", 1, START_MS + 9), "two");
    check(page("made earlier", 2, START_MS - 1), "two");
    check(page("three", 2, START_MS + 1), "three");
}

#[test]
fn memory_stays_within_its_budget() {
    let bed = bed();
    let body = "x".repeat(100_000);
    for n in 0..400 {
        bed.set_answer(page_answer(&body, FRESHNESS));
        bed.get(&format!("/v1/comments/{}", n + 1));
    }
    let memory = lock(&bed.isolate.pages);
    assert!(
        memory.weight() <= crate::lru::MEMORY_BUDGET_BYTES && memory.len() > 50,
        "{} {}",
        memory.weight(),
        memory.len()
    );
}

#[test]
fn only_one_reader_of_an_old_page_waits_for_a_slow_origin() {
    let bed = warm();
    for (body, old) in [("two", "one"), ("three", "two")] {
        bed.set_answer(page_answer(body, FRESHNESS));
        bed.advance_ms(12_000);
        let (ports, origin) = stepping::holding_ports(&bed, LIST);
        let mut first = stepping::PendingRead::new(&bed, &ports, LIST);
        assert!(first.step().is_none());
        for _ in 0..5 {
            let answer = stepping::PendingRead::new(&bed, &ports, LIST).step().unwrap();
            assert_eq!((answer.body.as_str(), answer.is_stale()), (old, true));
        }
        assert_eq!(bed.drain_requests().len(), 1);
        origin.release();
        let answer = first.step().unwrap();
        assert_eq!((answer.body.as_str(), answer.is_stale()), (body, false));
        assert_eq!(bed.get(LIST).body, body);
    }
    // When the waiting reader disconnects, the next one fetches the page.
    bed.advance_ms(12_000);
    let (ports, _) = stepping::holding_ports(&bed, LIST);
    assert!(stepping::PendingRead::new(&bed, &ports, LIST).step().is_none());
    assert!(!bed.get(LIST).is_stale());
}

proptest! {
    /// After any sequence of events a reader receives a body that the origin has sent and that is not
    /// older than the page allows, marked when it is stale, or the origin's problem.
    #[test]
    fn readers_receive_only_what_the_origin_allows(
        steps in prop::collection::vec((0u8..7, 0u64..40_000), 1..60)
    ) {
        let mut bed = bed();
        let mut version = 0u64;
        let mut born = vec![bed.clock_ms()];
        bed.set_answer(page_answer("0", FRESHNESS));
        let mut up = true;
        for (what, ms) in steps {
            match what {
                0 => bed.restart_isolate(),
                1 => { bed.tasks.drain(); }
                2 => { bed.stop_origin(); up = false; }
                3 | 4 => {
                    version += 1;
                    born.push(bed.clock_ms());
                    bed.set_answer(page_answer(&version.to_string(), FRESHNESS));
                    up = true;
                }
                5 => bed.advance_ms(ms),
                _ => {}
            }
            let now = bed.clock_ms();
            let answer = bed.get(LIST);
            if answer.status == 503 {
                prop_assert!(!up);
                continue;
            }
            prop_assert_eq!(answer.status, 200);
            let seen: u64 = answer.body.parse().unwrap();
            let replaced = born.get(seen as usize + 1).copied().unwrap_or(now);
            let behind = now - replaced;
            prop_assert!(behind < 12_000 || answer.is_stale(), "{behind} ms behind and not marked");
        }
    }
}
