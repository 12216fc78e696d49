//! What guests answer before they write: a proof of work, or Turnstile's widget.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gailou::config::{ChallengeKind, ChallengedGuests, Config, Password, TrustedProxies};
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiClient, ApiRequest, ApiResponse, TestMember, TestOrigin, admin, ann, comments_path, id};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::fake_siteverify::{FakeSiteverify, SiteverifyBehavior, WIDGET_SECRET};

const SUBJECT: &str = "article/challenges";
const CHALLENGE_LIFETIME: Duration = Duration::from_secs(300);
/// As long as a breaker stays open, and a little more.
const BREAKER_OPEN: Duration = Duration::from_millis(5_200);

async fn start(guests: ChallengedGuests) -> TestOrigin {
    TestOrigin::start_with(|config| challenge(config, guests)).await
}

fn challenge(config: &mut Config, guests: ChallengedGuests) {
    config.adjustable.challenge.guests = guests;
    config.adjustable.challenge.altcha_max_number = 1_000;
    config.trusted_proxies = TrustedProxies::parse("127.0.0.1").expect("a network");
}

/// A post with the answer to a challenge.
fn post(origin: &ApiClient, by: &TestMember, answer: Option<&str>) -> ApiRequest {
    let request = origin.request(&format!("POST {}", comments_path(SUBJECT))).by(by);
    with_answer(request.json(&json!({"content": "hello"})), answer)
}

fn with_answer(request: ApiRequest, answer: Option<&str>) -> ApiRequest {
    answer.into_iter().fold(request, |request, answer| request.header("x-gailou-challenge", answer))
}

/// The challenge of a refusal.
#[track_caller]
fn challenge_of(refused: &ApiResponse) -> Value {
    assert_eq!((refused.status, &refused.json["code"]), (403, &json!("challenge_required")), "{}", refused.text);
    assert_eq!(refused.header("cache-control"), "no-store");
    refused.json["challenge"].clone()
}

/// Why a challenge is there.
#[track_caller]
fn assert_refused(refused: &ApiResponse, why: &str) {
    challenge_of(refused);
    assert!(refused.json["detail"].as_str().unwrap().contains(why), "{why}: {}", refused.text);
}

/// ALTCHA's payload with the number that is to be found.
#[track_caller]
fn solve(challenge: &Value) -> String {
    let (salt, hash) = (challenge["salt"].as_str().expect("a salt"), challenge["challenge"].as_str().expect("a hash"));
    let is_right = |number: &u64| hex(&Sha256::digest(format!("{salt}{number}"))) == hash;
    let number = (0..=challenge["maxnumber"].as_u64().expect("a number")).find(is_right).expect("a number to find");
    let mut payload = challenge.clone();
    payload.as_object_mut().expect("an object").remove("maxnumber");
    payload["number"] = json!(number);
    STANDARD.encode(payload.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An answer to a new challenge.
async fn solved(origin: &ApiClient, by: &TestMember) -> String {
    solve(&challenge_of(&post(origin, by, None).send().await))
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_writes_after_a_proof_of_work() {
    let origin = start(ChallengedGuests::Always).await;
    let root = origin.post(&ann(), SUBJECT, "members answer no challenge").await;
    let guest = origin.register_guest("visitor").await;
    origin.like(&guest, &root).await;
    let challenge = challenge_of(&post(&origin, &guest, None).send().await);
    assert_eq!((&challenge["algorithm"], &challenge["maxnumber"]), (&json!("SHA-256"), &json!(1_000)));
    let comment = post(&origin, &guest, Some(&solve(&challenge))).send().await.expect(201);
    origin.wait_until_persisted().await;
    let edit = origin.request(&format!("PATCH /v1/comments/{}", id(&comment))).by(&guest);
    let edit = edit.json(&json!({"content": "hello again"}));
    let report = origin.request(&format!("POST /v1/comments/{}/reports", id(&root))).by(&guest);
    let report = report.json(&json!({"reason": "spam"}));
    for (request, status) in [(edit, 200), (report, 202)] {
        let again = request.try_clone().expect("a body that can be sent again");
        let challenge = challenge_of(&request.send().await);
        with_answer(again, Some(&solve(&challenge))).send().await.expect(status);
    }
    assert_eq!(origin.delete(&guest, &comment).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_counts_once() {
    let origin = start(ChallengedGuests::Always).await;
    let guest = origin.register_guest("visitor").await;
    let answer = solved(&origin, &guest).await;
    let first = post(&origin, &guest, Some(&answer)).idempotency_key("k").send().await;
    first.clone().expect(201);
    assert_refused(&post(&origin, &guest, Some(&answer)).send().await, "used before");
    // A repetition of the first request gets its answer, with the challenge's or without.
    for answer in [Some(&*answer), None] {
        let again = post(&origin, &guest, answer).idempotency_key("k").send().await;
        assert_eq!((again.status, &again.text), (201, &first.text));
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    let answer = solved(&origin, &guest).await;
    let attempts = (0..8).map(|_| post(&origin, &guest, Some(&answer)).send());
    let posted = futures_util::future::join_all(attempts).await.into_iter().filter(|answer| answer.status == 201);
    assert_eq!(posted.count(), 1);
    if origin.is_in_cluster() {
        let second = origin.start_second().await;
        let (one, other) = (solved(&origin, &guest).await, solved(&second, &guest).await);
        post(&second, &guest, Some(&one)).send().await.expect(201);
        post(&origin, &guest, Some(&other)).send().await.expect(201);
        assert_refused(&post(&origin, &guest, Some(&one)).send().await, "used before");
        assert_refused(&post(&second, &guest, Some(&other)).send().await, "used before");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_is_for_one_guest_and_five_minutes() {
    let origin = start(ChallengedGuests::Always).await;
    let (guest, other) = (origin.register_guest("visitor").await, origin.register_guest("other").await);
    let answer = solved(&origin, &guest).await;
    assert_refused(&post(&origin, &other, Some(&answer)).send().await, "another guest");
    // A phone has changed its network.
    let moved = post(&origin, &guest, Some(&answer)).header("x-forwarded-for", "198.51.100.7");
    moved.send().await.expect(201);
    let (in_time, late) = (solved(&origin, &guest).await, solved(&origin, &guest).await);
    origin.advance(CHALLENGE_LIFETIME - Duration::from_secs(1));
    post(&origin, &guest, Some(&in_time)).send().await.expect(201);
    origin.advance(Duration::from_secs(1));
    assert_refused(&post(&origin, &guest, Some(&late)).send().await, "too late");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_answer_gets_another_challenge() {
    let origin = start(ChallengedGuests::Always).await;
    let guest = origin.register_guest("visitor").await;
    let right = solved(&origin, &guest).await;
    let mut forged: Value = serde_json::from_slice(&STANDARD.decode(&right).unwrap()).unwrap();
    forged["salt"] = json!(forged["salt"].as_str().unwrap().replace("expires=1", "expires=9"));
    let forged = STANDARD.encode(forged.to_string());
    for wrong in ["", "x", "e30=", "0.turnstile-token", &forged, &"A".repeat(5_000)] {
        let refused = post(&origin, &guest, Some(wrong)).send().await;
        assert_refused(&refused, "the answer is wrong");
        assert_ne!(refused.json["challenge"], Value::Null);
    }
    post(&origin, &guest, Some(&right)).send().await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_for_a_challenge_is_no_post() {
    let origin = TestOrigin::start_with(|config| {
        challenge(config, ChallengedGuests::Always);
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.posts_per_minute_member = 1;
        config.adjustable.limits.writes_per_minute_address = 4;
    })
    .await;
    let guest = origin.register_guest("visitor").await;
    for _ in 0..3 {
        solved(&origin, &guest).await;
    }
    let answer = solved(&origin, &guest).await;
    assert_eq!(post(&origin, &guest, None).send().await.header("ratelimit-policy"), "\"writes-address\";q=4;w=60");
    post(&origin, &guest, Some(&answer)).send().await.expect(201);
    let limited = post(&origin, &guest, Some("wrong")).send().await;
    assert_eq!((limited.status, limited.header("ratelimit-policy")), (429, "\"posts-member\";q=1;w=60"));
}

#[tokio::test(flavor = "multi_thread")]
async fn suspicious_guests_answer_and_others_do_not() {
    let origin = start(ChallengedGuests::Suspicious).await;
    origin.load_terms(&[("blockme", TermAction::Block), ("holdme", TermAction::Review)]).await;
    let guests = [
        origin.register_guest("one").await,
        origin.register_guest("two").await,
        origin.register_guest("three").await,
        origin.register_guest("four").await,
    ];
    let send = async |network: &str, by: &TestMember, content: &str| {
        let request = origin.request(&format!("POST {}", comments_path(SUBJECT))).by(by);
        request.header("x-forwarded-for", network).json(&json!({"content": content})).send().await
    };
    // The word filter found something.
    for (network, text, status) in [("198.51.100.1", "blockme", 422), ("198.51.100.2", "holdme", 202)] {
        send(network, &guests[0], "hello").await.expect(201);
        send(network, &guests[0], text).await.expect(status);
        let challenge = challenge_of(&send(network, &guests[0], "hello").await);
        let answered = post(&origin, &guests[0], Some(&solve(&challenge))).header("x-forwarded-for", network);
        answered.send().await.expect(201);
        // Another guest of the same network, and the same guest elsewhere.
        challenge_of(&send(network, &guests[1], "hello").await);
        send("198.51.100.3", &guests[0], "hello").await.expect(201);
        send(network, &ann(), "hello").await.expect(201);
    }
    // Three guests of one network.
    for guest in &guests[..2] {
        send("198.51.100.4", guest, "hello").await.expect(201);
    }
    challenge_of(&send("198.51.100.4", &guests[2], "hello").await);
    // More than ten writes.
    for _ in 0..10 {
        send("198.51.100.5", &guests[3], "hello").await.expect(201);
    }
    challenge_of(&send("198.51.100.5", &guests[3], "hello").await);
    origin.advance(Duration::from_secs(600));
    for network in ["198.51.100.1", "198.51.100.4", "198.51.100.5"] {
        send(network, &guests[2], "hello").await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_switch_challenges_on_and_off() {
    let origin = TestOrigin::start().await;
    let guest = origin.register_guest("visitor").await;
    post(&origin, &guest, None).send().await.expect(201);
    let patch = async |change: Value| {
        let request = origin.request("PATCH /v1/admin/settings").by(&admin());
        request.json(&json!({"challenge": change})).send().await
    };
    let on = patch(json!({"guests": "always", "altcha_max_number": 2_000})).await.expect(200);
    let expected = json!({"guests": "always", "kind": "altcha", "altcha_max_number": 2_000});
    assert_eq!(on["settings"]["challenge"], expected);
    assert_eq!(challenge_of(&post(&origin, &guest, None).send().await)["maxnumber"], 2_000);
    for (change, field) in [
        (json!({"kind": "turnstile"}), "challenge.kind"),
        (json!({"kind": "captcha"}), "challenge.kind"),
        (json!({"guests": "sometimes"}), "challenge.guests"),
        (json!({"altcha_max_number": 1}), "challenge.altcha_max_number"),
        (json!({"turnstile": {"site_key": "x"}}), "challenge.turnstile"),
    ] {
        let refused = patch(change).await.expect(400);
        assert_eq!(refused["errors"][0]["field"], field, "{refused}");
    }
    patch(json!({"guests": null})).await.expect(200);
    post(&origin, &guest, None).send().await.expect(201);
}

/// An origin whose guests always answer the widget of this server.
async fn start_with_turnstile(siteverify: &FakeSiteverify) -> TestOrigin {
    TestOrigin::start_with(|config| {
        challenge(config, ChallengedGuests::Always);
        config.adjustable.challenge.kind = ChallengeKind::Turnstile;
        config.turnstile.site_key = Some("0x4AAA".into());
        config.turnstile.secret = Password::new(WIDGET_SECRET);
        config.turnstile.siteverify_url = siteverify.url.clone();
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_turnstile_is_verified_once() {
    let siteverify = FakeSiteverify::start().await;
    let origin = start_with_turnstile(&siteverify).await;
    let guest = origin.register_guest("visitor").await;
    let widget = json!({"sitekey": "0x4AAA"});
    assert_eq!(challenge_of(&post(&origin, &guest, None).send().await), widget);
    post(&origin, &guest, Some("good.1")).send().await.expect(201);
    for wrong in ["good.1", "bad.1"] {
        let refused = post(&origin, &guest, Some(wrong)).send().await;
        assert_refused(&refused, "the answer is wrong");
        assert_eq!(refused.json["challenge"], widget);
    }
    assert_eq!(siteverify.calls(), 3);
    // What cannot be a token is not sent.
    for wrong in ["", "a token", &"x".repeat(2_049)] {
        assert_refused(&post(&origin, &guest, Some(wrong)).send().await, "the answer is wrong");
    }
    assert_eq!(siteverify.calls(), 3);
    // Nor is a service believed that verifies a token twice.
    siteverify.set_behavior(SiteverifyBehavior::AlwaysRight);
    post(&origin, &guest, Some("good.2")).send().await.expect(201);
    assert_refused(&post(&origin, &guest, Some("good.2")).send().await, "used before");
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_solves_a_proof_of_work_while_turnstile_fails() {
    let siteverify = FakeSiteverify::start().await;
    let origin = start_with_turnstile(&siteverify).await;
    let guest = origin.register_guest("visitor").await;
    // An answer of the service between two failures: one failure alone stops nothing.
    for failure in [
        SiteverifyBehavior::Fail,
        SiteverifyBehavior::BlameSecret,
        SiteverifyBehavior::AnswerHtml,
        SiteverifyBehavior::AnswerTooMuch,
        SiteverifyBehavior::AnswerTooLate,
    ] {
        siteverify.set_behavior(failure);
        let began = Instant::now();
        let refused = post(&origin, &guest, Some("good.x")).send().await;
        assert!(began.elapsed() < Duration::from_secs(6), "{failure:?} took {:?}", began.elapsed());
        assert_refused(&refused, "cannot be verified");
        let answer = solve(&refused.json["challenge"]);
        post(&origin, &guest, Some(&answer)).send().await.expect(201);
        siteverify.set_behavior(SiteverifyBehavior::Verify);
        post(&origin, &guest, Some(&format!("good.{failure:?}"))).send().await.expect(201);
    }
    // Three failures in a row: the service is left alone, and the first challenge is a proof of work already.
    siteverify.set_behavior(SiteverifyBehavior::Fail);
    for _ in 0..3 {
        assert_refused(&post(&origin, &guest, Some("good.y")).send().await, "cannot be verified");
    }
    let calls = siteverify.calls();
    let answer = solve(&challenge_of(&post(&origin, &guest, None).send().await));
    assert_refused(&post(&origin, &guest, Some("good.y")).send().await, "cannot be verified");
    post(&origin, &guest, Some(&answer)).send().await.expect(201);
    assert_eq!(siteverify.calls(), calls);
    siteverify.set_behavior(SiteverifyBehavior::Verify);
    tokio::time::sleep(BREAKER_OPEN).await;
    assert_eq!(challenge_of(&post(&origin, &guest, None).send().await)["sitekey"], "0x4AAA");
    post(&origin, &guest, Some("good.z")).send().await.expect(201);
}
