//! The audit log.

use async_trait::async_trait;
use gailou_shared::id::AuditId;
use gailou_shared::wire::{AuditRecord, AuditTarget, AuditTargetKind, MemberRef};
use rusqlite::{Row, ToSql, params_from_iter};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{StoredEnum, audit_id, count, member_id, parse_json};
use crate::ports::store::{AuditFilter, AuditReader, Result};

/// The columns that [`audit_record`] reads.
const AUDIT_COLUMNS: &str = "id, at, actor_id, actor_name, action, kind, comment_id, target, reason, before, after";

#[async_trait]
impl AuditReader for SqliteStore {
    async fn list_audit(&self, filter: &AuditFilter, below: Option<AuditId>, count: usize) -> Result<Vec<AuditRecord>> {
        let filter = filter.clone();
        self.read("list_audit", move |c| {
            let mut sql = format!("SELECT {AUDIT_COLUMNS} FROM audit WHERE id < ?1");
            let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(below.map_or(i64::MAX, AuditId::signed))];
            if let Some(actor) = filter.actor {
                values.push(Box::new(actor.signed()));
                sql.push_str(&format!(" AND actor_id = ?{}", values.len()));
            }
            if let Some(action) = filter.action {
                values.push(Box::new(action));
                sql.push_str(&format!(" AND action = ?{}", values.len()));
            }
            values.push(Box::new(count as i64));
            sql.push_str(&format!(" ORDER BY id DESC LIMIT ?{}", values.len()));
            fetch_all(c, &sql, params_from_iter(values), audit_record)
        })
        .await
    }

    async fn read_audit(&self, id: AuditId) -> Result<Option<AuditRecord>> {
        self.read("read_audit", move |c| {
            let sql = format!("SELECT {AUDIT_COLUMNS} FROM audit WHERE id = ?1");
            Ok(fetch_all(c, &sql, [id.signed()], audit_record)?.pop())
        })
        .await
    }
}

fn audit_record(r: &Row<'_>) -> Result<AuditRecord> {
    let json = |index| match r.get_ref(index)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => parse_json(r, index).map(Some),
    };
    let kind = AuditTargetKind::from_number(r.get(5)?)?;
    let target = r.get::<_, Option<i64>>(6)?.map_or_else(|| r.get(7), |id| Ok(id.to_string()))?;
    Ok(AuditRecord {
        id: audit_id(r.get(0)?)?,
        at: count(r.get(1)?),
        actor: MemberRef { id: member_id(r.get(2)?)?, name: r.get(3)? },
        action: r.get(4)?,
        target: AuditTarget { kind, id: target },
        reason: r.get(8)?,
        before: json(9)?,
        after: json(10)?,
    })
}
