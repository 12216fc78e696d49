//! `/v1/subjects/{type}/{key}` and its comments; `/v1/counts`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gailou_shared::id::SubjectKey;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{CountsBySubject, DataEnvelope, SubjectCounts};
use gailou_shared::{content, limits};
use serde::Serialize;

use crate::error::ApiError;
use crate::http::request::{Query, json_body, known_type, list_key, member, once, subject};
use crate::http::{JSON, request, send_counted};
use crate::ports::popularity::ReadLists;
use crate::service::cache_tags::Showing;
use crate::service::{cache_tags, page, publish};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

/// JSON that goes old when one of the subjects changes.
pub(super) fn json_page(value: &(impl Serialize + Showing), subjects: Vec<SubjectKey>) -> Result<BuiltPage, ApiError> {
    let body = serde_json::to_vec(value).map_err(ApiError::internal)?;
    Ok(BuiltPage {
        body,
        content_type: JSON,
        subjects,
        shows: cache_tags::shows(value),
        version: value.version(),
        reads: None,
    })
}

pub(super) async fn get_subject(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let key = subject(&known_type(&app, path, 2)?, path, 3)?;
    let page = app
        .page_cache
        .get_or_build(path, || async {
            let page = json_page(&page::subject(&app, &key).await?, vec![key.clone()])?;
            Ok(BuiltPage { reads: Some(ReadLists::default()), ..page })
        })
        .await?;
    Ok(send_counted(page, request.headers()))
}

pub(super) async fn list_roots(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let key = subject(&known_type(&app, path, 2)?, path, 3)?;
    let query = Query::of(&request)?;
    let asked = query.asked(&app, &Sort::ALL)?;
    let page = app
        .page_cache
        .get_or_build(&list_key(path, &query, &asked), || async {
            let page = json_page(&page::roots(&app, &key, asked).await?, vec![key.clone()])?;
            let first = asked.cursor.is_none().then(|| ReadLists::of(asked.sort, asked.limit));
            Ok(BuiltPage { reads: Some(first.unwrap_or_default()), ..page })
        })
        .await?;
    Ok(send_counted(page, request.headers()))
}

pub(super) async fn create_comment(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path().to_owned();
    let kind = known_type(&app, &path, 2)?;
    let member = member(&app, request.headers())?;
    let (headers, address) = (request.headers().clone(), request::address(&request));
    let body = json_body(request).await?;
    let key = subject(&kind, &path, 3)?;
    let once = once(&headers, "POST", &path, &body)?;
    let most = app.config.types.get(&kind).map_or(limits::MAX_CONTENT_CHARS, |t| t.max_chars);
    let new = content::parse_new_comment(&body, most).map_err(ApiError::fields)?;
    let done = publish::publish(&app, &member, &address, key, new, once).await?;
    let status = if done.held { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    let mut response = (status, axum::Json(done.comment)).into_response();
    if done.replayed {
        response.headers_mut().insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    }
    Ok(response)
}

pub(super) async fn get_counts(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let query = Query::of(&request)?;
    let mut names: Vec<&str> = query.all("subject").collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() || names.len() > limits::MAX_COUNT_SUBJECTS {
        return Err(ApiError::field("subject", "must be given 1 to 100 times"));
    }
    let mut keys = Vec::with_capacity(names.len());
    for name in &names {
        let wrong = || ApiError::field("subject", "must be {type}/{key}");
        let (kind, key) = name.split_once('/').ok_or_else(wrong)?;
        page::threading(&app, kind, None)?;
        keys.push(SubjectKey::new(kind, key).map_err(|e| ApiError::field("subject", e.to_string()))?);
    }
    // Names hold anything; JSON keeps them apart.
    let name = format!("/v1/counts {}", serde_json::to_string(&names).map_err(ApiError::internal)?);
    let page = app
        .page_cache
        .get_or_build(&name, || async {
            let rows = app.store.read_subjects(&keys).await?;
            let counts = keys.iter().zip(rows).map(|(key, row)| {
                (
                    key.to_string(),
                    row.map_or_else(SubjectCounts::default, |r| SubjectCounts { roots: r.roots, comments: r.comments }),
                )
            });
            let page = json_page(&DataEnvelope { data: counts.collect::<CountsBySubject>() }, keys.clone())?;
            Ok(BuiltPage { reads: Some(ReadLists::default()), ..page })
        })
        .await?;
    Ok(send_counted(page, request.headers()))
}
