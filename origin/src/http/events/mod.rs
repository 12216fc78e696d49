//! `/v1/subjects/{type}/{key}/events`: what happens on a subject, as a document and as a stream.
//!
//! A stream ([`stream`]) is the same documents, fetched again and again on the server's side, so all
//! readers of a subject share them. The edge is between readers and the origin: it fetches documents
//! and holds the streams itself.

mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::id::SubjectKey;
use gailou_shared::wire::openapi::SubjectVersion;
use gailou_shared::wire::{Code, LiveEventPage};
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, PartialSchema};

use crate::http::cached_page::{BROWSER_CACHING, CDN_CACHE_CONTROL, JSON_TYPE};
use crate::http::event_streams::OpenEventStreams;
use crate::http::extract::{KnownSubject, QueryParameters, RequestClient};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{NotFound, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::{ServiceError, subject_events};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

/// How often a silent stream sends a comment line, so that what is between does not close it.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long a reader waits before it opens its stream again.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(3);

/// What happens on a subject.
///
/// Server-sent events for requests that accept `text/event-stream`: `comment`, `removed` and `counts`, with the
/// `data` that is described here; the id of the last event of a commit is the subject's version. After a `reset`
/// event, events are missing that the origin no longer has, and the client must load what it shows again. For other
/// requests, a document of the events after a version. An event may be sent twice.
#[utoipa::path(
    get, path = "/v1/subjects/{type}/{key}/events", tag = "subjects",
    params(KnownSubject, EventsQuery),
    responses(
        (
            status = 200, description = "The events.",
            headers(("Cache-Control")),
            content((LiveEventPage = "application/json"), (String = "text/event-stream")),
        ),
        PublicRefusals, NotFound,
    ),
)]
pub(super) async fn watch_subject(
    State(app): State<Arc<AppState>>,
    State(streams): State<Arc<OpenEventStreams>>,
    KnownSubject(key): KnownSubject,
    client: RequestClient,
    query: EventsQuery,
) -> Result<Response, Refusal> {
    app.rate_limits.count_read(client.network).await?;
    let after = match query {
        EventsQuery::Stream { after } => after,
        EventsQuery::Document { after } => return Ok(sent_document(document(&app, &key, after).await?)),
    };
    let too_many = || {
        let detail = "too many streams are open here; poll with ?after= instead";
        Refusal::temporary(Code::Overloaded, detail, RECONNECT_INTERVAL, None)
    };
    let permit = streams.try_open(client.network).ok_or_else(too_many)?;
    let first = {
        let _place = app.reads.admit().await?;
        subject_events::read_events_since(&app, &key, after).await?
    };
    let events = stream::events(app, key, after, &first, permit, streams.shutdown());
    // The second header keeps a proxy from collecting events.
    let headers = [(header::CACHE_CONTROL, "no-store"), (HeaderName::from_static("x-accel-buffering"), "no")];
    Ok((headers, Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL))).into_response())
}

/// The JSON of the events after a version; requests for the same at the same time share it.
async fn document(app: &AppState, key: &SubjectKey, after: Option<u64>) -> Result<Bytes, Arc<ServiceError>> {
    // No path has this form, so no request reaches it by the hot path.
    let name = format!("events {key} {}", after.map_or(String::new(), |after| after.to_string()));
    let build = || async {
        let events = subject_events::read_events_since(app, key, after).await?;
        let body = serde_json::to_vec(&events).map_err(|error| ServiceError::Bug(error.to_string()))?;
        Ok(BuiltPage {
            body,
            content_type: JSON_TYPE,
            headers: &[],
            subjects: vec![key.clone()],
            cache_tags: CacheTags::new(vec![]),
            version: events.version,
            reads: None,
            is_passing: false,
        })
    };
    Ok(app.page_cache.get_or_build(&name, build).await?.body.clone())
}

fn sent_document(document: Bytes) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE)),
        (header::CACHE_CONTROL, BROWSER_CACHING),
        (CDN_CACHE_CONTROL, HeaderValue::from_static("public, max-age=1")),
    ];
    (headers, document).into_response()
}

/// The requested form: a stream by its `Accept`, else a document.
#[derive(Debug)]
pub(super) enum EventsQuery {
    Document { after: Option<u64> },
    Stream { after: Option<u64> },
}

impl FromRequestParts<HttpState> for EventsQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let header = |name| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let after = || query.get("after").map(|text| version(text, "after")).transpose();
        if !header(header::ACCEPT).is_some_and(|kinds| kinds.contains("text/event-stream")) {
            return Ok(Self::Document { after: after()? });
        }
        let last = header(HeaderName::from_static("last-event-id")).filter(|id| !id.is_empty());
        let after = match last {
            Some(id) => Some(version(id, "Last-Event-ID")?),
            None => after()?,
        };
        Ok(Self::Stream { after })
    }
}

impl IntoParams for EventsQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let after = "A version, such as the `epoch` of the page that is shown. Without it, the answer has the present \
                     version and no events.";
        let last = "Where a stream that broke continues; it replaces `after`.";
        vec![
            parameters::query("after", after, SubjectVersion::schema()).build(),
            parameters::header("Last-Event-ID", last, SubjectVersion::schema()),
        ]
    }
}

fn version(text: &str, field: &'static str) -> Result<u64, Refusal> {
    let is_digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = is_digits.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| Refusal::field(field, "must be a version: a whole number"))
}
