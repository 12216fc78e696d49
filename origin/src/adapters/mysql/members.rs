//! What belongs to a member: history, held comments, reactions, names.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{StoredEnum, id_at, member_id, number_at, optional_number_at};
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{MemberReader, Result, StoreError};

/// Comments of a member's history that one statement looks up, at most.
const MAX_HISTORY_LOOKUP: usize = 2_000;

/// Comments of a member that were held once and are looked up for those that still are, at most: the newest.
const MAX_HELD_LOOKUP: usize = 4_000;

/// Which rows of `member_comment` are looked up, and which of their comments are listed.
pub(super) struct HistoryFilter {
    /// Names the measured calls.
    operation: &'static str,
    index: &'static str,
    /// A further condition on the row.
    row: &'static str,
    /// The condition on the comment `c`.
    comment: &'static str,
    /// How many rows are looked up at most.
    max_lookup: usize,
}

impl HistoryFilter {
    /// The statement that reads the rows.
    pub(super) fn rows_sql(&self) -> String {
        format!(
            "SELECT comment_id FROM member_comment_{{n}} FORCE INDEX ({}) WHERE member_id = ? AND comment_id < ? {} \
             ORDER BY comment_id DESC LIMIT ?",
            self.index, self.row
        )
    }
}

const VISIBLE_CONDITION: HistoryFilter = HistoryFilter {
    operation: "list_history",
    index: "PRIMARY",
    row: "",
    comment: "c.state = 0 AND c.visibility = 0",
    max_lookup: usize::MAX,
};

pub(super) const HELD_CONDITION: HistoryFilter = HistoryFilter {
    operation: "list_pending",
    index: "member_comment_held",
    row: "AND held = 1",
    comment: "c.state = 1 OR (c.state = 0 AND c.visibility = 1) OR (c.flags & 64) <> 0",
    max_lookup: MAX_HELD_LOOKUP,
};

pub(super) const APPROVED_CONDITION: HistoryFilter = HistoryFilter {
    operation: "has_approved",
    index: "PRIMARY",
    row: "",
    comment: "c.state = 0 AND c.visibility = 0 AND (c.flags & 128) <> 0",
    max_lookup: MAX_HISTORY_LOOKUP,
};

#[async_trait]
impl MemberReader for MysqlStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        self.list_of_member(member, below, count, &VISIBLE_CONDITION).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.list_of_member(member, None, count, &HELD_CONDITION).await
    }

    /// The answer must be as new as the counters, which drop a reaction once it is a row: the former
    /// copy of a slot that has moved may miss it.
    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        self.retry_while_moving(|| self.read_current_reactions(member, ids)).await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let text = format!(
            "SELECT m.id, m.name FROM {IDS_TABLE} STRAIGHT_JOIN member_{{n}} m FORCE INDEX (PRIMARY) ON m.id = j.id WHERE m.name <> ''"
        );
        let ids = members.iter().map(|member| (member_slot(*member), member.signed()));
        let found = self.rows_by_id("read_names", ids, &text, |s| s).await?;
        found.iter().map(|r| Ok((member_id(number_at(r, 0)?)?, r.try_get(1)?))).collect()
    }
}

impl MysqlStore {
    /// A member's comments below an id that pass a filter, newest first. The member's history names
    /// comments in any slot; they are looked up there until there are enough.
    pub(super) async fn list_of_member(
        &self,
        member: MemberId,
        below: Option<CommentId>,
        count: usize,
        filter: &HistoryFilter,
    ) -> Result<Vec<CommentId>> {
        let slot = member_slot(member);
        let text = self.part(slot).text(&filter.rows_sql());
        let mut left = filter.max_lookup;
        let mut limit = count.max(20) * 2;
        let mut below = below.map_or(i64::MAX, CommentId::signed);
        let mut all = Vec::new();
        loop {
            let statement = sql(text.clone()).bind(member.signed()).bind(below).bind(limit as i64);
            let named = self.rows_of(filter.operation, slot, statement).await?;
            let named = named.iter().map(|r| id_at(r, 0)).collect::<Result<Vec<_>>>()?;
            let (ended, last) = (named.len() < limit || named.len() >= left, named.last().copied());
            left = left.saturating_sub(named.len());
            all.extend(self.filter_comments(member, named, filter).await?);
            limit = (limit * 2).min(MAX_HISTORY_LOOKUP);
            match last {
                Some(last) if !ended && all.len() < count => below = last.signed(),
                _ => break,
            }
        }
        all.truncate(count);
        Ok(all)
    }

    /// The comments of a member among these that fulfil the condition of a filter, in the order given. A history may
    /// name comments that are another member's by now.
    async fn filter_comments(
        &self,
        member: MemberId,
        ids: Vec<CommentId>,
        filter: &HistoryFilter,
    ) -> Result<Vec<CommentId>> {
        let text = format!(
            "SELECT c.id FROM {IDS_TABLE} STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id \
             WHERE c.author_id = {member} AND ({})",
            filter.comment
        );
        let found =
            self.rows_by_id(filter.operation, ids.iter().map(|id| (id.slot(), id.signed())), &text, |s| s).await?;
        let found = found.iter().map(|r| id_at(r, 0)).collect::<Result<HashSet<_>>>()?;
        Ok(ids.into_iter().filter(|id| found.contains(id)).collect())
    }

    async fn read_current_reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Reaction>> {
        let text = format!(
            "SELECT j.id, s.state, r.reaction FROM {IDS_TABLE} \
             STRAIGHT_JOIN slot s FORCE INDEX (PRIMARY) ON s.slot = {} \
             LEFT JOIN reaction_{{n}} r FORCE INDEX (PRIMARY) \
             ON r.slot = s.slot AND r.comment_id = j.id AND r.member_id = ?",
            slot_of_comment("j.id")
        );
        let ids = ids.iter().map(|id| (id.slot(), id.signed()));
        let mut reactions = HashMap::new();
        for r in self.rows_by_id("read_reactions", ids, &text, |s| s.bind(member.signed())).await? {
            if !SlotState::at(&r, 1)?.is_readable() {
                return Err(StoreError::Moved);
            }
            if let Some(reaction) = optional_number_at(&r, 2)? {
                reactions.insert(id_at(&r, 0)?, Reaction::from_number(reaction)?);
            }
        }
        Ok(reactions)
    }
}
