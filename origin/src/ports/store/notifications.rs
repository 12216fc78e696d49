//! The port to what members are notified of.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId};

use crate::domain::notification::{NewNotification, StoredNotification};
use crate::ports::store::Result;

/// Notifications of members, each in the database of its member. Promise: one that is written twice is there once, and
/// stays read; of each member the newest [`MAX_NOTIFICATIONS`] are kept.
///
/// [`MAX_NOTIFICATIONS`]: crate::domain::notification::MAX_NOTIFICATIONS
#[async_trait]
pub trait Notifications: Send + Sync + Debug {
    /// The database that has the notifications of a member, as far as this process knows.
    fn database_of_member(&self, member: MemberId) -> usize;
    /// Writes notifications of members that are in one database. Answers the members of whom none was written: they
    /// are on their way to another database.
    async fn add_notifications(&self, database: usize, new: &[NewNotification]) -> Result<Vec<MemberId>>;
    /// Those of a member below an id, the newest first.
    async fn list_notifications(
        &self,
        member: MemberId,
        below: Option<EventId>,
        count: usize,
    ) -> Result<Vec<StoredNotification>>;
    /// How many of those that are kept the member has not read.
    async fn count_unread(&self, member: MemberId) -> Result<u64>;
    /// Marks this one and all older ones as read.
    async fn mark_read(&self, member: MemberId, up_to: EventId) -> Result<()>;
    /// Deletes all of an erased member.
    async fn delete_notifications_of(&self, member: MemberId) -> Result<()>;
}
