//! Compares rows that are made from others with those, in steps of bounded size, and repairs them.

mod counters;
mod histories;
mod outboxes;
mod ranks;
mod reviews;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::subject_at;
use crate::adapters::mysql::statement::sql;
use crate::domain::reconcile::{ComparedChunk, FoundDifference, RankWalk, ReconcileScope};
use crate::ports::store::{HistoryReconciler, Reconciler, Result};

#[async_trait]
impl Reconciler for MysqlStore {
    /// Slot by slot, and in a slot by the subject's number.
    async fn list_subjects_after(
        &self,
        scope: ReconcileScope,
        after: Option<&SubjectKey>,
        count: usize,
    ) -> Result<Vec<SubjectKey>> {
        let (first, mut beyond) = after.map_or((Slot::FIRST, i64::MIN), |key| (key.slot(), subject_number(key)));
        for slot in scope.slots_from(first) {
            let (mut session, table) = (self.reading_slot("list_subjects_after", slot).await?, self.table_number(slot));
            let text =
                format!("SELECT type, `key` FROM subject_{table} WHERE slot = ? AND id > ? ORDER BY id LIMIT {count}");
            let found = session.fetch_all(sql(text).bind(slot.get()).bind(beyond)).await?;
            if !found.is_empty() {
                return found.iter().map(|r| subject_at(r, 0)).collect();
            }
            beyond = i64::MIN;
        }
        Ok(vec![])
    }

    async fn reconcile_counters(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<FoundDifference>> {
        self.compare_counters(subject, repair).await
    }

    async fn is_ranked(&self) -> Result<bool> {
        self.is_ranked_by_weights().await
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

#[async_trait]
impl HistoryReconciler for MysqlStore {
    async fn reconcile_histories(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        self.compare_histories(subject, after, repair).await
    }

    async fn reconcile_history_rows(
        &self,
        slot: Slot,
        after: Option<(MemberId, CommentId)>,
        repair: bool,
    ) -> Result<ComparedChunk<(MemberId, CommentId)>> {
        self.compare_history_rows(slot, after, repair).await
    }

    async fn reconcile_outboxes(
        &self,
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
        repair: bool,
    ) -> Result<Vec<FoundDifference>> {
        self.compare_outboxes(is_erased, repair).await
    }
}
