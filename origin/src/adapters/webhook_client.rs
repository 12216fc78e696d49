//! Receivers of webhooks, by HTTP.
//!
//! Nothing is retried in here, and no log line has an address: what follows the host may be a secret.

use async_trait::async_trait;
use axum::http::{Request, Uri, header};
use bytes::Bytes;
use http_body_util::Full;

use crate::adapters::https_client::{HttpsClient, PublicResolver, public_https_client};
use crate::ports::failure::Failure;
use crate::ports::webhook_sender::{WEBHOOK_TIMEOUT, WebhookCall, WebhookSender};
use crate::telemetry::measure_bounded;

const WEBHOOK_ID_HEADER: &str = "webhook-id";
const WEBHOOK_TIMESTAMP_HEADER: &str = "webhook-timestamp";
const WEBHOOK_SIGNATURE_HEADER: &str = "webhook-signature";
const WEBHOOK_USER_AGENT: &str = concat!("Gailou/", env!("CARGO_PKG_VERSION"));

/// Sends to any address of the public internet, and to private ones if they are allowed.
#[derive(Debug)]
pub struct WebhookClient {
    client: HttpsClient<Full<Bytes>, PublicResolver>,
}

impl WebhookClient {
    /// A client. What a name resolves to is judged at each connection; a [`WebhookUrl`] without a name has been judged
    /// when it was parsed.
    ///
    /// [`WebhookUrl`]: crate::domain::webhook_address::WebhookUrl
    pub fn new(allows_private: bool) -> Self {
        Self { client: public_https_client(allows_private) }
    }
}

#[async_trait]
impl WebhookSender for WebhookClient {
    async fn send(&self, call: WebhookCall<'_>) -> Result<u16, Failure> {
        let uri: Uri = call.url.as_str().parse().map_err(|_| Failure::from("its address cannot be used"))?;
        let request = Request::post(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, WEBHOOK_USER_AGENT)
            .header(WEBHOOK_ID_HEADER, call.id)
            .header(WEBHOOK_TIMESTAMP_HEADER, call.timestamp)
            .header(WEBHOOK_SIGNATURE_HEADER, call.signature)
            .body(Full::from(call.body))
            .map_err(Failure::with_causes)?;
        // The head of the answer is all that counts; its body is dropped with its connection.
        let answered = measure_bounded("webhook", "send", WEBHOOK_TIMEOUT, self.client.request(request)).await;
        let answered = answered.map_err(|_| Failure::from(format!("no answer in {} s", WEBHOOK_TIMEOUT.as_secs())))?;
        Ok(answered.map_err(Failure::with_causes)?.status().as_u16())
    }
}
