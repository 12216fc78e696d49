//! `gailou warm`: puts subjects into the cache before an announced event.

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
    let Some(cluster) = &process.cluster else { return nothing_to_warm(console).await };
    for subject in subjects {
        let entries = warm::subject(&cluster.cached_store, subject.key()).await?;
        console.out(&format!("{subject}: {entries} entries\n")).await?;
    }
    Ok(0)
}

#[cfg(not(feature = "cluster"))]
pub(super) async fn run(_: &Process, _: &[export::SubjectArgument], console: &mut dyn Console) -> anyhow::Result<u8> {
    nothing_to_warm(console).await
}

async fn nothing_to_warm(console: &mut dyn Console) -> anyhow::Result<u8> {
    console.err("gailou: there is no cluster, and so no cache to warm\n").await?;
    Ok(EXIT_USAGE)
}
