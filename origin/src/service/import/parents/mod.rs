//! Resolves the parents of imported comments: where they stand, and the order in which they are written.
//!
//! Pure: what the store has is a parameter. Promise: the order of the lines does not matter, every
//! comment is written after its parent, and neither a cycle nor any depth makes it fail. What replies to a comment that
//! was never published stands where that stands.

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::{Mode, Path, Threading};

use crate::service::import::part_lines::{LineKeys, PartLine, SourceKey, u32_of};
use crate::service::import::stored::StoredComments;

/// A comment that another one replies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ParentNode {
    /// The line with this index.
    Line(u32),
    /// The one with this index among those of the store.
    Stored(u32),
}

/// Where a comment stands in its thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadPosition {
    pub(super) parent: Option<ParentNode>,
    /// The line whose time and number its list is sorted by: for a reply to a reply, at least those of its parent.
    sorted_as: u32,
    /// Of its path.
    depth: u8,
    /// Whether its parent is another comment than the one that it replied to.
    pub(super) reparented: bool,
    state: PositionState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PositionState {
    Open,
    /// Its parent or root is resolved first.
    Waiting,
    Resolved,
    /// Neither its parent nor its root is there.
    Unplaced,
}

impl ThreadPosition {
    const fn open() -> Self {
        Self { parent: None, sorted_as: 0, depth: 0, reparented: false, state: PositionState::Open }
    }

    pub(super) fn is_resolved(&self) -> bool {
        self.state == PositionState::Resolved
    }
}

/// The lines of a part and what they reply to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadLines<'a> {
    pub(super) lines: &'a [PartLine],
    pub(super) keys: &'a [LineKeys],
    /// Their indexes, in the order of the keys of their ids.
    pub(super) by_id: &'a [u32],
    /// Of the subjects, by their index.
    pub(super) threadings: &'a [Threading],
    pub(super) stored: &'a StoredComments,
}

/// The position of each line.
pub(super) fn resolve_parents(of: ThreadLines<'_>) -> Vec<ThreadPosition> {
    let mut resolver = ParentResolver { of, positions: vec![ThreadPosition::open(); of.lines.len()] };
    for i in 0..of.lines.len() {
        resolver.resolve(u32_of(i));
    }
    resolver.positions
}

/// The indexes of the lines that have a position, in the order of writing: subjects in the order of
/// the input; in each subject the roots and then the replies, by time, so that floors follow time.
pub(super) fn write_order(lines: &[PartLine], positions: &[ThreadPosition]) -> Vec<u32> {
    let indexes = 0..u32_of(lines.len());
    let mut order: Vec<u32> = indexes.filter(|i| positions[*i as usize].is_resolved()).collect();
    order.sort_unstable_by_key(|i| {
        let (line, position) = (&lines[*i as usize], &positions[*i as usize]);
        let depth = position.depth;
        (line.subject, depth > 1, sort_key(lines, position.sorted_as), depth, line.number)
    });
    order
}

/// What comments are sorted by within their list: the time and the number of a line.
fn sort_key(lines: &[PartLine], index: u32) -> (u64, usize) {
    let line = &lines[index as usize];
    (line.created_at, line.number)
}

/// The path of a line. `ids` are those of the lines.
pub(super) fn path_of(index: u32, positions: &[ThreadPosition], ids: &[CommentId], stored: &StoredComments) -> Path {
    let mut chain = Vec::with_capacity(positions[index as usize].depth.into());
    let mut above = Some(ParentNode::Line(index));
    while let Some(node) = above {
        let (id, next) = match node {
            ParentNode::Line(line) => {
                let position = &positions[line as usize];
                // In a flat list the parent is not on the path.
                (ids[line as usize], position.parent.filter(|_| position.depth > 1))
            }
            ParentNode::Stored(node) => (stored.id(node), stored.above(node).map(ParentNode::Stored)),
        };
        chain.push(id);
        above = next;
    }
    let bytes: Vec<u8> = chain.iter().rev().flat_map(|id| id.get().to_be_bytes()).collect();
    // No position is deeper than a path can be.
    Path::from_bytes(&bytes).unwrap_or_else(|_| Path::root(ids[index as usize]))
}

struct ParentResolver<'a> {
    of: ThreadLines<'a>,
    positions: Vec<ThreadPosition>,
}

/// What is known of a comment that a line names as its parent or root.
enum ParentLookup {
    Found(ParentNode),
    /// It was never published, and this is what it replies to.
    Unpublished(Option<ParentNode>),
    /// It is another line, which must be resolved first.
    Unresolved(u32),
    Missing,
}

impl ParentResolver<'_> {
    /// Resolves a line and those above it. Not recursive, since chains may be long.
    fn resolve(&mut self, first: u32) {
        let mut stack = vec![first];
        while let Some(&i) = stack.last() {
            match self.try_resolve(i) {
                Ok(position) => {
                    self.positions[i as usize] = position;
                    stack.pop();
                }
                Err(parent) => {
                    self.positions[i as usize].state = PositionState::Waiting;
                    stack.push(parent);
                }
            }
        }
    }

    /// The position of a line, or the line that must be resolved first.
    fn try_resolve(&self, i: u32) -> Result<ThreadPosition, u32> {
        let position = self.positions[i as usize];
        if matches!(position.state, PositionState::Resolved | PositionState::Unplaced) {
            return Ok(position);
        }
        let LineKeys { parent, root, .. } = self.of.keys[i as usize];
        if parent == SourceKey::NONE && root == SourceKey::NONE {
            return Ok(self.position_under(i, None, false));
        }
        for (key, reparented) in [(parent, false), (root, true)] {
            match self.look_up(i, key) {
                ParentLookup::Found(node) => return Ok(self.position_under(i, Some(node), reparented)),
                ParentLookup::Unpublished(above) => return Ok(self.position_under(i, above, true)),
                ParentLookup::Unresolved(parent) => return Err(parent),
                ParentLookup::Missing => {}
            }
        }
        Ok(ThreadPosition { state: PositionState::Unplaced, ..ThreadPosition::open() })
    }

    fn look_up(&self, i: u32, key: SourceKey) -> ParentLookup {
        if key == SourceKey::NONE {
            return ParentLookup::Missing;
        }
        if let Some(stored) = self.of.stored.named(key) {
            return match self.of.stored.is_published(stored) {
                true => ParentLookup::Found(ParentNode::Stored(stored)),
                false => ParentLookup::Unpublished(self.above(ParentNode::Stored(stored))),
            };
        }
        let ThreadLines { lines, keys, by_id, .. } = self.of;
        let Ok(found) = by_id.binary_search_by_key(&key, |index| keys[*index as usize].id) else {
            return ParentLookup::Missing;
        };
        let line = by_id[found];
        match self.positions[line as usize].state {
            // The line that closes a cycle breaks it.
            _ if line == i => ParentLookup::Missing,
            PositionState::Waiting | PositionState::Unplaced => ParentLookup::Missing,
            PositionState::Resolved if lines[line as usize].is_held => {
                ParentLookup::Unpublished(self.above(ParentNode::Line(line)))
            }
            PositionState::Resolved => ParentLookup::Found(ParentNode::Line(line)),
            PositionState::Open => ParentLookup::Unresolved(line),
        }
    }

    fn position_under(&self, i: u32, named: Option<ParentNode>, mut reparented: bool) -> ThreadPosition {
        let mut parent = named;
        if let Some(node) = parent.filter(|node| self.depth(*node) >= limits::MAX_DEPTH) {
            parent = self.above(node);
            reparented = true;
        }
        let line = &self.of.lines[i as usize];
        let is_flat = self.of.threadings[line.subject as usize].mode == Mode::Flat;
        let depth = match parent {
            Some(node) if !is_flat => self.depth(node) + 1,
            _ => 1,
        };
        let sorted_as = match named {
            // Roots are written before all replies, so a reply to a root needs no later time.
            Some(ParentNode::Line(of)) if depth > 2 => self.later(self.positions[of as usize].sorted_as, i),
            _ => i,
        };
        let depth = u8::try_from(depth).unwrap_or(u8::MAX);
        ThreadPosition { parent, sorted_as, depth, reparented, state: PositionState::Resolved }
    }

    fn later(&self, a: u32, b: u32) -> u32 {
        if sort_key(self.of.lines, a) > sort_key(self.of.lines, b) { a } else { b }
    }

    fn depth(&self, node: ParentNode) -> usize {
        match node {
            ParentNode::Line(line) => self.positions[line as usize].depth.into(),
            ParentNode::Stored(node) => self.of.stored.depth(node),
        }
    }

    fn above(&self, node: ParentNode) -> Option<ParentNode> {
        match node {
            ParentNode::Line(line) => self.positions[line as usize].parent,
            ParentNode::Stored(node) => self.of.stored.above(node).map(ParentNode::Stored),
        }
    }
}

#[cfg(test)]
mod tests;
