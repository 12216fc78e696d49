//! The search of a process: its index, and the job that keeps it up to date.

use std::sync::Arc;

use crate::adapters::opensearch::OpenSearchIndex;
use crate::adapters::tantivy::TantivyIndex;
use crate::clock::Clock;
use crate::config::Config;
use crate::jobs::index_comments::{CommentIndexer, IndexMetrics};
use crate::ports::search_index::SearchIndex;
use crate::ports::store::Tables;
use crate::state::AppState;

/// The index: that of OpenSearch where it is configured, else one in the data directory; none in a cluster, whose
/// processes share no directory.
pub(super) fn choose(config: &Config) -> Option<Arc<dyn SearchIndex>> {
    let settings = &config.search;
    if let Some(url) = &settings.url {
        tracing::info!(url, "Searching by OpenSearch at {url}");
        let account = settings.username.clone().zip(settings.password.clone());
        return Some(Arc::new(OpenSearchIndex::new(url, &settings.index, account)));
    }
    if config.cluster.is_some() {
        return None;
    }
    Some(Arc::new(TantivyIndex::new(config.data.join("search"))))
}

/// What keeps the index up to date.
pub(super) fn indexer(state: &AppState, metrics: Arc<IndexMetrics>) -> CommentIndexer<dyn Tables> {
    // The one process of an embedded installation goes on at once with what it did before it ended.
    let name = if state.config.cluster.is_none() { "embedded".into() } else { hex::encode(rand::random::<[u8; 8]>()) };
    CommentIndexer {
        index: state.search.clone(),
        tables: state.tables.clone(),
        databases: state.change_feed.databases(),
        erased_members: state.erased_members.clone(),
        clock: Clock::system(),
        name,
        metrics,
    }
}
