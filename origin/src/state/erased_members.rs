//! Who is erased, in memory: the tokens of these members are refused, and no answer shows what they wrote
//! or were called.
//!
//! [`crate::jobs::follow_erasures`] reads the tables twice a second, so an erasure is in force everywhere
//! within a second. A member stays erased for ever: 16 to 32 bytes each, some 30 MB for a million.

use std::collections::HashSet;

use gailou_shared::id::MemberId;
use gailou_shared::wire::MemberRef;
use parking_lot::{Mutex, RwLock};

use crate::domain::erasure::ErasedMember;
use crate::domain::operation::Operation;
use crate::domain::row::{CommentRow, NewCommentRow};
use crate::ports::store::{ErasureReader, Result};

/// Erased members that are read at once.
const ROWS_PER_READ: usize = 5_000;
/// How much of what was read is read again, in milliseconds: an earlier erasure may be committed later.
const LATE_COMMIT_MS: u64 = 60_000;

/// The erased members.
#[derive(Debug, Default)]
pub struct ErasedMembers {
    members: RwLock<HashSet<MemberId>>,
    /// The last erasure that was read.
    last: Mutex<Option<ErasedMember>>,
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

    /// Reads the erasures since the last call.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn follow(&self, tables: &(impl ErasureReader + ?Sized)) -> Result<()> {
        let before = *self.last.lock();
        let first = |last: ErasedMember| ErasedMember { at: last.at.saturating_sub(LATE_COMMIT_MS), ..last };
        let mut after = before.map(first);
        loop {
            let rows = tables.list_erased(after, ROWS_PER_READ).await?;
            self.members.write().extend(rows.iter().map(|row| row.member));
            after = rows.last().copied().or(after);
            if rows.len() < ROWS_PER_READ {
                *self.last.lock() = after.max(before);
                return Ok(());
            }
        }
    }

    /// Reads all erasures that a copy knows of; [`ErasedMembers::follow`] begins at the first one all the same.
    ///
    /// # Errors
    /// When no copy can be read.
    pub async fn read_copy(&self, tables: &(impl ErasureReader + ?Sized)) -> Result<()> {
        let mut after = None;
        loop {
            let rows = tables.list_erased_copy(after, ROWS_PER_READ).await?;
            self.members.write().extend(rows.iter().map(|row| row.member));
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

    use super::*;

    /// Erasures in any order.
    #[derive(Debug, Default)]
    struct ScriptedErasures(Mutex<Vec<ErasedMember>>);

    #[async_trait]
    impl ErasureReader for ScriptedErasures {
        async fn list_erased(&self, after: Option<ErasedMember>, count: usize) -> Result<Vec<ErasedMember>> {
            let mut rows = self.0.lock().clone();
            rows.sort_unstable();
            rows.retain(|row| after.is_none_or(|after| *row > after));
            rows.truncate(count);
            Ok(rows)
        }

        async fn list_unfinished_erasures(&self, _: usize) -> Result<Vec<ErasedMember>> {
            Ok(vec![])
        }

        async fn list_not_erased(&self, _: &[CommentId]) -> Result<Vec<CommentId>> {
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
        let commit = |at, number| tables.0.lock().push(ErasedMember { at, member: member(number) });
        (0..12_000).for_each(|n| commit(1_000 + n, n + 1));
        erased.follow(&tables).await.unwrap();
        assert!((1..=12_000).all(|n| erased.contains(member(n))) && !erased.contains(member(12_001)));
        commit(900_000, 20_000);
        erased.follow(&tables).await.unwrap();
        commit(900_000 - LATE_COMMIT_MS + 1, 30_000);
        commit(900_001, 10);
        erased.follow(&tables).await.unwrap();
        assert!([20_000, 30_000, 10].into_iter().all(|n| erased.contains(member(n))));
    }
}
