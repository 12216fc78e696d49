//! The kinds of values that go through all levels of the cached store.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::limits;

use crate::domain::codec::row;
use crate::domain::row::{CommentRow, SubjectRow};
use crate::ports::cache::CacheKey;
use crate::ports::store::{Result, Store};

/// A kind of value: its keys, its bytes, and how it is loaded.
#[async_trait]
pub(super) trait CachedKind: Send + Sync + 'static {
    type Id: Hash + Eq + Clone + Send + Sync + 'static;
    type Value: Clone + Send + Sync + 'static;

    /// Whether a takedown in its slot invalidates it, because it contains something of its parent.
    const DEPENDS_ON_PARENT: bool = false;

    fn key(id: &Self::Id) -> CacheKey;
    fn slot(id: &Self::Id) -> Slot;
    fn encode(value: &Self::Value) -> Vec<u8>;
    fn decode(id: &Self::Id, bytes: &[u8]) -> Option<Self::Value>;
    /// The subject's version that the value was read at; 0 if it is not known.
    fn version(value: &Self::Value) -> u64;
    /// Whether this value may be cached under this id.
    fn may_cache(_: &Self::Id, _: &Self::Value) -> bool {
        true
    }
    async fn load(tables: &dyn Store, ids: &[Self::Id]) -> Result<HashMap<Self::Id, Self::Value>>;
}

/// Subjects. A subject without comments is cached as `None`.
pub(super) struct CachedSubjects;

#[async_trait]
impl CachedKind for CachedSubjects {
    type Id = SubjectKey;
    type Value = Option<SubjectRow>;

    fn key(id: &SubjectKey) -> CacheKey {
        CacheKey::Subject(id.clone())
    }

    fn slot(id: &SubjectKey) -> Slot {
        id.slot()
    }

    fn encode(subject: &Option<SubjectRow>) -> Vec<u8> {
        row::encode_subject(subject.as_ref())
    }

    fn decode(id: &SubjectKey, bytes: &[u8]) -> Option<Option<SubjectRow>> {
        row::decode_subject(id, bytes)
    }

    fn version(subject: &Option<SubjectRow>) -> u64 {
        subject.as_ref().map_or(0, |row| row.version)
    }

    async fn load(tables: &dyn Store, ids: &[SubjectKey]) -> Result<HashMap<SubjectKey, Option<SubjectRow>>> {
        Ok(ids.iter().cloned().zip(tables.read_subjects(ids).await?).collect())
    }
}

/// Comments with their content. A comment that does not exist is not cached.
pub(super) struct CachedComments;

#[async_trait]
impl CachedKind for CachedComments {
    type Id = CommentId;
    type Value = Arc<CommentRow>;

    const DEPENDS_ON_PARENT: bool = true;

    fn key(id: &CommentId) -> CacheKey {
        CacheKey::Comment(*id)
    }

    fn slot(id: &CommentId) -> Slot {
        id.slot()
    }

    fn encode(row: &Arc<CommentRow>) -> Vec<u8> {
        row::encode_comment(row)
    }

    fn decode(_: &CommentId, bytes: &[u8]) -> Option<Arc<CommentRow>> {
        row::decode_comment(bytes).map(Arc::new)
    }

    fn version(row: &Arc<CommentRow>) -> u64 {
        row.version
    }

    /// Invalidations name a comment by its own id only, not by a second one.
    fn may_cache(id: &CommentId, row: &Arc<CommentRow>) -> bool {
        row.id() == *id
    }

    async fn load(tables: &dyn Store, ids: &[CommentId]) -> Result<HashMap<CommentId, Arc<CommentRow>>> {
        Ok(tables.read_comments(ids).await?.into_iter().map(|(id, row)| (id, Arc::new(row))).collect())
    }
}

/// The first replies of roots. The tables do not say at which version they were read.
pub(super) struct CachedTopReplies;

#[async_trait]
impl CachedKind for CachedTopReplies {
    type Id = CommentId;
    type Value = Vec<CommentId>;

    fn key(root: &CommentId) -> CacheKey {
        CacheKey::TopReplies(*root)
    }

    fn slot(root: &CommentId) -> Slot {
        root.slot()
    }

    fn encode(replies: &Vec<CommentId>) -> Vec<u8> {
        row::encode_ids(replies)
    }

    fn decode(_: &CommentId, bytes: &[u8]) -> Option<Vec<CommentId>> {
        row::decode_ids(bytes)
    }

    fn version(_: &Vec<CommentId>) -> u64 {
        0
    }

    async fn load(tables: &dyn Store, roots: &[CommentId]) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        let mut top = tables.list_top_replies(roots, limits::TOP_REPLIES).await?;
        Ok(roots.iter().map(|root| (*root, top.remove(root).unwrap_or_default())).collect())
    }
}
