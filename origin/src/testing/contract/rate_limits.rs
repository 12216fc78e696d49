//! The contract of the counts behind rate limits, on every adapter.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use gailou_shared::id::MemberId;

use crate::adapters::memory::rate_limits::MemoryRateCounters;
use crate::ports::rate_limits::{RateCheck, RateCountError, RateCounters, RateKey, RateLimited, RatePolicy};

const ONE_HOUR: Duration = Duration::from_secs(3_600);
/// More than any adapter needs to admit the next request of a short window.
const MAX_RECOVERY: Duration = Duration::from_secs(20);

fn check(name: &'static str, count: u32, window: Duration, key: RateKey) -> RateCheck {
    RateCheck { policy: RatePolicy::new(name, count, window).unwrap(), key }
}

fn by_member(name: &'static str, count: u32, member: u64) -> RateCheck {
    check(name, count, ONE_HOUR, RateKey::Member(MemberId::guest(member)))
}

/// What refuses the request, if anything does.
async fn refusal(counters: &dyn RateCounters, checks: &[RateCheck]) -> Option<RateLimited> {
    match counters.count(checks).await {
        Ok(()) => None,
        Err(RateCountError::Limited(limited)) => Some(limited),
        Err(RateCountError::Unavailable(failure)) => panic!("{failure}"),
    }
}

async fn check_rate_counters(counters: &dyn RateCounters) {
    let (ann, network) = (by_member("posts", 3, 1), IpAddr::from([192, 0, 2, 1]));
    for _ in 0..3 {
        assert_eq!(refusal(counters, std::slice::from_ref(&ann)).await, None);
    }
    let limited = refusal(counters, std::slice::from_ref(&ann)).await.expect("the limit is used up");
    assert_eq!(limited.policy, ann.policy);
    assert!((1_100..=1_201).contains(&limited.retry_after.as_secs()), "{limited:?}");
    // Other keys and other limits have counts of their own.
    let other_key = check("posts", 3, ONE_HOUR, RateKey::Network(network));
    assert_eq!(refusal(counters, &[by_member("posts", 3, 2), by_member("likes", 3, 1), other_key]).await, None);
    // The first limit that refuses is named.
    let narrow = by_member("edits", 9, 1);
    let checks = [narrow, ann.clone(), by_member("likes", 3, 1)];
    assert_eq!(refusal(counters, &checks).await.map(|limited| limited.policy), Some(ann.policy));
    assert_eq!(refusal(counters, &[]).await, None);
    // Refused requests do not delay the next that is admitted.
    let short = check("short", 2, Duration::from_millis(400), RateKey::Process);
    let mut refused = 0;
    for _ in 0..2 {
        assert_eq!(refusal(counters, std::slice::from_ref(&short)).await, None);
    }
    let began = Instant::now();
    while refusal(counters, std::slice::from_ref(&short)).await.is_some() {
        refused += 1;
        assert!(began.elapsed() < MAX_RECOVERY, "still refused after {refused} attempts");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(refused > 0 && began.elapsed() > Duration::from_millis(100), "{refused} in {:?}", began.elapsed());
}

#[tokio::test]
async fn contract_holds_in_memory() {
    let counters = MemoryRateCounters::default();
    check_rate_counters(&counters).await;
    counters.forget_idle();
    assert!(refusal(&counters, &[by_member("posts", 3, 1)]).await.is_some(), "only idle keys are forgotten");
}

#[cfg(feature = "cluster")]
mod redis {
    use futures_util::future::join_all;

    use super::*;
    use crate::adapters::redis::RedisConnection;
    use crate::adapters::redis::rate_limits::RedisRateCounters;
    use crate::testing::redis_server::RedisServer;

    /// The counters of two processes.
    async fn two_processes(server: &RedisServer) -> (RedisConnection, [RedisRateCounters; 2]) {
        let open = async || RedisConnection::open(&server.urls(), None).await.unwrap();
        let (one, other) = (open().await, open().await);
        let counters = [one.clone(), other].map(|connection| RedisRateCounters::new(connection, "t", &[7; 32]));
        (one, counters)
    }

    async fn query<T: ::redis::FromRedisValue>(connection: &RedisConnection, words: &[&str]) -> T {
        let mut command = ::redis::cmd(words[0]);
        command.arg(&words[1..]);
        connection.query("test", words.get(1).unwrap_or(&""), &command).await.unwrap()
    }

    #[tokio::test]
    async fn contract_holds_in_redis() {
        let Some(server) = RedisServer::start().await else { return };
        let (_, [counters, _]) = two_processes(&server).await;
        check_rate_counters(&counters).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn counts_of_all_processes_are_exact() {
        let Some(server) = RedisServer::start().await else { return };
        let (_, processes) = two_processes(&server).await;
        let checks = [by_member("posts", 10, 1), by_member("all", 1_000, 1)];
        let requests = (0..100).map(|n| refusal(&processes[n % 2], &checks));
        let refused = join_all(requests).await.into_iter().flatten().count();
        assert_eq!(refused, 90);
        // The other limit admits what is left: refused requests did not count against it.
        let others = join_all((0..1_000).map(|n| refusal(&processes[n % 2], &checks[1..]))).await;
        assert_eq!(others.into_iter().flatten().count(), 10);
    }

    #[tokio::test]
    async fn keys_expire_and_hold_no_address() {
        let Some(server) = RedisServer::start().await else { return };
        let (connection, [counters, _]) = two_processes(&server).await;
        let network = RateKey::Network(IpAddr::from([192, 0, 2, 1]));
        let guests = check("guests", 4, ONE_HOUR, network);
        for _ in 0..2 {
            assert_eq!(refusal(&counters, std::slice::from_ref(&guests)).await, None);
        }
        let keys: Vec<String> = query(&connection, &["KEYS", "*"]).await;
        let [key] = &keys[..] else { panic!("{keys:?}") };
        assert!(key.starts_with("{t:rate:") && !key.contains("192") && !key.contains("guests"), "{key}");
        let ttl: u64 = query(&connection, &["PTTL", key]).await;
        assert!((1_790_000..=1_800_000).contains(&ttl), "two of four requests are paid off in half an hour: {ttl} ms");
        // A master whose clock is behind refuses no longer than for the whole limit.
        query::<()>(&connection, &["SET", key, "9007199254740991"]).await;
        let limited = refusal(&counters, std::slice::from_ref(&guests)).await.expect("a refusal");
        assert!(limited.retry_after <= Duration::from_secs(901), "{limited:?}");
    }

    #[tokio::test]
    async fn server_that_hangs_delays_only_the_first_requests() {
        let Some(server) = RedisServer::start().await else { return };
        let (_, [counters, _]) = two_processes(&server).await;
        let checks = [by_member("posts", 3, 1)];
        assert_eq!(refusal(&counters, &checks).await, None);
        server.signal("STOP");
        let began = Instant::now();
        for failed in join_all((0..10).map(|_| counters.count(&checks))).await {
            assert!(matches!(failed, Err(RateCountError::Unavailable(_))), "{failed:?}");
        }
        assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
        // The calls go on in the background and open the breaker when they fail.
        tokio::time::sleep(crate::adapters::redis::REDIS_TIMEOUT).await;
        let began = Instant::now();
        for _ in 0..100 {
            assert!(counters.count(&checks).await.is_err());
        }
        assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
        server.signal("CONT");
    }
}
