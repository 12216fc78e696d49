//! When an isolate last did, for each page, the things it must not do too often, and the guard that
//! keeps a refresh the only one of its page.

use std::sync::{Arc, Mutex};

use crate::forward::READ_TIMEOUT_MS;
use crate::lru::WeightedLru;
use crate::{Isolate, lock};

/// After how long a refresh that never finished is replaced by another, in milliseconds: a read's
/// timeout, after which it has surely ended.
const REFRESH_TIMEOUT_MS: u64 = READ_TIMEOUT_MS as u64;
/// Most pages whose cooldowns an isolate keeps.
const MAX_COOLDOWN_KEYS: usize = 8_192;

/// When an isolate last performed action with a cooldown, by page key.
#[derive(Debug)]
pub struct Cooldowns(Mutex<WeightedLru<[u64; 4]>>);

/// What must not be done too often for one page.
#[derive(Debug, Clone, Copy)]
pub(super) enum CooldownAction {
    /// Fetch the next copy from the origin.
    Refresh,
    /// Read past the caches because a client sent `no-cache`.
    Bypass,
    /// Write the page to the global store.
    WriteGlobal,
    /// Read an answer to the point where it is too large.
    ReadTooLarge,
}

impl Default for Cooldowns {
    fn default() -> Self {
        Self(Mutex::new(WeightedLru::new(usize::MAX, MAX_COOLDOWN_KEYS)))
    }
}

impl Cooldowns {
    /// Claims `action` for `key`; false when it was claimed less than `interval_ms` ago.
    pub(super) fn claim(&self, key: &str, action: CooldownAction, now_ms: u64, interval_ms: u64) -> bool {
        let mut times_by_key = lock(&self.0);
        let mut times = times_by_key.get(key).unwrap_or_default();
        let Some(last) = times.get_mut(action as usize) else { return false };
        if *last != 0 && now_ms.saturating_sub(*last) < interval_ms {
            return false;
        }
        *last = now_ms.max(1);
        times_by_key.put(key.into(), times, 0);
        true
    }

    /// Whether `action` was claimed for `key` less than `interval_ms` ago.
    pub(super) fn is_claimed(&self, key: &str, action: CooldownAction, now_ms: u64, interval_ms: u64) -> bool {
        let times = lock(&self.0).get(key).unwrap_or_default();
        times.get(action as usize).is_some_and(|last| *last != 0 && now_ms.saturating_sub(*last) < interval_ms)
    }

    /// Ends the claim made at `claimed_ms`; a later claim of the same action stays.
    fn release(&self, key: &str, action: CooldownAction, claimed_ms: u64) {
        let mut times_by_key = lock(&self.0);
        let Some(mut times) = times_by_key.get(key) else { return };
        if let Some(last) = times.get_mut(action as usize).filter(|last| **last == claimed_ms) {
            *last = 0;
            times_by_key.put(key.into(), times, 0);
        }
    }
}

/// The only refresh of a page in progress, until this is dropped. A refresh that timed out does not
/// end its successor.
pub(super) struct RefreshGuard {
    isolate: Arc<Isolate>,
    key: String,
    started_ms: u64,
}

impl RefreshGuard {
    /// Starts a refresh; `None` when another is in progress.
    pub(super) fn start(isolate: &Arc<Isolate>, key: &str, now_ms: u64) -> Option<Self> {
        let claimed = isolate.cooldowns.claim(key, CooldownAction::Refresh, now_ms, REFRESH_TIMEOUT_MS);
        claimed.then(|| Self { isolate: Arc::clone(isolate), key: key.to_owned(), started_ms: now_ms.max(1) })
    }
}

impl Drop for RefreshGuard {
    fn drop(&mut self) {
        self.isolate.cooldowns.release(&self.key, CooldownAction::Refresh, self.started_ms);
    }
}
