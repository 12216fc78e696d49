//! `/v1/subjects/{type}/{key}` and its comments.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gailou_shared::content;

use crate::http::cached_page::{CacheableRead, json_page};
use crate::http::extract::{
    AfterBody, AuthenticatedMember, IdempotencyHeader, JsonBody, KnownSubject, KnownSubjectType, ListQuery,
    RequestClient, RootSorts,
};
use crate::http::problem::Refusal;
use crate::ports::popularity::ReadLists;
use crate::service::{page, publish, subject};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

pub(super) async fn get_subject(
    State(app): State<Arc<AppState>>,
    KnownSubject(key): KnownSubject,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let build = || async {
        let page = json_page(&subject::read_subject(&app, &key).await?, vec![key.clone()])?;
        Ok(BuiltPage { reads: Some(ReadLists::default()), ..page })
    };
    read.answer(read.path(), build).await
}

pub(super) async fn list_comments(
    State(app): State<Arc<AppState>>,
    KnownSubject(key): KnownSubject,
    query: ListQuery<RootSorts>,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let asked = query.page;
    let build = || async {
        let page = json_page(&page::list_roots(&app, &key, asked).await?, vec![key.clone()])?;
        // Only a first page is one of the lists that may be pushed to the edge.
        let list = asked.cursor.is_none().then(|| ReadLists::of(asked.sort, asked.limit));
        Ok(BuiltPage { reads: Some(list.unwrap_or_default()), ..page })
    };
    read.answer(&query.page_key(read.path()), build).await
}

pub(super) async fn create_comment(
    State(app): State<Arc<AppState>>,
    KnownSubjectType(kind): KnownSubjectType,
    AuthenticatedMember(member): AuthenticatedMember,
    client: RequestClient,
    subject: AfterBody<KnownSubject>,
    idempotency: AfterBody<Option<IdempotencyHeader>>,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let KnownSubject(key) = subject?;
    let idempotency_key = idempotency?.map(|header| header.with_body(&body));
    let new = content::parse_new_comment(&body, publish::max_chars(&app, &kind)).map_err(Refusal::fields)?;
    let published = publish::publish(&app, &member, &client.address, key, new, idempotency_key).await?;
    let status = if published.held { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    let mut response = (status, Json(published.comment)).into_response();
    if published.replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}
