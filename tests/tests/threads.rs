//! Threads as readers see them: modes, floors, tombstones, held comments, marks, trees, chains.

use std::collections::BTreeSet;

use gailou_shared::words::Action;
use gailou_tests::{Site, Who, id, ids, until, who, with_cursor};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

fn ann() -> Who {
    who(7, "Ann", "member")
}

fn bob() -> Who {
    who(8, "Bob", "member")
}

fn moderator() -> Who {
    who(50, "Mod", "moderator")
}

fn admin() -> Who {
    who(51, "Admin", "admin")
}

fn list(subject: &str) -> String {
    format!("/v1/subjects/{subject}/comments")
}

fn replies(comment: &Value) -> String {
    format!("/v1/comments/{}/replies", id(comment))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mode_places_a_chain() {
    let site = Site::start().await;
    // Levels and floors of a chain of five, and how many of them are roots.
    for (kind, mode, levels, floors, roots) in [
        ("post", "flat", [1, 1, 1, 1, 1], [1, 2, 3, 4, 5], 5),
        ("video", "two_level", [1, 2, 2, 2, 2], [1, 1, 2, 3, 4], 1),
        ("article", "tree", [1, 2, 3, 3, 3], [1, 1, 2, 3, 4], 1),
        ("topic", "building", [1, 2, 3, 4, 5], [1, 1, 2, 3, 4], 1),
    ] {
        let subject = format!("{kind}/chain");
        let mut chain = vec![site.post(&ann(), &subject, "0").await];
        for n in 1..5 {
            let by = if n % 2 == 0 { ann() } else { bob() };
            chain.push(site.reply(&by, &chain[n - 1], &n.to_string()).await);
        }
        let all = ids(&chain);
        for (n, comment) in chain.iter().enumerate() {
            let path = if mode == "flat" { &all[n..=n] } else { &all[..=n] };
            let answered = (n > 0).then(|| if n % 2 == 1 { ann() } else { bob() });
            let expected = json!({
                "id": all[n], "subject": {"type": kind, "key": "chain"},
                "author": {"id": if n % 2 == 0 { "7" } else { "8" }, "name": if n % 2 == 0 { "Ann" } else { "Bob" }, "avatar": null, "level": 3},
                "parent_id": n.checked_sub(1).map(|p| &all[p]), "root_id": path[0], "path": path,
                "reply_to": answered.map(|m| json!({"id": m.id, "name": m.name})),
                "level": levels[n], "floor": floors[n], "content": n.to_string(), "html": format!("<p>{n}</p>\n"),
                "mentions": [], "media": [], "state": "published", "visibility": "everyone", "flags": [],
                "likes": 0, "dislikes": 0, "replies": 0, "created_at": comment["created_at"], "edited_at": null,
            });
            assert_eq!(site.with_floor(comment).await, expected, "{mode} {n}");
            let below = if mode == "flat" { 0 } else { 4 - n };
            let now = site.seen(comment, |c| c["replies"] == below).await;
            assert_eq!(now["path"], expected["path"]);
            let walked = site.fresh_walk(&subject, &format!("{}?sort=old&limit=1", replies(comment))).await;
            assert_eq!(ids(&walked), if mode == "flat" { &[][..] } else { &all[n + 1..] }, "{mode} {n}");
        }
        let page = site.fresh(&subject, &list(&subject)).await;
        assert_eq!(page["subject"]["mode"], mode);
        assert_eq!((&page["subject"]["roots"], &page["subject"]["comments"]), (&json!(roots), &json!(5)));
        assert_eq!(ids(page["data"].as_array().unwrap()).len(), roots);
    }
}

fn is_tombstone(comment: &Value) -> bool {
    let bare = json!({"author": null, "content": "", "html": "", "mentions": [], "state": "deleted"});
    bare.as_object().unwrap().iter().all(|(name, value)| comment[name] == *value)
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_comments_stay_while_they_hold_something_up() {
    let site = Site::start().await;
    let subject = "article/tombs";
    let root = site.post(&ann(), subject, "root").await;
    let a = site
        .try_post(&bob(), subject, &json!({"content": "a", "parent_id": root["id"], "mentions": ["7"]}))
        .await
        .expect(201);
    let b = site.reply(&ann(), &a, "b").await;
    let [root, a, b] = [site.with_floor(&root).await, site.with_floor(&a).await, site.with_floor(&b).await];
    let counts = async || {
        let page = site.fresh(subject, &list(subject)).await;
        (page["subject"]["roots"].as_u64().unwrap(), page["subject"]["comments"].as_u64().unwrap())
    };
    let shown = async |path: String| {
        let page = site.fresh(subject, &format!("{path}?sort=old")).await;
        page["data"].as_array().unwrap().iter().map(|c| (id(c).to_owned(), is_tombstone(c))).collect::<Vec<_>>()
    };
    let [root_id, a_id, b_id] = [&root, &a, &b].map(|c| id(c).to_owned());

    assert_eq!(site.delete(&bob(), &a).await.status, 204);
    assert_eq!(site.delete(&bob(), &a).await.status, 204);
    assert_eq!(
        (counts().await, shown(replies(&root)).await),
        ((1, 2), vec![(a_id.clone(), true), (b_id.clone(), false)])
    );
    let answer = site.seen(&b, |c| c["reply_to"].is_null()).await;
    assert_eq!((&answer["parent_id"], &answer["path"], &answer["floor"]), (&a["id"], &b["path"], &b["floor"]));
    let tomb = site.seen(&a, is_tombstone).await;
    assert_eq!((&tomb["floor"], &tomb["path"], &tomb["replies"]), (&a["floor"], &a["path"], &json!(1)));
    site.seen(&root, |c| c["replies"] == 1).await;

    assert_eq!(site.delete(&ann(), &root).await.status, 204);
    assert_eq!((counts().await, shown(list(subject)).await), ((0, 1), vec![(root_id.clone(), true)]));
    assert_eq!(site.delete(&moderator(), &b).await.status, 204);
    assert_eq!((counts().await, shown(list(subject)).await, shown(replies(&root)).await), ((0, 0), vec![], vec![]));
    for comment in [&root, &a, &b] {
        site.seen(comment, is_tombstone).await;
    }

    // Back again, from the bottom up, with the floors they had.
    site.decide(&moderator(), &b, "restore").await.expect(200);
    assert_eq!((counts().await, shown(list(subject)).await), ((0, 1), vec![(root_id.clone(), true)]));
    assert_eq!(shown(replies(&root)).await, vec![(a_id.clone(), true), (b_id.clone(), false)]);
    for comment in [&a, &root] {
        site.decide(&moderator(), comment, "restore").await.expect(200);
    }
    assert_eq!((counts().await, shown(list(subject)).await), ((1, 3), vec![(root_id, false)]));
    assert_eq!(site.seen(&b, |c| !c["reply_to"].is_null()).await, b);
    let again = site.seen(&a, |c| c["state"] == "published").await;
    assert_eq!((&again["content"], &again["mentions"], &again["floor"]), (&a["content"], &a["mentions"], &a["floor"]));

    // The subject's owner deletes too; a root that holds up nothing is not listed.
    site.put_subject(&admin(), subject, &json!({"owner_id": "99"})).await.expect(200);
    let alone = site.post(&bob(), subject, "alone").await;
    assert_eq!(site.delete(&who(99, "Owner", "member"), &alone).await.status, 204);
    assert_eq!(counts().await, (1, 3));
    let next = site.post(&bob(), subject, "next").await;
    assert_eq!(site.with_floor(&next).await["floor"], 3, "floors are not given twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn held_comments_get_their_floor_when_they_are_approved() {
    let site = Site::start().await;
    site.words(&[("holdme", Action::Review), ("maskme", Action::Mask)]).await;
    let subject = "video/held";
    let root = site.post(&ann(), subject, "root").await;
    let post = async |body: Value| site.try_post(&bob(), subject, &body).await;
    let held = post(json!({"content": "hold me: HOLDME"})).await.expect(202);
    let held_reply = post(json!({"content": "holdme", "parent_id": root["id"]})).await.expect(202);
    let own = post(json!({"content": "mine", "visibility": "self"})).await.expect(201);
    for (comment, state, visibility) in
        [(&held, "review", "everyone"), (&held_reply, "review", "everyone"), (&own, "published", "self")]
    {
        assert_eq!(
            (&comment["state"], &comment["visibility"], &comment["floor"]),
            (&json!(state), &json!(visibility), &json!(null))
        );
        assert_eq!(site.get(&format!("/v1/comments/{}", id(comment))).await.status, 404);
    }
    assert_eq!(held["content"], "hold me: HOLDME");
    let pending = async |by: &Who| {
        let overlay = site.call("GET /v1/me/overlay?ids=").by(by).send().await.expect(200);
        ids(overlay["pending"].as_array().unwrap()).into_iter().collect::<BTreeSet<_>>()
    };
    assert_eq!(pending(&bob()).await, [&held, &held_reply, &own].map(|c| id(c).to_owned()).into());
    assert_eq!(pending(&ann()).await, BTreeSet::new());
    let before = site.fresh(subject, &list(subject)).await;
    assert_eq!((&before["subject"]["comments"], before["data"].as_array().unwrap().len()), (&json!(1), 1));

    let (between, reply) = (site.post(&ann(), subject, "between").await, site.reply(&ann(), &root, "reply").await);
    let (between, reply) = (site.with_floor(&between).await, site.with_floor(&reply).await);
    assert_eq!((&between["floor"], &reply["floor"]), (&json!(2), &json!(1)));
    let approved = site.decide(&moderator(), &held, "approve").await.expect(200);
    assert_eq!(
        (&approved["floor"], &approved["state"], &approved["content"]),
        (&json!(3), &json!("published"), &held["content"])
    );
    assert_eq!(site.decide(&moderator(), &held_reply, "reject").await.expect(200)["floor"], json!(null));
    let old = site.fresh_walk(subject, &format!("{}?sort=old", list(subject))).await;
    assert_eq!(ids(&old), ids(&[root.clone(), between, held.clone()]));
    assert_eq!(pending(&bob()).await, [id(&own).to_owned()].into());
    assert_eq!(site.get(&format!("/v1/comments/{}", id(&held_reply))).await.status, 404);
    let approved = site.decide(&moderator(), &held_reply, "approve").await.expect(200);
    assert_eq!((&approved["floor"], &approved["reply_to"]["id"]), (&json!(2), &json!("7")));

    // Hidden and shown again, it keeps the floor; so it does through an edit that is held.
    assert_eq!(site.decide(&moderator(), &held, "hide").await.expect(200)["state"], "hidden");
    assert_eq!(site.fresh_walk(subject, &list(subject)).await.len(), 2);
    assert_eq!(site.decide(&moderator(), &held, "restore").await.expect(200)["floor"], 3);
    let edited = site.edit(&ann(), &root, "now holdme").await.expect(200);
    assert_eq!((&edited["state"], &edited["floor"]), (&json!("review"), &json!(1)));
    let page = site.fresh(subject, &list(subject)).await;
    assert_eq!(
        (&page["data"][0]["id"], &page["data"][0]["content"]),
        (&root["id"], &json!("")),
        "what is held is not shown"
    );
    assert_eq!(site.decide(&moderator(), &root, "approve").await.expect(200)["floor"], 1);

    // Masked: shown with asterisks, everywhere.
    let masked = site.post(&bob(), subject, "you Mask-me, MASKME!").await;
    assert_eq!(masked["content"], "you Mask-me, ******!");
    assert_eq!(site.seen(&masked, |_| true).await["html"], "<p>you Mask-me, ******!</p>\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_in_lists_show_their_first_replies() {
    let site = Site::start().await;
    let subject = "article/top";
    let mut rng = StdRng::seed_from_u64(11);
    let mut roots = Vec::new();
    for n in 0..6 {
        let mut thread = vec![site.post(&ann(), subject, "root").await];
        for _ in 0..n {
            let parent = thread[rng.random_range(0..thread.len())].clone();
            thread.push(site.reply(&bob(), &parent, "reply").await);
        }
        for reply in &thread[1..] {
            for member in 0..rng.random_range(0..4) {
                site.like(&who(100 + member, "M", "member"), reply).await;
            }
            if rng.random_bool(0.3) {
                site.delete(&bob(), reply).await;
            }
        }
        roots.push(thread.swap_remove(0));
    }
    for root in site.fresh_walk(subject, &format!("{}?limit=2", list(subject))).await {
        let hot = site.fresh_walk(subject, &format!("{}?sort=hot", replies(&root))).await;
        let top = root["top_replies"].as_array().expect("top_replies on a root in a list");
        assert_eq!(ids(top), ids(&hot[..hot.len().min(3)]), "{}", id(&root));
        let visible = |all: &[Value]| all.iter().filter(|c| c["state"] == "published").count();
        assert_eq!(root["replies"], visible(&hot), "{}", id(&root));
        assert_eq!(root["more_replies"], visible(&hot) - visible(top), "{}", id(&root));
    }
    assert_eq!(roots.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_and_features_move_nothing() {
    let site = Site::start().await;
    let subject = "article/pins";
    let mut all = Vec::new();
    for n in 0..12 {
        all.push(site.post(&ann(), subject, &n.to_string()).await);
    }
    let reply = site.reply(&bob(), &all[0], "reply").await;
    site.put_subject(&admin(), subject, &json!({"owner_id": "99"})).await.expect(200);
    let owner = who(99, "Owner", "member");
    let order = async || ids(&site.fresh_walk(subject, &format!("{}?limit=5", list(subject))).await);
    let pinned = async || ids(site.fresh(subject, &list(subject)).await["subject"]["pinned"].as_array().unwrap());
    let before = order().await;
    let by_moderator = site.mark(&moderator(), "PUT", id(&all[3]), "pin").await.expect(200);
    assert_eq!(by_moderator["flags"], json!(["pinned"]));
    site.pass(5);
    let by_owner = site.mark(&owner, "PUT", id(&reply), "pin").await.expect(200);
    assert_eq!(by_owner["flags"], json!(["pinned", "owner_pinned"]));
    assert_eq!((order().await, pinned().await), (before.clone(), ids(&[reply.clone(), all[3].clone()])));
    let featured = site.decide(&moderator(), &all[3], "feature").await.expect(200);
    assert_eq!(featured["flags"], json!(["pinned", "featured"]));
    assert_eq!(site.decide(&moderator(), &all[3], "unfeature").await.expect(200)["flags"], json!(["pinned"]));
    // A pinned one that is deleted is shown there no more, and comes back with its pin.
    site.delete(&bob(), &reply).await;
    assert_eq!(pinned().await, ids(&all[3..4]));
    site.decide(&moderator(), &reply, "restore").await.expect(200);
    assert_eq!(pinned().await.len(), 2);
    site.mark(&owner, "DELETE", id(&reply), "pin").await.expect(200);
    site.mark(&owner, "DELETE", id(&reply), "pin").await.expect(200);
    for comment in &all[..10] {
        site.mark(&moderator(), "PUT", id(comment), "pin").await.expect(200);
    }
    let full = site.mark(&moderator(), "PUT", id(&all[11]), "pin").await.expect(400);
    assert_eq!(full["errors"][0]["field"], "id");
    assert_eq!((order().await, pinned().await.len()), (before, 10));
}

/// Every id below a node, by following each `more.cursor`; nodes stand where `drawn` says.
async fn reached(site: &Site, top: &str, depth: usize, limit: usize, found: &mut Vec<(String, String)>) {
    let mut calls = vec![format!("/v1/comments/{top}/tree?depth={depth}&limit={limit}")];
    let mut made = 0;
    while let Some(path) = calls.pop() {
        made += 1;
        assert!(made < 5_000, "the tree of {top} does not end");
        let tree = site.page(&path).await["data"].clone();
        let mut nodes = vec![(tree, 0)];
        let mut shown = 0;
        while let Some((node, level)) = nodes.pop() {
            let of = id(&node["comment"]).to_owned();
            for child in node["children"].as_array().unwrap() {
                found.push((of.clone(), id(&child["comment"]).to_owned()));
                nodes.push((child.clone(), level + 1));
                shown += 1;
            }
            assert!(level <= depth, "deeper than asked: {path}");
            if let Some(cursor) = node["more"]["cursor"].as_str() {
                assert!(node["more"]["count"].as_u64().unwrap() > 0, "{path}");
                calls.push(with_cursor(&format!("/v1/comments/{of}/tree?depth={depth}&limit={limit}"), cursor));
            }
        }
        assert!(shown <= limit, "more nodes than asked: {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_reaches_every_comment_once() {
    let site = Site::start().await;
    for (kind, deepest, seed) in
        [("article", 3, 1), ("topic", 128, 2), ("topic", 128, 3), ("video", 2, 4), ("article", 3, 5)]
    {
        let mut rng = StdRng::seed_from_u64(seed);
        let subject = format!("{kind}/tree{seed}");
        let mut all = vec![site.post(&ann(), &subject, "root").await];
        for n in 1..40usize {
            // Sometimes chains, sometimes bushes.
            let from = if rng.random_bool(0.5) { n.saturating_sub(3) } else { 0 };
            let parent = all[rng.random_range(from..n)].clone();
            all.push(site.reply(&bob(), &parent, &n.to_string()).await);
        }
        for comment in &all {
            if rng.random_bool(0.2) {
                site.delete(&moderator(), comment).await;
            }
        }
        let parent_of = |child: &str| all.iter().find(|c| id(c) == child).unwrap();
        for top in [0, 1, 2, 9, 20] {
            let listed = site.fresh_walk(&subject, &format!("{}?sort=old&limit=100", replies(&all[top]))).await;
            let listed: BTreeSet<_> = ids(&listed).into_iter().collect();
            for (depth, limit) in [(3, 200), (1, 1), (1, 3), (2, 1), (2, 5), (4, 7), (128, 2), (128, 100)] {
                let at = format!("{subject} top {top} depth {depth} limit {limit}");
                let mut found = Vec::new();
                reached(&site, id(&all[top]), depth, limit, &mut found).await;
                let once: BTreeSet<_> = found.iter().map(|(_, child)| child.clone()).collect();
                assert_eq!(found.len(), once.len(), "{at}: some are shown twice");
                assert_eq!(once, listed, "{at}");
                // Drawn under its parent, or at the level limit under an ancestor.
                for (of, child) in &found {
                    let comment = parent_of(child);
                    let path: Vec<_> =
                        comment["path"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
                    assert!(path[..path.len() - 1].contains(&of.as_str()), "{at}: {child} stands under {of}");
                    if deepest == 128 {
                        assert_eq!(comment["parent_id"], of.as_str(), "{at}");
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_building_has_128_floors() {
    let site = Site::start().await;
    let mut chain = vec![site.post(&ann(), "topic/tower", "1").await];
    for n in 2..=128 {
        chain.push(site.reply(&bob(), chain.last().unwrap(), &n.to_string()).await);
    }
    let top = chain.last().unwrap();
    assert_eq!((&top["level"], top["path"].as_array().unwrap().len()), (&json!(128), 128));
    let body = json!({"content": "129", "parent_id": top["id"]});
    let refused = site.try_post(&bob(), "topic/tower", &body).await.expect(400);
    assert_eq!((&refused["code"], &refused["errors"][0]["field"]), (&json!("invalid_request"), &json!("parent_id")));
    let ancestors = site.page(&format!("/v1/comments/{}/ancestors", id(top))).await;
    assert_eq!(ids(ancestors["data"].as_array().unwrap()), ids(&chain));
    let sibling = site.reply(&ann(), &chain[99], "beside").await;
    let path = format!("/v1/comments/{}/context", id(&chain[100]));
    let right =
        |context: &Value| ids(context["data"]["siblings"].as_array().unwrap()) == ids(std::slice::from_ref(&sibling));
    let context = until(|| site.page(&path), right).await["data"].clone();
    assert_eq!(ids(context["ancestors"].as_array().unwrap()), ids(&chain[..100]));
    assert_eq!((id(&context["comment"]), right(&json!({"data": context}))), (id(&chain[100]), true));
    assert_eq!(ids(context["root_page"]["data"].as_array().unwrap()), ids(&chain[..1]));
    let context = site.page(&format!("/v1/comments/{}/context", id(&chain[0]))).await["data"].clone();
    assert_eq!((&context["ancestors"], id(&context["comment"])), (&json!([]), id(&chain[0])));
    // Two levels of JSON for each of the tree: deeper answers are beyond many readers of JSON.
    let mut found = Vec::new();
    reached(&site, id(&chain[0]), 50, 200, &mut found).await;
    assert_eq!(found.len(), 128);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_keep_apart() {
    let site = Site::start().await;
    // Canonical digits, digits that are not, and what looks alike when it is decoded once too often.
    let keys =
        ["7", "007", "07", "a/b", "a%2Fb", "a b", "a+b", "é", "e\u{301}", "楼", "%", "4611686018427387904", "x?y#z"];
    let encoded = |key: &str| key.bytes().map(|b| format!("%{b:02X}")).collect::<String>();
    for key in keys {
        let comment = site.post(&ann(), &format!("article/{}", encoded(key)), key).await;
        let comment = site.with_floor(&comment).await;
        assert_eq!((&comment["subject"]["key"], &comment["floor"]), (&json!(key), &json!(1)), "{key}");
    }
    for key in keys {
        let page = site.page(&list(&format!("article/{}", encoded(key)))).await;
        assert_eq!((page["data"].as_array().unwrap().len(), &page["data"][0]["content"]), (1, &json!(key)), "{key}");
    }
    assert_eq!(site.page("/v1/subjects/article/7").await["comments"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_may_have_a_mode_of_its_own() {
    let site = Site::start().await;
    let subject = site.put_subject(&admin(), "article/mode", &json!({"mode": "flat"})).await.expect(200);
    assert_eq!(subject["mode"], "flat");
    let root = site.post(&ann(), "article/mode", "root").await;
    let answer = site.reply(&bob(), &root, "answer").await;
    assert_eq!((&answer["path"], &answer["level"]), (&json!([answer["id"]]), &json!(1)));
}
