//! Folds of concurrent callers, together: one script for whoever waits.
//!
//! A lone fold is sent at once. While [`FLIGHTS`] scripts of its line are under way, more folds wait
//! and go together when one returns; so what is hot is batched. One server has one line. In a Redis
//! Cluster each slot has its own: what is hot there holds up nothing else.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gailou_shared::id::{CommentId, Slot};
use tokio::sync::oneshot;

use crate::adapters::redis::counters::{BATCH, FOLD, Keys, letter, operation, thought, unavailable};
use crate::adapters::redis::{Connection, PATIENCE};
use crate::ports::counters::{CountersError, Fold, Folded};

/// Scripts of a line that may be under way: one runs while the other's answers travel.
const FLIGHTS: usize = 2;
/// Folds of a line that may wait: what Redis folds in about half of [`PATIENCE`].
const WAITING: usize = 32_768;

/// How long a caller waits: longer than a script may take, so that who comes next knows that it failed.
const LONGEST: Duration = PATIENCE.saturating_add(Duration::from_millis(100));

/// The slot, where each has its own.
type Line = Option<Slot>;
type Answer = oneshot::Sender<Result<Folded, CountersError>>;

#[derive(Debug)]
pub(super) struct Folds {
    connection: Connection,
    keys: Keys,
    /// Those with scripts under way.
    lines: Mutex<HashMap<Line, Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    flights: usize,
    waiting: VecDeque<(Fold, Answer)>,
}

impl Folds {
    pub(super) fn new(connection: Connection, keys: Keys) -> Self {
        Self { connection, keys, lines: Mutex::default() }
    }

    /// Folds one, with whatever else is waiting then.
    pub(super) async fn fold(self: &Arc<Self>, fold: Fold) -> Result<Folded, CountersError> {
        let line = (!self.connection.is_one()).then(|| fold.id.slot());
        let (answer, folded) = oneshot::channel();
        let takes_off = {
            // A std mutex: held for one push, never across an await.
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            let queue = lines.entry(line).or_default();
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
            tokio::spawn(self.clone().fly(line));
        }
        match tokio::time::timeout(LONGEST, folded).await {
            Ok(Ok(folded)) => folded,
            _ => Err(CountersError::Unavailable("no answer in time".into())),
        }
    }

    /// Sends what waits until nothing does.
    async fn fly(self: Arc<Self>, line: Line) {
        while let Some(batch) = self.next(line) {
            self.send(batch).await;
        }
    }

    fn next(&self, line: Line) -> Option<Vec<(Fold, Answer)>> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = lines.get_mut(&line)?;
        if queue.waiting.is_empty() {
            queue.flights -= 1;
            if queue.flights == 0 {
                lines.remove(&line);
            }
            return None;
        }
        let most = queue.waiting.len().min(BATCH);
        // Who gave up is left out: the fold would help nobody.
        Some(queue.waiting.drain(..most).filter(|(_, answer)| !answer.is_closed()).collect())
    }

    async fn send(&self, batch: Vec<(Fold, Answer)>) {
        if batch.is_empty() {
            return;
        }
        let mut slots = BTreeMap::<Slot, Vec<(Fold, Answer)>>::new();
        for (fold, answer) in batch {
            slots.entry(fold.id.slot()).or_default().push((fold, answer));
        }
        let mut folded = self.script(&slots).await.map(Vec::into_iter);
        for folds in slots.into_values() {
            let mut of_slot = match &mut folded {
                Ok(slots) => slots.next().unwrap_or_else(|| Err(damaged())),
                Err(error) => Err(error.clone()),
            }
            .map(Vec::into_iter);
            for (_, answer) in folds {
                let _ = answer.send(match &mut of_slot {
                    Ok(folded) => folded.next().unwrap_or_else(|| Err(damaged())),
                    Err(error) => Err(error.clone()),
                });
            }
        }
    }

    /// What becomes of each slot, and in it of each fold.
    async fn script(
        &self,
        slots: &BTreeMap<Slot, Vec<(Fold, Answer)>>,
    ) -> Result<Vec<Result<Vec<Result<Folded, CountersError>>, CountersError>>, CountersError> {
        let (mut keys, mut places) = (Vec::new(), HashMap::new());
        let mut comments = Vec::with_capacity(slots.len());
        for (slot, folds) in slots {
            let mut ids = Vec::<CommentId>::new();
            for (fold, _) in folds {
                places.entry(fold.id).or_insert_with(|| {
                    ids.push(fold.id);
                    ids.len()
                });
            }
            comments.push(ids.len());
            keys.extend(self.keys.views(*slot, ids));
        }
        let mut call = FOLD.call(&keys);
        for (folds, comments) in slots.values().zip(comments) {
            call.arg(comments).arg(folds.len());
            for (fold, _) in folds {
                let standing = &fold.standing;
                call.arg(places[&fold.id]).arg(fold.member.get()).arg(fold.version).arg(operation(fold.react));
                call.arg(standing.position).arg(letter(standing.reaction)).arg(standing.likes).arg(standing.dislikes);
            }
        }
        let answers: Vec<Option<Vec<(u64, u64, String)>>> = self.connection.run(&call).await.map_err(unavailable)?;
        let folded = |(likes, dislikes, letter): (u64, u64, String)| {
            let reaction = thought(&letter).ok_or(CountersError::Behind)?;
            Ok(Folded { likes, dislikes, reaction })
        };
        let of_slot = |answer: Option<Vec<_>>| Ok(answer.ok_or(CountersError::Lost)?.into_iter().map(folded).collect());
        Ok(answers.into_iter().map(of_slot).collect())
    }
}

fn damaged() -> CountersError {
    CountersError::Unavailable("an answer is missing".into())
}
