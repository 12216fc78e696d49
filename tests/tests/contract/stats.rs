//! The numbers of what people do: each act once, whatever becomes of it.

use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestMember, TestOrigin, admin, ann, bob, id, member, moderator};
use serde_json::{Value, json};

const SUBJECT: &str = "article/stats";
const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;

async fn stats(origin: &TestOrigin, query: &str) -> Value {
    origin.wait_until_persisted().await;
    origin.request(&format!("GET /v1/admin/stats?{query}")).by(&moderator()).send().await.expect(200)
}

/// The sums of an answer: posts, held, rejected, reports, reactions.
fn sums(answer: &Value) -> [u64; 5] {
    ["posts", "held", "rejected", "reports", "reactions"]
        .map(|name| answer["data"].as_array().unwrap().iter().map(|point| point[name].as_u64().unwrap()).sum())
}

async fn report(origin: &TestOrigin, by: &TestMember, comment: &Value) {
    let call = origin.request(&format!("POST /v1/comments/{}/reports", id(comment))).by(by);
    call.json(&json!({"reason": "spam"})).send().await.expect(202);
}

async fn post_once(origin: &TestOrigin, key: &str, content: &str) -> u16 {
    let call = origin.request(&format!("POST /v1/subjects/{SUBJECT}/comments")).by(&ann()).idempotency_key(key);
    call.json(&json!({"content": content})).send().await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn each_act_is_counted_once_and_nothing_takes_it_back() {
    let mut origin = TestOrigin::start().await;
    origin.load_terms(&[("holdme", TermAction::Review), ("blockme", TermAction::Block)]).await;
    assert_eq!(sums(&stats(&origin, "step=minute").await), [0; 5]);

    let first = origin.post(&ann(), SUBJECT, "first").await;
    let others = (0..6).map(|n| format!("article/stats-{n}"));
    let origin_ref = &origin;
    join_all(others.map(|subject| async move { origin_ref.post(&bob(), &subject, "other").await })).await;
    for _ in 0..2 {
        assert_eq!(post_once(&origin, "plain", "once").await, 201);
        assert_eq!(post_once(&origin, "held", "holdme once").await, 202);
        assert_eq!(post_once(&origin, "blocked", "blockme").await, 422);
    }
    let held = origin.try_post(&bob(), SUBJECT, &json!({"content": "holdme"})).await.expect(202);
    assert_eq!(sums(&stats(&origin, "step=minute").await), [10, 2, 0, 0, 0]);

    origin.edit(&ann(), &first, "holdme in an edit").await.expect(202);
    origin.wait_until_persisted().await;
    origin.decide(&moderator(), &held, "reject").await.expect(200);
    let liked = origin.post(&bob(), SUBJECT, "liked").await;
    for _ in 0..2 {
        origin.like(&ann(), &liked).await;
    }
    origin.set_flag(&ann(), "PUT", id(&liked), "dislike").await.expect(200);
    origin.set_flag(&ann(), "DELETE", id(&liked), "like").await.expect(200);
    origin.set_flag(&ann(), "DELETE", id(&liked), "dislike").await.expect(200);
    assert_eq!(sums(&stats(&origin, "step=minute").await), [11, 3, 1, 0, 3]);
    // The third takes it out of the lists.
    for by in [ann(), ann(), member(31), member(32)] {
        report(&origin, &by, &liked).await;
        origin.wait_until_persisted().await;
    }
    assert_eq!(sums(&stats(&origin, "step=minute").await), [11, 4, 1, 3, 3]);

    let rejected = origin.decide(&moderator(), &liked, "reject").await.expect(200);
    let undo = format!("POST /v1/admin/audit/{}/undo", rejected["audit_id"].as_str().unwrap());
    origin.request(&undo).by(&moderator()).send().await.expect(200);
    origin.delete(&ann(), &first).await.expect(204);
    origin.restart().await;
    for step in ["minute", "hour", "day"] {
        assert_eq!(sums(&stats(&origin, &format!("step={step}")).await), [11, 4, 2, 3, 3], "{step}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn points_are_the_steps_of_the_time_and_expire() {
    let origin = TestOrigin::start().await;
    origin.post(&ann(), SUBJECT, "now").await;
    let began = origin.app.now();
    origin.advance(Duration::from_millis(2 * MINUTE_MS));
    origin.post(&ann(), SUBJECT, "later").await;
    let now = origin.app.now();

    let hour = stats(&origin, "step=minute").await;
    let points = hour["data"].as_array().unwrap();
    assert_eq!((points.len(), points[59]["at"].as_u64()), (60, Some(now - now % MINUTE_MS)));
    let posts: Vec<_> = points[57..].iter().map(|point| point["posts"].as_u64().unwrap()).collect();
    assert_eq!(posts, [1, 0, 1]);
    assert_eq!(stats(&origin, "").await["data"].as_array().unwrap().len(), 24, "a day by hours");
    assert_eq!(stats(&origin, "step=day").await["data"].as_array().unwrap().len(), 30);
    let minute = began - began % MINUTE_MS;
    let one = stats(&origin, &format!("step=minute&from={began}&to={}", began + 1)).await;
    let expected = json!({"at": minute, "posts": 1, "held": 0, "rejected": 0, "reports": 0, "reactions": 0});
    assert_eq!(one["data"], json!([expected]));
    let next = minute + MINUTE_MS;
    assert_eq!(sums(&stats(&origin, &format!("step=minute&from={next}&to={}", next + 1)).await), [0; 5]);

    origin.advance(Duration::from_millis(8 * DAY_MS));
    origin.sweep().await;
    let days = stats(&origin, &format!("step=day&from={began}")).await;
    assert_eq!(sums(&days)[0], 2, "days stay");
    let hours = stats(&origin, &format!("step=hour&from={began}")).await;
    assert_eq!(sums(&hours)[0], 2, "hours stay for months");
    let list = |step| origin.app.tables.list_activity(step, 0, u64::MAX);
    assert!(list(gailou::domain::activity::ActivityStep::Minute).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_too_early_and_what_is_no_step_is_refused() {
    let origin = TestOrigin::start().await;
    let now = origin.app.now();
    let check = async |query: String, field: &str| {
        let answer = origin.request(&format!("GET /v1/admin/stats?{query}")).by(&admin()).send().await;
        let problem = answer.expect(400);
        assert_eq!((&problem["code"], &problem["errors"][0]["field"]), (&json!("invalid_request"), &json!(field)));
    };
    check("step=week".into(), "step").await;
    check("from=soon".into(), "from").await;
    check("to=-1".into(), "to").await;
    check(format!("from={now}&to={now}"), "from").await;
    check(format!("step=minute&from={}", now - 1_500 * MINUTE_MS), "from").await;
    check(format!("step=minute&from={}&to={}", now - 8 * DAY_MS, now - 8 * DAY_MS + 1), "from").await;
    check(format!("step=hour&from={}&to={}", now - 181 * DAY_MS, now - 180 * DAY_MS), "from").await;
    for (by, status) in [(None, 401), (Some(ann()), 403)] {
        let call = origin.request("GET /v1/admin/stats");
        let call = match &by {
            Some(by) => call.by(by),
            None => call,
        };
        assert_eq!(call.send().await.status, status);
    }
}
