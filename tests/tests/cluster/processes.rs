//! What one server has acknowledged holds at every other, whoever dies.

use std::time::Duration;

use gailou::domain::codec::operation;
use gailou::domain::operation::{LoggedOperation, Operation};
use gailou::domain::row::NewCommentRow;
use gailou::ports::broker::Topic;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, State, Visibility};
use gailou_tests::services::{available, shared};
use gailou_tests::{Answer, Client, Program, Proxy, Who, id, ids, until, who};
use rand::Rng as _;
use serde_json::{Value, json};

use crate::load::Load;
use crate::world::{World, clients};

fn ann() -> Who {
    who(7, "Ann", "member")
}

fn bob() -> Who {
    who(8, "Bob", "member")
}

async fn send(client: &Client, subject: &str, key: &str) -> Result<Answer, impl std::fmt::Debug + use<>> {
    let line = format!("POST /v1/subjects/{subject}/comments");
    client.call(&line).by(&ann()).key(key).json(&json!({"content": key})).attempt().await
}

/// Sends with the key until it is acknowledged; the comment's id.
async fn retried(client: &Client, subject: &str, key: &str) -> String {
    let answer = until(|| send(client, subject, key), |sent| sent.as_ref().is_ok_and(|a| a.status != 503)).await;
    id(&answer.expect("an answer").expect(201)).to_owned()
}

fn port(program: &Program) -> u16 {
    program.base().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port")
}

/// Each text stands once in the list and in the tables.
async fn once(world: &World, client: &Client, subject: &str, keys: &[(String, String)]) {
    world.settle().await;
    let path = format!("/v1/subjects/{subject}/comments?sort=old&limit=100");
    let listed = until(|| client.walk(&path), |listed| listed.len() == keys.len()).await;
    let mut texts: Vec<&str> = listed.iter().filter_map(|comment| comment["content"].as_str()).collect();
    texts.sort_unstable();
    let mut expected: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
    expected.sort_unstable();
    assert_eq!(texts, expected);
    for (key, id) in keys {
        assert_eq!(client.page(&format!("/v1/comments/{id}")).await["content"], key.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_one_comment_whenever_its_server_dies_or_is_cut_off() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[]).await;
    let (mut one, other, _job) = tokio::join!(world.serve(), world.serve(), world.job());
    let (mut keys, mut answered) = (Vec::new(), 0);
    let subject = "article/keys";
    for round in 0..46 {
        let key = format!("key-{round}");
        let delay = Duration::from_micros(rand::rng().random_range(0..25_000));
        let cut = round % 8 != 0;
        let way = Proxy::start(port(&one)).await;
        let client = Client::patient(format!("http://127.0.0.1:{}", way.port()), Duration::from_secs(8));
        let harm = async {
            tokio::time::sleep(delay).await;
            if cut {
                way.cut();
            } else {
                one.process().kill();
            }
        };
        let (first, ()) = tokio::join!(send(&client, subject, &key), harm);
        let made = retried(&other, subject, &key).await;
        if let Ok(first) = first {
            answered += 1;
            assert_eq!(first.expect(201)["id"], made, "{key}");
        }
        keys.push((key, made));
        if !cut {
            one = world.serve().await;
        }
    }
    once(&world, &one, subject, &keys).await;
    assert_eq!(world.count("FROM alias_{n}"), 0, "the second is the first, and no other");
    assert!((1..46).contains(&answered), "{answered} of 46 were answered before the harm: nothing is proven");
    world.agrees().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_redis_forgot_still_makes_one_comment_and_both_ids_name_it() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[("COMMENTS_MS", 1_500)]).await;
    let (one, other) = tokio::join!(world.serve(), world.serve());
    let subject = "article/forgotten";
    let (mut keys, mut seconds) = (Vec::new(), Vec::new());
    for round in 0..4 {
        let key = format!("key-{round}");
        let first = retried(&one, subject, &key).await;
        world.forget().await;
        let second = retried(&other, subject, &key).await;
        assert_ne!(first, second, "the job does not run: nobody can know of the first");
        keys.push((key, first));
        seconds.push(second);
    }
    // Who got the last one answers and likes it before anybody knows that it is the first.
    let parent = json!({"id": seconds[3], "subject": {"type": "article", "key": "forgotten"}});
    let reply = other.reply(&bob(), &parent, "reply").await;
    assert_eq!(other.like(&bob(), &parent).await["likes"], 1);
    let job = world.job().await;
    once(&world, &other, subject, &keys).await;
    for ((key, first), second) in keys.iter().zip(&seconds) {
        for server in [&one, &other] {
            let path = format!("/v1/comments/{second}");
            let by_second = until(|| server.page(&path), |c| c["id"] == first.as_str()).await;
            assert_eq!((&by_second["id"], &by_second["content"]), (&json!(first), &json!(key)));
        }
    }
    let path = format!("/v1/comments/{}/replies", keys[3].1);
    let replies = until(|| one.walk(&path), |replies| replies.len() == 1).await;
    assert_eq!(ids(&replies), [id(&reply)]);
    // A row is remembered by the tables, whatever Redis has forgotten.
    world.forget().await;
    assert_eq!(retried(&one, subject, &keys[3].0).await, keys[3].1);
    drop(job);
    world.agrees().await;
    let liked = one.page(&format!("/v1/comments/{}", seconds[3])).await;
    assert_eq!(liked["likes"], 1, "a like of the second id is one of the comment: {liked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_acknowledged_works_at_the_other_before_it_is_a_row() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[]).await;
    let (one, other) = tokio::join!(world.serve(), world.serve());
    let list = "/v1/subjects/article/young/comments?sort=old";
    let root = one.post(&ann(), "article/young", "root").await;
    let reply = other.reply(&bob(), &root, "reply").await;
    assert_eq!((&reply["parent_id"], &reply["reply_to"]["name"]), (&root["id"], &json!("Ann")));
    assert_eq!(other.like(&bob(), &root).await["likes"], 1);
    assert_eq!(one.like(&ann(), &reply).await["likes"], 1);
    for server in [&one, &other] {
        let there = server.page(&format!("/v1/comments/{}", id(&root))).await;
        assert_eq!((&there["content"], &there["floor"], &there["likes"]), (&json!("root"), &json!(null), &json!(1)));
        let overlay = server.call(&format!("GET /v1/me/overlay?ids={}", id(&root))).by(&ann()).send().await.expect(200);
        assert_eq!(ids(overlay["pending"].as_array().expect("a list")), [id(&root)]);
        assert_eq!(server.page(list).await["data"], json!([]), "without a job nothing is a row");
    }
    let edit = json!({"content": "edited"});
    let edit = || other.call(&format!("PATCH /v1/comments/{}", id(&root))).by(&ann()).json(&edit).attempt();
    assert_eq!(edit().await.expect("an answer").status, 503, "it is no row yet");
    let _job = world.job().await;
    let edited = until(edit, |answer| answer.as_ref().is_ok_and(|answer| answer.status == 200)).await;
    assert_eq!(edited.expect("an answer").expect(200)["content"], "edited");
    world.settle().await;
    for server in [&one, &other] {
        let right = |page: &Value| {
            let root = &page["data"][0];
            (&root["floor"], &root["likes"], &root["replies"]) == (&json!(1), &json!(1), &json!(1))
                && root["top_replies"][0]["likes"] == 1
                && root["content"] == "edited"
        };
        let page = until(|| server.page(list), right).await;
        assert!(right(&page), "{page}");
        let overlay = server.call(&format!("GET /v1/me/overlay?ids={}", id(&root))).by(&ann()).send().await.expect(200);
        assert_eq!((&overlay["pending"], overlay["data"][id(&root)]["reaction"].is_null()), (&json!([]), true));
    }
    world.agrees().await;
}

/// A comment as a server would append it.
pub(crate) fn published(subject: &SubjectKey, id: CommentId, author: u64, text: &str) -> Vec<u8> {
    let author = Author { id: MemberId::new(author).expect("an id"), name: "A".into(), avatar: None, level: 1 };
    let row = NewCommentRow {
        subject: subject.clone(),
        path: Path::root(id),
        parent_id: None,
        reply_to: None,
        state: State::Published,
        visibility: Visibility::Everyone,
        author,
        created_at: id.created_ms(),
        content: text.into(),
        html: format!("<p>{text}</p>"),
        written: None,
        mentions: vec![],
        idempotency: None,
        imported: None,
    };
    operation::encode(&LoggedOperation::new(id.created_ms(), Operation::Publish(Box::new(row)))).expect("it travels")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_young_id_is_looked_for_and_never_kept_as_missing() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[]).await;
    let (one, other, _job) = tokio::join!(world.serve(), world.serve(), world.job());
    let log = world.log().await;
    let subject = SubjectKey::new("article", "unknown").expect("a subject");
    // The job reads from now on.
    one.post(&ann(), "article/unknown", "first").await;
    world.settle().await;
    for (round, late) in [false, true].into_iter().enumerate() {
        let now = gailou::clock::Clock::system().now();
        let young = CommentId::from_parts(now, subject.slot(), 60, round as u64);
        let path = format!("GET /v1/comments/{young}");
        let begun = std::time::Instant::now();
        let append = || log.append(Topic::Comments, subject.slot(), published(&subject, young, 9, "late"));
        if late {
            for server in [&one, &other] {
                let missing = server.call(&path).send().await;
                assert_eq!((missing.status, &missing.json["code"]), (404, &json!("comment_not_found")));
                assert_eq!(missing.header("cache-control"), "no-store", "{:?}", missing.headers);
            }
            assert!(begun.elapsed() > Duration::from_millis(900), "nobody looked for it");
            append().await.expect("the log takes it");
            for server in [&one, &other] {
                let found = until(|| server.call(&path).send(), |answer| answer.status == 200).await;
                assert_eq!(found.expect(200)["content"], "late");
            }
        } else {
            // It comes while somebody looks for it.
            let coming = async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                append().await
            };
            let (found, coming) = tokio::join!(one.call(&path).send(), coming);
            coming.expect("the log takes it");
            assert_eq!(found.expect(200)["content"], "late");
        }
    }
    let old = CommentId::from_parts(gailou::clock::Clock::system().now() - 3_600_000, subject.slot(), 60, 9);
    let begun = std::time::Instant::now();
    assert_eq!(one.call(&format!("GET /v1/comments/{old}")).send().await.status, 404);
    assert!(begun.elapsed() < Duration::from_millis(800), "an old one is not waited for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_thought_dead_doubles_and_loses_nothing() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[("COMMENTS_MS", 5), ("REACTIONS_MS", 20)]).await;
    let (one, other, mut zombie) = tokio::join!(world.serve(), world.serve(), world.job());
    let load = Load::new(vec!["article/a".into(), "topic/b".into(), "video/c".into(), "article/d".into()]);
    let clients = clients(&[&one, &other]);
    one.post(&ann(), "post/first", "the job reads").await;
    world.settle().await;
    let faults = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        zombie.process().freeze();
        let heir = world.job().await;
        // Longer than a silent member of the group is waited for: the other has its partitions.
        tokio::time::sleep(Duration::from_millis(6_500)).await;
        let caught_up = world.settle();
        caught_up.await;
        zombie.process().wake();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        heir
    };
    let _heir = load.beside(&clients, 6, faults).await;
    world.settle().await;
    load.holds(&clients[0]).await;
    assert!(zombie.process().status().is_none(), "it goes on as one of two");
    world.agrees().await;
}
