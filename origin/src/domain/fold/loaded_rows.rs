//! What a fold knows of the rows before it. It requests them in rounds, since one answer (a path, an
//! alias) decides what the next request is about.

use std::collections::HashMap;
use std::hash::Hash;

use gailou_shared::id::{AuditId, CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::wire::Reaction;

use crate::domain::audit::{CurrentText, UndoRecord};
use crate::domain::columns::{FLAG_QUEUED, damaged};
use crate::domain::damaged_data::Result;
use crate::domain::fold::row_request::RowRequest;
use crate::domain::fold::stored_rows::{
    ScopedIdempotencyKey, StoredComment, StoredIdempotencyKey, StoredSubject, TableLayout,
};
use crate::domain::operation::{CommentChange, LoggedOperation, Operation};
use crate::domain::positions::NextPositions;
use crate::domain::reaction_state::DeadReaction;
use crate::domain::review::ReviewItem;
use crate::domain::row::{NewCommentRow, ReactionCounts};

/// Rows by what was requested; `None` where no row exists.
pub(super) type Lookups<K, V> = HashMap<K, Option<V>>;

/// New comments that become second ids, with the comments whose second ids they become.
type Originals = HashMap<CommentId, CommentId>;

/// The rows that were read, and the requests that no row answered.
#[derive(Debug)]
pub(crate) struct LoadedRows<'b> {
    pub(super) layout: TableLayout,
    pub(super) positions: NextPositions,
    pub(super) subjects: Lookups<SubjectKey, StoredSubject>,
    numbers: Lookups<i64, SubjectKey>,
    pub(super) comments: Lookups<CommentId, StoredComment>,
    pub(super) texts: Lookups<CommentId, String>,
    pub(super) pairs: Lookups<(CommentId, MemberId), Reaction>,
    pub(super) idempotency_keys: Lookups<ScopedIdempotencyKey<'b>, StoredIdempotencyKey>,
    pub(super) sources: Lookups<(i64, &'b str), CommentId>,
    pub(super) aliases: Lookups<CommentId, CommentId>,
    pub(super) early_counts: Lookups<CommentId, ReactionCounts>,
    early_reactions: Lookups<CommentId, Vec<MemberId>>,
    pub(super) dead_reactions: Lookups<(Slot, MemberId), Vec<DeadReaction>>,
    pub(super) reviews: Lookups<CommentId, ReviewItem>,
    pub(super) reports: Lookups<(CommentId, MemberId), ()>,
    pub(super) contents: Lookups<CommentId, CurrentText>,
    pub(super) undos: Lookups<AuditId, UndoRecord>,
}

impl<'b> LoadedRows<'b> {
    /// No rows yet; the next positions are those of the slots that the transaction has locked.
    pub(crate) fn new(layout: TableLayout, positions: NextPositions) -> Self {
        Self {
            layout,
            positions,
            subjects: HashMap::new(),
            numbers: HashMap::new(),
            comments: HashMap::new(),
            texts: HashMap::new(),
            pairs: HashMap::new(),
            idempotency_keys: HashMap::new(),
            sources: HashMap::new(),
            aliases: HashMap::new(),
            early_counts: HashMap::new(),
            early_reactions: HashMap::new(),
            dead_reactions: HashMap::new(),
            reviews: HashMap::new(),
            reports: HashMap::new(),
            contents: HashMap::new(),
            undos: HashMap::new(),
        }
    }

    /// The rows to read before the batch can be folded; `None` when all are here. What the adapter
    /// does not add before the next call counts as absent.
    pub(crate) fn next_request(&mut self, batch: &[&'b LoggedOperation]) -> Option<RowRequest<'b>> {
        let mut request = RowRequest::default();
        let originals = self.find_originals(batch, &mut request);
        for logged in batch {
            let applied = self.positions.is_applied(logged);
            match &logged.operation {
                Operation::Publish(new) if applied => self.request_comment(new.path.id(), &mut request),
                Operation::Publish(new) => self.request_for_publish(new, &originals, &mut request),
                Operation::React { id, member, .. } => {
                    self.request_comment(*id, &mut request);
                    if !applied {
                        let id = self.resolve(*id);
                        self.request_pair(id, *member, &mut request);
                        self.request_dead_reactions(id.slot(), *member, &mut request);
                        if let Some(original) = originals.get(&id) {
                            self.request_pair(*original, *member, &mut request);
                        }
                    }
                }
                Operation::Change { id, change, audit } => {
                    self.request_comment(*id, &mut request);
                    self.request_ancestors(*id, &mut request);
                    self.request_for_change(self.resolve(*id), change, audit.is_some(), &mut request);
                }
                Operation::Subject { key, .. } => self.request_subject(key, &mut request),
                Operation::Snapshot { .. }
                | Operation::LeaseReviews { .. }
                | Operation::Standing { .. }
                | Operation::Dictionary { .. }
                | Operation::Settings { .. }
                | Operation::Webhook { .. }
                | Operation::Import { .. }
                | Operation::MemberNames(_)
                | Operation::DeleteExpired
                | Operation::DeleteEditHistory { .. }
                | Operation::Erasure { .. }
                | Operation::Merge { .. } => {}
            }
        }
        request.sort_and_deduplicate();
        self.mark_absent(&request);
        (!request.is_empty()).then_some(request)
    }

    /// Marks everything requested as absent until the adapter adds it.
    fn mark_absent(&mut self, request: &RowRequest<'b>) {
        fn mark<K: Hash + Eq, V>(rows: &mut Lookups<K, V>, keys: impl Iterator<Item = K>) {
            keys.for_each(|key| _ = rows.entry(key).or_insert(None));
        }
        mark(&mut self.subjects, request.subjects.iter().map(|key| (*key).clone()));
        mark(&mut self.numbers, request.numbers.iter().copied());
        mark(&mut self.comments, request.comments.iter().copied());
        mark(&mut self.texts, request.texts.iter().copied());
        mark(&mut self.pairs, request.pairs.iter().copied());
        mark(&mut self.idempotency_keys, request.idempotency_keys.iter().copied());
        mark(&mut self.sources, request.sources.iter().copied());
        mark(&mut self.aliases, request.aliases.iter().copied());
        mark(&mut self.early_counts, request.early_counts.iter().copied());
        mark(&mut self.early_reactions, request.early_reactions.iter().copied());
        mark(&mut self.dead_reactions, request.dead_reactions.iter().copied());
        mark(&mut self.reviews, request.reviews.iter().copied());
        mark(&mut self.reports, request.reports.iter().copied());
        mark(&mut self.contents, request.contents.iter().copied());
        mark(&mut self.undos, request.undos.iter().copied());
    }

    /// New comments whose idempotency key or import source belongs to an earlier comment already.
    fn find_originals(&self, batch: &[&'b LoggedOperation], request: &mut RowRequest<'b>) -> Originals {
        let (mut by_key, mut by_source, mut originals) = (HashMap::new(), HashMap::new(), HashMap::new());
        for logged in batch.iter().filter(|logged| !self.positions.is_applied(logged)) {
            let Operation::Publish(new) = &logged.operation else { continue };
            let id = new.path.id();
            let mut original = id;
            if let Some((key, _)) = self.layout.scoped_idempotency_key(new) {
                match self.idempotency_keys.get(&key) {
                    None => request.idempotency_keys.push(key),
                    Some(stored) => {
                        let stored = stored.filter(|stored| stored.is_valid_at(logged.at)).map(|stored| stored.id);
                        original = *by_key.entry(key).or_insert(stored.unwrap_or(id));
                    }
                }
            }
            if let Some(imported) = &new.imported
                && let Some(subject) = self.subjects.get(&new.subject)
            {
                let (source, number) = (imported.source.as_str(), subject.as_ref().map(|subject| subject.number));
                let stored = number.map_or(Some(&None), |number| self.sources.get(&(number, source)));
                match (stored, number) {
                    (None, Some(number)) => request.sources.push((number, source)),
                    (stored, _) => {
                        let stored = stored.copied().flatten();
                        original = *by_source.entry((&new.subject, source)).or_insert(stored.unwrap_or(id));
                    }
                }
            }
            if original != id {
                originals.insert(id, original);
            }
        }
        originals
    }

    fn request_for_publish(&self, new: &'b NewCommentRow, originals: &Originals, request: &mut RowRequest<'b>) {
        let id = new.path.id();
        new.path.ids().for_each(|id| self.request_comment(id, request));
        self.request_subject(&new.subject, request);
        if let Some(Some(_)) = self.comments.get(&id)
            && !self.texts.contains_key(&id)
        {
            request.texts.push(id);
        }
        if self.layout.has_aliases() {
            let original = originals.get(&id).copied();
            // The parent may be named by a second id, and this id may become one.
            for id in new.path.parent_id().into_iter().chain(new.parent_id).chain(original) {
                self.request_comment(id, request);
                self.request_ancestors(id, request);
            }
            if let Some(None) = self.comments.get(&id) {
                self.request_early_reactions(id, original, request);
            }
        }
    }

    /// A comment with its subject; where the id has no row, the comment that it is a second id of.
    fn request_comment(&self, id: CommentId, request: &mut RowRequest<'b>) {
        match self.comments.get(&id) {
            None => request.comments.push(id),
            Some(Some(stored)) => self.request_related(id, Some(stored), request),
            Some(None) if self.layout.has_aliases() => match self.aliases.get(&id) {
                None => request.aliases.push(id),
                Some(None) => {}
                // The comment that an alias names has a row and is not an alias itself.
                Some(Some(original)) => match self.comments.get(original) {
                    None => request.comments.push(*original),
                    Some(stored) => self.request_related(*original, stored.as_ref(), request),
                },
            },
            Some(None) => {}
        }
    }

    /// The subject of a comment, and its item of the review queue.
    fn request_related(&self, id: CommentId, stored: Option<&StoredComment>, request: &mut RowRequest<'b>) {
        request.numbers.extend(stored.map(|s| s.subject).filter(|number| !self.numbers.contains_key(number)));
        if stored.is_some_and(|stored| stored.row.flags & FLAG_QUEUED != 0) && !self.reviews.contains_key(&id) {
            request.reviews.push(id);
        }
    }

    /// What a change of this comment needs beside its row. One that is audited can be undone.
    fn request_for_change(
        &self,
        id: CommentId,
        change: &CommentChange,
        is_audited: bool,
        request: &mut RowRequest<'b>,
    ) {
        if let CommentChange::IfSeen { change, .. } = change {
            return self.request_for_change(id, change, is_audited, request);
        }
        let is_stored = matches!(self.comments.get(&id), Some(Some(_)));
        match change {
            CommentChange::Report(report) if is_stored => {
                let pair = (id, report.reporter.id);
                request.reports.extend(Some(pair).filter(|pair| !self.reports.contains_key(pair)));
            }
            CommentChange::Approve | CommentChange::Undo(_) if is_stored && !self.contents.contains_key(&id) => {
                request.contents.push(id);
            }
            CommentChange::Edit { .. } if is_audited && is_stored && !self.contents.contains_key(&id) => {
                request.contents.push(id);
            }
            _ => {}
        }
        if let CommentChange::Undo(audit) = change
            && !self.undos.contains_key(audit)
        {
            request.undos.push(*audit);
        }
    }

    /// The ancestors of a comment, once its path is known.
    fn request_ancestors(&self, id: CommentId, request: &mut RowRequest<'b>) {
        if let Some(Some(stored)) = self.comments.get(&self.resolve(id)) {
            stored.row.path.ids().for_each(|id| self.request_comment(id, request));
        }
    }

    fn request_pair(&self, id: CommentId, member: MemberId, request: &mut RowRequest<'b>) {
        if !self.pairs.contains_key(&(id, member)) {
            request.pairs.push((id, member));
        }
    }

    /// The reactions that were stored before their comment. Where the comment becomes an alias, they
    /// are moved to its original one by one.
    fn request_early_reactions(&self, id: CommentId, original: Option<CommentId>, request: &mut RowRequest<'b>) {
        match (self.early_counts.get(&id), original) {
            (None, _) => request.early_counts.push(id),
            (Some(Some(_)), Some(original)) => match self.early_reactions.get(&id) {
                None => request.early_reactions.push(id),
                Some(members) => {
                    members.iter().flatten().for_each(|member| self.request_pair(original, *member, request));
                }
            },
            (Some(_), _) => {}
        }
    }

    /// The dead letters of a member in a slot, and which comments they are about.
    fn request_dead_reactions(&self, slot: Slot, member: MemberId, request: &mut RowRequest<'b>) {
        if !self.layout.has_aliases() {
            return;
        }
        match self.dead_reactions.get(&(slot, member)) {
            None => request.dead_reactions.push((slot, member)),
            Some(dead) => dead.iter().flatten().for_each(|dead| self.request_comment(dead.id, request)),
        }
    }

    fn request_subject(&self, key: &'b SubjectKey, request: &mut RowRequest<'b>) {
        if !self.subjects.contains_key(key) {
            request.subjects.push(key);
        }
    }

    /// The id that has the row.
    fn resolve(&self, id: CommentId) -> CommentId {
        self.aliases.get(&id).copied().flatten().unwrap_or(id)
    }

    /// Adds a subject that was requested by its key.
    ///
    /// # Errors
    /// When the row under the key's number belongs to another key.
    pub(crate) fn add_subject(&mut self, requested: &SubjectKey, stored: StoredSubject) -> Result<()> {
        if stored.key != *requested {
            let (one, other) = (stored.key.key(), requested.key());
            return Err(damaged(format_args!("the keys {one:?} and {other:?} have the same hash")));
        }
        self.add_subject_by_number(stored);
        Ok(())
    }

    /// Adds a subject that was requested by its number.
    pub(crate) fn add_subject_by_number(&mut self, stored: StoredSubject) {
        self.numbers.insert(stored.number, Some(stored.key.clone()));
        self.subjects.insert(stored.key.clone(), Some(stored));
    }

    pub(crate) fn add_comment(&mut self, id: CommentId, stored: StoredComment) {
        self.comments.insert(id, Some(stored));
    }

    pub(crate) fn add_text(&mut self, id: CommentId, text: String) {
        self.texts.insert(id, Some(text));
    }

    pub(crate) fn add_reaction(&mut self, id: CommentId, member: MemberId, reaction: Reaction) {
        self.pairs.insert((id, member), Some(reaction));
        if let Some(members) = self.early_reactions.get_mut(&id) {
            members.get_or_insert_default().push(member);
        }
    }

    pub(crate) fn add_idempotency_key(&mut self, key: ScopedIdempotencyKey<'b>, stored: StoredIdempotencyKey) {
        self.idempotency_keys.insert(key, Some(stored));
    }

    pub(crate) fn add_review(&mut self, id: CommentId, item: ReviewItem) {
        self.reviews.insert(id, Some(item));
    }

    pub(crate) fn add_report(&mut self, id: CommentId, member: MemberId) {
        self.reports.insert((id, member), Some(()));
    }

    pub(crate) fn add_content(&mut self, id: CommentId, text: CurrentText) {
        self.contents.insert(id, Some(text));
    }

    pub(crate) fn add_undo(&mut self, audit: AuditId, record: UndoRecord) {
        self.undos.insert(audit, Some(record));
    }

    pub(crate) fn add_source(&mut self, source: (i64, &'b str), id: CommentId) {
        self.sources.insert(source, Some(id));
    }
}

#[cfg(any(test, feature = "cluster"))]
impl LoadedRows<'_> {
    pub(crate) fn add_alias(&mut self, id: CommentId, original: CommentId) {
        self.aliases.insert(id, Some(original));
    }

    pub(crate) fn add_early_counts(&mut self, id: CommentId, counts: ReactionCounts) {
        self.early_counts.insert(id, Some(counts));
    }

    pub(crate) fn add_dead_reaction(&mut self, dead: DeadReaction) {
        let of_member = self.dead_reactions.entry((dead.id.slot(), dead.member)).or_default();
        of_member.get_or_insert_default().push(dead);
    }
}
