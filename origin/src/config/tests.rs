//! Tables: which settings are read, which are refused under which name, and what the reference says.

use std::collections::BTreeSet;

use gailou_shared::path::Mode;
use gailou_shared::rank::HotWeights;

use crate::config::sources::{Sources, variable_of};
use crate::config::*;

const GOOD: &str = "12345678901234567890123456789012";

fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::read(Options::default(), variables.iter().map(|(name, value)| (name.into(), value.into())))
}

fn read_file(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let mut sources = Sources::default();
    sources.add_file(text, "g.toml")?;
    sources.add_variables(variables.iter().map(|(name, value)| (name.into(), value.into())))?;
    Config::from_sources(&sources)
}

#[test]
fn no_settings_is_the_embedded_mode() {
    let config = read(&[("PATH", "/bin"), ("GAILOUX", "1")]).unwrap();
    assert_eq!((config.bind.to_string().as_str(), config.data.to_str()), ("127.0.0.1:8080", Some("data")));
    assert!(config.adjustable.limits.enabled && config.auth.token_secret.is_none());
    let modes: Vec<_> = config.types.iter().map(|(name, kind)| (name.as_str(), kind.mode, kind.level_limit)).collect();
    assert_eq!(
        modes,
        [
            ("article", Mode::Tree, 3),
            ("post", Mode::Flat, 3),
            ("topic", Mode::Building, 3),
            ("video", Mode::TwoLevel, 3)
        ]
    );
    assert_eq!(config.weights("video"), HotWeights::default());
}

#[test]
fn edge_has_an_address_and_a_secret() {
    let nothing = read(&[]).unwrap().edge;
    assert_eq!((nothing.url, nothing.fresh_for, nothing.hot_per_minute), (None, 10, 600));
    let file = "[edge]\nurl = 'https://edge.example/'\nfresh_for = 30\nhot_per_minute = 60";
    let edge = read_file(file, &[("GAILOU_EDGE_SECRET", GOOD)]).unwrap().edge;
    assert_eq!((edge.url.as_deref(), edge.fresh_for, edge.hot_per_minute), (Some("https://edge.example"), 30, 60));
    let empty = read(&[("GAILOU_EDGE__URL", "")]).unwrap().edge;
    assert_eq!(empty.url, None);
}

#[test]
fn turnstile_has_a_site_key_and_a_secret() {
    let variable = |name: &str| format!("GAILOU_CHALLENGE__TURNSTILE__{name}");
    let (site_key, secret, url) = (variable("SITE_KEY"), variable("SECRET"), variable("SITEVERIFY_URL"));
    let check = |variables: &[(&str, &str)], expected: &str| {
        let error = read(variables).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{variables:?}: {error}");
    };
    check(&[(&site_key, "0x4A")], &format!("{secret} must be given beside"));
    check(&[(&secret, "hidden")], &format!("{site_key} must be given beside"));
    check(&[("GAILOU_CHALLENGE__KIND", "turnstile")], &format!("{site_key} must be given if"));
    check(&[("GAILOU_CHALLENGE__KIND", "hcaptcha")], "GAILOU_CHALLENGE__KIND must be one of altcha, turnstile");
    check(&[("GAILOU_CHALLENGE__GUESTS", "all")], "GAILOU_CHALLENGE__GUESTS must be one of never, suspicious, always");
    check(&[(&site_key, "a b")], &format!("{site_key} must be at most"));
    check(&[(&url, "siteverify")], &format!("{url} must be an address"));
    let given = [("GAILOU_CHALLENGE__KIND", "turnstile"), (&site_key, "0x4A"), (&secret, "hidden")];
    let config = read(&given).unwrap();
    assert_eq!(config.adjustable.challenge.kind, ChallengeKind::Turnstile);
    assert_eq!(config.fixed, BTreeSet::from(["challenge.kind".to_owned()]));
    assert!(!format!("{config:?}").contains("hidden"));
    assert!(!config.adjustable.to_json().to_string().contains("0x4A"));
}

#[test]
fn variable_replaces_file_and_secret_is_text() {
    let file = "bind = '127.0.0.1:1'\ndata = 'here'\ncors.origins = ['https://a.example']\n\
                [types.video]\nmax_chars = 100\nweights.like = 2000\nweights.half_life_hours = 'none'\n\
                [types.qa]\nmode = 'tree'\nlevel_limit = 5\nguests = false";
    let variables = [
        ("GAILOU_BIND", "0.0.0.0:0"),
        ("GAILOU_TOKEN_SECRET", GOOD),
        ("GAILOU_LIMITS", "off"),
        ("GAILOU_LIMITS__POSTS_PER_MINUTE_MEMBER", "50"),
        ("GAILOU_TYPES__QA__MIN_LEVEL", "2"),
        ("GAILOU_KAFKA_BROKERS", ""),
    ];
    let config = read_file(file, &variables).unwrap();
    assert_eq!((config.bind.port(), config.data.to_str()), (0, Some("here")));
    assert_eq!(config.auth.token_secret.as_ref().map(Secret::expose), Some(GOOD));
    assert_eq!((config.adjustable.limits.enabled, config.adjustable.limits.posts_per_minute_member), (false, 50));
    let video = &config.types["video"];
    assert_eq!((video.mode, video.max_chars, video.weights.like), (Mode::TwoLevel, 100, 2_000));
    assert_eq!(video.weights().half_life_ms, None);
    let qa = &config.types["qa"];
    assert_eq!(
        (qa.threading().max_level(), qa.min_level, qa.guests, config.types["video"].guests),
        (5, 2, false, true)
    );
    let sites = &config.adjustable.sites;
    assert!(sites.allow("https://a.example") && !sites.allow("http://localhost"));
    let fixed = ["limits.enabled", "limits.posts_per_minute_member", "sites"];
    assert_eq!(config.fixed, fixed.map(String::from).into());
    assert!(!format!("{config:?}").contains(GOOD));
}

#[test]
fn wrong_variable_is_refused_by_name() {
    let check = |variables: &[(&str, &str)], name: &str| {
        let error = read(variables).unwrap_err().to_string();
        assert!(error.starts_with(name), "{variables:?}: {error}");
    };
    check(&[("GAILOU_NONSENSE", "1")], "GAILOU_NONSENSE is not a setting");
    check(&[("GAILOU_bind", "127.0.0.1:1")], "GAILOU_bind is not a setting");
    check(&[("GAILOU_LIMITS__NONSENSE", "1")], "GAILOU_LIMITS__NONSENSE is not");
    check(&[("GAILOU_TYPES__VIDEO__NONSENSE", "1")], "GAILOU_TYPES__VIDEO__NONSENSE is not");
    check(&[("GAILOU_TYPES__QA__GUESTS", "on")], "types.qa.mode is missing");
    check(&[("GAILOU_EDGE", "1")], "GAILOU_EDGE is not a setting");
    check(&[("GAILOU_TYPES__VIDEO", "1")], "GAILOU_TYPES__VIDEO is not a setting");
    check(&[("GAILOU_BIND", "localhost")], "GAILOU_BIND must be");
    check(&[("GAILOU_DATA", "")], "GAILOU_DATA must be");
    check(&[("GAILOU_LIMITS", "maybe")], "GAILOU_LIMITS must be on or off");
    check(&[("GAILOU_TYPES__VIDEO__MAX_CHARS", "5001")], "GAILOU_TYPES__VIDEO__MAX_CHARS must be from 1 to 5000");
    check(&[("GAILOU_TYPES__VIDEO__WEIGHTS__LIKE", "0.7")], "GAILOU_TYPES__VIDEO__WEIGHTS__LIKE must be");
    check(&[("GAILOU_AUTH__TOKEN_PUBLIC_KEY", "AAAA")], "GAILOU_AUTH__TOKEN_PUBLIC_KEY must be");
    check(&[("GAILOU_CORS__ORIGINS", "https://a,b")], "GAILOU_CORS__ORIGINS must be");
    check(&[("GAILOU_TOKEN_SECRET", "short")], "GAILOU_TOKEN_SECRET must be");
    check(&[("GAILOU_TOKEN_SECRET", "")], "GAILOU_TOKEN_SECRET must be");
    check(&[("GAILOU_CURSOR_SECRET", "short")], "GAILOU_CURSOR_SECRET must be");
    check(&[("GAILOU_EDGE_SECRET", "short")], "GAILOU_EDGE_SECRET must be");
    check(&[("GAILOU_EDGE_SECRET", GOOD), ("GAILOU_EDGE__SECRET", GOOD)], "GAILOU_EDGE__SECRET is the same");
    check(&[("GAILOU_EDGE__REQUIRE_EDGE", "on")], "GAILOU_EDGE_SECRET must be given");
    check(&[("GAILOU_EDGE__URL", "https://edge.example")], "GAILOU_EDGE_SECRET must be given");
    check(&[("GAILOU_EDGE_SECRET_PREVIOUS", GOOD)], "GAILOU_EDGE_SECRET must be given");
    for url in ["edge.example", "ftp://edge.example", "https://edge.example/path", "https://a@edge.example", "https://"]
    {
        check(
            &[("GAILOU_EDGE_SECRET", GOOD), ("GAILOU_EDGE__URL", url)],
            "GAILOU_EDGE__URL must be the Worker's address",
        );
    }
    check(&[("GAILOU_EDGE__FRESH_FOR", "4")], "GAILOU_EDGE__FRESH_FOR must be from 5 to 60");
    check(&[("GAILOU_EDGE__FRESH_FOR", "61")], "GAILOU_EDGE__FRESH_FOR must be from 5 to 60");
    check(&[("GAILOU_EDGE__HOT_PER_MINUTE", "0")], "GAILOU_EDGE__HOT_PER_MINUTE must be from 1");
    check(&[("GAILOU_CONFIG", "/nowhere.toml")], "the configuration \"/nowhere.toml\" cannot be read");
}

#[test]
fn cluster_without_a_key_is_refused() {
    let servers =
        [("GAILOU_MYSQL_URLS", "mysql://a"), ("GAILOU_REDIS_URLS", "redis://a"), ("GAILOU_KAFKA_BROKERS", "a:1")];
    let key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    if cfg!(feature = "cluster") {
        let error = read(&servers).unwrap_err().to_string();
        assert!(error.starts_with("GAILOU_TOKEN_SECRET must be given to a cluster"), "{error}");
        for given in [("GAILOU_TOKEN_SECRET", GOOD), ("GAILOU_AUTH__TOKEN_PUBLIC_KEY", key)] {
            read(&servers.into_iter().chain([given]).collect::<Vec<_>>()).unwrap();
        }
    }
    // Embedded, the first start makes a secret.
    assert!(read(&[("GAILOU_BIND", "0.0.0.0:1")]).unwrap().auth.token_secret.is_none());
}

#[test]
fn cluster_with_missing_servers_is_refused_by_name() {
    let all =
        [("GAILOU_MYSQL_URLS", "mysql://a"), ("GAILOU_REDIS_URLS", "redis://a"), ("GAILOU_KAFKA_BROKERS", "a:9092")];
    let secret = ("GAILOU_TOKEN_SECRET", GOOD);
    let error = |variables: &[(&str, &str)]| read(variables).unwrap_err().to_string();
    if cfg!(feature = "cluster") {
        let cluster = read(&[all[0], all[1], all[2], secret]).unwrap().cluster.unwrap();
        assert_eq!(
            (cluster.tuning.name.as_str(), cluster.tuning.tables, cluster.tuning.comments_ms),
            ("gailou", 16, 50)
        );
        assert!(error(&[("GAILOU_MYSQL_URLS", "pg://a"), all[1], all[2]]).starts_with("GAILOU_MYSQL_URLS must be"));
        assert!(
            error(&[("GAILOU_CLUSTER__NAME", "a b"), all[0], all[1], all[2]])
                .starts_with("GAILOU_CLUSTER__NAME must be")
        );
        let file = "mysql_urls = ['mysql://a', 'mysql://b']\nredis_urls = 'redis://a'\nkafka_brokers = 'a:1'";
        assert_eq!(read_file(file, &[secret]).unwrap().cluster.unwrap().mysql_urls.expose().len(), 2);
    } else {
        assert!(error(&all).ends_with("this build has no cluster feature"));
    }
    let two = error(&all[..2]);
    assert!(two.starts_with("GAILOU_MYSQL_URLS and GAILOU_REDIS_URLS cannot be used without GAILOU_KAFKA_BROKERS"));
    let one = error(&all[1..2]);
    assert!(one.starts_with("GAILOU_REDIS_URLS cannot be used without GAILOU_MYSQL_URLS and GAILOU_KAFKA_BROKERS"));
}

#[cfg(feature = "cluster")]
#[test]
fn protection_of_connections_is_honoured_or_refused_by_name() {
    let with = |variables: &[(&'static str, &'static str)]| {
        let all = [
            ("GAILOU_MYSQL_URLS", "mysql://a"),
            ("GAILOU_REDIS_URLS", "redis://a"),
            ("GAILOU_KAFKA_BROKERS", "a:9092"),
        ];
        let replaced = |name: &str| variables.iter().any(|(given, _)| *given == name);
        let mut all: Vec<_> = all.into_iter().filter(|(name, _)| !replaced(name)).collect();
        all.push(("GAILOU_TOKEN_SECRET", GOOD));
        all.extend(variables);
        read(&all).map(|config| config.cluster.unwrap())
    };
    let check = |variables: &[(&'static str, &'static str)], expected: &str| {
        let error = with(variables).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains("hidden"), "{variables:?}: {error}");
    };
    let plain = with(&[("GAILOU_CLUSTER__REDIS_CA", ""), ("GAILOU_CLUSTER__KAFKA_PASSWORD", "")]).unwrap();
    assert!(plain.transports().iter().all(|(_, transport)| *transport == Transport::Plain), "{plain:?}");
    check(&[("GAILOU_MYSQL_URLS", "mysql://a:hidden@b/c")], "GAILOU_MYSQL_URLS has a password and no ssl-mode");
    check(&[("GAILOU_MYSQL_URLS", "mysql://a/b?ssl-mode=preferred")], "GAILOU_MYSQL_URLS has ssl-mode=preferred");
    check(&[("GAILOU_REDIS_URLS", "rediss://a,redis://b")], "GAILOU_REDIS_URLS must all be");
    check(&[("GAILOU_REDIS_URLS", "rediss://:hidden@a/#insecure")], "GAILOU_REDIS_URLS has a part behind #");
    check(&[("GAILOU_CLUSTER__REDIS_CA", "/ca.pem")], "GAILOU_CLUSTER__REDIS_CA is for servers");
    let security = |name: &'static str| ("GAILOU_CLUSTER__KAFKA_SECURITY", name);
    let (user, password) = (("GAILOU_CLUSTER__KAFKA_USERNAME", "u"), ("GAILOU_CLUSTER__KAFKA_PASSWORD", "hidden"));
    let plain_sasl = ("GAILOU_CLUSTER__KAFKA_SASL_MECHANISM", "PLAIN");
    check(&[security("tls")], "GAILOU_CLUSTER__KAFKA_SECURITY must be one of plaintext, ssl, sasl_plaintext, sasl_ssl");
    check(&[user, password], "GAILOU_CLUSTER__KAFKA_USERNAME is used with");
    check(&[password], "GAILOU_CLUSTER__KAFKA_PASSWORD is used with");
    check(&[security("sasl_plaintext"), user, plain_sasl], "GAILOU_CLUSTER__KAFKA_PASSWORD must be given with");
    check(&[security("sasl_plaintext"), password], "GAILOU_CLUSTER__KAFKA_USERNAME must be given with");
    check(&[("GAILOU_CLUSTER__KAFKA_CA", "/ca.pem")], "GAILOU_CLUSTER__KAFKA_CA is for ssl and sasl_ssl");
    let login = with(&[security("sasl_plaintext"), user, password, plain_sasl]).unwrap();
    assert!(login.kafka.login.is_some() && !format!("{login:?}").contains("hidden"), "{login:?}");
    let encrypted = with(&[security("sasl_ssl"), user, password]);
    if cfg!(feature = "kafka-tls") {
        assert_eq!(encrypted.unwrap().transports()[2], ("kafka".to_owned(), Transport::Verified));
    } else {
        let (error, not_built) = (encrypted.unwrap_err().to_string(), "needs a build with the feature kafka-tls");
        assert!(
            error.starts_with("GAILOU_CLUSTER__KAFKA_SECURITY is sasl_ssl") && error.contains(not_built),
            "{error}"
        );
        check(&[security("sasl_plaintext"), user, password], "GAILOU_CLUSTER__KAFKA_SASL_MECHANISM is SCRAM-SHA-512");
    }
}

#[test]
fn wrong_key_of_a_file_is_refused_without_its_value() {
    let check = |text: &str, expected: &str| {
        let error = read_file(text, &[]).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains("hidden"), "{error}");
    };
    check("nonsense = 1", "nonsense in g.toml is not a setting");
    check("[limits]\nnonsense = 1", "limits.nonsense in g.toml is not");
    check("[nonsense]", "nonsense in g.toml is not");
    check("[nonsense]\nx = 1", "nonsense.x in g.toml is not");
    check("[types.video]\nmode = 'round'", "types.video.mode in g.toml must be one of flat, two_level, tree, building");
    check("[types.Video]\nmode = 'flat'", "types.Video is not a subject type");
    check("'types.video'.mode = 'flat'", "'types.video'.mode in g.toml is not");
    check("[auth]\ntoken_secret = 'hidden'", "auth.token_secret in g.toml must be");
    check("[auth]\ntoken_secret = 'hidden", "g.toml line 2 is not TOML");
    check("default_types = false", "types must be from 1 to 128");
    let many: String = (0..125).map(|n| format!("[types.t{n}]\nmode = 'flat'\n")).collect();
    check(&many, "types must be from 1 to 128");
}

#[test]
fn public_key_replaces_the_secret() {
    // RFC 8032, section 7.1, test 1.
    let key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let config = read(&[("GAILOU_AUTH__TOKEN_PUBLIC_KEY", key), ("GAILOU_BIND", "0.0.0.0:1")]).unwrap();
    assert!(config.auth.token_public_key.is_some() && read(&[]).unwrap().auth.token_public_key.is_none());
    let both = read(&[("GAILOU_AUTH__TOKEN_PUBLIC_KEY", key), ("GAILOU_TOKEN_SECRET", GOOD)]).unwrap_err();
    assert!(both.to_string().starts_with("GAILOU_TOKEN_SECRET cannot be given beside"));
}

#[test]
fn classifier_has_what_its_service_needs() {
    let variable = |name: &str| format!("GAILOU_CLASSIFIER__{name}");
    let (kind, url, key, site) = (variable("KIND"), variable("URL"), variable("KEY"), variable("SITE"));
    let classified = "GAILOU_RULES__CLASSIFIED";
    let check = |variables: &[(&str, &str)], expected: &str| {
        let error = read(variables).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{variables:?}: {error}");
        assert!(!error.contains("hidden"), "{error}");
    };
    check(&[(&kind, "bayes")], &format!("{kind} must be one of off, akismet, json"));
    check(&[(&kind, "akismet"), (&site, "https://a.example")], &format!("{key} must be given if"));
    check(&[(&kind, "akismet"), (&key, "hidden")], &format!("{site} must be given if"));
    check(&[(&kind, "json"), (&key, "hidden")], &format!("{url} must be given if"));
    for wrong in ["http://spam.example/", "spam.example", "https://u:hidden@spam.example", "ftp://127.0.0.1"] {
        check(&[(&url, wrong)], &format!("{url} must be an address by https"));
    }
    check(&[(classified, "guests")], "rules.classified can be guests or everyone where classifier.kind");
    check(&[(classified, "all")], &format!("{classified} must be one of none, guests, everyone"));
    check(&[("GAILOU_RULES__UNCLASSIFIED", "drop")], "GAILOU_RULES__UNCLASSIFIED must be one of allow, review");
    for good in ["https://spam.example/check?token=hidden", "http://127.0.0.1:9/", "http://[::1]:9", "http://localhost"]
    {
        let config = read(&[(&kind, "json"), (&url, good), (classified, "guests")]).unwrap();
        assert_eq!(config.classifier.address(), Some(good));
        assert!(!config.classifier.shown_address().unwrap().contains("hidden"));
    }
    let config = read(&[(&kind, "akismet"), (&key, "hidden"), (&site, "http://a.example")]).unwrap();
    assert_eq!(config.classifier.address(), Some("https://rest.akismet.com/1.1/comment-check"));
    assert!(!format!("{config:?}").contains("hidden"));
    assert!(!config.adjustable.to_json().to_string().contains("akismet"));
    assert_eq!(read(&[]).unwrap().classifier.address(), None);
}

#[test]
fn accounts_come_from_a_protected_address_by_a_key_that_can_be_sent() {
    let (url, key) = ("GAILOU_ACCOUNTS__URL", "GAILOU_ACCOUNTS__KEY");
    let check = |variables: &[(&str, &str)], expected: &str| {
        let error = read(variables).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{variables:?}: {error}");
        assert!(!error.contains("hidden"), "{error}");
    };
    for wrong in ["http://blog.example/", "blog.example", "https://u:hidden@blog.example", "ftp://127.0.0.1"] {
        check(&[(url, wrong)], "GAILOU_ACCOUNTS__URL must be an address by https, or by http on this machine");
    }
    check(&[(key, "hidden")], "GAILOU_ACCOUNTS__URL must be given if accounts.key is");
    let good = "https://blog.example/members?site=hidden";
    check(&[(url, good), (key, "hidden\nx")], "GAILOU_ACCOUNTS__KEY has characters that no header can have");
    check(&[("GAILOU_ACCOUNTS__TIMEOUT_MS", "49")], "GAILOU_ACCOUNTS__TIMEOUT_MS must be from 50 to 5000");
    let config = read(&[(url, good), (key, "hidden")]).unwrap();
    assert_eq!(config.accounts.shown_address(), Some("https://blog.example/members"));
    assert_eq!(config.accounts.authorization().unwrap(), "Bearer hidden");
    assert!(!format!("{:?}{:?}", config.accounts.key, config.accounts.authorization()).contains("hidden"));
    assert_eq!(read(&[]).unwrap().accounts.shown_address(), None);
    assert!(read(&[("GAILOU_ACCOUNTS__URL", "http://127.0.0.1:9/members")]).is_ok());
}

#[test]
fn default_config_is_the_one_of_no_settings() {
    assert_eq!(format!("{:?}", Config::default()), format!("{:?}", read(&[]).unwrap()));
}

/// The bounds that a setting's meaning states: "from 5 to 60".
fn stated_bounds(meaning: &str) -> Option<(u64, u64)> {
    let (_, rest) = meaning.split_once("from ")?;
    let mut words = rest.split([' ', ',', '.', ';']);
    let min = words.next()?.parse().ok()?;
    let max = words.nth(1)?.parse().ok()?;
    Some((min, max))
}

#[test]
fn stated_bounds_are_enforced() {
    for entry in reference::entries().iter().filter(|entry| entry.default.is_u64()) {
        let Some((min, max)) = stated_bounds(&entry.meaning) else {
            let has_no_bounds = entry.key.starts_with("limits.") || entry.key.ends_with("half_life_hours");
            assert!(has_no_bounds, "{} states no bounds: {}", entry.key, entry.meaning);
            continue;
        };
        let variable = variable_of(&entry.key).replace("NAME", "VIDEO");
        let accepts = |number: Option<u64>| number.is_none_or(|n| read(&[(&variable, &n.to_string())]).is_ok());
        assert!(accepts(Some(min)) && accepts(Some(max)), "{variable} from {min} to {max}");
        assert!(min == 0 || !accepts(Some(min - 1)), "{variable} below {min}");
        assert!(!accepts(Some(max + 1)), "{variable} above {max}");
    }
}

#[test]
fn example_file_holds_the_defaults() {
    let text = reference::toml();
    let uncommented: Vec<&str> = text
        .lines()
        .take_while(|line| *line != "#[types.NAME]")
        .map(|line| line.strip_prefix('#').filter(|setting| !setting.starts_with(' ')).unwrap_or(line))
        .filter(|line| !line.ends_with("= \"\""))
        .collect();
    let config = Config { fixed: BTreeSet::new(), ..read_file(&uncommented.join("\n"), &[]).unwrap() };
    assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
    assert!(read_file(&text, &[]).is_ok());
}

/// A file of the repository; line ends as they are in it.
fn repository_file(path: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

#[test]
fn documentation_holds_the_reference() {
    let page = repository_file("docs/configuration.md");
    let between =
        page.split("<!-- settings: begin -->").nth(1).and_then(|rest| rest.split("<!-- settings: end -->").next());
    let advice = "put the output of `gailou settings` between the marks of docs/configuration.md";
    assert_eq!(between.map(str::trim), Some(reference::markdown().trim()), "{advice}");
    let advice = "run: gailou settings --format toml >gailou.example.toml";
    assert_eq!(repository_file("gailou.example.toml"), reference::toml(), "{advice}");
}
