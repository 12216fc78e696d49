//! Statements as text: a whole batch goes to the server in a few round trips, whatever the number of
//! rows and tables.
//!
//! Values are written as numbers and hexadecimal digits only, so nothing in them can be anything but
//! a value, and no server reads a quote or an escape differently.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gailou_shared::id::Slot;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::pool::{Session, hex};
use crate::ports::store::{Result, StoreError};

/// Bytes sent at a time, far below the smallest `max_allowed_packet`; one row may have more.
const BYTES: usize = 1 << 20;

/// A row of values, as `VALUES` takes it.
pub(super) struct Values(String);

impl Values {
    pub(super) fn new() -> Self {
        Self("(".into())
    }

    pub(super) fn number(mut self, number: impl Into<Option<i64>>) -> Self {
        match number.into() {
            Some(number) => _ = write!(self.0, "{number},"),
            None => self.0.push_str("NULL,"),
        }
        self
    }

    pub(super) fn count(self, count: impl Into<Option<u64>>) -> Self {
        self.number(count.into().map(signed))
    }

    pub(super) fn bytes<'a>(mut self, bytes: impl Into<Option<&'a [u8]>>) -> Self {
        match bytes.into() {
            Some(bytes) => {
                self.0.push_str("X'");
                hex(&mut self.0, bytes);
                self.0.push_str("',");
            }
            None => self.0.push_str("NULL,"),
        }
        self
    }

    pub(super) fn text<'a>(self, text: impl Into<Option<&'a str>>) -> Self {
        self.bytes(text.into().map(str::as_bytes))
    }

    pub(super) fn end(mut self) -> String {
        self.0.pop();
        self.0.push(')');
        self.0
    }
}

/// A row of numbers, as `JSON_TABLE` takes it.
pub(super) fn numbers(row: &[Option<i64>]) -> String {
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

/// A count as it lies in a column.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The name and columns of a `JSON_TABLE` whose rows are arrays: `("id BIGINT", …)`.
pub(super) fn table_of(rows: &str, columns: &[&str]) -> String {
    let columns: Vec<String> =
        columns.iter().enumerate().map(|(n, column)| format!("{column} PATH '$[{n}]'")).collect();
    format!("JSON_TABLE('[{rows}]', '$[*]' COLUMNS ({})) j", columns.join(", "))
}

/// Rows by the number of their slot's tables.
pub(super) type ByTable = BTreeMap<u16, Vec<String>>;

pub(super) fn by_table(db: &MysqlStore, rows: impl IntoIterator<Item = (Slot, String)>) -> ByTable {
    let mut tables = ByTable::new();
    for (slot, row) in rows {
        tables.entry(db.table(slot)).or_default().push(row);
    }
    tables
}

/// Statements on their way to the server.
pub(super) struct Script<'s> {
    session: &'s mut Session,
    text: String,
}

impl<'s> Script<'s> {
    pub(super) fn new(session: &'s mut Session) -> Self {
        Self { session, text: String::new() }
    }

    /// A statement.
    pub(super) async fn add(&mut self, statement: &str) -> Result<()> {
        if !self.text.is_empty() && self.text.len() + statement.len() > BYTES {
            self.send().await?;
        }
        if !self.text.is_empty() {
            self.text.push(';');
        }
        self.text.push_str(statement);
        Ok(())
    }

    /// A statement for each table and each so many rows; `{n}` is the table's number and `{rows}`
    /// are the rows.
    pub(super) async fn rows(&mut self, statement: &str, tables: ByTable) -> Result<()> {
        let (head, tail) =
            statement.split_once("{rows}").ok_or_else(|| StoreError::damaged("a statement without rows"))?;
        for (table, rows) in tables {
            let (head, tail) = (head.replace("{n}", &table.to_string()), tail.replace("{n}", &table.to_string()));
            let mut text = head.clone();
            for row in rows {
                if text.len() > head.len() {
                    if text.len() + row.len() > BYTES {
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

    /// Sends what was not sent yet.
    pub(super) async fn send(&mut self) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.session.raw(&std::mem::take(&mut self.text)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_and_digits() {
        let row = Values::new().number(-1).number(None).count(7).text("a'é").text(None).bytes(&b""[..]).end();
        assert_eq!(row, "(-1,NULL,7,X'6127C3A9',NULL,X'')");
        assert_eq!(numbers(&[Some(1), None, Some(-3)]), "[1,null,-3]");
        let table = table_of("[1,2]", &["id BIGINT", "n INT"]);
        assert_eq!(table, "JSON_TABLE('[[1,2]]', '$[*]' COLUMNS (id BIGINT PATH '$[0]', n INT PATH '$[1]')) j");
    }
}
