//! The jobs stand still: what was acknowledged is found and can be answered and liked, what cannot be changed
//! yet is a 503, and nothing of it is ever a 404.

use std::time::Duration;

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{ApiRequest, ApiResponse, GailouProcess, ann, bob, comments_path, id, ids, moderator, poll_until};
use serde_json::{Value, json};

use crate::test_bed::ClusterTestBed;

const TEST_SUBJECT: &str = "article/behind";
/// How long the jobs stand still: longer than any cache serves a value, and than a group waits for a member.
const LONG_FREEZE: Duration = Duration::from_secs(65);
/// Until a page of an answer is not kept by an origin any more.
const PAGE_EXPIRY: Duration = Duration::from_millis(600);

async fn send(request: ApiRequest) -> ApiResponse {
    request.try_send().await.expect("a response")
}

/// The responses to everything that is done with one comment by its id.
async fn use_comment(origin: &GailouProcess, comment: &Value) -> Vec<(&'static str, ApiResponse)> {
    let path = format!("/v1/comments/{}", id(comment));
    let reply = origin.request(&format!("POST {}", comments_path(TEST_SUBJECT))).by(&bob());
    let reply = reply.json(&json!({"content": "reply", "parent_id": id(comment)}));
    vec![
        ("read", send(origin.request(&format!("GET {path}"))).await),
        ("permalink", send(origin.request(&format!("GET {path}/context"))).await),
        ("reply", send(reply).await),
        ("like", send(origin.request(&format!("PUT {path}/like")).by(&bob())).await),
    ]
}

/// The responses to every change of one comment.
async fn change_comment(origin: &GailouProcess, comment: &Value) -> Vec<(&'static str, ApiResponse)> {
    let path = format!("/v1/comments/{}", id(comment));
    let edit = origin.request(&format!("PATCH {path}")).by(&ann()).json(&json!({"content": "edited"}));
    let decision = origin.request(&format!("POST /v1/admin/comments/{}/decision", id(comment))).by(&moderator());
    vec![
        ("edit", send(edit).await),
        ("deletion", send(origin.request(&format!("DELETE {path}")).by(&ann())).await),
        ("decision", send(decision.json(&json!({"action": "hide"}))).await),
    ]
}

fn assert_all(responses: Vec<(&'static str, ApiResponse)>, is_right: impl Fn(u16) -> bool) {
    for (name, response) in responses {
        assert!(is_right(response.status), "{name}: {} {}", response.status, response.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_comment_is_never_404_while_the_jobs_stand_still() {
    if available() {
        use_comment_while_the_jobs_stand_still(Duration::ZERO).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "waits for more than a minute: `make chaos` runs it"]
async fn acknowledged_comment_is_never_404_a_minute_later() {
    if available() {
        use_comment_while_the_jobs_stand_still(LONG_FREEZE).await;
    }
}

/// Posts a comment while the jobs stand still, and uses it after this time.
async fn use_comment_while_the_jobs_stand_still(age: Duration) {
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 20)]).await;
    let (origin, other, mut job) = bed.start_all().await;
    bed.wait_for_jobs(&origin).await;
    let stored = origin.post(&ann(), TEST_SUBJECT, "stored").await;
    bed.wait_until_persisted().await;
    job.process().freeze();
    // A new origin may find its servers slow at first, and leaves them alone for a moment.
    let post = || {
        let post = origin.request(&format!("POST {}", comments_path(TEST_SUBJECT))).by(&ann());
        send(post.idempotency_key("acknowledged").json(&json!({"content": "acknowledged"})))
    };
    let comment = poll_until(post, |posted| posted.status == 201).await.expect(201);
    let read = || send(other.request(&format!("GET /v1/comments/{}", id(&comment))));
    poll_until(read, |read| read.status == 200).await.expect(200);
    tokio::time::sleep(age).await;
    assert_all(use_comment(&other, &comment).await, |status| matches!(status, 200 | 201));
    let own = other.overlay(&ann(), &[id(&comment)]).await;
    assert_eq!(ids(own["pending"].as_array().expect("a list")), [id(&comment)]);
    let refused = change_comment(&other, &comment).await;
    assert!(refused[1].1.text.contains("nothing was changed"), "{}", refused[1].1.text);
    assert_all(refused, |status| status == 503);
    // Redis loses it. Whether it exists is not known until the jobs go on.
    bed.delete_redis_keys().await;
    tokio::time::sleep(PAGE_EXPIRY).await;
    for origin in [&origin, &other] {
        assert_all(use_comment(origin, &comment).await, |status| status == 503);
    }
    assert_all(change_comment(&other, &comment).await, |status| status == 503);
    // What is stored is as before.
    other.edit(&ann(), &stored, "edited").await.expect(200);
    job.process().resume();
    bed.wait_until_persisted().await;
    let path = format!("/v1/comments/{}", id(&comment));
    let is_whole = |c: &Value| c["likes"] == 1 && c["replies"] == 1;
    let found = poll_until(|| origin.page(&path), is_whole).await;
    assert!(is_whole(&found), "{found}");
    assert_eq!(found["content"], "acknowledged", "what was refused was not done");
    // An id that was never given out is missing again, at once or when the tables have caught up.
    let forged = (id(&comment).parse::<u64>().expect("a number") + 1).to_string();
    assert_eq!(other.get(&format!("/v1/comments/{forged}")).await.status, 404);
    other.delete(&ann(), &comment).await.expect(204);
    let deleted = poll_until(|| origin.page(&path), |c| c["state"] == "deleted").await;
    assert_eq!((&deleted["state"], &deleted["content"]), (&json!("deleted"), &json!("")));
    let page = origin.page(&format!("{}?sort=new", comments_path(TEST_SUBJECT))).await;
    assert!(!page.to_string().contains("acknowledged"), "{page}");
    bed.check_consistency().await;
}
