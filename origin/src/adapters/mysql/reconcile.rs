//! Compares a subject's counters with its rows, and repairs them.
//!
//! The comparison reads one snapshot and waits for no lock; the repair holds the lock of the slot's row.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{SLOT_COUNT, Slot, SubjectKey};
use gailou_shared::rank::HotWeights;
use gailou_shared::wire::{CommentState, Visibility};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rank_again::rank_subject_again;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{StoredEnum, count, count_at, number_at, optional_number_at, path, subject_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::domain::reconcile::{
    CountedComment, CountedSubject, CounterChecker, CounterDifference, CounterKind, CounterOwner,
};
use crate::domain::row::{ReactionCounts, is_visible};
use crate::ports::store::{Reconciler, Result, Sharding as _, StoreError};

/// Rows read at a time.
const ROWS_PER_READ: usize = 2_000;

#[async_trait]
impl Reconciler for MysqlStore {
    /// Slot by slot, and in a slot by the subject's number.
    async fn list_subjects_after(&self, after: Option<&SubjectKey>, count: usize) -> Result<Vec<SubjectKey>> {
        let (first, mut beyond) = after.map_or((0, i64::MIN), |key| (key.slot().get(), subject_number(key)));
        for slot in (first..SLOT_COUNT).filter_map(Slot::new) {
            let (mut session, table) =
                (self.session("list_subjects_after", self.database_of(slot)).await?, self.table_number(slot));
            let text = format!(
                "SELECT type, `key` FROM subject_{table} WHERE slot = ? AND id > ? ORDER BY id LIMIT {}",
                count.min(ROWS_PER_READ)
            );
            let found = session.fetch_all(sql(text).bind(slot.get()).bind(beyond)).await?;
            if !found.is_empty() {
                return found.iter().map(|r| subject_at(r, 0)).collect();
            }
            beyond = i64::MIN;
        }
        Ok(vec![])
    }

    async fn reconcile(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<CounterDifference>> {
        let (slot, weights) = (subject.slot(), self.weights_of(subject.kind()));
        let table = SubjectTable { table: self.table_number(slot), number: subject_number(subject), subject };
        let mut session = self.long_session("reconcile", self.database_of(slot)).await?;
        session.execute_text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        session.begin().await?;
        let found = table.compare(&mut session).await?;
        session.rollback().await?;
        if !repair || found.is_empty() {
            return Ok(found);
        }
        session.begin().await?;
        // Not in a slot that is being copied: this repair records no dirty rows.
        if SlotState::lock(&mut session, slot).await? != SlotState::Owned {
            return Err(StoreError::Moved);
        }
        let found = table.compare(&mut session).await?;
        table.store_counters(&mut session, &found, &weights).await?;
        session.commit().await?;
        Ok(found)
    }
}

/// A subject, and the number of its tables.
struct SubjectTable<'s> {
    table: u16,
    number: i64,
    subject: &'s SubjectKey,
}

impl SubjectTable<'_> {
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
             FROM reaction_{} WHERE comment_id IN ({}) GROUP BY comment_id",
            self.table,
            ids.join(",")
        );
        let found = session.fetch_text(text).await?;
        let counts = |r: &MySqlRow| -> Result<ReactionCounts> {
            Ok(ReactionCounts { likes: count_at(r, 1)?, dislikes: count_at(r, 2)? })
        };
        found.iter().map(|r| Ok((number_at(r, 0)?, counts(r)?))).collect()
    }

    async fn store_counters(
        &self,
        session: &mut MysqlSession,
        found: &[CounterDifference],
        weights: &HotWeights,
    ) -> Result<()> {
        let table = self.table;
        for difference in found.iter().filter(|d| d.can_be_repaired()) {
            let (kind, row) = match difference.owner {
                CounterOwner::Subject => ("subject", self.number),
                CounterOwner::Comment(id) => ("comment", id.signed()),
            };
            let set = match (difference.counter, difference.owner) {
                (CounterKind::Likes, _) => "likes = ?",
                (CounterKind::Dislikes, _) => "dislikes = ?",
                (CounterKind::Replies, CounterOwner::Subject) => "comments = ?",
                (CounterKind::Replies, CounterOwner::Comment(_)) => "replies = ?",
                (CounterKind::Roots, _) => "roots = ?",
                (CounterKind::LastFloor, _) => "floors = ?",
                (CounterKind::Listed, _) => "listed_floor = IF(? = 1, floor, NULL)",
                (CounterKind::DistinctFloors | CounterKind::Ancestors, _) => continue,
            };
            let text = format!("UPDATE {kind}_{table} SET {set} WHERE id = ?");
            session.execute(sql(text).bind(difference.counted).bind(row)).await?;
        }
        let text = format!("UPDATE subject_{table} SET version = version + 1 WHERE id = ?");
        session.execute(sql(text).bind(self.number)).await?;
        rank_subject_again(session, table, self.number, weights).await
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
