//! A guest who signs in: what the guest wrote and liked is the member's.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gailou::jobs::end_members::SETTLE_MS;
use gailou_shared::id::MemberId;
use gailou_shared::token::Role;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{
    ApiResponse, TestMember, TestOrigin, admin, ann, bob, comments_path, id, ids, moderator, poll_until,
};
use image::ImageFormat;
use serde_json::{Value, json};

use crate::media::{encoded, upload};
use crate::sign_in::{MailBed, SignedIn};

/// A name that is nowhere else.
const GUEST_NAME: &str = "Gus Gooseberry";

async fn try_merge(origin: &TestOrigin, by: &TestMember, guest_token: &str) -> ApiResponse {
    origin.request("POST /v1/me/merge").by(by).json(&json!({"guest_token": guest_token})).send().await
}

async fn merge(origin: &TestOrigin, by: &TestMember, guest: &TestMember) -> Value {
    let answer = try_merge(origin, by, &guest.token).await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    answer.expect(200)
}

/// Waits until nothing is left to do for any merge or erasure. The last pass is due by then.
async fn wait_until_finished(origin: &TestOrigin) {
    origin.advance(Duration::from_millis(SETTLE_MS));
    let unfinished = || async { origin.app.tables.list_unfinished_ends(10).await.expect("the tables answer") };
    assert_eq!(poll_until(unfinished, Vec::is_empty).await, []);
}

async fn history(origin: &TestOrigin, member: &str) -> Vec<String> {
    ids(origin.page(&format!("/v1/members/{member}/comments")).await["data"].as_array().unwrap())
}

async fn export(origin: &TestOrigin, by: &TestMember) -> Value {
    origin.request("GET /v1/me/export").by(by).send().await.expect(200)
}

#[track_caller]
fn assert_refused_field(answer: &ApiResponse) {
    let shown = (answer.status, answer.json["code"].as_str(), answer.json["errors"][0]["field"].as_str());
    assert_eq!(shown, (400, Some("invalid_request"), Some("guest_token")), "{}", answer.text);
}

/// The members that the export of the tables and every public page name.
async fn names(origin: &TestOrigin, comment: &Value) -> String {
    let path = format!("/v1/comments/{}", id(comment));
    let mut shown = String::new();
    for rest in ["", "/tree", "/ancestors", "/context", "/replies"] {
        shown += &origin.page(&format!("{path}{rest}")).await.to_string();
    }
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn post_that_a_guest_sent_is_no_second_one_when_the_member_sends_it_again() {
    let origin = TestOrigin::start().await;
    let (guest, ann) = (origin.register_guest(GUEST_NAME).await, ann());
    let send = async |by: &TestMember, key: char| {
        let post = origin.request(&format!("POST {}", comments_path("article/1"))).by(by);
        post.idempotency_key(&key.to_string().repeat(32)).json(&json!({"content": "once"})).send().await
    };
    let first = send(&guest, '1').await.expect(201);
    merge(&origin, &ann, &guest).await;
    let again = send(&ann, '1').await;
    assert_eq!((again.status, id(&again.json)), (201, id(&first)), "{}", again.text);
    assert_ne!(id(&send(&ann, '2').await.expect(201)), id(&first));
    origin.wait_until_persisted().await;
    assert_eq!(origin.current_page("article/1", &comments_path("article/1")).await["subject"]["comments"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_wrote_and_liked_is_the_members() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("moonquake", TermAction::Review)]).await;
    let (guest, ann, bob) = (origin.register_guest(GUEST_NAME).await, ann(), bob());
    let theirs = [
        origin.post(&bob, "article/1", "one").await,
        origin.post(&bob, "article/1", "two").await,
        origin.post(&bob, "article/1", "three").await,
    ];
    let root = origin.post(&guest, "article/1", "of the guest").await;
    let reply = origin.reply(&guest, &theirs[0], "an answer of the guest").await;
    let held = origin.try_post(&guest, "article/2", &json!({"content": "moonquake"})).await.expect(202);
    let own = json!({"content": "for the guest", "visibility": "self"});
    let own = origin.try_post(&guest, "article/2", &own).await.expect(201);
    let answer = origin.reply(&bob, &root, "an answer").await;
    // The name of who has written is known a little later.
    let written = [&guest, &bob].map(|member| MemberId::new(member.id.parse().unwrap()).unwrap());
    let known = || async { origin.app.store.read_names(&written).await.expect("the store answers") };
    poll_until(known, |names| names.len() == written.len()).await;
    let mentioning = json!({"content": "look", "mentions": [guest.id, "8"]});
    let mentioning = origin.try_post(&bob, "article/2", &mentioning).await.expect(201);
    let both = json!({"content": "look", "mentions": ["7", guest.id]});
    let both = origin.try_post(&bob, "article/2", &both).await.expect(201);
    assert_eq!(mentioning["mentions"][0], json!({"id": guest.id, "name": GUEST_NAME}));
    // The member has reacted to one of two already, and otherwise.
    origin.like(&guest, &theirs[0]).await;
    origin.set_flag(&guest, "PUT", id(&theirs[1]), "dislike").await.expect(200);
    origin.like(&ann, &theirs[1]).await;
    origin.like(&guest, &theirs[2]).await;
    origin.like(&ann, &theirs[2]).await;
    origin.wait_until_persisted().await;

    let me = merge(&origin, &ann, &guest).await;
    assert_eq!((&me["id"], &me["guest"]), (&json!("7"), &json!(false)));
    // The guest's token is refused at once; to say it again changes nothing.
    for line in ["GET /v1/me", "GET /v1/me/overlay?ids=", "GET /v1/me/export", "DELETE /v1/me"] {
        let refused = origin.request(line).by(&guest).send().await;
        assert_eq!((refused.status, refused.json["code"].as_str()), (401, Some("token_invalid")), "{line}");
    }
    let post = origin.try_post(&guest, "article/1", &json!({"content": "again"})).await;
    assert_eq!(post.status, 401, "{}", post.text);
    origin.request("PATCH /v1/guests/me").by(&guest).json(&json!({"name": "Bo"})).send().await.expect(401);
    merge(&origin, &ann, &guest).await;

    // So few are moved before the answer.
    origin.wait_until_persisted().await;
    let author = json!({"id": "7", "name": "Ann", "avatar": null, "level": 3, "guest": false, "role": null});
    for comment in [&root, &reply] {
        let shown = origin.poll_comment(comment, |shown| shown["author"] == author).await;
        assert_eq!((&shown["content"], &shown["floor"].is_u64()), (&comment["content"], &true));
    }
    origin.poll_comment(&answer, |shown| shown["reply_to"] == json!({"id": "7", "name": "Ann"})).await;
    let mentions = json!([{"id": "7", "name": "Ann"}, {"id": "8", "name": "Bob"}]);
    origin.poll_comment(&mentioning, |shown| shown["mentions"] == mentions).await;
    // Whose name was not known when it was written.
    origin.poll_comment(&both, |shown| shown["mentions"] == json!([{"id": "7", "name": ""}])).await;
    let counts = |comment: &Value| (comment["likes"].clone(), comment["dislikes"].clone());
    for (comment, expected) in theirs.iter().zip([(1, 0), (1, 0), (1, 0)]) {
        let expected = (json!(expected.0), json!(expected.1));
        origin.poll_comment(comment, |shown| counts(shown) == expected).await;
    }
    let of_ann = [&root, &reply, &held, &own].map(|comment| id(comment).to_owned());
    let overlay = origin.overlay(&ann, &theirs.iter().chain([&root]).map(id).collect::<Vec<_>>()).await;
    for comment in &theirs {
        assert_eq!(overlay["data"][id(comment)]["reaction"], "like");
    }
    assert_eq!(overlay["data"][id(&root)], json!({"reaction": null, "can_edit": true, "can_delete": true}));
    let mut pending = ids(overlay["pending"].as_array().unwrap());
    pending.sort_unstable();
    let mut expected = [id(&held), id(&own)];
    expected.sort_unstable();
    assert_eq!(pending, expected);

    // History and export are the member's, and the guest's are empty.
    let mut expected = vec![id(&reply).to_owned(), id(&root).to_owned()];
    expected.sort_unstable_by_key(|id| std::cmp::Reverse(id.parse::<u64>().unwrap()));
    assert_eq!(poll_until(|| history(&origin, "7"), |found| *found == expected).await, expected);
    assert_eq!(poll_until(|| history(&origin, &guest.id), Vec::is_empty).await, [""; 0]);
    let data = export(&origin, &ann).await;
    let mut exported = ids(data["comments"].as_array().unwrap());
    exported.sort_unstable();
    let mut expected = of_ann.to_vec();
    expected.sort_unstable();
    assert_eq!(exported, expected);
    assert_eq!(data["reactions"].as_array().unwrap().len(), 3);

    // The member edits and deletes what the guest wrote, and a moderator decides about what is held as theirs.
    assert_eq!(origin.edit(&ann, &root, "of Ann").await.expect(200)["content"], "of Ann");
    origin.delete(&ann, &reply).await.expect(204);
    assert_eq!(origin.decide(&moderator(), &held, "approve").await.expect(200)["author"], author);
    wait_until_finished(&origin).await;
    assert!(!names(&origin, &root).await.contains(GUEST_NAME));
    assert!(!origin.export_tables().await.contains(GUEST_NAME));
}

#[tokio::test(flavor = "multi_thread")]
async fn account_without_a_name_gets_that_of_the_guest() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let guest = origin.register_guest(GUEST_NAME).await;
    let root = origin.post(&guest, "article/1", "of the guest").await;
    let SignedIn { member: gus, .. } = bed.sign_in("gus@example.com").await;
    assert_eq!((&*gus.name, &merge(origin, &gus, &guest).await["name"]), ("", &json!(GUEST_NAME)));
    let written_by = |by: &TestMember, name: &str| (json!(by.id), json!(name));
    let author = |shown: &Value| (shown["author"]["id"].clone(), shown["author"]["name"].clone());
    origin.poll_comment(&root, |shown| author(shown) == written_by(&gus, GUEST_NAME)).await;
    // Another guest's does not replace it, also while the token is that of before.
    let other = origin.register_guest("Guy").await;
    let root = origin.post(&other, "article/1", "of another guest").await;
    assert_eq!(merge(origin, &gus, &other).await["name"], GUEST_NAME);
    origin.poll_comment(&root, |shown| author(shown) == written_by(&gus, GUEST_NAME)).await;
    assert_eq!(bed.sign_in("gus@example.com").await.member.name, GUEST_NAME);
    // What is written has the name that was chosen last, and one's own former name is free.
    for name in ["Goose", GUEST_NAME] {
        origin.request("PATCH /v1/me").by(&gus).json(&json!({"name": name})).send().await.expect(200);
        assert_eq!(origin.post(&gus, "article/1", name).await["author"]["name"], name);
        origin.wait_until_persisted().await;
    }
    assert_eq!(export(origin, &gus).await["member"]["name"], GUEST_NAME);
    // One that is refused by now stays with what was written under it.
    let guest = origin.register_guest("Moonquake").await;
    let root = origin.post(&guest, "article/1", "of a third guest").await;
    origin.load_terms(&[("moonquake", TermAction::Block)]).await;
    let SignedIn { member: bo, .. } = bed.sign_in("bo@example.com").await;
    assert_eq!(merge(origin, &bo, &guest).await["name"], "");
    origin.poll_comment(&root, |shown| author(shown) == written_by(&bo, "Moonquake")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reaches_the_guest_after_the_merge_is_the_members() {
    let files = tempfile::tempdir().unwrap();
    let url = format!("file://{}", files.path().display());
    let origin = TestOrigin::start_with(|config| config.media.url = Some(url)).await;
    origin.load_terms(&[("casino", TermAction::Block)]).await;
    let (guest, ann) = (origin.register_guest(GUEST_NAME).await, ann());
    let theirs = origin.post(&bob(), "article/1", "of Bob").await;
    let report = origin.request(&format!("POST /v1/comments/{}/reports", id(&theirs))).by(&guest);
    report.json(&json!({"reason": "spam", "note": "of the guest"})).send().await.expect(202);
    origin.try_post(&guest, "article/1", &json!({"content": "my casino"})).await.expect(422);
    let file = encoded(&crate::media::picture(40, 20), ImageFormat::Png);
    let picture = upload(&origin, &guest, &file, None).await.expect(201);
    let refused = || async {
        let page = origin.request("GET /v1/admin/rejected").by(&moderator()).send().await.expect(200);
        page["data"][0].clone()
    };
    let refused = poll_until(refused, |entry| entry["content"] == "my casino").await;
    merge(&origin, &ann, &guest).await;
    wait_until_finished(&origin).await;

    // A picture that was uploaded before, a mention by a page that was loaded before, a text that is accepted now.
    let body = json!({"content": "with the picture", "media": [picture["id"]]});
    origin.try_post(&ann, "article/1", &body).await.expect(201);
    let mentioning = json!({"content": "look", "mentions": [guest.id, "7"]});
    let mentioning = origin.try_post(&bob(), "article/1", &mentioning).await.expect(201);
    assert_eq!(ids(mentioning["mentions"].as_array().unwrap()), ["7"]);
    let notified = || async { origin.request("GET /v1/me/notifications").by(&ann).send().await.expect(200) };
    // The list and the count are read one after the other.
    let notified = poll_until(notified, |page| page["unread"] == 1 && page["data"][0].is_object()).await;
    assert_eq!(notified["data"][0]["kind"], "mention", "{notified}");
    let accept = format!("POST /v1/admin/rejected/{}/accept", id(&refused));
    let accepted = origin.request(&accept).by(&moderator()).send().await.expect(200);
    assert_eq!((&accepted["author"]["id"], &accepted["author"]["name"]), (&json!("7"), &json!("Ann")));
    origin.wait_until_persisted().await;
    origin.delete(&ann, &accepted).await.expect(204);
    let data = export(&origin, &ann).await;
    assert_eq!(data["reports"][0]["note"], "of the guest", "{}", data["reports"]);

    // What moderators say of the guest would be in force nowhere.
    let path = format!("/v1/admin/members/{}", guest.id);
    let mute =
        origin.request(&format!("PUT {path}")).by(&moderator()).json(&json!({"muted_until": 4_000_000_000_000_u64}));
    for answer in [mute.send().await, origin.request(&format!("DELETE {path}")).by(&admin()).send().await] {
        assert_eq!((answer.status, &answer.json["errors"][0]["field"]), (400, &json!("id")), "{}", answer.text);
        assert!(answer.text.contains("member 7"), "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_guests_token_is_merged_and_only_by_a_member() {
    let origin = TestOrigin::start().await;
    let (guest, other) = (origin.register_guest("Gus").await, origin.register_guest("Guy").await);
    let refused = try_merge(&origin, &other, &guest.token).await;
    assert_eq!((refused.status, refused.json["code"].as_str()), (403, Some("forbidden")));
    assert_eq!(origin.request("POST /v1/me/merge").json(&json!({"guest_token": guest.token})).send().await.status, 401);
    for token in ["", "nonsense", &*bob().token, &*ann().token, &*format!("{}x", guest.token)] {
        assert_refused_field(&try_merge(&origin, &ann(), token).await);
    }
    for body in [json!({}), json!({"guest_token": 7}), json!({"guest_token": null})] {
        assert_refused_field(&origin.request("POST /v1/me/merge").by(&ann()).json(&body).send().await);
    }
    // A merge is no way around a decision of moderators.
    let path = format!("PUT /v1/admin/members/{}", guest.id);
    let mute = json!({"muted_until": origin.app.now() + 60_000});
    origin.request(&path).by(&moderator()).json(&mute).send().await.expect(200);
    let refused = try_merge(&origin, &ann(), &guest.token).await;
    assert_eq!((refused.status, refused.json["code"].as_str()), (403, Some("muted")), "{}", refused.text);
    let unmute = json!({"muted_until": null});
    origin.request(&path).by(&moderator()).json(&unmute).send().await.expect(200);
    merge(&origin, &ann(), &guest).await;
    assert_refused_field(&try_merge(&origin, &bob(), &guest.token).await);
    merge(&origin, &ann(), &guest).await;
    origin.request("DELETE /v1/me").by(&other).send().await.expect(204);
    assert_refused_field(&try_merge(&origin, &ann(), &other.token).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_wrote_is_erased_with_the_member() {
    let origin = TestOrigin::start().await;
    let ann = TestMember::new(7, "Annabel Quizzlewhit", Role::Member);
    let guest = origin.register_guest(GUEST_NAME).await;
    let root = origin.post(&guest, "article/1", "thunderclap").await;
    let answer = origin.reply(&bob(), &root, "an answer").await;
    let mentioning = json!({"content": "look", "mentions": [guest.id]});
    let mentioning = origin.try_post(&bob(), "article/1", &mentioning).await.expect(201);
    let report = json!({"reason": "spam", "note": "snapdragon"});
    origin
        .request(&format!("POST /v1/comments/{}/reports", id(&answer)))
        .by(&guest)
        .json(&report)
        .send()
        .await
        .expect(202);
    origin.wait_until_persisted().await;
    merge(&origin, &ann, &guest).await;
    origin.request("DELETE /v1/me").by(&ann).send().await.expect(204);
    // With the member ends what the guest has left; its last pass comes later.
    let erases_guest = || async {
        let unfinished = origin.app.tables.list_unfinished_ends(10).await.expect("the tables answer");
        unfinished.iter().any(|end| end.member.to_string() == guest.id && end.heir.is_none())
    };
    assert!(poll_until(erases_guest, |begun| *begun).await);
    wait_until_finished(&origin).await;
    let secrets = [GUEST_NAME, "Annabel Quizzlewhit", "thunderclap", "snapdragon"];
    for comment in [&root, &answer, &mentioning] {
        let shown = poll_until(|| names(&origin, comment), |shown| secrets.iter().all(|s| !shown.contains(s))).await;
        assert!(secrets.iter().all(|secret| !shown.contains(secret)), "{shown}");
    }
    let tombstone = origin.page(&format!("/v1/comments/{}", id(&root))).await;
    assert_eq!((&tombstone["state"], &tombstone["author"]), (&json!("deleted"), &json!(null)));
    if !origin.is_in_cluster() {
        for file in std::fs::read_dir(&origin.app.config.data).unwrap() {
            let path = file.unwrap().path();
            let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { vec![] };
            for secret in secrets {
                let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "{} contains {secret:?}", path.display());
            }
        }
    }
    let gone = origin.request("DELETE /v1/admin/members/7").by(&admin()).send().await;
    assert_eq!(gone.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_merge_goes_on_after_a_restart() {
    const COMMENTS: usize = 400;
    let mut origin = TestOrigin::start().await;
    let (guest, liked) = (origin.register_guest(GUEST_NAME).await, origin.post(&bob(), "article/0", "like me").await);
    origin.like(&guest, &liked).await;
    let posts = stream::iter(0..COMMENTS).map(|n| {
        let (origin, guest) = (&origin, &guest);
        async move { id(&origin.post(guest, &format!("article/{}", n % 7), &format!("text {n}")).await).to_owned() }
    });
    let mut comments: Vec<String> = posts.buffer_unordered(16).collect().await;
    comments.sort_unstable();
    origin.wait_until_persisted().await;
    merge(&origin, &ann(), &guest).await;
    origin.restart().await;
    // The next process knows from its first request on.
    assert_eq!(origin.request("GET /v1/me").by(&guest).send().await.status, 401);
    wait_until_finished(&origin).await;
    let data = export(&origin, &ann()).await;
    let mut exported = ids(data["comments"].as_array().unwrap());
    exported.sort_unstable();
    assert_eq!(exported, comments);
    assert_eq!(data["reactions"], json!([{"comment_id": liked["id"], "reaction": "like"}]));
    assert_eq!(origin.page(&format!("/v1/comments/{}", id(&liked))).await["likes"], 1);
    let page = origin.current_page("article/1", &comments_path("article/1")).await;
    assert!(page["data"].as_array().unwrap().iter().all(|comment| comment["author"]["name"] == "Ann"), "{page}");
}
