//! Redis itself: its own tools against the server that the cluster uses.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// What the counters run for a fold.
const FOLD: &str = concat!(
    include_str!("../../../origin/src/adapters/redis/run_id.lua"),
    include_str!("../../../origin/src/adapters/redis/counters/lua/common.lua"),
    include_str!("../../../origin/src/adapters/redis/counters/lua/fold.lua")
);
const FOLDS: &str = "60000";
/// Under a name of its own, in a slot that is open.
const TAG: &str = "{peer:7}";

/// The server at a `redis://` address.
#[derive(Debug, Clone)]
pub(crate) struct Redis {
    port: String,
}

impl Redis {
    pub(crate) fn at(url: &str) -> Self {
        Self { port: url.rsplit(':').next().expect("a port").to_owned() }
    }

    /// Folds a second of this many connections, each sending one after the other: likes of members
    /// who all are others, of one comment or spread over 10,000.
    pub(crate) fn folds(&self, connections: usize, spread: bool) -> f64 {
        let server = self.cli(&["INFO", "server"], "");
        let run_id = server.lines().find_map(|line| line.strip_prefix("run_id:")).expect("a run id").trim();
        self.cli(&["SET", &format!("{TAG}:open"), &format!("{run_id} 0")], "");
        let sha = self.cli(&["-x", "SCRIPT", "LOAD"], FOLD);
        let random = "__rand_int__";
        // Every random number in a command is another.
        let (range, comment) = if spread { ("10000", random) } else { ("1000000000", "1") };
        let keys =
            [format!("{TAG}:open"), format!("{TAG}:w"), format!("{TAG}:v:{comment}"), format!("{TAG}:o:{comment}")];
        let mut command = Command::new("redis-benchmark");
        command.args(["-p", &self.port, "--csv", "-n", FOLDS, "-r", range, "-c", &connections.to_string()]);
        command.args(["EVALSHA", sha.trim(), "4"]).args(&keys);
        // One comment and one operation.
        command.args(["1", "1", "1", random, "1", "l", "0", "-", "0", "0"]);
        let said = said(&mut command, "");
        // The line after the names: what was run, folds a second, and latencies.
        let rate = said.lines().last().and_then(|line| line.split("\",\"").nth(1)).and_then(|rate| rate.parse().ok());
        let folded = self.cli(&["ZCARD", &format!("{TAG}:w")], "");
        assert_ne!(folded.trim(), "0", "the script folded nothing");
        self.forget(&format!("{TAG}*"));
        rate.unwrap_or_else(|| panic!("redis-benchmark said {said}"))
    }

    /// Forgets the keys of this pattern.
    pub(crate) fn forget(&self, keys: &str) {
        let script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end";
        self.cli(&["EVAL", script, "0", keys], "");
    }

    fn cli(&self, arguments: &[&str], input: &str) -> String {
        said(Command::new("redis-cli").args(["-p", &self.port]).args(arguments), input)
    }
}

fn said(command: &mut Command, input: &str) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("Redis has tools");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && !text.starts_with("ERR"), "{text}");
    text
}
