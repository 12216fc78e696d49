//! A client of the HTTP contract: one request at a time, and every response kept whole.
//!
//! The client of a cluster waits before it reads a list until everything that it wrote is persisted;
//! see [`PersistBarrier`].

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Method, redirect};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::comments::{comments_path, id, with_cursor};
use crate::persist_barrier::PersistBarrier;
use crate::poll_until;
use crate::test_member::TestMember;

/// How long a client waits for a response by default.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a request is repeated while the server is too busy for it, and how often.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
const BUSY_RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The size of a chunk of a body without a length, in bytes.
const CHUNK_BYTES: usize = 8_192;
/// The pages after which a walk counts as endless.
const MAX_PAGES_OF_A_WALK: usize = 10_000;

/// A response with its whole body.
#[derive(Debug, Clone)]
pub struct ApiResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// The parsed body, or `null` when it is not JSON.
    pub json: Value,
}

impl ApiResponse {
    /// The value of a header, or an empty string without one.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// The body, after a check of the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json
    }
}

/// A client of one server.
#[derive(Debug, Clone)]
pub struct ApiClient {
    base: String,
    http: reqwest::Client,
    /// Where writes become readable a moment after their acknowledgement.
    barrier: Option<Arc<PersistBarrier>>,
    /// See [`ApiClient::repeating_refused_reads`].
    repeats_refused_reads: bool,
}

/// A request that is being put together.
#[derive(Debug)]
pub struct ApiRequest {
    http: reqwest::Client,
    url: String,
    method: Method,
    headers: HeaderMap,
    body: Option<Body>,
    barrier: Option<Arc<PersistBarrier>>,
}

impl ApiClient {
    /// A client of the server at this address.
    pub fn new(base: String) -> Self {
        Self::with_timeout(base, RESPONSE_TIMEOUT)
    }

    /// A client that gives up a request after `timeout`.
    pub fn with_timeout(base: String, timeout: Duration) -> Self {
        let builder = reqwest::Client::builder().redirect(redirect::Policy::none()).timeout(timeout);
        let http = builder.no_proxy().build().expect("a client");
        Self { base, http, barrier: None, repeats_refused_reads: false }
    }

    /// The same client, which repeats the read of a page that an open breaker refuses.
    #[must_use]
    pub fn repeating_refused_reads(&self) -> Self {
        Self { repeats_refused_reads: true, ..self.clone() }
    }

    /// The same client, which reads a list only after its own writes are persisted.
    pub(crate) fn with_barrier(self, barrier: Arc<PersistBarrier>) -> Self {
        Self { barrier: Some(barrier), ..self }
    }

    /// The same client, which reads lists without waiting.
    #[must_use]
    pub fn without_barrier(&self) -> Self {
        Self { barrier: None, ..self.clone() }
    }

    /// Waits until everything that this client wrote is persisted.
    pub async fn wait_until_persisted(&self) {
        if let Some(barrier) = &self.barrier {
            barrier.wait().await;
        }
    }

    /// The address of the server, without a path.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request: `request("GET /healthz")`.
    pub fn request(&self, line: &str) -> ApiRequest {
        let (method, path) = line.split_once(' ').expect("METHOD /path");
        ApiRequest {
            http: self.http.clone(),
            url: format!("{}{path}", self.base),
            method: method.parse().expect("a method"),
            headers: HeaderMap::new(),
            body: None,
            barrier: self.barrier.clone(),
        }
    }

    pub async fn get(&self, path: &str) -> ApiResponse {
        self.request(&format!("GET {path}")).send().await
    }

    /// The value of a metric, by its name and labels; `None` where it is not exported.
    pub async fn metric(&self, name: &str) -> Option<f64> {
        let text = self.get("/metrics").await.text;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// The body of a page that must exist.
    pub async fn page(&self, path: &str) -> Value {
        let is_final = |answer: &ApiResponse| answer.status != 503 || !self.repeats_refused_reads;
        poll_until(|| self.get(path), is_final).await.expect(200)
    }

    /// Polls the comment by its id until it is accepted.
    pub async fn poll_comment(&self, comment: &Value, is_accepted: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/v1/comments/{}", id(comment));
        let comment = poll_until(|| self.page(&path), &is_accepted).await;
        assert!(is_accepted(&comment), "{path} does not reach the expected state: {comment}");
        comment
    }

    /// The comment as it was answered, with its floor. A cluster assigns the floor after the
    /// acknowledgement.
    pub async fn with_floor(&self, comment: &Value) -> Value {
        let mut comment = comment.clone();
        if comment["floor"].is_null() && self.barrier.is_some() {
            comment["floor"] = self.poll_comment(&comment, |c| !c["floor"].is_null()).await["floor"].take();
        }
        assert!(comment["floor"].is_u64(), "the comment has no floor: {comment}");
        comment
    }

    /// Posts a comment on `type/key`; the whole response.
    pub async fn try_post(&self, by: &TestMember, subject: &str, body: &Value) -> ApiResponse {
        let key = format!("{:032x}", rand::random::<u128>());
        let request = self.request(&format!("POST {}", comments_path(subject))).by(by).idempotency_key(&key);
        request.json(body).send().await
    }

    /// Posts a root.
    pub async fn post(&self, by: &TestMember, subject: &str, content: &str) -> Value {
        self.try_post(by, subject, &json!({"content": content})).await.expect(201)
    }

    /// Posts a reply.
    pub async fn reply(&self, by: &TestMember, parent: &Value, content: &str) -> Value {
        let subject = subject_of(parent);
        self.try_post(by, &subject, &json!({"content": content, "parent_id": parent["id"]})).await.expect(201)
    }

    /// Sends `PUT` or `DELETE` for the `like`, `dislike` or `pin` of a comment.
    pub async fn set_flag(&self, by: &TestMember, method: &str, id: &str, flag: &str) -> ApiResponse {
        self.request(&format!("{method} /v1/comments/{id}/{flag}")).by(by).send().await
    }

    pub async fn like(&self, by: &TestMember, comment: &Value) -> Value {
        self.set_flag(by, "PUT", id(comment), "like").await.expect(200)
    }

    pub async fn delete(&self, by: &TestMember, comment: &Value) -> ApiResponse {
        self.request(&format!("DELETE /v1/comments/{}", id(comment))).by(by).send().await
    }

    pub async fn edit(&self, by: &TestMember, comment: &Value, content: &str) -> ApiResponse {
        self.request(&format!("PATCH /v1/comments/{}", id(comment)))
            .by(by)
            .json(&json!({"content": content}))
            .send()
            .await
    }

    pub async fn decide(&self, by: &TestMember, comment: &Value, action: &str) -> ApiResponse {
        let path = format!("POST /v1/admin/comments/{}/decision", id(comment));
        self.request(&path).by(by).json(&json!({"action": action})).send().await
    }

    pub async fn put_subject(&self, by: &TestMember, subject: &str, body: &Value) -> ApiResponse {
        self.request(&format!("PUT /v1/admin/subjects/{subject}")).by(by).json(body).send().await
    }

    /// The overlay of a member for these comments.
    pub async fn overlay(&self, by: &TestMember, ids: &[&str]) -> Value {
        self.request(&format!("GET /v1/me/overlay?ids={}", ids.join(","))).by(by).send().await.expect(200)
    }

    /// Registers a guest.
    pub async fn register_guest(&self, name: &str) -> TestMember {
        let guest = self.request("POST /v1/guests").json(&json!({"name": name})).send().await.expect(201);
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        TestMember {
            id: text(&guest["member"]["id"]),
            name: text(&guest["member"]["name"]),
            token: text(&guest["token"]),
        }
    }

    /// Every comment of a list, page by page; `path` may have a query.
    pub async fn walk(&self, path: &str) -> Vec<Value> {
        self.walk_from(path, self.page(path).await).await
    }

    /// Every comment of a list whose first page was read before.
    pub async fn walk_from(&self, path: &str, mut page: Value) -> Vec<Value> {
        let mut all = Vec::new();
        for _ in 0..MAX_PAGES_OF_A_WALK {
            all.extend(page["data"].as_array().expect("data").iter().cloned());
            let next = page["page"]["next"].as_str();
            assert_eq!(page["page"]["has_more"], json!(next.is_some()), "{path}");
            let Some(next) = next else { return all };
            page = self.page(&with_cursor(path, next)).await;
        }
        panic!("{path} has no last page");
    }
}

/// Whether this address needs rows. A comment by its id does not: it can be read as soon as it is
/// acknowledged.
fn needs_rows(url: &str) -> bool {
    url.split_once("/v1/comments/").is_none_or(|(_, rest)| rest.contains('/'))
}

/// The subject of a comment as `type/key`.
fn subject_of(comment: &Value) -> String {
    let text = |name: &str| comment["subject"][name].as_str().expect("a field of the subject").to_owned();
    format!("{}/{}", text("type"), text("key"))
}

impl ApiRequest {
    /// Signs the request with the token of this member.
    #[must_use]
    pub fn by(self, member: &TestMember) -> Self {
        self.header("authorization", &format!("Bearer {}", member.token))
    }

    #[must_use]
    pub fn idempotency_key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a header");
        self.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
        self
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").bytes(body.to_string())
    }

    #[must_use]
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(Body::from(body.into()));
        self
    }

    /// A body that is sent in chunks, without a `Content-Length`.
    #[must_use]
    pub fn chunked_body(mut self, body: &[u8]) -> Self {
        let chunks: Vec<_> = body.chunks(CHUNK_BYTES).map(|c| Ok::<_, std::io::Error>(c.to_vec())).collect();
        self.body = Some(Body::wrap_stream(futures_util::stream::iter(chunks)));
        self
    }

    /// Sends the request; a test that breaks connections expects errors.
    ///
    /// # Errors
    /// When there is no complete response.
    pub async fn try_send(self) -> Result<ApiResponse, reqwest::Error> {
        let reads = matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if let Some(barrier) = self.barrier.as_ref().filter(|_| reads && needs_rows(&self.url)) {
            barrier.wait().await;
        }
        let mut request = self.http.request(self.method, &self.url).headers(self.headers);
        if let Some(body) = self.body {
            request = request.body(body);
        }
        let response = request.send().await?;
        if let Some(barrier) = self.barrier.filter(|_| !reads) {
            barrier.note_write();
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = String::from_utf8_lossy(&response.bytes().await?).into_owned();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(ApiResponse { status, headers, text, json })
    }

    /// Sends the request; the server must respond, and not with a server error. One that a busy server refuses before it
    /// does anything is repeated for a while, and so is one of an unknown outcome that may be repeated, as clients do.
    pub async fn send(self) -> ApiResponse {
        let line = format!("{} {}", self.method, self.url);
        let until = Instant::now() + BUSY_TIMEOUT;
        let mut request = self;
        loop {
            let again = request.try_clone().filter(|_| Instant::now() < until);
            let response = request.try_send().await.unwrap_or_else(|e| panic!("{line}: {e}"));
            match again {
                Some(again) if response.status == 503 && again.may_repeat(&response) => request = again,
                _ => {
                    assert!(response.status < 500, "{line}: {} {}", response.status, response.text);
                    return response;
                }
            }
            sleep(BUSY_RETRY_INTERVAL).await;
        }
    }

    /// Whether the contract says that it may be sent again after this refusal.
    fn may_repeat(&self, refusal: &ApiResponse) -> bool {
        // Done twice, they leave what they leave when they are done once.
        let is_idempotent = [Method::GET, Method::PUT, Method::DELETE].contains(&self.method);
        let detail = refusal.json["detail"].as_str().unwrap_or_default();
        let changed_nothing = ["nothing was changed", "nothing was written"].iter().any(|part| detail.contains(part));
        refusal.json["code"] == "overloaded"
            || (refusal.json["code"] == "unavailable"
                && (changed_nothing || is_idempotent || self.headers.contains_key("idempotency-key")))
    }

    /// The same request once more; `None` when its body is a stream.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        let body = match &self.body {
            Some(body) => Some(Body::from(body.as_bytes()?.to_vec())),
            None => None,
        };
        let Self { http, url, method, headers, barrier, .. } = self;
        let (http, url, barrier) = (http.clone(), url.clone(), barrier.clone());
        Some(Self { http, url, method: method.clone(), headers: headers.clone(), body, barrier })
    }
}
