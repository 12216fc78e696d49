//! The file of an export: it is opened as often as its system's reader needs, and says how far each reading is.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Takes how far a reading is: how many bytes are read, and how many the file has.
pub(crate) type ReadProgress = dyn Fn(u64, u64) + Send + Sync;

/// The file of an export.
#[derive(Clone)]
pub(super) struct ExportSource {
    path: PathBuf,
    progress: Arc<ReadProgress>,
}

impl fmt::Debug for ExportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExportSource").field(&self.path).finish()
    }
}

impl ExportSource {
    pub(super) fn new(path: PathBuf, progress: Arc<ReadProgress>) -> Self {
        Self { path, progress }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it to be read from its beginning to its end.
    ///
    /// # Errors
    /// When there is no such file, or it may not be read.
    pub(super) fn open(&self) -> io::Result<CountedFile> {
        let file = File::open(&self.path)?;
        let total = file.metadata()?.len();
        Ok(CountedFile { file, read: 0, total, progress: self.progress.clone() })
    }

    /// Opens it for a look at how it begins, which is no progress.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn peek(&self) -> io::Result<File> {
        File::open(&self.path)
    }
}

/// A file that says how far its reading is.
pub(super) struct CountedFile {
    file: File,
    read: u64,
    total: u64,
    progress: Arc<ReadProgress>,
}

impl Read for CountedFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.read += read as u64;
        (self.progress)(self.read, self.total);
        Ok(read)
    }
}
