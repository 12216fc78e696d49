//! The revisions in the memory of a process that is alone.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use moka::policy::EvictionPolicy;
use parking_lot::Mutex;

use crate::ports::revisions::{MAX_REVISIONS_KEPT, Revision, Revisions, RevisionsError};

/// Subjects whose revisions are kept, the last changed ones. With all revisions of each, of one event
/// each, this is 40 megabytes.
const MAX_SUBJECTS_KEPT: u64 = 1_000;

type SubjectRevisions = Arc<Mutex<VecDeque<Revision>>>;

/// The revisions of one process.
#[derive(Debug)]
pub struct MemoryRevisions(moka::sync::Cache<SubjectKey, SubjectRevisions>);

impl MemoryRevisions {
    pub fn new() -> Self {
        let subjects = moka::sync::Cache::builder().max_capacity(MAX_SUBJECTS_KEPT);
        Self(subjects.eviction_policy(EvictionPolicy::lru()).build())
    }

    /// See [`Revisions::append`]. Does not wait: the writer thread calls it after each commit.
    pub fn append_now(&self, revisions: Vec<(SubjectKey, Revision)>) {
        for (subject, revision) in revisions {
            let kept: SubjectRevisions = self.0.get_with(subject, Arc::default);
            // A mutex that is held for one push, never across an await. Commits come in order.
            let mut kept = kept.lock();
            kept.push_back(revision);
            if kept.len() > MAX_REVISIONS_KEPT {
                kept.pop_front();
            }
        }
    }
}

impl Default for MemoryRevisions {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Revisions for MemoryRevisions {
    async fn append(&self, revisions: &[(SubjectKey, Revision)]) -> Result<(), RevisionsError> {
        self.append_now(revisions.to_vec());
        Ok(())
    }

    async fn since(&self, subject: &SubjectKey, version: u64) -> Result<Vec<Revision>, RevisionsError> {
        let Some(kept) = self.0.get(subject) else { return Ok(vec![]) };
        let kept = kept.lock();
        Ok(kept.iter().filter(|revision| revision.version > version).cloned().collect())
    }
}
