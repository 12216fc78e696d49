//! Webhooks and their deliveries, as admins make, read and remove them.
//!
//! Promise: a secret is shown once, when its webhook is made. The audit log, which moderators read, has the host of an
//! address and not the rest of it: that of a chat service is a secret by itself.

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{Slot, WebhookId};
use gailou_shared::rank::Sort;
use gailou_shared::token::Member;
use gailou_shared::wire::{
    ListPageInfo, Webhook, WebhookDelivery, WebhookDeliveryPage, WebhookDeliveryStatus, WebhookEvent, WebhookList,
    WebhookTemplate,
};
use serde_json::{Value, json};

use crate::domain::audit::AuditEntry;
use crate::domain::operation::{Operation, OperationOutcome, WebhookChange};
use crate::domain::webhook::{DELIVERY_LIFETIME_MS, DeliveryProgress, DeliveryRow, WebhookRow, WebhookSecret};
use crate::domain::webhook_address::WebhookUrl;
use crate::service::{ServiceError, ServiceResult, audit_log};
use crate::state::AppState;

/// The verbs of the audit log.
const ADD_ACTION: &str = "add_webhook";
const REMOVE_ACTION: &str = "remove_webhook";
const NO_SUCH_WEBHOOK: ServiceError = ServiceError::NotFound("there is no such webhook");
const NO_SUCH_DELIVERY: ServiceError =
    ServiceError::NotFound("this webhook has no such delivery; they are kept for 7 days");

/// A webhook to be.
#[derive(Debug)]
pub struct NewWebhook {
    pub url: String,
    /// At least one, each once.
    pub events: Vec<WebhookEvent>,
    pub template: Option<WebhookTemplate>,
}

/// All webhooks, without their secrets.
///
/// # Errors
/// The store's.
pub async fn list(app: &AppState) -> ServiceResult<WebhookList> {
    let rows = app.tables.list_webhooks().await?;
    Ok(WebhookList { data: rows.into_iter().map(view).collect() })
}

/// Makes a webhook. The answer has its secret.
///
/// # Errors
/// [`ServiceError::WrongFields`] for an address that is not allowed; [`ServiceError::VersionConflict`] where there are
/// [`MAX_WEBHOOKS`](crate::domain::webhook::MAX_WEBHOOKS) already; or the journal's.
pub async fn add(app: &AppState, admin: &Member, new: NewWebhook) -> ServiceResult<Webhook> {
    let _place = app.writes.admit().await?;
    let NewWebhook { url, events, template } = new;
    let address = WebhookUrl::parse(&url, template, app.config.webhooks.allow_private)
        .map_err(|why| ServiceError::wrong_field("url", why))?;
    let now = app.now();
    let id: WebhookId = app.ids.next(Slot::FIRST, now).ok_or(ServiceError::NoNodeNumber)?.into();
    let secret = WebhookSecret::new(rand::random());
    let row = WebhookRow { id, url, events, template, secret, created_at: now, failing_since: None, dropped: 0 };
    let after = audited(&row, &address.shown());
    let audit = AuditEntry { after: Some(after), ..audit_log::entry(app, admin, Slot::FIRST, ADD_ACTION, None)? };
    let change = WebhookChange::Add(Box::new(row.clone()));
    let outcome = app.journal.append(Operation::Webhook { change, audit: Box::new(audit) }).await?;
    if matches!(outcome, OperationOutcome::Conflict) {
        return Err(ServiceError::VersionConflict("there are 20 webhooks already; remove one first"));
    }
    let secret = Some(row.secret.to_text());
    Ok(Webhook { secret, ..view(row) })
}

/// Removes a webhook with its deliveries.
///
/// # Errors
/// [`ServiceError::NotFound`], or the journal's.
pub async fn remove(app: &AppState, admin: &Member, id: WebhookId) -> ServiceResult<()> {
    let _place = app.writes.admit().await?;
    let row = read(app, id).await?;
    let host = WebhookUrl::parse(&row.url, None, true).map_or_else(|_| String::new(), |url| url.shown());
    let before = audited(&row, &host);
    let audit = AuditEntry { before: Some(before), ..audit_log::entry(app, admin, Slot::FIRST, REMOVE_ACTION, None)? };
    let change = WebhookChange::Remove(id);
    app.journal.append(Operation::Webhook { change, audit: Box::new(audit) }).await?;
    Ok(())
}

/// A page of the deliveries of a webhook, the newest first.
///
/// # Errors
/// [`ServiceError::NotFound`], [`ServiceError::BadCursor`], or the store's.
pub async fn list_deliveries(
    app: &AppState,
    id: WebhookId,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<WebhookDeliveryPage> {
    let list = CursorList::moderation("deliveries", &[Some(&id.to_string())]);
    let below = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::After(number), .. }) if of == list => Some(number),
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    read(app, id).await?;
    let mut rows = app.tables.list_deliveries(id, below, limit + 1).await?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|last| {
        let at = WalkPosition::After(last.number);
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at })
    });
    Ok(WebhookDeliveryPage { data: rows.iter().map(delivery_view).collect(), page: ListPageInfo { next, has_more } })
}

/// Makes a delivery due now, whatever became of it, and lets it be tried for another day.
///
/// # Errors
/// [`ServiceError::NotFound`], or the store's.
pub async fn retry(app: &AppState, id: WebhookId, delivery: &str) -> ServiceResult<WebhookDelivery> {
    let _place = app.writes.admit().await?;
    let now = app.now();
    let retried = app.tables.retry_delivery(id, delivery, now, now.saturating_add(DELIVERY_LIFETIME_MS)).await?;
    retried.as_ref().map(delivery_view).ok_or(NO_SUCH_DELIVERY)
}

async fn read(app: &AppState, id: WebhookId) -> ServiceResult<WebhookRow> {
    let rows = app.tables.list_webhooks().await?;
    rows.into_iter().find(|row| row.id == id).ok_or(NO_SUCH_WEBHOOK)
}

fn audited(row: &WebhookRow, host: &str) -> Value {
    json!({ "host": host, "events": row.events, "template": row.template })
}

fn view(row: WebhookRow) -> Webhook {
    let WebhookRow { id, url, events, template, created_at, failing_since, dropped, .. } = row;
    Webhook { id, url, events, template, created_at, failing_since, dropped, secret: None }
}

fn delivery_view(row: &DeliveryRow) -> WebhookDelivery {
    let DeliveryProgress { status, attempts, last_status, next_at } = row.progress;
    let next_at = (status == WebhookDeliveryStatus::Pending).then_some(next_at);
    let (id, event, created_at) = (row.id.clone(), row.event, row.created_at);
    WebhookDelivery { id, event, status, attempts, last_status, next_at, created_at }
}
