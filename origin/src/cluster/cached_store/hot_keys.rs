//! What is asked for most: counts over a window that slides, in bounded memory.
//!
//! Two sketches of frequent items, of this window and the one before; the latter counts as far as
//! the window still reaches into it. Rare keys are forgotten, so that only frequent ones are in
//! here, whatever is asked for once.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use datasketches::frequencies::FrequentItemsSketch;
use tokio::time::Instant;

/// Length of the window.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// Places of a sketch; three quarters of them are used. A power of two.
const PLACES: usize = 4_096;
/// Asked for so often in a window, a key is hot: kept in this process for a quarter of a second, it
/// saves the shared cache about a tenth of its reads, and more the hotter it is.
const HOT: u64 = 5;

pub(super) struct HotKeys<K>(Mutex<Windows<K>>);

struct Windows<K> {
    now: FrequentItemsSketch<K>,
    before: FrequentItemsSketch<K>,
    began: Instant,
}

fn sketch<K: Eq + Hash>() -> FrequentItemsSketch<K> {
    FrequentItemsSketch::new(PLACES).expect("a power of two")
}

impl<K: Eq + Hash + Clone> Windows<K> {
    fn slide(&mut self) {
        let passed = self.began.elapsed();
        if passed < WINDOW {
            return;
        }
        self.before = std::mem::replace(&mut self.now, sketch());
        if passed >= 2 * WINDOW {
            self.before = sketch();
        }
        self.began = Instant::now();
    }
}

impl<K: Eq + Hash + Clone> HotKeys<K> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Windows { now: sketch(), before: sketch(), began: Instant::now() }))
    }

    /// Counts these keys; which of them are hot.
    pub(super) fn asked<'k>(&self, keys: impl Iterator<Item = &'k K>) -> Vec<bool>
    where
        K: 'k,
    {
        // A std mutex: held for a few microseconds, never across an await.
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.slide();
        let left = 1.0 - windows.began.elapsed().as_secs_f64() / WINDOW.as_secs_f64();
        let asked = |key: &K| {
            windows.now.update_ref(key);
            // At least so often: where too many rare keys are asked for, nothing is hot.
            let before = windows.before.lower_bound(key) as f64 * left;
            windows.now.lower_bound(key) + before as u64 >= HOT
        };
        keys.map(asked).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_for_often_is_hot_for_a_window() {
        let hot = HotKeys::new();
        let ask = |key: u64| hot.asked([key].iter())[0];
        assert!((1..HOT).all(|_| !ask(7)));
        assert!(ask(7));
        assert!((1_000..3_000).all(|key| !ask(key)), "asked for once each");
        assert!(ask(7));
        tokio::time::advance(WINDOW).await;
        assert!(ask(7), "the window reaches back");
        tokio::time::advance(2 * WINDOW).await;
        assert!(!ask(7));
    }

    #[test]
    fn the_frequent_stand_out_among_any_number_of_rare() {
        let hot = HotKeys::new();
        let ask = |key: u64| hot.asked([key].iter())[0];
        let mut rare = 0;
        for key in 1_000..100_000 {
            rare += usize::from(ask(key));
            ask(key % 10);
        }
        assert_eq!(rare, 0);
        assert!((0..10).all(ask));
    }
}
