//! The port to what follows when a database has gone back.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::ports::store::Result;

/// Passes over what a database has lost.
#[async_trait]
pub trait Rewinds: Send + Sync + Debug {
    /// Raises the versions of all subjects of a database, and the numbers of its change feed, beyond what they were
    /// before it went back, and says so in its feed: what edges and caches have of the lost time is void.
    ///
    /// Does nothing where the feed said so within `window` before `now` (Unix milliseconds), if there is a window. False
    /// while another process does it. It may be repeated.
    async fn pass_rewind(&self, database: usize, now: u64, window: Option<Duration>) -> Result<bool>;
}
