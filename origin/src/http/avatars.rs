//! `/v1/avatars/{hash}`: the picture of a member by the hash of their e-mail address; and
//! `/v1/avatars/{signature}/{address}`: one that a host site names.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::domain::avatar::AvatarHash;
use crate::http::cached_page::CDN_CACHE_CONTROL;
use crate::http::extract::CountedRead;
use crate::http::media::{FILE_POLICY, FILE_READERS};
use crate::http::openapi::bodies::PictureFile;
use crate::http::openapi::responses::PublicRefusals;
use crate::http::problem::Refusal;
use crate::service::avatar;
use crate::state::AppState;
use crate::state::avatars::Avatar;

/// The picture of a member by the hash of their e-mail address.
///
/// The server gets it from the service of `avatars.url`, so that no reader does, and encodes it again: 160 × 160 pixels.
/// Where there is none, it is a drawing that the hash decides.
#[utoipa::path(
    get, path = "/v1/avatars/{hash}", tag = "members",
    params(("hash" = String, Path, description = "The SHA-256 (64 digits) or the MD5 (32 digits) of the address, in lower case.")),
    responses(
        (
            status = 200, description = "The picture; `Cache-Control` says for how long.",
            content((PictureFile = "image/jpeg"), (PictureFile = "image/png"), (PictureFile = "image/svg+xml")),
        ),
        PublicRefusals,
    ),
)]
pub(super) async fn get_avatar(
    State(app): State<Arc<AppState>>,
    Path(hash): Path<String>,
    _: CountedRead,
) -> Result<Response, Refusal> {
    let hash = AvatarHash::parse(&hash)
        .ok_or_else(|| Refusal::field("hash", "must be 32 or 64 lower-case hexadecimal digits"))?;
    Ok(answer(avatar::find(&app, &hash).await))
}

/// A picture that a host site names.
///
/// The addresses are those of `avatar` in answers. The server gets the file from where the site has it, so that no reader
/// does, and encodes it again: 160 × 160 pixels. Where there is none, it is a drawing.
#[utoipa::path(
    get, path = "/v1/avatars/{signature}/{address}", tag = "members",
    params(
        ("signature" = String, Path, description = "What proves that this installation has named the address."),
        ("address" = String, Path, description = "The address, in base64url."),
    ),
    responses(
        (
            status = 200, description = "The picture; `Cache-Control` says for how long.",
            content((PictureFile = "image/jpeg"), (PictureFile = "image/png"), (PictureFile = "image/svg+xml")),
        ),
        PublicRefusals,
    ),
)]
pub(super) async fn get_named_avatar(
    State(app): State<Arc<AppState>>,
    Path((signature, address)): Path<(String, String)>,
    _: CountedRead,
) -> Result<Response, Refusal> {
    let named = app.avatars.addresses.named(&signature, &address);
    let named = named.ok_or_else(|| Refusal::field("signature", "must be the one of this address in an answer"))?;
    Ok(answer(avatar::find_named(&app, &named).await))
}

fn answer(avatar: Avatar) -> Response {
    let caching = HeaderValue::try_from(format!("public, max-age={}", avatar.fresh_for.as_secs()));
    let caching = caching.unwrap_or(HeaderValue::from_static("no-store"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(avatar.content_type)),
        (header::CACHE_CONTROL, caching.clone()),
        (CDN_CACHE_CONTROL, caching),
        (header::CONTENT_SECURITY_POLICY, FILE_POLICY),
        (HeaderName::from_static("cross-origin-resource-policy"), FILE_READERS),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("inline")),
    ];
    (headers, Body::from(avatar.bytes)).into_response()
}
