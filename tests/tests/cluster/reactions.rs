//! Reactions in a cluster: counts never go back when Redis loses its keys, and the operations of one
//! member on one comment count in their order.

use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::SubjectKey;
use gailou_tests::backing_servers::{BackingServers, available, shared};
use gailou_tests::{TestMember, TestOrigin, comments_on, id, ids, member, poll_until};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::background_load::BackgroundLoad;
use crate::test_bed::{ClusterTestBed, clients, delete_redis_keys, evict_half, redis};

/// How long a batch of reactions waits while a fault is under way.
const LONG_BATCH_MS: u64 = 2_000;
/// The load between two faults: longer than a batch of reactions, which takes 1 s here.
const TIME_WITHOUT_FAULT: Duration = Duration::from_millis(1_200);
const TIME_BETWEEN_EVICTIONS: Duration = Duration::from_millis(50);
/// How long a batch of comments waits, so that reactions are rows before it on a busy machine.
const LATE_COMMENTS_MS: u64 = 6_000;

fn reader(n: u64) -> TestMember {
    member(100 + n)
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_never_go_back_when_redis_is_flushed_or_evicts_under_load() {
    if !available() {
        return;
    }
    let servers = BackingServers::start().await;
    let bed = ClusterTestBed::create(&servers.addresses(), &[("REACTIONS_MS", 1_000)]).await;
    let (one, other, _job) = bed.start_all().await;
    let load = BackgroundLoad::new(vec!["article/a".into(), "topic/b".into()]).checking_reads();
    let clients = clients(&[&one, &other]);
    bed.wait_for_jobs(&one).await;
    let faults = async {
        load.wait_for_writes(50).await;
        for _ in 0..3 {
            redis(&bed.servers, &["FLUSHALL"]).await;
            tokio::time::sleep(TIME_WITHOUT_FAULT).await;
            for _ in 0..10 {
                evict_half(&bed.servers).await;
                tokio::time::sleep(TIME_BETWEEN_EVICTIONS).await;
            }
        }
    };
    load.run_during(&clients, 8, faults).await;
    bed.wait_until_persisted().await;
    load.check(&clients[1]).await;
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_likes_survive_the_death_of_redis_while_the_job_is_frozen() {
    if !available() {
        return;
    }
    let mut servers = BackingServers::start().await;
    let bed = ClusterTestBed::create(&servers.addresses(), &[]).await;
    let (one, other, mut job) = bed.start_all().await;
    let comment = one.post(&reader(0), "article/a", "liked").await;
    let sibling = one.post(&reader(0), "article/a", "liked before").await;
    bed.wait_until_persisted().await;
    // Opens the counters of the slot: a frozen job could not.
    one.like(&reader(9), &sibling).await;
    bed.wait_until_persisted().await;
    let stored = bed.count("FROM reaction_{n}");
    let path = format!("GET /v1/comments/{}", id(&comment));
    job.process().freeze();
    for n in 0..5 {
        assert_eq!(one.like(&reader(n), &comment).await["likes"], n + 1);
    }
    servers.redis.kill();
    tokio::task::block_in_place(|| servers.redis.start());
    assert_eq!(bed.count("FROM reaction_{n}"), stored, "the likes are only in the broker");
    // The count is unknown now: an origin refuses rather than to answer a wrong one.
    for (n, server) in [(5, &one), (6, &other)] {
        let like = server.request(&format!("PUT /v1/comments/{}/like", id(&comment))).by(&reader(n));
        let refused = like.try_send().await.expect("a response");
        assert_eq!(refused.status, 503, "{}", refused.text);
    }
    job.process().resume();
    // Both likes were appended; a client repeats a request that got a 503.
    for (n, server) in [(5, &one), (6, &other), (0, &other)] {
        let like = || server.request(&format!("PUT /v1/comments/{}/like", id(&comment))).by(&reader(n)).try_send();
        let liked = poll_until(like, |answer| answer.as_ref().is_ok_and(|answer| answer.status == 200)).await;
        assert_eq!(liked.expect("an answer").expect(200)["likes"], 7);
    }
    for server in [&one, &other] {
        assert_eq!(server.request(&path).send().await.expect(200)["likes"], 7);
        let overlay = server.overlay(&reader(3), &[id(&comment)]).await;
        assert_eq!(overlay["data"][id(&comment)]["reaction"], "like");
    }
    let removed = other.set_flag(&reader(3), "DELETE", id(&comment), "like").await.expect(200);
    assert_eq!((&removed["likes"], &removed["reaction"]), (&json!(6), &json!(null)));
    bed.wait_until_persisted().await;
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn like_that_is_a_row_before_its_comment_is_counted_once() {
    if !available() {
        return;
    }
    let origin = TestOrigin::start_on(shared(), |config| {
        let cluster = config.cluster.as_mut().expect("a cluster");
        (cluster.tuning.comments_ms, cluster.tuning.reactions_ms) = (LATE_COMMENTS_MS, 5);
    })
    .await;
    let name = origin.app.config.cluster.as_ref().expect("a cluster").tuning.name.clone();
    let count_rows = |table: &str| -> u64 {
        let query = |n| format!("SELECT COUNT(*) FROM {name}.{table}_{n};");
        let result = [0, 1].map(|database| shared().sql(database, &[0, 1].map(query).concat()));
        result.concat().lines().map(|line| line.parse::<u64>().expect("a number")).sum()
    };
    for is_redis_lost in [false, true] {
        let subject = format!("article/early-{is_redis_lost}");
        let before = (count_rows("reaction"), count_rows("comment"));
        let comment = origin.post(&reader(0), &subject, "liked before it is a row").await;
        for n in 0..5 {
            assert_eq!(origin.like(&reader(n), &comment).await["likes"], n + 1);
        }
        let disliked = origin.set_flag(&reader(5), "PUT", id(&comment), "dislike").await.expect(200);
        assert_eq!((&disliked["likes"], &disliked["dislikes"]), (&json!(5), &json!(1)));
        origin.set_flag(&reader(4), "DELETE", id(&comment), "like").await.expect(200);
        let rows = poll_until(|| async { count_rows("reaction") }, |rows| *rows == before.0 + 5).await;
        assert_eq!(rows, before.0 + 5);
        assert_eq!(count_rows("comment"), before.1, "the comment is a row already: this proves nothing");
        if is_redis_lost {
            delete_redis_keys(shared(), &name).await;
            let like = || origin.request(&format!("PUT /v1/comments/{}/like", id(&comment))).by(&reader(6)).try_send();
            let liked = poll_until(like, |answer| answer.as_ref().is_ok_and(|answer| answer.status != 503)).await;
            let liked = liked.expect("an answer");
            assert_eq!(liked.expect(200)["likes"], 5);
        } else {
            assert_eq!(origin.like(&reader(6), &comment).await["likes"], 5);
        }
        origin.wait_until_persisted().await;
        let is_correct = |c: &Value| c["floor"] == 1 && c["likes"] == 5 && c["dislikes"] == 1;
        origin.poll_comment(&comment, is_correct).await;
        let listed =
            &origin.current_page(&subject, &format!("/v1/subjects/{subject}/comments?sort=hot")).await["data"][0];
        assert!(is_correct(listed), "{listed}");
        assert_eq!(origin.like(&reader(7), &comment).await["likes"], 6);
        origin.wait_until_persisted().await;
        let key = SubjectKey::new("article", &format!("early-{is_redis_lost}")).expect("a subject");
        let differences = origin.app.tables.reconcile_counters(&key, false).await.expect("a reconciliation");
        assert_eq!(differences, [], "the row counts its reactions");
    }
}

/// The reaction of a member after a request.
fn reaction_after(before: Option<&'static str>, method: &str, what: &'static str) -> Option<&'static str> {
    if method == "PUT" { Some(what) } else { before.filter(|before| *before != what) }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_one_member_from_two_origins_count_in_their_order() {
    if !available() {
        return;
    }
    let one = TestOrigin::start_on(shared(), |config| {
        config.cluster.as_mut().expect("a cluster").tuning.reactions_ms = LONG_BATCH_MS
    })
    .await;
    let other = one.start_second().await;
    let comment = one.post(&reader(0), "article/order", "ordered").await;
    // The first like opens the counters, which waits for the slow batches of this test.
    let other_comment = one.post(&reader(0), "article/order", "other").await;
    let line = format!("PUT /v1/comments/{}/like", id(&other_comment));
    let opened = poll_until(|| one.request(&line).by(&reader(0)).send(), |answer| answer.status == 200).await;
    opened.expect(200);
    one.wait_until_persisted().await;
    let comment = id(&comment);
    let work = (0..24).map(|n| {
        let (one, other) = (&one, &other);
        async move {
            let (me, mut rng, mut reaction) = (reader(n), StdRng::seed_from_u64(n), None);
            let sequence: Vec<_> = match n {
                // The last operation alone would leave no reaction.
                0 => vec![("PUT", "dislike"), ("DELETE", "like")],
                1 => vec![("PUT", "like"), ("PUT", "dislike"), ("DELETE", "like"), ("PUT", "like"), ("DELETE", "like")],
                _ => (0..rng.random_range(1..8))
                    .map(|_| {
                        let method = ["PUT", "DELETE"][rng.random_range(0..2)];
                        (method, ["like", "dislike"][rng.random_range(0..2)])
                    })
                    .collect(),
            };
            for (method, what) in sequence {
                let origin = if rng.random_bool(0.5) { one } else { other };
                let answer = origin.set_flag(&me, method, comment, what).await.expect(200);
                reaction = reaction_after(reaction, method, what);
                assert_eq!(answer["reaction"], json!(reaction), "{n}: {method} {what}");
            }
            reaction
        }
    });
    let reactions: Vec<Option<&str>> = join_all(work).await;
    assert_eq!(reactions[..2], [Some("dislike"), None]);
    let counted = |what| json!(reactions.iter().filter(|reaction| **reaction == Some(what)).count());
    let is_correct = |c: &Value| c["likes"] == counted("like") && c["dislikes"] == counted("dislike");
    // First from broker and rows, then, without the keys of Redis, from rows alone.
    for is_persisted in [false, true] {
        if is_persisted {
            one.wait_until_persisted().await;
            let name = &one.app.config.cluster.as_ref().expect("a cluster").tuning.name;
            delete_redis_keys(shared(), name).await;
        }
        for origin in [&one, &other] {
            origin.poll_comment(&json!({"id": comment}), is_correct).await;
            for (n, reaction) in reactions.iter().enumerate() {
                let overlay = origin.without_barrier().overlay(&reader(n as u64), &[comment]).await;
                assert_eq!(overlay["data"][comment]["reaction"], json!(reaction), "{n}");
            }
        }
    }
    let listed = one.page("/v1/subjects/article/order/comments?sort=old").await;
    assert_eq!(ids(comments_on(&listed)), [comment, id(&other_comment)]);
}
