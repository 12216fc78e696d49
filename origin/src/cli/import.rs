//! `gailou import`: threads from JSON lines.

use std::io;

use async_trait::async_trait;

use crate::cli::EXIT_FAILED;
use crate::cli::output::Console;
use crate::service::audit_log::operator_entry;
use crate::service::import::{Import, ImportError, ImportObserver, ImportReport, Input};
use crate::state::AppState;

/// Imports the lines of `input`; with `strict`, all of them or none.
pub(super) async fn run(
    app: &AppState,
    strict: bool,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let place = app.imports.clone().acquire_owned().await?;
    let mut import = Import::read(app, place, input, &mut PrintedImport(console)).await.map_err(unwrapped)?;
    let written = import.write(app, strict, operator_entry(app, "import"), &mut PrintedImport(console)).await;
    let report = import.report();
    let ImportReport { imported, skipped, reparented, bad, .. } = report;
    let line = format!("{{\"imported\":{imported},\"skipped\":{skipped},\"reparented\":{reparented},\"bad\":{bad}}}\n");
    console.out(&line).await?;
    written.map_err(unwrapped)?;
    Ok(if strict && bad > 0 { EXIT_FAILED } else { 0 })
}

/// The error as it is looked for: a reader that has closed the output is an error of its own.
fn unwrapped(error: ImportError) -> anyhow::Error {
    match error {
        ImportError::Io(error) => error.into(),
        error => error.into(),
    }
}

/// Prints what an import says.
struct PrintedImport<'c>(&'c mut dyn Console);

#[async_trait]
impl ImportObserver for PrintedImport<'_> {
    async fn bad_line(&mut self, number: usize, reason: &str) -> io::Result<()> {
        self.0.err(&format!("line {number}: {reason}\n")).await
    }

    async fn progress(&mut self, done: u64, total: u64) -> io::Result<()> {
        self.0.progress(done, total).await
    }
}
