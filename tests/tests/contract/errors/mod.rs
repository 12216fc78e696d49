//! Every refusal of the contract: a table of requests with the status and the code of each.
//!
//! Promise: a refused request writes nothing, and none is answered with a 5xx.

mod bodies;
mod parameters;
mod rules;
mod tokens;

use std::time::Duration;

use gailou::config::SubjectType;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiRequest, TestMember, TestOrigin, admin, ann, bob, id, moderator};
use serde_json::{Value, json};

/// A request and its refusal: the status, the code, and the wrong fields where the contract names them.
struct RefusalCase {
    name: String,
    request: ApiRequest,
    status: u16,
    code: &'static str,
    fields: Option<Vec<&'static str>>,
}

/// An origin with one comment of every kind that a request may not use.
struct RefusalTestBed {
    origin: TestOrigin,
    ann: TestMember,
    bob: TestMember,
    moderator: TestMember,
    admin: TestMember,
    guest: TestMember,
    /// A root of Ann with a reply of Bob.
    root: Value,
    reply: Value,
    /// Deleted, without a visible reply and with one.
    deleted: Value,
    tombstone: Value,
    /// Held; hidden by a moderator; visible to Ann alone; older than the edit window.
    held: Value,
    hidden: Value,
    own: Value,
    old: Value,
    /// On another subject; on a closed one.
    elsewhere: Value,
    closed: Value,
}

impl RefusalTestBed {
    async fn new() -> Self {
        let origin = TestOrigin::start_with(|config| {
            let club = SubjectType { min_level: 9, guests: false, max_chars: 10, ..config.types["post"].clone() };
            config.types.insert("club".into(), club);
        })
        .await;
        let (ann, bob) = (ann(), bob());
        let (moderator, admin) = (moderator(), admin());
        let guest = origin.register_guest("visitor").await;
        origin.load_terms(&[("holdme", TermAction::Review), ("forbidden-word", TermAction::Block)]).await;
        let old = origin.post(&ann, "article/e", "old").await;
        origin.advance(Duration::from_secs(15 * 60));
        let root = origin.post(&ann, "article/e", "root").await;
        let reply = origin.reply(&bob, &root, "reply").await;
        let deleted = origin.post(&ann, "article/e", "deleted").await;
        let tombstone = origin.post(&ann, "article/e", "tombstone").await;
        origin.reply(&bob, &tombstone, "stays").await;
        for comment in [&deleted, &tombstone] {
            assert_eq!(origin.delete(&ann, comment).await.status, 204);
        }
        let held = origin.try_post(&ann, "article/e", &json!({"content": "holdme"})).await.expect(202);
        let hidden = origin.post(&ann, "article/e", "hidden").await;
        origin.decide(&moderator, &hidden, "hide").await.expect(200);
        let own =
            origin.try_post(&ann, "article/e", &json!({"content": "own", "visibility": "self"})).await.expect(201);
        let elsewhere = origin.post(&bob, "video/2", "elsewhere").await;
        let closed = origin.post(&bob, "article/closed", "closed").await;
        origin.put_subject(&admin, "article/closed", &json!({"state": "closed"})).await.expect(200);
        origin.put_subject(&admin, "article/hidden", &json!({"state": "hidden"})).await.expect(200);
        Self {
            origin,
            ann,
            bob,
            moderator,
            admin,
            guest,
            root,
            reply,
            deleted,
            tombstone,
            held,
            hidden,
            own,
            old,
            elsewhere,
            closed,
        }
    }

    fn request(&self, line: &str) -> ApiRequest {
        self.origin.request(line)
    }

    /// A post of Ann on `article/e`.
    fn post(&self) -> ApiRequest {
        self.request("POST /v1/subjects/article/e/comments").by(&self.ann)
    }

    /// Sends every request, checks each refusal, and checks that nothing was written.
    async fn check(&self, cases: Vec<RefusalCase>) {
        let subjects = ["article/e", "article/closed", "article/new", "video/2"];
        let before = self.origin.export_tables().await;
        let mut versions = Vec::new();
        for subject in subjects {
            versions.push(self.origin.stored_version(subject).await);
        }
        let mut wrong = Vec::new();
        for RefusalCase { name, request, status, code, fields } in cases {
            // The origin closes the connection when it refuses a body without reading it.
            let answer = request.header("connection", "close").try_send().await;
            let answer = answer.unwrap_or_else(|e| panic!("{name}: {e:?}"));
            let problem = &answer.json;
            let got: Vec<_> =
                problem["errors"].as_array().into_iter().flatten().filter_map(|e| e["field"].as_str()).collect();
            if answer.status != status || problem["code"] != code || fields.as_ref().is_some_and(|f| *f != got) {
                wrong.push(format!(
                    "{name}\n    expected {status} {code} {fields:?}\n    got {} {}",
                    answer.status, answer.text
                ));
                continue;
            }
            let is_problem = answer.header("content-type") == "application/problem+json"
                && answer.header("cache-control") == "no-store"
                && problem["status"] == status
                && problem["trace_id"] == answer.header("x-request-id")
                && !answer.header("x-request-id").is_empty()
                && ["type", "title", "detail"]
                    .iter()
                    .all(|name| problem[name].as_str().is_some_and(|text| !text.is_empty()))
                && problem["errors"].as_array().into_iter().flatten().all(|e| e["detail"].is_string());
            if !is_problem {
                wrong.push(format!(
                    "{name}: not a problem document of the contract: {:?} {}",
                    answer.headers, answer.text
                ));
            }
        }
        assert!(wrong.is_empty(), "{} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
        assert_eq!(self.origin.export_tables().await, before, "a refused request has written to the tables");
        for (subject, version) in subjects.into_iter().zip(versions) {
            assert_eq!(self.origin.stored_version(subject).await, version, "a refused request has changed {subject}");
        }
    }
}

fn refusal(name: impl Into<String>, request: ApiRequest, status: u16, code: &'static str) -> RefusalCase {
    RefusalCase { name: name.into(), request, status, code, fields: None }
}

/// `400 invalid_request` for these fields.
fn invalid<const N: usize>(name: impl Into<String>, request: ApiRequest, fields: [&'static str; N]) -> RefusalCase {
    RefusalCase { fields: Some(fields.into()), ..refusal(name, request, 400, "invalid_request") }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_routes_are_404_and_unknown_methods_are_405() {
    let bed = RefusalTestBed::new().await;
    let mut cases = Vec::new();
    for path in [
        "/nothing",
        "/v1",
        "/v1/",
        "/v2/subjects/article/e",
        "/v1/subjects/article",
        "/v1/comments",
        "/v1/nothing",
        "/v1/me/nothing",
        "/t/article",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let line = format!("{method} {path}");
            cases.push(refusal(&line, bed.request(&line), 404, "not_found"));
        }
    }
    for kind in ["nope", "ARTICLE", "art%00icle", "%FF", "article%20", "%E6%A5%BC"] {
        for line in [
            format!("GET /v1/subjects/{kind}/1"),
            format!("GET /v1/subjects/{kind}/1/comments"),
            format!("GET /v1/subjects/{kind}/1/comments?limit=0"),
            format!("POST /v1/subjects/{kind}/1/comments"),
            format!("PUT /v1/admin/subjects/{kind}/1"),
            format!("GET /t/{kind}/1"),
        ] {
            cases.push(refusal(&line, bed.request(&line), 404, "unknown_subject_type"));
        }
    }
    cases.push(refusal("counts", bed.request("GET /v1/counts?subject=nope/1"), 404, "unknown_subject_type"));
    let root = id(&bed.root);
    for line in [
        "PUT /v1/subjects/article/e".into(),
        "DELETE /v1/subjects/article/e/comments".into(),
        "PATCH /v1/subjects/article/e/comments".into(),
        format!("POST /v1/comments/{root}"),
        format!("PUT /v1/comments/{root}"),
        format!("GET /v1/comments/{root}/like"),
        format!("POST /v1/comments/{root}/like"),
        format!("POST /v1/comments/{root}/replies"),
        "GET /v1/guests".into(),
        "POST /v1/counts".into(),
        "POST /v1/me/overlay".into(),
        "GET /v1/admin/comments/1/decision".into(),
        "POST /t/article/e".into(),
        "DELETE /openapi.json".into(),
    ] {
        cases.push(refusal(line.clone(), bed.request(&line).by(&bed.admin), 405, "method_not_allowed"));
    }
    bed.check(cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_ids_are_kept_when_valid_and_head_equals_get() {
    let origin = TestOrigin::start().await;
    for (given, kept) in [("abc-DEF_1", true), ("a b", false), (&"x".repeat(65) as &str, false), ("<x>", false)] {
        let answer = origin.request("GET /nothing").header("x-request-id", given).send().await;
        assert_eq!(answer.header("x-request-id") == given, kept, "{given}");
        assert_eq!(answer.json["trace_id"], answer.header("x-request-id"));
    }
    for path in ["/v1/subjects/nope/1", "/v1/comments/1", "/v1/subjects/article/1", "/healthz"] {
        let (get, head) = (origin.get(path).await, origin.request(&format!("HEAD {path}")).send().await);
        assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
}
