//! An export of another system as the lines of an import, read in a thread beside it.

use std::io;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::config::Config;
use crate::domain::avatar::PICTURES_PATH;
use crate::domain::import_line::{ImportLine, SubjectDescription};
use crate::importers::ExportReader;
use crate::service::import::Input;

/// Lines that are read before the import takes them.
const LINES_AHEAD: usize = 1_000;

/// The lines of an export.
#[derive(Debug)]
pub(crate) struct ExportInput {
    lines: mpsc::Receiver<Bytes>,
    /// Ends with the reading.
    reading: Option<JoinHandle<anyhow::Result<()>>>,
}

impl ExportInput {
    /// Begins to read in a thread of its own. `bad` takes what cannot be read: which comment, and why.
    pub(crate) fn start(
        bad: impl FnMut(&str, &str) -> anyhow::Result<()> + Send + 'static,
        read: impl FnOnce(&mut dyn ExportReader) -> anyhow::Result<()> + Send + 'static,
    ) -> Self {
        let (sender, lines) = mpsc::channel(LINES_AHEAD);
        let reading = spawn_blocking(move || read(&mut SentExport { lines: sender, bad }));
        Self { lines, reading: Some(reading) }
    }
}

#[async_trait]
impl Input for ExportInput {
    async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
        if let Some(line) = self.lines.recv().await {
            return Ok(Some(line));
        }
        match self.reading.take() {
            // It has ended early where it failed.
            Some(reading) => match reading.await.map_err(io::Error::other)? {
                Ok(()) => Ok(None),
                Err(error) => Err(io::Error::other(format!("{error:#}"))),
            },
            None => Ok(None),
        }
    }
}

/// Sends the lines to an import.
struct SentExport<B> {
    lines: mpsc::Sender<Bytes>,
    bad: B,
}

impl<B> SentExport<B> {
    fn send(&self, mut line: String) -> anyhow::Result<()> {
        line.push('\n');
        self.lines.blocking_send(line.into()).context("the import has ended")
    }
}

impl<B: FnMut(&str, &str) -> anyhow::Result<()>> ExportReader for SentExport<B> {
    fn line(&mut self, _: &str, line: &ImportLine) -> anyhow::Result<()> {
        self.send(line.to_json())
    }

    fn subject(&mut self, description: &SubjectDescription) -> anyhow::Result<()> {
        self.send(description.to_json())
    }

    fn bad(&mut self, what: &str, reason: &str) -> anyhow::Result<()> {
        (self.bad)(what, reason)
    }
}

/// Before the hash of an e-mail address, in the address of a picture; `None` where pictures by hash are not configured, or
/// the address at which readers get them may change.
pub(crate) fn pictures_by_hash(config: &Config) -> Option<String> {
    let address = config.public_url.as_ref().filter(|_| config.avatars.url.is_some());
    address.map(|address| format!("{}{PICTURES_PATH}", address.trim_end_matches('/')))
}
