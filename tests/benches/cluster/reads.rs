//! Which level answers when some subjects are read far more than others.

use std::time::Duration;

use gailou::domain::operation::{LoggedOperation, Operation};
use gailou::domain::row::NewCommentRow;
use gailou::ports::store::BatchWriter as _;
use gailou::service::markdown;
use gailou_shared::id::{CommentId, IMPORT_NODE, MemberId, SEQUENCES, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, State, Visibility};
use rand::Rng as _;

use crate::http::{Connection, drive, get};
use crate::processes::Spent;
use crate::stand::Stand;

const SUBJECTS: usize = 100_000;
const CONNECTIONS: usize = 64;
const WARM: Duration = Duration::from_secs(3);
const SPAN: Duration = Duration::from_secs(5);
/// Comments that likes are spread over.
const LIKED: usize = 10_000;
/// Comments in one transaction.
const BATCH: usize = 1_000;
/// When the comments were written, in Unix milliseconds.
const WRITTEN: u64 = 1_750_000_000_000;
const LEVELS: [&str; 3] = ["local", "redis", "mysql"];

/// First pages of the [`SUBJECTS`] subjects with a comment each, the n-th asked for 1/n times as often.
pub(crate) async fn zipf(stand: &Stand) {
    let mut client = Connection::open(stand.serve).await;
    // What one page takes when nobody has asked for it, by all levels.
    let before = keys(&mut client).await;
    client.get(&path(SUBJECTS - 1)).await;
    let page: f64 = since(before, keys(&mut client).await).iter().sum();

    let mut sum = 0.0;
    let reach: Vec<f64> = (1..=SUBJECTS)
        .map(|n| {
            sum += 1.0 / n as f64;
            sum
        })
        .collect();
    let make = move |_, request: &mut Vec<u8>| {
        let at = rand::rng().random_range(0.0..sum);
        get(request, &path(reach.partition_point(|reach| *reach <= at).min(SUBJECTS - 1)));
    };
    drive(stand.serve, CONNECTIONS, WARM, make.clone()).await;
    let (before, spent) = (keys(&mut client).await, Spent::now());
    let load = drive(stand.serve, CONNECTIONS, SPAN, make).await;
    let spent = Spent::now().since(&spent, load.done as f64 / 1e3, load.seconds);
    let answered = since(before, keys(&mut client).await);
    let all: f64 = answered.iter().sum();
    println!(
        "first pages of {SUBJECTS} subjects by Zipf's law, {CONNECTIONS} connections, after {} s: {:.0}/s \
         (median {:.1} ms, p99 {:.1} ms, {} refused)",
        WARM.as_secs(),
        load.rate(),
        load.median,
        load.p99,
        load.refused
    );
    let ready = 1.0 - all / page / load.done as f64;
    let shares = LEVELS.iter().zip(answered).map(|(level, keys)| format!("{level} {:.3}", keys / all));
    println!(
        "  ready pages answer {ready:.3} of them (of {page:.0} keys each); of the keys of the others: {}",
        shares.collect::<Vec<_>>().join(", ")
    );
    println!("  processor seconds per 1,000: {spent}");
}

fn subject(n: usize) -> SubjectKey {
    SubjectKey::new("article", &format!("zipf-{n}")).expect("a subject")
}

fn path(n: usize) -> String {
    format!("/v1/subjects/article/zipf-{n}/comments")
}

/// Writes a comment to each subject as an import does, past the log; the ids of [`LIKED`] of them.
pub(crate) async fn fill(stand: &Stand) -> Vec<CommentId> {
    let mut ids = Vec::new();
    let mut subjects: Vec<SubjectKey> = (0..SUBJECTS).map(subject).collect();
    // By slot: each transaction locks the rows of its slots.
    subjects.sort_by_key(SubjectKey::slot);
    for (batch, subjects) in subjects.chunks(BATCH).enumerate() {
        let comments: Vec<_> =
            subjects.iter().enumerate().map(|(n, key)| row(key, (batch * BATCH + n) as u64)).collect();
        // Some of every batch, so that they are of all slots.
        ids.extend(comments.iter().take(LIKED * BATCH / SUBJECTS).map(|row| row.path.id()));
        let events: Vec<_> =
            comments.into_iter().map(|row| LoggedOperation::new(WRITTEN, Operation::Publish(Box::new(row)))).collect();
        stand.tables.persist(&events).await.expect("the tables take it");
    }
    ids
}

fn row(subject: &SubjectKey, n: u64) -> NewCommentRow {
    let content =
        format!("comment {n}: 写得真好, with enough words around it to be like one of those that people write");
    NewCommentRow {
        subject: subject.clone(),
        path: Path::root(CommentId::from_parts(WRITTEN + n / SEQUENCES, subject.slot(), IMPORT_NODE, n % SEQUENCES)),
        parent_id: None,
        reply_to: None,
        state: State::Published,
        visibility: Visibility::Everyone,
        author: Author {
            id: MemberId::new(n % 1_000 + 1).expect("a member"),
            name: format!("reader {}", n % 1_000 + 1),
            avatar: None,
            level: 3,
        },
        created_at: WRITTEN + n / SEQUENCES,
        html: markdown::html(&content),
        content,
        written: None,
        mentions: vec![],
        idempotency: None,
        imported: None,
    }
}

/// Keys that each of [`LEVELS`] has answered.
async fn keys(client: &mut Connection) -> [f64; 3] {
    let text = String::from_utf8_lossy(client.get("/metrics").await).into_owned();
    LEVELS.map(|level| {
        let name = format!("gailou_cache_keys_total{{level=\"{level}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name)).and_then(|value| value.parse().ok());
        value.expect("it is exposed")
    })
}

fn since(before: [f64; 3], after: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|level| after[level] - before[level])
}
