//! Processes that do not outlive the suite, and can be killed, frozen and woken.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::DEADLINE;

/// A child, killed when this is dropped and when this process ends, however it ends.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts what the command says, with nothing to read.
    pub fn spawn(command: &Command, out: Stdio, err: Stdio) -> Self {
        Self(spawn_tied(command, out, err))
    }

    /// The child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Ends it outright, even when it is frozen.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Asks it to stop: SIGTERM.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// It does nothing more until it is woken: SIGSTOP.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn wake(&self) {
        self.signal(Signal::CONT);
    }

    /// How it has ended, `None` while it runs.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("a child can be waited for")
    }

    /// Its exit code, once it has ended by itself; `None` when a signal ended it.
    pub async fn ended(mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.status() {
                return status.code();
            }
            assert!(begun.elapsed() < DEADLINE * 3, "it does not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("a process number");
        kill_process(pid, signal).expect("a child can be signalled");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

type Order = (Command, Sender<std::io::Result<Child>>);

/// Starts a child that the kernel kills when this process ends. It does so when the *thread* ends
/// that started the child, hence a thread that lives as long as the process.
fn spawn_tied(command: &Command, out: Stdio, err: Stdio) -> Child {
    static STARTER: OnceLock<Sender<Order>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, queue) = channel::<Order>();
        let start = move || {
            for (mut command, started) in queue {
                // Who asked is waiting for it.
                let _ = started.send(command.spawn());
            }
        };
        std::thread::Builder::new().name("starter".into()).spawn(start).expect("a thread");
        orders
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
    tied.stdin(Stdio::null()).stdout(out).stderr(err);
    let (started, child) = channel();
    starter.send((tied, started)).expect("the starter runs");
    child.recv().expect("an answer").expect("setpriv runs")
}
