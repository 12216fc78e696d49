//! Tables: what is read, and what is refused under which name.

use gailou_shared::path::Mode;
use gailou_shared::rank::HotWeights;

use crate::config::*;

const GOOD: &str = "12345678901234567890123456789012";

fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::read(Options::default(), variables.iter().map(|(name, value)| (name.into(), value.into())))
}

fn read_file(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let mut layers = Layers::default();
    layers.file(text, "g.toml")?;
    layers.variables(variables.iter().map(|(name, value)| (name.into(), value.into())))?;
    let config = Config::take(&mut layers)?;
    layers.finish()?;
    config.check_secrets()?;
    Ok(config)
}

#[test]
fn nothing_given_is_the_embedded_mode() {
    let config = read(&[("PATH", "/bin"), ("GAILOUX", "1")]).unwrap();
    assert_eq!((config.bind.to_string().as_str(), config.data.to_str()), ("127.0.0.1:8080", Some("data")));
    assert!(config.limits.enabled && config.auth.guests && config.token_secret().is_development());
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
fn the_worker_in_front_has_an_address_and_a_secret() {
    let nothing = read(&[]).unwrap().edge;
    assert_eq!((nothing.url, nothing.fresh_for, nothing.hot_per_minute), (None, 10, 600));
    let file = "[edge]\nurl = 'https://edge.example/'\nfresh_for = 30\nhot_per_minute = 60";
    let edge = read_file(file, &[("GAILOU_EDGE_SECRET", GOOD)]).unwrap().edge;
    assert_eq!((edge.url.as_deref(), edge.fresh_for, edge.hot_per_minute), (Some("https://edge.example"), 30, 60));
    let empty = read(&[("GAILOU_EDGE__URL", "")]).unwrap().edge;
    assert_eq!(empty.url, None);
}

#[test]
fn the_environment_replaces_the_file_and_secrets_are_text() {
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
    assert_eq!(config.token_secret().expose(), GOOD);
    assert_eq!((config.limits.enabled, config.limits.posts_per_minute_member), (false, 50));
    let video = &config.types["video"];
    assert_eq!((video.mode, video.max_chars, video.hot.like), (Mode::TwoLevel, 100, 2_000));
    assert_eq!(video.weights().half_life_ms, None);
    let qa = &config.types["qa"];
    assert_eq!(
        (qa.threading().max_level(), qa.min_level, config.guests("qa"), config.guests("video")),
        (5, 2, false, true)
    );
    assert!(config.origins("qa").allow("https://a.example") && !config.origins("qa").allow("http://localhost"));
    assert!(!format!("{config:?}").contains(GOOD));
}

#[test]
fn what_cannot_be_taken_is_refused_by_name() {
    let check = |variables: &[(&str, &str)], name: &str| {
        let error = read(variables).unwrap_err().to_string();
        assert!(error.starts_with(name), "{variables:?}: {error}");
    };
    check(&[("GAILOU_NONSENSE", "1")], "GAILOU_NONSENSE is not a setting");
    check(&[("GAILOU_bind", "127.0.0.1:1")], "GAILOU_bind is not a setting");
    check(&[("GAILOU_LIMITS__NONSENSE", "1")], "GAILOU_LIMITS__NONSENSE is not");
    check(&[("GAILOU_TYPES__VIDEO__NONSENSE", "1")], "GAILOU_TYPES__VIDEO__NONSENSE is not");
    check(&[("GAILOU_TYPES__QA__GUESTS", "on")], "types.qa.mode is missing");
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
fn the_development_secret_stays_on_loopback() {
    let check = |bind: &str, secret: Option<&str>, ok: bool| {
        let secret = secret.map(|secret| ("GAILOU_TOKEN_SECRET", secret));
        let variables: Vec<_> = [("GAILOU_BIND", bind)].into_iter().chain(secret).collect();
        match read(&variables) {
            Ok(_) => assert!(ok, "{variables:?}"),
            Err(e) => assert!(!ok && e.to_string().starts_with("GAILOU_TOKEN_SECRET must be given"), "{e}"),
        }
    };
    check("127.0.0.1:1", None, true);
    check("[::1]:1", None, true);
    check("[::ffff:127.0.0.1]:1", None, true);
    check("127.0.0.1:1", Some(DEVELOPMENT_SECRET), true);
    check("0.0.0.0:1", None, false);
    check("[::]:1", None, false);
    check("192.168.0.1:1", Some(DEVELOPMENT_SECRET), false);
    check("0.0.0.0:1", Some(GOOD), true);
    assert!(Secret::new(DEVELOPMENT_SECRET).is_some());
}

#[test]
fn a_cluster_needs_all_three_and_what_is_missing_is_named() {
    let all =
        [("GAILOU_MYSQL_URLS", "mysql://a"), ("GAILOU_REDIS_URLS", "redis://a"), ("GAILOU_KAFKA_BROKERS", "a:9092")];
    let error = |variables: &[(&str, &str)]| read(variables).unwrap_err().to_string();
    if cfg!(feature = "cluster") {
        let cluster = read(&all).unwrap().cluster.unwrap();
        assert_eq!((cluster.name.as_str(), cluster.tables, cluster.comments_ms), ("gailou", 16, 50));
        assert!(error(&[("GAILOU_MYSQL_URLS", "pg://a"), all[1], all[2]]).starts_with("GAILOU_MYSQL_URLS must be"));
        assert!(error(&[("GAILOU_CLUSTER__NAME", "a b"), all[0], all[1], all[2]]).starts_with("cluster.name must be"));
        let file = "mysql_urls = ['mysql://a', 'mysql://b']\nredis_urls = 'redis://a'\nkafka_brokers = 'a:1'";
        assert_eq!(read_file(file, &[]).unwrap().cluster.unwrap().mysql_urls.expose().len(), 2);
    } else {
        assert!(error(&all).ends_with("this build has no cluster feature"));
    }
    let two = error(&all[..2]);
    assert!(two.starts_with("GAILOU_MYSQL_URLS and GAILOU_REDIS_URLS cannot be used without GAILOU_KAFKA_BROKERS"));
    let one = error(&all[1..2]);
    assert!(one.starts_with("GAILOU_REDIS_URLS cannot be used without GAILOU_MYSQL_URLS and GAILOU_KAFKA_BROKERS"));
}

#[test]
fn keys_of_a_file_are_refused_by_name_without_their_value() {
    let check = |text: &str, expected: &str| {
        let error = read_file(text, &[]).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains("hidden"), "{error}");
    };
    check("nonsense = 1", "nonsense in g.toml is not a setting");
    check("[limits]\nnonsense = 1", "limits.nonsense in g.toml is not");
    check("[nonsense]", "nonsense in g.toml is empty");
    check("[types.video]\nmode = 'round'", "types.video.mode in g.toml must be flat");
    check("[types.Video]\nmode = 'flat'", "types.Video is no subject type");
    check("'types.video'.mode = 'flat'", "types.video in g.toml is not");
    check("[auth]\ntoken_secret = 'hidden'", "auth.token_secret in g.toml must be");
    check("[auth]\ntoken_secret = 'hidden", "g.toml line 2 is not TOML");
    check("default_types = false", "types must be from 1 to 128");
    let many: String = (0..125).map(|n| format!("[types.t{n}]\nmode = 'flat'\n")).collect();
    check(&many, "types must be from 1 to 128");
}

#[test]
fn a_public_key_needs_no_secret() {
    // RFC 8032, section 7.1, test 1.
    let key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let config = read(&[("GAILOU_AUTH__TOKEN_PUBLIC_KEY", key), ("GAILOU_BIND", "0.0.0.0:1")]).unwrap();
    assert!(matches!(config.token_key(), Ok(TokenKey::Public(_))));
    assert!(matches!(read(&[]).unwrap().token_key(), Ok(TokenKey::Secret(_))));
    let both = read(&[("GAILOU_AUTH__TOKEN_PUBLIC_KEY", key), ("GAILOU_TOKEN_SECRET", GOOD)]).unwrap_err();
    assert!(both.to_string().starts_with("GAILOU_TOKEN_SECRET cannot be given beside"));
}
