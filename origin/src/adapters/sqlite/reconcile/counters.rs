//! Compares a subject's counters with its rows, and repairs them.
//!
//! The comparison reads one snapshot. A repair adds what is missing from each counter, a few in a transaction, and the
//! subject is compared again: no writer waits while rows are counted.

use std::collections::BTreeSet;

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::wire::{CommentState, Visibility};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::rank_rows::{put_ranks, read_expected_ranks};
use crate::adapters::sqlite::rows::{StoredEnum, count, damaged, path};
use crate::domain::reconcile::{
    CountedComment, CountedSubject, CounterChecker, CounterDifference, CounterKind, CounterOwner, Difference,
    FoundDifference, RankKey, RankRow,
};
use crate::domain::row::{ReactionCounts, WeightsByType, is_visible};
use crate::ports::store::Result;

/// Counters that are repaired in one transaction: writers wait some 10 ms for it.
const COUNTERS_PER_REPAIR: usize = 200;
/// How often a subject is repaired: a counter that writers took to zero meanwhile needs a second time.
const MAX_REPAIRS: usize = 3;

impl SqliteStore {
    pub(super) async fn compare_counters(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<FoundDifference>> {
        let mut all = Vec::new();
        for repairs_left in (0..=MAX_REPAIRS).rev() {
            let key = subject.clone();
            let compared = self
                .read("reconcile", move |c| {
                    let tx = c.unchecked_transaction()?;
                    compare(&tx, &key)
                })
                .await?;
            let Some((number, found)) = compared else { break };
            let (wrong, beyond_repair): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|d| repair && repairs_left > 0 && d.can_be_repaired());
            if wrong.is_empty() {
                all.extend(beyond_repair.into_iter().map(|counter| found_counter(counter, false)));
                break;
            }
            for part in wrong.chunks(COUNTERS_PER_REPAIR) {
                self.repair(|tx| repair_counters(tx, number, part, &self.weights))?;
            }
            all.extend(wrong.into_iter().map(|counter| found_counter(counter, true)));
        }
        Ok(all)
    }
}

fn found_counter(counter: CounterDifference, repaired: bool) -> FoundDifference {
    FoundDifference { difference: Difference::Counter(counter), repaired }
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

/// Corrects counters, whatever writers have added since they were compared, and makes the ranks of their comments
/// again.
fn repair_counters(
    tx: &Transaction<'_>,
    subject: i64,
    wrong: &[CounterDifference],
    weights: &WeightsByType,
) -> Result<()> {
    let comment = |difference: &CounterDifference| match difference.owner {
        CounterOwner::Comment(id) => Some(id),
        CounterOwner::Subject => None,
    };
    let ranked: BTreeSet<CommentId> = wrong.iter().filter_map(comment).collect();
    let former: Vec<RankKey> = read_expected_ranks(tx, weights, &ranked)?.values().map(RankRow::key).collect();
    for difference in wrong {
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
            (CounterKind::LastFloor, _) => {
                // The last floor is no sum: of floors given since, the last is the larger one.
                let sql = format!("UPDATE {table} SET floors = iif(floors = ?2, ?3, max(floors, ?3)) WHERE id = ?1");
                tx.execute(&sql, params![id, difference.stored, difference.counted])?;
                continue;
            }
            // Computed below, when the other columns are right.
            (CounterKind::Listed | CounterKind::DistinctFloors | CounterKind::Ancestors, _) => continue,
        };
        let sql = format!("UPDATE {table} SET {column} = max(0, {column} + ?2) WHERE id = ?1");
        tx.execute(&sql, params![id, difference.missing()])?;
    }
    let mut list = tx.prepare_cached(
        "UPDATE comment SET listed = (state = ?2 AND visibility = ?3) OR (floor IS NOT NULL AND replies > 0) WHERE id = ?1",
    )?;
    let concerns_list = |d: &&CounterDifference| matches!(d.counter, CounterKind::Replies | CounterKind::Listed);
    for id in wrong.iter().filter(concerns_list).filter_map(comment) {
        list.execute(params![id.signed(), CommentState::Published.number(), Visibility::Everyone.number()])?;
    }
    tx.execute("UPDATE subject SET version = version + 1 WHERE id = ?1", [subject])?;
    put_ranks(tx, weights, ranked.iter().copied(), &former)
}
