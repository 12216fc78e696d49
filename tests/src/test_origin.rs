//! An origin in this process: data of its own, a clock that stands still, no rate limits.
//!
//! `GAILOU_TEST_STORE` says where its data is: `embedded` (in a directory, the default) or `cluster`
//! (in two databases, Redis and Kafka, see [`backing_servers`]). The contract is the same.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gailou::bootstrap::Process;
use gailou::config::{ClusterSettings, ClusterTuning, Config, KafkaServers, Secret, Urls};
use gailou::domain::operation::Operation;
use gailou::jobs::sweep;
use gailou::state::ProcessRole;
use gailou::{bootstrap, http};
use gailou_shared::id::SubjectKey;
use gailou_shared::word_filter::{Term, TermAction};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::api_client::ApiClient;
use crate::backing_servers::{self, ServerAddresses};
use crate::manual_origin_clock::ManualOriginClock;
use crate::persist_barrier::PersistBarrier;
use crate::{TOKEN_SECRET, moderator, poll_until};

/// Names an OpenSearch server, `http://127.0.0.1:9200`.
const OPENSEARCH_VARIABLE: &str = "GAILOU_TEST_OPENSEARCH";
/// The time after which no first page begins with an older snapshot: an origin uses a snapshot for
/// 3 ms an id, and the largest holds 1,000 ids.
const SNAPSHOT_REUSE: Duration = Duration::from_secs(3);

/// How long an origin may need to open, and how long it waits before it tries once more.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);
const OPEN_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// A running origin. It dereferences to an [`ApiClient`] of its address.
#[derive(Debug)]
pub struct TestOrigin {
    client: ApiClient,
    pub app: Arc<Process>,
    config: Config,
    role: ProcessRole,
    clock: ManualOriginClock,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
    /// What another test may have after this one.
    _databases: Option<OriginDatabases>,
    _directory: Option<TempDir>,
}

impl TestOrigin {
    /// An origin with the default configuration.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// An origin whose configuration the test changes.
    pub async fn start_with(configure: impl FnOnce(&mut Config)) -> Self {
        // The other tests of a cluster have MariaDB first.
        let servers = || backing_servers::shared().clone().with_mysql_first();
        let databases = runs_in_cluster().then(|| OriginDatabases::create(&servers(), true));
        Self::start_in(databases, configure).await
    }

    /// An origin whose configuration the test changes and whose search answers: in a cluster, with indexes of its own
    /// on the OpenSearch server at `GAILOU_TEST_OPENSEARCH`. Without that server it is `None`, with a message, outside
    /// of CI.
    pub async fn start_with_search(configure: impl FnOnce(&mut Config)) -> Option<Self> {
        let origin = Self::start_beside_search(configure).await?;
        origin.wait_until_search_answers().await;
        Some(origin)
    }

    /// Waits until the index is built, or opened after a start.
    pub async fn wait_until_search_answers(&self) {
        let search = || self.request("GET /v1/subjects/article/unwritten/search?q=x").try_send();
        let answer = poll_until(search, |answer| answer.as_ref().is_ok_and(|answer| answer.status != 503)).await;
        assert!(answer.is_ok_and(|answer| answer.status != 503), "there is no index");
    }

    async fn start_beside_search(configure: impl FnOnce(&mut Config)) -> Option<Self> {
        if !runs_in_cluster() {
            return Some(Self::start_with(configure).await);
        }
        let Ok(url) = std::env::var(OPENSEARCH_VARIABLE) else {
            assert!(std::env::var_os("CI").is_none(), "{OPENSEARCH_VARIABLE} names no OpenSearch server");
            eprintln!("SKIPPED: {OPENSEARCH_VARIABLE} names no OpenSearch server");
            return None;
        };
        let started = Self::start_with(|config| {
            config.search.url = Some(url);
            let databases = config.cluster.as_ref().map(|cluster| cluster.tuning.name.clone()).unwrap_or_default();
            config.search.index = format!("test-{}", databases.to_lowercase().replace(['_', '.'], "-"));
            configure(config);
        });
        Some(started.await)
    }

    /// An origin of a cluster on these servers, which end with the test.
    pub async fn start_on(servers: &ServerAddresses, configure: impl FnOnce(&mut Config)) -> Self {
        Self::start_in(Some(OriginDatabases::create(servers, false)), configure).await
    }

    /// A second origin of the same cluster, with the same clock. It runs no jobs.
    pub async fn start_second(&self) -> Self {
        assert!(self.is_in_cluster(), "an embedded origin is alone");
        Self::open(self.config.clone(), ProcessRole::Serve, self.clock.clone(), None, None).await
    }

    async fn start_in(databases: Option<OriginDatabases>, configure: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut config = Config { data: directory.path().join("data"), ..Config::default() };
        config.adjustable.limits.enabled = false;
        config.auth.token_secret = Secret::new(TOKEN_SECRET);
        config.cluster = databases.as_ref().map(OriginDatabases::cluster_config);
        configure(&mut config);
        Self::open(config, ProcessRole::All, ManualOriginClock::start(), databases, Some(directory)).await
    }

    async fn open(
        config: Config,
        role: ProcessRole,
        clock: ManualOriginClock,
        databases: Option<OriginDatabases>,
        directory: Option<TempDir>,
    ) -> Self {
        let (app, client, stop, served) = serve(&config, role, &clock).await;
        let (stop, served) = (Some(stop), Some(served));
        Self { client, app, config, role, clock, stop, served, _databases: databases, _directory: directory }
    }

    /// Whether its data is in a cluster.
    pub fn is_in_cluster(&self) -> bool {
        self.config.cluster.is_some()
    }

    /// Stops it gracefully and starts it again on the same data, on another port.
    pub async fn restart(&mut self) {
        self.stop().await;
        let (app, client, stop, served) = serve(&self.config, self.role, &self.clock).await;
        self.app = app;
        self.client = client;
        self.stop = Some(stop);
        self.served = Some(served);
    }

    /// The same with a configuration that the test changes.
    pub async fn restart_with(&mut self, configure: impl FnOnce(&mut Config)) {
        configure(&mut self.config);
        self.restart().await;
    }

    async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(served) = self.served.take() {
            served.await.expect("the server did not panic");
        }
        self.app.close().await;
    }

    /// Moves the clock forward. Nothing else moves it, except [`TestOrigin::expire_snapshots`] and
    /// what calls that.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Moves the clock until no first page begins with a snapshot from before the call.
    pub fn expire_snapshots(&self) {
        self.advance(SNAPSHOT_REUSE);
    }

    /// Deletes what has expired, as the origin does from time to time.
    pub async fn sweep(&self) {
        sweep::sweep(&self.app).await.expect("the sweep is written");
    }

    /// Replaces the terms of the word filter; all of them have the category `ad`.
    pub async fn load_terms(&self, terms: &[(&str, TermAction)]) {
        let term =
            |(term, action): &(&str, TermAction)| Term { term: (*term).into(), category: "ad".into(), action: *action };
        self.app
            .journal
            .append(Operation::Dictionary {
                terms: terms.iter().map(term).collect(),
                expected_version: None,
                audit: None,
            })
            .await
            .expect("the terms are written");
        self.app.reload_dictionary().await.expect("the terms are loaded");
    }

    /// Everything in the tables that was ever published, as text: equal when nothing has changed.
    pub async fn export_tables(&self) -> String {
        self.wait_until_persisted().await;
        format!("{:#?}", self.app.tables.export_comments(None, None, 1_000_000).await.expect("an export"))
    }

    /// Why this comment waits for a moderator, once the queue has it.
    pub async fn queue_reasons(&self, comment: &Value) -> Value {
        self.wait_until_persisted().await;
        let queue = || async { self.request("GET /v1/admin/queue").by(&moderator()).send().await.expect(200) };
        let entry = |page: &Value| {
            page["data"]
                .as_array()
                .expect("a page")
                .iter()
                .find(|entry| entry["comment"]["id"] == comment["id"])
                .cloned()
        };
        let page = poll_until(queue, |page| entry(page).is_some()).await;
        entry(&page).unwrap_or_else(|| panic!("{comment} is not queued: {page}"))["why"].clone()
    }

    /// The first page of a list of this subject, as the tables have it: snapshots in memory are made
    /// to expire, and pages in memory are polled until they are rebuilt.
    pub async fn current_page(&self, subject: &str, path: &str) -> Value {
        self.expire_snapshots();
        let version = self.stored_version(subject).await.to_string();
        let page = poll_until(|| self.page(path), |page| page["page"]["epoch"] == version).await;
        assert_eq!(page["page"]["epoch"], version, "{path} stays at an old version");
        page
    }

    /// Every comment of the list, from its [`TestOrigin::current_page`] on.
    pub async fn walk_current(&self, subject: &str, path: &str) -> Vec<Value> {
        self.walk_from(path, self.current_page(subject, path).await).await
    }

    /// The version of the subject in the tables, which pages name as their epoch.
    pub async fn stored_version(&self, subject: &str) -> u64 {
        let (kind, key) = subject.split_once('/').expect("type/key");
        let key = SubjectKey::new(kind, key).expect("a subject");
        self.wait_until_persisted().await;
        self.app
            .store
            .read_subjects(&[key])
            .await
            .expect("the store answers")
            .pop()
            .flatten()
            .map_or(0, |row| row.version)
    }
}

impl Deref for TestOrigin {
    type Target = ApiClient;

    fn deref(&self) -> &ApiClient {
        &self.client
    }
}

type Served = (Arc<Process>, ApiClient, oneshot::Sender<()>, JoinHandle<()>);

async fn serve(config: &Config, role: ProcessRole, clock: &ManualOriginClock) -> Served {
    let until = Instant::now() + OPEN_TIMEOUT;
    let app = loop {
        match bootstrap::open_as(config.clone(), role, clock.clock()).await {
            Ok(app) => break app,
            // On a machine full of tests, a database may take long: operators start a server again, too.
            Err(error) if Instant::now() > until => panic!("the origin opens: {error:#}"),
            Err(_) => sleep(OPEN_RETRY_INTERVAL).await,
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let client = ApiClient::new(format!("http://{}", listener.local_addr().expect("an address")));
    let client = match app.broker() {
        Some(broker) => client.with_barrier(Arc::new(PersistBarrier::new(broker))),
        None => client,
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(http::serve(app.state.clone(), listener, async {
        let _ = stopped.await;
    }));
    (app, client, stop, served)
}

/// Whether `GAILOU_TEST_STORE` asks for a cluster.
fn runs_in_cluster() -> bool {
    match std::env::var("GAILOU_TEST_STORE").as_deref() {
        Err(_) | Ok("" | "embedded") => false,
        Ok("cluster") if cfg!(feature = "cluster") => true,
        Ok("cluster") => panic!("GAILOU_TEST_STORE=cluster needs --features gailou-tests/cluster"),
        Ok(other) => panic!("GAILOU_TEST_STORE={other:?} must be embedded or cluster"),
    }
}

/// A database on each of two servers, with a name that is unique there.
#[derive(Debug)]
struct OriginDatabases {
    addresses: ServerAddresses,
    /// Of both databases.
    database: String,
    /// Of the topics, the keys and the index, which no other test has.
    name: String,
    /// Whether the servers outlive the test.
    are_shared: bool,
}

/// Databases on the shared servers whose tests have ended, the oldest first: to migrate an empty one costs more than
/// most tests.
static FREE_DATABASES: Mutex<VecDeque<(Instant, String)>> = Mutex::new(VecDeque::new());

/// How long databases are left alone after a test: a statement that was sent may run still.
const DATABASE_REST: Duration = Duration::from_secs(2);

impl OriginDatabases {
    fn create(addresses: &ServerAddresses, are_shared: bool) -> Self {
        let name = format!("t{:012x}", rand::random::<u64>() >> 16);
        let mut databases = Self { addresses: addresses.clone(), database: name.clone(), name, are_shared };
        let free = if are_shared { take_rested_database() } else { None };
        match free {
            Some(database) => {
                databases.database = database;
                databases.empty();
            }
            None => databases.for_each(&format!("CREATE DATABASE {}", databases.database)),
        }
        databases
    }

    /// Makes them as they are after all migrations.
    fn empty(&self) {
        let database = &self.database;
        for server in [0, 1] {
            let list = format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}'");
            let tables = self.addresses.sql(server, &list);
            let filled = tables.lines().filter(|table| *table != "migration");
            let deletions: String = filled.map(|table| format!("DELETE FROM {database}.{table};")).collect();
            // The one row that a migration makes.
            let made = format!("INSERT INTO {database}.move_number (id, last) VALUES (0, 0)");
            self.addresses.sql(server, &format!("{deletions}{made}"));
        }
    }

    fn for_each(&self, statement: &str) {
        for server in [0, 1] {
            self.addresses.sql(server, statement);
        }
    }

    /// A small and quick cluster: batches wait only a moment for more.
    fn cluster_config(&self) -> ClusterSettings {
        let ServerAddresses { databases, redis, kafka } = &self.addresses;
        let databases = databases.each_ref().map(|server| format!("{server}/{}", self.database)).join(",");
        ClusterSettings {
            mysql_urls: Urls::parse(&databases, &["mysql://"]).expect("addresses"),
            redis_urls: Urls::parse(redis, &["redis://"]).expect("an address"),
            kafka: KafkaServers::plain(kafka),
            tuning: ClusterTuning {
                name: self.name.clone(),
                tables: 2,
                partitions: Some(4),
                replication: 1,
                batch: 1_000,
                comments_ms: 5,
                reactions_ms: 20,
                ..ClusterTuning::default()
            },
        }
    }
}

fn take_rested_database() -> Option<String> {
    let mut free = FREE_DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
    let (since, _) = free.front()?;
    if since.elapsed() < DATABASE_REST { None } else { free.pop_front().map(|(_, database)| database) }
}

impl Drop for OriginDatabases {
    fn drop(&mut self) {
        // After a failure the rows stay, to be looked into.
        if self.are_shared && !std::thread::panicking() {
            let ended = EndedDatabase(std::mem::take(&mut self.database));
            // Tasks of the origin may write until the runtime of the test has ended, and this one ends with them.
            tokio::spawn(async move {
                let _ended = ended;
                std::future::pending::<()>().await;
            });
        }
    }
}

/// The name of databases that another test may have once this is dropped.
struct EndedDatabase(String);

impl Drop for EndedDatabase {
    fn drop(&mut self) {
        let mut free = FREE_DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
        free.push_back((Instant::now(), std::mem::take(&mut self.0)));
    }
}
