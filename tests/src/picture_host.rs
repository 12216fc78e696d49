//! A host of pictures elsewhere, good ones and bad ones, and exports whose comments show them.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use gailou_shared::limits::MAX_MEDIA_BYTES;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::CommandOutput;

/// The host, and how often it was asked for each picture.
#[derive(Debug)]
pub struct PictureHost {
    pub url: String,
    asked: Mutex<BTreeMap<String, usize>>,
}

fn file(kind: ImageFormat) -> Response {
    let image: DynamicImage = RgbImage::from_fn(30, 20, |x, y| Rgb([x as u8, y as u8, 90])).into();
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, kind).expect("a picture");
    // What a host says of its files counts for nothing.
    ([(header::CONTENT_TYPE, "text/plain")], file.into_inner()).into_response()
}

fn redirect(to: &str) -> Response {
    (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
}

async fn answer(State(host): State<Arc<PictureHost>>, uri: Uri) -> Response {
    *host.asked.lock().expect("no panic").entry(uri.path().to_owned()).or_default() += 1;
    match uri.path() {
        "/cat.png" | "/1.png" | "/2.png" | "/3.png" | "/4.png" | "/5.png" => file(ImageFormat::Png),
        "/photo.jpg" => file(ImageFormat::Jpeg),
        "/moving.gif" => file(ImageFormat::Gif),
        "/large.png" => vec![0; MAX_MEDIA_BYTES + 1].into_response(),
        "/endless.png" => {
            let parts = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![0; 1 << 16]));
            Body::from_stream(parts).into_response()
        }
        "/page.png" => ([(header::CONTENT_TYPE, "image/png")], "<!doctype html><script>x</script>").into_response(),
        "/cut.png" => ([(header::CONTENT_TYPE, "image/png")], &b"\x89PNG\r\n\x1a\n\0\0"[..]).into_response(),
        "/moved.png" => redirect("/cat.png"),
        "/secret.png" => redirect("file:///etc/passwd"),
        "/circle.png" => redirect("/circle.png"),
        "/silent.png" => std::future::pending().await,
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

impl PictureHost {
    pub async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let host = Arc::new(Self { url, asked: Mutex::default() });
        let routes = Router::new().fallback(answer).with_state(host.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        host
    }

    /// How often it was asked for each picture since the last call.
    pub fn take_asked(&self) -> BTreeMap<String, usize> {
        std::mem::take(&mut *self.asked.lock().expect("no panic"))
    }

    /// Writes an export of Twikoo with these texts on the page `blog.example/hello`, in which `URL` is this host; its path.
    pub fn write_export(&self, directory: &Path, texts: &[&str]) -> String {
        let comment = |(number, text): (usize, &&str)| {
            json!({
                "_id": format!("c{number}"), "nick": "Ann", "url": "/hello/", "href": "https://blog.example/hello/",
                "comment": text.replace("URL", &self.url), "created": 1_654_000_000_000_u64 + number as u64 * 1_000,
            })
        };
        let comments: Vec<Value> = texts.iter().enumerate().map(comment).collect();
        let path = directory.join("twikoo.json");
        std::fs::write(&path, Value::from(comments).to_string()).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// The lines of an import that name pictures, in the order of their addresses: what follows the host.
    pub fn failures(&self, output: &CommandOutput) -> Vec<String> {
        let start = format!("picture \"{}", self.url);
        let mut named: Vec<_> =
            output.stderr.lines().filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect();
        named.sort();
        assert_eq!(named.len(), output.stderr.lines().count(), "{}", output.stderr);
        named
    }
}

/// The last line of an import that fetches pictures.
#[must_use]
pub fn picture_import_report(imported: u64, skipped: u64, pictures: u64, failed: u64) -> String {
    format!(
        "{{\"imported\":{imported},\"skipped\":{skipped},\"reparented\":0,\"bad\":0,\"pictures\":{pictures},\
         \"pictures_failed\":{failed}}}"
    )
}
