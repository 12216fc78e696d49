//! The `gailou` program. Everything it does is in [`gailou::commands`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(gailou::commands::run(std::env::args_os()))
}
