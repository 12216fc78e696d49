//! The port to the rows of webhooks and of their deliveries. That webhooks are made and removed is an operation of the
//! journal, since it leaves an entry in the audit log.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::WebhookId;

use crate::domain::webhook::{DeliveryProgress, DeliveryRow, NewDelivery, WebhookRow};
use crate::ports::store::Result;

/// Reads webhooks, and writes and reads their deliveries.
#[async_trait]
pub trait WebhookRows: Send + Sync + Debug {
    /// All webhooks, by id.
    async fn list_webhooks(&self) -> Result<Vec<WebhookRow>>;
    /// Writes deliveries to a webhook, each once however often it is written. Those beyond
    /// [`MAX_PENDING_DELIVERIES`](crate::domain::webhook::MAX_PENDING_DELIVERIES) are counted in its row and left out;
    /// how many.
    async fn insert_deliveries(&self, webhook: WebhookId, deliveries: &[NewDelivery]) -> Result<usize>;
    /// Deliveries of a webhook that are due, those first that wait the longest.
    async fn list_due_deliveries(&self, webhook: WebhookId, now: u64, count: usize) -> Result<Vec<DeliveryRow>>;
    /// Takes a delivery for this process until this moment: false where it is no longer as it was read.
    async fn lease_delivery(&self, delivery: &DeliveryRow, until: u64) -> Result<bool>;
    /// Stores what became of a delivery that this process has until `leased_until`; nothing where it has it no longer.
    async fn put_progress(&self, number: u64, leased_until: u64, progress: &DeliveryProgress) -> Result<()>;
    /// Remembers how the last try of a webhook ended: since when it has failed, or that it has not.
    async fn put_failing_since(&self, webhook: WebhookId, since: Option<u64>) -> Result<()>;
    /// A page of a webhook's deliveries below a number, the newest first.
    async fn list_deliveries(&self, webhook: WebhookId, below: Option<u64>, count: usize) -> Result<Vec<DeliveryRow>>;
    /// Makes a delivery due now, and lets it be tried until `expires_at`, whatever became of it. The delivery after it;
    /// `None` where the webhook has none with this id.
    async fn retry_delivery(
        &self,
        webhook: WebhookId,
        id: &str,
        now: u64,
        expires_at: u64,
    ) -> Result<Option<DeliveryRow>>;
    /// Deletes the deliveries that were made before this moment, and of each webhook those beyond
    /// [`MAX_KEPT_DELIVERIES`](crate::domain::webhook::MAX_KEPT_DELIVERIES) that wait for nothing.
    async fn trim_deliveries(&self, before: u64) -> Result<()>;
}
