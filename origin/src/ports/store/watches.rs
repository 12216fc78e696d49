//! The port to the threads that members watch.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId, SubjectKey};

use crate::domain::watch::{ReadyWatcher, StoredWatch, WatchInsertion, WatchNotification};
use crate::ports::store::Result;

/// Watches of members, each in the database of its member, beside what the member is notified of. Promise: a watcher who
/// is notified of a thread waits until [`Notifications::mark_read`] names that, and is notified of nothing else of it; both
/// are written in one transaction, so whatever is repeated notifies of nothing twice.
///
/// [`Notifications::mark_read`]: crate::ports::store::Notifications::mark_read
#[async_trait]
pub trait Watches: Send + Sync + Debug {
    /// Adds watches of a member, the first ones first, up to [`MAX_WATCHES`]. One that is there stays as it is.
    ///
    /// [`MAX_WATCHES`]: crate::domain::watch::MAX_WATCHES
    async fn add_watches(&self, member: MemberId, watches: &[StoredWatch]) -> Result<WatchInsertion>;
    async fn delete_watch(&self, member: MemberId, subject: &SubjectKey) -> Result<()>;
    async fn is_watching(&self, member: MemberId, subject: &SubjectKey) -> Result<bool>;
    /// Those of a member below an id, the latest first.
    async fn list_watches(&self, member: MemberId, below: Option<EventId>, count: usize) -> Result<Vec<StoredWatch>>;
    /// Lets a member be notified of the next comment of the threads of which they were notified by these.
    async fn end_waiting(&self, member: MemberId, notified: &[EventId]) -> Result<()>;
    /// Deletes all of a member who is erased, or a guest who has become another member.
    async fn delete_watches_of(&self, member: MemberId) -> Result<()>;
    /// The watchers of these subjects in one database who wait for nothing, in an order of the adapter, after one of
    /// them. Fewer than `count` are the last. One whose slot moves may be listed by two databases.
    async fn list_ready_watchers(
        &self,
        database: usize,
        subjects: &[SubjectKey],
        after: Option<&ReadyWatcher>,
        count: usize,
    ) -> Result<Vec<ReadyWatcher>>;
    /// Notifies watchers whose watches are in one database, who wait from then on; not those who wait, were notified of
    /// a later event of the thread, do not watch it any more, or are notified of this event for another reason. Answers the
    /// members of whom none was written: they are on their way to another database.
    async fn notify_watchers(&self, database: usize, new: &[WatchNotification]) -> Result<Vec<MemberId>>;
}
