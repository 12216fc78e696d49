//! What belongs to a member: the export of it, and its erasure.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use gailou::jobs::end_members::SETTLE_MS;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::token::Role;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{
    TestMember, TestOrigin, ann, bob, comments_path, id, ids, member, moderator, poll_until, replies_path,
};
use serde_json::{Value, json};

/// A name and texts that are nowhere else.
const NAME: &str = "Annabel Quizzlewhit";
const TEXTS: [&str; 4] = ["thunderclap root", "snapdragon first text", "quagmire typed", "moonquake held"];

fn annabel() -> TestMember {
    TestMember::new(7, NAME, Role::Member)
}

async fn export(origin: &TestOrigin, by: &TestMember) -> Value {
    origin.wait_until_persisted().await;
    let answer = origin.request("GET /v1/me/export").by(by).send().await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    assert!(answer.header("content-disposition").starts_with("attachment"));
    answer.expect(200)
}

async fn erase(origin: &TestOrigin, by: &TestMember) {
    origin.request("DELETE /v1/me").by(by).send().await.expect(204);
}

/// Waits until nothing is left to do for any erasure. The last pass is due by then.
async fn wait_until_erased(origin: &TestOrigin) {
    origin.advance(Duration::from_millis(SETTLE_MS));
    let unfinished = || async { origin.app.tables.list_unfinished_ends(10).await.expect("the tables answer") };
    assert_eq!(poll_until(unfinished, Vec::is_empty).await, []);
}

fn number(comment: &Value) -> CommentId {
    id(comment).parse().expect("an id")
}

#[tokio::test(flavor = "multi_thread")]
async fn export_has_everything_of_its_member() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("quagmire", TermAction::Mask), ("moonquake", TermAction::Review)]).await;
    let (ann, bob) = (annabel(), bob());
    let empty = export(&origin, &ann).await;
    let of_ann = json!({
        "id": "7", "name": NAME, "avatar": null, "level": 3, "role": "member", "guest": false, "muted_until": null,
        "friends": [], "email": null, "notify": "never", "language": null, "account_since": null,
    });
    let nothing = json!({
        "member": of_ann, "comments": [], "reactions": [], "reports": [], "rejected": [], "notifications": [],
        "watches": [],
    });
    assert_eq!(empty, nothing);

    let mut comments = vec![];
    for n in 0..23 {
        comments.push(origin.post(&ann, &format!("article/{}", n % 3), &format!("text {n}")).await);
    }
    let edited = comments[3].clone();
    for text in ["second", "third"] {
        origin.edit(&ann, &edited, text).await.expect(200);
    }
    let masked = origin.post(&ann, "article/9", TEXTS[2]).await;
    let held = origin.try_post(&ann, "article/9", &json!({"content": TEXTS[3]})).await.expect(202);
    let own = json!({"content": "for me", "visibility": "self"});
    let own = origin.try_post(&ann, "article/9", &own).await.expect(201);
    comments.extend([masked.clone(), held.clone(), own]);
    origin.delete(&ann, &comments[4]).await.expect(204);
    let theirs = origin.post(&bob, "article/9", "of Bob").await;
    origin.like(&ann, &theirs).await;
    origin.like(&bob, &theirs).await;
    origin.set_flag(&ann, "PUT", id(&comments[0]), "dislike").await.expect(200);

    let data = export(&origin, &ann).await;
    let mut expected: Vec<u64> = comments.iter().map(|comment| number(comment).get()).collect();
    expected.sort_unstable();
    let found: Vec<u64> = ids(data["comments"].as_array().unwrap()).iter().map(|id| id.parse().unwrap()).collect();
    assert_eq!(found, expected);
    let of = |comment: &Value| {
        let list = data["comments"].as_array().unwrap();
        list.iter().find(|c| c["id"] == comment["id"]).unwrap().clone()
    };
    assert_eq!(of(&edited)["content"], "third");
    let texts: Vec<_> = of(&edited)["history"].as_array().unwrap().iter().map(|t| t["content"].clone()).collect();
    assert_eq!(texts, ["text 3", "second"]);
    assert_eq!((of(&masked)["written"].clone(), of(&masked)["history"].clone()), (json!(TEXTS[2]), json!([])));
    assert_eq!((of(&held)["state"].clone(), of(&held)["content"].clone()), (json!("review"), json!(TEXTS[3])));
    assert_eq!(
        (of(&comments[4])["state"].clone(), of(&comments[4])["content"].clone()),
        (json!("deleted"), json!("text 4"))
    );
    let reactions = [(&comments[0], "dislike"), (&theirs, "like")];
    let reactions = reactions.map(|(comment, reaction)| json!({"comment_id": comment["id"], "reaction": reaction}));
    let mut found = data["reactions"].as_array().unwrap().clone();
    assert!(found.is_sorted_by_key(|r| r["comment_id"].as_str().unwrap().parse::<u64>().unwrap()));
    found.sort_by_key(|r| reactions.iter().position(|expected| expected == r));
    assert_eq!(found, reactions);

    let guest = origin.register_guest("Gus").await;
    origin.post(&guest, "article/9", "of Gus").await;
    let data = export(&origin, &guest).await;
    assert_eq!(
        (data["member"]["guest"].clone(), data["comments"][0]["content"].clone()),
        (json!(true), json!("of Gus"))
    );
    origin.get("/v1/me/export").await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_of_a_member_are_limited() {
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.exports_per_hour_member = 2;
    })
    .await;
    for expected in [200, 200, 429] {
        assert_eq!(origin.request("GET /v1/me/export").by(&ann()).send().await.status, expected);
    }
    assert_eq!(origin.request("GET /v1/me/export").by(&bob()).send().await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn export_does_not_go_beyond_its_places() {
    let origin = TestOrigin::start().await;
    let places = origin.app.exports.clone().acquire_many_owned(4).await.unwrap();
    let refused = origin.request("GET /v1/me/export").by(&ann()).try_send().await.unwrap();
    assert_eq!((refused.status, refused.json["code"].as_str()), (503, Some("overloaded")));
    drop(places);
    origin.request("GET /v1/me/export").by(&ann()).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_member_leaves_tombstones_and_no_name() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("quagmire", TermAction::Mask), ("moonquake", TermAction::Review)]).await;
    let (ann, bob) = (annabel(), bob());
    let root = origin.post(&ann, "article/1", TEXTS[0]).await;
    let edited = origin.post(&ann, "article/1", TEXTS[1]).await;
    origin.with_floor(&edited).await;
    origin.edit(&ann, &edited, "changed").await.expect(200);
    let masked = origin.post(&ann, "article/1", TEXTS[2]).await;
    let held = origin.try_post(&ann, "article/1", &json!({"content": TEXTS[3]})).await.expect(202);
    let answer = origin.reply(&bob, &root, "an answer").await;
    assert_eq!(origin.get(&format!("/v1/comments/{}", id(&answer))).await.expect(200)["reply_to"]["name"], NAME);
    let mentioning = json!({"content": "look", "mentions": ["7", "8"]});
    let mentioning = origin.try_post(&bob, "article/2", &mentioning).await.expect(201);
    assert_eq!(mentioning["mentions"][0], json!({"id": "7", "name": NAME}));
    origin.like(&ann, &answer).await;
    origin.wait_until_persisted().await;

    erase(&origin, &ann).await;
    // Its tokens are refused at once.
    let post = origin.try_post(&ann, "article/1", &json!({"content": "again"})).await;
    assert_eq!((post.status, post.json["code"].as_str()), (401, Some("token_invalid")), "{}", post.text);
    for line in ["DELETE /v1/me", "GET /v1/me/export", "GET /v1/me/overlay?ids="] {
        assert_eq!(origin.request(line).by(&ann).send().await.status, 401, "{line}");
    }
    // Every read of it is without the name and the texts, and stays so.
    let shows_nothing = |text: &str| !text.contains(NAME) && TEXTS.iter().all(|secret| !text.contains(secret));
    let mut paths = vec![
        comments_path("article/1"),
        comments_path("article/2"),
        replies_path(&root),
        "/t/article/1".into(),
        "/t/article/2".into(),
        "/v1/members/7/comments".into(),
        "/v1/members/8/comments".into(),
    ];
    for comment in [&root, &edited, &masked, &held, &answer, &mentioning] {
        let path = format!("/v1/comments/{}", id(comment));
        paths.extend(["", "/tree", "/ancestors", "/context"].map(|rest| format!("{path}{rest}")));
    }
    for path in &paths {
        let shown = poll_until(|| origin.get(path), |answer| shows_nothing(&answer.text)).await;
        assert!(shows_nothing(&shown.text), "{path}: {}", shown.text);
    }
    wait_until_erased(&origin).await;
    for path in &paths {
        let shown = poll_until(|| origin.get(path), |answer| shows_nothing(&answer.text)).await;
        assert!(shows_nothing(&shown.text), "{path}: {}", shown.text);
    }
    // What others wrote stays, with its counts.
    let tombstone = origin.get(&format!("/v1/comments/{}", id(&root))).await.expect(200);
    assert_eq!(
        (&tombstone["state"], &tombstone["author"], &tombstone["replies"]),
        (&json!("deleted"), &Value::Null, &json!(1))
    );
    let answer = origin.get(&format!("/v1/comments/{}", id(&answer))).await.expect(200);
    assert_eq!(
        (&answer["content"], &answer["reply_to"], &answer["likes"]),
        (&json!("an answer"), &Value::Null, &json!(1))
    );
    let mentions = origin.get(&format!("/v1/comments/{}", id(&mentioning))).await.expect(200)["mentions"].clone();
    assert_eq!(mentions, json!([mentioning["mentions"][1]]));
    // No decision brings it back, and no mention has the name again.
    for action in ["restore", "approve", "feature"] {
        assert_eq!(origin.decide(&moderator(), &root, action).await.status, 404, "{action}");
    }
    let again = json!({"content": "look", "mentions": ["7"]});
    let again = origin.try_post(&bob, "article/2", &again).await.expect(201);
    assert_eq!(again["mentions"][0]["name"], "");

    // In the tables nothing is left of it either.
    let ids: Vec<_> = [&root, &edited, &masked, &held].map(number).into();
    let rows = origin.app.tables.read_comments(&ids).await.unwrap();
    assert!(rows.len() == 4 && rows.values().all(gailou::domain::row::CommentRow::is_erased), "{rows:#?}");
    for id in ids {
        assert_eq!(origin.app.tables.read_other_texts(id).await.unwrap(), Default::default());
    }
    let rows = origin.app.tables.read_comments(&[number(&answer), number(&mentioning)]).await.unwrap();
    assert!(!format!("{rows:?}").contains(NAME), "{rows:#?}");
    let member = MemberId::new(7).unwrap();
    assert!(origin.app.tables.read_names(&[member]).await.unwrap().is_empty());
    if !origin.is_in_cluster() {
        for file in std::fs::read_dir(&origin.app.config.data).unwrap() {
            let path = file.unwrap().path();
            let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { vec![] };
            for secret in TEXTS.iter().chain([&NAME]) {
                let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "{} contains {secret:?}", path.display());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_reaches_the_change_feed_and_the_counts() {
    let origin = TestOrigin::start().await;
    let (ann, bob) = (ann(), bob());
    let root = origin.post(&bob, "article/1", "of Bob").await;
    let reply = origin.reply(&ann, &root, "of Ann").await;
    let mentioning = json!({"content": "look", "mentions": ["7"]});
    let mentioning = origin.try_post(&bob, "article/1", &mentioning).await.expect(201);
    origin.wait_until_persisted().await;
    erase(&origin, &ann).await;
    let changed = || async {
        let mut changed = vec![];
        for database in 0..origin.app.change_feed.databases() {
            changed.extend(
                origin.app.tables.read_changes(database, 0, 100).await.unwrap().into_iter().filter_map(|row| row.id),
            );
        }
        changed.sort_unstable();
        changed
    };
    let mut expected = vec![number(&reply), number(&mentioning)];
    expected.sort_unstable();
    assert_eq!(poll_until(changed, |found| *found == expected).await, expected);
    let subject = origin.current_page("article/1", &comments_path("article/1")).await["subject"].clone();
    assert_eq!((subject["comments"].clone(), subject["roots"].clone()), (json!(2), json!(2)));
    assert_eq!(origin.get(&format!("/v1/comments/{}", id(&root))).await.expect(200)["replies"], 0);
}

/// Half of a large history is in one subject, the other half in subjects of its own.
#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_erased_comments_are_in_the_change_feed_soon() {
    const COMMENTS: usize = 2_000;
    let origin = TestOrigin::start().await;
    let busy = member(77);
    let began = Instant::now();
    let posts = stream::iter(0..COMMENTS).map(|n| {
        let (origin, busy) = (&origin, &busy);
        let subject = if n.is_multiple_of(2) { "article/large".into() } else { format!("article/{n}") };
        async move { number(&origin.post(busy, &subject, &format!("text {n}")).await) }
    });
    let comments: Vec<_> = posts.buffer_unordered(32).collect().await;
    origin.wait_until_persisted().await;
    let posted_in = began.elapsed();
    erase(&origin, &busy).await;
    let erased_at = Instant::now();
    // What the edge reads.
    let count_rows = || async { origin.get("/v1/edge/changes").await.json["rows"].as_array().map_or(0, Vec::len) };
    assert_eq!(poll_until(count_rows, |rows| *rows == COMMENTS).await, COMMENTS);
    let taken = erased_at.elapsed();
    // With a transaction for each comment it would take longer than to post them.
    assert!(taken < posted_in, "it took {taken:?}, and {posted_in:?} to post them");
    let rows = origin.app.tables.read_comments(&comments).await.unwrap();
    assert!(rows.len() == COMMENTS && rows.values().all(gailou::domain::row::CommentRow::is_erased));
    let history = origin.get("/v1/members/77/comments").await.expect(200);
    assert_eq!(history["data"], json!([]));
    let subject = origin.current_page("article/large", &comments_path("article/large")).await["subject"].clone();
    assert_eq!(subject["comments"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_erasure_goes_on_after_a_restart() {
    let mut origin = TestOrigin::start().await;
    let busy = member(77);
    let mut comments = vec![];
    for n in 0..300 {
        comments.push(number(&origin.post(&busy, &format!("article/{}", n % 7), &format!("text {n}")).await));
    }
    origin.wait_until_persisted().await;
    erase(&origin, &busy).await;
    origin.restart().await;
    // The next process knows from its first request on.
    assert_eq!(origin.request("DELETE /v1/me").by(&busy).send().await.status, 401);
    let left = || async {
        let rows = origin.app.tables.read_comments(&comments).await.unwrap();
        rows.values().filter(|row| !row.is_erased()).count()
    };
    assert_eq!(poll_until(left, |left| *left == 0).await, 0);
    wait_until_erased(&origin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_is_erased_like_a_member() {
    let origin = TestOrigin::start().await;
    let guest = origin.register_guest("Gus Gooseberry").await;
    let comment = origin.post(&guest, "article/1", "of Gus").await;
    origin.wait_until_persisted().await;
    erase(&origin, &guest).await;
    assert_eq!(origin.try_post(&guest, "article/1", &json!({"content": "again"})).await.status, 401);
    wait_until_erased(&origin).await;
    let row = origin.app.tables.read_comments(&[number(&comment)]).await.unwrap().remove(&number(&comment)).unwrap();
    assert!(row.is_erased());
}
