//! Lists and trees of comments. Each query walks one index from the cursor on, so that page 5,000
//! costs what page 1 costs.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use gailou_shared::walk::Snapshot;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::descendants;
use crate::adapters::sqlite::query::{fetch_all, first_id, json_ids, subject_number};
use crate::adapters::sqlite::rows::{COMMENT_COLUMNS, COMMENT_JOINS, comment_id, comment_row, count, damaged};
use crate::domain::root_keys::rank_column;
use crate::domain::row::{CommentList, CommentRow, FloorRange};
use crate::domain::top_replies::{MAX_RANKS_PER_REPLY, TopReplies};
use crate::ports::store::{Result, ThreadReader};

/// The answers to a comment but one, newest first. Other answers to it may be roots.
pub(super) const SIBLINGS_SQL: &str = "SELECT id FROM comment INDEXED BY comment_parent WHERE parent_id = ?1 \
     AND path > ?2 AND path < ?3 AND listed = 1 AND id <> ?4 ORDER BY id DESC LIMIT ?5";

#[async_trait]
impl ThreadReader for SqliteStore {
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
        let list = list.clone();
        self.read("list_floors", move |c| list_floors(c, &list, range)).await
    }

    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        match list.clone() {
            CommentList::Roots(key) => {
                let weights = self.weights_of(key.kind());
                self.read("list_ranked", move |c| rank_roots(c, &key, sort, &weights)).await
            }
            CommentList::Under(top) => {
                let weights = self.weights.clone();
                self.read("list_ranked", move |c| descendants::rank(c, &top, &weights)).await
            }
        }
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        let roots = roots.to_vec();
        self.read("list_top_replies", move |c| {
            let mut top = read_top_replies(c, &roots, each)?;
            let repeating = top.repeating_roots();
            if !repeating.is_empty() {
                top.replace(read_top_replies(c, &repeating, MAX_RANKS_PER_REPLY * each)?);
            }
            Ok(top.finish(each))
        })
        .await
    }

    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        let after = after.unwrap_or(top.as_bytes()).to_vec();
        let (root, end) = (top.root_id().signed(), top.subtree_end());
        self.read("list_subtree", move |c| {
            let sql = format!(
                "SELECT {COMMENT_COLUMNS} FROM comment c INDEXED BY comment_path {COMMENT_JOINS} \
                 WHERE c.subject = (SELECT subject FROM comment WHERE id = ?1) \
                 AND c.path > ?2 AND c.path < ?3 AND c.listed = 1 AND c.depth <= ?4 ORDER BY c.path LIMIT ?5"
            );
            fetch_all(c, &sql, params![root, after, end, max_depth as i64, count as i64], comment_row)
        })
        .await
    }

    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        let Some(parent) = path.parent_id() else { return Ok(vec![]) };
        let (id, above) = (path.id(), path.truncated(path.depth() - 1));
        self.read("list_siblings", move |c| {
            let (from, to) = (above.as_bytes(), above.subtree_end());
            let params = params![parent.signed(), from, to, id.signed(), count as i64];
            fetch_all(c, SIBLINGS_SQL, params, first_id)
        })
        .await
    }

    async fn read_snapshot(&self, _: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        self.read("read_snapshot", move |c| {
            let bytes: Option<Vec<u8>> =
                c.prepare_cached("SELECT ids FROM snapshot WHERE id = ?1")?.query_row([id], |r| r.get(0)).optional()?;
            bytes.map(|bytes| Snapshot::from_bytes(&bytes).ok_or_else(|| damaged("a snapshot"))).transpose()
        })
        .await
    }
}

fn list_floors(c: &Connection, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
    let FloorRange { ascending, beyond, count: limit } = range;
    let (compare, order) = if ascending { (">", "ASC") } else { ("<", "DESC") };
    let start = if ascending { 0 } else { i64::MAX };
    let beyond = beyond.map_or(start, |b| i64::try_from(b).unwrap_or(i64::MAX));
    let read = |r: &Row<'_>| Ok((count(r.get(0)?), comment_id(r.get(1)?)?));
    match list {
        CommentList::Roots(key) => {
            let Some(subject) = subject_number(c, key)? else { return Ok(vec![]) };
            let sql = format!(
                "SELECT floor, id FROM comment INDEXED BY comment_root_floor \
                 WHERE subject = ?1 AND depth = 1 AND listed = 1 AND floor {compare} ?2 ORDER BY floor {order} LIMIT ?3"
            );
            fetch_all(c, &sql, params![subject, beyond, limit as i64], read)
        }
        CommentList::Under(top) if top.depth() > 1 => descendants::list_floors(c, top, range),
        CommentList::Under(top) => {
            let sql = format!(
                "SELECT floor, id FROM comment INDEXED BY comment_reply_floor \
                 WHERE root_id = ?1 AND depth > 1 AND listed = 1 AND floor {compare} ?2 ORDER BY floor {order} LIMIT ?3"
            );
            fetch_all(c, &sql, params![top.id().signed(), beyond, limit as i64], read)
        }
    }
}

/// The best `count` rank rows of each root.
fn read_top_replies(c: &Connection, roots: &[CommentId], count: usize) -> Result<TopReplies> {
    // The subqueries are correlated, so each root costs two seeks of `count` entries.
    let best = "FROM reply_rank t WHERE t.root_id = j.value ORDER BY t.hot DESC, t.id DESC LIMIT ?2";
    let sql = format!(
        "SELECT j.value, r.id FROM json_each(?1) j JOIN reply_rank r ON r.root_id = j.value \
         AND r.id IN (SELECT t.id {best}) AND r.hot >= (SELECT min(hot) FROM (SELECT t.hot {best})) \
         ORDER BY r.hot DESC, r.id DESC"
    );
    let ids = |r: &Row<'_>| Ok((comment_id(r.get(0)?)?, comment_id(r.get(1)?)?));
    let mut top = TopReplies::default();
    for (root, reply) in fetch_all(c, &sql, params![json_ids(roots), count as i64], ids)? {
        top.push(root, reply);
    }
    Ok(top)
}

/// The best roots with engagement, and the newest. Together they contain the best of the list: roots
/// without engagement are ordered by age.
fn rank_roots(c: &Connection, key: &SubjectKey, sort: Sort, weights: &HotWeights) -> Result<Vec<(i64, CommentId)>> {
    let (Some(subject), Some(column)) = (subject_number(c, key)?, rank_column(sort)) else { return Ok(vec![]) };
    let values = params![subject, limits::MAX_SNAPSHOT_IDS as i64];
    let engaged = format!(
        "SELECT {column}, id FROM root_rank INDEXED BY root_rank_{column} \
         WHERE subject = ?1 AND {column} > 0 ORDER BY {column} DESC, id DESC LIMIT ?2"
    );
    let mut all = fetch_all(c, &engaged, values, |r| Ok((r.get(0)?, comment_id(r.get(1)?)?)))?;
    let newest = "SELECT id, created_at FROM comment INDEXED BY comment_root_floor \
                  WHERE subject = ?1 AND depth = 1 AND listed = 1 ORDER BY floor DESC LIMIT ?2";
    // An engaged root among them has its own key as well, which is not less.
    let without_engagement = |r: &Row<'_>| {
        let created_at = count(r.get(1)?);
        Ok((rank::sort_key(sort, EngagementCounts::default(), created_at, weights), comment_id(r.get(0)?)?))
    };
    all.extend(fetch_all(c, newest, values, without_engagement)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::adapters::sqlite::query::tests::steps_of;
    use crate::adapters::sqlite::rank_again::rank_chunk_again;
    use crate::domain::row::WeightsByType;

    const NOW: u64 = 1_700_000_000_000;
    const SUBJECT: &str = "INSERT INTO subject (id, type, obj_id, key) VALUES (1, 'article', 5, '5')";
    const ROOT: &str = "INSERT INTO comment (id, subject, root_id, path, depth, floor, state, visibility, listed, \
         author_id, author_name, author_level, likes, dislikes, replies, created_at) \
         VALUES (?1, 1, ?1, ?2, 1, ?3, 0, 0, 1, 7, 'reader', 1, ?4, ?5, ?6, ?7)";

    /// A root of the subject: its id, its counts and its time.
    type Root = (CommentId, EngagementCounts, u64);

    fn key() -> SubjectKey {
        SubjectKey::new("article", "5").unwrap()
    }

    /// A store with these roots, ranked by these weights.
    fn store_of(roots: &[Root], weights: HotWeights) -> (tempfile::TempDir, SqliteStore) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gailou.db");
        let weights = WeightsByType::from([("article".to_owned(), weights)]);
        let store = SqliteStore::open(&file, WeightsByType::new()).unwrap();
        let mut writer = store.writer();
        let tx = writer.transaction().unwrap();
        tx.execute(SUBJECT, []).unwrap();
        tx.execute("UPDATE subject SET obj_id = ?1", [key().obj_id() as i64]).unwrap();
        for (floor, (id, counts, created_at)) in roots.iter().enumerate() {
            let EngagementCounts { likes, dislikes, replies } = counts;
            let path = Path::root(*id);
            let values = params![id.signed(), path.as_bytes(), floor as i64 + 1, likes, dislikes, replies, created_at];
            tx.prepare_cached(ROOT).unwrap().execute(values).unwrap();
        }
        tx.commit().unwrap();
        writer.execute("DELETE FROM setting WHERE name = 'weights'", []).unwrap();
        while rank_chunk_again(&mut writer, &weights).unwrap().is_some() {}
        drop(writer);
        (folder, SqliteStore { weights, ..store })
    }

    fn root(n: u64, counts: EngagementCounts) -> Root {
        (CommentId::from_parts(NOW + n, key().slot(), 0, 0), counts, NOW + n)
    }

    fn ranked_sorts() -> impl Iterator<Item = Sort> {
        Sort::ALL.iter().copied().filter(|sort| sort.is_ranked())
    }

    #[test]
    fn ranking_of_many_engaged_roots_costs_what_that_of_few_costs() {
        let steps = |engaged: u64| {
            let counts = |n| EngagementCounts { likes: n * 7 % 1_000 + 1, dislikes: n % 13 + 1, replies: n % 11 + 1 };
            let roots: Vec<Root> = (1..=engaged).map(|n| root(n, counts(n))).collect();
            let weights = HotWeights::default();
            let (_folder, store) = store_of(&roots, weights);
            let connection = store.writer();
            ranked_sorts()
                .map(|sort| steps_of(|| rank_roots(&connection, &key(), sort, &weights).unwrap()).1)
                .collect::<Vec<i64>>()
        };
        let (few, many) = (steps(1_500), steps(15_000));
        for (few, many) in few.into_iter().zip(many) {
            assert!(many <= few * 11 / 10, "{many} steps instead of {few}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn ranking_by_index_equals_that_of_all_roots(
            all in prop::collection::vec((0..4u64, 0..4u64, 0..4u64, 0..20u64), 0..2_600),
            like in 0..2_000u32,
            dislike in 0..2_000u32,
            half_life_ms in prop::option::of(HotWeights::MIN_HALF_LIFE_MS..1 << 40),
        ) {
            let weights = HotWeights { like, reply: 300, dislike, half_life_ms };
            let counts = |(likes, dislikes, replies, engaged): &(u64, u64, u64, u64)| match engaged {
                0..10 => EngagementCounts::default(),
                more => EngagementCounts { likes: likes * more * more, dislikes: *dislikes, replies: *replies },
            };
            let roots: Vec<Root> = all.iter().zip(1..).map(|(root_counts, n)| root(n, counts(root_counts))).collect();
            let (_folder, store) = store_of(&roots, weights);
            let connection = store.writer();
            for sort in ranked_sorts() {
                let found = Snapshot::rank(rank_roots(&connection, &key(), sort, &weights).unwrap());
                let keys = roots.iter().map(|(id, counts, at)| (rank::sort_key(sort, *counts, *at, &weights), *id));
                let expected = Snapshot::rank(keys.collect());
                prop_assert_eq!(found.ids(), expected.ids(), "{:?}", sort);
            }
        }
    }
}
