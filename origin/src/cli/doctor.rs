//! `gailou doctor`: checks the configuration and the data, and prints a table of findings.
//!
//! Changes nothing, except for one small file that it creates and removes. Promise: the exit code is 1
//! when something is broken; a warning alone does not change it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::bootstrap::mail::check as check_mail;
use crate::bootstrap::token_secret::TOKEN_SECRET_FILE_NAME;
use crate::bootstrap::{Process, check_accounts, check_address, check_settings, data_directory};
use crate::cli::EXIT_FAILED;
use crate::cli::output::Console;
use crate::clock::Clock;
use crate::config::{
    AdjustableSettings, ClassifiedAuthors, ClusterSettings, Config, RuleSettings, Transport, UnclassifiedRule, is_plain,
};
use crate::ports::broker::Topic;
use crate::ports::dependencies::{DependencyStatus, ServerSettings, SettingProblem};
use crate::ports::failure::Failure;
use crate::ports::store::StoreError;
use crate::state::AppState;
use crate::state::refused_sites::RefusedSite;

/// Less free space than this is a warning: a gigabyte.
const LOW_DISK_BYTES: u64 = 1 << 30;
/// How far the clock of a server may be from ours: its answer says whole seconds, and takes up to five.
const MAX_CLOCK_DIFFERENCE_MS: u64 = 10_000;

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
    findings.extend([classifier(config, &values.rules), accounts(config).await, mail(config).await]);
    let addresses: BTreeSet<&String> = config.edge.url.iter().chain(&config.public_url).collect();
    for url in addresses {
        findings.extend(reachable(url, check_address(url).await, Clock::system().now()));
    }
    findings.extend(config.cluster.iter().flat_map(connections));
    findings.extend(plain_services(config));
    // Also when the cluster cannot be opened: a setting may be why.
    findings.extend(check_settings(config).await?.into_iter().flat_map(settings));
    match app {
        Err(None) => {
            let what = format!("{} does not exist yet; the first start creates it", config.data.display());
            findings.push(Finding(Warning, "data directory".into(), what));
        }
        Err(Some(error)) if config.cluster.is_some() => {
            findings.push(Finding(Broken, "cluster".into(), format!("{error:#}")));
        }
        Err(Some(error)) => {
            findings.extend([directory(&config.data), privacy(&config.data), space(&config.data)]);
            findings.push(Finding(Broken, "store".into(), format!("{error:#}")));
        }
        Ok(app) if config.cluster.is_some() => {
            findings.extend(app.dependencies.check_dependencies().await.into_iter().map(dependency));
            findings.extend([store(app, tables).await, log(app).await, words(app)]);
        }
        Ok(app) => {
            findings.extend([directory(&config.data), privacy(&config.data), space(&config.data)]);
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
    let is_public = !config.bind.ip().to_canonical().is_loopback()
        || !config.trusted_proxies.is_empty()
        || config.edge.url.is_some();
    if is_public && values.sites.is_localhost() {
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

/// Whether readers reach the address, as seen from here, and whether our clock is that of its server.
fn reachable(url: &str, answer: Result<Option<u64>, Failure>, now_ms: u64) -> Vec<Finding> {
    let row = |health, what: String| Finding(health, "reachable".into(), what);
    match answer {
        Err(error) => vec![row(Warning, format!("{url} does not answer this machine: {error}"))],
        Ok(None) => vec![row(Fine, format!("{url} answers"))],
        Ok(Some(date_ms)) => vec![row(Fine, format!("{url} answers")), clock(url, date_ms, now_ms)],
    }
}

fn clock(url: &str, date_ms: u64, now_ms: u64) -> Finding {
    let difference = now_ms.abs_diff(date_ms);
    if difference <= MAX_CLOCK_DIFFERENCE_MS {
        return Finding(Fine, "clock".into(), format!("as that of {url}"));
    }
    let (seconds, direction) = (difference / 1_000, if now_ms > date_ms { "ahead of" } else { "behind" });
    let why = "comments have wrong times, tokens end too early or too late, and the edge's signatures are refused";
    Finding(Warning, "clock".into(), format!("{seconds} s {direction} that of {url}: {why}; set it by NTP"))
}

/// The services that are asked without encryption on another machine.
fn plain_services(config: &Config) -> Vec<Finding> {
    let services = [("search.url", &config.search.url), ("media.endpoint", &config.media.endpoint)];
    let plain = services
        .into_iter()
        .filter_map(|(setting, url)| url.as_deref().filter(|url| is_plain(url)).map(|url| (setting, url)));
    let row = |(setting, url): (&str, &str)| {
        let what = format!("{setting} is {url}: plain: keep the network between them private, or use https");
        Finding(Warning, "connections".into(), what)
    };
    plain.map(row).collect()
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

/// Whether the host's service answers who its members are. Everything goes on without it.
async fn accounts(config: &Config) -> Finding {
    let server = config.accounts.shown_address().unwrap_or_default();
    match check_accounts(config).await {
        None => Finding(Fine, "accounts".into(), "none: accounts.url is not set; what tokens say counts".into()),
        Some(Ok(())) => Finding(Fine, "accounts".into(), format!("{server} answers who members are")),
        Some(Err(error)) => {
            Finding(Warning, "accounts".into(), format!("{server}: {error}; what is known of members counts"))
        }
    }
}

/// Whether the mail server takes mails.
async fn mail(config: &Config) -> Finding {
    match check_mail(config).await {
        None => Finding(Fine, "mail".into(), "none: mail.url is not set; no mail is sent".into()),
        Some(Ok(())) => Finding(Fine, "mail".into(), "the mail server takes mails".into()),
        Some(Err(error)) => Finding(Warning, "mail".into(), format!("the mail server: {error}; no mail is sent")),
    }
}

/// How the connections to each server of a cluster are protected.
fn connections(cluster: &ClusterSettings) -> Vec<Finding> {
    let of_server = |(server, transport): (String, Transport)| {
        let login = match &cluster.kafka.login {
            Some(login) if server == "kafka" => format!(", login by {}", login.mechanism.name()),
            None if server == "kafka" => ", no login".to_owned(),
            _ => String::new(),
        };
        let (health, how) = match transport {
            Transport::Verified => (Fine, "encrypted, and the server is verified"),
            Transport::Signed => (Fine, "encrypted, and the server's certificate is verified, for any host name"),
            Transport::Loopback => (Fine, "plain, on this machine"),
            Transport::Unverified => (Warning, "encrypted, and anybody can pass for the server: use verify_identity"),
            Transport::Plain => (Warning, "plain: keep the network between them private, or use TLS"),
        };
        Finding(health, "connections".into(), format!("{server}: {how}{login}"))
    };
    cluster.transports().into_iter().map(of_server).collect()
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

fn space(data: &Path) -> Finding {
    match rustix::fs::statvfs(data) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let health = if free < LOW_DISK_BYTES { Warning } else { Fine };
            Finding(health, "disk".into(), format!("{} MiB free", free >> 20))
        }
        Err(error) => Finding(Warning, "disk".into(), format!("cannot read the free space: {error}")),
    }
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
    use crate::config::{AllowedOrigins, ClusterTuning, KafkaServers, Urls};

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
    fn address_that_does_not_answer_and_clock_that_differs_are_warnings() {
        let check = |answer: Result<Option<u64>, Failure>, expected: &[(Health, &str)]| {
            let found = reachable("https://c.example", answer, 1_000_000);
            assert_eq!(found.len(), expected.len());
            for (Finding(health, row, what), (expected, part)) in found.iter().zip(expected) {
                assert!(health == expected && format!("{row} {what}").contains(part), "{row} {what}");
            }
        };
        check(Err("no route".into()), &[(Warning, "does not answer this machine: no route")]);
        check(Ok(None), &[(Fine, "reachable")]);
        check(Ok(Some(1_009_000)), &[(Fine, "reachable"), (Fine, "clock as that of https://c.example")]);
        check(Ok(Some(1_011_000)), &[(Fine, "reachable"), (Warning, "clock 11 s behind")]);
        check(Ok(Some(900_000)), &[(Fine, "reachable"), (Warning, "clock 100 s ahead of")]);
    }

    #[test]
    fn services_without_encryption_are_warnings() {
        let mut config = Config::default();
        config.search.url = Some("http://127.0.0.1:9200".into());
        assert!(plain_services(&config).is_empty());
        config.search.url = Some("http://search.example:9200".into());
        config.media.endpoint = Some("https://minio.example".into());
        let found: Vec<_> = plain_services(&config).into_iter().map(|finding| finding.2).collect();
        assert!(
            found.len() == 1 && found[0].starts_with("search.url is http://search.example:9200: plain"),
            "{found:?}"
        );
    }

    #[test]
    fn plain_connections_beyond_this_machine_are_warnings() {
        let check = |mysql: &str, redis: &str, kafka: &str, expected: [Health; 3]| {
            let cluster = ClusterSettings {
                mysql_urls: Urls::parse(mysql, &["mysql://"]).unwrap(),
                redis_urls: Urls::parse(redis, &["redis"]).unwrap(),
                kafka: KafkaServers::plain(kafka),
                tuning: ClusterTuning::default(),
            };
            let found: Vec<_> = connections(&cluster).into_iter().map(|finding| finding.0).collect();
            assert_eq!(found, expected, "{cluster:?}");
        };
        check("mysql://127.0.0.1/g", "redis://localhost", "127.0.0.1:9092", [Fine; 3]);
        check("mysql://a/g", "redis://b", "127.0.0.1:9092,c:9092", [Warning; 3]);
        check("mysql://a/g?ssl-mode=required", "rediss://b", "c:9092", [Warning, Fine, Warning]);
        check("mysql://a/g?ssl-mode=verify_identity", "rediss://b", "localhost:9092", [Fine; 3]);
    }
}
