//! `/v1/me/notifications`: what the reader is notified of.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use gailou_shared::content::parse_object;
use gailou_shared::id::EventId;
use gailou_shared::wire::{FieldError, NotificationPage};

use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{AuthenticatedMember, CountedRead, JsonBody, LimitedMember, PlainPageQuery, ReadMarks};
use crate::http::openapi::bodies::ReadMark;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals};
use crate::http::problem::Refusal;
use crate::service::notifications;
use crate::state::AppState;

/// What the reader is notified of.
///
/// Answers to their comments, comments that mention them, and what moderators decided about theirs, newest first. The
/// newest 1,000 are kept.
#[utoipa::path(
    get, path = "/v1/me/notifications", tag = "me",
    params(PlainPageQuery),
    responses((status = 200, description = "A page of notifications.", body = NotificationPage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(super) async fn list_notifications(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(reader): AuthenticatedMember,
    _: CountedRead,
    query: PlainPageQuery,
) -> PrivateAnswer<NotificationPage> {
    let _place = app.reads.admit().await?;
    private(notifications::list(&app, &reader, query.limit, query.cursor).await?)
}

/// Mark notifications as read.
///
/// The one that is named, and all older ones.
#[utoipa::path(
    post, path = "/v1/me/notifications/read", tag = "me",
    request_body(content = ReadMark, examples(("mark" = (value = json!({"up_to": "3157000000000000000"}))))),
    responses((status = 204, description = "They are marked."), MemberRefusals, BodyRefusals),
    security(("bearer" = [])),
)]
pub(super) async fn mark_read(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<ReadMarks>,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, Refusal> {
    let up_to = parse_up_to(&body).map_err(Refusal::fields)?;
    notifications::mark_read(&app, member.id, up_to).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn parse_up_to(body: &[u8]) -> Result<EventId, Vec<FieldError>> {
    let fields = parse_object(body)?;
    let up_to = fields.get("up_to").and_then(|value| value.as_str()?.parse().ok());
    up_to.ok_or_else(|| vec![FieldError::new("up_to", "must be the id of a notification")])
}
