//! The store in one SQLite file: WAL, one writer, a few readers.
//!
//! A commit is on disk before it is acknowledged (`synchronous=FULL`). Reads run on threads that
//! may block, a fixed number at a time.

mod read;
mod reconcile;
mod rows;
mod write;

use std::collections::HashMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::{HotWeights, Sort};
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;
use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::{M, Migrations};
use tokio::sync::Semaphore;

use crate::domain::operation::{ChangeRow, LoggedOperation, PersistedBatch};
use crate::domain::row::{
    CommentList, CommentRow, ExportCursor, ExportedComment, RememberedRequest, StoredDictionary, SubjectRow,
    WeightsByType,
};
use crate::ports::store::*;

/// Reads at the same time. More only wait for the same two or four cores.
const READERS: usize = 4;
/// Prepared statements kept by a connection: all there are, with room.
const STATEMENTS: usize = 128;

/// The SQLite store.
pub struct SqliteStore {
    file: PathBuf,
    weights: WeightsByType,
    // Before the writer: the last connection to close is the one that can empty the log.
    readers: Arc<Mutex<Vec<Connection>>>,
    writer: Mutex<Connection>,
    permits: Arc<Semaphore>,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("file", &self.file).finish_non_exhaustive()
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(StoreFailure::of_driver(error, None))
    }
}

impl SqliteStore {
    /// Opens the file, makes its tables and re-keys replies when the weights have changed.
    ///
    /// # Errors
    /// When the file cannot be opened, is no database, or belongs to a newer version.
    pub fn open(file: &FilePath, weights: WeightsByType) -> Result<Self> {
        let mut writer = Connection::open(file)?;
        writer.set_prepared_statement_cache_capacity(STATEMENTS);
        writer.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
             PRAGMA cache_size = -32768; PRAGMA busy_timeout = 5000; PRAGMA temp_store = MEMORY;",
        )?;
        let migrations = vec![
            M::up(include_str!("../../../../migrations/sqlite/0001_init.sql")),
            M::up(include_str!("../../../../migrations/sqlite/0002_feed.sql")),
        ];
        Migrations::new(migrations)
            .to_latest(&mut writer)
            .map_err(|e| StoreError::Database(StoreFailure::of_driver(e, None)))?;
        write::rekey(&mut writer, &weights)?;
        Ok(Self {
            file: file.to_owned(),
            weights,
            writer: Mutex::new(writer),
            readers: Arc::default(),
            permits: Arc::new(Semaphore::new(READERS)),
        })
    }

    /// Runs `work` on a read-only connection, off the async threads.
    async fn read<T: Send + 'static>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send + 'static) -> Result<T> {
        let closed = || StoreError::Database("the store is closed".into());
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| closed())?;
        let (readers, file) = (self.readers.clone(), self.file.clone());
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let idle = readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = idle.map_or_else(|| open_reader(&file), Ok)?;
            let answer = work(&connection);
            readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            answer
        });
        done.await.map_err(|_| closed())?
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn weights(&self, kind: &str) -> HotWeights {
        self.weights.get(kind).copied().unwrap_or_default()
    }
}

fn open_reader(file: &FilePath) -> Result<Connection> {
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.execute_batch("PRAGMA cache_size = -8192; PRAGMA busy_timeout = 5000; PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}

#[async_trait]
impl CommentReader for SqliteStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        let keys = keys.to_vec();
        self.read(move |c| keys.iter().map(|key| read::subject(c, key)).collect()).await
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let ids = ids.to_vec();
        self.read(move |c| read::comments(c, &ids)).await
    }
}

#[async_trait]
impl ThreadReader for SqliteStore {
    async fn list_floors(
        &self,
        list: &CommentList,
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, CommentId)>> {
        let list = list.clone();
        self.read(move |c| read::floors(c, &list, ascending, beyond, count)).await
    }

    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        let (list, weights) = (list.clone(), self.weights.clone());
        self.read(move |c| read::ranked(c, &list, sort, &weights)).await
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        let roots = roots.to_vec();
        self.read(move |c| read::top_replies(c, &roots, each)).await
    }

    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        let (top, after) = (top.clone(), after.map(<[u8]>::to_vec));
        self.read(move |c| read::subtree(c, &top, after.as_deref(), max_depth, count)).await
    }

    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        let path = path.clone();
        self.read(move |c| read::siblings(c, &path, count)).await
    }

    async fn read_snapshot(&self, _: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        self.read(move |c| read::snapshot(c, id)).await
    }
}

#[async_trait]
impl MemberReader for SqliteStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        self.read(move |c| read::history(c, member, below, count)).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.read(move |c| read::pending(c, member, count)).await
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        let ids = ids.to_vec();
        self.read(move |c| read::reactions(c, member, &ids)).await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let members = members.to_vec();
        self.read(move |c| read::names(c, &members)).await
    }
}

#[async_trait]
impl IdempotencyReader for SqliteStore {
    async fn find_remembered(
        &self,
        _: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        let key = key.to_owned();
        self.read(move |c| read::remembered(c, member, &key, since)).await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        self.read(move |c| read::first_text(c, id)).await
    }
}

#[async_trait]
impl StoredSettings for SqliteStore {
    async fn read_dictionary(&self) -> Result<StoredDictionary> {
        self.read(read::words).await
    }

    async fn read_dictionary_version(&self) -> Result<u64> {
        self.read(read::words_version).await
    }

    async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.execute("INSERT OR IGNORE INTO setting (name, value) VALUES (?1, ?2)", (name, &fresh[..]))?;
        Ok(writer.query_row("SELECT value FROM setting WHERE name = ?1", [name], |r| r.get(0))?)
    }
}

#[async_trait]
impl Transfer for SqliteStore {
    async fn export_comments(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<ExportedComment>> {
        let (subject, after) = (subject.cloned(), after.cloned());
        self.read(move |c| read::export(c, subject.as_ref(), after.as_ref(), count)).await
    }

    async fn find_sources(&self, subject: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>> {
        let (subject, ids) = (subject.clone(), ids.to_vec());
        self.read(move |c| read::sources(c, &subject, &ids)).await
    }
}

#[async_trait]
impl ChangeFeedReader for SqliteStore {
    async fn read_changes(&self, shard: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>> {
        if shard > 0 {
            return Ok(vec![]);
        }
        self.read(move |c| read::feed(c, after, count)).await
    }
}

#[async_trait]
impl HealthCheck for SqliteStore {
    async fn read_last_id(&self) -> Result<Option<CommentId>> {
        self.read(|c| {
            let id: Option<i64> = c.query_row("SELECT max(id) FROM comment", [], |r| r.get(0))?;
            Ok(id.and_then(|id| CommentId::try_from(id).ok()))
        })
        .await
    }

    async fn find_damage(&self) -> Result<Vec<String>> {
        self.read(|c| {
            let mut statement = c.prepare("PRAGMA quick_check(20)")?;
            let found = statement.query_map([], |r| r.get(0))?.collect::<std::result::Result<Vec<String>, _>>()?;
            Ok(found.into_iter().filter(|line| line != "ok").collect())
        })
        .await
    }
}

#[async_trait]
impl BatchWriter for SqliteStore {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        write::persist(&mut writer, |kind| self.weights(kind), batch)
    }
}
