//! Node numbers: two servers never have the same one, and one that slept issues nothing by it.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, IMPORT_NODE};
use gailou_tests::services::{available, shared};
use gailou_tests::{Answer, Client, Program, id, until, who};
use serde_json::{Value, json};

use crate::world::{World, clients};

const LINE: &str = "POST /v1/subjects/article/ids/comments";

async fn post(client: &Client) -> Answer {
    let by = who(7, "Ann", "member");
    client.call(LINE).by(&by).json(&json!({"content": "text"})).attempt().await.expect("an answer")
}

fn node(comment: &Value) -> u64 {
    // 6 bits of node above 6 of sequence.
    let id: CommentId = id(comment).parse().expect("an id");
    id.get() >> 6 & 63
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_on_the_same_subject_issue_no_id_twice() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[]).await;
    let servers: Vec<Program> = join_all((0..3).map(|_| world.serve())).await;
    let clients = clients(&servers.iter().collect::<Vec<_>>());
    let posts = join_all((0..600).map(|n| post(&clients[n % 3]))).await;
    let posts: Vec<Value> = posts.into_iter().map(|answer| answer.expect(201)).collect();
    assert_eq!(posts.iter().map(id).collect::<BTreeSet<_>>().len(), posts.len());
    assert_eq!(posts.iter().map(node).collect::<BTreeSet<_>>().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_slept_past_its_lease_issues_nothing_until_it_has_another() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[]).await;
    let [first, _] = world.databases();
    let mut sleeper = world.serve().await;
    let own = node(&post(&sleeper).await.expect(201));
    let for_ever = 1_u64 << 50;
    let take = format!("UPDATE {first}.node SET holder = 'x', expires_at = {for_ever} WHERE node <> {own}");
    world.servers.sql(&take);
    assert_eq!(world.servers.sql(&format!("SELECT COUNT(*) FROM {first}.node WHERE holder = 'x'")).trim(), "62");
    sleeper.process().freeze();
    // These wait in its socket until it wakes.
    let asleep = clients(&[&sleeper])[0].clone();
    let waiting = tokio::spawn({
        let asleep = Client::patient(asleep.base().to_owned(), Duration::from_secs(40));
        async move { join_all((0..20).map(|_| post(&asleep))).await }
    });
    let begun = std::time::Instant::now();
    let heir = loop {
        // As long as the lease runs, nobody else can have the number.
        let free = format!("SELECT COUNT(*) FROM {first}.node WHERE expires_at <= UNIX_TIMESTAMP(NOW(3)) * 1000");
        if world.servers.sql(&free).trim() == "1" {
            break world.serve().await;
        }
        assert!(begun.elapsed() < Duration::from_secs(15), "its lease does not end");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(begun.elapsed() > Duration::from_secs(5), "its lease was over at once");
    assert_eq!(node(&post(&heir).await.expect(201)), own);
    sleeper.process().wake();
    for answer in waiting.await.expect("answers") {
        assert_eq!((answer.status, &answer.json["code"]), (503, &json!("unavailable")), "{}", answer.text);
        assert!(!answer.header("retry-after").is_empty());
    }
    assert_eq!(post(&sleeper).await.status, 503);
    // It reads on, and has a number again when there is one.
    sleeper.get("/v1/subjects/article/ids/comments").await.expect(200);
    let other = (own + 5) % IMPORT_NODE;
    world.servers.sql(&format!("UPDATE {first}.node SET holder = '', expires_at = 0 WHERE node = {other}"));
    let posted = until(|| post(&asleep), |answer| answer.status == 201).await;
    assert_eq!(node(&posted.expect(201)), other);
    assert_eq!(node(&post(&heir).await.expect(201)), own);
}
