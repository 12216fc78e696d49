//! Single flight: one query however many wait for the same key.
//!
//! A flight that began before a key was changed (as far as this process was told) is not joined for
//! it: who has just written reads what was written. Nor is one that has been under way for longer
//! than a value may be old: what was written elsewhere is not known here.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, join_all};
use tokio::time::Instant;

use crate::cluster::cached_store::local_cache::LIFE;
use crate::ports::store::{Result, StoreError};

type Landing<K, V> = Shared<BoxFuture<'static, Arc<Result<HashMap<K, V>>>>>;

struct SharedFlight<K, V> {
    /// The mark it began at, see [`crate::cluster::cached_store::local_cache::Marks`].
    mark: u64,
    begun: Instant,
    number: u64,
    landing: Landing<K, V>,
}

/// A flight, and the caller's keys that it brings.
struct Aboard<K, V> {
    begun: Instant,
    landing: Landing<K, V>,
    keys: Vec<K>,
}

struct Flying<K, V> {
    next: u64,
    by_key: HashMap<K, SharedFlight<K, V>>,
}

/// The queries of one kind that are on their way.
pub(super) struct SingleFlight<K, V>(Arc<Mutex<Flying<K, V>>>);

/// Takes its flight off the list, however it ends.
struct Landed<K: Eq + Hash, V> {
    flying: Arc<Mutex<Flying<K, V>>>,
    number: u64,
    keys: Vec<K>,
}

impl<K: Eq + Hash, V> Drop for Landed<K, V> {
    fn drop(&mut self) {
        let mut flying = self.flying.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &self.keys {
            if flying.by_key.get(key).is_some_and(|flight| flight.number == self.number) {
                flying.by_key.remove(key);
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
        Self(Arc::new(Mutex::new(Flying { next: 0, by_key: HashMap::new() })))
    }

    /// Loads keys, those of them that nobody loads already, and says when the first flight that
    /// brought any began. `mark` is now, `changed` says when a key was last changed. What `load` began
    /// is carried to its end although the caller goes away.
    pub(super) async fn fetch<F>(
        &self,
        keys: Vec<K>,
        mark: u64,
        changed: impl Fn(&K) -> u64,
        load: impl FnOnce(Vec<K>) -> F,
    ) -> Result<(HashMap<K, V>, Instant)>
    where
        F: Future<Output = Result<HashMap<K, V>>> + Send + 'static,
    {
        let (mut found, mut begun) = (HashMap::with_capacity(keys.len()), Instant::now());
        let landings = self.board(&keys, mark, changed, load);
        let (landings, aboard): (Vec<_>, Vec<_>) =
            landings.into_iter().map(|aboard| (aboard.landing, (aboard.begun, aboard.keys))).unzip();
        for (landed, (at, keys)) in join_all(landings).await.iter().zip(aboard) {
            begun = begun.min(at);
            let landed = (**landed).as_ref().map_err(StoreError::clone)?;
            found.extend(keys.into_iter().filter_map(|key| landed.get(&key).cloned().map(|value| (key, value))));
        }
        Ok((found, begun))
    }

    /// The flights that bring these keys, and which of them each brings.
    fn board<F>(
        &self,
        keys: &[K],
        mark: u64,
        changed: impl Fn(&K) -> u64,
        load: impl FnOnce(Vec<K>) -> F,
    ) -> Vec<Aboard<K, V>>
    where
        F: Future<Output = Result<HashMap<K, V>>> + Send + 'static,
    {
        // A std mutex: held for a few look-ups, never across an await.
        let mut flying = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut joined, mut rest) = (HashMap::<u64, Aboard<K, V>>::new(), Vec::new());
        for key in keys {
            match flying.by_key.get(key).filter(|f| f.mark >= changed(key) && f.begun.elapsed() < LIFE) {
                Some(flight) => {
                    let (begun, landing) = (flight.begun, &flight.landing);
                    let aboard = joined.entry(flight.number);
                    let aboard = aboard.or_insert_with(|| Aboard { begun, landing: landing.clone(), keys: vec![] });
                    aboard.keys.push(key.clone());
                }
                None => rest.push(key.clone()),
            }
        }
        let mut landings: Vec<_> = joined.into_values().collect();
        if !rest.is_empty() {
            let (number, begun) = (flying.next, Instant::now());
            flying.next += 1;
            let landed = Landed { flying: self.0.clone(), number, keys: rest.clone() };
            let loading = load(rest.clone());
            let task = tokio::spawn(async move {
                let loaded = loading.await;
                drop(landed);
                Arc::new(loaded)
            });
            let landing = task
                .map(|ended| ended.unwrap_or_else(|e| Arc::new(Err(StoreError::Database(e.to_string().into())))))
                .boxed()
                .shared();
            for key in &rest {
                flying.by_key.insert(key.clone(), SharedFlight { mark, begun, number, landing: landing.clone() });
            }
            landings.push(Aboard { begun, landing, keys: rest });
        }
        landings
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
    async fn one_query_however_many_wait() {
        let (flights, calls) = (SingleFlight::new(), Arc::new(AtomicUsize::new(0)));
        let fetch = |keys: &[u64]| flights.fetch(keys.to_vec(), 0, |_| 0, |keys| load(calls.clone(), keys));
        let all = join_all((0..50).map(|_| fetch(&[1, 2]))).await;
        assert!(all.into_iter().all(|found| found.unwrap().0 == HashMap::from([(1, 0), (2, 0)])));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let (both, half) = tokio::join!(fetch(&[1, 2]), fetch(&[2, 3]));
        assert_eq!((both.unwrap().0[&2], half.unwrap().0), (1, HashMap::from([(2, 1), (3, 2)])));
        assert!(flights.0.lock().unwrap().by_key.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flight_from_before_a_change_is_not_joined() {
        let (flights, calls) = (SingleFlight::new(), Arc::new(AtomicUsize::new(0)));
        let fetch =
            |mark, changed: u64| flights.fetch(vec![1], mark, move |_| changed, |keys| load(calls.clone(), keys));
        let (before, after, joined) = tokio::join!(fetch(0, 0), fetch(1, 1), fetch(1, 1));
        assert_eq!((before.unwrap().0[&1], after.unwrap().0[&1], joined.unwrap().0[&1]), (0, 1, 1));
    }
}
