//! A service that has pictures by the hashes of e-mail addresses, such as Gravatar or Cravatar.
//!
//! Nothing is retried, no redirect is followed, and no call is made while the service does not answer. What it is sent is
//! the hash, and nothing of the reader who asked. No log line has a hash.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::http::StatusCode;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::Incoming;

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::circuit_breaker::CircuitBreaker;
use crate::config::AvatarSettings;
use crate::domain::avatar::AvatarHash;
use crate::outage_log::OutageLog;
use crate::ports::avatars::AvatarService;
use crate::ports::failure::Failure;
use crate::telemetry::measure_bounded;

/// Largest file that is taken: a picture of 160 pixels has 10 KB.
const MAX_AVATAR_BYTES: usize = 256 << 10;
/// How long a call may take.
pub(super) const AVATAR_TIMEOUT: Duration = Duration::from_secs(3);

/// The file of an answer. One that is too large is empty, which is no picture: who sent it works.
pub(super) async fn read_picture(answer: Incoming) -> Result<Bytes, Failure> {
    match Limited::new(answer, MAX_AVATAR_BYTES).collect().await {
        Ok(file) => Ok(file.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Ok(Bytes::new()),
        Err(error) => Err(error.to_string().into()),
    }
}

/// The service at an address.
#[derive(Debug)]
pub struct AvatarClient {
    client: HttpsClient<Empty<Bytes>>,
    settings: AvatarSettings,
    server: String,
    breaker: CircuitBreaker,
    outage: OutageLog,
}

impl AvatarClient {
    /// The service of these settings; `None` where there is none.
    pub fn new(settings: &AvatarSettings) -> Option<Self> {
        let server = settings.shown_address()?;
        Some(Self {
            client: https_client(),
            settings: settings.clone(),
            server: server.to_owned(),
            breaker: CircuitBreaker::new("avatars", server),
            outage: OutageLog::default(),
        })
    }

    async fn get(&self, hash: &AvatarHash) -> Result<Option<Bytes>, Failure> {
        let Some(address) = self.settings.address_of(hash.as_str()) else { return Ok(None) };
        let request = Request::get(address).body(Empty::new()).map_err(Failure::with_causes)?;
        let (head, answer) = self.client.request(request).await.map_err(Failure::with_causes)?.into_parts();
        match head.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => read_picture(answer).await.map(Some),
            status => Err(format!("it answered {status}").into()),
        }
    }
}

#[async_trait]
impl AvatarService for AvatarClient {
    async fn fetch(&self, hash: &AvatarHash) -> Result<Option<Bytes>, Failure> {
        if !self.breaker.try_call(Instant::now()) {
            return Err("it did not answer a moment ago".into());
        }
        let answered = match measure_bounded("avatars", "get", AVATAR_TIMEOUT, self.get(hash)).await {
            Ok(answered) => answered,
            Err(_) => Err(format!("no answer in {} s", AVATAR_TIMEOUT.as_secs()).into()),
        };
        let server = &self.server;
        match &answered {
            Ok(_) => {
                self.breaker.record_success();
                self.outage.end(|| tracing::info!(server, "Pictures of members come from {server} again"));
            }
            Err(error) => {
                self.breaker.record_failure(Instant::now());
                self.outage.begin(|| {
                    tracing::warn!(server, %error, "Could not get a picture of a member from {server}; a drawing is in its place");
                });
            }
        }
        answered
    }
}
