//! Rates: every kind of write and every uncached read has a limit, for its member, its network and its target.

use gailou::config::{AllowedOrigins, Secret, TrustedProxies};
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiRequest, ApiResponse, TestOrigin, ann, bob, comments_path, id, member, moderator};
use serde_json::json;

use crate::signed_request::{EDGE_SECRET, signed};

/// Sends until the limit refuses; how many requests it let through. A slow machine may give a limit the time to
/// let a few more through than it allows at once.
async fn count_until_limited(most: u32, mut send: impl AsyncFnMut(u32) -> ApiResponse) -> u32 {
    for n in 0..most {
        let answer = send(n).await;
        if answer.status == 429 {
            assert_eq!(answer.json["code"], "rate_limited");
            assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
            assert!(answer.header("ratelimit-policy").contains("q=") && answer.header("ratelimit").contains("r=0"));
            return n;
        }
    }
    panic!("{most} requests have no limit")
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_of_a_member_are_limited_refused_ones_included() {
    let origin = TestOrigin::start_with(|config| config.adjustable.limits.enabled = true).await;
    origin.load_terms(&[("blockme", TermAction::Block)]).await;
    let ann = ann();
    let accepted =
        count_until_limited(20, async |_| origin.try_post(&ann, "post/1", &json!({"content": "x"})).await).await;
    assert!(accepted >= 5, "only {accepted} posts in a minute");
    // Other members may post, and likes have no limit of posts.
    let comment = origin.post(&bob(), "post/1", "x").await;
    origin.like(&ann, &comment).await;
    // The refused post was not written.
    let subject = origin.current_page("post/1", &comments_path("post/1")).await["subject"].clone();
    assert_eq!(subject["comments"], accepted + 1);
    let refused = member(77);
    count_until_limited(20, async |_| {
        let answer = origin.try_post(&refused, "post/1", &json!({"content": "blockme"})).await;
        assert!([422, 429].contains(&answer.status), "{}", answer.text);
        answer
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_write_of_a_member_is_limited() {
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.posts_per_minute_member = 0;
        config.adjustable.limits.reactions_per_minute_member = 6;
        config.adjustable.limits.edits_per_minute_comment = 3;
        config.adjustable.limits.edits_per_minute_member = 6;
        config.adjustable.limits.deletions_per_minute_member = 6;
        config.adjustable.limits.decisions_per_minute_member = 6;
        config.adjustable.limits.previews_per_minute_member = 6;
    })
    .await;
    let (ann, moderator) = (ann(), moderator());
    let comment = origin.post(&ann, "post/1", "x").await;
    let other = origin.post(&ann, "post/1", "y").await;
    let of = |what: &str| format!("/v1/comments/{}{what}", id(&comment));
    let call = async |line: String| origin.request(&line).by(&ann).send().await;
    let reactions = count_until_limited(20, async |n| {
        call(format!("{} {}", ["PUT", "DELETE"][n as usize % 2], of(["/like", "/dislike"][n as usize / 2 % 2]))).await
    });
    assert!(reactions.await >= 6);
    let edits = count_until_limited(20, async |n| origin.edit(&ann, &comment, &format!("edit {n}")).await).await;
    assert!((3..6).contains(&edits), "{edits} edits of one comment");
    let edits = count_until_limited(20, async |n| origin.edit(&ann, &other, &format!("edit {n}")).await).await;
    assert!(edits <= 3, "{edits} more edits of the member");
    let text = json!({ "content": "x" });
    let preview = async |_| origin.request("POST /v1/preview").by(&ann).json(&text).send().await;
    let previews = count_until_limited(20, preview).await;
    assert!((6..9).contains(&previews), "{previews} previews");
    let pins = count_until_limited(20, async |_| origin.set_flag(&moderator, "PUT", id(&comment), "pin").await).await;
    assert!(pins >= 6, "{pins} pins");
    origin.decide(&moderator, &comment, "feature").await.expect(429);
    assert!(count_until_limited(20, async |_| origin.delete(&ann, &comment).await).await >= 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_no_page_in_memory_answers_are_limited() {
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.reads_per_minute_address = 10;
    })
    .await;
    let list = comments_path("post/1");
    let reads = count_until_limited(40, async |n| origin.get(&format!("{list}?limit={}", n + 1)).await).await;
    assert!(reads >= 10, "{reads} reads");
    origin.request("GET /v1/me/overlay?ids=1").by(&ann()).send().await.expect(429);
    origin.get("/v1/subjects/post/1/events?after=0").await.expect(429);
    origin.get("/healthz").await.expect(200);
}

/// Which sites may call depends on the comment's subject here, so the origin has to look the comment up.
#[tokio::test(flavor = "multi_thread")]
async fn finding_out_the_sites_of_a_call_counts_for_its_sender() {
    let site = "https://video.example";
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.reads_per_minute_address = 5;
        config.edge.secret = Secret::new(EDGE_SECRET);
        config.types.get_mut("video").unwrap().cors_origins = Some(AllowedOrigins::parse([site]).unwrap());
    })
    .await;
    let asking = |request: ApiRequest| request.header("origin", site).header("access-control-request-method", "PUT");
    let line = |n: u32| format!("OPTIONS /v1/comments/{}/like", n + 1);
    let by_edge = async |n: u32, reader: &str| asking(signed(&origin, &line(n), "", reader, EDGE_SECRET)).send().await;
    for n in 0..30 {
        // Each from a network of its own, all through one edge.
        by_edge(n, &format!("192.0.2.{n}")).await.expect(204);
    }
    let of_one = count_until_limited(30, async |n| by_edge(n, "198.51.100.1").await).await;
    assert!((5..8).contains(&of_one), "{of_one} calls of one reader");
    by_edge(1, "198.51.100.2").await.expect(204);
    // What the edge did not sign counts for the network it came from, whatever address it claims.
    let forged = async |n: u32| {
        let wrong = "a secret that the origin does not have";
        asking(signed(&origin, &line(n), "", &format!("203.0.113.{n}"), wrong)).send().await
    };
    let of_socket = count_until_limited(30, forged).await;
    assert!((5..8).contains(&of_socket), "{of_socket} calls without a valid signature");
    asking(origin.request(&line(1))).send().await.expect(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_addresses_of_an_ipv6_64_are_one_client() {
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.guests_per_hour_address = 5;
        config.edge.secret = Secret::new(EDGE_SECRET);
    })
    .await;
    let register =
        async |address: &str| signed(&origin, "POST /v1/guests", r#"{"name":"g"}"#, address, EDGE_SECRET).send().await;
    let guests = count_until_limited(20, async |n| register(&format!("2001:db8:0:1:{n:x}::{n:x}")).await).await;
    assert!((5..8).contains(&guests), "{guests} guests of one network");
    register("2001:db8:0:2::1").await.expect(201);
    register("::ffff:192.0.2.1").await.expect(201);
    register("no address").await.expect(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn address_of_a_trusted_proxy_alone_is_believed() {
    let start = async |proxies: &str| {
        let proxies = TrustedProxies::parse(proxies).unwrap();
        TestOrigin::start_with(|config| {
            config.adjustable.limits.enabled = true;
            config.adjustable.limits.guests_per_hour_address = 4;
            config.trusted_proxies = proxies;
        })
        .await
    };
    let guest = async |origin: &TestOrigin, forwarded: &str| {
        let request = origin.request("POST /v1/guests").header("x-forwarded-for", forwarded);
        request.json(&json!({"name": "Guest"})).send().await
    };
    let behind_proxy = start("127.0.0.1,::1").await;
    let accepted = count_until_limited(10, async |n| {
        // What the reader writes in front of the proxy's word changes nothing.
        guest(&behind_proxy, &format!("198.51.100.{n}, 192.0.2.1")).await
    });
    assert_eq!(accepted.await, 4);
    guest(&behind_proxy, "192.0.2.2").await.expect(201);
    let alone = start("").await;
    let accepted = count_until_limited(10, async |n| guest(&alone, &format!("192.0.2.{n}")).await);
    assert_eq!(accepted.await, 4, "a header that no trusted proxy wrote counts for nothing");
}
