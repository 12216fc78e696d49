//! The ranks of comments, computed again: their keys depend on the configured weights.

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{count_at, id_at, number_at, optional_number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::domain::root_keys::RootKeys;
use crate::domain::row::describe_weights;
use crate::ports::store::{Reconciler as _, Result, Sharding as _, StoreError};

/// The columns of [`root_rank_values`].
pub(super) const ROOT_RANK_COLUMNS: &str =
    "(subject, id, likes, dislikes, replies, created_at, hot, best, controversial)";

/// The name of the setting with the weights that the ranks are made with.
const WEIGHTS_SETTING: &str = "weights";
/// How long a process waits while another ranks the same comments.
const RANK_LOCK_WAIT_S: u64 = 2;
/// Subjects that are looked up at once.
const SUBJECTS_PER_READ: usize = 500;
/// Comments that are read at once.
const COMMENTS_PER_READ: usize = 2_000;

/// The rank of a root as a row to insert.
pub(super) fn root_rank_values(
    subject: i64,
    id: CommentId,
    counts: EngagementCounts,
    created_at: u64,
    keys: RootKeys,
) -> String {
    let EngagementCounts { likes, dislikes, replies } = counts;
    let RootKeys { hot, best, controversial } = keys;
    format!("({subject},{id},{likes},{dislikes},{replies},{created_at},{hot},{best},{controversial})")
}

impl MysqlStore {
    /// Ranks every comment again when the weights differ from those that the stored ranks were made with.
    /// A process that ends in the middle leaves it to the next one, which begins again.
    pub(super) async fn rank_again(&self) -> Result<()> {
        let lock = NamedLock::acquire(self.long_session("rank_again", 0).await?, "rank", RANK_LOCK_WAIT_S).await?;
        let Some(mut lock) = lock else {
            let text = "another process ranks the comments by new weights; run this again later";
            return Err(StoreError::Unavailable(text.into()));
        };
        if !self.is_ranked_by_weights().await? {
            let (subjects, configured) = (self.rank_all_again().await?, describe_weights(&self.weights));
            let put = "INSERT INTO setting (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)";
            lock.session().execute(sql(put).bind(WEIGHTS_SETTING).bind(configured.as_bytes())).await?;
            tracing::info!(subjects, "Ranked the comments of {subjects} subjects by the configured weights");
        }
        lock.release().await
    }

    /// Whether the stored ranks were made with the configured weights.
    ///
    /// # Errors
    /// When the first database does not answer.
    pub async fn is_ranked_by_weights(&self) -> Result<bool> {
        let read = sql("SELECT value FROM setting WHERE name = ?").bind(WEIGHTS_SETTING);
        let found = self.first_pool().session("is_ranked_by_weights").await?.fetch_first(read).await?;
        let stored: Option<Vec<u8>> = found.map(|r| r.try_get(0)).transpose()?;
        Ok(stored.is_some_and(|stored| stored == describe_weights(&self.weights).as_bytes()))
    }

    /// Ranks the comments of every subject; how many subjects there are.
    async fn rank_all_again(&self) -> Result<usize> {
        let (mut after, mut ranked) = (None, 0);
        loop {
            let subjects = self.list_subjects_after(after.as_ref(), SUBJECTS_PER_READ).await?;
            for subject in &subjects {
                self.lock_and_rank(subject).await?;
            }
            ranked += subjects.len();
            let Some(last) = subjects.last() else { return Ok(ranked) };
            after = Some(last.clone());
        }
    }

    async fn lock_and_rank(&self, subject: &SubjectKey) -> Result<()> {
        let slot = subject.slot();
        let mut session = self.long_session("rank_again", self.database_of(slot)).await?;
        session.begin().await?;
        // Not in a slot that is being copied: this records no dirty rows.
        if SlotState::lock(&mut session, slot).await? != SlotState::Owned {
            let text = format!("slot {} is being moved; run this again later", slot.get());
            return Err(StoreError::Unavailable(text.into()));
        }
        let weights = self.weights_of(subject.kind());
        rank_subject_again(&mut session, self.table_number(slot), subject_number(subject), &weights).await?;
        session.commit().await
    }
}

/// Replaces the ranks of a subject's comments by those that its rows say. To be called under the lock of
/// its slot.
pub(super) async fn rank_subject_again(
    session: &mut MysqlSession,
    table: u16,
    subject: i64,
    weights: &HotWeights,
) -> Result<()> {
    for text in [
        format!("DELETE FROM root_rank_{table} WHERE subject = ?"),
        format!(
            "DELETE r FROM reply_rank_{table} r JOIN comment_{table} c ON c.id = r.root_id \
             WHERE c.subject = ? AND c.depth = 1"
        ),
    ] {
        session.execute(sql(text).bind(subject)).await?;
    }
    let mut after = Vec::new();
    loop {
        let text = format!(
            "SELECT path, root_id, id, likes, dislikes, replies, created_at, listed_floor FROM comment_{table} \
             FORCE INDEX (comment_path) WHERE subject = ? AND path > ? ORDER BY path LIMIT {COMMENTS_PER_READ}"
        );
        let comments = session.fetch_all(sql(text).bind(subject).bind(after.clone())).await?;
        let Some(last) = comments.last() else { return Ok(()) };
        after = last.try_get::<Vec<u8>, _>(0)?;
        let (mut roots, mut replies) = (Vec::new(), Vec::new());
        for r in &comments {
            if optional_number_at(r, 7)?.is_none() {
                continue;
            }
            let (root, id, created_at) = (number_at(r, 1)?, id_at(r, 2)?, count_at(r, 6)?);
            let counts =
                EngagementCounts { likes: count_at(r, 3)?, dislikes: count_at(r, 4)?, replies: count_at(r, 5)? };
            if id.signed() != root {
                let hot = rank::sort_key(Sort::Hot, counts, created_at, weights);
                replies.push(format!("({root},{hot},{id})"));
            } else if counts.has_any() {
                roots.push(root_rank_values(
                    subject,
                    id,
                    counts,
                    created_at,
                    RootKeys::of(counts, created_at, weights),
                ));
            }
        }
        for (into, rows) in [
            (format!("root_rank_{table} {ROOT_RANK_COLUMNS}"), roots),
            (format!("reply_rank_{table} (root_id, hot, id)"), replies),
        ] {
            if !rows.is_empty() {
                session.execute_text(format!("INSERT INTO {into} VALUES {}", rows.join(","))).await?;
            }
        }
    }
}
