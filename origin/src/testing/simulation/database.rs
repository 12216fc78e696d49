//! One database: its tables under the real fold, and what a transaction writes beside them.
//!
//! A method is one transaction: it happens as a whole at one moment or not at all, as transactions do that lock
//! the rows of their slots first. A copy taken at one moment can be put back later: everything goes back
//! together, also the numbers that are given out and which slots it has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::wire::CommentState;

use crate::domain::broker_state::BrokerState;
use crate::domain::checkpoint::{Checkpoint, CheckpointAdvance, LogSamples};
use crate::domain::fold::{HistoryRow, TableLayout};
use crate::domain::operation::{ChangeRow, LoggedOperation, PersistedBatch, least_after_rewind};
use crate::domain::positions::{OperationStream, StreamPosition};
use crate::domain::row::{CommentRow, SubjectRow};
use crate::domain::slot_state::SlotProgress;
use crate::ports::store::{Result, StoreError};
use crate::testing::fold_tables::{FoldTableComment, FoldTables};
use crate::testing::simulation::connections::MoverConnections;
use crate::testing::simulation::database_slots::SimulatedSlots;

/// Everything that a database has.
#[derive(Debug, Clone, Default)]
pub(super) struct Database {
    pub(super) tables: FoldTables,
    pub(super) checkpoints: BTreeMap<(OperationStream, u32), Checkpoint>,
    /// The change feed, by number.
    pub(super) changes: BTreeMap<u64, ChangeRow>,
    last_change: u64,
    /// What it owes the members' histories, by number.
    pub(super) outbox: BTreeMap<u64, HistoryRow>,
    last_owed: u64,
    /// The histories of the members whose slots it has, and whether a comment was held.
    pub(super) histories: BTreeMap<(MemberId, CommentId), bool>,
    pub(super) broker_state: BrokerState,
    pub(super) slots: SimulatedSlots,
    /// Those of the server, which no copy of the data has.
    pub(super) connections: MoverConnections,
}

/// The slot of a member's own rows.
pub(super) fn member_slot(member: MemberId) -> Slot {
    Slot::new((member.get().wrapping_mul(373) % 1_024) as u16).unwrap_or(Slot::FIRST)
}

impl Database {
    /// So many databases with all slots.
    pub(super) fn create_all(databases: usize) -> Vec<Self> {
        let create = |database| Self { slots: SimulatedSlots::new(database, databases), ..Self::default() };
        (0..databases).map(create).collect()
    }

    /// Writes a batch, and checkpoints with it.
    pub(super) fn write(
        &mut self,
        batch: &[&LoggedOperation],
        checkpoints: Option<(OperationStream, &[CheckpointAdvance])>,
    ) -> Result<PersistedBatch> {
        let slots = || batch.iter().map(|logged| logged.operation.slot());
        if let Some((stream, advances)) = checkpoints {
            self.check_applied(stream, advances)?;
        }
        self.slots.ensure_owned(slots())?;
        // A real transaction compares them at its end; then nothing of it stays.
        if let Some((stream, advances)) = checkpoints {
            self.check_advances(stream, advances)?;
        }
        let copied = self.copied_rows(slots());
        let (persisted, changes) = self.tables.persist_with_takedowns(TableLayout::Sharded, batch)?;
        for row in changes {
            self.last_change += 1;
            self.changes.insert(self.last_change, ChangeRow { seq: self.last_change, ..row });
        }
        for row in std::mem::take(&mut self.tables.history) {
            self.last_owed += 1;
            self.outbox.insert(self.last_owed, row);
        }
        if let Some((stream, advances)) = checkpoints {
            self.advance(stream, advances);
        }
        self.record_dirty_rows(&copied);
        Ok(persisted)
    }

    /// Moves a slot past an operation that cannot be applied.
    pub(super) fn skip(&mut self, dead: &LoggedOperation, advances: &[CheckpointAdvance]) -> Result<()> {
        let of = StreamPosition::of(dead).ok_or_else(|| StoreError::damaged("no position"))?;
        self.check_applied(of.stream, advances)?;
        self.slots.ensure_owned([of.slot].into_iter())?;
        self.check_advances(of.stream, advances)?;
        let copied = self.copied_rows([of.slot].into_iter());
        self.tables.skip(dead);
        self.advance(of.stream, advances);
        self.record_dirty_rows(&copied);
        Ok(())
    }

    /// Writes checkpoints alone.
    pub(super) fn write_checkpoints(&mut self, stream: OperationStream, advances: &[CheckpointAdvance]) -> Result<()> {
        self.check_applied(stream, advances)?;
        self.check_advances(stream, advances)?;
        self.advance(stream, advances);
        Ok(())
    }

    /// Compares the positions of slots with what was seen applied of them.
    fn check_applied(&self, stream: OperationStream, advances: &[CheckpointAdvance]) -> Result<()> {
        let mut applied = advances.iter().flat_map(|advance| &advance.applied);
        let has_all = applied.all(|(slot, position)| self.position(stream, *slot) >= *position);
        if has_all { Ok(()) } else { Err(StoreError::CheckpointChanged) }
    }

    fn check_advances(&self, stream: OperationStream, advances: &[CheckpointAdvance]) -> Result<()> {
        let is_known = |advance: &CheckpointAdvance| {
            let stored = self.checkpoints.get(&(stream, advance.partition));
            stored.is_some_and(|stored| stored.next >= advance.known_next && stored.moves == advance.known_moves)
        };
        if advances.iter().all(is_known) { Ok(()) } else { Err(StoreError::CheckpointChanged) }
    }

    fn advance(&mut self, stream: OperationStream, advances: &[CheckpointAdvance]) {
        for CheckpointAdvance { partition, next, samples, .. } in advances {
            if let Some(stored) = self.checkpoints.get_mut(&(stream, *partition)) {
                stored.next = stored.next.max(*next);
                stored.samples.replace_by(samples);
            }
        }
    }

    /// The checkpoint of a partition. Where there is none, it begins here.
    pub(super) fn checkpoint(&mut self, stream: OperationStream, partition: u32, first: u64) -> Checkpoint {
        let created = || Checkpoint { next: first, ..Checkpoint::default() };
        self.checkpoints.entry((stream, partition)).or_insert_with(created).clone()
    }

    /// How far a slot with this status is applied here, with the checkpoints of its partition.
    pub(super) fn progress(&self, slot: Slot) -> SlotProgress {
        let is_of_slot = |stream: OperationStream, partition: u32| {
            let last = self.checkpoints.keys().filter(|(of, _)| *of == stream).map(|(_, partition)| *partition).max();
            last.is_some_and(|last| u32::from(slot.get()) % (last + 1) == partition)
        };
        let own = self.checkpoints.iter().filter(|((stream, partition), _)| is_of_slot(*stream, *partition));
        SlotProgress {
            comments: self.position(OperationStream::Comments, slot),
            reactions: self.position(OperationStream::Reactions, slot),
            checkpoints: own.map(|((stream, partition), of)| (*stream, *partition, of.next)).collect(),
        }
    }

    /// Takes over the positions of a slot, and lowers checkpoints to them.
    pub(super) fn receive_progress(&mut self, slot: Slot, progress: &SlotProgress) {
        self.tables.next.insert((OperationStream::Comments, slot), progress.comments);
        self.tables.next.insert((OperationStream::Reactions, slot), progress.reactions);
        for (stream, partition, at_most) in progress.checkpoints_at_most() {
            if let Some(stored) = self.checkpoints.get_mut(&(stream, partition)) {
                stored.next = stored.next.min(at_most);
                stored.moves += 1;
            }
        }
    }

    /// Puts a copy in the place of everything that the database has. Every connection is lost.
    pub(super) fn go_back(&mut self, copy: Self) {
        let connections = std::mem::take(&mut self.connections);
        *self = Self { connections: connections.without_clients(), ..copy };
    }

    pub(super) fn reset_checkpoint(&mut self, stream: OperationStream, partition: u32, next: u64) {
        let stored = self.checkpoints.entry((stream, partition)).or_default();
        *stored = Checkpoint { next, moves: stored.moves + 1, samples: LogSamples::default() };
    }

    /// Raises versions and numbers beyond those that it had before it went back, unless that was done lately. Slots that
    /// it does not take writes of are left out, as by the adapter.
    pub(super) fn pass_rewind(&mut self, now: u64, window: Option<Duration>) {
        let since = window.map(|window| now.saturating_sub(window.as_millis() as u64));
        if since.is_some_and(|since| self.changes.values().any(|row| row.is_rewind() && row.at > since)) {
            return;
        }
        let least = least_after_rewind(now);
        let slots: BTreeSet<Slot> = self.slots.owned().collect();
        let copied = self.copied_rows(slots.iter().copied());
        let own = self.tables.subjects.iter_mut().filter(|(key, _)| slots.contains(&key.slot()));
        own.for_each(|(_, subject)| subject.version = least.max(subject.version + 1));
        self.record_dirty_rows(&copied);
        for least in [0, least] {
            self.last_change = least.max(self.last_change + 1);
            let id = CommentId::new(ChangeRow::REWOUND_DATABASE as u64).ok();
            let Ok(subject) = SubjectKey::new("gailou", "rewound") else { return };
            self.changes
                .insert(self.last_change, ChangeRow { seq: self.last_change, at: now, subject, version: 0, id });
        }
    }

    pub(super) fn write_broker_state(&mut self, state: &BrokerState) {
        self.broker_state.take(state);
    }

    /// The next position of a slot.
    pub(super) fn position(&self, stream: OperationStream, slot: Slot) -> u64 {
        self.tables.next.get(&(stream, slot)).copied().unwrap_or(0)
    }

    /// Writes rows of histories; one that is there already stays held. The last that was not there.
    pub(super) fn add_histories(&mut self, rows: &[HistoryRow]) -> Result<Option<(MemberId, CommentId)>> {
        let slots = || rows.iter().map(|row| member_slot(row.member));
        self.slots.ensure_owned(slots())?;
        let copied = self.copied_rows(slots());
        let mut last_new = None;
        for HistoryRow { member, id, held } in rows.iter().copied() {
            let known = self.histories.get(&(member, id)).copied();
            last_new = if known.is_none() { Some((member, id)) } else { last_new };
            self.histories.insert((member, id), held | known.unwrap_or(false));
        }
        self.record_dirty_rows(&copied);
        Ok(last_new)
    }

    /// The comment's stored row: under its own id, or under that whose second id this is.
    pub(super) fn stored(&self, id: CommentId) -> Option<&FoldTableComment> {
        self.tables.comments.get(self.tables.aliases.get(&id).unwrap_or(&id))
    }

    /// A comment as a read answers it.
    pub(super) fn comment(&self, id: CommentId) -> Option<CommentRow> {
        let stored = self.stored(id)?;
        let (key, subject) = self.tables.subjects.iter().find(|(_, subject)| subject.number == stored.subject)?;
        let parent = stored.parent.and_then(|parent| self.tables.comments.get(&parent));
        let FoldTableComment { row, author, parent: parent_id, texts, .. } = stored;
        Some(CommentRow {
            subject: key.clone(),
            version: subject.version,
            mode: None,
            path: row.path.clone(),
            parent_id: *parent_id,
            reply_to: None,
            parent_gone: parent.is_some_and(|parent| parent.row.state != CommentState::Published),
            floor: row.floor,
            state: row.state,
            visibility: row.visibility,
            flags: vec![],
            author: author.clone(),
            likes: row.counts.likes,
            dislikes: row.counts.dislikes,
            reactions_offset: row.reactions_offset,
            replies: row.counts.replies,
            created_at: row.created_at,
            edited_at: row.edited_at,
            content: texts.1.content.clone(),
            html: String::new(),
            mentions: vec![],
            media: vec![],
        })
    }

    /// A subject as a read answers it.
    pub(super) fn subject(&self, key: &SubjectKey) -> Option<SubjectRow> {
        let stored = self.tables.subjects.get(key)?;
        let (version, roots, comments) = (stored.version, stored.roots, stored.comments);
        Some(SubjectRow { version, roots, comments, ..SubjectRow::empty(key.clone()) })
    }

    /// The ids of all comments.
    pub(super) fn ids(&self) -> BTreeSet<CommentId> {
        self.tables.comments.keys().copied().collect()
    }
}
