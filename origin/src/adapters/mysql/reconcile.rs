//! Comparing a subject's counters with its rows, and putting them right.
//!
//! Compared in one snapshot, which waits for nobody; repaired under the lock of the slot's row.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{SLOT_COUNT, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::{
    EngagementCounts, Sort, {self},
};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::pool::{Session, sql};
use crate::adapters::mysql::{MysqlStore, subject_slot};
use crate::domain::reconcile::{
    CountedComment, CountedSubject, CounterChecker, CounterDifference, CounterOwner, SubjectCounter,
};
use crate::ports::store::{Reconciler, Result, StoreError};

/// Rows read at a time.
const CHUNK: usize = 2_000;

fn number(row: &MySqlRow, column: usize) -> Result<u64> {
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
}

#[async_trait]
impl Reconciler for MysqlStore {
    /// Slot by slot, and in a slot by the subject's number.
    async fn list_subjects_after(&self, after: Option<&SubjectKey>, count: usize) -> Result<Vec<SubjectKey>> {
        let (first, mut beyond) = after.map_or((0, i64::MIN), |key| (key.slot().get(), Self::subject_id(key)));
        for slot in (first..SLOT_COUNT).filter_map(Slot::new) {
            let (mut session, table) = (self.session(self.shard(slot)).await?, self.table(slot));
            let text = format!(
                "SELECT type, `key` FROM subject_{table} WHERE slot = ? AND id > ? ORDER BY id LIMIT {}",
                count.min(CHUNK)
            );
            let found = session.all(sql(text).bind(slot.get() as i16).bind(beyond)).await?;
            if !found.is_empty() {
                return found.iter().map(key).collect();
            }
            beyond = i64::MIN;
        }
        Ok(vec![])
    }

    async fn reconcile(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<CounterDifference>> {
        let id = Self::subject_id(subject);
        let (shard, table) = (self.shard(subject.slot()), self.table(subject.slot()));
        let mut session = self.session(shard).await?;
        session.patient().await?;
        session.raw("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        session.begin().await?;
        let found = compare(&mut session, table, id, subject).await?;
        session.rollback().await?;
        if !repair || found.is_empty() {
            return Ok(found);
        }
        session.begin().await?;
        let lock = sql("SELECT state FROM slot WHERE slot = ? FOR UPDATE").bind(subject_slot(id).get() as i16);
        let state = session.first(lock).await?.map(|row| row.try_get::<i8, _>(0)).transpose()?;
        if state != Some(1) {
            return Err(StoreError::Moved);
        }
        let found = compare(&mut session, table, id, subject).await?;
        self.put_right(&mut session, table, id, subject, &found).await?;
        session.commit().await?;
        Ok(found)
    }
}

fn key(row: &MySqlRow) -> Result<SubjectKey> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(StoreError::damaged);
    let (kind, key) = (row.try_get::<String, _>(0)?, text(row.try_get::<Vec<u8>, _>(1)?)?);
    SubjectKey::new(&kind, &key).map_err(StoreError::damaged)
}

async fn compare(session: &mut Session, table: u16, id: i64, subject: &SubjectKey) -> Result<Vec<CounterDifference>> {
    let text = format!("SELECT type, `key`, floors, roots, comments FROM subject_{table} WHERE id = ?");
    let Some(row) = session.first(sql(text).bind(id)).await? else { return Ok(vec![]) };
    if key(&row)? != *subject {
        return Ok(vec![]);
    }
    let counted = CountedSubject { floors: number(&row, 2)?, roots: number(&row, 3)?, comments: number(&row, 4)? };
    let mut checker = CounterChecker::default();
    let mut after = Vec::new();
    loop {
        let text = format!(
            "SELECT id, path, floor, floors, state, visibility, listed_floor, likes, dislikes, base_likes, \
             base_dislikes, replies FROM comment_{table} FORCE INDEX (comment_path) \
             WHERE subject = ? AND path > ? ORDER BY path LIMIT {CHUNK}"
        );
        let rows = session.all(sql(text).bind(id).bind(after.clone())).await?;
        let Some(last) = rows.last() else { return Ok(checker.finish(counted)) };
        after = last.try_get::<Vec<u8>, _>(1)?;
        let reactions = reactions(session, table, &rows).await?;
        for row in &rows {
            checker.feed(counted_row(row, &reactions)?);
        }
    }
}

fn counted_row(row: &MySqlRow, reactions: &HashMap<i64, (u64, u64)>) -> Result<CountedComment> {
    let path = row.try_get::<Vec<u8>, _>(1)?;
    let floor: Option<i64> = row.try_get(2)?;
    Ok(CountedComment {
        path: Path::from_bytes(&path).map_err(StoreError::damaged)?,
        floor: floor.and_then(|floor| u64::try_from(floor).ok()),
        floors: number(row, 3)?,
        visible: row.try_get::<i8, _>(4)? == 0 && row.try_get::<i8, _>(5)? == 0,
        listed: row.try_get::<Option<i64>, _>(6)?.is_some(),
        likes: number(row, 7)?,
        dislikes: number(row, 8)?,
        base: (number(row, 9)?, number(row, 10)?),
        reactions: reactions.get(&row.try_get(0)?).copied().unwrap_or_default(),
        replies: number(row, 11)?,
    })
}

/// Likes and dislikes among the reactions to these comments.
async fn reactions(session: &mut Session, table: u16, rows: &[MySqlRow]) -> Result<HashMap<i64, (u64, u64)>> {
    let ids = rows.iter().map(|row| Ok(row.try_get::<i64, _>(0)?.to_string())).collect::<Result<Vec<_>>>()?;
    let text = format!(
        "SELECT comment_id, CAST(SUM(reaction = 1) AS SIGNED), CAST(SUM(reaction = 2) AS SIGNED) \
         FROM reaction_{table} WHERE comment_id IN ({}) GROUP BY comment_id",
        ids.join(",")
    );
    let found = session.all(sql(text)).await?;
    found.iter().map(|row| Ok((row.try_get(0)?, (number(row, 1)?, number(row, 2)?)))).collect()
}

impl MysqlStore {
    async fn put_right(
        &self,
        session: &mut Session,
        table: u16,
        id: i64,
        subject: &SubjectKey,
        found: &[CounterDifference],
    ) -> Result<()> {
        for difference in found.iter().filter(|d| d.can_be_repaired()) {
            let counted = difference.counted as i64;
            let (of, row) = match difference.of {
                CounterOwner::Subject => ("subject", id),
                CounterOwner::Comment(comment) => ("comment", comment.signed()),
            };
            let set = match (difference.counter, difference.of) {
                (SubjectCounter::Likes, _) => "likes = ?",
                (SubjectCounter::Dislikes, _) => "dislikes = ?",
                (SubjectCounter::Replies, CounterOwner::Subject) => "comments = ?",
                (SubjectCounter::Replies, CounterOwner::Comment(_)) => "replies = ?",
                (SubjectCounter::Roots, _) => "roots = ?",
                (SubjectCounter::Floors, _) => "floors = ?",
                (SubjectCounter::Listed, _) => "listed_floor = IF(? = 1, floor, NULL)",
                (SubjectCounter::Floor | SubjectCounter::Ancestors, _) => continue,
            };
            let text = format!("UPDATE {of}_{table} SET {set} WHERE id = ?");
            session.run(sql(text).bind(counted).bind(row)).await?;
        }
        let text = format!("UPDATE subject_{table} SET version = version + 1 WHERE id = ?");
        session.run(sql(text).bind(id)).await?;
        self.rank_again(session, table, id, subject).await
    }

    /// Makes the subject's ranked lists anew from its rows.
    async fn rank_again(&self, session: &mut Session, table: u16, id: i64, subject: &SubjectKey) -> Result<()> {
        let mut of_subject = async |text: String| session.run(sql(text).bind(id)).await;
        of_subject(format!("DELETE FROM root_rank_{table} WHERE subject = ?")).await?;
        of_subject(format!(
            "INSERT INTO root_rank_{table} (subject, id, likes, dislikes, replies, created_at) \
             SELECT subject, id, likes, dislikes, replies, created_at FROM comment_{table} \
             WHERE subject = ? AND depth = 1 AND listed_floor IS NOT NULL AND (likes > 0 OR dislikes > 0 OR replies > 0)"
        ))
        .await?;
        of_subject(format!(
            "DELETE r FROM reply_rank_{table} r JOIN comment_{table} c ON c.id = r.root_id \
             WHERE c.subject = ? AND c.depth = 1"
        ))
        .await?;
        let weights = self.weights(subject.kind());
        let mut after = Vec::new();
        loop {
            let text = format!(
                "SELECT path, root_id, id, likes, dislikes, replies, created_at, listed_floor, depth FROM comment_{table} \
                 FORCE INDEX (comment_path) WHERE subject = ? AND path > ? ORDER BY path LIMIT {CHUNK}"
            );
            let rows = session.all(sql(text).bind(id).bind(after.clone())).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.try_get::<Vec<u8>, _>(0)?;
            let mut values = Vec::new();
            for row in &rows {
                if row.try_get::<Option<i64>, _>(7)?.is_none() || row.try_get::<i16, _>(8)? == 1 {
                    continue;
                }
                let counts =
                    EngagementCounts { likes: number(row, 3)?, dislikes: number(row, 4)?, replies: number(row, 5)? };
                let hot = rank::sort_key(Sort::Hot, counts, number(row, 6)?, &weights);
                values.push(format!("({},{hot},{})", row.try_get::<i64, _>(1)?, row.try_get::<i64, _>(2)?));
            }
            if !values.is_empty() {
                let text = format!("INSERT INTO reply_rank_{table} (root_id, hot, id) VALUES {}", values.join(","));
                session.run(sql(text)).await?;
            }
        }
    }
}
