//! The order of batches, what a failure delays, and what is committable.

use crate::jobs::persist::queue::*;
use crate::ports::broker::Topic;
use crate::testing::fixtures::{comment, like};

const PARTITIONS: u32 = 4;

fn take(queue: &mut RecordQueue, slot: u16, offset: u64) {
    let partition = u32::from(slot) % PARTITIONS;
    let record = Record { topic: Topic::Reactions, partition, offset, payload: vec![0; 10] };
    let assignment = queue.take(&record);
    let operation = like(comment(slot, 1), offset + 1);
    queue.push(QueuedRecord { record, slot: Slot::new(slot).unwrap(), operation, assignment });
}

fn offsets(batch: &Batch) -> Vec<(u16, u64)> {
    batch.records.iter().map(|queued| (queued.slot.get(), queued.record.offset)).collect()
}

/// Two databases: slots below 512 and the others.
fn shard(slot: Slot) -> usize {
    usize::from(slot.get() / 512)
}

#[test]
fn one_batch_per_database_and_slot_in_order() {
    let (mut queue, now) = (RecordQueue::new(3), Instant::now());
    for (offset, slot) in [0, 4, 0, 4, 600].into_iter().enumerate() {
        take(&mut queue, slot, offset as u64);
    }
    let first = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&first), [(0, 0), (0, 2), (4, 1)], "as many as fit");
    let other = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&other), [(600, 4)], "another database");
    take(&mut queue, 8, 5);
    assert!(queue.pick(now, shard).is_none(), "one batch a database at a time");
    assert!(queue.committable().is_empty());
    queue.mark_stored(first);
    assert_eq!(queue.committable(), [(0, 3)], "everything before the oldest that is open");
    let next = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&next), [(8, 5), (4, 3)], "the slot after the last one is first");
    queue.mark_stored(next);
    queue.mark_stored(other);
    assert_eq!(queue.committable(), [(0, 6)]);
    assert!(queue.is_empty() && queue.committable().is_empty());
}

#[test]
fn failed_batch_returns_to_its_queues_and_delays_no_other() {
    let (mut queue, now) = (RecordQueue::new(1_000), Instant::now());
    for slot in 0..40 {
        take(&mut queue, slot * 4, u64::from(slot));
    }
    let all = queue.pick(now, shard).unwrap();
    assert_eq!(all.records.len(), 40);
    queue.return_failed(all, false, now);
    assert!(queue.pick(now, shard).is_none(), "not at once");
    // A new slot does not wait for those that failed.
    take(&mut queue, 400, 100);
    let healthy = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&healthy), [(400, 100)]);
    let later = queue.next_retry_at(now).unwrap();
    let parts: Vec<_> = std::iter::from_fn(|| queue.pick(later, shard)).collect();
    assert_eq!(parts.iter().map(|part| part.records.len()).collect::<Vec<_>>(), [16, 16, 8], "a few together");
    for part in parts {
        if part.records.iter().any(|queued| queued.slot.get() == 0) {
            queue.return_failed(part, false, later);
        } else {
            queue.mark_stored(part);
        }
    }
    let later = queue.next_retry_at(later).unwrap();
    let parts: Vec<_> = std::iter::from_fn(|| queue.pick(later, shard)).collect();
    assert_eq!(parts.iter().map(|part| part.records.len()).collect::<Vec<_>>(), [4, 4, 4], "fewer together");
    for part in parts {
        if part.slots().contains(&Slot::FIRST) {
            queue.return_failed(part, false, later);
        } else {
            queue.mark_stored(part);
        }
    }
    let later = later + MAX_SLOT_BACKOFF;
    let parts: Vec<_> = std::iter::from_fn(|| queue.pick(later, shard)).collect();
    assert!(parts.iter().any(|part| offsets(part) == [(0, 0)]), "alone at last: {parts:?}");
    for part in parts {
        queue.mark_stored(part);
    }
}

#[test]
fn refused_slot_is_retried_in_smaller_batches() {
    let (mut queue, now) = (RecordQueue::new(1_000), Instant::now());
    for offset in 0..100 {
        take(&mut queue, 0, offset);
    }
    let mut sizes = Vec::new();
    let mut done = Vec::new();
    // The record at 37 is poisoned until it is alone.
    while let Some(batch) = queue.pick(now, shard) {
        sizes.push(batch.records.len());
        let poisoned = batch.records.iter().any(|queued| queued.record.offset == 37);
        if poisoned && batch.records.len() > 1 {
            queue.return_failed(batch, true, now);
        } else {
            done.extend(offsets(&batch).into_iter().map(|(_, offset)| offset));
            queue.mark_stored(batch);
        }
    }
    assert_eq!(done, (0..100).collect::<Vec<_>>(), "in order, each once");
    assert!(sizes.len() < 30, "{sizes:?}");
    assert_eq!(queue.committable(), [(0, 100)]);
}

#[test]
fn revoked_partition_is_forgotten_and_begins_again() {
    let (mut queue, now) = (RecordQueue::new(2), Instant::now());
    queue.assign(0);
    for offset in 10..14 {
        take(&mut queue, 0, offset);
    }
    let in_flight = queue.pick(now, shard).unwrap();
    queue.revoke(0);
    assert_eq!(queue.len(), 0);
    queue.assign(0);
    for offset in 10..12 {
        take(&mut queue, 0, offset);
    }
    assert!(queue.pick(now, shard).is_none(), "the slot is still being written");
    queue.return_failed(in_flight, false, now);
    assert_eq!(queue.committable(), [(0, 10)], "nothing of this assignment is done");
    let mut again = Vec::new();
    while let Some(batch) = queue.pick(now + MAX_SLOT_BACKOFF, shard) {
        again.extend(offsets(&batch));
        queue.mark_stored(batch);
    }
    assert_eq!(again, [(0, 10), (0, 11)], "what was in flight is not put back: it was read again");
    assert_eq!(queue.committable(), [(0, 12)]);
    // A record before the last one taken: the partition was reset.
    take(&mut queue, 0, 3);
    let reset = queue.pick(now + MAX_SLOT_BACKOFF, shard).unwrap();
    queue.mark_stored(reset);
    assert_eq!(queue.committable(), [(0, 4)]);
}

#[test]
fn too_many_waiting_records_pause_their_partition() {
    let mut queue = RecordQueue::new(1_000);
    for offset in 0..MAX_WAITING_RECORDS as u64 {
        take(&mut queue, 0, offset);
    }
    take(&mut queue, 1, 0);
    assert_eq!(queue.partitions_to_pause(), BTreeSet::from([0]));
    let batch = queue.pick(Instant::now(), shard).unwrap();
    queue.mark_stored(batch);
    assert!(queue.partitions_to_pause().is_empty());
}
