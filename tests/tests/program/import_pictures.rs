//! `gailou import --fetch-pictures`: pictures of other hosts become pictures of the installation, and stay.

use std::path::Path;
use std::time::Duration;

use gailou::jobs::sweep_media;
use gailou_shared::limits::MEDIA_RETENTION_MS;
use gailou_tests::{
    CommandOutput, GailouProcess, PictureHost, TestOrigin, comments_on, picture_import_report, run_command,
};
use serde_json::{Value, json};

use super::{command_on, write_file};

const COMMENTS: &str = "/v1/subjects/article/blog.example%2Fhello/comments?sort=old";

/// Imports an export of Twikoo with these options; it may ask this machine.
async fn import(data: &Path, file: &str, options: &[&str]) -> CommandOutput {
    let mut command = command_on(data, &[&["import", "--from", "twikoo", file], options].concat());
    command.env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "true");
    run_command(command).await
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
    let host = PictureHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let texts = [
        "<p>See my <img src='URL/cat.png' alt='cat'> here</p>",
        "<p>Two:</p><p><img src='URL/photo.jpg'><img src='URL/moving.gif' alt='a wave'></p>",
        "<p><img src='URL/cat.png' alt='again'></p>",
        "<p>Moved: <img src='URL/moved.png'></p><p>a <a href='URL/cat.png'>link</a></p>",
        "<p><a href='https://e.example/'><img src='URL/1.png' alt='one'></a> <a href='URL/photo.jpg'>\
         <img src='URL/2.png'></a></p>",
        "<p><img src='URL/1.png'><img src='URL/2.png'><img src='URL/3.png'><img src='URL/1.png'><img src='URL/4.png'>\
         <img src='URL/5.png' alt='five'></p>",
    ];
    let file = host.write_export(directory.path(), &texts);

    let dry = import(&data, &file, &["--dry-run", "--fetch-pictures"]).await;
    let expected = r#"{"subjects":1,"comments":6,"left_out":0,"bad":0,"pictures":11}"#;
    assert_eq!((dry.code, dry.last_line()), (Some(0), expected), "{}", dry.stderr);
    assert!(host.take_asked().is_empty() && !data.exists());

    let output = import(&data, &file, &["--fetch-pictures"]).await;
    assert_eq!(
        (output.code, output.last_line()),
        (Some(0), picture_import_report(6, 0, 11, 1).as_str()),
        "{}",
        output.stderr
    );
    assert_eq!(host.failures(&output), ["/5.png\": a comment has at most 4 pictures"]);
    let asked = host.take_asked();
    // Once for itself, however many comments show it, and once for what leads to it.
    assert_eq!((asked["/cat.png"], asked["/moved.png"], asked.get("/5.png")), (2, 1, None));

    let again = import(&data, &file, &["--fetch-pictures"]).await;
    assert_eq!(
        (again.code, again.last_line()),
        (Some(0), picture_import_report(0, 6, 0, 0).as_str()),
        "{}",
        again.stderr
    );
    assert!(again.stderr.is_empty() && host.take_asked().is_empty(), "what is there already is not fetched");

    let server = GailouProcess::start(&data).await;
    let page = server.page(COMMENTS).await;
    let link = format!("Moved:\n\na [link]({}/cat.png)", host.url);
    let fifth = format!("[five]({}/5.png)", host.url);
    let linked = format!("[one](https://e.example/) [image]({}/photo.jpg)", host.url);
    let expected = [
        ("See my cat here", vec!["cat"]),
        ("Two:", vec!["", "a wave"]),
        ("", vec!["again"]),
        (link.as_str(), vec![""]),
        (linked.as_str(), vec!["one", ""]),
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
    let host = PictureHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let names = ["large", "endless", "page", "cut", "gone", "secret", "circle", "silent", "cat"];
    let mut texts: Vec<String> =
        names.iter().map(|name| format!("<p>a</p><p><img src='URL/{name}.png' alt='{name}'></p>")).collect();
    texts.push("<a href='https://e.example/'><img src='URL/gone.png' alt='gone'></a>".to_owned());
    let file = host.write_export(directory.path(), &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let server = GailouProcess::spawn({
        let mut command = command_on(&data, &["--bind", "127.0.0.1:0"]);
        command.env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "true").env("GAILOU_LIMITS", "off");
        command
    })
    .await;
    // The server, which imports, is the one that may ask this machine.
    let output = import(&data, &file, &["--fetch-pictures"]).await;
    assert_eq!(
        (output.code, output.last_line()),
        (Some(0), picture_import_report(10, 0, 1, 9).as_str()),
        "{}",
        output.stderr
    );
    let expected = [
        "/circle.png\": it redirects more than 3 times",
        "/cut.png\": it is damaged",
        "/endless.png\": it has more than 5 MiB",
        "/gone.png\": it answered 404 Not Found",
        "/gone.png\": it answered 404 Not Found",
        "/large.png\": it has more than 5 MiB",
        "/page.png\": it is no JPEG, PNG, GIF or WebP",
        "/secret.png\": it is no web address",
        "/silent.png\": no answer in 15 s",
    ];
    assert_eq!(host.failures(&output), expected);
    let page = server.page(COMMENTS).await;
    let shown = shown(&page);
    assert_eq!(shown[names.len()], ("[gone](https://e.example/)", vec![]));
    for (name, (content, media)) in names.iter().zip(shown) {
        let expected = match *name {
            "cat" => ("a".to_owned(), vec!["cat"]),
            _ => (format!("a\n\n[{name}]({}/{name}.png)", host.url), vec![]),
        };
        assert_eq!((content.to_owned(), media), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_is_not_asked_unless_that_is_allowed() {
    let host = PictureHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let local = host.url.replace("127.0.0.1", "localhost");
    let file =
        host.write_export(directory.path(), &["<img src='URL/cat.png'>", &format!("<img src='{local}/cat.png'>")]);
    let output = run_command(command_on(&data, &["import", "--from", "twikoo", &file, "--fetch-pictures"])).await;
    assert_eq!(
        (output.code, output.last_line()),
        (Some(0), picture_import_report(2, 0, 0, 2).as_str()),
        "{}",
        output.stderr
    );
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
    let host = PictureHost::start().await;
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
    assert_eq!(
        (output.code, output.last_line()),
        (Some(0), picture_import_report(1, 0, 1, 1).as_str()),
        "{}",
        output.stderr
    );
    let server = GailouProcess::start(&data).await;
    let page = server.page(COMMENTS).await;
    let content = format!("[a link]({0}/1.png) ![gone]({0}/gone.png)", host.url);
    assert_eq!(shown(&page), [(content.as_str(), vec!["cat"])]);
}
