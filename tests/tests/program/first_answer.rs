//! How soon a server with many comments answers after it is started.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use gailou_tests::{GailouProcess, comments_path, run_command_within};
use serde_json::json;

use super::{command_on, write_file};

const COMMENTS: u64 = 20_000;
/// Threads in which they are.
const SUBJECTS: u64 = 20;
/// Of a build without optimisation: what a start reads does not grow with the comments.
const MAX_TIME_TO_ANSWER: Duration = Duration::from_secs(5);
/// To import them.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn server_with_many_comments_answers_soon_after_its_start() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut lines = String::new();
    for n in 0..COMMENTS {
        let line = json!({
            "subject": format!("article:{}", n % SUBJECTS), "id": n.to_string(), "root": null, "parent": null,
            "author": format!("author {}", n % 500), "content": format!("comment {n}"),
            "created_at": 1_700_000_000 + n,
        });
        writeln!(lines, "{line}").unwrap();
    }
    let file = write_file(directory.path(), "many.jsonl", &lines);
    let imported = run_command_within(command_on(&data, &["import", &file, "--strict"]), IMPORT_TIMEOUT).await;
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);

    let started = Instant::now();
    let server = GailouProcess::start(&data).await;
    server.get("/healthz").await.expect(200);
    let page = server.page(&format!("{}?sort=new&limit=20", comments_path("article/7"))).await;
    let waited = started.elapsed();
    assert_eq!(page["data"][0]["content"], format!("comment {}", COMMENTS - SUBJECTS + 7));
    assert_eq!(page["subject"]["roots"], COMMENTS / SUBJECTS);
    assert!(waited < MAX_TIME_TO_ANSWER, "{waited:?}");
}
