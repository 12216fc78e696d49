//! What the origin pushes to the edge, against a server that stands in for the Worker: it checks
//! what the Worker checks, and is slow, failing or full on demand.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use gailou::config::{Config, Secret};
use gailou_shared::edge::{SIGNATURE_HEADER, Signed, verify};
use gailou_shared::shows::Shows;
use gailou_shared::words::Action;
use gailou_tests::{Site, Who, id, until, who};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const SECRET: &str = "the secret of this edge and its origin";
const SUBJECT: &str = "article/a b";
const PATH: &str = "/v1/subjects/article/a%20b";

fn ann() -> Who {
    who(7, "Ann", "member")
}

/// What the server does with the next pushes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    Takes,
    Slow(Duration),
    Fails,
    HasNewer,
}

struct Worker {
    url: String,
    mood: Mutex<Mood>,
    /// Every body that came, in order.
    pushes: Mutex<Vec<Value>>,
    /// Puts under way, by key.
    flying: Mutex<BTreeMap<String, u64>>,
    overlaps: AtomicU64,
    answered: AtomicU64,
}

impl Worker {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let worker = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            mood: Mutex::new(Mood::Takes),
            pushes: Mutex::default(),
            flying: Mutex::default(),
            overlaps: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        });
        let routes = Router::new().route("/edge/push", post(take)).with_state(worker.clone());
        let routes = routes.layer(axum::extract::DefaultBodyLimit::max(8 * 1_024 * 1_024));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        worker
    }

    fn mood(&self, mood: Mood) {
        *self.mood.lock().expect("a lock") = mood;
    }

    /// The pages that came under a key, in their order.
    fn pages(&self, key: &str) -> Vec<Value> {
        let pushes = self.pushes.lock().expect("a lock");
        let pages = pushes.iter().flat_map(|push| push["pages"].as_array().expect("pages"));
        pages.filter(|page| page["key"] == key).cloned().collect()
    }

    fn last(&self, key: &str) -> Value {
        self.pages(key).pop().unwrap_or(Value::Null)
    }

    fn words(&self) -> Vec<Value> {
        let pushes = self.pushes.lock().expect("a lock");
        pushes.iter().map(|push| push["words"].clone()).filter(|words| !words.is_null()).collect()
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }
}

async fn take(State(worker): State<Arc<Worker>>, headers: HeaderMap, body: Bytes) -> Response {
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    let signature = headers.get(SIGNATURE_HEADER).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let signed = Signed { method: "POST", path_query: "/edge/push", client: "", body: &body };
    if verify(SECRET.as_bytes(), now, &signed, signature).is_err() {
        return StatusCode::FORBIDDEN.into_response();
    }
    let push: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(push["v"], 1);
    let keys: Vec<String> = push["pages"].as_array().expect("pages").iter().map(|page| text(&page["key"])).collect();
    let count = keys.len();
    worker.pushes.lock().expect("a lock").push(push);
    for key in &keys {
        let mut flying = worker.flying.lock().expect("a lock");
        let under_way = flying.entry(key.clone()).or_default();
        *under_way += 1;
        worker.overlaps.fetch_add(u64::from(*under_way > 1), Ordering::SeqCst);
    }
    let mood = *worker.mood.lock().expect("a lock");
    if let Mood::Slow(time) = mood {
        tokio::time::sleep(time).await;
    }
    for key in keys {
        *worker.flying.lock().expect("a lock").entry(key).or_default() -= 1;
    }
    worker.answered.fetch_add(1, Ordering::SeqCst);
    match mood {
        Mood::Fails => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::HasNewer => StatusCode::CONFLICT.into_response(),
        _ => axum::Json(json!({"stored": count, "older": 0})).into_response(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

async fn site(worker: &Worker) -> Site {
    let url = worker.url.clone();
    Site::with(move |config: &mut Config| {
        config.edge.url = Some(url);
        config.edge.secret = Secret::new(SECRET);
        config.edge.hot_per_minute = 1;
        config.edge.fresh_for = 30;
    })
    .await
}

/// Reads it so often that it is hot, until it is pushed.
async fn heat(site: &Site, worker: &Worker, path: &str) {
    for _ in 0..20 {
        site.page(path).await;
    }
    until(async || worker.pages(path).len(), |pages| *pages > 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_page_is_what_the_origin_answers() {
    let worker = Worker::start().await;
    let site = site(&worker).await;
    let root = site.post(&ann(), SUBJECT, "one").await;
    site.reply(&ann(), &root, "two").await;
    site.settle().await;
    let list = format!("{PATH}/comments");
    let quiet = site.get(&list).await;
    assert_eq!(quiet.header("x-gailou-hot-for"), "", "nobody reads it");
    let other = format!("{PATH}/comments?sort=new&limit=50");
    site.page(&other).await;
    heat(&site, &worker, &list).await;
    let version = site.version("article/a b").await;
    for key in [list, other, PATH.to_owned(), "/v1/counts?subject=article%2Fa%20b".to_owned()] {
        let pushed = until(async || worker.last(&key), |page| !page.is_null()).await;
        let answer = until(|| site.get(&key), |answer| answer.header("x-gailou-hot-for") == "30").await;
        assert_eq!(pushed["body"], answer.text, "{key}");
        for name in ["content-type", "etag", "cache-control", "cdn-cache-control", "x-gailou-hot-for"] {
            assert_eq!(pushed["headers"][name], answer.header(name), "{key} {name}");
        }
        assert_eq!(pushed["shows"], answer.header("x-gailou-shows"), "{key}");
        let own = pushed["headers"].as_object().expect("headers").keys();
        let foreign: Vec<_> = own.filter(|name| name.contains("request-id") || name.contains("shows")).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
        if key.starts_with(PATH) {
            assert_eq!(pushed["version"], version, "{key}");
        }
        let shown = Shows::decode(&text(&pushed["shows"])).expect("what it shows");
        assert_eq!(shown.entries().is_empty(), !key.contains("/comments"), "{key}");
    }
    let html = site.get("/t/article/a%20b").await;
    assert_eq!(html.header("x-gailou-hot-for"), "", "it is not pushed");
    let other = site.get("/v1/subjects/article/other/comments").await;
    assert_eq!(other.header("x-gailou-hot-for"), "", "another subject");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_pushed_once_and_the_next_after_the_last_was_answered() {
    let worker = Worker::start().await;
    let site = site(&worker).await;
    let list = format!("{PATH}/comments");
    let first = site.post(&ann(), SUBJECT, "first").await;
    heat(&site, &worker, &list).await;
    let shows = |page: &Value, what: &str| page["body"].as_str().is_some_and(|body| body.contains(what));

    site.like(&ann(), &first).await;
    let liked = until(async || worker.last(&list), |page| shows(page, "\"likes\":1")).await;
    assert!(shows(&liked, "\"likes\":1"), "a like changes the page");
    let second = site.post(&ann(), SUBJECT, "second").await;
    let posted = until(async || worker.last(&list), |page| shows(page, "second")).await;
    assert!(shows(&posted, "second"), "a comment");
    site.delete(&ann(), &second).await;
    let deleted = until(async || worker.last(&list), |page| !shows(page, "second")).await;
    assert!(!shows(&deleted, "second"), "and its deletion");

    // Nothing changes: nothing is pushed.
    let version = site.version("article/a b").await;
    until(async || worker.last(&list)["version"].clone(), |pushed| *pushed == version).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let quiet = worker.answered();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(worker.answered(), quiet);

    // A flood while the edge is slow: few puts, one at a time, and the last is what there is.
    worker.mood(Mood::Slow(Duration::from_millis(1_500)));
    for n in 0..60 {
        site.post(&ann(), SUBJECT, &format!("flood {n}")).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let version = site.version("article/a b").await;
    let last = until(async || worker.last(&list), |page| page["version"] == version).await;
    assert_eq!(last["version"], version);
    assert!(worker.answered() - quiet < 8, "{} puts for 60 comments", worker.answered() - quiet);
    assert_eq!(worker.overlaps.load(Ordering::SeqCst), 0, "one put of a key at a time");
    let order = |field: &str| worker.pages(&list).iter().filter_map(|page| page[field].as_u64()).collect::<Vec<_>>();
    assert!(order("version").is_sorted() && order("made").is_sorted(), "older never after newer");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_edge_did_not_take_is_pushed_again() {
    let worker = Worker::start().await;
    let site = site(&worker).await;
    let list = format!("{PATH}/comments");
    worker.mood(Mood::Fails);
    let root = site.post(&ann(), SUBJECT, "root").await;
    heat(&site, &worker, &list).await;
    let failed = until(async || worker.pages(&list).len(), |pages| *pages >= 2).await;
    assert!(failed >= 2, "it is tried again");
    worker.mood(Mood::Takes);
    let before = worker.answered();
    until(async || worker.answered(), |answered| *answered > before).await;
    assert!(worker.last(&list)["body"].as_str().expect("a page").contains(id(&root)));

    // The edge has a newer page: that is an answer, and no failure.
    worker.mood(Mood::HasNewer);
    site.like(&ann(), &root).await;
    let version = site.version("article/a b").await;
    until(async || worker.last(&list)["version"].clone(), |pushed| *pushed == version).await;
    let before = worker.answered();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert!(worker.answered() <= before + 1, "it is not sent again");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dictionary_is_pushed_when_it_changes() {
    let worker = Worker::start().await;
    let site = site(&worker).await;
    until(async || worker.words().len(), |words| *words == 1).await;
    site.words(&[("casino", Action::Block)]).await;
    let words = until(async || worker.words(), |words| words.len() == 2).await;
    assert!(words.len() == 2 && words[1]["version"].as_u64() > words[0]["version"].as_u64(), "{words:?}");
    assert_eq!(words[1]["terms"], json!([{"term": "casino", "category": "ad", "action": "block"}]));
}
