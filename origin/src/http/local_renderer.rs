//! Pages as the origin answers them, rendered by the process itself: they are pushed to the edge.
//!
//! The routes and handlers are those of every request, without the middleware: there is no signature,
//! no counting and no CORS. Headers that are for the edge become fields of the page.

use std::sync::{Arc, LazyLock, Weak};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use gailou_shared::edge_protocol::{
    CACHE_TAGS_HEADER, MADE_HEADER, PushedDictionary, PushedPage, SUBJECT_VERSION_HEADER,
};
use gailou_shared::id::SubjectKey;
use tower_service::Service as _;

use crate::domain::row::StoredDictionary;
use crate::http::cached_page::SentPage;
use crate::http::router::contract;
use crate::http::state::HttpState;
use crate::jobs::push::{PageSource, PushError};
use crate::state::AppState;

/// The largest page: far more than any is.
const MAX_PAGE_BYTES: usize = 64 * 1_024 * 1_024;
/// Headers that become fields of a pushed page.
const FIELD_HEADERS: [&str; 3] = [CACHE_TAGS_HEADER, MADE_HEADER, SUBJECT_VERSION_HEADER];

/// Renders pages by the contract's own routes.
#[derive(Debug)]
pub struct LocalRenderer(Weak<AppState>);

impl LocalRenderer {
    /// A renderer of this application, which it does not keep alive.
    pub fn new(app: Weak<AppState>) -> Self {
        Self(app)
    }

    fn app(&self) -> Result<Arc<AppState>, PushError> {
        self.0.upgrade().ok_or(PushError::Stopping)
    }
}

#[async_trait]
impl PageSource for LocalRenderer {
    async fn versions(&self, subjects: &[SubjectKey]) -> Result<Vec<u64>, PushError> {
        let rows = self.app()?.store.read_subjects(subjects).await?;
        Ok(rows.into_iter().map(|row| row.map_or(0, |row| row.version)).collect())
    }

    async fn dictionary_version(&self) -> Result<u64, PushError> {
        Ok(self.app()?.tables.read_dictionary_version().await?)
    }

    async fn dictionary(&self) -> Result<PushedDictionary, PushError> {
        let StoredDictionary { version, terms } = self.app()?.tables.read_dictionary().await?;
        Ok(PushedDictionary { version, terms })
    }

    async fn page(&self, path_query: &str) -> Result<Option<PushedPage>, PushError> {
        static CONTRACT_ROUTES: LazyLock<Router<HttpState>> = LazyLock::new(contract);
        let failed = |status: StatusCode| PushError::Page(path_query.to_owned(), status.as_u16());
        let state = HttpState::new(self.app()?);
        let request = Request::get(path_query).body(Body::empty()).map_err(|_| failed(StatusCode::BAD_REQUEST))?;
        let Ok(response) = CONTRACT_ROUTES.clone().with_state(state).call(request).await;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK {
            return Err(failed(head.status));
        }
        if head.extensions.get().is_some_and(|SentPage(page)| page.is_passing) {
            // Pushed, it would stay for longer than the overload.
            return Err(failed(StatusCode::SERVICE_UNAVAILABLE));
        }
        let body = to_bytes(body, MAX_PAGE_BYTES).await.map_err(|_| failed(StatusCode::PAYLOAD_TOO_LARGE))?;
        let Ok(body) = String::from_utf8(body.into()) else { return Ok(None) };
        Ok(pushed_page(path_query, &head.headers, body))
    }
}

/// `None` where the headers do not say what the edge needs to keep a copy.
fn pushed_page(path_query: &str, headers: &HeaderMap, body: String) -> Option<PushedPage> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let number = |name: &str| text(name)?.parse().ok();
    let kept = headers.iter().filter(|(name, _)| !FIELD_HEADERS.contains(&name.as_str()));
    let kept = kept.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    Some(PushedPage {
        key: path_query.to_owned(),
        cache_tags: text(CACHE_TAGS_HEADER)?.to_owned(),
        made: number(MADE_HEADER)?,
        version: number(SUBJECT_VERSION_HEADER)?,
        headers: kept.collect(),
        body,
    })
}
