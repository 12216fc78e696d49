//! Finds where the reading of a partition begins: at the least checkpoint of the databases.
//!
//! The log must be the one that the tables were written from. Promise: a partition that ends before something
//! that the tables have applied, that holds something else where they have applied it, or that lacks records
//! that they have not applied yet, is not read.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use futures_util::future::join_all;
use gailou_shared::id::{SLOT_COUNT, Slot};

use crate::domain::checkpoint::{Checkpoint, LogSample, LogSamples};
use crate::domain::positions::OperationStream;
use crate::jobs::persist::PersistJob;
use crate::jobs::persist::queue::{PartitionStart, SeenStored};
use crate::ports::broker::{BrokerError, Topic};
use crate::ports::failure::Failure;
use crate::ports::store::{self, StoreError};

/// Records before the checkpoint of a database that has gone back that are read again with those after it. Rows of its
/// members' histories are delivered a little later than the checkpoint passes the records that owe them: at 90 records
/// a second in a partition, two minutes later at most.
const DELIVERED_LATER_RECORDS: u64 = 10_000;

/// Where a partition begins, and what is known of it.
#[derive(Debug)]
pub(super) struct FoundStart {
    pub(super) start: PartitionStart,
    /// By database: [`Checkpoint::moves`]; `None` for one that does not answer.
    pub(super) moves: Vec<Option<u64>>,
    pub(super) samples: LogSamples,
    pub(super) rewound: Vec<Rewound>,
}

/// A database that has gone back: its checkpoint was at `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rewound {
    pub(super) database: usize,
    pub(super) next: u64,
    pub(super) before: u64,
}

/// Why the start of a partition is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// The broker does not answer, or no database does: ask again.
    #[error("{0}")]
    NoAnswer(Failure),
    #[error("partition {partition} of topic {topic} {damage}")]
    Damaged { topic: &'static str, partition: u32, damage: LogDamage },
}

/// How a partition contradicts the tables.
#[derive(Debug)]
pub(super) enum LogDamage {
    /// It ends before something that was applied.
    Short { end: u64, applied: u64 },
    /// It holds something else than what was applied.
    Different { offset: u64 },
    /// Records were deleted before they were applied.
    Deleted { first: u64, next: u64, database: usize },
}

impl fmt::Display for LogDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { end, applied } => write!(
                f,
                "ends at {end}, but the tables have applied it up to {applied}: the topic was recreated, was truncated or \
                 belongs to another cluster, and its new records would be taken for replays"
            ),
            Self::Different { offset } => write!(
                f,
                "holds another record at {offset} than the one that the tables have applied: the topic was recreated, was \
                 truncated or belongs to another cluster, and its new records would be taken for replays"
            ),
            Self::Deleted { first, next, database } => write!(
                f,
                "begins at {first}, but database {database} has applied it up to {next} only: the records in between \
                 were deleted before they were stored, unless all of them were of other databases"
            ),
        }
    }
}

impl From<BrokerError> for StartError {
    fn from(error: BrokerError) -> Self {
        Self::NoAnswer(Failure::of_driver(error))
    }
}

/// Finds the start of a partition. `seen`: what this process has seen stored, after the listeners were notified.
pub(super) async fn find_start(
    job: &PersistJob,
    stream: OperationStream,
    partition: u32,
    seen: &SeenStored,
) -> Result<FoundStart, StartError> {
    let (broker, topic) = (&job.broker, Topic::of(stream));
    let damaged = |damage| StartError::Damaged { topic: topic.name(), partition, damage };
    let committed = broker.committed_offset(topic, partition).await?;
    let first = broker.first_offset(topic, partition).await?;
    let mut answers = read_all(job, stream, partition, committed.max(first)).await?;
    let found = || answers.iter().enumerate().filter_map(|(database, answer)| Some((database, answer.as_ref()?)));
    let applied = found().map(|(_, answer)| answer.applied()).max().unwrap_or(0);
    // Read after the checkpoints: the end only grows.
    let end = broker.end_offset(topic, partition).await?;
    if end < applied {
        return Err(damaged(LogDamage::Short { end, applied }));
    }
    let samples = merge(found().map(|(_, answer)| &answer.checkpoint.samples));
    // What comes before an equal record is equal too.
    if let Some(sample) = samples.iter().next_back().filter(|sample| sample.offset >= first) {
        let record = broker.read_record(topic, partition, sample.offset).await?;
        let is_other = record.is_none_or(|record| LogSample::new(sample.offset, &record.payload) != *sample);
        // It may have been deleted meanwhile, with everything before it.
        if is_other && broker.first_offset(topic, partition).await? <= sample.offset {
            return Err(damaged(LogDamage::Different { offset: sample.offset }));
        }
    }
    let mut rewound = Vec::new();
    let mut done_before = HashMap::new();
    for (database, answer) in found() {
        let next = answer.checkpoint.next;
        if next < first {
            return Err(damaged(LogDamage::Deleted { first, next, database }));
        }
        let stored = seen.checkpoints.get(database).copied().flatten().unwrap_or(0);
        let notified = stored.max(committed);
        // A slot that came to it has lowered its checkpoint.
        let has_received = |known: &[Option<u64>]| {
            known.get(database).copied().flatten().is_some_and(|moves| moves < answer.checkpoint.moves)
        };
        let has_lost_stored = next < stored && !has_received(&seen.moves);
        let has_lost_committed = next < committed && !has_received(&seen.moves_when_committed);
        let has_less = |(slot, before): (&Slot, &u64)| {
            let has = answer.positions.get(slot).copied().filter(|has| has < before)?;
            Some(Rewound { database, next: has, before: *before })
        };
        let note_less = || {
            if seen.note_less(database) {
                job.rewinds.note_found(database);
            }
        };
        if let Some(found) = seen.positions.iter().find_map(has_less) {
            note_less();
            rewound.push(found);
        } else if has_lost_stored || has_lost_committed {
            if has_lost_stored {
                note_less();
            } else {
                job.rewinds.note_behind_committed(database, stream, partition, committed);
            }
            rewound.push(Rewound { database, next, before: notified });
        } else {
            // What was stored after that may not have been notified of.
            done_before.extend(answer.positions.iter().map(|(slot, position)| (*slot, (*position).min(notified))));
        }
    }
    // Until its versions are raised, a database that has gone back counts as away.
    rewound.retain(|Rewound { database, .. }| job.rewinds.pass(*database) || answers[*database].take().is_none());
    if answers.iter().all(Option::is_none) {
        return Err(StartError::NoAnswer("the versions of a database that has gone back are being raised".into()));
    }
    let found = || answers.iter().enumerate().filter_map(|(database, answer)| Some((database, answer.as_ref()?)));
    let mut offset = found().map(|(_, answer)| answer.checkpoint.next).min().unwrap_or(committed);
    let has_gone_back = !rewound.is_empty() || found().any(|(database, _)| job.rewinds.was_found(database));
    if has_gone_back && stream == OperationStream::Comments {
        // Comments of all databases owe it rows of histories, and it has lost those that were delivered. A comment that
        // is read again owes its row again; one that is there is written a second time.
        offset = offset.saturating_sub(DELIVERED_LATER_RECORDS).max(first);
        done_before.clear();
    }
    let moves = answers.iter().map(|answer| Some(answer.as_ref()?.checkpoint.moves)).collect();
    let checkpoints = answers.iter().map(|answer| answer.as_ref().map(|answer| answer.checkpoint.next)).collect();
    Ok(FoundStart { start: PartitionStart { offset, checkpoints, done_before }, moves, samples, rewound })
}

/// What a database says of a partition.
struct DatabaseAnswer {
    checkpoint: Checkpoint,
    /// The positions of its slots.
    positions: HashMap<Slot, u64>,
}

impl DatabaseAnswer {
    /// The offset before which something was applied.
    fn applied(&self) -> u64 {
        self.positions.values().copied().max().unwrap_or(0).max(self.checkpoint.next)
    }
}

/// What every database says; `None` for one that does not answer.
async fn read_all(
    job: &PersistJob,
    stream: OperationStream,
    partition: u32,
    first: u64,
) -> Result<Vec<Option<DatabaseAnswer>>, StartError> {
    // Which slots a database has is asked after its checkpoints: a slot that comes later counts a move of it.
    let checkpoints = (0..job.tables.count_databases()).map(|database| async move {
        let read = job.tables.read_checkpoints(database, stream, &[(partition, first)]).await?;
        job.tables.refresh_slots_of(database).await?;
        read.into_values().next().ok_or_else(|| StoreError::damaged("a checkpoint is not there"))
    });
    let checkpoints: Vec<store::Result<Checkpoint>> = join_all(checkpoints).await;
    let mut slots: BTreeMap<usize, Vec<Slot>> = BTreeMap::new();
    for slot in (0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| job.broker.partition_of(*slot) == partition) {
        slots.entry(job.tables.database_of(slot)).or_default().push(slot);
    }
    let answers = checkpoints.into_iter().enumerate().map(|(database, checkpoint)| {
        let slots = slots.get(&database).cloned().unwrap_or_default();
        async move {
            let checkpoint = checkpoint?;
            // Without them more is read again. A slot that moves is no reason to take its database for away.
            let positions = match job.tables.read_positions(stream, &slots).await {
                Err(StoreError::Moved) => HashMap::new(),
                positions => positions?,
            };
            Ok(DatabaseAnswer { checkpoint, positions })
        }
    });
    let mut failure = None;
    let mut found = Vec::new();
    let answers: Vec<store::Result<DatabaseAnswer>> = join_all(answers).await;
    for answer in answers {
        found.push(answer.map_err(|error| failure = Some(error)).ok());
    }
    match failure {
        Some(error) if found.iter().all(Option::is_none) => Err(StartError::NoAnswer(Failure::of_driver(error))),
        _ => Ok(found),
    }
}

/// The samples of all databases, each offset once.
fn merge<'a>(all: impl Iterator<Item = &'a LogSamples>) -> LogSamples {
    let by_offset: BTreeMap<u64, &LogSample> =
        all.flat_map(LogSamples::iter).map(|sample| (sample.offset, sample)).collect();
    let mut merged = LogSamples::default();
    by_offset.into_values().for_each(|sample| merged.push(*sample));
    merged
}
