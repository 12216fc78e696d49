//! Compares rows that are made from others with those, in steps of bounded size, and repairs them.

mod counters;
mod ranks;
mod reviews;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use gailou_shared::path::Path;
use rusqlite::{Transaction, TransactionBehavior, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rank_again::is_ranked_by;
use crate::adapters::sqlite::rows::damaged;
use crate::domain::reconcile::{ComparedChunk, FoundDifference, RankWalk, ReconcileScope};
use crate::ports::store::{Reconciler, Result};
use crate::telemetry::measure_here;

impl SqliteStore {
    /// Repairs rows in one transaction.
    fn repair(&self, work: impl FnOnce(&Transaction<'_>) -> Result<()>) -> Result<()> {
        let mut writer = self.writer();
        measure_here("sqlite", "repair", || {
            let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            work(&tx)?;
            Ok(tx.commit()?)
        })
    }
}

#[async_trait]
impl Reconciler for SqliteStore {
    async fn list_subjects_after(
        &self,
        scope: ReconcileScope,
        after: Option<&SubjectKey>,
        count: usize,
    ) -> Result<Vec<SubjectKey>> {
        let mut after = after.map_or((String::new(), 0), |key| (key.kind().to_owned(), key.obj_id() as i64));
        let has_slot = move |key: &SubjectKey| scope.contains_subjects_of(key.slot());
        loop {
            let found = self
                .read("list_subjects_after", move |c| {
                    let sql = "SELECT type, key FROM subject WHERE type > ?1 OR (type = ?1 AND obj_id > ?2) \
                               ORDER BY type, obj_id LIMIT ?3";
                    fetch_all(c, sql, params![after.0, after.1, count as i64], |r| {
                        SubjectKey::new(&r.get::<_, String>(0)?, &r.get::<_, String>(1)?).map_err(damaged)
                    })
                })
                .await?;
            let Some(last) = found.last() else { return Ok(vec![]) };
            after = (last.kind().to_owned(), last.obj_id() as i64);
            let found: Vec<SubjectKey> = found.into_iter().filter(has_slot).collect();
            if !found.is_empty() {
                return Ok(found);
            }
        }
    }

    async fn reconcile_counters(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<FoundDifference>> {
        self.compare_counters(subject, repair).await
    }

    async fn is_ranked(&self) -> Result<bool> {
        let weights = self.weights.clone();
        self.read("is_ranked", move |c| is_ranked_by(c, &weights)).await
    }

    async fn reconcile_ranks(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        self.compare_ranks(subject, after, repair).await
    }

    async fn reconcile_reviews(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        self.compare_reviews(subject, after, repair).await
    }

    async fn reconcile_rank_rows(
        &self,
        scope: ReconcileScope,
        walk: Option<RankWalk>,
        repair: bool,
    ) -> Result<ComparedChunk<RankWalk>> {
        self.compare_rank_rows(scope, walk, repair).await
    }
}
