//! Answers have a bound in bytes: what does not fit is on the next page, and nothing is lost by that.

use gailou_shared::limits::{MAX_HTML_BYTES, MAX_LIST_BYTES, MAX_TREE_BYTES};
use gailou_tests::{TestOrigin, ann, comments_on, comments_path, id, ids, member, replies_path};
use serde_json::Value;

/// Comments of 5,000 characters of four bytes: 20 kB of text, and as much HTML.
const LARGE_COMMENTS: u64 = 60;

fn large_text() -> String {
    "\u{20000}".repeat(5_000)
}

/// The page at this path, which is at most `max_bytes` long.
async fn read_within(origin: &TestOrigin, path: &str, max_bytes: usize) -> Value {
    let answer = origin.get(path).await;
    assert!(answer.text.len() <= max_bytes, "{path}: {} bytes", answer.text.len());
    answer.expect(200)
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_large_comments_are_cut_short_and_walks_show_each_once() {
    let origin = TestOrigin::start().await;
    let subject = "article/large";
    let (mut roots, mut replies) = (Vec::new(), Vec::new());
    for n in 0..LARGE_COMMENTS {
        roots.push(origin.post(&member(100 + n), subject, &large_text()).await);
    }
    for n in 0..LARGE_COMMENTS {
        replies.push(origin.reply(&member(100 + n), &roots[0], &large_text()).await);
    }
    origin.current_page(subject, &comments_path(subject)).await;
    for (path, all) in [(comments_path(subject), &roots), (replies_path(&roots[0]), &replies)] {
        for sort in ["hot", "new", "old"] {
            let path = format!("{path}?sort={sort}&limit=100");
            let page = read_within(&origin, &path, MAX_LIST_BYTES).await;
            assert!(comments_on(&page).len() < all.len() && page["page"]["has_more"] == true, "{path}");
            assert!(!comments_on(&page).is_empty(), "{path}");
            assert_eq!(sorted(ids(&origin.walk(&path).await)), sorted(ids(all)), "{path}");
        }
    }
    let tree = read_within(&origin, &format!("/v1/comments/{}/tree?limit=500", id(&roots[0])), MAX_TREE_BYTES).await;
    let (shown, more) = (tree["data"]["children"].as_array().unwrap(), &tree["data"]["more"]);
    assert!(shown.len() < replies.len(), "{}", shown.len());
    assert_eq!(shown.len() as u64 + more["count"].as_u64().unwrap(), LARGE_COMMENTS);
    read_within(&origin, &format!("/t/{subject}?limit=100"), MAX_TREE_BYTES).await.to_string();
}

#[tokio::test(flavor = "multi_thread")]
async fn chain_of_large_comments_keeps_its_root_and_the_nearest() {
    let origin = TestOrigin::start().await;
    let author = ann();
    let mut last = origin.post(&author, "topic/large", &large_text()).await;
    let root = last.clone();
    for _ in 0..LARGE_COMMENTS {
        last = origin.reply(&author, &last, &large_text()).await;
    }
    let (of, max_bytes) = (format!("/v1/comments/{}", id(&last)), MAX_LIST_BYTES);
    let ancestors = read_within(&origin, &format!("{of}/ancestors"), max_bytes).await;
    let chain = ids(ancestors["data"].as_array().unwrap());
    assert_eq!((chain.first().unwrap().as_str(), chain.last().unwrap().as_str()), (id(&root), id(&last)));
    let path: Vec<_> = last["path"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert_eq!(chain[1..], path[path.len() - (chain.len() - 1)..]);
    let context = read_within(&origin, &format!("{of}/context"), MAX_TREE_BYTES).await;
    assert_eq!(context["data"]["comment"]["id"], last["id"]);
    let history = format!("/v1/members/{}/comments?limit=100", author.id);
    read_within(&origin, &history, max_bytes).await;
    assert_eq!(origin.walk(&history).await.len() as u64, LARGE_COMMENTS + 1);
    assert!(last["html"].as_str().unwrap().len() <= MAX_HTML_BYTES);
}
