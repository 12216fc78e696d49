//! Subjects and comments by key, and what repeated requests did. Each is one statement a database and
//! table, however many ids: they are bound as one JSON array and joined in an order that no statistics
//! can change. What writes ask for is one statement a database.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Mode;
use gailou_shared::wire::{CommentState, SubjectState};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{
    COLUMN_COUNT, COMMENT_COLUMNS, COMMENT_JOINS, StoredEnum, comment_row, count_at, damaged, id_at, member_id,
    number_at, optional_number_at, subject_at,
};
use crate::domain::row::{CommentRow, RememberedRequest, SubjectRow, SubjectRules};
use crate::ports::store::{CommentReader, IdempotencyReader, Result};

#[async_trait]
impl CommentReader for MysqlStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        // Pinned comments are found by a range of literal numbers. From a join the server would look
        // them up by subject alone, through all comments of it.
        let text = format!(
            "SELECT s.type, s.`key`, s.title, s.url, s.owner_id, s.state, s.mode, s.version, s.roots, s.comments, p.ids \
             FROM {IDS_TABLE} STRAIGHT_JOIN subject_{{n}} s FORCE INDEX (PRIMARY) ON s.id = j.id \
             LEFT JOIN (SELECT c.subject, GROUP_CONCAT(c.id ORDER BY c.pinned_at DESC, c.id DESC) AS ids \
             FROM comment_{{n}} c FORCE INDEX (comment_pinned) \
             WHERE c.subject IN ({{ids}}) AND c.pinned_at > 0 AND c.state = 0 AND c.visibility = 0 \
             GROUP BY c.subject) p ON p.subject = s.id"
        );
        let ids = keys.iter().map(|key| (key.slot(), subject_number(key)));
        let mut found = HashMap::new();
        for r in self.rows_by_id("read_subjects", ids, &text, |s| s).await? {
            let row = subject_row(&r)?;
            found.insert(row.key.clone(), row);
        }
        Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
    }

    async fn read_subject_rules(&self, keys: &[SubjectKey]) -> Result<Vec<SubjectRules>> {
        let text =
            "SELECT s.type, s.`key`, s.state, s.mode FROM subject_{n} s FORCE INDEX (PRIMARY) WHERE s.id IN ({ids})";
        let ids = keys.iter().map(|key| (key.slot(), subject_number(key)));
        let found = self.rows_by_id_at_once("read_subject_rules", ids, text).await?;
        let found = found.iter().map(|r| Ok((subject_at(r, 0)?, rules_at(r, 2)?)));
        let found = found.collect::<Result<HashMap<_, _>>>()?;
        Ok(keys.iter().map(|key| found.get(key).copied().unwrap_or_default()).collect())
    }

    async fn read_subjects_of(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, (SubjectKey, SubjectRules)>> {
        let text = "SELECT s.type, s.`key`, s.state, s.mode, c.id FROM comment_{n} c FORCE INDEX (PRIMARY) \
                    STRAIGHT_JOIN subject_{n} s FORCE INDEX (PRIMARY) ON s.id = c.subject WHERE c.id IN ({ids})";
        let ids = ids.iter().map(|id| (id.slot(), id.signed()));
        let found = self.rows_by_id_at_once("read_subjects_of", ids, text).await?;
        found.iter().map(|r| Ok((id_at(r, 4)?, (subject_at(r, 0)?, rules_at(r, 2)?)))).collect()
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let text = format!(
            "SELECT {COMMENT_COLUMNS}, j.id FROM {IDS_TABLE} LEFT JOIN alias_{{n}} a FORCE INDEX (PRIMARY) ON a.slot = {} AND a.id = j.id \
             STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = COALESCE(a.comment_id, j.id) {COMMENT_JOINS}",
            slot_of_comment("j.id")
        );
        let ids = ids.iter().map(|id| (id.slot(), id.signed()));
        let found = self.rows_by_id("read_comments", ids, &text, |s| s).await?;
        found.iter().map(|r| Ok((id_at(r, COLUMN_COUNT)?, comment_row(r)?))).collect()
    }
}

/// The rules of a subject, from two columns.
fn rules_at(r: &MySqlRow, index: usize) -> Result<SubjectRules> {
    Ok(SubjectRules {
        state: SubjectState::from_number(number_at(r, index)?)?,
        mode: optional_number_at(r, index + 1)?.map(Mode::from_number).transpose()?,
    })
}

fn subject_row(r: &MySqlRow) -> Result<SubjectRow> {
    let pinned = r.try_get::<Option<String>, _>(10)?.unwrap_or_default();
    // The server may cut a longer list in the middle of an id.
    let pinned = pinned.split(',').filter(|id| !id.is_empty()).take(limits::MAX_PINS);
    let SubjectRules { state, mode } = rules_at(r, 5)?;
    Ok(SubjectRow {
        key: subject_at(r, 0)?,
        title: r.try_get(2)?,
        url: r.try_get(3)?,
        owner_id: optional_number_at(r, 4)?.map(member_id).transpose()?,
        state,
        mode,
        version: count_at(r, 7)?,
        roots: count_at(r, 8)?,
        comments: count_at(r, 9)?,
        pinned: pinned.map(|id| id.parse().map_err(damaged)).collect::<Result<_>>()?,
    })
}

#[async_trait]
impl IdempotencyReader for MysqlStore {
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        let slot = subject.slot();
        let statement = self.part(slot).sql(
            "SELECT request, comment_id, state FROM idempotency_{n} \
             WHERE member_id = ? AND `key` = ? AND slot = ? AND created_at > ?",
        );
        let statement = statement.bind(member.signed()).bind(key.as_bytes()).bind(slot.get()).bind(since as i64);
        let found = self.rows_of("find_remembered", slot, statement).await?;
        let Some(r) = found.first() else { return Ok(None) };
        Ok(Some(RememberedRequest {
            request: r.try_get::<Vec<u8>, _>(0)?.try_into().map_err(|_| damaged("the hash of a request"))?,
            id: id_at(r, 1)?,
            state: CommentState::from_number(number_at(r, 2)?)?,
        }))
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        let text = "SELECT content FROM content_history_{n} WHERE comment_id = ? ORDER BY edit, edited_at LIMIT 1";
        let found =
            self.rows_of("read_first_text", id.slot(), self.part(id.slot()).sql(text).bind(id.signed())).await?;
        found.first().map(|r| Ok(r.try_get(0)?)).transpose()
    }
}
