use super::*;
use crate::Config;
use crate::ports::doubles::{Answer, START_MS, Stage, of};
use gailou_shared::shows::Shows;
use gailou_shared::wire::Changed;
use proptest::prelude::*;

const LIST: &str = "/v1/subjects/article/7/comments";
const DAY: &str = "/v1/edge/changes?day=1";
const TAIL: &str = ChangesDoc::PATH;

/// What the origin answers: a page that shows these comments at these versions.
fn showing(body: &str, made_ms: u64, shows: &[(u64, u64)], fresh: u32) -> crate::ports::FromOrigin {
    let shows = Shows::new(shows.iter().copied()).unwrap().encode();
    let headers = [
        ("cdn-cache-control", &*format!("max-age={fresh}, stale-while-revalidate=86400, stale-if-error=86400")),
        ("etag", &format!("\"{body}\"")),
        ("x-gailou-shows", &shows),
        ("x-gailou-made", &made_ms.to_string()),
        ("x-gailou-version", "1"),
    ];
    of(200, body, &headers)
}

/// A stage whose places all hold a page with comment 5, for as long as the test may take.
fn warm() -> Stage {
    let stage = Stage::new(Config::default());
    stage.answers(showing("with 5", START_MS, &[(5, 1), (6, 1)], 86_400));
    for _ in 0..2 {
        assert_eq!(stage.get(LIST).body, "with 5");
        stage.later.drain();
    }
    stage.answers(showing("without 5", START_MS + 1_000, &[(6, 1)], 86_400));
    stage.sent();
    stage.feeds();
    stage
}

fn is_stale(answer: &Answer) -> bool {
    answer.header("x-gailou-stale") == "1"
}

#[test]
fn a_comment_taken_down_is_gone_after_the_next_look() {
    let stage = warm();
    stage.wait_ms(500);
    stage.takes_down(5, 2);
    stage.wait_ms(1_499);
    assert_eq!((stage.get(LIST).body.as_str(), stage.feeds().len()), ("with 5", 0), "the feed is current");
    stage.wait_ms(1);
    assert_eq!(stage.get(LIST).body, "with 5");
    stage.later.drain();
    assert_eq!(stage.feeds(), [TAIL], "refreshed after the answer");
    assert_eq!(stage.get(LIST).body, "without 5");
    assert_eq!(stage.sent().len(), 1);
}

#[test]
fn before_a_304_too() {
    let stage = warm();
    stage.takes_down(5, 2);
    stage.wait_ms(3_000);
    let answer = stage.send("GET", LIST, &[("if-none-match", "\"with 5\"")], "");
    assert_eq!((answer.status, answer.body.as_str()), (200, "without 5"));
    let sent = stage.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].0.headers.get("if-none-match"), None, "a void page is not to be confirmed");
}

#[test]
fn an_isolate_that_slept_asks_before_its_first_answer() {
    for slept_ms in [3_000, 119_000, 600_000, 3_600_000] {
        let stage = warm();
        stage.takes_down(5, 2);
        stage.wait_ms(slept_ms);
        assert_eq!(stage.get(LIST).body, "without 5");
        let expected = if slept_ms <= 120_000 { &[TAIL][..] } else { &[TAIL, DAY] };
        assert_eq!(stage.feeds(), expected, "after {slept_ms} ms");
    }
}

#[test]
fn a_void_page_is_served_from_nowhere() {
    let mut stage = warm();
    stage.takes_down(5, 2);
    stage.wait_ms(600_000);
    // The origin answers the feed, and nothing else.
    stage.answers(of(503, "{}", &[("content-type", "application/problem+json")]));
    for _ in 0..2 {
        for _ in 0..2 {
            assert_eq!(stage.get(LIST).status, 503);
            stage.later.drain();
            stage.wait_ms(10_000);
        }
        stage.restart();
    }
    assert!(lock(&stage.colo.values).contains_key(LIST) && lock(&stage.global.values).contains_key(LIST));
    // The same comment, given back or shown as it is now.
    stage.answers(showing("with 5 again", stage.clock_ms(), &[(5, 2)], 86_400));
    assert_eq!(stage.get(LIST).body, "with 5 again");
    stage.later.drain();
    stage.restart();
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), is_stale(&answer)), ("with 5 again", false));
}

#[test]
fn what_the_feed_does_not_reach_back_to_is_void() {
    let mut stage = warm();
    stage.restart();
    lock(&stage.colo.values).remove(TAIL);
    stage.wait_ms(26 * 3_600_000);
    // As though the clock of who stored it were wrong.
    let page = Page::from_origin(&showing("old", START_MS, &[], 86_400), stage.clock_ms()).unwrap();
    lock(&stage.colo.values).insert(LIST.into(), page.encode().unwrap());
    assert_eq!(stage.get(LIST).status, 503, "what the origin made a day ago, it does not get through either");
    stage.answers(showing("new", stage.clock_ms(), &[], 86_400));
    assert_eq!(stage.get(LIST).body, "new");
}

#[test]
fn without_the_feed_pages_are_served_and_marked() {
    let stage = warm();
    lock(&stage.origin.changes).down = true;
    stage.takes_down(5, 2);
    stage.wait_ms(2_000);
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), is_stale(&answer)), ("with 5", false), "not yet too old");
    stage.wait_ms(1_000);
    for _ in 0..10 {
        let answer = stage.get(LIST);
        assert_eq!((answer.body.as_str(), is_stale(&answer)), ("with 5", true));
    }
    assert_eq!(stage.feeds().len(), 1, "one failed, and the others do not wait for that");
    assert_eq!(stage.send("GET", LIST, &[("if-none-match", "\"with 5\"")], "").header("x-gailou-stale"), "1");
    stage.later.drain();
    stage.feeds();
    for _ in 0..4 {
        stage.wait_ms(1_500);
        assert!(is_stale(&stage.get(LIST)));
        stage.later.drain();
        assert_eq!(stage.feeds().len(), 1, "one probe a second");
    }
    lock(&stage.origin.changes).down = false;
    stage.wait_ms(1_500);
    assert!(is_stale(&stage.get(LIST)));
    stage.later.drain();
    assert_eq!(stage.get(LIST).body, "without 5");
    assert_eq!(stage.sent().len(), 1);
}

#[test]
fn a_void_page_the_origin_had_ready_is_asked_for_again() {
    let stage = warm();
    stage.takes_down(5, 2);
    stage.wait_ms(3_000);
    stage.answers(showing("with 5 still", stage.clock_ms(), &[(5, 1)], 60));
    let began = stage.clock_ms();
    let answer = stage.get(LIST);
    assert_eq!((answer.status, answer.code().as_str(), answer.header("retry-after")), (503, "unavailable", "1"));
    let sent = stage.sent();
    assert_eq!((sent.len(), stage.clock_ms() - began), (2, 300));
    assert_eq!(sent[1].0.headers.get("cache-control").unwrap(), "no-cache");
}

#[test]
fn an_isolate_that_begins_in_an_outage_knows_what_the_colo_knows() {
    let mut stage = warm();
    stage.wait_ms(300_000);
    stage.takes_down(5, 2);
    stage.wait_ms(1);
    stage.get("/t/article/7");
    stage.wait_ms(2_500);
    stage.get("/t/article/7");
    stage.later.drain();
    stage.is_gone();
    for slept_ms in [4_000, 600_000, 3_600_000] {
        stage.wait_ms(slept_ms);
        stage.restart();
        assert_eq!(stage.get(LIST).status, 503, "after {slept_ms} ms");
        let answer = stage.get("/t/article/7");
        assert_eq!((answer.body.as_str(), is_stale(&answer)), ("without 5", true));
    }
}

#[test]
fn a_feed_that_is_behind_is_no_fresher_than_it_says() {
    let stage = warm();
    lock(&stage.origin.changes).behind_ms = 600;
    stage.wait_ms(3_000);
    assert!(!is_stale(&stage.get(LIST)));
    stage.feeds();
    stage.wait_ms(1_399);
    assert!(!is_stale(&stage.get(LIST)) && stage.later.drain() == 1 && stage.feeds().is_empty());
    stage.wait_ms(1);
    assert!(!is_stale(&stage.get(LIST)) && stage.later.drain() > 0 && stage.feeds().len() == 1);
    // A database that cannot be read: its documents grow old although they come.
    lock(&stage.origin.changes).behind_ms = 5_000;
    stage.wait_ms(3_000);
    assert!(is_stale(&stage.get(LIST)));
}

#[test]
fn the_isolates_of_a_colo_share_one_request() {
    let mut stage = warm();
    for _ in 0..5 {
        stage.restart();
        assert!(!is_stale(&stage.get(LIST)));
    }
    assert!(stage.feeds().is_empty(), "the copies of tail and day are there");
    stage.wait_ms(2_000);
    for _ in 0..5 {
        stage.restart();
        assert!(!is_stale(&stage.get(LIST)));
        stage.later.drain();
    }
    assert_eq!(stage.feeds(), [TAIL]);
    stage.wait_ms(130_000);
    for _ in 0..5 {
        stage.restart();
        stage.get(LIST);
        stage.later.drain();
    }
    assert_eq!(stage.feeds(), [TAIL, DAY]);
}

#[test]
fn what_needs_no_feed_does_not_wait_for_it() {
    let stage = Stage::new(Config::default());
    stage.answers(showing("x", START_MS, &[], 0));
    for _ in 0..3 {
        assert_eq!(stage.get("/v1/comments/6").body, "x");
        stage.wait_ms(90_000_000);
        stage.answers(showing("x", stage.clock_ms(), &[], 0));
    }
    assert!(stage.feeds().is_empty());
}

#[test]
fn more_changes_than_are_kept_void_everything_before_them() {
    let mut known = Known::default();
    let rows = |from: u64, count: usize| {
        (from..)
            .take(count)
            .map(|id| Changed { id: gailou_shared::id::CommentId::new(id).unwrap(), version: 1 })
            .collect()
    };
    let copy = |now, rows| Copy { asked_ms: now, document: ChangesDoc::new(now, now - 100, 0, 0, rows) };
    known.begin(&copy(1_000, rows(1, 10_000)));
    known.merge(&copy(1_050, rows(10_001, 10_000)));
    assert_eq!((known.rows.len(), known.since_ms, known.now_ms), (MOST, 900, 1_050));
    known.merge(&copy(1_060, rows(20_001, 1)));
    assert_eq!((known.rows.len(), known.since_ms, known.now_ms), (0, 1_060, 1_060));
}

#[test]
fn a_gap_is_not_overlooked() {
    let mut known = Known::default();
    let copy = |since, now| Copy { asked_ms: now, document: ChangesDoc::new(now, since, 0, 0, Vec::new()) };
    known.begin(&copy(100, 1_000));
    known.merge(&copy(1_001, 1_200));
    assert_eq!((known.now_ms, known.as_of_ms), (1_000, 1_000), "nothing is known of a millisecond");
    known.merge(&copy(1_000, 1_200));
    assert_eq!((known.now_ms, known.as_of_ms), (1_200, 1_200));
    known.merge(&copy(500, 1_100));
    assert_eq!((known.now_ms, known.as_of_ms), (1_200, 1_200), "an older document changes nothing");
}

#[test]
fn one_request_refreshes_the_feed_and_the_others_look_at_memory() {
    for comes in [true, false] {
        let stage = warm();
        stage.wait_ms(3_000);
        let (world, origin) = held::world(&stage, TAIL);
        let mut readers: Vec<_> = (0..5).map(|_| held::Reader::new(&stage, &world, LIST)).collect();
        assert!(readers.iter_mut().all(|reader| reader.step().is_none()));
        if comes {
            origin.open();
            assert!(!is_stale(&readers[0].step().unwrap()));
        }
        let began = stage.clock_ms();
        let answer = readers[1].steps(30).unwrap();
        let expected = if comes { 50 } else { 1_000 };
        assert_eq!((answer.body.as_str(), is_stale(&answer), stage.clock_ms() - began), ("with 5", !comes, expected));
        assert_eq!(stage.feeds(), [TAIL]);
    }
}

#[test]
fn what_is_learnt_while_a_document_is_on_its_way_stays() {
    let stage = warm();
    stage.wait_ms(600_000);
    let (world, origin) = held::world(&stage, DAY);
    let mut first = held::Reader::new(&stage, &world, LIST);
    assert!(first.step().is_none());
    assert_eq!(stage.feeds(), [TAIL, DAY]);
    stage.takes_down(5, 2);
    // The first counts as stopped.
    stage.wait_ms(3_001);
    origin.hold("");
    assert_eq!(held::Reader::new(&stage, &world, LIST).steps(9).unwrap().body, "without 5");
    origin.open();
    assert_eq!(first.steps(9).unwrap().body, "without 5");
    let page = Page::from_origin(&showing("with 5", START_MS, &[(5, 1)], 60), stage.clock_ms()).unwrap();
    assert!(!stage.edge.feed.passes(&page));
}

#[test]
fn in_an_outage_a_colo_without_a_copy_learns_from_the_shared_store() {
    let mut stage = warm();
    let old = lock(&stage.colo.values)[LIST].clone();
    stage.wait_ms(300_000);
    stage.takes_down(5, 2);
    stage.wait_ms(3_000);
    assert_eq!(stage.get(LIST).body, "without 5");
    stage.later.drain();
    stage.is_gone();
    stage.wait_ms(7_200_000);
    // Neither has the colo a copy, nor a young one, nor has an isolate that slept there.
    let before = Copy { asked_ms: START_MS, document: ChangesDoc::new(START_MS, START_MS - 90_000_000, 0, 0, vec![]) };
    for (near, sleeps) in [(None, false), (Some(before.encode()), false), (None, true)] {
        stage.restart();
        let mut values = lock(&stage.colo.values);
        values.clear();
        values.insert(LIST.into(), old.clone());
        values.extend(near.map(|near| (DAY.into(), near)));
        drop(values);
        if sleeps {
            lock(&stage.edge.feed.known).begin(&before);
        }
        let answer = stage.get(LIST);
        assert_eq!((answer.body.as_str(), is_stale(&answer)), ("without 5", true), "{sleeps}");
        stage.wait_ms(10_000);
    }
}

#[test]
fn the_day_is_shared_once_a_minute() {
    let mut stage = warm();
    let puts = || stage.global.puts.load(Ordering::Relaxed);
    let before = puts();
    for _ in 0..13 {
        stage.get(LIST);
        stage.later.drain();
        stage.wait_ms(10_000);
    }
    assert_eq!(puts() - before, 2);
    let before = puts();
    stage.restart();
    stage.get(LIST);
    stage.later.drain();
    assert_eq!(stage.global.puts.load(Ordering::Relaxed), before, "another isolate just has");
}

#[test]
fn a_day_and_a_tail_with_a_gap_between_them_are_not_current() {
    let mut stage = warm();
    stage.wait_ms(300_000);
    stage.takes_down(5, 2);
    stage.wait_ms(200_000);
    let copy = |path: &str| {
        let document = lock(&stage.origin.changes).document(path, stage.clock_ms());
        Copy { asked_ms: stage.clock_ms(), document }.encode()
    };
    let (tail, day) = (copy(TAIL), copy(DAY));
    lock(&stage.colo.values).insert(TAIL.into(), tail);
    lock(&stage.origin.changes).down = true;
    stage.restart();
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), is_stale(&answer)), ("with 5", true));
    lock(&stage.global.values).insert(DAY.into(), day);
    stage.restart();
    let answer = stage.get(LIST);
    assert_eq!((answer.body.as_str(), is_stale(&answer)), ("without 5", false), "no gap any more");
}

#[test]
fn rows_beyond_a_day_outlive_it() {
    let mut known = Known::default();
    let copy = |since, now, ids: &[u64]| {
        let rows = ids.iter().map(|id| Changed { id: gailou_shared::id::CommentId::new(*id).unwrap(), version: 1 });
        Copy { asked_ms: now, document: ChangesDoc::new(now, since, 0, 0, rows.collect()) }
    };
    known.begin(&copy(100, 1_000, &[1]));
    known.merge(&copy(1_100, 1_200, &[2]));
    known.learn(Some(&copy(100, 1_150, &[3])), None);
    assert!(known.rows.contains_key(&2) && known.rows.contains_key(&3));
    assert_eq!((known.since_ms, known.now_ms, known.as_of_ms), (100, 1_150, 1_150));
    known.learn(Some(&copy(200, 1_140, &[4])), Some(&copy(1_120, 1_300, &[5])));
    assert!(!known.rows.contains_key(&4), "it is not needed");
    assert_eq!((known.since_ms, known.now_ms), (100, 1_300));
    known.learn(Some(&copy(200, 2_000, &[6])), None);
    assert_eq!((known.rows.len(), known.since_ms, known.now_ms), (1, 200, 2_000));
}

proptest! {
    #[test]
    fn a_copy_is_read_as_it_was_written(asked_ms in 0u64..1 << 42, now: u64, since: u64, rows: Vec<(u64, u64)>) {
        let rows = rows.into_iter().filter_map(|(id, version)| {
            Some(Changed { id: gailou_shared::id::CommentId::new(id).ok()?, version })
        });
        let copy = Copy { asked_ms, document: ChangesDoc::new(now, since, 7, 3, rows.collect()) };
        prop_assert_eq!(Copy::decode(&copy.encode(), asked_ms), Some(copy));
    }

    #[test]
    fn noise_is_no_copy(bytes: Vec<u8>) {
        prop_assert_eq!(Copy::decode(&bytes, 0), None);
    }

    /// Whatever happens in whatever order, and whatever the places still hold: five seconds after a
    /// comment was taken down nobody is shown it, unless the page says that it is stale.
    #[test]
    fn nothing_taken_down_is_shown_for_long(steps in prop::collection::vec((0u8..8, 0u64..20_000), 1..60)) {
        let mut stage = Stage::new(Config::default());
        // Comments 1 to 8; those taken down, when.
        let mut down: std::collections::BTreeMap<u64, u64> = Default::default();
        let mut version = 1;
        let urls = [LIST, "/v1/comments/5", "/v1/comments/5/replies", "/t/article/7"];
        let fill = |stage: &Stage, down: &std::collections::BTreeMap<u64, u64>, version: u64| {
            let shown: Vec<_> = (1..=8).filter(|id| !down.contains_key(id)).map(|id| (id, version)).collect();
            let body = shown.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(" ");
            let body = format!("shows {body}");
            stage.answers(showing(&body, stage.clock_ms(), &shown, 60));
        };
        fill(&stage, &down, version);
        for (what, n) in steps {
            match what {
                0 => stage.restart(),
                1 => { stage.later.drain(); }
                2 => {
                    version += 1;
                    let id = n % 8 + 1;
                    if down.insert(id, stage.clock_ms()).is_none() {
                        stage.takes_down(id, version);
                    }
                }
                3 => { let down = n % 3 == 0; lock(&stage.origin.changes).down = down; }
                4 => { let mut colo = lock(&stage.colo.values); if n % 2 == 0 { colo.clear() } else { colo.remove(TAIL); } }
                5 => stage.wait_ms(n),
                6 => stage.wait_ms(n * 50),
                _ => {}
            }
            fill(&stage, &down, version);
            let answer = stage.get(urls[n as usize % urls.len()]);
            prop_assert_eq!(answer.status, 200);
            let now = stage.clock_ms();
            for id in answer.body.split(' ').skip(1).filter_map(|id| id.parse::<u64>().ok()) {
                let shown_for = down.get(&id).map_or(0, |at| now - at);
                prop_assert!(shown_for <= 5_000 || is_stale(&answer), "{} ms after it was taken down", shown_for);
            }
        }
    }
}
