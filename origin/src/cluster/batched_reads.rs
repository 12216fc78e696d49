//! Reads of concurrent callers, in common statements: a queue for each database, so that one that does not answer delays
//! no other.
//!
//! A database is sent one statement at a time. No caller is delayed to fill it: what arrives while one runs goes into the
//! next. With two at a time, most had one key where the server answers in a millisecond.

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinError;

use crate::ports::store::{Result, StoreError};

/// Keys in one statement.
const MAX_KEYS_PER_STATEMENT: usize = 500;
/// Queries that may wait: about half a second of work. One more is refused.
const MAX_QUEUED: usize = 20_000;

/// A query, and who waits for its answer.
type Query<K, V> = (K, oneshot::Sender<Result<V>>);

/// Reads one kind of value by its keys.
#[derive(Debug)]
pub(super) struct BatchedReads<K, V> {
    queues: Vec<mpsc::Sender<Query<K, V>>>,
}

impl<K: Send + 'static, V: Send + 'static> BatchedReads<K, V> {
    /// `read` answers the keys of one statement, in their order.
    pub(super) fn start<F>(databases: usize, read: impl Fn(Vec<K>) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<V>>> + Send + 'static,
    {
        let start_queue = |_| {
            let (queue, queries) = mpsc::channel(MAX_QUEUED);
            tokio::spawn(answer_queries(queries, read.clone()));
            queue
        };
        Self { queues: (0..databases.max(1)).map(start_queue).collect() }
    }

    /// The value of this key.
    ///
    /// # Errors
    /// Those of the statement, and when too many queries are waiting.
    pub(super) async fn read(&self, database: usize, key: K) -> Result<V> {
        let refused = |error: TrySendError<()>| StoreError::Unavailable(error.to_string().into());
        self.query(database, key).map_err(refused)?.await
    }

    /// Queues a query. The returned future waits for its answer.
    ///
    /// # Errors
    /// When too many are waiting.
    pub(super) fn query(
        &self,
        database: usize,
        key: K,
    ) -> std::result::Result<impl Future<Output = Result<V>> + use<K, V>, TrySendError<()>> {
        let (answer, value) = oneshot::channel();
        let without_query = |error| match error {
            TrySendError::Full(_) => TrySendError::Full(()),
            TrySendError::Closed(_) => TrySendError::Closed(()),
        };
        self.queues[database % self.queues.len()].try_send((key, answer)).map_err(without_query)?;
        Ok(async move { value.await.unwrap_or_else(|_| Err(StoreError::Unavailable("its reader has stopped".into()))) })
    }
}

async fn answer_queries<K: Send + 'static, V: Send + 'static, F>(
    mut queries: mpsc::Receiver<Query<K, V>>,
    read: impl Fn(Vec<K>) -> F,
) where
    F: Future<Output = Result<Vec<V>>> + Send + 'static,
{
    let mut batch = Vec::with_capacity(MAX_KEYS_PER_STATEMENT);
    while queries.recv_many(&mut batch, MAX_KEYS_PER_STATEMENT).await > 0 {
        let (keys, answers): (Vec<K>, Vec<_>) = batch.drain(..).unzip();
        // A task of its own: a panic is the failure of this statement alone.
        let panicked = |error: JoinError| Err(StoreError::Database(error.to_string().into()));
        match tokio::spawn(read(keys)).await.unwrap_or_else(panicked) {
            Ok(values) => answers.into_iter().zip(values).for_each(|(answer, value)| {
                // The caller may have been cancelled.
                let _ = answer.send(Ok(value));
            }),
            Err(error) => answers.into_iter().for_each(|answer| {
                let _ = answer.send(Err(error.clone()));
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn statement_that_panics_fails_alone() {
        let reads = BatchedReads::start(1, |keys: Vec<u64>| async move {
            assert!(!keys.contains(&0), "not this one");
            Ok(keys)
        });
        assert!(matches!(reads.read(0, 0).await, Err(StoreError::Database(_))));
        assert_eq!(reads.read(0, 7).await.unwrap(), 7);
    }
}
