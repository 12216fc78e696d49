//! Which comments a list has: floors from the cache where they are kept there, else from the tables
//! at once, with a note to the job that fills the cache. Roots of a subject and descendants of a root
//! are kept; a comment further down is no list of its own there (a new answer does not say to how
//! many it belongs), and is read from the tables by its path.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;

use crate::cluster::cached_store::local_cache::LocalVersions;
use crate::cluster::cached_store::metrics::CacheMetrics;
use crate::cluster::cached_store::rebuild_request::RebuildRequest;
use crate::cluster::cached_store::single_flight::SingleFlight;
use crate::domain::row::CommentList;
use crate::ports::broker::{Broker, Topic};
use crate::ports::cache::{Cache, ListKey, Range};
use crate::ports::store::{Result, Store, StoreError};

/// How long a note is not repeated for a list.
const NOTED: Duration = Duration::from_secs(5);
/// Lists of which this process remembers that they were noted.
const LISTS: u64 = 100_000;

/// A list, as a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Listed {
    Roots(SubjectKey),
    Under(Path),
}

impl From<&CommentList> for Listed {
    fn from(list: &CommentList) -> Self {
        match list {
            CommentList::Roots(subject) => Self::Roots(subject.clone()),
            CommentList::Under(path) => Self::Under(path.clone()),
        }
    }
}

/// The list that is kept in the cache and holds all of this one.
fn around(list: &CommentList) -> ListKey {
    match list {
        CommentList::Roots(subject) => ListKey::Roots(subject.clone()),
        CommentList::Under(path) => ListKey::Replies(path.root_id()),
    }
}

/// The same, if it holds nothing else.
pub(crate) fn kept(list: &CommentList) -> Option<ListKey> {
    match list {
        CommentList::Under(path) if path.depth() > 1 => None,
        list => Some(around(list)),
    }
}

type Floors = Vec<(u64, CommentId)>;
type Ranked = Arc<Vec<(i64, CommentId)>>;

pub(super) struct Lists {
    tables: Arc<dyn Store>,
    cache: Arc<dyn Cache>,
    log: Arc<dyn Broker>,
    marks: Arc<LocalVersions>,
    figures: Arc<CacheMetrics>,
    floors: SingleFlight<(Listed, Range), Floors>,
    ranked: SingleFlight<(Listed, Sort), Ranked>,
    noted: moka::sync::Cache<ListKey, ()>,
}

impl Lists {
    pub(super) fn new(
        tables: Arc<dyn Store>,
        cache: Arc<dyn Cache>,
        log: Arc<dyn Broker>,
        marks: Arc<LocalVersions>,
        figures: Arc<CacheMetrics>,
    ) -> Self {
        let noted = moka::sync::Cache::builder().max_capacity(LISTS).time_to_live(NOTED).build();
        Self { tables, cache, log, marks, figures, floors: SingleFlight::new(), ranked: SingleFlight::new(), noted }
    }

    pub(super) async fn floors(&self, list: &CommentList, range: Range) -> Result<Floors> {
        let mut stale = None;
        if let Some(key) = kept(list) {
            match self.cache.range(&key, range).await {
                Ok(Some(found)) if found.fresh => {
                    self.figures.redis(1);
                    return Ok(found.floors);
                }
                Ok(found) => {
                    stale = found;
                    self.note(key, list, range);
                }
                Err(error) => tracing::debug!(%error, "a list is read past the cache"),
            }
        }
        let key = (Listed::from(list), range);
        let (of, tables) = (list.clone(), self.tables.clone());
        let load = move |keys: Vec<_>| async move {
            let floors = tables.list_floors(&of, range.ascending, range.beyond, range.count).await?;
            Ok(keys.into_iter().map(|key| (key, floors.clone())).collect::<HashMap<_, _>>())
        };
        let changed = self.marks.changed(&around(list));
        match self.floors.fetch(vec![key.clone()], self.marks.now(), |_| changed, load).await {
            Ok((mut found, _)) => {
                self.figures.mysql(1);
                Ok(found.remove(&key).unwrap_or_default())
            }
            Err(error @ StoreError::Damaged(_)) => Err(error),
            Err(error) => stale.map(|found| found.floors).ok_or(error),
        }
    }

    pub(super) async fn ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        let key = (Listed::from(list), sort);
        let (of, tables) = (list.clone(), self.tables.clone());
        let load = move |keys: Vec<_>| async move {
            let ranked = Arc::new(tables.list_ranked(&of, sort).await?);
            Ok(keys.into_iter().map(|key| (key, ranked.clone())).collect::<HashMap<_, _>>())
        };
        let changed = self.marks.changed(&around(list));
        let (mut found, _) = self.ranked.fetch(vec![key.clone()], self.marks.now(), |_| changed, load).await?;
        self.figures.mysql(1);
        Ok(found.remove(&key).map(Arc::unwrap_or_clone).unwrap_or_default())
    }

    /// Tells the job, unless somebody told it lately. Nobody waits for this.
    fn note(&self, key: ListKey, list: &CommentList, range: Range) {
        if self.noted.contains_key(&key) {
            return;
        }
        self.noted.insert(key.clone(), ());
        let note = RebuildRequest { list: list.clone(), range };
        let (cache, log) = (self.cache.clone(), self.log.clone());
        tokio::spawn(async move {
            if let Ok(true) = cache.first(&key, NOTED).await
                && let Err(error) = log.append(Topic::Rebuild, key.slot(), note.to_bytes()).await
            {
                tracing::debug!(%error, "a list is not noted for the cache");
            }
        });
    }
}
