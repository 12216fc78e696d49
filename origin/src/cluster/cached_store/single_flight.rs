//! Single flight: one query, however many callers wait for the same key.
//!
//! Two kinds of flights are not joined. One that started before the key changed, as far as this process
//! was notified: a caller that has just written reads what it wrote. And one that has been in flight for
//! longer than a local value is fresh: this process does not know what was written elsewhere.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, join_all};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::cluster::cached_store::local_cache::LOCAL_FRESHNESS;
use crate::ports::store::{Result, StoreError};

type FlightResult<K, V> = Shared<BoxFuture<'static, Arc<Result<HashMap<K, V>>>>>;

struct SharedFlight<K, V> {
    /// The local version that it started at, see
    /// [`crate::cluster::cached_store::local_cache::LocalVersions`].
    version: u64,
    started: Instant,
    number: u64,
    result: FlightResult<K, V>,
}

/// A flight, and the caller's keys that it loads.
struct JoinedFlight<K, V> {
    started: Instant,
    result: FlightResult<K, V>,
    keys: Vec<K>,
}

struct ActiveFlights<K, V> {
    next_number: u64,
    by_key: HashMap<K, SharedFlight<K, V>>,
}

/// The queries of one kind that are in flight.
pub(super) struct SingleFlight<K, V>(Arc<Mutex<ActiveFlights<K, V>>>);

/// Removes its flight from the active ones, however it ends.
struct FlightGuard<K: Eq + Hash, V> {
    active: Arc<Mutex<ActiveFlights<K, V>>>,
    number: u64,
    keys: Vec<K>,
}

impl<K: Eq + Hash, V> Drop for FlightGuard<K, V> {
    fn drop(&mut self) {
        let mut active = self.active.lock();
        for key in &self.keys {
            if active.by_key.get(key).is_some_and(|flight| flight.number == self.number) {
                active.by_key.remove(key);
            }
        }
    }
}

impl<K, V> SingleFlight<K, V>
where
    K: Eq + Hash + Clone + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(ActiveFlights { next_number: 0, by_key: HashMap::new() })))
    }

    /// Loads those of the keys that no flight loads already, and waits for all. Returns the values, and
    /// when the first of their flights started. `version` is the current local version, `last_change`
    /// that of a key's last change. What `load` starts is finished even if the caller is cancelled.
    pub(super) async fn fetch<F>(
        &self,
        keys: Vec<K>,
        version: u64,
        last_change: impl Fn(&K) -> u64,
        load: impl FnOnce(Vec<K>) -> F,
    ) -> Result<(HashMap<K, V>, Instant)>
    where
        F: Future<Output = Result<HashMap<K, V>>> + Send + 'static,
    {
        let (mut found, mut first_started) = (HashMap::with_capacity(keys.len()), Instant::now());
        let flights = self.join_or_start(&keys, version, last_change, load);
        let (results, joined): (Vec<_>, Vec<_>) =
            flights.into_iter().map(|flight| (flight.result, (flight.started, flight.keys))).unzip();
        for (loaded, (started, keys)) in join_all(results).await.iter().zip(joined) {
            first_started = first_started.min(started);
            let loaded = (**loaded).as_ref().map_err(StoreError::clone)?;
            found.extend(keys.into_iter().filter_map(|key| loaded.get(&key).cloned().map(|value| (key, value))));
        }
        Ok((found, first_started))
    }

    /// The flights that load these keys, with a new one for those that no flight loads.
    fn join_or_start<F>(
        &self,
        keys: &[K],
        version: u64,
        last_change: impl Fn(&K) -> u64,
        load: impl FnOnce(Vec<K>) -> F,
    ) -> Vec<JoinedFlight<K, V>>
    where
        F: Future<Output = Result<HashMap<K, V>>> + Send + 'static,
    {
        // A mutex that is held for a few look-ups, never across an await.
        let mut active = self.0.lock();
        let (mut joined, mut missing) = (HashMap::<u64, JoinedFlight<K, V>>::new(), Vec::new());
        for key in keys {
            let may_join = |flight: &&SharedFlight<K, V>| {
                flight.version >= last_change(key) && flight.started.elapsed() < LOCAL_FRESHNESS
            };
            match active.by_key.get(key).filter(may_join) {
                Some(SharedFlight { started, number, result, .. }) => {
                    let flight = || JoinedFlight { started: *started, result: result.clone(), keys: vec![] };
                    joined.entry(*number).or_insert_with(flight).keys.push(key.clone());
                }
                None => missing.push(key.clone()),
            }
        }
        let mut flights: Vec<_> = joined.into_values().collect();
        if !missing.is_empty() {
            let (number, started) = (active.next_number, Instant::now());
            active.next_number += 1;
            let guard = FlightGuard { active: self.0.clone(), number, keys: missing.clone() };
            let loading = load(missing.clone());
            let task = tokio::spawn(async move {
                let loaded = loading.await;
                drop(guard);
                Arc::new(loaded)
            });
            let panicked = |error: tokio::task::JoinError| StoreError::Database(error.to_string().into());
            let result =
                task.map(move |ended| ended.unwrap_or_else(|error| Arc::new(Err(panicked(error))))).boxed().shared();
            for key in &missing {
                let flight = SharedFlight { version, started, number, result: result.clone() };
                active.by_key.insert(key.clone(), flight);
            }
            flights.push(JoinedFlight { started, result, keys: missing });
        }
        flights
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn load(calls: Arc<AtomicUsize>, keys: Vec<u64>) -> Result<HashMap<u64, u64>> {
        let call = calls.fetch_add(1, Ordering::SeqCst) as u64;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        Ok(keys.into_iter().map(|key| (key, call)).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_fetches_of_a_key_are_one_query() {
        let (flights, calls) = (SingleFlight::new(), Arc::new(AtomicUsize::new(0)));
        let fetch = |keys: &[u64]| flights.fetch(keys.to_vec(), 0, |_| 0, |keys| load(calls.clone(), keys));
        let all = join_all((0..50).map(|_| fetch(&[1, 2]))).await;
        assert!(all.into_iter().all(|found| found.unwrap().0 == HashMap::from([(1, 0), (2, 0)])));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let (both, half) = tokio::join!(fetch(&[1, 2]), fetch(&[2, 3]));
        assert_eq!((both.unwrap().0[&2], half.unwrap().0), (1, HashMap::from([(2, 1), (3, 2)])));
        assert!(flights.0.lock().by_key.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn flight_from_before_a_change_is_not_joined() {
        let (flights, calls) = (SingleFlight::new(), Arc::new(AtomicUsize::new(0)));
        let fetch = |version, last_change: u64| {
            flights.fetch(vec![1], version, move |_| last_change, |keys| load(calls.clone(), keys))
        };
        let (before, after, joined) = tokio::join!(fetch(0, 0), fetch(1, 1), fetch(1, 1));
        assert_eq!((before.unwrap().0[&1], after.unwrap().0[&1], joined.unwrap().0[&1]), (0, 1, 1));
    }
}
