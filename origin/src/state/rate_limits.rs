//! Rate limits in this process: by member, by network, by subject and comment, and in all.
//!
//! A network is what one client has: an IPv4 address, or the /64 of an IPv6 address. A request that the
//! edge makes for itself has none. Counts are kept in memory, and keys that were idle are forgotten.

use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::config::LimitSettings;

type KeyedLimiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

const ONE_SECOND: Duration = Duration::from_secs(1);
const ONE_MINUTE: Duration = Duration::from_secs(60);
const ONE_HOUR: Duration = Duration::from_secs(3_600);

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

/// A member's writes that have a limit of their own, beside posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    Reaction,
    Edit,
    Deletion,
    /// A pin, or a moderator's decision about a comment or a subject.
    Decision,
}

/// A number of requests per window and key; without a limiter, any number.
struct KeyedLimit<K: Hash + Eq + Clone> {
    name: &'static str,
    count: u32,
    window: Duration,
    limiter: Option<KeyedLimiter<K>>,
}

impl<K: Hash + Eq + Clone> KeyedLimit<K> {
    /// A count of 0 is no limit.
    fn new(name: &'static str, count: u32, window: Duration) -> Self {
        let quota =
            NonZeroU32::new(count).and_then(|burst| Some(Quota::with_period(window / count)?.allow_burst(burst)));
        Self { name, count, window, limiter: quota.map(RateLimiter::keyed) }
    }

    /// Counts one request of this key.
    fn count(&self, key: &K) -> Result<(), RateLimited> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            let retry_after = Duration::from_secs(wait.as_secs() + 1);
            RateLimited { name: self.name, count: self.count, window: self.window, retry_after }
        })
    }

    fn count_if_known(&self, key: Option<&K>) -> Result<(), RateLimited> {
        key.map_or(Ok(()), |key| self.count(key))
    }

    fn forget_idle(&self) {
        if let Some(limiter) = &self.limiter {
            limiter.retain_recent();
        }
    }
}

/// The limits in force.
pub struct RateLimits {
    posts_member: KeyedLimit<MemberId>,
    posts_network: KeyedLimit<IpAddr>,
    posts_subject: KeyedLimit<SubjectKey>,
    reactions_member: KeyedLimit<MemberId>,
    edits_member: KeyedLimit<MemberId>,
    edits_comment: KeyedLimit<CommentId>,
    deletions_member: KeyedLimit<MemberId>,
    decisions_member: KeyedLimit<MemberId>,
    writes_network: KeyedLimit<IpAddr>,
    writes_all: KeyedLimit<()>,
    guests_network: KeyedLimit<IpAddr>,
    reads_network: KeyedLimit<IpAddr>,
    reads_all: KeyedLimit<()>,
}

impl std::fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimits").finish_non_exhaustive()
    }
}

impl RateLimits {
    /// The limits of these settings; none where limits are off.
    pub fn new(settings: &LimitSettings) -> Self {
        let on = |count: u32| if settings.enabled { count } else { 0 };
        Self {
            posts_member: KeyedLimit::new("posts-member", on(settings.posts_per_minute_member), ONE_MINUTE),
            posts_network: KeyedLimit::new("posts-address", on(settings.posts_per_minute_address), ONE_MINUTE),
            posts_subject: KeyedLimit::new("posts-subject", on(settings.posts_per_second_subject), ONE_SECOND),
            reactions_member: KeyedLimit::new("reactions-member", on(settings.reactions_per_minute_member), ONE_MINUTE),
            edits_member: KeyedLimit::new("edits-member", on(settings.edits_per_minute_member), ONE_MINUTE),
            edits_comment: KeyedLimit::new("edits-comment", on(settings.edits_per_minute_comment), ONE_MINUTE),
            deletions_member: KeyedLimit::new("deletions-member", on(settings.deletions_per_minute_member), ONE_MINUTE),
            decisions_member: KeyedLimit::new("decisions-member", on(settings.decisions_per_minute_member), ONE_MINUTE),
            writes_network: KeyedLimit::new("writes-address", on(settings.writes_per_minute_address), ONE_MINUTE),
            writes_all: KeyedLimit::new("writes", on(settings.writes_per_second), ONE_SECOND),
            guests_network: KeyedLimit::new("guests-address", on(settings.guests_per_hour_address), ONE_HOUR),
            reads_network: KeyedLimit::new("reads-address", on(settings.reads_per_minute_address), ONE_MINUTE),
            reads_all: KeyedLimit::new("reads", on(settings.reads_per_second), ONE_SECOND),
        }
    }

    /// Counts a post, refused or not.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub fn count_post(
        &self,
        member: MemberId,
        network: Option<IpAddr>,
        subject: &SubjectKey,
    ) -> Result<(), RateLimited> {
        self.posts_member.count(&member)?;
        self.posts_network.count_if_known(network.as_ref())?;
        self.posts_subject.count(subject)?;
        self.writes_all.count(&())
    }

    /// Counts any other write of a member.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub fn count_write(&self, kind: WriteKind, member: MemberId, network: Option<IpAddr>) -> Result<(), RateLimited> {
        let by_member = match kind {
            WriteKind::Reaction => &self.reactions_member,
            WriteKind::Edit => &self.edits_member,
            WriteKind::Deletion => &self.deletions_member,
            WriteKind::Decision => &self.decisions_member,
        };
        by_member.count(&member)?;
        self.writes_network.count_if_known(network.as_ref())?;
        self.writes_all.count(&())
    }

    /// Counts an edit of this comment.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub fn count_edit_of(&self, id: CommentId) -> Result<(), RateLimited> {
        self.edits_comment.count(&id)
    }

    /// Counts a new guest.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub fn count_guest(&self, network: Option<IpAddr>) -> Result<(), RateLimited> {
        self.guests_network.count_if_known(network.as_ref())?;
        self.writes_all.count(&())
    }

    /// Counts a read that no page in memory answers.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub fn count_read(&self, network: Option<IpAddr>) -> Result<(), RateLimited> {
        self.reads_network.count_if_known(network.as_ref())?;
        self.reads_all.count(&())
    }

    /// Drops the keys that were idle for a whole window.
    pub fn forget_idle(&self) {
        for limit in [
            &self.posts_member,
            &self.reactions_member,
            &self.edits_member,
            &self.deletions_member,
            &self.decisions_member,
        ] {
            limit.forget_idle();
        }
        for limit in [&self.posts_network, &self.writes_network, &self.guests_network, &self.reads_network] {
            limit.forget_idle();
        }
        self.posts_subject.forget_idle();
        self.edits_comment.forget_idle();
    }
}
