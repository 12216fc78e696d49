//! `/v1/guests`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use gailou_shared::id::MemberId;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Code, GuestCreated, MemberRef};
use gailou_shared::{content, limits};

use crate::error::ApiError;
use crate::http::request::{address, json_body};
use crate::state::AppState;

pub(super) async fn create_guest(
    State(app): State<Arc<AppState>>,
    request: Request,
) -> Result<(StatusCode, Json<GuestCreated>), ApiError> {
    let address = address(&request);
    let body = json_body(request).await?;
    if !app.config.auth.guests {
        return Err(ApiError::new(Code::GuestsNotAllowed, "guests are not allowed here"));
    }
    let name = content::parse_guest_name(&body).map_err(ApiError::fields)?;
    app.rate_limits.guest(&address)?;
    let guest = Member { id: MemberId::guest(rand::random()), name, avatar: None, level: 0, role: Role::Member };
    let expires = app.now() / 1_000 + limits::MAX_TOKEN_LIFETIME_SECONDS;
    let token = app.guest_key.sign(&guest, &app.config.auth.audience, expires);
    let token = token.ok_or_else(|| ApiError::internal("the guests' key cannot sign"))?;
    Ok((StatusCode::CREATED, Json(GuestCreated { token, member: MemberRef { id: guest.id, name: guest.name } })))
}
