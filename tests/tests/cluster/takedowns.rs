//! A takedown is visible everywhere within seconds, also when its origin has died before it could
//! invalidate the cache.

use std::time::{Duration, Instant};

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{GailouProcess, ann, comments_on, id, ids, poll_until};
use serde_json::{Value, json};

use crate::test_bed::ClusterTestBed;

fn listed(page: &Value) -> Vec<String> {
    ids(comments_on(page))
}

/// How long a comment may be visible after its takedown: the jobs read the change feed every second.
const MAX_VISIBILITY: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn takedown_without_invalidation_is_effective_within_seconds() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (server, _job) = tokio::join!(bed.start_origin(), bed.start_job());
    // It commits to the same databases and invalidates a cache that no other process reads, as if it
    // had died between the two.
    let mut command = bed.command(&["serve", "--bind", "127.0.0.1:0"]);
    command.env("GAILOU_REDIS_URLS", format!("{}/1", bed.servers.redis));
    let isolated = GailouProcess::spawn_logging(command, bed.log_file("isolated")).await;
    let ann = ann();
    let deleted = server.post(&ann, "article/books", "deleted").await;
    let edited = server.post(&ann, "article/books", "before").await;
    let parent = server.post(&ann, "article/books", "replied to").await;
    let reply = server.reply(&ann, &parent, "reply").await;
    bed.wait_until_persisted().await;
    let list = "/v1/subjects/article/books/comments?sort=new";
    let cached = poll_until(|| server.page(list), |page| listed(page).len() == 3).await;
    assert_eq!(listed(&cached), [id(&parent), id(&edited), id(&deleted)]);
    for comment in [&deleted, &reply, &parent] {
        isolated.request(&format!("DELETE /v1/comments/{}", id(comment))).by(&ann).send().await.expect(204);
    }
    let line = format!("PATCH /v1/comments/{}", id(&edited));
    isolated.request(&line).by(&ann).json(&json!({"content": "after"})).send().await.expect(200);
    let is_taken_down = |page: &Value| listed(page) == [id(&edited)] && page["data"][0]["content"] == "after";
    let started = Instant::now();
    let page = poll_until(|| server.page(list), is_taken_down).await;
    assert!(is_taken_down(&page), "{page}");
    assert!(started.elapsed() < MAX_VISIBILITY, "the takedown took {:?}", started.elapsed());
    let shown = server.page(&format!("/v1/comments/{}", id(&deleted))).await;
    assert_eq!((&shown["state"], &shown["content"]), (&json!("deleted"), &json!("")));
}
