//! Faults say whether the write was applied before it failed.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a write fails: before it is applied, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    Before,
    After,
}

/// Locks a mutex of a double, also after another test thread panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
