//! Mails to members: what is in them, when they are sent, and how they end.

use std::time::Duration;

use gailou::domain::email_address::EmailAddress;
use gailou::domain::mail_plan::mail_at;
use gailou::domain::member_contact::ContactPatch;
use gailou_shared::page_language::ReaderLanguage;
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
    for language in ReaderLanguage::ALL {
        let page = origin.request(&format!("GET {address}")).header("accept-language", language.tag()).send().await;
        let begin = format!("<html lang=\"{}\" dir=\"{}\">", language.tag(), language.direction());
        assert!(page.text.contains(&begin), "{}", page.text);
        assert_eq!(page.text.contains("Stop"), language == ReaderLanguage::English, "{}", page.text);
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn answer_high_in_a_building_is_mailed_with_its_frames_and_how_many_floors_are_not_shown() {
    let mails = SmtpReceiver::start().await;
    let origin = start(&mails).await;
    let (ann, bob) = (ann(), bob());
    change(&origin, &ann, reached_at("ann@example.com", "en")).await;
    let mut top = origin.post(&bob, SUBJECT, "floor 1").await;
    for number in 2..=7 {
        top = origin.reply(&bob, &top, &format!("floor {number}")).await;
    }
    top = origin.reply(&ann, &top, "floor 8").await;
    let answer = origin.reply(&bob, &top, "floor 9, **at last**").await;
    let mail = mails.wait_for(1).await.remove(0);
    let content_type = mail.header("Content-Type");
    let boundary = content_type.split('"').nth(1).expect("a boundary").to_owned();
    let parts: Vec<&str> = mail.text.split(&format!("--{boundary}")).collect();
    let [_, text, html, _] = parts[..] else { panic!("two parts: {}", mail.text) };
    let (head, text) = text.split_once("\n\n").expect("a body");
    assert!(head.contains("text/plain"), "{head}");
    let link = format!("https://comments.example.com/t/topic/mail?comment={0}#comment-{0}", id(&answer));
    let expected = format!(
        "Bob answered you on “mail”\n\n\
         >>>>>> Bob: floor 1\n>>>>> Bob: floor 2\n>>>> ⋯ 3 more floors\n\
         >>> Bob: floor 6\n>> Bob: floor 7\n> Ann: floor 8\n\n\
         floor 9, **at last**\n\n{link}\n\n-- \n"
    );
    assert!(text.starts_with(&expected), "{text}");
    let (head, html) = html.split_once("\n\n").expect("a body");
    assert!(head.contains("text/html"), "{head}");
    let frame = "<div style=\"margin:4px 0;padding:3px;border:1px solid #d9b3a6;border-radius:4px;color:#555\">";
    let row = |inside: &str| format!("<div style=\"padding:2px 6px\">{inside}</div>");
    let floor =
        |number: u8, name: &str| row(&format!("<small>{number} </small><b><bdi>{name}</bdi></b>: floor {number}"));
    let frames = [
        frame.repeat(5),
        floor(1, "Bob"),
        "</div>".into(),
        floor(2, "Bob"),
        row("<small>⋯ 3 more floors</small>"),
        "</div>".into(),
        floor(6, "Bob"),
        "</div>".into(),
        floor(7, "Bob"),
        "</div>".into(),
        floor(8, "Ann"),
        "</div>".into(),
    ];
    let expected = format!("{}<div><p>floor 9, <strong>at last</strong></p>", frames.concat());
    assert!(html.contains(&expected), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn digest_of_a_day_is_one_mail_with_everything_when_it_is_due() {
    let mails = SmtpReceiver::start().await;
    let origin = start(&mails).await;
    let (ann, bob) = (ann(), bob());
    change(&origin, &ann, reached_at("ann@example.com", "en")).await;
    let daily = origin.request("PATCH /v1/me").by(&ann).json(&json!({"notify": "daily"})).send().await.expect(200);
    assert_eq!((&daily["notify"], &daily["email"]), (&json!("daily"), &json!("ann@example.com")));
    let root = origin.post(&ann, SUBJECT, "the ground floor").await;
    let due = mail_at(NotifyChoice::Daily, ann.id.parse().unwrap(), origin.app.now()).expect("a moment");
    for number in 1..=3 {
        origin.reply(&bob, &root, &format!("answer {number}")).await;
    }
    let unread = || async { origin.request("GET /v1/me/notifications").by(&ann).send().await.expect(200) };
    assert_eq!(poll_until(unread, |page| page["unread"] == 3).await["unread"], 3);
    let wait = due - origin.app.now();
    origin.advance(Duration::from_millis(wait - 1));
    // The job has looked for mails at this moment, some times.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(mails.mails(), [], "{wait} ms are not over");
    origin.advance(Duration::from_millis(1));
    let mail = mails.wait_for(1).await.remove(0);
    assert_eq!(mail.to, "ann@example.com");
    assert_eq!(mail.header("Subject"), "3 notifications");
    for number in 1..=3 {
        let answer = format!("\nanswer {number}\n");
        assert_eq!(mail.text.matches(&answer).count(), 1, "{}", mail.text);
    }
    // A day later there is nothing new, and so no mail; what is new then is another one.
    origin.advance(Duration::from_secs(86_400));
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(mails.mails().len(), 1);
    origin.reply(&bob, &root, "the day after").await;
    assert_eq!(poll_until(unread, |page| page["unread"] == 4).await["unread"], 4);
    origin.advance(Duration::from_secs(86_400));
    let next = mails.wait_for(2).await.remove(1);
    assert!(next.text.contains("\nthe day after\n") && !next.text.contains("answer 1"), "{}", next.text);
}
