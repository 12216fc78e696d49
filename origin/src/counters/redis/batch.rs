//! Folds of concurrent callers, together: one script a slot for whoever waits.
//!
//! A lone fold is sent at once. While [`FLIGHTS`] scripts of its slot are under way, more folds wait
//! and go together when one returns; so what is hot is batched, and nothing else waits for it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use gailou_shared::id::{CommentId, Slot};
use tokio::sync::oneshot;

use super::{FOLD, Keys, letter, operation, thought, unavailable};
use crate::counters::{CountersError, Fold, Folded};
use crate::redis::{Connection, PATIENCE};

/// Scripts of a slot that may be under way: one runs while the other's answers travel.
const FLIGHTS: usize = 2;
/// Folds in one script: it holds up everybody else for about a millisecond.
const BATCH: usize = 128;
/// Folds of a slot that may wait: what Redis folds in about half of [`PATIENCE`].
const WAITING: usize = 32_768;

type Answer = oneshot::Sender<Result<Folded, CountersError>>;

#[derive(Debug)]
pub(super) struct Folds {
    connection: Connection,
    keys: Keys,
    /// Slots with scripts under way.
    slots: Mutex<HashMap<Slot, Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    flights: usize,
    waiting: VecDeque<(Fold, Answer)>,
}

impl Folds {
    pub(super) fn new(connection: Connection, keys: Keys) -> Self {
        Self { connection, keys, slots: Mutex::default() }
    }

    /// Folds one, with whatever else is waiting then.
    pub(super) async fn fold(self: &Arc<Self>, fold: Fold) -> Result<Folded, CountersError> {
        let slot = fold.id.slot();
        let (answer, folded) = oneshot::channel();
        let takes_off = {
            // A std mutex: held for one push, never across an await.
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            let queue = slots.entry(slot).or_default();
            if queue.waiting.len() >= WAITING {
                return Err(CountersError::Unavailable("too many folds wait".into()));
            }
            queue.waiting.push_back((fold, answer));
            let free = queue.flights < FLIGHTS;
            queue.flights += usize::from(free);
            free
        };
        if takes_off {
            // A task of its own: callers may go away, and others wait for theirs in the same script.
            tokio::spawn(self.clone().fly(slot));
        }
        match tokio::time::timeout(PATIENCE, folded).await {
            Ok(Ok(folded)) => folded,
            _ => Err(CountersError::Unavailable("no answer in time".into())),
        }
    }

    /// Sends what waits until nothing does.
    async fn fly(self: Arc<Self>, slot: Slot) {
        while let Some(batch) = self.next(slot) {
            self.send(slot, batch).await;
        }
    }

    fn next(&self, slot: Slot) -> Option<Vec<(Fold, Answer)>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = slots.get_mut(&slot)?;
        if queue.waiting.is_empty() {
            queue.flights -= 1;
            if queue.flights == 0 {
                slots.remove(&slot);
            }
            return None;
        }
        let most = queue.waiting.len().min(BATCH);
        // Who gave up is left out: the fold would help nobody.
        Some(queue.waiting.drain(..most).filter(|(_, answer)| !answer.is_closed()).collect())
    }

    async fn send(&self, slot: Slot, batch: Vec<(Fold, Answer)>) {
        if batch.is_empty() {
            return;
        }
        let (folds, answers): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let folded = self.script(slot, &folds).await;
        for (at, answer) in answers.into_iter().enumerate() {
            let own = match &folded {
                Ok(folded) => folded.get(at).cloned().unwrap_or_else(|| Err(damaged())),
                Err(error) => Err(error.clone()),
            };
            let _ = answer.send(own);
        }
    }

    async fn script(&self, slot: Slot, folds: &[Fold]) -> Result<Vec<Result<Folded, CountersError>>, CountersError> {
        let mut comments = Vec::<CommentId>::new();
        let mut places = HashMap::new();
        for fold in folds {
            places.entry(fold.id).or_insert_with(|| {
                comments.push(fold.id);
                comments.len()
            });
        }
        let mut call = FOLD.call(&self.keys.views(slot, comments));
        for fold in folds {
            let standing = &fold.standing;
            call.arg(places[&fold.id]).arg(fold.member.get()).arg(fold.version).arg(operation(fold.react));
            call.arg(standing.position).arg(letter(standing.reaction)).arg(standing.likes).arg(standing.dislikes);
        }
        let answer: Option<Vec<(u64, u64, String)>> = self.connection.run(&call).await.map_err(unavailable)?;
        let folded = answer.ok_or(CountersError::Lost)?.into_iter().map(|(likes, dislikes, letter)| {
            let reaction = thought(&letter).ok_or(CountersError::Behind)?;
            Ok(Folded { likes, dislikes, reaction })
        });
        Ok(folded.collect())
    }
}

fn damaged() -> CountersError {
    CountersError::Unavailable("an answer is missing".into())
}
