//! Event streams: replay, limits, failures of the origin.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use gailou_shared::id::CommentId;
use gailou_shared::wire::{LiveEvent, LiveEventKind, LiveEventPage, RemovedComment};
use http::StatusCode;

use super::stream::STREAM_LIFETIME_MS;
use super::*;
use crate::EdgeConfig;
use crate::testing::{EdgeTestBed, origin_answer};

const EVENTS: &str = "/v1/subjects/article/7/events";

/// Sets the origin's answer for a subject that is at `version`.
fn set_events(bed: &EdgeTestBed, version: u64, reset: bool, ids: &[u64]) {
    let what = |id: u64| LiveEventKind::Removed(RemovedComment { id: CommentId::new(id).unwrap() });
    let events = ids.iter().map(|id| LiveEvent { id: *id, kind: what(*id) }).collect();
    let doc = serde_json::to_string(&LiveEventPage { version, reset, events }).unwrap();
    bed.set_answer(origin_answer(200, &doc, &[("content-type", "application/json")]));
}

fn open(bed: &EdgeTestBed, headers: &[(&str, &str)], query: &str) -> Result<EventStream, StatusCode> {
    request_stream(bed, None, headers, query).map_err(|refused| refused.status())
}

/// Opens a stream from an address.
#[expect(clippy::result_large_err, reason = "an answer is what a test looks at")]
fn open_from(bed: &EdgeTestBed, client: &str) -> Result<EventStream, Response> {
    request_stream(bed, Some(client.into()), &[], "?after=5")
}

#[expect(clippy::result_large_err, reason = "an answer is what a test looks at")]
fn request_stream(
    bed: &EdgeTestBed,
    client: Option<String>,
    headers: &[(&str, &str)],
    query: &str,
) -> Result<EventStream, Response> {
    let mut request = http::Request::get(format!("{EVENTS}{query}"));
    for (name, value) in [("accept", "text/event-stream")].iter().chain(headers) {
        request = request.header(*name, *value);
    }
    let requester = Requester { id: bed.isolate.request_id(None), client };
    let request = request.body(Body::empty()).unwrap();
    let response = futures_executor::block_on(open_stream(&bed.isolate, &bed.ports(), &requester, request));
    bed.tasks.drain();
    let reader = response.extensions().get::<ClaimedStream>().and_then(ClaimedStream::take);
    reader.ok_or(response)
}

/// What the stream sends until `quiet_ms` have passed, and whether it has ended.
fn listen(bed: &EdgeTestBed, reader: &mut EventStream, quiet_ms: u64) -> (String, bool) {
    let heard = RefCell::new(String::new());
    let until = bed.clock_ms() + quiet_ms;
    loop {
        let sleep = |ms: u32| {
            bed.advance_ms(ms.into());
            async { assert!(bed.clock_ms() <= until + 60_000, "the stream does not end") }
        };
        let chunk = futures_executor::block_on(reader.next_chunk(sleep));
        bed.tasks.drain();
        match chunk {
            Some(bytes) => heard.borrow_mut().push_str(std::str::from_utf8(&bytes).unwrap()),
            None => return (heard.into_inner(), true),
        }
        if bed.clock_ms() >= until {
            return (heard.into_inner(), false);
        }
    }
}

/// The ids of the events.
fn ids(text: &str) -> Vec<u64> {
    let events = text.split("\n\n").filter(|event| event.starts_with("event: "));
    events.filter_map(|event| event.lines().find_map(|line| line.strip_prefix("id: ")?.parse().ok())).collect()
}

#[test]
fn stream_sends_past_and_new_events() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    set_events(&bed, 12, false, &[11, 12]);
    let mut reader = open(&bed, &[("last-event-id", "10")], "?after=3").unwrap();
    assert!(bed.drain_requests().iter().all(|(request, _)| request.path_query == format!("{EVENTS}?after=10")));
    set_events(&bed, 13, false, &[13]);
    let (text, ended) = listen(&bed, &mut reader, 16_000);
    assert!(text.starts_with("retry: ") && text.ends_with("\n\nid: 13\n\n") && !ended, "{text}");
    assert_eq!(ids(&text), [11, 12, 13]);
    assert!(bed.drain_requests().iter().skip(1).all(|(request, _)| request.path_query.ends_with("?after=13")));
}

#[test]
fn events_continue_after_a_reset() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    set_events(&bed, 90, true, &[]);
    let mut reader = open(&bed, &[], "?after=10").unwrap();
    set_events(&bed, 91, false, &[91]);
    let (text, _) = listen(&bed, &mut reader, 5_000);
    assert!(text.contains("event: reset\nid: 90\ndata: {}\n\n"), "{text}");
    assert_eq!(ids(&text), [90, 91]);
}

#[test]
fn streams_and_isolates_of_a_colo_share_one_poll() {
    let mut bed = EdgeTestBed::new(EdgeConfig::default());
    set_events(&bed, 5, false, &[]);
    let mut readers: Vec<_> = (0..50).map(|_| open(&bed, &[], "?after=5").unwrap()).collect();
    assert_eq!(bed.drain_requests().len(), 1);
    // All of them poll the same memory at the same time.
    for second in 0..20 {
        for reader in &mut readers {
            let asked = futures_executor::block_on(reader.poll_origin(bed.clock_ms()));
            assert!(asked.is_ok());
        }
        bed.tasks.drain();
        bed.advance_ms(1_000);
        assert!(bed.drain_requests().len() <= 1, "in second {second}");
    }
    bed.advance_ms(5_000);
    futures_executor::block_on(readers[0].poll_origin(bed.clock_ms())).unwrap();
    bed.tasks.drain();
    assert_eq!(bed.drain_requests().len(), 1);
    bed.restart_isolate();
    let gets = bed.colo_cache.gets.load(Ordering::Relaxed);
    assert!(open(&bed, &[], "?after=5").is_ok());
    assert_eq!(
        (bed.drain_requests().len(), bed.colo_cache.gets.load(Ordering::Relaxed) - gets),
        (0, 1),
        "the colo's copy"
    );
}

#[test]
fn stream_ends_after_its_lifetime() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    set_events(&bed, 5, false, &[]);
    let mut reader = open(&bed, &[], "").unwrap();
    let began = bed.clock_ms();
    let (text, ended) = listen(&bed, &mut reader, STREAM_LIFETIME_MS + 30_000);
    assert!(ended && ids(&text).is_empty());
    let lasted = bed.clock_ms() - began;
    assert!((STREAM_LIFETIME_MS..STREAM_LIFETIME_MS + 2_000).contains(&lasted), "{lasted}");
    assert!((50..60).contains(&text.matches("id: 5").count()), "a keep-alive every 15 s");
}

#[test]
fn stream_ends_after_the_third_failed_poll() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.stop_origin();
    let Err(refused) = open(&bed, &[], "?after=5") else { panic!("the origin does not answer") };
    assert_eq!(refused, 503);
    bed.advance_ms(10_000);
    set_events(&bed, 5, false, &[]);
    let mut reader = open(&bed, &[], "?after=5").unwrap();
    bed.stop_origin();
    bed.drain_requests();
    let (text, ended) = listen(&bed, &mut reader, 120_000);
    assert!(ended && ids(&text).is_empty(), "the third failure ends the stream");
    assert_eq!(bed.drain_requests().len(), 3);
}

#[test]
fn refusal_of_the_origin_is_passed_on() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.set_answer(origin_answer(
        404,
        r#"{"code":"unknown_subject_type"}"#,
        &[("content-type", "application/problem+json")],
    ));
    assert_eq!(open(&bed, &[], "").unwrap_err(), 404);
    bed.advance_ms(60_000);
    bed.set_answer(origin_answer(200, "<html>", &[("content-type", "text/html")]));
    assert_eq!(open(&bed, &[], "").unwrap_err(), 503);
}

#[test]
fn stream_over_the_network_limit_is_429() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    set_events(&bed, 5, false, &[]);
    let client = |n: u32| format!("2001:db8::{n}");
    let mut readers: Vec<_> = (0..MAX_STREAMS_PER_NETWORK).map(|n| open_from(&bed, &client(n)).unwrap()).collect();
    let refused = open_from(&bed, &client(99)).unwrap_err();
    let header = |name| refused.headers().get(name).unwrap().to_str().unwrap();
    assert_eq!((refused.status().as_u16(), header("retry-after")), (429, "40"));
    assert_eq!(header("ratelimit-policy"), r#""streams-address";q=50;qu="concurrent-requests""#);
    assert_eq!(header("ratelimit"), r#""streams-address";r=0;t=40"#);
    assert!(open_from(&bed, "2001:db8:0:1::1").is_ok());
    // Open streams keep counting, and one that ends makes room for one.
    for reader in &mut readers {
        listen(&bed, reader, 0);
    }
    for _ in 0..3 {
        bed.advance_ms(WINDOW_MS);
        for reader in &mut readers {
            listen(&bed, reader, 0);
        }
    }
    assert_eq!(open_from(&bed, &client(99)).unwrap_err().status(), 429);
    readers.pop();
    let _last = open_from(&bed, &client(99)).unwrap();
    assert_eq!(open_from(&bed, &client(99)).unwrap_err().status(), 429);
}

#[test]
fn refused_stream_takes_no_room() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.stop_origin();
    assert_eq!(open_from(&bed, "192.0.2.1").unwrap_err().status(), 503);
    // The next poll is not due yet, so these streams wait, up to the limit.
    let readers: Vec<_> = (0..MAX_STREAMS_PER_NETWORK).map(|_| open_from(&bed, "192.0.2.1").unwrap()).collect();
    assert_eq!(open_from(&bed, "192.0.2.1").unwrap_err().status(), 429);
    drop(readers);
    assert!(open_from(&bed, "192.0.2.1").is_ok());
}

#[test]
fn request_without_event_stream_is_forwarded() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.set_answer(origin_answer(200, "{}", &[("content-type", "application/json")]));
    assert_eq!(bed.get(&format!("{EVENTS}?after=3")).body, "{}");
    assert_eq!(bed.drain_requests()[0].0.path_query, format!("{EVENTS}?after=3"));
}
