//! Pushes: order, signatures, invalid documents.

mod interleavings;

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::EdgeConfig;
use crate::ports::PageStore as _;
use crate::testing::{EdgeTestBed, START_MS, StoreFault, TestResponse, page_answer};
use futures_util::FutureExt as _;
use gailou_shared::edge_protocol::sign_request;
use serde_json::{Value, json};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const BEFORE: &[u8] = b"the secret of the year before ..";
const LIST: &str = "/v1/subjects/article/7/comments";

fn bed() -> EdgeTestBed {
    let bed = EdgeTestBed::new(EdgeConfig {
        edge_secret: Some(SECRET.into()),
        edge_secret_previous: Some(BEFORE.into()),
        ..EdgeConfig::default()
    });
    bed.set_answer(page_answer("from the origin", "max-age=1"));
    bed
}

fn page(key: &str, body: &str, version: u64, made: u64) -> Value {
    let headers = json!({"content-type": "application/json", "etag": format!("\"{body}\""),
        "cdn-cache-control": "public, max-age=1, stale-while-revalidate=1, stale-if-error=86400",
        "x-gailou-hot-for": "30"});
    json!({"key": key, "headers": headers, "body": body, "shows": "AgECAQUB", "made": made, "version": version})
}

/// The values of the two headers of a signed push.
fn signature_headers(secret: &[u8], at_ms: u64, body: &[u8]) -> [String; 2] {
    let body_hash = BodyHash::of(body);
    let signed = SignedRequest::anonymous(SignatureDirection::OriginToEdge, "POST", "/edge/push", "", body_hash);
    [sign_request(secret, at_ms / 1_000, &signed), body_hash.to_string()]
}

fn push_signed(bed: &EdgeTestBed, secret: &[u8], at_ms: u64, document: &Value) -> TestResponse {
    let body = document.to_string();
    let [signature, hash] = signature_headers(secret, at_ms, body.as_bytes());
    let headers = [("x-gailou-edge", &*signature), ("x-gailou-body", &hash), ("content-type", "application/json")];
    bed.send("POST", "/edge/push", &headers, &body)
}

fn push(bed: &EdgeTestBed, pages: &[Value]) -> TestResponse {
    push_signed(bed, SECRET, bed.clock_ms(), &json!({"v": 1, "pages": pages, "words": null}))
}

fn summary(answer: &TestResponse) -> (u64, u64) {
    let summary: Value = serde_json::from_str(&answer.body).unwrap();
    (summary["stored"].as_u64().unwrap(), summary["older"].as_u64().unwrap())
}

#[test]
fn pushed_page_is_served_for_its_popular_seconds() {
    let mut bed = bed();
    let answer =
        push(&bed, &[page(LIST, "pushed", 3, START_MS), page(&format!("{LIST}?sort=new"), "new", 3, START_MS)]);
    assert_eq!((answer.status, summary(&answer)), (200, (2, 0)));
    bed.tasks.drain();
    for _ in 0..3 {
        let answer = bed.get(LIST);
        assert_eq!((answer.body.as_str(), answer.header("x-gailou-stale")), ("pushed", ""));
        for internal in ["x-gailou-shows", "x-gailou-made", "x-gailou-version", "x-gailou-hot-for"] {
            assert_eq!(answer.header(internal), "");
        }
        bed.tasks.drain();
        bed.advance_ms(9_000);
        bed.restart_isolate();
    }
    assert_eq!((bed.get(&format!("{LIST}?sort=new")).body.as_str(), bed.drain_requests().len()), ("new", 0));
}

#[test]
fn older_page_does_not_replace_a_newer_one() {
    let bed = bed();
    let check = |version, made, expected| assert_eq!(summary(&push(&bed, &[page(LIST, "x", version, made)])), expected);
    check(3, START_MS, (1, 0));
    check(3, START_MS, (0, 1));
    check(2, START_MS + 9, (0, 1));
    check(3, START_MS + 1, (1, 0));
    check(4, START_MS, (1, 0));
    // An isolate that has a newer page in memory ignores what the store shows.
    bed.global_store.values.lock().unwrap().clear();
    check(3, START_MS + 1, (0, 1));
    check(4, START_MS, (1, 0));
    assert_eq!(bed.global_store.puts.load(Ordering::Relaxed), 4);
}

#[test]
fn push_needs_a_current_signature() {
    let check = |secret: &[u8], at_ms, expected: (u16, &str)| {
        let bed = bed();
        let answer = push_signed(&bed, secret, at_ms, &json!({"v": 1, "pages": [page(LIST, "x", 1, START_MS)]}));
        assert_eq!((answer.status, answer.code().as_str()), expected);
        assert_eq!(bed.global_store.puts.load(Ordering::Relaxed), u64::from(expected.0 == 200));
    };
    check(SECRET, START_MS, (200, ""));
    check(BEFORE, START_MS, (200, ""));
    check(b"another", START_MS, (403, "forbidden"));
    check(b"", START_MS, (403, "forbidden"));
    check(SECRET, START_MS - 61_000, (403, "forbidden"));
    let bed = bed();
    assert_eq!(bed.send("POST", "/edge/push", &[], "{}").status, 403);
    assert_eq!(bed.send("GET", "/edge/push", &[], "").status, 405);
    assert_eq!(bed.send("POST", "/edge/push", &[("content-length", "8388609")], "").status, 413);
    let open = EdgeTestBed::new(EdgeConfig::default());
    assert_eq!(push(&open, &[page(LIST, "x", 1, START_MS)]).code(), "not_found");
}

/// A body that says when it is read, and then waits for ever.
fn unread_body(is_read: &Arc<AtomicBool>) -> Body {
    let is_read = Arc::clone(is_read);
    Body::from_stream(futures_util::stream::poll_fn(move |_| {
        is_read.store(true, Ordering::Relaxed);
        std::task::Poll::<Option<Result<Bytes, std::io::Error>>>::Pending
    }))
}

#[test]
fn body_is_read_only_when_its_signature_fits() {
    let bed = bed();
    let send = |[signature, hash]: [String; 2], more: Option<(&str, &str)>| {
        let is_read = Arc::new(AtomicBool::new(false));
        let mut request = http::Request::builder().method("POST").uri("/edge/push");
        for (name, value) in [("x-gailou-edge", &*signature), ("x-gailou-body", &hash)].into_iter().chain(more) {
            request = request.header(name, value);
        }
        let request = request.body(unread_body(&is_read)).unwrap();
        let requester = Requester { id: bed.isolate.request_id(None), client: Some("192.0.2.66".into()) };
        let router = crate::router(Arc::clone(&bed.isolate));
        let answer = crate::handle(router, &bed.isolate, bed.ports(), requester, request);
        let status = answer.now_or_never().map(|answer| answer.status().as_u16());
        (status, is_read.load(Ordering::Relaxed))
    };
    let signed = || signature_headers(SECRET, START_MS, b"{}");
    // As many as would fill the budget many times over.
    for _ in 0..20 {
        let zeros = "0".repeat(64);
        let guessed = [format!("t={},v2={zeros}", START_MS / 1_000), zeros];
        assert_eq!(send(guessed, None), (Some(403), false));
    }
    assert_eq!(
        send([signed()[0].clone(), signature_headers(SECRET, START_MS, b"[]")[1].clone()], None),
        (Some(403), false)
    );
    assert_eq!(send([signed()[0].clone(), String::new()], None), (Some(403), false));
    assert_eq!(send(signed(), Some(("authorization", "Bearer x"))), (Some(403), false), "nothing rides on it");
    assert_eq!(send(signed(), None), (None, true));
    assert_eq!(summary(&push(&bed, &[page(LIST, "x", 1, START_MS)])), (1, 0));
}

#[test]
fn other_body_than_the_signed_one_is_refused() {
    let bed = bed();
    let [signature, hash] = signature_headers(SECRET, START_MS, br#"{"v":1,"pages":[]}"#);
    let headers = [("x-gailou-edge", &*signature), ("x-gailou-body", &hash)];
    assert_eq!(bed.send("POST", "/edge/push", &headers, r#"{"v":1,"pages":[]} "#).code(), "forbidden");
    assert_eq!(bed.send("POST", "/edge/push", &headers, r#"{"v":1,"pages":[]}"#).status, 200);
}

#[test]
fn signature_of_the_edge_signs_no_push() {
    let bed = bed();
    let body = r#"{"v":1,"pages":[]}"#;
    let body_hash = BodyHash::of(body.as_bytes());
    let signed = SignedRequest::anonymous(SignatureDirection::EdgeToOrigin, "POST", "/edge/push", "", body_hash);
    let signature = sign_request(SECRET, START_MS / 1_000, &signed);
    let headers = [("x-gailou-edge", &*signature), ("x-gailou-body", &body_hash.to_string())];
    assert_eq!(bed.send("POST", "/edge/push", &headers, body).code(), "forbidden");
}

#[test]
fn invalid_push_names_the_field_and_stores_nothing() {
    let good = || page(LIST, "x", 1, START_MS);
    let with = |name: &str, value: Value| {
        let mut page = good();
        page[name] = value;
        json!({"v": 1, "pages": [good(), page]})
    };
    let check = |document: &Value, field: &str| {
        let bed = bed();
        let answer = push_signed(&bed, SECRET, START_MS, document);
        let problem: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, problem["errors"][0]["field"].as_str()), (400, Some(field)), "{}", answer.body);
        assert_eq!(bed.global_store.puts.load(Ordering::Relaxed), 0);
    };
    check(&json!([]), "body");
    check(&json!({"v": 2, "pages": []}), "v");
    check(&json!({"v": 1, "pages": vec![good(); MAX_PUSH_PAGES + 1]}), "pages");
    check(&with("key", json!("/v1/me")), "pages.1.key");
    check(&with("key", json!(format!("{LIST}?limit=7"))), "pages.1.key");
    check(&with("shows", json!("")), "pages.1.headers");
    check(&with("body", json!("")), "pages.1.headers");
    check(&with("headers", json!({"cdn-cache-control": "private"})), "pages.1.headers");
    check(&with("headers", json!({"a b": "x"})), "pages.1.headers");
    check(&with("made", json!(-1)), "body");
}

#[test]
fn failed_store_is_503_and_the_push_can_be_repeated() {
    let bed = bed();
    *bed.global_store.fault.lock().unwrap() = Some(StoreFault::Before);
    let answer = push(&bed, &[page(LIST, "x", 1, START_MS)]);
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
    *bed.global_store.fault.lock().unwrap() = None;
    assert_eq!(summary(&push(&bed, &[page(LIST, "x", 1, START_MS)])), (1, 0));
}

#[test]
fn void_page_is_not_stored() {
    let bed = bed();
    bed.take_down(5, 2);
    bed.advance_ms(1);
    push(&bed, &[page(&format!("{LIST}?sort=new"), "other", 3, START_MS)]);
    bed.get(&format!("{LIST}?sort=new"));
    assert_eq!(summary(&push(&bed, &[page(LIST, "shows 5 at 1", 3, START_MS)])), (0, 1));
}

#[test]
fn same_or_newer_dictionary_is_stored() {
    let bed = bed();
    let words = |version: u64, expected| {
        let terms = json!([{"term": "casino", "category": "ad", "action": "block"}]);
        let document = json!({"v": 1, "pages": [], "words": {"version": version, "terms": terms}});
        assert_eq!(summary(&push_signed(&bed, SECRET, bed.clock_ms(), &document)), expected, "{version}");
    };
    words(3, (1, 0));
    words(3, (1, 0));
    words(2, (0, 1));
    words(4, (1, 0));
    let stored = futures_executor::block_on(bed.global_store.get(word_filter::DICTIONARY_KEY)).unwrap().unwrap();
    assert_eq!((word_filter::stored_version(&stored), word_filter::parse_dictionary(&stored).unwrap().len()), (4, 1));
}
