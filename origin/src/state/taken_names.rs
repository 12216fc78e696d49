//! The names that guests cannot take: reserved ones, and those of members.
//!
//! Promise: recording costs a request a look into memory. A name is recorded at most once an hour for each
//! member, in the background; where that fails it is recorded with the member's next write.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::MemberKind;
use gailou_shared::token::Member;
use moka::sync::Cache;
use parking_lot::RwLock;
use tokio::sync::Semaphore;

use crate::domain::name_digest::NameDigest;
use crate::domain::operation::Operation;
use crate::ports::journal::Journal;

/// How long a recorded name is not recorded again; far less than the 30 days that it is taken.
const RECORD_INTERVAL: Duration = Duration::from_secs(3_600);
/// Names kept in memory as recorded: 50,000 of about 150 bytes are 8 MB. One that was evicted is recorded again.
const MAX_RECORDED_NAMES: u64 = 50_000;
/// Names that are recorded at a time; while the tables do not answer, further ones wait for the next write.
const MAX_RECORDINGS: usize = 32;

/// Which names are taken, but for those in the tables.
#[derive(Debug)]
pub struct TakenNames {
    reserved: RwLock<HashSet<NameDigest>>,
    recorded: Cache<(u64, Box<str>), ()>,
    permits: Arc<Semaphore>,
}

impl TakenNames {
    /// With these names reserved.
    pub fn new(reserved: &[String]) -> Self {
        Self {
            reserved: RwLock::new(digests(reserved)),
            recorded: Cache::builder().max_capacity(MAX_RECORDED_NAMES).time_to_live(RECORD_INTERVAL).build(),
            permits: Arc::new(Semaphore::new(MAX_RECORDINGS)),
        }
    }

    /// Reserves other names.
    pub fn reserve(&self, names: &[String]) {
        *self.reserved.write() = digests(names);
    }

    /// Whether a name like this one is reserved.
    pub fn is_reserved(&self, digest: NameDigest) -> bool {
        self.reserved.read().contains(&digest)
    }

    /// Records the name of a member that the host has named.
    pub fn record(&self, journal: &Arc<dyn Journal>, member: &Member) {
        let key = (member.id.get(), member.name.as_str().into());
        if member.id.kind() == MemberKind::Guest || member.name.is_empty() || self.recorded.contains_key(&key) {
            return;
        }
        let Ok(permit) = self.permits.clone().try_acquire_owned() else { return };
        self.recorded.insert(key.clone(), ());
        let (journal, recorded) = (journal.clone(), self.recorded.clone());
        let operation = Operation::MemberName { digest: NameDigest::of(&member.name), member: member.id };
        tokio::spawn(async move {
            let _permit = permit;
            if let Err(error) = journal.append(operation).await {
                recorded.invalidate(&key);
                tracing::debug!(member = key.0, %error, "Could not record the name of member {}", key.0);
            }
        });
    }
}

fn digests(names: &[String]) -> HashSet<NameDigest> {
    names.iter().map(|name| NameDigest::of(name)).collect()
}
