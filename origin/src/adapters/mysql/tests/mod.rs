//! What needs a server: run with `GAILOU_TEST_MYSQL_URL=mysql://root@127.0.0.1:3306/`, whose account
//! may make databases. The contract of the port is tested elsewhere, on every adapter.

mod reshard;
mod write;

use crate::adapters::mysql::dirty_rows::Mark;
use crate::adapters::mysql::pool::sql;
use crate::adapters::mysql::*;

const TABLES: u16 = 4;

/// Databases of this test alone, dropped with it.
struct Databases {
    server: String,
    names: Vec<String>,
}

impl Databases {
    /// `None`, said aloud, where there is no server.
    fn new(count: usize) -> Option<Self> {
        let Ok(server) = std::env::var("GAILOU_TEST_MYSQL_URL") else {
            eprintln!("SKIPPED: there is no GAILOU_TEST_MYSQL_URL");
            return None;
        };
        let names = (0..count).map(|n| format!("gailou_test_{:016x}_{n}", rand::random::<u64>())).collect();
        Some(Self { server: server.trim_end_matches('/').to_owned(), names })
    }

    fn urls(&self) -> Vec<String> {
        self.names.iter().map(|name| format!("{}/{name}", self.server)).collect()
    }

    async fn open(&self) -> MysqlStore {
        MysqlStore::migrate(&self.urls(), TABLES).await.unwrap();
        MysqlStore::open(&self.urls(), TABLES, WeightsByType::new()).await.unwrap()
    }

    async fn drop(self) {
        let pool = Pool::new(pool::options(&self.urls()[0]).unwrap());
        let mut session = pool.session().await.unwrap();
        session.patient().await.unwrap();
        for name in &self.names {
            session.raw(&format!("DROP DATABASE IF EXISTS `{name}`")).await.unwrap();
        }
    }
}

fn key(number: u64) -> SubjectKey {
    SubjectKey::new("video", &number.to_string()).unwrap()
}

fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

/// A root comment as a writer stores it, with a like, under the lock of its slot.
async fn put(store: &MysqlStore, key: &SubjectKey, id: CommentId, author: MemberId) -> Result<()> {
    let (slot, subject, n) = (key.slot(), MysqlStore::subject_id(key), store.table(key.slot()));
    let mut s = store.session(store.shard(slot)).await?;
    s.begin().await?;
    let find = "SELECT CAST(state AS SIGNED) FROM slot WHERE slot = ? FOR UPDATE";
    let state: i64 = sqlx::Row::try_get(&s.first(sql(find).bind(slot.get())).await?.unwrap(), 0)?;
    if state != 1 && state != 4 {
        return Err(StoreError::Moved);
    }
    s.raw(&format!(
        "INSERT INTO subject_{n} (id, slot, type, `key`, floors, roots, comments, version) \
         VALUES ({subject}, {}, 'video', '{}', 1, 1, 1, 1) ON DUPLICATE KEY UPDATE floors = floors + 1, roots = roots + 1, \
         comments = comments + 1, version = version + 1",
        slot.get(),
        key.key()
    ))
    .await?;
    s.raw(&format!(
        "INSERT INTO comment_{n} (id, subject, list, root_id, path, depth, floor, listed_floor, state, visibility, author_id, \
         author_name, author_level, likes, created_at) SELECT {id}, {subject}, {subject}, {id}, X'{:016X}', 1, floors, floors, \
         0, 0, {author}, 'Zoë 测试 😀', 3, 1, {} FROM subject_{n} WHERE id = {subject}",
        id.get(),
        id.created_ms()
    ))
    .await?;
    s.raw(&format!("INSERT INTO content_{n} (id, content, html) VALUES ({id}, 'it''s 中文 😀 \\\\', '<p>')")).await?;
    s.raw(&format!("INSERT INTO reaction_{n} VALUES ({id}, {author}, 1)")).await?;
    s.raw(&format!("INSERT INTO root_rank_{n} VALUES ({subject}, {id}, 1, 0, 0, {})", id.created_ms())).await?;
    s.raw(&format!(
        "INSERT INTO idempotency_{n} VALUES ({author}, 'k{id}', {}, REPEAT('r', 32), {id}, 0, 1)",
        slot.get()
    ))
    .await?;
    s.raw(&format!("UPDATE slot SET comments = comments + 1, reactions = reactions + 1 WHERE slot = {}", slot.get()))
        .await?;
    if state == 4 {
        let marks = [
            Mark::Subject(subject),
            Mark::Comment(id),
            Mark::Content(id),
            Mark::Reaction(id, author),
            Mark::Idempotency(author, format!("k{id}")),
        ];
        dirty_rows::mark(&mut s, slot, marks).await?;
    }
    s.commit().await
}

#[tokio::test]
async fn databases_are_made_once_and_guarded() {
    let Some(databases) = Databases::new(3) else { return };
    let urls = databases.urls();
    let wrong = |result: Result<()>, why: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let open = async |urls: &[String], tables| MysqlStore::open(urls, tables, WeightsByType::new()).await.map(|_| ());
    MysqlStore::migrate(&urls[..2], 7).await.unwrap_err();
    MysqlStore::migrate(&urls[..2], TABLES).await.unwrap();
    let (again, other) = tokio::join!(MysqlStore::migrate(&urls[..2], TABLES), MysqlStore::migrate(&urls[..2], TABLES));
    again.unwrap();
    other.unwrap();
    open(&urls[..2], TABLES).await.unwrap();
    wrong(open(&urls[..2], 8).await, "cluster.tables can never change");
    wrong(open(&[urls[1].clone(), urls[0].clone()], TABLES).await, "the configuration has it as number 0");
    wrong(open(&urls[..1], TABLES).await, "but 1 are configured");
    wrong(open(&urls, TABLES).await, "1049");
    // A database that is added has no slots until they are moved to it.
    MysqlStore::migrate(&urls, TABLES).await.unwrap();
    let store = MysqlStore::open(&urls, TABLES, WeightsByType::new()).await.unwrap();
    assert!((0..SLOT_COUNT).filter_map(Slot::new).all(|slot| store.shard(slot) == usize::from(slot.get() >= 512)));
    assert_eq!(store.verify().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.find_damage().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.plan(3).await.unwrap().len(), 341);
    databases.drop().await;
}

#[tokio::test]
async fn a_node_number_is_leased_to_one() {
    let Some(databases) = Databases::new(1) else { return };
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
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.lease_node("newer", 60_000).await.unwrap(), Some(own[5].1), "its time was over");
    databases.drop().await;
}

#[tokio::test]
async fn reads_find_what_is_there() {
    let Some(databases) = Databases::new(2) else { return };
    let store = databases.open().await;
    let mut pairs = vec![];
    for number in 1..=12 {
        let (key, author) = (key(number), member(1_000 + number));
        for sequence in 0..3 {
            let id = CommentId::from_parts(1_700_000_000_000 + number, key.slot(), 1, sequence);
            put(&store, &key, id, author).await.unwrap();
            pairs.push((id, author));
        }
    }
    let ids: Vec<CommentId> = pairs.iter().map(|(id, _)| *id).collect();
    let rows = store.read_comments(&ids).await.unwrap();
    assert_eq!(rows.len(), 36);
    assert_eq!(
        (rows[&ids[4]].content.as_str(), rows[&ids[4]].author.name.as_str()),
        ("it's 中文 😀 \\", "Zoë 测试 😀")
    );
    let standing = store.read_reaction_states(&pairs).await.unwrap();
    let (visible, reaction) = (Some(true), Some(Reaction::Like));
    let expected = ReactionState { position: 3, reaction, visible, likes: 1, dislikes: 0, reacted: 0 };
    assert!(standing.iter().all(|s| *s == expected), "{standing:?}");
    // Pairs of one comment, and the same pair twice, get their own answers; hidden ones are told apart.
    let mut session = store.session(store.shard(ids[0].slot())).await.unwrap();
    let hide = format!("UPDATE comment_{} SET visibility = 1 WHERE id = {}", store.table(ids[0].slot()), ids[0]);
    session.raw(&hide).await.unwrap();
    let asked = [pairs[0], (ids[0], member(77)), pairs[1], pairs[0]];
    let standing = store.read_reaction_states(&asked).await.unwrap();
    let hidden = ReactionState { visible: Some(false), ..expected };
    assert_eq!(standing, [hidden, ReactionState { reaction: None, ..hidden }, expected, hidden]);
    session.raw(&hide.replace("= 1", "= 0")).await.unwrap();
    // A comment without a row yet is counted by its reactions.
    let slot = key(1).slot();
    let early = CommentId::from_parts(1_800_000_000_000, slot, 1, 0);
    let mut session = store.session(store.shard(slot)).await.unwrap();
    let reactions =
        format!("INSERT INTO reaction_{} VALUES ({early}, 1, 1), ({early}, 2, 1), ({early}, 3, 2)", store.table(slot));
    session.raw(&reactions).await.unwrap();
    let standing = store.read_reaction_states(&[(early, member(3))]).await.unwrap()[0];
    assert_eq!((standing.likes, standing.dislikes, standing.reaction), (2, 1, Some(Reaction::Dislike)));
    assert_eq!(standing.visible, None);
    // Alias: the second id of a request that was carried out twice.
    session.raw(&format!("INSERT INTO alias_{} VALUES ({early}, {})", store.table(slot), ids[0])).await.unwrap();
    assert_eq!(store.read_comments(&[early]).await.unwrap()[&early].id(), ids[0]);
    let mut exported = vec![];
    let mut after = None;
    while let Some(last) = {
        let page = store.export_comments(None, after.as_ref(), 5).await.unwrap();
        exported.extend(page.iter().map(|e| e.row.id()));
        page.last().map(|e| e.cursor.clone())
    } {
        after = Some(last);
    }
    exported.sort_unstable();
    let mut all = ids.clone();
    all.sort_unstable();
    assert_eq!(exported, all);
    assert_eq!(store.export_comments(Some(&key(3)), None, 100).await.unwrap().len(), 3);
    assert_eq!(store.read_last_id().await.unwrap(), all.last().copied());
    let (mut seen, mut beyond) = (vec![], None);
    while let Some((floor, id)) =
        store.list_floors(&CommentList::Roots(key(2)), true, beyond, 1).await.unwrap().first().copied()
    {
        seen.push(id);
        beyond = Some(floor);
    }
    assert_eq!(seen, ids[3..6]);
    let positions = store.read_positions(OperationStream::Reactions, &[slot]).await.unwrap();
    assert_eq!(positions[&slot], 3);
    let secret = store.read_secret("a", [1; 32]).await.unwrap();
    assert_eq!(store.read_secret("a", [2; 32]).await.unwrap(), secret);
    databases.drop().await;
}

/// The server picks the best in floating point; integers pick the same.
#[tokio::test]
async fn the_best_are_those_of_the_integers() {
    use gailou_shared::rank::{
        EngagementCounts, {self},
    };
    use rand::{Rng as _, SeedableRng as _};
    let Some(databases) = Databases::new(1) else { return };
    let mut store = databases.open().await;
    let key = key(1);
    let (slot, subject, n) = (key.slot(), MysqlStore::subject_id(&key), store.table(key.slot()));
    put(&store, &key, CommentId::from_parts(1_600_000_000_000, slot, 0, 0), member(1)).await.unwrap();
    let mut random = rand::rngs::StdRng::seed_from_u64(3);
    let mut all = vec![];
    for row in 0..6_000u64 {
        let most = [3, 40, 5_000, 5_000_000_000][random.random_range(0..4)];
        let mut count = || random.random_range(0..most);
        let counts = EngagementCounts { likes: count(), dislikes: count(), replies: count() };
        let created = 1_700_000_000_000 + random.random_range(0..100_000_000);
        all.push((CommentId::from_parts(created, slot, 0, row % 64), counts, created));
    }
    all.sort_unstable_by_key(|(id, ..)| *id);
    all.dedup_by_key(|(id, ..)| *id);
    let rows: Vec<String> = all
        .iter()
        .map(|(id, c, created)| format!("({subject}, {id}, {}, {}, {}, {created})", c.likes, c.dislikes, c.replies))
        .collect();
    let mut session = store.session(0).await.unwrap();
    session
        .raw(&format!("DELETE FROM root_rank_{n}; INSERT INTO root_rank_{n} VALUES {}", rows.join(",")))
        .await
        .unwrap();
    let without_age = HotWeights { like: 2_000, reply: 1_000, dislike: 500, half_life_ms: None };
    for weights in [HotWeights::default(), without_age] {
        store.weights.insert("video".into(), weights);
        for sort in Sort::ALL.into_iter().filter(|sort| sort.is_ranked()) {
            let mut expected: Vec<_> = all
                .iter()
                .map(|(id, counts, created)| (rank::sort_key(sort, *counts, *created, &weights), *id))
                .collect();
            expected.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
            expected.truncate(gailou_shared::limits::MAX_SNAPSHOT_IDS);
            let found = store.list_ranked(&CommentList::Roots(key.clone()), sort).await.unwrap();
            assert!(found == expected, "{sort:?}");
        }
    }
    databases.drop().await;
}

#[tokio::test]
async fn nothing_is_waited_for_longer_than_a_statement_may_take() {
    let Some(databases) = Databases::new(1) else { return };
    let store = databases.open().await;
    let begun = tokio::time::Instant::now();
    let slow = async || store.session(0).await?.all(sql("SELECT SLEEP(10)")).await;
    let all = futures_util::future::join_all((0..60).map(|_| slow())).await;
    assert!(begun.elapsed() < Duration::from_millis(3_700), "{:?}", begun.elapsed());
    let late = all.iter().filter(
        |answer| matches!(answer, Err(StoreError::Unavailable(why)) if why.to_string().contains("no connection")),
    );
    assert_eq!(late.count(), 60 - 24, "those that found no connection");
    // What was given up on holds nothing: all connections can be had again.
    let again = futures_util::future::join_all((0..24).map(|_| store.session(0))).await;
    assert!(again.iter().all(Result::is_ok));
    drop(again);
    databases.drop().await;
}
