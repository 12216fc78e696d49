//! Tables in memory, as simple as can be: what a fold is tried on.

use std::collections::{BTreeMap, BTreeSet};

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::rank::{
    EngagementCounts, HotWeights, Sort, {self},
};
use gailou_shared::wire::Reaction;

use crate::domain::damaged_data::Result;
use crate::domain::fold::changes::HotKey;
use crate::domain::fold::{Changes, Fold, FoldedRow, Loaded, Reach, StoredComment, StoredKey, StoredSubject, Wanted};
use crate::domain::operation::{LoggedOperation, OperationOutcome, PersistedBatch};
use crate::domain::positions::{LogPosition, NextPositions, OperationStream};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comment {
    pub(super) subject: i64,
    pub(super) author: MemberId,
    pub(super) parent: Option<CommentId>,
    pub(super) base: (u64, u64),
    pub(super) row: FoldedRow,
    /// The first and the present one.
    pub(super) texts: (String, String),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Subject {
    pub(super) number: i64,
    pub(super) version: u64,
    pub(super) floors: u64,
    pub(super) roots: u64,
    pub(super) comments: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FoldTables {
    pub(super) subjects: BTreeMap<SubjectKey, Subject>,
    pub(super) comments: BTreeMap<CommentId, Comment>,
    pub(super) reactions: BTreeMap<(CommentId, MemberId), Reaction>,
    pub(super) roots: BTreeMap<CommentId, EngagementCounts>,
    pub(super) replies: BTreeSet<HotKey>,
    pub(super) keys: BTreeMap<(Slot, MemberId, String), StoredKey>,
    pub(super) sources: BTreeMap<(i64, String), CommentId>,
    pub(super) aliases: BTreeMap<CommentId, CommentId>,
    pub(super) history: BTreeSet<(MemberId, CommentId, bool)>,
    pub(super) next: BTreeMap<(OperationStream, Slot), u64>,
}

impl FoldTables {
    pub(super) fn persist(&mut self, reach: Reach, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        let batch: Vec<_> = batch.iter().collect();
        let mut positions = NextPositions::default();
        self.next.iter().for_each(|((stream, slot), next)| positions.set(*stream, *slot, *next));
        let mut loaded = Loaded::new(reach, positions);
        let mut rounds = 0;
        while let Some(wanted) = loaded.wants(&batch) {
            rounds += 1;
            assert!(rounds <= 8, "too many rounds: {wanted:?}");
            self.load(&wanted, &mut loaded);
        }
        let mut fold = Fold::new(loaded)?;
        let outcomes: Vec<OperationOutcome> = batch.iter().map(|stamped| fold.apply(stamped)).collect::<Result<_>>()?;
        let (persisted, changes) = fold.finish(|_| HotWeights::default());
        self.flush(&changes);
        for stamped in batch {
            if let Some(LogPosition { stream, slot, .. }) = LogPosition::of(stamped) {
                self.next.insert((stream, slot), changes.positions.next(stream, slot));
            }
        }
        Ok(PersistedBatch { outcomes, ..persisted })
    }

    fn load<'b>(&self, wanted: &Wanted<'b>, loaded: &mut Loaded<'b>) {
        let stored = |key: &SubjectKey, s: &Subject| StoredSubject {
            number: s.number,
            key: key.clone(),
            version: s.version,
            floors: s.floors,
            roots: s.roots,
            comments: s.comments,
        };
        for key in &wanted.subjects {
            if let Some(s) = self.subjects.get(*key) {
                loaded.found_subject(key, stored(key, s)).unwrap();
            }
        }
        for (key, s) in self.subjects.iter().filter(|(_, s)| wanted.numbers.contains(&s.number)) {
            loaded.found_number(stored(key, s));
        }
        for (id, c) in self.comments.iter().filter(|(id, _)| wanted.comments.contains(id)) {
            loaded.found_comment(*id, StoredComment { subject: c.subject, author: c.author, row: c.row.clone() });
        }
        wanted.texts.iter().for_each(|id| loaded.found_text(*id, self.comments[id].texts.0.clone()));
        for (id, member) in &wanted.pairs {
            if let Some(reaction) = self.reactions.get(&(*id, *member)) {
                loaded.found_pair(*id, *member, *reaction);
            }
        }
        for once in &wanted.keys {
            if let Some(key) = self.keys.get(&(once.slot, once.member, once.key.to_owned())) {
                loaded.found_key(*once, *key);
            }
        }
        for source in &wanted.sources {
            if let Some(id) = self.sources.get(&(source.0, source.1.to_owned())) {
                loaded.found_source(*source, *id);
            }
        }
        for (id, first) in self.aliases.iter().filter(|(id, _)| wanted.aliases.contains(id)) {
            loaded.found_alias(*id, *first);
        }
        for id in &wanted.strays {
            let (likes, dislikes) = self.votes(*id);
            if likes + dislikes > 0 {
                loaded.found_strays(*id, likes, dislikes);
            }
        }
        for ((id, member), reaction) in self.reactions.iter().filter(|((id, _), _)| wanted.reactions.contains(id)) {
            loaded.found_pair(*id, *member, *reaction);
        }
    }

    fn flush(&mut self, changes: &Changes<'_>) {
        let mut numbers = Vec::new();
        for s in &changes.subjects {
            let number = s.key.obj_id() as i64;
            numbers.push(number);
            if s.write {
                let (version, floors, roots, comments) = (s.version, s.floors, s.roots, s.comments);
                self.subjects.insert(s.key.clone(), Subject { number, version, floors, roots, comments });
            }
        }
        for c in &changes.inserts {
            let text = c.new.content.clone();
            let made = Comment {
                subject: numbers[c.subject],
                author: c.new.author.id,
                parent: c.parent,
                base: c.base,
                row: c.row.clone(),
                texts: (text.clone(), text),
            };
            assert!(self.comments.insert(c.id, made).is_none(), "{} is inserted twice", c.id);
        }
        changes.updates.iter().for_each(|c| self.comments.get_mut(&c.id).unwrap().row = c.row.clone());
        changes.edits.iter().for_each(|e| self.comments.get_mut(&e.id).unwrap().texts.1 = e.content.to_owned());
        for (id, member, reaction) in &changes.reactions {
            match reaction {
                Some(reaction) => _ = self.reactions.insert((*id, *member), *reaction),
                None => assert!(self.reactions.remove(&(*id, *member)).is_some()),
            }
        }
        for root in &changes.roots {
            match root.counts {
                Some(counts) => _ = self.roots.insert(root.id, counts),
                None => assert!(self.roots.remove(&root.id).is_some()),
            }
        }
        changes.cooled.iter().for_each(|key| assert!(self.replies.remove(key)));
        changes.heated.iter().for_each(|key| assert!(self.replies.insert(*key)));
        for (once, key) in &changes.keys {
            self.keys.insert((once.slot, once.member, once.key.to_owned()), *key);
        }
        for (subject, source, id) in &changes.sources {
            self.sources.insert((numbers[*subject], (*source).to_owned()), *id);
        }
        self.aliases.extend(changes.aliases.iter().copied());
        self.history.extend(changes.history.iter().copied());
    }

    /// Likes and dislikes among the rows of reactions.
    fn votes(&self, id: CommentId) -> (u64, u64) {
        let of = |which| self.reactions.iter().filter(|((of, _), r)| *of == id && **r == which).count() as u64;
        (of(Reaction::Like), of(Reaction::Dislike))
    }

    /// Counts everything again.
    pub(super) fn check(&self) {
        for (id, c) in &self.comments {
            let below = |other: &&Comment| c.row.path.is_ancestor_of(&other.row.path);
            let (likes, dislikes) = self.votes(*id);
            let replies = self.comments.values().filter(below).filter(|c| c.row.visible()).count() as u64;
            let counts = EngagementCounts { likes: c.base.0 + likes, dislikes: c.base.1 + dislikes, replies };
            assert_eq!(c.row.counts, counts, "{id}");
            assert!(c.row.floor.is_some() || !c.row.visible(), "{id} has no floor");
            let listed = c.row.listed();
            if c.row.path.depth() == 1 {
                floors(self.comments.values().filter(below), c.row.floors);
                assert_eq!(self.roots.get(id), Some(&counts).filter(|c| listed && c.has_any()), "{id}");
            } else {
                let hot = rank::sort_key(Sort::Hot, counts, c.row.created_at, &HotWeights::default());
                let key = HotKey { root: c.row.path.root_id(), hot, id: *id };
                assert_eq!(self.replies.contains(&key), listed, "{id}");
            }
            assert!(c.row.path.ids().chain(c.parent).all(|id| self.comments.contains_key(&id)), "{id} hangs nowhere");
        }
        let listed = |c: &&Comment| c.row.listed() && c.row.path.depth() > 1;
        assert_eq!(self.replies.len(), self.comments.values().filter(listed).count());
        for s in self.subjects.values() {
            let of = || self.comments.values().filter(|c| c.subject == s.number);
            let roots = || of().filter(|c| c.row.path.depth() == 1);
            floors(roots(), s.floors);
            assert_eq!(s.comments, of().filter(|c| c.row.visible()).count() as u64);
            assert_eq!(s.roots, roots().filter(|c| c.row.visible()).count() as u64);
        }
        assert!(self.reactions.keys().all(|(id, _)| !self.aliases.contains_key(id)), "a second id keeps reactions");
        assert!(self.aliases.values().all(|id| self.comments.contains_key(id)), "a second id of nothing");
    }
}

/// Floors are 1 to the last one given, each once.
fn floors<'c>(of: impl Iterator<Item = &'c Comment>, last: u64) {
    let mut floors: Vec<u64> = of.filter_map(|c| c.row.floor).collect();
    floors.sort_unstable();
    assert_eq!(floors, (1..=last).collect::<Vec<_>>());
}
