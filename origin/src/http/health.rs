//! Whether the origin is alive, whether it can work, what it measures, and what it offers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use crate::http::cached_page::JSON_TYPE;
use crate::http::dependency_outages::DependencyOutages;
use crate::state::AppState;

pub(super) async fn get_health() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(json!({"status": "ok"})))
}

/// Ready while the tables answer, or some of them. Any other dependency that fails makes the origin
/// slower or its answers older; it is named.
pub(super) async fn get_readiness(
    State(app): State<Arc<AppState>>,
    State(outages): State<Arc<DependencyOutages>>,
) -> impl IntoResponse {
    let found = app.dependencies.check_dependencies().await;
    let can_work = found.iter().any(|dependency| dependency.is_tables && dependency.problem.is_none());
    let summary = match (can_work, found.iter().all(|dependency| dependency.problem.is_none())) {
        (true, true) => "ok",
        (true, false) => "degraded",
        (false, _) => "failed",
    };
    let mut dependencies = serde_json::Map::new();
    for status in found {
        outages.log(&status);
        dependencies.insert(status.name, if status.problem.is_none() { "ok" } else { "failed" }.into());
    }
    let status = if can_work { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(json!({"status": summary, "dependencies": dependencies})))
}

/// What an operator watches, as Prometheus reads it.
pub(super) async fn get_metrics(State(app): State<Arc<AppState>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4"), (header::CACHE_CONTROL, "no-store")], app.metrics())
}

pub(super) async fn get_openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, JSON_TYPE)], include_str!("../../openapi.json"))
}
