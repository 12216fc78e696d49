//! The job that keeps an index up to date, over SQLite and an index on disk.

use std::path::Path;

use gailou_shared::id::SubjectKey;
use gailou_shared::wire::CommentState;

use super::*;
use crate::adapters::sqlite::SqliteStore;
use crate::adapters::tantivy::TantivyIndex;
use crate::domain::operation::{CommentChange, LoggedOperation, Operation};
use crate::domain::row::NewCommentRow;
use crate::domain::search_index::SearchFilter;
use crate::domain::search_text::SearchTerms;
use crate::ports::store::BatchWriter as _;
use crate::testing::fixtures::{comment, member, new_row, subject_in};
use crate::testing::manual_clock::ManualClock;

#[test]
fn burst_is_caught_up_with_once_it_does_not_grow_or_is_too_long() {
    assert!(!catches_up(60_000, CATCH_UP_ENTRIES - 1));
    assert!(!catches_up(60_000, 60_001));
    assert!(catches_up(60_000, 60_000));
    assert!(catches_up(MAX_BURST_ENTRIES - 1, MAX_BURST_ENTRIES));
}

/// Tables, an index, and the job between them.
struct Indexed {
    store: Arc<SqliteStore>,
    indexer: CommentIndexer<SqliteStore>,
    clock: ManualClock,
}

impl Indexed {
    fn open(folder: &Path) -> Self {
        let store = Arc::new(SqliteStore::open(&folder.join("gailou.db"), Default::default()).unwrap());
        let clock = ManualClock::at(1_000_000);
        let indexer = CommentIndexer {
            index: Some(Arc::new(TantivyIndex::new(folder.join("search")))),
            tables: store.clone(),
            databases: 1,
            erased_members: Arc::default(),
            clock: clock.clock(),
            name: "one".into(),
            metrics: Arc::default(),
        };
        Self { store, indexer, clock }
    }

    async fn publish(&self, number: u64, text: &str) -> CommentId {
        let id = comment(0, number);
        let row = NewCommentRow { content: text.into(), ..new_row(&self.subject(), id) };
        self.apply(Operation::Publish(Box::new(row))).await;
        id
    }

    fn subject(&self) -> SubjectKey {
        subject_in(0)
    }

    async fn apply(&self, operation: Operation) {
        self.store.persist(&[LoggedOperation::new(1, operation)]).await.unwrap();
    }

    async fn set_state(&self, id: CommentId, state: CommentState) {
        self.apply(Operation::Change { id, change: CommentChange::State(state), audit: None }).await;
    }

    async fn step(&self) {
        while self.indexer.step().await.unwrap() == IndexingStep::Unfinished {}
    }

    async fn find(&self, query: &str) -> Vec<CommentId> {
        let conditions = SearchTerms::parse(query).unwrap().conditions();
        let filter = SearchFilter { conditions, visible_only: true, ..SearchFilter::default() };
        self.indexer.index.as_ref().unwrap().search(&filter, 100).await.unwrap()
    }

    async fn waiting(&self) -> u64 {
        self.store.read_index_backlog(0).await.unwrap().entries
    }

    async fn state(&self) -> SearchIndexState {
        HeldState::read(&*self.store).await.unwrap().state
    }
}

#[tokio::test]
async fn every_change_reaches_the_index_and_leaves_the_queue() {
    let folder = tempfile::tempdir().unwrap();
    let indexed = Indexed::open(folder.path());
    let old = indexed.publish(1, "written before the first start").await;
    indexed.step().await;
    assert_eq!((indexed.find("before").await, indexed.waiting().await), (vec![old], 0));
    let new = indexed.publish(2, "新的评论").await;
    indexed.apply(Operation::React { id: old, member: member(9), change: like() }).await;
    assert_eq!(indexed.waiting().await, 1, "a like changes no text");
    indexed.step().await;
    assert_eq!(indexed.find("评论").await, [new]);
    let edit = CommentChange::Edit {
        content: "changed".into(),
        html: String::new(),
        original_text: None,
        state: CommentState::Published,
        reasons: vec![],
        max_edits: 0,
    };
    indexed.apply(Operation::Change { id: new, change: edit, audit: None }).await;
    indexed.set_state(old, CommentState::Hidden).await;
    indexed.step().await;
    assert_eq!((indexed.find("评论").await, indexed.find("changed").await), (vec![], vec![new]));
    assert_eq!(indexed.find("before").await, []);
    indexed.set_state(old, CommentState::Published).await;
    indexed.step().await;
    assert_eq!((indexed.find("before").await, indexed.waiting().await), (vec![old], 0));
}

fn like() -> crate::domain::operation::ReactionChange {
    crate::domain::operation::ReactionChange::Put(gailou_shared::wire::Reaction::Like)
}

#[tokio::test]
async fn changes_while_nothing_indexed_are_caught_up() {
    let folder = tempfile::tempdir().unwrap();
    let indexed = Indexed::open(folder.path());
    indexed.step().await;
    let id = indexed.publish(1, "offline").await;
    drop(indexed);
    let indexed = Indexed::open(folder.path());
    let complete = indexed.state().await.complete;
    indexed.step().await;
    assert_eq!((indexed.find("offline").await, indexed.waiting().await), (vec![id], 0));
    assert_eq!(indexed.state().await.complete, complete, "the index was not built again");
}

#[tokio::test]
async fn lost_index_is_built_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut indexed = Indexed::open(folder.path());
    let ids = [indexed.publish(1, "one").await, indexed.publish(2, "one two").await];
    indexed.set_state(ids[0], CommentState::Review).await;
    indexed.step().await;
    let complete = indexed.state().await.complete;
    indexed.indexer.index = None;
    std::fs::remove_dir_all(folder.path().join("search")).unwrap();
    indexed.indexer.index = Some(Arc::new(TantivyIndex::new(folder.path().join("search"))));
    indexed.step().await;
    assert_eq!(indexed.find("one").await, [ids[1]]);
    let held = SearchFilter { state: Some(CommentState::Review), ..SearchFilter::default() };
    assert_eq!(indexed.indexer.index.as_ref().unwrap().search(&held, 9).await.unwrap(), [ids[0]]);
    assert_ne!(indexed.state().await.complete, complete);
}

#[tokio::test]
async fn build_goes_on_where_it_was_and_answers_when_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let indexed = Indexed::open(folder.path());
    let texts = (0..COMMENTS_PER_BUILD_STEP as u64 + 100).map(|n| {
        let row = NewCommentRow { content: "all".into(), ..new_row(&indexed.subject(), comment(0, n)) };
        LoggedOperation::new(1, Operation::Publish(Box::new(row)))
    });
    indexed.store.persist(&texts.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(indexed.indexer.step().await.unwrap(), IndexingStep::Unfinished);
    let build = indexed.state().await.build.unwrap();
    assert_eq!((build.comments, indexed.state().await.complete), (COMMENTS_PER_BUILD_STEP as u64, None));
    let index = indexed.indexer.index.clone().unwrap();
    assert!(matches!(index.search(&SearchFilter::default(), 1).await, Err(SearchError::NotBuilt)));
    drop((indexed, index));
    let indexed = Indexed::open(folder.path());
    assert_eq!(indexed.indexer.step().await.unwrap(), IndexingStep::Done);
    assert_eq!(indexed.state().await.complete, Some(build.id));
    let conditions = SearchTerms::parse("all").unwrap().conditions();
    let filter = SearchFilter { conditions, ..SearchFilter::default() };
    let found = indexed.indexer.index.as_ref().unwrap().search(&filter, 20_000).await.unwrap();
    assert_eq!(found.len(), COMMENTS_PER_BUILD_STEP + 100);
}

#[tokio::test]
async fn index_that_was_asked_for_replaces_the_one_that_answers() {
    let folder = tempfile::tempdir().unwrap();
    let indexed = Indexed::open(folder.path());
    let id = indexed.publish(1, "text").await;
    indexed.step().await;
    let mut held = HeldState::read(&*indexed.store).await.unwrap();
    let asked_for = new_index_id();
    held.state.build = Some(IndexBuild { id: asked_for.clone(), ..IndexBuild::default() });
    assert!(held.store(&*indexed.store).await.unwrap());
    assert!(!HeldState { stored: None, state: held.state }.store(&*indexed.store).await.unwrap(), "it has changed");
    indexed.step().await;
    assert_eq!((indexed.find("text").await, indexed.state().await.complete), (vec![id], Some(asked_for)));
}

#[tokio::test]
async fn one_process_indexes_until_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let indexed = Indexed::open(folder.path());
    indexed.step().await;
    let other = CommentIndexer {
        index: indexed.indexer.index.clone(),
        tables: indexed.store.clone(),
        erased_members: Arc::default(),
        clock: indexed.clock.clock(),
        name: "two".into(),
        metrics: Arc::default(),
        databases: 1,
    };
    indexed.publish(1, "text").await;
    other.step().await.unwrap();
    assert_eq!(indexed.waiting().await, 1);
    indexed.clock.advance(Duration::from_millis(INDEXER_LEASE_MS));
    other.step().await.unwrap();
    assert_eq!(indexed.waiting().await, 0);
    indexed.publish(2, "text").await;
    indexed.step().await;
    assert_eq!(indexed.waiting().await, 1, "the other one took over");
}

#[tokio::test]
async fn how_far_the_index_is_behind_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let indexed = Indexed::open(folder.path());
    indexed.step().await;
    indexed.publish(1, "text").await;
    indexed.store.execute("UPDATE index_queue SET at = CAST(unixepoch('subsec') * 1000 AS INTEGER) - 70000");
    let measured = || {
        let metrics = &indexed.indexer.metrics;
        (metrics.entries.load(Ordering::Relaxed), metrics.age_ms.load(Ordering::Relaxed))
    };
    // What is measured is what waited when the step began.
    indexed.step().await;
    let (entries, age_ms) = measured();
    assert!(entries == 1 && (70_000..100_000).contains(&age_ms), "{entries} comments wait for {age_ms} ms");
    indexed.step().await;
    assert_eq!(measured(), (0, 0));
}

#[tokio::test]
async fn queue_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let mut indexed = Indexed::open(folder.path());
    let id = indexed.publish(1, "text").await;
    indexed.step().await;
    let complete = indexed.state().await.complete;
    let fill = |store: &SqliteStore, last: u64| {
        store
            .execute(&format!("INSERT INTO index_queue (seq, at, comment_id) VALUES (10, 0, {id}), ({last}, 0, {id})"));
    };
    fill(&indexed.store, 9 + MAX_QUEUED_COMMENTS);
    let index = indexed.indexer.index.take();
    indexed.step().await;
    assert_eq!((indexed.waiting().await, indexed.state().await.complete), (MAX_QUEUED_COMMENTS, complete.clone()));
    indexed.store.execute(&format!("UPDATE index_queue SET seq = {} WHERE seq > 10", 10 + MAX_QUEUED_COMMENTS));
    indexed.step().await;
    assert_eq!((indexed.waiting().await, indexed.state().await.complete), (0, None), "the index must be built again");
    // Without an index nothing is kept for one.
    fill(&indexed.store, 10 + MAX_UNNEEDED_ENTRIES);
    indexed.step().await;
    assert_eq!(indexed.waiting().await, 0);
    indexed.indexer.index = index;
    indexed.step().await;
    assert_eq!(indexed.find("text").await, [id]);
    assert_ne!(indexed.state().await.complete, complete);
}

#[tokio::test]
async fn text_of_an_erased_member_is_indexed_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let indexed = Indexed::open(folder.path());
    let id = indexed.publish(1, "personal").await;
    indexed.step().await;
    assert_eq!(indexed.find("personal").await, [id]);
    // Its row is overwritten later.
    indexed.indexer.erased_members.add(member(1));
    indexed.set_state(id, CommentState::Hidden).await;
    indexed.step().await;
    let filter =
        SearchFilter { conditions: SearchTerms::parse("personal").unwrap().conditions(), ..Default::default() };
    assert_eq!(indexed.indexer.index.as_ref().unwrap().search(&filter, 9).await.unwrap(), []);
}
