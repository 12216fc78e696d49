//! `/v1/guests`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use gailou_shared::content;
use gailou_shared::wire::GuestCreated;

use crate::http::extract::{AuthenticatedMember, JsonBody, RequestClient};
use crate::http::openapi::bodies::{GuestChanges, NewGuest};
use crate::http::openapi::examples;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NameRejected, PublicRefusals};
use crate::http::problem::Refusal;
use crate::service::guest;
use crate::service::standing::check_not_muted;
use crate::state::AppState;

/// Become a guest.
///
/// Only where guests are allowed. Without a name a guest may react, and not post. It takes no `Idempotency-Key`.
#[utoipa::path(
    post, path = "/v1/guests", tag = "members",
    request_body(content = NewGuest, examples(
        ("guest" = (value = json!({"name": "Bo"}))),
        ("without a name" = (value = json!({}))),
    )),
    responses(
        (
            status = 201, description = "The guest, and the token to write with.", body = GuestCreated,
            examples(("guest" = (value = json!(examples::guest())))),
        ),
        PublicRefusals, BodyRefusals, NameRejected,
    ),
)]
pub(super) async fn create_guest(
    State(app): State<Arc<AppState>>,
    client: RequestClient,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<GuestCreated>), Refusal> {
    guest::check_allowed(&app)?;
    let name = content::parse_guest_name(&body).map_err(Refusal::fields)?;
    Ok((StatusCode::CREATED, Json(guest::create(&app, client.network, name).await?)))
}

/// Choose another name as a guest.
///
/// The id stays; what was written keeps the name that it was written under.
#[utoipa::path(
    patch, path = "/v1/guests/me", tag = "members",
    request_body(content = GuestChanges, examples(
        ("name" = (value = json!({"name": "Bo"}))),
    )),
    responses(
        (
            status = 200, description = "The guest, and the token to write with from now on.", body = GuestCreated,
            examples(("guest" = (value = json!(examples::guest())))),
        ),
        MemberRefusals, BodyRefusals, NameRejected,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn rename_guest(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    client: RequestClient,
    JsonBody(body): JsonBody,
) -> Result<Json<GuestCreated>, Refusal> {
    guest::check_allowed(&app)?;
    check_not_muted(&app, &member)?;
    let name = content::parse_guest_name(&body).map_err(Refusal::fields)?;
    let name = name.ok_or_else(|| Refusal::field("name", "is missing"))?;
    Ok(Json(guest::rename(&app, &member, client.network, name).await?))
}
