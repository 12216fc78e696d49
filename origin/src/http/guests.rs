//! `/v1/guests`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use gailou_shared::content;
use gailou_shared::visible_text::check_name;
use gailou_shared::wire::GuestCreated;

use crate::http::extract::{JsonBody, RequestClient};
use crate::http::openapi::bodies::NewGuest;
use crate::http::openapi::examples;
use crate::http::openapi::responses::{BodyRefusals, PublicRefusals};
use crate::http::problem::Refusal;
use crate::service::guest;
use crate::state::AppState;

/// Become a guest.
///
/// Only where guests are allowed. It takes no `Idempotency-Key`.
#[utoipa::path(
    post, path = "/v1/guests", tag = "members",
    request_body(content = NewGuest, examples(
        ("guest" = (value = json!({"name": "Bo"}))),
    )),
    responses(
        (
            status = 201, description = "The guest, and the token to write with.", body = GuestCreated,
            examples(("guest" = (value = json!(examples::guest())))),
        ),
        PublicRefusals, BodyRefusals,
    ),
)]
pub(super) async fn create_guest(
    State(app): State<Arc<AppState>>,
    client: RequestClient,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<GuestCreated>), Refusal> {
    guest::check_allowed(&app)?;
    let name = content::parse_guest_name(&body).map_err(Refusal::fields)?;
    let name = name.ok_or_else(|| Refusal::field("name", "is missing"))?;
    check_name(&name).map_err(|problem| Refusal::field("name", problem.detail()))?;
    Ok((StatusCode::CREATED, Json(guest::create(&app, client.network, name).await?)))
}
