//! Subjects: their counts, keys and modes.

use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, bob, comments_on, id, moderator, poll_until};
use serde_json::{Value, json};

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

#[tokio::test(flavor = "multi_thread")]
async fn hidden_subject_is_empty_for_readers_and_whole_for_moderators() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "article/h", "secret root").await;
    let reply = origin.reply(&bob(), &root, "secret reply").await;
    origin.try_post(&ann(), "article/h", &json!({"content": "secret own", "visibility": "self"})).await.expect(201);
    let elsewhere = origin.post(&ann(), "article/open", "seen").await;
    origin.set_flag(&moderator(), "PUT", id(&root), "pin").await.expect(200);
    let shared_paths = [
        "/v1/subjects/article/h".to_owned(),
        "/v1/subjects/article/h/comments".into(),
        "/v1/subjects/article/h/comments?sort=new&limit=3".into(),
        "/v1/members/7/comments".into(),
        "/v1/members/8/comments".into(),
        "/t/article/h".into(),
        "/t/article/h?fragment=1".into(),
    ];
    let id_paths =
        ["", "/replies", "/tree", "/ancestors", "/context"].map(|part| format!("/v1/comments/{}{part}", id(&root)));
    let id_paths = id_paths.into_iter().chain([format!("/v1/comments/{}", id(&reply))]).collect::<Vec<_>>();
    // Pages of before are in the caches.
    for path in shared_paths.iter().chain(&id_paths) {
        let is_filled = |answer: &ApiResponse| answer.status == 200 && answer.text.contains("secret r");
        let before = poll_until(|| origin.get(path), |answer| is_filled(answer) || !path.contains("/comments")).await;
        assert_eq!(before.status, 200, "{path}");
    }
    let answered = origin.put_subject(&admin(), "article/h", &json!({"state": "hidden"})).await.expect(200);
    assert_eq!((&answered["state"], &answered["comments"]), (&json!("hidden"), &json!(2)));

    for path in &shared_paths {
        let seen = poll_until(|| origin.get(path), |answer| !answer.text.contains("secret")).await;
        assert!(seen.status == 200 && !seen.text.contains("secret"), "{path}: {}", seen.text);
    }
    for path in &id_paths {
        let seen = poll_until(|| origin.get(path), |answer| answer.status == 404).await;
        assert_eq!((seen.status, &seen.json["code"]), (404, &json!("comment_not_found")), "{path}");
    }
    let page = origin.page("/v1/subjects/article/h/comments").await;
    assert_eq!((&page["data"], &page["page"]["has_more"]), (&json!([]), &json!(false)));
    let (subject, nothing) = (&page["subject"], (json!(0), json!(0), json!([])));
    assert_eq!((subject["roots"].clone(), subject["comments"].clone(), subject["pinned"].clone()), nothing);
    let counts = origin.page("/v1/counts?subject=article/h").await;
    assert_eq!(counts["data"]["article/h"], json!({"roots": 0, "comments": 0}));
    // Neither the authors nor other members reach it.
    let overlay = origin.overlay(&ann(), &[id(&root), id(&elsewhere)]).await;
    assert_eq!((overlay["data"].as_object().unwrap().len(), &overlay["pending"]), (1, &json!([])));
    assert_eq!(origin.edit(&ann(), &root, "again").await.status, 404);
    assert_eq!(origin.set_flag(&bob(), "PUT", id(&root), "like").await.status, 404);
    assert_eq!(origin.try_post(&ann(), "article/h", &json!({"content": "x"})).await.status, 409);

    // A moderator sees it, and no cache keeps what it sees.
    for path in shared_paths[..3].iter().chain(&id_paths) {
        let seen = origin.request(&format!("GET {path}")).by(&moderator()).send().await;
        assert!(seen.status == 200 && seen.text.contains("secret r"), "{path}: {}", seen.text);
        assert_eq!((seen.header("cache-control"), seen.header("etag")), ("private, no-store", ""), "{path}");
        assert!(!origin.get(path).await.text.contains("secret"), "{path}");
    }
    origin.put_subject(&admin(), "article/h", &json!({"state": "open"})).await.expect(200);
    let path = format!("/v1/comments/{}", id(&root));
    assert_eq!(poll_until(|| origin.get(&path), |answer| answer.status == 200).await.json["content"], "secret root");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_moves_takes_its_thread_along() {
    let origin = TestOrigin::start().await;
    let before = origin.post(&ann(), "article/old.example%2Fa", "before").await;
    let move_to =
        async |by: &TestMember, from: &str, to: Value| origin.put_subject(by, from, &json!({ "moved_to": to })).await;
    assert_eq!(move_to(&moderator(), "article/old.example%2Fa", json!("article/new.example/a")).await.status, 403);
    for (to, status) in [
        (json!("article/old.example/a"), 400),
        (json!("video/new.example/a"), 400),
        (json!("article"), 400),
        (json!(7), 400),
    ] {
        let refused = move_to(&admin(), "article/old.example%2Fa", to.clone()).await;
        assert_eq!((refused.status, &refused.json["errors"][0]["field"]), (status, &json!("moved_to")), "{to}");
    }
    move_to(&admin(), "article/old.example%2Fa", json!("article/new.example/a")).await.expect(200);
    let path = |key: &str| format!("/v1/subjects/article/{key}/comments");
    let count = |answer: &ApiResponse| answer.json["data"].as_array().map_or(0, Vec::len);
    for key in ["new.example%2Fa", "old.example%2Fa"] {
        let page = poll_until(async || origin.get(&path(key)).await, |answer| count(answer) == 1).await;
        assert_eq!(page.json["data"][0]["id"], before["id"], "{key}: {}", page.text);
    }
    // What is written at either address is at both.
    let after = origin.post(&bob(), "article/new.example%2Fa", "after").await;
    let reply = json!({"content": "a reply", "parent_id": after["id"]});
    origin.try_post(&ann(), "article/old.example%2Fa", &reply).await.expect(201);
    for key in ["new.example%2Fa", "old.example%2Fa"] {
        let page =
            poll_until(async || origin.get(&path(key)).await, |answer| answer.json["subject"]["comments"] == 3).await;
        assert_eq!(page.json["subject"]["comments"], 3, "{key}: {}", page.text);
    }
    let counts = "/v1/counts?subject=article/new.example/a&subject=article/old.example/a&subject=article/none";
    let counts = poll_until(|| origin.get(counts), |a| a.json["data"]["article/new.example/a"]["comments"] == 3).await;
    assert_eq!(counts.json["data"]["article/old.example/a"]["comments"], 3, "{}", counts.text);
    assert_eq!(counts.json["data"]["article/none"]["comments"], 0, "{}", counts.text);
    // Pages as HTML stay at the address that was asked for: the element knows its comments by it.
    for key in ["new.example/a", "old.example/a"] {
        let segment = key.replace('/', "%2F");
        let html = origin.get(&format!("/t/article/{segment}?lang=en")).await.text;
        let fragment = origin.get(&format!("/t/article/{segment}?fragment=1&lang=en")).await.text;
        let form = format!("/write/article/{segment}?lang=en");
        for text in [&html, &fragment] {
            assert!(text.contains("before"), "{text}");
            assert!(text.contains(&format!("data-subject=\"article/{key}\"")), "{text}");
        }
        let links = html.split("href=\"/").skip(1).filter_map(|rest| rest.split_once('"')).map(|(link, _)| link);
        assert!(links.clone().count() > 12 && links.clone().all(|link| link.contains(&segment)), "{html}");
        assert!(html.contains(&format!("href=\"{form}\"")), "{html}");
        let page = origin.get(&form).await.text;
        assert!(page.contains(&format!("action=\"{form}\"")), "{page}");
    }
    // An address that has comments is not taken from them, and one that moves again is still there.
    origin.post(&ann(), "article/own", "its own").await;
    poll_until(async || origin.get(&path("own")).await, |answer| count(answer) == 1).await;
    assert_eq!(move_to(&admin(), "article/old.example%2Fa", json!("article/own")).await.status, 409);
    move_to(&admin(), "article/new.example%2Fa", json!("article/third.example/a")).await.expect(200);
    let page = poll_until(async || origin.get(&path("third.example%2Fa")).await, |answer| count(answer) == 2).await;
    assert_eq!(count(&page), 2, "{}", page.text);
    move_to(&admin(), "article/old.example%2Fa", Value::Null).await.expect(200);
    let page = poll_until(async || origin.get(&path("new.example%2Fa")).await, |answer| count(answer) == 0).await;
    assert_eq!(count(&page), 0, "{}", page.text);
    // All pages of a site, by a rule of the settings.
    let patch = json!({"pages": {"moved": ["article/old.example/* => article/blog.example/*"]}});
    origin.request("PATCH /v1/admin/settings").by(&admin()).json(&patch).send().await.expect(200);
    let page = poll_until(async || origin.get(&path("blog.example%2Fa")).await, |answer| count(answer) == 2).await;
    assert_eq!(count(&page), 2, "{}", page.text);
    let wrong = json!({"pages": {"moved": ["article/a* => article/b"]}});
    let refused = origin.request("PATCH /v1/admin/settings").by(&admin()).json(&wrong).send().await;
    assert_eq!((refused.status, &refused.json["errors"][0]["field"]), (400, &json!("pages.moved")), "{}", refused.text);
}
