//! `/v1/subjects/{type}/{key}/events`: what happens on a subject, as a document and as a stream.
//!
//! A stream is the same documents, asked for again and again on the server's side: many who watch a
//! subject from one place share them. Between readers and the origin stands the edge, which asks for
//! documents and holds the streams itself.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::id::SubjectKey;
use gailou_shared::wire::{
    Code, CommentLocation, LiveEvent, LiveEventKind, LiveEventPage, RemovedComment, SubjectCounts,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::ApiError;
use crate::http::request::{Query, known_type, subject};
use crate::http::{CDN_CACHE_CONTROL, JSON};
use crate::ports::revisions;
use crate::ports::revisions::{RevisionsError, follow};
use crate::service::page;
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

/// Streams of one process: a task and a few kilobytes each.
const STREAMS: usize = 1_000;
/// After how long a stream ends; its reader comes again and goes on.
const LIFE: Duration = Duration::from_secs(900);
/// How often a stream looks for something new.
const LOOK: Duration = Duration::from_millis(500);
/// How often a silent stream shows that it is there.
const BEAT: Duration = Duration::from_secs(15);
/// How long a reader waits before it comes again.
const RETRY: Duration = Duration::from_secs(3);
/// Events in one document; a few more where the last commit had several.
const MOST: usize = 100;
/// How long a link that is missing may be on its way, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(50);

/// The streams of a process.
#[derive(Debug)]
pub struct Streams {
    places: Arc<Semaphore>,
    ended: watch::Sender<bool>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(STREAMS)), ended: watch::Sender::new(false) }
    }
}

impl Streams {
    /// Ends them all: the server waits for what it is still answering.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }
}

pub(super) async fn watch(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let key = subject(&known_type(&app, path, 2)?, path, 3)?;
    let query = Query::of(&request)?;
    if !wants_stream(request.headers()) {
        let after = query.get("after").map(|text| version(text, "after")).transpose()?;
        return Ok(document(&app, &key, after).await?.into_response());
    }
    let last = request.headers().get("last-event-id").map(|id| id.to_str().unwrap_or("?"));
    let after = match last.filter(|id| !id.is_empty()) {
        Some(id) => Some(version(id, "Last-Event-ID")?),
        None => query.get("after").map(|text| version(text, "after")).transpose()?,
    };
    let full = || ApiError {
        retry_after: Some(RETRY),
        ..ApiError::new(Code::Overloaded, "too many streams are open here; ask with ?after= instead")
    };
    let place = app.streams.places.clone().try_acquire_owned().map_err(|_| full())?;
    let first = news(&app, &key, after).await?;
    let no_store = [(header::CACHE_CONTROL, "no-store"), (HeaderName::from_static("x-accel-buffering"), "no")];
    let events = Sse::new(events(app, key, after, &first, place)).keep_alive(KeepAlive::new().interval(BEAT));
    Ok((no_store, events).into_response())
}

fn wants_stream(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|kinds| kinds.contains("text/event-stream"))
}

fn version(text: &str, field: &'static str) -> Result<u64, ApiError> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| ApiError::field(field, "must be a version: a whole number"))
}

/// The document as it goes out.
struct Document(bytes::Bytes);

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(JSON)),
            (header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache")),
            (CDN_CACHE_CONTROL, HeaderValue::from_static("public, max-age=1")),
        ];
        (headers, self.0).into_response()
    }
}

/// The document; those who ask for the same at the same time share it.
async fn document(app: &AppState, key: &SubjectKey, after: Option<u64>) -> Result<Document, ApiError> {
    // No path looks like this.
    let name = format!("events {key} {}", after.map_or(String::new(), |after| after.to_string()));
    let page = app.page_cache.get_or_build(&name, || async {
        let news = news(app, key, after).await?;
        let body = serde_json::to_vec(&news).map_err(ApiError::internal)?;
        let (subjects, shows) = (vec![key.clone()], CacheTags::new(vec![]));
        Ok(BuiltPage { body, content_type: JSON, subjects, shows, version: news.version, reads: None })
    });
    Ok(Document(page.await?.body.clone()))
}

/// What happened after a version. Never leaves anything out: where a link stays missing, the answer
/// is to begin anew.
async fn news(app: &AppState, key: &SubjectKey, after: Option<u64>) -> Result<LiveEventPage, ApiError> {
    let until = Instant::now() + PATIENCE;
    loop {
        // The row before the links: of every commit it shows, the link is there or late.
        let row = page::subject_row(app, key).await?;
        let from = after.unwrap_or(row.version);
        let links = app.revisions.since(key, from).await?;
        let (end, found) = follow(from, &links, MOST);
        let late = Instant::now() >= until;
        if end > from && (row.version >= end || late) {
            let mut told: Vec<_> = found.iter().map(|(id, event)| LiveEvent { id: *id, kind: what(event) }).collect();
            if !told.is_empty() {
                let counts = SubjectCounts { roots: row.roots, comments: row.comments };
                told.push(LiveEvent { id: end, kind: LiveEventKind::Counts(counts) });
            }
            return Ok(LiveEventPage { version: end, reset: false, events: told });
        }
        if end == from && links.is_empty() && row.version == from {
            return Ok(LiveEventPage { version: from, reset: false, events: vec![] });
        }
        if end == from && late {
            return Ok(LiveEventPage { version: row.version, reset: true, events: vec![] });
        }
        sleep(AGAIN).await;
    }
}

fn what(event: &revisions::RevisionEvent) -> LiveEventKind {
    match *event {
        revisions::RevisionEvent::Comment { id, root, parent } => {
            LiveEventKind::Comment(CommentLocation { id, root_id: root, parent_id: parent })
        }
        revisions::RevisionEvent::Removed { id } => LiveEventKind::Removed(RemovedComment { id }),
    }
}

impl From<RevisionsError> for ApiError {
    fn from(error: RevisionsError) -> Self {
        Self {
            cause: Some(error.to_string()),
            retry_after: Some(RETRY),
            ..Self::new(Code::Unavailable, "what happened lately is not known for the moment")
        }
    }
}

/// A stream, as far as it has come.
struct Watching {
    app: Arc<AppState>,
    key: SubjectKey,
    at: u64,
    until: Instant,
    ended: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

fn events(
    app: Arc<AppState>,
    key: SubjectKey,
    after: Option<u64>,
    first: &LiveEventPage,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    // An id without data tells the reader where to resume, and nothing else.
    let hello = Event::default().retry(RETRY).id(after.unwrap_or(first.version).to_string());
    let ended = app.streams.ended.subscribe();
    let at = first.version;
    let watching = Watching { app, key, at, until: Instant::now() + LIFE, ended, _place: place };
    let later = stream::unfold(watching, |mut watching| async move {
        let news = watching.next().await?;
        Some((stream::iter(written(&news)), watching))
    });
    stream::iter([hello]).chain(stream::iter(written(first))).chain(later.flatten()).map(Ok)
}

/// A document as the events of a stream. Events of one commit share its version: the last of them
/// says it, so that a reader whose stream breaks among them is told all of them again.
fn written(news: &LiveEventPage) -> Vec<Event> {
    let version = news.version.to_string();
    if news.reset {
        return vec![Event::default().event("reset").id(&version).data(format!("{{\"version\":\"{version}\"}}"))];
    }
    let next = news.events.iter().skip(1).map(|event| Some(event.id)).chain([None]);
    let mut events: Vec<_> = std::iter::zip(&news.events, next)
        .map(|(LiveEvent { id, kind: what }, next)| {
            let event = Event::default().event(what.name()).data(what.data());
            if next == Some(*id) { event } else { event.id(id.to_string()) }
        })
        .collect();
    events.push(Event::default().id(version));
    events
}

impl Watching {
    /// The next document with something in it; `None` when the stream is over.
    async fn next(&mut self) -> Option<LiveEventPage> {
        loop {
            tokio::select! {
                _ = self.ended.wait_for(|ended| *ended) => return None,
                () = sleep_until(self.until) => return None,
                () = sleep(LOOK) => {}
            }
            // While it is not known, the reader waits.
            let Ok(document) = document(&self.app, &self.key, Some(self.at)).await else { continue };
            let Ok(news) = serde_json::from_slice::<LiveEventPage>(&document.0) else { return None };
            if news.reset || news.version != self.at {
                self.at = news.version;
                return Some(news);
            }
        }
    }
}
