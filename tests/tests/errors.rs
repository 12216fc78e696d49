//! Every refusal of the contract is a row in a table: the request, and what it is refused with.
//!
//! After the rows nothing has been written, and no row was answered by a 5xx.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use gailou::config::SubjectType;
use gailou_shared::cursor::{Cursor, CursorKey, List, Position};
use gailou_shared::rank::Sort;
use gailou_shared::words::Action;
use gailou_tests::{Call, Site, Who, id, who};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::{Sha256, Sha512};

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

/// A JWT with these parts, signed by HMAC-SHA-256 or another way.
fn jwt(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

fn hs256(secret: &'static str) -> impl Fn(&[u8]) -> Vec<u8> {
    move |text| {
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(text).finalize().into_bytes().to_vec()
    }
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
async fn tokens() {
    let w = World::new().await;
    let secret = gailou::config::DEVELOPMENT_SECRET;
    let now = w.site.app.now() / 1_000;
    let head = |alg: &str| json!({"alg": alg, "typ": "JWT"});
    let claims = |change: Value| {
        let mut claims = json!({"sub": "7", "name": "Ann", "aud": "gailou", "exp": now + 600});
        for (name, value) in change.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name)
            } else {
                claims.as_object_mut().unwrap().insert(name.clone(), value.clone())
            };
        }
        claims
    };
    let good = jwt(&head("HS256"), &claims(json!({})), hs256(secret));
    w.call("GET /v1/me/overlay?ids=").header("authorization", &format!("Bearer {good}")).send().await.expect(200);
    let (start, signature) = good.rsplit_once('.').unwrap();
    let hs512 = |text: &[u8]| {
        Hmac::<Sha512>::new_from_slice(secret.as_bytes()).unwrap().chain_update(text).finalize().into_bytes().to_vec()
    };
    let forged_body = BASE64_URL_SAFE_NO_PAD.encode(claims(json!({"sub": "8"})).to_string());
    let mut tokens: Vec<(String, String)> = vec![
        ("not a JWT".into(), "abc".into()),
        ("three empty parts".into(), "..".into()),
        ("no signature".into(), format!("{start}.")),
        ("another's claims".into(), format!("{}.{forged_body}.{signature}", start.split('.').next().unwrap())),
        ("half a signature".into(), format!("{start}.{}", &signature[..20])),
        (
            "another secret".into(),
            jwt(&head("HS256"), &claims(json!({})), hs256("another-secret-another-secret-another")),
        ),
        ("an empty secret".into(), jwt(&head("HS256"), &claims(json!({})), hs256(""))),
        ("alg none".into(), jwt(&head("none"), &claims(json!({})), |_| vec![])),
        ("alg none, signed".into(), jwt(&head("none"), &claims(json!({})), hs256(secret))),
        ("alg HS512".into(), jwt(&head("HS512"), &claims(json!({})), hs512)),
        ("alg EdDSA".into(), jwt(&head("EdDSA"), &claims(json!({})), hs256(secret))),
        ("EdDSA that is none".into(), jwt(&head("EdDSA"), &claims(json!({})), |_| vec![7; 64])),
        ("5,000 bytes".into(), jwt(&head("HS256"), &claims(json!({"avatar": "x".repeat(5_000)})), hs256(secret))),
    ];
    for (name, change) in [
        ("expired", json!({"exp": now - 60})),
        ("31 days ahead", json!({"exp": now + 31 * 86_400})),
        ("never expires", json!({"exp": null})),
        ("exp is text", json!({"exp": "soon"})),
        ("not yet", json!({"nbf": now + 600})),
        ("no audience", json!({"aud": null})),
        ("another audience", json!({"aud": "gailou2"})),
        ("other audiences", json!({"aud": ["a", "b"]})),
        ("no sub", json!({"sub": null})),
        ("sub is a number", json!({"sub": 7})),
        ("sub 0", json!({"sub": "0"})),
        ("sub 07", json!({"sub": "07"})),
        ("sub -7", json!({"sub": "-7"})),
        ("sub is a name", json!({"sub": "ann"})),
        ("sub 2^63", json!({"sub": "9223372036854775808"})),
        ("sub of an import", json!({"sub": (3u64 << 61).to_string()})),
        ("no name", json!({"name": null})),
        ("an empty name", json!({"name": "  "})),
        ("65 characters", json!({"name": "楼".repeat(65)})),
        ("a control character", json!({"name": "a\u{7}b"})),
        ("an unknown role", json!({"role": "root"})),
        ("a negative level", json!({"level": -1})),
    ] {
        tokens.push((name.into(), jwt(&head("HS256"), &claims(change), hs256(secret))));
    }
    let mut rows = Vec::new();
    let root = id(&w.root);
    let lines = [
        "POST /v1/subjects/article/e/comments".to_owned(),
        "GET /v1/me/overlay?ids=1".into(),
        format!("PUT /v1/comments/{root}/like"),
        format!("DELETE /v1/comments/{root}"),
        format!("PATCH /v1/comments/{root}"),
        format!("PUT /v1/comments/{root}/pin"),
        format!("POST /v1/admin/comments/{root}/decision"),
        "PUT /v1/admin/subjects/article/e".into(),
    ];
    let body = json!({"content": "x", "action": "approve"});
    for line in &lines {
        rows.push(row(format!("{line}: no token"), w.call(line).json(&body), 401, "token_missing"));
        for (name, token) in &tokens {
            let call = w.call(line).json(&body).header("authorization", &format!("Bearer {token}"));
            rows.push(row(format!("{line}: {name}"), call, 401, "token_invalid"));
        }
        for value in ["", "Bearer", "Bearer ", "Basic dTpw", &good, &format!("Token {good}")] {
            let call = w.call(line).json(&body).header("authorization", value);
            rows.push(row(format!("{line}: {value:?}"), call, 401, "token_invalid"));
        }
    }
    w.check(rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies() {
    let w = World::new().await;
    let json_type = |call: Call| call.header("content-type", "application/json");
    let mut rows = Vec::new();
    // What is no JSON object is the field `body`.
    for (name, body) in [
        ("nothing", b"".to_vec()),
        ("half an object", br#"{"content":"x""#.to_vec()),
        ("a list", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("text", br#""content""#.to_vec()),
        ("two objects", br#"{"content":"x"}{}"#.to_vec()),
        ("broken UTF-8", b"{\"content\":\"\xff\xfe\"}".to_vec()),
        ("UTF-16", b"{\x00\"\x00}\x00".to_vec()),
        ("half a surrogate pair", br#"{"content":"\ud83d"}"#.to_vec()),
        ("a byte order mark", b"\xef\xbb\xbf{\"content\":\"x\"}".to_vec()),
        ("a raw control character", b"{\"content\":\"a\x00b\"}".to_vec()),
        ("10,000 levels", [b"[".repeat(10_000), b"]".repeat(10_000)].concat()),
        ("NaN", br#"{"content":"x","parent_id":NaN}"#.to_vec()),
    ] {
        let lines = [
            ("POST /v1/subjects/article/e/comments".to_owned(), &w.ann),
            (format!("PATCH /v1/comments/{}", id(&w.root)), &w.ann),
            ("POST /v1/guests".into(), &w.ann),
            (format!("POST /v1/admin/comments/{}/decision", id(&w.root)), &w.moderator),
            ("PUT /v1/admin/subjects/article/e".into(), &w.admin),
        ];
        for (line, by) in lines {
            rows.push(invalid(
                format!("{line}: {name}"),
                json_type(w.call(&line).by(by)).bytes(body.clone()),
                ["body"],
            ));
        }
    }
    // Each wrong field is named.
    let long = "楼".repeat(5_001);
    for (body, fields) in [
        (json!({}), vec!["content"]),
        (json!({"content": null}), vec!["content"]),
        (json!({"content": 7}), vec!["content"]),
        (json!({"content": ["x"]}), vec!["content"]),
        (json!({"content": ""}), vec!["content"]),
        (json!({"content": " \n\t\u{200b}\u{feff}"}), vec!["content"]),
        (json!({"content": "a\u{0}b"}), vec!["content"]),
        (json!({"content": "a\u{1b}[31mb"}), vec!["content"]),
        (json!({"content": "a\u{85}b"}), vec!["content"]),
        (json!({"content": long}), vec!["content"]),
        (json!({"content": "x", "parent_id": 5}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "abc"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": ""}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "0"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "01"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "-1"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "9223372036854775808"}), vec!["parent_id"]),
        (json!({"content": "x", "mentions": "7"}), vec!["mentions"]),
        (json!({"content": "x", "mentions": [7]}), vec!["mentions"]),
        (json!({"content": "x", "mentions": ["ann"]}), vec!["mentions"]),
        (json!({"content": "x", "mentions": (1..=21).map(|n| n.to_string()).collect::<Vec<_>>()}), vec!["mentions"]),
        (json!({"content": "x", "visibility": "all"}), vec!["visibility"]),
        (json!({"content": "x", "visibility": 1}), vec!["visibility"]),
        (json!({"content": "x", "media": "1"}), vec!["media"]),
        (json!({"content": "x", "media": ["1"]}), vec!["media"]),
        (
            json!({"content": "", "parent_id": 5, "mentions": {}, "visibility": "", "media": 1}),
            vec!["content", "parent_id", "mentions", "visibility", "media"],
        ),
    ] {
        let line: String = body.to_string().chars().take(80).collect();
        rows.push(Row { fields: Some(fields), ..row(line, w.post().json(&body), 400, "invalid_request") });
    }
    let edit = |body: Value| w.call(&format!("PATCH /v1/comments/{}", id(&w.root))).by(&w.ann).json(&body);
    for content in [json!(null), json!(1), json!(""), json!("a\u{0}"), json!(long)] {
        rows.push(invalid(
            format!("edit {}", &content.to_string()[..1]),
            edit(json!({"content": content})),
            ["content"],
        ));
    }
    for name in [json!(null), json!(1), json!(""), json!("\u{200b}"), json!("a\nb"), json!("x".repeat(65))] {
        rows.push(invalid(format!("guest {name}"), w.call("POST /v1/guests").json(&json!({"name": name})), ["name"]));
    }
    let decide =
        |body: Value| w.call(&format!("POST /v1/admin/comments/{}/decision", id(&w.root))).by(&w.moderator).json(&body);
    rows.push(invalid("no action", decide(json!({})), ["action"]));
    rows.push(invalid("an unknown action", decide(json!({"action": "burn"})), ["action"]));
    rows.push(invalid("a reason that is no text", decide(json!({"action": "hide", "reason": 5})), ["reason"]));
    rows.push(invalid("both", decide(json!({"action": 1, "reason": "x".repeat(1_001)})), ["action", "reason"]));
    let subject = |body: Value| w.call("PUT /v1/admin/subjects/article/e").by(&w.admin).json(&body);
    rows.push(invalid("state", subject(json!({"state": "ajar"})), ["state"]));
    rows.push(invalid("owner", subject(json!({"owner_id": 7})), ["owner_id"]));
    rows.push(invalid("title", subject(json!({"title": 7})), ["title"]));
    rows.push(invalid("url", subject(json!({"url": "a\nb"})), ["url"]));
    rows.push(invalid("mode", subject(json!({"mode": "spiral"})), ["mode"]));
    // Size before type before content; the token before all of them.
    let big = |n: usize| format!("{{\"content\":\"{}\"}}", "x".repeat(n - 14)).into_bytes();
    assert_eq!(big(65_536).len(), 65_536);
    let lines = [
        ("POST /v1/subjects/article/e/comments".to_owned(), &w.ann),
        (format!("PATCH /v1/comments/{}", id(&w.root)), &w.ann),
        ("POST /v1/guests".into(), &w.ann),
        (format!("POST /v1/admin/comments/{}/decision", id(&w.root)), &w.moderator),
        ("PUT /v1/admin/subjects/article/e".into(), &w.admin),
    ];
    for (line, by) in lines {
        let call = || w.call(&line).by(by);
        rows.push(row(format!("{line}: too large"), json_type(call()).bytes(big(65_537)), 413, "body_too_large"));
        rows.push(row(
            format!("{line}: too large, no length"),
            json_type(call()).chunked(big(65_537)),
            413,
            "body_too_large",
        ));
        rows.push(row(
            format!("{line}: too large, text"),
            call().header("content-type", "text/plain").bytes(big(65_537)),
            413,
            "body_too_large",
        ));
        rows.push(row(format!("{line}: no type"), call().bytes("{"), 415, "unsupported_media_type"));
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "text/json", "application"]
        {
            rows.push(row(
                format!("{line}: {kind}"),
                call().header("content-type", kind).bytes("{"),
                415,
                "unsupported_media_type",
            ));
        }
    }
    rows.push(invalid("65,536 bytes are taken", json_type(w.post()).bytes(big(65_536)), ["content"]));
    let bare = || w.call("POST /v1/subjects/article/e/comments");
    rows.push(row("no token, too large", json_type(bare()).bytes(big(65_537)), 401, "token_missing"));
    rows.push(row("no token, no type", bare().bytes("{"), 401, "token_missing"));
    rows.push(row(
        "no type, wrong id",
        w.call("PATCH /v1/comments/abc").by(&w.ann).bytes("{"),
        415,
        "unsupported_media_type",
    ));
    w.check(rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_ids_and_parameters() {
    let w = World::new().await;
    let mut rows = Vec::new();
    let too_long = "k".repeat(513);
    for key in [too_long.as_str(), "a%00b", "a%0Ab", "%7F", "%FF", "%C3%28", &"%E6%A5%BC".repeat(171)] {
        for line in [
            format!("GET /v1/subjects/article/{key}"),
            format!("GET /v1/subjects/article/{key}/comments"),
            format!("POST /v1/subjects/article/{key}/comments"),
            format!("PUT /v1/admin/subjects/article/{key}"),
            format!("GET /t/article/{key}"),
        ] {
            let call = w.call(&line).by(&w.admin);
            let call = if line.starts_with('P') { call.json(&json!({"content": "x"})) } else { call };
            rows.push(invalid(line, call, ["key"]));
        }
    }
    for subjects in [
        "",
        "?subject=",
        "?subject=article",
        "?subject=article/",
        "?subject=article/%00",
        "?subject=article/%FF",
        &format!("?subject=article/{too_long}"),
    ] {
        rows.push(invalid(subjects, w.call(&format!("GET /v1/counts{subjects}")), ["subject"]));
    }
    let many: String = (0..101).map(|n| format!("subject=article/{n}&")).collect();
    rows.push(invalid("101 subjects", w.call(&format!("GET /v1/counts?{many}")), ["subject"]));

    let comment = |id: &str| {
        vec![
            format!("GET /v1/comments/{id}"),
            format!("GET /v1/comments/{id}/replies"),
            format!("GET /v1/comments/{id}/tree"),
            format!("GET /v1/comments/{id}/ancestors"),
            format!("GET /v1/comments/{id}/context"),
            format!("PATCH /v1/comments/{id}"),
            format!("DELETE /v1/comments/{id}"),
            format!("PUT /v1/comments/{id}/like"),
            format!("DELETE /v1/comments/{id}/like"),
            format!("PUT /v1/comments/{id}/dislike"),
            format!("DELETE /v1/comments/{id}/dislike"),
            format!("PUT /v1/comments/{id}/pin"),
            format!("DELETE /v1/comments/{id}/pin"),
            format!("POST /v1/admin/comments/{id}/decision"),
        ]
    };
    let send = |line: &str| w.call(line).by(&w.admin).json(&json!({"content": "x", "action": "hide"}));
    for wrong in
        ["abc", "0", "00", "01", "-1", "1.0", "+1", "1e3", "9223372036854775808", "99999999999999999999", "%20", "null"]
    {
        for line in comment(wrong) {
            rows.push(invalid(&line, send(&line), ["id"]));
        }
        rows.push(invalid(wrong, w.call(&format!("GET /v1/members/{wrong}/comments")), ["id"]));
    }
    for unknown in ["1", "9223372036854775807", &(id(&w.root).parse::<u64>().unwrap() + 1).to_string()] {
        for line in comment(unknown) {
            rows.push(row(&line, send(&line), 404, "comment_not_found"));
        }
    }
    let (root, list) = (id(&w.root), "GET /v1/subjects/article/e/comments");
    for wrong in ["0", "101", "-1", "abc", "", "1.5", "1e1", "%2B5", "0x10", "99999999999999999999999"] {
        for path in [
            list,
            &format!("GET /v1/comments/{root}/replies"),
            &format!("GET /v1/comments/{root}/tree"),
            "GET /v1/members/7/comments",
        ] {
            if wrong == "101" && path.ends_with("tree") {
                continue;
            }
            let line = format!("{path}?limit={wrong}");
            rows.push(invalid(&line, w.call(&line), ["limit"]));
        }
        if wrong != "101" {
            let line = format!("GET /v1/comments/{root}/tree?depth={wrong}");
            rows.push(invalid(&line, w.call(&line), ["depth"]));
        }
    }
    let line = format!("GET /v1/comments/{root}/tree?depth=0&limit=0");
    rows.push(invalid(&line, w.call(&line), ["depth", "limit"]));
    for wrong in ["", "HOT", "random", "hot,new", "%FF"] {
        let line = format!("{list}?sort={wrong}");
        rows.push(invalid(&line, w.call(&line), ["sort"]));
    }
    for wrong in ["top", "best", "replies", "controversial", "x"] {
        let line = format!("GET /v1/comments/{root}/replies?sort={wrong}");
        rows.push(invalid(&line, w.call(&line), ["sort"]));
    }
    rows.push(invalid("both", w.call(&format!("{list}?sort=x&limit=0")), ["limit", "sort"]));
    let ids: Vec<_> = (1..=401).map(|n| n.to_string()).collect();
    for ids in ["abc".to_owned(), "1,,x".into(), "0".into(), "1;2".into(), ids.join(",")] {
        rows.push(invalid(&ids, w.call(&format!("GET /v1/me/overlay?ids={ids}")).by(&w.ann), ["ids"]));
    }
    // RFC 9110, 5.5: other bytes than visible ASCII may stand in a header too.
    for key in ["", " ", "a b", "楼", &"k".repeat(129)] {
        rows.push(invalid(
            format!("key {key:?}"),
            w.post().key(key).json(&json!({"content": "x"})),
            ["Idempotency-Key"],
        ));
    }
    w.check(rows).await;
    // The longest key, and the longest comment of the largest characters.
    let key = "%E6%A5%BC".repeat(170) + "ab";
    w.call(&format!("POST /v1/subjects/article/{key}/comments"))
        .by(&w.ann)
        .json(&json!({"content": "😀".repeat(5_000)}))
        .send()
        .await
        .expect(201);
    assert_eq!(w.site.page(&format!("/v1/subjects/article/{key}")).await["comments"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors() {
    let w = World::new().await;
    for n in 0..3 {
        w.site.post(&w.bob, "article/e", &format!("root {n}")).await;
        w.site.post(&w.bob, "video/2", &format!("root {n}")).await;
        w.site.reply(&w.bob, &w.root, &format!("reply {n}")).await;
    }
    let next = async |path: &str| w.site.page(path).await["page"]["next"].as_str().expect("a cursor").to_owned();
    let (root, reply) = (id(&w.root), id(&w.reply));
    let list = "/v1/subjects/article/e/comments";
    let hot = next(&format!("{list}?limit=1")).await;
    let new = next(&format!("{list}?limit=1&sort=new")).await;
    let other = next("/v1/subjects/video/2/comments?limit=1").await;
    let replies = next(&format!("/v1/comments/{root}/replies?limit=1")).await;
    let member = next("/v1/members/8/comments?limit=1").await;
    let tree = w.site.page(&format!("/v1/comments/{root}/tree?limit=1")).await;
    let tree = tree["data"]["more"]["cursor"].as_str().expect("a cursor").to_owned();
    let forged = {
        let cursor = Cursor {
            list: List::Member(8u64.to_string().parse().unwrap()),
            sort: Sort::New,
            epoch: 1,
            at: Position::After(1 << 60),
        };
        CursorKey::new(b"another secret").print(&cursor)
    };
    let flipped = |at: usize| {
        let mut bytes = hot.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let lists = [
        list.to_owned(),
        format!("{list}?sort=new"),
        format!("/v1/comments/{root}/replies"),
        format!("/v1/comments/{root}/replies?sort=old"),
        format!("/v1/comments/{root}/tree"),
        "/v1/members/8/comments".into(),
    ];
    let mut rows = Vec::new();
    let mut add = |path: &str, cursor: &str| {
        let join = if path.contains('?') { '&' } else { '?' };
        let line = format!("GET {path}{join}cursor={cursor}");
        rows.push(row(&line, w.call(&line), 400, "bad_cursor"));
    };
    for path in &lists {
        for cursor in [
            "",
            "x",
            "AAAA",
            "%00",
            "%E6%A5%BC",
            &"A".repeat(100),
            &"A".repeat(300),
            &forged,
            &format!("{hot}A"),
            &hot[..hot.len() - 1],
        ] {
            add(path, cursor);
        }
        for at in [0, 3, 14, hot.len() / 2, hot.len() - 1] {
            add(path, &flipped(at));
        }
        add(path, &other);
    }
    for (path, cursors) in [
        (list.to_owned(), vec![&replies, &member, &tree]),
        (format!("{list}?sort=new"), vec![&hot]),
        (format!("{list}?sort=hot"), vec![&new]),
        (format!("{list}?sort=top"), vec![&hot, &new]),
        (format!("/v1/comments/{root}/replies"), vec![&hot, &new, &member, &tree]),
        (format!("/v1/comments/{root}/replies?sort=old"), vec![&replies]),
        (format!("/v1/comments/{reply}/replies"), vec![&replies]),
        (format!("/v1/comments/{root}/tree"), vec![&hot, &new, &replies, &member]),
        (format!("/v1/comments/{reply}/tree"), vec![&tree]),
        ("/v1/members/8/comments".into(), vec![&hot, &new, &replies, &tree]),
        ("/v1/members/7/comments".into(), vec![&member]),
    ] {
        for cursor in cursors {
            add(&path, cursor);
        }
    }
    w.check(rows).await;
    // Each is good where it belongs, with its sort and without.
    for (path, cursor) in [
        (list.to_owned(), &hot),
        (format!("{list}?sort=hot"), &hot),
        (list.to_owned(), &new),
        (format!("/v1/comments/{root}/replies"), &replies),
        (format!("/v1/comments/{root}/tree"), &tree),
        ("/v1/members/8/comments".into(), &member),
    ] {
        let join = if path.contains('?') { '&' } else { '?' };
        w.site.page(&format!("{path}{join}cursor={cursor}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules() {
    let w = World::new().await;
    let comment = |what: &Value, more: &str| format!("/v1/comments/{}{more}", id(what));
    let mut rows = Vec::new();
    let text = json!({"content": "x"});
    // Parents that cannot be answered.
    for (name, parent) in [
        ("unknown", json!("1")),
        ("of another subject", w.elsewhere["id"].clone()),
        ("deleted", w.deleted["id"].clone()),
        ("a tombstone", w.tombstone["id"].clone()),
        ("held", w.held["id"].clone()),
        ("hidden", w.hidden["id"].clone()),
    ] {
        let call = w.post().json(&json!({"content": "x", "parent_id": parent}));
        rows.push(row(format!("a parent that is {name}"), call, 404, "parent_not_found"));
    }
    let own = w
        .call("POST /v1/subjects/article/e/comments")
        .by(&w.bob)
        .json(&json!({"content": "x", "parent_id": w.own["id"]}));
    rows.push(row("a parent that only its author sees", own, 404, "parent_not_found"));
    // Subjects that take nothing.
    for subject in ["article/closed", "article/hidden"] {
        let call = || w.call(&format!("POST /v1/subjects/{subject}/comments"));
        rows.push(row(subject, call().by(&w.ann).json(&text), 409, "subject_closed"));
        let reply = json!({"content": "x", "parent_id": w.closed["id"]});
        rows.push(row(format!("a reply in {subject}"), call().by(&w.ann).json(&reply), 409, "subject_closed"));
    }
    // Members who may not post.
    let club = || w.call("POST /v1/subjects/club/1/comments").json(&text);
    rows.push(row("level 3 of 9", club().by(&w.ann), 403, "level_too_low"));
    rows.push(row("a guest", club().by(&w.guest), 403, "guests_not_allowed"));
    // Words.
    rows.push(row(
        "a new comment with a word",
        w.post().json(&json!({"content": "a FORBIDDEN-word !"})),
        422,
        "content_rejected",
    ));
    let edit = |what: &Value, by: &Who| w.call(&format!("PATCH {}", comment(what, ""))).by(by).json(&text);
    let call =
        w.call(&format!("PATCH {}", comment(&w.root, ""))).by(&w.ann).json(&json!({"content": "forbidden-word"}));
    rows.push(row("an edit with a word", call, 422, "content_rejected"));
    // Edits.
    for by in [&w.bob, &w.moderator, &w.admin, &w.guest] {
        rows.push(row(format!("{} edits", by.name), edit(&w.root, by), 403, "forbidden"));
    }
    rows.push(row("after 15 minutes", edit(&w.old, &w.ann), 409, "edit_window_over"));
    for (name, what) in
        [("deleted", &w.deleted), ("a tombstone", &w.tombstone), ("held", &w.held), ("hidden", &w.hidden)]
    {
        rows.push(row(format!("edits what is {name}"), edit(what, &w.ann), 404, "comment_not_found"));
        for (method, mark) in [("PUT", "like"), ("DELETE", "like"), ("PUT", "dislike"), ("DELETE", "dislike")] {
            let call = w.call(&format!("{method} {}", comment(what, &format!("/{mark}")))).by(&w.bob);
            rows.push(row(format!("{method} {mark} on what is {name}"), call, 404, "comment_not_found"));
        }
        let call = w.call(&format!("PUT {}", comment(what, "/pin"))).by(&w.moderator);
        rows.push(row(format!("pins what is {name}"), call, 404, "comment_not_found"));
    }
    // What strangers cannot even see.
    for (name, what) in [("held", &w.held), ("for its author alone", &w.own)] {
        for more in ["", "/replies", "/tree", "/ancestors", "/context"] {
            rows.push(row(
                format!("reads {more} of what is {name}"),
                w.call(&format!("GET {}", comment(what, more))),
                404,
                "comment_not_found",
            ));
        }
        let call = w.call(&format!("PUT {}", comment(what, "/like"))).by(&w.bob);
        rows.push(row(format!("likes what is {name}"), call, 404, "comment_not_found"));
    }
    // Deletes, pins, decisions, subjects.
    for by in [&w.bob, &w.guest] {
        let name = &by.name;
        rows.push(row(
            format!("{name} deletes"),
            w.call(&format!("DELETE {}", comment(&w.root, ""))).by(by),
            403,
            "forbidden",
        ));
        for method in ["PUT", "DELETE"] {
            rows.push(row(
                format!("{name} pins"),
                w.call(&format!("{method} {}", comment(&w.reply, "/pin"))).by(by),
                403,
                "forbidden",
            ));
        }
        for action in ["approve", "delete", "feature"] {
            let call = w
                .call(&format!("POST /v1/admin/comments/{}/decision", id(&w.root)))
                .by(by)
                .json(&json!({"action": action}));
            rows.push(row(format!("{name} decides {action}"), call, 403, "forbidden"));
        }
        rows.push(row(
            format!("{name} on a subject"),
            w.call("PUT /v1/admin/subjects/article/e").by(by).json(&json!({})),
            403,
            "forbidden",
        ));
    }
    rows.push(row(
        "its author pins",
        w.call(&format!("PUT {}", comment(&w.root, "/pin"))).by(&w.ann),
        403,
        "forbidden",
    ));
    w.check(rows).await;

    // The categories are named, never the terms.
    let refused = w.post().json(&json!({"content": "forbidden-word"})).send().await;
    assert!(
        refused.json["errors"].to_string().contains("ad") && !refused.text.contains("forbidden"),
        "{}",
        refused.text
    );
    // A key belongs to its first request; a refusal is not remembered.
    w.post().key("k").json(&json!({"content": ""})).send().await.expect(400);
    w.post().key("k").json(&text).send().await.expect(201);
    let call = |line: &str, body: Value| {
        row("another request with the key", w.call(line).by(&w.ann).key("k").json(&body), 422, "idempotency_mismatch")
    };
    w.check(vec![
        call("POST /v1/subjects/article/e/comments", json!({"content": "y"})),
        call("POST /v1/subjects/article/e/comments", json!({"content": "x", "parent_id": null})),
        call("POST /v1/subjects/article/other/comments", text),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_may_have_a_tighter_length() {
    let w = World::new().await;
    let club =
        |content: &str| w.call("POST /v1/subjects/club/1/comments").by(&w.admin).json(&json!({"content": content}));
    assert_eq!(club("12345678901").send().await.expect(400)["errors"][0]["field"], "content");
    let comment = club("1234567890").send().await.expect(201);
    let edited = w.site.edit(&w.admin, &comment, "12345678901").await;
    assert_eq!(edited.status, 400, "an edit may be longer than a new comment: {}", edited.text);
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
    assert_eq!(site.version("post/1").await, 7);
}
