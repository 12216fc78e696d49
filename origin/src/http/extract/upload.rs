//! A picture in a body of `multipart/form-data`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use bytes::Bytes;
use gailou_shared::limits::{MAX_ALT_CHARS, MAX_MEDIA_BYTES, MAX_UPLOAD_BYTES};
use gailou_shared::wire::Code;
use multer::{Constraints, Multipart, SizeLimit};
use tokio::sync::OwnedSemaphorePermit;

use crate::http::extract::body::declared_size;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::media::media_store;

/// How long an upload may take to arrive: 5 MiB at 90 kB/s.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How soon to upload again when too many others do.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(3);
const FILE_PART: &str = "file";
const ALT_PART: &str = "alt";

/// The parts of an upload, and its place among those in progress. Nothing is read without one.
#[derive(Debug)]
pub(in crate::http) struct PictureUpload {
    pub(in crate::http) file: Bytes,
    pub(in crate::http) alt: String,
    pub(in crate::http) place: OwnedSemaphorePermit,
}

impl FromRequest<HttpState> for PictureUpload {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &HttpState) -> Result<Self, Refusal> {
        let store = media_store(&state.app)?;
        if declared_size(request.headers()).is_some_and(|bytes| bytes > MAX_UPLOAD_BYTES as u64) {
            return Err(too_large());
        }
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let boundary = multer::parse_boundary(kind.unwrap_or_default());
        let boundary = boundary
            .map_err(|_| Refusal::new(Code::UnsupportedMediaType, "send multipart/form-data with a boundary"))?;
        let place = Arc::clone(&store.uploads).try_acquire_owned();
        let place = place.map_err(|_| {
            Refusal::temporary(Code::Overloaded, "too many pictures are uploaded at once", BUSY_RETRY_AFTER, None)
        })?;
        let limits = SizeLimit::new()
            .whole_stream(MAX_UPLOAD_BYTES as u64)
            .for_field(FILE_PART, MAX_MEDIA_BYTES as u64)
            .for_field(ALT_PART, (MAX_ALT_CHARS * 4) as u64);
        let constraints = Constraints::new().size_limit(limits).allowed_fields(vec![FILE_PART, ALT_PART]);
        let body = request.into_body().into_data_stream();
        let parts = read_parts(Multipart::with_constraints(body, boundary, constraints));
        let read = tokio::time::timeout(UPLOAD_TIMEOUT, parts).await;
        let (file, alt) = read.map_err(|_| Refusal::field("body", "did not arrive within 60 seconds"))??;
        let file = file.ok_or_else(|| Refusal::field(FILE_PART, "must be a part of the body"))?;
        Ok(Self { file, alt: alt.unwrap_or_default(), place })
    }
}

/// The file and its description.
async fn read_parts(mut body: Multipart<'_>) -> Result<(Option<Bytes>, Option<String>), Refusal> {
    let (mut file, mut alt) = (None, None);
    while let Some(part) = body.next_field().await.map_err(refusal)? {
        let is_file = part.name() == Some(FILE_PART);
        let is_repeated = if is_file { file.is_some() } else { alt.is_some() };
        if is_repeated {
            return Err(Refusal::field(if is_file { FILE_PART } else { ALT_PART }, "must be there once"));
        }
        if is_file {
            file = Some(part.bytes().await.map_err(refusal)?);
        } else {
            let text = String::from_utf8(part.bytes().await.map_err(refusal)?.into());
            let text = text.map_err(|_| Refusal::field(ALT_PART, "must be text in UTF-8"))?;
            alt = Some(text.trim().to_owned());
        }
    }
    Ok((file, alt))
}

fn refusal(error: multer::Error) -> Refusal {
    match error {
        multer::Error::FieldSizeExceeded { field_name: Some(name), .. } if name == ALT_PART => {
            Refusal::field(ALT_PART, format!("must have at most {MAX_ALT_CHARS} characters"))
        }
        multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. } => too_large(),
        multer::Error::UnknownField { .. } => Refusal::field("body", "has a part that is neither file nor alt"),
        _ => Refusal::field("body", "is not the multipart/form-data that its type says"),
    }
}

fn too_large() -> Refusal {
    Refusal::new(Code::BodyTooLarge, format!("a picture has at most {MAX_MEDIA_BYTES} bytes"))
}
