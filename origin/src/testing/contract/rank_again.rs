//! The contract of ranking comments again for changed weights, on every adapter: it is interrupted, writers go on
//! meanwhile, and no list shows a comment twice or loses one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use gailou_shared::walk::{ListWalk, Snapshot, WalkNeed};
use gailou_shared::wire::CommentState;
use tokio::sync::Notify;

use crate::adapters::sqlite::SqliteStore;
use crate::domain::operation::{CommentChange, LoggedOperation, Operation};
use crate::domain::row::{CommentList, FloorRange, WeightsByType};
use crate::ports::store::{Reranker, ThreadReader};
use crate::testing::contract::reconcile::{NOW, ReconciledTables, compare, like, publish, subject};

/// Comments on a page of a walk.
const PAGE_LIMIT: usize = 97;
/// Replies of the thread: more than three chunks.
const REPLY_COUNT: u64 = 3_000;
/// Replies of one reply, and of these one whose replies are ranked by the thread's rows.
const NESTED_COUNT: u64 = 1_200;

/// What the contract needs of the tables.
trait RankedTables: ReconciledTables + Reranker + ThreadReader {}

impl<T: ReconciledTables + Reranker + ThreadReader> RankedTables for T {}

/// Weights that change every key, and leave those of one comment so close that both may be among the best.
const FORMER_WEIGHTS: HotWeights = HotWeights { like: 1_000, reply: 300, dislike: 0, half_life_ms: None };
const NEW_WEIGHTS: HotWeights = HotWeights { like: 9_000, half_life_ms: Some(1 << 40), ..FORMER_WEIGHTS };

fn by_type(weights: HotWeights) -> WeightsByType {
    WeightsByType::from([(subject().kind().to_owned(), weights)])
}

fn delete(id: CommentId) -> LoggedOperation {
    let change = CommentChange::State(CommentState::Deleted);
    LoggedOperation::new(NOW, Operation::Change { id, change, audit: None })
}

/// Ranks so many chunks again; how many comments were ranked when that was the end.
async fn rank_chunks(tables: &dyn RankedTables, count: usize) -> Option<u64> {
    let (chunks, is_enough) = (AtomicUsize::new(0), Notify::new());
    let report = |_| {
        if chunks.fetch_add(1, Ordering::Relaxed) + 1 == count {
            is_enough.notify_one();
        }
    };
    tokio::select! {
        biased;
        // First, so that a loaded machine does no chunk more.
        () = is_enough.notified() => None,
        ranked = tables.rank_again(&report) => Some(ranked.unwrap()),
    }
}

/// The ids of a list in [`Sort::Hot`], page by page, as a reader is shown them.
async fn walk(tables: &dyn RankedTables, list: &CommentList) -> Vec<CommentId> {
    let snapshot = Snapshot::rank(tables.list_ranked(list, Sort::Hot).await.unwrap());
    let (mut all, mut at) = (Vec::new(), None);
    loop {
        let mut walk = ListWalk::new(Sort::Hot, Some(&snapshot), at, PAGE_LIMIT).unwrap();
        while let WalkNeed::Floors { ascending, beyond, count } = walk.need() {
            let range = FloorRange { ascending, beyond, count };
            walk.feed(count, &tables.list_floors(list, range).await.unwrap());
        }
        let page = walk.finish();
        let rows = tables.read_comments(page.ids()).await.unwrap();
        all.extend(page.ids().iter().filter(|id| rows[*id].is_listed()));
        at = page.next_after(page.ids().len());
        if at.is_none() {
            return all;
        }
    }
}

/// No comment of these lists is shown twice, and none is missing.
async fn check_lists(tables: &dyn RankedTables, root: &Path, tops: &[&Path]) {
    for top in tops {
        let list = CommentList::Under((*top).clone());
        let shown = walk(tables, &list).await;
        let different: BTreeSet<CommentId> = shown.iter().copied().collect();
        assert_eq!(different.len(), shown.len(), "a comment below {} is shown twice", top.id());
        let listed = tables.list_floors(&list, FloorRange::oldest(2 * REPLY_COUNT as usize)).await.unwrap();
        assert_eq!(different, listed.into_iter().map(|(_, id)| id).collect(), "below {}", top.id());
    }
    let best = tables.list_top_replies(&[root.id()], limits::TOP_REPLIES).await.unwrap();
    let best = &best[&root.id()];
    assert_eq!(BTreeSet::from_iter(best).len(), limits::TOP_REPLIES, "{best:?}");
}

/// The listed replies of a root by their counts.
async fn rank_by_rows(tables: &dyn RankedTables, root: &Path, weights: &HotWeights) -> Vec<CommentId> {
    let list = CommentList::Under(root.clone());
    let listed = tables.list_floors(&list, FloorRange::oldest(2 * REPLY_COUNT as usize)).await.unwrap();
    let ids: Vec<CommentId> = listed.into_iter().map(|(_, id)| id).collect();
    let rows = tables.read_comments(&ids).await.unwrap();
    let mut keys: Vec<(i64, CommentId)> = rows
        .iter()
        .map(|(id, row)| {
            let counts = EngagementCounts { likes: row.likes, dislikes: row.dislikes, replies: row.replies };
            (rank::sort_key(Sort::Hot, counts, row.created_at, weights), *id)
        })
        .collect();
    keys.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
    keys.into_iter().map(|(_, id)| id).collect()
}

async fn check_ranking_again<T: RankedTables>(reopen: impl AsyncFn(WeightsByType) -> T) {
    let tables = reopen(by_type(FORMER_WEIGHTS)).await;
    assert!(tables.is_ranked().await.unwrap(), "there is nothing to rank");
    let (root, first) = publish(1, None);
    let mut batch = vec![first, like(root.id(), 11)];
    let mut add = |n: u64, parent: &Path| {
        let (path, reply) = publish(n, Some(parent));
        batch.push(reply);
        path
    };
    let replies: Vec<Path> = (10..10 + REPLY_COUNT).map(|n| add(n, &root)).collect();
    let parent = &replies[7];
    let nested: Vec<Path> = (10_000..10_000 + NESTED_COUNT).map(|n| add(n, parent)).collect();
    tables.persist(&batch).await.unwrap();
    for (place, likes) in [(100, 40), (101, 5), (102, 4), (103, 3)] {
        let likes: Vec<_> = (0..likes).map(|by| like(replies[place].id(), 1_000 + by)).collect();
        tables.persist(&likes).await.unwrap();
    }
    drop(tables);
    let tables = reopen(by_type(NEW_WEIGHTS)).await;
    assert!(!tables.is_ranked().await.unwrap());
    let mut round = 0;
    let ranked = loop {
        // A chunk is done again when its successor was interrupted: in the end all are.
        let chunks = if round < 12 { 1 } else { usize::MAX };
        let best = walk(&tables, &CommentList::Under(root.clone())).await[0];
        let at = round as usize * 11;
        let mut batch = vec![like(best, 5_000 + round), like(nested[at].id(), 5_000), like(replies[at].id(), 6_000)];
        batch.push(publish(20_000 + round, Some(&root)).1);
        batch.push(publish(30_000 + round, Some(parent)).1);
        batch.extend([delete(replies[at + 1_000].id()), delete(nested[at + 5].id())]);
        tables.persist(&batch).await.unwrap();
        check_lists(&tables, &root, &[&root, parent]).await;
        let ranked = rank_chunks(&tables, chunks).await;
        check_lists(&tables, &root, &[&root, parent]).await;
        if let Some(ranked) = ranked {
            break ranked;
        }
        assert!(!tables.is_ranked().await.unwrap());
        round += 1;
    };
    assert!(ranked > REPLY_COUNT, "{ranked} of {REPLY_COUNT}");
    assert!(tables.is_ranked().await.unwrap());
    assert_eq!(compare(&tables, false).await, [""; 0]);
    let expected = rank_by_rows(&tables, &root, &NEW_WEIGHTS).await;
    assert_eq!(
        walk(&tables, &CommentList::Under(root.clone())).await[..limits::MAX_SNAPSHOT_IDS],
        expected[..limits::MAX_SNAPSHOT_IDS]
    );
    // Weights that come back are changed ones, when the ranks were being made by others.
    drop(tables);
    let tables = reopen(by_type(FORMER_WEIGHTS)).await;
    assert_eq!(rank_chunks(&tables, 1).await, None);
    drop(tables);
    let tables = reopen(by_type(NEW_WEIGHTS)).await;
    assert!(!tables.is_ranked().await.unwrap());
    rank_chunks(&tables, usize::MAX).await.unwrap();
    assert_eq!(compare(&tables, false).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gailou.db");
    check_ranking_again(async |weights| SqliteStore::open(&file, weights).unwrap()).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql() {
    let Some(databases) = crate::adapters::mysql::tests::TestDatabases::new(2) else { return };
    check_ranking_again(async |weights| databases.open_ranked_by(weights).await).await;
    databases.drop_all().await;
}
