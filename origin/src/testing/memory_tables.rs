//! Tables in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot, SubjectKey};
use gailou_shared::wire::Reaction;
use tokio::time::sleep;

use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::{CommentRow, NewCommentRow, RememberedRequest, SubjectRow};
use crate::ports::store::{
    BatchWriter, CommentReader, IdempotencyReader, ReactionStateReader, Result, Sharding, SlotPositions, StoreError,
};
use crate::testing::doubles::{When, lock};

type Refuse = Box<dyn FnMut(&[LoggedOperation]) -> Option<(When, StoreError)> + Send>;

#[derive(Default)]
struct TableState {
    positions: HashMap<(OperationStream, Slot), u64>,
    rows: HashMap<CommentId, NewCommentRow>,
    keys: HashMap<(MemberId, String), RememberedRequest>,
    reactions: HashMap<(CommentId, MemberId), Option<Reaction>>,
    skipped: Vec<(OperationStream, Slot, u64)>,
    /// What was applied, in the order it was.
    applied: Vec<LoggedOperation>,
    batches: Vec<usize>,
    statements: usize,
    refuse: Option<Refuse>,
    down: HashSet<usize>,
}

/// Tables in memory, over so many databases: positions fence, comments and reactions are kept.
pub(crate) struct MemoryTables {
    shards: usize,
    state: Mutex<TableState>,
}

impl std::fmt::Debug for MemoryTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryTables")
    }
}

impl MemoryTables {
    pub(crate) fn new(shards: usize) -> Arc<Self> {
        Arc::new(Self { shards, state: Mutex::default() })
    }

    /// Asked before each batch.
    pub(crate) fn refuse(&self, decide: impl FnMut(&[LoggedOperation]) -> Option<(When, StoreError)> + Send + 'static) {
        lock(&self.state).refuse = Some(Box::new(decide));
    }

    pub(crate) fn heal(&self) {
        let mut state = lock(&self.state);
        state.refuse = None;
        state.down.clear();
    }

    pub(crate) fn down(&self, shard: usize) {
        lock(&self.state).down.insert(shard);
    }

    pub(crate) fn applied(&self) -> Vec<LoggedOperation> {
        lock(&self.state).applied.clone()
    }

    pub(crate) fn skipped(&self) -> Vec<(OperationStream, Slot, u64)> {
        lock(&self.state).skipped.clone()
    }

    /// The sizes of the batches that were tried.
    pub(crate) fn batches(&self) -> Vec<usize> {
        lock(&self.state).batches.clone()
    }

    /// How often standings were asked for.
    pub(crate) fn statements(&self) -> usize {
        lock(&self.state).statements
    }

    pub(crate) fn likes(&self, id: CommentId) -> u64 {
        let state = lock(&self.state);
        state.reactions.iter().filter(|((of, _), r)| *of == id && **r == Some(Reaction::Like)).count() as u64
    }

    pub(crate) fn move_to(&self, stream: OperationStream, slot: Slot, position: u64) {
        lock(&self.state).positions.insert((stream, slot), position);
    }

    fn is_up(&self, state: &TableState, slot: Slot) -> Result<()> {
        match state.down.contains(&self.database_of(slot)) {
            true => Err(StoreError::Unavailable("down".into())),
            false => Ok(()),
        }
    }
}

fn slot_of(event: &Operation) -> Slot {
    match event {
        Operation::Publish(row) => row.subject.slot(),
        Operation::React { id, .. } | Operation::Change { id, .. } => id.slot(),
        Operation::Subject { key, .. } => key.slot(),
        Operation::Snapshot { slot, .. } => *slot,
        Operation::Dictionary(_) | Operation::DeleteExpired => Slot::FIRST,
    }
}

fn apply(state: &mut TableState, stamped: &LoggedOperation) -> OperationOutcome {
    let (slot, stream) = match &stamped.operation {
        Operation::Publish(row) => (row.subject.slot(), OperationStream::Comments),
        Operation::React { id, .. } => (id.slot(), OperationStream::Reactions),
        event => (slot_of(event), OperationStream::Comments),
    };
    if let Some(position) = stamped.position {
        let next = state.positions.entry((stream, slot)).or_default();
        if position < *next {
            return OperationOutcome::Seen;
        }
        *next = position + 1;
    }
    let outcome = match &stamped.operation {
        Operation::Publish(row) => {
            let id = row.path.id();
            let known = state.rows.contains_key(&id);
            if let Some((key, request)) = &row.idempotency {
                let done = RememberedRequest { request: *request, id, state: row.state };
                state.keys.entry((row.author.id, key.clone())).or_insert(done);
            }
            state.rows.entry(id).or_insert_with(|| NewCommentRow::clone(row));
            match &row.imported {
                Some(_) if known => OperationOutcome::Present { id },
                _ => OperationOutcome::Published { floor: None },
            }
        }
        Operation::React { id, member, react } => {
            let reaction = state.reactions.entry((*id, *member)).or_default();
            *reaction = react.fold(*reaction);
            OperationOutcome::Done
        }
        Operation::Change { id, .. } if !state.rows.contains_key(id) => return OperationOutcome::NoComment,
        _ => OperationOutcome::Done,
    };
    state.applied.push(stamped.clone());
    outcome
}

#[async_trait]
impl CommentReader for MemoryTables {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        Ok(vec![None; keys.len()])
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let state = lock(&self.state);
        for id in ids {
            self.is_up(&state, id.slot())?;
        }
        Ok(ids.iter().filter_map(|id| Some((*id, seen(state.rows.get(id)?)))).collect())
    }
}

#[async_trait]
impl IdempotencyReader for MemoryTables {
    async fn find_remembered(
        &self,
        _: &SubjectKey,
        member: MemberId,
        key: &str,
        _: u64,
    ) -> Result<Option<RememberedRequest>> {
        Ok(lock(&self.state).keys.get(&(member, key.to_owned())).cloned())
    }

    async fn read_first_text(&self, _: CommentId) -> Result<Option<String>> {
        Ok(None)
    }
}

#[async_trait]
impl BatchWriter for MemoryTables {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        // A statement takes its time, and others may come in between.
        sleep(Duration::from_millis(1)).await;
        let mut state = lock(&self.state);
        state.batches.push(batch.len());
        for stamped in batch {
            self.is_up(&state, slot_of(&stamped.operation))?;
        }
        let fault = state.refuse.as_mut().and_then(|decide| decide(batch));
        if let Some((When::Before, error)) = fault {
            return Err(error);
        }
        let outcomes = batch.iter().map(|stamped| apply(&mut state, stamped)).collect();
        match fault {
            Some((When::After, error)) => Err(error),
            _ => Ok(PersistedBatch { outcomes, changed: vec![], touched: vec![] }),
        }
    }
}

fn seen(row: &NewCommentRow) -> CommentRow {
    CommentRow {
        subject: row.subject.clone(),
        version: 1,
        mode: None,
        path: row.path.clone(),
        parent_id: row.parent_id,
        reply_to: None,
        parent_gone: false,
        floor: None,
        state: row.state,
        visibility: row.visibility,
        flags: vec![],
        author: row.author.clone(),
        likes: 0,
        dislikes: 0,
        reacted: 0,
        replies: 0,
        created_at: row.created_at,
        edited_at: None,
        content: row.content.clone(),
        html: row.html.clone(),
        mentions: vec![],
    }
}

impl Sharding for MemoryTables {
    fn count_databases(&self) -> usize {
        self.shards
    }

    fn database_of(&self, slot: Slot) -> usize {
        usize::from(slot.get()) * self.shards / usize::from(SLOT_COUNT)
    }
}

#[async_trait]
impl SlotPositions for MemoryTables {
    async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let state = lock(&self.state);
        for slot in slots {
            self.is_up(&state, *slot)?;
        }
        Ok(slots.iter().map(|s| (*s, state.positions.get(&(stream, *s)).copied().unwrap_or(0))).collect())
    }

    async fn skip_position(&self, stream: OperationStream, slot: Slot, position: u64) -> Result<()> {
        let mut state = lock(&self.state);
        state.skipped.push((stream, slot, position));
        let next = state.positions.entry((stream, slot)).or_default();
        *next = (*next).max(position + 1);
        Ok(())
    }
}

#[async_trait]
impl ReactionStateReader for MemoryTables {
    async fn read_reaction_states(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>> {
        sleep(Duration::from_millis(1)).await;
        let mut state = lock(&self.state);
        state.statements += 1;
        let standing = |(id, member): &(CommentId, MemberId)| {
            self.is_up(&state, id.slot())?;
            let of = state.reactions.iter().filter(|((of, _), _)| of == id);
            let count = |which| of.clone().filter(|(_, r)| **r == Some(which)).count() as u64;
            let position = state.positions.get(&(OperationStream::Reactions, id.slot())).copied().unwrap_or(0);
            Ok(ReactionState {
                position,
                reaction: state.reactions.get(&(*id, *member)).copied().flatten(),
                visible: state.rows.get(id).map(|row| seen(row).visible()),
                likes: count(Reaction::Like),
                dislikes: count(Reaction::Dislike),
                reacted: position,
            })
        };
        pairs.iter().map(standing).collect()
    }
}
