//! A server in the place of the Worker: it checks the signature of each push as the Worker does, keeps
//! what was pushed, and is slow or fails on demand.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use gailou::clock::Clock;
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, SIGNATURE_HEADER, SignatureDirection, SignedRequest, verify_request,
};
use gailou_tests::POLL_TIMEOUT;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The secret that signs pushes.
pub(super) const EDGE_SECRET: &str = "the secret of this edge and its origin";
/// The largest body of a push, in bytes.
const MAX_PUSH_BYTES: usize = 8 * 1_024 * 1_024;
/// The pause between two polls for new pushes.
const QUIET_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How it answers the next pushes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PushBehavior {
    Store,
    /// Stores after this time.
    StoreSlowly(Duration),
    Fail,
    /// Refuses because it has newer pages.
    Conflict,
}

/// A server in the place of the Worker.
pub(super) struct FakeWorker {
    pub(super) url: String,
    behavior: Mutex<PushBehavior>,
    /// The body of each push, in order of arrival.
    pushes: Mutex<Vec<Value>>,
    /// How many unanswered pushes hold a page, by its key.
    unanswered: Mutex<BTreeMap<String, u64>>,
    overlapping_pushes: AtomicU64,
    answered_pushes: AtomicU64,
}

impl FakeWorker {
    pub(super) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let worker = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            behavior: Mutex::new(PushBehavior::Store),
            pushes: Mutex::default(),
            unanswered: Mutex::default(),
            overlapping_pushes: AtomicU64::new(0),
            answered_pushes: AtomicU64::new(0),
        });
        let routes = Router::new().route("/edge/push", post(answer_push)).with_state(worker.clone());
        let routes = routes.layer(axum::extract::DefaultBodyLimit::max(MAX_PUSH_BYTES));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        worker
    }

    pub(super) fn set_behavior(&self, behavior: PushBehavior) {
        *self.behavior.lock().expect("a lock") = behavior;
    }

    /// The pages that were pushed under a key, in order.
    pub(super) fn pages(&self, key: &str) -> Vec<Value> {
        let pushes = self.pushes.lock().expect("a lock");
        let pages = pushes.iter().flat_map(|push| push["pages"].as_array().expect("pages"));
        pages.filter(|page| page["key"] == key).cloned().collect()
    }

    /// The last page that was pushed under a key, or `null`.
    pub(super) fn last_page(&self, key: &str) -> Value {
        self.pages(key).pop().unwrap_or(Value::Null)
    }

    /// The word filters that were pushed, in order.
    pub(super) fn word_filters(&self) -> Vec<Value> {
        let pushes = self.pushes.lock().expect("a lock");
        pushes.iter().map(|push| push["words"].clone()).filter(|words| !words.is_null()).collect()
    }

    pub(super) fn answered_pushes(&self) -> u64 {
        self.answered_pushes.load(Ordering::SeqCst)
    }

    /// How often a page arrived while an earlier push of the same key was not answered.
    pub(super) fn overlapping_pushes(&self) -> u64 {
        self.overlapping_pushes.load(Ordering::SeqCst)
    }

    /// Waits until no push was answered for this time.
    pub(super) async fn wait_until_quiet(&self, window: Duration) {
        let started = Instant::now();
        let mut last = (self.answered_pushes(), started);
        while last.1.elapsed() < window {
            assert!(started.elapsed() < POLL_TIMEOUT, "the origin does not stop pushing");
            tokio::time::sleep(QUIET_POLL_INTERVAL).await;
            if self.answered_pushes() != last.0 {
                last = (self.answered_pushes(), Instant::now());
            }
        }
    }
}

async fn answer_push(State(worker): State<Arc<FakeWorker>>, headers: HeaderMap, body: Bytes) -> Response {
    // The clock of the origin stands still at the time of its start, which is recent enough.
    let now = Clock::system().now() / 1_000;
    let signature = headers.get(SIGNATURE_HEADER).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let body_hash = headers.get(BODY_HASH_HEADER).and_then(|v| BodyHash::parse(v.to_str().ok()?));
    let body_hash = body_hash.expect("the hash of the body");
    let signed = SignedRequest::anonymous(SignatureDirection::OriginToEdge, "POST", "/edge/push", "", body_hash);
    let fits = verify_request(EDGE_SECRET.as_bytes(), now, &signed, signature).is_ok();
    if !fits || !body_hash.is_of(&body) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let push: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(push["v"], 1);
    let keys: Vec<String> = push["pages"].as_array().expect("pages").iter().map(|page| text(&page["key"])).collect();
    let count = keys.len();
    worker.pushes.lock().expect("a lock").push(push);
    for key in &keys {
        let mut unanswered = worker.unanswered.lock().expect("a lock");
        let pushes = unanswered.entry(key.clone()).or_default();
        *pushes += 1;
        worker.overlapping_pushes.fetch_add(u64::from(*pushes > 1), Ordering::SeqCst);
    }
    let behavior = *worker.behavior.lock().expect("a lock");
    if let PushBehavior::StoreSlowly(time) = behavior {
        tokio::time::sleep(time).await;
    }
    for key in keys {
        *worker.unanswered.lock().expect("a lock").entry(key).or_default() -= 1;
    }
    worker.answered_pushes.fetch_add(1, Ordering::SeqCst);
    match behavior {
        PushBehavior::Fail => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        PushBehavior::Conflict => StatusCode::CONFLICT.into_response(),
        _ => axum::Json(json!({"stored": count, "older": 0})).into_response(),
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
