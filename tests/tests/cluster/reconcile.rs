//! `gailou reconcile` on a cluster: it finds and repairs counters that were changed in the databases.

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{TestMember, id, member, poll_until};
use serde_json::Value;

use crate::test_bed::{ClusterTestBed, redis};

fn reader(n: u64) -> TestMember {
    member(100 + n)
}

const LIST_PATH: &str = "/v1/subjects/article/books/comments?sort=hot";

#[tokio::test(flavor = "multi_thread")]
async fn wrong_counters_in_rows_and_in_redis_are_found_and_repaired() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 5), ("REACTIONS_MS", 20)]).await;
    let (server, _job) = tokio::join!(bed.start_origin(), bed.start_job());
    let root = server.post(&reader(0), "article/books", "root").await;
    let other = server.post(&reader(1), "article/books", "other").await;
    for n in 0..3 {
        server.reply(&reader(n), &root, &format!("reply {n}")).await;
        server.like(&reader(n), &root).await;
    }
    bed.wait_until_persisted().await;
    let is_correct = |page: &Value| {
        let counts = |comment: &Value| (comment["likes"].as_u64(), comment["replies"].as_u64());
        let subject = (page["subject"]["roots"].as_u64(), page["subject"]["comments"].as_u64());
        let (first, second) = (&page["data"][0], &page["data"][1]);
        first["id"] == root["id"]
            && counts(first) == (Some(3), Some(3))
            && counts(second) == (Some(0), Some(0))
            && subject == (Some(2), Some(5))
    };
    let page = poll_until(|| server.page(LIST_PATH), is_correct).await;
    assert!(is_correct(&page), "{page}");
    assert_eq!(bed.run_successfully(&["reconcile"]).await, "1 subjects, 0 differences, 0 repaired");
    let (liked, unliked) = (id(&root), id(&other));
    let counter_key = {
        let slot = liked.parse::<gailou_shared::id::CommentId>().expect("an id").slot().get();
        format!("{{{}:{slot}}}:v:{liked}", bed.name)
    };
    for statement in [
        "UPDATE comment_{n} SET likes = 9 WHERE id = {liked}",
        "UPDATE comment_{n} SET dislikes = 2 WHERE id = {unliked}",
        "UPDATE comment_{n} SET replies = 1 WHERE id = {liked}",
        "UPDATE subject_{n} SET roots = 7",
        "UPDATE subject_{n} SET comments = 70",
        "UPDATE comment_{n} SET flags = flags | 32 WHERE id = {unliked}",
    ] {
        bed.query(&statement.replace("{liked}", liked).replace("{unliked}", unliked));
    }
    let rows = [
        format!("comment {liked}: likes stored 9, counted 3"),
        format!("comment {unliked}: dislikes stored 2, counted 0"),
        format!("comment {liked}: visible comments below stored 1, counted 3"),
        "the subject: visible roots stored 7, counted 2".to_owned(),
        "the subject: visible comments below stored 70, counted 5".to_owned(),
        format!("comment {unliked}: its row of the review queue is wrong"),
    ];
    for in_redis in [false, true] {
        let findings = if in_redis {
            // The like opens the counters of the comment in Redis.
            server.like(&reader(0), &root).await;
            bed.wait_until_persisted().await;
            redis(&bed.servers, &["HSET", &counter_key, "l", "41"]).await;
            let path = format!("/v1/comments/{liked}");
            let wrong = poll_until(|| server.page(&path), |comment| comment["likes"] == 41).await;
            assert_eq!(wrong["likes"], 41, "the origin reads the counter from Redis");
            &[format!("comment {liked} in the caches: likes")][..]
        } else {
            &rows
        };
        let found = bed.run(&["reconcile"]).await;
        assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
        for part in findings {
            assert!(found.stdout.contains(part), "{part} is missing in {}", found.stdout);
        }
        assert!(found.last_line().ends_with(" 0 repaired"), "{}", found.stdout);
        let repaired = bed.run(&["reconcile", "--repair"]).await;
        assert_eq!(repaired.code, Some(0), "{}{}", repaired.stdout, repaired.stderr);
        assert_eq!(repaired.stdout.matches("(repaired)").count(), findings.len(), "{}", repaired.stdout);
        assert_eq!(bed.run_successfully(&["reconcile"]).await, "1 subjects, 0 differences, 0 repaired");
        let page = poll_until(|| server.page(LIST_PATH), is_correct).await;
        assert!(is_correct(&page), "{page}");
    }
    assert_eq!(server.like(&reader(9), &root).await["likes"], 4);
    bed.wait_until_persisted().await;
    let missing_rank = format!("comment {liked}: its rank row is missing");
    let missing_history = format!("comment {liked}: its row in the history of member 100 is missing");
    for (table, column, expected) in
        [("root_rank", "id", missing_rank), ("member_comment", "comment_id", missing_history)]
    {
        bed.query(&format!("DELETE FROM {table}_{{n}} WHERE {column} = {liked}"));
        let found = bed.run(&["reconcile"]).await;
        assert!(found.stdout.contains(&expected), "{expected} is missing in {}{}", found.stdout, found.stderr);
        let repaired = bed.run_successfully(&["reconcile", "--repair"]).await;
        assert_eq!(repaired, "1 subjects, 1 differences, 1 repaired");
        assert_eq!(bed.run_successfully(&["reconcile"]).await, "1 subjects, 0 differences, 0 repaired");
    }
    let checked = bed.run_successfully(&["shard", "verify", "--texts", "--slots", "0-1023"]).await;
    assert_eq!(checked, "0 rows or slots are not where they belong");
}
