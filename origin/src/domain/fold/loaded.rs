//! What a fold has to know of the rows before it: asked for in rounds, since what one answer says
//! (a path, an alias) is what the next question is about.

use std::collections::HashMap;
use std::hash::Hash;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, Reaction, Visibility};

use crate::domain::columns::damaged;
use crate::domain::damaged_data::Result;
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::positions::NextPositions;
use crate::domain::row::NewCommentRow;

/// How far a store's keys reach, and whether a log stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// One database, no log: an idempotency key is one in all of it, and no comment has a second id.
    Whole,
    /// Slots behind a log: a key is remembered beside its comment, in the slot.
    Slots,
}

/// A subject's row, as far as comments change it.
#[derive(Debug, Clone)]
pub(crate) struct StoredSubject {
    pub number: i64,
    pub key: SubjectKey,
    pub version: u64,
    pub floors: u64,
    pub roots: u64,
    pub comments: u64,
}

/// A comment's row, as far as a fold looks at it.
#[derive(Debug, Clone)]
pub(crate) struct StoredComment {
    /// The number of its subject's row.
    pub subject: i64,
    pub author: MemberId,
    pub row: FoldedRow,
}

/// What a fold changes in a comment's row, and what that depends on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoldedRow {
    pub path: Path,
    pub created_at: u64,
    pub floor: Option<u64>,
    /// The last floor given below it.
    pub floors: u64,
    pub state: CommentState,
    pub visibility: Visibility,
    pub flags: i64,
    pub pinned_at: Option<u64>,
    pub edited_at: Option<u64>,
    pub counts: EngagementCounts,
    pub reacted: u64,
}

impl FoldedRow {
    pub(crate) fn visible(&self) -> bool {
        self.state == CommentState::Published && self.visibility == Visibility::Everyone
    }

    pub(crate) fn listed(&self) -> bool {
        self.visible() || (self.floor.is_some() && self.counts.replies > 0)
    }
}

/// What an idempotency key stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StoredKey {
    pub request: [u8; 32],
    pub id: CommentId,
    pub state: CommentState,
    pub created_at: u64,
}

impl StoredKey {
    /// Whether the key is still remembered at this moment.
    pub(super) fn holds(&self, at: u64) -> bool {
        self.created_at > at.saturating_sub(limits::IDEMPOTENCY_WINDOW_MS)
    }
}

/// A member's idempotency key, in the slot where it counts ([`Reach::Whole`]: the first, always).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Once<'b> {
    pub slot: Slot,
    pub member: MemberId,
    pub key: &'b str,
}

impl Reach {
    /// The key of a new comment, and the hash of its request.
    pub(super) fn once<'b>(self, new: &'b NewCommentRow) -> Option<(Once<'b>, &'b [u8; 32])> {
        let (key, request) = new.idempotency.as_ref()?;
        let slot = match self {
            Self::Whole => Slot::FIRST,
            Self::Slots => new.path.id().slot(),
        };
        Some((Once { slot, member: new.author.id, key }, request))
    }
}

/// One round of questions, each kind sorted and without repetition.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'b> {
    /// Subjects by key, and by the number a comment gave for its subject.
    pub subjects: Vec<&'b SubjectKey>,
    pub numbers: Vec<i64>,
    pub comments: Vec<CommentId>,
    /// The texts of these comments before their first edits.
    pub texts: Vec<CommentId>,
    pub pairs: Vec<(CommentId, MemberId)>,
    pub keys: Vec<Once<'b>>,
    /// Import sources, by the number of the subject. These and the above are all that a store of
    /// [`Reach::Whole`] is asked for.
    pub sources: Vec<(i64, &'b str)>,
    /// What these ids without rows are second ids of.
    pub aliases: Vec<CommentId>,
    /// Likes and dislikes among the reactions to these ids without rows.
    pub strays: Vec<CommentId>,
    /// All those reactions; they are answered as pairs.
    pub reactions: Vec<CommentId>,
}

impl Wanted<'_> {
    fn tidy(&mut self) {
        fn tidy<T: Ord>(list: &mut Vec<T>) {
            list.sort_unstable();
            list.dedup();
        }
        tidy(&mut self.subjects);
        tidy(&mut self.numbers);
        tidy(&mut self.comments);
        tidy(&mut self.texts);
        tidy(&mut self.pairs);
        tidy(&mut self.keys);
        tidy(&mut self.sources);
        tidy(&mut self.aliases);
        tidy(&mut self.strays);
        tidy(&mut self.reactions);
    }

    fn is_empty(&self) -> bool {
        self.subjects.is_empty()
            && self.numbers.is_empty()
            && self.comments.is_empty()
            && self.texts.is_empty()
            && self.pairs.is_empty()
            && self.keys.is_empty()
            && self.sources.is_empty()
            && self.aliases.is_empty()
            && self.strays.is_empty()
            && self.reactions.is_empty()
    }
}

/// Answers by question; `None` is the answer that nothing is there.
pub(super) type Answers<K, V> = HashMap<K, Option<V>>;

/// What was read, and what was asked for and is not there.
#[derive(Debug)]
pub(crate) struct Loaded<'b> {
    pub(super) reach: Reach,
    pub(super) positions: NextPositions,
    pub(super) subjects: Answers<SubjectKey, StoredSubject>,
    numbers: Answers<i64, SubjectKey>,
    pub(super) comments: Answers<CommentId, StoredComment>,
    pub(super) texts: Answers<CommentId, String>,
    pub(super) pairs: Answers<(CommentId, MemberId), Reaction>,
    pub(super) keys: Answers<Once<'b>, StoredKey>,
    pub(super) sources: Answers<(i64, &'b str), CommentId>,
    pub(super) aliases: Answers<CommentId, CommentId>,
    pub(super) strays: Answers<CommentId, (u64, u64)>,
    reactions: Answers<CommentId, Vec<MemberId>>,
}

impl<'b> Loaded<'b> {
    /// Nothing read yet but the next positions of the slots, which are locked.
    pub(crate) fn new(reach: Reach, positions: NextPositions) -> Self {
        Self {
            reach,
            positions,
            subjects: HashMap::new(),
            numbers: HashMap::new(),
            comments: HashMap::new(),
            texts: HashMap::new(),
            pairs: HashMap::new(),
            keys: HashMap::new(),
            sources: HashMap::new(),
            aliases: HashMap::new(),
            strays: HashMap::new(),
            reactions: HashMap::new(),
        }
    }

    /// What has to be read before the batch can be folded; `None` when all of it was. What is not
    /// answered before the next call is not there.
    pub(crate) fn wants(&mut self, batch: &[&'b LoggedOperation]) -> Option<Wanted<'b>> {
        let mut wanted = Wanted::default();
        let firsts = self.firsts(batch, &mut wanted);
        for stamped in batch {
            let seen = self.positions.is_applied(stamped);
            match &stamped.operation {
                Operation::Publish(new) if seen => self.comment(new.path.id(), &mut wanted),
                Operation::Publish(new) => self.publish(new, &firsts, &mut wanted),
                Operation::React { id, member, .. } => {
                    self.comment(*id, &mut wanted);
                    if !seen {
                        let id = self.resolve(*id);
                        self.pair(id, *member, &mut wanted);
                        firsts.get(&id).into_iter().for_each(|first| self.pair(*first, *member, &mut wanted));
                    }
                }
                Operation::Change { id, .. } => {
                    self.comment(*id, &mut wanted);
                    self.chain(*id, &mut wanted);
                }
                Operation::Subject { key, .. } => self.subject(key, &mut wanted),
                Operation::Snapshot { .. } | Operation::Words(_) | Operation::Sweep => {}
            }
        }
        wanted.tidy();
        self.expect(&wanted);
        (!wanted.is_empty()).then_some(wanted)
    }

    /// Marks everything wanted as not there until it is answered.
    fn expect(&mut self, wanted: &Wanted<'b>) {
        fn expect<K: Hash + Eq, V>(answers: &mut Answers<K, V>, keys: impl Iterator<Item = K>) {
            keys.for_each(|key| _ = answers.entry(key).or_insert(None));
        }
        expect(&mut self.subjects, wanted.subjects.iter().map(|key| (*key).clone()));
        expect(&mut self.numbers, wanted.numbers.iter().copied());
        expect(&mut self.comments, wanted.comments.iter().copied());
        expect(&mut self.texts, wanted.texts.iter().copied());
        expect(&mut self.pairs, wanted.pairs.iter().copied());
        expect(&mut self.keys, wanted.keys.iter().copied());
        expect(&mut self.sources, wanted.sources.iter().copied());
        expect(&mut self.aliases, wanted.aliases.iter().copied());
        expect(&mut self.strays, wanted.strays.iter().copied());
        expect(&mut self.reactions, wanted.reactions.iter().copied());
    }

    /// New comments that may turn out to be second ids, and the comments whose they would be: those
    /// that an idempotency key or an import source belongs to already.
    fn firsts(&self, batch: &[&'b LoggedOperation], wanted: &mut Wanted<'b>) -> HashMap<CommentId, CommentId> {
        let (mut by_key, mut by_source, mut firsts) = (HashMap::new(), HashMap::new(), HashMap::new());
        for stamped in batch.iter().filter(|stamped| !self.positions.is_applied(stamped)) {
            let Operation::Publish(new) = &stamped.operation else { continue };
            let id = new.path.id();
            let mut first = id;
            if let Some((once, _)) = self.reach.once(new) {
                match self.keys.get(&once) {
                    None => wanted.keys.push(once),
                    Some(stored) => {
                        let stored = stored.filter(|stored| stored.holds(stamped.at)).map(|stored| stored.id);
                        first = *by_key.entry(once).or_insert(stored.unwrap_or(id));
                    }
                }
            }
            if let Some(imported) = &new.imported
                && let Some(subject) = self.subjects.get(&new.subject)
            {
                let (source, number) = (imported.source.as_str(), subject.as_ref().map(|subject| subject.number));
                let stored = number.map_or(Some(&None), |number| self.sources.get(&(number, source)));
                match (stored, number) {
                    (None, Some(number)) => wanted.sources.push((number, source)),
                    (stored, _) => {
                        let stored = stored.copied().flatten();
                        first = *by_source.entry((&new.subject, source)).or_insert(stored.unwrap_or(id));
                    }
                }
            }
            if first != id {
                firsts.insert(id, first);
            }
        }
        firsts
    }

    fn publish(&self, new: &'b NewCommentRow, firsts: &HashMap<CommentId, CommentId>, wanted: &mut Wanted<'b>) {
        let id = new.path.id();
        new.path.ids().for_each(|id| self.comment(id, wanted));
        self.subject(&new.subject, wanted);
        if let Some(Some(_)) = self.comments.get(&id)
            && !self.texts.contains_key(&id)
        {
            wanted.texts.push(id);
        }
        if self.reach == Reach::Slots {
            let first = firsts.get(&id).copied();
            // What it answers may be named by a second id, and its own may become one.
            for id in new.path.parent_id().into_iter().chain(new.parent_id).chain(first) {
                self.comment(id, wanted);
                self.chain(id, wanted);
            }
            if let Some(None) = self.comments.get(&id) {
                self.strays(id, first, wanted);
            }
        }
    }

    /// A comment with its subject, or what its id is a second id of.
    fn comment(&self, id: CommentId, wanted: &mut Wanted<'b>) {
        match self.comments.get(&id) {
            None => wanted.comments.push(id),
            Some(Some(stored)) => self.number(Some(stored), wanted),
            Some(None) if self.reach == Reach::Slots => match self.aliases.get(&id) {
                None => wanted.aliases.push(id),
                Some(None) => {}
                // What an alias names has a row and is none itself.
                Some(Some(first)) => match self.comments.get(first) {
                    None => wanted.comments.push(*first),
                    Some(stored) => self.number(stored.as_ref(), wanted),
                },
            },
            Some(None) => {}
        }
    }

    /// The subject of a comment.
    fn number(&self, stored: Option<&StoredComment>, wanted: &mut Wanted<'b>) {
        wanted.numbers.extend(stored.map(|s| s.subject).filter(|number| !self.numbers.contains_key(number)));
    }

    /// The ancestors of a comment, once it is known.
    fn chain(&self, id: CommentId, wanted: &mut Wanted<'b>) {
        if let Some(Some(stored)) = self.comments.get(&self.resolve(id)) {
            stored.row.path.ids().for_each(|id| self.comment(id, wanted));
        }
    }

    fn pair(&self, id: CommentId, member: MemberId, wanted: &mut Wanted<'b>) {
        if !self.pairs.contains_key(&(id, member)) {
            wanted.pairs.push((id, member));
        }
    }

    /// The reactions that were there before their comment; where it becomes an alias of `first`,
    /// they go there one by one.
    fn strays(&self, id: CommentId, first: Option<CommentId>, wanted: &mut Wanted<'b>) {
        match (self.strays.get(&id), first) {
            (None, _) => wanted.strays.push(id),
            (Some(Some(_)), Some(first)) => match self.reactions.get(&id) {
                None => wanted.reactions.push(id),
                Some(members) => {
                    members.iter().flatten().for_each(|member| self.pair(first, *member, wanted));
                }
            },
            (Some(_), _) => {}
        }
    }

    fn subject(&self, key: &'b SubjectKey, wanted: &mut Wanted<'b>) {
        if !self.subjects.contains_key(key) {
            wanted.subjects.push(key);
        }
    }

    /// The id that has the row.
    fn resolve(&self, id: CommentId) -> CommentId {
        self.aliases.get(&id).copied().flatten().unwrap_or(id)
    }

    /// Answers for a subject that was wanted by its key.
    ///
    /// # Errors
    /// When the row under the key's number belongs to another key.
    pub(crate) fn found_subject(&mut self, wanted: &SubjectKey, found: StoredSubject) -> Result<()> {
        if found.key != *wanted {
            return Err(damaged(format_args!("the keys {:?} and {:?} have one hash", found.key.key(), wanted.key())));
        }
        self.found_number(found);
        Ok(())
    }

    /// Answers for a subject that was wanted by its number.
    pub(crate) fn found_number(&mut self, found: StoredSubject) {
        self.numbers.insert(found.number, Some(found.key.clone()));
        self.subjects.insert(found.key.clone(), Some(found));
    }

    pub(crate) fn found_comment(&mut self, id: CommentId, found: StoredComment) {
        self.comments.insert(id, Some(found));
    }

    pub(crate) fn found_text(&mut self, id: CommentId, found: String) {
        self.texts.insert(id, Some(found));
    }

    pub(crate) fn found_pair(&mut self, id: CommentId, member: MemberId, found: Reaction) {
        self.pairs.insert((id, member), Some(found));
        if let Some(members) = self.reactions.get_mut(&id) {
            members.get_or_insert_default().push(member);
        }
    }

    pub(crate) fn found_key(&mut self, once: Once<'b>, found: StoredKey) {
        self.keys.insert(once, Some(found));
    }

    pub(crate) fn found_source(&mut self, source: (i64, &'b str), found: CommentId) {
        self.sources.insert(source, Some(found));
    }
}

#[cfg(any(test, feature = "cluster"))]
impl Loaded<'_> {
    pub(crate) fn found_alias(&mut self, id: CommentId, first: CommentId) {
        self.aliases.insert(id, Some(first));
    }

    pub(crate) fn found_strays(&mut self, id: CommentId, likes: u64, dislikes: u64) {
        self.strays.insert(id, Some((likes, dislikes)));
    }
}
