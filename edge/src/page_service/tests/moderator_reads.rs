//! Reads with tokens: a moderator's goes to the origin and leaves no trace, any other changes nothing.

use gailou_shared::id::MemberId;
use gailou_shared::member_keys::MemberKeys;
use gailou_shared::token::{Member, Role, TokenKey};

use super::*;
use crate::ports::OriginResponse;

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const IN_A_MINUTE: u64 = START_MS / 1_000 + 60;

fn keyed_bed() -> EdgeTestBed {
    EdgeTestBed::new(EdgeConfig {
        edge_secret: Some(SECRET.into()),
        member_keys: MemberKeys::from_secret(SECRET),
        audience: "gailou".into(),
        ..EdgeConfig::default()
    })
}

/// A bed that knows the token key and has `LIST` with the body `empty`, as every reader sees a hidden subject.
fn hidden_bed() -> EdgeTestBed {
    let bed = keyed_bed();
    bed.set_answer(page_answer("empty", FRESHNESS));
    // The second read makes the change feed known.
    for _ in 0..2 {
        assert_eq!(bed.get(LIST).body, "empty");
        bed.tasks.drain();
    }
    bed.drain_requests();
    bed
}

fn bearer(role: Role, expires: u64) -> String {
    let member = Member { id: MemberId::new(9).unwrap(), name: "Mo".into(), avatar: None, level: 0, role };
    format!("Bearer {}", TokenKey::secret(SECRET).unwrap().sign(&member, "gailou", expires - 60..expires).unwrap())
}

/// The origin's answer to a moderator.
fn whole() -> OriginResponse {
    origin_answer(200, "whole", &[("content-type", "application/json"), ("cache-control", "private, no-store")])
}

fn read_as(bed: &EdgeTestBed, uri: &str, authorization: &str) -> TestResponse {
    bed.send("GET", uri, &[("authorization", authorization)], "")
}

#[test]
fn moderator_is_answered_by_the_origin_and_readers_from_the_caches() {
    let mut bed = hidden_bed();
    bed.set_answer(whole());
    let token = bearer(Role::Moderator, IN_A_MINUTE);
    for role in [Role::Moderator, Role::Admin] {
        let token = bearer(role, IN_A_MINUTE);
        let headers =
            [("authorization", token.as_str()), ("if-none-match", "\"empty\""), ("cache-control", "no-cache")];
        let answer = bed.send("GET", &format!("{LIST}?limit=20&sort=hot&x=1"), &headers, "");
        assert_eq!((answer.status, answer.body.as_str(), answer.is_stale()), (200, "whole", false), "{role:?}");
        let shared =
            (answer.header("cache-control"), answer.header("etag"), answer.header("access-control-allow-origin"));
        assert_eq!(shared, ("private, no-store", "", "*"), "{role:?}");
        let (request, timeout_ms) = bed.drain_requests().remove(0);
        assert_eq!((request.path_query.as_str(), timeout_ms), (LIST, 5_000));
        assert_eq!(request.headers["authorization"], token);
        assert!(request.headers.contains_key("x-gailou-edge") && !request.headers.contains_key("if-none-match"));
    }
    assert_eq!(bed.send("HEAD", LIST, &[("authorization", &token)], "").body, "");
    assert_eq!(bed.drain_requests().len(), 1);
    // Nothing is left of it, in memory or behind it.
    assert_eq!(bed.tasks.drain(), 0);
    for _ in 0..2 {
        let answer = bed.get(LIST);
        assert_eq!((answer.body.as_str(), answer.header("cache-control")), ("empty", "public, no-cache"));
        bed.restart_isolate();
    }
    assert_eq!(bed.drain_requests().len(), 0);
}

#[test]
fn moderators_answer_fills_no_cache() {
    let bed = keyed_bed();
    // Even one that could be stored: the origin takes the member for no moderator.
    for answer in [whole(), page_answer("shared", FRESHNESS)] {
        bed.set_answer(answer);
        let answer = read_as(&bed, LIST, &bearer(Role::Admin, IN_A_MINUTE));
        assert_eq!((answer.status, answer.header("cache-control")), (200, "private, no-store"));
        for inner in ["x-gailou-shows", "x-gailou-made", "x-gailou-version", "cdn-cache-control"] {
            assert_eq!(answer.header(inner), "", "{inner}");
        }
        bed.tasks.drain();
        assert!(get_from_memory(&bed.isolate, LIST).is_none());
        assert_eq!(bed.colo_cache.puts.load(Ordering::Relaxed) + bed.global_store.puts.load(Ordering::Relaxed), 0);
    }
    bed.drain_requests();
    bed.set_answer(page_answer("empty", FRESHNESS));
    assert_eq!(bed.get(LIST).body, "empty");
    assert!(!bed.drain_requests()[0].0.headers.contains_key("authorization"));
}

#[test]
fn other_tokens_change_nothing_about_a_read() {
    let guest = Member { id: MemberId::guest(5), name: "Bo".into(), avatar: None, level: 0, role: Role::Admin };
    let keys = MemberKeys::from_secret(SECRET).unwrap();
    let sign = |key: &TokenKey, audience: &str| {
        let member = Member { id: MemberId::new(9).unwrap(), ..guest.clone() };
        format!("Bearer {}", key.sign(&member, audience, IN_A_MINUTE - 60..IN_A_MINUTE).unwrap())
    };
    let other = TokenKey::secret(b"another secret of at least 32 bytes").unwrap();
    let tokens = [
        bearer(Role::Member, IN_A_MINUTE),
        bearer(Role::Moderator, START_MS / 1_000 - 60),
        sign(&other, "gailou"),
        sign(keys.host(), "another audience"),
        format!("Bearer {}", keys.own().unwrap().sign(&guest, "gailou", IN_A_MINUTE - 60..IN_A_MINUTE).unwrap()),
        bearer(Role::Admin, IN_A_MINUTE).replace("Bearer", "Basic"),
        "Bearer no.token".into(),
    ];
    let bed = hidden_bed();
    bed.set_answer(whole());
    for token in &tokens {
        assert_eq!(read_as(&bed, LIST, token).body, "empty", "{token}");
        let unchanged = bed.send("GET", LIST, &[("authorization", token), ("if-none-match", "\"empty\"")], "");
        assert_eq!(unchanged.status, 304, "{token}");
    }
    assert_eq!(bed.drain_requests().len(), 0);
    // A read that reaches the origin does so without the token.
    bed.set_answer(page_answer("tree", FRESHNESS));
    read_as(&bed, "/v1/comments/5/tree", &tokens[0]);
    assert!(!bed.drain_requests()[0].0.headers.contains_key("authorization"));
}

#[test]
fn without_a_token_key_a_moderator_reads_as_everybody() {
    let bed = warm();
    bed.set_answer(whole());
    assert_eq!(read_as(&bed, LIST, &bearer(Role::Moderator, IN_A_MINUTE)).body, "one");
    assert_eq!(bed.drain_requests().len(), 0);
}

#[test]
fn only_pages_that_show_more_to_moderators_pass_by_the_caches() {
    let check = |uri: &str, expected: bool| {
        let bed = keyed_bed();
        bed.set_answer(page_answer("shared", FRESHNESS));
        bed.get(uri);
        bed.drain_requests();
        bed.set_answer(whole());
        let body = read_as(&bed, uri, &bearer(Role::Moderator, IN_A_MINUTE)).body;
        assert_eq!(body, if expected { "whole" } else { "shared" }, "{uri}");
    };
    for path in ["", "/comments", "/comments?sort=new&limit=50"] {
        check(&format!("/v1/subjects/article/7{path}"), true);
    }
    for path in ["", "/tree", "/replies", "/ancestors", "/context"] {
        check(&format!("/v1/comments/5{path}"), true);
    }
    check("/v1/counts?subject=article/7", false);
    check("/v1/members/7/comments", false);
    check("/t/article/7", false);
}

#[test]
fn moderator_gets_the_copy_of_all_readers_while_the_origin_fails() {
    let token = bearer(Role::Moderator, IN_A_MINUTE);
    let problem = |status| origin_answer(status, "{}", &[("content-type", "application/problem+json")]);
    let failures =
        [None, Some(problem(500)), Some(problem(503)), Some(problem(403)), Some(origin_answer(404, "", &[]))];
    for failure in failures {
        let bed = hidden_bed();
        match failure.clone() {
            Some(answer) => bed.set_answer(answer),
            None => bed.stop_origin(),
        }
        // It is fresh to readers, but it is not what a moderator asked for.
        assert!(!bed.get(LIST).is_stale());
        let answer = read_as(&bed, LIST, &token);
        assert_eq!((answer.status, answer.body.as_str(), answer.is_stale()), (200, "empty", true), "{failure:?}");
        let unchanged = bed.send("GET", LIST, &[("authorization", &token), ("if-none-match", "\"empty\"")], "");
        assert_eq!((unchanged.status, unchanged.is_stale()), (304, true), "{failure:?}");
    }
    // One attempt, and then no read waits for a while.
    let bed = hidden_bed();
    bed.stop_origin();
    for _ in 0..3 {
        assert!(read_as(&bed, LIST, &token).is_stale());
    }
    assert_eq!(bed.drain_requests().len(), 1);
    bed.advance_ms(5_000);
    bed.set_answer(whole());
    assert_eq!(read_as(&bed, LIST, &token).body, "whole");
}

#[test]
fn origins_refusal_reaches_the_moderator() {
    let bed = hidden_bed();
    let headers = [("content-type", "application/problem+json"), ("retry-after", "7")];
    for status in [404, 410, 429] {
        bed.set_answer(origin_answer(status, "{}", &headers));
        let answer = read_as(&bed, LIST, &bearer(Role::Moderator, IN_A_MINUTE));
        assert_eq!((answer.status, answer.header("retry-after"), answer.is_stale()), (status, "7", false));
    }
    assert_eq!(bed.get(LIST).body, "empty", "a moderator's 404 removes no copy");
}

#[test]
fn moderators_reads_count_against_the_limit() {
    let bed = hidden_bed();
    bed.limiter.refusing.lock().unwrap().push(rate_limits::READS_ADDRESS.binding);
    let answer = read_as(&bed, LIST, &bearer(Role::Moderator, IN_A_MINUTE));
    assert_eq!((answer.status, answer.code().as_str()), (429, "rate_limited"));
    assert_eq!((bed.drain_requests().len(), bed.get(LIST).status), (0, 200));
}
