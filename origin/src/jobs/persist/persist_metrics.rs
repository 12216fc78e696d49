//! What the loops of this process have done, as metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{counter, describe_counter, describe_gauge, gauge};
use parking_lot::Mutex;

use crate::jobs::persist::refusals::Refusals;
use crate::outage_log::OutageLog;
use crate::telemetry::Collector;

/// What the loops of this process have done.
#[derive(Debug, Default)]
pub struct PersistMetrics {
    pub comments: TopicCounts,
    pub reactions: TopicCounts,
}

/// The metrics of one topic.
#[derive(Debug, Default)]
pub struct TopicCounts {
    /// Records stored, replays included.
    pub stored: AtomicU64,
    /// Replays among them: records that had been stored before.
    pub replayed: AtomicU64,
    pub batches: AtomicU64,
    /// Batches that were not known to be stored and were retried.
    pub retries: AtomicU64,
    pub dead_letters: AtomicU64,
    /// Dead letters of the last minute that a database refused.
    pub(super) refusals: Refusals,
    pub(super) refusal_outage: OutageLog,
    /// Records taken from the broker and not stored yet.
    pub waiting: AtomicU64,
    /// By partition of this process: records that are not committed, as of the last few seconds. The mutex is held for
    /// one value, never across an await.
    pub(super) lag: Mutex<BTreeMap<u32, u64>>,
}

/// One of the counts of a topic.
type ReadCount = fn(&TopicCounts) -> &AtomicU64;

impl Collector for PersistMetrics {
    fn collect(&self) {
        let topics = [("comments", &self.comments), ("reactions", &self.reactions)];
        let counters: [(_, _, ReadCount); 5] = [
            ("gailou_persist_stored_total", "Records written to the tables.", |counts| &counts.stored),
            (
                "gailou_persist_replayed_total",
                "Records that were read again and changed nothing: they had been written before.",
                |counts| &counts.replayed,
            ),
            ("gailou_persist_batches_total", "Batches written.", |counts| &counts.batches),
            ("gailou_persist_retries_total", "Batches retried.", |counts| &counts.retries),
            ("gailou_dead_letters_total", "Records that could not be stored.", |counts| &counts.dead_letters),
        ];
        for (name, help, count) in counters {
            describe_counter!(name, help);
            for (topic, counts) in topics {
                counter!(name, "topic" => topic).absolute(count(counts).load(Ordering::Relaxed));
            }
        }
        describe_gauge!("gailou_persist_waiting_records", "Records taken from the broker and not stored yet.");
        describe_gauge!("gailou_broker_lag_records", "Records of this process's partitions that are not committed.");
        for (topic, counts) in topics {
            gauge!("gailou_persist_waiting_records", "topic" => topic)
                .set(counts.waiting.load(Ordering::Relaxed) as f64);
            for (partition, lag) in &*counts.lag.lock() {
                gauge!("gailou_broker_lag_records", "topic" => topic, "partition" => partition.to_string())
                    .set(*lag as f64);
            }
        }
    }
}
