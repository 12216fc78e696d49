//! The external classifier: what it suspects waits for a moderator, and what it does not answer does as the rules say.

use std::time::{Duration, Instant};

use gailou::config::{ClassifiedAuthors, ClassifierKind, ClassifierSettings, Password, UnclassifiedRule};
use gailou_shared::token::Role;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestMember, TestOrigin, admin, ann, bob, comments_path, id, member, moderator};
use serde_json::{Value, json};

use crate::fake_classifier::{ClassifierBehavior, FakeClassifier};

const SUBJECT: &str = "article/classifier";
const SERVICE_KEY: &str = "the-key-of-the-service";
const HAM: ClassifierBehavior = ClassifierBehavior::Answer(r#"{"verdict":"ham"}"#);
const SPAM: ClassifierBehavior = ClassifierBehavior::Answer(r#"{"verdict":"spam","labels":["ads","casino"]}"#);
/// As long as a breaker stays open, and a little more.
const BREAKER_OPEN: Duration = Duration::from_millis(5_200);

/// An origin that asks this service about everyone.
async fn start(service: &FakeClassifier, kind: ClassifierKind, unclassified: UnclassifiedRule) -> TestOrigin {
    TestOrigin::start_with(|config| {
        config.classifier = ClassifierSettings {
            kind,
            url: Some(service.url.clone()),
            key: Password::new(SERVICE_KEY),
            site: Some("https://blog.example".into()),
            timeout_ms: 1_000,
        };
        config.adjustable.rules.classified = ClassifiedAuthors::Everyone;
        config.adjustable.rules.unclassified = unclassified;
    })
    .await
}

/// The status of the answer to a post, and the comment.
async fn post(origin: &TestOrigin, by: &TestMember, content: &str) -> (u16, Value) {
    let answer = origin.try_post(by, SUBJECT, &json!({"content": content})).await;
    (answer.status, answer.json)
}

fn of_classifier(labels: &[&str]) -> Value {
    labels.iter().map(|label| json!({"kind": "classifier", "detail": label, "count": 1})).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_suspects_waits_and_the_rest_does_not() {
    let service = FakeClassifier::start(HAM).await;
    let origin = start(&service, ClassifierKind::Json, UnclassifiedRule::Review).await;
    let (status, root) = post(&origin, &ann(), "hello").await;
    assert_eq!((status, &root["state"]), (201, &json!("published")));
    let (body, authorization) = service.last_request();
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        json!({
            "content": "hello", "author": {"name": ann().name, "guest": false}, "subject": SUBJECT, "page": null,
            "reply": false, "edit": false,
        })
    );
    assert_eq!(authorization.as_deref(), Some(&*format!("Bearer {SERVICE_KEY}")));
    service.set_behavior(SPAM);
    let (status, held) = post(&origin, &bob(), "win at once").await;
    assert_eq!((status, &held["state"]), (202, &json!("review")));
    assert_eq!(origin.queue_reasons(&held).await, of_classifier(&["ads", "casino"]));
    // An edit is a text too: readers see the former one.
    let edit = origin.edit(&ann(), &root, "hello, casino").await;
    assert_eq!(edit.status, 202, "{}", edit.text);
    let asked: Value = serde_json::from_str(&service.last_request().0).unwrap();
    assert_eq!((&asked["content"], &asked["edit"]), (&json!("hello, casino"), &json!(true)));
    assert_eq!(origin.queue_reasons(&root).await, of_classifier(&["ads", "casino"]));
    let page = origin.page(&comments_path(SUBJECT)).await;
    assert_eq!(page["data"][0]["content"], "hello");
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_asked_once_and_only_about_whom_the_rules_say() {
    let service = FakeClassifier::start(SPAM).await;
    let origin = start(&service, ClassifierKind::Json, UnclassifiedRule::Review).await;
    origin.load_terms(&[("blockme", TermAction::Block), ("holdme", TermAction::Review)]).await;
    assert_eq!(post(&origin, &moderator(), "casino").await.0, 201);
    assert_eq!(post(&origin, &ann(), "blockme").await.0, 422);
    assert_eq!(post(&origin, &ann(), "holdme").await.0, 202);
    assert_eq!(service.calls(), 0);
    let send = || origin.request(&format!("POST {}", comments_path(SUBJECT))).by(&ann()).idempotency_key("k");
    let first = send().json(&json!({"content": "casino"})).send().await.expect(202);
    let again = send().json(&json!({"content": "casino"})).send().await;
    assert_eq!((again.header("idempotent-replayed"), again.json["id"].clone()), ("true", first["id"].clone()));
    assert_eq!(send().json(&json!({"content": "another"})).send().await.status, 422);
    assert_eq!(service.calls(), 1);
    let change = async |rules: Value| {
        let request = origin.request("PATCH /v1/admin/settings").by(&admin());
        request.json(&json!({"rules": rules})).send().await
    };
    change(json!({"classified": "guests"})).await.expect(200);
    assert_eq!(post(&origin, &ann(), "casino").await.0, 201);
    let guest = origin.register_guest("visitor").await;
    assert_eq!(post(&origin, &guest, "casino").await.0, 202);
    change(json!({"classified": "none"})).await.expect(200);
    assert_eq!(post(&origin, &guest, "casino").await.0, 201);
    assert_eq!(service.calls(), 2);
    for (rules, field) in
        [(json!({"classified": "some"}), "rules.classified"), (json!({"unclassified": "reject"}), "rules.unclassified")]
    {
        assert_eq!(change(rules).await.expect(400)["errors"][0]["field"], field);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_cannot_ask_a_service_that_is_not_there() {
    let origin = TestOrigin::start().await;
    let request = origin.request("PATCH /v1/admin/settings").by(&admin());
    let refused = request.json(&json!({"rules": {"classified": "guests"}})).send().await.expect(400);
    assert_eq!(refused["errors"][0]["field"], "rules.classified");
    assert_eq!(post(&origin, &ann(), "hello").await.0, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_answer_concerns_its_text_alone() {
    let service = FakeClassifier::start(HAM).await;
    let origin = start(&service, ClassifierKind::Json, UnclassifiedRule::Review).await;
    for strange in [
        ClassifierBehavior::Answer("<html>ham</html>"),
        ClassifierBehavior::Answer(r#"{"verdict":"perhaps"}"#),
        ClassifierBehavior::Answer(r#"{"verdict":"spam","labels":[7]}"#),
        ClassifierBehavior::AnswerTooMuch,
        ClassifierBehavior::Redirect,
    ] {
        service.set_behavior(strange.clone());
        let before = service.calls();
        let (status, held) = post(&origin, &ann(), "hello").await;
        assert_eq!((status, service.calls()), (202, before + 1), "{strange:?}");
        assert_eq!(origin.queue_reasons(&held).await, of_classifier(&["unanswered"]), "{strange:?}");
    }
    // Nor do texts that the service fails at stop it, while they are those of one author.
    service.set_behavior(ClassifierBehavior::Fail);
    for _ in 0..5 {
        assert_eq!(post(&origin, &ann(), "poison").await.0, 202);
    }
    service.set_behavior(HAM);
    assert_eq!(post(&origin, &bob(), "hello").await.0, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn service_that_fails_is_left_alone_for_a_while() {
    let service = FakeClassifier::start(ClassifierBehavior::AnswerTooLate).await;
    let origin = start(&service, ClassifierKind::Json, UnclassifiedRule::Allow).await;
    let began = Instant::now();
    assert_eq!(post(&origin, &ann(), "hello").await.0, 201, "what is not answered is published");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    service.set_behavior(ClassifierBehavior::Fail);
    assert_eq!(post(&origin, &bob(), "hello").await.0, 201);
    assert_eq!(post(&origin, &member(70), "hello").await.0, 201);
    let calls = service.calls();
    assert_eq!(post(&origin, &TestMember::new(71, "dan", Role::Member), "hello").await.0, 201);
    assert_eq!(service.calls(), calls, "the breaker is open");
    let rules = json!({"rules": {"unclassified": "review"}});
    origin.request("PATCH /v1/admin/settings").by(&admin()).json(&rules).send().await.expect(200);
    let (status, held) = post(&origin, &ann(), "hello").await;
    assert_eq!((status, service.calls()), (202, calls));
    assert_eq!(origin.queue_reasons(&held).await, of_classifier(&["unanswered"]));
    service.set_behavior(HAM);
    tokio::time::sleep(BREAKER_OPEN).await;
    assert_eq!(post(&origin, &ann(), "hello").await.0, 201);
    assert_eq!(service.calls(), calls + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn akismet_is_asked_by_its_form() {
    let service = FakeClassifier::start(ClassifierBehavior::Answer("false")).await;
    let origin = start(&service, ClassifierKind::Akismet, UnclassifiedRule::Review).await;
    let (status, root) = post(&origin, &ann(), "hello & goodbye").await;
    assert_eq!(status, 201);
    let (form, authorization) = service.last_request();
    for field in [
        &format!("api_key={}&", SERVICE_KEY.replace('-', "%2D")),
        "&blog=https%3A%2F%2Fblog%2Eexample&",
        "&user_ip=127%2E0%2E0%2E1&",
        "&comment_type=comment&",
        "&comment_content=hello%20%26%20goodbye",
    ] {
        assert!(form.contains(field), "{field}: {form}");
    }
    assert_eq!(authorization, None);
    for (behavior, label) in [
        (ClassifierBehavior::Answer("true"), "spam"),
        (ClassifierBehavior::AnswerWith("true", ("x-akismet-pro-tip", "discard")), "blatant spam"),
        (ClassifierBehavior::AnswerWith("invalid", ("x-akismet-debug-help", "Empty \"blog\" value")), "unanswered"),
    ] {
        service.set_behavior(behavior);
        let reply = origin.try_post(&bob(), SUBJECT, &json!({"content": "casino", "parent_id": id(&root)})).await;
        assert_eq!(origin.queue_reasons(&reply.expect(202)).await, of_classifier(&[label]));
    }
    assert!(service.last_request().0.contains("&comment_type=reply&"));
}
