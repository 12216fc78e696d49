//! The shape of each kind of response, as a snapshot beside this file: `cargo insta review` shows a
//! change. Ids, times and opaque values are placeholders.
//!
//! That responses match the OpenAPI document is tested in `openapi`.

use gailou_tests::{TestOrigin, admin, ann, bob, comments_path, id, moderator, redact_html, redact_json, replies_path};
use insta::assert_snapshot;
use serde_json::{Value, json};

const TEST_SUBJECT: &str = "article/shapes";

/// A pinned root with a nested reply, and a tombstone above a visible reply.
async fn post_thread(origin: &TestOrigin) -> (Value, Value) {
    let body = json!({"title": "A & B", "url": "https://example.org/?a=1&b=2", "owner_id": "7"});
    origin.put_subject(&admin(), TEST_SUBJECT, &body).await.expect(200);
    let body = json!({"content": "the **root**", "mentions": ["8", "12345"]});
    let root = origin.try_post(&ann(), TEST_SUBJECT, &body).await.expect(201);
    let reply = origin.reply(&bob(), &root, "the reply").await;
    let nested = origin.reply(&ann(), &reply, "the nested reply").await;
    let deleted = origin.post(&bob(), TEST_SUBJECT, "the deleted root").await;
    origin.reply(&ann(), &deleted, "below a tombstone").await;
    origin.delete(&bob(), &deleted).await.expect(204);
    origin.like(&bob(), &root).await;
    origin.set_flag(&moderator(), "PUT", id(&root), "pin").await.expect(200);
    origin.edit(&ann(), &nested, "the edited reply").await.expect(200);
    (root, nested)
}

#[tokio::test(flavor = "multi_thread")]
async fn json_responses_have_their_shapes() {
    let origin = TestOrigin::start().await;
    let (root, nested) = post_thread(&origin).await;
    let list = origin.current_page(TEST_SUBJECT, &format!("{}?sort=old", comments_path(TEST_SUBJECT))).await;
    assert_snapshot!("list", redact_json(&list));
    let replies = origin.current_page(TEST_SUBJECT, &format!("{}?sort=old&limit=1", replies_path(&root))).await;
    assert_snapshot!("replies", redact_json(&replies));
    let nested = origin.poll_comment(&nested, |comment| comment["content"] == "the edited reply").await;
    assert_snapshot!("comment", redact_json(&nested));
    let context = origin.page(&format!("/v1/comments/{}/context", id(&nested))).await;
    assert_snapshot!("context", redact_json(&context));
    let tree = origin.page(&format!("/v1/comments/{}/tree?depth=1", id(&root))).await;
    assert_snapshot!("tree", redact_json(&tree));
    let overlay = origin.overlay(&bob(), &[id(&root)]).await;
    assert_snapshot!("overlay", redact_json(&overlay));
    let problem = origin.try_post(&ann(), TEST_SUBJECT, &json!({"content": "", "parent_id": 5})).await.expect(400);
    assert_snapshot!("problem", redact_json(&problem));
}

#[tokio::test(flavor = "multi_thread")]
async fn html_page_has_its_shape() {
    let origin = TestOrigin::start().await;
    post_thread(&origin).await;
    origin.current_page(TEST_SUBJECT, &comments_path(TEST_SUBJECT)).await;
    let page = origin.get(&format!("/t/{TEST_SUBJECT}")).await.text;
    assert_snapshot!("html_page", redact_html(&page));
}
