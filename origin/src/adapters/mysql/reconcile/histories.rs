//! Compares the histories of members with the comments, which may be in other databases, and repairs them.
//!
//! A comment is committed together with a row of an outbox, and that row is deleted after the history has it. So a
//! comment that no outbox owes, and that is in no history afterwards, is missing there.

use std::collections::{BTreeMap, HashSet};

use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::outbox::OutboxRow;
use crate::adapters::mysql::routing::{IDS_TABLE, PartKeys};
use crate::adapters::mysql::row_numbers::{member_slot, subject_number};
use crate::adapters::mysql::rows::{StoredEnum as _, id_at, member_id, number_at, path};
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::{json_numbers, json_table};
use crate::domain::fold::HistoryRow;
use crate::domain::reconcile::{ComparedChunk, Difference, FoundDifference, HistoryFault};
use crate::domain::row::is_pending;
use crate::ports::store::{Result, Sharding as _};

use gailou_shared::wire::{CommentState, Visibility};

/// Comments, or rows of histories, that are compared at once.
const ROWS_PER_CHUNK: usize = 1_000;

impl MysqlStore {
    pub(super) async fn compare_histories(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        let (slot, number) = (subject.slot(), subject_number(subject));
        let text = format!(
            "SELECT id, author_id, state, visibility, flags, path FROM comment_{} FORCE INDEX (comment_path) \
             WHERE subject = ? AND path > ? ORDER BY path LIMIT {ROWS_PER_CHUNK}",
            self.table_number(slot)
        );
        let statement = sql(text).bind(number).bind(after.map_or(&[][..], Path::as_bytes));
        let comments = self.rows_of("reconcile", slot, statement).await?;
        let next =
            comments.last().map(|r| Ok::<_, crate::ports::store::StoreError>(path(r.try_get(5)?)?)).transpose()?;
        let all = comments.iter().map(history_row).collect::<Result<Vec<_>>>()?;
        let unlisted = self.without_histories(all).await?;
        let unlisted = self.without_outbox_rows(unlisted).await?;
        // What was delivered before the outboxes were read is in the histories by now.
        let missing = self.without_histories(unlisted).await?;
        if repair {
            self.put_histories(&missing).await?;
        }
        let found = missing.into_iter().map(|HistoryRow { member, id, .. }| FoundDifference {
            difference: Difference::History(member, id, HistoryFault::Missing),
            repaired: repair,
        });
        Ok(ComparedChunk { found: found.collect(), next })
    }

    /// Those of these rows that no history has.
    async fn without_histories(&self, rows: Vec<HistoryRow>) -> Result<Vec<HistoryRow>> {
        let read = || {
            let keys = rows.iter().map(|row| (member_slot(row.member), (row.member, row.id)));
            let found = self.parts(keys).into_iter().map(|PartKeys { part, slots, keys }| async move {
                let text = format!(
                    "SELECT m.member_id, m.comment_id FROM {} STRAIGHT_JOIN member_comment_{} m FORCE INDEX (PRIMARY) \
                     ON m.member_id = j.member AND m.comment_id = j.comment",
                    pair_table(&keys),
                    part.table
                );
                self.reading("reconcile", part.shard, &slots).await?.fetch_text(text).await
            });
            try_join_all(found)
        };
        let found = self.retry_while_moving(read).await?;
        without(rows, found.iter().flatten())
    }

    /// Those of these rows that no outbox owes.
    async fn without_outbox_rows(&self, rows: Vec<HistoryRow>) -> Result<Vec<HistoryRow>> {
        if rows.is_empty() {
            return Ok(rows);
        }
        let keys: Vec<_> = rows.iter().map(|row| (row.member, row.id)).collect();
        let text = &format!(
            "SELECT o.member_id, o.comment_id FROM {} STRAIGHT_JOIN outbox o FORCE INDEX (outbox_member) \
             ON o.member_slot = j.slot AND o.member_id = j.member AND o.comment_id = j.comment",
            pair_table(&keys)
        );
        let found = (0..self.count_databases())
            .map(|database| async move { self.session("reconcile", database).await?.fetch_text(text.clone()).await });
        without(rows, try_join_all(found).await?.iter().flatten())
    }

    async fn put_histories(&self, missing: &[HistoryRow]) -> Result<()> {
        let mut databases: BTreeMap<usize, Vec<OutboxRow>> = BTreeMap::new();
        for row in missing {
            let owed = OutboxRow::of_history(*row);
            databases.entry(self.database_of(member_slot(row.member))).or_default().push(owed);
        }
        for (database, rows) in databases {
            self.write_member_rows(database, &rows, &|_| false).await?;
        }
        Ok(())
    }

    pub(super) async fn compare_history_rows(
        &self,
        slot: Slot,
        after: Option<(MemberId, CommentId)>,
        repair: bool,
    ) -> Result<ComparedChunk<(MemberId, CommentId)>> {
        let rows = self.read_history_rows(slot, after).await?;
        let next = rows.last().copied().filter(|_| rows.len() == ROWS_PER_CHUNK);
        let mut superfluous = self.without_comments(rows).await?;
        if repair && !superfluous.is_empty() {
            superfluous = self.delete_history_rows(slot, superfluous).await?;
        }
        let found = superfluous.into_iter().map(|(member, id)| FoundDifference {
            difference: Difference::History(member, id, HistoryFault::Superfluous),
            repaired: repair,
        });
        Ok(ComparedChunk { found: found.collect(), next })
    }

    async fn read_history_rows(
        &self,
        slot: Slot,
        after: Option<(MemberId, CommentId)>,
    ) -> Result<Vec<(MemberId, CommentId)>> {
        let (table, number) = (self.table_number(slot), slot.get());
        let conditions = match after {
            Some((member, id)) => {
                vec![format!("member_id = {member} AND comment_id > {id}"), format!("member_id > {member}")]
            }
            None => vec!["member_id > 0".to_owned()],
        };
        let mut rows = Vec::new();
        let mut session = self.reading_slot("reconcile", slot).await?;
        for condition in conditions {
            let left = ROWS_PER_CHUNK - rows.len();
            let text = format!(
                "SELECT member_id, comment_id FROM member_comment_{table} FORCE INDEX (member_comment_slot) \
                 WHERE slot = {number} AND {condition} ORDER BY member_id, comment_id LIMIT {left}"
            );
            for r in session.fetch_text(text).await? {
                rows.push((member_id(number_at(&r, 0)?)?, id_at(&r, 1)?));
            }
        }
        Ok(rows)
    }

    /// Those of these rows whose member has no such comment. A database that does not answer fails this.
    async fn without_comments(&self, rows: Vec<(MemberId, CommentId)>) -> Result<Vec<(MemberId, CommentId)>> {
        let text = format!(
            "SELECT c.author_id, c.id FROM {IDS_TABLE} \
             STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id"
        );
        let ids = rows.iter().map(|(_, id)| (id.slot(), id.signed()));
        let found = self.rows_by_id("reconcile", ids, &text, |s| s).await?;
        let pair = |r: &MySqlRow| Ok((member_id(number_at(r, 0)?)?, id_at(r, 1)?));
        let found = found.iter().map(pair).collect::<Result<HashSet<_>>>()?;
        Ok(rows.into_iter().filter(|row| !found.contains(row)).collect())
    }

    /// Deletes from a member's history what is not the member's any more.
    pub(in crate::adapters::mysql) async fn clean_history(&self, member: MemberId) -> Result<()> {
        let slot = member_slot(member);
        let mut above = 0;
        loop {
            let text = format!(
                "SELECT comment_id FROM member_comment_{} FORCE INDEX (PRIMARY) \
                 WHERE member_id = ? AND comment_id > ? ORDER BY comment_id LIMIT {ROWS_PER_CHUNK}",
                self.table_number(slot)
            );
            let found = self.rows_of("clean_history", slot, sql(text).bind(member.signed()).bind(above)).await?;
            let rows = found.iter().map(|r| Ok((member, id_at(r, 0)?))).collect::<Result<Vec<_>>>()?;
            let Some((_, last)) = rows.last().copied() else { return Ok(()) };
            let superfluous = self.without_comments(rows).await?;
            if !superfluous.is_empty() {
                self.delete_history_rows(slot, superfluous).await?;
            }
            above = last.signed();
        }
    }

    /// Deletes rows of a slot, unless their members have such comments by now; those that it deleted. The lock keeps deliveries
    /// out: a comment that is stored meanwhile is delivered again afterwards.
    async fn delete_history_rows(
        &self,
        slot: Slot,
        rows: Vec<(MemberId, CommentId)>,
    ) -> Result<Vec<(MemberId, CommentId)>> {
        let mut session = self.session("repair_histories", self.database_of(slot)).await?;
        session.begin().await?;
        let done = async {
            SlotStatus::lock_settled(&mut session, slot).await?;
            let superfluous = self.without_comments(rows).await?;
            if !superfluous.is_empty() {
                let text = format!(
                    "DELETE m FROM {} STRAIGHT_JOIN member_comment_{} m \
                     ON m.member_id = j.member AND m.comment_id = j.comment",
                    pair_table(&superfluous),
                    self.table_number(slot)
                );
                session.execute_text(text).await?;
            }
            Ok(superfluous)
        };
        let done = done.await;
        session.finish(done).await
    }
}

/// Those of these rows that are not among those found, which are members and comments.
fn without<'r>(rows: Vec<HistoryRow>, found: impl Iterator<Item = &'r MySqlRow>) -> Result<Vec<HistoryRow>> {
    let found = found.map(|r| Ok((number_at(r, 0)?, number_at(r, 1)?))).collect::<Result<HashSet<_>>>()?;
    Ok(rows.into_iter().filter(|row| !found.contains(&(row.member.signed(), row.id.signed()))).collect())
}

/// Slots, members and comments as a table `j`.
fn pair_table(keys: &[(MemberId, CommentId)]) -> String {
    let rows = keys.iter().map(|(member, id)| {
        json_numbers(&[Some(member_slot(*member).get().into()), Some(member.signed()), Some(id.signed())])
    });
    json_table(&rows.collect::<Vec<_>>().join(","), &["slot INT", "member BIGINT", "comment BIGINT"])
}

/// What a comment is in its author's history. One that others see by now needs no look when the held ones are listed.
fn history_row(r: &MySqlRow) -> Result<HistoryRow> {
    let (state, visibility) =
        (CommentState::from_number(number_at(r, 2)?)?, Visibility::from_number(number_at(r, 3)?)?);
    let held = is_pending(state, visibility, number_at(r, 4)?);
    Ok(HistoryRow { member: member_id(number_at(r, 1)?)?, id: id_at(r, 0)?, held })
}
