//! The counts of rate limits in Redis: one string for each limit and key, `{name:rate:<hash>}`, by the server's
//! clock. It expires when the limit is as good as unused.
//!
//! The hash is keyed by a secret of the installation, so that Redis holds no address of a reader. On one server a
//! refused request counts against no limit. In a Redis Cluster each limit is counted by a call of its own, all at
//! the same time, and a refused request counts against the limits that do not refuse it.

use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::adapters::redis::{RedisConnection, RedisScript, ScriptCall};
use crate::ports::failure::Failure;
use crate::ports::rate_limits::{RateCheck, RateCountError, RateCounters, RateKey, RateLimited};

/// How long a request waits for its counts. Redis answers within a millisecond, and a caller decides without it.
const COUNT_TIMEOUT: Duration = Duration::from_millis(250);
/// Bytes of the hash in a key: 128 bits.
const KEY_HASH_BYTES: usize = 16;

static COUNT_REQUEST: LazyLock<RedisScript> =
    LazyLock::new(|| RedisScript::new("rate_limits.count", include_str!("count.lua")));

/// The counts of one cluster.
pub struct RedisRateCounters {
    connection: RedisConnection,
    name: String,
    /// A hash that has begun with the secret.
    keyed_hash: Sha256,
}

impl std::fmt::Debug for RedisRateCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisRateCounters").field("name", &self.name).finish_non_exhaustive()
    }
}

impl RedisRateCounters {
    /// The counts in the cluster called `name`. The processes of a cluster share the secret.
    pub fn new(connection: RedisConnection, name: &str, secret: &[u8]) -> Self {
        Self { connection, name: name.to_owned(), keyed_hash: Sha256::new_with_prefix(secret) }
    }

    fn key(&self, check: &RateCheck) -> String {
        let counted = match &check.key {
            RateKey::Member(id) => format!("member {id}"),
            RateKey::Network(address) => format!("network {address}"),
            RateKey::Subject(subject) => format!("subject {subject}"),
            RateKey::Comment(id) => format!("comment {id}"),
            RateKey::Answer(id) => format!("answer {id}"),
            RateKey::Mailbox(digest) => format!("mailbox {}", hex::encode(digest)),
            RateKey::Process => "process".to_owned(),
        };
        let hash = self.keyed_hash.clone().chain_update(format!("{} {counted}", check.policy.name)).finalize();
        format!("{{{}:rate:{}}}", self.name, hex::encode(&hash[..KEY_HASH_BYTES]))
    }

    /// The call that counts against these limits together.
    fn call(&self, checks: &[RateCheck]) -> ScriptCall<'static> {
        let keys: Vec<_> = checks.iter().map(|check| self.key(check)).collect();
        let mut call = COUNT_REQUEST.call(&keys);
        for RateCheck { policy, .. } in checks {
            let interval_us = policy.interval().as_micros() as u64;
            call.arg(interval_us).arg(interval_us.saturating_mul(u64::from(policy.count.get()) - 1));
        }
        call
    }
}

#[async_trait]
impl RateCounters for RedisRateCounters {
    async fn count(&self, checks: &[RateCheck]) -> Result<(), RateCountError> {
        let limits_of_a_call = if self.connection.is_single_server() { checks.len() } else { 1 };
        let unavailable = |failure: Failure| RateCountError::Unavailable(failure);
        let calls = checks.chunks(limits_of_a_call.max(1)).map(|checks| {
            let (connection, call) = (self.connection.clone(), self.call(checks));
            // A task of its own: the breaker hears how the call went, also after the caller has given up on it.
            let answer = tokio::spawn(async move { connection.run_script::<(usize, u64)>(&call).await });
            async move {
                let (refusing, wait_us) = match timeout(COUNT_TIMEOUT, answer).await {
                    Ok(Ok(answer)) => answer.map_err(|error| unavailable(Failure::of_driver(error)))?,
                    Ok(Err(error)) => return Err(unavailable(Failure::of_driver(error))),
                    Err(_) => return Err(unavailable(format!("no answer in {} ms", COUNT_TIMEOUT.as_millis()).into())),
                };
                match refusing.checked_sub(1).and_then(|index| checks.get(index)) {
                    None => Ok(()),
                    Some(check) => Err(RateLimited::after(check.policy, Duration::from_micros(wait_us)).into()),
                }
            }
        });
        let answers = join_all(calls).await;
        // A refusal is certain, whatever the other calls met.
        let refused = answers.iter().find(|answer| matches!(answer, Err(RateCountError::Limited(_)))).cloned();
        refused.unwrap_or_else(|| answers.into_iter().collect())
    }
}
