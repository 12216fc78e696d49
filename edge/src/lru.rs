//! A bounded map for an isolate's memory. It does not know about pages or time.

use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of pages that an isolate keeps: a fifth of the 128 MB the platform grants.
pub const MEMORY_BUDGET_BYTES: usize = 24 << 20;
/// Pages that an isolate keeps.
pub const MAX_MEMORY_PAGES: usize = 4_096;

/// A map that keeps the most recently used entries, bounded by their number and total weight.
///
/// It has two generations. Entries that are put or used go into the young one; when that reaches half
/// of a bound it becomes the old one, and the previous old one is evicted. So the most recently used
/// half always stays, nothing is sorted, and no operation costs more than two look-ups.
#[derive(Debug)]
pub struct WeightedLru<V> {
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

impl<V: Clone> WeightedLru<V> {
    /// An empty map of at most `weight` and at most `entries` in all.
    #[must_use]
    pub fn new(weight: usize, entries: usize) -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
            half_weight: weight / 2,
            half_entries: entries / 2,
        }
    }

    /// The value of `key`; this counts as a use.
    pub fn get(&mut self, key: &str) -> Option<V> {
        if let Some((value, _)) = self.young.map.get(key) {
            return Some(value.clone());
        }
        let (key, (value, weight)) = self.old.remove(key)?;
        self.put(key, value.clone(), weight);
        Some(value)
    }

    /// Puts `value` in place of an earlier one. A value heavier than half of the bound is not stored,
    /// and the earlier one is removed all the same.
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

    /// Removes `key`.
    pub fn remove(&mut self, key: &str) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.map.len() + self.old.map.len()
    }

    /// Whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The total weight of the entries.
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
    fn used_entry_is_not_evicted() {
        let mut map = WeightedLru::new(100, 8);
        map.put("hot".into(), 0, 1);
        for n in 1..100 {
            map.put(n.to_string().into(), n, 1);
            assert_eq!(map.get("hot"), Some(0), "after {n}");
        }
        assert_eq!(map.get("1"), None);
    }

    proptest! {
        #[test]
        fn bounds_hold_and_values_are_the_last_put(
            steps in prop::collection::vec((0u8..30, 0usize..40, 0u8..3), 1..300)
        ) {
            let mut map = WeightedLru::new(100, 10);
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
