//! Metrics: how durations are measured, and how everything is served in Prometheus' text format.
//!
//! Not here: the counts themselves, which are where something happens. Durations and breakers go to one
//! recorder of the process, since an adapter knows no server. What a server counts for itself is read when it
//! is requested, so two servers in one process (in tests) do not mix their counts. Promise: a call is
//! measured even when its caller gives up on it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram, Unit, with_local_recorder};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Seconds from the request's head to the response's head, by `method`, `route` and `status`.
pub const HTTP_REQUEST_DURATION: &str = "gailou_http_request_duration_seconds";
/// Seconds of a call to a `dependency` (`mysql`, `redis`, `kafka`, `sqlite`, `journal`, `page_cache`,
/// `edge`), by `operation`. Both are constants of the code.
pub const DEPENDENCY_DURATION: &str = "gailou_dependency_duration_seconds";
/// Circuit breakers that are open, by `dependency`.
pub const OPEN_BREAKERS: &str = "gailou_breakers_open";
/// Calls that open breakers refused, by `dependency`.
pub const BREAKER_REFUSALS: &str = "gailou_breaker_refusals_total";
/// Seconds until a connection was free, or a request was admitted, by `pool`.
pub const POOL_WAIT_DURATION: &str = "gailou_pool_wait_seconds";

/// Upper bounds of the buckets of [`HTTP_REQUEST_DURATION`], in seconds.
const HTTP_BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Upper bounds of the buckets of all other durations, in seconds: from a Redis on the same machine
/// to the longest timeout.
const CALL_BUCKETS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// How often measured durations are sorted into their buckets; until then each takes 8 bytes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

static DURATION_RECORDER: LazyLock<PrometheusHandle> = LazyLock::new(|| {
    let recorder = builder().build_recorder();
    let handle = recorder.handle();
    // Another recorder may be there already only in a program that embeds this one.
    let _ = metrics::set_global_recorder(recorder);
    describe_histogram!(HTTP_REQUEST_DURATION, Unit::Seconds, "Requests, until the head of the response.");
    describe_histogram!(DEPENDENCY_DURATION, Unit::Seconds, "Calls to what Gailou depends on.");
    describe_histogram!(POOL_WAIT_DURATION, Unit::Seconds, "Waiting for a free connection, or for admission.");
    describe_gauge!(OPEN_BREAKERS, "Circuit breakers that are open or half open.");
    describe_counter!(BREAKER_REFUSALS, "Calls that were not sent because a breaker is open.");
    handle
});

fn builder() -> PrometheusBuilder {
    let http = Matcher::Full(HTTP_REQUEST_DURATION.to_owned());
    let calls = Matcher::Suffix("_seconds".to_owned());
    let with_buckets = |builder: PrometheusBuilder| {
        builder.set_buckets_for_metric(http, &HTTP_BUCKETS)?.set_buckets_for_metric(calls, &CALL_BUCKETS)
    };
    // Fails for a metric without buckets alone.
    with_buckets(PrometheusBuilder::new()).unwrap_or_default()
}

/// Lets durations be recorded from here on. A second call does nothing.
pub fn install() {
    LazyLock::force(&DURATION_RECORDER);
}

/// Keeps the memory of the recorder bounded, whether or not anybody requests the metrics. Never ends.
pub async fn run_upkeep() {
    let mut interval = tokio::time::interval(UPKEEP_INTERVAL);
    loop {
        interval.tick().await;
        DURATION_RECORDER.run_upkeep();
    }
}

/// A part of the program that keeps counts of its own.
pub trait Collector: Send + Sync + std::fmt::Debug {
    /// Reports them with the macros of [`metrics`].
    fn collect(&self);
}

/// All metrics: the durations of the process, and what `collect` reports with the macros of
/// [`metrics`].
pub fn render(collect: impl FnOnce()) -> String {
    let counts = PrometheusBuilder::new().build_recorder();
    with_local_recorder(&counts, collect);
    format!("{}{}", DURATION_RECORDER.render(), counts.handle().render())
}

/// Measures a call to a dependency until it completes or is dropped.
pub async fn measure_call<F: Future>(dependency: &'static str, operation: &'static str, call: F) -> F::Output {
    let _timer = CallTimer::start(dependency, operation);
    call.await
}

/// Measures a call to a dependency from here until the value is dropped.
#[derive(Debug)]
#[must_use]
pub struct CallTimer {
    dependency: &'static str,
    operation: &'static str,
    started: Instant,
}

impl CallTimer {
    pub fn start(dependency: &'static str, operation: &'static str) -> Self {
        Self { dependency, operation, started: Instant::now() }
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        record_call(self.dependency, self.operation, self.started.elapsed());
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
        let refusals = counter!(BREAKER_REFUSALS, "dependency" => dependency);
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
    /// The same for requests, by route; then by method and status.
    static REQUEST_HISTOGRAMS: RefCell<HashMap<String, Vec<RequestHistogram>>> = RefCell::default();
}

/// The requests of one route, method and status.
struct RequestHistogram {
    method: &'static str,
    status: u16,
    durations: Histogram,
}

fn record_call(dependency: &'static str, operation: &'static str, duration: Duration) {
    // A thread that is ending records nothing more.
    let _ = CALL_HISTOGRAMS.try_with(|histograms| {
        let mut histograms = histograms.borrow_mut();
        let durations = histograms.entry((dependency, operation)).or_insert_with(|| {
            install();
            histogram!(DEPENDENCY_DURATION, &[("dependency", dependency), ("operation", operation)])
        });
        durations.record(duration);
    });
}

/// Records a request of this route, which the contract names, until the head of its response.
pub fn record_request(method: &'static str, route: &str, status: u16, duration: Duration) {
    REQUEST_HISTOGRAMS.with_borrow_mut(|routes| {
        let known = match routes.get_mut(route) {
            Some(known) => known,
            None => routes.entry(route.to_owned()).or_default(),
        };
        let found = known.iter().find(|known| (known.method, known.status) == (method, status));
        if let Some(found) = found {
            return found.durations.record(duration);
        }
        install();
        let labels = [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        let durations = histogram!(HTTP_REQUEST_DURATION, &labels);
        durations.record(duration);
        known.push(RequestHistogram { method, status, durations });
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

    #[test]
    fn counts_are_rendered_as_prometheus_reads_them() {
        let text = render(|| {
            describe_counter!("a_total", "What a is.");
            counter!("a_total", "x" => "1").absolute(3);
            gauge!("b").set(4);
        });
        assert!(text.contains("# HELP a_total What a is.\n# TYPE a_total counter\na_total{x=\"1\"} 3\n"), "{text}");
        assert!(text.contains("# TYPE b gauge\nb 4\n"), "{text}");
        assert!(!render(|| ()).contains("a_total"), "the counts of one server are not those of another");
    }

    #[tokio::test]
    async fn cancelled_call_is_measured() {
        install();
        let call = measure_call("redis", "test.cancelled", std::future::pending::<()>());
        assert!(tokio::time::timeout(Duration::from_millis(1), call).await.is_err());
        measure_call("redis", "test.done", async {}).await;
        let text = render(|| ());
        for operation in ["test.cancelled", "test.done"] {
            let count = format!("{DEPENDENCY_DURATION}_count{{dependency=\"redis\",operation=\"{operation}\"}} 1\n");
            assert!(text.contains(&count), "{text}");
        }
        assert!(text.contains("operation=\"test.done\",le=\"0.25\"} 1"), "{text}");
    }
}
