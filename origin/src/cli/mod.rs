//! The command line: its arguments, and the commands that they start.
//!
//! `gailou` runs the server. Any other command runs where the data is: in the running server if there is
//! one (through its socket), else in this process. Not here: rules of the product. Promise: the exit code
//! is 0 for success, 1 for a failure, 2 for wrong usage.

mod admin;
mod admin_command;
mod backup;
mod broker;
mod control_socket;
mod data_lock;
mod dispatch;
mod dlq;
mod doctor;
mod export;
mod export_file;
mod health;
mod http_get;
mod import;
pub mod input;
mod migrate;
pub mod output;
mod reconcile;
mod reindex;
mod restore;
mod serve;
mod settings;
mod shard;
mod slot_range;
mod token;
mod top;
mod warm;
mod words;

use std::ffi::OsString;
use std::future::Future;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use admin_command::AdminCommand;
use clap::{Args, Parser, Subcommand};
use export_file::ExportFile;
use input::CommandInput;
use rustix::fs::Mode;
use tokio::sync::watch;

use crate::bootstrap::logging::Traces;
use crate::config::{Config, Options, TelemetrySettings};
use crate::state::ProcessRole;
use crate::telemetry::set_slow;

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "gailou", version, about = "Gailou, a comment system", disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    global: GlobalOptions,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "this is the help text")]
struct GlobalOptions {
    /// The address to listen on; port 0 is any free port [env: GAILOU_BIND] [default: 127.0.0.1:8080]
    #[arg(long, global = true, value_name = "ADDR:PORT")]
    bind: Option<String>,
    /// The directory of the database and of all other files [env: GAILOU_DATA] [default: data]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
    /// A TOML file with settings [env: GAILOU_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything in one process (the default)
    All,
    /// Run the part of a cluster that answers requests
    Serve,
    /// Run the part of a cluster that writes to the databases and does the background work; it listens, for its metrics, with --bind only
    Job,
    /// Import threads from JSON lines, or from an export of another system
    Import {
        /// The file, or - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Check all lines first, and import nothing if one of them is bad
        #[arg(long)]
        strict: bool,
        /// Fetch the pictures that comments show from where they lie, and keep them here
        #[arg(long)]
        fetch_pictures: bool,
        #[command(flatten)]
        export: export_file::ExportOptions,
    },
    /// Write threads to standard output, in the format that `import` reads
    Export {
        /// Export this subject only
        #[arg(long, value_name = "TYPE/KEY", value_parser = export::subject)]
        subject: Option<export::SubjectArgument>,
    },
    /// Copy everything of an installation into a folder, while it runs: tables, pictures, secrets
    Backup {
        /// The folder: it must be empty or absent, and is closed to other users; secrets are in it
        #[arg(value_name = "PATH", value_parser = absolute_path)]
        path: PathBuf,
    },
    /// Put a backup into an empty data directory, or one of either kind into the empty databases of a cluster
    Restore {
        /// The folder of the backup
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
    /// Print an address that signs in the administrator, once, within 15 minutes
    Admin,
    /// Print a token for a member, signed with the shared secret
    Token(token::Token),
    /// Manage the dictionary of the word filter
    Words {
        #[command(subcommand)]
        command: Words,
    },
    /// Create the tables or migrate them to this version, and rank comments again when weights have changed
    Migrate {
        /// In a cluster: fill databases that are empty and were not; what they had is given up
        #[arg(long)]
        adopt_empty: bool,
    },
    /// Check the configuration and the data
    Doctor {
        /// Also let the databases check their tables; this reads everything, and takes hours for large ones
        #[arg(long)]
        tables: bool,
    },
    /// Ask the server that runs at the configured address whether it lives; exit with 1 if it does not
    Health,
    /// Show what running processes do, by their metrics, once a second
    Top(top::TopArguments),
    /// Compare comments with counters, ranks, histories, outboxes and caches; exit with 1 if a difference is not repaired
    Reconcile(reconcile::ReconcileArguments),
    /// Build the search index again from all comments; the former one answers meanwhile
    Reindex,
    /// Say whether a cluster's broker is stopped, or accept its log as it is
    Broker {
        #[command(subcommand)]
        command: broker::BrokerCommand,
    },
    /// List or retry records of a cluster's log that could not be stored
    Dlq {
        #[command(subcommand)]
        command: dlq::Dlq,
    },
    /// Plan, run or verify moves of slots between the databases of a cluster
    Shard {
        #[command(subcommand)]
        command: shard::Shard,
    },
    /// Print all settings with their defaults and meanings
    Settings {
        /// The format of the output
        #[arg(long, value_enum, default_value_t = settings::Format::Markdown)]
        format: settings::Format,
    },
    /// Load subjects into a cluster's cache before readers request them
    Warm {
        #[arg(value_name = "TYPE/KEY", required = true, value_parser = export::subject)]
        subjects: Vec<export::SubjectArgument>,
    },
}

#[derive(Debug, Subcommand)]
enum Words {
    /// Replace the dictionary with a file of lines `term TAB category [TAB action]`
    Load {
        /// The file, or - for standard input
        #[arg(value_name = "FILE.tsv")]
        file: PathBuf,
        /// The action for terms whose line has none: mask, review or block
        #[arg(long, default_value = "review", value_parser = words::action)]
        action: gailou_shared::word_filter::TermAction,
    },
}

/// What a command does after the configuration was read.
enum Work {
    RunProcess(ProcessRole),
    Token(token::Token),
    Restore(PathBuf),
    AskHealth,
    Top(top::TopArguments),
    Command(AdminCommand, CommandInput),
}

const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;

/// Runs the command of these arguments. Returns the exit code. Wrong arguments end the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let Cli { global, command } = Cli::parse_from(arguments);
    // What this process creates is readable by its user alone.
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let work = match command.unwrap_or(Command::All) {
        Command::Settings { format } => {
            print_line(settings::print(format).trim_end());
            return 0;
        }
        Command::All => Work::RunProcess(ProcessRole::All),
        Command::Serve => Work::RunProcess(ProcessRole::Serve),
        Command::Job => Work::RunProcess(ProcessRole::Job),
        Command::Admin => Work::Command(AdminCommand::Admin, CommandInput::Nothing),
        Command::Token(token) => Work::Token(token),
        Command::Health => Work::AskHealth,
        Command::Top(arguments) => Work::Top(arguments),
        Command::Import { file, strict, fetch_pictures, export } => {
            let command = AdminCommand::Import { strict, fetch_pictures };
            match ExportFile::new(export, fetch_pictures, &file) {
                Ok(None) => Work::Command(command, CommandInput::File(file)),
                Ok(Some(export)) => Work::Command(command, CommandInput::Export(Box::new(export))),
                Err(error) => return report_error(&error, EXIT_USAGE),
            }
        }
        Command::Export { subject } => Work::Command(AdminCommand::Export { subject }, CommandInput::Nothing),
        Command::Backup { path } => match std::path::absolute(&path) {
            // The server, which makes it, works in another folder.
            Ok(path) => Work::Command(AdminCommand::Backup { path }, CommandInput::Nothing),
            Err(error) => return report_error(&error.into(), EXIT_USAGE),
        },
        Command::Restore { path } => Work::Restore(path),
        Command::Words { command: Words::Load { file, action } } => {
            Work::Command(AdminCommand::Words { action }, CommandInput::File(file))
        }
        Command::Migrate { adopt_empty } => Work::Command(AdminCommand::Migrate { adopt_empty }, CommandInput::Nothing),
        Command::Doctor { tables } => Work::Command(AdminCommand::Doctor { tables }, CommandInput::Nothing),
        Command::Reconcile(what) => Work::Command(AdminCommand::Reconcile { what }, CommandInput::Nothing),
        Command::Reindex => Work::Command(AdminCommand::Reindex, CommandInput::Nothing),
        Command::Broker { command } => Work::Command(AdminCommand::Broker { what: command }, CommandInput::Nothing),
        Command::Dlq { command } => Work::Command(AdminCommand::Dlq { what: command }, CommandInput::Nothing),
        Command::Shard { command } => Work::Command(AdminCommand::Shard { what: command }, CommandInput::Nothing),
        Command::Warm { subjects } => Work::Command(AdminCommand::Warm { subjects }, CommandInput::Nothing),
    };
    // A job beside a server on one machine would find the address in use.
    let listens = !matches!(work, Work::RunProcess(ProcessRole::Job)) || global.bind.is_some();
    let config = match Config::load(Options { bind: global.bind, data: global.data, config: global.config }) {
        Ok(config) => config,
        Err(error) => return report_error(&error.into(), EXIT_USAGE),
    };
    let telemetry = config.telemetry.clone();
    set_slow(Duration::from_millis(telemetry.slow_statement_ms.into()));
    match work {
        Work::RunProcess(role @ (ProcessRole::Serve | ProcessRole::Job)) if config.cluster.is_none() => {
            refuse_without_cluster(role)
        }
        Work::RunProcess(role) => in_runtime(true, &telemetry, serve::run(config, role, listens)),
        Work::Token(token) => match token.sign(&config) {
            Ok(text) => {
                print_line(&text);
                0
            }
            Err(error) => report_error(&error, EXIT_FAILED),
        },
        Work::Restore(path) => in_runtime(false, &telemetry, restore::run(&config, &path)),
        Work::AskHealth => in_runtime(false, &telemetry, async move { health::run(&config).await }),
        Work::Top(arguments) => in_runtime(false, &telemetry, async move { top::run(&config, arguments).await }),
        Work::Command(call, input) => in_runtime(false, &telemetry, dispatch::run_command(config, call, input)),
    }
}

/// A path as a server with another working directory finds it.
fn absolute_path(text: &str) -> io::Result<PathBuf> {
    std::path::absolute(text)
}

fn refuse_without_cluster(role: ProcessRole) -> u8 {
    let name = if role == ProcessRole::Job { "job" } else { "serve" };
    let needs = if cfg!(feature = "cluster") {
        "set GAILOU_MYSQL_URLS, GAILOU_REDIS_URLS and GAILOU_KAFKA_BROKERS"
    } else {
        "but this program was built without the feature `cluster`"
    };
    let error = anyhow::anyhow!(
        "`gailou {name}` runs one part of a cluster: {needs}; `gailou` without a command runs everything in one process"
    );
    report_error(&error, EXIT_USAGE)
}

/// Completes when the server is to stop.
async fn wait_for_stop(mut stop: watch::Receiver<bool>) {
    // A dropped sender stops the server too.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Runs `work` with its log on standard error. A process that runs on says more than a command, and is traced.
fn in_runtime(is_process: bool, settings: &TelemetrySettings, work: impl Future<Output = anyhow::Result<u8>>) -> u8 {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report_error(&error.into(), EXIT_FAILED),
    };
    let traces = match Traces::open(settings, is_process.then(|| runtime.handle())) {
        Ok(traces) => traces,
        Err(error) => return report_error(&error, EXIT_USAGE),
    };
    traces.start_log(if is_process { "info" } else { "warn" }, settings);
    let done = runtime.block_on(work);
    traces.close();
    // A thread that still reads standard input must not delay the end.
    runtime.shutdown_background();
    done.unwrap_or_else(|error| report_error(&error, EXIT_FAILED))
}

fn print_line(line: &str) {
    // The reader of the output may have closed it.
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn report_error(error: &anyhow::Error, code: u8) -> u8 {
    if !is_broken_pipe(error) {
        let _ = writeln!(io::stderr(), "gailou: {error:#}");
    }
    code
}

/// Whether a reader such as `head` has closed the output, which is not reported.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
