//! Reads the copy of a cluster for an embedded installation that it becomes again.
//!
//! Not here: what becomes of a row ([`crate::domain::growth`]). What a cluster keeps in every database is taken of the first
//! one. Promise: rows of subjects come first, and memory has some chunks of bounded size, however large the copy is.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::adapters::mysql::backup::row_file::{RowFileLine, RowFileReader};
use crate::adapters::mysql::backup::rows_file_name;
use crate::adapters::mysql::rows::damaged;
use crate::domain::growth::{CellValue, GROWN_TABLES, GrownTable, ReturnedRows, RowPlace};
use crate::ports::store::{Result, StoreError};

/// Rows of a chunk.
const MAX_CHUNK_ROWS: usize = 1_000;
/// Bytes of a chunk, as the file has them: the row that reaches them is its last.
const MAX_CHUNK_BYTES: usize = 1 << 20;
/// The table whose rows come first.
const SUBJECT_TABLE: &str = "subject";

/// Sends the rows of the copy in this folder, which is of so many databases.
///
/// # Errors
/// When a file is not what a backup has, or nothing receives the rows any more.
pub async fn send_returned_rows(folder: &Path, databases: usize, rows: &mpsc::Sender<ReturnedRows>) -> Result<()> {
    for subjects in [true, false] {
        for database in 0..databases {
            let mut file = RowFileReader::open(&folder.join(rows_file_name(database))).await?;
            send_file(&mut file, rows, |table| {
                (table.to == SUBJECT_TABLE) == subjects
                    && (database == 0 || !matches!(table.place, RowPlace::FirstDatabase))
            })
            .await?;
        }
    }
    Ok(())
}

async fn send_file(
    file: &mut RowFileReader,
    chunks: &mpsc::Sender<ReturnedRows>,
    is_sent: impl Fn(&GrownTable) -> bool,
) -> Result<()> {
    let mut chunk: Option<ReturnedRows> = None;
    let mut bytes = 0;
    loop {
        let line = file.next().await?;
        let is_full =
            chunk.as_ref().is_some_and(|chunk| chunk.rows.len() >= MAX_CHUNK_ROWS) || bytes >= MAX_CHUNK_BYTES;
        if (is_full || !matches!(line, Some(RowFileLine::Row(_))))
            && let Some(chunk) = &mut chunk
        {
            let full = ReturnedRows { rows: std::mem::take(&mut chunk.rows), columns: chunk.columns.clone(), ..*chunk };
            bytes = 0;
            chunks.send(full).await.map_err(|_| StoreError::Database("the restore was given up".into()))?;
        }
        match line {
            Some(RowFileLine::Row(row)) => {
                if let Some(chunk) = &mut chunk {
                    bytes += row.len();
                    chunk.rows.push(parse_row(&row)?);
                }
            }
            Some(RowFileLine::Table(next)) => {
                let table = find_table(&next.table).filter(|table| is_sent(table));
                let columns: Arc<[String]> = next.columns.into();
                chunk = table.map(|table| ReturnedRows { table, columns, rows: vec![] });
            }
            None => return Ok(()),
        }
    }
}

/// What a table of a cluster, numbered or not, was made of; `None` where it does not come back.
fn find_table(name: &str) -> Option<&'static GrownTable> {
    let is_named = |table: &&GrownTable| match table.place {
        RowPlace::TablesOf(_) => {
            let number = name.strip_prefix(table.to).and_then(|rest| rest.strip_prefix('_'));
            number.is_some_and(|number| number.parse::<u16>().is_ok())
        }
        RowPlace::FirstDatabase | RowPlace::DatabaseOf(_) => table.to == name,
    };
    GROWN_TABLES.iter().find(is_named).filter(|table| !table.is_derived())
}

/// The cells of a row, whose form the file has checked.
fn parse_row(row: &str) -> Result<Vec<CellValue>> {
    let cells = row.trim_start_matches('(').trim_end_matches(')').split(',').map(|cell| {
        Ok(match cell.strip_prefix("X'").and_then(|cell| cell.strip_suffix('\'')) {
            Some(digits) => CellValue::Bytes(hex::decode(digits).map_err(damaged)?),
            None if cell == "NULL" => CellValue::Null,
            None => CellValue::Number(cell.parse().map_err(damaged)?),
        })
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::mysql::backup::row_file::RowFileWriter;

    #[test]
    fn table_is_found_by_its_name_with_a_number_or_without() {
        let found = |name: &str| find_table(name).map(|table| (table.from, table.to));
        assert_eq!(found("comment_17"), Some(("comment", "comment")));
        assert_eq!(found("member_name"), Some(("member_name", "member_name")));
        assert_eq!(found("installation_audit"), Some(("audit", "installation_audit")));
        for name in ["member_comment_0", "comment", "comment_x", "outbox", "slot", "feed", ""] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn cells_are_numbers_bytes_and_nulls() {
        let expected =
            [CellValue::Number(-7), CellValue::Bytes(vec![0xc3, 0xa9]), CellValue::Null, CellValue::Bytes(vec![])];
        assert_eq!(parse_row("(-7,X'C3A9',NULL,X'')").unwrap(), expected);
        assert!(parse_row("(99999999999999999999)").is_err());
    }

    #[tokio::test]
    async fn subjects_come_first_and_copies_of_other_databases_do_not() {
        let folder = tempfile::tempdir().unwrap();
        for database in 0..2 {
            let mut file = RowFileWriter::create(&folder.path().join(rows_file_name(database))).await.unwrap();
            for (table, rows) in [("comment_0", 2_001), ("feed", 3), ("subject_0", 1), ("word", 2)] {
                file.begin_table(table, "`id`").await.unwrap();
                for row in 0..rows {
                    file.write_row(&format!("({row})")).await.unwrap();
                }
            }
            file.finish().await.unwrap();
        }
        let (sender, mut chunks) = mpsc::channel(1);
        let path = folder.path().to_owned();
        let sent = tokio::spawn(async move { send_returned_rows(&path, 2, &sender).await });
        let mut sizes = Vec::new();
        while let Some(chunk) = chunks.recv().await {
            assert_eq!(chunk.columns[..], ["id".to_owned()]);
            sizes.push((chunk.table.to, chunk.rows.len()));
        }
        sent.await.unwrap().unwrap();
        let of_comments = [("comment", 1_000), ("comment", 1_000), ("comment", 1)];
        let expected = [&[("subject", 1), ("subject", 1)][..], &of_comments, &[("word", 2)], &of_comments].concat();
        assert_eq!(sizes, expected);
    }
}
