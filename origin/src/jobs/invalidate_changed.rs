//! Follows the change feed and invalidates the caches of every comment and subject in it.
//!
//! The process that commits a takedown invalidates the caches itself. Should it die in between, this
//! job does so within about two seconds.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, SubjectKey};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::cluster::cached_store::CachedStore;
use crate::domain::change_feed::{FeedProgress, MAX_CHANGE_ROWS_PER_QUERY};
use crate::domain::operation::ChangeRow;
use crate::ports::cache::CACHE_FRESHNESS;
use crate::ports::store::{ChangeFeedReader, Result};

/// How often the feed is read.
const CHANGED_ROWS_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long a cache may hold a value without being invalidated, in milliseconds.
const MAX_CACHE_AGE_MS: u64 = 2 * CACHE_FRESHNESS.as_millis() as u64;

/// Invalidates until `stop` is cancelled. Cached values expire within a minute, so of the rows that
/// exist at the start only those of the last minutes are read.
pub async fn run(
    cached_store: Arc<CachedStore>,
    tables: Arc<dyn ChangeFeedReader>,
    databases: usize,
    clock: Clock,
    stop: CancellationToken,
) {
    let mut progress_by_shard: Vec<_> = (0..databases).map(|_| FeedProgress::default()).collect();
    let mut tick = tokio::time::interval(CHANGED_ROWS_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        for (shard, progress) in progress_by_shard.iter_mut().enumerate() {
            if let Err(error) = follow(&cached_store, &*tables, shard, progress, &clock).await {
                tracing::debug!(shard, %error, "Could not follow the change feed of database {shard}");
            }
        }
    }
}

/// Reads the feed of one database to its end.
async fn follow(
    cached_store: &CachedStore,
    tables: &dyn ChangeFeedReader,
    shard: usize,
    progress: &mut FeedProgress,
    clock: &Clock,
) -> Result<()> {
    let mut after = progress.settled();
    loop {
        let rows = tables.read_changes(shard, after, MAX_CHANGE_ROWS_PER_QUERY).await?;
        let (comments, subjects) = changed_lately(progress, &rows, clock.now());
        cached_store.invalidate_comments(&comments, true).await?;
        cached_store.invalidate_subjects(&subjects).await;
        add_rows(progress, &rows, clock.now());
        match rows.last() {
            Some(last) if rows.len() == MAX_CHANGE_ROWS_PER_QUERY => after = last.seq,
            _ => return Ok(()),
        }
    }
}

/// The comments, and the whole subjects with their versions, of unknown rows that a cache may still hold older
/// versions of.
fn changed_lately(progress: &FeedProgress, rows: &[ChangeRow], now: u64) -> (Vec<CommentId>, HashMap<SubjectKey, u64>) {
    let oldest = now.saturating_sub(MAX_CACHE_AGE_MS);
    let (mut comments, mut subjects) = (BTreeSet::new(), HashMap::new());
    for row in rows.iter().filter(|row| row.at >= oldest && !progress.is_known(row.seq)) {
        match row.id {
            Some(id) => _ = comments.insert(id),
            None => {
                let version = subjects.entry(row.subject.clone()).or_insert(row.version);
                *version = row.version.max(*version);
            }
        }
    }
    (comments.into_iter().collect(), subjects)
}

fn add_rows(progress: &mut FeedProgress, rows: &[ChangeRow], now: u64) {
    rows.iter().for_each(|row| progress.add(row.seq, row.at));
    progress.settle(now);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change_feed::LATE_COMMIT_MS;

    const NOW: u64 = 1_800_000_000_000;

    fn row(seq: u64, at: u64) -> ChangeRow {
        let id = CommentId::new(1_000 + seq).unwrap();
        ChangeRow { seq, at, subject: SubjectKey::new("article", "1").unwrap(), version: seq, id: Some(id) }
    }

    fn take_new(progress: &mut FeedProgress, rows: &[ChangeRow], now: u64) -> Vec<u64> {
        let read: Vec<_> = rows.iter().filter(|row| row.seq > progress.settled()).cloned().collect();
        let (ids, _) = changed_lately(progress, &read, now);
        add_rows(progress, &read, now);
        ids.into_iter().map(|id| id.get() - 1_000).collect()
    }

    #[test]
    fn whole_subject_is_invalidated_at_its_latest_version() {
        let whole = |seq, at| ChangeRow { id: None, ..row(seq, at) };
        let rows = [whole(1, NOW - 600_000), whole(3, NOW), whole(2, NOW), row(4, NOW)];
        let (comments, subjects) = changed_lately(&FeedProgress::default(), &rows, NOW);
        assert_eq!(comments, [CommentId::new(1_004).unwrap()]);
        assert_eq!(subjects, HashMap::from([(rows[1].subject.clone(), 3)]));
    }

    #[test]
    fn late_commit_is_invalidated_once() {
        let mut progress = FeedProgress::default();
        assert_eq!(
            take_new(&mut progress, &[row(1, NOW - 600_000), row(3, NOW)], NOW),
            [3],
            "row 1 is too old for any cache"
        );
        assert_eq!(take_new(&mut progress, &[row(2, NOW - 10), row(3, NOW)], NOW + 10), [2], "committed late");
        assert_eq!(take_new(&mut progress, &[row(2, NOW - 10), row(3, NOW)], NOW + 20), [0; 0]);
        let later = NOW + LATE_COMMIT_MS + 1;
        assert_eq!(take_new(&mut progress, &[row(3, NOW), row(5, later)], later), [5]);
        assert_eq!(progress.settled(), 3, "row 4 is waited for, and settled rows are not read again");
    }
}
