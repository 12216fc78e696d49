//! The figures of an embedded origin, as ratios against a peer or a goal in the same run.
//!
//! Client and server share the cores of the machine, as do the peer and its client: the ratio counts,
//! not the rate. Every write is acknowledged after it is on disk.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::header;
use axum::routing::get;
use gailou::bootstrap;
use gailou::config::Config;
use gailou::domain::operation::{Operation, ReactionChange};
use gailou::domain::row::NewCommentRow;
use gailou::service::page;
use gailou::service::page::PageQuery;
use gailou::service::subject::SubjectAudience;
use gailou::state::AppState;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Author, CommentState, Reaction, Visibility};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Connections of a load, each with one open request.
const CONNECTION_COUNT: usize = 64;
/// The length of a load that is measured by itself.
const LOAD_DURATION: Duration = Duration::from_secs(2);
/// Writes of one such load, of which a fast machine does not send all.
const MAX_WRITES: u64 = 120_000;
/// How often writes are measured, each time with other ones.
const WRITES_ROUNDS: u64 = 3;
/// The length of a load of reads that takes turns with that of a peer, and how many they are: what a host gives to the
/// cores of a machine changes within seconds.
const TURNS: (Duration, u64) = (Duration::from_millis(500), 13);
/// The same while posts arrive: longer, so that what the search index makes of them falls into these turns.
const TURNS_BESIDE_POSTS: (Duration, u64) = (Duration::from_secs(2), 5);
/// Acknowledged likes in a second.
const LIKES_GOAL: u32 = 40_000;
/// The pause between two posts on the subject of a page that is read at the same time.
const POST_INTERVAL: Duration = Duration::from_millis(10);
/// Roots of the subject whose pages are read as no reader has yet.
const BUSY_THREAD_ROOTS: u64 = 20_000;
/// Readers, each of whom comes right after a post.
const READERS_AFTER_POSTS: usize = 300;
/// Reads of a page that is compared with a deep one.
const DEPTH_READS: usize = 101;
/// How long the search index may take for what a load has written.
const INDEX_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the data may be written to after the end.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let data = std::env::temp_dir().join(format!("gailou-bench-{}", std::process::id()));
    let mut config = Config { data: data.clone(), ..Config::default() };
    config.adjustable.limits.enabled = false;
    let app = bootstrap::open(config).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let origin = listener.local_addr()?;
    tokio::spawn(gailou::http::serve(app.state.clone(), listener, std::future::pending()));

    let hot = SubjectKey::new("article", "hot")?;
    write_roots(&app, &hot, 200, 40).await?;
    let path = "/v1/subjects/article/hot/comments";
    let body = request(origin, &get_request(path)).await?;
    let body_bytes = body.len();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let peer = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, peer_router(body)).await });
    let ids = read_ids(&app, &hot).await?;
    for (beside, posts) in [("", None), (", while 100 posts a second arrive on its subject", Some::<&AppState>(&app))] {
        let (ours, bare) = measure_alternately(origin, peer, path, posts).await?;
        print_figure(&json!({
            "what": format!("hot page of {:.1} kB, 64 connections{beside}", body_bytes as f64 / 1e3), "value": ours,
            "unit": "/s", "peer": "bare axum with the same bytes", "peer_value": bare, "ratio_at_least": 0.95,
        }));
    }

    let posts = measure_writes(&app, origin, |n| post_request(&app, &format!("posts-{}", n % 8), n)).await?;
    print_rate("acknowledged posts, on disk, 64 connections", posts, 20_000);
    let one = measure_writes(&app, origin, |n| like_request(&app, ids[0], n)).await?;
    print_rate("acknowledged likes of one comment, on disk, 64 connections", one, LIKES_GOAL);
    let many = measure_writes(&app, origin, |n| like_request(&app, ids[n as usize % ids.len()], n)).await?;
    print_rate(&format!("acknowledged likes of {} comments, on disk, 64 connections", ids.len()), many, LIKES_GOAL);
    let journal = measure_journal_likes(&app, ids[0]).await?;
    print_rate("likes through the journal alone, without HTTP and tokens, 256 at once", journal, LIKES_GOAL);

    let busy = SubjectKey::new("article", "busy")?;
    write_roots(&app, &busy, BUSY_THREAD_ROOTS, 2_000).await?;
    wait_until_indexed(&app).await?;
    print_figure(&json!({
        "what": format!("first page of {BUSY_THREAD_ROOTS} comments, for the reader after a post (p99)"),
        "value": measure_readers_after_posts(&app, origin).await? * 1e3, "unit": " ms", "at_most": 20,
    }));
    let uncached = measure_uncached(&app, origin, &busy).await?;
    print_rate(&format!("any page of {BUSY_THREAD_ROOTS} comments, not cached, 64 connections"), uncached, 5_800);

    let large = SubjectKey::new("article", "large")?;
    write_roots(&app, &large, 100_000, 2_000).await?;
    wait_until_indexed(&app).await?;
    for sort in [Sort::New, Sort::Hot] {
        let (first, deep) = measure_depth(&app, &large, sort).await?;
        print_figure(&json!({
            "what": format!("page 500 of 100,000 comments by `{}`, not cached", sort.name()), "value": deep * 1e6,
            "unit": " µs", "peer": "page 1", "peer_value": first * 1e6, "ratio_at_most": 1.2,
        }));
    }
    app.close().await;
    remove(&data).await
}

/// Prints a figure as `scripts/bench-table.mjs` reads it.
fn print_figure(figure: &serde_json::Value) {
    println!("{figure}");
}

fn print_rate(what: &str, rate: f64, goal: u32) {
    print_figure(&json!({ "what": what, "value": rate, "unit": "/s", "at_least": goal }));
}

/// Deletes the data. A merge of the search index ends with the process only, and may still write there.
async fn remove(data: &std::path::Path) -> anyhow::Result<()> {
    let started = Instant::now();
    while let Err(error) = std::fs::remove_dir_all(data) {
        if started.elapsed() > REMOVE_TIMEOUT {
            return Err(error.into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// The peer: a handler that answers these bytes.
fn peer_router(body: Vec<u8>) -> Router {
    let body = bytes::Bytes::from(body);
    Router::new().route(
        "/v1/subjects/{type}/{key}/comments",
        get(move || async move { ([(header::CONTENT_TYPE, "application/json")], body) }),
    )
}

fn author(n: u64) -> Author {
    let id = MemberId::new(n + 1).unwrap_or(MemberId::guest(n));
    Author::new(id, format!("reader {n}"), None, 1, None)
}

/// Writes `count` roots, and a like for the first `liked` of them.
async fn write_roots(app: &Arc<AppState>, subject: &SubjectKey, count: u64, liked: u64) -> anyhow::Result<()> {
    let mut waiting = tokio::task::JoinSet::new();
    for n in 0..count {
        let id = app.ids.next(subject.slot(), app.now()).expect("a node number");
        let content =
            format!("comment {n}: 写得真好, with enough words around it to be like one of those that people write");
        let row = NewCommentRow {
            subject: subject.clone(),
            path: Path::root(id),
            parent_id: None,
            reply_to: None,
            state: CommentState::Published,
            visibility: Visibility::Everyone,
            author: author(n % 5_000),
            created_at: app.now(),
            html: gailou::domain::markdown::html(&content),
            content,
            original_text: None,
            mentions: vec![],
            media: vec![],
            reasons: vec![],
            idempotency: None,
            imported: None,
            network: None,
        };
        let app = app.clone();
        waiting.spawn(async move {
            app.journal.append(Operation::Publish(Box::new(row))).await?;
            if n < liked {
                let change = ReactionChange::Put(Reaction::Like);
                app.journal.append(Operation::React { id, member: MemberId::guest(n), change }).await?;
            }
            anyhow::Ok(())
        });
        while waiting.len() >= 4_000 {
            waiting.join_next().await.transpose()?.transpose()?;
        }
    }
    while let Some(done) = waiting.join_next().await {
        done??;
    }
    Ok(())
}

async fn read_ids(app: &Arc<AppState>, subject: &SubjectKey) -> anyhow::Result<Vec<CommentId>> {
    let query = PageQuery { sort: Sort::New, limit: 100, cursor: None };
    let page = page::list_roots(app, subject, query, SubjectAudience::EveryReader).await?;
    Ok(page.data.iter().map(|c| c.id).collect())
}

fn token(app: &AppState, n: u64) -> String {
    let a = author(n);
    let member = Member { id: a.id, name: a.name, avatar: None, level: 1, role: Role::Member };
    let now = app.now() / 1_000;
    app.member_keys.host().sign(&member, "gailou", now..now + 3_600).unwrap_or_default()
}

fn get_request(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n").into_bytes()
}

fn post_request(app: &AppState, subject: &str, n: u64) -> Vec<u8> {
    let body = format!(
        "{{\"content\":\"comment {n}: 写得真好, with enough words around it to be like one that people write\"}}"
    );
    format!(
        "POST /v1/subjects/article/{subject}/comments HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\nidempotency-key: key-{n}\r\ncontent-length: {}\r\n\r\n{body}",
        token(app, n),
        body.len()
    )
    .into_bytes()
}

fn like_request(app: &AppState, id: CommentId, n: u64) -> Vec<u8> {
    format!(
        "PUT /v1/comments/{id}/like HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {}\r\ncontent-length: 0\r\n\r\n",
        token(app, n)
    )
    .into_bytes()
}

/// Sends a request and reads the whole response; the start and the length of its body in the buffer.
async fn exchange(stream: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) -> anyhow::Result<(usize, usize)> {
    stream.write_all(request).await?;
    buffer.clear();
    loop {
        anyhow::ensure!(stream.read_buf(buffer).await? > 0, "the server closed the connection");
        let Some(head) = buffer.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let text = std::str::from_utf8(&buffer[..head])?;
        anyhow::ensure!(text.starts_with("HTTP/1.1 20"), "refused: {}", text.lines().next().unwrap_or(""));
        let length = text
            .lines()
            .find_map(|l| l.strip_prefix("content-length: "))
            .and_then(|v| v.parse::<usize>().ok())
            .unwrap_or(0);
        if buffer.len() >= head + 4 + length {
            return Ok((head + 4, length));
        }
    }
}

async fn request(to: SocketAddr, request: &[u8]) -> anyhow::Result<Vec<u8>> {
    let (mut stream, mut buffer) = (TcpStream::connect(to).await?, Vec::new());
    let (start, length) = exchange(&mut stream, request, &mut buffer).await?;
    Ok(buffer[start..start + length].to_vec())
}

/// Responses a second on [`CONNECTION_COUNT`] connections, each of which sends the next of `requests`.
async fn run_load(to: SocketAddr, requests: Arc<Vec<Vec<u8>>>, duration: Duration) -> anyhow::Result<f64> {
    let (next, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let started = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CONNECTION_COUNT {
        let (requests, next, done) = (requests.clone(), next.clone(), done.clone());
        clients.spawn(async move {
            let (mut stream, mut buffer) = (TcpStream::connect(to).await?, Vec::with_capacity(64 * 1024));
            stream.set_nodelay(true)?;
            while started.elapsed() < duration {
                let n = next.fetch_add(1, Ordering::Relaxed) as usize;
                let Some(request) = requests.get(if requests.len() == 1 { 0 } else { n }) else { break };
                exchange(&mut stream, request, &mut buffer).await?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        });
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    Ok(done.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64())
}

/// The median rates of the origin and of its peer, which take turns. With an app, posts arrive on the subject of the
/// origin's page in its turns.
async fn measure_alternately(
    origin: SocketAddr,
    peer: SocketAddr,
    path: &str,
    posts: Option<&AppState>,
) -> anyhow::Result<(f64, f64)> {
    let requests = Arc::new(vec![get_request(path)]);
    let (duration, turns) = if posts.is_some() { TURNS_BESIDE_POSTS } else { TURNS };
    let (mut ours, mut of_peer) = (vec![], vec![]);
    for turn in 0..turns {
        let first = (1 << 32) + turn * 1_000;
        let posts = posts.map(|app| (first..first + 1_000).map(|n| post_request(app, "hot", n)).collect());
        let posts: Vec<_> = posts.unwrap_or_default();
        ours.push(tokio::select! {
            rate = run_load(origin, requests.clone(), duration) => rate?,
            Err(error) = post_steadily(origin, &posts) => return Err(error),
        });
        of_peer.push(run_load(peer, requests.clone(), duration).await?);
    }
    Ok((median(ours), median(of_peer)))
}

/// Sends one post after the other, with a pause between them, and returns only where that fails.
async fn post_steadily(to: SocketAddr, posts: &[Vec<u8>]) -> anyhow::Result<Infallible> {
    let (mut stream, mut buffer) = (TcpStream::connect(to).await?, Vec::new());
    let mut tick = tokio::time::interval(POST_INTERVAL);
    for post in posts {
        tick.tick().await;
        exchange(&mut stream, post, &mut buffer).await?;
    }
    std::future::pending().await
}

/// The seconds, of the slowest of a hundred, that a reader waits for a first page that a post has just changed.
async fn measure_readers_after_posts(app: &AppState, origin: SocketAddr) -> anyhow::Result<f64> {
    let (mut writer, mut reader) = (TcpStream::connect(origin).await?, TcpStream::connect(origin).await?);
    let (mut buffer, mut times) = (Vec::new(), vec![]);
    let page = get_request("/v1/subjects/article/busy/comments");
    for n in 0..READERS_AFTER_POSTS as u64 {
        exchange(&mut writer, &post_request(app, "busy", (2 << 32) + n), &mut buffer).await?;
        let started = Instant::now();
        exchange(&mut reader, &page, &mut buffer).await?;
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[READERS_AFTER_POSTS * 99 / 100])
}

/// Pages a second of a subject, each of which is read once: all pages of a walk by `hot`, each with other lengths.
async fn measure_uncached(app: &Arc<AppState>, origin: SocketAddr, subject: &SubjectKey) -> anyhow::Result<f64> {
    let mut query = PageQuery { sort: Sort::Hot, limit: 20, cursor: None };
    let mut cursors = vec![];
    while let Some(next) = page::list_roots(app, subject, query, SubjectAudience::EveryReader).await?.page.next {
        query.cursor = Some(app.cursor_key.decode(&next)?);
        cursors.push(next);
    }
    let requests =
        (11..=30).flat_map(|limit| cursors.iter().map(move |cursor| (limit, cursor))).map(|(limit, cursor)| {
            get_request(&format!("/v1/subjects/{subject}/comments?sort=hot&limit={limit}&cursor={cursor}"))
        });
    run_load(origin, Arc::new(requests.collect()), LOAD_DURATION).await
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median rate of writes, each of which is built beforehand and sent once.
async fn measure_writes(app: &AppState, to: SocketAddr, make: impl Fn(u64) -> Vec<u8>) -> anyhow::Result<f64> {
    let mut rates = vec![];
    for round in 0..WRITES_ROUNDS {
        let requests = (round * MAX_WRITES..(round + 1) * MAX_WRITES).map(&make).collect();
        wait_until_indexed(app).await?;
        rates.push(run_load(to, Arc::new(requests), LOAD_DURATION).await?);
    }
    Ok(median(rates))
}

/// Waits until the search index has what was written before, since it takes a core for that; merges of its segments may
/// still run.
async fn wait_until_indexed(app: &AppState) -> anyhow::Result<()> {
    let started = Instant::now();
    while app.tables.read_index_backlog(0).await?.entries > 0 {
        anyhow::ensure!(started.elapsed() < INDEX_TIMEOUT, "comments are still to be indexed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// The rate of likes that are appended to the journal directly.
async fn measure_journal_likes(app: &Arc<AppState>, id: CommentId) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..256u64 {
        let app = app.clone();
        clients.spawn(async move {
            let mut n = 0u64;
            while started.elapsed() < LOAD_DURATION {
                let member = MemberId::guest(client << 32 | n);
                app.journal
                    .append(Operation::React { id, member, change: ReactionChange::Put(Reaction::Like) })
                    .await?;
                n += 1;
            }
            anyhow::Ok(n)
        });
    }
    let mut all = 0;
    while let Some(n) = clients.join_next().await {
        all += n??;
    }
    Ok(all as f64 / started.elapsed().as_secs_f64())
}

/// The median seconds of page 1 and of page 500, which take turns, read from the store.
async fn measure_depth(app: &Arc<AppState>, subject: &SubjectKey, sort: Sort) -> anyhow::Result<(f64, f64)> {
    let first = PageQuery { sort, limit: 20, cursor: None };
    let mut deep = first;
    for _ in 1..500 {
        let page = page::list_roots(app, subject, deep, SubjectAudience::EveryReader).await?;
        let next = page.page.next.ok_or_else(|| anyhow::anyhow!("the list is too short"))?;
        deep.cursor = Some(app.cursor_key.decode(&next)?);
    }
    let mut times = (vec![], vec![]);
    for _ in 0..DEPTH_READS {
        times.0.push(measure_page(app, subject, first).await?);
        times.1.push(measure_page(app, subject, deep).await?);
    }
    Ok((median(times.0), median(times.1)))
}

/// The seconds of a page.
async fn measure_page(app: &Arc<AppState>, subject: &SubjectKey, query: PageQuery) -> anyhow::Result<f64> {
    let started = Instant::now();
    page::list_roots(app, subject, query, SubjectAudience::EveryReader).await?;
    Ok(started.elapsed().as_secs_f64())
}
