//! Reactions: one for each member and comment, idempotent, counted exactly.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use gailou_tests::{TestMember, TestOrigin, ann, bob, id, member, moderator};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

/// All requests about a reaction.
const REACTION_REQUESTS: [(&str, &str); 4] =
    [("PUT", "like"), ("DELETE", "like"), ("PUT", "dislike"), ("DELETE", "dislike")];

/// The reaction of a member after a request, by the contract.
fn expected_reaction(before: Option<&'static str>, (method, what): (&str, &'static str)) -> Option<&'static str> {
    match method {
        "PUT" => Some(what),
        _ => before.filter(|b| *b != what),
    }
}

async fn overlay_data(origin: &TestOrigin, by: &TestMember, comments: &[Value]) -> Value {
    let ids: Vec<_> = comments.iter().map(id).collect();
    origin.overlay(by, &ids).await["data"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_pair_of_requests_ends_in_the_expected_reaction() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), "post/1", "x").await;
    let mut member_id = 100;
    for first in REACTION_REQUESTS {
        for second in REACTION_REQUESTS {
            member_id += 1;
            let by = member(member_id);
            let mut reaction = None;
            // Each request is repeated: the repetition changes nothing.
            for request in [first, first, second, second] {
                reaction = expected_reaction(reaction, request);
                let answer = origin.set_flag(&by, request.0, id(&comment), request.1).await.expect(200);
                assert_eq!(
                    (&answer["id"], &answer["reaction"]),
                    (&comment["id"], &json!(reaction)),
                    "{first:?} {second:?}"
                );
                origin
                    .poll_comment(&comment, |c| c["likes"] == answer["likes"] && c["dislikes"] == answer["dislikes"])
                    .await;
            }
            let own = overlay_data(&origin, &by, std::slice::from_ref(&comment)).await;
            assert_eq!(own[id(&comment)]["reaction"], json!(reaction), "{first:?} {second:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_sequences_of_members_are_counted_exactly_and_survive_a_restart() {
    let mut origin = TestOrigin::start().await;
    let ann = ann();
    let root = origin.post(&ann, "article/1", "root").await;
    let comments = [root.clone(), origin.reply(&ann, &root, "a").await, origin.reply(&ann, &root, "b").await];
    let members: Vec<TestMember> = (0..16).map(|n| member(200 + n)).collect();
    let work = members.iter().enumerate().map(|(n, by)| {
        let (origin, comments) = (&origin, &comments);
        async move {
            let mut rng = StdRng::seed_from_u64(n as u64);
            let mut reactions: BTreeMap<usize, Option<&str>> = BTreeMap::new();
            for _ in 0..40 {
                let (which, request) = (rng.random_range(0..3), REACTION_REQUESTS[rng.random_range(0..4)]);
                let answer = origin.set_flag(by, request.0, id(&comments[which]), request.1).await.expect(200);
                let now = reactions.entry(which).or_default();
                *now = expected_reaction(*now, request);
                assert_eq!(answer["reaction"], json!(*now));
                assert!(answer["likes"].as_u64().unwrap() + answer["dislikes"].as_u64().unwrap() <= 16);
            }
            reactions
        }
    });
    let reactions = join_all(work).await;
    let mut counts = vec![(0, 0); 3];
    for own in &reactions {
        for (which, reaction) in own {
            match reaction {
                Some("like") => counts[*which].0 += 1,
                Some(_) => counts[*which].1 += 1,
                None => {}
            }
        }
    }
    for round in ["running", "restarted"] {
        for (comment, (likes, dislikes)) in comments.iter().zip(&counts) {
            origin.poll_comment(comment, |c| c["likes"] == *likes && c["dislikes"] == *dislikes).await;
        }
        for (by, own) in members.iter().zip(&reactions) {
            let data = overlay_data(&origin, by, &comments).await;
            for (which, comment) in comments.iter().enumerate() {
                assert_eq!(data[id(comment)]["reaction"], json!(own.get(&which).copied().flatten()), "{round}");
            }
        }
        origin.restart().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reactions_survive_the_deletion_of_their_comment() {
    let origin = TestOrigin::start().await;
    let (ann, bob, moderator) = (ann(), bob(), moderator());
    let comment = origin.post(&ann, "post/1", "x").await;
    origin.like(&bob, &comment).await;
    origin.delete(&ann, &comment).await;
    assert_eq!(origin.set_flag(&bob, "DELETE", id(&comment), "like").await.status, 404);
    assert_eq!(origin.decide(&moderator, &comment, "restore").await.expect(200)["likes"], 1);
    assert_eq!(origin.set_flag(&bob, "DELETE", id(&comment), "like").await.expect(200)["likes"], 0);
}
