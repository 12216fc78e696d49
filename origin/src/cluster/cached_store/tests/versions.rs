//! Which version of its subject a list contains for certain.

use super::*;

#[tokio::test(start_paused = true)]
async fn list_claims_no_commit_that_the_cache_may_lack() {
    let bed = CachedStoreTestBed::new();
    let (roots_before, _) = publish_thread(&bed, 3);
    let read = async || {
        let listed = bed.cached_store.list_floors_of(&subject(), &roots(), FloorRange::newest(9)).await.unwrap();
        (listed.version, listed.entries.len())
    };
    assert_eq!(read().await, (4, 3), "the tables have all");
    rebuild_requested(&bed).await;
    let reads = bed.doubles.store.reads();
    // Commits that touch no root are contained as well.
    let (_, reply) = bed.doubles.store.publish(&subject(), 10, Some(roots_before[0]));
    commit(&bed.cached_store, &reply).await;
    assert_eq!(read().await, (5, 3));
    // The row of the subject is newer than the list: its invalidation is on its way.
    let (_, late) = bed.doubles.store.publish(&subject(), 11, None);
    assert_eq!(bed.doubles.store.read_subjects(&[subject()]).await.unwrap()[0].as_ref().unwrap().version, 6);
    assert_eq!(read().await, (5, 3));
    // A later one overtakes it.
    let (_, early) = bed.doubles.store.publish(&subject(), 12, Some(roots_before[1]));
    commit(&bed.cached_store, &early).await;
    assert_eq!(read().await, (5, 3), "version 6 is missing");
    assert_eq!(bed.doubles.store.reads(), reads + 1, "all from the cache");
    commit(&bed.cached_store, &late).await;
    assert_eq!(read().await, (7, 4));
    // What is only repeated says nothing of commits in between.
    let mut repeated = bed.doubles.store.publish(&subject(), 13, None).1;
    repeated.changed[0].is_new = false;
    commit(&bed.cached_store, &repeated).await;
    assert_eq!(read().await.0, 7);
}

#[tokio::test(start_paused = true)]
async fn ranking_that_others_began_claims_no_later_commit() {
    let bed = CachedStoreTestBed::new();
    publish_thread(&bed, 3);
    bed.doubles.store.delay_next_read(Duration::from_millis(100));
    let first = async { bed.cached_store.list_ranked_of(&subject(), &roots(), Sort::Hot).await.unwrap() };
    let second = async {
        sleep(Duration::from_millis(50)).await;
        bed.doubles.store.publish(&subject(), 10, None);
        bed.cached_store.list_ranked_of(&subject(), &roots(), Sort::Hot).await.unwrap()
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.version, second.version), (4, 4), "one query for both");
}
