//! Trees of comments: expansion by cursors, depth limits, ancestors and context.

use std::collections::BTreeSet;

use gailou_tests::{TestOrigin, ann, bob, comments_on, id, ids, moderator, poll_until, with_cursor};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

/// Collects every comment below `top` with the node above it, by following each `more.cursor`.
async fn collect_below(origin: &TestOrigin, top: &str, depth: usize, limit: usize, found: &mut Vec<(String, String)>) {
    let mut open = vec![format!("/v1/comments/{top}/tree?depth={depth}&limit={limit}")];
    let mut requests = 0;
    while let Some(path) = open.pop() {
        requests += 1;
        assert!(requests < 5_000, "the tree of {top} has no end");
        let tree = origin.page(&path).await["data"].clone();
        let mut nodes = vec![(tree, 0)];
        let mut shown = 0;
        while let Some((node, level)) = nodes.pop() {
            let parent = id(&node["comment"]).to_owned();
            for child in node["children"].as_array().unwrap() {
                found.push((parent.clone(), id(&child["comment"]).to_owned()));
                nodes.push((child.clone(), level + 1));
                shown += 1;
            }
            assert!(level <= depth, "a node is deeper than requested: {path}");
            if let Some(cursor) = node["more"]["cursor"].as_str() {
                assert!(node["more"]["count"].as_u64().unwrap() > 0, "{path}");
                open.push(with_cursor(&format!("/v1/comments/{parent}/tree?depth={depth}&limit={limit}"), cursor));
            }
        }
        assert!(shown <= limit, "more nodes than requested: {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tree_with_its_cursors_reaches_every_comment_once() {
    let origin = TestOrigin::start().await;
    for (kind, deepest, seed) in
        [("article", 3, 1), ("topic", 128, 2), ("topic", 128, 3), ("video", 2, 4), ("article", 3, 5)]
    {
        let mut rng = StdRng::seed_from_u64(seed);
        let subject = format!("{kind}/tree{seed}");
        let mut all = vec![origin.post(&ann(), &subject, "root").await];
        for n in 1..40usize {
            // Long chains and wide branches.
            let from = if rng.random_bool(0.5) { n.saturating_sub(3) } else { 0 };
            let parent = all[rng.random_range(from..n)].clone();
            all.push(origin.reply(&bob(), &parent, &n.to_string()).await);
        }
        for comment in &all {
            if rng.random_bool(0.2) {
                origin.delete(&moderator(), comment).await;
            }
        }
        let comment_of = |child: &str| all.iter().find(|c| id(c) == child).unwrap();
        for top in [0, 1, 2, 9, 20] {
            let listed = origin
                .walk_current(&subject, &format!("/v1/comments/{}/replies?sort=old&limit=100", id(&all[top])))
                .await;
            let listed: BTreeSet<_> = ids(&listed).into_iter().collect();
            for (depth, limit) in [(3, 200), (1, 1), (1, 3), (2, 1), (2, 5), (4, 7), (128, 2), (128, 100)] {
                let at = format!("{subject} top {top} depth {depth} limit {limit}");
                let mut found = Vec::new();
                collect_below(&origin, id(&all[top]), depth, limit, &mut found).await;
                let once: BTreeSet<_> = found.iter().map(|(_, child)| child.clone()).collect();
                assert_eq!(found.len(), once.len(), "{at}: a comment appears twice");
                assert_eq!(once, listed, "{at}");
                // A comment is below its parent, or at the level limit below an ancestor.
                for (above, child) in &found {
                    let comment = comment_of(child);
                    let path: Vec<_> =
                        comment["path"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
                    assert!(path[..path.len() - 1].contains(&above.as_str()), "{at}: {child} is below {above}");
                    if deepest == 128 {
                        assert_eq!(comment["parent_id"], above.as_str(), "{at}");
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn building_takes_128_levels_and_refuses_the_next() {
    let origin = TestOrigin::start().await;
    let mut chain = vec![origin.post(&ann(), "topic/tower", "1").await];
    for n in 2..=128 {
        chain.push(origin.reply(&bob(), chain.last().unwrap(), &n.to_string()).await);
    }
    let top = chain.last().unwrap();
    assert_eq!((&top["level"], top["path"].as_array().unwrap().len()), (&json!(128), 128));
    let body = json!({"content": "129", "parent_id": top["id"]});
    let refused = origin.try_post(&bob(), "topic/tower", &body).await.expect(400);
    assert_eq!((&refused["code"], &refused["errors"][0]["field"]), (&json!("invalid_request"), &json!("parent_id")));
    let ancestors = origin.page(&format!("/v1/comments/{}/ancestors", id(top))).await;
    assert_eq!(ids(comments_on(&ancestors)), ids(&chain));
    let sibling = origin.reply(&ann(), &chain[99], "beside").await;
    let path = format!("/v1/comments/{}/context", id(&chain[100]));
    let has_sibling =
        |context: &Value| ids(context["data"]["siblings"].as_array().unwrap()) == ids(std::slice::from_ref(&sibling));
    let context = poll_until(|| origin.page(&path), has_sibling).await["data"].clone();
    assert_eq!(ids(context["ancestors"].as_array().unwrap()), ids(&chain[..100]));
    assert_eq!((id(&context["comment"]), has_sibling(&json!({"data": context}))), (id(&chain[100]), true));
    assert_eq!(ids(context["root_page"]["data"].as_array().unwrap()), ids(&chain[..1]));
    let context = origin.page(&format!("/v1/comments/{}/context", id(&chain[0]))).await["data"].clone();
    assert_eq!((&context["ancestors"], id(&context["comment"])), (&json!([]), id(&chain[0])));
    // Each level of the tree is two levels of JSON, and many parsers stop at 128.
    let mut found = Vec::new();
    collect_below(&origin, id(&chain[0]), 50, 200, &mut found).await;
    assert_eq!(found.len(), 128);
}
