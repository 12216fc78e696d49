//! The seeds that every test run has, and `make simulate`.

use std::io::Write as _;
use std::time::Duration;

use crate::testing::simulation::oracle::WRONG;
use crate::testing::simulation::run::{run_range, run_seed};

/// Events that are printed before a failure.
const TAIL_LINES: usize = 25;
/// Violations of one seed that are printed.
const MAX_VIOLATIONS: usize = 5;

fn print(text: &str) {
    // Not captured by the test harness, so that progress is seen.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| value.parse().expect(name))
}

#[test]
fn seed_repeats_exactly() {
    for seed in 0..4 {
        let (first, second) = (run_seed(seed, false), run_seed(seed, true));
        assert_eq!(first.hash, second.hash, "seed {seed}");
        assert!(first.done > 0, "seed {seed}");
    }
}

/// `make simulate` runs it: `SIMULATE_SEED` one seed with its trace, else `SIMULATE_SEEDS` from `SIMULATE_FROM` on or
/// what `SIMULATE_SECONDS` give.
#[test]
#[ignore = "make simulate"]
fn seeds_are_clean() {
    if let Some(seed) = setting("SIMULATE_SEED") {
        let report = run_seed(seed, true);
        report.lines.iter().for_each(|line| print(line));
        report.violations.iter().for_each(|text| print(&format!("seed {seed}: {text}")));
        assert!(report.violations.is_empty(), "seed {seed} fails");
        return;
    }
    let (first, count) = (setting("SIMULATE_FROM").unwrap_or(0), setting("SIMULATE_SEEDS").unwrap_or(u64::MAX));
    let time = Duration::from_secs(setting("SIMULATE_SECONDS").unwrap_or(if count < u64::MAX { 86_400 } else { 60 }));
    let threads = setting("SIMULATE_THREADS").map_or_else(
        || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        |threads| threads as usize,
    );
    let began = std::time::Instant::now();
    let progress = |seeds: u64, passed: Duration| {
        print(&format!("{seeds} seeds in {} s", passed.as_secs()));
    };
    let report = run_range(first, count, time, threads, progress);
    let (seeds, seconds) = (report.seeds.into_inner(), began.elapsed().as_secs_f64());
    let failed = report.failed.into_inner().expect("the failures");
    print(&format!(
        "{seeds} seeds from {first} on in {seconds:.0} s, {:.0} a minute; {} requests; {} failed",
        seeds as f64 * 60.0 / seconds,
        report.answers.into_inner(),
        failed.len()
    ));
    for report in &failed {
        // Repeated with its trace, up to what went wrong first.
        let lines = run_seed(report.seed, true).lines;
        let wrong = lines.iter().position(|line| line.contains(WRONG)).map_or(lines.len(), |at| at + 1);
        lines[wrong.saturating_sub(TAIL_LINES)..wrong].iter().for_each(|line| print(line));
        for violation in report.violations.iter().take(MAX_VIOLATIONS) {
            print(&format!("seed {}: {violation}", report.seed));
        }
        print(&format!("repeat it with: make simulate SEED={}", report.seed));
    }
    assert!(failed.is_empty(), "{} seeds fail", failed.len());
}
