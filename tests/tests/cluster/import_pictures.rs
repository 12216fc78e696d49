//! `gailou import --fetch-pictures` in a cluster whose pictures are in a bucket.

use std::process::Command;

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{
    CommandOutput, GailouProcess, PictureHost, TestBucket, comments_on, picture_import_report, poll_until, run_command,
};
use serde_json::{Value, json};

use crate::test_bed::ClusterTestBed;

const COMMENTS: &str = "/v1/subjects/article/blog.example%2Fhello/comments?sort=old";

/// The program as a part of this cluster, with its pictures in this bucket; it may ask this machine.
fn command(bed: &ClusterTestBed, bucket: &TestBucket, arguments: &[&str]) -> Command {
    let mut command = bed.command(arguments);
    command.envs(bucket.variables()).env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "true");
    command
}

async fn start(bed: &ClusterTestBed, bucket: &TestBucket, role: &str) -> GailouProcess {
    GailouProcess::spawn_logging(command(bed, bucket, &[role, "--bind", "127.0.0.1:0"]), bed.log_file(role)).await
}

async fn import(bed: &ClusterTestBed, bucket: &TestBucket, file: &str) -> CommandOutput {
    run_command(command(bed, bucket, &["import", "--from", "twikoo", file, "--fetch-pictures"])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fetched_pictures_are_shown_by_every_origin_and_stay() {
    let Some(bucket) = TestBucket::new().filter(|_| available()) else { return };
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (one, other, job) =
        tokio::join!(start(&bed, &bucket, "serve"), start(&bed, &bucket, "serve"), start(&bed, &bucket, "job"));
    bed.wait_for_jobs(&one).await;
    let host = PictureHost::start().await;
    let directory = tempfile::tempdir().unwrap();
    let texts = [
        "<p>See my <img src='URL/cat.png' alt='cat'> here</p>",
        "<p><a href='https://blog.example/photo'><img src='URL/photo.jpg' alt='photo'></a></p>",
        "<p><img src='URL/cat.png' alt='again'> <img src='URL/gone.png' alt='gone'></p>",
    ];
    let file = host.write_export(directory.path(), &texts);

    // Without a place for pictures nothing is imported.
    let refused = bed.run(&["import", "--from", "twikoo", &file, "--fetch-pictures"]).await;
    assert!(refused.code == Some(1) && refused.stderr.contains("media.url is not set"), "{}", refused.stderr);
    assert!(host.take_asked().is_empty());

    let output = import(&bed, &bucket, &file).await;
    let expected = picture_import_report(3, 0, 3, 1);
    assert_eq!((output.code, output.last_line()), (Some(0), expected.as_str()), "{}", output.stderr);
    assert_eq!(host.failures(&output), ["/gone.png\": it answered 404 Not Found"]);
    let asked = host.take_asked();
    assert_eq!(
        asked,
        [("/cat.png", 1), ("/gone.png", 1), ("/photo.jpg", 1)].map(|(path, n)| (path.to_owned(), n)).into()
    );
    bed.wait_until_persisted().await;
    let again = import(&bed, &bucket, &file).await;
    assert_eq!(again.last_line(), picture_import_report(0, 3, 0, 0), "{}", again.stderr);
    assert!(again.stderr.is_empty() && host.take_asked().is_empty(), "what is there already is not fetched");
    assert_eq!(bucket.count_objects().await, 3);

    let gone = format!("again [gone]({}/gone.png)", host.url);
    for origin in [&one, &other] {
        let page = poll_until(|| origin.page(COMMENTS), |page| comments_on(page).len() == 3).await;
        let shown: Vec<_> = comments_on(&page).iter().map(|c| (&c["content"], &c["media"][0]["alt"])).collect();
        let expected = [
            (json!("See my cat here"), json!("cat")),
            (json!("[photo](https://blog.example/photo)"), json!("photo")),
            (json!(gone), json!("again")),
        ];
        assert_eq!(shown, expected.each_ref().map(|(content, alt)| (content, alt)), "{page}");
        for comment in comments_on(&page) {
            let url = comment["media"][0]["url"].as_str().unwrap();
            assert_eq!(origin.get(url).await.status, 200, "{comment}");
        }
    }

    // The sweep of a job that starts finds that comments show them, although they are as if unused for long.
    drop(job);
    for database in [0, 1] {
        bed.sql(database, "UPDATE media SET check_at = 1, unused_since = 1");
    }
    let job = start(&bed, &bucket, "job").await;
    let rows = "FROM media WHERE check_at > 1 AND unused_since IS NULL AND is_deleted = 0";
    assert_eq!(poll_until(async || bed.count(rows), |count| *count == 3).await, 3);
    assert_eq!(bucket.count_objects().await, 3);
    let page: Value = other.page(COMMENTS).await;
    assert!(comments_on(&page).iter().all(|comment| comment["media"].as_array().unwrap().len() == 1), "{page}");
    drop(job);
    bed.check_consistency().await;
}
