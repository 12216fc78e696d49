//! Connections that are encrypted: to servers with certificates, which are checked, and with passwords.

use std::path::PathBuf;

use futures_util::future::join_all;
use gailou::adapters::kafka::{ExpectedTopics, KafkaBroker};
use gailou::adapters::mysql::MysqlStore;
use gailou::adapters::redis::RedisConnection;
use gailou::adapters::redis::popularity::RedisPopularity;
use gailou::config::{KafkaLogin, KafkaSecurity, KafkaServers, Password, SaslMechanism, Transport, Urls};
use gailou::domain::row::WeightsByType;
use gailou::ports::popularity::Popularity as _;
use gailou_tests::backing_servers::{BackingServers, ServerKind, available};
use gailou_tests::{KAFKA_USER, TestCertificates, TestOrigin, ann, poll_until};

const SQL_PASSWORD: &str = "not-a-secret-either";
/// Another name of the same machine, which the certificate does not have.
const OTHER_NAME: &str = "localhost";

/// Servers that accept TLS, and what a program needs to know of them.
struct TlsTestBed {
    servers: BackingServers,
    certificates: TestCertificates,
}

impl TlsTestBed {
    async fn start() -> Self {
        let (servers, certificates) = BackingServers::start_with_tls().await;
        let bed = Self { servers, certificates };
        // The account is refused without TLS.
        let account = format!(
            "CREATE USER gailou@'127.0.0.1' IDENTIFIED BY '{SQL_PASSWORD}' REQUIRE SSL; GRANT ALL ON *.* TO gailou@'127.0.0.1'"
        );
        for database in [0, 1] {
            bed.servers.addresses().sql(database, &account);
        }
        bed
    }

    /// The address of a database on MariaDB or MySQL, with these parameters.
    fn database(&self, kind: ServerKind, host: &str, database: &str, parameters: &str) -> String {
        let port = self.servers.server(kind).tls_port();
        format!("mysql://gailou:{SQL_PASSWORD}@{host}:{port}/{database}{parameters}")
    }

    /// `?ssl-mode=…&ssl-ca=…`
    fn verified(&self, mode: &str) -> String {
        format!("?ssl-mode={mode}&ssl-ca={}", self.certificates.ca().display())
    }

    fn redis(&self, host: &str) -> String {
        format!("rediss://{host}:{}", self.servers.redis.tls_port())
    }

    fn kafka(&self, host: &str, ca: PathBuf, mechanism: SaslMechanism, password: &str) -> KafkaServers {
        let login = KafkaLogin {
            mechanism,
            username: KAFKA_USER.0.to_owned(),
            password: Password::new(password).expect("a password"),
        };
        KafkaServers {
            brokers: format!("{host}:{}", self.servers.kafka.tls_port()),
            security: KafkaSecurity::SaslSsl,
            ca: Some(ca),
            login: Some(login),
        }
    }
}

async fn try_mysql(url: String) -> Result<(), String> {
    MysqlStore::migrate(&[url], 1, WeightsByType::new()).await.map(drop).map_err(|error| error.to_string())
}

async fn try_redis(url: String, ca: Option<PathBuf>) -> Result<(), String> {
    let connection = RedisConnection::open(&[url], ca.as_deref()).await.map_err(|error| error.to_string())?;
    let popularity = RedisPopularity::new(connection, "tls");
    let query = async || popularity.most_read(1).await.map(drop).map_err(|error| error.to_string());
    // After a failure, nothing is sent for a while.
    poll_until(query, |answer| !answer.as_ref().is_err_and(|error| error.contains("a moment ago"))).await
}

async fn try_kafka(servers: &KafkaServers) -> Result<(), String> {
    let expected = ExpectedTopics { partitions: Some(1), installation: Some("tls".into()) };
    KafkaBroker::migrate(servers, "tls", expected, 1).await.map_err(|error| error.to_string())
}

fn check_refused(what: &str, connected: Result<(), String>, reasons: &[&str]) {
    let error = connected.expect_err(what).to_lowercase();
    assert!(reasons.iter().any(|reason| error.contains(reason)), "{what}: {error}");
    assert!(!error.contains(SQL_PASSWORD) && !error.contains(KAFKA_USER.1), "{what}: {error}");
}

async fn check_database(bed: &TlsTestBed, kind: ServerKind) {
    let address = |host: &str, parameters: &str| bed.database(kind, host, "tls", parameters);
    try_mysql(address("127.0.0.1", &bed.verified("verify_identity"))).await.expect("the certificate fits");
    try_mysql(address("127.0.0.1", &format!("?ssl-ca={}", bed.certificates.ca().display()))).await.expect("by default");
    try_mysql(address(OTHER_NAME, &bed.verified("verify_ca")))
        .await
        .expect("another name, and a certificate that is signed");
    try_mysql(address("127.0.0.1", "?ssl-mode=required")).await.expect("encrypted, and not verified");
    let other_ca = format!("?ssl-ca={}", bed.certificates.other_ca().display());
    check_refused(
        "another authority",
        try_mysql(address("127.0.0.1", &other_ca)).await,
        &["unknownissuer", "certificate"],
    );
    let other_name = try_mysql(address(OTHER_NAME, &bed.verified("verify_identity"))).await;
    check_refused("another name", other_name, &["not valid for name", "certificate"]);
    check_refused("no authority", try_mysql(address("127.0.0.1", "?ssl-mode=verify_identity")).await, &["certificate"]);
    // MySQL wants the password itself; MariaDB looks at the account first.
    let plain = try_mysql(address("127.0.0.1", "?ssl-mode=disabled")).await;
    check_refused("no TLS", plain, &["access denied", "gets it by tls only"]);
}

async fn check_redis(bed: &TlsTestBed) {
    let (ca, other_ca) = (Some(bed.certificates.ca()), Some(bed.certificates.other_ca()));
    try_redis(bed.redis("127.0.0.1"), ca.clone()).await.expect("the certificate fits");
    check_refused("another authority", try_redis(bed.redis("127.0.0.1"), other_ca).await, &["certificate"]);
    check_refused("no authority", try_redis(bed.redis("127.0.0.1"), None).await, &["certificate"]);
    check_refused("another name", try_redis(bed.redis(OTHER_NAME), ca).await, &["certificate"]);
    let missing = try_redis(bed.redis("127.0.0.1"), Some("/nowhere.pem".into())).await;
    check_refused("no file", missing, &["/nowhere.pem"]);
}

async fn check_kafka(bed: &TlsTestBed) {
    let (ca, other_ca) = (bed.certificates.ca(), bed.certificates.other_ca());
    let right = |mechanism| bed.kafka("127.0.0.1", ca.clone(), mechanism, KAFKA_USER.1);
    for mechanism in [SaslMechanism::Plain, SaslMechanism::ScramSha512] {
        try_kafka(&right(mechanism)).await.expect("the certificate and the password fit");
    }
    let wrong_password = |mechanism| bed.kafka("127.0.0.1", ca.clone(), mechanism, "wrong");
    let without_login = KafkaServers { security: KafkaSecurity::Ssl, login: None, ..right(SaslMechanism::Plain) };
    let refused = [
        ("a wrong password", wrong_password(SaslMechanism::Plain), "authentication"),
        ("a wrong password by SCRAM", wrong_password(SaslMechanism::ScramSha512), "authentication"),
        ("another authority", KafkaServers { ca: Some(other_ca), ..right(SaslMechanism::Plain) }, "certificate"),
        ("another name", bed.kafka(OTHER_NAME, ca.clone(), SaslMechanism::Plain, KAFKA_USER.1), "certificate"),
        ("no login", without_login, "broker"),
    ];
    // The driver tries each for seconds.
    let tried = join_all(refused.iter().map(|(_, servers, _)| try_kafka(servers))).await;
    for ((what, _, reason), connected) in refused.iter().zip(tried) {
        check_refused(what, connected, &[reason]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_and_passwords_of_servers_are_checked() {
    if !available() {
        return;
    }
    let bed = TlsTestBed::start().await;
    for kind in ServerKind::DATABASES {
        check_database(&bed, kind).await;
    }
    check_redis(&bed).await;
    let has_kafka_tls = cfg!(feature = "kafka-tls");
    if has_kafka_tls {
        tokio::task::block_in_place(|| bed.servers.kafka.add_scram_user());
        check_kafka(&bed).await;
    } else {
        eprintln!("SKIPPED: TLS to Kafka, which needs the feature kafka-tls");
    }
    // A whole cluster, with TLS wherever this build can.
    let origin = TestOrigin::start_on(&bed.servers.addresses(), |config| {
        let cluster = config.cluster.as_mut().expect("a cluster");
        let names = cluster.mysql_urls.expose().iter().filter_map(|url| url.rsplit('/').next());
        let verified = bed.verified("verify_identity");
        let urls = ServerKind::DATABASES
            .into_iter()
            .zip(names)
            .map(|(kind, name)| bed.database(kind, "127.0.0.1", name, &verified));
        let urls: Vec<_> = urls.collect();
        cluster.mysql_urls = Urls::parse(&urls.join(","), &["mysql://"]).expect("addresses");
        cluster.redis_urls = Urls::parse(&bed.redis("127.0.0.1"), &["rediss://"]).expect("an address");
        cluster.tuning.redis_ca = Some(bed.certificates.ca());
        if has_kafka_tls {
            cluster.kafka = bed.kafka("127.0.0.1", bed.certificates.ca(), SaslMechanism::ScramSha512, KAFKA_USER.1);
        }
        let transports = cluster.transports();
        let verified = transports.iter().filter(|(_, transport)| *transport == Transport::Verified).count();
        assert_eq!(verified, 3 + usize::from(has_kafka_tls), "{transports:?}");
    })
    .await;
    let comment = origin.post(&ann(), "article/tls", "encrypted").await;
    assert_eq!(origin.like(&ann(), &comment).await["likes"], 1);
    let page = origin.current_page("article/tls", "/v1/subjects/article/tls/comments").await;
    assert_eq!(page["data"][0]["content"], "encrypted");
}
