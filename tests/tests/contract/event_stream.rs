//! `/v1/subjects/{type}/{key}/events`: readers of a subject get its changes as a document or a stream.
//!
//! Promise: a reader gets every change, or a `reset` that says that changes were missed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use gailou_tests::{POLL_TIMEOUT, TestOrigin, ann, id, moderator, poll_until};
use serde_json::{Value, json};

/// The time in which an origin with open streams must stop: it does not wait for a stream's end.
const STOP_TIMEOUT: Duration = Duration::from_secs(8);

const TEST_SUBJECT: &str = "article/live";
const EVENTS_PATH: &str = "/v1/subjects/article/live/events";

/// Polls the changes after a version until they are accepted.
async fn poll_changes(origin: &TestOrigin, after: u64, is_accepted: impl Fn(&Value) -> bool) -> Value {
    let path = format!("{EVENTS_PATH}?after={after}");
    let document = poll_until(|| origin.page(&path), &is_accepted).await;
    assert!(is_accepted(&document), "{path}: {document}");
    document
}

/// `[type, id]` of every event, without `counts`.
fn comment_events(document: &Value) -> Vec<[String; 2]> {
    let events = document["events"].as_array().expect("events").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    events.filter(|e| e["type"] != "counts").map(|e| [text(&e["type"]), text(&e["data"]["id"])]).collect()
}

fn version(document: &Value) -> u64 {
    document["version"].as_str().expect("a version").parse().expect("a number")
}

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
struct StreamEvent {
    id: String,
    event: String,
    data: Value,
}

/// A reader of the stream.
struct EventStreamReader {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = String> + Send>>,
    text: String,
}

impl EventStreamReader {
    async fn open(origin: &TestOrigin, after: &str) -> Self {
        let request = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client")
            .get(format!("{}{EVENTS_PATH}", origin.base()));
        let request = request.header("accept", "text/event-stream").header("last-event-id", after);
        let answer = request.send().await.expect("a stream");
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        assert_eq!(
            (&answer.headers()["cache-control"], &answer.headers()["access-control-allow-origin"]),
            (&"no-store".parse().unwrap(), &"*".parse().unwrap())
        );
        let parts = answer.bytes_stream().map(|part| String::from_utf8_lossy(&part.unwrap_or_default()).into_owned());
        Self { body: Box::pin(parts), text: String::new() }
    }

    /// The next event, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let mut parsed = StreamEvent::default();
                for line in event.lines() {
                    let (name, value) = line.split_once(':').expect("a field");
                    let value = value.trim_start();
                    match name {
                        "id" => parsed.id = value.to_owned(),
                        "event" => parsed.event = value.to_owned(),
                        "data" => parsed.data = serde_json::from_str(value).expect("JSON"),
                        "retry" => assert_eq!(value, "3000"),
                        _ => assert_eq!(name, "", "a comment"),
                    }
                }
                self.text = rest.to_owned();
                return Some(parsed);
            }
            let part = tokio::time::timeout(POLL_TIMEOUT, self.body.next())
                .await
                .expect("an event or a keep-alive arrives in time")?;
            self.text.push_str(&part);
        }
    }

    /// The next event with a name: the first one of a stream and keep-alives have none.
    async fn next_named(&mut self) -> StreamEvent {
        loop {
            let event = self.next().await.expect("the stream is open");
            if !event.event.is_empty() {
                return event;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_visible_change_is_an_event() {
    let origin = TestOrigin::start().await;
    let now = origin.page(EVENTS_PATH).await;
    assert_eq!(now, json!({"version": "0", "reset": false, "events": []}), "a subject without comments");
    let root = origin.post(&ann(), TEST_SUBJECT, "root").await;
    let reply = origin.reply(&ann(), &root, "reply").await;
    let document = poll_changes(&origin, 0, |document| comment_events(document).len() == 2).await;
    let [first, second, counts] = &document["events"].as_array().expect("events")[..] else { panic!("{document}") };
    assert_eq!(first["data"], json!({"id": root["id"], "root_id": root["id"], "parent_id": null}));
    assert_eq!(second["data"], json!({"id": reply["id"], "root_id": root["id"], "parent_id": root["id"]}));
    assert_eq!((&counts["type"], &counts["data"]), (&json!("counts"), &json!({"roots": 1, "comments": 2})));
    assert_eq!((&counts["id"], version(&document)), (&document["version"], origin.stored_version(TEST_SUBJECT).await));

    let at = version(&document);
    origin.edit(&ann(), &reply, "changed").await.expect(200);
    let document = poll_changes(&origin, at, |document| version(document) > at).await;
    assert_eq!(
        comment_events(&document),
        [["comment".to_owned(), id(&reply).to_owned()]],
        "an edit changes the comment"
    );

    let at = version(&document);
    origin.like(&ann(), &root).await;
    let document = poll_changes(&origin, at, |document| version(document) > at).await;
    assert_eq!(document["events"], json!([]), "a like changes counts only");

    // A deleted root stays as a tombstone while its reply is visible, and leaves the list with it.
    let at = version(&document);
    origin.delete(&ann(), &root).await;
    let document = poll_changes(&origin, at, |document| version(document) > at).await;
    assert_eq!(comment_events(&document), [["removed".to_owned(), id(&root).to_owned()]]);
    let at = version(&document);
    origin.delete(&ann(), &reply).await;
    let document = poll_changes(&origin, at, |document| version(document) > at).await;
    assert!(comment_events(&document).contains(&["removed".to_owned(), id(&reply).to_owned()]), "{document}");
    let counts = document["events"].as_array().expect("events").last().expect("counts").clone();
    assert_eq!(counts["data"], json!({"roots": 0, "comments": 0}));
    let at = version(&document);
    origin.decide(&moderator(), &reply, "restore").await.expect(200);
    let document = poll_changes(&origin, at, |document| version(document) > at).await;
    assert!(comment_events(&document).contains(&["comment".to_owned(), id(&reply).to_owned()]), "{document}");
}

#[tokio::test(flavor = "multi_thread")]
async fn document_is_cacheable_for_a_second_and_wrong_versions_are_400() {
    let origin = TestOrigin::start().await;
    origin.post(&ann(), TEST_SUBJECT, "root").await;
    let answer = origin.get(&format!("{EVENTS_PATH}?after=0")).await;
    assert_eq!(answer.header("cdn-cache-control"), "public, max-age=1");
    assert_eq!(answer.header("cache-control"), "public, no-cache");
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    for wrong in ["", "-1", "x", "1.0", "99999999999999999999"] {
        let refused = origin.get(&format!("{EVENTS_PATH}?after={wrong}")).await.expect(400);
        assert_eq!(refused["errors"][0]["field"], "after", "{wrong}");
    }
    let refused = origin
        .request(&format!("GET {EVENTS_PATH}"))
        .header("accept", "text/event-stream")
        .header("last-event-id", "x");
    assert_eq!(refused.send().await.expect(400)["errors"][0]["field"], "Last-Event-ID");
    assert_eq!(origin.get("/v1/subjects/nothing/live/events").await.expect(404)["code"], "unknown_subject_type");
}

#[tokio::test(flavor = "multi_thread")]
async fn reconnected_stream_continues_without_a_gap() {
    let origin = TestOrigin::start().await;
    let mut stream = EventStreamReader::open(&origin, "").await;
    let first = stream.next().await.expect("the first event");
    assert_eq!((first.event.as_str(), first.id.as_str()), ("", "0"));
    let (mut posted, mut received) = (BTreeSet::new(), BTreeSet::new());
    let mut last = first.id;
    for round in 0..3 {
        for n in 0..4 {
            posted.insert(id(&origin.post(&ann(), TEST_SUBJECT, &format!("{round} {n}")).await).to_owned());
        }
        while received.len() < posted.len() - 2 {
            let event = stream.next_named().await;
            assert_ne!(event.event, "reset");
            // An event without an id does not change the last one.
            if !event.id.is_empty() {
                last = event.id.clone();
            }
            if event.event == "comment" {
                received.insert(id(&event.data).to_owned());
            }
        }
        // The connection breaks, perhaps between the events of one commit, and another comment follows.
        drop(stream);
        posted.insert(id(&origin.post(&ann(), TEST_SUBJECT, "between").await).to_owned());
        stream = EventStreamReader::open(&origin, &last).await;
        assert_eq!(stream.next().await.expect("the first event").id, last);
    }
    while received.len() < posted.len() {
        let event = stream.next_named().await;
        assert_ne!(event.event, "reset");
        if event.event == "comment" {
            received.insert(id(&event.data).to_owned());
        }
    }
    assert_eq!(received, posted);
}

#[tokio::test(flavor = "multi_thread")]
async fn version_that_is_unknown_or_too_old_gets_a_reset() {
    let mut origin = TestOrigin::start().await;
    let root = origin.post(&ann(), TEST_SUBJECT, "root").await;
    for _ in 0..3 {
        origin.like(&ann(), &root).await;
        origin.set_flag(&ann(), "DELETE", id(&root), "like").await.expect(200);
    }
    let now = origin.stored_version(TEST_SUBJECT).await;
    // No reader can have a version of the future.
    let document = poll_changes(&origin, now + 1_000, |document| document["reset"] == true).await;
    assert_eq!((version(&document), &document["events"]), (now, &json!([])));
    if origin.is_in_cluster() {
        return;
    }
    // A restart loses the replay buffer; a reader at the current version needs no reset.
    origin.restart().await;
    let document = poll_changes(&origin, 0, |document| document["reset"] == true).await;
    assert_eq!(version(&document), now);
    assert_eq!(poll_changes(&origin, now, |_| true).await["reset"], false);
    let mut stream = EventStreamReader::open(&origin, "0").await;
    let reset = stream.next_named().await;
    assert_eq!((reset.event.as_str(), &reset.data), ("reset", &json!({"version": now.to_string()})));
    origin.post(&ann(), TEST_SUBJECT, "after").await;
    assert_eq!(stream.next_named().await.event, "comment");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_do_not_delay_a_stop() {
    let mut origin = TestOrigin::start().await;
    let mut stream = EventStreamReader::open(&origin, "").await;
    stream.next().await.expect("the first event");
    let started = Instant::now();
    origin.restart().await;
    assert!(started.elapsed() < STOP_TIMEOUT, "the stop took {:?}", started.elapsed());
    while stream.next().await.is_some() {}
}
