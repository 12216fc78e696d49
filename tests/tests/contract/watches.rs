//! Threads that members watch, and what they are notified of there.

use std::time::Duration;

use gailou::domain::watch::StoredWatch;
use gailou_shared::id::{MemberId, SubjectKey};
use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, bob, member, moderator, poll_until, with_cursor};
use serde_json::{Value, json};

const SUBJECT: &str = "article/watched";
const PATH: &str = "/v1/subjects/article/watched/watch";
const WATCHES: &str = "/v1/me/watches";

async fn call(origin: &TestOrigin, by: &TestMember, line: &str) -> ApiResponse {
    origin.request(line).by(by).send().await
}

async fn watch(origin: &TestOrigin, by: &TestMember, path: &str) {
    call(origin, by, &format!("PUT {path}")).await.expect(204);
}

async fn watching(origin: &TestOrigin, by: &TestMember, path: &str) -> bool {
    let answer = call(origin, by, &format!("GET {path}")).await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    answer.expect(200)["watching"].as_bool().unwrap()
}

/// Subjects of a page of what a member watches.
fn keys(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|each| each["key"].as_str().unwrap()).collect()
}

/// What a member is notified of, once it is so much.
async fn notified(origin: &TestOrigin, of: &TestMember, count: usize) -> Vec<Value> {
    origin.wait_until_persisted().await;
    let read =
        || async { call(origin, of, "GET /v1/me/notifications").await.expect(200)["data"].as_array().unwrap().clone() };
    let found = poll_until(read, |found| found.len() == count).await;
    assert_eq!(found.len(), count, "{found:?}");
    found
}

/// Waits until nothing is left to be notified of.
async fn wait_until_notified(origin: &TestOrigin) {
    origin.wait_until_persisted().await;
    let waiting = || async {
        let mut events = 0;
        for database in 0..origin.app.change_feed.databases() {
            events += origin.app.tables.read_event_backlog(database).await.expect("the tables answer").events;
        }
        events
    };
    assert_eq!(poll_until(waiting, |events| *events == 0).await, 0);
}

async fn read_all(origin: &TestOrigin, of: &TestMember, newest: &Value) {
    let read = origin.request("POST /v1/me/notifications/read").by(of).json(&json!({"up_to": newest["id"]}));
    read.send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_begins_and_ends_for_members_and_guests() {
    let origin = TestOrigin::start().await;
    for by in [&ann(), &origin.register_guest("Gus").await] {
        assert!(!watching(&origin, by, PATH).await);
        for _ in 0..2 {
            watch(&origin, by, PATH).await;
            assert!(watching(&origin, by, PATH).await);
        }
        for _ in 0..2 {
            call(&origin, by, &format!("DELETE {PATH}")).await.expect(204);
            assert!(!watching(&origin, by, PATH).await);
        }
    }
    for method in ["GET", "PUT", "DELETE"] {
        origin.request(&format!("{method} {PATH}")).send().await.expect(401);
        for (path, status, code) in [
            ("/v1/subjects/none/1/watch", 404, "unknown_subject_type"),
            ("/v1/subjects/article/%FF/watch", 400, "invalid_request"),
        ] {
            let refused = call(&origin, &ann(), &format!("{method} {path}")).await;
            assert_eq!(refused.expect(status)["code"], code, "{method} {path}");
        }
    }
    origin.request(&format!("GET {WATCHES}")).send().await.expect(401);
    // Who is muted may still read, and watch.
    let muted = json!({"muted_until": origin.app.now() + 60_000});
    origin.request("PUT /v1/admin/members/8").by(&moderator()).json(&muted).send().await.expect(200);
    watch(&origin, &bob(), PATH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_are_listed_with_what_their_subjects_are_called() {
    let origin = TestOrigin::start().await;
    let ann = ann();
    let titled = json!({"title": "Books", "url": "https://books.example/1"});
    for key in ["3", "5"] {
        let line = format!("PUT /v1/admin/subjects/article/{key}");
        origin.request(&line).by(&admin()).json(&titled).send().await.expect(200);
    }
    let hidden = json!({"state": "hidden"});
    origin.request("PUT /v1/admin/subjects/article/5").by(&admin()).json(&hidden).send().await.expect(200);
    for n in 0..7 {
        origin.advance(Duration::from_millis(1));
        watch(&origin, &ann, &format!("/v1/subjects/article/{n}/watch")).await;
    }
    origin.wait_until_persisted().await;
    let first = call(&origin, &ann, &format!("GET {WATCHES}?limit=4")).await;
    assert_eq!(first.header("cache-control"), "private, no-store");
    let first = first.expect(200);
    assert_eq!(keys(&first), ["6", "5", "4", "3"]);
    let shown = &first["data"][3];
    assert_eq!(
        (&shown["type"], &shown["title"], &shown["url"], shown["created_at"].is_u64()),
        (&json!("article"), &json!("Books"), &json!("https://books.example/1"), true)
    );
    assert_eq!((&first["data"][1]["title"], &first["data"][1]["url"]), (&Value::Null, &Value::Null), "it is hidden");
    let next = first["page"]["next"].as_str().unwrap();
    let rest = call(&origin, &ann, &format!("GET {}", with_cursor(WATCHES, next))).await.expect(200);
    assert_eq!((keys(&rest), &rest["page"]), (vec!["2", "1", "0"], &json!({"next": null, "has_more": false})));
    for (path, by) in [(WATCHES, &bob()), ("/v1/me/notifications", &ann)] {
        let refused = call(&origin, by, &format!("GET {}", with_cursor(path, next))).await;
        assert_eq!(refused.expect(400)["code"], "bad_cursor");
    }
    // The bound is named.
    let of = MemberId::new(ann.id.parse().unwrap()).unwrap();
    let subject = |n| SubjectKey::new("article", &format!("many {n}")).unwrap();
    let many: Vec<_> = (0..1_000).map(|n| StoredWatch::new(subject(n), origin.app.now())).collect();
    origin.app.tables.add_watches(of, &many).await.unwrap();
    let refused = call(&origin, &ann, &format!("PUT {PATH}")).await.expect(409);
    assert_eq!(refused["code"], "version_conflict");
    assert!(refused["detail"].as_str().unwrap().contains("1,000"), "{refused}");
    watch(&origin, &ann, "/v1/subjects/article/3/watch").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watcher_is_notified_of_the_first_new_comment_until_they_have_read() {
    let origin = TestOrigin::start().await;
    let (ann, bob, cat) = (ann(), bob(), member(21));
    let titled = json!({"title": "Books"});
    let root = origin.post(&bob, SUBJECT, "before").await;
    let line = "PUT /v1/admin/subjects/article/watched";
    origin.request(line).by(&admin()).json(&titled).send().await.expect(200);
    wait_until_notified(&origin).await;
    for by in [&ann, &bob, &cat] {
        watch(&origin, by, PATH).await;
    }
    let first = origin.reply(&bob, &root, "first").await;
    let found = notified(&origin, &ann, 1).await;
    let shown = &found[0];
    assert_eq!(
        (&shown["kind"], &shown["comment"]["id"], &shown["title"], &shown["actor"]["id"], &shown["action"]),
        (&json!("watched"), &first["id"], &json!("Books"), &json!(bob.id), &Value::Null)
    );
    // Who is answered is notified of the answer alone, and who writes of nothing.
    let answer = origin.reply(&ann, &root, "an answer").await;
    origin.advance(Duration::from_millis(5));
    let third = origin.post(&ann, SUBJECT, "third").await;
    wait_until_notified(&origin).await;
    let of_bob = notified(&origin, &bob, 2).await;
    let kinds = |found: &[Value]| -> Vec<(Value, Value)> {
        found.iter().map(|row| (row["kind"].clone(), row["comment"]["id"].clone())).collect()
    };
    assert_eq!(kinds(&of_bob), [(json!("watched"), third["id"].clone()), (json!("reply"), answer["id"].clone())]);
    assert!(of_bob[1]["title"].is_null());
    assert_eq!(kinds(&notified(&origin, &cat, 1).await), [(json!("watched"), first["id"].clone())]);
    assert_eq!(kinds(&notified(&origin, &ann, 1).await), [(json!("watched"), first["id"].clone())]);
    // After reading, the next one comes.
    read_all(&origin, &ann, shown).await;
    origin.advance(Duration::from_millis(5));
    let next = origin.post(&bob, SUBJECT, "next").await;
    assert_eq!(notified(&origin, &ann, 2).await[0]["comment"]["id"], next["id"]);
    call(&origin, &ann, &format!("DELETE {PATH}")).await.expect(204);
    read_all(&origin, &ann, &notified(&origin, &ann, 2).await[0]).await;
    origin.post(&bob, SUBJECT, "unseen").await;
    wait_until_notified(&origin).await;
    notified(&origin, &ann, 2).await;
    // What is hidden is named no more.
    let hidden = json!({"state": "hidden"});
    origin.request(line).by(&admin()).json(&hidden).send().await.expect(200);
    let shown = || async { notified(&origin, &ann, 2).await };
    let found = poll_until(shown, |found| found.iter().all(|row| row["comment"].is_null())).await;
    assert!(found.iter().all(|row| row["title"].is_null() && row["actor"].is_null()), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_are_exported_moved_and_erased_with_their_member() {
    let origin = TestOrigin::start().await;
    let (ann, guest) = (ann(), origin.register_guest("Gus").await);
    watch(&origin, &guest, PATH).await;
    watch(&origin, &guest, "/v1/subjects/article/both/watch").await;
    watch(&origin, &ann, "/v1/subjects/article/both/watch").await;
    let exported = call(&origin, &guest, "GET /v1/me/export").await.expect(200);
    let subjects: Vec<&str> =
        exported["watches"].as_array().unwrap().iter().map(|watch| watch["subject"].as_str().unwrap()).collect();
    assert!(subjects.contains(&SUBJECT) && subjects.contains(&"article/both") && subjects.len() == 2, "{subjects:?}");
    let body = json!({"guest_token": guest.token});
    origin.request("POST /v1/me/merge").by(&ann).json(&body).send().await.expect(200);
    let of_ann = call(&origin, &ann, &format!("GET {WATCHES}")).await.expect(200);
    let mut all = keys(&of_ann);
    all.sort_unstable();
    assert_eq!(all, ["both", "watched"]);
    let guest_id = MemberId::new(guest.id.parse().unwrap()).unwrap();
    assert_eq!(origin.app.tables.list_watches(guest_id, None, 10).await.unwrap(), []);
    let comment = origin.post(&bob(), SUBJECT, "of the thread").await;
    assert_eq!(notified(&origin, &ann, 1).await[0]["comment"]["id"], comment["id"]);

    call(&origin, &ann, "DELETE /v1/me").await.expect(204);
    let ann_id = MemberId::new(ann.id.parse().unwrap()).unwrap();
    let left = || async { origin.app.tables.list_watches(ann_id, None, 10).await.unwrap() };
    assert_eq!(poll_until(left, Vec::is_empty).await, []);
}
