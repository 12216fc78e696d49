//! Guests: members that this installation names and signs for.

use std::net::IpAddr;

use gailou_shared::id::MemberId;
use gailou_shared::limits;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{GuestCreated, MemberRef};

use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Whether guests are allowed here at all.
///
/// # Errors
/// [`ServiceError::GuestsNotAllowed`].
pub fn check_allowed(app: &AppState) -> ServiceResult<()> {
    if app.config.auth.guests { Ok(()) } else { Err(ServiceError::GuestsNotAllowed("guests are not allowed here")) }
}

/// Makes a guest of this name. It counts for the network that asks.
///
/// # Errors
/// [`ServiceError::RateLimited`].
pub async fn create(app: &AppState, network: Option<IpAddr>, name: String) -> ServiceResult<GuestCreated> {
    app.rate_limits.count_guest(network).await?;
    let guest = Member { id: MemberId::guest(rand::random()), name, avatar: None, level: 0, role: Role::Member };
    let expires = app.now() / 1_000 + limits::MAX_TOKEN_LIFETIME_SECONDS;
    let key = app.member_keys.guests();
    let token = key.and_then(|key| key.sign(&guest, &app.config.auth.audience, expires));
    let token = token.ok_or_else(|| ServiceError::Bug("the guests' key cannot sign".into()))?;
    Ok(GuestCreated { token, member: MemberRef { id: guest.id, name: guest.name } })
}
