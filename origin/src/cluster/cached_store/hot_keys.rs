//! The keys that are read most: counts over a sliding window, in bounded memory.
//!
//! There are two sketches of frequent items, one of this window and one of the window before. The
//! latter counts as far as the sliding window still reaches into it. Rare keys are forgotten, so only
//! frequent keys are in here, however many keys are read once.

use std::hash::Hash;
use std::time::Duration;

use datasketches::frequencies::FrequentItemsSketch;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Length of the window.
const HOT_KEY_WINDOW: Duration = Duration::from_secs(10);
/// Capacity of a sketch, of which three quarters are used. A power of two.
const SKETCH_CAPACITY: usize = 4_096;
/// A key with so many reads in a window is hot. Kept in this process for a quarter of a second, it saves
/// the shared cache about a tenth of its reads, and more the hotter it is.
const HOT_READS_PER_WINDOW: u64 = 5;

/// Counts the reads of one kind of key.
pub(super) struct HotKeys<K>(Mutex<SlidingSketches<K>>);

struct SlidingSketches<K> {
    current: FrequentItemsSketch<K>,
    previous: FrequentItemsSketch<K>,
    started: Instant,
}

fn new_sketch<K: Eq + Hash>() -> FrequentItemsSketch<K> {
    FrequentItemsSketch::new(SKETCH_CAPACITY).expect("a power of two")
}

impl<K: Eq + Hash + Clone> SlidingSketches<K> {
    fn slide(&mut self) {
        let passed = self.started.elapsed();
        if passed < HOT_KEY_WINDOW {
            return;
        }
        self.previous = std::mem::replace(&mut self.current, new_sketch());
        if passed >= 2 * HOT_KEY_WINDOW {
            self.previous = new_sketch();
        }
        self.started = Instant::now();
    }
}

impl<K: Eq + Hash + Clone> HotKeys<K> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(SlidingSketches { current: new_sketch(), previous: new_sketch(), started: Instant::now() }))
    }

    /// Counts one read of each key. Returns which of them are hot.
    pub(super) fn count_reads<'k>(&self, keys: impl Iterator<Item = &'k K>) -> Vec<bool>
    where
        K: 'k,
    {
        // A mutex that is held for a few microseconds, never across an await.
        let mut sketches = self.0.lock();
        sketches.slide();
        let remaining = 1.0 - sketches.started.elapsed().as_secs_f64() / HOT_KEY_WINDOW.as_secs_f64();
        let is_hot = |key: &K| {
            sketches.current.update_ref(key);
            // Lower bounds: while too many rare keys are read, no key is hot.
            let before = sketches.previous.lower_bound(key) as f64 * remaining;
            sketches.current.lower_bound(key) + before as u64 >= HOT_READS_PER_WINDOW
        };
        keys.map(is_hot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn frequent_key_is_hot_for_a_window() {
        let hot_keys = HotKeys::new();
        let read = |key: u64| hot_keys.count_reads([key].iter())[0];
        assert!((1..HOT_READS_PER_WINDOW).all(|_| !read(7)));
        assert!(read(7));
        assert!((1_000..3_000).all(|key| !read(key)), "each is read once");
        assert!(read(7));
        tokio::time::advance(HOT_KEY_WINDOW).await;
        assert!(read(7), "the window reaches back");
        tokio::time::advance(2 * HOT_KEY_WINDOW).await;
        assert!(!read(7));
    }

    #[test]
    fn rare_keys_are_never_hot_however_many() {
        let hot_keys = HotKeys::new();
        let read = |key: u64| hot_keys.count_reads([key].iter())[0];
        let mut rare = 0;
        for key in 1_000..100_000 {
            rare += usize::from(read(key));
            read(key % 10);
        }
        assert_eq!(rare, 0);
        assert!((0..10).all(read));
    }
}
