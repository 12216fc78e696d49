//! Threads from JSON lines, for `gailou import` and for admins.
//!
//! Reads the whole input into files of its own (`staged`); then, part by part, looks up which comments the store has,
//! resolves parents, allocates ids, and appends in the order of the floors. The word filter and the rate limits do not
//! apply: imported comments were published before. Promise: a second run changes nothing, an interrupted run can be
//! repeated, a bad line affects no other line, and memory holds one part and no more.

mod ids;
mod lines;
mod parents;
mod staged;
mod stored;
mod subjects;
mod write;

use std::collections::HashMap;
use std::io;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use ids::ImportIds;
pub use lines::Input;
use lines::{InputLines, RawLine};
use parents::{ImportEntry, SourceKey, StoredParent, ThreadPosition};
use serde_json::json;
use staged::StagedLines;
use subjects::SubjectDescriptions;
use tokio::sync::OwnedSemaphorePermit;

use crate::domain::audit::AuditEntry;
use crate::domain::import_line::{ImportLine, MAX_LINE_BYTES, ParsedLine};
use crate::domain::operation::Operation;
use crate::ports::journal::JournalError;
use crate::ports::store::StoreError;
use crate::state::AppState;

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
}

type Result<T> = std::result::Result<T, ImportError>;

/// Takes what an import says while it runs. An error ends the import.
#[async_trait]
pub trait ImportObserver: Send {
    /// A line that is not imported: its number from 1, and why.
    async fn bad_line(&mut self, number: usize, reason: &str) -> io::Result<()>;
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
        let Self { imported, skipped, reparented, bad, described } = self;
        if *imported > 0 || *described > 0 {
            let mut counts = json!({"imported": imported, "skipped": skipped, "reparented": reparented, "bad": bad});
            if *described > 0 {
                counts["described"] = json!(described);
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
    lines: StagedLines,
    /// When it began, in Unix milliseconds: nothing of it is later.
    now: u64,
    report: ImportReport,
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
        // A container may have no folder for temporary files, and that of a cluster no data directory.
        let (data, temporary) = (&app.config.data, std::env::temp_dir());
        let lines = StagedLines::new(if data.is_dir() { data } else { &temporary });
        let report = ImportReport::default();
        let mut import = Self { lines, now: app.now(), report, _place: place };
        let mut lines = InputLines::new(input, MAX_LINE_BYTES);
        let mut number = 0;
        while let Some(raw) = lines.next_line().await? {
            number += 1;
            let RawLine::Complete(bytes) = raw else {
                let reason = format!("is longer than {MAX_LINE_BYTES} bytes");
                import.report.add_bad_line(number, &reason, observer).await?;
                continue;
            };
            let bytes = strip_byte_order_mark(&bytes, number).trim_ascii();
            if bytes.is_empty() {
                continue;
            }
            match ParsedLine::parse(bytes).and_then(|line| check_kind(app, line)) {
                Ok(line) => import.lines.add(number, &line, bytes).await?,
                Err(reason) => import.report.add_bad_line(number, &reason, observer).await?,
            }
        }
        Ok(import)
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
            for part in 0..self.lines.parts() {
                self.prepare(app, part, &mut checked, observer).await?;
            }
            if checked.bad > 0 {
                self.report = checked;
                return Ok(());
            }
        }
        let total = self.lines.count() + self.report.bad;
        let written = self.write_parts(app, total, observer).await;
        self.report.record(app, audit).await?;
        written?;
        Ok(observer.progress(total, total).await?)
    }

    async fn write_parts(&mut self, app: &AppState, total: u64, observer: &mut dyn ImportObserver) -> Result<()> {
        for part in 0..self.lines.parts() {
            let mut report = self.report;
            let mut prepared = self.prepare(app, part, &mut report, observer).await?;
            self.report = report;
            let described = std::mem::take(&mut prepared.described);
            write::write_entries(app, prepared, total, &mut self.report, observer).await?;
            self.report.described += subjects::describe_subjects(app, described).await?;
        }
        Ok(())
    }

    /// What is to be written of a part, with what is wrong with the rest.
    async fn prepare(
        &self,
        app: &AppState,
        part: usize,
        report: &mut ImportReport,
        observer: &mut dyn ImportObserver,
    ) -> Result<PreparedPart> {
        let mut lines = SubjectLines::default();
        let mut described = SubjectDescriptions::default();
        for (number, line) in self.lines.read_part(part).await? {
            let line = match line {
                ParsedLine::Comment(line) => line,
                ParsedLine::Subject(description) => {
                    described.add(description);
                    continue;
                }
            };
            match lines.add(number, clamped(line, self.now)) {
                Ok(true) => {}
                Ok(false) => report.skipped += 1,
                Err(reason) => report.add_bad_line(number, &reason, observer).await?,
            }
        }
        let subjects = lines.subjects();
        let stored = stored::find_stored(&*app.store, &*app.tables, &subjects, &lines.lines).await?;
        report.skipped += lines.remove(|key| stored.contains(key));
        // Slots are those of this part alone, so no other part issues these ids.
        let entries = allocate_ids(app, lines, &mut ImportIds::new(self.now)).await?;
        let positions = parents::resolve_parents(&entries, &stored.parents);
        for (entry, position) in entries.iter().zip(&positions) {
            if let Err(reason) = position {
                report.add_bad_line(entry.number, reason, observer).await?;
            }
        }
        Ok(PreparedPart { entries, positions, stored: stored.parents, described })
    }

    /// How many lines had which outcome so far.
    pub fn report(&self) -> ImportReport {
        self.report
    }
}

/// The entries of a part with their positions.
struct PreparedPart {
    entries: Vec<ImportEntry>,
    positions: Vec<std::result::Result<ThreadPosition, String>>,
    /// The comments of the store that they reply to.
    stored: HashMap<SourceKey, StoredParent>,
    /// What the lines say of subjects.
    described: SubjectDescriptions,
}

/// The line, if the type of its subject is configured.
fn check_kind(app: &AppState, line: ParsedLine) -> std::result::Result<ParsedLine, String> {
    let kind = line.subject().kind();
    match app.threading(kind) {
        Some(_) => Ok(line),
        None => Err(format!("`subject`: the type {kind:?} is not configured")),
    }
}

fn clamped(mut line: ImportLine, now: u64) -> ImportLine {
    line.created_at = line.created_at.min(now);
    line.edited_at = line.edited_at.map(|at| at.min(now));
    line
}

/// A line of a part with its number (from 1) and the index of its subject.
#[derive(Debug)]
struct SubjectLine {
    number: usize,
    subject: usize,
    line: ImportLine,
}

/// The good lines of a part.
#[derive(Debug, Default)]
struct SubjectLines {
    lines: Vec<SubjectLine>,
    subjects: HashMap<SubjectKey, usize>,
    /// The index in `lines` of each id of a subject.
    index: HashMap<SourceKey, usize>,
}

impl SubjectLines {
    /// Adds a line. Returns false when an equal line was added before.
    fn add(&mut self, number: usize, line: ImportLine) -> std::result::Result<bool, String> {
        let next = self.subjects.len();
        let subject = *self.subjects.entry(line.subject.clone()).or_insert(next);
        match self.index.get(&(subject, line.id.clone())).and_then(|at| self.lines.get(*at)) {
            Some(first) if first.line == line => Ok(false),
            Some(first) => Err(format!("`id` is that of line {}, whose fields differ", first.number)),
            None => {
                self.index.insert((subject, line.id.clone()), self.lines.len());
                self.lines.push(SubjectLine { number, subject, line });
                Ok(true)
            }
        }
    }

    /// The subjects by their index.
    fn subjects(&self) -> Vec<SubjectKey> {
        let mut subjects: Vec<_> = self.subjects.iter().collect();
        subjects.sort_by_key(|(_, index)| **index);
        subjects.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// Removes lines. Returns how many.
    fn remove(&mut self, is_removed: impl Fn(&SourceKey) -> bool) -> u64 {
        let before = self.lines.len();
        self.lines.retain(|of| !is_removed(&(of.subject, of.line.id.clone())));
        (before - self.lines.len()) as u64
    }
}

/// The first line without the byte order mark that a file may begin with.
fn strip_byte_order_mark(bytes: &[u8], number: usize) -> &[u8] {
    let mark = if number == 1 { "\u{feff}".as_bytes() } else { &[] };
    bytes.strip_prefix(mark).unwrap_or(bytes)
}

/// The lines with their ids, which are allocated in the order of time.
async fn allocate_ids(app: &AppState, of: SubjectLines, ids: &mut ImportIds) -> Result<Vec<ImportEntry>> {
    let mut by_time: Vec<usize> = (0..of.lines.len()).collect();
    by_time.sort_by_key(|i| of.lines.get(*i).map(|l| l.line.created_at));
    let slots: Vec<_> = of.subjects().iter().map(SubjectKey::slot).collect();
    let wanted: Vec<_> = by_time
        .iter()
        .filter_map(|i| of.lines.get(*i))
        .filter_map(|l| Some((*slots.get(l.subject)?, l.line.created_at)))
        .collect();
    let mut allocated = stored::allocate_ids(&*app.store, ids, &wanted).await?.into_iter();
    let mut lines: Vec<Option<SubjectLine>> = of.lines.into_iter().map(Some).collect();
    let mut entries = Vec::with_capacity(lines.len());
    for i in by_time {
        let (Some(SubjectLine { number, subject, line }), Some(id)) =
            (lines.get_mut(i).and_then(Option::take), allocated.next())
        else {
            continue;
        };
        let Some(threading) = app.threading(line.subject.kind()) else { continue };
        entries.push(ImportEntry { number, subject, threading, line, id });
    }
    entries.sort_by_key(|entry| entry.number);
    Ok(entries)
}
