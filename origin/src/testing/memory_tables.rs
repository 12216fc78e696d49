//! Tables in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, SLOTS, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;
use gailou_shared::words::Term;
use tokio::time::sleep;

use crate::domain::operation::{ChangeRow, LoggedOperation, Operation, Outcome, Persisted};
use crate::domain::row::{Exported, ListOf, NewRow, Remembered, Row, SubjectRow};
use crate::ports::shards::{ReactionState, Shards, Stream};
use crate::ports::store::{Result, Store, StoreError};
use crate::testing::doubles::{When, lock};

type Refuse = Box<dyn FnMut(&[LoggedOperation]) -> Option<(When, StoreError)> + Send>;

#[derive(Default)]
struct TableState {
    positions: HashMap<(Stream, Slot), u64>,
    rows: HashMap<CommentId, NewRow>,
    keys: HashMap<(MemberId, String), Remembered>,
    reactions: HashMap<(CommentId, MemberId), Option<Reaction>>,
    skipped: Vec<(Stream, Slot, u64)>,
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

    pub(crate) fn skipped(&self) -> Vec<(Stream, Slot, u64)> {
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

    pub(crate) fn move_to(&self, stream: Stream, slot: Slot, position: u64) {
        lock(&self.state).positions.insert((stream, slot), position);
    }

    fn is_up(&self, state: &TableState, slot: Slot) -> Result<()> {
        match state.down.contains(&self.shard(slot)) {
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
        Operation::Words(_) | Operation::Sweep => Slot::FIRST,
    }
}

fn apply(state: &mut TableState, stamped: &LoggedOperation) -> Outcome {
    let (slot, stream) = match &stamped.event {
        Operation::Publish(row) => (row.subject.slot(), Stream::Comments),
        Operation::React { id, .. } => (id.slot(), Stream::Reactions),
        event => (slot_of(event), Stream::Comments),
    };
    if let Some(position) = stamped.position {
        let next = state.positions.entry((stream, slot)).or_default();
        if position < *next {
            return Outcome::Seen;
        }
        *next = position + 1;
    }
    let outcome = match &stamped.event {
        Operation::Publish(row) => {
            let id = row.path.id();
            let known = state.rows.contains_key(&id);
            if let Some((key, request)) = &row.idempotency {
                let done = Remembered { request: *request, id, state: row.state };
                state.keys.entry((row.author.id, key.clone())).or_insert(done);
            }
            state.rows.entry(id).or_insert_with(|| NewRow::clone(row));
            match &row.imported {
                Some(_) if known => Outcome::Present { id },
                _ => Outcome::Published { floor: None },
            }
        }
        Operation::React { id, member, react } => {
            let reaction = state.reactions.entry((*id, *member)).or_default();
            *reaction = react.fold(*reaction);
            Outcome::Done
        }
        Operation::Change { id, .. } if !state.rows.contains_key(id) => return Outcome::NoComment,
        _ => Outcome::Done,
    };
    state.applied.push(stamped.clone());
    outcome
}

#[async_trait]
impl Store for MemoryTables {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<Persisted> {
        // A statement takes its time, and others may come in between.
        sleep(Duration::from_millis(1)).await;
        let mut state = lock(&self.state);
        state.batches.push(batch.len());
        for stamped in batch {
            self.is_up(&state, slot_of(&stamped.event))?;
        }
        let fault = state.refuse.as_mut().and_then(|decide| decide(batch));
        if let Some((When::Before, error)) = fault {
            return Err(error);
        }
        let outcomes = batch.iter().map(|stamped| apply(&mut state, stamped)).collect();
        match fault {
            Some((When::After, error)) => Err(error),
            _ => Ok(Persisted { outcomes, changed: vec![], touched: vec![] }),
        }
    }

    async fn comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, Row>> {
        let state = lock(&self.state);
        for id in ids {
            self.is_up(&state, id.slot())?;
        }
        Ok(ids.iter().filter_map(|id| Some((*id, seen(state.rows.get(id)?)))).collect())
    }

    async fn remembered(&self, _: &SubjectKey, member: MemberId, key: &str, _: u64) -> Result<Option<Remembered>> {
        Ok(lock(&self.state).keys.get(&(member, key.to_owned())).cloned())
    }

    async fn subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        Ok(vec![None; keys.len()])
    }

    async fn floors(&self, _: &ListOf, _: bool, _: Option<u64>, _: usize) -> Result<Vec<(u64, CommentId)>> {
        Ok(vec![])
    }

    async fn ranked(&self, _: &ListOf, _: Sort) -> Result<Vec<(i64, CommentId)>> {
        Ok(vec![])
    }

    async fn top_replies(&self, _: &[CommentId], _: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        Ok(HashMap::new())
    }

    async fn subtree(&self, _: &Path, _: Option<&[u8]>, _: usize, _: usize) -> Result<Vec<Row>> {
        Ok(vec![])
    }

    async fn siblings(&self, _: &Path, _: usize) -> Result<Vec<CommentId>> {
        Ok(vec![])
    }

    async fn snapshot(&self, _: Slot, _: SnapshotId) -> Result<Option<Snapshot>> {
        Ok(None)
    }

    async fn history(&self, _: MemberId, _: Option<CommentId>, _: usize) -> Result<Vec<CommentId>> {
        Ok(vec![])
    }

    async fn pending(&self, _: MemberId, _: usize) -> Result<Vec<CommentId>> {
        Ok(vec![])
    }

    async fn reactions(&self, _: MemberId, _: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        Ok(HashMap::new())
    }

    async fn first_text(&self, _: CommentId) -> Result<Option<String>> {
        Ok(None)
    }

    async fn names(&self, _: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        Ok(HashMap::new())
    }

    async fn words(&self) -> Result<(u64, Vec<Term>)> {
        Ok((0, vec![]))
    }

    async fn export(&self, _: Option<&SubjectKey>, _: Option<&(i64, Vec<u8>)>, _: usize) -> Result<Vec<Exported>> {
        Ok(vec![])
    }

    async fn sources(&self, _: &SubjectKey, _: &[String]) -> Result<HashMap<String, CommentId>> {
        Ok(HashMap::new())
    }

    async fn last_id(&self) -> Result<Option<CommentId>> {
        Ok(None)
    }

    async fn secret(&self, _: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>> {
        Ok(fresh.into())
    }

    async fn check(&self) -> Result<Vec<String>> {
        Ok(vec![])
    }

    async fn feed(&self, _: usize, _: u64, _: usize) -> Result<Vec<ChangeRow>> {
        Ok(vec![])
    }
}

fn seen(row: &NewRow) -> Row {
    Row {
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

#[async_trait]
impl Shards for MemoryTables {
    fn shards(&self) -> usize {
        self.shards
    }

    fn shard(&self, slot: Slot) -> usize {
        usize::from(slot.get()) * self.shards / usize::from(SLOTS)
    }

    async fn positions(&self, stream: Stream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let state = lock(&self.state);
        for slot in slots {
            self.is_up(&state, *slot)?;
        }
        Ok(slots.iter().map(|s| (*s, state.positions.get(&(stream, *s)).copied().unwrap_or(0))).collect())
    }

    async fn skip(&self, stream: Stream, slot: Slot, position: u64) -> Result<()> {
        let mut state = lock(&self.state);
        state.skipped.push((stream, slot, position));
        let next = state.positions.entry((stream, slot)).or_default();
        *next = (*next).max(position + 1);
        Ok(())
    }

    async fn standing(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>> {
        sleep(Duration::from_millis(1)).await;
        let mut state = lock(&self.state);
        state.statements += 1;
        let standing = |(id, member): &(CommentId, MemberId)| {
            self.is_up(&state, id.slot())?;
            let of = state.reactions.iter().filter(|((of, _), _)| of == id);
            let count = |which| of.clone().filter(|(_, r)| **r == Some(which)).count() as u64;
            let position = state.positions.get(&(Stream::Reactions, id.slot())).copied().unwrap_or(0);
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

    async fn lease(&self, _: &str, _: u64) -> Result<Option<u64>> {
        Ok(Some(0))
    }

    async fn release(&self, _: &str) -> Result<()> {
        Ok(())
    }
}
