//! The links in the memory of the only process there is.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use moka::policy::EvictionPolicy;

use crate::ports::revisions::{MAX_REVISIONS_KEPT, Revision, Revisions, RevisionsError};

/// Subjects whose links are kept, the last changed ones: with all of their links of one event each,
/// 40 megabytes.
const SUBJECTS: u64 = 1_000;

type Links = Arc<Mutex<VecDeque<Revision>>>;

#[derive(Debug)]
pub struct MemoryRevisions(moka::sync::Cache<SubjectKey, Links>);

impl MemoryRevisions {
    pub fn new() -> Self {
        Self(moka::sync::Cache::builder().max_capacity(SUBJECTS).eviction_policy(EvictionPolicy::lru()).build())
    }

    /// See [`Events::keep`]. The writer calls it, which waits for nobody.
    pub fn keep_now(&self, links: Vec<(SubjectKey, Revision)>) {
        for (subject, link) in links {
            let kept: Links = self.0.get_with(subject, Arc::default);
            // A std mutex: held for one push, never across an await. Commits come in order.
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back(link);
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
    async fn append(&self, links: &[(SubjectKey, Revision)]) -> Result<(), RevisionsError> {
        self.keep_now(links.to_vec());
        Ok(())
    }

    async fn since(&self, subject: &SubjectKey, version: u64) -> Result<Vec<Revision>, RevisionsError> {
        let Some(kept) = self.0.get(subject) else { return Ok(vec![]) };
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(kept.iter().filter(|link| link.version > version).cloned().collect())
    }
}
