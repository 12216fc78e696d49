//! What the store has of the lines: comments that were imported before, parents that lines reply to,
//! and ids that are taken.
//!
//! Reads only. Promise: no query has more than a thousand keys.

use std::collections::{BTreeSet, HashMap, HashSet};

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::wire::MemberRef;

use crate::ports::store::{CommentReader, Transfer};
use crate::service::import::ids::ImportIds;
use crate::service::import::parents::{SourceKey, StoredParent};
use crate::service::import::{Result, SubjectLine};

/// Keys in one query.
const KEYS_PER_QUERY: usize = 1_000;

/// The comments of a file that the store has.
#[derive(Debug, Default)]
pub(super) struct StoredComments {
    imported: HashSet<SourceKey>,
    /// The comments that lines reply to.
    pub(super) parents: HashMap<SourceKey, StoredParent>,
}

impl StoredComments {
    /// Whether this comment was imported before.
    pub(super) fn contains(&self, key: &SourceKey) -> bool {
        self.imported.contains(key)
    }
}

/// Looks up every id in the lines.
pub(super) async fn find_stored(
    store: &dyn CommentReader,
    tables: &dyn Transfer,
    subjects: &[SubjectKey],
    lines: &[SubjectLine],
) -> Result<StoredComments> {
    let mut names: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); subjects.len()];
    for SubjectLine { subject, line, .. } in lines {
        if let Some(names) = names.get_mut(*subject) {
            names.extend(
                [Some(&line.id), line.parent.as_ref(), line.root.as_ref()].into_iter().flatten().map(String::as_str),
            );
        }
    }
    let mut found: HashMap<SourceKey, CommentId> = HashMap::new();
    for (index, (key, names)) in subjects.iter().zip(names).enumerate() {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        for chunk in names.chunks(KEYS_PER_QUERY) {
            found.extend(tables.find_sources(key, chunk).await?.into_iter().map(|(name, id)| ((index, name), id)));
        }
    }
    let parents = read_parents(store, lines, &found).await?;
    Ok(StoredComments { imported: found.into_keys().collect(), parents })
}

/// The comments of the store that lines reply to.
async fn read_parents(
    store: &dyn CommentReader,
    lines: &[SubjectLine],
    found: &HashMap<SourceKey, CommentId>,
) -> Result<HashMap<SourceKey, StoredParent>> {
    let named = |l: &SubjectLine| [&l.line.parent, &l.line.root].map(|name| Some((l.subject, name.clone()?)));
    let mut wanted: HashMap<SourceKey, CommentId> = HashMap::new();
    for name in lines.iter().flat_map(named).flatten() {
        if let Some(id) = found.get(&name) {
            wanted.insert(name, *id);
        }
    }
    let wanted: Vec<_> = wanted.into_iter().collect();
    let mut parents = HashMap::with_capacity(wanted.len());
    for chunk in wanted.chunks(KEYS_PER_QUERY) {
        let ids: Vec<CommentId> = chunk.iter().map(|(_, id)| *id).collect();
        let rows = store.read_comments(&ids).await?;
        parents.extend(chunk.iter().filter_map(|(name, id)| {
            let row = rows.get(id)?;
            let author = MemberRef { id: row.author.id, name: row.author.name.clone() };
            Some((name.clone(), StoredParent { path: row.path.clone(), author }))
        }));
    }
    Ok(parents)
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
        let rows = store.read_comments(chunk).await?.into_values();
        authors.extend(rows.map(|row| (row.path.id(), MemberRef { id: row.author.id, name: row.author.name })));
    }
    Ok(authors)
}
