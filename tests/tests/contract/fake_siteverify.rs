//! A server in the place of Turnstile's siteverify: it verifies each token once, is slow, fails, or lies on demand.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The secret of the widget.
pub(super) const WIDGET_SECRET: &str = "the secret of the widget";
/// Longer than an origin waits.
const TOO_SLOW: Duration = Duration::from_secs(20);
/// More than an origin reads.
const TOO_MUCH_BYTES: usize = 1_024 * 1_024;

/// How it answers the next tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SiteverifyBehavior {
    /// Tokens that begin with `good` are right, once.
    Verify,
    /// Every token is right, however often.
    AlwaysRight,
    AnswerTooLate,
    Fail,
    /// It says that the secret is wrong.
    BlameSecret,
    /// A page, and no verdict.
    AnswerHtml,
    AnswerTooMuch,
}

/// A server in the place of siteverify.
pub(super) struct FakeSiteverify {
    pub(super) url: String,
    behavior: Mutex<SiteverifyBehavior>,
    /// In order of arrival.
    tokens: Mutex<Vec<String>>,
    used: Mutex<BTreeSet<String>>,
}

impl FakeSiteverify {
    pub(super) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = Arc::new(Self {
            url: format!("http://{}/siteverify", listener.local_addr().expect("an address")),
            behavior: Mutex::new(SiteverifyBehavior::Verify),
            tokens: Mutex::default(),
            used: Mutex::default(),
        });
        let routes = Router::new().route("/siteverify", post(answer)).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        server
    }

    pub(super) fn set_behavior(&self, behavior: SiteverifyBehavior) {
        *self.behavior.lock().expect("a lock") = behavior;
    }

    /// How many tokens it was sent.
    pub(super) fn calls(&self) -> usize {
        self.tokens.lock().expect("a lock").len()
    }

    fn verify_once(&self, token: &str) -> Value {
        let is_unused = self.used.lock().expect("a lock").insert(token.to_owned());
        match (token.starts_with("good"), is_unused) {
            (true, true) => json!({"success": true, "error-codes": [], "hostname": "blog.example"}),
            (true, false) => json!({"success": false, "error-codes": ["timeout-or-duplicate"]}),
            (false, _) => json!({"success": false, "error-codes": ["invalid-input-response"]}),
        }
    }
}

async fn answer(State(server): State<Arc<FakeSiteverify>>, Json(request): Json<Value>) -> Response {
    assert_eq!(request["secret"], WIDGET_SECRET);
    let token = request["response"].as_str().expect("a token").to_owned();
    server.tokens.lock().expect("a lock").push(token.clone());
    let behavior = *server.behavior.lock().expect("a lock");
    match behavior {
        SiteverifyBehavior::Verify => Json(server.verify_once(&token)).into_response(),
        SiteverifyBehavior::AlwaysRight => Json(json!({"success": true})).into_response(),
        SiteverifyBehavior::AnswerTooLate => {
            tokio::time::sleep(TOO_SLOW).await;
            Json(json!({"success": true})).into_response()
        }
        SiteverifyBehavior::Fail => (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response(),
        SiteverifyBehavior::BlameSecret => {
            Json(json!({"success": false, "error-codes": ["invalid-input-secret"]})).into_response()
        }
        SiteverifyBehavior::AnswerHtml => (StatusCode::OK, "<html>success</html>").into_response(),
        SiteverifyBehavior::AnswerTooMuch => {
            let padding = "x".repeat(TOO_MUCH_BYTES);
            Json(json!({"success": true, "padding": padding})).into_response()
        }
    }
}
