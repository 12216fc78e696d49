//! Changes of a subject reach the readers of every origin, also when Redis loses some of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{TestOrigin, ann, comments_on, id, poll_until};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::test_bed::redis;

const EVENTS_PATH: &str = "/v1/subjects/article/watched/events?after=0";

#[tokio::test(flavor = "multi_thread")]
async fn changes_reach_the_other_origin_and_lost_revisions_cause_a_reset() {
    if !available() {
        return;
    }
    let one = TestOrigin::start_on(shared(), |_| {}).await;
    let other = one.start_second().await;
    let root = one.post(&ann(), "article/watched", "root").await;
    let reply = other.reply(&ann(), &root, "reply").await;
    let comments = |document: &Value| {
        let events = document["events"].as_array().expect("events").iter().filter(|event| event["type"] == "comment");
        events.map(|event| event["data"]["id"].clone()).collect::<Vec<_>>()
    };
    for origin in [&one, &other] {
        let document = poll_until(|| origin.page(EVENTS_PATH), |document| comments(document).len() == 2).await;
        // The two may be in one version, and then they are in the order of their ids.
        let (ids, expected) = (comments(&document), [json!(id(&root)), json!(id(&reply))]);
        assert!(ids.len() == 2 && expected.iter().all(|id| ids.contains(id)), "{document}");
        assert_eq!(document["reset"], json!(false));
    }
    // Redis loses the revisions so far, and has those that follow.
    let subject = gailou_shared::id::SubjectKey::new("article", "watched").expect("a subject");
    let name = &one.app.config.cluster.as_ref().expect("a cluster").tuning.name;
    let key = format!("{{{name}:{}}}:ev:{subject}", subject.slot().get());
    assert_eq!(redis(shared(), &["DEL", &key]).await, ":1\r\n");
    let before = one.stored_version("article/watched").await;
    let later = one.post(&ann(), "article/watched", "later").await;
    for origin in [&one, &other] {
        let document = poll_until(|| origin.page(EVENTS_PATH), |document| document["reset"] == true).await;
        assert_eq!((&document["reset"], &document["events"]), (&json!(true), &json!([])));
        let path = EVENTS_PATH.replace("after=0", &format!("after={before}"));
        let document = poll_until(|| origin.page(&path), |document| comments(document).len() == 1).await;
        assert_eq!(comments(&document), [json!(id(&later))], "a reader at the current version needs no reset");
    }
}

/// Pages are read on both origins while comments are posted on both. What a page says that it contains, its epoch, is
/// compared with the chain of events afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn first_page_contains_every_comment_that_its_epoch_covers() {
    const POSTS_PER_WRITER: usize = 60;
    if !available() {
        return;
    }
    let one = TestOrigin::start_on(shared(), |_| {}).await;
    let other = one.start_second().await;
    // Both take part before the load begins.
    for origin in [&one, &other] {
        origin.post(&ann(), "article/busy", "the first").await;
        origin.wait_until_persisted().await;
    }
    let write = async |origin: &TestOrigin| {
        for n in 0..POSTS_PER_WRITER {
            origin.post(&ann(), "article/busy", &format!("text {n}")).await;
            sleep(Duration::from_millis(20)).await;
        }
    };
    let read = async |origin: &TestOrigin| {
        let mut pages = vec![];
        for n in 0..3 * POSTS_PER_WRITER {
            // Each of another length, so that no page is ready.
            let limit = 10 + n % 40;
            pages.push(
                origin
                    .without_barrier()
                    .page(&format!("/v1/subjects/article/busy/comments?sort=new&limit={limit}"))
                    .await,
            );
            sleep(Duration::from_millis(10)).await;
        }
        pages
    };
    let is_written = AtomicBool::new(false);
    let write_all = async {
        tokio::join!(write(&one), write(&other));
        is_written.store(true, Ordering::SeqCst);
    };
    let follow = async {
        let (mut versions, mut last) = (BTreeMap::new(), 0);
        loop {
            let is_last = is_written.load(Ordering::SeqCst);
            let document = one.without_barrier().page(&format!("/v1/subjects/article/busy/events?after={last}")).await;
            let all = document["events"].as_array().expect("events").iter();
            for event in all.filter(|event| event["type"] == "comment") {
                let version: u64 = event["id"].as_str().expect("a version").parse().expect("a number");
                versions.insert(event["data"]["id"].as_str().expect("an id").to_owned(), version);
            }
            last = document["version"].as_str().expect("a version").parse().expect("a number");
            if is_last {
                return versions;
            }
            sleep(Duration::from_millis(25)).await;
        }
    };
    let ((), versions, pages, others) = tokio::join!(write_all, follow, read(&one), read(&other));
    assert!(versions.len() >= POSTS_PER_WRITER, "{} events", versions.len());
    let floor = |comment: &Value| comment["floor"].as_u64().expect("a floor");
    let shown = |page: &Value| -> BTreeMap<String, u64> {
        comments_on(page).iter().map(|comment| (id(comment).to_owned(), floor(comment))).collect()
    };
    let floors: BTreeMap<String, u64> = pages.iter().chain(&others).flat_map(shown).collect();
    let mut compared = 0;
    for page in pages.iter().chain(&others) {
        let epoch: u64 = page["page"]["epoch"].as_str().expect("an epoch").parse().expect("a number");
        let shown = shown(page);
        let is_cut = page["page"]["has_more"] == true;
        let least = shown.values().min().filter(|_| is_cut).copied().unwrap_or(0);
        for (id, _) in versions.iter().filter(|(_, version)| **version <= epoch) {
            if floors.get(id).is_some_and(|floor| *floor > least) {
                assert!(shown.contains_key(id), "epoch {epoch} covers {id}: {page}");
                compared += 1;
            }
        }
    }
    one.wait_until_persisted().await;
    let last = one.stored_version("article/busy").await.to_string();
    let reader = one.without_barrier();
    let read = || reader.page("/v1/subjects/article/busy/comments?sort=new&limit=9");
    let page = poll_until(read, |page| page["page"]["epoch"] == last.as_str()).await;
    assert_eq!(page["page"]["epoch"], last.as_str(), "the epoch follows");
    println!("{compared} comments compared on {} pages", pages.len() + others.len());
    assert!(compared > 1_000, "{compared}");
}
