//! Reads the copy of an embedded installation for a cluster that it grows into, a table after the other.
//!
//! Not here: what becomes of a row ([`crate::domain::growth`]). Promise: the file stays as it is, and memory has some
//! chunks of bounded size, however large it is.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use tokio::sync::mpsc;

use crate::adapters::sqlite::DATABASE_FILE_NAME;
use crate::adapters::sqlite::rows::damaged;
use crate::domain::growth::{CellValue, GROWN_TABLES, GrownRows, GrownTable, SlotKey};
use crate::ports::store::{Result, StoreError};

/// Rows of a chunk.
const MAX_CHUNK_ROWS: usize = 1_000;
/// Bytes of a chunk: the row that reaches them is its last.
const MAX_CHUNK_BYTES: usize = 1 << 20;

/// Sends the rows of the copy in this folder. It blocks.
///
/// # Errors
/// When the file cannot be read, or nothing receives the rows any more.
pub fn send_grown_rows(folder: &Path, rows: &mpsc::Sender<GrownRows>) -> Result<()> {
    let copy = open_copy(&folder.join(DATABASE_FILE_NAME))?;
    GROWN_TABLES.iter().try_for_each(|table| send_table(&copy, table, rows))
}

/// Opens a file that no process writes. As one with a log (WAL) it would get files beside it.
fn open_copy(file: &Path) -> Result<Connection> {
    let address = format!("file:{}?immutable=1", percent_encode(file.as_os_str().as_bytes(), NON_ALPHANUMERIC));
    Ok(Connection::open_with_flags(address, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?)
}

fn send_table(copy: &Connection, table: &'static GrownTable, chunks: &mpsc::Sender<GrownRows>) -> Result<()> {
    let mut statement = copy.prepare(&select(table))?;
    let mut found = statement.query([])?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    loop {
        let row = found.next()?;
        if let Some(row) = row {
            let cells = read_cells(row)?;
            bytes += cells.iter().map(size).sum::<usize>();
            rows.push(cells);
        }
        let is_full = rows.len() >= MAX_CHUNK_ROWS || bytes >= MAX_CHUNK_BYTES;
        if is_full || row.is_none() && !rows.is_empty() {
            let chunk = GrownRows { table, rows: std::mem::take(&mut rows) };
            chunks.blocking_send(chunk).map_err(|_| StoreError::Database("the restore was given up".into()))?;
            bytes = 0;
        }
        if row.is_none() {
            return Ok(());
        }
    }
}

/// The query of a table: what the slots of its rows are found by, and its expressions.
fn select(table: &GrownTable) -> String {
    let key = match table.place.key() {
        None => "NULL".to_owned(),
        // The number of an embedded subject means nothing elsewhere.
        Some(SlotKey::Subject(column)) => {
            format!("(SELECT s.type || '/' || s.key FROM subject s WHERE s.id = t.{column})")
        }
        Some(key) => key.column().to_owned(),
    };
    let expressions = table.expressions().collect::<Vec<_>>().join(", ");
    let condition = table.only.map_or(String::new(), |only| format!(" WHERE {only}"));
    format!("SELECT {key}, {expressions} FROM {} t{condition}", table.from)
}

fn read_cells(row: &Row<'_>) -> Result<Vec<CellValue>> {
    let cell = |index| {
        Ok(match row.get_ref(index)? {
            ValueRef::Null => CellValue::Null,
            ValueRef::Integer(number) => CellValue::Number(number),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => CellValue::Bytes(bytes.to_vec()),
            ValueRef::Real(_) => return Err(damaged("a fraction, where no column has one")),
        })
    };
    (0..row.as_ref().column_count()).map(cell).collect()
}

fn size(cell: &CellValue) -> usize {
    match cell {
        CellValue::Null | CellValue::Number(_) => size_of::<CellValue>(),
        CellValue::Bytes(bytes) => size_of::<CellValue>() + bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use tokio::task::spawn_blocking;

    use super::*;
    use crate::adapters::sqlite::SqliteStore;
    use crate::domain::growth::LEFT_TABLES;

    fn open(folder: &Path) -> SqliteStore {
        SqliteStore::open(&folder.join(DATABASE_FILE_NAME), Default::default()).unwrap()
    }

    /// The columns of each table that the migrations make.
    fn read_schema(copy: &Connection) -> BTreeMap<String, BTreeSet<String>> {
        let text = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
                    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
        let mut schema: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut statement = copy.prepare(text).unwrap();
        for row in statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap() {
            let (table, column) = row.unwrap();
            schema.entry(table).or_default().insert(column);
        }
        schema
    }

    #[test]
    fn every_table_and_column_grows_or_has_a_reason_not_to() {
        let folder = tempfile::tempdir().unwrap();
        let mut left = read_schema(&open(folder.path()).writer());
        for (table, _) in LEFT_TABLES {
            assert!(left.remove(table).is_some(), "there is no table {table}");
        }
        for (name, columns) in left {
            let tables: Vec<_> = GROWN_TABLES.iter().filter(|table| table.from == name).collect();
            assert!(!tables.is_empty(), "domain/growth.rs does not say what becomes of the table {name}");
            let named = tables.iter().flat_map(|table| {
                let key = table.place.key().map(SlotKey::column);
                table.expressions().chain(key).chain(table.left_columns())
            });
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let words: BTreeSet<&str> = named.flat_map(|text| text.split(|c| !is_word(c))).collect();
            let forgotten: Vec<_> = columns.iter().filter(|column| !words.contains(column.as_str())).collect();
            assert!(forgotten.is_empty(), "domain/growth.rs does not say what becomes of {forgotten:?} of {name}");
        }
    }

    #[tokio::test]
    async fn rows_come_in_chunks_of_bounded_size_and_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        store.execute("INSERT INTO subject (id, type, obj_id, key) VALUES (3, 'article', 1, '1')");
        // The first subject has many rows, and one comment many bytes.
        store.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) \
             INSERT INTO import_source (subject, source, comment_id) SELECT 3, 'source ' || i, i FROM n",
        );
        store.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) \
             INSERT INTO content (id, content, html) SELECT i, hex(zeroblob(50000)), '' FROM n",
        );
        drop(store);
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files(), 1);
        let (sender, mut chunks) = mpsc::channel(1);
        let path = folder.path().to_owned();
        let sent = spawn_blocking(move || send_grown_rows(&path, &sender));
        let mut sizes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut first = None;
        while let Some(chunk) = chunks.recv().await {
            sizes.entry(chunk.table.to).or_default().push(chunk.rows.len());
            assert_eq!(files(), 1, "nothing is written beside it");
            if chunk.table.to == "import_source" && first.is_none() {
                first = Some(chunk.rows[0].clone());
            }
        }
        sent.await.unwrap().unwrap();
        assert_eq!(sizes["import_source"], [1_000, 1_000, 500]);
        assert_eq!(sizes["content"], [11, 11, 8], "100,000 bytes each");
        assert_eq!(sizes["subject"], [1]);
        let bytes = |text: &str| CellValue::Bytes(text.into());
        let expected = [bytes("article/1"), bytes("source 1"), CellValue::Number(1), CellValue::Null];
        assert_eq!(first.unwrap(), expected, "the subject by its name, the two columns, and its number to come");
    }

    #[tokio::test]
    async fn reader_ends_with_an_error_when_nothing_receives() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path()).execute("INSERT INTO erased_member (member_id, at) VALUES (1, 1)");
        let (sender, receiver) = mpsc::channel(1);
        drop(receiver);
        let path = folder.path().to_owned();
        assert!(spawn_blocking(move || send_grown_rows(&path, &sender)).await.unwrap().is_err());
    }
}
