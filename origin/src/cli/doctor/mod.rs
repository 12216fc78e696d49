//! `gailou doctor`: checks the configuration and the data, and prints a table of findings.
//!
//! Changes nothing, except for one small file that it creates and removes. Promise: the exit code is 1
//! when something is broken; a warning alone does not change it.

mod clock;
mod network;

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::bootstrap::token_secret::TOKEN_SECRET_FILE_NAME;
use crate::bootstrap::{Process, check_settings, data_directory};
use crate::cli::EXIT_FAILED;
use crate::cli::doctor::network::is_public;
use crate::cli::output::Console;
use crate::clock::Clock;
use crate::config::{AdjustableSettings, ClassifiedAuthors, Config, MediaPlace, RuleSettings, UnclassifiedRule};
use crate::ports::broker::Topic;
use crate::ports::dependencies::{DependencyStatus, ServerSettings, SettingProblem};
use crate::ports::store::StoreError;
use crate::state::AppState;
use crate::state::refused_sites::RefusedSite;

/// Less free space than this is a warning: a gigabyte.
const LOW_DISK_BYTES: u64 = 1 << 30;

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Health {
    Fine,
    Warning,
    Broken,
}

/// A row of the table.
struct Finding(Health, Cow<'static, str>, String);

use Health::{Broken, Fine, Warning};

/// Checks the configuration and the data, with `tables` every table. Without an `app`, there is the error that
/// prevented it (`None`: the data directory does not exist yet).
pub(super) async fn run(
    config: &Config,
    app: Result<&Process, Option<anyhow::Error>>,
    tables: bool,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let mut findings = vec![bind(config), token(config), cursor(config), edge(config), limits(config)];
    let values = app.as_ref().map_or_else(|_| config.adjustable.clone(), |app| app.settings().values.clone());
    let refused = app.as_ref().map_or_else(|_| Vec::new(), |app| app.refused_sites.list());
    findings.push(sites(config, &values, &refused));
    findings.push(classifier(config, &values.rules));
    let (asked, times) = network::check(config).await;
    findings.extend(asked);
    findings.push(clock::check(&times, newest_comment(&app).await, Clock::system().now()).await);
    // Also when the cluster cannot be opened: a setting may be why.
    findings.extend(check_settings(config).await?.into_iter().flat_map(settings));
    findings.extend(picture_space(config));
    match app {
        Err(None) => {
            let what = format!("{} does not exist yet; the first start creates it", config.data.display());
            findings.push(Finding(Warning, "data directory".into(), what));
        }
        Err(Some(error)) if config.cluster.is_some() => {
            findings.push(Finding(Broken, "cluster".into(), format!("{error:#}")));
        }
        Err(Some(error)) => {
            findings.extend([directory(&config.data), privacy(&config.data), space("disk", &config.data)]);
            findings.push(Finding(Broken, "store".into(), format!("{error:#}")));
        }
        Ok(app) if config.cluster.is_some() => {
            findings.extend(app.dependencies.check_dependencies().await.into_iter().map(dependency));
            findings.extend([store(app, tables).await, log(app).await, words(app)]);
        }
        Ok(app) => {
            findings.extend([directory(&config.data), privacy(&config.data), space("disk", &config.data)]);
            findings.extend([store(app, tables).await, words(app)]);
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
    let reach = if config.bind.ip().to_canonical().is_loopback() {
        "reachable from this machine only"
    } else {
        "reachable from other machines by plain HTTP: a proxy or the Worker encrypts it"
    };
    Finding(Fine, "address".into(), format!("{}, {reach}", config.bind))
}

/// Which sites may write, and which asked in vain since the server that answers was started.
fn sites(config: &Config, values: &AdjustableSettings, refused: &[RefusedSite]) -> Finding {
    let mut health = Fine;
    let mut what = match values.sites.names() {
        names if names.is_empty() => "pages of no site may write".to_owned(),
        _ if values.sites.is_localhost() => "only pages of this machine may write".to_owned(),
        names => format!("pages of {} may write", names.join(", ")),
    };
    let narrowed = config.types.iter().filter(|(_, kind)| kind.cors_origins.is_some());
    let narrowed: Vec<_> = narrowed.map(|(name, _)| name.as_str()).collect();
    if !narrowed.is_empty() {
        what.push_str(&format!("; others on {}", narrowed.join(", ")));
    }
    if is_public(config) && values.sites.is_localhost() {
        health = Warning;
        what.push_str(": set GAILOU_SITES to your site, such as https://blog.example");
    }
    if !refused.is_empty() {
        health = Warning;
        let asked = refused.iter().map(|RefusedSite { site, count }| format!("{site} ({count} times)"));
        let asked: Vec<_> = asked.collect();
        what.push_str(&format!("; refused since the start: {}: add to GAILOU_SITES what is yours", asked.join(", ")));
    }
    Finding(health, "sites".into(), what)
}

fn token(config: &Config) -> Finding {
    if config.auth.token_public_key.is_some() {
        Finding(Fine, "tokens".into(), "EdDSA, verified by the host's public key".into())
    } else if config.auth.token_secret.is_some() {
        Finding(Fine, "tokens".into(), "HS256, signed by the configured secret".into())
    } else {
        let path = config.data.join(TOKEN_SECRET_FILE_NAME);
        Finding(Fine, "tokens".into(), format!("HS256, signed by the secret in {}", path.display()))
    }
}

fn cursor(config: &Config) -> Finding {
    let secret = if config.cursor_secret.is_some() { "the configured secret" } else { "the secret in the store" };
    Finding(Fine, "cursors".into(), format!("signed by {secret}"))
}

fn edge(config: &Config) -> Finding {
    let what = match (&config.edge.secret, config.edge.require_edge) {
        (None, _) => "not used: GAILOU_EDGE_SECRET is not set",
        (Some(_), true) => "required: other requests are refused",
        (Some(_), false) => "trusted; edge.require_edge is off, so requests may bypass it",
    };
    let pushed = match &config.edge.url {
        None => "no pages are pushed (GAILOU_EDGE__URL)".to_owned(),
        Some(url) => format!("pages of popular subjects are pushed to {url}"),
    };
    Finding(Fine, "edge".into(), format!("{what}; {pushed}"))
}

fn limits(config: &Config) -> Finding {
    if config.adjustable.limits.enabled {
        Finding(Fine, "limits".into(), "on".into())
    } else {
        Finding(Warning, "limits".into(), "off: nothing is rate limited; set GAILOU_LIMITS=true".into())
    }
}

/// Where texts are classified, and whose. The service is not asked: it would count as a text.
fn classifier(config: &Config, rules: &RuleSettings) -> Finding {
    let Some(server) = config.classifier.shown_address() else {
        return Finding(Fine, "classifier".into(), "none: classifier.kind is off".into());
    };
    let whose = match rules.classified {
        ClassifiedAuthors::None => {
            let what = format!("{server} is asked about no text: set rules.classified");
            return Finding(Warning, "classifier".into(), what);
        }
        ClassifiedAuthors::Guests => "guests",
        ClassifiedAuthors::Everyone => "everyone but moderators",
    };
    let unanswered = match rules.unclassified {
        UnclassifiedRule::Allow => "is published",
        UnclassifiedRule::Review => "waits for a moderator",
    };
    let what = format!("{server} is asked about what {whose} write; what it does not answer {unanswered}");
    Finding(Fine, "classifier".into(), what)
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

/// Whether other users of the machine may read the data.
fn privacy(data: &Path) -> Finding {
    let shown = data.display();
    match data_directory::find_exposed(data) {
        Ok(files) => match files.first() {
            None => Finding(Fine, "privacy".into(), format!("other users cannot read {shown}")),
            Some(first) => {
                let (first, count) = (first.display(), files.len());
                let what =
                    format!("other users can open {first} (files that others can open: {count}): chmod -R go= {shown}");
                Finding(Warning, "privacy".into(), what)
            }
        },
        Err(error) => Finding(Warning, "privacy".into(), format!("cannot read the permissions of {shown}: {error}")),
    }
}

/// The room for pictures, where `media.url` names a directory.
fn picture_space(config: &Config) -> Option<Finding> {
    match config.media.place(None)? {
        MediaPlace::Directory(folder) => Some(space("disk (pictures)", &folder)),
        MediaPlace::Bucket { .. } => None,
    }
}

fn space(row: &'static str, folder: &Path) -> Finding {
    match rustix::fs::statvfs(folder) {
        Ok(disk) => free_space(row, disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(error) => {
            Finding(Warning, row.into(), format!("cannot read the free space of {}: {error}", folder.display()))
        }
    }
}

fn free_space(row: &'static str, free_bytes: u64) -> Finding {
    let free = format!("{} MiB free", free_bytes >> 20);
    if free_bytes < LOW_DISK_BYTES {
        let low = LOW_DISK_BYTES >> 20;
        return Finding(Warning, row.into(), format!("{free}, less than {low}: make room before writes fail"));
    }
    Finding(Fine, row.into(), free)
}

fn dependency(found: DependencyStatus) -> Finding {
    match found.problem {
        None => Finding(Fine, found.name.into(), "answers".into()),
        Some(problem) => Finding(Broken, found.name.into(), problem),
    }
}

/// The settings of a server, as far as they decide what is lost.
fn settings(found: ServerSettings) -> Vec<Finding> {
    let ServerSettings { name, problems } = found;
    if problems.is_empty() {
        return vec![Finding(Fine, name.into(), "its settings keep what was acknowledged".into())];
    }
    let row = |problem: SettingProblem| {
        let health = if problem.is_broken { Broken } else { Warning };
        Finding(health, name.clone().into(), problem.text)
    };
    problems.into_iter().map(row).collect()
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
        0 => Finding(Fine, name(), "replication and retention are sufficient; no dead letters".into()),
        dead => Finding(Warning, name(), format!("{dead} dead letters; `gailou dlq list` shows them")),
    }
}

/// When the newest comment was made, in Unix milliseconds. That the tables do not answer is for another row.
async fn newest_comment(app: &Result<&Process, Option<anyhow::Error>>) -> Option<u64> {
    let last = app.as_ref().ok()?.tables.read_last_id().await.ok()??;
    Some(last.created_ms())
}

async fn store(app: &AppState, tables: bool) -> Finding {
    let found = async {
        let mut damage = app.tables.find_damage().await?;
        if tables {
            damage.extend(app.tables.check_tables().await?);
        }
        Ok::<_, StoreError>((damage, app.tables.read_last_id().await?))
    };
    let (damage, last) = match found.await {
        Ok(found) => found,
        Err(error) => return Finding(Broken, "store".into(), error.to_string()),
    };
    if !damage.is_empty() {
        return Finding(Broken, "store".into(), damage.join("; "));
    }
    let checked = if tables { "its tables are sound" } else { "it answers (--tables checks every table)" };
    match last {
        Some(id) => Finding(Fine, "store".into(), format!("{checked}; the newest comment is {id}")),
        None => Finding(Fine, "store".into(), format!("{checked}; it has no comments")),
    }
}

fn words(app: &AppState) -> Finding {
    let words = app.dictionary();
    if words.is_empty() {
        return Finding(Fine, "word filter".into(), "no terms; `gailou words load` loads some".into());
    }
    Finding(Fine, "word filter".into(), format!("{} different terms, version {}", words.len(), words.version()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AllowedOrigins;

    #[test]
    fn sites_say_who_may_write_and_who_asked_in_vain() {
        let refused = |site: &str| RefusedSite { site: site.to_owned(), count: 3 };
        let check = |bind: &str, sites: &[&str], refused: &[RefusedSite], health: Health, part: &str| {
            let config = Config { bind: bind.parse().unwrap(), ..Config::default() };
            let sites = if sites == ["default"] {
                AllowedOrigins::localhost()
            } else {
                AllowedOrigins::parse(sites.iter().copied()).unwrap()
            };
            let values = AdjustableSettings { sites, ..config.adjustable.clone() };
            let Finding(found, _, what) = super::sites(&config, &values, refused);
            assert!(found == health && what.contains(part), "{what}");
        };
        check("127.0.0.1:8080", &["default"], &[], Fine, "only pages of this machine may write");
        check("0.0.0.0:8080", &["default"], &[], Warning, "set GAILOU_SITES");
        check("0.0.0.0:8080", &["https://blog.example"], &[], Fine, "pages of https://blog.example may write");
        check("127.0.0.1:8080", &[], &[], Fine, "no site");
        let asked = [refused("https://other.example")];
        check(
            "127.0.0.1:8080",
            &["https://blog.example"],
            &asked,
            Warning,
            "refused since the start: https://other.example (3 times)",
        );
    }

    #[test]
    fn less_than_a_gigabyte_of_free_space_is_a_warning() {
        for (free_bytes, expected, text) in [
            (0, Warning, "0 MiB free, less than 1024: make room before writes fail"),
            ((1 << 30) - 1, Warning, "1023 MiB free, less than 1024: make room before writes fail"),
            (1 << 30, Fine, "1024 MiB free"),
            (u64::MAX, Fine, "17592186044415 MiB free"),
        ] {
            let Finding(health, row, what) = free_space("disk", free_bytes);
            assert_eq!((health, &*row, what.as_str()), (expected, "disk", text));
        }
    }

    #[test]
    fn space_for_pictures_is_that_of_their_directory() {
        let row = |url: &str| {
            let mut config = Config::default();
            config.media.url = Some(url.to_owned());
            picture_space(&config)
        };
        let folder = tempfile::tempdir().unwrap();
        let Some(Finding(_, what, free)) = row(&format!("file://{}", folder.path().display())) else { panic!("a row") };
        assert!(what == "disk (pictures)" && free.contains(" MiB free"), "{what} {free}");
        let Some(Finding(health, _, what)) = row("file:///nowhere/at/all") else { panic!("a row") };
        assert!(health == Warning && what.starts_with("cannot read the free space of /nowhere/at/all: "), "{what}");
        assert!(row("s3://pictures").is_none() && picture_space(&Config::default()).is_none());
    }
}
