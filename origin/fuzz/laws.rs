//! The laws of everything that a stranger sends to the origin, for any bytes: nothing panics, no answer is a
//! server error, every refusal is a problem of the contract, and what is shown has bounds.
//!
//! Each law takes the bytes of one input. A fuzz target (`fuzz_targets`) runs one law on endless inputs;
//! `origin/tests/fuzz.rs` runs all of them on the inputs in `seeds`, on stable, with the other tests. Requests go
//! to the routes of an embedded origin with a store of its own. Where a parser is behind a signature, the law
//! signs the input itself; no input would pass otherwise.

use std::sync::OnceLock;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gailou::config::{Config, Secret};
use gailou::domain::markdown;
use gailou::{bootstrap, http};
use gailou_shared::id::{MemberId, MemberKind};
use gailou_shared::limits;
use gailou_shared::member_keys::MemberKeys;
use gailou_shared::token::{Member, Role, TokenKey};
use hmac::{Hmac, Mac};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;
use tower_service::Service as _;

type Law = fn(&[u8]);

/// The laws, by the names of their targets.
pub(crate) const LAWS: &[(&str, Law)] = &[
    ("list_cursor", list_cursor_law),
    ("markdown", markdown_law),
    ("member_token", member_token_law),
    ("request_body", request_body_law),
    ("request_head", request_head_law),
];

/// Runs the law of this name on one input.
pub(crate) fn check(name: &str, data: &[u8]) {
    let (_, law) = LAWS.iter().find(|(law, _)| *law == name).expect("a law of this name");
    law(data);
}

const SECRET: &str = "a secret of thirty-two bytes, or more";
/// Unix seconds.
const NOW: u64 = 1_800_000_000;
/// The elements that a comment's HTML may have.
const ELEMENTS: [&str; 18] = [
    "p",
    "br",
    "em",
    "strong",
    "del",
    "code",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "li",
    "a",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
];

/// An embedded origin with one comment.
struct FuzzedOrigin {
    runtime: Runtime,
    routes: Router,
    token: String,
    comment_id: String,
}

impl FuzzedOrigin {
    fn get() -> &'static Self {
        static ORIGIN: OnceLock<FuzzedOrigin> = OnceLock::new();
        ORIGIN.get_or_init(Self::start)
    }

    fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let mut config = Config { data: tempfile::tempdir().expect("a directory").keep(), ..Config::default() };
        config.adjustable.limits.enabled = false;
        config.auth.token_secret = Secret::new(SECRET);
        config.cursor_secret = Secret::new(SECRET);
        let process = runtime.block_on(bootstrap::open(config)).expect("the origin opens");
        let id = MemberId::new(7).expect("a member id");
        let ann = Member { id, name: "Ann".into(), avatar: None, level: 9, role: Role::Admin };
        let now = process.state.now() / 1_000;
        let token = process.state.member_keys.host().sign(&ann, "gailou", now..now + 86_400).expect("a secret signs");
        let routes = http::routes(process.state.clone());
        // The store lives as long as the fuzzer.
        std::mem::forget(process);
        let mut origin = Self { runtime, routes, token, comment_id: String::new() };
        let body = json!({"content": "text"}).to_string();
        let (status, comment) = origin.send(origin.write("POST", "/v1/subjects/article/1/comments", body.as_bytes()));
        assert_eq!(status, 201, "{comment}");
        origin.comment_id = comment["id"].as_str().expect("an id").to_owned();
        origin
    }

    fn write(&self, method: &str, path: &str, body: &[u8]) -> Request<Body> {
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        request.body(Body::from(body.to_vec())).expect("a request")
    }

    /// Sends a request; its status and, of a refusal or a write, its JSON. No answer is a server error, and
    /// every refusal is a problem with a code and the status of the answer.
    fn send(&self, request: Request<Body>) -> (u16, Value) {
        let shown = format!("{} {}", request.method(), request.uri());
        self.runtime.block_on(async {
            let Ok(response): Result<Response<Body>, _> = self.routes.clone().call(request).await;
            let status = response.status().as_u16();
            assert!(status < 500, "{shown}: {status}");
            let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            let kind = kind.unwrap_or_default().to_owned();
            // An event stream has no end.
            if status < 400 && kind == "text/event-stream" {
                return (status, Value::Null);
            }
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            assert!(body.len() <= limits::MAX_TREE_BYTES, "{shown}: {} bytes", body.len());
            let json: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            if status >= 400 && !body.is_empty() {
                assert_eq!((kind.as_str(), &json["status"]), ("application/problem+json", &json!(status)), "{shown}");
                assert!(json["code"].is_string() && json["trace_id"].is_string(), "{shown}: {json}");
            }
            (status, json)
        })
    }
}

/// The text up to the first line break, and what follows it.
fn line(data: &[u8]) -> (&str, &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let rest = data.get(end + 1..).unwrap_or_default();
    (std::str::from_utf8(&data[..end]).unwrap_or_default(), rest)
}

fn hmac(key: &[u8], data: &[u8]) -> [u8; 32] {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.chain_update(data).finalize().into_bytes().into()
}

/// `METHOD target`, then a line for each header. `{id}` in the target is a comment that exists.
fn request_head_law(data: &[u8]) {
    let origin = FuzzedOrigin::get();
    let (first, mut rest) = line(data);
    let Some((method, target)) = first.split_once(' ') else { return };
    let (Ok(method), Ok(uri)) = (method.parse::<Method>(), target.replace("{id}", &origin.comment_id).parse::<Uri>())
    else {
        return;
    };
    if method == Method::CONNECT || uri.authority().is_some() {
        return;
    }
    let mut request = Request::new(Body::empty());
    (*request.method_mut(), *request.uri_mut()) = (method, uri);
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (text, after) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
        rest = after;
        let Some(colon) = text.iter().position(|byte| *byte == b':') else { continue };
        let value = text[colon + 1..].trim_ascii();
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(&text[..colon]), HeaderValue::from_bytes(value)) {
            request.headers_mut().append(name, value);
        }
    }
    origin.send(request);
}

/// The first line chooses the write; the rest is its body.
fn request_body_law(data: &[u8]) {
    let origin = FuzzedOrigin::get();
    let (first, body) = line(data);
    let id = &origin.comment_id;
    let (method, path) = match first {
        "edit" => ("PATCH", format!("/v1/comments/{id}")),
        "guest" => ("POST", "/v1/guests".to_owned()),
        "decision" => ("POST", format!("/v1/admin/comments/{id}/decision")),
        "subject" => ("PUT", "/v1/admin/subjects/article/2".to_owned()),
        _ => ("POST", "/v1/subjects/article/1/comments".to_owned()),
    };
    let (status, answer) = origin.send(origin.write(method, &path, body));
    if let (201, Some(html)) = (status, answer["html"].as_str()) {
        check_html(html);
        assert!(answer["content"].as_str().is_some_and(|text| text.len() <= limits::MAX_CONTENT_BYTES));
    }
}

/// The HTML of any text is bounded, properly nested, and made of the listed elements alone.
fn markdown_law(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let text: String = text.chars().take(limits::MAX_CONTENT_CHARS).collect();
    check_html(&markdown::html(&text));
}

fn check_html(html: &str) {
    assert!(html.len() <= limits::MAX_HTML_BYTES, "{} bytes of HTML", html.len());
    let mut open: Vec<&str> = Vec::new();
    for part in html.split('<').skip(1) {
        let (tag, _) = part.split_once('>').unwrap_or_else(|| panic!("a tag without an end: {part:?}"));
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        assert!(ELEMENTS.contains(&name), "the element {name:?}");
        match (tag.starts_with('/'), name) {
            (true, name) => assert_eq!(open.pop(), Some(name), "{html}"),
            (false, "br") => {}
            (false, name) => open.push(name),
        }
        assert!(open.len() <= limits::MAX_HTML_NESTING, "{} levels", open.len());
        let attributes = tag.split_once(' ').map_or("", |(_, attributes)| attributes);
        let allowed = match name {
            // A link whose address is not allowed has none.
            "a" if attributes.is_empty() => true,
            "a" => {
                ["href=\"http", "href=\"mailto:", "rel=\"nofollow"].iter().any(|start| attributes.starts_with(start))
            }
            "br" => ["", "/"].contains(&attributes),
            "ol" => attributes.is_empty() || attributes.starts_with("start=\""),
            "td" | "th" => ["", "align=\"left\"", "align=\"center\"", "align=\"right\""].contains(&attributes),
            _ => attributes.is_empty(),
        };
        assert!(allowed, "the attributes {attributes:?} of {name}");
    }
    assert!(open.is_empty(), "{open:?} stay open");
}

/// A line of JSON with the token's header, then its claims: no member is verified under the key of another kind.
fn member_token_law(data: &[u8]) {
    let keys = MemberKeys::from_secret(SECRET.as_bytes()).expect("long enough");
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(keys.verify(text, "gailou", NOW).is_err(), "an unsigned token: {text}");
    }
    let (head, claims) = line(data);
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims));
    let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac(SECRET.as_bytes(), signed.as_bytes())));
    let Ok(member) = keys.verify(&token, "gailou", NOW) else { return };
    assert_eq!(member.id.kind(), MemberKind::Host, "the host signs for its own members alone: {member:?}");
    assert!((1..=limits::MAX_NAME_CHARS).contains(&member.name.chars().count()), "{member:?}");
    assert_eq!(TokenKey::secret(SECRET.as_bytes()).expect("long enough").verify(&token, "gailou", NOW), Ok(member));
}

/// A list, then the payload of a cursor that is signed: any position is answered, refused or expired.
fn list_cursor_law(data: &[u8]) {
    let origin = FuzzedOrigin::get();
    let (list, payload) = line(data);
    let mut secret = b"gailou cursor\0".to_vec();
    secret.extend_from_slice(SECRET.as_bytes());
    let mut signed = payload.to_vec();
    signed.extend_from_slice(&hmac(&Sha256::digest(secret), payload)[..16]);
    let cursor = URL_SAFE_NO_PAD.encode(signed);
    let id = &origin.comment_id;
    let path = match list {
        "replies" => format!("/v1/comments/{id}/replies?cursor={cursor}"),
        "tree" => format!("/v1/comments/{id}/tree?cursor={cursor}"),
        "member" => format!("/v1/members/7/comments?cursor={cursor}"),
        "html" => format!("/t/article/1?cursor={cursor}"),
        _ => format!("/v1/subjects/article/1/comments?cursor={cursor}"),
    };
    let request = Request::builder().uri(path).body(Body::empty()).expect("a request");
    let (status, _) = origin.send(request);
    assert!([200, 400, 410].contains(&status), "{status}");
}
