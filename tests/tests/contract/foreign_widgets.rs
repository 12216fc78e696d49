//! What the widgets of Waline, Artalk, Isso and Twikoo call, by the requests that they send. The widgets themselves run in
//! tests/web/foreign-widgets.test.mjs.

use std::time::Duration;

use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestOrigin, admin, ann, bob, id, moderator, poll_until};
use serde_json::{Value, json};

const WALINE: &str = "/compat/waline/api/comment";
const ARTALK: &str = "/compat/artalk/api/v2";
const ISSO: &str = "/compat/isso";
const TWIKOO: &str = "/compat/twikoo";

/// The subject of the page `/post/`, and how the lists of the widgets name it.
const SUBJECT: &str = "article/%2Fpost";
const WALINE_LIST: &str =
    "/compat/waline/api/comment?path=%2Fpost%2F&pageSize=10&page=1&lang=en&sortBy=insertedAt_desc";
const ARTALK_LIST: &str =
    "/compat/artalk/api/v2/comments?limit=20&offset=0&flat_mode=false&page_key=%2Fpost%2F&site_name=D";
const ISSO_LIST: &str = "/compat/isso/?uri=%2Fpost%2F&sort=oldest&offset=0&nested_limit=5";

async fn call(origin: &TestOrigin, line: &str, body: &Value) -> ApiResponse {
    origin.request(line).json(body).try_send().await.expect("a response")
}

async fn event(origin: &TestOrigin, body: &Value) -> Value {
    call(origin, &format!("POST {TWIKOO}"), body).await.expect(200)
}

/// Waits until a list has this.
async fn expect_list(origin: &TestOrigin, path: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let answer = poll_until(|| origin.get(path), |answer| answer.status == 200 && is_there(&answer.json)).await;
    assert!(is_there(&answer.json), "{path}: {}", answer.text);
    answer.json
}

async fn post_by_waline(origin: &TestOrigin, text: &str, parent: Option<&str>) -> ApiResponse {
    let mut body =
        json!({"comment": text, "nick": "Bo", "mail": "bo@mail.example", "link": "", "url": "/post/", "ua": "x"});
    if let Some(parent) = parent {
        (body["pid"], body["rid"], body["at"]) = (parent.into(), parent.into(), "Bo".into());
    }
    call(origin, &format!("POST {WALINE}?lang=en"), &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_widget_writes_all_of_them_and_the_contract_read() {
    let origin = TestOrigin::start().await;
    let posted = post_by_waline(&origin, "first **bold** <b>x</b>", None).await.expect(200);
    let root = posted["data"]["objectId"].as_str().expect("an id").to_owned();
    assert_eq!((&posted["errno"], &posted["data"]["children"]), (&json!(0), &json!([])), "{posted}");
    assert!(posted["data"].get("rid").is_none(), "a root has no key of this name: {posted}");
    let reply = json!({"content": "by Artalk", "name": "Cy", "email": "", "link": "", "rid": root, "page_key": "/post/",
        "site_name": "D", "ua": "x"});
    let reply = call(&origin, &format!("POST {ARTALK}/comments"), &reply).await.expect(200);
    assert_eq!((&reply["rid"], &reply["page_key"]), (&json!(root), &json!("/post/")), "{reply}");
    let reply =
        json!({"author": null, "email": null, "website": null, "text": "by Isso", "parent": root, "title": null});
    let reply = call(&origin, &format!("POST {ISSO}/new?uri=%2Fpost%2F"), &reply).await.expect(201);
    assert_eq!((&reply["author"], &reply["mode"]), (&json!("Anonymous"), &json!(1)), "{reply}");
    let reply = json!({"event": "COMMENT_SUBMIT", "accessToken": null, "nick": "Di", "mail": "", "url": "/post/",
        "comment": "<p>by <strong>Twikoo</strong><script>alert(1)</script></p>", "pid": root, "rid": root});
    let answer = event(&origin, &reply).await;
    let token = answer["accessToken"].as_str().expect("a token").to_owned();
    assert!(answer["id"].is_string(), "{answer}");

    let waline = expect_list(&origin, WALINE_LIST, |list| list["data"]["count"] == 4).await;
    let children = waline["data"]["data"][0]["children"].as_array().expect("replies");
    assert_eq!(children.len(), 3, "{waline}");
    assert_eq!(waline["data"]["data"][0]["comment"], "<p>first <strong>bold</strong> &lt;b&gt;x&lt;/b&gt;</p>\n");
    assert!(children.iter().all(|child| child["rid"] == root && child["reply_user"]["nick"] == "Bo"), "{waline}");
    let artalk = expect_list(&origin, ARTALK_LIST, |list| list["count"] == 4).await;
    assert_eq!((&artalk["roots_count"], &artalk["comments"][0]["rid"]), (&json!(1), &json!(0)), "{artalk}");
    let isso = expect_list(&origin, ISSO_LIST, |list| list["total_replies"] == 4).await;
    let texts: Vec<_> = isso["replies"][0]["replies"].as_array().into_iter().flatten().map(|r| &r["text"]).collect();
    let expected = ["<p>by Artalk</p>\n", "<p>by Isso</p>\n", "<p>by <strong>Twikoo</strong></p>\n"];
    assert_eq!(texts, expected, "in their order");
    let list = json!({"event": "COMMENT_GET", "accessToken": token, "url": "/post/", "sort": "newest"});
    let twikoo = event(&origin, &list).await;
    let replies = twikoo["data"][0]["replies"].as_array().expect("replies");
    assert_eq!(replies.iter().filter(|reply| reply["isOwner"] == true).count(), 1, "its own: {twikoo}");
    assert!(twikoo.get("accessToken").is_none(), "{twikoo}");
    let page = origin.page(&format!("/v1/subjects/{SUBJECT}/comments")).await;
    assert_eq!((&page["data"][0]["replies"], &page["data"][0]["author"]["guest"]), (&json!(3), &json!(true)), "{page}");

    // Counts, by each.
    let counts = origin.get(&format!("{WALINE}?type=count&url=%2Fpost%2F,%2Fnone&lang=en")).await.expect(200);
    assert_eq!(counts["data"], json!([4, 0]));
    let counts = origin.get(&format!("{ARTALK}/stats/page_comment?page_keys=%2Fpost%2F,%2Fnone")).await.expect(200);
    assert_eq!(counts["data"], json!({"/post/": 4, "/none": 0}));
    let counts = call(&origin, &format!("POST {ISSO}/count"), &json!(["/post/", "/none?q=1"])).await.expect(200);
    assert_eq!(counts, json!([4, 0]));
    let counts =
        json!({"event": "GET_COMMENTS_COUNT", "accessToken": token, "urls": ["/post/"], "includeReply": false});
    assert_eq!(event(&origin, &counts).await["data"], json!([{"url": "/post/", "count": 1}]));

    // The newest, by each.
    let recent = origin.get(&format!("{WALINE}?type=recent&count=1&lang=en")).await.expect(200);
    assert_eq!((&recent[0]["nick"], &recent[0]["url"]), (&json!("Di"), &json!("&#47;post")), "{recent}");
    let recent = origin.get(&format!("{WALINE}?type=recent&count=1")).await.expect(200);
    assert_eq!(recent["data"][0]["nick"], "Di", "{recent}");
    let recent = origin.get(&format!("{ARTALK}/stats/latest_comments?limit=1")).await.expect(200);
    assert_eq!(recent["data"][0]["nick"], "Di", "{recent}");
    let recent = origin.get(&format!("{ISSO}/latest?limit=1")).await.expect(200);
    assert_eq!(recent[0]["uri"], "/post", "{recent}");
    let recent = json!({"event": "GET_RECENT_COMMENTS", "accessToken": token, "pageSize": 1, "includeReply": true});
    assert_eq!(event(&origin, &recent).await["data"][0]["nick"], "Di");
}

#[tokio::test(flavor = "multi_thread")]
async fn network_likes_a_comment_once_with_whatever_widget() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), SUBJECT, "like me").await;
    expect_list(&origin, WALINE_LIST, |list| list["data"]["count"] == 1).await;
    let like = async |line: &str, body: &Value| call(&origin, line, body).await.expect(200);
    let waline = format!("PUT {WALINE}/{}?lang=en", id(&comment));
    for (is_liked, likes) in [(true, 1), (true, 1), (false, 0), (true, 1)] {
        assert_eq!(like(&waline, &json!({"like": is_liked})).await["data"]["like"], likes);
    }
    let artalk = format!("POST {ARTALK}/votes/comment_up/{}", id(&comment));
    for up in [0, 1, 0] {
        assert_eq!(like(&artalk, &json!({"name": "Bo"})).await, json!({"up": up, "down": 0}), "it takes back and puts");
    }
    let artalk = format!("POST {ARTALK}/votes/comment/{}/down", id(&comment));
    assert_eq!(like(&artalk, &json!({})).await, json!({"up": 0, "down": 1}));
    let isso = format!("POST {ISSO}/id/{}/like", id(&comment));
    for _ in 0..2 {
        assert_eq!(like(&isso, &json!({})).await, json!({"likes": 1, "dislikes": 0}));
    }
    let list = json!({"event": "COMMENT_GET", "accessToken": "x".repeat(32), "url": "/post/", "sort": "newest"});
    let is_liked = async || event(&origin, &list).await["data"][0]["liked"].clone();
    assert_eq!(is_liked().await, true, "the network's, whatever the token");
    event(&origin, &json!({"event": "COMMENT_LIKE", "accessToken": "y".repeat(32), "id": id(&comment), "type": "up"}))
        .await;
    assert_eq!(is_liked().await, false, "it takes back");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_is_in_the_words_of_each_widget() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("blockme", TermAction::Block)]).await;
    for (text, part) in [("blockme", "not allowed here"), (" ", "content ")] {
        let refused = post_by_waline(&origin, text, None).await;
        assert!(refused.status >= 400, "{}", refused.text);
        assert_ne!(refused.json["errno"], 0, "{}", refused.text);
        assert!(refused.json["errmsg"].as_str().unwrap_or_default().contains(part), "{}", refused.text);
        let body = json!({"content": text, "name": "Bo", "rid": 0, "page_key": "/post/", "site_name": "D"});
        let refused = call(&origin, &format!("POST {ARTALK}/comments"), &body).await;
        assert!(
            refused.status >= 400 && refused.json["msg"].as_str().unwrap_or_default().contains(part),
            "{}",
            refused.text
        );
        let refused = call(&origin, &format!("POST {ISSO}/new?uri=/post/"), &json!({"text": text})).await;
        assert!(refused.status >= 400 && refused.text.contains(part) && refused.json.is_null(), "{}", refused.text);
        let body = json!({"event": "COMMENT_SUBMIT", "nick": "Bo", "url": "/post/", "comment": text});
        let refused = event(&origin, &body).await;
        assert!(
            refused["code"] == 1_000 && refused["message"].as_str().unwrap_or_default().contains(part),
            "{refused}"
        );
        assert!(refused.get("id").is_none(), "{refused}");
    }
    let unknown = origin.get(&format!("{WALINE}?path=javascript:1&page=1")).await;
    assert_eq!((unknown.status, &unknown.json["errno"]), (400, &json!(1_000)), "{}", unknown.text);
    for (line, body) in [
        (format!("DELETE {WALINE}/7"), json!({})),
        (format!("PUT {WALINE}/7"), json!({"comment": "changed"})),
        (format!("PUT {ISSO}/id/7"), json!({"text": "changed"})),
        (format!("POST {ARTALK}/user/access_token"), json!({"name": "a", "password": "b"})),
        (format!("POST {ARTALK}/upload"), json!({})),
    ] {
        assert_eq!(call(&origin, &line, &body).await.status, 403, "{line}");
    }
    for (name, code) in [("LOGIN", 1_000), ("COMMENT_SET_FOR_ADMIN", 1_024), ("NOTHING", 1_001), ("", 100)] {
        assert_eq!(event(&origin, &json!({"event": name})).await["code"], code, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moderators_decide_about_these_comments_as_about_others() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    let held = post_by_waline(&origin, "please holdme", None).await.expect(200);
    assert_eq!(held["data"]["status"], "waiting", "{held}");
    let token = "t".repeat(40);
    let body =
        json!({"event": "COMMENT_SUBMIT", "accessToken": token, "nick": "Bo", "url": "/post/", "comment": "holdme"});
    let own = event(&origin, &body).await;
    let list = |token: &str| json!({"event": "COMMENT_GET", "accessToken": token, "url": "/post/", "sort": "newest"});
    let seen = poll_until(
        async || call(&origin, "POST /compat/twikoo", &list(&token)).await,
        |answer| answer.json["data"][0]["id"] == own["id"],
    );
    let seen = seen.await.json;
    assert_eq!((&seen["data"][0]["isSpam"], seen["data"].as_array().map(Vec::len)), (&json!(true), Some(1)), "{seen}");
    let seen = event(&origin, &list(&"u".repeat(40))).await;
    assert_eq!(seen["data"], json!([]), "no one else sees what waits");
    origin.decide(&moderator(), &json!({"id": held["data"]["objectId"]}), "approve").await.expect(200);
    expect_list(&origin, WALINE_LIST, |list| list["data"]["count"] == 1).await;
    // A name that belongs to a member is taken, a member who is muted writes nothing, a closed page says so.
    let author = origin.page(&format!("/v1/comments/{}", held["data"]["objectId"].as_str().unwrap_or_default())).await;
    let member = format!("PUT /v1/admin/members/{}", author["author"]["id"].as_str().unwrap_or_default());
    let muted = json!({"muted_until": 4_000_000_000_000_u64});
    origin.request(&member).by(&moderator()).json(&muted).send().await.expect(200);
    let refused = poll_until(|| post_by_waline(&origin, "again", None), |answer| answer.status == 403).await;
    assert!(refused.json["errmsg"].as_str().unwrap_or_default().contains("may not write"), "{}", refused.text);
    origin.put_subject(&admin(), SUBJECT, &json!({"state": "closed"})).await.expect(200);
    let body = json!({"content": "late", "name": "Cy", "rid": 0, "page_key": "/post/", "site_name": "D"});
    let refused = poll_until(|| call(&origin, "POST /compat/artalk/api/v2/comments", &body), |a| a.status == 409).await;
    assert!(refused.json["msg"].is_string(), "{}", refused.text);
    let list = expect_list(&origin, ARTALK_LIST, |list| list["page"]["admin_only"] == true).await;
    assert_eq!(list["comments"][0]["is_allow_reply"], false, "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_root_is_on_one_page() {
    let origin = TestOrigin::start().await;
    let mut posted = Vec::new();
    for number in 0..23 {
        posted.push(id(&origin.post(&bob(), SUBJECT, &number.to_string()).await).to_owned());
        origin.advance(Duration::from_millis(2));
    }
    let newest: Vec<String> = posted.iter().rev().cloned().collect();
    let mut found = Vec::new();
    for page in 1..=4 {
        let path = format!("{WALINE}?path=%2Fpost%2F&pageSize=7&page={page}&sortBy=insertedAt_desc");
        let list = expect_list(&origin, &path, |list| list["data"]["count"] == 23).await;
        assert_eq!(list["data"]["totalPages"], 4);
        found.extend(list["data"]["data"].as_array().into_iter().flatten().map(|root| root["objectId"].clone()));
    }
    assert_eq!(json!(found), json!(newest));
    let (mut found, mut before) = (Vec::new(), Value::Null);
    loop {
        let list =
            event(&origin, &json!({"event": "COMMENT_GET", "url": "/post/", "sort": "newest", "before": before})).await;
        let roots = list["data"].as_array().cloned().unwrap_or_default();
        found.extend(roots.iter().map(|root| root["id"].clone()));
        before = roots.iter().filter_map(|root| root["created"].as_u64()).min().into();
        if list["more"] != true {
            break;
        }
    }
    assert_eq!(json!(found), json!(newest));
    let mut found = Vec::new();
    for before in [Value::Null, json!(1)] {
        let list =
            event(&origin, &json!({"event": "COMMENT_GET", "url": "/post/", "sort": "oldest", "before": before})).await;
        found.extend(list["data"].as_array().into_iter().flatten().map(|root| root["id"].clone()));
    }
    assert_eq!(json!(found), json!(posted), "the first page, and all that follow");
    let mut found = Vec::new();
    for offset in [0, 9, 18] {
        let path = format!("{ISSO}/?uri=%2Fpost%2F&sort=oldest&offset={offset}&limit=9");
        let list = origin.get(&path).await.expect(200);
        assert_eq!(list["hidden_replies"], 23_u64.saturating_sub(offset + 9), "{list}");
        found.extend(list["replies"].as_array().into_iter().flatten().map(|root| root["id"].clone()));
    }
    assert_eq!(json!(found), json!(posted));
}

#[tokio::test(flavor = "multi_thread")]
async fn site_and_switch_of_the_configuration() {
    let origin = TestOrigin::start_with(|config| config.compat.site = Some("www.blog.example".into())).await;
    post_by_waline(&origin, "with a site", None).await.expect(200);
    let page = "/v1/subjects/article/blog.example%2Fpost/comments";
    let page = poll_until(|| origin.get(page), |answer| answer.json["subject"]["comments"] == 1).await;
    assert_eq!(page.json["subject"]["comments"], 1, "{}", page.text);
    let list = origin.get(WALINE_LIST).await;
    assert_eq!(list.header("access-control-allow-origin"), "*");
    // The client of Isso sends credentials, which take no `*`; other sites read all the same.
    let call = |line: &str| origin.request(line).header("origin", "https://other.example");
    let answer = call(&format!("GET {ISSO_LIST}")).send().await;
    let headers = ["access-control-allow-origin", "access-control-allow-credentials"].map(|name| answer.header(name));
    assert_eq!(headers, ["https://other.example", "true"]);
    assert!(answer.header("access-control-expose-headers").contains("Date"), "its clock");
    let refused = call(&format!("POST {ISSO}/new?uri=/post/")).json(&json!({"text": "from afar"})).try_send().await;
    assert_eq!(refused.expect("a response").status, 403, "and do not write");
    let without = TestOrigin::start_with(|config| config.compat.enabled = false).await;
    assert_eq!(without.get(WALINE_LIST).await.status, 404);
}
