//! The data directory: readable by its owner alone.
//!
//! Promise: what is created here is closed to other users of the machine. An existing directory stays as
//! its owner made it; [`find_exposed`] finds what others may read.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// The file that is locked by the process that owns the directory.
pub const LOCK_FILE_NAME: &str = "gailou.lock";
/// The file that says that a restore into the directory has begun and has not ended.
const UNFINISHED_RESTORE_FILE_NAME: &str = "restore.unfinished";

/// The permissions of the group and of other users.
const PERMISSIONS_OF_OTHERS: u32 = 0o077;

/// Creates the directory, and those above it, for its owner alone; an existing one stays as it is.
///
/// # Errors
/// When it cannot be created.
pub fn create(data: &Path) -> anyhow::Result<()> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(data);
    created.with_context(|| format!("cannot create the data directory {}", data.display()))
}

/// Notes that a restore into the directory begins: it cannot be used until [`end_restore`].
///
/// # Errors
/// When it cannot be written to.
pub fn begin_restore(data: &Path) -> io::Result<()> {
    File::create(data.join(UNFINISHED_RESTORE_FILE_NAME))?.sync_all()?;
    File::open(data)?.sync_all()
}

/// Notes that everything is there, and on disk.
///
/// # Errors
/// When it cannot be written to.
pub fn end_restore(data: &Path) -> io::Result<()> {
    // What was made in the directory comes first.
    File::open(data)?.sync_all()?;
    fs::remove_file(data.join(UNFINISHED_RESTORE_FILE_NAME))?;
    File::open(data)?.sync_all()
}

/// Refuses a directory into which a restore has not ended.
///
/// # Errors
/// When it is one.
pub fn refuse_unfinished_restore(data: &Path) -> anyhow::Result<()> {
    ensure!(
        !data.join(UNFINISHED_RESTORE_FILE_NAME).exists(),
        "a restore into {} has not ended: delete what is in it, and restore again",
        data.display()
    );
    Ok(())
}

/// The files in the directory that other users of the machine may open; none when the directory is closed
/// to them.
///
/// # Errors
/// When the directory cannot be read.
pub fn find_exposed(data: &Path) -> io::Result<Vec<PathBuf>> {
    let is_open =
        |path: &Path| fs::symlink_metadata(path).map(|found| found.permissions().mode() & PERMISSIONS_OF_OTHERS != 0);
    let mut exposed = Vec::new();
    if is_open(data)? {
        for entry in fs::read_dir(data)? {
            let path = entry?.path();
            // A temporary file may be gone by now.
            if is_open(&path).unwrap_or(false) {
                exposed.push(path);
            }
        }
        exposed.sort();
    }
    Ok(exposed)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn file_is_exposed_only_in_an_open_directory() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("new/data");
        create(&data).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for (name, mode) in [("open", 0o644), ("closed", 0o600)] {
            fs::write(data.join(name), "").unwrap();
            set(&data.join(name), mode);
        }
        assert_eq!(find_exposed(&data).unwrap(), Vec::<PathBuf>::new());
        set(&data, 0o755);
        assert_eq!(find_exposed(&data).unwrap(), [data.join("open")]);
    }

    #[test]
    fn directory_is_refused_until_a_restore_ends() {
        let directory = tempfile::tempdir().unwrap();
        refuse_unfinished_restore(directory.path()).unwrap();
        begin_restore(directory.path()).unwrap();
        let refused = refuse_unfinished_restore(directory.path()).unwrap_err().to_string();
        assert!(refused.contains("has not ended"), "{refused}");
        end_restore(directory.path()).unwrap();
        refuse_unfinished_restore(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
