//! `gailou backup`: a copy of a running installation in a new folder.
//!
//! First the tables as they are at one moment, then the files of their pictures, of which none is deleted meanwhile, then
//! the secret of the data directory; the manifest comes last. Not in it: the search index, which is a view, and what the
//! configuration has. Promise: a folder with a manifest is whole and on disk.

pub(in crate::cli) mod folder;
pub(in crate::cli) mod pictures;

use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;

use anyhow::Context as _;
use serde::Serialize;
use tokio::sync::watch;

use self::folder::BackupFolder;
use crate::bootstrap::Process;
use crate::bootstrap::token_secret::TOKEN_SECRET_FILE_NAME;
use crate::cli::output::Console;
use crate::config::MediaPlace;
use crate::domain::backup::{BackupManifest, CopiedRows, CopyProgress, PicturesPlace};

/// What a backup or a restore has done, as its last line says it.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct BackupSummary {
    #[serde(flatten)]
    rows: CopiedRows,
    pictures: u64,
    bytes: u64,
}

impl BackupSummary {
    pub(in crate::cli) fn of(manifest: &BackupManifest) -> Self {
        let (pictures, bytes) = match &manifest.pictures {
            Some(PicturesPlace::Backup { count, bytes, .. }) => (*count, *bytes),
            _ => (0, 0),
        };
        let bytes = bytes + manifest.files.iter().map(|file| file.bytes).sum::<u64>();
        Self { rows: manifest.tables.rows, pictures, bytes }
    }

    pub(in crate::cli) async fn print(&self, console: &mut dyn Console) -> anyhow::Result<()> {
        Ok(console.out(&format!("{}\n", serde_json::to_string(self)?)).await?)
    }
}

/// Makes a backup in a folder that is empty or absent.
pub(in crate::cli) async fn run(process: &Process, path: &Path, console: &mut dyn Console) -> anyhow::Result<u8> {
    let folder = BackupFolder::create(path)?;
    let made = fill(process, folder, console).await;
    let manifest = made.with_context(|| format!("{} is no backup: delete it", path.display()))?;
    if let Err(error) = process.tables.store_backup_time(manifest.made_at).await {
        // The backup is whole all the same.
        console.err(&format!("could not store when this backup was made: {error}\n")).await?;
    }
    BackupSummary::of(&manifest).print(console).await?;
    Ok(0)
}

async fn fill(process: &Process, folder: BackupFolder, console: &mut dyn Console) -> anyhow::Result<BackupManifest> {
    let made_at = process.clock.now();
    let deletions = async { Some(process.media.as_ref()?.deletions.lock().await) };
    let _deletions = deletions.await;
    let (sender, progress) = watch::channel(CopyProgress::default());
    let report = |progress| {
        sender.send_replace(progress);
    };
    let tables = follow(process.table_backup.back_up(folder.path(), &report), progress, console).await??;
    let pictures = copy_pictures(process, &folder, console).await?;
    copy_secret(process, &folder)?;
    let finish = move || {
        let files = folder.digest_files()?;
        folder.finish(BackupManifest::new(made_at, tables, pictures, files))
    };
    tokio::task::spawn_blocking(finish).await?
}

/// Completes the work, and shows its progress.
pub(in crate::cli) async fn follow<T>(
    work: impl Future<Output = T>,
    mut progress: watch::Receiver<CopyProgress>,
    console: &mut dyn Console,
) -> io::Result<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done),
            Ok(()) = progress.changed() => {
                let CopyProgress { done, total } = *progress.borrow_and_update();
                console.progress(done, total).await?;
            }
        }
    }
}

/// Copies the files of the pictures that the copied tables have.
async fn copy_pictures(
    process: &Process,
    folder: &BackupFolder,
    console: &mut dyn Console,
) -> anyhow::Result<Option<PicturesPlace>> {
    let data: Option<PathBuf> = process.config.cluster.is_none().then(|| process.config.data.clone());
    let (Some(place), Some(media)) = (process.config.media.place(data.as_deref()), &process.media) else {
        return Ok(None);
    };
    if let MediaPlace::Bucket { .. } = place {
        let url = process.config.media.url.clone().unwrap_or_default();
        let count = pictures::count_listed(folder).await?;
        console.err(&format!("{count} pictures stay where they are, in {url}: back them up there\n")).await?;
        return Ok(Some(PicturesPlace::Bucket { url, count }));
    }
    let copied = pictures::copy_out(&*media.blobs, folder, console).await?;
    if copied.missing > 0 {
        let missing = copied.missing;
        console.err(&format!("{missing} pictures have no file: they are being uploaded, or were deleted\n")).await?;
    }
    Ok(Some(PicturesPlace::Backup { count: copied.count, bytes: copied.bytes, missing: copied.missing }))
}

/// Copies the secret that tokens are signed with, where it is in the data directory.
fn copy_secret(process: &Process, folder: &BackupFolder) -> anyhow::Result<()> {
    let secret = process.config.data.join(TOKEN_SECRET_FILE_NAME);
    if process.config.cluster.is_none() && secret.exists() {
        folder.put(TOKEN_SECRET_FILE_NAME, &std::fs::read(secret)?)?;
    }
    Ok(())
}
