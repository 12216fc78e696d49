//! Webhooks: made and removed by admins, delivered and retried, and what leaves with them.

use std::time::Duration;

use futures_util::future::join;
use gailou::domain::event::{Event, EventKind};
use gailou::domain::webhook::{
    DELIVERY_LIFETIME_MS, DELIVERY_RETENTION_MS, DeliveryProgress, MAX_PENDING_DELIVERIES, MAX_WEBHOOKS,
};
use gailou::jobs::deliver_webhooks::queue;
use gailou_shared::wire::WebhookDeliveryStatus;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{
    ApiResponse, ReceivedWebhook, ReceiverBehavior, TestOrigin, WebhookReceiver, admin, ann, bob, id, moderator,
    poll_until,
};
use serde_json::{Value, json};

const SUBJECT: &str = "article/webhooks";
const ALL_EVENTS: [&str; 4] = ["comment.created", "comment.held", "comment.reported", "comment.decided"];

/// An origin whose webhooks may lead to this machine.
async fn start() -> TestOrigin {
    TestOrigin::start_with(|config| config.webhooks.allow_private = true).await
}

async fn try_add(origin: &TestOrigin, body: &Value) -> ApiResponse {
    origin.request("POST /v1/admin/webhooks").by(&admin()).json(body).send().await
}

async fn add(origin: &TestOrigin, url: &str) -> Value {
    try_add(origin, &json!({"url": url, "events": ALL_EVENTS})).await.expect(201)
}

async fn list(origin: &TestOrigin) -> Vec<Value> {
    let list = origin.request("GET /v1/admin/webhooks").by(&admin()).send().await.expect(200);
    list["data"].as_array().unwrap().clone()
}

async fn deliveries(origin: &TestOrigin, webhook: &Value) -> Vec<Value> {
    let path = format!("GET /v1/admin/webhooks/{}/deliveries", id(webhook));
    origin.request(&path).by(&admin()).send().await.expect(200)["data"].as_array().unwrap().clone()
}

/// The deliveries, when the first one is as expected.
async fn delivery_with(origin: &TestOrigin, webhook: &Value, fields: &Value) -> Value {
    let has = |delivery: &Value| fields.as_object().unwrap().iter().all(|(name, value)| delivery[name] == *value);
    let read = || deliveries(origin, webhook);
    let found = poll_until(read, |all| all.first().is_some_and(has)).await;
    assert!(found.first().is_some_and(has), "{fields} is not {found:?}");
    found[0].clone()
}

async fn retry(origin: &TestOrigin, webhook: &Value, delivery: &Value) -> ApiResponse {
    let path = format!("POST /v1/admin/webhooks/{}/deliveries/{}/retry", id(webhook), id(delivery));
    origin.request(&path).by(&admin()).send().await
}

/// Writes the deliveries of publications of a comment, so many milliseconds ago. That of this moment is the one that it
/// has anyway, when its event is read.
async fn notify(origin: &TestOrigin, comment: &Value, ages: impl IntoIterator<Item = u64>) {
    origin.wait_until_persisted().await;
    let (comment, now) = (id(comment).parse().unwrap(), origin.app.now());
    let event = |age| Event::new(comment, EventKind::Published, None, now - age);
    let events: Vec<Event> = ages.into_iter().map(event).collect();
    queue(&*origin.app.tables, &events, now).await.unwrap();
}

fn webhook_ids(received: &[ReceivedWebhook]) -> Vec<&str> {
    received.iter().map(|request| request.header("webhook-id")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_is_made_and_removed_by_admins_and_its_secret_is_shown_once() {
    let origin = start().await;
    let url = "https://hooks.example.com/services/T0/secret";
    let body = json!({"url": url, "events": ["comment.held", "comment.created"], "template": "slack"});
    let made = try_add(&origin, &body).await.expect(201);
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"), "{made}");
    assert_eq!((&made["url"], &made["template"]), (&json!(url), &json!("slack")));
    assert_eq!(made["events"], json!(["comment.created", "comment.held"]));
    let listed = list(&origin).await;
    let mut expected = made.clone();
    expected.as_object_mut().unwrap().remove("secret");
    assert_eq!(listed, [expected]);
    assert_eq!(deliveries(&origin, &made).await, Vec::<Value>::new());

    let path = format!("/v1/admin/webhooks/{}", id(&made));
    for line in [
        "GET /v1/admin/webhooks".to_owned(),
        "POST /v1/admin/webhooks".to_owned(),
        format!("DELETE {path}"),
        format!("GET {path}/deliveries"),
        format!("POST {path}/deliveries/msg_{}/retry", "0".repeat(32)),
    ] {
        let refused = origin.request(&line).by(&moderator()).json(&body).send().await.expect(403);
        assert_eq!(refused["code"], "forbidden", "{line}");
    }

    let remove = || origin.request(&format!("DELETE {path}")).by(&admin()).send();
    assert_eq!(remove().await.status, 204);
    assert_eq!(remove().await.expect(404)["code"], "not_found");
    assert_eq!(list(&origin).await, Vec::<Value>::new());
    let gone = origin.request(&format!("GET {path}/deliveries")).by(&admin()).send().await;
    assert_eq!(gone.expect(404)["code"], "not_found");

    let log = origin.request("GET /v1/admin/audit").by(&moderator()).send().await.expect(200);
    let [removed, added] = log["data"].as_array().unwrap().as_slice() else { panic!("two entries: {log}") };
    let entry = json!({
        "host": "https://hooks.example.com", "events": ["comment.created", "comment.held"], "template": "slack",
    });
    let target = json!({"kind": "webhook", "id": made["id"]});
    assert_eq!((&added["action"], &added["target"]), (&json!("add_webhook"), &target));
    assert_eq!((&added["before"], &added["after"]), (&json!(null), &entry));
    assert_eq!((&removed["action"], &removed["target"]), (&json!("remove_webhook"), &target));
    assert_eq!((&removed["before"], &removed["after"]), (&entry, &json!(null)));
    assert!(!log.to_string().contains("secret"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_are_not_public_are_refused_unless_they_are_allowed() {
    let origin = TestOrigin::start().await;
    let body = |url: &str| json!({"url": url, "events": ["comment.created"]});
    for url in [
        "http://127.0.0.1:8080/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::ffff:7f00:1]/",
        "https://[fd00::1]/",
        "http://example.com/",
        "ftp://example.com/",
        "https://a:b@example.com/",
        "hook",
        "",
    ] {
        let refused = try_add(&origin, &body(url)).await.expect(400);
        assert_eq!(
            (&refused["code"], &refused["errors"][0]["field"]),
            (&json!("invalid_request"), &json!("url")),
            "{url}"
        );
    }
    let wrong = try_add(&origin, &json!({"url": "https://example.com/", "events": ["comment.read"]})).await.expect(400);
    assert_eq!(wrong["errors"][0]["field"], "events");
    try_add(&origin, &body("https://example.com/hook")).await.expect(201);

    // The bound on their number.
    for n in 1..MAX_WEBHOOKS {
        try_add(&origin, &body(&format!("https://example.com/{n}"))).await.expect(201);
    }
    assert_eq!(try_add(&origin, &body("https://example.com/")).await.expect(409)["code"], "version_conflict");
    assert_eq!(list(&origin).await.len(), MAX_WEBHOOKS);
}

#[tokio::test(flavor = "multi_thread")]
async fn private_address_that_was_allowed_is_not_sent_to_later() {
    let mut origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
    let port = receiver.url.rsplit_once(':').unwrap().1;
    let by_number = add(&origin, &receiver.url).await;
    let by_name = add(&origin, &format!("http://localhost:{port}")).await;
    origin.restart_with(|config| config.webhooks.allow_private = false).await;
    let comment = origin.post(&ann(), SUBJECT, "inside").await;
    notify(&origin, &comment, [0]).await;
    for webhook in [&by_number, &by_name] {
        delivery_with(&origin, webhook, &json!({"status": "pending", "attempts": 1, "last_status": null})).await;
    }
    assert!(receiver.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_is_signed_and_has_the_comment() {
    let origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(204)).await;
    let webhook = add(&origin, &receiver.url).await;
    let of_reports = try_add(&origin, &json!({"url": receiver.url, "events": ["comment.reported"]})).await.expect(201);
    let subject = json!({"title": "Hooks", "url": "https://blog.example/hooks"});
    origin.put_subject(&moderator(), SUBJECT, &subject).await.expect(200);
    let comment = origin.post(&ann(), SUBJECT, "a **comment**").await;
    notify(&origin, &comment, [0]).await;
    let received = receiver.wait_for(1).await;
    let request = &received[0];
    request.verify(webhook["secret"].as_str().unwrap());
    assert_eq!((request.path.as_str(), request.header("content-type")), ("/hook", "application/json"));
    let sent_at: u64 = request.header("webhook-timestamp").parse().unwrap();
    assert_eq!(sent_at, origin.app.now() / 1_000);

    let message = request.json();
    assert_eq!((message.as_object().unwrap().len(), message["data"].as_object().unwrap().len()), (3, 1), "{message}");
    assert_eq!(message["type"], "comment.created");
    assert!(message["timestamp"].as_str().unwrap().ends_with('Z'), "{message}");
    let sent = &message["data"]["comment"];
    assert_eq!((&sent["id"], &sent["content"]), (&comment["id"], &json!("a **comment**")));
    assert_eq!((&sent["subject"]["title"], &sent["subject"]["url"]), (&subject["title"], &subject["url"]));
    assert_eq!((&sent["author"]["name"], &sent["floor"]), (&json!("Ann"), &json!(1)));

    let fields = json!({
        "id": request.header("webhook-id"), "event": "comment.created", "status": "delivered", "attempts": 1,
        "last_status": 204, "next_at": null,
    });
    delivery_with(&origin, &webhook, &fields).await;
    assert_eq!(deliveries(&origin, &of_reports).await, Vec::<Value>::new());
    // The same event again is no other delivery.
    notify(&origin, &comment, [0]).await;
    assert_eq!(deliveries(&origin, &webhook).await.len(), 1);
    receiver.wait_for(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_delivery_is_tried_again_until_it_is_taken() {
    let origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(500)).await;
    let elsewhere = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
    let webhook = add(&origin, &receiver.url).await;
    let comment = origin.post(&ann(), SUBJECT, "again").await;
    notify(&origin, &comment, [0]).await;
    let next_at = |after: u64| json!(origin.app.now() + after);
    let fields = json!({"status": "pending", "attempts": 1, "last_status": 500, "next_at": next_at(5_000)});
    delivery_with(&origin, &webhook, &fields).await;
    let failing = poll_until(|| list(&origin), |all| !all[0]["failing_since"].is_null()).await;
    assert_eq!(failing[0]["failing_since"], json!(origin.app.now()));

    receiver.set_behavior(ReceiverBehavior::Redirect(elsewhere.url.clone()));
    origin.advance(Duration::from_secs(5));
    let fields = json!({"attempts": 2, "last_status": 302, "next_at": next_at(30_000)});
    delivery_with(&origin, &webhook, &fields).await;
    receiver.set_behavior(ReceiverBehavior::Close);
    origin.advance(Duration::from_secs(30));
    let fields = json!({"attempts": 3, "last_status": null, "next_at": next_at(300_000)});
    delivery_with(&origin, &webhook, &fields).await;

    receiver.set_behavior(ReceiverBehavior::Answer(200));
    origin.advance(Duration::from_secs(300));
    delivery_with(&origin, &webhook, &json!({"status": "delivered", "attempts": 4, "last_status": 200})).await;
    let works = poll_until(|| list(&origin), |all| all[0]["failing_since"].is_null()).await;
    assert_eq!(works[0]["failing_since"], json!(null));
    let received = receiver.wait_for(4).await;
    let ids = webhook_ids(&received);
    let [first, others @ ..] = ids.as_slice() else { panic!("four requests") };
    assert!(others.iter().all(|other| other == first), "{first} is not {others:?}");
    received.iter().for_each(|request| request.verify(webhook["secret"].as_str().unwrap()));
    assert!(elsewhere.received().is_empty(), "a redirect is not followed");
}

#[tokio::test(flavor = "multi_thread")]
async fn receiver_that_is_slow_delays_no_other() {
    let origin = start().await;
    let slow = WebhookReceiver::start(ReceiverBehavior::Wait).await;
    let quick = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
    let (slow_webhook, quick_webhook) = join(add(&origin, &slow.url), add(&origin, &quick.url)).await;
    origin.advance(Duration::from_secs(60));
    let comment = origin.post(&ann(), SUBJECT, "slow").await;
    notify(&origin, &comment, 0..12).await;
    quick.wait_for(12).await;
    let read = || deliveries(&origin, &quick_webhook);
    let all = poll_until(read, |all| all.iter().all(|delivery| delivery["status"] == "delivered")).await;
    assert_eq!(all.len(), 12);
    assert!(slow.received().len() <= 4, "its places are bounded");
    let waiting = deliveries(&origin, &slow_webhook).await;
    assert!(waiting.iter().all(|delivery| delivery["status"] == "pending"), "{waiting:?}");
    // No answer in 10 s is a failed try.
    let tried =
        poll_until(|| deliveries(&origin, &slow_webhook), |all| all.iter().any(|one| one["attempts"] == 1)).await;
    let tried = tried.iter().find(|one| one["attempts"] == 1).unwrap_or_else(|| panic!("no try ended: {tried:?}"));
    assert_eq!(tried["last_status"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_that_was_taken_down_leaves_without_its_text() {
    let origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(500)).await;
    let webhook = add(&origin, &receiver.url).await;
    let comment = origin.post(&ann(), SUBJECT, "regretted").await;
    notify(&origin, &comment, [0]).await;
    assert_eq!(receiver.wait_for(1).await[0].json()["data"]["comment"]["content"], "regretted");
    delivery_with(&origin, &webhook, &json!({"attempts": 1})).await;
    assert_eq!(origin.delete(&ann(), &comment).await.status, 204);
    origin.advance(Duration::from_secs(5));
    let received = receiver.wait_for(2).await;
    let sent = &received[1].json()["data"]["comment"];
    assert_eq!((&sent["state"], &sent["content"], &sent["author"]), (&json!("deleted"), &json!(""), &json!(null)));
    assert!(!String::from_utf8(received[1].body.clone()).unwrap().contains("regretted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_is_given_up_after_a_day_and_can_be_sent_again() {
    let origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(503)).await;
    let webhook = add(&origin, &receiver.url).await;
    let comment = origin.post(&ann(), SUBJECT, "late").await;
    notify(&origin, &comment, [0]).await;
    delivery_with(&origin, &webhook, &json!({"status": "pending", "attempts": 1})).await;
    origin.advance(Duration::from_millis(DELIVERY_LIFETIME_MS));
    let failed = delivery_with(
        &origin,
        &webhook,
        &json!({"status": "failed", "attempts": 2, "last_status": 503, "next_at": null}),
    )
    .await;
    receiver.set_behavior(ReceiverBehavior::Answer(200));
    let retried = retry(&origin, &webhook, &failed).await.expect(200);
    assert_eq!((&retried["status"], &retried["next_at"]), (&json!("pending"), &json!(origin.app.now())));
    let delivered = delivery_with(&origin, &webhook, &json!({"status": "delivered", "attempts": 3})).await;
    assert_eq!(receiver.wait_for(3).await[2].header("webhook-id"), id(&delivered));

    let unknown = json!({"id": format!("msg_{}", "0".repeat(32))});
    assert_eq!(retry(&origin, &webhook, &unknown).await.expect(404)["code"], "not_found");
    assert_eq!(retry(&origin, &webhook, &json!({"id": "7"})).await.expect(400)["errors"][0]["field"], "delivery");
    origin.sweep().await;
    assert_eq!(deliveries(&origin, &webhook).await.len(), 1);
    origin.advance(Duration::from_millis(DELIVERY_RETENTION_MS));
    origin.sweep().await;
    assert_eq!(deliveries(&origin, &webhook).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_have_pages_and_a_bound() {
    let origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Wait).await;
    let comment = origin.post(&ann(), SUBJECT, "many").await;
    origin.advance(Duration::from_secs(1));
    let webhook = add(&origin, &receiver.url).await;
    origin.advance(Duration::from_secs(60));
    notify(&origin, &comment, 0..MAX_PENDING_DELIVERIES as u64 + 5).await;
    assert_eq!(list(&origin).await[0]["dropped"], 5);

    let path = format!("/v1/admin/webhooks/{}/deliveries?limit=2", id(&webhook));
    let page = async |cursor: &str| origin.request(&format!("GET {path}{cursor}")).by(&admin()).send().await;
    let first = page("").await.expect(200);
    let second = page(&format!("&cursor={}", first["page"]["next"].as_str().unwrap())).await.expect(200);
    let ids = |page: &Value| page["data"].as_array().unwrap().iter().map(|one| id(one).to_owned()).collect::<Vec<_>>();
    let all: Vec<String> = deliveries(&origin, &webhook).await.iter().take(4).map(|one| id(one).to_owned()).collect();
    assert_eq!([ids(&first), ids(&second)].concat(), all);
    let other = add(&origin, &receiver.url).await;
    let path =
        format!("GET /v1/admin/webhooks/{}/deliveries?cursor={}", id(&other), first["page"]["next"].as_str().unwrap());
    assert_eq!(origin.request(&path).by(&admin()).send().await.expect(400)["code"], "bad_cursor");
    assert_eq!(page("&cursor=x").await.expect(400)["code"], "bad_cursor");
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_service_gets_its_own_form() {
    let origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
    let body = json!({"url": receiver.url, "events": ["comment.created"], "template": "slack"});
    let webhook = try_add(&origin, &body).await.expect(201);
    let telegram = json!({"url": receiver.url, "events": ["comment.created"], "template": "telegram"});
    assert_eq!(try_add(&origin, &telegram).await.expect(400)["errors"][0]["field"], "url");
    origin
        .put_subject(&moderator(), SUBJECT, &json!({"title": "Hooks", "url": "https://blog.example/hooks#top"}))
        .await
        .expect(200);
    let comment = origin.post(&ann(), SUBJECT, "<!channel> & all").await;
    notify(&origin, &comment, [0]).await;
    let received = receiver.wait_for(1).await;
    received[0].verify(webhook["secret"].as_str().unwrap());
    let link = format!("https://blog.example/hooks#comment-{}", id(&comment));
    let text = format!("New comment: Ann on “Hooks”\n&lt;!channel&gt; &amp; all\n{link}");
    assert_eq!(received[0].json(), json!({"text": text, "unfurl_links": false, "mrkdwn": false}));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_chat_service_gets_one_delivery_in_the_form_that_it_accepts() {
    let origin = start().await;
    origin
        .put_subject(&moderator(), SUBJECT, &json!({"title": "Hooks", "url": "https://blog.example/hooks"}))
        .await
        .expect(200);
    let mut receivers = vec![];
    for (template, query) in
        [("slack", ""), ("telegram", "?chat_id=-100"), ("lark", ""), ("dingtalk", "?access_token=t"), ("discord", "")]
    {
        let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
        let url = format!("{}{query}", receiver.url);
        let body = json!({"url": url, "events": ["comment.created"], "template": template});
        let webhook = try_add(&origin, &body).await.expect(201);
        receivers.push((template, query, receiver, webhook));
    }
    let comment = origin.post(&ann(), SUBJECT, "<at> @all *b*").await;
    let link = format!("https://blog.example/hooks#comment-{}", id(&comment));
    let said = |title: &str, text: &str| format!("New comment: Ann on {title}\n{text}\n{link}");
    for (template, query, receiver, webhook) in receivers {
        let received = receiver.wait_for(1).await.remove(0);
        received.verify(webhook["secret"].as_str().unwrap());
        assert_eq!(received.path, format!("/hook{query}"), "{template}");
        assert_eq!(received.header("content-type"), "application/json", "{template}");
        let expected = match template {
            "slack" => {
                let text = said("“Hooks”", "&lt;at&gt; @all *b*");
                json!({"text": text, "unfurl_links": false, "mrkdwn": false})
            }
            "telegram" => {
                let text = said("“Hooks”", "<at> @\u{2060}all *b*");
                json!({"chat_id": "-100", "text": text, "link_preview_options": {"is_disabled": true}})
            }
            "lark" => json!({"msg_type": "text", "content": {"text": said("“Hooks”", "＜at> @all *b*")}}),
            "dingtalk" => json!({"msgtype": "text", "text": {"content": said("“Hooks”", "<at> @all *b*")}}),
            _ => {
                let text = said("“Hooks”", r"\<at\> \@all \*b\*").replacen("New comment:", r"New comment\:", 1);
                json!({"content": text, "allowed_mentions": {"parse": []}})
            }
        };
        assert_eq!(received.json(), expected, "{template}");
        delivery_with(&origin, &webhook, &json!({"status": "delivered", "attempts": 1, "last_status": 200})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_comments_is_delivered() {
    let origin = start().await;
    origin.load_terms(&[("casino", TermAction::Review)]).await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
    let webhook = add(&origin, &receiver.url).await;
    let open = origin.post(&ann(), SUBJECT, "open").await;
    let held = origin.try_post(&ann(), SUBJECT, &json!({"content": "the casino"})).await.expect(202);
    origin.wait_until_persisted().await;
    let report = origin.request(&format!("POST /v1/comments/{}/reports", id(&open))).by(&bob());
    report.json(&json!({"reason": "spam"})).send().await.expect(202);
    // Each before the next: what is sent is how the comment is then.
    receiver.wait_for(3).await;
    origin.advance(Duration::from_secs(1));
    origin.decide(&moderator(), &held, "approve").await.expect(200);
    receiver.wait_for(5).await;
    origin.decide(&moderator(), &open, "hide").await.expect(200);
    let received = receiver.wait_for(6).await;
    let sent = received.iter().map(|request| {
        request.verify(webhook["secret"].as_str().unwrap());
        let message = request.json();
        let comment = &message["data"]["comment"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&message["type"]), text(&comment["id"]), text(&comment["state"]), text(&comment["content"]))
    });
    let mut sent: Vec<_> = sent.collect();
    sent[..3].sort();
    sent[3..5].sort();
    let expected = [
        ("comment.created", &open, "published", "open"),
        ("comment.held", &held, "review", "the casino"),
        ("comment.reported", &open, "published", "open"),
        ("comment.created", &held, "published", "the casino"),
        ("comment.decided", &held, "published", "the casino"),
        ("comment.decided", &open, "hidden", ""),
    ];
    let expected = expected
        .map(|(event, of, state, text)| (event.to_owned(), id(of).to_owned(), state.to_owned(), text.to_owned()));
    assert_eq!(sent, expected);
    let ids: std::collections::BTreeSet<_> = webhook_ids(&received).into_iter().collect();
    assert_eq!(ids.len(), 6, "each event has an id of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn held_edit_is_delivered_with_its_new_text() {
    let origin = start().await;
    origin.load_terms(&[("casino", TermAction::Review)]).await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
    let body = json!({"url": receiver.url, "events": ["comment.held"]});
    try_add(&origin, &body).await.expect(201);
    let comment = origin.post(&ann(), SUBJECT, "before").await;
    origin.wait_until_persisted().await;
    origin.edit(&ann(), &comment, "the casino").await.expect(202);
    let received = receiver.wait_for(1).await;
    let sent = &received[0].json()["data"]["comment"];
    assert_eq!(
        (&sent["id"], &sent["content"], &sent["state"]),
        (&comment["id"], &json!("the casino"), &json!("review"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_is_leased_by_one_process_and_marked_by_that_alone() {
    let origin = start().await;
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(500)).await;
    let webhook = add(&origin, &receiver.url).await;
    origin.post(&ann(), SUBJECT, "leased").await;
    // The clock stands still, so the origin does not try it again.
    delivery_with(&origin, &webhook, &json!({"attempts": 1})).await;
    let (tables, of) = (&origin.app.tables, id(&webhook).parse().unwrap());
    let row = tables.list_deliveries(of, None, 1).await.unwrap().remove(0);
    let until = row.progress.next_at + 15_000;
    let (one, other) = join(tables.lease_delivery(&row, until), tables.lease_delivery(&row, until + 1)).await;
    assert!(one.unwrap() != other.unwrap(), "one of them has it");
    let leased = tables.list_deliveries(of, None, 1).await.unwrap().remove(0);
    let marked = DeliveryProgress { status: WebhookDeliveryStatus::Delivered, attempts: 2, ..leased.progress };
    tables.put_progress(row.number, until + 2, &marked).await.unwrap();
    assert_eq!(tables.list_deliveries(of, None, 1).await.unwrap(), std::slice::from_ref(&leased));
    tables.put_progress(row.number, leased.progress.next_at, &marked).await.unwrap();
    assert_eq!(tables.list_deliveries(of, None, 1).await.unwrap()[0].progress, marked);
}
