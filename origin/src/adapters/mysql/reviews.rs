//! The review queue and reports: looked up in every table of every database, a page from each.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::{MemberRef, Report, ReportReason, ReviewKind};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::members::APPROVED_CONDITION;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::rows::{
    StoredEnum, count_at, damaged, id_at, json_at, member_id, number_at, optional_number_at, slot_at,
};
use crate::domain::network_digest::NetworkDigest;
use crate::domain::review::{QueueCounts, QueuePosition, QueuedReview};
use crate::ports::store::{Result, ReviewReader};

/// The columns that [`queued_review`] reads, of a row `q`.
const REVIEW_COLUMNS: &str = "q.comment_id, q.rank_key, q.since, q.item, q.leased_by, q.leased_name, q.leased_until";
/// The columns that [`report`] reads.
const REPORT_COLUMNS: &str = "comment_id, member_id, member_name, reason, note, at";

#[async_trait]
impl ReviewReader for MysqlStore {
    async fn list_queue(
        &self,
        kind: Option<ReviewKind>,
        after: Option<QueuePosition>,
        count: usize,
    ) -> Result<Vec<QueuedReview>> {
        let (rank, since, id) = after.map_or((i64::MIN, 0, 0), |p| (p.rank, p.since, p.id.signed()));
        let (index, of_kind) = match kind {
            Some(kind) => ("review_kind_order", format!("q.kind = {} AND ", kind.number())),
            None => ("review_order", String::new()),
        };
        // Of the forms of this condition, an index takes one that begins with a range.
        let text = format!(
            "SELECT {REVIEW_COLUMNS} FROM review_{{n}} q FORCE INDEX ({index}) WHERE {of_kind}q.rank_key >= ? \
             AND (q.rank_key > ? OR q.since > ? OR (q.since = ? AND q.comment_id > ?)) \
             ORDER BY q.rank_key, q.since, q.comment_id LIMIT ?"
        );
        let rows = self
            .rows_of_all(
                "list_queue",
                &text,
                |s| s.bind(rank).bind(rank).bind(since).bind(since).bind(id).bind(count as i64),
                |r| Ok(id_at(r, 0)?.slot()),
            )
            .await?;
        let mut found = rows.iter().map(queued_review).collect::<Result<Vec<_>>>()?;
        found.sort_unstable_by_key(|review| review.position);
        found.truncate(count);
        Ok(found)
    }

    async fn count_queue(&self) -> Result<QueueCounts> {
        let text = "SELECT slot, held, reported FROM review_count_{n} WHERE held <> 0 OR reported <> 0";
        let rows = self.rows_of_all("count_queue", text, |s| s, |r| slot_at(r, 0)).await?;
        let mut counts = QueueCounts::default();
        for r in &rows {
            counts.held += count_at(r, 1)?;
            counts.reported += count_at(r, 2)?;
        }
        Ok(counts)
    }

    async fn read_reviews(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, QueuedReview>> {
        let text = format!(
            "SELECT {REVIEW_COLUMNS} FROM {IDS_TABLE} STRAIGHT_JOIN review_{{n}} q FORCE INDEX (PRIMARY) \
             ON q.slot = {} AND q.comment_id = j.id",
            slot_of_comment("j.id")
        );
        let ids = ids.iter().map(|id| (id.slot(), id.signed()));
        let rows = self.rows_by_id("read_reviews", ids, &text, |s| s).await?;
        rows.iter().map(|r| queued_review(r).map(|review| (review.position.id, review))).collect()
    }

    async fn read_original_texts(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, String>> {
        let text = format!(
            "SELECT t.id, t.written FROM {IDS_TABLE} STRAIGHT_JOIN content_{{n}} t FORCE INDEX (PRIMARY) ON t.id = j.id \
             WHERE t.written IS NOT NULL"
        );
        let ids = ids.iter().map(|id| (id.slot(), id.signed()));
        let rows = self.rows_by_id("read_original_texts", ids, &text, |s| s).await?;
        rows.iter().map(|r| Ok((id_at(r, 0)?, r.try_get(1)?))).collect()
    }

    async fn list_reports(&self, id: CommentId, count: usize) -> Result<Vec<Report>> {
        let (slot, part) = (id.slot(), self.part(id.slot()));
        let text = format!(
            "SELECT {REPORT_COLUMNS} FROM report_{{n}} FORCE INDEX (PRIMARY) WHERE slot = ? AND comment_id = ? \
             ORDER BY at DESC, member_id DESC LIMIT ?"
        );
        let statement = part.sql(&text).bind(slot.get()).bind(id.signed()).bind(count as i64);
        let rows = self.rows_of("list_reports", slot, statement).await?;
        rows.iter().map(|r| report(r).map(|(_, report)| report)).collect()
    }

    async fn read_author_network(&self, id: CommentId) -> Result<Option<NetworkDigest>> {
        let (slot, part) = (id.slot(), self.part(id.slot()));
        let text = "SELECT digest FROM author_network_{n} WHERE slot = ? AND comment_id = ?";
        let statement = part.sql(text).bind(slot.get()).bind(id.signed());
        let found = self.rows_of("read_author_network", slot, statement).await?;
        let Some(r) = found.first() else { return Ok(None) };
        let bytes = r.try_get::<Vec<u8>, _>(0)?.try_into().map_err(|_| damaged("the hash of a network"))?;
        Ok(Some(NetworkDigest::from_bytes(bytes)))
    }

    async fn has_approved(&self, author: MemberId) -> Result<bool> {
        Ok(!self.list_of_member(author, None, 1, &APPROVED_CONDITION).await?.is_empty())
    }

    async fn list_reports_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<(CommentId, Report)>> {
        let text = format!(
            "SELECT {REPORT_COLUMNS} FROM report_{{n}} FORCE INDEX (report_member) \
             WHERE member_id = ? AND comment_id > ? ORDER BY comment_id LIMIT ?"
        );
        let rows = self.rows_everywhere("list_reports_of", &text, member, above, count).await?;
        rows.iter().map(report).collect()
    }
}

fn queued_review(r: &MySqlRow) -> Result<QueuedReview> {
    let lease = match optional_number_at(r, 4)? {
        Some(by) => {
            let name = r.try_get::<Option<String>, _>(5)?.unwrap_or_default();
            Some((MemberRef { id: member_id(by)?, name }, count_at(r, 6)?))
        }
        None => None,
    };
    let position = QueuePosition { rank: number_at(r, 1)?, since: count_at(r, 2)?, id: id_at(r, 0)? };
    Ok(QueuedReview { position, item: json_at(r, 3)?, lease })
}

fn report(r: &MySqlRow) -> Result<(CommentId, Report)> {
    let member = MemberRef { id: member_id(number_at(r, 1)?)?, name: r.try_get(2)? };
    let reason = ReportReason::from_number(number_at(r, 3)?)?;
    Ok((id_at(r, 0)?, Report { member, reason, note: r.try_get(4)?, at: count_at(r, 5)? }))
}
