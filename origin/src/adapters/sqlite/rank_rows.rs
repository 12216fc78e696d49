//! The rows of `root_rank` and `reply_rank`: read beside the comments that they are made from, a chunk at a time, and
//! made again. Not here: what is compared, and which chunks are read.

use std::collections::{BTreeSet, HashMap, HashSet};

use gailou_shared::id::CommentId;
use gailou_shared::rank::EngagementCounts;
use rusqlite::{Connection, Row, Transaction, params};

use crate::adapters::sqlite::query::{fetch_all, json_array};
use crate::adapters::sqlite::rows::{comment_id, count, damaged};
use crate::domain::reconcile::{RankKey, RankRow, RankStage, RankedChunk, StoredRank};
use crate::domain::root_keys::RootKeys;
use crate::domain::row::WeightsByType;
use crate::ports::store::Result;

/// Rows that are read at once, and changed in one transaction: writers wait some 20 ms for it.
pub(super) const RANKS_PER_CHUNK: usize = 1_000;

/// The columns of a comment `c` and its subject `s` that its rank is made of: see [`expected_rank`].
const RANKED_COLUMNS: &str =
    "c.id, c.subject, c.root_id, c.listed, c.likes, c.dislikes, c.replies, c.created_at, s.type";

/// Inserts or replaces the rank of a root.
pub(super) const PUT_ROOT_RANK_SQL: &str = "INSERT INTO root_rank \
     (subject, id, likes, dislikes, replies, created_at, hot, best, controversial) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (subject, id) DO UPDATE SET likes = excluded.likes, \
     dislikes = excluded.dislikes, replies = excluded.replies, created_at = excluded.created_at, hot = excluded.hot, \
     best = excluded.best, controversial = excluded.controversial";

/// The rank row of the comment in [`RANKED_COLUMNS`]; `None` where there is no comment, or an unlisted one.
fn expected_rank(r: &Row<'_>, weights: &WeightsByType) -> Result<Option<RankRow>> {
    let Some(id) = r.get::<_, Option<i64>>(0)?.map(comment_id).transpose()? else { return Ok(None) };
    if r.get::<_, i64>(3)? != 1 {
        return Ok(None);
    }
    let counts = EngagementCounts { likes: count(r.get(4)?), dislikes: count(r.get(5)?), replies: count(r.get(6)?) };
    let kind = r.get_ref(8)?.as_str_or_null().map_err(damaged)?.unwrap_or_default();
    let weights = weights.get(kind).copied().unwrap_or_default();
    Ok(RankRow::of_listed(r.get(1)?, comment_id(r.get(2)?)?, id, counts, count(r.get(7)?), &weights))
}

/// Comments of one subject or of all, after a subject and path.
pub(super) fn read_ranked_comments(
    c: &Connection,
    weights: &WeightsByType,
    subject: Option<i64>,
    after: Option<&(i64, Vec<u8>)>,
) -> Result<RankedChunk> {
    let sql = format!(
        "SELECT {RANKED_COLUMNS}, c.path FROM comment c INDEXED BY comment_path LEFT JOIN subject s ON s.id = c.subject \
         WHERE (c.subject, c.path) > (?1, ?2) AND c.subject <= ?3 ORDER BY c.subject, c.path LIMIT {RANKS_PER_CHUNK}"
    );
    let begin = (subject.unwrap_or(i64::MIN), Vec::new());
    let (from, path) = after.unwrap_or(&begin);
    let rows = fetch_all(c, &sql, params![from, path, subject.unwrap_or(i64::MAX)], |r| {
        Ok((expected_rank(r, weights)?, (r.get(1)?, r.get(9)?)))
    })?;
    let last = rows.last().map(|(_, key)| key.clone());
    Ok(RankedChunk { read: rows.len(), ranks: rows.into_iter().filter_map(|(rank, _)| rank).collect(), last })
}

/// The rank rows in a stage, and the stage that follows them; not for [`RankStage::Comments`].
pub(super) fn read_rank_rows(
    c: &Connection,
    weights: &WeightsByType,
    stage: &RankStage,
) -> Result<(Vec<StoredRank>, RankStage)> {
    match stage {
        RankStage::Replies(after) => {
            let [root, hot, id] = after.unwrap_or([i64::MIN; 3]);
            let sql = format!(
                "SELECT {RANKED_COLUMNS}, r.root_id, r.hot, r.id FROM reply_rank r LEFT JOIN comment c ON c.id = r.id \
                 LEFT JOIN subject s ON s.id = c.subject WHERE (r.root_id, r.hot, r.id) > (?1, ?2, ?3) \
                 ORDER BY r.root_id, r.hot, r.id LIMIT {RANKS_PER_CHUNK}"
            );
            let rows = fetch_all(c, &sql, params![root, hot, id], |r| {
                let row = RankRow::Reply { root: comment_id(r.get(9)?)?, hot: r.get(10)?, id: comment_id(r.get(11)?)? };
                Ok(StoredRank { row, expected: expected_rank(r, weights)? })
            })?;
            let next = match rows.last().filter(|_| rows.len() == RANKS_PER_CHUNK).map(|last| last.row.key()) {
                Some(RankKey::Reply { root, hot, id }) => RankStage::Replies(Some([root.signed(), hot, id.signed()])),
                _ => RankStage::Roots(None),
            };
            Ok((rows, next))
        }
        RankStage::Roots(after) => {
            let [subject, id] = after.unwrap_or([i64::MIN; 2]);
            let sql = format!(
                "SELECT {RANKED_COLUMNS}, r.subject, r.id, r.likes, r.dislikes, r.replies, r.created_at, r.hot, r.best, \
                 r.controversial FROM root_rank r LEFT JOIN comment c ON c.id = r.id \
                 LEFT JOIN subject s ON s.id = c.subject WHERE (r.subject, r.id) > (?1, ?2) \
                 ORDER BY r.subject, r.id LIMIT {RANKS_PER_CHUNK}"
            );
            let rows = fetch_all(c, &sql, params![subject, id], |r| {
                Ok(StoredRank { row: root_row(r, 9)?, expected: expected_rank(r, weights)? })
            })?;
            let next = match rows.last().filter(|_| rows.len() == RANKS_PER_CHUNK).map(|last| last.row.key()) {
                Some(RankKey::Root { subject, id }) => RankStage::Roots(Some([subject, id.signed()])),
                _ => RankStage::Comments(None),
            };
            Ok((rows, next))
        }
        RankStage::Comments(_) => Ok((vec![], RankStage::Comments(None))),
    }
}

/// Which of these keys have a row.
pub(super) fn find_rank_keys(c: &Connection, keys: &[RankKey]) -> Result<HashSet<RankKey>> {
    let mut reply = c.prepare_cached("SELECT 1 FROM reply_rank WHERE root_id = ?1 AND hot = ?2 AND id = ?3")?;
    let mut root = c.prepare_cached("SELECT 1 FROM root_rank WHERE subject = ?1 AND id = ?2")?;
    let mut found = HashSet::new();
    for key in keys {
        let exists = match key {
            RankKey::Root { subject, id } => root.exists([*subject, id.signed()])?,
            RankKey::Reply { root, hot, id } => reply.exists([root.signed(), *hot, id.signed()])?,
        };
        if exists {
            found.insert(*key);
        }
    }
    Ok(found)
}

/// The rows of the roots among these keys.
pub(super) fn find_root_rows(c: &Connection, keys: &[RankKey]) -> Result<Vec<RankRow>> {
    let sql = "SELECT subject, id, likes, dislikes, replies, created_at, hot, best, controversial FROM root_rank \
               WHERE subject = ?1 AND id = ?2";
    let mut rows = Vec::new();
    for key in keys {
        if let RankKey::Root { subject, id } = key {
            rows.extend(fetch_all(c, sql, [*subject, id.signed()], |r| root_row(r, 0))?);
        }
    }
    Ok(rows)
}

/// The keys of all rows of these replies, by their roots. It reads every rank of the roots.
pub(super) fn find_reply_keys(c: &Connection, replies: &[RankKey]) -> Result<Vec<RankKey>> {
    let (mut roots, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for key in replies {
        if let RankKey::Reply { root, id, .. } = key {
            roots.insert(root.signed());
            ids.insert(id.signed());
        }
    }
    let sql = "SELECT root_id, hot, id FROM reply_rank WHERE root_id IN (SELECT value FROM json_each(?1)) \
               AND +id IN (SELECT value FROM json_each(?2))";
    fetch_all(c, sql, params![json_array(roots), json_array(ids)], |r| {
        Ok(RankKey::Reply { root: comment_id(r.get(0)?)?, hot: r.get(1)?, id: comment_id(r.get(2)?)? })
    })
}

/// The rank rows that these comments have by their own rows. One without is left out.
pub(super) fn read_expected_ranks(
    c: &Connection,
    weights: &WeightsByType,
    ids: &BTreeSet<CommentId>,
) -> Result<HashMap<CommentId, RankRow>> {
    let sql = format!(
        "SELECT {RANKED_COLUMNS} FROM json_each(?1) j CROSS JOIN comment c ON c.id = j.value \
         LEFT JOIN subject s ON s.id = c.subject"
    );
    let ranks = fetch_all(c, &sql, [json_array(ids.iter().map(|id| id.signed()))], |r| expected_rank(r, weights))?;
    Ok(ranks.into_iter().flatten().map(|rank| (rank.key().id(), rank)).collect())
}

/// Makes the rank rows of these comments what their rows say, and deletes those of `stale` that are of no comment.
pub(super) fn put_ranks(
    tx: &Transaction<'_>,
    weights: &WeightsByType,
    ids: impl Iterator<Item = CommentId>,
    stale: &[RankKey],
) -> Result<()> {
    let ids: BTreeSet<CommentId> = ids.chain(stale.iter().map(RankKey::id)).collect();
    let expected = read_expected_ranks(tx, weights, &ids)?;
    for key in stale.iter().filter(|key| expected.get(&key.id()).is_none_or(|rank| rank.key() != **key)) {
        match key {
            RankKey::Root { subject, id } => tx
                .prepare_cached("DELETE FROM root_rank WHERE subject = ?1 AND id = ?2")?
                .execute([*subject, id.signed()])?,
            RankKey::Reply { root, hot, id } => tx
                .prepare_cached("DELETE FROM reply_rank WHERE root_id = ?1 AND hot = ?2 AND id = ?3")?
                .execute([root.signed(), *hot, id.signed()])?,
        };
    }
    for rank in expected.values() {
        match *rank {
            RankRow::Root { subject, id, counts, created_at, keys } => {
                let EngagementCounts { likes, dislikes, replies } = counts;
                let RootKeys { hot, best, controversial } = keys;
                let values =
                    params![subject, id.signed(), likes, dislikes, replies, created_at, hot, best, controversial];
                tx.prepare_cached(PUT_ROOT_RANK_SQL)?.execute(values)?
            }
            RankRow::Reply { root, hot, id } => tx
                .prepare_cached("INSERT OR REPLACE INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?
                .execute([root.signed(), hot, id.signed()])?,
        };
    }
    Ok(())
}

/// The row of a root, from this column on.
fn root_row(r: &Row<'_>, at: usize) -> Result<RankRow> {
    Ok(RankRow::Root {
        subject: r.get(at)?,
        id: comment_id(r.get(at + 1)?)?,
        counts: EngagementCounts {
            likes: count(r.get(at + 2)?),
            dislikes: count(r.get(at + 3)?),
            replies: count(r.get(at + 4)?),
        },
        created_at: count(r.get(at + 5)?),
        keys: RootKeys { hot: r.get(at + 6)?, best: r.get(at + 7)?, controversial: r.get(at + 8)? },
    })
}
