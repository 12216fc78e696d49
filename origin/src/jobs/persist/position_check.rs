//! Compares the positions of slots with the end of their partition, once per assignment.
//!
//! A partition that ends before a stored position belongs to a recreated topic: its records would be
//! taken for replays and lost. Promise: no batch is written before its slots are checked.

use std::collections::{BTreeSet, HashMap};

use gailou_shared::id::Slot;
use parking_lot::Mutex;

use crate::domain::positions::OperationStream;
use crate::jobs::persist::{PersistJob, topic};
use crate::ports::broker::BrokerError;
use crate::ports::failure::Failure;
use crate::ports::store::StoreError;

/// Slots whose positions were compared since their partitions were assigned.
#[derive(Debug, Default)]
pub(crate) struct CheckedSlots {
    /// A mutex that is held for a look-up, never across an await.
    slots: Mutex<HashMap<u32, BTreeSet<Slot>>>,
}

impl CheckedSlots {
    pub(super) fn forget(&self, partition: u32) {
        self.slots.lock().remove(&partition);
    }

    fn missing(&self, partition: u32, slots: &BTreeSet<Slot>) -> Vec<Slot> {
        let checked = self.slots.lock();
        let checked = checked.get(&partition);
        slots.iter().filter(|slot| !checked.is_some_and(|checked| checked.contains(slot))).copied().collect()
    }

    fn add(&self, partition: u32, slots: &[Slot]) {
        let mut checked = self.slots.lock();
        checked.entry(partition).or_default().extend(slots);
    }
}

/// What a comparison found.
#[derive(Debug)]
pub(super) enum PositionCheck {
    /// The partition reaches every stored position.
    Consistent,
    /// The tables or the broker did not answer: compare again.
    Unknown(Failure),
    /// The partition is not the one that the tables were written from.
    Recreated(RecreatedTopic),
}

/// A topic that ends before a position which the tables have stored.
#[derive(Debug, thiserror::Error)]
#[error(
    "partition {partition} of topic {topic} ends at {end}, but the tables have stored slot {slot} up to {position}: \
     the topic was recreated or belongs to another cluster, and its new records would be taken for replays"
)]
pub(super) struct RecreatedTopic {
    topic: &'static str,
    partition: u32,
    end: u64,
    slot: u16,
    position: u64,
}

/// Compares the slots that are not in `checked` yet, and adds them.
pub(super) async fn check_positions(
    job: &PersistJob,
    stream: OperationStream,
    partition: u32,
    slots: &BTreeSet<Slot>,
    checked: &CheckedSlots,
) -> PositionCheck {
    let missing = checked.missing(partition, slots);
    if missing.is_empty() {
        return PositionCheck::Consistent;
    }
    match compare(job, stream, partition, &missing).await {
        Ok(Comparison::Reaches) => {
            checked.add(partition, &missing);
            PositionCheck::Consistent
        }
        Ok(Comparison::Recreated(topic)) => PositionCheck::Recreated(topic),
        Err(error) => PositionCheck::Unknown(Failure::of_driver(error)),
    }
}

/// How the end of a partition compares with the stored positions.
enum Comparison {
    /// It reaches all of them.
    Reaches,
    Recreated(RecreatedTopic),
}

/// Why positions could not be compared.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

async fn compare(
    job: &PersistJob,
    stream: OperationStream,
    partition: u32,
    slots: &[Slot],
) -> Result<Comparison, NoAnswer> {
    let positions = job.tables.read_positions(stream, slots).await?;
    let Some((slot, position)) = positions.into_iter().max_by_key(|(_, position)| *position) else {
        return Ok(Comparison::Reaches);
    };
    // Read after the positions: the end only grows.
    let end = job.broker.end_offset(topic(stream), partition).await?;
    Ok(if end < position {
        let topic = topic(stream).name();
        Comparison::Recreated(RecreatedTopic { topic, partition, end, slot: slot.get(), position })
    } else {
        Comparison::Reaches
    })
}
