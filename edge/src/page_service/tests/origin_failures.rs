//! What readers receive while the origin fails, for all pages or for one.

use super::*;
use crate::bounded_body::read_bounded;
use crate::response::problem;
use gailou_shared::wire::Code;

#[test]
fn failed_origin_leaves_pages_marked_stale_for_a_day() {
    let faults: [fn(&EdgeTestBed); 5] = [
        |bed| bed.stop_origin(),
        |bed| bed.set_answer(origin_answer(502, "<html>", &[("content-type", "text/html")])),
        |bed| {
            bed.set_answer(origin_answer(
                503,
                r#"{"code":"overloaded"}"#,
                &[("content-type", "application/problem+json")],
            ))
        },
        // It refuses the signature.
        |bed| {
            bed.set_answer(origin_answer(
                403,
                r#"{"code":"forbidden"}"#,
                &[("content-type", "application/problem+json")],
            ))
        },
        |bed| {
            bed.set_answer(origin_answer(
                500,
                r#"{"code":"internal"}"#,
                &[("content-type", "application/problem+json")],
            ))
        },
    ];
    for fault in faults {
        let bed = warm();
        fault(&bed);
        bed.advance_ms(3_600_000);
        let answer = bed.get(LIST);
        assert_eq!((answer.status, answer.body.as_str(), answer.is_stale()), (200, "one", true));
        assert_eq!(answer.header("age"), "3600");
        let answer = bed.send("GET", LIST, &[("if-none-match", "\"one\"")], "");
        assert_eq!((answer.status, answer.is_stale()), (304, true));
        bed.advance_ms(23 * 3_600_000);
        assert_ne!(bed.get(LIST).status, 200, "after a day");
    }
}

#[test]
fn failed_origin_is_awaited_once_and_then_probed() {
    let bed = warm();
    bed.stop_origin();
    bed.advance_ms(60_000);
    assert!(bed.get(LIST).is_stale());
    assert_eq!(bed.drain_requests().len(), 1);
    for _ in 0..10 {
        assert!(bed.get(LIST).is_stale());
    }
    assert_eq!(bed.tasks.drain(), 2, "one probe, and one of the feed");
    bed.set_answer(page_answer("two", FRESHNESS));
    bed.advance_ms(1_500);
    assert!(bed.get(LIST).is_stale(), "served before the probe comes back");
    bed.tasks.drain();
    let answer = bed.get(LIST);
    assert_eq!((answer.body.as_str(), answer.is_stale()), ("two", false));
}

#[test]
fn failure_counts_for_five_seconds() {
    let bed = warm();
    bed.stop_origin();
    bed.advance_ms(60_000);
    assert!(bed.get(LIST).is_stale());
    bed.set_answer(page_answer("two", FRESHNESS));
    bed.advance_ms(5_000);
    assert_eq!(bed.get(LIST).body, "two");
}

#[test]
fn answer_too_large_is_the_failure_of_its_page_alone() {
    let (bed, large) = (warm(), format!("{LIST}?limit=100"));
    for _ in 0..5 {
        bed.set_too_large_answer();
        let answer = bed.get(&large);
        assert_eq!((answer.status, answer.code().as_str(), answer.header("retry-after")), (503, "unavailable", "5"));
        assert_eq!(bed.get(&large).status, 503);
        assert_eq!(bed.drain_requests().len(), 1, "it is not read again and again");
        // Other pages of the isolate stay fresh, new ones too.
        bed.set_answer(page_answer("two", FRESHNESS));
        bed.advance_ms(4_999);
        for page in [LIST, "/v1/comments/5"] {
            let answer = bed.get(page);
            assert_eq!((answer.status, answer.is_stale()), (200, false), "{page}");
        }
        bed.tasks.drain();
        bed.drain_requests();
        bed.advance_ms(1);
    }
}

#[test]
fn page_that_grows_too_large_is_served_from_its_copies() {
    let mut bed = warm();
    bed.tasks.drain();
    bed.set_too_large_answer();
    bed.advance_ms(60_000);
    for restarts in [false, true] {
        if restarts {
            bed.restart_isolate();
            lock(&bed.colo_cache.values).clear();
        }
        for _ in 0..2 {
            let answer = bed.get(LIST);
            assert_eq!((answer.status, answer.body.as_str(), answer.is_stale()), (200, "one", true));
        }
        assert_eq!(bed.drain_requests().len(), 1);
    }
    bed.advance_ms(5_000);
    bed.set_answer(page_answer("two", FRESHNESS));
    assert_eq!(bed.get(LIST).body, "two");
}

#[test]
fn no_copy_and_no_origin_is_503() {
    let bed = bed();
    bed.stop_origin();
    let answer = bed.send("GET", LIST, &[("x-request-id", "abc")], "");
    assert_eq!((answer.status, answer.code().as_str()), (503, "origin_unreachable"));
    assert_eq!((answer.header("retry-after"), answer.header("x-request-id")), ("5", "abc"));
    assert!(answer.body.contains("\"trace_id\":\"abc\""));
    assert_eq!(answer.header("content-type"), "application/problem+json");
    // The origin's own problem is passed on.
    bed.set_answer(origin_answer(503, r#"{"code":"overloaded"}"#, &[("content-type", "application/problem+json")]));
    assert_eq!(bed.get(LIST).code(), "overloaded");
}

#[test]
fn browser_that_reads_a_document_gets_a_page_and_no_problem() {
    let bed = bed();
    bed.stop_origin();
    let browser = [("accept", "text/html,*/*;q=0.8"), ("accept-language", "de"), ("x-request-id", "abc")];
    for path in ["/t/article/7", "/write/article/7", "/t/article/7?comment=5"] {
        let answer = bed.send("GET", path, &browser, "");
        assert_eq!((answer.status, answer.header("content-type")), (503, "text/html; charset=utf-8"), "{path}");
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert!(answer.body.contains("Der Kommentarserver antwortet nicht.") && answer.body.contains("abc"), "{path}");
        assert_eq!(answer.header("retry-after"), "5", "{path}");
    }
    for path in ["/t/article/7?fragment=1", "/v1/comments/5"] {
        let answer = bed.send("GET", path, &browser, "");
        assert_eq!((answer.status, answer.code().as_str()), (503, "origin_unreachable"), "{path}");
    }
    // So is what the origin refuses.
    let refused = problem(&bed.isolate.request_id(None), Code::CommentNotFound, "no such comment", vec![]);
    let body = futures_executor::block_on(read_bounded(refused.into_body(), 1 << 16)).unwrap();
    bed.advance_ms(60_000);
    bed.set_answer(origin_answer(
        404,
        std::str::from_utf8(&body).unwrap(),
        &[("content-type", "application/problem+json")],
    ));
    let answer = bed.send("GET", "/t/article/7?comment=5", &browser, "");
    assert_eq!(answer.status, 404);
    assert!(answer.body.contains("href=\"/t/article/7?lang=de\">Alle Kommentare</a>"), "{}", answer.body);
}

#[test]
fn answer_of_a_proxy_counts_as_an_unreachable_origin() {
    let html = [("content-type", "text/html")];
    for status in [301, 403, 404, 410, 500, 502, 521, 530] {
        let mut bed = warm();
        bed.tasks.drain();
        bed.set_answer(origin_answer(status, "<h1>a proxy</h1>", &html));
        bed.advance_ms(20_000);
        let page = bed.get(LIST);
        assert_eq!((page.status, &*page.body, page.is_stale()), (200, "one", true), "{status}");
        bed.tasks.drain();
        bed.stop_origin();
        bed.restart_isolate();
        assert_eq!(bed.get(LIST).body, "one", "{status}: nothing is forgotten");
    }
}
