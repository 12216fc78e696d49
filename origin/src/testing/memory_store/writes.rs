//! The writing ports over the tables in memory.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot};
use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::Reaction;
use tokio::time::sleep;

use crate::domain::broker_state::BrokerState;
use crate::domain::checkpoint::{Checkpoint, CheckpointAdvance, LogSamples};
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::domain::positions::{OperationStream, StreamPosition};
use crate::domain::reaction_state::{DeadReaction, ReactionState};
use crate::domain::row::{CommentRow, IdempotencyKey, NewCommentRow, RememberedRequest};
use crate::ports::store::{
    BatchWriter, BrokerStates, Checkpoints, ReactionStateReader, Result, Rewinds, Sharding, SlotPositions, StoreError,
};
use crate::testing::faults::FaultPoint;
use crate::testing::fixtures::comment_row;
use crate::testing::memory_store::{MemoryStore, StoreState};

/// How long a statement takes, so that others may come in between.
const STATEMENT_TIME: Duration = Duration::from_millis(1);

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
        let next = state.positions.entry((stream, logged.operation.slot())).or_default();
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
            let of_pair = |dead: &DeadReaction| (dead.id, dead.member) == (*id, *member);
            if logged.died_at.is_some_and(|at| !state.dead_reactions.iter().any(|d| of_pair(d) && d.position == at)) {
                return OperationOutcome::Outdated;
            }
            let last = logged.died_at.unwrap_or(u64::MAX);
            state.dead_reactions.retain(|dead| !(of_pair(dead) && dead.position <= last));
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
        let delay = self.state().write_delay;
        sleep(STATEMENT_TIME + delay).await;
        let mut state = self.state();
        state.batch_sizes.push(batch.len());
        for logged in batch {
            self.check_slot(&state, logged.operation.slot())?;
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

#[async_trait]
impl Checkpoints for MemoryStore {
    async fn read_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        partitions: &[(u32, u64)],
    ) -> Result<HashMap<u32, Checkpoint>> {
        let mut state = self.state();
        check_database(&state, database)?;
        let read = |(partition, first): &(u32, u64)| {
            let created = || Checkpoint { next: *first, ..Checkpoint::default() };
            (*partition, state.checkpoints.entry((database, stream, *partition)).or_insert_with(created).clone())
        };
        Ok(partitions.iter().map(read).collect())
    }

    async fn read_applied_offset(
        &self,
        database: usize,
        stream: OperationStream,
        partition: u32,
    ) -> Result<Option<u64>> {
        let mut state = self.state();
        state.applied_offset_queries += 1;
        check_database(&state, database)?;
        Ok(state.checkpoints.get(&(database, stream, partition)).map(|checkpoint| checkpoint.next))
    }

    async fn persist_from(
        &self,
        stream: OperationStream,
        batch: &[LoggedOperation],
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<PersistedBatch> {
        check_advances(&self.state(), database, stream, advances)?;
        let persisted = self.persist(batch).await;
        if persisted.is_ok() {
            advance(&mut self.state(), database, stream, advances);
        }
        persisted
    }

    async fn skip_operation(
        &self,
        dead: &LoggedOperation,
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<()> {
        let of = StreamPosition::of(dead).ok_or_else(|| StoreError::damaged("no position"))?;
        let StreamPosition { stream, slot, position } = of;
        let mut state = self.state();
        check_advances(&state, database, stream, advances)?;
        state.skipped.push((stream, slot, position));
        let next = state.positions.entry((stream, slot)).or_default();
        if *next <= position {
            *next = position + 1;
            state.dead_reactions.extend(DeadReaction::of(dead));
        }
        advance(&mut state, database, stream, advances);
        Ok(())
    }

    async fn reset_checkpoint(
        &self,
        database: usize,
        stream: OperationStream,
        partition: u32,
        next: u64,
    ) -> Result<()> {
        let mut state = self.state();
        check_database(&state, database)?;
        if state.resets_before_failure.take_if(|resets| *resets == 0).is_some() {
            return Err(StoreError::Unavailable("this reset fails".into()));
        }
        state.resets_before_failure = state.resets_before_failure.map(|resets| resets - 1);
        let stored = state.checkpoints.entry((database, stream, partition)).or_default();
        *stored = Checkpoint { next, moves: stored.moves + 1, samples: LogSamples::default() };
        Ok(())
    }

    async fn advance_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        advances: &[CheckpointAdvance],
    ) -> Result<()> {
        let mut state = self.state();
        check_database(&state, database)?;
        check_advances(&state, database, stream, advances)?;
        advance(&mut state, database, stream, advances);
        Ok(())
    }
}

#[async_trait]
impl Rewinds for MemoryStore {
    async fn pass_rewind(&self, database: usize, _: u64, _: Option<Duration>) -> Result<bool> {
        let mut state = self.state();
        check_database(&state, database)?;
        state.passed_rewinds.push(database);
        Ok(true)
    }
}

#[async_trait]
impl BrokerStates for MemoryStore {
    async fn read_broker_state(&self) -> Result<BrokerState> {
        Ok(self.state().broker_state.clone())
    }

    async fn write_broker_state(&self, state: &BrokerState) -> Result<usize> {
        let mut stored = self.state();
        stored.broker_state.take(state);
        Ok(self.databases - stored.databases_down.len())
    }

    async fn remember_cluster(&self, cluster_id: &str) -> Result<String> {
        let stored = &mut self.state().broker_state;
        Ok(stored.cluster_id.get_or_insert_with(|| cluster_id.to_owned()).clone())
    }
}

fn check_database(state: &StoreState, database: usize) -> Result<()> {
    match state.databases_down.contains(&database) {
        true => Err(StoreError::Unavailable("down".into())),
        false => Ok(()),
    }
}

fn check_advances(
    state: &StoreState,
    database: usize,
    stream: OperationStream,
    advances: &[CheckpointAdvance],
) -> Result<()> {
    let is_known = |advance: &CheckpointAdvance| {
        let stored = state.checkpoints.get(&(database, stream, advance.partition));
        let has =
            |(slot, position): &(Slot, u64)| state.positions.get(&(stream, *slot)).is_some_and(|has| has >= position);
        stored.is_some_and(|stored| stored.next >= advance.known_next && stored.moves == advance.known_moves)
            && advance.applied.iter().all(has)
    };
    if advances.iter().all(is_known) { Ok(()) } else { Err(StoreError::CheckpointChanged) }
}

fn advance(state: &mut StoreState, database: usize, stream: OperationStream, advances: &[CheckpointAdvance]) {
    for advance in advances {
        if let Some(stored) = state.checkpoints.get_mut(&(database, stream, advance.partition)) {
            stored.next = stored.next.max(advance.next);
            stored.samples.replace_by(&advance.samples);
        }
    }
}

#[async_trait]
impl Sharding for MemoryStore {
    fn count_databases(&self) -> usize {
        self.databases
    }

    fn database_of(&self, slot: Slot) -> usize {
        usize::from(slot.get()) * self.databases / usize::from(SLOT_COUNT)
    }

    async fn refresh_slots_of(&self, database: usize) -> Result<SlotSet> {
        let state = self.state();
        check_database(&state, database)?;
        let owner = |slot: &Slot| state.moved_slots.get(slot).copied().unwrap_or_else(|| self.database_of(*slot));
        Ok((0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| owner(slot) == database).collect())
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
