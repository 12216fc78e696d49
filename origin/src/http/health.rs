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

/// Whether comments can be read, whether they can be written, and the state of each dependency.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// Each dependency by its name.
    dependencies: BTreeMap<String, DependencyState>,
    /// `ok` when every dependency and the writes are, `failed` when nothing answers that comments are read from.
    status: ReadinessStatus,
    /// Whether writes are stored. A process that stores none still answers reads, so this alone is not `failed`.
    writes: DependencyState,
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

impl DependencyState {
    fn of(is_ok: bool) -> Self {
        if is_ok { Self::Ok } else { Self::Failed }
    }
}

/// Whether the process is alive.
#[utoipa::path(
    get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "The process is alive.", body = HealthStatus)),
)]
pub(super) async fn get_health() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(HealthStatus { status: Liveness::Ok }))
}

/// Whether comments can be read.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses(
        (
            status = 200, description = "Comments can be read; `degraded` when a dependency fails, or writes are not stored.", body = Readiness,
        ),
        (
            status = 503, description = "No comments can be read; `dependencies` names what is missing.",
            content((Readiness = "application/json"), (Problem = "application/problem+json")),
        ),
    ),
)]
pub(super) async fn get_readiness(
    State(app): State<Arc<AppState>>,
    State(outages): State<Arc<DependencyOutages>>,
) -> impl IntoResponse {
    let found = app.dependencies.check_dependencies().await;
    let can_read = found.iter().any(|dependency| dependency.serves_reads && dependency.problem.is_none());
    let can_write = !app.write_health.is_failing()
        && found.iter().all(|dependency| !dependency.takes_writes || dependency.problem.is_none());
    let summary = match (can_read, can_write && found.iter().all(|dependency| dependency.problem.is_none())) {
        (true, true) => ReadinessStatus::Ok,
        (true, false) => ReadinessStatus::Degraded,
        (false, _) => ReadinessStatus::Failed,
    };
    let mut dependencies = BTreeMap::new();
    for status in found {
        outages.log(&status);
        dependencies.insert(status.name, DependencyState::of(status.problem.is_none()));
    }
    let writes = DependencyState::of(can_write);
    let status = if can_read { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(Readiness { dependencies, status: summary, writes }))
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
