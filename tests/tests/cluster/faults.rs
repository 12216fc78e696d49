//! One server after the other fails: what is acknowledged stays, and what cannot be promised is
//! refused with a 503.

use std::time::{Duration, Instant};

use gailou_tests::backing_servers::{BackingServers, ServerAddresses, ServerKind, available, free_port};
use gailou_tests::{
    ApiRequest, ApiResponse, TcpProxy, TestMember, TestOrigin, comments_path, id, ids, member, poll_until,
};
use serde_json::{Value, json};

const TEST_SUBJECT: &str = "article/faults";
const LIST_PATH: &str = "/v1/subjects/article/faults/comments?sort=old";
/// No response may take longer, whatever has failed: every limit of the origin is shorter.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(6);

/// Until a list that was read is in the cache.
const TIME_TO_FILL_A_LIST: Duration = Duration::from_secs(2);
/// How long a response takes at most that waits for no server.
const MAX_TIME_OF_A_REFUSAL: Duration = Duration::from_millis(400);

/// An origin that reaches its servers through proxies only.
struct FaultTestBed {
    servers: BackingServers,
    databases: [TcpProxy; 2],
    redis: TcpProxy,
    kafka: TcpProxy,
    origin: TestOrigin,
    comment: Value,
}

fn reader(n: u64) -> TestMember {
    member(100 + n)
}

impl FaultTestBed {
    async fn start() -> Self {
        let advertised = free_port();
        let servers = BackingServers::start_advertising(Some(advertised)).await;
        let databases = [TcpProxy::start(servers.mariadb.port()).await, TcpProxy::start(servers.mysql.port()).await];
        let redis = TcpProxy::start(servers.redis.port()).await;
        let kafka = TcpProxy::start_on(advertised, servers.kafka.port()).await;
        let proxied = ServerAddresses::local(|kind| match kind {
            ServerKind::Mariadb => databases[0].port(),
            ServerKind::Mysql => databases[1].port(),
            ServerKind::Redis => redis.port(),
            ServerKind::Kafka => kafka.port(),
        });
        let origin = TestOrigin::start_on(&proxied, |_| {}).await;
        let comment = origin.post(&reader(0), TEST_SUBJECT, "first").await;
        for n in 0..5 {
            origin.like(&reader(n), &comment).await;
        }
        origin.wait_until_persisted().await;
        Self { servers, databases, redis, kafka, origin, comment }
    }

    fn like(&self, n: u64) -> ApiRequest {
        self.origin.request(&format!("PUT /v1/comments/{}/like", id(&self.comment))).by(&reader(n))
    }

    fn post(&self, key: &str) -> ApiRequest {
        let line = format!("POST {}", comments_path(TEST_SUBJECT));
        self.origin.request(&line).by(&reader(0)).idempotency_key(key).json(&json!({"content": key}))
    }

    /// Polls the list until it has this text; how often it has it.
    async fn count_in_list(&self, text: &str) -> usize {
        let count = |page: &Value| {
            page["data"].as_array().map_or(0, |data| data.iter().filter(|c| c["content"] == text).count())
        };
        count(&poll_until(|| self.origin.page(LIST_PATH), |page| count(page) > 0).await)
    }
}

/// Sends the request and checks the time of the response.
async fn send(request: ApiRequest) -> ApiResponse {
    let started = Instant::now();
    let response = request.try_send().await.expect("a response");
    assert!(started.elapsed() < MAX_RESPONSE_TIME, "{} took {:?}", response.text, started.elapsed());
    response
}

/// Repeats the request until it succeeds: the origin notices a little later that a server is back.
async fn send_until_accepted(request: impl Fn() -> ApiRequest) -> ApiResponse {
    poll_until(|| send(request()), |response| response.status < 300).await
}

/// Repeats the request until it is refused at once: the server is known not to answer.
async fn send_until_refused_at_once(request: impl Fn() -> ApiRequest) -> ApiResponse {
    let timed = async || {
        let started = Instant::now();
        (send(request()).await, started.elapsed())
    };
    let (refused, took) = poll_until(timed, |(_, took)| *took < MAX_TIME_OF_A_REFUSAL).await;
    assert!(took < MAX_TIME_OF_A_REFUSAL && refused.status == 503, "{took:?}: {} {}", refused.status, refused.text);
    assert!(!refused.header("retry-after").is_empty());
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_reads_and_counts_come_from_rows() {
    if !available() {
        return;
    }
    let mut bed = FaultTestBed::start().await;
    bed.servers.redis.kill();
    let liked = send_until_accepted(|| bed.like(5)).await.expect(200);
    assert_eq!((&liked["likes"], &liked["reaction"]), (&json!(6), &json!("like")));
    send_until_accepted(|| bed.post("without")).await.expect(201);
    assert_eq!(bed.count_in_list("without").await, 1);
    assert_eq!(bed.origin.poll_comment(&bed.comment, |c| c["likes"] == 6).await["likes"], 6);
    // Redis comes back empty: no count goes back, and removing a like works.
    tokio::task::block_in_place(|| bed.servers.redis.start());
    assert_eq!(send_until_accepted(|| bed.like(6)).await.expect(200)["likes"], 7);
    assert_eq!(send_until_accepted(|| bed.like(0)).await.expect(200)["likes"], 7, "the member liked it before");
    let removed = bed.origin.set_flag(&reader(0), "DELETE", id(&bed.comment), "like").await.expect(200);
    assert_eq!((&removed["likes"], &removed["reaction"]), (&json!(6), &json!(null)));
    // A server that hangs is noticed, too.
    bed.redis.hang();
    assert_eq!(send_until_accepted(|| bed.like(7)).await.expect(200)["likes"], 7);
    assert_eq!(bed.origin.without_barrier().page(LIST_PATH).await["data"][0]["id"], bed.comment["id"]);
    bed.redis.heal();
    assert_eq!(send_until_accepted(|| bed.like(8)).await.expect(200)["likes"], 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_kafka_writes_are_503_and_reads_work() {
    if !available() {
        return;
    }
    let bed = FaultTestBed::start().await;
    for hangs in [false, true] {
        let key = format!("hang-{hangs}");
        if hangs {
            bed.kafka.hang();
        } else {
            bed.kafka.cut();
        }
        for request in [bed.post(&key), bed.like(5)] {
            let refused = send(request).await;
            assert_eq!((refused.status, &refused.json["code"]), (503, &json!("unavailable")), "{}", refused.text);
            assert!(!refused.header("retry-after").is_empty());
        }
        let read = send(bed.origin.without_barrier().request(&format!("GET {LIST_PATH}"))).await;
        assert_eq!(read.status, 200, "{}", read.text);
        let refused = send_until_refused_at_once(|| bed.post(&key)).await;
        assert!(refused.text.contains("nothing was written"), "{}", refused.text);
        bed.kafka.heal();
        send_until_accepted(|| bed.post(&key)).await.expect(201);
        assert_eq!(bed.count_in_list(&key).await, 1, "the request was repeated with the same key");
    }
    assert_eq!(send_until_accepted(|| bed.like(5)).await.expect(200)["likes"], 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_databases_reads_come_from_caches() {
    if !available() {
        return;
    }
    let bed = FaultTestBed::start().await;
    let path = format!("GET /v1/comments/{}", id(&bed.comment));
    send(bed.origin.request(&path)).await.expect(200);
    // The default list is read once, and the job puts it into the cache.
    let list = format!("GET {}", comments_path(TEST_SUBJECT));
    send(bed.origin.request(&list)).await.expect(200);
    tokio::time::sleep(TIME_TO_FILL_A_LIST).await;
    let mut sent = Vec::new();
    for (n, hangs) in [false, true].into_iter().enumerate() {
        bed.databases.iter().for_each(|proxy| if hangs { proxy.hang() } else { proxy.cut() });
        send(bed.origin.without_barrier().request(&path)).await.expect(200);
        let page = send(bed.origin.without_barrier().request(&list)).await.expect(200);
        assert!(ids(page["data"].as_array().expect("comments")).contains(&id(&bed.comment).to_owned()), "{page}");
        let key = format!("down-{n}");
        let response = send(bed.post(&key)).await;
        assert!(matches!(response.status, 201 | 503), "{}", response.text);
        sent.push(key);
        send_until_refused_at_once(|| bed.origin.without_barrier().request("GET /v1/members/7/comments")).await;
        bed.databases.iter().for_each(TcpProxy::heal);
    }
    // Acknowledged posts become rows, others can be repeated, and there are no dead letters.
    for key in &sent {
        send_until_accepted(|| bed.post(key)).await.expect(201);
        assert_eq!(bed.count_in_list(key).await, 1);
    }
    let broker = bed.origin.app.broker().expect("a broker");
    for &topic in gailou::ports::broker::Topic::ALL {
        assert!(broker.list_dead_letters(topic).await.expect("dead letters").is_empty(), "{topic:?}");
    }
}
