//! Who owns a data directory: a lock on a file in it.
//!
//! The system lets go of the lock when its holder dies, however it dies. Promise: at most one
//! process on this machine holds a directory's lock. (Network file systems keep no such promise.)

use std::fs::{
    File, OpenOptions, TryLockError, {self},
};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;

/// Its name in the data directory.
const LOCK_FILE_NAME: &str = "gailou.lock";

/// The right to work on a data directory, for as long as this value lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `data` (the directory is made when it is missing); `None` when another
    /// process holds it.
    ///
    /// # Errors
    /// When the directory cannot be made or written to.
    pub(super) fn take(data: &Path) -> anyhow::Result<Option<Self>> {
        fs::create_dir_all(data).with_context(|| format!("cannot make the data directory {}", data.display()))?;
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
        // For people only: nothing depends on what the file holds.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Some(Self { _file: file }))
    }
}

/// Why the lock of `data` cannot be had, in words.
pub(super) fn taken(data: &Path) -> anyhow::Error {
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
    fn one_holder_at_a_time_and_the_next_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("new/data");
        let first = Lock::take(&data).unwrap();
        assert!(first.is_some() && Lock::take(&data).unwrap().is_none());
        let message = taken(&data).to_string();
        assert!(message.contains("new/data") && message.contains(&std::process::id().to_string()), "{message}");
        drop(first);
        assert!(Lock::take(&data).unwrap().is_some());
    }
}
