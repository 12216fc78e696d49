//! The embedded adapters: SQLite in the data directory, and memory.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;

use crate::adapters::embedded_journal::EmbeddedJournal;
use crate::adapters::memory::popularity::MemoryPopularity;
use crate::adapters::memory::revisions::MemoryRevisions;
use crate::adapters::sqlite::{DATABASE_FILE_NAME, MAX_READERS, SqliteStore};
use crate::bootstrap::{Adapters, data_directory, weights};
use crate::clock::Clock;
use crate::config::Config;
use crate::domain::id_generator::NodeLease;
use crate::domain::operation::PersistedBatch;
use crate::ports::dependencies::{Dependencies, DependencyStatus};
use crate::ports::revisions;
use crate::ports::store::HealthCheck as _;
use crate::state::admission::Admission;
use crate::state::change_feed::ChangeFeed;
use crate::state::page_cache::PageCache;
use crate::state::read_counters::ReadCounters;

/// Reads in progress for each core: while the rows of one are read, the JSON of another is written. More would
/// only make every request wait longer for the cores.
const READS_PER_CORE: usize = 2;
/// The most of them, on any number of cores.
const MAX_READS: usize = READS_PER_CORE * MAX_READERS;
/// Writes in progress: a commit stores all that wait for it.
const MAX_WRITES: usize = 256;

/// Opens the data directory, which is created when it is missing.
pub(super) fn open(config: &Config, clock: &Clock) -> anyhow::Result<Adapters> {
    let data = &config.data;
    data_directory::create(data)?;
    data_directory::refuse_unfinished_restore(data)?;
    let file = data.join(DATABASE_FILE_NAME);
    let store = SqliteStore::open(&file, weights(config)).with_context(|| format!("cannot open {}", file.display()))?;
    let store = Arc::new(store);
    tracing::info!(file = %file.display(), "Running embedded: SQLite in {}", file.display());
    let read_counters = Arc::new(ReadCounters::new());
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let reads = Arc::new(Admission::new("reads", (READS_PER_CORE * cores).min(MAX_READS)));
    let page_cache = Arc::new(PageCache::new(clock.clone(), read_counters.clone(), reads.clone()));
    let revisions = Arc::new(MemoryRevisions::new());
    let on_commit = {
        let (page_cache, revisions) = (page_cache.clone(), revisions.clone());
        Box::new(move |persisted: &PersistedBatch| {
            revisions.append_now(revisions::revisions_of(persisted));
            page_cache.invalidate_subjects(&persisted.changed);
        })
    };
    let journal = Arc::new(EmbeddedJournal::start(store.clone(), clock.clone(), on_commit)?);
    Ok(Adapters {
        dependencies: Arc::new(EmbeddedDependencies(store.clone())),
        store: store.clone(),
        table_backup: store.clone(),
        tables: store,
        journal,
        reads,
        writes: Arc::new(Admission::new("writes", MAX_WRITES)),
        page_cache,
        change_feed: Arc::new(ChangeFeed::new(1)),
        read_counters,
        erased_members: Arc::default(),
        popularity: Arc::new(MemoryPopularity::default()),
        revisions,
        shared_rates: None,
        lease: Some(NodeLease::endless(0)),
        collectors: vec![],
        #[cfg(feature = "cluster")]
        cluster: None,
    })
}

/// Embedded, the file is the only dependency.
#[derive(Debug)]
struct EmbeddedDependencies(Arc<SqliteStore>);

#[async_trait]
impl Dependencies for EmbeddedDependencies {
    async fn check_dependencies(&self) -> Vec<DependencyStatus> {
        let problem = self.0.read_last_id().await.err().map(|error| error.to_string());
        vec![DependencyStatus { name: "store".into(), serves_reads: true, takes_writes: true, problem }]
    }
}
