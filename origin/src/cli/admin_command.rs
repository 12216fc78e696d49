//! A command as a value: it is executed in this process or sent to the server that owns the data.
//!
//! Does not know where it is executed. Promise: its output and its exit code are the same in both places.

use gailou_shared::word_filter::TermAction;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::input::Input;
use crate::cli::output::Console;
use crate::cli::{EXIT_FAILED, dlq, doctor, export, import, is_broken_pipe, reconcile, shard, warm, words};
use crate::state::AppState;

/// A command that works on the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum AdminCommand {
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

impl AdminCommand {
    /// Whether it changes anything: such commands run one after the other.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Import { .. } | Self::Words { .. } | Self::Reconcile { repair: true })
    }

    /// Runs the command and prints its error. Returns the exit code.
    pub(super) async fn run(self, app: &Process, input: &mut dyn Input, console: &mut dyn Console) -> u8 {
        let done = match self {
            Self::Import { strict } => import::run(app, strict, input, console).await,
            Self::Export { subject } => export::run(&*app.tables, subject.as_ref(), console).await,
            Self::Words { action } => words::load(app, action, input, console).await,
            Self::Migrate => confirm_migration(app, console).await,
            Self::Doctor => doctor::run(&app.config, Ok(app), console).await,
            Self::Reconcile { repair } => reconcile::run(app, repair, console).await,
            Self::Dlq { what } => dlq::run(app, what, console).await,
            Self::Shard { what } => shard::run(app, what, console).await,
            Self::Warm { subjects } => warm::run(app, &subjects, console).await,
        };
        match done {
            Ok(code) => code,
            Err(error) => {
                if !is_broken_pipe(&error) {
                    let _ = console.err(&format!("gailou: {error:#}\n")).await;
                }
                EXIT_FAILED
            }
        }
    }
}

async fn confirm_migration(app: &AppState, console: &mut dyn Console) -> anyhow::Result<u8> {
    let tables = match &app.config.cluster {
        Some(cluster) => format!("the tables of {} and the topics of {}", cluster.mysql_urls, cluster.kafka.brokers),
        None => format!("the tables in {}", app.config.data.display()),
    };
    console.out(&format!("{tables} are up to date\n")).await?;
    Ok(0)
}
