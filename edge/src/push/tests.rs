use std::sync::atomic::Ordering;

use super::*;
use crate::Config;
use crate::ports::PageStore as _;
use crate::ports::doubles::{Answer, Fault, START_MS, Stage, ok};
use gailou_shared::edge::sign;
use serde_json::{Value, json};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const BEFORE: &[u8] = b"the secret of the year before ..";
const LIST: &str = "/v1/subjects/article/7/comments";

fn stage() -> Stage {
    let stage = Stage::new(Config {
        edge_secret: Some(SECRET.into()),
        edge_secret_previous: Some(BEFORE.into()),
        ..Config::default()
    });
    stage.answers(ok("from the origin", "max-age=1"));
    stage
}

fn page(key: &str, body: &str, version: u64, made: u64) -> Value {
    let headers = json!({"content-type": "application/json", "etag": format!("\"{body}\""),
        "cdn-cache-control": "public, max-age=1, stale-while-revalidate=1, stale-if-error=86400",
        "x-gailou-hot-for": "30"});
    json!({"key": key, "headers": headers, "body": body, "shows": "AQUB", "made": made, "version": version})
}

fn push_signed(stage: &Stage, secret: &[u8], at_ms: u64, document: &Value) -> Answer {
    let body = document.to_string();
    let signed = Signed { method: "POST", path_query: "/edge/push", client: "", body: body.as_bytes() };
    let signature = sign(secret, at_ms / 1_000, &signed);
    stage.send("POST", "/edge/push", &[("x-gailou-edge", &signature), ("content-type", "application/json")], &body)
}

fn push(stage: &Stage, pages: &[Value]) -> Answer {
    push_signed(stage, SECRET, stage.clock_ms(), &json!({"v": 1, "pages": pages, "words": null}))
}

fn done(answer: &Answer) -> (u64, u64) {
    let done: Value = serde_json::from_str(&answer.body).unwrap();
    (done["stored"].as_u64().unwrap(), done["older"].as_u64().unwrap())
}

#[test]
fn a_pushed_page_is_served_for_as_long_as_it_says() {
    let mut stage = stage();
    let answer =
        push(&stage, &[page(LIST, "pushed", 3, START_MS), page(&format!("{LIST}?sort=new"), "new", 3, START_MS)]);
    assert_eq!((answer.status, done(&answer)), (200, (2, 0)));
    stage.later.drain();
    for _ in 0..3 {
        let answer = stage.get(LIST);
        assert_eq!((answer.body.as_str(), answer.header("x-gailou-stale")), ("pushed", ""));
        for internal in ["x-gailou-shows", "x-gailou-made", "x-gailou-version", "x-gailou-hot-for"] {
            assert_eq!(answer.header(internal), "");
        }
        stage.later.drain();
        stage.wait_ms(9_000);
        stage.restart();
    }
    assert_eq!((stage.get(&format!("{LIST}?sort=new")).body.as_str(), stage.sent().len()), ("new", 0));
}

#[test]
fn an_older_page_never_replaces_a_newer_one() {
    let stage = stage();
    let check = |version, made, expected| assert_eq!(done(&push(&stage, &[page(LIST, "x", version, made)])), expected);
    check(3, START_MS, (1, 0));
    check(3, START_MS, (0, 1));
    check(2, START_MS + 9, (0, 1));
    check(3, START_MS + 1, (1, 0));
    check(4, START_MS, (1, 0));
    // An isolate that has seen a newer page knows better than a store that shows an old one.
    stage.global.values.lock().unwrap().clear();
    check(3, START_MS + 1, (0, 1));
    check(4, START_MS, (1, 0));
    assert_eq!(stage.global.puts.load(Ordering::Relaxed), 4);
}

#[test]
fn only_who_has_a_secret_may_push() {
    let check = |secret: &[u8], at_ms, expected: (u16, &str)| {
        let stage = stage();
        let answer = push_signed(&stage, secret, at_ms, &json!({"v": 1, "pages": [page(LIST, "x", 1, START_MS)]}));
        assert_eq!((answer.status, answer.code().as_str()), expected);
        assert_eq!(stage.global.puts.load(Ordering::Relaxed), u64::from(expected.0 == 200));
    };
    check(SECRET, START_MS, (200, ""));
    check(BEFORE, START_MS, (200, ""));
    check(b"another", START_MS, (403, "forbidden"));
    check(b"", START_MS, (403, "forbidden"));
    check(SECRET, START_MS - 61_000, (403, "forbidden"));
    let stage = stage();
    assert_eq!(stage.send("POST", "/edge/push", &[], "{}").status, 403);
    assert_eq!(stage.send("GET", "/edge/push", &[], "").status, 405);
    assert_eq!(stage.send("POST", "/edge/push", &[("content-length", "8388609")], "").status, 413);
    let open = Stage::new(Config::default());
    assert_eq!(push(&open, &[page(LIST, "x", 1, START_MS)]).code(), "not_found");
}

#[test]
fn what_cannot_be_taken_is_named_and_nothing_stored() {
    let good = || page(LIST, "x", 1, START_MS);
    let with = |name: &str, value: Value| {
        let mut page = good();
        page[name] = value;
        json!({"v": 1, "pages": [good(), page]})
    };
    let check = |document: &Value, field: &str| {
        let stage = stage();
        let answer = push_signed(&stage, SECRET, START_MS, document);
        let problem: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, problem["errors"][0]["field"].as_str()), (400, Some(field)), "{}", answer.body);
        assert_eq!(stage.global.puts.load(Ordering::Relaxed), 0);
    };
    check(&json!([]), "body");
    check(&json!({"v": 2, "pages": []}), "v");
    check(&json!({"v": 1, "pages": vec![good(); MOST_PAGES + 1]}), "pages");
    check(&with("key", json!("/v1/me")), "pages.1.key");
    check(&with("key", json!(format!("{LIST}?limit=7"))), "pages.1.key");
    check(&with("shows", json!("")), "pages.1.headers");
    check(&with("body", json!("")), "pages.1.headers");
    check(&with("headers", json!({"cdn-cache-control": "private"})), "pages.1.headers");
    check(&with("headers", json!({"a b": "x"})), "pages.1.headers");
    check(&with("made", json!(-1)), "body");
}

#[test]
fn a_store_that_refuses_is_said_and_asked_again() {
    let stage = stage();
    *stage.global.fault.lock().unwrap() = Some(Fault::Before);
    let answer = push(&stage, &[page(LIST, "x", 1, START_MS)]);
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
    *stage.global.fault.lock().unwrap() = None;
    assert_eq!(done(&push(&stage, &[page(LIST, "x", 1, START_MS)])), (1, 0));
}

#[test]
fn a_void_page_is_not_stored() {
    let stage = stage();
    stage.takes_down(5, 2);
    stage.wait_ms(1);
    push(&stage, &[page(&format!("{LIST}?sort=new"), "other", 3, START_MS)]);
    stage.get(&format!("{LIST}?sort=new"));
    assert_eq!(done(&push(&stage, &[page(LIST, "shows 5 at 1", 3, START_MS)])), (0, 1));
}

#[test]
fn a_newer_dictionary_is_stored_and_the_same_one_kept_alive() {
    let stage = stage();
    let words = |version: u64, expected| {
        let terms = json!([{"term": "casino", "category": "ad", "action": "block"}]);
        let document = json!({"v": 1, "pages": [], "words": {"version": version, "terms": terms}});
        assert_eq!(done(&push_signed(&stage, SECRET, stage.clock_ms(), &document)), expected, "{version}");
    };
    words(3, (1, 0));
    words(3, (1, 0));
    words(2, (0, 1));
    words(4, (1, 0));
    let stored = futures_executor::block_on(stage.global.get(words::KEY)).unwrap().unwrap();
    assert_eq!((words::version(&stored), words::build(&stored).unwrap().len()), (4, 1));
}
