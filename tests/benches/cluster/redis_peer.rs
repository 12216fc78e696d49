//! Redis as the peer: `redis-benchmark` with the script of the counters, on the server of the cluster.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// The script that the counters run for a batch of reactions.
const FOLD_SCRIPT: &str = concat!(
    include_str!("../../../origin/src/adapters/redis/run_id.lua"),
    include_str!("../../../origin/src/adapters/redis/counters/lua/common.lua"),
    include_str!("../../../origin/src/adapters/redis/counters/lua/fold.lua")
);
/// How many folds are measured.
const FOLD_COUNT: &str = "60000";
/// The hash tag of its keys: a name of its own, in a slot that is open.
const KEY_TAG: &str = "{peer:7}";

/// The server at a `redis://` address.
#[derive(Debug, Clone)]
pub(crate) struct RedisTools {
    port: String,
}

impl RedisTools {
    pub(crate) fn at(url: &str) -> Self {
        Self { port: url.rsplit(':').next().expect("a port").to_owned() }
    }

    /// Folds a second of this many connections, each with one open request: likes of different members,
    /// on one comment or spread over 10,000.
    pub(crate) fn measure_folds(&self, connections: usize, is_spread: bool) -> f64 {
        let server = self.cli(&["INFO", "server"], "");
        let run_id = server.lines().find_map(|line| line.strip_prefix("run_id:")).expect("a run id").trim();
        self.cli(&["SET", &format!("{KEY_TAG}:open"), &format!("{run_id} 0")], "");
        let sha = self.cli(&["-x", "SCRIPT", "LOAD"], FOLD_SCRIPT);
        let random = "__rand_int__";
        // Each occurrence in a command is another random number.
        let (range, comment) = if is_spread { ("10000", random) } else { ("1000000000", "1") };
        let keys = [
            format!("{KEY_TAG}:open"),
            format!("{KEY_TAG}:w"),
            format!("{KEY_TAG}:v:{comment}"),
            format!("{KEY_TAG}:o:{comment}"),
        ];
        let mut command = Command::new("redis-benchmark");
        command.args(["-p", &self.port, "--csv", "-n", FOLD_COUNT, "-r", range, "-c", &connections.to_string()]);
        command.args(["EVALSHA", sha.trim(), "4"]).args(&keys);
        // Arguments of one comment with one operation.
        command.args(["1", "1", "1", random, "1", "l", "0", "-", "0", "0"]);
        let output = output_of(&mut command, "");
        // The line after the column names: the command, folds a second, and latencies.
        let rate = output.lines().last().and_then(|line| line.split("\",\"").nth(1)).and_then(|rate| rate.parse().ok());
        let folded = self.cli(&["ZCARD", &format!("{KEY_TAG}:w")], "");
        assert_ne!(folded.trim(), "0", "the script folded nothing");
        self.delete_keys(&format!("{KEY_TAG}*"));
        rate.unwrap_or_else(|| panic!("redis-benchmark printed {output}"))
    }

    /// Deletes the keys of this pattern.
    pub(crate) fn delete_keys(&self, keys: &str) {
        let script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end";
        self.cli(&["EVAL", script, "0", keys], "");
    }

    fn cli(&self, arguments: &[&str], input: &str) -> String {
        output_of(Command::new("redis-cli").args(["-p", &self.port]).args(arguments), input)
    }
}

fn output_of(command: &mut Command, input: &str) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the tools of Redis are installed");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the program reads");
    let output = child.wait_with_output().expect("the program ends");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && !text.starts_with("ERR"), "{text}");
    text
}
