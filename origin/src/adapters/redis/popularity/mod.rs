//! The popularity in Redis, and claims: what one process does, no other does meanwhile.
//!
//! Keys: `{name}:hot` is a sorted set of subjects by their decayed sums, `{name}:asked` a sorted set
//! of requested lists by the time of the last request, `{name}:own:<claim>` the holder of a claim, and
//! `{name}:writes` a hash of a day and the writes to the edge's store in it.
//!
//! A process that was suspended for longer than its lease may still believe that it holds a claim, so
//! work under a claim must be safe to do twice.

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;

use crate::adapters::redis::{RedisCallError, RedisConnection, RedisScript};
use crate::ports::failure::Failure;
use crate::ports::popularity::{
    LIST_MEMORY, MAX_SUBJECTS_COUNTED, PopularSubject, Popularity, PopularityError, ReadLists, STORE_WRITES_DAY,
    SubjectReads,
};

/// How long the sums are kept after the last read.
const POPULARITY_TTL: Duration = Duration::from_secs(3_600);

/// The popularity of one cluster's subjects.
#[derive(Debug)]
pub struct RedisPopularity {
    connection: RedisConnection,
    name: String,
    /// Names this process among the holders of claims.
    holder: String,
    add_reads: RedisScript,
    claim: RedisScript,
    add_store_writes: RedisScript,
}

impl From<RedisCallError> for PopularityError {
    fn from(error: RedisCallError) -> Self {
        Self(Failure::of_driver(error))
    }
}

impl RedisPopularity {
    /// The popularity in the cluster called `name`.
    pub fn new(connection: RedisConnection, name: &str) -> Self {
        Self {
            connection,
            name: name.to_owned(),
            holder: format!("{:016x}", rand::random::<u64>()),
            add_reads: RedisScript::new("popularity.add_reads", include_str!("add_reads.lua")),
            claim: RedisScript::new("popularity.claim", include_str!("claim.lua")),
            add_store_writes: RedisScript::new("popularity.add_store_writes", include_str!("add_store_writes.lua")),
        }
    }

    /// Adds reads, and returns the `count` most read subjects as name, sum and lists.
    async fn add_and_read(&self, reads: &[SubjectReads], count: usize) -> Result<Vec<String>, PopularityError> {
        let keys = ["hot", "asked"].map(|part| format!("{{{}}}:{part}", self.name));
        let mut call = self.add_reads.call(&keys);
        call.arg(MAX_SUBJECTS_COUNTED).arg(POPULARITY_TTL.as_secs()).arg(LIST_MEMORY.as_secs()).arg(count);
        for SubjectReads { subject, count, lists } in reads {
            call.arg(count).arg(lists.bits()).arg(subject.to_string());
        }
        Ok(self.connection.run_script(&call).await?)
    }
}

#[async_trait]
impl Popularity for RedisPopularity {
    async fn add_reads(&self, reads: &[SubjectReads]) -> Result<(), PopularityError> {
        if reads.is_empty() {
            return Ok(());
        }
        self.add_and_read(reads, 0).await.map(drop)
    }

    async fn most_read(&self, count: usize) -> Result<Vec<PopularSubject>, PopularityError> {
        let answer = self.add_and_read(&[], count).await?;
        let (rows, _) = answer.as_chunks::<3>();
        let popular = rows.iter().filter_map(|[subject, reads, lists]| {
            let (kind, key) = subject.split_once('/')?;
            let subject = SubjectKey::new(kind, key).ok()?;
            let lists = ReadLists::from_bits(lists.parse().ok()?);
            Some(PopularSubject { subject, reads: reads.parse().ok()?, lists })
        });
        Ok(popular.collect())
    }

    async fn claim(&self, names: &[String], lease: Duration) -> Result<Vec<bool>, PopularityError> {
        if names.is_empty() {
            return Ok(vec![]);
        }
        let keys: Vec<_> = names.iter().map(|name| format!("{{{}}}:own:{name}", self.name)).collect();
        let mut call = self.claim.call(&keys);
        call.arg(&self.holder).arg(lease.as_millis() as u64);
        Ok(self.connection.run_script(&call).await?)
    }

    async fn add_store_writes(&self, writes: u64) -> Result<u64, PopularityError> {
        let mut call = self.add_store_writes.call(&[format!("{{{}}}:writes", self.name)]);
        call.arg(writes).arg(STORE_WRITES_DAY.as_secs());
        Ok(self.connection.run_script(&call).await?)
    }
}
