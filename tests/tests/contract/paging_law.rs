//! The paging law: what is visible when a walk begins, and stays visible, is shown exactly once, also
//! when others write and the origin restarts during the walk.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use gailou_shared::id::CommentId;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestOrigin, comments_on, comments_path, id, ids, member, moderator, with_cursor};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

const TEST_SUBJECT: &str = "article/paging";
/// How many random histories are tried.
const SEED_COUNT: u64 = 24;

/// The state that a comment must have after the writes so far.
struct KnownComment {
    comment: Value,
    visible: bool,
    held: bool,
}

/// One reader, somewhere between the first and the last page of one list.
struct ListWalker {
    path: String,
    sort: Sort,
    /// The list has everything below this comment, or the roots.
    below: Option<String>,
    epoch: Option<Value>,
    next: Option<String>,
    /// Comments that were visible when the walk began, and ever since.
    expected: BTreeSet<String>,
    shown: Vec<String>,
}

impl ListWalker {
    fn contains(&self, comment: &Value) -> bool {
        match &self.below {
            None => comment["parent_id"].is_null(),
            Some(top) => {
                comment["id"] != top.as_str() && comment["path"].as_array().unwrap().iter().any(|p| p == top.as_str())
            }
        }
    }

    fn is_done(&self) -> bool {
        self.epoch.is_some() && self.next.is_none()
    }

    async fn read_page(&mut self, origin: &TestOrigin, known: &[KnownComment], limit: usize) {
        let page = match &self.next {
            None => {
                self.expected = known
                    .iter()
                    .filter(|k| k.visible && self.contains(&k.comment))
                    .map(|k| id(&k.comment).to_owned())
                    .collect();
                origin
                    .current_page(TEST_SUBJECT, &format!("{}?sort={}&limit={limit}", self.path, self.sort.name()))
                    .await
            }
            Some(cursor) => origin.page(&with_cursor(&format!("{}?limit={limit}", self.path), cursor)).await,
        };
        let epoch = self.epoch.get_or_insert_with(|| page["page"]["epoch"].clone());
        assert_eq!((&page["page"]["epoch"], &page["page"]["sort"]), (&*epoch, &json!(self.sort.name())));
        let data = comments_on(&page);
        assert!(data.len() <= limit && data.iter().all(|c| self.contains(c)), "{}: {page}", self.path);
        self.shown.extend(ids(data));
        self.next = page["page"]["next"].as_str().map(str::to_owned);
    }

    fn check(&self, case: &str) {
        let once: BTreeSet<_> = self.shown.iter().cloned().collect();
        let at = format!("{case}: {} by {}", self.path, self.sort.name());
        assert_eq!(once.len(), self.shown.len(), "{at}: a comment is shown twice");
        let missing: Vec<_> = self.expected.difference(&once).collect();
        assert!(missing.is_empty(), "{at}: {missing:?} of {} are missing", self.expected.len());
    }
}

/// Makes one random write and notes what it changes.
async fn write_at_random(origin: &TestOrigin, rng: &mut StdRng, known: &mut Vec<KnownComment>) {
    let by = member(rng.random_range(100..120));
    let choose = |known: &[KnownComment], rng: &mut StdRng, visible| {
        let candidates: Vec<usize> = (0..known.len()).filter(|k| known[*k].visible == visible).collect();
        candidates.choose(rng).copied()
    };
    match rng.random_range(0..20) {
        0..4 => {
            // Mostly replies, so that there are threads.
            let parent =
                choose(known, rng, true).filter(|_| rng.random_bool(0.6)).map(|k| known[k].comment["id"].clone());
            let held = rng.random_bool(0.2);
            let body = json!({"content": if held { "holdme" } else { "x" }, "parent_id": parent});
            let comment = origin.try_post(&by, TEST_SUBJECT, &body).await.expect(if held { 202 } else { 201 });
            known.push(KnownComment { comment, visible: !held, held });
        }
        4..12 => {
            if let Some(k) = choose(known, rng, true) {
                let what = if rng.random_bool(0.7) { "like" } else { "dislike" };
                let method = if rng.random_bool(0.8) { "PUT" } else { "DELETE" };
                origin.set_flag(&by, method, id(&known[k].comment), what).await.expect(200);
            }
        }
        12..15 => {
            if let Some(k) = choose(known, rng, true) {
                let action = if rng.random_bool(0.7) { "delete" } else { "hide" };
                origin.decide(&moderator(), &known[k].comment, action).await.expect(200);
                known[k].visible = false;
            }
        }
        15..18 => {
            if let Some(k) = choose(known, rng, false) {
                let action = if known[k].held { "approve" } else { "restore" };
                origin.decide(&moderator(), &known[k].comment, action).await.expect(200);
                known[k].visible = true;
                known[k].held = false;
            }
        }
        _ => {
            if let Some(k) = choose(known, rng, true) {
                let method = if rng.random_bool(0.5) { "PUT" } else { "DELETE" };
                // An eleventh pin is refused.
                assert!(matches!(
                    origin.set_flag(&moderator(), method, id(&known[k].comment), "pin").await.status,
                    200 | 400
                ));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_walk_shows_each_comment_once_during_writes_and_a_restart() {
    stream::iter(0..SEED_COUNT).for_each_concurrent(3, check_paging_law).await;
}

async fn check_paging_law(seed: u64) {
    let case = format!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut origin = TestOrigin::start().await;
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    let mut known = Vec::new();
    for _ in 0..rng.random_range(20..60) {
        let comment = origin.post(&member(100), TEST_SUBJECT, "x").await;
        known.push(KnownComment { comment, visible: true, held: false });
    }
    for _ in 0..rng.random_range(20..80) {
        write_at_random(&origin, &mut rng, &mut known).await;
    }
    let mut walkers = Vec::new();
    let mut start_walk = |path: String, sort: Sort, below: Option<String>| {
        walkers.push(ListWalker {
            path,
            sort,
            below,
            epoch: None,
            next: None,
            expected: BTreeSet::new(),
            shown: vec![],
        });
    };
    for &sort in Sort::ALL {
        start_walk(comments_path(TEST_SUBJECT), sort, None);
    }
    // The largest thread, and the largest part of a thread below a reply.
    let size = |top: &KnownComment| {
        known.iter().filter(|k| k.comment["path"].as_array().unwrap().contains(&top.comment["id"])).count()
    };
    for is_root in [true, false] {
        let candidates = known.iter().filter(|k| k.visible && k.comment["parent_id"].is_null() == is_root);
        if let Some(top) = candidates.max_by_key(|k| size(k)) {
            let top = id(&top.comment).to_owned();
            for sort in [Sort::Hot, Sort::Old, Sort::New] {
                start_walk(format!("/v1/comments/{top}/replies"), sort, Some(top.clone()));
            }
        }
    }
    let restart_at = rng.random_range(0..60);
    for step in 0.. {
        if step == restart_at {
            origin.restart().await;
        }
        let mut open: Vec<usize> = (0..walkers.len()).filter(|w| !walkers[*w].is_done()).collect();
        open.retain(|w| walkers[*w].epoch.is_some() || rng.random_bool(0.5));
        if let Some(w) = open.choose(&mut rng) {
            let limit = *[1, 2, 3, 5, 10, 100].choose(&mut rng).unwrap();
            walkers[*w].read_page(&origin, &known, limit).await;
        } else if walkers.iter().all(ListWalker::is_done) {
            break;
        }
        if rng.random_bool(0.5) {
            write_at_random(&origin, &mut rng, &mut known).await;
            for gone in known.iter().filter(|k| !k.visible) {
                for walker in &mut walkers {
                    walker.expected.remove(id(&gone.comment));
                }
            }
        }
        origin.advance(Duration::from_millis(rng.random_range(0..2_000)));
    }
    walkers.iter().for_each(|walker| walker.check(&case));
    assert!(walkers.iter().map(|w| w.expected.len()).sum::<usize>() > 20, "{case}: the walks expect too few comments");
    check_quiet_order(&origin, &case).await;
}

fn number(comment: &Value, name: &str) -> u64 {
    comment[name].as_u64().unwrap_or_else(|| panic!("{name}: {comment}"))
}

/// Without writes, each list has the order that the shared crate computes from the comments' counts.
async fn check_quiet_order(origin: &TestOrigin, case: &str) {
    let lists: Vec<String> = {
        let all =
            origin.walk_current(TEST_SUBJECT, &format!("{}?sort=old&limit=100", comments_path(TEST_SUBJECT))).await;
        let largest = all.iter().max_by_key(|c| number(c, "replies"));
        largest
            .map(|root| format!("/v1/comments/{}/replies", id(root)))
            .into_iter()
            .chain([comments_path(TEST_SUBJECT)])
            .collect()
    };
    for path in lists {
        for &sort in Sort::ALL {
            if path != comments_path(TEST_SUBJECT) && !matches!(sort, Sort::Hot | Sort::Old | Sort::New) {
                continue;
            }
            let shown = origin.walk_current(TEST_SUBJECT, &format!("{path}?limit=7&sort={}", sort.name())).await;
            let mut expected = shown.clone();
            match sort {
                Sort::New => expected.sort_by_key(|c| std::cmp::Reverse(number(c, "floor"))),
                Sort::Old => expected.sort_by_key(|c| number(c, "floor")),
                _ => {
                    let key = |c: &Value| {
                        let counts = EngagementCounts {
                            likes: number(c, "likes"),
                            dislikes: number(c, "dislikes"),
                            replies: number(c, "replies"),
                        };
                        let id: CommentId = id(c).parse().unwrap();
                        (rank::sort_key(sort, counts, number(c, "created_at"), &HotWeights::default()), id)
                    };
                    expected.sort_by(|a, b| rank::compare_ranked(key(a), key(b)));
                }
            }
            assert_eq!(ids(&shown), ids(&expected), "{case}: {path} by {}", sort.name());
        }
    }
}
