//! `If-Match` of what has a version.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// The version that a change expects, in quotes or without; `None` where any is right. Anything else is
/// `400 invalid_request` on `If-Match`.
#[derive(Debug)]
pub(in crate::http) struct IfMatch(pub(in crate::http) Option<u64>);

impl FromRequestParts<HttpState> for IfMatch {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, Refusal> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(Self(None)) };
        let version = value.to_str().ok().and_then(version);
        version.map(Self).ok_or_else(|| Refusal::field("If-Match", "must be a version, such as \"7\", or *"))
    }
}

/// The version in a header; the outer `None` for what is none.
fn version(value: &str) -> Option<Option<u64>> {
    let value = value.trim();
    if value == "*" {
        return Some(None);
    }
    let digits = value.strip_prefix('"').map_or(Some(value), |rest| rest.strip_suffix('"'))?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().ok().map(Some) } else { None }
}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let description =
            "The version that is changed, in quotes or without; after another change the answer is `409`.";
        vec![parameters::header("If-Match", description, parameters::text())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_may_be_quoted() {
        for (value, expected) in
            [("7", Some(Some(7))), ("\"7\"", Some(Some(7))), (" * ", Some(None)), ("0", Some(Some(0)))]
        {
            assert_eq!(version(value), expected, "{value}");
        }
        for wrong in ["", "\"", "\"7", "7\"", "W/\"7\"", "-1", "+1", "x", "\"\"", "99999999999999999999"] {
            assert_eq!(version(wrong), None, "{wrong}");
        }
    }
}
