//! Every request that is not a public page: checked as far as that needs no database, then forwarded.
//!
//! The order is the contract's: the route (the router has found it), the token, the rate limits, the
//! size, the content type, and for texts the word filter. The origin checks all of it again, and the
//! edge forwards what it cannot judge. Nothing is retried here: the origin may have executed a write
//! that it did not answer.

mod refused;

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use gailou_shared::http_headers::is_json_type;
use gailou_shared::limits::{MAX_BODY_BYTES, MAX_UPLOAD_BYTES};
use gailou_shared::wire::{Code, FieldError};
use gailou_shared::{http_headers, token};
use http::Method;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, SET_COOKIE};

use crate::forward::{self, ForwardRequest, OriginOutcome, READ_TIMEOUT_MS, Requester, WRITE_TIMEOUT_MS};
use crate::ports::{BodyMode, Ports};
use crate::rate_limits::{self, RateLimit, Writer, network_of};
use crate::response::problem;
use crate::{Isolate, word_filter};

pub use refused::RefusedWrites;

/// What the edge checks of a route.
#[derive(Debug, Clone, Copy)]
pub struct RouteRule {
    /// A member's token is required.
    token: bool,
    /// The body must be JSON.
    json: bool,
    /// The text in the body passes the word filter.
    filtered: bool,
    /// Largest body.
    max_bytes: usize,
    /// The origin's cookies pass in both directions.
    cookies: bool,
}

impl RouteRule {
    /// Only the size is checked.
    pub const ANY_REQUEST: Self =
        Self { token: false, json: false, filtered: false, max_bytes: MAX_BODY_BYTES, cookies: false };
    /// Signing in, or out.
    pub const SIGN_IN: Self = Self { cookies: true, ..Self::ANY_REQUEST };
    /// A member's call; its body is ignored.
    pub const MEMBER_CALL: Self = Self { token: true, ..Self::ANY_REQUEST };
    /// A member's call with a JSON body.
    pub const MEMBER_JSON: Self = Self { json: true, ..Self::MEMBER_CALL };
    /// Anybody's call with a JSON body.
    pub const GUEST_JSON: Self = Self { token: false, ..Self::MEMBER_JSON };
    /// A member's picture. Its kind is for the origin to judge.
    pub const PICTURE_UPLOAD: Self = Self { max_bytes: MAX_UPLOAD_BYTES, ..Self::MEMBER_CALL };
    /// A text to publish.
    pub const PUBLISHED_TEXT: Self = Self { filtered: true, ..Self::MEMBER_JSON };
}

/// Checks `request` by `rule` and forwards it.
pub async fn check_and_forward(
    isolate: &Arc<Isolate>,
    ports: &Ports,
    requester: &Requester,
    rule: RouteRule,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let id = &requester.id;
    let writer = match check_token(isolate, ports, &parts.headers) {
        Ok(writer) => writer,
        Err((code, detail)) if rule.token => return problem(id, code, detail, Vec::new()),
        Err(_) => None,
    };
    if let Err(exceeded) = check_rate_limits(ports, requester, &parts.method, writer.as_ref()).await {
        return rate_limits::refuse(exceeded, id);
    }
    let too_large = || {
        let detail = format!("The body is larger than {} bytes.", rule.max_bytes);
        problem(id, Code::BodyTooLarge, detail, Vec::new())
    };
    let announced = forward::header_text(&parts.headers, &CONTENT_LENGTH).parse::<u64>().ok();
    if announced.is_some_and(|length| length > rule.max_bytes as u64) {
        return too_large();
    }
    // A picture has its room until its answer; other bodies are small.
    let room = (rule.max_bytes > MAX_BODY_BYTES).then(|| {
        let bytes = announced.and_then(|length| length.try_into().ok()).unwrap_or(rule.max_bytes);
        isolate.body_budget.reserve(network_of(requester.client.as_deref()), bytes, ports.clock.now_ms())
    });
    if matches!(room, Some(None)) {
        return problem(id, Code::Overloaded, "Too many pictures are being uploaded. Send it again.", Vec::new());
    }
    // Reading also fails when the client disconnects; it then does not see this answer.
    let Ok(body) = axum::body::to_bytes(body, rule.max_bytes).await else { return too_large() };
    if rule.json && !is_json(&parts.headers) {
        let errors = vec![FieldError::new("content-type", "must be application/json")];
        return problem(id, Code::UnsupportedMediaType, "The body must be application/json.", errors);
    }
    let path_query = parts.uri.path_and_query().map_or("/", |pq| pq.as_str()).to_owned();
    if rule.filtered
        && let Some(categories) = word_filter::blocked_categories(isolate, ports, &body).await
    {
        let headers = forward::forwarded_headers(&parts.headers);
        let timeout_ms = WRITE_TIMEOUT_MS;
        let write =
            ForwardRequest { method: parts.method, path_query, headers, body, body_mode: BodyMode::Whole, timeout_ms };
        refused::pass_on(isolate, ports, requester, write);
        let blocked = FieldError::blocked_words(&categories);
        let detail = format!("the comment contains words that are not allowed here: {}", blocked.detail);
        return problem(id, Code::ContentRejected, detail, vec![blocked]);
    }
    let (timeout_ms, unreachable_detail) = if is_read(&parts.method) {
        (READ_TIMEOUT_MS, "The origin does not answer. Try again.")
    } else {
        let detail = "The origin did not answer in time, so whether this was done is not known. \
                      Send it again with the same Idempotency-Key.";
        (WRITE_TIMEOUT_MS, detail)
    };
    let mut headers = forward::forwarded_headers(&parts.headers);
    if rule.cookies
        && let Some(cookies) = forward::own_cookies(&parts.headers)
    {
        headers.insert(COOKIE, cookies);
    }
    let is_write = !is_read(&parts.method);
    let method = parts.method;
    let request = ForwardRequest { method, path_query, headers, body, body_mode: BodyMode::Stream, timeout_ms };
    let outcome = forward::send(isolate, ports, requester, request).await;
    let set_cookies = match &outcome {
        OriginOutcome::Answered(answer) if rule.cookies => answer.headers.get_all(SET_COOKIE).iter().cloned().collect(),
        _ => Vec::new(),
    };
    let mut response = forward::outcome_response(outcome, &requester.id, unreachable_detail);
    // An outcome that is not known may be a write.
    if is_write && !response.status().is_client_error() {
        let network = network_of(requester.client.as_deref());
        isolate.recent_writers.note(parts.uri.path(), network, ports.clock.now_ms());
    }
    for cookie in set_cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

async fn check_rate_limits(
    ports: &Ports,
    requester: &Requester,
    method: &Method,
    writer: Option<&Writer>,
) -> Result<(), &'static RateLimit> {
    if is_read(method) {
        rate_limits::count_read(ports, requester).await
    } else {
        rate_limits::count_write(ports, requester, writer).await
    }
}

/// The member of the request's token, as far as the edge can judge; an error when the token is missing
/// or certainly invalid.
fn check_token(isolate: &Isolate, ports: &Ports, headers: &HeaderMap) -> Result<Option<Writer>, (Code, String)> {
    let Some(authorization) = headers.get(AUTHORIZATION) else {
        return Err((Code::TokenMissing, "This call needs a token: Authorization: Bearer ….".into()));
    };
    let token = authorization.to_str().ok().and_then(http_headers::bearer_token);
    let Some(token) = token else {
        return Err((Code::TokenInvalid, "The Authorization header must be: Bearer and a token.".into()));
    };
    let Some(keys) = isolate.config.member_keys.as_ref().filter(|keys| keys.can_verify(token)) else {
        return Ok(token::claimed_member(token).map(|id| Writer::Claimed(id.to_string())));
    };
    match keys.verify(token, &isolate.config.audience, ports.clock.now_ms() / 1_000) {
        Ok(member) => Ok(Some(Writer::Verified(member.id.to_string()))),
        Err(error) => Err((Code::TokenInvalid, error.to_string())),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    is_json_type(forward::header_text(headers, &CONTENT_TYPE))
}

#[cfg(test)]
mod tests;
