//! The files of pictures in the folder of a backup, below `media`. Their names have the digests of their bytes.

use anyhow::{Context as _, bail, ensure};
use futures_util::TryStreamExt as _;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};

use crate::cli::backup::folder::BackupFolder;
use crate::cli::output::Console;
use crate::domain::media::MediaName;
use crate::ports::blobs::Blobs;
use crate::ports::store::PICTURE_LIST_FILE_NAME;

/// What was found of the listed pictures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundPictures {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) missing: u64,
}

/// The listed names.
struct PictureList(Lines<BufReader<File>>);

impl PictureList {
    async fn open(folder: &BackupFolder) -> anyhow::Result<Self> {
        let path = folder.path().join(PICTURE_LIST_FILE_NAME);
        let file = File::open(&path).await.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self(BufReader::new(file).lines()))
    }

    async fn next(&mut self) -> anyhow::Result<Option<MediaName>> {
        let Some(line) = self.0.next_line().await? else { return Ok(None) };
        match MediaName::parse(&line) {
            Some(name) => Ok(Some(name)),
            None => bail!("{PICTURE_LIST_FILE_NAME} names {line:?}, which is no picture"),
        }
    }
}

fn file_of(name: &MediaName) -> String {
    format!("media/{}", name.path())
}

/// How many pictures the copied tables have.
pub(super) async fn count_listed(folder: &BackupFolder) -> anyhow::Result<u64> {
    let (mut list, mut count) = (PictureList::open(folder).await?, 0);
    while list.next().await?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Copies the files of the listed pictures into the folder, one after the other: one is 5 MiB at most.
pub(super) async fn copy_out(
    blobs: &dyn Blobs,
    folder: &BackupFolder,
    console: &mut dyn Console,
) -> anyhow::Result<FoundPictures> {
    let total = count_listed(folder).await?;
    let (mut list, mut found) = (PictureList::open(folder).await?, FoundPictures::default());
    while let Some(name) = list.next().await? {
        match blobs.get(&name).await? {
            None => found.missing += 1,
            Some(blob) => {
                let bytes = blob.parts.map_ok(Vec::from).try_concat().await?;
                ensure!(name.is_of(&bytes), "the picture {name} is damaged where pictures are");
                folder.put(&file_of(&name), &bytes)?;
                found.count += 1;
                found.bytes += bytes.len() as u64;
            }
        }
        console.progress(found.count + found.missing, total).await?;
    }
    Ok(found)
}

/// Compares the files in the folder with their names. Pictures that had no file are left out.
pub(in crate::cli) async fn verify(folder: &BackupFolder, count: u64, bytes: u64) -> anyhow::Result<()> {
    let (mut list, mut found) = (PictureList::open(folder).await?, FoundPictures::default());
    while let Some(name) = list.next().await? {
        let Some(file) = read(folder, &name).await? else { continue };
        ensure!(name.is_of(&file), "the picture {} is damaged", folder.path().join(file_of(&name)).display());
        found.count += 1;
        found.bytes += file.len() as u64;
    }
    ensure!(
        (found.count, found.bytes) == (count, bytes),
        "{} has {} pictures of {} bytes, and had {count} of {bytes}",
        folder.path().display(),
        found.count,
        found.bytes
    );
    Ok(())
}

/// Puts the files where pictures are.
pub(in crate::cli) async fn copy_in(
    blobs: &dyn Blobs,
    folder: &BackupFolder,
    total: u64,
    console: &mut dyn Console,
) -> anyhow::Result<()> {
    let (mut list, mut done) = (PictureList::open(folder).await?, 0);
    while let Some(name) = list.next().await? {
        let Some(file) = read(folder, &name).await? else { continue };
        blobs.put(&name, file.into()).await?;
        done += 1;
        console.progress(done, total).await?;
    }
    Ok(())
}

/// The bytes of a picture; `None` where it had no file.
async fn read(folder: &BackupFolder, name: &MediaName) -> anyhow::Result<Option<Vec<u8>>> {
    let path = folder.path().join(file_of(name));
    match tokio::fs::read(&path).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
