//! The servers behind a cluster: MariaDB, MySQL, Redis and Kafka, each a process of its own on loopback. A
//! cluster has one database on MariaDB and one on MySQL.
//!
//! `scripts/service.sh` knows how to start each of them; this module gives them directories and
//! ports, kills, freezes and restarts them. Promise: the servers and their data are gone when the
//! test process has ended, also when it was killed.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rand::Rng as _;

use crate::child_process::ChildProcess;
use crate::test_certificates::{KAFKA_USER, TestCertificates};

/// The variable that names the servers which all test programs of a run share:
/// `mysql://… of MariaDB;mysql://… of MySQL;redis://…;host:port`.
pub const SERVERS_VARIABLE: &str = "GAILOU_TEST_SERVICES";

/// Knows how each server is started.
const SERVICE_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/service.sh");

/// How long a server may take to accept connections: all may start at once on two busy processors.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(120);

/// How long Kafka's controller waits for a silent broker: with it, a killed one is back after 3.5 s instead of 11 s.
const BROKER_SESSION: Duration = Duration::from_secs(2);

/// The pause between two attempts to connect to a server that starts.
const STARTUP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Which of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerKind {
    Mariadb,
    Mysql,
    Redis,
    Kafka,
}

impl ServerKind {
    pub const ALL: [Self; 4] = [Self::Mariadb, Self::Mysql, Self::Redis, Self::Kafka];
    /// Those with tables, in the order of [`ServerAddresses::databases`].
    pub const DATABASES: [Self; 2] = [Self::Mariadb, Self::Mysql];

    /// Its name in `scripts/service.sh`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
            Self::Redis => "redis",
            Self::Kafka => "kafka",
        }
    }

    /// The program that must be installed, and the folder of `.tools` that must be there.
    const fn needs(self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Mariadb => (Some("mariadbd"), None),
            Self::Mysql => (None, Some("mysql/template")),
            Self::Redis => (Some("redis-server"), None),
            Self::Kafka => (Some("java"), Some("kafka/template")),
        }
    }

    /// Whether it accepts TLS on the port of plain connections.
    const fn has_one_port(self) -> bool {
        matches!(self, Self::Mariadb | Self::Mysql)
    }
}

/// One server. It keeps its data and its port when it is killed and started again.
#[derive(Debug)]
pub struct BackingServer {
    kind: ServerKind,
    directory: PathBuf,
    port: u16,
    /// The second port of the broker, for its controller; 0 for other servers.
    controller_port: u16,
    /// The port to which the broker sends its clients.
    advertised_port: u16,
    tls: Option<ServerTls>,
    /// Whether a server with tables writes a binary log.
    has_binlog: bool,
    process: Option<ChildProcess>,
}

/// How a server accepts TLS beside plain connections.
#[derive(Debug)]
struct ServerTls {
    certificates: TestCertificates,
    /// A server with tables has one port for both.
    port: u16,
}

impl BackingServer {
    /// A server that is not started yet, with a port of its own.
    pub fn new(kind: ServerKind, directory: &Path) -> Self {
        let port = free_port();
        let controller_port = if kind == ServerKind::Kafka { free_port() } else { 0 };
        let directory = directory.join(kind.name());
        Self {
            kind,
            directory,
            port,
            controller_port,
            advertised_port: port,
            tls: None,
            has_binlog: false,
            process: None,
        }
    }

    pub fn kind(&self) -> ServerKind {
        self.kind
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Makes the broker send its clients to the port of a proxy, from its next start on.
    pub fn advertise(&mut self, port: u16) {
        self.advertised_port = port;
    }

    /// Makes it accept TLS, too, from its next start on; Kafka then also wants a login there.
    pub fn enable_tls(&mut self, certificates: &TestCertificates) {
        let port = if self.kind.has_one_port() { self.port } else { free_port() };
        self.tls = Some(ServerTls { certificates: certificates.clone(), port });
    }

    /// Makes a server with tables write a binary log, as for a replica, from its next start on.
    pub fn enable_binlog(&mut self) {
        self.has_binlog = true;
    }

    /// Lets the user of [`KAFKA_USER`] log in by SCRAM. Only the broker that runs can store such a user.
    pub fn add_scram_user(&self) {
        let (user, password) = KAFKA_USER;
        let mut command = Command::new(SERVICE_SCRIPT);
        command.arg("kafka_user").arg(&self.directory).arg(self.port.to_string());
        let added = command.env("KAFKA_USER", user).env("KAFKA_PASSWORD", password).output().expect("java starts");
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    }

    /// The port for connections with TLS; the plain one without [`BackingServer::enable_tls`].
    pub fn tls_port(&self) -> u16 {
        self.tls.as_ref().map_or(self.port, |tls| tls.port)
    }

    /// Starts it on the data it has, and waits until it accepts connections.
    pub fn start(&mut self) {
        fs::create_dir_all(&self.directory).expect("a directory");
        let log = || Stdio::from(File::options().create(true).append(true).open(self.log()).expect("a log file"));
        let mut command = Command::new(SERVICE_SCRIPT);
        command.arg(self.kind.name()).arg(&self.directory);
        command.args([self.port, self.controller_port, self.advertised_port].map(|port| port.to_string()));
        if let Some(ServerTls { certificates, port }) = &self.tls {
            let (user, password) = KAFKA_USER;
            command.env("TLS_DIR", certificates.directory()).env("TLS_PORT", port.to_string());
            command.env("KAFKA_USER", user).env("KAFKA_PASSWORD", password);
        }
        if self.has_binlog {
            command.env("BINLOG", "1");
        }
        command.env("KAFKA_SESSION_MS", BROKER_SESSION.as_millis().to_string());
        let mut process = ChildProcess::spawn(&command, log(), log());
        let started = Instant::now();
        while !accepts_connections(self.port) {
            let state = match process.status() {
                Some(status) => format!("has exited: {status}"),
                None if started.elapsed() > STARTUP_TIMEOUT => {
                    format!("accepts no connections after {STARTUP_TIMEOUT:?}")
                }
                None => {
                    pause();
                    continue;
                }
            };
            let log = fs::read_to_string(self.log()).unwrap_or_default();
            panic!("{} {state}\n{log}", self.kind.name());
        }
        self.process = Some(process);
    }

    /// Kills it (SIGKILL).
    pub fn kill(&mut self) {
        drop(self.process.take());
    }

    /// Stops its execution (SIGSTOP): its connections stay open and nothing is answered.
    pub fn freeze(&self) {
        self.process.as_ref().expect("the server runs").freeze();
    }

    /// Continues its execution (SIGCONT).
    pub fn resume(&self) {
        self.process.as_ref().expect("the server runs").resume();
    }

    /// Keeps a copy of its data. A server that has no command for it is killed and started again.
    pub fn save(&mut self) {
        if self.kind == ServerKind::Redis {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("Redis accepts connections");
            stream.write_all(b"SAVE\r\n").expect("Redis reads");
            let mut reply = [0; 5];
            stream.read_exact(&mut reply).expect("Redis replies");
            assert_eq!(&reply, b"+OK\r\n");
            fs::rename(self.data(), self.saved()).expect("Redis has written its file");
            return;
        }
        self.kill();
        let _ = fs::remove_dir_all(self.saved());
        copy_directory(&self.data(), &self.saved());
        self.start();
    }

    /// Kills it and starts it on the copy of [`BackingServer::save`]: what it has learnt since is lost.
    pub fn rewind(&mut self) {
        self.kill();
        if self.kind == ServerKind::Redis {
            fs::rename(self.saved(), self.data()).expect("there is a copy");
            self.start();
            // The next start is empty again.
            fs::remove_file(self.data()).expect("Redis has read its file");
            return;
        }
        fs::remove_dir_all(self.data()).expect("the data can be deleted");
        fs::rename(self.saved(), self.data()).expect("there is a copy");
        self.start();
    }

    /// What `scripts/service.sh` lets it keep: a directory, or the file from which Redis starts.
    fn data(&self) -> PathBuf {
        self.directory.join(if self.kind == ServerKind::Redis { "dump.rdb" } else { "data" })
    }

    fn saved(&self) -> PathBuf {
        self.directory.join("saved")
    }

    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }
}

/// The addresses of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddresses {
    /// Those of MariaDB and MySQL, without the name of a database: the first database of a cluster is on the
    /// first server.
    pub databases: [String; 2],
    pub redis: String,
    pub kafka: String,
}

impl ServerAddresses {
    /// The servers on these ports of this machine.
    pub fn local(port: impl Fn(ServerKind) -> u16) -> Self {
        Self {
            databases: ServerKind::DATABASES.map(|kind| format!("mysql://root@127.0.0.1:{}", port(kind))),
            redis: format!("redis://127.0.0.1:{}", port(ServerKind::Redis)),
            kafka: format!("127.0.0.1:{}", port(ServerKind::Kafka)),
        }
    }

    /// Parses the value of [`SERVERS_VARIABLE`].
    pub fn parse(text: &str) -> Option<Self> {
        let [mariadb, mysql, redis, kafka] = text.split(';').collect::<Vec<_>>().try_into().ok()?;
        Some(Self { databases: [mariadb.into(), mysql.into()], redis: redis.into(), kafka: kafka.into() })
    }

    /// The same servers, with the first database of a cluster on MySQL.
    pub fn with_mysql_first(mut self) -> Self {
        self.databases.reverse();
        self
    }

    /// Runs statements on the server of a cluster's database 0 or 1; the result has a line for each row, with
    /// tabs between the values.
    pub fn sql(&self, database: usize, statement: &str) -> String {
        let address = &self.databases[database];
        let (host, port) = address.rsplit_once('@').and_then(|(_, at)| at.split_once(':')).expect("host:port");
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root", "--protocol=tcp"]);
        client.arg(format!("--host={host}")).arg(format!("--port={port}")).arg(format!("--execute={statement}"));
        let output = client.output().expect("the mariadb client starts");
        assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("the result is text")
    }
}

impl fmt::Display for ServerAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = &self.databases;
        write!(f, "{first};{second};{};{}", self.redis, self.kafka)
    }
}

/// All servers, for one test.
#[derive(Debug)]
pub struct BackingServers {
    pub mariadb: BackingServer,
    pub mysql: BackingServer,
    pub redis: BackingServer,
    pub kafka: BackingServer,
    /// The last field: it is deleted after the servers have ended.
    _directory: WatchedDirectory,
}

impl BackingServers {
    /// Starts them, all at the same time, on a thread that may block.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts them; the broker sends its clients to the port of a proxy.
    pub async fn start_advertising(kafka: Option<u16>) -> Self {
        Self::start_with(move |server| {
            if let (ServerKind::Kafka, Some(port)) = (server.kind(), kafka) {
                server.advertise(port);
            }
        })
        .await
    }

    /// Starts them so that they accept TLS, too. The certificates are theirs.
    pub async fn start_with_tls() -> (Self, TestCertificates) {
        let certificates = TestCertificates::create();
        let made = certificates.clone();
        (Self::start_with(move |server| server.enable_tls(&made)).await, certificates)
    }

    /// Starts them after `configure` has seen each.
    pub async fn start_with(configure: impl Fn(&mut BackingServer) + Send + Sync + 'static) -> Self {
        tokio::task::spawn_blocking(move || Self::start_blocking(configure)).await.expect("the servers start")
    }

    fn start_blocking(configure: impl Fn(&mut BackingServer) + Sync) -> Self {
        let directory = WatchedDirectory::create();
        let [mariadb, mysql, redis, kafka] = std::thread::scope(|scope| {
            let start = |kind: ServerKind| {
                let mut server = BackingServer::new(kind, &directory.path);
                configure(&mut server);
                scope.spawn(move || {
                    server.start();
                    server
                })
            };
            ServerKind::ALL.map(start).map(|started| started.join().expect("the server starts"))
        });
        Self { mariadb, mysql, redis, kafka, _directory: directory }
    }

    pub fn server(&self, kind: ServerKind) -> &BackingServer {
        match kind {
            ServerKind::Mariadb => &self.mariadb,
            ServerKind::Mysql => &self.mysql,
            ServerKind::Redis => &self.redis,
            ServerKind::Kafka => &self.kafka,
        }
    }

    pub fn server_mut(&mut self, kind: ServerKind) -> &mut BackingServer {
        match kind {
            ServerKind::Mariadb => &mut self.mariadb,
            ServerKind::Mysql => &mut self.mysql,
            ServerKind::Redis => &mut self.redis,
            ServerKind::Kafka => &mut self.kafka,
        }
    }

    pub fn addresses(&self) -> ServerAddresses {
        ServerAddresses::local(|kind| self.server(kind).port())
    }
}

/// The servers that the tests of this process share: those that [`SERVERS_VARIABLE`] names, or
/// servers that the first call starts.
pub fn shared() -> &'static ServerAddresses {
    static NAMED: OnceLock<Option<ServerAddresses>> = OnceLock::new();
    static OWN: OnceLock<(BackingServers, ServerAddresses)> = OnceLock::new();
    let named = NAMED.get_or_init(|| {
        let text = std::env::var(SERVERS_VARIABLE).ok()?;
        let addresses = ServerAddresses::parse(&text);
        Some(addresses.unwrap_or_else(|| panic!("{SERVERS_VARIABLE}={text:?} must be mariadb;mysql;redis;kafka")))
    });
    named.as_ref().unwrap_or_else(|| {
        let start = || {
            let servers = BackingServers::start_blocking(|_| {});
            let addresses = servers.addresses();
            (servers, addresses)
        };
        &OWN.get_or_init(start).1
    })
}

/// Whether the servers can be started on this machine. Where one is missing, a test prints that it
/// is skipped and passes; with `CI` set it fails.
pub fn available() -> bool {
    let Some(missing) = missing_program() else { return true };
    let complaint = format!("{missing} is missing: scripts/setup.sh services installs it");
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{complaint}");
    let test = std::thread::current();
    // Directly to the stream: the harness captures `eprintln!` and shows it only after a failure.
    let _ = writeln!(std::io::stderr(), "SKIPPED {}: {complaint}", test.name().unwrap_or("a test"));
    false
}

fn missing_program() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<_> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let is_installed = |program: &str| directories.iter().any(|directory| directory.join(program).is_file());
    let tools = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.tools"));
    ServerKind::ALL.into_iter().find_map(|kind| {
        let (program, folder) = kind.needs();
        let program = program.filter(|program| !is_installed(program)).map(str::to_owned);
        program
            .or_else(|| folder.filter(|folder| !tools.join(folder).is_dir()).map(|folder| format!(".tools/{folder}")))
    })
}

/// A directory that is deleted when this is dropped, and when this process ends for any reason: a
/// shell waits until the pipe closes that only this process holds open.
#[derive(Debug)]
struct WatchedDirectory {
    path: PathBuf,
    watcher: Child,
}

impl WatchedDirectory {
    fn create() -> Self {
        use std::os::unix::process::CommandExt as _;
        let path = tempfile::Builder::new().prefix("gailou-").tempdir().expect("a directory").keep();
        // The servers end at the same moment; files they still write are deleted by the next attempt.
        let script = r#"read -r _; for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$0" && exit; sleep 0.2; done"#;
        let mut watcher = Command::new("sh");
        // In a process group of its own, so that Ctrl-C does not end it.
        watcher.args(["-c", script]).arg(&path).process_group(0).stdin(Stdio::piped());
        let watcher = watcher.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("sh starts");
        Self { path, watcher }
    }
}

impl Drop for WatchedDirectory {
    fn drop(&mut self) {
        // `wait` closes the pipe first.
        let _ = self.watcher.wait();
    }
}

/// A free port outside the ephemeral range. A port of that range could be the local port of a client
/// that connects to its stopped server, and the client would reach itself.
pub fn free_port() -> u16 {
    let mut rng = rand::rng();
    loop {
        let port = rng.random_range(10_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn copy_directory(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status().expect("cp starts");
    assert!(copied.success(), "{} cannot be copied", from.display());
}

fn accepts_connections(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn pause() {
    #[expect(clippy::disallowed_methods, reason = "this thread only waits for a server")]
    std::thread::sleep(STARTUP_POLL_INTERVAL);
}
