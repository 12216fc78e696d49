//! `gailou settings`: the reference of all settings.
//!
//! Reads no configuration, so it also helps when the configuration is refused.

use clap::ValueEnum;

use crate::config::reference;

/// The format of the reference.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// A table, as the documentation shows it
    Markdown,
    /// A settings file with every setting in a comment
    Toml,
}

pub(super) fn print(format: Format) -> String {
    match format {
        Format::Markdown => reference::markdown(),
        Format::Toml => reference::toml(),
    }
}
