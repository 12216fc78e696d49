//! Logs an outage twice: when it begins and when it ends, however often it is noticed in between.
//!
//! Knows no words: the caller writes both lines. Promise: an end is logged only after a beginning.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether one thing is down, as the log has it.
#[derive(Debug, Default)]
pub struct OutageLog {
    is_down: AtomicBool,
}

impl OutageLog {
    /// Logs by `log` unless the outage has begun already. To be called at each failure.
    pub fn begin(&self, log: impl FnOnce()) {
        if !self.is_down.swap(true, Ordering::Relaxed) {
            log();
        }
    }

    /// Logs by `log` if an outage has begun, and ends it. To be called at each success.
    pub fn end(&self, log: impl FnOnce()) {
        if self.is_down.swap(false, Ordering::Relaxed) {
            log();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn each_outage_is_logged_when_it_begins_and_when_it_ends() {
        let (outage, lines) = (OutageLog::default(), &RefCell::new(Vec::new()));
        let log = |line: &'static str| move || lines.borrow_mut().push(line);
        outage.end(log("ended without a beginning"));
        for _ in 0..2 {
            for _ in 0..3 {
                outage.begin(log("down"));
            }
            outage.end(log("up"));
            outage.end(log("up"));
        }
        assert_eq!(*lines.borrow(), ["down", "up", "down", "up"]);
    }
}
