//! When an isolate did what it must not do too often, and what is under way.

use std::sync::{Arc, Mutex};

use crate::forward::READ_MS;
use crate::memory::Bounded;
use crate::{Edge, lock};

/// How long a refresh may be under way before another is begun, in milliseconds: the deadline of
/// a read, after which it has surely ended.
const REFRESH_MS: u64 = READ_MS as u64;
/// Keys whose marks an isolate keeps.
const MARKS: usize = 8_192;

/// When an isolate last did things that must not be done too often, by key.
#[derive(Debug)]
pub struct Marks(Mutex<Bounded<[u64; 3]>>);

/// What must not be done too often.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deed {
    Refresh,
    Bypass,
    Share,
}

impl Default for Marks {
    fn default() -> Self {
        Self(Mutex::new(Bounded::new(usize::MAX, MARKS)))
    }
}

impl Marks {
    /// Whether `deed` may be done for `key` now, and if so, that it is being done.
    pub(super) fn claim(&self, key: &str, deed: Deed, now_ms: u64, every_ms: u64) -> bool {
        let mut marks = lock(&self.0);
        let mut times = marks.get(key).unwrap_or_default();
        let Some(last) = times.get_mut(deed as usize) else { return false };
        if *last != 0 && now_ms.saturating_sub(*last) < every_ms {
            return false;
        }
        *last = now_ms.max(1);
        marks.put(key.into(), times, 0);
        true
    }

    fn release(&self, key: &str, deed: Deed, begun_ms: u64) {
        let mut marks = lock(&self.0);
        let Some(mut times) = marks.get(key) else { return };
        if let Some(last) = times.get_mut(deed as usize).filter(|last| **last == begun_ms) {
            *last = 0;
            marks.put(key.into(), times, 0);
        }
    }
}

/// The one refresh of a key that is under way, until this is dropped. One that was given up does
/// not end its successor.
pub(super) struct UnderWay {
    edge: Arc<Edge>,
    key: String,
    begun_ms: u64,
}

impl UnderWay {
    /// `None` when another is under way.
    pub(super) fn begin(edge: &Arc<Edge>, key: &str, now_ms: u64) -> Option<Self> {
        let begun = edge.marks.claim(key, Deed::Refresh, now_ms, REFRESH_MS);
        begun.then(|| Self { edge: Arc::clone(edge), key: key.to_owned(), begun_ms: now_ms.max(1) })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.edge.marks.release(&self.key, Deed::Refresh, self.begun_ms);
    }
}
