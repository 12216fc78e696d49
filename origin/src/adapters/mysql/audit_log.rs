//! The audit log: looked up in every table of every database, a page from each. What belongs to the installation is in
//! the first database.

use async_trait::async_trait;
use futures_util::future::try_join;
use gailou_shared::id::AuditId;
use gailou_shared::wire::{AuditRecord, AuditTarget, AuditTargetKind, MemberRef};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{
    StoredEnum, audit_id, count_at, damaged, json_at, member_id, number_at, optional_number_at,
};
use crate::adapters::mysql::statement::{SqlStatement, sql};
use crate::ports::store::{AuditFilter, AuditReader, Result};

/// The columns that [`audit_record`] reads.
const AUDIT_COLUMNS: &str =
    "id, at, actor_id, actor_name, action, kind, comment_id, target, reason, before_json, after_json";

/// The same of what belongs to the installation.
const INSTALLATION_COLUMNS: &str =
    "id, at, actor_id, actor_name, action, kind, NULL, target, reason, before_json, after_json";

#[async_trait]
impl AuditReader for MysqlStore {
    async fn list_audit(&self, filter: &AuditFilter, below: Option<AuditId>, count: usize) -> Result<Vec<AuditRecord>> {
        let text = filter.statement(AUDIT_COLUMNS, "audit_{n}", "audit_id", "audit");
        let bind = |statement| filter.bind(statement, below, count);
        let slot = |r: &MySqlRow| Ok(audit_id(number_at(r, 0)?)?.slot());
        let of_installation = async {
            let text = filter.statement(INSTALLATION_COLUMNS, "installation_audit", "PRIMARY", "installation_audit");
            self.first_pool().session("list_audit").await?.fetch_all(bind(sql(text))).await
        };
        let (rows, first) = try_join(self.rows_of_all("list_audit", &text, bind, slot), of_installation).await?;
        let mut found = rows.iter().chain(&first).map(audit_record).collect::<Result<Vec<_>>>()?;
        found.sort_unstable_by_key(|record| std::cmp::Reverse(record.id));
        found.truncate(count);
        Ok(found)
    }

    async fn read_audit(&self, id: AuditId) -> Result<Option<AuditRecord>> {
        let (slot, part) = (id.slot(), self.part(id.slot()));
        let text = format!("SELECT {AUDIT_COLUMNS} FROM audit_{{n}} WHERE slot = ? AND id = ?");
        let statement = part.sql(&text).bind(slot.get()).bind(id.signed());
        if let Some(found) = self.rows_of("read_audit", slot, statement).await?.first() {
            return audit_record(found).map(Some);
        }
        let text = format!("SELECT {INSTALLATION_COLUMNS} FROM installation_audit WHERE id = ?");
        let found = self.first_pool().session("read_audit").await?.fetch_first(sql(text).bind(id.signed())).await?;
        found.map(|r| audit_record(&r)).transpose()
    }
}

impl AuditFilter {
    /// The statement that lists entries of a table: below an id, the newest first. `by_id` is its index by id; the
    /// others begin with `indexes`.
    fn statement(&self, columns: &str, table: &str, by_id: &str, indexes: &str) -> String {
        let index = match self {
            Self { actor: Some(_), .. } => format!("{indexes}_actor"),
            Self { action: Some(_), .. } => format!("{indexes}_action"),
            Self { .. } => by_id.to_owned(),
        };
        let actor = self.actor.map_or("", |_| " AND actor_id = ?");
        let action = self.action.as_ref().map_or("", |_| " AND action = ?");
        format!(
            "SELECT {columns} FROM {table} FORCE INDEX ({index}) WHERE id < ?{actor}{action} ORDER BY id DESC LIMIT ?"
        )
    }

    fn bind(&self, statement: SqlStatement, below: Option<AuditId>, count: usize) -> SqlStatement {
        let mut statement = statement.bind(below.map_or(i64::MAX, AuditId::signed));
        if let Some(actor) = self.actor {
            statement = statement.bind(actor.signed());
        }
        if let Some(action) = &self.action {
            statement = statement.bind(action.as_str());
        }
        statement.bind(count as i64)
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
