//! Fills empty databases with the rows of an embedded installation, which grows into a cluster.
//!
//! The tables are those of a new cluster, and so is everything that embedded there is none of: the slots begin at the
//! positions of an empty log. Each row goes where its slot is. Promise: memory has a bounded number of bytes of rows,
//! and as with every restore no process uses the databases before [`MysqlRestore::finish`].

use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use tokio::sync::mpsc;

use crate::adapters::mysql::backup::MysqlRestore;
use crate::adapters::mysql::migrate;
use crate::adapters::mysql::row_numbers::{member_slot, subject_number};
use crate::adapters::mysql::rows::{comment_id, damaged, member_id};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_write::digest_slot;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues, RowsByTable};
use crate::domain::backup::{CopyProgress, TablesCopy};
use crate::domain::growth::{CellValue, ColumnSource, GrownRows, GrownTable, RowPlace, SlotKey};
use crate::ports::store::{Result, StoreError};

/// Bytes of rows, as statements have them, that are written together: in one transaction of each database.
const MAX_PENDING_BYTES: usize = 8 << 20;
/// The tables that have a row for each comment. They stand for the rows of all tables, which a backup does not count.
const COUNTED_TABLES: [&str; 3] = ["comment", "member_comment", "content"];

impl MysqlRestore {
    /// Makes the tables and fills them with all rows that come.
    ///
    /// # Errors
    /// When a row is none of an embedded installation, or a database does not answer.
    pub async fn grow(
        &self,
        mut rows: mpsc::Receiver<GrownRows>,
        copy: &TablesCopy,
        now: u64,
        report: &(dyn Fn(CopyProgress) + Send + Sync),
    ) -> Result<()> {
        let mut writer = self.begin_growth().await?;
        let mut progress = CopyProgress { done: 0, total: copy.rows.comments * COUNTED_TABLES.len() as u64 };
        while let Some(chunk) = rows.recv().await {
            writer.write(&chunk).await?;
            if COUNTED_TABLES.contains(&chunk.table.to) {
                progress.done += chunk.rows.len() as u64;
                report(progress);
            }
        }
        writer.flush().await?;
        let passes = writer.databases.iter_mut().enumerate().map(|(database, GrownDatabase { session, .. })| {
            self.pass_restore(session, database, migrate::count_migrations(), now)
        });
        try_join_all(passes).await.map(drop)
    }

    /// Makes the tables of an empty cluster, and the rows of its slots.
    async fn begin_growth(&self) -> Result<GrowthWriter> {
        let databases = self.pools.iter().map(|pool| async {
            let mut session = pool.session("restore").await?;
            session.allow_long_work().await?;
            for statement in migrate::current_statements(self.tables) {
                session.execute_text(statement).await?;
            }
            Ok::<_, StoreError>(GrownDatabase { session, pending: RowsByTable::new() })
        });
        let databases = try_join_all(databases).await?;
        let owners = migrate::create_slot_rows(&self.pools).await?;
        Ok(GrowthWriter { databases, owners, tables: self.tables, pending_table: None, pending_bytes: 0 })
    }
}

/// Writes rows where their slots are.
struct GrowthWriter {
    databases: Vec<GrownDatabase>,
    /// The database of every slot.
    owners: Vec<usize>,
    tables: u16,
    /// The table of all rows that are not written yet.
    pending_table: Option<&'static GrownTable>,
    pending_bytes: usize,
}

struct GrownDatabase {
    session: MysqlSession,
    /// Rows of one table that are not written yet, by its number.
    pending: RowsByTable,
}

impl GrowthWriter {
    /// Takes rows, and writes those before them where they are of another table, or enough.
    async fn write(&mut self, chunk: &GrownRows) -> Result<()> {
        let is_other = self.pending_table.is_some_and(|table| table.to != chunk.table.to);
        if is_other || self.pending_bytes >= MAX_PENDING_BYTES {
            self.flush().await?;
        }
        self.pending_table = Some(chunk.table);
        for cells in &chunk.rows {
            let row = PlacedRow::new(chunk.table, cells)?;
            let database = row.slot.map_or(0, |slot| self.owners[usize::from(slot.get())]);
            let number = match (chunk.table.place, row.slot) {
                (RowPlace::TablesOf(_), Some(slot)) => slot.get() % self.tables,
                _ => 0,
            };
            self.pending_bytes += row.values.len();
            self.databases[database].pending.entry(number).or_default().push(row.values);
        }
        Ok(())
    }

    /// Writes the rows that wait, to all databases at once.
    async fn flush(&mut self) -> Result<()> {
        let Some(table) = self.pending_table.take() else { return Ok(()) };
        self.pending_bytes = 0;
        let name = match table.place {
            RowPlace::TablesOf(_) => format!("{}_{{n}}", table.to),
            RowPlace::FirstDatabase | RowPlace::DatabaseOf(_) => table.to.to_owned(),
        };
        let columns: Vec<String> = table.columns().map(|(column, _)| format!("`{column}`")).collect();
        // A row that is there already is one too many.
        let statement = format!("INSERT INTO {name} ({}) VALUES {{rows}}", columns.join(", "));
        let written = self.databases.iter_mut().filter(|database| !database.pending.is_empty());
        try_join_all(written.map(|database| database.write(&statement))).await.map(drop)
    }
}

impl GrownDatabase {
    async fn write(&mut self, statement: &str) -> Result<()> {
        self.session.begin().await?;
        let mut script = BatchScript::new(&mut self.session);
        script.add_rows(statement, std::mem::take(&mut self.pending)).await?;
        script.send().await?;
        self.session.commit().await
    }
}

/// A row as an `INSERT` takes it.
struct PlacedRow {
    /// `None` for what is of no slot.
    slot: Option<Slot>,
    values: String,
}

impl PlacedRow {
    fn new(table: &GrownTable, cells: &[CellValue]) -> Result<Self> {
        let [key, cells @ ..] = cells else { return Err(damaged("a row without cells")) };
        let subject = match table.place.key() {
            Some(SlotKey::Subject(_)) => Some(parse_subject(key)?),
            _ => None,
        };
        let slot = match (table.place.key(), &subject) {
            (None, _) => None,
            (Some(_), Some(subject)) => Some(subject.slot()),
            (Some(by), None) => Some(find_slot(by, key)?),
        };
        let (mut values, mut cells) = (RowValues::new(), cells.iter());
        for (column, source) in table.columns() {
            let mut next = || cells.next().ok_or_else(|| damaged(format_args!("{column} of {} is missing", table.to)));
            values = match source {
                ColumnSource::SlotNumber => values.number(slot.map(|slot| i64::from(slot.get()))),
                ColumnSource::Expression(_) => put(values, next()?),
                ColumnSource::SubjectNamed(_) => values.number(subject_number(&parse_subject(next()?)?)),
                ColumnSource::SubjectUnless(_) => match next()? {
                    CellValue::Null => values.number(subject.as_ref().map(subject_number)),
                    cell => put(values, cell),
                },
            };
        }
        Ok(Self { slot, values: values.end() })
    }
}

fn put(values: RowValues, cell: &CellValue) -> RowValues {
    match cell {
        CellValue::Null => values.number(None),
        CellValue::Number(number) => values.number(*number),
        CellValue::Bytes(bytes) => values.bytes(&bytes[..]),
    }
}

/// The subject `type/key`.
fn parse_subject(cell: &CellValue) -> Result<SubjectKey> {
    let text = match cell {
        CellValue::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    };
    let parts = text.and_then(|text| text.split_once('/'));
    let (kind, key) = parts.ok_or_else(|| damaged("a row without a subject"))?;
    SubjectKey::new(kind, key).map_err(damaged)
}

/// The slot of a row that is found by something else than its subject.
fn find_slot(by: SlotKey, key: &CellValue) -> Result<Slot> {
    let found = match (by, key) {
        (SlotKey::Id(_), CellValue::Number(id)) => Some(comment_id(*id)?.slot()),
        (SlotKey::Ids(_), CellValue::Bytes(ids)) => {
            let first = ids.first_chunk().map(|id| CommentId::new(u64::from_be_bytes(*id)).map_err(damaged));
            first.transpose()?.map(CommentId::slot)
        }
        (SlotKey::Member(_), CellValue::Number(id)) => Some(member_slot(member_id(*id)?)),
        (SlotKey::Digest(_), CellValue::Bytes(digest)) => digest.as_slice().try_into().ok().map(digest_slot),
        (SlotKey::Number(_), CellValue::Number(slot)) => u16::try_from(*slot).ok().and_then(Slot::new),
        _ => None,
    };
    found.ok_or_else(|| damaged(format_args!("{} has no slot", by.column())))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use gailou_shared::id::MemberId;

    use super::*;
    use crate::domain::growth::{GROWN_TABLES, NEW_TABLES};

    /// The columns of each table of a new database, the numbered ones without a number.
    fn read_schema() -> BTreeMap<String, BTreeSet<String>> {
        let mut schema = BTreeMap::new();
        for statement in migrate::current_statements(1) {
            let Some((_, rest)) = statement.split_once("CREATE TABLE IF NOT EXISTS ") else { continue };
            let (name, body) = rest.split_once(" (").unwrap();
            let columns = body.lines().filter_map(|line| {
                let first = line.split_whitespace().next()?.trim_matches('`');
                let is_column = first.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                is_column.then(|| first.to_owned())
            });
            schema.insert(name.trim_end_matches("_0").to_owned(), columns.collect());
        }
        schema
    }

    #[test]
    fn every_table_and_column_of_a_cluster_is_filled_or_has_a_reason_to_be_empty() {
        let mut schema = read_schema();
        assert!(schema.len() > 40 && schema["comment"].contains("reacted"), "{schema:?}");
        for (table, _) in NEW_TABLES {
            assert!(schema.remove(table).is_some(), "there is no table {table}");
        }
        for (name, columns) in schema {
            let table = GROWN_TABLES.iter().find(|table| table.to == name);
            let table = table.unwrap_or_else(|| panic!("domain/growth.rs does not say what fills the table {name}"));
            let filled: BTreeSet<String> = table.columns().map(|(column, _)| column.to_owned()).collect();
            let left: BTreeSet<String> = table.left_columns().map(str::to_owned).collect();
            let forgotten: Vec<_> = columns.iter().filter(|c| !filled.contains(*c) && !left.contains(*c)).collect();
            assert!(forgotten.is_empty(), "domain/growth.rs does not say what fills {forgotten:?} of {name}");
            assert!(filled.is_subset(&columns), "{name} has no {:?}", filled.difference(&columns));
        }
    }

    #[test]
    fn each_table_is_filled_once() {
        let names: BTreeSet<&str> = GROWN_TABLES.iter().map(|table| table.to).collect();
        assert_eq!(names.len(), GROWN_TABLES.len());
    }

    fn placed(to: &str, cells: &[CellValue]) -> Result<PlacedRow> {
        PlacedRow::new(GROWN_TABLES.iter().find(|table| table.to == to).unwrap(), cells)
    }

    fn bytes(bytes: &[u8]) -> CellValue {
        CellValue::Bytes(bytes.to_vec())
    }

    #[test]
    fn row_goes_to_the_slot_of_what_it_is_about() {
        let id = CommentId::from_parts(1_800_000_000_000, Slot::new(77).unwrap(), 0, 0);
        let (number, subject) = (CellValue::Number(id.signed()), SubjectKey::new("article", "7").unwrap());
        let check = |to: &str, cells: &[CellValue], slot: Option<Slot>, values: &str| {
            let row = placed(to, cells).unwrap();
            assert_eq!((row.slot, row.values.as_str()), (slot, values), "{to}");
        };
        let n = subject_number(&subject);
        let cells = [bytes(b"article/7"), bytes(b"x"), number.clone(), CellValue::Null];
        check("import_source", &cells, Some(subject.slot()), &format!("(X'78',{id},{n})"));
        let member = MemberId::new(9).unwrap();
        let cells = [CellValue::Number(9), CellValue::Number(9), number.clone(), CellValue::Number(1)];
        let slot = member_slot(member);
        check("member_comment", &cells, Some(slot), &format!("(9,{id},1,{})", slot.get()));
        let cells = [number.clone(), number.clone(), CellValue::Number(8), CellValue::Number(1)];
        check("reaction", &cells, Slot::new(77), &format!("({id},8,1,77)"));
        let ids = [id.get().to_be_bytes(), [0; 8]].concat();
        let cells = [bytes(&ids), bytes(b"i"), bytes(b"j"), CellValue::Number(5)];
        check("snapshot", &cells, Slot::new(77), "(X'69',X'6A',5,77)");
        let digest = [[3, 9].as_slice(), &[0; 30]].concat();
        let cells = [bytes(&digest), bytes(b"d"), CellValue::Number(1), CellValue::Number(2)];
        check("identity", &cells, Slot::new(777), "(X'64',1,2,777)");
        let cells = [CellValue::Number(6), CellValue::Number(1), CellValue::Number(2)];
        check("review_count", &cells, Slot::new(6), "(1,2,6)");
        check("word", &[CellValue::Null, bytes(b"t"), bytes(b"c"), bytes(b"a")], None, "(X'74',X'63',X'61')");
    }

    #[test]
    fn row_without_its_place_is_refused() {
        let null = || CellValue::Null;
        let check = |to: &str, cells: &[CellValue]| assert!(placed(to, cells).is_err(), "{to}");
        check("import_source", &[null(), bytes(b"x"), null(), null()]);
        check("import_source", &[bytes(b"article"), bytes(b"x"), null(), null()]);
        check("reaction", &[CellValue::Number(-1), null(), null(), null()]);
        check("snapshot", &[bytes(b"1234567"), null(), null(), null()]);
        check("identity", &[bytes(b"short"), null(), null(), null()]);
        check("review_count", &[CellValue::Number(1_024), null(), null()]);
        check("word", &[null(), bytes(b"t"), bytes(b"c")]);
        check("word", &[]);
    }
}
