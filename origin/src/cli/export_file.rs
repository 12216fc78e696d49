//! `gailou import --from`: an export of another system as the lines of an import, read in a thread beside it.
//!
//! What cannot be read, and how much was left out, is said on standard error by this process, also where a server imports.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use indicatif::ProgressBar;

use crate::config::Config;
use crate::domain::import_line::{ImportLine, SubjectDescription};
use crate::importers::{Export, ExportReader, ExportReport, System};
use crate::service::import::{ExportInput, count_pictures, pictures_by_hash};

/// Which export of another system is read, and which subjects its pages are.
#[derive(Debug, Clone, Args)]
pub(super) struct ExportOptions {
    /// The system that the file is an export of
    #[arg(long, value_enum)]
    from: Option<System>,
    /// With --from: the type of the pages' subjects
    #[arg(long = "type", value_name = "TYPE", default_value = "article", requires = "from")]
    kind: String,
    /// With --from: the site of pages that are exported as paths
    #[arg(long, value_name = "ADDRESS", requires = "from")]
    site: Option<String>,
    /// With --from: a file of lines `address TAB TYPE/KEY`
    #[arg(long, value_name = "FILE.tsv", requires = "from")]
    map: Option<PathBuf>,
    /// With --from: import comments that wait for approval, too; they wait for it here
    #[arg(long, requires = "from")]
    held: bool,
    /// With --from: say what would be imported, and import nothing
    #[arg(long, requires = "from")]
    dry_run: bool,
}

/// An export of another system.
#[derive(Debug)]
pub(super) struct ExportFile {
    export: Export,
    pub(super) is_dry_run: bool,
    /// How far the reading is.
    bar: ProgressBar,
}

impl ExportFile {
    /// The export that the options name; `None` where they name none. `fetch_pictures`: its lines name pictures.
    ///
    /// # Errors
    /// When a rule of the map or the site cannot be read, or the export is standard input.
    pub(super) fn new(options: ExportOptions, fetch_pictures: bool, file: &Path) -> anyhow::Result<Option<Self>> {
        let ExportOptions { from, kind, site, map, held, dry_run: is_dry_run } = options;
        let Some(system) = from else { return Ok(None) };
        anyhow::ensure!(file != Path::new("-"), "an export is read twice, so it must be a file and not standard input");
        let read = |path: PathBuf| fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()));
        let rules = map.map(read).transpose()?.unwrap_or_default();
        let mut export = Export::new(system, file.to_owned(), &kind, site.as_deref(), &rules)?;
        export.takes_held = held;
        export.names_pictures = fetch_pictures;
        Ok(Some(Self { export, is_dry_run, bar: ProgressBar::hidden() }))
    }

    /// Shows in this bar how far the reading is.
    pub(super) fn show_progress(&mut self, bar: ProgressBar) {
        let of_bytes = bar.clone();
        self.bar = bar;
        self.export.show_progress(Arc::new(move |read, total| {
            of_bytes.set_length(total);
            of_bytes.set_position(read);
        }));
    }

    /// Says what an import would do: a line a subject on standard output, and last the counts. Returns the exit code.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn dry_run(&self, config: &Config) -> anyhow::Result<u8> {
        let mut counted = CountedPages::new(config, &self.bar);
        let report = self.read(&mut counted)?;
        let mut out = io::stdout().lock();
        for (subject, (page, comments)) in &counted.subjects {
            writeln!(out, "{subject}\t{comments}\t{page}")?;
        }
        let (bad, left_out) = (report.bad + counted.bad, report.left_out.values().sum::<u64>());
        let (comments, subjects) = (report.comments - counted.bad, counted.subjects.len());
        write!(out, "{{\"subjects\":{subjects},\"comments\":{comments},\"left_out\":{left_out},\"bad\":{bad}")?;
        if self.export.names_pictures {
            write!(out, ",\"pictures\":{}", counted.pictures)?;
        }
        writeln!(out, "}}")?;
        self.print_left_out(&report)?;
        Ok(0)
    }

    /// Whether everything of it can be read, so that a strict import may begin. What cannot is named.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn is_complete(&self, config: &Config) -> anyhow::Result<bool> {
        let mut counted = CountedPages::new(config, &self.bar);
        let report = self.read(&mut counted)?;
        Ok(report.bad + counted.bad == 0)
    }

    /// Begins to read the lines.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub(super) fn into_input(mut self, config: &Config) -> anyhow::Result<ExportInput> {
        let file = self.export.file();
        fs::File::open(file).with_context(|| format!("cannot open the file {}", file.display()))?;
        self.export.avatars = pictures_by_hash(config);
        let bar = self.bar.clone();
        Ok(ExportInput::start(
            move |what, reason| print_bad(&bar, what, reason),
            move |reader| {
                let report = self.read(reader)?;
                Ok(self.print_left_out(&report)?)
            },
        ))
    }

    fn read(&self, reader: &mut dyn ExportReader) -> anyhow::Result<ExportReport> {
        self.bar.reset();
        let read = self.export.read(reader);
        self.bar.finish_and_clear();
        let (system, file) = (self.export.system, self.export.file().display());
        read.with_context(|| format!("cannot read {file} as an export of {system:?}"))
    }

    fn print_left_out(&self, report: &ExportReport) -> io::Result<()> {
        if *report == ExportReport::default() {
            return writeln!(io::stderr(), "the file has no comments; is it an export of {:?}?", self.export.system);
        }
        let counts: Vec<String> =
            report.left_out.iter().map(|(why, count)| format!("{count} {}", why.name())).collect();
        if counts.is_empty() { Ok(()) } else { writeln!(io::stderr(), "left out: {}", counts.join(", ")) }
    }
}

fn print_bad(bar: &ProgressBar, what: &str, reason: &str) -> anyhow::Result<()> {
    Ok(bar.suspend(|| writeln!(io::stderr(), "{what}: {reason}"))?)
}

/// Counts what would be imported.
struct CountedPages<'a> {
    config: &'a Config,
    /// By subject: the first of its pages, and how many comments it gets.
    subjects: BTreeMap<String, (String, u64)>,
    bad: u64,
    pictures: usize,
    bar: &'a ProgressBar,
}

impl<'a> CountedPages<'a> {
    fn new(config: &'a Config, bar: &'a ProgressBar) -> Self {
        Self { config, subjects: BTreeMap::new(), bad: 0, pictures: 0, bar }
    }
}

impl ExportReader for CountedPages<'_> {
    fn line(&mut self, page: &str, line: &ImportLine) -> anyhow::Result<()> {
        let (kind, key) = (line.subject.kind(), line.subject.key());
        if !self.config.types.contains_key(kind) {
            self.bad += 1;
            let (what, reason) = (format!("comment {:?}", line.id), format!("the type {kind:?} is not configured"));
            return print_bad(self.bar, &what, &reason);
        }
        let (_, comments) = self.subjects.entry(format!("{kind}/{key}")).or_insert_with(|| (page.to_owned(), 0));
        *comments += 1;
        self.pictures += count_pictures(line);
        Ok(())
    }

    fn subject(&mut self, _: &SubjectDescription) -> anyhow::Result<()> {
        Ok(())
    }

    fn bad(&mut self, what: &str, reason: &str) -> anyhow::Result<()> {
        print_bad(self.bar, what, reason)
    }
}
