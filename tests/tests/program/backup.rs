//! `gailou backup` and `gailou restore`, embedded: everything comes back, and nothing that is half is taken.

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gailou_tests::{
    FilledInstallation, GailouProcess, TestMember, admin, ann, bob, comments_path, gailou_command, id, ids, member,
    moderator, poll_until, run_command,
};
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::run_on;

const SUBJECT: &str = "article/books";

fn png() -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_fn(40, 20, |x, y| Rgb([x as u8, y as u8, 90])).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A data directory and a folder for a backup, which is not there yet.
struct Places {
    _directory: TempDir,
    data: std::path::PathBuf,
    backup: String,
    restored: std::path::PathBuf,
}

impl Places {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let (data, backup, restored) = (path("data"), path("backups/one"), path("restored"));
        Self { data, backup: backup.to_str().unwrap().to_owned(), restored, _directory: directory }
    }

    /// Makes a backup; its last line.
    async fn back_up(&self) -> Value {
        let done = run_on(&self.data, &["backup", &self.backup]).await;
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        serde_json::from_str(done.last_line()).expect("the last line is JSON")
    }

    async fn restore(&self) -> Value {
        let done = run_on(&self.restored, &["restore", &self.backup]).await;
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        serde_json::from_str(done.last_line()).expect("the last line is JSON")
    }

    /// What a restore that must fail says.
    async fn refuse_restore(&self) -> String {
        let refused = run_on(&self.restored, &["restore", &self.backup]).await;
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{}", refused.stderr);
        refused.stderr
    }
}

/// Everything below the folder is closed to other users.
fn check_closed(folder: &Path) {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700, "{}", folder.display());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_closed(&path);
        } else {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_running_server_restores_everything_that_the_api_says() {
    let places = Places::new();
    let server = GailouProcess::start(&places.data).await;
    let subjects = [SUBJECT.to_owned(), "video/other".to_owned()];
    let mut filled = FilledInstallation::fill(&server, &subjects, &png()).await;
    filled.begin_walk(&server).await;
    let before = filled.read(&server).await;
    for line in
        ["/v1/admin/queue by Mod", "/v1/admin/audit by Mod", "/v1/admin/stats?step=day by Mod", "/v1/me/export by Ann"]
    {
        assert!(before[line].starts_with("200 "), "{line}: {}", before[line]);
    }
    let summary = places.back_up().await;
    assert_eq!(
        (&summary["subjects"], &summary["pictures"], summary["comments"].as_u64() > Some(15)),
        (&json!(2), &json!(1), true),
        "{summary}"
    );
    check_closed(Path::new(&places.backup));
    assert!(!Path::new(&places.backup).join("search").exists(), "the index is made again");
    // What comes after it is lost, and was seen: a reader has a version and a row of the feed of it.
    let lost = server.post(&ann(), SUBJECT, "after the backup").await;
    server.edit(&ann(), &lost, "and edited").await.expect(200);
    let seen = poll_until(
        || async { server.get("/v1/edge/changes?day=1").await.json },
        |feed| feed["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row[0] == lost["id"])),
    )
    .await;
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));

    assert_eq!(places.restore().await, summary);
    check_closed(&places.restored);
    let server = GailouProcess::start(&places.restored).await;
    let after = filled.read(&server).await;
    for (line, said) in &before {
        assert_eq!(&after[line], said, "{line}");
    }
    filled.check_walk(&server).await;
    server.get(&format!("/v1/comments/{}", id(&lost))).await.expect(404);
    // Copies from before are void, and a later change is beyond the versions that they have.
    let kept = server.page(&comments_path(SUBJECT)).await["data"][0].clone();
    let decided = server.decide(&moderator(), &kept, "hide").await;
    decided.expect(200);
    let feed = poll_until(
        || async { server.get("/v1/edge/changes?day=1").await.json },
        |feed| feed["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row[0] == kept["id"])),
    )
    .await;
    let newest = |feed: &Value| {
        let version = |row: &Value| row[1].as_str().unwrap().parse::<u64>().unwrap();
        feed["rows"].as_array().unwrap().iter().map(version).max()
    };
    assert!(newest(&feed) > newest(&seen), "{seen} {feed}");
    assert!(feed["since"].as_u64() > seen["now"].as_u64(), "pages of the lost time are void: {seen} {feed}");
    // The index is a view of what was restored, and ids and floors go on.
    let search =
        || async { server.request(&format!("GET /v1/subjects/{SUBJECT}/search?q=third")).try_send().await.unwrap() };
    let found = poll_until(search, |found| found.json["data"].as_array().is_some_and(|data| data.len() == 1)).await;
    assert_eq!(found.json["data"].as_array().map(Vec::len), Some(1), "{}", found.text);
    let next = server.post(&ann(), SUBJECT, "after the restore").await;
    assert_eq!(next["floor"], lost["floor"]);
    assert!(id(&next).parse::<u64>().unwrap() > id(&lost).parse().unwrap());
    assert_eq!(run_on(&places.restored, &["reconcile"]).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_acknowledged_before_a_backup_is_in_it_while_writes_go_on() {
    let places = Places::new();
    let server = GailouProcess::start(&places.data).await;
    let liked = server.post(&ann(), SUBJECT, "liked by all").await;
    let stop = AtomicBool::new(false);
    let write = async |by: u64| {
        let (mut posts, mut likes) = (Vec::new(), Vec::new());
        for n in 0_u64.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            posts.push(id(&server.post(&member(by), SUBJECT, &format!("{by} {n}")).await).to_owned());
            let fan = member(1_000 * by + n);
            server.like(&fan, &liked).await;
            likes.push(fan);
        }
        (posts, likes)
    };
    let back_up = async {
        // Some are acknowledged before it begins.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let acknowledged: Vec<String> =
            ids(&server.walk(&format!("{}?sort=old&limit=50", comments_path(SUBJECT))).await);
        let likes = server.get(&format!("/v1/comments/{}", id(&liked))).await.json["likes"].as_u64().unwrap();
        places.back_up().await;
        stop.store(true, Ordering::Relaxed);
        (acknowledged, likes)
    };
    let ((acknowledged, likes), a, b, c) = tokio::join!(back_up, write(41), write(42), write(43));
    assert!(acknowledged.len() > 3 && likes > 3, "{acknowledged:?} {likes}");
    drop(server);
    places.restore().await;
    let server = GailouProcess::start(&places.restored).await;
    let restored = ids(&server.walk(&format!("{}?sort=old&limit=50", comments_path(SUBJECT))).await);
    let missing: Vec<_> = acknowledged.iter().filter(|id| !restored.contains(id)).collect();
    assert!(missing.is_empty(), "they were acknowledged before the backup: {missing:?}");
    let written = [&a, &b, &c].iter().map(|(posts, _)| posts.len()).sum::<usize>() + 1;
    assert!((acknowledged.len()..=written).contains(&restored.len()), "{} {written}", restored.len());
    // Each like is whole: the count is that of the members who have it.
    let count = server.get(&format!("/v1/comments/{}", id(&liked))).await.json["likes"].as_u64().unwrap();
    let mut fans = 0;
    for fan in [a.1, b.1, c.1].concat() {
        let overlay = server.overlay(&fan, &[id(&liked)]).await;
        fans += u64::from(overlay.to_string().contains("\"like\""));
    }
    assert!(count >= likes && count == fans, "{likes} {count} {fans}");
    assert_eq!(run_on(&places.restored, &["reconcile"]).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_directory_has_the_secret_that_was_made_in_it() {
    let places = Places::new();
    let run = async |data: &Path, arguments: &[&str]| {
        let mut command = gailou_command(arguments);
        command.arg("--data").arg(data).env_remove("GAILOU_TOKEN_SECRET");
        run_command(command).await
    };
    let token = run(&places.data, &["token", "--sub", "7", "--name", "Ann"]).await.last_line().to_owned();
    // No server runs.
    let made = run(&places.data, &["backup", &places.backup]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let done = run(&places.restored, &["restore", &places.backup]).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let mut command = gailou_command(["--bind", "127.0.0.1:0", "--data"]);
    command.arg(&places.restored).env_remove("GAILOU_TOKEN_SECRET");
    let server = GailouProcess::spawn(command).await;
    let ann = TestMember { token, ..ann() };
    server.post(&ann, "post/1", "with the token of before").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_needs_data_and_a_folder_of_its_own() {
    let places = Places::new();
    let missing = run_on(&places.data, &["backup", &places.backup]).await;
    assert!(missing.code == Some(1) && missing.stderr.contains("does not exist"), "{}", missing.stderr);
    assert!(!places.data.exists() && !Path::new(&places.backup).exists());
    let _server = GailouProcess::start(&places.data).await;
    places.back_up().await;
    let again = run_on(&places.data, &["backup", &places.backup]).await;
    assert!(again.code == Some(1) && again.stderr.contains("is not empty"), "{}", again.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_whole_backup_is_refused_before_anything_is_written() {
    let places = Places::new();
    let server = GailouProcess::start(&places.data).await;
    FilledInstallation::fill(&server, &[SUBJECT.to_owned()], &png()).await;
    places.back_up().await;
    drop(server);
    let file = |name: &str| Path::new(&places.backup).join(name);
    let manifest = fs::read_to_string(file("manifest.json")).unwrap();
    let pictures = fs::read_dir(file("media")).unwrap().next().unwrap().unwrap().path();
    let picture = fs::read_dir(pictures).unwrap().next().unwrap().unwrap().path();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut changed: Value = serde_json::from_str(&manifest).unwrap();
        change(&mut changed);
        changed.to_string().into_bytes()
    };
    let database = fs::read(file("gailou.db")).unwrap();
    let cut = database[..database.len() - 1].to_vec();
    let mut flipped = database.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let cases = [
        (file("gailou.db"), flipped, "gailou.db is damaged"),
        (file("gailou.db"), cut, "gailou.db is damaged"),
        (file("pictures.txt"), b"".to_vec(), "pictures.txt is damaged"),
        (picture, b"x".to_vec(), "the picture"),
        (file("manifest.json"), with(&|manifest| manifest["format"] = json!(9)), "format 9"),
        (file("manifest.json"), with(&|manifest| manifest["tables"]["migration"] = json!(999)), "migration 999"),
        (file("manifest.json"), with(&|manifest| manifest["files"][0]["name"] = json!("../x")), "no file of a backup"),
        (file("manifest.json"), b"{".to_vec(), "cannot be read"),
    ];
    for (path, bytes, part) in cases {
        let original = fs::read(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        let said = places.refuse_restore().await;
        assert!(said.contains(part), "{part}: {said}");
        assert!(!places.restored.exists(), "nothing is written");
        fs::write(&path, original).unwrap();
    }
    // One that did not end has no manifest under its name.
    fs::rename(file("manifest.json"), file("manifest.json.unfinished")).unwrap();
    let said = places.refuse_restore().await;
    assert!(said.contains("no manifest.json"), "{said}");
    fs::rename(file("manifest.json.unfinished"), file("manifest.json")).unwrap();
    // A directory that has something, and one into which a restore was interrupted.
    fs::create_dir(&places.restored).unwrap();
    fs::write(places.restored.join("token_secret"), "x").unwrap();
    let said = places.refuse_restore().await;
    assert!(said.contains("is not empty: it has token_secret"), "{said}");
    fs::remove_file(places.restored.join("token_secret")).unwrap();
    fs::write(places.restored.join("restore.unfinished"), "").unwrap();
    for arguments in [&["export"][..], &["--bind", "127.0.0.1:0"], &["backup", "x"]] {
        let refused = run_on(&places.restored, arguments).await;
        assert!(
            refused.code == Some(1) && refused.stderr.contains("has not ended"),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    fs::remove_file(places.restored.join("restore.unfinished")).unwrap();
    places.restore().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn member_who_is_erased_after_a_backup_can_be_erased_again() {
    let places = Places::new();
    let server = GailouProcess::start(&places.data).await;
    let comment = server.post(&bob(), SUBJECT, "remembered").await;
    places.back_up().await;
    let erase = async |server: &GailouProcess| {
        server.request("DELETE /v1/admin/members/8").by(&admin()).send().await.expect(204);
        let path = format!("/v1/comments/{}", id(&comment));
        let gone = poll_until(|| server.get(&path), |answer| !answer.text.contains("remembered")).await;
        assert!(!gone.text.contains("remembered"), "{}", gone.text);
    };
    erase(&server).await;
    drop(server);
    places.restore().await;
    let server = GailouProcess::start(&places.restored).await;
    assert!(server.get(&format!("/v1/comments/{}", id(&comment))).await.text.contains("remembered"));
    erase(&server).await;
}

/// Copies a folder as an operator does to another machine: closed to other users.
fn copy_closed(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy_closed(&path, &to.join(name));
        } else {
            let copy = to.join(name);
            fs::copy(&path, &copy).unwrap();
            fs::set_permissions(copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_of_dated_backups_grows_and_a_copy_of_any_of_them_is_restored() {
    let places = Places::new();
    let server = GailouProcess::start(&places.data).await;
    // As the documents do it: one folder, made before, in which each backup has a date.
    let backups = places.data.with_file_name("all-backups");
    fs::create_dir(&backups).unwrap();
    let mut comments = vec![];
    for date in ["2026-11-25-0400", "2026-11-26-0400"] {
        comments.push(server.post(&ann(), SUBJECT, &format!("written before {date}")).await);
        let done = run_on(&places.data, &["backup", backups.join(date).to_str().unwrap()]).await;
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    }
    let taken = run_on(&places.data, &["backup", backups.join("2026-11-26-0400").to_str().unwrap()]).await;
    assert!(taken.code == Some(1) && taken.stderr.contains("is not empty"), "{}", taken.stderr);
    drop(server);
    let copies = places.data.with_file_name("another-machine");
    copy_closed(&backups, &copies);
    fs::remove_dir_all(&backups).unwrap();
    fs::remove_dir_all(&places.data).unwrap();
    for (restored, date) in ["2026-11-25-0400", "2026-11-26-0400"].into_iter().enumerate() {
        let data = copies.with_file_name(format!("restored-{date}"));
        let done = run_on(&data, &["restore", copies.join(date).to_str().unwrap()]).await;
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        check_closed(&data);
        let server = GailouProcess::start(&data).await;
        let page = server.page(&format!("{}?sort=old", comments_path(SUBJECT))).await;
        assert_eq!(ids(page["data"].as_array().unwrap()), ids(&comments[..=restored]), "{date}");
        // The restored one is backed up in its turn, beside the former ones.
        let next = run_on(&data, &["backup", copies.join(format!("after-{date}")).to_str().unwrap()]).await;
        assert_eq!(next.code, Some(0), "{}{}", next.stdout, next.stderr);
    }
}
