//! The `gailou` program. Everything it does is in [`gailou::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(gailou::cli::run(std::env::args_os()))
}
