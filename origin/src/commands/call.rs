//! A command as a value: it is carried out in this process or sent to the server that owns the data.
//!
//! Promise: what it says and its exit code are the same in both places.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gailou_shared::words::Action;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use super::console::{Console, Terminal};
use super::input::{Input, Reader};
use super::lock::{self, Lock};
use super::{FAILED, doctor, export, import, nobody_listens, socket, words};
use crate::app::App;
use crate::config::Config;

/// How long a command waits for a server that is just starting, or for another command to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A command that works on the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Call {
    Import { strict: bool },
    Export { subject: Option<export::Subject> },
    Words { action: Action },
    Migrate,
    Doctor,
}

impl Call {
    /// Whether it changes anything: such commands run one after the other.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Import { .. } | Self::Words { .. })
    }

    /// Does it, and says what went wrong. The exit code.
    pub(super) async fn run(self, app: &App, input: &mut dyn Input, console: &mut dyn Console) -> u8 {
        let done = match self {
            Self::Import { strict } => import::run(app, strict, input, console).await,
            Self::Export { subject } => export::run(&*app.store, subject.as_ref(), console).await,
            Self::Words { action } => words::load(app, action, input, console).await,
            Self::Migrate => migrated(app, console).await,
            Self::Doctor => doctor::run(&app.config, Ok(app), console).await,
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

async fn migrated(app: &App, console: &mut dyn Console) -> anyhow::Result<u8> {
    console.out(&format!("the tables in {} are up to date\n", app.config.data.display())).await?;
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
    if !config.data.is_dir() {
        match call {
            Call::Doctor => return doctor::run(&config, Err(None), &mut console).await,
            Call::Export { .. } => anyhow::bail!("there is no data directory {}", config.data.display()),
            _ => {}
        }
    }
    match place(&config.data).await? {
        Place::Server(stream) => socket::call(stream, &call, &mut input, &mut console).await,
        Place::Here(_lock) => {
            let app = match App::open(config.clone()).await {
                Ok(app) => app,
                Err(error) if matches!(call, Call::Doctor) => {
                    return doctor::run(&config, Err(Some(error)), &mut console).await;
                }
                Err(error) => return Err(error),
            };
            let code = call.run(&app, &mut input, &mut console).await;
            app.close().await;
            Ok(code)
        }
    }
}

async fn place(data: &Path) -> anyhow::Result<Place> {
    let found = timeout(PATIENCE, async {
        loop {
            if let Some(lock) = Lock::take(data)? {
                return Ok(Place::Here(lock));
            }
            if let Ok(stream) = socket::connect(data).await {
                return Ok(Place::Server(stream));
            }
            sleep(Duration::from_millis(100)).await;
        }
    });
    found.await.unwrap_or_else(|_| Err(lock::taken(data).context("no server answers on its socket there")))
}
