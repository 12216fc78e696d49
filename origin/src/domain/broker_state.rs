//! What an installation has decided of its broker: which cluster it is, whether it is stopped, and where the offsets of
//! each partition begin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::positions::OperationStream;

/// A decision. Later ones have larger generations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerState {
    pub generation: u64,
    /// Why nothing is appended or stored, until an operator accepts the broker as it is.
    pub stopped: Option<String>,
    /// The id of the cluster whose records the tables hold; `None` until one was seen. Once known it is replaced only by
    /// accepting the broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
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
        Self { generation: self.generation + 1, stopped: Some(reason), accepting: None, ..self.clone() }
    }

    /// Takes another decision if it is later; of two decisions of one generation the first stays. A cluster that is
    /// known is not forgotten, and an earlier decision fills in one that is not.
    pub fn take(&mut self, other: &Self) {
        let cluster_id = self.cluster_id.take();
        if self.generation < other.generation {
            let known = other.cluster_id.clone().or(cluster_id);
            *self = Self { cluster_id: known, ..other.clone() };
        } else {
            self.cluster_id = cluster_id.or_else(|| other.cluster_id.clone());
        }
    }
}

/// Why a cluster is not the one whose records the tables hold; `None` if it is.
pub fn describe_other_cluster(seen: &str, remembered: &str) -> Option<String> {
    (seen != remembered).then(|| {
        format!(
            "the brokers are of Kafka cluster {seen}, and the tables were written from cluster {remembered}: the \
             addresses lead to another one, or it was set up anew"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(generation: u64, stopped: Option<&str>, cluster_id: Option<&str>) -> BrokerState {
        let (stopped, cluster_id) = (stopped.map(str::to_owned), cluster_id.map(str::to_owned));
        BrokerState { generation, stopped, cluster_id, ..BrokerState::default() }
    }

    #[test]
    fn later_decision_is_taken_and_a_known_cluster_stays() {
        let check = |mut before: BrokerState, other: &BrokerState, expected: &BrokerState| {
            before.take(other);
            assert_eq!(before, *expected);
        };
        check(state(0, None, None), &state(0, None, Some("a")), &state(0, None, Some("a")));
        check(state(0, None, Some("a")), &state(0, None, Some("b")), &state(0, None, Some("a")));
        check(state(1, None, Some("a")), &state(2, Some("x"), None), &state(2, Some("x"), Some("a")));
        check(state(1, None, Some("a")), &state(2, None, Some("b")), &state(2, None, Some("b")));
        check(state(2, Some("x"), None), &state(2, Some("y"), Some("b")), &state(2, Some("x"), Some("b")));
        check(state(2, None, Some("a")), &state(1, Some("x"), Some("b")), &state(2, None, Some("a")));
        let stopped = state(1, None, Some("a")).stop("x".into());
        assert_eq!(stopped, state(2, Some("x"), Some("a")));
        // A state of a version that knew no clusters.
        let stored = r#"{"generation":3,"stopped":null,"bases":{"comments/1":7},"accepts":1}"#;
        let read: BrokerState = serde_json::from_str(stored).unwrap();
        assert_eq!((read.generation, read.cluster_id), (3, None));
    }
}
