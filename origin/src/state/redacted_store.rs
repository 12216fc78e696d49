//! The store without what belongs to erased members, as every request reads it.
//!
//! The tables are overwritten a moment later, for a large history within seconds; and a comment may be on its
//! way to them. Promise: from the moment that this process knows of an erasure, no row that it reads has the
//! content or the name of the member.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;

use crate::domain::row::{CommentList, CommentRow, FloorRange, RememberedRequest, SubjectRow, SubjectRules};
use crate::ports::store::{CommentReader, IdempotencyReader, Listed, MemberReader, Result, Store, ThreadReader};
use crate::state::erased_members::ErasedMembers;

/// The store of requests.
#[derive(Debug)]
pub struct RedactedStore {
    store: Arc<dyn Store>,
    erased: Arc<ErasedMembers>,
}

impl RedactedStore {
    pub fn new(store: Arc<dyn Store>, erased: Arc<ErasedMembers>) -> Self {
        Self { store, erased }
    }
}

#[async_trait]
impl CommentReader for RedactedStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        self.store.read_subjects(keys).await
    }

    async fn read_subject_rules(&self, keys: &[SubjectKey]) -> Result<Vec<SubjectRules>> {
        self.store.read_subject_rules(keys).await
    }

    async fn read_subjects_of(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, (SubjectKey, SubjectRules)>> {
        self.store.read_subjects_of(ids).await
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let mut rows = self.store.read_comments(ids).await?;
        rows.values_mut().for_each(|row| self.erased.redact(row));
        Ok(rows)
    }

    async fn read_stored_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let mut rows = self.store.read_stored_comments(ids).await?;
        rows.values_mut().for_each(|row| self.erased.redact(row));
        Ok(rows)
    }
}

#[async_trait]
impl ThreadReader for RedactedStore {
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
        self.store.list_floors(list, range).await
    }

    async fn list_floors_of(
        &self,
        subject: &SubjectKey,
        list: &CommentList,
        range: FloorRange,
    ) -> Result<Listed<(u64, CommentId)>> {
        self.store.list_floors_of(subject, list, range).await
    }

    async fn list_ranked_of(
        &self,
        subject: &SubjectKey,
        list: &CommentList,
        sort: Sort,
    ) -> Result<Listed<(i64, CommentId)>> {
        self.store.list_ranked_of(subject, list, sort).await
    }

    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        self.store.list_ranked(list, sort).await
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        self.store.list_top_replies(roots, each).await
    }

    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        let mut rows = self.store.list_subtree(top, after, max_depth, count).await?;
        rows.iter_mut().for_each(|row| self.erased.redact(row));
        Ok(rows)
    }

    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        self.store.list_siblings(path, count).await
    }

    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        self.store.read_snapshot(slot, id).await
    }
}

#[async_trait]
impl MemberReader for RedactedStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        if self.erased.contains(member) {
            return Ok(vec![]);
        }
        self.store.list_history(member, below, count).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.store.list_pending(member, count).await
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        self.store.read_reactions(member, ids).await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let mut names = self.store.read_names(members).await?;
        names.retain(|member, _| !self.erased.contains(*member));
        Ok(names)
    }
}

#[async_trait]
impl IdempotencyReader for RedactedStore {
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        self.store.find_remembered(subject, member, key, since).await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        self.store.read_first_text(id).await
    }
}
