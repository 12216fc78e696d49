//! Refused texts on their way to the tables.
//!
//! Best-effort: a text that finds the queue full is dropped, and one that a process dies with is lost. Promise: no request
//! waits for the tables.

use std::collections::VecDeque;

use gailou_shared::wire::RefusedText;
use metrics::{counter, describe_counter};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Texts that wait: 20 kB each, so 10 MB at most.
const MAX_WAITING_TEXTS: usize = 500;
/// Refused texts, by `outcome`.
const REFUSED_TEXT_COUNT: &str = "gailou_refused_texts_total";

/// The queue.
#[derive(Debug, Default)]
pub struct RefusedTextQueue {
    // A mutex that is held to push or pop, never across an await.
    waiting: Mutex<VecDeque<RefusedText>>,
    pushed: Notify,
}

/// What became of a refused text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedOutcome {
    Kept,
    /// Its author has as many of the last hour as are kept.
    Bounded,
    /// The queue was full.
    Dropped,
    /// The tables did not take it.
    Failed,
}

impl RefusedOutcome {
    /// Counts it.
    pub fn count(self) {
        let outcome = match self {
            Self::Kept => "kept",
            Self::Bounded => "bounded",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
        };
        describe_counter!(REFUSED_TEXT_COUNT, "Texts that the word filter refused, by what became of them.");
        counter!(REFUSED_TEXT_COUNT, "outcome" => outcome).increment(1);
    }
}

impl RefusedTextQueue {
    /// Puts a text into the queue, or drops it where that is full.
    pub fn push(&self, text: RefusedText) {
        let is_queued = {
            let mut waiting = self.waiting.lock();
            let has_room = waiting.len() < MAX_WAITING_TEXTS;
            if has_room {
                waiting.push_back(text);
            }
            has_room
        };
        if is_queued {
            self.pushed.notify_one();
        } else {
            RefusedOutcome::Dropped.count();
        }
    }

    /// The oldest text.
    pub fn pop(&self) -> Option<RefusedText> {
        self.waiting.lock().pop_front()
    }

    /// Completes when a text was pushed since the last call.
    pub async fn wait(&self) {
        self.pushed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::refused_text;

    #[test]
    fn full_queue_drops_the_newest() {
        let queue = RefusedTextQueue::default();
        for number in 0..MAX_WAITING_TEXTS + 7 {
            queue.push(refused_text(number as u64));
        }
        let texts: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(texts.len(), MAX_WAITING_TEXTS);
        assert_eq!(texts[0].at, 0);
        assert_eq!(texts[MAX_WAITING_TEXTS - 1].at, MAX_WAITING_TEXTS as u64 - 1);
    }
}
