//! Writes the review queue, reports and the audit log.

use gailou_shared::id::{CommentId, Slot};
use gailou_shared::wire::{AuditTargetKind, MemberRef};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::subject_slot;
use crate::adapters::mysql::rows::{StoredEnum, damaged, id_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues, group_by_table, json_numbers, json_table};
use crate::domain::audit::{AuditEntry, describe_comment};
use crate::domain::fold::{AuditedChange, RowChanges};
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::ports::store::Result;

pub(super) async fn write(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    changes: &RowChanges<'_>,
    subjects: &[i64],
) -> Result<()> {
    write_queue(db, script, changes).await?;
    let reports = changes.reports.iter().map(|row| {
        let (reporter, note) = (&row.report.reporter, row.report.note.as_deref());
        let values = RowValues::new().number(row.id.signed()).number(reporter.id.signed()).text(reporter.name.as_str());
        (row.id.slot(), values.number(row.report.reason.number()).text(note).count(row.at).end())
    });
    let statement = "INSERT INTO report_{n} (comment_id, member_id, member_name, reason, note, at) VALUES {rows}";
    script.add_rows(statement, group_by_table(db, reports)).await?;
    write_audit(db, script, changes, subjects).await
}

/// Writes the rows of the review queue, and by how much its counts change.
pub(in crate::adapters::mysql) async fn write_queue(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    changes: &RowChanges<'_>,
) -> Result<()> {
    let mut rows = Vec::with_capacity(changes.reviews.len());
    for row in &changes.reviews {
        let Some((position, item)) = &row.item else { continue };
        let json = serde_json::to_string(item).map_err(damaged)?;
        let values = RowValues::new().number(row.id.signed()).number(item.kind().number()).number(position.rank);
        rows.push((row.id.slot(), values.count(position.since).text(json.as_str()).end()));
    }
    // The lease stays.
    let statement = "INSERT INTO review_{n} (comment_id, kind, rank_key, since, item) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE kind = VALUES(kind), rank_key = VALUES(rank_key), since = VALUES(since), \
                     item = VALUES(item)";
    script.add_rows(statement, group_by_table(db, rows)).await?;
    let deleted = changes.reviews.iter().filter(|row| row.item.is_none()).map(|row| row.id);
    let deleted = deleted.map(|id| (id.slot(), json_numbers(&[Some(i64::from(id.slot().get())), Some(id.signed())])));
    let statement = format!(
        "DELETE q FROM {} STRAIGHT_JOIN review_{{n}} q ON q.slot = j.slot AND q.comment_id = j.id",
        json_table("{rows}", &["slot SMALLINT", "id BIGINT"])
    );
    script.add_rows(&statement, group_by_table(db, deleted)).await?;
    let counts = changes.queue_counts.iter().map(|(slot, (held, reported))| {
        (*slot, RowValues::new().number(i64::from(slot.get())).number(*held).number(*reported).end())
    });
    let statement = "INSERT INTO review_count_{n} (slot, held, reported) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE held = held + VALUES(held), reported = reported + VALUES(reported)";
    script.add_rows(statement, group_by_table(db, counts)).await
}

async fn write_audit(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    changes: &RowChanges<'_>,
    subjects: &[i64],
) -> Result<()> {
    let (mut audits, mut undos) = (Vec::new(), Vec::new());
    for row in &changes.audits {
        let audit = row.audit;
        let (slot, kind, comment, target, before, after) = match &row.change {
            AuditedChange::Comment { id, after, undo } => {
                let before = Some(describe_comment(undo.state, undo.flags));
                (id.slot(), AuditTargetKind::Comment, Some(id.signed()), String::new(), before, Some(after.clone()))
            }
            AuditedChange::Subject(index) => {
                let (slot, target) = (subject_slot(subjects[*index]), changes.subjects[*index].key.to_string());
                (slot, AuditTargetKind::Subject, None, target, audit.before.clone(), audit.after.clone())
            }
        };
        let json = |value: Option<serde_json::Value>| value.map(|value| value.to_string());
        let (before, after) = (json(before), json(after));
        let values = RowValues::new().number(audit.id.signed()).count(row.at).number(audit.actor.id.signed());
        let values = values.text(audit.actor.name.as_str()).text(audit.action).number(kind.number()).number(comment);
        let values = values.text(target.as_str()).text(audit.reason.as_deref());
        audits.push((slot, values.text(before.as_deref()).text(after.as_deref()).end()));
        if let AuditedChange::Comment { id, undo, .. } = &row.change {
            let record = serde_json::to_string(undo).map_err(damaged)?;
            let values = RowValues::new().number(audit.id.signed()).number(id.signed()).text(record.as_str());
            undos.push((slot, values.end()));
        }
    }
    let statement = "INSERT INTO audit_{n} (id, at, actor_id, actor_name, action, kind, comment_id, target, reason, \
                     before_json, after_json) VALUES {rows}";
    script.add_rows(statement, group_by_table(db, audits)).await?;
    let statement = "INSERT INTO undo_{n} (audit_id, comment_id, record) VALUES {rows}";
    script.add_rows(statement, group_by_table(db, undos)).await
}

/// Writes an entry about what belongs to the installation and to no slot, in the first database.
pub(super) async fn write_installation_audit(
    script: &mut BatchScript<'_>,
    audit: &AuditEntry,
    kind: AuditTargetKind,
    at: u64,
) -> Result<()> {
    write_entry_of_installation(script, audit, (kind, ""), at).await
}

/// The same about something that there are several of. An entry that is written again stays as it is.
pub(super) async fn write_entry_of_installation(
    script: &mut BatchScript<'_>,
    audit: &AuditEntry,
    (kind, target): (AuditTargetKind, &str),
    at: u64,
) -> Result<()> {
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    let (before, after) = (json(&audit.before), json(&audit.after));
    let values = RowValues::new().number(audit.id.signed()).count(at).number(audit.actor.id.signed());
    let values = values.text(audit.actor.name.as_str()).text(audit.action).number(kind.number()).text(target);
    let row = values.text(audit.reason.as_deref()).text(before.as_deref()).text(after.as_deref()).end();
    script
        .add(&format!(
            "INSERT IGNORE INTO installation_audit (id, at, actor_id, actor_name, action, kind, target, reason, before_json, \
             after_json) VALUES {row}"
        ))
        .await
}

/// Carries out the leases of a batch. The rows that it wrote, for the copy of a slot that is moving.
pub(super) async fn write_leases(
    db: &MysqlStore,
    session: &mut MysqlSession,
    batch: &[&LoggedOperation],
    outcomes: &mut [OperationOutcome],
) -> Result<Vec<(Slot, DirtyRow)>> {
    let mut dirty = Vec::new();
    for (logged, outcome) in batch.iter().zip(outcomes) {
        let Operation::LeaseReviews { slot, ids, holder, until } = &logged.operation else { continue };
        let leased = lease(db, session, *slot, ids, holder, *until, logged.at).await?;
        dirty.extend(leased.iter().map(|id| (*slot, DirtyRow::Comment(*id))));
        *outcome = OperationOutcome::Leased(leased);
    }
    Ok(dirty)
}

/// Gives a moderator those of these comments that are in the queue and that no other moderator has.
async fn lease(
    db: &MysqlStore,
    session: &mut MysqlSession,
    slot: Slot,
    ids: &[CommentId],
    holder: &MemberRef,
    until: u64,
    now: u64,
) -> Result<Vec<CommentId>> {
    if ids.is_empty() {
        return Ok(vec![]);
    }
    let (n, number) = (db.table_number(slot), slot.get());
    let list = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let name = RowValues::new().text(holder.name.as_str()).end();
    // The row of the slot is locked: nothing comes between the two statements.
    session
        .execute_text(format!(
            "UPDATE review_{n} SET leased_by = {by}, leased_name = {name}, leased_until = {until} WHERE slot = {number} \
             AND comment_id IN ({list}) AND (leased_until <= {now} OR leased_by = {by})",
            by = holder.id
        ))
        .await?;
    let text = format!(
        "SELECT comment_id FROM review_{n} WHERE slot = {number} AND comment_id IN ({list}) AND leased_by = {} \
         AND leased_until = {until}",
        holder.id
    );
    session.fetch_text(text).await?.iter().map(|r| id_at(r, 0)).collect()
}
