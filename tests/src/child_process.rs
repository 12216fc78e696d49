//! Child processes that never outlive the suite, and that a test can kill, freeze and resume.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::{POLL_INTERVAL, POLL_TIMEOUT};

/// A child process. It is killed when this is dropped, and when the test process ends for any reason.
#[derive(Debug)]
pub struct ChildProcess(Child);

impl ChildProcess {
    /// Starts the command with an empty standard input.
    pub fn spawn(command: &Command, stdout: Stdio, stderr: Stdio) -> Self {
        Self(spawn_tied(command, stdout, stderr))
    }

    /// The child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Kills it (SIGKILL), also when it is frozen, and waits for its end.
    pub fn kill(&mut self) {
        // Both calls fail harmlessly when the process has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Asks it to stop (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Stops its execution until [`ChildProcess::resume`] (SIGSTOP).
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues its execution (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Its exit status, or `None` while it runs.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("a child process can be waited for")
    }

    /// Waits until it exits by itself. Returns its exit code, or `None` when a signal ended it.
    pub async fn wait_for_exit(mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.status() {
                return status.code();
            }
            assert!(started.elapsed() < POLL_TIMEOUT * 2, "the process does not exit");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("a child process can be signalled");
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

type SpawnRequest = (Command, Sender<std::io::Result<Child>>);

/// Starts a child that the kernel kills when this process ends. The kernel does so when the *thread*
/// ends that started the child, so one thread that lives as long as the process starts them all.
fn spawn_tied(command: &Command, stdout: Stdio, stderr: Stdio) -> Child {
    static SPAWNER: OnceLock<Sender<SpawnRequest>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (requests, queue) = channel::<SpawnRequest>();
        let serve = move || {
            for (mut command, reply) in queue {
                // The receiver waits in `spawn_tied`, so the send succeeds.
                let _ = reply.send(command.spawn());
            }
        };
        std::thread::Builder::new().name("spawner".into()).spawn(serve).expect("a thread starts");
        requests
    });
    let mut tied = Command::new("setpriv");
    tied.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => tied.env(name, value),
            None => tied.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        tied.current_dir(directory);
    }
    tied.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    let (reply, child) = channel();
    spawner.send((tied, reply)).expect("the spawner thread runs");
    child.recv().expect("the spawner thread answers").expect("setpriv starts")
}
