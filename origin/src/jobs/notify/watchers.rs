//! Notifies watchers of new comments: in each database a page of the watchers of all threads of a read after another, each
//! page written in one transaction. Who has not read what they were notified of before is not even read here, so a
//! thread that goes on costs each of its watchers one row, however many comments it has.
//!
//! A step notifies a bounded number of watchers. The events of a thread that has more of them stay in the queue, and the
//! next step finds those who are left, since who is notified waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, EventId, MemberId, SubjectKey};
use gailou_shared::wire::SubjectState;
use metrics::counter;

use crate::domain::event::EventKind;
use crate::domain::notification::notifications_of;
use crate::domain::row::CommentRow;
use crate::domain::watch::{WatchNotification, WatchedComment, watch_notification};
use crate::jobs::notify::{EventNotifier, NOTIFICATION_COUNT, NotifierTables};
use crate::ports::store::{QueuedEvent, Result};

/// Watchers that one transaction notifies: 100 kB of statements, some ten milliseconds.
const WATCHERS_PER_PAGE: usize = 500;

/// Watchers of one database that one step notifies, and up to a page more: with a step every 500 ms, 4,000 a second, which
/// leave nine tenths of a database's time to posts.
const MAX_WATCHERS_PER_STEP: usize = 2_000;

/// How many watchers of each database a step may still notify.
#[derive(Debug)]
pub(super) struct WatcherBudget(Vec<usize>);

impl WatcherBudget {
    pub(super) fn new(databases: usize) -> Self {
        Self(vec![MAX_WATCHERS_PER_STEP; databases])
    }
}

/// What was published, by thread, in the order of the events.
#[derive(Debug, Default)]
pub(super) struct PublishedComments(BTreeMap<SubjectKey, Vec<WatchedComment>>);

impl PublishedComments {
    /// Those of these events whose comments every reader sees.
    pub(super) fn new(events: &[QueuedEvent], rows: &HashMap<CommentId, CommentRow>) -> Self {
        let mut by_thread: BTreeMap<SubjectKey, Vec<WatchedComment>> = BTreeMap::new();
        for QueuedEvent { event, queued_at, .. } in events {
            let Some(row) = rows.get(&event.comment).filter(|row| row.is_visible()) else { continue };
            if event.kind == EventKind::Published {
                let others = notifications_of(event, row).into_iter().map(|new| new.member);
                let except = [row.author.id].into_iter().chain(others).collect();
                let comment = WatchedComment { event: *event, queued_at: *queued_at, except };
                by_thread.entry(row.subject.clone()).or_default().push(comment);
            }
        }
        by_thread.values_mut().for_each(|published| published.sort_by_key(|comment| comment.event.id));
        Self(by_thread)
    }

    /// The events that stay in the queue for watchers of these threads who could not be notified: the first one of a
    /// thread, the last one, and the last one of another author, who may watch too. They stand for all between them, so
    /// what waits for a database that is away grows with the threads and not with their comments.
    fn standing_for(&self, threads: &BTreeSet<SubjectKey>) -> BTreeSet<EventId> {
        let standing = |published: &[WatchedComment]| {
            let last = published.last();
            let is_of_another =
                |comment: &&WatchedComment| comment.except.first() != last.and_then(|last| last.except.first());
            let of_another = published.iter().rfind(is_of_another);
            [published.first(), of_another, last]
                .into_iter()
                .flatten()
                .map(|comment| comment.event.id)
                .collect::<Vec<_>>()
        };
        threads.iter().filter_map(|thread| self.0.get(thread)).flat_map(|published| standing(published)).collect()
    }
}

impl<S: NotifierTables + ?Sized> EventNotifier<S> {
    /// Notifies the watchers of these threads. The events that wait for those who are not notified yet, and what failed.
    pub(super) async fn notify_watchers(
        &self,
        published: &PublishedComments,
        budget: &mut WatcherBudget,
    ) -> (BTreeSet<EventId>, Result<()>) {
        if published.0.is_empty() {
            return (BTreeSet::new(), Ok(()));
        }
        let databases = budget.0.iter_mut().enumerate();
        let notified = databases.map(|(database, left)| self.notify_watchers_in(database, published, left));
        let (mut waiting, mut failed) = (BTreeSet::new(), Ok(()));
        for notified in join_all(notified).await {
            match notified {
                Ok(threads) => waiting.extend(threads),
                Err(error) => {
                    waiting.extend(published.0.keys().cloned());
                    failed = Err(error);
                }
            }
        }
        (published.standing_for(&waiting), failed)
    }

    /// Notifies those in one database. The threads with watchers who are on their way to another one, or may be beyond the
    /// budget.
    async fn notify_watchers_in(
        &self,
        database: usize,
        published: &PublishedComments,
        budget: &mut usize,
    ) -> Result<BTreeSet<SubjectKey>> {
        let subjects: Vec<SubjectKey> = published.0.keys().cloned().collect();
        let (mut waiting, mut hidden, mut after) = (BTreeSet::new(), BTreeMap::new(), None);
        loop {
            let page = self.tables.list_ready_watchers(database, &subjects, after.as_ref(), WATCHERS_PER_PAGE).await?;
            let of_page: BTreeSet<&SubjectKey> = page.iter().map(|watcher| &watcher.subject).collect();
            self.read_hidden(&mut hidden, of_page).await?;
            let new = page.iter().filter(|watcher| !self.is_erased(watcher.member)).filter_map(|watcher| {
                let is_hidden = hidden.get(&watcher.subject) == Some(&true);
                let comments = published.0.get(&watcher.subject).filter(|_| !is_hidden)?;
                watch_notification(watcher, comments)
            });
            let new: Vec<WatchNotification> = new.collect();
            if !new.is_empty() && *budget == 0 {
                return Ok(published.0.keys().cloned().collect());
            }
            *budget = budget.saturating_sub(new.len());
            waiting.extend(self.write_page(new).await?);
            if page.len() < WATCHERS_PER_PAGE {
                return Ok(waiting);
            }
            after = page.into_iter().next_back();
        }
    }

    /// Reads of those threads that are not known yet whether they are hidden: readers do not see their comments.
    async fn read_hidden(&self, known: &mut BTreeMap<SubjectKey, bool>, wanted: BTreeSet<&SubjectKey>) -> Result<()> {
        let unknown: Vec<SubjectKey> = wanted.into_iter().filter(|key| !known.contains_key(key)).cloned().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let rows = self.tables.read_subjects(&unknown).await?;
        let is_hidden = rows.into_iter().map(|row| row.is_some_and(|row| row.state == SubjectState::Hidden));
        known.extend(unknown.into_iter().zip(is_hidden));
        Ok(())
    }

    /// Writes a page, each watcher's where their slot is. The threads of those who are on their way to another database.
    async fn write_page(&self, mut new: Vec<WatchNotification>) -> Result<BTreeSet<SubjectKey>> {
        self.set_mail_times(new.iter_mut().map(|row| &mut row.new).collect()).await?;
        let mut by_database: BTreeMap<usize, Vec<WatchNotification>> = BTreeMap::new();
        for row in new {
            by_database.entry(self.tables.database_of_member(row.new.member)).or_default().push(row);
        }
        let mut waiting = BTreeSet::new();
        for (database, new) in by_database {
            let left: BTreeSet<MemberId> = self.tables.notify_watchers(database, &new).await?.into_iter().collect();
            counter!(NOTIFICATION_COUNT).increment((new.len() - left.len()) as u64);
            waiting.extend(new.into_iter().filter(|row| left.contains(&row.new.member)).map(|row| row.subject));
        }
        Ok(waiting)
    }
}
