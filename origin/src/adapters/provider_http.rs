//! The calls to providers of identities, for the libraries that know their protocols.
//!
//! Nothing is repeated and no redirect is followed; a call is bounded in time, and its answer in bytes.

use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, header};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt as _, Full, Limited};

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::ports::failure::Failure;
use crate::telemetry::measure_bounded;

/// How long a call may take; a visitor waits for up to three of them.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest answer that is read: the keys of a provider have some kilobytes.
const MAX_ANSWER_BYTES: usize = 256 * 1_024;
/// GitHub refuses a request without it.
const USER_AGENT: HeaderValue = HeaderValue::from_static("gailou");

/// A call without an answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct CallFailure(pub(super) Failure);

/// A call on its way.
type Answering = BoxFuture<'static, Result<Response<Vec<u8>>, CallFailure>>;

/// The client of all providers.
#[derive(Debug, Clone)]
pub(super) struct ProviderHttp(HttpsClient);

impl ProviderHttp {
    pub(super) fn new() -> Self {
        Self(https_client())
    }

    /// The client as the libraries call it.
    pub(super) fn caller(&self) -> impl Fn(Request<Vec<u8>>) -> Answering + use<> {
        let http = self.clone();
        move |request| {
            let http = http.clone();
            async move { http.call(request).await }.boxed()
        }
    }

    /// Sends a request, and reads the whole answer.
    pub(super) async fn call(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, CallFailure> {
        let (mut parts, body) = request.into_parts();
        parts.headers.insert(header::USER_AGENT, USER_AGENT);
        let call = async {
            let request = Request::from_parts(parts, Full::from(Bytes::from(body)));
            let (parts, body) = self.0.request(request).await.map_err(Failure::with_causes)?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| error.to_string())?;
            Ok(Response::from_parts(parts, body.to_bytes().to_vec()))
        };
        match measure_bounded("provider", "sign_in", CALL_TIMEOUT, call).await {
            Ok(answered) => answered.map_err(CallFailure),
            Err(_) => Err(CallFailure(format!("no answer in {} ms", CALL_TIMEOUT.as_millis()).into())),
        }
    }
}
