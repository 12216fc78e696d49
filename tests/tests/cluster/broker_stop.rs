//! A log that is not the one which the tables were written from stops the broker, until an operator accepts it.

use std::process::Stdio;

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{ChildProcess, ann, comments_on, comments_path, poll_until};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::test_bed::ClusterTestBed;

/// The timeout of the admin request, in milliseconds.
const ADMIN_TIMEOUT_MS: u32 = 10_000;
const TEST_SUBJECT: &str = "article/letters";
const LIST_PATH: &str = "/v1/subjects/article/letters/comments?sort=old&limit=100";

/// Deletes a topic: an operator's mistake, in the words of the broker's protocol.
async fn delete_topic(broker: &str, topic: &str) {
    let text = |text: &str| [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat();
    // DeleteTopics, version 1: one name and a timeout.
    let head = [&20_u16.to_be_bytes()[..], &1_u16.to_be_bytes(), &7_u32.to_be_bytes(), &text("test")].concat();
    let request = [head, 1_u32.to_be_bytes().to_vec(), text(topic), ADMIN_TIMEOUT_MS.to_be_bytes().to_vec()].concat();
    let mut stream = TcpStream::connect(broker).await.expect("the broker listens");
    stream.write_all(&(request.len() as u32).to_be_bytes()).await.expect("the broker reads");
    stream.write_all(&request).await.expect("the broker reads");
    let mut reply = vec![0; stream.read_u32().await.expect("the broker replies") as usize];
    stream.read_exact(&mut reply).await.expect("the broker replies");
    assert_eq!(reply[reply.len() - 2..], [0, 0], "{topic} is not deleted: {reply:?}");
}

/// Stores three comments, stops everything, and creates the topic of the comments again.
async fn recreate_topic_behind_three_comments(bed: &ClusterTestBed) {
    let (server, job) = tokio::join!(bed.start_origin(), bed.start_job());
    for n in 0..3 {
        server.post(&ann(), TEST_SUBJECT, &format!("text {n}")).await;
    }
    bed.wait_until_persisted().await;
    for process in [server, job] {
        process.terminate();
        assert_eq!(process.wait_for_exit().await, Some(0));
    }
    delete_topic(&bed.servers.kafka, &format!("{}.comments", bed.name)).await;
    let migrate = || async { bed.run(&["migrate"]).await.code };
    assert_eq!(poll_until(migrate, |code| *code == Some(0)).await, Some(0));
}

/// Starts a job that must refuse to go on; what it says last.
async fn refusal_of_a_job(bed: &ClusterTestBed) -> String {
    let mut command = bed.command(&["job", "--bind", "127.0.0.1:0"]);
    command.env("RUST_LOG", "info");
    let mut job = ChildProcess::spawn(&command, Stdio::null(), Stdio::piped());
    let err = job.child().stderr.take().expect("a pipe");
    let stderr = tokio::task::spawn_blocking(|| std::io::read_to_string(err));
    assert_eq!(job.wait_for_exit().await, Some(1), "the job does not stop");
    let stderr = stderr.await.expect("no panic").expect("text");
    stderr.lines().last().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn recreated_topic_stops_the_job_with_an_error() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    recreate_topic_behind_three_comments(&bed).await;
    let last = refusal_of_a_job(&bed).await;
    for part in ["gailou: ", "comments", "was recreated", "up to 3"] {
        assert!(last.contains(part), "{part:?} is missing in {last}");
    }
    // No record was taken for a repetition, and none became a dead letter.
    assert_eq!(bed.run_successfully(&["dlq", "list"]).await, "0 dead letters");
    assert_eq!(bed.count("FROM comment_{n}"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn recreated_topic_that_was_filled_again_is_refused_until_it_is_accepted() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    recreate_topic_behind_three_comments(&bed).await;
    // More than the tables have, on the same subject and so in the same partition. No job has looked yet.
    let server = bed.start_origin().await;
    let line = format!("POST {}", comments_path(TEST_SUBJECT));
    let post = |text: String| {
        let (server, line) = (&server, &line);
        async move { server.request(line).by(&ann()).json(&json!({"content": text})).try_send().await.expect("a response") }
    };
    for n in 0..5 {
        let posted = poll_until(|| post(format!("again {n}")), |answer| answer.status == 201).await;
        assert_eq!(posted.status, 201, "{}", posted.text);
    }
    assert_eq!(bed.run_successfully(&["broker", "status"]).await, "the broker is not stopped");
    let last = refusal_of_a_job(&bed).await;
    assert!(last.contains("holds another record at 2") && last.contains("comments"), "{last}");
    // The stop lasts: the next job does not read at all, and servers acknowledge nothing.
    let last = refusal_of_a_job(&bed).await;
    assert!(last.contains("the broker is stopped") && last.contains("gailou broker accept"), "{last}");
    let refused = poll_until(|| post("refused".into()), |answer| answer.status == 503).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert_eq!(server.get("/readyz").await.json["dependencies"]["kafka"], "failed");
    assert_eq!(bed.run(&["broker", "status"]).await.code, Some(1));
    assert_eq!(bed.count("FROM comment_{n}"), 3);

    assert!(bed.run_successfully(&["broker", "accept"]).await.contains("1 partitions accepted"));
    assert_eq!(bed.run(&["broker", "accept"]).await.code, Some(1), "there is nothing to accept");
    let _job = bed.start_job().await;
    let texts = |page: &Value| -> Vec<String> {
        comments_on(page).iter().map(|comment| comment["content"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let expected = ["text 0", "text 1", "text 2", "again 0", "again 1", "again 2", "again 3", "again 4"];
    let page = poll_until(|| server.page(LIST_PATH), |page| texts(page).len() >= expected.len()).await;
    assert_eq!(texts(&page)[..expected.len()], expected, "what was acknowledged is there, in its order");
    let later = poll_until(|| post("refused".into()), |answer| answer.status == 201).await;
    assert_eq!(later.status, 201, "{}", later.text);
    let page =
        poll_until(|| server.page(LIST_PATH), |page| texts(page).last().is_some_and(|text| text == "refused")).await;
    assert_eq!(texts(&page).last().map(String::as_str), Some("refused"));
    assert_eq!(bed.run_successfully(&["dlq", "list"]).await, "0 dead letters");
    bed.run_successfully(&["reconcile"]).await;
}
