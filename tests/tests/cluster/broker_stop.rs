//! A log that is not the one which the tables were written from stops the broker, until an operator accepts it. Topics
//! and databases of another installation are refused.

use std::process::Stdio;

use gailou_tests::backing_servers::{BackingServer, ServerKind, available, shared};
use gailou_tests::{
    ApiResponse, ChildProcess, GailouProcess, ann, comments_on, comments_path, delete_topic, poll_until, run_command,
};
use serde_json::{Value, json};

use crate::test_bed::ClusterTestBed;

const TEST_SUBJECT: &str = "article/letters";
const LIST_PATH: &str = "/v1/subjects/article/letters/comments?sort=old&limit=100";

/// Stores three comments, stops everything, and creates the topic of the comments again.
async fn recreate_topic_behind_three_comments(bed: &ClusterTestBed) {
    let (server, job) = tokio::join!(bed.start_origin(), bed.start_job());
    for n in 0..3 {
        server.post(&ann(), TEST_SUBJECT, &format!("text {n}")).await;
    }
    bed.wait_until_persisted().await;
    stop_all([server, job]).await;
    delete_topic(&bed.servers.kafka, &format!("{}.comments", bed.name)).await;
    let migrate = || async { bed.run(&["migrate"]).await.code };
    assert_eq!(poll_until(migrate, |code| *code == Some(0)).await, Some(0));
}

/// Stops processes in order.
async fn stop_all(processes: impl IntoIterator<Item = GailouProcess>) {
    for process in processes {
        process.terminate();
        assert_eq!(process.wait_for_exit().await, Some(0));
    }
}

async fn post(server: &GailouProcess, text: &str) -> ApiResponse {
    let line = format!("POST {}", comments_path(TEST_SUBJECT));
    server.request(&line).by(&ann()).json(&json!({"content": text})).try_send().await.expect("a response")
}

/// The texts of a list.
fn texts(page: &Value) -> Vec<String> {
    comments_on(page).iter().map(|comment| comment["content"].as_str().unwrap_or_default().to_owned()).collect()
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
    for n in 0..5 {
        let text = format!("again {n}");
        let posted = poll_until(|| post(&server, &text), |answer| answer.status == 201).await;
        assert_eq!(posted.status, 201, "{}", posted.text);
    }
    assert_eq!(bed.run_successfully(&["broker", "status"]).await, "the broker is not stopped");
    let last = refusal_of_a_job(&bed).await;
    assert!(last.contains("holds another record at 2") && last.contains("comments"), "{last}");
    // The stop lasts: the next job does not read at all, and servers acknowledge nothing.
    let last = refusal_of_a_job(&bed).await;
    assert!(last.contains("the broker is stopped") && last.contains("gailou broker accept"), "{last}");
    let refused = poll_until(|| post(&server, "refused"), |answer| answer.status == 503).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    let ready = server.get("/readyz").await.expect(200);
    assert_eq!((&ready["dependencies"]["kafka"], &ready["writes"]), (&json!("failed"), &json!("failed")));
    assert_eq!(server.metric("gailou_broker_stopped").await, Some(1.0));
    assert_eq!(bed.run(&["broker", "status"]).await.code, Some(1));
    assert_eq!(bed.count("FROM comment_{n}"), 3);

    assert!(bed.run_successfully(&["broker", "accept"]).await.contains("1 partitions accepted"));
    assert_eq!(bed.run(&["broker", "accept"]).await.code, Some(1), "there is nothing to accept");
    let _job = bed.start_job().await;
    let expected = ["text 0", "text 1", "text 2", "again 0", "again 1", "again 2", "again 3", "again 4"];
    let page = poll_until(|| server.page(LIST_PATH), |page| texts(page).len() >= expected.len()).await;
    assert_eq!(texts(&page)[..expected.len()], expected, "what was acknowledged is there, in its order");
    let later = poll_until(|| post(&server, "refused"), |answer| answer.status == 201).await;
    assert_eq!(later.status, 201, "{}", later.text);
    assert_eq!(server.metric("gailou_broker_stopped").await, Some(0.0));
    let page =
        poll_until(|| server.page(LIST_PATH), |page| texts(page).last().is_some_and(|text| text == "refused")).await;
    assert_eq!(texts(&page).last().map(String::as_str), Some("refused"));
    assert_eq!(bed.run_successfully(&["dlq", "list"]).await, "0 dead letters");
    bed.run_successfully(&["reconcile"]).await;
}

/// The Kafka cluster that the installation remembers.
async fn remembered_cluster(bed: &ClusterTestBed) -> String {
    let status = bed.run(&["broker", "status"]).await.stdout;
    let id = status.lines().find_map(|line| line.strip_prefix("Kafka cluster: "));
    id.unwrap_or_else(|| panic!("no cluster in {status}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_kafka_is_refused_until_it_is_accepted() {
    if !available() {
        return;
    }
    let mut bed = ClusterTestBed::create(shared(), &[]).await;
    let (server, job) = tokio::join!(bed.start_origin(), bed.start_job());
    for n in 0..3 {
        server.post(&ann(), TEST_SUBJECT, &format!("text {n}")).await;
    }
    bed.wait_until_persisted().await;
    stop_all([server, job]).await;
    let first = remembered_cluster(&bed).await;

    let directory = tempfile::tempdir().expect("a directory");
    let mut kafka = BackingServer::new(ServerKind::Kafka, directory.path());
    tokio::task::block_in_place(|| kafka.start());
    bed.servers.kafka = format!("127.0.0.1:{}", kafka.port());
    let migrate = || async { bed.run(&["migrate"]).await };
    let migrated = poll_until(migrate, |migrated| migrated.code == Some(0)).await;
    assert_eq!(migrated.code, Some(0), "{}", migrated.stderr);
    // No job has looked, and nothing is acknowledged.
    let server = bed.start_origin().await;
    let refused = post(&server, "refused").await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("nothing was written"), "{}", refused.text);
    assert_eq!(server.page(LIST_PATH).await["data"].as_array().map(Vec::len), Some(3), "it is read as usual");
    let last = refusal_of_a_job(&bed).await;
    assert!(last.contains(&format!("were written from cluster {first}")), "{last}");
    stop_all([server]).await;
    // The stop lasts, also with the former addresses.
    let others = std::mem::replace(&mut bed.servers.kafka, shared().kafka.clone());
    let status = bed.run(&["broker", "status"]).await;
    assert!(status.code == Some(1) && status.stdout.contains("of Kafka cluster"), "{}", status.stdout);
    let server = bed.start_origin().await;
    assert_eq!(post(&server, "refused").await.status, 503);
    stop_all([server]).await;
    bed.servers.kafka = others;

    assert!(bed.run_successfully(&["broker", "accept"]).await.contains("1 partitions accepted"));
    assert_ne!(remembered_cluster(&bed).await, first);
    assert_eq!(bed.run_successfully(&["broker", "status"]).await, "the broker is not stopped");
    let (server, _job) = tokio::join!(bed.start_origin(), bed.start_job());
    assert_eq!(post(&server, "after").await.status, 201);
    let page = poll_until(|| server.page(LIST_PATH), |page| texts(page).len() == 4).await;
    assert_eq!(texts(&page), ["text 0", "text 1", "text 2", "after"]);
    bed.check_consistency().await;
    // The former cluster is another one now.
    bed.servers.kafka = shared().kafka.clone();
    let status = bed.run(&["broker", "status"]).await;
    assert!(status.stdout.contains(&format!("stopped: the brokers are of Kafka cluster {first}")), "{}", status.stdout);
}

/// Checks that every command refuses to run with this variable, for this reason.
async fn check_refused(bed: &ClusterTestBed, variable: &str, value: &str, reason: &str) {
    let commands: [&[&str]; 5] =
        [&["migrate"], &["serve", "--bind", "127.0.0.1:0"], &["job"], &["doctor"], &["dlq", "list"]];
    for arguments in commands {
        let mut command = bed.command(arguments);
        command.env(variable, value);
        let refused = run_command(command).await;
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(refused.code == Some(1) && said.contains(reason), "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_and_databases_of_another_installation_are_refused() {
    if !available() {
        return;
    }
    let (bed, other) = tokio::join!(ClusterTestBed::create(shared(), &[]), ClusterTestBed::create(shared(), &[]));
    let (server, _job) = tokio::join!(bed.start_origin(), bed.start_job());
    let reason = format!("{}.owner says that the topics belong to installation", bed.name);
    check_refused(&other, "GAILOU_CLUSTER__NAME", &bed.name, &reason).await;
    let [first, second] = &bed.servers.databases;
    let urls = format!("{first}/{},{second}/{}", other.name, bed.name);
    let reason = format!("/{}: it belongs to installation", bed.name);
    check_refused(&other, "GAILOU_MYSQL_URLS", &urls, &reason).await;

    server.post(&ann(), TEST_SUBJECT, "undisturbed").await;
    bed.wait_until_persisted().await;
    assert_eq!((bed.count("FROM comment_{n}"), other.count("FROM comment_{n}")), (1, 0));
    assert_eq!(other.run_successfully(&["broker", "status"]).await, "the broker is not stopped");
    bed.check_consistency().await;
}
