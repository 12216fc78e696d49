//! The review queue and reports.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::{MemberRef, Report, ReportReason, ReviewKind};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, json_ids};
use crate::adapters::sqlite::rows::{StoredEnum, comment_id, count, member_id, parse_json};
use crate::domain::columns::FLAG_APPROVED;
use crate::domain::network_digest::NetworkDigest;
use crate::domain::review::{QueueCounts, QueuePosition, QueuedReview};
use crate::ports::store::{Result, ReviewReader};

/// The columns that [`queued_review`] reads, of a row `q`.
const REVIEW_COLUMNS: &str = "q.comment_id, q.rank, q.since, q.item, q.leased_by, q.leased_name, q.leased_until";
/// The columns that [`report`] reads.
const REPORT_COLUMNS: &str = "comment_id, member_id, member_name, reason, note, at";

#[async_trait]
impl ReviewReader for SqliteStore {
    async fn list_queue(
        &self,
        kind: Option<ReviewKind>,
        after: Option<QueuePosition>,
        count: usize,
    ) -> Result<Vec<QueuedReview>> {
        self.read("list_queue", move |c| read_queue(c, kind, after, count)).await
    }

    async fn count_queue(&self) -> Result<QueueCounts> {
        self.read("count_queue", count_entries).await
    }

    async fn read_reviews(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, QueuedReview>> {
        let ids = json_ids(ids);
        self.read("read_reviews", move |c| {
            let sql = format!("SELECT {REVIEW_COLUMNS} FROM json_each(?1) j JOIN review q ON q.comment_id = j.value");
            let found = fetch_all(c, &sql, [ids], queued_review)?;
            Ok(found.into_iter().map(|review| (review.position.id, review)).collect())
        })
        .await
    }

    async fn read_original_texts(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, String>> {
        let ids = json_ids(ids);
        self.read("read_original_texts", move |c| {
            let sql = "SELECT t.id, t.written FROM json_each(?1) j JOIN content t ON t.id = j.value \
                       WHERE t.written IS NOT NULL";
            Ok(fetch_all(c, sql, [ids], |r| Ok((comment_id(r.get(0)?)?, r.get(1)?)))?.into_iter().collect())
        })
        .await
    }

    async fn list_reports(&self, id: CommentId, count: usize) -> Result<Vec<Report>> {
        self.read("list_reports", move |c| {
            let sql = format!(
                "SELECT {REPORT_COLUMNS} FROM report WHERE comment_id = ?1 ORDER BY at DESC, member_id DESC LIMIT ?2"
            );
            let found = fetch_all(c, &sql, params![id.signed(), count as i64], report)?;
            Ok(found.into_iter().map(|(_, report)| report).collect())
        })
        .await
    }

    async fn read_author_network(&self, id: CommentId) -> Result<Option<NetworkDigest>> {
        self.read("read_author_network", move |c| {
            let mut statement = c.prepare_cached("SELECT digest FROM author_network WHERE comment_id = ?1")?;
            let digest = statement.query_row([id.signed()], |r| r.get(0)).optional()?;
            Ok(digest.map(NetworkDigest::from_bytes))
        })
        .await
    }

    async fn has_approved(&self, author: MemberId) -> Result<bool> {
        self.read("has_approved", move |c| {
            let sql = format!(
                "SELECT EXISTS (SELECT 1 FROM comment INDEXED BY comment_author WHERE author_id = ?1 AND state = 0 \
                 AND visibility = 0 AND flags & {FLAG_APPROVED} <> 0)"
            );
            Ok(c.prepare_cached(&sql)?.query_row([author.signed()], |r| r.get(0))?)
        })
        .await
    }

    async fn list_reports_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<(CommentId, Report)>> {
        let above = above.map_or(0, CommentId::signed);
        self.read("list_reports_of", move |c| {
            let sql = format!(
                "SELECT {REPORT_COLUMNS} FROM report INDEXED BY report_member \
                 WHERE member_id = ?1 AND comment_id > ?2 ORDER BY comment_id LIMIT ?3"
            );
            fetch_all(c, &sql, params![member.signed(), above, count as i64], report)
        })
        .await
    }
}

fn read_queue(
    c: &Connection,
    kind: Option<ReviewKind>,
    after: Option<QueuePosition>,
    count: usize,
) -> Result<Vec<QueuedReview>> {
    let (rank, since, id) = after.map_or((i64::MIN, 0, 0), |p| (p.rank, p.since, p.id.signed()));
    let (index, of_kind) = match kind {
        Some(_) => ("review_kind_order", "q.kind = ?5 AND"),
        None => ("review_order", "?5 IS NULL AND"),
    };
    let sql = format!(
        "SELECT {REVIEW_COLUMNS} FROM review q INDEXED BY {index} \
         WHERE {of_kind} (q.rank, q.since, q.comment_id) > (?1, ?2, ?3) \
         ORDER BY q.rank, q.since, q.comment_id LIMIT ?4"
    );
    let kind = kind.map(StoredEnum::number);
    fetch_all(c, &sql, params![rank, since, id, count as i64, kind], queued_review)
}

fn queued_review(r: &Row<'_>) -> Result<QueuedReview> {
    let lease = match r.get::<_, Option<i64>>(4)? {
        Some(by) => {
            let name = r.get::<_, Option<String>>(5)?.unwrap_or_default();
            Some((MemberRef { id: member_id(by)?, name }, count(r.get(6)?)))
        }
        None => None,
    };
    let position = QueuePosition { rank: r.get(1)?, since: count(r.get(2)?), id: comment_id(r.get(0)?)? };
    Ok(QueuedReview { position, item: parse_json(r, 3)?, lease })
}

fn report(r: &Row<'_>) -> Result<(CommentId, Report)> {
    let member = MemberRef { id: member_id(r.get(1)?)?, name: r.get(2)? };
    let report =
        Report { member, reason: ReportReason::from_number(r.get(3)?)?, note: r.get(4)?, at: count(r.get(5)?) };
    Ok((comment_id(r.get(0)?)?, report))
}

fn count_entries(c: &Connection) -> Result<QueueCounts> {
    let sql = "SELECT coalesce(sum(held), 0), coalesce(sum(reported), 0) FROM review_count";
    let counts = fetch_all(c, sql, [], |r| Ok(QueueCounts { held: count(r.get(0)?), reported: count(r.get(1)?) }))?;
    Ok(counts.into_iter().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::sqlite::query::tests::steps_of;
    use gailou_shared::id::Slot;

    /// Puts so many comments into the queue, with 50 priorities, by a statement of its own.
    fn fill_queue(c: &Connection, comments: i64) {
        let first = CommentId::from_parts(1_700_000_000_000, Slot::FIRST, 0, 0).signed();
        c.execute("DELETE FROM review", []).unwrap();
        c.execute(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?2) \
             INSERT INTO review (comment_id, kind, rank, since, item) SELECT ?1 + i, i % 2, -(i * 7 % 50), i, \
             json_object('reasons', json_array(), 'since', i, 'reports', 0, 'edit', NULL) FROM n",
            [first, comments],
        )
        .unwrap();
    }

    #[test]
    fn page_of_a_million_costs_what_a_page_of_a_thousand_costs() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
        let writer = store.writer();
        for kind in [None, Some(ReviewKind::Held)] {
            let costs = [1_000, 1_000_000].map(|comments| {
                fill_queue(&writer, comments);
                let (first, of_first) = steps_of(|| read_queue(&writer, kind, None, 21).unwrap());
                assert_eq!((first.len(), first[0].position.rank), (21, if kind.is_some() { -48 } else { -49 }));
                assert!(first.is_sorted_by_key(|review| review.position));
                let (next, of_next) = steps_of(|| read_queue(&writer, kind, Some(first[20].position), 21).unwrap());
                assert!(next[0].position > first[20].position);
                // Each page says how many wait.
                let (_, of_counts) = steps_of(|| count_entries(&writer).unwrap());
                assert!(of_counts > 0);
                of_first + of_next + of_counts
            });
            assert!(costs[1] * 10 <= costs[0] * 11, "{costs:?} steps");
        }
    }
}
