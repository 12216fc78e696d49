//! Copies a slot's rows from one database to another, as text.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use sqlx::Row as _;

use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::numbered_tables::{INDEPENDENT_TABLES, NUMBERED_TABLES, NumberedTable};
use crate::adapters::mysql::reshard::dirty_conditions::{TableCondition, dirty_conditions};
use crate::adapters::mysql::row_numbers::{first_subject, last_subject};
use crate::adapters::mysql::row_text::{TableDescription, is_after, replace_rows};
use crate::adapters::mysql::rows::{count_at, damaged};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{CopiedSlot, Result};

/// Rows that one statement reads.
const ROWS_PER_READ: usize = 1_000;

/// The number of rows in a table, and a checksum over them.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::adapters::mysql) struct TableChecksum {
    pub(crate) table: &'static str,
    pub(crate) rows: i64,
    pub(crate) checksum: String,
}

/// The rows of a slot in its numbered tables.
#[derive(Debug)]
pub struct SlotRows {
    number: u16,
    slot: Slot,
    tables: BTreeMap<String, TableDescription>,
}

impl SlotRows {
    /// Reads the descriptions of the tables.
    pub(in crate::adapters::mysql) async fn new(session: &mut MysqlSession, number: u16, slot: Slot) -> Result<Self> {
        let names: Vec<String> = NUMBERED_TABLES.iter().map(|table| format!("'{}_{number}'", table.name)).collect();
        let tables = TableDescription::read(session, &format!("table_name IN ({})", names.join(", "))).await?;
        Ok(Self { number, slot, tables })
    }

    fn description(&self, name: &str) -> Result<&TableDescription> {
        let table = format!("{name}_{}", self.number);
        self.tables.get(&table).ok_or_else(|| damaged(format_args!("there is no table {table}")))
    }

    /// The walk through one of the tables, after a key.
    fn walk<'a>(&'a self, table: &'a NumberedTable, after: Option<Vec<String>>) -> Result<TableWalk<'a>> {
        let description = self.description(table.name)?;
        Ok(TableWalk { table, description, condition: table.condition(self.slot), after })
    }

    /// Copies the rows that fulfil a condition over the rows that exist, in a transaction of the target.
    async fn copy_matching(
        &self,
        from: &mut MysqlSession,
        to: &mut MysqlSession,
        name: &str,
        condition: &str,
    ) -> Result<()> {
        let description = self.description(name)?;
        let text = format!("SELECT {} FROM {} WHERE {condition}", description.row, description.table);
        let found = from.fetch_text(text).await?;
        let rows = found.iter().map(|r| Ok(r.try_get(0)?)).collect::<Result<Vec<String>>>()?;
        replace_rows(to, &description.table, &description.columns, rows.into_iter()).await
    }

    /// The checksum of each table.
    pub(in crate::adapters::mysql) async fn checksums(&self, session: &mut MysqlSession) -> Result<Vec<TableChecksum>> {
        let mut all = Vec::with_capacity(NUMBERED_TABLES.len());
        for numbered in &NUMBERED_TABLES {
            let TableDescription { table, row, .. } = self.description(numbered.name)?;
            let rows = numbered.rows_of(table, self.number, self.slot);
            let text = format!("SELECT COUNT(*), CAST(BIT_XOR(CRC32({row})) AS CHAR) FROM {rows}");
            let found = session.fetch_text(text).await?;
            let r = found.first().ok_or_else(|| damaged("no checksum"))?;
            all.push(TableChecksum { table: numbered.name, rows: r.try_get(0)?, checksum: r.try_get(1)? });
        }
        Ok(all)
    }
}

/// A place in the rows of a slot: a table, and the key of the last row that was walked in it.
#[derive(Debug, Default)]
pub struct RowsWalk {
    table: usize,
    after: Option<Vec<String>>,
}

impl RowsWalk {
    fn table(&self) -> &'static NumberedTable {
        &NUMBERED_TABLES[self.table]
    }

    /// Goes on after a key, or with the next table; whether there is something.
    fn advance(&mut self, after: Option<Vec<String>>) -> bool {
        self.table += usize::from(after.is_none());
        self.after = after;
        self.table < INDEPENDENT_TABLES
    }
}

#[async_trait]
impl CopiedSlot for SlotRows {
    type Session = MysqlSession;
    type Walk = RowsWalk;

    async fn copy_next(&self, at: &mut RowsWalk, from: &mut MysqlSession, to: &mut MysqlSession) -> Result<bool> {
        let mut walk = self.walk(at.table(), at.after.take())?;
        let chunk = walk.next(from).await?;
        let ids = comment_ids(walk.table, &chunk);
        let TableDescription { table, columns, .. } = walk.description;
        replace_rows(to, table, columns, chunk.into_iter().map(|row| row.text)).await?;
        if let Some(ids) = ids {
            self.copy_matching(from, to, "content", &format!("id IN ({ids})")).await?;
            self.copy_matching(from, to, "content_history", &format!("comment_id IN ({ids})")).await?;
        }
        Ok(at.advance(walk.after))
    }

    async fn copy_dirty(&self, from: &mut MysqlSession, to: &mut MysqlSession, dirty: &[DirtyRow]) -> Result<()> {
        for TableCondition { table, condition } in dirty_conditions(from, self.number, self.slot, dirty).await? {
            // No row of another table is ever deleted, except for expired ones.
            let deletes = [
                "reaction",
                "dead_reaction",
                "root_rank",
                "reply_rank",
                "content_history",
                "member_standing",
                "member_contact",
                "account",
                "refresh_family",
                "passkey",
                "identity",
                "sign_in_link",
                "notification",
                "watch",
                "review",
                "report",
                "author_network",
                "undo",
            ];
            if deletes.contains(&table) {
                to.execute_text(format!("DELETE FROM {table}_{} WHERE {condition}", self.number)).await?;
            }
            self.copy_matching(from, to, table, &condition).await?;
        }
        Ok(())
    }

    async fn delete_next(&self, at: &mut RowsWalk, session: &mut MysqlSession) -> Result<bool> {
        let (number, before) = (self.number, at.after.take());
        let mut walk = self.walk(at.table(), before.clone())?;
        let chunk = walk.next(session).await?;
        let TableWalk { table, description, condition, after } = walk;
        if let Some(ids) = comment_ids(table, &chunk) {
            session.execute_text(format!("DELETE FROM content_{number} WHERE id IN ({ids})")).await?;
            session.execute_text(format!("DELETE FROM content_history_{number} WHERE comment_id IN ({ids})")).await?;
        }
        if let Some(last) = &after {
            let from = before.map_or(String::new(), |key| format!("{} AND ", is_after(table.order, &key)));
            let up_to = format!("`{}` <= {} AND NOT ({})", table.order[0], last[0], is_after(table.order, last));
            let (name, index) = (&description.table, table.index);
            // Of the two forms of the statement, this one takes an index.
            let text = format!("DELETE {name} FROM {name} FORCE INDEX ({index}) WHERE {condition} AND {from}{up_to}");
            session.execute_text(text).await?;
        }
        Ok(at.advance(after))
    }

    async fn count_comments(&self, session: &mut MysqlSession) -> Result<u64> {
        let text = format!(
            "SELECT COUNT(*) FROM comment_{} FORCE INDEX (comment_path) WHERE subject BETWEEN ? AND ?",
            self.number
        );
        let statement = sql(text).bind(first_subject(self.slot)).bind(last_subject(self.slot));
        count_at(&session.fetch_first(statement).await?.ok_or_else(|| damaged("no count"))?, 0)
    }
}

/// Reads the rows of a table in the order of an index, a chunk at a time.
struct TableWalk<'a> {
    table: &'a NumberedTable,
    description: &'a TableDescription,
    condition: String,
    /// The key of the last row that was read.
    after: Option<Vec<String>>,
}

/// A row as text, and its key in the order of the walk.
struct CopiedRow {
    text: String,
    key: Vec<String>,
}

impl TableWalk<'_> {
    /// The next rows; empty at the end.
    async fn next(&mut self, session: &mut MysqlSession) -> Result<Vec<CopiedRow>> {
        let NumberedTable { index, order, .. } = self.table;
        let key: Vec<&str> = order.iter().filter_map(|column| self.description.literal(column)).collect();
        let after = self.after.as_ref().map_or(String::new(), |key| format!(" AND {}", is_after(order, key)));
        let text = format!(
            "SELECT {}, {} FROM {} FORCE INDEX ({index}) WHERE {}{after} ORDER BY {} LIMIT {ROWS_PER_READ}",
            self.description.row,
            key.join(", "),
            self.description.table,
            self.condition,
            self.table.sorted_by(),
        );
        let mut chunk = Vec::new();
        for r in session.fetch_text(text).await? {
            let key = (1..=order.len()).map(|n| Ok(r.try_get(n)?)).collect::<Result<Vec<String>>>()?;
            chunk.push(CopiedRow { text: r.try_get(0)?, key });
        }
        self.after = chunk.last().map(|row| row.key.clone());
        Ok(chunk)
    }
}

/// The ids of a chunk of comments; `None` for another table.
fn comment_ids(table: &NumberedTable, chunk: &[CopiedRow]) -> Option<String> {
    let ids: Vec<&str> = chunk.iter().filter_map(|row| row.key.last().map(String::as_str)).collect();
    (table.name == "comment" && !ids.is_empty()).then(|| ids.join(","))
}
