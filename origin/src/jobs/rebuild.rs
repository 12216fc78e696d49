//! Loads lists into the cache that readers had to read from the tables, and reads ahead.
//!
//! A rebuild request may be lost: the next reader of the list appends another.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use futures_util::{StreamExt as _, stream};
use gailou_shared::id::CommentId;
use tokio_util::sync::CancellationToken;

use crate::cluster::cached_store::{CachedStore, RebuildRequest, cached_list};
use crate::domain::row::FloorRange;
use crate::outage_log::OutageLog;
use crate::ports::broker::{Broker, BrokerError, Consumer, Topic};
use crate::ports::cache::{CacheError, CachedList, ListEnd, ListFilling, ListPart, LoadedWindow, MAX_WINDOW_ENTRIES};
use crate::ports::store::StoreError;

/// Floors that are loaded from the position of a reader: fifty pages.
pub const FLOORS_READ_AHEAD: usize = 1_000;
/// Comments that are cached with them: what the next pages show.
const COMMENTS_READ_AHEAD: usize = 100;
/// Requests of one batch.
const MAX_REQUESTS_PER_BATCH: usize = 500;
/// How long a request waits for others.
const BATCH_WAIT: Duration = Duration::from_millis(50);
/// Lists that are filled at the same time.
const MAX_CONCURRENT_FILLS: usize = 8;
/// How often a list is loaded again because it changed meanwhile.
const MAX_FILL_TRIES: usize = 5;
/// How long to wait after a failure of the broker; jitter adds up to as much again.
const BROKER_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Why a list was not filled.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Fills the requested lists until `stop` is cancelled.
pub async fn run(cached_store: Arc<CachedStore>, broker: Arc<dyn Broker>, stop: CancellationToken) {
    let outage = OutageLog::default();
    let delays = ConstantBuilder::default().with_delay(BROKER_RETRY_INTERVAL).with_jitter().without_max_times();
    let work = async {
        let consumption = (|| consume(&cached_store, &*broker, &outage)).retry(delays);
        let consumption = consumption.notify(|error, _| {
            let topic = Topic::Rebuild.name();
            outage.begin(|| tracing::warn!(topic, %error, "Could not read {topic}; retrying until the broker answers"));
        });
        // Without a limit of attempts it never ends.
        let _ = consumption.await;
    };
    // A request that is cut off is appended again by the next reader of its list.
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn consume(
    cached_store: &CachedStore,
    broker: &dyn Broker,
    outage: &OutageLog,
) -> Result<Infallible, BrokerError> {
    let mut consumer = broker.subscribe(Topic::Rebuild)?;
    loop {
        fill_next_batch(cached_store, &mut *consumer).await?;
        outage.end(|| tracing::info!("Read rebuild requests again"));
    }
}

/// Reads a batch of requests, fills their lists, commits.
async fn fill_next_batch(cached_store: &CachedStore, consumer: &mut dyn Consumer) -> Result<(), BrokerError> {
    let records = consumer.poll_batch(MAX_REQUESTS_PER_BATCH, BATCH_WAIT).await?;
    let (mut offsets, mut requests) = (BTreeMap::new(), BTreeMap::new());
    for record in records {
        let offset = offsets.entry(record.partition).or_insert(0);
        *offset = record.offset.max(*offset) + 1;
        if let Some(request) = RebuildRequest::from_bytes(&record.payload)
            && let Some(key) = cached_list(&request.list)
        {
            // The last request is the closest to where readers are.
            requests.insert((key, request.range.ascending), request);
        }
    }
    stream::iter(requests.into_values())
        .for_each_concurrent(MAX_CONCURRENT_FILLS, |request| async move {
            if let Err(error) = fill(cached_store, &request, true).await {
                tracing::debug!(list = ?request.list, %error, "Could not fill {:?}", request.list);
            }
        })
        .await;
    consumer.commit_offsets(&offsets.into_iter().collect::<Vec<_>>()).await
}

/// Loads a list from the position of a reader into the cache, with the comments of the next pages, and
/// returns how many entries those are. Unless `ahead`, a list that is cached already stays as it is.
///
/// # Errors
/// When the tables or the cache do not answer.
pub async fn fill(cached_store: &CachedStore, request: &RebuildRequest, ahead: bool) -> Result<usize, FillError> {
    let Some(key) = cached_list(&request.list) else { return Ok(0) };
    for _ in 0..MAX_FILL_TRIES {
        let filling = cached_store.cache().begin_fill(&key).await?;
        let Some(beyond) = load_position(request, &filling, ahead) else { return Ok(0) };
        let Some(part) = load(cached_store, request, &key, beyond).await? else { return Ok(0) };
        if cached_store.cache().fill_part(&key, &filling, &part).await? {
            let next: Vec<CommentId> = part.floors.iter().take(COMMENTS_READ_AHEAD).map(|(_, id)| *id).collect();
            return Ok(part.floors.len() + cached_store.warm_comments(&next).await?);
        }
    }
    tracing::debug!(?key, "{key:?} changes faster than it can be loaded");
    Ok(0)
}

/// The floor beyond which to load; `None` when there is nothing to add. A reader far beyond the loaded
/// part is answered from the tables: the part between would have to be loaded too.
fn load_position(request: &RebuildRequest, filling: &ListFilling, ahead: bool) -> Option<Option<u64>> {
    let whole = |loaded: &LoadedWindow| loaded.low == 0 && loaded.high.is_none();
    if [filling.newest, filling.oldest].iter().flatten().any(whole) {
        return None;
    }
    let (loaded, asked) = (if request.range.ascending { filling.oldest } else { filling.newest }, request.range.beyond);
    match loaded {
        None => Some(None),
        Some(loaded) if !ahead || loaded.entries >= MAX_WINDOW_ENTRIES => None,
        Some(LoadedWindow { high: Some(end), .. }) if request.range.ascending => {
            asked.is_none_or(|floor| floor <= end).then_some(Some(end))
        }
        Some(LoadedWindow { low, .. }) => asked.is_none_or(|floor| floor >= low).then_some(Some(low)),
    }
}

/// The next floors of a list; `None` for replies to a comment that does not exist.
async fn load(
    cached_store: &CachedStore,
    request: &RebuildRequest,
    key: &CachedList,
    beyond: Option<u64>,
) -> Result<Option<ListPart>, StoreError> {
    let (tables, ascending) = (cached_store.tables(), request.range.ascending);
    let version = match key {
        CachedList::Roots(subject) => {
            tables.read_subjects(std::slice::from_ref(subject)).await?.pop().map(|row| row.map_or(0, |row| row.version))
        }
        CachedList::Replies(root) => tables.read_comments(&[*root]).await?.get(root).map(|row| row.version),
    };
    let Some(version) = version else { return Ok(None) };
    let floors = tables.list_floors(&request.list, FloorRange { ascending, beyond, count: FLOORS_READ_AHEAD }).await?;
    let last = floors.last().map(|(floor, _)| *floor).filter(|_| floors.len() == FLOORS_READ_AHEAD);
    let (end, low, high) = if ascending {
        (ListEnd::Oldest, beyond.map_or(0, |floor| floor + 1), last)
    } else {
        (ListEnd::Newest, last.unwrap_or(0), beyond.map(|floor| floor.saturating_sub(1)))
    };
    Ok(Some(ListPart { end, low, high, version, floors }))
}
