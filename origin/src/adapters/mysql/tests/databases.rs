//! Databases that are created and checked.

use std::collections::BTreeSet;
use std::time::Duration;

use gailou_shared::id::{CommentId, SLOT_COUNT, Slot};
use sqlx::Row as _;
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::migrate::{MIGRATION_TABLE, count_migrations, statements_up_to};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::tests::{TABLES, TestDatabases, find_misplaced, move_slot, repeat_while_unavailable};
use crate::domain::broker_state::BrokerState;
use crate::domain::row::WeightsByType;
use crate::ports::store::{BrokerStates as _, HealthCheck as _, Result, Sharding as _, StoreError};
use crate::telemetry::{SLOW_STATEMENTS, render};

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
    assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
    assert_eq!(store.find_damage().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.plan_moves(3).await.unwrap().len(), 341);
    databases.drop_all().await;
}

#[tokio::test]
async fn slow_statements_time_out_and_their_connections_return() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let begun = Instant::now();
    let slow = async || store.session("test", 0).await?.fetch_all(sql("SELECT SLEEP(10)")).await;
    let all = futures_util::future::join_all((0..60).map(|_| slow())).await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let late = all.iter().filter(|answer| matches!(answer, Err(StoreError::Busy(_))));
    assert_eq!(late.count(), 60 - 24, "those that found no connection");
    // Each that was sent was slow.
    let counted = format!("{SLOW_STATEMENTS}{{dependency=\"mysql\"}} ");
    let metrics = render(|| ());
    let count = metrics.lines().find_map(|line| line.strip_prefix(&counted)?.parse::<u32>().ok());
    assert!(count >= Some(24), "{count:?}");
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

#[tokio::test]
async fn new_database_has_the_tables_of_all_migrations() {
    // One on each server.
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    for (shard, name) in databases.names.iter().enumerate() {
        let described = describe_tables(&store, shard, name).await;
        let mut session = store.long_session("test", shard).await.unwrap();
        for text in [
            format!("DROP DATABASE {name}"),
            format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"),
            format!("USE {name}"),
        ] {
            session.execute_text(text).await.unwrap();
        }
        session.execute_text(MIGRATION_TABLE.to_owned()).await.unwrap();
        for statement in statements_up_to(count_migrations(), TABLES) {
            session.execute_text(statement).await.unwrap();
        }
        drop(session);
        let migrated = describe_tables(&store, shard, name).await;
        assert!(migrated.len() > 200, "{migrated:?}");
        let (missing, other): (Vec<_>, Vec<_>) =
            (migrated.difference(&described).collect(), described.difference(&migrated).collect());
        assert!(missing.is_empty() && other.is_empty(), "missing: {missing:#?}, or other: {other:#?}");
    }
    databases.drop_all().await;
}

/// The columns and the keys of all tables of a database, a line for each.
async fn describe_tables(store: &MysqlStore, shard: usize, name: &str) -> BTreeSet<String> {
    let text = |columns: &str, table: &str| {
        let columns =
            columns.split_whitespace().map(|column| format!("COALESCE(CONVERT({column} USING utf8mb4), '-')"));
        let columns = columns.collect::<Vec<_>>().join(", ");
        format!("SELECT CONCAT_WS(' ', {columns}) FROM information_schema.{table} WHERE table_schema = '{name}'")
    };
    let queries = [
        text(
            "table_name column_name ordinal_position column_type is_nullable column_default extra character_set_name \
             collation_name",
            "columns",
        ),
        text("table_name index_name seq_in_index column_name non_unique sub_part", "statistics"),
        text("table_name engine table_collation", "tables"),
    ];
    let mut lines = BTreeSet::new();
    for query in queries {
        let rows = store.session("test", shard).await.unwrap().fetch_text(&query).await.unwrap();
        lines.extend(rows.iter().map(|row| row.get::<String, _>(0)));
    }
    lines
}

/// The number of the migration that puts the slot into keys.
const SLOT_KEYS: u16 = 12;

#[tokio::test]
async fn filled_tables_get_the_slot_in_their_keys_and_again() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let n = 1;
    // As the migrations before left them.
    for text in [
        "ALTER TABLE reaction_{n} DROP PRIMARY KEY, ADD PRIMARY KEY (comment_id, member_id), DROP COLUMN slot",
        "ALTER TABLE reply_rank_{n} DROP PRIMARY KEY, ADD PRIMARY KEY (root_id, hot, id), DROP COLUMN slot",
        "ALTER TABLE alias_{n} DROP PRIMARY KEY, ADD PRIMARY KEY (id), DROP COLUMN slot",
        "ALTER TABLE mention_{n} DROP KEY mention_slot, ADD KEY mention_comment (comment_id), DROP COLUMN slot",
    ] {
        let mut session = store.long_session("test", 0).await.unwrap();
        for n in 0..TABLES {
            session.execute_text(text.replace("{n}", &n.to_string())).await.unwrap();
        }
    }
    let slots: Vec<Slot> = [0, 1, 511, 1_023].into_iter().filter_map(Slot::new).collect();
    let ids: Vec<String> =
        slots.iter().map(|slot| CommentId::from_parts(1_700_000_000_000, *slot, 3, 5).to_string()).collect();
    let insert = |n: i32, columns: &str, row: &dyn Fn(&str) -> String| {
        let rows: Vec<String> = ids.iter().map(|id| row(id)).collect();
        format!("INSERT INTO {} VALUES {}", columns.replace("{n}", &n.to_string()), rows.join(","))
    };
    let mut session = store.long_session("test", 0).await.unwrap();
    for text in [
        insert(n, "reaction_{n} (comment_id, member_id, reaction)", &|id| format!("({id}, 7, 1)")),
        insert(n, "reply_rank_{n} (root_id, hot, id)", &|id| format!("({id}, 7, 1)")),
        insert(n, "alias_{n} (id, comment_id)", &|id| format!("({id}, 7)")),
        insert(n, "mention_{n} (member_id, comment_id)", &|id| format!("(7, {id})")),
    ] {
        session.execute_text(text).await.unwrap();
    }
    for _ in 0..2 {
        // The second time as after a migration that was interrupted at its end.
        session.execute_text(format!("DELETE FROM migration WHERE number >= {SLOT_KEYS}")).await.unwrap();
        MysqlStore::migrate(&databases.urls(), TABLES, WeightsByType::new()).await.unwrap();
        for (table, id) in
            [("reaction", "comment_id"), ("reply_rank", "root_id"), ("alias", "id"), ("mention", "comment_id")]
        {
            let text = format!("SELECT slot FROM {table}_{n} ORDER BY slot, {id}");
            let found = session.fetch_text(text).await.unwrap();
            let found: Vec<i64> = found.iter().map(|r| sqlx::Row::get(r, 0)).collect();
            let expected: Vec<i64> = slots.iter().map(|slot| i64::from(slot.get())).collect();
            assert_eq!(found, expected, "{table}");
        }
    }
    databases.drop_all().await;
}

#[tokio::test]
async fn empty_database_that_was_not_is_refused_until_it_is_adopted() {
    for lost in [0, 1] {
        let Some(databases) = TestDatabases::new(2) else { return };
        let store = databases.open().await;
        let slots: Vec<Slot> = (0..SLOT_COUNT).filter_map(Slot::new).collect();
        let moved = slots.iter().copied().find(|slot| store.database_of(*slot) == lost).unwrap();
        move_slot(&store, moved, 1 - lost).await;
        let mut session = store.long_session("test", 1 - lost).await.unwrap();
        let mut gone = store.long_session("test", lost).await.unwrap();
        let name = &databases.names[lost];
        for step in [format!("DROP DATABASE {name}"), format!("CREATE DATABASE {name}")] {
            gone.execute_text(step).await.unwrap();
            let refused = MysqlStore::migrate(&databases.urls(), TABLES, WeightsByType::new()).await.unwrap_err();
            assert!(refused.to_string().contains("--adopt-empty"), "{refused}");
        }
        let made = format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{name}'");
        assert!(gone.fetch_text(made).await.unwrap().is_empty(), "nothing was made in it");
        repeat_while_unavailable(async || MysqlStore::adopt_empty(&databases.urls(), TABLES).await).await;
        let store = databases.open().await;
        for slot in slots {
            let expected = if slot == moved { 1 - lost } else { usize::from(slot.get() >= 512) };
            assert_eq!(store.database_of(slot), expected, "slot {}", slot.get());
        }
        assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
        session.execute_text("DO 0").await.unwrap();
        databases.drop_all().await;
    }
}

#[tokio::test]
async fn database_of_another_installation_is_refused_by_name() {
    let (Some(databases), Some(others)) = (TestDatabases::new(2), TestDatabases::new(2)) else { return };
    let (store, other) = (databases.open().await, others.open().await);
    let (id, other_id) = (store.installation().unwrap().to_owned(), other.installation().unwrap().to_owned());
    assert!(id.len() == 32 && id != other_id, "{id} {other_id}");
    let mixed = [databases.urls()[0].clone(), others.urls()[1].clone()];
    let expected = format!("/{}: it belongs to installation {other_id}, and", others.names[1]);
    let weights = WeightsByType::new;
    for refused in [
        MysqlStore::open(&mixed, TABLES, weights()).await.map(drop),
        MysqlStore::open_available(&mixed, TABLES, weights()).await.map(drop),
        MysqlStore::migrate(&mixed, TABLES, weights()).await.map(drop),
        MysqlStore::adopt_empty(&mixed, TABLES).await,
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(&expected) && error.contains(&id), "{error}");
    }
    // Databases of a version without installations: one has an id, and then both have it.
    for kept in [None, Some(1), Some(0)] {
        for database in (0..2).filter(|database| Some(*database) != kept) {
            let mut session = store.session("test", database).await.unwrap();
            session.execute_text("DELETE FROM setting WHERE name = 'installation'").await.unwrap();
        }
        let before = MysqlStore::open(&databases.urls(), TABLES, weights()).await.unwrap();
        assert_eq!(before.installation().is_some(), kept.is_some(), "{kept:?}");
        let (one, same) = (databases.open().await, databases.open().await);
        assert_eq!(one.installation(), same.installation());
        if kept.is_some() {
            assert_eq!(one.installation(), before.installation(), "{kept:?}");
        }
    }
    databases.drop_all().await;
    others.drop_all().await;
}

#[tokio::test]
async fn first_cluster_of_the_broker_is_remembered_in_every_database() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (one, other) = tokio::join!(store.remember_cluster("a"), store.remember_cluster("b"));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one, other, "one of the two is first");
    assert_eq!(store.read_broker_state().await.unwrap().cluster_id.as_ref(), Some(&one));
    let second = MysqlStore::open_available(&databases.urls(), TABLES, WeightsByType::new()).await.unwrap();
    let mut session = store.session("test", 0).await.unwrap();
    session.execute_text("DELETE FROM setting WHERE name = 'broker_state'").await.unwrap();
    assert_eq!(second.read_broker_state().await.unwrap().cluster_id.as_ref(), Some(&one), "the second one has it");
    // A process that does not know the cluster stops the broker.
    store.write_broker_state(&BrokerState::default().stop("it is short".into())).await.unwrap();
    let state = store.read_broker_state().await.unwrap();
    assert_eq!((state.stopped.as_deref(), state.cluster_id.as_ref()), (Some("it is short"), Some(&one)));
    let accepted = BrokerState { generation: 2, cluster_id: Some("c".into()), ..BrokerState::default() };
    store.write_broker_state(&accepted).await.unwrap();
    assert_eq!(store.remember_cluster("a").await.unwrap(), "c");
    assert_eq!(store.read_broker_state().await.unwrap(), accepted);
    databases.drop_all().await;
}
