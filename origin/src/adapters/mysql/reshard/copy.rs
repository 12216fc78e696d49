//! Copies a slot's rows from one database to another, as text. The server describes the columns of every
//! table, so a migration that adds a column changes nothing here.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use sqlx::Row as _;

use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::numbered_tables::{INDEPENDENT_TABLES, NUMBERED_TABLES, NumberedTable};
use crate::adapters::mysql::reshard::dirty_conditions::{TableCondition, dirty_conditions};
use crate::adapters::mysql::row_numbers::{first_subject, last_subject};
use crate::adapters::mysql::rows::{count_at, damaged};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{CopiedSlot, Result};

/// Rows that one statement reads.
const ROWS_PER_READ: usize = 1_000;
/// Bytes that one statement writes, far below the smallest `max_allowed_packet`.
const MAX_STATEMENT_BYTES: usize = 1 << 20;

/// A table as the server describes it.
#[derive(Debug)]
struct TableDescription {
    /// `comment_3`.
    table: String,
    /// `id, subject, …`
    columns: String,
    /// The expression for a row as text that an `INSERT` takes.
    row: String,
    /// The expressions for its columns.
    literals: BTreeMap<String, String>,
}

impl TableDescription {
    fn literal(&self, column: &str) -> Option<&str> {
        self.literals.get(column).map(String::as_str)
    }
}

/// The expression for a value as a literal: numbers as they are, everything else by its bytes.
fn literal(column: &str, numeric: bool) -> String {
    if numeric {
        format!("IFNULL(CAST(`{column}` AS CHAR), 'NULL')")
    } else {
        format!("IFNULL(CONCAT('X''', HEX(`{column}`), ''''), 'NULL')")
    }
}

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
        let text = format!(
            "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR), CAST(data_type AS CHAR) \
             FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ({}) \
             ORDER BY table_name, ordinal_position",
            names.join(", ")
        );
        let mut all: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
        for r in session.fetch_text(text).await? {
            let (table, column, kind): (String, String, String) = (r.try_get(0)?, r.try_get(1)?, r.try_get(2)?);
            all.entry(table).or_default().push((column, kind.ends_with("int")));
        }
        let tables = all.into_iter().map(|(table, columns)| {
            let row: Vec<String> = columns.iter().map(|(column, numeric)| literal(column, *numeric)).collect();
            let names: Vec<String> = columns.iter().map(|(column, _)| format!("`{column}`")).collect();
            let description = TableDescription {
                table: table.clone(),
                columns: names.join(", "),
                row: format!("CONCAT('(', CONCAT_WS(',', {}), ')')", row.join(", ")),
                literals: columns.into_iter().map(|(column, _)| column).zip(row).collect(),
            };
            (table, description)
        });
        Ok(Self { number, slot, tables: tables.collect() })
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
        replace_rows(to, description, rows.into_iter()).await
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
        replace_rows(to, walk.description, chunk.into_iter().map(|row| row.text)).await?;
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
                "identity",
                "sign_in_link",
                "notification",
                "review",
                "report",
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

/// The condition for the rows after this key in the order of these columns.
fn is_after(order: &[&str], key: &[String]) -> String {
    let steps = order.iter().enumerate().map(|(n, column)| {
        let equal = order.iter().zip(key).take(n).map(|(column, value)| format!("`{column}` = {value} AND "));
        format!("{}`{column}` > {}", equal.collect::<String>(), key[n])
    });
    // An index can begin at the first comparison alone.
    format!("`{}` >= {} AND ({})", order[0], key[0], steps.collect::<Vec<_>>().join(" OR "))
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

/// Writes rows over those with the same keys.
async fn replace_rows(
    to: &mut MysqlSession,
    description: &TableDescription,
    rows: impl Iterator<Item = String>,
) -> Result<()> {
    let begin = format!("REPLACE INTO {} ({}) VALUES ", description.table, description.columns);
    let mut text = String::new();
    for row in rows {
        if text.len() + row.len() > MAX_STATEMENT_BYTES && !text.is_empty() {
            to.execute_text(format!("{begin}{text}")).await?;
            text.clear();
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&row);
    }
    if text.is_empty() { Ok(()) } else { to.execute_text(format!("{begin}{text}")).await }
}

/// The ids of a chunk of comments; `None` for another table.
fn comment_ids(table: &NumberedTable, chunk: &[CopiedRow]) -> Option<String> {
    let ids: Vec<&str> = chunk.iter().filter_map(|row| row.key.last().map(String::as_str)).collect();
    (table.name == "comment" && !ids.is_empty()).then(|| ids.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_continues_after_the_last_key() {
        let key = ["1".to_owned(), "X'02'".to_owned()];
        assert_eq!(is_after(&["a", "b"], &key), "`a` >= 1 AND (`a` > 1 OR `a` = 1 AND `b` > X'02')");
        assert_eq!(is_after(&["a"], &key[..1]), "`a` >= 1 AND (`a` > 1)");
    }
}
