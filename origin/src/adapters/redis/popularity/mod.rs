//! The sums in Redis, and leases: what one process does, no other does meanwhile.
//!
//! A process that was stopped for longer than its lease may believe that it has it: whatever is
//! done under one must bear to be done twice.

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;

use crate::adapters::redis::{Connection, Script};
use crate::ports::popularity::{ASKED, HEATED, PopularSubject, Popularity, PopularityError, ReadLists, Reads};

/// How long heat is kept that nobody adds to.
const KEPT: Duration = Duration::from_secs(3_600);

/// The sums in Redis, under a cluster's name.
#[derive(Debug)]
pub struct RedisPopularity {
    connection: Connection,
    name: String,
    /// Names this process among the holders of leases.
    holder: String,
    heat: Script,
    own: Script,
}

impl From<crate::adapters::redis::Error> for PopularityError {
    fn from(error: crate::adapters::redis::Error) -> Self {
        Self(error.to_string())
    }
}

impl RedisPopularity {
    pub fn new(connection: Connection, name: &str) -> Self {
        Self {
            connection,
            name: name.to_owned(),
            holder: format!("{:016x}", rand::random::<u64>()),
            heat: Script::new(include_str!("heat.lua")),
            own: Script::new(include_str!("own.lua")),
        }
    }

    async fn run(&self, reads: &[Reads], count: usize) -> Result<Vec<String>, PopularityError> {
        let keys = ["hot", "asked"].map(|part| format!("{{{}}}:{part}", self.name));
        let mut call = self.heat.call(&keys);
        call.arg(HEATED).arg(KEPT.as_secs()).arg(ASKED.as_secs()).arg(count);
        for Reads { subject, count, lists } in reads {
            call.arg(count).arg(lists.bits()).arg(subject.to_string());
        }
        Ok(self.connection.run(&call).await?)
    }
}

#[async_trait]
impl Popularity for RedisPopularity {
    async fn add(&self, reads: &[Reads]) -> Result<(), PopularityError> {
        if reads.is_empty() {
            return Ok(());
        }
        self.run(reads, 0).await.map(drop)
    }

    async fn most_read(&self, count: usize) -> Result<Vec<PopularSubject>, PopularityError> {
        let answer = self.run(&[], count).await?;
        let (rows, _) = answer.as_chunks::<3>();
        let warm = rows.iter().filter_map(|[subject, heat, lists]| {
            let (kind, key) = subject.split_once('/')?;
            let subject = SubjectKey::new(kind, key).ok()?;
            Some(PopularSubject { subject, heat: heat.parse().ok()?, lists: ReadLists::from_bits(lists.parse().ok()?) })
        });
        Ok(warm.collect())
    }

    async fn claim(&self, names: &[String], life: Duration) -> Result<Vec<bool>, PopularityError> {
        if names.is_empty() {
            return Ok(vec![]);
        }
        let keys: Vec<_> = names.iter().map(|name| format!("{{{}}}:own:{name}", self.name)).collect();
        let mut call = self.own.call(&keys);
        call.arg(&self.holder).arg(life.as_millis() as u64);
        Ok(self.connection.run(&call).await?)
    }
}
