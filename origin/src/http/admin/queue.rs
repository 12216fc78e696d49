//! `/v1/admin/queue`: what waits for a moderator.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use gailou_shared::content::parse_object;
use gailou_shared::cursor::Cursor;
use gailou_shared::limits;
use gailou_shared::wire::{FieldError, LeasedComments, QueuePage, ReviewKind};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::admin::{PrivateAnswer, comment_ids, private};
use crate::http::extract::{JsonBody, Moderator, ModeratorRead, QueryParameters};
use crate::http::openapi::bodies::QueueLease;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::review_queue;
use crate::state::AppState;

/// What waits for a moderator.
///
/// Only moderators may. The most urgent comes first: reports × 10 + likes + 2 × replies + the author's level; among
/// equals the one that waits longest. The list changes while it is read: begin again at the first page after a decision.
#[utoipa::path(
    get, path = "/v1/admin/queue", tag = "admin",
    params(QueueQuery),
    responses((status = 200, description = "A page of the queue.", body = QueuePage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn get_queue(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    query: QueueQuery,
) -> PrivateAnswer<QueuePage> {
    let _place = app.reads.admit().await?;
    let page = review_queue::list(&app, query.kind, query.limit, query.cursor).await?;
    private(page)
}

/// Take comments of the queue.
///
/// Only moderators may. For 60 seconds no other moderator is given them; a repetition extends that.
#[utoipa::path(
    post, path = "/v1/admin/queue/lease", tag = "admin",
    request_body(content = QueueLease, examples(
        ("lease" = (value = json!({"ids": ["3159632956621393920"]}))),
    )),
    responses(
        (status = 200, description = "Those that this moderator has now.", body = LeasedComments),
        MemberRefusals, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn lease(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    JsonBody(body): JsonBody,
) -> Result<Json<LeasedComments>, Refusal> {
    let mut errors = Vec::new();
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let ids = comment_ids(&fields, &mut errors);
    if !errors.is_empty() {
        return Err(Refusal::fields(errors));
    }
    Ok(Json(review_queue::lease(&app, &moderator, ids).await?))
}

/// The requested page of the queue.
#[derive(Debug)]
pub(in crate::http) struct QueueQuery {
    kind: Option<ReviewKind>,
    limit: usize,
    cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for QueueQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let kind = match query.get("kind") {
            None => Ok(None),
            Some("held") => Ok(Some(ReviewKind::Held)),
            Some("reported") => Ok(Some(ReviewKind::Reported)),
            Some(_) => Err(FieldError::new("kind", "must be one of held, reported")),
        };
        match (limit, kind) {
            (Ok(limit), Ok(kind)) => Ok(Self { kind, limit, cursor: query.cursor(&state.app)? }),
            (limit, kind) => Err(Refusal::fields([limit.err(), kind.err()].into_iter().flatten().collect())),
        }
    }
}

impl IntoParams for QueueQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let kinds = parameters::text().enum_values(Some(["held", "reported"]));
        vec![
            parameters::query("kind", "The part of the queue; both where it is left out.", kinds).build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ]
    }
}
