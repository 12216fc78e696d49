//! The hosts of pictures that the owners of accounts, or their providers, have chosen.
//!
//! The addresses are of strangers. Nothing is retried, no redirect is followed, nothing of a reader is sent, and no log line
//! has an address. There is no breaker: each host is another one, and the caller keeps a failure for a while.

use async_trait::async_trait;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use http_body_util::Full;

use crate::adapters::avatar_service::{AVATAR_TIMEOUT, read_picture};
use crate::adapters::https_client::{HttpsClient, PublicResolver, public_https_client};
use crate::domain::webhook_address::WebhookUrl;
use crate::ports::avatars::ChosenPictures;
use crate::ports::failure::Failure;
use crate::telemetry::measure_bounded;

/// Fetches from any address of the public internet, and from private ones if they are allowed.
#[derive(Debug)]
pub struct ChosenPictureClient {
    client: HttpsClient<Full<Bytes>, PublicResolver>,
    allows_private: bool,
}

impl ChosenPictureClient {
    /// A client. What a name resolves to is judged at each connection.
    pub fn new(allows_private: bool) -> Self {
        Self { client: public_https_client(allows_private), allows_private }
    }

    async fn get(&self, address: &str) -> Result<Option<Bytes>, Failure> {
        // The same addresses are open to it as to a webhook.
        let url = WebhookUrl::parse(address, None, self.allows_private).map_err(Failure::from)?;
        let request = Request::get(url.as_str()).body(Full::default()).map_err(Failure::with_causes)?;
        let (head, answer) = self.client.request(request).await.map_err(Failure::with_causes)?.into_parts();
        match head.status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
            StatusCode::OK => read_picture(answer).await.map(Some),
            status => Err(format!("it answered {status}").into()),
        }
    }
}

#[async_trait]
impl ChosenPictures for ChosenPictureClient {
    async fn fetch(&self, address: &str) -> Result<Option<Bytes>, Failure> {
        let answered = measure_bounded("avatars", "get_chosen", AVATAR_TIMEOUT, self.get(address)).await;
        answered.map_err(|_| Failure::from(format!("no answer in {} s", AVATAR_TIMEOUT.as_secs())))?
    }
}
