//! What an isolate knows of one subject's latest events. No IO and no clock of its own here.
//!
//! **Promise.** A reader is told every event after the version they name, or to begin anew: never
//! less than all without being told so.

use std::collections::VecDeque;

use gailou_shared::wire::{EventsDoc, LiveEvent};

/// Events kept of a subject: at ten a second, 20 s of them, several times what streams are behind.
const MOST: usize = 200;
/// How often the origin is asked, in milliseconds.
pub const EVERY_MS: u64 = 2_000;
/// The longest wait after failures, in milliseconds.
const BACK_OFF_MS: u64 = 32_000;
/// How long a reader may be ahead of all that is known before that is taken for a restored origin,
/// in milliseconds. Longer than a colo's copy can be behind.
const AHEAD_MS: u64 = 30_000;

/// One event.
#[derive(Debug, Clone)]
struct Kept {
    version: u64,
    name: &'static str,
    data: String,
}

/// The events of one subject.
#[derive(Debug, Default)]
pub struct Ring {
    /// Where `kept` begins and ends; `None` before the first answer.
    span: Option<(u64, u64)>,
    kept: VecDeque<Kept>,
    /// The oldest version a reader waits to be led on from, older than what is kept.
    wanted: Option<u64>,
    /// The last question was asked for `wanted`.
    led_on: bool,
    /// The origin knows no way on from here and from anything older.
    lost: Option<u64>,
    /// The origin has not come as far as this, whatever a reader says.
    beyond: Option<u64>,
    asked_ms: u64,
    failures: u32,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing yet.
    None,
    /// These, as they are sent; everything up to the version.
    Events(String, u64),
    /// Something is missing: begin anew, from the version.
    Reset(u64),
}

impl Ring {
    /// Whether it is time to ask the origin, and if so, that it is being done: from which version,
    /// `None` for what the origin calls now.
    pub fn claim(&mut self, position: Option<u64>, now_ms: u64) -> Option<Option<u64>> {
        let wait = EVERY_MS.saturating_mul(1 << self.failures.min(8)).min(BACK_OFF_MS);
        if self.asked_ms != 0 && now_ms.saturating_sub(self.asked_ms) < wait {
            return None;
        }
        self.asked_ms = now_ms.max(1);
        let known = self.span.map(|(_, to)| to);
        // Never twice in a row: whoever comes with ever other old versions takes every second
        // question at most, and not what is new from everybody else.
        let wanted = if self.led_on { None } else { self.wanted };
        self.led_on = wanted.is_some();
        Some(wanted.or(known).or(position))
    }

    /// Whether the origin has ever answered.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.span.is_some()
    }

    /// Notes that the origin did not answer.
    pub fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// Takes over what the origin said to `after`.
    pub fn take(&mut self, after: Option<u64>, doc: &EventsDoc) {
        self.failures = 0;
        self.wanted = None;
        let after = after.unwrap_or(doc.version);
        let new: Vec<_> = doc.events.iter().map(Kept::new).filter(|event| event.version > after).collect();
        match self.span {
            _ if doc.reset => {
                self.lost = self.lost.max(Some(after.min(doc.version)));
                self.beyond = (after > doc.version).then_some(after);
                if self.span.is_none_or(|(_, to)| to <= after) {
                    // The way on from where this ring ended is lost.
                    self.kept.clear();
                    self.span = Some((doc.version, doc.version));
                }
            }
            None => {
                self.kept = new.into();
                self.span = Some((after, doc.version.max(after)));
            }
            Some((from, to)) if after <= to && doc.version >= from => {
                // Answers that overlap agree: they are parts of one history.
                let (older, newer) = (new.iter().filter(|e| e.version <= from), new.iter().filter(|e| e.version > to));
                self.kept = older.chain(&self.kept).chain(newer).cloned().collect();
                self.span = Some((from.min(after), to.max(doc.version)));
            }
            // It does not reach what is kept: who waits for it is too far behind.
            Some(_) => self.lost = self.lost.max(Some(after)),
        }
        self.bound();
    }

    fn bound(&mut self) {
        while self.kept.len() > MOST {
            let Some(first) = self.kept.pop_front() else { return };
            // Events of one version go together.
            while self.kept.front().is_some_and(|event| event.version == first.version) {
                self.kept.pop_front();
            }
            self.span = self.span.map(|(_, to)| (first.version, to));
        }
    }

    /// What comes after `position` for a reader who is there since `since_ms`.
    pub fn after(&mut self, position: u64, since_ms: u64, now_ms: u64) -> News {
        let Some((from, to)) = self.span else { return News::None };
        if position > to {
            let is_late = now_ms.saturating_sub(since_ms) > AHEAD_MS && self.failures == 0;
            let is_lost = self.beyond.is_some_and(|beyond| position >= beyond);
            return if is_late || is_lost { News::Reset(to) } else { News::None };
        }
        if position < from {
            if self.lost.is_some_and(|lost| position <= lost) {
                return News::Reset(to);
            }
            self.wanted = Some(self.wanted.map_or(position, |wanted| wanted.min(position)));
            return News::None;
        }
        if position == to {
            return News::None;
        }
        let (mut text, mut events) =
            (String::new(), self.kept.iter().filter(|event| event.version > position).peekable());
        while let Some(event) = events.next() {
            // Events of one version go together: the last of them says it, so that a reader whose
            // stream breaks among them is told all of them again.
            let is_last = events.peek().is_none_or(|next| next.version != event.version);
            text.push_str(&event.text(is_last));
        }
        News::Events(text, to)
    }

    /// Where a reader begins who names no version.
    #[must_use]
    pub fn now(&self) -> Option<u64> {
        self.span.map(|(_, to)| to)
    }
}

impl Kept {
    fn new(event: &LiveEvent) -> Self {
        let LiveEvent { id, what } = event;
        Self { version: *id, name: what.name(), data: what.data() }
    }

    /// As it is sent.
    fn text(&self, with_version: bool) -> String {
        let Self { version, name, data } = self;
        let id = if with_version { format!("id: {version}\n") } else { String::new() };
        format!("event: {name}\n{id}data: {data}\n\n")
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::CommentId;
    use gailou_shared::wire::{Gone, What};
    use proptest::prelude::*;

    use super::*;

    fn doc(version: u64, reset: bool, ids: &[u64]) -> EventsDoc {
        let what = |id: u64| What::Removed(Gone { id: CommentId::new(id).unwrap() });
        let events = ids.iter().map(|id| LiveEvent { id: *id, what: what(*id) }).collect();
        EventsDoc { version, reset, events }
    }

    fn ids(text: &str) -> Vec<u64> {
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
    }

    #[test]
    fn a_reader_far_behind_is_led_on_or_told() {
        let mut ring = Ring::default();
        assert_eq!(ring.claim(Some(10), 1), Some(Some(10)));
        assert_eq!(ring.claim(Some(10), EVERY_MS), None, "asked already");
        ring.take(Some(10), &doc(12, false, &[11, 12]));
        let News::Events(text, 12) = ring.after(10, 0, 1) else { panic!() };
        assert_eq!(
            text,
            "event: removed\nid: 11\ndata: {\"id\":\"11\"}\n\nevent: removed\nid: 12\ndata: {\"id\":\"12\"}\n\n"
        );
        assert_eq!(ring.after(12, 0, 1), News::None);
        // Someone comes from longer ago: the next question is theirs.
        assert_eq!(ring.after(7, 0, 1), News::None);
        assert_eq!(ring.claim(None, 1 + EVERY_MS), Some(Some(7)));
        ring.take(Some(7), &doc(13, false, &[8, 9, 10, 11, 12, 13]));
        let News::Events(text, 13) = ring.after(7, 0, 1) else { panic!() };
        assert_eq!(ids(&text), [8, 9, 10, 11, 12, 13]);
        // From too long ago: told so, and the others have lost nothing.
        assert_eq!(ring.after(2, 0, 1), News::None);
        assert_eq!(ring.claim(None, 1 + 2 * EVERY_MS), Some(Some(13)), "everybody's turn");
        ring.take(Some(13), &doc(13, false, &[]));
        assert_eq!(ring.after(2, 0, 1), News::None);
        assert_eq!(ring.claim(None, 9_999), Some(Some(2)));
        ring.take(Some(2), &doc(14, true, &[]));
        assert_eq!((ring.after(2, 0, 1), ring.after(1, 0, 1)), (News::Reset(13), News::Reset(13)));
        let News::Events(text, 13) = ring.after(9, 0, 1) else { panic!() };
        assert_eq!(ids(&text), [10, 11, 12, 13]);
    }

    #[test]
    fn who_comes_with_ever_other_old_versions_does_not_keep_news_from_the_others() {
        let mut ring = Ring::default();
        ring.take(Some(100), &doc(100, false, &[]));
        let mut reader = 100;
        for n in 1..=20 {
            let version = 100 + n;
            assert_eq!(ring.after(n, 0, 0), News::None, "one more from long ago");
            let after = ring.claim(Some(n), n * EVERY_MS).unwrap().unwrap();
            let events: Vec<_> = (after + 1..=version).collect();
            // The origin knows no way on from so long ago.
            if after < 100 {
                ring.take(Some(after), &doc(version, true, &[]))
            } else {
                ring.take(Some(after), &doc(version, false, &events))
            }
            if let News::Events(_, to) = ring.after(reader, 0, 0) {
                reader = to;
            }
            assert!(reader + 1 >= version, "{reader} of {version}");
        }
    }

    #[test]
    fn a_stream_that_breaks_within_a_commit_is_told_all_of_it_again() {
        let mut ring = Ring::default();
        ring.take(Some(10), &doc(12, false, &[11, 11, 12, 12, 12]));
        let News::Events(text, 12) = ring.after(10, 0, 1) else { panic!() };
        let events: Vec<_> = text.split_terminator("\n\n").map(ids).collect();
        assert_eq!(events, [vec![], vec![11], vec![], vec![], vec![12]]);
    }

    #[test]
    fn a_chain_that_broke_at_its_end_resets_everybody_behind() {
        let mut ring = Ring::default();
        ring.take(Some(0), &doc(5, false, &[5]));
        ring.take(Some(5), &doc(90, true, &[]));
        assert_eq!((ring.after(5, 0, 0), ring.after(90, 0, 0)), (News::Reset(90), News::None));
        // An origin that was restored from a backup counts lower than its readers.
        assert_eq!((ring.after(99, 0, AHEAD_MS), ring.after(99, 0, AHEAD_MS + 1)), (News::None, News::Reset(90)));
    }

    #[test]
    fn a_version_nobody_has_given_resets_at_once() {
        let mut ring = Ring::default();
        ring.take(Some(99), &doc(5, true, &[]));
        assert_eq!((ring.after(99, 0, 0), ring.after(5, 0, 0)), (News::Reset(5), News::None));
    }

    #[test]
    fn failures_are_asked_about_ever_later() {
        let mut ring = Ring::default();
        let mut now = 1;
        let mut waits = Vec::new();
        for _ in 0..7 {
            let began = now;
            while ring.claim(None, now).is_none() {
                now += 1_000;
            }
            waits.push(now - began);
            ring.failed();
        }
        assert_eq!(waits, [0, 4_000, 8_000, 16_000, 32_000, 32_000, 32_000]);
    }

    proptest! {
        /// Readers at any versions, an origin that remembers only so far back, questions in any order.
        #[test]
        fn nobody_misses_an_event(
            remembers in 1u64..400, start in 0u64..50,
            steps in prop::collection::vec((0u64..60, 0usize..4), 1..80)
        ) {
            let (mut ring, mut version, mut now) = (Ring::default(), 100, 1);
            let mut readers: Vec<(u64, Vec<u64>, u64)> = (0..4).map(|n| {
                let from = start + 20 * n;
                (from, Vec::new(), from)
            }).collect();
            for (grown, who) in steps {
                version += grown;
                now += EVERY_MS;
                let (position, seen, from) = &mut readers[who];
                if let Some(after) = ring.claim(Some(*position), now) {
                    let from = after.unwrap();
                    let lost = from > version || version - from > remembers;
                    let events: Vec<_> = if lost { vec![] } else { (from + 1..=version).collect() };
                    ring.take(after, &doc(version, lost, &events));
                }
                match ring.after(*position, now, now) {
                    News::None => {}
                    News::Events(text, to) => {
                        seen.extend(ids(&text));
                        prop_assert!(to > *position);
                        *position = to;
                    }
                    News::Reset(to) => {
                        seen.clear();
                        (*position, *from) = (to, to);
                    }
                }
                prop_assert_eq!(&*seen, &(*from + 1..=*position).collect::<Vec<_>>());
                prop_assert!(ring.kept.len() <= MOST);
            }
        }
    }
}
