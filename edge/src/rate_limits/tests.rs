//! Rate limits: keys, numbers, refusals.

use super::*;
use crate::EdgeConfig;
use crate::testing::{EdgeTestBed, origin_answer, page_answer};

const LIST: &str = "/v1/subjects/article/7/comments";
/// `{"alg":"HS256"}`, `{"sub":"7"}`, and a signature that is not one.
const TOKEN: (&str, &str) = ("authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.AAAA");

#[test]
fn numbers_equal_those_of_wrangler_toml() {
    let file = include_str!("../../../wrangler.toml");
    let blocks: Vec<_> = file.split("ratelimits]]\n").skip(1).collect();
    assert!(!blocks.is_empty() && blocks.len() % 3 == 0, "all three or none of them");
    for limit in [WRITES_MEMBER, WRITES_ADDRESS, READS_ADDRESS] {
        let name = format!("name = \"{}\"\n", limit.binding);
        let simple = format!("simple = {{ limit = {}, period = {} }}", limit.count, limit.window_seconds);
        let of_this: Vec<_> = blocks.iter().filter(|block| block.starts_with(&name)).collect();
        assert_eq!(of_this.len() * 3, blocks.len(), "{name}");
        assert!(of_this.iter().all(|block| block.contains(&simple)), "{name} must be {simple}");
    }
}

#[test]
fn network_key_is_an_ipv4_address_or_an_ipv6_64() {
    let check = |client: Option<&str>, expected: Option<&str>| {
        let requester =
            Requester { id: crate::response::RequestIds::new(7).accept(None, 0), client: client.map(str::to_owned) };
        assert_eq!(network_key(&requester).as_deref(), expected, "{client:?}");
    };
    check(Some("192.0.2.1"), Some("192.0.2.1"));
    check(Some("::ffff:192.0.2.1"), Some("192.0.2.1"));
    check(Some("2001:db8:1:2:3:4:5:6"), Some("2001:db8:1:2::/64"));
    check(Some("2001:db8:1:2:ffff::"), Some("2001:db8:1:2::/64"));
    check(Some("unknown"), None);
    check(None, None);
}

#[test]
fn write_counts_for_member_and_address() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.set_answer(origin_answer(204, "", &[]));
    let taken = || std::mem::take(&mut *bed.limiter.taken.lock().unwrap());
    let counted = |keys: &[(&'static str, &str)]| {
        let keys: Vec<_> = keys.iter().map(|(binding, key)| (*binding, (*key).to_owned())).collect();
        assert_eq!(taken(), keys);
    };
    assert_eq!(bed.send("PUT", "/v1/comments/5/like", &[TOKEN], "").status, 204);
    counted(&[("LIMIT_WRITES_MEMBER", "192.0.2.1 7"), ("LIMIT_WRITES_ADDRESS", "192.0.2.1")]);
    assert_eq!(bed.send("PUT", "/v1/comments/5/like", &[("authorization", "Bearer x.y.z")], "").status, 204);
    counted(&[("LIMIT_WRITES_ADDRESS", "192.0.2.1")]);
    assert_eq!(bed.send("PUT", "/v1/comments/5/like", &[], "").status, 401);
    counted(&[]);
    bed.send("POST", "/v1/guests", &[("content-type", "application/json")], "{}");
    counted(&[("LIMIT_WRITES_ADDRESS", "192.0.2.1")]);
    bed.send("GET", "/v1/me/overlay?ids=1", &[TOKEN], "");
    counted(&[("LIMIT_READS_ADDRESS", "192.0.2.1")]);
}

#[test]
fn verified_member_counts_without_the_address() {
    let secret = b"0123456789abcdef0123456789abcdef";
    let keys = gailou_shared::member_keys::MemberKeys::from_secret(secret);
    let bed =
        EdgeTestBed::new(EdgeConfig { member_keys: keys.clone(), audience: "gailou".into(), ..EdgeConfig::default() });
    bed.set_answer(origin_answer(204, "", &[]));
    let member = gailou_shared::token::Member {
        id: gailou_shared::id::MemberId::new(7).unwrap(),
        name: "Ann".into(),
        avatar: None,
        level: 0,
        role: gailou_shared::token::Role::Member,
    };
    let now = bed.clock_ms() / 1_000;
    let token = keys.unwrap().host().sign(&member, "gailou", now..now + 60).unwrap();
    bed.send("PUT", "/v1/comments/5/like", &[("authorization", &format!("Bearer {token}"))], "");
    let taken = bed.limiter.taken.lock().unwrap();
    assert_eq!(taken.first(), Some(&("LIMIT_WRITES_MEMBER", "7".to_owned())));
}

#[test]
fn request_over_a_limit_is_429_without_the_origin() {
    let check = |limit: &RateLimit, method: &str, uri: &str, headers: &[(&str, &str)], policy: &str, state: &str| {
        let bed = EdgeTestBed::new(EdgeConfig::default());
        bed.set_answer(page_answer("x", "max-age=2"));
        bed.limiter.refusing.lock().unwrap().push(limit.binding);
        let answer = bed.send(method, uri, headers, &"x".repeat(70_000));
        assert_eq!((answer.status, answer.code().as_str()), (429, "rate_limited"), "{method} {uri}");
        assert_eq!((answer.header("ratelimit-policy"), answer.header("ratelimit")), (policy, state));
        assert_eq!(answer.header("retry-after"), "60");
        assert_eq!(bed.drain_requests().len(), 0);
    };
    let post = "/v1/subjects/article/7/comments";
    check(&WRITES_MEMBER, "POST", post, &[TOKEN], "\"writes-member\";q=120;w=60", "\"writes-member\";r=0;t=60");
    check(&WRITES_ADDRESS, "POST", post, &[TOKEN], "\"writes-address\";q=600;w=60", "\"writes-address\";r=0;t=60");
    let reads = ("\"reads-address\";q=1200;w=60", "\"reads-address\";r=0;t=60");
    check(&READS_ADDRESS, "GET", LIST, &[], reads.0, reads.1);
    check(&READS_ADDRESS, "GET", "/v1/me/overlay?ids=1", &[TOKEN], reads.0, reads.1);
    check(&READS_ADDRESS, "GET", "/v1/subjects/article/7/comments?limit=0", &[], reads.0, reads.1);
}

#[test]
fn cached_page_does_not_count() {
    let bed = EdgeTestBed::new(EdgeConfig::default());
    bed.set_answer(page_answer("x", "max-age=2"));
    for _ in 0..5 {
        assert_eq!(bed.get(LIST).body, "x");
    }
    bed.limiter.refusing.lock().unwrap().push(READS_ADDRESS.binding);
    assert_eq!(bed.get(LIST).body, "x");
    assert_eq!(bed.limiter.taken.lock().unwrap().len(), 1);
}
