//! Databases that are created, checked and leased from.

use std::time::Duration;

use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::tests::{TABLES, TestDatabases};
use crate::domain::row::WeightsByType;
use crate::ports::store::{HealthCheck as _, NodeLeases as _, Result, Sharding as _, StoreError};

#[tokio::test]
async fn database_of_another_layout_is_refused() {
    let Some(databases) = TestDatabases::new(3) else { return };
    let urls = databases.urls();
    let wrong = |result: Result<()>, why: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let open = async |urls: &[String], tables| MysqlStore::open(urls, tables, WeightsByType::new()).await.map(|_| ());
    MysqlStore::migrate(&urls[..2], 7, WeightsByType::new()).await.unwrap_err();
    MysqlStore::migrate(&urls[..2], TABLES, WeightsByType::new()).await.unwrap();
    let (again, other) = tokio::join!(
        MysqlStore::migrate(&urls[..2], TABLES, WeightsByType::new()),
        MysqlStore::migrate(&urls[..2], TABLES, WeightsByType::new())
    );
    again.unwrap();
    other.unwrap();
    open(&urls[..2], TABLES).await.unwrap();
    wrong(open(&urls[..2], 8).await, "cluster.tables can never change");
    wrong(open(&[urls[1].clone(), urls[0].clone()], TABLES).await, "the configuration has it as number 0");
    wrong(open(&urls[..1], TABLES).await, "but 1 are configured");
    wrong(open(&urls, TABLES).await, "1049");
    // A database that is added has no slots until they are moved to it.
    MysqlStore::migrate(&urls, TABLES, WeightsByType::new()).await.unwrap();
    let store = MysqlStore::open(&urls, TABLES, WeightsByType::new()).await.unwrap();
    assert!(
        (0..SLOT_COUNT).filter_map(Slot::new).all(|slot| store.database_of(slot) == usize::from(slot.get() >= 512))
    );
    assert_eq!(store.find_misplaced_rows().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.find_damage().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.plan_moves(3).await.unwrap().len(), 341);
    databases.drop_all().await;
}

#[tokio::test]
async fn node_number_is_leased_to_one_holder() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let leases = futures_util::future::join_all((0..70).map(|n| {
        let store = &store;
        async move { store.lease_node(&format!("h{n}"), 60_000).await.unwrap() }
    }));
    let mut numbers: Vec<u64> = leases.await.into_iter().flatten().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..63).collect::<Vec<_>>());
    let held = (0..70).map(|n| format!("h{n}"));
    let mut own = vec![];
    for holder in held {
        if let Some(number) = store.lease_node(&holder, 60_000).await.unwrap() {
            own.push((holder, number));
        }
    }
    assert_eq!(own.len(), 63, "the same numbers again");
    store.release_node(&own[5].0).await.unwrap();
    assert_eq!(store.lease_node("new", 1).await.unwrap(), Some(own[5].1));
    sleep(Duration::from_millis(20)).await;
    assert_eq!(store.lease_node("newer", 60_000).await.unwrap(), Some(own[5].1), "its time was over");
    databases.drop_all().await;
}

#[tokio::test]
async fn slow_statements_time_out_and_their_connections_return() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let begun = Instant::now();
    let slow = async || store.session("test", 0).await?.fetch_all(sql("SELECT SLEEP(10)")).await;
    let all = futures_util::future::join_all((0..60).map(|_| slow())).await;
    assert!(begun.elapsed() < Duration::from_millis(3_700), "{:?}", begun.elapsed());
    let late = all.iter().filter(|answer| matches!(answer, Err(StoreError::Busy(_))));
    assert_eq!(late.count(), 60 - 24, "those that found no connection");
    // What was given up on holds nothing: all connections can be had again, at the latest when the breaker closes.
    let have_all = async || {
        let answers = async || {
            let mut session = store.session("test", 0).await?;
            session.execute_text("DO 0").await?;
            Ok::<_, StoreError>(session)
        };
        let again = futures_util::future::join_all((0..24).map(|_| answers())).await;
        again.iter().all(Result::is_ok)
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !have_all().await {
        assert!(Instant::now() < deadline, "connections are lost");
        sleep(Duration::from_millis(250)).await;
    }
    databases.drop_all().await;
}
