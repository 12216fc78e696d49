//! Mails to members: what is in them, and how they end.

use gailou::domain::email_address::EmailAddress;
use gailou::domain::member_contact::ContactPatch;
use gailou_shared::wire::NotifyChoice;
use gailou_tests::{SmtpReceiver, TestMember, TestOrigin, ann, bob, id, poll_until};
use serde_json::json;

const SUBJECT: &str = "topic/mail";

async fn start(mails: &SmtpReceiver) -> TestOrigin {
    let url = mails.url();
    TestOrigin::start_with(|config| {
        config.mail = serde_json::from_value(json!({"url": url, "from": "comments@example.com"})).unwrap();
        config.public_url = Some("https://comments.example.com".into());
    })
    .await
}

async fn change(origin: &TestOrigin, of: &TestMember, patch: ContactPatch) -> NotifyChoice {
    origin.app.tables.change_contact(of.id.parse().unwrap(), &patch).await.unwrap().notify()
}

fn reached_at(address: &str, language: &str) -> ContactPatch {
    let language = Some(Some(language.to_owned()));
    ContactPatch { email: EmailAddress::parse(address), language, ..ContactPatch::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_is_mailed_with_its_building_and_one_click_ends_the_mails() {
    let mails = SmtpReceiver::start().await;
    let origin = start(&mails).await;
    let (ann, bob) = (ann(), bob());
    change(&origin, &ann, reached_at("ann@example.com", "zh-CN")).await;
    let root = origin.post(&ann, SUBJECT, "the ground floor").await;
    let reply = origin.reply(&bob, &root, "the first floor").await;
    let mail = mails.wait_for(1).await.remove(0);
    assert_eq!((mail.to.as_str(), mail.header("From").as_str()), ("ann@example.com", "comments@example.com"));
    assert_eq!(mail.header("List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
    assert!(mail.header("Content-Type").starts_with("multipart/alternative"), "{}", mail.text);
    assert!(mail.header("Auto-Submitted") == "auto-generated");

    let address = mail.header("List-Unsubscribe");
    let address = address.trim_matches(['<', '>']).strip_prefix("https://comments.example.com").unwrap();
    let page = origin.get(address).await;
    assert_eq!((page.status, page.header("cache-control")), (200, "private, no-store"));
    assert!(page.text.contains("<form method=\"post\">"), "{}", page.text);
    assert!(!page.header("content-security-policy").contains("script"));
    // Opening the address changes nothing.
    let second = origin.reply(&bob, &root, "the second").await;
    mails.wait_for(2).await;
    let forged = address.replace(&format!("member={}", ann.id), &format!("member={}", bob.id));
    for (path, status) in [(forged.as_str(), 403), ("/v1/unsubscribe", 400), (&address[..address.len() - 1], 403)] {
        assert_eq!(origin.get(path).await.status, status, "{path}");
        assert_eq!(origin.request(&format!("POST {path}")).send().await.status, status, "{path}");
    }
    for _ in 0..2 {
        let click =
            origin.request(&format!("POST {address}")).header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(click.bytes("List-Unsubscribe=One-Click").send().await.status, 200);
    }
    assert_eq!(change(&origin, &ann, ContactPatch::default()).await, NotifyChoice::Never);
    let third = origin.reply(&bob, &root, "the third").await;
    let notified = || async { origin.request("GET /v1/me/notifications").by(&ann).send().await.expect(200) };
    let notified = poll_until(notified, |notified| notified["unread"] == 3).await;
    assert_eq!(notified["unread"], 3, "{} {} {}", id(&reply), id(&second), id(&third));
    // Who is mailed again is mailed of what follows alone.
    change(&origin, &ann, ContactPatch { notify: Some(NotifyChoice::Each), ..ContactPatch::default() }).await;
    origin.reply(&bob, &root, "the fourth").await;
    let last = mails.wait_for(3).await.remove(2);
    assert_ne!(last.header("Message-ID"), mail.header("Message-ID"));
}
