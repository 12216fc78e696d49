//! Lists and trees of comments. Each query walks one index from the cursor on, so that page 5,000
//! costs what page 1 costs.

use std::collections::{HashMap, HashSet};

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
use crate::domain::row::{CommentList, CommentRow, FloorRange};
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
        let roots = json_ids(roots);
        self.read("list_top_replies", move |c| {
            // The subqueries are correlated, so each root costs two seeks of `each` entries.
            let best = "FROM reply_rank t WHERE t.root_id = j.value ORDER BY t.hot DESC, t.id DESC LIMIT ?2";
            let sql = format!(
                "SELECT j.value, r.id FROM json_each(?1) j JOIN reply_rank r ON r.root_id = j.value \
                 AND r.id IN (SELECT t.id {best}) AND r.hot >= (SELECT min(hot) FROM (SELECT t.hot {best})) \
                 ORDER BY r.hot DESC, r.id DESC"
            );
            let ids = |r: &Row<'_>| Ok((comment_id(r.get(0)?)?, comment_id(r.get(1)?)?));
            let mut by_root: HashMap<CommentId, Vec<CommentId>> = HashMap::new();
            for (root, reply) in fetch_all(c, &sql, params![roots, each as i64], ids)? {
                by_root.entry(root).or_default().push(reply);
            }
            Ok(by_root)
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

/// Every root with engagement, and the newest without. Together they contain the best of the list:
/// roots without engagement are ordered by age.
fn rank_roots(c: &Connection, key: &SubjectKey, sort: Sort, weights: &HotWeights) -> Result<Vec<(i64, CommentId)>> {
    let Some(subject) = subject_number(c, key)? else { return Ok(vec![]) };
    let with_key = |r: &Row<'_>| {
        let counts =
            EngagementCounts { likes: count(r.get(1)?), dislikes: count(r.get(2)?), replies: count(r.get(3)?) };
        Ok((rank::sort_key(sort, counts, count(r.get(4)?), weights), comment_id(r.get(0)?)?))
    };
    let engaged = "SELECT id, likes, dislikes, replies, created_at FROM root_rank WHERE subject = ?1";
    let mut all = fetch_all(c, engaged, [subject], with_key)?;
    let known: HashSet<CommentId> = all.iter().map(|(_, id)| *id).collect();
    let newest = "SELECT id, 0, 0, 0, created_at FROM comment INDEXED BY comment_root_floor \
                  WHERE subject = ?1 AND depth = 1 AND listed = 1 ORDER BY floor DESC LIMIT ?2";
    let newest = fetch_all(c, newest, params![subject, limits::MAX_SNAPSHOT_IDS as i64], with_key)?;
    all.extend(newest.into_iter().filter(|(_, id)| !known.contains(id)));
    Ok(all)
}
