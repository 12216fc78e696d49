//! Which cache level answers when some subjects are read far more often than others.

use std::time::Duration;

use gailou::domain::markdown;
use gailou::domain::operation::{LoggedOperation, Operation};
use gailou::domain::row::NewCommentRow;
use gailou::ports::store::BatchWriter as _;
use gailou_shared::id::{CommentId, IMPORT_NODE, MemberId, SEQUENCE_COUNT, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Visibility};
use rand::Rng as _;
use serde_json::json;

use crate::bench_cluster::BenchCluster;
use crate::cpu_time::CpuTime;
use crate::http_client::{HttpConnection, run_load, write_get};
use crate::{print_cpu, print_figure};

/// Subjects with one comment each.
const SUBJECT_COUNT: usize = 100_000;
const CONNECTION_COUNT: usize = 64;
/// The load before the measurement.
const WARM_UP: Duration = Duration::from_secs(3);
/// The measured load.
const LOAD_DURATION: Duration = Duration::from_secs(5);
/// Comments over which likes are spread.
const LIKED_COMMENTS: usize = 10_000;
/// Comments in one transaction.
const ROWS_PER_BATCH: usize = 1_000;
/// The time at which the comments were written, in Unix milliseconds.
const WRITTEN_AT_MS: u64 = 1_750_000_000_000;
/// The cache levels, as the metrics name them.
const CACHE_LEVELS: [&str; 3] = ["local", "redis", "mysql"];

/// Reads first pages of the [`SUBJECT_COUNT`]; subject n is read 1/n times as often as the first.
pub(crate) async fn measure(cluster: &BenchCluster) {
    let mut client = HttpConnection::open(cluster.origin).await;
    // The keys that one page needs when it is not cached, from all levels.
    let before = keys(&mut client).await;
    client.get(&path(SUBJECT_COUNT - 1)).await;
    let page: f64 = since(before, keys(&mut client).await).iter().sum();

    let mut sum = 0.0;
    let reach: Vec<f64> = (1..=SUBJECT_COUNT)
        .map(|n| {
            sum += 1.0 / n as f64;
            sum
        })
        .collect();
    let make = move |_, request: &mut Vec<u8>| {
        let at = rand::rng().random_range(0.0..sum);
        write_get(request, &path(reach.partition_point(|reach| *reach <= at).min(SUBJECT_COUNT - 1)));
    };
    run_load(cluster.origin, CONNECTION_COUNT, WARM_UP, make.clone()).await;
    let (before, cpu) = (keys(&mut client).await, CpuTime::now());
    let load = run_load(cluster.origin, CONNECTION_COUNT, LOAD_DURATION, make).await;
    let after = CpuTime::now();
    let answered = since(before, keys(&mut client).await);
    let all: f64 = answered.iter().sum();
    println!(
        "first pages of {SUBJECT_COUNT} subjects by Zipf's law, {CONNECTION_COUNT} connections, after {} s: {:.0}/s \
         (median {:.1} ms, p99 {:.1} ms, {} refused)",
        WARM_UP.as_secs(),
        load.rate(),
        load.median_ms,
        load.p99_ms,
        load.refused
    );
    let of = format!("first pages of {SUBJECT_COUNT} subjects by Zipf's law, {CONNECTION_COUNT} connections");
    print_figure(&of, json!({ "value": load.rate(), "unit": "/s" }));
    print_cpu(&of, &after.since(&cpu, load.succeeded));
    let ready = 1.0 - all / page / load.succeeded as f64;
    let shares = CACHE_LEVELS.iter().zip(answered).map(|(level, keys)| format!("{level} {:.3}", keys / all));
    println!(
        "  ready pages answer {ready:.3} of them (of {page:.0} keys each); of the keys of the others: {}",
        shares.collect::<Vec<_>>().join(", ")
    );
}

fn subject(n: usize) -> SubjectKey {
    SubjectKey::new("article", &format!("zipf-{n}")).expect("a subject")
}

fn path(n: usize) -> String {
    format!("/v1/subjects/article/zipf-{n}/comments")
}

/// Writes a comment on each subject directly into the tables; the ids of [`LIKED_COMMENTS`] of them.
pub(crate) async fn fill(cluster: &BenchCluster) -> Vec<CommentId> {
    let mut ids = Vec::new();
    let mut subjects: Vec<SubjectKey> = (0..SUBJECT_COUNT).map(subject).collect();
    // Ordered by slot: each transaction locks the rows of its slots.
    subjects.sort_by_key(SubjectKey::slot);
    for (batch, subjects) in subjects.chunks(ROWS_PER_BATCH).enumerate() {
        let comments: Vec<_> =
            subjects.iter().enumerate().map(|(n, key)| row(key, (batch * ROWS_PER_BATCH + n) as u64)).collect();
        // Some of each batch, so that all slots occur.
        ids.extend(comments.iter().take(LIKED_COMMENTS * ROWS_PER_BATCH / SUBJECT_COUNT).map(|row| row.path.id()));
        let events: Vec<_> = comments
            .into_iter()
            .map(|row| LoggedOperation::new(WRITTEN_AT_MS, Operation::Publish(Box::new(row))))
            .collect();
        cluster.tables.persist(&events).await.expect("the batch is persisted");
    }
    ids
}

fn row(subject: &SubjectKey, n: u64) -> NewCommentRow {
    let content =
        format!("comment {n}: 写得真好, with enough words around it to be like one of those that people write");
    NewCommentRow {
        subject: subject.clone(),
        path: Path::root(CommentId::from_parts(
            WRITTEN_AT_MS + n / SEQUENCE_COUNT,
            subject.slot(),
            IMPORT_NODE,
            n % SEQUENCE_COUNT,
        )),
        parent_id: None,
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author: Author::new(
            MemberId::new(n % 1_000 + 1).expect("a member"),
            format!("reader {}", n % 1_000 + 1),
            None,
            3,
            None,
        ),
        created_at: WRITTEN_AT_MS + n / SEQUENCE_COUNT,
        html: markdown::html(&content),
        content,
        original_text: None,
        mentions: vec![],
        media: vec![],
        reasons: vec![],
        idempotency: None,
        imported: None,
        network: None,
    }
}

/// The keys that each of [`CACHE_LEVELS`] has answered so far.
async fn keys(client: &mut HttpConnection) -> [f64; 3] {
    let text = String::from_utf8_lossy(client.get("/metrics").await).into_owned();
    CACHE_LEVELS.map(|level| {
        let name = format!("gailou_cache_keys_total{{level=\"{level}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name)).and_then(|value| value.parse().ok());
        value.expect("the metric exists")
    })
}

fn since(before: [f64; 3], after: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|level| after[level] - before[level])
}
