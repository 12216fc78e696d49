//! The cluster's figures, as ratios against a peer or a goal in the same run.
//!
//! Everything is real: MariaDB, Redis and Kafka of this run's own, `gailou serve` twice and `gailou
//! job` as processes, with the settings they have by default and no rate limits. All of them and the
//! load's client share the machine's cores: the ratio is what counts, not the rate, and the processor
//! time of each process says what bounds it. Parts can be named: `-- posts likes`.

mod depth;
mod http;
mod peer;
mod processes;
mod reads;
mod stand;
mod writes;

use gailou_tests::services;
use stand::Stand;

fn main() {
    if !services::available() {
        return;
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime").block_on(run());
}

async fn run() {
    // Cargo adds options of its own.
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runs = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    let stand = Stand::start().await;
    let ids = reads::fill(&stand).await;
    if runs("posts") {
        writes::posts(&stand).await;
    }
    if runs("likes") {
        writes::likes(&stand, &ids).await;
    }
    if runs("reads") {
        reads::zipf(&stand).await;
    }
    if runs("depth") {
        depth::million(&stand).await;
    }
}

/// The value below which this part of the values lies; 0 of none.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * part) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}
