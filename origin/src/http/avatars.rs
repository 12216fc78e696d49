//! `/v1/avatars/{hash}`: the picture of a member by the hash of their e-mail address.

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
    let avatar = avatar::find(&app, &hash).await;
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
    Ok((headers, Body::from(avatar.bytes)).into_response())
}
