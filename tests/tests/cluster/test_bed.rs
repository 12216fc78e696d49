//! A cluster of real processes, with a database on each of two servers, and topics and keys of its own.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use gailou::adapters::kafka::{ExpectedTopics, KafkaBroker};
use gailou::config::KafkaServers;
use gailou::ports::broker::Broker;
use gailou_shared::id::SubjectKey;
use gailou_tests::backing_servers::ServerAddresses;
use gailou_tests::{
    ApiClient, CommandOutput, GailouProcess, POLL_TIMEOUT, PersistBarrier, ann, gailou_command, run_command,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Numbered tables of each kind in each of the two databases.
pub(crate) const TABLES_PER_DATABASE: u16 = 2;
/// How long the jobs may take to persist what has piled up.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(40);
/// How long a client waits for a response: longer than any limit of the program.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct ClusterTestBed {
    pub(crate) servers: ServerAddresses,
    /// The name of its topics, groups, keys and databases.
    pub(crate) name: String,
    settings: Vec<(&'static str, String)>,
    logs: PathBuf,
}

impl ClusterTestBed {
    /// Creates databases and topics on these servers. `settings` are variables without their prefix
    /// `GAILOU_CLUSTER__`.
    pub(crate) async fn create(servers: &ServerAddresses, settings: &[(&'static str, u64)]) -> Self {
        let bed = Self::without_databases(servers, settings);
        bed.for_each_database("CREATE DATABASE");
        bed.run_successfully(&["migrate"]).await;
        bed
    }

    /// A cluster that has neither databases nor topics yet.
    pub(crate) fn without_databases(servers: &ServerAddresses, settings: &[(&'static str, u64)]) -> Self {
        let name = format!("w{:012x}", rand::random::<u64>() >> 16);
        let logs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cluster").join(&name);
        std::fs::create_dir_all(&logs).expect("a directory");
        let settings = settings.iter().map(|(key, value)| (*key, value.to_string())).collect();
        Self { servers: servers.clone(), name, settings, logs }
    }

    /// Runs a statement that ends with the name of a database, for each of the two.
    pub(crate) fn for_each_database(&self, statement: &str) {
        for database in [0, 1] {
            self.servers.sql(database, &format!("{statement} {}", self.name));
        }
    }

    /// Runs statements on one of the two databases; see [`ServerAddresses::sql`].
    pub(crate) fn sql(&self, database: usize, statement: &str) -> String {
        self.servers.sql(database, &format!("USE {}; {statement}", self.name))
    }

    /// Copies the tables of one of the two databases; the name of the copy.
    pub(crate) fn save_database(&self, database: usize) -> String {
        let copy = format!("{}_saved", self.name);
        let tables = self.tables(database);
        let put = |table: &String| {
            format!("CREATE TABLE {copy}.{table} LIKE {table}; INSERT INTO {copy}.{table} SELECT * FROM {table}")
        };
        let puts: Vec<String> = tables.iter().map(put).collect();
        self.sql(database, &format!("CREATE DATABASE {copy}; {}", puts.join("; ")));
        copy
    }

    /// Sets one of the two databases back to a copy, which is used up.
    pub(crate) fn restore_database(&self, database: usize, copy: &str) {
        let put = |table: &String| format!("DROP TABLE {table}; RENAME TABLE {copy}.{table} TO {}.{table}", self.name);
        let puts: Vec<String> = self.tables(database).iter().map(put).collect();
        self.sql(database, &format!("{}; DROP DATABASE {copy}", puts.join("; ")));
    }

    fn tables(&self, database: usize) -> Vec<String> {
        let found = self.sql(database, "SHOW TABLES");
        found.lines().map(str::to_owned).collect()
    }

    /// The program with these arguments, as a part of this cluster.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = gailou_command(arguments);
        command
            .env("GAILOU_LIMITS", "off")
            .env("GAILOU_MYSQL_URLS", self.servers.databases.each_ref().map(|s| format!("{s}/{}", self.name)).join(","))
            .env("GAILOU_REDIS_URLS", &self.servers.redis)
            .env("GAILOU_KAFKA_BROKERS", &self.servers.kafka)
            .env("GAILOU_CLUSTER__NAME", &self.name)
            .env("GAILOU_CLUSTER__TABLES", TABLES_PER_DATABASE.to_string())
            .env("GAILOU_CLUSTER__PARTITIONS", "4");
        for (key, value) in &self.settings {
            command.env(format!("GAILOU_CLUSTER__{key}"), value);
        }
        command
    }

    async fn start_process(&self, role: &str) -> GailouProcess {
        let command = self.command(&[role, "--bind", "127.0.0.1:0"]);
        GailouProcess::spawn_logging(command, self.log_file(role)).await
    }

    /// The log file of a process, by its name.
    pub(crate) fn log_file(&self, name: &str) -> File {
        File::options().create(true).append(true).open(self.logs.join(name)).expect("a log file")
    }

    /// Starts an origin.
    pub(crate) async fn start_origin(&self) -> GailouProcess {
        self.start_process("serve").await
    }

    /// Starts a process that runs the jobs.
    pub(crate) async fn start_job(&self) -> GailouProcess {
        self.start_process("job").await
    }

    /// Starts two origins and a process that runs the jobs.
    pub(crate) async fn start_all(&self) -> (GailouProcess, GailouProcess, GailouProcess) {
        tokio::join!(self.start_origin(), self.start_origin(), self.start_job())
    }

    /// Posts a first comment and waits until it is a row: the jobs own their partitions from then on.
    pub(crate) async fn wait_for_jobs(&self, origin: &GailouProcess) {
        origin.post(&ann(), "post/first", "the jobs consume").await;
        self.wait_until_persisted().await;
    }

    /// Runs a command of the program to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> CommandOutput {
        run_command(self.command(arguments)).await
    }

    /// Runs a command that must succeed; the last line of its output.
    pub(crate) async fn run_successfully(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments).await;
        assert_eq!(output.code, Some(0), "gailou {}: {}{}", arguments.join(" "), output.stdout, output.stderr);
        output.last_line().to_owned()
    }

    /// The broker with the topics of this cluster.
    pub(crate) async fn broker(&self) -> Arc<dyn Broker> {
        Arc::new(
            KafkaBroker::open(&KafkaServers::plain(&self.servers.kafka), &self.name, ExpectedTopics::default())
                .await
                .expect("the broker opens"),
        )
    }

    /// Waits until the jobs have persisted everything that was appended.
    pub(crate) async fn wait_until_persisted(&self) {
        let persisted = PersistBarrier::new(self.broker().await).wait_within(CATCH_UP_TIMEOUT).await;
        persisted.unwrap_or_else(|problem| panic!("{problem}; logs: {}", self.logs.display()));
    }

    /// The rows of a query on both databases. With `{n}` in the query it runs for each numbered table.
    pub(crate) fn query(&self, statement: &str) -> Vec<Vec<String>> {
        let numbers = if statement.contains("{n}") { TABLES_PER_DATABASE } else { 1 };
        let tables = (0..numbers).map(|n| statement.replace("{n}", &n.to_string())).collect::<Vec<_>>().join("; ");
        let result = [0, 1].map(|database| self.sql(database, &tables)).concat();
        result.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// The number of rows of all tables: `count("FROM comment_{n}")`.
    pub(crate) fn count(&self, from: &str) -> u64 {
        self.query(&format!("SELECT COUNT(*) {from}")).iter().map(|row| row[0].parse::<u64>().expect("a number")).sum()
    }

    /// Deletes every key of this cluster in Redis.
    pub(crate) async fn delete_redis_keys(&self) {
        delete_redis_keys(&self.servers, &self.name).await;
    }

    /// Checks that there are no dead letters, and that rows, counters and caches agree.
    pub(crate) async fn check_consistency(&self) {
        self.run_successfully(&["reconcile"]).await;
        assert_eq!(self.run_successfully(&["dlq", "list"]).await, "0 dead letters");
    }
}

impl Drop for ClusterTestBed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the logs of the processes are in {}", self.logs.display());
            return;
        }
        self.for_each_database("DROP DATABASE");
        let _ = std::fs::remove_dir_all(&self.logs);
    }
}

/// Deletes every key in Redis of the cluster with this name.
pub(crate) async fn delete_redis_keys(servers: &ServerAddresses, name: &str) {
    let script = "for _, k in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', k) end";
    redis(servers, &["EVAL", script, "0", &format!("{{{name}:*")]).await;
}

/// Evicts every second key that has a time to live.
pub(crate) async fn evict_half(servers: &ServerAddresses) {
    let script = "for i, k in ipairs(redis.call('KEYS', '*')) do \
                  if i % 2 == 0 and redis.call('TTL', k) >= 0 then redis.call('DEL', k) end end";
    redis(servers, &["EVAL", script, "0"]).await;
}

/// The raw reply of Redis to a command, or an empty string when it cannot be reached.
pub(crate) async fn redis(servers: &ServerAddresses, words: &[&str]) -> String {
    let address = servers.redis.trim_start_matches("redis://");
    let mut command = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| command.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(command.as_bytes()).await?;
        let mut reply = vec![0; 64 * 1_024];
        let read = stream.read(&mut reply).await?;
        std::io::Result::Ok(String::from_utf8_lossy(&reply[..read]).into_owned())
    };
    let reply = tokio::time::timeout(POLL_TIMEOUT, exchange).await.expect("Redis replies").unwrap_or_default();
    assert!(!reply.starts_with('-'), "{words:?}: {reply}");
    reply
}

/// A client for each process, with a timeout that is longer than any limit of the program.
pub(crate) fn clients(processes: &[&GailouProcess]) -> Vec<ApiClient> {
    processes.iter().map(|process| ApiClient::with_timeout(process.base().to_owned(), RESPONSE_TIMEOUT)).collect()
}

/// For each of these slots a subject `article/…` that belongs to it.
pub(crate) fn subjects_in(slots: impl Iterator<Item = u16>) -> Vec<String> {
    let key = |n: u32| SubjectKey::new("article", &format!("s{n}")).expect("a subject");
    let find = |slot: u16| (0..).map(key).find(|key| key.slot().get() == slot).expect("a subject of the slot");
    slots.map(|slot| format!("article/{}", find(slot).key())).collect()
}
