//! Every part of a cluster is killed, frozen and cut off under load; afterwards everything that was
//! acknowledged is there, once, and counted right.
//!
//! `CHAOS_SECONDS` is how long the load of a round lasts, `CHAOS_ROUNDS` how often each fault comes,
//! `CHAOS_FAULTS` names those wanted: `kill-redis,freeze-serve`.

mod check;
mod fleet;
mod load;
mod oracle;

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_tests::services::{self, Kind};

use check::{Findings, check};
use fleet::{Fleet, Part};
use load::{Actor, Round};
use oracle::Fate;

const CLIENTS: usize = 64;
/// Longer than an origin's lease on its node number.
const PAST_THE_LEASE: Duration = Duration::from_secs(12);

/// What is done to a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    Kill,
    Freeze,
    Cut,
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    harm: Harm,
    part: Part,
}

impl Fault {
    fn all() -> Vec<Self> {
        let servers = [Kind::Redis, Kind::Kafka, Kind::Mariadb].map(Part::Server);
        let parts = [Part::Serve, Part::Job].into_iter().chain(servers);
        let both =
            [Harm::Kill, Harm::Freeze].into_iter().flat_map(|harm| parts.clone().map(move |part| Self { harm, part }));
        both.chain(servers.map(|part| Self { harm: Harm::Cut, part })).collect()
    }

    fn name(self) -> String {
        let harm = match self.harm {
            Harm::Kill => "kill",
            Harm::Freeze => "freeze",
            Harm::Cut => "cut",
        };
        format!("{harm}-{}", self.part.name())
    }

    /// How long it lasts in a round of this length.
    fn lasts(self, round: Duration) -> Duration {
        let short = (round / 3).min(Duration::from_secs(10));
        if self.harm == Harm::Freeze && self.part == Part::Serve { PAST_THE_LEASE.max(short) } else { short }
    }

    async fn begin(self, fleet: &mut Fleet) {
        match (self.harm, self.part) {
            (Harm::Kill, part) => fleet.kill(part),
            (Harm::Freeze, part) => fleet.freeze(part),
            (Harm::Cut, Part::Server(kind)) => fleet.cut(kind),
            (Harm::Cut, part) => unreachable!("nothing leads to {part:?}"),
        }
    }

    async fn end(self, fleet: &mut Fleet) {
        match (self.harm, self.part) {
            (Harm::Kill, part) => fleet.revive(part).await,
            (Harm::Freeze, part) => fleet.wake(part),
            (Harm::Cut, Part::Server(kind)) => fleet.join(kind),
            (Harm::Cut, part) => unreachable!("nothing leads to {part:?}"),
        }
    }
}

/// A variable that is a number; what it is when it is not set.
fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    if text.is_empty() { default } else { text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")) }
}

/// Past the test harness, which keeps what a test prints until it fails.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_whatever_breaks() {
    if !services::available() {
        return;
    }
    let length = Duration::from_secs(number("CHAOS_SECONDS", 6));
    let wanted = std::env::var("CHAOS_FAULTS").unwrap_or_default();
    let is_wanted = |fault: &Fault| wanted.is_empty() || wanted.split(',').any(|name| name == fault.name());
    let faults: Vec<Fault> = Fault::all().into_iter().filter(is_wanted).collect();
    assert!(!faults.is_empty(), "CHAOS_FAULTS={wanted}: there is none of these");
    let mut fleet = Fleet::start().await;
    let mut failed = Vec::new();
    say(HEAD);
    for (number, fault) in faults.iter().cycle().take(faults.len() * number("CHAOS_ROUNDS", 1) as usize).enumerate() {
        let line = round(&mut fleet, *fault, number, length).await;
        say(&line.text());
        if !line.findings.problems.is_empty() {
            line.findings.problems.iter().take(20).for_each(|problem| say(&format!("    {problem}")));
            failed.push(fault.name());
        }
    }
    assert!(failed.is_empty(), "failed: {failed:?}; the logs of the processes are in {}", fleet.logs().display());
}

const HEAD: &str = "
fault            posts   lost  doubled  unanswered  reactions  wrong  longest pause  caught up  verdict";

/// A line of the table.
struct Line {
    fault: String,
    posts: usize,
    unanswered: u64,
    reactions: u64,
    longest: Duration,
    /// `None` when it did not come to an end.
    caught_up: Option<Duration>,
    findings: Findings,
}

impl Line {
    fn text(&self) -> String {
        let Findings { lost, doubled, wrong_states, problems } = &self.findings;
        let verdict = if problems.is_empty() { "pass" } else { "FAIL" };
        let caught_up = self.caught_up.map_or("never".into(), |time| format!("{:.1} s", time.as_secs_f64()));
        format!(
            "{:<15} {:>6} {lost:>6} {doubled:>8} {:>11} {:>10} {wrong_states:>6} {:>12.1} s {caught_up:>10}  {verdict}",
            self.fault,
            self.posts,
            self.unanswered,
            self.reactions,
            self.longest.as_secs_f64(),
        )
    }
}

/// Load, the fault in its second third, healing, and the comparison.
async fn round(fleet: &mut Fleet, fault: Fault, number: usize, length: Duration) -> Line {
    let round = Round::new(number);
    let clients = fleet.clients();
    let mut actors: Vec<Actor> = (0..CLIENTS).map(|n| Actor::new(number, n)).collect();
    let harm = async {
        let third = length / 3;
        tokio::time::sleep(third).await;
        fault.begin(fleet).await;
        tokio::time::sleep(fault.lasts(length)).await;
        fault.end(fleet).await;
        tokio::time::sleep(third).await;
        round.stop.store(true, Ordering::SeqCst);
        round.pulse.lock().expect("nobody panicked").longest(Instant::now())
    };
    let work = join_all(actors.iter_mut().map(|actor| actor.work(&clients, &round)));
    let (longest, _) = tokio::join!(harm, work);
    fleet.heal().await;
    let caught_up = fleet.caught_up().await;
    let acknowledged = |actor: &Actor| actor.posts.iter().filter(|post| matches!(post.fate, Fate::Made(_))).count();
    let posts = actors.iter().map(acknowledged).sum();
    let mut findings = check(fleet, &round, &mut actors).await;
    findings.problems.extend(fleet.ended());
    let caught_up = caught_up.map_err(|problem| findings.problems.push(problem)).ok();
    let reactions = actors.iter().map(|actor| actor.acknowledged_reactions).sum();
    if posts < 100 || reactions < 100 {
        findings.problems.push(format!("only {posts} posts and {reactions} reactions: this proves little"));
    }
    let unanswered = actors.iter().map(|actor| actor.unanswered).sum();
    Line { fault: fault.name(), posts, unanswered, reactions, longest, caught_up, findings }
}
