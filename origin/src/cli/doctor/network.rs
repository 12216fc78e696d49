//! What `gailou doctor` asks over the network: addresses with their times, mail, and what goes there without encryption.

use std::collections::BTreeSet;

use gailou_shared::wire::ProviderKind;

use crate::bootstrap::mail::check as check_mail;
use crate::bootstrap::{check_accounts, check_address};
use crate::cli::doctor::clock::{ServerTime, is_own};
use crate::cli::doctor::{Finding, Fine, Warning};
use crate::clock::Clock;
use crate::config::{ClusterSettings, Config, Transport, is_plain};
use crate::ports::failure::Failure;

/// Asks everything that the configuration names, but for the servers of a cluster. What servers say of the time is for
/// another row.
pub(super) async fn check(config: &Config) -> (Vec<Finding>, Vec<ServerTime>) {
    let mut findings = vec![accounts(config).await, public_url(config), mail(config).await];
    let mut times = Vec::new();
    let addresses: BTreeSet<&String> = config.edge.url.iter().chain(&config.public_url).collect();
    for url in addresses {
        let answer = check_address(&format!("{url}/healthz")).await;
        // What is in front of this installation may hand on the time that it has from us; the Worker's is Cloudflare's.
        let is_worker = config.edge.url.as_ref() == Some(url);
        times.extend(time_of(url, &answer, is_worker).await);
        findings.push(answering("reachable", url, answer));
    }
    let providers = config.auth.providers.iter().filter(|provider| provider.kind == ProviderKind::Oidc);
    for issuer in providers.filter_map(|provider| provider.issuer.as_deref()) {
        let document = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let answer = check_address(&document).await;
        times.extend(time_of(issuer, &answer, true).await);
        findings.push(answering("provider", issuer, answer));
    }
    findings.extend(config.cluster.iter().flat_map(connections));
    findings.extend(plain_services(config));
    (findings, times)
}

/// What a server said of the time, which may be its own where it `has_clock`.
async fn time_of(url: &str, answer: &Result<Option<u64>, Failure>, has_clock: bool) -> Option<ServerTime> {
    let at = answer.as_ref().ok().copied().flatten()?;
    let now = Clock::system().now();
    Some(ServerTime { url: url.to_owned(), at, now, is_elsewhere: has_clock && !is_own(url).await })
}

/// Whether the address answers, as seen from here.
fn answering(what: &'static str, url: &str, answer: Result<Option<u64>, Failure>) -> Finding {
    match answer {
        Err(error) => Finding(Warning, what.into(), format!("{url} does not answer this machine: {error}")),
        Ok(_) => Finding(Fine, what.into(), format!("{url} answers")),
    }
}

/// What may go over the network without encryption, or to servers of the network around this one.
fn plain_services(config: &Config) -> Vec<Finding> {
    let services = [("search.url", &config.search.url), ("media.endpoint", &config.media.endpoint)];
    let mut findings = Vec::new();
    if config.mail.url.as_ref().is_some_and(|url| url.expose().ends_with("tls=opportunistic")) {
        let what = "mail.url allows mails without encryption, with the links that sign in: leave tls=opportunistic out";
        findings.push(Finding(Warning, "connections".into(), what.into()));
    }
    if config.webhooks.allow_private {
        let what = "webhooks.allow_private is on: admins may send events to any server of this network";
        findings.push(Finding(Warning, "connections".into(), what.into()));
    }
    let plain = services
        .into_iter()
        .filter_map(|(setting, url)| url.as_deref().filter(|url| is_plain(url)).map(|url| (setting, url)));
    let row = |(setting, url): (&str, &str)| {
        let what = format!("{setting} is {url}: plain: keep the network between them private, or use https");
        Finding(Warning, "connections".into(), what)
    };
    findings.extend(plain.map(row));
    findings
}

/// The address that readers know, which mails, providers and one-time addresses lead to.
fn public_url(config: &Config) -> Finding {
    let row = |health, what: String| Finding(health, "public address".into(), what);
    let is_needed = is_public(config) || config.mail.url.is_some() || !config.auth.providers.is_empty();
    match config.public_url.as_deref() {
        Some(url) if is_plain(url) => {
            row(Warning, format!("{url} is plain: who is on the way reads tokens; use https"))
        }
        Some(url) => row(Fine, url.to_owned()),
        None if is_needed => {
            let own = config.bind;
            row(Warning, format!("set GAILOU_PUBLIC_URL: what should lead readers here leads to http://{own}"))
        }
        None => row(Fine, "none: this machine alone reads here".into()),
    }
}

/// Whether others than this machine are meant to reach the program.
pub(super) fn is_public(config: &Config) -> bool {
    !config.bind.ip().to_canonical().is_loopback() || !config.trusted_proxies.is_empty() || config.edge.url.is_some()
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
        Some(Ok(())) if config.public_url.is_none() => {
            let what = "the mail server takes mails, but members are mailed nothing: set GAILOU_PUBLIC_URL";
            Finding(Warning, "mail".into(), what.into())
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Health;
    use crate::config::{ClusterTuning, KafkaServers, Urls};

    #[test]
    fn address_that_does_not_answer_is_a_warning() {
        let check = |answer: Result<Option<u64>, Failure>, expected: Health, part: &str| {
            let Finding(health, row, what) = answering("reachable", "https://c.example", answer);
            assert!(health == expected && format!("{row} {what}").contains(part), "{row} {what}");
        };
        check(Err("no route".into()), Warning, "reachable https://c.example does not answer this machine: no route");
        check(Ok(None), Fine, "reachable https://c.example answers");
        check(Ok(Some(1_009_000)), Fine, "reachable https://c.example answers");
    }

    #[tokio::test]
    async fn time_of_this_machine_is_not_that_of_another_one() {
        for (answer, url, has_clock, expected) in [
            (Ok(Some(7)), "http://192.0.2.1", true, Some(true)),
            (Ok(Some(7)), "http://192.0.2.1", false, Some(false)),
            (Ok(Some(7)), "http://127.0.0.1:8080", true, Some(false)),
            (Ok(None), "http://192.0.2.1", true, None),
            (Err("no route".into()), "http://192.0.2.1", true, None),
        ] {
            let time = time_of(url, &answer, has_clock).await;
            assert_eq!(time.map(|time| time.is_elsewhere), expected, "{url} {answer:?}");
        }
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
