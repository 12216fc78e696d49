//! The tables in one SQLite file: WAL, one writer, a few readers.
//!
//! A commit is on disk before it is acknowledged (`synchronous=FULL`). Reads run on threads that may
//! block, a fixed number at a time, and a read waits for its turn no longer than a second. Each port of the tables has its own file here.

mod accounts;
mod activity;
mod audit_log;
mod backup;
mod change_feed;
mod comments;
mod descendants;
mod events;
#[cfg(feature = "cluster")]
mod growth;
mod health;
mod index_queues;
mod latest;
mod mail_queue;
mod media;
mod member_contacts;
mod member_data;
mod member_directory;
mod member_names;
mod member_standings;
mod members;
mod notifications;
mod passkeys;
mod query;
mod rank_again;
mod rank_rows;
mod reconcile;
mod refused_texts;
mod reviews;
mod rows;
mod settings;
mod subject_directory;
mod threads;
mod transfer;
mod watches;
#[cfg(feature = "cluster")]
mod way_back;
mod webhooks;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

pub use backup::pass_restore;
use gailou_shared::rank::HotWeights;
#[cfg(feature = "cluster")]
pub use growth::send_grown_rows;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, OpenFlags, Params, Transaction};
use rusqlite_migration::{M, Migrations};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::Span;
#[cfg(feature = "cluster")]
pub use way_back::fill_with_returned_rows;

use crate::domain::row::WeightsByType;
use crate::ports::failure::Failure;
use crate::ports::store::{Result, StoreError};
use crate::telemetry::{CallTimer, measure_here, measure_pool_wait, note_statement};

/// The name of the file in the data directory.
pub const DATABASE_FILE_NAME: &str = "gailou.db";

/// Concurrent reads. More would only wait for the same two or four cores.
pub const MAX_READERS: usize = 4;
/// How long a read waits for the others: far longer than what is admitted needs.
const READER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection waits for a write of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pages of the log (WAL) from which on a commit makes it a part of the file: 16 MB.
const CHECKPOINT_PAGES: u32 = 4_000;
/// What the file of the log keeps when the log begins anew; a backup, or a long read, lets it grow beyond that.
const LOG_LIMIT_BYTES: u64 = 16 << 20;
/// What that file loses at most when the log begins anew: the file system frees 170 MB in 120 ms, and a commit waits for it.
const LOG_CUT_BYTES: u64 = 8 << 20;
/// Prepared statements that a connection keeps: more than there are statements.
const STATEMENT_CACHE_CAPACITY: usize = 128;

/// The SQLite store.
pub struct SqliteStore {
    file: PathBuf,
    weights: WeightsByType,
    // Dropped before the writer: the connection that closes last checkpoints the WAL, and a reader
    // cannot.
    readers: Arc<Mutex<Vec<Connection>>>,
    writer: Arc<Mutex<Connection>>,
    /// The comments that were ranked again when this process came to the end of it.
    ranked_again: Arc<AtomicU64>,
    permits: Arc<Semaphore>,
    /// Whether the log (WAL) may have texts that were erased.
    log_to_empty: AtomicBool,
    /// What the file of the log keeps when the log begins anew.
    log_limit: AtomicU64,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("file", &self.file).finish_non_exhaustive()
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Failure::of_driver(error))
    }
}

impl SqliteStore {
    /// Opens the file and migrates its tables. When the weights have changed, it is stored that every comment has to be
    /// ranked again, and [`crate::ports::store::Reranker`] does that.
    ///
    /// # Errors
    /// When the file cannot be opened, is not a database, or belongs to a newer version.
    pub fn open(file: &Path, weights: WeightsByType) -> Result<Self> {
        let mut writer = Connection::open(file)?;
        note_statements(&writer);
        writer.set_prepared_statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
        writer.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;
             PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;",
        )?;
        writer.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        writer.pragma_update(None, "journal_size_limit", LOG_LIMIT_BYTES)?;
        writer.busy_timeout(BUSY_TIMEOUT)?;
        Self::migrations().to_latest(&mut writer).map_err(|error| StoreError::Database(Failure::of_driver(error)))?;
        rank_again::begin(&mut writer, &weights)?;
        Ok(Self {
            file: file.to_owned(),
            weights,
            writer: Arc::new(Mutex::new(writer)),
            readers: Arc::default(),
            ranked_again: Arc::default(),
            permits: Arc::new(Semaphore::new(MAX_READERS)),
            // The process before this one may have been killed.
            log_to_empty: AtomicBool::new(true),
            log_limit: AtomicU64::new(LOG_LIMIT_BYTES),
        })
    }

    /// The number of the last migration.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn last_migration() -> Result<usize> {
        let empty = Connection::open_in_memory()?;
        let pending = Self::migrations().pending_migrations(&empty);
        let pending = pending.map_err(|error| StoreError::Database(Failure::of_driver(error)))?;
        Ok(usize::try_from(pending).unwrap_or(0))
    }

    fn migrations() -> Migrations<'static> {
        let migrations = vec![
            M::up(include_str!("../../../../migrations/sqlite/0001_init.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0002_feed.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0003_indexes.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0004_edits.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0005_author_role.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0006_member_name.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0007_member_data.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0008_member_name_member.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0009_root_keys.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0010_moderation.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0011_setting_changes.sql")),
            M::up_with_hook(
                include_str!("../../../../migrations/sqlite/0012_member_standing.sql"),
                |tx: &Transaction<'_>| Ok(member_directory::fill_name_keys(tx)?),
            ),
            M::up(include_str!("../../../../migrations/sqlite/0013_index_queue.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0014_activity.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0015_latest.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0016_refused_text.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0017_media.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0018_sign_in.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0019_event.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0020_webhook.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0021_passkey.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0022_merged_guest.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0023_author_network.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0024_shown_texts.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0025_watch.sql")),
        ];
        Migrations::new(migrations)
    }

    /// Runs `work` on a read-only connection, off the async threads. It is measured as `operation`.
    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = timeout(READER_TIMEOUT, self.permits.clone().acquire_owned());
        let permit = measure_pool_wait("sqlite", permit).await;
        let permit =
            permit.map_err(|_| StoreError::Busy("no reader was free in time".into()))?.map_err(|_| closed_error())?;
        let mut timer = CallTimer::start("sqlite", operation);
        let (readers, file, request) = (self.readers.clone(), self.file.clone(), Span::current());
        let done = tokio::task::spawn_blocking(move || {
            let (_permit, _request) = (permit, request.entered());
            let idle = readers.lock().pop();
            let answer = idle.map_or_else(|| open_reader(&file), Ok).and_then(|connection| {
                let answer = work(&connection);
                readers.lock().push(connection);
                answer
            });
            timer.note(&answer);
            answer
        });
        done.await.map_err(|_| closed_error())?
    }

    /// Runs `work` on the writer, off the async threads, for tables that no operation of the journal writes. It is measured
    /// as `operation`.
    async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (writer, request) = (self.writer.clone(), Span::current());
        let done = tokio::task::spawn_blocking(move || {
            let _request = request.entered();
            let mut connection = writer.lock();
            measure_here("sqlite", operation, || work(&mut connection))
        });
        done.await.map_err(|_| closed_error())?
    }

    /// Writes one statement; how many rows it changed.
    async fn write_rows(
        &self,
        operation: &'static str,
        sql: &'static str,
        values: impl Params + Send + 'static,
    ) -> Result<usize> {
        self.write(operation, move |c| Ok(c.prepare_cached(sql)?.execute(values)?)).await
    }

    /// The file of the log (WAL).
    fn log_file(&self) -> PathBuf {
        let mut file = self.file.clone().into_os_string();
        file.push("-wal");
        file.into()
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock()
    }

    /// Runs a statement, as nothing but a test may.
    #[cfg(test)]
    pub(crate) fn execute(&self, statement: &str) {
        self.writer().execute(statement, []).unwrap();
    }

    /// The rows that were written since the file was opened.
    #[cfg(test)]
    pub(crate) fn count_written_rows(&self) -> i64 {
        self.writer().query_row("SELECT total_changes()", [], |r| r.get(0)).unwrap()
    }

    fn weights_of(&self, kind: &str) -> HotWeights {
        self.weights.get(kind).copied().unwrap_or_default()
    }
}

fn closed_error() -> StoreError {
    StoreError::Database("the store is closed".into())
}

/// Has every statement of this connection noted when it has run.
fn note_statements(connection: &Connection) {
    let note = |event: TraceEvent<'_>| {
        if let TraceEvent::Profile(statement, duration) = event {
            note_statement("sqlite", "sqlite", duration, || statement.sql().into_owned());
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(note));
}

fn open_reader(file: &Path) -> Result<Connection> {
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    note_statements(&connection);
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
    connection.execute_batch("PRAGMA cache_size = -8192; PRAGMA busy_timeout = 5000; PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}
