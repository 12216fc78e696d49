//! What the handlers share: the application's state, and what only HTTP has.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::http::dependency_outages::DependencyOutages;
use crate::http::event_streams::OpenEventStreams;
use crate::state::AppState;

/// The state of every route.
#[derive(Debug, Clone)]
pub(super) struct HttpState {
    pub(super) app: Arc<AppState>,
    pub(super) event_streams: Arc<OpenEventStreams>,
    pub(super) dependency_outages: Arc<DependencyOutages>,
}

impl HttpState {
    pub(super) fn new(app: Arc<AppState>) -> Self {
        Self { app, event_streams: Arc::default(), dependency_outages: Arc::default() }
    }
}

impl FromRef<HttpState> for Arc<AppState> {
    fn from_ref(state: &HttpState) -> Self {
        state.app.clone()
    }
}

impl FromRef<HttpState> for Arc<OpenEventStreams> {
    fn from_ref(state: &HttpState) -> Self {
        state.event_streams.clone()
    }
}

impl FromRef<HttpState> for Arc<DependencyOutages> {
    fn from_ref(state: &HttpState) -> Self {
        state.dependency_outages.clone()
    }
}
