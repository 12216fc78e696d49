//! The floors that lists of a building quote: which they are, what becomes of one that is taken down, and how many
//! fit into a page.

use std::collections::BTreeSet;

use gailou_shared::cache_tags::CacheTags;
use gailou_shared::edge_protocol::CACHE_TAGS_HEADER;
use gailou_tests::{
    ApiResponse, TestOrigin, ann, bob, comments_on, comments_path, id, ids, moderator, poll_until, replies_path,
};
use serde_json::{Value, json};

/// A root, and each comment an answer to the one before.
async fn post_chain(origin: &TestOrigin, subject: &str, floors: usize) -> Vec<Value> {
    let mut chain = vec![origin.post(&ann(), subject, "text 1.").await];
    while chain.len() < floors {
        let by = if chain.len() % 2 == 0 { ann() } else { bob() };
        chain.push(origin.reply(&by, &chain[chain.len() - 1], &format!("text {}.", chain.len() + 1)).await);
    }
    chain
}

fn floor_ids(page: &Value) -> BTreeSet<&str> {
    page["floors"].as_object().unwrap_or_else(|| panic!("no floors: {page}")).keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_a_building_bring_the_floors_that_their_comments_quote() {
    let origin = TestOrigin::start().await;
    let subject = "topic/floors";
    let chain = post_chain(&origin, subject, 10).await;
    let all = ids(&chain);
    let newest = format!("{}?sort=new&limit=1", replies_path(&chain[0]));
    let page = origin.current_page(subject, &newest).await;
    assert_eq!(ids(comments_on(&page)), all[9..]);
    // The first two and the last three of the nine below it.
    let expected: BTreeSet<_> = [0, 1, 6, 7, 8].map(|at| &*all[at]).into();
    assert_eq!(floor_ids(&page), expected);
    let floor = &chain[7];
    assert_eq!(
        page["floors"][id(floor)],
        json!({"author": floor["author"], "html": "<p>text 8.</p>\n", "likes": 0,
            "created_at": floor["created_at"], "state": "published"})
    );
    // A floor that is on the page itself is not repeated.
    let list = origin.current_page(subject, &comments_path(subject)).await;
    let on_page: BTreeSet<_> = {
        let root = &comments_on(&list)[0];
        [root].into_iter().chain(root["top_replies"].as_array().unwrap()).map(id).collect()
    };
    assert_eq!(on_page.len(), 4);
    assert!(floor_ids(&list).is_disjoint(&on_page), "{list}");
    // The whole chain is on the page.
    let replies = origin.current_page(subject, &format!("{}?sort=old", replies_path(&chain[0]))).await;
    assert_eq!(floor_ids(&replies), [&*all[0]].into());
    // Other modes quote nothing.
    let tree = post_chain(&origin, "article/floors", 5).await;
    for path in [comments_path("article/floors"), replies_path(&tree[0])] {
        let page = origin.current_page("article/floors", &path).await;
        assert!(page.get("floors").is_none(), "{page}");
    }
    let empty = origin.page(&comments_path("topic/no-comments")).await;
    assert_eq!(empty["floors"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn floor_that_is_taken_down_is_a_tombstone_in_every_quote() {
    let origin = TestOrigin::start().await;
    for action in ["edit", "delete", "hide", "reject", "erase"] {
        let subject = format!("topic/quoted-{action}");
        let chain = post_chain(&origin, &subject, 5).await;
        let quoted = &chain[2];
        let path = format!("{}?sort=new&limit=1", replies_path(&chain[0]));
        let before = origin.current_page(&subject, &path).await;
        assert_eq!(before["floors"][id(quoted)]["html"], "<p>text 3.</p>\n");
        let version_in =
            |tags: &str| CacheTags::decode(tags).and_then(|tags| tags.version_of(id(quoted).parse().ok()?));
        let old = version_in(origin.get(&path).await.header(CACHE_TAGS_HEADER)).expect("the floor has a tag");
        match action {
            "edit" => origin.edit(&ann(), quoted, "another text").await.expect(200),
            "delete" => origin.delete(&ann(), quoted).await.expect(204),
            "erase" => origin.request("DELETE /v1/me").by(&ann()).send().await.expect(204),
            action => origin.decide(&moderator(), quoted, action).await.expect(200),
        };
        // The edge keeps a copy that has the former version.
        let version = |page: &ApiResponse| version_in(page.header(CACHE_TAGS_HEADER));
        let is_current = |page: &ApiResponse| !page.text.contains("text 3.") && version(page).is_some_and(|v| v > old);
        let read = || {
            // An erased answer of the former list is left out, and the page is empty until the list is a new one.
            origin.expire_snapshots();
            origin.get(&path)
        };
        let after = poll_until(read, is_current).await;
        assert!(is_current(&after), "{action}: {}", after.text);
        let floor = &after.json["floors"][id(quoted)];
        if action == "edit" {
            assert_eq!(floor["html"], "<p>another text</p>\n");
        } else {
            assert_eq!((&floor["author"], &floor["html"]), (&Value::Null, &json!("")), "{action}: {floor}");
            assert_ne!(floor["state"], "published", "{action}");
        }
        let path = format!("/t/{subject}");
        let html = poll_until(|| origin.get(&path), |page| !page.text.contains("text 3.")).await;
        assert!(!html.text.contains("text 3."), "{action}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_quotes_too_much_is_cut_short_and_goes_on() {
    let origin = TestOrigin::start().await;
    let subject = "topic/long-floors";
    // Each text is 30 kB of HTML, so 512 KiB hold seventeen of them.
    let long = "\"".repeat(5_000);
    let root = origin.post(&ann(), subject, "root").await;
    let mut chains = Vec::new();
    for _ in 0..12 {
        let mut last = origin.reply(&bob(), &root, &long).await;
        for _ in 0..2 {
            last = origin.reply(&bob(), &last, &long).await;
        }
        chains.push(last);
    }
    for last in &chains {
        origin.reply(&ann(), last, "top").await;
    }
    let first = origin.current_page(subject, &format!("{}?sort=new&limit=10", replies_path(&root))).await;
    let shown = comments_on(&first);
    assert!((1..10).contains(&shown.len()) && first["page"]["has_more"] == true, "{} comments", shown.len());
    // What is shown has all its floors.
    let below = |comment: &Value| comment["path"].as_array().unwrap().iter().rev().skip(1).cloned().collect::<Vec<_>>();
    let quoted: BTreeSet<_> = shown.iter().flat_map(below).map(|id| id.as_str().unwrap().to_owned()).collect();
    assert_eq!(floor_ids(&first), quoted.iter().map(String::as_str).collect::<BTreeSet<_>>());
    let walked = origin.walk_current(subject, &format!("{}?sort=new&limit=10", replies_path(&root))).await;
    let expected = origin.walk_current(subject, &format!("{}?sort=new&limit=1", replies_path(&root))).await;
    assert_eq!(ids(&walked), ids(&expected));
    assert_eq!(walked.len(), 48);
    let page = origin.get(&format!("{}?sort=new&limit=100", replies_path(&root))).await;
    assert!(page.text.len() <= 1024 * 1024, "{} bytes", page.text.len());
}
