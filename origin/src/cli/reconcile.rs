//! `gailou reconcile`: compares rows with the counters kept beside them, and with the caches.
//!
//! May run beside a server: each subject is compared as it was at one moment, and repaired under
//! the lock its writers take. Promise: whatever is repaired is reported, and exit 0 means that
//! nothing is left that differs.

use anyhow::Context as _;
use gailou_shared::id::SubjectKey;

use crate::bootstrap::Process;
use crate::cli::EXIT_FAILED;
use crate::cli::output::Console;

/// Subjects asked for at a time.
const SUBJECTS_PER_QUERY: usize = 200;

/// Found and repaired.
#[derive(Debug, Default)]
struct Report {
    subjects: u64,
    differ: u64,
    repaired: u64,
}

pub(super) async fn run(process: &Process, repair: bool, console: &mut dyn Console) -> anyhow::Result<u8> {
    let mut report = Report::default();
    let mut after: Option<SubjectKey> = None;
    loop {
        let subjects = process.tables.list_subjects_after(after.as_ref(), SUBJECTS_PER_QUERY).await?;
        for subject in &subjects {
            reconcile(process, subject, repair, &mut report, console).await.with_context(|| format!("{subject}"))?;
        }
        report.subjects += subjects.len() as u64;
        match subjects.last() {
            Some(last) => after = Some(last.clone()),
            None => break,
        }
    }
    let Report { subjects, differ, repaired } = report;
    console.out(&format!("{subjects} subjects, {differ} differences, {repaired} repaired\n")).await?;
    Ok(if differ > repaired { EXIT_FAILED } else { 0 })
}

async fn reconcile(
    process: &Process,
    subject: &SubjectKey,
    repair: bool,
    report: &mut Report,
    console: &mut dyn Console,
) -> anyhow::Result<()> {
    for difference in process.tables.reconcile(subject, repair).await? {
        let repaired = repair && difference.can_be_repaired();
        report.differ += 1;
        report.repaired += u64::from(repaired);
        let word = if repaired { " (repaired)" } else { "" };
        console.out(&format!("{subject}: {difference}{word}\n")).await?;
    }
    #[cfg(feature = "cluster")]
    if let Some(cluster) = &process.cluster {
        for (what, repaired) in answers(cluster).reconcile(subject, repair).await? {
            report.differ += 1;
            report.repaired += u64::from(repaired);
            let word = if repaired { " (repaired)" } else { "" };
            console.out(&format!("{subject}: {what}{word}\n")).await?;
        }
    }
    Ok(())
}

#[cfg(feature = "cluster")]
fn answers(cluster: &crate::bootstrap::cluster::Cluster) -> crate::cluster::reconcile::AnswerCheck {
    crate::cluster::reconcile::AnswerCheck {
        tables: cluster.tables.clone(),
        counters: cluster.counters.clone(),
        cached_store: cluster.cached_store.clone(),
    }
}
