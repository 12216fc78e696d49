//! Whether the origin is alive, whether it can work, what it measures, and what it offers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use crate::http::cached_page::JSON_TYPE;
use crate::outage_log::OutageLog;
use crate::ports::dependencies::DependencyStatus;
use crate::state::AppState;

/// The outages of dependencies, by name, as the probes of readiness noticed them.
#[derive(Debug, Default)]
pub(super) struct DependencyOutages {
    /// A std mutex: held for a look-up, never across an await.
    by_name: Mutex<HashMap<String, OutageLog>>,
}

impl DependencyOutages {
    fn log(&self, DependencyStatus { name, problem, .. }: &DependencyStatus) {
        let mut outages = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let outage = outages.entry(name.clone()).or_default();
        match problem {
            None => outage.end(|| tracing::info!(dependency = name, "The dependency {name} answers again")),
            Some(problem) => outage.begin(|| {
                tracing::warn!(dependency = name, problem, "The dependency {name} does not answer: {problem}");
            }),
        }
    }
}

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
