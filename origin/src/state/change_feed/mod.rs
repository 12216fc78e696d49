//! The change feed in memory: answers the edge's polls without a query for each.
//!
//! A gap in the numbers is waited for ([`crate::domain::change_feed`]); until then everything after it
//! is read again, and rows that are known change nothing. Not here: the rows ([`ChangeFeedReader`]), the loop
//! that reads them, and authorisation.
//!
//! Promise: a committed row is in the next page whose `now` is later, unless its transaction took
//! longer than the wait; and rows that are dropped for lack of room move `since`.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use gailou_shared::id::CommentId;
use gailou_shared::wire::{ChangeFeedPage, ChangedComment};
use parking_lot::{Mutex, MutexGuard};

use crate::clock::Clock;
use crate::domain::change_feed::{FeedProgress, MAX_CHANGE_ROWS_PER_QUERY};
use crate::domain::operation::{CHANGE_FEED_RETENTION_MS, ChangeRow};
use crate::ports::store::{ChangeFeedReader, Result};

/// How long after its acceptance a row that exists at the start may have been committed, in
/// milliseconds: the jobs may have lagged. The commit time of later rows is known.
const MAX_BROKER_DELAY_MS: u64 = 600_000;
/// How far back the short page reaches, in milliseconds: an edge that polls every two seconds may fail
/// for two minutes before it needs the long one.
const TAIL_SPAN_MS: u64 = 120_000;
/// How far apart the clocks of origins may be, in milliseconds.
const CLOCK_SKEW_MS: u64 = 10_000;
/// How far back the long page reaches, in milliseconds: half an hour longer than any cached page is
/// served.
const FULL_SPAN_MS: u64 = CHANGE_FEED_RETENTION_MS - 3 * MAX_BROKER_DELAY_MS;
/// After how long without an answer of any database there is no page, in milliseconds.
const MAX_SILENCE_MS: u64 = 5_000;

/// How far back a page reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Two minutes.
    Tail,
    /// As long as cached pages are served.
    Full,
}

/// The newest changes of all databases, at most [`ChangeFeedPage::MAX_ROWS`] comments.
#[derive(Debug)]
pub struct ChangeFeed(Mutex<FeedTail>);

impl ChangeFeed {
    /// An empty feed of so many databases.
    pub fn new(databases: usize) -> Self {
        let databases = (0..databases).map(|_| DatabaseRead::default()).collect();
        Self(Mutex::new(FeedTail { databases, by_time: BTreeMap::new(), times: HashMap::new(), dropped: None }))
    }

    /// How many databases there are.
    pub fn databases(&self) -> usize {
        self.tail().databases.len()
    }

    /// The changes; `None` until every database was read once, and while none answers.
    pub fn page(&self, span: Span, now: u64, words: u64) -> Option<ChangeFeedPage> {
        let tail = self.tail();
        let newest = tail.databases.iter().filter_map(|database| database.read_began).max()?;
        let read = tail.oldest_read_began()?;
        (now.saturating_sub(newest) <= MAX_SILENCE_MS).then(|| {
            let (since, rows) =
                tail.since(read.saturating_sub(if span == Span::Full { FULL_SPAN_MS } else { TAIL_SPAN_MS }));
            ChangeFeedPage::new(read, since, now.saturating_sub(read), words, rows)
        })
    }

    /// How long ago the last complete read began, in milliseconds; `None` before the first.
    pub fn age_ms(&self, now: u64) -> Option<u64> {
        Some(now.saturating_sub(self.tail().oldest_read_began()?))
    }

    fn tail(&self) -> MutexGuard<'_, FeedTail> {
        self.0.lock()
    }

    /// Reads the rows of one database that are not known yet.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn read_database(&self, tables: &dyn ChangeFeedReader, clock: &Clock, database: usize) -> Result<()> {
        read_new_rows(self, clock, database, |after| tables.read_changes(database, after, MAX_CHANGE_ROWS_PER_QUERY))
            .await
    }
}

/// Reads the new rows of one database. `query` returns its next [`MAX_CHANGE_ROWS_PER_QUERY`] rows after a number.
async fn read_new_rows<F: Future<Output = Result<Vec<ChangeRow>>>>(
    feed: &ChangeFeed,
    clock: &Clock,
    database: usize,
    query: impl Fn(u64) -> F,
) -> Result<()> {
    let began = clock.now();
    let mut after = feed.tail().databases[database].progress.settled();
    loop {
        let rows = query(after).await?;
        // The clock is read after the query: its rows were committed by then.
        feed.tail().add_rows(database, &rows, clock.now());
        match rows.last() {
            Some(last) if rows.len() >= MAX_CHANGE_ROWS_PER_QUERY => after = last.seq,
            _ => break,
        }
    }
    feed.tail().databases[database].read_began = Some(began);
    Ok(())
}

/// How far one database was read.
#[derive(Debug, Default)]
struct DatabaseRead {
    progress: FeedProgress,
    /// When the last complete read began.
    read_began: Option<u64>,
}

#[derive(Debug)]
struct FeedTail {
    databases: Vec<DatabaseRead>,
    /// Versions by the time the change became known and the comment.
    by_time: BTreeMap<(u64, CommentId), u64>,
    /// The time of each comment.
    times: HashMap<CommentId, u64>,
    /// The time of the newest change that was dropped.
    dropped: Option<u64>,
}

impl FeedTail {
    /// Adds the rows of a query that ended at `now`.
    fn add_rows(&mut self, database: usize, rows: &[ChangeRow], now: u64) {
        for row in rows {
            let DatabaseRead { progress, read_began } = &mut self.databases[database];
            if progress.is_known(row.seq) {
                continue;
            }
            let known = if read_began.is_none() { now.min(row.at + MAX_BROKER_DELAY_MS) } else { now };
            progress.add(row.seq, known);
            self.add(row.id, row.version, known);
        }
        self.databases[database].progress.settle(now);
        self.forget(now);
    }

    fn add(&mut self, id: CommentId, version: u64, known: u64) {
        if let Some(before) = self.times.get(&id) {
            let key = (*before, id);
            if self.by_time.get(&key).is_some_and(|before| *before >= version) {
                return;
            }
            self.by_time.remove(&key);
        }
        self.times.insert(id, known);
        self.by_time.insert((known, id), version);
    }

    fn forget(&mut self, now: u64) {
        while let Some((&(known, id), _)) = self.by_time.first_key_value() {
            if self.by_time.len() > ChangeFeedPage::MAX_ROWS {
                self.dropped = self.dropped.max(Some(known));
            } else if known + CHANGE_FEED_RETENTION_MS >= now {
                return;
            }
            self.by_time.pop_first();
            self.times.remove(&id);
        }
    }

    /// When the last read of the database that is furthest behind began.
    fn oldest_read_began(&self) -> Option<u64> {
        self.databases.iter().map(|database| database.read_began).min().flatten()
    }

    /// The changes since a time, and the time since which they are complete.
    fn since(&self, moment: u64) -> (u64, Vec<ChangedComment>) {
        let since = self.dropped.map_or(moment, |dropped| moment.max(dropped + CLOCK_SKEW_MS));
        let newest_first = self.by_time.iter().rev().take_while(|((known, _), _)| known + CLOCK_SKEW_MS >= moment);
        (since, newest_first.map(|(&(_, id), &version)| ChangedComment { id, version }).collect())
    }
}
