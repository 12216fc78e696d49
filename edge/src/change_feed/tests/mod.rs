//! Takedowns, outages and gaps of the change feed, through the whole edge.

mod bounds;
mod slots_ahead;

use super::*;
use crate::EdgeConfig;
use crate::lock;
use crate::testing::{EdgeTestBed, START_MS, origin_answer, stepping};
use gailou_shared::cache_tags::{CacheTags, TaggedComment};
use gailou_shared::id::CommentId;
use gailou_shared::wire::{ChangeFeedPage, ChangedComment};
use proptest::prelude::*;

const LIST: &str = "/v1/subjects/article/7/comments";
const DAY: &str = "/v1/edge/changes?day=1";
const TAIL: &str = ChangeFeedPage::ROUTE_PATH;

/// The origin's answer with a page that shows these comments at these versions.
fn showing(body: &str, made_ms: u64, shows: &[(u64, u64)], fresh: u32) -> crate::ports::OriginResponse {
    let shows = shows.iter().map(|&(id, version)| TaggedComment { subject: id % 3, id, version });
    let shows = CacheTags::new(shows).unwrap().encode();
    let headers = [
        ("cdn-cache-control", &*format!("max-age={fresh}, stale-while-revalidate=86400, stale-if-error=86400")),
        ("etag", &format!("\"{body}\"")),
        ("x-gailou-shows", &shows),
        ("x-gailou-made", &made_ms.to_string()),
        ("x-gailou-version", "1"),
    ];
    origin_answer(200, body, &headers)
}

/// A bed whose memory and stores all hold a page with comment 5, for longer than any test.
fn warm() -> EdgeTestBed {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.set_answer(showing("with 5", START_MS, &[(5, 1), (6, 1)], 86_400));
    for _ in 0..2 {
        assert_eq!(bed.get(LIST).body, "with 5");
        bed.tasks.drain();
    }
    bed.set_answer(showing("without 5", START_MS + 1_000, &[(6, 1)], 86_400));
    bed.drain_requests();
    bed.drain_feed_requests();
    bed
}

#[test]
fn comment_taken_down_disappears_after_the_next_refresh() {
    let bed = warm();
    bed.advance_ms(500);
    bed.take_down(5, 2);
    bed.advance_ms(1_499);
    assert_eq!((bed.get(LIST).body.as_str(), bed.drain_feed_requests().len()), ("with 5", 0), "the feed is current");
    bed.advance_ms(1);
    assert_eq!(bed.get(LIST).body, "with 5");
    bed.tasks.drain();
    assert_eq!(bed.drain_feed_requests(), [TAIL], "refreshed after the answer");
    assert_eq!(bed.get(LIST).body, "without 5");
    assert_eq!(bed.drain_requests().len(), 1);
}

#[test]
fn void_page_is_not_confirmed_by_304() {
    let bed = warm();
    bed.take_down(5, 2);
    bed.advance_ms(3_000);
    let answer = bed.send("GET", LIST, &[("if-none-match", "\"with 5\"")], "");
    assert_eq!((answer.status, answer.body.as_str()), (200, "without 5"));
    let sent = bed.drain_requests();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].0.headers.get("if-none-match"), None, "a void page is not to be confirmed");
}

#[test]
fn isolate_that_slept_refreshes_the_feed_before_its_first_answer() {
    for slept_ms in [3_000, 119_000, 600_000, 3_600_000] {
        let bed = warm();
        bed.take_down(5, 2);
        bed.advance_ms(slept_ms);
        assert_eq!(bed.get(LIST).body, "without 5");
        let expected = if slept_ms <= 120_000 { &[TAIL][..] } else { &[TAIL, DAY] };
        assert_eq!(bed.drain_feed_requests(), expected, "after {slept_ms} ms");
    }
}

#[test]
fn void_page_is_served_from_no_cache() {
    let mut bed = warm();
    bed.take_down(5, 2);
    bed.advance_ms(600_000);
    // The origin answers the feed and fails everything else.
    bed.set_answer(origin_answer(503, "{}", &[("content-type", "application/problem+json")]));
    for _ in 0..2 {
        for _ in 0..2 {
            assert_eq!(bed.get(LIST).status, 503);
            bed.tasks.drain();
            bed.advance_ms(10_000);
        }
        bed.restart_isolate();
    }
    assert!(lock(&bed.colo_cache.values).contains_key(LIST) && lock(&bed.global_store.values).contains_key(LIST));
    // The same comment, restored or edited.
    bed.set_answer(showing("with 5 again", bed.clock_ms(), &[(5, 2)], 86_400));
    assert_eq!(bed.get(LIST).body, "with 5 again");
    bed.tasks.drain();
    bed.restart_isolate();
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale()), ("with 5 again", false));
}

#[test]
fn page_older_than_the_feed_is_void() {
    let mut bed = warm();
    bed.restart_isolate();
    lock(&bed.colo_cache.values).remove(TAIL);
    bed.advance_ms(26 * 3_600_000);
    // As if it was stored by a machine with a wrong clock.
    let page = CachedPage::from_origin(&showing("old", START_MS, &[], 86_400), bed.clock_ms()).unwrap();
    lock(&bed.colo_cache.values).insert(LIST.into(), page.encode().unwrap());
    assert_eq!(bed.get(LIST).status, 503, "a page that the origin made a day ago is void too");
    bed.set_answer(showing("new", bed.clock_ms(), &[], 86_400));
    assert_eq!(bed.get(LIST).body, "new");
}

#[test]
fn pages_are_marked_stale_without_the_feed() {
    let bed = warm();
    lock(&bed.origin.changes).down = true;
    bed.take_down(5, 2);
    bed.advance_ms(2_000);
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale()), ("with 5", false), "not yet too old");
    bed.advance_ms(1_000);
    for _ in 0..10 {
        let answer = bed.get(LIST);
        assert_eq!((answer.body.as_str(), answer.is_stale()), ("with 5", true));
    }
    assert_eq!(bed.drain_feed_requests().len(), 1, "one failed, and the others do not wait for that");
    assert_eq!(bed.send("GET", LIST, &[("if-none-match", "\"with 5\"")], "").header("x-gailou-stale"), "1");
    bed.tasks.drain();
    bed.drain_feed_requests();
    for _ in 0..4 {
        bed.advance_ms(1_500);
        assert!(bed.get(LIST).is_stale());
        bed.tasks.drain();
        assert_eq!(bed.drain_feed_requests().len(), 1, "one probe a second");
    }
    lock(&bed.origin.changes).down = false;
    bed.advance_ms(1_500);
    assert!(bed.get(LIST).is_stale());
    bed.tasks.drain();
    assert_eq!(bed.get(LIST).body, "without 5");
    assert_eq!(bed.drain_requests().len(), 1);
}

#[test]
fn void_answer_of_the_origin_is_fetched_again() {
    let bed = warm();
    bed.take_down(5, 2);
    bed.advance_ms(3_000);
    bed.set_answer(showing("with 5 still", bed.clock_ms(), &[(5, 1)], 60));
    let began = bed.clock_ms();
    let answer = bed.get(LIST);
    assert_eq!((answer.status, answer.code().as_str(), answer.header("retry-after")), (503, "unavailable", "1"));
    let sent = bed.drain_requests();
    assert_eq!((sent.len(), bed.clock_ms() - began), (2, 300));
    assert_eq!(sent[1].0.headers.get("cache-control").unwrap(), "no-cache");
}

#[test]
fn isolate_that_starts_in_an_outage_reads_the_colos_feed() {
    let mut bed = warm();
    bed.advance_ms(300_000);
    bed.take_down(5, 2);
    bed.advance_ms(1);
    bed.get("/t/article/7");
    bed.advance_ms(2_500);
    bed.get("/t/article/7");
    bed.tasks.drain();
    bed.stop_origin();
    for slept_ms in [4_000, 600_000, 3_600_000] {
        bed.advance_ms(slept_ms);
        bed.restart_isolate();
        assert_eq!(bed.get(LIST).status, 503, "after {slept_ms} ms");
        let answer = bed.get("/t/article/7");
        assert_eq!((answer.body.as_str(), answer.is_stale()), ("without 5", true));
    }
}

#[test]
fn lag_of_the_feed_counts_as_age() {
    let bed = warm();
    lock(&bed.origin.changes).behind_ms = 600;
    bed.advance_ms(3_000);
    assert!(!bed.get(LIST).is_stale());
    bed.drain_feed_requests();
    bed.advance_ms(1_399);
    assert!(!bed.get(LIST).is_stale() && bed.tasks.drain() == 1 && bed.drain_feed_requests().is_empty());
    bed.advance_ms(1);
    assert!(!bed.get(LIST).is_stale() && bed.tasks.drain() > 0 && bed.drain_feed_requests().len() == 1);
    // The origin answers, but cannot read its database.
    lock(&bed.origin.changes).behind_ms = 5_000;
    bed.advance_ms(3_000);
    assert!(bed.get(LIST).is_stale());
}

#[test]
fn isolates_of_a_colo_share_one_request() {
    let mut bed = warm();
    for _ in 0..5 {
        bed.restart_isolate();
        assert!(!bed.get(LIST).is_stale());
    }
    assert!(bed.drain_feed_requests().is_empty(), "the copies of tail and day are there");
    bed.advance_ms(2_000);
    for _ in 0..5 {
        bed.restart_isolate();
        assert!(!bed.get(LIST).is_stale());
        bed.tasks.drain();
    }
    assert_eq!(bed.drain_feed_requests(), [TAIL]);
    bed.advance_ms(130_000);
    for _ in 0..5 {
        bed.restart_isolate();
        bed.get(LIST);
        bed.tasks.drain();
    }
    assert_eq!(bed.drain_feed_requests(), [TAIL, DAY]);
}

#[test]
fn page_from_the_origin_needs_no_feed() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.set_answer(showing("x", START_MS, &[], 0));
    for _ in 0..3 {
        assert_eq!(bed.get("/v1/comments/6").body, "x");
        bed.advance_ms(90_000_000);
        bed.set_answer(showing("x", bed.clock_ms(), &[], 0));
    }
    assert!(bed.drain_feed_requests().is_empty());
}

#[test]
fn tail_behind_a_gap_does_not_make_the_feed_younger() {
    let mut known = KnownChanges::default();
    let copy =
        |since, now| StoredFeedPage { asked_ms: now, document: ChangeFeedPage::new(now, since, 0, 0, Vec::new()) };
    known.restart_from_day(&copy(100, 1_000));
    known.merge(&copy(1_001, 1_200));
    assert_eq!((known.now_ms, known.as_of_ms), (1_000, 1_000), "nothing is known of a millisecond");
    known.merge(&copy(1_000, 1_200));
    assert_eq!((known.now_ms, known.as_of_ms), (1_200, 1_200));
    known.merge(&copy(500, 1_100));
    assert_eq!((known.now_ms, known.as_of_ms), (1_200, 1_200), "an older document changes nothing");
}

#[test]
fn one_request_refreshes_the_feed_and_the_others_poll_memory() {
    for comes in [true, false] {
        let bed = warm();
        bed.advance_ms(3_000);
        let (ports, origin) = stepping::holding_ports(&bed, TAIL);
        let mut readers: Vec<_> = (0..5).map(|_| stepping::PendingRead::new(&bed, &ports, LIST)).collect();
        assert!(readers.iter_mut().all(|reader| reader.step().is_none()));
        if comes {
            origin.release();
            assert!(!readers[0].step().unwrap().is_stale());
        }
        let began = bed.clock_ms();
        let answer = readers[1].steps(30).unwrap();
        let expected = if comes { 50 } else { 1_000 };
        assert_eq!((answer.body.as_str(), answer.is_stale(), bed.clock_ms() - began), ("with 5", !comes, expected));
        assert_eq!(bed.drain_feed_requests(), [TAIL]);
    }
}

#[test]
fn change_learnt_during_a_slow_refresh_is_kept() {
    let bed = warm();
    bed.advance_ms(600_000);
    let (ports, origin) = stepping::holding_ports(&bed, DAY);
    let mut first = stepping::PendingRead::new(&bed, &ports, LIST);
    assert!(first.step().is_none());
    assert_eq!(bed.drain_feed_requests(), [TAIL, DAY]);
    bed.take_down(5, 2);
    // The first refresh has timed out.
    bed.advance_ms(3_001);
    origin.hold("");
    assert_eq!(stepping::PendingRead::new(&bed, &ports, LIST).steps(9).unwrap().body, "without 5");
    origin.release();
    assert_eq!(first.steps(9).unwrap().body, "without 5");
    let page = CachedPage::from_origin(&showing("with 5", START_MS, &[(5, 1)], 60), bed.clock_ms()).unwrap();
    assert!(!bed.isolate.change_feed.allows(&page));
}

#[test]
fn colo_without_a_copy_reads_the_global_store_in_an_outage() {
    let mut bed = warm();
    let old = lock(&bed.colo_cache.values)[LIST].clone();
    bed.advance_ms(300_000);
    bed.take_down(5, 2);
    bed.advance_ms(3_000);
    assert_eq!(bed.get(LIST).body, "without 5");
    bed.tasks.drain();
    bed.stop_origin();
    bed.advance_ms(7_200_000);
    // The colo has no copy, or an old one, or its isolate slept.
    let before = StoredFeedPage {
        asked_ms: START_MS,
        document: ChangeFeedPage::new(START_MS, START_MS - 90_000_000, 0, 0, vec![]),
    };
    for (near, sleeps) in [(None, false), (Some(before.encode()), false), (None, true)] {
        bed.restart_isolate();
        let mut values = lock(&bed.colo_cache.values);
        values.clear();
        values.insert(LIST.into(), old.clone());
        values.extend(near.map(|near| (DAY.into(), near)));
        drop(values);
        if sleeps {
            lock(&bed.isolate.change_feed.known).restart_from_day(&before);
        }
        let answer = bed.get(LIST);
        assert_eq!((answer.body.as_str(), answer.is_stale()), ("without 5", true), "{sleeps}");
        bed.advance_ms(10_000);
    }
}

#[test]
fn day_is_written_to_the_global_store_once_a_minute() {
    let mut bed = warm();
    let puts = || bed.global_store.puts.load(Ordering::Relaxed);
    let before = puts();
    for _ in 0..13 {
        bed.get(LIST);
        bed.tasks.drain();
        bed.advance_ms(10_000);
    }
    assert_eq!(puts() - before, 2);
    let before = puts();
    bed.restart_isolate();
    bed.get(LIST);
    bed.tasks.drain();
    assert_eq!(bed.global_store.puts.load(Ordering::Relaxed), before, "another isolate just has");
}

#[test]
fn gap_between_day_and_tail_is_marked_stale() {
    let mut bed = warm();
    bed.advance_ms(300_000);
    bed.take_down(5, 2);
    bed.advance_ms(200_000);
    let copy = |path: &str| {
        let document = lock(&bed.origin.changes).document(path, bed.clock_ms());
        StoredFeedPage { asked_ms: bed.clock_ms(), document }.encode()
    };
    let (tail, day) = (copy(TAIL), copy(DAY));
    lock(&bed.colo_cache.values).insert(TAIL.into(), tail);
    lock(&bed.origin.changes).down = true;
    bed.restart_isolate();
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale()), ("with 5", true));
    lock(&bed.global_store.values).insert(DAY.into(), day);
    bed.restart_isolate();
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale()), ("without 5", false), "no gap any more");
}

#[test]
fn rows_newer_than_a_day_page_are_kept() {
    let mut known = KnownChanges::default();
    let copy = |since, now, ids: &[u64]| {
        let rows = ids.iter().map(|id| ChangedComment { id: CommentId::new(*id).unwrap(), version: 1 });
        StoredFeedPage { asked_ms: now, document: ChangeFeedPage::new(now, since, 0, 0, rows.collect()) }
    };
    known.restart_from_day(&copy(100, 1_000, &[1]));
    known.merge(&copy(1_100, 1_200, &[2]));
    known.apply(Some(&copy(100, 1_150, &[3])), None);
    assert!(known.rows.contains_key(&2) && known.rows.contains_key(&3));
    assert_eq!((known.since_ms, known.now_ms, known.as_of_ms), (100, 1_150, 1_150));
    known.apply(Some(&copy(200, 1_140, &[4])), Some(&copy(1_120, 1_300, &[5])));
    assert!(!known.rows.contains_key(&4), "it is not needed");
    assert_eq!((known.since_ms, known.now_ms), (100, 1_300));
    known.apply(Some(&copy(200, 2_000, &[6])), None);
    assert_eq!((known.rows.len(), known.since_ms, known.now_ms), (1, 200, 2_000));
}

proptest! {
    #[test]
    fn encoded_feed_page_decodes_to_itself(asked_ms in 0u64..1 << 42, now: u64, since: u64, rows: Vec<(u64, u64)>) {
        let rows = rows.into_iter().filter_map(|(id, version)| {
            Some(ChangedComment { id: CommentId::new(id).ok()?, version })
        });
        let copy = StoredFeedPage { asked_ms, document: ChangeFeedPage::new(now, since, 7, 3, rows.collect()) };
        prop_assert_eq!(StoredFeedPage::decode(&copy.encode(), asked_ms), Some(copy));
    }

    #[test]
    fn arbitrary_bytes_are_no_feed_page(bytes: Vec<u8>) {
        prop_assert_eq!(StoredFeedPage::decode(&bytes, 0), None);
    }

    /// After any sequence of events, five seconds after its takedown a comment is shown only on a page
    /// marked stale.
    #[test]
    fn comment_is_hidden_five_seconds_after_its_takedown(
        steps in prop::collection::vec((0u8..8, 0u64..20_000), 1..60),
        max_rows in prop::option::of(0usize..5),
    ) {
        let mut bed = EdgeTestBed::new(EdgeConfig::default());
        lock(&bed.origin.changes).max_rows = max_rows;
        // When each of the comments 1 to 8 was taken down.
        let mut down: std::collections::BTreeMap<u64, u64> = Default::default();
        let mut version = 1;
        let urls = [LIST, "/v1/comments/5", "/v1/comments/5/replies", "/t/article/7"];
        let fill = |bed: &EdgeTestBed, down: &std::collections::BTreeMap<u64, u64>, version: u64| {
            let shown: Vec<_> = (1..=8).filter(|id| !down.contains_key(id)).map(|id| (id, version)).collect();
            let body = shown.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(" ");
            let body = format!("shows {body}");
            bed.set_answer(showing(&body, bed.clock_ms(), &shown, 60));
        };
        fill(&bed, &down, version);
        for (what, n) in steps {
            match what {
                0 => bed.restart_isolate(),
                1 => { bed.tasks.drain(); }
                2 => {
                    version += 1;
                    let id = n % 8 + 1;
                    if down.insert(id, bed.clock_ms()).is_none() {
                        bed.take_down(id, version);
                    }
                }
                3 => { let down = n % 3 == 0; lock(&bed.origin.changes).down = down; }
                4 => { let mut colo = lock(&bed.colo_cache.values); if n % 2 == 0 { colo.clear() } else { colo.remove(TAIL); } }
                5 => bed.advance_ms(n),
                6 => bed.advance_ms(n * 50),
                _ => {}
            }
            fill(&bed, &down, version);
            let answer = bed.get(urls[n as usize % urls.len()]);
            prop_assert_eq!(answer.status, 200);
            let now = bed.clock_ms();
            for id in answer.body.split(' ').skip(1).filter_map(|id| id.parse::<u64>().ok()) {
                let shown_for = down.get(&id).map_or(0, |at| now - at);
                prop_assert!(shown_for <= 5_000 || answer.is_stale(), "{} ms after it was taken down", shown_for);
            }
        }
    }
}
