//! Folds of concurrent callers in common scripts.
//!
//! A single fold is sent at once. While [`MAX_SCRIPTS_IN_FLIGHT`] scripts of its queue are in flight,
//! further folds wait and are sent together when one returns, so that a busy comment is batched. One
//! server has one queue. In a Redis Cluster each slot has its own, so that a busy slot delays no other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, Slot};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::adapters::redis::counters::reaction_letters::{change_letter, parse_reaction, reaction_letter};
use crate::adapters::redis::counters::{CounterKeys, FOLD_SCRIPT, MAX_BATCH, SlotKeys};
use crate::adapters::redis::{REDIS_TIMEOUT, RedisConnection};
use crate::domain::row::ReactionCounts;
use crate::ports::counters::{CountersError, FoldRequest, FoldedReaction};

/// Scripts of a queue that may be in flight: one runs while the answers of the other travel.
const MAX_SCRIPTS_IN_FLIGHT: usize = 2;
/// Folds that may wait in a queue: what Redis folds in about half of [`REDIS_TIMEOUT`].
const MAX_QUEUED_FOLDS: usize = 16_384;
/// How long a caller waits: longer than a script may take, so that the next script's failure is known.
const FOLD_TIMEOUT: Duration = REDIS_TIMEOUT.saturating_add(Duration::from_millis(100));

/// The slot, if each slot has its own queue.
type QueueKey = Option<Slot>;
type FoldResult = Result<FoldedReaction, CountersError>;
type QueuedFold = (FoldRequest, oneshot::Sender<FoldResult>);

/// Collects folds and sends them.
#[derive(Debug)]
pub(super) struct FoldBatcher {
    connection: RedisConnection,
    keys: CounterKeys,
    /// The queues with scripts in flight.
    queues: Mutex<HashMap<QueueKey, FoldQueue>>,
}

#[derive(Debug, Default)]
struct FoldQueue {
    in_flight: usize,
    waiting: VecDeque<QueuedFold>,
}

/// The folds of one slot in a script.
struct SlotFolds {
    keys: SlotKeys,
    folds: Vec<QueuedFold>,
}

impl FoldBatcher {
    pub(super) fn new(connection: RedisConnection, keys: CounterKeys) -> Self {
        Self { connection, keys, queues: Mutex::default() }
    }

    /// A mutex that is held for one push or one drain, never across an await.
    fn queues(&self) -> MutexGuard<'_, HashMap<QueueKey, FoldQueue>> {
        self.queues.lock()
    }

    /// Folds one operation, together with those that wait in its queue.
    pub(super) async fn fold(self: &Arc<Self>, request: FoldRequest) -> FoldResult {
        let key = (!self.connection.is_single_server()).then(|| request.id.slot());
        let (answer, folded) = oneshot::channel();
        let may_send = {
            let mut queues = self.queues();
            let queue = queues.entry(key).or_default();
            if queue.waiting.len() >= MAX_QUEUED_FOLDS {
                return Err(CountersError::Unavailable("too many folds are waiting".into()));
            }
            queue.waiting.push_back((request, answer));
            let may_send = queue.in_flight < MAX_SCRIPTS_IN_FLIGHT;
            queue.in_flight += usize::from(may_send);
            may_send
        };
        if may_send {
            // A task of its own: the caller may be cancelled while others wait for the same script.
            tokio::spawn(self.clone().drain_queue(key));
        }
        match tokio::time::timeout(FOLD_TIMEOUT, folded).await {
            Ok(Ok(folded)) => folded,
            _ => Err(CountersError::Unavailable("no answer in time".into())),
        }
    }

    /// Sends batches until the queue is empty.
    async fn drain_queue(self: Arc<Self>, key: QueueKey) {
        while let Some(batch) = self.next_batch(key) {
            self.send_batch(batch).await;
        }
    }

    fn next_batch(&self, key: QueueKey) -> Option<Vec<QueuedFold>> {
        let mut queues = self.queues();
        let queue = queues.get_mut(&key)?;
        if queue.waiting.is_empty() {
            queue.in_flight -= 1;
            if queue.in_flight == 0 {
                queues.remove(&key);
            }
            return None;
        }
        let count = queue.waiting.len().min(MAX_BATCH);
        // Folds of cancelled callers are dropped: their answer has no reader.
        Some(queue.waiting.drain(..count).filter(|(_, answer)| !answer.is_closed()).collect())
    }

    async fn send_batch(&self, batch: Vec<QueuedFold>) {
        let mut slots = BTreeMap::<Slot, SlotFolds>::new();
        for (request, answer) in batch {
            let slot = request.id.slot();
            let of = slots.entry(slot).or_insert_with(|| SlotFolds { keys: self.keys.of(slot), folds: vec![] });
            if request.offset < of.keys.base {
                let _ = answer.send(Err(CountersError::StaleState));
            } else {
                of.folds.push((request, answer));
            }
        }
        slots.retain(|_, of| !of.folds.is_empty());
        if slots.is_empty() {
            return;
        }
        let mut folded = self.run_folds(&slots).await.map(Vec::into_iter);
        for SlotFolds { folds, .. } in slots.into_values() {
            let mut of_slot = match &mut folded {
                Ok(slots) => slots.next().unwrap_or_else(|| Err(missing_answer())),
                Err(error) => Err(error.clone()),
            }
            .map(Vec::into_iter);
            for (_, answer) in folds {
                let _ = answer.send(match &mut of_slot {
                    Ok(folded) => folded.next().unwrap_or_else(|| Err(missing_answer())),
                    Err(error) => Err(error.clone()),
                });
            }
        }
    }

    /// Runs one script. Returns the results of each slot, in the order of its folds.
    async fn run_folds(
        &self,
        slots: &BTreeMap<Slot, SlotFolds>,
    ) -> Result<Vec<Result<Vec<FoldResult>, CountersError>>, CountersError> {
        let (mut keys, mut numbers) = (Vec::new(), HashMap::new());
        let mut comment_counts = Vec::with_capacity(slots.len());
        for SlotFolds { keys: of, folds } in slots.values() {
            let mut ids = Vec::<CommentId>::new();
            for (request, _) in folds {
                numbers.entry(request.id).or_insert_with(|| {
                    ids.push(request.id);
                    ids.len()
                });
            }
            comment_counts.push(ids.len());
            keys.extend(of.views(ids));
        }
        let mut call = FOLD_SCRIPT.call(&keys);
        for (SlotFolds { folds, .. }, comments) in slots.values().zip(comment_counts) {
            call.arg(comments).arg(folds.len());
            for (FoldRequest { id, member, change, offset, state }, _) in folds {
                call.arg(numbers[id]).arg(member.get()).arg(offset).arg(change_letter(*change));
                call.arg(state.position).arg(reaction_letter(state.reaction)).arg(state.likes).arg(state.dislikes);
            }
        }
        let answers: Vec<Option<Vec<(u64, u64, String)>>> = self.connection.run_script(&call).await?;
        let folded = |(likes, dislikes, letter): (u64, u64, String)| {
            let reaction = parse_reaction(&letter).ok_or(CountersError::StaleState)?;
            Ok(FoldedReaction { counts: ReactionCounts { likes, dislikes }, reaction })
        };
        let of_slot = |answer: Option<Vec<_>>| Ok(answer.ok_or(CountersError::Lost)?.into_iter().map(folded).collect());
        Ok(answers.into_iter().map(of_slot).collect())
    }
}

fn missing_answer() -> CountersError {
    CountersError::Unavailable("an answer is missing".into())
}
