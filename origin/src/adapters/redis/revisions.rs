//! The revisions in Redis: one sorted set a subject, `{name:slot}:ev:<subject>`, with the revision as
//! JSON and its version as score.
//!
//! A revision that Redis lost is a gap in the chain, which readers notice.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{Slot, SubjectKey};

use crate::adapters::redis::{RedisCallError, RedisConnection};
use crate::ports::failure::Failure;
use crate::ports::revisions::{MAX_REVISIONS_KEPT, Revision, Revisions, RevisionsError};

/// How long the revisions of a subject are kept after the last one.
const REVISIONS_TTL: Duration = Duration::from_secs(3_600);

/// The revisions of one cluster.
#[derive(Debug)]
pub struct RedisRevisions {
    connection: RedisConnection,
    name: String,
}

impl From<RedisCallError> for RevisionsError {
    fn from(error: RedisCallError) -> Self {
        Self(Failure::of_driver(error))
    }
}

impl RedisRevisions {
    /// The revisions of the cluster called `name`.
    pub fn new(connection: RedisConnection, name: &str) -> Self {
        Self { connection, name: name.to_owned() }
    }

    fn key(&self, subject: &SubjectKey) -> String {
        format!("{{{}:{}}}:ev:{subject}", self.name, subject.slot().get())
    }
}

#[async_trait]
impl Revisions for RedisRevisions {
    async fn append(&self, revisions: &[(SubjectKey, Revision)]) -> Result<(), RevisionsError> {
        // In a cluster the keys of one slot are on one server.
        let mut slots: HashMap<Slot, (String, ::redis::Pipeline)> = HashMap::new();
        for (subject, revision) in revisions {
            let Ok(json) = serde_json::to_string(revision) else { continue };
            let key = self.key(subject);
            let (_, commands) = slots.entry(subject.slot()).or_insert_with(|| (key.clone(), ::redis::pipe()));
            commands.zadd(&key, json, revision.version).ignore();
            // Ranks are counted from the end: the newest revisions stay.
            commands.zremrangebyrank(&key, 0, -(MAX_REVISIONS_KEPT as isize) - 1).ignore();
            commands.expire(&key, REVISIONS_TTL.as_secs() as i64).ignore();
        }
        let appended = slots
            .values()
            .map(|(key, commands)| self.connection.query_pipeline::<()>("revisions.append", key, commands));
        try_join_all(appended).await?;
        Ok(())
    }

    async fn since(&self, subject: &SubjectKey, version: u64) -> Result<Vec<Revision>, RevisionsError> {
        let key = self.key(subject);
        let mut command = ::redis::cmd("ZRANGEBYSCORE");
        command.arg(&key).arg(format!("({version}")).arg("+inf").arg("LIMIT").arg(0).arg(MAX_REVISIONS_KEPT);
        let found: Vec<String> = self.connection.query("revisions.since", &key, &command).await?;
        // A revision in the format of another release is skipped, which is a gap.
        Ok(found.iter().filter_map(|json| serde_json::from_str(json).ok()).collect())
    }
}
