//! Watchers of threads.

use gailou_shared::wire::{CommentState, SubjectState};

use super::*;
use crate::domain::notification::NotificationReason;
use crate::domain::operation::{CommentChange, SubjectPatch};

/// Later than the moments at which a list may still be without a comment.
const LATER_MS: u64 = 10_000;

impl Notifying {
    /// Has members watch the thread of all comments here.
    async fn watch(&self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            let watch = StoredWatch::new(subject_in(0), TEST_START_MS);
            self.tables.add_watches(member(number), &[watch]).await.unwrap();
        }
        self.settle("since");
    }

    /// As if the moments of watches, or of events, were some seconds ago.
    fn settle(&self, column: &str) {
        let table = if column == "since" { "watch" } else { "event" };
        self.tables.store.execute(&format!("UPDATE {table} SET {column} = {column} - {LATER_MS}"));
    }

    /// Publishes a comment of an author.
    async fn publish_by(&self, number: u64, author: u64) {
        let new = new_row(&subject_in(0), comment(0, number));
        let author = gailou_shared::wire::Author { id: member(author), ..new.author };
        let new = Operation::Publish(Box::new(NewCommentRow { author, ..new }));
        self.tables.store.persist(&[LoggedOperation::new(TEST_START_MS + number, new)]).await.unwrap();
    }

    /// The comments, by their numbers, and the reasons of what a member is notified of, the newest first.
    async fn notified(&self, number: u64) -> Vec<(u64, NotificationReason)> {
        let stored = self.tables.list_notifications(member(number), None, 10_000).await.unwrap();
        let number_of = |id: CommentId| (0..100_000).find(|number| comment(0, *number) == id).unwrap();
        stored.iter().map(|row| (number_of(row.comment), row.reason)).collect()
    }

    async fn read_all(&self, number: u64) {
        let last = self.tables.list_notifications(member(number), None, 1).await.unwrap()[0].id;
        self.tables.mark_read(member(number), last).await.unwrap();
    }
}

const WATCHED: NotificationReason = NotificationReason::Watched;

#[tokio::test]
async fn watchers_are_notified_of_the_first_comment_until_they_have_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.watch([1, 2, 3, 4]).await;
    notifying.publish(0..3, &[4]).await;
    notifying.step().await.unwrap();
    notifying.publish(3..6, &[]).await;
    notifying.step().await.unwrap();
    for of in [2, 3] {
        assert_eq!(notifying.notified(of).await, [(0, WATCHED)]);
    }
    // Mentioned three times, and then notified of what is left.
    let of_mentioned = notifying.notified(4).await;
    let mentions =
        [(2, NotificationReason::Mention), (1, NotificationReason::Mention), (0, NotificationReason::Mention)];
    assert_eq!((of_mentioned[0], &of_mentioned[1..]), ((3, WATCHED), &mentions[..]));
    assert_eq!((notifying.count(1).await, notifying.count(5).await), (0, 0), "the author, and who does not watch");
    notifying.read_all(2).await;
    notifying.settle("since");
    notifying.publish(6..8, &[]).await;
    notifying.step().await.unwrap();
    assert_eq!(notifying.notified(2).await, [(6, WATCHED), (0, WATCHED)]);
    assert_eq!(notifying.notified(3).await, [(0, WATCHED)]);
    assert_eq!(notifying.waiting().await, 0);
    // The author of every other comment is notified of another's.
    notifying.publish_by(8, 9).await;
    notifying.step().await.unwrap();
    assert_eq!(notifying.notified(1).await, [(8, WATCHED)]);
}

#[tokio::test]
async fn lost_removal_notifies_watchers_of_nothing_twice_and_forgets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.watch([2, 3, 4]).await;
    notifying.publish(0..1, &[]).await;
    notifying.step().await.unwrap();
    notifying.publish(1..3, &[]).await;
    notifying.tables.loses_removal.store(true, Ordering::Relaxed);
    assert!(notifying.step().await.is_err());
    assert_eq!(notifying.waiting().await, 2);
    // One has read in between, and what they are not notified of again was there to be read. Another one begins to watch.
    notifying.settle("queued_at");
    notifying.read_all(2).await;
    let watch = StoredWatch::new(subject_in(0), TEST_START_MS);
    notifying.tables.add_watches(member(6), &[watch]).await.unwrap();
    notifying.step().await.unwrap();
    for of in [2, 3, 4] {
        assert_eq!(notifying.notified(of).await, [(0, WATCHED)], "{of}");
    }
    assert_eq!((notifying.count(6).await, notifying.waiting().await), (0, 0));
    assert_eq!(notifying.tables.count_unread(member(2)).await.unwrap(), 0);
    // What is written after they have read comes with the repetition.
    notifying.publish(3..4, &[]).await;
    notifying.tables.loses_removal.store(true, Ordering::Relaxed);
    assert!(notifying.step().await.is_err());
    notifying.settle("queued_at");
    notifying.read_all(3).await;
    notifying.publish(4..5, &[]).await;
    notifying.step().await.unwrap();
    assert_eq!(notifying.notified(2).await, [(3, WATCHED), (0, WATCHED)]);
    assert_eq!(notifying.notified(3).await, [(4, WATCHED), (0, WATCHED)]);
    assert_eq!(notifying.notified(4).await, [(0, WATCHED)]);
    assert_eq!(notifying.notified(6).await, [(3, WATCHED)]);
}

#[tokio::test]
async fn watchers_in_a_database_that_is_away_wait_with_some_events_of_their_thread() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.watch([1, 2, 3, 5, 7]).await;
    notifying.tables.watchers_are_away.store(true, Ordering::Relaxed);
    notifying.publish_by(0, 5).await;
    notifying.publish(1..500, &[]).await;
    notifying.publish_by(500, 7).await;
    assert!(notifying.step().await.is_err());
    assert_eq!((notifying.notified(2).await, notifying.count(3).await), (vec![(0, WATCHED)], 0));
    // Each step drops what others stand for.
    assert!(notifying.step().await.is_err());
    assert_eq!(notifying.waiting().await, 3);
    notifying.tables.watchers_are_away.store(false, Ordering::Relaxed);
    notifying.step().await.unwrap();
    assert_eq!(notifying.waiting().await, 0);
    assert_eq!(notifying.notified(3).await, [(0, WATCHED)]);
    assert_eq!(notifying.notified(1).await, [(0, WATCHED)]);
    assert_eq!(notifying.notified(5).await, [(499, WATCHED)], "the first of another author that is left");
    assert_eq!(notifying.notified(2).await, [(0, WATCHED)]);
}

#[tokio::test]
async fn watchers_are_notified_of_what_they_may_see_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut notifying = Notifying::open(folder.path());
    notifying.watch([2, 3]).await;
    notifying.publish(0..3, &[]).await;
    let hide = Operation::Change { id: comment(0, 0), change: CommentChange::State(CommentState::Hidden), audit: None };
    notifying.tables.store.persist(&[LoggedOperation::new(TEST_START_MS + 50, hide)]).await.unwrap();
    notifying.notifier.erased_members.add(member(3));
    notifying.step().await.unwrap();
    assert_eq!((notifying.notified(2).await, notifying.count(3).await), (vec![(1, WATCHED)], 0));
    notifying.read_all(2).await;
    let patch = SubjectPatch { state: Some(SubjectState::Hidden), ..SubjectPatch::default() };
    let hide = Operation::Subject { key: subject_in(0), patch, audit: None };
    notifying.tables.store.persist(&[LoggedOperation::new(TEST_START_MS + 60, hide)]).await.unwrap();
    notifying.publish(3..4, &[]).await;
    notifying.step().await.unwrap();
    assert_eq!((notifying.count(2).await, notifying.waiting().await), (1, 0));
}

const WATCHERS: u64 = 10_000;
/// The slots of a thread with watchers, and of one with none.
const WATCHED_SLOT: u16 = 5;
const OTHER_SLOT: u16 = 6;

/// A store in which one thread has ten thousand watchers and another one none, and the job over it.
struct WatchedThread {
    store: Arc<SqliteStore>,
    notifier: Arc<EventNotifier<SqliteStore>>,
    next: u64,
}

impl WatchedThread {
    fn open(folder: &Path) -> Self {
        let store = Arc::new(SqliteStore::open(&folder.join("gailou.db"), Default::default()).unwrap());
        let thread = subject_in(WATCHED_SLOT);
        store.execute(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i <= {WATCHERS}) \
             INSERT INTO watch (member_id, type, key, id, created_at, since) SELECT i, '{}', '{}', i, 0, 0 FROM n",
            thread.kind(),
            thread.key()
        ));
        let notifier = Arc::new(EventNotifier {
            tables: store.clone(),
            databases: 1,
            webhooks: store.clone(),
            erased_members: Arc::default(),
            sends_mail: true,
            mails_owner: false,
            clock: ManualClock::at(TEST_START_MS).clock(),
            name: "one".into(),
            metrics: Arc::default(),
        });
        Self { store, notifier, next: 0 }
    }

    /// Posts to the thread of this slot: how long it took, and how many rows it wrote.
    async fn post(&mut self, slot: u16) -> (Duration, i64) {
        self.next += 1;
        // Each in a millisecond of its own, so that ids grow in either thread.
        let new = Operation::Publish(Box::new(new_row(&subject_in(slot), comment(slot, self.next * 64))));
        let operation = [LoggedOperation::new(TEST_START_MS + self.next, new)];
        let (rows, begun) = (self.store.count_written_rows(), Instant::now());
        self.store.persist(&operation).await.unwrap();
        (begun.elapsed(), self.store.count_written_rows() - rows)
    }

    /// Takes steps, with a pause between two, until every watcher is notified; how many.
    async fn notify_all(notifier: &EventNotifier<SqliteStore>, pause: Duration) -> i64 {
        for steps in 1.. {
            notifier.step(0, &mut QueuePlace::default()).await.unwrap();
            if notifier.tables.list_ready_watchers(0, &[subject_in(WATCHED_SLOT)], None, 1).await.unwrap().is_empty() {
                return steps;
            }
            sleep(pause).await;
        }
        unreachable!("a step notifies at least one")
    }

    async fn count_notifications(&self) -> u64 {
        let mut count = 0;
        for of in [2, WATCHERS / 2, WATCHERS + 1] {
            count += self.store.count_unread(member(of)).await.unwrap();
        }
        count
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test]
async fn post_in_a_thread_with_ten_thousand_watchers_costs_what_another_does() {
    const POSTS: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let mut thread = WatchedThread::open(folder.path());
    // The first one of a thread also writes the thread.
    for slot in [WATCHED_SLOT, OTHER_SLOT] {
        thread.post(slot).await;
    }
    let (mut watched, mut other) = (Vec::new(), Vec::new());
    for n in 0..POSTS {
        // Each of them is the first one as often as the other.
        let mut slots = [WATCHED_SLOT, OTHER_SLOT];
        slots.rotate_left(n % 2);
        let mut posted = [thread.post(slots[0]).await, thread.post(slots[1]).await];
        posted.rotate_left(n % 2);
        let [(of_watched, rows), (of_other, expected)] = posted;
        assert_eq!(rows, expected);
        watched.push(of_watched);
        other.push(of_other);
    }
    let (watched, other) = (median(&mut watched), median(&mut other));
    let ratio = watched.as_secs_f64() / other.as_secs_f64();
    eprintln!("a post took {watched:?} with {WATCHERS} watchers, {other:?} with none, ratio {ratio:.2}");

    // All of them together are a row and a mark of each watcher; what comes until they have read is none.
    let written = thread.store.count_written_rows();
    let steps = WatchedThread::notify_all(&thread.notifier, Duration::ZERO).await;
    assert_eq!(steps, 5, "2,000 watchers each");
    let events = 2 * (POSTS as i64 + 1);
    assert_eq!(thread.store.count_written_rows() - written, 2 * WATCHERS as i64 + events);
    assert_eq!(thread.count_notifications().await, 3);
    for _ in 0..POSTS {
        thread.post(WATCHED_SLOT).await;
    }
    let written = thread.store.count_written_rows();
    assert_eq!(WatchedThread::notify_all(&thread.notifier, Duration::ZERO).await, 1);
    assert_eq!(thread.store.count_written_rows() - written, POSTS as i64);
    assert_eq!(thread.count_notifications().await, 3);
}

/// What notifying ten thousand members may make of the time that a post takes.
const MAX_DELAY_RATIO: f64 = 1.10;
/// Other work on the machine adds to a ratio: one measurement of so many is enough.
const MEASUREMENTS: usize = 3;

impl WatchedThread {
    /// Posts beside `work` until it is done: how long a post took on average.
    async fn post_beside(&mut self, work: impl Future<Output = ()> + Send + 'static) -> Duration {
        let (work, mut times) = (tokio::spawn(work), Vec::new());
        while !work.is_finished() || times.is_empty() {
            times.push(self.post(OTHER_SLOT).await.0);
        }
        work.await.unwrap();
        times.iter().sum::<Duration>() / times.len() as u32
    }
}

/// The time of a post between the steps that notify all watchers, by that of a post between none. Intervals with a step
/// and without one take turns, and the medians count.
async fn measure_delay() -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut thread = WatchedThread::open(folder.path());
    for slot in [OTHER_SLOT, WATCHED_SLOT] {
        thread.post(slot).await;
    }
    let (mut alone, mut meanwhile) = (Vec::new(), Vec::new());
    while !thread.store.list_ready_watchers(0, &[subject_in(WATCHED_SLOT)], None, 1).await.unwrap().is_empty() {
        alone.push(thread.post_beside(sleep(EVENT_POLL_INTERVAL)).await);
        let notifier = thread.notifier.clone();
        let step = async move {
            notifier.step(0, &mut QueuePlace::default()).await.unwrap();
            sleep(EVENT_POLL_INTERVAL).await;
        };
        meanwhile.push(thread.post_beside(step).await);
    }
    assert_eq!((thread.count_notifications().await, meanwhile.len()), (3, 5));
    let (alone, meanwhile) = (median(&mut alone), median(&mut meanwhile));
    let ratio = meanwhile.as_secs_f64() / alone.as_secs_f64();
    eprintln!("a post took {alone:?}, and {meanwhile:?} beside {WATCHERS} notifications, ratio {ratio:.2}");
    ratio
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_notifications_delay_posts_by_at_most_a_tenth() {
    let mut ratios = Vec::new();
    while ratios.len() < MEASUREMENTS && ratios.iter().all(|ratio| *ratio > MAX_DELAY_RATIO) {
        ratios.push(measure_delay().await);
    }
    assert!(ratios.iter().any(|ratio| *ratio <= MAX_DELAY_RATIO), "{ratios:?}");
}
