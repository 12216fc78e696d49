//! Leases of node numbers: two origins never have the same number, and an origin whose lease has
//! expired issues no ids.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use gailou::ports::store::NODE_LEASE;
use gailou_shared::id::{CommentId, IMPORT_NODE};
use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{ApiClient, ApiResponse, GailouProcess, ann, id, poll_until};
use serde_json::{Value, json};

use crate::test_bed::{ClusterTestBed, clients};

/// How long the number of a frozen origin may take to be free: its lease lasts 10 s, and nothing is leased for
/// as long after it.
const LEASE_EXPIRY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a request waits in the socket of the frozen origin.
const FROZEN_RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);
/// The pause between two queries of the lease.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a number is leased, in milliseconds.
const NODE_LEASE_MS: u64 = NODE_LEASE.as_millis() as u64;
/// A time in Unix milliseconds that no lease outlives.
const FAR_FUTURE_MS: u64 = 1 << 50;
const POST_REQUEST: &str = "POST /v1/subjects/article/ids/comments";

async fn post(client: &ApiClient) -> ApiResponse {
    client.request(POST_REQUEST).by(&ann()).json(&json!({"content": "text"})).try_send().await.expect("an answer")
}

/// The node number in the id of a comment.
fn node(comment: &Value) -> u64 {
    // Six bits, above the six bits of the sequence.
    let id: CommentId = id(comment).parse().expect("an id");
    id.get() >> 6 & 63
}

#[tokio::test(flavor = "multi_thread")]
async fn origins_on_the_same_subject_issue_unique_ids() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let servers: Vec<GailouProcess> = join_all((0..3).map(|_| bed.start_origin())).await;
    let clients = clients(&servers.iter().collect::<Vec<_>>());
    let answers: Vec<_> = stream::iter(0..600).map(|n| post(&clients[n % 3])).buffer_unordered(60).collect().await;
    // A busy server does not know in time what became of some.
    let answers = answers.into_iter().filter(|answer| answer.status != 503);
    let posts: Vec<Value> = answers.map(|answer| answer.expect(201)).collect();
    assert!(posts.len() > 300, "{} of 600 were acknowledged", posts.len());
    assert_eq!(posts.iter().map(id).collect::<BTreeSet<_>>().len(), posts.len());
    assert_eq!(posts.iter().map(node).collect::<BTreeSet<_>>().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn origin_with_an_expired_lease_answers_503_until_it_has_another_number() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let mut sleeper = bed.start_origin().await;
    let own = node(&post(&sleeper).await.expect(201));
    // All other numbers are taken.
    for database in [0, 1] {
        bed.sql(database, &format!("UPDATE node SET holder = 'x', expires_at = {FAR_FUTURE_MS} WHERE node <> {own}"));
    }
    assert_eq!(bed.count("FROM node WHERE holder = 'x'"), 62);
    sleeper.process().freeze();
    // These requests wait in the socket of the frozen origin.
    let client = clients(&[&sleeper])[0].clone();
    let waiting = tokio::spawn({
        let client = ApiClient::with_timeout(client.base().to_owned(), FROZEN_RESPONSE_TIMEOUT);
        async move { join_all((0..20).map(|_| post(&client))).await }
    });
    // No number is free while the lease of the frozen origin runs.
    let free = format!("FROM node WHERE expires_at + {NODE_LEASE_MS} <= UNIX_TIMESTAMP(NOW(3)) * 1000");
    assert_eq!(bed.count(&free), 0, "the lease expired at once");
    let started = Instant::now();
    while bed.count(&free) == 0 {
        assert!(started.elapsed() < LEASE_EXPIRY_TIMEOUT, "the lease does not expire");
        tokio::time::sleep(LEASE_POLL_INTERVAL).await;
    }
    let heir = bed.start_origin().await;
    assert_eq!(node(&post(&heir).await.expect(201)), own);
    sleeper.process().resume();
    for answer in waiting.await.expect("responses") {
        assert_eq!((answer.status, &answer.json["code"]), (503, &json!("unavailable")), "{}", answer.text);
        assert!(!answer.header("retry-after").is_empty());
    }
    assert_eq!(post(&sleeper).await.status, 503);
    // Reads still work, and writes work again when a number is free.
    sleeper.get("/v1/subjects/article/ids/comments").await.expect(200);
    let other = (own + 5) % IMPORT_NODE;
    for database in [0, 1] {
        bed.sql(database, &format!("UPDATE node SET holder = '', expires_at = 0 WHERE node = {other}"));
    }
    let posted = poll_until(|| post(&client), |answer| answer.status == 201).await;
    assert_eq!(node(&posted.expect(201)), other);
    assert_eq!(node(&post(&heir).await.expect(201)), own);
}
