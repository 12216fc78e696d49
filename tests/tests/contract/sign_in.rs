//! Accounts of the installation: signing in by mail and with a provider, staying signed in, and what is one's own.

use std::time::Duration;

use gailou::config::{Config, Password};
use gailou::service::sign_in::make_admin_url;
use gailou_tests::{ApiResponse, SmtpReceiver, TestMember, TestOrigin, ann, poll_until};
use serde_json::{Value, json};

use crate::fake_provider::FakeProvider;

pub(crate) const SITE: &str = "http://localhost:3000";
pub(crate) const FOREIGN: &str = "https://evil.example";
const SUBJECT: &str = "article/signing-in";
/// The first id of an account: the highest 2^51 of those that are no imported name's.
const FIRST_ACCOUNT: u64 = (1 << 62) + (1 << 61) - (1 << 51);

/// An origin and the server that its mails go to.
pub(crate) struct MailBed {
    pub(crate) origin: TestOrigin,
    pub(crate) mailbox: SmtpReceiver,
}

impl MailBed {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(configure: impl FnOnce(&mut Config)) -> Self {
        let mailbox = SmtpReceiver::start().await;
        let url = Password::new(&mailbox.url());
        let origin = TestOrigin::start_with(|config| {
            config.mail.url = url;
            configure(config);
        });
        Self { origin: origin.await, mailbox }
    }

    /// Opens the link that is mailed to this address.
    pub(crate) async fn sign_in(&self, email: &str) -> SignedIn {
        let number = self.mailbox.mails().len();
        request_mail(&self.origin, email, SITE).await.expect(202);
        let mail = self.mailbox.mail(number).await;
        let page = press(&self.origin, mail.link()).await;
        SignedIn::of(&page)
    }
}

pub(crate) async fn request_mail(origin: &TestOrigin, email: &str, site: &str) -> ApiResponse {
    origin.request("POST /v1/auth/email").json(&json!({"email": email, "site": site})).send().await
}

/// Opens an address of the origin, with these cookies. The origin knows itself by the name that it is configured with.
pub(crate) async fn open(origin: &TestOrigin, link: &str, cookies: &str) -> ApiResponse {
    let path = &link[link.find("/v1/auth/").unwrap_or_else(|| panic!("{link} leads elsewhere"))..];
    origin.request(&format!("GET {path}")).header("cookie", cookies).send().await
}

/// Presses the button of the page that a mailed link leads to.
pub(crate) async fn press(origin: &TestOrigin, link: &str) -> ApiResponse {
    let path = &link[link.find("/v1/auth/").unwrap_or_else(|| panic!("{link} leads elsewhere"))..];
    origin.request(&format!("POST {path}")).header("origin", origin.base()).send().await
}

/// What a browser has after it came back.
pub(crate) struct SignedIn {
    pub(crate) member: TestMember,
    pub(crate) code: String,
    /// The value of the cookie.
    pub(crate) refresh: String,
}

impl SignedIn {
    /// Of the page that hands the token to its opener.
    #[track_caller]
    pub(crate) fn of(page: &ApiResponse) -> Self {
        assert_eq!(page.status, 200, "{}", page.text);
        let (_, message) = page.text.split_once("postMessage(").expect("a message");
        let (message, rest) = message.split_once("},").expect("a message");
        let message: Value = serde_json::from_str(&format!("{message}}}")).expect("JSON");
        assert_eq!(message["type"], "gailou:signed-in");
        assert!(rest.starts_with(&format!("\"{SITE}\")")), "another site gets it: {rest}");
        let text = |name: &str| message[name].as_str().expect("a text").to_owned();
        Self { member: member_of(&text("token")), code: text("code"), refresh: refresh_cookie(page) }
    }
}

/// The value of the cookie that an answer sets.
#[track_caller]
pub(crate) fn refresh_cookie(answer: &ApiResponse) -> String {
    let cookies = answer.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let cookie = cookies.filter_map(|cookie| cookie.strip_prefix("gailou_refresh=")).next().expect("a cookie");
    let (value, attributes) = cookie.split_once(';').expect("attributes");
    // It is on this machine without encryption, where browsers take no other.
    assert_eq!(attributes, " Path=/v1/auth; Max-Age=2592000; HttpOnly; SameSite=Lax");
    value.to_owned()
}

pub(crate) fn member_of(token: &str) -> TestMember {
    use base64::Engine as _;
    let claims = token.split('.').nth(1).expect("claims");
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).expect("base64");
    let claims: Value = serde_json::from_slice(&claims).expect("claims");
    let text = |name: &str| claims[name].as_str().unwrap_or_default().to_owned();
    TestMember { id: text("sub"), name: text("name"), token: token.to_owned() }
}

pub(crate) async fn me(origin: &TestOrigin, by: &TestMember) -> ApiResponse {
    origin.request("GET /v1/me").by(by).send().await
}

async fn change_me(origin: &TestOrigin, by: &TestMember, patch: &Value) -> ApiResponse {
    origin.request("PATCH /v1/me").by(by).json(patch).send().await
}

/// Asks for another token by a cookie.
pub(crate) async fn refresh(origin: &TestOrigin, cookie: &str) -> ApiResponse {
    origin.request("POST /v1/auth/refresh").header("cookie", &format!("gailou_refresh={cookie}")).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn link_of_a_mail_signs_in_once_and_its_reader_writes_under_a_chosen_name() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let providers = origin.get("/v1/auth/providers").await;
    assert_eq!(providers.header("cache-control"), "private, no-store");
    assert_eq!(providers.json, json!({"data": [{"id": "email", "name": "E-mail", "kind": "email"}]}));

    request_mail(origin, " Ann@Example.com", SITE).await.expect(202);
    let mail = bed.mailbox.mail(0).await;
    assert_eq!(
        (&*mail.to, &*mail.header("From"), &*mail.header("To")),
        ("ann@example.com", "comments@localhost", "ann@example.com")
    );
    assert_eq!(mail.header("Subject"), format!("Sign in to comment on {SITE}"));
    assert_eq!(mail.header("Auto-Submitted"), "auto-generated");
    let link = mail.link().to_owned();
    assert!(link.contains("/v1/auth/email/callback?token="), "{link}");

    // Whatever opens the address before its reader changes nothing, nor does a page of a stranger.
    let head = origin.request(&format!("HEAD {}", &link[link.find("/v1/").unwrap()..])).send().await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    let question = open(origin, &link, "").await;
    assert_eq!(question.status, 200);
    assert!(question.text.contains("ann@example.com") && question.text.contains(SITE), "{}", question.text);
    assert!(
        question.headers.get("set-cookie").is_none() && !question.text.contains("postMessage"),
        "{}",
        question.text
    );
    let path = &link[link.find("/v1/").unwrap()..];
    let forged = origin.request(&format!("POST {path}")).header("origin", SITE).send().await;
    assert_eq!((forged.status, forged.headers.get("set-cookie")), (400, None));

    let page = press(origin, &link).await;
    let policy = page.header("content-security-policy").to_owned();
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce").to_owned();
    assert!(policy.starts_with("default-src 'none'") && page.text.contains(&format!("<script nonce=\"{nonce}\">")));
    assert_eq!((page.header("cache-control"), page.header("referrer-policy")), ("private, no-store", "same-origin"));
    let SignedIn { member, .. } = SignedIn::of(&page);
    assert!(member.id.parse::<u64>().unwrap() >= FIRST_ACCOUNT && member.name.is_empty(), "{member:?}");
    for again in [press(origin, &link).await, open(origin, &link, "").await] {
        assert!(again.status == 400 && !again.text.contains("postMessage"), "{}", again.text);
    }

    let profile = json!({
        "id": member.id, "name": "", "avatar": null, "level": 0, "role": "member", "guest": false,
        "email": "ann@example.com", "notify": "each", "language": "en",
    });
    assert_eq!(me(origin, &member).await.expect(200), profile);
    let refused = origin.try_post(&member, SUBJECT, &json!({"content": "hello"})).await;
    assert_eq!((refused.status, &refused.json["errors"][0]["field"]), (400, &json!("name")));
    let patch = json!({"name": " Anna ", "avatar": "https://a.example/a.png", "notify": "daily", "language": "zh-CN"});
    let changed = change_me(origin, &member, &patch).await.expect(200);
    let expected = json!({
        "id": member.id, "name": "Anna", "avatar": "https://a.example/a.png", "level": 0, "role": "member",
        "guest": false, "email": "ann@example.com", "notify": "daily", "language": "zh-CN",
    });
    assert_eq!(changed, expected);

    // The same mailbox is the same account, whose tokens have the new name from now on.
    let SignedIn { member: again, .. } = bed.sign_in("ANN@example.com").await;
    assert_eq!((&again.id, &*again.name), (&member.id, "Anna"));
    let root = origin.post(&again, SUBJECT, "hello").await;
    assert_eq!((&root["author"]["id"], &root["author"]["guest"]), (&json!(member.id), &json!(false)));
    let other = bed.sign_in("bo@example.com").await;
    assert_ne!(other.member.id, member.id);
    assert_eq!(me(origin, &again).await.expect(200)["language"], "zh-CN", "what was chosen stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn name_of_an_account_is_free_and_can_be_seen_and_a_hosts_is_the_hosts() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let SignedIn { member, .. } = bed.sign_in("ann@example.com").await;
    for name in ["moderator", "\u{3164}"] {
        let refused = change_me(origin, &member, &json!({"name": name})).await;
        assert_eq!((refused.status, &refused.json["errors"][0]["field"]), (422, &json!("name")), "{name}");
    }
    let wrong = json!({"name": 7, "avatar": "javascript:x", "notify": "hourly", "language": "no language"});
    let refused = change_me(origin, &member, &wrong).await.expect(400);
    let fields: Vec<_> = refused["errors"].as_array().unwrap().iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["name", "avatar", "language", "notify"]);

    for avatar in ["/logout", "http://a.example/a.png", "//a.example/a.png"] {
        let refused = change_me(origin, &member, &json!({"avatar": avatar})).await.expect(400);
        assert_eq!(refused["errors"][0]["field"], "avatar", "{avatar}");
    }

    assert_eq!(change_me(origin, &ann(), &json!({"name": "Other"})).await.status, 403);
    let own = change_me(origin, &ann(), &json!({"notify": "never", "language": "de"})).await.expect(200);
    assert_eq!((&own["name"], &own["notify"], &own["language"]), (&json!("Ann"), &json!("never"), &json!("de")));
    let guest = origin.register_guest("Guest").await;
    assert_eq!(change_me(origin, &guest, &json!({"notify": "each"})).await.status, 403);
    assert_eq!(me(origin, &guest).await.expect(200)["guest"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn refresh_token_works_once_and_one_that_is_used_again_ends_its_family_alone() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let first = bed.sign_in("ann@example.com").await;
    let other = bed.sign_in("ann@example.com").await;
    let second = refresh(origin, &first.refresh).await;
    assert_eq!(second.header("cache-control"), "private, no-store");
    let token = second.json["token"].as_str().expect("a token").to_owned();
    assert!(second.json["expires_at"].as_u64().unwrap() > 1_700_000_000_000 && second.json["refresh_token"].is_null());
    assert_eq!(me(origin, &member_of(&token)).await.expect(200)["id"], first.member.id);
    let second = refresh_cookie(&second);
    let third = refresh_cookie(&refresh(origin, &second).await);
    assert_eq!(refresh(origin, &first.refresh).await.status, 401);
    assert_eq!(refresh(origin, &third).await.status, 401, "the family has ended");
    assert_eq!(refresh(origin, &other.refresh).await.status, 200, "another browser stays signed in");

    // An app has it in the body, and gets the next one there.
    let app = bed.sign_in("ann@example.com").await;
    let call = |line: &str, token: &Value| origin.request(line).json(&json!({"refresh_token": token}));
    let next = call("POST /v1/auth/refresh", &json!(app.refresh)).send().await;
    assert!(!next.headers.contains_key("set-cookie"));
    let next = next.expect(200)["refresh_token"].clone();
    call("DELETE /v1/auth/session", &next).send().await.expect(204);
    assert_eq!(call("POST /v1/auth/refresh", &next).send().await.status, 401);
    for wrong in ["", "x", "AAAA", &"A".repeat(64)] {
        let refused = call("POST /v1/auth/refresh", &json!(wrong)).send().await;
        assert_eq!((refused.status, &refused.json["code"]), (401, &json!("token_invalid")), "{wrong}");
    }
    assert_eq!(origin.request("POST /v1/auth/refresh").send().await.status, 401);
    assert_eq!(call("POST /v1/auth/refresh", &json!(7)).send().await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_allowed_sites_use_the_cookie_of_a_reader() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let SignedIn { refresh, .. } = bed.sign_in("ann@example.com").await;
    let call = |line: &str, site: &str| {
        origin.request(line).header("cookie", &format!("gailou_refresh={refresh}")).header("origin", site)
    };
    for line in ["POST /v1/auth/refresh", "DELETE /v1/auth/session"] {
        let refused = call(line, FOREIGN).send().await;
        assert_eq!((refused.status, &refused.json["code"]), (403, &json!("site_not_allowed")), "{line}");
        assert!(refused.json["detail"].as_str().unwrap().contains(FOREIGN));
        assert!(!refused.headers.contains_key("access-control-allow-origin"));
    }
    let allowed = call("POST /v1/auth/refresh", SITE).send().await;
    let header = |name: &str| allowed.header(name).to_owned();
    assert_eq!(
        (allowed.status, header("access-control-allow-origin"), header("access-control-allow-credentials")),
        (200, SITE.to_owned(), "true".to_owned())
    );
    let ended = call("DELETE /v1/auth/session", origin.base()).send().await;
    assert_eq!(ended.status, 204, "the installation's own pages");
    assert!(ended.header("set-cookie").starts_with("gailou_refresh=; Path=/v1/auth; Max-Age=0"));
    assert_eq!(call("POST /v1/auth/refresh", SITE).send().await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_ends_with_time_by_a_moderator_and_by_erasure() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let late = {
        request_mail(origin, "late@example.com", SITE).await.expect(202);
        bed.mailbox.mail(0).await.link().to_owned()
    };
    origin.advance(Duration::from_secs(15 * 60 + 1));
    assert_eq!(open(origin, &late, "").await.status, 400);

    let idle = bed.sign_in("idle@example.com").await;
    origin.advance(Duration::from_secs(15 * 60 + 31));
    assert_eq!(me(origin, &idle.member).await.status, 401, "the token to write with is over");
    let used = refresh_cookie(&refresh(origin, &idle.refresh).await);
    origin.advance(Duration::from_secs(30 * 86_400 + 1));
    assert_eq!(refresh(origin, &used).await.status, 401);

    // The tokens of the suite are over by now.
    let administrator = {
        let url = make_admin_url(&origin.app).await.expect("an address");
        let opened = open(origin, &url, "").await;
        let answer = refresh(origin, &refresh_cookie(&opened)).await.expect(200);
        member_of(answer["token"].as_str().expect("a token"))
    };
    let ended = bed.sign_in("ended@example.com").await;
    let path = format!("PUT /v1/admin/members/{}", ended.member.id);
    origin.advance(Duration::from_secs(2));
    let now = origin.app.now();
    origin.request(&path).by(&administrator).json(&json!({"tokens_not_before": now})).send().await.expect(200);
    // The process has heard of it when it refuses the token to write with.
    let answer = poll_until(|| me(origin, &ended.member), |answer| answer.status == 401).await;
    assert_eq!((answer.status, refresh(origin, &ended.refresh).await.status), (401, 401));

    let erased = bed.sign_in("erased@example.com").await;
    origin.request("DELETE /v1/me").by(&erased.member).send().await.expect(204);
    assert_eq!(refresh(origin, &erased.refresh).await.status, 401);
    let again = bed.sign_in("erased@example.com").await;
    assert_ne!(again.member.id, erased.member.id, "another account");
    assert_eq!(me(origin, &again.member).await.expect(200)["email"], "erased@example.com");
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_sent_to_addresses_for_allowed_sites_alone_and_its_rate_is_limited() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    for wrong in
        [json!({"email": "ann", "site": SITE}), json!({"site": SITE}), json!({"email": "a@b.example"}), json!({})]
    {
        let refused = origin.request("POST /v1/auth/email").json(&wrong).send().await;
        assert_eq!((refused.status, &refused.json["code"]), (400, &json!("invalid_request")), "{wrong}");
    }
    for site in [FOREIGN, "null", "http://localhost:3000/path", "http://user@localhost:3000"] {
        let refused = request_mail(origin, "ann@example.com", site).await;
        assert_eq!((refused.status, &refused.json["code"]), (403, &json!("site_not_allowed")), "{site}");
    }
    assert_eq!(bed.mailbox.mails().len(), 0);

    let url = Password::new(&bed.mailbox.url());
    let limited = TestOrigin::start_with(|config| {
        config.mail.url = url;
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.sign_in_mails_per_hour_mailbox = 2;
    })
    .await;
    for expected in [202, 202, 429] {
        let answer = request_mail(&limited, "ann@example.com", SITE).await;
        assert_eq!((answer.status, answer.text.is_empty()), (expected, expected == 202));
    }
    assert_eq!(request_mail(&limited, "bo@example.com", SITE).await.status, 202);

    let without = TestOrigin::start().await;
    assert_eq!(without.get("/v1/auth/providers").await.json, json!({"data": []}));
    assert_eq!(request_mail(&without, "ann@example.com", SITE).await.status, 404);
}

/// An origin whose readers sign in with the provider.
pub(crate) async fn start_with_provider(provider: &FakeProvider) -> TestOrigin {
    let settings = provider.settings();
    TestOrigin::start_with(|config| config.auth.providers = vec![settings]).await
}

/// A visit to the provider: where it leads back to, and the cookie of the browser.
pub(crate) async fn visit(origin: &TestOrigin) -> (String, String) {
    let begun = origin.get(&format!("/v1/auth/github?site={SITE}")).await;
    assert_eq!((begun.status, begun.header("cache-control")), (302, "private, no-store"));
    let (cookie, attributes) = begun.header("set-cookie").split_once(';').expect("a cookie");
    assert_eq!(attributes, " Path=/v1/auth; Max-Age=600; HttpOnly; SameSite=Lax");
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    let agreed = client.get(begun.header("location")).send().await.expect("the provider answers");
    let back = agreed.headers()["location"].to_str().expect("an address").to_owned();
    (back, cookie.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_in_githubs_manner_says_who_signs_in() {
    let provider = FakeProvider::start().await;
    let origin = start_with_provider(&provider).await;
    let providers = origin.get("/v1/auth/providers").await.json;
    assert_eq!(providers, json!({"data": [{"id": "github", "name": "GitHub", "kind": "oauth2"}]}));
    let (back, cookie) = visit(&origin).await;
    let SignedIn { member, .. } = SignedIn::of(&open(&origin, &back, &cookie).await);
    let profile = me(&origin, &member).await.expect(200);
    assert_eq!(
        (&profile["name"], &profile["avatar"], &profile["email"]),
        (&json!("Ann of GitHub"), &json!("https://avatars.example/42"), &json!("ann@example.com"))
    );
    // The code is used up, and so is the visit.
    assert_eq!(open(&origin, &back, &cookie).await.status, 400);

    // The number is the person, whatever they are called.
    *provider.user.lock().unwrap() = json!({"id": 42, "login": "renamed", "name": null, "avatar_url": null});
    let (back, cookie) = visit(&origin).await;
    assert_eq!(SignedIn::of(&open(&origin, &back, &cookie).await).member.id, member.id);
    *provider.user.lock().unwrap() = json!({"id": 43, "login": "annie", "name": "", "avatar_url": "data:x"});
    *provider.emails.lock().unwrap() = json!([{"email": "b@example.com", "primary": true, "verified": false}]);
    let (back, cookie) = visit(&origin).await;
    let other = SignedIn::of(&open(&origin, &back, &cookie).await).member;
    let profile = me(&origin, &other).await.expect(200);
    assert_eq!(
        (&profile["name"], &profile["avatar"], &profile["email"], &profile["notify"]),
        (&json!("annie"), &json!(null), &json!(null), &json!("never"))
    );
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn visit_ends_in_the_browser_that_began_it_and_for_its_site_alone() {
    let provider = FakeProvider::start().await;
    let origin = start_with_provider(&provider).await;
    for (path, expected) in [
        (format!("/v1/auth/github?site={FOREIGN}"), 403),
        ("/v1/auth/github".to_owned(), 400),
        (format!("/v1/auth/gitlab?site={SITE}"), 404),
        (format!("/v1/auth/email?site={SITE}"), 405),
    ] {
        let refused = origin.get(&path).await;
        assert_eq!((refused.status, refused.headers.contains_key("set-cookie")), (expected, false), "{path}");
    }
    let (back, cookie) = visit(&origin).await;
    let (_, other_cookie) = visit(&origin).await;
    let forged = cookie.replace("gailou_visit=", "gailou_visit=x");
    for cookies in ["", &other_cookie, &forged] {
        assert_eq!(open(&origin, &back, cookies).await.status, 400, "{cookies}");
    }
    let elsewhere = back.replace("code=code0", "code=stolen");
    assert_eq!(open(&origin, &elsewhere, &cookie).await.status, 400);
    assert_eq!(
        open(&origin, &format!("{}/v1/auth/github/callback?error=access_denied", origin.base()), &cookie).await.status,
        400
    );
    // A code of another visit has another challenge.
    let (second, second_cookie) = visit(&origin).await;
    let mixed = second.replace("code=code2", "code=code1");
    assert_ne!(mixed, second);
    assert_eq!(open(&origin, &mixed, &second_cookie).await.status, 400);
    *provider.fails.lock().unwrap() = true;
    let (third, third_cookie) = visit(&origin).await;
    assert_eq!(open(&origin, &third, &third_cookie).await.status, 400);
    *provider.fails.lock().unwrap() = false;
    // Ten minutes later the first one is over.
    origin.advance(Duration::from_secs(601));
    assert_eq!(open(&origin, &back, &cookie).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn address_of_the_administrator_is_opened_once_and_leads_to_the_console() {
    let origin = TestOrigin::start().await;
    let url = make_admin_url(&origin.app).await.expect("an address");
    let opened = open(&origin, &url, "").await;
    assert_eq!((opened.status, opened.header("location")), (302, "/console"));
    assert_eq!(open(&origin, &url, "").await.status, 400);
    let answer = refresh(&origin, &refresh_cookie(&opened)).await.expect(200);
    let administrator = member_of(answer["token"].as_str().expect("a token"));
    assert_eq!(me(&origin, &administrator).await.expect(200)["role"], "admin");
    origin.request("GET /v1/admin/settings").by(&administrator).send().await.expect(200);
    // Another address is of the same administrator, unless it is of another installation, or of a mail.
    let again = make_admin_url(&origin.app).await.expect("an address");
    let as_mail = again.replace("/auth/admin/", "/auth/email/");
    assert_eq!(open(&origin, &as_mail, "").await.status, 400);
    let again = make_admin_url(&origin.app).await.expect("an address");
    let answer = refresh(&origin, &refresh_cookie(&open(&origin, &again, "").await)).await.expect(200);
    assert_eq!(member_of(answer["token"].as_str().expect("a token")).id, administrator.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn address_that_the_hosts_token_says_is_the_members() {
    let origin = TestOrigin::start().await;
    let (before, now) = (ann(), origin.app.now() / 1_000);
    assert_eq!(me(&origin, &before).await.expect(200)["email"], Value::Null);
    let sign = |email: Value| {
        host_token(&json!({
            "sub": "7", "name": "Ann", "aud": "gailou", "email": email, "exp": now + 600,
        }))
    };
    let with = sign(json!("Ann@Example.com"));
    let profile = poll_until(|| me(&origin, &with), |answer| !answer.json["email"].is_null()).await.expect(200);
    assert_eq!((&profile["email"], &profile["notify"]), (&json!("ann@example.com"), &json!("each")));
    me(&origin, &sign(json!("no address"))).await.expect(200);
    let moved = sign(json!("ann@other.example"));
    let profile = poll_until(|| me(&origin, &moved), |answer| answer.json["email"] == "ann@other.example").await;
    assert_eq!(profile.expect(200)["email"], "ann@other.example");
    assert_eq!(me(&origin, &before).await.expect(200)["email"], "ann@other.example");
    // It goes with the member.
    origin.request("DELETE /v1/me").by(&moved).send().await.expect(204);
    let contact = || async {
        let members = [before.id.parse().unwrap()];
        origin.app.tables.read_contacts(&members).await.expect("contacts").len()
    };
    assert_eq!(poll_until(contact, |found| *found == 0).await, 0);
}

/// A token that the host signs with these claims.
fn host_token(claims: &Value) -> TestMember {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use hmac::{Hmac, Mac as _};
    let encode = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let signed = format!("{}.{}", encode(&json!({"alg": "HS256", "typ": "JWT"})), encode(claims));
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(gailou_tests::TOKEN_SECRET.as_bytes()).expect("a key");
    mac.update(signed.as_bytes());
    member_of(&format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())))
}
