//! Fills lists in the cache that were read past it, and reads ahead.
//!
//! Notes are only notes: one that is lost comes again with the next reader.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gailou_shared::id::CommentId;
use tokio_util::sync::CancellationToken;

use crate::cluster::cached_store::{CachedStore, RebuildRequest, kept};
use crate::ports::broker::{Broker, BrokerError, Consumer, Topic};
use crate::ports::cache::{CacheError, End, Filling, ListKey, Loaded, Part, WINDOW};
use crate::ports::store::StoreError;

/// Floors that are loaded from where a reader was: fifty pages.
pub const READ_AHEAD: usize = 1_000;
/// Comments whose contents are put with them: what the next pages show.
const CONTENTS: usize = 100;
/// Notes that are taken together, and how long they are waited for.
const NOTES: usize = 500;
const PATIENCE: Duration = Duration::from_millis(50);
/// Lists that are filled at the same time.
const AT_ONCE: usize = 8;
/// How often a list is loaded again that changes while it is loaded.
const TRIES: usize = 5;
/// How long after a failure of the log it is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Why a list was not filled.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Fills what is noted, until it is told to stop.
pub async fn run(layered: Arc<CachedStore>, log: Arc<dyn Broker>, stop: CancellationToken) {
    let work = async {
        loop {
            if let Err(error) = follow(&layered, &*log).await {
                tracing::warn!(%error, "rebuild");
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    // What is cut off is noted again by whoever reads past the cache then.
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn follow(layered: &CachedStore, log: &dyn Broker) -> Result<(), BrokerError> {
    let mut reader = log.consumer(Topic::Rebuild)?;
    loop {
        step(layered, &mut *reader).await?;
    }
}

/// Takes what is noted, fills it, commits.
async fn step(layered: &CachedStore, reader: &mut dyn Consumer) -> Result<(), BrokerError> {
    let messages = reader.next(NOTES, PATIENCE).await?;
    let (mut offsets, mut notes) = (HashMap::new(), HashMap::new());
    for message in messages {
        let offset = offsets.entry(message.partition).or_insert(0);
        *offset = message.offset.max(*offset) + 1;
        if let Some(note) = RebuildRequest::from_bytes(&message.payload)
            && let Some(key) = kept(&note.list)
        {
            // The last says best where readers are now.
            notes.insert((key, note.range.ascending), note);
        }
    }
    stream::iter(notes.into_values())
        .for_each_concurrent(AT_ONCE, |note| async move {
            if let Err(error) = fill(layered, &note, true).await {
                tracing::debug!(%error, "a list is not filled");
            }
        })
        .await;
    reader.commit(&offsets.into_iter().collect::<Vec<_>>()).await
}

/// Loads a list on from where a reader was and puts it into the cache, with the contents of the next
/// pages. How many entries that are. Unless it is to go on `ahead`, a list that is kept is left as it
/// is.
///
/// # Errors
/// When the tables or the cache do not answer.
pub async fn fill(layered: &CachedStore, note: &RebuildRequest, ahead: bool) -> Result<usize, FillError> {
    let Some(key) = kept(&note.list) else { return Ok(0) };
    for _ in 0..TRIES {
        let filling = layered.cache().begin(&key).await?;
        let Some(beyond) = from(note, &filling, ahead) else { return Ok(0) };
        let Some(part) = load(layered, note, &key, beyond).await? else { return Ok(0) };
        if layered.cache().fill(&key, &filling, &part).await? {
            let next: Vec<CommentId> = part.floors.iter().take(CONTENTS).map(|(_, id)| *id).collect();
            return Ok(part.floors.len() + layered.warm_comments(&next).await?);
        }
    }
    tracing::debug!(?key, "a list changes faster than it is loaded");
    Ok(0)
}

/// The floor beyond which to load; `None` where there is nothing to add. A reader who jumped far
/// beyond what is loaded is read from the tables: what lies between would have to be loaded too.
fn from(note: &RebuildRequest, filling: &Filling, ahead: bool) -> Option<Option<u64>> {
    let whole = |loaded: &Loaded| loaded.low == 0 && loaded.high.is_none();
    if [filling.newest, filling.oldest].iter().flatten().any(whole) {
        return None;
    }
    let (loaded, asked) = (if note.range.ascending { filling.oldest } else { filling.newest }, note.range.beyond);
    match loaded {
        None => Some(None),
        Some(loaded) if !ahead || loaded.entries >= WINDOW => None,
        Some(Loaded { high: Some(end), .. }) if note.range.ascending => {
            asked.is_none_or(|floor| floor <= end).then_some(Some(end))
        }
        Some(Loaded { low, .. }) => asked.is_none_or(|floor| floor >= low).then_some(Some(low)),
    }
}

/// The next floors of a list; `None` where it is the list of a comment that is not there.
async fn load(
    layered: &CachedStore,
    note: &RebuildRequest,
    key: &ListKey,
    beyond: Option<u64>,
) -> Result<Option<Part>, StoreError> {
    let (tables, ascending) = (layered.tables(), note.range.ascending);
    let version = match key {
        ListKey::Roots(subject) => {
            tables.read_subjects(std::slice::from_ref(subject)).await?.pop().map(|row| row.map_or(0, |row| row.version))
        }
        ListKey::Replies(root) => tables.read_comments(&[*root]).await?.get(root).map(|row| row.version),
    };
    let Some(version) = version else { return Ok(None) };
    let floors = tables.list_floors(&note.list, ascending, beyond, READ_AHEAD).await?;
    let last = floors.last().map(|(floor, _)| *floor).filter(|_| floors.len() == READ_AHEAD);
    let (end, low, high) = if ascending {
        (End::Oldest, beyond.map_or(0, |floor| floor + 1), last)
    } else {
        (End::Newest, last.unwrap_or(0), beyond.map(|floor| floor.saturating_sub(1)))
    };
    Ok(Some(Part { end, low, high, version, floors }))
}
