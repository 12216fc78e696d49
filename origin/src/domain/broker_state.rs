//! What an installation has decided of its broker: whether it is stopped, and where the offsets of each partition
//! begin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::positions::OperationStream;

/// A decision. Later ones have larger generations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerState {
    pub generation: u64,
    /// Why nothing is appended or stored, until an operator accepts the broker as it is.
    pub stopped: Option<String>,
    /// What is added to the offsets of a partition, by topic and number, such as `comments/3`: positions go on
    /// growing when a partition begins again. 0 for a partition that is not here.
    #[serde(default)]
    pub bases: BTreeMap<String, u64>,
    /// How often an operator has accepted the broker.
    #[serde(default)]
    pub accepts: u64,
    /// What accepting the broker does. It is stored before any of it is done, and is done again after an
    /// interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepting: Option<Vec<AcceptedPartition>>,
}

/// A partition that contradicted the tables, and goes on elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedPartition {
    pub stream: OperationStream,
    pub partition: u32,
    /// The position that the tables had applied.
    pub applied: u64,
    /// The position up to which the log agrees with them, or at which it begins.
    pub agreed: u64,
    /// The position that the record there has from then on.
    pub next: u64,
    /// The checkpoint of each database from then on.
    pub checkpoints: Vec<u64>,
}

impl BrokerState {
    /// The next decision: nothing goes on for this reason.
    #[must_use]
    pub fn stop(&self, reason: String) -> Self {
        let (bases, accepts) = (self.bases.clone(), self.accepts);
        Self { generation: self.generation + 1, stopped: Some(reason), bases, accepts, accepting: None }
    }
}
