//! `/v1/comments/{id}/like` and `/dislike`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::id::CommentId;
use gailou_shared::wire::{Reaction, ReactionResult};

use crate::domain::operation::ReactionChange;
use crate::http::extract::{LimitedMember, PathId, Reactions, UnreadBody};
use crate::http::openapi::examples;
use crate::http::openapi::responses::{MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::react;
use crate::state::AppState;

/// Like a comment.
///
/// Idempotent. A member has one reaction: a dislike is replaced.
#[utoipa::path(
    put, path = "/v1/comments/{id}/like", tag = "reactions",
    params(PathId<CommentId>),
    responses(
        (
            status = 200, description = "The comment's counts after the call.", body = ReactionResult,
            examples(("like" = (value = json!(examples::reacted(11, 0, Some(Reaction::Like)))))),
        ),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn put_like(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Reactions>,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Put(Reaction::Like)).await?))
}

/// Take back a like.
///
/// Idempotent. It takes back only a like.
#[utoipa::path(
    delete, path = "/v1/comments/{id}/like", tag = "reactions",
    params(PathId<CommentId>),
    responses(
        (
            status = 200, description = "The comment's counts after the call.", body = ReactionResult,
            examples(("none" = (value = json!(examples::reacted(10, 0, None))))),
        ),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn delete_like(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Reactions>,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Take(Reaction::Like)).await?))
}

/// Dislike a comment.
///
/// Idempotent. A member has one reaction: a like is replaced.
#[utoipa::path(
    put, path = "/v1/comments/{id}/dislike", tag = "reactions",
    params(PathId<CommentId>),
    responses(
        (
            status = 200, description = "The comment's counts after the call.", body = ReactionResult,
            examples(("dislike" = (value = json!(examples::reacted(9, 1, Some(Reaction::Dislike)))))),
        ),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn put_dislike(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Reactions>,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Put(Reaction::Dislike)).await?))
}

/// Take back a dislike.
///
/// Idempotent. It takes back only a dislike.
#[utoipa::path(
    delete, path = "/v1/comments/{id}/dislike", tag = "reactions",
    params(PathId<CommentId>),
    responses(
        (
            status = 200, description = "The comment's counts after the call.", body = ReactionResult,
            examples(("none" = (value = json!(examples::reacted(10, 0, None))))),
        ),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn delete_dislike(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Reactions>,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Take(Reaction::Dislike)).await?))
}
