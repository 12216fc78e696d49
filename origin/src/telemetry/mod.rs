//! Metrics: how durations are measured, and how everything is served in Prometheus' text format. Slow statements are
//! logged, and requests are traced, from here.
//!
//! Not here: the counts themselves, which are where something happens. Durations and breakers go to one
//! recorder of the process, since an adapter knows no server. What a server counts for itself is read when it
//! is requested, so two servers in one process (in tests) do not mix their counts. Promise: a call is
//! measured even when its caller gives up on it.

mod calls;
mod requests;
mod slow_statements;
pub mod trace;

use std::sync::LazyLock;
use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, with_local_recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

pub use self::calls::{BreakerMetrics, CallTimer, measure_bounded, measure_call, measure_here, measure_pool_wait};
pub use self::requests::record_request;
pub use self::slow_statements::{note_statement, set_slow};

/// Seconds from the request's head to the response's head, by `method`, `route` and `status`.
pub const HTTP_REQUEST_DURATION: &str = "gailou_http_request_duration_seconds";
/// Seconds of a call to a `dependency` (`mysql`, `redis`, `kafka`, `sqlite`, `journal`, `page_cache`,
/// `edge`), by `operation`. Both are constants of the code.
pub const DEPENDENCY_DURATION: &str = "gailou_dependency_duration_seconds";
/// Circuit breakers that are open, by `dependency`.
pub const OPEN_BREAKERS: &str = "gailou_breakers_open";
/// Calls to a `dependency`, by `outcome`.
pub const DEPENDENCY_CALLS: &str = "gailou_dependency_calls_total";
/// Statements that took long, by `dependency`.
pub const SLOW_STATEMENTS: &str = "gailou_slow_statements_total";
/// Seconds until a connection was free, or a request was admitted, by `pool`.
pub const POOL_WAIT_DURATION: &str = "gailou_pool_wait_seconds";

/// Upper bounds of the buckets of [`HTTP_REQUEST_DURATION`], in seconds.
const HTTP_BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Upper bounds of the buckets of all other durations, in seconds: from a Redis on the same machine
/// to the longest timeout.
const CALL_BUCKETS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// What runs statements.
#[cfg(feature = "cluster")]
const STATEMENT_DEPENDENCIES: [&str; 2] = ["sqlite", "mysql"];
#[cfg(not(feature = "cluster"))]
const STATEMENT_DEPENDENCIES: [&str; 1] = ["sqlite"];

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
    describe_counter!(DEPENDENCY_CALLS, "Calls to what Gailou depends on, by what they came to.");
    describe_counter!(SLOW_STATEMENTS, "Statements that took telemetry.slow_statement_ms or longer.");
    for dependency in STATEMENT_DEPENDENCIES {
        counter!(SLOW_STATEMENTS, "dependency" => dependency).increment(0);
    }
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

#[cfg(test)]
mod tests {
    use metrics::gauge;

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
}
