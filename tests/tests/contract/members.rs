//! What a member has: a history, an overlay, edits, mentions; and guests, who register themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{
    TestMember, TestOrigin, admin, ann, bob, comments_on, id, ids, moderator, owner, poll_until, with_cursor,
};
use serde_json::{Value, json};

/// How long an author may edit a comment.
const EDIT_WINDOW: Duration = Duration::from_secs(15 * 60);

#[tokio::test(flavor = "multi_thread")]
async fn member_history_is_walked_newest_first_and_shows_each_comment_once() {
    let origin = TestOrigin::start().await;
    let mut own = Vec::new();
    for n in 0..30 {
        let kind = ["post", "video", "article"][n % 3];
        own.push(origin.post(&ann(), &format!("{kind}/{}", n % 4), &n.to_string()).await);
        origin.post(&bob(), "post/1", "of another member").await;
        // A history is ordered by id, and ids of one millisecond by the slot of their subject.
        origin.advance(Duration::from_millis(1));
    }
    origin.try_post(&ann(), "post/1", &json!({"content": "own", "visibility": "self"})).await.expect(201);
    for comment in own.iter().skip(3).step_by(7) {
        origin.delete(&ann(), comment).await;
    }
    let kept: Vec<Value> = (0..30).filter(|n| n % 7 != 3).rev().map(|n| own[n].clone()).collect();
    let path = "/v1/members/7/comments?limit=4";
    let is_complete = |page: &Value| ids(comments_on(page)) == ids(&kept[..4]);
    let first = poll_until(|| origin.page(path), is_complete).await;
    assert!(first.get("subject").is_none(), "a history is not about one subject: {first}");
    // A comment that is posted during the walk does not move it.
    let next = first["page"]["next"].as_str().unwrap();
    origin.post(&ann(), "post/9", "later").await;
    let rest = origin.walk(&with_cursor(path, next)).await;
    assert_eq!(ids(&rest), ids(&kept[4..]));
    assert_eq!(origin.walk("/v1/members/12345/comments").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn overlay_of_400_comments_has_own_reactions_and_permissions() {
    let origin = TestOrigin::start().await;
    let post = |n: u64| {
        let origin = &origin;
        async move { origin.post(&if n.is_multiple_of(2) { ann() } else { bob() }, "article/overlay", "x").await }
    };
    let all: Vec<Value> = stream::iter(0..400u64).map(post).buffered(16).collect().await;
    let mut expected = serde_json::Map::new();
    for (n, comment) in all.iter().enumerate() {
        let reaction = match n % 5 {
            0 => Some("like"),
            1 => Some("dislike"),
            _ => None,
        };
        if let Some(reaction) = reaction {
            origin.set_flag(&ann(), "PUT", id(comment), reaction).await.expect(200);
        }
        // Reactions of another member do not appear in the overlay.
        if n % 3 == 0 {
            origin.set_flag(&bob(), "PUT", id(comment), "like").await.expect(200);
        }
        let own = n % 2 == 0;
        expected.insert(id(comment).into(), json!({"reaction": reaction, "can_edit": own, "can_delete": own}));
    }
    let overlay = async |by: &TestMember, ids: &[String]| {
        origin.request(&format!("GET /v1/me/overlay?ids={}", ids.join(","))).by(by).send().await
    };
    let answer = overlay(&ann(), &ids(&all)).await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    assert_eq!(answer.expect(200), json!({"data": expected, "pending": []}));
    // Unknown ids are left out, and an empty list is allowed.
    assert_eq!(overlay(&ann(), &["1".into(), "9223372036854775807".into()]).await.expect(200)["data"], json!({}));
    assert_eq!(overlay(&ann(), &[]).await.expect(200)["data"], json!({}));
    // The role and the age of the comment decide who may edit and delete.
    origin.put_subject(&admin(), "article/overlay", &json!({"owner_id": "99"})).await.expect(200);
    let permissions = async |by: TestMember| {
        let answer = overlay(&by, &ids(&all[..1])).await.expect(200);
        let own = &answer["data"][id(&all[0])];
        (own["can_edit"].as_bool().unwrap(), own["can_delete"].as_bool().unwrap())
    };
    let owner = owner();
    assert_eq!(
        (permissions(bob()).await, permissions(moderator()).await, permissions(owner).await),
        ((false, false), (false, true), (false, true))
    );
    origin.advance(EDIT_WINDOW);
    assert_eq!(permissions(ann()).await, (false, true));
    origin.delete(&ann(), &all[0]).await;
    assert_eq!(permissions(ann()).await, (false, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn edit_sets_the_flag_and_time_and_ends_after_15_minutes() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), "post/1", "first").await;
    let comment = origin.with_floor(&comment).await;
    origin.like(&bob(), &comment).await;
    let mut last_edited_at = 0;
    for text in ["second", "**third**"] {
        origin.advance(Duration::from_secs(60));
        let edited = origin.edit(&ann(), &comment, text).await.expect(200);
        assert_eq!(
            (&edited["content"], &edited["flags"], &edited["likes"]),
            (&json!(text), &json!(["edited"]), &json!(1))
        );
        assert_eq!((&edited["floor"], &edited["created_at"]), (&comment["floor"], &comment["created_at"]));
        assert!(edited["edited_at"].as_u64().unwrap() > last_edited_at);
        last_edited_at = edited["edited_at"].as_u64().unwrap();
        assert_eq!(origin.poll_comment(&comment, |c| c["content"] == text).await, edited);
    }
    let last_millisecond = EDIT_WINDOW - Duration::from_secs(2 * 60) - Duration::from_millis(1);
    origin.advance(last_millisecond);
    origin.edit(&ann(), &comment, "in the last millisecond").await.expect(200);
    origin.advance(Duration::from_millis(1));
    assert_eq!(origin.edit(&ann(), &comment, "too late").await.expect(409)["code"], "edit_window_over");
}

#[tokio::test(flavor = "multi_thread")]
async fn mentions_are_members_by_id_with_their_last_known_name() {
    let origin = TestOrigin::start().await;
    origin.post(&bob(), "post/1", "makes the name known").await;
    origin.wait_until_persisted().await;
    let body = json!({"content": "@9 @Bob", "mentions": ["8", "12345", "8"]});
    let comment = origin.try_post(&ann(), "post/1", &body).await.expect(201);
    assert_eq!(comment["mentions"], json!([{"id": "8", "name": "Bob"}, {"id": "12345", "name": ""}]));
    assert_eq!(origin.page(&format!("/v1/comments/{}", id(&comment))).await["mentions"], comment["mentions"]);
    let twenty: Vec<_> = (1..=20).map(|n| n.to_string()).collect();
    let comment = origin.try_post(&ann(), "post/1", &json!({"content": "x", "mentions": twenty})).await.expect(201);
    assert_eq!(comment["mentions"].as_array().unwrap().len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_have_ids_of_their_own_and_edit_only_their_comments() {
    let origin = TestOrigin::start().await;
    let (one, two) = (origin.register_guest("  visitor ").await, origin.register_guest("visitor").await);
    assert_eq!((one.name.as_str(), two.name.as_str()), ("visitor", "visitor"));
    let all: BTreeSet<u64> = [&one, &two].map(|g| g.id.parse().unwrap()).into();
    assert!(all.len() == 2 && all.iter().all(|id| (1 << 62..3 << 61).contains(id)), "{all:?}");
    let comment = origin.post(&one, "article/guests", "x").await;
    assert_eq!(
        comment["author"],
        json!({"id": one.id, "name": "visitor", "avatar": null, "level": 0, "guest": true, "role": null})
    );
    origin.like(&two, &comment).await;
    origin.edit(&one, &comment, "y").await.expect(200);
    assert_eq!(origin.edit(&two, &comment, "z").await.status, 403);
    assert_eq!(origin.delete(&two, &comment).await.status, 403);
    assert_eq!(origin.delete(&one, &comment).await.status, 204);
}
