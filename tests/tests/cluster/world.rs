//! A cluster of the real program's processes: databases, topics and keys of its own on given servers.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use gailou::adapters::kafka::KafkaBroker;
use gailou::ports::broker::Broker;
use gailou_shared::id::SubjectKey;
use gailou_tests::services::Addresses;
use gailou_tests::{Client, DEADLINE, Program, Ran, Settle, gailou, ran};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Tables of a kind in each of the two databases.
pub(crate) const TABLES: u16 = 2;
/// How long the job may take to write what has piled up.
const CATCH_UP: Duration = Duration::from_secs(40);

pub(crate) struct World {
    pub(crate) servers: Addresses,
    /// What its topics, groups, keys and databases are called by.
    pub(crate) name: String,
    settings: Vec<(&'static str, String)>,
    logs: PathBuf,
}

impl World {
    /// Databases and topics on these servers; `settings` are variables without `GAILOU_CLUSTER__`.
    pub(crate) async fn on(servers: &Addresses, settings: &[(&'static str, u64)]) -> Self {
        let name = format!("w{:012x}", rand::random::<u64>() >> 16);
        let logs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("laws").join(&name);
        std::fs::create_dir_all(&logs).expect("a directory");
        let settings = settings.iter().map(|(key, value)| (*key, value.to_string())).collect();
        let world = Self { servers: servers.clone(), name, settings, logs };
        world.each_database("CREATE DATABASE");
        world.done(&["migrate"]).await;
        world
    }

    fn each_database(&self, what: &str) {
        self.servers.sql(&self.databases().map(|name| format!("{what} {name};")).concat());
    }

    pub(crate) fn databases(&self) -> [String; 2] {
        ["a", "b"].map(|which| format!("{}_{which}", self.name))
    }

    /// The program as a part of this cluster.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = gailou(arguments);
        command
            .env("GAILOU_LIMITS", "off")
            .env("GAILOU_MYSQL_URLS", self.databases().map(|name| format!("{}/{name}", self.servers.mysql)).join(","))
            .env("GAILOU_REDIS_URLS", &self.servers.redis)
            .env("GAILOU_KAFKA_BROKERS", &self.servers.kafka)
            .env("GAILOU_CLUSTER__NAME", &self.name)
            .env("GAILOU_CLUSTER__TABLES", TABLES.to_string())
            .env("GAILOU_CLUSTER__PARTITIONS", "4");
        for (key, value) in &self.settings {
            command.env(format!("GAILOU_CLUSTER__{key}"), value);
        }
        command
    }

    async fn process(&self, role: &str) -> Program {
        let command = self.command(&[role, "--bind", "127.0.0.1:0"]);
        Program::spawn_logging(command, self.sink(role)).await
    }

    /// Where a process of this name logs.
    pub(crate) fn sink(&self, name: &str) -> File {
        File::options().create(true).append(true).open(self.logs.join(name)).expect("a log")
    }

    pub(crate) async fn serve(&self) -> Program {
        self.process("serve").await
    }

    pub(crate) async fn job(&self) -> Program {
        self.process("job").await
    }

    /// A command to its end.
    pub(crate) async fn ran(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments)).await
    }

    /// A command that must succeed; its last line.
    pub(crate) async fn done(&self, arguments: &[&str]) -> String {
        let ran = self.ran(arguments).await;
        assert_eq!(ran.code, Some(0), "gailou {}: {}{}", arguments.join(" "), ran.out, ran.err);
        ran.last().to_owned()
    }

    pub(crate) async fn log(&self) -> Arc<dyn Broker> {
        Arc::new(KafkaBroker::open(&self.servers.kafka, &self.name).await.expect("the log opens"))
    }

    /// Waits until the jobs have written everything that was appended.
    pub(crate) async fn settle(&self) {
        let settled = Settle::new(self.log().await).within(CATCH_UP).await;
        settled.unwrap_or_else(|problem| panic!("{problem}; logs: {}", self.logs.display()));
    }

    /// What a statement answers in both databases; `{n}` is the number of a table, of which all are
    /// asked.
    pub(crate) fn rows(&self, statement: &str) -> Vec<Vec<String>> {
        let numbers = if statement.contains("{n}") { TABLES } else { 1 };
        let tables = (0..numbers).map(|n| statement.replace("{n}", &n.to_string())).collect::<Vec<_>>().join("; ");
        let answer = self.servers.sql(&self.databases().map(|name| format!("USE {name}; {tables};")).concat());
        answer.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// How many rows there are, `FROM comment_{n}`.
    pub(crate) fn count(&self, from: &str) -> u64 {
        self.rows(&format!("SELECT COUNT(*) {from}")).iter().map(|row| row[0].parse::<u64>().expect("a number")).sum()
    }

    /// Redis forgets everything of this cluster.
    pub(crate) async fn forget(&self) {
        forget(&self.servers, &self.name).await;
    }

    /// Nothing is among the dead letters, and rows, counters and caches agree.
    pub(crate) async fn agrees(&self) {
        self.done(&["reconcile"]).await;
        assert_eq!(self.done(&["dlq", "list"]).await, "0 dead letters");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the logs of the processes are in {}", self.logs.display());
            return;
        }
        self.each_database("DROP DATABASE");
        let _ = std::fs::remove_dir_all(&self.logs);
    }
}

/// Redis forgets everything of the cluster of this name.
pub(crate) async fn forget(servers: &Addresses, name: &str) {
    let script = "for _, k in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', k) end";
    redis(servers, &["EVAL", script, "0", &format!("{{{name}:*")]).await;
}

/// Evicts half of what may be evicted: keys that have a time to live.
pub(crate) async fn evict(servers: &Addresses) {
    let script = "for i, k in ipairs(redis.call('KEYS', '*')) do \
                  if i % 2 == 0 and redis.call('TTL', k) >= 0 then redis.call('DEL', k) end end";
    redis(servers, &["EVAL", script, "0"]).await;
}

/// What Redis answers, as it lies on the wire; empty when it is not there.
pub(crate) async fn redis(servers: &Addresses, words: &[&str]) -> String {
    let address = servers.redis.trim_start_matches("redis://");
    let mut call = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| call.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(call.as_bytes()).await?;
        let mut answer = vec![0; 64 * 1_024];
        let read = stream.read(&mut answer).await?;
        std::io::Result::Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
    };
    let answer = tokio::time::timeout(DEADLINE, ask).await.expect("Redis answers").unwrap_or_default();
    assert!(!answer.starts_with('-'), "{words:?}: {answer}");
    answer
}

/// A client for every one of these, patient enough for what is broken.
pub(crate) fn clients(programs: &[&Program]) -> Vec<Client> {
    programs.iter().map(|program| Client::patient(program.base().to_owned(), Duration::from_secs(8))).collect()
}

/// The first subjects, `article/…`, that lie in these slots: one in each.
pub(crate) fn subjects_in(slots: impl Iterator<Item = u16>) -> Vec<String> {
    let key = |n: u32| SubjectKey::new("article", &format!("s{n}")).expect("a subject");
    let find = |slot: u16| (0..).map(key).find(|key| key.slot().get() == slot).expect("one of many");
    slots.map(|slot| format!("article/{}", find(slot).key())).collect()
}
