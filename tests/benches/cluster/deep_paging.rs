//! The time of page 5,000 of a subject with a million comments, against page 1.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench_cluster::{BenchCluster, TABLES_PER_DATABASE};
use crate::http_client::HttpConnection;
use crate::redis_peer::RedisTools;
use crate::writes::post;
use crate::{print_figure, quantile};

/// Roots of the subject.
const ROOT_COUNT: u64 = 1_000_000;
/// Rows that one statement inserts.
const ROWS_PER_STATEMENT: u64 = 100_000;
/// The deep page, of 20 comments.
const DEEP_PAGE: usize = 5_000;
const ROUND_COUNT: usize = 11;
/// Longer than a process keeps a page in memory.
const LOCAL_CACHE_EXPIRY: Duration = Duration::from_millis(300);
const LIST_PATH: &str = "/v1/subjects/article/million/comments";

pub(crate) async fn measure(cluster: &BenchCluster) {
    let started = Instant::now();
    let cached = fill(cluster).await;
    // The origin closes a connection that is idle for as long as that takes.
    let mut client = HttpConnection::open(cluster.origin).await;
    println!(
        "{ROOT_COUNT} roots, copied in the tables from one that was posted: {:.0} s",
        started.elapsed().as_secs_f64()
    );
    for sort in ["new", "hot"] {
        let first = format!("{LIST_PATH}?sort={sort}&limit=20");
        let deep = format!("{first}&cursor={}", find_cursor(&mut client, sort).await);
        let mut times = [const { Vec::new() }; 4];
        for round in 0..ROUND_COUNT {
            // The two pages take turns at being first.
            for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                let (page, redis, keys) =
                    ([&first, &deep][which], RedisTools::at(&cluster.servers.redis), cached.clone());
                tokio::task::spawn_blocking(move || redis.delete_keys(&keys)).await.expect("the keys are deleted");
                for offset in [0, 2] {
                    tokio::time::sleep(LOCAL_CACHE_EXPIRY).await;
                    let started = Instant::now();
                    client.get(page).await;
                    times[which + offset].push(started.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        let [cold_first, cold_deep, warm_first, warm_deep] = times.map(|mut times| quantile(&mut times, 0.5));
        for (state, first, deep) in [
            ("without its keys in Redis", cold_first, cold_deep),
            ("read once before, 0.3 s ago", warm_first, warm_deep),
        ] {
            print_figure(
                &format!("page {DEEP_PAGE} of {ROOT_COUNT} by `{sort}`, {state}"),
                json!({
                    "value": deep, "unit": " ms", "peer": "page 1", "peer_value": first, "ratio_at_most": 1.2,
                }),
            );
        }
    }
}

/// Creates the subject; the pattern of its keys in Redis.
async fn fill(cluster: &BenchCluster) -> String {
    let mut client = HttpConnection::open(cluster.origin).await;
    let id = post(&mut client, "million", &cluster.tokens[0]).await;
    cluster.wait_until_persisted().await;
    let (slot, table) = (id.slot().get(), id.slot().get() % TABLES_PER_DATABASE);
    cluster.sql(&copies(id.signed(), table)).await;
    cluster.rank_again().await;
    let redis = RedisTools::at(&cluster.servers.redis);
    let keys = format!("{{gailou:{slot}}}:[sctpl]:*");
    let cached = keys.clone();
    tokio::task::spawn_blocking(move || redis.delete_keys(&keys)).await.expect("the keys are deleted");
    tokio::time::sleep(LOCAL_CACHE_EXPIRY).await;
    cached
}

/// Statements that copy the posted root to older ones with smaller floors, one for each millisecond;
/// every tenth has imported likes.
fn copies(id: i64, table: u16) -> String {
    let (all, likes) = (ROOT_COUNT + 1, "IF(n.seq % 10 = 0, 1 + n.seq DIV 10 % 50, 0)");
    // An id has 22 bits below its milliseconds.
    let own = format!("c.id - ({all} - CAST(n.seq AS SIGNED)) * 4194304");
    let created = format!("c.created_at - ({all} - CAST(n.seq AS SIGNED))");
    let mut script = format!(
        "SET unique_checks = 0; \
         CREATE TEMPORARY TABLE one SELECT * FROM comment_{table} WHERE id = {id}; \
         CREATE TEMPORARY TABLE text SELECT * FROM content_{table} WHERE id = {id}; "
    );
    for first in (1..=ROOT_COUNT).step_by(ROWS_PER_STATEMENT as usize) {
        let numbers = format!("seq_{first}_to_{} n", first + ROWS_PER_STATEMENT - 1);
        script += &format!(
            "INSERT INTO comment_{table} (id, subject, list, root_id, path, depth, floor, listed_floor, state, visibility, \
             author_id, author_name, author_level, likes, base_likes, created_at) \
             SELECT {own}, c.subject, c.list, {own}, UNHEX(LPAD(HEX({own}), 16, '0')), 1, n.seq, n.seq, c.state, \
             c.visibility, c.author_id, c.author_name, c.author_level, {likes}, {likes}, {created} \
             FROM {numbers} STRAIGHT_JOIN one c ORDER BY n.seq; \
             INSERT INTO content_{table} (id, content, html) \
             SELECT {own}, c.content, c.html FROM {numbers} STRAIGHT_JOIN text c ORDER BY n.seq; "
        );
    }
    script
        + &format!(
            "UPDATE subject_{table} SET floors = {all}, roots = {all}, comments = {all}, version = version + 1 \
             WHERE id = (SELECT subject FROM one); \
             UPDATE comment_{table} SET floor = {all}, listed_floor = {all} WHERE id = {id};"
        )
}

/// The cursor of page 5,000, reached by pages of 100 and, at the end, of 20.
async fn find_cursor(client: &mut HttpConnection, sort: &str) -> String {
    let large = (DEEP_PAGE - 1) * 20 / 100;
    let mut next = String::new();
    for step in 0..large + (DEEP_PAGE - 1) % 5 {
        let limit = if step < large { 100 } else { 20 };
        let at = if next.is_empty() { String::new() } else { format!("&cursor={next}") };
        let page: Value =
            serde_json::from_slice(client.get(&format!("{LIST_PATH}?sort={sort}&limit={limit}{at}")).await)
                .expect("a page is JSON");
        next = page["page"]["next"].as_str().expect("the list is longer").to_owned();
    }
    next
}
