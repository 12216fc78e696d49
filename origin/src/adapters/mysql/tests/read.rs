//! Reads of rows that were stored by statements of their own.

use gailou_shared::id::CommentId;
use gailou_shared::path::Path;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{Reaction, ReviewKind};
use rand::{Rng as _, SeedableRng as _};
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::members::HELD_CONDITION;
use crate::adapters::mysql::row_numbers::{member_slot, subject_number};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::tests::{TestDatabases, key, member, put_comment};
use crate::adapters::mysql::write::rank_values::{ROOT_RANK_COLUMNS, root_rank_values};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::domain::root_keys::RootKeys;
use crate::domain::row::{CommentList, FloorRange};
use crate::ports::store::{
    CommentReader as _, HealthCheck as _, MemberReader as _, ReactionStateReader as _, ReviewReader as _,
    Sharding as _, SlotPositions as _, StoredSettings as _, ThreadReader as _, Transfer as _,
};

#[tokio::test]
async fn reads_return_the_stored_rows() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let mut pairs = vec![];
    for number in 1..=12 {
        let (key, author) = (key(number), member(1_000 + number));
        for sequence in 0..3 {
            let id = CommentId::from_parts(1_700_000_000_000 + number, key.slot(), 1, sequence);
            put_comment(&store, &key, id, author).await.unwrap();
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
    let states = store.read_reaction_states(&pairs).await.unwrap();
    let (visible, reaction) = (Some(true), Some(Reaction::Like));
    let expected = ReactionState { position: 3, reaction, visible, likes: 1, dislikes: 0, reactions_offset: 0 };
    assert!(states.iter().all(|s| *s == expected), "{states:?}");
    // Two pairs of one comment, and the same pair twice, have an answer each; a hidden comment is not visible.
    let mut session = store.long_session("test", store.database_of(ids[0].slot())).await.unwrap();
    let hide = format!("UPDATE comment_{} SET visibility = 1 WHERE id = {}", store.table_number(ids[0].slot()), ids[0]);
    session.execute_text(hide.clone()).await.unwrap();
    let asked = [pairs[0], (ids[0], member(77)), pairs[1], pairs[0]];
    let states = store.read_reaction_states(&asked).await.unwrap();
    let hidden = ReactionState { visible: Some(false), ..expected };
    assert_eq!(states, [hidden, ReactionState { reaction: None, ..hidden }, expected, hidden]);
    session.execute_text(hide.replace("= 1", "= 0")).await.unwrap();
    // The reactions to a comment without a row are counted from its reactions.
    let slot = key(1).slot();
    let early = CommentId::from_parts(1_800_000_000_000, slot, 1, 0);
    let mut session = store.long_session("test", store.database_of(slot)).await.unwrap();
    let reactions = format!(
        "INSERT INTO reaction_{} (comment_id, member_id, reaction) VALUES ({early}, 1, 1), ({early}, 2, 1), ({early}, 3, 2)",
        store.table_number(slot)
    );
    session.execute_text(reactions).await.unwrap();
    let state = store.read_reaction_states(&[(early, member(3))]).await.unwrap()[0];
    assert_eq!((state.likes, state.dislikes, state.reaction), (2, 1, Some(Reaction::Dislike)));
    assert_eq!(state.visible, None);
    // An alias is the second id of a repeated request.
    session
        .execute_text(format!(
            "INSERT INTO alias_{} (id, comment_id) VALUES ({early}, {})",
            store.table_number(slot),
            ids[0]
        ))
        .await
        .unwrap();
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
    while let Some((floor, id)) = store
        .list_floors(&CommentList::Roots(key(2)), FloorRange { ascending: true, beyond, count: 1 })
        .await
        .unwrap()
        .first()
        .copied()
    {
        seen.push(id);
        beyond = Some(floor);
    }
    assert_eq!(seen, ids[3..6]);
    let positions = store.read_positions(OperationStream::Reactions, &[slot]).await.unwrap();
    assert_eq!(positions[&slot], 3);
    let secret = store.read_secret("a", [1; 32]).await.unwrap();
    assert_eq!(store.read_secret("a", [2; 32]).await.unwrap(), secret);
    databases.drop_all().await;
}

/// The ranked roots of a large subject are those that fixed point gives, and cost what few cost.
#[tokio::test]
async fn roots_are_ranked_by_index() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let mut store = databases.open().await;
    let key = key(1);
    let (slot, subject, n) = (key.slot(), subject_number(&key), store.table_number(key.slot()));
    put_comment(&store, &key, CommentId::from_parts(1_600_000_000_000, slot, 0, 0), member(1)).await.unwrap();
    let mut random = rand::rngs::StdRng::seed_from_u64(3);
    let without_age = HotWeights { like: 2_000, reply: 1_000, dislike: 500, half_life_ms: None };
    let mut reads_by_size = vec![];
    for (roots, weights) in [(1_500, HotWeights::default()), (12_000, HotWeights::default()), (12_000, without_age)] {
        store.weights.insert("video".into(), weights);
        let mut all = vec![];
        for row in 0..roots {
            let most = [3, 40, 5_000, 1_000_000_000][random.random_range(0..4)];
            let mut count = || 1 + random.random_range(0..most);
            let counts = EngagementCounts { likes: count(), dislikes: count(), replies: count() };
            let created = 1_700_000_000_000 + random.random_range(0..100_000_000);
            all.push((CommentId::from_parts(created, slot, 0, row % 64), counts, created));
        }
        all.sort_unstable_by_key(|(id, ..)| *id);
        all.dedup_by_key(|(id, ..)| *id);
        let rows: Vec<String> = all
            .iter()
            .map(|(id, counts, at)| root_rank_values(subject, *id, *counts, *at, RootKeys::of(*counts, *at, &weights)))
            .collect();
        let mut session = store.long_session("test", 0).await.unwrap();
        let put = format!("INSERT INTO root_rank_{n} {ROOT_RANK_COLUMNS} VALUES {}", rows.join(","));
        session.execute_text(format!("DELETE FROM root_rank_{n}; {put}; ANALYZE TABLE root_rank_{n}")).await.unwrap();
        drop(session);
        let mut reads = vec![];
        for &sort in Sort::ALL.iter().filter(|sort| sort.is_ranked()) {
            let keys = all.iter().map(|(id, counts, at)| (rank::sort_key(sort, *counts, *at, &weights), *id));
            let expected = Snapshot::rank(keys.collect());
            let before = handler_reads(&store).await;
            let found = Snapshot::rank(store.list_ranked(&CommentList::Roots(key.clone()), sort).await.unwrap());
            reads.push(handler_reads(&store).await - before);
            assert!(found == expected, "{sort:?}");
        }
        reads_by_size.push(reads);
    }
    for (few, many) in reads_by_size[0].iter().zip(&reads_by_size[1]) {
        assert!(*many <= few + few / 10, "{reads_by_size:?}");
    }
    databases.drop_all().await;
}

/// Inserts `count` replies to a comment, and returns the last one; their floors follow those before.
pub(super) async fn put_replies(store: &MysqlStore, subject: i64, parent: &Path, first: u64, count: u64) -> Path {
    let (slot, n) = (parent.root_id().slot(), store.table_number(parent.root_id().slot()));
    let paths: Vec<Path> = (0..count)
        .map(|i| parent.child(CommentId::from_parts(1_700_000_000_000 + first + i, slot, 1, 0)).unwrap())
        .collect();
    let root = parent.root_id();
    let mut session = store.long_session("test", store.database_of(slot)).await.unwrap();
    for (chunk, paths) in paths.chunks(1_000).enumerate() {
        let rows: Vec<String> = paths
            .iter()
            .enumerate()
            .map(|(i, path)| {
                let (floor, id) = (first + (chunk * 1_000 + i) as u64, path.id());
                format!(
                    "({id}, {subject}, {root}, {root}, {}, X'{}', {}, {floor}, {floor}, 0, 0, 7, 'reader', 1, {}, {})",
                    parent.id(),
                    hex::encode(path.as_bytes()),
                    path.depth(),
                    floor % 100,
                    id.created_ms()
                )
            })
            .collect();
        session
            .execute_text(format!(
                "INSERT INTO comment_{n} (id, subject, list, root_id, parent_id, path, depth, floor, listed_floor, state, \
                 visibility, author_id, author_name, author_level, likes, created_at) VALUES {}",
                rows.join(", ")
            ))
            .await
            .unwrap();
    }
    let ancestors: Vec<String> = parent.ids().map(|id| id.to_string()).collect();
    session
        .execute_text(format!(
            "UPDATE comment_{n} SET replies = replies + {count} WHERE id IN ({}); \
             UPDATE comment_{n} SET floors = {} WHERE id = {root}; \
             DELETE FROM reply_rank_{n} WHERE root_id = {root}; \
             INSERT INTO reply_rank_{n} (root_id, hot, id) SELECT root_id, likes, id FROM comment_{n} WHERE root_id = {root} AND depth > 1",
            ancestors.join(", "),
            first + count
        ))
        .await
        .unwrap();
    paths.last().unwrap().clone()
}

/// Rows and index entries that the store's one connection has read.
async fn handler_reads(store: &MysqlStore) -> i64 {
    let mut session = store.long_session("test", 0).await.unwrap();
    let rows = session.fetch_text("SHOW SESSION STATUS LIKE 'Handler_read%'".to_owned()).await.unwrap();
    rows.iter().map(|r| r.try_get::<String, _>(1).unwrap().parse::<i64>().unwrap()).sum()
}

#[tokio::test]
async fn replies_of_a_reply_cost_the_same_in_a_large_thread() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let key = key(1);
    let subject = subject_number(&key);
    let mut reads_by_size = vec![];
    for (thread, others) in [(0, 20), (1, 10_000)] {
        let root = CommentId::from_parts(1_690_000_000_000 + thread, key.slot(), 1, 0);
        put_comment(&store, &key, root, member(7)).await.unwrap();
        let (root, first) = (Path::root(root), 1_000_000 * thread + 1);
        put_replies(&store, subject, &root, first, others).await;
        let comment = put_replies(&store, subject, &root, first + others, 1).await;
        put_replies(&store, subject, &comment, first + others + 1, 5).await;
        let leaf = put_replies(&store, subject, &root, first + others + 6, 1).await;
        put_replies(&store, subject, &root, first + others + 7, others).await;
        let mut reads = vec![];
        for (path, expected) in [(&leaf, 0), (&comment, 5)] {
            let list = CommentList::Under(path.clone());
            for range in [FloorRange::newest(20), FloorRange::oldest(20)] {
                let before = handler_reads(&store).await;
                assert_eq!(store.list_floors(&list, range).await.unwrap().len(), expected);
                reads.push(handler_reads(&store).await - before);
            }
            let before = handler_reads(&store).await;
            assert_eq!(store.list_ranked(&list, Sort::Hot).await.unwrap().len(), expected);
            reads.push(handler_reads(&store).await - before);
        }
        let before = handler_reads(&store).await;
        assert_eq!(store.list_siblings(&leaf, 10).await.unwrap().len(), 10);
        reads.push(handler_reads(&store).await - before);
        reads_by_size.push(reads);
    }
    for (small, large) in reads_by_size[0].iter().zip(&reads_by_size[1]) {
        assert!(*large <= 4 * small + 50, "{reads_by_size:?}");
    }
    databases.drop_all().await;
}

#[tokio::test]
async fn part_of_a_large_thread_is_listed_as_by_a_full_scan() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let key = key(1);
    let subject = subject_number(&key);
    let root = CommentId::from_parts(1_690_000_000_000, key.slot(), 1, 0);
    put_comment(&store, &key, root, member(7)).await.unwrap();
    let root = Path::root(root);
    let comment = put_replies(&store, subject, &root, 1, 1).await;
    // Its replies are the oldest and the newest of the thread, with a gap that no window spans.
    put_replies(&store, subject, &comment, 2, 700).await;
    put_replies(&store, subject, &root, 702, 6_000).await;
    put_replies(&store, subject, &comment, 6_702, 500).await;
    let list = CommentList::Under(comment);
    for ascending in [true, false] {
        let mut expected: Vec<u64> = (2..702).chain(6_702..7_202).collect();
        if !ascending {
            expected.reverse();
        }
        let (mut seen, mut beyond) = (vec![], None);
        loop {
            let page = store.list_floors(&list, FloorRange { ascending, beyond, count: 97 }).await.unwrap();
            beyond = page.last().map(|(floor, _)| *floor);
            if page.is_empty() {
                break;
            }
            seen.extend(page.into_iter().map(|(floor, _)| floor));
        }
        assert_eq!(seen, expected);
    }
    let ranked = store.list_ranked(&list, Sort::Hot).await.unwrap();
    assert_eq!(ranked.len(), gailou_shared::limits::MAX_SNAPSHOT_IDS);
    assert!(ranked.is_sorted_by(|a, b| rank::compare_ranked(*a, *b).is_lt()));
    databases.drop_all().await;
}

#[tokio::test]
async fn held_comments_are_read_by_their_index() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let (reader, slot) = (member(7), key(1).slot());
    let held = CommentId::from_parts(1_700_000_000_000, slot, 1, 0);
    put_comment(&store, &key(1), held, reader).await.unwrap();
    let part = store.part(member_slot(reader));
    let mut session = store.long_session("test", part.shard).await.unwrap();
    let rows: Vec<String> = (1..=5_000)
        .map(|n| {
            let id = CommentId::from_parts(1_700_000_000_000 + n, slot, 1, 0);
            format!("({reader}, {id}, {}, 0)", member_slot(reader).get())
        })
        .collect();
    let n = part.table;
    session
        .execute_text(format!(
            "UPDATE comment_{} SET state = 1 WHERE id = {held}; \
             INSERT INTO member_comment_{n} (member_id, comment_id, slot, held) VALUES ({reader}, {held}, {}, 1), {}",
            store.part(slot).table,
            member_slot(reader).get(),
            rows.join(", ")
        ))
        .await
        .unwrap();
    assert_eq!(store.list_pending(reader, 5).await.unwrap(), [held]);
    // Each server prints a table; by default MySQL would draw a tree.
    let text = format!("EXPLAIN /*!80000 FORMAT=TRADITIONAL */ {}", part.text(&HELD_CONDITION.rows_sql()));
    let plan = session.fetch_all(sql(text).bind(reader.signed()).bind(i64::MAX).bind(40i64)).await.unwrap();
    drop(session);
    assert_eq!(plan[0].try_get::<String, _>("key").unwrap(), "member_comment_held");
    // One row and the end of the range, of 5,001 rows of the member.
    let before = handler_reads(&store).await;
    store.list_pending(reader, 5).await.unwrap();
    let reads = handler_reads(&store).await - before;
    assert!(reads < 20, "{reads} rows were read");
    databases.drop_all().await;
}

#[tokio::test]
async fn page_of_a_long_queue_reads_what_a_page_of_a_short_one_reads() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let slot = key(1).slot();
    let n = store.table_number(slot);
    let id = |ms: u64| CommentId::from_parts(1_700_000_000_000 + ms, slot, 1, 0).signed();
    let (first, step) = (id(0), id(1) - id(0));
    let digits: Vec<String> = (0..10).map(|digit| format!("SELECT {digit} AS d")).collect();
    let digits = digits.join(" UNION ALL ");
    let mut reads_by_size = vec![];
    for rows in [1_000, 100_000] {
        let mut session = store.long_session("test", 0).await.unwrap();
        // With 50 priorities.
        session
            .execute_text(format!(
                "DELETE FROM review_{n}; \
                 INSERT INTO review_{n} (comment_id, kind, rank_key, since, item) \
                 SELECT {first} + i * {step}, i % 2, -(i * 7 % 50), i, JSON_OBJECT('reasons', JSON_ARRAY(), 'since', i, 'reports', 0, 'edit', NULL) FROM \
                 (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS i FROM ({digits}) a, ({digits}) b, ({digits}) c, ({digits}) e, ({digits}) f) t WHERE i < {rows}"
            ))
            .await
            .unwrap();
        session.execute_text(format!("ANALYZE TABLE review_{n}")).await.unwrap();
        drop(session);
        for kind in [None, Some(ReviewKind::Held)] {
            let before = handler_reads(&store).await;
            let page = store.list_queue(kind, None, 21).await.unwrap();
            let next = store.list_queue(kind, Some(page[20].position), 21).await.unwrap();
            // Each page says how many wait.
            store.count_queue().await.unwrap();
            reads_by_size.push(handler_reads(&store).await - before);
            assert_eq!((page.len(), page[0].position.rank), (21, if kind.is_some() { -48 } else { -49 }));
            assert!(page.iter().chain(&next).is_sorted_by_key(|review| review.position));
        }
    }
    let [short, short_held, long, long_held] = reads_by_size[..] else { panic!("{reads_by_size:?}") };
    assert!(long <= 2 * short && long_held <= 2 * short_held, "{reads_by_size:?} rows were read");
    databases.drop_all().await;
}
