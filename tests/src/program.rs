//! The real program: started on a directory, killed or stopped by its process id.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use crate::DEADLINE;
use crate::client::Client;
use crate::process::Process;

/// A running server. Its calls are those of [`Client`].
#[derive(Debug)]
pub struct Program {
    client: Client,
    process: Process,
    /// The line it said when it was ready.
    pub ready: String,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The last line on standard output.
    pub fn last(&self) -> &str {
        self.out.lines().last().unwrap_or_default()
    }
}

/// The program, built as the suite itself was, unless `E2E_GAILOU` names another. Built once a
/// process; nothing is built when it is up to date.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(program) = std::env::var_os("E2E_GAILOU") {
            return program.into();
        }
        // target/<profile>/deps/<test>
        let test = std::env::current_exe().expect("this program has a path");
        let directory = test.parent().and_then(Path::parent).expect("target/<profile>").to_owned();
        let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
        // All of the workspace, so that nothing is built twice with other features.
        cargo
            .args(["build", "--quiet", "--workspace", "--bins"])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        if cfg!(feature = "cluster") {
            cargo.args(["--features", "gailou-tests/cluster"]);
        }
        if directory.file_name() == Some(OsStr::new("release")) {
            cargo.arg("--release");
        }
        if let Some(target) = directory.parent() {
            cargo.arg("--target-dir").arg(target);
        }
        assert!(cargo.status().expect("cargo runs").success(), "the program does not build");
        directory.join("gailou")
    })
}

/// The program with these arguments, none of its variables set, and nothing to read.
pub fn gailou<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(built());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GAILOU_")) {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub async fn ran(command: Command) -> Ran {
    let mut command = tokio::process::Command::from(command);
    let output = timeout(DEADLINE * 3, command.kill_on_drop(true).output()).await.expect("it ends").expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

impl Program {
    /// The server on this data, at a port of its own choice, without rate limits.
    pub async fn start(data: &Path) -> Self {
        let mut command = gailou(["--bind", "127.0.0.1:0", "--data"]);
        command.arg(data).env("GAILOU_LIMITS", "off");
        Self::spawn(command).await
    }

    /// The server that this command starts.
    pub async fn spawn(command: Command) -> Self {
        Self::spawn_logging(command, Stdio::null()).await
    }

    /// The same, with a place for its log.
    pub async fn spawn_logging(command: Command, log: impl Into<Stdio>) -> Self {
        let mut process = Process::spawn(&command, Stdio::piped(), log.into());
        let out = process.child().stdout.take().expect("an output");
        let mut lines = BufReader::new(ChildStdout::from_std(out).expect("a pipe")).lines();
        let ready = timeout(DEADLINE, lines.next_line()).await.expect("it is ready in time").expect("text");
        let ready = ready.expect("it says that it is ready");
        let base = ready.strip_prefix("gailou listening on ").expect("where it listens").to_owned();
        Self { client: Client::new(base), process, ready }
    }

    /// Its process, to be frozen or killed.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Kills it outright.
    pub fn kill(mut self) {
        self.process.kill();
    }

    /// Asks it to stop: SIGTERM.
    pub fn terminate(&self) {
        self.process.terminate();
    }

    /// Its exit code, once it has ended by itself.
    pub async fn ended(self) -> Option<i32> {
        self.process.ended().await
    }
}

impl Deref for Program {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
