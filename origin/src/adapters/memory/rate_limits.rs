//! The counts of rate limits in the memory of this process.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use parking_lot::RwLock;

use crate::ports::rate_limits::{RateCheck, RateCountError, RateCounters, RateKey, RateLimited, RatePolicy};

type KeyedLimiter = RateLimiter<RateKey, DashMapStateStore<RateKey>, DefaultClock>;

/// The counts of one process: for each limit those of its keys.
#[derive(Default)]
pub struct MemoryRateCounters(RwLock<HashMap<RatePolicy, Arc<KeyedLimiter>>>);

impl std::fmt::Debug for MemoryRateCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryRateCounters").finish_non_exhaustive()
    }
}

impl MemoryRateCounters {
    /// The limiter of a limit; `None` for an interval that is no time, which limits nothing.
    fn limiter_of(&self, policy: &RatePolicy) -> Option<Arc<KeyedLimiter>> {
        if let Some(limiter) = self.0.read().get(policy) {
            return Some(limiter.clone());
        }
        let quota = Quota::with_period(policy.interval())?.allow_burst(policy.count);
        Some(self.0.write().entry(*policy).or_insert_with(|| Arc::new(RateLimiter::keyed(quota))).clone())
    }
}

#[async_trait]
impl RateCounters for MemoryRateCounters {
    /// A refused request counts against the limits before the one that refuses it.
    async fn count(&self, checks: &[RateCheck]) -> Result<(), RateCountError> {
        for RateCheck { policy, key } in checks {
            let Some(limiter) = self.limiter_of(policy) else { continue };
            limiter
                .check_key(key)
                .map_err(|until| RateLimited::after(*policy, until.wait_time_from(DefaultClock::default().now())))?;
        }
        Ok(())
    }

    fn forget_idle(&self) {
        let mut has_empty = false;
        for limiter in self.0.read().values() {
            limiter.retain_recent();
            has_empty |= limiter.is_empty();
        }
        if has_empty {
            // A limit that is no longer in force counts nothing; one that a request holds is about to count.
            self.0.write().retain(|_, limiter| Arc::strong_count(limiter) > 1 || !limiter.is_empty());
        }
    }
}
