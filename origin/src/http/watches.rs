//! `/v1/subjects/{type}/{key}/watch` and `/v1/me/watches`: the threads of whose new comments a reader is notified.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use gailou_shared::wire::{WatchPage, WatchState};

use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{
    AuthenticatedMember, CountedRead, KnownSubject, KnownSubjectType, LimitedMember, PlainPageQuery, UnreadBody,
    WatchChanges,
};
use crate::http::openapi::responses::{Conflict, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::watch;
use crate::state::AppState;

/// Whether the reader watches a subject.
#[utoipa::path(
    get, path = "/v1/subjects/{type}/{key}/watch", tag = "me",
    params(KnownSubject),
    responses((status = 200, description = "Whether they do.", body = WatchState), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(super) async fn get_watch(
    State(app): State<Arc<AppState>>,
    KnownSubjectType(_): KnownSubjectType,
    AuthenticatedMember(reader): AuthenticatedMember,
    KnownSubject(key): KnownSubject,
    _: CountedRead,
) -> PrivateAnswer<WatchState> {
    private(WatchState { watching: watch::is_watching(&app, reader.id, &key).await? })
}

/// Watch a subject.
///
/// The reader is notified of its new comments: of the first one, and of the next one after they have read that. Doing it
/// again changes nothing.
#[utoipa::path(
    put, path = "/v1/subjects/{type}/{key}/watch", tag = "me",
    params(KnownSubject),
    responses((status = 204, description = "The reader watches it."), MemberRefusals, NotFound, Conflict),
    security(("bearer" = [])),
)]
pub(super) async fn put_watch(
    State(app): State<Arc<AppState>>,
    KnownSubjectType(_): KnownSubjectType,
    LimitedMember { member, .. }: LimitedMember<WatchChanges>,
    _: UnreadBody,
    KnownSubject(key): KnownSubject,
) -> Result<StatusCode, Refusal> {
    watch::watch(&app, member.id, key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Do not watch a subject any more.
#[utoipa::path(
    delete, path = "/v1/subjects/{type}/{key}/watch", tag = "me",
    params(KnownSubject),
    responses((status = 204, description = "The reader does not watch it."), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(super) async fn delete_watch(
    State(app): State<Arc<AppState>>,
    KnownSubjectType(_): KnownSubjectType,
    LimitedMember { member, .. }: LimitedMember<WatchChanges>,
    _: UnreadBody,
    KnownSubject(key): KnownSubject,
) -> Result<StatusCode, Refusal> {
    watch::unwatch(&app, member.id, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What the reader watches.
///
/// The latest first; at most 1,000.
#[utoipa::path(
    get, path = "/v1/me/watches", tag = "me",
    params(PlainPageQuery),
    responses((status = 200, description = "A page of subjects.", body = WatchPage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(super) async fn list_watches(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(reader): AuthenticatedMember,
    _: CountedRead,
    query: PlainPageQuery,
) -> PrivateAnswer<WatchPage> {
    private(watch::list(&app, &reader, query.limit, query.cursor).await?)
}
