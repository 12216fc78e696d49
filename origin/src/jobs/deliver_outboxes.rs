//! Delivers what the transactions of each database owe the rows of members in others.
//!
//! One loop a database. A recipient that does not answer is tried again at each poll and delays no other.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use metrics::{describe_gauge, gauge};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::outage_log::OutageLog;
use crate::ports::store::{Outboxes, Result};
use crate::state::erased_members::ErasedMembers;

/// How often an outbox is looked into. What this process has written itself is delivered at once.
const OUTBOX_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often the age of its oldest row is measured.
const AGE_INTERVAL: Duration = Duration::from_secs(5);

/// Delivers from the outbox of one database until `stop` is cancelled.
pub async fn run(
    outboxes: Arc<dyn Outboxes>,
    erased_members: Arc<ErasedMembers>,
    database: usize,
    stop: CancellationToken,
) {
    describe_gauge!("gailou_outbox_age_seconds", "How long the oldest row of a database's outbox has waited.");
    let mut tick = interval(OUTBOX_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut measured_at: Option<Instant> = None;
    let (mut deliveries, mut in_progress) = (FuturesUnordered::new(), BTreeSet::new());
    let mut outages: HashMap<usize, OutageLog> = HashMap::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            Some((recipient, done)) = deliveries.next() => {
                in_progress.remove(&recipient);
                log_outage(outages.entry(recipient).or_default(), database, recipient, &done);
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
        let recipients = outboxes.list_recipients(database).await.unwrap_or_default();
        for recipient in recipients.into_iter().filter(|recipient| in_progress.insert(*recipient)) {
            let (outboxes, erased_members) = (outboxes.clone(), erased_members.clone());
            deliveries
                .push(async move { (recipient, deliver_all(&*outboxes, &erased_members, database, recipient).await) });
        }
    }
}

/// Delivers until nothing is left for a recipient; how much that was.
async fn deliver_all(
    outboxes: &dyn Outboxes,
    erased_members: &ErasedMembers,
    database: usize,
    recipient: usize,
) -> Result<usize> {
    let mut all = 0;
    loop {
        match outboxes.deliver(database, recipient, &|member| erased_members.contains(member)).await? {
            0 => return Ok(all),
            delivered => all += delivered,
        }
    }
}

fn log_outage(outage: &OutageLog, database: usize, recipient: usize, done: &Result<usize>) {
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
