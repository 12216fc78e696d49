//! The edge as a Cloudflare Worker: one signed HTTP `POST` for each push.
//!
//! Nothing is retried in here, a push takes no longer than [`PUSH_TIMEOUT`], and nothing is sent while the
//! Worker does not answer.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::http::{Request, StatusCode, header};
use bytes::Bytes;
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, PUSH_FORMAT_VERSION, PUSH_PATH, PushDocument, PushOutcome, PushedDictionary,
    PushedPage, SIGNATURE_HEADER, SignatureDirection, SignedRequest, sign_request,
};
use http_body_util::{BodyExt as _, Full, Limited};

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::circuit_breaker::CircuitBreaker;
use crate::clock::Clock;
use crate::config::Secret;
use crate::ports::edge::{EdgeClient, EdgeError};
use crate::ports::failure::Failure;
use crate::telemetry::measure_bounded;

/// How long a push may take.
const PUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest answer that is read.
const MAX_PUSH_ANSWER_BYTES: usize = 64 * 1_024;

/// The Worker at an address.
#[derive(Debug)]
pub struct WorkerClient {
    client: HttpsClient,
    url: String,
    secret: Secret,
    clock: Clock,
    breaker: CircuitBreaker,
}

impl WorkerClient {
    /// The Worker at `url` (without a slash at its end), which has the same secret.
    pub fn new(url: &str, secret: Secret, clock: Clock) -> Self {
        Self { client: https_client(), url: url.to_owned(), secret, clock, breaker: CircuitBreaker::new("edge", url) }
    }

    async fn post(&self, body: Vec<u8>) -> Result<(StatusCode, Bytes), EdgeError> {
        let body_hash = BodyHash::of(&body);
        let signed = SignedRequest::anonymous(SignatureDirection::OriginToEdge, "POST", PUSH_PATH, "", body_hash);
        let signature = sign_request(self.secret.expose().as_bytes(), self.clock.now() / 1_000, &signed);
        let request = Request::post(format!("{}{PUSH_PATH}", self.url))
            .header(header::CONTENT_TYPE, "application/json")
            .header(SIGNATURE_HEADER, signature)
            .header(BODY_HASH_HEADER, body_hash.to_string())
            .body(Full::from(body))
            .map_err(unreachable)?;
        let (head, answer) = self.client.request(request).await.map_err(unreachable)?.into_parts();
        let answer = Limited::new(answer, MAX_PUSH_ANSWER_BYTES).collect().await;
        let answer = answer.map_err(|error| EdgeError::Unreachable(error.to_string().into()))?;
        Ok((head.status, answer.to_bytes()))
    }
}

fn unreachable(error: impl std::error::Error + Send + Sync + 'static) -> EdgeError {
    EdgeError::Unreachable(Failure::with_causes(error))
}

#[async_trait]
impl EdgeClient for WorkerClient {
    async fn push(
        &self,
        pages: &[PushedPage],
        dictionary: Option<&PushedDictionary>,
    ) -> Result<PushOutcome, EdgeError> {
        let body = serde_json::to_vec(&PushDocument {
            v: PUSH_FORMAT_VERSION,
            pages: pages.into(),
            words: dictionary.map(Cow::Borrowed),
        });
        let body = body.map_err(unreachable)?;
        if !self.breaker.try_call(Instant::now()) {
            return Err(EdgeError::Unreachable("it did not answer a moment ago".into()));
        }
        let answered = measure_bounded("edge", "push", PUSH_TIMEOUT, self.post(body)).await;
        let answered = answered.map_err(|_| EdgeError::Unreachable("no answer in time".into())).flatten();
        match &answered {
            Ok(_) => self.breaker.record_success(),
            Err(_) => self.breaker.record_failure(Instant::now()),
        }
        let (status, answer) = answered?;
        match status {
            // The edge has newer versions of all of them.
            StatusCode::CONFLICT => Ok(PushOutcome { stored: 0, older: pages.len() as u64 }),
            status if status.is_success() => serde_json::from_slice(&answer)
                .map_err(|_| EdgeError::Unreachable("the address does not answer as Gailou's Worker".into())),
            status => Err(EdgeError::Refused(status.as_u16())),
        }
    }
}
