//! Reactions: whatever Redis loses nothing goes back, and a pair's operations count in their order.

use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::SubjectKey;
use gailou_tests::services::{Kind, Services, available, shared};
use gailou_tests::{Site, Who, id, ids, until, who};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::load::Load;
use crate::world::{World, clients, evict, forget, redis};

fn member(n: u64) -> Who {
    who(100 + n, "M", "member")
}

async fn moment(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_goes_back_when_redis_forgets_or_evicts_under_load() {
    if !available() {
        return;
    }
    let services = tokio::task::spawn_blocking(Services::start).await.expect("they start");
    let world = World::on(&services.addresses(), &[("REACTIONS_MS", 1_000)]).await;
    let (one, other, _job) = tokio::join!(world.serve(), world.serve(), world.job());
    let load = Load::new(vec!["article/a".into(), "topic/b".into()]).reading();
    let clients = clients(&[&one, &other]);
    // From now on the job reads.
    one.post(&member(0), "post/first", "first").await;
    world.settle().await;
    let faults = async {
        moment(500).await;
        for _ in 0..3 {
            redis(&world.servers, &["FLUSHALL"]).await;
            moment(1_200).await;
            for _ in 0..10 {
                evict(&world.servers).await;
                moment(50).await;
            }
        }
    };
    load.beside(&clients, 8, faults).await;
    world.settle().await;
    load.holds(&clients[1]).await;
    world.agrees().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_likes_outlive_a_redis_that_is_killed_while_the_job_stands_still() {
    if !available() {
        return;
    }
    let mut services = tokio::task::spawn_blocking(Services::start).await.expect("they start");
    let world = World::on(&services.addresses(), &[]).await;
    let (one, other, mut job) = tokio::join!(world.serve(), world.serve(), world.job());
    let comment = one.post(&member(0), "article/a", "liked").await;
    world.settle().await;
    let path = format!("GET /v1/comments/{}", id(&comment));
    job.process().freeze();
    for n in 0..5 {
        assert_eq!(one.like(&member(n), &comment).await["likes"], n + 1);
    }
    services.of(Kind::Redis).kill();
    tokio::task::block_in_place(|| services.of(Kind::Redis).run());
    assert_eq!(world.count("FROM reaction_{n}"), 0, "the likes are in the log alone");
    // Nobody can know now how many they are, and nobody says a wrong number.
    for (n, server) in [(5, &one), (6, &other)] {
        let like = server.call(&format!("PUT /v1/comments/{}/like", id(&comment))).by(&member(n));
        let refused = like.attempt().await.expect("an answer");
        assert_eq!(refused.status, 503, "{}", refused.text);
    }
    job.process().wake();
    // Both were appended, and their senders send them again.
    for (n, server) in [(5, &one), (6, &other), (0, &other)] {
        let like = || server.call(&format!("PUT /v1/comments/{}/like", id(&comment))).by(&member(n)).attempt();
        let liked = until(like, |answer| answer.as_ref().is_ok_and(|answer| answer.status == 200)).await;
        assert_eq!(liked.expect("an answer").expect(200)["likes"], 7);
    }
    for server in [&one, &other] {
        assert_eq!(server.call(&path).send().await.expect(200)["likes"], 7);
        let overlay = server.call(&format!("GET /v1/me/overlay?ids={}", id(&comment))).by(&member(3));
        assert_eq!(overlay.send().await.expect(200)["data"][id(&comment)]["reaction"], "like");
    }
    let taken = other.mark(&member(3), "DELETE", id(&comment), "like").await.expect(200);
    assert_eq!((&taken["likes"], &taken["reaction"]), (&json!(6), &json!(null)));
    world.settle().await;
    world.agrees().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_like_may_be_a_row_before_its_comment() {
    if !available() {
        return;
    }
    let site = Site::on(shared(), |config| {
        let cluster = config.cluster.as_mut().expect("a cluster");
        (cluster.comments_ms, cluster.reactions_ms) = (3_000, 5);
    })
    .await;
    let name = site.app.config.cluster.as_ref().expect("a cluster").name.clone();
    let count = |table: &str| -> u64 {
        let all = ["a_0", "a_1", "b_0", "b_1"].map(|at| at.split_once('_').expect("two"));
        let one = |(database, n)| format!("SELECT COUNT(*) FROM {name}_{database}.{table}_{n};");
        let answer = shared().sql(&all.map(one).concat());
        answer.lines().map(|line| line.parse::<u64>().expect("a number")).sum()
    };
    for lost in [false, true] {
        let subject = format!("article/early-{lost}");
        let before = (count("reaction"), count("comment"));
        let comment = site.post(&member(0), &subject, "liked before it is a row").await;
        for n in 0..5 {
            assert_eq!(site.like(&member(n), &comment).await["likes"], n + 1);
        }
        let disliked = site.mark(&member(5), "PUT", id(&comment), "dislike").await.expect(200);
        assert_eq!((&disliked["likes"], &disliked["dislikes"]), (&json!(5), &json!(1)));
        site.mark(&member(4), "DELETE", id(&comment), "like").await.expect(200);
        let rows = until(|| async { count("reaction") }, |rows| *rows == before.0 + 5).await;
        assert_eq!(rows, before.0 + 5);
        assert_eq!(count("comment"), before.1, "it is a row already, and this proves nothing");
        if lost {
            forget(shared(), &name).await;
            let like = || site.call(&format!("PUT /v1/comments/{}/like", id(&comment))).by(&member(6)).attempt();
            let liked = until(like, |answer| answer.as_ref().is_ok_and(|answer| answer.status != 503)).await;
            let liked = liked.expect("an answer");
            assert_eq!(liked.expect(200)["likes"], 5);
        } else {
            assert_eq!(site.like(&member(6), &comment).await["likes"], 5);
        }
        site.settle().await;
        let right = |c: &Value| c["floor"] == 1 && c["likes"] == 5 && c["dislikes"] == 1;
        site.seen(&comment, right).await;
        let listed = &site.fresh(&subject, &format!("/v1/subjects/{subject}/comments?sort=hot")).await["data"][0];
        assert!(right(listed), "{listed}");
        assert_eq!(site.like(&member(7), &comment).await["likes"], 6);
        site.settle().await;
        let key = SubjectKey::new("article", &format!("early-{lost}")).expect("a subject");
        let differs = site.app.tables.reconcile(&key, false).await.expect("an answer");
        assert_eq!(differs, [], "the row counts what it must");
    }
}

/// What a member thinks after a call.
fn after(before: Option<&'static str>, method: &str, what: &'static str) -> Option<&'static str> {
    if method == "PUT" { Some(what) } else { before.filter(|before| *before != what) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pairs_operations_in_one_batch_count_in_their_order_from_two_origins() {
    if !available() {
        return;
    }
    let one = Site::on(shared(), |config| config.cluster.as_mut().expect("a cluster").reactions_ms = 2_000).await;
    let other = one.beside().await;
    let comment = one.post(&member(0), "article/order", "ordered").await;
    // Counters that are not open yet wait for the tables, which take their time here.
    let other_comment = one.post(&member(0), "article/order", "other").await;
    let line = format!("PUT /v1/comments/{}/like", id(&other_comment));
    let opened = until(|| one.call(&line).by(&member(0)).send(), |answer| answer.status == 200).await;
    opened.expect(200);
    one.settle().await;
    let comment = id(&comment);
    let work = (0..24).map(|n| {
        let (one, other) = (&one, &other);
        async move {
            let (me, mut rng, mut thinks) = (member(n), StdRng::seed_from_u64(n), None);
            let sequence: Vec<_> = match n {
                // Who looks at the last operation alone takes this for nothing.
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
                let site = if rng.random_bool(0.5) { one } else { other };
                let answer = site.mark(&me, method, comment, what).await.expect(200);
                thinks = after(thinks, method, what);
                assert_eq!(answer["reaction"], json!(thinks), "{n}: {method} {what}");
            }
            thinks
        }
    });
    let think: Vec<Option<&str>> = join_all(work).await;
    assert_eq!(think[..2], [Some("dislike"), None]);
    let counted = |what| json!(think.iter().filter(|thinks| **thinks == Some(what)).count());
    let right = |c: &Value| c["likes"] == counted("like") && c["dislikes"] == counted("dislike");
    // As it is told from log and rows, and then from the rows alone.
    for persisted in [false, true] {
        if persisted {
            one.settle().await;
            let name = &one.app.config.cluster.as_ref().expect("a cluster").name;
            forget(shared(), name).await;
        }
        for site in [&one, &other] {
            site.seen(&json!({"id": comment}), right).await;
            for (n, thinks) in think.iter().enumerate() {
                let overlay = site.hasty().call(&format!("GET /v1/me/overlay?ids={comment}")).by(&member(n as u64));
                assert_eq!(overlay.send().await.expect(200)["data"][comment]["reaction"], json!(thinks), "{n}");
            }
        }
    }
    let listed = one.page("/v1/subjects/article/order/comments?sort=old").await;
    assert_eq!(ids(listed["data"].as_array().expect("data")), [comment, id(&other_comment)]);
}
