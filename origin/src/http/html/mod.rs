//! `/t/{type}/{key}`: a page of comments as HTML, readable and indexable without JavaScript: a
//! document, or with `fragment=1` what a host's server puts into a page of its own.
//!
//! Not here: the markup ([`markup`]), and any script. The page is strangers' texts, so its policy
//! lets nothing run and nothing load.

mod json_ld;
mod markup;
mod text;

use std::sync::{Arc, LazyLock};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gailou_shared::rank::Sort;
use sha2::{Digest, Sha256};

use crate::error::ApiError;
use crate::http::request::{Query, known_type, list_parts, page_key, subject};
use crate::http::send;
use crate::service::cache_tags::Showing as _;
use crate::service::{cache_tags, page};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

const HTML: &str = "text/html; charset=utf-8";

pub(super) async fn get_thread(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let key = subject(&known_type(&app, path, 1)?, path, 2)?;
    let query = Query::of(&request)?;
    let fragment = query.get("fragment") == Some("1");
    let asked = query.asked(&app, &Sort::ALL)?;
    let [sort, limit, cursor] = list_parts(&query, &asked);
    let name = page_key(path, &[("fragment", fragment.then(|| "1".to_owned())), sort, limit, cursor]);
    let page = app
        .page_cache
        .get_or_build(&name, || async {
            let page = page::roots(&app, &key, asked).await?;
            let subject = page.subject.as_ref().ok_or_else(|| ApiError::internal("a page of roots has its subject"))?;
            let body = if fragment {
                markup::fragment(subject, &page)
            } else {
                markup::document(subject, &page, asked.cursor.is_none())
            };
            let (shows, version) = (cache_tags::shows(&page), page.version());
            Ok(BuiltPage {
                body: body.into_bytes(),
                content_type: HTML,
                subjects: vec![key.clone()],
                shows,
                version,
                reads: None,
            })
        })
        .await?;
    let mut response = send(&page, request.headers());
    if fragment {
        // It has no head to say so in, and is to be found as a part of the host's page only.
        response.headers_mut().insert("x-robots-tag", HeaderValue::from_static("noindex"));
    }
    Ok(response)
}

/// What keeps a page of strangers' texts from doing anything: no script, no picture, no form, and
/// no style but its own two.
pub(super) fn headers() -> HeaderMap {
    static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
        let styles = [markup::THREAD_STYLE, markup::DOCUMENT_STYLE];
        let styles = styles.map(|style| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(style)))).concat();
        let rest = "base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
        HeaderValue::try_from(format!("default-src 'none'; style-src{styles}; {rest}")).ok()
    });
    let policy = POLICY.clone().unwrap_or(HeaderValue::from_static("default-src 'none'"));
    HeaderMap::from_iter([
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin")),
    ])
}
