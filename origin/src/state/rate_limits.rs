//! Rate limits in this process, by member, address and subject.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use gailou_shared::id::{MemberId, SubjectKey};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::config;
use crate::error::ApiError;

type Keyed<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

/// One limit: so many in a window, per key.
struct Limit<K: Hash + Eq + Clone> {
    name: &'static str,
    count: u32,
    window: Duration,
    limiter: Keyed<K>,
}

impl<K: Hash + Eq + Clone> Limit<K> {
    /// `None` for a limit of 0, which is none.
    fn new(name: &'static str, count: u32, window: Duration) -> Option<Self> {
        let burst = NonZeroU32::new(count)?;
        let quota = Quota::with_period(window / count)?.allow_burst(burst);
        Some(Self { name, count, window, limiter: RateLimiter::keyed(quota) })
    }

    fn check(&self, key: &K) -> Result<(), ApiError> {
        self.limiter.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            ApiError::rate_limited(self.name, self.count, self.window, wait)
        })
    }
}

/// The limits in force; none of them when they are switched off.
pub struct RateLimits {
    member: Option<Limit<MemberId>>,
    address: Option<Limit<String>>,
    subject: Option<Limit<SubjectKey>>,
    guests: Option<Limit<String>>,
}

impl std::fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits").field("on", &self.member.is_some()).finish_non_exhaustive()
    }
}

impl RateLimits {
    pub fn new(config: &config::LimitSettings) -> Self {
        let on = |count: u32| if config.enabled { count } else { 0 };
        let minute = Duration::from_secs(60);
        Self {
            member: Limit::new("posts-member", on(config.posts_per_minute_member), minute),
            address: Limit::new("posts-address", on(config.posts_per_minute_address), minute),
            subject: Limit::new("posts-subject", on(config.posts_per_second_subject), Duration::from_secs(1)),
            guests: Limit::new("guests-address", on(config.guests_per_hour_address), minute * 60),
        }
    }

    /// One post of this member from this address.
    ///
    /// # Errors
    /// `rate_limited` with the time to wait.
    pub fn post(&self, member: MemberId, address: &str, subject: &SubjectKey) -> Result<(), ApiError> {
        self.member.as_ref().map_or(Ok(()), |l| l.check(&member))?;
        self.address.as_ref().map_or(Ok(()), |l| l.check(&address.to_owned()))?;
        self.subject.as_ref().map_or(Ok(()), |l| l.check(subject))
    }

    /// One new guest from this address.
    ///
    /// # Errors
    /// `rate_limited` with the time to wait.
    pub fn guest(&self, address: &str) -> Result<(), ApiError> {
        self.guests.as_ref().map_or(Ok(()), |l| l.check(&address.to_owned()))
    }

    /// Drops the keys nobody has used for a while.
    pub fn forget_idle(&self) {
        self.member.iter().for_each(|l| l.limiter.retain_recent());
        self.address.iter().for_each(|l| l.limiter.retain_recent());
        self.subject.iter().for_each(|l| l.limiter.retain_recent());
        self.guests.iter().for_each(|l| l.limiter.retain_recent());
    }
}
