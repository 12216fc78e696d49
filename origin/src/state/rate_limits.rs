//! Rate limits: by member, by network, by subject and comment, and in all.
//!
//! A network is what one client has: an IPv4 address, or the /64 of an IPv6 address. A request that the
//! edge makes for itself has none.
//!
//! Each request is counted in this process first. In a cluster the counts of all processes decide, except for the
//! totals of reads and writes, which protect the process. What a process refuses by itself is counted nowhere else, so a
//! flood of requests over a limit reaches no other server. While the shared counts cannot be reached, those of
//! this process decide.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use metrics::{counter, describe_counter};
use parking_lot::RwLock;

use crate::config::LimitSettings;
use crate::domain::altcha::{ALTCHA_LIFETIME_S, AnswerId};
use crate::outage_log::OutageLog;
use crate::ports::rate_limits::{RateCheck, RateCountError, RateCounters, RateKey, RateLimited, RatePolicy};

/// Requests that only their process has counted, because the counts of all processes could not be reached.
const UNSHARED_COUNT: &str = "gailou_rate_limits_unshared_total";

const ONE_SECOND: Duration = Duration::from_secs(1);
const ONE_MINUTE: Duration = Duration::from_secs(60);
const ONE_HOUR: Duration = Duration::from_secs(3_600);

/// An answer to a challenge counts once, whatever the settings are: for twice as long as it is right, because clocks
/// differ.
const ANSWER_POLICY: RatePolicy =
    RatePolicy { name: "answers", count: NonZeroU32::MIN, window: Duration::from_secs(2 * ALTCHA_LIFETIME_S) };

/// Challenges of passkeys, whatever the settings are, because each is a row of about 1 kB until it is swept, 15 minutes
/// later: at most 28,800 of a process, 29 MB.
const PASSKEYS_POLICY: RatePolicy =
    RatePolicy { name: "passkeys", count: NonZeroU32::new(32).unwrap(), window: ONE_SECOND };
/// Those of one network: so few that 64 of them are needed to use up the other limit.
const PASSKEYS_NETWORK_POLICY: RatePolicy =
    RatePolicy { name: "passkeys-address", count: NonZeroU32::new(30).unwrap(), window: ONE_MINUTE };

/// A member's writes that have a limit of their own, beside posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    Reaction,
    Edit,
    Deletion,
    /// A pin, or a moderator's decision about a comment or a subject.
    Decision,
    /// A text that is rendered and not stored.
    Preview,
    Report,
    /// A picture.
    Upload,
}

/// The limits of some settings; `None` where there is no limit.
#[derive(Debug)]
struct RatePolicies {
    posts_member: Option<RatePolicy>,
    posts_network: Option<RatePolicy>,
    posts_subject: Option<RatePolicy>,
    reactions_member: Option<RatePolicy>,
    edits_member: Option<RatePolicy>,
    edits_comment: Option<RatePolicy>,
    deletions_member: Option<RatePolicy>,
    decisions_member: Option<RatePolicy>,
    previews_member: Option<RatePolicy>,
    reports_member: Option<RatePolicy>,
    uploads_member: Option<RatePolicy>,
    writes_network: Option<RatePolicy>,
    writes_all: Option<RatePolicy>,
    exports_member: Option<RatePolicy>,
    sign_in_mails_network: Option<RatePolicy>,
    sign_in_mails_mailbox: Option<RatePolicy>,
    guests_network: Option<RatePolicy>,
    reads_network: Option<RatePolicy>,
    reads_all: Option<RatePolicy>,
}

impl RatePolicies {
    /// None where limits are off.
    fn new(settings: &LimitSettings) -> Self {
        let limit = |name, count, window| RatePolicy::new(name, if settings.enabled { count } else { 0 }, window);
        Self {
            posts_member: limit("posts-member", settings.posts_per_minute_member, ONE_MINUTE),
            posts_network: limit("posts-address", settings.posts_per_minute_address, ONE_MINUTE),
            posts_subject: limit("posts-subject", settings.posts_per_second_subject, ONE_SECOND),
            reactions_member: limit("reactions-member", settings.reactions_per_minute_member, ONE_MINUTE),
            edits_member: limit("edits-member", settings.edits_per_minute_member, ONE_MINUTE),
            edits_comment: limit("edits-comment", settings.edits_per_minute_comment, ONE_MINUTE),
            deletions_member: limit("deletions-member", settings.deletions_per_minute_member, ONE_MINUTE),
            decisions_member: limit("decisions-member", settings.decisions_per_minute_member, ONE_MINUTE),
            previews_member: limit("previews-member", settings.previews_per_minute_member, ONE_MINUTE),
            reports_member: limit("reports-member", settings.reports_per_minute_member, ONE_MINUTE),
            uploads_member: limit("uploads-member", settings.uploads_per_minute_member, ONE_MINUTE),
            writes_network: limit("writes-address", settings.writes_per_minute_address, ONE_MINUTE),
            writes_all: limit("writes", settings.writes_per_second, ONE_SECOND),
            exports_member: limit("exports-member", settings.exports_per_hour_member, ONE_HOUR),
            sign_in_mails_network: limit("sign-in-mails-address", settings.sign_in_mails_per_hour_address, ONE_HOUR),
            sign_in_mails_mailbox: limit("sign-in-mails-mailbox", settings.sign_in_mails_per_hour_mailbox, ONE_HOUR),
            guests_network: limit("guests-address", settings.guests_per_hour_address, ONE_HOUR),
            reads_network: limit("reads-address", settings.reads_per_minute_address, ONE_MINUTE),
            reads_all: limit("reads", settings.reads_per_second, ONE_SECOND),
        }
    }
}

/// The limits in force, and the counts.
#[derive(Debug)]
pub struct RateLimits {
    /// A mutex that is held to clone the `Arc`, never across an await.
    policies: RwLock<Arc<RatePolicies>>,
    local: Arc<dyn RateCounters>,
    /// Those of all processes; `None` where this process is alone.
    shared: Option<Arc<dyn RateCounters>>,
    shared_outage: OutageLog,
}

impl RateLimits {
    /// The limits of these settings; none where limits are off.
    pub fn new(settings: &LimitSettings, local: Arc<dyn RateCounters>, shared: Option<Arc<dyn RateCounters>>) -> Self {
        let policies = RwLock::new(Arc::new(RatePolicies::new(settings)));
        if shared.is_some() {
            describe_counter!(UNSHARED_COUNT, "Requests whose rates only this process has counted.");
            counter!(UNSHARED_COUNT).increment(0);
        }
        Self { policies, local, shared, shared_outage: OutageLog::default() }
    }

    /// Puts the limits of other settings in force. This process counts anew for a limit that is another one.
    pub fn change(&self, settings: &LimitSettings) {
        *self.policies.write() = Arc::new(RatePolicies::new(settings));
    }

    fn policies(&self) -> Arc<RatePolicies> {
        self.policies.read().clone()
    }

    /// Counts a post, refused or not.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_post(
        &self,
        member: MemberId,
        network: Option<IpAddr>,
        subject: &SubjectKey,
    ) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(policies.posts_member, Some(RateKey::Member(member))),
            check(policies.posts_network, network.map(RateKey::Network)),
            check(policies.posts_subject, Some(RateKey::Subject(subject.clone()))),
            check(policies.writes_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Counts any other write of a member.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_write(
        &self,
        kind: WriteKind,
        member: MemberId,
        network: Option<IpAddr>,
    ) -> Result<(), RateLimited> {
        let policies = self.policies();
        let by_member = match kind {
            WriteKind::Reaction => policies.reactions_member,
            WriteKind::Edit => policies.edits_member,
            WriteKind::Deletion => policies.deletions_member,
            WriteKind::Decision => policies.decisions_member,
            WriteKind::Preview => policies.previews_member,
            WriteKind::Report => policies.reports_member,
            WriteKind::Upload => policies.uploads_member,
        };
        let checks = [
            check(by_member, Some(RateKey::Member(member))),
            check(policies.writes_network, network.map(RateKey::Network)),
            check(policies.writes_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Counts an edit of this comment.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_edit_of(&self, id: CommentId) -> Result<(), RateLimited> {
        let check = check(self.policies().edits_comment, Some(RateKey::Comment(id)));
        self.count([check]).await
    }

    /// Counts an export of a member's data.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_export(&self, member: MemberId, network: Option<IpAddr>) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(policies.exports_member, Some(RateKey::Member(member))),
            check(policies.reads_network, network.map(RateKey::Network)),
        ];
        self.count(checks).await
    }

    /// Counts a new guest.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_guest(&self, network: Option<IpAddr>) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(policies.guests_network, network.map(RateKey::Network)),
            check(policies.writes_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Counts a mail that signs in, by the digest of its mailbox.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_sign_in_mail(&self, network: Option<IpAddr>, mailbox: [u8; 32]) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(policies.sign_in_mails_network, network.map(RateKey::Network)),
            check(policies.sign_in_mails_mailbox, Some(RateKey::Mailbox(mailbox))),
            check(policies.writes_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Counts who signs in, stays signed in, or signs out.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_session(&self, network: Option<IpAddr>) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(policies.writes_network, network.map(RateKey::Network)),
            check(policies.writes_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Counts a challenge for a passkey.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_passkey_challenge(&self, network: Option<IpAddr>) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(Some(PASSKEYS_NETWORK_POLICY), network.map(RateKey::Network)),
            check(policies.writes_network, network.map(RateKey::Network)),
            check(Some(PASSKEYS_POLICY), Some(RateKey::Process)),
            check(policies.writes_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Counts a post that is answered with a challenge: no post yet.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_challenged(&self, network: Option<IpAddr>) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(policies.writes_network, network.map(RateKey::Network)),
            check(policies.writes_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Uses a right answer to a challenge. Returns false where it was used before. It is remembered for 10 minutes, about
    /// 100 bytes; each of them has cost its sender a proof of work or a widget, and a write within the limits.
    pub async fn use_answer(&self, id: AnswerId) -> bool {
        self.count([check(Some(ANSWER_POLICY), Some(RateKey::Answer(id)))]).await.is_ok()
    }

    /// Counts a read that no page in memory answers.
    ///
    /// # Errors
    /// [`RateLimited`] with the time to wait.
    pub async fn count_read(&self, network: Option<IpAddr>) -> Result<(), RateLimited> {
        let policies = self.policies();
        let checks = [
            check(policies.reads_network, network.map(RateKey::Network)),
            check(policies.reads_all, Some(RateKey::Process)),
        ];
        self.count(checks).await
    }

    /// Drops the counts of keys that were idle for a whole window.
    pub fn forget_idle(&self) {
        self.local.forget_idle();
    }

    /// Counts a request: against the narrowest limit first, so that one sender's refused requests use up no limit
    /// that others share.
    async fn count<const N: usize>(&self, checks: [Option<RateCheck>; N]) -> Result<(), RateLimited> {
        let mut checks: Vec<_> = checks.into_iter().flatten().collect();
        match self.local.count(&checks).await {
            Err(RateCountError::Limited(limited)) => return Err(limited),
            // Memory can always be reached.
            Ok(()) | Err(RateCountError::Unavailable(_)) => {}
        }
        let Some(shared) = &self.shared else { return Ok(()) };
        checks.retain(|check| check.key != RateKey::Process);
        if checks.is_empty() {
            return Ok(());
        }
        match shared.count(&checks).await {
            Err(RateCountError::Unavailable(error)) => {
                counter!(UNSHARED_COUNT).increment(1);
                self.shared_outage.begin(|| {
                    let dependency = "redis";
                    tracing::warn!(
                        dependency, %error,
                        "Could not count requests in {dependency}; each process limits rates by itself"
                    );
                });
                Ok(())
            }
            counted => {
                self.shared_outage.end(|| tracing::info!("Rates are limited over all processes again"));
                match counted {
                    Err(RateCountError::Limited(limited)) => Err(limited),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn check(policy: Option<RatePolicy>, key: Option<RateKey>) -> Option<RateCheck> {
    Some(RateCheck { policy: policy?, key: key? })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use async_trait::async_trait;
    use parking_lot::Mutex;

    use super::*;
    use crate::adapters::memory::rate_limits::MemoryRateCounters;

    const NETWORK: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));

    /// What the counts of all processes answer, and what they were asked for.
    #[derive(Debug)]
    struct ScriptedRateCounters {
        answer: Mutex<Result<(), RateCountError>>,
        counted: Mutex<Vec<Vec<&'static str>>>,
    }

    #[async_trait]
    impl RateCounters for ScriptedRateCounters {
        async fn count(&self, checks: &[RateCheck]) -> Result<(), RateCountError> {
            self.counted.lock().push(checks.iter().map(|check| check.policy.name).collect());
            self.answer.lock().clone()
        }
    }

    /// Two posts of a member in a minute, and what all processes are asked for.
    fn limits() -> (RateLimits, Arc<ScriptedRateCounters>) {
        let shared = Arc::new(ScriptedRateCounters { answer: Mutex::new(Ok(())), counted: Mutex::default() });
        let settings = LimitSettings { posts_per_minute_member: 2, writes_per_minute_address: 0, ..<_>::default() };
        (RateLimits::new(&settings, Arc::new(MemoryRateCounters::default()), Some(shared.clone())), shared)
    }

    async fn post(limits: &RateLimits, member: u64) -> Result<(), RateLimited> {
        let subject = SubjectKey::new("article", "1").unwrap();
        limits.count_post(MemberId::guest(member), NETWORK, &subject).await
    }

    #[tokio::test]
    async fn request_that_this_process_refuses_reaches_no_other() {
        let (limits, shared) = limits();
        for _ in 0..2 {
            post(&limits, 1).await.unwrap();
        }
        for _ in 0..5 {
            assert_eq!(post(&limits, 1).await.unwrap_err().policy.name, "posts-member");
        }
        post(&limits, 2).await.unwrap();
        assert_eq!(*shared.counted.lock(), vec![vec!["posts-member", "posts-address", "posts-subject"]; 3]);
    }

    #[tokio::test]
    async fn shared_counts_refuse_what_this_process_would_admit() {
        let (limits, shared) = limits();
        let policy = RatePolicy::new("posts-member", 2, ONE_MINUTE).unwrap();
        let limited = RateLimited::after(policy, Duration::from_millis(1_500));
        *shared.answer.lock() = Err(limited.clone().into());
        assert_eq!(post(&limits, 1).await, Err(limited));
    }

    #[tokio::test]
    async fn process_limits_by_itself_while_shared_counts_are_away() {
        let (limits, shared) = limits();
        *shared.answer.lock() = Err(RateCountError::Unavailable("no Redis".into()));
        for is_admitted in [true, true, false] {
            assert_eq!(post(&limits, 1).await.is_ok(), is_admitted);
        }
    }

    #[tokio::test]
    async fn answer_is_used_once_whatever_the_settings_and_while_shared_counts_are_away() {
        let (limits, shared) = limits();
        limits.change(&LimitSettings { enabled: false, ..<_>::default() });
        let [one, other, third] = [b"1", b"2", b"3"].map(|answer| AnswerId::of(answer));
        assert!(limits.use_answer(one).await && !limits.use_answer(one).await && limits.use_answer(other).await);
        assert_eq!(*shared.counted.lock(), [["answers"], ["answers"]]);
        *shared.answer.lock() = Err(RateCountError::Unavailable("no Redis".into()));
        assert!(limits.use_answer(third).await && !limits.use_answer(third).await);
    }

    #[tokio::test]
    async fn changed_limits_are_in_force_at_once() {
        let (limits, _) = limits();
        post(&limits, 1).await.unwrap();
        post(&limits, 1).await.unwrap();
        post(&limits, 1).await.unwrap_err();
        limits.change(&LimitSettings { enabled: false, ..<_>::default() });
        post(&limits, 1).await.unwrap();
        limits.change(&LimitSettings { posts_per_minute_member: 1, ..<_>::default() });
        post(&limits, 1).await.unwrap();
        assert_eq!(post(&limits, 1).await.unwrap_err().policy.count.get(), 1);
    }

    #[tokio::test]
    async fn totals_and_limits_that_are_off_are_not_shared() {
        let (limits, shared) = limits();
        limits.count_write(WriteKind::Edit, MemberId::guest(1), NETWORK).await.unwrap();
        limits.count_read(None).await.unwrap();
        limits.count_read(NETWORK).await.unwrap();
        assert_eq!(*shared.counted.lock(), [["edits-member"], ["reads-address"]]);
    }
}
