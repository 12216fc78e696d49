//! The connections of movers to one database, as its server knows them: what they have locked, and when they end.
//!
//! Promises what MySQL promises: locks end with their connection, at once when the process dies or closes it, after
//! [`IDLE_TIMEOUT`] when the process stands still or the network is cut, and all of them when the server is lost.
//! Statements of other transactions are of one moment, and wait for a lock as long as they would there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::Instant;

use crate::testing::faults::lock;
use crate::testing::simulation::world::{Node, Server};

/// After what time the server closes a mover's connection that sends nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// The locks of a database.
#[derive(Debug, Clone, Default)]
pub(super) struct MoverConnections {
    /// Counts how often all connections were lost.
    restarts: u64,
    rows: BTreeMap<Slot, Arc<MoverConnection>>,
    /// Who may move slots; in the first database.
    mover: Option<Arc<MoverConnection>>,
}

/// One connection of a process.
#[derive(Debug)]
pub(super) struct MoverConnection {
    node: Arc<Node>,
    server: Server,
    restarts: u64,
    is_closed: AtomicBool,
    last_used: Mutex<Instant>,
}

impl MoverConnection {
    /// Whether the server still has it.
    fn is_open(&self, restarts: u64) -> bool {
        let is_gone = !self.node.is_alive() && self.reaches_server();
        let is_idle = lock(&self.last_used).elapsed() >= IDLE_TIMEOUT;
        if restarts != self.restarts || is_gone || is_idle {
            self.is_closed.store(true, Ordering::SeqCst);
        }
        !self.is_closed.load(Ordering::SeqCst)
    }

    fn reaches_server(&self) -> bool {
        self.node.world.is_joined(self.node.number, self.server)
    }

    /// Ends it at the side of the process; the server hears of it where they reach each other.
    pub(super) fn close(&self) {
        if self.reaches_server() {
            self.is_closed.store(true, Ordering::SeqCst);
        }
    }
}

impl MoverConnections {
    /// A new connection.
    pub(super) fn open(&self, node: &Arc<Node>, server: Server) -> Arc<MoverConnection> {
        let (is_closed, last_used) = (AtomicBool::new(false), Mutex::new(Instant::now()));
        Arc::new(MoverConnection { node: node.clone(), server, restarts: self.restarts, is_closed, last_used })
    }

    /// Notes a statement of a connection; whether the server still has it.
    pub(super) fn take_statement(&self, connection: &MoverConnection) -> bool {
        let is_open = connection.is_open(self.restarts);
        if is_open {
            *lock(&connection.last_used) = Instant::now();
        }
        is_open
    }

    /// The server has lost all of them.
    #[must_use]
    pub(super) fn without_clients(self) -> Self {
        Self { restarts: self.restarts + 1, ..Self::default() }
    }

    /// Whether another connection has locked the row of a slot.
    pub(super) fn is_locked(&self, slot: Slot, by_other_than: Option<&Arc<MoverConnection>>) -> bool {
        let is_other = |holder: &Arc<MoverConnection>| by_other_than.is_none_or(|own| !Arc::ptr_eq(own, holder));
        self.rows.get(&slot).is_some_and(|holder| is_other(holder) && holder.is_open(self.restarts))
    }

    /// Whether the row of any slot is locked.
    pub(super) fn has_locks(&self) -> bool {
        self.rows.values().any(|holder| holder.is_open(self.restarts))
    }

    /// Locks the row of a slot; whether no other has it.
    pub(super) fn lock_row(&mut self, slot: Slot, connection: &Arc<MoverConnection>) -> bool {
        let is_free = !self.is_locked(slot, Some(connection));
        if is_free {
            self.rows.insert(slot, connection.clone());
        }
        is_free
    }

    /// Ends the transaction of a connection.
    pub(super) fn unlock_rows(&mut self, connection: &Arc<MoverConnection>) {
        self.rows.retain(|_, holder| !Arc::ptr_eq(holder, connection));
    }

    /// Takes the right to move slots; whether no other has it.
    pub(super) fn lock_moves(&mut self, connection: &Arc<MoverConnection>) -> bool {
        let is_free = self.mover.as_ref().is_none_or(|holder| !holder.is_open(self.restarts));
        if is_free {
            self.mover = Some(connection.clone());
        }
        is_free
    }

    /// Whether a connection has the right to move slots.
    pub(super) fn may_move(&self, connection: &Arc<MoverConnection>) -> bool {
        self.mover.as_ref().is_some_and(|holder| Arc::ptr_eq(holder, connection))
    }

    pub(super) fn unlock_moves(&mut self, connection: &Arc<MoverConnection>) {
        if self.may_move(connection) {
            self.mover = None;
        }
    }
}
