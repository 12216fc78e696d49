//! Copies the file while it is read and written, and prepares a copy to take its place.
//!
//! A copy is SQLite's own online backup, under one read transaction: pages are copied as they are, a writer waits for
//! nothing, and the copy never begins again. Half of the time it rests, so that writers find the disk and a core free.
//! Meanwhile the log (WAL) keeps what is written; afterwards that becomes part of the file, beside the writer, and the log
//! begins anew with the next write. Its file becomes smaller in steps, since a commit waits for each.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, params};
use tokio::sync::watch;

use crate::adapters::sqlite::{CHECKPOINT_PAGES, DATABASE_FILE_NAME, SqliteStore, closed_error, open_reader};
use crate::domain::backup::{CopiedRows, CopiedStore, CopyProgress, TablesCopy};
use crate::domain::operation::{ChangeRow, least_after_rewind};
use crate::ports::failure::Failure;
use crate::ports::store::{PICTURE_LIST_FILE_NAME, Result, StoreError, TableBackup};

/// Pages of one step: 1 MiB, a few milliseconds.
const PAGES_PER_STEP: i32 = 256;
/// Steps after which the copy is synced, so that no commit waits for more than 4 MiB of it to reach the disk.
const STEPS_PER_SYNC: u32 = 4;
/// The longest rest after a step: a slow step is one of a busy disk.
const MAX_STEP_PAUSE: Duration = Duration::from_millis(200);

#[async_trait]
impl TableBackup for SqliteStore {
    async fn back_up(&self, folder: &Path, report: &(dyn Fn(CopyProgress) + Send + Sync)) -> Result<TablesCopy> {
        let (sender, mut progress) = watch::channel(CopyProgress::default());
        let (file, folder, writer) = (self.file.clone(), folder.to_owned(), self.writer.clone());
        let mut copying = tokio::task::spawn_blocking(move || {
            let _resting = RestingCheckpoints::begin(&writer)?;
            let copied = copy_tables(&file, &folder, &sender);
            if let Err(error) = shorten_log(&file) {
                tracing::debug!(%error, "Could not shorten the log of the database after a backup");
            }
            copied
        });
        loop {
            tokio::select! {
                copied = &mut copying => return copied.map_err(|_| closed_error())?,
                Ok(()) = progress.changed() => report(*progress.borrow_and_update()),
            }
        }
    }
}

/// While it lives, commits do not make the log a part of the file: the first one after a copy would have to do so with all
/// that was written meanwhile.
struct RestingCheckpoints<'a>(&'a Mutex<Connection>);

impl<'a> RestingCheckpoints<'a> {
    fn begin(writer: &'a Mutex<Connection>) -> Result<Self> {
        writer.lock().pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(Self(writer))
    }
}

impl Drop for RestingCheckpoints<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.lock().pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES) {
            tracing::debug!(%error, "The log of the database is not made a part of the file until a restart");
        }
    }
}

/// Makes the log a part of the file, as far as no connection reads it. No writer waits for that; where it fails, a writer does it.
fn shorten_log(file: &Path) -> Result<()> {
    Ok(Connection::open(file)?.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}

/// Copies the file as it is now. Ends early when the progress is no longer followed.
fn copy_tables(file: &Path, folder: &Path, progress: &watch::Sender<CopyProgress>) -> Result<TablesCopy> {
    let source = open_reader(file)?;
    let target_file = folder.join(DATABASE_FILE_NAME);
    let mut target = Connection::open(&target_file)?;
    target.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    // Whatever this connection reads from here on is of one moment.
    source.execute_batch("BEGIN")?;
    let migration = source.query_row("SELECT user_version FROM pragma_user_version", [], |r| r.get(0))?;
    copy_pages(&source, &mut target, &target_file, progress)?;
    target.close().map_err(|(_, error)| error)?;
    sync(&target_file)?;
    list_pictures(&source, &folder.join(PICTURE_LIST_FILE_NAME))?;
    let count = |table: &str| source.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |r| r.get(0));
    let rows = CopiedRows {
        subjects: count("subject")?,
        comments: count("comment")?,
        reactions: count("reaction")?,
        members: count("member")?,
    };
    Ok(TablesCopy { store: CopiedStore::Sqlite, migration, rows })
}

fn copy_pages(
    source: &Connection,
    target: &mut Connection,
    file: &Path,
    progress: &watch::Sender<CopyProgress>,
) -> Result<()> {
    let page_bytes: u64 = source.query_row("SELECT page_size FROM pragma_page_size", [], |r| r.get(0))?;
    let backup = Backup::new(source, target)?;
    for step in 1_u32.. {
        let begun = Instant::now();
        let state = backup.step(PAGES_PER_STEP)?;
        let pages = backup.progress();
        let bytes = |pages: i32| u64::try_from(pages).unwrap_or(0) * page_bytes;
        let (total, left) = (bytes(pages.pagecount), bytes(pages.remaining));
        if progress.send(CopyProgress { done: total - left.min(total), total }).is_err() {
            return Err(StoreError::Database("the backup was given up".into()));
        }
        match state {
            StepResult::Done => break,
            StepResult::More if step % STEPS_PER_SYNC == 0 => sync(file)?,
            StepResult::More => {}
            // The source is read under a transaction, and no other connection has the target.
            _ => return Err(StoreError::Database("the copy of the database is locked by another process".into())),
        }
        std::thread::park_timeout(begun.elapsed().min(MAX_STEP_PAUSE));
    }
    Ok(())
}

/// Writes the names of the pictures whose files are not being deleted.
fn list_pictures(source: &Connection, file: &Path) -> Result<()> {
    let mut list = BufWriter::new(File::create_new(file).map_err(io_error)?);
    let mut statement = source.prepare("SELECT name FROM media WHERE is_deleted = 0 ORDER BY id")?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        writeln!(list, "{}", row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?).map_err(io_error)?;
    }
    let list = list.into_inner().map_err(|error| io_error(error.into_error()))?;
    list.sync_all().map_err(io_error)
}

fn sync(file: &Path) -> Result<()> {
    File::open(file).and_then(|file| file.sync_all()).map_err(io_error)
}

fn io_error(error: std::io::Error) -> StoreError {
    StoreError::Database(Failure::of_driver(error))
}

/// Lets a copy take the place of what was lost after it was made, at the time `now`: the versions of its subjects, words
/// and settings and the numbers of its change feed jump beyond those that any reader has seen, and the feed voids what was
/// made before. Who was signed in signs in again, since they may have signed out after it was made; and what was to be
/// mailed by now is not mailed, since it may have been.
///
/// # Errors
/// When the file cannot be written to, or is no such copy.
pub fn pass_restore(file: &Path, now: u64) -> Result<()> {
    let mut connection = Connection::open(file)?;
    connection.execute_batch("PRAGMA synchronous = FULL;")?;
    let least = least_after_rewind(now);
    let tx = connection.transaction()?;
    tx.execute("UPDATE subject SET version = MAX(version + 1, ?1)", [least])?;
    tx.execute("UPDATE setting SET value = MAX(value + 1, ?1) WHERE name = 'words_version'", [least])?;
    tx.execute("UPDATE setting_changes SET version = MAX(version + 1, ?1)", [least])?;
    tx.execute("DELETE FROM refresh_family", [])?;
    tx.execute("DELETE FROM sign_in_link", [])?;
    tx.execute("UPDATE notification SET mail_at = NULL WHERE mail_at <= ?1", [now])?;
    let mark = "INSERT INTO feed (at, subject, version, comment_id) VALUES (?1, 0, 0, ?2)";
    tx.execute(mark, params![now, ChangeRow::REWOUND_DATABASE])?;
    // The next number is beyond this one.
    let last = "INSERT INTO feed (seq, at, subject, version, comment_id) VALUES (MAX(?1, ?2), ?3, 0, 0, ?4)";
    tx.execute(last, params![least, tx.last_insert_rowid() + 1, now, ChangeRow::REWOUND_DATABASE])?;
    tx.commit()?;
    // The log becomes part of the file.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)?;
    sync(file)
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};

    use std::sync::atomic::{AtomicUsize, Ordering};

    use parking_lot::Mutex;
    use rusqlite::ErrorCode;

    use super::*;
    use crate::adapters::sqlite::{LOG_CUT_BYTES, LOG_LIMIT_BYTES};
    use crate::domain::operation::{ErasureStep, LoggedOperation, Operation};
    use crate::ports::store::{BatchWriter as _, ChangeFeedReader as _};

    const NOW: u64 = 1_800_000_000_000;

    fn open(folder: &Path) -> SqliteStore {
        SqliteStore::open(&folder.join(DATABASE_FILE_NAME), Default::default()).unwrap()
    }

    /// Rows that take some steps to copy.
    fn fill(store: &SqliteStore) {
        store.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
             INSERT INTO content (id, content, html) SELECT i, hex(randomblob(500)), '' FROM n",
        );
        store.execute("INSERT INTO subject (id, type, obj_id, key, version) VALUES (1, 'article', 1, '1', 7)");
    }

    #[tokio::test]
    async fn copy_is_of_the_moment_at_which_it_began_whatever_is_written_meanwhile() {
        let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(folder.path());
        fill(&store);
        let seen = Mutex::new(Vec::new());
        let writes = AtomicUsize::new(0);
        let report = |progress: CopyProgress| {
            seen.lock().push(progress);
            // Nothing is written after its end.
            if 2 * progress.done < progress.total {
                store.execute("UPDATE subject SET version = version + 1");
                writes.fetch_add(1, Ordering::Relaxed);
            }
        };
        let copied = store.back_up(copy.path(), &report).await.unwrap();
        assert_eq!((copied.store, copied.rows.subjects), (CopiedStore::Sqlite, 1));
        let seen = seen.into_inner();
        let writes = writes.into_inner();
        assert!(writes > 0 && seen.windows(2).all(|two| two[0].done <= two[1].done), "{seen:?}");
        let version = |store: &SqliteStore| -> i64 {
            store.writer().query_row("SELECT version FROM subject", [], |r| r.get(0)).unwrap()
        };
        let restored = open(copy.path());
        assert_eq!(version(&restored), 7);
        assert_eq!(version(&store), 7 + writes as i64);
        // What was written meanwhile is in the file, without its log.
        let alone = copy.path().join("alone.db");
        std::fs::copy(&store.file, &alone).unwrap();
        let alone = Connection::open(alone).unwrap();
        let version: i64 = alone.query_row("SELECT version FROM subject", [], |r| r.get(0)).unwrap();
        assert_eq!(version, 7 + writes as i64);
    }

    #[tokio::test]
    async fn erasure_waits_for_no_backup_after_which_the_next_batch_empties_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        fill(&store);
        // As the backup of another process.
        let reader = open_reader(&store.file).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        reader.query_row("SELECT COUNT(*) FROM subject", [], |_| Ok(())).unwrap();
        let member = MemberId::new(7).unwrap();
        let erasure = |step| LoggedOperation::new(NOW, Operation::Erasure { member, step, audit: None });
        let started = Instant::now();
        store.persist(&[erasure(ErasureStep::Finish)]).await.unwrap();
        assert!(started.elapsed() < Duration::from_secs(4), "it waited for the reader: {:?}", started.elapsed());
        let log_bytes = || std::fs::metadata(store.log_file()).unwrap().len();
        assert!(log_bytes() > 0);
        drop(reader);
        store.persist(&[LoggedOperation::new(NOW, Operation::DeleteExpired)]).await.unwrap();
        assert_eq!(log_bytes(), 0);
    }

    #[tokio::test]
    async fn log_that_grew_during_a_backup_shrinks_in_steps() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let written = LoggedOperation::new(NOW, Operation::DeleteExpired);
        store.persist(std::slice::from_ref(&written)).await.unwrap();
        let reader = open_reader(&store.file).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        reader.query_row("SELECT COUNT(*) FROM subject", [], |_| Ok(())).unwrap();
        fill(&store);
        store.execute("UPDATE content SET html = content");
        drop(reader);
        let log_bytes = || std::fs::metadata(store.log_file()).unwrap().len();
        let mut before = log_bytes();
        assert!(before > LOG_LIMIT_BYTES + LOG_CUT_BYTES, "{before}");
        let mut cuts = 0;
        while before > LOG_LIMIT_BYTES {
            store.persist(std::slice::from_ref(&written)).await.unwrap();
            shorten_log(&store.file).unwrap();
            store.execute("UPDATE subject SET version = version + 1");
            let after = log_bytes();
            assert!(after < before && before - after <= LOG_CUT_BYTES, "from {before} to {after}");
            (before, cuts) = (after, cuts + 1);
        }
        assert!(cuts > 1 && before == LOG_LIMIT_BYTES, "{cuts} cuts to {before}");
    }

    #[tokio::test]
    async fn copy_that_is_dropped_ends() {
        let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(folder.path());
        fill(&store);
        let begun = tokio::sync::Notify::new();
        let report = |_| begun.notify_one();
        {
            let mut backup = std::pin::pin!(store.back_up(copy.path(), &report));
            tokio::select! {
                done = &mut backup => panic!("{done:?}"),
                () = begun.notified() => {}
            }
        }
        // The copy is locked until its end; then a part of a file is no database.
        let target = Connection::open(copy.path().join(DATABASE_FILE_NAME)).unwrap();
        let is_locked = || {
            let begun = target.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
            begun.is_err_and(|error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy))
        };
        while is_locked() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!copy.path().join(PICTURE_LIST_FILE_NAME).exists(), "it went on to its end");
    }

    #[tokio::test]
    async fn restored_copy_is_ahead_of_everything_that_was_seen() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        fill(&store);
        store.execute("INSERT INTO feed (seq, at, subject, version, comment_id) VALUES (9, 1, 1, 7, 4096)");
        drop(store);
        pass_restore(&folder.path().join(DATABASE_FILE_NAME), NOW).unwrap();
        let store = open(folder.path());
        let rows = store.read_changes(0, 0, 10).await.unwrap();
        let subject = SubjectKey::new("article", "1").unwrap();
        let id = CommentId::new(4096).unwrap();
        assert_eq!((rows[0].seq, rows[0].id, rows[0].version, &rows[0].subject), (9, Some(id), 7, &subject));
        let least = least_after_rewind(NOW);
        let marks: Vec<_> = rows[1..].iter().map(|row| (row.seq, row.is_rewind(), row.at)).collect();
        assert_eq!(marks, [(10, true, NOW), (least, true, NOW)]);
        let version: u64 = store.writer().query_row("SELECT version FROM subject", [], |r| r.get(0)).unwrap();
        assert_eq!(version, least);
        let slot = Slot::FIRST;
        let later = CommentId::from_parts(NOW, slot, 0, 0).signed();
        store.execute(&format!("INSERT INTO feed (at, subject, version, comment_id) VALUES (1, 1, 8, {later})"));
        assert_eq!(store.read_changes(0, least, 10).await.unwrap()[0].seq, least + 1);
    }
}
