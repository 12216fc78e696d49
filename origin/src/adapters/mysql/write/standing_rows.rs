//! Writes what moderators say of members, with its entries in the audit log, and erases both.

use gailou_shared::id::{AuditId, MemberId, Slot};
use gailou_shared::wire::AuditTargetKind;
use serde_json::Value;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::member_standings::{STANDING_COLUMNS, standing};
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{StoredEnum as _, audit_id, damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues};
use crate::adapters::mysql::write::slot_locks;
use crate::domain::audit::AuditEntry;
use crate::domain::member_standing::{MemberStanding, StandingPatch};
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::ports::store::{Result, Sharding as _};

/// Carries out the changes of a batch, whose slots are locked. The rows that it wrote, for the copy of a slot that is
/// moving.
pub(super) async fn write(
    db: &MysqlStore,
    session: &mut MysqlSession,
    batch: &[&LoggedOperation],
    outcomes: &mut [OperationOutcome],
) -> Result<Vec<(Slot, DirtyRow)>> {
    let mut dirty = Vec::new();
    for (logged, outcome) in batch.iter().zip(outcomes) {
        let Operation::Standing { member, patch, audit } = &logged.operation else { continue };
        let after = change(db, session, *member, patch, audit, logged.at).await?;
        *outcome = OperationOutcome::Standing(Box::new(after));
        let slot = member_slot(*member);
        dirty.extend([(slot, DirtyRow::Member(*member)), (slot, DirtyRow::Audit(audit.id))]);
    }
    Ok(dirty)
}

async fn change(
    db: &MysqlStore,
    session: &mut MysqlSession,
    member: MemberId,
    patch: &StandingPatch,
    audit: &AuditEntry,
    at: u64,
) -> Result<MemberStanding> {
    let slot = member_slot(member);
    let n = db.table_number(slot);
    let find = sql(format!("SELECT {STANDING_COLUMNS} FROM member_standing_{n} WHERE id = ?")).bind(member.signed());
    let before = session.fetch_first(find).await?.map(|r| standing(&r)).transpose()?.unwrap_or_default();
    let change = patch.apply(&before, at);
    let MemberStanding { changed_at, rules, note, friends } = &change.after;
    let friends = serde_json::to_string(friends).map_err(damaged)?;
    let row = RowValues::new().number(member.signed()).number(i64::from(slot.get())).count(*changed_at);
    let row = row.number(rules.level.map(i64::from)).number(rules.role.map(|role| role.number()));
    let row = row.count(rules.muted_until).count(rules.tokens_not_before);
    let row = row.text(note.as_deref()).text(friends.as_str()).end();
    let mut script = BatchScript::new(session);
    let columns = "(id, slot, changed_at, level, role, muted_until, tokens_not_before, note, friends)";
    script.add(&format!("REPLACE INTO member_standing_{n} {columns} VALUES {row}")).await?;
    let json = (Some(&change.before_json), Some(&change.after_json));
    write_entry_of_member(&mut script, n, (member, change.action), audit, at, json).await?;
    script.send().await?;
    Ok(change.after)
}

/// Writes an entry of the audit log about a member, into the tables of this number. A change that is made again, because
/// its outcome was unknown, leaves the entry of the first time.
pub(in crate::adapters::mysql) async fn write_entry_of_member(
    script: &mut BatchScript<'_>,
    n: u16,
    (member, action): (MemberId, &str),
    audit: &AuditEntry,
    at: u64,
    (before, after): (Option<&Value>, Option<&Value>),
) -> Result<()> {
    let json = |value: Option<&Value>| value.map(ToString::to_string);
    let (before, after) = (json(before), json(after));
    let values = RowValues::new().number(audit.id.signed()).count(at).number(audit.actor.id.signed());
    let values = values.text(audit.actor.name.as_str()).text(action).number(AuditTargetKind::Member.number());
    let values = values.text(member.to_string().as_str()).text(audit.reason.as_deref());
    let row = values.text(before.as_deref()).text(after.as_deref()).end();
    let columns = "(id, at, actor_id, actor_name, action, kind, target, reason, before_json, after_json)";
    script.add(&format!("INSERT IGNORE INTO audit_{n} {columns} VALUES {row}")).await
}

/// Overwrites the name of a member, and deletes what is said of them, also from the audit log, with their contact and
/// their account.
pub(super) async fn erase(db: &MysqlStore, member: MemberId) -> Result<()> {
    let (slot, n) = (member_slot(member), db.table_number(member_slot(member)));
    let mut session = db.session("erase_name", db.database_of(slot)).await?;
    session.begin().await?;
    let done = async {
        let locked = slot_locks::share_slots(&mut session, [slot].into_iter()).await?;
        let mut script = BatchScript::new(&mut session);
        let overwrite = "SET name = '', avatar = NULL, level = 0, name_key = ''";
        script.add(&format!("UPDATE member_{n} {overwrite} WHERE id = {member}")).await?;
        for (table, column) in [
            ("member_standing", "id"),
            ("member_contact", "id"),
            ("account", "id"),
            ("refresh_family", "account_id"),
            ("passkey", "account_id"),
        ] {
            script.add(&format!("DELETE FROM {table}_{n} WHERE {column} = {member}")).await?;
        }
        script.send().await?;
        let about =
            format!("slot = {} AND kind = {} AND target = '{member}'", slot.get(), AuditTargetKind::Member.number());
        let found = session.fetch_text(format!("SELECT id FROM audit_{n} WHERE {about}")).await?;
        let entries: Vec<AuditId> = found.iter().map(|r| Ok(audit_id(number_at(r, 0)?)?)).collect::<Result<_>>()?;
        let overwrite = "SET reason = NULL, before_json = NULL, after_json = NULL";
        session.execute_text(format!("UPDATE audit_{n} {overwrite} WHERE {about}")).await?;
        let dirty = entries.into_iter().map(|id| (slot, DirtyRow::Audit(id)));
        locked.record_dirty_rows(&mut session, dirty.chain([(slot, DirtyRow::Member(member))])).await
    };
    let done = done.await;
    session.finish(done).await
}
