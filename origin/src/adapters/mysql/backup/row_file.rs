//! A file of rows as text: a line of JSON names a table and its columns, and each line after it is a row as an `INSERT`
//! takes it.
//!
//! Promise: a line that is read as a row has numbers, bytes and nulls, and nothing that a server could take for a
//! statement.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, BufWriter, Lines};

use crate::adapters::mysql::rows::damaged;
use crate::ports::failure::Failure;
use crate::ports::store::{Result, StoreError};

/// The table of the rows that follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowFileTable {
    pub(super) table: String,
    pub(super) columns: Vec<String>,
}

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowFileLine {
    Table(RowFileTable),
    Row(String),
}

pub(super) fn io_error(error: std::io::Error) -> StoreError {
    StoreError::Database(Failure::of_driver(error))
}

/// Writes a file.
pub(super) struct RowFileWriter(BufWriter<File>);

impl RowFileWriter {
    pub(super) async fn create(path: &Path) -> Result<Self> {
        Ok(Self(BufWriter::new(File::create_new(path).await.map_err(io_error)?)))
    }

    /// The next rows are of this table. `columns` is a list as a statement has it.
    pub(super) async fn begin_table(&mut self, table: &str, columns: &str) -> Result<()> {
        let columns = columns.split(", ").map(|column| column.trim_matches('`').to_owned()).collect();
        let line = serde_json::to_string(&RowFileTable { table: table.to_owned(), columns }).map_err(damaged)?;
        self.write_line(&line).await
    }

    pub(super) async fn write_row(&mut self, row: &str) -> Result<()> {
        self.write_line(row).await
    }

    async fn write_line(&mut self, line: &str) -> Result<()> {
        self.0.write_all(line.as_bytes()).await.map_err(io_error)?;
        self.0.write_all(b"\n").await.map_err(io_error)
    }

    /// The file is on disk afterwards.
    pub(super) async fn finish(&mut self) -> Result<()> {
        self.0.flush().await.map_err(io_error)?;
        self.0.get_ref().sync_all().await.map_err(io_error)
    }
}

/// Reads a file.
pub(super) struct RowFileReader {
    lines: Lines<BufReader<File>>,
    columns: usize,
}

impl RowFileReader {
    pub(super) async fn open(path: &Path) -> Result<Self> {
        Ok(Self { lines: BufReader::new(File::open(path).await.map_err(io_error)?).lines(), columns: 0 })
    }

    /// The next line; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<RowFileLine>> {
        let Some(line) = self.lines.next_line().await.map_err(io_error)? else { return Ok(None) };
        let line = parse_line(line, self.columns)?;
        if let RowFileLine::Table(table) = &line {
            self.columns = table.columns.len();
        }
        Ok(Some(line))
    }
}

/// A line, where a row has so many columns.
fn parse_line(line: String, columns: usize) -> Result<RowFileLine> {
    if line.starts_with('{') {
        let table: RowFileTable = serde_json::from_str(&line).map_err(damaged)?;
        let names = || std::iter::once(&table.table).chain(&table.columns);
        let is_name = |name: &String| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        return if names().all(is_name) { Ok(RowFileLine::Table(table)) } else { Err(damaged("a table has no name")) };
    }
    let values = line.strip_prefix('(').and_then(|line| line.strip_suffix(')'));
    let is_row = values.is_some_and(|values| values.split(',').all(is_literal) && values.split(',').count() == columns);
    if is_row { Ok(RowFileLine::Row(line)) } else { Err(damaged("a line of a backup is no row")) }
}

/// Whether a value is a number, bytes in hexadecimal digits, or null.
fn is_literal(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let hex = value.strip_prefix("X'").and_then(|value| value.strip_suffix('\''));
    value == "NULL"
        || !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        || hex.is_some_and(|hex| hex.len().is_multiple_of(2) && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database-0.rows");
        let mut file = RowFileWriter::create(&path).await.unwrap();
        file.begin_table("comment_3", "`id`, `key`").await.unwrap();
        file.write_row("(-1,X'C3A9')").await.unwrap();
        file.write_row("(2,NULL)").await.unwrap();
        file.finish().await.unwrap();
        assert!(RowFileWriter::create(&path).await.is_err(), "a file is never written over");
        let mut file = RowFileReader::open(&path).await.unwrap();
        let columns = vec!["id".to_owned(), "key".to_owned()];
        let table = RowFileTable { table: "comment_3".into(), columns };
        let expected =
            [RowFileLine::Table(table), RowFileLine::Row("(-1,X'C3A9')".into()), RowFileLine::Row("(2,NULL)".into())];
        for line in expected {
            assert_eq!(file.next().await.unwrap(), Some(line));
        }
        assert_eq!(file.next().await.unwrap(), None);
    }

    #[test]
    fn line_that_is_no_row_is_refused() {
        let check = |line: &str, expected: bool| assert_eq!(parse_line(line.into(), 2).is_ok(), expected, "{line}");
        check("(1,2)", true);
        check("(X'',NULL)", true);
        check("(1)", false);
        check("(1,2,3)", false);
        check("(1,X'0')", false);
        check("(1,X'00' OR 1)", false);
        check("(1,2),(3,4)", false);
        check("(1,SLEEP(9))", false);
        check("(1,'a')", false);
        check("(1,-)", false);
        check("1,2", false);
        check("", false);
        check(r#"{"table":"a`; DROP","columns":["x"]}"#, false);
        check(r#"{"table":"a","columns":["X"]}"#, false);
        check(r#"{"table":"a","columns":["x"]}"#, true);
    }
}
