//! One frame of `gailou top`, as text.

use std::fmt::Write as _;

use crate::cli::top::scrape::{Interval, Selector};
use crate::telemetry::{DEPENDENCY_CALLS, HTTP_REQUEST_DURATION, OPEN_BREAKERS, SLOW_STATEMENTS};

/// Routes in a frame: the busiest.
const MAX_ROUTES: usize = 8;
/// Quantiles of durations.
const SHOWN_QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];
const READ_METHODS: &[&str] = &["GET", "HEAD"];
const WRITE_METHODS: &[&str] = &["POST", "PUT", "PATCH", "DELETE"];
const POST_ROUTE: &[&str] = &["/v1/subjects/{type}/{key}/comments"];
const LIKE_ROUTE: &[&str] = &["/v1/comments/{id}/like"];
const FAILED_STATUS: &[&str] = &["500", "502", "503", "504"];

/// What a terminal shows of an interval. `away` are the addresses that did not answer.
pub(super) fn render(interval: &Interval<'_>, addresses: &[String], away: &[&str]) -> String {
    let mut frame = TopFrame(String::new());
    frame.line("gailou", &format!("{} of {} answer", addresses.len() - away.len(), addresses.join(" ")));
    for address in away {
        frame.line("away", address);
    }
    frame.requests(interval);
    frame.latencies(interval);
    frame.calls(interval);
    frame.queues(interval);
    frame.processes(interval);
    frame.routes(interval);
    frame.0
}

struct TopFrame(String);

impl TopFrame {
    fn line(&mut self, name: &str, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{name:<12}{text}");
    }

    fn requests(&mut self, interval: &Interval<'_>) {
        let count = format!("{HTTP_REQUEST_DURATION}_count");
        let hot = interval.rate("gailou_http_hot_pages_total", &[]);
        let all = interval.rate(&count, &[]) + hot;
        let failed = interval.rate(&count, &[("status", FAILED_STATUS)]);
        let refused = interval.rate("gailou_admission_refused_total", &[]);
        let from_memory = share(hot, all);
        self.line(
            "requests",
            &format!("{all:.1}/s   {from_memory} from memory   {failed:.1}/s failed   {refused:.1}/s refused"),
        );
        let posts = interval.rate(&count, &[("method", &["POST"]), ("route", POST_ROUTE), ("status", &["201"])]);
        let likes = interval.rate(&count, &[("method", &["PUT"]), ("route", LIKE_ROUTE), ("status", &["200", "204"])]);
        self.line("writes", &format!("{posts:.1} posts/s   {likes:.1} likes/s"));
        let keys = interval.rates("gailou_cache_keys_total", &["level"], &[]);
        let asked: f64 = keys.iter().map(|(_, rate)| rate).sum();
        let levels: Vec<String> =
            keys.iter().map(|(level, rate)| format!("{} {}", level.join(""), share(*rate, asked))).collect();
        if !levels.is_empty() {
            self.line("cache", &levels.join("   "));
        }
    }

    fn latencies(&mut self, interval: &Interval<'_>) {
        let rows: [(&str, Selector<'_>); 2] =
            [("reads", &[("method", READ_METHODS)]), ("writes", &[("method", WRITE_METHODS)])];
        for (kind, selector) in rows {
            let quantiles = SHOWN_QUANTILES.map(|part| {
                let bound = interval.quantile(HTTP_REQUEST_DURATION, selector, part);
                format!("{:.0} % {}", part * 100.0, bound.map_or("-".into(), up_to))
            });
            self.line("latency", &format!("{kind:<6} {}", quantiles.join("   ")));
        }
    }

    fn calls(&mut self, interval: &Interval<'_>) {
        let calls = interval.rates(DEPENDENCY_CALLS, &["dependency"], &[]);
        let failures = interval.rates(
            DEPENDENCY_CALLS,
            &["dependency", "outcome"],
            &[("outcome", &["error", "timeout", "refused", "abandoned"])],
        );
        let calls: Vec<String> = calls.iter().map(|(of, rate)| format!("{} {rate:.1}/s", of.join(""))).collect();
        self.line("calls", &or_none(&calls));
        let failures: Vec<String> = failures.iter().map(|(of, rate)| format!("{} {rate:.1}/s", of.join(" "))).collect();
        self.line("failures", &or_none(&failures));
        let open = interval.after.by(OPEN_BREAKERS, &["dependency"], &[]);
        let open: Vec<String> = open
            .iter()
            .filter(|(_, count)| **count > 0.0)
            .map(|(of, count)| format!("{} {count:.0}", of.join("")))
            .collect();
        self.line("breakers", &or_none(&open));
        self.line("slow", &format!("{:.1} statements/s", interval.rate(SLOW_STATEMENTS, &[])));
    }

    fn queues(&mut self, interval: &Interval<'_>) {
        let now = interval.after;
        let mut parts = Vec::new();
        if now.count("gailou_broker_lag_records") > 0 {
            parts.push(format!("broker {:.0}", now.sum("gailou_broker_lag_records", &[])));
        }
        let waiting = [("search", "gailou_search_queue_comments"), ("events", "gailou_event_queue_events")];
        for (name, metric) in waiting {
            if let Some(most) = now.max(metric) {
                parts.push(format!("{name} {most:.0}"));
            }
        }
        for (of, comments) in now.by("gailou_review_queue_comments", &["part"], &[]) {
            parts.push(format!("{} {comments:.0}", of.join("")));
        }
        self.line("waiting", &or_none(&parts));
        let states = [
            ("writes are not stored", "gailou_writes_failing"),
            ("the broker is stopped", "gailou_broker_stopped"),
            ("requests are refused for overload", "gailou_overloaded"),
            ("something is left out", "gailou_degraded"),
        ];
        let wrong: Vec<String> = states
            .iter()
            .filter(|(_, metric)| now.max(metric) > Some(0.0))
            .map(|(text, _)| (*text).to_owned())
            .collect();
        self.line("wrong", &or_none(&wrong));
    }

    fn processes(&mut self, interval: &Interval<'_>) {
        let now = interval.after;
        let memory = now.sum("process_resident_memory_bytes", &[]) / f64::from(1 << 20);
        let cores = interval.rate("process_cpu_seconds_total", &[]);
        let connections = now.sum("gailou_http_connections", &[]);
        let bound = now.sum("gailou_http_connections_max", &[]);
        self.line(
            "processes",
            &format!("{memory:.0} MiB   {cores:.2} cores   {connections:.0} of {bound:.0} connections"),
        );
    }

    fn routes(&mut self, interval: &Interval<'_>) {
        let count = format!("{HTTP_REQUEST_DURATION}_count");
        let mut rates = interval.rates(&count, &["method", "route"], &[]);
        rates.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (of, rate) in rates.iter().take(MAX_ROUTES) {
            let [method, route] = of[..] else { continue };
            let slowest = interval.quantile(HTTP_REQUEST_DURATION, &[("method", &[method]), ("route", &[route])], 0.99);
            let slowest = slowest.map_or("-".into(), up_to);
            self.line("route", &format!("{rate:>8.1}/s   99 % {slowest:<10} {method} {route}"));
        }
    }
}

/// A part of all, in percent.
fn share(part: f64, all: f64) -> String {
    if all > 0.0 { format!("{:.0} %", 100.0 * part / all) } else { "-".into() }
}

/// The bound of a bucket.
fn up_to(seconds: f64) -> String {
    match seconds {
        seconds if seconds.is_infinite() => "longer".into(),
        seconds if seconds < 1.0 => format!("< {} ms", seconds * 1_000.0),
        seconds => format!("< {seconds} s"),
    }
}

fn or_none(parts: &[String]) -> String {
    if parts.is_empty() { "none".into() } else { parts.join("   ") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cli::top::scrape::Scrape;

    #[test]
    fn frame_has_what_happened_and_what_waits() {
        let text = |n: u32| {
            let requests = |method: &str, route: &str, status: u16, count: u32| {
                let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
                format!(
                    "{HTTP_REQUEST_DURATION}_bucket{{{labels},le=\"0.005\"}} {count}\n\
                     {HTTP_REQUEST_DURATION}_bucket{{{labels},le=\"+Inf\"}} {count}\n\
                     {HTTP_REQUEST_DURATION}_count{{{labels}}} {count}\n"
                )
            };
            let list = "/v1/subjects/{type}/{key}/comments";
            [
                requests("GET", list, 200, 20 * n),
                requests("GET", list, 503, 2 * n),
                requests("POST", list, 201, 4 * n),
                requests("PUT", "/v1/comments/{id}/like", 204, 6 * n),
                format!("gailou_http_hot_pages_total {}\n", 32 * n),
                format!(
                    "gailou_cache_keys_total{{level=\"local\"}} {}\ngailou_cache_keys_total{{level=\"mysql\"}} {n}\n",
                    3 * n
                ),
                format!("{DEPENDENCY_CALLS}{{dependency=\"mysql\",outcome=\"timeout\"}} {}\n", 2 * n),
                format!("{OPEN_BREAKERS}{{dependency=\"mysql\"}} 1\n{OPEN_BREAKERS}{{dependency=\"redis\"}} 0\n"),
                "gailou_broker_lag_records{topic=\"comments\",partition=\"0\"} 3\n".into(),
                "gailou_broker_lag_records{topic=\"comments\",partition=\"1\"} 4\n".into(),
                "gailou_review_queue_comments{part=\"held\"} 5\ngailou_writes_failing 1\n".into(),
                format!("process_resident_memory_bytes 104857600\nprocess_cpu_seconds_total {n}\n"),
                "gailou_http_connections 12\ngailou_http_connections_max 10000\n".into(),
            ]
            .concat()
        };
        let scrape = |n| {
            let mut scrape = Scrape::default();
            scrape.add(&text(n));
            scrape
        };
        let (before, after) = (scrape(1), scrape(2));
        let interval = Interval { before: &before, after: &after, duration: Duration::from_secs(2) };
        let addresses = ["127.0.0.1:8080".to_owned(), "127.0.0.1:9100".to_owned()];
        let frame = render(&interval, &addresses, &["127.0.0.1:9100"]);
        for expected in [
            "gailou      1 of 127.0.0.1:8080 127.0.0.1:9100 answer",
            "away        127.0.0.1:9100",
            "requests    32.0/s   50 % from memory   1.0/s failed   0.0/s refused",
            "writes      2.0 posts/s   3.0 likes/s",
            "cache       local 75 %   mysql 25 %",
            "latency     reads  50 % < 5 ms   95 % < 5 ms   99 % < 5 ms",
            "calls       mysql 1.0/s",
            "failures    mysql timeout 1.0/s",
            "breakers    mysql 1",
            "waiting     broker 7   held 5",
            "wrong       writes are not stored",
            "processes   100 MiB   0.50 cores   12 of 10000 connections",
            "route           11.0/s   99 % < 5 ms     GET /v1/subjects/{type}/{key}/comments",
        ] {
            assert!(frame.lines().any(|line| line == expected), "{expected}\n\nis missing in\n\n{frame}");
        }
    }
}
