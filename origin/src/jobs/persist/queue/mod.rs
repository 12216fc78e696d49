//! Records that were read and are not in the tables yet: one queue per slot, and the progress of each
//! partition.
//!
//! Pure: awaits nothing and reads no clock. Promise: the records of a slot leave in their order, one
//! batch of a slot at a time; a batch that fails returns to the front of its queues and is retried
//! with fewer others, at last alone, so that it delays only its own slot; a checkpoint of a database is never
//! beyond a record of its slots that is not done; an offset is committable when every database has stored a
//! checkpoint that reaches it.

mod batch;
mod partition_start;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::Instant;

pub(crate) use crate::jobs::persist::queue::batch::{Batch, QueuedRecord};
pub(crate) use crate::jobs::persist::queue::partition_start::{PartitionStart, SeenStored};
use crate::ports::broker::Record;

/// Records that may wait per partition: two full batches. With 64 partitions that is 128,000 records.
const MAX_WAITING_RECORDS: usize = 2_000;
/// Bytes that may wait per partition: 128 MiB with 64 partitions.
const MAX_WAITING_BYTES: usize = 2 << 20;
/// Slots in one batch after 0, 1, 2, 3 or more failures in a row.
const MAX_SLOTS_BY_FAILURES: [usize; 4] = [usize::MAX, 16, 4, 1];
/// Batches in flight to one database whose slots have failed before, beside the one healthy batch.
const MAX_SUSPECT_BATCHES: usize = 3;
/// How long a slot waits after its first failure; doubled by each further one. Without jitter: the
/// queue is pure, and only one process writes to a slot.
const FIRST_SLOT_BACKOFF: Duration = Duration::from_millis(50);
/// The longest wait of a slot.
const MAX_SLOT_BACKOFF: Duration = Duration::from_secs(1);

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
    /// Whether it is known where its reading begins.
    is_started: bool,
    /// The offset after the last record taken.
    next: u64,
    /// Offsets that are taken and not done, with their slots; a record that could not be read has none.
    taken: BTreeMap<u64, Option<Slot>>,
    bytes: usize,
    committed: u64,
    /// By database: the checkpoint that it has stored; `None` while that is not known.
    stored: Vec<Option<u64>>,
    /// Databases whose records are not taken, and the first offset that was left out. They are read again when
    /// the database answers.
    behind: BTreeMap<usize, u64>,
    done_before: HashMap<Slot, u64>,
    /// By slot: the offset after its last record that is done.
    done: BTreeMap<Slot, u64>,
    /// What was seen stored before this assignment, which stands until it is started.
    seen_before: SeenStored,
}

impl PartitionProgress {
    /// The offset before which everything of a database is done, if the records with these offsets are.
    fn reaches(&self, database: usize, done: &HashSet<u64>, database_of: impl Fn(Slot) -> usize) -> u64 {
        let belongs = |slot: &Option<Slot>| slot.is_none_or(|slot| database_of(slot) == database);
        let open = self.taken.iter().find(|(offset, slot)| belongs(slot) && !done.contains(*offset));
        let next = open.map_or(self.next, |(offset, _)| *offset);
        self.behind.get(&database).map_or(next, |left_out| next.min(*left_out))
    }

    /// The offset before which every database has stored everything.
    fn stored_before(&self) -> u64 {
        let all = self.stored.iter().map(|stored| stored.unwrap_or(0));
        all.min().unwrap_or(0).min(self.next)
    }
}

/// What became of a record that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is a part of this assignment and must be pushed or marked as done.
    Open(u64),
    /// It was done before, it is read again later, or its partition is not assigned.
    Ignored,
    /// It is not the next one of its partition, which was expected at `expected`.
    Unexpected { expected: u64 },
}

#[derive(Debug)]
pub(crate) struct RecordQueue {
    /// Records of one batch, at most.
    batch: usize,
    slots: BTreeMap<Slot, SlotQueue>,
    partitions: BTreeMap<u32, PartitionProgress>,
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
            partitions: BTreeMap::new(),
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

    /// Begins a partition anew; the number of the assignment. Nothing of it is taken before [`Self::start`].
    pub(crate) fn assign(&mut self, partition: u32) -> u64 {
        let committed = self.partitions.get(&partition).map_or(0, |progress| progress.committed);
        let seen_before = self.seen(partition);
        self.revoke(partition);
        self.assignments += 1;
        let progress = PartitionProgress {
            assignment: self.assignments,
            is_started: false,
            next: 0,
            taken: BTreeMap::new(),
            bytes: 0,
            committed,
            stored: vec![],
            behind: BTreeMap::new(),
            done_before: HashMap::new(),
            done: BTreeMap::new(),
            seen_before,
        };
        self.partitions.insert(partition, progress);
        self.assignments
    }

    /// Says where the reading of an assigned partition begins.
    pub(crate) fn start(&mut self, partition: u32, start: PartitionStart) {
        let Some(progress) = self.partitions.get_mut(&partition) else { return };
        progress.is_started = true;
        progress.seen_before = SeenStored::default();
        progress.next = start.offset;
        progress.done_before = start.done_before;
        let behind = start.checkpoints.iter().enumerate().filter(|(_, checkpoint)| checkpoint.is_none());
        progress.behind = behind.map(|(database, _)| (database, start.offset)).collect();
        progress.stored = start.checkpoints;
    }

    /// The slots of a database that have done records beyond its checkpoint, and the offset after the last of each.
    pub(crate) fn applied(
        &self,
        partition: u32,
        database: usize,
        database_of: impl Fn(Slot) -> usize,
    ) -> Vec<(Slot, u64)> {
        let Some(progress) = self.partitions.get(&partition) else { return vec![] };
        let stored = progress.stored.get(database).copied().flatten().unwrap_or(0);
        let beyond = progress.done.iter().filter(|(slot, next)| **next > stored && database_of(**slot) == database);
        beyond.map(|(slot, next)| (*slot, *next)).collect()
    }

    /// What this process has seen stored of a partition since it was last started; the moves are not known here.
    pub(crate) fn seen(&self, partition: u32) -> SeenStored {
        match self.partitions.get(&partition) {
            None => SeenStored::default(),
            Some(progress) if !progress.is_started => progress.seen_before.clone(),
            Some(progress) => SeenStored {
                checkpoints: progress.stored.clone(),
                positions: progress.done.clone(),
                ..SeenStored::default()
            },
        }
    }

    /// Whether a database has stored what is committed of a partition.
    pub(crate) fn is_committed_stored(&self, partition: u32, database: usize) -> bool {
        let progress = self.partitions.get(&partition);
        progress.is_some_and(|of| of.stored.get(database).copied().flatten().is_some_and(|next| next >= of.committed))
    }

    /// What databases have stored of a partition since it was assigned; nothing before it is started.
    pub(crate) fn stored(&self, partition: u32) -> &[Option<u64>] {
        self.partitions.get(&partition).map_or(&[], |progress| &progress.stored)
    }

    /// The number of the last assignment of any partition.
    pub(crate) const fn last_assignment(&self) -> u64 {
        self.assignments
    }

    /// The partitions of a batch that were assigned since it was picked, and are still.
    pub(crate) fn begun_since(&self, batch: &Batch) -> BTreeSet<u32> {
        let is_begun = |queued: &&QueuedRecord| {
            self.assignment(queued.record.partition).is_some_and(|assignment| assignment != queued.assignment)
        };
        batch.records.iter().filter(is_begun).map(|queued| queued.record.partition).collect()
    }

    /// A database has stored these checkpoints, of partitions as they were up to an assignment. What is known of one
    /// that was assigned since was read later: a slot that came to the database may have lowered it.
    pub(crate) fn mark_checkpoints(&mut self, database: usize, checkpoints: &[(u32, u64)], last_assignment: u64) {
        for (partition, next) in checkpoints {
            let progress = self.partitions.get_mut(partition).filter(|of| of.assignment <= last_assignment);
            if let Some(Some(stored)) = progress.and_then(|progress| progress.stored.get_mut(database)) {
                *stored = (*stored).max(*next);
            }
        }
    }

    /// The checkpoints that a database can store if these records are stored with them: of their partitions, and
    /// those that advance. `all`: of all partitions.
    pub(crate) fn checkpoints(
        &self,
        database: usize,
        with: &[QueuedRecord],
        all: bool,
        database_of: impl Fn(Slot) -> usize,
    ) -> Vec<(u32, u64)> {
        let mut checkpoints = Vec::new();
        for (partition, progress) in &self.partitions {
            let Some(stored) = progress.stored.get(database).copied().flatten() else { continue };
            let done = with.iter().filter(|queued| queued.assignment == progress.assignment);
            let done: HashSet<u64> = done.map(|queued| queued.record.offset).collect();
            let next = progress.reaches(database, &done, &database_of);
            if all || next > stored || !done.is_empty() {
                checkpoints.push((*partition, next.max(stored)));
            }
        }
        checkpoints
    }

    /// Partitions in which records of a database were left out.
    pub(crate) fn partitions_behind(&self, database: usize) -> Vec<u32> {
        let behind = self.partitions.iter().filter(|(_, progress)| progress.behind.contains_key(&database));
        behind.map(|(partition, _)| *partition).collect()
    }

    /// Leaves out the waiting records of these databases in partitions that are full, so that the records of
    /// others are read.
    pub(crate) fn leave_out(&mut self, databases: &BTreeSet<usize>, database_of: impl Fn(Slot) -> usize) {
        for partition in self.partitions_to_pause() {
            let Some(progress) = self.partitions.get_mut(&partition) else { continue };
            for (slot, queue) in &mut self.slots {
                let database = database_of(*slot);
                if !databases.contains(&database) {
                    continue;
                }
                queue.waiting.retain(|queued| {
                    let leave = queued.record.partition == partition && queued.assignment == progress.assignment;
                    if leave && progress.taken.remove(&queued.record.offset).is_some() {
                        progress.bytes = progress.bytes.saturating_sub(queued.record.payload.len());
                        let first = progress.behind.entry(database).or_insert(queued.record.offset);
                        *first = (*first).min(queued.record.offset);
                    }
                    !leave
                });
                queue.suspects = queue.suspects.min(queue.waiting.len());
            }
        }
        self.slots.retain(|_, queue| queue.in_flight || !queue.waiting.is_empty());
    }

    /// The assigned partitions.
    pub(crate) fn partitions(&self) -> Vec<u32> {
        self.partitions.keys().copied().collect()
    }

    /// The current assignment of a partition.
    pub(crate) fn assignment(&self, partition: u32) -> Option<u64> {
        self.partitions.get(&partition).map(|progress| progress.assignment)
    }

    /// Whether a record is the next one of its partition.
    pub(crate) fn is_next(&self, record: &Record) -> bool {
        let progress = self.partitions.get(&record.partition);
        progress.is_some_and(|progress| progress.is_started && progress.next == record.offset)
    }

    /// Adds a record to the progress of its partition, with its slot if it could be read.
    pub(crate) fn take(&mut self, record: &Record, slot: Option<Slot>, database_of: impl Fn(Slot) -> usize) -> Taken {
        let progress = self.partitions.get_mut(&record.partition).filter(|progress| progress.is_started);
        let Some(progress) = progress else { return Taken::Ignored };
        if record.offset != progress.next {
            return Taken::Unexpected { expected: progress.next };
        }
        progress.next = record.offset + 1;
        if let Some(slot) = slot
            && (progress.done_before.get(&slot).is_some_and(|done| record.offset < *done)
                || progress.behind.contains_key(&database_of(slot)))
        {
            return Taken::Ignored;
        }
        progress.taken.insert(record.offset, slot);
        progress.bytes += record.payload.len();
        Taken::Open(progress.assignment)
    }

    /// The partition has no records before this offset that were not read.
    pub(crate) fn pass_hole(&mut self, partition: u32, offset: u64) {
        if let Some(progress) = self.partitions.get_mut(&partition) {
            progress.next = progress.next.max(offset);
        }
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
        let checkpoints = self.checkpoints(shard_index, &records, false, &shard);
        let last_assignment = self.assignments;
        Some(Batch { shard: shard_index, records, suspect, checkpoints, last_assignment })
    }

    /// Whether one more batch of this caution may be in flight to a database.
    fn has_room(&self, shard: usize, caution: usize) -> bool {
        let [healthy, suspect] = self.in_flight.get(&shard).copied().unwrap_or_default();
        if caution == 0 { healthy == 0 } else { suspect < MAX_SUSPECT_BATCHES }
    }

    /// Removes a batch that is in the tables.
    pub(crate) fn mark_stored(&mut self, batch: Batch) {
        self.release_in_flight(&batch);
        self.mark_checkpoints(batch.shard, &batch.checkpoints, batch.last_assignment);
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
        if let Some(slot) = progress.taken.remove(&record.offset) {
            progress.bytes = progress.bytes.saturating_sub(record.payload.len());
            if let Some(slot) = slot {
                let next = progress.done.entry(slot).or_default();
                *next = (*next).max(record.offset + 1);
            }
        }
    }

    /// The offsets that became committable since the last call: partition, and the offset that the checkpoints
    /// of all databases reach.
    pub(crate) fn committable(&mut self) -> Vec<(u32, u64)> {
        let mut offsets = Vec::new();
        for (partition, progress) in &mut self.partitions {
            let stored = progress.stored_before();
            if stored > progress.committed {
                progress.committed = stored;
                offsets.push((*partition, stored));
            }
        }
        offsets
    }
}
