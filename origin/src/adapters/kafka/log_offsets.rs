//! Positions and offsets: a position is the offset of a record and the base of its partition. The base grows when
//! an operator accepts a log that begins again, so that positions never go back.
//!
//! And whether the log may be used: the cluster that was seen is the remembered one, and the broker is not stopped.

use std::collections::HashMap;

use parking_lot::RwLock;

use crate::domain::broker_state::{BrokerState, describe_other_cluster};
use crate::ports::broker::Topic;

/// The bases of all partitions, whether the broker is stopped, and which cluster it is.
#[derive(Debug, Default)]
pub(crate) struct LogOffsets(RwLock<Decided>);

#[derive(Debug, Default)]
struct Decided {
    generation: u64,
    stopped: Option<String>,
    bases: HashMap<(Topic, u32), u64>,
    accepts: u64,
    cluster_id: Option<String>,
    /// The cluster that answered last. This is seen, not decided.
    seen_cluster: Option<String>,
}

impl LogOffsets {
    /// Follows a decision, unless a later one is known.
    pub(crate) fn follow(&self, state: &BrokerState) {
        let mut decided = self.0.write();
        // Of two decisions of one generation the first stays. Before the first one, it is not known whether there is
        // any.
        if state.generation < decided.generation || (state.generation > 0 && state.generation == decided.generation) {
            if decided.cluster_id.is_none() {
                decided.cluster_id.clone_from(&state.cluster_id);
            }
            return;
        }
        let base = |topic: Topic, name: &str| -> Option<((Topic, u32), u64)> {
            let number = name.strip_prefix(topic.name())?.strip_prefix('/')?.parse().ok()?;
            Some(((topic, number), *state.bases.get(name)?))
        };
        let all = state.bases.keys().flat_map(|name| Topic::ALL.iter().filter_map(move |topic| base(*topic, name)));
        *decided = Decided {
            generation: state.generation,
            stopped: state.stopped.clone(),
            bases: all.collect(),
            accepts: state.accepts,
            cluster_id: state.cluster_id.clone().or_else(|| decided.cluster_id.take()),
            seen_cluster: decided.seen_cluster.take(),
        };
    }

    /// Notes which cluster has answered.
    pub(crate) fn see_cluster(&self, cluster_id: Option<&str>) {
        self.0.write().seen_cluster = cluster_id.map(str::to_owned);
    }

    /// Why the broker is stopped: it was decided, or another cluster than the remembered one has answered.
    pub(crate) fn stopped(&self) -> Option<String> {
        let stopped = self.0.read().stopped.clone();
        stopped.or_else(|| self.other_cluster())
    }

    /// Why the cluster that has answered is not the remembered one.
    pub(crate) fn other_cluster(&self) -> Option<String> {
        let decided = self.0.read();
        describe_other_cluster(decided.seen_cluster.as_deref()?, decided.cluster_id.as_deref()?)
    }

    /// How often an operator has accepted the broker.
    pub(crate) fn accept_count(&self) -> u64 {
        self.0.read().accepts
    }

    /// What is added to the offsets of a partition.
    pub(crate) fn base(&self, topic: Topic, partition: u32) -> u64 {
        self.0.read().bases.get(&(topic, partition)).copied().unwrap_or(0)
    }

    /// The position of the record at an offset.
    pub(crate) fn position(&self, topic: Topic, partition: u32, offset: u64) -> u64 {
        self.base(topic, partition).saturating_add(offset)
    }

    /// The offset of the record at a position; `None` for one before the log began again.
    pub(crate) fn offset(&self, topic: Topic, partition: u32, position: u64) -> Option<u64> {
        position.checked_sub(self.base(topic, partition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_the_latest_decision() {
        let offsets = LogOffsets::default();
        assert_eq!(offsets.position(Topic::Comments, 3, 7), 7);
        let later = BrokerState { generation: 2, bases: [("comments/3".into(), 100)].into(), ..BrokerState::default() };
        offsets.follow(&later);
        assert_eq!((offsets.position(Topic::Comments, 3, 7), offsets.position(Topic::Reactions, 3, 7)), (107, 7));
        assert_eq!((offsets.offset(Topic::Comments, 3, 107), offsets.offset(Topic::Comments, 3, 99)), (Some(7), None));
        offsets.follow(&BrokerState { generation: 1, stopped: Some("late".into()), ..BrokerState::default() });
        assert_eq!((offsets.position(Topic::Comments, 3, 7), offsets.stopped()), (107, None));
        offsets.follow(&later.stop("now".into()));
        assert_eq!((offsets.position(Topic::Comments, 3, 7), offsets.stopped()), (107, Some("now".into())));
    }

    #[test]
    fn another_cluster_than_the_remembered_one_stops_the_broker() {
        let offsets = LogOffsets::default();
        let remembered = |id: &str| BrokerState { cluster_id: Some(id.to_owned()), ..BrokerState::default() };
        offsets.see_cluster(Some("b"));
        assert_eq!(offsets.stopped(), None, "none is remembered");
        offsets.follow(&remembered("a"));
        let stopped = offsets.stopped().unwrap();
        assert!(stopped.contains("of Kafka cluster b") && stopped.contains("from cluster a"), "{stopped}");
        offsets.follow(&BrokerState { generation: 1, ..remembered("b") });
        assert_eq!(offsets.stopped(), None, "it was accepted");
        offsets.see_cluster(Some("c"));
        assert!(offsets.stopped().is_some());
        offsets.see_cluster(None);
        assert_eq!(offsets.stopped(), None, "a broker without an id");
        // A decision that was followed before a cluster was remembered.
        let offsets = LogOffsets::default();
        offsets.see_cluster(Some("b"));
        offsets.follow(&BrokerState { generation: 1, ..BrokerState::default() });
        offsets.follow(&BrokerState { generation: 1, ..remembered("a") });
        assert!(offsets.stopped().is_some());
    }
}
