//! An origin in this process: its own directory, a clock that moves, no rate limits.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gailou::app::App;
use gailou::clock::Clock;
use gailou::config::Config;
use gailou::http;
use gailou::store::Event;
use gailou_shared::id::SubjectKey;
use gailou_shared::words::{Action, Term};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::until;

/// A running origin. Its calls are those of [`Client`].
#[derive(Debug)]
pub struct Site {
    client: Client,
    pub app: Arc<App>,
    config: Config,
    /// Milliseconds that its clock is ahead.
    ahead: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
    _directory: TempDir,
}

impl Site {
    /// With the embedded defaults.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// With a configuration of the test's own.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut config = Config { data: directory.path().join("data"), ..Config::default() };
        config.limits.enabled = false;
        change(&mut config);
        let ahead = Arc::new(AtomicU64::new(0));
        let (app, client, stop, served) = open(&config, &ahead).await;
        Self { client, app, config, ahead, stop: Some(stop), served: Some(served), _directory: directory }
    }

    /// Stops gracefully and starts again on the same data, at another port.
    pub async fn restart(&mut self) {
        self.stop().await;
        let (app, client, stop, served) = open(&self.config, &self.ahead).await;
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
        self.app.journal.append(Event::Sweep).await.expect("a sweep");
    }

    /// Replaces the dictionary: terms with their actions, all of the category `ad`.
    pub async fn words(&self, terms: &[(&str, Action)]) {
        let term =
            |(term, action): &(&str, Action)| Term { term: (*term).into(), category: "ad".into(), action: *action };
        self.app.journal.append(Event::Words(terms.iter().map(term).collect())).await.expect("words");
        self.app.reload_words().await.expect("words");
    }

    /// Everything in the tables that was ever published, in words: equal when nothing changed.
    pub async fn tables(&self) -> String {
        format!("{:#?}", self.app.store.export(None, None, 1_000_000).await.expect("an export"))
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
        self.app.store.subjects(&[key]).await.expect("a subject").pop().flatten().map_or(0, |row| row.version)
    }
}

async fn open(config: &Config, ahead: &Arc<AtomicU64>) -> (Arc<App>, Client, oneshot::Sender<()>, JoinHandle<()>) {
    let (system, ahead) = (Clock::system(), ahead.clone());
    let clock = Clock::from_fn(move || system.now() + ahead.load(Ordering::SeqCst));
    let app = App::open_at(config.clone(), clock).await.expect("the origin opens");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let client = Client::new(format!("http://{}", listener.local_addr().expect("an address")));
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(http::serve(app.clone(), listener, async {
        let _ = stopped.await;
    }));
    (app, client, stop, served)
}

impl Deref for Site {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
