//! The job that notifies members, over SQLite, with what fails in front of it.

mod watchers;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use gailou_shared::id::{EventId, SubjectKey, WebhookId};
use gailou_shared::wire::{MemberRef, NotifyChoice, WebhookEvent};

use super::*;
use crate::adapters::sqlite::SqliteStore;
use crate::domain::audit::AuditEntry;
use crate::domain::email_address::EmailAddress;
use crate::domain::member_contact::{ContactPatch, MemberContact};
use crate::domain::notification::StoredNotification;
use crate::domain::operation::{LoggedOperation, Operation, WebhookChange};
use crate::domain::row::{CommentRow, NewCommentRow, SubjectRow};
use crate::domain::watch::{ReadyWatcher, StoredWatch, WatchInsertion, WatchNotification};
use crate::domain::webhook::{WebhookRow, WebhookSecret};
use crate::ports::store::{BatchWriter as _, EventBacklog, MailQueue as _, StoreError};
use crate::testing::fixtures::{TEST_START_MS, comment, member, new_row, subject_in};
use crate::testing::manual_clock::ManualClock;

/// Tables whose members are in two databases by their parity. The second one may be away, and an acknowledgement may
/// be lost before events are removed.
#[derive(Debug)]
struct FaultyTables {
    store: SqliteStore,
    is_away: AtomicBool,
    watchers_are_away: AtomicBool,
    loses_removal: AtomicBool,
}

fn away() -> StoreError {
    StoreError::Unavailable("away".into())
}

#[async_trait]
impl CommentReader for FaultyTables {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        self.store.read_subjects(keys).await
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        self.store.read_comments(ids).await
    }
}

#[async_trait]
impl EventQueues for FaultyTables {
    async fn read_events(&self, database: usize, after: u64, count: usize) -> Result<Vec<QueuedEvent>> {
        self.store.read_events(database, after, count).await
    }

    async fn remove_events(&self, database: usize, events: &[QueuedEvent]) -> Result<()> {
        if self.loses_removal.swap(false, Ordering::Relaxed) {
            return Err(away());
        }
        self.store.remove_events(database, events).await
    }

    async fn clear_events(&self, database: usize, last: u64) -> Result<()> {
        self.store.clear_events(database, last).await
    }

    async fn read_event_backlog(&self, database: usize) -> Result<EventBacklog> {
        self.store.read_event_backlog(database).await
    }

    async fn claim_job(&self, database: usize, job: &'static str, holder: &str, duration_ms: u64) -> Result<bool> {
        self.store.claim_job(database, job, holder, duration_ms).await
    }
}

#[async_trait]
impl Notifications for FaultyTables {
    fn database_of_member(&self, member: MemberId) -> usize {
        (member.get() % 2) as usize
    }

    async fn add_notifications(&self, database: usize, new: &[NewNotification]) -> Result<Vec<MemberId>> {
        match database {
            1 if self.is_away.load(Ordering::Relaxed) => Err(away()),
            _ => self.store.add_notifications(0, new).await,
        }
    }

    async fn list_notifications(
        &self,
        member: MemberId,
        below: Option<EventId>,
        count: usize,
    ) -> Result<Vec<StoredNotification>> {
        self.store.list_notifications(member, below, count).await
    }

    async fn count_unread(&self, member: MemberId) -> Result<u64> {
        self.store.count_unread(member).await
    }

    async fn mark_read(&self, member: MemberId, up_to: EventId) -> Result<()> {
        self.store.mark_read(member, up_to).await
    }

    async fn delete_notifications_of(&self, member: MemberId) -> Result<()> {
        self.store.delete_notifications_of(member).await
    }
}

#[async_trait]
impl Watches for FaultyTables {
    async fn add_watches(&self, member: MemberId, watches: &[StoredWatch]) -> Result<WatchInsertion> {
        self.store.add_watches(member, watches).await
    }

    async fn delete_watch(&self, member: MemberId, subject: &SubjectKey) -> Result<()> {
        self.store.delete_watch(member, subject).await
    }

    async fn is_watching(&self, member: MemberId, subject: &SubjectKey) -> Result<bool> {
        self.store.is_watching(member, subject).await
    }

    async fn list_watches(&self, member: MemberId, below: Option<EventId>, count: usize) -> Result<Vec<StoredWatch>> {
        self.store.list_watches(member, below, count).await
    }

    async fn end_waiting(&self, member: MemberId, notified: &[EventId]) -> Result<()> {
        self.store.end_waiting(member, notified).await
    }

    async fn delete_watches_of(&self, member: MemberId) -> Result<()> {
        self.store.delete_watches_of(member).await
    }

    async fn list_ready_watchers(
        &self,
        database: usize,
        subjects: &[SubjectKey],
        after: Option<&ReadyWatcher>,
        count: usize,
    ) -> Result<Vec<ReadyWatcher>> {
        if database == 1 && self.watchers_are_away.load(Ordering::Relaxed) {
            return Err(away());
        }
        // Both databases are one file.
        let mut found = Vec::new();
        let mut after = after.cloned();
        loop {
            let Some(next) = self.store.list_ready_watchers(0, subjects, after.as_ref(), 1).await?.pop() else { break };
            if self.database_of_member(next.member) == database {
                found.push(next.clone());
            }
            after = Some(next);
            if found.len() == count {
                break;
            }
        }
        Ok(found)
    }

    async fn notify_watchers(&self, database: usize, new: &[WatchNotification]) -> Result<Vec<MemberId>> {
        match database {
            1 if self.watchers_are_away.load(Ordering::Relaxed) => Err(away()),
            _ => self.store.notify_watchers(0, new).await,
        }
    }
}

#[async_trait]
impl MemberContacts for FaultyTables {
    async fn read_contacts(&self, members: &[MemberId]) -> Result<HashMap<MemberId, MemberContact>> {
        self.store.read_contacts(members).await
    }

    async fn change_contact(&self, member: MemberId, patch: &ContactPatch) -> Result<MemberContact> {
        self.store.change_contact(member, patch).await
    }
}

/// Tables, and the job over them.
struct Notifying {
    tables: Arc<FaultyTables>,
    webhooks: Arc<SqliteStore>,
    notifier: EventNotifier<FaultyTables>,
    place: QueuePlace,
}

impl Notifying {
    fn open(folder: &Path) -> Self {
        let store = SqliteStore::open(&folder.join("gailou.db"), Default::default()).unwrap();
        let tables = Arc::new(FaultyTables {
            store,
            is_away: false.into(),
            watchers_are_away: false.into(),
            loses_removal: false.into(),
        });
        let webhooks = Arc::new(SqliteStore::open(&folder.join("webhooks.db"), Default::default()).unwrap());
        let notifier = EventNotifier {
            tables: tables.clone(),
            databases: 2,
            webhooks: webhooks.clone(),
            erased_members: Arc::default(),
            sends_mail: true,
            mails_owner: false,
            clock: ManualClock::at(TEST_START_MS).clock(),
            name: "one".into(),
            metrics: Arc::default(),
        };
        Self { tables, webhooks, notifier, place: QueuePlace::default() }
    }

    /// Publishes comments, each of which mentions these members.
    async fn publish(&self, numbers: std::ops::Range<u64>, mentions: &[u64]) {
        let mentions: Vec<MemberRef> =
            mentions.iter().map(|number| MemberRef { id: member(*number), name: "name".into() }).collect();
        let publish = |number| {
            let new = NewCommentRow { mentions: mentions.clone(), ..new_row(&subject_in(0), comment(0, number)) };
            LoggedOperation::new(TEST_START_MS + number, Operation::Publish(Box::new(new)))
        };
        self.tables.store.persist(&numbers.map(publish).collect::<Vec<_>>()).await.unwrap();
    }

    async fn step(&mut self) -> Result<()> {
        self.notifier.step(0, &mut self.place).await
    }

    async fn waiting(&self) -> usize {
        self.tables.read_events(0, 0, 100_000).await.unwrap().len()
    }

    /// How much a member is notified of.
    async fn count(&self, number: u64) -> usize {
        self.tables.list_notifications(member(number), None, 10_000).await.unwrap().len()
    }
}

#[tokio::test]
async fn lost_removal_notifies_of_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.publish(0..5, &[2, 3]).await;
    notifying.tables.loses_removal.store(true, Ordering::Relaxed);
    assert!(notifying.step().await.is_err());
    assert_eq!((notifying.waiting().await, notifying.count(2).await, notifying.count(3).await), (5, 5, 5));
    let last = notifying.tables.list_notifications(member(2), None, 1).await.unwrap()[0].id;
    notifying.tables.mark_read(member(2), last).await.unwrap();
    notifying.step().await.unwrap();
    assert_eq!((notifying.waiting().await, notifying.count(2).await, notifying.count(3).await), (0, 5, 5));
    assert_eq!(notifying.tables.count_unread(member(2)).await.unwrap(), 0, "what is read stays read");
}

#[tokio::test]
async fn database_that_is_away_holds_up_its_own_members_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.tables.is_away.store(true, Ordering::Relaxed);
    // More than one read of the queue.
    notifying.publish(0..500, &[3]).await;
    notifying.publish(500..510, &[2]).await;
    notifying.publish(510..511, &[2, 3]).await;
    assert!(notifying.step().await.is_err());
    assert_eq!((notifying.count(2).await, notifying.count(3).await), (11, 0));
    assert_eq!(notifying.waiting().await, 501);
    notifying.publish(511..512, &[4]).await;
    assert!(notifying.step().await.is_err());
    assert_eq!((notifying.count(4).await, notifying.waiting().await), (1, 501));
    notifying.tables.is_away.store(false, Ordering::Relaxed);
    notifying.step().await.unwrap();
    assert_eq!((notifying.count(2).await, notifying.count(3).await, notifying.waiting().await), (11, 501, 0));
}

#[tokio::test]
async fn erased_members_are_notified_of_nothing_and_nothing_is_notified_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.publish(0..1, &[2, 3]).await;
    notifying.notifier.erased_members.add(member(3));
    notifying.step().await.unwrap();
    notifying.publish(1..2, &[2]).await;
    // The author of every comment here.
    notifying.notifier.erased_members.add(member(1));
    notifying.step().await.unwrap();
    assert_eq!((notifying.count(2).await, notifying.count(3).await, notifying.waiting().await), (1, 0, 0));
}

#[tokio::test]
async fn events_stay_until_their_deliveries_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    let id = WebhookId::new(7).unwrap();
    let row = WebhookRow {
        id,
        url: "https://example.com/".into(),
        events: vec![WebhookEvent::Created],
        template: None,
        secret: WebhookSecret::new([7; 32]),
        created_at: TEST_START_MS,
        failing_since: None,
        dropped: 0,
    };
    let actor = MemberRef { id: member(1), name: "name".into() };
    let entry = comment(0, 0).into();
    let audit = AuditEntry { id: entry, actor, action: "add_webhook", reason: None, before: None, after: None };
    let audit = Box::new(audit);
    let add = Operation::Webhook { change: WebhookChange::Add(Box::new(row)), audit };
    notifying.webhooks.persist(&[LoggedOperation::new(TEST_START_MS, add)]).await.unwrap();
    notifying.publish(0..3, &[2]).await;
    notifying.webhooks.execute("ALTER TABLE webhook RENAME TO webhook_away");
    assert!(notifying.step().await.is_err());
    assert_eq!((notifying.waiting().await, notifying.count(2).await), (3, 3), "members do not wait for it");
    notifying.webhooks.execute("ALTER TABLE webhook_away RENAME TO webhook");
    notifying.tables.loses_removal.store(true, Ordering::Relaxed);
    assert!(notifying.step().await.is_err());
    notifying.step().await.unwrap();
    let deliveries = notifying.webhooks.list_deliveries(id, None, 10).await.unwrap();
    assert_eq!((notifying.waiting().await, notifying.count(2).await, deliveries.len()), (0, 3, 3));
}

#[tokio::test]
async fn queue_that_is_too_long_loses_its_oldest_events() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.publish(0..10, &[2]).await;
    // As if others had been between them.
    let shift = format!("UPDATE event SET seq = seq + {} WHERE seq > 4", MAX_QUEUED_EVENTS - 1);
    notifying.tables.store.execute(&shift);
    notifying.step().await.unwrap();
    // Of a million and nine numbers the first nine are gone.
    assert_eq!((notifying.count(2).await, notifying.waiting().await), (6, 0));
}

#[tokio::test]
async fn members_are_mailed_as_they_have_chosen_and_the_owner_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.notifier.mails_owner = true;
    let store = &notifying.tables.store;
    for (of, notify) in [(2, None), (3, Some(NotifyChoice::Daily)), (4, Some(NotifyChoice::Never))] {
        let email = EmailAddress::parse(&format!("m{of}@example.com"));
        store.change_contact(member(of), &ContactPatch { email, notify, language: None }).await.unwrap();
    }
    // Member 5 has no address.
    notifying.publish(0..3, &[2, 3, 4, 5]).await;
    notifying.step().await.unwrap();
    let store = &notifying.tables.store;
    let due = async |now: u64| {
        let mails = store.claim_mails(0, now, now + 1_000_000_000, 10).await.unwrap();
        mails.into_iter().map(|mail| (mail.member, mail.rows.len(), mail.tries)).collect::<BTreeSet<_>>()
    };
    assert_eq!(due(TEST_START_MS).await, BTreeSet::from([(member(2), 3, 1), (owner_member(), 3, 1)]));
    assert_eq!(due(TEST_START_MS + 86_400_000).await, BTreeSet::from([(member(3), 3, 1)]));
}

/// The post writes one row, whatever waits and however many are notified of it.
#[tokio::test]
async fn post_is_as_fast_while_ten_thousand_events_wait() {
    const POSTS: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let notifying = Notifying::open(folder.path());
    let median = async |first: u64, mentions: &[u64]| {
        let mut times = Vec::new();
        for number in first..first + POSTS {
            let begun = Instant::now();
            notifying.publish(number..number + 1, mentions).await;
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        times[times.len() / 2]
    };
    let alone = median(0, &[]).await;
    let all: Vec<u64> = (2..22).collect();
    notifying.tables.store.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
         INSERT INTO event (id, at, comment_id, kind, queued_at) SELECT i, i, i, 0, i FROM n",
    );
    assert!(notifying.waiting().await >= 10_000);
    let behind = median(20_000, &all).await;
    eprintln!("a post took {alone:?} with an empty queue, {behind:?} with 10,000 events and 20 recipients");
    assert!(behind < alone * 2 + Duration::from_millis(5), "{behind:?} instead of {alone:?}");
}
