//! Writes that the word filter of the edge has refused, passed on to the origin, which keeps their texts for moderators.
//!
//! Best-effort, and after the answer: no answer waits for the origin, nothing is retried, and its answer is not read.
//! Promise: a write that is passed on publishes nothing, also where the dictionary of the edge is stale: the header asks
//! the origin to judge the text alone.

use std::sync::{Arc, Mutex};

use gailou_shared::edge_protocol::REFUSED_HEADER;
use http::header::{HeaderName, HeaderValue};

use crate::forward::{self, ForwardRequest, Requester};
use crate::ports::Ports;
use crate::{Isolate, lock};

/// Most writes that an isolate passes on in a window.
const MAX_PASSED_PER_WINDOW: u32 = 30;
/// The window, in milliseconds.
const PASS_WINDOW_MS: u64 = 60_000;

/// How many refused writes an isolate has passed on lately.
#[derive(Debug, Default)]
pub struct RefusedWrites(Mutex<PassWindow>);

#[derive(Debug, Default)]
struct PassWindow {
    began_ms: u64,
    passed: u32,
}

impl RefusedWrites {
    /// Counts one; false when enough were passed on in this window.
    fn admit(&self, now_ms: u64) -> bool {
        let mut window = lock(&self.0);
        if now_ms.saturating_sub(window.began_ms) >= PASS_WINDOW_MS {
            *window = PassWindow { began_ms: now_ms, passed: 0 };
        }
        let is_admitted = window.passed < MAX_PASSED_PER_WINDOW;
        window.passed += u32::from(is_admitted);
        is_admitted
    }
}

/// Passes a refused write on after the answer, or drops it.
pub(super) fn pass_on(isolate: &Arc<Isolate>, ports: &Ports, requester: &Requester, mut write: ForwardRequest) {
    if !isolate.refused_writes.admit(ports.clock.now_ms()) {
        return;
    }
    write.headers.insert(HeaderName::from_static(REFUSED_HEADER), HeaderValue::from_static("1"));
    let (isolate, task_ports, requester) = (Arc::clone(isolate), ports.clone(), requester.clone());
    ports.wait_until.spawn(Box::pin(async move {
        let _ = forward::send(&isolate, &task_ports, &requester, write).await;
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_beyond_the_rate_are_dropped_until_the_next_window() {
        let writes = RefusedWrites::default();
        let passed = |from: u64| (0..2 * MAX_PASSED_PER_WINDOW).filter(|_| writes.admit(from)).count();
        assert_eq!(passed(PASS_WINDOW_MS), MAX_PASSED_PER_WINDOW as usize);
        assert_eq!(passed(2 * PASS_WINDOW_MS - 1), 0);
        assert_eq!(passed(2 * PASS_WINDOW_MS), MAX_PASSED_PER_WINDOW as usize);
    }
}
