//! Whether the origin lives, whether it can work, and what it offers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use crate::app::App;

pub(super) async fn alive() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(json!({"status": "ok"})))
}

pub(super) async fn ready(State(app): State<Arc<App>>) -> impl IntoResponse {
    let store = app.store.last_id().await;
    let status = if store.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = if store.is_ok() { "ok" } else { "failed" };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(json!({"status": word, "dependencies": {"store": word}})))
}

pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, super::JSON)], include_str!("../../openapi.json"))
}
