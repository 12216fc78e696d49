//! Notifies members and webhooks of what happened: turns events into rows of what they are notified.
//!
//! The tables write an event with what caused it, in the same transaction, so none is missed. This job reads the
//! comments of the events, writes the rows that they lead to, and then removes the events. What it writes is keyed by
//! the event, so doing it twice changes nothing. No post waits for it, however many it is about.
//!
//! One loop a database; one process at a time does the job of a database. An event for a member whose database does not
//! answer stays in the queue, and holds up no other. Watchers of threads are notified in `watchers.rs`.

#[cfg(test)]
mod tests;
mod watchers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, MemberId};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior, sleep};

use crate::clock::Clock;
use crate::domain::event::Event;
use crate::domain::mail_plan::mail_at;
use crate::domain::notification::{NewNotification, notifications_of, owner_member, owner_notification};
use crate::jobs::deliver_webhooks;
use crate::jobs::notify::watchers::{PublishedComments, WatcherBudget};
use crate::outage_log::OutageLog;
use crate::ports::store::{
    CommentReader, EventBacklog, EventQueues, MemberContacts, Notifications, QueuedEvent, Result, Watches, WebhookRows,
};
use crate::state::erased_members::ErasedMembers;
use crate::telemetry::Collector;

/// How often a queue is read.
const EVENT_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long after a failure it is read again: what is left is read as a whole.
const NOTIFY_RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Events that are read at once, with their comments: 4 MB of the longest texts.
const EVENTS_PER_READ: usize = 200;
/// Reads of one step: with a step every 500 ms, 20,000 events a second.
const MAX_READS_PER_STEP: usize = 50;
/// Most events of a queue: 100 MB. Beyond them the oldest are given up.
pub const MAX_QUEUED_EVENTS: u64 = 1_000_000;
/// The name of this job.
const NOTIFY_JOB: &str = "notify";
/// For how long a process does the job without saying so again. Another one takes over later.
const NOTIFY_LEASE_MS: u64 = 15_000;

/// Notifications that this process has written.
const NOTIFICATION_COUNT: &str = "gailou_notifications_total";
/// Events that wait.
const QUEUED_COUNT: &str = "gailou_event_queue_events";
/// How long the oldest has waited.
const QUEUE_AGE: &str = "gailou_event_queue_age_seconds";

/// The queues whose job this process does, by database.
#[derive(Debug, Default)]
pub struct EventQueueMetrics {
    /// A mutex that is held for one entry, never across an await.
    backlogs: Mutex<HashMap<usize, EventBacklog>>,
}

impl Collector for EventQueueMetrics {
    fn collect(&self) {
        describe_gauge!(QUEUED_COUNT, "Events of a database that members are not notified of yet.");
        describe_gauge!(QUEUE_AGE, "How long the oldest of them has waited.");
        for (database, backlog) in &*self.backlogs.lock() {
            let label = database.to_string();
            gauge!(QUEUED_COUNT, "database" => label.clone()).set(backlog.events as f64);
            gauge!(QUEUE_AGE, "database" => label).set(backlog.age_ms as f64 / 1_000.0);
        }
    }
}

/// What the job reads and writes.
pub trait NotifierTables: CommentReader + EventQueues + MemberContacts + Notifications + Watches {}

impl<T: CommentReader + EventQueues + MemberContacts + Notifications + Watches + ?Sized> NotifierTables for T {}

/// Turns the events of an installation into what members are notified.
#[derive(Debug)]
pub struct EventNotifier<S: ?Sized> {
    pub tables: Arc<S>,
    /// How many databases there are.
    pub databases: usize,
    /// Where deliveries to webhooks are written.
    pub webhooks: Arc<dyn WebhookRows>,
    pub erased_members: Arc<ErasedMembers>,
    /// Whether members are mailed.
    pub sends_mail: bool,
    /// Whether the owner of the installation is mailed of new and held comments.
    pub mails_owner: bool,
    pub clock: Clock,
    /// Which process this is.
    pub name: String,
    pub metrics: Arc<EventQueueMetrics>,
}

/// Where the job is in the queue of a database.
#[derive(Debug, Default)]
pub struct QueuePlace {
    /// The number of the last event that was read in this pass.
    after: u64,
    /// Until when this process need not say again that it does the job.
    claimed_until: Option<Instant>,
}

/// Notifies of the events of one database for as long as it is polled.
pub async fn run<S: NotifierTables + ?Sized>(notifier: Arc<EventNotifier<S>>, database: usize) {
    describe_counter!(NOTIFICATION_COUNT, "Notifications that this process has written.");
    let mut tick = tokio::time::interval(EVENT_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (outage, mut place) = (OutageLog::default(), QueuePlace::default());
    loop {
        tick.tick().await;
        match notifier.step(database, &mut place).await {
            Ok(()) => outage
                .end(|| tracing::info!(database, "Members are notified of the events of database {database} again")),
            Err(error) => {
                outage.begin(|| {
                    let retry_s = NOTIFY_RETRY_INTERVAL.as_secs();
                    tracing::warn!(database, retry_s, %error, "Could not notify members of the events of database {database}; retrying every {retry_s} s");
                });
                sleep(NOTIFY_RETRY_INTERVAL).await;
            }
        }
    }
}

impl<S: NotifierTables + ?Sized> EventNotifier<S> {
    /// Notifies of what waits, or of a part of much.
    ///
    /// # Errors
    /// The first of the tables. What could be written is written, and what could not is still in the queue.
    pub async fn step(&self, database: usize, place: &mut QueuePlace) -> Result<()> {
        let has_job = self.has_job(database, place).await;
        if !matches!(has_job, Ok(true)) {
            // Another process measures the queue, or may do so soon.
            self.metrics.backlogs.lock().remove(&database);
            return has_job.map(drop);
        }
        self.bound_queue(database).await?;
        let (mut failed, mut budget) = (Ok(()), WatcherBudget::new(self.databases));
        for _ in 0..MAX_READS_PER_STEP {
            let events = self.tables.read_events(database, place.after, EVENTS_PER_READ).await?;
            failed = failed.and(self.notify(database, &events, &mut budget).await);
            let is_end = events.len() < EVENTS_PER_READ;
            place.after = events.last().filter(|_| !is_end).map_or(0, |last| last.seq);
            if is_end {
                break;
            }
        }
        failed
    }

    /// Whether this process does the job of the database. It says so again long before another one may take over.
    async fn has_job(&self, database: usize, place: &mut QueuePlace) -> Result<bool> {
        let now = Instant::now();
        if place.claimed_until.is_none_or(|until| until <= now) {
            let is_claimed = self.tables.claim_job(database, NOTIFY_JOB, &self.name, NOTIFY_LEASE_MS).await?;
            place.claimed_until = is_claimed.then(|| now + Duration::from_millis(NOTIFY_LEASE_MS / 3));
        }
        Ok(place.claimed_until.is_some())
    }

    /// Gives up the oldest events of a queue that is too long.
    async fn bound_queue(&self, database: usize) -> Result<()> {
        let backlog = self.tables.read_event_backlog(database).await?;
        self.metrics.backlogs.lock().insert(database, backlog);
        let surplus = backlog.events.saturating_sub(MAX_QUEUED_EVENTS);
        if surplus > 0 {
            tracing::warn!(
                database,
                surplus,
                "Too many events wait in database {database}; members are not notified of the {surplus} oldest"
            );
            self.tables.clear_events(database, backlog.first + surplus - 1).await?;
        }
        Ok(())
    }

    /// Writes what these events lead to, and removes those of which everything is written.
    async fn notify(&self, database: usize, events: &[QueuedEvent], budget: &mut WatcherBudget) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let ids: BTreeSet<CommentId> = events.iter().map(|queued| queued.event.comment).collect();
        let mut rows = self.tables.read_comments(&ids.into_iter().collect::<Vec<_>>()).await?;
        // A comment without a row, or of an erased author, is not notified of.
        rows.retain(|_, row| !self.is_erased(row.author.id));
        let mut new = Vec::new();
        for QueuedEvent { event, .. } in events {
            let Some(row) = rows.get(&event.comment) else { continue };
            new.extend(notifications_of(event, row).into_iter().filter(|new| !self.is_erased(new.member)));
            new.extend(owner_notification(event).filter(|_| self.mails_owner));
        }
        let (unwritten, failed) = self.add_notifications(&new).await;
        let (standing, failed_watchers) = self.notify_watchers(&PublishedComments::new(events, &rows), budget).await;
        let is_left = |queued: &&QueuedEvent| {
            standing.contains(&queued.event.id)
                || new.iter().any(|new| new.id == queued.event.id && unwritten.contains(&new.member))
        };
        let left: Vec<u64> = if unwritten.is_empty() && standing.is_empty() {
            vec![]
        } else {
            events.iter().filter(is_left).map(|queued| queued.seq).collect()
        };
        // The rows of webhooks are in one database. While it is away, every event stays.
        let of_webhooks: Vec<Event> = events.iter().map(|queued| queued.event).collect();
        deliver_webhooks::queue(&*self.webhooks, &of_webhooks, self.clock.now()).await?;
        let done: Vec<QueuedEvent> = events.iter().filter(|queued| !left.contains(&queued.seq)).copied().collect();
        self.tables.remove_events(database, &done).await?;
        failed.and(failed_watchers)
    }

    fn is_erased(&self, member: MemberId) -> bool {
        self.erased_members.contains(member)
    }

    /// Writes notifications; the members for whom none could be written, and why.
    async fn add_notifications(&self, new: &[NewNotification]) -> (BTreeSet<MemberId>, Result<()>) {
        let mut by_database: BTreeMap<usize, Vec<NewNotification>> = BTreeMap::new();
        for row in new {
            by_database.entry(self.tables.database_of_member(row.member)).or_default().push(*row);
        }
        let added = by_database.iter().map(|(database, new)| self.add_to_database(*database, new));
        let added = join_all(added).await;
        let (mut unwritten, mut failed) = (BTreeSet::new(), Ok(()));
        for (new, added) in by_database.values().zip(added) {
            match added {
                Ok(members) => {
                    let count = new.iter().filter(|new| !members.contains(&new.member)).count();
                    counter!(NOTIFICATION_COUNT).increment(count as u64);
                    unwritten.extend(members);
                }
                Err(error) => {
                    unwritten.extend(new.iter().map(|new| new.member));
                    failed = Err(error);
                }
            }
        }
        (unwritten, failed)
    }

    /// Writes notifications of members that are in one database, with the moments at which they are mailed.
    async fn add_to_database(&self, database: usize, new: &[NewNotification]) -> Result<Vec<MemberId>> {
        let mut new = new.to_vec();
        self.set_mail_times(new.iter_mut().collect()).await?;
        self.tables.add_notifications(database, &new).await
    }

    /// Sets the moments at which members are mailed of these.
    async fn set_mail_times(&self, new: Vec<&mut NewNotification>) -> Result<()> {
        if !self.sends_mail || new.is_empty() {
            return Ok(());
        }
        let members: BTreeSet<MemberId> = new.iter().map(|new| new.member).collect();
        let contacts = self.tables.read_contacts(&members.into_iter().collect::<Vec<_>>()).await?;
        let now = self.clock.now();
        for row in new {
            row.mail_at = match contacts.get(&row.member) {
                _ if row.member == owner_member() => Some(now),
                Some(contact) if contact.email.is_some() => mail_at(contact.notify(), row.member, now),
                _ => None,
            };
        }
        Ok(())
    }
}
