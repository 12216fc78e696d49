//! `gailou reconcile`: compares rows with their counters and with the caches.
//!
//! It may run while a server writes: each subject is compared in one transaction, and repaired under the
//! lock of its writers. Promise: every repair is reported, and exit code 0 means that no difference is
//! left.

use anyhow::Context as _;
use gailou_shared::id::SubjectKey;

use crate::bootstrap::Process;
use crate::cli::EXIT_FAILED;
use crate::cli::output::Console;

/// Subjects in one query.
const SUBJECTS_PER_QUERY: usize = 200;

/// How many differences were found and repaired.
#[derive(Debug, Default)]
struct ReconcileReport {
    subjects: u64,
    differ: u64,
    repaired: u64,
}

pub(super) async fn run(process: &Process, repair: bool, console: &mut dyn Console) -> anyhow::Result<u8> {
    let mut report = ReconcileReport::default();
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
    let ReconcileReport { subjects, differ, repaired } = report;
    console.out(&format!("{subjects} subjects, {differ} differences, {repaired} repaired\n")).await?;
    Ok(if differ > repaired { EXIT_FAILED } else { 0 })
}

async fn reconcile(
    process: &Process,
    subject: &SubjectKey,
    repair: bool,
    report: &mut ReconcileReport,
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
