//! The rows of `root_rank` and `reply_rank`: read beside the comments that they are made from, a chunk at a time, and
//! made again.
//!
//! Rows are changed under the lock of their slot, by what the comments say under it. Not here: what is compared, and
//! which chunks are read.

use std::collections::{BTreeSet, HashMap, HashSet};

use gailou_shared::id::{CommentId, Slot};
use gailou_shared::rank::EngagementCounts;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::routing::{IDS_TABLE, json_array};
use crate::adapters::mysql::row_numbers::{first_subject, last_subject};
use crate::adapters::mysql::rows::{comment_id, count_at, id_at, number_at, optional_number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::{json_numbers, json_table};
use crate::adapters::mysql::write::rank_values::{ROOT_RANK_COLUMNS, root_rank_values};
use crate::domain::reconcile::{RankKey, RankRow, RankStage, RankedChunk, StoredRank};
use crate::domain::root_keys::RootKeys;
use crate::ports::store::{Result, Sharding as _};

/// Rows that are read at once, and changed in one transaction: it holds the lock of its slot for some 50 ms.
pub(super) const RANKS_PER_CHUNK: usize = 1_000;

/// The columns of a comment `c` and its subject `s` that its rank is made of: see [`MysqlStore::expected_rank`].
const RANKED_COLUMNS: &str =
    "c.id, c.subject, c.root_id, c.listed_floor, c.likes, c.dislikes, c.replies, c.created_at, s.type";

impl MysqlStore {
    /// Comments of the subjects in a range, after a subject and path.
    pub(super) async fn read_ranked_comments(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        subjects: (i64, i64),
        after: Option<&(i64, Vec<u8>)>,
    ) -> Result<RankedChunk> {
        let table = self.table_number(slot);
        let select = format!(
            "SELECT {RANKED_COLUMNS}, c.path FROM comment_{table} c FORCE INDEX (comment_path) \
             LEFT JOIN subject_{table} s ON s.id = c.subject"
        );
        let (first, last) = subjects;
        let conditions = match after {
            Some((subject, path)) => vec![
                sql("c.subject = ? AND c.path > ?").bind(*subject).bind(path.as_slice()).finish()?,
                format!("c.subject BETWEEN {} AND {last}", subject.saturating_add(1)),
            ],
            None => vec![format!("c.subject BETWEEN {first} AND {last}")],
        };
        let rows = fetch_in_order(session, &select, "c.subject, c.path", &conditions).await?;
        let last = rows.last().map(|r| Ok::<_, sqlx::Error>((r.try_get(1)?, r.try_get(9)?))).transpose()?;
        let ranks = rows.iter().filter_map(|r| self.expected_rank(r).transpose()).collect::<Result<_>>()?;
        Ok(RankedChunk { ranks, read: rows.len(), last })
    }

    /// The rank rows of a slot in a stage, and the stage that follows them; not for [`RankStage::Comments`].
    pub(super) async fn read_rank_rows(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        stage: &RankStage,
    ) -> Result<(Vec<StoredRank>, RankStage)> {
        match stage {
            RankStage::Replies(after) => self.read_reply_rows(session, slot, *after).await,
            RankStage::Roots(after) => self.read_root_rows(session, slot, *after).await,
            RankStage::Comments(_) => Ok((vec![], RankStage::Comments(None))),
        }
    }

    async fn read_reply_rows(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        after: Option<[i64; 3]>,
    ) -> Result<(Vec<StoredRank>, RankStage)> {
        let (table, number) = (self.table_number(slot), slot.get());
        let select = format!(
            "SELECT {RANKED_COLUMNS}, r.root_id, r.hot, r.id FROM reply_rank_{table} r FORCE INDEX (PRIMARY) \
             LEFT JOIN comment_{table} c ON c.id = r.id LEFT JOIN subject_{table} s ON s.id = c.subject"
        );
        let conditions = match after {
            // A thread may have a million: the first range begins at the key.
            Some([root, hot, id]) => vec![
                format!("r.slot = {number} AND r.root_id = {root} AND r.hot = {hot} AND r.id > {id}"),
                format!("r.slot = {number} AND r.root_id = {root} AND r.hot > {hot}"),
                format!("r.slot = {number} AND r.root_id > {root}"),
            ],
            None => vec![format!("r.slot = {number}")],
        };
        let rows = fetch_in_order(session, &select, "r.slot, r.root_id, r.hot, r.id", &conditions).await?;
        let mut found = Vec::with_capacity(rows.len());
        for r in &rows {
            let row = RankRow::Reply { root: id_at(r, 9)?, hot: number_at(r, 10)?, id: id_at(r, 11)? };
            found.push(StoredRank { row, expected: self.expected_rank(r)? });
        }
        let key = |r: &MySqlRow| Ok::<_, sqlx::Error>([r.try_get(9)?, r.try_get(10)?, r.try_get(11)?]);
        let next = match rows.last().filter(|_| rows.len() == RANKS_PER_CHUNK) {
            Some(last) => RankStage::Replies(Some(key(last)?)),
            None => RankStage::Roots(None),
        };
        Ok((found, next))
    }

    async fn read_root_rows(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        after: Option<[i64; 2]>,
    ) -> Result<(Vec<StoredRank>, RankStage)> {
        let table = self.table_number(slot);
        let select = format!(
            "SELECT {RANKED_COLUMNS}, r.subject, r.id, r.likes, r.dislikes, r.replies, r.created_at, r.hot, r.best, \
             r.controversial FROM root_rank_{table} r FORCE INDEX (PRIMARY) LEFT JOIN comment_{table} c ON c.id = r.id \
             LEFT JOIN subject_{table} s ON s.id = c.subject"
        );
        let (first, last) = (first_subject(slot), last_subject(slot));
        let conditions = match after {
            Some([subject, id]) => vec![
                format!("r.subject = {subject} AND r.id > {id}"),
                format!("r.subject BETWEEN {} AND {last}", subject.saturating_add(1)),
            ],
            None => vec![format!("r.subject BETWEEN {first} AND {last}")],
        };
        let rows = fetch_in_order(session, &select, "r.subject, r.id", &conditions).await?;
        let mut found = Vec::with_capacity(rows.len());
        for r in &rows {
            let row = root_row(r, 9)?;
            found.push(StoredRank { row, expected: self.expected_rank(r)? });
        }
        let key = |r: &MySqlRow| Ok::<_, sqlx::Error>([r.try_get(9)?, r.try_get(10)?]);
        let next = match rows.last().filter(|_| rows.len() == RANKS_PER_CHUNK) {
            Some(last) => RankStage::Roots(Some(key(last)?)),
            None => RankStage::Comments(None),
        };
        Ok((found, next))
    }

    /// The rank row of the comment in [`RANKED_COLUMNS`]; `None` where there is no comment, or an unlisted one.
    fn expected_rank(&self, r: &MySqlRow) -> Result<Option<RankRow>> {
        let Some(id) = optional_number_at(r, 0)?.map(comment_id).transpose()? else { return Ok(None) };
        if optional_number_at(r, 3)?.is_none() {
            return Ok(None);
        }
        let counts = EngagementCounts { likes: count_at(r, 4)?, dislikes: count_at(r, 5)?, replies: count_at(r, 6)? };
        let weights = self.weights_of(r.try_get::<Option<&str>, _>(8)?.unwrap_or_default());
        Ok(RankRow::of_listed(number_at(r, 1)?, id_at(r, 2)?, id, counts, count_at(r, 7)?, &weights))
    }

    /// Which of these keys have a row.
    pub(super) async fn find_rank_keys(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        keys: &[RankKey],
    ) -> Result<HashSet<RankKey>> {
        let mut found = self.find_reply_rows(session, slot, keys).await?;
        found.extend(self.find_root_rows(session, slot, keys).await?.iter().map(RankRow::key));
        Ok(found)
    }

    /// Which of these keys of replies have a row.
    pub(super) async fn find_reply_rows(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        keys: &[RankKey],
    ) -> Result<HashSet<RankKey>> {
        let (table, mut found) = (self.table_number(slot), HashSet::new());
        if let Some(rows) = reply_keys(keys) {
            let text = format!(
                "SELECT r.root_id, r.hot, r.id FROM {} STRAIGHT_JOIN reply_rank_{table} r FORCE INDEX (PRIMARY) \
                 ON r.slot = {} AND r.root_id = j.root AND r.hot = j.hot AND r.id = j.id",
                reply_key_table(&rows),
                slot.get()
            );
            for r in session.fetch_text(text).await? {
                found.insert(RankKey::Reply { root: id_at(&r, 0)?, hot: number_at(&r, 1)?, id: id_at(&r, 2)? });
            }
        }
        Ok(found)
    }

    /// The rows of the roots among these keys.
    pub(super) async fn find_root_rows(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        keys: &[RankKey],
    ) -> Result<Vec<RankRow>> {
        let Some(rows) = root_keys(keys) else { return Ok(vec![]) };
        let text = format!(
            "SELECT r.subject, r.id, r.likes, r.dislikes, r.replies, r.created_at, r.hot, r.best, r.controversial \
             FROM {} STRAIGHT_JOIN root_rank_{} r FORCE INDEX (PRIMARY) ON r.subject = j.subject AND r.id = j.id",
            root_key_table(&rows),
            self.table_number(slot)
        );
        session.fetch_text(text).await?.iter().map(|r| root_row(r, 0)).collect()
    }

    /// The keys of all rows of these replies, by their roots. It reads every rank of the roots.
    pub(super) async fn find_reply_keys(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        replies: &[RankKey],
    ) -> Result<Vec<RankKey>> {
        let (mut roots, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for key in replies {
            if let RankKey::Reply { root, id, .. } = key {
                roots.insert(root.to_string());
                ids.insert(id.to_string());
            }
        }
        if ids.is_empty() {
            return Ok(vec![]);
        }
        let join = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join(",");
        let text = format!(
            "SELECT root_id, hot, id FROM reply_rank_{} FORCE INDEX (PRIMARY) WHERE slot = {} AND root_id IN ({}) AND id IN ({})",
            self.table_number(slot),
            slot.get(),
            join(roots),
            join(ids)
        );
        let key = |r: &MySqlRow| Ok(RankKey::Reply { root: id_at(r, 0)?, hot: number_at(r, 1)?, id: id_at(r, 2)? });
        session.fetch_text(text).await?.iter().map(key).collect()
    }

    /// The rank rows that these comments have by their own rows. One without is left out.
    pub(super) async fn read_expected_ranks(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        ids: &BTreeSet<CommentId>,
    ) -> Result<HashMap<CommentId, RankRow>> {
        let table = self.table_number(slot);
        let text = format!(
            "SELECT {RANKED_COLUMNS} FROM {IDS_TABLE} STRAIGHT_JOIN comment_{table} c FORCE INDEX (PRIMARY) ON c.id = j.id \
             LEFT JOIN subject_{table} s ON s.id = c.subject"
        );
        let statement = sql(text).bind(json_array(ids.iter().map(|id| id.signed())));
        let mut expected = HashMap::new();
        for r in session.fetch_all(statement).await? {
            if let Some(rank) = self.expected_rank(&r)? {
                expected.insert(rank.key().id(), rank);
            }
        }
        Ok(expected)
    }

    /// Makes the rank rows of these comments what their rows say, and deletes those of `stale` that are of no
    /// comment. In a transaction that has locked the slot.
    pub(super) async fn put_ranks(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        ids: impl Iterator<Item = CommentId>,
        stale: &[RankKey],
    ) -> Result<()> {
        let ids: BTreeSet<CommentId> = ids.chain(stale.iter().map(RankKey::id)).collect();
        let (table, number) = (self.table_number(slot), slot.get());
        let expected = self.read_expected_ranks(session, slot, &ids).await?;
        let is_right = |key: &RankKey| expected.get(&key.id()).is_some_and(|rank| rank.key() == *key);
        let stale: Vec<RankKey> = stale.iter().filter(|key| !is_right(key)).copied().collect();
        if let Some(rows) = root_keys(&stale) {
            let text = format!(
                "DELETE r FROM {} STRAIGHT_JOIN root_rank_{table} r ON r.subject = j.subject AND r.id = j.id",
                root_key_table(&rows)
            );
            session.execute_text(text).await?;
        }
        if let Some(rows) = reply_keys(&stale) {
            let text = format!(
                "DELETE r FROM {} STRAIGHT_JOIN reply_rank_{table} r \
                 ON r.slot = {number} AND r.root_id = j.root AND r.hot = j.hot AND r.id = j.id",
                reply_key_table(&rows)
            );
            session.execute_text(text).await?;
        }
        let (mut roots, mut replies) = (Vec::new(), Vec::new());
        // Every process inserts rows in this order.
        for rank in ids.iter().filter_map(|id| expected.get(id)) {
            match *rank {
                RankRow::Root { subject, id, counts, created_at, keys } => {
                    roots.push(root_rank_values(subject, id, counts, created_at, keys));
                }
                RankRow::Reply { root, hot, id } => replies.push(format!("({root},{hot},{id})")),
            }
        }
        if !roots.is_empty() {
            let text = format!(
                "INSERT INTO root_rank_{table} {ROOT_RANK_COLUMNS} VALUES {} ON DUPLICATE KEY UPDATE \
                 likes = VALUES(likes), dislikes = VALUES(dislikes), replies = VALUES(replies), \
                 created_at = VALUES(created_at), hot = VALUES(hot), best = VALUES(best), \
                 controversial = VALUES(controversial)",
                roots.join(",")
            );
            session.execute_text(text).await?;
        }
        if !replies.is_empty() {
            let text = format!(
                "INSERT INTO reply_rank_{table} (root_id, hot, id) VALUES {} ON DUPLICATE KEY UPDATE hot = VALUES(hot)",
                replies.join(",")
            );
            session.execute_text(text).await?;
        }
        Ok(())
    }

    /// [`MysqlStore::put_ranks`] in a transaction of its own.
    pub(super) async fn repair_ranks(
        &self,
        slot: Slot,
        ids: impl Iterator<Item = CommentId>,
        stale: &[RankKey],
    ) -> Result<()> {
        let mut session = self.session("repair_ranks", self.database_of(slot)).await?;
        session.begin().await?;
        let done = async {
            SlotStatus::lock_settled(&mut session, slot).await?;
            self.put_ranks(&mut session, slot, ids, stale).await
        };
        let done = done.await;
        session.finish(done).await
    }
}

/// The rows that fulfil the first condition, then those of the next, until there are [`RANKS_PER_CHUNK`].
async fn fetch_in_order(
    session: &mut MysqlSession,
    select: &str,
    order: &str,
    conditions: &[String],
) -> Result<Vec<MySqlRow>> {
    let mut rows = Vec::new();
    for condition in conditions {
        let left = RANKS_PER_CHUNK - rows.len();
        if left > 0 {
            let text = format!("{select} WHERE {condition} ORDER BY {order} LIMIT {left}");
            rows.extend(session.fetch_text(text).await?);
        }
    }
    Ok(rows)
}

/// The row of a root, from this column on.
fn root_row(r: &MySqlRow, at: usize) -> Result<RankRow> {
    Ok(RankRow::Root {
        subject: number_at(r, at)?,
        id: id_at(r, at + 1)?,
        counts: EngagementCounts {
            likes: count_at(r, at + 2)?,
            dislikes: count_at(r, at + 3)?,
            replies: count_at(r, at + 4)?,
        },
        created_at: count_at(r, at + 5)?,
        keys: RootKeys {
            hot: number_at(r, at + 6)?,
            best: number_at(r, at + 7)?,
            controversial: number_at(r, at + 8)?,
        },
    })
}

/// The keys of roots, as [`root_key_table`] takes them; `None` without any.
fn root_keys(keys: &[RankKey]) -> Option<String> {
    let rows = keys.iter().filter_map(|key| match key {
        RankKey::Root { subject, id } => Some(json_numbers(&[Some(*subject), Some(id.signed())])),
        RankKey::Reply { .. } => None,
    });
    Some(rows.collect::<Vec<_>>().join(",")).filter(|rows| !rows.is_empty())
}

fn root_key_table(rows: &str) -> String {
    json_table(rows, &["subject BIGINT", "id BIGINT"])
}

/// The keys of replies, as [`reply_key_table`] takes them; `None` without any.
fn reply_keys(keys: &[RankKey]) -> Option<String> {
    let rows = keys.iter().filter_map(|key| match key {
        RankKey::Reply { root, hot, id } => Some(json_numbers(&[Some(root.signed()), Some(*hot), Some(id.signed())])),
        RankKey::Root { .. } => None,
    });
    Some(rows.collect::<Vec<_>>().join(",")).filter(|rows| !rows.is_empty())
}

fn reply_key_table(rows: &str) -> String {
    json_table(rows, &["root BIGINT", "hot BIGINT", "id BIGINT"])
}
