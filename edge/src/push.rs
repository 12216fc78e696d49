//! What the origin's job pushes: pages of hot subjects and the dictionary, into the store all colos
//! share, so that a crowd anywhere is served without the origin being asked.
//!
//! A push is believed when it is signed with the edge's secret, or with the one before it while
//! that is being changed. Each page goes the way of a fetched one, and an older page never takes
//! the place of a newer one, nor does the same one twice: so what is sent again does nothing. The
//! answer comes when the store has taken all of it; the store takes one write a second for each
//! key, so the origin sends a key again only after that. The store may show what it held up to a
//! minute ago, so a replay within the minute that a signature lasts may win there; it loses against
//! every isolate that has seen the newer page.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use gailou_shared::edge::{BadSignature, MADE_HEADER, SHOWS_HEADER, SIGNATURE_HEADER, Signed, VERSION_HEADER, verify};
use gailou_shared::wire::{Code, FieldError};
use gailou_shared::words::Term;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::answer::{RequestId, problem};
use crate::key::{self, Key};
use crate::page::Page;
use crate::pages::{admit, keep, load, recall};
use crate::ports::{self, FromOrigin, World};
use crate::{Edge, words};

/// Largest push, in bytes.
pub const MOST_BYTES: usize = 8 << 20;
/// Most pages of a push: each costs up to four calls of the platform's thousand a request.
pub const MOST_PAGES: usize = 128;

/// A push that can be taken as it is.
#[derive(Debug)]
pub struct Push {
    /// The pages and where they belong.
    pub pages: Vec<(Key, Arc<Page>)>,
    /// The dictionary, when it is part of it.
    pub words: Option<Words>,
}

/// A dictionary as it is stored: `{"version":N,"terms":[…]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Which of two is newer.
    pub version: u64,
    /// What it lists.
    pub terms: Vec<Term>,
}

#[derive(Deserialize)]
struct Document {
    v: u8,
    pages: Vec<Pushed>,
    #[serde(default)]
    words: Option<Words>,
}

#[derive(Deserialize)]
struct Pushed {
    key: String,
    headers: BTreeMap<String, String>,
    body: String,
    shows: String,
    made: u64,
    version: u64,
}

/// What was done with a push.
#[derive(Debug, Default, Serialize)]
struct Done {
    /// Pages and dictionaries that are in the store now.
    stored: usize,
    /// Those that were left out because the store has a newer one, or the same.
    older: usize,
}

/// Takes a push.
pub async fn receive(edge: &Arc<Edge>, world: &World, id: &RequestId, request: Request) -> Response {
    let refuse = |code, detail: &str| problem(id, code, detail, Vec::new());
    let secrets = [&edge.config.edge_secret, &edge.config.edge_secret_previous];
    if secrets.iter().all(|secret| secret.is_none()) {
        return refuse(Code::NotFound, "Nothing can be pushed here: there is no secret.");
    }
    let (parts, body) = request.into_parts();
    let announced = parts.headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let too_large = "The push is larger than 8 MiB.";
    if announced.is_some_and(|length: usize| length > MOST_BYTES) {
        return refuse(Code::BodyTooLarge, too_large);
    }
    let now = world.clock.now_ms();
    let path_query = parts.uri.path_and_query().map_or("", |pq| pq.as_str());
    let signed = Signed { method: parts.method.as_str(), path_query, client: "", body: b"" };
    let signature = parts.headers.get(SIGNATURE_HEADER).and_then(|v| v.to_str().ok()).unwrap_or_default();
    // What is no signature of this minute is not worth reading its body.
    let could_be = |secret: &Vec<u8>| {
        !matches!(verify(secret, now / 1_000, &signed, signature), Err(BadSignature::Malformed | BadSignature::Time))
    };
    if !secrets.into_iter().flatten().any(could_be) {
        return refuse(Code::Forbidden, "This is not signed with the edge's secret, or too long ago.");
    }
    let Some(place) = edge.bodies.begin(announced.unwrap_or(MOST_BYTES), now) else {
        return refuse(Code::Overloaded, "Too much is being pushed here. Send it again.");
    };
    let body = axum::body::to_bytes(body, MOST_BYTES).await;
    edge.bodies.end(place);
    let Ok(body) = body else { return refuse(Code::BodyTooLarge, too_large) };
    let signed = Signed { body: &body, ..signed };
    if !secrets.into_iter().flatten().any(|secret| verify(secret, now / 1_000, &signed, signature).is_ok()) {
        return refuse(Code::Forbidden, "This is not signed with the edge's secret, or too long ago.");
    }
    match parse(&body, now) {
        Err(wrong) => problem(id, Code::InvalidRequest, "The push cannot be taken.", vec![wrong]),
        Ok(push) => match store(edge, world, push).await {
            Ok(done) => answer(&done),
            Err(_) => refuse(Code::Unavailable, "The store did not take all of it. Send it again."),
        },
    }
}

/// The push in `body`, received at `now_ms`.
///
/// # Errors
/// The first thing that is wrong: nothing of it is to be stored then.
pub fn parse(body: &[u8], now_ms: u64) -> Result<Push, FieldError> {
    let document: Document =
        serde_json::from_slice(body).map_err(|error| FieldError::new("body", error.to_string()))?;
    if document.v != 1 {
        return Err(FieldError::new("v", "must be 1"));
    }
    if document.pages.len() > MOST_PAGES {
        return Err(FieldError::new("pages", format!("must be at most {MOST_PAGES}")));
    }
    let page = |(at, pushed): (usize, Pushed)| {
        let wrong = |field: &str, detail| FieldError::new(format!("pages.{at}.{field}"), detail);
        let (path, query) =
            pushed.key.split_once('?').map_or((&*pushed.key, None), |(path, query)| (path, Some(query)));
        let key = key::page(path, query).filter(|key| key.shared);
        let key = key.ok_or_else(|| wrong("key", "must be a page that all colos share"))?;
        let headers = headers(&pushed).ok_or_else(|| wrong("headers", "must be headers"))?;
        let body = ports::Body::Whole(pushed.body.into());
        let answer = FromOrigin { status: http::StatusCode::OK, headers, body };
        let page = Page::from_origin(&answer, now_ms);
        let page = page.ok_or_else(|| wrong("headers", "must let the page be stored, with what it shows"))?;
        Ok((key, Arc::new(page)))
    };
    let pages = document.pages.into_iter().enumerate().map(page).collect::<Result<_, _>>()?;
    Ok(Push { pages, words: document.words })
}

/// The headers of a pushed page as the origin would have answered them.
fn headers(pushed: &Pushed) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in &pushed.headers {
        headers.insert(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?);
    }
    headers.insert(SHOWS_HEADER, HeaderValue::from_str(&pushed.shows).ok()?);
    headers.insert(MADE_HEADER, pushed.made.into());
    headers.insert(VERSION_HEADER, pushed.version.into());
    Some(headers)
}

async fn store(edge: &Arc<Edge>, world: &World, push: Push) -> Result<Done, ports::StoreFailed> {
    let mut done = Done::default();
    let mut count = |stored: bool| {
        done.stored += usize::from(stored);
        done.older += usize::from(!stored);
    };
    let words = async {
        match &push.words {
            Some(words) => store_words(world, words).await.map(Some),
            None => Ok(None),
        }
    };
    let pages = push.pages.iter().map(|(key, page)| store_page(edge, world, key, page));
    // All at once: each waits for the store alone.
    let (pages, words) = futures_util::future::join(futures_util::future::join_all(pages), words).await;
    words?.into_iter().for_each(&mut count);
    for stored in pages {
        count(stored?);
    }
    Ok(done)
}

/// Whether the page is in the store now; false when that has a newer one or the same.
async fn store_page(edge: &Arc<Edge>, world: &World, key: &Key, page: &Arc<Page>) -> Result<bool, ports::StoreFailed> {
    let name = &key.path_query;
    let stored = load(&*world.global, name, page.fetched_ms).await;
    // Asked after the waiting, for what has come meanwhile.
    let in_memory = recall(edge, name).is_some_and(|known| page.order(&known).is_lt());
    if in_memory || stored.is_some_and(|stored| page.order(&stored).is_le()) {
        return Ok(false);
    }
    let (Some(_), Some(bytes)) = (admit(edge, name, page), page.encode()) else { return Ok(false) };
    keep(edge, world, key, page, false);
    world.global.put(name, bytes).await.map(|()| true)
}

/// Whether the dictionary is in the store now; false when that has a newer one. The same one is
/// put again, or it would expire.
async fn store_words(world: &World, pushed: &Words) -> Result<bool, ports::StoreFailed> {
    let stored = world.global.get(words::KEY).await?;
    if stored.is_some_and(|stored| words::version(&stored) > pushed.version) {
        return Ok(false);
    }
    let Ok(bytes) = serde_json::to_vec(pushed) else { return Ok(false) };
    world.global.put(words::KEY, Bytes::from(bytes)).await.map(|()| true)
}

fn answer(done: &Done) -> Response {
    let mut response = Response::new(Body::from(serde_json::to_vec(done).unwrap_or_default()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod tests;
