//! Ranks that are made again for other weights.

use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::CommentId;
use gailou_shared::path::Path;
use gailou_shared::rank::{HotWeights, Sort};
use gailou_shared::walk::Snapshot;
use tokio::time::sleep;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::copies::read_setting;
use crate::adapters::mysql::rank_again::PROGRESS_SETTING;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::tests::read::put_replies;
use crate::adapters::mysql::tests::{TestDatabases, key, member, put_comment};
use crate::domain::row::{CommentList, WeightsByType};
use crate::ports::store::*;

/// Ranks are made again, once, when the weights differ from those that they were made with.
#[tokio::test]
async fn other_weights_rank_comments_again() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (key, slot) = (key(1), key(1).slot());
    let ids: Vec<_> = (1..=3).map(|n| CommentId::from_parts(1_690_000_000_000 + n, slot, 1, 0)).collect();
    for id in &ids {
        put_comment(&store, &key, *id, member(7)).await.unwrap();
    }
    let (n, reply) =
        (store.table_number(slot), put_replies(&store, subject_number(&key), &Path::root(ids[0]), 1, 3).await);
    let mut session = store.long_session("test", store.database_of(slot)).await.unwrap();
    session.execute_text(format!("UPDATE comment_{n} SET dislikes = 9 WHERE id = {}", ids[2])).await.unwrap();
    let hot = async |weights: HotWeights| {
        let store = databases.open_ranked_by(WeightsByType::from([("video".to_owned(), weights)])).await;
        store.rank_again(&|_| {}).await.unwrap();
        let roots = store.list_ranked(&CommentList::Roots(key.clone()), Sort::Hot).await.unwrap();
        let replies = store.list_ranked(&CommentList::Under(Path::root(ids[0])), Sort::Hot).await.unwrap();
        (Snapshot::rank(roots).ids().to_vec(), replies)
    };
    let (newest_last, replies) = hot(HotWeights { like: 5, reply: 900, dislike: 0, half_life_ms: None }).await;
    assert_eq!(newest_last, [ids[0], ids[2], ids[1]]);
    assert_eq!(replies.len(), 3);
    let (by_dislikes, other) = hot(HotWeights { like: 50, reply: 0, dislike: 1_000, half_life_ms: None }).await;
    assert_eq!(by_dislikes, [ids[1], ids[0], ids[2]]);
    assert_eq!(other.len(), 3);
    assert_ne!(replies, other);
    // A rank that was made by these weights stays as it is.
    session.execute_text(format!("UPDATE reply_rank_{n} SET hot = -5 WHERE id = {}", reply.id())).await.unwrap();
    let (_, kept) = hot(HotWeights { like: 50, reply: 0, dislike: 1_000, half_life_ms: None }).await;
    assert!(kept.contains(&(-5, reply.id())));
    databases.drop_all().await;
}

/// The numbers of rows of a thread's ranks with keys below and above this.
async fn count_keys(store: &MysqlStore, root: CommentId, hot: i64) -> (i64, i64) {
    let (slot, n) = (root.slot(), store.table_number(root.slot()));
    let text = format!(
        "SELECT CAST(SUM(hot < {hot}) AS SIGNED), CAST(SUM(hot >= {hot}) AS SIGNED) FROM reply_rank_{n} WHERE root_id = {root}"
    );
    let mut session = store.long_session("test", store.database_of(slot)).await.unwrap();
    let row = session.fetch_first(sql(text)).await.unwrap().unwrap();
    (sqlx::Row::get(&row, 0), sqlx::Row::get(&row, 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn ranking_that_is_interrupted_in_a_subject_goes_on_behind_its_last_chunk() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (key, slot) = (key(1), key(1).slot());
    let id = CommentId::from_parts(1_690_000_000_000, slot, 1, 0);
    put_comment(&store, &key, id, member(7)).await.unwrap();
    // Without ages, keys are between 0 and 64 times 2^32: the rows begin below all of them.
    put_replies(&store, subject_number(&key), &Path::root(id), 1, 8_000).await;
    let rank = format!("UPDATE reply_rank{{n}} SET hot = id + ({}) WHERE root_id = {id}", i64::MIN);
    store.execute(slot, &rank).await;
    let weights = HotWeights { like: 50, reply: 0, dislike: 1_000, half_life_ms: None };
    let weights = WeightsByType::from([("video".to_owned(), weights)]);
    let store = Arc::new(databases.open_ranked_by(weights).await);
    assert_eq!(count_keys(&store, id, 0).await, (8_000, 0), "tables that are migrated are not ranked");
    let ranking = tokio::spawn({
        let store = store.clone();
        async move { store.rank_again(&|_| {}).await }
    });
    // Two chunks: the progress of the first is stored then.
    while count_keys(&store, id, 0).await.1 < 2_000 {
        sleep(Duration::from_millis(1)).await;
    }
    ranking.abort();
    assert!(ranking.await.is_err_and(|error| error.is_cancelled()), "it was interrupted");
    let (left, done) = count_keys(&store, id, 0).await;
    assert!(left > 0 && done >= 2_000, "{done} rows are committed, {left} are left");
    // A row before the place where it goes on is not read again.
    let mark = format!("UPDATE root_rank{{n}} SET best = 77 WHERE id = {id}");
    store.execute(slot, &mark).await;
    let early = format!("INSERT INTO reply_rank{{n}} (root_id, hot, id) VALUES ({id}, {}, 5)", i64::MIN);
    store.execute(slot, &early).await;
    let ranked = store.rank_again(&|_| {}).await.unwrap();
    assert!((7_000..=8_001).contains(&ranked), "{ranked}, a chunk may lack its progress");
    assert_eq!(count_keys(&store, id, 0).await, (1, 8_000), "the row before stays, all others are ranked");
    assert_eq!(read_setting(store.first_pool(), PROGRESS_SETTING).await.unwrap(), None);
    assert!(store.is_ranked_by_weights().await.unwrap());
    let mut after = None;
    loop {
        let chunk = store.reconcile_ranks(&key, after.as_ref(), false).await.unwrap();
        assert_eq!(chunk.found, []);
        after = chunk.next;
        if after.is_none() {
            break;
        }
    }
    databases.drop_all().await;
}
