//! Writes the review queue, reports and the audit log.

use gailou_shared::id::CommentId;
use gailou_shared::wire::{AuditTargetKind, MemberRef};
use rusqlite::{OptionalExtension as _, Transaction, params};
use serde_json::Value;

use crate::adapters::sqlite::rows::{StoredEnum, damaged};
use crate::domain::audit::{AuditEntry, describe_comment};
use crate::domain::fold::{AuditedChange, RowChanges};
use crate::ports::store::Result;

pub(super) fn write(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    write_queue(tx, changes)?;
    for row in &changes.reports {
        let (reporter, reason) = (&row.report.reporter, row.report.reason.number());
        tx.prepare_cached(
            "INSERT INTO report (comment_id, member_id, member_name, reason, note, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            row.id.signed(),
            reporter.id.signed(),
            reporter.name,
            reason,
            row.report.note,
            row.at
        ])?;
    }
    write_audit(tx, changes)
}

/// Writes the rows of the review queue, and by how much its counts change.
pub(in crate::adapters::sqlite) fn write_queue(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    for row in &changes.reviews {
        let Some((position, item)) = &row.item else {
            tx.prepare_cached("DELETE FROM review WHERE comment_id = ?1")?.execute([row.id.signed()])?;
            continue;
        };
        let json = serde_json::to_string(item).map_err(damaged)?;
        // The lease stays.
        tx.prepare_cached(
            "INSERT INTO review (comment_id, kind, rank, since, item) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE \
             SET kind = excluded.kind, rank = excluded.rank, since = excluded.since, item = excluded.item",
        )?
        .execute(params![row.id.signed(), item.kind().number(), position.rank, position.since, json])?;
    }
    for (slot, (held, reported)) in &changes.queue_counts {
        tx.prepare_cached(
            "INSERT INTO review_count (slot, held, reported) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE \
             SET held = held + excluded.held, reported = reported + excluded.reported",
        )?
        .execute(params![slot.get(), held, reported])?;
    }
    Ok(())
}

fn write_audit(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    for row in &changes.audits {
        let audit = row.audit;
        let (kind, comment, target) = match &row.change {
            AuditedChange::Comment { id, .. } => (AuditTargetKind::Comment, Some(id.signed()), String::new()),
            AuditedChange::Subject(index) => (AuditTargetKind::Subject, None, changes.subjects[*index].key.to_string()),
        };
        let (before, after) = match &row.change {
            AuditedChange::Comment { after, undo, .. } => {
                (Some(describe_comment(undo.state, undo.flags)), Some(after.clone()))
            }
            AuditedChange::Subject(_) => (audit.before.clone(), audit.after.clone()),
        };
        insert_audit(tx, audit, row.at, (kind, comment, &target), (before, after))?;
        if let AuditedChange::Comment { id, undo, .. } = &row.change {
            let record = serde_json::to_string(undo).map_err(damaged)?;
            tx.prepare_cached("INSERT INTO undo (audit_id, comment_id, record) VALUES (?1, ?2, ?3)")?
                .execute(params![audit.id.signed(), id.signed(), record])?;
        }
    }
    Ok(())
}

/// Writes an entry about what belongs to the installation and to no slot.
pub(super) fn write_installation_audit(
    tx: &Transaction<'_>,
    audit: &AuditEntry,
    kind: AuditTargetKind,
    at: u64,
) -> Result<()> {
    insert_audit(tx, audit, at, (kind, None, ""), (audit.before.clone(), audit.after.clone()))
}

/// Inserts an entry: its target, and what that was before and after.
pub(in crate::adapters::sqlite) fn insert_audit(
    tx: &Transaction<'_>,
    audit: &AuditEntry,
    at: u64,
    (kind, comment, target): (AuditTargetKind, Option<i64>, &str),
    (before, after): (Option<Value>, Option<Value>),
) -> Result<()> {
    let (before, after) = (before.map(|json| json.to_string()), after.map(|json| json.to_string()));
    tx.prepare_cached(
        "INSERT INTO audit (id, at, actor_id, actor_name, action, kind, comment_id, target, reason, before, after) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        audit.id.signed(),
        at,
        audit.actor.id.signed(),
        audit.actor.name,
        audit.action,
        kind.number(),
        comment,
        target,
        audit.reason,
        before,
        after
    ])?;
    Ok(())
}

/// Gives a moderator those of these comments that are in the queue and that no other moderator has.
pub(super) fn lease(
    tx: &Transaction<'_>,
    ids: &[CommentId],
    holder: &MemberRef,
    until: u64,
    now: u64,
) -> Result<Vec<CommentId>> {
    let mut leased = Vec::with_capacity(ids.len());
    for id in ids {
        let given = tx
            .prepare_cached(
                "UPDATE review SET leased_by = ?2, leased_name = ?3, leased_until = ?4 \
                 WHERE comment_id = ?1 AND (leased_until <= ?5 OR leased_by = ?2) RETURNING 1",
            )?
            .query_row(params![id.signed(), holder.id.signed(), holder.name, until, now], |_| Ok(()))
            .optional()?;
        leased.extend(given.map(|()| *id));
    }
    Ok(leased)
}
