//! Edits: a comment takes so many of them, however many are sent at once.

use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestOrigin, admin, ann, bob, comments_path, id, moderator, poll_until};
use serde_json::{Value, json};

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

fn texts(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|text| text["content"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_earlier_texts_where_the_installation_shows_them() {
    let origin = TestOrigin::start_with(|config| config.adjustable.rules.show_earlier_texts = true).await;
    let comment = origin.post(&ann(), "article/1", "first").await;
    origin.with_floor(&comment).await;
    for text in ["second badword", "third"] {
        origin.edit(&ann(), &comment, text).await.expect(200);
    }
    let path = format!("/v1/comments/{}/history", id(&comment));
    let is_whole = |shown: &Value| texts(shown) == ["first", "second badword"];
    poll_until(|| async { origin.get(&path).await.expect(200) }, is_whole).await;
    assert_eq!(origin.get(&path).await.header("cache-control"), "private, no-store");
    assert_eq!(origin.page(&comments_path("article/1")).await["subject"]["earlier_texts"], true);
    // What the filter would not let through today is shown no more.
    origin.load_terms(&[("badword", TermAction::Block)]).await;
    assert_eq!(texts(&origin.get(&path).await.expect(200)), ["first"]);
    origin.decide(&moderator(), &comment, "hide").await.expect(200);
    assert_eq!(origin.get(&path).await.expect(404)["code"], "comment_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_readers_reported_is_no_earlier_text_of_its_comment() {
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.rules.show_earlier_texts = true;
        config.adjustable.rules.report_threshold = 1;
    })
    .await;
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    let comment = origin.post(&ann(), "article/1", "an insult").await;
    origin.with_floor(&comment).await;
    origin.edit(&ann(), &comment, "holdme, sorry").await.expect(202);
    let report = format!("POST /v1/comments/{}/reports", id(&comment));
    origin.request(&report).by(&bob()).json(&json!({"reason": "abuse"})).send().await.expect(202);
    let approved = origin.decide(&moderator(), &comment, "approve").await.expect(200);
    assert_eq!((&approved["state"], &approved["content"]), (&json!("published"), &json!("holdme, sorry")));
    let kept = origin.request(&format!("GET /v1/admin/comments/{}/history", id(&comment)));
    assert_eq!(texts(&kept.by(&moderator()).send().await.expect(200)), ["an insult"]);
    origin.load_terms(&[]).await;
    let path = format!("/v1/comments/{}/history", id(&comment));
    let shown = poll_until(|| origin.get(&path), |shown| shown.status == 200).await;
    assert_eq!(shown.json["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_texts_are_not_shown_by_default() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), "article/1", "first").await;
    origin.with_floor(&comment).await;
    origin.edit(&ann(), &comment, "second").await.expect(200);
    let refused = origin.get(&format!("/v1/comments/{}/history", id(&comment))).await.expect(404);
    assert_eq!(refused["detail"], "earlier texts are not shown here");
    assert_eq!(origin.page(&comments_path("article/1")).await["subject"].get("earlier_texts"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_post_any_more_edits_nothing() {
    let origin = TestOrigin::start().await;
    let guest = origin.register_guest("Spammy").await;
    let comment = origin.post(&guest, "article/1", "harmless").await;
    origin.wait_until_persisted().await;
    for rules in [json!({"blocked": {"names": ["spammy"]}}), json!({"blocked": {"names": []}, "guests": "off"})] {
        let change = origin.request("PATCH /v1/admin/settings").by(&admin()).json(&json!({"rules": rules}));
        change.send().await.expect(200);
        assert_eq!(origin.edit(&guest, &comment, "an advertisement").await.status, 403, "{rules}");
    }
    let change = origin.request("PATCH /v1/admin/settings").by(&admin()).json(&json!({"rules": {"guests": "allowed"}}));
    change.send().await.expect(200);
    origin.edit(&guest, &comment, "harmless still").await.expect(200);
}
