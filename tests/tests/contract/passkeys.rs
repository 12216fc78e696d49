//! Passkeys of administrators and moderators, with an authenticator in software.

use std::time::Duration;

use gailou::service::sign_in::make_admin_url;
use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, moderator, poll_until};
use serde_json::{Value, json};

use crate::sign_in::{MailBed, me, member_of, open, refresh, refresh_cookie};
use crate::software_authenticator::{AskingPage, SoftwarePasskey};

const PUBLIC_URL: &str = "http://comments.localhost:8080";
const PAGE: AskingPage =
    AskingPage { origin: PUBLIC_URL, rp_id: "comments.localhost", is_verified: true, is_framed: false };
const CHALLENGE_LIFETIME: Duration = Duration::from_secs(300);

/// An origin with a name, and its administrator.
async fn start() -> (TestOrigin, TestMember) {
    let origin = TestOrigin::start_with(|config| config.public_url = Some(PUBLIC_URL.into())).await;
    let administrator = administrator(&origin).await;
    (origin, administrator)
}

async fn administrator(origin: &TestOrigin) -> TestMember {
    let url = make_admin_url(&origin.app).await.expect("an address");
    let opened = open(origin, &url, "").await;
    let answer = refresh(origin, &refresh_cookie(&opened)).await.expect(200);
    member_of(answer["token"].as_str().expect("a token"))
}

async fn begin_registration(origin: &TestOrigin, by: &TestMember) -> ApiResponse {
    origin.request("POST /v1/auth/passkeys/registration").by(by).send().await
}

async fn register(
    origin: &TestOrigin,
    by: &TestMember,
    challenge: &Value,
    name: &str,
    credential: &Value,
) -> ApiResponse {
    let body = json!({"challenge": challenge["challenge"], "name": name, "credential": credential});
    origin.request("POST /v1/auth/passkeys").by(by).json(&body).send().await
}

/// Adds a passkey to an account.
async fn add(origin: &TestOrigin, by: &TestMember, name: &str) -> SoftwarePasskey {
    let challenge = begin_registration(origin, by).await.expect(200);
    let (passkey, credential) = SoftwarePasskey::create(&challenge, PAGE);
    register(origin, by, &challenge, name, &credential).await.expect(201);
    passkey
}

async fn begin_sign_in(origin: &TestOrigin) -> Value {
    origin.request("POST /v1/auth/passkeys/challenge").send().await.expect(200)
}

async fn finish_sign_in(origin: &TestOrigin, challenge: &Value, credential: &Value) -> ApiResponse {
    let body = json!({"challenge": challenge["challenge"], "credential": credential});
    origin.request("POST /v1/auth/passkeys/session").json(&body).send().await
}

async fn sign_in(origin: &TestOrigin, passkey: &mut SoftwarePasskey) -> ApiResponse {
    let challenge = begin_sign_in(origin).await;
    let credential = passkey.sign(&challenge, PAGE);
    finish_sign_in(origin, &challenge, &credential).await
}

async fn list(origin: &TestOrigin, by: &TestMember) -> Vec<Value> {
    let listed = origin.request("GET /v1/auth/passkeys").by(by).send().await;
    assert_eq!(listed.header("cache-control"), "private, no-store", "{}", listed.text);
    listed.expect(200)["data"].as_array().expect("a list").clone()
}

#[track_caller]
fn assert_refused(answer: &ApiResponse) {
    assert_eq!((answer.status, &answer.json["code"]), (401, &json!("token_invalid")), "{}", answer.text);
    assert!(!answer.headers.contains_key("set-cookie"));
}

#[track_caller]
fn assert_wrong_field(answer: &ApiResponse, field: &str) {
    assert_eq!((answer.status, &answer.json["errors"][0]["field"]), (400, &json!(field)), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn passkey_of_the_administrator_signs_in_and_is_listed_renamed_and_removed() {
    let (origin, administrator) = start().await;
    let begun = begin_registration(&origin, &administrator).await;
    assert_eq!(begun.header("cache-control"), "private, no-store");
    let challenge = begun.expect(200);
    let options = &challenge["options"];
    assert_eq!(options["challenge"], challenge["challenge"]);
    assert_eq!((&options["rp"]["id"], &options["attestation"]), (&json!("comments.localhost"), &json!("none")));
    let selection = &options["authenticatorSelection"];
    assert_eq!(
        (&selection["residentKey"], &selection["requireResidentKey"], &selection["userVerification"]),
        (&json!("required"), &json!(true), &json!("required"))
    );
    assert_eq!((&options["user"]["name"], &options["excludeCredentials"]), (&json!("Admin"), &json!([])));

    let (mut passkey, credential) = SoftwarePasskey::create(&challenge, PAGE);
    let added = register(&origin, &administrator, &challenge, " My phone ", &credential).await.expect(201);
    let id = added["id"].as_str().expect("an id").to_owned();
    let expected = json!({"id": id, "name": "My phone", "created_at": origin.app.now(), "used_at": null});
    assert_eq!((&added, list(&origin, &administrator).await), (&expected, vec![expected.clone()]));
    let known = begin_registration(&origin, &administrator).await.expect(200);
    assert_eq!(known["options"]["excludeCredentials"][0]["id"], credential["id"]);

    // No account is named, and nothing says who has one here.
    origin.advance(Duration::from_secs(60));
    let challenge = begin_sign_in(&origin).await;
    let options = &challenge["options"];
    assert_eq!((&options["rpId"], &options["userVerification"]), (&json!("comments.localhost"), &json!("required")));
    assert_eq!(options["allowCredentials"], json!([]));
    let credential = passkey.sign(&challenge, PAGE);
    let signed_in = finish_sign_in(&origin, &challenge, &credential).await;
    assert_eq!((signed_in.status, signed_in.header("cache-control")), (200, "private, no-store"));
    let member = member_of(signed_in.json["token"].as_str().expect("a token"));
    assert_eq!(member.id, administrator.id);
    assert_eq!(me(&origin, &member).await.expect(200)["role"], "admin");
    origin.request("GET /v1/admin/settings").by(&member).send().await.expect(200);
    let cookie = refresh_cookie(&signed_in);
    let next = refresh_cookie(&refresh(&origin, &cookie).await);
    let out = origin.request("DELETE /v1/auth/session").header("cookie", &format!("gailou_refresh={next}"));
    out.send().await.expect(204);
    assert_eq!(refresh(&origin, &next).await.status, 401);
    assert_eq!(list(&origin, &member).await[0]["used_at"], origin.app.now());

    let path = format!("/v1/auth/passkeys/{id}");
    let rename = |name: Value| origin.request(&format!("PATCH {path}")).by(&member).json(&json!({"name": name})).send();
    assert_wrong_field(&rename(json!("\u{200b}")).await, "name");
    assert_eq!(rename(json!("Old phone")).await.expect(200)["name"], "Old phone");
    origin.request(&format!("DELETE {path}")).by(&member).send().await.expect(204);
    origin.request(&format!("DELETE {path}")).by(&member).send().await.expect(404);
    assert_eq!(rename(json!("Gone")).await.status, 404);
    assert_eq!(list(&origin, &member).await, Vec::<Value>::new());
    assert_refused(&sign_in(&origin, &mut passkey).await);

    let audit = origin.request("GET /v1/admin/audit").by(&member).send().await.expect(200);
    let entries: Vec<_> = audit["data"].as_array().expect("entries").iter().collect();
    let found = |action: &str| *entries.iter().find(|entry| entry["action"] == action).expect("an entry");
    let (added, removed) = (found("add_passkey"), found("remove_passkey"));
    let target = json!({"kind": "member", "id": administrator.id});
    assert_eq!((&added["target"], &removed["target"]), (&target, &target));
    assert_eq!(added["after"], json!({"passkey": id, "name": "My phone"}));
    assert_eq!(removed["before"], json!({"passkey": id, "name": "Old phone"}));
    assert_eq!(added["actor"]["id"], json!(administrator.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn challenge_is_answered_once_in_time_and_for_what_it_was_made_for() {
    let (origin, administrator) = start().await;
    let challenge = begin_registration(&origin, &administrator).await.expect(200);
    let (_, credential) = SoftwarePasskey::create(&challenge, PAGE);
    // A wrong answer uses it up too.
    let (_, wrong) = SoftwarePasskey::create(&challenge, AskingPage { is_verified: false, ..PAGE });
    assert_wrong_field(&register(&origin, &administrator, &challenge, "A", &wrong).await, "credential");
    assert_wrong_field(&register(&origin, &administrator, &challenge, "A", &credential).await, "challenge");

    let challenge = begin_registration(&origin, &administrator).await.expect(200);
    let (_, credential) = SoftwarePasskey::create(&challenge, PAGE);
    register(&origin, &administrator, &challenge, "A", &credential).await.expect(201);
    let id = list(&origin, &administrator).await[0]["id"].as_str().expect("an id").to_owned();
    assert_wrong_field(&register(&origin, &administrator, &challenge, "B", &credential).await, "challenge");
    // Nor does the same answer bring a passkey back that was removed.
    let mut passkey = add(&origin, &administrator, "B").await;
    origin.request(&format!("DELETE /v1/auth/passkeys/{id}")).by(&administrator).send().await.expect(204);
    assert_wrong_field(&register(&origin, &administrator, &challenge, "A", &credential).await, "challenge");

    let challenge = begin_sign_in(&origin).await;
    let credential = passkey.sign(&challenge, PAGE);
    assert_eq!(finish_sign_in(&origin, &challenge, &credential).await.status, 200);
    assert_refused(&finish_sign_in(&origin, &challenge, &credential).await);
    // Another challenge does not make the old answer a new one.
    let other = begin_sign_in(&origin).await;
    assert_refused(&finish_sign_in(&origin, &other, &credential).await);
    // Of two at once with one answer, one signs in.
    let challenge = begin_sign_in(&origin).await;
    let credential = passkey.sign(&challenge, PAGE);
    let both = tokio::join!(
        finish_sign_in(&origin, &challenge, &credential),
        finish_sign_in(&origin, &challenge, &credential)
    );
    let mut statuses = [both.0.status, both.1.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401]);

    // What signs in adds nothing, and what adds signs no one in.
    let challenge = begin_sign_in(&origin).await;
    let (_, credential) = SoftwarePasskey::create(&with_user(&challenge, &administrator), PAGE);
    assert_wrong_field(&register(&origin, &administrator, &challenge, "C", &credential).await, "challenge");
    let challenge = begin_registration(&origin, &administrator).await.expect(200);
    let credential = passkey.sign(&challenge, PAGE);
    assert_refused(&finish_sign_in(&origin, &challenge, &credential).await);

    let late = (begin_sign_in(&origin).await, begin_registration(&origin, &administrator).await.expect(200));
    let in_time = (begin_sign_in(&origin).await, begin_registration(&origin, &administrator).await.expect(200));
    origin.advance(CHALLENGE_LIFETIME - Duration::from_millis(1));
    let credential = passkey.sign(&in_time.0, PAGE);
    assert_eq!(finish_sign_in(&origin, &in_time.0, &credential).await.status, 200);
    let (_, credential) = SoftwarePasskey::create(&in_time.1, PAGE);
    register(&origin, &administrator, &in_time.1, "C", &credential).await.expect(201);
    origin.advance(Duration::from_millis(1));
    let credential = passkey.sign(&late.0, PAGE);
    assert_refused(&finish_sign_in(&origin, &late.0, &credential).await);
    let (_, credential) = SoftwarePasskey::create(&late.1, PAGE);
    assert_wrong_field(&register(&origin, &administrator, &late.1, "D", &credential).await, "challenge");
}

/// A challenge as if it were one to add a passkey.
fn with_user(challenge: &Value, member: &TestMember) -> Value {
    let mut changed = challenge.clone();
    changed["options"]["user"] = json!({"id": member.id});
    changed
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_of_another_page_or_without_its_user_verified_is_refused() {
    let (origin, administrator) = start().await;
    let passkey = add(&origin, &administrator, "A").await;
    let wrong = [
        AskingPage { origin: "https://evil.example", ..PAGE },
        AskingPage { origin: "https://comments.localhost:8080", ..PAGE },
        AskingPage { origin: "http://comments.localhost:8081", ..PAGE },
        AskingPage { origin: "http://comments.localhost", ..PAGE },
        AskingPage { origin: "http://a.comments.localhost:8080", ..PAGE },
        AskingPage { origin: "http://localhost:8080", ..PAGE },
        AskingPage { rp_id: "localhost", ..PAGE },
        AskingPage { rp_id: "evil.example", ..PAGE },
        AskingPage { is_verified: false, ..PAGE },
        AskingPage { is_framed: true, ..PAGE },
    ];
    for page in wrong {
        let challenge = begin_sign_in(&origin).await;
        let credential = passkey.clone().sign(&challenge, page);
        assert_refused(&finish_sign_in(&origin, &challenge, &credential).await);
        let challenge = begin_registration(&origin, &administrator).await.expect(200);
        let (_, credential) = SoftwarePasskey::create(&challenge, page);
        assert_wrong_field(&register(&origin, &administrator, &challenge, "B", &credential).await, "credential");
    }
    assert_eq!(list(&origin, &administrator).await.len(), 1);
    // No cookie for a page of another site, whatever it has signed.
    let challenge = begin_sign_in(&origin).await;
    let body = json!({"challenge": challenge["challenge"], "credential": passkey.clone().sign(&challenge, PAGE)});
    let call = origin.request("POST /v1/auth/passkeys/session").header("origin", "https://evil.example");
    assert_eq!(call.json(&body).send().await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn copied_or_forged_passkey_signs_in_nowhere() {
    let (origin, administrator) = start().await;
    let mut passkey = add(&origin, &administrator, "A").await;
    assert_refused(&sign_in(&origin, &mut passkey.with_another_key()).await);
    // One that counts its signatures has signed more often each time.
    for (counter, is_signed_in) in [(5, true), (5, false), (4, false), (0, false), (6, true), (u32::MAX, true)] {
        passkey.counter = counter;
        let answer = sign_in(&origin, &mut passkey).await;
        assert_eq!(answer.status, if is_signed_in { 200 } else { 401 }, "{counter}: {}", answer.text);
    }
    // One that is never copied does not become one that is.
    let mut bound = add(&origin, &administrator, "B").await;
    bound.is_backed_up = false;
    assert_refused(&sign_in(&origin, &mut bound).await);

    for (wrong, field) in [
        (json!({}), "challenge"),
        (json!({"challenge": "x", "credential": []}), "credential"),
        (json!({"challenge": "x", "credential": {"id": 7}}), "credential"),
    ] {
        let answer = origin.request("POST /v1/auth/passkeys/session").json(&wrong).send().await;
        assert_wrong_field(&answer, field);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_are_for_accounts_of_the_installation_with_a_role_and_ten_at_most() {
    let (origin, administrator) = start().await;
    for (by, status) in [(admin(), 403), (moderator(), 403), (ann(), 403)] {
        let refused = begin_registration(&origin, &by).await;
        assert_eq!((refused.status, &refused.json["code"]), (status, &json!("forbidden")));
        origin.request("GET /v1/auth/passkeys").by(&by).send().await.expect(status);
    }
    origin.request("POST /v1/auth/passkeys/registration").send().await.expect(401);
    origin.request("GET /v1/auth/passkeys").send().await.expect(401);
    let challenge = begin_registration(&origin, &administrator).await.expect(200);
    let (first, credential) = SoftwarePasskey::create(&challenge, PAGE);
    register(&origin, &administrator, &challenge, "0", &credential).await.expect(201);
    // An authenticator that ignores what it must not make twice.
    let challenge = begin_registration(&origin, &administrator).await.expect(200);
    let again = register(&origin, &administrator, &challenge, "1", &first.create_again(&challenge, PAGE)).await;
    assert_eq!((again.status, &again.json["code"]), (409, &json!("version_conflict")), "{}", again.text);
    for n in 1..10 {
        add(&origin, &administrator, &n.to_string()).await;
    }
    let challenge = begin_registration(&origin, &administrator).await.expect(200);
    let (_, credential) = SoftwarePasskey::create(&challenge, PAGE);
    let full = register(&origin, &administrator, &challenge, "11", &credential).await;
    assert_eq!((full.status, &full.json["code"]), (409, &json!("version_conflict")));
    let names: Vec<_> = list(&origin, &administrator).await.iter().map(|passkey| passkey["name"].clone()).collect();
    assert_eq!(names, (0..10).map(|n| json!(n.to_string())).collect::<Vec<_>>());

    // An address of numbers has no passkeys, in any browser.
    let numbers = TestOrigin::start().await;
    let refused = numbers.request("POST /v1/auth/passkeys/challenge").send().await;
    assert_eq!((refused.status, &refused.json["code"]), (403, &json!("forbidden")));
}

#[tokio::test(flavor = "multi_thread")]
async fn passkey_is_void_without_the_role_with_older_tokens_and_with_the_account() {
    let bed = MailBed::start_with(|config| config.public_url = Some(PUBLIC_URL.into())).await;
    let origin = &bed.origin;
    let administrator = administrator(origin).await;
    let account = bed.sign_in("mo@example.com").await.member;
    assert_eq!(begin_registration(origin, &account).await.status, 403);
    let put = |patch: Value| {
        let path = format!("PUT /v1/admin/members/{}", account.id);
        origin.request(&path).by(&administrator).json(&patch).send()
    };
    put(json!({"role": "moderator"})).await.expect(200);
    poll_until(|| me(origin, &account), |answer| answer.json["role"] == "moderator").await.expect(200);
    let mut passkey = add(origin, &account, "A").await;
    assert_eq!(sign_in(origin, &mut passkey).await.status, 200);

    let unused = begin_registration(origin, &account).await.expect(200);
    put(json!({"role": null})).await.expect(200);
    poll_until(|| me(origin, &account), |answer| answer.json["role"] == "member").await.expect(200);
    let demoted = sign_in(origin, &mut passkey).await;
    assert_eq!((demoted.status, &demoted.json["code"]), (403, &json!("forbidden")), "{}", demoted.text);
    assert!(!demoted.headers.contains_key("set-cookie"));
    let (_, credential) = SoftwarePasskey::create(&unused, PAGE);
    assert_eq!(register(origin, &account, &unused, "B", &credential).await.status, 403);
    put(json!({"role": "moderator"})).await.expect(200);
    poll_until(|| me(origin, &account), |answer| answer.json["role"] == "moderator").await.expect(200);
    assert_eq!(sign_in(origin, &mut passkey).await.status, 200);

    // Who had an older token may have added a passkey with it.
    origin.advance(Duration::from_secs(2));
    put(json!({"tokens_not_before": origin.app.now()})).await.expect(200);
    poll_until(|| me(origin, &account), |answer| answer.status == 401).await.expect(401);
    assert_refused(&sign_in(origin, &mut passkey).await);
    // Tokens have whole seconds.
    origin.advance(Duration::from_secs(1));
    let again = bed.sign_in("mo@example.com").await.member;
    assert_eq!(list(origin, &again).await, Vec::<Value>::new());
    let mut passkey = add(origin, &again, "C").await;
    assert_eq!(sign_in(origin, &mut passkey).await.status, 200);

    origin.request("DELETE /v1/me").by(&again).send().await.expect(204);
    assert_refused(&sign_in(origin, &mut passkey).await);
    let id = account.id.parse().expect("an id");
    let left = || async { origin.app.tables.list_passkeys(id).await.expect("passkeys").len() };
    assert_eq!(poll_until(left, |left| *left == 0).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn challenges_of_a_network_are_few_whatever_the_limits_are() {
    let (origin, _) = start().await;
    let mut statuses = Vec::new();
    for _ in 0..35 {
        statuses.push(origin.request("POST /v1/auth/passkeys/challenge").send().await.status);
    }
    assert_eq!((statuses[..30].iter().all(|status| *status == 200), statuses[34]), (true, 429), "{statuses:?}");
}
