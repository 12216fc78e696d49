//! The links in Redis: one sorted set a subject, by version.
//!
//! Keys carry the hash tag `{name:slot}`. What Redis loses is a missing link, which readers notice.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{Slot, SubjectKey};

use crate::adapters::redis::Connection;
use crate::ports::revisions::{MAX_REVISIONS_KEPT, Revision, Revisions, RevisionsError};

/// How long links are kept after the last one.
const LIFE: Duration = Duration::from_secs(3_600);

/// The links in Redis, under a cluster's name.
#[derive(Debug)]
pub struct RedisRevisions {
    connection: Connection,
    name: String,
}

impl From<crate::adapters::redis::Error> for RevisionsError {
    fn from(error: crate::adapters::redis::Error) -> Self {
        Self(error.to_string())
    }
}

impl RedisRevisions {
    pub fn new(connection: Connection, name: &str) -> Self {
        Self { connection, name: name.to_owned() }
    }

    fn key(&self, subject: &SubjectKey) -> String {
        format!("{{{}:{}}}:ev:{subject}", self.name, subject.slot().get())
    }
}

#[async_trait]
impl Revisions for RedisRevisions {
    async fn append(&self, links: &[(SubjectKey, Revision)]) -> Result<(), RevisionsError> {
        // In a cluster, keys of one slot are on one server.
        let mut slots: HashMap<Slot, (String, ::redis::Pipeline)> = HashMap::new();
        for (subject, link) in links {
            let Ok(json) = serde_json::to_string(link) else { continue };
            let key = self.key(subject);
            let (_, commands) = slots.entry(subject.slot()).or_insert_with(|| (key.clone(), ::redis::pipe()));
            commands.zadd(&key, json, link.version).ignore();
            // Counted from the end: the newest stay.
            commands.zremrangebyrank(&key, 0, -(MAX_REVISIONS_KEPT as isize) - 1).ignore();
            commands.expire(&key, LIFE.as_secs() as i64).ignore();
        }
        try_join_all(slots.values().map(|(key, commands)| self.connection.pipe::<()>(key, commands))).await?;
        Ok(())
    }

    async fn since(&self, subject: &SubjectKey, version: u64) -> Result<Vec<Revision>, RevisionsError> {
        let key = self.key(subject);
        let mut command = ::redis::cmd("ZRANGEBYSCORE");
        command.arg(&key).arg(format!("({version}")).arg("+inf").arg("LIMIT").arg(0).arg(MAX_REVISIONS_KEPT);
        let found: Vec<String> = self.connection.query(&key, &command).await?;
        // What another release wrote is a missing link.
        Ok(found.iter().filter_map(|json| serde_json::from_str(json).ok()).collect())
    }
}
