//! `/v1/auth/refresh` and `/v1/auth/session`: staying signed in, and signing out.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gailou_shared::content::parse_object;
use gailou_shared::wire::AccessToken;
use serde_json::Value;

use crate::http::auth::{cookies, private_headers};
use crate::http::extract::{JsonBody, RequestClient, read_body};
use crate::http::openapi::bodies::{RefreshRequest, SignInCode};
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::ServiceError;
use crate::service::sign_in;
use crate::service::sign_in::Session;
use crate::state::AppState;

/// A request of a site that is named as one that may write, of the installation's own pages, or of no page, and the site: a
/// browser sends the cookie for any page, also one that would like to sign a reader out, or to have the token. `*` names
/// none.
#[derive(Debug)]
pub(in crate::http) struct FromAllowedSite(Option<String>);

impl FromRequestParts<HttpState> for FromAllowedSite {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let Some(site) = parts.headers.get(header::ORIGIN) else { return Ok(Self(None)) };
        let site = site.to_str().unwrap_or_default();
        sign_in::check_return_site(&state.app, site)?;
        Ok(Self(Some(site.to_owned())))
    }
}

/// Where a client keeps its refresh token.
enum RefreshSource {
    Cookie(String),
    Body(String),
}

/// The refresh token of a request: of its body, where there is one, else of its cookie.
fn source(headers: &HeaderMap, body: &Bytes) -> Result<Option<RefreshSource>, Refusal> {
    if !body.is_empty() {
        let fields = parse_object(body).map_err(Refusal::fields)?;
        match fields.get("refresh_token") {
            None | Some(Value::Null) => {}
            Some(Value::String(token)) => return Ok(Some(RefreshSource::Body(token.clone()))),
            Some(_) => return Err(Refusal::field("refresh_token", "must be text")),
        }
    }
    Ok(cookies::read(headers, cookies::REFRESH_COOKIE).map(|token| RefreshSource::Cookie(token.to_owned())))
}

async fn read_source(headers: &HeaderMap, body: axum::body::Body) -> Result<Option<RefreshSource>, Refusal> {
    let body = read_body(body, gailou_shared::limits::MAX_BODY_BYTES).await?;
    source(headers, &body)
}

/// Get another token.
///
/// By the cookie `gailou_refresh`, or by `refresh_token` in the body, which is answered with the next one. Each works
/// once; one that is used again ends what it belongs to, and its reader signs in again.
#[utoipa::path(
    post, path = "/v1/auth/refresh", tag = "signing in",
    request_body(content = Option<RefreshRequest>),
    responses(
        (status = 200, description = "A token for 15 minutes.", body = AccessToken),
        MemberRefusals, BodyRefusals,
    ),
)]
pub(in crate::http) async fn refresh_token(
    State(app): State<Arc<AppState>>,
    _: FromAllowedSite,
    client: RequestClient,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Result<Response, Refusal> {
    app.rate_limits.count_session(client.network).await?;
    let source = read_source(&headers, body).await?.ok_or(ServiceError::SignInAgain)?;
    let (RefreshSource::Cookie(text) | RefreshSource::Body(text)) = &source;
    let Session { token, expires_at, refresh_token } = sign_in::refresh(&app, text).await?;
    let mut answer = AccessToken { token, expires_at, refresh_token: None };
    if let RefreshSource::Body(_) = source {
        answer.refresh_token = Some(refresh_token);
        return Ok((private_headers(), Json(answer)).into_response());
    }
    let mut response = (private_headers(), Json(answer)).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookies::refresh(&app, &refresh_token));
    Ok(response)
}

/// Begin a session.
///
/// By the code that a window of signing in hands to the page, or that is in the address of the page: it works once, for
/// two minutes. The cookie `gailou_refresh` is for the site of the page.
#[utoipa::path(
    post, path = "/v1/auth/session", tag = "signing in",
    request_body(content = SignInCode, examples(("code" = (value = json!({"code": "5f1d"}))))),
    responses(
        (status = 200, description = "A token for 15 minutes.", body = AccessToken),
        MemberRefusals, BodyRefusals,
    ),
)]
pub(in crate::http) async fn begin_session(
    State(app): State<Arc<AppState>>,
    FromAllowedSite(site): FromAllowedSite,
    client: RequestClient,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    app.rate_limits.count_session(client.network).await?;
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let code = fields.get("code").and_then(Value::as_str).ok_or_else(|| Refusal::field("code", "must be text"))?;
    let Session { token, expires_at, refresh_token } = sign_in::exchange_code(&app, code, site.as_deref()).await?;
    let answer = AccessToken { token, expires_at, refresh_token: None };
    let mut response = (private_headers(), Json(answer)).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookies::refresh(&app, &refresh_token));
    Ok(response)
}

/// Sign out.
///
/// Here, not elsewhere. The token to write with lives on for its minutes.
#[utoipa::path(
    delete, path = "/v1/auth/session", tag = "signing in",
    request_body(content = Option<RefreshRequest>),
    responses((status = 204, description = "Signed out, or was not signed in."), PublicRefusals, BodyRefusals),
)]
pub(in crate::http) async fn end_session(
    State(app): State<Arc<AppState>>,
    _: FromAllowedSite,
    client: RequestClient,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Result<Response, Refusal> {
    app.rate_limits.count_session(client.network).await?;
    if let Some(RefreshSource::Cookie(text) | RefreshSource::Body(text)) = read_source(&headers, body).await? {
        sign_in::end(&app, &text).await?;
    }
    let mut response = (StatusCode::NO_CONTENT, private_headers()).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookies::no_refresh(&app));
    Ok(response)
}
