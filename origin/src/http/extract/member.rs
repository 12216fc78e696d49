//! Who sends a request: the member of its token.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use gailou_shared::http_headers::bearer_token;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::Code;

use crate::http::extract::client::RequestClient;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::standing::check_not_muted;
use crate::state::AppState;
use crate::state::rate_limits::WriteKind;

/// The member of the bearer token, with the level and the role that moderators gave them; else `401 token_missing` or
/// `401 token_invalid`.
#[derive(Debug)]
pub(in crate::http) struct AuthenticatedMember(pub(in crate::http) Member);

impl FromRequestParts<HttpState> for AuthenticatedMember {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let Some(value) = parts.headers.get(header::AUTHORIZATION) else {
            return Err(Refusal::new(Code::TokenMissing, "send a token: Authorization: Bearer …"));
        };
        let Some(token) = value.to_str().ok().and_then(bearer_token) else {
            return Err(Refusal::new(Code::TokenInvalid, "the Authorization header is no bearer token"));
        };
        verified_member(&state.app, token).map(Self)
    }
}

/// The member of a token, as [`AuthenticatedMember`].
///
/// # Errors
/// `401 token_invalid`.
pub(in crate::http) fn verified_member(app: &AppState, token: &str) -> Result<Member, Refusal> {
    let verified = app.verified_tokens.verify(&app.member_keys, token, app.now() / 1_000);
    let verified = verified.map_err(|error| Refusal::new(Code::TokenInvalid, error.to_string()))?;
    if app.erased_members.contains(verified.member.id) {
        return Err(Refusal::new(Code::TokenInvalid, "this member is erased"));
    }
    if app.erased_members.heir_of(verified.member.id).is_some() {
        return Err(Refusal::new(Code::TokenInvalid, "this guest has become a member; sign in as the member"));
    }
    if let Some(email) = &verified.email {
        app.claimed_addresses.record(&app.tables, verified.member.id, email);
    }
    let member = app.accept_token(verified);
    member.ok_or_else(|| Refusal::new(Code::TokenInvalid, "older tokens are refused; sign in again"))
}

/// A member that is a moderator or an admin, else also `403 forbidden` or `403 muted`; the decision is counted.
#[derive(Debug)]
pub(in crate::http) struct Moderator(pub(in crate::http) Member);

impl FromRequestParts<HttpState> for Moderator {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let member = with_role(parts, state, Role::Moderator).await?;
        check_not_muted(&state.app, &member)?;
        let Ok(client) = RequestClient::from_request_parts(parts, state).await;
        state.app.rate_limits.count_write(WriteKind::Decision, member.id, client.network).await?;
        state.app.taken_names.record(&state.app.journal, &member);
        Ok(Self(member))
    }
}

/// A moderator or an admin who reads, else also `403 forbidden`; the read is counted for its network.
#[derive(Debug)]
pub(in crate::http) struct ModeratorRead;

impl FromRequestParts<HttpState> for ModeratorRead {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        with_role(parts, state, Role::Moderator).await?;
        let Ok(client) = RequestClient::from_request_parts(parts, state).await;
        state.app.rate_limits.count_read(client.network).await?;
        Ok(Self)
    }
}

/// An admin, else also `403 forbidden`; the decision is counted.
#[derive(Debug)]
pub(in crate::http) struct Admin(pub(in crate::http) Member);

impl FromRequestParts<HttpState> for Admin {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        with_role(parts, state, Role::Admin).await?;
        let Moderator(member) = Moderator::from_request_parts(parts, state).await?;
        Ok(Self(member))
    }
}

/// An admin who reads, else also `403 forbidden`; the read is counted for its network.
#[derive(Debug)]
pub(in crate::http) struct AdminRead;

impl FromRequestParts<HttpState> for AdminRead {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        with_role(parts, state, Role::Admin).await?;
        ModeratorRead::from_request_parts(parts, state).await?;
        Ok(Self)
    }
}

/// The member of the token, who has this role at least.
async fn with_role(parts: &mut Parts, state: &HttpState, role: Role) -> Result<Member, Refusal> {
    let AuthenticatedMember(member) = AuthenticatedMember::from_request_parts(parts, state).await?;
    if member.role < role {
        return Err(Refusal::new(Code::Forbidden, "your role does not allow this"));
    }
    Ok(member)
}
