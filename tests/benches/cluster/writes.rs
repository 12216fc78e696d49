//! Acknowledged posts and likes, how soon others see them, and what they cost.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gailou::ports::store::ReactionStateReader as _;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;

use crate::http::{Connection, Load, drive, write};
use crate::peer::Redis;
use crate::processes::Spent;
use crate::quantile;
use crate::stand::Stand;

const CONNECTIONS: [usize; 2] = [64, 256];
const SPAN: Duration = Duration::from_secs(4);
/// Subjects that are posted to.
const SUBJECTS: u64 = 1_000;
/// Members, from the last on, whose writes are waited for.
const MARKS: usize = 1_000;
/// By how many members the next run is ahead; no multiple of the number of comments.
const NEXT: usize = 25_000;
/// Between two comments that are liked one after the other, which stand ordered by slot. A prime.
const STRIDE: usize = 7_919;
/// Between two writes that are waited for, and between two looks.
const MARK: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(20);
const LOST: Duration = Duration::from_secs(30);

const TEXT: &str = "{\"content\":\"写得真好, with enough words around it to be like one of those that people write\"}";

pub(crate) async fn posts(stand: &Stand) {
    for (run, connections) in CONNECTIONS.into_iter().enumerate() {
        let tokens = stand.tokens.clone();
        let make = move |n: u64, request: &mut Vec<u8>| {
            let once = format!("content-type: application/json\r\nidempotency-key: {run}-{n}\r\n");
            let line = format!("POST /v1/subjects/article/posts-{}/comments", n % SUBJECTS);
            write(request, &line, &tokens[n as usize % tokens.len()], &once, TEXT);
        };
        let before = Spent::now();
        let list = format!("marks-{run}");
        let (ran, mut delays) = tokio::join!(run_load(stand, connections, make), shown(stand, &list));
        let Ran { load, spent, caught_up } = ran;
        let spent = spent.since(&before, load.done as f64 / 1e3, load.seconds);
        println!("acknowledged posts, {connections} connections: {}", about(&load));
        println!(
            "  in the list of another process after {} (goal 1 s); all stored {caught_up:.2} s after the last",
            delay(&mut delays)
        );
        println!("  processor seconds per 1,000: {spent}");
    }
}

/// What a load came to, what was spent until its end, and how long after it everything was stored.
struct Ran {
    load: Load,
    spent: Spent,
    caught_up: f64,
}

async fn run_load(stand: &Stand, connections: usize, make: impl Fn(u64, &mut Vec<u8>) + Send + Sync + 'static) -> Ran {
    let load = drive(stand.serve, connections, SPAN, make).await;
    Ran { load, spent: Spent::now(), caught_up: stand.caught_up().await }
}

/// Posts one; its id.
pub(crate) async fn post(to: &mut Connection, subject: &str, token: &str) -> CommentId {
    to.request.clear();
    let line = format!("POST /v1/subjects/article/{subject}/comments");
    write(&mut to.request, &line, token, "content-type: application/json\r\n", TEXT);
    let (status, body) = to.exchange().await;
    assert_eq!(status, 201, "{}", String::from_utf8_lossy(body));
    posted_id(body)
}

/// A comment begins with its id.
fn posted_id(body: &[u8]) -> CommentId {
    let text = std::str::from_utf8(body).expect("text");
    let id = text.strip_prefix("{\"id\":\"").and_then(|text| text.split('"').next()).and_then(|id| id.parse().ok());
    id.unwrap_or_else(|| panic!("no comment: {text}"))
}

/// How long posts through one process take until they are in a list of another.
async fn shown(stand: &Stand, subject: &str) -> Vec<f64> {
    let mut writer = Connection::open(stand.serve).await;
    let mut reader = Connection::open(stand.other).await;
    let list = format!("/v1/subjects/article/{subject}/comments?sort=new");
    let mark = async |n: usize| post(&mut writer, subject, &stand.tokens[stand.tokens.len() - 1 - n]).await;
    let there = async |ids: &[CommentId]| {
        let page = String::from_utf8_lossy(reader.get(&list).await).into_owned();
        ids.iter().map(|id| page.contains(&format!("\"id\":\"{id}\""))).collect()
    };
    delays(mark, there).await
}

/// Likes of one comment and over many, each against Redis alone.
pub(crate) async fn likes(stand: &Stand, ids: &[CommentId]) {
    let many = Arc::new(ids.to_vec());
    let runs = [false, true].into_iter().flat_map(|spread| CONNECTIONS.map(|connections| (spread, connections)));
    for (run, (spread, connections)) in runs.enumerate() {
        let comments = if spread { many.clone() } else { Arc::new(vec![ids[run]]) };
        let of = if spread { format!("over {} comments", comments.len()) } else { "of one comment".to_owned() };
        let redis = Redis::at(&stand.servers.redis);
        let peer = tokio::task::spawn_blocking(move || redis.folds(connections, spread)).await.expect("it runs");
        let (tokens, liked) = (stand.tokens.clone(), comments.clone());
        let make = move |n: u64, request: &mut Vec<u8>| {
            let n = n as usize;
            // From slot to slot, and nobody likes a comment in two runs.
            like(request, liked[n * STRIDE % liked.len()], &tokens[(n + run * NEXT) % (tokens.len() - MARKS)]);
        };
        let before = Spent::now();
        let (ran, mut delays) = tokio::join!(run_load(stand, connections, make), stored(stand, &comments, run));
        let Ran { load, spent, caught_up } = ran;
        let spent = spent.since(&before, load.done as f64 / 1e3, load.seconds);
        println!(
            "acknowledged likes {of}, {connections} connections: {}, {:.2} of the goal of 10,000/s, \
             ratio {:.2} to redis-benchmark with the same script ({peer:.0}/s, goal 0.5)",
            about(&load),
            load.rate() / 1e4,
            load.rate() / peer
        );
        println!("  in the tables after {}; all {caught_up:.2} s after the last (goal 2 s)", delay(&mut delays));
        println!("  processor seconds per 1,000: {spent}");
    }
}

fn like(request: &mut Vec<u8>, id: CommentId, token: &str) {
    write(request, &format!("PUT /v1/comments/{id}/like"), token, "", "");
}

/// How long likes take until they are in the tables.
async fn stored(stand: &Stand, comments: &[CommentId], run: usize) -> Vec<f64> {
    let mut writer = Connection::open(stand.serve).await;
    let mark = async |n: usize| {
        let member = stand.tokens.len() - 1 - run * (MARKS / 4) - n;
        let id = comments[n * STRIDE % comments.len()];
        writer.request.clear();
        like(&mut writer.request, id, &stand.tokens[member]);
        let (status, body) = writer.exchange().await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(body));
        // Tokens are those of members 1 and on.
        (id, MemberId::new(member as u64 + 1).expect("a member"))
    };
    let there = async |pairs: &[(CommentId, MemberId)]| {
        let standing = stand.tables.read_reaction_states(pairs).await.expect("the tables answer");
        standing.iter().map(|standing| standing.reaction == Some(Reaction::Like)).collect()
    };
    delays(mark, there).await
}

/// Makes a mark from time to time while there is load; milliseconds from each until it is there.
async fn delays<T: Copy>(
    mut mark: impl AsyncFnMut(usize) -> T,
    mut there: impl AsyncFnMut(&[T]) -> Vec<bool>,
) -> Vec<f64> {
    let (waiting, all_made) = (RefCell::new(Vec::new()), Cell::new(false));
    let making = async {
        let (begun, mut tick) = (Instant::now(), tokio::time::interval(MARK));
        for n in 0.. {
            tick.tick().await;
            if begun.elapsed() >= SPAN {
                break;
            }
            let made = mark(n).await;
            waiting.borrow_mut().push((made, Instant::now()));
        }
        all_made.set(true);
    };
    let looking = async {
        let mut delays = Vec::new();
        loop {
            let asked: Vec<T> = waiting.borrow().iter().map(|(made, _)| *made).collect();
            if asked.is_empty() && all_made.get() {
                return delays;
            }
            // Those made since then come after those asked for.
            let mut found = if asked.is_empty() { vec![] } else { there(&asked).await }.into_iter();
            waiting.borrow_mut().retain(|(_, since)| {
                let is_there = found.next().unwrap_or(false);
                assert!(is_there || since.elapsed() < LOST, "an acknowledged write is nowhere after {LOST:?}");
                if is_there {
                    delays.push(since.elapsed().as_secs_f64() * 1e3);
                }
                !is_there
            });
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::join!(making, looking).1
}

fn about(load: &Load) -> String {
    let refused = if load.refused > 0 { format!(", {} REFUSED", load.refused) } else { String::new() };
    format!("{:.0}/s (median {:.1} ms, p99 {:.1} ms{refused})", load.rate(), load.median, load.p99)
}

fn delay(delays: &mut [f64]) -> String {
    format!("p50 {:.0} ms, p99 {:.0} ms ({} looked for)", quantile(delays, 0.5), quantile(delays, 0.99), delays.len())
}
