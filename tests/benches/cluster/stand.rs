//! The cluster that is measured: servers of its own, two origins and a job as processes.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gailou::adapters::kafka::KafkaBroker;
use gailou::adapters::mysql::MysqlStore;
use gailou_tests::services::{Addresses, Services};
use gailou_tests::{Program, Settle, gailou, ran, who};

/// Numbered tables of a kind: the default of the program.
pub(crate) const TABLES: u16 = 16;
pub(crate) const DATABASE: &str = "gailou";
/// How long the job may take to write what has piled up.
const CATCH_UP: Duration = Duration::from_secs(120);
/// Members with a token.
const MEMBERS: u64 = 100_000;

pub(crate) struct Stand {
    pub(crate) servers: Addresses,
    /// The origin that has the load, and one beside it.
    pub(crate) serve: SocketAddr,
    pub(crate) other: SocketAddr,
    pub(crate) tables: Arc<MysqlStore>,
    /// Of members 1 and on.
    pub(crate) tokens: Arc<Vec<String>>,
    settle: Settle,
    _programs: [Program; 3],
    /// Last: they end after those that use them.
    _services: Services,
}

impl Stand {
    pub(crate) async fn start() -> Self {
        let services = tokio::task::spawn_blocking(Services::start).await.expect("they start");
        let servers = services.addresses();
        servers.sql(&format!("CREATE DATABASE {DATABASE}"));
        let migrated = ran(command(&servers, &["migrate"])).await;
        assert_eq!(migrated.code, Some(0), "{}", migrated.err);
        let start = async |role: &str| Program::spawn(command(&servers, &[role, "--bind", "127.0.0.1:0"])).await;
        let programs = [start("serve").await, start("serve").await, start("job").await];
        let url = format!("{}/{DATABASE}", servers.mysql);
        let tables =
            MysqlStore::open(&[url], TABLES, gailou::domain::row::WeightsByType::new()).await.expect("the tables open");
        let log = KafkaBroker::open(&servers.kafka, "gailou").await.expect("the log opens");
        let tokens = (1..=MEMBERS).map(|n| who(n, &format!("reader {n}"), "member").token).collect();
        Self {
            serve: address(&programs[0]),
            other: address(&programs[1]),
            tables: Arc::new(tables),
            tokens: Arc::new(tokens),
            settle: Settle::new(Arc::new(log)),
            servers,
            _programs: programs,
            _services: services,
        }
    }

    /// Waits until everything that was acknowledged is in the tables; how long that took.
    pub(crate) async fn caught_up(&self) -> f64 {
        let begun = Instant::now();
        self.settle.within(CATCH_UP).await.unwrap_or_else(|problem| panic!("{problem}"));
        begun.elapsed().as_secs_f64()
    }

    /// What the database answers.
    pub(crate) async fn sql(&self, statement: &str) -> String {
        let (servers, statement) = (self.servers.clone(), format!("USE {DATABASE}; {statement}"));
        tokio::task::spawn_blocking(move || servers.sql(&statement)).await.expect("it answers")
    }
}

fn address(program: &Program) -> SocketAddr {
    program.base().trim_start_matches("http://").parse().expect("an address")
}

fn command(servers: &Addresses, arguments: &[&str]) -> Command {
    let mut command = gailou(arguments);
    command
        .env("GAILOU_LIMITS", "off")
        .env("GAILOU_MYSQL_URLS", format!("{}/{DATABASE}", servers.mysql))
        .env("GAILOU_REDIS_URLS", &servers.redis)
        .env("GAILOU_KAFKA_BROKERS", &servers.kafka)
        .env("GAILOU_CLUSTER__TABLES", TABLES.to_string());
    command
}
