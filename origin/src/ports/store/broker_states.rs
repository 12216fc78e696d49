//! The port to what the installation has decided of its broker.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::broker_state::BrokerState;
use crate::ports::store::Result;

/// Reads and writes the decision, which is in every database.
#[async_trait]
pub trait BrokerStates: Send + Sync + Debug {
    /// The latest decision of the databases that answer.
    async fn read_broker_state(&self) -> Result<BrokerState>;
    /// Writes a decision into the databases that answer, except where an equally late one is; how many they are.
    ///
    /// # Errors
    /// When none answers.
    async fn write_broker_state(&self, state: &BrokerState) -> Result<usize>;
    /// Remembers the broker's cluster, unless one is remembered; which one is from then on. One write decides, so that
    /// two processes never find different ones.
    async fn remember_cluster(&self, cluster_id: &str) -> Result<String>;
}
