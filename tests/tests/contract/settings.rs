//! Settings that admins change while the program runs.

use gailou_shared::id::MemberId;
use gailou_shared::token::{Member, Role};
use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, comments_path, moderator, poll_until, token_key};
use serde_json::{Value, json};

use crate::sign_in::{MailBed, refresh};

const SUBJECT: &str = "article/settings";

async fn patch(origin: &TestOrigin, body: &Value, if_match: Option<&str>) -> ApiResponse {
    let request = origin.request("PATCH /v1/admin/settings").by(&admin()).json(body);
    if_match.into_iter().fold(request, |request, version| request.header("if-match", version)).send().await
}

async fn read(origin: &TestOrigin) -> Value {
    origin.request("GET /v1/admin/settings").by(&admin()).send().await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn admins_change_settings_by_versions() {
    let origin = TestOrigin::start().await;
    let before = read(&origin).await;
    assert_eq!((&before["version"], &before["fixed"]), (&json!(0), &json!([])));
    assert_eq!(
        before["settings"]["rules"],
        json!({
            "guests": "allowed", "hold_first_guest_comment": false, "min_level": 0, "max_links": null,
            "close_after_days": null, "report_threshold": 3, "show_earlier_texts": false, "classified": "none",
            "unclassified": "review", "blocked": {"names": [], "networks": [], "hashed_networks": []},
        })
    );
    assert_eq!(before["settings"]["degrade"], json!({"hot_as_new": false, "no_overlay": false, "no_preview": false}));
    assert_eq!(before["settings"]["limits"]["posts_per_minute_member"], 5);
    for method in ["GET", "PATCH"] {
        let call = origin.request(&format!("{method} /v1/admin/settings")).by(&moderator()).json(&json!({}));
        assert_eq!(call.send().await.expect(403)["code"], "forbidden");
    }

    let change = json!({"rules": {"report_threshold": 1}, "degrade": {"no_preview": "on"}});
    let after = patch(&origin, &change, Some("\"0\"")).await.expect(200);
    assert_eq!(after, read(&origin).await);
    assert_eq!((&after["version"], &after["settings"]["degrade"]["no_preview"]), (&json!(1), &json!(true)));
    assert_eq!(patch(&origin, &change, Some("0")).await.expect(409)["code"], "version_conflict");
    // What changes nothing leaves no version behind.
    assert_eq!(patch(&origin, &json!({"rules": {"report_threshold": 1}}), Some("1")).await.expect(200), after);
    let preview = origin.request("POST /v1/preview").by(&ann()).json(&json!({"content": "x"}));
    assert_eq!(preview.try_send().await.expect("a response").status, 503);
    let comment = origin.post(&ann(), SUBJECT, "reported once").await;
    let report = format!("POST /v1/comments/{}/reports", comment["id"].as_str().unwrap());
    origin.request(&report).by(&moderator()).json(&json!({"reason": "spam"})).send().await.expect(202);
    origin.wait_until_persisted().await;
    let shown = origin.page(&comments_path(SUBJECT)).await;
    assert_eq!(shown["data"], json!([]), "one report is enough now");

    let back = patch(&origin, &json!({"rules": null, "degrade": {"no_preview": null}}), None).await.expect(200);
    assert_eq!((&back["version"], &back["settings"]), (&json!(2), &before["settings"]));
    let log = origin.request("GET /v1/admin/audit?action=settings").by(&moderator()).send().await.expect(200);
    let [second, first] = log["data"].as_array().unwrap().as_slice() else { panic!("two entries: {log}") };
    assert_eq!(first["target"], json!({"kind": "settings", "id": ""}));
    assert_eq!(first["before"], json!({"rules.report_threshold": 3, "degrade.no_preview": false}));
    assert_eq!(first["after"], json!({"rules.report_threshold": 1, "degrade.no_preview": true}));
    assert_eq!((&second["before"], &second["after"]), (&first["after"], &first["before"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_all_members_are_ended() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let reader = bed.sign_in("reader@example.com").await;
    let now = origin.app.now() / 1_000;
    let issued = |at: u64, id: u64, role: Role| {
        let member =
            Member { id: MemberId::new(id).unwrap(), name: format!("Member {id}"), avatar: None, level: 0, role };
        let token = token_key().sign(&member, "gailou", at..now + 3_600).unwrap();
        TestMember { id: id.to_string(), name: member.name, token }
    };
    let reads = async |by: &TestMember| origin.request("GET /v1/me/overlay").by(by).send().await.status;
    let guest = origin.register_guest("Gwen").await;
    let (before, after) = (issued(now - 10, 7, Role::Member), issued(now + 1, 7, Role::Member));
    let administrator = issued(now + 1, 8, Role::Admin);
    assert_eq!((reads(&guest).await, reads(&before).await), (200, 200));
    let change = async |value: Value| {
        let request = origin.request("PATCH /v1/admin/settings").by(&administrator);
        request.json(&json!({"tokens": {"not_before": value}})).send().await
    };
    let late = change(json!((now + 3_600) * 1_000)).await.expect(400);
    assert_eq!(late["errors"][0]["field"], "tokens.not_before");
    // The guest's token is of this second, or of the one before.
    change(json!((now + 1) * 1_000)).await.expect(200);
    assert_eq!((reads(&guest).await, reads(&before).await, reads(&after).await), (401, 401, 200));
    assert_eq!((reads(&reader.member).await, refresh(origin, &reader.refresh).await.status), (401, 401));
    assert_eq!(origin.try_post(&before, SUBJECT, &json!({"content": "x"})).await.expect(401)["code"], "token_invalid");
    change(Value::Null).await.expect(200);
    assert_eq!((reads(&guest).await, reads(&before).await), (200, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_and_fixed_settings_are_refused_by_name() {
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.limits.posts_per_minute_member = 7;
        config.fixed = ["limits.posts_per_minute_member".to_owned()].into();
    })
    .await;
    assert_eq!(read(&origin).await["fixed"], json!(["limits.posts_per_minute_member"]));
    for (body, field) in [
        (json!({"limits": {"posts_per_minute_member": 9}}), "limits.posts_per_minute_member"),
        (json!({"limits": {"posts_per_minute_member": null}}), "limits.posts_per_minute_member"),
        (json!({"limits": {"posts_per_minute_member": {"x": 1}}}), "limits.posts_per_minute_member"),
        (json!({"limits": []}), "limits"),
        (json!({"rules": {"report_threshold": -1}}), "rules.report_threshold"),
        (json!({"rules": {"guests": "some"}}), "rules.guests"),
        (json!({"rules": {"gusts": "off"}}), "rules.gusts"),
        (json!({"rules": {"max_links": "many"}}), "rules.max_links"),
        (json!({"rules": {"close_after_days": 0}}), "rules.close_after_days"),
        (json!({"rules": {"blocked": {"networks": ["300.0.0.1"]}}}), "rules.blocked.networks"),
        (json!({"sites": ["nonsense"]}), "sites"),
        (json!({"colour": "red"}), "colour"),
    ] {
        let refused = patch(&origin, &body, None).await.expect(400);
        assert_eq!((&refused["code"], &refused["errors"][0]["field"]), (&"invalid_request".into(), &field.into()));
    }
    let other = json!({"limits": {"posts_per_minute_member": 7, "edits_per_minute_member": 3}});
    patch(&origin, &other, None).await.expect(400);
    let changed = patch(&origin, &json!({"limits": {"edits_per_minute_member": 3}}), None).await.expect(200);
    assert_eq!(changed["settings"]["limits"]["posts_per_minute_member"], 7);
    assert_eq!(patch(&origin, &json!({"limits": null}), None).await.expect(200)["version"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_limits_names_and_guests_are_in_force_at_once() {
    let origin = TestOrigin::start().await;
    let allowed = async |site: &str| {
        let call = origin.request("OPTIONS /v1/guests").header("origin", site);
        let answer = call.header("access-control-request-method", "POST").send().await;
        answer.headers.contains_key("access-control-allow-origin")
    };
    let guest = async |name: &str| origin.request("POST /v1/guests").json(&json!({"name": name})).send().await;
    assert!(!allowed("https://blog.example").await && allowed("http://localhost:1").await);
    guest("captain").await.expect(201);
    let change = json!({
        "sites": ["https://blog.example"],
        "names": {"reserved": ["captain"]},
        "limits": {"enabled": true, "posts_per_minute_member": 1},
    });
    patch(&origin, &change, None).await.expect(200);
    assert!(allowed("https://blog.example").await && !allowed("http://localhost:1").await);
    assert_eq!(guest("C a p t a i n").await.expect(422)["code"], "content_rejected");
    guest("staff").await.expect(201);
    origin.post(&ann(), SUBJECT, "one").await;
    origin.try_post(&ann(), SUBJECT, &json!({"content": "two"})).await.expect(429);
    patch(&origin, &json!({"limits": {"enabled": false}, "rules": {"guests": "off"}}), None).await.expect(200);
    assert_eq!(guest("late").await.expect(403)["code"], "guests_not_allowed");
    origin.post(&ann(), SUBJECT, "three").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_settings_survive_a_restart_and_reach_every_server() {
    let mut origin = TestOrigin::start().await;
    patch(&origin, &json!({"rules": {"report_threshold": 9}}), None).await.expect(200);
    origin.restart().await;
    assert_eq!(read(&origin).await["settings"]["rules"]["report_threshold"], 9);
    if !origin.is_in_cluster() {
        return;
    }
    let second = origin.start_second().await;
    assert_eq!(read(&second).await, read(&origin).await);
    let change = json!({"rules": {"report_threshold": 5}});
    patch(&second, &change, Some("1")).await.expect(200);
    assert_eq!(patch(&origin, &change, Some("1")).await.expect(409)["code"], "version_conflict");
    let reached = poll_until(|| read(&origin), |settings| settings["version"] == 2).await;
    assert_eq!(reached, read(&second).await);
}
