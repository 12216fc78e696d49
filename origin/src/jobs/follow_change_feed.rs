//! Reads the change feed of one database into memory, again and again. A database whose feed shows that it has gone
//! back is passed over, also where no job runs.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::clock::Clock;
use crate::jobs::pass_rewinds::RewindPasser;
use crate::outage_log::OutageLog;
use crate::ports::store::ChangeFeedReader;
use crate::state::change_feed::ChangeFeed;

/// How often the database is read.
const CHANGE_FEED_READ_INTERVAL: Duration = Duration::from_millis(500);

/// Reads until the feed is dropped.
pub async fn run(
    feed: Weak<ChangeFeed>,
    tables: Arc<dyn ChangeFeedReader>,
    rewinds: Option<Arc<RewindPasser>>,
    clock: Clock,
    database: usize,
) {
    let mut tick = tokio::time::interval(CHANGE_FEED_READ_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let outage = OutageLog::default();
    loop {
        tick.tick().await;
        let Some(feed) = feed.upgrade() else { return };
        match feed.read_database(&*tables, &clock, database).await {
            Ok(()) => outage.end(|| tracing::info!(database, "Read the change feed of database {database} again")),
            Err(error) => outage.begin(|| {
                tracing::warn!(%error, database, "Could not read the change feed of database {database}; polling on");
            }),
        }
        if feed.take_rewind(database)
            && let Some(rewinds) = &rewinds
        {
            rewinds.pass_again(database);
        }
    }
}
