//! Keeps the most read subjects in the cache, so that no reader finds them missing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gailou_shared::id::SubjectKey;
use tokio_util::sync::CancellationToken;

use crate::cluster::cached_store::{CachedStore, RebuildRequest};
use crate::domain::row::{CommentList, FloorRange};
use crate::jobs::rebuild::{FLOORS_READ_AHEAD, FillError, fill};
use crate::ports::popularity::{Popularity, PopularityError};

/// Subjects that are kept warm.
pub const MAX_WARM_SUBJECTS: usize = 100;
/// How often they are warmed: twice while a cached list is fresh.
const WARM_INTERVAL: Duration = Duration::from_secs(30);
/// Subjects that are warmed at the same time.
const MAX_CONCURRENT_SUBJECTS: usize = 4;

/// Warms the most read subjects until `stop` is cancelled.
pub async fn run(cached_store: Arc<CachedStore>, popularity: Arc<dyn Popularity>, stop: CancellationToken) {
    let work = async {
        let mut tick = tokio::time::interval(WARM_INTERVAL);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            if let Err(error) = warm_most_read(&cached_store, &*popularity).await {
                tracing::debug!(%error, "Could not read the most read subjects");
            }
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn warm_most_read(cached_store: &CachedStore, popularity: &dyn Popularity) -> Result<(), PopularityError> {
    let most_read = popularity.most_read(MAX_WARM_SUBJECTS).await?;
    stream::iter(most_read)
        .for_each_concurrent(MAX_CONCURRENT_SUBJECTS, |popular| async move {
            if let Err(error) = subject(cached_store, &popular.subject).await {
                tracing::debug!(subject = %popular.subject, %error, "Could not warm {}", popular.subject);
            }
        })
        .await;
    Ok(())
}

/// Loads a subject into the cache: its row, its newest roots, and the comments of their first pages.
/// Returns how many entries were loaded; what is fresh already stays as it is.
///
/// # Errors
/// When the tables or the cache do not answer.
pub async fn subject(cached_store: &CachedStore, key: &SubjectKey) -> Result<u64, FillError> {
    cached_store.warm_subject(key).await?;
    let list = CommentList::Roots(key.clone());
    let top = RebuildRequest { list, range: FloorRange::newest(FLOORS_READ_AHEAD) };
    let filled = fill(cached_store, &top, false).await?;
    Ok(filled as u64 + 1)
}
