//! The input of a command: a file or standard input; the control socket has its own.
//!
//! Not here: what the input means. Promise: an input that is interrupted is an error, never an end.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::cli::export_file::ExportFile;
use crate::config::Config;
use crate::service::import::Input;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a command reads.
#[derive(Debug)]
pub(super) enum CommandInput {
    Nothing,
    /// `-` is standard input.
    File(PathBuf),
    Export(Box<ExportFile>),
}

impl CommandInput {
    /// # Errors
    /// When the file cannot be opened; the message names the path.
    pub(super) async fn open(self, config: &Config) -> anyhow::Result<Box<dyn Input>> {
        Ok(match self {
            Self::Nothing => Box::new(InputReader(Box::pin(tokio::io::empty()))),
            Self::File(path) => Box::new(InputReader::open(&path).await?),
            Self::Export(export) => Box::new(export.into_input(config)?),
        })
    }
}

/// A file, or standard input.
pub struct InputReader(Pin<Box<dyn AsyncRead + Send>>);

impl std::fmt::Debug for InputReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InputReader(…)")
    }
}

impl InputReader {
    /// The file at this path; `-` is standard input.
    ///
    /// # Errors
    /// When the file cannot be opened; the message names the path.
    pub async fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self(Box::pin(tokio::io::stdin())));
        }
        let opened = tokio::fs::File::open(path).await;
        Ok(Self(Box::pin(opened.with_context(|| format!("cannot open the file {}", path.display()))?)))
    }
}

#[async_trait]
impl Input for InputReader {
    async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
        let mut bytes = BytesMut::with_capacity(CHUNK_BYTES);
        self.0.read_buf(&mut bytes).await?;
        Ok(Some(bytes.freeze()).filter(|bytes| !bytes.is_empty()))
    }
}

/// Reads the whole input.
///
/// # Errors
/// When it is interrupted, or has more than `max_bytes` bytes.
pub async fn read_all(input: &mut dyn Input, max_bytes: usize) -> anyhow::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(chunk) = input.read_chunk().await? {
        all.extend_from_slice(&chunk);
        anyhow::ensure!(all.len() <= max_bytes, "the input is longer than {max_bytes} bytes");
    }
    Ok(all)
}
