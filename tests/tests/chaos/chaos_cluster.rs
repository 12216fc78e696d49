//! A cluster of real processes for faults: four servers behind proxies, two origins, two jobs.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gailou::adapters::kafka::{ExpectedTopics, KafkaBroker};
use gailou::config::KafkaServers;
use gailou_tests::backing_servers::{BackingServers, ServerAddresses, ServerKind, free_port};
use gailou_tests::{
    ApiClient, ChildProcess, CommandOutput, GailouProcess, PersistBarrier, TcpProxy, gailou_command, run_command,
    run_command_within,
};

/// Numbered tables of each kind in each of the two databases.
const TABLES_PER_DATABASE: u16 = 2;
/// The name of the database on each of the two servers with tables.
const DATABASE_NAME: &str = "gailou";
/// The name of the cluster, with which its topics begin.
pub(crate) const CLUSTER_NAME: &str = "gailou";
/// How long a client waits for a response. Every limit of the origin is shorter.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a command beside the load may take: a slot that moves waits for each batch of its writers.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the jobs may take to persist what has piled up.
pub(crate) const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(60);
/// How often it is asked whether a process has exited.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a fault hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterPart {
    Origin,
    Job,
    AllJobs,
    Server(ServerKind),
}

impl ClusterPart {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Origin => "serve",
            Self::Job => "job",
            Self::AllJobs => "all-jobs",
            Self::Server(kind) => kind.name(),
        }
    }

    /// Whether it is one of the two servers with tables.
    pub(crate) fn is_database(self) -> bool {
        matches!(self, Self::Server(kind) if ServerKind::DATABASES.contains(&kind))
    }
}

/// A process of the program, which is restarted on the same port.
struct ClusterMember {
    role: &'static str,
    number: usize,
    port: u16,
    process: Option<GailouProcess>,
}

impl ClusterMember {
    fn running(&mut self) -> &mut ChildProcess {
        self.process.as_mut().expect("the process runs").process()
    }
}

pub(crate) struct ChaosCluster {
    servers: BackingServers,
    proxies: Vec<(ServerKind, TcpProxy)>,
    /// The addresses of the proxies, which the program uses.
    proxied: ServerAddresses,
    pub(crate) broker: Arc<KafkaBroker>,
    barrier: PersistBarrier,
    origins: [ClusterMember; 2],
    jobs: [ClusterMember; 2],
    /// Processes that exited without a fault.
    unexpected_exits: Vec<String>,
    logs: PathBuf,
}

impl ChaosCluster {
    pub(crate) async fn start() -> Self {
        let proxy_port = free_port();
        let servers = BackingServers::start_advertising(Some(proxy_port)).await;
        let mut proxies = Vec::new();
        for kind in ServerKind::ALL {
            let listens = if kind == ServerKind::Kafka { proxy_port } else { free_port() };
            proxies.push((kind, TcpProxy::start_on(listens, servers.server(kind).port()).await));
        }
        let port = |of: ServerKind| proxies.iter().find(|(kind, _)| *kind == of).expect("a proxy").1.port();
        let proxied = ServerAddresses::local(port);
        for database in [0, 1] {
            servers.addresses().sql(database, &format!("CREATE DATABASE {DATABASE_NAME}"));
        }
        let logs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("chaos");
        std::fs::create_dir_all(&logs).expect("a directory");
        let migrated = run_command(command(&proxied, &["migrate"])).await;
        assert_eq!(migrated.code, Some(0), "{}", migrated.stderr);
        let broker = KafkaBroker::open(&KafkaServers::plain(&proxied.kafka), CLUSTER_NAME, ExpectedTopics::default())
            .await
            .expect("the broker opens");
        let broker = Arc::new(broker);
        let new_process = |role, number| ClusterMember { role, number, port: free_port(), process: None };
        let mut cluster = Self {
            servers,
            proxies,
            proxied,
            barrier: PersistBarrier::new(broker.clone()),
            broker,
            origins: [0, 1].map(|n| new_process("serve", n)),
            jobs: [0, 1].map(|n| new_process("job", n)),
            unexpected_exits: vec![],
            logs,
        };
        cluster.restart_ended().await;
        cluster
    }

    /// A client for each origin.
    pub(crate) fn clients(&self) -> [ApiClient; 2] {
        self.origins
            .each_ref()
            .map(|member| ApiClient::with_timeout(format!("http://127.0.0.1:{}", member.port), RESPONSE_TIMEOUT))
    }

    /// Kills a part (SIGKILL): of two origins or jobs the first.
    pub(crate) fn kill(&mut self, part: ClusterPart) {
        match part {
            ClusterPart::Server(kind) => self.servers.server_mut(kind).kill(),
            part => self.members_mut(part).iter_mut().for_each(|member| drop(member.process.take())),
        }
    }

    /// Freezes a part (SIGSTOP).
    pub(crate) fn freeze(&mut self, part: ClusterPart) {
        match part {
            ClusterPart::Server(kind) => self.servers.server_mut(kind).freeze(),
            part => self.members_mut(part).iter_mut().for_each(|member| member.running().freeze()),
        }
    }

    /// Resumes a part (SIGCONT).
    pub(crate) fn resume(&mut self, part: ClusterPart) {
        match part {
            ClusterPart::Server(kind) => self.servers.server_mut(kind).resume(),
            part => self.members_mut(part).iter_mut().for_each(|member| member.running().resume()),
        }
    }

    /// Breaks every connection to a server, and closes each new one.
    pub(crate) fn cut(&self, kind: ServerKind) {
        self.proxy(kind).cut();
    }

    pub(crate) fn reconnect(&self, kind: ServerKind) {
        self.proxy(kind).heal();
    }

    /// Keeps a copy of what a server has.
    pub(crate) fn save(&mut self, kind: ServerKind) {
        tokio::task::block_in_place(|| self.servers.server_mut(kind).save());
    }

    /// Kills a server and starts it on the copy.
    pub(crate) fn rewind(&mut self, kind: ServerKind) {
        tokio::task::block_in_place(|| self.servers.server_mut(kind).rewind());
    }

    /// Restarts a part that was killed.
    pub(crate) async fn restart(&mut self, part: ClusterPart) {
        match part {
            ClusterPart::Server(kind) => tokio::task::block_in_place(|| self.servers.server_mut(kind).start()),
            _ => self.restart_ended().await,
        }
    }

    /// Restarts the processes of the program that do not run.
    pub(crate) async fn restart_ended(&mut self) {
        for member in self.origins.iter_mut().chain(&mut self.jobs) {
            if let Some(status) = member.process.as_mut().and_then(|process| process.process().status()) {
                self.unexpected_exits
                    .push(format!("{} {} exited without a fault: {status}", member.role, member.number));
                member.process = None;
            }
            if member.process.is_none() {
                let bind = format!("127.0.0.1:{}", member.port);
                let command = command(&self.proxied, &[member.role, "--bind", &bind]);
                let log = self.logs.join(format!("{}-{}.log", member.role, member.number));
                let log = File::options().create(true).append(true).open(log).expect("a log");
                member.process = Some(GailouProcess::spawn_logging(command, log).await);
            }
        }
    }

    /// Waits until every job has exited by itself, and kills those that have not; their exit codes.
    pub(crate) async fn wait_until_jobs_exit(&mut self, timeout: Duration) -> Vec<Option<i32>> {
        let started = Instant::now();
        let mut codes = Vec::new();
        for job in &mut self.jobs {
            let Some(mut process) = job.process.take() else { continue };
            let mut status = process.process().status();
            while status.is_none() && started.elapsed() < timeout {
                tokio::time::sleep(EXIT_POLL_INTERVAL).await;
                status = process.process().status();
            }
            codes.push(status.and_then(|status| status.code()));
        }
        codes
    }

    /// The address of the broker without the proxy, for requests about topics.
    pub(crate) fn broker_address(&self) -> String {
        self.servers.addresses().kafka
    }

    /// Processes that exited without a fault since the last call.
    pub(crate) fn take_unexpected_exits(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unexpected_exits)
    }

    /// Waits until the jobs have persisted everything that was acknowledged; how long they took.
    pub(crate) async fn wait_until_caught_up(&self) -> Result<Duration, String> {
        let started = Instant::now();
        self.barrier.wait_within(CATCH_UP_TIMEOUT).await?;
        Ok(started.elapsed())
    }

    /// Runs a command of the program beside the running cluster.
    pub(crate) async fn run(&self, arguments: &[&str]) -> CommandOutput {
        run_command_within(command(&self.proxied, arguments), COMMAND_TIMEOUT).await
    }

    /// Runs statements on one of the two databases; see [`ServerAddresses::sql`].
    pub(crate) fn sql(&self, database: usize, statement: &str) -> String {
        self.servers.addresses().sql(database, &format!("USE {DATABASE_NAME}; {statement}"))
    }

    /// The rows of a query on both databases, for each numbered table `{n}`.
    pub(crate) fn query(&self, statement: &str) -> Vec<Vec<String>> {
        let tables =
            (0..TABLES_PER_DATABASE).map(|n| statement.replace("{n}", &n.to_string())).collect::<Vec<_>>().join("; ");
        let result = [0, 1].map(|database| self.sql(database, &tables)).concat();
        result.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// The directory of the logs of the processes.
    pub(crate) fn logs(&self) -> &PathBuf {
        &self.logs
    }

    fn proxy(&self, of: ServerKind) -> &TcpProxy {
        &self.proxies.iter().find(|(kind, _)| *kind == of).expect("a proxy").1
    }

    fn members_mut(&mut self, part: ClusterPart) -> &mut [ClusterMember] {
        match part {
            ClusterPart::Origin => &mut self.origins[..1],
            ClusterPart::Job => &mut self.jobs[..1],
            ClusterPart::AllJobs => &mut self.jobs,
            ClusterPart::Server(kind) => unreachable!("{kind:?} is no process of the program"),
        }
    }
}

/// The program with these arguments, as a part of this cluster.
fn command(servers: &ServerAddresses, arguments: &[&str]) -> Command {
    let mut command = gailou_command(arguments);
    command
        .env("GAILOU_LIMITS", "off")
        .env(
            "GAILOU_MYSQL_URLS",
            servers.databases.each_ref().map(|server| format!("{server}/{DATABASE_NAME}")).join(","),
        )
        .env("GAILOU_REDIS_URLS", &servers.redis)
        .env("GAILOU_KAFKA_BROKERS", &servers.kafka)
        .env("GAILOU_CLUSTER__TABLES", TABLES_PER_DATABASE.to_string())
        .env("GAILOU_CLUSTER__PARTITIONS", "4");
    command
}
