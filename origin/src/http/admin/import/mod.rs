//! `/v1/admin/import`: threads from JSON lines, or from an export of another system.
//!
//! The body is read whole before the answer begins; the answer says how far the writing is, a line at a time. When its
//! reader goes away the import ends, and may be repeated.

mod export_body;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, BodyDataStream};
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gailou_shared::id::Slot;
use gailou_shared::wire::{Code, Problem};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::timeout;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, ToSchema};

use crate::http::cached_page::{JSON_LINES_TYPE, PRIVATE_CACHING};
use crate::http::extract::{Admin, AfterBody, QueryParameters};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::MemberRefusals;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::importers::Export;
use crate::service::import::{Import, ImportError, ImportObserver, ImportReport, Input};
use crate::service::{ServiceError, audit_log};
use crate::state::AppState;
use crate::state::admission::NotAdmitted;

/// The longest body of an import; `gailou import` reads more.
const MAX_IMPORT_BYTES: usize = 64 << 20;
/// How long the body may pause.
const MAX_BODY_PAUSE: Duration = Duration::from_secs(10);
/// Bad lines that are named before anything is written; those after them are counted.
const MAX_NAMED_LINES: usize = 1_000;
/// Lines of the answer that wait for its reader.
const MAX_WAITING_LINES: usize = 64;

/// Import comments.
///
/// Only admins may. The body has one comment a line, or the title and the address of a subject, at most 64 MiB in all, as
/// `gailou export` writes them and docs/importing.md describes; larger files are for `gailou import`. With `from`, the body
/// is an export of another system. Nothing is filtered, and what is there already is
/// skipped, so the same file can be sent again. The answer has lines of JSON: `{"line","reason"}` for a line that is not
/// imported, or `{"item","reason"}` for a comment of an export, `{"left_out"}` with how many comments of an export are left
/// out and why, `{"done","total"}` on the way, and last the report or `{"error"}`.
#[utoipa::path(
    post, path = "/v1/admin/import", tag = "admin",
    params(ImportQuery),
    request_body(content = String, content_type = JSON_LINES_TYPE),
    responses(
        (status = 200, description = "What is done, line by line.", body = ImportLineAnswer, content_type = JSON_LINES_TYPE),
        (
            status = 413, description = "The body is larger than 64 MiB.", body = Problem,
            content_type = "application/problem+json",
        ),
        MemberRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn import_comments(
    State(app): State<Arc<AppState>>,
    Admin(admin): Admin,
    query: AfterBody<ImportQuery>,
    body: Body,
) -> Result<Response, Refusal> {
    let audit = audit_log::entry(&app, &admin, Slot::FIRST, "import", None)?;
    let place = app.imports.clone().try_acquire_owned().map_err(|_| ServiceError::from(NotAdmitted))?;
    let mut input = BodyInput { body: body.into_data_stream(), left: MAX_IMPORT_BYTES };
    let mut found = FoundLines::default();
    if query.is_err() {
        // A body that is too large is what is said first.
        while input.read_chunk().await.map_err(|error| unread(error.into()))?.is_some() {}
    }
    let ImportQuery { strict, export } = query?;
    let mut import = match export {
        None => Import::read(&app, place, &mut input, &mut found).await.map_err(unread)?,
        Some(export) => export_body::read_import(&app, place, &mut input, export, &mut found).await?,
    };
    let (sender, receiver) = mpsc::channel(MAX_WAITING_LINES);
    tokio::spawn(async move {
        let mut answer = SentLines(sender);
        for line in found.0 {
            if answer.send(&line).await.is_err() {
                return;
            }
        }
        let written = import.write(&app, strict, audit, &mut answer).await;
        if let Err(error) = &written {
            tracing::debug!(%error, "Could not finish an import");
        }
        let last = match written {
            Ok(()) => {
                let ImportReport { imported, skipped, reparented, bad, .. } = import.report();
                ImportLineAnswer::Report { imported, skipped, reparented, bad }
            }
            Err(_) => ImportLineAnswer::Error { error: "the import cannot be finished; send the same file again" },
        };
        // This fails when its reader is gone.
        let _ = answer.send(&last).await;
    });
    let lines = stream::unfold(receiver, |mut receiver| async move {
        Some((Ok::<_, Infallible>(receiver.recv().await?), receiver))
    });
    let headers =
        [(header::CACHE_CONTROL, PRIVATE_CACHING), (header::CONTENT_TYPE, HeaderValue::from_static(JSON_LINES_TYPE))];
    Ok((headers, Body::from_stream(lines)).into_response())
}

/// A line of the answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum ImportLineAnswer {
    /// A line that is not imported.
    BadLine {
        /// Its number, from 1.
        line: usize,
        reason: String,
    },
    /// A comment of an export that is not imported.
    BadItem {
        /// Which one.
        item: String,
        reason: String,
    },
    /// How many comments of an export are left out, by reason.
    LeftOut { left_out: BTreeMap<String, u64> },
    /// How many comments are written.
    Progress { done: u64, total: u64 },
    /// How many lines had which outcome; with `strict` and bad lines, none is imported.
    Report { imported: u64, skipped: u64, reparented: u64, bad: u64 },
    /// The import ended early.
    Error { error: &'static str },
}

/// Why the body could not be read.
fn unread(error: ImportError) -> Refusal {
    match error {
        ImportError::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Refusal::new(Code::BodyTooLarge, format!("an import has at most {MAX_IMPORT_BYTES} bytes"))
        }
        ImportError::Io(error) => Refusal::field("body", error.to_string()),
        ImportError::Store(error) => ServiceError::from(error).into(),
        ImportError::Journal(error) => ServiceError::from(error).into(),
        ImportError::Picture(error) => error.into(),
    }
}

/// The bytes of a body.
struct BodyInput {
    body: BodyDataStream,
    /// How many bytes may still come.
    left: usize,
}

#[async_trait]
impl Input for BodyInput {
    async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let paused = || io::Error::new(io::ErrorKind::TimedOut, "paused for 10 seconds");
            let Some(chunk) = timeout(MAX_BODY_PAUSE, self.body.next()).await.map_err(|_| paused())? else {
                return Ok(None);
            };
            let chunk = chunk.map_err(|_| io::Error::other("is incomplete"))?;
            self.left = self.left.checked_sub(chunk.len()).ok_or(io::ErrorKind::FileTooLarge)?;
            if !chunk.is_empty() {
                return Ok(Some(chunk));
            }
        }
    }
}

/// Keeps the bad lines that are found before the answer begins.
#[derive(Debug, Default)]
struct FoundLines(Vec<ImportLineAnswer>);

impl FoundLines {
    fn add(&mut self, line: ImportLineAnswer) {
        if self.0.len() < MAX_NAMED_LINES {
            self.0.push(line);
        }
    }
}

#[async_trait]
impl ImportObserver for FoundLines {
    async fn bad_line(&mut self, number: usize, reason: &str) -> io::Result<()> {
        self.add(ImportLineAnswer::BadLine { line: number, reason: reason.to_owned() });
        Ok(())
    }

    async fn progress(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Sends lines to the reader of the answer.
struct SentLines(mpsc::Sender<Bytes>);

impl SentLines {
    async fn send(&self, line: &ImportLineAnswer) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.0.send(text.into()).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[async_trait]
impl ImportObserver for SentLines {
    async fn bad_line(&mut self, number: usize, reason: &str) -> io::Result<()> {
        self.send(&ImportLineAnswer::BadLine { line: number, reason: reason.to_owned() }).await
    }

    async fn progress(&mut self, done: u64, total: u64) -> io::Result<()> {
        self.send(&ImportLineAnswer::Progress { done, total }).await
    }
}

/// Whether a bad line leaves out all others, and what the body is.
#[derive(Debug)]
pub(in crate::http) struct ImportQuery {
    strict: bool,
    /// `None` for lines.
    export: Option<Export>,
}

impl FromRequestParts<HttpState> for ImportQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let strict = export_body::is_set(&query, "strict")?;
        Ok(Self { strict, export: export_body::named_export(&query, &state.app)? })
    }
}

impl IntoParams for ImportQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let flag = || parameters::text().enum_values(Some(["0", "1"]));
        let systems = parameters::text().enum_values(Some(export_body::system_names()));
        vec![
            parameters::query("strict", "`1`: all lines or none.", flag()).build(),
            parameters::query("from", "The system that the body is an export of.", systems).build(),
            parameters::query(
                "type",
                "With `from`: the type of the pages' subjects, else `article`.",
                parameters::text(),
            )
            .build(),
            parameters::query("site", "With `from`: the site of pages that are exported as paths.", parameters::text())
                .build(),
            parameters::query("held", "With `from`: `1` imports what waits for approval, to wait here, too.", flag())
                .build(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a body in these chunks, with a bound, or why it is refused.
    async fn read(chunks: &'static [&str], most: usize) -> Result<String, io::ErrorKind> {
        let body = Body::from_stream(stream::iter(chunks.iter().map(|chunk| Ok::<_, Infallible>(*chunk))));
        let mut input = BodyInput { body: body.into_data_stream(), left: most };
        let mut text = Vec::new();
        while let Some(chunk) = input.read_chunk().await.map_err(|error| error.kind())? {
            text.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8(text).expect("text"))
    }

    #[tokio::test]
    async fn body_has_a_bound_and_may_have_empty_chunks() {
        assert_eq!(read(&[], 0).await, Ok(String::new()));
        assert_eq!(read(&["ab", "", "c"], 3).await, Ok("abc".into()));
        assert_eq!(read(&["ab", "", "cd"], 3).await, Err(io::ErrorKind::FileTooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn body_that_pauses_is_refused() {
        let body = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let mut input = BodyInput { body: body.into_data_stream(), left: 9 };
        assert_eq!(input.read_chunk().await.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }
}
