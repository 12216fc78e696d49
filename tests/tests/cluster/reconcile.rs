//! The reconciler finds and repairs what was made wrong behind the program's back.

use gailou_tests::services::{available, shared};
use gailou_tests::{Who, id, until, who};
use serde_json::Value;

use crate::world::{World, redis};

fn member(n: u64) -> Who {
    who(100 + n, "M", "member")
}

const LIST: &str = "/v1/subjects/article/books/comments?sort=hot";

#[tokio::test(flavor = "multi_thread")]
async fn wrong_counters_in_rows_and_redis_are_found_and_repaired() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[("COMMENTS_MS", 5), ("REACTIONS_MS", 20)]).await;
    let (server, _job) = tokio::join!(world.serve(), world.job());
    let root = server.post(&member(0), "article/books", "root").await;
    let other = server.post(&member(1), "article/books", "other").await;
    for n in 0..3 {
        server.reply(&member(n), &root, &format!("reply {n}")).await;
        server.like(&member(n), &root).await;
    }
    world.settle().await;
    let right = |page: &Value| {
        let counts = |comment: &Value| (comment["likes"].as_u64(), comment["replies"].as_u64());
        let subject = (page["subject"]["roots"].as_u64(), page["subject"]["comments"].as_u64());
        let (first, second) = (&page["data"][0], &page["data"][1]);
        first["id"] == root["id"]
            && counts(first) == (Some(3), Some(3))
            && counts(second) == (Some(0), Some(0))
            && subject == (Some(2), Some(5))
    };
    let page = until(|| server.page(LIST), right).await;
    assert!(right(&page), "{page}");
    assert_eq!(world.done(&["reconcile"]).await, "1 subjects, 0 differences, 0 repaired");
    let (liked, unliked) = (id(&root), id(&other));
    let view = {
        let slot = liked.parse::<gailou_shared::id::CommentId>().expect("an id").slot().get();
        format!("{{{}:{slot}}}:v:{liked}", world.name)
    };
    for wrong in [
        "UPDATE comment_{n} SET likes = 9 WHERE id = {liked}",
        "UPDATE comment_{n} SET dislikes = 2 WHERE id = {unliked}",
        "UPDATE comment_{n} SET replies = 1 WHERE id = {liked}",
        "UPDATE subject_{n} SET roots = 7",
        "UPDATE subject_{n} SET comments = 70",
    ] {
        world.rows(&wrong.replace("{liked}", liked).replace("{unliked}", unliked));
    }
    let rows = [
        format!("comment {liked}: likes stored 9, counted 3"),
        format!("comment {unliked}: dislikes stored 2, counted 0"),
        format!("comment {liked}: visible comments below stored 1, counted 3"),
        "the subject: visible roots stored 7, counted 2".to_owned(),
        "the subject: visible comments below stored 70, counted 5".to_owned(),
    ];
    for in_redis in [false, true] {
        let named = if in_redis {
            // A view of its own making.
            server.like(&member(0), &root).await;
            world.settle().await;
            redis(&world.servers, &["HSET", &view, "l", "41"]).await;
            let path = format!("/v1/comments/{liked}");
            let wrong = until(|| server.page(&path), |comment| comment["likes"] == 41).await;
            assert_eq!(wrong["likes"], 41, "nobody looks into the view");
            &[format!("comment {liked} in the caches: likes")][..]
        } else {
            &rows
        };
        let found = world.ran(&["reconcile"]).await;
        assert_eq!(found.code, Some(1), "{}{}", found.out, found.err);
        for part in named {
            assert!(found.out.contains(part), "{part} in {}", found.out);
        }
        assert!(found.last().ends_with(" 0 repaired"), "{}", found.out);
        let repaired = world.ran(&["reconcile", "--repair"]).await;
        assert_eq!(repaired.code, Some(0), "{}{}", repaired.out, repaired.err);
        assert_eq!(repaired.out.matches("(repaired)").count(), named.len(), "{}", repaired.out);
        assert_eq!(world.done(&["reconcile"]).await, "1 subjects, 0 differences, 0 repaired");
        let page = until(|| server.page(LIST), right).await;
        assert!(right(&page), "{page}");
    }
    assert_eq!(server.like(&member(9), &root).await["likes"], 4);
}
