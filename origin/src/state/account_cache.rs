//! What the host's service says of its members, in memory: few calls to it, and none that a request waits for long.
//!
//! Members that are asked about while calls are in progress go out together in the next one, each once. Promise: a
//! request waits no longer than `accounts.timeout_ms`; where there is no answer, the last one counts for a day, also that
//! a member is not known, and otherwise nothing is known. Nothing fails for it, and nothing is logged here: the adapter
//! does.
//!
//! Not here: what follows from it for a member (`origin/src/service/account.rs`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{MemberId, MemberKind};
use metrics::counter;
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::ports::accounts::{Account, Accounts, MAX_ACCOUNTS_PER_CALL};

/// Members that were looked up, by `outcome`.
pub const ACCOUNT_COUNT: &str = "gailou_accounts_total";

/// Calls in progress: 200 members at a time, and 4,000 a second where the service needs 50 ms.
const MAX_ACCOUNT_CALLS: usize = 4;
/// Members that are asked about, or wait to be: what the calls answer in half a second. What comes beyond them is not
/// asked.
const MAX_WAITING_MEMBERS: usize = 2_000;
/// What is kept: an account without friends has about 400 bytes, so 80,000 of these.
const MAX_KEPT_BYTES: u64 = 32 << 20;
/// Bytes of an account beside its texts and friends.
const ACCOUNT_BYTES: usize = 300;
/// How long an answer is kept, to count while there is no newer one.
const ACCOUNT_RETENTION: Duration = Duration::from_secs(86_400);
/// How long it counts at most that a member is not known: they may have just signed up.
const UNKNOWN_FRESHNESS: Duration = Duration::from_secs(30);

/// What the service said of a member; `None` where it does not know them.
type Answer = Option<Arc<Account>>;

/// The accounts that the process knows.
#[derive(Debug)]
pub struct AccountCache {
    service: Arc<dyn Accounts>,
    max_wait: Duration,
    fresh_for: Duration,
    kept: Cache<MemberId, KeptAnswer>,
    /// A mutex that is held for a few look-ups, never across an await.
    look_ups: Mutex<LookUps>,
}

#[derive(Debug, Clone)]
struct KeptAnswer {
    answer: Answer,
    fresh_until: Instant,
}

#[derive(Debug, Default)]
struct LookUps {
    /// Members that no call asks about yet, in order of arrival.
    queue: VecDeque<MemberId>,
    /// Who waits for the members of the queue and of the calls.
    waiting: HashMap<MemberId, Vec<oneshot::Sender<Answer>>>,
    /// Calls in progress.
    calls: usize,
}

impl AccountCache {
    /// Of this service, for which a request waits so long, and whose answers count so long.
    pub fn new(service: Arc<dyn Accounts>, max_wait: Duration, fresh_for: Duration) -> Self {
        let weigh = |_: &MemberId, kept: &KeptAnswer| u32::try_from(bytes_of(&kept.answer)).unwrap_or(u32::MAX);
        let kept = Cache::builder().weigher(weigh).max_capacity(MAX_KEPT_BYTES).time_to_live(ACCOUNT_RETENTION).build();
        Self { service, max_wait, fresh_for, kept, look_ups: Mutex::default() }
    }

    /// What the service says of a member; `None` where it does not know them or does not answer. It is not asked about
    /// guests, nor about imported names.
    pub async fn look_up(self: &Arc<Self>, member: MemberId) -> Answer {
        if member.kind() != MemberKind::Host {
            return None;
        }
        let kept = self.kept.get(&member);
        if let Some(KeptAnswer { answer, .. }) = kept.as_ref().filter(|kept| Instant::now() < kept.fresh_until) {
            count("cached");
            return answer.clone();
        }
        let answered = match self.wait_for(member) {
            Some(answer) => timeout(self.max_wait, answer).await.ok().and_then(Result::ok),
            None => None,
        };
        match (answered, kept) {
            (Some(answer), _) => {
                count(if answer.is_some() { "known" } else { "unknown" });
                answer
            }
            (None, Some(kept)) => {
                count("stale");
                kept.answer
            }
            (None, None) => {
                count("unanswered");
                None
            }
        }
    }

    /// Joins the look-up of a member, or begins one; `None` where too many members are waited for. The sender is dropped
    /// where there is no answer.
    fn wait_for(self: &Arc<Self>, member: MemberId) -> Option<oneshot::Receiver<Answer>> {
        let (sender, receiver) = oneshot::channel();
        let mut look_ups = self.look_ups.lock();
        if let Some(waiting) = look_ups.waiting.get_mut(&member) {
            waiting.push(sender);
            return Some(receiver);
        }
        if look_ups.waiting.len() == MAX_WAITING_MEMBERS {
            return None;
        }
        look_ups.waiting.insert(member, vec![sender]);
        look_ups.queue.push_back(member);
        if look_ups.calls < MAX_ACCOUNT_CALLS {
            look_ups.calls += 1;
            tokio::spawn(self.clone().call_service());
        }
        Some(receiver)
    }

    /// Asks about the members of the queue until it is empty, whether or not their requests still wait.
    async fn call_service(self: Arc<Self>) {
        while let Some(members) = self.take_members() {
            let (service, asked) = (self.service.clone(), members.clone());
            // As a task of its own: one that panics has no answer, and the next members are asked about.
            let call = tokio::spawn(async move { service.look_up(&asked).await.ok() });
            self.put_answers(&members, call.await.ok().flatten());
        }
    }

    /// The members of the next call; `None` ends the calls.
    fn take_members(&self) -> Option<Vec<MemberId>> {
        let mut look_ups = self.look_ups.lock();
        let count = look_ups.queue.len().min(MAX_ACCOUNTS_PER_CALL);
        if count == 0 {
            look_ups.calls -= 1;
            return None;
        }
        Some(look_ups.queue.drain(..count).collect())
    }

    fn put_answers(&self, members: &[MemberId], accounts: Option<HashMap<MemberId, Account>>) {
        let Some(mut accounts) = accounts else {
            let mut look_ups = self.look_ups.lock();
            members.iter().for_each(|member| drop(look_ups.waiting.remove(member)));
            return;
        };
        let now = Instant::now();
        for member in members {
            let answer = accounts.remove(member).map(Arc::new);
            // Before the waiting are answered: who comes later finds it here.
            let fresh_until = now + self.freshness(&answer);
            self.kept.insert(*member, KeptAnswer { answer: answer.clone(), fresh_until });
            let waiting = self.look_ups.lock().waiting.remove(member).unwrap_or_default();
            // A request that has given up receives nothing.
            waiting.into_iter().for_each(|request| drop(request.send(answer.clone())));
        }
    }

    /// Up to a tenth shorter than the settings say, so that members who were asked about together do not expire together.
    fn freshness(&self, answer: &Answer) -> Duration {
        let freshness = if answer.is_some() { self.fresh_for } else { self.fresh_for.min(UNKNOWN_FRESHNESS) };
        freshness.mul_f64(rand::random_range(0.9..=1.0))
    }
}

fn count(outcome: &'static str) {
    counter!(ACCOUNT_COUNT, "outcome" => outcome).increment(1);
}

fn bytes_of(answer: &Answer) -> usize {
    let Some(account) = answer else { return ACCOUNT_BYTES };
    let avatar = account.avatar.as_ref().and_then(Option::as_ref);
    let texts = account.name.as_ref().map_or(0, String::len) + avatar.map_or(0, String::len);
    ACCOUNT_BYTES + texts + account.friends.as_ref().map_or(0, |friends| friends.len() * size_of::<MemberId>())
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use futures_util::future::join_all;

    use super::*;
    use crate::ports::failure::Failure;

    const MAX_WAIT: Duration = Duration::from_millis(500);
    const FRESH_FOR: Duration = Duration::from_secs(300);
    /// How long the service takes.
    const DELAY: Duration = Duration::from_millis(50);

    /// Knows members with odd numbers: their level is how often it was called before.
    #[derive(Debug, Default)]
    struct ScriptedAccounts {
        calls: Mutex<Vec<Vec<MemberId>>>,
        behavior: Mutex<Behavior>,
    }

    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    enum Behavior {
        #[default]
        Answers,
        Fails,
        IsSlow,
        Panics,
    }

    #[async_trait]
    impl Accounts for ScriptedAccounts {
        async fn look_up(&self, members: &[MemberId]) -> Result<HashMap<MemberId, Account>, Failure> {
            let level = self.calls.lock().len() as u8;
            self.calls.lock().push(members.to_vec());
            let behavior = *self.behavior.lock();
            tokio::time::sleep(if behavior == Behavior::IsSlow { MAX_WAIT * 3 } else { DELAY }).await;
            assert!(behavior != Behavior::Panics, "as the test wants it");
            if behavior == Behavior::Fails {
                return Err("away".into());
            }
            let known = members.iter().filter(|member| member.get() % 2 == 1);
            Ok(known.map(|member| (*member, Account { level: Some(level), ..Account::default() })).collect())
        }
    }

    fn start() -> (Arc<ScriptedAccounts>, Arc<AccountCache>) {
        let service = Arc::<ScriptedAccounts>::default();
        (service.clone(), Arc::new(AccountCache::new(service, MAX_WAIT, FRESH_FOR)))
    }

    fn member(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    async fn level(cache: &Arc<AccountCache>, number: u64) -> Option<u8> {
        cache.look_up(member(number)).await.and_then(|account| account.level)
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_look_ups_are_few_calls_and_each_member_is_asked_about_once() {
        let (service, cache) = start();
        let numbers: Vec<u64> = (0..300).flat_map(|n| [2 * n + 1; 3]).collect();
        let levels = join_all(numbers.iter().map(|n| level(&cache, *n))).await;
        assert!(levels.iter().all(Option::is_some));
        let calls = service.calls.lock().clone();
        assert!(calls.iter().all(|members| members.len() <= MAX_ACCOUNTS_PER_CALL), "{calls:?}");
        assert_eq!(calls.len(), 300 / MAX_ACCOUNTS_PER_CALL, "the calls begin when all have come");
        assert_eq!(calls.iter().map(Vec::len).sum::<usize>(), 300);
        let look_ups = cache.look_ups.lock();
        assert!(look_ups.waiting.is_empty() && look_ups.queue.is_empty() && look_ups.calls == 0, "{look_ups:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn answer_counts_until_it_is_old_and_that_a_member_is_not_known_for_less() {
        let (service, cache) = start();
        let asked = || service.calls.lock().len();
        assert_eq!((level(&cache, 1).await, level(&cache, 2).await, asked()), (Some(0), None, 2));
        tokio::time::advance(UNKNOWN_FRESHNESS.mul_f64(0.8)).await;
        assert_eq!((level(&cache, 1).await, level(&cache, 2).await, asked()), (Some(0), None, 2));
        tokio::time::advance(UNKNOWN_FRESHNESS).await;
        assert_eq!((level(&cache, 1).await, level(&cache, 2).await, asked()), (Some(0), None, 3));
        tokio::time::advance(FRESH_FOR).await;
        assert_eq!((level(&cache, 1).await, asked()), (Some(3), 4));
        for other in [MemberId::guest(5), MemberId::imported("Ann")] {
            assert_eq!((cache.look_up(other).await, asked()), (None, 4));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_of_one_call_do_not_all_expire_together() {
        let (_, cache) = start();
        join_all((0..50).map(|n| level(&cache, 2 * n + 1))).await;
        let until = |n: u64| cache.kept.get(&member(2 * n + 1)).unwrap().fresh_until;
        assert!((1..50).any(|n| until(n) != until(0)));
        let bounds = Instant::now() + FRESH_FOR.mul_f64(0.89)..=Instant::now() + FRESH_FOR;
        assert!((0..50).all(|n| bounds.contains(&until(n))));
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_answer_the_last_one_counts_and_nothing_is_waited_for_long() {
        for behavior in [Behavior::Fails, Behavior::IsSlow, Behavior::Panics] {
            let (service, cache) = start();
            assert_eq!(level(&cache, 1).await, Some(0));
            *service.behavior.lock() = behavior;
            tokio::time::advance(FRESH_FOR).await;
            let began = Instant::now();
            let found = join_all([1, 3, 3].map(|number| level(&cache, number))).await;
            assert_eq!(found, [Some(0), None, None], "{behavior:?}");
            assert!(began.elapsed() <= MAX_WAIT, "{behavior:?}: {:?}", began.elapsed());
            // What comes too late is there for the next.
            *service.behavior.lock() = Behavior::Answers;
            tokio::time::sleep(MAX_WAIT * 3).await;
            assert!(level(&cache, 3).await.is_some(), "{behavior:?}");
            let look_ups = cache.look_ups.lock();
            assert_eq!((look_ups.waiting.len(), look_ups.calls), (0, 0), "{behavior:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn members_beyond_the_bound_are_not_asked_about() {
        let (service, cache) = start();
        let count = MAX_WAITING_MEMBERS as u64 + 5;
        let found = join_all((0..count).map(|n| level(&cache, 2 * n + 1))).await;
        assert_eq!(found.iter().skip(MAX_WAITING_MEMBERS).flatten().count(), 0);
        let asked: usize = service.calls.lock().iter().map(Vec::len).sum();
        assert_eq!(asked, MAX_WAITING_MEMBERS);
    }

    #[test]
    fn friends_and_texts_are_weighed() {
        let friends = Some((1..=1_000).map(member).collect());
        let account = Account { name: Some("Ann".into()), avatar: Some(Some("/a".into())), level: None, friends };
        assert_eq!(bytes_of(&Some(Arc::new(account))), ACCOUNT_BYTES + 8_005);
        assert_eq!(bytes_of(&None), ACCOUNT_BYTES);
    }
}
