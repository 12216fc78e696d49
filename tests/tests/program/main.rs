//! The real program as a child process: its commands, its exit codes, and what a kill leaves behind.

mod admin;
mod backup;
mod connections;
mod crash_recovery;
mod export;
mod first_answer;
mod import;
mod import_from;
mod import_pictures;
mod mail;
mod merge;
mod metrics;
mod rank_again;
mod reconcile;
mod reindex;
mod sample_threads;
mod startup;
mod traces;
mod webhooks;

use std::path::Path;
use std::process::Command;

use gailou_tests::{CommandOutput, gailou_command, run_command};

/// The program with these arguments and this data directory.
fn command_on(data: &Path, arguments: &[&str]) -> Command {
    let mut command = gailou_command(arguments);
    command.arg("--data").arg(data);
    command
}

/// Runs the program with these arguments and this data directory to its end.
async fn run_on(data: &Path, arguments: &[&str]) -> CommandOutput {
    run_command(command_on(data, arguments)).await
}

/// Writes a file; its path.
fn write_file(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
