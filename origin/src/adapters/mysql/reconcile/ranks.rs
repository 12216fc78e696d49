//! Compares the ranks of comments with the comments, and repairs them.
//!
//! What a chunk differs in is read in one snapshot, and repaired by what the comments say under the lock.

use std::collections::HashMap;

use gailou_shared::id::{Slot, SubjectKey};
use gailou_shared::path::Path;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::path;
use crate::adapters::mysql::session::MysqlSession;
use crate::domain::reconcile::{
    ComparedChunk, RankKey, RankRow, RankStage, RankWalk, ReconcileScope, StoredRank, WrongRank,
};
use crate::ports::store::Result;

impl MysqlStore {
    pub(super) async fn compare_ranks(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        let (slot, number) = (subject.slot(), subject_number(subject));
        let mut session = self.reading_slot("reconcile", slot).await?;
        session.begin_snapshot().await?;
        let after = after.map(|path| (number, path.as_bytes().to_vec()));
        let chunk = self.read_ranked_comments(&mut session, slot, (number, number), after.as_ref()).await?;
        let wrong = self.find_wrong_ranks(&mut session, slot, &chunk.ranks).await?;
        session.rollback().await?;
        drop(session);
        if repair && !wrong.is_empty() {
            let stale: Vec<RankKey> = wrong.iter().flat_map(|wrong| wrong.stale.iter().copied()).collect();
            self.repair_ranks(slot, wrong.iter().map(|wrong| wrong.id), &stale).await?;
        }
        let found = wrong.iter().map(|wrong| wrong.found(repair)).collect();
        let next = chunk.last.map(|(_, bytes)| path(&bytes)).transpose()?;
        Ok(ComparedChunk { found, next })
    }

    async fn find_wrong_ranks(
        &self,
        session: &mut MysqlSession,
        slot: Slot,
        expected: &[RankRow],
    ) -> Result<Vec<WrongRank>> {
        let keys: Vec<RankKey> = expected.iter().map(RankRow::key).collect();
        let roots = self.find_root_rows(session, slot, &keys).await?;
        let roots: HashMap<RankKey, RankRow> = roots.into_iter().map(|row| (row.key(), row)).collect();
        let right = self.find_reply_rows(session, slot, &keys).await?;
        let suspects: Vec<RankKey> = keys.into_iter().filter(|key| !right.contains(key)).collect();
        let others = self.find_reply_keys(session, slot, &suspects).await?;
        Ok(WrongRank::find(expected, &roots, &right, others))
    }

    pub(super) async fn compare_rank_rows(
        &self,
        scope: ReconcileScope,
        walk: Option<RankWalk>,
        repair: bool,
    ) -> Result<ComparedChunk<RankWalk>> {
        let Some(walk) = walk.or_else(|| scope.sampled_slots().next().map(|slot| RankWalk::of_slot(slot.get()))) else {
            return Ok(ComparedChunk { found: vec![], next: None });
        };
        let next_slot = || scope.sampled_slots().map(Slot::get).find(|slot| *slot > walk.slot).map(RankWalk::of_slot);
        let Some(slot) = Slot::new(walk.slot) else { return Ok(ComparedChunk { found: vec![], next: None }) };
        let mut session = self.reading_slot("reconcile", slot).await?;
        // One statement reads ranks and comments at one moment, and of most slots nothing else is asked for.
        let (rows, stage) = self.read_rank_rows(&mut session, slot, &walk.stage).await?;
        let stale = StoredRank::stale_keys(&rows);
        let expected: Vec<RankKey> = stale.iter().filter_map(|(_, expected)| *expected).collect();
        let right = self.find_rank_keys(&mut session, slot, &expected).await?;
        let superfluous = StoredRank::superfluous(&stale, &right);
        drop(session);
        if repair && !superfluous.is_empty() {
            self.repair_ranks(slot, std::iter::empty(), &superfluous).await?;
        }
        let found = superfluous.iter().map(|key| key.found_superfluous(repair)).collect();
        let next = match stage {
            RankStage::Comments(_) => next_slot(),
            stage => Some(RankWalk { slot: walk.slot, stage }),
        };
        Ok(ComparedChunk { found, next })
    }
}
