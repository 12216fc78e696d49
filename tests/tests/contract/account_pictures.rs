//! Pictures that providers or host sites name, or owners of accounts choose: readers get them from the origin, and no other
//! host hears of a reader.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gailou_shared::token::{Member, Role};
use gailou_tests::{ApiResponse, TestMember, TestOrigin, comments_path, id, moderator, poll_until};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::json;
use tokio::net::TcpListener;

use crate::fake_provider::FakeProvider;
use crate::sign_in::{MailBed, SignedIn, me, member_of, open, refresh, visit};

const SUBJECT: &str = "article/pictures";
const FILE: &str = "/ann.png?v=1";

/// The host of pictures, and what it was asked.
struct PictureHost {
    url: String,
    asked: Mutex<Vec<(String, HeaderMap)>>,
}

async fn answer(State(host): State<Arc<PictureHost>>, uri: Uri, headers: HeaderMap) -> Response {
    host.asked.lock().unwrap().push((uri.to_string(), headers));
    let image: DynamicImage = RgbImage::from_pixel(300, 200, Rgb([10, 200, 10])).into();
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    ([(header::CONTENT_TYPE, "image/png")], file.into_inner()).into_response()
}

impl PictureHost {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}{FILE}", listener.local_addr().expect("an address"));
        let host = Arc::new(Self { url, asked: Mutex::default() });
        let routes = Router::new().route("/ann.png", get(answer)).with_state(host.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        host
    }

    fn take_asked(&self) -> Vec<(String, HeaderMap)> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// A reader whose provider names the picture of this host, on an origin that may ask hosts of this machine, or not.
async fn sign_in(host: &PictureHost, allow_private: bool) -> (TestOrigin, TestMember) {
    let provider = FakeProvider::start().await;
    provider.user.lock().unwrap()["avatar_url"] = json!(host.url);
    let settings = provider.settings();
    let origin = TestOrigin::start_with(|config| {
        config.auth.providers = vec![settings];
        config.webhooks.allow_private = allow_private;
    })
    .await;
    let (back, cookie) = visit(&origin).await;
    let member = SignedIn::of(&open(&origin, &back, &cookie).await).member;
    (origin, member)
}

/// Posts, and asks for the picture of the comment's author as a browser does; its path too.
async fn picture_in_a_comment(origin: &TestOrigin, by: &TestMember) -> (String, ApiResponse) {
    let posted = origin.post(by, SUBJECT, "With my picture").await;
    let avatar = posted["author"]["avatar"].as_str().expect("a picture");
    let path = avatar[avatar.find("/v1/avatars/").unwrap_or_else(|| panic!("{avatar} leads elsewhere"))..].to_owned();
    let request = origin.request(&format!("GET {path}")).header("user-agent", "a reader's browser");
    let picture = request.header("x-forwarded-for", "192.0.2.7").send().await;
    assert_eq!(picture.status, 200, "{}", picture.text);
    (path, picture)
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_that_a_provider_names_comes_from_the_origin() {
    let host = PictureHost::start().await;
    let (origin, member) = sign_in(&host, true).await;
    assert_eq!(me(&origin, &member).await.expect(200)["avatar"], json!(host.url), "its owner sees what it is");
    let (path, picture) = picture_in_a_comment(&origin, &member).await;
    let found = (picture.header("content-type"), picture.header("cache-control"));
    assert_eq!(found, ("image/png", "public, max-age=86400"));
    let asked = host.take_asked();
    let [(uri, headers)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(uri, FILE);
    // Nothing of the reader is in it.
    let names: Vec<_> = headers.keys().map(header::HeaderName::as_str).collect();
    assert!(names.iter().all(|name| ["host", "content-length"].contains(name)), "{names:?}");
    assert_eq!(origin.get(&path).await.status, 200);
    assert!(host.take_asked().is_empty(), "it is kept");

    // A hash that the installation has not made leads nowhere.
    let forged = format!("{}{}", &path[..path.len() - 1], if path.ends_with('0') { '1' } else { '0' });
    assert_eq!(origin.get(&forged).await.header("content-type"), "image/svg+xml");
    assert!(host.take_asked().is_empty());

    let erased = origin.request("DELETE /v1/me").by(&member).send().await;
    assert!(erased.status < 300, "{}", erased.text);
    assert_eq!(origin.get(&path).await.header("content-type"), "image/svg+xml", "also what is in memory");
}

/// A page as a widget of Waline names it.
const PAGE: &str = "article/%2Fpost";
/// Where readers reach the origin of a site whose members have pictures.
const PUBLIC_URL: &str = "https://comments.example";

/// An origin that readers reach at [`PUBLIC_URL`], and a member whose token names the picture of this host;
/// `None` where the search is not available.
async fn start_for_host_site(host: &PictureHost, proxy: bool) -> Option<(TestOrigin, TestMember)> {
    let origin = TestOrigin::start_with_search(|config| {
        config.public_url = Some(PUBLIC_URL.into());
        config.avatars.proxy = proxy;
        config.webhooks.allow_private = true;
    })
    .await?;
    let avatar = Some(host.url.clone());
    let ann = Member { id: "7".parse().unwrap(), name: "Ann".into(), avatar, level: 3, role: Role::Member };
    Some((origin, TestMember::of(&ann)))
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_that_a_token_names_comes_from_the_origin_wherever_a_comment_is_shown() {
    let host = PictureHost::start().await;
    let Some((origin, ann)) = start_for_host_site(&host, true).await else { return };
    let root = origin.post(&ann, PAGE, "With my picture").await;
    let avatar = root["author"]["avatar"].as_str().expect("a picture");
    let path = avatar.strip_prefix(PUBLIC_URL).expect("an address of the origin");
    assert!(path.starts_with("/v1/avatars/") && avatar.len() < 100 + 4 * host.url.len() / 3, "{avatar}");
    let list = async || origin.page(&comments_path(PAGE)).await;
    poll_until(list, |page| page["data"].as_array().is_some_and(|shown| !shown.is_empty())).await;
    let reads = [
        comments_path(PAGE),
        format!("/v1/comments/{}", id(&root)),
        format!("/v1/comments/{}/context", id(&root)),
        "/v1/members/7/comments".into(),
        "/v1/latest".into(),
        "/v1/admin/members/7".into(),
        "/v1/admin/comments".into(),
        "/compat/waline/api/comment?path=%2Fpost%2F&pageSize=10&page=1&lang=en&sortBy=insertedAt_desc".into(),
    ];
    for read in &reads {
        let ask = || origin.request(&format!("GET {read}")).by(&moderator()).send();
        let answer = poll_until(ask, |answer| answer.text.contains(avatar)).await;
        assert_eq!(answer.status, 200, "{read}: {}", answer.text);
        assert!(!answer.text.contains(&host.url), "{read} leads to the host: {}", answer.text);
        assert!(answer.text.contains(avatar), "{read}: {}", answer.text);
    }
    let picture = origin.get(path).await;
    let found = (picture.header("content-type"), picture.header("cache-control"));
    assert_eq!(found, ("image/png", "public, max-age=86400"));
    let asked = host.take_asked();
    let [(uri, headers)] = &asked[..] else { panic!("{asked:?}") };
    let names: Vec<_> = headers.keys().map(header::HeaderName::as_str).collect();
    assert_eq!((uri.as_str(), names.iter().all(|name| ["host", "content-length"].contains(name))), (FILE, true));
    assert_eq!(origin.get(path).await.header("content-type"), "image/png");
    assert!(host.take_asked().is_empty(), "it is kept");
    if origin.is_in_cluster() {
        let second = origin.start_second().await;
        let read = format!("/v1/comments/{}", id(&root));
        assert_eq!(second.get(&read).await.text, origin.get(&read).await.text);
        assert_eq!(second.get(path).await.header("content-type"), "image/png");
        assert_eq!(host.take_asked().len(), 1, "each process keeps its own copy");
    }

    // What the installation has not named is not fetched.
    let (signed, address) = path.rsplit_once('/').expect("an address");
    let other = format!("{}x", &address[..address.len() - 1]);
    for forged in [format!("{signed}/{other}"), format!("/v1/avatars/AAAAAAAAAAAAAAAAAAAAAA/{address}")] {
        assert_eq!(origin.get(&forged).await.status, 400, "{forged}");
    }
    assert!(host.take_asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_that_a_token_names_is_shown_from_its_host_where_a_setting_says_so() {
    let host = PictureHost::start().await;
    let Some((origin, ann)) = start_for_host_site(&host, false).await else { return };
    assert_eq!(origin.post(&ann, SUBJECT, "With my picture").await["author"]["avatar"], json!(host.url));
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_on_this_machine_is_not_asked_for() {
    let host = PictureHost::start().await;
    let (origin, member) = sign_in(&host, false).await;
    let (_, picture) = picture_in_a_comment(&origin, &member).await;
    let found = (picture.header("content-type"), picture.header("cache-control"));
    assert_eq!(found, ("image/svg+xml", "public, max-age=60"));
    assert!(host.take_asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_of_a_mailbox_hides_the_hash_of_its_address() {
    let host = PictureHost::start().await;
    let service = host.url.replace("ann.png?v=1", "{hash}");
    let bed = MailBed::start_with(|config| config.avatars.url = Some(service)).await;
    let SignedIn { member, refresh: cookie, .. } = bed.sign_in("ann@example.com").await;
    let named = bed.origin.request("PATCH /v1/me").by(&member).json(&json!({"name": "Ann"})).send().await;
    let avatar = named.expect(200)["avatar"].as_str().expect("a picture").to_owned();
    let (_, hash) = avatar.rsplit_once('/').expect("an address");
    let renamed = refresh(&bed.origin, &cookie).await.expect(200);
    let member = member_of(renamed["token"].as_str().expect("a token"));
    let (path, picture) = picture_in_a_comment(&bed.origin, &member).await;
    assert!(!path.contains(hash), "{path}");
    // The service has no file of this hash: its drawing.
    assert_eq!(picture.header("content-type"), "image/svg+xml");
}
