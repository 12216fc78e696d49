//! A server in the place of a provider that speaks OAuth 2 in GitHub's manner: it checks what it is sent, and fails or
//! lies on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gailou::config::{Password, ProviderSettings};
use gailou_shared::wire::ProviderKind;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

const CLIENT_ID: &str = "the-client";
const CLIENT_SECRET: &str = "the-secret-of-the-client";
const ACCESS_TOKEN: &str = "gho_of_the_visitor";

/// A server in the place of a provider.
pub(super) struct FakeProvider {
    url: String,
    /// What it says of the visitor.
    pub(super) user: Mutex<Value>,
    pub(super) emails: Mutex<Value>,
    /// The query of the visit that it has let through, by its code.
    visits: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
    /// Whether it is broken.
    pub(super) fails: Mutex<bool>,
}

impl FakeProvider {
    pub(super) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            user: Mutex::new(json!({
                "id": 42, "login": "annie", "name": "Ann of GitHub", "avatar_url": "https://avatars.example/42",
            })),
            emails: Mutex::new(json!([
                {"email": "unverified@example.com", "primary": false, "verified": false},
                {"email": "Ann@Example.com", "primary": true, "verified": true},
            ])),
            visits: Mutex::default(),
            fails: Mutex::new(false),
        });
        let routes = Router::new()
            .route("/login/oauth/authorize", get(authorize))
            .route("/login/oauth/access_token", post(exchange))
            .route("/api/v3/user", get(user))
            .route("/api/v3/user/emails", get(emails))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        server
    }

    /// The settings of an origin that readers sign in to with it.
    pub(super) fn settings(&self) -> ProviderSettings {
        ProviderSettings {
            id: "github".into(),
            name: "GitHub".into(),
            kind: ProviderKind::Oauth2,
            issuer: Some(self.url.clone()),
            client_id: CLIENT_ID.into(),
            client_secret: Password::new(CLIENT_SECRET),
            ..ProviderSettings::default()
        }
    }
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| percent_decode(&text.replace('+', " "));
    text.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, value)| (decode(name), decode(value))).collect()
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' && after.len() >= 2 {
            let hex = std::str::from_utf8(&after[..2]).expect("hex");
            bytes.push(u8::from_str_radix(hex, 16).expect("hex"));
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// The visitor agrees, and is sent back with a code.
async fn authorize(State(server): State<Arc<FakeProvider>>, RawQuery(query): RawQuery) -> Response {
    let asked = pairs(&query.unwrap_or_default());
    let check = |name: &str, expected: &str| assert_eq!(asked.get(name).map(String::as_str), Some(expected), "{name}");
    check("response_type", "code");
    check("client_id", CLIENT_ID);
    check("code_challenge_method", "S256");
    check("scope", "read:user user:email");
    let code = format!("code{}", server.visits.lock().expect("a lock").len());
    let back = format!("{}?code={code}&state={}", asked["redirect_uri"], asked["state"]);
    server.visits.lock().expect("a lock").insert(code, asked);
    (StatusCode::FOUND, [(header::LOCATION, back)]).into_response()
}

/// A code is exchanged once, by who has begun the visit. A wrong one is answered with 200, as GitHub does.
async fn exchange(State(server): State<Arc<FakeProvider>>, body: String) -> Response {
    if *server.fails.lock().expect("a lock") {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let asked = pairs(&body);
    let visit = server.visits.lock().expect("a lock").remove(&asked["code"]);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(asked.get("code_verifier").cloned().unwrap_or_default()));
    let is_right = visit.is_some_and(|visit| {
        visit["code_challenge"] == challenge
            && visit["redirect_uri"] == asked["redirect_uri"]
            && asked.get("client_secret").map(String::as_str) == Some(CLIENT_SECRET)
    });
    Json(if is_right {
        json!({"access_token": ACCESS_TOKEN, "token_type": "bearer", "scope": "read:user,user:email"})
    } else {
        json!({"error": "bad_verification_code", "error_description": "The code passed is incorrect or expired."})
    })
    .into_response()
}

async fn user(State(server): State<Arc<FakeProvider>>, headers: HeaderMap) -> Response {
    answer(&headers, &server.user)
}

async fn emails(State(server): State<Arc<FakeProvider>>, headers: HeaderMap) -> Response {
    answer(&headers, &server.emails)
}

fn answer(headers: &HeaderMap, said: &Mutex<Value>) -> Response {
    let is_known = headers.get(header::AUTHORIZATION).is_some_and(|value| value == &format!("Bearer {ACCESS_TOKEN}"));
    // GitHub refuses who does not say their name.
    if !is_known || !headers.contains_key(header::USER_AGENT) {
        return StatusCode::FORBIDDEN.into_response();
    }
    Json(said.lock().expect("a lock").clone()).into_response()
}
