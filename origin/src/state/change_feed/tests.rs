//! Gaps, late commits, many databases and the bound on rows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_executor::block_on;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use proptest::prelude::*;

use gailou_shared::wire::VoidSubject;

use crate::domain::change_feed::LATE_COMMIT_MS;
use crate::ports::store::StoreError;
use crate::state::change_feed::*;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;

fn row(seq: u64, at: u64, version: u64, id: u64) -> ChangeRow {
    row_of("1", seq, at, version, id)
}

fn row_of(key: &str, seq: u64, at: u64, version: u64, id: u64) -> ChangeRow {
    ChangeRow { seq, at, subject: subject(key), version, id: CommentId::new(id).ok() }
}

fn subject(key: &str) -> SubjectKey {
    SubjectKey::new("video", key).unwrap()
}

/// One database whose rows and clock a test sets, and the feed that reads it.
struct ChangeFeedTestBed {
    feed: ChangeFeed,
    clock: Arc<AtomicU64>,
    rows: RefCell<BTreeMap<u64, ChangeRow>>,
    queries: Cell<usize>,
}

impl ChangeFeedTestBed {
    fn new() -> Self {
        let clock = Arc::new(AtomicU64::new(NOW));
        Self { feed: ChangeFeed::new(1), clock, rows: RefCell::default(), queries: Cell::new(0) }
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    fn pass(&self, ms: u64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    /// A row appears that was accepted just now.
    fn commit(&self, seq: u64, version: u64, id: u64) {
        self.rows.borrow_mut().insert(seq, row(seq, self.now(), version, id));
    }

    /// Reads, and returns how many queries it took.
    fn read(&self) -> usize {
        let clock = self.clock.clone();
        let clock = Clock::from_fn(move || clock.load(Ordering::SeqCst));
        self.queries.set(0);
        let query = |after: u64| {
            self.queries.set(self.queries.get() + 1);
            let rows: Vec<_> = self
                .rows
                .borrow()
                .range(after + 1..)
                .take(MAX_CHANGE_ROWS_PER_QUERY)
                .map(|(_, row)| row.clone())
                .collect();
            std::future::ready(Ok(rows))
        };
        block_on(read_new_rows(&self.feed, &clock, 0, SlotSet::all(), query)).unwrap();
        self.queries.get()
    }

    fn page(&self, span: Span) -> ChangeFeedPage {
        self.feed.page(span, self.now(), 3).unwrap()
    }

    /// Ids and versions, by id.
    fn rows(&self, span: Span) -> Vec<(u64, u64)> {
        let mut rows: Vec<_> = self.page(span).rows.iter().map(|row| (row.id.get(), row.version)).collect();
        rows.sort_unstable();
        rows
    }

    fn settled(&self) -> u64 {
        self.feed.tail().databases[0].progress.settled()
    }
}

#[test]
fn late_commit_of_a_smaller_number_is_read() {
    let bed = ChangeFeedTestBed::new();
    bed.read();
    bed.commit(1, 5, 10);
    bed.commit(3, 6, 30);
    bed.read();
    assert_eq!(bed.rows(Span::Tail), [(10, 5), (30, 6)]);
    assert_eq!(bed.settled(), 1);
    bed.pass(LATE_COMMIT_MS - 1);
    bed.commit(2, 7, 20);
    bed.read();
    assert_eq!(bed.rows(Span::Tail), [(10, 5), (20, 7), (30, 6)]);
    assert_eq!(bed.settled(), 3, "nothing is missing any more");
}

#[test]
fn gap_is_skipped_after_the_wait() {
    let bed = ChangeFeedTestBed::new();
    bed.read();
    bed.commit(1, 5, 10);
    bed.commit(3, 6, 30);
    bed.read();
    bed.pass(LATE_COMMIT_MS);
    bed.read();
    assert_eq!(bed.settled(), 3);
    bed.commit(2, 7, 20);
    bed.read();
    assert_eq!(bed.rows(Span::Tail), [(10, 5), (30, 6)], "as the module says");
}

#[test]
fn comment_is_listed_once_with_its_last_change() {
    let bed = ChangeFeedTestBed::new();
    bed.read();
    bed.commit(1, 5, 10);
    bed.read();
    bed.pass(MINUTE);
    bed.commit(2, 9, 10);
    bed.read();
    assert_eq!(bed.rows(Span::Tail), [(10, 9)]);
    bed.pass(TAIL_SPAN_MS - MINUTE);
    bed.read();
    assert_eq!(bed.rows(Span::Tail), [(10, 9)], "it counts from its last change");
}

#[test]
fn short_page_reaches_less_far_than_the_full_one() {
    let bed = ChangeFeedTestBed::new();
    bed.read();
    bed.commit(1, 5, 10);
    bed.read();
    bed.pass(TAIL_SPAN_MS);
    bed.read();
    assert_eq!(bed.page(Span::Tail).since, bed.now() - TAIL_SPAN_MS);
    assert_eq!(bed.rows(Span::Tail), [(10, 5)]);
    bed.pass(CLOCK_SKEW_MS + 1);
    bed.read();
    assert_eq!(bed.rows(Span::Tail), []);
    assert_eq!(bed.rows(Span::Full), [(10, 5)]);
    assert_eq!(bed.page(Span::Full).since, bed.now() - FULL_SPAN_MS);
    bed.pass(CHANGE_FEED_RETENTION_MS);
    bed.read();
    assert_eq!(bed.rows(Span::Full), []);
    assert_eq!(bed.page(Span::Full).words, 3);
}

#[test]
fn start_reads_every_row_once() {
    let bed = ChangeFeedTestBed::new();
    for seq in (1..=2_500).filter(|seq| seq % 500 != 7) {
        bed.rows.borrow_mut().insert(seq, row(seq, NOW - 60 * MINUTE, seq, seq));
    }
    bed.rows.borrow_mut().insert(3_000, row(3_000, NOW - MINUTE, 9_000, 9_000));
    assert_eq!(bed.read(), 3);
    assert_eq!(bed.settled(), 2_500, "what was missing an hour ago is not waited for");
    assert_eq!(bed.rows(Span::Full).len(), 2_496);
    assert_eq!(bed.rows(Span::Tail), [(9_000, 9_000)], "the broker may have been behind");
    assert_eq!(bed.read(), 1);
    bed.pass(LATE_COMMIT_MS);
    assert_eq!(bed.read(), 1);
    assert_eq!(bed.settled(), 3_000);
}

#[test]
fn overflow_voids_the_subject_with_the_most_changes() {
    let most = ChangeFeedPage::MAX_ROWS as u64;
    let bed = ChangeFeedTestBed::new();
    bed.read();
    bed.rows.borrow_mut().insert(1, row_of("quiet", 1, NOW, 3, 1));
    bed.rows.borrow_mut().insert(2, row_of("quiet", 2, NOW, 4, 2));
    for seq in 3..=most {
        bed.commit(seq, seq, seq);
    }
    bed.read();
    assert_eq!((bed.page(Span::Tail).rows.len() as u64, bed.page(Span::Tail).subjects.len()), (most, 0));
    bed.pass(MINUTE);
    bed.commit(most + 1, most + 1, most + 1);
    bed.read();
    let voided = |before| [VoidSubject { tag: subject("1").tag(), before }];
    for (span, reach) in [(Span::Tail, TAIL_SPAN_MS), (Span::Full, FULL_SPAN_MS)] {
        let page = bed.page(span);
        assert_eq!(page.since, bed.now() - reach, "pages of other subjects stay");
        assert_eq!((page.subjects.as_slice(), bed.rows(span)), (&voided(most + 1)[..], vec![(1, 3), (2, 4)]));
        assert_eq!(ChangeFeedPage::parse(page.to_json().as_bytes()), Some(page));
    }
    // A later change of that subject is a comment again; one that it stands for already is not.
    bed.commit(most + 2, most + 2, 5);
    bed.commit(most + 3, 7, 7);
    bed.read();
    assert_eq!(bed.page(Span::Tail).subjects, voided(most + 1));
    assert_eq!(bed.rows(Span::Tail), [(1, 3), (2, 4), (5, most + 2)]);
    bed.pass(CHANGE_FEED_RETENTION_MS + 1);
    bed.read();
    assert_eq!((bed.page(Span::Full).subjects.len(), bed.rows(Span::Full)), (0, vec![]));
}

#[test]
fn changes_of_too_many_subjects_move_since() {
    let most = ChangeFeedPage::MAX_ROWS as u64;
    let bed = ChangeFeedTestBed::new();
    bed.read();
    let commit = |seq: u64| {
        bed.rows.borrow_mut().insert(seq, row_of(&seq.to_string(), seq, bed.now(), 1, seq));
    };
    (1..=most).for_each(commit);
    bed.read();
    assert_eq!(bed.page(Span::Tail).since, NOW - TAIL_SPAN_MS);
    bed.pass(MINUTE);
    commit(most + 1);
    bed.read();
    for span in [Span::Tail, Span::Full] {
        let page = bed.page(span);
        assert_eq!((page.rows.len(), page.since), (ChangeFeedPage::MAX_ROWS, NOW + CLOCK_SKEW_MS), "{span:?}");
        assert_eq!(ChangeFeedPage::parse(page.to_json().as_bytes()), Some(page));
    }
    bed.pass(FULL_SPAN_MS + MINUTE);
    bed.read();
    assert_eq!(bed.page(Span::Full).since, bed.now() - FULL_SPAN_MS);
}

#[test]
fn page_says_how_far_it_is_behind() {
    let feed = ChangeFeed::new(2);
    let clock = Arc::new(AtomicU64::new(NOW));
    let at = |now: u64, database: usize, good: bool| {
        clock.store(now, Ordering::SeqCst);
        let clock = clock.clone();
        let clock = Clock::from_fn(move || clock.fetch_add(10, Ordering::SeqCst));
        let answer = || if good { Ok(vec![]) } else { Err(StoreError::Unavailable("away".into())) };
        assert_eq!(
            block_on(read_new_rows(&feed, &clock, database, SlotSet::all(), |_| std::future::ready(answer()))).is_ok(),
            good
        );
    };
    let read_page = |now: u64| feed.page(Span::Tail, now, 0).map(|page| (page.now, page.behind));
    assert_eq!(read_page(NOW), None);
    at(NOW, 0, true);
    assert_eq!(read_page(NOW), Some((0, NOW)), "the other one was never read");
    at(NOW + 100, 1, true);
    assert_eq!(read_page(NOW + 300), Some((NOW, 300)), "from before the reading");
    at(NOW + 9_000, 0, true);
    at(NOW + 9_000, 1, false);
    assert_eq!(read_page(NOW + 9_500), Some((NOW + 100, 9_400)), "as the one that is furthest behind");
    assert_eq!(feed.age_ms(NOW + 9_500), Some(9_400));
    assert_eq!(read_page(NOW + 9_000 + MAX_SILENCE_MS), Some((NOW + 100, 8_900 + MAX_SILENCE_MS)));
    assert_eq!(read_page(NOW + 9_001 + MAX_SILENCE_MS), None, "nothing can be read");
}

proptest! {
    /// Numbers are given in order and committed in any, each within the overlap; some never are.
    #[test]
    fn committed_row_is_in_the_next_page(
        delays in proptest::collection::vec((proptest::option::weighted(0.9, 0..LATE_COMMIT_MS), 0..2_000_u64), 1..60),
        step in 100..3_000_u64,
    ) {
        let bed = ChangeFeedTestBed::new();
        bed.read();
        let (mut given, mut commits) = (NOW, BTreeMap::new());
        for (number, (delay, pause)) in delays.iter().enumerate() {
            given += pause;
            let seq = number as u64 + 1;
            commits.extend(delay.map(|delay| ((given + delay, seq), seq)));
        }
        while !commits.is_empty() {
            bed.pass(step);
            let mut expected = Vec::new();
            while let Some(entry) = commits.first_entry().filter(|entry| entry.key().0 <= bed.now()) {
                let seq = entry.remove();
                bed.commit(seq, seq, seq);
                expected.push((seq, seq));
            }
            bed.read();
            let rows = bed.rows(Span::Tail);
            prop_assert!(expected.iter().all(|row| rows.contains(row)), "{:?} not in {:?}", expected, rows);
            prop_assert_eq!(bed.rows(Span::Full).len(), bed.rows.borrow().len());
        }
        bed.pass(2 * LATE_COMMIT_MS);
        bed.read();
        prop_assert_eq!(Some(bed.settled()), bed.rows.borrow().keys().next_back().copied().or(Some(0)));
    }

    /// Whatever changes, a page that was made before a change and shows its comment is void by each later
    /// page of the feed that reaches back far enough, and the feed stays within its bound.
    #[test]
    fn bounded_changes_void_every_page_with_a_changed_comment(
        steps in proptest::collection::vec((0..4_u64, 0..9_u64, 0..30_000_u64), 1..80),
        max in 4..12_usize,
    ) {
        let mut changes = BoundedChanges::new(max);
        let (mut now, mut versions, mut made) = (NOW, [0_u64; 4], Vec::new());
        for (kind, comment, pause) in steps {
            now += pause;
            let (key, id) = (subject(&kind.to_string()), CommentId::new(kind * 100 + comment + 1).unwrap());
            versions[kind as usize] += 1;
            let version = versions[kind as usize];
            changes.add(&key, id, version, now);
            changes.forget(now);
            made.push((key.tag(), id, version, now));
            for span in [TAIL_SPAN_MS, FULL_SPAN_MS] {
                let (since, rows, subjects) = changes.since(now - span);
                prop_assert!(rows.len() + subjects.len() <= max);
                for &(tag, id, version, known) in &made {
                    // A cached page of a moment before the change.
                    let page_version = version - 1;
                    let is_void = known <= since
                        || rows.iter().any(|row| row.id == id && row.version > page_version)
                        || subjects.iter().any(|subject| subject.tag == tag && subject.before > page_version);
                    prop_assert!(is_void || known + CLOCK_SKEW_MS < now - span, "{} at {} of {}", id, version, tag);
                }
            }
        }
    }
}

#[test]
fn hidden_subject_is_void_in_the_feed() {
    let mut changes = BoundedChanges::new(100);
    changes.add_subject(&subject("1"), 7, NOW);
    changes.add(&subject("1"), CommentId::new(5).unwrap(), 6, NOW);
    changes.add(&subject("2"), CommentId::new(6).unwrap(), 3, NOW);
    let (_, comments, subjects) = changes.since(NOW - MINUTE);
    assert_eq!(comments.len(), 1, "the subject stands for its earlier changes: {comments:?}");
    assert_eq!(subjects, [VoidSubject { tag: subject("1").tag(), before: 7 }]);
    changes.add(&subject("1"), CommentId::new(5).unwrap(), 8, NOW);
    assert_eq!(changes.since(NOW - MINUTE).1.len(), 2, "a later change is its own");
}

#[test]
fn everything_from_before_a_rewind_is_void() {
    let bed = ChangeFeedTestBed::new();
    bed.commit(1, 1, 7);
    bed.read();
    let before = bed.feed.page(Span::Full, bed.now(), 0).unwrap().since;
    bed.pass(MINUTE);
    bed.commit(2, 0, ChangeRow::REWOUND_DATABASE as u64);
    bed.commit(2 + (1 << 32), 0, ChangeRow::REWOUND_DATABASE as u64);
    bed.commit(3 + (1 << 32), 9, 8);
    bed.read();
    let page = bed.feed.page(Span::Full, bed.now(), 0).unwrap();
    assert!(before < NOW && page.since >= bed.now(), "{before} {}", page.since);
    assert_eq!(bed.rows(Span::Full), [(8, 9)], "the marks are no comments, and what was known before may be lost");
    assert!(!bed.feed.take_rewind(0), "the feed says so already");
}

#[test]
fn numbers_that_are_given_again_are_read_and_void_what_was_made_before() {
    for (kept, given_again) in [(5, 0), (5, 2), (5, 4), (5, 9), (0, 0), (0, 20)] {
        let bed = ChangeFeedTestBed::new();
        (1..=9).for_each(|seq| bed.commit(seq, seq, seq));
        bed.read();
        bed.pass(MINUTE);
        bed.rows.borrow_mut().split_off(&(kept + 1));
        for seq in kept + 1..=kept + given_again {
            bed.commit(seq, 50, 100 + seq);
        }
        bed.read();
        assert!(bed.feed.take_rewind(0) && !bed.feed.take_rewind(0));
        assert_eq!(bed.page(Span::Full).since, bed.now() + CLOCK_SKEW_MS);
        let expected: Vec<_> = bed.rows.borrow().values().map(|row| (row.id.unwrap().get(), row.version)).collect();
        assert_eq!(bed.rows(Span::Full), expected, "{kept} {given_again}");
        // What is deleted for its age is no rewind.
        bed.pass(CHANGE_FEED_RETENTION_MS);
        bed.rows.borrow_mut().clear();
        bed.read();
        assert!(!bed.feed.take_rewind(0));
    }
}

#[test]
fn slots_of_databases_that_are_read_are_ahead_of_those_that_are_not() {
    let feed = ChangeFeed::new(3);
    let range = |first: u16, last: u16| (first..=last).filter_map(Slot::new).collect::<SlotSet>();
    let read = |now: u64, database: usize, slots: SlotSet, rows: &[ChangeRow]| {
        let clock = Clock::from_fn(move || now);
        let query = |after| std::future::ready(Ok(rows.iter().filter(|row| row.seq > after).cloned().collect()));
        block_on(read_new_rows(&feed, &clock, database, slots, query)).unwrap();
    };
    let ahead = |now: u64, span: Span| {
        let page = feed.page(span, now, 0).unwrap();
        assert_eq!(ChangeFeedPage::parse(page.to_json().as_bytes()).as_ref(), Some(&page));
        page.ahead.map(|ahead| (ahead.slots, ahead.now, ahead.since, ahead.behind))
    };
    read(NOW, 0, range(0, 299), &[]);
    read(NOW + 1, 1, range(300, 699), &[]);
    let two = range(0, 699);
    assert_eq!(ahead(NOW + 5, Span::Tail), Some((two, NOW, NOW - TAIL_SPAN_MS, 5)), "one was never read");
    read(NOW + 2, 2, range(700, 1_023), &[]);
    assert_eq!(ahead(NOW + 5, Span::Tail), None, "the usual case");
    let later = NOW + MINUTE;
    read(later, 0, range(0, 299), &[]);
    // Slot 700 has come from the database that is away.
    read(later + 1, 1, range(300, 700), &[]);
    assert_eq!(ahead(later + 7, Span::Full), Some((two, later, later - FULL_SPAN_MS, 7)));
    assert_eq!(feed.page(Span::Full, later + 7, 0).unwrap().now, NOW + 2, "for all slots");
    read(later + 2, 2, range(701, 1_023), &[]);
    assert_eq!(ahead(later + 7, Span::Full), None);
    // One has gone back.
    let mark = ChangeRow { id: CommentId::new(ChangeRow::REWOUND_DATABASE as u64).ok(), ..row(9, later + 20, 0, 1) };
    read(later + 30, 1, range(300, 700), &[mark]);
    let others = range(0, 299).union(&range(701, 1_023));
    assert_eq!(ahead(later + 40, Span::Tail), Some((others, later, later - TAIL_SPAN_MS, 40)));
    assert_eq!(feed.page(Span::Tail, later + 40, 0).unwrap().since, later + 20 + CLOCK_SKEW_MS);
}
