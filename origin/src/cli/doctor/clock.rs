//! Whether the clock of this machine is right, as one row: what keeps it, whether servers elsewhere have the same time, and
//! whether the newest comment is of the past.
//!
//! The kernel knows whether a server of time keeps its clock, and `timedatectl` asks it; in a container, and on a system
//! without that command, servers elsewhere have to say it. A server of this machine has our clock, and a proxy in front of
//! us may hand on our own time: theirs proves something only where it differs.

use std::net::UdpSocket;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::process::Command;
use tokio::time::timeout;
use url::Url;

use crate::cli::doctor::{Finding, Fine, Warning};

/// How far the clock of a server may be from ours: its answer says whole seconds, and takes up to five.
const MAX_CLOCK_DIFFERENCE_MS: u64 = 10_000;
/// How long the system may take to say what keeps its clock.
const SYSTEM_TIMEOUT: Duration = Duration::from_secs(3);

/// The time that a server says it is.
#[derive(Debug)]
pub(super) struct ServerTime {
    pub(super) url: String,
    /// Unix milliseconds.
    pub(super) at: u64,
    /// Our own, when it said so.
    pub(super) now: u64,
    /// Whether its clock is another one than ours.
    pub(super) is_elsewhere: bool,
}

/// The row: of the times of servers, and of when the newest comment was made, in Unix milliseconds.
pub(super) async fn check(times: &[ServerTime], newest: Option<u64>, now: u64) -> Finding {
    judge(ask_system().await, times, newest, now)
}

/// Whether a server of time keeps the clock, as the system says; `None` where it cannot be asked.
async fn ask_system() -> Option<bool> {
    let mut command = Command::new("timedatectl");
    command.args(["show", "--property=NTPSynchronized", "--value"]).kill_on_drop(true);
    let output = timeout(SYSTEM_TIMEOUT, command.output()).await.ok()?.ok()?;
    parse_answer(&output.stdout)
}

fn parse_answer(said: &[u8]) -> Option<bool> {
    match said.trim_ascii() {
        b"yes" => Some(true),
        b"no" => Some(false),
        _ => None,
    }
}

fn judge(is_kept: Option<bool>, times: &[ServerTime], newest: Option<u64>, now: u64) -> Finding {
    let row = |health, what: String| Finding(health, "clock".into(), what);
    let mut wrong: Vec<String> = times.iter().filter_map(difference).collect();
    if let Some(ahead) =
        newest.map(|newest| newest.saturating_sub(now)).filter(|ahead| *ahead > MAX_CLOCK_DIFFERENCE_MS)
    {
        let seconds = ahead / 1_000;
        wrong.push(format!(
            "the newest comment is {seconds} s in the future, and new ones have its time until then: set the clock by NTP"
        ));
    }
    if is_kept == Some(false) {
        wrong.push("no server of time keeps it: timedatectl set-ntp true".into());
    }
    if !wrong.is_empty() {
        return row(Warning, wrong.join("; "));
    }
    let same: Vec<_> = times.iter().filter(|time| time.is_elsewhere).map(|time| &*time.url).collect();
    match (is_kept, same.join(", ")) {
        (Some(_), same) if same.is_empty() => row(Fine, "kept by a server of time".into()),
        (Some(_), same) => row(Fine, format!("kept by a server of time, and as that of {same}")),
        (None, same) if !same.is_empty() => row(Fine, format!("as that of {same}")),
        (None, _) => {
            let what = "compared with nothing: on the machine itself, timedatectl should say that it is synchronized";
            row(Warning, what.into())
        }
    }
}

/// How a server's time differs from ours; `None` where it is the same.
fn difference(time: &ServerTime) -> Option<String> {
    let ServerTime { url, at, now, .. } = time;
    let difference = now.abs_diff(*at);
    if difference <= MAX_CLOCK_DIFFERENCE_MS {
        return None;
    }
    let (seconds, direction) = (difference / 1_000, if now > at { "ahead of" } else { "behind" });
    let why = "comments have wrong times, tokens end too early or too late, and the edge's signatures are refused";
    Some(format!("{seconds} s {direction} that of {url}: {why}; set it by NTP"))
}

/// Whether the server at this address is on this machine: one of its addresses is one that a socket of ours can have.
pub(super) async fn is_own(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
    let host = host.trim_matches(['[', ']']);
    let Ok(mut addresses) = lookup_host((host, port)).await else { return false };
    addresses.any(|address| UdpSocket::bind((address.ip(), 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Health;

    const NOW: u64 = 1_000_000;

    fn elsewhere(at: u64) -> ServerTime {
        ServerTime { url: "https://c.example".into(), at, now: NOW, is_elsewhere: true }
    }

    fn here(at: u64) -> ServerTime {
        ServerTime { is_elsewhere: false, ..elsewhere(at) }
    }

    #[test]
    fn clock_is_right_when_something_elsewhere_says_so() {
        let check = |is_kept, times: &[ServerTime], newest, expected: Health, part: &str| {
            let Finding(health, row, what) = judge(is_kept, times, newest, NOW);
            assert!(health == expected && format!("{row} {what}").contains(part), "{row} {what}");
        };
        check(None, &[], None, Warning, "clock compared with nothing");
        check(None, &[here(NOW)], Some(NOW), Warning, "clock compared with nothing");
        check(None, &[elsewhere(1_009_000)], None, Fine, "clock as that of https://c.example");
        check(None, &[elsewhere(1_011_000)], None, Warning, "clock 11 s behind that of https://c.example");
        check(None, &[elsewhere(900_000)], None, Warning, "clock 100 s ahead of");
        check(None, &[elsewhere(NOW), here(1_011_000)], None, Warning, "clock 11 s behind");
        check(Some(true), &[], None, Fine, "clock kept by a server of time");
        check(Some(true), &[here(NOW)], None, Fine, "clock kept by a server of time");
        check(Some(true), &[elsewhere(NOW)], None, Fine, "kept by a server of time, and as that of https://c.example");
        check(Some(true), &[elsewhere(900_000)], None, Warning, "clock 100 s ahead of");
        check(Some(false), &[elsewhere(NOW)], None, Warning, "clock no server of time keeps it");
        check(Some(true), &[], Some(NOW + MAX_CLOCK_DIFFERENCE_MS), Fine, "kept");
        check(Some(true), &[], Some(NOW + 3_600_000), Warning, "clock the newest comment is 3600 s in the future");
        check(Some(false), &[], Some(NOW + 3_600_000), Warning, "until then: set the clock by NTP; no server of time");
    }

    #[test]
    fn system_says_yes_or_no_or_nothing() {
        for (said, expected) in
            [("yes\n", Some(true)), ("no\n", Some(false)), ("", None), ("System has not been booted", None)]
        {
            assert_eq!(parse_answer(said.as_bytes()), expected, "{said}");
        }
    }

    #[tokio::test]
    async fn addresses_of_this_machine_are_its_own() {
        for (url, expected) in [
            ("http://127.0.0.1:8080", true),
            ("http://localhost:8080/", true),
            // Addresses for documents, which no machine has (RFC 5737, RFC 3849).
            ("http://192.0.2.1", false),
            ("http://[2001:db8::1]:8080", false),
            ("no address", false),
        ] {
            assert_eq!(is_own(url).await, expected, "{url}");
        }
    }
}
