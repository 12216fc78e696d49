//! Calls to dependencies: how long they take, what they come to, and what breakers refuse.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::telemetry::trace::call_span;
use crate::telemetry::{DEPENDENCY_CALLS, DEPENDENCY_DURATION, OPEN_BREAKERS, POOL_WAIT_DURATION, install};

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CallOutcome {
    Ok,
    Error,
    /// No answer in time.
    Timeout,
    /// Its caller has gone away.
    Abandoned,
}

impl CallOutcome {
    const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Measures a call to a dependency until it completes or is dropped.
///
/// # Errors
/// Those of the call.
pub async fn measure_call<T, E>(
    dependency: &'static str,
    operation: &'static str,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let mut timer = CallTimer::start(dependency, operation);
    let answer = call.await;
    timer.note(&answer);
    answer
}

/// The same for a call that is given up after `max_wait`.
///
/// # Errors
/// When it was given up.
pub async fn measure_bounded<T, E>(
    dependency: &'static str,
    operation: &'static str,
    max_wait: Duration,
    call: impl Future<Output = Result<T, E>>,
) -> Result<Result<T, E>, Elapsed> {
    let mut timer = CallTimer::start(dependency, operation);
    let answer = timeout(max_wait, call).await;
    match &answer {
        Ok(answer) => timer.note(answer),
        Err(_) => timer.note_timeout(),
    }
    answer
}

/// The same for a call that this thread waits for.
///
/// # Errors
/// Those of the call.
pub fn measure_here<T, E>(
    dependency: &'static str,
    operation: &'static str,
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut timer = CallTimer::start(dependency, operation);
    let answer = call();
    timer.note(&answer);
    answer
}

/// Measures a call to a dependency from here until the value is dropped.
#[derive(Debug)]
#[must_use]
pub struct CallTimer {
    /// The call in the trace of its request.
    span: tracing::Span,
    dependency: &'static str,
    operation: &'static str,
    started: Instant,
    outcome: CallOutcome,
}

impl CallTimer {
    /// Begins a call that is abandoned unless something else is noted.
    pub fn start(dependency: &'static str, operation: &'static str) -> Self {
        let span = call_span(dependency, operation);
        Self { span, dependency, operation, started: Instant::now(), outcome: CallOutcome::Abandoned }
    }

    /// Notes an answer. What failed before stays failed.
    pub fn note<T, E>(&mut self, answer: &Result<T, E>) {
        match (answer, self.outcome) {
            (Ok(_), CallOutcome::Abandoned) => self.outcome = CallOutcome::Ok,
            (Ok(_), _) => {}
            (Err(_), _) => self.outcome = CallOutcome::Error,
        }
    }

    /// Notes that there was no answer in time.
    pub fn note_timeout(&mut self) {
        self.outcome = CallOutcome::Timeout;
    }

    /// Notes that a statement began, which its caller may leave.
    pub fn note_begin(&mut self) {
        if self.outcome == CallOutcome::Ok {
            self.outcome = CallOutcome::Abandoned;
        }
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        self.span.record("outcome", self.outcome.label());
        record_call(self.dependency, self.operation, self.outcome, self.started.elapsed());
    }
}

/// What a circuit breaker counts. The breakers of one dependency share it.
pub struct BreakerMetrics {
    open: Gauge,
    refusals: Counter,
}

impl std::fmt::Debug for BreakerMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BreakerMetrics").finish_non_exhaustive()
    }
}

impl BreakerMetrics {
    pub fn new(dependency: &'static str) -> Self {
        install();
        let open = gauge!(OPEN_BREAKERS, "dependency" => dependency);
        let refusals = counter!(DEPENDENCY_CALLS, "dependency" => dependency, "outcome" => "refused");
        // Shown from the beginning.
        open.increment(0.0);
        refusals.increment(0);
        Self { open, refusals }
    }

    /// One breaker more is open (1), or less (-1).
    pub fn count_open(&self, change: f64) {
        self.open.increment(change);
    }

    pub fn count_refusal(&self) {
        self.refusals.increment(1);
    }
}

thread_local! {
    /// The histograms that this thread has recorded into, by dependency and operation: to find one in the
    /// recorder costs as much as a small request.
    static CALL_HISTOGRAMS: RefCell<HashMap<(&'static str, &'static str), Histogram>> = RefCell::default();
    /// The same for the counters, by dependency and outcome.
    static CALL_COUNTERS: RefCell<HashMap<(&'static str, CallOutcome), Counter>> = RefCell::default();
}

fn record_call(dependency: &'static str, operation: &'static str, outcome: CallOutcome, duration: Duration) {
    // A thread that is ending records nothing more.
    let _ = CALL_HISTOGRAMS.try_with(|histograms| {
        let mut histograms = histograms.borrow_mut();
        let durations = histograms.entry((dependency, operation)).or_insert_with(|| {
            install();
            histogram!(DEPENDENCY_DURATION, &[("dependency", dependency), ("operation", operation)])
        });
        durations.record(duration);
    });
    let _ = CALL_COUNTERS.try_with(|counters| {
        let mut counters = counters.borrow_mut();
        let calls = counters
            .entry((dependency, outcome))
            .or_insert_with(|| counter!(DEPENDENCY_CALLS, "dependency" => dependency, "outcome" => outcome.label()));
        calls.increment(1);
    });
}

/// Measures how long a connection of `pool` is waited for.
pub async fn measure_pool_wait<F: Future>(pool: &'static str, connection: F) -> F::Output {
    let started = Instant::now();
    let connection = connection.await;
    histogram!(POOL_WAIT_DURATION, "pool" => pool).record(started.elapsed());
    connection
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::render;

    #[tokio::test]
    async fn every_call_is_measured_and_counted_by_what_it_came_to() {
        install();
        let (moment, never) = (Duration::from_millis(1), std::future::pending::<Result<(), ()>>);
        assert!(timeout(moment, measure_call("calls-test", "abandoned", never())).await.is_err());
        assert!(measure_bounded("calls-test", "late", moment, never()).await.is_err());
        assert!(measure_bounded("calls-test", "wrong", moment, async { Err::<(), ()>(()) }).await.unwrap().is_err());
        measure_call("calls-test", "done", async { Ok::<(), ()>(()) }).await.unwrap();
        measure_here("calls-test", "here", || Ok::<(), ()>(())).unwrap();
        BreakerMetrics::new("calls-test").count_refusal();
        let text = render(|| ());
        for operation in ["abandoned", "late", "wrong", "done", "here"] {
            let labels = format!("dependency=\"calls-test\",operation=\"{operation}\"");
            assert!(text.contains(&format!("{DEPENDENCY_DURATION}_count{{{labels}}} 1\n")), "{text}");
        }
        for (outcome, count) in [("abandoned", 1), ("timeout", 1), ("error", 1), ("ok", 2), ("refused", 1)] {
            let labels = format!("dependency=\"calls-test\",outcome=\"{outcome}\"");
            assert!(text.contains(&format!("{DEPENDENCY_CALLS}{{{labels}}} {count}\n")), "{outcome}: {text}");
        }
        assert!(text.contains("operation=\"done\",le=\"0.25\"} 1"), "{text}");
    }

    #[test]
    fn failed_statement_is_not_undone_by_those_after_it() {
        let mut timer = CallTimer::start("statements-test", "several");
        timer.note(&Ok::<(), ()>(()));
        assert_eq!(timer.outcome, CallOutcome::Ok);
        timer.note_begin();
        assert_eq!(timer.outcome, CallOutcome::Abandoned);
        timer.note(&Err::<(), ()>(()));
        timer.note_begin();
        timer.note(&Ok::<(), ()>(()));
        assert_eq!(timer.outcome, CallOutcome::Error);
    }
}
