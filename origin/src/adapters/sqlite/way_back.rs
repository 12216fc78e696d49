//! Fills an empty file with the rows of a cluster, which becomes an embedded installation again.
//!
//! Not here: which column is made of which ([`crate::domain::growth`]). Promise: memory has some chunks of bounded size,
//! however many rows come. It blocks, and a file that was not filled to its end is no installation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gailou_shared::id::SubjectKey;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use tokio::sync::mpsc;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::rows::damaged;
use crate::domain::growth::{CellValue, GROWN_TABLES, GrownTable, ReturnedRows};
use crate::ports::failure::Failure;
use crate::ports::store::{Result, StoreError};

/// The table that other rows have their subjects of.
const SUBJECT_TABLE: &str = "subject";

impl ToSql for CellValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Makes the tables in this file, and fills them with all rows that come: those of subjects first. `note` gets the table
/// and the number of rows of each chunk.
///
/// # Errors
/// When a row is none of a cluster, is there already, or the file cannot be written to.
pub fn fill_with_returned_rows(
    file: &Path,
    mut chunks: mpsc::Receiver<ReturnedRows>,
    note: &dyn Fn(&GrownTable, u64),
) -> Result<()> {
    let mut connection = Connection::open(file)?;
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")?;
    let migrated = SqliteStore::migrations().to_latest(&mut connection);
    migrated.map_err(|error| StoreError::Database(Failure::of_driver(error)))?;
    let texts = read_text_columns(&connection)?;
    let tx = connection.transaction()?;
    tx.execute_batch("CREATE TEMP TABLE returned_subject (number INTEGER PRIMARY KEY, id INTEGER NOT NULL)")?;
    while let Some(chunk) = chunks.blocking_recv() {
        write(&tx, &chunk, &texts)?;
        note(chunk.table, chunk.rows.len() as u64);
    }
    // The place where a cluster goes on with ranking means nothing here: everything is ranked again.
    tx.execute_batch(
        "DELETE FROM setting WHERE name = 'weights' AND EXISTS (SELECT 1 FROM setting WHERE name = 'rank_progress');
         DELETE FROM setting WHERE name = 'rank_progress';",
    )?;
    tx.commit()?;
    connection.close().map_err(|(_, error)| error.into())
}

/// The columns that have texts, by their tables: a cluster has them as bytes.
fn read_text_columns(connection: &Connection) -> Result<BTreeMap<&'static str, BTreeSet<String>>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1) WHERE type = 'TEXT'")?;
    let read = |table: &GrownTable| {
        let columns = statement.query_map([table.from], |r| r.get(0))?.collect::<std::result::Result<_, _>>()?;
        Ok((table.from, columns))
    };
    GROWN_TABLES.iter().map(read).collect()
}

fn write(tx: &Connection, chunk: &ReturnedRows, texts: &BTreeMap<&str, BTreeSet<String>>) -> Result<()> {
    let table = chunk.table;
    let is_subject = table.from == SUBJECT_TABLE;
    let mut insert = tx.prepare_cached(&insert(table, &chunk.columns, |column| {
        texts.get(table.from).is_some_and(|columns| columns.contains(column))
    }))?;
    let mut number = tx.prepare_cached("INSERT INTO temp.returned_subject (number, id) VALUES (?1, ?2)")?;
    for row in &chunk.rows {
        if is_subject {
            let id = cell(chunk, row, "id");
            let obj_id = CellValue::Number(obj_id(cell(chunk, row, "type"), cell(chunk, row, "key"))?);
            insert.execute(params_from_iter(row.iter().chain([&obj_id])))?;
            number.execute((id, tx.last_insert_rowid()))?;
        } else {
            insert.execute(params_from_iter(row))?;
        }
    }
    Ok(())
}

/// The statement that writes a row, whose parameters are its cells in their order, and of a subject also its `obj_id`.
fn insert(table: &GrownTable, columns: &[String], is_text: impl Fn(&str) -> bool) -> String {
    let of_subject = (table.from == SUBJECT_TABLE).then_some("obj_id");
    let cells = columns.iter().map(String::as_str).chain(of_subject);
    let cells: Vec<_> = cells.enumerate().map(|(i, column)| format!("?{} AS \"{column}\"", i + 1)).collect();
    let values = table.returned_columns().map(|(column, value)| match is_text(column) {
        true => format!("CAST({value} AS TEXT) AS \"{column}\""),
        false => format!("{value} AS \"{column}\""),
    });
    let values: Vec<_> = values.collect();
    let names: Vec<_> = table.returned_columns().map(|(column, _)| format!("\"{column}\"")).collect();
    let conflict = match table.returned_conflict() {
        "" => String::new(),
        conflict => format!(" ON CONFLICT {conflict}"),
    };
    format!(
        "INSERT INTO {} ({}) SELECT * FROM (SELECT {} FROM (SELECT {})) WHERE {}{conflict}",
        table.from,
        names.join(", "),
        values.join(", "),
        cells.join(", "),
        table.only.unwrap_or("TRUE"),
    )
}

/// The cell of a column; null where the row has none.
fn cell<'r>(chunk: &ReturnedRows, row: &'r [CellValue], column: &str) -> &'r CellValue {
    let at = chunk.columns.iter().position(|other| other == column);
    at.and_then(|at| row.get(at)).unwrap_or(&CellValue::Null)
}

/// What the row of a subject is found by.
fn obj_id(kind: &CellValue, key: &CellValue) -> Result<i64> {
    let (CellValue::Bytes(kind), CellValue::Bytes(key)) = (kind, key) else {
        return Err(damaged("a subject without a key"));
    };
    let (kind, key) = (std::str::from_utf8(kind).map_err(damaged)?, std::str::from_utf8(key).map_err(damaged)?);
    Ok(SubjectKey::new(kind, key).map_err(damaged)?.obj_id().cast_signed())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::spawn_blocking;

    use super::*;
    use crate::adapters::sqlite::DATABASE_FILE_NAME;
    use crate::domain::growth::LEFT_TABLES;

    /// Each column that the migrations make, with its table.
    fn read_schema(file: &Path) -> BTreeSet<(String, String)> {
        let connection = Connection::open(file).unwrap();
        let text = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
                    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
        let mut statement = connection.prepare(text).unwrap();
        statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap().collect::<std::result::Result<_, _>>().unwrap()
    }

    fn bytes(text: &str) -> CellValue {
        CellValue::Bytes(text.into())
    }

    fn rows(to: &str, columns: &[&str], cells: &[&[CellValue]]) -> ReturnedRows {
        let columns: Arc<[String]> = columns.iter().map(|column| (*column).to_owned()).collect();
        let table = GROWN_TABLES.iter().find(|table| table.to == to).unwrap();
        ReturnedRows { table, columns, rows: cells.iter().map(|row| row.to_vec()).collect() }
    }

    /// Fills a file with these rows.
    async fn fill(folder: &Path, chunks: Vec<ReturnedRows>) -> Result<Connection> {
        let file = folder.join(DATABASE_FILE_NAME);
        let (sender, receiver) = mpsc::channel(1);
        let path = file.clone();
        let filled = spawn_blocking(move || fill_with_returned_rows(&path, receiver, &|_, _| ()));
        for chunk in chunks {
            // Where it has failed, nothing is received any more.
            let _ = sender.send(chunk).await;
        }
        drop(sender);
        filled.await.unwrap()?;
        Ok(Connection::open(file)?)
    }

    #[tokio::test]
    async fn every_table_and_column_comes_back_or_has_a_reason_not_to() {
        let folder = tempfile::tempdir().unwrap();
        drop(fill(folder.path(), vec![]).await.unwrap());
        let mut left = read_schema(&folder.path().join(DATABASE_FILE_NAME));
        assert!(
            left.remove(&("subject".into(), "id".into())) && left.remove(&("event".into(), "seq".into())),
            "numbers"
        );
        left.retain(|(table, _)| LEFT_TABLES.iter().all(|(name, _)| name != table));
        for table in &GROWN_TABLES {
            for (column, _) in table.returned_columns() {
                left.remove(&(table.from.to_owned(), column.to_owned()));
            }
        }
        assert!(left.is_empty(), "domain/growth.rs does not say what fills {left:?} on the way back");
    }

    #[tokio::test]
    async fn subjects_get_numbers_and_other_rows_refer_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let subject = rows(
            "subject",
            &[
                "id", "slot", "type", "key", "title", "url", "owner_id", "mode", "state", "version", "floors", "roots",
                "comments",
            ],
            &[&[
                CellValue::Number(i64::MAX),
                CellValue::Number(3),
                bytes("article"),
                bytes("7"),
                bytes("标题"),
                CellValue::Null,
                CellValue::Null,
                CellValue::Null,
                CellValue::Number(1),
                CellValue::Number(9),
                CellValue::Number(0),
                CellValue::Number(0),
                CellValue::Number(0),
            ]],
        );
        let source = [bytes("disqus/1"), CellValue::Number(5), CellValue::Number(i64::MAX)];
        let sources = rows("import_source", &["source", "comment_id", "subject"], &[&source]);
        let copy = fill(folder.path(), vec![subject, sources]).await.unwrap();
        let text = "SELECT s.id, s.title, s.obj_id, s.state, i.source \
                    FROM subject s JOIN import_source i ON i.subject = s.id";
        let found = copy.query_row(text, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))).unwrap();
        let expected: (i64, String, i64, i64, String) = (1, "标题".into(), 7, 1, "disqus/1".into());
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn settings_of_a_cluster_alone_stay_behind() {
        let folder = tempfile::tempdir().unwrap();
        let cells = [("words_version", "7"), ("installation", "x"), ("search_index", "y"), ("weights", "w")];
        let cells: Vec<_> = cells.iter().map(|(name, value)| vec![bytes(name), bytes(value)]).collect();
        let cells: Vec<&[CellValue]> = cells.iter().map(Vec::as_slice).collect();
        let copy = fill(folder.path(), vec![rows("setting", &["name", "value"], &cells)]).await.unwrap();
        let read = |text: &str| copy.query_row(text, [], |r| r.get::<_, String>(0)).unwrap();
        assert_eq!(
            read("SELECT group_concat(name || typeof(value), ' ') FROM setting"),
            "weightstext words_versioninteger"
        );
        // Ranking that was not at its end begins anew.
        let cells = [[bytes("rank_progress"), bytes("{}")], [bytes("weights"), bytes("w")]];
        let other = tempfile::tempdir().unwrap();
        let chunk = rows("setting", &["name", "value"], &[&cells[0], &cells[1]]);
        let copy = fill(other.path(), vec![chunk]).await.unwrap();
        assert_eq!(copy.query_row("SELECT COUNT(*) FROM setting", [], |r| r.get::<_, i64>(0)).unwrap(), 0);
    }

    #[tokio::test]
    async fn parts_of_a_step_are_added_up_and_a_row_that_is_there_twice_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let columns = ["part", "step", "at", "posts", "held", "rejected", "reports", "reactions"];
        let row = |part: i64, posts: i64| [part, 1, 60, posts, 1, 0, 0, 2].map(CellValue::Number);
        let chunk = rows("activity", &columns, &[&row(0, 3), &row(4, 5)]);
        let copy = fill(folder.path(), vec![chunk]).await.unwrap();
        let text = "SELECT posts || ' ' || held || ' ' || reactions FROM activity";
        assert_eq!(copy.query_row(text, [], |r| r.get::<_, String>(0)).unwrap(), "8 2 4");
        let folder = tempfile::tempdir().unwrap();
        let word = [bytes("a"), bytes("b"), bytes("mask")];
        let words = rows("word", &["term", "category", "action"], &[&word, &word]);
        assert!(fill(folder.path(), vec![words]).await.is_err());
    }

    #[tokio::test]
    async fn row_of_no_subject_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = [bytes("disqus/1"), CellValue::Number(5), CellValue::Number(8)];
        let sources = rows("import_source", &["source", "comment_id", "subject"], &[&source]);
        assert!(fill(folder.path(), vec![sources]).await.is_err());
        let folder = tempfile::tempdir().unwrap();
        let subject =
            rows("subject", &["id", "type", "key"], &[&[CellValue::Number(1), bytes("article"), CellValue::Null]]);
        assert!(fill(folder.path(), vec![subject]).await.is_err());
    }
}
