//! The names of guests: none that cannot be seen, that is not allowed, or that passes for another.

use std::time::Duration;

use gailou_shared::token::Role;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestMember, TestOrigin, ann, bob, comments_path, id, poll_until};
use serde_json::{Value, json};
use tokio::time::sleep;

/// A little more than a name is taken after its member was seen.
const NAME_TAKEN: Duration = Duration::from_secs(30 * 86_400 + 1);

async fn register(origin: &TestOrigin, body: &Value) -> ApiResponse {
    origin.request("POST /v1/guests").json(body).send().await
}

async fn rename(origin: &TestOrigin, guest: &TestMember, body: &Value) -> ApiResponse {
    origin.request("PATCH /v1/guests/me").by(guest).json(body).send().await
}

fn member_of(created: &Value) -> TestMember {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    TestMember {
        id: text(&created["member"]["id"]),
        name: text(&created["member"]["name"]),
        token: text(&created["token"]),
    }
}

#[track_caller]
fn assert_rejected(answer: &ApiResponse, name: &str) {
    let shown = (answer.status, answer.json["code"].as_str(), answer.json["errors"][0]["field"].as_str());
    assert_eq!(shown, (422, Some("content_rejected"), Some("name")), "{name:?}: {}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn name_that_deceives_is_rejected() {
    let origin = TestOrigin::start().await;
    origin
        .load_terms(&[("casino", TermAction::Block), ("lottery", TermAction::Review), ("darn", TermAction::Mask)])
        .await;
    let guest = origin.register_guest("visitor").await;
    let pile = format!("A{}", "\u{301}".repeat(40));
    for name in [
        "\u{200b}",
        "\u{34f}",
        "\u{ffa0}",
        "\u{180e}",
        "\u{e0041}\u{e007f}",
        "Mod\u{200b}",
        "\u{202e}Admin",
        &pile,
        "casino viagra",
        "𝐜𝐚𝐬𝐢𝐧𝐨",
        "cаsino",
        "lottery",
        "darn",
        "admin",
        "Аdmin",
        "A d m i n",
        "𝔐𝔬𝔡𝔢𝔯𝔞𝔱𝔬𝔯",
        "管理员",
        "管理員",
        "版主",
    ] {
        assert_rejected(&register(&origin, &json!({"name": name})).await, name);
        assert_rejected(&rename(&origin, &guest, &json!({"name": name})).await, name);
    }
    for name in ["Ann", "Nguyễn Văn", "علی\u{200c}رضا", "Bo 👩\u{200d}💻", "王小明", "Administrative"] {
        assert_eq!(origin.register_guest(name).await.name, name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn name_of_a_member_seen_lately_is_taken() {
    let origin = TestOrigin::start().await;
    for name in ["Ann", "Judge"] {
        origin.register_guest(name).await;
    }
    origin.post(&ann(), "post/names", "here I am").await;
    let root = origin.post(&origin.register_guest("visitor").await, "post/names", "a guest's name is not taken").await;
    origin.register_guest("visitor").await;
    // Moderators are seen by what they decide.
    let judge = TestMember::new(50, "Judge", Role::Moderator);
    origin.decide(&judge, &root, "hide").await.expect(200);
    for name in ["Ann", "ANN", "Аnn", "A.n.n", "ann\u{301}", "Judge", "Јudge"] {
        let answer =
            poll_until(async || register(&origin, &json!({"name": name})).await, |answer| answer.status == 422).await;
        assert_rejected(&answer, name);
    }
    origin.register_guest("Anna").await;
    origin.advance(NAME_TAKEN);
    origin.sweep().await;
    assert_eq!(origin.register_guest("Ann").await.name, "Ann");
}

#[tokio::test(flavor = "multi_thread")]
async fn name_of_an_erased_member_is_free() {
    let origin = TestOrigin::start().await;
    origin.post(&ann(), "post/erased", "here I am").await;
    let body = json!({"name": "Ann"});
    poll_until(async || register(&origin, &body).await, |answer| answer.status == 422).await;
    origin.request("DELETE /v1/me").by(&ann()).send().await.expect(204);
    let answer = poll_until(async || register(&origin, &body).await, |answer| answer.status == 201).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    // Also where its name was not recorded yet.
    origin.post(&bob(), "post/erased", "and gone").await;
    origin.request("DELETE /v1/me").by(&bob()).send().await.expect(204);
    sleep(Duration::from_secs(1)).await;
    let body = json!({"name": "Bob"});
    let answer = poll_until(async || register(&origin, &body).await, |answer| answer.status == 201).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_without_a_name_reacts_and_does_not_post() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), "post/nameless", "like me").await;
    let created = register(&origin, &json!({})).await.expect(201);
    assert_eq!(created["member"]["name"], "");
    let guest = member_of(&created);
    assert_eq!(origin.like(&guest, &comment).await["likes"], 1);
    let post = |guest: &TestMember| {
        origin.request(&format!("POST {}", comments_path("post/nameless"))).by(guest).json(&json!({"content": "x"}))
    };
    let refused = post(&guest).send().await;
    assert_eq!((refused.status, refused.json["code"].as_str()), (400, Some("invalid_request")), "{}", refused.text);
    assert_eq!(refused.json["errors"][0]["field"], "name");
    let named = rename(&origin, &guest, &json!({"name": " Bo "})).await.expect(200);
    assert_eq!(named["member"], json!({"id": guest.id, "name": "Bo"}));
    let guest = member_of(&named);
    let posted = post(&guest).send().await.expect(201);
    let author = json!({"id": guest.id, "name": "Bo", "avatar": null, "level": 0, "guest": true, "role": null});
    assert_eq!(posted["author"], author);
    // What was written keeps its name.
    let renamed = member_of(&rename(&origin, &guest, &json!({"name": "Cy"})).await.expect(200));
    assert_eq!(origin.edit(&renamed, &posted, "y").await.expect(200)["author"]["name"], "Bo");
    assert_eq!(origin.with_floor(&posted).await["author"], author);
    assert_eq!(origin.page(&format!("/v1/comments/{}", id(&posted))).await["author"], author);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_guests_choose_their_name() {
    let origin = TestOrigin::start().await;
    let guest = origin.register_guest("visitor").await;
    let refused = rename(&origin, &ann(), &json!({"name": "Bo"})).await;
    assert_eq!((refused.status, refused.json["code"].as_str()), (403, Some("forbidden")));
    assert_eq!(origin.request("PATCH /v1/guests/me").json(&json!({"name": "Bo"})).send().await.status, 401);
    for body in [json!({}), json!({"name": null}), json!({"name": ""}), json!({"name": 7}), json!({"name": "a\nb"})] {
        let refused = rename(&origin, &guest, &body).await;
        assert_eq!((refused.status, refused.json["errors"][0]["field"].as_str()), (400, Some("name")), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn role_of_the_author_is_that_of_the_writing() {
    let origin = TestOrigin::start().await;
    let as_role = |role| TestMember::new(7, "Ann", role);
    for (role, shown) in
        [(Role::Moderator, json!("moderator")), (Role::Admin, json!("admin")), (Role::Member, Value::Null)]
    {
        let comment = origin.post(&as_role(role), "post/roles", "x").await;
        assert_eq!((&comment["author"]["role"], &comment["author"]["guest"]), (&shown, &json!(false)));
        let stored = origin.with_floor(&comment).await;
        assert_eq!((&stored["author"]["role"], &stored["author"]["guest"]), (&shown, &json!(false)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn name_of_the_host_is_stripped_of_what_cannot_be_seen() {
    let origin = TestOrigin::start().await;
    let name = |name| TestMember::new(7, name, Role::Member);
    assert_eq!(origin.post(&name("\u{202e}Ann\u{200b}"), "post/host", "x").await["author"]["name"], "Ann");
    let refused = origin.try_post(&name("\u{200b}\u{3164}"), "post/host", &json!({"content": "x"})).await;
    assert_eq!((refused.status, refused.json["code"].as_str()), (401, Some("token_invalid")));
}
