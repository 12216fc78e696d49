//! Where a request comes from, as the middleware found out.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::http::state::HttpState;

/// The sender of a request, for limits.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct RequestClient {
    /// `None` where it is not known, and for what the edge asks for itself.
    pub(in crate::http) network: Option<IpAddr>,
    /// Whether the edge signed the request.
    pub(in crate::http) is_edge: bool,
}

impl FromRequestParts<HttpState> for RequestClient {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}
