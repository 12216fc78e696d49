//! The fold of a batch: what the rows are after it, the same for every database.
//!
//! An adapter locks what it writes to, reads what [`Loaded::wants`] until nothing more is wanted,
//! folds the events in their order and writes the [`Changes`], each row once. Pure: no SQL, no
//! clock, no waiting. Dictionaries, snapshots and sweeps touch no row that is folded and are left to
//! the adapter.
//!
//! Promises: the rows are the same whether a batch is folded at once or event by event, and an
//! event whose position was applied before changes none. An event from a log is refused nothing: it
//! was decided before it was appended.

mod change;
mod changes;
mod loaded;
mod publish;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

pub(crate) use changes::{Changes, CommentUpdate, Inserted};
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{Author, Reaction};
pub(crate) use loaded::{FoldedRow, Loaded, Once, Reach, StoredComment, StoredKey, StoredSubject, Wanted};

use crate::domain::columns::damaged;
use crate::domain::damaged_data::Result;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::domain::positions::NextPositions;
use crate::domain::row::NewCommentRow;

struct SubjectFold {
    /// `None`: it has no row yet.
    number: Option<i64>,
    key: SubjectKey,
    version: u64,
    floors: u64,
    roots: u64,
    comments: u64,
    /// Whether something in the batch needs its row.
    used: bool,
    changed: bool,
    /// Whether a comment of it is told of again.
    told: bool,
}

struct CommentFold<'b> {
    subject: usize,
    author: MemberId,
    row: FoldedRow,
    /// Likes and dislikes of members who are not known.
    base: (u64, u64),
    /// Whether it stood in lists before the batch, and with which counts.
    before: (bool, EngagementCounts),
    /// The event that made it, in this batch.
    new: Option<(&'b NewCommentRow, Option<CommentId>)>,
    changed: bool,
    /// Whether more than counts changed.
    moved: bool,
    /// When what readers saw of it was changed or taken away.
    takedown: Option<u64>,
    /// Told of although nothing is written: an earlier batch wrote it, and may not have told.
    told: bool,
    /// The same, of its publication.
    anew: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    before: Option<Reaction>,
    now: Option<Reaction>,
}

/// The rows a batch touches, while it is folded.
pub(crate) struct Fold<'b> {
    reach: Reach,
    positions: NextPositions,
    subjects: Vec<SubjectFold>,
    by_key: HashMap<SubjectKey, usize>,
    comments: HashMap<CommentId, CommentFold<'b>>,
    aliases: HashMap<CommentId, CommentId>,
    pairs: HashMap<(CommentId, MemberId), Pair>,
    /// Likes and dislikes of comments that have no row.
    strays: HashMap<CommentId, (u64, u64)>,
    texts: HashMap<CommentId, String>,
    keys: HashMap<Once<'b>, StoredKey>,
    sources: HashMap<(usize, &'b str), CommentId>,
    authors: BTreeMap<MemberId, &'b Author>,
    changes: Changes<'b>,
}

impl<'b> Fold<'b> {
    /// The rows as they were read.
    ///
    /// # Errors
    /// When a comment's subject has no row.
    pub(crate) fn new(loaded: Loaded<'b>) -> Result<Self> {
        let mut subjects = Vec::with_capacity(loaded.subjects.len());
        let mut by_key = HashMap::with_capacity(loaded.subjects.len());
        let mut by_number = HashMap::with_capacity(loaded.subjects.len());
        for (key, stored) in loaded.subjects {
            by_key.insert(key.clone(), subjects.len());
            by_number.extend(stored.as_ref().map(|s| (s.number, subjects.len())));
            let (number, version) = (stored.as_ref().map(|s| s.number), stored.as_ref().map_or(0, |s| s.version));
            let (floors, roots, comments) = stored.map_or((0, 0, 0), |s| (s.floors, s.roots, s.comments));
            let (used, changed, told) = (false, false, false);
            subjects.push(SubjectFold { number, key, version, floors, roots, comments, used, changed, told });
        }
        let number = |number: i64| {
            by_number.get(&number).copied().ok_or_else(|| damaged(format_args!("subject {number} is missing")))
        };
        let mut comments = HashMap::with_capacity(loaded.comments.len());
        for (id, stored) in loaded.comments {
            let Some(stored) = stored else { continue };
            let before = (stored.row.listed(), stored.row.counts);
            comments.insert(
                id,
                CommentFold {
                    subject: number(stored.subject)?,
                    author: stored.author,
                    row: stored.row,
                    base: (0, 0),
                    before,
                    new: None,
                    changed: false,
                    moved: false,
                    takedown: None,
                    told: false,
                    anew: false,
                },
            );
        }
        let mut sources = HashMap::with_capacity(loaded.sources.len());
        for ((subject, source), id) in loaded.sources {
            if let Some(id) = id {
                sources.insert((number(subject)?, source), id);
            }
        }
        let pair = |before| Pair { before, now: before };
        Ok(Self {
            reach: loaded.reach,
            positions: loaded.positions,
            subjects,
            by_key,
            comments,
            aliases: known(loaded.aliases),
            pairs: loaded.pairs.into_iter().map(|(ids, before)| (ids, pair(before))).collect(),
            strays: known(loaded.strays),
            texts: known(loaded.texts),
            keys: known(loaded.keys),
            sources,
            authors: BTreeMap::new(),
            changes: Changes::default(),
        })
    }

    /// Folds one event.
    ///
    /// # Errors
    /// When it contradicts the rows; the fold is of no use any more then.
    pub(crate) fn apply(&mut self, stamped: &'b LoggedOperation) -> Result<OperationOutcome> {
        let (at, position) = (stamped.at, stamped.position);
        if self.positions.is_applied(stamped) {
            self.tell(stamped);
            return Ok(OperationOutcome::Seen);
        }
        let outcome = match &stamped.operation {
            Operation::Publish(new) => self.publish(new, at, position.is_some())?,
            Operation::React { id, member, react } => self.react(*id, *member, *react, position),
            Operation::Change { id, change, audit } => self.change(*id, change, audit.as_ref(), at)?,
            Operation::Subject { key, patch, audit } => self.patch(key, patch, audit.as_ref(), at)?,
            Operation::Snapshot { .. } | Operation::Words(_) | Operation::Sweep => OperationOutcome::Done,
        };
        self.positions.advance(stamped);
        Ok(outcome)
    }

    /// Whoever wrote this event may have died before it told anybody: what it is about is told of
    /// again, as if it had just been written.
    fn tell(&mut self, stamped: &'b LoggedOperation) {
        let id = match &stamped.operation {
            Operation::Publish(new) => {
                self.follow(new);
                new.path.id()
            }
            Operation::React { id, .. } => self.resolve(*id),
            _ => return,
        };
        let Some(comment) = self.comments.get_mut(&id) else { return };
        comment.told = true;
        comment.anew |= matches!(stamped.operation, Operation::Publish(_));
        self.subjects[comment.subject].told = true;
    }

    /// The id that has the row.
    fn resolve(&self, id: CommentId) -> CommentId {
        self.aliases.get(&id).copied().unwrap_or(id)
    }

    fn present(&mut self, id: CommentId) -> Result<&mut CommentFold<'b>> {
        self.comments.get_mut(&id).ok_or_else(|| damaged(format_args!("comment {id} is missing")))
    }

    /// The place of a subject that was wanted by its key.
    fn subject(&self, key: &SubjectKey) -> Result<usize> {
        self.by_key.get(key).copied().ok_or_else(|| damaged(format_args!("subject {key} was not read")))
    }
}

/// What is there.
fn known<K: std::hash::Hash + Eq, V>(answers: loaded::Answers<K, V>) -> HashMap<K, V> {
    answers.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
