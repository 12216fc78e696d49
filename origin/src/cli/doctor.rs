//! `gailou doctor`: looks whether everything is in order, and says so in a table.
//!
//! Changes nothing but one small file that it makes and removes. Promise: exit 1 when something is
//! broken; what merely deserves a look is a warning.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::bootstrap::Process;
use crate::cli::EXIT_FAILED;
use crate::cli::output::Console;
use crate::config::Config;
use crate::ports::broker::Topic;
use crate::ports::dependencies::DependencyStatus;
use crate::state::AppState;

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
struct Finding(Health, Cow<'static, str>, String);

use Health::{Broken, Fine, Warning};

/// Examines the configuration and the data. `app` is what works on the data; without it, why there
/// is none (`None`: the data directory has not been made yet).
pub(super) async fn run(
    config: &Config,
    app: Result<&Process, Option<anyhow::Error>>,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let mut findings = vec![bind(config), token(config), cursor(config), edge(config), limits(config)];
    match app {
        Err(None) => {
            let what = format!("{} is not there yet; the first start makes it", config.data.display());
            findings.push(Finding(Warning, "data directory".into(), what));
        }
        Err(Some(error)) if config.cluster.is_some() => {
            findings.push(Finding(Broken, "cluster".into(), format!("{error:#}")));
        }
        Err(Some(error)) => {
            findings.extend([directory(&config.data), space(&config.data)]);
            findings.push(Finding(Broken, "store".into(), format!("{error:#}")));
        }
        Ok(app) if config.cluster.is_some() => {
            findings.extend(app.dependencies.check_dependencies().await.into_iter().map(dependency));
            findings.extend([store(app).await, log(app).await, words(app)]);
        }
        Ok(app) => {
            findings.extend([directory(&config.data), space(&config.data), store(app).await, words(app)]);
        }
    }
    print(&findings, console).await?;
    Ok(if findings.iter().any(|f| f.0 == Broken) { EXIT_FAILED } else { 0 })
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
    Finding(Fine, "address".into(), format!("{}, {reach}", config.bind))
}

fn token(config: &Config) -> Finding {
    if config.auth.token_public_key.is_some() {
        Finding(Fine, "tokens".into(), "EdDSA, by the host's public key".into())
    } else if config.token_secret().is_development() {
        let what = "the development secret, which everybody knows; set GAILOU_TOKEN_SECRET";
        Finding(Warning, "tokens".into(), what.into())
    } else {
        Finding(Fine, "tokens".into(), "HS256, by a secret of your own".into())
    }
}

fn cursor(config: &Config) -> Finding {
    let whose =
        if config.cursor_secret.is_some() { "by a secret of your own" } else { "by the installation's own secret" };
    Finding(Fine, "cursors".into(), format!("signed {whose}"))
}

fn edge(config: &Config) -> Finding {
    let what = match (&config.edge.secret, config.edge.require_edge) {
        (None, _) => "none: GAILOU_EDGE_SECRET is not set",
        (Some(_), true) => "required",
        (Some(_), false) => "believed; edge.require_edge is off, so others may come past it",
    };
    let pushed = match &config.edge.url {
        None => "nothing is pushed to it".to_owned(),
        Some(url) => format!("pages of popular subjects are pushed to {url}"),
    };
    Finding(Fine, "edge".into(), format!("{what}; {pushed}"))
}

fn limits(config: &Config) -> Finding {
    if config.limits.enabled {
        Finding(Fine, "limits".into(), "on".into())
    } else {
        Finding(Warning, "limits".into(), "off: nothing is rate limited (GAILOU_LIMITS)".into())
    }
}

fn directory(data: &Path) -> Finding {
    let probe = data.join(format!("doctor-{}", std::process::id()));
    let written = fs::write(&probe, b"gailou doctor").and_then(|()| fs::remove_file(&probe));
    let shown = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    match written {
        Ok(()) => Finding(Fine, "data directory".into(), format!("{} can be written to", shown.display())),
        Err(error) => {
            Finding(Broken, "data directory".into(), format!("{} cannot be written to: {error}", shown.display()))
        }
    }
}

fn space(data: &Path) -> Finding {
    match rustix::fs::statvfs(data) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let health = if free < LOW_BYTES { Warning } else { Fine };
            Finding(health, "disk".into(), format!("{} MiB free", free >> 20))
        }
        Err(error) => Finding(Warning, "disk".into(), format!("free space is not known: {error}")),
    }
}

fn dependency(found: DependencyStatus) -> Finding {
    match found.problem {
        None => Finding(Fine, found.name.into(), "answers".into()),
        Some(problem) => Finding(Broken, found.name.into(), problem),
    }
}

/// Replicas, retention and dead letters.
async fn log(app: &Process) -> Finding {
    let Some(log) = app.broker() else { return Finding(Fine, "log".into(), "none".into()) };
    let name = || Cow::from("log");
    match log.check_topics().await {
        Ok(wrong) if !wrong.is_empty() => return Finding(Warning, name(), wrong.join("; ")),
        Err(error) => return Finding(Broken, name(), error.to_string()),
        Ok(_) => {}
    }
    let mut dead = 0;
    for topic in [Topic::Comments, Topic::Reactions] {
        match log.list_dead_letters(topic).await {
            Ok(letters) => dead += letters.len(),
            Err(error) => return Finding(Broken, name(), error.to_string()),
        }
    }
    match dead {
        0 => Finding(Fine, name(), "replicated and kept long enough; no dead letters".into()),
        dead => Finding(Warning, name(), format!("{dead} dead letters; `gailou dlq list` shows them")),
    }
}

async fn store(app: &AppState) -> Finding {
    match app.tables.find_damage().await {
        Ok(damage) if damage.is_empty() => {}
        Ok(damage) => return Finding(Broken, "store".into(), damage.join("; ")),
        Err(error) => return Finding(Broken, "store".into(), error.to_string()),
    }
    match app.tables.read_last_id().await {
        Ok(Some(id)) => Finding(Fine, "store".into(), format!("sound; the newest comment is {id}")),
        Ok(None) => Finding(Fine, "store".into(), "sound; it holds no comments".into()),
        Err(error) => Finding(Broken, "store".into(), error.to_string()),
    }
}

fn words(app: &AppState) -> Finding {
    let words = app.dictionary();
    if words.is_empty() {
        return Finding(Fine, "word filter".into(), "no terms; `gailou words load` brings some".into());
    }
    Finding(Fine, "word filter".into(), format!("{} different terms, version {}", words.len(), words.version()))
}
