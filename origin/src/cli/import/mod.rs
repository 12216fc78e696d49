//! `gailou import`: threads from JSON lines.
//!
//! Reads all of it, finds what is here already, gives every comment its place and id, and appends
//! in the order that floors shall have. The word filter and the rate limits are not asked: what
//! is imported was published before. Promise: a second run changes nothing, a run that was broken
//! off can be given again, and a bad line spoils no other.

mod ids;
mod known;
mod place;
mod write;

use std::collections::HashMap;

use gailou_shared::id::SubjectKey;
use ids::Ids;
use place::Entry;

use crate::cli::EXIT_FAILED;
use crate::cli::input::{Input, Lines, RawLine};
use crate::cli::output::Console;
use crate::cli::record::{Line, MAX_LINE_BYTES};
use crate::state::AppState;

/// What has become of the lines.
#[derive(Debug, Default, Clone, Copy)]
struct Report {
    imported: u64,
    skipped: u64,
    reparented: u64,
    bad: u64,
}

impl Report {
    async fn bad(&mut self, number: usize, reason: &str, console: &mut dyn Console) -> anyhow::Result<()> {
        self.bad += 1;
        Ok(console.err(&format!("line {number}: {reason}\n")).await?)
    }

    async fn print(&self, console: &mut dyn Console) -> anyhow::Result<()> {
        let Self { imported, skipped, reparented, bad } = self;
        let line =
            format!("{{\"imported\":{imported},\"skipped\":{skipped},\"reparented\":{reparented},\"bad\":{bad}}}\n");
        Ok(console.out(&line).await?)
    }
}

/// Imports what `input` holds; with `strict`, all of it or nothing.
pub(super) async fn run(
    app: &AppState,
    strict: bool,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let mut report = Report::default();
    let mut file = File::default();
    file.read(app, input, console, &mut report).await?;
    let subjects = file.subjects();
    let known = known::find(&*app.store, &*app.tables, &subjects, &file.lines).await?;
    report.skipped += file.leave_out(|name| known.has(name));

    let entries = entries(app, file, &mut Ids::new(app.now())).await?;
    let places = place::place_all(&entries, &known.above);
    for (entry, place) in entries.iter().zip(&places) {
        if let Err(reason) = place {
            report.bad(entry.number, reason, console).await?;
        }
    }
    if strict && report.bad > 0 {
        report.print(console).await?;
        return Ok(EXIT_FAILED);
    }
    let written = write::all(app, entries, places, &known.above, &mut report, console).await;
    report.print(console).await?;
    written.map(|()| 0)
}

/// A line of the file with its number (from 1) and its subject's place.
#[derive(Debug)]
struct Numbered {
    number: usize,
    subject: usize,
    line: Line,
}

/// The good lines of a file.
#[derive(Debug, Default)]
struct File {
    lines: Vec<Numbered>,
    subjects: HashMap<SubjectKey, usize>,
    /// Where in `lines` an id of a subject is.
    index: HashMap<place::Name, usize>,
}

impl File {
    /// Reads every line, and says which are bad.
    async fn read(
        &mut self,
        app: &AppState,
        input: &mut dyn Input,
        console: &mut dyn Console,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let mut lines = Lines::new(input, MAX_LINE_BYTES);
        let mut number = 0;
        while let Some(raw) = lines.next().await? {
            number += 1;
            let parsed = match raw {
                RawLine::TooLong => Err(format!("is longer than {MAX_LINE_BYTES} bytes")),
                RawLine::Whole(bytes) => match without_mark(&bytes, number).trim_ascii() {
                    [] => continue,
                    bytes => Line::parse(bytes),
                },
            };
            match parsed.and_then(|line| self.add(app, number, line)) {
                Ok(true) => {}
                Ok(false) => report.skipped += 1,
                Err(reason) => report.bad(number, &reason, console).await?,
            }
        }
        Ok(())
    }

    /// Whether the line is new; the same line twice is not.
    fn add(&mut self, app: &AppState, number: usize, mut line: Line) -> Result<bool, String> {
        if app.threading(line.subject.kind()).is_none() {
            return Err(format!("`subject`: the type {:?} is not configured", line.subject.kind()));
        }
        let now = app.now();
        line.created_at = line.created_at.min(now);
        line.edited_at = line.edited_at.map(|at| at.min(now));
        let next = self.subjects.len();
        let subject = *self.subjects.entry(line.subject.clone()).or_insert(next);
        match self.index.get(&(subject, line.id.clone())).and_then(|at| self.lines.get(*at)) {
            Some(first) if first.line == line => Ok(false),
            Some(first) => Err(format!("`id` is that of line {}, which says something else", first.number)),
            None => {
                self.index.insert((subject, line.id.clone()), self.lines.len());
                self.lines.push(Numbered { number, subject, line });
                Ok(true)
            }
        }
    }

    /// The subjects by their place.
    fn subjects(&self) -> Vec<SubjectKey> {
        let mut subjects: Vec<_> = self.subjects.iter().collect();
        subjects.sort_by_key(|(_, place)| **place);
        subjects.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// Leaves out the lines that are here already; how many.
    fn leave_out(&mut self, is_here: impl Fn(&(usize, String)) -> bool) -> u64 {
        let before = self.lines.len();
        self.lines.retain(|numbered| !is_here(&(numbered.subject, numbered.line.id.clone())));
        (before - self.lines.len()) as u64
    }
}

/// A file may begin with a byte order mark.
fn without_mark(bytes: &[u8], number: usize) -> &[u8] {
    let mark = if number == 1 { "\u{feff}".as_bytes() } else { &[] };
    bytes.strip_prefix(mark).unwrap_or(bytes)
}

/// The lines with their ids, given by time.
async fn entries(app: &AppState, file: File, ids: &mut Ids) -> anyhow::Result<Vec<Entry>> {
    let mut by_time: Vec<usize> = (0..file.lines.len()).collect();
    by_time.sort_by_key(|i| file.lines.get(*i).map(|l| l.line.created_at));
    let slots: Vec<_> = file.subjects().iter().map(SubjectKey::slot).collect();
    let wanted: Vec<_> = by_time
        .iter()
        .filter_map(|i| file.lines.get(*i))
        .filter_map(|l| Some((*slots.get(l.subject)?, l.line.created_at)))
        .collect();
    let mut given = known::free_ids(&*app.store, ids, &wanted).await?.into_iter();
    let mut lines: Vec<Option<Numbered>> = file.lines.into_iter().map(Some).collect();
    let mut entries = Vec::with_capacity(lines.len());
    for i in by_time {
        let (Some(Numbered { number, subject, line }), Some(id)) =
            (lines.get_mut(i).and_then(Option::take), given.next())
        else {
            continue;
        };
        let Some(threading) = app.threading(line.subject.kind()) else { continue };
        entries.push(Entry { number, subject, threading, line, id });
    }
    entries.sort_by_key(|entry| entry.number);
    Ok(entries)
}
