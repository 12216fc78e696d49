//! Rates of a cluster: one limit over all processes, and each process by itself while Redis is away.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gailou_tests::backing_servers::{ServerAddresses, available, shared};
use gailou_tests::{ApiResponse, TcpProxy, TestMember, TestOrigin, member, poll_until};
use serde_json::json;

/// The default limit of posts, and the time in which it admits one more.
const POSTS_PER_MINUTE: usize = 5;
const POST_INTERVAL: Duration = Duration::from_secs(12);
/// A request must not wait for a Redis that is away.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(5);

/// Two origins with limits, and the proxy by which both reach Redis.
async fn start_two_behind_proxy() -> (TestOrigin, TestOrigin, TcpProxy) {
    let servers = shared();
    let port = servers.redis.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
    let proxy = TcpProxy::start(port).await;
    let addresses = ServerAddresses { redis: format!("redis://127.0.0.1:{}", proxy.port()), ..servers.clone() };
    let one = TestOrigin::start_on(&addresses, |config| config.adjustable.limits.enabled = true).await;
    let other = one.start_second().await;
    (one, other, proxy)
}

/// Sends one post, once: a client that repeats a refusal would be counted again.
async fn post(origin: &TestOrigin, by: &TestMember) -> ApiResponse {
    let began = Instant::now();
    let request = origin.request("POST /v1/subjects/article/rates/comments").by(by).json(&json!({"content": "x"}));
    let answer = request.try_send().await.expect("the server responds");
    assert!([201, 429, 503].contains(&answer.status), "{}", answer.text);
    assert!(began.elapsed() < MAX_RESPONSE_TIME, "{} took {:?}", answer.text, began.elapsed());
    answer
}

/// How many requests the processes of this test have counted by themselves, because Redis did not answer in time.
async fn count_unshared(origin: &TestOrigin) -> usize {
    origin.metric("gailou_rate_limits_unshared_total").await.expect("the metric") as usize
}

/// Sends this many posts to the origins in turn; how many were not limited, and how many may not have been.
async fn count_admitted(origins: &[&TestOrigin], by: &TestMember, posts: usize) -> (usize, usize) {
    let (began, mut admitted) = (Instant::now(), 0);
    for n in 0..posts {
        let answer = post(origins[n % origins.len()], by).await;
        if answer.status == 429 {
            assert_eq!(answer.header("ratelimit-policy"), r#""posts-member";q=5;w=60"#);
            assert!((1..=12).contains(&answer.header("retry-after").parse().expect("seconds")), "{:?}", answer.headers);
        } else {
            admitted += 1;
        }
    }
    let most = POSTS_PER_MINUTE + (began.elapsed().as_millis() / POST_INTERVAL.as_millis()) as usize;
    (admitted, most)
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_counts_all_processes_and_each_by_itself_without_redis() {
    if !available() {
        return;
    }
    let (one, other, proxy) = start_two_behind_proxy().await;
    let next = AtomicU64::new(10);
    let post_in_turn = || async {
        let before = count_unshared(&one).await;
        let by = member(next.fetch_add(1, Ordering::Relaxed));
        let counts = count_admitted(&[&one, &other], &by, 14).await;
        (counts, count_unshared(&one).await - before)
    };
    // On a busy machine Redis may answer too late: the law is of posts that it has counted.
    let ((admitted, most), unshared) = poll_until(post_in_turn, |(_, unshared)| *unshared == 0).await;
    assert_eq!(unshared, 0, "Redis never counted every post");
    assert!((POSTS_PER_MINUTE..=most).contains(&admitted), "{admitted} of at most {most} posts of one member");
    // Without Redis each process has a limit, and writes go on.
    proxy.cut();
    for origin in [&one, &other] {
        let (admitted, most) = count_admitted(&[origin], &member(3), 12).await;
        assert!((POSTS_PER_MINUTE..=most).contains(&admitted), "{admitted} of at most {most} posts without Redis");
    }
    one.post(&member(4), "article/rates", "x").await;
    proxy.heal();
}
