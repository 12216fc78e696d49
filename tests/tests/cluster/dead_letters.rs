//! Dead letters.

use std::time::Duration;

use gailou::ports::broker::Topic;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_tests::backing_servers::{BackingServers, available, shared};
use gailou_tests::{ann, comments_on, encoded_publication, id, member, poll_until};
use serde_json::{Value, json};

use crate::background_load::BackgroundLoad;
use crate::test_bed::{ClusterTestBed, clients};

fn subject() -> SubjectKey {
    SubjectKey::new("article", "letters").expect("a subject")
}

/// How long the databases are frozen: longer than any timeout of a statement.
const FREEZE_DURATION: Duration = Duration::from_secs(10);
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
    bed.query(
        "CREATE TRIGGER poison_{n} BEFORE INSERT ON content_{n} FOR EACH ROW \
         SET NEW.html = IF(NEW.content = 'poison', NULL, NEW.html)",
    );
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
    let dead = job.metric("gailou_dead_letters_total{topic=\"comments\"}").await;
    assert_eq!(dead, Some(3.0));
    // Without the trigger one record can be persisted; the other two become dead letters again.
    bed.query("DROP TRIGGER poison_{n}");
    assert_eq!(
        bed.run_successfully(&["dlq", "retry"]).await,
        "2 sent again, 0 not sent because their members have reacted anew, 1 kept"
    );
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
async fn retried_like_undoes_nothing_that_its_member_did_since() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("REACTIONS_MS", 20)]).await;
    let (server, mut job) = tokio::join!(bed.start_origin(), bed.start_job());
    let comment = server.post(&ann(), TEST_SUBJECT, "liked").await;
    bed.wait_until_persisted().await;
    let [stays, leaves, hurries] = [201, 202, 203].map(member);
    let refuse = "CREATE TRIGGER poison_{n} BEFORE INSERT ON reaction_{n} FOR EACH ROW SET NEW.reaction = NULL";
    let unlike = async |who| server.set_flag(who, "DELETE", id(&comment), "like").await.expect(200);
    bed.query(refuse);
    for who in [&stays, &leaves, &hurries] {
        server.like(who, &comment).await;
    }
    bed.wait_until_persisted().await;
    bed.query("DROP TRIGGER poison_{n}");
    assert_eq!(bed.run_successfully(&["dlq", "list"]).await, "3 dead letters");
    // The one is a row when the letters are sent again, the other in the log alone.
    unlike(&leaves).await;
    bed.wait_until_persisted().await;
    job.process().freeze();
    unlike(&hurries).await;
    let retried = bed.run(&["dlq", "retry"]).await;
    let sum = "2 sent again, 1 not sent because their members have reacted anew, 0 kept";
    assert_eq!((retried.code, retried.last_line()), (Some(0), sum), "{}{}", retried.stdout, retried.stderr);
    let named = format!("reaction of 202 to {}: not sent again", id(&comment));
    assert!(retried.stdout.contains(&named), "{named} is missing in {}", retried.stdout);
    job.process().resume();
    bed.wait_until_persisted().await;
    let rows = bed.query("SELECT member_id FROM reaction_{n}").concat();
    assert_eq!(rows, ["201"], "who took the like back has none");
    assert_eq!(bed.count("FROM dead_reaction_{n}"), 0);
    let path = format!("/v1/comments/{}", id(&comment));
    let counted = poll_until(|| server.page(&path), |comment| comment["likes"] == 1).await;
    assert_eq!(counted["likes"], 1);
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_databases_produce_no_dead_letters() {
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
        for frozen in [&servers.mariadb, &servers.mysql] {
            frozen.freeze();
        }
        tokio::time::sleep(FREEZE_DURATION).await;
        for frozen in [&servers.mariadb, &servers.mysql] {
            frozen.resume();
        }
        load.wait_for_writes(100).await;
    };
    load.run_during(&clients, 6, freeze).await;
    bed.wait_until_persisted().await;
    load.check(&clients[0]).await;
    bed.check_consistency().await;
}
