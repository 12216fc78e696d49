//! What the origin pushes to the edge, and when.

use std::time::{Duration, Instant};

use gailou::config::{Config, Secret};
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestOrigin, ann, id, poll_until};
use serde_json::{Value, json};

use crate::signed_request::signed;

use super::fake_worker::{EDGE_SECRET, FakeWorker, PushBehavior, text};

const TEST_SUBJECT: &str = "article/a b";
const SUBJECT_PATH: &str = "/v1/subjects/article/a%20b";
/// The time without a push that shows that nothing is pushed: longer than the pause before a retry
/// and than the least time between two pushes of one key.
const QUIET_WINDOW: Duration = Duration::from_millis(2_500);
/// How long the slow Worker takes for a push.
const SLOW_PUSH: Duration = Duration::from_millis(1_500);
/// The pause between two posts of a flood, so that the flood outlasts several pushes.
const PAUSE_BETWEEN_POSTS: Duration = Duration::from_millis(50);

/// An origin that pushes to this Worker; one network a minute makes a subject hot.
async fn start_origin(worker: &FakeWorker) -> TestOrigin {
    let url = worker.url.clone();
    TestOrigin::start_with(move |config: &mut Config| {
        config.edge.url = Some(url);
        config.edge.secret = Secret::new(EDGE_SECRET);
        config.edge.hot_per_minute = 1;
        config.edge.fresh_for = 30;
    })
    .await
}

/// Reads a page from so many networks, as the edge does for its readers.
async fn read_from_networks(origin: &TestOrigin, path: &str, networks: u8) {
    for network in 0..networks {
        let client = format!("198.51.100.{network}");
        signed(origin, &format!("GET {path}"), "", &client, EDGE_SECRET).send().await.expect(200);
    }
}

/// Reads a page until its subject is hot and the page is pushed.
async fn make_hot(origin: &TestOrigin, worker: &FakeWorker, path: &str) {
    read_from_networks(origin, path, 20).await;
    poll_until(async || worker.pages(path).len(), |pages| *pages > 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pushed_page_equals_the_response_of_the_origin() {
    let worker = FakeWorker::start().await;
    let origin = start_origin(&worker).await;
    let root = origin.post(&ann(), TEST_SUBJECT, "one").await;
    origin.reply(&ann(), &root, "two").await;
    origin.wait_until_persisted().await;
    let list = format!("{SUBJECT_PATH}/comments");
    let cold = origin.get(&list).await;
    assert_eq!(cold.header("x-gailou-hot-for"), "", "the subject is not hot yet");
    let other = format!("{SUBJECT_PATH}/comments?sort=new&limit=50");
    origin.page(&other).await;
    make_hot(&origin, &worker, &list).await;
    // The element's list is pushed without a read of it.
    let element = format!("{SUBJECT_PATH}/comments?view=compact");
    let version = origin.stored_version("article/a b").await;
    for key in [list, other, element, SUBJECT_PATH.to_owned(), "/v1/counts?subject=article%2Fa%20b".to_owned()] {
        let pushed = poll_until(async || worker.last_page(&key), |page| !page.is_null()).await;
        let answer = poll_until(|| origin.get(&key), |answer| answer.header("x-gailou-hot-for") == "30").await;
        assert_eq!(pushed["body"], answer.text, "{key}");
        for name in ["content-type", "etag", "cache-control", "cdn-cache-control", "x-gailou-hot-for"] {
            assert_eq!(pushed["headers"][name], answer.header(name), "{key} {name}");
        }
        assert_eq!(pushed["shows"], answer.header("x-gailou-shows"), "{key}");
        let names = pushed["headers"].as_object().expect("headers").keys();
        let unexpected: Vec<_> = names.filter(|name| name.contains("request-id") || name.contains("shows")).collect();
        assert!(unexpected.is_empty(), "{unexpected:?}");
        if key.starts_with(SUBJECT_PATH) {
            assert_eq!(pushed["version"], version, "{key}");
        }
        let shown = CacheTags::decode(&text(&pushed["shows"])).expect("tags");
        assert_eq!(shown.entries().is_empty(), !key.contains("/comments"), "{key}");
    }
    let html = origin.get("/t/article/a%20b").await;
    assert_eq!(html.header("x-gailou-hot-for"), "", "HTML is not pushed");
    let other = origin.get("/v1/subjects/article/other/comments").await;
    assert_eq!(other.header("x-gailou-hot-for"), "", "another subject is not hot");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_reads_of_one_network_make_no_subject_hot() {
    let worker = FakeWorker::start().await;
    let origin = start_origin(&worker).await;
    let list = format!("{SUBJECT_PATH}/comments");
    origin.post(&ann(), TEST_SUBJECT, "one").await;
    for _ in 0..50 {
        read_from_networks(&origin, &list, 1).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(origin.get(&list).await.header("x-gailou-hot-for"), "");
    assert_eq!(worker.pages(&list).len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_pushed_one_at_a_time_and_a_flood_is_coalesced() {
    let worker = FakeWorker::start().await;
    let origin = start_origin(&worker).await;
    let list = format!("{SUBJECT_PATH}/comments");
    let first = origin.post(&ann(), TEST_SUBJECT, "first").await;
    make_hot(&origin, &worker, &list).await;
    let contains = |page: &Value, text: &str| page["body"].as_str().is_some_and(|body| body.contains(text));

    origin.like(&ann(), &first).await;
    let liked = poll_until(async || worker.last_page(&list), |page| contains(page, "\"likes\":1")).await;
    assert!(contains(&liked, "\"likes\":1"), "a like is pushed");
    let second = origin.post(&ann(), TEST_SUBJECT, "second").await;
    let posted = poll_until(async || worker.last_page(&list), |page| contains(page, "second")).await;
    assert!(contains(&posted, "second"), "a comment is pushed");
    origin.delete(&ann(), &second).await;
    let deleted = poll_until(async || worker.last_page(&list), |page| !contains(page, "second")).await;
    assert!(!contains(&deleted, "second"), "a deletion is pushed");

    // Without a change nothing is pushed.
    let version = origin.stored_version("article/a b").await;
    poll_until(async || worker.last_page(&list)["version"].clone(), |pushed| *pushed == version).await;
    worker.wait_until_quiet(QUIET_WINDOW).await;

    // A flood while the edge is slow: few pushes, one at a time, and the last one has every comment.
    let (before, started) = (worker.answered_pushes(), Instant::now());
    worker.set_behavior(PushBehavior::StoreSlowly(SLOW_PUSH));
    for n in 0..60 {
        origin.post(&ann(), TEST_SUBJECT, &format!("flood {n}")).await;
        tokio::time::sleep(PAUSE_BETWEEN_POSTS).await;
    }
    let version = origin.stored_version("article/a b").await;
    let last = poll_until(async || worker.last_page(&list), |page| page["version"] == version).await;
    assert_eq!(last["version"], version);
    let pushes = u128::from(worker.answered_pushes() - before);
    // One after the other, and a few for what was open at the beginning and at the end.
    let allowed = started.elapsed().as_millis() / SLOW_PUSH.as_millis() + 4;
    assert!(pushes <= allowed, "{pushes} pushes for 60 comments, at most {allowed} are allowed");
    assert_eq!(worker.overlapping_pushes(), 0, "one push of a key at a time");
    let order = |field: &str| worker.pages(&list).iter().filter_map(|page| page[field].as_u64()).collect::<Vec<_>>();
    assert!(
        order("version").is_sorted() && order("made").is_sorted(),
        "an older page is never pushed after a newer one"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_push_is_retried_and_a_conflict_is_not() {
    let worker = FakeWorker::start().await;
    let origin = start_origin(&worker).await;
    let list = format!("{SUBJECT_PATH}/comments");
    worker.set_behavior(PushBehavior::Fail);
    let root = origin.post(&ann(), TEST_SUBJECT, "root").await;
    make_hot(&origin, &worker, &list).await;
    let attempts = poll_until(async || worker.pages(&list).len(), |pages| *pages >= 2).await;
    assert!(attempts >= 2, "a failed push is retried");
    worker.set_behavior(PushBehavior::Store);
    let before = worker.answered_pushes();
    poll_until(async || worker.answered_pushes(), |answered| *answered > before).await;
    assert!(worker.last_page(&list)["body"].as_str().expect("a page").contains(id(&root)));

    // A conflict says that the edge has a newer page: that is not a failure.
    worker.set_behavior(PushBehavior::Conflict);
    origin.like(&ann(), &root).await;
    let version = origin.stored_version("article/a b").await;
    poll_until(async || worker.last_page(&list)["version"].clone(), |pushed| *pushed == version).await;
    worker.wait_until_quiet(QUIET_WINDOW).await;
    let pushes = worker.pages(&list).iter().filter(|page| page["version"] == version).count();
    assert_eq!(pushes, 1, "a conflict is not retried");
}

#[tokio::test(flavor = "multi_thread")]
async fn word_filter_is_pushed_at_the_start_and_after_a_change() {
    let worker = FakeWorker::start().await;
    let origin = start_origin(&worker).await;
    poll_until(async || worker.word_filters().len(), |words| *words == 1).await;
    origin.load_terms(&[("casino", TermAction::Block)]).await;
    let words = poll_until(async || worker.word_filters(), |words| words.len() == 2).await;
    assert!(words.len() == 2 && words[1]["version"].as_u64() > words[0]["version"].as_u64(), "{words:?}");
    assert_eq!(words[1]["terms"], json!([{"term": "casino", "category": "ad", "action": "block"}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn full_first_page_is_pushed_only_where_it_is_read() {
    let worker = FakeWorker::start().await;
    let origin = start_origin(&worker).await;
    let root = origin.post(&ann(), TEST_SUBJECT, "one").await;
    let element = format!("{SUBJECT_PATH}/comments?view=compact");
    make_hot(&origin, &worker, &element).await;
    origin.like(&ann(), &root).await;
    let version = origin.stored_version("article/a b").await;
    let pushed = poll_until(async || worker.last_page(&element), |page| page["version"] == version).await;
    assert_eq!(pushed["version"], version);
    worker.wait_until_quiet(QUIET_WINDOW).await;
    assert_eq!(worker.pages(&format!("{SUBJECT_PATH}/comments")).len(), 0, "a page that is not read costs no write");
}
