//! The sessions of pages: a code from a window or a mail, exchanged once; the sites that may have one; and what a
//! sign-in leaves behind.

use std::time::Duration;

use gailou::config::{AllowedOrigins, Password};
use gailou_tests::{ApiResponse, SmtpReceiver, TestOrigin};
use serde_json::json;

use crate::sign_in::{FOREIGN, MailBed, SITE, SignedIn, me, member_of, press, refresh, refresh_cookie, request_mail};

/// Exchanges a code as a page of this site.
async fn exchange(origin: &TestOrigin, code: &str, site: &str) -> ApiResponse {
    let body = json!({"code": code});
    origin.request("POST /v1/auth/session").header("origin", site).json(&body).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn page_exchanges_a_code_once_for_a_session_of_its_own() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let SignedIn { member, code, refresh: of_window } = bed.sign_in("ann@example.com").await;
    let exchanged = exchange(origin, &code, SITE).await;
    assert_eq!(exchanged.header("access-control-allow-credentials"), "true");
    let session = exchanged.clone().expect(200);
    assert_eq!(member_of(session["token"].as_str().unwrap()).id, member.id);
    let of_page = refresh_cookie(&exchanged);
    assert_ne!(of_page, of_window);
    refresh(origin, &of_page).await.expect(200);
    refresh(origin, &of_window).await.expect(200);
    exchange(origin, &code, SITE).await.expect(401);

    // It is for the site, and ends soon; another page that presents it ends it.
    let SignedIn { code, .. } = bed.sign_in("ann@example.com").await;
    exchange(origin, &code, FOREIGN).await.expect(403);
    exchange(origin, &code, "http://localhost:3001").await.expect(401);
    exchange(origin, &code, SITE).await.expect(401);
    let SignedIn { code, .. } = bed.sign_in("ann@example.com").await;
    origin.advance(Duration::from_secs(121));
    exchange(origin, &code, SITE).await.expect(401);
    exchange(origin, "", SITE).await.expect(401);
    let wrong = origin.request("POST /v1/auth/session").json(&json!({"code": 7})).send().await.expect(400);
    assert_eq!(wrong["errors"][0]["field"], "code");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_asked_for_a_link_gets_its_code_in_its_address() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    let ask = |page: &str, state: &str| {
        let body = json!({"email": "ann@example.com", "site": SITE, "page": page, "state": state});
        origin.request("POST /v1/auth/email").json(&body).send()
    };
    ask(&format!("{SITE}/a?b=c"), "x_7").await.expect(202);
    let page = press(origin, bed.mailbox.mail(0).await.link()).await;
    let SignedIn { code, .. } = SignedIn::of(&page);
    let way_back = format!("location.replace(\"{SITE}/a?b=c#gailou-code={code}&gailou-state=x_7\")");
    assert!(page.text.contains(&way_back), "{}", page.text);
    for (page, state, field) in [
        (FOREIGN, "x", "page"),
        ("http://localhost:3000.evil.example/", "x", "page"),
        ("http://localhost:3000/a#b", "x", "page"),
        ("http://localhost:3000/", "a b", "state"),
        ("http://localhost:3000/", "", "state"),
    ] {
        assert_eq!(ask(page, state).await.expect(400)["errors"][0]["field"], field, "{page} {state}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_is_for_sites_that_are_named() {
    let mailbox = SmtpReceiver::start().await;
    let url = Password::new(&mailbox.url());
    let origin = TestOrigin::start_with(|config| {
        config.mail.url = url;
        config.adjustable.sites = AllowedOrigins::parse(["*", SITE]).unwrap();
    })
    .await;
    let refresh = |site: &str| origin.request("POST /v1/auth/refresh").header("origin", site).send();
    let foreign = refresh(FOREIGN).await;
    assert_eq!((foreign.status, foreign.headers.get("access-control-allow-origin")), (403, None));
    assert_eq!(refresh(SITE).await.status, 401, "it may ask, and has no cookie");
    let guest = origin.request("POST /v1/guests").header("origin", FOREIGN).json(&json!({"name": "Eve"})).send().await;
    assert_eq!(guest.status, 201, "others may write");
}

#[tokio::test(flavor = "multi_thread")]
async fn account_has_the_picture_of_its_mailbox_where_a_service_has_pictures() {
    let mailbox = SmtpReceiver::start().await;
    let url = Password::new(&mailbox.url());
    let origin = TestOrigin::start_with(|config| {
        config.mail.url = url;
        config.avatars.url = Some("http://127.0.0.1:9/{hash}".into());
    })
    .await;
    let bed = MailBed { origin, mailbox };
    let SignedIn { member, .. } = bed.sign_in("Ann@Example.com").await;
    let profile = me(&bed.origin, &member).await.expect(200);
    // SHA-256 of ann@example.com.
    let hash = "71d4f55f72fa128dfb468a1a3901507c804b74316488744d769d7f4b16696476";
    let avatar = profile["avatar"].as_str().expect("a picture");
    assert!(avatar.ends_with(&format!("/v1/avatars/{hash}")), "{avatar}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_for_every_site_names_none_that_gets_a_token() {
    let mailbox = SmtpReceiver::start().await;
    let url = Password::new(&mailbox.url());
    let origin = TestOrigin::start_with(|config| {
        config.mail.url = url;
        config.adjustable.sites = AllowedOrigins::parse(["*", SITE]).unwrap();
    })
    .await;
    assert_eq!(request_mail(&origin, "ann@example.com", FOREIGN).await.status, 403);
    assert_eq!(request_mail(&origin, "ann@example.com", SITE).await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_and_pages_are_in_the_language_of_the_browser_that_signed_in() {
    let bed = MailBed::start().await;
    request_mail(&bed.origin, "lin@example.com", SITE).await.expect(202);
    let link = bed.mailbox.mail(0).await.link().to_owned();
    let path = &link[link.find("/v1/").unwrap()..];
    let asking = bed.origin.request(&format!("GET {path}")).header("accept-language", "ar").send().await;
    assert!(asking.text.contains(r#"lang="ar" dir="rtl""#) && asking.text.contains("تسجيل الدخول"), "{}", asking.text);
    let press = bed.origin.request(&format!("POST {path}")).header("origin", bed.origin.base());
    let page = press.header("accept-language", "zh-TW, en;q=0.8").send().await;
    assert!(page.text.contains("登入成功"), "{}", page.text);
    let SignedIn { member, .. } = SignedIn::of(&page);
    assert_eq!(me(&bed.origin, &member).await.expect(200)["language"], "zh-TW");
}
