//! The figures of a cluster, as ratios against a peer or a goal in the same run.
//!
//! Everything is real: MariaDB, Redis and Kafka, `gailou serve` twice and `gailou job` as processes,
//! with default settings and without rate limits. All of them share the cores of the machine with the
//! client that makes the load: the ratio counts, not the rate, and the CPU time of each process shows
//! its share. Parts can be selected: `-- posts likes`.

mod bench_cluster;
mod cpu_time;
mod deep_paging;
mod http_client;
mod reads;
mod redis_peer;
mod writes;

use bench_cluster::BenchCluster;
use serde_json::{Value, json};

fn main() {
    if !gailou_tests::backing_servers::available() {
        return;
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime").block_on(run());
}

async fn run() {
    // Cargo adds options, which begin with a dash.
    let selected: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runs = |part: &str| selected.is_empty() || selected.iter().any(|name| name == part);
    let cluster = BenchCluster::start().await;
    let ids = reads::fill(&cluster).await;
    if runs("posts") {
        writes::measure_posts(&cluster).await;
    }
    if runs("likes") {
        writes::measure_likes(&cluster, &ids).await;
    }
    if runs("reads") {
        reads::measure(&cluster).await;
    }
    if runs("depth") {
        deep_paging::measure(&cluster).await;
    }
}

/// Prints a figure as `scripts/bench-table.mjs` reads it: beside `"what": "…"`, the fields of the second argument.
fn print_figure(what: &str, mut figure: Value) {
    figure["what"] = format!("cluster: {what}").into();
    println!("{figure}");
}

/// Prints what each of these requests costs each process, but for those that had nothing to do.
fn print_cpu(of: &str, cpu: &[(&str, f64)]) {
    let all = cpu.iter().map(|(_, spent)| spent).sum::<f64>();
    for (process, spent) in cpu.iter().filter(|(_, spent)| *spent > all / 100.0) {
        print_figure(&format!("{of}, processor time of each: {process}"), json!({ "value": spent, "unit": " µs" }));
    }
    print_figure(&format!("{of}, processor time of each: all together"), json!({ "value": all, "unit": " µs" }));
}

/// The value below which this fraction of the values is, or 0 without values.
fn quantile(values: &mut [f64], fraction: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * fraction) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}
