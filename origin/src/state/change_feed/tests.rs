use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_executor::block_on;
use gailou_shared::id::SubjectKey;
use proptest::prelude::*;

use crate::ports::store::StoreError;
use crate::state::change_feed::*;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;

fn taken(seq: u64, at: u64, version: u64, id: u64) -> ChangeRow {
    ChangeRow { seq, at, subject: SubjectKey::new("video", "1").unwrap(), version, id: CommentId::new(id).unwrap() }
}

/// One database whose rows and clock a test sets, and the feed that reads it.
struct World {
    feed: ChangeFeed,
    clock: Arc<AtomicU64>,
    rows: RefCell<BTreeMap<u64, ChangeRow>>,
    queries: Cell<usize>,
}

impl World {
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
        self.rows.borrow_mut().insert(seq, taken(seq, self.now(), version, id));
    }

    /// Reads, and says how many queries it took.
    fn read(&self) -> usize {
        let clock = self.clock.clone();
        let clock = Clock::from_fn(move || clock.load(Ordering::SeqCst));
        self.queries.set(0);
        let query = |after: u64| {
            self.queries.set(self.queries.get() + 1);
            let rows: Vec<_> = self.rows.borrow().range(after + 1..).take(ROWS).map(|(_, row)| row.clone()).collect();
            std::future::ready(Ok(rows))
        };
        block_on(read(&self.feed, &clock, 0, query)).unwrap();
        self.queries.get()
    }

    fn document(&self, span: Span) -> ChangeFeedPage {
        self.feed.document(span, self.now(), 3).unwrap()
    }

    /// Ids and versions, by id.
    fn rows(&self, span: Span) -> Vec<(u64, u64)> {
        let mut rows: Vec<_> = self.document(span).rows.iter().map(|row| (row.id.get(), row.version)).collect();
        rows.sort_unstable();
        rows
    }

    fn settled(&self) -> u64 {
        self.feed.tail().databases[0].settled
    }
}

#[test]
fn a_smaller_number_may_be_committed_later() {
    let world = World::new();
    world.read();
    world.commit(1, 5, 10);
    world.commit(3, 6, 30);
    world.read();
    assert_eq!(world.rows(Span::Tail), [(10, 5), (30, 6)]);
    assert_eq!(world.settled(), 1);
    world.pass(OVERLAP_MS - 1);
    world.commit(2, 7, 20);
    world.read();
    assert_eq!(world.rows(Span::Tail), [(10, 5), (20, 7), (30, 6)]);
    assert_eq!(world.settled(), 3, "nothing is missing any more");
}

#[test]
fn a_number_that_never_comes_is_not_waited_for() {
    let world = World::new();
    world.read();
    world.commit(1, 5, 10);
    world.commit(3, 6, 30);
    world.read();
    world.pass(OVERLAP_MS);
    world.read();
    assert_eq!(world.settled(), 3);
    world.commit(2, 7, 20);
    world.read();
    assert_eq!(world.rows(Span::Tail), [(10, 5), (30, 6)], "as the module says");
}

#[test]
fn a_comment_stands_once_with_its_last_change() {
    let world = World::new();
    world.read();
    world.commit(1, 5, 10);
    world.read();
    world.pass(MINUTE);
    world.commit(2, 9, 10);
    world.read();
    assert_eq!(world.rows(Span::Tail), [(10, 9)]);
    world.pass(TAIL_MS - MINUTE);
    world.read();
    assert_eq!(world.rows(Span::Tail), [(10, 9)], "it counts from its last change");
}

#[test]
fn the_tail_ends_and_the_day_goes_on() {
    let world = World::new();
    world.read();
    world.commit(1, 5, 10);
    world.read();
    world.pass(TAIL_MS);
    world.read();
    assert_eq!(world.document(Span::Tail).since, world.now() - TAIL_MS);
    assert_eq!(world.rows(Span::Tail), [(10, 5)]);
    world.pass(CLOCKS_MS + 1);
    world.read();
    assert_eq!(world.rows(Span::Tail), []);
    assert_eq!(world.rows(Span::Day), [(10, 5)]);
    assert_eq!(world.document(Span::Day).since, world.now() - DAY_MS);
    world.pass(CHANGE_FEED_RETENTION_MS);
    world.read();
    assert_eq!(world.rows(Span::Day), []);
    assert_eq!(world.document(Span::Day).words, 3);
}

#[test]
fn a_start_reads_everything_once() {
    let world = World::new();
    for seq in (1..=2_500).filter(|seq| seq % 500 != 7) {
        world.rows.borrow_mut().insert(seq, taken(seq, NOW - 60 * MINUTE, seq, seq));
    }
    world.rows.borrow_mut().insert(3_000, taken(3_000, NOW - MINUTE, 9_000, 9_000));
    assert_eq!(world.read(), 3);
    assert_eq!(world.settled(), 2_500, "what was missing an hour ago is not waited for");
    assert_eq!(world.rows(Span::Day).len(), 2_496);
    assert_eq!(world.rows(Span::Tail), [(9_000, 9_000)], "the log may have been behind");
    assert_eq!(world.read(), 1);
    world.pass(OVERLAP_MS);
    assert_eq!(world.read(), 1);
    assert_eq!(world.settled(), 3_000);
}

#[test]
fn what_is_left_out_moves_since() {
    let most = ChangeFeedPage::MAX_ROWS as u64;
    let world = World::new();
    world.read();
    for seq in 1..=most {
        world.commit(seq, seq, seq);
    }
    world.read();
    assert_eq!(world.document(Span::Tail).since, NOW - TAIL_MS);
    world.pass(MINUTE);
    world.commit(most + 1, most + 1, most + 1);
    world.read();
    for span in [Span::Tail, Span::Day] {
        let document = world.document(span);
        assert_eq!((document.rows.len(), document.since), (ChangeFeedPage::MAX_ROWS, NOW + CLOCKS_MS), "{span:?}");
        assert_eq!(ChangeFeedPage::parse(document.to_json().as_bytes()), Some(document));
    }
    world.pass(DAY_MS + MINUTE);
    world.read();
    assert_eq!(world.document(Span::Day).since, world.now() - DAY_MS);
}

#[test]
fn the_document_says_how_far_it_is_behind() {
    let feed = ChangeFeed::new(2);
    let clock = Arc::new(AtomicU64::new(NOW));
    let at = |now: u64, database: usize, good: bool| {
        clock.store(now, Ordering::SeqCst);
        let clock = clock.clone();
        let clock = Clock::from_fn(move || clock.fetch_add(10, Ordering::SeqCst));
        let answer = || if good { Ok(vec![]) } else { Err(StoreError::Unavailable("away".into())) };
        assert_eq!(block_on(read(&feed, &clock, database, |_| std::future::ready(answer()))).is_ok(), good);
    };
    let says = |now: u64| feed.document(Span::Tail, now, 0).map(|document| (document.now, document.behind));
    assert_eq!(says(NOW), None);
    at(NOW, 0, true);
    assert_eq!(says(NOW), None, "the other one was never read");
    at(NOW + 100, 1, true);
    assert_eq!(says(NOW + 300), Some((NOW, 300)), "from before the reading");
    at(NOW + 9_000, 0, true);
    at(NOW + 9_000, 1, false);
    assert_eq!(says(NOW + 9_500), Some((NOW + 100, 9_400)), "as the one that is furthest behind");
    assert_eq!(feed.behind(NOW + 9_500), Some(9_400));
    assert_eq!(says(NOW + 9_000 + SILENT_MS), Some((NOW + 100, 8_900 + SILENT_MS)));
    assert_eq!(says(NOW + 9_001 + SILENT_MS), None, "nothing can be read");
}

proptest! {
    /// Numbers are given in order and committed in any, each within the overlap; some never are.
    #[test]
    fn whatever_is_committed_is_in_the_next_document(
        delays in proptest::collection::vec((proptest::option::weighted(0.9, 0..OVERLAP_MS), 0..2_000_u64), 1..60),
        step in 100..3_000_u64,
    ) {
        let world = World::new();
        world.read();
        let (mut given, mut commits) = (NOW, BTreeMap::new());
        for (number, (delay, pause)) in delays.iter().enumerate() {
            given += pause;
            let seq = number as u64 + 1;
            commits.extend(delay.map(|delay| ((given + delay, seq), seq)));
        }
        while !commits.is_empty() {
            world.pass(step);
            let mut expected = Vec::new();
            while let Some(entry) = commits.first_entry().filter(|entry| entry.key().0 <= world.now()) {
                let seq = entry.remove();
                world.commit(seq, seq, seq);
                expected.push((seq, seq));
            }
            world.read();
            let rows = world.rows(Span::Tail);
            prop_assert!(expected.iter().all(|row| rows.contains(row)), "{:?} not in {:?}", expected, rows);
            prop_assert_eq!(world.rows(Span::Day).len(), world.rows.borrow().len());
        }
        world.pass(2 * OVERLAP_MS);
        world.read();
        prop_assert_eq!(Some(world.settled()), world.rows.borrow().keys().next_back().copied().or(Some(0)));
    }
}
