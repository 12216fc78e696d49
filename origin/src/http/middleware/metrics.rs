//! How long requests take, by method, route and status.
//!
//! The label is the route (`/v1/comments/{id}`), never the path, so the number of series is bounded.
//! Pages of the hot path are counted in front of this, see [`crate::http::hot_path`].

use std::time::Duration;

use axum::extract::MatchedPath;
use axum::http::{Method, StatusCode};

use crate::telemetry::record_request;

/// Records one answered request; an event stream counts until it begins.
pub(super) fn record(method: &Method, route: Option<&MatchedPath>, status: StatusCode, duration: Duration) {
    record_request(known_method(method), route.map_or("none", MatchedPath::as_str), status.as_u16(), duration);
}

/// The method, if it is one of the contract's: a sender can make up any number of others.
pub(super) fn known_method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
