//! Runs one seed, and many of them on all cores.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Once};
use std::time::Duration;

use gailou_shared::id::SubjectKey;
use tokio_util::sync::CancellationToken;

use crate::testing::faults::lock;
use crate::testing::fixtures::subject_in;
use crate::testing::simulation::client::Client;
use crate::testing::simulation::consumer_group::watch_groups;
use crate::testing::simulation::database::Database;
use crate::testing::simulation::faults::{FaultMaker, FaultPlan};
use crate::testing::simulation::oracle::Oracle;
use crate::testing::simulation::process::Cluster;
use crate::testing::simulation::world::World;

/// Subjects in slots of every database and partition.
static SUBJECTS: LazyLock<Vec<SubjectKey>> = LazyLock::new(|| [3, 260, 517, 902, 1_023].map(subject_in).into());

thread_local! {
    /// The first panic of this thread since a run began.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What became of a seed.
#[derive(Debug)]
pub(super) struct SeedReport {
    pub(super) seed: u64,
    pub(super) hash: u64,
    pub(super) violations: Vec<String>,
    /// The last events; nothing unless asked for.
    pub(super) lines: Vec<String>,
    /// Answers that clients got, and requests that they gave up.
    pub(super) done: u64,
}

/// What processes log is a part of the trace.
struct TraceWriter(Arc<World>);

impl io::Write for TraceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.explain(|| String::from_utf8_lossy(bytes).trim_end().to_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Remembers panics, also those of tasks, which the runtime would swallow.
fn remember_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let text = panic.to_string();
            PANIC.with_borrow_mut(|first| _ = first.get_or_insert(text));
            before(panic);
        }));
    });
}

/// Runs a seed.
pub(super) fn run_seed(seed: u64, is_verbose: bool) -> SeedReport {
    remember_panics();
    PANIC.take();
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let world = runtime.block_on(async { World::new(seed, is_verbose) });
    let simulated = std::panic::AssertUnwindSafe(|| runtime.block_on(simulate(seed, is_verbose, world.clone())));
    let report = std::panic::catch_unwind(simulated);
    drop(runtime);
    let mut report =
        report.unwrap_or_else(|_| SeedReport { seed, hash: 0, violations: vec![], lines: world.take_lines(), done: 0 });
    report.violations.extend(PANIC.take());
    report
}

async fn simulate(seed: u64, is_verbose: bool, world: Arc<World>) -> SeedReport {
    let _logs = is_verbose.then(|| {
        let (writer, logs) = (world.clone(), tracing_subscriber::fmt().without_time().with_ansi(false));
        tracing::subscriber::set_default(logs.with_writer(move || TraceWriter(writer.clone())).finish())
    });
    let databases = 1 + world.below(3) as usize;
    let partitions = 1 + world.below(3) as u32;
    let plan = FaultPlan::choose(&world, databases);
    let (serve, jobs, clients) = (1 + world.below(2), 1 + world.below(2), 2 + world.below(3));
    world.explain(|| format!("{databases} databases, {partitions} partitions, {serve} servers, {jobs} jobs, {plan:?}"));
    let tables = Arc::new(Mutex::new(Database::create_all(databases)));
    let cluster = Cluster::new(world.clone(), tables, partitions);
    let oracle = Arc::new(Mutex::new(Oracle::new(world.clone())));
    let groups = cluster.broker.clone();
    tokio::spawn(async move { watch_groups(&groups).await });
    cluster.start(serve, jobs);
    let supervised = cluster.clone();
    tokio::spawn(async move { supervised.supervise().await });
    let over = CancellationToken::new();
    let clients: Vec<_> = (0..clients)
        .map(|number| {
            let (world, cluster, oracle) = (world.clone(), cluster.clone(), oracle.clone());
            let client = Client { number, world, cluster, oracle, subjects: SUBJECTS.clone() };
            let over = over.clone();
            tokio::spawn(async move { client.run(&over).await })
        })
        .collect();
    let maker = FaultMaker { world: world.clone(), cluster, oracle: oracle.clone(), rewound: Arc::default() };
    maker.run(&plan).await;
    over.cancel();
    for client in clients {
        let _ = client.await;
    }
    maker.check(&plan).await;
    let oracle = lock(&oracle);
    let (violations, done) = (oracle.violations.clone(), oracle.done);
    SeedReport { seed, hash: world.hash(), violations, lines: world.take_lines(), done }
}

/// What many seeds gave.
#[derive(Debug, Default)]
pub(super) struct RangeReport {
    pub(super) seeds: AtomicU64,
    pub(super) answers: AtomicU64,
    pub(super) failed: Mutex<Vec<SeedReport>>,
}

/// Every so many seeds one is run twice: both must be the same to the last event.
const REPEATED_SEEDS: u64 = 50;
/// After so many failures the rest is not run.
const MAX_FAILURES: usize = 5;
/// How often the progress is printed.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Runs seeds from `first` on, on so many threads, until there were `count` of them or the time is over.
pub(super) fn run_range(
    first: u64,
    count: u64,
    time: Duration,
    threads: usize,
    progress: impl Fn(u64, Duration) + Send + Sync,
) -> RangeReport {
    let last = first.saturating_add(count);
    let (report, next, is_over) = (RangeReport::default(), AtomicU64::new(first), AtomicBool::new(false));
    let began = std::time::Instant::now();
    let printed_at = Mutex::new(began);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) && began.elapsed() < time {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        return;
                    }
                    let mut ran = run_seed(seed, false);
                    if seed.is_multiple_of(REPEATED_SEEDS) {
                        let again = run_seed(seed, false);
                        if again.hash != ran.hash {
                            ran.violations.push("the same seed has run differently a second time".into());
                        }
                    }
                    report.seeds.fetch_add(1, Ordering::Relaxed);
                    report.answers.fetch_add(ran.done, Ordering::Relaxed);
                    let mut printed_at = lock(&printed_at);
                    if printed_at.elapsed() >= PROGRESS_INTERVAL {
                        *printed_at = std::time::Instant::now();
                        progress(report.seeds.load(Ordering::Relaxed), began.elapsed());
                    }
                    drop(printed_at);
                    if !ran.violations.is_empty() {
                        let mut failed = lock(&report.failed);
                        failed.push(ran);
                        is_over.fetch_or(failed.len() >= MAX_FAILURES, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    report
}
