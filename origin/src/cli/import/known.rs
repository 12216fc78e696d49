//! What the store knows of the lines: which are here already, what others answer, which ids are taken.
//!
//! Reads only. Promise: no question asks for more than a thousand things at once.

use std::collections::{BTreeSet, HashMap, HashSet};

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::wire::MemberRef;

use crate::cli::import::Numbered;
use crate::cli::import::ids::Ids;
use crate::cli::import::place::{Name, Stored};
use crate::ports::store::{CommentReader, Transfer};

/// Things asked for at once.
const KEYS_PER_QUERY: usize = 1_000;

/// What the store has of a file.
#[derive(Debug, Default)]
pub(super) struct Known {
    here: HashSet<Name>,
    /// Comments of the store by the name that the file has for them.
    pub(super) above: HashMap<Name, Stored>,
}

impl Known {
    /// Whether this line's comment is here.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.here.contains(name)
    }
}

/// Looks up every id that the lines hold.
pub(super) async fn find(
    store: &dyn CommentReader,
    tables: &dyn Transfer,
    subjects: &[SubjectKey],
    lines: &[Numbered],
) -> anyhow::Result<Known> {
    let mut names: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); subjects.len()];
    for Numbered { subject, line, .. } in lines {
        if let Some(names) = names.get_mut(*subject) {
            names.extend(
                [Some(&line.id), line.parent.as_ref(), line.root.as_ref()].into_iter().flatten().map(String::as_str),
            );
        }
    }
    let mut found: HashMap<Name, CommentId> = HashMap::new();
    for (place, (key, names)) in subjects.iter().zip(names).enumerate() {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        for chunk in names.chunks(KEYS_PER_QUERY) {
            found.extend(tables.find_sources(key, chunk).await?.into_iter().map(|(name, id)| ((place, name), id)));
        }
    }
    let above = above(store, lines, &found).await?;
    Ok(Known { here: found.into_keys().collect(), above })
}

/// The comments of the store that lines answer.
async fn above(
    store: &dyn CommentReader,
    lines: &[Numbered],
    found: &HashMap<Name, CommentId>,
) -> anyhow::Result<HashMap<Name, Stored>> {
    let named = |l: &Numbered| [&l.line.parent, &l.line.root].map(|name| Some((l.subject, name.clone()?)));
    let mut wanted: HashMap<Name, CommentId> = HashMap::new();
    for name in lines.iter().flat_map(named).flatten() {
        if let Some(id) = found.get(&name) {
            wanted.insert(name, *id);
        }
    }
    let wanted: Vec<_> = wanted.into_iter().collect();
    let mut above = HashMap::with_capacity(wanted.len());
    for chunk in wanted.chunks(KEYS_PER_QUERY) {
        let ids: Vec<CommentId> = chunk.iter().map(|(_, id)| *id).collect();
        let rows = store.read_comments(&ids).await?;
        above.extend(chunk.iter().filter_map(|(name, id)| {
            let row = rows.get(id)?;
            let author = MemberRef { id: row.author.id, name: row.author.name.clone() };
            Some((name.clone(), Stored { path: row.path.clone(), author }))
        }));
    }
    Ok(above)
}

/// An id for each slot and time, none of which the store has.
pub(super) async fn free_ids(
    store: &dyn CommentReader,
    ids: &mut Ids,
    wanted: &[(Slot, u64)],
) -> anyhow::Result<Vec<CommentId>> {
    let mut given: Vec<CommentId> = wanted.iter().map(|(slot, time)| ids.next(*slot, *time)).collect();
    let mut unchecked: Vec<usize> = (0..given.len()).collect();
    while !unchecked.is_empty() {
        let mut again = Vec::new();
        for chunk in unchecked.chunks(KEYS_PER_QUERY) {
            let asked: Vec<CommentId> = chunk.iter().map(|i| given[*i]).collect();
            let taken = store.read_comments(&asked).await?;
            again.extend(chunk.iter().copied().filter(|i| taken.contains_key(&given[*i])));
        }
        for i in &again {
            let (slot, time) = wanted[*i];
            given[*i] = ids.next(slot, time);
        }
        unchecked = again;
    }
    Ok(given)
}

/// Who wrote these comments of the store.
pub(super) async fn authors(
    store: &dyn CommentReader,
    ids: &[CommentId],
) -> anyhow::Result<HashMap<CommentId, MemberRef>> {
    let mut authors = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(KEYS_PER_QUERY) {
        let rows = store.read_comments(chunk).await?.into_values();
        authors.extend(rows.map(|row| (row.path.id(), MemberRef { id: row.author.id, name: row.author.name })));
    }
    Ok(authors)
}
