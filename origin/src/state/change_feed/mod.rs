//! The change feed in memory: answers the edge's polls without a query for each.
//!
//! A gap in the numbers is waited for ([`crate::domain::change_feed`]); until then everything after it
//! is read again, and rows that are known change nothing. Not here: the rows ([`ChangeFeedReader`]), the loop
//! that reads them, and authorisation.
//!
//! Promise: a committed row is in the next page whose `now` is later, or its subject stands for it, unless its
//! transaction took longer than the wait; and rows that are dropped for lack of room move `since`.

mod bounded_changes;
#[cfg(test)]
mod tests;

use gailou_shared::wire::ChangeFeedPage;
use parking_lot::{Mutex, MutexGuard};

use self::bounded_changes::BoundedChanges;
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

/// The newest changes of all databases, at most [`ChangeFeedPage::MAX_ROWS`] comments and subjects.
#[derive(Debug)]
pub struct ChangeFeed(Mutex<FeedTail>);

impl ChangeFeed {
    /// An empty feed of so many databases.
    pub fn new(databases: usize) -> Self {
        let databases = (0..databases).map(|_| DatabaseRead::default()).collect();
        Self(Mutex::new(FeedTail { databases, changes: BoundedChanges::new(ChangeFeedPage::MAX_ROWS) }))
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
            let moment = read.saturating_sub(if span == Span::Full { FULL_SPAN_MS } else { TAIL_SPAN_MS });
            let (since, rows, subjects) = tail.changes.since(moment);
            ChangeFeedPage::new(read, since, now.saturating_sub(read), words, rows).with_subjects(subjects)
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
    changes: BoundedChanges,
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
            match row.id {
                Some(id) => self.changes.add(&row.subject, id, row.version, known),
                None => self.changes.add_subject(&row.subject, row.version, known),
            }
        }
        self.databases[database].progress.settle(now);
        self.changes.forget(now);
    }

    /// When the last read of the database that is furthest behind began.
    fn oldest_read_began(&self) -> Option<u64> {
        self.databases.iter().map(|database| database.read_began).min().flatten()
    }
}
