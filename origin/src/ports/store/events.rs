//! The port to the queues of events: what members, moderators and other programs are to be notified of.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::event::Event;
use crate::ports::store::Result;

/// An event in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedEvent {
    /// Its number in its database.
    pub seq: u64,
    pub event: Event,
    /// When it was queued, in Unix milliseconds by the clock of its database.
    pub queued_at: u64,
}

/// What waits in a queue of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventBacklog {
    /// The smallest number of an event; 0 for an empty queue.
    pub first: u64,
    /// Events; numbers that were never used may be counted.
    pub events: u64,
    /// How long the oldest has waited, in milliseconds by the clock of its database; 0 for an empty queue.
    pub age_ms: u64,
}

/// Reads and empties the queues. Each database has one. An event is written in the transaction of what caused it, so
/// none is missed; it is removed when the rows that it leads to are written, so one may be read twice.
#[async_trait]
pub trait EventQueues: Send + Sync + Debug {
    /// The oldest events of one database whose numbers are above `after`. One with a smaller number may be committed
    /// later.
    async fn read_events(&self, database: usize, after: u64, count: usize) -> Result<Vec<QueuedEvent>>;
    /// Removes these events.
    async fn remove_events(&self, database: usize, events: &[QueuedEvent]) -> Result<()>;
    /// Removes all events up to this number, a few at a time.
    async fn clear_events(&self, database: usize, last: u64) -> Result<()>;
    /// What waits in one database.
    async fn read_event_backlog(&self, database: usize) -> Result<EventBacklog>;
    /// Whether `holder` may do a job of this database alone for `duration_ms` from now, by the clock of the database:
    /// it holds the job already, or none does any longer.
    async fn claim_job(&self, database: usize, job: &'static str, holder: &str, duration_ms: u64) -> Result<bool>;
}
