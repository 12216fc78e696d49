//! Pictures: uploaded, shown by comments, served, and deleted when no comment shows them.

use std::io::Cursor;
use std::time::Duration;

use gailou::jobs::sweep_media;
use gailou_shared::limits::{MAX_MEDIA_BYTES, MEDIA_RETENTION_MS};
use gailou_shared::word_filter::TermAction;
use gailou_tests::{
    ApiResponse, TestBucket, TestMember, TestOrigin, ann, bob, comments_path, id, moderator, poll_until,
};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use tempfile::TempDir;

const SUBJECT: &str = "article/pictures";
const BOUNDARY: &str = "----a-boundary";
const DAY: Duration = Duration::from_millis(MEDIA_RETENTION_MS);

/// An origin whose files are in a directory of the test.
struct Bed {
    origin: TestOrigin,
    directory: TempDir,
}

impl Bed {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("file://{}", directory.path().display());
        let origin = TestOrigin::start_with(|config| config.media.url = Some(url)).await;
        Self { origin, directory }
    }

    async fn upload(&self, by: &TestMember, file: &[u8], alt: Option<&str>) -> ApiResponse {
        upload(&self.origin, by, file, alt).await
    }

    /// A picture that this member may use.
    async fn picture(&self, by: &TestMember) -> Value {
        self.upload(by, &encoded(&picture(40, 20), ImageFormat::Png), None).await.expect(201)
    }

    async fn post_with(&self, by: &TestMember, media: &[&Value]) -> ApiResponse {
        let media: Vec<_> = media.iter().map(|media| media["id"].clone()).collect();
        self.origin.try_post(by, SUBJECT, &json!({"content": "look", "media": media})).await
    }

    async fn sweep(&self) -> usize {
        self.origin.wait_until_persisted().await;
        sweep_media::sweep(&self.origin.app).await.unwrap()
    }

    /// Moves the clock a day, and sweeps.
    async fn sweep_after_a_day(&self) -> usize {
        self.origin.advance(DAY);
        self.sweep().await
    }

    fn count_files(&self) -> usize {
        let folders = std::fs::read_dir(self.directory.path()).unwrap();
        folders.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
    }

    async fn get_file(&self, media: &Value) -> u16 {
        self.origin.get(media["url"].as_str().unwrap()).await.status
    }
}

pub(crate) fn picture(width: u32, height: u32) -> DynamicImage {
    RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 90])).into()
}

pub(crate) fn encoded(image: &DynamicImage, kind: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, kind).unwrap();
    bytes.into_inner()
}

/// A JPEG with a place in its EXIF.
fn jpeg_with_place() -> Vec<u8> {
    let exif = b"Exif\0\0II*\0\x08\0\0\0\0\0GPSLatitude 48.8584";
    let jpeg = encoded(&picture(32, 16), ImageFormat::Jpeg);
    [&jpeg[..2], &[0xff, 0xe1], &(exif.len() as u16 + 2).to_be_bytes(), exif, &jpeg[2..]].concat()
}

fn part(head: &str, bytes: &[u8]) -> Vec<u8> {
    [format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n").as_bytes(), bytes, b"\r\n"].concat()
}

fn form(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), format!("--{BOUNDARY}--\r\n").into_bytes()].concat()
}

async fn send_form(origin: &TestOrigin, by: &TestMember, body: Vec<u8>) -> ApiResponse {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    origin.request("POST /v1/media").by(by).header("content-type", &kind).bytes(body).send().await
}

pub(crate) async fn upload(origin: &TestOrigin, by: &TestMember, file: &[u8], alt: Option<&str>) -> ApiResponse {
    let mut parts = vec![part("name=\"file\"; filename=\"x.png\"\r\nContent-Type: image/png", file)];
    parts.extend(alt.map(|alt| part("name=\"alt\"", alt.as_bytes())));
    send_form(origin, by, form(&parts)).await
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test(flavor = "multi_thread")]
async fn uploaded_picture_is_shown_by_its_comment() {
    let bed = Bed::start().await;
    let upload = encoded(&picture(3_000, 30), ImageFormat::Jpeg);
    let media = bed.upload(&ann(), &upload, Some(" A gradient ")).await.expect(201);
    assert_eq!((&media["width"], &media["height"], &media["alt"]), (&json!(2048), &json!(20), &json!("A gradient")));
    let second = bed.picture(&ann()).await;
    let comment = bed.post_with(&ann(), &[&media, &second, &media]).await.expect(201);
    assert_eq!(comment["media"], json!([media, second]));
    let listed = bed.origin.current_page(SUBJECT, &comments_path(SUBJECT)).await;
    assert_eq!(listed["data"][0]["media"], comment["media"]);
    let read = bed.origin.get(&format!("/v1/comments/{}", id(&comment))).await.expect(200);
    assert_eq!(read["media"], comment["media"]);
    let other = bed.origin.post(&ann(), SUBJECT, "no picture").await;
    assert_eq!(other["media"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn file_is_served_so_that_it_runs_nowhere() {
    let bed = Bed::start().await;
    let media = bed.upload(&ann(), &jpeg_with_place(), None).await.expect(201);
    let url = media["url"].as_str().unwrap();
    assert!(url.starts_with("/v1/media/") && url.ends_with(".jpg"), "{url}");
    let answer = bed.origin.get(url).await;
    assert_eq!(answer.status, 200);
    for (name, value) in [
        ("content-type", "image/jpeg"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("cache-control", "public, max-age=604800, immutable"),
        ("access-control-allow-origin", "*"),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    let bytes = reqwest::get(format!("{}{url}", bed.origin.base())).await.unwrap().bytes().await.unwrap();
    assert_eq!(answer.header("content-length"), bytes.len().to_string());
    assert_eq!(image::guess_format(&bytes).unwrap(), ImageFormat::Jpeg);
    assert!(!contains(&bytes, b"GPS") && !contains(&bytes, b"Exif"));
    for (path, status) in
        [("/v1/media/x.jpg", 400), ("/v1/media/..%2Fgailou.db", 400), (&*url.replace(".jpg", ".png"), 404)]
    {
        bed.origin.get(path).await.expect(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_picture_is_refused() {
    let bed = Bed::start().await;
    let png = encoded(&picture(64, 64), ImageFormat::Png);
    let script = [&png[..8], b"<script>alert(1)</script>"].concat();
    let mut bomb = png.clone();
    bomb[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    for (what, file, status) in [
        ("nothing", &b""[..], 415),
        ("an SVG", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", 415),
        ("HTML named .png", b"<!doctype html><script>alert(1)</script>", 415),
        ("a PDF", b"%PDF-1.7 %%EOF", 415),
        ("a cut PNG", &png[..png.len() / 2], 400),
        ("a PNG with a script in it", &script, 400),
        ("a PNG of another size than it says", &bomb, 400),
    ] {
        let refused = bed.upload(&ann(), file, None).await;
        assert_eq!(refused.status, status, "{what}: {}", refused.text);
    }
    // A picture with something else after it is a picture, without that.
    let polyglot = [&png[..], b"<script>alert(1)</script>"].concat();
    let media = bed.upload(&ann(), &polyglot, None).await.expect(201);
    let url = format!("{}{}", bed.origin.base(), media["url"].as_str().unwrap());
    let stored = reqwest::get(url).await.unwrap().bytes().await.unwrap();
    assert!(!contains(&stored, b"script"));
    assert_eq!(bed.count_files(), 1, "refused files are not stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_that_are_wrong_are_refused() {
    let bed = Bed::start().await;
    let png = encoded(&picture(8, 8), ImageFormat::Png);
    let file = part("name=\"file\"", &png);
    let large = vec![0; MAX_MEDIA_BYTES + 1];
    let cases = [
        ("no file", form(&[part("name=\"alt\"", b"x")]), 400),
        ("two files", form(&[file.clone(), file.clone()]), 400),
        ("another part", form(&[file.clone(), part("name=\"x\"", b"x")]), 400),
        ("no end", file.clone(), 400),
        ("a description of other bytes", form(&[file.clone(), part("name=\"alt\"", b"\xff")]), 400),
        ("a long description", form(&[file.clone(), part("name=\"alt\"", &[b'a'; 501])]), 400),
        ("a very long description", form(&[file.clone(), part("name=\"alt\"", &[b'a'; 9_000])]), 400),
        ("5 MiB and a byte", form(&[part("name=\"file\"", &large)]), 413),
    ];
    for (what, body, status) in cases {
        let refused = send_form(&bed.origin, &ann(), body).await;
        assert_eq!(refused.status, status, "{what}: {}", refused.text);
    }
    bed.origin.load_terms(&[("badword", TermAction::Mask)]).await;
    let refused = bed.upload(&ann(), &png, Some("a badword")).await;
    assert_eq!((refused.status, &refused.json["errors"][0]["field"]), (422, &json!("alt")), "{}", refused.text);
    let json = bed.origin.request("POST /v1/media").by(&ann()).json(&json!({})).send().await;
    assert_eq!((json.status, &json.json["code"]), (415, &json!("unsupported_media_type")));
    bed.origin.request("POST /v1/media").bytes(form(&[file])).send().await.expect(401);
    assert_eq!(bed.count_files(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_takes_pictures_of_its_author_alone() {
    let bed = Bed::start().await;
    let media = bed.picture(&ann()).await;
    let unknown = json!({"id": "5"});
    for (by, media) in [(bob(), vec![&media]), (ann(), vec![&unknown]), (ann(), vec![&media, &unknown])] {
        let refused = bed.post_with(&by, &media).await;
        assert_eq!((refused.status, &refused.json["errors"][0]["field"]), (400, &json!("media")), "{}", refused.text);
    }
    let guest = bed.origin.register_guest("Gus").await;
    let own = bed.picture(&guest).await;
    bed.post_with(&guest, &[&own]).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_post_is_one_comment_with_its_pictures() {
    let bed = Bed::start().await;
    let media = bed.picture(&ann()).await;
    let body = json!({"content": "look", "media": [media["id"]]});
    let mut answers = vec![];
    for _ in 0..10 {
        let request = bed.origin.request(&format!("POST {}", comments_path(SUBJECT))).by(&ann()).json(&body);
        answers.push(request.idempotency_key("once").send().await.expect(201));
        bed.origin.wait_until_persisted().await;
    }
    assert!(answers.iter().all(|answer| answer["id"] == answers[0]["id"] && answer["media"] == json!([media])));
    let page = bed.origin.current_page(SUBJECT, &comments_path(SUBJECT)).await;
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_picture_is_deleted_after_a_day() {
    let bed = Bed::start().await;
    let (unused, used) = (bed.picture(&ann()).await, bed.picture(&ann()).await);
    bed.post_with(&ann(), &[&used]).await.expect(201);
    assert_eq!(bed.sweep().await, 0);
    assert_eq!(bed.sweep_after_a_day().await, 1);
    assert_eq!((bed.get_file(&unused).await, bed.get_file(&used).await, bed.count_files()), (404, 200, 1));
    bed.post_with(&ann(), &[&unused]).await.expect(400);
    for _ in 0..3 {
        assert_eq!(bed.sweep_after_a_day().await, 0);
    }
    assert_eq!(bed.get_file(&used).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_comment_has_no_pictures_and_loses_their_files() {
    let bed = Bed::start().await;
    let media = bed.picture(&ann()).await;
    let comment = bed.post_with(&ann(), &[&media]).await.expect(201);
    bed.origin.with_floor(&comment).await;
    bed.sweep().await;
    bed.origin.delete(&ann(), &comment).await.expect(204);
    let read = || async { bed.origin.get(&format!("/v1/comments/{}", id(&comment))).await.expect(200) };
    let tombstone = poll_until(read, |comment| comment["state"] == "deleted").await;
    assert_eq!(tombstone["media"], json!([]));
    assert_eq!(bed.sweep_after_a_day().await, 0, "it can be restored");
    bed.origin.decide(&moderator(), &comment, "restore").await.expect(200);
    let restored = poll_until(read, |comment| comment["state"] == "published").await;
    assert_eq!((restored["media"].clone(), bed.get_file(&media).await), (json!([media]), 200));
    assert_eq!(bed.sweep_after_a_day().await, 0);

    bed.origin.delete(&ann(), &comment).await.expect(204);
    // From then on no page of before is shown, which would be published, with its picture.
    poll_until(read, |comment| comment["state"] == "deleted").await;
    assert_eq!((bed.sweep_after_a_day().await, bed.sweep_after_a_day().await), (0, 1));
    assert_eq!((bed.get_file(&media).await, bed.count_files()), (404, 0));
    bed.origin.decide(&moderator(), &comment, "restore").await.expect(200);
    let restored = poll_until(read, |comment| comment["state"] == "published").await;
    assert_eq!(restored["media"], json!([]), "its file is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_of_two_comments_stays_while_one_shows_it() {
    let bed = Bed::start().await;
    let media = bed.picture(&ann()).await;
    let first = bed.post_with(&ann(), &[&media]).await.expect(201);
    let second = bed.post_with(&ann(), &[&media]).await.expect(201);
    for comment in [&first, &second] {
        bed.origin.with_floor(comment).await;
    }
    bed.origin.delete(&ann(), &first).await.expect(204);
    for _ in 0..3 {
        assert_eq!(bed.sweep_after_a_day().await, 0);
    }
    assert_eq!(bed.get_file(&media).await, 200);
    bed.origin.delete(&ann(), &second).await.expect(204);
    assert_eq!((bed.sweep_after_a_day().await, bed.sweep_after_a_day().await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_deletes_the_files_of_a_member() {
    let bed = Bed::start().await;
    let (used, unused, theirs) = (bed.picture(&ann()).await, bed.picture(&ann()).await, bed.picture(&bob()).await);
    let comment = bed.post_with(&ann(), &[&used]).await.expect(201);
    bed.post_with(&bob(), &[&theirs]).await.expect(201);
    bed.origin.with_floor(&comment).await;
    bed.origin.request("DELETE /v1/me").by(&ann()).send().await.expect(204);
    let files = || async {
        bed.sweep().await;
        bed.count_files()
    };
    assert_eq!(poll_until(files, |count| *count == 1).await, 1);
    let found = [bed.get_file(&used).await, bed.get_file(&unused).await, bed.get_file(&theirs).await];
    assert_eq!(found, [404, 404, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn installation_without_a_place_takes_no_pictures() {
    let origin = TestOrigin::start().await;
    let png = encoded(&picture(8, 8), ImageFormat::Png);
    let answer = upload(&origin, &ann(), &png, None).await;
    if origin.is_in_cluster() {
        let detail = answer.json["detail"].as_str().unwrap_or_default();
        assert!(answer.status == 404 && detail.contains("media.url"), "{}", answer.text);
    } else {
        // Embedded, the files are in the data directory.
        answer.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_limited() {
    let origin = TestOrigin::start_with(|config| {
        config.adjustable.limits.enabled = true;
        config.adjustable.limits.uploads_per_minute_member = 2;
    })
    .await;
    for limited in [false, false, true] {
        let answer = upload(&origin, &ann(), b"x", None).await;
        assert_eq!(answer.status == 429, limited, "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_in_a_bucket_are_served_and_deleted() {
    let Some(bucket) = TestBucket::new() else { return };
    let origin = TestOrigin::start_with(|config| bucket.configure(config)).await;
    let file = encoded(&picture(40, 20), ImageFormat::Png);
    let shown = upload(&origin, &ann(), &file, Some("a gradient")).await.expect(201);
    let unused = upload(&origin, &ann(), &encoded(&picture(20, 40), ImageFormat::Png), None).await.expect(201);
    assert_eq!(bucket.count_objects().await, 2);
    let body = json!({"content": "look", "media": [shown["id"]]});
    let comment = origin.try_post(&ann(), SUBJECT, &body).await.expect(201);
    assert_eq!(comment["media"][0]["alt"], "a gradient");
    let served = origin.get(shown["url"].as_str().unwrap()).await;
    assert_eq!((served.status, served.header("content-type")), (200, "image/png"));
    let sweep_after_a_day = async || {
        origin.wait_until_persisted().await;
        origin.advance(DAY);
        sweep_media::sweep(&origin.app).await.unwrap()
    };
    assert_eq!(sweep_after_a_day().await, 1);
    assert_eq!((bucket.count_objects().await, origin.get(unused["url"].as_str().unwrap()).await.status), (1, 404));
    origin.delete(&ann(), &comment).await.expect(204);
    assert_eq!((sweep_after_a_day().await, sweep_after_a_day().await), (0, 1));
    assert_eq!((bucket.count_objects().await, origin.get(shown["url"].as_str().unwrap()).await.status), (0, 404));
}
