//! Keeps what is asked for most in the cache, so that nobody finds it cold.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gailou_shared::id::SubjectKey;
use tokio_util::sync::CancellationToken;

use crate::cluster::cached_store::{CachedStore, RebuildRequest};
use crate::domain::row::CommentList;
use crate::jobs::rebuild::{FillError, READ_AHEAD, fill};
use crate::ports::cache::Range;
use crate::ports::popularity::{Popularity, PopularityError};

/// Subjects that are kept warm.
pub const SUBJECTS: usize = 100;
/// How often they are looked after: twice while a list is fresh.
const EVERY: Duration = Duration::from_secs(30);
/// Subjects that are warmed at the same time.
const AT_ONCE: usize = 4;

/// Warms the hottest subjects, until it is told to stop.
pub async fn run(layered: Arc<CachedStore>, heat: Arc<dyn Popularity>, stop: CancellationToken) {
    let works = async {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            if let Err(error) = hottest(&layered, &*heat).await {
                tracing::debug!(%error, "nothing is warmed");
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = works => {}
    }
}

async fn hottest(layered: &CachedStore, heat: &dyn Popularity) -> Result<(), PopularityError> {
    let hottest = heat.most_read(SUBJECTS).await?;
    stream::iter(hottest)
        .for_each_concurrent(AT_ONCE, |warm| async move {
            if let Err(error) = subject(layered, &warm.subject).await {
                tracing::debug!(subject = %warm.subject, %error, "a subject is not warmed");
            }
        })
        .await;
    Ok(())
}

/// Puts a subject into the cache: its row, its newest roots, and what their first pages show. How
/// many entries were put; what is fresh already is left as it is.
///
/// # Errors
/// When the tables or the cache do not answer.
pub async fn subject(layered: &CachedStore, key: &SubjectKey) -> Result<u64, FillError> {
    layered.warm_subject(key).await?;
    let list = CommentList::Roots(key.clone());
    let top = RebuildRequest { list, range: Range { ascending: false, beyond: None, count: READ_AHEAD } };
    let filled = fill(layered, &top, false).await?;
    Ok(filled as u64 + 1)
}
