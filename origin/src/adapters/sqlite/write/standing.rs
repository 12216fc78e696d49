//! Writes what moderators say of members.

use gailou_shared::id::MemberId;
use gailou_shared::wire::AuditTargetKind;
use rusqlite::{Transaction, params};

use crate::adapters::sqlite::member_standings::read_standings;
use crate::adapters::sqlite::rows::{StoredEnum, damaged};
use crate::adapters::sqlite::write::moderation::insert_audit;
use crate::domain::audit::AuditEntry;
use crate::domain::member_standing::{MemberStanding, StandingPatch};
use crate::ports::store::Result;

/// Changes what is said of a member, with its entry in the audit log.
pub(super) fn write(
    tx: &Transaction<'_>,
    member: MemberId,
    patch: &StandingPatch,
    audit: &AuditEntry,
    at: u64,
) -> Result<MemberStanding> {
    let before = read_standings(tx, &[member])?.pop().map(|(_, standing)| standing).unwrap_or_default();
    let change = patch.apply(&before, at);
    let MemberStanding { changed_at, rules, note, friends } = &change.after;
    let friends = serde_json::to_string(friends).map_err(damaged)?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO member_standing (id, changed_at, level, role, muted_until, tokens_not_before, note, friends) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        member.signed(),
        changed_at,
        rules.level,
        rules.role.map(StoredEnum::number),
        rules.muted_until,
        rules.tokens_not_before,
        note,
        friends
    ])?;
    let audit = AuditEntry { action: change.action, ..audit.clone() };
    let target = (AuditTargetKind::Member, None, &*member.to_string());
    insert_audit(tx, &audit, at, target, (Some(change.before_json), Some(change.after_json)))?;
    Ok(change.after)
}

/// Deletes what is said of a member, also from the audit log, with their contact and their account.
pub(super) fn erase(tx: &Transaction<'_>, member: MemberId) -> Result<()> {
    for (table, column) in [
        ("member_standing", "id"),
        ("member_contact", "id"),
        ("account", "id"),
        ("identity", "account_id"),
        ("refresh_family", "account_id"),
        ("passkey", "account_id"),
    ] {
        tx.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), [member.signed()])?;
    }
    tx.execute(
        "UPDATE audit SET reason = NULL, before = NULL, after = NULL WHERE kind = 1 AND target = ?1",
        [member.to_string()],
    )?;
    Ok(())
}
