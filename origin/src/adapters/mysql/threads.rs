//! Lists and trees of comments. Each query walks one index from the cursor on, so that page 5,000
//! costs what page 1 costs.
//!
//! Every statement names its index: from its statistics the server would choose another for some
//! parameters, and scan.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{
    COMMENT_COLUMNS, COMMENT_JOINS, comment_id, comment_row, count_at, damaged, id_at, optional_number_at,
};
use crate::adapters::mysql::statement::SqlStatement;
use crate::domain::descendants::DescendantCounts;
use crate::domain::row::{CommentList, CommentRow, FloorRange};
use crate::domain::top_replies::{MAX_RANKS_PER_REPLY, TopReplies};
use crate::ports::store::{Result, ThreadReader};

/// Whether the subject's row belongs to the key: another key may have the same number.
pub(super) const IS_SUBJECT: &str =
    "EXISTS (SELECT 1 FROM subject_{n} s WHERE s.id = ? AND s.type = ? AND s.`key` = ?)";

/// The comments `c` of the subject of a root `r`, by path. The root's row is read before the plan is
/// made, so its subject begins a range.
pub(super) const BY_PATH: &str =
    "comment_{n} r STRAIGHT_JOIN comment_{n} c FORCE INDEX (comment_path) ON c.subject = r.subject";

#[async_trait]
impl ThreadReader for MysqlStore {
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
        let FloorRange { ascending, beyond, count } = range;
        let (compare, order) = if ascending { (">", "ASC") } else { ("<", "DESC") };
        let start = if ascending { 0 } else { i64::MAX };
        let beyond = beyond.map_or(start, |b| i64::try_from(b).unwrap_or(i64::MAX));
        let (slot, part) = (list.slot(), self.part(list.slot()));
        let select = "SELECT c.listed_floor, c.id FROM";
        let by_list = "comment_{n} c FORCE INDEX (comment_list)";
        let end = format!("c.listed_floor {compare} ? ORDER BY c.listed_floor {order} LIMIT ?");
        let statement = match list {
            CommentList::Roots(key) => {
                let text = format!("{select} {by_list} WHERE {IS_SUBJECT} AND c.list = ? AND {end}");
                bind_subject(part.sql(&text), key).bind(subject_number(key))
            }
            CommentList::Under(top) if top.depth() > 1 => return self.list_floors_below(top, range).await,
            CommentList::Under(top) => {
                let text = format!("{select} {by_list} WHERE c.list = ? AND {end}");
                part.sql(&text).bind(top.root_id().signed())
            }
        };
        let found = self.rows_of("list_floors", slot, statement.bind(beyond).bind(count as i64)).await?;
        found.iter().map(|r| Ok((count_at(r, 0)?, id_at(r, 1)?))).collect()
    }

    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        match list {
            CommentList::Roots(key) => self.rank_roots(key, sort).await,
            CommentList::Under(top) => self.rank_replies(top).await,
        }
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        let mut top = self.read_top_replies(roots, each).await?;
        let repeating = top.repeating_roots();
        if !repeating.is_empty() {
            top.replace(self.read_top_replies(&repeating, MAX_RANKS_PER_REPLY * each).await?);
        }
        Ok(top.finish(each))
    }

    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        let slot = top.root_id().slot();
        let text = format!(
            "SELECT {COMMENT_COLUMNS} FROM {BY_PATH} {COMMENT_JOINS} \
             WHERE r.id = ? AND c.path > ? AND c.path < ? AND c.listed_floor IS NOT NULL AND c.depth <= ? \
             ORDER BY c.path LIMIT ?"
        );
        let statement = self.part(slot).sql(&text).bind(top.root_id().signed());
        let statement = statement.bind(after.unwrap_or(top.as_bytes())).bind(top.subtree_end());
        let found = self.rows_of("list_subtree", slot, statement.bind(max_depth as i64).bind(count as i64)).await?;
        found.iter().map(comment_row).collect()
    }

    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        let Some(parent) = path.parent_id() else { return Ok(vec![]) };
        let slot = path.root_id().slot();
        // Siblings have the order of their ids in every list. Other answers to the same comment may be roots.
        let text = "SELECT c.id FROM comment_{n} c FORCE INDEX (comment_parent) \
                    WHERE c.path > ? AND c.path < ? AND c.parent_id = ? AND c.listed_floor IS NOT NULL AND c.id <> ? \
                    ORDER BY c.id DESC LIMIT ?";
        let above = path.truncated(path.depth() - 1);
        let statement = bind_below(self.part(slot).sql(text), &above);
        let statement = statement.bind(parent.signed()).bind(path.id().signed()).bind(count as i64);
        self.rows_of("list_siblings", slot, statement).await?.iter().map(|r| id_at(r, 0)).collect()
    }

    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        let statement = self.part(slot).sql("SELECT ids FROM snapshot_{n} WHERE slot = ? AND id = ?");
        let found = self.rows_of("read_snapshot", slot, statement.bind(slot.get()).bind(&id[..])).await?;
        let bytes = found.first().map(|r| r.try_get::<Vec<u8>, _>(0)).transpose()?;
        bytes.map(|bytes| Snapshot::from_bytes(&bytes).ok_or_else(|| damaged("a snapshot"))).transpose()
    }
}

impl MysqlStore {
    /// The best `count` rank rows of each root.
    async fn read_top_replies(&self, roots: &[CommentId], count: usize) -> Result<TopReplies> {
        // One seek a reply: no statement that both servers understand limits the rows of each root.
        // The whole key is sorted by: otherwise MySQL sorts all replies of a root.
        let slot = slot_of_comment("j.id");
        let columns: Vec<String> = (0..count)
            .map(|n| {
                format!(
                    "(SELECT t.id FROM reply_rank_{{n}} t WHERE t.slot = {slot} AND t.root_id = j.id \
                     ORDER BY t.slot DESC, t.root_id DESC, t.hot DESC, t.id DESC LIMIT 1 OFFSET {n})"
                )
            })
            .collect();
        let mut top = TopReplies::default();
        if columns.is_empty() {
            return Ok(top);
        }
        let text = format!("SELECT j.id, {} FROM {IDS_TABLE}", columns.join(", "));
        let roots = roots.iter().map(|id| (id.slot(), id.signed()));
        for r in self.rows_by_id("list_top_replies", roots, &text, |s| s).await? {
            let root = id_at(&r, 0)?;
            for n in 1..=count {
                if let Some(reply) = optional_number_at(&r, n)? {
                    top.push(root, comment_id(reply)?);
                }
            }
        }
        Ok(top)
    }

    /// Floors and ids of the listed descendants of a comment that is no root.
    async fn list_floors_below(&self, top: &Path, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
        let counts = self.read_descendant_counts(top).await?;
        if counts.is_empty() {
            return Ok(vec![]);
        }
        let FloorRange { ascending, beyond, count } = range;
        let (compare, order) = if ascending { (">", "ASC") } else { ("<", "DESC") };
        let slot = top.root_id().slot();
        let (part, root) = (self.part(slot), top.root_id().signed());
        let read = |found: Vec<MySqlRow>| found.iter().map(|r| Ok((count_at(r, 0)?, id_at(r, 1)?))).collect();
        if let Some(window) = counts.window(range) {
            let text = format!(
                "SELECT c.listed_floor, c.id FROM comment_{{n}} c FORCE INDEX (comment_list) \
                 WHERE c.path > ? AND c.path < ? AND c.list = ? AND c.listed_floor BETWEEN ? AND ? \
                 ORDER BY c.listed_floor {order} LIMIT ?"
            );
            let statement = bind_below(part.sql(&text), top).bind(root);
            let statement = statement.bind(window.first).bind(window.last).bind(count as i64);
            let found = self.rows_of("list_floors", slot, statement).await?;
            if window.is_whole || found.len() == count {
                return read(found);
            }
        }
        let start = if ascending { 0 } else { i64::MAX };
        let beyond = beyond.map_or(start, |b| i64::try_from(b).unwrap_or(i64::MAX));
        let text = format!(
            "SELECT c.listed_floor, c.id FROM {BY_PATH} WHERE r.id = ? AND c.path > ? AND c.path < ? \
             AND c.listed_floor {compare} ? ORDER BY c.listed_floor {order} LIMIT ?"
        );
        let statement = bind_below(part.sql(&text).bind(root), top).bind(beyond).bind(count as i64);
        read(self.rows_of("list_floors", slot, statement).await?)
    }

    /// No counts for a comment without a row.
    pub(super) async fn read_descendant_counts(&self, top: &Path) -> Result<DescendantCounts> {
        let slot = top.root_id().slot();
        let text = "SELECT c.replies, r.replies, r.floors FROM comment_{n} c STRAIGHT_JOIN comment_{n} r \
                    FORCE INDEX (PRIMARY) ON r.id = c.root_id WHERE c.id = ?";
        let found = self.rows_of("count_replies", slot, self.part(slot).sql(text).bind(top.id().signed())).await?;
        let Some(r) = found.first() else { return Ok(DescendantCounts::default()) };
        Ok(DescendantCounts { replies: count_at(r, 0)?, thread_replies: count_at(r, 1)?, last_floor: count_at(r, 2)? })
    }
}

/// Binds the values of [`IS_SUBJECT`].
pub(super) fn bind_subject(statement: SqlStatement, key: &SubjectKey) -> SqlStatement {
    statement.bind(subject_number(key)).bind(key.kind()).bind(key.key().as_bytes())
}

/// Binds the range of the paths below `top`.
pub(super) fn bind_below(statement: SqlStatement, top: &Path) -> SqlStatement {
    statement.bind(top.as_bytes()).bind(top.subtree_end())
}
