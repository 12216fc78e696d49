//! The numbers of what people do, over databases, moves and repeated batches.

use std::sync::Arc;

use futures_util::future::try_join_all;
use gailou_shared::id::SubjectKey;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::tests::write::{NOW, comment, like, logged, publish};
use crate::adapters::mysql::tests::{TestDatabases, key, move_slot};
use crate::cluster::reshard::delete_old_copies;
use crate::domain::activity::ActivityStep;
use crate::ports::store::{ActivityReader as _, BatchWriter as _, Sharding as _};

/// Posts and reactions, by minute and by day.
async fn counted(store: &MysqlStore) -> [Option<(u64, u64)>; 2] {
    let mut found = [None; 2];
    for (n, step) in [ActivityStep::Minute, ActivityStep::Day].into_iter().enumerate() {
        let points = store.list_activity(step, 0, u64::MAX).await.unwrap();
        assert!(points.len() <= 1 && points.iter().all(|point| point.at == step.begin_of(NOW)), "{points:?}");
        found[n] = points.first().map(|point| (point.posts, point.reactions));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_batch_and_moved_slot_count_once() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = Arc::new(databases.open().await);
    assert_eq!(counted(&store).await, [None; 2]);
    let keys: Vec<SubjectKey> = (1..=12).map(key).collect();
    let batch_of = |key: &SubjectKey| {
        let new = comment(1, key, None);
        [logged(0, publish(&new)), logged(0, like(new.path.id(), 7)), logged(1, like(new.path.id(), 7))]
    };
    // At once, so that transactions of one database count in the same minute.
    let persisted = keys.iter().map(|key| {
        let (store, batch) = (store.clone(), batch_of(key));
        async move { store.persist(&batch).await }
    });
    try_join_all(persisted).await.unwrap();
    assert_eq!(counted(&store).await, [Some((12, 12)); 2]);

    let moved = keys[0].slot();
    move_slot(&store, moved, 1 - store.database_of(moved)).await;
    for again in 0..2 {
        for key in &keys {
            store.persist(&batch_of(key)).await.unwrap();
        }
        assert_eq!(counted(&store).await, [Some((12, 12)); 2], "{again}");
        delete_old_copies(&*store, &[moved]).await.unwrap();
    }
    store.persist(&[logged(1, publish(&comment(2, &keys[0], None)))]).await.unwrap();
    assert_eq!(counted(&store).await, [Some((13, 12)); 2]);
    databases.drop_all().await;
}
