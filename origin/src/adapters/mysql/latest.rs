//! The newest comments of all subjects and of a type, looked up in every table of every database; and those of one
//! subject.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::id_at;
use crate::adapters::mysql::statement::SqlStatement;
use crate::ports::store::{LatestReader, Result};

/// Comments of a table that are looked at for each that is asked for.
const COMMENTS_PER_ANSWER: usize = 4;
/// Comments of a table that are looked at for those of one type, at least: tens of thousands in all.
const MIN_COMMENTS_OF_TYPES: usize = 500;

const OF_ALL_SQL: &str = "SELECT c.id FROM (SELECT id, state, visibility FROM comment_{n} FORCE INDEX (PRIMARY) \
     ORDER BY id DESC LIMIT ?) c WHERE c.state = 0 AND c.visibility = 0 ORDER BY c.id DESC LIMIT ?";

const OF_TYPE_SQL: &str = "SELECT c.id FROM (SELECT id, subject, state, visibility FROM comment_{n} FORCE INDEX (PRIMARY) \
     ORDER BY id DESC LIMIT ?) c STRAIGHT_JOIN subject_{n} s FORCE INDEX (PRIMARY) ON s.id = c.subject \
     WHERE c.state = 0 AND c.visibility = 0 AND s.type = ? ORDER BY c.id DESC LIMIT ?";

/// The comments that are not pinned, in the order of their ids, and those that are, at most as many as can be.
const OF_SUBJECT_SQL: &str = "SELECT c.id FROM \
     ((SELECT id, state, visibility FROM comment_{n} FORCE INDEX (comment_pinned) \
     WHERE subject = ? AND pinned_at IS NULL ORDER BY subject DESC, pinned_at DESC, id DESC LIMIT ?) UNION ALL \
     (SELECT id, state, visibility FROM comment_{n} FORCE INDEX (comment_pinned) \
     WHERE subject = ? AND pinned_at > 0 ORDER BY pinned_at DESC LIMIT ?)) c \
     WHERE c.state = 0 AND c.visibility = 0 ORDER BY c.id DESC LIMIT ?";

#[async_trait]
impl LatestReader for MysqlStore {
    async fn list_latest(&self, kind: Option<&str>, count: usize) -> Result<Vec<CommentId>> {
        let read = count * COMMENTS_PER_ANSWER;
        let (text, read) = match kind {
            None => (OF_ALL_SQL, read),
            Some(_) => (OF_TYPE_SQL, read.max(MIN_COMMENTS_OF_TYPES)),
        };
        let bind = |s: SqlStatement| {
            let s = s.bind(read as i64);
            let s = if let Some(kind) = kind { s.bind(kind) } else { s };
            s.bind(count as i64)
        };
        let rows = self.rows_of_all("list_latest", text, bind, |r| Ok(id_at(r, 0)?.slot())).await?;
        let mut ids = rows.iter().map(|r| id_at(r, 0)).collect::<Result<Vec<_>>>()?;
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        ids.truncate(count);
        Ok(ids)
    }

    async fn list_latest_of(&self, subject: &SubjectKey, count: usize) -> Result<Vec<CommentId>> {
        let (slot, number) = (subject.slot(), subject_number(subject));
        let statement = self.part(slot).sql(OF_SUBJECT_SQL).bind(number).bind((count * COMMENTS_PER_ANSWER) as i64);
        let statement = statement.bind(number).bind(limits::MAX_PINS as i64).bind(count as i64);
        self.rows_of("list_latest_of", slot, statement).await?.iter().map(|r| id_at(r, 0)).collect()
    }
}
