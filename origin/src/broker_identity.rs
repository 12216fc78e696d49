//! Whether the broker is the one whose records the tables hold, by the id of its cluster.
//!
//! The first cluster that is seen is remembered. Another one stops the broker for all processes, until an operator
//! accepts it. Not here: whether a log of the same cluster was recreated or truncated, which a job finds by comparing
//! records.

use std::time::Duration;

use tokio::time::sleep;

use crate::domain::broker_state::{BrokerState, describe_other_cluster};
use crate::ports::broker::Broker;
use crate::ports::store::BrokerStates;

/// How often a process compares again: its addresses may lead to another cluster meanwhile.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Between two attempts to compare.
const CHECK_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Compares the cluster that answers with the remembered one, which it becomes if there is none; why it is another one.
///
/// # Errors
/// When the broker does not answer, or no database does.
pub async fn check(broker: &dyn Broker, tables: &dyn BrokerStates) -> anyhow::Result<Option<String>> {
    let Some(seen) = broker.read_cluster_id().await? else { return Ok(None) };
    let mut state = tables.read_broker_state().await?;
    if state.cluster_id.is_none() {
        match tables.remember_cluster(&seen).await {
            Ok(remembered) => state.cluster_id = Some(remembered),
            // The database that decides is away. Nothing waits for it.
            Err(error) => tracing::debug!(cluster_id = seen, %error, "Could not remember the Kafka cluster {seen}"),
        }
    }
    broker.follow(&state);
    let reason = state.cluster_id.as_deref().and_then(|remembered| describe_other_cluster(&seen, remembered));
    if let Some(reason) = &reason
        && state.stopped.is_none()
    {
        stop_broker(tables, &state.stop(reason.clone())).await;
    }
    Ok(reason)
}

/// Compares now and every 30 s, without end. Calls `on_other` with the reason whenever the cluster is another one.
pub async fn watch(broker: &dyn Broker, tables: &dyn BrokerStates, on_other: impl Fn(String)) {
    loop {
        let pause = match check(broker, tables).await {
            Ok(other) => {
                other.into_iter().for_each(&on_other);
                CHECK_INTERVAL
            }
            Err(error) => {
                tracing::debug!(%error, "Could not compare the Kafka cluster");
                CHECK_RETRY_INTERVAL
            }
        };
        sleep(pause).await;
    }
}

/// Stops the broker for all processes. If no database can be written to, the next check finds the same.
pub async fn stop_broker(tables: &dyn BrokerStates, stopped: &BrokerState) {
    let reason = stopped.stopped.as_deref().unwrap_or_default();
    tracing::error!(reason, "The broker is stopped, and nothing is acknowledged any more: {reason}");
    if let Err(error) = tables.write_broker_state(stopped).await {
        let topics = "comments and reactions";
        tracing::warn!(topics, %error, "Could not store that the broker is stopped for {topics}");
    }
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::*;
    use crate::cluster::accept_log::accept;
    use crate::testing::memory_broker::MemoryBroker;
    use crate::testing::memory_store::MemoryStore;

    #[tokio::test]
    async fn first_cluster_is_remembered_and_another_one_stops_the_broker_until_it_is_accepted() {
        let (broker, tables) = (MemoryBroker::new(1), MemoryStore::new(2));
        let check = async || super::check(&broker, &*tables).await.unwrap();
        assert_eq!(check().await, None, "a broker without an id");
        assert_eq!(tables.read_broker_state().await.unwrap(), BrokerState::default());
        broker.set_cluster_id("first");
        for _ in 0..2 {
            assert_eq!(check().await, None);
            let state = tables.read_broker_state().await.unwrap();
            assert_eq!((state.generation, state.stopped, state.cluster_id), (0, None, Some("first".into())));
        }
        broker.set_cluster_id("second");
        let reason = check().await.unwrap();
        assert!(reason.contains("of Kafka cluster second") && reason.contains("from cluster first"), "{reason}");
        let stopped = tables.read_broker_state().await.unwrap();
        assert_eq!((stopped.generation, stopped.stopped.as_ref()), (1, Some(&reason)));
        assert_eq!(check().await, Some(reason));
        assert_eq!(tables.read_broker_state().await.unwrap(), stopped, "it is stopped once");
        // The stop lasts when the addresses are right again.
        broker.set_cluster_id("first");
        assert_eq!(check().await, None);
        assert_eq!(tables.read_broker_state().await.unwrap(), stopped);
        broker.set_cluster_id("second");
        assert_eq!(accept(&broker, &*tables).await.unwrap(), [], "its records are those of the first");
        assert_eq!(check().await, None);
        let state = tables.read_broker_state().await.unwrap();
        assert_eq!((state.stopped, state.cluster_id, state.accepts), (None, Some("second".into()), 1));
        // No check has run since the cluster is another one.
        broker.set_cluster_id("third");
        accept(&broker, &*tables).await.unwrap();
        assert_eq!(tables.read_broker_state().await.unwrap().cluster_id.as_deref(), Some("third"));
    }
}
