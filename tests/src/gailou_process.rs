//! The real program as a child process: how it is built, started, and run as a command.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use crate::api_client::ApiClient;
use crate::child_process::ChildProcess;
use crate::{POLL_TIMEOUT, TOKEN_SECRET};

/// A running server. It dereferences to an [`ApiClient`] of its address.
#[derive(Debug)]
pub struct GailouProcess {
    client: ApiClient,
    process: ChildProcess,
    /// The line it printed when it was ready.
    pub ready_line: String,
}

/// The outcome of a command that has ended.
#[derive(Debug)]
pub struct CommandOutput {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    /// The last line on standard output.
    pub fn last_line(&self) -> &str {
        self.stdout.lines().last().unwrap_or_default()
    }
}

impl GailouProcess {
    /// A server on this data directory, on a free port, without rate limits.
    pub async fn start(data: &Path) -> Self {
        let mut command = gailou_command(["--bind", "127.0.0.1:0", "--data"]);
        command.arg(data).env("GAILOU_LIMITS", "off");
        Self::spawn(command).await
    }

    /// The server that this command starts; its log is discarded.
    pub async fn spawn(command: Command) -> Self {
        Self::spawn_logging(command, Stdio::null()).await
    }

    /// The server that this command starts, with its log written to `log`.
    pub async fn spawn_logging(command: Command, log: impl Into<Stdio>) -> Self {
        let mut process = ChildProcess::spawn(&command, Stdio::piped(), log.into());
        let stdout = process.child().stdout.take().expect("a piped output");
        let mut lines = BufReader::new(ChildStdout::from_std(stdout).expect("a pipe")).lines();
        let ready_line = timeout(POLL_TIMEOUT, lines.next_line()).await.expect("the server is ready in time");
        let ready_line = ready_line.expect("the output is text").expect("the server prints that it is ready");
        let base =
            ready_line.strip_prefix("gailou listening on ").expect("the ready line names the address").to_owned();
        Self { client: ApiClient::new(base), process, ready_line }
    }

    /// Its process, to be frozen or killed.
    pub fn process(&mut self) -> &mut ChildProcess {
        &mut self.process
    }

    /// Kills it (SIGKILL).
    pub fn kill(mut self) {
        self.process.kill();
    }

    /// Asks it to stop (SIGTERM).
    pub fn terminate(&self) {
        self.process.terminate();
    }

    /// Waits until it exits by itself; its exit code.
    pub async fn wait_for_exit(self) -> Option<i32> {
        self.process.wait_for_exit().await
    }
}

impl Deref for GailouProcess {
    type Target = ApiClient;

    fn deref(&self) -> &ApiClient {
        &self.client
    }
}

/// The program with these arguments, the suite's token secret, no inherited `GAILOU_*` variables and an
/// empty standard input.
pub fn gailou_command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(built_program());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GAILOU_")) {
        command.env_remove(name);
    }
    command.args(arguments).env("GAILOU_TOKEN_SECRET", TOKEN_SECRET).stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub async fn run_command(command: Command) -> CommandOutput {
    run_command_within(command, POLL_TIMEOUT * 3).await
}

/// Runs a command to its end, which it must reach in this time.
pub async fn run_command_within(command: Command, limit: Duration) -> CommandOutput {
    let mut command = tokio::process::Command::from(command);
    let output = timeout(limit, command.kill_on_drop(true).output()).await;
    let output = output.expect("the command ends in time").expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandOutput { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// The program, built with the profile and features of the suite, unless `E2E_GAILOU` names another.
/// Each test process asks cargo once; cargo builds nothing when the program is up to date.
fn built_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(program) = std::env::var_os("E2E_GAILOU") {
            return program.into();
        }
        // target/<profile>/deps/<test>
        let test = std::env::current_exe().expect("the test program has a path");
        let directory = test.parent().and_then(Path::parent).expect("target/<profile>").to_owned();
        let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
        // The whole workspace, so that nothing is built a second time with other features.
        cargo
            .args(["build", "--quiet", "--workspace", "--bins"])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        if cfg!(feature = "kafka-tls") {
            cargo.args(["--features", "gailou-tests/kafka-tls"]);
        } else if cfg!(feature = "cluster") {
            cargo.args(["--features", "gailou-tests/cluster"]);
        }
        if directory.file_name() == Some(OsStr::new("release")) {
            cargo.arg("--release");
        }
        if let Some(target) = directory.parent() {
            cargo.arg("--target-dir").arg(target);
        }
        assert!(cargo.status().expect("cargo starts").success(), "the program does not build");
        directory.join("gailou")
    })
}
