//! Follows the change feed and invalidates the caches of every comment in it.
//!
//! The process that commits a takedown invalidates the caches itself. Should it die in between, this
//! job does so within about two seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::CommentId;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::cluster::cached_store::CachedStore;
use crate::domain::operation::ChangeRow;
use crate::ports::cache::CACHE_FRESHNESS;
use crate::ports::store::{ChangeFeedReader, Result};

/// How often the feed is read.
const CHANGED_ROWS_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Rows of one query.
const ROWS_PER_QUERY: usize = 1_000;
/// How long a cache may hold a value without being invalidated, in milliseconds.
const MAX_CACHE_AGE_MS: u64 = 2 * CACHE_FRESHNESS.as_millis() as u64;
/// How long a transaction with a smaller number may still be uncommitted, in milliseconds.
const LATE_COMMIT_MS: u64 = 15_000;

/// Invalidates until `stop` is cancelled. Cached values expire within a minute, so of the rows that
/// exist at the start only those of the last minutes are read.
pub async fn run(
    cached_store: Arc<CachedStore>,
    tables: Arc<dyn ChangeFeedReader>,
    databases: usize,
    clock: Clock,
    stop: CancellationToken,
) {
    let mut positions: Vec<_> = (0..databases).map(|_| FeedPosition::default()).collect();
    let mut tick = tokio::time::interval(CHANGED_ROWS_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        for (shard, position) in positions.iter_mut().enumerate() {
            if let Err(error) = follow(&cached_store, &*tables, shard, position, &clock).await {
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
    position: &mut FeedPosition,
    clock: &Clock,
) -> Result<()> {
    let mut after = position.after();
    loop {
        let rows = tables.read_changes(shard, after, ROWS_PER_QUERY).await?;
        let fresh = position.unknown(&rows, clock.now());
        cached_store.invalidate_comments(&fresh, true).await?;
        position.take(&rows, clock.now());
        match rows.last() {
            Some(last) if rows.len() == ROWS_PER_QUERY => after = last.seq,
            _ => return Ok(()),
        }
    }
}

/// How far a feed was followed. A smaller number may be committed after a larger one, so the last
/// rows are read again each time.
#[derive(Debug, Default)]
struct FeedPosition {
    /// Everything up to this number is known.
    known: u64,
    /// Known numbers beyond it, with the times of their rows.
    late: BTreeMap<u64, u64>,
}

impl FeedPosition {
    /// The number to read after.
    fn after(&self) -> u64 {
        self.known
    }

    /// The comments of unknown rows that a cache may still hold an older version of.
    fn unknown(&self, rows: &[ChangeRow], now: u64) -> Vec<CommentId> {
        let old = now.saturating_sub(MAX_CACHE_AGE_MS);
        let fresh = rows.iter().filter(|row| row.at >= old && !self.late.contains_key(&row.seq));
        fresh.map(|row| row.id).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn take(&mut self, rows: &[ChangeRow], now: u64) {
        self.late.extend(rows.iter().map(|row| (row.seq, row.at)));
        let settled = now.saturating_sub(LATE_COMMIT_MS);
        while let Some(first) = self.late.first_entry().filter(|row| *row.get() < settled) {
            self.known = *first.key();
            first.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::SubjectKey;

    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn row(seq: u64, at: u64) -> ChangeRow {
        let id = CommentId::new(1_000 + seq).unwrap();
        ChangeRow { seq, at, subject: SubjectKey::new("article", "1").unwrap(), version: seq, id }
    }

    fn take_new(position: &mut FeedPosition, rows: &[ChangeRow], now: u64) -> Vec<u64> {
        let read: Vec<_> = rows.iter().filter(|row| row.seq > position.after()).cloned().collect();
        let ids = position.unknown(&read, now);
        position.take(&read, now);
        ids.into_iter().map(|id| id.get() - 1_000).collect()
    }

    #[test]
    fn late_commit_is_invalidated_once() {
        let mut position = FeedPosition::default();
        assert_eq!(
            take_new(&mut position, &[row(1, NOW - 600_000), row(3, NOW)], NOW),
            [3],
            "row 1 is too old for any cache"
        );
        assert_eq!(take_new(&mut position, &[row(2, NOW - 10), row(3, NOW)], NOW + 10), [2], "committed late");
        assert_eq!(take_new(&mut position, &[row(2, NOW - 10), row(3, NOW)], NOW + 20), [0; 0]);
        let later = NOW + LATE_COMMIT_MS + 1;
        assert_eq!(take_new(&mut position, &[row(3, NOW), row(4, later)], later), [4]);
        assert_eq!((position.after(), position.late.len()), (3, 1), "settled rows are not read again");
    }
}
