//! Edits: a comment takes so many of them, however many are sent at once.

use std::time::Duration;

use futures_util::future::join_all;
use gailou_tests::{TestOrigin, ann, comments_path, id, poll_until};
use serde_json::Value;

#[tokio::test(flavor = "multi_thread")]
async fn edit_beyond_the_bound_is_409() {
    let origin = TestOrigin::start_with(|config| config.adjustable.limits.edits_per_comment = 5).await;
    let comment = origin.post(&ann(), "article/1", "first").await;
    origin.with_floor(&comment).await;
    let (origin, by) = (&origin, &ann());
    let edits = join_all((0..12).map(|n| {
        let comment = &comment;
        async move { (n, origin.edit(by, comment, &format!("edit {n}")).await) }
    }))
    .await;
    let statuses: Vec<_> = edits.iter().map(|(_, edit)| edit.status).collect();
    let accepted: Vec<_> = edits.iter().filter(|(_, edit)| edit.status == 200).map(|(n, _)| *n).collect();
    // A loaded machine may answer 503, and then whether the edit counts is not known.
    let unknown = statuses.iter().filter(|status| **status == 503).count();
    assert!(accepted.len() <= 5 && accepted.len() + unknown >= 5, "of 12 edits: {statuses:?}");
    for (_, refused) in edits.iter().filter(|(_, edit)| ![200, 503].contains(&edit.status)) {
        assert_eq!(
            (refused.status, refused.json["code"].as_str()),
            (409, Some("edit_window_over")),
            "{}",
            refused.text
        );
        assert!(refused.json["detail"].as_str().unwrap().contains("as often as"), "{}", refused.text);
    }
    let texts: Vec<_> = accepted.iter().map(|n| format!("edit {n}")).collect();
    let is_accepted = |shown: &Value| texts.iter().any(|text| shown["content"] == text.as_str());
    let path = format!("/v1/comments/{}", id(&comment));
    // The caches of a loaded cluster may hold a former text for a moment.
    let shown = poll_until(|| async { origin.get(&path).await.expect(200) }, &is_accepted).await;
    assert!(unknown > 0 || is_accepted(&shown), "{shown}");
    // The bound is of each comment, and switching rates off does not switch it off.
    let other = origin.post(by, "article/1", "other").await;
    origin.with_floor(&other).await;
    origin.edit(by, &other, "better").await.expect(200);
    assert_eq!(origin.page(&comments_path("article/1")).await["subject"]["comments"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_edits_are_the_default_and_none_is_no_bound() {
    for (bound, last) in [(None, 409), (Some(0), 200)] {
        let origin = TestOrigin::start_with(|config| {
            assert_eq!(config.adjustable.limits.edits_per_comment, 60);
            config.adjustable.limits.edits_per_comment = bound.unwrap_or(60);
        })
        .await;
        let comment = origin.post(&ann(), "article/1", "first").await;
        origin.with_floor(&comment).await;
        for n in 0..60 {
            origin.edit(&ann(), &comment, &format!("edit {n}")).await.expect(200);
        }
        assert_eq!(origin.edit(&ann(), &comment, "the 61st").await.status, last);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_texts_are_kept_for_the_configured_days() {
    let origin = TestOrigin::start_with(|config| config.retention.edit_history_days = 7).await;
    let comment = origin.post(&ann(), "article/1", "first").await;
    origin.with_floor(&comment).await;
    for text in ["second", "third"] {
        origin.edit(&ann(), &comment, text).await.expect(200);
    }
    for (days, expected) in [(6, 2), (2, 0)] {
        origin.advance(Duration::from_secs(days * 86_400));
        origin.sweep().await;
        let data = origin.request("GET /v1/me/export").by(&ann()).send().await.expect(200);
        assert_eq!(data["comments"][0]["history"].as_array().unwrap().len(), expected, "{data}");
    }
}
