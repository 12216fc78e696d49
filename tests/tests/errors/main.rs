//! Every refusal of the contract is a row in a table: the request, and what it is refused with.
//!
//! After the rows nothing has been written, and no row was answered by a 5xx.

mod bodies;
mod parameters;
mod rules;
mod tokens;

use gailou::config::SubjectType;
use gailou_shared::words::Action;
use gailou_tests::{Call, Site, Who, id, who};
use serde_json::{Value, json};

/// A request and its refusal: status, code, and the wrong fields where the contract names them.
struct Row {
    line: String,
    call: Call,
    status: u16,
    code: &'static str,
    fields: Option<Vec<&'static str>>,
}

/// A site with one of everything that can be asked for wrongly.
struct World {
    site: Site,
    ann: Who,
    bob: Who,
    moderator: Who,
    admin: Who,
    guest: Who,
    /// A root of ann's with a reply of bob's.
    root: Value,
    reply: Value,
    /// Deleted, without and with a visible reply.
    deleted: Value,
    tombstone: Value,
    /// Held, hidden by a moderator, for ann alone, written 15 minutes ago.
    held: Value,
    hidden: Value,
    own: Value,
    old: Value,
    /// On another subject, and on a closed one.
    elsewhere: Value,
    closed: Value,
}

impl World {
    async fn new() -> Self {
        let site = Site::with(|config| {
            let club = SubjectType { min_level: 9, guests: false, max_chars: 10, ..config.types["post"].clone() };
            config.types.insert("club".into(), club);
        })
        .await;
        let (ann, bob) = (who(7, "Ann", "member"), who(8, "Bob", "member"));
        let (moderator, admin) = (who(50, "Mod", "moderator"), who(51, "Admin", "admin"));
        let guest = site.guest("visitor").await;
        site.words(&[("holdme", Action::Review), ("forbidden-word", Action::Block)]).await;
        let old = site.post(&ann, "article/e", "old").await;
        site.pass(15 * 60_000);
        let root = site.post(&ann, "article/e", "root").await;
        let reply = site.reply(&bob, &root, "reply").await;
        let deleted = site.post(&ann, "article/e", "deleted").await;
        let tombstone = site.post(&ann, "article/e", "tombstone").await;
        site.reply(&bob, &tombstone, "stays").await;
        for comment in [&deleted, &tombstone] {
            assert_eq!(site.delete(&ann, comment).await.status, 204);
        }
        let held = site.try_post(&ann, "article/e", &json!({"content": "holdme"})).await.expect(202);
        let hidden = site.post(&ann, "article/e", "hidden").await;
        site.decide(&moderator, &hidden, "hide").await.expect(200);
        let own = site.try_post(&ann, "article/e", &json!({"content": "own", "visibility": "self"})).await.expect(201);
        let elsewhere = site.post(&bob, "video/2", "elsewhere").await;
        let closed = site.post(&bob, "article/closed", "closed").await;
        site.put_subject(&admin, "article/closed", &json!({"state": "closed"})).await.expect(200);
        site.put_subject(&admin, "article/hidden", &json!({"state": "hidden"})).await.expect(200);
        Self {
            site,
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

    fn call(&self, line: &str) -> Call {
        self.site.call(line)
    }

    /// A post of ann's to `article/e`.
    fn post(&self) -> Call {
        self.call("POST /v1/subjects/article/e/comments").by(&self.ann)
    }

    /// Sends every row, checks every answer, and that nothing was written.
    async fn check(&self, rows: Vec<Row>) {
        let subjects = ["article/e", "article/closed", "article/new", "video/2"];
        let before = self.site.tables().await;
        let mut versions = Vec::new();
        for subject in subjects {
            versions.push(self.site.version(subject).await);
        }
        let mut wrong = Vec::new();
        for Row { line, call, status, code, fields } in rows {
            // A body that is refused unread ends its connection.
            let answer = call.header("connection", "close").attempt().await.unwrap_or_else(|e| panic!("{line}: {e:?}"));
            let problem = &answer.json;
            let got: Vec<_> =
                problem["errors"].as_array().into_iter().flatten().filter_map(|e| e["field"].as_str()).collect();
            if answer.status != status || problem["code"] != code || fields.as_ref().is_some_and(|f| *f != got) {
                wrong.push(format!(
                    "{line}\n    expected {status} {code} {fields:?}\n    got {} {}",
                    answer.status, answer.text
                ));
                continue;
            }
            let shape = answer.header("content-type") == "application/problem+json"
                && answer.header("cache-control") == "no-store"
                && problem["status"] == status
                && problem["trace_id"] == answer.header("x-request-id")
                && !answer.header("x-request-id").is_empty()
                && ["type", "title", "detail"]
                    .iter()
                    .all(|name| problem[name].as_str().is_some_and(|text| !text.is_empty()))
                && problem["errors"].as_array().into_iter().flatten().all(|e| e["detail"].is_string());
            if !shape {
                wrong.push(format!("{line}: not a problem of the contract: {:?} {}", answer.headers, answer.text));
            }
        }
        assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
        assert_eq!(self.site.tables().await, before, "a refused request has written something");
        for (subject, version) in subjects.into_iter().zip(versions) {
            assert_eq!(self.site.version(subject).await, version, "a refused request has changed {subject}");
        }
    }
}

fn row(line: impl Into<String>, call: Call, status: u16, code: &'static str) -> Row {
    Row { line: line.into(), call, status, code, fields: None }
}

/// `400 invalid_request` for these fields.
fn invalid<const N: usize>(line: impl Into<String>, call: Call, fields: [&'static str; N]) -> Row {
    Row { fields: Some(fields.into()), ..row(line, call, 400, "invalid_request") }
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_and_methods() {
    let w = World::new().await;
    let mut rows = Vec::new();
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v2/subjects/article/e",
        "/v1/subjects/article",
        "/v1/comments",
        "/v1/nothing",
        "/v1/me",
        "/t/article",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let line = format!("{method} {path}");
            rows.push(row(&line, w.call(&line), 404, "not_found"));
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
            rows.push(row(&line, w.call(&line), 404, "unknown_subject_type"));
        }
    }
    rows.push(row("counts", w.call("GET /v1/counts?subject=nope/1"), 404, "unknown_subject_type"));
    let root = id(&w.root);
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
        rows.push(row(line.clone(), w.call(&line).by(&w.admin), 405, "method_not_allowed"));
    }
    w.check(rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_requests_and_answers_to_head() {
    let site = Site::start().await;
    for (given, kept) in [("abc-DEF_1", true), ("a b", false), (&"x".repeat(65) as &str, false), ("<x>", false)] {
        let answer = site.call("GET /nothing").header("x-request-id", given).send().await;
        assert_eq!(answer.header("x-request-id") == given, kept, "{given}");
        assert_eq!(answer.json["trace_id"], answer.header("x-request-id"));
    }
    for path in ["/v1/subjects/nope/1", "/v1/comments/1", "/v1/subjects/article/1", "/healthz"] {
        let (get, head) = (site.get(path).await, site.call(&format!("HEAD {path}")).send().await);
        assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_are_told_when_to_come_back() {
    let site = Site::with(|config| {
        config.limits.enabled = true;
        config.limits.guests_per_hour_address = 2;
    })
    .await;
    let ann = who(7, "Ann", "member");
    for n in 0..5 {
        site.post(&ann, "post/1", &n.to_string()).await;
    }
    let posts = site.try_post(&ann, "post/1", &json!({"content": "6"})).await;
    for _ in 0..2 {
        site.guest("g").await;
    }
    let guests = site.call("POST /v1/guests").json(&json!({"name": "g"})).send().await;
    for answer in [posts, guests] {
        assert_eq!((answer.status, &answer.json["code"]), (429, &json!("rate_limited")), "{}", answer.text);
        assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
        assert!(answer.header("ratelimit-policy").contains("q=") && answer.header("ratelimit").contains("r=0"));
    }
    // Others, reads and likes go on.
    let comment = site.post(&who(8, "Bob", "member"), "post/1", "x").await;
    site.like(&ann, &comment).await;
    // What was refused was not written.
    let subject = site.fresh("post/1", "/v1/subjects/post/1/comments").await["subject"].clone();
    assert_eq!(subject["comments"], 6);
}
