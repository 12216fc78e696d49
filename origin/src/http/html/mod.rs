//! `/t/{type}/{key}`: a page of comments as HTML, readable and indexable without JavaScript: a
//! document, or with `fragment=1` what a host's server puts into a page of its own.
//!
//! Not here: the markup ([`markup`]), and any script. The page is strangers' texts, so its policy
//! lets nothing run and nothing load.

mod json_ld;
mod markup;
pub(super) mod text;

use std::sync::{Arc, LazyLock};

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gailou_shared::page_key::page_key;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::cached_page::CacheableRead;
use crate::http::extract::{KnownSubject, ListQuery, QueryParameters, RootSorts};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{Gone, NotFound, NotModified, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::cache_tags::Tagged as _;
use crate::service::{ServiceError, cache_tags, page};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

const HTML_TYPE: &str = "text/html; charset=utf-8";

/// A page of comments as HTML.
#[utoipa::path(
    get, path = "/t/{type}/{key}", tag = "subjects",
    params(KnownSubject, Fragment, ListQuery<RootSorts>, CacheableRead),
    responses(
        (
            status = 200, description = "The page, readable without JavaScript.", body = String, content_type = "text/html",
            headers(("Content-Security-Policy" = String, description = "Allows no script, and only the page's own styles.")),
        ),
        PublicRefusals, NotFound, NotModified, Gone,
    ),
)]
pub(super) async fn get_html(
    State(app): State<Arc<AppState>>,
    KnownSubject(key): KnownSubject,
    Fragment(is_fragment): Fragment,
    query: ListQuery<RootSorts>,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let [sort, limit, cursor] = query.key_parameters();
    let name = page_key(read.path(), &[("fragment", is_fragment.then(|| "1".to_owned())), sort, limit, cursor]);
    let asked = query.page;
    let build = || async {
        let page = page::list_roots(&app, &key, asked, read.audience()).await?;
        let missing = || ServiceError::Bug("a page of roots is without its subject".into());
        let subject = page.subject.as_ref().ok_or_else(missing)?;
        let body = if is_fragment {
            markup::fragment(subject, &page)
        } else {
            markup::document(subject, &page, asked.cursor.is_none())
        };
        Ok(BuiltPage {
            body: body.into_bytes(),
            content_type: HTML_TYPE,
            headers: if is_fragment { &FRAGMENT_HEADERS[..] } else { &DOCUMENT_HEADERS[..] },
            subjects: vec![key.clone()],
            cache_tags: cache_tags::cache_tags(&page),
            version: page.version(),
            reads: None,
            is_passing: false,
        })
    };
    read.answer(&name, build).await
}

/// What keeps a page of strangers' texts from doing anything: no script, no picture, no form, and no
/// style but its own two.
static CONTENT_SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    let styles = [markup::THREAD_STYLE, markup::DOCUMENT_STYLE];
    let styles = styles.map(|style| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(style)))).concat();
    let rest = "base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
    format!("default-src 'none'; style-src{styles}; {rest}")
});

static DOCUMENT_HEADERS: LazyLock<[(&str, &str); 3]> = LazyLock::new(|| {
    [
        ("content-security-policy", &**CONTENT_SECURITY_POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "strict-origin-when-cross-origin"),
    ]
});

/// A fragment has no head for `noindex`. Search engines find it as a part of the host's page only.
static FRAGMENT_HEADERS: LazyLock<[(&str, &str); 4]> = LazyLock::new(|| {
    let [policy, sniffing, referrer] = *DOCUMENT_HEADERS;
    [policy, sniffing, referrer, ("x-robots-tag", "noindex")]
});

/// Whether the request is for the comments without the document around them.
#[derive(Debug)]
pub(super) struct Fragment(bool);

impl FromRequestParts<HttpState> for Fragment {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        Ok(Self(query.get("fragment") == Some("1")))
    }
}

impl IntoParams for Fragment {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let flag = parameters::text().enum_values(Some(["0", "1"])).default(Some("0".into()));
        vec![parameters::query("fragment", "`1`: without the document around the comments.", flag).build()]
    }
}
