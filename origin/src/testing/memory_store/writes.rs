//! The writing ports over the tables in memory.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot};
use gailou_shared::wire::Reaction;
use tokio::time::sleep;

use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::{CommentRow, IdempotencyKey, NewCommentRow, RememberedRequest};
use crate::ports::store::{BatchWriter, ReactionStateReader, Result, Sharding, SlotPositions};
use crate::testing::faults::FaultPoint;
use crate::testing::fixtures::comment_row;
use crate::testing::memory_store::{MemoryStore, StoreState};

/// How long a statement takes, so that others may come in between.
const STATEMENT_TIME: Duration = Duration::from_millis(1);

fn slot_of(operation: &Operation) -> Slot {
    match operation {
        Operation::Publish(row) => row.subject.slot(),
        Operation::React { id, .. } | Operation::Change { id, .. } => id.slot(),
        Operation::Subject { key, .. } => key.slot(),
        Operation::Snapshot { slot, .. } => *slot,
        Operation::Dictionary(_)
        | Operation::MemberName { .. }
        | Operation::DeleteExpired
        | Operation::DeleteEditHistory { .. }
        | Operation::Erasure { .. } => Slot::FIRST,
    }
}

fn row_of(new: &NewCommentRow) -> CommentRow {
    CommentRow {
        parent_id: new.parent_id,
        state: new.state,
        visibility: new.visibility,
        author: new.author.clone(),
        created_at: new.created_at,
        html: new.html.clone(),
        ..comment_row(&new.subject, new.path.clone(), &new.content)
    }
}

fn apply(state: &mut StoreState, logged: &LoggedOperation) -> OperationOutcome {
    let stream = match &logged.operation {
        Operation::React { .. } => OperationStream::Reactions,
        _ => OperationStream::Comments,
    };
    if let Some(position) = logged.position {
        let next = state.positions.entry((stream, slot_of(&logged.operation))).or_default();
        if position < *next {
            return OperationOutcome::Seen;
        }
        *next = position + 1;
    }
    let outcome = match &logged.operation {
        Operation::Publish(new) => {
            let id = new.path.id();
            let is_known = state.rows.contains_key(&id);
            if let Some(IdempotencyKey { key, request }) = &new.idempotency {
                let remembered = RememberedRequest { request: *request, id, state: new.state };
                state.keys.entry((new.author.id, key.clone())).or_insert(remembered);
            }
            state.subject(&new.subject).version += 1;
            state.rows.entry(id).or_insert_with(|| row_of(new));
            match &new.imported {
                Some(_) if is_known => OperationOutcome::Present { id },
                _ => OperationOutcome::Published { floor: None },
            }
        }
        Operation::React { id, member, change } => {
            let reaction = state.reactions.entry((*id, *member)).or_default();
            *reaction = change.fold(*reaction);
            OperationOutcome::Done
        }
        Operation::Change { id, .. } if !state.rows.contains_key(id) => return OperationOutcome::NoComment,
        _ => OperationOutcome::Done,
    };
    state.applied.push(logged.clone());
    outcome
}

#[async_trait]
impl BatchWriter for MemoryStore {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        sleep(STATEMENT_TIME).await;
        let mut state = self.state();
        state.batch_sizes.push(batch.len());
        for logged in batch {
            self.check_slot(&state, slot_of(&logged.operation))?;
        }
        let fault = state.fault.as_mut().and_then(|decide| decide(batch));
        if let Some((FaultPoint::Before, error)) = fault {
            return Err(error);
        }
        let outcomes = batch.iter().map(|logged| apply(&mut state, logged)).collect();
        match fault {
            Some((FaultPoint::After, error)) => Err(error),
            _ => Ok(PersistedBatch { outcomes, changed: vec![], touched: vec![] }),
        }
    }
}

impl Sharding for MemoryStore {
    fn count_databases(&self) -> usize {
        self.databases
    }

    fn database_of(&self, slot: Slot) -> usize {
        usize::from(slot.get()) * self.databases / usize::from(SLOT_COUNT)
    }
}

#[async_trait]
impl SlotPositions for MemoryStore {
    async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let state = self.state();
        for slot in slots {
            self.check_slot(&state, *slot)?;
        }
        let position_of = |slot: &Slot| state.positions.get(&(stream, *slot)).copied().unwrap_or(0);
        Ok(slots.iter().map(|slot| (*slot, position_of(slot))).collect())
    }

    async fn skip_position(&self, stream: OperationStream, slot: Slot, position: u64) -> Result<()> {
        let mut state = self.state();
        state.skipped.push((stream, slot, position));
        let next = state.positions.entry((stream, slot)).or_default();
        *next = (*next).max(position + 1);
        Ok(())
    }
}

#[async_trait]
impl ReactionStateReader for MemoryStore {
    async fn read_reaction_states(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>> {
        sleep(STATEMENT_TIME).await;
        let mut state = self.state();
        state.state_queries += 1;
        let read = |(id, member): &(CommentId, MemberId)| {
            self.check_slot(&state, id.slot())?;
            let position = state.positions.get(&(OperationStream::Reactions, id.slot())).copied().unwrap_or(0);
            Ok(ReactionState {
                position,
                reaction: state.reactions.get(&(*id, *member)).copied().flatten(),
                visible: state.rows.get(id).map(CommentRow::is_visible),
                likes: state.count_reactions(*id, Reaction::Like),
                dislikes: state.count_reactions(*id, Reaction::Dislike),
                reactions_offset: position,
            })
        };
        pairs.iter().map(read).collect()
    }
}
