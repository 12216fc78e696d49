//! The audit log: looked up in every table of every database, a page from each.

use async_trait::async_trait;
use gailou_shared::id::AuditId;
use gailou_shared::wire::{AuditRecord, AuditTarget, AuditTargetKind, MemberRef};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{
    StoredEnum, audit_id, count_at, damaged, json_at, member_id, number_at, optional_number_at,
};
use crate::ports::store::{AuditFilter, AuditReader, Result};

/// The columns that [`audit_record`] reads.
const AUDIT_COLUMNS: &str =
    "id, at, actor_id, actor_name, action, kind, comment_id, target, reason, before_json, after_json";

#[async_trait]
impl AuditReader for MysqlStore {
    async fn list_audit(&self, filter: &AuditFilter, below: Option<AuditId>, count: usize) -> Result<Vec<AuditRecord>> {
        let index = match filter {
            AuditFilter { actor: Some(_), .. } => "audit_actor",
            AuditFilter { action: Some(_), .. } => "audit_action",
            AuditFilter { .. } => "audit_id",
        };
        let mut text = format!("SELECT {AUDIT_COLUMNS} FROM audit_{{n}} FORCE INDEX ({index}) WHERE id < ?");
        for (column, is_filtered) in [("actor_id", filter.actor.is_some()), ("action", filter.action.is_some())] {
            if is_filtered {
                text.push_str(&format!(" AND {column} = ?"));
            }
        }
        text.push_str(" ORDER BY id DESC LIMIT ?");
        let rows = self
            .rows_of_all(
                "list_audit",
                &text,
                |statement| {
                    let mut statement = statement.bind(below.map_or(i64::MAX, AuditId::signed));
                    if let Some(actor) = filter.actor {
                        statement = statement.bind(actor.signed());
                    }
                    if let Some(action) = &filter.action {
                        statement = statement.bind(action.as_str());
                    }
                    statement.bind(count as i64)
                },
                |r| Ok(audit_id(number_at(r, 0)?)?.slot()),
            )
            .await?;
        let mut found = rows.iter().map(audit_record).collect::<Result<Vec<_>>>()?;
        found.sort_unstable_by_key(|record| std::cmp::Reverse(record.id));
        found.truncate(count);
        Ok(found)
    }

    async fn read_audit(&self, id: AuditId) -> Result<Option<AuditRecord>> {
        let (slot, part) = (id.slot(), self.part(id.slot()));
        let text = format!("SELECT {AUDIT_COLUMNS} FROM audit_{{n}} WHERE slot = ? AND id = ?");
        let statement = part.sql(&text).bind(slot.get()).bind(id.signed());
        self.rows_of("read_audit", slot, statement).await?.first().map(audit_record).transpose()
    }
}

fn audit_record(r: &MySqlRow) -> Result<AuditRecord> {
    let json = |index| match r.try_get::<Option<&str>, _>(index)? {
        Some(_) => json_at(r, index).map(Some),
        None => Ok(None),
    };
    let target = match optional_number_at(r, 6)? {
        Some(comment) => comment.to_string(),
        None => String::from_utf8(r.try_get(7)?).map_err(damaged)?,
    };
    Ok(AuditRecord {
        id: audit_id(number_at(r, 0)?)?,
        at: count_at(r, 1)?,
        actor: MemberRef { id: member_id(number_at(r, 2)?)?, name: r.try_get(3)? },
        action: r.try_get(4)?,
        target: AuditTarget { kind: AuditTargetKind::from_number(number_at(r, 5)?)?, id: target },
        reason: r.try_get(8)?,
        before: json(9)?,
        after: json(10)?,
    })
}
