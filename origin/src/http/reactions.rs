//! `/v1/comments/{id}/like` and `/dislike`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use gailou_shared::id::CommentId;
use gailou_shared::token::Member;
use gailou_shared::wire::{Reaction, ReactionResult};

use crate::domain::operation::ReactionChange;
use crate::error::ApiError;
use crate::http::request::member_and_comment;
use crate::service::change;
use crate::state::AppState;

type Answer = Result<Json<ReactionResult>, ApiError>;

async fn react(app: &AppState, asked: Result<(Member, CommentId), ApiError>, react: ReactionChange) -> Answer {
    let (member, id) = asked?;
    Ok(Json(change::react(app, &member, id, react).await?))
}

pub(super) async fn like(State(app): State<Arc<AppState>>, request: Request) -> Answer {
    react(&app, member_and_comment(&app, &request), ReactionChange::Put(Reaction::Like)).await
}

pub(super) async fn take_like(State(app): State<Arc<AppState>>, request: Request) -> Answer {
    react(&app, member_and_comment(&app, &request), ReactionChange::Take(Reaction::Like)).await
}

pub(super) async fn dislike(State(app): State<Arc<AppState>>, request: Request) -> Answer {
    react(&app, member_and_comment(&app, &request), ReactionChange::Put(Reaction::Dislike)).await
}

pub(super) async fn take_dislike(State(app): State<Arc<AppState>>, request: Request) -> Answer {
    react(&app, member_and_comment(&app, &request), ReactionChange::Take(Reaction::Dislike)).await
}
