//! `gailou import --fetch-pictures`: pictures of other hosts become pictures of the installation, and stay.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use gailou::jobs::sweep_media;
use gailou_shared::limits::{MAX_MEDIA_BYTES, MEDIA_RETENTION_MS};
use gailou_tests::{CommandOutput, GailouProcess, TestOrigin, comments_on, run_command};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{command_on, write_file};

const COMMENTS: &str = "/v1/subjects/article/blog.example%2Fhello/comments?sort=old";

/// A host of pictures, and how often it was asked for each.
struct ForeignHost {
    url: String,
    asked: Mutex<BTreeMap<String, usize>>,
}

fn file(kind: ImageFormat) -> Response {
    let image: DynamicImage = RgbImage::from_fn(30, 20, |x, y| Rgb([x as u8, y as u8, 90])).into();
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, kind).unwrap();
    // What a host says of its files counts for nothing.
    ([(header::CONTENT_TYPE, "text/plain")], file.into_inner()).into_response()
}

fn redirect(to: &str) -> Response {
    (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
}

async fn answer(State(host): State<Arc<ForeignHost>>, uri: Uri) -> Response {
    *host.asked.lock().unwrap().entry(uri.path().to_owned()).or_default() += 1;
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

impl ForeignHost {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host =
            Arc::new(Self { url: format!("http://{}", listener.local_addr().unwrap()), asked: Mutex::default() });
        let routes = Router::new().fallback(answer).with_state(host.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        host
    }

    fn take_asked(&self) -> BTreeMap<String, usize> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// An export of Twikoo with these texts, in which `URL` is this host.
    fn write_export(&self, directory: &Path, texts: &[&str]) -> String {
        let comment = |(number, text): (usize, &&str)| {
            json!({
                "_id": format!("c{number}"), "nick": "Ann", "url": "/hello/", "href": "https://blog.example/hello/",
                "comment": text.replace("URL", &self.url), "created": 1_654_000_000_000_u64 + number as u64 * 1_000,
            })
        };
        let comments: Vec<Value> = texts.iter().enumerate().map(comment).collect();
        write_file(directory, "twikoo.json", &Value::from(comments).to_string())
    }
}

/// Imports an export of Twikoo with these options; it may ask this machine.
async fn import(data: &Path, file: &str, options: &[&str]) -> CommandOutput {
    let mut command = command_on(data, &[&["import", "--from", "twikoo", file], options].concat());
    command.env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "true");
    run_command(command).await
}

fn report(imported: u64, skipped: u64, pictures: u64, failed: u64) -> String {
    format!(
        "{{\"imported\":{imported},\"skipped\":{skipped},\"reparented\":0,\"bad\":0,\"pictures\":{pictures},\
         \"pictures_failed\":{failed}}}"
    )
}

/// The lines that name pictures, in the order of their addresses: what follows the host.
fn failures(output: &CommandOutput, host: &ForeignHost) -> Vec<String> {
    let start = format!("picture \"{}", host.url);
    let mut named: Vec<_> =
        output.stderr.lines().filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect();
    named.sort();
    assert_eq!(named.len(), output.stderr.lines().count(), "{}", output.stderr);
    named
}

/// The content of each comment, with what it shows.
fn shown(page: &Value) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    for comment in comments_on(page) {
        let media = comment["media"].as_array().unwrap();
        let alts = media.iter().map(|media| media["alt"].as_str().unwrap()).collect();
        found.push((comment["content"].as_str().unwrap(), alts));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_other_hosts_become_pictures_here_and_stay() {
    let host = ForeignHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let texts = [
        "<p>See my <img src='URL/cat.png' alt='cat'> here</p>",
        "<p>Two:</p><p><img src='URL/photo.jpg'><img src='URL/moving.gif' alt='a wave'></p>",
        "<p><img src='URL/cat.png' alt='again'></p>",
        "<p>Moved: <img src='URL/moved.png'></p><p>a <a href='URL/cat.png'>link</a></p>",
        "<p><img src='URL/1.png'><img src='URL/2.png'><img src='URL/3.png'><img src='URL/1.png'><img src='URL/4.png'>\
         <img src='URL/5.png' alt='five'></p>",
    ];
    let file = host.write_export(directory.path(), &texts);

    let dry = import(&data, &file, &["--dry-run", "--fetch-pictures"]).await;
    let expected = r#"{"subjects":1,"comments":5,"left_out":0,"bad":0,"pictures":9}"#;
    assert_eq!((dry.code, dry.last_line()), (Some(0), expected), "{}", dry.stderr);
    assert!(host.take_asked().is_empty() && !data.exists());

    let output = import(&data, &file, &["--fetch-pictures"]).await;
    assert_eq!((output.code, output.last_line()), (Some(0), report(5, 0, 9, 1).as_str()), "{}", output.stderr);
    assert_eq!(failures(&output, &host), ["/5.png\": a comment has at most 4 pictures"]);
    let asked = host.take_asked();
    // Once for itself, however many comments show it, and once for what leads to it.
    assert_eq!((asked["/cat.png"], asked["/moved.png"], asked.get("/5.png")), (2, 1, None));

    let again = import(&data, &file, &["--fetch-pictures"]).await;
    assert_eq!((again.code, again.last_line()), (Some(0), report(0, 5, 0, 0).as_str()), "{}", again.stderr);
    assert!(again.stderr.is_empty() && host.take_asked().is_empty(), "what is there already is not fetched");

    let server = GailouProcess::start(&data).await;
    let page = server.page(COMMENTS).await;
    let link = format!("Moved:\n\na [link]({}/cat.png)", host.url);
    let fifth = format!("[five]({}/5.png)", host.url);
    let expected = [
        ("See my cat here", vec!["cat"]),
        ("Two:", vec!["", "a wave"]),
        ("", vec!["again"]),
        (link.as_str(), vec![""]),
        (fifth.as_str(), vec!["", "", "", ""]),
    ];
    assert_eq!(shown(&page), expected);
    let media: Vec<&Value> = comments_on(&page).iter().flat_map(|c| c["media"].as_array().unwrap()).collect();
    let kinds: Vec<_> = media[..4].iter().map(|media| media["url"].as_str().unwrap().rsplit('.').next()).collect();
    assert_eq!(kinds, [Some("png"), Some("jpg"), Some("png"), Some("png")]);
    for media in &media {
        assert_eq!((&media["width"], &media["height"]), (&json!(30), &json!(20)));
        assert_eq!(server.get(media["url"].as_str().unwrap()).await.status, 200, "{media}");
    }
    drop(server);

    // No comment is deleted, so no picture is, however long.
    let origin = TestOrigin::start_with(|config| config.data.clone_from(&data)).await;
    if !origin.is_in_cluster() {
        for _ in 0..40 {
            origin.advance(Duration::from_millis(MEDIA_RETENTION_MS));
            assert_eq!(sweep_media::sweep(&origin.app).await.unwrap(), 0);
        }
        assert_eq!(origin.get(media[0]["url"].as_str().unwrap()).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_that_cannot_be_fetched_stays_a_link_and_is_named() {
    let host = ForeignHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let names = ["large", "endless", "page", "cut", "gone", "secret", "circle", "silent", "cat"];
    let texts: Vec<String> =
        names.iter().map(|name| format!("<p>a</p><p><img src='URL/{name}.png' alt='{name}'></p>")).collect();
    let file = host.write_export(directory.path(), &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let server = GailouProcess::spawn({
        let mut command = command_on(&data, &["--bind", "127.0.0.1:0"]);
        command.env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "true").env("GAILOU_LIMITS", "off");
        command
    })
    .await;
    // The server, which imports, is the one that may ask this machine.
    let output = import(&data, &file, &["--fetch-pictures"]).await;
    assert_eq!((output.code, output.last_line()), (Some(0), report(9, 0, 1, 8).as_str()), "{}", output.stderr);
    let expected = [
        "/circle.png\": it redirects more than 3 times",
        "/cut.png\": it is damaged",
        "/endless.png\": it has more than 5 MiB",
        "/gone.png\": it answered 404 Not Found",
        "/large.png\": it has more than 5 MiB",
        "/page.png\": it is no JPEG, PNG, GIF or WebP",
        "/secret.png\": it is no web address",
        "/silent.png\": no answer in 15 s",
    ];
    assert_eq!(failures(&output, &host), expected);
    let page = server.page(COMMENTS).await;
    for (name, (content, media)) in names.iter().zip(shown(&page)) {
        let expected = match *name {
            "cat" => ("a".to_owned(), vec!["cat"]),
            _ => (format!("a\n\n[{name}]({}/{name}.png)", host.url), vec![]),
        };
        assert_eq!((content.to_owned(), media), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_is_not_asked_unless_that_is_allowed() {
    let host = ForeignHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let local = host.url.replace("127.0.0.1", "localhost");
    let file =
        host.write_export(directory.path(), &["<img src='URL/cat.png'>", &format!("<img src='{local}/cat.png'>")]);
    let output = run_command(command_on(&data, &["import", "--from", "twikoo", &file, "--fetch-pictures"])).await;
    assert_eq!((output.code, output.last_line()), (Some(0), report(2, 0, 0, 2).as_str()), "{}", output.stderr);
    let refused = "its address must lead to a public address: webhooks.allow_private is off";
    assert!(output.stderr.lines().all(|line| line.ends_with(refused)), "{}", output.stderr);
    assert!(host.take_asked().is_empty());

    // Without the option nothing is fetched, and nothing is said of it.
    let other = directory.path().join("other");
    let output = import(&other, &file, &[]).await;
    assert_eq!(output.last_line(), r#"{"imported":2,"skipped":0,"reparented":0,"bad":0}"#, "{}", output.stderr);
    assert!(output.stderr.is_empty() && host.take_asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn images_of_lines_are_fetched() {
    let host = ForeignHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let line = json!({
        "subject": "article:blog.example/hello", "id": "1", "author": "Ann", "created_at": 1_700_000_000,
        "content": format!("![cat]({0}/cat.png)\n\n[a link]({0}/1.png) ![gone]({0}/gone.png)", host.url),
    });
    let file = write_file(directory.path(), "lines.jsonl", &line.to_string());
    let mut command = command_on(&data, &["import", &file, "--fetch-pictures"]);
    command.env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "true");
    let output = run_command(command).await;
    assert_eq!((output.code, output.last_line()), (Some(0), report(1, 0, 1, 1).as_str()), "{}", output.stderr);
    let server = GailouProcess::start(&data).await;
    let page = server.page(COMMENTS).await;
    let content = format!("[a link]({0}/1.png) ![gone]({0}/gone.png)", host.url);
    assert_eq!(shown(&page), [(content.as_str(), vec!["cat"])]);
}
