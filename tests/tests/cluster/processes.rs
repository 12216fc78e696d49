//! What one origin has acknowledged is true on every other origin, also when a process dies.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use gailou::ports::broker::Topic;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{
    ApiClient, ApiResponse, ChildProcess, GailouProcess, TcpProxy, ann, bob, comments_path, encoded_publication, id,
    ids, poll_until,
};
use rand::Rng as _;
use serde_json::{Value, json};

use crate::background_load::BackgroundLoad;
use crate::test_bed::{ClusterTestBed, RESPONSE_TIMEOUT, clients};

/// How many requests are cut off or lose their origin.
const ROUND_COUNT: usize = 46;
/// An origin waits longer than this for the row of an unknown id that is a few seconds old.
const MIN_WAIT_FOR_A_YOUNG_ID: Duration = Duration::from_millis(900);
/// How long a resumed job runs before the end of the load. Less would prove less, and fail nothing.
const TIME_FOR_THE_RESUMED_JOB: Duration = Duration::from_millis(1_500);

async fn send(client: &ApiClient, subject: &str, key: &str) -> Result<ApiResponse, reqwest::Error> {
    let line = format!("POST {}", comments_path(subject));
    client.request(&line).by(&ann()).idempotency_key(key).json(&json!({"content": key})).try_send().await
}

/// Repeats the request with the key until it is acknowledged; the id of the comment.
async fn post_until_acknowledged(client: &ApiClient, subject: &str, key: &str) -> String {
    let is_decided = |sent: &Result<ApiResponse, _>| sent.as_ref().is_ok_and(|response| response.status != 503);
    let answer = poll_until(|| send(client, subject, key), is_decided).await;
    id(&answer.expect("an answer").expect(201)).to_owned()
}

fn port(process: &GailouProcess) -> u16 {
    process.base().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port")
}

/// Checks that each key made one comment, in the list and by its id.
async fn check_one_comment_for_each(
    bed: &ClusterTestBed,
    client: &ApiClient,
    subject: &str,
    keys: &[(String, String)],
) {
    bed.wait_until_persisted().await;
    let path = format!("/v1/subjects/{subject}/comments?sort=old&limit=100");
    let listed = poll_until(|| client.walk(&path), |listed| listed.len() == keys.len()).await;
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
async fn job_beside_a_server_does_not_listen() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let origin = bed.start_origin().await;
    let mut command = bed.command(&["job"]);
    command.env("GAILOU_BIND", format!("127.0.0.1:{}", port(&origin)));
    let mut job = ChildProcess::spawn(&command, Stdio::piped(), Stdio::null());
    let mut output = BufReader::new(job.child().stdout.take().expect("a piped output"));
    let mut ready_line = String::new();
    tokio::task::block_in_place(|| output.read_line(&mut ready_line)).expect("text");
    assert_eq!(ready_line, "gailou running, without an address\n");
    origin.post(&ann(), "article/beside", "one machine").await;
    bed.wait_until_persisted().await;
    job.terminate();
    assert_eq!(job.wait_for_exit().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn key_makes_one_comment_when_its_origin_is_killed_or_cut_off() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (mut one, other, _job) = bed.start_all().await;
    let (mut keys, mut answered) = (Vec::new(), 0);
    // About half of the requests are answered before their fault, however fast the machine is.
    let mut longest_delay = Duration::from_millis(25);
    let subject = "article/keys";
    for round in 0..ROUND_COUNT {
        let key = format!("key-{round}");
        let delay = longest_delay.mul_f64(rand::rng().random());
        let is_cut = round % 8 != 0;
        let proxy = TcpProxy::start(port(&one)).await;
        let client = ApiClient::with_timeout(format!("http://127.0.0.1:{}", proxy.port()), RESPONSE_TIMEOUT);
        let fault = async {
            // A random moment of the request: before, during or after the append.
            tokio::time::sleep(delay).await;
            if is_cut {
                proxy.cut();
            } else {
                one.process().kill();
            }
        };
        let (first, ()) = tokio::join!(send(&client, subject, &key), fault);
        longest_delay = longest_delay.mul_f64(if first.is_ok() { 0.8 } else { 1.25 });
        let made = post_until_acknowledged(&other, subject, &key).await;
        if let Ok(first) = first {
            answered += 1;
            assert_eq!(first.expect(201)["id"], made, "{key}");
        }
        keys.push((key, made));
        if !is_cut {
            one = bed.start_origin().await;
        }
    }
    check_one_comment_for_each(&bed, &one, subject, &keys).await;
    assert_eq!(bed.count("FROM alias_{n}"), 0, "the repeated request found the first comment");
    assert!(
        (1..ROUND_COUNT).contains(&answered),
        "{answered} of {ROUND_COUNT} were answered before the fault: this proves nothing"
    );
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_lost_in_redis_makes_one_comment_and_both_ids_name_it() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 1_500)]).await;
    let (one, other) = tokio::join!(bed.start_origin(), bed.start_origin());
    let subject = "article/forgotten";
    let (mut keys, mut seconds) = (Vec::new(), Vec::new());
    for round in 0..4 {
        let key = format!("key-{round}");
        let first = post_until_acknowledged(&one, subject, &key).await;
        bed.delete_redis_keys().await;
        let second = post_until_acknowledged(&other, subject, &key).await;
        assert_ne!(first, second, "no job runs, so the second origin cannot know the first comment");
        keys.push((key, first));
        seconds.push(second);
    }
    // A reply and a like go to the second id before the job finds that it is the same comment.
    let parent = json!({"id": seconds[3], "subject": {"type": "article", "key": "forgotten"}});
    let reply = other.reply(&bob(), &parent, "reply").await;
    assert_eq!(other.like(&bob(), &parent).await["likes"], 1);
    let job = bed.start_job().await;
    check_one_comment_for_each(&bed, &other, subject, &keys).await;
    for ((key, first), second) in keys.iter().zip(&seconds) {
        for server in [&one, &other] {
            let path = format!("/v1/comments/{second}");
            let by_second = poll_until(|| server.page(&path), |c| c["id"] == first.as_str()).await;
            assert_eq!((&by_second["id"], &by_second["content"]), (&json!(first), &json!(key)));
        }
    }
    let path = format!("/v1/comments/{}/replies", keys[3].1);
    let replies = poll_until(|| one.walk(&path), |replies| replies.len() == 1).await;
    assert_eq!(ids(&replies), [id(&reply)]);
    // The tables remember the key of a row without Redis.
    bed.delete_redis_keys().await;
    assert_eq!(post_until_acknowledged(&one, subject, &keys[3].0).await, keys[3].1);
    drop(job);
    bed.check_consistency().await;
    let liked = one.page(&format!("/v1/comments/{}", seconds[3])).await;
    assert_eq!(liked["likes"], 1, "a like of the second id is one of the comment: {liked}");
    let both = [keys[3].1.as_str(), seconds[3].as_str()];
    let overlay = one.overlay(&bob(), &both).await;
    assert_eq!(both.map(|id| &overlay["data"][id]["reaction"]), [&json!("like"); 2], "{overlay}");
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_comment_works_on_the_other_origin_before_it_is_a_row() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (one, other) = tokio::join!(bed.start_origin(), bed.start_origin());
    let list = "/v1/subjects/article/young/comments?sort=old";
    let root = one.post(&ann(), "article/young", "root").await;
    let reply = other.reply(&bob(), &root, "reply").await;
    assert_eq!((&reply["parent_id"], &reply["reply_to"]["name"]), (&root["id"], &json!("Ann")));
    assert_eq!(other.like(&bob(), &root).await["likes"], 1);
    assert_eq!(one.like(&ann(), &reply).await["likes"], 1);
    for server in [&one, &other] {
        let on_server = server.page(&format!("/v1/comments/{}", id(&root))).await;
        assert_eq!(
            (&on_server["content"], &on_server["floor"], &on_server["likes"]),
            (&json!("root"), &json!(null), &json!(1))
        );
        let overlay = server.overlay(&ann(), &[id(&root)]).await;
        assert_eq!(ids(overlay["pending"].as_array().expect("a list")), [id(&root)]);
        assert_eq!(server.page(list).await["data"], json!([]), "without a job there are no rows");
    }
    let edit = json!({"content": "edited"});
    let edit = || other.request(&format!("PATCH /v1/comments/{}", id(&root))).by(&ann()).json(&edit).try_send();
    assert_eq!(edit().await.expect("an answer").status, 503, "the comment is no row yet");
    let _job = bed.start_job().await;
    let edited = poll_until(edit, |answer| answer.as_ref().is_ok_and(|answer| answer.status == 200)).await;
    assert_eq!(edited.expect("an answer").expect(200)["content"], "edited");
    bed.wait_until_persisted().await;
    for server in [&one, &other] {
        let is_complete = |page: &Value| {
            let root = &page["data"][0];
            (&root["floor"], &root["likes"], &root["replies"]) == (&json!(1), &json!(1), &json!(1))
                && root["top_replies"][0]["likes"] == 1
                && root["content"] == "edited"
        };
        let page = poll_until(|| server.page(list), is_complete).await;
        assert!(is_complete(&page), "{page}");
        let overlay = server.overlay(&ann(), &[id(&root)]).await;
        assert_eq!((&overlay["pending"], overlay["data"][id(&root)]["reaction"].is_null()), (&json!([]), true));
    }
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_young_id_is_waited_for_and_its_404_is_not_cached() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (one, other, _job) = bed.start_all().await;
    let broker = bed.broker().await;
    let subject = SubjectKey::new("article", "unknown").expect("a subject");
    bed.wait_for_jobs(&one).await;
    for (round, is_late) in [false, true].into_iter().enumerate() {
        let now = gailou::clock::Clock::system().now();
        let young = CommentId::from_parts(now, subject.slot(), 60, round as u64);
        let path = format!("GET /v1/comments/{young}");
        let started = Instant::now();
        // Refused while a job is behind, as the contract allows, and asked again.
        let ask = async |server: &GailouProcess| {
            let read = async || server.request(&path).try_send().await.expect("the server responds");
            poll_until(read, |answer| answer.status != 503).await
        };
        let append =
            || broker.append_record(Topic::Comments, subject.slot(), encoded_publication(&subject, young, 9, "late"));
        if is_late {
            for server in [&one, &other] {
                let missing = ask(server).await;
                assert_eq!((missing.status, &missing.json["code"]), (404, &json!("comment_not_found")));
                assert_eq!(missing.header("cache-control"), "no-store", "{:?}", missing.headers);
            }
            assert!(started.elapsed() > MIN_WAIT_FOR_A_YOUNG_ID, "the origins did not wait for the id");
            append().await.expect("the broker acknowledges");
            for server in [&one, &other] {
                let found = poll_until(|| ask(server), |answer| answer.status == 200).await;
                assert_eq!(found.expect(200)["content"], "late");
            }
        } else {
            // The comment is appended while the origin waits for it.
            let appended = async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                append().await
            };
            let (found, appended) = tokio::join!(ask(&one), appended);
            appended.expect("the broker acknowledges");
            assert_eq!(found.expect(200)["content"], "late");
        }
    }
    let old = CommentId::from_parts(gailou::clock::Clock::system().now() - 3_600_000, subject.slot(), 60, 9);
    // The best of several attempts: a busy machine may be slow at any of them.
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let started = Instant::now();
        assert_eq!(one.request(&format!("GET /v1/comments/{old}")).send().await.status, 404);
        fastest = fastest.min(started.elapsed());
    }
    assert!(fastest < MIN_WAIT_FOR_A_YOUNG_ID, "an old id must not be waited for: {fastest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_job_whose_partitions_moved_neither_doubles_nor_loses_writes() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 5), ("REACTIONS_MS", 20)]).await;
    let (one, other, mut frozen) = bed.start_all().await;
    let load = BackgroundLoad::new(vec!["article/a".into(), "topic/b".into(), "video/c".into(), "article/d".into()]);
    let clients = clients(&[&one, &other]);
    bed.wait_for_jobs(&one).await;
    let faults = async {
        load.wait_for_writes(100).await;
        frozen.process().freeze();
        let heir = bed.start_job().await;
        load.wait_for_writes(200).await;
        // Only the heir can persist these: the group has given it the partitions.
        bed.wait_until_persisted().await;
        frozen.process().resume();
        // The resumed job works on what it had in memory, until it learns that it lost its partitions.
        tokio::time::sleep(TIME_FOR_THE_RESUMED_JOB).await;
        heir
    };
    let _heir = load.run_during(&clients, 6, faults).await;
    bed.wait_until_persisted().await;
    load.check(&clients[0]).await;
    assert!(frozen.process().status().is_none(), "the resumed job continues as one of two");
    bed.check_consistency().await;
}
