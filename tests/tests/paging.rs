//! The paging law: what was visible when a walk began, and stays visible, is shown exactly once,
//! whatever is written meanwhile, and when the origin starts anew in the middle.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt as _};
use gailou_shared::id::CommentId;
use gailou_shared::rank::{self, Counts, Sort, Weights};
use gailou_shared::words::Action;
use gailou_tests::{Site, Who, id, ids, who, with_cursor};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

const SUBJECT: &str = "article/paging";

fn moderator() -> Who {
    who(50, "Mod", "moderator")
}

fn roots() -> String {
    format!("/v1/subjects/{SUBJECT}/comments")
}

/// What the test knows of a comment.
struct Known {
    comment: Value,
    visible: bool,
    held: bool,
}

/// One reader on the way through one list.
struct Walker {
    path: String,
    sort: Sort,
    /// Which comments are in its list: those below this one, or roots.
    below: Option<String>,
    epoch: Option<Value>,
    next: Option<String>,
    /// Visible when it began, and ever since.
    must: BTreeSet<String>,
    shown: Vec<String>,
}

impl Walker {
    fn has(&self, comment: &Value) -> bool {
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

    async fn step(&mut self, site: &Site, known: &[Known], limit: usize) {
        let page = match &self.next {
            None => {
                self.must = known
                    .iter()
                    .filter(|k| k.visible && self.has(&k.comment))
                    .map(|k| id(&k.comment).to_owned())
                    .collect();
                site.fresh(SUBJECT, &format!("{}?sort={}&limit={limit}", self.path, self.sort.name())).await
            }
            Some(cursor) => site.page(&with_cursor(&format!("{}?limit={limit}", self.path), cursor)).await,
        };
        let epoch = self.epoch.get_or_insert_with(|| page["page"]["epoch"].clone());
        assert_eq!((&page["page"]["epoch"], &page["page"]["sort"]), (&*epoch, &json!(self.sort.name())));
        let data = page["data"].as_array().unwrap();
        assert!(data.len() <= limit && data.iter().all(|c| self.has(c)), "{}: {page}", self.path);
        self.shown.extend(ids(data));
        self.next = page["page"]["next"].as_str().map(str::to_owned);
    }

    fn check(&self, case: &str) {
        let once: BTreeSet<_> = self.shown.iter().cloned().collect();
        let at = format!("{case}: {} by {}", self.path, self.sort.name());
        assert_eq!(once.len(), self.shown.len(), "{at}: shown twice");
        let missing: Vec<_> = self.must.difference(&once).collect();
        assert!(missing.is_empty(), "{at}: left out {missing:?} of {}", self.must.len());
    }
}

/// One random write, and what it changes.
async fn write(site: &Site, rng: &mut StdRng, known: &mut Vec<Known>) {
    let by = who(rng.random_range(100..120), "M", "member");
    let some = |known: &[Known], rng: &mut StdRng, visible| {
        let fit: Vec<usize> = (0..known.len()).filter(|k| known[*k].visible == visible).collect();
        fit.choose(rng).copied()
    };
    match rng.random_range(0..20) {
        0..4 => {
            // Mostly replies to a few, so that there are threads.
            let parent =
                some(known, rng, true).filter(|_| rng.random_bool(0.6)).map(|k| known[k].comment["id"].clone());
            let held = rng.random_bool(0.2);
            let body = json!({"content": if held { "holdme" } else { "x" }, "parent_id": parent});
            let comment = site.try_post(&by, SUBJECT, &body).await.expect(if held { 202 } else { 201 });
            known.push(Known { comment, visible: !held, held });
        }
        4..12 => {
            if let Some(k) = some(known, rng, true) {
                let what = if rng.random_bool(0.7) { "like" } else { "dislike" };
                let method = if rng.random_bool(0.8) { "PUT" } else { "DELETE" };
                site.mark(&by, method, id(&known[k].comment), what).await.expect(200);
            }
        }
        12..15 => {
            if let Some(k) = some(known, rng, true) {
                let action = if rng.random_bool(0.7) { "delete" } else { "hide" };
                site.decide(&moderator(), &known[k].comment, action).await.expect(200);
                known[k].visible = false;
            }
        }
        15..18 => {
            if let Some(k) = some(known, rng, false) {
                let action = if known[k].held { "approve" } else { "restore" };
                site.decide(&moderator(), &known[k].comment, action).await.expect(200);
                known[k].visible = true;
                known[k].held = false;
            }
        }
        _ => {
            if let Some(k) = some(known, rng, true) {
                let method = if rng.random_bool(0.5) { "PUT" } else { "DELETE" };
                // The tenth pin is the last.
                assert!(matches!(
                    site.mark(&moderator(), method, id(&known[k].comment), "pin").await.status,
                    200 | 400
                ));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_walk_shows_everything_once() {
    stream::iter(0..24).for_each_concurrent(3, walk_all).await;
}

async fn walk_all(seed: u64) {
    let case = format!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut site = Site::start().await;
    site.words(&[("holdme", Action::Review)]).await;
    let mut known = Vec::new();
    for _ in 0..rng.random_range(20..60) {
        let comment = site.post(&who(100, "M", "member"), SUBJECT, "x").await;
        known.push(Known { comment, visible: true, held: false });
    }
    for _ in 0..rng.random_range(20..80) {
        write(&site, &mut rng, &mut known).await;
    }
    let mut walkers = Vec::new();
    let mut walk = |path: String, sort: Sort, below: Option<String>| {
        walkers.push(Walker { path, sort, below, epoch: None, next: None, must: BTreeSet::new(), shown: vec![] });
    };
    for sort in Sort::ALL {
        walk(roots(), sort, None);
    }
    // The fullest thread, and the fullest below a reply.
    let size = |top: &Known| {
        known.iter().filter(|k| k.comment["path"].as_array().unwrap().contains(&top.comment["id"])).count()
    };
    for is_root in [true, false] {
        let fit = known.iter().filter(|k| k.visible && k.comment["parent_id"].is_null() == is_root);
        if let Some(top) = fit.max_by_key(|k| size(k)) {
            let top = id(&top.comment).to_owned();
            for sort in [Sort::Hot, Sort::Old, Sort::New] {
                walk(format!("/v1/comments/{top}/replies"), sort, Some(top.clone()));
            }
        }
    }
    let restart_at = rng.random_range(0..60);
    for step in 0.. {
        if step == restart_at {
            site.restart().await;
        }
        let mut open: Vec<usize> = (0..walkers.len()).filter(|w| !walkers[*w].is_done()).collect();
        open.retain(|w| walkers[*w].epoch.is_some() || rng.random_bool(0.5));
        if let Some(w) = open.choose(&mut rng) {
            let limit = *[1, 2, 3, 5, 10, 100].choose(&mut rng).unwrap();
            walkers[*w].step(&site, &known, limit).await;
        } else if walkers.iter().all(Walker::is_done) {
            break;
        }
        if rng.random_bool(0.5) {
            write(&site, &mut rng, &mut known).await;
            for gone in known.iter().filter(|k| !k.visible) {
                for walker in &mut walkers {
                    walker.must.remove(id(&gone.comment));
                }
            }
        }
        site.pass(rng.random_range(0..2_000));
    }
    walkers.iter().for_each(|walker| walker.check(&case));
    assert!(walkers.iter().map(|w| w.must.len()).sum::<usize>() > 20, "{case}: this proves little");
    quiet_order(&site, &case).await;
}

fn number(comment: &Value, name: &str) -> u64 {
    comment[name].as_u64().unwrap_or_else(|| panic!("{name}: {comment}"))
}

/// Nobody writes: each sort is the shared crate's order, computed from the answers.
async fn quiet_order(site: &Site, case: &str) {
    // Older snapshots are used no more.
    site.pass(10_000);
    let lists: Vec<String> = {
        let all = site.fresh_walk(SUBJECT, &format!("{}?sort=old&limit=100", roots())).await;
        let fullest = all.iter().max_by_key(|c| number(c, "replies"));
        fullest.map(|root| format!("/v1/comments/{}/replies", id(root))).into_iter().chain([roots()]).collect()
    };
    for path in lists {
        for sort in Sort::ALL {
            if path != roots() && !matches!(sort, Sort::Hot | Sort::Old | Sort::New) {
                continue;
            }
            let shown = site.fresh_walk(SUBJECT, &format!("{path}?limit=7&sort={}", sort.name())).await;
            let mut expected = shown.clone();
            match sort {
                Sort::New => expected.sort_by_key(|c| std::cmp::Reverse(number(c, "floor"))),
                Sort::Old => expected.sort_by_key(|c| number(c, "floor")),
                _ => {
                    let key = |c: &Value| {
                        let counts = Counts {
                            likes: number(c, "likes"),
                            dislikes: number(c, "dislikes"),
                            replies: number(c, "replies"),
                        };
                        let of: CommentId = id(c).parse().unwrap();
                        (rank::key(sort, counts, number(c, "created_at"), &Weights::default()), of)
                    };
                    expected.sort_by(|a, b| rank::order(key(a), key(b)));
                }
            }
            assert_eq!(ids(&shown), ids(&expected), "{case}: {path} by {}", sort.name());
        }
    }
}

/// More than a snapshot holds: the best thousand, then the rest by floor.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_longer_than_a_snapshot() {
    let site = Site::start().await;
    let by = |n: u64| who(1_000 + n, "M", "member");
    let post = |n: u64| {
        let site = &site;
        async move { site.post(&by(n), SUBJECT, "x").await }
    };
    let all: Vec<Value> = stream::iter(0..1_150u64).map(post).buffered(32).collect().await;
    let mut all: Vec<Value> = stream::iter(&all).map(|comment| site.with_floor(comment)).buffered(32).collect().await;
    all.sort_by_key(|c| number(c, "floor"));
    // The oldest are liked, so they stand before all others by likes.
    for (n, comment) in all.iter().take(5).enumerate() {
        for member in 0..=n as u64 {
            site.like(&by(member), comment).await;
        }
    }
    for sort in ["hot", "top", "best", "replies", "controversial"] {
        site.pass(10_000);
        let path = format!("{}?limit=100&sort={sort}", roots());
        let mut page = site.fresh(SUBJECT, &path).await;
        let mut shown = Vec::new();
        for n in 0.. {
            shown.extend(page["data"].as_array().unwrap().iter().cloned());
            let Some(next) = page["page"]["next"].as_str().map(str::to_owned) else { break };
            // What is liked now does not move; what is posted now does not come.
            site.like(&by(900 + n), &all[n as usize * 90]).await;
            site.post(&by(n), SUBJECT, "late").await;
            page = site.page(&with_cursor(&path, &next)).await;
        }
        let of: BTreeSet<_> = ids(&shown).into_iter().collect();
        assert_eq!(of.len(), shown.len(), "{sort}: shown twice");
        assert!(all.iter().all(|c| of.contains(id(c))), "{sort}: left out");
        let tail: Vec<_> = shown[1_000..].iter().map(|c| number(c, "floor")).collect();
        assert!(tail.is_sorted_by(|a, b| a > b), "{sort}: the tail is not by floor");
        if sort == "top" {
            assert_eq!(ids(&shown[..1]), ids(&all[4..5]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_ends_with_its_snapshot() {
    let mut site = Site::start().await;
    let ann = who(7, "Ann", "member");
    let root = site.post(&ann, SUBJECT, "root").await;
    for _ in 0..3 {
        site.post(&ann, SUBJECT, "x").await;
        site.reply(&ann, &root, "y").await;
    }
    let replies = format!("/v1/comments/{}/replies", id(&root));
    let mut cursors = Vec::new();
    for (path, sort) in
        [(roots(), "hot"), (roots(), "top"), (replies.clone(), "hot"), (roots(), "new"), (replies, "old")]
    {
        let page = site.fresh(SUBJECT, &format!("{path}?limit=1&sort={sort}")).await;
        cursors.push((
            with_cursor(&path, page["page"]["next"].as_str().expect("a cursor")),
            !matches!(sort, "new" | "old"),
        ));
    }
    for (hours, gone) in [(0, false), (24, false), (2, true)] {
        site.pass(hours * 3_600_000);
        site.sweep().await;
        site.restart().await;
        for (path, has_snapshot) in &cursors {
            let answer = site.get(path).await;
            // A cluster's cache keeps it by its own clock, which does not move with ours.
            if gone && *has_snapshot && !(site.in_cluster() && answer.status == 200) {
                assert_eq!((answer.status, &answer.json["code"]), (410, &json!("cursor_expired")), "{path}");
            } else {
                assert_eq!(answer.status, 200, "{path} after {hours} h: {}", answer.text);
            }
        }
    }
    // It begins again, and again when the snapshot is gone that the origin still remembers.
    assert_eq!(site.walk(&format!("{}?limit=1", roots())).await.len(), 4);
    site.pass(26 * 3_600_000);
    site.sweep().await;
    assert_eq!(site.walk(&format!("{}?limit=1", roots())).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn hot_is_the_default_and_a_cursor_knows_its_sort() {
    let site = Site::start().await;
    let ann = who(7, "Ann", "member");
    for _ in 0..25 {
        site.post(&ann, SUBJECT, "x").await;
    }
    let page = site.fresh(SUBJECT, &roots()).await;
    assert_eq!((&page["page"]["sort"], page["data"].as_array().unwrap().len()), (&json!("hot"), 20));
    let page = site.fresh(SUBJECT, &format!("{}?sort=best&limit=10", roots())).await;
    let next = page["page"]["next"].as_str().unwrap();
    // Any limit, with the sort and without, and with parameters nobody knows.
    for more in ["", "?sort=best", "?limit=3", "?utm_source=x", "?limit=15&sort=best&_=1"] {
        let page = site.page(&with_cursor(&format!("{}{more}", roots()), next)).await;
        assert_eq!(page["page"]["sort"], "best", "{more}");
    }
    let empty = site.page("/v1/subjects/article/nobody/comments").await;
    assert_eq!(
        (&empty["data"], &empty["page"]["has_more"], &empty["page"]["next"]),
        (&json!([]), &json!(false), &json!(null))
    );
    assert_eq!((&empty["subject"]["comments"], &empty["subject"]["state"]), (&json!(0), &json!("open")));
}

/// A page's order is that of the state its epoch names, and roots show what their replies begin with.
#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_names_the_state_of_the_order() {
    let site = Site::start().await;
    let ann = who(7, "Ann", "member");
    let root = site.post(&ann, SUBJECT, "root").await;
    let all: Vec<Value> = stream::iter(0..400usize)
        .map(|n| {
            let (site, ann, root) = (&site, &ann, &root);
            async move { if n < 200 { site.post(ann, SUBJECT, "x").await } else { site.reply(ann, root, "y").await } }
        })
        .buffered(16)
        .collect()
        .await;
    let replies = format!("/v1/comments/{}/replies?limit=3", id(&root));
    let top = format!("{}?sort=top&limit=3", roots());
    // Somebody else has begun to walk.
    let before = site.fresh(SUBJECT, &top).await;
    site.fresh(SUBJECT, &replies).await;
    site.like(&ann, &all[3]).await;
    site.like(&ann, &all[203]).await;
    let page = site.fresh(SUBJECT, &top).await;
    if page["page"]["epoch"] == before["page"]["epoch"] {
        let order = |page: &Value| ids(page["data"].as_array().unwrap());
        assert_eq!(order(&page), order(&before), "the epoch of before names the order of before");
    } else {
        assert_eq!(id(&page["data"][0]), id(&all[3]), "epoch {} names the like", page["page"]["epoch"]);
    }
    let hot = site.fresh(SUBJECT, &replies).await;
    let list = site.fresh(SUBJECT, &format!("{}?sort=replies&limit=1", roots())).await;
    assert_eq!(ids(hot["data"].as_array().unwrap()), ids(list["data"][0]["top_replies"].as_array().unwrap()));
}
