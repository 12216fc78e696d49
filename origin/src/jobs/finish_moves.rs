//! Finishes or undoes moves of slots whose mover died.
//!
//! Promise: a slot takes writes again within 30 s after its mover was killed, without an operator. A living mover is
//! left alone: it holds the lock of the movers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::cluster::reshard;
use crate::outage_log::OutageLog;
use crate::ports::store::{Result, Rewinds, SlotMoves};

/// How often the states of the slots are looked at. The server frees the lock of a mover that was killed at once, and
/// that of a machine that is gone after 20 s.
const INTERRUPTED_MOVES_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Settles interrupted moves until `stop` is cancelled.
pub async fn run<T: SlotMoves + Rewinds>(tables: Arc<T>, clock: Clock, stop: CancellationToken) {
    let (outage, mut known, mut given_back) = (OutageLog::default(), Vec::new(), BTreeSet::new());
    let mut tick = tokio::time::interval(INTERRUPTED_MOVES_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let settled = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            settled = settle(&*tables, &clock, &mut given_back) => settled,
        };
        match settled {
            Ok(problems) => {
                outage.end(|| tracing::info!("Interrupted moves of slots are settled again"));
                log_new_problems(&mut known, problems);
            }
            Err(error) => outage.begin(|| {
                let retry_s = INTERRUPTED_MOVES_POLL_INTERVAL.as_secs();
                tracing::warn!(retry_s, %error, "Could not settle interrupted moves of slots; retrying every {retry_s} s");
            }),
        }
    }
}

/// One round; the slots that nothing can be done about, and why. `given_back`: databases that are still to be counted as
/// gone back.
async fn settle<T: SlotMoves + Rewinds>(
    tables: &T,
    clock: &Clock,
    given_back: &mut BTreeSet<usize>,
) -> Result<Vec<(Slot, String)>> {
    let settled = reshard::settle_interrupted_moves(tables).await?;
    given_back.extend(&settled.given_back);
    while let Some(database) = given_back.first().copied() {
        reshard::count_as_rewound(tables, database, || clock.now()).await?;
        given_back.remove(&database);
    }
    if !settled.moved.is_empty() {
        reshard::delete_old_copies(tables, &settled.moved).await?;
    }
    Ok(settled.problems)
}

/// Logs the problems that were not known before.
fn log_new_problems(known: &mut Vec<(Slot, String)>, problems: Vec<(Slot, String)>) {
    for (slot, problem) in problems.iter().filter(|problem| !known.contains(problem)) {
        let slot = slot.get();
        tracing::error!(slot, problem, "Slot {slot} has no single owner: {problem}");
    }
    *known = problems;
}
