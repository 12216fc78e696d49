//! Void subjects, and what an isolate does with more changes than it keeps.

use gailou_shared::wire::VoidSubject;

use super::*;
use crate::change_feed::known_changes::MAX_CHANGES_WITHOUT_DAY;

/// Rows of one version with growing ids.
fn many_rows(from: u64, count: usize) -> Vec<ChangedComment> {
    (from..).take(count).map(|id| ChangedComment { id: CommentId::new(id).unwrap(), version: 1 }).collect()
}

#[test]
fn void_subject_voids_its_own_older_pages_alone() {
    let mut known = KnownChanges::new();
    let document = ChangeFeedPage::new(1_000, 100, 0, 0, vec![]);
    let document = document.with_subjects(vec![VoidSubject { tag: 1, before: 5 }]);
    known.restart_from_day(&StoredFeedPage { asked_ms: 1_000, document });
    let check = |shows: &[(u64, u64)], is_void: bool| {
        let page = CachedPage::from_origin(&showing("x", START_MS, shows, 60), START_MS).unwrap();
        assert_eq!(known.voids(&page), is_void, "{shows:?}");
    };
    // The subject of comment 1, 4 and 7 is 1.
    check(&[(1, 4)], true);
    check(&[(1, 5)], false);
    check(&[(1, 9), (4, 4)], true);
    check(&[(2, 1), (3, 1)], false);
    check(&[(2, 1), (7, 4)], true);
    check(&[], false);
    // What is known goes on in the day's page for other colos.
    (known.since_ms, known.now_ms) = (0, 2 * 86_400_000);
    let day = known.to_day_page(0).unwrap();
    assert_eq!(day.document.subjects, [VoidSubject { tag: 1, before: 5 }]);
}

#[test]
fn many_changes_are_replaced_by_a_day_page() {
    let mut known = KnownChanges::default();
    let copy =
        |now, since, rows| StoredFeedPage { asked_ms: now, document: ChangeFeedPage::new(now, since, 0, 0, rows) };
    known.restart_from_day(&copy(1_000, 900, many_rows(1, 10_000)));
    known.merge(&copy(1_050, 950, many_rows(10_001, 10_000)));
    assert_eq!((known.rows.len(), known.since_ms, known.replaceable_from()), (MAX_KNOWN_CHANGES, 900, None));
    known.merge(&copy(1_060, 960, many_rows(20_001, 1)));
    assert_eq!((known.since_ms, known.replaceable_from()), (900, Some(1_060)), "no page becomes void");
    known.apply(Some(&copy(1_059, 10, many_rows(1, 5))), None);
    assert_eq!(known.rows.len(), MAX_KNOWN_CHANGES + 1, "a day's page that lacks the last change replaces nothing");
    known.apply(Some(&copy(1_060, 10, many_rows(1, 5))), Some(&copy(1_070, 970, many_rows(6, 1))));
    assert_eq!((known.rows.len(), known.since_ms, known.now_ms), (6, 10, 1_070));
}

#[test]
fn too_many_changes_without_a_day_page_void_all_older_pages() {
    let mut known = KnownChanges::default();
    let copy = |now, rows| StoredFeedPage { asked_ms: now, document: ChangeFeedPage::new(now, now - 100, 0, 0, rows) };
    known.restart_from_day(&copy(1_000, many_rows(1, 10_000)));
    for at in 1..4 {
        known.merge(&copy(1_000 + at, many_rows(at * 10_000 + 1, 10_000)));
    }
    assert_eq!((known.rows.len(), known.since_ms), (MAX_CHANGES_WITHOUT_DAY, 900));
    known.merge(&copy(1_060, many_rows(40_001, 1)));
    assert_eq!((known.rows.len(), known.since_ms, known.now_ms), (0, 1_060, 1_060));
}

#[test]
fn isolate_with_many_changes_asks_for_the_day() {
    let bed = warm();
    bed.advance_ms(1_000);
    let now = bed.clock_ms();
    let document = ChangeFeedPage::new(now, now - 120_000, 0, 0, many_rows(100, MAX_KNOWN_CHANGES + 1));
    lock(&bed.isolate.change_feed.known).merge(&StoredFeedPage { asked_ms: now, document });
    bed.advance_ms(3_000);
    assert_eq!((bed.get(LIST).body.as_str(), bed.drain_feed_requests()), ("with 5", vec![TAIL.into(), DAY.into()]));
    assert!(lock(&bed.isolate.change_feed.known).rows.is_empty());
    bed.tasks.drain();
    bed.advance_ms(3_000);
    assert_eq!((bed.get(LIST).body.as_str(), bed.drain_feed_requests()), ("with 5", vec![TAIL.to_owned()]));
}
