//! The rows of one slot in one database, as a mover copies, compares and deletes them.

use std::collections::{BTreeMap, BTreeSet};

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::Reaction;

use crate::domain::fold::{ReplyRank, StoredIdempotencyKey};
use crate::domain::reaction_state::DeadReaction;
use crate::testing::fold_tables::{FoldTableComment, FoldTableSubject};
use crate::testing::simulation::database::{Database, member_slot};

/// The key of a row, in the order in which a mover walks them: a comment has its text in its row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SlotRowKey {
    Subject(SubjectKey),
    Comment(CommentId),
    RootRank(CommentId),
    ReplyRank(ReplyRank),
    Reaction(CommentId, MemberId),
    DeadReaction(DeadReaction),
    Idempotency(MemberId, String),
    Alias(CommentId),
    History(MemberId, CommentId),
}

/// A row beside its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SlotRow {
    Subject(FoldTableSubject),
    Comment(Box<FoldTableComment>),
    RootRank(EngagementCounts),
    Reaction(Reaction),
    Idempotency(StoredIdempotencyKey),
    Alias(CommentId),
    History(bool),
    /// The key says everything.
    KeyOnly,
}

/// The rows of a slot.
pub(super) type CopiedSlotRows = BTreeMap<SlotRowKey, SlotRow>;

impl Database {
    /// All rows of a slot.
    pub(super) fn slot_rows(&self, slot: Slot) -> CopiedSlotRows {
        use SlotRowKey as Key;
        let tables = &self.tables;
        let is_of = |id: &CommentId| id.slot() == slot;
        let mut rows = CopiedSlotRows::new();
        let subjects = tables.subjects.iter().filter(|(key, _)| key.slot() == slot);
        rows.extend(subjects.map(|(key, row)| (Key::Subject(key.clone()), SlotRow::Subject(row.clone()))));
        let comments = tables.comments.iter().filter(|(id, _)| is_of(id));
        rows.extend(comments.map(|(id, row)| (Key::Comment(*id), SlotRow::Comment(Box::new(row.clone())))));
        let roots = tables.roots.iter().filter(|(id, _)| is_of(id));
        rows.extend(roots.map(|(id, counts)| (Key::RootRank(*id), SlotRow::RootRank(*counts))));
        let replies = tables.replies.iter().filter(|rank| is_of(&rank.root));
        rows.extend(replies.map(|rank| (Key::ReplyRank(*rank), SlotRow::KeyOnly)));
        let reactions = tables.reactions.iter().filter(|((id, _), _)| is_of(id));
        rows.extend(reactions.map(|((id, member), row)| (Key::Reaction(*id, *member), SlotRow::Reaction(*row))));
        let dead = tables.dead_reactions.iter().filter(|dead| is_of(&dead.id));
        rows.extend(dead.map(|dead| (Key::DeadReaction(*dead), SlotRow::KeyOnly)));
        let keys = tables.idempotency_keys.iter().filter(|((of, ..), _)| *of == slot);
        rows.extend(
            keys.map(|((_, member, key), row)| (Key::Idempotency(*member, key.clone()), SlotRow::Idempotency(*row))),
        );
        let aliases = tables.aliases.iter().filter(|(id, _)| is_of(id));
        rows.extend(aliases.map(|(id, own)| (Key::Alias(*id), SlotRow::Alias(*own))));
        let histories = self.histories.iter().filter(|((member, _), _)| member_slot(*member) == slot);
        rows.extend(histories.map(|((member, id), held)| (Key::History(*member, *id), SlotRow::History(*held))));
        rows
    }

    /// How many comments of a slot are there.
    pub(super) fn count_comments(&self, slot: Slot) -> u64 {
        self.tables.comments.keys().filter(|id| id.slot() == slot).count() as u64
    }

    /// The slots that have rows.
    pub(super) fn slots_with_rows(&self) -> BTreeSet<Slot> {
        let tables = &self.tables;
        let mut slots: BTreeSet<Slot> = tables.subjects.keys().map(SubjectKey::slot).collect();
        slots.extend(tables.comments.keys().map(|id| id.slot()));
        slots.extend(tables.reactions.keys().map(|(id, _)| id.slot()));
        slots.extend(tables.dead_reactions.iter().map(|dead| dead.id.slot()));
        slots.extend(tables.roots.keys().map(|id| id.slot()));
        slots.extend(tables.replies.iter().map(|rank| rank.root.slot()));
        slots.extend(tables.idempotency_keys.keys().map(|(slot, ..)| *slot));
        slots.extend(tables.aliases.keys().map(|id| id.slot()));
        slots.extend(self.histories.keys().map(|(member, _)| member_slot(*member)));
        slots
    }

    /// Writes a row of a slot over the one with its key, or deletes that.
    pub(super) fn replace_row(&mut self, slot: Slot, key: SlotRowKey, row: Option<SlotRow>) {
        use SlotRowKey as Key;
        let tables = &mut self.tables;
        match (key, row) {
            (Key::Subject(key), Some(SlotRow::Subject(row))) => _ = tables.subjects.insert(key, row),
            (Key::Subject(key), _) => _ = tables.subjects.remove(&key),
            (Key::Comment(id), Some(SlotRow::Comment(row))) => _ = tables.comments.insert(id, *row),
            (Key::Comment(id), _) => _ = tables.comments.remove(&id),
            (Key::RootRank(id), Some(SlotRow::RootRank(counts))) => _ = tables.roots.insert(id, counts),
            (Key::RootRank(id), _) => _ = tables.roots.remove(&id),
            (Key::ReplyRank(rank), Some(_)) => _ = tables.replies.insert(rank),
            (Key::ReplyRank(rank), None) => _ = tables.replies.remove(&rank),
            (Key::Reaction(id, member), Some(SlotRow::Reaction(row))) => {
                tables.reactions.insert((id, member), row);
            }
            (Key::Reaction(id, member), _) => _ = tables.reactions.remove(&(id, member)),
            (Key::DeadReaction(dead), Some(_)) => _ = tables.dead_reactions.insert(dead),
            (Key::DeadReaction(dead), None) => _ = tables.dead_reactions.remove(&dead),
            (Key::Idempotency(member, key), Some(SlotRow::Idempotency(row))) => {
                tables.idempotency_keys.insert((slot, member, key), row);
            }
            (Key::Idempotency(member, key), _) => _ = tables.idempotency_keys.remove(&(slot, member, key)),
            (Key::Alias(id), Some(SlotRow::Alias(own))) => _ = tables.aliases.insert(id, own),
            (Key::Alias(id), _) => _ = tables.aliases.remove(&id),
            (Key::History(member, id), Some(SlotRow::History(held))) => {
                self.histories.insert((member, id), held);
            }
            (Key::History(member, id), _) => _ = self.histories.remove(&(member, id)),
        }
    }
}

/// The keys of rows that differ: written, changed or deleted.
pub(super) fn changed_keys(before: &CopiedSlotRows, after: &CopiedSlotRows) -> BTreeSet<SlotRowKey> {
    let is_changed = |key: &&SlotRowKey| before.get(*key) != after.get(*key);
    before.keys().chain(after.keys()).filter(is_changed).cloned().collect()
}
