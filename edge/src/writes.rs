//! Everything that is not a public page: checked for what can be said without a database, then
//! sent on.
//!
//! In the contract's order: the route (the router has found it), the token, the limits, the size,
//! the type, and for texts the word filter. The origin checks all of it again, and what the edge cannot
//! judge it sends on. Nothing is retried here: a write that was sent may have been done.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use gailou_shared::id::MemberId;
use gailou_shared::limits::BODY_BYTES;
use gailou_shared::token::TokenKey;
use gailou_shared::wire::{Code, FieldError};
use http::Method;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName};
use serde::Deserialize;

use crate::answer::problem;
use crate::forward::{self, Asker, Message, READ_MS, WRITE_MS};
use crate::limits::{Limit, Who};
use crate::ports::{Want, World};
use crate::{Edge, limits, words};

/// Largest upload, in bytes: an image of 5 MiB and its envelope.
const UPLOAD_BYTES: usize = (5 << 20) + BODY_BYTES;
/// Largest dictionary sent by an admin: the largest one that can be built, with JSON around it.
const WORDS_BYTES: usize = 8 << 20;

/// What the edge checks of a route.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    token: bool,
    body_bytes: usize,
    /// The content type a body must have.
    kind: Option<&'static str>,
    filtered: bool,
}

impl Rule {
    /// Nothing but the size: the origin knows the rest.
    pub const OPEN: Self = Self { token: false, body_bytes: BODY_BYTES, kind: None, filtered: false };
    /// A member's, without a body of interest.
    pub const MEMBER: Self = Self { token: true, ..Self::OPEN };
    /// A member's JSON.
    pub const JSON: Self = Self { kind: Some("application/json"), ..Self::MEMBER };
    /// Somebody's JSON.
    pub const GUEST: Self = Self { token: false, ..Self::JSON };
    /// A text to be published.
    pub const TEXT: Self = Self { filtered: true, ..Self::JSON };
    /// An image.
    pub const UPLOAD: Self = Self { body_bytes: UPLOAD_BYTES, kind: Some("multipart/form-data"), ..Self::MEMBER };
    /// A dictionary.
    pub const WORDS: Self = Self { body_bytes: WORDS_BYTES, ..Self::MEMBER };
}

/// Checks `request` by `rule` and sends it on.
pub async fn pass(edge: &Arc<Edge>, world: &World, asker: &Asker, rule: Rule, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let id = &asker.id;
    let writer = match check_token(edge, world, &parts.headers) {
        Ok(writer) => writer,
        Err((code, detail)) if rule.token => return problem(id, code, detail, Vec::new()),
        Err(_) => None,
    };
    if let Err(exceeded) = within_limits(world, asker, &parts.method, writer).await {
        return limits::refusal(exceeded, id);
    }
    let too_large = || {
        let detail = format!("The body is larger than {} bytes.", rule.body_bytes);
        problem(id, Code::BodyTooLarge, detail, Vec::new())
    };
    let announced = text(&parts.headers, &CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if announced.is_some_and(|length| length > rule.body_bytes as u64) {
        return too_large();
    }
    let Ok(_place) = Place::take(edge, world, rule, announced) else {
        return problem(id, Code::Overloaded, "Too much is being sent here. Try again.", Vec::new());
    };
    // It also fails when the client goes away, which then nobody is told.
    let Ok(body) = axum::body::to_bytes(body, rule.body_bytes).await else { return too_large() };
    if let Some(kind) = rule.kind
        && !is_kind(&parts.headers, kind)
    {
        let errors = vec![FieldError::new("content-type", format!("must be {kind}"))];
        return problem(id, Code::UnsupportedMediaType, format!("The body must be {kind}."), errors);
    }
    if rule.filtered
        && let Some(categories) = words::refused(edge, world, &body).await
    {
        let blocked = FieldError::blocked_words(&categories);
        return problem(
            id,
            Code::ContentRejected,
            format!("the comment contains words that are not allowed here: {}", blocked.detail),
            vec![blocked],
        );
    }
    let path_query = parts.uri.path_and_query().map_or("/", |pq| pq.as_str()).to_owned();
    send(edge, world, asker, parts.method, path_query, &parts.headers, body).await
}

/// Room for a large body, given back when it is gone.
struct Place<'a>(&'a Edge, Option<u64>);

impl<'a> Place<'a> {
    fn take(edge: &'a Edge, world: &World, rule: Rule, announced: Option<u64>) -> Result<Self, NoRoom> {
        if rule.body_bytes <= BODY_BYTES {
            return Ok(Self(edge, None));
        }
        let bytes = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or(rule.body_bytes);
        let place = edge.bodies.begin(bytes, world.clock.now_ms()).ok_or(NoRoom)?;
        Ok(Self(edge, Some(place)))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.1 {
            self.0.bodies.end(place);
        }
    }
}

/// Large bodies fill what an isolate has for them.
struct NoRoom;

/// Sends a request on as it is.
pub async fn send(
    edge: &Edge,
    world: &World,
    asker: &Asker,
    method: Method,
    path_query: String,
    headers: &HeaderMap,
    body: Bytes,
) -> Response {
    let is_write = !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
    let (deadline_ms, lost) = if is_write {
        let lost = "The origin did not answer in time, so whether this was done is not known. \
                    Send it again with the same Idempotency-Key.";
        (WRITE_MS, lost)
    } else {
        (READ_MS, "The origin does not answer. Try again.")
    };
    let headers = forward::taken_along(headers);
    let message = Message { method, path_query, headers, body, want: Want::Stream, deadline_ms };
    let outcome = forward::send(edge, world, asker, message).await;
    forward::conclude(outcome, &asker.id, lost)
}

async fn within_limits(
    world: &World,
    asker: &Asker,
    method: &Method,
    writer: Option<Who>,
) -> Result<(), &'static Limit> {
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => limits::read(world, asker).await,
        _ => limits::write(world, asker, writer.as_ref()).await,
    }
}

/// Whose token it is, as far as the edge can tell; an error when it is certainly none.
fn check_token(edge: &Edge, world: &World, headers: &HeaderMap) -> Result<Option<Who>, (Code, String)> {
    let Some(authorization) = headers.get(AUTHORIZATION) else {
        return Err((Code::TokenMissing, "This call needs a token: Authorization: Bearer ….".into()));
    };
    let token = authorization.to_str().ok().and_then(|text| {
        let (scheme, token) = text.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        return Err((Code::TokenInvalid, "The Authorization header must be: Bearer and a token.".into()));
    };
    let Some(key) = edge.config.token_key.as_ref().filter(|key| is_for(key, token)) else {
        return Ok(claimed(token).map(Who::Claimed));
    };
    match key.verify(token, &edge.config.audience, world.clock.now_ms() / 1_000) {
        Ok(member) => Ok(Some(Who::Verified(member.id.to_string()))),
        Err(error) => Err((Code::TokenInvalid, error.to_string())),
    }
}

/// The member an unverified token names.
fn claimed(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claims {
        sub: String,
    }
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let Claims { sub } = serde_json::from_slice(&claims).ok()?;
    sub.parse().ok().map(|id: MemberId| id.to_string())
}

/// Whether `key` can judge `token`: hosts that sign with EdDSA have guests whose tokens the
/// origin signs with a secret of its own.
fn is_for(key: &TokenKey, token: &str) -> bool {
    #[derive(Deserialize)]
    struct Header {
        alg: String,
    }
    let header = token.split('.').next().and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let header = header.and_then(|json| serde_json::from_slice::<Header>(&json).ok());
    let other = match key {
        TokenKey::Secret(_) => "EdDSA",
        TokenKey::Public(_) => "HS256",
    };
    // What has no readable header is no token, whatever the key.
    header.is_none_or(|header| header.alg != other)
}

fn is_kind(headers: &HeaderMap, kind: &str) -> bool {
    let sent = text(headers, &CONTENT_TYPE).unwrap_or_default();
    sent.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests;
