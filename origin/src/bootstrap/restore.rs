//! Puts the tables of a backup into the empty place that the configuration names.
//!
//! Not here: the folder of the backup, its digests, and the files of pictures. Promise: until
//! [`TableRestore::finish`] no process uses the place.

use std::path::Path;

use anyhow::{Context as _, ensure};

#[cfg(feature = "cluster")]
use crate::adapters::mysql::MysqlRestore;
use crate::adapters::sqlite::{DATABASE_FILE_NAME, SqliteStore, pass_restore};
use crate::bootstrap::data_directory;
use crate::config::Config;
use crate::domain::backup::{CopiedStore, CopyProgress, TablesCopy};

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

    /// What the place takes: its kind of store, and the last migration that this program knows.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn accepts(&self) -> anyhow::Result<(CopiedStore, usize)> {
        match self {
            Self::Embedded(_) => Ok((CopiedStore::Sqlite, SqliteStore::last_migration()?)),
            #[cfg(feature = "cluster")]
            Self::Cluster(restore) => Ok(restore.accepts()),
        }
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
                tokio::fs::copy(folder.join(DATABASE_FILE_NAME), &file).await?;
                let total = copy.rows.comments;
                report(CopyProgress { done: total, total });
                tokio::task::spawn_blocking(move || anyhow::Ok(pass_restore(&file, now)?)).await?
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
