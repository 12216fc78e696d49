//! The change feed in memory: answers the edge's polls without a query for each.
//!
//! A gap in the numbers is waited for ([`crate::domain::change_feed`]); until then everything after it
//! is read again, and rows that are known change nothing. Not here: the rows ([`ChangeFeedReader`]), the loop
//! that reads them, and authorisation.
//!
//! Promise: a committed row is in the next page whose `now` is later, or its subject stands for it, unless its
//! transaction took longer than an hour; and rows that are dropped for lack of room move `since`. So does a database
//! that has gone back, whether its feed says so ([`ChangeRow::is_rewind`]) or contradicts what was read of it.

mod bounded_changes;
#[cfg(test)]
mod tests;

use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::{ChangeFeedPage, SlotsAhead};
use parking_lot::{Mutex, MutexGuard};

use self::bounded_changes::BoundedChanges;
use crate::clock::Clock;
use crate::domain::change_feed::{FeedProgress, MAX_BROKER_DELAY_MS, MAX_CHANGE_ROWS_PER_QUERY};
use crate::domain::operation::{CHANGE_FEED_RETENTION_MS, ChangeRow};
use crate::ports::store::{ChangeFeedReader, Result};

/// How far back the short page reaches, in milliseconds: an edge that polls every two seconds may fail
/// for two minutes before it needs the long one.
const TAIL_SPAN_MS: u64 = 120_000;
/// How far apart the clocks of origins may be, in milliseconds.
const CLOCK_SKEW_MS: u64 = 10_000;
/// How far back the long page reaches, in milliseconds: half an hour longer than any cached page is
/// served.
const FULL_SPAN_MS: u64 = CHANGE_FEED_RETENTION_MS - 3 * MAX_BROKER_DELAY_MS;
/// How much later than another database one was read that is ahead of it, in milliseconds: reads are half a second
/// apart.
const MIN_LAG_MS: u64 = 1_500;
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

    /// The changes; `None` until a database was read once, and while none answers.
    pub fn page(&self, span: Span, now: u64, words: u64) -> Option<ChangeFeedPage> {
        let tail = self.tail();
        let newest = tail.databases.iter().filter_map(|database| database.read_began).max()?;
        // While a database was never read, nothing is known of all of them.
        let read = tail.oldest_read_began().unwrap_or(0);
        (now.saturating_sub(newest) <= MAX_SILENCE_MS).then(|| {
            let reach = if span == Span::Full { FULL_SPAN_MS } else { TAIL_SPAN_MS };
            let (since, rows, subjects) = tail.changes.since(read.saturating_sub(reach));
            let page = ChangeFeedPage::new(read, since, now.saturating_sub(read), words, rows).with_subjects(subjects);
            let ahead = tail.slots_ahead(newest, reach, now);
            page.with_ahead(ahead)
        })
    }

    /// How long ago the last complete read began, in milliseconds; `None` before the first.
    pub fn age_ms(&self, now: u64) -> Option<u64> {
        Some(now.saturating_sub(self.tail().oldest_read_began()?))
    }

    /// Whether a database was found to have gone back since the last call.
    pub fn take_rewind(&self, database: usize) -> bool {
        std::mem::take(&mut self.tail().databases[database].has_gone_back)
    }

    fn tail(&self) -> MutexGuard<'_, FeedTail> {
        self.0.lock()
    }

    /// Reads the rows of one database that are not known yet.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn read_database(&self, tables: &dyn ChangeFeedReader, clock: &Clock, database: usize) -> Result<()> {
        // Before the rows: a slot that comes to the database in between counts from the next read on.
        let slots = tables.slots_of(database);
        let holes = self.tail().databases[database].progress.holes(clock.now());
        if !holes.is_empty() {
            let rows = tables.read_changes_at(database, &holes).await?;
            self.tail().add_rows(database, &rows, clock.now());
        }
        let query = |after| tables.read_changes(database, after, MAX_CHANGE_ROWS_PER_QUERY);
        read_new_rows(self, clock, database, slots, query).await
    }
}

/// Reads the new rows of one database, which has these slots. `query` returns its next [`MAX_CHANGE_ROWS_PER_QUERY`]
/// rows after a number.
async fn read_new_rows<F: Future<Output = Result<Vec<ChangeRow>>>>(
    feed: &ChangeFeed,
    clock: &Clock,
    database: usize,
    slots: SlotSet,
    query: impl Fn(u64) -> F,
) -> Result<()> {
    let began = clock.now();
    let mut after = feed.tail().begin_read(database, &slots);
    loop {
        let rows = query(after).await?;
        let is_all = rows.len() < MAX_CHANGE_ROWS_PER_QUERY;
        // The clock is read after the query: its rows were committed by then.
        let (mut tail, now) = (feed.tail(), clock.now());
        if tail.databases[database].progress.is_contradicted(after, &rows, is_all, now) {
            tail.begin_again(database, now);
            after = 0;
            continue;
        }
        tail.add_rows(database, &rows, now);
        match rows.last() {
            Some(last) if !is_all => after = last.seq,
            _ => {
                tail.end_read(database, began, slots);
                return Ok(());
            }
        }
    }
}

/// How far one database was read.
#[derive(Debug, Default)]
struct DatabaseRead {
    progress: FeedProgress,
    /// Whether it was read to its end since it was begun, or begun again.
    was_read: bool,
    /// When the last complete read began.
    read_began: Option<u64>,
    /// The slots that it had then, and has.
    slots: SlotSet,
    /// See [`ChangeFeed::take_rewind`].
    has_gone_back: bool,
}

#[derive(Debug)]
struct FeedTail {
    databases: Vec<DatabaseRead>,
    changes: BoundedChanges,
}

impl FeedTail {
    /// Begins to read a database that has these slots; the number to read after.
    fn begin_read(&mut self, database: usize, slots: &SlotSet) -> u64 {
        let database = &mut self.databases[database];
        database.slots = database.slots.union(slots);
        database.progress.read_after()
    }

    /// A database was read to its end.
    fn end_read(&mut self, database: usize, began: u64, slots: SlotSet) {
        let database = &mut self.databases[database];
        (database.was_read, database.read_began, database.slots) = (true, Some(began), slots);
    }

    /// Begins a database from its first row again, because it has gone back: what was known of it is void.
    fn begin_again(&mut self, database: usize, now: u64) {
        let database = &mut self.databases[database];
        (database.progress, database.was_read, database.has_gone_back) = (FeedProgress::default(), false, true);
        self.changes.void_before(&database.slots, now);
    }

    /// Adds the rows of a query that ended at `now`.
    fn add_rows(&mut self, database: usize, rows: &[ChangeRow], now: u64) {
        for row in rows {
            let DatabaseRead { progress, was_read, slots, .. } = &mut self.databases[database];
            if progress.is_known(row.seq) {
                continue;
            }
            let known = if *was_read { now } else { now.min(row.at + MAX_BROKER_DELAY_MS) };
            progress.add(row, known);
            match row.id {
                // What was read before it may be of the lost time.
                Some(_) if row.is_rewind() => self.changes.void_before(slots, row.at.min(now)),
                Some(id) => self.changes.add(&row.subject, id, row.version, known),
                None => self.changes.add_subject(&row.subject, row.version, known),
            }
        }
        self.databases[database].progress.settle(now);
        self.changes.forget(now);
    }

    /// What is known of the slots of other databases than those that are away or have gone back, if there are such.
    fn slots_ahead(&self, newest: u64, reach: u64, now: u64) -> Option<SlotsAhead> {
        let is_ahead = |database: &&DatabaseRead| database.read_began.is_some_and(|began| began + MIN_LAG_MS > newest);
        let slots_of = |databases: &mut dyn Iterator<Item = &DatabaseRead>| {
            databases.fold(SlotSet::default(), |all, database| all.union(&database.slots))
        };
        let read = self.databases.iter().filter(is_ahead).filter_map(|database| database.read_began).min()?;
        let moment = read.saturating_sub(reach);
        let is_lagging = self.databases.iter().any(|database| !is_ahead(&database));
        let rewound = self.changes.rewound_since(moment);
        // A slot that has moved lags with each database that may have changes of it.
        let lagging = slots_of(&mut self.databases.iter().filter(|database| !is_ahead(database)));
        let slots = slots_of(&mut self.databases.iter().filter(is_ahead)).without(&lagging).without(&rewound);
        ((is_lagging || !rewound.is_empty()) && !slots.is_empty()).then(|| SlotsAhead {
            slots,
            now: read,
            since: self.changes.complete_since(moment),
            behind: now.saturating_sub(read),
        })
    }

    /// When the last read of the database that is furthest behind began.
    fn oldest_read_began(&self) -> Option<u64> {
        self.databases.iter().map(|database| database.read_began).min().flatten()
    }
}
