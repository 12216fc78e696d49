//! What a backup says of itself: its manifest, and which backups this program can restore.
//!
//! Pure. Not here: the folder and its files. Promise: a folder without a manifest is no backup, and a manifest of a newer
//! format, or of newer tables, is refused by both versions.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The newest format of a backup's folder that this program knows, and the one that it writes.
pub const BACKUP_FORMAT: u32 = 1;
/// The version of this program.
const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is in the folder of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    pub format: u32,
    /// The version of the program that wrote it.
    pub program: String,
    /// When it was begun, in Unix milliseconds.
    pub made_at: u64,
    pub tables: TablesCopy,
    /// Where the files of pictures are; `None` where there are none.
    pub pictures: Option<PicturesPlace>,
    /// Every other file of the folder. The name of a picture has the digest of its bytes.
    pub files: Vec<BackupFile>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    pub name: String,
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: String,
}

/// The copy of all tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablesCopy {
    pub store: CopiedStore,
    /// The last migration of the tables.
    pub migration: usize,
    pub rows: CopiedRows,
}

/// The store whose tables were copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CopiedStore {
    /// An embedded installation.
    Sqlite,
    /// A cluster, by its number of databases, and of tables of each kind in one.
    Mysql { databases: usize, tables: u16 },
}

/// How many rows were copied of what an operator counts by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedRows {
    pub subjects: u64,
    pub comments: u64,
    pub reactions: u64,
    pub members: u64,
}

/// Where the files of pictures are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum PicturesPlace {
    /// In the folder. So many had no file any more when they were copied.
    Backup { count: u64, bytes: u64, missing: u64 },
    /// In a bucket, where they stay.
    Bucket { url: String, count: u64 },
}

/// How much of a copy is made, in bytes or rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyProgress {
    pub done: u64,
    pub total: u64,
}

/// Why a backup cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableBackup {
    #[error("its manifest cannot be read: {0}")]
    Manifest(String),
    #[error(
        "it has format {found}, written by gailou {program}; this program, gailou {PROGRAM_VERSION}, restores formats up to \
         {BACKUP_FORMAT}: take gailou {program} or a later one"
    )]
    NewerFormat { found: u32, program: String },
    #[error(
        "its tables have migration {found}, of gailou {program}; this program, gailou {PROGRAM_VERSION}, knows {known}: take \
         gailou {program} or a later one"
    )]
    NewerTables { found: usize, known: usize, program: String },
    #[error(
        "its tables have migration {found}, and of {store} only tables with {least} can be restored here: restore it into \
         another of its kind, run `gailou migrate` there, and restore a backup of that"
    )]
    OlderTables { store: CopiedStore, found: usize, least: usize },
    #[error("it is of {found}, and this is {configured}")]
    OtherStore { found: CopiedStore, configured: CopiedStore },
}

/// What every format says of itself.
#[derive(Debug, Deserialize)]
struct ManifestHead {
    format: u32,
    program: String,
}

impl BackupManifest {
    /// The manifest of a backup that was begun at this time.
    pub fn new(made_at: u64, tables: TablesCopy, pictures: Option<PicturesPlace>, files: Vec<BackupFile>) -> Self {
        Self { format: BACKUP_FORMAT, program: PROGRAM_VERSION.to_owned(), made_at, tables, pictures, files }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// When it is none, or of a newer format.
    pub fn parse(text: &[u8]) -> Result<Self, UnusableBackup> {
        let wrong = |error: serde_json::Error| UnusableBackup::Manifest(error.to_string());
        let ManifestHead { format, program } = serde_json::from_slice(text).map_err(wrong)?;
        if format > BACKUP_FORMAT {
            return Err(UnusableBackup::NewerFormat { found: format, program });
        }
        serde_json::from_slice(text).map_err(wrong)
    }

    /// Refuses a backup of another kind of store, or of tables whose last migration is not among those that are taken.
    ///
    /// # Errors
    /// With the reason.
    pub fn check_tables(&self, configured: CopiedStore, taken: RangeInclusive<usize>) -> Result<(), UnusableBackup> {
        let TablesCopy { store: found, migration, .. } = self.tables;
        let (least, known) = (*taken.start(), *taken.end());
        if found != configured {
            return Err(UnusableBackup::OtherStore { found, configured });
        }
        if migration > known {
            return Err(UnusableBackup::NewerTables { found: migration, known, program: self.program.clone() });
        }
        if migration < least {
            return Err(UnusableBackup::OlderTables { store: found, found: migration, least });
        }
        Ok(())
    }
}

impl fmt::Display for CopiedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite => f.write_str("an embedded installation"),
            Self::Mysql { databases, tables } => {
                write!(f, "a cluster of {databases} databases with {tables} tables of each kind (cluster.tables)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(store: CopiedStore) -> BackupManifest {
        let tables = TablesCopy { store, migration: 17, rows: CopiedRows::default() };
        let file = BackupFile { name: "gailou.db".into(), bytes: 1, sha256: "ab".into() };
        BackupManifest::new(1, tables, Some(PicturesPlace::Backup { count: 1, bytes: 2, missing: 0 }), vec![file])
    }

    #[test]
    fn manifest_is_read_as_it_was_written() {
        for store in [CopiedStore::Sqlite, CopiedStore::Mysql { databases: 2, tables: 64 }] {
            let manifest = manifest(store);
            assert_eq!(BackupManifest::parse(&serde_json::to_vec(&manifest).unwrap()), Ok(manifest));
        }
        assert!(matches!(BackupManifest::parse(b"{}"), Err(UnusableBackup::Manifest(_))));
    }

    #[test]
    fn newer_format_is_refused_by_both_versions_whatever_it_contains() {
        let error = BackupManifest::parse(br#"{"format":7,"program":"9.8.7","rest":[1]}"#).unwrap_err().to_string();
        assert!(error.contains("format 7") && error.contains("gailou 9.8.7"), "{error}");
        assert!(error.contains(PROGRAM_VERSION) && error.contains("up to 1"), "{error}");
    }

    #[test]
    fn tables_of_another_store_or_a_newer_program_are_refused() {
        let embedded = manifest(CopiedStore::Sqlite);
        assert_eq!(embedded.check_tables(CopiedStore::Sqlite, 1..=17), Ok(()));
        assert_eq!(embedded.check_tables(CopiedStore::Sqlite, 1..=18), Ok(()), "the next start migrates them");
        let newer = embedded.check_tables(CopiedStore::Sqlite, 1..=16);
        assert!(matches!(newer, Err(UnusableBackup::NewerTables { found: 17, known: 16, .. })), "{newer:?}");
        assert_eq!(embedded.check_tables(CopiedStore::Sqlite, 17..=17), Ok(()));
        let older = embedded.check_tables(CopiedStore::Sqlite, 18..=18);
        assert_eq!(
            older,
            Err(UnusableBackup::OlderTables { store: CopiedStore::Sqlite, found: 17, least: 18 }),
            "no start migrates them"
        );
        let cluster = CopiedStore::Mysql { databases: 2, tables: 64 };
        let other = CopiedStore::Mysql { databases: 3, tables: 64 };
        for (found, configured) in [(CopiedStore::Sqlite, cluster), (cluster, CopiedStore::Sqlite), (cluster, other)] {
            let refused = manifest(found).check_tables(configured, 1..=17).unwrap_err();
            assert_eq!(refused, UnusableBackup::OtherStore { found, configured });
        }
    }
}
