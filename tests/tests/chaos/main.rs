//! Every part of a cluster is killed, frozen, cut off and set back under load; afterwards every acknowledged
//! write is there exactly once and counted, and at no moment is it answered with a 404.
//!
//! `CHAOS_SECONDS` is the length of the load of a round, `CHAOS_ROUNDS` how often each fault occurs,
//! `CHAOS_FAULTS` selects faults: `kill-redis,freeze-serve`.

mod chaos_client;
mod chaos_cluster;
mod check;
mod faults;
mod log_loss;
mod oracle;

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_tests::backing_servers;

use chaos_client::{ChaosClient, ChaosRound};
use chaos_cluster::ChaosCluster;
use check::{RoundFindings, check_round};
use faults::ClusterFault;
use oracle::{DeletionState, PostOutcome};

const CLIENT_COUNT: usize = 64;
/// The least posts, and the least reactions, after which a round means something.
const MIN_WRITES: usize = 100;
/// How many problems of a round are printed.
const MAX_PROBLEMS_SHOWN: usize = 20;

/// The number in a variable, or the default when it is not set.
fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    if text.is_empty() { default } else { text.parse().unwrap_or_else(|_| panic!("{name}={text} must be a number")) }
}

/// Prints directly to the stream: the harness captures `println!` and shows it only after a failure.
fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: `make test` runs it with seconds for each fault, `make chaos` with a minute"]
async fn acknowledged_writes_survive_every_fault() -> Result<(), String> {
    if !backing_servers::available() {
        return Ok(());
    }
    let length = Duration::from_secs(number("CHAOS_SECONDS", 6));
    let selected = std::env::var("CHAOS_FAULTS").unwrap_or_default();
    let is_selected = |fault: &ClusterFault| match selected.as_str() {
        "" => fault.fits(length),
        names => names.split(',').any(|name| name == fault.name()),
    };
    let faults: Vec<ClusterFault> = ClusterFault::all().into_iter().filter(is_selected).collect();
    assert!(!faults.is_empty(), "CHAOS_FAULTS={selected}: unknown faults");
    let mut cluster = ChaosCluster::start().await;
    let mut failed = Vec::new();
    print_line(TABLE_HEAD);
    for (number, fault) in faults.iter().cycle().take(faults.len() * number("CHAOS_ROUNDS", 1) as usize).enumerate() {
        let result = run_round(&mut cluster, *fault, number, length).await;
        print_line(&result.table_row());
        let problems = &result.findings.problems;
        if !problems.is_empty() {
            let shown = problems.iter().take(MAX_PROBLEMS_SHOWN).map(|problem| format!("\n    {problem}"));
            let shown: String = shown.collect();
            print_line(&shown);
            // The harness shows it beside the error.
            println!("{}{shown}", result.table_row());
            failed.push(fault.name());
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    // No panic: a backtrace would be all that the end of a log shows.
    Err(format!("failed: {failed:?}; the logs of the processes are in {}", cluster.logs().display()))
}

const TABLE_HEAD: &str = "
fault                posts   lost  doubled      failed  reactions  wrong   404  longest pause  caught up  verdict";

/// The result of a round: a row of the table.
struct RoundResult {
    fault: String,
    posts: usize,
    failed_requests: u64,
    reactions: u64,
    longest_pause: Duration,
    /// How long the jobs took, or `None` when they did not catch up.
    caught_up: Option<Duration>,
    findings: RoundFindings,
}

impl RoundResult {
    fn table_row(&self) -> String {
        let RoundFindings { lost, doubled, wrong_states, not_found, problems } = &self.findings;
        let verdict = if problems.is_empty() { "pass" } else { "FAIL" };
        let caught_up = self.caught_up.map_or("never".into(), |time| format!("{:.1} s", time.as_secs_f64()));
        format!(
            "{:<19} {:>6} {lost:>6} {doubled:>8} {:>11} {:>10} {wrong_states:>6} {not_found:>5} {:>12.1} s {caught_up:>10}  {verdict}",
            self.fault,
            self.posts,
            self.failed_requests,
            self.reactions,
            self.longest_pause.as_secs_f64(),
        )
    }
}

/// One round: load, the fault in its second third, recovery, and the comparison.
async fn run_round(cluster: &mut ChaosCluster, fault: ClusterFault, number: usize, length: Duration) -> RoundResult {
    let round = ChaosRound::new(number);
    let clients = cluster.clients();
    let mut members: Vec<ChaosClient> = (0..CLIENT_COUNT).map(|n| ChaosClient::new(number, n)).collect();
    let fault_and_recovery = async {
        let third = length / 3;
        tokio::time::sleep(third).await;
        fault.begin(cluster, &round).await;
        tokio::time::sleep(fault.duration(length)).await;
        fault.end(cluster, &round).await;
        tokio::time::sleep(third + fault.refused_after()).await;
        round.stop.store(true, Ordering::SeqCst);
        round.pauses.lock().expect("no panic").longest(Instant::now())
    };
    let work = join_all(members.iter_mut().map(|member| member.work(&clients, &round)));
    let (longest_pause, _) = tokio::join!(fault_and_recovery, work);
    members.iter_mut().for_each(|member| member.note_loss(&round));
    if fault.may_undo_deletions() {
        let deletions = members.iter_mut().flat_map(|member| &mut member.posts).map(|post| &mut post.deletion);
        deletions
            .filter(|deletion| **deletion == DeletionState::Yes)
            .for_each(|deletion| *deletion = DeletionState::Maybe);
    }
    cluster.restart_ended().await;
    let caught_up = cluster.wait_until_caught_up().await;
    let acknowledged = |member: &ChaosClient| {
        member.posts.iter().filter(|post| matches!(post.outcome, PostOutcome::Acknowledged(_))).count()
    };
    let posts = members.iter().map(acknowledged).sum();
    let mut findings = check_round(cluster, &round, &mut members).await;
    findings.problems.extend(cluster.take_unexpected_exits());
    let caught_up = caught_up.map_err(|problem| findings.problems.push(problem)).ok();
    let reactions = members.iter().map(|member| member.acknowledged_reactions).sum();
    if posts < MIN_WRITES || reactions < MIN_WRITES as u64 {
        findings.problems.push(format!("only {posts} posts and {reactions} reactions: this proves too little"));
    }
    let failed_requests = members.iter().map(|member| member.failed_requests).sum();
    RoundResult { fault: fault.name(), posts, failed_requests, reactions, longest_pause, caught_up, findings }
}
