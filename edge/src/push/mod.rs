//! Pushes from the origin: the pages of popular subjects and the dictionary, written to the global store, so
//! that readers anywhere are served without asking the origin.
//!
//! A push must be signed with the edge secret, or with the previous one during a rotation; its body is read
//! only then. A page is
//! stored only when it is newer than the stored one, so a repeated push has no effect. The answer comes
//! when the global store has accepted everything; it takes one write a second for each key, so the
//! origin pushes a key again only after that. The store may show what it held up to a minute ago, so a
//! replay within the minute of a signature may overwrite a newer page there; an isolate that has seen
//! the newer page does not serve it.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, CACHE_TAGS_HEADER, MADE_HEADER, PUSH_FORMAT_VERSION, PushDocument, PushOutcome,
    PushedDictionary, PushedPage, SIGNATURE_HEADER, SUBJECT_VERSION_HEADER, SignatureDirection, SignedRequest,
    verify_request,
};
use gailou_shared::wire::{Code, FieldError};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;

use crate::bounded_body::read_bounded;
use crate::cached_page::CachedPage;
use crate::forward::{IDEMPOTENCY_KEY, Requester, header_text};
use crate::page_key::PageKey;
use crate::page_service::{admit, get_from_memory, load_page, store_copies};
use crate::ports::{OriginBody, OriginResponse, PageStoreError, Ports};
use crate::rate_limits::network_of;
use crate::response::problem;
use crate::{Isolate, word_filter};

/// Largest push, in bytes.
pub const MAX_PUSH_BYTES: usize = 8 << 20;
/// Most pages of a push: each costs up to four of the thousand platform calls of a request.
pub const MAX_PUSH_PAGES: usize = 128;

/// A valid push.
#[derive(Debug)]
pub struct PushBatch {
    /// The pages and their keys.
    pub pages: Vec<(PageKey, Arc<CachedPage>)>,
    /// The dictionary, if the push has one.
    pub dictionary: Option<PushedDictionary>,
}

/// Receives a push.
pub async fn receive_push(isolate: &Arc<Isolate>, ports: &Ports, requester: &Requester, request: Request) -> Response {
    let id = &requester.id;
    let refuse = |code, detail: &str| problem(id, code, detail, Vec::new());
    let secrets = [&isolate.config.edge_secret, &isolate.config.edge_secret_previous];
    if secrets.iter().all(|secret| secret.is_none()) {
        return refuse(Code::NotFound, "This edge accepts no pushes: it has no EDGE_SECRET.");
    }
    let (parts, body) = request.into_parts();
    let announced = header_text(&parts.headers, &CONTENT_LENGTH).parse().ok();
    let too_large = "The push is larger than 8 MiB.";
    if announced.is_some_and(|length: usize| length > MAX_PUSH_BYTES) {
        return refuse(Code::BodyTooLarge, too_large);
    }
    let now = ports.clock.now_ms();
    let bad_signature = "The push is not signed with the edge secret, or its signature is older than a minute.";
    // Nothing of the body is read, and no room is held for it, until its signature fits.
    let Some(body_hash) = signed_body_hash(&parts, secrets.into_iter().flatten(), now) else {
        return refuse(Code::Forbidden, bad_signature);
    };
    let network = network_of(requester.client.as_deref());
    let Some(_reserved) = isolate.body_budget.reserve(network, announced.unwrap_or(MAX_PUSH_BYTES), now) else {
        return refuse(Code::Overloaded, "Too many pushes are being received. Send it again.");
    };
    // Reading also fails when the origin disconnects; it then does not see this answer.
    let Ok(body) = read_bounded(body, MAX_PUSH_BYTES).await else { return refuse(Code::BodyTooLarge, too_large) };
    if !body_hash.is_of(&body) {
        return refuse(Code::Forbidden, "The body of the push is not the one that was signed.");
    }
    match parse_push(&body, now) {
        Err(wrong) => problem(id, Code::InvalidRequest, "The push is not valid.", vec![wrong]),
        Ok(batch) => match store_batch(isolate, ports, batch).await {
            Ok(outcome) => outcome_response(&outcome),
            Err(_) => refuse(Code::Unavailable, "The global store did not accept all of it. Send it again."),
        },
    }
}

/// The hash of the body that the origin announces, when one of `secrets` has signed it.
fn signed_body_hash<'a>(
    parts: &Parts,
    mut secrets: impl Iterator<Item = &'a Vec<u8>>,
    now_ms: u64,
) -> Option<BodyHash> {
    let text = |name| header_text(&parts.headers, &HeaderName::from_static(name));
    let body_hash = BodyHash::parse(text(BODY_HASH_HEADER))?;
    let signed = SignedRequest {
        direction: SignatureDirection::OriginToEdge,
        method: parts.method.as_str(),
        path_query: parts.uri.path_and_query().map_or("", |path_query| path_query.as_str()),
        client: "",
        authorization: header_text(&parts.headers, &AUTHORIZATION),
        idempotency_key: header_text(&parts.headers, &IDEMPOTENCY_KEY),
        body_hash,
    };
    let signature = text(SIGNATURE_HEADER);
    let fits = |secret: &Vec<u8>| verify_request(secret, now_ms / 1_000, &signed, signature).is_ok();
    secrets.any(fits).then_some(body_hash)
}

/// The push in `body`, received at `now_ms`.
///
/// # Errors
/// The first field that is wrong; nothing of the push may be stored then.
pub fn parse_push(body: &[u8], now_ms: u64) -> Result<PushBatch, FieldError> {
    let document: PushDocument =
        serde_json::from_slice(body).map_err(|error| FieldError::new("body", error.to_string()))?;
    if document.v != PUSH_FORMAT_VERSION {
        return Err(FieldError::new("v", format!("must be {PUSH_FORMAT_VERSION}")));
    }
    if document.pages.len() > MAX_PUSH_PAGES {
        return Err(FieldError::new("pages", format!("must be at most {MAX_PUSH_PAGES}")));
    }
    let parse_page = |(at, pushed): (usize, PushedPage)| {
        let wrong = |field: &str, detail| FieldError::new(format!("pages.{at}.{field}"), detail);
        let (path, query) =
            pushed.key.split_once('?').map_or((&*pushed.key, None), |(path, query)| (path, Some(query)));
        let key = PageKey::parse(path, query).filter(|key| key.shared);
        let key = key.ok_or_else(|| wrong("key", "must be a page that the global store may hold"))?;
        let headers = pushed_headers(&pushed).ok_or_else(|| wrong("headers", "must be valid HTTP headers"))?;
        let body = OriginBody::Whole(pushed.body.into());
        let answer = OriginResponse { status: http::StatusCode::OK, headers, body };
        let page = CachedPage::from_origin(&answer, now_ms);
        let page = page.ok_or_else(|| wrong("headers", "must let the page be stored, with what it shows"))?;
        Ok((key, Arc::new(page)))
    };
    let pages = document.pages.into_owned().into_iter().enumerate().map(parse_page).collect::<Result<_, _>>()?;
    Ok(PushBatch { pages, dictionary: document.words.map(Cow::into_owned) })
}

/// The headers of a pushed page as the origin would have answered them.
fn pushed_headers(pushed: &PushedPage) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in &pushed.headers {
        headers.insert(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?);
    }
    headers.insert(CACHE_TAGS_HEADER, HeaderValue::from_str(&pushed.cache_tags).ok()?);
    headers.insert(MADE_HEADER, pushed.made.into());
    headers.insert(SUBJECT_VERSION_HEADER, pushed.version.into());
    Some(headers)
}

async fn store_batch(isolate: &Arc<Isolate>, ports: &Ports, batch: PushBatch) -> Result<PushOutcome, PageStoreError> {
    let mut outcome = PushOutcome::default();
    let mut count = |is_stored: bool| {
        outcome.stored += u64::from(is_stored);
        outcome.older += u64::from(!is_stored);
    };
    let dictionary = async {
        match &batch.dictionary {
            Some(dictionary) => store_dictionary(ports, dictionary).await.map(Some),
            None => Ok(None),
        }
    };
    let pages = batch.pages.iter().map(|(key, page)| store_page(isolate, ports, key, page));
    // Concurrently: each of them only waits for the store.
    let (pages, dictionary) = futures_util::future::join(futures_util::future::join_all(pages), dictionary).await;
    dictionary?.into_iter().for_each(&mut count);
    for is_stored in pages {
        count(is_stored?);
    }
    Ok(outcome)
}

/// Stores a page; false when the store or memory has the same or a newer one.
async fn store_page(
    isolate: &Arc<Isolate>,
    ports: &Ports,
    key: &PageKey,
    page: &Arc<CachedPage>,
) -> Result<bool, PageStoreError> {
    let name = &key.path_query;
    let stored = load_page(&*ports.global_store, name, page.fetched_ms).await;
    // Memory is read after the await, so that it includes what has arrived meanwhile.
    let is_newer_in_memory = get_from_memory(isolate, name).is_some_and(|known| page.compare_recency(&known).is_lt());
    if is_newer_in_memory || stored.is_some_and(|stored| page.compare_recency(&stored).is_le()) {
        return Ok(false);
    }
    let (Some(_), Some(bytes)) = (admit(isolate, name, page), page.encode()) else { return Ok(false) };
    store_copies(isolate, ports, key, page, false);
    ports.global_store.put(name, bytes).await.map(|()| true)
}

/// Stores a dictionary; false when the store has a newer one. The same one is stored again, because it
/// would expire otherwise.
async fn store_dictionary(ports: &Ports, pushed: &PushedDictionary) -> Result<bool, PageStoreError> {
    let stored = ports.global_store.get(word_filter::DICTIONARY_KEY).await?;
    if stored.is_some_and(|stored| word_filter::stored_version(&stored) > pushed.version) {
        return Ok(false);
    }
    let Ok(bytes) = serde_json::to_vec(pushed) else { return Ok(false) };
    ports.global_store.put(word_filter::DICTIONARY_KEY, Bytes::from(bytes)).await.map(|()| true)
}

fn outcome_response(outcome: &PushOutcome) -> Response {
    let mut response = Response::new(Body::from(serde_json::to_vec(outcome).unwrap_or_default()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests;
