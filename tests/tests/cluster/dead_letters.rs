//! Dead letters, and a topic that was created again behind the back of the tables.

use std::process::Stdio;
use std::time::Duration;

use gailou::ports::broker::Topic;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_tests::backing_servers::{BackingServers, available, shared};
use gailou_tests::{ChildProcess, ann, comments_on, id, poll_until};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::background_load::BackgroundLoad;
use crate::processes::encoded_publication;
use crate::test_bed::{ClusterTestBed, clients};

fn subject() -> SubjectKey {
    SubjectKey::new("article", "letters").expect("a subject")
}

/// How long the database is frozen: longer than any timeout of a statement.
const FREEZE_DURATION: Duration = Duration::from_secs(10);
/// The timeout of the admin request, in milliseconds.
const ADMIN_TIMEOUT_MS: u32 = 10_000;
const TEST_SUBJECT: &str = "article/letters";
const LIST_PATH: &str = "/v1/subjects/article/letters/comments?sort=old&limit=100";

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_or_refused_record_becomes_a_dead_letter_and_can_be_retried() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 20)]).await;
    let (server, job) = tokio::join!(bed.start_origin(), bed.start_job());
    let broker = bed.broker().await;
    let append = |bytes: Vec<u8>| broker.append_record(Topic::Comments, subject().slot(), bytes);
    let first = server.post(&ann(), TEST_SUBJECT, "first").await;
    bed.wait_until_persisted().await;
    // A trigger makes the database refuse one text.
    for database in bed.databases() {
        for n in 0..2 {
            bed.servers.sql(&format!(
                "CREATE TRIGGER {database}.poison_{n} BEFORE INSERT ON {database}.content_{n} FOR EACH ROW \
                 SET NEW.html = IF(NEW.content = 'poison', NULL, NEW.html)"
            ));
        }
    }
    append(b"garbage".to_vec()).await.expect("the broker acknowledges");
    let taken: CommentId = id(&first).parse().expect("an id");
    append(encoded_publication(&subject(), taken, 99, "of another author")).await.expect("the broker acknowledges");
    let poisoned = server.post(&ann(), TEST_SUBJECT, "poison").await;
    let others: Vec<Value> = {
        let mut posts = vec![];
        for n in 0..20 {
            posts.push(server.post(&ann(), TEST_SUBJECT, &format!("other {n}")).await);
        }
        posts
    };
    bed.wait_until_persisted().await;
    let texts = |page: &Value| -> Vec<String> {
        comments_on(page).iter().map(|comment| comment["content"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..others.len()).map(|n| format!("other {n}")));
    let page = poll_until(|| server.page(LIST_PATH), |page| texts(page) == expected).await;
    assert_eq!(texts(&page), expected, "the other comments are persisted, and the first one is unchanged");
    assert_eq!(page["data"][20]["floor"], 21);
    let listed = bed.run(&["dlq", "list"]).await;
    assert_eq!((listed.code, listed.last_line()), (Some(0), "3 dead letters"), "{}{}", listed.stdout, listed.stderr);
    let parts = [
        "comments",
        "not an operation",
        &format!("comment {taken} on {TEST_SUBJECT}"),
        "cannot be null",
        id(&poisoned),
    ];
    for part in parts {
        assert!(listed.stdout.contains(part), "{part} is missing in {}", listed.stdout);
    }
    let metrics = job.get("/metrics").await.text;
    assert!(metrics.contains("gailou_dead_letters_total{topic=\"comments\"} 3"), "{metrics}");
    // Without the trigger one record can be persisted; the other two become dead letters again.
    for database in bed.databases() {
        (0..2).for_each(|n| drop(bed.servers.sql(&format!("DROP TRIGGER {database}.poison_{n}"))));
    }
    assert_eq!(bed.run_successfully(&["dlq", "retry"]).await, "2 sent again, 1 kept");
    bed.wait_until_persisted().await;
    expected.push("poison".into());
    let page = poll_until(|| server.page(LIST_PATH), |page| texts(page) == expected).await;
    assert_eq!((texts(&page), &page["data"][21]["floor"]), (expected, &json!(22)));
    assert_eq!(server.page(&format!("/v1/comments/{}", id(&poisoned))).await["content"], "poison");
    assert_eq!(server.page(&format!("/v1/comments/{}", id(&first))).await["author"]["id"], "7");
    assert_eq!(bed.run_successfully(&["dlq", "list"]).await, "2 dead letters");
    bed.run_successfully(&["reconcile"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_database_produces_no_dead_letters() {
    if !available() {
        return;
    }
    let servers = BackingServers::start().await;
    let bed = ClusterTestBed::create(&servers.addresses(), &[("REACTIONS_MS", 50)]).await;
    let (one, other, _job) = bed.start_all().await;
    let load = BackgroundLoad::new(vec!["article/a".into(), "topic/b".into(), "video/c".into()]);
    let clients = clients(&[&one, &other]);
    bed.wait_for_jobs(&one).await;
    let freeze = async {
        load.wait_for_writes(100).await;
        servers.mariadb.freeze();
        tokio::time::sleep(FREEZE_DURATION).await;
        servers.mariadb.resume();
        load.wait_for_writes(100).await;
    };
    load.run_during(&clients, 6, freeze).await;
    bed.wait_until_persisted().await;
    load.check(&clients[0]).await;
    bed.check_consistency().await;
}

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

#[tokio::test(flavor = "multi_thread")]
async fn recreated_topic_stops_the_job_with_an_error() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (server, job) = tokio::join!(bed.start_origin(), bed.start_job());
    for n in 0..3 {
        server.post(&ann(), TEST_SUBJECT, &format!("text {n}")).await;
    }
    bed.wait_until_persisted().await;
    job.terminate();
    assert_eq!(job.wait_for_exit().await, Some(0));
    delete_topic(&bed.servers.kafka, &format!("{}.comments", bed.name)).await;
    let migrate = || async { bed.run(&["migrate"]).await.code };
    assert_eq!(poll_until(migrate, |code| *code == Some(0)).await, Some(0));
    let mut command = bed.command(&["job", "--bind", "127.0.0.1:0"]);
    command.env("RUST_LOG", "info");
    let mut job = ChildProcess::spawn(&command, Stdio::null(), Stdio::piped());
    let err = job.child().stderr.take().expect("a pipe");
    let stderr = tokio::task::spawn_blocking(|| std::io::read_to_string(err));
    assert_eq!(job.wait_for_exit().await, Some(1), "the job does not stop");
    let stderr = stderr.await.expect("no panic").expect("text");
    let last = stderr.lines().last().unwrap_or_default();
    for part in ["gailou: ", "comments", "was recreated", "up to 3"] {
        assert!(last.contains(part), "{part:?} is missing in {stderr}");
    }
    // No record was taken for a repetition, and none became a dead letter.
    assert_eq!(bed.run_successfully(&["dlq", "list"]).await, "0 dead letters");
    assert_eq!(bed.count("FROM comment_{n}"), 3);
}
