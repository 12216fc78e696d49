//! `gailou broker`: what the installation has decided of its broker.

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::output::Console;

#[derive(Debug, Clone, Copy, Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BrokerCommand {
    /// Print the installation, the Kafka cluster that it remembers, whether the broker is stopped, and why; exit with 1 if it is
    Status,
    /// Go on with the log as it is: records that it has lost, and that no table has, stay lost
    Accept,
}

#[cfg(feature = "cluster")]
pub(super) async fn run(process: &Process, command: BrokerCommand, console: &mut dyn Console) -> anyhow::Result<u8> {
    use anyhow::Context as _;

    use crate::cli::EXIT_FAILED;
    use crate::cluster::accept_log;
    use crate::ports::store::BrokerStates as _;

    let cluster = process.cluster.as_ref().context("there is no broker without a cluster")?;
    match command {
        BrokerCommand::Status => {
            let state = cluster.tables.read_broker_state().await?;
            let installation = cluster.tables.installation().unwrap_or("not made yet");
            let cluster_id = state.cluster_id.as_deref().unwrap_or("not seen yet");
            console.out(&format!("installation: {installation}\nKafka cluster: {cluster_id}\n")).await?;
            // Of what this command has seen by itself, too.
            match state.stopped.or_else(|| cluster.broker.stopped()) {
                None => {
                    console.out("the broker is not stopped\n").await?;
                    Ok(0)
                }
                Some(reason) => {
                    console.out(&format!("stopped: {reason}\n")).await?;
                    Ok(EXIT_FAILED)
                }
            }
        }
        BrokerCommand::Accept => {
            let accepted = accept_log::accept(&*cluster.broker, &*cluster.tables).await?;
            for found in &accepted {
                let line = format!(
                    "{:?}[{}]: the tables had applied {}, the log agrees up to {}; reading goes on there, or where a database was behind it\n",
                    found.stream, found.partition, found.applied, found.agreed
                );
                console.out(&line).await?;
            }
            console.out(&format!("{} partitions accepted; start the jobs again\n", accepted.len())).await?;
            Ok(0)
        }
    }
}

#[cfg(not(feature = "cluster"))]
pub(super) async fn run(_: &Process, _: BrokerCommand, _: &mut dyn Console) -> anyhow::Result<u8> {
    anyhow::bail!("there is no broker without a cluster")
}
