//! CORS: public reads are open to every site, other calls to the sites that the configuration allows.
//!
//! Whether a call is public depends on its path and its method, and a public answer has no `Vary`,
//! because every reader shares it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::config::Config;

/// Any site may read.
pub(in crate::http) const ANY_SITE: HeaderValue = HeaderValue::from_static("*");
/// Headers of an answer that a script may read.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "X-Request-Id, X-Gailou-Stale, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed",
);
/// What the answer to a preflight allows, and for how long: two hours, the most that browsers keep.
const PREFLIGHT_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE")),
    (
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Authorization, Content-Type, Idempotency-Key, Cache-Control, X-Request-Id"),
    ),
    (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200")),
];
/// Paths whose answers depend on the member, beside those of writes.
const PERSONAL_PATHS: [&str; 3] = ["/v1/me/", "/v1/admin/", "/v1/edge/"];

/// The CORS headers of the answer to this request.
pub(super) fn headers(config: &Config, method: &Method, path: &str, request: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(origin) = request.get(header::ORIGIN) else {
        if is_public(method.as_str(), path) && *method == Method::GET {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_SITE);
        }
        return headers;
    };
    let is_preflight = *method == Method::OPTIONS;
    let announced = request.get(header::ACCESS_CONTROL_REQUEST_METHOD).and_then(|method| method.to_str().ok());
    let meant = if is_preflight { announced.unwrap_or("GET") } else { method.as_str() };
    if is_public(meant, path) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_SITE);
    } else {
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        let is_allowed = origin.to_str().is_ok_and(|origin| config.origins(subject_type(path)).allow(origin));
        if !is_allowed {
            return headers;
        }
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    if is_preflight {
        headers.extend(PREFLIGHT_HEADERS);
    }
    headers
}

/// Whether every site may make this call.
pub(in crate::http) fn is_public(method: &str, path: &str) -> bool {
    let is_personal = path == "/v1/guests" || PERSONAL_PATHS.iter().any(|prefix| path.starts_with(prefix));
    matches!(method, "GET" | "HEAD") && !is_personal
}

/// The type in the path of a call about a subject, which may allow fewer sites; empty elsewhere.
fn subject_type(path: &str) -> &str {
    path.strip_prefix("/v1/subjects/").and_then(|rest| rest.split('/').next()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(method: &Method, path: &str, request: &[(HeaderName, &'static str)]) -> HeaderMap {
        let request = request.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        headers(&Config::default(), method, path, &request.collect())
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
        for personal in ["/v1/me/overlay", "/v1/admin/x", "/v1/edge/changes", "/v1/guests"] {
            check(Method::GET, personal, Some(own), Some(own));
            check(Method::GET, personal, Some(foreign), None);
            check(Method::GET, personal, None, None);
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
}
