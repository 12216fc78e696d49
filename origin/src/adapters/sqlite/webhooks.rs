//! The rows of webhooks and of their deliveries.

use async_trait::async_trait;
use gailou_shared::id::WebhookId;
use gailou_shared::wire::{WebhookDeliveryStatus, WebhookEvent};
use rusqlite::{Row, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{StoredEnum, comment_id, count, damaged, parse_json};
use crate::domain::webhook::{
    DeliveryProgress, DeliveryRow, MAX_KEPT_DELIVERIES, MAX_PENDING_DELIVERIES, MAX_WEBHOOKS, NewDelivery, WebhookRow,
    WebhookSecret,
};
use crate::ports::store::{Result, WebhookRows};

const WEBHOOK_COLUMNS: &str = "id, url, events, template, secret, created_at, failing_since, dropped";
/// The columns that [`delivery_row`] reads.
const DELIVERY_COLUMNS: &str =
    "number, id, comment_id, event, event_at, created_at, expires_at, status, attempts, last_status, next_at";
/// Old deliveries that one transaction deletes, so that others need not wait for it.
const DELIVERIES_PER_DELETE: usize = 1_000;

#[async_trait]
impl WebhookRows for SqliteStore {
    async fn list_webhooks(&self) -> Result<Vec<WebhookRow>> {
        self.read("list_webhooks", |c| {
            fetch_all(c, &format!("SELECT {WEBHOOK_COLUMNS} FROM webhook ORDER BY id"), [], webhook_row)
        })
        .await
    }

    async fn insert_deliveries(&self, webhook: WebhookId, deliveries: &[NewDelivery]) -> Result<usize> {
        let deliveries = deliveries.to_vec();
        self.write("insert_deliveries", move |c| {
            let tx = c.transaction()?;
            let sql = "SELECT count(*) FROM webhook_delivery WHERE webhook_id = ?1 AND status = 0";
            let pending: u64 = tx.query_row(sql, [webhook.signed()], |r| r.get(0))?;
            let room = MAX_PENDING_DELIVERIES.saturating_sub(pending as usize);
            for new in deliveries.iter().take(room) {
                insert_delivery(&tx, webhook, new)?;
            }
            let dropped = deliveries.len().saturating_sub(room);
            if dropped > 0 {
                let sql = "UPDATE webhook SET dropped = dropped + ?2 WHERE id = ?1";
                tx.execute(sql, params![webhook.signed(), dropped])?;
            }
            tx.commit()?;
            Ok(dropped)
        })
        .await
    }

    async fn list_due_deliveries(&self, webhook: WebhookId, now: u64, limit: usize) -> Result<Vec<DeliveryRow>> {
        self.read("list_due_deliveries", move |c| {
            let sql = format!(
                "SELECT {DELIVERY_COLUMNS} FROM webhook_delivery INDEXED BY webhook_delivery_due \
                 WHERE webhook_id = ?1 AND status = 0 AND next_at <= ?2 ORDER BY next_at LIMIT ?3"
            );
            fetch_all(c, &sql, params![webhook.signed(), now, limit], delivery_row)
        })
        .await
    }

    async fn lease_delivery(&self, delivery: &DeliveryRow, until: u64) -> Result<bool> {
        let sql = "UPDATE webhook_delivery SET next_at = ?3 WHERE number = ?1 AND next_at = ?2 AND status = 0";
        let values = (delivery.number, delivery.progress.next_at, until);
        Ok(self.write_rows("lease_delivery", sql, values).await? > 0)
    }

    async fn put_progress(&self, number: u64, leased_until: u64, progress: &DeliveryProgress) -> Result<()> {
        let DeliveryProgress { status, attempts, last_status, next_at } = *progress;
        let sql = "UPDATE webhook_delivery SET status = ?3, attempts = ?4, last_status = ?5, next_at = ?6 \
                   WHERE number = ?1 AND next_at = ?2 AND status = 0";
        let values = (number, leased_until, status.number(), attempts, last_status, next_at);
        self.write_rows("put_progress", sql, values).await.map(|_| ())
    }

    async fn put_failing_since(&self, webhook: WebhookId, since: Option<u64>) -> Result<()> {
        let sql = "UPDATE webhook SET failing_since = ?2 WHERE id = ?1";
        self.write_rows("put_failing_since", sql, (webhook.signed(), since)).await.map(|_| ())
    }

    async fn list_deliveries(&self, webhook: WebhookId, below: Option<u64>, limit: usize) -> Result<Vec<DeliveryRow>> {
        let below = below.map_or(i64::MAX, |number| number as i64);
        self.read("list_deliveries", move |c| {
            let sql = format!(
                "SELECT {DELIVERY_COLUMNS} FROM webhook_delivery INDEXED BY webhook_delivery_list \
                 WHERE webhook_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3"
            );
            fetch_all(c, &sql, params![webhook.signed(), below, limit], delivery_row)
        })
        .await
    }

    async fn retry_delivery(
        &self,
        webhook: WebhookId,
        id: &str,
        now: u64,
        expires_at: u64,
    ) -> Result<Option<DeliveryRow>> {
        let id = id.to_owned();
        self.write("retry_delivery", move |c| {
            let sql = format!(
                "UPDATE webhook_delivery SET status = 0, next_at = ?3, expires_at = ?4 \
                 WHERE id = ?2 AND webhook_id = ?1 RETURNING {DELIVERY_COLUMNS}"
            );
            Ok(fetch_all(c, &sql, params![webhook.signed(), id, now, expires_at], delivery_row)?.pop())
        })
        .await
    }

    async fn trim_deliveries(&self, before: u64) -> Result<()> {
        let old = "DELETE FROM webhook_delivery WHERE number IN (SELECT number FROM webhook_delivery \
                   INDEXED BY webhook_delivery_age WHERE created_at < ?1 LIMIT ?2)";
        while self.write_rows("trim_deliveries", old, (before, DELIVERIES_PER_DELETE)).await? == DELIVERIES_PER_DELETE {
        }
        let beyond = "DELETE FROM webhook_delivery WHERE number IN (SELECT d.number FROM webhook_delivery d \
                      WHERE d.webhook_id = ?1 AND d.status <> 0 AND d.number <= (SELECT number FROM webhook_delivery \
                      INDEXED BY webhook_delivery_list WHERE webhook_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2) \
                      ORDER BY d.number LIMIT ?3)";
        for webhook in self.list_webhooks().await? {
            let values = (webhook.id.signed(), MAX_KEPT_DELIVERIES, DELIVERIES_PER_DELETE);
            while self.write_rows("trim_deliveries", beyond, values).await? == DELIVERIES_PER_DELETE {}
        }
        Ok(())
    }
}

fn insert_delivery(tx: &Transaction<'_>, webhook: WebhookId, new: &NewDelivery) -> Result<()> {
    let sql = "INSERT OR IGNORE INTO webhook_delivery (id, webhook_id, comment_id, event, event_at, status, next_at, \
               expires_at, created_at) SELECT ?1, ?2, ?3, ?4, ?5, 0, ?7, ?6, ?7 \
               WHERE EXISTS (SELECT 1 FROM webhook WHERE id = ?2)";
    let NewDelivery { id, comment, event, event_at, created_at } = new;
    let (comment, event, expires_at) = (comment.signed(), event.number(), new.expires_at());
    let values = params![id, webhook.signed(), comment, event, event_at, expires_at, created_at];
    tx.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Inserts a webhook: false where there are as many as there may be.
pub(super) fn insert(tx: &Transaction<'_>, row: &WebhookRow) -> Result<bool> {
    let sql = format!(
        "INSERT INTO webhook ({WEBHOOK_COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, NULL, 0 \
         WHERE (SELECT count(*) FROM webhook) < ?7"
    );
    let events = serde_json::to_string(&row.events).map_err(damaged)?;
    let template = row.template.map(|template| serde_json::to_string(&template)).transpose().map_err(damaged)?;
    let (id, secret) = (row.id.signed(), &row.secret.expose()[..]);
    Ok(tx.execute(&sql, params![id, row.url, events, template, secret, row.created_at, MAX_WEBHOOKS])? > 0)
}

/// Deletes a webhook with its deliveries: false where there is none with this id.
pub(super) fn delete(tx: &Transaction<'_>, id: WebhookId) -> Result<bool> {
    tx.execute("DELETE FROM webhook_delivery WHERE webhook_id = ?1", [id.signed()])?;
    Ok(tx.execute("DELETE FROM webhook WHERE id = ?1", [id.signed()])? > 0)
}

fn webhook_row(r: &Row<'_>) -> Result<WebhookRow> {
    let template = match r.get_ref(3)?.as_str_or_null().map_err(damaged)? {
        Some(json) => Some(serde_json::from_str(json).map_err(damaged)?),
        None => None,
    };
    Ok(WebhookRow {
        id: WebhookId::try_from(r.get::<_, i64>(0)?).map_err(damaged)?,
        url: r.get(1)?,
        events: parse_json(r, 2)?,
        template,
        secret: WebhookSecret::new(r.get(4)?),
        created_at: count(r.get(5)?),
        failing_since: r.get::<_, Option<i64>>(6)?.map(count),
        dropped: count(r.get(7)?),
    })
}

/// A row of [`DELIVERY_COLUMNS`].
fn delivery_row(r: &Row<'_>) -> Result<DeliveryRow> {
    Ok(DeliveryRow {
        number: count(r.get(0)?),
        id: r.get(1)?,
        comment: comment_id(r.get(2)?)?,
        event: WebhookEvent::from_number(r.get(3)?)?,
        event_at: count(r.get(4)?),
        created_at: count(r.get(5)?),
        expires_at: count(r.get(6)?),
        progress: DeliveryProgress {
            status: WebhookDeliveryStatus::from_number(r.get(7)?)?,
            attempts: r.get(8)?,
            last_status: r.get(9)?,
            next_at: count(r.get(10)?),
        },
    })
}
