//! What concurrent callers ask and write is asked and written together.
//!
//! Nothing waits for company: what came while the last statement ran goes into the next one.

use std::sync::Arc;

use gailou_shared::id::CommentId;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::cluster::journal::{PATIENCE, POLL, Pair, may_pass};
use crate::domain::operation::{LoggedOperation, OperationOutcome};
use crate::domain::reaction_state::ReactionState;
use crate::ports::journal::{CommitListener, JournalError};
use crate::ports::store::{ReactionStateReader, SlotTables, StoreError};

/// Pairs in one statement.
const PAIRS: usize = 500;
/// Statements in flight to one database: with one the next would wait for the answer.
const STATEMENTS: usize = 2;
/// Imported comments in one transaction.
const BATCH: usize = 1_000;
/// Questions or comments that may wait: about half a second of work. One more is refused.
const WAITING: usize = 20_000;

type Answer<T, E> = oneshot::Sender<Result<T, E>>;

/// Asks for standings, one queue a database, so that one that stands still holds up no other.
#[derive(Debug)]
pub(super) struct ReactionStates {
    tables: Arc<dyn SlotTables>,
    queues: Vec<mpsc::Sender<(Pair, Answer<ReactionState, StoreError>)>>,
}

impl ReactionStates {
    pub(super) fn start(tables: &Arc<dyn SlotTables>) -> Self {
        let queue = |_| {
            let (queue, questions) = mpsc::channel(WAITING);
            tokio::spawn(ask_all(questions, tables.clone()));
            queue
        };
        Self { tables: tables.clone(), queues: (0..tables.count_databases().max(1)).map(queue).collect() }
    }

    /// Puts a question into its queue; what it returns waits for the answer.
    ///
    /// # Errors
    /// [`JournalError::Full`] when too many wait.
    pub(super) fn ask(
        &self,
        pair: Pair,
    ) -> Result<impl Future<Output = Result<ReactionState, StoreError>> + use<>, JournalError> {
        let shard = self.tables.database_of(CommentId::slot(pair.0)) % self.queues.len();
        let (answer, standing) = oneshot::channel();
        let queue = self.queues.get(shard).ok_or(JournalError::Closed)?;
        queue.try_send((pair, answer)).map_err(refused)?;
        Ok(async move { standing.await.unwrap_or_else(|_| Err(StoreError::Unavailable("nobody asks".into()))) })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn refused<T>(error: mpsc::error::TrySendError<T>) -> JournalError {
    match error {
        mpsc::error::TrySendError::Full(_) => JournalError::Full,
        mpsc::error::TrySendError::Closed(_) => JournalError::Closed,
    }
}

async fn ask_all(
    mut questions: mpsc::Receiver<(Pair, Answer<ReactionState, StoreError>)>,
    tables: Arc<dyn SlotTables>,
) {
    let free = Arc::new(Semaphore::new(STATEMENTS));
    while let Ok(permit) = free.clone().acquire_owned().await {
        let mut asked = Vec::with_capacity(PAIRS);
        if questions.recv_many(&mut asked, PAIRS).await == 0 {
            return;
        }
        let tables = tables.clone();
        tokio::spawn(async move {
            let pairs: Vec<Pair> = asked.iter().map(|(pair, _)| *pair).collect();
            let standings = standing(&*tables, &pairs).await;
            drop(permit);
            match standings {
                Ok(standings) => asked.into_iter().zip(standings).for_each(|((_, answer), standing)| {
                    // Who asked may have gone away.
                    let _ = answer.send(Ok(standing));
                }),
                Err(error) => asked.into_iter().for_each(|(_, answer)| {
                    let _ = answer.send(Err(error.clone()));
                }),
            }
        });
    }
}

/// Asks again once when a slot is on its way to another database.
async fn standing(tables: &dyn ReactionStateReader, pairs: &[Pair]) -> Result<Vec<ReactionState>, StoreError> {
    match tables.read_reaction_states(pairs).await {
        Err(StoreError::Moved) => {
            sleep(POLL).await;
            tables.read_reaction_states(pairs).await
        }
        answer => answer,
    }
}

/// Writes imported comments, in the order they come.
#[derive(Debug)]
pub(super) struct Import {
    queue: mpsc::Sender<(LoggedOperation, Answer<OperationOutcome, JournalError>)>,
}

impl Import {
    pub(super) fn start(tables: Arc<dyn SlotTables>, committed: Arc<dyn CommitListener>) -> Self {
        let (queue, events) = mpsc::channel(WAITING);
        tokio::spawn(write_all(events, tables, committed));
        Self { queue }
    }

    /// Writes a comment with what others import meanwhile. It is in the queue before this waits.
    pub(super) async fn write(&self, stamped: LoggedOperation) -> Result<OperationOutcome, JournalError> {
        let (answer, outcome) = oneshot::channel();
        self.queue.try_send((stamped, answer)).map_err(refused)?;
        outcome.await.map_err(|_| JournalError::Closed)?
    }
}

async fn write_all(
    mut events: mpsc::Receiver<(LoggedOperation, Answer<OperationOutcome, JournalError>)>,
    tables: Arc<dyn SlotTables>,
    committed: Arc<dyn CommitListener>,
) {
    let mut taken = Vec::with_capacity(BATCH);
    while events.recv_many(&mut taken, BATCH).await > 0 {
        let (batch, answers): (Vec<LoggedOperation>, Vec<_>) = taken.drain(..).unzip();
        let outcomes = write(&*tables, &*committed, &batch).await;
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            let _ = answer.send(outcome);
        }
    }
}

/// Writes a batch; when it is refused, each comment alone, so that one bad comment fails alone.
async fn write(
    tables: &dyn SlotTables,
    committed: &dyn CommitListener,
    batch: &[LoggedOperation],
) -> Vec<Result<OperationOutcome, JournalError>> {
    match write_once(tables, committed, batch).await {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        Err(JournalError::Store(_)) if batch.len() > 1 => {
            let mut outcomes = Vec::with_capacity(batch.len());
            for event in batch.chunks(1) {
                match write_once(tables, committed, event).await {
                    Ok(done) => outcomes.extend(done.into_iter().map(Ok)),
                    Err(error) => outcomes.push(Err(error)),
                }
            }
            outcomes
        }
        Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// Writes all of it, as often as it takes in two seconds: a comment that is there already is left alone.
async fn write_once(
    tables: &dyn SlotTables,
    committed: &dyn CommitListener,
    batch: &[LoggedOperation],
) -> Result<Vec<OperationOutcome>, JournalError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match tables.persist(batch).await {
            Ok(persisted) => {
                committed.on_commit(batch, &persisted).await;
                return Ok(persisted.outcomes);
            }
            Err(error) if may_pass(&error) && Instant::now() < until => sleep(POLL).await,
            Err(error) if may_pass(&error) => return Err(JournalError::Unknown(error.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
}
