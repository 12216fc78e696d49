//! The rows of the change feed.

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use rusqlite::params;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{comment_id, count, damaged};
use crate::domain::operation::ChangeRow;
use crate::ports::store::{ChangeFeedReader, Result};

#[async_trait]
impl ChangeFeedReader for SqliteStore {
    async fn read_changes(&self, database: usize, after: u64, limit: usize) -> Result<Vec<ChangeRow>> {
        if database > 0 {
            return Ok(vec![]);
        }
        self.read("read_changes", move |c| {
            // The row of a restored backup has no subject.
            let sql = "SELECT f.seq, f.at, COALESCE(s.type, 'gailou'), COALESCE(s.key, 'rewound'), f.version, f.comment_id \
                       FROM feed f LEFT JOIN subject s ON s.id = f.subject WHERE f.seq > ?1 ORDER BY f.seq LIMIT ?2";
            fetch_all(c, sql, params![after, limit as i64], |r| {
                let (kind, key): (String, String) = (r.get(2)?, r.get(3)?);
                Ok(ChangeRow {
                    seq: count(r.get(0)?),
                    at: count(r.get(1)?),
                    subject: SubjectKey::new(&kind, &key).map_err(damaged)?,
                    version: count(r.get(4)?),
                    id: match r.get(5)? {
                        ChangeRow::WHOLE_SUBJECT => None,
                        id => Some(comment_id(id)?),
                    },
                })
            })
        })
        .await
    }
}
