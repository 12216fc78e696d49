//! Many members at the same time: floors, counts and lists agree when they are done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use futures_util::future::join_all;
use gailou_shared::words::Action;
use gailou_tests::{Site, Who, id, ids, who};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

fn ann() -> Who {
    who(7, "Ann", "member")
}

fn list(subject: &str) -> String {
    format!("/v1/subjects/{subject}/comments")
}

fn replies(comment: &Value) -> String {
    format!("/v1/comments/{}/replies", id(comment))
}

#[tokio::test(flavor = "multi_thread")]
async fn floors_are_unique_and_without_gaps_under_concurrency() {
    let site = Site::start().await;
    let root = site.post(&ann(), "topic/floors", "root").await;
    let writes = (0..400u64).map(|n| {
        let (site, root) = (&site, &root);
        async move {
            let by = who(1_000 + n, "M", "member");
            if n % 2 == 0 { site.post(&by, "topic/floors", "x").await } else { site.reply(&by, root, "y").await }
        }
    });
    let made = join_all(writes).await;
    let made = join_all(made.iter().map(|comment| site.with_floor(comment))).await;
    let floors = |level: u64| -> BTreeSet<u64> {
        made.iter().filter(|c| c["level"] == level).map(|c| c["floor"].as_u64().unwrap()).collect()
    };
    assert_eq!(floors(1), (2..=201).collect());
    assert_eq!(floors(2), (1..=200).collect());
    assert_eq!(ids(&made).into_iter().collect::<BTreeSet<_>>().len(), 400);
    for path in [list("topic/floors"), replies(&root)] {
        let old = site.fresh_walk("topic/floors", &format!("{path}?sort=old&limit=37")).await;
        let new = site.fresh_walk("topic/floors", &format!("{path}?sort=new&limit=41")).await;
        let floors: Vec<_> = old.iter().map(|c| c["floor"].as_u64().unwrap()).collect();
        assert_eq!(floors, (1..=floors.len() as u64).collect::<Vec<_>>(), "{path}");
        assert_eq!(ids(&old), ids(&new).into_iter().rev().collect::<Vec<_>>(), "{path}");
    }
    let subject = site.fresh("topic/floors", &list("topic/floors")).await["subject"].clone();
    assert_eq!((&subject["roots"], &subject["comments"]), (&json!(201), &json!(401)));
}

/// Members post, hold, like, edit, delete, hide, restore and pin in one subject, on the same
/// comments, so that one batch holds many changes of one row.
async fn chaos(site: &Site, subject: &str, seed: u64) -> Vec<Value> {
    let all = Mutex::new(vec![site.post(&ann(), subject, "first").await]);
    let work = (0..24).map(|n| {
        let all = &all;
        async move {
            let mut rng = StdRng::seed_from_u64(seed * 100 + n);
            let (me, moderator) = (who(100 + n, "M", "member"), who(900 + n, "Mod", "moderator"));
            for _ in 0..40 {
                let some = all.lock().unwrap().choose(&mut rng).cloned().unwrap();
                let answer = match rng.random_range(0..10) {
                    0..3 => {
                        let held = rng.random_bool(0.2);
                        let parent = rng.random_bool(0.8).then(|| some["id"].clone());
                        let body = json!({"content": if held { "holdme" } else { "x" }, "parent_id": parent});
                        let answer = site.try_post(&me, subject, &body).await;
                        if matches!(answer.status, 201 | 202) {
                            all.lock().unwrap().push(answer.json.clone());
                        }
                        answer
                    }
                    3..6 => {
                        let what = *["like", "dislike"].choose(&mut rng).unwrap();
                        let method = *["PUT", "PUT", "DELETE"].choose(&mut rng).unwrap();
                        site.mark(&me, method, id(&some), what).await
                    }
                    6 => site.mark(&moderator, "PUT", id(&some), "pin").await,
                    7 => site.delete(&moderator, &some).await,
                    8 => site.edit(&me, &some, "edited").await,
                    _ => {
                        let action = *["approve", "restore", "hide", "reject", "delete"].choose(&mut rng).unwrap();
                        site.decide(&moderator, &some, action).await
                    }
                };
                assert!(
                    matches!(answer.status, 200 | 201 | 202 | 204 | 400 | 403 | 404),
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
async fn counts_and_lists_agree_after_chaos() {
    let mut site = Site::start().await;
    site.words(&[("holdme", Action::Review)]).await;
    for (seed, kind) in [(1, "article"), (2, "topic"), (3, "video"), (4, "post")] {
        let subject = format!("{kind}/chaos");
        let mut made = chaos(&site, &subject, seed).await;
        if seed == 2 {
            site.restart().await;
        }
        site.pass(10_000);
        check(&site, &subject).await;
        // What was approved at last is all visible.
        let moderator = who(50, "Mod", "moderator");
        for comment in &mut made {
            *comment = site.decide(&moderator, comment, "approve").await.expect(200);
        }
        let listed = check(&site, &subject).await;
        assert_eq!(listed, ids(&made).into_iter().collect(), "{subject}");
        let mut floors: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for comment in &made {
            let of = if comment["root_id"] == comment["id"] { "" } else { comment["root_id"].as_str().unwrap() };
            floors.entry(of).or_default().push(comment["floor"].as_u64().unwrap());
        }
        for (of, mut floors) in floors {
            floors.sort_unstable();
            assert_eq!(floors, (1..=floors.len() as u64).collect::<Vec<_>>(), "{subject} under {of:?}");
        }
    }
}

/// What lists, trees and counts say of each other; the ids that are listed.
async fn check(site: &Site, subject: &str) -> BTreeSet<String> {
    let page = site.fresh(subject, &format!("{}?limit=100", list(subject))).await;
    let counts = page["subject"].clone();
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    let roots = site.fresh_walk(subject, &format!("{}?sort=old&limit=100", list(subject))).await;
    for sort in ["hot", "new", "top", "best", "replies", "controversial"] {
        let walked = site.fresh_walk(subject, &format!("{}?sort={sort}&limit=9", list(subject))).await;
        assert_eq!(walked.len(), roots.len(), "{sort}");
        assert_eq!(ids(&walked).into_iter().collect::<BTreeSet<_>>(), ids(&roots).into_iter().collect(), "{sort}");
    }
    for root in &roots {
        let below = site.fresh_walk(subject, &format!("{}?sort=old&limit=100", replies(root))).await;
        for sort in ["hot", "new"] {
            let walked = site.fresh_walk(subject, &format!("{}?sort={sort}&limit=7", replies(root))).await;
            assert_eq!(walked.len(), below.len(), "{sort}");
            assert_eq!(ids(&walked).into_iter().collect::<BTreeSet<_>>(), ids(&below).into_iter().collect(), "{sort}");
        }
        let hot = site.fresh_walk(subject, &replies(root)).await;
        assert_eq!(ids(root["top_replies"].as_array().unwrap()), ids(&hot[..hot.len().min(3)]), "{}", id(root));
        all.extend(below.into_iter().map(|c| (id(&c).to_owned(), c)));
    }
    all.extend(roots.iter().map(|c| (id(c).to_owned(), c.clone())));
    let visible = |c: &&Value| c["state"] == "published";
    assert_eq!(counts["comments"], all.values().filter(visible).count());
    assert_eq!(counts["roots"], roots.iter().filter(visible).count());
    for comment in all.values() {
        let below = |c: &&Value| c["id"] != comment["id"] && c["path"].as_array().unwrap().contains(&comment["id"]);
        let descendants = all.values().filter(visible).filter(below).count();
        assert_eq!(comment["replies"], descendants, "{comment}");
        assert!(visible(&comment) || descendants > 0, "a tombstone that holds nothing up: {comment}");
        assert_eq!(visible(&comment), comment["author"].is_object(), "{comment}");
    }
    let pinned = ids(counts["pinned"].as_array().unwrap());
    assert!(pinned.len() <= 10 && pinned.iter().all(|id| all.get(id).is_some_and(|c| visible(&c))), "{pinned:?}");
    all.into_keys().collect()
}
