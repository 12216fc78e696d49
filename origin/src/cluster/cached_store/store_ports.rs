//! The ports that the cached store implements.

use std::collections::HashMap;

use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;

use crate::cluster::cached_store::{CachedStore, accept_partial};
use crate::domain::row::{CommentList, CommentRow, FloorRange, RememberedRequest, SubjectRow, SubjectRules};
use crate::ports::cache::{CacheKey, CachePut};
use crate::ports::store::{CommentReader, IdempotencyReader, Listed, MemberReader, Result, ThreadReader};

#[async_trait]
impl CommentReader for CachedStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        let mut found = self.read_subject_rows(keys).await?;
        let is_repeated = |key: &SubjectKey| keys.iter().filter(|k| *k == key).count() > 1;
        let take = |key| if is_repeated(key) { found.get(key).cloned() } else { found.remove(key) };
        Ok(keys.iter().map(take).map(Option::flatten).collect())
    }

    async fn read_subject_rules(&self, keys: &[SubjectKey]) -> Result<Vec<SubjectRules>> {
        let database_of = |key: &SubjectKey| self.tables.database_of(key.slot());
        let reads = keys.iter().map(async |key| self.subject_rules.read(database_of(key), key.clone()).await);
        let read: Result<Vec<_>> = join_all(reads).await.into_iter().collect();
        if let Ok(rules) = read {
            self.metrics.count_mysql(rules.len());
            return Ok(rules);
        }
        // What is remembered, while the tables do not answer.
        let rows = self.read_subjects(keys).await?;
        Ok(rows.iter().map(|row| SubjectRules::of(row.as_ref())).collect())
    }

    async fn read_subjects_of(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, (SubjectKey, SubjectRules)>> {
        let database_of = |id: CommentId| self.tables.database_of(id.slot());
        let reads = ids.iter().map(async |id| {
            let found = self.subjects_of_comments.read(database_of(*id), *id).await;
            Some((*id, found.ok().flatten()?))
        });
        let found: HashMap<_, _> = join_all(reads).await.into_iter().flatten().collect();
        self.metrics.count_mysql(found.len());
        Ok(found)
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        self.read_current_comments(ids).await
    }

    async fn read_stored_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let mut rows = self.tables.read_comments(ids).await?;
        self.overlay_counts(rows.values_mut()).await;
        Ok(rows)
    }
}

#[async_trait]
impl ThreadReader for CachedStore {
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
        Ok(self.lists.list_floors(None, list, range).await?.entries)
    }

    async fn list_floors_of(
        &self,
        subject: &SubjectKey,
        list: &CommentList,
        range: FloorRange,
    ) -> Result<Listed<(u64, CommentId)>> {
        self.lists.list_floors(Some(subject), list, range).await
    }

    async fn list_ranked_of(
        &self,
        subject: &SubjectKey,
        list: &CommentList,
        sort: Sort,
    ) -> Result<Listed<(i64, CommentId)>> {
        self.lists.list_ranked(Some(subject), list, sort).await
    }

    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        Ok(self.lists.list_ranked(None, list, sort).await?.entries)
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        if each != limits::TOP_REPLIES {
            return self.tables.list_top_replies(roots, each).await;
        }
        accept_partial(roots, self.top_replies.get(roots).await)
    }

    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        let mut rows = self.tables.list_subtree(top, after, max_depth, count).await?;
        self.overlay_counts(rows.iter_mut()).await;
        Ok(rows)
    }

    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        self.tables.list_siblings(path, count).await
    }

    /// A snapshot is named by its content, so it never changes. When it expires is up to the tables.
    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        let key = CacheKey::Snapshot(id);
        let cached = self.cache.get_values(slot, std::slice::from_ref(&key)).await.ok();
        let cached = cached.and_then(|mut values| values.pop());
        let snapshot = cached.as_ref().and_then(|cached| Snapshot::from_bytes(cached.value.as_ref()?));
        if snapshot.as_ref().is_some_and(|snapshot| snapshot.id() == id) {
            self.metrics.count_redis(1);
            return Ok(snapshot);
        }
        let stored = self.tables.read_snapshot(slot, id).await;
        self.metrics.count_mysql(1);
        let snapshot = match stored {
            Ok(Some(snapshot)) => Some(snapshot),
            // It is one that could not be stored, or none.
            stored => match self.pending.read_snapshot(slot, id).await {
                Ok(Some(kept)) => return Ok(Some(kept)),
                _ => stored?,
            },
        };
        if let (Some(snapshot), Some(cached)) = (&snapshot, cached) {
            let put = CachePut { key, stamp: cached.stamp, version: 0, value: snapshot.to_bytes() };
            if let Err(error) = self.cache.put_values(slot, &[put]).await {
                tracing::debug!(slot = slot.get(), %error, "Could not put a snapshot into the cache");
            }
        }
        Ok(snapshot)
    }
}

#[async_trait]
impl MemberReader for CachedStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        self.tables.list_history(member, below, count).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.list_member_pending(member, count).await
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        self.read_current_reactions(member, ids).await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        self.tables.read_names(members).await
    }
}

#[async_trait]
impl IdempotencyReader for CachedStore {
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        match self.pending.find_reservation(member, key).await {
            Ok(holder) => {
                let appended = holder.and_then(|holder| holder.appended()).filter(|appended| appended.at > since);
                if let Some(appended) = appended {
                    return Ok(Some(appended.request));
                }
            }
            Err(error) => {
                tracing::debug!(%member, %error, "Could not read a reservation of {member}; reading the tables")
            }
        }
        self.tables.find_remembered(subject, member, key, since).await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        self.tables.read_first_text(id).await
    }
}
