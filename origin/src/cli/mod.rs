//! The program: what a person types, and what becomes of it.
//!
//! `gailou` runs the server; every other command does its work where the data is: in the running
//! server when there is one (through its socket), here when there is none. No rule of the product
//! is in this module. Promise: 0 is done, 1 is failed, 2 is wrong usage.

mod admin_command;
mod control_socket;
mod data_lock;
mod dispatch;
mod dlq;
mod doctor;
mod export;
mod import;
pub mod input;
pub mod output;
mod reconcile;
mod record;
mod serve;
mod settings;
mod shard;
mod token;
mod warm;
mod words;

use std::ffi::OsString;
use std::future::Future;
use std::io::{
    Write as _, {self},
};
use std::path::PathBuf;

use admin_command::AdminCommand;
use clap::{Args, Parser, Subcommand};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

use crate::config::{Config, Options};
use crate::state::ProcessRole;

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "gailou", version, about = "Gailou, a comment system", disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "this is the help text")]
struct Global {
    /// Where to listen; port 0 picks a free one (GAILOU_BIND, 127.0.0.1:8080)
    #[arg(long, global = true, value_name = "ADDR:PORT")]
    bind: Option<String>,
    /// The directory that holds everything (GAILOU_DATA, data)
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
    /// A TOML file with settings (GAILOU_CONFIG)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Everything in one process (the same as no command)
    All,
    /// The half of a cluster that answers requests
    Serve,
    /// The half of a cluster that works behind them
    Job,
    /// Brings threads in from JSON lines
    Import {
        /// The file, or - for standard input
        #[arg(value_name = "FILE.jsonl")]
        file: PathBuf,
        /// Check everything first, and write nothing when a line is bad
        #[arg(long)]
        strict: bool,
    },
    /// Writes threads to standard output, as import reads them
    Export {
        /// Only this subject
        #[arg(long, value_name = "TYPE/KEY", value_parser = export::subject)]
        subject: Option<export::SubjectArgument>,
    },
    /// Prints a member's token, signed by the shared secret
    Token(token::Token),
    /// The dictionary of the word filter
    Words {
        #[command(subcommand)]
        command: Words,
    },
    /// Brings the tables up to date
    Migrate,
    /// Looks whether everything is in order
    Doctor,
    /// Compares rows, counters and caches; exit 1 when something differs and was not repaired
    Reconcile {
        /// Repair what differs, by the rows of comments and reactions
        #[arg(long)]
        repair: bool,
    },
    /// Messages of a cluster's log that could not be stored
    Dlq {
        #[command(subcommand)]
        command: dlq::Dlq,
    },
    /// Which database of a cluster holds which slot
    Shard {
        #[command(subcommand)]
        command: shard::Shard,
    },
    /// Prints all settings with their defaults and meanings
    Settings {
        /// A table, or a file with every setting in a comment
        #[arg(long, value_enum, default_value_t = settings::Format::Markdown)]
        format: settings::Format,
    },
    /// Puts subjects into a cluster's cache before they are asked for
    Warm {
        #[arg(value_name = "TYPE/KEY", required = true, value_parser = export::subject)]
        subjects: Vec<export::SubjectArgument>,
    },
}

#[derive(Debug, Subcommand)]
enum Words {
    /// Replaces the dictionary by a file of `term TAB category [TAB action]`
    Load {
        /// The file, or - for standard input
        #[arg(value_name = "FILE.tsv")]
        file: PathBuf,
        /// What is done about a term whose line does not say
        #[arg(long, default_value = "review", value_parser = words::action)]
        action: gailou_shared::word_filter::TermAction,
    },
}

/// What is left to do once the configuration is read.
enum Work {
    Run(ProcessRole),
    Token(token::Token),
    Command(AdminCommand, Option<PathBuf>),
}

const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;

/// Does what the arguments say; the exit code. Wrong arguments end the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let Cli { global, command } = Cli::parse_from(arguments);
    let work = match command.unwrap_or(Command::All) {
        Command::Settings { format } => {
            say(settings::print(format).trim_end());
            return 0;
        }
        Command::All => Work::Run(ProcessRole::All),
        Command::Serve => Work::Run(ProcessRole::Serve),
        Command::Job => Work::Run(ProcessRole::Job),
        Command::Token(token) => Work::Token(token),
        Command::Import { file, strict } => Work::Command(AdminCommand::Import { strict }, Some(file)),
        Command::Export { subject } => Work::Command(AdminCommand::Export { subject }, None),
        Command::Words { command: Words::Load { file, action } } => {
            Work::Command(AdminCommand::Words { action }, Some(file))
        }
        Command::Migrate => Work::Command(AdminCommand::Migrate, None),
        Command::Doctor => Work::Command(AdminCommand::Doctor, None),
        Command::Reconcile { repair } => Work::Command(AdminCommand::Reconcile { repair }, None),
        Command::Dlq { command } => Work::Command(AdminCommand::Dlq { what: command }, None),
        Command::Shard { command } => Work::Command(AdminCommand::Shard { what: command }, None),
        Command::Warm { subjects } => Work::Command(AdminCommand::Warm { subjects }, None),
    };
    let config = match Config::load(Options { bind: global.bind, data: global.data, config: global.config }) {
        Ok(config) => config,
        Err(error) => return complain(&error.into(), EXIT_USAGE),
    };
    match work {
        Work::Run(role @ (ProcessRole::Serve | ProcessRole::Job)) if config.cluster.is_none() => {
            half_of_a_cluster(role)
        }
        Work::Run(role) => in_runtime("info", serve::run(config, role)),
        Work::Token(token) => match token.sign(&config) {
            Ok(text) => {
                say(&text);
                0
            }
            Err(error) => complain(&error, EXIT_FAILED),
        },
        Work::Command(call, file) => in_runtime("warn", dispatch::carry_out(config, call, file)),
    }
}

fn half_of_a_cluster(role: ProcessRole) -> u8 {
    let name = if role == ProcessRole::Job { "job" } else { "serve" };
    let needs = if cfg!(feature = "cluster") {
        "which needs GAILOU_MYSQL_URLS, GAILOU_REDIS_URLS and GAILOU_KAFKA_BROKERS"
    } else {
        "and this build has no cluster feature"
    };
    let error = anyhow::anyhow!("`{name}` is one half of a cluster, {needs}; `gailou` alone runs everything");
    complain(&error, EXIT_USAGE)
}

/// Completes when the server is to stop.
async fn stopped(mut stop: watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Runs `work` with logs of this level (`RUST_LOG` changes it) on standard error.
fn in_runtime(level: &str, work: impl Future<Output = anyhow::Result<u8>>) -> u8 {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let colours = io::IsTerminal::is_terminal(&io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colours).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error.into(), EXIT_FAILED),
    };
    let done = runtime.block_on(work);
    // A thread that still reads standard input must not hold up the end.
    runtime.shutdown_background();
    done.unwrap_or_else(|error| complain(&error, EXIT_FAILED))
}

fn say(line: &str) {
    // Who asked may have closed our output; the line has no reader then.
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn complain(error: &anyhow::Error, code: u8) -> u8 {
    if !is_broken_pipe(error) {
        let _ = writeln!(io::stderr(), "gailou: {error:#}");
    }
    code
}

/// Whether a reader such as `head` has closed the output: no failure to speak of.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
