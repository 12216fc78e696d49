//! Compares the review queue with the comments of a subject, and repairs it.
//!
//! A chunk is read in one statement, and repaired by what the rows say under the lock.

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, ReviewKind};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{
    StoredEnum, count_at, damaged, id_at, json_at, number_at, optional_number_at, path,
};
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::BatchScript;
use crate::adapters::mysql::write::moderation_rows::write_queue;
use crate::domain::fold::RowChanges;
use crate::domain::reconcile::{ComparedChunk, QueuedRow, ReviewedComment};
use crate::ports::store::{Result, Sharding as _, StoreError};

/// Comments that are compared at once.
const COMMENTS_PER_CHUNK: usize = 1_000;
/// The columns that [`reviewed_comment`] reads, of a comment `c` and its row `q` of the queue.
const REVIEWED_COLUMNS: &str = "c.id, c.state, c.flags, c.likes, c.dislikes, c.replies, c.author_level, c.created_at, \
                                q.kind, q.rank_key, q.since, q.item";

impl MysqlStore {
    pub(super) async fn compare_reviews(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        let (slot, number) = (subject.slot(), subject_number(subject));
        let (table, of_slot) = (self.table_number(slot), slot.get());
        let text = format!(
            "SELECT {REVIEWED_COLUMNS}, c.path FROM comment_{table} c FORCE INDEX (comment_path) \
             LEFT JOIN review_{table} q FORCE INDEX (PRIMARY) ON q.slot = {of_slot} AND q.comment_id = c.id \
             WHERE c.subject = ? AND c.path > ? ORDER BY c.path LIMIT {COMMENTS_PER_CHUNK}"
        );
        let statement = sql(text).bind(number).bind(after.map_or(&[][..], Path::as_bytes));
        let rows = self.rows_of("reconcile", slot, statement).await?;
        let last = rows.last().filter(|_| rows.len() == COMMENTS_PER_CHUNK);
        let next = last.map(|r| Ok::<_, StoreError>(path(r.try_get(12)?)?)).transpose()?;
        let mut wrong = rows.iter().map(reviewed_comment).collect::<Result<Vec<_>>>()?;
        wrong.retain(|comment| comment.fault().is_some());
        if repair && !wrong.is_empty() {
            let ids: Vec<CommentId> = wrong.iter().map(|comment| comment.id).collect();
            self.repair_reviews(slot, &ids).await?;
        }
        Ok(ComparedChunk { found: wrong.iter().filter_map(|comment| comment.found(repair)).collect(), next })
    }

    /// Makes the rows of the queue and the flags of comments of a slot again, and counts its queue.
    async fn repair_reviews(&self, slot: Slot, ids: &[CommentId]) -> Result<()> {
        let (table, of_slot) = (self.table_number(slot), slot.get());
        let ids = ids.iter().map(CommentId::to_string).collect::<Vec<_>>().join(",");
        let (held, reported) = (ReviewKind::Held.number(), ReviewKind::Reported.number());
        let mut session = self.session("repair_reviews", self.database_of(slot)).await?;
        session.begin().await?;
        let done = async {
            SlotStatus::lock_settled(&mut session, slot).await?;
            let text = format!(
                "SELECT {REVIEWED_COLUMNS} FROM comment_{table} c LEFT JOIN review_{table} q \
                 ON q.slot = {of_slot} AND q.comment_id = c.id WHERE c.id IN ({ids})"
            );
            let rows = session.fetch_text(text).await?;
            let comments = rows.iter().map(reviewed_comment).collect::<Result<Vec<_>>>()?;
            let reviews = comments.iter().map(ReviewedComment::expected_row).collect();
            let mut script = BatchScript::new(&mut session);
            for comment in &comments {
                let (id, flags) = (comment.id, comment.expected_flags());
                script.add(&format!("UPDATE comment_{table} SET flags = {flags} WHERE id = {id}")).await?;
            }
            write_queue(self, &mut script, &RowChanges { reviews, ..RowChanges::default() }).await?;
            let statement = format!(
                "REPLACE INTO review_count_{table} (slot, held, reported) SELECT {of_slot}, \
                 COALESCE(SUM(kind = {held}), 0), COALESCE(SUM(kind = {reported}), 0) FROM review_{table} \
                 WHERE slot = {of_slot}"
            );
            script.add(&statement).await?;
            script.send().await
        };
        let done = done.await;
        session.finish(done).await
    }
}

fn reviewed_comment(r: &MySqlRow) -> Result<ReviewedComment> {
    let queued = match optional_number_at(r, 8)? {
        None => None,
        Some(kind) => Some(QueuedRow { kind, rank: number_at(r, 9)?, since: count_at(r, 10)?, item: json_at(r, 11)? }),
    };
    Ok(ReviewedComment {
        id: id_at(r, 0)?,
        state: CommentState::from_number(number_at(r, 1)?)?,
        flags: number_at(r, 2)?,
        counts: EngagementCounts { likes: count_at(r, 3)?, dislikes: count_at(r, 4)?, replies: count_at(r, 5)? },
        author_level: u8::try_from(number_at(r, 6)?).map_err(damaged)?,
        created_at: count_at(r, 7)?,
        queued,
    })
}
