//! Resolves the parents of imported comments: their paths, and the order in which they are written.
//!
//! Pure: what the store has is a parameter. Promise: the order of the lines does not matter, every
//! comment is written after its parent, and neither a cycle nor any depth makes it fail.

use std::collections::HashMap;

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::{Path, Threading};
use gailou_shared::wire::MemberRef;

use crate::domain::import_line::ImportLine;

/// A line that is to be written.
#[derive(Debug)]
pub(super) struct ImportEntry {
    /// Its number in the file, from 1.
    pub(super) number: usize,
    /// Its subject's index among the subjects of the file.
    pub(super) subject: usize,
    pub(super) threading: Threading,
    pub(super) line: ImportLine,
    pub(super) id: CommentId,
}

/// A comment's name in the file: the index of its subject, and its id there.
pub(super) type SourceKey = (usize, String);

/// A comment of the store that lines of the file reply to.
#[derive(Debug, Clone)]
pub(super) struct StoredParent {
    pub(super) path: Path,
    pub(super) author: MemberRef,
}

/// What a comment is sorted by within its list: its time and the number of its line.
type SortKey = (u64, usize);

/// The resolved position of a comment in its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThreadPosition {
    pub(super) path: Path,
    pub(super) parent: Option<CommentId>,
    /// Whether its parent is another comment than the one that it replied to.
    pub(super) reparented: bool,
    /// For a reply to a reply, at least that of its parent.
    sort_key: SortKey,
}

/// The position of each entry, or why it has none.
pub(super) fn resolve_parents(
    entries: &[ImportEntry],
    stored: &HashMap<SourceKey, StoredParent>,
) -> Vec<Result<ThreadPosition, String>> {
    let index = entries.iter().enumerate().map(|(i, e)| ((e.subject, e.line.id.clone()), i)).collect();
    let mut resolver = ParentResolver {
        entries,
        index,
        stored,
        resolved: vec![None; entries.len()],
        in_progress: vec![false; entries.len()],
    };
    for i in 0..entries.len() {
        resolver.resolve(i);
    }
    let unresolved = || Err("has no position in its thread".into());
    resolver.resolved.into_iter().map(|position| position.unwrap_or_else(unresolved)).collect()
}

/// The indexes of the entries that have a position, in the order of writing: subjects in the order of
/// the file; in each subject the roots and then the replies, by time, so that floors follow time.
pub(super) fn write_order(entries: &[ImportEntry], positions: &[Result<ThreadPosition, String>]) -> Vec<usize> {
    let mut order: Vec<(_, usize)> = entries
        .iter()
        .zip(positions)
        .enumerate()
        .filter_map(|(i, (entry, position))| {
            let position = position.as_ref().ok()?;
            let depth = position.path.depth();
            Some(((entry.subject, depth > 1, position.sort_key, depth, entry.number), i))
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

struct ParentResolver<'a> {
    entries: &'a [ImportEntry],
    index: HashMap<SourceKey, usize>,
    stored: &'a HashMap<SourceKey, StoredParent>,
    resolved: Vec<Option<Result<ThreadPosition, String>>>,
    /// Entries that wait for their parent or root.
    in_progress: Vec<bool>,
}

/// What is known of a comment that a line names as its parent or root.
enum ParentLookup {
    Found {
        path: Path,
        sort_key: SortKey,
    },
    /// It is another line, which must be resolved first.
    Unresolved(usize),
    Missing,
}

impl ParentResolver<'_> {
    /// Resolves an entry and those above it. Not recursive, since chains may be long.
    fn resolve(&mut self, first: usize) {
        let mut stack = vec![first];
        while let Some(&i) = stack.last() {
            match self.try_resolve(i) {
                Ok(position) => {
                    self.in_progress[i] = false;
                    self.resolved[i] = Some(position);
                    stack.pop();
                }
                Err(parent) => {
                    self.in_progress[i] = true;
                    stack.push(parent);
                }
            }
        }
    }

    /// The position of an entry, or the entry that must be resolved first.
    fn try_resolve(&self, i: usize) -> Result<Result<ThreadPosition, String>, usize> {
        if let Some(resolved) = &self.resolved[i] {
            return Ok(resolved.clone());
        }
        let ImportEntry { line, .. } = &self.entries[i];
        if line.parent.is_none() && line.root.is_none() {
            return Ok(self.position_under(i, None, false));
        }
        for (source_id, reparented) in [(&line.parent, false), (&line.root, true)] {
            match self.look_up(i, source_id.as_deref()) {
                ParentLookup::Found { path, sort_key } => {
                    return Ok(self.position_under(i, Some((path, sort_key)), reparented));
                }
                ParentLookup::Unresolved(parent) => return Err(parent),
                ParentLookup::Missing => {}
            }
        }
        let quoted = |id: &Option<String>| id.as_deref().map_or("none".into(), |id| format!("{id:?}"));
        let (parent, root) = (quoted(&line.parent), quoted(&line.root));
        Ok(Err(format!("neither its parent ({parent}) nor its root ({root}) is in the file or in the store")))
    }

    fn look_up(&self, i: usize, source_id: Option<&str>) -> ParentLookup {
        let Some(source_id) = source_id else { return ParentLookup::Missing };
        let key = (self.entries[i].subject, source_id.to_owned());
        if let Some(stored) = self.stored.get(&key) {
            return ParentLookup::Found { path: stored.path.clone(), sort_key: (0, 0) };
        }
        match self.index.get(&key) {
            // The line that closes a cycle breaks it.
            Some(&j) if j == i || self.in_progress[j] => ParentLookup::Missing,
            Some(&j) => match &self.resolved[j] {
                Some(Ok(position)) => ParentLookup::Found { path: position.path.clone(), sort_key: position.sort_key },
                Some(Err(_)) => ParentLookup::Missing,
                None => ParentLookup::Unresolved(j),
            },
            None => ParentLookup::Missing,
        }
    }

    fn position_under(
        &self,
        i: usize,
        parent: Option<(Path, SortKey)>,
        mut reparented: bool,
    ) -> Result<ThreadPosition, String> {
        let entry = &self.entries[i];
        let (mut parent, parent_sort_key) = parent.map_or((None, (0, 0)), |(path, key)| (Some(path), key));
        if let Some(path) = parent.as_mut().filter(|path| path.depth() >= limits::MAX_DEPTH) {
            *path = path.truncated(limits::MAX_DEPTH - 1);
            reparented = true;
        }
        let path = entry.threading.path_under(parent.as_ref(), entry.id).map_err(|e| e.to_string())?;
        let own = (entry.line.created_at, entry.number);
        // Roots are written before all replies, so a reply to a root needs no later time.
        let sort_key = if path.depth() > 2 { parent_sort_key.max(own) } else { own };
        Ok(ThreadPosition { path, parent: parent.map(|path| path.id()), reparented, sort_key })
    }
}

#[cfg(test)]
mod tests;
