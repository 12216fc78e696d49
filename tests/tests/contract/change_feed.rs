//! What the edge learns from the origin: the comments that a page shows, and those that changed.

use std::collections::BTreeSet;
use std::time::Duration;

use gailou::config::Secret;
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, CACHE_TAGS_HEADER, CLIENT_HEADER, MADE_HEADER, SIGNATURE_HEADER, SUBJECT_VERSION_HEADER,
};
use gailou_shared::id::SubjectKey;
use gailou_shared::wire::ChangeFeedPage;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestOrigin, admin, ann, bob, id, moderator, poll_until};
use serde_json::{Value, json};

use crate::signed_request::{EDGE_SECRET, signed, signed_as_push, signed_by};

const SORT_NAMES: [&str; 7] = ["hot", "new", "old", "top", "best", "replies", "controversial"];

/// The headers of a response that are for the edge.
struct EdgeHeaders {
    cache_tags: CacheTags,
    made: u64,
    version: u64,
}

#[track_caller]
fn edge_headers(response: &ApiResponse) -> EdgeHeaders {
    let number = |name: &str| response.header(name).parse().unwrap_or_else(|_| panic!("no {name}: {response:?}"));
    let cache_tags =
        CacheTags::decode(response.header(CACHE_TAGS_HEADER)).unwrap_or_else(|| panic!("no tags: {response:?}"));
    EdgeHeaders { cache_tags, made: number(MADE_HEADER), version: number(SUBJECT_VERSION_HEADER) }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

/// Collects the ids of the comments in a body, of their parents, and of the floors that they quote.
fn collect_ids(value: &Value, all: &mut BTreeSet<u64>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("root_id") {
                all.extend([&fields["id"], &fields["parent_id"]].into_iter().filter_map(Value::as_str).map(number));
            }
            if let Some(floors) = fields.get("floors").and_then(Value::as_object) {
                all.extend(floors.keys().map(|id| number(id)));
            }
            fields.values().for_each(|value| collect_ids(value, all));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, all)),
        _ => {}
    }
}

/// The ids of the comments on an HTML page.
fn ids_in_html(text: &str) -> BTreeSet<u64> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    text.split("id=\"comment-").skip(1).map(|rest| number(&digits(rest))).collect()
}

/// Every path that shows comments of a subject, this root and this reply among them.
fn paths_of(subject: &str, root: &Value, reply: &Value) -> Vec<String> {
    let list = format!("/v1/subjects/{subject}/comments");
    let mut all = vec![format!("/v1/subjects/{subject}"), "/v1/members/7/comments".into(), list.clone()];
    for sort in SORT_NAMES {
        all.extend(["", "&limit=10", "&limit=2"].map(|more| format!("{list}?sort={sort}{more}")));
    }
    for comment in [root, reply] {
        let path = |more: &str| format!("/v1/comments/{}{more}", id(comment));
        all.extend(["", "/ancestors", "/context", "/tree", "/tree?depth=1&limit=1"].map(path));
        all.extend(["hot", "old", "new"].map(|sort| path(&format!("/replies?sort={sort}"))));
    }
    all.extend(["", "?fragment=1"].map(|more| format!("/t/{subject}{more}")));
    all
}

/// Posts a thread with a pinned root, nested replies, and tombstones above visible replies.
async fn post_thread(origin: &TestOrigin, subject: &str) -> (Value, Value) {
    let root = origin.post(&ann(), subject, "root").await;
    let mut reply = origin.reply(&bob(), &root, "reply").await;
    let first = reply.clone();
    for text in ["nested reply", "reply to the nested reply"] {
        reply = origin.reply(&ann(), &reply, text).await;
    }
    let pinned = origin.post(&bob(), subject, "pinned").await;
    origin.set_flag(&moderator(), "PUT", id(&pinned), "pin").await.expect(200);
    let other = origin.post(&ann(), subject, "other").await;
    origin.reply(&bob(), &other, "below a tombstone").await;
    origin.delete(&ann(), &other).await;
    origin.delete(&bob(), &first).await;
    (root, reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_a_tag_for_each_comment_it_shows() {
    for subject in ["article/shown", "video/shown", "post/shown", "topic/shown"] {
        let origin = TestOrigin::start().await;
        let (root, reply) = post_thread(&origin, subject).await;
        origin.wait_until_persisted().await;
        let version = origin.stored_version(subject).await;
        for path in paths_of(subject, &root, &reply) {
            let answer = origin.get(&path).await;
            let first = edge_headers(&answer);
            let mut expected = ids_in_html(&answer.text);
            collect_ids(&answer.json, &mut expected);
            let shown: BTreeSet<u64> = first.cache_tags.entries().iter().map(|(id, _)| *id).collect();
            assert!(!expected.is_empty(), "{path} has no comments: {}", answer.text);
            if answer.json.is_null() {
                assert!(shown.is_superset(&expected), "{path}: {expected:?} not in {shown:?}");
            } else {
                assert_eq!(shown, expected, "{path}");
            }
            let are_valid = first.cache_tags.entries().iter().all(|(_, at)| (1..=version).contains(at));
            assert!(are_valid, "{path}: {:?} of {version}", first.cache_tags);
            assert!([0, version].contains(&first.version), "{path}: {}", first.version);
            assert_eq!(first.made, origin.app.now(), "{path}");
            // The next response comes from memory, or is a 304.
            let again =
                origin.request(&format!("GET {path}")).header("if-none-match", answer.header("etag")).send().await;
            assert_eq!(again.status, 304, "{path}");
            for again in [origin.get(&path).await, again] {
                assert_eq!(edge_headers(&again).cache_tags.entries().len(), shown.len(), "{path}");
                assert!(edge_headers(&again).made >= first.made, "{path}");
            }
        }
        let list = edge_headers(&origin.get(&format!("/v1/subjects/{subject}/comments")).await);
        assert_eq!(list.version, version);
    }
    let origin = TestOrigin::start().await;
    let counts = edge_headers(&origin.get("/v1/counts?subject=video/1&subject=video/2").await);
    assert_eq!((counts.cache_tags.entries(), counts.version), (&[][..], 0));
    let empty = edge_headers(&origin.get("/v1/subjects/video/empty/comments").await);
    assert_eq!((empty.cache_tags.entries(), empty.version), (&[][..], 0));
    let missing = origin.get("/v1/comments/1").await;
    assert_eq!((missing.status, missing.header(CACHE_TAGS_HEADER)), (404, ""));
}

async fn changes(origin: &TestOrigin, query: &str) -> ChangeFeedPage {
    let answer = origin.get(&format!("{}{query}", ChangeFeedPage::ROUTE_PATH)).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"), "{}", answer.text);
    ChangeFeedPage::parse(answer.text.as_bytes()).expect("a document")
}

/// The first document with everything that is committed at the time of the call. It moves the clock,
/// because the feed is complete up to the time at which its last query began.
async fn current_changes(origin: &TestOrigin) -> ChangeFeedPage {
    origin.wait_until_persisted().await;
    origin.advance(Duration::from_millis(1));
    let now = origin.app.now();
    let document = poll_until(|| changes(origin, ""), |document| document.now == now).await;
    assert_eq!((document.now, document.behind), (now, 0), "the feed does not reach the time of the clock");
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn takedown_is_in_the_feed_and_newer_than_the_pages_that_showed_it() {
    let origin = TestOrigin::start().await;
    let subject = "article/taken";
    for (action_number, action) in ["edit", "delete", "hide", "restore", "reject"].into_iter().enumerate() {
        for is_nested in [false, true] {
            let root = origin.post(&ann(), subject, "root").await;
            let below = origin.reply(&bob(), &root, "reply").await;
            let reply = origin.reply(&ann(), &below, "nested reply").await;
            let comment = if is_nested { &reply } else { &root };
            let comment_id = number(id(comment));
            if action == "restore" {
                origin.decide(&moderator(), comment, "hide").await.expect(200);
            }
            origin.wait_until_persisted().await;
            let paths = paths_of(subject, &root, &reply);
            let mut before = Vec::new();
            for path in &paths {
                before.push(edge_headers(&origin.get(path).await).cache_tags.version_of(comment_id));
            }
            assert!(before.iter().flatten().count() >= 5, "{action}: {before:?}");
            match action {
                "edit" => origin.edit(&ann(), comment, "edited").await.expect(200),
                "delete" => origin.delete(&ann(), comment).await.expect(204),
                action => origin.decide(&moderator(), comment, action).await.expect(200),
            };
            let document = current_changes(&origin).await;
            let row = document.rows.iter().find(|row| row.id.get() == comment_id);
            let version = row.unwrap_or_else(|| panic!("{action} is missing in {document:?}")).version;
            assert_eq!(version, origin.stored_version(subject).await, "{action}");
            origin.expire_snapshots();
            for (path, before) in paths.iter().zip(before) {
                assert!(before.is_none_or(|before| before < version), "{action} {path}: {before:?} {version}");
                let is_outdated = |answer: &ApiResponse| {
                    edge_headers(answer).cache_tags.version_of(comment_id).is_some_and(|shown| shown < version)
                };
                let after = poll_until(|| origin.get(path), |answer| !is_outdated(answer)).await;
                assert!(!is_outdated(&after), "{action} {path} stays outdated");
            }
            // The document names each changed comment once, the newest first.
            assert!(document.rows.len() <= (action_number + 1) * 2, "{document:?}");
            assert_eq!(document.rows[0].id.get(), comment_id, "{document:?}");
        }
    }
    origin.like(&bob(), &origin.post(&ann(), subject, "liked").await).await;
    let (tail, day) = (current_changes(&origin).await, changes(&origin, "?day=1").await);
    assert_eq!(day.rows.len(), 10, "a post or a like takes nothing down");
    assert!(day.since < tail.since && tail.since < tail.now, "{tail:?}");
    // A restart reads the changes again.
    let mut origin = origin;
    origin.restart().await;
    let day = poll_until(|| origin.get("/v1/edge/changes?day=1"), |answer| answer.status == 200).await;
    assert_eq!(ChangeFeedPage::parse(day.text.as_bytes()).unwrap().rows.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_subject_voids_every_page_that_showed_one_of_its_comments() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "article/veiled", "root").await;
    let reply = origin.reply(&bob(), &root, "reply").await;
    origin.wait_until_persisted().await;
    let tag = SubjectKey::new("article", "veiled").unwrap().tag();
    let shown_at = |answer: &ApiResponse| {
        let tags = edge_headers(answer).cache_tags;
        tags.subjects().iter().find(|(shown, _)| *shown == tag).map(|(_, version)| *version)
    };
    let mut shown = Vec::new();
    for path in paths_of("article/veiled", &root, &reply) {
        shown.extend(shown_at(&origin.get(&path).await));
    }
    assert!(shown.len() >= 5, "{shown:?}");
    origin.put_subject(&admin(), "article/veiled", &json!({"state": "hidden"})).await.expect(200);
    let voided = current_changes(&origin).await.subjects;
    let voided = voided.iter().find(|subject| subject.tag == tag).expect("the subject is in the feed");
    assert_eq!(voided.before, origin.stored_version("article/veiled").await);
    assert!(shown.iter().all(|version| *version < voided.before), "{shown:?} {voided:?}");
    // What is read after it is shown again is not void.
    origin.put_subject(&admin(), "article/veiled", &json!({"state": "open"})).await.expect(200);
    let path = format!("/v1/comments/{}", id(&root));
    let again = poll_until(|| origin.get(&path), |answer| answer.status == 200).await;
    assert!(shown_at(&again).is_some_and(|version| version >= voided.before));
}

#[tokio::test(flavor = "multi_thread")]
async fn change_feed_has_the_version_of_the_word_filter() {
    let origin = TestOrigin::start().await;
    let before = current_changes(&origin).await.words;
    origin.load_terms(&[("blockme", TermAction::Block)]).await;
    let after = poll_until(|| changes(&origin, ""), |document| document.words > before).await;
    assert_eq!(after.words, origin.app.dictionary().version());
}

const PREVIOUS_EDGE_SECRET: &str = "the secret before the last rotation";

#[tokio::test(flavor = "multi_thread")]
async fn change_feed_without_a_valid_signature_is_403() {
    let origin = TestOrigin::start_with(|config| {
        config.edge.secret = Secret::new(EDGE_SECRET);
        config.edge.secret_previous = Secret::new(PREVIOUS_EDGE_SECRET);
    })
    .await;
    let request = |secret| signed(&origin, "GET /v1/edge/changes", "", "", secret).send();
    poll_until(|| request(EDGE_SECRET), |answer| answer.status == 200).await.expect(200);
    request(PREVIOUS_EDGE_SECRET).await.expect(200);
    let refused = [request("a secret of another edge, and long enough").await, origin.get("/v1/edge/changes").await];
    for answer in refused {
        assert_eq!((answer.status, &answer.json["code"]), (403, &json!("forbidden")));
    }
    // Other reads need no signature, unless the configuration requires it.
    origin.get("/v1/counts?subject=video/1").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_past_the_edge_is_403_when_the_edge_is_required() {
    let origin = TestOrigin::start_with(|config| {
        config.edge.secret = Secret::new(EDGE_SECRET);
        config.edge.require_edge = true;
    })
    .await;
    let body = r#"{"name":"g"}"#;
    signed(&origin, "POST /v1/guests", body, "192.0.2.7", EDGE_SECRET).send().await.expect(201);
    let path = "/v1/subjects/video/1/comments";
    let page = || signed(&origin, &format!("GET {path}"), "", "192.0.2.7", EDGE_SECRET).send();
    page().await.expect(200);
    let comment = r#"{"content":"through the edge"}"#;
    signed_by(&origin, &format!("POST {path}"), comment, &ann(), "k1").send().await.expect(201);
    let refused = [
        origin.request("POST /v1/guests").json(&json!({"name": "g"})),
        signed(&origin, "POST /v1/guests", body, "192.0.2.7", EDGE_SECRET).header(CLIENT_HEADER, "192.0.2.8"),
        signed(&origin, "POST /v1/guests", body, "192.0.2.7", EDGE_SECRET).bytes(r#"{"name":"h"}"#),
        signed(&origin, "POST /v1/guests", body, "192.0.2.7", PREVIOUS_EDGE_SECRET),
        signed(&origin, "GET /v1/subjects/video/2/comments", "", "", EDGE_SECRET).header(SIGNATURE_HEADER, "t=1,v2=00"),
        signed(&origin, "GET /v1/edge/changes", "", "", EDGE_SECRET).header(BODY_HASH_HEADER, ""),
        // No other token and no other key rides on a signature.
        signed(&origin, &format!("GET {path}"), "", "192.0.2.7", EDGE_SECRET).by(&ann()),
        signed(&origin, "POST /v1/guests", body, "192.0.2.7", EDGE_SECRET).idempotency_key("k"),
        signed_by(&origin, &format!("POST {path}"), comment, &ann(), "k1").by(&bob()),
        signed_by(&origin, &format!("POST {path}"), comment, &ann(), "k1").idempotency_key("k2"),
        signed_as_push(&origin, "GET /v1/edge/changes"),
        // A page in memory is refused, too.
        origin.request(&format!("GET {path}")),
        origin.request("GET /v1/edge/changes"),
    ];
    for request in refused {
        let answer = request.send().await;
        assert_eq!((answer.status, &answer.json["code"]), (403, &json!("forbidden")), "{answer:?}");
    }
    page().await.expect(200);
    for probe in ["/healthz", "/readyz"] {
        origin.get(probe).await.expect(200);
    }
}
