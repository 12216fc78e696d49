//! Rate limits in this process, by member, address and subject.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use gailou_shared::id::{MemberId, SubjectKey};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::config;

type KeyedLimiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

/// A limit is used up.
#[derive(Debug, Clone, thiserror::Error)]
#[error("too many requests; try again in {} s", retry_after.as_secs())]
pub struct RateLimited {
    /// The limit's name, as in `RateLimit-Policy`.
    pub name: &'static str,
    /// How many requests the limit allows in its window.
    pub count: u32,
    pub window: Duration,
    /// Whole seconds, from 1.
    pub retry_after: Duration,
}

/// A number of requests per window and key.
struct KeyedLimit<K: Hash + Eq + Clone> {
    name: &'static str,
    count: u32,
    window: Duration,
    limiter: KeyedLimiter<K>,
}

impl<K: Hash + Eq + Clone> KeyedLimit<K> {
    /// `None` for a limit of 0, which means unlimited.
    fn new(name: &'static str, count: u32, window: Duration) -> Option<Self> {
        let burst = NonZeroU32::new(count)?;
        let quota = Quota::with_period(window / count)?.allow_burst(burst);
        Some(Self { name, count, window, limiter: RateLimiter::keyed(quota) })
    }

    fn check(&self, key: &K) -> Result<(), RateLimited> {
        self.limiter.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            let retry_after = Duration::from_secs(wait.as_secs() + 1);
            RateLimited { name: self.name, count: self.count, window: self.window, retry_after }
        })
    }
}

/// The limits in force; none when they are disabled.
pub struct RateLimits {
    member: Option<KeyedLimit<MemberId>>,
    address: Option<KeyedLimit<String>>,
    subject: Option<KeyedLimit<SubjectKey>>,
    guests: Option<KeyedLimit<String>>,
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
            member: KeyedLimit::new("posts-member", on(config.posts_per_minute_member), minute),
            address: KeyedLimit::new("posts-address", on(config.posts_per_minute_address), minute),
            subject: KeyedLimit::new("posts-subject", on(config.posts_per_second_subject), Duration::from_secs(1)),
            guests: KeyedLimit::new("guests-address", on(config.guests_per_hour_address), minute * 60),
        }
    }

    /// Counts one post of this member from this address.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub fn post(&self, member: MemberId, address: &str, subject: &SubjectKey) -> Result<(), RateLimited> {
        self.member.as_ref().map_or(Ok(()), |l| l.check(&member))?;
        self.address.as_ref().map_or(Ok(()), |l| l.check(&address.to_owned()))?;
        self.subject.as_ref().map_or(Ok(()), |l| l.check(subject))
    }

    /// Counts one new guest from this address.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub fn guest(&self, address: &str) -> Result<(), RateLimited> {
        self.guests.as_ref().map_or(Ok(()), |l| l.check(&address.to_owned()))
    }

    /// Drops the keys that were idle for a whole window.
    pub fn forget_idle(&self) {
        self.member.iter().for_each(|l| l.limiter.retain_recent());
        self.address.iter().for_each(|l| l.limiter.retain_recent());
        self.subject.iter().for_each(|l| l.limiter.retain_recent());
        self.guests.iter().for_each(|l| l.limiter.retain_recent());
    }
}
