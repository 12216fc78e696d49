//! `gailou reconcile`: compares comments with the rows that are made from them, and with the caches.
//!
//! It may run while a server writes: it reads snapshots, and repairs a few rows at a time under the lock of their
//! writers. Promise: every repair is reported, and exit code 0 means that no difference is left.

use anyhow::Context as _;
use clap::Args;
use gailou_shared::id::SubjectKey;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::EXIT_FAILED;
use crate::cli::output::Console;
use crate::cli::slot_range::{SlotRange, parse_slots};
use crate::domain::reconcile::{FoundDifference, ReconcileSample, ReconcileScope};

/// Subjects in one query.
const SUBJECTS_PER_QUERY: usize = 200;

/// What is compared, and what is done about it.
#[derive(Debug, Clone, Copy, Args, Serialize, Deserialize)]
pub(super) struct ReconcileArguments {
    /// Repair differences; the rows of comments and reactions are taken as correct
    #[arg(long)]
    pub(super) repair: bool,
    /// Compare the subjects and members of these slots only, such as 7 or 0-63
    #[arg(long, value_name = "SLOTS", value_parser = parse_slots)]
    slots: Option<SlotRange>,
    /// Compare one of N subjects, and the members of one of N slots: another part each day, everything in N days
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    sample: Option<u64>,
}

/// One run, and how many differences it has found and repaired.
struct ReconcileRun<'a> {
    process: &'a Process,
    console: &'a mut dyn Console,
    scope: ReconcileScope,
    repair: bool,
    /// Whether ranks are made with the configured weights, and can be compared.
    compares_ranks: bool,
    subjects: u64,
    differ: u64,
    repaired: u64,
}

pub(super) async fn run(
    process: &Process,
    arguments: ReconcileArguments,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let ReconcileArguments { repair, slots, sample } = arguments;
    let slots = slots.unwrap_or_default();
    let sample = sample.map_or(ReconcileSample::ALL, |of| ReconcileSample::of_day(of, process.clock.now()));
    let scope = ReconcileScope::new(slots.first(), slots.last(), sample);
    let compares_ranks = process.tables.is_ranked().await?;
    let mut run = ReconcileRun { process, console, scope, repair, compares_ranks, subjects: 0, differ: 0, repaired: 0 };
    if !compares_ranks {
        run.report(
            "the ranks",
            "they are not all made with the configured weights; `gailou migrate` makes the others again",
            false,
        )
        .await?;
    }
    #[cfg(feature = "cluster")]
    run.compare_outboxes().await?;
    run.compare_subjects().await?;
    run.compare_rank_rows().await?;
    #[cfg(feature = "cluster")]
    run.compare_history_rows().await?;
    let ReconcileRun { subjects, differ, repaired, .. } = run;
    console.out(&format!("{subjects} subjects, {differ} differences, {repaired} repaired\n")).await?;
    Ok(if differ > repaired { EXIT_FAILED } else { 0 })
}

impl ReconcileRun<'_> {
    async fn report(&mut self, place: &str, what: &str, repaired: bool) -> anyhow::Result<()> {
        self.differ += 1;
        self.repaired += u64::from(repaired);
        let word = if repaired { " (repaired)" } else { "" };
        Ok(self.console.out(&format!("{place}: {what}{word}\n")).await?)
    }

    async fn report_all(&mut self, place: &str, found: Vec<FoundDifference>) -> anyhow::Result<()> {
        for FoundDifference { difference, repaired } in found {
            self.report(place, &difference.to_string(), repaired).await?;
        }
        Ok(())
    }

    async fn compare_subjects(&mut self) -> anyhow::Result<()> {
        let (scope, mut after) = (self.scope, None::<SubjectKey>);
        loop {
            let tables = &self.process.tables;
            let subjects = tables.list_subjects_after(scope, after.as_ref(), SUBJECTS_PER_QUERY).await?;
            let Some(last) = subjects.last() else { return Ok(()) };
            after = Some(last.clone());
            for subject in subjects.iter().filter(|subject| scope.contains_subject(subject)) {
                self.compare_subject(subject).await.with_context(|| format!("{subject}"))?;
                self.subjects += 1;
            }
        }
    }

    async fn compare_subject(&mut self, subject: &SubjectKey) -> anyhow::Result<()> {
        let (place, repair) = (subject.to_string(), self.repair);
        let found = self.process.tables.reconcile_counters(subject, repair).await?;
        self.report_all(&place, found).await?;
        if self.compares_ranks {
            let mut after = None;
            loop {
                let chunk = self.process.tables.reconcile_ranks(subject, after.as_ref(), repair).await?;
                self.report_all(&place, chunk.found).await?;
                after = chunk.next;
                if after.is_none() {
                    break;
                }
            }
        }
        let mut after = None;
        loop {
            let chunk = self.process.tables.reconcile_reviews(subject, after.as_ref(), repair).await?;
            self.report_all(&place, chunk.found).await?;
            after = chunk.next;
            if after.is_none() {
                break;
            }
        }
        #[cfg(feature = "cluster")]
        self.compare_in_cluster(subject, &place).await?;
        Ok(())
    }

    async fn compare_rank_rows(&mut self) -> anyhow::Result<()> {
        let mut walk = None;
        while self.compares_ranks {
            let chunk = self.process.tables.reconcile_rank_rows(self.scope, walk, self.repair).await?;
            self.report_all("the ranks", chunk.found).await?;
            walk = chunk.next;
            if walk.is_none() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(feature = "cluster")]
impl ReconcileRun<'_> {
    /// Histories and caches of one subject.
    async fn compare_in_cluster(&mut self, subject: &SubjectKey, place: &str) -> anyhow::Result<()> {
        use crate::cluster::reconcile::AnswerCheck;
        use crate::ports::store::HistoryReconciler as _;

        let Some(cluster) = &self.process.cluster else { return Ok(()) };
        let mut after = None;
        loop {
            let chunk = cluster.tables.reconcile_histories(subject, after.as_ref(), self.repair).await?;
            self.report_all(place, chunk.found).await?;
            after = chunk.next;
            if after.is_none() {
                break;
            }
        }
        let answers = AnswerCheck {
            tables: cluster.tables.clone(),
            counters: cluster.counters.clone(),
            cached_store: cluster.cached_store.clone(),
        };
        for (what, repaired) in answers.reconcile(subject, self.repair).await? {
            self.report(place, &what, repaired).await?;
        }
        Ok(())
    }

    async fn compare_history_rows(&mut self) -> anyhow::Result<()> {
        use crate::ports::store::HistoryReconciler as _;

        let Some(cluster) = &self.process.cluster else { return Ok(()) };
        for slot in self.scope.sampled_slots() {
            let mut after = None;
            loop {
                let chunk = cluster.tables.reconcile_history_rows(slot, after, self.repair).await?;
                self.report_all("the histories", chunk.found).await?;
                after = chunk.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn compare_outboxes(&mut self) -> anyhow::Result<()> {
        use crate::ports::store::HistoryReconciler as _;

        let Some(cluster) = &self.process.cluster else { return Ok(()) };
        let erased = &self.process.erased_members;
        let found = cluster.tables.reconcile_outboxes(&|member| erased.contains(member), self.repair).await?;
        self.report_all("the outboxes", found).await
    }
}
