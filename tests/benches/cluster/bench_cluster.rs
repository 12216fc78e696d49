//! The cluster that is measured: servers of its own, and two origins and a job as processes.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gailou::adapters::kafka::{ExpectedTopics, KafkaBroker};
use gailou::adapters::mysql::MysqlStore;
use gailou::config::KafkaServers;
use gailou::domain::row::WeightsByType;
use gailou_shared::token::Role;
use gailou_tests::backing_servers::{BackingServers, ServerAddresses};
use gailou_tests::{GailouProcess, PersistBarrier, TestMember, gailou_command, run_command};

/// Numbered tables of each kind: the default of the program.
pub(crate) const TABLES_PER_DATABASE: u16 = 16;
pub(crate) const DATABASE_NAME: &str = "gailou";
/// How long the job may take to persist what has piled up.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(120);
/// How many members have a token.
const MEMBER_COUNT: u64 = 100_000;

pub(crate) struct BenchCluster {
    pub(crate) servers: ServerAddresses,
    /// The origin under load.
    pub(crate) origin: SocketAddr,
    /// The origin beside it.
    pub(crate) second_origin: SocketAddr,
    pub(crate) tables: Arc<MysqlStore>,
    /// The tokens of members 1, 2, 3 …
    pub(crate) tokens: Arc<Vec<String>>,
    barrier: PersistBarrier,
    _processes: [GailouProcess; 3],
    /// The last field: the servers end after the processes that use them.
    _servers: BackingServers,
}

impl BenchCluster {
    pub(crate) async fn start() -> Self {
        let backing = BackingServers::start().await;
        let servers = backing.addresses();
        servers.sql(0, &format!("CREATE DATABASE {DATABASE_NAME}"));
        let migrated = run_command(command(&servers, &["migrate"])).await;
        assert_eq!(migrated.code, Some(0), "{}", migrated.stderr);
        let start = async |role: &str| GailouProcess::spawn(command(&servers, &[role, "--bind", "127.0.0.1:0"])).await;
        let processes = [start("serve").await, start("serve").await, start("job").await];
        let url = format!("{}/{DATABASE_NAME}", servers.databases[0]);
        let tables =
            MysqlStore::open(&[url], TABLES_PER_DATABASE, WeightsByType::new()).await.expect("the tables open");
        let broker = KafkaBroker::open(&KafkaServers::plain(&servers.kafka), "gailou", ExpectedTopics::default())
            .await
            .expect("the broker opens");
        let token = |n: u64| TestMember::new(n, &format!("reader {n}"), Role::Member).token;
        Self {
            origin: address(&processes[0]),
            second_origin: address(&processes[1]),
            tables: Arc::new(tables),
            tokens: Arc::new((1..=MEMBER_COUNT).map(token).collect()),
            barrier: PersistBarrier::new(Arc::new(broker)),
            servers,
            _processes: processes,
            _servers: backing,
        }
    }

    /// Waits until everything that was acknowledged is in the tables; the seconds it took.
    pub(crate) async fn wait_until_persisted(&self) -> f64 {
        let started = Instant::now();
        self.barrier.wait_within(CATCH_UP_TIMEOUT).await.unwrap_or_else(|problem| panic!("{problem}"));
        started.elapsed().as_secs_f64()
    }

    /// Ranks all comments again, for statements that have changed them.
    pub(crate) async fn rank_again(&self) {
        self.sql("DELETE FROM setting WHERE name = 'weights'").await;
        let ranked = run_command(command(&self.servers, &["migrate"])).await;
        assert_eq!(ranked.code, Some(0), "{}", ranked.stderr);
    }

    /// Runs statements in the database.
    pub(crate) async fn sql(&self, statement: &str) -> String {
        let (servers, statement) = (self.servers.clone(), format!("USE {DATABASE_NAME}; {statement}"));
        tokio::task::spawn_blocking(move || servers.sql(0, &statement)).await.expect("the statement ends")
    }
}

fn address(process: &GailouProcess) -> SocketAddr {
    process.base().trim_start_matches("http://").parse().expect("an address")
}

fn command(servers: &ServerAddresses, arguments: &[&str]) -> Command {
    let mut command = gailou_command(arguments);
    command
        .env("GAILOU_LIMITS", "off")
        .env("GAILOU_MYSQL_URLS", format!("{}/{DATABASE_NAME}", servers.databases[0]))
        .env("GAILOU_REDIS_URLS", &servers.redis)
        .env("GAILOU_KAFKA_BROKERS", &servers.kafka)
        .env("GAILOU_CLUSTER__TABLES", TABLES_PER_DATABASE.to_string());
    command
}
