//! A command as a value: it is carried out in this process or sent to the server that owns the data.
//!
//! Promise: what it says and its exit code are the same in both places.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gailou_shared::word_filter::TermAction;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use crate::bootstrap;
use crate::bootstrap::Process;
use crate::cli::data_lock::Lock;
use crate::cli::input::{Input, Reader};
use crate::cli::output::{Console, Terminal};
use crate::cli::{
    FAILED, control_socket, data_lock, dlq, doctor, export, import, nobody_listens, reconcile, shard, warm, words,
};
use crate::clock::Clock;
use crate::config::Config;
use crate::state::{AppState, ProcessRole};

/// How long a command waits for a server that is just starting, or for another command to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A command that works on the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Call {
    Import { strict: bool },
    Export { subject: Option<export::SubjectArgument> },
    Words { action: TermAction },
    Migrate,
    Doctor,
    Reconcile { repair: bool },
    Dlq { what: dlq::Dlq },
    Shard { what: shard::Shard },
    Warm { subjects: Vec<export::SubjectArgument> },
}

impl Call {
    /// Whether it changes anything: such commands run one after the other.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Import { .. } | Self::Words { .. } | Self::Reconcile { repair: true })
    }

    /// Does it, and says what went wrong. The exit code.
    pub(super) async fn run(self, app: &Process, input: &mut dyn Input, console: &mut dyn Console) -> u8 {
        let done = match self {
            Self::Import { strict } => import::run(app, strict, input, console).await,
            Self::Export { subject } => export::run(&*app.tables, subject.as_ref(), console).await,
            Self::Words { action } => words::load(app, action, input, console).await,
            Self::Migrate => migrated(app, console).await,
            Self::Doctor => doctor::run(&app.config, Ok(app), console).await,
            Self::Reconcile { repair } => reconcile::run(app, repair, console).await,
            Self::Dlq { what } => dlq::run(app, what, console).await,
            Self::Shard { what } => shard::run(app, what, console).await,
            Self::Warm { subjects } => warm::run(app, &subjects, console).await,
        };
        match done {
            Ok(code) => code,
            Err(error) => {
                if !nobody_listens(&error) {
                    let _ = console.err(&format!("gailou: {error:#}\n")).await;
                }
                FAILED
            }
        }
    }
}

async fn migrated(app: &AppState, console: &mut dyn Console) -> anyhow::Result<u8> {
    let place = match &app.config.cluster {
        Some(cluster) => format!("the tables of {} and the topics of {}", cluster.mysql_urls, cluster.kafka_brokers),
        None => format!("the tables in {}", app.config.data.display()),
    };
    console.out(&format!("{place} are up to date\n")).await?;
    Ok(0)
}

/// Where a command can work.
enum Place {
    Here(Lock),
    Server(UnixStream),
}

/// Carries the command out: here, or in the server that runs on the same data.
pub(super) async fn carry_out(config: Config, call: Call, file: Option<PathBuf>) -> anyhow::Result<u8> {
    let mut console = Terminal::new();
    let mut input = Reader::open(file.as_deref()).await?;
    if config.cluster.is_some() {
        return carry_out_in_cluster(config, call, &mut input, &mut console).await;
    }
    if !config.data.is_dir() {
        match call {
            Call::Doctor => return doctor::run(&config, Err(None), &mut console).await,
            Call::Export { .. } => anyhow::bail!("there is no data directory {}", config.data.display()),
            _ => {}
        }
    }
    match place(&config.data).await? {
        Place::Server(stream) => control_socket::call(stream, &call, &mut input, &mut console).await,
        Place::Here(_lock) => here(config, ProcessRole::All, call, &mut input, &mut console).await,
    }
}

/// Carries the command out in this process.
async fn here(
    config: Config,
    role: ProcessRole,
    call: Call,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let app = match bootstrap::open_as(config.clone(), role, Clock::system()).await {
        Ok(app) => app,
        Err(error) if matches!(call, Call::Doctor) => return doctor::run(&config, Err(Some(error)), console).await,
        Err(error) => return Err(error),
    };
    let code = call.run(&app, input, console).await;
    app.close().await;
    Ok(code)
}

/// In a cluster every process works on the servers: nobody owns a directory.
async fn carry_out_in_cluster(
    config: Config,
    call: Call,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    #[cfg(feature = "cluster")]
    if let (Call::Migrate, Some(settings)) = (&call, &config.cluster) {
        crate::bootstrap::cluster::migrate(settings).await?;
    }
    here(config, ProcessRole::Command, call, input, console).await
}

async fn place(data: &Path) -> anyhow::Result<Place> {
    let found = timeout(PATIENCE, async {
        loop {
            if let Some(lock) = Lock::take(data)? {
                return Ok(Place::Here(lock));
            }
            if let Ok(stream) = control_socket::connect(data).await {
                return Ok(Place::Server(stream));
            }
            sleep(Duration::from_millis(100)).await;
        }
    });
    found.await.unwrap_or_else(|_| Err(data_lock::taken(data).context("no server answers on its socket there")))
}
