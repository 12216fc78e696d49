//! Copies the tables of every database into a file of rows as text, while they are read and written.
//!
//! The databases begin their transactions together, and each is read by the keys of its tables, a bounded page at a time.
//! A slot and the positions up to which it has applied the broker's log are in one database, so they fit together. What
//! one database owes another (a row of a history) is in neither when it was delivered between the two moments, which are
//! milliseconds apart; `gailou reconcile --repair` finds it. Promise: every slot is in the copy, once.

mod growth;
mod restore;
mod row_file;
mod way_back;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures_util::future::{join_all, try_join_all};
use gailou_shared::id::SLOT_COUNT;
pub use restore::MysqlRestore;
use sqlx::Row as _;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt as _, BufWriter};
pub use way_back::send_returned_rows;

use self::row_file::{RowFileWriter, io_error};
use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::migrate;
use crate::adapters::mysql::row_text::{TableDescription, is_after};
use crate::adapters::mysql::rows::{damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::{SlotState, SlotStatus};
use crate::domain::backup::{CopiedRows, CopiedStore, CopyProgress, TablesCopy};
use crate::ports::store::{PICTURE_LIST_FILE_NAME, Result, StoreError, TableBackup};

/// Rows that one statement reads: some hundred kilobytes of comments.
const ROWS_PER_PAGE: usize = 1_000;

/// The file of a database.
fn rows_file_name(database: usize) -> String {
    format!("database-{database}.rows")
}

#[async_trait]
impl TableBackup for MysqlStore {
    async fn back_up(&self, folder: &Path, report: &(dyn Fn(CopyProgress) + Send + Sync)) -> Result<TablesCopy> {
        let mut sessions = self.begin_copies().await?;
        check_slots(&mut sessions).await?;
        write_picture_list(&mut sessions[0], &folder.join(PICTURE_LIST_FILE_NAME)).await?;
        let progress = RowProgress { done: AtomicU64::new(0), total: AtomicU64::new(0), report };
        let made = migrate::made_tables(self.tables);
        let copies = sessions.iter_mut().enumerate().map(|(database, session)| {
            let (file, made, progress) = (folder.join(rows_file_name(database)), &made, &progress);
            async move { DatabaseCopy::new(session, &file, progress).await?.run(made).await }
        });
        let copied = try_join_all(copies).await?;
        for mut session in sessions {
            // Nothing was written.
            session.rollback().await?;
        }
        let rows = copied.into_iter().fold(CopiedRows::default(), |all, rows| CopiedRows {
            subjects: all.subjects + rows.subjects,
            comments: all.comments + rows.comments,
            reactions: all.reactions + rows.reactions,
            members: all.members + rows.members,
        });
        let store = CopiedStore::Mysql { databases: self.pools.len(), tables: self.tables };
        Ok(TablesCopy { store, migration: migrate::count_migrations(), rows })
    }
}

impl MysqlStore {
    /// Begins a transaction on each database, all at once.
    async fn begin_copies(&self) -> Result<Vec<MysqlSession>> {
        let mut sessions = Vec::with_capacity(self.pools.len());
        for database in 0..self.pools.len() {
            let mut session = self.session("back_up", database).await?;
            session.prepare_copy().await?;
            sessions.push(session);
        }
        join_all(sessions.iter_mut().map(MysqlSession::begin_copy)).await.into_iter().collect::<Result<()>>()?;
        Ok(sessions)
    }
}

/// Refuses a copy in which a slot is missing, or twice: it was moving.
async fn check_slots(sessions: &mut [MysqlSession]) -> Result<()> {
    let mut owned = BTreeSet::new();
    for session in sessions {
        for (slot, status) in SlotStatus::read_present(session).await? {
            let is_first = owned.insert(slot);
            if status.state != SlotState::Owned || !is_first {
                return Err(refuse_moving(slot.get()));
            }
        }
    }
    if owned.len() == usize::from(SLOT_COUNT) {
        return Ok(());
    }
    let missing = (0..SLOT_COUNT).find(|slot| !owned.iter().any(|owned| owned.get() == *slot));
    Err(refuse_moving(missing.unwrap_or_default()))
}

fn refuse_moving(slot: u16) -> StoreError {
    let text = format!("slot {slot} is moving between databases: begin again when `gailou shard move` has ended");
    StoreError::Database(text.into())
}

/// How many rows of all databases were copied.
struct RowProgress<'r> {
    done: AtomicU64,
    /// As the servers estimate it.
    total: AtomicU64,
    report: &'r (dyn Fn(CopyProgress) + Send + Sync),
}

impl RowProgress<'_> {
    fn add(&self, rows: u64) {
        let done = self.done.fetch_add(rows, Ordering::Relaxed) + rows;
        // It ends with the copy, whatever the estimate was.
        let total = self.total.load(Ordering::Relaxed).max(done + 1);
        (self.report)(CopyProgress { done, total });
    }
}

/// The copy of one database.
struct DatabaseCopy<'s> {
    session: &'s mut MysqlSession,
    file: RowFileWriter,
    progress: &'s RowProgress<'s>,
    rows: CopiedRows,
}

impl<'s> DatabaseCopy<'s> {
    async fn new(session: &'s mut MysqlSession, file: &Path, progress: &'s RowProgress<'s>) -> Result<Self> {
        let file = RowFileWriter::create(file).await?;
        Ok(Self { session, file, progress, rows: CopiedRows::default() })
    }

    /// Copies all tables that migrations have made.
    async fn run(mut self, made: &BTreeSet<String>) -> Result<CopiedRows> {
        let estimate = "SELECT CAST(COALESCE(SUM(table_rows), 0) AS SIGNED) FROM information_schema.tables \
                        WHERE table_schema = DATABASE()";
        if let Some(row) = self.session.fetch_text(estimate).await?.first() {
            self.progress.total.fetch_add(u64::try_from(number_at(row, 0)?).unwrap_or(0), Ordering::Relaxed);
        }
        let keys = read_primary_keys(self.session).await?;
        for (table, description) in TableDescription::read(self.session, "TRUE").await? {
            if made.contains(&table) {
                let key: Vec<&str> = keys.iter().filter(|(of, _)| *of == table).map(|(_, key)| key.as_str()).collect();
                let rows = self.copy_table(&description, &key).await?;
                self.count(&table, rows);
            }
        }
        self.file.finish().await?;
        Ok(self.rows)
    }

    /// Copies a table in the order of its key; how many rows.
    async fn copy_table(&mut self, description: &TableDescription, key: &[&str]) -> Result<u64> {
        let TableDescription { table, columns, row, .. } = description;
        let literals: Vec<&str> = key.iter().filter_map(|column| description.literal(column)).collect();
        if literals.is_empty() {
            return Err(damaged(format_args!("{table} has no key")));
        }
        let order = key.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ");
        let begin = format!("SELECT {row}, {} FROM {table} FORCE INDEX (PRIMARY)", literals.join(", "));
        let (mut after, mut copied) = (None, 0);
        loop {
            let condition =
                after.as_ref().map_or(String::new(), |last: &Vec<String>| format!(" WHERE {}", is_after(key, last)));
            let page = format!("{begin}{condition} ORDER BY {order} LIMIT {ROWS_PER_PAGE}");
            let rows = self.session.fetch_text(page).await?;
            if copied == 0 && !rows.is_empty() {
                self.file.begin_table(table, columns).await?;
            }
            for row in &rows {
                self.file.write_row(row.try_get(0)?).await?;
            }
            copied += rows.len() as u64;
            self.progress.add(rows.len() as u64);
            match rows.last() {
                Some(last) if rows.len() == ROWS_PER_PAGE => {
                    let last = (1..=literals.len()).map(|n| Ok(last.try_get(n)?)).collect::<Result<Vec<String>>>()?;
                    after = Some(last);
                }
                _ => return Ok(copied),
            }
        }
    }

    fn count(&mut self, table: &str, rows: u64) {
        let kind = table.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        match kind {
            "subject" => self.rows.subjects += rows,
            "comment" => self.rows.comments += rows,
            "reaction" => self.rows.reactions += rows,
            "member" => self.rows.members += rows,
            _ => {}
        }
    }
}

/// The columns of the primary keys, each with its table, in their order.
async fn read_primary_keys(session: &mut MysqlSession) -> Result<Vec<(String, String)>> {
    let text = "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR) FROM information_schema.statistics \
                WHERE table_schema = DATABASE() AND index_name = 'PRIMARY' ORDER BY table_name, seq_in_index";
    session.fetch_text(text).await?.iter().map(|r| Ok((r.try_get(0)?, r.try_get(1)?))).collect()
}

/// Writes the names of the pictures whose files are not being deleted. The first database has their rows.
async fn write_picture_list(session: &mut MysqlSession, file: &Path) -> Result<()> {
    let mut list = BufWriter::new(File::create_new(file).await.map_err(io_error)?);
    let mut after = 0;
    loop {
        let page = format!(
            "SELECT id, name FROM media WHERE id > {after} AND is_deleted = 0 ORDER BY id LIMIT {ROWS_PER_PAGE}"
        );
        let rows = session.fetch_text(page).await?;
        for row in &rows {
            let name: String = row.try_get(1)?;
            list.write_all(format!("{name}\n").as_bytes()).await.map_err(io_error)?;
        }
        match rows.last() {
            Some(last) => after = number_at(last, 0)?,
            None => break,
        }
    }
    list.flush().await.map_err(io_error)?;
    list.get_ref().sync_all().await.map_err(io_error)
}
