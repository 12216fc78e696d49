//! Requests that are checked and forwarded.

use super::*;
use crate::EdgeConfig;
use crate::testing::{EdgeTestBed, START_MS, origin_answer};
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, CLIENT_HEADER, REFUSED_HEADER, SIGNATURE_HEADER, SignatureDirection, SignedRequest,
    verify_request,
};
use gailou_shared::id::MemberId;
use gailou_shared::member_keys::MemberKeys;
use gailou_shared::token::{Member, Role, TokenKey};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const POST: &str = "/v1/subjects/article/7/comments";
const JSON: (&str, &str) = ("content-type", "application/json");
const TOKEN: (&str, &str) = ("authorization", "Bearer some.token.here");

fn bed() -> EdgeTestBed {
    let bed = EdgeTestBed::new(EdgeConfig {
        edge_secret: Some(SECRET.into()),
        audience: "gailou".into(),
        ..EdgeConfig::default()
    });
    bed.set_answer(origin_answer(
        201,
        r#"{"id":"5"}"#,
        &[("content-type", "application/json"), ("connection", "close")],
    ));
    bed
}

fn token(expires: u64) -> String {
    let member =
        Member { id: MemberId::new(7).unwrap(), name: "Ann".into(), avatar: None, level: 0, role: Role::Member };
    TokenKey::secret(SECRET).unwrap().sign(&member, "gailou", expires - 60..expires).unwrap()
}

#[test]
fn errors_follow_the_order_of_the_contract() {
    let bed = bed();
    let large = "x".repeat(MAX_BODY_BYTES + 1);
    let check = |method: &str, uri: &str, headers: &[(&str, &str)], body: &str, expected: (u16, &str)| {
        let answer = bed.send(method, uri, headers, body);
        assert_eq!((answer.status, answer.code().as_str()), expected, "{method} {uri} {headers:?}");
        let sent = bed.drain_requests().len();
        assert_eq!(sent, usize::from(expected.0 < 300), "{method} {uri} {headers:?}");
    };
    check("POST", "/v1/nothing", &[], &large, (404, "not_found"));
    check("GET", "/", &[], "", (404, "not_found"));
    check("GET", "/metrics", &[], "", (404, "not_found"));
    check("GET", "/v1/subjects/article/7/", &[], "", (404, "not_found"));
    check("PUT", POST, &[], &large, (405, "method_not_allowed"));
    check("POST", "/v1/counts", &[TOKEN, JSON], "{}", (405, "method_not_allowed"));
    check("POST", POST, &[], &large, (401, "token_missing"));
    check("POST", POST, &[("authorization", "Basic x")], &large, (401, "token_invalid"));
    check("POST", POST, &[TOKEN], &large, (413, "body_too_large"));
    check("POST", POST, &[TOKEN, ("content-length", "65537")], "", (413, "body_too_large"));
    check("POST", POST, &[TOKEN], "{", (415, "unsupported_media_type"));
    check("POST", POST, &[TOKEN, ("content-type", "text/plain")], "{", (415, "unsupported_media_type"));
    // A member's erasure, and the export before it.
    check("DELETE", "/v1/me", &[TOKEN], "", (201, ""));
    check("GET", "/v1/me/export", &[TOKEN], "", (201, ""));
    // The origin explains what is wrong with a body.
    check("POST", POST, &[TOKEN, JSON], "{", (201, ""));
    check("POST", POST, &[TOKEN, ("content-type", "Application/JSON; charset=utf-8")], "{}", (201, ""));
    check("PATCH", "/v1/comments/5", &[TOKEN, JSON], "{}", (201, ""));
    check("DELETE", "/v1/comments/5", &[], "", (401, "token_missing"));
    check("DELETE", "/v1/comments/5", &[TOKEN], "", (201, ""));
    check("PUT", "/v1/comments/5/like", &[TOKEN], "", (201, ""));
    check("DELETE", "/v1/comments/5/dislike", &[TOKEN], "", (201, ""));
    check("POST", "/v1/guests", &[], "{}", (415, "unsupported_media_type"));
    check("POST", "/v1/guests", &[JSON], "{}", (201, ""));
    // A picture may be larger, and its kind is for the origin to judge.
    let largest = "x".repeat(MAX_UPLOAD_BYTES);
    check("POST", "/v1/media", &[], &large, (401, "token_missing"));
    check("POST", "/v1/media", &[TOKEN], &largest, (201, ""));
    check("POST", "/v1/media", &[TOKEN], &format!("{largest}x"), (413, "body_too_large"));
    check("GET", "/v1/media/5.png", &[], "", (201, ""));
    check("POST", "/v1/comments/5/reports", &[TOKEN, JSON], "{}", (201, ""));
    check("GET", "/v1/admin/queue?kind=held", &[], "", (401, "token_missing"));
    check("GET", "/v1/admin/queue?kind=held", &[TOKEN], "", (201, ""));
    check("POST", "/v1/admin/audit/5/undo", &[TOKEN], "", (201, ""));
    check("GET", "/v1/me/overlay?ids=1", &[], "", (401, "token_missing"));
    check("GET", "/v1/me/overlay?ids=1", &[TOKEN], "", (201, ""));
    check("GET", "/v1/me/something/new", &[], "", (404, "not_found"));
    check("GET", "/v1/admin/something/new", &[], "", (404, "not_found"));
    for path in ["/metrics", "/v1/edge/changes", "/v1/edge/changes?day=1", "//metrics", "/docs/x", "/console"] {
        check("GET", path, &[], "", (404, "not_found"));
    }
    for path in
        ["/v1/me/../../metrics", "/v1/admin/%2e%2E/edge/changes", "/docs/.%2e/metrics", "/v1/me/x%2f..%2f..%2freadyz"]
    {
        for method in ["GET", "POST", "OPTIONS"] {
            check(method, path, &[], "", (400, "invalid_request"));
        }
    }
    for key in ["a%2Fb", "a.b", "..a", "%2e%2e%2ea", "a%20b%22'"] {
        check("POST", &format!("/v1/subjects/article/{key}/comments"), &[TOKEN, JSON], "{}", (201, ""));
    }
    check("POST", "/v1/subjects/article/%2e%2e/comments", &[TOKEN, JSON], "{}", (400, "invalid_request"));
    check("GET", "/v1/subjects/article/..", &[], "", (400, "invalid_request"));
    check("PUT", "/v1/admin/subjects/article/7", &[], "{}", (401, "token_missing"));
    check("GET", "/v1/subjects/article/7/comments/friends", &[], "", (404, "not_found"));
    check("GET", "/v1/subjects/article/7/events", &[], "", (201, ""));
    check("GET", "/v1/subjects/article/7/comments?limit=0", &[], "", (201, ""));
}

#[test]
fn uploads_share_the_room_for_large_bodies() {
    let bed = bed();
    let network = crate::rate_limits::network_of(Some("192.0.2.1"));
    let upload = || bed.send("POST", "/v1/media", &[TOKEN], "x").status;
    let held: Vec<_> = (0..3).map(|_| bed.isolate.body_budget.reserve(network, MAX_UPLOAD_BYTES, START_MS)).collect();
    assert!(held.iter().all(Option::is_some), "three uploads of one network fit");
    assert_eq!((upload(), bed.drain_requests().len()), (503, 0), "one without a length counts as the largest");
    assert_eq!(bed.send("POST", POST, &[TOKEN, JSON], "{}").status, 201, "a comment needs no room");
    drop(held);
    assert_eq!((upload(), upload()), (201, 201));
}

/// The origin serves these and the edge does not pass them on; an import is larger than the edge may hold.
const INNER_CALLS: [&str; 4] =
    ["GET\t/metrics", "GET\t/v1/edge/changes", "GET\t/v1/admin/export", "POST\t/v1/admin/import"];

#[test]
fn every_call_of_the_contract_has_a_route() {
    let bed = bed();
    let calls = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/contract_calls.tsv"));
    for call in calls.lines() {
        let (method, path) = call.split_once('\t').unwrap();
        let path =
            path.replace("{type}", "article").replace("{key}", "7").replace("{id}", "5").replace("{name}", "5.png");
        let path = path.replace("{hash}", &"0".repeat(32));
        let status = bed.send(method, &path, &[TOKEN, JSON], "{}").status;
        let is_known = !matches!(status, 404 | 405);
        assert_eq!(is_known, !INNER_CALLS.contains(&call), "{call}: {status}");
    }
}

#[test]
fn signed_target_is_the_sent_one() {
    let bed = bed();
    bed.send("GET", "/v1/me/overlay?ids=1&x='a'", &[TOKEN], "");
    let (request, _) = bed.drain_requests().remove(0);
    assert_eq!(request.path_query, "/v1/me/overlay?ids=1&x=%27a%27");
}

#[test]
fn method_not_allowed_lists_the_allowed_ones() {
    let answer = bed().send("PUT", POST, &[], "");
    assert_eq!(answer.header("allow"), "GET,HEAD,POST");
}

#[test]
fn token_is_verified_where_the_key_is_configured() {
    let config = || EdgeConfig { audience: "gailou".into(), ..EdgeConfig::default() };
    let check = |member_keys: Option<MemberKeys>, token: &str, expected: u16| {
        let bed = EdgeTestBed::new(EdgeConfig { member_keys, ..config() });
        bed.set_answer(origin_answer(204, "", &[]));
        let answer = bed.send("PUT", "/v1/comments/5/like", &[("authorization", &format!("Bearer {token}"))], "");
        assert_eq!(answer.status, expected, "{token}");
        if expected == 401 {
            assert_eq!((answer.code().as_str(), answer.header("www-authenticate")), ("token_invalid", "Bearer"));
        }
    };
    let now = START_MS / 1_000;
    let secret = || MemberKeys::from_secret(SECRET);
    let public = || {
        TokenKey::public(&[
            0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1,
            0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
        ])
        .map(|host| MemberKeys::from_public_key(host, None))
    };
    check(secret(), &token(now + 60), 204);
    check(secret(), &token(now - 60), 401);
    check(secret(), "no.token", 401);
    check(MemberKeys::from_secret(b"another secret of at least 32 bytes"), &token(now + 60), 401);
    check(None, "no.token", 204);
    check(public(), &token(now + 60), 401);
    // A guest's token, where the host signs with EdDSA: the origin decides.
    let guest = Member { id: MemberId::guest(5), name: "Bo".into(), avatar: None, level: 0, role: Role::Member };
    let sign = |key: &TokenKey| key.sign(&guest, "gailou", now..now + 60).unwrap();
    check(public(), &sign(secret().unwrap().own().unwrap()), 204);
    check(secret(), &sign(secret().unwrap().own().unwrap()), 204);
    check(secret(), &sign(secret().unwrap().host()), 401);
    // {"alg":"EdDSA"}
    check(public(), "eyJhbGciOiJFZERTQSJ9.e30.AAAA", 401);
}

#[test]
fn only_listed_headers_are_forwarded() {
    let bed = bed();
    let body = r#"{"content":"hi"}"#;
    let answer = bed.send(
        "POST",
        "/v1/subjects/article/a%2Fb/comments?x=1",
        &[
            TOKEN,
            JSON,
            ("idempotency-key", "k1"),
            ("accept-language", "zh"),
            ("if-match", "\"7\""),
            ("origin", "https://host.example"),
            ("x-request-id", "mine"),
            ("x-gailou-challenge", "answer"),
            ("cookie", "a=b"),
            ("connection", "keep-alive"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("x-forwarded-for", "203.0.113.9"),
            ("x-gailou-client", "203.0.113.9"),
            ("x-gailou-edge", "t=1,v2=00"),
            ("x-gailou-body", "00"),
        ],
        body,
    );
    assert_eq!((answer.status, answer.header("x-request-id"), answer.header("connection")), (201, "mine", ""));
    let (request, deadline_ms) = bed.drain_requests().remove(0);
    assert_eq!((request.method.as_str(), deadline_ms), ("POST", 10_000));
    assert_eq!(request.path_query, "/v1/subjects/article/a%2Fb/comments?x=1");
    assert_eq!(request.body, body);
    let mut names: Vec<_> = request.headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    let expected = [
        "accept-language",
        "authorization",
        "content-type",
        "idempotency-key",
        "if-match",
        "origin",
        "x-gailou-body",
        "x-gailou-challenge",
        "x-gailou-client",
        "x-gailou-edge",
        "x-request-id",
    ];
    assert_eq!(names, expected);
    assert_eq!(request.headers[CLIENT_HEADER], "192.0.2.1", "the platform's address, not the client's");
    let body_hash = BodyHash::of(&request.body);
    assert_eq!(request.headers[BODY_HASH_HEADER], body_hash.to_string());
    let signed = SignedRequest {
        direction: SignatureDirection::EdgeToOrigin,
        method: "POST",
        path_query: &request.path_query,
        client: "192.0.2.1",
        authorization: TOKEN.1,
        idempotency_key: "k1",
        body_hash,
    };
    let signature = request.headers[SIGNATURE_HEADER].to_str().unwrap();
    assert_eq!(verify_request(SECRET, START_MS / 1_000, &signed, signature), Ok(()));

    // An id of the edge's own is that of a trace, whatever trace the client says.
    let headers = [TOKEN, JSON, ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")];
    let answer = bed.send("POST", "/v1/subjects/article/a/comments", &headers, body);
    let (request, _) = bed.drain_requests().remove(0);
    let id = answer.header("x-request-id");
    assert_eq!(id.len(), 32, "{id}");
    assert_eq!(request.headers["traceparent"], format!("00-{id}-{}-00", &id[16..]));
}

#[test]
fn blocked_text_is_refused_at_the_edge() {
    let bed = bed();
    let words = "casino\tgambling\tblock\nfoo\trude\tmask\nbar\tpolitics\treview\n";
    bed.global_store.values.lock().unwrap().insert(word_filter::DICTIONARY_KEY.into(), words.into());
    let check = |method: &str, uri: &str, body: &str, expected: Option<&str>| {
        let answer = bed.send(method, uri, &[TOKEN, JSON], body);
        match expected {
            None => assert_eq!((answer.status, bed.drain_requests().len()), (201, 1), "{body}"),
            Some(categories) => {
                assert_eq!((answer.status, answer.code().as_str()), (422, "content_rejected"), "{body}");
                let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
                assert_eq!(problem["errors"], serde_json::json!([{"field": "content", "detail": categories}]));
                assert!(!answer.body.contains("casino"), "the terms stay secret");
                assert_eq!(bed.drain_requests().len(), 0);
                bed.tasks.drain();
                bed.drain_requests();
            }
        }
    };
    check("POST", POST, r#"{"content":"the Casino is open"}"#, Some("gambling"));
    check("PATCH", "/v1/comments/5", r#"{"x":[1],"content":"c\u0061s\u200bino foo"}"#, Some("gambling, rude"));
    check("POST", POST, r#"{"content":"foo bar"}"#, None);
    check("POST", POST, r#"{"content":7}"#, None);
    check("POST", POST, "casino", None);
    check("POST", "/v1/admin/comments/5/decision", r#"{"content":"casino"}"#, None);
}

/// A bed whose dictionary refuses `casino`.
fn bed_with_word() -> EdgeTestBed {
    let bed = bed();
    bed.global_store.values.lock().unwrap().insert(word_filter::DICTIONARY_KEY.into(), "casino\tad\tblock".into());
    bed
}

#[test]
fn refused_write_is_passed_on_after_the_answer_to_be_judged_alone() {
    let bed = bed_with_word();
    for (method, uri) in [("POST", POST), ("PATCH", "/v1/comments/5")] {
        let body = r#"{"content":"casino"}"#;
        let answer = bed.send(method, uri, &[TOKEN, JSON, ("idempotency-key", "k1")], body);
        assert_eq!((answer.status, bed.drain_requests().len()), (422, 0), "the answer does not wait");
        assert_eq!(bed.tasks.drain(), 1);
        let sent = bed.drain_requests();
        let [(request, timeout_ms)] = sent.as_slice() else { panic!("{} requests", sent.len()) };
        assert_eq!(
            (request.method.as_str(), request.path_query.as_str(), &request.body[..]),
            (method, uri, body.as_bytes())
        );
        assert_eq!((&request.headers[REFUSED_HEADER], *timeout_ms), (&"1".parse().unwrap(), WRITE_TIMEOUT_MS));
        for header in ["authorization", "content-type", "idempotency-key", SIGNATURE_HEADER] {
            assert!(request.headers.contains_key(header), "{header}");
        }
    }
}

#[test]
fn text_that_passes_is_sent_without_the_mark_whatever_the_client_says() {
    let bed = bed_with_word();
    assert_eq!(bed.send("POST", POST, &[TOKEN, JSON, (REFUSED_HEADER, "1")], r#"{"content":"hello"}"#).status, 201);
    let sent = bed.drain_requests();
    assert_eq!((sent.len(), sent[0].0.headers.get(REFUSED_HEADER), bed.tasks.drain()), (1, None, 0));
}

#[test]
fn refused_writes_are_passed_on_at_a_bounded_rate_and_an_origin_that_is_down_changes_no_answer() {
    let bed = bed_with_word();
    bed.stop_origin();
    let post = || bed.send("POST", POST, &[TOKEN, JSON], r#"{"content":"casino"}"#).status;
    assert!((0..100).all(|_| post() == 422));
    bed.tasks.drain();
    assert_eq!(bed.drain_requests().len(), 30, "nothing is sent again");
    bed.advance_ms(60_000);
    assert_eq!(post(), 422);
    bed.tasks.drain();
    assert_eq!(bed.drain_requests().len(), 1);
}

#[test]
fn dictionary_is_reloaded_after_a_minute() {
    let bed = bed();
    let post = || bed.send("POST", POST, &[TOKEN, JSON], r#"{"content":"casino"}"#).status;
    assert_eq!(post(), 201, "no dictionary blocks nothing");
    bed.global_store.values.lock().unwrap().insert(word_filter::DICTIONARY_KEY.into(), "casino\tad\tblock".into());
    bed.advance_ms(59_999);
    assert_eq!((post(), bed.tasks.drain()), (201, 0));
    bed.advance_ms(1);
    assert_eq!((post(), bed.tasks.drain()), (201, 1));
    assert_eq!((post(), bed.tasks.drain()), (422, 1));
    // An invalid dictionary changes nothing.
    bed.global_store.values.lock().unwrap().insert(word_filter::DICTIONARY_KEY.into(), "casino".into());
    bed.advance_ms(60_000);
    assert_eq!((post(), bed.tasks.drain(), post()), (422, 2, 422));
}

#[test]
fn unreachable_origin_leaves_the_outcome_of_a_write_open() {
    let bed = bed();
    bed.stop_origin();
    for (method, uri) in [("POST", POST), ("PATCH", "/v1/comments/5"), ("PUT", "/v1/comments/5/like")] {
        let answer = bed.send(method, uri, &[TOKEN, JSON], "{}");
        assert_eq!((answer.status, answer.code().as_str()), (503, "origin_unreachable"));
        assert_eq!(answer.header("retry-after"), "5");
        assert!(answer.body.contains("Idempotency-Key") && answer.body.contains("not known"), "{}", answer.body);
        assert_eq!(bed.drain_requests().len(), 1, "a write is never sent twice");
    }
    let preflight = [("origin", "https://a.example"), ("access-control-request-method", "POST")];
    assert_eq!(bed.send("OPTIONS", POST, &preflight, "").status, 503);
    bed.set_answer(origin_answer(204, "", &[("access-control-allow-origin", "https://a.example")]));
    let answer = bed.send("OPTIONS", POST, &preflight, "");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, "https://a.example"));
    assert_eq!(bed.drain_requests()[1].0.headers["access-control-request-method"], "POST");
    // The origin's own problem is passed on.
    bed.set_answer(origin_answer(503, r#"{"code":"unavailable"}"#, &[("content-type", "application/problem+json")]));
    assert_eq!(bed.send("POST", POST, &[TOKEN, JSON], "{}").code(), "unavailable");
    // Failed writes do not mark the origin as down for pages.
    assert!(!bed.isolate.origin_health.is_down(bed.clock_ms()));
    bed.set_answer(origin_answer(504, "", &[]));
    assert_eq!(bed.send("POST", POST, &[TOKEN, JSON], "{}").code(), "origin_unreachable");
}

#[test]
fn personal_answers_pass_through_unchanged() {
    let bed = bed();
    bed.set_answer(origin_answer(
        200,
        "{}",
        &[("cache-control", "private, no-store"), ("content-type", "application/json")],
    ));
    for _ in 0..2 {
        let answer = bed.send("GET", "/v1/me/overlay?ids=1&x=2", &[TOKEN], "");
        assert_eq!((answer.status, answer.header("cache-control")), (200, "private, no-store"));
        let (request, deadline_ms) = bed.drain_requests().remove(0);
        assert_eq!((request.path_query.as_str(), deadline_ms), ("/v1/me/overlay?ids=1&x=2", 5_000));
    }
    assert_eq!(bed.send("GET", "/healthz", &[], "").body, r#"{"status":"ok"}"#);
    assert_eq!(bed.drain_requests().len(), 0);
}

#[test]
fn cookies_of_the_origin_pass_where_readers_sign_in_and_nowhere_else() {
    let bed = bed();
    let set = ("set-cookie", "gailou_refresh=next; HttpOnly");
    let check = |method: &str, uri: &str, passes: bool| {
        bed.set_answer(origin_answer(200, "{}", &[("content-type", "application/json"), set]));
        let cookie = ("cookie", "site=secret; gailou_refresh=x; gailou_visit=y");
        let answer = bed.send(method, uri, &[cookie, TOKEN, JSON], "");
        let (sent, _) = bed.drain_requests().remove(0);
        let received = sent.headers.get("cookie").map(|value| value.to_str().unwrap().to_owned());
        let expected = passes.then_some("gailou_refresh=x; gailou_visit=y".to_owned());
        assert_eq!((received, answer.headers.contains_key("set-cookie")), (expected, passes), "{method} {uri}");
    };
    check("POST", "/v1/auth/refresh", true);
    check("POST", "/v1/auth/session", true);
    check("DELETE", "/v1/auth/session", true);
    check("POST", "/v1/auth/email/callback?token=t", true);
    check("POST", "/v1/auth/passkeys/session", true);
    check("GET", "/v1/auth/passkeys", false);
    check("GET", "/v1/auth/github?site=https://blog.example", true);
    check("GET", "/v1/auth/github/callback?code=c&state=s", true);
    check("GET", "/v1/auth/providers", false);
    check("GET", "/v1/me", false);
    check("DELETE", "/v1/me", false);
}
