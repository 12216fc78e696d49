use crate::jobs::persist::queue::*;
use crate::ports::broker::Topic;
use crate::testing::doubles::{comment, like};

const P: u32 = 4;

fn taken(queue: &mut Queue, slot: u16, offset: u64) {
    let partition = u32::from(slot) % P;
    let message = Record { topic: Topic::Reactions, partition, offset, payload: vec![0; 10] };
    let assignment = queue.take(&message);
    let stamped = like(comment(slot, 1), offset + 1);
    queue.push(QueuedRecord { message, slot: Slot::new(slot).unwrap(), stamped, assignment });
}

fn offsets(flight: &Flight) -> Vec<(u16, u64)> {
    flight.events.iter().map(|event| (event.slot.get(), event.message.offset)).collect()
}

/// Two databases: slots below 512 and the others.
fn shard(slot: Slot) -> usize {
    usize::from(slot.get() / 512)
}

#[test]
fn one_batch_a_database_and_a_slot_in_order() {
    let (mut queue, now) = (Queue::new(3), Instant::now());
    for (offset, slot) in [0, 4, 0, 4, 600].into_iter().enumerate() {
        taken(&mut queue, slot, offset as u64);
    }
    let first = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&first), [(0, 0), (0, 2), (4, 1)], "as many as fit");
    let other = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&other), [(600, 4)], "another database");
    taken(&mut queue, 8, 5);
    assert!(queue.pick(now, shard).is_none(), "one batch a database at a time");
    assert!(queue.committable().is_empty());
    queue.landed(first);
    assert_eq!(queue.committable(), [(0, 3)], "everything before the oldest that is open");
    let next = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&next), [(8, 5), (4, 3)], "the slot after the last one is first");
    queue.landed(next);
    queue.landed(other);
    assert_eq!(queue.committable(), [(0, 6)]);
    assert!(queue.is_empty() && queue.committable().is_empty());
}

#[test]
fn what_failed_goes_back_and_holds_up_nobody_else() {
    let (mut queue, now) = (Queue::new(1_000), Instant::now());
    for slot in 0..40 {
        taken(&mut queue, slot * 4, u64::from(slot));
    }
    let all = queue.pick(now, shard).unwrap();
    assert_eq!(all.events.len(), 40);
    queue.failed(all, false, now);
    assert!(queue.pick(now, shard).is_none(), "not at once");
    // A new slot does not wait for those that failed.
    taken(&mut queue, 400, 100);
    let healthy = queue.pick(now, shard).unwrap();
    assert_eq!(offsets(&healthy), [(400, 100)]);
    let later = queue.due(now).unwrap();
    let parts: Vec<_> = std::iter::from_fn(|| queue.pick(later, shard)).collect();
    assert_eq!(parts.iter().map(|part| part.events.len()).collect::<Vec<_>>(), [16, 16, 8], "a few together");
    for part in parts {
        if part.events.iter().any(|event| event.slot.get() == 0) {
            queue.failed(part, false, later);
        } else {
            queue.landed(part);
        }
    }
    let later = queue.due(later).unwrap();
    let parts: Vec<_> = std::iter::from_fn(|| queue.pick(later, shard)).collect();
    assert_eq!(parts.iter().map(|part| part.events.len()).collect::<Vec<_>>(), [4, 4, 4], "fewer together");
    for part in parts {
        if part.slots().contains(&Slot::FIRST) {
            queue.failed(part, false, later);
        } else {
            queue.landed(part);
        }
    }
    let later = later + LONGEST_BACKOFF;
    let parts: Vec<_> = std::iter::from_fn(|| queue.pick(later, shard)).collect();
    assert!(parts.iter().any(|part| offsets(part) == [(0, 0)]), "alone at last: {parts:?}");
    for part in parts {
        queue.landed(part);
    }
}

#[test]
fn a_slot_that_is_refused_alone_comes_in_ever_smaller_parts() {
    let (mut queue, now) = (Queue::new(1_000), Instant::now());
    for offset in 0..100 {
        taken(&mut queue, 0, offset);
    }
    let mut sizes = Vec::new();
    let mut done = Vec::new();
    // The event at 37 is poisoned until it is alone.
    while let Some(flight) = queue.pick(now, shard) {
        sizes.push(flight.events.len());
        let poisoned = flight.events.iter().any(|event| event.message.offset == 37);
        if poisoned && flight.events.len() > 1 {
            queue.failed(flight, true, now);
        } else {
            done.extend(offsets(&flight).into_iter().map(|(_, offset)| offset));
            queue.landed(flight);
        }
    }
    assert_eq!(done, (0..100).collect::<Vec<_>>(), "in order, each once");
    assert!(sizes.len() < 30, "{sizes:?}");
    assert_eq!(queue.committable(), [(0, 100)]);
}

#[test]
fn a_partition_that_went_is_forgotten_and_begins_again() {
    let (mut queue, now) = (Queue::new(2), Instant::now());
    queue.assign(0);
    for offset in 10..14 {
        taken(&mut queue, 0, offset);
    }
    let flying = queue.pick(now, shard).unwrap();
    queue.revoke(0);
    assert_eq!(queue.len(), 0);
    queue.assign(0);
    for offset in 10..12 {
        taken(&mut queue, 0, offset);
    }
    assert!(queue.pick(now, shard).is_none(), "the slot is still being written");
    queue.failed(flying, false, now);
    assert_eq!(queue.committable(), [(0, 10)], "nothing of this assignment is done");
    let mut again = Vec::new();
    while let Some(flight) = queue.pick(now + LONGEST_BACKOFF, shard) {
        again.extend(offsets(&flight));
        queue.landed(flight);
    }
    assert_eq!(again, [(0, 10), (0, 11)], "what was in flight is not put back: it was read again");
    assert_eq!(queue.committable(), [(0, 12)]);
    // A message before the last one taken: the partition was reset.
    taken(&mut queue, 0, 3);
    let reset = queue.pick(now + LONGEST_BACKOFF, shard).unwrap();
    queue.landed(reset);
    assert_eq!(queue.committable(), [(0, 4)]);
}

#[test]
fn too_much_waiting_pauses_its_partition() {
    let mut queue = Queue::new(1_000);
    for offset in 0..WAITING_EVENTS as u64 {
        taken(&mut queue, 0, offset);
    }
    taken(&mut queue, 1, 0);
    assert_eq!(queue.full(), BTreeSet::from([0]));
    let flight = queue.pick(Instant::now(), shard).unwrap();
    queue.landed(flight);
    assert!(queue.full().is_empty());
}
