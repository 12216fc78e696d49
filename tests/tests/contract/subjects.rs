//! Subjects: their counts, keys and modes.

use gailou_tests::{TestOrigin, admin, ann, bob, comments_on};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn counts_name_up_to_100_subjects_and_unknown_ones_are_zero() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "video/2", "root").await;
    origin.reply(&bob(), &root, "reply").await;
    origin.post(&ann(), "article/a%2Fb%3F%E6%A5%BC", "x").await;
    let gone = origin.post(&ann(), "post/7", "gone").await;
    origin.delete(&ann(), &gone).await;
    let query = "subject=video/2&subject=article/a%2Fb%3F%E6%A5%BC&subject=post/7&subject=topic/none&subject=video/2";
    let counts = origin.page(&format!("/v1/counts?{query}")).await;
    let expected = json!({"data": {
        "video/2": {"roots": 1, "comments": 2}, "article/a/b?楼": {"roots": 1, "comments": 1},
        "post/7": {"roots": 0, "comments": 0}, "topic/none": {"roots": 0, "comments": 0}}});
    assert_eq!(counts, expected);
    let many: String = (0..100).map(|n| format!("subject=video/{n}&")).collect();
    assert_eq!(origin.page(&format!("/v1/counts?{many}")).await["data"].as_object().unwrap().len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn similar_subject_keys_are_different_subjects() {
    let origin = TestOrigin::start().await;
    // Canonical numbers, numbers with leading zeros, and keys that become equal when they are decoded twice.
    let keys =
        ["7", "007", "07", "a/b", "a%2Fb", "a b", "a+b", "é", "e\u{301}", "楼", "%", "4611686018427387904", "x?y#z"];
    let encoded = |key: &str| key.bytes().map(|b| format!("%{b:02X}")).collect::<String>();
    for key in keys {
        let comment = origin.post(&ann(), &format!("article/{}", encoded(key)), key).await;
        let comment = origin.with_floor(&comment).await;
        assert_eq!((&comment["subject"]["key"], &comment["floor"]), (&json!(key), &json!(1)), "{key}");
    }
    for key in keys {
        let page = origin.page(&format!("/v1/subjects/article/{}/comments", encoded(key))).await;
        assert_eq!((comments_on(&page).len(), &page["data"][0]["content"]), (1, &json!(key)), "{key}");
    }
    assert_eq!(origin.page("/v1/subjects/article/7").await["comments"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn subject_mode_overrides_the_mode_of_its_type() {
    let origin = TestOrigin::start().await;
    let subject = origin.put_subject(&admin(), "article/mode", &json!({"mode": "flat"})).await.expect(200);
    assert_eq!(subject["mode"], "flat");
    let root = origin.post(&ann(), "article/mode", "root").await;
    let answer = origin.reply(&bob(), &root, "answer").await;
    assert_eq!((&answer["path"], &answer["level"]), (&json!([answer["id"]]), &json!(1)));
}
