//! Node numbers that are spread over databases and leased from them.

use std::time::Duration;

use futures_util::StreamExt as _;
use gailou_shared::id::IMPORT_NODE;
use tokio::time::sleep;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::tests::{TABLES, TestDatabases};
use crate::domain::row::WeightsByType;
use crate::ports::store::{LeasedNode, NodeLeases as _};

/// A time to live that no test outlasts, in milliseconds.
const LONG_MS: u64 = 60_000;
const NOW: u64 = 1_800_000_000_000;

async fn take(store: &MysqlStore, database: usize, holder: &str, ttl_ms: u64) -> Option<LeasedNode> {
    store.take_node(database, holder, ttl_ms, NOW).await.unwrap()
}

/// The numbers of a database that can be taken by many at once.
async fn take_all(store: &MysqlStore, database: usize) -> Vec<u64> {
    let takers = futures_util::stream::iter(
        (0..70)
            .map(|n| async move { take(store, database, &format!("h{n}"), LONG_MS).await.map(|leased| leased.node) }),
    );
    let mut numbers: Vec<u64> = takers.buffer_unordered(8).filter_map(std::future::ready).collect().await;
    numbers.sort_unstable();
    numbers
}

fn numbers_with_remainder(remainder: u64, databases: u64) -> Vec<u64> {
    (0..IMPORT_NODE).filter(|node| node % databases == remainder).collect()
}

#[tokio::test]
async fn node_number_is_leased_to_one_holder() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    assert_eq!(take_all(&store, 0).await, numbers_with_remainder(0, 2));
    assert_eq!(take_all(&store, 1).await, numbers_with_remainder(1, 2));
    databases.drop_all().await;
}

#[tokio::test]
async fn number_that_was_not_given_back_waits_one_lease() {
    const TTL_MS: u64 = 1_000;
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let mut held = take(&store, 0, "first", LONG_MS).await.unwrap();
    store.session("test", 0).await.unwrap().execute_text("DELETE FROM node WHERE node <> 0").await.unwrap();
    assert_eq!((held.node, held.after_ms), (0, 0));
    assert!(take(&store, 0, "second", TTL_MS).await.is_none(), "it is taken");
    // Given back, it is free at once, and its heir begins after the last id.
    store.release_node(&held, NOW + 5).await.unwrap();
    let mut held_again = take(&store, 0, "second", TTL_MS).await.unwrap();
    assert_eq!(held_again.after_ms, NOW + 5);
    assert!(!store.renew_node(&mut held, TTL_MS, NOW).await.unwrap(), "another has it");
    assert!(store.renew_node(&mut held_again, TTL_MS, NOW + 70).await.unwrap());
    sleep(Duration::from_millis(TTL_MS + 200)).await;
    assert!(take(&store, 0, "third", TTL_MS).await.is_none(), "its lease has expired, and that is not enough");
    sleep(Duration::from_millis(TTL_MS)).await;
    let heir = take(&store, 0, "third", TTL_MS).await.unwrap();
    assert_eq!(heir.after_ms, NOW + 5 + TTL_MS, "what the former holder might have used");
    assert!(!store.renew_node(&mut held_again, TTL_MS, NOW).await.unwrap(), "the heir has it");
    databases.drop_all().await;
}

#[tokio::test]
async fn copy_of_a_process_loses_the_number() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let mut original = take(&store, 0, "one machine", LONG_MS).await.unwrap();
    let mut copy = original.clone();
    sleep(Duration::from_millis(2)).await;
    assert!(store.renew_node(&mut original, LONG_MS, NOW).await.unwrap());
    sleep(Duration::from_millis(2)).await;
    assert!(!store.renew_node(&mut copy, LONG_MS, NOW).await.unwrap());
    // A renewal whose answer was lost is its own.
    let mut lost = original.clone();
    assert!(store.renew_node(&mut original, LONG_MS, NOW).await.unwrap());
    lost.expiries.extend(&original.expiries);
    assert!(store.renew_node(&mut lost, LONG_MS, NOW).await.unwrap());
    databases.drop_all().await;
}

#[tokio::test]
async fn server_that_takes_over_gives_no_number_for_one_lease() {
    const TTL_MS: u64 = 1_000;
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let mut held = take(&store, 0, "first", LONG_MS).await.unwrap();
    let other = "UPDATE node_server SET server = 'former'";
    store.session("test", 0).await.unwrap().execute_text(other).await.unwrap();
    store.take_node(0, "second", TTL_MS, NOW).await.unwrap_err();
    assert!(store.renew_node(&mut held, LONG_MS, NOW).await.unwrap(), "a lease that it knows goes on");
    sleep(Duration::from_millis(TTL_MS + 100)).await;
    assert!(take(&store, 0, "second", TTL_MS).await.is_some());
    databases.drop_all().await;
}

#[tokio::test]
async fn free_numbers_move_to_a_database_that_is_added() {
    let Some(databases) = TestDatabases::new(3) else { return };
    let urls = databases.urls();
    let migrate = async |count: usize| {
        MysqlStore::migrate(&urls[..count], TABLES, WeightsByType::new()).await.unwrap();
        MysqlStore::open(&urls[..count], TABLES, WeightsByType::new()).await.unwrap()
    };
    let one = migrate(1).await;
    let mut held: Vec<LeasedNode> = vec![];
    for n in 0..4 {
        held.push(take(&one, 0, &format!("h{n}"), LONG_MS).await.unwrap());
    }
    assert_eq!(held.iter().map(|leased| leased.node).collect::<Vec<_>>(), [0, 1, 2, 3]);
    one.release_node(&held.remove(2), NOW + 3).await.unwrap();
    let three = migrate(3).await;
    assert_eq!(take_all(&three, 1).await, numbers_with_remainder(1, 3).split_off(1), "1 is held where it was");
    let moved = take(&three, 2, "heir", LONG_MS).await.unwrap();
    assert_eq!((moved.node, moved.after_ms), (5, 0), "used longest ago");
    for leased in &mut held {
        assert!(one.renew_node(leased, LONG_MS, NOW).await.unwrap(), "{leased:?}");
        one.release_node(leased, NOW).await.unwrap();
    }
    // A migration that was interrupted in between goes on.
    let freeze = "UPDATE node SET holder = 'moving', expires_at = 1152921504606846976 WHERE node = 1";
    one.session("test", 0).await.unwrap().execute_text(freeze).await.unwrap();
    migrate(3).await;
    assert_eq!(take(&three, 1, "heir", LONG_MS).await.unwrap().node, 1);
    for _ in 0..20 {
        take(&three, 2, "heir", LONG_MS).await;
    }
    assert!(take(&three, 2, "heir", LONG_MS).await.is_none(), "21 of 63 numbers");
    databases.drop_all().await;
}
