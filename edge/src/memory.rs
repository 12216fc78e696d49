//! A bounded map for an isolate's memory. It knows nothing of pages or time.

use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of pages an isolate keeps: a fifth of the 128 MB the platform gives it.
pub const BYTES: usize = 24 << 20;
/// Pages an isolate keeps.
pub const ENTRIES: usize = 4_096;

/// Keeps what was used last, within a number of entries and a total weight.
///
/// Two generations: what is put or used is in the young one; when that holds half of what is
/// allowed it becomes the old one, and the old one is dropped. So what was used among the last
/// half stays, nothing is sorted, and no operation costs more than two look-ups.
#[derive(Debug)]
pub struct Bounded<V> {
    young: Generation<V>,
    old: Generation<V>,
    half_weight: usize,
    half_entries: usize,
}

#[derive(Debug)]
struct Generation<V> {
    map: HashMap<Arc<str>, (V, usize)>,
    weight: usize,
}

impl<V> Default for Generation<V> {
    fn default() -> Self {
        Self { map: HashMap::new(), weight: 0 }
    }
}

impl<V> Generation<V> {
    fn remove(&mut self, key: &str) -> Option<(Arc<str>, (V, usize))> {
        let (key, (value, weight)) = self.map.remove_entry(key)?;
        self.weight -= weight;
        Some((key, (value, weight)))
    }

    fn insert(&mut self, key: Arc<str>, value: V, weight: usize) {
        self.weight += weight;
        if let Some((_, weight)) = self.map.insert(key, (value, weight)) {
            self.weight -= weight;
        }
    }
}

impl<V: Clone> Bounded<V> {
    /// At most `weight` and at most `entries` in all.
    #[must_use]
    pub fn new(weight: usize, entries: usize) -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
            half_weight: weight / 2,
            half_entries: entries / 2,
        }
    }

    /// The value of `key`, which counts as a use.
    pub fn get(&mut self, key: &str) -> Option<V> {
        if let Some((value, _)) = self.young.map.get(key) {
            return Some(value.clone());
        }
        let (key, (value, weight)) = self.old.remove(key)?;
        self.put(key, value.clone(), weight);
        Some(value)
    }

    /// Puts `value`, in place of an earlier one. What weighs more than half of the whole is not
    /// kept, and neither is the earlier one.
    pub fn put(&mut self, key: Arc<str>, value: V, weight: usize) {
        self.remove(&key);
        if weight > self.half_weight || self.half_entries == 0 {
            return;
        }
        if self.young.weight + weight > self.half_weight || self.young.map.len() >= self.half_entries {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value, weight);
    }

    /// Forgets `key`.
    pub fn remove(&mut self, key: &str) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// Entries now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.map.len() + self.old.map.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The weight of all entries.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.young.weight + self.old.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_used_stays() {
        let mut map = Bounded::new(100, 8);
        map.put("hot".into(), 0, 1);
        for n in 1..100 {
            map.put(n.to_string().into(), n, 1);
            assert_eq!(map.get("hot"), Some(0), "after {n}");
        }
        assert_eq!(map.get("1"), None);
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_allowed_and_never_lies(
            steps in prop::collection::vec((0u8..30, 0usize..40, 0u8..3), 1..300)
        ) {
            let mut map = Bounded::new(100, 10);
            let mut last = HashMap::new();
            for (n, (key, weight, what)) in steps.into_iter().enumerate() {
                let key: Arc<str> = key.to_string().into();
                match what {
                    0 => map.remove(&key),
                    1 => {
                        map.put(Arc::clone(&key), n, weight);
                        last.insert(key, n);
                    }
                    _ => if let Some(value) = map.get(&key) {
                        prop_assert_eq!(last.get(&key), Some(&value));
                    },
                }
                prop_assert!(map.len() <= 10 && map.weight() <= 100);
                let sum: usize = map.young.map.values().chain(map.old.map.values()).map(|(_, w)| w).sum();
                prop_assert_eq!(sum, map.weight());
            }
        }
    }
}
