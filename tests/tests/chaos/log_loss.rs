//! The broker comes back with another log than the tables were written from: an older copy of its data, or a topic that
//! was made again.
//!
//! Nothing can be as if it had not happened, so the law is another one. The broker is stopped within a bounded time, and
//! stays so: jobs exit, nothing is acknowledged, everything can be read. When an operator has accepted the log, it goes on.
//! What was a row, and what the log still has, is there; nothing else may be missing than comments and reactions that
//! were acknowledged and were no rows when the log was lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use gailou::clock::Clock;
use gailou::ports::broker::{PartitionOffsets as _, Producer as _, Topic};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_tests::backing_servers::ServerKind;
use gailou_tests::{delete_topic, encoded_publication, poll_until};

use crate::chaos_client::{ChaosRound, parse_reaction};
use crate::chaos_cluster::{CATCH_UP_TIMEOUT, CLUSTER_NAME, ChaosCluster, ClusterPart, RESPONSE_TIMEOUT};
use crate::oracle::LogLoss;

/// How long it may take until the broker is stopped, and until every job has exited: a member that left without a word
/// holds its partitions for 6 s, and a broker that was killed takes as long to be ready.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// After so long every server knows that the broker is stopped.
const SERVERS_KNOW_AFTER: Duration = Duration::from_secs(5);
/// How long it is watched that the broker stays stopped.
const STOPPED_DURATION: Duration = Duration::from_secs(3);
/// The least writes that the log loses.
const MIN_LOST_WRITES: u64 = 100;
/// The least writes that must be refused while it is stopped.
const MIN_REFUSED_WRITES: u64 = 20;
/// Records that are appended at the same time.
const CONCURRENT_APPENDS: usize = 500;
/// A member that writes nothing else, and the number of a process that does not run.
const OTHER_MEMBER: u64 = 9;
const OTHER_NODE: u64 = 60;

/// Copies the log, and waits until the tables know more than the copy has. From now on it may lose what is acknowledged.
pub(crate) async fn copy_log(cluster: &mut ChaosCluster, round: &ChaosRound) {
    begin_loss(round);
    cluster.save(ServerKind::Kafka);
    let before = round.appended.load(Ordering::SeqCst);
    let (began, is_enough) = (Instant::now(), || round.appended.load(Ordering::SeqCst) >= before + MIN_LOST_WRITES);
    while !is_enough() && began.elapsed() < CATCH_UP_TIMEOUT {
        tokio::time::sleep(STOP_POLL_INTERVAL).await;
    }
    if !is_enough() {
        round.report("too little was acknowledged after the log was copied: this proves too little".to_owned());
    }
    if let Err(problem) = cluster.wait_until_caught_up().await {
        round.report(problem);
    }
}

/// Puts the copy of the log back under the jobs that run.
pub(crate) async fn rewind_log(cluster: &mut ChaosCluster, round: &ChaosRound) {
    let cut_at = cut_broker(cluster);
    cluster.rewind(ServerKind::Kafka);
    note_loss(cluster, round, cut_at, true).await;
    cluster.reconnect(ServerKind::Kafka);
    expect_stop(cluster, round).await;
    let codes = cluster.wait_until_jobs_exit(STOP_TIMEOUT).await;
    if codes != [Some(1); 2] {
        round.report(format!("two jobs must exit with 1, and exited with {codes:?}"));
    }
    accept(cluster, round).await;
}

/// Ends the jobs. From now on it may be lost what is acknowledged.
pub(crate) async fn stop_jobs(cluster: &mut ChaosCluster, round: &ChaosRound) {
    begin_loss(round);
    // What may get replies and reactions must be a row.
    if let Err(problem) = cluster.wait_until_caught_up().await {
        round.report(problem);
    }
    cluster.kill(ClusterPart::AllJobs);
}

/// Deletes the topic of the comments, makes it again, and fills it until it is as long as before. Then jobs start.
pub(crate) async fn recreate_topic(cluster: &mut ChaosCluster, round: &ChaosRound) {
    let mut ends = Vec::new();
    for partition in 0..cluster.broker.partition_count() {
        ends.push(end_of(cluster, partition).await);
    }
    let cut_at = cut_broker(cluster);
    note_loss(cluster, round, cut_at, false).await;
    delete_topic(&cluster.broker_address(), &format!("{CLUSTER_NAME}.comments")).await;
    cluster.reconnect(ServerKind::Kafka);
    let migrated = poll_until(|| cluster.run(&["migrate"]), |output| output.code == Some(0)).await;
    assert_eq!(migrated.code, Some(0), "{}", migrated.stderr);
    for (partition, end) in (0..).zip(ends) {
        fill(cluster, partition, end).await;
    }
    expect_refusal_of_a_job(cluster, round, "the topic was recreated").await;
    expect_stop(cluster, round).await;
    accept(cluster, round).await;
}

fn begin_loss(round: &ChaosRound) {
    round.are_targets_fixed.store(true, Ordering::SeqCst);
    let _ = round.loss_begins.set(Instant::now());
}

/// Disconnects the broker; when it was.
fn cut_broker(cluster: &ChaosCluster) -> Instant {
    cluster.cut(ServerKind::Kafka);
    Instant::now()
}

/// Notes what may be lost: by the tables, when every request is answered that was sent before the broker was cut off, and
/// every record is stored that a job had taken.
async fn note_loss(cluster: &ChaosCluster, round: &ChaosRound, cut_at: Instant, with_reactions: bool) {
    tokio::time::sleep(RESPONSE_TIMEOUT.saturating_sub(cut_at.elapsed())).await;
    let pairs = |statement: &str| cluster.query(statement).into_iter().map(|row| (row[0].clone(), row[1].clone()));
    let aliases: BTreeMap<String, String> = pairs("SELECT id, comment_id FROM alias_{n}").collect();
    let ids = cluster.query("SELECT id FROM comment_{n}").into_iter().map(|row| row[0].clone());
    let rows: BTreeSet<String> = ids.chain(aliases.keys().cloned()).collect();
    let reactions = with_reactions.then(|| {
        let statement = "SELECT comment_id, member_id, IF(reaction = 1, 'like', 'dislike') FROM reaction_{n}";
        let rows = cluster.query(statement).into_iter();
        let mut stored: BTreeMap<_, _> =
            rows.map(|row| ((row[0].clone(), row[1].clone()), parse_reaction(&row[2].as_str().into()))).collect();
        for (second, id) in aliases {
            let of_id = stored.range((id.clone(), String::new())..).take_while(|((of, _), _)| *of == id);
            let copies: Vec<_> = of_id.map(|((_, by), reaction)| ((second.clone(), by.clone()), *reaction)).collect();
            stored.extend(copies);
        }
        stored
    });
    round.is_log_contradicting.store(true, Ordering::SeqCst);
    let since = *round.loss_begins.get().expect("the fault has begun");
    assert!(round.log_loss.set(LogLoss { since, rows, reactions }).is_ok(), "a round loses the log once");
}

async fn end_of(cluster: &ChaosCluster, partition: u32) -> u64 {
    let end = poll_until(|| cluster.broker.end_offset(Topic::Comments, partition), Result::is_ok).await;
    end.expect("the broker answers")
}

/// Appends one comment of another member until a partition is as long as it was.
async fn fill(cluster: &ChaosCluster, partition: u32, length: u64) {
    let subject = (0_u32..)
        .map(|n| SubjectKey::new("article", &format!("other-{n}")).expect("a subject"))
        .find(|subject| cluster.broker.partition_of(subject.slot()) == partition)
        .expect("a subject of the partition");
    let slot = subject.slot();
    let id = CommentId::from_parts(Clock::system().now(), slot, OTHER_NODE, 0);
    let record = encoded_publication(&subject, id, OTHER_MEMBER, "of another member");
    loop {
        let missing = length.saturating_sub(end_of(cluster, partition).await);
        if missing == 0 {
            return;
        }
        // One that fails is missing the next time.
        let appends =
            stream::iter(0..missing).map(|_| cluster.broker.append_record(Topic::Comments, slot, record.clone()));
        appends.buffer_unordered(CONCURRENT_APPENDS).for_each(|_| async {}).await;
    }
}

/// Waits until the broker is stopped, and watches that it stays so.
async fn expect_stop(cluster: &ChaosCluster, round: &ChaosRound) {
    let began = Instant::now();
    let mut stopped = cluster.run(&["broker", "status"]).await;
    // It also exits with 1 while the broker does not answer.
    while !stopped.stdout.contains("stopped: ") && began.elapsed() < STOP_TIMEOUT {
        tokio::time::sleep(STOP_POLL_INTERVAL).await;
        stopped = cluster.run(&["broker", "status"]).await;
    }
    let names_reason = ["stopped: ", "partition", "was recreated, was truncated or belongs to another cluster"];
    if stopped.code != Some(1) || names_reason.iter().any(|part| !stopped.stdout.contains(part)) {
        let (code, after, text) = (stopped.code, began.elapsed(), stopped.stdout);
        round.report(format!("broker status exits with {code:?} after {after:?} and says: {text}"));
        return;
    }
    tokio::time::sleep(SERVERS_KNOW_AFTER).await;
    round.is_log_contradicting.store(false, Ordering::SeqCst);
    round.is_broker_stopped.store(true, Ordering::SeqCst);
    tokio::time::sleep(STOPPED_DURATION).await;
    expect_refusal_of_a_job(cluster, round, "gailou broker accept").await;
    round.is_broker_stopped.store(false, Ordering::SeqCst);
    let refused = round.refused_while_stopped.load(Ordering::SeqCst);
    if refused < MIN_REFUSED_WRITES {
        round
            .report(format!("only {refused} writes were refused while the broker was stopped: this proves too little"));
    }
}

/// Starts a job, which must exit with 1 and say why.
async fn expect_refusal_of_a_job(cluster: &ChaosCluster, round: &ChaosRound, why: &str) {
    let job = cluster.run(&["job", "--bind", "127.0.0.1:0"]).await;
    if job.code != Some(1) || !job.stderr.contains(why) {
        let last = job.stderr.lines().last().unwrap_or_default();
        round.report(format!("a job exits with {:?} instead of 1 because of {why:?}: {last}", job.code));
    }
}

/// What an operator does: accepts the log and starts the jobs. Then writes are acknowledged again.
async fn accept(cluster: &mut ChaosCluster, round: &ChaosRound) {
    // A job that was killed is in its group for some seconds.
    let accepted = poll_until(|| cluster.run(&["broker", "accept"]), |output| output.code == Some(0)).await;
    if accepted.code != Some(0) {
        round.report(format!("gailou broker accept: {:?} {}", accepted.code, accepted.stderr));
    }
    let status = cluster.run(&["broker", "status"]).await;
    if status.code != Some(0) {
        round.report(format!("the broker is accepted, and its status is {:?} {}", status.code, status.stdout));
    }
    cluster.restart_ended().await;
    let before = round.appended.load(Ordering::SeqCst);
    let appended = poll_until(async || round.appended.load(Ordering::SeqCst), |appended| *appended > before).await;
    if appended == before {
        round.report("nothing is acknowledged after the log was accepted".to_owned());
    }
    round.are_targets_fixed.store(false, Ordering::SeqCst);
}
