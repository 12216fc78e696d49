//! Dead letters, and a log that is not the one the tables know.

use std::process::Stdio;
use std::time::Duration;

use gailou::ports::broker::Topic;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_tests::services::{Services, available, shared};
use gailou_tests::{Process, Who, id, until, who};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::load::Load;
use crate::processes::published;
use crate::world::{World, clients};

fn ann() -> Who {
    who(7, "Ann", "member")
}

fn subject() -> SubjectKey {
    SubjectKey::new("article", "letters").expect("a subject")
}

const SUBJECT: &str = "article/letters";
const LIST: &str = "/v1/subjects/article/letters/comments?sort=old&limit=100";

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_message_is_put_aside_and_can_be_sent_again() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 20)]).await;
    let (server, job) = tokio::join!(world.serve(), world.job());
    let log = world.log().await;
    let append = |bytes: Vec<u8>| log.append(Topic::Comments, subject().slot(), bytes);
    let first = server.post(&ann(), SUBJECT, "first").await;
    world.settle().await;
    // The database refuses this one text.
    for database in world.databases() {
        for n in 0..2 {
            world.servers.sql(&format!(
                "CREATE TRIGGER {database}.poison_{n} BEFORE INSERT ON {database}.content_{n} FOR EACH ROW \
                 SET NEW.html = IF(NEW.content = 'poison', NULL, NEW.html)"
            ));
        }
    }
    append(b"garbage".to_vec()).await.expect("the log takes it");
    let taken: CommentId = id(&first).parse().expect("an id");
    append(published(&subject(), taken, 99, "another's")).await.expect("the log takes it");
    let poisoned = server.post(&ann(), SUBJECT, "poison").await;
    let others: Vec<Value> = {
        let mut posts = vec![];
        for n in 0..20 {
            posts.push(server.post(&ann(), SUBJECT, &format!("other {n}")).await);
        }
        posts
    };
    world.settle().await;
    let texts = |page: &Value| -> Vec<String> {
        let data = page["data"].as_array().expect("data");
        data.iter().map(|comment| comment["content"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..others.len()).map(|n| format!("other {n}")));
    let page = until(|| server.page(LIST), |page| texts(page) == expected).await;
    assert_eq!(texts(&page), expected, "the others go on, and the first stays what it was");
    assert_eq!(page["data"][20]["floor"], 21);
    let listed = world.ran(&["dlq", "list"]).await;
    assert_eq!((listed.code, listed.last()), (Some(0), "3 dead letters"), "{}{}", listed.out, listed.err);
    let named = ["comments", "not an event", &format!("comment {taken} on {SUBJECT}"), "cannot be null", id(&poisoned)];
    for part in named {
        assert!(listed.out.contains(part), "{part} in {}", listed.out);
    }
    let metrics = job.get("/metrics").await.text;
    assert!(metrics.contains("gailou_dead_letters_total{topic=\"comments\"} 3"), "{metrics}");
    // What could not be stored can be now; what never can comes back.
    for database in world.databases() {
        (0..2).for_each(|n| drop(world.servers.sql(&format!("DROP TRIGGER {database}.poison_{n}"))));
    }
    assert_eq!(world.done(&["dlq", "retry"]).await, "2 sent again, 1 kept");
    world.settle().await;
    expected.push("poison".into());
    let page = until(|| server.page(LIST), |page| texts(page) == expected).await;
    assert_eq!((texts(&page), &page["data"][21]["floor"]), (expected, &json!(22)));
    assert_eq!(server.page(&format!("/v1/comments/{}", id(&poisoned))).await["content"], "poison");
    assert_eq!(server.page(&format!("/v1/comments/{}", id(&first))).await["author"]["id"], "7");
    assert_eq!(world.done(&["dlq", "list"]).await, "2 dead letters");
    world.done(&["reconcile"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_stands_still_sends_nothing_to_the_dead_letters() {
    if !available() {
        return;
    }
    let services = tokio::task::spawn_blocking(Services::start).await.expect("they start");
    let world = World::on(&services.addresses(), &[("REACTIONS_MS", 50)]).await;
    let (one, other, _job) = tokio::join!(world.serve(), world.serve(), world.job());
    let load = Load::new(vec!["article/a".into(), "topic/b".into(), "video/c".into()]);
    let clients = clients(&[&one, &other]);
    // From now on the job reads.
    one.post(&ann(), "post/first", "first").await;
    world.settle().await;
    let freeze = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        services.mariadb.freeze();
        tokio::time::sleep(Duration::from_secs(10)).await;
        services.mariadb.wake();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
    };
    load.beside(&clients, 6, freeze).await;
    world.settle().await;
    load.holds(&clients[0]).await;
    world.agrees().await;
}

/// Deletes a topic: an operator's mistake, in the words of the broker's protocol.
async fn delete_topic(broker: &str, topic: &str) {
    let text = |text: &str| [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat();
    // DeleteTopics, version 1: one name, ten seconds.
    let head = [&20_u16.to_be_bytes()[..], &1_u16.to_be_bytes(), &7_u32.to_be_bytes(), &text("test")].concat();
    let request = [head, 1_u32.to_be_bytes().to_vec(), text(topic), 10_000_u32.to_be_bytes().to_vec()].concat();
    let mut stream = TcpStream::connect(broker).await.expect("the broker listens");
    stream.write_all(&(request.len() as u32).to_be_bytes()).await.expect("it reads");
    stream.write_all(&request).await.expect("it reads");
    let mut answer = vec![0; stream.read_u32().await.expect("it answers") as usize];
    stream.read_exact(&mut answer).await.expect("it answers");
    assert_eq!(answer[answer.len() - 2..], [0, 0], "{topic} is not deleted: {answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_was_recreated_stops_the_job_which_says_so() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[]).await;
    let (server, job) = tokio::join!(world.serve(), world.job());
    for n in 0..3 {
        server.post(&ann(), SUBJECT, &format!("text {n}")).await;
    }
    world.settle().await;
    job.terminate();
    assert_eq!(job.ended().await, Some(0));
    delete_topic(&world.servers.kafka, &format!("{}.comments", world.name)).await;
    let migrated = || async { world.ran(&["migrate"]).await.code };
    assert_eq!(until(migrated, |code| *code == Some(0)).await, Some(0));
    let mut command = world.command(&["job", "--bind", "127.0.0.1:0"]);
    command.env("RUST_LOG", "info");
    let mut job = Process::spawn(&command, Stdio::null(), Stdio::piped());
    let err = job.child().stderr.take().expect("a pipe");
    let said = tokio::task::spawn_blocking(|| std::io::read_to_string(err));
    assert_eq!(job.ended().await, Some(1), "it goes on");
    let said = said.await.expect("no panic").expect("text");
    let last = said.lines().last().unwrap_or_default();
    for part in ["gailou: ", "comments", "was recreated", "up to 3"] {
        assert!(last.contains(part), "{part:?} in {said}");
    }
    // Nothing was taken for a replay, and nothing was buried.
    assert_eq!(world.done(&["dlq", "list"]).await, "0 dead letters");
    assert_eq!(world.count("FROM comment_{n}"), 3);
}
