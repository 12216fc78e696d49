//! Real servers for the suite: MariaDB, Redis and Kafka, each a process of its own on loopback.
//!
//! How each is started is in `scripts/service.sh`; here they are given directories and ports,
//! killed, frozen and started again. Promise: they and their data are gone when the test process
//! has ended, also when it was killed.

use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rand::Rng as _;

use crate::process::Process;

/// Says where the servers are that all test programs of a run share: `mysql://…;redis://…;host:port`.
pub const VARIABLE: &str = "GAILOU_TEST_SERVICES";

/// How long a server may take until it answers: they may all start at once on two busy processors.
const READY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Mariadb,
    Redis,
    Kafka,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Mariadb, Self::Redis, Self::Kafka];

    /// As `scripts/service.sh` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Redis => "redis",
            Self::Kafka => "kafka",
        }
    }

    /// The program it cannot run without.
    const fn program(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadbd",
            Self::Redis => "redis-server",
            Self::Kafka => "java",
        }
    }
}

/// One server. It keeps its data and its port when it is killed and started again.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    directory: PathBuf,
    /// Its port; the broker's controller has one more.
    port: u16,
    controller: u16,
    /// Where the broker tells its clients to go.
    advertised: u16,
    process: Option<Process>,
}

impl Server {
    /// Starts it and waits until it answers.
    pub fn start(kind: Kind, directory: &Path) -> Self {
        let mut server = Self::stopped(kind, directory);
        server.run();
        server
    }

    /// One that is not started yet, with a port of its own.
    pub fn stopped(kind: Kind, directory: &Path) -> Self {
        let port = free_port();
        let controller = if kind == Kind::Kafka { free_port() } else { 0 };
        let directory = directory.join(kind.name());
        Self { kind, directory, port, controller, advertised: port, process: None }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A proxy in front of it, for which the broker must send its clients there. From its next
    /// start on.
    pub fn advertise(&mut self, port: u16) {
        self.advertised = port;
    }

    /// Starts it, anew or on the data it has, and waits until it answers.
    pub fn run(&mut self) {
        fs::create_dir_all(&self.directory).expect("a directory");
        let log = || Stdio::from(File::options().create(true).append(true).open(self.log()).expect("a log"));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/service.sh");
        let mut command = Command::new(script);
        command.arg(self.kind.name()).arg(&self.directory);
        command.args([self.port, self.controller, self.advertised].map(|port| port.to_string()));
        let mut process = Process::spawn(&command, log(), log());
        let begun = Instant::now();
        while !answers(self.port) {
            let state = match process.status() {
                Some(status) => format!("has ended: {status}"),
                None if begun.elapsed() > READY => format!("does not answer in {READY:?}"),
                None => {
                    pause();
                    continue;
                }
            };
            let said = fs::read_to_string(self.log()).unwrap_or_default();
            panic!("{} {state}\n{said}", self.kind.name());
        }
        self.process = Some(process);
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        drop(self.process.take());
    }

    /// It holds its connections and does nothing, until it is woken or killed.
    pub fn freeze(&self) {
        self.process.as_ref().expect("it runs").freeze();
    }

    pub fn wake(&self) {
        self.process.as_ref().expect("it runs").wake();
    }

    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }
}

/// Where the three are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// Without a database.
    pub mysql: String,
    pub redis: String,
    pub kafka: String,
}

impl Addresses {
    /// The three at these ports of this machine.
    pub fn local(mariadb: u16, redis: u16, kafka: u16) -> Self {
        Self {
            mysql: format!("mysql://root@127.0.0.1:{mariadb}"),
            redis: format!("redis://127.0.0.1:{redis}"),
            kafka: format!("127.0.0.1:{kafka}"),
        }
    }

    /// What [`VARIABLE`] holds.
    pub fn parse(text: &str) -> Option<Self> {
        let [mysql, redis, kafka] = text.split(';').collect::<Vec<_>>().try_into().ok()?;
        Some(Self { mysql: mysql.into(), redis: redis.into(), kafka: kafka.into() })
    }

    /// What a statement answers: lines of values with tabs between them.
    pub fn sql(&self, statement: &str) -> String {
        let (host, port) = self.mysql.rsplit_once('@').and_then(|(_, at)| at.split_once(':')).expect("host:port");
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root", "--protocol=tcp"]);
        client.arg(format!("--host={host}")).arg(format!("--port={port}")).arg(format!("--execute={statement}"));
        let answer = client.output().expect("the client runs");
        assert!(answer.status.success(), "{statement}: {}", String::from_utf8_lossy(&answer.stderr));
        String::from_utf8(answer.stdout).expect("text")
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{};{}", self.mysql, self.redis, self.kafka)
    }
}

/// The three, for one test.
#[derive(Debug)]
pub struct Services {
    pub mariadb: Server,
    pub redis: Server,
    pub kafka: Server,
    /// After the servers: it goes when they are gone.
    _directory: Directory,
}

impl Services {
    /// Starts them, all at the same time.
    pub fn start() -> Self {
        Self::start_advertising(None)
    }

    /// The same with a proxy's port that the broker sends its clients to.
    pub fn start_advertising(kafka: Option<u16>) -> Self {
        let directory = Directory::new();
        let [mariadb, redis, kafka] = std::thread::scope(|scope| {
            let start = |kind: Kind| {
                let mut server = Server::stopped(kind, &directory.path);
                if let (Kind::Kafka, Some(port)) = (kind, kafka) {
                    server.advertise(port);
                }
                scope.spawn(move || {
                    server.run();
                    server
                })
            };
            Kind::ALL.map(start).map(|started| started.join().expect("it starts"))
        });
        Self { mariadb, redis, kafka, _directory: directory }
    }

    pub fn of(&mut self, kind: Kind) -> &mut Server {
        match kind {
            Kind::Mariadb => &mut self.mariadb,
            Kind::Redis => &mut self.redis,
            Kind::Kafka => &mut self.kafka,
        }
    }

    pub fn addresses(&self) -> Addresses {
        Addresses::local(self.mariadb.port(), self.redis.port(), self.kafka.port())
    }
}

/// Where the servers are that the tests of this process share; the first who asks starts them,
/// unless [`VARIABLE`] names them.
pub fn shared() -> &'static Addresses {
    static NAMED: OnceLock<Option<Addresses>> = OnceLock::new();
    static OWN: OnceLock<(Services, Addresses)> = OnceLock::new();
    let named = NAMED.get_or_init(|| {
        let text = std::env::var(VARIABLE).ok()?;
        Some(Addresses::parse(&text).unwrap_or_else(|| panic!("{VARIABLE}={text:?} is not mysql;redis;kafka")))
    });
    named.as_ref().unwrap_or_else(|| {
        let start = || {
            let services = Services::start();
            let addresses = services.addresses();
            (services, addresses)
        };
        &OWN.get_or_init(start).1
    })
}

/// Whether the servers can be started here. Where they cannot, a test says so and passes, but not
/// in CI (`CI` is set): there it fails.
pub fn available() -> bool {
    let Some(missing) = missing() else { return true };
    let complaint = format!("{missing} is missing: scripts/setup.sh services installs it");
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{complaint}");
    let test = std::thread::current();
    // Past the test harness, which shows what a test prints only when it fails.
    let _ = writeln!(std::io::stderr(), "SKIPPED {}: {complaint}", test.name().unwrap_or("a test"));
    false
}

fn missing() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<_> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let found = |program: &str| places.iter().any(|directory| directory.join(program).is_file());
    let program = Kind::ALL.map(Kind::program).into_iter().find(|program| !found(program));
    let template = concat!(env!("CARGO_MANIFEST_DIR"), "/../.tools/kafka/template");
    program.map(str::to_owned).or_else(|| (!Path::new(template).is_dir()).then(|| "Kafka (.tools/kafka)".to_owned()))
}

/// A directory that is deleted when this is dropped, and when this process ends: a shell waits for
/// the pipe to close that only this process holds.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    watcher: Child,
}

impl Directory {
    fn new() -> Self {
        use std::os::unix::process::CommandExt as _;
        let path = tempfile::Builder::new().prefix("gailou-").tempdir().expect("a directory").keep();
        // The servers die at the same moment; what they still write is deleted at the next try.
        let script = r#"read -r _; for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$0" && exit; sleep 0.2; done"#;
        let mut watcher = Command::new("sh");
        // In a group of its own, so that Ctrl-C does not take it along.
        watcher.args(["-c", script]).arg(&path).process_group(0).stdin(Stdio::piped());
        let watcher = watcher.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("sh runs");
        Self { path, watcher }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closes the pipe first.
        let _ = self.watcher.wait();
    }
}

/// A port nobody listens at, outside the range from which connections take theirs: a client that
/// asks for a server that is down would else find itself there one day.
pub fn free_port() -> u16 {
    let mut rng = rand::rng();
    loop {
        let port = rng.random_range(10_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn answers(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Between two looks.
fn pause() {
    #[expect(clippy::disallowed_methods, reason = "a thread that does nothing but wait for a server")]
    std::thread::sleep(Duration::from_millis(20));
}
