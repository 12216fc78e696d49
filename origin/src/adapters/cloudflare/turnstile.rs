//! The verification of Turnstile's tokens by its siteverify service.
//!
//! Nothing is retried, a call takes no longer than [`SITEVERIFY_TIMEOUT`], and nothing is sent while the service does not
//! answer. An answer that blames this program and not the token is a failure: a wrong secret locks no guest out.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::http::{Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::circuit_breaker::CircuitBreaker;
use crate::config::Password;
use crate::outage_log::OutageLog;
use crate::ports::failure::Failure;
use crate::ports::turnstile::TurnstileVerifier;
use crate::telemetry::measure_bounded;

/// How long a verification may take.
const SITEVERIFY_TIMEOUT: Duration = Duration::from_secs(3);
/// Verifications in progress: at 0.2 s each, 320 a second.
const MAX_VERIFICATIONS: usize = 64;
/// Longest token, as Cloudflare says.
const MAX_TURNSTILE_TOKEN_BYTES: usize = 2_048;
/// Largest answer that is read; it has about 300 bytes.
const MAX_SITEVERIFY_ANSWER_BYTES: usize = 16 * 1_024;
/// What the service says of a token. Every other error is about the request.
const TOKEN_ERRORS: [&str; 3] = ["invalid-input-response", "missing-input-response", "timeout-or-duplicate"];

/// The service at an address.
#[derive(Debug)]
pub struct SiteverifyClient {
    client: HttpsClient,
    url: String,
    secret: Password,
    breaker: CircuitBreaker,
    running: Semaphore,
    outage: OutageLog,
}

/// What the service answers.
#[derive(Debug, Deserialize)]
struct SiteverifyAnswer {
    success: bool,
    #[serde(default, rename = "error-codes")]
    error_codes: Vec<String>,
}

impl SiteverifyClient {
    /// The service at `url`, for the widget with this secret.
    pub fn new(url: &str, secret: Password) -> Self {
        let (breaker, running) = (CircuitBreaker::new("turnstile", url), Semaphore::new(MAX_VERIFICATIONS));
        Self { client: https_client(), url: url.to_owned(), secret, breaker, running, outage: OutageLog::default() }
    }

    async fn post(&self, token: &str) -> Result<(StatusCode, Bytes), Failure> {
        let body = json!({"secret": self.secret.expose(), "response": token}).to_string();
        let request = Request::post(&self.url).header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Full::from(body)).map_err(Failure::with_causes)?;
        let (head, answer) = self.client.request(request).await.map_err(Failure::with_causes)?.into_parts();
        let answer = Limited::new(answer, MAX_SITEVERIFY_ANSWER_BYTES).collect().await;
        Ok((head.status, answer.map_err(|error| error.to_string())?.to_bytes()))
    }

    /// The verdict, after the breaker has heard whether there was an answer.
    async fn ask(&self, token: &str) -> Result<bool, Failure> {
        let Ok(_place) = self.running.try_acquire() else {
            return Err(format!("{MAX_VERIFICATIONS} verifications are in progress").into());
        };
        if !self.breaker.try_call(Instant::now()) {
            return Err("it did not answer a moment ago".into());
        }
        let answered = match measure_bounded("turnstile", "siteverify", SITEVERIFY_TIMEOUT, self.post(token)).await {
            Ok(Ok((status, answer))) => verdict(status, &answer),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(format!("no answer in {} s", SITEVERIFY_TIMEOUT.as_secs()).into()),
        };
        match &answered {
            Ok(_) => self.breaker.record_success(),
            Err(_) => self.breaker.record_failure(Instant::now()),
        }
        answered
    }
}

#[async_trait]
impl TurnstileVerifier for SiteverifyClient {
    fn is_available(&self) -> bool {
        !self.breaker.is_open(Instant::now())
    }

    async fn verify(&self, token: &str) -> Result<bool, Failure> {
        let is_token =
            (1..=MAX_TURNSTILE_TOKEN_BYTES).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic());
        if !is_token {
            return Ok(false);
        }
        let answered = self.ask(token).await;
        let server = &self.url;
        match &answered {
            Ok(_) => self.outage.end(|| tracing::info!(server, "Answers to challenges are verified at {server} again")),
            Err(error) => self.outage.begin(|| {
                tracing::warn!(server, %error, "Could not verify an answer at {server}; guests answer a proof of work instead");
            }),
        }
        answered
    }
}

/// What an answer says of the token.
fn verdict(status: StatusCode, answer: &[u8]) -> Result<bool, Failure> {
    let Ok(SiteverifyAnswer { success, error_codes }) = serde_json::from_slice(answer) else {
        return Err(format!("it answered {status} and no verdict").into());
    };
    let blames_token = error_codes.iter().any(|code| TOKEN_ERRORS.contains(&code.as_str()));
    match (success, status.is_server_error()) {
        (true, false) => Ok(true),
        (false, false) if blames_token => Ok(false),
        _ => Err(format!("it answered {status}: {}", error_codes.join(", ")).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_blames_the_token_refuses_it() {
        let check = |status: u16, answer: &str, expected: Option<bool>| {
            let verdict = verdict(StatusCode::from_u16(status).unwrap(), answer.as_bytes());
            assert_eq!(verdict.ok(), expected, "{status} {answer}");
        };
        check(200, r#"{"success":true,"error-codes":[],"hostname":"a.example","action":"x"}"#, Some(true));
        check(200, r#"{"success":false,"error-codes":["invalid-input-response"]}"#, Some(false));
        check(200, r#"{"success":false,"error-codes":["timeout-or-duplicate"]}"#, Some(false));
        check(400, r#"{"success":false,"error-codes":["missing-input-response"]}"#, Some(false));
        for ours in ["invalid-input-secret", "missing-input-secret", "bad-request", "internal-error"] {
            check(200, &format!(r#"{{"success":false,"error-codes":["{ours}"]}}"#), None);
        }
        check(200, r#"{"success":false}"#, None);
        check(200, r#"{"success":"true"}"#, None);
        check(200, "<html>", None);
        check(200, "", None);
        check(500, r#"{"success":true}"#, None);
    }
}
