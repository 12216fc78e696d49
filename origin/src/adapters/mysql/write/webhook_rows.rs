//! Makes and removes webhooks, in the first database.

use gailou_shared::id::WebhookId;
use gailou_shared::wire::AuditTargetKind;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::BatchScript;
use crate::adapters::mysql::write::moderation_rows::write_entry_of_installation;
use crate::domain::audit::AuditEntry;
use crate::domain::operation::{OperationOutcome, WebhookChange};
use crate::domain::webhook::{MAX_WEBHOOKS, WebhookRow};
use crate::ports::store::Result;

/// Makes or removes a webhook, with the entry in the audit log.
pub(super) async fn change(
    db: &MysqlStore,
    change: &WebhookChange,
    audit: &AuditEntry,
    at: u64,
) -> Result<OperationOutcome> {
    match change {
        WebhookChange::Add(row) => add(db, row, audit, at).await,
        WebhookChange::Remove(id) => remove(db, *id, audit, at).await,
    }
}

/// Makes a webhook, with its entry in the audit log. Made again, it stays as it is.
async fn add(db: &MysqlStore, row: &WebhookRow, audit: &AuditEntry, at: u64) -> Result<OperationOutcome> {
    let mut session = db.first_pool().session("add_webhook").await?;
    session.begin().await?;
    let done = async {
        // All rows are locked: two admins together do not make more than there may be.
        let all = session.fetch_text("SELECT id FROM webhook FOR UPDATE").await?;
        let ids = all.iter().map(|r| number_at(r, 0)).collect::<Result<Vec<_>>>()?;
        if ids.contains(&row.id.signed()) {
            return Ok(OperationOutcome::Done);
        }
        if ids.len() >= MAX_WEBHOOKS {
            return Ok(OperationOutcome::Conflict);
        }
        let events = serde_json::to_string(&row.events).map_err(damaged)?;
        let template = row.template.map(|template| serde_json::to_string(&template)).transpose().map_err(damaged)?;
        let insert =
            sql("INSERT INTO webhook (id, url, events, template, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)");
        let insert = insert.bind(row.id.signed()).bind(row.url.as_str()).bind(events).bind(template);
        session.execute(insert.bind(&row.secret.expose()[..]).bind(row.created_at)).await?;
        write_entry(&mut session, row.id, audit, at).await?;
        Ok(OperationOutcome::Done)
    };
    let done = done.await;
    session.finish(done).await
}

/// Deletes a webhook with its deliveries, and writes the entry in the audit log where there was one.
async fn remove(db: &MysqlStore, id: WebhookId, audit: &AuditEntry, at: u64) -> Result<OperationOutcome> {
    let mut session = db.first_pool().session("remove_webhook").await?;
    session.begin().await?;
    let done = async {
        if session.execute(sql("DELETE FROM webhook WHERE id = ?").bind(id.signed())).await? > 0 {
            write_entry(&mut session, id, audit, at).await?;
        }
        session.execute(sql("DELETE FROM webhook_delivery WHERE webhook_id = ?").bind(id.signed())).await?;
        Ok(OperationOutcome::Done)
    };
    let done = done.await;
    session.finish(done).await
}

async fn write_entry(session: &mut MysqlSession, id: WebhookId, audit: &AuditEntry, at: u64) -> Result<()> {
    let mut script = BatchScript::new(session);
    write_entry_of_installation(&mut script, audit, (AuditTargetKind::Webhook, &id.to_string()), at).await?;
    script.send().await
}
