//! What keeps a sign-in to its reader: the cookies over an encrypted connection, the short life of an administrator's
//! address, and that nothing of the tables signs anybody in.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gailou::service::sign_in::make_admin_url;
use gailou_tests::{ApiResponse, TestOrigin};
use serde_json::json;

use crate::fake_provider::FakeProvider;
use crate::sign_in::{MailBed, SITE, open, refresh, refresh_cookie, request_mail};

const PUBLIC_URL: &str = "https://comments.example";

/// The one cookie that an answer sets: its name, its value, and its attributes as they are sent.
#[track_caller]
fn cookie(answer: &ApiResponse, name: &str) -> (String, String) {
    let cookies = answer.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let own: Vec<_> = cookies.filter_map(|cookie| cookie.strip_prefix(name)?.strip_prefix('=')).collect();
    let [cookie] = own[..] else { panic!("one cookie {name}: {own:?} {}", answer.text) };
    let (value, attributes) = cookie.split_once("; ").expect("attributes");
    (value.to_owned(), attributes.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_for_encrypted_connections_where_readers_have_one() {
    let provider = FakeProvider::start().await;
    let settings = provider.settings();
    let bed = MailBed::start_with(|config| {
        config.public_url = Some(PUBLIC_URL.into());
        config.auth.providers = vec![settings];
    })
    .await;
    let origin = &bed.origin;
    request_mail(origin, "ann@example.com", SITE).await.expect(202);
    let mail = bed.mailbox.mail(0).await;
    let path = mail.link().strip_prefix(PUBLIC_URL).expect("it leads to where readers are").to_owned();
    let page = origin.request(&format!("POST {path}")).header("origin", PUBLIC_URL).send().await;
    assert_eq!(page.status, 200, "{}", page.text);
    let of_pages = "HttpOnly; Secure; SameSite=None; Partitioned";
    let (token, attributes) = cookie(&page, "gailou_refresh");
    assert_eq!(attributes, format!("Path=/v1/auth; Max-Age=2592000; {of_pages}"));
    let (next, attributes) = cookie(&refresh(origin, &token).await, "gailou_refresh");
    assert!(next != token && attributes == format!("Path=/v1/auth; Max-Age=2592000; {of_pages}"), "{attributes}");
    let end = origin.request("DELETE /v1/auth/session").header("cookie", &format!("gailou_refresh={next}"));
    let ended = end.send().await;
    assert_eq!(ended.status, 204);
    let forgotten = (String::new(), format!("Path=/v1/auth; Max-Age=0; {of_pages}"));
    assert_eq!(cookie(&ended, "gailou_refresh"), forgotten, "a browser forgets a cookie by its attributes");

    // The provider leads back by a link, for which a cookie of this site alone is enough.
    let begun = origin.get(&format!("/v1/auth/github?site={SITE}")).await;
    assert_eq!(begun.status, 302, "{}", begun.text);
    let (visit, attributes) = cookie(&begun, "gailou_visit");
    assert_eq!(attributes, "Path=/v1/auth; Max-Age=600; HttpOnly; Secure; SameSite=Lax");
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    let agreed = client.get(begun.header("location")).send().await.expect("the provider answers");
    let back = agreed.headers()["location"].to_str().expect("an address").to_owned();
    assert!(back.starts_with(PUBLIC_URL), "{back}");
    let page = open(origin, &back, &format!("gailou_visit={visit}")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let forgotten = (String::new(), "Path=/v1/auth; Max-Age=0; HttpOnly; Secure; SameSite=Lax".to_owned());
    assert_eq!(cookie(&page, "gailou_visit"), forgotten);
    assert_eq!(cookie(&page, "gailou_refresh").1, format!("Path=/v1/auth; Max-Age=2592000; {of_pages}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn address_of_the_administrator_ends_after_a_quarter_of_an_hour() {
    let origin = TestOrigin::start().await;
    let (first, second) = (make_admin_url(&origin.app).await.unwrap(), make_admin_url(&origin.app).await.unwrap());
    origin.advance(Duration::from_secs(15 * 60 - 1));
    assert_eq!(open(&origin, &first, "").await.status, 302, "a second before");
    origin.advance(Duration::from_secs(2));
    let late = open(&origin, &second, "").await;
    assert_eq!((late.status, late.headers.contains_key("set-cookie")), (400, false), "{}", late.text);
    origin.sweep().await;
    assert_eq!(open(&origin, &second, "").await.status, 400, "and never again");
}

/// Every file below a folder, with its bytes.
fn read_files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_files(&path, found);
        } else if path.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).expect("a file")));
        }
    }
}

fn of_hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex");
    (0..text.len() / 2).map(byte).collect()
}

/// The secret of a refresh token, which is behind its account and its family.
fn of_token(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).expect("base64")[16..].to_vec()
}

/// The random bytes that a text stands for.
type BytesOf = fn(&str) -> Vec<u8>;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_stored_signs_anybody_in() {
    let bed = MailBed::start().await;
    let origin = &bed.origin;
    if origin.is_in_cluster() {
        // Its tables are in the files of servers; what is written there is the same.
        return;
    }
    // Of each: what was used, and what is good still.
    let used = bed.sign_in("ann@example.com").await;
    let link = bed.mailbox.mail(0).await.link().to_owned();
    let next = refresh_cookie(&refresh(origin, &used.refresh).await);
    let body = json!({"code": used.code});
    let session = origin.request("POST /v1/auth/session").header("origin", SITE).json(&body).send().await;
    assert_eq!(session.status, 200, "{}", session.text);
    let other = bed.sign_in("ann@example.com").await;
    let admin_url = make_admin_url(&origin.app).await.unwrap();
    request_mail(origin, "bo@example.com", SITE).await.expect(202);
    let unopened = bed.mailbox.mail(2).await.link().to_owned();
    let secret_of = |link: &str| link.split_once("token=").expect("a secret").1.to_owned();
    let secrets: [(&str, String, BytesOf); 9] = [
        ("opened link", secret_of(&link), of_hex),
        ("link", secret_of(&unopened), of_hex),
        ("address of the administrator", secret_of(&admin_url), of_hex),
        ("used code", used.code, of_hex),
        ("code", other.code, of_hex),
        ("used token", used.refresh, of_token),
        ("token", next, of_token),
        ("token of a page", refresh_cookie(&session), of_token),
        ("other token", other.refresh, of_token),
    ];
    let mut files = Vec::new();
    read_files(&origin.app.config.data, &mut files);
    let has_bytes = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let is_there = |part: &str| files.iter().any(|(_, bytes)| has_bytes(bytes, part.as_bytes()));
    assert!(is_there("bo@example.com"), "what is stored of a link is found: {:?}", files.len());
    for (what, text, bytes) in secrets {
        // As it was sent, and as the random bytes that it stands for.
        let bytes = bytes(&text);
        assert_eq!(bytes.len(), 32, "{what}");
        for (name, file) in &files {
            assert!(!has_bytes(file, text.as_bytes()), "{name} has the {what}");
            assert!(!has_bytes(file, &bytes), "{name} has the bytes of the {what}");
        }
    }
}
