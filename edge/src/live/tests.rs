use std::cell::RefCell;
use std::sync::atomic::Ordering;

use gailou_shared::id::CommentId;
use gailou_shared::wire::{Gone, LiveEvent, What};

use super::*;
use crate::Config;
use crate::ports::doubles::{Stage, of};

const EVENTS: &str = "/v1/subjects/article/7/events";

/// What the origin says of a subject that is at `version`.
fn says(stage: &Stage, version: u64, reset: bool, ids: &[u64]) {
    let what = |id: u64| What::Removed(Gone { id: CommentId::new(id).unwrap() });
    let events = ids.iter().map(|id| LiveEvent { id: *id, what: what(*id) }).collect();
    let doc = serde_json::to_string(&EventsDoc { version, reset, events }).unwrap();
    stage.answers(of(200, &doc, &[("content-type", "application/json")]));
}

fn opens(stage: &Stage, headers: &[(&str, &str)], query: &str) -> Result<Reader, StatusCode> {
    asks(stage, None, headers, query).map_err(|refused| refused.status())
}

/// Opens a stream from an address.
#[expect(clippy::result_large_err, reason = "an answer is what a test looks at")]
fn opens_as(stage: &Stage, client: &str) -> Result<Reader, Response> {
    asks(stage, Some(client.into()), &[], "?after=5")
}

#[expect(clippy::result_large_err, reason = "an answer is what a test looks at")]
fn asks(stage: &Stage, client: Option<String>, headers: &[(&str, &str)], query: &str) -> Result<Reader, Response> {
    let mut request = http::Request::get(format!("{EVENTS}{query}"));
    for (name, value) in [("accept", "text/event-stream")].iter().chain(headers) {
        request = request.header(*name, *value);
    }
    let asker = Asker { id: stage.edge.request_id(None), client };
    let request = request.body(Body::empty()).unwrap();
    let response = futures_executor::block_on(open(&stage.edge, &stage.world(), &asker, request));
    stage.later.drain();
    let reader = response.extensions().get::<Granted>().and_then(Granted::take);
    reader.ok_or(response)
}

/// What the stream says until it has said nothing for `quiet_ms`, and whether it has ended.
fn hears(stage: &Stage, reader: &mut Reader, quiet_ms: u64) -> (String, bool) {
    let heard = RefCell::new(String::new());
    let until = stage.clock_ms() + quiet_ms;
    loop {
        let sleep = |ms: u32| {
            stage.wait_ms(ms.into());
            async { assert!(stage.clock_ms() <= until + 60_000, "it goes on for ever") }
        };
        let next = futures_executor::block_on(reader.next(sleep));
        stage.later.drain();
        match next {
            Some(bytes) => heard.borrow_mut().push_str(std::str::from_utf8(&bytes).unwrap()),
            None => return (heard.into_inner(), true),
        }
        if stage.clock_ms() >= until {
            return (heard.into_inner(), false);
        }
    }
}

/// The versions of the events.
fn ids(text: &str) -> Vec<u64> {
    let events = text.split("\n\n").filter(|event| event.starts_with("event: "));
    events.filter_map(|event| event.lines().find_map(|line| line.strip_prefix("id: ")?.parse().ok())).collect()
}

#[test]
fn a_stream_tells_what_happened_since_and_what_happens() {
    let stage = Stage::new(Config::default());
    says(&stage, 12, false, &[11, 12]);
    let mut reader = opens(&stage, &[("last-event-id", "10")], "?after=3").unwrap();
    assert!(stage.sent().iter().all(|(request, _)| request.path_query == format!("{EVENTS}?after=10")));
    says(&stage, 13, false, &[13]);
    let (text, ended) = hears(&stage, &mut reader, 16_000);
    assert!(text.starts_with("retry: ") && text.ends_with("\n\nid: 13\n\n") && !ended, "{text}");
    assert_eq!(ids(&text), [11, 12, 13]);
    assert!(stage.sent().iter().skip(1).all(|(request, _)| request.path_query.ends_with("?after=13")));
}

#[test]
fn a_reset_begins_anew() {
    let stage = Stage::new(Config::default());
    says(&stage, 90, true, &[]);
    let mut reader = opens(&stage, &[], "?after=10").unwrap();
    says(&stage, 91, false, &[91]);
    let (text, _) = hears(&stage, &mut reader, 5_000);
    assert!(text.contains("event: reset\nid: 90\ndata: {}\n\n"), "{text}");
    assert_eq!(ids(&text), [90, 91]);
}

#[test]
fn streams_of_an_isolate_and_isolates_of_a_colo_ask_once() {
    let mut stage = Stage::new(Config::default());
    says(&stage, 5, false, &[]);
    let mut readers: Vec<_> = (0..50).map(|_| opens(&stage, &[], "?after=5").unwrap()).collect();
    assert_eq!(stage.sent().len(), 1);
    // All of them look at the same memory at the same time.
    for second in 0..20 {
        for reader in &mut readers {
            let asked = futures_executor::block_on(reader.ask(stage.clock_ms()));
            assert!(asked.is_ok());
        }
        stage.later.drain();
        stage.wait_ms(1_000);
        assert!(stage.sent().len() <= 1, "in second {second}");
    }
    stage.wait_ms(5_000);
    futures_executor::block_on(readers[0].ask(stage.clock_ms())).unwrap();
    stage.later.drain();
    assert_eq!(stage.sent().len(), 1);
    stage.restart();
    let gets = stage.colo.gets.load(Ordering::Relaxed);
    assert!(opens(&stage, &[], "?after=5").is_ok());
    assert_eq!((stage.sent().len(), stage.colo.gets.load(Ordering::Relaxed) - gets), (0, 1), "the colo's copy");
}

#[test]
fn a_stream_ends_in_time() {
    let stage = Stage::new(Config::default());
    says(&stage, 5, false, &[]);
    let mut reader = opens(&stage, &[], "").unwrap();
    let began = stage.clock_ms();
    let (text, ended) = hears(&stage, &mut reader, LIFE_MS + 30_000);
    assert!(ended && ids(&text).is_empty());
    let lasted = stage.clock_ms() - began;
    assert!((LIFE_MS..LIFE_MS + 2_000).contains(&lasted), "{lasted}");
    assert!((50..60).contains(&text.matches("id: 5").count()), "a sign every 15 s");
}

#[test]
fn an_origin_that_is_gone_is_asked_seldom() {
    let stage = Stage::new(Config::default());
    stage.is_gone();
    let Err(refused) = opens(&stage, &[], "?after=5") else { panic!("there is nothing to say") };
    assert_eq!(refused, 503);
    stage.wait_ms(10_000);
    says(&stage, 5, false, &[]);
    let mut reader = opens(&stage, &[], "?after=5").unwrap();
    stage.is_gone();
    stage.sent();
    let (text, ended) = hears(&stage, &mut reader, 120_000);
    assert!(ended && ids(&text).is_empty(), "the third failure ends it");
    assert_eq!(stage.sent().len(), 3);
}

#[test]
fn what_the_origin_refuses_is_refused() {
    let stage = Stage::new(Config::default());
    stage.answers(of(404, r#"{"code":"unknown_subject_type"}"#, &[("content-type", "application/problem+json")]));
    assert_eq!(opens(&stage, &[], "").unwrap_err(), 404);
    stage.wait_ms(60_000);
    stage.answers(of(200, "<html>", &[("content-type", "text/html")]));
    assert_eq!(opens(&stage, &[], "").unwrap_err(), 503);
}

#[test]
fn one_network_has_so_many_streams_and_no_more() {
    let stage = Stage::new(Config::default());
    says(&stage, 5, false, &[]);
    let client = |n: u32| format!("2001:db8::{n}");
    let mut readers: Vec<_> = (0..STREAMS_NETWORK).map(|n| opens_as(&stage, &client(n)).unwrap()).collect();
    let refused = opens_as(&stage, &client(99)).unwrap_err();
    let header = |name| refused.headers().get(name).unwrap().to_str().unwrap();
    assert_eq!((refused.status().as_u16(), header("retry-after")), (429, "40"));
    assert_eq!(header("ratelimit-policy"), r#""streams-address";q=50;qu="concurrent-requests""#);
    assert_eq!(header("ratelimit"), r#""streams-address";r=0;t=40"#);
    assert!(opens_as(&stage, "2001:db8:0:1::1").is_ok());
    // They still count while they last, and one that ends makes room for one.
    for reader in &mut readers {
        hears(&stage, reader, 0);
    }
    for _ in 0..3 {
        stage.wait_ms(WINDOW_MS);
        for reader in &mut readers {
            hears(&stage, reader, 0);
        }
    }
    assert_eq!(opens_as(&stage, &client(99)).unwrap_err().status(), 429);
    readers.pop();
    let _last = opens_as(&stage, &client(99)).unwrap();
    assert_eq!(opens_as(&stage, &client(99)).unwrap_err().status(), 429);
}

#[test]
fn what_is_refused_takes_no_room() {
    let stage = Stage::new(Config::default());
    stage.is_gone();
    assert_eq!(opens_as(&stage, "192.0.2.1").unwrap_err().status(), 503);
    // Nobody may ask yet again, so these wait for news, as many as there may be.
    let readers: Vec<_> = (0..STREAMS_NETWORK).map(|_| opens_as(&stage, "192.0.2.1").unwrap()).collect();
    assert_eq!(opens_as(&stage, "192.0.2.1").unwrap_err().status(), 429);
    drop(readers);
    assert!(opens_as(&stage, "192.0.2.1").is_ok());
}

#[test]
fn other_requests_go_to_the_origin() {
    let stage = Stage::new(Config::default());
    stage.answers(of(200, "{}", &[("content-type", "application/json")]));
    assert_eq!(stage.get(&format!("{EVENTS}?after=3")).body, "{}");
    assert_eq!(stage.sent()[0].0.path_query, format!("{EVENTS}?after=3"));
}
