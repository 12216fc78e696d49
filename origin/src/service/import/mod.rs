//! Threads from JSON lines, for `gailou import` and for admins.
//!
//! Reads the whole input into files of its own (`staged`); then, part by part, looks up which comments the store has,
//! resolves parents, allocates ids, and appends in the order of the floors. The word filter and the rate limits do not
//! apply: imported comments were published before. Promise: a second run changes nothing, an interrupted run can be
//! repeated, a bad line affects no other line, and memory holds some numbers for each comment of two parts, and the texts of
//! a few thousand.

mod export_input;
mod ids;
mod lines;
mod parents;
mod parsed;
mod part_lines;
mod pictures;
mod prepared;
mod staged;
mod stored;
mod subjects;
mod write;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
pub(crate) use export_input::{ExportInput, pictures_by_hash};
pub use lines::Input;
use parsed::{NumberedLine, ParsedLines};
use part_lines::{PartLines, RepeatedLines};
pub use pictures::PictureFetcher;
pub(crate) use pictures::count_pictures;
use prepared::PreparedPart;
use serde_json::json;
use staged::{StagedLines, StagedPart};
use subjects::SubjectDescriptions;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use crate::domain::audit::AuditEntry;
use crate::domain::import_line::ParsedLine;
use crate::domain::operation::Operation;
use crate::ports::journal::JournalError;
use crate::ports::store::StoreError;
use crate::service::ServiceError;
use crate::state::AppState;

/// How long an import waits before it appends to a full journal again.
const FULL_JOURNAL_PAUSE: Duration = Duration::from_millis(20);

/// What ends an import early.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input is interrupted, or its sender reads no more of what is said.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A picture cannot be stored.
    #[error(transparent)]
    Picture(#[from] ServiceError),
}

type Result<T> = std::result::Result<T, ImportError>;

/// Takes what an import says while it runs. An error ends the import.
#[async_trait]
pub trait ImportObserver: Send {
    /// A line that is not imported: its number from 1, and why.
    async fn bad_line(&mut self, number: usize, reason: &str) -> io::Result<()>;
    /// A picture of a comment that stays what it is in the text: its address, and why.
    async fn picture_failed(&mut self, _address: &str, _reason: &str) -> io::Result<()> {
        Ok(())
    }
    /// How much of the work is done, in lines.
    async fn progress(&mut self, done: u64, total: u64) -> io::Result<()>;
}

/// How many lines had which outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ImportReport {
    pub imported: u64,
    /// Those that are there already.
    pub skipped: u64,
    /// Those of the imported that stand under their root, because their parent is missing.
    pub reparented: u64,
    pub bad: u64,
    /// Subjects that were given a title or an address.
    pub described: u64,
    /// Pictures that comments have got.
    pub pictures: u64,
    /// Those that could not be fetched.
    pub pictures_failed: u64,
}

impl ImportReport {
    /// How many lines have an outcome.
    const fn done(&self) -> u64 {
        self.imported + self.skipped + self.bad
    }

    async fn add_bad_line(&mut self, number: usize, reason: &str, observer: &mut dyn ImportObserver) -> Result<()> {
        self.bad += 1;
        Ok(observer.bad_line(number, reason).await?)
    }

    /// Leaves an entry in the audit log, where anything was imported: also before the import ended early.
    async fn record(&self, app: &AppState, audit: AuditEntry) -> Result<()> {
        let Self { imported, skipped, reparented, bad, described, pictures, pictures_failed } = self;
        if *imported > 0 || *described > 0 {
            let mut counts = json!({"imported": imported, "skipped": skipped, "reparented": reparented, "bad": bad});
            if *described > 0 {
                counts["described"] = json!(described);
            }
            if *pictures + *pictures_failed > 0 {
                counts["pictures"] = json!(pictures);
                counts["pictures_failed"] = json!(pictures_failed);
            }
            let audit = AuditEntry { after: Some(counts), ..audit };
            app.journal.append(Operation::Import { audit: Box::new(audit) }).await?;
        }
        Ok(())
    }
}

/// An import: first everything is read, then it is written.
#[derive(Debug)]
pub struct Import {
    parts: Vec<Arc<StagedPart>>,
    /// When it began, in Unix milliseconds: nothing of it is later.
    now: u64,
    report: ImportReport,
    /// Where the pictures of comments are to be fetched.
    pictures: Option<PictureFetcher>,
    /// Of [`AppState::imports`].
    _place: OwnedSemaphorePermit,
}

impl Import {
    /// Reads every line.
    ///
    /// # Errors
    /// When the input is interrupted, or does not fit onto the disk.
    pub async fn read(
        app: &AppState,
        place: OwnedSemaphorePermit,
        input: &mut dyn Input,
        observer: &mut dyn ImportObserver,
    ) -> Result<Self> {
        let now = app.now();
        let mut staged = StagedLines::new(&staging_folder(app), now);
        let mut report = ImportReport::default();
        let mut lines = ParsedLines::new(input);
        while let Some(batch) = lines.next_batch().await? {
            for NumberedLine { number, bytes, parsed } in batch {
                match parsed.and_then(|line| check_kind(app, line)) {
                    Ok(line) => staged.add(number, &line, &bytes).await?,
                    Err(reason) => report.add_bad_line(number, &reason, observer).await?,
                }
            }
        }
        Ok(Self { parts: staged.finish(), now, report, pictures: None, _place: place })
    }

    /// The same, with so many more comments that are bad: those of an export that no line was made of.
    #[must_use]
    pub(crate) fn with_bad(mut self, bad: u64) -> Self {
        self.report.bad += bad;
        self
    }

    /// The same, which also fetches the pictures of the comments that it writes.
    #[must_use]
    pub fn with_pictures(self, pictures: PictureFetcher) -> Self {
        Self { pictures: Some(pictures), ..self }
    }

    /// Writes the comments; with `strict`, all of them or none. To be called once. `audit` is the entry of the log, without
    /// the counts.
    ///
    /// # Errors
    /// When the store or the journal does not answer: the report says what was written until then.
    pub async fn write(
        &mut self,
        app: &AppState,
        strict: bool,
        audit: AuditEntry,
        observer: &mut dyn ImportObserver,
    ) -> Result<()> {
        if strict {
            let mut checked = self.report;
            for part in self.parts.clone() {
                self.prepare(app, PartLines::read(part).await?, &mut checked, observer).await?;
            }
            if checked.bad > 0 {
                self.report = checked;
                return Ok(());
            }
        }
        let comments: usize = self.parts.iter().map(|part| part.comments()).sum();
        let total = comments as u64 + self.report.bad;
        let written = self.write_parts(app, total, observer).await;
        self.report.record(app, audit).await?;
        written?;
        Ok(observer.progress(total, total).await?)
    }

    async fn write_parts(&mut self, app: &AppState, total: u64, observer: &mut dyn ImportObserver) -> Result<()> {
        let mut parts = self.parts.clone().into_iter();
        let mut reading = parts.next().map(read_ahead);
        while let Some(read) = reading {
            let read = read.await.map_err(io::Error::other)??;
            // The next one is read while this one is written.
            reading = parts.next().map(read_ahead);
            let mut report = self.report;
            let (prepared, descriptions) = self.prepare(app, read, &mut report, observer).await?;
            self.report = report;
            let pictures = self.pictures.as_mut();
            write::write_part(app, &prepared, total, pictures, &mut self.report, observer).await?;
            self.report.described += subjects::describe_subjects(app, descriptions).await?;
        }
        Ok(())
    }

    /// What is to be written of a part, with what is wrong with the rest.
    async fn prepare(
        &self,
        app: &AppState,
        (mut comments, repeated): (PartLines, RepeatedLines),
        report: &mut ImportReport,
        observer: &mut dyn ImportObserver,
    ) -> Result<(PreparedPart, SubjectDescriptions)> {
        report.skipped += repeated.equal;
        for (number, first) in repeated.different {
            let reason = format!("`id` is that of line {first}, whose fields differ");
            report.add_bad_line(number, &reason, observer).await?;
        }
        let descriptions = std::mem::take(&mut comments.descriptions);
        Ok((PreparedPart::new(app, comments, self.now, report, observer).await?, descriptions))
    }

    /// How many lines had which outcome so far.
    pub fn report(&self) -> ImportReport {
        self.report
    }
}

/// Begins to read a part.
fn read_ahead(part: Arc<StagedPart>) -> JoinHandle<io::Result<(PartLines, RepeatedLines)>> {
    tokio::spawn(PartLines::read(part))
}

/// Where files of an import lie.
pub(crate) fn staging_folder(app: &AppState) -> PathBuf {
    let data = &app.config.data;
    // A container may have no folder for temporary files, and that of a cluster no data directory.
    if data.is_dir() { data.clone() } else { std::env::temp_dir() }
}

/// The line, if the type of its subject is configured.
fn check_kind(app: &AppState, line: ParsedLine) -> std::result::Result<ParsedLine, String> {
    let kind = line.subject().kind();
    match app.threading(kind) {
        Some(_) => Ok(line),
        None => Err(format!("`subject`: the type {kind:?} is not configured")),
    }
}
