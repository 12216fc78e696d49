//! Threads as readers see them: modes, floors, tombstones, held comments, pins, first replies.

use std::collections::BTreeSet;
use std::time::Duration;

use gailou_shared::word_filter::TermAction;
use gailou_tests::{
    TestMember, TestOrigin, admin, ann, bob, comments_on, comments_path, id, ids, member, moderator, owner,
    replies_path,
};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn every_mode_assigns_levels_and_floors_to_a_chain() {
    let origin = TestOrigin::start().await;
    // Levels and floors of a chain of five, and how many of them are roots.
    for (kind, mode, levels, floors, roots) in [
        ("post", "flat", [1, 1, 1, 1, 1], [1, 2, 3, 4, 5], 5),
        ("video", "two_level", [1, 2, 2, 2, 2], [1, 1, 2, 3, 4], 1),
        ("article", "tree", [1, 2, 3, 3, 3], [1, 1, 2, 3, 4], 1),
        ("topic", "building", [1, 2, 3, 4, 5], [1, 1, 2, 3, 4], 1),
    ] {
        let subject = format!("{kind}/chain");
        let mut chain = vec![origin.post(&ann(), &subject, "0").await];
        for n in 1..5 {
            let by = if n % 2 == 0 { ann() } else { bob() };
            chain.push(origin.reply(&by, &chain[n - 1], &n.to_string()).await);
        }
        let all = ids(&chain);
        for (n, comment) in chain.iter().enumerate() {
            let path = if mode == "flat" { &all[n..=n] } else { &all[..=n] };
            let replied_to = (n > 0).then(|| if n % 2 == 1 { ann() } else { bob() });
            let expected = json!({
                "id": all[n], "subject": {"type": kind, "key": "chain"},
                "author": {"id": if n % 2 == 0 { "7" } else { "8" }, "name": if n % 2 == 0 { "Ann" } else { "Bob" }, "avatar": null, "level": 3, "guest": false, "role": null},
                "parent_id": n.checked_sub(1).map(|p| &all[p]), "root_id": path[0], "path": path,
                "reply_to": replied_to.map(|m| json!({"id": m.id, "name": m.name})),
                "level": levels[n], "floor": floors[n], "content": n.to_string(), "html": format!("<p>{n}</p>\n"),
                "mentions": [], "media": [], "state": "published", "visibility": "everyone", "flags": [],
                "likes": 0, "dislikes": 0, "replies": 0, "created_at": comment["created_at"], "edited_at": null,
            });
            assert_eq!(origin.with_floor(comment).await, expected, "{mode} {n}");
            let below = if mode == "flat" { 0 } else { 4 - n };
            let now = origin.poll_comment(comment, |c| c["replies"] == below).await;
            assert_eq!(now["path"], expected["path"]);
            let walked = origin.walk_current(&subject, &format!("{}?sort=old&limit=1", replies_path(comment))).await;
            assert_eq!(ids(&walked), if mode == "flat" { &[][..] } else { &all[n + 1..] }, "{mode} {n}");
        }
        let page = origin.current_page(&subject, &comments_path(&subject)).await;
        assert_eq!(page["subject"]["mode"], mode);
        assert_eq!((&page["subject"]["roots"], &page["subject"]["comments"]), (&json!(roots), &json!(5)));
        assert_eq!(ids(comments_on(&page)).len(), roots);
    }
}

fn is_tombstone(comment: &Value) -> bool {
    let bare = json!({"author": null, "content": "", "html": "", "mentions": [], "state": "deleted"});
    bare.as_object().unwrap().iter().all(|(name, value)| comment[name] == *value)
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_comment_is_a_tombstone_while_a_reply_is_visible() {
    let origin = TestOrigin::start().await;
    let subject = "article/tombstones";
    let root = origin.post(&ann(), subject, "root").await;
    let a = origin
        .try_post(&bob(), subject, &json!({"content": "a", "parent_id": root["id"], "mentions": ["7"]}))
        .await
        .expect(201);
    let b = origin.reply(&ann(), &a, "b").await;
    let [root, a, b] = [origin.with_floor(&root).await, origin.with_floor(&a).await, origin.with_floor(&b).await];
    let counts = async || {
        let page = origin.current_page(subject, &comments_path(subject)).await;
        (page["subject"]["roots"].as_u64().unwrap(), page["subject"]["comments"].as_u64().unwrap())
    };
    let shown = async |path: String| {
        let page = origin.current_page(subject, &format!("{path}?sort=old")).await;
        comments_on(&page).iter().map(|c| (id(c).to_owned(), is_tombstone(c))).collect::<Vec<_>>()
    };
    let [root_id, a_id, b_id] = [&root, &a, &b].map(|c| id(c).to_owned());

    assert_eq!(origin.delete(&bob(), &a).await.status, 204);
    assert_eq!(origin.delete(&bob(), &a).await.status, 204);
    assert_eq!(
        (counts().await, shown(replies_path(&root)).await),
        ((1, 2), vec![(a_id.clone(), true), (b_id.clone(), false)])
    );
    let answer = origin.poll_comment(&b, |c| c["reply_to"].is_null()).await;
    assert_eq!((&answer["parent_id"], &answer["path"], &answer["floor"]), (&a["id"], &b["path"], &b["floor"]));
    let tombstone = origin.poll_comment(&a, is_tombstone).await;
    assert_eq!((&tombstone["floor"], &tombstone["path"], &tombstone["replies"]), (&a["floor"], &a["path"], &json!(1)));
    origin.poll_comment(&root, |c| c["replies"] == 1).await;

    assert_eq!(origin.delete(&ann(), &root).await.status, 204);
    assert_eq!((counts().await, shown(comments_path(subject)).await), ((0, 1), vec![(root_id.clone(), true)]));
    assert_eq!(origin.delete(&moderator(), &b).await.status, 204);
    assert_eq!(
        (counts().await, shown(comments_path(subject)).await, shown(replies_path(&root)).await),
        ((0, 0), vec![], vec![])
    );
    for comment in [&root, &a, &b] {
        origin.poll_comment(comment, is_tombstone).await;
    }

    // Restored from the bottom up, they have the same floors as before.
    origin.decide(&moderator(), &b, "restore").await.expect(200);
    assert_eq!((counts().await, shown(comments_path(subject)).await), ((0, 1), vec![(root_id.clone(), true)]));
    assert_eq!(shown(replies_path(&root)).await, vec![(a_id.clone(), true), (b_id.clone(), false)]);
    for comment in [&a, &root] {
        origin.decide(&moderator(), comment, "restore").await.expect(200);
    }
    assert_eq!((counts().await, shown(comments_path(subject)).await), ((1, 3), vec![(root_id, false)]));
    assert_eq!(origin.poll_comment(&b, |c| !c["reply_to"].is_null()).await, b);
    let again = origin.poll_comment(&a, |c| c["state"] == "published").await;
    assert_eq!((&again["content"], &again["mentions"], &again["floor"]), (&a["content"], &a["mentions"], &a["floor"]));

    // The owner of the subject may delete, too; a deleted root without replies is not listed.
    origin.put_subject(&admin(), subject, &json!({"owner_id": "99"})).await.expect(200);
    let alone = origin.post(&bob(), subject, "alone").await;
    assert_eq!(origin.delete(&owner(), &alone).await.status, 204);
    assert_eq!(counts().await, (1, 3));
    let next = origin.post(&bob(), subject, "next").await;
    assert_eq!(origin.with_floor(&next).await["floor"], 3, "a floor is never assigned twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn held_comment_gets_its_floor_when_it_is_approved() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("holdme", TermAction::Review), ("maskme", TermAction::Mask)]).await;
    let subject = "video/held";
    let root = origin.post(&ann(), subject, "root").await;
    let post = async |body: Value| origin.try_post(&bob(), subject, &body).await;
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
        assert_eq!(origin.get(&format!("/v1/comments/{}", id(comment))).await.status, 404);
    }
    assert_eq!(held["content"], "hold me: HOLDME");
    let pending = async |by: &TestMember| {
        let overlay = origin.overlay(by, &[]).await;
        ids(overlay["pending"].as_array().unwrap()).into_iter().collect::<BTreeSet<_>>()
    };
    assert_eq!(pending(&bob()).await, [&held, &held_reply, &own].map(|c| id(c).to_owned()).into());
    assert_eq!(pending(&ann()).await, BTreeSet::new());
    let before = origin.current_page(subject, &comments_path(subject)).await;
    assert_eq!((&before["subject"]["comments"], comments_on(&before).len()), (&json!(1), 1));

    let (between, reply) = (origin.post(&ann(), subject, "between").await, origin.reply(&ann(), &root, "reply").await);
    let (between, reply) = (origin.with_floor(&between).await, origin.with_floor(&reply).await);
    assert_eq!((&between["floor"], &reply["floor"]), (&json!(2), &json!(1)));
    let approved = origin.decide(&moderator(), &held, "approve").await.expect(200);
    assert_eq!(
        (&approved["floor"], &approved["state"], &approved["content"]),
        (&json!(3), &json!("published"), &held["content"])
    );
    assert_eq!(origin.decide(&moderator(), &held_reply, "reject").await.expect(200)["floor"], json!(null));
    let old = origin.walk_current(subject, &format!("{}?sort=old", comments_path(subject))).await;
    assert_eq!(ids(&old), ids(&[root.clone(), between, held.clone()]));
    assert_eq!(pending(&bob()).await, [id(&own).to_owned()].into());
    assert_eq!(origin.get(&format!("/v1/comments/{}", id(&held_reply))).await.status, 404);
    let approved = origin.decide(&moderator(), &held_reply, "approve").await.expect(200);
    assert_eq!((&approved["floor"], &approved["reply_to"]["id"]), (&json!(2), &json!("7")));

    // The floor survives hiding and restoring.
    assert_eq!(origin.decide(&moderator(), &held, "hide").await.expect(200)["state"], "hidden");
    assert_eq!(origin.walk_current(subject, &comments_path(subject)).await.len(), 2);
    assert_eq!(origin.decide(&moderator(), &held, "restore").await.expect(200)["floor"], 3);

    // A masked term is shown as asterisks everywhere.
    let masked = origin.post(&bob(), subject, "you Mask-me, MASKME!").await;
    assert_eq!(masked["content"], "you Mask-me, ******!");
    assert_eq!(origin.poll_comment(&masked, |_| true).await["html"], "<p>you Mask-me, ******!</p>\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_in_lists_have_their_three_hottest_replies() {
    let origin = TestOrigin::start().await;
    let subject = "article/top";
    let mut rng = StdRng::seed_from_u64(11);
    let mut roots = Vec::new();
    for n in 0..6 {
        let mut thread = vec![origin.post(&ann(), subject, "root").await];
        for _ in 0..n {
            let parent = thread[rng.random_range(0..thread.len())].clone();
            thread.push(origin.reply(&bob(), &parent, "reply").await);
        }
        for reply in &thread[1..] {
            for n in 0..rng.random_range(0..4) {
                origin.like(&member(100 + n), reply).await;
            }
            if rng.random_bool(0.3) {
                origin.delete(&bob(), reply).await;
            }
        }
        roots.push(thread.swap_remove(0));
    }
    for root in origin.walk_current(subject, &format!("{}?limit=2", comments_path(subject))).await {
        let hot = origin.walk_current(subject, &format!("{}?sort=hot", replies_path(&root))).await;
        let top = root["top_replies"].as_array().expect("a root in a list has top_replies");
        assert_eq!(ids(top), ids(&hot[..hot.len().min(3)]), "{}", id(&root));
        let visible = |all: &[Value]| all.iter().filter(|c| c["state"] == "published").count();
        assert_eq!(root["replies"], visible(&hot), "{}", id(&root));
        assert_eq!(root["more_replies"], visible(&hot) - visible(top), "{}", id(&root));
    }
    assert_eq!(roots.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_and_features_do_not_change_the_order() {
    let origin = TestOrigin::start().await;
    let subject = "article/pins";
    let mut all = Vec::new();
    for n in 0..12 {
        all.push(origin.post(&ann(), subject, &n.to_string()).await);
    }
    let reply = origin.reply(&bob(), &all[0], "reply").await;
    origin.put_subject(&admin(), subject, &json!({"owner_id": "99"})).await.expect(200);
    let owner = owner();
    let order = async || ids(&origin.walk_current(subject, &format!("{}?limit=5", comments_path(subject))).await);
    let pinned = async || {
        ids(origin.current_page(subject, &comments_path(subject)).await["subject"]["pinned"].as_array().unwrap())
    };
    let before = order().await;
    let by_moderator = origin.set_flag(&moderator(), "PUT", id(&all[3]), "pin").await.expect(200);
    assert_eq!(by_moderator["flags"], json!(["pinned"]));
    origin.advance(Duration::from_millis(1));
    let by_owner = origin.set_flag(&owner, "PUT", id(&reply), "pin").await.expect(200);
    assert_eq!(by_owner["flags"], json!(["pinned", "owner_pinned"]));
    assert_eq!((order().await, pinned().await), (before.clone(), ids(&[reply.clone(), all[3].clone()])));
    let featured = origin.decide(&moderator(), &all[3], "feature").await.expect(200);
    assert_eq!(featured["flags"], json!(["pinned", "featured"]));
    assert_eq!(origin.decide(&moderator(), &all[3], "unfeature").await.expect(200)["flags"], json!(["pinned"]));
    // A pinned comment that is deleted leaves the list of pins, and returns to it when it is restored.
    origin.delete(&bob(), &reply).await;
    assert_eq!(pinned().await, ids(&all[3..4]));
    origin.decide(&moderator(), &reply, "restore").await.expect(200);
    assert_eq!(pinned().await.len(), 2);
    origin.set_flag(&owner, "DELETE", id(&reply), "pin").await.expect(200);
    origin.set_flag(&owner, "DELETE", id(&reply), "pin").await.expect(200);
    for comment in &all[..10] {
        origin.set_flag(&moderator(), "PUT", id(comment), "pin").await.expect(200);
    }
    let full = origin.set_flag(&moderator(), "PUT", id(&all[11]), "pin").await.expect(400);
    assert_eq!(full["errors"][0]["field"], "id");
    assert_eq!((order().await, pinned().await.len()), (before, 10));
}
