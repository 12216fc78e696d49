//! What is left out to spare the databases: lists in another order are walked by the same law, and what is
//! not known is refused.

use gailou_tests::{TestOrigin, ann, comments_path, id, ids, member, replies_path, with_cursor};
use serde_json::json;

const TEST_SUBJECT: &str = "article/degraded";

#[tokio::test(flavor = "multi_thread")]
async fn hot_list_as_new_shows_each_comment_once() {
    let origin = TestOrigin::start_with(|config| config.adjustable.degrade.hot_as_new = true).await;
    let mut roots = Vec::new();
    for n in 0..12 {
        roots.push(origin.post(&member(100 + n), TEST_SUBJECT, &format!("root {n}")).await);
    }
    origin.like(&ann(), &roots[3]).await;
    for n in 0..6 {
        origin.reply(&member(200 + n), &roots[0], &format!("reply {n}")).await;
    }
    for (path, count) in [(comments_path(TEST_SUBJECT), 12), (replies_path(&roots[0]), 6)] {
        let newest_first = ids(&origin.walk(&format!("{path}?sort=new&limit=5")).await);
        assert_eq!(newest_first.len(), count);
        let path = format!("{path}?limit=5");
        let first = origin.page(&path).await;
        assert_eq!(first["page"]["sort"], "new");
        assert_eq!(ids(&origin.walk(&path).await), newest_first);
        // A client may name the sort that it asked for, or the one that the page has.
        let next = first["page"]["next"].as_str().expect("a second page");
        let pages = ["", "&sort=hot", "&sort=new"].map(|sort| with_cursor(&format!("{path}{sort}"), next));
        let second = origin.page(&pages[0]).await;
        for page in &pages {
            let page = origin.page(page).await;
            assert_eq!((&page["page"]["sort"], &page["data"]), (&"new".into(), &second["data"]));
        }
        let other = origin.get(&with_cursor(&format!("{path}&sort=old"), next)).await;
        assert_eq!((other.status, &other.json["code"]), (400, &"bad_cursor".into()));
    }
    // A comment that is posted meanwhile is not in a walk that began before.
    let first = origin.page(&format!("{}?limit=5", comments_path(TEST_SUBJECT))).await;
    origin.post(&ann(), TEST_SUBJECT, "meanwhile").await;
    let walked = origin.walk_from(&format!("{}?limit=5", comments_path(TEST_SUBJECT)), first).await;
    assert_eq!(walked.len(), 12);
    assert_eq!(id(&walked[11]), id(&roots[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_subject_has_the_sort_that_was_asked_for() {
    let origin = TestOrigin::start().await;
    assert_eq!(origin.page(&comments_path(TEST_SUBJECT)).await["page"]["sort"], "hot");
}

#[tokio::test(flavor = "multi_thread")]
async fn overlay_that_is_switched_off_is_503() {
    let origin = TestOrigin::start_with(|config| config.adjustable.degrade.no_overlay = true).await;
    let root = origin.post(&ann(), TEST_SUBJECT, "root").await;
    let request = origin.request(&format!("GET /v1/me/overlay?ids={}", id(&root))).by(&ann());
    let refused = request.try_send().await.expect("a response");
    assert_eq!((refused.status, &refused.json["code"]), (503, &"overloaded".into()));
    assert_eq!(refused.header("retry-after"), "10");
    origin.page(&comments_path(TEST_SUBJECT)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn preview_that_is_switched_off_is_503() {
    let origin = TestOrigin::start_with(|config| config.adjustable.degrade.no_preview = true).await;
    let request = origin.request("POST /v1/preview").by(&ann()).json(&json!({ "content": "hi" }));
    let refused = request.try_send().await.expect("a response");
    assert_eq!((refused.status, &refused.json["code"]), (503, &"overloaded".into()));
    assert_eq!(refused.header("retry-after"), "10");
    origin.post(&ann(), TEST_SUBJECT, "posted without a preview").await;
}
