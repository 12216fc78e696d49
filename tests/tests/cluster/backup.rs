//! `gailou backup` and `gailou restore` in a cluster: what the copy has, and what the log has beyond its positions.

use std::io::Cursor;
use std::path::Path;

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{
    CommandOutput, FilledInstallation, GailouProcess, ann, comments_path, id, ids, member, poll_until,
    run_command_within,
};
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};

use crate::background_load::BackgroundLoad;
use crate::test_bed::{ClusterTestBed, clients, subjects_in};

/// A slot of the first database, and one of the second.
pub(crate) const SLOT_OF_EACH: [u16; 2] = [100, 900];
/// Less than any version in a database that was restored, and more than any other.
const RAISED_VERSION: u64 = 1 << 40;
/// How long a command may take on busy servers: it makes some hundred tables.
const COMMAND_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(90);

pub(crate) fn png() -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_fn(40, 20, |x, y| Rgb([x as u8, y as u8, 90])).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Runs a command of a cluster whose pictures are in this directory.
pub(crate) async fn run(bed: &ClusterTestBed, media: &Path, arguments: &[&str]) -> CommandOutput {
    let mut command = bed.command(arguments);
    command.env("GAILOU_MEDIA__URL", format!("file://{}", media.display()));
    run_command_within(command, COMMAND_TIMEOUT).await
}

pub(crate) async fn run_successfully(bed: &ClusterTestBed, media: &Path, arguments: &[&str]) -> String {
    let output = run(bed, media, arguments).await;
    assert_eq!(output.code, Some(0), "gailou {}: {}{}", arguments.join(" "), output.stdout, output.stderr);
    output.last_line().to_owned()
}

pub(crate) async fn start(bed: &ClusterTestBed, media: &Path, role: &str) -> GailouProcess {
    let mut command = bed.command(&[role, "--bind", "127.0.0.1:0"]);
    command.env("GAILOU_MEDIA__URL", format!("file://{}", media.display()));
    GailouProcess::spawn_logging(command, bed.log_file(role)).await
}

/// The largest version in the change feed of a server.
async fn newest_version(server: &GailouProcess) -> Option<u64> {
    let feed = server.get("/v1/edge/changes?day=1").await.json;
    let version = |row: &Value| row[1].as_str().unwrap_or_default().parse::<u64>().unwrap_or_default();
    feed["rows"].as_array()?.iter().map(version).max()
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_cluster_has_the_copy_and_what_the_log_has_beyond_it() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (media, backup) = (path("media"), path("backup"));
    let backup = backup.to_str().unwrap();
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (origin, job) = tokio::join!(start(&bed, &media, "serve"), start(&bed, &media, "job"));
    bed.wait_for_jobs(&origin).await;
    let subjects = subjects_in(SLOT_OF_EACH.into_iter());
    let mut filled = FilledInstallation::fill(&origin, &subjects, &png()).await;
    bed.wait_until_persisted().await;
    filled.begin_walk(&origin).await;
    let before = filled.read(&origin).await;
    let summary: Value = serde_json::from_str(&run_successfully(&bed, &media, &["backup", backup]).await).unwrap();
    assert_eq!((&summary["subjects"], &summary["pictures"]), (&json!(3), &json!(1)), "{summary}");
    // The log has these, and the copy does not.
    let mut later = Vec::new();
    for subject in &subjects {
        later.push(origin.post(&ann(), subject, "after the backup").await);
        origin.like(&member(77), later.last().unwrap()).await;
    }
    bed.wait_until_persisted().await;
    let with_later = filled.read(&origin).await;
    origin.kill();
    job.kill();
    bed.for_each_database("DROP DATABASE");
    let restored = run_successfully(&bed, &media, &["restore", backup]).await;
    assert_eq!(serde_json::from_str::<Value>(&restored).unwrap(), summary);
    let again = run(&bed, &media, &["restore", backup]).await;
    assert!(again.code == Some(1) && again.stderr.contains("is not empty"), "{}", again.stderr);
    run_successfully(&bed, &media, &["migrate"]).await;
    bed.delete_redis_keys().await;
    let (origin, job) = tokio::join!(start(&bed, &media, "serve"), start(&bed, &media, "job"));
    bed.wait_for_jobs(&origin).await;
    for comment in &later {
        let path = format!("/v1/comments/{}", id(comment));
        let read = poll_until(|| origin.get(&path), |answer| answer.json["likes"] == 1).await;
        assert_eq!((read.status, &read.json["likes"]), (200, &json!(1)), "{}", read.text);
    }
    run_successfully(&bed, &media, &["reconcile", "--repair"]).await;
    bed.check_consistency().await;
    let after = filled.read(&origin).await;
    for (line, said) in &with_later {
        // The first comment of the jobs is another one.
        if ![
            "/v1/admin/export",
            "/v1/latest",
            "/v1/me/export",
            "/v1/members/7",
            "/v1/admin/members",
            "/v1/admin/stats",
            "/v1/admin/subjects",
        ]
        .iter()
        .any(|part| line.starts_with(part))
        {
            assert_eq!(&after[line], said, "{line}");
        }
    }
    let kept = origin.page(&comments_path(&subjects[0])).await["data"][0].clone();
    origin.decide(&gailou_tests::moderator(), &kept, "hide").await.expect(200);
    let newest = poll_until(|| newest_version(&origin), |newest| *newest > Some(RAISED_VERSION)).await;
    assert!(newest > Some(RAISED_VERSION), "{newest:?}");
    origin.kill();
    job.kill();

    // A new cluster, with a log that has nothing.
    let other = ClusterTestBed::without_databases(shared(), &[]);
    let other_media = path("other-media");
    run_successfully(&other, &other_media, &["restore", backup]).await;
    run_successfully(&other, &other_media, &["migrate"]).await;
    let job = start(&other, &other_media, "job").await;
    assert_eq!(job.wait_for_exit().await, Some(1), "the log is shorter than the tables know it");
    run_successfully(&other, &other_media, &["broker", "accept"]).await;
    let (origin, job) = tokio::join!(start(&other, &other_media, "serve"), start(&other, &other_media, "job"));
    let after = filled.read(&origin).await;
    for (line, said) in &before {
        assert_eq!(&after[line], said, "{line}");
    }
    filled.check_walk(&origin).await;
    other.wait_for_jobs(&origin).await;
    let next = origin.post(&ann(), &subjects[0], "after the restore").await;
    other.wait_until_persisted().await;
    let listed = ids(&origin.walk(&format!("{}?sort=new", comments_path(&subjects[0]))).await);
    assert_eq!(listed[0], id(&next));
    other.check_consistency().await;
    origin.kill();
    job.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_under_load_and_the_log_together_have_everything_that_was_acknowledged() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (media, backup) = (folder.path().join("media"), folder.path().join("backup"));
    let backup = backup.to_str().unwrap();
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (origin, job) = tokio::join!(start(&bed, &media, "serve"), start(&bed, &media, "job"));
    bed.wait_for_jobs(&origin).await;
    let load = BackgroundLoad::new(subjects_in(SLOT_OF_EACH.into_iter()));
    let meanwhile = async {
        load.wait_for_writes(60).await;
        run_successfully(&bed, &media, &["backup", backup]).await;
        load.wait_for_writes(60).await;
    };
    load.run_during(&clients(&[&origin]), 8, meanwhile).await;
    bed.wait_until_persisted().await;
    origin.kill();
    job.kill();
    bed.for_each_database("DROP DATABASE");
    run_successfully(&bed, &media, &["restore", backup]).await;
    run_successfully(&bed, &media, &["migrate"]).await;
    bed.delete_redis_keys().await;
    let (origin, _job) = tokio::join!(start(&bed, &media, "serve"), start(&bed, &media, "job"));
    bed.wait_for_jobs(&origin).await;
    bed.wait_until_persisted().await;
    load.check(&clients(&[&origin])[0]).await;
    run_successfully(&bed, &media, &["reconcile", "--repair"]).await;
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_restore_and_a_moving_slot_are_refused() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let bed = ClusterTestBed::create(shared(), &[]).await;
    // As a move leaves it that was interrupted.
    bed.sql(0, "UPDATE slot SET state = 4 WHERE slot = 7");
    let refused = bed.run(&["backup", &path("moving")]).await;
    assert!(refused.code == Some(1) && refused.stderr.contains("slot 7 is moving"), "{}", refused.stderr);
    bed.sql(0, "UPDATE slot SET state = 1 WHERE slot = 7");
    bed.run_successfully(&["backup", &path("backup")]).await;
    // As a restore leaves it that was interrupted.
    bed.sql(1, "INSERT INTO migration (number, tables, shard, at) VALUES (0, 2, 1, 0)");
    for command in [&["migrate"][..], &["export"], &["serve", "--bind", "127.0.0.1:0"]] {
        let refused = bed.run(command).await;
        assert!(refused.code == Some(1) && refused.stderr.contains("has not ended"), "{command:?}: {}", refused.stderr);
    }
    // Nothing migrates the rows of a cluster on their way into a data directory.
    let manifest = folder.path().join("backup/manifest.json");
    let mut older: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    older["tables"]["migration"] = json!(older["tables"]["migration"].as_u64().unwrap() - 1);
    std::fs::write(&manifest, older.to_string()).unwrap();
    let embedded = folder.path().join("data");
    let mut command = gailou_tests::gailou_command(["restore", &path("backup"), "--data"]);
    command.arg(&embedded);
    let refused = gailou_tests::run_command(command).await;
    let is_refused = refused.code == Some(1) && refused.stderr.contains("of a cluster of 2 databases");
    assert!(is_refused && refused.stderr.contains("run `gailou migrate` there"), "{}", refused.stderr);
    assert!(!embedded.exists());
}
