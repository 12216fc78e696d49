//! The newest comments of all subjects, of a type, of one.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};
use rusqlite::params;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, subject_number};
use crate::ports::store::{LatestReader, Result};

/// Comments that are looked at for each that is asked for.
const COMMENTS_PER_ANSWER: usize = 4;
/// Comments that are looked at for those of one type, at least: some milliseconds.
const MIN_COMMENTS_OF_TYPES: usize = 2_000;

const OF_ALL_SQL: &str = "SELECT id FROM (SELECT id, state, visibility FROM comment ORDER BY id DESC LIMIT ?1) \
     WHERE state = 0 AND visibility = 0 ORDER BY id DESC LIMIT ?2";

const OF_TYPE_SQL: &str = "SELECT c.id FROM \
     (SELECT id, subject, state, visibility FROM comment ORDER BY id DESC LIMIT ?1) c \
     CROSS JOIN subject s ON s.id = c.subject \
     WHERE c.state = 0 AND c.visibility = 0 AND s.type = ?3 ORDER BY c.id DESC LIMIT ?2";

const OF_SUBJECT_SQL: &str = "SELECT id FROM (SELECT id, state, visibility FROM comment \
     INDEXED BY comment_of_subject WHERE subject = ?3 AND id > 0 ORDER BY id DESC LIMIT ?1) \
     WHERE state = 0 AND visibility = 0 ORDER BY id DESC LIMIT ?2";

#[async_trait]
impl LatestReader for SqliteStore {
    async fn list_latest(&self, kind: Option<&str>, count: usize) -> Result<Vec<CommentId>> {
        let kind = kind.map(str::to_owned);
        self.read("list_latest", move |c| {
            let read = count * COMMENTS_PER_ANSWER;
            match kind {
                None => fetch_all(c, OF_ALL_SQL, params![read as i64, count as i64], first_id),
                Some(kind) => {
                    let read = read.max(MIN_COMMENTS_OF_TYPES);
                    fetch_all(c, OF_TYPE_SQL, params![read as i64, count as i64, kind], first_id)
                }
            }
        })
        .await
    }

    async fn list_latest_of(&self, subject: &SubjectKey, count: usize) -> Result<Vec<CommentId>> {
        let subject = subject.clone();
        self.read("list_latest_of", move |c| {
            let Some(number) = subject_number(c, &subject)? else { return Ok(vec![]) };
            let values = params![(count * COMMENTS_PER_ANSWER) as i64, count as i64, number];
            fetch_all(c, OF_SUBJECT_SQL, values, first_id)
        })
        .await
    }
}
