//! The host's service that knows its members: what it says wins over tokens, and nothing waits or fails without it.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_tests::{TestMember, TestOrigin, admin, ann, bob, comments_path, id, ids, member, moderator, poll_until};
use serde_json::{Value, json};

use crate::fake_accounts::{AccountsBehavior, FakeAccounts};

const SUBJECT: &str = "article/accounts";
/// Of a type for members from level 5.
const LEVELLED: &str = "post/accounts";
/// For answers that are not kept.
const NO_CACHE: u32 = 0;
/// As long as a breaker stays open, and a little more.
const BREAKER_OPEN: Duration = Duration::from_millis(5_200);

/// An origin that asks this service, and where members below level 5 write no posts.
async fn start(service: &FakeAccounts, cache_seconds: u32) -> TestOrigin {
    TestOrigin::start_with(|config| {
        config.accounts = service.settings(cache_seconds);
        config.types.get_mut("post").unwrap().min_level = 5;
    })
    .await
}

/// The status of the answer to a post on a subject, and the name and the level of its author.
async fn post(origin: &TestOrigin, by: &TestMember, subject: &str) -> (u16, Value, Value) {
    let answer = origin.try_post(by, subject, &json!({"content": "hello"})).await;
    (answer.status, answer.json["author"]["name"].clone(), answer.json["author"]["level"].clone())
}

async fn say(origin: &TestOrigin, of: &TestMember, standing: &Value) {
    origin.request(&format!("PUT /v1/admin/members/{}", of.id)).by(&admin()).json(standing).send().await.expect(200);
}

async fn read_member(origin: &TestOrigin, of: &TestMember) -> Value {
    origin.request(&format!("GET /v1/admin/members/{}", of.id)).by(&moderator()).send().await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_service_says_wins_over_the_token_and_moderators_over_both() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, NO_CACHE).await;
    assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 403, "it does not know Ann, and her token has level 3");
    service.know("7", json!({"name": "Annabel", "avatar": "https://blog.example/ann.png", "level": 9}));
    assert_eq!(post(&origin, &ann(), LEVELLED).await, (201, json!("Annabel"), json!(9)));
    assert_eq!(service.calls(), [["7"], ["7"]]);
    let root = origin.post(&ann(), SUBJECT, "hello").await;
    let author = json!({
        "id": "7", "name": "Annabel", "avatar": "https://blog.example/ann.png", "level": 9, "guest": false, "role": null,
    });
    assert_eq!(root["author"], author);
    let shown = origin.poll_comment(&root, |comment| comment["author"] == author).await;
    assert_eq!(shown["author"], author);

    say(&origin, &ann(), &json!({"level": 2})).await;
    assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 403);
    assert_eq!(post(&origin, &ann(), SUBJECT).await, (201, json!("Annabel"), json!(2)));
    say(&origin, &ann(), &json!({"level": null})).await;
    assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 201);
    service.know("7", json!({"level": 1}));
    assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 403);
    assert_eq!(
        post(&origin, &ann(), SUBJECT).await,
        (201, json!("Ann"), json!(1)),
        "what it does not say the token does"
    );
    // What was written keeps the name that it was written under.
    let shown = origin.get(&format!("/v1/comments/{}", id(&root))).await.expect(200);
    assert_eq!(shown["author"], author);
}

#[tokio::test(flavor = "multi_thread")]
async fn moderators_see_what_it_says_today() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, NO_CACHE).await;
    assert_eq!(read_member(&origin, &ann()).await.get("account"), None);
    service.know("7", json!({"name": "Annabel", "avatar": null, "level": "high"}));
    let account = json!({"name": "Annabel", "avatar": null, "level": null});
    assert_eq!(read_member(&origin, &ann()).await["account"], account);
    let body = json!({"note": "look"});
    let change = origin.request("PUT /v1/admin/members/7").by(&moderator()).json(&body).send().await.expect(200);
    assert_eq!(change["account"], account);
    service.set_behavior(AccountsBehavior::Fail);
    assert_eq!(read_member(&origin, &ann()).await["account"], account, "what it said last");
    assert_eq!(read_member(&origin, &bob()).await.get("account"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_is_as_if_it_was_not_said() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, NO_CACHE).await;
    let ann_of_token = (201, json!("Ann"), json!(3));
    for wrong in [
        json!(null),
        json!("Annabel"),
        json!({}),
        json!({"name": "x".repeat(65), "level": 256}),
        json!({"name": "\u{200b}\u{3164}", "level": -1}),
        json!({"name": "A\nnn", "level": 9.5}),
        json!({"name": ["Annabel"], "level": "9", "avatar": "javascript:alert(1)"}),
    ] {
        service.know("7", wrong.clone());
        assert_eq!(post(&origin, &ann(), SUBJECT).await, ann_of_token, "{wrong}");
        assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 403, "{wrong}");
    }
    // A name is cleaned as a token's is, and the host may call its members what guests cannot call themselves.
    for (name, shown) in [(" Anna\u{200b}bel ", "Annabel"), ("Admin", "Admin")] {
        service.know("7", json!({"name": name}));
        assert_eq!(post(&origin, &ann(), SUBJECT).await, (201, json!(shown), json!(3)), "{name}");
    }
    // What it says of others is not believed.
    service.know("8", json!({"name": "Bobby"}));
    service.set_behavior(AccountsBehavior::AnswerAll);
    assert_eq!(post(&origin, &member(30), SUBJECT).await, (201, json!("M"), json!(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn name_that_it_says_is_taken_and_may_be_blocked() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, NO_CACHE).await;
    service.know("7", json!({"name": "Annabel"}));
    post(&origin, &ann(), SUBJECT).await;
    let register = || async { origin.request("POST /v1/guests").json(&json!({"name": "annabel"})).send().await.status };
    assert_eq!(poll_until(register, |status| *status == 422).await, 422);
    let rules = json!({"rules": {"blocked": {"names": ["Annabel"]}}});
    origin.request("PATCH /v1/admin/settings").by(&admin()).json(&rules).send().await.expect(200);
    assert_eq!(post(&origin, &ann(), SUBJECT).await.0, 403);
    service.know("7", json!({"name": "Ann"}));
    assert_eq!(post(&origin, &ann(), SUBJECT).await.0, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_is_kept_and_lists_and_guests_need_none() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, 300).await;
    service.know("7", json!({"name": "Annabel", "level": 9, "friends": ["8"]}));
    let writer = ann();
    let posts = join_all((0..10).map(|_| post(&origin, &writer, LEVELLED))).await;
    assert!(posts.iter().all(|found| *found == (201, json!("Annabel"), json!(9))), "{posts:?}");
    let friends = origin.request(&format!("GET /v1/me/friends/comments?subject={SUBJECT}")).by(&ann());
    friends.send().await.expect(200);
    assert_eq!(service.calls(), [["7"]]);
    // A member whom it does not know is no more asked about either.
    assert_eq!([post(&origin, &bob(), SUBJECT).await.0, post(&origin, &bob(), SUBJECT).await.0], [201; 2]);
    assert_eq!(service.calls(), [["7"], ["8"]]);
    let guest = origin.register_guest("visitor").await;
    post(&origin, &guest, SUBJECT).await;
    origin.overlay(&member(31), &[]).await;
    origin.get(&comments_path(SUBJECT)).await.expect(200);
    origin.request("GET /v1/admin/members").by(&moderator()).send().await.expect(200);
    assert_eq!(service.calls().len(), 2);
    if origin.is_in_cluster() {
        // Each process asks for itself.
        let second = origin.start_second().await;
        service.know("7", json!({"level": 4}));
        assert_eq!(post(&second, &ann(), LEVELLED).await.0, 403);
        assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_answer_the_last_one_counts_else_the_token() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, NO_CACHE).await;
    service.know("7", json!({"name": "Annabel", "level": 9}));
    assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 201);
    service.know("7", json!({"name": "Anne", "level": 1}));
    service.know("8", json!({"name": "Bobby", "level": 9}));
    for behavior in [
        AccountsBehavior::AnswerTooMuch,
        AccountsBehavior::AnswerHtml,
        AccountsBehavior::AnswerList,
        AccountsBehavior::Redirect,
        AccountsBehavior::Fail,
        AccountsBehavior::AnswerTooLate,
    ] {
        // An answer between them keeps the breaker closed.
        service.set_behavior(AccountsBehavior::Answer);
        post(&origin, &member(40), SUBJECT).await;
        service.set_behavior(behavior);
        let (before, began) = (service.calls().len(), Instant::now());
        assert_eq!(post(&origin, &ann(), LEVELLED).await, (201, json!("Annabel"), json!(9)), "{behavior:?}");
        assert_eq!(post(&origin, &bob(), SUBJECT).await, (201, json!("Bob"), json!(3)), "{behavior:?}");
        assert_eq!(service.calls().len(), before + 2, "{behavior:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn service_that_fails_is_left_alone_for_a_while() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, NO_CACHE).await;
    service.know("7", json!({"level": 9}));
    service.set_behavior(AccountsBehavior::Fail);
    for _ in 0..3 {
        assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 403);
    }
    service.set_behavior(AccountsBehavior::Answer);
    assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 403);
    assert_eq!(service.calls().len(), 3, "the breaker is open");
    tokio::time::sleep(BREAKER_OPEN).await;
    assert_eq!(post(&origin, &ann(), LEVELLED).await.0, 201);
    assert_eq!(service.calls().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn friends_are_those_of_moderators_else_those_that_it_says() {
    let service = FakeAccounts::start().await;
    let origin = start(&service, NO_CACHE).await;
    let comments: Vec<Value> = {
        let mut written = Vec::new();
        for by in [member(20), member(21), member(22)] {
            origin.advance(Duration::from_millis(1));
            written.push(origin.post(&by, SUBJECT, "x").await);
        }
        written
    };
    let list = || async {
        let call = origin.request(&format!("GET /v1/me/friends/comments?subject={SUBJECT}")).by(&ann());
        ids(call.send().await.expect(200)["data"].as_array().unwrap())
    };
    let expect = async |numbers: &[usize]| {
        let expected: Vec<String> = numbers.iter().map(|n| id(&comments[*n]).to_owned()).collect();
        assert_eq!(poll_until(list, |found| *found == expected).await, expected);
    };
    expect(&[]).await;
    service.know("7", json!({"friends": ["20", "22"]}));
    expect(&[2, 0]).await;
    say(&origin, &ann(), &json!({"friends": ["21"]})).await;
    expect(&[1]).await;
    say(&origin, &ann(), &json!({"friends": null})).await;
    expect(&[2, 0]).await;
    service.set_behavior(AccountsBehavior::Fail);
    expect(&[2, 0]).await;
    service.set_behavior(AccountsBehavior::Answer);
    tokio::time::sleep(BREAKER_OPEN).await;
    service.know("7", json!({"friends": ["20", 22]}));
    expect(&[]).await;
    service.know("7", json!({"friends": ["20", "21"]}));
    origin.request("DELETE /v1/me").by(&member(20)).send().await.expect(204);
    expect(&[1]).await;
}
