//! What handlers take from a request, each part with its own refusal, in the contract's order:
//! route 404, token 401, size 413, type 415, then everything that is 400.

use std::borrow::Cow;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use gailou_shared::cursor::Cursor;
use gailou_shared::http_headers::bearer_token;
use gailou_shared::id::{CommentId, MemberId, MemberKind, SubjectKey};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::token::{Member, TokenError};
use gailou_shared::wire::{Code, FieldError};
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use crate::error::ApiError;
use crate::http::Client;
use crate::service::page::{PageQuery, bad_cursor};
use crate::service::publish::IdempotencyKey;
use crate::state::AppState;

/// How long a body may take to arrive.
const BODY: Duration = Duration::from_secs(10);

pub(super) fn too_large() -> ApiError {
    ApiError::new(Code::BodyTooLarge, format!("a body has at most {} bytes", limits::MAX_BODY_BYTES))
}

/// Whose token it is.
pub(super) fn member(app: &AppState, headers: &HeaderMap) -> Result<Member, ApiError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(ApiError::new(Code::TokenMissing, "send a token: Authorization: Bearer …"));
    };
    let invalid = |detail: String| ApiError::new(Code::TokenInvalid, detail);
    let token = value.to_str().ok().and_then(bearer_token);
    let token = token.ok_or_else(|| invalid("the Authorization header is no bearer token".into()))?;
    let now = app.now() / 1_000;
    let audience = &app.config.auth.audience;
    match app.token_key.verify(token, audience, now) {
        Err(TokenError::Signature) => match app.guest_key.verify(token, audience, now) {
            Ok(guest) if guest.id.kind() == MemberKind::Guest => Ok(guest),
            _ => Err(invalid(TokenError::Signature.to_string())),
        },
        other => other.map_err(|e| invalid(e.to_string())),
    }
}

/// Whether the body that is announced is within its bound.
fn size(headers: &HeaderMap) -> Result<(), ApiError> {
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if declared.is_some_and(|n| n > limits::MAX_BODY_BYTES as u64) { Err(too_large()) } else { Ok(()) }
}

/// The body, within its bound.
async fn body(request: Request) -> Result<Bytes, ApiError> {
    size(request.headers())?;
    let body = axum::body::to_bytes(request.into_body(), limits::MAX_BODY_BYTES);
    match tokio::time::timeout(BODY, body).await {
        Ok(read) => read.map_err(|_| too_large()),
        Err(_) => Err(ApiError::field("body", "did not arrive within 10 seconds")),
    }
}

/// The body of a request that must be JSON.
pub(super) async fn json_body(request: Request) -> Result<Bytes, ApiError> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
    let bytes = body(request).await?;
    let essence = kind.split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(bytes)
    } else {
        Err(ApiError::new(Code::UnsupportedMediaType, "send application/json"))
    }
}

/// The reader's address.
pub(super) fn address(request: &Request) -> String {
    request.extensions().get::<Client>().map(|c| c.address.clone()).unwrap_or_default()
}

fn decoded<'p>(segment: &'p str, field: &'static str) -> Result<Cow<'p, str>, ApiError> {
    percent_decode_str(segment).decode_utf8().map_err(|_| ApiError::field(field, "must be percent-encoded UTF-8"))
}

/// A segment of the raw path, from 0.
fn segment(path: &str, index: usize) -> &str {
    path.trim_start_matches('/').split('/').nth(index).unwrap_or("")
}

/// The configured type in the path, or `unknown_subject_type`: this is part of the route.
pub(super) fn known_type(app: &AppState, path: &str, index: usize) -> Result<String, ApiError> {
    let unknown = || ApiError::new(Code::UnknownSubjectType, "there is no such subject type here");
    let kind = decoded(segment(path, index), "type").map_err(|_| unknown())?;
    if app.config.types.contains_key(kind.as_ref()) { Ok(kind.into_owned()) } else { Err(unknown()) }
}

/// The subject of a type with the key in the path.
pub(super) fn subject(kind: &str, path: &str, index: usize) -> Result<SubjectKey, ApiError> {
    let key = decoded(segment(path, index), "key")?;
    SubjectKey::new(kind, &key).map_err(|e| ApiError::field(e.field(), e.to_string()))
}

/// The comment named in the path `/v1/comments/{id}…`.
pub(super) fn comment_id(path: &str) -> Result<CommentId, ApiError> {
    id_at(path, 2)
}

/// Who asks, and for which comment.
pub(super) fn member_and_comment(app: &AppState, request: &Request) -> Result<(Member, CommentId), ApiError> {
    let member = member(app, request.headers())?;
    size(request.headers())?;
    Ok((member, comment_id(request.uri().path())?))
}

/// The id in a segment of the path.
pub(super) fn id_at<T: std::str::FromStr<Err = gailou_shared::id::InvalidId>>(
    path: &str,
    index: usize,
) -> Result<T, ApiError> {
    segment(path, index).parse().map_err(|e: gailou_shared::id::InvalidId| ApiError::field("id", e.to_string()))
}

/// The member named in the path `/v1/members/{id}/…`.
pub(super) fn member_id(path: &str) -> Result<MemberId, ApiError> {
    id_at(path, 2)
}

/// Query parameters by name, decoded. Of a name given twice the last one counts.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn of(request: &Request) -> Result<Self, ApiError> {
        let raw = request.uri().query().unwrap_or("");
        let mut pairs = Vec::new();
        for pair in raw.split('&').filter(|p| !p.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8().map(Cow::into_owned);
            let Ok(name) = plain(name) else { continue };
            let value = plain(value).map_err(|_| ApiError::field(name.clone(), "must be percent-encoded UTF-8"))?;
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(super) fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// A whole number from 1 to `most`.
    pub(super) fn number(&self, name: &'static str, most: usize, default: usize) -> Result<usize, FieldError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        number
            .filter(|n| (1..=most).contains(n))
            .ok_or_else(|| FieldError::new(name, format!("must be a whole number from 1 to {most}")))
    }

    pub(super) fn cursor(&self, app: &AppState) -> Result<Option<Cursor>, ApiError> {
        self.get("cursor").map(|text| app.cursor_key.decode(text).map_err(|e| bad_cursor(&e.to_string()))).transpose()
    }

    /// `sort`, `limit` and `cursor` of a list that knows these sorts.
    pub(super) fn asked(&self, app: &AppState, sorts: &[Sort]) -> Result<PageQuery, ApiError> {
        let mut errors = Vec::new();
        let limit = self.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE).unwrap_or_else(|e| {
            errors.push(e);
            limits::DEFAULT_PAGE_SIZE
        });
        let sort = match self.get("sort") {
            None => None,
            Some(name) => {
                let sort = Sort::parse(name).filter(|s| sorts.contains(s));
                if sort.is_none() {
                    let names: Vec<_> = sorts.iter().map(|s| s.name()).collect();
                    errors.push(FieldError::new("sort", format!("must be one of {}", names.join(", "))));
                }
                sort
            }
        };
        if !errors.is_empty() {
            return Err(ApiError::fields(errors));
        }
        let cursor = self.cursor(app)?;
        if let (Some(cursor), Some(sort)) = (&cursor, sort)
            && cursor.sort != sort
        {
            return Err(bad_cursor("belongs to another sort"));
        }
        Ok(PageQuery { sort: sort.or(cursor.map(|c| c.sort)).unwrap_or_default(), limit, cursor })
    }
}

/// The name of a page in the caches: what counts of the request, in one order, defaults left out.
pub(super) fn page_key(path: &str, parts: &[(&str, Option<String>)]) -> String {
    let mut key = path.to_owned();
    for (i, (name, value)) in parts.iter().filter_map(|(n, v)| v.as_ref().map(|v| (n, v))).enumerate() {
        key.push(if i == 0 { '?' } else { '&' });
        key.push_str(name);
        key.push('=');
        key.push_str(value);
    }
    key
}

/// The key of a page of a list.
pub(super) fn list_key(path: &str, query: &Query, asked: &PageQuery) -> String {
    page_key(path, &list_parts(query, asked))
}

/// What counts in the key of a page of a list.
pub(super) fn list_parts(query: &Query, asked: &PageQuery) -> [(&'static str, Option<String>); 3] {
    [
        ("sort", (asked.sort != Sort::Hot && asked.cursor.is_none()).then(|| asked.sort.name().to_owned())),
        ("limit", (asked.limit != limits::DEFAULT_PAGE_SIZE).then(|| asked.limit.to_string())),
        ("cursor", query.get("cursor").map(str::to_owned)),
    ]
}

/// The idempotency key of a request, with the hash of method, path and body.
pub(super) fn once(
    headers: &HeaderMap,
    method: &str,
    path: &str,
    body: &[u8],
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().filter(|k| {
        (1..=limits::MAX_IDEMPOTENCY_KEY_BYTES).contains(&k.len()) && k.bytes().all(|b| b.is_ascii_graphic())
    });
    let key = key.ok_or_else(|| ApiError::field("Idempotency-Key", "must be 1 to 128 visible ASCII characters"))?;
    let mut hasher = Sha256::new();
    for part in [method.as_bytes(), path.as_bytes(), body] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    Ok(Some(IdempotencyKey { key: key.to_owned(), request: hasher.finalize().into() }))
}
