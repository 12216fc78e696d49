//! The embedded search index, in a folder of the data directory.
//!
//! The folder has one folder for each index, named by its id; one that is being built has a name that ends with
//! `.building`. Promise: an index that cannot be opened or read is deleted, and the status says that none answers, so it
//! is built again. Searches wait for no writer. Everything runs on threads that may block.

mod newest;
mod open_index;
mod schema;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, fs, io, panic};

use async_trait::async_trait;
use gailou_shared::id::CommentId;
use open_index::{IndexSearcher, OpenIndex};
use parking_lot::{Mutex, RwLock};
use tantivy::TantivyError;

use crate::domain::search_index::{INDEX_FORMAT, IndexStatus, SearchDocument, SearchFilter};
use crate::ports::failure::Failure;
use crate::ports::search_index::{SearchError, SearchIndex, SearchResult};
use crate::telemetry::measure_here;

/// The end of the name of the folder of an index that is being built.
const BUILDING_SUFFIX: &str = ".building";

/// The indexes in a folder.
pub struct TantivyIndex(Arc<SharedIndexes>);

struct SharedIndexes {
    folder: PathBuf,
    /// Held while something is written, for as long as that takes.
    open: Mutex<OpenIndexes>,
    /// What answers. Held to clone it alone.
    searcher: RwLock<Option<IndexSearcher>>,
    /// Whether what is open could not be read.
    is_damaged: AtomicBool,
}

#[derive(Default)]
struct OpenIndexes {
    /// Whether the folder was read.
    is_read: bool,
    answering: Option<OpenIndex>,
    building: Option<OpenIndex>,
}

impl fmt::Debug for TantivyIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TantivyIndex").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}

impl TantivyIndex {
    /// The indexes in this folder, which is created and read when they are first used.
    pub fn new(folder: PathBuf) -> Self {
        Self(Arc::new(SharedIndexes {
            folder,
            open: Mutex::default(),
            searcher: RwLock::new(None),
            is_damaged: AtomicBool::new(false),
        }))
    }

    /// Runs `work` on what is open, off the async threads. It is measured as `operation`. After an error everything is
    /// opened again by the next call: a writer that has failed writes no more.
    async fn with_open<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&SharedIndexes, &mut OpenIndexes) -> tantivy::Result<T> + Send + 'static,
    ) -> SearchResult<T> {
        let shared = self.0.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut open = shared.open.lock();
            let done = measure_here("tantivy", operation, || {
                shared.read_folder(&mut open).and_then(|()| work(&shared, &mut open))
            });
            if done.is_err() {
                *open = OpenIndexes::default();
            }
            done
        });
        match done.await {
            Ok(done) => done.map_err(unavailable),
            Err(panicked) => {
                self.0.is_damaged.store(true, Ordering::Relaxed);
                Err(SearchError::Unavailable(Failure::of_driver(panicked)))
            }
        }
    }
}

fn unavailable(error: TantivyError) -> SearchError {
    SearchError::Unavailable(Failure::of_driver(error))
}

impl SharedIndexes {
    fn path(&self, id: &str, is_building: bool) -> PathBuf {
        self.folder.join(format!("{id}{}", if is_building { BUILDING_SUFFIX } else { "" }))
    }

    /// Opens what is in the folder, unless it is open, and deletes what cannot be.
    fn read_folder(&self, open: &mut OpenIndexes) -> tantivy::Result<()> {
        if self.is_damaged.swap(false, Ordering::Relaxed) {
            *self.searcher.write() = None;
            for damaged in [open.answering.take(), open.building.take()].into_iter().flatten() {
                remove_folder(&damaged.close())?;
            }
        }
        if open.is_read {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            let (id, is_building) = name.strip_suffix(BUILDING_SUFFIX).map_or((name.as_str(), false), |id| (id, true));
            let place = if is_building { &mut open.building } else { &mut open.answering };
            let is_known = id.starts_with(INDEX_FORMAT) && place.is_none();
            match is_known.then(|| open_carefully(id, &path)) {
                Some(Ok(index)) => *place = Some(index),
                // Another process, or this one a moment ago, has it open.
                Some(Err(error @ TantivyError::LockFailure(..))) => return Err(error),
                Some(Err(error)) => {
                    let index = id;
                    tracing::warn!(index, %error, "The search index {index} cannot be opened; it is deleted and built again");
                    remove_folder(&path)?;
                }
                None => remove_folder(&path)?,
            }
        }
        *self.searcher.write() = open.answering.as_ref().map(OpenIndex::searcher);
        open.is_read = true;
        Ok(())
    }
}

/// Opens an index of an earlier run. What reads damaged files may panic.
fn open_carefully(id: &str, folder: &Path) -> tantivy::Result<OpenIndex> {
    let opened = panic::catch_unwind(|| OpenIndex::open(id, folder));
    opened.unwrap_or_else(|_| Err(TantivyError::InternalError("its files cannot be read".into())))
}

fn remove_folder(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[async_trait]
impl SearchIndex for TantivyIndex {
    async fn search(&self, filter: &SearchFilter, count: usize) -> SearchResult<Vec<CommentId>> {
        let (shared, filter) = (self.0.clone(), filter.clone());
        let searcher = shared.searcher.read().clone().ok_or(SearchError::NotBuilt)?;
        let search = move || measure_here("tantivy", "search", || searcher.search(&filter, count));
        let found = tokio::task::spawn_blocking(search);
        let failure = match found.await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => Failure::of_driver(error),
            Err(panicked) => Failure::of_driver(panicked),
        };
        // Its files are not what was written. The next call deletes them.
        shared.is_damaged.store(true, Ordering::Relaxed);
        Err(SearchError::Unavailable(failure))
    }

    async fn status(&self) -> SearchResult<IndexStatus> {
        self.with_open("status", |_, open| {
            let id = |index: &Option<OpenIndex>| index.as_ref().map(|index| index.id.clone());
            Ok(IndexStatus { answering: id(&open.answering), building: id(&open.building) })
        })
        .await
    }

    async fn put(&self, documents: &[SearchDocument]) -> SearchResult<()> {
        let documents = documents.to_vec();
        self.with_open("put", move |_, open| {
            for index in [&mut open.answering, &mut open.building].into_iter().flatten() {
                let committed = index.committed();
                for document in &documents {
                    index.put(&committed, document)?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn commit(&self) -> SearchResult<()> {
        self.with_open("commit", |_, open| {
            [&mut open.answering, &mut open.building].into_iter().flatten().try_for_each(OpenIndex::commit)
        })
        .await
    }

    async fn begin_build(&self, id: &str) -> SearchResult<()> {
        let id = id.to_owned();
        self.with_open("begin_build", move |shared, open| {
            if let Some(unfinished) = open.building.take().map(OpenIndex::close) {
                remove_folder(&unfinished)?;
            }
            let folder = shared.path(&id, true);
            remove_folder(&folder)?;
            open.building = Some(OpenIndex::open(&id, &folder)?);
            Ok(())
        })
        .await
    }

    async fn finish_build(&self) -> SearchResult<()> {
        self.with_open("finish_build", |shared, open| {
            let Some(mut built) = open.building.take() else { return Ok(()) };
            built.commit()?;
            let id = built.id.clone();
            // The former one answers until the new one does: its files stay while they are open.
            if let Some(former) = open.answering.take().map(OpenIndex::close) {
                remove_folder(&former)?;
            }
            let to = shared.path(&id, false);
            fs::rename(built.close(), &to)?;
            let index = OpenIndex::open(&id, &to)?;
            *shared.searcher.write() = Some(index.searcher());
            open.answering = Some(index);
            Ok(())
        })
        .await
    }

    async fn compact(&self) -> SearchResult<()> {
        self.with_open("compact", |_, open| open.answering.as_mut().map_or(Ok(()), OpenIndex::compact)).await
    }
}
