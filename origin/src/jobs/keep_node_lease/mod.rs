//! Leases a node number for as long as the process issues ids, from any database that answers.
//!
//! Promise: ids are issued under a number only while its lease runs by a clock that counts suspended time, and up
//! to a millisecond that its row names before the first of them is issued. Not here: where numbers are stored, and
//! the ids ([`crate::domain::id_generator`]).

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::boot_clock::{BootInstant, boot_id};
use crate::clock::Clock;
use crate::domain::id_generator::{IdGenerator, NodeLease};
use crate::outage_log::OutageLog;
use crate::ports::store::{LeasedNode, NODE_LEASE, NodeLeases, Result};
use crate::state::AppState;

/// Subtracted from the end of a lease: the database's clock and ours may run at different speeds.
const NODE_LEASE_MARGIN: Duration = Duration::from_secs(2);
/// How often the lease is renewed.
const NODE_LEASE_RENEWAL_INTERVAL: Duration = Duration::from_secs(3);

const NODE_LEASE_MS: u64 = NODE_LEASE.as_millis() as u64;

/// The node number of this process.
#[derive(Debug)]
pub struct NodeLeaseKeeper {
    leases: Arc<dyn NodeLeases>,
    databases: usize,
    /// Names this process among the holders of node numbers.
    holder: String,
    clock: Clock,
    leased: Mutex<Option<LeasedNode>>,
}

impl NodeLeaseKeeper {
    /// A process without a number, among so many databases.
    pub fn new(leases: Arc<dyn NodeLeases>, databases: usize, clock: Clock) -> Self {
        let holder = format!("{}-{:016x}", boot_id(), rand::random::<u64>());
        Self { leases, databases, holder, clock, leased: Mutex::default() }
    }

    /// Renews the lease; when that fails, leases a number of another database. Ids up to `used_ms` were issued.
    /// `None` when every number is taken.
    ///
    /// # Errors
    /// When a database does not answer, and no other has a free number.
    pub async fn renew_or_take(&self, used_ms: u64) -> Result<Option<NodeLease>> {
        let mut current = self.leased.lock().await;
        let now = self.clock.now();
        let (after_ms, last_ms) = (now.saturating_sub(1), now.max(used_ms) + NODE_LEASE_MS);
        let (mut failure, mut failed) = (None, None);
        if let Some(leased) = &mut *current {
            // Computed before the call: the database counts from a later moment.
            let until = Some(BootInstant::now() + (NODE_LEASE - NODE_LEASE_MARGIN));
            match self.leases.renew_node(leased, NODE_LEASE_MS, last_ms).await {
                Ok(true) => return Ok(Some(NodeLease { node: leased.node, until, after_ms, last_ms })),
                Ok(false) => *current = None,
                Err(error) => (failure, failed) = (Some(error), Some(leased.database)),
            }
        }
        let first = rand::random_range(0..self.databases);
        let databases = (0..self.databases).map(|n| (first + n) % self.databases);
        for database in databases.filter(|database| Some(*database) != failed) {
            let until = Some(BootInstant::now() + (NODE_LEASE - NODE_LEASE_MARGIN));
            match self.leases.take_node(database, &self.holder, NODE_LEASE_MS, last_ms).await {
                Ok(Some(leased)) => {
                    let lease = NodeLease {
                        node: leased.node,
                        until,
                        after_ms: after_ms.max(leased.after_ms),
                        last_ms: last_ms.max(leased.after_ms + NODE_LEASE_MS),
                    };
                    *current = Some(leased);
                    return Ok(Some(lease));
                }
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// Ends the issue of ids and gives the number back. To be called when nothing is renewed any more.
    pub async fn release(&self, ids: &IdGenerator) {
        let last_ms = ids.revoke();
        let Some(leased) = self.leased.lock().await.take() else { return };
        if let Err(error) = self.leases.release_node(&leased, last_ms).await {
            let (node, holder) = (leased.node, &self.holder);
            tracing::warn!(holder, node, %error, "Could not release node number {node} of {holder}; its lease expires");
        }
    }

    /// Renews the lease until the state is dropped.
    pub async fn run(self: Arc<Self>, state: Weak<AppState>) {
        let (all_taken, outage) = (OutageLog::default(), OutageLog::default());
        let mut tick = tokio::time::interval(NODE_LEASE_RENEWAL_INTERVAL);
        loop {
            tick.tick().await;
            let Some(state) = state.upgrade() else { return };
            let leased = self.renew_or_take(state.ids.last_ms()).await;
            self.log(&leased, &all_taken, &outage);
            if let Ok(Some(lease)) = leased {
                state.ids.renew(lease);
            }
        }
    }

    fn log(&self, leased: &Result<Option<NodeLease>>, all_taken: &OutageLog, outage: &OutageLog) {
        let holder = &self.holder;
        match leased {
            Ok(Some(NodeLease { node, .. })) => {
                let log = || tracing::info!(holder, node, "{holder} has node number {node}");
                all_taken.end(log);
                outage.end(log);
            }
            Ok(None) => all_taken.begin(|| {
                tracing::error!(holder, "All node numbers are taken: {holder} cannot accept new comments");
            }),
            Err(error) => outage.begin(|| {
                let (error, retry_ms) = (format!("{error:#}"), NODE_LEASE_RENEWAL_INTERVAL.as_millis());
                tracing::warn!(
                    holder,
                    retry_ms,
                    error,
                    "Could not lease a node number for {holder}; retrying every {retry_ms} ms"
                );
            }),
        }
    }
}

#[cfg(test)]
mod tests;
