//! `/openapi.json`: it describes every route, and every response matches its description.

use std::collections::{BTreeMap, BTreeSet};

use gailou::config::ChallengedGuests;
use gailou_shared::limits;
use gailou_shared::wire::ChangeFeedPage;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiRequest, ApiResponse, TestOrigin, admin, ann, bob, id, moderator, poll_until, with_cursor};
use insta::assert_snapshot;
use serde_json::{Value, json};

const HTTP_METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The calls of the contract that the origin serves: the methods of each path.
fn contract_calls() -> BTreeMap<String, BTreeSet<String>> {
    let table = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/contract_calls.tsv"));
    let mut calls: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (method, path) in table.lines().map(|line| line.split_once('\t').expect("METHOD, tab, path")) {
        calls.entry(path.to_owned()).or_default().insert(method.to_lowercase());
    }
    calls
}

/// The target of a reference, or the value itself.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(at) => document.pointer(at.trim_start_matches('#')).unwrap_or_else(|| panic!("{at} has no target")),
        None => value,
    }
}

/// Forbids additional properties in every object of the schemas.
fn forbid_additional_properties(value: &mut Value) {
    if value["properties"].is_object() && value.get("additionalProperties").is_none() && value.get("allOf").is_none() {
        value["additionalProperties"] = json!(false);
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(forbid_additional_properties),
        Value::Array(items) => items.iter_mut().for_each(forbid_additional_properties),
        _ => {}
    }
}

struct OpenApiDocument(Value);

impl OpenApiDocument {
    /// Checks that the response is described for the operation, and that its body matches the schema.
    #[track_caller]
    fn check(&self, method: &str, path: &str, answer: &ApiResponse) {
        let at = format!("{method} {path} {}", answer.status);
        let responses = &self.0["paths"][path][method]["responses"];
        let response = &responses[answer.status.to_string()];
        assert!(!response.is_null(), "{at} is not described");
        let content = resolved(&self.0, response)["content"].as_object();
        let Some(content) = content.filter(|_| answer.status != 204 && answer.status != 304) else {
            assert_eq!(answer.text, "", "{at}");
            return;
        };
        let kind = answer.header("content-type").split(';').next().unwrap_or_default();
        let body = content.get(kind).unwrap_or_else(|| panic!("{at}: {kind} is not described: {:?}", content.keys()));
        if kind == "text/html" || kind == "text/plain" {
            return;
        }
        self.validate(&at, &body["schema"], &answer.json);
    }

    /// Checks that a value matches a schema of the document.
    #[track_caller]
    fn validate(&self, at: &str, schema: &Value, value: &Value) {
        let mut root = self.0.clone();
        root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        root["allOf"] = json!([schema]);
        let validator = jsonschema::validator_for(&root).unwrap_or_else(|e| panic!("{at}: {e}"));
        let errors: Vec<_> = validator.iter_errors(value).map(|e| format!("{} {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{at}: {errors:#?}\n{value}");
    }
}

async fn fetch_document(origin: &TestOrigin) -> OpenApiDocument {
    let mut document = origin.get("/openapi.json").await.expect(200);
    forbid_additional_properties(&mut document["components"]["schemas"]);
    OpenApiDocument(document)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_the_contract_is_served_and_other_methods_are_405() {
    let origin = TestOrigin::start_with(|config| config.adjustable.rules.show_earlier_texts = true).await;
    for (path, methods) in contract_calls() {
        let address =
            path.replace("{type}", "article").replace("{key}", "1").replace("{id}", "1").replace("{name}", "1.png");
        let address = address.replace("{hash}", &"0".repeat(32));
        for method in HTTP_METHODS {
            let answer = origin.request(&format!("{} {address}", method.to_uppercase())).send().await;
            let is_served = answer.status != 405 && answer.json["code"] != "not_found";
            assert_eq!(is_served, methods.contains(method), "{method} {path}: {} {}", answer.status, answer.text);
            assert!(is_served || answer.status == 405, "{method} {path}: {}", answer.status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn document_describes_the_calls_of_the_contract_and_every_reference_has_a_target() {
    let origin = TestOrigin::start().await;
    let answer = origin.get("/openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    let document = answer.json;
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")));
    let described = document["paths"].as_object().expect("paths").iter().map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|m| HTTP_METHODS.contains(&m.as_str())).cloned();
        (path.clone(), methods.collect())
    });
    let described: BTreeMap<String, BTreeSet<String>> = described.collect();
    assert_eq!(described, contract_calls());
    let items = document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    let mut ids: Vec<_> = items.filter_map(|operation| operation["operationId"].as_str()).collect();
    let operations = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), operations, "a name is of one operation: clients are generated from them");
    fn references<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
        match value {
            Value::Object(fields) => {
                all.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|v| references(v, all));
            }
            Value::Array(items) => items.iter().for_each(|v| references(v, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    references(&document, &mut all);
    for at in all {
        assert!(document.pointer(at.trim_start_matches('#')).is_some(), "{at} has no target");
    }
}

/// A change of the contract is a difference of this snapshot, see `docs/testing.md`.
#[tokio::test(flavor = "multi_thread")]
async fn document_is_the_reviewed_one() {
    let origin = TestOrigin::start().await;
    let document = origin.get("/openapi.json").await.expect(200);
    assert_snapshot!("openapi", serde_json::to_string_pretty(&document).unwrap());
}

/// The attributes of types take literals only.
#[tokio::test(flavor = "multi_thread")]
async fn bounds_of_the_document_are_the_limits() {
    let origin = TestOrigin::start().await;
    let document = origin.get("/openapi.json").await.expect(200);
    for (bound, limit) in [
        ("NewComment/properties/content/maxLength", limits::MAX_CONTENT_CHARS),
        ("NewComment/properties/mentions/maxItems", limits::MAX_MENTIONS),
        ("CommentEdit/properties/content/maxLength", limits::MAX_CONTENT_CHARS),
        ("NewGuest/properties/name/maxLength", limits::MAX_NAME_CHARS),
        ("Comment/properties/path/maxItems", limits::MAX_DEPTH),
        ("Comment/properties/level/maximum", limits::MAX_DEPTH),
        ("Comment/properties/mentions/maxItems", limits::MAX_MENTIONS),
        ("Comment/properties/top_replies/maxItems", limits::TOP_REPLIES),
        ("Subject/properties/pinned/maxItems", limits::MAX_PINS),
        ("CommentPage/properties/data/maxItems", limits::MAX_PAGE_SIZE),
        ("HistoryPage/properties/data/maxItems", limits::MAX_PAGE_SIZE),
        ("MemberChanges/properties/friends/maxItems", limits::MAX_FRIENDS),
        ("MemberChanges/properties/note/maxLength", limits::MAX_NOTE_CHARS),
        ("ModeratedMember/properties/friends/maxItems", limits::MAX_FRIENDS),
        ("ModeratedMember/properties/note/maxLength", limits::MAX_NOTE_CHARS),
        ("PageInfo/properties/next/maxLength", limits::MAX_CURSOR_CHARS),
        ("TreeMore/properties/cursor/maxLength", limits::MAX_CURSOR_CHARS),
        ("Overlay/properties/pending/maxItems", limits::MAX_PENDING_SHOWN),
        ("GuestCreated/properties/token/maxLength", limits::MAX_TOKEN_BYTES),
        ("ChangeFeedPage/properties/rows/maxItems", ChangeFeedPage::MAX_ROWS),
    ] {
        let described = document.pointer(&format!("/components/schemas/{bound}"));
        assert_eq!(described, Some(&json!(limit)), "{bound}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_matches_its_schema() {
    let origin = TestOrigin::start_with(|config| config.adjustable.rules.show_earlier_texts = true).await;
    let document = fetch_document(&origin).await;
    let mut examples = 0;
    for (path, item) in document.0["paths"].as_object().expect("paths") {
        for operation in item.as_object().expect("operations").values() {
            let responses = operation["responses"].as_object().expect("responses").values();
            for message in responses.chain(operation.get("requestBody")) {
                let message = resolved(&document.0, message);
                for content in message["content"].as_object().into_iter().flat_map(|kinds| kinds.values()) {
                    let named = content["examples"].as_object().into_iter().flat_map(|all| all.values());
                    for value in named.map(|example| &example["value"]).chain(content.get("example")) {
                        document.validate(path, &content["schema"], value);
                        examples += 1;
                    }
                }
            }
        }
    }
    assert!(examples > 30, "only {examples} examples");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_matches_its_schema() {
    let guests = ChallengedGuests::Always;
    let Some(origin) = TestOrigin::start_with_search(|config| config.adjustable.challenge.guests = guests).await else {
        return;
    };
    let document = fetch_document(&origin).await;
    origin.load_terms(&[("holdme", TermAction::Review), ("blockme", TermAction::Block)]).await;
    let (ann, bob) = (ann(), bob());
    let (moderator, admin) = (moderator(), admin());
    let guest = origin.register_guest("visitor").await;
    let subject = "article/described";
    let check = async |method: &str, path: &str, request: ApiRequest| {
        let answer = request.send().await;
        document.check(method, path, &answer);
        answer.json
    };
    let comments = "/v1/subjects/{type}/{key}/comments";
    let post = |body: Value| origin.request(&format!("POST /v1/subjects/{subject}/comments")).json(&body);
    let root = check("post", comments, post(json!({"content": "root", "mentions": ["8"]})).by(&ann)).await;
    let of = |more: &str| format!("/v1/comments/{}{more}", id(&root));
    for n in 0..4 {
        let body = json!({"content": format!("reply {n}"), "parent_id": root["id"]});
        let reply = check("post", comments, post(body).by(&bob)).await;
        if n == 1 {
            origin.reply(&ann, &reply, "below a tombstone").await;
            check(
                "delete",
                "/v1/comments/{id}",
                origin.request(&format!("DELETE /v1/comments/{}", id(&reply))).by(&bob),
            )
            .await;
        }
    }
    let held = check("post", comments, post(json!({"content": "holdme"})).by(&ann)).await;
    for (call, status) in [
        (post(json!({"content": "blockme"})).by(&ann), 422),
        (post(json!({"content": 1})).by(&ann), 400),
        (post(json!({"content": "x", "parent_id": "1"})).by(&ann), 404),
        (post(json!({"content": "x"})), 401),
        (post(json!({"content": "x"})).by(&guest), 403),
        (post(json!({})).by(&ann).header("content-type", "text/plain"), 415),
        (post(json!({"content": "x".repeat(70_000)})).by(&ann), 413),
    ] {
        let answer = call.send().await;
        assert_eq!(answer.status, status);
        document.check("post", comments, &answer);
    }
    for what in ["like", "dislike", "pin"] {
        for method in ["put", "delete", "put"] {
            let call = origin.request(&format!("{} {}", method.to_uppercase(), of(&format!("/{what}"))));
            check(method, &format!("/v1/comments/{{id}}/{what}"), call.by(&moderator)).await;
        }
        let path = format!("/v1/comments/{{id}}/{what}");
        check("put", &path, origin.request(&format!("PUT /v1/comments/1/{what}")).by(&ann)).await;
        check("put", &path, origin.request(&format!("PUT {}", of(&format!("/{what}"))))).await;
    }
    let edit = origin.request(&format!("PATCH {}", of(""))).by(&ann).json(&json!({"content": "edited"}));
    check("patch", "/v1/comments/{id}", edit).await;
    let forbidden = origin.request(&format!("PATCH {}", of(""))).by(&bob).json(&json!({"content": "edited"}));
    check("patch", "/v1/comments/{id}", forbidden).await;
    let decision = "/v1/admin/comments/{id}/decision";
    for (comment, action) in [(&root, "feature"), (&held, "approve"), (&held, "reject"), (&held, "burn")] {
        let call = origin.request(&format!("POST /v1/admin/comments/{}/decision", id(comment))).by(&moderator);
        check("post", decision, call.json(&json!({"action": action, "reason": "because"}))).await;
    }
    let report = |of: &str| origin.request(&format!("POST /v1/comments/{of}/reports"));
    for (of, body) in [(id(&root), json!({"reason": "spam"})), ("1", json!({"reason": "spam"})), (id(&root), json!({}))]
    {
        check("post", "/v1/comments/{id}/reports", report(of).by(&bob).json(&body)).await;
    }
    for body in [json!({"ids": [held["id"], "1"], "action": "approve"}), json!({"ids": [], "action": "burn"})] {
        let call = origin.request("POST /v1/admin/decisions").by(&moderator).json(&body);
        check("post", "/v1/admin/decisions", call).await;
    }
    for body in [json!({"ids": [root["id"], "1"]}), json!({"ids": "1"})] {
        let call = origin.request("POST /v1/admin/queue/lease").by(&moderator).json(&body);
        check("post", "/v1/admin/queue/lease", call).await;
    }
    for (method, body) in
        [("put", json!({"data": []})), ("patch", json!({"remove": ["x"]})), ("patch", json!({"add": 1}))]
    {
        let call = origin.request(&format!("{} /v1/admin/words", method.to_uppercase())).by(&moderator).json(&body);
        check(method, "/v1/admin/words", call).await;
    }
    for body in [json!({"term": "root"}), json!({})] {
        let call = origin.request("POST /v1/admin/words/test").by(&moderator).json(&body);
        check("post", "/v1/admin/words/test", call).await;
    }
    for body in [json!({"note": "x", "level": 4, "friends": ["8"]}), json!({"level": -1}), json!({"role": "admin"})] {
        let call = origin.request("PUT /v1/admin/members/7").by(&moderator).json(&body);
        check("put", "/v1/admin/members/{id}", call).await;
    }
    for by in [&admin, &moderator] {
        let call = origin.request("DELETE /v1/admin/members/31").by(by);
        check("delete", "/v1/admin/members/{id}", call).await;
    }
    for (method, path) in [
        ("put", format!("/v1/subjects/{subject}/watch")),
        ("delete", format!("/v1/subjects/{subject}/watch")),
        ("put", format!("/v1/subjects/{subject}/watch")),
        ("put", "/v1/subjects/none/1/watch".into()),
    ] {
        let call = origin.request(&format!("{} {path}", method.to_uppercase())).by(&ann);
        check(method, "/v1/subjects/{type}/{key}/watch", call).await;
    }
    for (path, call) in [
        ("/v1/admin/words", "/v1/admin/words".to_owned()),
        ("/v1/admin/members", "/v1/admin/members?limit=1".into()),
        ("/v1/admin/members", "/v1/admin/members?limit=0".into()),
        ("/v1/admin/members/{id}", "/v1/admin/members/7".into()),
        ("/v1/admin/members/{id}", "/v1/admin/members/x".into()),
        ("/v1/me/friends/comments", format!("/v1/me/friends/comments?subject={subject}")),
        ("/v1/me/friends/comments", format!("/v1/me/friends/comments?subject={subject}&view=compact")),
        ("/v1/me/friends/comments", "/v1/me/friends/comments".into()),
        ("/v1/me/notifications", "/v1/me/notifications?limit=3".into()),
        ("/v1/me/notifications", "/v1/me/notifications?limit=0".into()),
        ("/v1/subjects/{type}/{key}/watch", format!("/v1/subjects/{subject}/watch")),
        ("/v1/subjects/{type}/{key}/watch", "/v1/subjects/none/1/watch".into()),
        ("/v1/me/watches", "/v1/me/watches?limit=3".into()),
        ("/v1/me/watches", "/v1/me/watches?limit=0".into()),
        ("/v1/admin/queue", "/v1/admin/queue".into()),
        ("/v1/admin/queue", "/v1/admin/queue?kind=reported&limit=1".into()),
        ("/v1/admin/queue", "/v1/admin/queue?kind=lost".into()),
        ("/v1/admin/comments", "/v1/admin/comments?q=root&limit=1".into()),
        ("/v1/admin/comments", "/v1/admin/comments?state=lost".into()),
        ("/v1/admin/audit", "/v1/admin/audit?limit=3".into()),
        ("/v1/admin/audit", "/v1/admin/audit?actor=x".into()),
        ("/v1/admin/subjects", "/v1/admin/subjects?limit=3".into()),
        ("/v1/admin/subjects", "/v1/admin/subjects?state=x".into()),
        ("/v1/admin/stats", "/v1/admin/stats?step=minute".into()),
        ("/v1/admin/stats", "/v1/admin/stats?step=week".into()),
        ("/v1/admin/comments/{id}", format!("/v1/admin/comments/{}", id(&root))),
        ("/v1/admin/comments/{id}", "/v1/admin/comments/1".into()),
        ("/v1/admin/comments/{id}/history", format!("/v1/admin/comments/{}/history", id(&root))),
        ("/v1/admin/comments/{id}/reports", format!("/v1/admin/comments/{}/reports", id(&root))),
        ("/v1/admin/comments/{id}/reports", "/v1/admin/comments/1/reports".into()),
    ] {
        for by in [&moderator, &ann] {
            check("get", path, origin.request(&format!("GET {call}")).by(by)).await;
        }
    }
    let undo = origin.decide(&moderator, &held, "hide").await.expect(200)["audit_id"].as_str().unwrap().to_owned();
    for audit in [&*undo, &undo, "1"] {
        let call = origin.request(&format!("POST /v1/admin/audit/{audit}/undo")).by(&moderator);
        check("post", "/v1/admin/audit/{id}/undo", call).await;
    }
    let put = "/v1/admin/subjects/{type}/{key}";
    let body = json!({"title": "T", "url": "https://example.org", "owner_id": "7"});
    check("put", put, origin.request(&format!("PUT /v1/admin/subjects/{subject}")).by(&admin).json(&body)).await;
    check(
        "put",
        put,
        origin.request(&format!("PUT /v1/admin/subjects/{subject}")).by(&admin).json(&json!({"state": 1})),
    )
    .await;

    // Reads follow when they show the writes above.
    poll_until(|| origin.page("/v1/subjects/article/described"), |s| s["title"] == "T").await;
    let list = origin.current_page(subject, &format!("/v1/subjects/{subject}/comments?limit=1")).await;
    assert!(list["subject"]["pinned"].as_array().is_some_and(|pinned| pinned.len() == 1));
    for (path, call) in [
        ("/v1/subjects/{type}/{key}", "/v1/subjects/article/described".to_owned()),
        ("/v1/subjects/{type}/{key}", "/v1/subjects/nope/1".into()),
        ("/v1/subjects/{type}/{key}", "/v1/subjects/article/%00".into()),
        (comments, format!("/v1/subjects/{subject}/comments")),
        (comments, format!("/v1/subjects/{subject}/comments?limit=1&sort=new")),
        (comments, format!("/v1/subjects/{subject}/comments?limit=0")),
        (comments, format!("/v1/subjects/{subject}/comments?view=compact")),
        (comments, format!("/v1/subjects/{subject}/comments?view=x")),
        (comments, with_cursor(&format!("/v1/subjects/{subject}/comments"), "x")),
        (comments, "/v1/subjects/article/empty/comments".into()),
        ("/v1/latest", "/v1/latest".to_owned()),
        ("/v1/latest", "/v1/latest?limit=0".to_owned()),
        ("/v1/latest", "/v1/latest?view=compact".to_owned()),
        ("/v1/latest", "/v1/latest?type=x".to_owned()),
        ("/v1/subjects/{type}/{key}/search", format!("/v1/subjects/{subject}/search?q=root")),
        ("/v1/subjects/{type}/{key}/search", format!("/v1/subjects/{subject}/search?q=")),
        ("/v1/subjects/{type}/{key}/search", format!("/v1/subjects/{subject}/search?q=root&view=compact")),
        ("/v1/comments/{id}", of("")),
        ("/v1/comments/{id}", "/v1/comments/1".into()),
        ("/v1/comments/{id}", "/v1/comments/x".into()),
        ("/v1/comments/{id}/replies", of("/replies?sort=old")),
        ("/v1/comments/{id}/replies", of("/replies?limit=1")),
        ("/v1/comments/{id}/replies", of("/replies?view=compact")),
        ("/v1/comments/{id}/tree", of("/tree")),
        ("/v1/comments/{id}/tree", of("/tree?limit=1&depth=1")),
        ("/v1/comments/{id}/tree", of("/tree?view=compact")),
        ("/v1/comments/{id}/ancestors", of("/ancestors")),
        ("/v1/comments/{id}/ancestors", of("/ancestors?view=compact")),
        ("/v1/comments/{id}/context", of("/context")),
        ("/v1/comments/{id}/context", of("/context?view=compact")),
        ("/v1/comments/{id}/history", of("/history")),
        ("/v1/counts", "/v1/counts?subject=article/described&subject=video/1".into()),
        ("/v1/counts", "/v1/counts".into()),
        ("/v1/auth/providers", "/v1/auth/providers".into()),
        ("/v1/auth/{provider}", "/v1/auth/github?site=http://localhost".into()),
        ("/v1/auth/{provider}", "/v1/auth/github".into()),
        ("/v1/members/{id}/comments", "/v1/members/8/comments?limit=2".into()),
        ("/v1/members/{id}/comments", "/v1/members/8/comments?view=compact".into()),
        ("/v1/members/{id}/comments", "/v1/members/x/comments".into()),
        ("/t/{type}/{key}", "/t/article/described".into()),
        ("/t/{type}/{key}", "/t/nope/1".into()),
        ("/healthz", "/healthz".into()),
        ("/readyz", "/readyz".into()),
        ("/openapi.json", "/openapi.json".into()),
        ("/v1/edge/changes", "/v1/edge/changes?day=1".into()),
        ("/v1/subjects/{type}/{key}/events", format!("/v1/subjects/{subject}/events?after=0")),
        ("/v1/subjects/{type}/{key}/events", format!("/v1/subjects/{subject}/events?after=x")),
    ] {
        check("get", path, origin.request(&format!("GET {call}"))).await;
        if path.starts_with("/v1/comments/{id}") || path == comments {
            check("get", path, origin.request(&format!("GET {call}")).header("if-none-match", "*")).await;
        }
    }
    origin.try_post(&ann, subject, &json!({"content": "own", "visibility": "self"})).await.expect(201);
    let has_pending = |overlay: &Value| overlay["pending"].as_array().is_some_and(|pending| !pending.is_empty());
    poll_until(|| async { origin.overlay(&ann, &[]).await }, has_pending).await;
    let overlay =
        check("get", "/v1/me/overlay", origin.request(&format!("GET /v1/me/overlay?ids={},1", id(&root))).by(&ann))
            .await;
    assert_eq!(overlay["pending"].as_array().unwrap().len(), 1);
    check("get", "/v1/me/overlay", origin.request("GET /v1/me/overlay?ids=x").by(&ann)).await;
    check("get", "/v1/me/overlay", origin.request("GET /v1/me/overlay")).await;
    for (method, body) in
        [("GET", None), ("PATCH", Some(json!({"notify": "daily"}))), ("PATCH", Some(json!({"notify": 1})))]
    {
        let call = origin.request(&format!("{method} /v1/me")).by(&ann);
        let call = body.iter().fold(call, |call, body| call.json(body));
        check(&method.to_lowercase(), "/v1/me", call).await;
    }
    check("post", "/v1/auth/refresh", origin.request("POST /v1/auth/refresh")).await;
    let link = json!({"email": "ann@example.com", "site": "http://localhost"});
    check("post", "/v1/auth/email", origin.request("POST /v1/auth/email").json(&link)).await;
    for preview in [json!({"content": "**x**"}), json!({"content": ""})] {
        check("post", "/v1/preview", origin.request("POST /v1/preview").by(&ann).json(&preview)).await;
    }
    check("post", "/v1/guests", origin.request("POST /v1/guests").json(&json!({"name": "g"}))).await;
    check("post", "/v1/guests", origin.request("POST /v1/guests").json(&json!({}))).await;
}
