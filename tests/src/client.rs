//! A client of the contract: one call at a time, every answer kept whole.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Method, redirect};
use serde_json::{Value, json};

use crate::settle::Settle;
use crate::until;
use crate::who::Who;

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// The body, `null` when it is no JSON.
    pub json: Value,
}

impl Answer {
    /// A header, empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json
    }
}

/// Where a server listens.
#[derive(Debug, Clone)]
pub struct Client {
    base: String,
    http: reqwest::Client,
    /// Where what is written can be read a moment later.
    settle: Option<Arc<Settle>>,
}

/// A request that is being made.
#[derive(Debug)]
pub struct Call {
    http: reqwest::Client,
    url: String,
    method: Method,
    headers: HeaderMap,
    body: Option<Body>,
    settle: Option<Arc<Settle>>,
}

impl Client {
    pub fn new(base: String) -> Self {
        Self::patient(base, Duration::from_secs(30))
    }

    /// One that gives up a call after this time.
    pub fn patient(base: String, patience: Duration) -> Self {
        let builder = reqwest::Client::builder().redirect(redirect::Policy::none()).timeout(patience);
        Self { base, http: builder.no_proxy().build().expect("a client"), settle: None }
    }

    /// The same, where a list is read only when it shows what was written before.
    pub(crate) fn settling(self, settle: Arc<Settle>) -> Self {
        Self { settle: Some(settle), ..self }
    }

    /// The same, which reads lists as they are.
    #[must_use]
    pub fn hasty(&self) -> Self {
        Self { settle: None, ..self.clone() }
    }

    /// Waits until what this client wrote can be read by everybody.
    pub async fn settle(&self) {
        if let Some(settle) = &self.settle {
            settle.settle().await;
        }
    }

    /// The address it talks to, without a path.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request: `"GET /healthz"`.
    pub fn call(&self, line: &str) -> Call {
        let (method, path) = line.split_once(' ').expect("METHOD /path");
        Call {
            http: self.http.clone(),
            url: format!("{}{path}", self.base),
            method: method.parse().expect("a method"),
            headers: HeaderMap::new(),
            body: None,
            settle: self.settle.clone(),
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(&format!("GET {path}")).send().await
    }

    /// A page that is there.
    pub async fn page(&self, path: &str) -> Value {
        self.get(path).await.expect(200)
    }

    /// The comment by its id, once it looks as it must.
    pub async fn seen(&self, comment: &Value, right: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/v1/comments/{}", id(comment));
        let comment = until(|| self.page(&path), &right).await;
        assert!(right(&comment), "{path} does not become what it must be: {comment}");
        comment
    }

    /// The comment as it was answered, with the floor it was given: a cluster gives it later.
    pub async fn with_floor(&self, comment: &Value) -> Value {
        let mut comment = comment.clone();
        if comment["floor"].is_null() && self.settle.is_some() {
            comment["floor"] = self.seen(&comment, |c| !c["floor"].is_null()).await["floor"].take();
        }
        assert!(comment["floor"].is_u64(), "no floor: {comment}");
        comment
    }

    /// A new comment on `type/key`; the whole answer.
    pub async fn try_post(&self, by: &Who, subject: &str, body: &Value) -> Answer {
        self.call(&format!("POST /v1/subjects/{subject}/comments")).by(by).json(body).send().await
    }

    /// A new root.
    pub async fn post(&self, by: &Who, subject: &str, content: &str) -> Value {
        self.try_post(by, subject, &json!({"content": content})).await.expect(201)
    }

    /// A reply.
    pub async fn reply(&self, by: &Who, parent: &Value, content: &str) -> Value {
        let subject = subject_of(parent);
        self.try_post(by, &subject, &json!({"content": content, "parent_id": parent["id"]})).await.expect(201)
    }

    /// `PUT` or `DELETE` of `like`, `dislike` or `pin`: `("PUT", "like")`.
    pub async fn mark(&self, by: &Who, method: &str, id: &str, what: &str) -> Answer {
        self.call(&format!("{method} /v1/comments/{id}/{what}")).by(by).send().await
    }

    pub async fn like(&self, by: &Who, comment: &Value) -> Value {
        self.mark(by, "PUT", id(comment), "like").await.expect(200)
    }

    pub async fn delete(&self, by: &Who, comment: &Value) -> Answer {
        self.call(&format!("DELETE /v1/comments/{}", id(comment))).by(by).send().await
    }

    pub async fn edit(&self, by: &Who, comment: &Value, content: &str) -> Answer {
        self.call(&format!("PATCH /v1/comments/{}", id(comment))).by(by).json(&json!({"content": content})).send().await
    }

    pub async fn decide(&self, by: &Who, comment: &Value, action: &str) -> Answer {
        let path = format!("POST /v1/admin/comments/{}/decision", id(comment));
        self.call(&path).by(by).json(&json!({"action": action})).send().await
    }

    pub async fn put_subject(&self, by: &Who, subject: &str, body: &Value) -> Answer {
        self.call(&format!("PUT /v1/admin/subjects/{subject}")).by(by).json(body).send().await
    }

    /// A guest with a token.
    pub async fn guest(&self, name: &str) -> Who {
        let guest = self.call("POST /v1/guests").json(&json!({"name": name})).send().await.expect(201);
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        Who { id: text(&guest["member"]["id"]), name: text(&guest["member"]["name"]), token: text(&guest["token"]) }
    }

    /// Every comment of a list, page by page; `path` may have parameters.
    pub async fn walk(&self, path: &str) -> Vec<Value> {
        self.walk_on(path, self.page(path).await).await
    }

    /// The same, from a first page that is there already.
    pub async fn walk_on(&self, path: &str, mut page: Value) -> Vec<Value> {
        let mut all = Vec::new();
        for _ in 0..10_000 {
            all.extend(page["data"].as_array().expect("data").iter().cloned());
            let next = page["page"]["next"].as_str();
            assert_eq!(page["page"]["has_more"], json!(next.is_some()), "{path}");
            let Some(next) = next else { return all };
            page = self.page(&with_cursor(path, next)).await;
        }
        panic!("{path} does not end");
    }
}

/// The path of the page where the cursor stands.
pub fn with_cursor(path: &str, cursor: &str) -> String {
    format!("{path}{}cursor={cursor}", if path.contains('?') { '&' } else { '?' })
}

/// The comments' ids, in their order.
pub fn ids(comments: &[Value]) -> Vec<String> {
    comments.iter().map(|comment| id(comment).to_owned()).collect()
}

/// Whether this address shows what others wrote: all but a comment by its id, which can be read,
/// answered and liked as soon as it is acknowledged.
fn shows_lists(url: &str) -> bool {
    url.split_once("/v1/comments/").is_none_or(|(_, rest)| rest.contains('/'))
}

/// The comment's id.
#[track_caller]
pub fn id(comment: &Value) -> &str {
    comment["id"].as_str().unwrap_or_else(|| panic!("no comment: {comment}"))
}

/// `type/key` of a comment, as it stands in a path.
fn subject_of(comment: &Value) -> String {
    let text = |name: &str| comment["subject"][name].as_str().expect("a subject").to_owned();
    format!("{}/{}", text("type"), text("key"))
}

impl Call {
    #[must_use]
    pub fn by(self, who: &Who) -> Self {
        self.header("authorization", &format!("Bearer {}", who.token))
    }

    #[must_use]
    pub fn key(self, key: &str) -> Self {
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

    /// A body whose length is not told beforehand.
    #[must_use]
    pub fn chunked(mut self, body: &[u8]) -> Self {
        let chunks: Vec<_> = body.chunks(8_192).map(|c| Ok::<_, std::io::Error>(c.to_vec())).collect();
        self.body = Some(Body::wrap_stream(futures_util::stream::iter(chunks)));
        self
    }

    /// The answer, or why there is none.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn attempt(self) -> Result<Answer, reqwest::Error> {
        let reads = matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if let Some(settle) = self.settle.as_ref().filter(|_| reads && shows_lists(&self.url)) {
            settle.settle().await;
        }
        let mut request = self.http.request(self.method, &self.url).headers(self.headers);
        if let Some(body) = self.body {
            request = request.body(body);
        }
        let answer = request.send().await?;
        if let Some(settle) = self.settle.filter(|_| !reads) {
            settle.wrote();
        }
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let text = String::from_utf8_lossy(&answer.bytes().await?).into_owned();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Answer { status, headers, text, json })
    }

    /// The answer; the server must be there and must not fail.
    pub async fn send(self) -> Answer {
        let line = format!("{} {}", self.method, self.url);
        let answer = self.attempt().await.unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(answer.status < 500, "{line}: {} {}", answer.status, answer.text);
        answer
    }
}
