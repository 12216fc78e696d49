//! One index in one folder: its writer, its reader, and the versions that are not committed yet.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gailou_shared::id::CommentId;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TERMINATED};

use crate::adapters::tantivy::newest::NewestIds;
use crate::adapters::tantivy::schema::{IndexFields, VERSION_COLUMN};
use crate::domain::search_index::{SearchDocument, SearchFilter};

/// Memory of what is not written to a segment yet, in bytes: about 30,000 comments.
const WRITER_MEMORY_BYTES: usize = 32_000_000;
/// Share of deleted documents from which on a segment is written again, so an index is at most so much larger than
/// what it has.
const MAX_DELETED_SHARE: f32 = 0.3;

/// Finds comments in an index, while its writer writes.
#[derive(Clone)]
pub(super) struct IndexSearcher {
    reader: IndexReader,
    fields: IndexFields,
}

impl IndexSearcher {
    pub(super) fn search(&self, filter: &SearchFilter, count: usize) -> tantivy::Result<Vec<CommentId>> {
        let ids = self.reader.searcher().search(&*self.fields.query(filter), &NewestIds::new(filter, count))?;
        let id = |id| CommentId::new(id).map_err(|error| tantivy::TantivyError::InternalError(error.to_string()));
        ids.into_iter().map(id).collect()
    }
}

/// An index that is open.
pub(super) struct OpenIndex {
    pub(super) id: String,
    folder: PathBuf,
    index: Index,
    writer: IndexWriter,
    searcher: IndexSearcher,
    /// The versions of documents that are put and not committed.
    uncommitted: HashMap<CommentId, u64>,
}

impl OpenIndex {
    /// Opens the index in a folder, or makes one where it is empty.
    pub(super) fn open(id: &str, folder: &Path) -> tantivy::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let (fields, schema) = IndexFields::new();
        // Refuses an index with other fields.
        let index = Index::open_or_create(MmapDirectory::open(folder)?, schema)?;
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_MEMORY_BYTES)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        let mut merges = LogMergePolicy::default();
        merges.set_del_docs_ratio_before_merge(MAX_DELETED_SHARE);
        writer.set_merge_policy(Box::new(merges));
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self {
            id: id.to_owned(),
            folder: folder.to_owned(),
            index,
            writer,
            searcher: IndexSearcher { reader, fields },
            uncommitted: HashMap::new(),
        })
    }

    /// Closes it, once its merges have ended: they write into its folder. This folder, which may be deleted, or opened
    /// again.
    pub(super) fn close(self) -> PathBuf {
        if let Err(error) = self.writer.wait_merging_threads() {
            tracing::debug!(index = self.id, %error, "The writer of the search index {} had failed", self.id);
        }
        self.folder
    }

    pub(super) fn searcher(&self) -> IndexSearcher {
        self.searcher.clone()
    }

    /// Puts a document, unless there is one of a larger version.
    pub(super) fn put(&mut self, committed: &Searcher, document: &SearchDocument) -> tantivy::Result<()> {
        let before = match self.uncommitted.get(&document.id) {
            Some(version) => Some(*version),
            None => self.committed_version(committed, document.id)?,
        };
        if before.is_some_and(|before| before > document.version) {
            return Ok(());
        }
        let fields = &self.searcher.fields;
        if before.is_some() {
            self.writer.delete_term(fields.id_term(document.id));
        }
        self.writer.add_document(fields.document(document))?;
        self.uncommitted.insert(document.id, document.version);
        Ok(())
    }

    /// What was committed.
    pub(super) fn committed(&self) -> Searcher {
        self.searcher.reader.searcher()
    }

    fn committed_version(&self, searcher: &Searcher, id: CommentId) -> tantivy::Result<Option<u64>> {
        let term = self.searcher.fields.id_term(id);
        for segment in searcher.segment_readers() {
            let inverted = segment.inverted_index(self.searcher.fields.id)?;
            let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            let versions = segment.fast_fields().u64(VERSION_COLUMN)?;
            while postings.doc() != TERMINATED {
                if !segment.is_deleted(postings.doc()) {
                    return Ok(versions.first(postings.doc()));
                }
                postings.advance();
            }
        }
        Ok(None)
    }

    /// Makes safe what was put, and lets it be found.
    pub(super) fn commit(&mut self) -> tantivy::Result<()> {
        if !self.uncommitted.is_empty() {
            self.writer.commit()?;
            self.searcher.reader.reload()?;
            self.uncommitted.clear();
        }
        Ok(())
    }

    /// Writes the segments again that have deleted documents, without these.
    pub(super) fn compact(&mut self) -> tantivy::Result<()> {
        let segments = self.index.searchable_segment_metas()?;
        let segments: Vec<_> = segments.iter().filter(|segment| segment.has_deletes()).map(|s| s.id()).collect();
        if !segments.is_empty() {
            self.writer.merge(&segments).wait()?;
            self.searcher.reader.reload()?;
        }
        self.writer.garbage_collect_files().wait()?;
        Ok(())
    }
}
