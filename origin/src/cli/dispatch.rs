//! Where a command is executed: in the running server that owns the data, or in this process.
//!
//! Promise: output and exit code are the same in both places.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use crate::bootstrap;
use crate::cli::admin_command::AdminCommand;
use crate::cli::data_lock::Lock;
use crate::cli::input::{Input, Reader};
use crate::cli::output::{Console, Terminal};
use crate::cli::{control_socket, data_lock, doctor};
use crate::clock::Clock;
use crate::config::Config;
use crate::state::ProcessRole;

/// How long a command waits for a server that is just starting, or for another command to end.
const TARGET_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a command can work.
enum Target {
    Here(Lock),
    Server(UnixStream),
}

/// Carries the command out: here, or in the server that runs on the same data.
pub(super) async fn carry_out(config: Config, call: AdminCommand, file: Option<PathBuf>) -> anyhow::Result<u8> {
    let mut console = Terminal::new();
    let mut input = Reader::open(file.as_deref()).await?;
    if config.cluster.is_some() {
        return carry_out_in_cluster(config, call, &mut input, &mut console).await;
    }
    if !config.data.is_dir() {
        match call {
            AdminCommand::Doctor => return doctor::run(&config, Err(None), &mut console).await,
            AdminCommand::Export { .. } => anyhow::bail!("there is no data directory {}", config.data.display()),
            _ => {}
        }
    }
    match find_target(&config.data).await? {
        Target::Server(stream) => control_socket::call(stream, &call, &mut input, &mut console).await,
        Target::Here(_lock) => here(config, ProcessRole::All, call, &mut input, &mut console).await,
    }
}

/// Carries the command out in this process.
async fn here(
    config: Config,
    role: ProcessRole,
    call: AdminCommand,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let app = match bootstrap::open_as(config.clone(), role, Clock::system()).await {
        Ok(app) => app,
        Err(error) if matches!(call, AdminCommand::Doctor) => {
            return doctor::run(&config, Err(Some(error)), console).await;
        }
        Err(error) => return Err(error),
    };
    let code = call.run(&app, input, console).await;
    app.close().await;
    Ok(code)
}

/// In a cluster every process works on the servers: no process owns a directory.
async fn carry_out_in_cluster(
    config: Config,
    call: AdminCommand,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    #[cfg(feature = "cluster")]
    if let (AdminCommand::Migrate, Some(settings)) = (&call, &config.cluster) {
        crate::bootstrap::cluster::migrate(settings).await?;
    }
    here(config, ProcessRole::Command, call, input, console).await
}

async fn find_target(data: &Path) -> anyhow::Result<Target> {
    let found = timeout(TARGET_TIMEOUT, async {
        loop {
            if let Some(lock) = Lock::take(data)? {
                return Ok(Target::Here(lock));
            }
            if let Ok(stream) = control_socket::connect(data).await {
                return Ok(Target::Server(stream));
            }
            sleep(Duration::from_millis(100)).await;
        }
    });
    found.await.unwrap_or_else(|_| Err(data_lock::taken(data).context("no server answers on its socket there")))
}
