//! Statements as text: a whole batch reaches the server in a few round trips, however many rows and
//! tables it has.
//!
//! Values are written as numbers and hexadecimal digits only: nothing in them can be anything but a
//! value, whatever the server's settings for quotes and escapes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gailou_shared::id::Slot;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::hex_literal;
use crate::ports::store::Result;

/// Bytes sent at a time, far below the smallest `max_allowed_packet`; one row may be longer.
const MAX_SCRIPT_BYTES: usize = 1 << 20;

/// A row of values, as `VALUES` takes it.
pub(in crate::adapters::mysql) struct RowValues(String);

impl RowValues {
    pub(in crate::adapters::mysql) fn new() -> Self {
        Self("(".into())
    }

    pub(in crate::adapters::mysql) fn number(mut self, number: impl Into<Option<i64>>) -> Self {
        match number.into() {
            Some(number) => _ = write!(self.0, "{number},"),
            None => self.0.push_str("NULL,"),
        }
        self
    }

    pub(in crate::adapters::mysql) fn count(self, count: impl Into<Option<u64>>) -> Self {
        self.number(count.into().map(signed))
    }

    pub(in crate::adapters::mysql) fn bytes<'a>(mut self, bytes: impl Into<Option<&'a [u8]>>) -> Self {
        match bytes.into() {
            Some(bytes) => _ = write!(self.0, "{},", hex_literal(bytes)),
            None => self.0.push_str("NULL,"),
        }
        self
    }

    pub(in crate::adapters::mysql) fn text<'a>(self, text: impl Into<Option<&'a str>>) -> Self {
        self.bytes(text.into().map(str::as_bytes))
    }

    /// A value that the database computes.
    pub(in crate::adapters::mysql) fn sql(mut self, expression: &'static str) -> Self {
        self.0.push_str(expression);
        self.0.push(',');
        self
    }

    pub(in crate::adapters::mysql) fn end(mut self) -> String {
        self.0.pop();
        self.0.push(')');
        self.0
    }
}

/// A row of numbers, as `JSON_TABLE` takes it.
pub(in crate::adapters::mysql) fn json_numbers(row: &[Option<i64>]) -> String {
    let mut text = String::with_capacity(row.len() * 8);
    for (n, number) in row.iter().enumerate() {
        text.push(if n == 0 { '[' } else { ',' });
        match number {
            Some(number) => _ = write!(text, "{number}"),
            None => text.push_str("null"),
        }
    }
    text.push(']');
    text
}

/// A count as a column stores it.
pub(in crate::adapters::mysql) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A `JSON_TABLE` named `j` with these rows, which are arrays, and these columns: `("id BIGINT", …)`.
pub(in crate::adapters::mysql) fn json_table(rows: &str, columns: &[&str]) -> String {
    let columns: Vec<String> =
        columns.iter().enumerate().map(|(n, column)| format!("{column} PATH '$[{n}]'")).collect();
    format!("JSON_TABLE('[{rows}]', '$[*]' COLUMNS ({})) j", columns.join(", "))
}

/// Rows by the number of their slot's tables.
pub(in crate::adapters::mysql) type RowsByTable = BTreeMap<u16, Vec<String>>;

pub(in crate::adapters::mysql) fn group_by_table(
    db: &MysqlStore,
    rows: impl IntoIterator<Item = (Slot, String)>,
) -> RowsByTable {
    let mut tables = RowsByTable::new();
    for (slot, row) in rows {
        tables.entry(db.table_number(slot)).or_default().push(row);
    }
    tables
}

/// Statements that are sent together.
pub(in crate::adapters::mysql) struct BatchScript<'s> {
    session: &'s mut MysqlSession,
    text: String,
}

impl<'s> BatchScript<'s> {
    pub(in crate::adapters::mysql) fn new(session: &'s mut MysqlSession) -> Self {
        Self { session, text: String::new() }
    }

    /// Adds a statement.
    pub(in crate::adapters::mysql) async fn add(&mut self, statement: &str) -> Result<()> {
        if !self.text.is_empty() && self.text.len() + statement.len() > MAX_SCRIPT_BYTES {
            self.send().await?;
        }
        if !self.text.is_empty() {
            self.text.push(';');
        }
        self.text.push_str(statement);
        Ok(())
    }

    /// Adds one statement or more for each table. `{n}` stands for the table's number, `{rows}` for rows.
    pub(in crate::adapters::mysql) async fn add_rows(&mut self, statement: &str, tables: RowsByTable) -> Result<()> {
        let (head, tail) = statement.split_once("{rows}").ok_or_else(|| damaged("a statement without rows"))?;
        for (table, rows) in tables {
            let (head, tail) = (head.replace("{n}", &table.to_string()), tail.replace("{n}", &table.to_string()));
            let mut text = head.clone();
            for row in rows {
                if text.len() > head.len() {
                    if text.len() + row.len() > MAX_SCRIPT_BYTES {
                        text.push_str(&tail);
                        self.add(&text).await?;
                        text.clone_from(&head);
                    } else {
                        text.push(',');
                    }
                }
                text.push_str(&row);
            }
            text.push_str(&tail);
            self.add(&text).await?;
        }
        Ok(())
    }

    /// Sends the statements that were not sent yet.
    pub(in crate::adapters::mysql) async fn send(&mut self) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.session.execute_text(std::mem::take(&mut self.text)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_and_hexadecimal_digits() {
        let row = RowValues::new().number(-1).number(None).count(7).text("a'é").text(None).bytes(&b""[..]).end();
        assert_eq!(row, "(-1,NULL,7,X'6127C3A9',NULL,X'')");
        assert_eq!(json_numbers(&[Some(1), None, Some(-3)]), "[1,null,-3]");
        let table = json_table("[1,2]", &["id BIGINT", "n INT"]);
        assert_eq!(table, "JSON_TABLE('[[1,2]]', '$[*]' COLUMNS (id BIGINT PATH '$[0]', n INT PATH '$[1]')) j");
    }
}
