//! Accepts the broker's log as it is, after it was stopped: it was recreated, truncated, lost records that were
//! not stored yet, or is that of another cluster, which is remembered from then on.
//!
//! A partition that contradicts the tables goes on behind the last record in which both agree, with positions
//! beyond every position that the tables have. What the tables had applied stays.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use gailou_shared::id::{SLOT_COUNT, Slot};

use crate::broker_identity;
use crate::domain::broker_state::{AcceptedPartition, BrokerState};
use crate::domain::checkpoint::{Checkpoint, LogSample};
use crate::domain::positions::OperationStream;
use crate::ports::broker::{Broker, Topic};
use crate::ports::store::SlotTables;

/// Positions of a partition that begins again are multiples of this, and beyond: four billion records.
const POSITION_STEP: u64 = 1 << 32;

/// The topic of each stream.
const STREAM_TOPICS: [(OperationStream, Topic); 2] = [
    (OperationStream::Comments, Topic::of(OperationStream::Comments)),
    (OperationStream::Reactions, Topic::of(OperationStream::Reactions)),
];

/// Accepts the log; the partitions that go on elsewhere.
///
/// What is done is decided once and stored in every database before any of it is done. When this dies in the
/// middle, the broker stays stopped, and the next call goes on with what was decided.
///
/// # Errors
/// When the broker is not stopped, a job still reads it, or a server does not answer.
pub async fn accept(broker: &dyn Broker, tables: &dyn SlotTables) -> anyhow::Result<Vec<AcceptedPartition>> {
    // No other process may have seen yet that the cluster is another one.
    broker_identity::check(broker, tables).await?;
    let state = tables.read_broker_state().await?;
    ensure!(state.stopped.is_some(), "the broker is not stopped: there is nothing to accept");
    let cluster_id = broker.read_cluster_id().await?.or_else(|| state.cluster_id.clone());
    for (_, topic) in STREAM_TOPICS {
        // The broker refuses this as long as a job is there.
        let committed = broker.committed_offset(topic, 0).await?;
        let done = broker.reset_committed(topic, 0, committed).await;
        done.with_context(|| format!("all jobs must have ended: {} may still be read", topic.name()))?;
    }
    let decided = match &state.accepting {
        // What was decided for another cluster does not hold for this one.
        Some(accepting) if state.cluster_id == cluster_id => {
            BrokerState { accepting: Some(accepting.clone()), ..state }
        }
        _ => {
            let accepting = Some(decide(broker, tables).await?);
            BrokerState { generation: state.generation + 1, cluster_id, accepting, ..state }
        }
    };
    let written = tables.write_broker_state(&decided).await?;
    ensure!(written == tables.count_databases(), "every database must answer, and {written} do");
    let accepted = decided.accepting.unwrap_or_default();
    let mut bases = decided.bases;
    for (stream, topic) in STREAM_TOPICS {
        for found in accepted.iter().filter(|found| found.stream == stream) {
            for (database, next) in found.checkpoints.iter().enumerate() {
                tables.reset_checkpoint(database, stream, found.partition, *next).await?;
            }
            let behind = found.checkpoints.iter().map(|next| found.next - next).max().unwrap_or(0);
            broker.reset_committed(topic, found.partition, found.agreed - behind).await?;
            *bases.entry(format!("{}/{}", topic.name(), found.partition)).or_default() += found.next - found.agreed;
        }
    }
    // The counters of all reactions are lost with it, see `PartitionOffsets::accept_count`.
    let (generation, accepts) = (decided.generation + 1, decided.accepts + 1);
    let accepted_state =
        BrokerState { generation, accepts, bases, cluster_id: decided.cluster_id, ..BrokerState::default() };
    tables.write_broker_state(&accepted_state).await?;
    Ok(accepted)
}

/// What must be done to the partitions that contradict the tables.
async fn decide(broker: &dyn Broker, tables: &dyn SlotTables) -> anyhow::Result<Vec<AcceptedPartition>> {
    let mut accepting = Vec::new();
    for (stream, topic) in STREAM_TOPICS {
        for partition in 0..broker.partition_count() {
            let checked = check_partition(broker, tables, stream, topic, partition).await;
            accepting.extend(checked.with_context(|| format!("comparing {}[{partition}]", topic.name()))?);
        }
    }
    Ok(accepting)
}

/// Compares a partition with the tables; `None` when they agree.
async fn check_partition(
    broker: &dyn Broker,
    tables: &dyn SlotTables,
    stream: OperationStream,
    topic: Topic,
    partition: u32,
) -> anyhow::Result<Option<AcceptedPartition>> {
    let (first, end) = (broker.first_offset(topic, partition).await?, broker.end_offset(topic, partition).await?);
    let mut checkpoints: Vec<Checkpoint> = Vec::with_capacity(tables.count_databases());
    for database in 0..tables.count_databases() {
        checkpoints.extend(tables.read_checkpoints(database, stream, &[(partition, first)]).await?.into_values());
    }
    let slots: Vec<Slot> =
        (0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| broker.partition_of(*slot) == partition).collect();
    let positions = tables.read_positions(stream, &slots).await?;
    let next = checkpoints.iter().map(|checkpoint| checkpoint.next);
    let applied = positions.into_values().chain(next.clone()).max().unwrap_or(0);
    let samples: BTreeMap<u64, LogSample> = checkpoints
        .iter()
        .flat_map(|checkpoint| checkpoint.samples.iter())
        .map(|sample| (sample.offset, *sample))
        .collect();
    let mut differs = end < applied || next.min().is_some_and(|next| next < first);
    let mut agreed = first;
    for sample in samples.values().rev().filter(|sample| sample.offset >= first) {
        let record = broker.read_record(topic, partition, sample.offset).await?;
        if record.is_some_and(|record| LogSample::new(sample.offset, &record.payload) == *sample) {
            agreed = sample.offset + 1;
            break;
        }
        differs = true;
    }
    let applied = applied.max(agreed);
    let next = (applied / POSITION_STEP + 1) * POSITION_STEP;
    // A database stays as far behind the log as it was.
    let behind = |checkpoint: &Checkpoint| agreed.saturating_sub(checkpoint.next.max(first));
    let checkpoints = checkpoints.iter().map(|checkpoint| next - behind(checkpoint)).collect();
    Ok(differs.then_some(AcceptedPartition { stream, partition, applied, agreed, next, checkpoints }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::checkpoint::{CheckpointAdvance, LogSamples};
    use crate::ports::store::{BrokerStates as _, Checkpoints as _};
    use crate::testing::memory_broker::MemoryBroker;
    use crate::testing::memory_store::MemoryStore;

    #[tokio::test]
    async fn interrupted_accept_goes_on_with_what_was_decided() {
        let (broker, tables) = (MemoryBroker::new(1), MemoryStore::new(2));
        for n in 0..50 {
            broker.put(Topic::Comments, 0, vec![n]);
        }
        let mut samples = LogSamples::default();
        [40, 49].into_iter().for_each(|n| samples.push(LogSample::new(u64::from(n), &[n])));
        for (database, next, samples) in [(0, 10, LogSamples::default()), (1, 50, samples)] {
            tables.read_checkpoints(database, OperationStream::Comments, &[(0, 0)]).await.unwrap();
            let advance =
                CheckpointAdvance { partition: 0, known_next: 0, known_moves: 0, next, applied: vec![], samples };
            tables.advance_checkpoints(database, OperationStream::Comments, &[advance]).await.unwrap();
        }
        broker.truncate(Topic::Comments, 0, 45);
        let stopped = tables.read_broker_state().await.unwrap().stop("it is too short".into());
        tables.write_broker_state(&stopped).await.unwrap();

        tables.fail_reset_after(1);
        assert!(accept(&broker, &*tables).await.is_err());
        assert!(tables.read_broker_state().await.unwrap().stopped.is_some());
        let accepted = accept(&broker, &*tables).await.unwrap();
        let checkpoints = vec![POSITION_STEP - 31, POSITION_STEP];
        let (stream, next) = (OperationStream::Comments, POSITION_STEP);
        assert_eq!(accepted, [AcceptedPartition { stream, partition: 0, applied: 50, agreed: 41, next, checkpoints }]);
        for (database, next) in [(0, POSITION_STEP - 31), (1, POSITION_STEP)] {
            assert_eq!(tables.read_applied_offset(database, stream, 0).await.unwrap(), Some(next), "{database}");
        }
        let state = tables.read_broker_state().await.unwrap();
        assert_eq!((state.stopped, state.accepting, state.accepts), (None, None, 1));
        assert_eq!(state.bases, [("comments/0".to_owned(), POSITION_STEP - 41)].into());
        assert_eq!(broker.commits(Topic::Comments)[&0], 10, "as far as every database has stored it");
        assert!(accept(&broker, &*tables).await.is_err(), "it is not stopped");
    }
}
