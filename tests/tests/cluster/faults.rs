//! One server after the other fails: what is acknowledged stays, what cannot be promised is refused.

use std::time::{Duration, Instant};

use gailou_tests::services::{Addresses, Kind, Services, available, free_port};
use gailou_tests::{Answer, Call, Proxy, Site, Who, id, until, who};
use serde_json::{Value, json};

const SUBJECT: &str = "article/faults";
const LIST: &str = "/v1/subjects/article/faults/comments?sort=old";
/// No answer takes longer, whatever is broken.
const ANSWERED: Duration = Duration::from_secs(6);

/// Servers behind proxies, and an origin that knows the proxies alone.
struct World {
    services: Services,
    mariadb: Proxy,
    redis: Proxy,
    kafka: Proxy,
    site: Site,
    comment: Value,
}

fn member(n: u64) -> Who {
    who(100 + n, "M", "member")
}

impl World {
    async fn start() -> Self {
        let advertised = free_port();
        let start = move || Services::start_advertising(Some(advertised));
        let services = tokio::task::spawn_blocking(start).await.expect("they start");
        let mariadb = Proxy::start(services.mariadb.port()).await;
        let redis = Proxy::start(services.redis.port()).await;
        let kafka = Proxy::at(advertised, services.kafka.port()).await;
        let site = Site::on(&Addresses::local(mariadb.port(), redis.port(), kafka.port()), |_| {}).await;
        let comment = site.post(&member(0), SUBJECT, "first").await;
        for n in 0..5 {
            site.like(&member(n), &comment).await;
        }
        site.settle().await;
        Self { services, mariadb, redis, kafka, site, comment }
    }

    fn like(&self, n: u64) -> Call {
        self.site.call(&format!("PUT /v1/comments/{}/like", id(&self.comment))).by(&member(n))
    }

    fn post(&self, key: &str) -> Call {
        let line = format!("POST /v1/subjects/{SUBJECT}/comments");
        self.site.call(&line).by(&member(0)).key(key).json(&json!({"content": key}))
    }

    /// How often this text is in the list, once it is there.
    async fn listed(&self, text: &str) -> usize {
        let count = |page: &Value| {
            page["data"].as_array().map_or(0, |data| data.iter().filter(|c| c["content"] == text).count())
        };
        count(&until(|| self.site.page(LIST), |page| count(page) > 0).await)
    }
}

/// The answer, which must not be long in coming.
async fn answer(call: Call) -> Answer {
    let begun = Instant::now();
    let answer = call.attempt().await.expect("an answer");
    assert!(begun.elapsed() < ANSWERED, "{} took {:?}", answer.text, begun.elapsed());
    answer
}

/// Sends again until it is taken: what failed may be noticed as healed a little later.
async fn taken(call: impl Fn() -> Call) -> Answer {
    until(|| answer(call()), |answer| answer.status < 300).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_rows_answer() {
    if !available() {
        return;
    }
    let mut world = World::start().await;
    world.services.of(Kind::Redis).kill();
    let liked = taken(|| world.like(5)).await.expect(200);
    assert_eq!((&liked["likes"], &liked["reaction"]), (&json!(6), &json!("like")));
    taken(|| world.post("without")).await.expect(201);
    assert_eq!(world.listed("without").await, 1);
    assert_eq!(world.site.seen(&world.comment, |c| c["likes"] == 6).await["likes"], 6);
    // It comes back empty: nothing goes back, and un-like works.
    world.services.of(Kind::Redis).run();
    assert_eq!(taken(|| world.like(6)).await.expect(200)["likes"], 7);
    assert_eq!(taken(|| world.like(0)).await.expect(200)["likes"], 7, "it was liked before");
    let taken_back = world.site.mark(&member(0), "DELETE", id(&world.comment), "like").await.expect(200);
    assert_eq!((&taken_back["likes"], &taken_back["reaction"]), (&json!(6), &json!(null)));
    // One that hangs is noticed as well.
    world.redis.hang();
    assert_eq!(taken(|| world.like(7)).await.expect(200)["likes"], 7);
    assert_eq!(world.site.hasty().page(LIST).await["data"][0]["id"], world.comment["id"]);
    world.redis.heal();
    assert_eq!(taken(|| world.like(8)).await.expect(200)["likes"], 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_kafka_nothing_is_promised() {
    if !available() {
        return;
    }
    let world = World::start().await;
    for hang in [false, true] {
        let key = format!("hang-{hang}");
        if hang {
            world.kafka.hang();
        } else {
            world.kafka.cut();
        }
        for call in [world.post(&key), world.like(5)] {
            let refused = answer(call).await;
            assert_eq!((refused.status, &refused.json["code"]), (503, &json!("unavailable")), "{}", refused.text);
            assert!(!refused.header("retry-after").is_empty());
        }
        let read = answer(world.site.hasty().call(&format!("GET {LIST}"))).await;
        assert_eq!(read.status, 200, "{}", read.text);
        world.kafka.heal();
        taken(|| world.post(&key)).await.expect(201);
        assert_eq!(world.listed(&key).await, 1, "sent twice with the same key");
    }
    assert_eq!(taken(|| world.like(5)).await.expect(200)["likes"], 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_mariadb_caches_answer() {
    if !available() {
        return;
    }
    let world = World::start().await;
    let path = format!("GET /v1/comments/{}", id(&world.comment));
    answer(world.site.call(&path)).await.expect(200);
    let mut sent = Vec::new();
    for (n, hang) in [false, true].into_iter().enumerate() {
        if hang {
            world.mariadb.hang();
        } else {
            world.mariadb.cut();
        }
        answer(world.site.hasty().call(&path)).await.expect(200);
        let key = format!("down-{n}");
        let answer = answer(world.post(&key)).await;
        assert!(matches!(answer.status, 201 | 503), "{}", answer.text);
        sent.push(key);
        world.mariadb.heal();
    }
    // What was acknowledged becomes rows, what was not can be sent again; no dead letters come of it.
    for key in &sent {
        taken(|| world.post(key)).await.expect(201);
        assert_eq!(world.listed(key).await, 1);
    }
    let log = world.site.app.broker().expect("a log");
    for topic in gailou::ports::broker::Topic::ALL {
        assert!(log.dead_letters(topic).await.expect("letters").is_empty(), "{topic:?}");
    }
}
