//! The outages that probes of readiness notice, each logged when it begins and when it ends.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::outage_log::OutageLog;
use crate::ports::dependencies::DependencyStatus;

/// The outages of dependencies, by name, as the probes of readiness noticed them.
#[derive(Debug, Default)]
pub(super) struct DependencyOutages {
    /// A mutex that is held for a look-up, never across an await.
    by_name: Mutex<HashMap<String, OutageLog>>,
}

impl DependencyOutages {
    /// Logs the beginning or the end of an outage.
    pub(super) fn log(&self, DependencyStatus { name, problem, .. }: &DependencyStatus) {
        let mut outages = self.by_name.lock();
        let outage = outages.entry(name.clone()).or_default();
        match problem {
            None => outage.end(|| tracing::info!(dependency = name, "The dependency {name} answers again")),
            Some(problem) => outage.begin(|| {
                tracing::warn!(dependency = name, problem, "The dependency {name} does not answer: {problem}");
            }),
        }
    }
}
