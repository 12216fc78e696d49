//! Compares a subject's counters with its rows, and repairs them.

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use gailou_shared::rank::HotWeights;
use gailou_shared::wire::{CommentState, Visibility};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{StoredEnum, count, damaged, path};
use crate::adapters::sqlite::write::insert_ranks;
use crate::domain::reconcile::{
    CountedComment, CountedSubject, CounterChecker, CounterDifference, CounterKind, CounterOwner,
};
use crate::domain::row::{ReactionCounts, is_visible};
use crate::ports::store::{Reconciler, Result};
use crate::telemetry::CallTimer;

#[async_trait]
impl Reconciler for SqliteStore {
    async fn list_subjects_after(&self, after: Option<&SubjectKey>, count: usize) -> Result<Vec<SubjectKey>> {
        let after = after.map_or((String::new(), 0), |key| (key.kind().to_owned(), key.obj_id() as i64));
        self.read("list_subjects_after", move |c| {
            let sql = "SELECT type, key FROM subject WHERE type > ?1 OR (type = ?1 AND obj_id > ?2) \
                       ORDER BY type, obj_id LIMIT ?3";
            fetch_all(c, sql, params![after.0, after.1, count as i64], |r| {
                SubjectKey::new(&r.get::<_, String>(0)?, &r.get::<_, String>(1)?).map_err(damaged)
            })
        })
        .await
    }

    async fn reconcile(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<CounterDifference>> {
        let key = subject.clone();
        let found = self
            .read("reconcile", move |c| {
                let tx = c.unchecked_transaction()?;
                Ok(compare(&tx, &key)?.map_or_else(Vec::new, |(_, found)| found))
            })
            .await?;
        if !repair || found.is_empty() {
            return Ok(found);
        }
        let mut writer = self.writer();
        let _timer = CallTimer::start("sqlite", "repair");
        let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Compared again: this connection is the only writer.
        let Some((number, found)) = compare(&tx, subject)? else { return Ok(vec![]) };
        store_counters(&tx, number, &found, self.weights_of(subject.kind()))?;
        tx.commit()?;
        Ok(found)
    }
}

/// The subject's number and the differences; `None` when the subject has no row.
fn compare(c: &Connection, key: &SubjectKey) -> Result<Option<(i64, Vec<CounterDifference>)>> {
    let sql = "SELECT id, floors, roots, comments FROM subject WHERE type = ?1 AND obj_id = ?2 AND key = ?3";
    let subject = c
        .prepare_cached(sql)?
        .query_row(params![key.kind(), key.obj_id() as i64, key.key()], |r| {
            Ok((r.get(0)?, r.get::<_, i64>(1)?, r.get::<_, i64>(2)?, r.get::<_, i64>(3)?))
        })
        .optional()?;
    let Some((number, floors, roots, comments)) = subject else { return Ok(None) };
    let mut statement = c.prepare_cached(
        "SELECT c.path, c.floor, c.floors, c.state, c.visibility, c.listed, c.likes, c.dislikes, c.base_likes, \
         c.base_dislikes, c.replies, (SELECT count(*) FROM reaction r WHERE r.comment_id = c.id AND r.reaction = 1), \
         (SELECT count(*) FROM reaction r WHERE r.comment_id = c.id AND r.reaction = 2) \
         FROM comment c INDEXED BY comment_path WHERE c.subject = ?1 ORDER BY c.path",
    )?;
    let mut found = statement.query([number])?;
    let mut checker = CounterChecker::default();
    while let Some(r) = found.next()? {
        let number = |i| Ok::<_, rusqlite::Error>(count(r.get(i)?));
        let (state, visibility) = (CommentState::from_number(r.get(3)?)?, Visibility::from_number(r.get(4)?)?);
        checker.feed(CountedComment {
            path: path(r.get_ref(0)?.as_blob().map_err(damaged)?)?,
            floor: r.get::<_, Option<i64>>(1)?.map(count),
            floors: number(2)?,
            visible: is_visible(state, visibility),
            listed: r.get::<_, i64>(5)? == 1,
            likes: number(6)?,
            dislikes: number(7)?,
            base: ReactionCounts { likes: number(8)?, dislikes: number(9)? },
            reactions: ReactionCounts { likes: number(11)?, dislikes: number(12)? },
            replies: number(10)?,
        });
    }
    let subject = CountedSubject { floors: count(floors), roots: count(roots), comments: count(comments) };
    Ok(Some((number, checker.finish(subject))))
}

fn store_counters(tx: &Transaction<'_>, subject: i64, found: &[CounterDifference], weights: HotWeights) -> Result<()> {
    for difference in found.iter().filter(|d| d.can_be_repaired()) {
        let (table, id) = match difference.owner {
            CounterOwner::Subject => ("subject", subject),
            CounterOwner::Comment(id) => ("comment", id.signed()),
        };
        let column = match (difference.counter, difference.owner) {
            (CounterKind::Likes, _) => "likes",
            (CounterKind::Dislikes, _) => "dislikes",
            (CounterKind::Replies, CounterOwner::Subject) => "comments",
            (CounterKind::Replies, CounterOwner::Comment(_)) => "replies",
            (CounterKind::Roots, _) => "roots",
            (CounterKind::LastFloor, _) => "floors",
            (CounterKind::Listed, _) => "listed",
            (CounterKind::DistinctFloors | CounterKind::Ancestors, _) => continue,
        };
        tx.execute(&format!("UPDATE {table} SET {column} = ?2 WHERE id = ?1"), params![id, difference.counted])?;
    }
    tx.execute("UPDATE subject SET version = version + 1 WHERE id = ?1", [subject])?;
    rank_again(tx, subject, weights)
}

/// Replaces the ranks of the subject's comments by those that its rows say.
fn rank_again(tx: &Transaction<'_>, subject: i64, weights: HotWeights) -> Result<()> {
    tx.execute("DELETE FROM root_rank WHERE subject = ?1", [subject])?;
    tx.execute(
        "DELETE FROM reply_rank WHERE root_id IN (SELECT id FROM comment WHERE subject = ?1 AND depth = 1)",
        [subject],
    )?;
    insert_ranks(tx, "c.subject = ?1", [subject], |_| weights)
}
