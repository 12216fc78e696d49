//! CORS: public reads are open to every site, other calls to the sites that the configuration allows.
//!
//! Whether a call is public depends on its path and its method, and a public answer has no `Vary: Origin`,
//! because every reader shares it. A subject type may allow fewer sites, for every call about its subjects
//! and their comments.
//!
//! A browser keeps the pages of other sites from reading what is not for them; a write of theirs is refused here.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use gailou_shared::id::CommentId;
use gailou_shared::wire::Code;
use percent_encoding::percent_decode_str;

use crate::http::dialect::COMPAT_PATH;
use crate::http::problem::Refusal;
use crate::service::{ServiceError, sign_in, subject};
use crate::state::AppState;

/// Any site may read.
pub(in crate::http) const ANY_SITE: HeaderValue = HeaderValue::from_static("*");
/// Headers of an answer that a script may read.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "X-Request-Id, X-Gailou-Stale, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, Date",
);
/// What the answer to a preflight allows, and for how long: two hours, the most that browsers keep.
const PREFLIGHT_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE")),
    (
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Authorization, Content-Type, Idempotency-Key, If-Match, Cache-Control, X-Request-Id, X-Gailou-Challenge",
        ),
    ),
    (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200")),
];
/// Paths whose answers depend on the member, beside those of writes.
const PERSONAL_PATHS: [&str; 4] = ["/v1/me/", "/v1/admin/", "/v1/edge/", "/write/"];
/// The header in which a browser says how the page and the server are related. A script cannot set it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Paths whose calls are sent with a cookie.
const SESSION_PATHS: &str = "/v1/auth/";
/// Paths whose every call the client sends as if there were a cookie, which there is none.
const CREDENTIALED_PATHS: &str = "/compat/isso/";
/// Paths of an operator's tools, which no page reads.
const PROBE_PATHS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Whether a page of this site may make a call that is not public, about a subject of this type. Those of signing in are for
/// sites that are named: a browser sends the cookie for every page of the same domain.
pub(super) fn may_call(app: &AppState, kind: &str, path: &str, site: &str) -> bool {
    if path.starts_with(SESSION_PATHS) {
        return sign_in::check_return_site(app, site).is_ok();
    }
    app.may_write(kind, site)
}

/// The CORS headers of the answer to this request; `may_call` says whether a site may make it where it is not public.
pub(super) fn headers(
    may_call: impl FnOnce(&str) -> bool,
    method: &Method,
    path: &str,
    request: &HeaderMap,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(origin) = request.get(header::ORIGIN) else {
        if is_public(method.as_str(), path) && *method == Method::GET {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_SITE);
        }
        return headers;
    };
    let is_preflight = *method == Method::OPTIONS;
    if path.starts_with(CREDENTIALED_PATHS) && is_public(intended_method(method, request), path) {
        // What is the same for every reader may be named for each site: a browser takes no `*` for such a call.
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    } else if is_public(intended_method(method, request), path) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_SITE);
    } else {
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        let is_allowed = origin.to_str().is_ok_and(may_call);
        if !is_allowed {
            return headers;
        }
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        if path.starts_with(SESSION_PATHS) || path.starts_with(CREDENTIALED_PATHS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    if is_preflight {
        headers.extend(PREFLIGHT_HEADERS);
    }
    headers
}

/// Whether every site may make this call.
pub(in crate::http) fn is_public(method: &str, path: &str) -> bool {
    let is_personal =
        ["/v1/guests", "/v1/me"].contains(&path) || PERSONAL_PATHS.iter().any(|prefix| path.starts_with(prefix));
    matches!(method, "GET" | "HEAD") && !is_personal && !PROBE_PATHS.contains(&path)
}

/// The method of the call; the announced one of a preflight.
fn intended_method<'a>(method: &'a Method, request: &'a HeaderMap) -> &'a str {
    let announced = request.get(header::ACCESS_CONTROL_REQUEST_METHOD).and_then(|method| method.to_str().ok());
    if *method == Method::OPTIONS { announced.unwrap_or("GET") } else { method.as_str() }
}

/// What decides about the sites of a call.
#[derive(Debug, PartialEq, Eq)]
enum CallTarget {
    /// The type in its path.
    SubjectType(String),
    /// The type of this comment's subject.
    Comment(CommentId),
    /// The installation.
    Installation,
}

fn target(path: &str) -> CallTarget {
    let path = path.strip_prefix("/v1/admin").or_else(|| path.strip_prefix("/v1")).unwrap_or(path);
    let segment = |rest: &str| {
        let encoded = rest.split('/').next().unwrap_or_default();
        percent_decode_str(encoded).decode_utf8().unwrap_or_default().into_owned()
    };
    let comment = |rest: &str| segment(rest).parse().ok().map(CallTarget::Comment);
    let kind = || path.strip_prefix("/subjects/").map(|rest| CallTarget::SubjectType(segment(rest)));
    path.strip_prefix("/comments/").and_then(comment).or_else(kind).unwrap_or(CallTarget::Installation)
}

/// The type of the subject that the call is about; empty where it is about none, or where sites do not depend
/// on it. Finding out the type of a comment counts as a read of this network, the sender's.
///
/// # Errors
/// `429`, and the store's.
pub(super) async fn subject_type(
    app: &AppState,
    network: Option<IpAddr>,
    method: &Method,
    path: &str,
    request: &HeaderMap,
) -> Result<String, Refusal> {
    let is_open = !request.contains_key(header::ORIGIN) || is_public(intended_method(method, request), path);
    if is_open || !app.config.origins_depend_on_type() {
        return Ok(String::new());
    }
    if path.starts_with(COMPAT_PATH) {
        return Ok(app.config.compat.subject_type.clone());
    }
    let id = match target(path) {
        CallTarget::SubjectType(kind) => return Ok(kind),
        CallTarget::Installation => return Ok(String::new()),
        CallTarget::Comment(id) => id,
    };
    if let Some((known, _)) = app.comment_subjects.get(&id) {
        return Ok(known.kind().to_owned());
    }
    app.rate_limits.count_read(network).await?;
    let _place = app.reads.admit().await?;
    match subject::of_comment(app, id).await {
        Ok((subject, _)) => Ok(subject.kind().to_owned()),
        Err(ServiceError::CommentNotFound) => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a write by a page of a site that may not write, and records the site; also where the browser only asks
/// whether it may. `cors` are the headers of the answer. Requests without `Origin` come from no page, and a page of this
/// server is of no other site, whatever the configuration says.
///
/// # Errors
/// `403 site_not_allowed`.
pub(super) fn refuse_site(app: &AppState, kind: &str, cors: &HeaderMap, request: &Request) -> Result<(), Refusal> {
    let (method, headers) = (request.method(), request.headers());
    let Some(site) = headers.get(header::ORIGIN) else { return Ok(()) };
    let is_read = matches!(intended_method(method, headers), "GET" | "HEAD" | "OPTIONS");
    if is_read || cors.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        return Ok(());
    }
    let site = site.to_str().unwrap_or("unreadable");
    let mut own_addresses = app.config.edge.url.iter().chain(&app.config.public_url);
    if is_own_page(site, request.uri(), headers) || own_addresses.any(|own| own == site) {
        return Ok(());
    }
    let setting = app.sites_setting(kind);
    app.refused_sites.record(site, |site| {
        tracing::warn!(
            site,
            setting,
            "Refused a page of {site}, which asked to write: setting {setting} does not name it"
        );
    });
    if *method == Method::OPTIONS {
        return Ok(());
    }
    Err(Refusal::new(Code::SiteNotAllowed, format!("{site} is none of the sites that may write here: {setting}")))
}

/// Whether the page came from the server that it writes to: its browser says so, or the site is the one that it asks.
pub(in crate::http) fn is_own_page(site: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    if headers.get(FETCH_SITE).is_some_and(|value| value == "same-origin") {
        return true;
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| uri.authority().map(Authority::as_str));
    let asked = site.split_once("://").map(|(_, authority)| authority);
    asked.zip(host).is_some_and(|(asked, host)| asked.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AllowedOrigins;

    fn answer(method: &Method, path: &str, request: &[(HeaderName, &'static str)]) -> HeaderMap {
        let request = request.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        headers(|site| AllowedOrigins::localhost().allow(site), method, path, &request.collect())
    }

    #[test]
    fn allowed_site_depends_on_method_and_path() {
        let (own, foreign) = ("http://localhost:8787", "https://evil.example");
        let check = |method: Method, path: &str, origin: Option<&'static str>, expected: Option<&str>| {
            let request: Vec<_> = origin.into_iter().map(|origin| (header::ORIGIN, origin)).collect();
            let answer = answer(&method, path, &request);
            let allowed = answer.get(header::ACCESS_CONTROL_ALLOW_ORIGIN).map(|value| value.to_str().unwrap());
            assert_eq!(allowed, expected, "{method} {path} {origin:?}");
            let is_public = allowed == Some("*") || origin.is_none();
            assert_eq!(answer.contains_key(header::VARY), !is_public, "{method} {path} {origin:?}");
        };
        let comments = "/v1/subjects/article/1/comments";
        for origin in [None, Some(own), Some(foreign)] {
            check(Method::GET, comments, origin, Some("*"));
        }
        check(Method::HEAD, comments, Some(foreign), Some("*"));
        check(Method::POST, comments, Some(own), Some(own));
        check(Method::POST, comments, Some(foreign), None);
        check(Method::POST, comments, None, None);
        for personal in
            ["/healthz", "/metrics", "/v1/me/overlay", "/v1/admin/x", "/v1/edge/changes", "/v1/guests", "/v1/me"]
        {
            check(Method::GET, personal, Some(own), Some(own));
            check(Method::GET, personal, Some(foreign), None);
            check(Method::GET, personal, None, None);
        }
    }

    #[test]
    fn path_names_what_decides_about_sites() {
        let of_type = |kind: &str| CallTarget::SubjectType(kind.into());
        let comment = |id: &str| CallTarget::Comment(id.parse().unwrap());
        for (path, expected) in [
            ("/v1/subjects/article/1/comments", of_type("article")),
            ("/v1/subjects/%61rticle/1/comments", of_type("article")),
            ("/v1/admin/subjects/video/1", of_type("video")),
            ("/v1/comments/5/like", comment("5")),
            ("/v1/comments/%35", comment("5")),
            ("/v1/admin/comments/5/decision", comment("5")),
            ("/v1/comments/x", CallTarget::Installation),
            ("/v1/guests", CallTarget::Installation),
        ] {
            assert_eq!(target(path), expected, "{path}");
        }
    }

    #[test]
    fn preflight_is_answered_for_the_announced_method() {
        let check = |announced: &'static str, origin: &'static str, expected: Option<&str>| {
            let request = [(header::ORIGIN, origin), (header::ACCESS_CONTROL_REQUEST_METHOD, announced)];
            let answer = answer(&Method::OPTIONS, "/v1/comments/1", &request);
            let allowed = answer.get(header::ACCESS_CONTROL_ALLOW_ORIGIN).map(|value| value.to_str().unwrap());
            assert_eq!(allowed, expected, "{announced} {origin}");
            assert_eq!(answer.contains_key(header::ACCESS_CONTROL_MAX_AGE), expected.is_some());
        };
        check("GET", "https://evil.example", Some("*"));
        check("PATCH", "https://evil.example", None);
        check("PATCH", "http://localhost:1", Some("http://localhost:1"));
    }

    #[test]
    fn page_of_the_server_itself_is_no_other_site() {
        let check = |site: &str, host: &'static str, fetch_site: &'static str, expected: bool| {
            let headers = [(header::HOST, host), (FETCH_SITE, fetch_site)];
            let headers = headers.into_iter().filter(|(_, value)| !value.is_empty());
            let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
            assert_eq!(
                is_own_page(site, &Uri::from_static("/v1/guests"), &headers),
                expected,
                "{site} {host} {fetch_site}"
            );
        };
        check("https://comments.example", "comments.example", "", true);
        check("http://127.0.0.1:8080", "127.0.0.1:8080", "", true);
        check("https://blog.example", "comments.example", "", false);
        check("https://comments.example:8443", "comments.example", "", false);
        check("null", "comments.example", "", false);
        check("null", "null", "", false);
        // The Worker asks by another name.
        check("https://comments.example", "origin.example", "same-origin", true);
        check("https://blog.example", "comments.example", "same-site", false);
        check("https://blog.example", "comments.example", "cross-site", false);
    }
}
