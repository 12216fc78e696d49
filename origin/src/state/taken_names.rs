//! The names that guests cannot take: reserved ones, and those of members.
//!
//! Promise: recording costs a request a look into memory. A name is recorded at most once an hour for each
//! member, in the background and with those of others; where that fails it is recorded with the member's next write.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{MemberId, MemberKind};
use gailou_shared::token::Member;
use moka::sync::Cache;
use parking_lot::{Mutex, RwLock};
use tokio::time::sleep;

use crate::domain::name_digest::NameDigest;
use crate::domain::operation::Operation;
use crate::ports::journal::Journal;

/// How long a recorded name is not recorded again; far less than the 30 days that it is taken.
const RECORD_INTERVAL: Duration = Duration::from_secs(3_600);
/// Names kept in memory as recorded: 50,000 of about 150 bytes are 8 MB. One that was evicted is recorded again.
const MAX_RECORDED_NAMES: u64 = 50_000;
/// How long a name waits for others, to be recorded with them: alone, it costs as much as a comment.
const RECORD_DELAY: Duration = Duration::from_millis(500);
/// Names that wait; while the tables do not answer, further ones are recorded with the member's next write.
const MAX_WAITING_NAMES: usize = 20_000;
/// Names in one operation: some milliseconds in which nothing else is written.
const MAX_NAMES_PER_OPERATION: usize = 500;

/// A member's number, and a name.
type RecordedName = (u64, Box<str>);

/// What is to be recorded.
#[derive(Debug, Default)]
struct WaitingNames {
    names: Vec<(RecordedName, (NameDigest, MemberId))>,
    /// Whether a task is at it.
    is_recording: bool,
}

/// Which names are taken, but for those in the tables.
#[derive(Debug)]
pub struct TakenNames {
    reserved: RwLock<HashSet<NameDigest>>,
    recorded: Cache<RecordedName, ()>,
    waiting: Arc<Mutex<WaitingNames>>,
}

impl TakenNames {
    /// With these names reserved.
    pub fn new(reserved: &[String]) -> Self {
        Self {
            reserved: RwLock::new(digests(reserved)),
            recorded: Cache::builder().max_capacity(MAX_RECORDED_NAMES).time_to_live(RECORD_INTERVAL).build(),
            waiting: Arc::default(),
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
        let digest = NameDigest::of(&member.name);
        {
            // A mutex that is held for one push, never across an await.
            let mut waiting = self.waiting.lock();
            if waiting.names.len() >= MAX_WAITING_NAMES {
                return;
            }
            self.recorded.insert(key.clone(), ());
            waiting.names.push((key, (digest, member.id)));
            if std::mem::replace(&mut waiting.is_recording, true) {
                return;
            }
        }
        tokio::spawn(record_waiting(journal.clone(), self.waiting.clone(), self.recorded.clone()));
    }
}

/// Records names until none are waiting.
async fn record_waiting(
    journal: Arc<dyn Journal>,
    waiting: Arc<Mutex<WaitingNames>>,
    recorded: Cache<RecordedName, ()>,
) {
    loop {
        sleep(RECORD_DELAY).await;
        let names = {
            let mut waiting = waiting.lock();
            waiting.is_recording = !waiting.names.is_empty();
            std::mem::take(&mut waiting.names)
        };
        if names.is_empty() {
            return;
        }
        for part in names.chunks(MAX_NAMES_PER_OPERATION) {
            let operation = Operation::MemberNames(part.iter().map(|(_, name)| *name).collect());
            if let Err(error) = journal.append(operation).await {
                part.iter().for_each(|(key, _)| recorded.invalidate(key));
                let count = part.len();
                tracing::debug!(count, %error, "Could not record the names of {count} members");
            }
        }
    }
}

fn digests(names: &[String]) -> HashSet<NameDigest> {
    names.iter().map(|name| NameDigest::of(name)).collect()
}
