//! `/v1/media`: uploads of pictures, and their files.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gailou_shared::wire::Media;

use crate::domain::media::MediaName;
use crate::http::cached_page::CDN_CACHE_CONTROL;
use crate::http::extract::{CountedRead, LimitedMember, PictureUpload, RequestClient, Uploads};
use crate::http::openapi::bodies::{PictureFile, UploadForm};
use crate::http::openapi::examples;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NotFound, PublicRefusals, Unprocessable};
use crate::http::problem::Refusal;
use crate::service::media;
use crate::state::AppState;

/// A file never changes under its name; a week after it is deleted no cache has it.
const FILE_CACHING: HeaderValue = HeaderValue::from_static("public, max-age=604800, immutable");
/// A picture runs nothing, wherever it is opened.
pub(super) const FILE_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");
/// A page of another site may show a picture, as it may read comments.
pub(super) const FILE_READERS: HeaderValue = HeaderValue::from_static("cross-origin");

/// Upload a picture.
///
/// A JPEG, PNG, GIF (its first frame) or WebP of at most 5 MiB and 24 million pixels. It is encoded again, so nothing of
/// the file is kept but its pixels. One that no comment uses is deleted after a day.
#[utoipa::path(
    post, path = "/v1/media", tag = "media",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses(
        (
            status = 201, description = "The picture, for `media` of a new comment.", body = Media,
            examples(("picture" = (summary = "A photograph", value = json!(examples::media())))),
        ),
        MemberRefusals, NotFound, BodyRefusals, Unprocessable,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn upload_media(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Uploads>,
    client: RequestClient,
    PictureUpload { file, alt, place: _place }: PictureUpload,
) -> Result<(StatusCode, Json<Media>), Refusal> {
    let media = media::upload(&app, &member, client.network, file, alt).await?;
    Ok((StatusCode::CREATED, Json(media)))
}

/// The file of a picture.
#[utoipa::path(
    get, path = "/v1/media/{name}", tag = "media",
    params(("name" = String, Path, description = "The end of a picture's `url`.")),
    responses(
        (
            status = 200, description = "The file. It never changes.",
            content((PictureFile = "image/jpeg"), (PictureFile = "image/png")),
        ),
        PublicRefusals, NotFound,
    ),
)]
pub(super) async fn get_media(
    State(app): State<Arc<AppState>>,
    Path(name): Path<String>,
    _: CountedRead,
) -> Result<Response, Refusal> {
    let name = MediaName::parse(&name).ok_or_else(|| Refusal::field("name", "is no name of a picture"))?;
    let file = media::read(&app, &name).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(name.format().content_type())),
        (header::CONTENT_LENGTH, HeaderValue::from(file.size)),
        (header::CACHE_CONTROL, FILE_CACHING),
        (CDN_CACHE_CONTROL, FILE_CACHING),
        (header::CONTENT_SECURITY_POLICY, FILE_POLICY),
        (header::HeaderName::from_static("cross-origin-resource-policy"), FILE_READERS),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("inline")),
    ];
    Ok((headers, Body::from_stream(file.parts)).into_response())
}
