//! `gailou restore`: puts a backup into an empty place.
//!
//! It runs in this process alone: there is no server yet. Promise: nothing is written before every digest was compared,
//! and the place is refused by every other command until everything is in it and on disk.

use std::path::Path;

use anyhow::{Context as _, ensure};
use tokio::sync::watch;

use crate::bootstrap;
use crate::bootstrap::restore::TableRestore;
use crate::bootstrap::token_secret::TOKEN_SECRET_FILE_NAME;
use crate::cli::backup::folder::BackupFolder;
use crate::cli::backup::{BackupSummary, follow, pictures};
use crate::cli::data_lock;
use crate::cli::data_lock::DataLock;
use crate::cli::output::{Console, Terminal};
use crate::clock::Clock;
use crate::config::{Config, Secret};
use crate::domain::backup::{BackupManifest, CopiedStore, CopyProgress, PicturesPlace};

/// Restores the backup in this folder.
pub(super) async fn run(config: &Config, path: &Path) -> anyhow::Result<u8> {
    let mut console = Terminal::new();
    let (folder, manifest) = BackupFolder::open(path)?;
    let place = TableRestore::new(config)?;
    place.check(&manifest).with_context(|| format!("cannot restore {}", path.display()))?;
    console.err(&format!("comparing {} with its digests\n", path.display())).await?;
    folder.verify(&manifest.files)?;
    if let Some(PicturesPlace::Backup { count, bytes, .. }) = manifest.pictures {
        pictures::verify(&folder, count, bytes).await?;
    }
    if config.cluster.is_none() && manifest.tables.store != CopiedStore::Sqlite {
        let (found, data) = (manifest.tables.store, config.data.display());
        console.err(&format!("{data} becomes an embedded installation with the rows of {found}\n")).await?;
    }
    let _lock = match config.cluster {
        Some(_) => None,
        None => Some(DataLock::acquire(&config.data)?.ok_or_else(|| data_lock::held_error(&config.data))?),
    };
    place.begin().await?;
    put_pictures(config, &folder, &manifest, &mut console).await?;
    put_secret(config, &folder, &manifest, &mut console).await?;
    let (sender, progress) = watch::channel(CopyProgress::default());
    let report = |progress| {
        sender.send_replace(progress);
    };
    let now = Clock::system().now();
    follow(place.fill(folder.path(), &manifest.tables, now, &report), progress, &mut console).await??;
    place.finish().await?;
    BackupSummary::of(&manifest).print(&mut console).await?;
    Ok(0)
}

/// Puts the pictures where the configuration has them.
async fn put_pictures(
    config: &Config,
    folder: &BackupFolder,
    manifest: &BackupManifest,
    console: &mut dyn Console,
) -> anyhow::Result<()> {
    match &manifest.pictures {
        Some(PicturesPlace::Backup { count, .. }) if *count > 0 => {
            let media = bootstrap::media(config)?;
            ensure!(media.is_some(), "the backup has {count} pictures: set media.url (GAILOU_MEDIA__URL)");
            if let Some(media) = media {
                pictures::copy_in(&*media.blobs, folder, *count, console).await?;
            }
        }
        Some(PicturesPlace::Bucket { url, count }) if config.media.url.as_ref() != Some(url) => {
            let line =
                format!("{count} pictures were in {url}: media.url (GAILOU_MEDIA__URL) must name where they are\n");
            console.err(&line).await?;
        }
        _ => {}
    }
    Ok(())
}

/// Puts the secret that tokens are signed with into the data directory, where the backup has one. A cluster has it in its
/// configuration.
async fn put_secret(
    config: &Config,
    folder: &BackupFolder,
    manifest: &BackupManifest,
    console: &mut dyn Console,
) -> anyhow::Result<()> {
    if !manifest.files.iter().any(|file| file.name == TOKEN_SECRET_FILE_NAME) {
        if config.cluster.is_none() && config.auth.token_secret.is_none() {
            let line =
                "tokens were signed with the secret of its configuration: GAILOU_TOKEN_SECRET must be the same\n";
            console.err(line).await?;
        }
        return Ok(());
    }
    let source = folder.path().join(TOKEN_SECRET_FILE_NAME);
    if config.cluster.is_none() {
        let target = config.data.join(TOKEN_SECRET_FILE_NAME);
        // The file gets the permissions of the original too: its owner alone.
        std::fs::copy(source, &target)?;
        std::fs::File::open(&target)?.sync_all()?;
        return Ok(());
    }
    let configured = config.auth.token_secret.as_ref().map(Secret::expose);
    if configured != Some(std::fs::read_to_string(&source)?.trim()) {
        let source = source.display();
        let line = format!("tokens were signed with the secret in {source}: GAILOU_TOKEN_SECRET must be the same\n");
        console.err(&line).await?;
    }
    Ok(())
}
