//! What was read and is not in the tables yet: one line a slot, and how far each partition is.
//!
//! Nothing is awaited and no time is read here. Promise: a slot's events leave in their order, one
//! batch of a slot at a time; what fails goes back to the front of its line and is tried again in
//! smaller company, alone at last, so that it holds up only what stands behind it in its own slot;
//! an offset is committable when everything before it in its partition is done.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::Instant;

use crate::domain::operation::LoggedOperation;
use crate::ports::broker::Record;

/// A partition is not read on from here: eight full batches wait. With 16 partitions that is 128,000 events.
const WAITING_EVENTS: usize = 8_000;
/// The same in bytes: at most 128 MiB with 16 partitions.
const WAITING_BYTES: usize = 8 << 20;
/// Slots that are tried together after so many failures in a row: all, a few, one.
const TOGETHER: [usize; 4] = [usize::MAX, 16, 4, 1];
/// Batches of slots that have failed before, in flight to one database beside the healthy one.
const SUSPECT_FLIGHTS: usize = 3;
/// How long a slot waits after its first failure; twice as long after each one more.
const BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// An event with the message it came in.
#[derive(Debug)]
pub(crate) struct QueuedRecord {
    pub(crate) message: Record,
    pub(crate) slot: Slot,
    pub(crate) stamped: LoggedOperation,
    /// See [`Progress`].
    pub(crate) assignment: u64,
}

/// A batch on its way to a database.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) shard: usize,
    pub(crate) events: Vec<QueuedRecord>,
    /// Whether its slots have failed before.
    suspect: bool,
}

impl Flight {
    /// Its slots, each once.
    pub(crate) fn slots(&self) -> BTreeSet<Slot> {
        self.events.iter().map(|event| event.slot).collect()
    }
}

/// The events of one slot that wait.
#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<QueuedRecord>,
    flying: bool,
    /// Failures in a row.
    failures: usize,
    /// So many of the first events have failed before.
    suspects: usize,
    /// How many may fly together; `None` for as many as there are.
    most: Option<usize>,
    not_before: Option<Instant>,
}

impl Line {
    fn is_ready(&self, now: Instant) -> bool {
        !self.flying && !self.waiting.is_empty() && self.not_before.is_none_or(|at| at <= now)
    }

    /// How careful its next batch is: an index into [`TOGETHER`].
    fn care(&self) -> usize {
        self.failures.min(TOGETHER.len() - 1)
    }
}

/// How far a partition is since it was assigned.
#[derive(Debug)]
struct Progress {
    /// Counts assignments: what was taken under an earlier one is read again.
    assignment: u64,
    /// The offset after the last one taken.
    next: u64,
    /// Taken and not done.
    open: BTreeSet<u64>,
    bytes: usize,
    committed: u64,
}

impl Progress {
    fn done(&self) -> u64 {
        self.open.first().copied().unwrap_or(self.next)
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    /// Events in a batch at most.
    batch: usize,
    lines: BTreeMap<Slot, Line>,
    partitions: HashMap<u32, Progress>,
    assignments: u64,
    /// Batches in flight to each database: healthy ones and others.
    flying: HashMap<usize, [usize; 2]>,
    /// Where the next batch to a database begins, so that a busy slot does not starve those after it.
    turns: HashMap<usize, Slot>,
}

impl Queue {
    pub(crate) fn new(batch: usize) -> Self {
        Self {
            batch: batch.max(1),
            lines: BTreeMap::new(),
            partitions: HashMap::new(),
            assignments: 0,
            flying: HashMap::new(),
            turns: HashMap::new(),
        }
    }

    /// Forgets what waits of a partition: it belongs to somebody else now.
    pub(crate) fn revoke(&mut self, partition: u32) {
        self.partitions.remove(&partition);
        for line in self.lines.values_mut() {
            let front = line.waiting.iter().take(line.suspects);
            line.suspects = front.filter(|event| event.message.partition != partition).count();
            line.waiting.retain(|event| event.message.partition != partition);
        }
        self.lines.retain(|_, line| line.flying || !line.waiting.is_empty());
    }

    /// The partition is read from the beginning of what was not committed.
    pub(crate) fn assign(&mut self, partition: u32) {
        self.revoke(partition);
        self.assignments += 1;
        let progress =
            Progress { assignment: self.assignments, next: 0, open: BTreeSet::new(), bytes: 0, committed: 0 };
        self.partitions.insert(partition, progress);
    }

    /// The partitions held.
    pub(crate) fn partitions(&self) -> Vec<u32> {
        self.partitions.keys().copied().collect()
    }

    /// The assignment a partition is held under.
    pub(crate) fn assignment(&self, partition: u32) -> Option<u64> {
        self.partitions.get(&partition).map(|progress| progress.assignment)
    }

    /// Notes that a message was taken; under which assignment. A message before the last one taken
    /// means that the partition begins again.
    pub(crate) fn take(&mut self, message: &Record) -> u64 {
        if self.partitions.get(&message.partition).is_none_or(|progress| message.offset < progress.next) {
            self.assign(message.partition);
        }
        let Some(progress) = self.partitions.get_mut(&message.partition) else { return 0 };
        progress.next = message.offset + 1;
        progress.open.insert(message.offset);
        progress.bytes += message.payload.len();
        progress.assignment
    }

    /// Puts an event at the end of its slot's line.
    pub(crate) fn push(&mut self, event: QueuedRecord) {
        self.lines.entry(event.slot).or_default().waiting.push_back(event);
    }

    /// Whether nothing waits and nothing flies.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Events that wait or fly.
    pub(crate) fn len(&self) -> usize {
        self.partitions.values().map(|progress| progress.open.len()).sum()
    }

    /// Partitions of which too much waits.
    pub(crate) fn full(&self) -> BTreeSet<u32> {
        let is_full = |p: &Progress| p.open.len() >= WAITING_EVENTS || p.bytes >= WAITING_BYTES;
        self.partitions.iter().filter(|(_, progress)| is_full(progress)).map(|(partition, _)| *partition).collect()
    }

    /// When the next slot that waits after a failure is due; what is due already waits for a flight
    /// to end.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        let waiting = self.lines.values().filter(|line| !line.flying && !line.waiting.is_empty());
        waiting.filter_map(|line| line.not_before).filter(|at| *at > now).min()
    }

    /// The next batch to send, if there is one: of one database, of slots that nothing flies of.
    pub(crate) fn pick(&mut self, now: Instant, shard: impl Fn(Slot) -> usize) -> Option<Flight> {
        let ready = |(slot, line): (&Slot, &Line)| line.is_ready(now).then(|| (shard(*slot), line.care()));
        let (at, care) = self.lines.iter().filter_map(ready).find(|(at, care)| self.is_free(*at, *care))?;
        let turn = self.turns.get(&at).copied().unwrap_or(Slot::FIRST);
        let order = self.lines.range(turn..).chain(self.lines.range(..turn));
        let alike = order.filter(|line| ready(*line) == Some((at, care)));
        let slots: Vec<Slot> = alike.map(|(slot, _)| *slot).take(TOGETHER[care]).collect();
        let mut events = Vec::new();
        for slot in slots {
            let Some(line) = self.lines.get_mut(&slot).filter(|_| events.len() < self.batch) else { break };
            let room = self.batch - events.len();
            let many = line.waiting.len().min(line.most.unwrap_or(usize::MAX)).min(room);
            line.flying = true;
            events.extend(line.waiting.drain(..many));
            self.turns.insert(at, Slot::new(slot.get() + 1).unwrap_or(Slot::FIRST));
        }
        let suspect = care > 0;
        self.flying.entry(at).or_default()[usize::from(suspect)] += 1;
        Some(Flight { shard: at, events, suspect })
    }

    /// Whether one batch more of such care may fly to a database.
    fn is_free(&self, shard: usize, care: usize) -> bool {
        let [healthy, suspect] = self.flying.get(&shard).copied().unwrap_or_default();
        if care == 0 { healthy == 0 } else { suspect < SUSPECT_FLIGHTS }
    }

    /// A batch is in the tables.
    pub(crate) fn landed(&mut self, flight: Flight) {
        self.ended(&flight);
        for slot in flight.slots() {
            let Some(line) = self.lines.get_mut(&slot) else { continue };
            line.flying = false;
            line.not_before = None;
            line.suspects = line.suspects.saturating_sub(flight.events.iter().filter(|e| e.slot == slot).count());
            if line.suspects == 0 {
                (line.failures, line.most) = (0, None);
            } else {
                line.most = line.most.map(|most| most.saturating_mul(4));
            }
            if line.waiting.is_empty() {
                self.lines.remove(&slot);
            }
        }
        for event in flight.events {
            self.done(&event.message, event.assignment);
        }
    }

    /// A batch is not known to be in the tables: its events go back to where they were. What the
    /// database refused is tried again at once, what it did not answer after a while.
    pub(crate) fn failed(&mut self, flight: Flight, refused: bool, now: Instant) {
        self.ended(&flight);
        let slots = flight.slots();
        let alone = slots.len() == 1;
        for slot in &slots {
            let Some(line) = self.lines.get_mut(slot) else { continue };
            line.flying = false;
            line.failures += 1;
            let doubled = BACKOFF.saturating_mul(1 << line.failures.min(10).saturating_sub(1));
            line.not_before = (!refused).then(|| now + doubled.min(LONGEST_BACKOFF));
            if alone {
                line.most = Some((flight.events.len() / 4).max(1));
                // Nothing else was in its company: it need not be made smaller once more.
                line.failures = line.failures.max(TOGETHER.len() - 1);
            }
        }
        let mut back: HashMap<Slot, usize> = HashMap::new();
        for event in flight.events.into_iter().rev() {
            let is_held = self.partitions.get(&event.message.partition);
            if is_held.is_none_or(|progress| progress.assignment != event.assignment) {
                continue;
            }
            *back.entry(event.slot).or_default() += 1;
            if let Some(line) = self.lines.get_mut(&event.slot) {
                line.waiting.push_front(event);
            }
        }
        for slot in slots {
            let Some(line) = self.lines.get_mut(&slot) else { continue };
            line.suspects = line.suspects.max(back.get(&slot).copied().unwrap_or(0));
            if line.waiting.is_empty() {
                self.lines.remove(&slot);
            }
        }
    }

    fn ended(&mut self, flight: &Flight) {
        if let Some(flying) = self.flying.get_mut(&flight.shard) {
            let count = &mut flying[usize::from(flight.suspect)];
            *count = count.saturating_sub(1);
        }
    }

    /// Nothing is to be done with a message any more.
    pub(crate) fn done(&mut self, message: &Record, assignment: u64) {
        let progress = self.partitions.get_mut(&message.partition).filter(|p| p.assignment == assignment);
        let Some(progress) = progress else { return };
        if progress.open.remove(&message.offset) {
            progress.bytes = progress.bytes.saturating_sub(message.payload.len());
        }
    }

    /// What can be committed and was not handed out before: partition, and the offset before which
    /// everything is done.
    pub(crate) fn committable(&mut self) -> Vec<(u32, u64)> {
        let mut offsets = Vec::new();
        for (partition, progress) in &mut self.partitions {
            let done = progress.done();
            if done > progress.committed && progress.next > 0 {
                progress.committed = done;
                offsets.push((*partition, done));
            }
        }
        offsets
    }
}
