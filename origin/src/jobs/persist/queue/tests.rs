//! The order of batches, what a failure delays, and what is committable.

use crate::jobs::persist::queue::*;
use crate::ports::broker::Topic;
use crate::testing::fixtures::{comment, like};

const PARTITIONS: u32 = 4;

/// Takes a record of a slot, as the next one of its partition; the first one begins the partition.
fn take(queue: &mut RecordQueue, slot: u16, offset: u64) -> Taken {
    let partition = u32::from(slot) % PARTITIONS;
    if queue.stored(partition).is_empty() {
        begin(queue, partition, &[Some(offset), Some(offset)]);
    }
    let record = Record { topic: Topic::Reactions, partition, offset, payload: vec![0; 10], trace_parent: None };
    let (slot, operation) = (Slot::new(slot).unwrap(), like(comment(slot, 1), offset + 1));
    let taken = queue.take(&record, Some(slot), shard);
    if let Taken::Open(assignment) = taken {
        queue.push(QueuedRecord { record, slot, operation, assignment });
    }
    taken
}

/// Assigns a partition and begins it at the least of these checkpoints.
fn begin(queue: &mut RecordQueue, partition: u32, checkpoints: &[Option<u64>]) {
    queue.assign(partition);
    let offset = checkpoints.iter().flatten().copied().min().unwrap();
    queue.start(partition, PartitionStart { offset, checkpoints: checkpoints.to_vec(), done_before: HashMap::new() });
}

/// Stores the checkpoints of both databases, as they are without a batch.
fn store_checkpoints(queue: &mut RecordQueue) {
    for database in 0..2 {
        let checkpoints = queue.checkpoints(database, &[], false, shard);
        queue.mark_checkpoints(database, &checkpoints, queue.last_assignment());
    }
}

fn offsets(batch: &Batch) -> Vec<(u16, u64)> {
    batch.records.iter().map(|queued| (queued.slot.get(), queued.record.offset)).collect()
}

/// Two databases: slots below 512 and the others.
fn shard(slot: Slot) -> usize {
    usize::from(slot.get() / 512)
}

/// As when a slot comes to its database while the batch is on its way.
#[test]
fn checkpoint_of_a_batch_says_nothing_of_a_partition_that_was_begun_again() {
    let (mut queue, now) = (RecordQueue::new(3), Instant::now());
    (0..3).for_each(|offset| _ = take(&mut queue, 0, offset));
    let batch = queue.pick(now, shard).unwrap();
    assert_eq!(batch.checkpoints, [(0, 3)]);
    begin(&mut queue, 0, &[Some(1), Some(1)]);
    queue.mark_stored(batch);
    assert_eq!(queue.stored(0), [Some(1), Some(1)]);
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
    assert_eq!(first.checkpoints, [(0, 3)], "everything before the oldest that is open");
    queue.mark_stored(first);
    assert!(queue.committable().is_empty(), "the other database has no checkpoint yet");
    store_checkpoints(&mut queue);
    assert_eq!(queue.committable(), [(0, 3)]);
    let next = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&next), [(8, 5), (4, 3)], "the slot after the last one is first");
    assert_eq!((&next.checkpoints[..], &other.checkpoints[..]), (&[(0, 6)][..], &[(0, 5)][..]));
    queue.mark_stored(next);
    assert_eq!(queue.committable(), [(0, 4)], "the other database is not so far");
    queue.mark_stored(other);
    assert_eq!(queue.committable(), [(0, 5)]);
    store_checkpoints(&mut queue);
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
    take(&mut queue, 400, 40);
    let healthy = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&healthy), [(400, 40)]);
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
    store_checkpoints(&mut queue);
    assert_eq!(queue.committable(), [(0, 100)]);
}

#[test]
fn revoked_partition_is_forgotten_and_begins_again() {
    let (mut queue, now) = (RecordQueue::new(2), Instant::now());
    for offset in 10..14 {
        take(&mut queue, 0, offset);
    }
    let in_flight = queue.pick(now, shard).unwrap();
    queue.revoke(0);
    assert_eq!(queue.len(), 0);
    begin(&mut queue, 0, &[Some(10), Some(10)]);
    for offset in 10..12 {
        take(&mut queue, 0, offset);
    }
    assert!(queue.pick(now, shard).is_none(), "the slot is still being written");
    queue.return_failed(in_flight, false, now);
    store_checkpoints(&mut queue);
    assert_eq!(queue.committable(), [(0, 10)], "nothing of this assignment is done");
    let mut again = Vec::new();
    while let Some(batch) = queue.pick(now + MAX_SLOT_BACKOFF, shard) {
        again.extend(offsets(&batch));
        queue.mark_stored(batch);
    }
    assert_eq!(again, [(0, 10), (0, 11)], "what was in flight is not put back: it was read again");
    store_checkpoints(&mut queue);
    assert_eq!(queue.committable(), [(0, 12)]);
    assert_eq!(take(&mut queue, 0, 3), Taken::Unexpected { expected: 12 }, "a record before the last one taken");
    assert_eq!(take(&mut queue, 0, 13), Taken::Unexpected { expected: 12 }, "a gap");
    queue.pass_hole(0, 13);
    assert!(matches!(take(&mut queue, 0, 13), Taken::Open(_)));
}

#[test]
fn what_was_seen_stored_stands_until_the_partition_is_started_again() {
    let (mut queue, now) = (RecordQueue::new(2), Instant::now());
    take(&mut queue, 0, 5);
    let batch = queue.pick(now, shard).unwrap();
    queue.mark_stored(batch);
    for _ in 0..3 {
        queue.assign(0);
        let seen = queue.seen(0);
        assert_eq!(
            (&seen.checkpoints[..], seen.positions),
            (&[Some(6), Some(5)][..], BTreeMap::from([(Slot::FIRST, 6)]))
        );
    }
    assert_eq!([1, 1, 0].map(|database| queue.seen(0).note_less(database)), [true, false, true], "once for all begins");
    begin(&mut queue, 0, &[Some(2), Some(5)]);
    let seen = queue.seen(0);
    assert_eq!((&seen.checkpoints[..], &seen.positions), (&[Some(2), Some(5)][..], &BTreeMap::new()));
    assert!(seen.note_less(1), "it may go back once more");
    queue.revoke(0);
    queue.assign(0);
    assert!(queue.seen(0).checkpoints.is_empty(), "another process may have had it");
}

#[test]
fn nothing_is_taken_before_its_start_or_again_behind_it() {
    let mut queue = RecordQueue::new(10);
    queue.assign(0);
    let record = |offset| Record { topic: Topic::Reactions, partition: 0, offset, payload: vec![], trace_parent: None };
    assert_eq!(queue.take(&record(5), Some(Slot::FIRST), shard), Taken::Ignored, "not begun");
    let done_before = HashMap::from([(Slot::FIRST, 7)]);
    queue.start(0, PartitionStart { offset: 5, checkpoints: vec![Some(5), Some(9)], done_before });
    assert_eq!(queue.take(&record(5), Some(Slot::FIRST), shard), Taken::Ignored, "done before");
    assert_eq!(queue.take(&record(6), Some(Slot::FIRST), shard), Taken::Ignored);
    let Taken::Open(assignment) = queue.take(&record(7), Some(Slot::FIRST), shard) else { panic!("a new one") };
    store_checkpoints(&mut queue);
    assert_eq!(queue.committable(), [(0, 7)], "up to the one that is open");
    assert_eq!(queue.checkpoints(1, &[], true, shard), [(0, 9)], "a checkpoint does not go back");
    queue.mark_done(&record(7), assignment);
    store_checkpoints(&mut queue);
    assert_eq!(queue.committable(), [(0, 8)]);
}

#[test]
fn records_of_a_database_that_is_away_are_left_out_of_a_full_partition() {
    let (mut queue, now, away) = (RecordQueue::new(1_000), Instant::now(), BTreeSet::from([1]));
    take(&mut queue, 0, 0);
    take(&mut queue, 600, 1);
    queue.leave_out(&away, shard);
    assert_eq!((queue.len(), queue.partitions_behind(1)), (2, vec![]), "there is room");
    for offset in 2..MAX_WAITING_RECORDS as u64 {
        take(&mut queue, 600, offset);
    }
    assert_eq!(queue.partitions_to_pause(), BTreeSet::from([0]));
    queue.leave_out(&away, shard);
    assert_eq!((queue.len(), queue.partitions_behind(1)), (1, vec![0]));
    assert!(queue.partitions_to_pause().is_empty());
    let next = MAX_WAITING_RECORDS as u64;
    assert_eq!(take(&mut queue, 600, next), Taken::Ignored);
    take(&mut queue, 4, next + 1);
    let batch = queue.pick(now, shard).unwrap();
    assert_eq!((offsets(&batch), &batch.checkpoints[..]), (vec![(0, 0), (4, next + 1)], &[(0, next + 2)][..]));
    queue.mark_stored(batch);
    store_checkpoints(&mut queue);
    assert_eq!(queue.committable(), [(0, 1)], "the first that was left out is read again");
    begin(&mut queue, 0, &[Some(next + 2), Some(1)]);
    assert!(matches!(take(&mut queue, 600, 1), Taken::Open(_)));
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

#[test]
fn slots_that_are_applied_beyond_a_checkpoint_are_known_with_their_positions() {
    let (mut queue, now) = (RecordQueue::new(2), Instant::now());
    for (offset, slot) in [0, 4, 0, 600].into_iter().enumerate() {
        take(&mut queue, slot, offset as u64);
    }
    let slot = |number| Slot::new(number).unwrap();
    let first = queue.pick(now, shard).unwrap();
    assert_eq!((offsets(&first), &first.checkpoints[..]), (vec![(0, 0), (0, 2)], &[(0, 1)][..]));
    assert_eq!(queue.applied(0, 0, shard), [], "nothing is known to be stored");
    queue.mark_stored(first);
    assert_eq!(queue.applied(0, 0, shard), [(slot(0), 3)], "the checkpoint is 1");
    assert_eq!(queue.applied(0, 1, shard), [], "another database");
    assert_eq!(queue.seen(0).positions, BTreeMap::from([(slot(0), 3)]));
    let second = queue.pick(now, shard).unwrap();
    assert_eq!((offsets(&second), &second.checkpoints[..]), (vec![(4, 1)], &[(0, 4)][..]));
    queue.mark_stored(second);
    assert_eq!(queue.applied(0, 0, shard), [], "the checkpoint says so");
    assert_eq!(queue.seen(0).positions.len(), 2);
    begin(&mut queue, 0, &[Some(0), Some(0)]);
    assert!(queue.seen(0).positions.is_empty());
}
