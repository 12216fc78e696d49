//! Fills empty databases with the rows of a backup.
//!
//! The tables are made as they were, by the migrations of that time; the next `gailou migrate` does the rest. Promise:
//! until [`MysqlRestore::finish`] every process refuses each of the databases, and what was made from the former ones is
//! void afterwards: their versions and the numbers of their change feeds are behind those of the new ones.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::try_join_all;
use sqlx::mysql::MySqlConnectOptions;

use crate::adapters::mysql::backup::row_file::{RowFileLine, RowFileReader, RowFileTable};
use crate::adapters::mysql::backup::rows_file_name;
use crate::adapters::mysql::migrate::{self, DONE_BEFORE, MIGRATION_TABLE, UNFINISHED_RESTORE};
use crate::adapters::mysql::pool::{MysqlPool, parse_address};
use crate::adapters::mysql::rewinds::put_marks;
use crate::adapters::mysql::row_text::replace_rows;
use crate::adapters::mysql::rows::{damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::domain::backup::{CopiedStore, CopyProgress, TablesCopy};
use crate::domain::operation::least_after_rewind;
use crate::ports::store::{Result, StoreError};

/// Rows that are written at once.
const ROWS_PER_WRITE: usize = 1_000;

/// Databases that are restored.
pub struct MysqlRestore {
    databases: Vec<MySqlConnectOptions>,
    pub(super) pools: Vec<MysqlPool>,
    pub(super) tables: u16,
}

// Without the options, which have passwords.
impl fmt::Debug for MysqlRestore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MysqlRestore").field("databases", &self.pools).finish_non_exhaustive()
    }
}

impl MysqlRestore {
    /// The databases at these addresses.
    ///
    /// # Errors
    /// When one is no address.
    pub fn new(urls: &[String], tables: u16) -> Result<Self> {
        let databases = urls.iter().map(|url| parse_address(url)).collect::<Result<Vec<_>>>()?;
        let pools = databases.iter().cloned().map(MysqlPool::new).collect();
        Ok(Self { databases, pools, tables })
    }

    /// What they take, and the last migration that this program knows.
    pub fn accepts(&self) -> (CopiedStore, usize) {
        let store = CopiedStore::Mysql { databases: self.pools.len(), tables: self.tables };
        (store, migrate::count_migrations())
    }

    /// Creates missing databases, refuses those that have tables, and notes that they are being filled.
    ///
    /// # Errors
    /// When one has tables, or does not answer, and for a number of tables that no cluster can have.
    pub async fn begin(&self) -> Result<()> {
        migrate::check_numbers(self.databases.len(), self.tables)?;
        for (options, pool) in self.databases.iter().zip(&self.pools) {
            migrate::create_database(options).await?;
            let count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()";
            let found = pool.session("restore").await?.fetch_text(count).await?;
            if found.first().map(|row| number_at(row, 0)).transpose()? != Some(0) {
                let text = format!("{} is not empty: a backup is restored into empty databases", pool.address());
                return Err(StoreError::Database(text.into()));
            }
        }
        for (shard, pool) in self.pools.iter().enumerate() {
            let mut session = pool.session("restore").await?;
            session.execute_text(MIGRATION_TABLE).await?;
            self.put_migration(&mut session, shard, UNFINISHED_RESTORE).await?;
        }
        Ok(())
    }

    /// Makes the tables and fills them, all databases at once.
    ///
    /// # Errors
    /// When a file is not what a backup has, or a database does not answer.
    pub async fn fill(
        &self,
        folder: &Path,
        copy: &TablesCopy,
        now: u64,
        report: &(dyn Fn(CopyProgress) + Send + Sync),
    ) -> Result<()> {
        // The rows of all tables are not counted in a backup; those of comments stand for them.
        let (done, total) = (AtomicU64::new(0), copy.rows.comments);
        let note = |table: &str, rows: u64| {
            if table.starts_with("comment_") {
                let done = done.fetch_add(rows, Ordering::Relaxed) + rows;
                report(CopyProgress { done, total });
            }
        };
        let fills = self.pools.iter().enumerate().map(|(database, pool)| {
            let (file, note) = (folder.join(rows_file_name(database)), &note);
            async move {
                let mut session = pool.session("restore").await?;
                session.allow_long_work().await?;
                self.make_tables(&mut session, copy.migration).await?;
                fill_tables(&mut session, &file, &migrate::made_tables(self.tables), note).await?;
                self.pass_restore(&mut session, database, copy.migration, now).await
            }
        });
        try_join_all(fills).await.map(drop)
    }

    /// Lets processes use the databases.
    ///
    /// # Errors
    /// When one does not answer; it can be repeated.
    pub async fn finish(&self) -> Result<()> {
        for pool in &self.pools {
            let done = sql("DELETE FROM migration WHERE number = ?").bind(UNFINISHED_RESTORE);
            pool.session("restore").await?.execute(done).await?;
        }
        Ok(())
    }

    async fn put_migration(&self, session: &mut MysqlSession, shard: usize, number: u16) -> Result<()> {
        let put = "REPLACE INTO migration (number, tables, shard, at) VALUES (?, ?, ?, UNIX_TIMESTAMP() * 1000)";
        session.execute(sql(put).bind(number).bind(self.tables).bind(shard as u64)).await.map(drop)
    }

    async fn make_tables(&self, session: &mut MysqlSession, migration: usize) -> Result<()> {
        for statement in migrate::statements_up_to(migration, self.tables) {
            match session.execute_text(statement).await {
                Err(error) if error.code().is_some_and(|code| DONE_BEFORE.contains(&code)) => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Lets the rows take the place of what was before, and stores that the tables have these migrations. See
    /// [`crate::ports::store::Rewinds`], and `pass_restore` of SQLite's backup: here no other writes yet.
    pub(super) async fn pass_restore(
        &self,
        session: &mut MysqlSession,
        database: usize,
        migration: usize,
        now: u64,
    ) -> Result<()> {
        let least = least_after_rewind(now);
        for table in 0..self.tables {
            let raise = format!("UPDATE subject_{table} SET version = GREATEST(version + 1, ?)");
            session.execute(sql(raise).bind(least)).await?;
            session.execute_text(format!("DELETE FROM refresh_family_{table}")).await?;
            session.execute_text(format!("DELETE FROM sign_in_link_{table}")).await?;
            let mailed = format!("UPDATE notification_{table} SET mail_at = NULL WHERE mail_at <= ?");
            session.execute(sql(mailed).bind(now)).await?;
        }
        let raise = "UPDATE setting SET value = GREATEST(CAST(value AS SIGNED) + 1, ?) WHERE name = 'words_version'";
        session.execute(sql(raise).bind(least)).await?;
        let raise = "UPDATE setting_changes SET version = GREATEST(version + 1, ?)";
        session.execute(sql(raise).bind(least)).await?;
        put_marks(session, now).await?;
        for number in 1..=migration {
            self.put_migration(session, database, number as u16).await?;
        }
        Ok(())
    }
}

/// Writes the rows of a file over those that the migrations have made.
async fn fill_tables(
    session: &mut MysqlSession,
    file: &Path,
    made: &BTreeSet<String>,
    note: &(impl Fn(&str, u64) + Sync),
) -> Result<()> {
    let mut file = RowFileReader::open(file).await?;
    let mut table = RowFileTable { table: String::new(), columns: vec![] };
    let mut rows = Vec::new();
    loop {
        let line = file.next().await?;
        let is_row = matches!(line, Some(RowFileLine::Row(_)));
        if rows.len() >= ROWS_PER_WRITE || !is_row {
            let count = rows.len() as u64;
            let columns = table.columns.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ");
            replace_rows(session, &table.table, &columns, rows.drain(..)).await?;
            note(&table.table, count);
        }
        match line {
            Some(RowFileLine::Row(row)) => rows.push(row),
            Some(RowFileLine::Table(next)) if made.contains(&next.table) => table = next,
            Some(RowFileLine::Table(next)) => return Err(damaged(format_args!("there is no table {}", next.table))),
            None => return Ok(()),
        }
    }
}
