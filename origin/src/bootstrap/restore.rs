//! Puts the tables of a backup into the empty place that the configuration names.
//!
//! A cluster takes the tables of a cluster, and those of an embedded installation, which grows into it. A data directory
//! takes either, too, where the program has the cluster. Not here: the folder of the backup, its digests, and the files of
//! pictures. Promise: until [`TableRestore::finish`] no process uses
//! the place.

use std::path::Path;

use anyhow::{Context as _, ensure};

#[cfg(feature = "cluster")]
use crate::adapters::mysql::{MysqlRestore, count_migrations, send_returned_rows};
use crate::adapters::sqlite::{DATABASE_FILE_NAME, SqliteStore, pass_restore};
#[cfg(feature = "cluster")]
use crate::adapters::sqlite::{fill_with_returned_rows, send_grown_rows};
use crate::bootstrap::data_directory;
use crate::config::Config;
use crate::domain::backup::{BackupManifest, CopiedStore, CopyProgress, TablesCopy};

/// Chunks of rows that wait for the databases: some MiB.
#[cfg(feature = "cluster")]
const MAX_WAITING_CHUNKS: usize = 4;

/// The place that tables are restored into.
#[derive(Debug)]
pub enum TableRestore<'c> {
    /// A data directory.
    Embedded(&'c Path),
    #[cfg(feature = "cluster")]
    Cluster(MysqlRestore),
}

impl<'c> TableRestore<'c> {
    /// The configured place. Embedded, the caller holds the lock of the directory.
    ///
    /// # Errors
    /// When the address of a database is none.
    pub fn new(config: &'c Config) -> anyhow::Result<Self> {
        #[cfg(feature = "cluster")]
        if let Some(settings) = &config.cluster {
            let restore = MysqlRestore::new(settings.mysql_urls.expose(), settings.tuning.tables);
            return Ok(Self::Cluster(restore.with_context(|| format!("the tables of {}", settings.mysql_urls))?));
        }
        Ok(Self::Embedded(&config.data))
    }

    /// Refuses a backup that the place does not take.
    ///
    /// # Errors
    /// With the reason.
    pub fn check(&self, manifest: &BackupManifest) -> anyhow::Result<()> {
        let last = SqliteStore::last_migration()?;
        match self {
            #[cfg(feature = "cluster")]
            Self::Embedded(_) if matches!(manifest.tables.store, CopiedStore::Mysql { .. }) => {
                let last = count_migrations();
                manifest.check_tables(manifest.tables.store, last..=last)?;
            }
            Self::Embedded(_) => manifest.check_tables(CopiedStore::Sqlite, 1..=last)?,
            // A copy of the other shape is read as it is: nothing migrates it.
            #[cfg(feature = "cluster")]
            Self::Cluster(_) if manifest.tables.store == CopiedStore::Sqlite => {
                manifest.check_tables(CopiedStore::Sqlite, last..=last)?;
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(restore) => {
                let (store, known) = restore.accepts();
                manifest.check_tables(store, 1..=known)?;
            }
        }
        Ok(())
    }

    /// Refuses a place that is not empty, and notes that it is being filled.
    ///
    /// # Errors
    /// When it has something, or cannot be written to.
    pub async fn begin(&self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(data) => {
                // The lock is the caller's own.
                for entry in data.read_dir().with_context(|| format!("cannot read {}", data.display()))? {
                    let name = entry?.file_name();
                    ensure!(
                        name == data_directory::LOCK_FILE_NAME,
                        "the data directory {} is not empty: it has {}",
                        data.display(),
                        name.display()
                    );
                }
                data_directory::begin_restore(data).with_context(|| format!("cannot write to {}", data.display()))
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(restore) => Ok(restore.begin().await?),
        }
    }

    /// Fills it with the tables of a backup's folder, ahead of everything that was seen before the time `now`.
    ///
    /// # Errors
    /// When a file is not what a backup has, or the place cannot be written to. It stays unusable.
    pub async fn fill(
        &self,
        folder: &Path,
        copy: &TablesCopy,
        now: u64,
        report: &(dyn Fn(CopyProgress) + Send + Sync),
    ) -> anyhow::Result<()> {
        match self {
            Self::Embedded(data) => {
                let file = data.join(DATABASE_FILE_NAME);
                let total = copy.rows.comments;
                match copy.store {
                    CopiedStore::Sqlite => drop(tokio::fs::copy(folder.join(DATABASE_FILE_NAME), &file).await?),
                    #[cfg(feature = "cluster")]
                    CopiedStore::Mysql { databases, .. } => {
                        return_rows(folder, databases, &file, total, report).await?
                    }
                    #[cfg(not(feature = "cluster"))]
                    CopiedStore::Mysql { .. } => anyhow::bail!("this program has no cluster"),
                }
                report(CopyProgress { done: total, total });
                tokio::task::spawn_blocking(move || anyhow::Ok(pass_restore(&file, now)?)).await?
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(restore) if copy.store == CopiedStore::Sqlite => {
                let (sender, rows) = tokio::sync::mpsc::channel(MAX_WAITING_CHUNKS);
                let folder = folder.to_owned();
                let sent = tokio::task::spawn_blocking(move || send_grown_rows(&folder, &sender));
                restore.grow(rows, copy, now, report).await?;
                // Where it failed, it has sent a part of them.
                Ok(sent.await??)
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(restore) => Ok(restore.fill(folder, copy, now, report).await?),
        }
    }

    /// Makes the place usable.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub async fn finish(&self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(data) => Ok(data_directory::end_restore(data)?),
            #[cfg(feature = "cluster")]
            Self::Cluster(restore) => Ok(restore.finish().await?),
        }
    }
}

/// Fills a new file with the rows of a cluster.
#[cfg(feature = "cluster")]
async fn return_rows(
    folder: &Path,
    databases: usize,
    file: &Path,
    total: u64,
    report: &(dyn Fn(CopyProgress) + Send + Sync),
) -> anyhow::Result<()> {
    let (sender, rows) = tokio::sync::mpsc::channel(MAX_WAITING_CHUNKS);
    let (counts, mut counted) = tokio::sync::watch::channel(0);
    let file = file.to_owned();
    let filled = tokio::task::spawn_blocking(move || {
        fill_with_returned_rows(&file, rows, &|table, rows| {
            if table.to == "comment" {
                counts.send_modify(|count| *count += rows);
            }
        })
    });
    let follow = async {
        while counted.changed().await.is_ok() {
            report(CopyProgress { done: *counted.borrow(), total });
        }
    };
    let send = async move { send_returned_rows(folder, databases, &sender).await };
    let (sent, ()) = tokio::join!(send, follow);
    // Where the file cannot be filled, that is why nothing was received any more.
    filled.await??;
    Ok(sent?)
}
