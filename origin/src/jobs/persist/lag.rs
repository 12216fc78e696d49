//! Measures how many records of this process's partitions are not committed yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::domain::positions::OperationStream;
use crate::jobs::persist::PersistJob;
use crate::ports::broker::Topic;

/// How often the broker is asked.
const LAG_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The lag of the partitions of one topic: at most one measurement runs at a time.
#[derive(Default)]
pub(super) struct LagMeter {
    measurement: Option<JoinHandle<()>>,
}

impl LagMeter {
    /// Measures these partitions, unless the last measurement is younger than the interval.
    pub(super) fn measure(&mut self, job: &Arc<PersistJob>, stream: OperationStream, partitions: Vec<u32>) {
        if self.measurement.as_ref().is_some_and(|measurement| !measurement.is_finished()) {
            return;
        }
        let job = job.clone();
        self.measurement = Some(tokio::spawn(async move {
            if let Some(lag) = lag(&job, stream, &partitions).await {
                *job.counts(stream).lag.lock() = lag;
            }
            sleep(LAG_POLL_INTERVAL).await;
        }));
    }
}

impl Drop for LagMeter {
    fn drop(&mut self) {
        if let Some(measurement) = &self.measurement {
            measurement.abort();
        }
    }
}

/// `None` while the broker does not answer.
async fn lag(job: &PersistJob, stream: OperationStream, partitions: &[u32]) -> Option<BTreeMap<u32, u64>> {
    let mut lag = BTreeMap::new();
    for partition in partitions {
        let end = job.broker.end_offset(Topic::of(stream), *partition).await.ok()?;
        let committed = job.broker.committed_offset(Topic::of(stream), *partition).await.ok()?;
        lag.insert(*partition, end.saturating_sub(committed));
    }
    Some(lag)
}
