//! `/v1/guests`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use gailou_shared::content;
use gailou_shared::wire::GuestCreated;

use crate::http::extract::{JsonBody, RequestClient};
use crate::http::problem::Refusal;
use crate::service::guest;
use crate::state::AppState;

pub(super) async fn create_guest(
    State(app): State<Arc<AppState>>,
    client: RequestClient,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<GuestCreated>), Refusal> {
    guest::check_allowed(&app)?;
    let name = content::parse_guest_name(&body).map_err(Refusal::fields)?;
    Ok((StatusCode::CREATED, Json(guest::create(&app, &client.address, name)?)))
}
