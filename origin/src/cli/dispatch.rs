//! Where a command is executed: in the running server that owns the data, or in this process.
//!
//! Promise: output and exit code are the same in both places.

use std::path::Path;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use crate::bootstrap;
use crate::cli::admin_command::AdminCommand;
use crate::cli::data_lock::DataLock;
use crate::cli::input::CommandInput;
use crate::cli::output::{Console, Terminal};
use crate::cli::{EXIT_FAILED, control_socket, data_lock, doctor};
use crate::clock::Clock;
use crate::config::Config;
use crate::service::import::Input;
use crate::state::ProcessRole;

/// How long a command waits for a server that is just starting, or for another command to end.
const TARGET_TIMEOUT: Duration = Duration::from_secs(10);

/// The process that runs a command.
enum Target {
    ThisProcess(DataLock),
    Server(UnixStream),
}

/// Runs a command in this process, or in the server that owns the data.
pub(super) async fn run_command(config: Config, command: AdminCommand, mut input: CommandInput) -> anyhow::Result<u8> {
    let mut console = Terminal::new();
    if let CommandInput::Export(export) = &mut input {
        export.show_progress(console.reading());
        let is_strict = matches!(command, AdminCommand::Import { strict: true, .. });
        if export.is_dry_run {
            return export.dry_run(&config);
        }
        if is_strict && !export.is_complete(&config)? {
            return Ok(EXIT_FAILED);
        }
    }
    let mut input = input.open(&config).await?;
    if config.cluster.is_some() {
        return run_in_cluster(config, command, &mut *input, &mut console).await;
    }
    if !config.data.is_dir() {
        match command {
            AdminCommand::Doctor { tables } => return doctor::run(&config, Err(None), tables, &mut console).await,
            AdminCommand::Export { .. } | AdminCommand::Backup { .. } => {
                anyhow::bail!("the data directory {} does not exist; set --data or GAILOU_DATA", config.data.display())
            }
            _ => {}
        }
    }
    match find_target(&config.data).await? {
        Target::Server(stream) => control_socket::run_in_server(stream, &command, &mut *input, &mut console).await,
        Target::ThisProcess(_lock) => run_here(config, command, &mut *input, &mut console).await,
    }
}

/// Runs the command in this process, which answers no requests and runs no jobs: it mails nothing, and sweeps nothing away.
async fn run_here(
    config: Config,
    command: AdminCommand,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let app = match bootstrap::open_as(config.clone(), ProcessRole::Command, Clock::system()).await {
        Ok(app) => app,
        Err(error) => match command {
            AdminCommand::Doctor { tables } => return doctor::run(&config, Err(Some(error)), tables, console).await,
            _ => return Err(error),
        },
    };
    let code = command.run(&app, input, console).await;
    app.close().await;
    Ok(code)
}

/// In a cluster the data is in the databases, and each process may run commands.
async fn run_in_cluster(
    config: Config,
    command: AdminCommand,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    #[cfg(feature = "cluster")]
    if let (AdminCommand::Migrate { adopt_empty }, Some(settings)) = (&command, &config.cluster) {
        if *adopt_empty {
            crate::bootstrap::cluster::adopt_empty(settings).await?;
        }
        crate::bootstrap::cluster::migrate(settings, crate::bootstrap::weights(&config)).await?;
    }
    run_here(config, command, input, console).await
}

async fn find_target(data: &Path) -> anyhow::Result<Target> {
    let found = timeout(TARGET_TIMEOUT, async {
        loop {
            if let Some(lock) = DataLock::acquire(data)? {
                return Ok(Target::ThisProcess(lock));
            }
            if let Ok(stream) = control_socket::connect(data).await {
                return Ok(Target::Server(stream));
            }
            sleep(Duration::from_millis(100)).await;
        }
    });
    found.await.unwrap_or_else(|_| {
        Err(data_lock::held_error(data).context("could not reach the server of this data directory through its socket"))
    })
}
