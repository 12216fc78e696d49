//! A server in the place of a host's service that knows its members: it is slow, fails, or lies on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use gailou::config::{AccountSettings, Password};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What the service knows an origin by.
pub(super) const ACCOUNTS_KEY: &str = "the-key-of-the-site";
/// Longer than an origin waits.
const TOO_SLOW: Duration = Duration::from_secs(20);
/// More than an origin reads.
const TOO_MUCH_BYTES: usize = 4 * 1_024 * 1_024;

/// How it answers the next calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum AccountsBehavior {
    /// With the members that it knows among those asked about.
    Answer,
    /// With all that it knows.
    AnswerAll,
    AnswerTooLate,
    AnswerTooMuch,
    AnswerHtml,
    /// With a list in the place of the accounts.
    AnswerList,
    Fail,
    /// To itself.
    Redirect,
}

/// A server in the place of a host's service.
pub(super) struct FakeAccounts {
    url: String,
    behavior: Mutex<AccountsBehavior>,
    members: Mutex<BTreeMap<String, Value>>,
    /// The ids of each call, in order of arrival.
    calls: Mutex<Vec<Vec<String>>>,
}

impl FakeAccounts {
    pub(super) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = Arc::new(Self {
            url: format!("http://{}/members?site=of-the-query", listener.local_addr().expect("an address")),
            behavior: Mutex::new(AccountsBehavior::Answer),
            members: Mutex::default(),
            calls: Mutex::default(),
        });
        let routes = Router::new().route("/members", post(answer)).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        server
    }

    /// The settings of an origin that asks it, and whose answers count so long.
    pub(super) fn settings(&self, cache_seconds: u32) -> AccountSettings {
        AccountSettings {
            url: Some(self.url.clone()),
            key: Password::new(ACCOUNTS_KEY),
            timeout_ms: 1_000,
            cache_seconds,
        }
    }

    pub(super) fn set_behavior(&self, behavior: AccountsBehavior) {
        *self.behavior.lock().expect("a lock") = behavior;
    }

    /// What it says of a member from now on.
    pub(super) fn know(&self, id: &str, account: Value) {
        self.members.lock().expect("a lock").insert(id.to_owned(), account);
    }

    /// The ids of each call.
    pub(super) fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().expect("a lock").clone()
    }
}

async fn answer(State(server): State<Arc<FakeAccounts>>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    assert_eq!(headers[header::AUTHORIZATION], format!("Bearer {ACCOUNTS_KEY}"));
    let ids: Vec<String> = serde_json::from_value(request["ids"].clone()).expect("ids");
    server.calls.lock().expect("a lock").push(ids.clone());
    let members = server.members.lock().expect("a lock").clone();
    let asked: BTreeMap<_, _> = members.iter().filter(|(id, _)| ids.contains(id)).collect();
    let behavior = *server.behavior.lock().expect("a lock");
    match behavior {
        AccountsBehavior::Answer => Json(json!({"data": asked})).into_response(),
        AccountsBehavior::AnswerAll => Json(json!({"data": members})).into_response(),
        AccountsBehavior::AnswerTooLate => {
            tokio::time::sleep(TOO_SLOW).await;
            Json(json!({"data": asked})).into_response()
        }
        AccountsBehavior::AnswerTooMuch => {
            Json(json!({"data": asked, "padding": "x".repeat(TOO_MUCH_BYTES)})).into_response()
        }
        AccountsBehavior::AnswerHtml => (StatusCode::OK, "<html>members</html>").into_response(),
        AccountsBehavior::AnswerList => Json(json!({"data": asked.values().collect::<Vec<_>>()})).into_response(),
        AccountsBehavior::Fail => (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({"data": asked}))).into_response(),
        AccountsBehavior::Redirect => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, server.url.clone())]).into_response()
        }
    }
}
