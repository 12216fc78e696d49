//! A preview is what the comment becomes, and leaves nothing behind.

use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestOrigin, ann, comments_path};
use serde_json::json;

const TEST_SUBJECT: &str = "post/preview";

#[tokio::test(flavor = "multi_thread")]
async fn preview_is_what_posting_gives() {
    let origin = TestOrigin::start().await;
    origin
        .load_terms(&[("maskme", TermAction::Mask), ("holdme", TermAction::Review), ("blockme", TermAction::Block)])
        .await;
    let preview = async |content: &str| {
        let call = origin.request("POST /v1/preview").by(&ann()).json(&json!({ "content": content }));
        call.try_send().await.expect("a response")
    };
    let deep = format!("{} deep", ">".repeat(40));
    for text in ["**bold** <script>alert(1)</script>", "a maskme b", "please holdme", "| a |\n|---|\n| b |", &deep] {
        let previewed = preview(text).await;
        assert_eq!(previewed.status, 200, "{}", previewed.text);
        let posted = origin.try_post(&ann(), TEST_SUBJECT, &json!({ "content": text })).await;
        assert_eq!(previewed.json, json!({ "html": posted.json["html"] }), "{text}");
    }
    let posted = origin.current_page(TEST_SUBJECT, &comments_path(TEST_SUBJECT)).await["subject"]["comments"].clone();
    for (text, code) in [("blockme", "content_rejected"), ("bl*ock*me", "content_rejected"), (" ", "invalid_request")] {
        let refused = preview(text).await;
        assert_eq!(refused.json["code"], code, "{}", refused.text);
        assert!(!refused.text.contains("blockme"), "{}", refused.text);
        assert_eq!(refused.json["errors"][0]["field"], "content", "{}", refused.text);
    }
    let stranger = origin.request("POST /v1/preview").json(&json!({ "content": "x" })).try_send().await;
    assert_eq!(stranger.expect("a response").status, 401);
    let after = origin.current_page(TEST_SUBJECT, &comments_path(TEST_SUBJECT)).await["subject"]["comments"].clone();
    assert_eq!(after, posted, "a preview stores nothing");
}
