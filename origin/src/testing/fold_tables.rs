//! The tables of one database in memory, as simple as can be, written by the real fold.
//!
//! Not here: checkpoints, outbox, change feed and whatever else an adapter keeps beside what the fold decides.

use std::collections::{BTreeMap, BTreeSet};

use gailou_shared::id::{AuditId, CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use gailou_shared::wire::{ActivityPoint, Author, CommentState, Reaction, ReviewKind};

use crate::domain::audit::{CurrentText, UndoRecord};
use crate::domain::columns::{FLAG_HELD_EDIT, FLAG_QUEUED};
use crate::domain::damaged_data::Result;
use crate::domain::event::Event;
use crate::domain::fold::{
    AuditedChange, BatchFold, FoldedRow, HistoryRow, LoadedRows, ReactionRow, ReplyRank, RowChanges, RowRequest,
    StoredComment, StoredIdempotencyKey, StoredSubject, TableLayout, Takedown,
};
use crate::domain::operation::{ChangeRow, LoggedOperation, OperationOutcome, PersistedBatch};
use crate::domain::positions::{NextPositions, OperationStream, StreamPosition};
use crate::domain::reaction_state::DeadReaction;
use crate::domain::review::{QueuePosition, ReviewItem};
use crate::domain::row::ReactionCounts;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoldTableComment {
    pub(crate) subject: i64,
    pub(crate) author: Author,
    pub(crate) parent: Option<CommentId>,
    pub(crate) base: ReactionCounts,
    pub(crate) row: FoldedRow,
    /// The first text and the current one.
    pub(crate) texts: (String, CurrentText),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FoldTableSubject {
    pub(crate) number: i64,
    pub(crate) version: u64,
    pub(crate) floors: u64,
    pub(crate) roots: u64,
    pub(crate) comments: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FoldTables {
    pub(crate) subjects: BTreeMap<SubjectKey, FoldTableSubject>,
    pub(crate) comments: BTreeMap<CommentId, FoldTableComment>,
    pub(crate) reactions: BTreeMap<(CommentId, MemberId), Reaction>,
    pub(crate) dead_reactions: BTreeSet<DeadReaction>,
    pub(crate) roots: BTreeMap<CommentId, EngagementCounts>,
    pub(crate) replies: BTreeSet<ReplyRank>,
    pub(crate) idempotency_keys: BTreeMap<(Slot, MemberId, String), StoredIdempotencyKey>,
    pub(crate) sources: BTreeMap<(i64, String), CommentId>,
    pub(crate) aliases: BTreeMap<CommentId, CommentId>,
    pub(crate) history: BTreeSet<HistoryRow>,
    /// The names of members, and the comments that were written under them.
    pub(crate) names: BTreeMap<MemberId, (CommentId, String)>,
    /// The review queue, and how many comments of a slot are in each part of it.
    pub(crate) reviews: BTreeMap<CommentId, (QueuePosition, ReviewItem)>,
    pub(crate) queue_counts: BTreeMap<Slot, (i64, i64)>,
    pub(crate) reports: BTreeSet<(CommentId, MemberId)>,
    pub(crate) undos: BTreeMap<AuditId, (CommentId, UndoRecord)>,
    /// What is notified of, in the order of the operations.
    pub(crate) events: Vec<Event>,
    /// What happened in each minute.
    pub(crate) activity: BTreeMap<u64, ActivityPoint>,
    pub(crate) next: BTreeMap<(OperationStream, Slot), u64>,
}

impl FoldTables {
    pub(crate) fn persist(&mut self, layout: TableLayout, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        Ok(self.persist_with_takedowns(layout, &batch.iter().collect::<Vec<_>>())?.0)
    }

    /// Writes a batch; what it did, and the rows that it adds to the change feed, without their numbers.
    pub(crate) fn persist_with_takedowns(
        &mut self,
        layout: TableLayout,
        batch: &[&LoggedOperation],
    ) -> Result<(PersistedBatch, Vec<ChangeRow>)> {
        let mut positions = NextPositions::default();
        self.next.iter().for_each(|((stream, slot), next)| positions.set(*stream, *slot, *next));
        let mut loaded = LoadedRows::new(layout, positions);
        let mut rounds = 0;
        while let Some(request) = loaded.next_request(batch) {
            rounds += 1;
            assert!(rounds <= 8, "too many rounds: {request:?}");
            self.load(&request, &mut loaded);
        }
        let mut fold = BatchFold::new(loaded)?;
        let outcomes: Vec<OperationOutcome> = batch.iter().map(|logged| fold.apply(logged)).collect::<Result<_>>()?;
        let (persisted, changes) = fold.finish(|_| HotWeights::default());
        self.flush(&changes);
        let change_row = |takedown: &Takedown| {
            let subject = &changes.subjects[takedown.subject];
            let (subject, version) = (subject.key.clone(), subject.version);
            ChangeRow { seq: 0, at: takedown.at, subject, version, id: takedown.id }
        };
        let takedowns = changes.takedowns.iter().map(change_row).collect();
        for logged in batch {
            if let Some(StreamPosition { stream, slot, .. }) = StreamPosition::of(logged) {
                self.next.insert((stream, slot), changes.positions.next(stream, slot));
            }
        }
        Ok((PersistedBatch { outcomes, ..persisted }, takedowns))
    }

    /// Moves a slot past an operation that becomes a dead letter.
    pub(crate) fn skip(&mut self, dead: &LoggedOperation) {
        if let Some(StreamPosition { stream, slot, position }) = StreamPosition::of(dead) {
            let next = self.next.entry((stream, slot)).or_default();
            if *next <= position {
                *next = position + 1;
                self.dead_reactions.extend(DeadReaction::of(dead));
            }
        }
    }

    fn load<'b>(&self, request: &RowRequest<'b>, loaded: &mut LoadedRows<'b>) {
        let stored = |key: &SubjectKey, s: &FoldTableSubject| StoredSubject {
            number: s.number,
            key: key.clone(),
            version: s.version,
            floors: s.floors,
            roots: s.roots,
            comments: s.comments,
        };
        for key in &request.subjects {
            if let Some(s) = self.subjects.get(*key) {
                loaded.add_subject(key, stored(key, s)).unwrap();
            }
        }
        for (key, s) in self.subjects.iter().filter(|(_, s)| request.numbers.contains(&s.number)) {
            loaded.add_subject_by_number(stored(key, s));
        }
        for (id, (_, item)) in request.reviews.iter().filter_map(|id| self.reviews.get_key_value(id)) {
            loaded.add_review(*id, item.clone());
        }
        for (id, member) in request.reports.iter().filter(|pair| self.reports.contains(pair)) {
            loaded.add_report(*id, *member);
        }
        for (id, c) in request.contents.iter().filter_map(|id| self.comments.get_key_value(id)) {
            loaded.add_content(*id, c.texts.1.clone());
        }
        for (audit, (_, record)) in request.undos.iter().filter_map(|audit| self.undos.get_key_value(audit)) {
            loaded.add_undo(*audit, record.clone());
        }
        for (id, c) in request.comments.iter().filter_map(|id| self.comments.get_key_value(id)) {
            loaded.add_comment(*id, StoredComment { subject: c.subject, author: c.author.id, row: c.row.clone() });
        }
        request.texts.iter().for_each(|id| loaded.add_text(*id, self.comments[id].texts.0.clone()));
        for (id, member) in &request.pairs {
            if let Some(reaction) = self.reactions.get(&(*id, *member)) {
                loaded.add_reaction(*id, *member, *reaction);
            }
        }
        for key in &request.idempotency_keys {
            if let Some(stored) = self.idempotency_keys.get(&(key.slot, key.member, key.key.to_owned())) {
                loaded.add_idempotency_key(*key, *stored);
            }
        }
        for source in &request.sources {
            if let Some(id) = self.sources.get(&(source.0, source.1.to_owned())) {
                loaded.add_source(*source, *id);
            }
        }
        for (id, original) in request.aliases.iter().filter_map(|id| self.aliases.get_key_value(id)) {
            loaded.add_alias(*id, *original);
        }
        for id in &request.early_counts {
            let counts = self.counts(*id);
            if counts != ReactionCounts::default() {
                loaded.add_early_counts(*id, counts);
            }
        }
        let requested = |dead: &&DeadReaction| request.dead_reactions.contains(&(dead.id.slot(), dead.member));
        self.dead_reactions.iter().filter(requested).for_each(|dead| loaded.add_dead_reaction(*dead));
        for ((id, member), reaction) in &self.reactions {
            if request.early_reactions.contains(id) {
                loaded.add_reaction(*id, *member, *reaction);
            }
        }
    }

    fn flush(&mut self, changes: &RowChanges<'_>) {
        let mut numbers = Vec::new();
        for s in &changes.subjects {
            let number = s.key.obj_id() as i64;
            numbers.push(number);
            if s.write {
                let (version, floors, roots, comments) = (s.version, s.floors, s.roots, s.comments);
                self.subjects.insert(s.key.clone(), FoldTableSubject { number, version, floors, roots, comments });
            }
        }
        for c in &changes.inserts {
            let text = CurrentText {
                content: c.new.content.clone(),
                html: c.new.html.clone(),
                original_text: c.new.original_text.clone(),
            };
            let made = FoldTableComment {
                subject: numbers[c.subject],
                author: c.new.author.clone(),
                parent: c.parent,
                base: c.base,
                row: c.row.clone(),
                texts: (text.content.clone(), text),
            };
            assert!(self.comments.insert(c.id, made).is_none(), "{} is inserted twice", c.id);
        }
        changes.updates.iter().for_each(|c| self.comments.get_mut(&c.id).unwrap().row = c.row.clone());
        changes.edits.iter().for_each(|e| self.comments.get_mut(&e.id).unwrap().texts.1 = e.text.clone());
        self.flush_moderation(changes);
        for (id, author) in &changes.transferred {
            self.comments.get_mut(id).unwrap().author = (*author).clone();
        }
        changes.erased.iter().for_each(|id| self.comments.get_mut(id).unwrap().texts = <_>::default());
        for ReactionRow { id, member, reaction } in &changes.reactions {
            match reaction {
                Some(reaction) => _ = self.reactions.insert((*id, *member), *reaction),
                None => assert!(self.reactions.remove(&(*id, *member)).is_some()),
            }
        }
        changes.ended_dead_reactions.iter().for_each(|dead| assert!(self.dead_reactions.remove(dead)));
        for root in &changes.root_ranks {
            match root.ranked {
                Some((counts, _)) => _ = self.roots.insert(root.id, counts),
                None => assert!(self.roots.remove(&root.id).is_some()),
            }
        }
        changes.removed_reply_ranks.iter().for_each(|key| assert!(self.replies.remove(key)));
        changes.added_reply_ranks.iter().for_each(|key| assert!(self.replies.insert(*key)));
        for (key, stored) in &changes.idempotency_keys {
            self.idempotency_keys.insert((key.slot, key.member, key.key.to_owned()), *stored);
        }
        for row in &changes.sources {
            self.sources.insert((numbers[row.subject], row.source.to_owned()), row.id);
        }
        self.aliases.extend(changes.aliases.iter().map(|row| (row.id, row.original)));
        // A row of a member and a comment, which has been held if it was once.
        for row in &changes.history {
            let [other, held] = [false, true].map(|held| HistoryRow { held, ..*row });
            if row.held {
                self.history.remove(&other);
            }
            if !self.history.contains(&held) {
                self.history.insert(*row);
            }
        }
        for (id, author) in &changes.authors {
            let newest = (*id, author.name.clone());
            let name = self.names.entry(author.id).or_insert_with(|| newest.clone());
            *name = newest.max(name.clone());
        }
    }

    fn flush_moderation(&mut self, changes: &RowChanges<'_>) {
        for (at, point) in &changes.activity {
            self.activity.entry(*at).or_insert(ActivityPoint { at: *at, ..ActivityPoint::default() }).add(point);
        }
        self.events.extend(&changes.events);
        for row in &changes.reviews {
            match &row.item {
                Some(item) => _ = self.reviews.insert(row.id, item.clone()),
                None => assert!(self.reviews.remove(&row.id).is_some(), "{} was not queued", row.id),
            }
        }
        for (slot, (held, reported)) in &changes.queue_counts {
            let counts = self.queue_counts.entry(*slot).or_default();
            (counts.0, counts.1) = (counts.0 + held, counts.1 + reported);
        }
        self.queue_counts.retain(|_, counts| *counts != (0, 0));
        for row in &changes.reports {
            assert!(self.reports.insert((row.id, row.report.reporter.id)), "{} is reported twice", row.id);
        }
        for row in &changes.audits {
            if let AuditedChange::Comment { id, undo, .. } = &row.change {
                self.undos.insert(row.audit.id, (*id, (**undo).clone()));
            }
        }
        for id in &changes.erased {
            self.reports.retain(|(of, _)| of != id);
            self.undos.retain(|_, (of, _)| of != id);
        }
        for row in &changes.forgotten {
            self.reports.remove(&(row.id, row.member));
        }
    }

    /// Checks the review queue against the comments.
    fn check_queue(&self) {
        let mut counts = BTreeMap::<Slot, (i64, i64)>::new();
        for (id, c) in &self.comments {
            let item = self.reviews.get(id);
            assert_eq!(c.row.flags & FLAG_QUEUED != 0, item.is_some(), "{id} is queued");
            let has_edit = item.is_some_and(|(_, item)| item.edit.is_some());
            assert_eq!(c.row.flags & FLAG_HELD_EDIT != 0, has_edit, "{id} has an edit that waits");
            assert!(c.row.state != CommentState::Review || item.is_some(), "{id} is held and not queued");
            let Some((position, item)) = item else { continue };
            assert!(matches!(c.row.state, CommentState::Review | CommentState::Published), "{id} was decided");
            let is_published = c.row.state == CommentState::Published;
            assert!(!is_published || item.reports > 0 || has_edit, "nothing of {id} is undecided");
            let priority = item.priority(c.row.counts, c.row.author_level);
            assert_eq!(*position, QueuePosition::new(priority, item.since, *id));
            let of_slot = counts.entry(id.slot()).or_default();
            match item.kind() {
                ReviewKind::Held => of_slot.0 += 1,
                ReviewKind::Reported => of_slot.1 += 1,
            }
        }
        assert!(self.reviews.keys().all(|id| self.comments.contains_key(id)));
        assert_eq!(self.queue_counts, counts);
    }

    /// Likes and dislikes among the rows of reactions.
    fn counts(&self, id: CommentId) -> ReactionCounts {
        let of = |which| self.reactions.iter().filter(|((of, _), r)| *of == id && **r == which).count() as u64;
        ReactionCounts { likes: of(Reaction::Like), dislikes: of(Reaction::Dislike) }
    }

    /// Checks every counter and rank against the rows.
    pub(crate) fn check(&self) {
        for (id, c) in &self.comments {
            let below = |other: &&FoldTableComment| c.row.path.is_ancestor_of(&other.row.path);
            let counts = self.counts(*id);
            let replies = self.comments.values().filter(below).filter(|c| c.row.is_visible()).count() as u64;
            let counts = EngagementCounts {
                likes: c.base.likes + counts.likes,
                dislikes: c.base.dislikes + counts.dislikes,
                replies,
            };
            assert_eq!(c.row.counts, counts, "{id}");
            assert!(c.row.floor.is_some() || !c.row.is_visible(), "{id} has no floor");
            let listed = c.row.is_listed();
            if c.row.path.depth() == 1 {
                floors(self.comments.values().filter(below), c.row.floors);
                assert_eq!(self.roots.get(id), Some(&counts).filter(|c| listed && c.has_any()), "{id}");
            } else {
                let hot = rank::sort_key(Sort::Hot, counts, c.row.created_at, &HotWeights::default());
                let key = ReplyRank { root: c.row.path.root_id(), hot, id: *id };
                assert_eq!(self.replies.contains(&key), listed, "{id}");
            }
            assert!(
                c.row.path.ids().chain(c.parent).all(|id| self.comments.contains_key(&id)),
                "{id} has an ancestor without a row"
            );
        }
        let listed = |c: &&FoldTableComment| c.row.is_listed() && c.row.path.depth() > 1;
        assert_eq!(self.replies.len(), self.comments.values().filter(listed).count());
        for s in self.subjects.values() {
            let of = || self.comments.values().filter(|c| c.subject == s.number);
            let roots = || of().filter(|c| c.row.path.depth() == 1);
            floors(roots(), s.floors);
            assert_eq!(s.comments, of().filter(|c| c.row.is_visible()).count() as u64);
            assert_eq!(s.roots, roots().filter(|c| c.row.is_visible()).count() as u64);
        }
        self.check_queue();
        assert!(self.reactions.keys().all(|(id, _)| !self.aliases.contains_key(id)), "a second id keeps reactions");
        assert!(self.aliases.values().all(|id| self.comments.contains_key(id)), "a second id of nothing");
    }
}

/// Floors are 1 to the last one given, each once.
fn floors<'c>(of: impl Iterator<Item = &'c FoldTableComment>, last: u64) {
    let mut floors: Vec<u64> = of.filter_map(|c| c.row.floor).collect();
    floors.sort_unstable();
    assert_eq!(floors, (1..=last).collect::<Vec<_>>());
}
