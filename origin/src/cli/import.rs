//! `gailou import`: threads from JSON lines.

use std::io;

use async_trait::async_trait;

use crate::bootstrap::pictures::picture_hosts;
use crate::cli::EXIT_FAILED;
use crate::cli::output::Console;
use crate::service::audit_log::operator_entry;
use crate::service::import::{Import, ImportError, ImportObserver, ImportReport, Input, PictureFetcher};
use crate::state::AppState;

/// Imports the lines of `input`; with `strict`, all of them or none; with `fetch_pictures`, with the pictures that they show.
pub(super) async fn run(
    app: &AppState,
    strict: bool,
    fetch_pictures: bool,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    if fetch_pictures && app.media.is_none() {
        anyhow::bail!("this installation takes no pictures, since media.url is not set: nothing is imported");
    }
    let place = app.imports.clone().acquire_owned().await?;
    let mut import = Import::read(app, place, input, &mut PrintedImport(console)).await.map_err(unwrapped)?;
    if fetch_pictures {
        import = import.with_pictures(PictureFetcher::new(picture_hosts(&app.config)));
    }
    let written = import.write(app, strict, operator_entry(app, "import"), &mut PrintedImport(console)).await;
    let report = import.report();
    let ImportReport { imported, skipped, reparented, bad, pictures, pictures_failed, .. } = report;
    let of_pictures = if fetch_pictures {
        format!(",\"pictures\":{pictures},\"pictures_failed\":{pictures_failed}")
    } else {
        String::new()
    };
    let counts = format!("\"imported\":{imported},\"skipped\":{skipped},\"reparented\":{reparented},\"bad\":{bad}");
    console.out(&format!("{{{counts}{of_pictures}}}\n")).await?;
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

    async fn picture_failed(&mut self, address: &str, reason: &str) -> io::Result<()> {
        self.0.err(&format!("picture {address:?}: {reason}\n")).await
    }

    async fn progress(&mut self, done: u64, total: u64) -> io::Result<()> {
        self.0.progress(done, total).await
    }
}
