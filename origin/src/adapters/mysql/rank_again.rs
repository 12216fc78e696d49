//! The ranks of comments, made again: their keys depend on the configured weights.
//!
//! It goes through the rank rows of each slot and then through its comments, a chunk in a transaction, and stores
//! behind each chunk where it goes on. So it continues an interrupted run, also in the middle of a subject, and
//! holds the lock of a slot for one chunk at a time. Writers that know the new weights may run meanwhile. Until it
//! ends, lists have keys of both kinds.

use async_trait::async_trait;
use gailou_shared::id::Slot;
use serde::{Deserialize, Serialize};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::copies::read_setting;
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::row_numbers::{first_subject, last_subject};
use crate::adapters::mysql::rows::{StoredEnum as _, damaged, slot_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::domain::reconcile::{RankKey, RankRow, RankStage, RankWalk, RankedChunk, StoredRank};
use crate::domain::row::describe_weights;
use crate::ports::store::{RerankProgress, Reranker, Result, StoreError};

/// The name of the setting with the weights that the ranks are made with.
const WEIGHTS_SETTING: &str = "weights";
/// The name of the setting with the place where an interrupted run goes on.
pub(super) const PROGRESS_SETTING: &str = "rank_progress";
/// How long a process waits while another ranks the same comments.
const RANK_LOCK_WAIT_S: u64 = 2;

/// Where ranking again goes on.
#[derive(Debug, Serialize, Deserialize)]
struct RankProgress {
    /// The weights that the rows before are ranked by.
    weights: String,
    walk: RankWalk,
    /// Comments that got another rank.
    #[serde(default)]
    ranked: u64,
}

impl RankProgress {
    fn begin(weights: String) -> Self {
        Self { weights, walk: RankWalk::of_slot(Slot::FIRST.get()), ranked: 0 }
    }
}

#[async_trait]
impl Reranker for MysqlStore {
    /// One process does it at a time. The progress is that of slots.
    async fn rank_again(&self, report: &(dyn Fn(RerankProgress) + Send + Sync)) -> Result<u64> {
        let lock = NamedLock::acquire(self.long_session("rank_again", 0).await?, "rank", RANK_LOCK_WAIT_S).await?;
        let Some(mut lock) = lock else {
            let text = "another process ranks the comments by new weights; run this again later";
            return Err(StoreError::Unavailable(text.into()));
        };
        let mut ranked = 0;
        if !self.is_ranked_by_weights().await? {
            ranked = self.rank_all_again(lock.session(), report).await?;
            self.finish_ranking(lock.session()).await?;
        }
        lock.release().await?;
        Ok(ranked)
    }
}

impl MysqlStore {
    /// Stores that comments have to be ranked again when the weights have changed.
    pub(super) async fn begin_ranking(&self) -> Result<()> {
        let configured = describe_weights(&self.weights);
        if self.is_ranked_by_weights().await?
            || self.read_rank_progress().await?.is_some_and(|stored| stored.weights == configured)
        {
            return Ok(());
        }
        let is_empty = self.list_slots_with_subjects().await?.is_empty();
        let mut session = self.session("rank_again", 0).await?;
        if is_empty {
            return self.finish_ranking(&mut session).await;
        }
        put_progress(&mut session, &RankProgress::begin(configured)).await
    }

    /// Stores that every comment is ranked by the configured weights.
    async fn finish_ranking(&self, session: &mut MysqlSession) -> Result<()> {
        session.begin().await?;
        put_setting(session, WEIGHTS_SETTING, describe_weights(&self.weights).as_bytes()).await?;
        session.execute(sql("DELETE FROM setting WHERE name = ?").bind(PROGRESS_SETTING)).await?;
        session.commit().await
    }

    /// Whether the stored ranks were made with the configured weights, all of them.
    ///
    /// # Errors
    /// When the first database does not answer.
    pub async fn is_ranked_by_weights(&self) -> Result<bool> {
        let stored = read_setting(self.first_pool(), WEIGHTS_SETTING).await?;
        let is_configured = stored.is_some_and(|stored| stored == describe_weights(&self.weights).as_bytes());
        // Ranks are being made by others where they were interrupted before these weights came back.
        Ok(is_configured && read_setting(self.first_pool(), PROGRESS_SETTING).await?.is_none())
    }

    async fn read_rank_progress(&self) -> Result<Option<RankProgress>> {
        let json = read_setting(self.first_pool(), PROGRESS_SETTING).await?;
        Ok(json.and_then(|json| serde_json::from_slice(&json).ok()))
    }

    /// Ranks the comments of every slot; how many comments got another rank.
    async fn rank_all_again(
        &self,
        session: &mut MysqlSession,
        report: &(dyn Fn(RerankProgress) + Send + Sync),
    ) -> Result<u64> {
        let configured = describe_weights(&self.weights);
        let interrupted = self.read_rank_progress().await?.filter(|stored| stored.weights == configured);
        let mut progress = interrupted.unwrap_or_else(|| RankProgress::begin(configured));
        put_progress(session, &progress).await?;
        let slots = self.list_slots_with_subjects().await?;
        let first = progress.walk.slot;
        for (place, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.get() >= first) {
            if slot.get() > progress.walk.slot {
                progress.walk = RankWalk::of_slot(slot.get());
            }
            while let Some(next) = self.rank_chunk_again(*slot, &mut progress).await? {
                progress.walk.stage = next;
                put_progress(session, &progress).await?;
                report(RerankProgress { done: place as u64, total: slots.len() as u64 });
            }
        }
        Ok(progress.ranked)
    }

    /// The slots that have subjects, in ascending order.
    async fn list_slots_with_subjects(&self) -> Result<Vec<Slot>> {
        let mut slots = Vec::new();
        for shard in 0..self.pools.len() {
            let mut session = self.long_session("rank_again", shard).await?;
            for n in 0..self.tables {
                let text = format!(
                    "SELECT DISTINCT t.slot FROM subject_{n} t FORCE INDEX (subject_slot) \
                     JOIN slot s ON s.slot = t.slot WHERE s.state <> {}",
                    SlotState::Elsewhere.number()
                );
                let found = session.fetch_text(text).await?;
                slots.extend(found.iter().map(|r| slot_at(r, 0)).collect::<Result<Vec<_>>>()?);
            }
        }
        slots.sort_unstable();
        slots.dedup();
        Ok(slots)
    }

    /// Ranks one chunk of a slot again; the stage with which the slot goes on, `None` at its end.
    async fn rank_chunk_again(&self, slot: Slot, progress: &mut RankProgress) -> Result<Option<RankStage>> {
        let mut session = self.reading_slot("rank_again", slot).await?;
        if let RankStage::Comments(after) = &progress.walk.stage {
            let subjects = (first_subject(slot), last_subject(slot));
            let chunk = self.read_ranked_comments(&mut session, slot, subjects, after.as_ref()).await?;
            let missing = self.find_unranked(&mut session, slot, &chunk).await?;
            drop(session);
            if !missing.is_empty() {
                self.repair_ranks(slot, missing.iter().map(RankKey::id), &[]).await?;
            }
            progress.ranked += missing.len() as u64;
            return Ok(chunk.last.map(|last| RankStage::Comments(Some(last))));
        }
        let (rows, next) = self.read_rank_rows(&mut session, slot, &progress.walk.stage).await?;
        drop(session);
        let stale: Vec<RankKey> = StoredRank::stale_rows(&rows).map(|stored| stored.row.key()).collect();
        if !stale.is_empty() {
            self.repair_ranks(slot, std::iter::empty(), &stale).await?;
        }
        progress.ranked += StoredRank::count_stale_comments(&rows);
        Ok(Some(next))
    }

    /// The keys that comments of a chunk must have and have not.
    async fn find_unranked(&self, session: &mut MysqlSession, slot: Slot, chunk: &RankedChunk) -> Result<Vec<RankKey>> {
        let keys: Vec<RankKey> = chunk.ranks.iter().map(RankRow::key).collect();
        let found = self.find_rank_keys(session, slot, &keys).await?;
        Ok(keys.into_iter().filter(|key| !found.contains(key)).collect())
    }
}

async fn put_progress(session: &mut MysqlSession, progress: &RankProgress) -> Result<()> {
    put_setting(session, PROGRESS_SETTING, &serde_json::to_vec(progress).map_err(damaged)?).await
}

async fn put_setting(session: &mut MysqlSession, name: &str, value: &[u8]) -> Result<()> {
    let put = "INSERT INTO setting (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)";
    session.execute(sql(put).bind(name).bind(value)).await?;
    Ok(())
}
