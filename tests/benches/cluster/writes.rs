//! Acknowledged posts and likes: their rate, the time until others see them, and their processor time.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gailou::ports::store::ReactionStateReader as _;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;
use serde_json::json;

use crate::bench_cluster::BenchCluster;
use crate::cpu_time::CpuTime;
use crate::http_client::{HttpConnection, LoadResult, run_load, write_request};
use crate::redis_peer::RedisTools;
use crate::{print_cpu, print_figure, quantile};

const CONNECTION_COUNT: [usize; 2] = [64, 256];
/// The length of each load.
const LOAD_DURATION: Duration = Duration::from_secs(4);
/// Subjects that get posts.
const SUBJECT_COUNT: u64 = 1_000;
/// The last members: their writes are probes that are waited for.
const PROBE_MEMBERS: usize = 1_000;
/// The offset of the members of the next run; no multiple of the number of comments.
const MEMBERS_PER_RUN: usize = 25_000;
/// The distance of two comments that are liked in succession: they are ordered by slot. A prime.
const STRIDE_OF_LIKES: usize = 7_919;
/// The pause between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);
/// The pause between two polls for open probes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The time after which an acknowledged write counts as lost.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of each post.
const POST_BODY: &str =
    "{\"content\":\"写得真好, with enough words around it to be like one of those that people write\"}";

pub(crate) async fn measure_posts(cluster: &BenchCluster) {
    for (run, connections) in CONNECTION_COUNT.into_iter().enumerate() {
        let tokens = cluster.tokens.clone();
        let make = move |n: u64, request: &mut Vec<u8>| {
            let headers = format!("content-type: application/json\r\nidempotency-key: {run}-{n}\r\n");
            let line = format!("POST /v1/subjects/article/posts-{}/comments", n % SUBJECT_COUNT);
            write_request(request, &line, &tokens[n as usize % tokens.len()], &headers, POST_BODY);
        };
        let before = CpuTime::now();
        let list = format!("probes-{run}");
        let (run, mut delays) = tokio::join!(run_writes(cluster, connections, make), measure_listing(cluster, &list));
        let WriteRun { load, cpu, catch_up_seconds } = run;
        let of = format!("acknowledged posts, {connections} connections");
        println!(
            "{of}: {}, in the list of another process after {}",
            describe_load(&load),
            describe_delays(&mut delays)
        );
        print_figure(&of, json!({ "value": load.rate(), "unit": "/s" }));
        let p99_ms = quantile(&mut delays, 0.99);
        print_figure(
            &format!("{of}, until another process lists one (p99)"),
            json!({ "value": p99_ms, "unit": " ms", "at_most": 1_000 }),
        );
        print_figure(&format!("{of}, until all are in the tables"), json!({ "value": catch_up_seconds, "unit": " s" }));
        print_cpu(&of, &cpu.since(&before, load.succeeded));
    }
}

/// The result of a load of writes.
struct WriteRun {
    load: LoadResult,
    /// The CPU time at the end of the load.
    cpu: CpuTime,
    /// How long after the load everything was persisted.
    catch_up_seconds: f64,
}

async fn run_writes(
    cluster: &BenchCluster,
    connections: usize,
    make: impl Fn(u64, &mut Vec<u8>) + Send + Sync + 'static,
) -> WriteRun {
    let load = run_load(cluster.origin, connections, LOAD_DURATION, make).await;
    WriteRun { load, cpu: CpuTime::now(), catch_up_seconds: cluster.wait_until_persisted().await }
}

/// Posts a comment; its id.
pub(crate) async fn post(to: &mut HttpConnection, subject: &str, token: &str) -> CommentId {
    to.request.clear();
    let line = format!("POST /v1/subjects/article/{subject}/comments");
    write_request(&mut to.request, &line, token, "content-type: application/json\r\n", POST_BODY);
    let (status, body) = to.exchange().await;
    assert_eq!(status, 201, "{}", String::from_utf8_lossy(body));
    posted_id(body)
}

/// The id at the beginning of a comment in JSON.
fn posted_id(body: &[u8]) -> CommentId {
    let text = std::str::from_utf8(body).expect("text");
    let id = text.strip_prefix("{\"id\":\"").and_then(|text| text.split('"').next()).and_then(|id| id.parse().ok());
    id.unwrap_or_else(|| panic!("not a comment: {text}"))
}

/// The milliseconds until posts on one origin are in a list of the other.
async fn measure_listing(cluster: &BenchCluster, subject: &str) -> Vec<f64> {
    let mut writer = HttpConnection::open(cluster.origin).await;
    let mut reader = HttpConnection::open(cluster.second_origin).await;
    let list = format!("/v1/subjects/article/{subject}/comments?sort=new");
    let write_probe = async |n: usize| post(&mut writer, subject, &cluster.tokens[cluster.tokens.len() - 1 - n]).await;
    let are_visible = async |ids: &[CommentId]| {
        let page = String::from_utf8_lossy(reader.get(&list).await).into_owned();
        ids.iter().map(|id| page.contains(&format!("\"id\":\"{id}\""))).collect()
    };
    measure_delays(write_probe, are_visible).await
}

/// Likes of one comment and of many, each against Redis alone.
pub(crate) async fn measure_likes(cluster: &BenchCluster, ids: &[CommentId]) {
    let many = Arc::new(ids.to_vec());
    let runs =
        [false, true].into_iter().flat_map(|is_spread| CONNECTION_COUNT.map(|connections| (is_spread, connections)));
    for (run, (is_spread, connections)) in runs.enumerate() {
        let comments = if is_spread { many.clone() } else { Arc::new(vec![ids[run]]) };
        let of = if is_spread { format!("over {} comments", comments.len()) } else { "of one comment".to_owned() };
        let redis = RedisTools::at(&cluster.servers.redis);
        let peer = tokio::task::spawn_blocking(move || redis.measure_folds(connections, is_spread))
            .await
            .expect("the peer runs");
        let (tokens, liked) = (cluster.tokens.clone(), comments.clone());
        let make = move |n: u64, request: &mut Vec<u8>| {
            let n = n as usize;
            // From slot to slot, and each member likes a comment in one run only.
            write_like(
                request,
                liked[n * STRIDE_OF_LIKES % liked.len()],
                &tokens[(n + run * MEMBERS_PER_RUN) % (tokens.len() - PROBE_MEMBERS)],
            );
        };
        let before = CpuTime::now();
        let probes = measure_persistence(cluster, &comments, run);
        let (run, mut delays) = tokio::join!(run_writes(cluster, connections, make), probes);
        let WriteRun { load, cpu, catch_up_seconds } = run;
        let of = format!("acknowledged likes {of}, {connections} connections");
        println!("{of}: {}, in the tables after {}", describe_load(&load), describe_delays(&mut delays));
        print_figure(
            &of,
            json!({
                "value": load.rate(), "unit": "/s", "at_least": 10_000,
                "peer": "redis-benchmark with the same script", "peer_value": peer, "ratio_at_least": 0.5,
            }),
        );
        print_figure(
            &format!("{of}, until all are in the tables"),
            json!({ "value": catch_up_seconds, "unit": " s", "at_most": 2 }),
        );
        print_cpu(&of, &cpu.since(&before, load.succeeded));
    }
}

fn write_like(request: &mut Vec<u8>, id: CommentId, token: &str) {
    write_request(request, &format!("PUT /v1/comments/{id}/like"), token, "", "");
}

/// The milliseconds until likes are in the tables.
async fn measure_persistence(cluster: &BenchCluster, comments: &[CommentId], run: usize) -> Vec<f64> {
    let mut writer = HttpConnection::open(cluster.origin).await;
    let write_probe = async |n: usize| {
        let member = cluster.tokens.len() - 1 - run * (PROBE_MEMBERS / 4) - n;
        let id = comments[n * STRIDE_OF_LIKES % comments.len()];
        writer.request.clear();
        write_like(&mut writer.request, id, &cluster.tokens[member]);
        let (status, body) = writer.exchange().await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(body));
        // The first token is that of member 1.
        (id, MemberId::new(member as u64 + 1).expect("a member"))
    };
    let are_visible = async |pairs: &[(CommentId, MemberId)]| {
        let states = cluster.tables.read_reaction_states(pairs).await.expect("the tables answer");
        states.iter().map(|state| state.reaction == Some(Reaction::Like)).collect()
    };
    measure_delays(write_probe, are_visible).await
}

/// Writes probes during the load; the milliseconds until each of them is visible.
async fn measure_delays<T: Copy>(
    mut write_probe: impl AsyncFnMut(usize) -> T,
    mut are_visible: impl AsyncFnMut(&[T]) -> Vec<bool>,
) -> Vec<f64> {
    let (open, all_written) = (RefCell::new(Vec::new()), Cell::new(false));
    let writing = async {
        let (started, mut tick) = (Instant::now(), tokio::time::interval(PROBE_INTERVAL));
        for n in 0.. {
            tick.tick().await;
            if started.elapsed() >= LOAD_DURATION {
                break;
            }
            let probe = write_probe(n).await;
            open.borrow_mut().push((probe, Instant::now()));
        }
        all_written.set(true);
    };
    let polling = async {
        let mut delays = Vec::new();
        loop {
            let polled: Vec<T> = open.borrow().iter().map(|(probe, _)| *probe).collect();
            if polled.is_empty() && all_written.get() {
                return delays;
            }
            // Probes that are written during the query come after the polled ones.
            let mut found = if polled.is_empty() { vec![] } else { are_visible(&polled).await }.into_iter();
            open.borrow_mut().retain(|(_, since)| {
                let is_visible = found.next().unwrap_or(false);
                assert!(
                    is_visible || since.elapsed() < VISIBILITY_TIMEOUT,
                    "an acknowledged write is not visible after {VISIBILITY_TIMEOUT:?}"
                );
                if is_visible {
                    delays.push(since.elapsed().as_secs_f64() * 1e3);
                }
                !is_visible
            });
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::join!(writing, polling).1
}

fn describe_load(load: &LoadResult) -> String {
    let refused = if load.refused > 0 { format!(", {} REFUSED", load.refused) } else { String::new() };
    format!("{:.0}/s (median {:.1} ms, p99 {:.1} ms{refused})", load.rate(), load.median_ms, load.p99_ms)
}

fn describe_delays(delays: &mut [f64]) -> String {
    format!("p50 {:.0} ms, p99 {:.0} ms ({} probes)", quantile(delays, 0.5), quantile(delays, 0.99), delays.len())
}
