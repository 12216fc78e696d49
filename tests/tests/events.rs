//! `/v1/subjects/{type}/{key}/events`: what readers who watch a subject are told, and that they
//! miss nothing without being told so.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt as _;
use gailou_tests::{DEADLINE, Site, Who, id, until, who};
use serde_json::{Value, json};

const SUBJECT: &str = "article/live";
const PATH: &str = "/v1/subjects/article/live/events";

fn ann() -> Who {
    who(7, "Ann", "member")
}

/// What happened after a version, once it is as it must be.
async fn news(site: &Site, after: u64, right: impl Fn(&Value) -> bool) -> Value {
    let path = format!("{PATH}?after={after}");
    let document = until(|| site.page(&path), &right).await;
    assert!(right(&document), "{path}: {document}");
    document
}

/// `[type, id]` of every event but counts.
fn told(document: &Value) -> Vec<[String; 2]> {
    let events = document["events"].as_array().expect("events").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    events.filter(|e| e["type"] != "counts").map(|e| [text(&e["type"]), text(&e["data"]["id"])]).collect()
}

fn version(document: &Value) -> u64 {
    document["version"].as_str().expect("a version").parse().expect("a number")
}

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
struct Heard {
    id: String,
    event: String,
    data: Value,
}

/// A reader's stream.
struct Stream {
    answer: std::pin::Pin<Box<dyn futures_util::Stream<Item = String> + Send>>,
    text: String,
}

impl Stream {
    async fn open(site: &Site, after: &str) -> Self {
        let request =
            reqwest::Client::builder().no_proxy().build().expect("a client").get(format!("{}{PATH}", site.base()));
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
        Self { answer: Box::pin(parts), text: String::new() }
    }

    /// The next event; `None` when the stream is over.
    async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let mut heard = Heard::default();
                for line in event.lines() {
                    let (name, value) = line.split_once(':').expect("a field");
                    let value = value.trim_start();
                    match name {
                        "id" => heard.id = value.to_owned(),
                        "event" => heard.event = value.to_owned(),
                        "data" => heard.data = serde_json::from_str(value).expect("JSON"),
                        "retry" => assert_eq!(value, "3000"),
                        _ => assert_eq!(name, "", "a comment"),
                    }
                }
                self.text = rest.to_owned();
                return Some(heard);
            }
            let part = tokio::time::timeout(DEADLINE, self.answer.next()).await.expect("something is heard")?;
            self.text.push_str(&part);
        }
    }

    /// The next event that says something.
    async fn event(&mut self) -> Heard {
        loop {
            let heard = self.next().await.expect("the stream goes on");
            if !heard.event.is_empty() {
                return heard;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_readers_see_is_told() {
    let site = Site::start().await;
    let now = site.page(PATH).await;
    assert_eq!(now, json!({"version": "0", "reset": false, "events": []}), "nobody wrote yet");
    let root = site.post(&ann(), SUBJECT, "root").await;
    let reply = site.reply(&ann(), &root, "reply").await;
    let document = news(&site, 0, |document| told(document).len() == 2).await;
    let [first, second, counts] = &document["events"].as_array().expect("events")[..] else { panic!("{document}") };
    assert_eq!(first["data"], json!({"id": root["id"], "root_id": root["id"], "parent_id": null}));
    assert_eq!(second["data"], json!({"id": reply["id"], "root_id": root["id"], "parent_id": root["id"]}));
    assert_eq!((&counts["type"], &counts["data"]), (&json!("counts"), &json!({"roots": 1, "comments": 2})));
    assert_eq!((&counts["id"], version(&document)), (&document["version"], site.version(SUBJECT).await));

    let at = version(&document);
    site.edit(&ann(), &reply, "changed").await.expect(200);
    let document = news(&site, at, |document| version(document) > at).await;
    assert_eq!(told(&document), [["comment".to_owned(), id(&reply).to_owned()]], "it reads differently");

    let at = version(&document);
    site.like(&ann(), &root).await;
    let document = news(&site, at, |document| version(document) > at).await;
    assert_eq!(document["events"], json!([]), "numbers alone");

    // A root that holds up a reply stays as a tombstone; with its reply it goes.
    let at = version(&document);
    site.delete(&ann(), &root).await;
    let document = news(&site, at, |document| version(document) > at).await;
    assert_eq!(told(&document), [["removed".to_owned(), id(&root).to_owned()]]);
    let at = version(&document);
    site.delete(&ann(), &reply).await;
    let document = news(&site, at, |document| version(document) > at).await;
    assert!(told(&document).contains(&["removed".to_owned(), id(&reply).to_owned()]), "{document}");
    let counts = document["events"].as_array().expect("events").last().expect("counts").clone();
    assert_eq!(counts["data"], json!({"roots": 0, "comments": 0}));
    site.decide(&who(50, "Mod", "moderator"), &reply, "restore").await;
    let at = version(&document);
    let document = news(&site, at, |document| version(document) > at).await;
    assert!(told(&document).contains(&["comment".to_owned(), id(&reply).to_owned()]), "{document}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_for_everybody_and_for_a_second() {
    let site = Site::start().await;
    site.post(&ann(), SUBJECT, "root").await;
    let answer = site.get(&format!("{PATH}?after=0")).await;
    assert_eq!(answer.header("cdn-cache-control"), "public, max-age=1");
    assert_eq!(answer.header("cache-control"), "public, no-cache");
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    for wrong in ["", "-1", "x", "1.0", "99999999999999999999"] {
        let refused = site.get(&format!("{PATH}?after={wrong}")).await.expect(400);
        assert_eq!(refused["errors"][0]["field"], "after", "{wrong}");
    }
    let refused = site.call(&format!("GET {PATH}")).header("accept", "text/event-stream").header("last-event-id", "x");
    assert_eq!(refused.send().await.expect(400)["errors"][0]["field"], "Last-Event-ID");
    assert_eq!(site.get("/v1/subjects/nothing/live/events").await.expect(404)["code"], "unknown_subject_type");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_broke_goes_on_without_a_gap() {
    let site = Site::start().await;
    let mut stream = Stream::open(&site, "").await;
    let hello = stream.next().await.expect("a greeting");
    assert_eq!((hello.event.as_str(), hello.id.as_str()), ("", "0"));
    let (mut posted, mut heard) = (BTreeSet::new(), BTreeSet::new());
    let mut last = hello.id;
    for round in 0..3 {
        for n in 0..4 {
            posted.insert(id(&site.post(&ann(), SUBJECT, &format!("{round} {n}")).await).to_owned());
        }
        while heard.len() < posted.len() - 2 {
            let event = stream.event().await;
            assert_ne!(event.event, "reset");
            // Without one, the reader keeps the last.
            if !event.id.is_empty() {
                last = event.id.clone();
            }
            if event.event == "comment" {
                heard.insert(id(&event.data).to_owned());
            }
        }
        // It breaks, perhaps among the events of a commit, and more happens.
        drop(stream);
        posted.insert(id(&site.post(&ann(), SUBJECT, "between").await).to_owned());
        stream = Stream::open(&site, &last).await;
        assert_eq!(stream.next().await.expect("a greeting").id, last);
    }
    while heard.len() < posted.len() {
        let event = stream.event().await;
        assert_ne!(event.event, "reset");
        if event.event == "comment" {
            heard.insert(id(&event.data).to_owned());
        }
    }
    assert_eq!(heard, posted);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_away_for_too_long_begins_anew() {
    let mut site = Site::start().await;
    let root = site.post(&ann(), SUBJECT, "root").await;
    for _ in 0..3 {
        site.like(&ann(), &root).await;
        site.mark(&ann(), "DELETE", id(&root), "like").await.expect(200);
    }
    let now = site.version(SUBJECT).await;
    // What nobody can have been told.
    let document = news(&site, now + 1_000, |document| document["reset"] == true).await;
    assert_eq!((version(&document), &document["events"]), (now, &json!([])));
    if site.in_cluster() {
        return;
    }
    // What happened before a restart is forgotten; who missed nothing of it goes on.
    site.restart().await;
    let document = news(&site, 0, |document| document["reset"] == true).await;
    assert_eq!(version(&document), now);
    assert_eq!(news(&site, now, |_| true).await["reset"], false);
    let mut stream = Stream::open(&site, "0").await;
    let reset = stream.event().await;
    assert_eq!((reset.event.as_str(), &reset.data), ("reset", &json!({"version": now.to_string()})));
    site.post(&ann(), SUBJECT, "after").await;
    assert_eq!(stream.event().await.event, "comment");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_do_not_hold_up_the_end() {
    let mut site = Site::start().await;
    let mut stream = Stream::open(&site, "").await;
    stream.next().await.expect("a greeting");
    let begun = std::time::Instant::now();
    site.restart().await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    while stream.next().await.is_some() {}
}
