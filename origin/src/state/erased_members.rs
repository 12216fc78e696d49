//! Who is erased, in memory: the tokens of these members are refused, and no answer shows what they wrote
//! or were called. And which guests have become members: their tokens are refused too.
//!
//! [`crate::jobs::follow_erasures`] reads the tables twice a second, so an erasure or a merge is in force everywhere
//! within a second. A member stays erased for ever: 16 to 32 bytes each, some 30 MB for a million; five times as much for
//! a guest.

use std::collections::{HashMap, HashSet, VecDeque};

use gailou_shared::id::MemberId;
use gailou_shared::wire::MemberRef;
use parking_lot::{Mutex, RwLock};

use crate::domain::erasure::MemberEnd;
use crate::domain::operation::Operation;
use crate::domain::row::{CommentRow, NewCommentRow};
use crate::ports::store::{ErasureReader, Result};

/// Erased and merged members that are read at once.
const ROWS_PER_READ: usize = 5_000;
/// How much of what was read is read again, in milliseconds: an earlier one may be committed later.
const LATE_COMMIT_MS: u64 = 60_000;
/// Guests of a member that are known, the last ones: few readers have been more of them in a day.
const MAX_GUESTS_OF_MEMBER: usize = 4;

/// The erased members, and the merged guests.
#[derive(Debug, Default)]
pub struct ErasedMembers {
    members: RwLock<HashSet<MemberId>>,
    /// The guests who have become members.
    heirs: RwLock<HashMap<MemberId, MemberId>>,
    /// The last guests who have become a member.
    guests: RwLock<HashMap<MemberId, VecDeque<MemberId>>>,
    /// The last erasure or merge that was read.
    last: Mutex<Option<MemberEnd>>,
}

impl ErasedMembers {
    /// Whether a member is erased.
    pub fn contains(&self, member: MemberId) -> bool {
        self.members.read().contains(&member)
    }

    /// The member, without a name where they are erased.
    pub fn without_name(&self, member: MemberRef) -> MemberRef {
        if self.contains(member.id) { MemberRef { name: String::new(), ..member } } else { member }
    }

    /// Adds a member who was erased by this process.
    pub fn add(&self, member: MemberId) {
        self.members.write().insert(member);
    }

    /// The member that a guest has become; `None` for a guest who is one still.
    pub fn heir_of(&self, guest: MemberId) -> Option<MemberId> {
        self.heirs.read().get(&guest).copied()
    }

    /// The last guests who have become this member.
    pub fn guests_of(&self, heir: MemberId) -> Vec<MemberId> {
        self.guests.read().get(&heir).map_or_else(Vec::new, |guests| guests.iter().copied().collect())
    }

    /// Adds a guest whom this process has merged into a member.
    pub fn add_heir(&self, guest: MemberId, heir: MemberId) {
        if self.heirs.write().insert(guest, heir) == Some(heir) {
            return;
        }
        let mut guests = self.guests.write();
        let guests = guests.entry(heir).or_default();
        guests.push_back(guest);
        if guests.len() > MAX_GUESTS_OF_MEMBER {
            guests.pop_front();
        }
    }

    fn extend(&self, ends: &[MemberEnd]) {
        let (merged, erased): (Vec<&MemberEnd>, Vec<_>) = ends.iter().partition(|end| end.heir.is_some());
        self.members.write().extend(erased.into_iter().map(|end| end.member));
        for (guest, heir) in merged.into_iter().filter_map(|end| Some((end.member, end.heir?))) {
            self.add_heir(guest, heir);
        }
    }

    /// Reads the erasures and merges since the last call.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn follow(&self, tables: &(impl ErasureReader + ?Sized)) -> Result<()> {
        let before = *self.last.lock();
        let first = |last: MemberEnd| MemberEnd { at: last.at.saturating_sub(LATE_COMMIT_MS), ..last };
        let mut after = before.map(first);
        loop {
            let rows = tables.list_member_ends(after, ROWS_PER_READ).await?;
            self.extend(&rows);
            after = rows.last().copied().or(after);
            if rows.len() < ROWS_PER_READ {
                *self.last.lock() = after.max(before);
                return Ok(());
            }
        }
    }

    /// Reads all erasures and merges that a copy knows of; [`ErasedMembers::follow`] begins at the first one all the same.
    ///
    /// # Errors
    /// When no copy can be read.
    pub async fn read_copy(&self, tables: &(impl ErasureReader + ?Sized)) -> Result<()> {
        let mut after = None;
        loop {
            let rows = tables.list_member_ends_copy(after, ROWS_PER_READ).await?;
            self.extend(&rows);
            after = rows.last().copied();
            if rows.len() < ROWS_PER_READ {
                return Ok(());
            }
        }
    }

    /// Removes from a row what belongs to erased members.
    pub fn redact(&self, row: &mut CommentRow) {
        let members = self.members.read();
        if members.is_empty() {
            return;
        }
        if members.contains(&row.author.id) {
            row.erase();
        }
        row.mentions.retain(|mention| !members.contains(&mention.id));
        row.reply_to.take_if(|answered| members.contains(&answered.id));
    }

    /// The same for an operation that is about to be stored.
    pub fn redact_operation(&self, operation: &mut Operation) {
        if let Operation::Publish(new) = operation {
            self.redact_new(new);
        }
    }

    fn redact_new(&self, new: &mut NewCommentRow) {
        let members = self.members.read();
        if members.is_empty() {
            return;
        }
        if members.contains(&new.author.id) {
            new.erase();
        }
        new.mentions.retain(|mention| !members.contains(&mention.id));
        if let Some(answered) = new.reply_to.as_mut().filter(|answered| members.contains(&answered.id)) {
            answered.name.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use gailou_shared::id::CommentId;
    use gailou_shared::wire::Author;

    use super::*;

    /// Erasures and merges in any order.
    #[derive(Debug, Default)]
    struct ScriptedErasures(Mutex<Vec<MemberEnd>>);

    #[async_trait]
    impl ErasureReader for ScriptedErasures {
        async fn list_member_ends(&self, after: Option<MemberEnd>, count: usize) -> Result<Vec<MemberEnd>> {
            let mut rows = self.0.lock().clone();
            rows.sort_unstable();
            rows.retain(|row| after.is_none_or(|after| *row > after));
            rows.truncate(count);
            Ok(rows)
        }

        async fn list_unfinished_ends(&self, _: usize) -> Result<Vec<MemberEnd>> {
            Ok(vec![])
        }

        async fn read_heir(&self, _: MemberId) -> Result<Option<Author>> {
            Ok(None)
        }

        async fn list_merged_guests(&self, _: MemberId) -> Result<Vec<MemberId>> {
            Ok(vec![])
        }

        async fn list_not_erased(&self, _: MemberId, _: &[CommentId]) -> Result<Vec<CommentId>> {
            Ok(vec![])
        }

        async fn list_mentioning(&self, _: MemberId, _: Option<CommentId>, _: usize) -> Result<Vec<CommentId>> {
            Ok(vec![])
        }

        async fn list_answers(&self, _: CommentId, _: Option<CommentId>, _: usize) -> Result<Vec<CommentId>> {
            Ok(vec![])
        }
    }

    #[tokio::test]
    async fn erasure_that_is_committed_late_is_followed() {
        let (tables, erased) = (ScriptedErasures::default(), ErasedMembers::default());
        let member = |number| MemberId::new(number).unwrap();
        let commit = |at, number| tables.0.lock().push(MemberEnd { at, member: member(number), heir: None });
        (0..12_000).for_each(|n| commit(1_000 + n, n + 1));
        erased.follow(&tables).await.unwrap();
        assert!((1..=12_000).all(|n| erased.contains(member(n))) && !erased.contains(member(12_001)));
        commit(900_000, 20_000);
        erased.follow(&tables).await.unwrap();
        commit(900_000 - LATE_COMMIT_MS + 1, 30_000);
        commit(900_001, 10);
        erased.follow(&tables).await.unwrap();
        assert!([20_000, 30_000, 10].into_iter().all(|n| erased.contains(member(n))));
        let (guest, heir) = (MemberId::guest(1), member(40_000));
        tables.0.lock().push(MemberEnd { at: 900_002, member: guest, heir: Some(heir) });
        erased.follow(&tables).await.unwrap();
        assert_eq!((erased.heir_of(guest), erased.heir_of(heir)), (Some(heir), None));
        assert!(!erased.contains(guest) && !erased.contains(heir), "neither is erased");
        assert_eq!((erased.guests_of(heir), erased.guests_of(guest)), (vec![guest], vec![]));
        erased.follow(&tables).await.unwrap();
        (2..7).for_each(|n| erased.add_heir(MemberId::guest(n), heir));
        assert_eq!(erased.guests_of(heir), [3, 4, 5, 6].map(MemberId::guest), "the last ones, each once");
    }
}
