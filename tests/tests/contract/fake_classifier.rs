//! A server in the place of a classifier: it speaks JSON or as Akismet does, is slow, fails, or lies on demand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::net::TcpListener;

/// Longer than an origin waits.
const TOO_SLOW: Duration = Duration::from_secs(20);
/// More than an origin reads.
const TOO_MUCH_BYTES: usize = 1_024 * 1_024;

/// How it answers the next texts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClassifierBehavior {
    /// With this body.
    Answer(&'static str),
    /// With this body and a header.
    AnswerWith(&'static str, (&'static str, &'static str)),
    AnswerTooLate,
    AnswerTooMuch,
    Fail,
    /// To itself.
    Redirect,
}

/// A server in the place of a classifier.
pub(super) struct FakeClassifier {
    pub(super) url: String,
    behavior: Mutex<ClassifierBehavior>,
    /// Bodies and the header `Authorization`, in order of arrival.
    requests: Mutex<Vec<(String, Option<String>)>>,
}

impl FakeClassifier {
    pub(super) async fn start(behavior: ClassifierBehavior) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = Arc::new(Self {
            url: format!("http://{}/classify?token=of-the-query", listener.local_addr().expect("an address")),
            behavior: Mutex::new(behavior),
            requests: Mutex::default(),
        });
        let routes = Router::new().route("/classify", post(answer)).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        server
    }

    pub(super) fn set_behavior(&self, behavior: ClassifierBehavior) {
        *self.behavior.lock().expect("a lock") = behavior;
    }

    /// How many texts it was asked about.
    pub(super) fn calls(&self) -> usize {
        self.requests.lock().expect("a lock").len()
    }

    /// The last body, and the header `Authorization`.
    pub(super) fn last_request(&self) -> (String, Option<String>) {
        self.requests.lock().expect("a lock").last().expect("a request").clone()
    }
}

async fn answer(State(server): State<Arc<FakeClassifier>>, headers: HeaderMap, body: String) -> Response {
    let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().expect("text").to_owned());
    server.requests.lock().expect("a lock").push((body, authorization));
    let behavior = server.behavior.lock().expect("a lock").clone();
    match behavior {
        ClassifierBehavior::Answer(body) => body.into_response(),
        ClassifierBehavior::AnswerWith(body, header) => ([header], body).into_response(),
        ClassifierBehavior::AnswerTooLate => {
            tokio::time::sleep(TOO_SLOW).await;
            r#"{"verdict":"ham"}"#.into_response()
        }
        ClassifierBehavior::AnswerTooMuch => {
            format!(r#"{{"verdict":"ham","padding":"{}"}}"#, "x".repeat(TOO_MUCH_BYTES)).into_response()
        }
        ClassifierBehavior::Fail => (StatusCode::INTERNAL_SERVER_ERROR, r#"{"verdict":"ham"}"#).into_response(),
        ClassifierBehavior::Redirect => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, server.url.clone())]).into_response()
        }
    }
}
