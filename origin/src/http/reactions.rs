//! `/v1/comments/{id}/like` and `/dislike`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::id::CommentId;
use gailou_shared::wire::{Reaction, ReactionResult};

use crate::domain::operation::ReactionChange;
use crate::http::extract::{AuthenticatedMember, PathId, UnreadBody};
use crate::http::problem::Refusal;
use crate::service::react;
use crate::state::AppState;

pub(super) async fn put_like(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Put(Reaction::Like)).await?))
}

pub(super) async fn delete_like(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Take(Reaction::Like)).await?))
}

pub(super) async fn put_dislike(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Put(Reaction::Dislike)).await?))
}

pub(super) async fn delete_dislike(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<ReactionResult>, Refusal> {
    Ok(Json(react::react(&app, &member, id, ReactionChange::Take(Reaction::Dislike)).await?))
}
