//! The lock of a data directory: a lock on a file in it, held by the process that owns the data.
//!
//! The system releases the lock when its holder ends, even by a crash. Promise: at most one process on
//! this machine holds the lock. (A network file system may break this promise.)

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;

use crate::bootstrap::data_directory::{self, LOCK_FILE_NAME};

/// The lock of a data directory, held until it is dropped.
#[derive(Debug)]
pub(super) struct DataLock {
    _file: File,
}

impl DataLock {
    /// Acquires the lock of `data`; `None` when another process holds it. A missing directory is created.
    ///
    /// # Errors
    /// When the directory cannot be created or written to.
    pub(super) fn acquire(data: &Path) -> anyhow::Result<Option<Self>> {
        data_directory::create(data)?;
        let path = data.join(LOCK_FILE_NAME);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.with_context(|| format!("cannot write to {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        // For the message of another process only.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Some(Self { _file: file }))
    }
}

/// The error for a lock of `data` that another process holds.
pub(super) fn held_error(data: &Path) -> anyhow::Error {
    let mut holder = String::new();
    let read = File::open(data.join(LOCK_FILE_NAME)).and_then(|file| file.take(20).read_to_string(&mut holder));
    let data = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    match read {
        Ok(1..) => anyhow::anyhow!("the data directory {} is in use by process {holder}", data.display()),
        _ => anyhow::anyhow!("the data directory {} is in use by another process", data.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_has_one_holder_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("new/data");
        let first = DataLock::acquire(&data).unwrap();
        assert!(first.is_some() && DataLock::acquire(&data).unwrap().is_none());
        let message = held_error(&data).to_string();
        assert!(message.contains("new/data") && message.contains(&std::process::id().to_string()), "{message}");
        drop(first);
        assert!(DataLock::acquire(&data).unwrap().is_some());
    }
}
