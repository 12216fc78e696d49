//! What moderators say of members, who is found, and the comments of friends.

use std::time::Duration;

use gailou::jobs::end_members::SETTLE_MS;
use gailou_shared::id::MemberId;
use gailou_shared::token::{Member, Role};
use gailou_tests::{
    ApiResponse, TestMember, TestOrigin, admin, ann, bob, id, ids, member, moderator, poll_until, token_key,
    with_cursor,
};
use serde_json::{Value, json};

const SUBJECT: &str = "article/members";

async fn put(origin: &TestOrigin, by: &TestMember, of: &TestMember, body: &Value) -> ApiResponse {
    origin.request(&format!("PUT /v1/admin/members/{}", of.id)).by(by).json(body).send().await
}

async fn change(origin: &TestOrigin, of: &TestMember, body: &Value) -> Value {
    put(origin, &admin(), of, body).await.expect(200)
}

async fn read(origin: &TestOrigin, path: &str) -> Value {
    origin.wait_until_persisted().await;
    origin.request(&format!("GET {path}")).by(&moderator()).send().await.expect(200)
}

async fn read_member(origin: &TestOrigin, of: &TestMember) -> Value {
    read(origin, &format!("/v1/admin/members/{}", of.id)).await
}

/// Every id of a list, page by page.
async fn walk(origin: &TestOrigin, by: &TestMember, path: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut next = path.to_owned();
    loop {
        let page = origin.request(&format!("GET {next}")).by(by).send().await.expect(200);
        all.extend(ids(page["data"].as_array().unwrap()));
        assert_eq!(page["page"]["has_more"], json!(!page["page"]["next"].is_null()));
        let Some(cursor) = page["page"]["next"].as_str() else { return all };
        next = with_cursor(path, cursor);
    }
}

/// The entries of the audit log about a member, newest first: verb, before and after.
async fn audited(origin: &TestOrigin, of: &TestMember) -> Vec<(Value, Value, Value)> {
    let log = read(origin, "/v1/admin/audit?limit=100").await;
    let target = json!({"kind": "member", "id": of.id});
    let entries = log["data"].as_array().unwrap().iter().filter(|entry| entry["target"] == target);
    entries.map(|entry| (entry["action"].clone(), entry["before"].clone(), entry["after"].clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn muted_member_writes_nothing_until_it_is_over() {
    let origin = TestOrigin::start().await;
    let (ann, bob) = (ann(), bob());
    let (own, other) = (origin.post(&ann, SUBJECT, "own").await, origin.post(&bob, SUBJECT, "other").await);
    let keyed = || {
        let call = origin.request(&format!("POST /v1/subjects/{SUBJECT}/comments")).by(&ann);
        call.idempotency_key("k").json(&json!({"content": "keyed"}))
    };
    let first = keyed().send().await.expect(201);
    let until = origin.app.now() + 60_000;
    let said = put(&origin, &moderator(), &ann, &json!({"muted_until": until, "note": "spam"})).await.expect(200);
    assert_eq!((&said["muted_until"], &said["note"]), (&json!(until), &json!("spam")));

    let report = || origin.request(&format!("POST /v1/comments/{}/reports", id(&other))).by(&ann);
    let refused = [
        origin.try_post(&ann, SUBJECT, &json!({"content": "x"})).await,
        origin.edit(&ann, &own, "x").await,
        origin.set_flag(&ann, "PUT", id(&other), "like").await,
        origin.set_flag(&ann, "DELETE", id(&other), "dislike").await,
        origin.set_flag(&ann, "PUT", id(&own), "pin").await,
        origin.delete(&ann, &own).await,
        report().json(&json!({"reason": "spam"})).send().await,
    ];
    for answer in refused {
        assert_eq!((answer.status, &answer.json["code"]), (403, &json!("muted")), "{}", answer.text);
        assert!(answer.json["detail"].as_str().unwrap().starts_with("you may not write here until 20"));
    }
    let replayed = keyed().send().await;
    assert_eq!((replayed.header("idempotent-replayed"), &replayed.json["id"]), ("true", &first["id"]));
    origin.overlay(&ann, &[]).await;
    origin.request("GET /v1/me/export").by(&ann).send().await.expect(200);
    origin.request("POST /v1/preview").by(&ann).json(&json!({"content": "x"})).send().await.expect(200);
    origin.post(&bob, SUBJECT, "of another member").await;

    origin.advance(Duration::from_secs(61));
    origin.post(&ann, SUBJECT, "after it").await;
    change(&origin, &ann, &json!({"muted_until": origin.app.now() + 3_600_000})).await;
    assert_eq!(origin.try_post(&ann, SUBJECT, &json!({"content": "x"})).await.expect(403)["code"], "muted");
    assert_eq!(change(&origin, &ann, &json!({"muted_until": null})).await["muted_until"], json!(null));
    origin.post(&ann, SUBJECT, "unmuted").await;
    assert_eq!(read_member(&origin, &ann).await["note"], "spam", "what is not named stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn moderators_and_guests_are_muted_and_admins_are_not() {
    let origin = TestOrigin::start().await;
    let forever = json!({"muted_until": 253_402_300_799_999_u64});
    let comment = origin.post(&ann(), SUBJECT, "x").await;
    let guest = origin.register_guest("Gus").await;
    for muted in [&moderator(), &guest, &admin()] {
        change(&origin, muted, &forever).await;
    }
    let refused = origin.decide(&moderator(), &comment, "hide").await.expect(403);
    assert_eq!(
        (&refused["code"], &refused["detail"]),
        (&json!("muted"), &json!("you may not write here until 9999-12-31T23:59:59Z"))
    );
    assert_eq!(put(&origin, &moderator(), &moderator(), &json!({"muted_until": null})).await.status, 403);
    read(&origin, "/v1/admin/queue").await;
    assert_eq!(origin.try_post(&guest, SUBJECT, &json!({"content": "x"})).await.expect(403)["code"], "muted");
    let rename = origin.request("PATCH /v1/guests/me").by(&guest).json(&json!({"name": "Gust"}));
    assert_eq!(rename.send().await.expect(403)["code"], "muted");
    origin.decide(&admin(), &comment, "hide").await.expect(200);
    origin.request("DELETE /v1/me").by(&guest).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn level_given_here_wins_over_the_tokens() {
    let origin = TestOrigin::start_with(|config| config.types.get_mut("post").unwrap().min_level = 5).await;
    let post = async || origin.try_post(&ann(), "post/level", &json!({"content": "x"})).await;
    assert_eq!(post().await.expect(403)["code"], "level_too_low");
    assert_eq!(change(&origin, &ann(), &json!({"level": 9})).await["level"], 9);
    assert_eq!(post().await.expect(201)["author"]["level"], 9);
    let is_written = |member: &Value| member["token_level"] == 9;
    let said = poll_until(|| async { read_member(&origin, &ann()).await }, is_written).await;
    assert_eq!((&said["level"], &said["token_level"], &said["role"]), (&json!(9), &json!(9), &json!(null)));
    assert_eq!(change(&origin, &ann(), &json!({"level": null})).await["level"], json!(null));
    assert_eq!(post().await.expect(403)["code"], "level_too_low");

    // Admins may ask for a level on every type.
    let article = async |by: &TestMember| origin.try_post(by, SUBJECT, &json!({"content": "x"})).await;
    article(&ann()).await.expect(201);
    let settings = origin.request("PATCH /v1/admin/settings").by(&admin()).json(&json!({"rules": {"min_level": 4}}));
    settings.send().await.expect(200);
    assert_eq!(article(&ann()).await.expect(403)["code"], "level_too_low");
    change(&origin, &ann(), &json!({"level": 4})).await;
    article(&ann()).await.expect(201);
    assert_eq!(post().await.expect(403)["code"], "level_too_low", "the type asks for more");
    article(&moderator()).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn role_given_here_wins_over_the_tokens_and_is_given_by_admins() {
    let origin = TestOrigin::start().await;
    let queue = async |by: &TestMember| origin.request("GET /v1/admin/queue").by(by).send().await.status;
    let role = json!({"role": "moderator"});
    assert_eq!(put(&origin, &moderator(), &bob(), &role).await.expect(403)["code"], "forbidden");
    assert_eq!(put(&origin, &bob(), &ann(), &json!({"note": "x"})).await.expect(403)["code"], "forbidden");
    assert_eq!(queue(&bob()).await, 403);
    assert_eq!(change(&origin, &bob(), &role).await["role"], "moderator");
    assert_eq!(queue(&bob()).await, 200);
    assert_eq!(origin.post(&bob(), SUBJECT, "x").await["author"]["role"], "moderator");
    change(&origin, &moderator(), &json!({"role": "member"})).await;
    assert_eq!(queue(&moderator()).await, 403);
    let hidden = origin.post(&ann(), "article/hidden-here", "x").await;
    origin.put_subject(&admin(), "article/hidden-here", &json!({"state": "hidden"})).await.expect(200);
    let path = format!("GET /v1/comments/{}", id(&hidden));
    let seen = async |by: &TestMember| origin.request(&path).by(by).send().await.status;
    let former = moderator();
    poll_until(|| seen(&former), |status| *status == 404).await;
    assert_eq!((seen(&bob()).await, seen(&former).await), (200, 404));
    for of in [&bob(), &moderator()] {
        change(&origin, of, &json!({"role": null})).await;
    }
    assert_eq!((queue(&bob()).await, queue(&moderator()).await), (403, 200));
    let guest = origin.register_guest("Gus").await;
    for of in [&guest, &admin()] {
        let wrong = put(&origin, &admin(), of, &role).await.expect(400);
        assert_eq!(wrong["errors"][0]["field"], "role", "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn token_that_was_issued_too_early_is_refused() {
    let origin = TestOrigin::start().await;
    let now = origin.app.now() / 1_000;
    let issued = |at: u64| {
        let id = MemberId::new(7).unwrap();
        let ann = Member { id, name: "Ann".into(), avatar: None, level: 3, role: Role::Member };
        let token = token_key().sign(&ann, "gailou", at..now + 3_600).unwrap();
        TestMember { id: "7".into(), name: "Ann".into(), token }
    };
    let post = async |by: &TestMember| origin.try_post(by, SUBJECT, &json!({"content": "x"})).await;
    post(&issued(now - 10)).await.expect(201);
    change(&origin, &ann(), &json!({"tokens_not_before": now * 1_000})).await;
    assert_eq!(post(&issued(now - 1)).await.expect(401)["code"], "token_invalid");
    assert_eq!(origin.request("GET /v1/me/overlay").by(&issued(now - 1)).send().await.status, 401);
    post(&issued(now)).await.expect(201);
    change(&origin, &ann(), &json!({"tokens_not_before": null})).await;
    post(&issued(now - 10)).await.expect(201);
    let late = put(&origin, &admin(), &ann(), &json!({"tokens_not_before": (now + 3_600) * 1_000})).await.expect(400);
    assert_eq!(late["errors"][0]["field"], "tokens_not_before");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_fields_of_a_member_are_named_and_change_nothing() {
    let origin = TestOrigin::start().await;
    let many: Vec<String> = (1..=1_001).map(|n: u32| n.to_string()).collect();
    let body = json!({
        "level": 256, "role": "king", "muted_until": "soon", "tokens_not_before": -1, "note": "x".repeat(1_001),
        "friends": many,
    });
    let wrong = put(&origin, &admin(), &ann(), &body).await.expect(400);
    let names: Vec<_> = wrong["errors"].as_array().unwrap().iter().map(|error| error["field"].clone()).collect();
    assert_eq!(names, ["level", "role", "muted_until", "tokens_not_before", "note", "friends"]);
    assert_eq!(audited(&origin, &ann()).await, []);
    let said = read_member(&origin, &ann()).await;
    assert_eq!(
        (&said["name"], &said["level"], &said["friends"], &said["last"]),
        (&json!(""), &json!(null), &json!([]), &json!([]))
    );
    let call = origin.request("GET /v1/admin/members/x").by(&moderator());
    assert_eq!(call.send().await.expect(400)["errors"][0]["field"], "id");
    let call = origin.request(&format!("GET /v1/admin/members?q={}&limit=0", "x".repeat(65))).by(&moderator());
    let fields = call.send().await.expect(400)["errors"].clone();
    assert_eq!((&fields[0]["field"], &fields[1]["field"]), (&json!("q"), &json!("limit")));
}

#[tokio::test(flavor = "multi_thread")]
async fn muted_members_are_a_list_until_their_mute_ends() {
    let origin = TestOrigin::start().await;
    let muted: Vec<_> = (40..45).map(member).collect();
    for (n, of) in muted.iter().enumerate() {
        let until = origin.app.now() + 60_000 * (1 + n as u64 / 4);
        change(&origin, of, &json!({"muted_until": until})).await;
    }
    change(&origin, &member(45), &json!({"note": "not muted"})).await;
    change(&origin, &muted[1], &json!({"muted_until": null})).await;
    let by = moderator();
    let list = || walk(&origin, &by, "/v1/admin/members?muted=1&limit=2");
    assert_eq!(list().await, ["40", "42", "43", "44"]);
    origin.advance(Duration::from_secs(61));
    assert_eq!(list().await, ["44"]);
    for (query, field) in [("muted=2", "muted"), ("muted=1&q=x", "muted")] {
        let call = origin.request(&format!("GET /v1/admin/members?{query}")).by(&moderator());
        assert_eq!(call.send().await.expect(400)["errors"][0]["field"], field, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_leaves_one_entry_in_the_audit_log() {
    let origin = TestOrigin::start().await;
    let (since, until) = (origin.app.now() - 1_000, origin.app.now() + 1_000);
    for body in [
        json!({"muted_until": until}),
        json!({"muted_until": null}),
        json!({"level": 7}),
        json!({"role": "moderator"}),
        json!({"note": "look"}),
        json!({"tokens_not_before": since}),
        json!({"friends": ["9", "8"]}),
        json!({"level": 8, "note": null}),
        json!({"level": 8, "note": "again"}),
    ] {
        change(&origin, &bob(), &body).await;
        // Ids of entries are in the order of milliseconds.
        origin.advance(Duration::from_millis(1));
    }
    let entry = |action: &str, before: Value, after: Value| (json!(action), before, after);
    let expected = [
        entry("note", json!({"level": 8, "note": null}), json!({"level": 8, "note": "again"})),
        entry("member", json!({"level": 7, "note": "look"}), json!({"level": 8, "note": null})),
        entry("friends", json!({"friends": []}), json!({"friends": ["8", "9"]})),
        entry("tokens", json!({"tokens_not_before": null}), json!({"tokens_not_before": since})),
        entry("note", json!({"note": null}), json!({"note": "look"})),
        entry("role", json!({"role": null}), json!({"role": "moderator"})),
        entry("level", json!({"level": null}), json!({"level": 7})),
        entry("unmute", json!({"muted_until": until}), json!({"muted_until": null})),
        entry("mute", json!({"muted_until": null}), json!({"muted_until": until})),
    ];
    assert_eq!(audited(&origin, &bob()).await, expected);
    let of_mutes = read(&origin, "/v1/admin/audit?action=mute").await;
    assert_eq!(of_mutes["data"][0]["actor"], json!({"id": "51", "name": "Admin"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_found_by_name_and_by_id_each_once() {
    let origin = TestOrigin::start().await;
    let names = ["Ännchen", "änne", "Bo", "Bob", "bobby", "Ann", "12", "楼主"];
    let members: Vec<_> = names.iter().zip(100..).map(|(name, id)| TestMember::new(id, name, Role::Member)).collect();
    for member in &members {
        origin.post(member, SUBJECT, "x").await;
    }
    change(&origin, &member(12), &json!({"note": "has not written"})).await;
    let mut all: Vec<String> = members.iter().map(|member| member.id.clone()).collect();
    all.insert(0, "12".into());
    let list = |path: &'static str| {
        let origin = &origin;
        async move { walk(origin, &moderator(), path).await }
    };
    let found = poll_until(|| list("/v1/admin/members?limit=2"), |found| *found == all).await;
    assert_eq!(found, all, "by id");
    for (q, expected) in [
        ("bo", &["102", "103", "104"][..]),
        ("BOB", &["103", "104"]),
        ("%C3%A4nn", &["100", "101"]),
        ("%E6%A5%BC", &["107"]),
        ("12", &["12", "106"]),
        ("103", &["103"]),
        ("zoe", &[]),
    ] {
        for limit in [1, 20] {
            let path = format!("/v1/admin/members?q={q}&limit={limit}");
            assert_eq!(walk(&origin, &moderator(), &path).await, expected, "{path}");
        }
    }
    let page = read(&origin, "/v1/admin/members?q=12").await;
    let (said, written) = (&page["data"][0], &page["data"][1]);
    assert_eq!((&said["note"], &said["name"]), (&json!("has not written"), &json!("")));
    assert_eq!((&written["note"], &written["name"], &written["token_level"]), (&json!(null), &json!("12"), &json!(3)));
    assert!(written.get("counts").is_none() && written.get("friends").is_none());
    let next = read(&origin, "/v1/admin/members?q=bo&limit=1").await["page"]["next"].as_str().unwrap().to_owned();
    let other = origin.request(&format!("GET {}", with_cursor("/v1/admin/members?q=b", &next))).by(&moderator());
    assert_eq!(other.send().await.expect(400)["code"], "bad_cursor");
    assert_eq!(origin.request("GET /v1/admin/members").by(&ann()).send().await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn member_has_counts_other_names_and_last_comments() {
    let origin = TestOrigin::start().await;
    let named = |name: &str| TestMember::new(7, name, Role::Member);
    let mut written = Vec::new();
    for n in 0..12 {
        origin.advance(Duration::from_millis(1));
        let by = named(if n < 6 { "Anna" } else { "Ann" });
        written.push(origin.post(&by, &format!("article/{n}"), &format!("text {n}")).await);
    }
    origin.decide(&moderator(), &written[0], "reject").await.expect(200);
    origin.delete(&named("Ann"), &written[1]).await.expect(204);
    for (by, of) in [(bob(), 2), (member(30), 2), (bob(), 4)] {
        let report = origin.request(&format!("POST /v1/comments/{}/reports", id(&written[of]))).by(&by);
        report.json(&json!({"reason": "spam"})).send().await.expect(202);
    }
    let counts = json!({"published": 10, "held": 0, "rejected": 1, "reported": 2, "complete": true});
    let is_counted = |member: &Value| member["counts"] == counts && member["name"] == "Ann";
    let found = poll_until(|| async { read_member(&origin, &named("Ann")).await }, is_counted).await;
    assert_eq!((&found["counts"], &found["names"], &found["name"]), (&counts, &json!(["Anna"]), &json!("Ann")));
    let newest: Vec<&str> = written.iter().rev().take(10).map(id).collect();
    assert_eq!(ids(found["last"].as_array().unwrap()), newest);
    assert_eq!((&found["guest"], &found["friends"]), (&json!(false), &json!([])));
    let reported = "/v1/admin/comments?member=7&reported=true";
    for limit in [1, 20] {
        let path = format!("{reported}&limit={limit}");
        assert_eq!(walk(&origin, &moderator(), &path).await, [4, 2].map(|at: usize| id(&written[at])));
    }
    for (filter, expected) in [("&state=rejected", vec![]), ("&subject=article/4", vec![id(&written[4])])] {
        assert_eq!(walk(&origin, &moderator(), &format!("{reported}{filter}")).await, expected, "{filter}");
    }
    for path in ["/v1/admin/comments?reported=true", "/v1/admin/comments?member=7&reported=1"] {
        let refused = origin.request(&format!("GET {path}")).by(&moderator()).send().await.expect(400);
        assert_eq!(refused["errors"][0]["field"], "reported", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_of_friends_are_a_list_of_their_own() {
    let origin = TestOrigin::start().await;
    let friends: Vec<_> = (20..23).map(member).collect();
    let (reader, path) = (ann(), format!("/v1/me/friends/comments?subject={SUBJECT}"));
    let call = || origin.request(&format!("GET {path}")).by(&ann());
    assert_eq!(call().send().await.expect(200)["data"], json!([]));
    let friend_ids: Vec<_> = friends.iter().map(|friend| &friend.id).collect();
    change(&origin, &ann(), &json!({"friends": friend_ids})).await;

    let root = origin.post(&bob(), SUBJECT, "of no friend").await;
    let mut expected = Vec::new();
    for n in 0..11 {
        origin.advance(Duration::from_millis(1));
        let by = &friends[n % 3];
        let comment = match n % 2 {
            0 => origin.post(by, SUBJECT, "root").await,
            _ => origin.reply(by, &root, "reply").await,
        };
        origin.post(by, "article/elsewhere", "elsewhere").await;
        expected.insert(0, comment);
    }
    let own = json!({"content": "self", "visibility": "self"});
    origin.try_post(&friends[0], SUBJECT, &own).await.expect(201);
    let deleted = expected.remove(3);
    origin.delete(&friends[(11 - 1 - 3) % 3], &deleted).await.expect(204);
    let expected = ids(&expected);
    for limit in [1, 3, 4, 100] {
        let path = format!("{path}&limit={limit}");
        let found = poll_until(|| walk(&origin, &reader, &path), |found| *found == expected).await;
        assert_eq!(found, expected, "{limit}");
    }
    let answer = call().send().await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    let page = origin.request(&format!("GET {path}&limit=2")).by(&ann()).send().await.expect(200);
    let next = page["page"]["next"].as_str().unwrap();
    let of_others = [
        origin.request(&format!("GET {}", with_cursor(&path, next))).by(&bob()),
        origin.request(&format!("GET {}", with_cursor("/v1/me/friends/comments?subject=article/x", next))).by(&ann()),
    ];
    for call in of_others {
        assert_eq!(call.send().await.expect(400)["code"], "bad_cursor");
    }
    // What is posted meanwhile is on no later page.
    origin.advance(Duration::from_millis(1));
    origin.post(&friends[0], SUBJECT, "later").await;
    let rest = walk(&origin, &ann(), &with_cursor(&format!("{path}&limit=100"), next)).await;
    assert_eq!(rest, expected[2..]);

    for (call, status) in [
        ("GET /v1/me/friends/comments", 400),
        ("GET /v1/me/friends/comments?subject=nope", 400),
        ("GET /v1/me/friends/comments?subject=nope/1", 404),
    ] {
        assert_eq!(origin.request(call).by(&ann()).send().await.status, status, "{call}");
    }
    origin.get(&path).await.expect(401);
    origin.put_subject(&moderator(), SUBJECT, &json!({"state": "hidden"})).await.expect(200);
    poll_until(|| walk(&origin, &reader, &path), Vec::is_empty).await;
    assert_eq!(walk(&origin, &ann(), &path).await, [""; 0]);
    change(&origin, &ann(), &json!({"friends": null})).await;
    assert_eq!(read_member(&origin, &ann()).await["friends"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn admin_erases_a_member_with_what_was_said_of_them() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), SUBJECT, "text").await;
    change(&origin, &ann(), &json!({"note": "a secret", "friends": ["8"]})).await;
    origin.advance(Duration::from_millis(1));
    let erase = async |by: &TestMember| origin.request("DELETE /v1/admin/members/7").by(by).send().await.status;
    assert_eq!((erase(&ann()).await, erase(&moderator()).await), (403, 403));
    assert_eq!((erase(&admin()).await, erase(&admin()).await), (204, 204));
    assert_eq!(origin.try_post(&ann(), SUBJECT, &json!({"content": "x"})).await.expect(401)["code"], "token_invalid");
    let gone = origin.request("GET /v1/admin/members/7").by(&moderator()).send().await;
    assert_eq!(gone.expect(404)["code"], "not_found");
    assert_eq!(put(&origin, &admin(), &ann(), &json!({"note": "x"})).await.status, 404);

    origin.advance(Duration::from_millis(SETTLE_MS));
    let unfinished = || async { origin.app.tables.list_unfinished_ends(10).await.expect("the tables answer") };
    assert_eq!(poll_until(unfinished, Vec::is_empty).await, []);
    assert_eq!(origin.app.tables.read_standings(&[MemberId::new(7).unwrap()]).await.unwrap(), []);
    let entries = audited(&origin, &ann()).await;
    let expected = [(json!("erase"), json!(null), json!(null)), (json!("member"), json!(null), json!(null))];
    assert_eq!(entries, expected, "one for both calls");
    assert_eq!(read(&origin, "/v1/admin/members").await["data"], json!([]));
    assert_eq!(read(&origin, "/v1/admin/members?q=7").await["data"], json!([]));
    let path = format!("/v1/comments/{}", id(&comment));
    let tombstone = poll_until(|| origin.get(&path), |answer| answer.json["content"] == "").await;
    assert_eq!(tombstone.expect(200)["author"], json!(null));
}
