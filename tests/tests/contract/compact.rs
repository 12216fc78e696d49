//! The compact view: a list without what its reader can do without. Nothing else about it is different.

use std::collections::BTreeSet;
use std::io::Write as _;

use gailou_tests::{
    ApiRequest, TestOrigin, admin, ann, bob, comments_on, comments_path, id, ids, moderator, poll_until, replies_path,
    with_cursor,
};
use image::ImageFormat;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::media::{encoded, picture, upload};

/// What an installation shows to who looks at it.
const DEMO_THREADS: &str = include_str!("../../../edge/web/demo-threads.jsonl");
/// The most that the compact first pages of these threads may have of the bytes of the full ones. Their texts are short: of
/// 750 bytes a comment 200 are left out, and 90 of these are the text as written. The longer the texts, the nearer the ratio
/// comes to a half.
const MAX_DEMO_RATIO: f64 = 0.75;

/// What the contract leaves of an answer.
fn compacted(value: &Value, is_building: bool) -> Value {
    let is_left_out = |name: &str, field: &Value| match name {
        "content" | "subject" => true,
        "media" | "mentions" => *field == json!([]),
        "path" => !is_building,
        _ => false,
    };
    match value {
        Value::Array(items) => items.iter().map(|item| compacted(item, is_building)).collect(),
        Value::Object(fields) => {
            let is_comment = fields.contains_key("root_id");
            let kept = fields.iter().filter(|(name, field)| !is_comment || !is_left_out(name, field));
            Value::Object(kept.map(|(name, field)| (name.clone(), compacted(field, is_building))).collect())
        }
        other => other.clone(),
    }
}

fn compact_path(path: &str) -> String {
    format!("{path}{}view=compact", if path.contains('?') { '&' } else { '?' })
}

/// Checks that the answers of both views show the same.
async fn check_both(read: impl Fn(&str) -> ApiRequest, path: &str, is_building: bool) {
    let compact = compact_path(path);
    let both = || async { (read(path).send().await.expect(200), read(&compact).send().await.expect(200)) };
    // One of the two may be in memory from before the last change.
    let (full, compact) = poll_until(both, |(full, compact)| *compact == compacted(full, is_building)).await;
    assert_eq!(compact, compacted(&full, is_building), "{path}");
    assert_ne!(compact, full, "{path}");
}

/// A subject with what makes its lists different: pictures, mentions, a tombstone, answers to answers, and a pinned
/// comment. Returns its root and the last of its chain.
async fn fill(origin: &TestOrigin, subject: &str) -> (Value, Value) {
    let file = encoded(&picture(40, 20), ImageFormat::Png);
    for n in 0..4 {
        origin.post(&bob(), subject, &format!("root {n}")).await;
    }
    let media = upload(origin, &ann(), &file, Some("A gradient")).await.expect(201);
    let body = json!({"content": "a *picture* for @Bob", "media": [media["id"]], "mentions": ["8"]});
    let root = origin.try_post(&ann(), subject, &body).await.expect(201);
    let mut last = root.clone();
    for n in 0..6 {
        last = origin.reply(&bob(), &last, &format!("answer {n}")).await;
        if n == 2 {
            origin.reply(&ann(), &last, "below a tombstone").await;
            origin.delete(&bob(), &last).await.expect(204);
            last = origin.reply(&ann(), &root, "goes on").await;
        }
    }
    origin.set_flag(&moderator(), "PUT", id(&root), "pin").await.expect(200);
    (root, last)
}

/// An origin whose files are in the directory.
async fn start() -> (TestOrigin, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("file://{}", directory.path().display());
    (TestOrigin::start_with(|config| config.media.url = Some(url)).await, directory)
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_list_is_the_full_one_without_what_is_left_out() {
    let (origin, _directory) = start().await;
    let mut shown = BTreeSet::new();
    for subject in ["article/compact", "video/compact", "post/compact", "topic/compact"] {
        let (root, last) = fill(&origin, subject).await;
        let list = comments_path(subject);
        let page = origin.current_page(subject, &list).await;
        let mode = page["subject"]["mode"].as_str().unwrap().to_owned();
        let is_building = mode == "building";
        let compact = origin.get(&compact_path(&list)).await.expect(200);
        let compact_root = comments_on(&compact).iter().find(|comment| id(comment) == id(&root)).expect("the root");
        assert_eq!(compact_root.get("path").is_some(), is_building, "{mode}");
        assert_eq!(compact_root["mentions"][0]["id"], "8", "{mode}");
        assert_eq!(compact_root["media"].as_array().map(Vec::len), Some(1), "{mode}");
        assert_eq!(compact["subject"]["pinned"][0]["id"], root["id"], "{mode}");
        let of = |comment: &Value, more: &str| format!("/v1/comments/{}/{more}", id(comment));
        for path in [
            list.clone(),
            format!("{list}?sort=new&limit=2"),
            format!("{list}?sort=controversial"),
            format!("{}?sort=old", replies_path(&root)),
            of(&root, "tree"),
            of(&root, "tree?depth=2&limit=4"),
            of(&last, "ancestors"),
            of(&last, "context"),
        ] {
            check_both(|path| origin.request(&format!("GET {path}")), &path, is_building).await;
        }
        // A moderator's answers are no cache's.
        check_both(|path| origin.request(&format!("GET {path}")).by(&moderator()), &list, is_building).await;
        let friends = json!({"friends": ["8"]});
        origin.request("PUT /v1/admin/members/7").by(&moderator()).json(&friends).send().await.expect(200);
        let friends = format!("/v1/me/friends/comments?subject={subject}");
        check_both(|path| origin.request(&format!("GET {path}")).by(&ann()), &friends, is_building).await;
        shown.insert(mode);
    }
    assert_eq!(shown.len(), 4, "every mode");
    let comment = format!("/v1/comments/{}", id(&fill(&origin, "topic/alone").await.0));
    let one = origin.get(&compact_path(&comment)).await.expect(200);
    assert!(one["content"].is_string() && one["subject"].is_object(), "a comment by its id is no list: {one}");
}

#[tokio::test(flavor = "multi_thread")]
async fn list_of_several_subjects_keeps_the_paths_of_buildings_alone() {
    let (origin, _directory) = start().await;
    for subject in ["topic/mixed", "article/mixed"] {
        fill(&origin, subject).await;
    }
    for path in ["/v1/members/8/comments", "/v1/latest?limit=50"] {
        let both = || async { (origin.get(path).await.expect(200), origin.get(&compact_path(path)).await.expect(200)) };
        let is_same = |(full, compact): &(Value, Value)| ids(comments_on(full)) == ids(comments_on(compact));
        let (full, compact) = poll_until(both, |both| is_same(both) && comments_on(&both.0).len() >= 16).await;
        let mut types = BTreeSet::new();
        for (full, compact) in comments_on(&full).iter().zip(comments_on(&compact)) {
            let kind = full["subject"]["type"].as_str().unwrap();
            assert_eq!(*compact, compacted(full, kind == "topic"), "{path}");
            types.insert(kind.to_owned());
        }
        assert_eq!(types, ["article".to_owned(), "topic".to_owned()].into(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn found_comments_are_compact_with_their_highlights() {
    let Some(origin) = TestOrigin::start_with_search(|_| {}).await else { return };
    let comment = origin.post(&ann(), "topic/searched", "the needle in a stack").await;
    let path = "/v1/subjects/topic/searched/search?q=needle";
    poll_until(|| origin.get(path), |answer| comments_on(&answer.json).len() == 1).await;
    check_both(|path| origin.request(&format!("GET {path}")), path, true).await;
    let found = origin.get(&compact_path(path)).await.expect(200);
    assert_eq!(found["data"][0]["path"], json!([comment["id"]]));
    assert!(found["data"][0]["highlight"].as_str().is_some_and(|text| text.contains("<mark>needle</mark>")), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_go_on_in_either_view() {
    let (origin, _directory) = start().await;
    let subject = "article/walked";
    for n in 0..9 {
        origin.post(&ann(), subject, &format!("root {n}")).await;
    }
    for sort in ["hot", "new", "top"] {
        let list = format!("{}?sort={sort}&limit=2", comments_path(subject));
        let expected = ids(&origin.walk_current(subject, &list).await);
        assert_eq!(expected.len(), 9, "{sort}");
        let compact = format!("{list}&view=compact");
        assert_eq!(ids(&origin.walk_current(subject, &compact).await), expected, "{sort}");
        let (mut page, mut shown, mut is_compact) = (origin.page(&list).await, vec![], false);
        loop {
            shown.extend(ids(comments_on(&page)));
            let Some(next) = page["page"]["next"].as_str() else { break };
            is_compact = !is_compact;
            page = origin.page(&with_cursor(if is_compact { &compact } else { &list }, next)).await;
            let is_full = |comment: &Value| comment.get("content").is_some();
            assert!(comments_on(&page).iter().all(|comment| is_full(comment) != is_compact), "{sort}: {page}");
        }
        assert_eq!(shown, expected, "{sort}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_view_is_400_on_its_name_and_full_is_the_default() {
    let (origin, _directory) = start().await;
    let root = origin.post(&ann(), "article/viewed", "root").await;
    origin.wait_until_persisted().await;
    let of = |more: &str| format!("/v1/comments/{}/{more}", id(&root));
    let lists = [
        comments_path("article/viewed"),
        of("replies"),
        of("tree"),
        of("ancestors"),
        of("context"),
        "/v1/members/7/comments".to_owned(),
        "/v1/latest".to_owned(),
    ];
    for path in lists {
        for view in ["", "COMPACT", "small"] {
            let refused = origin.get(&format!("{path}?view={view}")).await.expect(400);
            assert_eq!((&refused["code"], &refused["errors"][0]["field"]), (&json!("invalid_request"), &json!("view")));
        }
        let both = || async { (origin.get(&path).await.text, origin.get(&format!("{path}?view=full")).await.text) };
        let (default, full) = poll_until(both, |(default, full)| default == full).await;
        assert_eq!(default, full, "{path}");
    }
    let wrong = format!("{}?view=x&limit=0&sort=y", comments_path("article/viewed"));
    let refused = origin.get(&wrong).await.expect(400);
    let fields: BTreeSet<_> =
        refused["errors"].as_array().unwrap().iter().filter_map(|error| error["field"].as_str()).collect();
    assert_eq!(fields.len(), 3, "each by its name: {refused}");
    let friends = "GET /v1/me/friends/comments?subject=article/viewed&view=x";
    let refused = origin.request(friends).by(&ann()).send().await.expect(400);
    assert_eq!(refused["errors"][0]["field"], "view");
    for path in ["/t/article/viewed?view=x".to_owned(), format!("/v1/comments/{}?view=x", id(&root))] {
        assert_eq!(origin.get(&path).await.status, 200, "{path} has no views, and ignores the parameter");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_first_pages_of_the_demo_threads_are_smaller() {
    let (origin, _directory) = start().await;
    origin.request("POST /v1/admin/import").by(&admin()).bytes(DEMO_THREADS).send().await;
    origin.wait_until_persisted().await;
    let lines = DEMO_THREADS.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let subjects: BTreeSet<String> =
        lines.map(|line| line["subject"].as_str().expect("TYPE:KEY").replacen(':', "/", 1)).collect();
    assert_eq!(subjects.len(), 4);
    let (mut full_bytes, mut compact_bytes) = (0, 0);
    for subject in subjects {
        let list = comments_path(&subject);
        origin.current_page(&subject, &list).await;
        let (full, compact) = (origin.get(&list).await, origin.get(&compact_path(&list)).await);
        assert_eq!(comments_on(&full.json).len(), comments_on(&compact.json).len());
        let (full, compact) = (full.text.len(), compact.text.len());
        // Directly to the stream: the harness captures `println!` and shows it only after a failure.
        let ratio = compact as f64 / full as f64;
        let _ = writeln!(std::io::stdout(), "{subject}: {compact} of {full} bytes, {ratio:.3}");
        full_bytes += full;
        compact_bytes += compact;
    }
    let ratio = compact_bytes as f64 / full_bytes as f64;
    let _ = writeln!(std::io::stdout(), "demo threads: {compact_bytes} of {full_bytes} bytes, {ratio:.3}");
    assert!(ratio <= MAX_DEMO_RATIO, "{ratio:.3}");
}
