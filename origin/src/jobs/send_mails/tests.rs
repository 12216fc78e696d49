//! The job that sends mails, over SQLite and a mail server that fails as it is notified.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use gailou_shared::id::EventId;
use parking_lot::Mutex;

use super::*;
use crate::adapters::sqlite::SqliteStore;
use crate::domain::mail_plan::mail_at;
use crate::domain::member_contact::ContactPatch;
use crate::domain::notification::NewNotification;
use crate::domain::operation::{CommentChange, LoggedOperation, Operation};
use crate::domain::review::Decision;
use crate::domain::watch::{StoredWatch, WatchNotification};
use crate::ports::mailer::Mail;
use crate::ports::store::{BatchWriter as _, Notifications as _};
use crate::testing::fixtures::{TEST_START_MS, comment, member, publish, subject_in};
use crate::testing::manual_clock::ManualClock;

const HOUR_MS: u64 = 3_600_000;

/// What a mail server does with a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerMood {
    Takes,
    Refuses,
    IsAway,
    /// It takes the mail, and its answer never arrives.
    TakesInSilence,
}

#[derive(Debug)]
struct FakeMailer {
    mood: Mutex<ServerMood>,
    taken: Mutex<Vec<Mail>>,
    calls: AtomicUsize,
}

#[async_trait]
impl Mailer for FakeMailer {
    async fn send(&self, mail: &Mail) -> std::result::Result<(), MailError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mood = *self.mood.lock();
        if matches!(mood, ServerMood::Takes | ServerMood::TakesInSilence) {
            self.taken.lock().push(mail.clone());
        }
        match mood {
            ServerMood::Takes => Ok(()),
            ServerMood::Refuses => Err(MailError::Refused("no such mailbox".into())),
            ServerMood::IsAway => Err(MailError::Away("no answer".into())),
            ServerMood::TakesInSilence => std::future::pending().await,
        }
    }
}

/// Tables, a mail server, and the job between them.
struct Mailing {
    store: Arc<SqliteStore>,
    mailer: Arc<FakeMailer>,
    sender: MailSender<SqliteStore>,
    clock: ManualClock,
}

impl Mailing {
    async fn open(folder: &Path) -> Self {
        let store = Arc::new(SqliteStore::open(&folder.join("gailou.db"), Default::default()).unwrap());
        let mailer = Arc::new(FakeMailer {
            mood: Mutex::new(ServerMood::Takes),
            taken: Mutex::default(),
            calls: AtomicUsize::new(0),
        });
        let clock = ManualClock::at(TEST_START_MS);
        let sender = MailSender {
            tables: store.clone(),
            mailer: mailer.clone(),
            erased_members: Arc::default(),
            owner: EmailAddress::parse("owner@example.com"),
            public_url: "https://c.example".into(),
            unsubscribe_key: UnsubscribeKey::new(b"secret"),
            clock: clock.clock(),
        };
        let mailing = Self { store, mailer, sender, clock };
        mailing.store.persist(&[publish(&subject_in(0), comment(0, 1))]).await.unwrap();
        mailing.change_contact(7, Some("ann@example.com"), None).await;
        mailing
    }

    async fn change_contact(&self, of: u64, email: Option<&str>, notify: Option<NotifyChoice>) {
        let patch = ContactPatch { email: email.and_then(EmailAddress::parse), notify, language: None };
        self.store.change_contact(member(of), &patch).await.unwrap();
    }

    /// Notifies a member of the one comment, to be mailed at this moment.
    async fn notify(&self, of: MemberId, n: u64, reason: NotificationReason, mail_at: Option<u64>) {
        let now = self.sender.clock.now();
        let id = EventId::from_parts(now, n);
        let new = NewNotification { member: of, id, reason, comment: comment(0, 1), at: now, mail_at };
        self.store.add_notifications(0, &[new]).await.unwrap();
    }

    async fn reply(&self, n: u64) {
        self.notify(member(7), n, NotificationReason::Reply, Some(self.sender.clock.now())).await;
    }

    fn be(&self, mood: ServerMood) {
        *self.mailer.mood.lock() = mood;
    }

    fn advance(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    async fn step(&self) {
        self.sender.step(0).await.unwrap();
    }

    /// The mails that the server took since the last call.
    fn taken(&self) -> Vec<Mail> {
        std::mem::take(&mut *self.mailer.taken.lock())
    }

    async fn sent(&self) -> usize {
        self.step().await;
        self.taken().len()
    }
}

#[tokio::test]
async fn mail_is_sent_once_to_who_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    let mailing = Mailing::open(folder.path()).await;
    mailing.reply(1).await;
    mailing.step().await;
    let mails = mailing.taken();
    assert_eq!(mails.len(), 1);
    assert_eq!(
        (mails[0].to.as_str(), &*mails[0].subject),
        ("ann@example.com", &*format!("a answered you on “{}”", subject_in(0).key()))
    );
    let stop = mails[0].unsubscribe_url.clone().unwrap();
    let signature = stop.strip_prefix("https://c.example/v1/unsubscribe?member=7&signature=").unwrap();
    assert!(mailing.sender.unsubscribe_key.verify(member(7), signature));
    mailing.advance(10 * HOUR_MS);
    assert_eq!(mailing.sent().await, 0);
    // Without an address, and to who wants none (any more), nothing is sent.
    mailing.notify(member(8), 2, NotificationReason::Reply, Some(mailing.sender.clock.now())).await;
    mailing.reply(3).await;
    mailing.change_contact(7, None, Some(NotifyChoice::Never)).await;
    assert_eq!(mailing.sent().await, 0);
    mailing.change_contact(7, None, Some(NotifyChoice::Each)).await;
    assert_eq!(mailing.sent().await, 0, "it was dropped");
    // What is read, or gone, by then is not mailed.
    mailing.reply(4).await;
    let newest = mailing.store.list_notifications(member(7), None, 1).await.unwrap()[0].id;
    mailing.store.mark_read(member(7), newest).await.unwrap();
    assert_eq!(mailing.sent().await, 0);
    mailing.reply(5).await;
    let hide = CommentChange::State(gailou_shared::wire::CommentState::Hidden);
    let hide = Operation::Change { id: comment(0, 1), change: hide, audit: None };
    mailing.store.persist(&[LoggedOperation::new(1, hide)]).await.unwrap();
    assert_eq!(mailing.sent().await, 0);
    mailing.notify(member(7), 6, NotificationReason::Decision(Decision::Hide), Some(1)).await;
    assert_eq!(mailing.sent().await, 1);
}

#[tokio::test]
async fn watcher_whose_news_is_gone_before_the_mail_hears_of_the_next_comment() {
    let folder = tempfile::tempdir().unwrap();
    let mailing = Mailing::open(folder.path()).await;
    let watch = StoredWatch { subject: subject_in(0), id: EventId::from_parts(1, 0), created_at: 1 };
    mailing.store.add_watches(member(7), &[watch]).await.unwrap();
    let now = mailing.sender.clock.now();
    let id = EventId::from_parts(now, 1);
    let reason = NotificationReason::Watched;
    let new = NewNotification { member: member(7), id, reason, comment: comment(0, 1), at: now, mail_at: Some(now) };
    mailing.store.notify_watchers(0, &[WatchNotification { subject: subject_in(0), new }]).await.unwrap();
    let ready = async || mailing.store.list_ready_watchers(0, &[subject_in(0)], None, 9).await.unwrap().len();
    assert_eq!(ready().await, 0, "it waits until it is read");
    let delete = CommentChange::State(gailou_shared::wire::CommentState::Deleted);
    let delete = Operation::Change { id: comment(0, 1), change: delete, audit: None };
    mailing.store.persist(&[LoggedOperation::new(1, delete)]).await.unwrap();
    assert_eq!((mailing.sent().await, ready().await), (0, 1));
}

#[tokio::test]
async fn digest_is_one_mail_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let mailing = Mailing::open(folder.path()).await;
    let first = mail_at(NotifyChoice::Daily, member(7), TEST_START_MS);
    for n in 0..30 {
        mailing.notify(member(7), n, NotificationReason::Mention, first).await;
    }
    assert_eq!(mailing.sent().await, 0);
    mailing.advance(first.unwrap() - TEST_START_MS);
    mailing.step().await;
    let mails = mailing.taken();
    assert_eq!(mails.iter().map(|mail| &*mail.subject).collect::<Vec<_>>(), ["30 notifications"]);
    assert!(mails[0].text.contains("… and 10 more"));
    assert_eq!(mailing.sent().await, 0);
}

#[tokio::test]
async fn sender_that_dies_before_it_has_noted_a_mail_sends_the_same_mail_again() {
    let folder = tempfile::tempdir().unwrap();
    let mailing = Mailing::open(folder.path()).await;
    mailing.reply(1).await;
    mailing.be(ServerMood::TakesInSilence);
    tokio::select! {
        biased;
        () = mailing.step() => panic!("the server never answers"),
        () = async { while mailing.mailer.taken.lock().is_empty() { tokio::task::yield_now().await; } } => {}
    }
    let first = mailing.taken();
    mailing.be(ServerMood::Takes);
    // What happens meanwhile is another mail, and the claim holds.
    mailing.advance(CLAIM_MS - 1);
    mailing.reply(2).await;
    mailing.step().await;
    let meanwhile = mailing.taken();
    assert_eq!(meanwhile.len(), 1);
    assert_ne!(meanwhile[0].id, first[0].id);
    mailing.advance(1);
    mailing.step().await;
    assert_eq!(mailing.taken(), first);
    mailing.advance(10 * HOUR_MS);
    assert_eq!(mailing.sent().await, 0);
}

#[tokio::test]
async fn mail_that_is_not_taken_is_tried_for_a_day_and_one_that_is_refused_twice_more() {
    let folder = tempfile::tempdir().unwrap();
    let mailing = Mailing::open(folder.path()).await;
    mailing.reply(1).await;
    mailing.be(ServerMood::IsAway);
    for _ in 0..24 * 60 + 10 {
        mailing.step().await;
        mailing.advance(60_000);
    }
    assert_eq!(mailing.mailer.calls.load(Ordering::Relaxed), 10, "at once, and nine times more");
    mailing.be(ServerMood::Takes);
    mailing.advance(50 * HOUR_MS);
    assert_eq!(mailing.sent().await, 0, "it is given up");
    mailing.reply(2).await;
    mailing.be(ServerMood::IsAway);
    mailing.step().await;
    mailing.be(ServerMood::Takes);
    assert_eq!(mailing.sent().await, 0);
    mailing.advance(60_000);
    assert_eq!(mailing.sent().await, 1);
    mailing.reply(3).await;
    mailing.be(ServerMood::Refuses);
    let calls = mailing.mailer.calls.load(Ordering::Relaxed);
    for _ in 0..50 {
        mailing.step().await;
        mailing.advance(HOUR_MS);
    }
    assert_eq!(mailing.mailer.calls.load(Ordering::Relaxed), calls + 3, "at once, after one hour, after six more");
    mailing.be(ServerMood::Takes);
    assert_eq!(mailing.sent().await, 0, "it is given up");
}

#[tokio::test]
async fn digest_whose_newest_comments_are_gone_is_of_the_older_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mailing = Mailing::open(folder.path()).await;
    let at = Some(TEST_START_MS);
    for n in 0..5 {
        mailing.notify(member(7), n, NotificationReason::Mention, at).await;
    }
    // Newer ones, of a comment that is held: a member is not to see it.
    mailing.store.persist(&[publish(&subject_in(0), comment(0, 2))]).await.unwrap();
    let hide = CommentChange::State(gailou_shared::wire::CommentState::Hidden);
    let hide = Operation::Change { id: comment(0, 2), change: hide, audit: None };
    mailing.store.persist(&[LoggedOperation::new(2, hide)]).await.unwrap();
    let now = mailing.sender.clock.now();
    for n in 5..45 {
        let id = EventId::from_parts(now, n);
        let (reason, comment) = (NotificationReason::Mention, comment(0, 2));
        let new = NewNotification { member: member(7), id, reason, comment, at: now, mail_at: at };
        mailing.store.add_notifications(0, &[new]).await.unwrap();
    }
    mailing.step().await;
    let mails = mailing.taken();
    assert_eq!(mails.iter().map(|mail| &*mail.subject).collect::<Vec<_>>(), ["5 notifications"]);
    assert!(!mails[0].text.contains("… and"), "{}", mails[0].text);
}

#[tokio::test]
async fn owner_is_mailed_of_comments_and_of_many_at_once_by_the_hour() {
    let folder = tempfile::tempdir().unwrap();
    let mailing = Mailing::open(folder.path()).await;
    mailing.advance(next_hour(TEST_START_MS) - TEST_START_MS);
    let mut mails = Vec::new();
    for n in 0..50 {
        mailing.notify(owner_member(), n, NotificationReason::New, Some(mailing.sender.clock.now())).await;
        mailing.step().await;
        mails.extend(mailing.taken());
        mailing.advance(1_000);
    }
    assert_eq!(mails.len(), MAX_MAILS_PER_HOUR);
    assert!(mails.iter().all(|mail| mail.to.as_str() == "owner@example.com" && mail.unsubscribe_url.is_none()));
    assert_eq!(mails[0].subject, format!("a commented on “{}”", subject_in(0).key()));
    mailing.advance(HOUR_MS - 50_000);
    mailing.step().await;
    let rest = mailing.taken();
    assert_eq!(rest.iter().map(|mail| &*mail.subject).collect::<Vec<_>>(), ["30 notifications"]);
    mailing.advance(HOUR_MS);
    assert_eq!(mailing.sent().await, 0);
}
