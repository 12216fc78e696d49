//! Delivers what the transactions of each database owe the rows of members in others.
//!
//! One loop a database. A recipient that does not answer is tried again at each poll and delays no other. Before it is
//! given more, and from time to time, it is asked for the last row that was new to it: where that is gone, the recipient
//! has gone back, and it may have lost nothing else that anything could find.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gailou_shared::id::{CommentId, MemberId};
use metrics::{describe_gauge, gauge};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::jobs::pass_rewinds::RewindPasser;
use crate::outage_log::OutageLog;
use crate::ports::store::{Delivered, Outboxes, Result};
use crate::state::erased_members::ErasedMembers;

/// How often an outbox is looked into. What this process has written itself is delivered at once.
const OUTBOX_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often the age of its oldest row is measured.
const AGE_INTERVAL: Duration = Duration::from_secs(5);
/// How often a recipient to which nothing is delivered is asked for the last row that was new to it.
const GIVEN_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A member, and a comment in the member's history.
type GivenRow = (MemberId, CommentId);

/// Delivers from the outbox of one database until `stop` is cancelled.
pub async fn run(
    outboxes: Arc<dyn Outboxes>,
    erased_members: Arc<ErasedMembers>,
    rewinds: Arc<RewindPasser>,
    database: usize,
    stop: CancellationToken,
) {
    describe_gauge!("gailou_outbox_age_seconds", "How long the oldest row of a database's outbox has waited.");
    let mut tick = interval(OUTBOX_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut measured_at, mut checked_at) = (None::<Instant>, Instant::now());
    let (mut deliveries, mut in_progress) = (FuturesUnordered::new(), BTreeSet::new());
    let mut outages: HashMap<usize, OutageLog> = HashMap::new();
    // By recipient: the last row that was new to it.
    let mut given: BTreeMap<usize, GivenRow> = BTreeMap::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            Some((recipient, was_lost, done)) = deliveries.next() => {
                in_progress.remove(&recipient);
                if was_lost {
                    given.remove(&recipient);
                    rewinds.pass_again(recipient);
                }
                log_outage(outages.entry(recipient).or_default(), database, recipient, &done);
                given.extend(done.ok().and_then(|delivered| Some((recipient, delivered.last_new?))));
                continue;
            }
            _ = tick.tick() => {
                if measured_at.is_none_or(|at| at.elapsed() >= AGE_INTERVAL)
                    && let Ok(age) = outboxes.read_outbox_age(database).await
                {
                    let age = Duration::from_millis(age.unwrap_or(0)).as_secs_f64();
                    gauge!("gailou_outbox_age_seconds", "database" => database.to_string()).set(age);
                    measured_at = Some(Instant::now());
                }
            }
            () = outboxes.wait_for_rows(database) => {}
        }
        // A database that does not answer owes nothing that could be read.
        let mut recipients = outboxes.list_recipients(database).await.unwrap_or_default();
        if checked_at.elapsed() >= GIVEN_CHECK_INTERVAL {
            checked_at = Instant::now();
            recipients.extend(given.keys());
        }
        for recipient in recipients.into_iter().filter(|recipient| in_progress.insert(*recipient)) {
            let (outboxes, erased_members, last) =
                (outboxes.clone(), erased_members.clone(), given.get(&recipient).copied());
            deliveries.push(async move {
                let was_lost = has_lost(&*outboxes, recipient, last).await;
                (recipient, was_lost, deliver_all(&*outboxes, &erased_members, database, recipient).await)
            });
        }
    }
}

/// Whether a recipient has lost the last row that was new to it.
async fn has_lost(outboxes: &dyn Outboxes, recipient: usize, last: Option<GivenRow>) -> bool {
    let Some((member, id)) = last else { return false };
    matches!(outboxes.has_history(recipient, member, id).await, Ok(Some(false)))
}

/// Delivers until nothing is left for a recipient.
async fn deliver_all(
    outboxes: &dyn Outboxes,
    erased_members: &ErasedMembers,
    database: usize,
    recipient: usize,
) -> Result<Delivered> {
    let mut all = Delivered::default();
    loop {
        match outboxes.deliver(database, recipient, &|member| erased_members.contains(member)).await? {
            Delivered { rows: 0, .. } => return Ok(all),
            delivered => all.add(delivered),
        }
    }
}

fn log_outage(outage: &OutageLog, database: usize, recipient: usize, done: &Result<Delivered>) {
    match done {
        Ok(_) => outage.end(|| {
            tracing::info!(database, recipient, "Histories and names from database {database} reach database {recipient} again");
        }),
        Err(error) => outage.begin(|| {
            let retry_ms = OUTBOX_POLL_INTERVAL.as_millis() as u64;
            tracing::warn!(database, recipient, retry_ms, %error, "Could not deliver histories and names from database {database} to database {recipient}; retrying every {retry_ms} ms");
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use async_trait::async_trait;

    use super::*;
    use crate::clock::Clock;
    use crate::testing::fixtures::{comment, member};
    use crate::testing::memory_store::MemoryStore;

    /// Owes one row to the second database, which may lose it.
    #[derive(Debug, Default)]
    struct OneRowOutbox {
        is_delivered: AtomicBool,
        is_lost: AtomicBool,
    }

    #[async_trait]
    impl Outboxes for OneRowOutbox {
        async fn list_recipients(&self, _: usize) -> Result<Vec<usize>> {
            Ok(vec![1])
        }

        async fn deliver(&self, _: usize, _: usize, _: &(dyn Fn(MemberId) -> bool + Send + Sync)) -> Result<Delivered> {
            let is_delivered = self.is_delivered.swap(true, Ordering::Relaxed);
            let delivered = Delivered { rows: 1, last_new: Some((member(1), comment(4, 1))) };
            Ok(if is_delivered { Delivered::default() } else { delivered })
        }

        async fn has_history(&self, database: usize, of: MemberId, id: CommentId) -> Result<Option<bool>> {
            assert_eq!((database, of, id), (1, member(1), comment(4, 1)));
            Ok(Some(!self.is_lost.load(Ordering::Relaxed)))
        }

        async fn read_outbox_age(&self, _: usize) -> Result<Option<u64>> {
            Ok(None)
        }

        async fn wait_for_rows(&self, _: usize) {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn recipient_that_has_lost_the_last_row_that_was_new_to_it_has_gone_back() {
        let (outbox, tables) = (Arc::new(OneRowOutbox::default()), MemoryStore::new(2));
        let rewinds = RewindPasser::new(tables.clone(), Clock::from_fn(|| 7));
        let stop = CancellationToken::new();
        let delivering = tokio::spawn(run(outbox.clone(), Arc::default(), rewinds.clone(), 0, stop.clone()));
        tokio::time::sleep(2 * GIVEN_CHECK_INTERVAL).await;
        assert_eq!((rewinds.count_found(), tables.passed_rewinds()), (0, vec![]));
        outbox.is_lost.store(true, Ordering::Relaxed);
        tokio::time::sleep(2 * GIVEN_CHECK_INTERVAL).await;
        assert_eq!((rewinds.count_found(), tables.passed_rewinds()), (1, vec![1]), "once for one row");
        stop.cancel();
        delivering.await.unwrap();
    }
}
