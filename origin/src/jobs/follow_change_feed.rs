//! Reads the change feed of one database into memory, again and again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::clock::Clock;
use crate::ports::store::ChangeFeedReader;
use crate::state::change_feed::ChangeFeed;

/// How often the database is read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Reads until the feed is dropped. While the database fails, it logs once.
pub async fn run(feed: Weak<ChangeFeed>, tables: Arc<dyn ChangeFeedReader>, clock: Clock, database: usize) {
    let mut tick = tokio::time::interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failed = false;
    loop {
        tick.tick().await;
        let Some(feed) = feed.upgrade() else { return };
        let read = feed.read_database(&*tables, &clock, database).await;
        if let Err(error) = &read
            && !failed
        {
            tracing::warn!(%error, database, "Could not read the change feed of database {database}; polling on");
        }
        failed = read.is_err();
    }
}
