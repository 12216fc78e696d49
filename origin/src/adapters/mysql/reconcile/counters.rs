//! Compares a subject's counters with its rows, and repairs them.
//!
//! The comparison reads one snapshot and waits for no lock. A repair adds what is missing from each counter, a few at
//! a time under the lock of the slot's row, and the subject is compared again: nothing is counted under a lock.

use std::collections::{BTreeSet, HashMap};

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::wire::{CommentState, Visibility};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{StoredEnum, count, count_at, number_at, optional_number_at, path, subject_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::BatchScript;
use crate::domain::reconcile::{
    CountedComment, CountedSubject, CounterChecker, CounterDifference, CounterKind, CounterOwner, Difference,
    FoundDifference, RankRow,
};
use crate::domain::row::{ReactionCounts, is_visible};
use crate::ports::store::{Result, Sharding as _, StoreError};

/// Rows read at a time.
const ROWS_PER_READ: usize = 2_000;
/// Counters that are repaired in one transaction: it holds the lock of its slot for some 20 ms.
const COUNTERS_PER_REPAIR: usize = 200;
/// How often a subject is repaired: a counter that writers took to zero meanwhile needs a second time.
const MAX_REPAIRS: usize = 3;
/// How long a process waits while another repairs subjects of the same database.
const REPAIR_LOCK_WAIT_S: u64 = 30;

impl MysqlStore {
    pub(super) async fn compare_counters(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<FoundDifference>> {
        let slot = subject.slot();
        let table = SubjectTable { table: self.table_number(slot), number: subject_number(subject), subject };
        let mut found = table.compare_in_snapshot(self).await?;
        let mut all = Vec::new();
        if repair && found.iter().any(CounterDifference::can_be_repaired) {
            let session = self.long_session("reconcile", self.database_of(slot)).await?;
            let Some(mut lock) = NamedLock::acquire(session, "reconcile", REPAIR_LOCK_WAIT_S).await? else {
                let text = "another process repairs counters of this database; run this again later";
                return Err(StoreError::Unavailable(text.into()));
            };
            // Compared again: another process may have repaired it.
            found = table.compare_in_snapshot(self).await?;
            for _ in 0..MAX_REPAIRS {
                let (wrong, beyond_repair) = found.into_iter().partition(CounterDifference::can_be_repaired);
                found = beyond_repair;
                let wrong: Vec<CounterDifference> = wrong;
                if wrong.is_empty() {
                    break;
                }
                for part in wrong.chunks(COUNTERS_PER_REPAIR) {
                    lock.check().await?;
                    self.repair_counters(&table, slot, part).await?;
                }
                all.extend(wrong.into_iter().map(|counter| found_counter(counter, true)));
                found = table.compare_in_snapshot(self).await?;
            }
            lock.release().await?;
        }
        all.extend(found.into_iter().map(|counter| found_counter(counter, false)));
        Ok(all)
    }

    /// Corrects counters, and makes the ranks of their comments again, in one transaction.
    async fn repair_counters(&self, subject: &SubjectTable<'_>, slot: Slot, wrong: &[CounterDifference]) -> Result<()> {
        let SubjectTable { table, number, .. } = subject;
        let ids = |is_meant: fn(CounterKind) -> bool| -> BTreeSet<CommentId> {
            let comment = |difference: &CounterDifference| match difference.owner {
                CounterOwner::Comment(id) if is_meant(difference.counter) => Some(id),
                _ => None,
            };
            wrong.iter().filter_map(comment).collect()
        };
        let (ranked, listed) = (ids(|_| true), ids(|kind| matches!(kind, CounterKind::Replies | CounterKind::Listed)));
        let mut session = self.session("repair_counters", self.database_of(slot)).await?;
        session.begin().await?;
        let done = async {
            SlotStatus::lock_settled(&mut session, slot).await?;
            let former = self.read_expected_ranks(&mut session, slot, &ranked).await?;
            let mut script = BatchScript::new(&mut session);
            for difference in wrong {
                if let Some(statement) = subject.correction(difference) {
                    script.add(&statement).await?;
                }
            }
            if !listed.is_empty() {
                let ids: Vec<String> = listed.iter().map(CommentId::to_string).collect();
                let statement = format!(
                    "UPDATE comment_{table} SET listed_floor = IF((state = {} AND visibility = {}) OR replies > 0, floor, NULL) \
                     WHERE id IN ({})",
                    CommentState::Published.number(),
                    Visibility::Everyone.number(),
                    ids.join(",")
                );
                script.add(&statement).await?;
            }
            script.add(&format!("UPDATE subject_{table} SET version = version + 1 WHERE id = {number}")).await?;
            script.send().await?;
            let former: Vec<_> = former.values().map(RankRow::key).collect();
            self.put_ranks(&mut session, slot, ranked.iter().copied(), &former).await
        };
        let done = done.await;
        session.finish(done).await
    }
}

fn found_counter(counter: CounterDifference, repaired: bool) -> FoundDifference {
    FoundDifference { difference: Difference::Counter(counter), repaired }
}

/// A subject, and the number of its tables.
struct SubjectTable<'s> {
    table: u16,
    number: i64,
    subject: &'s SubjectKey,
}

impl SubjectTable<'_> {
    async fn compare_in_snapshot(&self, db: &MysqlStore) -> Result<Vec<CounterDifference>> {
        let mut session = db.long_session("reconcile", db.database_of(self.subject.slot())).await?;
        session.begin_snapshot().await?;
        let found = self.compare(&mut session).await?;
        session.rollback().await?;
        Ok(found)
    }

    /// The statement that corrects a counter, whatever writers have added since it was compared.
    fn correction(&self, difference: &CounterDifference) -> Option<String> {
        let (kind, row) = match difference.owner {
            CounterOwner::Subject => ("subject", self.number),
            CounterOwner::Comment(id) => ("comment", id.signed()),
        };
        let column = match (difference.counter, difference.owner) {
            (CounterKind::Likes, _) => "likes",
            (CounterKind::Dislikes, _) => "dislikes",
            (CounterKind::Replies, CounterOwner::Subject) => "comments",
            (CounterKind::Replies, CounterOwner::Comment(_)) => "replies",
            (CounterKind::Roots, _) => "roots",
            (CounterKind::LastFloor, _) => "floors",
            // Computed from the other columns, when they are right.
            (CounterKind::Listed, _) => return None,
            (CounterKind::DistinctFloors | CounterKind::Ancestors, _) => return None,
        };
        let (stored, counted) = (difference.stored, difference.counted);
        let value = match difference.counter {
            // The last floor is no sum: of floors given since, the last is the larger one.
            CounterKind::LastFloor => format!("IF(floors = {stored}, {counted}, GREATEST(floors, {counted}))"),
            _ => format!("GREATEST(0, {column} + ({}))", difference.missing()),
        };
        Some(format!("UPDATE {kind}_{} SET {column} = {value} WHERE id = {row}", self.table))
    }

    async fn compare(&self, session: &mut MysqlSession) -> Result<Vec<CounterDifference>> {
        let table = self.table;
        let text = format!("SELECT type, `key`, floors, roots, comments FROM subject_{table} WHERE id = ?");
        let Some(r) = session.fetch_first(sql(text).bind(self.number)).await? else { return Ok(vec![]) };
        if subject_at(&r, 0)? != *self.subject {
            return Ok(vec![]);
        }
        let counted = CountedSubject { floors: count_at(&r, 2)?, roots: count_at(&r, 3)?, comments: count_at(&r, 4)? };
        let mut checker = CounterChecker::default();
        let mut after = Vec::new();
        loop {
            let text = format!(
                "SELECT id, path, floor, floors, state, visibility, listed_floor, likes, dislikes, base_likes, \
                 base_dislikes, replies FROM comment_{table} FORCE INDEX (comment_path) \
                 WHERE subject = ? AND path > ? ORDER BY path LIMIT {ROWS_PER_READ}"
            );
            let rows = session.fetch_all(sql(text).bind(self.number).bind(after.clone())).await?;
            let Some(last) = rows.last() else { return Ok(checker.finish(counted)) };
            after = last.try_get::<Vec<u8>, _>(1)?;
            let counts = self.count_reactions(session, &rows).await?;
            for row in &rows {
                checker.feed(counted_comment(row, &counts)?);
            }
        }
    }

    /// The counts of the reactions to these comments.
    async fn count_reactions(
        &self,
        session: &mut MysqlSession,
        rows: &[MySqlRow],
    ) -> Result<HashMap<i64, ReactionCounts>> {
        let ids = rows.iter().map(|r| Ok(number_at(r, 0)?.to_string())).collect::<Result<Vec<_>>>()?;
        let text = format!(
            "SELECT comment_id, CAST(SUM(reaction = 1) AS SIGNED), CAST(SUM(reaction = 2) AS SIGNED) \
             FROM reaction_{} WHERE slot = {} AND comment_id IN ({}) GROUP BY comment_id",
            self.table,
            self.subject.slot().get(),
            ids.join(",")
        );
        let found = session.fetch_text(text).await?;
        let counts = |r: &MySqlRow| -> Result<ReactionCounts> {
            Ok(ReactionCounts { likes: count_at(r, 1)?, dislikes: count_at(r, 2)? })
        };
        found.iter().map(|r| Ok((number_at(r, 0)?, counts(r)?))).collect()
    }
}

fn counted_comment(r: &MySqlRow, counts: &HashMap<i64, ReactionCounts>) -> Result<CountedComment> {
    let (state, visibility) =
        (CommentState::from_number(number_at(r, 4)?)?, Visibility::from_number(number_at(r, 5)?)?);
    Ok(CountedComment {
        path: path(r.try_get(1)?)?,
        floor: optional_number_at(r, 2)?.map(count),
        floors: count_at(r, 3)?,
        visible: is_visible(state, visibility),
        listed: optional_number_at(r, 6)?.is_some(),
        likes: count_at(r, 7)?,
        dislikes: count_at(r, 8)?,
        base: ReactionCounts { likes: count_at(r, 9)?, dislikes: count_at(r, 10)? },
        reactions: counts.get(&number_at(r, 0)?).copied().unwrap_or_default(),
        replies: count_at(r, 11)?,
    })
}
