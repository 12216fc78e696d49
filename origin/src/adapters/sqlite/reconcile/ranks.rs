//! Compares the ranks of comments with the comments, and repairs them.
//!
//! What a chunk differs in is read in one snapshot, and repaired by what the comments say then.

use std::collections::HashMap;

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Path;
use rusqlite::Connection;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::subject_number;
use crate::adapters::sqlite::rank_rows::{
    find_rank_keys, find_reply_keys, find_root_rows, put_ranks, read_rank_rows, read_ranked_comments,
};
use crate::adapters::sqlite::rows::path;
use crate::domain::reconcile::{
    ComparedChunk, RankKey, RankRow, RankStage, RankWalk, RankedChunk, ReconcileScope, StoredRank, WrongRank,
};
use crate::ports::store::Result;

impl SqliteStore {
    pub(super) async fn compare_ranks(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        let (subject, after) = (subject.clone(), after.map(|path| path.as_bytes().to_vec()));
        let weights = self.weights.clone();
        let compare = move |c: &Connection| {
            let tx = c.unchecked_transaction()?;
            let Some(number) = subject_number(&tx, &subject)? else { return Ok((vec![], None)) };
            let after = after.map(|path| (number, path));
            let RankedChunk { ranks, last, .. } = read_ranked_comments(&tx, &weights, Some(number), after.as_ref())?;
            Ok((find_wrong_ranks(&tx, &ranks)?, last))
        };
        let (wrong, last) = self.read("reconcile", compare).await?;
        if repair && !wrong.is_empty() {
            let stale: Vec<RankKey> = wrong.iter().flat_map(|wrong| wrong.stale.iter().copied()).collect();
            self.repair_ranks(wrong.iter().map(|wrong| wrong.id), &stale)?;
        }
        let found = wrong.iter().map(|wrong| wrong.found(repair)).collect();
        Ok(ComparedChunk { found, next: last.map(|(_, bytes)| path(&bytes)).transpose()? })
    }

    pub(super) async fn compare_rank_rows(
        &self,
        scope: ReconcileScope,
        walk: Option<RankWalk>,
        repair: bool,
    ) -> Result<ComparedChunk<RankWalk>> {
        let (walk, weights) = (walk.unwrap_or_else(|| RankWalk::of_slot(Slot::FIRST.get())), self.weights.clone());
        let stage = walk.stage.clone();
        let compare = move |c: &Connection| {
            let tx = c.unchecked_transaction()?;
            let (rows, next) = read_rank_rows(&tx, &weights, &stage)?;
            Ok((find_superfluous(&tx, scope, &rows)?, next))
        };
        let (superfluous, stage) = self.read("reconcile", compare).await?;
        if repair && !superfluous.is_empty() {
            self.repair_ranks(std::iter::empty(), &superfluous)?;
        }
        let found = superfluous.iter().map(|key| key.found_superfluous(repair)).collect();
        // Rows of all slots are in one table.
        let next = (!matches!(stage, RankStage::Comments(_))).then_some(RankWalk { stage, ..walk });
        Ok(ComparedChunk { found, next })
    }

    fn repair_ranks(&self, ids: impl Iterator<Item = CommentId>, stale: &[RankKey]) -> Result<()> {
        self.repair(|tx| put_ranks(tx, &self.weights, ids, stale))
    }
}

fn find_wrong_ranks(c: &Connection, expected: &[RankRow]) -> Result<Vec<WrongRank>> {
    let keys: Vec<RankKey> = expected.iter().map(RankRow::key).collect();
    let roots: HashMap<RankKey, RankRow> = find_root_rows(c, &keys)?.into_iter().map(|row| (row.key(), row)).collect();
    let right = find_rank_keys(c, &keys)?;
    let suspects: Vec<RankKey> = keys.into_iter().filter(|key| !right.contains(key)).collect();
    let others = if suspects.is_empty() { vec![] } else { find_reply_keys(c, &suspects)? };
    Ok(WrongRank::find(expected, &roots, &right, others))
}

fn find_superfluous(c: &Connection, scope: ReconcileScope, rows: &[StoredRank]) -> Result<Vec<RankKey>> {
    let mut stale = StoredRank::stale_keys(rows);
    stale.retain(|(key, _)| scope.contains_slot(key.id().slot()));
    let expected: Vec<RankKey> = stale.iter().filter_map(|(_, expected)| *expected).collect();
    Ok(StoredRank::superfluous(&stale, &find_rank_keys(c, &expected)?))
}
