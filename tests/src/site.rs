//! An origin in this process: data of its own, a clock that moves, no rate limits.
//!
//! Where its data is, `GAILOU_TEST_STORE` says: `embedded` (in a directory, the default) or
//! `cluster` (in two databases, Redis and Kafka, see [`services`]). The stories are the same.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gailou::bootstrap::Process;
use gailou::clock::Clock;
use gailou::config::{ClusterSettings, Config, Urls};
use gailou::domain::operation::Operation;
use gailou::state::ProcessRole;
use gailou::{bootstrap, http};
use gailou_shared::id::SubjectKey;
use gailou_shared::words::{Action, Term};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::services::Addresses;
use crate::settle::Settle;
use crate::{services, until};

/// A running origin. Its calls are those of [`Client`].
#[derive(Debug)]
pub struct Site {
    client: Client,
    pub app: Arc<Process>,
    config: Config,
    role: ProcessRole,
    /// Milliseconds that its clock is ahead.
    ahead: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
    /// What is to be dropped on the shared servers.
    _databases: Option<Databases>,
    _directory: Option<TempDir>,
}

impl Site {
    /// With the defaults of its kind.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// With a configuration of the test's own.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let databases = in_cluster().then(|| Databases::create(services::shared(), true));
        Self::begin(databases, change).await
    }

    /// In a cluster on these servers, which end with the test.
    pub async fn on(servers: &Addresses, change: impl FnOnce(&mut Config)) -> Self {
        Self::begin(Some(Databases::create(servers, false)), change).await
    }

    /// Another origin of the same cluster, by the same clock. It only serves.
    pub async fn beside(&self) -> Self {
        assert!(self.in_cluster(), "embedded, there is one origin");
        Self::open(self.config.clone(), ProcessRole::Serve, self.ahead.clone(), None, None).await
    }

    async fn begin(databases: Option<Databases>, change: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut config = Config { data: directory.path().join("data"), ..Config::default() };
        config.limits.enabled = false;
        config.cluster = databases.as_ref().map(Databases::cluster);
        change(&mut config);
        Self::open(config, ProcessRole::All, Arc::default(), databases, Some(directory)).await
    }

    async fn open(
        config: Config,
        role: ProcessRole,
        ahead: Arc<AtomicU64>,
        databases: Option<Databases>,
        directory: Option<TempDir>,
    ) -> Self {
        let (app, client, stop, served) = open(&config, role, &ahead).await;
        let (stop, served) = (Some(stop), Some(served));
        Self { client, app, config, role, ahead, stop, served, _databases: databases, _directory: directory }
    }

    /// Whether it is one of a cluster.
    pub fn in_cluster(&self) -> bool {
        self.config.cluster.is_some()
    }

    /// Stops gracefully and starts again on the same data, at another port.
    pub async fn restart(&mut self) {
        self.stop().await;
        let (app, client, stop, served) = open(&self.config, self.role, &self.ahead).await;
        self.app = app;
        self.client = client;
        self.stop = Some(stop);
        self.served = Some(served);
    }

    async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(served) = self.served.take() {
            served.await.expect("the server did not panic");
        }
        self.app.close().await;
    }

    /// Moves the clock on.
    pub fn pass(&self, ms: u64) {
        self.ahead.fetch_add(ms, Ordering::SeqCst);
    }

    /// Forgets what has outlived its time, as the origin does from time to time.
    pub async fn sweep(&self) {
        self.app.journal.append(Operation::Sweep).await.expect("a sweep");
    }

    /// Replaces the dictionary: terms with their actions, all of the category `ad`.
    pub async fn words(&self, terms: &[(&str, Action)]) {
        let term =
            |(term, action): &(&str, Action)| Term { term: (*term).into(), category: "ad".into(), action: *action };
        self.app.journal.append(Operation::Words(terms.iter().map(term).collect())).await.expect("words");
        self.app.reload_dictionary().await.expect("words");
    }

    /// Everything in the tables that was ever published, in words: equal when nothing changed.
    pub async fn tables(&self) -> String {
        self.settle().await;
        format!("{:#?}", self.app.tables.export_comments(None, None, 1_000_000).await.expect("an export"))
    }

    /// The first page of a list of this subject, as it stands in the tables now: ready pages in
    /// memory may be older for a moment.
    pub async fn fresh(&self, subject: &str, path: &str) -> Value {
        let version = self.version(subject).await.to_string();
        let page = until(|| self.page(path), |page| page["page"]["epoch"] == version).await;
        assert_eq!(page["page"]["epoch"], version, "{path} stays old");
        page
    }

    /// Every comment of the list, beginning with a [`Site::fresh`] page.
    pub async fn fresh_walk(&self, subject: &str, path: &str) -> Vec<Value> {
        self.walk_on(path, self.fresh(subject, path).await).await
    }

    /// The subject's version in the tables, which pages give as their epoch.
    pub async fn version(&self, subject: &str) -> u64 {
        let (kind, key) = subject.split_once('/').expect("type/key");
        let key = SubjectKey::new(kind, key).expect("a subject");
        self.settle().await;
        self.app.store.read_subjects(&[key]).await.expect("a subject").pop().flatten().map_or(0, |row| row.version)
    }
}

type Opened = (Arc<Process>, Client, oneshot::Sender<()>, JoinHandle<()>);

async fn open(config: &Config, role: ProcessRole, ahead: &Arc<AtomicU64>) -> Opened {
    let (system, ahead) = (Clock::system(), ahead.clone());
    let clock = Clock::from_fn(move || system.now() + ahead.load(Ordering::SeqCst));
    let app = bootstrap::open_as(config.clone(), role, clock).await.expect("the origin opens");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let client = Client::new(format!("http://{}", listener.local_addr().expect("an address")));
    let client = match app.broker() {
        Some(log) => client.settling(Arc::new(Settle::new(log))),
        None => client,
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(http::serve(app.state.clone(), listener, async {
        let _ = stopped.await;
    }));
    (app, client, stop, served)
}

/// What `GAILOU_TEST_STORE` asks for.
fn in_cluster() -> bool {
    match std::env::var("GAILOU_TEST_STORE").as_deref() {
        Err(_) | Ok("" | "embedded") => false,
        Ok("cluster") if cfg!(feature = "cluster") => true,
        Ok("cluster") => panic!("GAILOU_TEST_STORE=cluster needs --features gailou-tests/cluster"),
        Ok(other) => panic!("GAILOU_TEST_STORE={other:?} is neither embedded nor cluster"),
    }
}

/// Two databases, under a name that nobody else uses on these servers.
#[derive(Debug)]
struct Databases {
    addresses: Addresses,
    name: String,
    /// Whether the servers stay, so that these have to be dropped.
    shared: bool,
}

impl Databases {
    fn create(addresses: &Addresses, shared: bool) -> Self {
        let name = format!("t{:012x}", rand::random::<u64>() >> 16);
        let databases = Self { addresses: addresses.clone(), name, shared };
        databases.both("CREATE DATABASE");
        databases
    }

    fn both(&self, what: &str) {
        self.addresses.sql(&self.names().map(|name| format!("{what} {name};")).concat());
    }

    fn names(&self) -> [String; 2] {
        ["a", "b"].map(|which| format!("{}_{which}", self.name))
    }

    /// Small and quick: what is written waits for others only for a moment.
    fn cluster(&self) -> ClusterSettings {
        let Addresses { mysql, redis, kafka } = &self.addresses;
        let databases = self.names().map(|name| format!("{mysql}/{name}")).join(",");
        ClusterSettings {
            mysql_urls: Urls::parse(&databases, &["mysql://"]).expect("addresses"),
            redis_urls: Urls::parse(redis, &["redis://"]).expect("an address"),
            kafka_brokers: kafka.clone(),
            name: self.name.clone(),
            tables: 2,
            partitions: 4,
            replication: 1,
            batch: 1_000,
            comments_ms: 5,
            reactions_ms: 20,
        }
    }
}

impl Drop for Databases {
    fn drop(&mut self) {
        // What is left of a test that failed may help to see why.
        if self.shared && !std::thread::panicking() {
            self.both("DROP DATABASE");
        }
    }
}

impl Deref for Site {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
