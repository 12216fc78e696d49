//! The materialised path of a comment in its thread.
//!
//! A path is the chain of ids from the root to the comment itself, eight bytes each, big-endian. Its byte
//! order is the order of the thread (depth first, siblings by id), so a subtree is one range of keys, and
//! the path contains all ancestors. [`Threading`] decides how deep a reply is *drawn*, by the mode of the
//! subject type.

#[cfg(feature = "openapi")]
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::id::CommentId;
use crate::limits;

/// Bytes of one id in a path.
const ID_BYTES: usize = 8;

/// Why bytes are not a path, or a path cannot grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidPath {
    /// No id, a length that is not a multiple of eight, or a number that is not an id.
    Malformed,
    /// More than [`limits::MAX_DEPTH`] ids.
    TooDeep,
}

impl fmt::Display for InvalidPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a path",
            Self::TooDeep => "the chain of replies is at its limit of 128",
        })
    }
}

impl core::error::Error for InvalidPath {}

/// The chain from the root to a comment. Never empty, at most [`limits::MAX_DEPTH`] ids.
///
/// ```
/// use gailou_shared::{id::CommentId, path::Path};
/// let (a, b) = (CommentId::new(1000).unwrap(), CommentId::new(999).unwrap());
/// let reply = Path::root(a).child(b).unwrap();
/// assert_eq!((reply.root_id(), reply.parent_id(), reply.depth()), (a, Some(a), 2));
/// // Bytes order as numbers do; decimal text would not ("1000" < "999").
/// assert!(Path::root(b) < Path::root(a));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<u8>);

impl Path {
    /// The path of a root comment: itself alone.
    #[must_use]
    pub fn root(id: CommentId) -> Self {
        Self(id.get().to_be_bytes().to_vec())
    }

    /// The path of a reply to the comment at this path.
    ///
    /// # Errors
    /// [`InvalidPath::TooDeep`] at [`limits::MAX_DEPTH`] comments.
    pub fn child(&self, id: CommentId) -> Result<Self, InvalidPath> {
        if self.depth() >= limits::MAX_DEPTH {
            return Err(InvalidPath::TooDeep);
        }
        let mut bytes = Vec::with_capacity(self.0.len() + ID_BYTES);
        bytes.extend_from_slice(&self.0);
        bytes.extend_from_slice(&id.get().to_be_bytes());
        Ok(Self(bytes))
    }

    /// The path stored as these bytes.
    ///
    /// # Errors
    /// [`InvalidPath`] when they are not one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidPath> {
        if bytes.is_empty() || !bytes.len().is_multiple_of(ID_BYTES) {
            return Err(InvalidPath::Malformed);
        }
        if bytes.len() / ID_BYTES > limits::MAX_DEPTH {
            return Err(InvalidPath::TooDeep);
        }
        let path = Self(bytes.to_vec());
        if path.numbers().any(|n| CommentId::new(n).is_err()) {
            return Err(InvalidPath::Malformed);
        }
        Ok(path)
    }

    /// As stored: eight bytes an id.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn numbers(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.0.chunks_exact(ID_BYTES).map(|step| step.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    /// The ids from the root to the comment itself.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = CommentId> + '_ {
        self.numbers().filter_map(|n| CommentId::new(n).ok())
    }

    /// How many comments the chain has, from 1 to [`limits::MAX_DEPTH`].
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.len() / ID_BYTES
    }

    /// The comment itself.
    #[must_use]
    pub fn id(&self) -> CommentId {
        self.ids().next_back().unwrap_or(unreachable_root())
    }

    /// The root of the thread; of a root, itself.
    #[must_use]
    pub fn root_id(&self) -> CommentId {
        self.ids().next().unwrap_or(unreachable_root())
    }

    /// The comment it answers, `None` for a root.
    #[must_use]
    pub fn parent_id(&self) -> Option<CommentId> {
        self.ids().rev().nth(1)
    }

    /// The first `depth` comments of the chain (at least one).
    #[must_use]
    pub fn truncated(&self, depth: usize) -> Self {
        Self(self.0.iter().copied().take(depth.max(1) * ID_BYTES).collect())
    }

    /// Whether `other` is a descendant of this comment.
    #[must_use]
    pub fn is_ancestor_of(&self, other: &Self) -> bool {
        other.0.len() > self.0.len() && other.0.starts_with(&self.0)
    }

    /// The first key after every descendant: descendants are `path < x < path.subtree_end()`.
    ///
    /// ```
    /// use gailou_shared::{id::CommentId, path::Path};
    /// let root = Path::root(CommentId::new(5).unwrap());
    /// let reply = root.child(CommentId::new(i64::MAX as u64).unwrap()).unwrap();
    /// assert!(root.as_bytes() < reply.as_bytes() && reply.as_bytes() < root.subtree_end().as_slice());
    /// ```
    #[must_use]
    pub fn subtree_end(&self) -> Vec<u8> {
        let mut bytes = self.0.clone();
        // An id is below 2^63, so the carry always finds a byte that is not 255.
        for byte in bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        bytes
    }
}

/// A path has at least one id by construction; this is the value where the type system cannot know that.
const fn unreachable_root() -> CommentId {
    CommentId::from_parts(0, crate::id::Slot::FIRST, 0, 0)
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

/// How the threads of a subject are built and drawn: one level (`flat`), roots with one flat list each
/// (`two_level`), nested down to a level limit (`tree`), or nested without a limit of its own (`building`, 盖楼).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One level: a reply becomes a root of its own.
    Flat,
    /// Roots, and under each one flat list.
    TwoLevel,
    /// Nested down to a level limit.
    Tree,
    /// 盖楼: nested without a limit of its own.
    Building,
}

/// A mode with its level limit: decides the `level` of a comment and where a reply is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Threading {
    /// The mode of the subject type.
    pub mode: Mode,
    /// Level limit of [`Mode::Tree`]; the other modes have their own.
    pub level_limit: u8,
}

impl Threading {
    /// The deepest level that is drawn, from 1 to [`limits::MAX_DEPTH`].
    #[must_use]
    pub fn max_level(self) -> usize {
        match self.mode {
            Mode::Flat => 1,
            Mode::TwoLevel => 2,
            Mode::Tree => usize::from(self.level_limit.max(1)),
            Mode::Building => limits::MAX_DEPTH,
        }
    }

    /// The level of a comment at this depth, from 1.
    #[must_use]
    pub fn level(self, depth: usize) -> usize {
        depth.min(self.max_level())
    }

    /// The path of a comment under `parent` (`None`: a root), with this id.
    ///
    /// # Errors
    /// [`InvalidPath::TooDeep`] when the parent is at [`limits::MAX_DEPTH`].
    pub fn path_under(self, parent: Option<&Path>, id: CommentId) -> Result<Path, InvalidPath> {
        match parent {
            Some(parent) if self.mode != Mode::Flat => parent.child(id),
            _ => Ok(Path::root(id)),
        }
    }

    /// The ancestor under which a comment is drawn; `None` for roots. A comment below the level limit is
    /// drawn at the limit, under the ancestor one level up. `from` is the depth of the node at which the
    /// drawing starts: a comment that is requested by id is always drawn with its replies.
    ///
    /// ```
    /// use gailou_shared::{id::CommentId, path::{Mode, Path, Threading}};
    /// let id = |n| CommentId::new(n).unwrap();
    /// let tree = Threading { mode: Mode::Tree, level_limit: 3 };
    /// let deep = (2..=5).fold(Path::root(id(1)), |p, n| p.child(id(n)).unwrap());
    /// assert_eq!(tree.drawn_under(&deep, 1), Some(id(2)));
    /// ```
    #[must_use]
    pub fn drawn_under(self, path: &Path, from: usize) -> Option<CommentId> {
        let limit = self.max_level().max(from + 1);
        let above = path.depth().min(limit).checked_sub(2)?;
        path.ids().nth(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    fn id(n: u64) -> CommentId {
        CommentId::new(n).unwrap()
    }

    /// A random forest: each comment is a root or answers an earlier one.
    fn forest() -> impl Strategy<Value = Vec<Path>> {
        prop::collection::vec((any::<u32>(), any::<prop::sample::Index>(), any::<bool>()), 1..60).prop_map(|seeds| {
            let mut paths: Vec<Path> = Vec::new();
            let mut last = 0u64;
            for (gap, parent, is_root) in seeds {
                last += u64::from(gap) + 1;
                let new = if is_root || paths.is_empty() {
                    Path::root(id(last))
                } else {
                    let parent = &paths[parent.index(paths.len())];
                    parent.child(id(last)).unwrap_or_else(|_| Path::root(id(last)))
                };
                paths.push(new);
            }
            paths
        })
    }

    /// Depth-first, siblings by id: the order a reader sees.
    fn walk(children: &BTreeMap<Option<CommentId>, Vec<CommentId>>, at: Option<CommentId>, out: &mut Vec<CommentId>) {
        for child in children.get(&at).into_iter().flatten() {
            out.push(*child);
            walk(children, Some(*child), out);
        }
    }

    #[test]
    fn paths_survive_128_levels_and_no_more() {
        let mut path = Path::root(id(1));
        for n in 2..=128 {
            path = path.child(id(n)).unwrap();
        }
        assert_eq!((path.depth(), path.id(), path.root_id()), (128, id(128), id(1)));
        assert_eq!(path.child(id(129)), Err(InvalidPath::TooDeep));
        assert_eq!(path.truncated(2), Path::root(id(1)).child(id(2)).unwrap());
    }

    #[test]
    fn malformed_bytes_are_refused() {
        for bad in [&[][..], &[1, 2, 3], &[0; 8], &[255; 8]] {
            assert_eq!(Path::from_bytes(bad), Err(InvalidPath::Malformed), "{bad:?}");
        }
    }

    #[test]
    fn modes_decide_levels() {
        let check = |mode, depth, level| {
            assert_eq!(Threading { mode, level_limit: 3 }.level(depth), level, "{mode:?} {depth}");
        };
        check(Mode::Flat, 1, 1);
        check(Mode::TwoLevel, 9, 2);
        check(Mode::Tree, 2, 2);
        check(Mode::Tree, 100, 3);
        check(Mode::Building, 100, 100);
    }

    proptest! {
        #[test]
        fn path_order_is_tree_order(mut paths in forest()) {
            let mut children: BTreeMap<Option<CommentId>, Vec<CommentId>> = BTreeMap::new();
            for path in &paths {
                children.entry(path.parent_id()).or_default().push(path.id());
            }
            children.values_mut().for_each(|c| c.sort());
            let mut expected = Vec::new();
            walk(&children, None, &mut expected);
            paths.sort();
            prop_assert_eq!(paths.iter().map(Path::id).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn a_subtree_is_one_range(paths in forest()) {
            for a in &paths {
                for b in &paths {
                    let in_range = a.as_bytes() < b.as_bytes() && b.as_bytes() < a.subtree_end().as_slice();
                    prop_assert_eq!(in_range, a.is_ancestor_of(b));
                }
            }
        }

        #[test]
        fn bytes_come_back(paths in forest()) {
            for path in paths {
                prop_assert_eq!(Path::from_bytes(path.as_bytes()), Ok(path));
            }
        }

        #[test]
        fn nothing_is_drawn_below_the_limit(paths in forest(), level_limit in 1u8..6) {
            let threading = Threading { mode: Mode::Tree, level_limit };
            for path in paths {
                let parent = threading.drawn_under(&path, 0);
                let depth = parent.map_or(1, |p| path.ids().position(|i| i == p).unwrap() + 2);
                prop_assert_eq!(depth, threading.level(path.depth()));
            }
        }
    }
}
