//! Many members write at the same time; afterwards floors, counts and lists agree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::token::Role;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{
    ApiResponse, TestMember, TestOrigin, ann, assert_floors_have_no_gap, comments_path, id, ids, member, moderator,
    replies_path,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_posts_and_replies_get_unique_floors_without_gaps() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "topic/floors", "root").await;
    let writes = (0..400u64).map(|n| {
        let (origin, root) = (&origin, &root);
        async move {
            let by = member(1_000 + n);
            if n % 2 == 0 { origin.post(&by, "topic/floors", "x").await } else { origin.reply(&by, root, "y").await }
        }
    });
    let made = join_all(writes).await;
    let made = join_all(made.iter().map(|comment| origin.with_floor(comment))).await;
    let floors_of_level = |level: u64| -> BTreeSet<u64> {
        made.iter().filter(|c| c["level"] == level).map(|c| c["floor"].as_u64().unwrap()).collect()
    };
    assert_eq!(floors_of_level(1), (2..=201).collect());
    assert_eq!(floors_of_level(2), (1..=200).collect());
    assert_eq!(ids(&made).into_iter().collect::<BTreeSet<_>>().len(), 400);
    for path in [comments_path("topic/floors"), replies_path(&root)] {
        let old = origin.walk_current("topic/floors", &format!("{path}?sort=old&limit=37")).await;
        let new = origin.walk_current("topic/floors", &format!("{path}?sort=new&limit=41")).await;
        assert_floors_have_no_gap(&path, &old);
        assert_eq!(ids(&old), ids(&new).into_iter().rev().collect::<Vec<_>>(), "{path}");
    }
    let subject = origin.current_page("topic/floors", &comments_path("topic/floors")).await["subject"].clone();
    assert_eq!((&subject["roots"], &subject["comments"]), (&json!(201), &json!(401)));
}

/// A change of a comment: pinned, deleted, edited or decided. Changes of one comment wait for each other, and in a
/// loaded cluster one that waits too long has an unknown outcome: 503.
async fn try_change(origin: &TestOrigin, by: &TestMember, comment: &Value, action: &str) -> ApiResponse {
    let path = format!("/v1/comments/{}", id(comment));
    let request = match action {
        "PIN" => origin.request(&format!("PUT {path}/pin")).by(by),
        "DELETE" => origin.request(&format!("DELETE {path}")).by(by),
        "EDIT" => origin.request(&format!("PATCH {path}")).by(by).json(&json!({"content": "edited"})),
        decision => {
            let path = format!("POST /v1/admin/comments/{}/decision", id(comment));
            origin.request(&path).by(by).json(&json!({"action": decision}))
        }
    };
    let answer = request.try_send().await.expect("a response");
    assert!(answer.status < 500 || (answer.status == 503 && origin.is_in_cluster()), "{action}: {}", answer.text);
    answer
}

/// The author edits the comment on three connections without a pause, so that an edit is always in progress when
/// the moderator decides.
#[tokio::test(flavor = "multi_thread")]
async fn author_who_edits_all_the_time_cannot_undo_a_decision() {
    let origin = TestOrigin::start().await;
    let (author, moderator) = (ann(), moderator());
    let rounds = if origin.is_in_cluster() { 1 } else { 3 };
    for (round, action) in ["hide", "reject", "delete", "DELETE"].repeat(rounds).into_iter().enumerate() {
        let comment = &origin.post(&author, "article/race", "first").await;
        let decided = AtomicBool::new(false);
        let edits = join_all((0..3).map(|_| async {
            let mut edits_after_decision = 0;
            while edits_after_decision < 2 {
                edits_after_decision += u8::from(decided.load(Ordering::Relaxed));
                let status = try_change(&origin, &author, comment, "EDIT").await.status;
                assert!([200, 404, 503].contains(&status), "{action} {round}: {status}");
            }
        }));
        let decision = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let answer = loop {
                let answer = try_change(&origin, &moderator, comment, action).await;
                if answer.status != 503 {
                    break answer;
                }
            };
            decided.store(true, Ordering::Relaxed);
            answer.expect(if action == "DELETE" { 204 } else { 200 })
        };
        let ((), answer) = tokio::join!(async { _ = edits.await }, decision);
        assert_ne!(answer["state"], "published", "{action} {round}");
        // Only a published comment can be edited.
        try_change(&origin, &author, comment, "EDIT").await.expect(404);
    }
    let page = origin.current_page("article/race", &comments_path("article/race")).await;
    assert_eq!((&page["subject"]["comments"], ids(page["data"].as_array().unwrap()).len()), (&json!(0), 0));
}

/// Members post, like, edit, delete, moderate and pin the same comments of one subject, so that one
/// batch has many changes of one row. Returns every comment.
async fn write_at_random(origin: &TestOrigin, subject: &str, seed: u64) -> Vec<Value> {
    let all = Mutex::new(vec![origin.post(&ann(), subject, "first").await]);
    let writes_of_each = if origin.is_in_cluster() { 12 } else { 40 };
    let work = (0..24).map(|n| {
        let all = &all;
        async move {
            let mut rng = StdRng::seed_from_u64(seed * 100 + n);
            let (me, moderator) = (member(100 + n), TestMember::new(900 + n, "Mod", Role::Moderator));
            for _ in 0..writes_of_each {
                let target = all.lock().unwrap().choose(&mut rng).cloned().unwrap();
                let answer = match rng.random_range(0..10) {
                    0..3 => {
                        let held = rng.random_bool(0.2);
                        let parent = rng.random_bool(0.8).then(|| target["id"].clone());
                        let body = json!({"content": if held { "holdme" } else { "x" }, "parent_id": parent});
                        let answer = origin.try_post(&me, subject, &body).await;
                        if matches!(answer.status, 201 | 202) {
                            all.lock().unwrap().push(answer.json.clone());
                        }
                        answer
                    }
                    3..6 => {
                        let what = *["like", "dislike"].choose(&mut rng).unwrap();
                        let method = *["PUT", "PUT", "DELETE"].choose(&mut rng).unwrap();
                        origin.set_flag(&me, method, id(&target), what).await
                    }
                    6 => try_change(origin, &moderator, &target, "PIN").await,
                    7 => try_change(origin, &moderator, &target, "DELETE").await,
                    8 => try_change(origin, &me, &target, "EDIT").await,
                    _ => {
                        let action = *["approve", "restore", "hide", "reject", "delete"].choose(&mut rng).unwrap();
                        try_change(origin, &moderator, &target, action).await
                    }
                };
                assert!(
                    matches!(answer.status, 200 | 201 | 202 | 204 | 400 | 403 | 404 | 409 | 503),
                    "{} {}",
                    answer.status,
                    answer.text
                );
            }
        }
    });
    join_all(work).await;
    all.into_inner().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_lists_agree_after_random_concurrent_writes() {
    let mut origin = TestOrigin::start().await;
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    for (seed, kind) in [(1, "article"), (2, "topic"), (3, "video"), (4, "post")] {
        let subject = format!("{kind}/random");
        let mut made = write_at_random(&origin, &subject, seed).await;
        if seed == 2 {
            origin.restart().await;
        }
        check_subject(&origin, &subject).await;
        // After each comment is restored, all are visible.
        let moderator = moderator();
        for comment in &mut made {
            *comment = origin.decide(&moderator, comment, "restore").await.expect(200);
        }
        let listed = check_subject(&origin, &subject).await;
        assert_eq!(listed, ids(&made).into_iter().collect(), "{subject}");
        let mut floors: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for comment in &made {
            let root = if comment["root_id"] == comment["id"] { "" } else { comment["root_id"].as_str().unwrap() };
            floors.entry(root).or_default().push(comment["floor"].as_u64().unwrap());
        }
        for (root, mut floors) in floors {
            floors.sort_unstable();
            assert_eq!(floors, (1..=floors.len() as u64).collect::<Vec<_>>(), "{subject} below {root:?}");
        }
    }
}

/// Checks that lists, trees and counts agree with each other. Returns the listed ids.
async fn check_subject(origin: &TestOrigin, subject: &str) -> BTreeSet<String> {
    let page = origin.current_page(subject, &format!("{}?limit=100", comments_path(subject))).await;
    let counts = page["subject"].clone();
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    let roots = origin.walk_current(subject, &format!("{}?sort=old&limit=100", comments_path(subject))).await;
    for sort in ["hot", "new", "top", "best", "replies", "controversial"] {
        let walked = origin.walk_current(subject, &format!("{}?sort={sort}&limit=9", comments_path(subject))).await;
        assert_eq!(walked.len(), roots.len(), "{sort}");
        assert_eq!(ids(&walked).into_iter().collect::<BTreeSet<_>>(), ids(&roots).into_iter().collect(), "{sort}");
    }
    for root in &roots {
        let below = origin.walk_current(subject, &format!("{}?sort=old&limit=100", replies_path(root))).await;
        for sort in ["hot", "new"] {
            let walked = origin.walk_current(subject, &format!("{}?sort={sort}&limit=7", replies_path(root))).await;
            assert_eq!(walked.len(), below.len(), "{sort}");
            assert_eq!(ids(&walked).into_iter().collect::<BTreeSet<_>>(), ids(&below).into_iter().collect(), "{sort}");
        }
        let hot = origin.walk_current(subject, &replies_path(root)).await;
        assert_eq!(ids(root["top_replies"].as_array().unwrap()), ids(&hot[..hot.len().min(3)]), "{}", id(root));
        all.extend(below.into_iter().map(|c| (id(&c).to_owned(), c)));
    }
    all.extend(roots.iter().map(|c| (id(c).to_owned(), c.clone())));
    let is_visible = |c: &&Value| c["state"] == "published";
    assert_eq!(counts["comments"], all.values().filter(is_visible).count());
    assert_eq!(counts["roots"], roots.iter().filter(is_visible).count());
    for comment in all.values() {
        let below = |c: &&Value| c["id"] != comment["id"] && c["path"].as_array().unwrap().contains(&comment["id"]);
        let visible_below = all.values().filter(is_visible).filter(below).count();
        assert_eq!(comment["replies"], visible_below, "{comment}");
        assert!(is_visible(&comment) || visible_below > 0, "a tombstone without visible replies: {comment}");
        assert_eq!(is_visible(&comment), comment["author"].is_object(), "{comment}");
    }
    let pinned = ids(counts["pinned"].as_array().unwrap());
    assert!(pinned.len() <= 10 && pinned.iter().all(|id| all.get(id).is_some_and(|c| is_visible(&c))), "{pinned:?}");
    all.into_keys().collect()
}
