//! One of two databases is away: what does not need it goes on.

use std::process::Command;
use std::time::Duration;

use gailou_tests::backing_servers::{available, shared};

use gailou_tests::{ApiClient, ApiResponse, GailouProcess, TcpProxy, ann, poll_until};
use serde_json::{Value, json};

use crate::test_bed::{ClusterTestBed, clients, subjects_in};

/// A slot of the first database, and one of the second.
const SLOT_OF_EACH: [u16; 2] = [100, 900];
/// Longer than a node number is leased.
const LONGER_THAN_A_LEASE: Duration = Duration::from_secs(12);

/// A cluster whose databases and broker are reached by a proxy each.
pub(crate) struct TwoDatabases {
    pub(crate) bed: ClusterTestBed,
    pub(crate) proxies: [TcpProxy; 2],
    /// In front of the broker, for the first connection of each process.
    broker: TcpProxy,
    /// A subject in each of them.
    pub(crate) subjects: Vec<String>,
}

impl TwoDatabases {
    pub(crate) async fn create() -> Self {
        let bed = ClusterTestBed::create(shared(), &[]).await;
        let port = |url: &str| url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let [first, second] = bed.servers.databases.each_ref().map(|url| port(url));
        let proxies = [TcpProxy::start(first).await, TcpProxy::start(second).await];
        let broker = TcpProxy::start(port(&bed.servers.kafka)).await;
        Self { bed, proxies, broker, subjects: subjects_in(SLOT_OF_EACH.into_iter()) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let urls =
            self.proxies.each_ref().map(|proxy| format!("mysql://root@127.0.0.1:{}/{}", proxy.port(), self.bed.name));
        let mut command = self.bed.command(arguments);
        command.env("GAILOU_MYSQL_URLS", urls.join(","));
        command.env("GAILOU_KAFKA_BROKERS", format!("127.0.0.1:{}", self.broker.port()));
        command
    }

    pub(crate) async fn start(&self, role: &str) -> GailouProcess {
        let command = self.command(&[role, "--bind", "127.0.0.1:0"]);
        GailouProcess::spawn_logging(command, self.bed.log_file(role)).await
    }
}

async fn post(client: &ApiClient, subject: &str) -> u16 {
    let request = client.request(&format!("POST /v1/subjects/{subject}/comments"));
    request.by(&ann()).json(&json!({"content": "text"})).try_send().await.expect("an answer").status
}

/// The list of a subject in this order.
async fn list(client: &ApiClient, subject: &str, sort: &str) -> ApiResponse {
    let request = client.request(&format!("GET /v1/subjects/{subject}/comments?sort={sort}"));
    request.try_send().await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn database_away_for_longer_than_a_lease_stops_no_post_of_the_other() {
    if !available() {
        return;
    }
    let cluster = TwoDatabases::create().await;
    let origin = cluster.start("serve").await;
    let client = &clients(&[&origin])[0];
    for away in [0, 1] {
        cluster.proxies[away].cut();
        tokio::time::sleep(LONGER_THAN_A_LEASE).await;
        let subject = &cluster.subjects[1 - away];
        assert_eq!(post(client, subject).await, 201, "{subject} without database {away}");
        cluster.proxies[away].heal();
    }
}

/// Whether a reader finds a comment of this subject in its newest list.
async fn is_listed(client: &ApiClient, subject: &str) -> bool {
    let page = list(client, subject, "new").await;
    page.status == 200 && !page.json["data"].as_array().expect("a list").is_empty()
}

async fn readiness(client: &ApiClient, dependency: &str) -> Value {
    client.get("/readyz").await.json["dependencies"][dependency].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn process_starts_without_either_database_and_serves_all_when_it_is_back() {
    if !available() {
        return;
    }
    let cluster = TwoDatabases::create().await;
    // Secrets are made by the first start of an installation, which needs the first database.
    let job = cluster.start("job").await;
    let before = cluster.start("serve").await;
    for subject in &cluster.subjects {
        before.post(&ann(), subject, "before").await;
    }
    cluster.bed.wait_until_persisted().await;
    before.kill();
    for away in [1, 0] {
        cluster.proxies[away].cut();
        let origin = cluster.start("serve").await;
        let client = &clients(&[&origin])[0];
        let (missing, served) = (&cluster.subjects[away], &cluster.subjects[1 - away]);
        let posted = poll_until(|| post(client, served), |status| *status == 201).await;
        assert_eq!(posted, 201, "without database {away}");
        assert!(poll_until(|| is_listed(client, served), |listed| *listed).await, "without database {away}");
        let of_missing = list(client, missing, "old").await;
        assert!(of_missing.status == 503 || !of_missing.json["data"].as_array().expect("a list").is_empty());
        assert_eq!(readiness(client, &format!("mysql/{away}")).await, "failed");
        assert_eq!(readiness(client, &format!("mysql/{}", 1 - away)).await, "ok");
        cluster.proxies[away].heal();
        assert_eq!(poll_until(|| post(client, missing), |status| *status == 201).await, 201);
        assert!(poll_until(|| is_listed(client, missing), |listed| *listed).await, "database {away} is back");
        // The post needed the broker and Redis alone.
        let dependency = format!("mysql/{away}");
        let is_ready = || readiness(client, &dependency);
        assert_eq!(poll_until(is_ready, |ready| *ready == "ok").await, "ok");
        // A job starts without it, too.
        cluster.proxies[away].cut();
        cluster.start("job").await.kill();
        cluster.proxies[away].heal();
    }
    job.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn process_starts_without_the_broker_and_appends_when_it_is_back() {
    if !available() {
        return;
    }
    let cluster = TwoDatabases::create().await;
    cluster.start("serve").await.kill();
    cluster.broker.cut();
    let origin = cluster.start("serve").await;
    let client = &clients(&[&origin])[0];
    assert_eq!(list(client, &cluster.subjects[0], "hot").await.status, 200);
    assert_eq!(post(client, &cluster.subjects[0]).await, 503);
    assert_eq!(readiness(client, "kafka").await, "failed");
    // Comments are read all the same.
    let ready = client.get("/readyz").await.expect(200);
    assert_eq!((&ready["status"], &ready["writes"]), (&json!("degraded"), &json!("failed")));
    cluster.broker.heal();
    assert_eq!(poll_until(|| post(client, &cluster.subjects[0]), |status| *status == 201).await, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn process_without_any_database_is_ready_for_what_redis_has() {
    if !available() {
        return;
    }
    let cluster = TwoDatabases::create().await;
    let (origin, job) = tokio::join!(cluster.start("serve"), cluster.start("job"));
    let (client, subject) = (&clients(&[&origin])[0], &cluster.subjects[0]);
    assert_eq!(post(client, subject).await, 201);
    assert!(poll_until(|| is_listed(client, subject), |listed| *listed).await);
    let of_job = &clients(&[&job])[0];
    let lags = || async { of_job.get("/metrics").await.text.matches("gailou_broker_lag_records{").count() };
    assert!(poll_until(lags, |lags| *lags > 2).await > 2, "each partition of each topic has one");
    assert_eq!(
        client.metric("gailou_persist_stored_total{topic=\"comments\"}").await,
        None,
        "nothing is persisted here"
    );
    assert_eq!(of_job.metric("gailou_persist_stored_total{topic=\"comments\"}").await, Some(1.0));
    assert_eq!(of_job.metric("gailou_node_held").await, None);
    assert_eq!(client.metric("gailou_node_held").await, Some(1.0));
    cluster.proxies.iter().for_each(TcpProxy::cut);
    let ready = poll_until(|| client.get("/readyz"), |ready| ready.json["dependencies"]["mysql/1"] == "failed").await;
    let ready = ready.expect(200);
    assert_eq!((&ready["status"], &ready["writes"]), (&json!("degraded"), &json!("ok")));
    assert!(is_listed(client, subject).await, "the list is in Redis");
    // After its node number has expired it takes no new comments.
    let has_number = || client.metric("gailou_node_held");
    let expired = async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        has_number().await
    };
    tokio::time::sleep(LONGER_THAN_A_LEASE).await;
    assert_eq!(poll_until(expired, |held| *held == Some(0.0)).await, Some(0.0));
}

/// The change feed of a server, once it is as `is_expected`.
async fn changes(client: &ApiClient, is_expected: impl Fn(&Value) -> bool) -> Value {
    let answer = || client.get("/v1/edge/changes");
    let answer = poll_until(answer, |answer| answer.status == 200 && is_expected(&answer.json)).await;
    assert!(is_expected(&answer.json), "{}", answer.json);
    answer.json
}

#[tokio::test(flavor = "multi_thread")]
async fn change_feed_of_slots_goes_on_without_the_database_of_others() {
    if !available() {
        return;
    }
    let cluster = TwoDatabases::create().await;
    let (before, job) = tokio::join!(cluster.start("serve"), cluster.start("job"));
    let comment = before.post(&ann(), &cluster.subjects[1], "is deleted").await;
    cluster.bed.wait_until_persisted().await;
    job.kill();
    let all = changes(&clients(&[&before])[0], |changes| changes.get("ahead").is_none()).await;
    cluster.proxies[0].cut();
    // One that has read all, and one that starts meanwhile.
    let origins = [before, cluster.start("serve").await];
    let line = format!("/v1/comments/{}", comment["id"].as_str().expect("an id"));
    origins[0].request(&format!("DELETE {line}")).by(&ann()).send().await.expect(204);
    for client in clients(&[&origins[0], &origins[1]]) {
        let is_named = |changes: &Value| changes["rows"].as_array().is_some_and(|rows| rows.len() == 1);
        let page = changes(&client, |changes| is_named(changes) && changes.get("ahead").is_some()).await;
        assert_eq!(page["ahead"]["slots"], json!([[512, 1023]]), "{page}");
        assert!(page["ahead"]["now"].as_u64() > all["now"].as_u64(), "{page}");
        assert!(page["ahead"]["behind"].as_u64() < Some(2_000), "{page}");
        assert!(page["now"].as_u64() < page["ahead"]["now"].as_u64(), "{page}");
    }
    cluster.proxies[0].heal();
    changes(&clients(&[&origins[1]])[0], |changes| changes.get("ahead").is_none()).await;
}
