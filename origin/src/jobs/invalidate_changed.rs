//! Follows the change feed and tells the caches of every takedown in it: a process that dies between
//! its commit and telling leaves nothing on show for longer than a second or two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::CommentId;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::cluster::cached_store::CachedStore;
use crate::domain::operation::ChangeRow;
use crate::ports::cache::FRESH;
use crate::ports::store::{ChangeFeedReader, Result};

/// How often the feed is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// Rows read at once.
const ROWS: usize = 1_000;
/// How long a cache may believe what nobody told it, in milliseconds.
const BELIEVED_MS: u64 = 2 * FRESH.as_millis() as u64;
/// How long a transaction that took a smaller number may still be under way, in milliseconds.
const LATE_MS: u64 = 15_000;

/// Tells the caches, until it is told to stop. What the caches believe ages out within a minute, so
/// rows that are there when this begins are passed over but for the last minutes.
pub async fn run(
    layered: Arc<CachedStore>,
    tables: Arc<dyn ChangeFeedReader>,
    databases: usize,
    clock: Clock,
    stop: CancellationToken,
) {
    let mut tails: Vec<_> = (0..databases).map(|_| Tail::default()).collect();
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        for (shard, tail) in tails.iter_mut().enumerate() {
            if let Err(error) = follow(&layered, &*tables, shard, tail, &clock).await {
                tracing::debug!(shard, %error, "the change feed is not followed");
            }
        }
    }
}

/// Reads one database's feed to its end.
async fn follow(
    layered: &CachedStore,
    tables: &dyn ChangeFeedReader,
    shard: usize,
    tail: &mut Tail,
    clock: &Clock,
) -> Result<()> {
    let mut after = tail.after();
    loop {
        let rows = tables.read_changes(shard, after, ROWS).await?;
        let fresh = tail.unknown(&rows, clock.now());
        layered.tell_again(&fresh, true).await?;
        tail.take(&rows, clock.now());
        match rows.last() {
            Some(last) if rows.len() == ROWS => after = last.seq,
            _ => return Ok(()),
        }
    }
}

/// How far a feed was followed. A smaller number may be committed after a larger one, so the last
/// rows are read again each time.
#[derive(Debug, Default)]
struct Tail {
    /// Everything up to here is known.
    known: u64,
    /// The numbers beyond it that are known too, with the moments of their rows.
    late: BTreeMap<u64, u64>,
}

impl Tail {
    /// Where to read on.
    fn after(&self) -> u64 {
        self.known
    }

    /// The comments of rows that are not known and may still be believed otherwise somewhere.
    fn unknown(&self, rows: &[ChangeRow], now: u64) -> Vec<CommentId> {
        let old = now.saturating_sub(BELIEVED_MS);
        let fresh = rows.iter().filter(|row| row.at >= old && !self.late.contains_key(&row.seq));
        fresh.map(|row| row.id).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn take(&mut self, rows: &[ChangeRow], now: u64) {
        self.late.extend(rows.iter().map(|row| (row.seq, row.at)));
        let settled = now.saturating_sub(LATE_MS);
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

    fn told(tail: &mut Tail, rows: &[ChangeRow], now: u64) -> Vec<u64> {
        let read: Vec<_> = rows.iter().filter(|row| row.seq > tail.after()).cloned().collect();
        let ids = tail.unknown(&read, now);
        tail.take(&read, now);
        ids.into_iter().map(|id| id.get() - 1_000).collect()
    }

    #[test]
    fn rows_are_told_once_whatever_the_order_of_their_commits() {
        let mut tail = Tail::default();
        assert_eq!(told(&mut tail, &[row(1, NOW - 600_000), row(3, NOW)], NOW), [3], "the first is long known");
        assert_eq!(told(&mut tail, &[row(2, NOW - 10), row(3, NOW)], NOW + 10), [2], "committed late");
        assert_eq!(told(&mut tail, &[row(2, NOW - 10), row(3, NOW)], NOW + 20), [0; 0]);
        let later = NOW + LATE_MS + 1;
        assert_eq!(told(&mut tail, &[row(3, NOW), row(4, later)], later), [4]);
        assert_eq!((tail.after(), tail.late.len()), (3, 1), "what is settled is not read again");
    }
}
