//! A command as a value: it is executed in this process or sent to the server that owns the data.
//!
//! Does not know where it is executed. Promise: its output and its exit code are the same in both places.

use std::path::PathBuf;

use gailou_shared::word_filter::TermAction;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::output::Console;
use crate::cli::{
    EXIT_FAILED, admin, backup, broker, dlq, doctor, export, import, is_broken_pipe, migrate, reconcile, reindex,
    shard, warm, words,
};
use crate::service::import::Input;

/// A command that works on the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum AdminCommand {
    Admin,
    Import { strict: bool, fetch_pictures: bool },
    Export { subject: Option<export::SubjectArgument> },
    Backup { path: PathBuf },
    Words { action: TermAction },
    Migrate { adopt_empty: bool },
    Doctor { tables: bool },
    Reconcile { what: reconcile::ReconcileArguments },
    Reindex,
    Broker { what: broker::BrokerCommand },
    Dlq { what: dlq::Dlq },
    Shard { what: shard::Shard },
    Warm { subjects: Vec<export::SubjectArgument> },
}

impl AdminCommand {
    /// Whether it changes anything: such commands run one after the other.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Import { .. } | Self::Words { .. })
            || matches!(self, Self::Reconcile { what } if what.repair)
    }

    /// Runs the command and prints its error. Returns the exit code.
    pub(super) async fn run(self, app: &Process, input: &mut dyn Input, console: &mut dyn Console) -> u8 {
        let done = match self {
            Self::Admin => admin::run(app, console).await,
            Self::Import { strict, fetch_pictures } => import::run(app, strict, fetch_pictures, input, console).await,
            Self::Export { subject } => export::run(app, subject, console).await,
            Self::Backup { path } => backup::run(app, &path, console).await,
            Self::Words { action } => words::load(app, action, input, console).await,
            Self::Migrate { .. } => migrate::run(app, console).await,
            Self::Doctor { tables } => doctor::run(&app.config, Ok(app), tables, console).await,
            Self::Reconcile { what } => reconcile::run(app, what, console).await,
            Self::Reindex => reindex::run(app, console).await,
            Self::Broker { what } => broker::run(app, what, console).await,
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
