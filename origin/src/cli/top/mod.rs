//! `gailou top`: what running processes do, by their metrics, once a second.
//!
//! Not here: what a metric means, which is in the operator's documentation. Promise: it changes nothing, and needs
//! nothing but the addresses of the metrics, which have no token.

mod frame;
mod scrape;

use std::env;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use console::Term;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::cli::http_get::{get, own_address};
use crate::cli::print_line;
use crate::cli::top::frame::render;
use crate::cli::top::scrape::{Interval, Scrape};
use crate::config::Config;

/// Between two looks.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// The variable with the addresses, where none is an argument.
const ADDRESS_VARIABLE: &str = "GAILOU";

/// What is watched, and how.
#[derive(Debug, Args)]
pub(super) struct TopArguments {
    /// Addresses of processes, such as 10.0.0.7:9100 [env: GAILOU] [default: the one that this machine's server listens on]
    #[arg(value_name = "ADDR:PORT")]
    addresses: Vec<String>,
    /// Print what happens within one second, and end, as always where the output is no terminal
    #[arg(long)]
    once: bool,
}

/// Shows frames until a signal ends the process, or prints one.
pub(super) async fn run(config: &Config, arguments: TopArguments) -> anyhow::Result<u8> {
    let addresses = addresses(config, arguments.addresses);
    let (mut before, away) = look(&addresses).await;
    ensure!(away.len() < addresses.len(), "none of {} answers", addresses.join(", "));
    let mut before_at = Instant::now();
    let terminal = Term::stdout();
    loop {
        sleep(REFRESH_INTERVAL).await;
        let (after, away) = look(&addresses).await;
        let now = Instant::now();
        let interval = Interval { before: &before, after: &after, duration: now - before_at };
        let frame = render(&interval, &addresses, &away);
        if arguments.once || !terminal.is_term() {
            print_line(frame.trim_end());
            return Ok(0);
        }
        terminal.clear_screen().and_then(|()| terminal.write_str(&frame)).context("the terminal")?;
        (before, before_at) = (after, now);
    }
}

fn addresses(config: &Config, given: Vec<String>) -> Vec<String> {
    let split = |list: &str| list.split([',', ' ']).filter(|one| !one.is_empty()).map(bare_address).collect();
    match (given, env::var(ADDRESS_VARIABLE)) {
        (given, _) if !given.is_empty() => given.iter().map(|address| bare_address(address)).collect(),
        (_, Ok(list)) if !list.trim().is_empty() => split(&list),
        _ => vec![own_address(config.bind).to_string()],
    }
}

/// `host:port` of an address that may be written as one of the web.
fn bare_address(address: &str) -> String {
    address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/').to_owned()
}

/// What the processes say now, and the addresses of those that do not answer.
async fn look(addresses: &[String]) -> (Scrape, Vec<&str>) {
    let answers = join_all(addresses.iter().map(|address| get(address, "/metrics"))).await;
    let (mut scrape, mut away) = (Scrape::default(), Vec::new());
    for (address, answer) in addresses.iter().zip(answers) {
        match answer {
            Ok(answer) if answer.is_ok() => scrape.add(&answer.body),
            _ => away.push(address.as_str()),
        }
    }
    (scrape, away)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_may_be_written_as_one_of_the_web() {
        let config = Config { bind: "0.0.0.0:8080".parse().unwrap(), ..Config::default() };
        let given = ["http://10.0.0.7:9100/", "job:9100"].map(str::to_owned).to_vec();
        assert_eq!(addresses(&config, given), ["10.0.0.7:9100", "job:9100"]);
    }
}
