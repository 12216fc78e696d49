//! The program is killed while it moves what a guest has left: the next one goes on, and nothing is lost or counted
//! twice.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{ApiClient, GailouProcess, ann, bob, comments_path, id, ids, poll_until};
use rand::Rng as _;
use serde_json::{Value, json};

use super::run_on;

const COMMENT_COUNT: usize = 3_000;
const LIKE_COUNT: usize = 300;
const CONCURRENT_REQUESTS: usize = 32;
/// How often the server is killed.
const KILL_COUNT: usize = 3;

/// Runs a request for each number, and answers what they made.
async fn for_each<F: Future<Output = String>>(count: usize, request: impl Fn(usize) -> F) -> Vec<String> {
    let mut made: Vec<String> =
        stream::iter(0..count).map(request).buffer_unordered(CONCURRENT_REQUESTS).collect().await;
    made.sort_unstable();
    made
}

async fn export(client: &ApiClient) -> Value {
    client.request("GET /v1/me/export").by(&ann()).send().await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_of_thousands_of_comments_survives_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let server = GailouProcess::start(directory.path()).await;
    let guest = server.register_guest("Gus").await;
    let liked = for_each(LIKE_COUNT, |n| {
        let (server, guest) = (&server, &guest);
        async move {
            let comment = server.post(&bob(), "article/liked", &format!("{n}")).await;
            server.like(guest, &comment).await;
            id(&comment).to_owned()
        }
    });
    let liked = liked.await;
    let comments = for_each(COMMENT_COUNT, |n| {
        let (server, guest) = (&server, &guest);
        async move { id(&server.post(guest, &format!("article/{}", n % 50), &format!("{n}")).await).to_owned() }
    });
    let comments = comments.await;
    // Killed in the middle of the request, and then of the job.
    let body = json!({"guest_token": guest.token});
    let mut server = Some(server);
    let mut moved_before = 0;
    for _ in 0..KILL_COUNT {
        let running = server.take().unwrap();
        let client = (*running).clone();
        let moment = Duration::from_millis(rand::rng().random_range(30..300));
        let killed = async {
            tokio::time::sleep(moment).await;
            running.kill();
        };
        // The answer is lost, or the guest is merged already.
        let (_, _) = tokio::join!(client.request("POST /v1/me/merge").by(&ann()).json(&body).try_send(), killed);
        let next = GailouProcess::start(directory.path()).await;
        let moved = export(&next).await["comments"].as_array().unwrap().len();
        assert!(moved >= moved_before, "{moved} after {moved_before}");
        moved_before = moved;
        server = Some(next);
    }
    let server = server.unwrap();
    server.request("POST /v1/me/merge").by(&ann()).json(&body).send().await.expect(200);
    assert_eq!(server.request("GET /v1/me").by(&guest).send().await.status, 401);
    let all = |data: &Value| {
        let count = |list: &str| data[list].as_array().map_or(0, Vec::len);
        (count("comments"), count("reactions")) == (COMMENT_COUNT, LIKE_COUNT)
    };
    let data = poll_until(|| export(&server), all).await;
    let mut found = ids(data["comments"].as_array().unwrap());
    found.sort_unstable();
    assert_eq!(found, comments);
    let mut found: Vec<_> =
        data["reactions"].as_array().unwrap().iter().map(|r| r["comment_id"].as_str().unwrap().to_owned()).collect();
    found.sort_unstable();
    assert_eq!(found, liked);
    let shown = server.walk(&format!("{}?sort=old&limit=100", comments_path("article/liked"))).await;
    assert!(shown.iter().all(|comment| comment["likes"] == 1), "{shown:?}");
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    let output = run_on(directory.path(), &["reconcile"]).await;
    assert_eq!(output.code, Some(0), "{} {}", output.stdout, output.stderr);
}
