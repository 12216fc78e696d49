//! The demo page, the embed element and what they load: the files that `npm run build` makes.
//!
//! They are part of the program (a debug build reads them from `edge/web/dist` instead). Not here:
//! routes; a file is only looked up where no route matches. Promise: the headers are the ones that
//! `_headers` gives the same files behind the Worker.

mod compressed;
mod header_rules;

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gailou_shared::http_headers::matches_etag;
use gailou_shared::wire::Code;
use rust_embed::RustEmbed;

use self::header_rules::HeaderRules;
use crate::domain::content_coding::ContentCoding;
use crate::http::accept_encoding::is_accepted;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// The files of the built page by their path; there are none before `npm run build` has run.
#[derive(RustEmbed)]
#[folder = "../edge/web/dist"]
#[allow_missing = true]
struct WebFiles;

/// Bytes of the digest in an entity tag: 128 bits.
const ETAG_DIGEST_BYTES: usize = 16;
/// The files of the demo page alone.
const DEMO_FILES: [&str; 3] = ["index.html", "demo.js", "demo.css"];
/// The file that holds the header rules. It is not served.
const HEADER_RULES_FILE: &str = "_headers";

static HEADER_RULES: LazyLock<HeaderRules> = LazyLock::new(|| {
    let file = WebFiles::get(HEADER_RULES_FILE);
    HeaderRules::parse(&file.map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default())
});

/// Answers a request that no route takes: a file of the page, or the refusal that says why not.
pub(super) async fn serve(State(state): State<HttpState>, request: Request) -> Response {
    let path = request.uri().path();
    let Some(file) = find(path).filter(|file| state.app.config.demo || !DEMO_FILES.contains(&file.name.as_str()))
    else {
        return not_found(path, state.app.config.demo).into_response();
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Refusal::new(Code::MethodNotAllowed, "this address does not take this method").into_response();
    }
    respond(file, path, request.headers(), &HEADER_RULES)
}

/// A file as it is sent.
struct WebFile {
    /// Its path in the folder of the page.
    name: String,
    body: Cow<'static, [u8]>,
    content_type: &'static str,
    /// A digest of the content, in quotes.
    etag: HeaderValue,
}

fn find(path: &str) -> Option<WebFile> {
    let name = match path.strip_prefix('/')? {
        "" => "index.html",
        HEADER_RULES_FILE => return None,
        "docs" => "docs/index.html",
        name => name,
    };
    // As behind the Worker, a page is found without the end of its name.
    let page = || Some((format!("{name}.html"), WebFiles::get(&format!("{name}.html"))?));
    let (name, file) = WebFiles::get(name).map(|file| (name.to_owned(), file)).or_else(page)?;
    let digest = hex::encode(&file.metadata.sha256_hash()[..ETAG_DIGEST_BYTES]);
    let etag = HeaderValue::try_from(format!("\"{digest}\"")).ok()?;
    Some(WebFile { body: file.data, content_type: content_type(&name), etag, name })
}

fn not_found(path: &str, has_demo: bool) -> Refusal {
    let detail = if path == "/" && has_demo {
        "this program was built without the page: run `npm ci` and `npm run build`, then build it again"
    } else {
        "there is nothing at this address"
    };
    Refusal::new(Code::NotFound, detail)
}

fn respond(file: WebFile, path: &str, request: &HeaderMap, rules: &HeaderRules) -> Response {
    let if_none_match = request.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    let is_known = file.etag.to_str().is_ok_and(|etag| matches_etag(if_none_match, etag));
    let is_compressible = compressed::is_compressible(&file);
    let is_compressed = is_compressible && is_accepted(ContentCoding::Gzip, request);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if is_compressed {
        Response::new(Body::from(compressed::of(&file)))
    } else {
        Response::new(Body::from(file.body))
    };
    let headers = response.headers_mut();
    if !is_known {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
        if is_compressed {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(ContentCoding::Gzip.into()));
        }
    }
    if is_compressible {
        headers.insert(header::VARY, HeaderValue::from_name(header::ACCEPT_ENCODING));
    }
    headers.insert(header::ETAG, if is_compressed { compressed::weak(&file.etag) } else { file.etag });
    // What the Worker's platform sends for a file without a rule of its own.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=0, must-revalidate"));
    rules.apply(path, headers);
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("webp") => "image/webp",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> WebFile {
        WebFile {
            name: "index.html".into(),
            body: b"<p>"[..].into(),
            content_type: content_type("index.html"),
            etag: HeaderValue::from_static("\"1\""),
        }
    }

    fn request(if_none_match: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(if_none_match))])
    }

    #[test]
    fn file_has_type_tag_and_the_headers_of_its_rules() {
        let rules = HeaderRules::parse("/*\n  X-Content-Type-Options: nosniff\n/\n  Cache-Control: no-cache\n");
        let response = respond(page(), "/", &HeaderMap::new(), &rules);
        let value = |name: header::HeaderName| response.headers().get(name).and_then(|v| v.to_str().ok());
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(value(header::CONTENT_TYPE), Some("text/html; charset=utf-8"));
        assert_eq!(value(header::ETAG), Some("\"1\""));
        assert_eq!(value(header::X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
        assert_eq!(value(header::CACHE_CONTROL), Some("no-cache"));
    }

    #[test]
    fn known_tag_is_304() {
        let check = |tags: &'static str, status: StatusCode| {
            let response = respond(page(), "/", &request(tags), &HeaderRules::default());
            assert_eq!(response.status(), status, "{tags}");
            assert!(response.headers().contains_key(header::ETAG));
        };
        check("\"1\"", StatusCode::NOT_MODIFIED);
        check("\"0\", W/\"1\"", StatusCode::NOT_MODIFIED);
        check("\"2\"", StatusCode::OK);
        check("", StatusCode::OK);
    }

    #[test]
    fn long_text_is_sent_as_gzip_to_whom_takes_it() {
        let answer = |codings: &'static str, tags: &'static str| {
            let mut request = request(tags);
            request.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(codings));
            let file = WebFile { body: vec![b'x'; 5_000].into(), ..page() };
            let response = respond(file, "/", &request, &HeaderRules::default());
            let value = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            let (coding, tag) = (value(header::CONTENT_ENCODING), value(header::ETAG));
            assert_eq!(value(header::VARY).as_deref(), Some("accept-encoding"), "for caches in between");
            (response.status(), coding.unwrap_or_default(), tag.unwrap_or_default())
        };
        assert_eq!(answer("gzip", ""), (StatusCode::OK, "gzip".into(), "W/\"1\"".into()));
        assert_eq!(answer("br", ""), (StatusCode::OK, String::new(), "\"1\"".into()));
        assert_eq!(answer("gzip", "W/\"1\""), (StatusCode::NOT_MODIFIED, String::new(), "W/\"1\"".into()));
        let short = respond(page(), "/", &HeaderMap::new(), &HeaderRules::default());
        assert!(!short.headers().contains_key(header::VARY));
    }

    #[test]
    fn header_rules_are_not_served() {
        assert!(find("/_headers").is_none() && find("/../Cargo.toml").is_none() && find("").is_none());
    }
}
