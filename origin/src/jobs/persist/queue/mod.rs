//! Records that were read and are not in the tables yet: one queue per slot, and the progress of each
//! partition.
//!
//! Pure: awaits nothing and reads no clock. Promise: the records of a slot leave in their order, one
//! batch of a slot at a time; a batch that fails returns to the front of its queues and is retried
//! with fewer others, at last alone, so that it delays only its own slot; an offset is committable
//! when everything before it in its partition is done.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::Instant;

use crate::domain::operation::LoggedOperation;
use crate::ports::broker::Record;

/// Records that may wait per partition: eight full batches. With 16 partitions that is 128,000 records.
const MAX_WAITING_RECORDS: usize = 8_000;
/// Bytes that may wait per partition: 128 MiB with 16 partitions.
const MAX_WAITING_BYTES: usize = 8 << 20;
/// Slots in one batch after 0, 1, 2, 3 or more failures in a row.
const MAX_SLOTS_BY_FAILURES: [usize; 4] = [usize::MAX, 16, 4, 1];
/// Batches in flight to one database whose slots have failed before, beside the one healthy batch.
const MAX_SUSPECT_BATCHES: usize = 3;
/// How long a slot waits after its first failure; doubled by each further one. Without jitter: the
/// queue is pure, and only one process writes to a slot.
const FIRST_SLOT_BACKOFF: Duration = Duration::from_millis(50);
/// The longest wait of a slot.
const MAX_SLOT_BACKOFF: Duration = Duration::from_secs(1);

/// A record with its operation.
#[derive(Debug)]
pub(crate) struct QueuedRecord {
    pub(crate) record: Record,
    pub(crate) slot: Slot,
    pub(crate) operation: LoggedOperation,
    /// See [`PartitionProgress`].
    pub(crate) assignment: u64,
}

/// A batch on its way to a database.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) shard: usize,
    pub(crate) records: Vec<QueuedRecord>,
    /// Whether its slots have failed before.
    suspect: bool,
}

impl Batch {
    /// Its slots, each once.
    pub(crate) fn slots(&self) -> BTreeSet<Slot> {
        self.records.iter().map(|queued| queued.slot).collect()
    }
}

/// The waiting records of one slot.
#[derive(Debug, Default)]
struct SlotQueue {
    waiting: VecDeque<QueuedRecord>,
    in_flight: bool,
    /// Failures in a row.
    failures: usize,
    /// How many of the first records have failed before.
    suspects: usize,
    /// How many records may be in one batch; `None` for all.
    max_records: Option<usize>,
    not_before: Option<Instant>,
}

impl SlotQueue {
    fn is_ready(&self, now: Instant) -> bool {
        !self.in_flight && !self.waiting.is_empty() && self.not_before.is_none_or(|at| at <= now)
    }

    /// How careful the next batch is: an index into [`MAX_SLOTS_BY_FAILURES`].
    fn caution(&self) -> usize {
        self.failures.min(MAX_SLOTS_BY_FAILURES.len() - 1)
    }
}

/// The progress of a partition since it was assigned.
#[derive(Debug)]
struct PartitionProgress {
    /// Counts assignments: records of an earlier one are read again.
    assignment: u64,
    /// The offset after the last record taken.
    next: u64,
    /// Offsets that are taken and not done.
    taken: BTreeSet<u64>,
    bytes: usize,
    committed: u64,
}

impl PartitionProgress {
    /// The offset before which everything is done.
    fn done_before(&self) -> u64 {
        self.taken.first().copied().unwrap_or(self.next)
    }
}

#[derive(Debug)]
pub(crate) struct RecordQueue {
    /// Records of one batch, at most.
    batch: usize,
    slots: BTreeMap<Slot, SlotQueue>,
    partitions: HashMap<u32, PartitionProgress>,
    assignments: u64,
    /// Batches in flight to each database: healthy ones, suspect ones.
    in_flight: HashMap<usize, [usize; 2]>,
    /// Where the next batch to each database begins, so that a busy slot does not starve the others.
    next_slots: HashMap<usize, Slot>,
}

impl RecordQueue {
    pub(crate) fn new(batch: usize) -> Self {
        Self {
            batch: batch.max(1),
            slots: BTreeMap::new(),
            partitions: HashMap::new(),
            assignments: 0,
            in_flight: HashMap::new(),
            next_slots: HashMap::new(),
        }
    }

    /// Drops the waiting records of a partition that was revoked.
    pub(crate) fn revoke(&mut self, partition: u32) {
        self.partitions.remove(&partition);
        for queue in self.slots.values_mut() {
            let front = queue.waiting.iter().take(queue.suspects);
            queue.suspects = front.filter(|queued| queued.record.partition != partition).count();
            queue.waiting.retain(|queued| queued.record.partition != partition);
        }
        self.slots.retain(|_, queue| queue.in_flight || !queue.waiting.is_empty());
    }

    /// Begins a partition anew: it is read from its committed offset.
    pub(crate) fn assign(&mut self, partition: u32) {
        self.revoke(partition);
        self.assignments += 1;
        let progress =
            PartitionProgress { assignment: self.assignments, next: 0, taken: BTreeSet::new(), bytes: 0, committed: 0 };
        self.partitions.insert(partition, progress);
    }

    /// The assigned partitions.
    pub(crate) fn partitions(&self) -> Vec<u32> {
        self.partitions.keys().copied().collect()
    }

    /// The current assignment of a partition.
    pub(crate) fn assignment(&self, partition: u32) -> Option<u64> {
        self.partitions.get(&partition).map(|progress| progress.assignment)
    }

    /// Adds a record to the progress of its partition and returns the assignment. A record before the
    /// last one taken means that the partition begins again.
    pub(crate) fn take(&mut self, record: &Record) -> u64 {
        if self.partitions.get(&record.partition).is_none_or(|progress| record.offset < progress.next) {
            self.assign(record.partition);
        }
        let Some(progress) = self.partitions.get_mut(&record.partition) else { return 0 };
        progress.next = record.offset + 1;
        progress.taken.insert(record.offset);
        progress.bytes += record.payload.len();
        progress.assignment
    }

    /// Appends a record to the queue of its slot.
    pub(crate) fn push(&mut self, queued: QueuedRecord) {
        self.slots.entry(queued.slot).or_default().waiting.push_back(queued);
    }

    /// Whether no record waits or is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Records that wait or are in flight.
    pub(crate) fn len(&self) -> usize {
        self.partitions.values().map(|progress| progress.taken.len()).sum()
    }

    /// Partitions to pause: too many of their records wait.
    pub(crate) fn partitions_to_pause(&self) -> BTreeSet<u32> {
        let is_full = |p: &PartitionProgress| p.taken.len() >= MAX_WAITING_RECORDS || p.bytes >= MAX_WAITING_BYTES;
        self.partitions.iter().filter(|(_, progress)| is_full(progress)).map(|(partition, _)| *partition).collect()
    }

    /// When the next failed slot may be retried. A slot whose time has come already starts when a batch ends.
    pub(crate) fn next_retry_at(&self, now: Instant) -> Option<Instant> {
        let waiting = self.slots.values().filter(|queue| !queue.in_flight && !queue.waiting.is_empty());
        waiting.filter_map(|queue| queue.not_before).filter(|at| *at > now).min()
    }

    /// The next batch to write: of one database, of slots that have no batch in flight.
    pub(crate) fn pick(&mut self, now: Instant, shard: impl Fn(Slot) -> usize) -> Option<Batch> {
        let ready = |(slot, queue): (&Slot, &SlotQueue)| queue.is_ready(now).then(|| (shard(*slot), queue.caution()));
        let (shard_index, caution) =
            self.slots.iter().filter_map(ready).find(|(shard_index, caution)| self.has_room(*shard_index, *caution))?;
        let next_slot = self.next_slots.get(&shard_index).copied().unwrap_or(Slot::FIRST);
        let order = self.slots.range(next_slot..).chain(self.slots.range(..next_slot));
        let candidates = order.filter(|queue| ready(*queue) == Some((shard_index, caution)));
        let slots: Vec<Slot> = candidates.map(|(slot, _)| *slot).take(MAX_SLOTS_BY_FAILURES[caution]).collect();
        let mut records = Vec::new();
        for slot in slots {
            let Some(queue) = self.slots.get_mut(&slot).filter(|_| records.len() < self.batch) else { break };
            let room = self.batch - records.len();
            let count = queue.waiting.len().min(queue.max_records.unwrap_or(usize::MAX)).min(room);
            queue.in_flight = true;
            records.extend(queue.waiting.drain(..count));
            self.next_slots.insert(shard_index, Slot::new(slot.get() + 1).unwrap_or(Slot::FIRST));
        }
        let suspect = caution > 0;
        self.in_flight.entry(shard_index).or_default()[usize::from(suspect)] += 1;
        Some(Batch { shard: shard_index, records, suspect })
    }

    /// Whether one more batch of this caution may be in flight to a database.
    fn has_room(&self, shard: usize, caution: usize) -> bool {
        let [healthy, suspect] = self.in_flight.get(&shard).copied().unwrap_or_default();
        if caution == 0 { healthy == 0 } else { suspect < MAX_SUSPECT_BATCHES }
    }

    /// Removes a batch that is in the tables.
    pub(crate) fn mark_stored(&mut self, batch: Batch) {
        self.release_in_flight(&batch);
        for slot in batch.slots() {
            let Some(queue) = self.slots.get_mut(&slot) else { continue };
            queue.in_flight = false;
            queue.not_before = None;
            queue.suspects = queue.suspects.saturating_sub(batch.records.iter().filter(|e| e.slot == slot).count());
            if queue.suspects == 0 {
                (queue.failures, queue.max_records) = (0, None);
            } else {
                queue.max_records = queue.max_records.map(|count| count.saturating_mul(4));
            }
            if queue.waiting.is_empty() {
                self.slots.remove(&slot);
            }
        }
        for queued in batch.records {
            self.mark_done(&queued.record, queued.assignment);
        }
    }

    /// Returns a batch that is not known to be in the tables to its queues. What the database refused
    /// is retried at once, what it did not answer after a backoff.
    pub(crate) fn return_failed(&mut self, batch: Batch, refused: bool, now: Instant) {
        self.release_in_flight(&batch);
        let slots = batch.slots();
        let alone = slots.len() == 1;
        for slot in &slots {
            let Some(queue) = self.slots.get_mut(slot) else { continue };
            queue.in_flight = false;
            queue.failures += 1;
            let doubled = FIRST_SLOT_BACKOFF.saturating_mul(1 << queue.failures.min(10).saturating_sub(1));
            queue.not_before = (!refused).then(|| now + doubled.min(MAX_SLOT_BACKOFF));
            if alone {
                queue.max_records = Some((batch.records.len() / 4).max(1));
                // The batch had no other slot: dividing by slots would not help.
                queue.failures = queue.failures.max(MAX_SLOTS_BY_FAILURES.len() - 1);
            }
        }
        let mut back: HashMap<Slot, usize> = HashMap::new();
        for queued in batch.records.into_iter().rev() {
            let is_held = self.partitions.get(&queued.record.partition);
            if is_held.is_none_or(|progress| progress.assignment != queued.assignment) {
                continue;
            }
            *back.entry(queued.slot).or_default() += 1;
            if let Some(queue) = self.slots.get_mut(&queued.slot) {
                queue.waiting.push_front(queued);
            }
        }
        for slot in slots {
            let Some(queue) = self.slots.get_mut(&slot) else { continue };
            queue.suspects = queue.suspects.max(back.get(&slot).copied().unwrap_or(0));
            if queue.waiting.is_empty() {
                self.slots.remove(&slot);
            }
        }
    }

    fn release_in_flight(&mut self, batch: &Batch) {
        if let Some(in_flight) = self.in_flight.get_mut(&batch.shard) {
            let count = &mut in_flight[usize::from(batch.suspect)];
            *count = count.saturating_sub(1);
        }
    }

    /// Marks a record as done: stored, or a dead letter.
    pub(crate) fn mark_done(&mut self, record: &Record, assignment: u64) {
        let progress = self.partitions.get_mut(&record.partition).filter(|p| p.assignment == assignment);
        let Some(progress) = progress else { return };
        if progress.taken.remove(&record.offset) {
            progress.bytes = progress.bytes.saturating_sub(record.payload.len());
        }
    }

    /// The offsets that became committable since the last call: partition, and the offset before which
    /// everything is done.
    pub(crate) fn committable(&mut self) -> Vec<(u32, u64)> {
        let mut offsets = Vec::new();
        for (partition, progress) in &mut self.partitions {
            let done = progress.done_before();
            if done > progress.committed && progress.next > 0 {
                progress.committed = done;
                offsets.push((*partition, done));
            }
        }
        offsets
    }
}
