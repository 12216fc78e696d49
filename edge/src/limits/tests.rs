use super::*;
use crate::Config;
use crate::ports::doubles::{Stage, of, ok};

const LIST: &str = "/v1/subjects/article/7/comments";
/// {"sub":"7"}, signed by nobody.
const TOKEN: (&str, &str) = ("authorization", "Bearer e30.eyJzdWIiOiI3In0.AAAA");

#[test]
fn the_numbers_are_those_of_the_bindings() {
    let file = include_str!("../../../wrangler.toml");
    let blocks: Vec<_> = file.split("ratelimits]]\n").skip(1).collect();
    assert!(!blocks.is_empty() && blocks.len() % 3 == 0, "all three or none of them");
    for limit in [WRITES_MEMBER, WRITES_ADDRESS, READS_ADDRESS] {
        let name = format!("name = \"{}\"\n", limit.binding);
        let simple = format!("simple = {{ limit = {}, period = {} }}", limit.count, limit.seconds);
        let of_this: Vec<_> = blocks.iter().filter(|block| block.starts_with(&name)).collect();
        assert_eq!(of_this.len() * 3, blocks.len(), "{name}");
        assert!(of_this.iter().all(|block| block.contains(&simple)), "{name} must be {simple}");
    }
}

#[test]
fn addresses_count_by_household() {
    let check = |client: Option<&str>, expected: Option<&str>| {
        let asker = Asker { id: crate::answer::Ids::new(7).accept(None), client: client.map(str::to_owned) };
        assert_eq!(network(&asker).as_deref(), expected, "{client:?}");
    };
    check(Some("192.0.2.1"), Some("192.0.2.1"));
    check(Some("::ffff:192.0.2.1"), Some("192.0.2.1"));
    check(Some("2001:db8:1:2:3:4:5:6"), Some("2001:db8:1:2::/64"));
    check(Some("2001:db8:1:2:ffff::"), Some("2001:db8:1:2::/64"));
    check(Some("unknown"), None);
    check(None, None);
}

#[test]
fn writes_count_by_member_and_by_address() {
    let stage = Stage::new(Config::default());
    stage.answers(of(204, "", &[]));
    let taken = || std::mem::take(&mut *stage.limiter.taken.lock().unwrap());
    let counted = |keys: &[(&'static str, &str)]| {
        let keys: Vec<_> = keys.iter().map(|(binding, key)| (*binding, (*key).to_owned())).collect();
        assert_eq!(taken(), keys);
    };
    assert_eq!(stage.send("PUT", "/v1/comments/5/like", &[TOKEN], "").status, 204);
    counted(&[("LIMIT_WRITES_MEMBER", "192.0.2.1 7"), ("LIMIT_WRITES_ADDRESS", "192.0.2.1")]);
    assert_eq!(stage.send("PUT", "/v1/comments/5/like", &[("authorization", "Bearer x.y.z")], "").status, 204);
    counted(&[("LIMIT_WRITES_ADDRESS", "192.0.2.1")]);
    assert_eq!(stage.send("PUT", "/v1/comments/5/like", &[], "").status, 401);
    counted(&[]);
    stage.send("POST", "/v1/guests", &[("content-type", "application/json")], "{}");
    counted(&[("LIMIT_WRITES_ADDRESS", "192.0.2.1")]);
    stage.send("GET", "/v1/me/overlay?ids=1", &[TOKEN], "");
    counted(&[("LIMIT_READS_ADDRESS", "192.0.2.1")]);
}

#[test]
fn a_member_who_was_verified_counts_everywhere() {
    let secret = b"0123456789abcdef0123456789abcdef";
    let key = gailou_shared::token::TokenKey::secret(secret);
    let stage = Stage::new(Config { token_key: key.clone(), audience: "gailou".into(), ..Config::default() });
    stage.answers(of(204, "", &[]));
    let member = gailou_shared::token::Member {
        id: gailou_shared::id::MemberId::new(7).unwrap(),
        name: "Ann".into(),
        avatar: None,
        level: 0,
        role: gailou_shared::token::Role::Member,
    };
    let token = key.unwrap().sign(&member, "gailou", stage.clock_ms() / 1_000 + 60).unwrap();
    stage.send("PUT", "/v1/comments/5/like", &[("authorization", &format!("Bearer {token}"))], "");
    let taken = stage.limiter.taken.lock().unwrap();
    assert_eq!(taken.first(), Some(&("LIMIT_WRITES_MEMBER", "7".to_owned())));
}

#[test]
fn who_is_over_a_limit_does_not_reach_the_origin() {
    let check = |limit: &Limit, method: &str, uri: &str, headers: &[(&str, &str)], policy: &str, state: &str| {
        let stage = Stage::new(Config::default());
        stage.answers(ok("x", "max-age=2"));
        stage.limiter.closed.lock().unwrap().push(limit.binding);
        let answer = stage.send(method, uri, headers, &"x".repeat(70_000));
        assert_eq!((answer.status, answer.code().as_str()), (429, "rate_limited"), "{method} {uri}");
        assert_eq!((answer.header("ratelimit-policy"), answer.header("ratelimit")), (policy, state));
        assert_eq!(answer.header("retry-after"), "60");
        assert_eq!(stage.sent().len(), 0);
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
fn what_the_caches_answer_does_not_count() {
    let stage = Stage::new(Config::default());
    stage.answers(ok("x", "max-age=2"));
    for _ in 0..5 {
        assert_eq!(stage.get(LIST).body, "x");
    }
    stage.limiter.closed.lock().unwrap().push(READS_ADDRESS.binding);
    assert_eq!(stage.get(LIST).body, "x");
    assert_eq!(stage.limiter.taken.lock().unwrap().len(), 1);
}
