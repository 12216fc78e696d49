//! What belongs to a member: history, held comments, reactions, names.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;
use rusqlite::params;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, json_array, json_ids};
use crate::adapters::sqlite::rows::{StoredEnum, comment_id, member_id};
use crate::ports::store::{MemberReader, Result};

/// A member's comments that no other reader sees.
const PENDING_SQL: &str = "SELECT id FROM comment INDEXED BY comment_pending WHERE author_id = ?1 \
     AND (state = 1 OR (state = 0 AND visibility = 1) OR (flags & 64) <> 0) ORDER BY id DESC LIMIT ?2";

#[async_trait]
impl MemberReader for SqliteStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        let below = below.map_or(i64::MAX, CommentId::signed);
        self.read("list_history", move |c| {
            let sql = "SELECT id FROM comment INDEXED BY comment_author \
                       WHERE author_id = ?1 AND id < ?2 AND state = 0 AND visibility = 0 ORDER BY id DESC LIMIT ?3";
            fetch_all(c, sql, params![member.signed(), below, count as i64], first_id)
        })
        .await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.read("list_pending", move |c| fetch_all(c, PENDING_SQL, params![member.signed(), count as i64], first_id))
            .await
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        let ids = json_ids(ids);
        self.read("read_reactions", move |c| {
            let sql = "SELECT r.comment_id, r.reaction FROM json_each(?1) j \
                       JOIN reaction r ON r.comment_id = j.value AND r.member_id = ?2";
            let found = fetch_all(c, sql, params![ids, member.signed()], |r| {
                Ok((comment_id(r.get(0)?)?, Reaction::from_number(r.get(1)?)?))
            })?;
            Ok(found.into_iter().collect())
        })
        .await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let members = json_array(members.iter().map(|member| member.signed()));
        self.read("read_names", move |c| {
            let sql = "SELECT m.id, m.name FROM json_each(?1) j JOIN member m ON m.id = j.value AND m.name <> ''";
            let found = fetch_all(c, sql, [members], |r| Ok((member_id(r.get(0)?)?, r.get(1)?)))?;
            Ok(found.into_iter().collect())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;
    use rusqlite::Connection;

    use super::*;
    use crate::adapters::sqlite::query::tests::steps_of;

    /// Stores comments of a member in this state by a statement of its own, after those that exist.
    fn add_comments(c: &Connection, member: i64, count: i64, state: i64, visibility: i64) {
        let first = CommentId::from_parts(1_700_000_000_000, Slot::FIRST, 0, 0).signed();
        c.execute(
            "WITH RECURSIVE n(i) AS (SELECT coalesce(max(id), ?1) + 1 FROM comment UNION ALL SELECT i + 1 FROM n LIMIT ?3) \
             INSERT INTO comment (id, subject, root_id, path, depth, floor, state, visibility, listed, author_id, \
             author_name, author_level, created_at) SELECT i, 1, i, zeroblob(8), 1, 1, ?4, ?5, 0, ?2, 'reader', 1, 1 FROM n",
            params![first, member, count, state, visibility],
        )
        .unwrap();
    }

    #[tokio::test]
    async fn pending_comments_are_read_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
        let (few, many) = (7, 8);
        {
            let writer = store.writer();
            for (member, published) in [(few, 1), (many, 20_000)] {
                // Held before and after what was published, held as an edit, for the author alone, rejected.
                add_comments(&writer, member, 1, 1, 0);
                add_comments(&writer, member, published, 0, 0);
                add_comments(&writer, member, 1, 1, 0);
                add_comments(&writer, member, 1, 0, 1);
                add_comments(&writer, member, published, 2, 0);
            }
            let plan: String =
                writer.query_row(&format!("EXPLAIN QUERY PLAN {PENDING_SQL}"), params![few, 5], |r| r.get(3)).unwrap();
            assert!(plan.contains("INDEX comment_pending (author_id=?)"), "{plan}");
            let steps = |member| steps_of(|| fetch_all(&writer, PENDING_SQL, params![member, 5], first_id).unwrap()).1;
            assert!(steps(many) <= steps(few) + 5, "{} steps, {} with few comments", steps(many), steps(few));
        }
        for member in [few, many] {
            let member = MemberId::new(member as u64).unwrap();
            assert_eq!(store.list_pending(member, 5).await.unwrap().len(), 3);
        }
    }
}
