//! The folder of a backup: its files, their digests, and the manifest that comes last.
//!
//! Does not know what the files contain. Promise: the folder is closed to other users, and has a manifest only when
//! everything that it names is on disk.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::domain::backup::{BackupFile, BackupManifest};

/// The file that makes a folder a backup.
const MANIFEST_FILE_NAME: &str = "manifest.json";
/// Its name until it is on disk.
const UNFINISHED_MANIFEST_FILE_NAME: &str = "manifest.json.unfinished";
/// The largest manifest that is read, in bytes: some hundred for each file, and no backup has a thousand.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// A folder that is written, or read.
#[derive(Debug)]
pub(in crate::cli) struct BackupFolder {
    path: PathBuf,
}

impl BackupFolder {
    /// Makes a folder for a new backup, or takes an empty one.
    pub(in crate::cli) fn create(path: &Path) -> anyhow::Result<Self> {
        let named = || format!("cannot write a backup to {}", path.display());
        DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(named)?;
        ensure!(
            fs::read_dir(path).with_context(named)?.next().is_none(),
            "{} is not empty: a backup needs a folder of its own",
            path.display()
        );
        fs::set_permissions(path, Permissions::from_mode(0o700)).with_context(named)?;
        Ok(Self { path: path.to_owned() })
    }

    /// The folder of a backup, and its manifest.
    pub(in crate::cli) fn open(path: &Path) -> anyhow::Result<(Self, BackupManifest)> {
        let file = path.join(MANIFEST_FILE_NAME);
        let size = match fs::metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("{} has no {MANIFEST_FILE_NAME}: it is no backup, or one that did not end", path.display())
            }
            found => found.with_context(|| format!("cannot read {}", file.display()))?.len(),
        };
        ensure!(size <= MAX_MANIFEST_BYTES, "{} is no manifest: it has {size} bytes", file.display());
        let manifest = BackupManifest::parse(&fs::read(&file)?);
        let manifest = manifest.with_context(|| format!("cannot restore {}", path.display()))?;
        Ok((Self { path: path.to_owned() }, manifest))
    }

    pub(in crate::cli) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file. The folders above it are made.
    pub(in crate::cli) fn put(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let path = self.path.join(name);
        let write = || {
            if let Some(folder) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// The digests of the files at its top; closes them to other users.
    pub(in crate::cli) fn digest_files(&self) -> anyhow::Result<Vec<BackupFile>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::set_permissions(entry.path(), Permissions::from_mode(0o600))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                files.push(digest(&self.path, name)?);
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// Makes it a backup.
    pub(in crate::cli) fn finish(self, manifest: BackupManifest) -> anyhow::Result<BackupManifest> {
        let mut text = serde_json::to_string_pretty(&manifest)?;
        text.push('\n');
        self.sync_folders()?;
        self.put(UNFINISHED_MANIFEST_FILE_NAME, text.as_bytes())?;
        fs::rename(self.path.join(UNFINISHED_MANIFEST_FILE_NAME), self.path.join(MANIFEST_FILE_NAME))?;
        File::open(&self.path)?.sync_all()?;
        Ok(manifest)
    }

    /// Syncs its folders: itself, and two below, where pictures are.
    fn sync_folders(&self) -> io::Result<()> {
        fn sync(folder: &Path, levels: u32) -> io::Result<()> {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if levels > 0 && entry.file_type()?.is_dir() {
                    sync(&entry.path(), levels - 1)?;
                }
            }
            File::open(folder)?.sync_all()
        }
        sync(&self.path, 2)
    }

    /// Compares the files with their digests.
    pub(in crate::cli) fn verify(&self, files: &[BackupFile]) -> anyhow::Result<()> {
        for file in files {
            let is_plain = Path::new(&file.name).file_name().is_some_and(|name| name == file.name.as_str());
            ensure!(is_plain, "the manifest names {:?}, which is no file of a backup", file.name);
            let found = digest(&self.path, file.name.clone())?;
            ensure!(
                found == *file,
                "{} is damaged: it has {} bytes and the digest {}, and had {} and {} when it was written",
                self.path.join(&file.name).display(),
                found.bytes,
                found.sha256,
                file.bytes,
                file.sha256
            );
        }
        Ok(())
    }
}

fn digest(folder: &Path, name: String) -> anyhow::Result<BackupFile> {
    let path = folder.join(&name);
    let mut hasher = Sha256::new();
    let read = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hasher));
    let bytes = read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BackupFile { name, bytes, sha256: hex::encode(hasher.finalize()) })
}
