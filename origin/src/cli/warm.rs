//! `gailou warm`: loads subjects into the cache before readers request them.

use crate::bootstrap::Process;
use crate::cli::output::Console;
use crate::cli::{EXIT_USAGE, export};
#[cfg(feature = "cluster")]
use crate::jobs::warm;

#[cfg(feature = "cluster")]
pub(super) async fn run(
    process: &Process,
    subjects: &[export::SubjectArgument],
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let Some(cluster) = &process.cluster else { return refuse_without_cluster(console).await };
    for subject in subjects {
        let entries = warm::subject(&cluster.cached_store, subject.key()).await?;
        console.out(&format!("{subject}: {entries} entries\n")).await?;
    }
    Ok(0)
}

#[cfg(not(feature = "cluster"))]
pub(super) async fn run(_: &Process, _: &[export::SubjectArgument], console: &mut dyn Console) -> anyhow::Result<u8> {
    refuse_without_cluster(console).await
}

async fn refuse_without_cluster(console: &mut dyn Console) -> anyhow::Result<u8> {
    console
        .err("gailou: `warm` needs a cluster: set GAILOU_MYSQL_URLS, GAILOU_REDIS_URLS and GAILOU_KAFKA_BROKERS\n")
        .await?;
    Ok(EXIT_USAGE)
}
