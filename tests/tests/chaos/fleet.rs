//! A cluster of real processes: three servers behind proxies, two origins, two jobs.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gailou::adapters::kafka::KafkaBroker;
use gailou_tests::services::{Addresses, Kind, Services, free_port};
use gailou_tests::{Client, Program, Proxy, Ran, Settle, gailou, ran};

/// Tables of a kind in each of the two databases.
pub(crate) const TABLES: u16 = 2;
pub(crate) const DATABASES: [&str; 2] = ["gailou_0", "gailou_1"];
/// How long a client waits for an answer. Every limit of the origin is shorter.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long the job may take to write what has piled up.
const CATCH_UP: Duration = Duration::from_secs(60);
/// What is written is visible to all after this time: an origin may serve a page as it was before.
const VISIBLE: Duration = Duration::from_secs(1);

/// What is harmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Serve,
    Job,
    Server(Kind),
}

impl Part {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Job => "job",
            Self::Server(kind) => kind.name(),
        }
    }
}

/// One of the program's processes, which comes back where it was.
struct Member {
    role: &'static str,
    number: usize,
    port: u16,
    program: Option<Program>,
}

pub(crate) struct Fleet {
    services: Services,
    proxies: Vec<(Kind, Proxy)>,
    /// The servers as the program sees them.
    seen: Addresses,
    settle: Settle,
    serves: [Member; 2],
    jobs: [Member; 2],
    /// Processes that ended though nobody harmed them.
    ended: Vec<String>,
    logs: PathBuf,
}

impl Fleet {
    pub(crate) async fn start() -> Self {
        let proxy_port = free_port();
        let services = tokio::task::spawn_blocking(move || Services::start_advertising(Some(proxy_port)));
        let services = services.await.expect("they start");
        let mut proxies = Vec::new();
        for server in [&services.mariadb, &services.redis, &services.kafka] {
            let listens = if server.kind() == Kind::Kafka { proxy_port } else { free_port() };
            proxies.push((server.kind(), Proxy::at(listens, server.port()).await));
        }
        let port = |of: Kind| proxies.iter().find(|(kind, _)| *kind == of).expect("a proxy").1.port();
        let seen = Addresses::local(port(Kind::Mariadb), port(Kind::Redis), port(Kind::Kafka));
        for database in DATABASES {
            services.addresses().sql(&format!("CREATE DATABASE {database}"));
        }
        let logs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("chaos");
        std::fs::create_dir_all(&logs).expect("a directory");
        let migrated = ran(command(&seen, &["migrate"])).await;
        assert_eq!(migrated.code, Some(0), "{}", migrated.err);
        let log = KafkaBroker::open(&seen.kafka, "gailou").await.expect("the log opens");
        let member = |role, number| Member { role, number, port: free_port(), program: None };
        let mut fleet = Self {
            services,
            proxies,
            seen,
            settle: Settle::new(Arc::new(log)),
            serves: [0, 1].map(|n| member("serve", n)),
            jobs: [0, 1].map(|n| member("job", n)),
            ended: vec![],
            logs,
        };
        fleet.heal().await;
        fleet
    }

    /// The two origins.
    pub(crate) fn clients(&self) -> [Client; 2] {
        self.serves.each_ref().map(|member| Client::patient(format!("http://127.0.0.1:{}", member.port), PATIENCE))
    }

    /// `kill -9`, of one where there are two.
    pub(crate) fn kill(&mut self, part: Part) {
        match part {
            Part::Server(kind) => self.services.of(kind).kill(),
            part => drop(self.member(part).program.take()),
        }
    }

    /// `SIGSTOP`.
    pub(crate) fn freeze(&mut self, part: Part) {
        match part {
            Part::Server(kind) => self.services.of(kind).freeze(),
            part => self.member(part).program.as_mut().expect("it runs").process().freeze(),
        }
    }

    /// `SIGCONT`.
    pub(crate) fn wake(&mut self, part: Part) {
        match part {
            Part::Server(kind) => self.services.of(kind).wake(),
            part => self.member(part).program.as_mut().expect("it runs").process().wake(),
        }
    }

    /// Breaks every connection to a server, and each that is made.
    pub(crate) fn cut(&self, kind: Kind) {
        self.proxy(kind).cut();
    }

    pub(crate) fn join(&self, kind: Kind) {
        self.proxy(kind).heal();
    }

    /// Starts what was killed.
    pub(crate) async fn revive(&mut self, part: Part) {
        match part {
            Part::Server(kind) => tokio::task::block_in_place(|| self.services.of(kind).run()),
            _ => self.heal().await,
        }
    }

    /// Starts those of the program's processes that do not run.
    pub(crate) async fn heal(&mut self) {
        for member in self.serves.iter_mut().chain(&mut self.jobs) {
            if let Some(status) = member.program.as_mut().and_then(|program| program.process().status()) {
                self.ended.push(format!("{} {} ended by itself: {status}", member.role, member.number));
                member.program = None;
            }
            if member.program.is_none() {
                let bind = format!("127.0.0.1:{}", member.port);
                let command = command(&self.seen, &[member.role, "--bind", &bind]);
                let log = self.logs.join(format!("{}-{}.log", member.role, member.number));
                let log = File::options().create(true).append(true).open(log).expect("a log");
                member.program = Some(Program::spawn_logging(command, log).await);
            }
        }
    }

    /// Processes that have ended, since this was asked last, though nobody harmed them.
    pub(crate) fn ended(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ended)
    }

    /// Waits until the jobs have written everything that was appended, and everybody may see it; how
    /// long the jobs took.
    pub(crate) async fn caught_up(&self) -> Result<Duration, String> {
        let begun = Instant::now();
        self.settle.within(CATCH_UP).await?;
        let took = begun.elapsed();
        tokio::time::sleep(VISIBLE).await;
        Ok(took)
    }

    /// A command beside the running cluster.
    pub(crate) async fn command(&self, arguments: &[&str]) -> Ran {
        ran(command(&self.seen, arguments)).await
    }

    /// What a statement answers in both databases; `{n}` is the number of a table, of which all are
    /// asked.
    pub(crate) fn rows(&self, statement: &str) -> Vec<Vec<String>> {
        let tables = (0..TABLES).map(|n| statement.replace("{n}", &n.to_string())).collect::<Vec<_>>().join("; ");
        let all = DATABASES.map(|database| format!("USE {database}; {tables};")).concat();
        let answer = self.services.addresses().sql(&all);
        answer.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// Where the logs of the processes are.
    pub(crate) fn logs(&self) -> &PathBuf {
        &self.logs
    }

    fn proxy(&self, of: Kind) -> &Proxy {
        &self.proxies.iter().find(|(kind, _)| *kind == of).expect("a proxy").1
    }

    fn member(&mut self, part: Part) -> &mut Member {
        match part {
            Part::Serve => &mut self.serves[0],
            Part::Job => &mut self.jobs[0],
            Part::Server(kind) => unreachable!("{kind:?} is a server"),
        }
    }
}

/// The program as a part of this cluster.
fn command(servers: &Addresses, arguments: &[&str]) -> Command {
    let mut command = gailou(arguments);
    command
        .env("GAILOU_LIMITS", "off")
        .env("GAILOU_MYSQL_URLS", DATABASES.map(|database| format!("{}/{database}", servers.mysql)).join(","))
        .env("GAILOU_REDIS_URLS", &servers.redis)
        .env("GAILOU_KAFKA_BROKERS", &servers.kafka)
        .env("GAILOU_CLUSTER__TABLES", TABLES.to_string())
        .env("GAILOU_CLUSTER__PARTITIONS", "4");
    command
}
