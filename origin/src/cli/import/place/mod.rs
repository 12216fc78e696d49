//! Where imported comments stand: parents are found, paths made, and the order of writing decided.
//!
//! Pure: the store's part is a parameter. Promise: the order of the lines does not matter, every
//! comment comes after its parent, and nothing (no circle, no depth) makes it fail.

use std::collections::HashMap;

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::{Path, Threading};
use gailou_shared::wire::MemberRef;

use crate::cli::record::Line;

/// A line that is to be written.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its number in the file, from 1.
    pub(super) number: usize,
    /// Its subject's place among the subjects of the file.
    pub(super) subject: usize,
    pub(super) threading: Threading,
    pub(super) line: Line,
    pub(super) id: CommentId,
}

/// A comment's name in the file: its subject's place and its id there.
pub(super) type Name = (usize, String);

/// A comment of the store that lines of the file answer.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) path: Path,
    pub(super) author: MemberRef,
}

/// Where a comment stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: Path,
    pub(super) parent: Option<CommentId>,
    /// It does not stand under the comment that it answered.
    pub(super) reparented: bool,
    /// Time and line, but among replies never before its parent's.
    turn: (u64, usize),
}

/// The place of each entry, or why it has none.
pub(super) fn place_all(entries: &[Entry], stored: &HashMap<Name, Stored>) -> Vec<Result<Place, String>> {
    let index = entries.iter().enumerate().map(|(i, e)| ((e.subject, e.line.id.clone()), i)).collect();
    let mut placing =
        Placing { entries, index, stored, done: vec![None; entries.len()], open: vec![false; entries.len()] };
    for i in 0..entries.len() {
        placing.place(i);
    }
    placing.done.into_iter().map(|place| place.unwrap_or_else(|| Err("has no place".into()))).collect()
}

/// The entries with a place in the order of writing: subjects as they come in the file, in each
/// one the roots and then the replies, by time, so that floors follow it.
pub(super) fn order(entries: &[Entry], places: &[Result<Place, String>]) -> Vec<usize> {
    let mut order: Vec<(_, usize)> = entries
        .iter()
        .zip(places)
        .enumerate()
        .filter_map(|(i, (entry, place))| {
            let place = place.as_ref().ok()?;
            let depth = place.path.depth();
            Some(((entry.subject, depth > 1, place.turn, depth, entry.number), i))
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

struct Placing<'a> {
    entries: &'a [Entry],
    index: HashMap<Name, usize>,
    stored: &'a HashMap<Name, Stored>,
    done: Vec<Option<Result<Place, String>>>,
    /// Waits for the comment above it.
    open: Vec<bool>,
}

/// What a line names as its parent or root.
enum Above {
    Found {
        path: Path,
        turn: (u64, usize),
    },
    /// Another line, to be placed first.
    Wait(usize),
    Missing,
}

impl Placing<'_> {
    /// Places an entry and what it waits for; a stack of its own, since chains may be long.
    fn place(&mut self, first: usize) {
        let mut stack = vec![first];
        while let Some(&i) = stack.last() {
            match self.try_place(i) {
                Ok(place) => {
                    self.open[i] = false;
                    self.done[i] = Some(place);
                    stack.pop();
                }
                Err(above) => {
                    self.open[i] = true;
                    stack.push(above);
                }
            }
        }
    }

    /// The place of an entry, or the entry that must be placed first.
    fn try_place(&self, i: usize) -> Result<Result<Place, String>, usize> {
        if let Some(done) = &self.done[i] {
            return Ok(done.clone());
        }
        let Entry { line, .. } = &self.entries[i];
        if line.parent.is_none() && line.root.is_none() {
            return Ok(self.under(i, None, false));
        }
        for (name, reparented) in [(&line.parent, false), (&line.root, true)] {
            match self.above(i, name.as_deref()) {
                Above::Found { path, turn } => return Ok(self.under(i, Some((path, turn)), reparented)),
                Above::Wait(above) => return Err(above),
                Above::Missing => {}
            }
        }
        let named = |name: &Option<String>| name.as_deref().map_or("none".into(), |name| format!("{name:?}"));
        let (parent, root) = (named(&line.parent), named(&line.root));
        Ok(Err(format!("neither its parent ({parent}) nor its root ({root}) is there")))
    }

    fn above(&self, i: usize, name: Option<&str>) -> Above {
        let Some(name) = name else { return Above::Missing };
        let name = (self.entries[i].subject, name.to_owned());
        if let Some(stored) = self.stored.get(&name) {
            return Above::Found { path: stored.path.clone(), turn: (0, 0) };
        }
        match self.index.get(&name) {
            // A circle is broken where it closes.
            Some(&j) if j == i || self.open[j] => Above::Missing,
            Some(&j) => match &self.done[j] {
                Some(Ok(place)) => Above::Found { path: place.path.clone(), turn: place.turn },
                Some(Err(_)) => Above::Missing,
                None => Above::Wait(j),
            },
            None => Above::Missing,
        }
    }

    fn under(&self, i: usize, above: Option<(Path, (u64, usize))>, mut reparented: bool) -> Result<Place, String> {
        let entry = &self.entries[i];
        let (mut parent, turn) = above.map_or((None, (0, 0)), |(path, turn)| (Some(path), turn));
        if let Some(path) = parent.as_mut().filter(|path| path.depth() >= limits::MAX_DEPTH) {
            *path = path.truncated(limits::MAX_DEPTH - 1);
            reparented = true;
        }
        let path = entry.threading.path_under(parent.as_ref(), entry.id).map_err(|e| e.to_string())?;
        let own = (entry.line.created_at, entry.number);
        // Roots are written before all replies, and a flat answer is one.
        let turn = if path.depth() > 2 { turn.max(own) } else { own };
        Ok(Place { path, parent: parent.map(|path| path.id()), reparented, turn })
    }
}

#[cfg(test)]
mod tests;
