//! What the origin tells the edge: which comments a page shows, and which of them changed.

use std::collections::BTreeSet;

use gailou::config::Secret;
use gailou_shared::edge::{CLIENT_HEADER, MADE_HEADER, SHOWS_HEADER, SIGNATURE_HEADER, Signed, VERSION_HEADER, sign};
use gailou_shared::shows::Shows;
use gailou_shared::wire::ChangesDoc;
use gailou_shared::words::Action;
use gailou_tests::{Answer, Call, Site, Who, id, until, who};
use serde_json::{Value, json};

const SORTS: [&str; 7] = ["hot", "new", "old", "top", "best", "replies", "controversial"];

fn ann() -> Who {
    who(7, "Ann", "member")
}

fn bob() -> Who {
    who(8, "Bob", "member")
}

fn moderator() -> Who {
    who(50, "Mod", "moderator")
}

/// What an answer tells the edge besides its body.
struct Told {
    shows: Shows,
    made: u64,
    version: u64,
}

#[track_caller]
fn told(answer: &Answer) -> Told {
    let number = |name: &str| answer.header(name).parse().unwrap_or_else(|_| panic!("no {name}: {answer:?}"));
    let shows = Shows::decode(answer.header(SHOWS_HEADER)).unwrap_or_else(|| panic!("shows nothing: {answer:?}"));
    Told { shows, made: number(MADE_HEADER), version: number(VERSION_HEADER) }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// Every comment in a body, and what these answer.
fn named(value: &Value, all: &mut BTreeSet<u64>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("root_id") {
                all.extend([&fields["id"], &fields["parent_id"]].into_iter().filter_map(Value::as_str).map(number));
            }
            fields.values().for_each(|value| named(value, all));
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, all)),
        _ => {}
    }
}

/// The same of a page for people.
fn named_in_html(text: &str) -> BTreeSet<u64> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    text.split("id=\"comment-").skip(1).map(|rest| number(&digits(rest))).collect()
}

/// Every address that shows comments of a subject, of these two among them.
fn addresses(subject: &str, root: &Value, reply: &Value) -> Vec<String> {
    let list = format!("/v1/subjects/{subject}/comments");
    let mut all = vec![format!("/v1/subjects/{subject}"), "/v1/members/7/comments".into(), list.clone()];
    for sort in SORTS {
        all.extend(["", "&limit=10", "&limit=2"].map(|more| format!("{list}?sort={sort}{more}")));
    }
    for comment in [root, reply] {
        let of = |more: &str| format!("/v1/comments/{}{more}", id(comment));
        all.extend(["", "/ancestors", "/context", "/tree", "/tree?depth=1&limit=1"].map(of));
        all.extend(["hot", "old", "new"].map(|sort| of(&format!("/replies?sort={sort}"))));
    }
    all.extend(["", "?fragment=1"].map(|more| format!("/t/{subject}{more}")));
    all
}

/// A thread with a pinned root, answers of answers, and tombstones that hold up others.
async fn thread(site: &Site, subject: &str) -> (Value, Value) {
    let root = site.post(&ann(), subject, "root").await;
    let mut reply = site.reply(&bob(), &root, "reply").await;
    let first = reply.clone();
    for text in ["answer", "answer of the answer"] {
        reply = site.reply(&ann(), &reply, text).await;
    }
    let pinned = site.post(&bob(), subject, "pinned").await;
    site.mark(&moderator(), "PUT", id(&pinned), "pin").await.expect(200);
    let other = site.post(&ann(), subject, "other").await;
    site.reply(&bob(), &other, "below a tombstone").await;
    site.delete(&ann(), &other).await;
    site.delete(&bob(), &first).await;
    (root, reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_tells_what_it_shows() {
    for subject in ["article/shown", "video/shown", "post/shown", "topic/shown"] {
        let site = Site::start().await;
        let (root, reply) = thread(&site, subject).await;
        site.settle().await;
        let version = site.version(subject).await;
        for path in addresses(subject, &root, &reply) {
            let before = site.app.now();
            let answer = site.get(&path).await;
            let told_first = told(&answer);
            let mut expected = named_in_html(&answer.text);
            named(&answer.json, &mut expected);
            let shown: BTreeSet<u64> = told_first.shows.entries().iter().map(|(id, _)| *id).collect();
            assert!(!expected.is_empty(), "{path} shows nothing: {}", answer.text);
            if answer.json.is_null() {
                assert!(shown.is_superset(&expected), "{path}: {expected:?} not in {shown:?}");
            } else {
                assert_eq!(shown, expected, "{path}");
            }
            let versions = told_first.shows.entries().iter().all(|(_, at)| (1..=version).contains(at));
            assert!(versions, "{path}: {:?} of {version}", told_first.shows);
            assert!([0, version].contains(&told_first.version), "{path}: {}", told_first.version);
            assert!((before.saturating_sub(500)..=site.app.now()).contains(&told_first.made), "{path}");
            // The next comes from memory, or need not be sent at all.
            let again = site.call(&format!("GET {path}")).header("if-none-match", answer.header("etag")).send().await;
            assert_eq!(again.status, 304, "{path}");
            for again in [site.get(&path).await, again] {
                assert_eq!(told(&again).shows.entries().len(), shown.len(), "{path}");
                assert!(told(&again).made >= told_first.made, "{path}");
            }
        }
        let list = told(&site.get(&format!("/v1/subjects/{subject}/comments")).await);
        assert_eq!(list.version, version);
    }
    let site = Site::start().await;
    let counts = told(&site.get("/v1/counts?subject=video/1&subject=video/2").await);
    assert_eq!((counts.shows.entries(), counts.version), (&[][..], 0));
    let nobody = told(&site.get("/v1/subjects/video/nobody/comments").await);
    assert_eq!((nobody.shows.entries(), nobody.version), (&[][..], 0));
    let missing = site.get("/v1/comments/1").await;
    assert_eq!((missing.status, missing.header(SHOWS_HEADER)), (404, ""));
}

async fn changes(site: &Site, more: &str) -> ChangesDoc {
    let answer = site.get(&format!("{}{more}", ChangesDoc::PATH)).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"), "{}", answer.text);
    ChangesDoc::parse(answer.text.as_bytes()).expect("a document")
}

/// The first document that knows everything that is committed by now.
async fn known(site: &Site) -> ChangesDoc {
    site.settle().await;
    let now = site.app.now();
    let document = until(|| changes(site, ""), |document| document.now > now).await;
    assert!(document.now > now, "the feed stands still");
    assert!(document.now - now < 2_000 && document.behind < 2_000, "{document:?} at {now}");
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn every_takedown_is_told_and_voids_what_showed_it() {
    let site = Site::start().await;
    let subject = "article/taken";
    for (place, action) in ["edit", "delete", "hide", "restore", "reject"].into_iter().enumerate() {
        for deep in [false, true] {
            let root = site.post(&ann(), subject, "root").await;
            let below = site.reply(&bob(), &root, "reply").await;
            let reply = site.reply(&ann(), &below, "answer").await;
            let comment = if deep { &reply } else { &root };
            let number = number(id(comment));
            if action == "restore" {
                site.decide(&moderator(), comment, "hide").await.expect(200);
            }
            site.settle().await;
            let paths = addresses(subject, &root, &reply);
            let mut before = Vec::new();
            for path in &paths {
                before.push(told(&site.get(path).await).shows.version_of(number));
            }
            assert!(before.iter().flatten().count() >= 5, "{action}: {before:?}");
            match action {
                "edit" => site.edit(&ann(), comment, "edited").await.expect(200),
                "delete" => site.delete(&ann(), comment).await.expect(204),
                action => site.decide(&moderator(), comment, action).await.expect(200),
            };
            let document = known(&site).await;
            let row = document.rows.iter().find(|row| row.id.get() == number);
            let version = row.unwrap_or_else(|| panic!("{action} is not in {document:?}")).version;
            assert_eq!(version, site.version(subject).await, "{action}");
            for (path, before) in paths.iter().zip(before) {
                assert!(before.is_none_or(|before| before < version), "{action} {path}: {before:?} {version}");
                let old = |answer: &Answer| told(answer).shows.version_of(number).is_some_and(|shown| shown < version);
                let after = until(|| site.get(path), |answer| !old(answer)).await;
                assert!(!old(&after), "{action} {path} stays old");
            }
            // What is told is what changed, each comment once, the newest first.
            assert!(document.rows.len() <= (place + 1) * 2, "{document:?}");
            assert_eq!(document.rows[0].id.get(), number, "{document:?}");
        }
    }
    site.like(&bob(), &site.post(&ann(), subject, "liked").await).await;
    let (tail, day) = (known(&site).await, changes(&site, "?day=1").await);
    assert_eq!(day.rows.len(), 10, "who writes or likes takes nothing down");
    assert!(day.since < tail.since && tail.since < tail.now, "{tail:?}");
    // A start reads them again.
    let mut site = site;
    site.restart().await;
    let day = until(|| site.get("/v1/edge/changes?day=1"), |answer| answer.status == 200).await;
    assert_eq!(ChangesDoc::parse(day.text.as_bytes()).unwrap().rows.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_carry_the_version_of_the_dictionary() {
    let site = Site::start().await;
    let before = known(&site).await.words;
    site.words(&[("blockme", Action::Block)]).await;
    let after = until(|| changes(&site, ""), |document| document.words > before).await;
    assert_eq!(after.words, site.app.dictionary().version());
}

/// `call`, as the edge signs it.
fn signed(site: &Site, line: &str, body: &str, client: &str, secret: &str) -> Call {
    let (method, path_query) = line.split_once(' ').expect("METHOD /path");
    let request = Signed { method, path_query, client, body: body.as_bytes() };
    let call = site.call(line).header(SIGNATURE_HEADER, &sign(secret.as_bytes(), site.app.now() / 1_000, &request));
    let call = if client.is_empty() { call } else { call.header(CLIENT_HEADER, client) };
    if body.is_empty() { call } else { call.header("content-type", "application/json").bytes(body) }
}

const SECRET: &str = "the edge and the origin share this secret";
const PREVIOUS: &str = "the edge and the origin shared this before";

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_is_for_the_edge_alone() {
    let site = Site::with(|config| {
        config.edge.secret = Secret::new(SECRET);
        config.edge.secret_previous = Secret::new(PREVIOUS);
    })
    .await;
    let ask = |secret| signed(&site, "GET /v1/edge/changes", "", "", secret).send();
    until(|| ask(SECRET), |answer| answer.status == 200).await.expect(200);
    ask(PREVIOUS).await.expect(200);
    let refused = [ask("a secret of somebody else's, long enough").await, site.get("/v1/edge/changes").await];
    for answer in refused {
        assert_eq!((answer.status, &answer.json["code"]), (403, &json!("forbidden")));
    }
    // Others need no signature, unless it is required.
    site.get("/v1/counts?subject=video/1").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_come_through_the_edge_is_refused_where_it_must() {
    let site = Site::with(|config| {
        config.edge.secret = Secret::new(SECRET);
        config.edge.require_edge = true;
    })
    .await;
    let body = r#"{"name":"g"}"#;
    signed(&site, "POST /v1/guests", body, "192.0.2.7", SECRET).send().await.expect(201);
    let path = "/v1/subjects/video/1/comments";
    let page = || signed(&site, &format!("GET {path}"), "", "192.0.2.7", SECRET).send();
    page().await.expect(200);
    let told = [
        site.call("POST /v1/guests").json(&json!({"name": "g"})),
        signed(&site, "POST /v1/guests", body, "192.0.2.7", SECRET).header(CLIENT_HEADER, "192.0.2.8"),
        signed(&site, "POST /v1/guests", body, "192.0.2.7", SECRET).bytes(r#"{"name":"h"}"#),
        signed(&site, "POST /v1/guests", body, "192.0.2.7", PREVIOUS),
        signed(&site, "GET /v1/subjects/video/2/comments", "", "", SECRET).header(SIGNATURE_HEADER, "t=1,v1=00"),
        // Also what is ready in memory.
        site.call(&format!("GET {path}")),
        site.call("GET /v1/edge/changes"),
    ];
    for call in told {
        let answer = call.send().await;
        assert_eq!((answer.status, &answer.json["code"]), (403, &json!("forbidden")), "{answer:?}");
    }
    page().await.expect(200);
    for probe in ["/healthz", "/readyz"] {
        site.get(probe).await.expect(200);
    }
}
