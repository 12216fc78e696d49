//! The newest comments of all subjects, feeds of them, and the moderators' list of subjects.

use std::time::Duration;

use gailou_tests::{ApiResponse, TestOrigin, admin, ann, bob, id, moderator, poll_until, with_cursor};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().map(|data| data.iter().map(|c| id(c).to_owned()).collect()).unwrap_or_default()
}

/// Waits until a list has these comments in this order.
async fn expect_latest(origin: &TestOrigin, path: &str, expected: &[&Value]) -> Value {
    let expected: Vec<String> = expected.iter().map(|comment| id(comment).to_owned()).collect();
    let answer = poll_until(|| origin.get(path), |answer| answer.status == 200 && ids(&answer.json) == expected).await;
    assert_eq!(ids(&answer.json), expected, "{path}: {}", answer.text);
    answer.expect(200)
}

/// Waits until a feed has so many entries.
async fn feed(origin: &TestOrigin, path: &str, entries: usize) -> ApiResponse {
    let count = |answer: &ApiResponse| answer.text.matches("<entry>").count();
    let answer = poll_until(|| origin.get(path), |answer| answer.status == 200 && count(answer) == entries).await;
    assert_eq!(count(&answer), entries, "{path}: {}", answer.text);
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_comments_of_all_subjects_name_their_subjects() {
    let origin = TestOrigin::start().await;
    let about = json!({"title": "Seven", "url": "https://example.org/7"});
    origin.put_subject(&admin(), "article/7", &about).await.expect(200);
    let mut posted = Vec::new();
    for (subject, content) in [("article/7", "one"), ("video/2", "two"), ("article/8", "three")] {
        posted.push(origin.post(&ann(), subject, content).await);
        origin.advance(Duration::from_millis(10));
    }
    let answer = origin.reply(&bob(), &posted[0], "four").await;
    let [one, two, three] = &posted[..] else { panic!("three were posted") };
    let page = expect_latest(&origin, "/v1/latest", &[&answer, three, two, one]).await;
    let subject = json!({"type": "article", "key": "7", "title": "Seven", "url": "https://example.org/7"});
    assert_eq!(page["data"][0]["subject"], subject);
    let subject = json!({"type": "article", "key": "8", "title": null, "url": null});
    assert_eq!(page["data"][1]["subject"], subject);
    assert_eq!(page["data"][0]["content"], "four");
    expect_latest(&origin, "/v1/latest?limit=2", &[&answer, three]).await;
    expect_latest(&origin, "/v1/latest?type=video", &[two]).await;
    expect_latest(&origin, "/v1/latest?type=article&limit=50", &[&answer, three, one]).await;
    expect_latest(&origin, "/v1/latest?type=post", &[]).await;
    for (path, status, code) in [
        ("/v1/latest?type=nothing", 404, "unknown_subject_type"),
        ("/v1/latest?limit=51", 400, "invalid_request"),
        ("/v1/latest.atom?type=nothing", 404, "unknown_subject_type"),
        ("/v1/subjects/nothing/7/feed.atom", 404, "unknown_subject_type"),
    ] {
        assert_eq!(origin.get(path).await.expect(status)["code"], code, "{path}");
    }
    // Other lists say no more of a subject than before.
    let page = origin.page("/v1/subjects/article/7/comments").await;
    assert_eq!(page["data"][0]["subject"], json!({"type": "article", "key": "7"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_readers_do_not_see_is_not_among_the_newest() {
    let origin = TestOrigin::start().await;
    let shown = origin.post(&ann(), "article/7", "shown").await;
    origin.advance(Duration::from_millis(10));
    let deleted = origin.post(&ann(), "article/7", "deleted").await;
    origin.advance(Duration::from_millis(10));
    let of_hidden = origin.post(&bob(), "article/hidden", "of a hidden subject").await;
    let own = json!({"content": "mine", "visibility": "self"});
    origin.try_post(&bob(), "article/7", &own).await;
    expect_latest(&origin, "/v1/latest", &[&of_hidden, &deleted, &shown]).await;
    feed(&origin, "/v1/latest.atom", 3).await;
    feed(&origin, "/v1/subjects/article/7/feed.atom", 2).await;
    origin.delete(&ann(), &deleted).await.expect(204);
    origin.put_subject(&moderator(), "article/hidden", &json!({"state": "hidden"})).await.expect(200);
    expect_latest(&origin, "/v1/latest", &[&shown]).await;
    expect_latest(&origin, "/v1/latest?type=article", &[&shown]).await;
    let answer = feed(&origin, "/v1/latest.atom?type=article", 1).await;
    assert!(!answer.text.contains("deleted"), "{}", answer.text);
    feed(&origin, "/v1/subjects/article/7/feed.atom", 1).await;
    feed(&origin, "/v1/subjects/article/hidden/feed.atom", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn feed_of_a_subject_has_roots_and_replies_and_is_revalidated() {
    let origin = TestOrigin::start().await;
    let about = json!({"title": "A & <B>", "url": "https://example.org/7?a=1&b=2#top"});
    origin.put_subject(&admin(), "article/7", &about).await.expect(200);
    let root = origin.post(&ann(), "article/7", "**root** <script>alert(1)</script> ]]> x").await;
    origin.advance(Duration::from_millis(10));
    let reply = origin.reply(&bob(), &root, "reply").await;
    origin.post(&bob(), "article/8", "elsewhere").await;
    let path = "/v1/subjects/article/7/feed.atom";
    feed(&origin, path, 2).await;
    // A pinned comment keeps its place.
    origin.set_flag(&moderator(), "PUT", id(&root), "pin").await.expect(200);
    let answer = feed(&origin, path, 2).await;
    assert_eq!(answer.header("content-type"), "application/atom+xml; charset=utf-8");
    assert_eq!(answer.header("cache-control"), "public, no-cache");
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.header("content-security-policy"), "default-src 'none'; sandbox");
    let text = &answer.text;
    assert!(
        text.starts_with("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">")
    );
    assert!(text.contains("<title>A &amp; &lt;B&gt;</title>"), "{text}");
    let address = "https://example.org/7?a=1&amp;b=2";
    assert!(text.contains(&format!("href=\"{address}#top\"")), "{text}");
    let places = [&reply, &root].map(|c| text.find(&format!("href=\"{address}#comment-{}\"", id(c))).expect("a link"));
    assert!(places[0] < places[1], "the newest is first");
    assert!(text.contains("<content type=\"html\">&lt;p&gt;&lt;strong&gt;root&lt;/strong&gt;"), "{text}");
    assert!(!text.contains("<script") && !text.contains("]]>"), "{text}");
    let again = origin.request(&format!("GET {path}")).header("if-none-match", answer.header("etag")).send().await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    let page = origin.get("/t/article/7").await;
    let link = "<link rel=\"alternate\" type=\"application/atom+xml\" href=\"/v1/subjects/article/7/feed.atom\">";
    assert!(page.text.contains(link), "{}", page.text);
}

/// The keys of the moderators' list of subjects, page by page.
async fn listed(origin: &TestOrigin, query: &str) -> Vec<String> {
    let (mut keys, path) = (Vec::new(), format!("/v1/admin/subjects?{query}"));
    let mut next = path.clone();
    loop {
        let page = origin.request(&format!("GET {next}")).by(&moderator()).send().await.expect(200);
        let name = |s: &Value| format!("{}/{}", s["type"].as_str().unwrap(), s["key"].as_str().unwrap());
        keys.extend(page["data"].as_array().unwrap().iter().map(name));
        match page["page"]["next"].as_str() {
            Some(cursor) => next = with_cursor(&path, cursor),
            None => return keys,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moderators_list_subjects_by_text_and_state_each_once() {
    let origin = TestOrigin::start().await;
    let mut all: Vec<String> = (0..12).map(|n| format!("article/list-{n}")).collect();
    all.push("video/list-3".into());
    let mut last = json!(null);
    for subject in &all {
        last = origin.post(&ann(), subject, "x").await;
    }
    origin.put_subject(&admin(), "post/registered", &json!({"title": "Größe 盖楼", "url": "/x"})).await.expect(200);
    origin.put_subject(&moderator(), "article/list-1", &json!({"state": "closed"})).await.expect(200);
    origin.put_subject(&moderator(), "article/list-2", &json!({"state": "hidden"})).await.expect(200);
    all.push("post/registered".into());
    all.sort();
    let sorted = async |query: &str| {
        let mut keys = listed(&origin, query).await;
        keys.sort();
        keys
    };
    for limit in [1, 5, 13, 14, 100] {
        let query = format!("limit={limit}");
        let found = poll_until(|| sorted(&query), |found| *found == all).await;
        assert_eq!(found, all, "{query}");
    }
    for (query, expected) in [
        ("q=LIST-1&limit=2", &["article/list-1", "article/list-10", "article/list-11"][..]),
        ("q=gr%C3%B6%C3%9Fe", &["post/registered"]),
        ("q=list-3", &["article/list-3", "video/list-3"]),
        ("q=video/&limit=1", &["video/list-3"]),
        ("state=closed", &["article/list-1"]),
        ("state=hidden&q=list", &["article/list-2"]),
        ("state=open&q=list-2", &[]),
        ("q=nowhere", &[]),
    ] {
        assert_eq!(sorted(query).await, expected, "{query}");
    }
    // The subject that is named as it is comes first, and once.
    let named = listed(&origin, "q=article/list-1&limit=1").await;
    assert_eq!((named[0].as_str(), named.len()), ("article/list-1", 3));
    let read = async |path: &str| origin.request(&format!("GET {path}")).by(&moderator()).send().await;
    let page = read("/v1/admin/subjects?q=video/list-3").await;
    assert_eq!(page.header("cache-control"), "private, no-store");
    let subject = &page.json["data"][0];
    assert_eq!(
        (&subject["comments"], &subject["roots"], &subject["mode"]),
        (&json!(1), &json!(1), &json!("two_level"))
    );
    assert_eq!(subject["last_activity"], last["created_at"]);
    let page = read("/v1/admin/subjects?q=post/registered").await.expect(200);
    assert_eq!((&page["data"][0]["last_activity"], &page["data"][0]["url"]), (&json!(null), &json!("/x")));
    let hidden = read("/v1/admin/subjects?state=hidden").await.expect(200);
    assert_eq!(hidden["data"][0]["comments"], 1, "moderators see what is hidden");

    let next = read("/v1/admin/subjects?limit=1").await.expect(200)["page"]["next"].as_str().unwrap().to_owned();
    let other = read(&with_cursor("/v1/admin/subjects?q=list", &next)).await;
    assert_eq!(other.expect(400)["code"], "bad_cursor");
    for (query, field) in [("q=", "q"), ("state=ajar", "state"), ("limit=101", "limit")] {
        let problem = read(&format!("/v1/admin/subjects?{query}")).await.expect(400);
        assert_eq!(problem["errors"][0]["field"], field, "{query}");
    }
    assert_eq!(origin.request("GET /v1/admin/subjects").by(&ann()).send().await.status, 403);
    assert_eq!(origin.get("/v1/admin/subjects").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn last_activity_of_a_subject_is_its_newest_comment_of_any_state() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "article/7", "root").await;
    origin.advance(Duration::from_secs(5));
    let reply = origin.reply(&bob(), &root, "reply").await;
    origin.set_flag(&moderator(), "PUT", id(&root), "pin").await;
    origin.delete(&bob(), &reply).await.expect(204);
    let read = || async { origin.request("GET /v1/admin/subjects").by(&moderator()).send().await.expect(200) };
    let page = poll_until(read, |page| page["data"][0]["last_activity"] == reply["created_at"]).await;
    assert_eq!(page["data"][0]["last_activity"], reply["created_at"]);
    assert_eq!(page["data"][0]["comments"], 1);
}
