//! Search: readers in a thread, moderators over all comments.

use std::time::Duration;

use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestOrigin, admin, ann, bob, id, member, moderator, poll_until, with_cursor};
use serde_json::{Value, json};

const SUBJECT: &str = "article/searched";

/// An origin with a search. `None` in a cluster without an OpenSearch server.
async fn origin() -> Option<TestOrigin> {
    TestOrigin::start_with_search(|_| {}).await
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn path(query: &str) -> String {
    format!("/v1/subjects/{SUBJECT}/search?q={}", encoded(query))
}

async fn admin_search(origin: &TestOrigin, parameters: &str) -> ApiResponse {
    origin.request(&format!("GET /v1/admin/comments?{parameters}")).by(&moderator()).send().await
}

fn found(page: &Value) -> Vec<String> {
    page["data"].as_array().map(|data| data.iter().map(|c| id(c).to_owned()).collect()).unwrap_or_default()
}

fn ids(comments: &[&Value]) -> Vec<String> {
    comments.iter().map(|comment| id(comment).to_owned()).collect()
}

/// Waits until a search of a reader finds these.
async fn expect_found(origin: &TestOrigin, query: &str, expected: &[&Value]) -> Value {
    let expected = ids(expected);
    let read = || async { origin.get(&path(query)).await };
    let answer = poll_until(read, |answer| answer.status == 200 && found(&answer.json) == expected).await;
    assert_eq!(found(&answer.json), expected, "{query}: {}", answer.text);
    answer.expect(200)
}

/// Waits until a moderator finds these.
async fn expect_all(origin: &TestOrigin, parameters: &str, expected: &[&Value]) -> Value {
    let expected = ids(expected);
    let read = || async { admin_search(origin, parameters).await };
    let answer = poll_until(read, |answer| answer.status == 200 && found(&answer.json) == expected).await;
    assert_eq!(found(&answer.json), expected, "{parameters}: {}", answer.text);
    answer.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_find_chinese_and_english_with_highlights() {
    let Some(origin) = origin().await else { return };
    let chinese = origin.post(&ann(), SUBJECT, "我们一起盖楼，<b>三楼</b>").await;
    let mixed = origin.reply(&bob(), &chinese, "Rust 写的評論系統 & café").await;
    let english = origin.post(&bob(), SUBJECT, "A comment system written in RUST, see example.com/x").await;
    origin.post(&bob(), "article/other", "Rust elsewhere").await;
    let page = expect_found(&origin, "rust", &[&english, &mixed]).await;
    assert_eq!(page["page"]["has_more"], false);
    assert_eq!((&page["page"]["next"], &page["page"]["sort"]), (&json!(null), &json!("new")));
    assert_eq!(page["data"][1]["highlight"], "<mark>Rust</mark> 写的評論系統 &amp; café");
    assert_eq!(page["data"][1]["content"], mixed["content"]);
    for (query, expected) in [
        ("盖楼", vec![&chinese]),
        ("楼", vec![&chinese]),
        ("评论系统", vec![&mixed]),
        ("CAFE 评论", vec![&mixed]),
        ("example.com", vec![&english]),
        ("com example", vec![&english]),
        ("楼盖", vec![]),
        ("rus", vec![]),
    ] {
        expect_found(&origin, query, &expected).await;
    }
    let page = origin.get(&path("楼")).await.expect(200);
    assert_eq!(page["data"][0]["highlight"], "我们一起盖<mark>楼</mark>，&lt;b&gt;三<mark>楼</mark>&lt;/b&gt;");
    let answer = origin.get(&path("rust")).await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    assert_eq!(answer.header("access-control-allow-origin"), "*");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_readers_may_not_see_is_found_by_moderators_alone() {
    let Some(origin) = origin().await else { return };
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    let shown = origin.post(&ann(), SUBJECT, "needle one").await;
    origin.advance(Duration::from_millis(10));
    let deleted = origin.post(&ann(), SUBJECT, "needle two").await;
    let hidden = origin.post(&bob(), SUBJECT, "needle three").await;
    let edited = origin.post(&bob(), SUBJECT, "needle four").await;
    origin.advance(Duration::from_millis(10));
    let held = origin.try_post(&bob(), SUBJECT, &json!({"content": "needle holdme"})).await.expect(202);
    let own = json!({"content": "needle mine", "visibility": "self"});
    let own = origin.try_post(&ann(), SUBJECT, &own).await.json;
    expect_found(&origin, "needle", &[&edited, &hidden, &deleted, &shown]).await;
    origin.delete(&ann(), &deleted).await;
    let decision = format!("POST /v1/admin/comments/{}/decision", id(&hidden));
    origin.request(&decision).by(&moderator()).json(&json!({"action": "hide"})).send().await.expect(200);
    let edit = format!("PATCH /v1/comments/{}", id(&edited));
    origin.request(&edit).by(&bob()).json(&json!({"content": "thread"})).send().await.expect(200);
    // Not even while the index is behind.
    let page = origin.get(&path("needle")).await.expect(200);
    assert_eq!(found(&page), ids(&[&shown]));
    expect_found(&origin, "thread", &[&edited]).await;

    let page = expect_all(&origin, "q=needle", &[&own, &held, &hidden, &deleted, &shown]).await;
    assert_eq!(page["data"][3]["content"], "needle two", "moderators see what was deleted");
    assert_eq!(page["data"][1]["highlight"], "<mark>needle</mark> holdme");
    expect_all(&origin, "q=needle&state=review", &[&held]).await;
    expect_all(&origin, "state=deleted", &[&deleted]).await;
    expect_all(
        &origin,
        &format!("q=needle&member={}", shown["author"]["id"].as_str().unwrap()),
        &[&own, &deleted, &shown],
    )
    .await;
    expect_all(&origin, "q=needle&subject=article/other", &[]).await;
    expect_all(&origin, "q=needle&state=hidden&subject=article/searched", &[&hidden]).await;
    let page = expect_all(&origin, "", &[&own, &held, &edited, &hidden, &deleted, &shown]).await;
    assert_eq!(page["data"][0]["highlight"], json!(null));
    let at = |comment: &Value| comment["created_at"].as_u64().unwrap();
    let between = format!("q=needle&from={}&to={}", at(&deleted), at(&held));
    expect_all(&origin, &between, &[&hidden, &deleted]).await;

    for by in [None, Some(ann())] {
        let request = origin.request("GET /v1/admin/comments?q=needle");
        let request = match &by {
            Some(by) => request.by(by),
            None => request,
        };
        let expected: (u16, &str) = if by.is_some() { (403, "forbidden") } else { (401, "token_missing") };
        let answer = request.send().await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (expected.0, Some(expected.1)));
    }
    let state = json!({"state": "hidden"});
    origin.request(&format!("PUT /v1/admin/subjects/{SUBJECT}")).by(&admin()).json(&state).send().await.expect(200);
    poll_until(|| async { origin.get(&path("needle")).await }, |answer| answer.status == 404).await;
    expect_all(&origin, "q=needle&state=review", &[&held]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn walk_shows_each_comment_once_whatever_is_written_meanwhile() {
    let Some(origin) = origin().await else { return };
    let mut posted: Vec<Value> = Vec::new();
    for n in 0..25 {
        posted.push(origin.post(&ann(), SUBJECT, &format!("walked {n} 分页")).await);
    }
    let newest_first: Vec<&Value> = posted.iter().rev().collect();
    expect_found(&origin, "walked", &newest_first[..20]).await;
    let expected = ids(&newest_first.iter().copied().filter(|c| id(c) != id(&posted[7])).collect::<Vec<_>>());
    let mut walked = Vec::new();
    let first = format!("{}&limit=4", path("分页 walked"));
    let mut page = origin.get(&first).await.expect(200);
    origin.delete(&ann(), &posted[7]).await;
    origin.post(&bob(), SUBJECT, "walked 分页 later").await;
    loop {
        walked.extend(found(&page));
        assert_eq!(page["page"]["has_more"], !page["page"]["next"].is_null());
        let Some(next) = page["page"]["next"].as_str() else { break };
        page = origin.get(&with_cursor(&first, next)).await.expect(200);
    }
    assert_eq!(walked, expected);
    let page = origin.get(&first).await.expect(200);
    let next = page["page"]["next"].as_str().unwrap();
    for other in [path("walked"), format!("/v1/subjects/article/other/search?q={}", encoded("分页 walked"))] {
        assert_eq!(origin.get(&with_cursor(&other, next)).await.expect(400)["code"], "bad_cursor");
    }
    let page = admin_search(&origin, "q=walked&limit=2").await.expect(200);
    let next = page["page"]["next"].as_str().unwrap().to_owned();
    let again = admin_search(&origin, &format!("q=walked&limit=2&cursor={next}")).await.expect(200);
    assert_eq!((found(&again).len(), found(&again).iter().any(|id| found(&page).contains(id))), (2, false));
    let other = admin_search(&origin, &format!("q=walked&state=published&cursor={next}")).await.expect(400);
    assert_eq!(other["code"], "bad_cursor");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_are_named() {
    let Some(origin) = origin().await else { return };
    let fields = |answer: Value| -> Vec<String> {
        assert_eq!(answer["code"], "invalid_request", "{answer}");
        answer["errors"].as_array().unwrap().iter().map(|e| e["field"].as_str().unwrap().to_owned()).collect()
    };
    let words: String = (0..17).map(|n| format!("w{n}+")).collect();
    for query in ["", "q=", "q=%20%EF%BC%8C", &format!("q={}", "a".repeat(201)), &format!("q={words}")] {
        let answer = origin.get(&format!("/v1/subjects/{SUBJECT}/search?{query}")).await.expect(400);
        assert_eq!(fields(answer), ["q"], "{query}");
    }
    let answer = origin.get(&format!("/v1/subjects/{SUBJECT}/search?limit=101")).await.expect(400);
    assert_eq!(fields(answer), ["q", "limit"]);
    let wrong = "q=&subject=article&member=x&state=gone&from=-1&to=now&limit=0";
    let answer = admin_search(&origin, wrong).await.expect(400);
    assert_eq!(fields(answer), ["q", "subject", "member", "state", "from", "to", "limit"]);
    let unknown = origin.get("/v1/subjects/nosuch/1/search?q=x").await.expect(404);
    assert_eq!(unknown["code"], "unknown_subject_type");
    let answer = origin.get("/v1/subjects/article/unwritten/search?q=x").await.expect(200);
    assert_eq!(answer["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_text_is_not_found_and_the_index_outlives_the_process() {
    let Some(mut origin) = origin().await else { return };
    let member = member(4_711);
    origin.post(&member, SUBJECT, "secret 秘密").await;
    let kept = origin.post(&ann(), SUBJECT, "kept 秘密").await;
    poll_until(|| async { origin.get(&path("秘密")).await.json }, |page| found(page).len() == 2).await;
    origin.wait_until_persisted().await;
    origin.request("DELETE /v1/me").by(&member).send().await.expect(204);
    let page = origin.get(&path("秘密")).await.expect(200);
    assert_eq!(found(&page), ids(&[&kept]));
    expect_all(&origin, "q=secret", &[]).await;
    if !origin.is_in_cluster() {
        origin.restart().await;
        origin.wait_until_search_answers().await;
        expect_found(&origin, "秘密", &[&kept]).await;
    }
}
