//! Members, and comments by their authors.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::wire::MemberCounts;
use rusqlite::{Connection, Params, Row, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, subject_number};
use crate::adapters::sqlite::rows::{count, damaged, member_id};
use crate::domain::member_standing::{
    KnownMember, MAX_COUNTED_COMMENTS, MAX_LAST_COMMENTS, MAX_NAMED_COMMENTS, MemberSummary, name_key,
};
use crate::ports::store::{MemberDirectory, Result};

/// Members who have written, and those of whom something is said, above an id.
const MEMBERS_SQL: &str = "SELECT id, name, avatar, level, name_key FROM (\
     SELECT * FROM (SELECT id, name, avatar, level, name_key FROM member WHERE id > ?1 ORDER BY id LIMIT ?2) \
     UNION ALL SELECT * FROM (SELECT s.id, '', NULL, 0, x'' FROM member_standing s \
     WHERE s.id > ?1 AND NOT EXISTS (SELECT 1 FROM member m WHERE m.id = s.id) ORDER BY s.id LIMIT ?2)) \
     ORDER BY id LIMIT ?2";

/// Members whose name keys are in a range, after one of them.
const NAMED_SQL: &str = "SELECT id, name, avatar, level, name_key FROM member INDEXED BY member_name_key \
     WHERE name_key >= ?1 AND name_key < ?2 AND (name_key > ?1 OR id > ?3) ORDER BY name_key, id LIMIT ?4";

/// The comments of an author in a subject that every reader sees; an index has the condition word for word.
const OF_AUTHOR_SQL: &str = "SELECT id FROM comment INDEXED BY comment_of_author \
     WHERE subject = ?1 AND author_id = ?2 AND state = 0 AND visibility = 0 AND id < ?3 ORDER BY id DESC LIMIT ?4";

#[async_trait]
impl MemberDirectory for SqliteStore {
    async fn list_members(&self, above: Option<MemberId>, limit: usize) -> Result<Vec<KnownMember>> {
        let above = above.map_or(0, MemberId::signed);
        self.read("list_members", move |c| fetch_members(c, MEMBERS_SQL, params![above, limit as i64])).await
    }

    async fn list_members_named(
        &self,
        prefix: &[u8],
        after: Option<(Vec<u8>, MemberId)>,
        limit: usize,
    ) -> Result<Vec<KnownMember>> {
        // No text has the byte 255.
        let end = [prefix, &[0xff]].concat();
        let (key, id) = after.map_or((prefix.to_vec(), 0), |(key, id)| (key, id.signed()));
        self.read("list_members_named", move |c| fetch_members(c, NAMED_SQL, params![key, end, id, limit as i64])).await
    }

    async fn read_member(&self, member: MemberId) -> Result<Option<KnownMember>> {
        self.read("read_member", move |c| {
            let sql = "SELECT id, name, avatar, level, name_key FROM member WHERE id = ?1";
            Ok(fetch_members(c, sql, [member.signed()])?.pop())
        })
        .await
    }

    async fn list_reported_of(&self, member: MemberId) -> Result<Vec<CommentId>> {
        self.read("list_reported_of", move |c| list_reported(c, member.signed())).await
    }

    async fn summarize_member(&self, member: MemberId) -> Result<MemberSummary> {
        self.read("summarize_member", move |c| summarize(c, member.signed())).await
    }

    async fn list_by_authors(
        &self,
        subject: &SubjectKey,
        authors: &[MemberId],
        below: Option<CommentId>,
        limit: usize,
    ) -> Result<Vec<CommentId>> {
        let (subject, authors) = (subject.clone(), authors.to_vec());
        let below = below.map_or(i64::MAX, CommentId::signed);
        self.read("list_by_authors", move |c| {
            let Some(subject) = subject_number(c, &subject)? else { return Ok(vec![]) };
            let mut ids = Vec::new();
            for author in authors {
                let values = params![subject, author.signed(), below, limit as i64];
                ids.extend(fetch_all(c, OF_AUTHOR_SQL, values, first_id)?);
            }
            ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
            ids.truncate(limit);
            Ok(ids)
        })
        .await
    }
}

fn fetch_members(c: &Connection, sql: &str, params: impl Params) -> Result<Vec<KnownMember>> {
    fetch_all(c, sql, params, |r: &Row<'_>| {
        Ok(KnownMember {
            id: member_id(r.get(0)?)?,
            name: r.get(1)?,
            avatar: r.get(2)?,
            level: r.get::<_, i64>(3)?.try_into().map_err(damaged)?,
            name_key: r.get(4)?,
        })
    })
}

/// Computes the keys of all names, for a migration: SQLite itself knows the lower case of ASCII alone.
pub(super) fn fill_name_keys(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut find = tx.prepare("SELECT id, name FROM member WHERE id > ?1 ORDER BY id LIMIT 1000")?;
    let mut update = tx.prepare("UPDATE member SET name_key = ?2 WHERE id = ?1")?;
    let mut last = 0;
    loop {
        let named = find.query_map([last], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)))?;
        let named = named.collect::<rusqlite::Result<Vec<_>>>()?;
        let Some((id, _)) = named.last() else { return Ok(()) };
        last = *id;
        for (id, name) in &named {
            update.execute(params![id, name_key(name)])?;
        }
    }
}

/// Comments of an author, newest first: of the author `?1`, at most `?2`.
const NEWEST_COMMENTS_SQL: &str =
    "FROM comment INDEXED BY comment_author WHERE author_id = ?1 ORDER BY id DESC LIMIT ?2";
const IS_REPORTED: &str = "EXISTS (SELECT 1 FROM report r WHERE r.comment_id = c.id)";

fn list_reported(c: &Connection, member: i64) -> Result<Vec<CommentId>> {
    let sql = format!("SELECT id FROM (SELECT id {NEWEST_COMMENTS_SQL}) c WHERE {IS_REPORTED} ORDER BY id DESC");
    fetch_all(c, &sql, params![member, MAX_COUNTED_COMMENTS as i64], first_id)
}

fn summarize(c: &Connection, member: i64) -> Result<MemberSummary> {
    let sql = format!(
        "SELECT count(*), coalesce(sum(state = 0), 0), coalesce(sum(state = 1), 0), \
         coalesce(sum(state = 2), 0), coalesce(sum({IS_REPORTED}), 0) FROM (SELECT id, state, flags {NEWEST_COMMENTS_SQL}) c"
    );
    let counts = c.query_row(&sql, params![member, MAX_COUNTED_COMMENTS as i64], |r| {
        Ok(MemberCounts {
            published: count(r.get(1)?),
            held: count(r.get(2)?),
            rejected: count(r.get(3)?),
            reported: count(r.get(4)?),
            complete: r.get::<_, i64>(0)? < MAX_COUNTED_COMMENTS as i64,
        })
    })?;
    let sql =
        format!("SELECT DISTINCT author_name FROM (SELECT author_name {NEWEST_COMMENTS_SQL}) WHERE author_name <> ''");
    let names = fetch_all(c, &sql, params![member, MAX_NAMED_COMMENTS as i64], |r| Ok(r.get(0)?))?;
    let newest =
        fetch_all(c, &format!("SELECT id {NEWEST_COMMENTS_SQL}"), params![member, MAX_LAST_COMMENTS as i64], first_id)?;
    Ok(MemberSummary { counts, names, newest })
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;

    use super::*;
    use crate::adapters::sqlite::query::tests::steps_of;

    /// Stores comments of an author in subject 1 by a statement of its own, after those that exist.
    fn add_comments(c: &Connection, author: i64, count: i64, state: i64) {
        let first = CommentId::from_parts(1_700_000_000_000, Slot::FIRST, 0, 0).signed();
        c.execute(
            "WITH RECURSIVE n(i) AS (SELECT coalesce(max(id), ?1) + 1 FROM comment UNION ALL SELECT i + 1 FROM n LIMIT ?3) \
             INSERT INTO comment (id, subject, root_id, path, depth, floor, state, visibility, listed, author_id, \
             author_name, author_level, created_at) SELECT i, 1, i, zeroblob(8), 1, 1, ?4, 0, 0, ?2, 'reader', 1, 1 FROM n",
            params![first, author, count, state],
        )
        .unwrap();
    }

    #[test]
    fn page_of_friends_costs_the_same_however_much_they_have_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
        let writer = store.writer();
        for (author, count) in [(7, 30), (8, 20_000)] {
            add_comments(&writer, author, count, 0);
            // Held and deleted ones, which are the newest.
            add_comments(&writer, author, count, 1);
            add_comments(&writer, author, count, 4);
        }
        let steps = |author: i64| {
            let (ids, steps) =
                steps_of(|| fetch_all(&writer, OF_AUTHOR_SQL, params![1, author, i64::MAX, 21], first_id).unwrap());
            assert_eq!(ids.len(), 21);
            steps
        };
        let (few, many) = (steps(7), steps(8));
        assert!(many <= few + 5, "{many} steps, {few} with few comments");
    }

    #[tokio::test]
    async fn names_from_before_the_migration_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
        {
            let mut writer = store.writer();
            let insert = "INSERT INTO member (id, name, level) SELECT value, 'ÄNNE ' || value, 0 FROM json_each(?1)";
            let ids: Vec<i64> = (1..=1_500).collect();
            writer.execute(insert, [serde_json::to_string(&ids).unwrap()]).unwrap();
            let tx = writer.transaction().unwrap();
            fill_name_keys(&tx).unwrap();
            tx.commit().unwrap();
        }
        let found = store.list_members_named("änne 15".as_bytes(), None, 5).await.unwrap();
        let names: Vec<_> = found.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["ÄNNE 15", "ÄNNE 150", "ÄNNE 1500", "ÄNNE 151", "ÄNNE 152"]);
        let after = found.last().map(|last| (last.name_key.clone(), last.id));
        let rest = store.list_members_named("änne 15".as_bytes(), after, 100).await.unwrap();
        assert_eq!(rest.len(), 7);
    }
}
