//! The port to the counts behind rate limits.
//!
//! Knows the shape of a limit, not its value: [`crate::state::rate_limits`] has the limits in force. Promise: counts
//! of one key are exact over everything that shares the adapter, and a request that a limit refuses does not count
//! against that limit.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};

use crate::domain::altcha::AnswerId;
use crate::ports::failure::Failure;

/// A number of requests in a window. A key that was idle for a window may send them all at once, and from then on
/// one in each [`RatePolicy::interval`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RatePolicy {
    /// As in `RateLimit-Policy`; unique among the limits.
    pub name: &'static str,
    pub count: NonZeroU32,
    pub window: Duration,
}

impl RatePolicy {
    /// A count of 0 is no limit.
    pub fn new(name: &'static str, count: u32, window: Duration) -> Option<Self> {
        Some(Self { name, count: NonZeroU32::new(count)?, window })
    }

    /// The time between two requests at the limit's rate: whole microseconds, from 1.
    pub fn interval(&self) -> Duration {
        let interval_us = self.window.as_micros() / u128::from(self.count.get());
        Duration::from_micros(u64::try_from(interval_us).unwrap_or(u64::MAX).max(1))
    }
}

/// What requests are counted for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RateKey {
    Member(MemberId),
    /// An IPv4 address, or the first address of an IPv6 /64.
    Network(IpAddr),
    Subject(SubjectKey),
    Comment(CommentId),
    /// The answer to a challenge.
    Answer(AnswerId),
    /// The digest of an address of mail.
    Mailbox([u8; 32]),
    /// Everything that this process is asked.
    Process,
}

/// One limit that a request counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateCheck {
    pub policy: RatePolicy,
    pub key: RateKey,
}

/// A limit is used up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("too many requests; try again in {} s", retry_after.as_secs())]
pub struct RateLimited {
    pub policy: RatePolicy,
    /// Whole seconds, from 1.
    pub retry_after: Duration,
}

impl RateLimited {
    /// The refusal by a limit that admits the next request after `wait`.
    pub fn after(policy: RatePolicy, wait: Duration) -> Self {
        Self { policy, retry_after: Duration::from_secs(wait.as_secs() + 1) }
    }
}

/// Why a request is not counted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RateCountError {
    #[error(transparent)]
    Limited(#[from] RateLimited),
    /// Whether it was counted is unknown.
    #[error("the counts of rate limits cannot be reached: {0}")]
    Unavailable(Failure),
}

/// The counts.
#[async_trait]
pub trait RateCounters: Send + Sync + std::fmt::Debug {
    /// Counts one request against each of these limits, unless one is used up: then the first of those. Whether a
    /// refused request counts against the other limits is the adapter's choice.
    async fn count(&self, checks: &[RateCheck]) -> Result<(), RateCountError>;

    /// Drops the counts of keys that were idle for a whole window, where they do not expire by themselves.
    fn forget_idle(&self) {}
}
