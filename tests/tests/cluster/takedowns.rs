//! What was taken down is not on show anywhere, also when its server told nobody.

use std::time::Duration;

use gailou_tests::services::{available, shared};
use gailou_tests::{Client, Program, id, ids, until, who};
use serde_json::{Value, json};

use crate::world::World;

fn listed(page: &Value) -> Vec<String> {
    ids(page["data"].as_array().expect("a page"))
}

/// How long anything that was taken down may be seen.
const AT_MOST: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_took_down_and_told_nobody_is_gone_within_seconds() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[]).await;
    let (server, _job) = tokio::join!(world.serve(), world.job());
    // It commits where the others do and tells a cache that nobody reads: as if it died in between.
    let mut command = world.command(&["serve", "--bind", "127.0.0.1:0"]);
    command.env("GAILOU_REDIS_URLS", format!("{}/1", world.servers.redis));
    let mute = Program::spawn_logging(command, world.sink("mute")).await;
    let ann = who(7, "Ann", "member");
    let deleted = server.post(&ann, "article/books", "deleted").await;
    let edited = server.post(&ann, "article/books", "before").await;
    let answered = server.post(&ann, "article/books", "answered").await;
    let answer = server.reply(&ann, &answered, "answer").await;
    world.settle().await;
    let list = "/v1/subjects/article/books/comments?sort=new";
    let cached = until(|| server.page(list), |page| listed(page).len() == 3).await;
    assert_eq!(listed(&cached), [id(&answered), id(&edited), id(&deleted)]);
    for comment in [&deleted, &answer, &answered] {
        mute.call(&format!("DELETE /v1/comments/{}", id(comment))).by(&ann).send().await.expect(204);
    }
    let line = format!("PATCH /v1/comments/{}", id(&edited));
    mute.call(&line).by(&ann).json(&json!({"content": "after"})).send().await.expect(200);
    let right = |page: &Value| listed(page) == [id(&edited)] && page["data"][0]["content"] == "after";
    let begun = std::time::Instant::now();
    let page = until(|| server.page(list), right).await;
    assert!(right(&page), "{page}");
    assert!(begun.elapsed() < AT_MOST, "it took {:?}", begun.elapsed());
    let comments: &Client = &server;
    let shown = comments.page(&format!("/v1/comments/{}", id(&deleted))).await;
    assert_eq!((&shown["state"], &shown["content"]), (&json!("deleted"), &json!("")));
}
