//! The body of an import as an export of another system: written to a file, since an export is read twice.
//!
//! Promise: the file is gone when the export was read, or the request ended before.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use clap::ValueEnum as _;
use tempfile::NamedTempFile;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;

use crate::http::admin::import::{FoundLines, ImportLineAnswer, unread};
use crate::http::extract::QueryParameters;
use crate::http::problem::Refusal;
use crate::importers::{Export, ExportReport, System};
use crate::service::import::{ExportInput, Import, Input, pictures_by_hash, staging_folder};
use crate::state::AppState;

/// The type of the subjects of pages, where the query has none.
const DEFAULT_KIND: &str = "article";

/// The export that a query names, without its file; `None` where it names none.
pub(super) fn named_export(query: &QueryParameters, app: &AppState) -> Result<Option<Export>, Refusal> {
    let Some(from) = query.get("from").filter(|from| !from.is_empty()) else { return Ok(None) };
    let system = System::from_str(from, false)
        .map_err(|_| Refusal::field("from", format!("must be one of {}", system_names().join(", "))))?;
    let kind = query.get("type").filter(|kind| !kind.is_empty()).unwrap_or(DEFAULT_KIND);
    if app.threading(kind).is_none() {
        return Err(Refusal::field("type", "must be a type of subjects that is configured"));
    }
    let site = query.get("site").filter(|site| !site.is_empty());
    let mut export =
        Export::new(system, "".into(), kind, site, "").map_err(|error| Refusal::field("site", format!("{error:#}")))?;
    export.avatars = pictures_by_hash(&app.config);
    export.takes_held = is_set(query, "held")?;
    Ok(Some(export))
}

/// Whether a parameter is 1, where it may be 0.
pub(super) fn is_set(query: &QueryParameters, name: &'static str) -> Result<bool, Refusal> {
    match query.get(name) {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(_) => Err(Refusal::field(name, "must be 0 or 1")),
    }
}

/// The systems whose exports are read.
pub(super) fn system_names() -> Vec<&'static str> {
    System::value_variants().iter().map(|system| system.name()).collect()
}

/// Reads a body that is an export.
pub(super) async fn read_import(
    app: &AppState,
    place: OwnedSemaphorePermit,
    body: &mut dyn Input,
    export: Export,
    found: &mut FoundLines,
) -> Result<Import, Refusal> {
    let file = write_file(&staging_folder(app), body).await.map_err(|error| unread(error.into()))?;
    let export = export.in_file(file.path().to_owned());
    let reading = Arc::new(Mutex::new(ReadExport::default()));
    let (named, read) = (reading.clone(), reading.clone());
    let mut lines = ExportInput::start(
        move |item, reason| {
            lock(&named)?.found.add(ImportLineAnswer::BadItem { item: item.to_owned(), reason: reason.to_owned() });
            Ok(())
        },
        move |reader| {
            let _file = file;
            let report = export.read(reader)?;
            lock(&read)?.report = report;
            Ok(())
        },
    );
    let import = Import::read(app, place, &mut lines, found).await.map_err(unread)?;
    let ReadExport { found: named, report } =
        std::mem::take(&mut *lock(&reading).map_err(|error| unread(error.into()))?);
    named.0.into_iter().for_each(|line| found.add(line));
    if !report.left_out.is_empty() {
        let left_out = report.left_out.iter().map(|(why, count)| (why.name().to_owned(), *count)).collect();
        found.0.push(ImportLineAnswer::LeftOut { left_out });
    }
    Ok(import.with_bad(report.bad))
}

/// What the thread that reads an export has found.
#[derive(Debug, Default)]
struct ReadExport {
    found: FoundLines,
    report: ExportReport,
}

fn lock(of: &Mutex<ReadExport>) -> io::Result<MutexGuard<'_, ReadExport>> {
    of.lock().map_err(|_| io::Error::other("the reading has failed"))
}

/// Writes a body to a file that ends with what is returned.
async fn write_file(folder: &Path, body: &mut dyn Input) -> io::Result<NamedTempFile> {
    let folder = folder.to_owned();
    let mut file = spawn_blocking(move || NamedTempFile::new_in(folder)).await.map_err(io::Error::other)??;
    while let Some(chunk) = body.read_chunk().await? {
        let write = move || file.write_all(&chunk).map(|()| file);
        file = spawn_blocking(write).await.map_err(io::Error::other)??;
    }
    Ok(file)
}
