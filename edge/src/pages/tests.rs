use std::sync::atomic::Ordering;

use super::*;
use crate::Config;
use crate::feed::held;
use crate::ports::doubles::{Answer, Fault, START_MS, Stage, of, ok};
use proptest::prelude::*;

const LIST: &str = "/v1/subjects/article/7/comments";
const FRESHNESS: &str = "public, max-age=2, stale-while-revalidate=10, stale-if-error=86400";

fn stage() -> Stage {
    Stage::new(Config::default())
}

/// A stage whose memory, colo and shared store hold `LIST` with the body `one`, and which knows the
/// change feed.
fn warm() -> Stage {
    let stage = stage();
    stage.answers(ok("one", FRESHNESS));
    for _ in 0..2 {
        assert_eq!(stage.get(LIST).body, "one");
        stage.later.drain();
    }
    assert_eq!(stage.sent().len(), 1);
    stage
}

fn is_stale(answer: &Answer) -> bool {
    let marks = (answer.header("x-gailou-stale"), answer.header("warning").starts_with("110"));
    assert!(marks == ("1", true) || marks == ("", false), "{marks:?}");
    marks.1
}

#[test]
fn a_fresh_page_is_served_from_memory() {
    let stage = warm();
    stage.wait_ms(1_500);
    let answer = stage.get(LIST);
    assert_eq!((answer.status, answer.body.as_str(), is_stale(&answer)), (200, "one", false));
    assert_eq!(stage.sent().len() + stage.later.drain(), 0);
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
    assert_eq!(stage.send("HEAD", LIST, &[], "").body, "");
}

#[test]
fn a_stale_page_is_served_while_one_request_fetches_the_next() {
    let stage = warm();
    stage.answers(ok("two", FRESHNESS));
    stage.wait_ms(3_000);
    for _ in 0..5 {
        let answer = stage.get(LIST);
        assert_eq!((answer.body.as_str(), is_stale(&answer)), ("one", false));
    }
    stage.later.drain();
    let sent = stage.sent();
    assert_eq!(sent.len(), 1, "one refresh for five readers");
    assert_eq!(sent[0].0.headers.get("if-none-match").unwrap(), "\"one\"");
    assert_eq!(stage.get(LIST).body, "two");
}

#[test]
fn a_refresh_that_never_ends_is_given_up() {
    let stage = warm();
    stage.answers(ok("two", FRESHNESS));
    stage.wait_ms(3_000);
    assert_eq!(stage.get(LIST).body, "one");
    // Its task stands still in the queue, as when the platform stopped it.
    stage.wait_ms(4_999);
    assert_eq!(stage.get(LIST).body, "one");
    stage.wait_ms(1);
    assert_eq!(stage.get(LIST).body, "one");
    assert_eq!(stage.later.drain(), 5, "two refreshes, one page stored, two copies of the feed");
    assert_eq!(stage.sent().len(), 1, "the second refresh finds what the first has fetched");
}

#[test]
fn beyond_revalidation_the_reader_waits_for_the_origin() {
    let stage = warm();
    stage.answers(ok("two", FRESHNESS));
    stage.wait_ms(12_000);
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), answer.header("age")), ("two", "0"));
}

#[test]
fn tags_are_answered_at_the_edge() {
    let stage = warm();
    for (tags, status) in [("\"one\"", 304), ("W/\"one\"", 304), ("\"zero\", \"one\"", 304), ("\"two\"", 200)] {
        let answer = stage.send("GET", LIST, &[("if-none-match", tags)], "");
        assert_eq!((answer.status, answer.header("etag")), (status, "\"one\""), "{tags}");
        assert_eq!(answer.body.is_empty(), status == 304);
    }
    assert_eq!(stage.sent().len(), 0);
}

#[test]
fn an_unchanged_page_is_confirmed() {
    let stage = warm();
    stage.answers(of(304, "", &[("etag", "\"one\""), ("cdn-cache-control", "max-age=60")]));
    stage.wait_ms(20_000);
    let answer = stage.get(LIST);
    assert_eq!((answer.status, answer.body.as_str(), answer.header("age")), (200, "one", "0"));
    stage.wait_ms(50_000);
    assert_eq!(stage.get(LIST).body, "one");
    assert_eq!(stage.sent().len(), 1);
}

#[test]
fn an_origin_that_is_gone_leaves_stale_pages() {
    let faults: [fn(&Stage); 4] = [
        |stage| stage.is_gone(),
        |stage| stage.answers(of(502, "<html>", &[("content-type", "text/html")])),
        |stage| stage.answers(of(503, r#"{"code":"overloaded"}"#, &[("content-type", "application/problem+json")])),
        |stage| stage.answers(of(500, r#"{"code":"internal"}"#, &[("content-type", "application/problem+json")])),
    ];
    for fault in faults {
        let stage = warm();
        fault(&stage);
        stage.wait_ms(3_600_000);
        let answer = stage.get(LIST);
        assert_eq!((answer.status, answer.body.as_str(), is_stale(&answer)), (200, "one", true));
        assert_eq!(answer.header("age"), "3600");
        let answer = stage.send("GET", LIST, &[("if-none-match", "\"one\"")], "");
        assert_eq!((answer.status, is_stale(&answer)), (304, true));
        stage.wait_ms(23 * 3_600_000);
        assert_ne!(stage.get(LIST).status, 200, "after a day");
    }
}

#[test]
fn a_failing_origin_is_waited_for_once_and_then_probed() {
    let stage = warm();
    stage.is_gone();
    stage.wait_ms(60_000);
    assert!(is_stale(&stage.get(LIST)));
    assert_eq!(stage.sent().len(), 1);
    for _ in 0..10 {
        assert!(is_stale(&stage.get(LIST)));
    }
    assert_eq!(stage.later.drain(), 2, "one probe, and one of the feed");
    stage.answers(ok("two", FRESHNESS));
    stage.wait_ms(1_500);
    assert!(is_stale(&stage.get(LIST)), "served before the probe comes back");
    stage.later.drain();
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), is_stale(&answer)), ("two", false));
}

#[test]
fn an_old_failure_is_forgotten() {
    let stage = warm();
    stage.is_gone();
    stage.wait_ms(60_000);
    assert!(is_stale(&stage.get(LIST)));
    stage.answers(ok("two", FRESHNESS));
    stage.wait_ms(5_000);
    assert_eq!(stage.get(LIST).body, "two");
}

#[test]
fn nothing_stored_and_no_origin_is_503() {
    let stage = stage();
    stage.is_gone();
    let answer = stage.send("GET", LIST, &[("x-request-id", "abc")], "");
    assert_eq!((answer.status, answer.code().as_str()), (503, "origin_unreachable"));
    assert_eq!((answer.header("retry-after"), answer.header("x-request-id")), ("5", "abc"));
    assert!(answer.body.contains("\"trace_id\":\"abc\""));
    assert_eq!(answer.header("content-type"), "application/problem+json");
    // What the origin itself says of its trouble is better than what the edge can guess.
    stage.answers(of(503, r#"{"code":"overloaded"}"#, &[("content-type", "application/problem+json")]));
    assert_eq!(stage.get(LIST).code(), "overloaded");
}

#[test]
fn the_shared_store_is_for_failures() {
    let mut stage = warm();
    stage.restart();
    stage.colo.values.lock().unwrap().clear();
    stage.answers(ok("two", FRESHNESS));
    let gets = stage.global.gets.load(Ordering::Relaxed);
    assert_eq!(stage.get(LIST).body, "two");
    assert_eq!(stage.global.gets.load(Ordering::Relaxed), gets);

    stage.restart();
    stage.colo.values.lock().unwrap().clear();
    stage.is_gone();
    stage.wait_ms(3_600_000);
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), is_stale(&answer), answer.header("age")), ("one", true, "3600"));
}

#[test]
fn the_colo_serves_a_new_isolate() {
    let mut stage = warm();
    stage.restart();
    stage.is_gone();
    stage.wait_ms(1_000);
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), is_stale(&answer), answer.header("age")), ("one", false, "1"));
    assert_eq!(stage.sent().len(), 0);
}

#[test]
fn a_hot_page_is_served_from_the_shared_store_for_as_long_as_it_says() {
    let hot = |body| {
        let mut answer = ok(body, "max-age=1, stale-while-revalidate=1");
        answer.headers.insert(crate::page::HOT_FOR, HeaderValue::from_static("30"));
        answer
    };
    let mut stage = stage();
    stage.answers(hot("one"));
    stage.get(LIST);
    stage.later.drain();
    // Another colo put a newer copy.
    stage.answers(hot("three"));
    let newer = Page::from_origin(&hot("two"), stage.clock_ms() + 8_000).unwrap();
    stage.global.values.lock().unwrap().insert(LIST.into(), newer.encode().unwrap());
    stage.wait_ms(29_000);
    assert_eq!(stage.get(LIST).body, "one", "memory and colo are as good for as long");
    stage.wait_ms(3_000);
    stage.sent();
    let gets = stage.global.gets.load(Ordering::Relaxed);
    for _ in 0..2 {
        let answer = stage.get(LIST);
        assert_eq!((answer.body.as_str(), is_stale(&answer), answer.header("age")), ("two", false, "24"));
    }
    assert_eq!(stage.sent().len(), 0);
    assert_eq!(stage.global.gets.load(Ordering::Relaxed), gets + 1, "then it is in memory");
    stage.later.drain();
    stage.restart();
    assert_eq!(stage.get(LIST).body, "two", "and in the colo");
    stage.wait_ms(7_000);
    assert_eq!(stage.get(LIST).body, "three");
}

#[test]
fn one_key_is_shared_once_a_minute() {
    let stage = stage();
    for n in 0..10 {
        stage.answers(ok(&format!("v{n}"), "max-age=0"));
        stage.get(LIST);
        stage.later.drain();
        stage.wait_ms(7_000);
    }
    assert_eq!(stage.global.puts.load(Ordering::Relaxed), 2);
    stage.get(&format!("{LIST}?limit=7"));
    stage.get(&format!("{LIST}?cursor=abc"));
    stage.later.drain();
    assert_eq!(stage.global.puts.load(Ordering::Relaxed), 2, "odd limits and cursors are not shared");
}

#[test]
fn unknown_parameters_do_not_split_a_page() {
    let stage = warm();
    for query in ["?utm=1", "?limit=20", "?sort=hot&limit=20&x=y", "?_=1&_=2"] {
        assert_eq!(stage.get(&format!("{LIST}{query}")).body, "one", "{query}");
    }
    assert_eq!(stage.sent().len(), 0);
    stage.get(&format!("{LIST}?sort=new&x=1"));
    assert_eq!(stage.sent()[0].0.path_query, format!("{LIST}?sort=new"));
}

#[test]
fn no_cache_goes_to_the_origin_once_a_second() {
    let stage = warm();
    stage.answers(ok("two", FRESHNESS));
    let past = || stage.send("GET", LIST, &[("cache-control", "no-cache")], "").body;
    assert_eq!(past(), "two");
    assert_eq!(stage.sent()[0].0.headers.get("cache-control").unwrap(), "no-cache");
    assert_eq!(stage.get(LIST).body, "two", "and refreshes what is stored");
    stage.answers(ok("three", FRESHNESS));
    assert_eq!(past(), "two");
    stage.wait_ms(1_000);
    assert_eq!(past(), "three");
    stage.is_gone();
    stage.wait_ms(1_000);
    assert_eq!(past(), "three");
}

#[test]
fn what_is_no_page_is_never_stored() {
    let not_stored = [
        of(404, "{}", &[("content-type", "application/problem+json"), ("cdn-cache-control", "max-age=60")]),
        of(410, "{}", &[("content-type", "application/problem+json")]),
        of(200, "x", &[("cache-control", "private, no-store"), ("cdn-cache-control", "max-age=60")]),
        of(200, "x", &[]),
    ];
    for answer in not_stored {
        let stage = stage();
        stage.answers(answer.clone());
        for _ in 0..2 {
            assert_eq!(stage.get(LIST).status, answer.status.as_u16());
            assert_eq!(stage.sent().len(), 1);
        }
        stage.later.drain();
        assert_eq!(stage.colo.puts.load(Ordering::Relaxed) + stage.global.puts.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn who_answers_in_the_origins_place_is_not_believed() {
    let html = [("content-type", "text/html")];
    for status in [301, 403, 404, 410, 500, 502, 521, 530] {
        let mut stage = warm();
        stage.later.drain();
        stage.answers(of(status, "<h1>a proxy</h1>", &html));
        stage.wait_ms(20_000);
        let page = stage.get(LIST);
        assert_eq!((page.status, &*page.body, is_stale(&page)), (200, "one", true), "{status}");
        stage.later.drain();
        stage.is_gone();
        stage.restart();
        assert_eq!(stage.get(LIST).body, "one", "{status}: nothing is forgotten");
    }
}

#[test]
fn a_page_that_is_gone_is_forgotten_everywhere() {
    let mut stage = warm();
    stage.answers(of(404, "{}", &[("content-type", "application/problem+json")]));
    stage.wait_ms(20_000);
    assert_eq!(stage.get(LIST).status, 404);
    stage.later.drain();
    stage.is_gone();
    stage.restart();
    assert_eq!(stage.get(LIST).status, 503);
}

#[test]
fn stores_that_fail_are_stores_without_the_page() {
    for fault in [Fault::Before, Fault::AfterPut] {
        let stage = stage();
        *stage.colo.fault.lock().unwrap() = Some(fault);
        *stage.global.fault.lock().unwrap() = Some(fault);
        stage.answers(ok("one", FRESHNESS));
        assert_eq!(stage.get(LIST).body, "one");
        stage.later.drain();
        stage.wait_ms(20_000);
        stage.answers(ok("two", FRESHNESS));
        assert_eq!(stage.get(LIST).body, "two");
        stage.is_gone();
        stage.wait_ms(20_000);
        let answer = stage.get(LIST);
        assert_eq!((answer.body.as_str(), is_stale(&answer)), ("two", true), "{fault:?}");
    }
}

#[test]
fn an_older_copy_never_replaces_a_newer_one() {
    let stage = warm();
    let page = |body, version, made_ms| {
        let page = Page::from_origin(&ok(body, FRESHNESS), stage.clock_ms()).unwrap();
        Arc::new(Page { version, made_ms, ..page })
    };
    let check = |page: Arc<Page>, expected: &str| {
        assert_eq!(admit(&stage.edge, LIST, &page).unwrap().body, expected);
        assert_eq!(stage.get(LIST).body, expected);
    };
    check(page("two", 2, START_MS), "two");
    check(page("older version", 1, START_MS + 9), "two");
    check(page("made earlier", 2, START_MS - 1), "two");
    check(page("three", 2, START_MS + 1), "three");
}

#[test]
fn memory_is_bounded() {
    let stage = stage();
    let body = "x".repeat(100_000);
    for n in 0..400 {
        stage.answers(ok(&body, FRESHNESS));
        stage.get(&format!("/v1/comments/{}", n + 1));
    }
    let memory = lock(&stage.edge.memory);
    assert!(memory.weight() <= crate::memory::BYTES && memory.len() > 50, "{} {}", memory.weight(), memory.len());
}

#[test]
fn one_reader_of_an_old_page_waits_for_a_slow_origin() {
    let stage = warm();
    for (body, old) in [("two", "one"), ("three", "two")] {
        stage.answers(ok(body, FRESHNESS));
        stage.wait_ms(12_000);
        let (world, origin) = held::world(&stage, LIST);
        let mut first = held::Reader::new(&stage, &world, LIST);
        assert!(first.step().is_none());
        for _ in 0..5 {
            let answer = held::Reader::new(&stage, &world, LIST).step().unwrap();
            assert_eq!((answer.body.as_str(), is_stale(&answer)), (old, true));
        }
        assert_eq!(stage.sent().len(), 1);
        origin.open();
        let answer = first.step().unwrap();
        assert_eq!((answer.body.as_str(), is_stale(&answer)), (body, false));
        assert_eq!(stage.get(LIST).body, body);
    }
    // A reader who goes away leaves the way to the next.
    stage.wait_ms(12_000);
    let (world, _) = held::world(&stage, LIST);
    assert!(held::Reader::new(&stage, &world, LIST).step().is_none());
    assert!(!is_stale(&stage.get(LIST)));
}

proptest! {
    /// Whatever happens in whatever order: a reader gets 200 with a body the origin has sent, not
    /// older than the page allows, or the origin's trouble; and it says so when it is old.
    #[test]
    fn a_reader_never_gets_more_than_the_origin_allowed(
        steps in prop::collection::vec((0u8..7, 0u64..40_000), 1..60)
    ) {
        let mut stage = stage();
        let mut version = 0u64;
        let mut born = vec![stage.clock_ms()];
        stage.answers(ok("0", FRESHNESS));
        let mut up = true;
        for (what, ms) in steps {
            match what {
                0 => stage.restart(),
                1 => { stage.later.drain(); }
                2 => { stage.is_gone(); up = false; }
                3 | 4 => {
                    version += 1;
                    born.push(stage.clock_ms());
                    stage.answers(ok(&version.to_string(), FRESHNESS));
                    up = true;
                }
                5 => stage.wait_ms(ms),
                _ => {}
            }
            let now = stage.clock_ms();
            let answer = stage.get(LIST);
            if answer.status == 503 {
                prop_assert!(!up);
                continue;
            }
            prop_assert_eq!(answer.status, 200);
            let seen: u64 = answer.body.parse().unwrap();
            let replaced = born.get(seen as usize + 1).copied().unwrap_or(now);
            let behind = now - replaced;
            prop_assert!(behind < 12_000 || is_stale(&answer), "{behind} ms behind and not marked");
        }
    }
}
