//! The tables as one process reaches them: the reading ports.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{CommentState, Reaction};

use crate::domain::row::{CommentList, CommentRow, FloorRange, RememberedRequest, SubjectRow};
use crate::ports::store::{CommentReader, IdempotencyReader, MemberReader, Result, ThreadReader};
use crate::testing::simulation::database::{Database, member_slot};
use crate::testing::simulation::slot_map::SlotCheck;
use crate::testing::simulation::tables::SimulatedTables;

impl Database {
    /// The listed comments of a list, by floor.
    pub(super) fn floors(&self, list: &CommentList) -> BTreeMap<u64, CommentId> {
        let number = |key: &SubjectKey| self.tables.subjects.get(key).map(|subject| subject.number);
        let listed = self.tables.comments.iter().filter(|(_, stored)| stored.row.is_listed());
        let listed = listed.filter(|(_, stored)| match list {
            CommentList::Roots(key) => stored.row.path.depth() == 1 && number(key) == Some(stored.subject),
            CommentList::Under(top) => top.is_ancestor_of(&stored.row.path),
        });
        listed.filter_map(|(id, stored)| Some((stored.row.floor?, *id))).collect()
    }

    fn top_replies(&self, root: CommentId, each: usize) -> Vec<CommentId> {
        let ranks = self.tables.replies.iter().filter(|rank| rank.root == root);
        let mut ranks: Vec<_> = ranks.map(|rank| Reverse((rank.hot, rank.id))).collect();
        ranks.sort_unstable();
        ranks.into_iter().take(each).map(|Reverse((_, id))| id).collect()
    }
}

#[async_trait]
impl CommentReader for SimulatedTables {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        let read = |of: &mut Database, keys: &[SubjectKey]| -> Vec<SubjectRow> {
            keys.iter().filter_map(|key| of.subject(key)).collect()
        };
        let rows = self.read_by_slot("read_subjects", SlotCheck::Known, keys, SubjectKey::slot, read).await?;
        let found: HashMap<SubjectKey, SubjectRow> = rows.into_iter().map(|row| (row.key.clone(), row)).collect();
        Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let read = |of: &mut Database, ids: &[CommentId]| -> Vec<(CommentId, CommentRow)> {
            ids.iter().filter_map(|id| Some((*id, of.comment(*id)?))).collect()
        };
        let rows = self.read_by_slot("read_comments", SlotCheck::Known, ids, |id| id.slot(), read).await?;
        Ok(rows.into_iter().collect())
    }
}

#[async_trait]
impl ThreadReader for SimulatedTables {
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
        let FloorRange { ascending, beyond, count } = range;
        let read = |database: &mut Database| -> Vec<(u64, CommentId)> {
            let floors = database.floors(list);
            if ascending {
                floors.range(beyond.map_or(0, |floor| floor + 1)..).take(count).map(|(f, id)| (*f, *id)).collect()
            } else {
                floors.range(..beyond.unwrap_or(u64::MAX)).rev().take(count).map(|(f, id)| (*f, *id)).collect()
            }
        };
        self.read_slot("list_floors", list.slot(), read).await
    }

    async fn list_ranked(&self, list: &CommentList, _: Sort) -> Result<Vec<(i64, CommentId)>> {
        let read = |database: &mut Database| database.floors(list).into_values().map(|id| (0, id)).collect();
        self.read_slot("list_ranked", list.slot(), read).await
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        let read = |of: &mut Database, roots: &[CommentId]| -> Vec<(CommentId, Vec<CommentId>)> {
            let top = roots.iter().map(|root| (*root, of.top_replies(*root, each)));
            top.filter(|(_, replies)| !replies.is_empty()).collect()
        };
        let all = self.read_by_slot("list_top_replies", SlotCheck::Known, roots, |id| id.slot(), read).await?;
        Ok(all.into_iter().collect())
    }

    async fn list_subtree(&self, _: &Path, _: Option<&[u8]>, _: usize, _: usize) -> Result<Vec<CommentRow>> {
        unreachable!("no step of the simulation reads a subtree")
    }

    async fn list_siblings(&self, _: &Path, _: usize) -> Result<Vec<CommentId>> {
        unreachable!("no step of the simulation reads siblings")
    }

    async fn read_snapshot(&self, _: Slot, _: SnapshotId) -> Result<Option<Snapshot>> {
        unreachable!("no step of the simulation reads a ranking")
    }
}

#[async_trait]
impl MemberReader for SimulatedTables {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        let read = |database: &mut Database| -> Vec<CommentId> {
            let own =
                database.histories.keys().filter(|(of, id)| *of == member && below.is_none_or(|below| *id < below));
            own.rev().map(|(_, id)| *id).collect()
        };
        let ids = self.read_slot("list_history", member_slot(member), read).await?;
        let rows = self.read_comments(&ids).await?;
        Ok(ids.into_iter().filter(|id| rows.get(id).is_some_and(CommentRow::is_visible)).take(count).collect())
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        let read = |database: &mut Database| -> Vec<CommentId> {
            database
                .histories
                .iter()
                .rev()
                .filter(|((of, _), held)| *of == member && **held)
                .map(|((_, id), _)| *id)
                .collect()
        };
        let ids = self.read_slot("list_pending", member_slot(member), read).await?;
        let rows = self.read_comments(&ids).await?;
        let is_held = |id: &CommentId| rows.get(id).is_some_and(|row| row.state == CommentState::Review);
        Ok(ids.into_iter().filter(is_held).take(count).collect())
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        let read = |of: &mut Database, ids: &[CommentId]| -> Vec<(CommentId, Reaction)> {
            let reaction = |id: &CommentId| Some((*id, *of.tables.reactions.get(&(*id, member))?));
            ids.iter().filter_map(reaction).collect()
        };
        let found = self.read_by_slot("read_reactions", SlotCheck::Readable, ids, |id| id.slot(), read).await?;
        Ok(found.into_iter().collect())
    }

    async fn read_names(&self, _: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        Ok(HashMap::new())
    }
}

#[async_trait]
impl IdempotencyReader for SimulatedTables {
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        let slot = subject.slot();
        let read = |database: &mut Database| {
            let stored = database.tables.idempotency_keys.get(&(slot, member, key.to_owned()))?;
            let remembered = RememberedRequest { request: stored.request, id: stored.id, state: stored.state };
            (stored.created_at > since).then_some(remembered)
        };
        self.read_slot("find_remembered", slot, read).await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        let read = |database: &mut Database| {
            let stored = database.stored(id)?;
            (stored.row.edits > 0).then(|| stored.texts.0.clone())
        };
        self.read_slot("read_first_text", id.slot(), read).await
    }
}
