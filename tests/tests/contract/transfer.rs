//! Admins import and export threads as JSON lines.

use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, comments_path, moderator};
use serde_json::{Value, json};

const LINES: &str = r#"{"subject":"article:moved","id":"1","author":"Ann","content":"first *floor*","created_at":1600000000,"likes":3}
{"subject":"article:moved","id":"2","root":"1","parent":"1","author":"Bob","content":"a reply","created_at":1600000100}
{"subject":"article:moved","id":"3","author":"Ann","content":"","created_at":1600000200,"deleted":true}
"#;

async fn import(origin: &TestOrigin, by: &TestMember, query: &str, lines: &str) -> ApiResponse {
    origin.request(&format!("POST /v1/admin/import{query}")).by(by).bytes(lines).send().await
}

/// The lines of an answer.
fn lines_of(answer: &ApiResponse) -> Vec<Value> {
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"), "{}", answer.text);
    answer.text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn report(imported: u64, skipped: u64, reparented: u64, bad: u64) -> Value {
    json!({"imported": imported, "skipped": skipped, "reparented": reparented, "bad": bad})
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_lines_are_exported_and_skipped_the_next_time() {
    let origin = TestOrigin::start().await;
    let first = lines_of(&import(&origin, &admin(), "", LINES).await);
    assert_eq!(first.last(), Some(&report(3, 0, 0, 0)));
    assert!(first.iter().any(|line| *line == json!({"done": 3, "total": 3})), "{first:?}");
    origin.wait_until_persisted().await;
    let page = origin.page(&format!("{}?sort=old", comments_path("article/moved"))).await;
    assert_eq!((page["data"][0]["content"].as_str(), &page["data"][0]["likes"]), (Some("first *floor*"), &json!(3)));

    assert_eq!(lines_of(&import(&origin, &admin(), "?strict=1", LINES).await).last(), Some(&report(0, 3, 0, 0)));
    origin.post(&ann(), "article/other", "elsewhere").await;
    origin.wait_until_persisted().await;
    for (query, count) in [("", 4), ("?subject=article/moved", 3), ("?subject=article/nothing", 0)] {
        let exported = origin.request(&format!("GET /v1/admin/export{query}")).by(&admin()).send().await;
        let found = lines_of(&exported);
        assert_eq!(found.len(), count, "{query}: {found:?}");
        assert!(exported.header("content-disposition").contains("gailou-comments.jsonl"));
        assert_eq!(exported.header("cache-control"), "private, no-store");
        assert!(found.iter().all(|line| line["subject"] == "article:moved" || query.is_empty()), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn titles_and_addresses_are_taken_where_there_are_none_and_exported_with_the_comments() {
    let origin = TestOrigin::start().await;
    let described = origin.request("PUT /v1/admin/subjects/article/named").by(&moderator());
    described.json(&json!({"title": "By a moderator"})).send().await.expect(200);
    let described = r#"{"subject":"article:moved","title":"盖楼","url":"https://e.example/moved"}
{"subject":"article:moved","title":"A second one"}
{"subject":"article:named","title":"By an import","url":"https://e.example/named"}
{"subject":"article:moved","title":7}
"#;
    let lines = format!("{described}{LINES}{}", LINES.replace("article:moved", "article:named"));
    let first = lines_of(&import(&origin, &admin(), "", &lines).await);
    assert_eq!(first.last(), Some(&report(6, 0, 0, 1)), "{first:?}");
    assert_eq!(first[0], json!({"line": 4, "reason": "`title` must be a string"}));
    origin.wait_until_persisted().await;
    let titles = async |origin: &TestOrigin| {
        let mut titles = Vec::new();
        for key in ["moved", "named"] {
            let subject = origin.page(&comments_path(&format!("article/{key}"))).await["subject"].clone();
            titles.push([subject["title"].clone(), subject["url"].clone()]);
        }
        titles
    };
    let expected = [
        [json!("盖楼"), json!("https://e.example/moved")],
        [json!("By a moderator"), json!("https://e.example/named")],
    ];
    assert_eq!(titles(&origin).await, expected);
    let versions = [origin.stored_version("article/moved").await, origin.stored_version("article/named").await];
    assert_eq!(lines_of(&import(&origin, &admin(), "", &lines).await).last(), Some(&report(0, 6, 0, 1)));
    origin.wait_until_persisted().await;
    let again = [origin.stored_version("article/moved").await, origin.stored_version("article/named").await];
    assert_eq!(again, versions, "nothing has changed");
    let log = origin.request("GET /v1/admin/audit?action=import").by(&moderator()).send().await.expect(200);
    let after = json!({"imported": 6, "skipped": 0, "reparented": 0, "bad": 1, "described": 2});
    assert_eq!((&log["data"][0]["after"], log["data"].as_array().unwrap().len()), (&after, 1));

    let exported = origin.request("GET /v1/admin/export").by(&admin()).send().await.text;
    assert_eq!(exported.lines().count(), 8, "{exported}");
    let copy = TestOrigin::start().await;
    assert_eq!(lines_of(&import(&copy, &admin(), "?strict=1", &exported).await).last(), Some(&report(6, 0, 0, 0)));
    copy.wait_until_persisted().await;
    assert_eq!(titles(&copy).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn held_comment_waits_for_a_moderator_and_gets_its_floor_when_it_is_approved() {
    let origin = TestOrigin::start().await;
    let lines = r#"{"subject":"article:waits","id":"1","author":"Ann","content":"waits","created_at":1600000000,"held":true,"pinned":true}
{"subject":"article:waits","id":"2","author":"Bob","content":"is seen","created_at":1600000100,"parent":"1"}
{"subject":"article:waits","id":"3","author":"Cat","content":"waits under it","created_at":1600000200,"parent":"2","held":true}
"#;
    assert_eq!(lines_of(&import(&origin, &admin(), "", lines).await).last(), Some(&report(3, 0, 1, 0)));
    assert_eq!(lines_of(&import(&origin, &admin(), "?strict=1", lines).await).last(), Some(&report(0, 3, 0, 0)));
    origin.wait_until_persisted().await;
    let path = format!("{}?sort=old", comments_path("article/waits"));
    let page = origin.page(&path).await;
    let shown = |page: &Value| -> Vec<(String, Value)> {
        let comments = page["data"].as_array().unwrap().iter();
        comments.map(|comment| (comment["content"].as_str().unwrap().to_owned(), comment["floor"].clone())).collect()
    };
    assert_eq!(shown(&page), [("is seen".to_owned(), json!(1))]);
    assert_eq!((&page["subject"]["comments"], &page["data"][0]["replies"]), (&json!(1), &json!(0)));
    let queue = origin.request("GET /v1/admin/queue?kind=held").by(&moderator()).send().await.expect(200);
    let queue = queue["data"].as_array().unwrap();
    let mut waiting: Vec<&str> = queue.iter().map(|entry| entry["comment"]["content"].as_str().unwrap()).collect();
    waiting.sort_unstable();
    assert_eq!(waiting, ["waits", "waits under it"]);
    for entry in queue {
        assert_eq!(entry["why"], json!([{"kind": "rule", "detail": "import", "count": 1}]));
        let call = format!("POST /v1/admin/comments/{}/decision", gailou_tests::id(&entry["comment"]));
        origin.request(&call).by(&moderator()).json(&json!({"action": "approve"})).send().await.expect(200);
    }
    origin.wait_until_persisted().await;
    let page = origin.current_page("article/waits", &path).await;
    assert_eq!(shown(&page), [("is seen".to_owned(), json!(1)), ("waits".to_owned(), json!(2))]);
    assert_eq!(page["subject"]["comments"], 3);
    let exported = origin.request("GET /v1/admin/export").by(&admin()).send().await.text;
    assert_eq!((exported.lines().count(), exported.contains("held")), (3, false), "{exported}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_lines_are_named_and_strict_imports_none_beside_them() {
    let origin = TestOrigin::start().await;
    let lines = format!("{LINES}not JSON\n{}", LINES.replace("article:moved", "nowhere:7"));
    let strict = lines_of(&import(&origin, &admin(), "?strict=1", &lines).await);
    assert_eq!(strict.last(), Some(&report(0, 0, 0, 4)));
    let named: Vec<u64> = strict.iter().filter_map(|line| line["line"].as_u64()).collect();
    assert_eq!(named, [4, 5, 6, 7]);
    assert!(strict[0]["reason"].as_str().unwrap().starts_with("is not JSON"), "{strict:?}");
    assert!(strict[1]["reason"].as_str().unwrap().contains("\"nowhere\""), "{strict:?}");
    assert_eq!(lines_of(&import(&origin, &admin(), "", &lines).await).last(), Some(&report(3, 0, 0, 4)));
    assert_eq!(
        lines_of(&import(&origin, &admin(), "", "").await),
        [json!({"done": 0, "total": 0}), report(0, 0, 0, 0)]
    );
}

const DISQUS: &str = include_str!("../../data/exports/disqus.xml");

#[tokio::test(flavor = "multi_thread")]
async fn export_of_another_system_is_a_body_too() {
    let origin = TestOrigin::start().await;
    let bad = json!({"item": "post \"104\"", "reason": "its thread \"99\" is not in the file"});
    let left_out = json!({"left_out": {"spam": 1}});
    let strict = lines_of(&import(&origin, &admin(), "?from=disqus&type=topic&strict=1", DISQUS).await);
    assert_eq!(strict, [bad.clone(), left_out.clone(), report(0, 0, 0, 1)]);
    for expected in [report(3, 0, 0, 1), report(0, 3, 0, 1)] {
        let lines = lines_of(&import(&origin, &admin(), "?from=disqus&type=topic", DISQUS).await);
        assert_eq!((&lines[0], &lines[1], lines.last()), (&bad, &left_out, Some(&expected)));
    }
    origin.wait_until_persisted().await;
    let page = origin.page(&comments_path("topic/blog.example%2F2020%2Fhello")).await;
    assert_eq!((&page["subject"]["comments"], &page["subject"]["title"]), (&json!(2), &json!("Hello & welcome")));

    let waline = r#"[{"objectId":1,"comment":"waits","nick":"A","status":"waiting","url":"/a","createdAt":"2023-01-01 10:00:00"}]"#;
    for (query, expected) in [("", report(0, 0, 0, 0)), ("&held=1&site=blog.example", report(1, 0, 0, 0))] {
        let lines = lines_of(&import(&origin, &admin(), &format!("?from=waline{query}"), waline).await);
        assert_eq!(lines.last(), Some(&expected));
    }
    for (query, field) in [
        ("?from=usenet", "from"),
        ("?from=disqus&type=nowhere", "type"),
        ("?from=disqus&site=%20", "site"),
        ("?from=disqus&held=yes", "held"),
        ("?from=wordpress", "body"),
    ] {
        let wrong = import(&origin, &admin(), query, DISQUS).await;
        assert_eq!((wrong.status, wrong.json["errors"][0]["field"].as_str()), (400, Some(field)), "{}", wrong.text);
    }
    let wrong = import(&origin, &admin(), "?from=wordpress", DISQUS).await;
    assert!(wrong.text.contains("is no export of WordPress") && !wrong.text.contains("tmp"), "{}", wrong.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_alone_import_and_export() {
    let origin = TestOrigin::start().await;
    for by in [ann(), moderator()] {
        assert_eq!(import(&origin, &by, "", LINES).await.status, 403);
        assert_eq!(origin.request("GET /v1/admin/export").by(&by).send().await.status, 403);
    }
    assert_eq!(origin.request("POST /v1/admin/import").bytes(LINES).send().await.status, 401);
    let wrong = import(&origin, &admin(), "?strict=yes", LINES).await;
    assert_eq!((wrong.status, wrong.json["errors"][0]["field"].as_str()), (400, Some("strict")), "{}", wrong.text);
    let unknown = origin.request("GET /v1/admin/export?subject=nowhere/7").by(&admin()).send().await;
    assert_eq!(
        (unknown.status, unknown.json["code"].as_str()),
        (404, Some("unknown_subject_type")),
        "{}",
        unknown.text
    );
    assert_eq!(origin.page(&comments_path("article/moved")).await["subject"]["comments"], 0);
}
