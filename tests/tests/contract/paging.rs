//! Pages of a list: long lists, expired cursors, defaults, epochs. The law of a whole walk is in
//! `paging_law`.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{TestOrigin, ann, comments_on, comments_path, floors, id, ids, member, replies_path, with_cursor};
use serde_json::{Value, json};

const TEST_SUBJECT: &str = "article/paging";

#[tokio::test(flavor = "multi_thread")]
async fn list_beyond_its_snapshot_continues_by_floor() {
    let origin = TestOrigin::start().await;
    // A snapshot holds the best 1,000 roots.
    let by = |n: u64| member(1_000 + n);
    let post = |n: u64| {
        let origin = &origin;
        async move { origin.post(&by(n), TEST_SUBJECT, "x").await }
    };
    let all: Vec<Value> = stream::iter(0..1_150u64).map(post).buffered(32).collect().await;
    let mut all: Vec<Value> = stream::iter(&all).map(|comment| origin.with_floor(comment)).buffered(32).collect().await;
    all.sort_by_key(|comment| comment["floor"].as_u64());
    // Likes put the oldest before all others.
    for (n, comment) in all.iter().take(5).enumerate() {
        for member in 0..=n as u64 {
            origin.like(&by(member), comment).await;
        }
    }
    for sort in ["hot", "top", "best", "replies", "controversial"] {
        let path = format!("{}?limit=100&sort={sort}", comments_path(TEST_SUBJECT));
        let mut page = origin.current_page(TEST_SUBJECT, &path).await;
        let mut shown = Vec::new();
        for n in 0.. {
            shown.extend(comments_on(&page).iter().cloned());
            let Some(next) = page["page"]["next"].as_str().map(str::to_owned) else { break };
            // A like during the walk moves nothing, and a post during the walk does not appear.
            origin.like(&by(900 + n), &all[n as usize * 90]).await;
            origin.post(&by(n), TEST_SUBJECT, "late").await;
            page = origin.page(&with_cursor(&path, &next)).await;
        }
        let once: BTreeSet<_> = ids(&shown).into_iter().collect();
        assert_eq!(once.len(), shown.len(), "{sort}: a comment is shown twice");
        assert!(all.iter().all(|c| once.contains(id(c))), "{sort}: a comment is missing");
        let tail = floors(&shown[1_000..]);
        assert!(tail.is_sorted_by(|a, b| a > b), "{sort}: the tail is not ordered by floor");
        if sort == "top" {
            assert_eq!(ids(&shown[..1]), ids(&all[4..5]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_cursor_is_410_and_a_new_walk_begins() {
    let mut origin = TestOrigin::start().await;
    let ann = ann();
    let root = origin.post(&ann, TEST_SUBJECT, "root").await;
    for _ in 0..3 {
        origin.post(&ann, TEST_SUBJECT, "x").await;
        origin.reply(&ann, &root, "y").await;
    }
    let replies = replies_path(&root);
    let mut cursors = Vec::new();
    for (path, sort) in [
        (comments_path(TEST_SUBJECT), "hot"),
        (comments_path(TEST_SUBJECT), "top"),
        (replies.clone(), "hot"),
        (comments_path(TEST_SUBJECT), "new"),
        (replies, "old"),
    ] {
        let page = origin.current_page(TEST_SUBJECT, &format!("{path}?limit=1&sort={sort}")).await;
        cursors.push((
            with_cursor(&path, page["page"]["next"].as_str().expect("a cursor")),
            !matches!(sort, "new" | "old"),
        ));
    }
    for (hours, is_expired) in [(0, false), (24, false), (2, true)] {
        origin.advance(Duration::from_secs(hours * 3_600));
        origin.sweep().await;
        origin.restart().await;
        for (path, has_snapshot) in &cursors {
            let answer = origin.get(path).await;
            // Redis keeps a snapshot by its own clock, which the test does not move.
            if is_expired && *has_snapshot && !(origin.is_in_cluster() && answer.status == 200) {
                assert_eq!((answer.status, &answer.json["code"]), (410, &json!("cursor_expired")), "{path}");
            } else {
                assert_eq!(answer.status, 200, "{path} after {hours} h: {}", answer.text);
            }
        }
    }
    // A new walk works, also after the deletion of a snapshot that the origin has in memory.
    assert_eq!(origin.walk(&format!("{}?limit=1", comments_path(TEST_SUBJECT))).await.len(), 4);
    origin.advance(Duration::from_secs(26 * 3_600));
    origin.sweep().await;
    assert_eq!(origin.walk(&format!("{}?limit=1", comments_path(TEST_SUBJECT))).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn default_sort_is_hot_and_a_cursor_keeps_its_sort() {
    let origin = TestOrigin::start().await;
    let ann = ann();
    for _ in 0..25 {
        origin.post(&ann, TEST_SUBJECT, "x").await;
    }
    let page = origin.current_page(TEST_SUBJECT, &comments_path(TEST_SUBJECT)).await;
    assert_eq!((&page["page"]["sort"], comments_on(&page).len()), (&json!("hot"), 20));
    let page = origin.current_page(TEST_SUBJECT, &format!("{}?sort=best&limit=10", comments_path(TEST_SUBJECT))).await;
    let next = page["page"]["next"].as_str().unwrap();
    // The limit may change, the sort may be repeated, and unknown parameters are ignored.
    for more in ["", "?sort=best", "?limit=3", "?utm_source=x", "?limit=15&sort=best&_=1"] {
        let page = origin.page(&with_cursor(&format!("{}{more}", comments_path(TEST_SUBJECT)), next)).await;
        assert_eq!(page["page"]["sort"], "best", "{more}");
    }
    let empty = origin.page("/v1/subjects/article/empty/comments").await;
    assert_eq!(
        (&empty["data"], &empty["page"]["has_more"], &empty["page"]["next"]),
        (&json!([]), &json!(false), &json!(null))
    );
    assert_eq!((&empty["subject"]["comments"], &empty["subject"]["state"]), (&json!(0), &json!("open")));
}

#[tokio::test(flavor = "multi_thread")]
async fn epoch_of_a_page_names_the_state_of_its_order() {
    let origin = TestOrigin::start().await;
    let ann = ann();
    let root = origin.post(&ann, TEST_SUBJECT, "root").await;
    let all: Vec<Value> = stream::iter(0..400usize)
        .map(|n| {
            let (origin, ann, root) = (&origin, &ann, &root);
            async move {
                if n < 200 { origin.post(ann, TEST_SUBJECT, "x").await } else { origin.reply(ann, root, "y").await }
            }
        })
        .buffered(16)
        .collect()
        .await;
    let replies = format!("{}?limit=3", replies_path(&root));
    let top = format!("{}?sort=top&limit=3", comments_path(TEST_SUBJECT));
    // The first pages of other walks, which store snapshots.
    let before = origin.current_page(TEST_SUBJECT, &top).await;
    origin.current_page(TEST_SUBJECT, &replies).await;
    origin.like(&ann, &all[3]).await;
    origin.like(&ann, &all[203]).await;
    // The clock stands still, so the origin may reuse the snapshot: then the epoch is the old one, too.
    let reused = origin.page(&top).await;
    if reused["page"]["epoch"] == before["page"]["epoch"] {
        assert_eq!(ids(comments_on(&reused)), ids(comments_on(&before)), "the old epoch has the old order");
    } else {
        assert_eq!(id(&reused["data"][0]), id(&all[3]), "the new epoch has the like");
    }
    let page = origin.current_page(TEST_SUBJECT, &top).await;
    assert_eq!(id(&page["data"][0]), id(&all[3]), "the current epoch has the like");
    let hot = origin.current_page(TEST_SUBJECT, &replies).await;
    let list =
        origin.current_page(TEST_SUBJECT, &format!("{}?sort=replies&limit=1", comments_path(TEST_SUBJECT))).await;
    assert_eq!(ids(comments_on(&hot)), ids(list["data"][0]["top_replies"].as_array().unwrap()));
}
