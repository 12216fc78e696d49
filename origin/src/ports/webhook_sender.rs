//! The port to the receivers of webhooks.
//!
//! Promise of every adapter: it connects to public addresses alone, whatever a name resolves to, unless the operator
//! allows private ones; it follows no redirect, takes no longer than [`WEBHOOK_TIMEOUT`], and does not read what is
//! answered. After an error it is not known whether the receiver has what was sent.

use std::time::Duration;

use async_trait::async_trait;

use crate::domain::webhook_address::WebhookUrl;
use crate::ports::failure::Failure;

/// How long a receiver may take until it answers.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// A signed delivery.
#[derive(Debug)]
pub struct WebhookCall<'c> {
    pub url: &'c WebhookUrl,
    /// The headers `webhook-id`, `webhook-timestamp` (Unix seconds) and `webhook-signature`.
    pub id: &'c str,
    pub timestamp: u64,
    pub signature: String,
    /// JSON.
    pub body: Vec<u8>,
}

/// Sends to receivers.
#[async_trait]
pub trait WebhookSender: Send + Sync + std::fmt::Debug {
    /// Sends once. Returns the status of the answer.
    async fn send(&self, call: WebhookCall<'_>) -> Result<u16, Failure>;
}
