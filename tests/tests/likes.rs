//! Reactions: one a member, idempotent, counted exactly.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use gailou_tests::{Site, Who, id, who};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

const CALLS: [(&str, &str); 4] = [("PUT", "like"), ("DELETE", "like"), ("PUT", "dislike"), ("DELETE", "dislike")];

/// What a member thinks after a call, who thought `before`.
fn model(before: Option<&'static str>, (method, what): (&str, &'static str)) -> Option<&'static str> {
    match method {
        "PUT" => Some(what),
        _ => before.filter(|b| *b != what),
    }
}

async fn overlay(site: &Site, by: &Who, comments: &[Value]) -> Value {
    let list: Vec<_> = comments.iter().map(id).collect();
    site.call(&format!("GET /v1/me/overlay?ids={}", list.join(","))).by(by).send().await.expect(200)["data"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_pair_of_calls_ends_as_the_model_says() {
    let site = Site::start().await;
    let comment = site.post(&who(7, "Ann", "member"), "post/1", "x").await;
    let mut member = 100;
    for first in CALLS {
        for second in CALLS {
            member += 1;
            let by = who(member, "M", "member");
            let mut thinks = None;
            // Twice each: the second time changes nothing.
            for call in [first, first, second, second] {
                thinks = model(thinks, call);
                let answer = site.mark(&by, call.0, id(&comment), call.1).await.expect(200);
                assert_eq!(
                    (&answer["id"], &answer["reaction"]),
                    (&comment["id"], &json!(thinks)),
                    "{first:?} {second:?}"
                );
                site.seen(&comment, |c| c["likes"] == answer["likes"] && c["dislikes"] == answer["dislikes"]).await;
            }
            let own = overlay(&site, &by, std::slice::from_ref(&comment)).await;
            assert_eq!(own[id(&comment)]["reaction"], json!(thinks), "{first:?} {second:?}");
        }
    }
}

/// Members call in sequences of their own, all at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_sequences_are_counted_exactly() {
    let mut site = Site::start().await;
    let ann = who(7, "Ann", "member");
    let root = site.post(&ann, "article/1", "root").await;
    let comments = [root.clone(), site.reply(&ann, &root, "a").await, site.reply(&ann, &root, "b").await];
    let members: Vec<Who> = (0..16).map(|n| who(200 + n, "M", "member")).collect();
    let work = members.iter().enumerate().map(|(n, by)| {
        let (site, comments) = (&site, &comments);
        async move {
            let mut rng = StdRng::seed_from_u64(n as u64);
            let mut thinks: BTreeMap<usize, Option<&str>> = BTreeMap::new();
            for _ in 0..40 {
                let (which, call) = (rng.random_range(0..3), CALLS[rng.random_range(0..4)]);
                let answer = site.mark(by, call.0, id(&comments[which]), call.1).await.expect(200);
                let now = thinks.entry(which).or_default();
                *now = model(*now, call);
                assert_eq!(answer["reaction"], json!(*now));
                assert!(answer["likes"].as_u64().unwrap() + answer["dislikes"].as_u64().unwrap() <= 16);
            }
            thinks
        }
    });
    let thinks = join_all(work).await;
    let mut last = vec![(0, 0); 3];
    for own in &thinks {
        for (which, thought) in own {
            match thought {
                Some("like") => last[*which].0 += 1,
                Some(_) => last[*which].1 += 1,
                None => {}
            }
        }
    }
    for round in ["running", "restarted"] {
        for (comment, (likes, dislikes)) in comments.iter().zip(&last) {
            site.seen(comment, |c| c["likes"] == *likes && c["dislikes"] == *dislikes).await;
        }
        for (by, own) in members.iter().zip(&thinks) {
            let data = overlay(&site, by, &comments).await;
            for (which, comment) in comments.iter().enumerate() {
                assert_eq!(data[id(comment)]["reaction"], json!(own.get(&which).copied().flatten()), "{round}");
            }
        }
        site.restart().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reactions_outlive_a_deletion() {
    let site = Site::start().await;
    let (ann, bob, moderator) = (who(7, "Ann", "member"), who(8, "Bob", "member"), who(50, "M", "moderator"));
    let comment = site.post(&ann, "post/1", "x").await;
    site.like(&bob, &comment).await;
    site.delete(&ann, &comment).await;
    assert_eq!(site.mark(&bob, "DELETE", id(&comment), "like").await.status, 404);
    assert_eq!(site.decide(&moderator, &comment, "restore").await.expect(200)["likes"], 1);
    assert_eq!(site.mark(&bob, "DELETE", id(&comment), "like").await.expect(200)["likes"], 0);
}
