//! A database of the origin that is away, or has gone back: the pages of others.

use gailou_shared::id::Slot;
use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::SlotsAhead;

use super::*;

/// A comment of the second slot; those of other tests are in the first.
const ELSEWHERE: u64 = (1 << 12) + 5;
const OTHER_LIST: &str = "/v1/subjects/article/8/comments";
const BOTH: &str = "/v1/members/7/comments";

fn first_slot() -> SlotSet {
    [Slot::FIRST].into_iter().collect()
}

/// A bed with a page of each slot and one of both.
fn warm_slots() -> EdgeTestBed {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    for (path, shows) in [(LIST, &[(5, 1)][..]), (OTHER_LIST, &[(ELSEWHERE, 1)]), (BOTH, &[(5, 1), (ELSEWHERE, 1)])] {
        bed.set_answer(showing("before", START_MS, shows, 86_400));
        assert_eq!(bed.get(path).body, "before");
        bed.tasks.drain();
    }
    assert!(!bed.get(LIST).is_stale());
    bed.tasks.drain();
    bed.set_answer(showing("after", START_MS + 1_000, &[], 86_400));
    bed
}

#[test]
fn pages_of_databases_that_answer_stay_fresh() {
    let mut bed = warm_slots();
    lock(&bed.origin.changes).away = Some((first_slot(), START_MS));
    for (waited_ms, restarts) in [(4_000, false), (2_500, false), (1_000, true), (600_000, false), (600_000, true)] {
        bed.advance_ms(waited_ms);
        if restarts {
            bed.restart_isolate();
        }
        for (path, is_stale) in [(LIST, true), (OTHER_LIST, false), (BOTH, true), (OTHER_LIST, false)] {
            let answer = bed.get(path);
            assert_eq!((answer.body.as_str(), answer.is_stale()), ("before", is_stale), "{path} after {waited_ms} ms");
            bed.tasks.drain();
        }
        let asked = bed.drain_feed_requests();
        assert!(asked.len() <= 3, "{asked:?}");
    }
    // A takedown of the one that answers is seen, one of the other when it is back.
    bed.take_down(ELSEWHERE, 2);
    bed.take_down(5, 2);
    bed.advance_ms(3_000);
    assert_eq!((bed.get(LIST).body.as_str(), bed.get(LIST).is_stale()), ("before", true));
    assert_eq!((bed.get(OTHER_LIST).body.as_str(), bed.get(OTHER_LIST).is_stale()), ("after", false));
    assert_eq!(bed.get(BOTH).body, "after");
    lock(&bed.origin.changes).away = None;
    bed.advance_ms(3_000);
    bed.set_answer(showing("back", bed.clock_ms(), &[], 86_400));
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale()), ("back", false));
}

#[test]
fn database_that_has_gone_back_voids_its_own_pages() {
    let mut known = KnownChanges::new();
    let day = 86_400_000;
    let copy = |asked_ms: u64, since: u64, ahead_since: Option<u64>| {
        let slots = SlotSet::all().without(&first_slot());
        let ahead = ahead_since.map(|since| SlotsAhead { slots, now: asked_ms, since, behind: 0 });
        let document = ChangeFeedPage::new(asked_ms, since, 0, 0, vec![]).with_ahead(ahead);
        StoredFeedPage { asked_ms, document }
    };
    known.apply(Some(&copy(START_MS, START_MS - day, None)), None);
    let page = |id, made_ms| CachedPage::from_origin(&showing("x", made_ms, &[(id, 1)], 60), START_MS).unwrap();
    let (here, elsewhere) = (page(5, START_MS - 1), page(ELSEWHERE, START_MS - 1));
    assert!(!known.voids(&here) && !known.voids(&elsewhere));
    let generation = known.generation;
    let later = START_MS + 2_000;
    let tail = copy(later, later + 10_000, Some(later - 120_000));
    assert!(!known.connects_to(&tail.document), "what it was before is not known");
    known.apply(Some(&copy(later, later + 10_000, Some(later - day))), Some(&tail));
    assert!(known.generation > generation);
    assert!(known.voids(&here) && !known.voids(&elsewhere) && !known.voids(&page(5, later + 10_000)));
    assert!(known.connects_to(&copy(later + 2_000, later + 10_000, Some(later - 118_000)).document));
    // Two minutes later the tail says nothing of it.
    let end = later + 130_001;
    known.apply(None, Some(&copy(later + 60_000, later + 10_000, Some(later - 60_000))));
    known.apply(None, Some(&copy(end, end - 120_000, None)));
    assert!(known.voids(&here) && !known.voids(&elsewhere) && known.as_of_ms == end);
}
