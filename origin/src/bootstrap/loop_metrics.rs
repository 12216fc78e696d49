//! What the loops of a process count: what a role has no loop for is not exported.

use std::sync::Arc;

use crate::config::Config;
use crate::jobs::index_comments::IndexMetrics;
use crate::jobs::measure_installation::InstallationMetrics;
use crate::jobs::notify::EventQueueMetrics;
use crate::jobs::push::PushMetrics;
use crate::state::ProcessRole;
use crate::telemetry::Collector;

/// The counts of the loops that this process has.
pub(super) struct LoopMetrics {
    /// Of what pushes to an edge.
    pub(super) push: Option<Arc<PushMetrics>>,
    /// Of a process that runs the jobs.
    pub(super) jobs: Option<JobMetrics>,
}

/// The counts of the jobs.
#[derive(Clone)]
pub(super) struct JobMetrics {
    pub(super) index: Arc<IndexMetrics>,
    pub(super) events: Arc<EventQueueMetrics>,
    pub(super) installation: Arc<InstallationMetrics>,
}

impl LoopMetrics {
    pub(super) fn new(config: &Config, role: ProcessRole) -> Self {
        let pushes = role.runs_jobs() && config.edge.url.is_some() && config.edge.secret.is_some();
        let max_writes_per_day = config.edge.max_writes_per_day.into();
        let data = config.cluster.is_none().then(|| config.data.clone());
        Self {
            push: pushes.then(|| Arc::new(PushMetrics { max_writes_per_day, ..PushMetrics::default() })),
            jobs: role.runs_jobs().then(|| JobMetrics {
                index: Arc::default(),
                events: Arc::default(),
                installation: Arc::new(InstallationMetrics::new(data)),
            }),
        }
    }

    pub(super) fn collectors(&self) -> Vec<Arc<dyn Collector>> {
        let push = self.push.clone().map(|metrics| metrics as Arc<dyn Collector>);
        let jobs = self
            .jobs
            .clone()
            .map(|JobMetrics { index, events, installation }| [index as Arc<dyn Collector>, events, installation]);
        push.into_iter().chain(jobs.into_iter().flatten()).collect()
    }
}
