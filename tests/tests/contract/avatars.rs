//! Pictures of members by the hashes of their addresses: the origin's own question to a service that is slow, fails or
//! lies, and a drawing where there is no picture.

use std::io::Cursor;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use gailou_tests::{ApiResponse, TestOrigin};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use tokio::net::TcpListener;

/// Longer than an origin waits.
const TOO_SLOW: Duration = Duration::from_secs(20);
/// More than an origin reads.
const TOO_MUCH_BYTES: usize = 300 << 10;

/// A service that answers by the first digits of a hash, and notes what it was asked.
struct FakeAvatars {
    /// A file of some kilobytes that has four million pixels and more.
    bomb: Vec<u8>,
    asked: Mutex<Vec<(String, HeaderMap)>>,
}

/// A hash of 64 digits that begins like this.
fn hash(begin: &str) -> String {
    format!("{begin}{}", "0".repeat(64 - begin.len()))
}

fn encoded(width: u32, height: u32, kind: ImageFormat) -> Vec<u8> {
    let image: DynamicImage = RgbImage::from_pixel(width, height, Rgb([200, 10, 10])).into();
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, kind).unwrap();
    bytes.into_inner()
}

async fn answer(State(service): State<Arc<FakeAvatars>>, Path(hash): Path<String>, headers: HeaderMap) -> Response {
    service.asked.lock().unwrap().push((hash.clone(), headers));
    let jpeg = |bytes: Vec<u8>| ([(header::CONTENT_TYPE, "image/jpeg")], bytes).into_response();
    match &hash[..2] {
        "aa" => jpeg(encoded(300, 200, ImageFormat::Jpeg)),
        "ab" => jpeg([&encoded(20, 20, ImageFormat::Png)[..], b"<script>alert(1)</script>"].concat()),
        "ba" => jpeg(b"<!doctype html><script>alert(1)</script>".to_vec()),
        "bb" => jpeg(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>".to_vec()),
        "bc" => jpeg(service.bomb.clone()),
        "bd" => jpeg(vec![0; TOO_MUCH_BYTES]),
        "ca" => Redirect::temporary(&format!("/{}", self::hash("aa"))).into_response(),
        "cb" => {
            tokio::time::sleep(TOO_SLOW).await;
            jpeg(encoded(20, 20, ImageFormat::Jpeg))
        }
        "cc" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// An origin that asks the service.
async fn start() -> (TestOrigin, Arc<FakeAvatars>) {
    let service = Arc::new(FakeAvatars { bomb: encoded(2_100, 2_000, ImageFormat::Png), asked: Mutex::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/{{hash}}?s=160", listener.local_addr().expect("an address"));
    let routes = Router::new().route("/{hash}", get(answer)).with_state(service.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (TestOrigin::start_with(move |config| config.avatars.url = Some(url)).await, service)
}

async fn picture_of(origin: &TestOrigin, hash: &str) -> ApiResponse {
    let answer = origin.get(&format!("/v1/avatars/{hash}")).await;
    assert_eq!(answer.status, 200, "{hash}: {}", answer.text);
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("access-control-allow-origin", "*"),
    ] {
        assert_eq!(answer.header(name), value, "{hash}");
    }
    answer
}

/// Checks that the answer is the drawing of this hash, for so many seconds.
#[track_caller]
fn assert_drawing(answer: &ApiResponse, seconds: u32) {
    assert_eq!(answer.header("content-type"), "image/svg+xml");
    assert!(answer.text.starts_with("<svg ") && !answer.text.contains("script"), "{}", answer.text);
    assert_eq!(answer.header("cache-control"), format!("public, max-age={seconds}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_is_encoded_again_and_asked_for_once() {
    let (origin, service) = start().await;
    let request = format!("GET /v1/avatars/{}", hash("aa"));
    let ask =
        || origin.request(&request).header("user-agent", "a reader's browser").header("x-forwarded-for", "192.0.2.7");
    let answers = futures_util::future::join_all((0..8).map(|_| ask().send())).await;
    for answer in &answers {
        let found = (answer.status, answer.header("content-type"), answer.header("cache-control"));
        assert_eq!(found, (200, "image/jpeg", "public, max-age=86400"));
    }
    let asked = std::mem::take(&mut *service.asked.lock().unwrap());
    assert_eq!(asked.len(), 1, "eight readers are one question");
    // Nothing of the reader is in it.
    let (_, headers) = &asked[0];
    let names: Vec<_> = headers.keys().map(header::HeaderName::as_str).collect();
    assert!(names.iter().all(|name| ["host", "content-length"].contains(name)), "{names:?}");
    // What follows the pixels is gone.
    let other = picture_of(&origin, &hash("ab")).await;
    assert_eq!(other.header("content-type"), "image/png");
    assert!(!other.text.contains("script"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hash_without_a_picture_is_a_drawing() {
    let (origin, service) = start().await;
    assert_drawing(&picture_of(&origin, &hash("00")).await, 3_600);
    // What lies about its kind, has too many pixels or bytes, leads elsewhere or fails.
    for lie in ["ba", "bb", "bc", "bd", "ca"] {
        assert_drawing(&picture_of(&origin, &hash(lie)).await, 60);
    }
    assert_eq!(service.asked.lock().unwrap().len(), 6, "the redirect was not followed");
    assert_drawing(&picture_of(&origin, &hash("cc")).await, 60);
    let begun = std::time::Instant::now();
    assert_drawing(&picture_of(&origin, &hash("cb")).await, 60);
    assert!(begun.elapsed() < TOO_SLOW / 2, "{:?}", begun.elapsed());
    // Three failures in a row: it is not asked for a while, and nothing waits.
    assert_drawing(&picture_of(&origin, &hash("c0")).await, 60);
    assert!(service.asked.lock().unwrap().iter().all(|(asked, _)| *asked != hash("c0")));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_service_every_hash_is_its_drawing() {
    let origin = TestOrigin::start().await;
    let md5 = "0f".repeat(16);
    let (first, other) = (picture_of(&origin, &md5).await, picture_of(&origin, &hash("1")).await);
    assert_drawing(&first, 86_400);
    assert_ne!(first.text, other.text);
    assert_eq!(first.text, picture_of(&origin, &md5).await.text);
    for wrong in ["0f", &"0F".repeat(16), &"0g".repeat(16), &"0".repeat(63), "0f%2f0f"] {
        let refused = origin.get(&format!("/v1/avatars/{wrong}")).await;
        assert_eq!((refused.status, refused.json["errors"][0]["field"].as_str()), (400, Some("hash")), "{wrong}");
    }
}
