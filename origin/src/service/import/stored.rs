//! What the store has of the lines: comments that were imported before, parents that lines reply to,
//! and ids that are taken.
//!
//! Reads only. Promise: no query has more than a thousand keys, and memory holds the texts of a thousand comments.

use std::collections::{BTreeSet, HashMap};

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::MemberRef;

use crate::domain::import_line::ImportLine;
use crate::ports::store::{CommentReader, Transfer};
use crate::service::import::Result;
use crate::service::import::ids::ImportIds;
use crate::service::import::part_lines::{PartLines, SourceKey, u32_of};

/// Keys in one query, and lines that are read at a time.
const KEYS_PER_QUERY: usize = 1_000;

/// The comments of the store that lines reply to, with those above them.
#[derive(Debug, Default)]
pub(super) struct StoredComments {
    nodes: Vec<StoredNode>,
    /// The index of each that lines name.
    named: HashMap<SourceKey, u32>,
}

#[derive(Debug, Clone, Copy)]
struct StoredNode {
    id: CommentId,
    /// The index of the one above it on its path.
    above: Option<u32>,
    /// Of its path.
    depth: u8,
    is_published: bool,
}

impl StoredComments {
    /// The one that lines name so.
    pub(super) fn named(&self, key: SourceKey) -> Option<u32> {
        self.named.get(&key).copied()
    }

    pub(super) fn id(&self, node: u32) -> CommentId {
        self.nodes[node as usize].id
    }

    pub(super) fn above(&self, node: u32) -> Option<u32> {
        self.nodes[node as usize].above
    }

    /// Whether readers have seen it.
    pub(super) fn is_published(&self, node: u32) -> bool {
        self.nodes[node as usize].is_published
    }

    pub(super) fn depth(&self, node: u32) -> usize {
        self.nodes[node as usize].depth.into()
    }
}

/// Takes over the paths of the store's comments, each comment once.
#[derive(Debug, Default)]
pub(super) struct StoredPaths {
    comments: StoredComments,
    indexes: HashMap<CommentId, u32>,
}

impl StoredPaths {
    /// Takes over the comment at this path, which is requested by `id`. Nothing stands under one that was never published.
    pub(super) fn add(&mut self, id: CommentId, path: &Path, is_published: bool) {
        let mut above = None;
        for (depth, of_path) in (1..).zip(path.ids()) {
            let next = u32_of(self.comments.nodes.len());
            let node = *self.indexes.entry(of_path).or_insert(next);
            if node == next {
                self.comments.nodes.push(StoredNode { id: of_path, above, depth, is_published: true });
            }
            above = Some(node);
        }
        if let Some(node) = above {
            self.comments.nodes[node as usize].is_published = is_published;
        }
        self.indexes.extend(above.map(|node| (id, node)));
    }

    /// The comments, as lines name them.
    pub(super) fn named(self, names: HashMap<SourceKey, CommentId>) -> StoredComments {
        let Self { mut comments, indexes } = self;
        comments.named = names.into_iter().filter_map(|(key, id)| Some((key, *indexes.get(&id)?))).collect();
        comments
    }
}

/// Looks up every id in the lines, and leaves out those that the store has. Returns how many these are, and the comments
/// that the others reply to.
pub(super) async fn drop_stored(
    store: &dyn CommentReader,
    tables: &dyn Transfer,
    of: &mut PartLines,
) -> Result<(u64, StoredComments)> {
    let mut is_stored = vec![false; of.lines.len()];
    let mut names = HashMap::new();
    let mut by_subject: Vec<u32> = (0..u32_of(of.lines.len())).collect();
    by_subject.sort_unstable_by_key(|index| (of.lines[*index as usize].subject, *index));
    for batch in by_subject.chunks(KEYS_PER_QUERY) {
        let mut lines = of.read_comments(batch).await?.into_iter();
        let subject_of = |index: &u32| of.lines[*index as usize].subject;
        for indexes in batch.chunk_by(|a, b| subject_of(a) == subject_of(b)) {
            let lines: Vec<ImportLine> = lines.by_ref().take(indexes.len()).collect();
            let subject = indexes.first().map_or(0, subject_of);
            let found = find_sources(tables, &of.subjects[subject as usize], &lines).await?;
            for (index, line) in indexes.iter().zip(&lines) {
                let index = *index as usize;
                is_stored[index] = found.contains_key(&line.id);
                if !is_stored[index] {
                    let keys = &of.keys[index];
                    for (name, key) in [(&line.parent, keys.parent), (&line.root, keys.root)] {
                        names.extend(name.as_ref().and_then(|name| Some((key, *found.get(name)?))));
                    }
                }
            }
        }
    }
    let stored = read_paths(store, names).await?;
    of.drop_lines(&is_stored);
    let count = is_stored.into_iter().filter(|is_stored| *is_stored).count();
    Ok((count as u64, stored))
}

/// The comments of the subject that these lines are, or that they name.
async fn find_sources(
    tables: &dyn Transfer,
    subject: &SubjectKey,
    lines: &[ImportLine],
) -> Result<HashMap<String, CommentId>> {
    let names = lines.iter().flat_map(|line| [Some(&line.id), line.parent.as_ref(), line.root.as_ref()]);
    let names: BTreeSet<&String> = names.flatten().collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let mut found = HashMap::new();
    for chunk in names.chunks(KEYS_PER_QUERY) {
        found.extend(tables.find_sources(subject, chunk).await?);
    }
    Ok(found)
}

/// The paths of the comments of the store that lines reply to.
async fn read_paths(store: &dyn CommentReader, names: HashMap<SourceKey, CommentId>) -> Result<StoredComments> {
    let mut ids: Vec<CommentId> = names.values().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let mut paths = StoredPaths::default();
    for chunk in ids.chunks(KEYS_PER_QUERY) {
        let rows = store.read_comments(chunk).await?;
        for (id, row) in chunk.iter().filter_map(|id| Some((*id, rows.get(id)?))) {
            paths.add(id, &row.path, row.floor.is_some());
        }
    }
    Ok(paths.named(names))
}

/// A free id for each slot and time.
pub(super) async fn allocate_ids(
    store: &dyn CommentReader,
    ids: &mut ImportIds,
    wanted: &[(Slot, u64)],
) -> Result<Vec<CommentId>> {
    let mut issued: Vec<CommentId> = wanted.iter().map(|(slot, time)| ids.next_id(*slot, *time)).collect();
    let mut unchecked: Vec<usize> = (0..issued.len()).collect();
    while !unchecked.is_empty() {
        let mut again = Vec::new();
        for chunk in unchecked.chunks(KEYS_PER_QUERY) {
            let candidates: Vec<CommentId> = chunk.iter().map(|i| issued[*i]).collect();
            let taken = store.read_comments(&candidates).await?;
            again.extend(chunk.iter().copied().filter(|i| taken.contains_key(&issued[*i])));
        }
        for i in &again {
            let (slot, time) = wanted[*i];
            issued[*i] = ids.next_id(slot, time);
        }
        unchecked = again;
    }
    Ok(issued)
}

/// The authors of these comments of the store.
pub(super) async fn read_authors(
    store: &dyn CommentReader,
    ids: &[CommentId],
) -> Result<HashMap<CommentId, MemberRef>> {
    let mut authors = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(KEYS_PER_QUERY) {
        let rows = store.read_comments(chunk).await?;
        authors.extend(rows.into_iter().map(|(id, row)| (id, MemberRef { id: row.author.id, name: row.author.name })));
    }
    Ok(authors)
}
