//! `/v1/auth/passkeys`: the passkeys of administrators and moderators, and signing in with one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gailou_shared::content::parse_object;
use gailou_shared::id::PasskeyId;
use gailou_shared::token::shown_name;
use gailou_shared::wire::{AccessToken, FieldError, Passkey, PasskeyChallenge, PasskeyList};
use serde_json::Value;

use crate::http::auth::sessions::FromAllowedSite;
use crate::http::auth::{cookies, private_headers};
use crate::http::extract::{AuthenticatedMember, CountedRead, JsonBody, Moderator, PathId, RequestClient, UnreadBody};
use crate::http::openapi::bodies::{NewPasskey, PasskeyAnswer, PasskeyName};
use crate::http::openapi::responses::{BodyRefusals, Conflict, MemberRefusals, NotFound, PublicRefusals};
use crate::http::problem::Refusal;
use crate::service::sign_in::{Session, passkeys};
use crate::state::AppState;

/// An answer to one reader.
type PasskeyResult<T> = Result<([(HeaderName, HeaderValue); 2], Json<T>), Refusal>;

/// The passkeys of the account.
///
/// Of an account of this installation whose role is `moderator` or `admin`.
#[utoipa::path(
    get, path = "/v1/auth/passkeys", tag = "signing in",
    responses((status = 200, description = "The passkeys.", body = PasskeyList), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_passkeys(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    _: CountedRead,
) -> PasskeyResult<PasskeyList> {
    let _place = app.reads.admit().await?;
    Ok((private_headers(), Json(passkeys::list(&app, &member).await?)))
}

/// Begin to add a passkey.
///
/// The options are for `navigator.credentials.create`, in a page at `public_url`, which has a host with a name and not
/// an address of numbers.
#[utoipa::path(
    post, path = "/v1/auth/passkeys/registration", tag = "signing in",
    responses((status = 200, description = "What the browser asks for.", body = PasskeyChallenge), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn begin_registration(
    State(app): State<Arc<AppState>>,
    Moderator(member): Moderator,
    client: RequestClient,
    _: UnreadBody,
) -> PasskeyResult<PasskeyChallenge> {
    app.rate_limits.count_passkey_challenge(client.network).await?;
    let _place = app.writes.admit().await?;
    Ok((private_headers(), Json(passkeys::begin_registration(&app, &member).await?)))
}

/// Add a passkey.
///
/// `409 version_conflict` where the account has it already, or 10 of them.
#[utoipa::path(
    post, path = "/v1/auth/passkeys", tag = "signing in",
    request_body(content = NewPasskey),
    responses(
        (status = 201, description = "The passkey.", body = Passkey),
        MemberRefusals, Conflict, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn add_passkey(
    State(app): State<Arc<AppState>>,
    Moderator(member): Moderator,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let (challenge, name, credential) = new_passkey(&body).map_err(Refusal::fields)?;
    let _place = app.writes.admit().await?;
    let passkey = passkeys::finish_registration(&app, &member, &challenge, name, credential).await?;
    Ok((StatusCode::CREATED, private_headers(), Json(passkey)).into_response())
}

/// Rename a passkey.
#[utoipa::path(
    patch, path = "/v1/auth/passkeys/{id}", tag = "signing in",
    params(PathId<PasskeyId>),
    request_body(content = PasskeyName, examples(("name" = (value = json!({"name": "Phone"}))))),
    responses(
        (status = 200, description = "The passkey.", body = Passkey),
        MemberRefusals, NotFound, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn rename_passkey(
    State(app): State<Arc<AppState>>,
    Moderator(member): Moderator,
    PathId(id): PathId<PasskeyId>,
    JsonBody(body): JsonBody,
) -> PasskeyResult<Passkey> {
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let name = fields.get("name").and_then(Value::as_str).and_then(shown_name);
    let name = name.ok_or_else(|| Refusal::field("name", NAME_MUST_BE))?;
    let _place = app.writes.admit().await?;
    Ok((private_headers(), Json(passkeys::rename(&app, &member, id, &name).await?)))
}

/// Remove a passkey.
///
/// Browsers that it has signed in stay signed in.
#[utoipa::path(
    delete, path = "/v1/auth/passkeys/{id}", tag = "signing in",
    params(PathId<PasskeyId>),
    responses((status = 204, description = "The passkey is removed."), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn remove_passkey(
    State(app): State<Arc<AppState>>,
    Moderator(member): Moderator,
    _: UnreadBody,
    PathId(id): PathId<PasskeyId>,
) -> Result<StatusCode, Refusal> {
    let _place = app.writes.admit().await?;
    passkeys::remove(&app, &member, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begin to sign in with a passkey.
///
/// The options are for `navigator.credentials.get`, in a page at `public_url`.
#[utoipa::path(
    post, path = "/v1/auth/passkeys/challenge", tag = "signing in",
    responses((status = 200, description = "What the browser asks for.", body = PasskeyChallenge), PublicRefusals),
)]
pub(in crate::http) async fn begin_sign_in(
    State(app): State<Arc<AppState>>,
    _: FromAllowedSite,
    client: RequestClient,
    _: UnreadBody,
) -> PasskeyResult<PasskeyChallenge> {
    app.rate_limits.count_passkey_challenge(client.network).await?;
    let _place = app.writes.admit().await?;
    Ok((private_headers(), Json(passkeys::begin_sign_in(&app).await?)))
}

/// Sign in with a passkey.
///
/// The browser gets the cookie by which it stays signed in.
#[utoipa::path(
    post, path = "/v1/auth/passkeys/session", tag = "signing in",
    request_body(content = PasskeyAnswer),
    responses(
        (status = 200, description = "A token for 15 minutes.", body = AccessToken),
        MemberRefusals, BodyRefusals,
    ),
)]
pub(in crate::http) async fn sign_in_with_passkey(
    State(app): State<Arc<AppState>>,
    _: FromAllowedSite,
    client: RequestClient,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    app.rate_limits.count_session(client.network).await?;
    let (challenge, credential) = answer(&body).map_err(Refusal::fields)?;
    let _place = app.writes.admit().await?;
    let Session { token, expires_at, refresh_token } = passkeys::finish_sign_in(&app, &challenge, credential).await?;
    let answer = AccessToken { token, expires_at, refresh_token: None };
    let mut response = (private_headers(), Json(answer)).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookies::refresh(&app, &refresh_token));
    Ok(response)
}

const NAME_MUST_BE: &str = "must be 1 to 64 characters that can be seen";

/// The challenge, the name and the credential of a body, or every field that is wrong.
fn new_passkey(body: &[u8]) -> Result<(String, String, Value), Vec<FieldError>> {
    let name = parse_object(body)?.get("name").and_then(Value::as_str).and_then(shown_name);
    match (answer(body), name) {
        (Ok((challenge, credential)), Some(name)) => Ok((challenge, name, credential)),
        (answer, name) => {
            let name = name.is_none().then(|| FieldError::new("name", NAME_MUST_BE));
            Err(answer.err().into_iter().flatten().chain(name).collect())
        }
    }
}

/// The challenge and the credential of a body, or every field that is wrong.
fn answer(body: &[u8]) -> Result<(String, Value), Vec<FieldError>> {
    let fields = parse_object(body)?;
    let challenge = fields.get("challenge").and_then(Value::as_str).map(str::to_owned);
    let credential = fields.get("credential").filter(|credential| credential.is_object()).cloned();
    match (challenge, credential) {
        (Some(challenge), Some(credential)) => Ok((challenge, credential)),
        (challenge, credential) => {
            let challenge = challenge.is_none().then(|| FieldError::new("challenge", "must be that of the options"));
            let credential = credential
                .is_none()
                .then(|| FieldError::new("credential", "must be a public-key credential in WebAuthn's JSON"));
            Err(challenge.into_iter().chain(credential).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_field_of_a_passkey_is_named() {
        let check = |body: &str, expected: &[&str]| {
            let wrong = new_passkey(body.as_bytes()).err().unwrap_or_default();
            let names: Vec<_> = wrong.into_iter().map(|error| error.field.into_owned()).collect();
            assert_eq!(names, expected, "{body}");
        };
        check(r#"{"challenge":"x","name":" Phone ","credential":{}}"#, &[]);
        check("{}", &["challenge", "credential", "name"]);
        check(r#"{"challenge":7,"name":"\u200b","credential":[]}"#, &["challenge", "credential", "name"]);
        assert_eq!(new_passkey(br#"{"challenge":"x","name":" Phone ","credential":{}}"#).unwrap().1, "Phone");
    }
}
