//! Reads of rows that were stored by statements of their own.

use gailou_shared::id::CommentId;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use gailou_shared::wire::Reaction;
use rand::{Rng as _, SeedableRng as _};

use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::tests::{TestDatabases, key, member, put_comment};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::{CommentList, FloorRange};
use crate::ports::store::{
    CommentReader as _, HealthCheck as _, ReactionStateReader as _, Sharding as _, SlotPositions as _,
    StoredSettings as _, ThreadReader as _, Transfer as _,
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
    let mut session = store.session("test", store.database_of(ids[0].slot())).await.unwrap();
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
    let mut session = store.session("test", store.database_of(slot)).await.unwrap();
    let reactions = format!(
        "INSERT INTO reaction_{} VALUES ({early}, 1, 1), ({early}, 2, 1), ({early}, 3, 2)",
        store.table_number(slot)
    );
    session.execute_text(reactions).await.unwrap();
    let state = store.read_reaction_states(&[(early, member(3))]).await.unwrap()[0];
    assert_eq!((state.likes, state.dislikes, state.reaction), (2, 1, Some(Reaction::Dislike)));
    assert_eq!(state.visible, None);
    // An alias is the second id of a repeated request.
    session
        .execute_text(format!("INSERT INTO alias_{} VALUES ({early}, {})", store.table_number(slot), ids[0]))
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

/// The server selects candidates in floating point; the result is the same as in fixed point.
#[tokio::test]
async fn ranking_of_the_server_equals_fixed_point() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let mut store = databases.open().await;
    let key = key(1);
    let (slot, subject, n) = (key.slot(), subject_number(&key), store.table_number(key.slot()));
    put_comment(&store, &key, CommentId::from_parts(1_600_000_000_000, slot, 0, 0), member(1)).await.unwrap();
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
    let mut session = store.session("test", 0).await.unwrap();
    session
        .execute_text(format!("DELETE FROM root_rank_{n}; INSERT INTO root_rank_{n} VALUES {}", rows.join(",")))
        .await
        .unwrap();
    let without_age = HotWeights { like: 2_000, reply: 1_000, dislike: 500, half_life_ms: None };
    for weights in [HotWeights::default(), without_age] {
        store.weights.insert("video".into(), weights);
        for &sort in Sort::ALL.iter().filter(|sort| sort.is_ranked()) {
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
    databases.drop_all().await;
}
