//! The reading ports over the tables in memory.

use std::cmp::Reverse;
use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{CommentState, Reaction};

use crate::domain::row::{CommentList, CommentRow, FloorRange, RememberedRequest, SubjectRow};
use crate::ports::store::{CommentReader, IdempotencyReader, MemberReader, Result, StoreError, ThreadReader};
use crate::testing::memory_store::{MemoryStore, StoreState};

impl MemoryStore {
    /// One statement in the database of a slot. Its answer is fixed before its delay.
    async fn read<T>(&self, slot: Slot, read: impl FnOnce(&StoreState) -> T) -> Result<T> {
        let (answer, delay) = {
            let mut state = self.state();
            state.reads += 1;
            self.check_slot(&state, slot)?;
            (read(&state), std::mem::take(&mut state.read_delay))
        };
        tokio::time::sleep(delay).await;
        Ok(answer)
    }

    /// One statement that fails while any database is down.
    async fn read_everywhere<T>(&self, read: impl FnOnce(&StoreState) -> T) -> Result<T> {
        if !self.state().databases_down.is_empty() {
            return Err(StoreError::Unavailable("down".into()));
        }
        self.read(Slot::FIRST, read).await
    }
}

impl StoreState {
    /// The floors of the listed comments of a list, ascending.
    fn floors_of(&self, list: &CommentList) -> Vec<(u64, CommentId)> {
        let is_in_list = |row: &&CommentRow| match list {
            CommentList::Roots(subject) => row.path.depth() == 1 && row.subject == *subject,
            CommentList::Under(path) => path.is_ancestor_of(&row.path),
        };
        let listed = self.rows.values().filter(is_in_list).filter(|row| row.is_listed());
        let mut floors: Vec<_> = listed.filter_map(|row| Some((row.floor?, row.id()))).collect();
        floors.sort_unstable();
        floors
    }
}

fn slot_of(list: &CommentList) -> Slot {
    match list {
        CommentList::Roots(subject) => subject.slot(),
        CommentList::Under(path) => path.root_id().slot(),
    }
}

#[async_trait]
impl CommentReader for MemoryStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        let slot = keys.first().map_or(Slot::FIRST, SubjectKey::slot);
        self.read(slot, |state| keys.iter().map(|key| state.subjects.get(key).cloned()).collect()).await
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let slot = ids.first().map_or(Slot::FIRST, |id| id.slot());
        self.read(slot, |state| ids.iter().filter_map(|id| Some((*id, state.row(*id)?))).collect()).await
    }
}

#[async_trait]
impl ThreadReader for MemoryStore {
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
        let FloorRange { ascending, beyond, count } = range;
        self.read(slot_of(list), |state| {
            let mut floors = state.floors_of(list);
            if !ascending {
                floors.reverse();
            }
            floors.retain(|(floor, _)| beyond.is_none_or(|b| if ascending { *floor > b } else { *floor < b }));
            floors.truncate(count);
            floors
        })
        .await
    }

    async fn list_ranked(&self, list: &CommentList, _: Sort) -> Result<Vec<(i64, CommentId)>> {
        let ranked = |state: &StoreState| {
            let floors = state.floors_of(list).into_iter();
            floors.map(|(_, id)| (state.rows[&id].likes as i64, id)).collect()
        };
        self.read(slot_of(list), ranked).await
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        let slot = roots.first().map_or(Slot::FIRST, |root| root.slot());
        self.read(slot, |state| {
            let top = |root: &CommentId| {
                let replies = state.floors_of(&CommentList::Under(Path::root(*root)));
                let mut ids: Vec<_> = replies.into_iter().map(|(_, id)| id).collect();
                ids.sort_by_key(|id| Reverse((state.rows[id].likes, *id)));
                ids.truncate(each);
                (*root, ids)
            };
            roots.iter().map(top).filter(|(_, ids)| !ids.is_empty()).collect()
        })
        .await
    }

    async fn list_subtree(&self, top: &Path, _: Option<&[u8]>, _: usize, count: usize) -> Result<Vec<CommentRow>> {
        let is_below = |row: &&CommentRow| top.is_ancestor_of(&row.path);
        self.read(top.root_id().slot(), |state| state.rows.values().filter(is_below).take(count).cloned().collect())
            .await
    }

    async fn list_siblings(&self, path: &Path, _: usize) -> Result<Vec<CommentId>> {
        self.read(path.root_id().slot(), |_| vec![]).await
    }

    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        self.read(slot, |state| state.snapshots.get(&id).cloned()).await
    }
}

#[async_trait]
impl MemberReader for MemoryStore {
    async fn list_history(&self, _: MemberId, _: Option<CommentId>, _: usize) -> Result<Vec<CommentId>> {
        self.read_everywhere(|_| vec![]).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        let is_held = |row: &&CommentRow| row.author.id == member && row.state == CommentState::Review;
        let newest = |state: &StoreState| {
            state.rows.values().rev().filter(is_held).map(CommentRow::id).take(count).collect::<Vec<_>>()
        };
        self.read_everywhere(newest).await
    }

    /// A row with likes counts as liked by every member.
    async fn read_reactions(&self, _: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        let slot = ids.first().map_or(Slot::FIRST, |id| id.slot());
        self.read(slot, |state| {
            let is_liked = |id: &&CommentId| state.rows.get(id).is_some_and(|row| row.likes > 0);
            ids.iter().filter(is_liked).map(|id| (*id, Reaction::Like)).collect()
        })
        .await
    }

    async fn read_names(&self, _: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        self.read_everywhere(|_| HashMap::new()).await
    }
}

#[async_trait]
impl IdempotencyReader for MemoryStore {
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        _: u64,
    ) -> Result<Option<RememberedRequest>> {
        self.read(subject.slot(), |state| state.keys.get(&(member, key.to_owned())).cloned()).await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        self.read(id.slot(), |_| None).await
    }
}
