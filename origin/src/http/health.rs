//! Whether the origin is alive, whether it can work, and what it measures.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use gailou_shared::wire::Problem;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::dependency_outages::DependencyOutages;
use crate::state::AppState;

/// The process is alive.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HealthStatus {
    status: Liveness,
}

/// A process that answers is alive.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Liveness {
    Ok,
}

/// Whether requests can be served, and the state of each dependency.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// Each dependency by its name.
    dependencies: BTreeMap<String, DependencyState>,
    /// `ok` when every dependency is, `failed` when no tables answer.
    status: ReadinessStatus,
}

/// Whether requests can be served.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ReadinessStatus {
    Ok,
    Degraded,
    Failed,
}

/// Whether a dependency answers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DependencyState {
    Ok,
    Failed,
}

/// Whether the process is alive.
#[utoipa::path(
    get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "The process is alive.", body = HealthStatus)),
)]
pub(super) async fn get_health() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(HealthStatus { status: Liveness::Ok }))
}

/// Whether requests can be served.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses(
        (
            status = 200, description = "Requests can be served; `degraded` when a dependency fails that is not needed for that.", body = Readiness,
        ),
        (
            status = 503, description = "Requests cannot be served; `dependencies` names what is missing.",
            content((Readiness = "application/json"), (Problem = "application/problem+json")),
        ),
    ),
)]
pub(super) async fn get_readiness(
    State(app): State<Arc<AppState>>,
    State(outages): State<Arc<DependencyOutages>>,
) -> impl IntoResponse {
    let found = app.dependencies.check_dependencies().await;
    let can_work = found.iter().any(|dependency| dependency.is_tables && dependency.problem.is_none());
    let summary = match (can_work, found.iter().all(|dependency| dependency.problem.is_none())) {
        (true, true) => ReadinessStatus::Ok,
        (true, false) => ReadinessStatus::Degraded,
        (false, _) => ReadinessStatus::Failed,
    };
    let mut dependencies = BTreeMap::new();
    for status in found {
        outages.log(&status);
        let state = if status.problem.is_none() { DependencyState::Ok } else { DependencyState::Failed };
        dependencies.insert(status.name, state);
    }
    let status = if can_work { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(Readiness { dependencies, status: summary }))
}

/// What an operator watches, for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses(
        (
            status = 200, description = "Text format 0.0.4, of this process alone.", body = String, content_type = "text/plain",
        ),
    ),
)]
pub(super) async fn get_metrics(State(app): State<Arc<AppState>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4"), (header::CACHE_CONTROL, "no-store")], app.metrics())
}
