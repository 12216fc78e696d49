//! The change feed in memory: what the edge asks for, without a query for each question.
//!
//! A row gets its number when it is written and appears when it is committed, so that a smaller
//! number may appear after a larger one. Whoever reads goes past a missing number only after
//! fifteen seconds; until then everything after it is read again, and what is known already changes
//! nothing. Not here: the rows themselves ([`ChangeFeedReader`]) and who may ask.
//!
//! Promise: a row that is committed is in the next document whose `now` is later, unless its
//! transaction took longer than the overlap; and what is left out for want of room moves `since`.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gailou_shared::id::CommentId;
use gailou_shared::wire::{ChangeFeedPage, ChangedComment};

use crate::clock::Clock;
use crate::domain::operation::{CHANGE_FEED_RETENTION_MS, ChangeRow};
use crate::ports::store::{ChangeFeedReader, Result};

/// Rows of one query.
const ROWS: usize = 1_000;
/// How long a missing number may still appear, in milliseconds.
const OVERLAP_MS: u64 = 15_000;
/// How much later than it was accepted a row found at the start may have been committed, in
/// milliseconds: the log may have been behind. Of later rows it is known when they appeared.
const LATE_MS: u64 = 600_000;
/// How far back the short document reaches, in milliseconds: what asks every two seconds may fail
/// for two minutes before it needs the long one.
const TAIL_MS: u64 = 120_000;
/// How far the clocks of origins may be apart, in milliseconds.
const CLOCKS_MS: u64 = 10_000;
/// How far back the long document reaches, in milliseconds: half an hour longer than any page is
/// served.
const DAY_MS: u64 = CHANGE_FEED_RETENTION_MS - 3 * LATE_MS;
/// After this time without any database, in milliseconds, there is no document.
const SILENT_MS: u64 = 5_000;

/// How far back a document reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Two minutes.
    Tail,
    /// As long as pages are served.
    Day,
}

/// The newest changes of all databases, at most [`ChangeFeedPage::MAX_ROWS`] comments.
#[derive(Debug)]
pub struct ChangeFeed(Mutex<Tail>);

impl ChangeFeed {
    /// Nothing is known yet of so many databases.
    pub fn new(databases: usize) -> Self {
        let databases = (0..databases).map(|_| Database::default()).collect();
        Self(Mutex::new(Tail { databases, by_time: BTreeMap::new(), times: HashMap::new(), dropped: None }))
    }

    /// How many databases there are.
    pub fn databases(&self) -> usize {
        self.tail().databases.len()
    }

    /// What changed; `None` until every database was read once, and while none can be read.
    pub fn document(&self, span: Span, now: u64, words: u64) -> Option<ChangeFeedPage> {
        let tail = self.tail();
        let newest = tail.databases.iter().filter_map(|database| database.read).max()?;
        let read = tail.read()?;
        (now.saturating_sub(newest) <= SILENT_MS).then(|| {
            let (since, rows) = tail.since(read.saturating_sub(if span == Span::Day { DAY_MS } else { TAIL_MS }));
            ChangeFeedPage::new(read, since, now.saturating_sub(read), words, rows)
        })
    }

    /// How long ago the last complete reading began, in milliseconds; `None` before the first.
    pub fn behind(&self, now: u64) -> Option<u64> {
        Some(now.saturating_sub(self.tail().read()?))
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the rows of one database that are not known yet.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn read_database(&self, tables: &dyn ChangeFeedReader, clock: &Clock, database: usize) -> Result<()> {
        read(self, clock, database, |after| tables.read_changes(database, after, ROWS)).await
    }
}

/// Reads what is new in one database. `query` gives its next [`ROWS`] rows after a number.
async fn read<F: Future<Output = Result<Vec<ChangeRow>>>>(
    feed: &ChangeFeed,
    clock: &Clock,
    database: usize,
    query: impl Fn(u64) -> F,
) -> Result<()> {
    let began = clock.now();
    let mut after = feed.tail().databases[database].settled;
    loop {
        let rows = query(after).await?;
        // After the query: whatever it found had been committed by now.
        feed.tail().take(database, &rows, clock.now());
        match rows.last() {
            Some(last) if rows.len() >= ROWS => after = last.seq,
            _ => break,
        }
    }
    feed.tail().databases[database].read = Some(began);
    Ok(())
}

/// How far one database was read.
#[derive(Debug, Default)]
struct Database {
    /// Every number up to this one was seen, or is waited for no more.
    settled: u64,
    /// Numbers seen beyond a missing one, with the moment they became known.
    ahead: BTreeMap<u64, u64>,
    /// When the last complete reading began.
    read: Option<u64>,
}

impl Database {
    fn settle(&mut self, now: u64) {
        while let Some((&seq, &known)) = self.ahead.first_key_value() {
            if seq != self.settled + 1 && now < known + OVERLAP_MS {
                return;
            }
            self.settled = seq;
            self.ahead.pop_first();
        }
    }
}

#[derive(Debug)]
struct Tail {
    databases: Vec<Database>,
    /// Versions by the moment the change became known and the comment.
    by_time: BTreeMap<(u64, CommentId), u64>,
    /// That moment of each comment.
    times: HashMap<CommentId, u64>,
    /// That moment of the newest change left out.
    dropped: Option<u64>,
}

impl Tail {
    /// Takes in what a query found that had ended by `now`.
    fn take(&mut self, database: usize, rows: &[ChangeRow], now: u64) {
        for row in rows {
            let place = &mut self.databases[database];
            if row.seq <= place.settled || place.ahead.contains_key(&row.seq) {
                continue;
            }
            let known = if place.read.is_none() { now.min(row.at + LATE_MS) } else { now };
            place.ahead.insert(row.seq, known);
            self.add(row.id, row.version, known);
        }
        self.databases[database].settle(now);
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

    /// When the last reading of the database that is furthest behind began.
    fn read(&self) -> Option<u64> {
        self.databases.iter().map(|database| database.read).min().flatten()
    }

    /// The changes since a moment, and since when they are complete.
    fn since(&self, moment: u64) -> (u64, Vec<ChangedComment>) {
        let since = self.dropped.map_or(moment, |dropped| moment.max(dropped + CLOCKS_MS));
        let newest_first = self.by_time.iter().rev().take_while(|((known, _), _)| known + CLOCKS_MS >= moment);
        (since, newest_first.map(|(&(_, id), &version)| ChangedComment { id, version }).collect())
    }
}
