//! The latest events of one subject in an isolate's memory. No IO and no clock of its own here.
//!
//! **Promise.** A reader receives every event after the version it names, or a reset: never fewer
//! events without one.

use std::collections::VecDeque;

use gailou_shared::wire::{LiveEvent, LiveEventPage};

/// Most events kept of a subject: 20 s of them at ten a second, several times what streams lag behind.
const MAX_BUFFERED_EVENTS: usize = 200;
/// How often the origin is polled for a subject, in milliseconds.
pub const ORIGIN_POLL_INTERVAL_MS: u64 = 2_000;
/// Longest wait after failed polls, in milliseconds.
const MAX_BACK_OFF_MS: u64 = 32_000;
/// How long a reader may be ahead of everything known before that is taken for a restored origin, in
/// milliseconds. Longer than a colo's copy can lag.
const MAX_AHEAD_MS: u64 = 30_000;

/// One event.
#[derive(Debug, Clone)]
struct BufferedEvent {
    version: u64,
    name: &'static str,
    data: String,
}

/// The latest events of one subject.
#[derive(Debug, Default)]
pub struct ReplayBuffer {
    /// The versions after which, and up to which, `events` is complete; `None` before the first answer.
    span: Option<(u64, u64)>,
    events: VecDeque<BufferedEvent>,
    /// The oldest version, older than `events`, from which a reader waits to continue.
    wanted: Option<u64>,
    /// Whether the last poll asked for `wanted`.
    asked_for_wanted: bool,
    /// From this version, and any older one, the origin cannot continue.
    lost: Option<u64>,
    /// The origin has not reached this version, whatever a reader names.
    unreached: Option<u64>,
    polled_ms: u64,
    failures: u32,
}

/// What a reader receives.
#[derive(Debug, PartialEq, Eq)]
pub enum Replay {
    /// Nothing yet.
    Nothing,
    /// These events, as they are sent; everything up to the version.
    Events(String, u64),
    /// Something is missing: start over, from the version.
    Reset(u64),
}

impl ReplayBuffer {
    /// Claims a poll of the origin when one is due: the version after which to ask, `None` for the
    /// origin's latest.
    pub fn claim_poll(&mut self, position: Option<u64>, now_ms: u64) -> Option<Option<u64>> {
        let wait = ORIGIN_POLL_INTERVAL_MS.saturating_mul(1 << self.failures.min(8)).min(MAX_BACK_OFF_MS);
        if self.polled_ms != 0 && now_ms.saturating_sub(self.polled_ms) < wait {
            return None;
        }
        self.polled_ms = now_ms.max(1);
        // Never twice in a row: readers that keep naming other old versions take at most every second
        // poll, so the others still receive what is new.
        let wanted = if self.asked_for_wanted { None } else { self.wanted };
        self.asked_for_wanted = wanted.is_some();
        Some(wanted.or(self.latest()).or(position))
    }

    /// Whether the origin has ever answered.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.span.is_some()
    }

    /// The latest known version: where a reader starts that names none.
    #[must_use]
    pub fn latest(&self) -> Option<u64> {
        self.span.map(|(_, to)| to)
    }

    /// Records that the origin did not answer.
    pub fn record_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// Applies the origin's answer to a poll after the version `after`.
    pub fn apply(&mut self, after: Option<u64>, answer: &LiveEventPage) {
        self.failures = 0;
        self.wanted = None;
        let after = after.unwrap_or(answer.version);
        let new: Vec<_> = answer.events.iter().map(BufferedEvent::new).filter(|event| event.version > after).collect();
        match self.span {
            _ if answer.reset => {
                self.lost = self.lost.max(Some(after.min(answer.version)));
                self.unreached = (after > answer.version).then_some(after);
                if self.span.is_none_or(|(_, to)| to <= after) {
                    // The origin cannot continue from the end of this buffer.
                    self.events.clear();
                    self.span = Some((answer.version, answer.version));
                }
            }
            None => {
                self.events = new.into();
                self.span = Some((after, answer.version.max(after)));
            }
            Some((from, to)) if after <= to && answer.version >= from => {
                // Overlapping answers agree: they are parts of one history.
                let (older, newer) = (new.iter().filter(|e| e.version <= from), new.iter().filter(|e| e.version > to));
                self.events = older.chain(&self.events).chain(newer).cloned().collect();
                self.span = Some((from.min(after), to.max(answer.version)));
            }
            // The answer does not connect to the buffer: a reader who waits for it is too far behind.
            Some(_) => self.lost = self.lost.max(Some(after)),
        }
        self.evict_oldest();
    }

    fn evict_oldest(&mut self) {
        while self.events.len() > MAX_BUFFERED_EVENTS {
            let Some(first) = self.events.pop_front() else { return };
            // Events of one version are evicted together.
            while self.events.front().is_some_and(|event| event.version == first.version) {
                self.events.pop_front();
            }
            self.span = self.span.map(|(_, to)| (first.version, to));
        }
    }

    /// What follows `position`, for a reader who has been there since `since_ms`.
    pub fn replay_after(&mut self, position: u64, since_ms: u64, now_ms: u64) -> Replay {
        let Some((from, to)) = self.span else { return Replay::Nothing };
        if position > to {
            let is_late = now_ms.saturating_sub(since_ms) > MAX_AHEAD_MS && self.failures == 0;
            let is_unreached = self.unreached.is_some_and(|unreached| position >= unreached);
            return if is_late || is_unreached { Replay::Reset(to) } else { Replay::Nothing };
        }
        if position < from {
            if self.lost.is_some_and(|lost| position <= lost) {
                return Replay::Reset(to);
            }
            self.wanted = Some(self.wanted.map_or(position, |wanted| wanted.min(position)));
            return Replay::Nothing;
        }
        if position == to {
            return Replay::Nothing;
        }
        let mut text = String::new();
        let mut events = self.events.iter().filter(|event| event.version > position).peekable();
        while let Some(event) = events.next() {
            // Only the last event of a version has its id, so a reader whose stream breaks among events of
            // one version receives all of them again.
            let is_last = events.peek().is_none_or(|next| next.version != event.version);
            text.push_str(&event.to_text(is_last));
        }
        Replay::Events(text, to)
    }
}

impl BufferedEvent {
    fn new(event: &LiveEvent) -> Self {
        let LiveEvent { id, kind: what } = event;
        Self { version: *id, name: what.name(), data: what.data() }
    }

    /// The event as it is sent.
    fn to_text(&self, with_id: bool) -> String {
        let Self { version, name, data } = self;
        let id = if with_id { format!("id: {version}\n") } else { String::new() };
        format!("event: {name}\n{id}data: {data}\n\n")
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::CommentId;
    use gailou_shared::wire::{LiveEventKind, RemovedComment};
    use proptest::prelude::*;

    use super::*;

    fn doc(version: u64, reset: bool, ids: &[u64]) -> LiveEventPage {
        let what = |id: u64| LiveEventKind::Removed(RemovedComment { id: CommentId::new(id).unwrap() });
        let events = ids.iter().map(|id| LiveEvent { id: *id, kind: what(*id) }).collect();
        LiveEventPage { version, reset, events }
    }

    fn ids(text: &str) -> Vec<u64> {
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
    }

    #[test]
    fn reader_far_behind_receives_events_or_reset() {
        let mut buffer = ReplayBuffer::default();
        assert_eq!(buffer.claim_poll(Some(10), 1), Some(Some(10)));
        assert_eq!(buffer.claim_poll(Some(10), ORIGIN_POLL_INTERVAL_MS), None, "polled already");
        buffer.apply(Some(10), &doc(12, false, &[11, 12]));
        let Replay::Events(text, 12) = buffer.replay_after(10, 0, 1) else { panic!() };
        assert_eq!(
            text,
            "event: removed\nid: 11\ndata: {\"id\":\"11\"}\n\nevent: removed\nid: 12\ndata: {\"id\":\"12\"}\n\n"
        );
        assert_eq!(buffer.replay_after(12, 0, 1), Replay::Nothing);
        // A reader from longer ago: the next poll is for it.
        assert_eq!(buffer.replay_after(7, 0, 1), Replay::Nothing);
        assert_eq!(buffer.claim_poll(None, 1 + ORIGIN_POLL_INTERVAL_MS), Some(Some(7)));
        buffer.apply(Some(7), &doc(13, false, &[8, 9, 10, 11, 12, 13]));
        let Replay::Events(text, 13) = buffer.replay_after(7, 0, 1) else { panic!() };
        assert_eq!(ids(&text), [8, 9, 10, 11, 12, 13]);
        // From too long ago: a reset, and the others lose nothing.
        assert_eq!(buffer.replay_after(2, 0, 1), Replay::Nothing);
        assert_eq!(
            buffer.claim_poll(None, 1 + 2 * ORIGIN_POLL_INTERVAL_MS),
            Some(Some(13)),
            "the poll of all readers is next"
        );
        buffer.apply(Some(13), &doc(13, false, &[]));
        assert_eq!(buffer.replay_after(2, 0, 1), Replay::Nothing);
        assert_eq!(buffer.claim_poll(None, 9_999), Some(Some(2)));
        buffer.apply(Some(2), &doc(14, true, &[]));
        assert_eq!(
            (buffer.replay_after(2, 0, 1), buffer.replay_after(1, 0, 1)),
            (Replay::Reset(13), Replay::Reset(13))
        );
        let Replay::Events(text, 13) = buffer.replay_after(9, 0, 1) else { panic!() };
        assert_eq!(ids(&text), [10, 11, 12, 13]);
    }

    #[test]
    fn readers_with_ever_other_old_versions_do_not_starve_the_others() {
        let mut buffer = ReplayBuffer::default();
        buffer.apply(Some(100), &doc(100, false, &[]));
        let mut reader = 100;
        for n in 1..=20 {
            let version = 100 + n;
            assert_eq!(buffer.replay_after(n, 0, 0), Replay::Nothing, "another from long ago");
            let after = buffer.claim_poll(Some(n), n * ORIGIN_POLL_INTERVAL_MS).unwrap().unwrap();
            let events: Vec<_> = (after + 1..=version).collect();
            // The origin cannot continue from so long ago.
            if after < 100 {
                buffer.apply(Some(after), &doc(version, true, &[]))
            } else {
                buffer.apply(Some(after), &doc(version, false, &events))
            }
            if let Replay::Events(_, to) = buffer.replay_after(reader, 0, 0) {
                reader = to;
            }
            assert!(reader + 1 >= version, "{reader} of {version}");
        }
    }

    #[test]
    fn only_the_last_event_of_a_version_has_its_id() {
        let mut buffer = ReplayBuffer::default();
        buffer.apply(Some(10), &doc(12, false, &[11, 11, 12, 12, 12]));
        let Replay::Events(text, 12) = buffer.replay_after(10, 0, 1) else { panic!() };
        let events: Vec<_> = text.split_terminator("\n\n").map(ids).collect();
        assert_eq!(events, [vec![], vec![11], vec![], vec![], vec![12]]);
    }

    #[test]
    fn reset_at_the_end_of_the_buffer_resets_readers_behind() {
        let mut buffer = ReplayBuffer::default();
        buffer.apply(Some(0), &doc(5, false, &[5]));
        buffer.apply(Some(5), &doc(90, true, &[]));
        assert_eq!((buffer.replay_after(5, 0, 0), buffer.replay_after(90, 0, 0)), (Replay::Reset(90), Replay::Nothing));
        // The version of an origin restored from a backup is lower than that of its readers.
        assert_eq!(
            (buffer.replay_after(99, 0, MAX_AHEAD_MS), buffer.replay_after(99, 0, MAX_AHEAD_MS + 1)),
            (Replay::Nothing, Replay::Reset(90))
        );
    }

    #[test]
    fn unreached_version_resets_at_once() {
        let mut buffer = ReplayBuffer::default();
        buffer.apply(Some(99), &doc(5, true, &[]));
        assert_eq!((buffer.replay_after(99, 0, 0), buffer.replay_after(5, 0, 0)), (Replay::Reset(5), Replay::Nothing));
    }

    #[test]
    fn failed_polls_back_off() {
        let mut buffer = ReplayBuffer::default();
        let mut now = 1;
        let mut waits = Vec::new();
        for _ in 0..7 {
            let began = now;
            while buffer.claim_poll(None, now).is_none() {
                now += 1_000;
            }
            waits.push(now - began);
            buffer.record_failure();
        }
        assert_eq!(waits, [0, 4_000, 8_000, 16_000, 32_000, 32_000, 32_000]);
    }

    proptest! {
        /// Readers at any versions, an origin that remembers a limited history, polls in any order.
        #[test]
        fn every_reader_receives_every_event(
            remembers in 1u64..400, start in 0u64..50,
            steps in prop::collection::vec((0u64..60, 0usize..4), 1..80)
        ) {
            let (mut buffer, mut version, mut now) = (ReplayBuffer::default(), 100, 1);
            let mut readers: Vec<(u64, Vec<u64>, u64)> = (0..4).map(|n| {
                let from = start + 20 * n;
                (from, Vec::new(), from)
            }).collect();
            for (grown, reader_index) in steps {
                version += grown;
                now += ORIGIN_POLL_INTERVAL_MS;
                let (position, seen, from) = &mut readers[reader_index];
                if let Some(after) = buffer.claim_poll(Some(*position), now) {
                    let from = after.unwrap();
                    let lost = from > version || version - from > remembers;
                    let events: Vec<_> = if lost { vec![] } else { (from + 1..=version).collect() };
                    buffer.apply(after, &doc(version, lost, &events));
                }
                match buffer.replay_after(*position, now, now) {
                    Replay::Nothing => {}
                    Replay::Events(text, to) => {
                        seen.extend(ids(&text));
                        prop_assert!(to > *position);
                        *position = to;
                    }
                    Replay::Reset(to) => {
                        seen.clear();
                        (*position, *from) = (to, to);
                    }
                }
                prop_assert_eq!(&*seen, &(*from + 1..=*position).collect::<Vec<_>>());
                prop_assert!(buffer.events.len() <= MAX_BUFFERED_EVENTS);
            }
        }
    }
}
