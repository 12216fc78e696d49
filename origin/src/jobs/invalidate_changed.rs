//! Follows the change feed and invalidates the caches of every comment and subject in it.
//!
//! The process that commits a takedown invalidates the caches itself. Should it die in between, this
//! job does so within about two seconds. Of a database that has gone back the caches hold what is lost: this job
//! makes them forget everything of its slots.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, SubjectKey};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::cluster::cached_store::CachedStore;
use crate::domain::change_feed::{FeedProgress, MAX_BROKER_DELAY_MS, MAX_CHANGE_ROWS_PER_QUERY};
use crate::domain::operation::ChangeRow;
use crate::jobs::pass_rewinds::RewindPasser;
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
    rewinds: Arc<RewindPasser>,
    databases: usize,
    clock: Clock,
    stop: CancellationToken,
) {
    let (cached_store, tables, clock) = (&cached_store, &*tables, &clock);
    let followed = join_all((0..databases).map(async |shard| {
        let mut feed = FollowedFeed::default();
        let mut tick = tokio::time::interval(CHANGED_ROWS_POLL_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            if let Err(error) = follow(cached_store, tables, shard, &mut feed, clock).await {
                tracing::debug!(shard, %error, "Could not follow the change feed of database {shard}");
            }
            if std::mem::take(&mut feed.has_gone_back) {
                rewinds.pass_again(shard);
            }
            if std::mem::take(&mut feed.is_said_to_have_gone_back) {
                rewinds.note_found(shard);
            }
        }
    }));
    stop.run_until_cancelled(followed).await;
}

/// How far the feed of one database is followed.
#[derive(Debug, Default)]
struct FollowedFeed {
    progress: FeedProgress,
    /// Whether it was read to its end once.
    was_read: bool,
    /// Whether it was found to have gone back, which the tables do not say yet.
    has_gone_back: bool,
    /// Whether another process has found so.
    is_said_to_have_gone_back: bool,
    /// Whether the caches may still hold what the database has lost.
    is_to_forget: bool,
}

/// Reads the feed of one database to its end.
async fn follow(
    cached_store: &CachedStore,
    tables: &dyn ChangeFeedReader,
    shard: usize,
    feed: &mut FollowedFeed,
    clock: &Clock,
) -> Result<()> {
    let holes = feed.progress.holes(clock.now());
    if !holes.is_empty() {
        invalidate(cached_store, feed, &tables.read_changes_at(shard, &holes).await?, clock).await?;
    }
    let mut after = feed.progress.read_after();
    loop {
        let rows = tables.read_changes(shard, after, MAX_CHANGE_ROWS_PER_QUERY).await?;
        let is_all = rows.len() < MAX_CHANGE_ROWS_PER_QUERY;
        if feed.progress.is_contradicted(after, &rows, is_all, clock.now()) {
            *feed = FollowedFeed { has_gone_back: true, is_to_forget: true, ..FollowedFeed::default() };
            after = 0;
            continue;
        }
        if has_rewind(feed, &rows, clock.now()) {
            (feed.is_said_to_have_gone_back, feed.is_to_forget) = (true, true);
        }
        if feed.is_to_forget {
            let slots: Vec<_> = tables.slots_of(shard).iter().collect();
            cached_store.forget_slots(&slots).await?;
            feed.is_to_forget = false;
        }
        invalidate(cached_store, feed, &rows, clock).await?;
        match rows.last() {
            Some(last) if !is_all => after = last.seq,
            _ => {
                feed.was_read = true;
                return Ok(());
            }
        }
    }
}

async fn invalidate(
    cached_store: &CachedStore,
    feed: &mut FollowedFeed,
    rows: &[ChangeRow],
    clock: &Clock,
) -> Result<()> {
    let (comments, subjects) = changed_lately(feed, rows, clock.now());
    cached_store.invalidate_comments(&comments, true).await?;
    cached_store.invalidate_subjects(&subjects).await;
    add_rows(feed, rows, clock.now());
    Ok(())
}

/// Whether a database has gone back so lately that a cache may hold what it has lost.
fn has_rewind(feed: &FollowedFeed, rows: &[ChangeRow], now: u64) -> bool {
    late_rows(feed, rows, now).any(ChangeRow::is_rewind)
}

/// The unknown rows that a cache may still hold older versions of.
fn late_rows<'a>(feed: &'a FollowedFeed, rows: &'a [ChangeRow], now: u64) -> impl Iterator<Item = &'a ChangeRow> {
    let oldest = if feed.was_read { 0 } else { now.saturating_sub(MAX_CACHE_AGE_MS) };
    rows.iter().filter(move |row| row.at >= oldest && !feed.progress.is_known(row.seq))
}

/// The comments, and the whole subjects with their versions, of unknown rows that a cache may still hold older
/// versions of. A row that appears while the feed is followed was committed lately, whatever its writer's clock says.
fn changed_lately(feed: &FollowedFeed, rows: &[ChangeRow], now: u64) -> (Vec<CommentId>, HashMap<SubjectKey, u64>) {
    let (mut comments, mut subjects) = (BTreeSet::new(), HashMap::new());
    for row in late_rows(feed, rows, now) {
        match row.id {
            Some(_) if row.is_rewind() => {}
            Some(id) => _ = comments.insert(id),
            None => {
                let version = subjects.entry(row.subject.clone()).or_insert(row.version);
                *version = row.version.max(*version);
            }
        }
    }
    (comments.into_iter().collect(), subjects)
}

fn add_rows(feed: &mut FollowedFeed, rows: &[ChangeRow], now: u64) {
    for row in rows {
        // By this process's clock: the writer's may be behind, and the number before would not be waited for.
        let known_at = if feed.was_read { now } else { now.min(row.at + MAX_BROKER_DELAY_MS) };
        feed.progress.add(row, known_at);
    }
    feed.progress.settle(now);
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use parking_lot::Mutex;
    use tokio::time::sleep;

    use super::*;
    use crate::domain::change_feed::LATE_COMMIT_MS;
    use crate::ports::store::CommentReader as _;
    use crate::testing::test_bed::TestBed;

    const NOW: u64 = 1_800_000_000_000;

    fn row(seq: u64, at: u64) -> ChangeRow {
        let id = CommentId::new(1_000 + seq).unwrap();
        ChangeRow { seq, at, subject: SubjectKey::new("article", "1").unwrap(), version: seq, id: Some(id) }
    }

    fn take_new(feed: &mut FollowedFeed, rows: &[ChangeRow], now: u64) -> Vec<u64> {
        let holes = feed.progress.holes(now);
        let is_asked_for = |row: &&ChangeRow| row.seq > feed.progress.settled() || holes.contains(&row.seq);
        let read: Vec<_> = rows.iter().filter(is_asked_for).cloned().collect();
        let (ids, _) = changed_lately(feed, &read, now);
        add_rows(feed, &read, now);
        feed.was_read = true;
        ids.into_iter().map(|id| id.get() - 1_000).collect()
    }

    #[test]
    fn whole_subject_is_invalidated_at_its_latest_version() {
        let whole = |seq, at| ChangeRow { id: None, ..row(seq, at) };
        let rows = [whole(1, NOW - 600_000), whole(3, NOW), whole(2, NOW), row(4, NOW)];
        let (comments, subjects) = changed_lately(&FollowedFeed::default(), &rows, NOW);
        assert_eq!(comments, [CommentId::new(1_004).unwrap()]);
        assert_eq!(subjects, HashMap::from([(rows[1].subject.clone(), 3)]));
    }

    #[test]
    fn late_commit_is_invalidated_once() {
        let mut feed = FollowedFeed::default();
        let old = NOW - 2 * MAX_BROKER_DELAY_MS;
        assert_eq!(take_new(&mut feed, &[row(1, old), row(3, NOW)], NOW), [3], "row 1 is too old for any cache");
        assert_eq!(take_new(&mut feed, &[row(2, NOW - 10), row(3, NOW)], NOW + 10), [2], "committed late");
        assert_eq!(take_new(&mut feed, &[row(2, NOW - 10), row(3, NOW)], NOW + 20), [0; 0]);
        let later = NOW + LATE_COMMIT_MS + 1;
        assert_eq!(take_new(&mut feed, &[row(3, NOW), row(5, later)], later), [5]);
        assert_eq!(feed.progress.settled(), 3, "row 4 is waited for, and settled rows are not read again");
    }

    #[test]
    fn writer_with_a_clock_behind_settles_no_gap() {
        let mut feed = FollowedFeed::default();
        take_new(&mut feed, &[row(1, NOW)], NOW);
        let behind = NOW - 10 * LATE_COMMIT_MS;
        assert_eq!(take_new(&mut feed, &[row(3, behind)], NOW + 1), [3], "it was committed just before");
        assert_eq!(feed.progress.settled(), 1, "row 2 may still be committed");
        assert_eq!(take_new(&mut feed, &[row(2, behind), row(3, behind)], NOW + 2), [2]);
    }

    #[test]
    fn row_that_is_committed_minutes_late_is_invalidated() {
        let mut feed = FollowedFeed::default();
        take_new(&mut feed, &[row(1, NOW), row(3, NOW)], NOW);
        let passed = NOW + MAX_BROKER_DELAY_MS + LATE_COMMIT_MS;
        take_new(&mut feed, &[row(4, passed)], passed);
        assert_eq!(feed.progress.settled(), 4);
        assert_eq!(take_new(&mut feed, &[row(2, NOW), row(4, passed)], passed + 60_000), [2]);
        assert_eq!(take_new(&mut feed, &[row(2, NOW), row(4, passed)], passed + 61_000), [0; 0]);
    }

    /// The rows that a test sets.
    #[derive(Debug, Default)]
    struct ScriptedFeed(Mutex<Vec<ChangeRow>>);

    #[async_trait]
    impl ChangeFeedReader for ScriptedFeed {
        async fn read_changes(&self, _: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>> {
            Ok(self.0.lock().iter().filter(|row| row.seq > after).take(count).cloned().collect())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn caches_forget_what_a_database_that_has_gone_back_has_lost() {
        let doubles = TestBed::new(1, 1);
        let (cached_store, id) = (doubles.cached_store(), doubles.store.publish(&row(1, NOW).subject, 1, None).0);
        let (feed, clock) = (ScriptedFeed::default(), Clock::from_fn(|| NOW));
        let mut followed = FollowedFeed::default();
        let count_reads = async || {
            // Longer than this process remembers.
            sleep(Duration::from_secs(1)).await;
            let before = doubles.store.reads();
            cached_store.read_comments(&[id]).await.unwrap();
            doubles.store.reads() - before
        };
        let mark = |seq| ChangeRow { id: CommentId::new(ChangeRow::REWOUND_DATABASE as u64).ok(), ..row(seq, NOW) };
        let check = async |rows: &[ChangeRow], followed: &mut FollowedFeed, expected: (bool, bool)| {
            *feed.0.lock() = rows.to_vec();
            follow(&cached_store, &feed, 0, followed, &clock).await.unwrap();
            let found = (count_reads().await > 0, std::mem::take(&mut followed.has_gone_back));
            assert_eq!(found, expected, "{rows:?}");
        };
        check(&[row(1, NOW), row(2, NOW)], &mut followed, (true, false)).await;
        check(&[row(1, NOW), row(2, NOW), row(3, NOW)], &mut followed, (false, false)).await;
        check(&[row(1, NOW), row(2, NOW - 1)], &mut followed, (true, true)).await;
        check(&[row(1, NOW), row(2, NOW - 1)], &mut followed, (false, false)).await;
        check(&[row(1, NOW), row(2, NOW - 1), mark(3)], &mut followed, (true, false)).await;
        check(&[row(1, NOW), row(2, NOW - 1), mark(3)], &mut followed, (false, false)).await;
    }
}
