//! The files of the page as gzip, for browsers that take it. Each is compressed when it is first asked for, and kept.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::HeaderValue;
use flate2::Compression;
use gailou_shared::http_headers::MIN_COMPRESSED_BYTES;
use moka::sync::Cache;

use super::WebFile;
use crate::domain::content_coding::gzip;

/// Files that are kept: more than the page has.
const MAX_KEPT_FILES: u64 = 500;

static COMPRESSED_FILES: LazyLock<Cache<HeaderValue, Bytes>> = LazyLock::new(|| Cache::new(MAX_KEPT_FILES));

/// Whether a file is text that is long enough.
pub(super) fn is_compressible(file: &WebFile) -> bool {
    let kind = file.content_type;
    let is_text = kind.starts_with("text/") || kind == "application/json" || kind == "image/svg+xml";
    is_text && file.body.len() >= MIN_COMPRESSED_BYTES
}

/// The file as gzip.
pub(super) fn of(file: &WebFile) -> Bytes {
    COMPRESSED_FILES.get_with(file.etag.clone(), || {
        // Memory takes everything that is written to it.
        gzip(&file.body, Compression::best()).unwrap_or_default().into()
    })
}

/// The tag of the same file in another coding: a weak one.
pub(super) fn weak(etag: &HeaderValue) -> HeaderValue {
    let weak = [b"W/", etag.as_bytes()].concat();
    HeaderValue::from_bytes(&weak).unwrap_or_else(|_| etag.clone())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    fn script(bytes: usize) -> WebFile {
        WebFile {
            name: "gailou.js".into(),
            body: vec![b'x'; bytes].into(),
            content_type: "text/javascript; charset=utf-8",
            etag: HeaderValue::try_from(format!("\"{bytes}\"")).expect("a tag"),
        }
    }

    #[test]
    fn text_is_compressed_where_that_is_shorter_and_says_the_same() {
        assert!(is_compressible(&script(MIN_COMPRESSED_BYTES)) && !is_compressible(&script(MIN_COMPRESSED_BYTES - 1)));
        assert!(!is_compressible(&WebFile { content_type: "image/png", ..script(MIN_COMPRESSED_BYTES) }));
        let file = script(40_000);
        let gzip = of(&file);
        assert!(gzip.len() < 400, "{}", gzip.len());
        let mut text = Vec::new();
        GzDecoder::new(&*gzip).read_to_end(&mut text).expect("it is gzip");
        assert_eq!(text, &*file.body);
        assert_eq!(weak(&file.etag), "W/\"40000\"");
    }
}
