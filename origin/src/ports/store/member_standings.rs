//! The port to what moderators say of members.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::domain::member_standing::{ChangedRulesPage, MemberStanding, StandingPosition};
use crate::ports::store::Result;

/// Reads what is said of members; [`crate::domain::operation::Operation::Standing`] changes it.
#[async_trait]
pub trait MemberStandingReader: Send + Sync + Debug {
    /// What is said of each of these members; a member of whom nothing was ever said is left out.
    async fn read_standings(&self, members: &[MemberId]) -> Result<Vec<(MemberId, MemberStanding)>>;
    /// The rules of the members of one database (from 0) after a position, at most `count`, in the order of their last
    /// changes; nothing for a database that does not exist.
    ///
    /// An earlier change may be committed later, so a follower reads an overlap.
    async fn list_changed_rules(
        &self,
        database: usize,
        after: Option<StandingPosition>,
        count: usize,
    ) -> Result<ChangedRulesPage>;
}
