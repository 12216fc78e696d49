//! `/v1/subjects/{type}/{key}` and its comments.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gailou_shared::content::{self, NewComment};
use gailou_shared::wire::compact::CompactView as _;
use gailou_shared::wire::{Comment, Subject};

use crate::http::cached_page::{CacheableRead, json_page, list_page};
use crate::http::extract::{
    AfterBody, AuthenticatedMember, ChallengedWrite, IdempotencyHeader, JsonBody, KnownSubject, KnownSubjectType,
    ListQuery, RefusedHeader, RootSorts,
};
use crate::http::openapi::bodies::HeldComment;
use crate::http::openapi::examples;
use crate::http::openapi::list_views::CommentPageView;
use crate::http::openapi::responses::{
    BodyRefusals, Conflict, Gone, MemberRefusals, NotFound, NotModified, PublicRefusals, Unprocessable,
};
use crate::http::problem::Refusal;
use crate::ports::popularity::ReadLists;
use crate::service::{page, publish, subject};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A subject.
#[utoipa::path(
    get, path = "/v1/subjects/{type}/{key}", tag = "subjects",
    params(KnownSubject, CacheableRead),
    responses(
        (
            status = 200, description = "The subject; an empty one when it has no comments.", body = Subject,
            examples(("subject" = (summary = "A subject", value = json!(examples::subject())))),
        ),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn get_subject(
    State(app): State<Arc<AppState>>,
    KnownSubject(key): KnownSubject,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let build = || async {
        let page = json_page(&subject::read_subject(&app, &key, read.audience()).await?, vec![key.clone()])?;
        Ok(BuiltPage { reads: Some(ReadLists::default()), ..page })
    };
    read.answer(read.path(), build).await
}

/// A page of a subject's roots.
///
/// Following `page.next` to the end shows each comment that was visible in the state `page.epoch`, and stays
/// visible, exactly once.
#[utoipa::path(
    get, path = "/v1/subjects/{type}/{key}/comments", tag = "subjects",
    params(KnownSubject, ListQuery<RootSorts>, CacheableRead),
    responses(
        (
            status = 200, description = "The page.", body = inline(CommentPageView),
            examples(
                ("page" = (summary = "A root with its one reply", value = json!(examples::page()))),
                ("compact" = (summary = "The same with `view=compact`", value = json!(examples::page().compact()))),
            ),
        ),
        PublicRefusals, NotFound, NotModified, Gone,
    ),
)]
pub(super) async fn list_comments(
    State(app): State<Arc<AppState>>,
    KnownSubject(key): KnownSubject,
    query: ListQuery<RootSorts>,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let (asked, view) = (query.page, query.view);
    let build = || async {
        let roots = page::list_roots(&app, &key, asked, read.audience()).await?;
        let is_passing = roots.page.sort != asked.sort && !app.settings().values.degrade.hot_as_new;
        let page = list_page(view, &roots, vec![key.clone()])?;
        // Only a first page is one of the lists that may be pushed to the edge.
        let list = asked.cursor.is_none().then(|| ReadLists::of(asked.sort, asked.limit, view));
        Ok(BuiltPage { reads: Some(list.unwrap_or_default()), is_passing, ..page })
    };
    read.answer(&query.page_key(read.path()), build).await
}

/// Publish a comment.
#[utoipa::path(
    post, path = "/v1/subjects/{type}/{key}/comments", tag = "comments",
    params(KnownSubject, IdempotencyHeader, ChallengedWrite, RefusedHeader),
    request_body(content = NewComment, examples(
        ("root" = (value = json!({"content": "Well said."}))),
        ("reply" = (value = json!({"content": "Thank you!", "parent_id": "3159632956621393920", "mentions": ["7"]}))),
    )),
    responses(
        (
            status = 201, description = "The comment is published and can no longer be lost.", body = Comment,
            headers(("Idempotent-Replayed")),
            examples(
                ("root" = (summary = "A root", value = json!(examples::root()))),
                ("reply" = (summary = "A reply", value = json!(examples::reply()))),
            ),
        ),
        (
            status = 202, description = "The comment is held for a moderator.", body = inline(HeldComment),
            headers(("Idempotent-Replayed")),
            examples(("held" = (summary = "Held for a moderator", value = json!(examples::held())))),
        ),
        MemberRefusals, NotFound, Conflict, BodyRefusals, Unprocessable,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn create_comment(
    State(app): State<Arc<AppState>>,
    KnownSubjectType(kind): KnownSubjectType,
    AuthenticatedMember(member): AuthenticatedMember,
    ChallengedWrite(source): ChallengedWrite,
    subject: AfterBody<KnownSubject>,
    idempotency: AfterBody<Option<IdempotencyHeader>>,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let KnownSubject(key) = subject?;
    let idempotency_key = idempotency?.map(|header| header.with_body(&body));
    let new = content::parse_new_comment(&body, publish::max_chars(&app, &kind)).map_err(Refusal::fields)?;
    let published = publish::publish(&app, &member, &source, key, new, idempotency_key).await?;
    let status = if published.held { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    let mut response = (status, Json(published.comment)).into_response();
    if published.replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}
