//! `/t/{type}/{key}`: a page of comments as HTML, readable and indexable without JavaScript: a
//! document, or with `fragment=1` what a host's server puts into a page of its own.
//!
//! With `comment=ID` it is the page of one comment: its building, and its replies.
//!
//! Not here: the markup ([`markup`]), and any script. The page is strangers' texts, so its policy
//! lets nothing run and nothing load.

mod json_ld;
mod markup;
pub(super) mod text;
mod words;
pub(super) mod write_form;

use std::sync::{Arc, LazyLock};

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::page_key::page_key;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Comment, CommentPage, FieldError, Subject};
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::cached_page::CacheableRead;
use crate::http::extract::{
    AddressedSubject, KnownSubject, ListQuery, PrintedRootSorts, QueryParameters, RequestLanguage,
};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{Gone, NotFound, NotModified, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::cache_tags::Tagged as _;
use crate::service::page::PageQuery;
use crate::service::subject::SubjectAudience;
use crate::service::{ServiceError, ServiceResult, cache_tags, page, thread};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

const HTML_TYPE: &str = "text/html; charset=utf-8";

/// A page of comments as HTML.
#[utoipa::path(
    get, path = "/t/{type}/{key}", tag = "subjects",
    params(KnownSubject, Fragment, RequestLanguage, LinkedComment, ListQuery<PrintedRootSorts>, CacheableRead),
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
    AddressedSubject { name: named, subject: key }: AddressedSubject,
    Fragment(is_fragment): Fragment,
    language: RequestLanguage,
    LinkedComment(linked): LinkedComment,
    query: ListQuery<PrintedRootSorts>,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let RequestLanguage { language, is_negotiated } = language;
    let [sort, limit, cursor, _] = query.key_parameters();
    let own = [
        ("fragment", is_fragment.then(|| "1".to_owned())),
        ("lang", Some(language.name().to_owned())),
        ("comment", linked.map(|id| id.to_string())),
    ];
    let [fragment, lang, comment] = own;
    let name = page_key(read.path(), &[fragment, lang, comment, sort, limit, cursor]);
    let asked = query.page;
    let build = || async {
        let answer = match linked {
            None => (vec![], page::list_roots(&app, &key, asked, read.audience()).await?),
            Some(id) => read_linked(&app, &key, id, asked, read.audience()).await?,
        };
        let (chain, page) = &answer;
        let missing = || ServiceError::Bug("a page of comments is without its subject".into());
        // A page that has moved stays at its address, and the element knows it by that.
        let subject = Subject { key: named.key().to_owned(), ..page.subject.clone().ok_or_else(missing)? };
        let shown =
            markup::PageContent { subject: &subject, page, chain, is_first_page: asked.cursor.is_none(), language };
        let body = if is_fragment { markup::fragment(shown) } else { markup::document(shown) };
        Ok(BuiltPage {
            body: body.into_bytes(),
            content_type: HTML_TYPE,
            headers: if is_fragment { &FRAGMENT_HEADERS[..] } else { &DOCUMENT_HEADERS[..] },
            subjects: vec![key.clone()],
            cache_tags: cache_tags::cache_tags(&answer),
            version: page.version(),
            reads: None,
            is_passing: false,
        })
    };
    let mut response = read.answer(&name, build).await?;
    if is_negotiated {
        response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept-Language"));
    }
    Ok(response)
}

/// The chain of a comment of this subject, and a page of its replies, the oldest first.
async fn read_linked(
    app: &AppState,
    key: &SubjectKey,
    id: CommentId,
    asked: PageQuery,
    audience: SubjectAudience,
) -> ServiceResult<(Vec<Comment>, CommentPage)> {
    let row = thread::read_readable_row(app, id, audience).await?;
    if row.subject != *key {
        return Err(ServiceError::CommentNotFound);
    }
    let chain = thread::list_context_chain(app, &row).await?;
    let sort = if asked.cursor.is_some() { asked.sort } else { Sort::Old };
    let page = page::list_replies(app, &row, PageQuery { sort, ..asked }).await?;
    Ok((chain, page))
}

/// What keeps a page of strangers' texts from doing anything: no script, no picture, no form, and no
/// style but its own two.
static CONTENT_SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    let styles = [markup::THREAD_STYLE, markup::DOCUMENT_STYLE];
    let styles = styles.map(|style| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(style)))).concat();
    let rest = "base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
    format!("default-src 'none'; style-src{styles}; {rest}")
});

/// The same for the page with the form, which may be sent to this server.
static FORM_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(markup::DOCUMENT_STYLE));
    let rest = "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    let policy = format!("default-src 'none'; style-src 'sha256-{style}'; {rest}");
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
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

/// The comment that the page is about, if it is about one.
#[derive(Debug)]
pub(super) struct LinkedComment(Option<CommentId>);

impl FromRequestParts<HttpState> for LinkedComment {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let id = query.get("comment").map(str::parse).transpose();
        let wrong = |_| Refusal::fields(vec![FieldError::new("comment", "must be the id of a comment")]);
        Ok(Self(id.map_err(wrong)?))
    }
}

impl IntoParams for LinkedComment {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let id = parameters::text();
        vec![parameters::query("comment", "The page of this comment: its building, and its replies.", id).build()]
    }
}
