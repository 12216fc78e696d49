//! `gailou doctor`: looks whether everything is in order, and says so in a table.
//!
//! Changes nothing but one small file that it makes and removes. Promise: exit 1 when something is
//! broken; what merely deserves a look is a warning.

use std::fs;
use std::path::Path;

use super::FAILED;
use super::console::Console;
use crate::app::App;
use crate::config::Config;

/// Less free space than this is worth a warning: a gigabyte.
const LOW_BYTES: u64 = 1 << 30;

/// How it stands with one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Health {
    Fine,
    Warning,
    Broken,
}

/// A row of the table.
struct Finding(Health, &'static str, String);

use Health::{Broken, Fine, Warning};

/// Examines the configuration and the data. `app` is what works on the data; without it, why there
/// is none (`None`: the data directory has not been made yet).
pub(super) async fn run(
    config: &Config,
    app: Result<&App, Option<anyhow::Error>>,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let mut findings = vec![bind(config), token(config), cursor(config), edge(config), limits(config)];
    match app {
        Err(None) => {
            let what = format!("{} is not there yet; the first start makes it", config.data.display());
            findings.push(Finding(Warning, "data directory", what));
        }
        Err(Some(error)) => {
            findings.extend([directory(&config.data), space(&config.data)]);
            findings.push(Finding(Broken, "store", format!("{error:#}")));
        }
        Ok(app) => {
            findings.extend([directory(&config.data), space(&config.data), store(app).await, words(app)]);
        }
    }
    print(&findings, console).await?;
    Ok(if findings.iter().any(|f| f.0 == Broken) { FAILED } else { 0 })
}

async fn print(findings: &[Finding], console: &mut dyn Console) -> anyhow::Result<()> {
    let mut table = String::new();
    for Finding(health, what, detail) in findings {
        let health = match health {
            Fine => "ok",
            Warning => "warning",
            Broken => "BROKEN",
        };
        table.push_str(&format!("{health:<8} {what:<15} {detail}\n"));
    }
    Ok(console.out(&table).await?)
}

fn bind(config: &Config) -> Finding {
    let reach =
        if config.bind.ip().to_canonical().is_loopback() { "this machine only" } else { "reachable from others" };
    Finding(Fine, "address", format!("{}, {reach}", config.bind))
}

fn token(config: &Config) -> Finding {
    if config.auth.token_public_key.is_some() {
        Finding(Fine, "tokens", "EdDSA, by the host's public key".into())
    } else if config.token_secret().is_development() {
        let what = "the development secret, which everybody knows; set GAILOU_TOKEN_SECRET";
        Finding(Warning, "tokens", what.into())
    } else {
        Finding(Fine, "tokens", "HS256, by a secret of your own".into())
    }
}

fn cursor(config: &Config) -> Finding {
    let whose =
        if config.cursor_secret.is_some() { "by a secret of your own" } else { "by the data directory's secret" };
    Finding(Fine, "cursors", format!("signed {whose}"))
}

fn edge(config: &Config) -> Finding {
    match (&config.edge.secret, config.edge.require_edge) {
        (None, _) => Finding(Fine, "edge", "none: GAILOU_EDGE_SECRET is not set".into()),
        (Some(_), true) => Finding(Fine, "edge", "required".into()),
        (Some(_), false) => {
            Finding(Fine, "edge", "believed; edge.require_edge is off, so others may come past it".into())
        }
    }
}

fn limits(config: &Config) -> Finding {
    if config.limits.enabled {
        Finding(Fine, "limits", "on".into())
    } else {
        Finding(Warning, "limits", "off: nothing is rate limited (GAILOU_LIMITS)".into())
    }
}

fn directory(data: &Path) -> Finding {
    let probe = data.join(format!("doctor-{}", std::process::id()));
    let written = fs::write(&probe, b"gailou doctor").and_then(|()| fs::remove_file(&probe));
    let shown = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    match written {
        Ok(()) => Finding(Fine, "data directory", format!("{} can be written to", shown.display())),
        Err(error) => Finding(Broken, "data directory", format!("{} cannot be written to: {error}", shown.display())),
    }
}

fn space(data: &Path) -> Finding {
    match rustix::fs::statvfs(data) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let health = if free < LOW_BYTES { Warning } else { Fine };
            Finding(health, "disk", format!("{} MiB free", free >> 20))
        }
        Err(error) => Finding(Warning, "disk", format!("free space is not known: {error}")),
    }
}

async fn store(app: &App) -> Finding {
    match app.store.check().await {
        Ok(damage) if damage.is_empty() => {}
        Ok(damage) => return Finding(Broken, "store", damage.join("; ")),
        Err(error) => return Finding(Broken, "store", error.to_string()),
    }
    match app.store.last_id().await {
        Ok(Some(id)) => Finding(Fine, "store", format!("sound; the newest comment is {id}")),
        Ok(None) => Finding(Fine, "store", "sound; it holds no comments".into()),
        Err(error) => Finding(Broken, "store", error.to_string()),
    }
}

fn words(app: &App) -> Finding {
    let words = app.words();
    if words.is_empty() {
        return Finding(Fine, "word filter", "no terms; `gailou words load` brings some".into());
    }
    Finding(Fine, "word filter", format!("{} different terms, version {}", words.len(), words.version()))
}
