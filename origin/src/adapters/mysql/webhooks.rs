//! The rows of webhooks and of their deliveries, in the first database.

use async_trait::async_trait;
use gailou_shared::id::WebhookId;
use gailou_shared::wire::{WebhookDeliveryStatus, WebhookEvent};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{
    StoredEnum, comment_id, count, count_at, damaged, json_at, number_at, optional_number_at,
};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::{SqlStatement, sql};
use crate::adapters::mysql::write::batch_sql::RowValues;
use crate::domain::webhook::{
    DeliveryProgress, DeliveryRow, MAX_KEPT_DELIVERIES, MAX_PENDING_DELIVERIES, NewDelivery, WebhookRow, WebhookSecret,
};
use crate::ports::store::{Result, WebhookRows};

const WEBHOOK_COLUMNS: &str = "id, url, events, template, secret, created_at, failing_since, dropped";
/// The columns that [`delivery_row`] reads.
const DELIVERY_COLUMNS: &str =
    "number, id, comment_id, event, event_at, created_at, expires_at, status, attempts, last_status, next_at";
/// Old deliveries that one statement deletes.
const DELIVERIES_PER_DELETE: u64 = 1_000;

#[async_trait]
impl WebhookRows for MysqlStore {
    async fn list_webhooks(&self) -> Result<Vec<WebhookRow>> {
        let text = format!("SELECT {WEBHOOK_COLUMNS} FROM webhook ORDER BY id");
        let found = self.first_pool().session("list_webhooks").await?.fetch_text(text).await?;
        found.iter().map(webhook_row).collect()
    }

    async fn insert_deliveries(&self, webhook: WebhookId, deliveries: &[NewDelivery]) -> Result<usize> {
        let mut session = self.first_pool().session("insert_deliveries").await?;
        session.begin().await?;
        let done = insert_within_bounds(&mut session, webhook, deliveries).await;
        session.finish(done).await
    }

    async fn list_due_deliveries(&self, webhook: WebhookId, now: u64, limit: usize) -> Result<Vec<DeliveryRow>> {
        let statement = sql(format!(
            "SELECT {DELIVERY_COLUMNS} FROM webhook_delivery FORCE INDEX (webhook_delivery_due) \
             WHERE webhook_id = ? AND status = 0 AND next_at <= ? ORDER BY next_at LIMIT ?"
        ));
        let statement = statement.bind(webhook.signed()).bind(now).bind(limit as u64);
        self.fetch_deliveries("list_due_deliveries", statement).await
    }

    async fn lease_delivery(&self, delivery: &DeliveryRow, until: u64) -> Result<bool> {
        let text = "UPDATE webhook_delivery SET next_at = ? WHERE number = ? AND next_at = ? AND status = 0";
        let statement = sql(text).bind(until).bind(delivery.number).bind(delivery.progress.next_at);
        Ok(self.change_webhooks("lease_delivery", statement).await? > 0)
    }

    async fn put_progress(&self, number: u64, leased_until: u64, progress: &DeliveryProgress) -> Result<()> {
        let DeliveryProgress { status, attempts, last_status, next_at } = *progress;
        let text = "UPDATE webhook_delivery SET status = ?, attempts = ?, last_status = ?, next_at = ? \
                    WHERE number = ? AND next_at = ? AND status = 0";
        let statement = sql(text).bind(status.number()).bind(u64::from(attempts)).bind(last_status).bind(next_at);
        let statement = statement.bind(number).bind(leased_until);
        self.change_webhooks("put_progress", statement).await.map(|_| ())
    }

    async fn put_failing_since(&self, webhook: WebhookId, since: Option<u64>) -> Result<()> {
        let statement = sql("UPDATE webhook SET failing_since = ? WHERE id = ?").bind(since).bind(webhook.signed());
        self.change_webhooks("put_failing_since", statement).await.map(|_| ())
    }

    async fn list_deliveries(&self, webhook: WebhookId, below: Option<u64>, limit: usize) -> Result<Vec<DeliveryRow>> {
        let statement = sql(format!(
            "SELECT {DELIVERY_COLUMNS} FROM webhook_delivery FORCE INDEX (webhook_delivery_list) \
             WHERE webhook_id = ? AND number < ? ORDER BY number DESC LIMIT ?"
        ));
        let below = below.unwrap_or(i64::MAX as u64);
        let statement = statement.bind(webhook.signed()).bind(below).bind(limit as u64);
        self.fetch_deliveries("list_deliveries", statement).await
    }

    async fn retry_delivery(
        &self,
        webhook: WebhookId,
        id: &str,
        now: u64,
        expires_at: u64,
    ) -> Result<Option<DeliveryRow>> {
        let text =
            "UPDATE webhook_delivery SET status = 0, next_at = ?, expires_at = ? WHERE id = ? AND webhook_id = ?";
        let statement = sql(text).bind(now).bind(expires_at).bind(id).bind(webhook.signed());
        self.change_webhooks("retry_delivery", statement).await?;
        let text = format!("SELECT {DELIVERY_COLUMNS} FROM webhook_delivery WHERE id = ? AND webhook_id = ?");
        let statement = sql(text).bind(id).bind(webhook.signed());
        Ok(self.fetch_deliveries("retry_delivery", statement).await?.pop())
    }

    async fn trim_deliveries(&self, before: u64) -> Result<()> {
        let old = sql("DELETE FROM webhook_delivery WHERE created_at < ? LIMIT ?").bind(before);
        self.delete_in_parts(old).await?;
        for webhook in self.list_webhooks().await? {
            let id = webhook.id.signed();
            let newest = sql("SELECT number FROM webhook_delivery FORCE INDEX (webhook_delivery_list) \
                              WHERE webhook_id = ? ORDER BY number DESC LIMIT 1 OFFSET ?")
            .bind(id)
            .bind(MAX_KEPT_DELIVERIES as u64);
            let found = self.first_pool().session("trim_deliveries").await?.fetch_first(newest).await?;
            let Some(beyond) = found.map(|r| count_at(&r, 0)).transpose()? else { continue };
            let text = "DELETE FROM webhook_delivery WHERE webhook_id = ? AND number <= ? AND status <> 0 LIMIT ?";
            self.delete_in_parts(sql(text).bind(id).bind(beyond)).await?;
        }
        Ok(())
    }
}

impl MysqlStore {
    async fn change_webhooks(&self, operation: &'static str, statement: SqlStatement) -> Result<u64> {
        self.first_pool().session(operation).await?.execute(statement).await
    }

    async fn fetch_deliveries(&self, operation: &'static str, statement: SqlStatement) -> Result<Vec<DeliveryRow>> {
        let found = self.first_pool().session(operation).await?.fetch_all(statement).await?;
        found.iter().map(delivery_row).collect()
    }

    /// Deletes by a statement whose last value is missing: how many rows at once.
    async fn delete_in_parts(&self, statement: SqlStatement) -> Result<()> {
        let statement = statement.bind(DELIVERIES_PER_DELETE);
        while self.change_webhooks("trim_deliveries", statement.clone()).await? == DELIVERIES_PER_DELETE {}
        Ok(())
    }
}

async fn insert_within_bounds(
    session: &mut MysqlSession,
    webhook: WebhookId,
    deliveries: &[NewDelivery],
) -> Result<usize> {
    // The row that is locked puts what is written to one webhook one after the other, and it cannot be removed meanwhile.
    let lock = sql("SELECT 1 FROM webhook WHERE id = ? FOR UPDATE").bind(webhook.signed());
    if session.fetch_first(lock).await?.is_none() {
        return Ok(0);
    }
    let text =
        "SELECT COUNT(*) FROM webhook_delivery FORCE INDEX (webhook_delivery_due) WHERE webhook_id = ? AND status = 0";
    let pending = session.fetch_first(sql(text).bind(webhook.signed())).await?;
    let pending = pending.map_or(Ok(0), |r| count_at(&r, 0))?;
    let room = MAX_PENDING_DELIVERIES.saturating_sub(usize::try_from(pending).unwrap_or(usize::MAX));
    let rows: Vec<String> = deliveries.iter().take(room).map(|new| delivery_values(webhook, new)).collect();
    if !rows.is_empty() {
        let text = format!(
            "INSERT IGNORE INTO webhook_delivery (id, webhook_id, comment_id, event, event_at, status, next_at, \
             expires_at, created_at) VALUES {}",
            rows.join(", ")
        );
        session.execute_text(text).await?;
    }
    let dropped = deliveries.len().saturating_sub(room);
    if dropped > 0 {
        let count = sql("UPDATE webhook SET dropped = dropped + ? WHERE id = ?");
        session.execute(count.bind(dropped as u64).bind(webhook.signed())).await?;
    }
    Ok(dropped)
}

fn delivery_values(webhook: WebhookId, new: &NewDelivery) -> String {
    let values = RowValues::new().text(new.id.as_str()).number(webhook.signed()).number(new.comment.signed());
    let values = values.number(new.event.number()).count(new.event_at).number(0).count(new.created_at);
    values.count(new.expires_at()).count(new.created_at).end()
}

fn webhook_row(r: &MySqlRow) -> Result<WebhookRow> {
    let template = match r.try_get::<Option<&str>, _>(3)? {
        Some(json) => Some(serde_json::from_str(json).map_err(damaged)?),
        None => None,
    };
    let secret: &[u8] = r.try_get(4)?;
    Ok(WebhookRow {
        id: WebhookId::try_from(number_at(r, 0)?).map_err(damaged)?,
        url: r.try_get(1)?,
        events: json_at(r, 2)?,
        template,
        secret: WebhookSecret::new(secret.try_into().map_err(damaged)?),
        created_at: count_at(r, 5)?,
        failing_since: optional_number_at(r, 6)?.map(count),
        dropped: count_at(r, 7)?,
    })
}

/// A row of [`DELIVERY_COLUMNS`].
fn delivery_row(r: &MySqlRow) -> Result<DeliveryRow> {
    let last_status = optional_number_at(r, 9)?.map(u16::try_from).transpose().map_err(damaged)?;
    Ok(DeliveryRow {
        number: count_at(r, 0)?,
        id: r.try_get(1)?,
        comment: comment_id(number_at(r, 2)?)?,
        event: WebhookEvent::from_number(number_at(r, 3)?)?,
        event_at: count_at(r, 4)?,
        created_at: count_at(r, 5)?,
        expires_at: count_at(r, 6)?,
        progress: DeliveryProgress {
            status: WebhookDeliveryStatus::from_number(number_at(r, 7)?)?,
            attempts: u32::try_from(number_at(r, 8)?).map_err(damaged)?,
            last_status,
            next_at: count_at(r, 10)?,
        },
    })
}
