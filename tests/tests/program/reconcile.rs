//! `gailou reconcile`: it finds and repairs counters, ranks and marks of the review queue that were changed in the database file.

use std::path::Path;
use std::process::Command;

use gailou_shared::id::SubjectKey;
use gailou_tests::{CommandOutput, GailouProcess, ann, id, member};
use serde_json::json;

use super::run_on;

/// Changes one row in the database file.
fn change_row(data: &Path, statement: &str) {
    let script = "import glob, sqlite3, sys\n\
                  file, = glob.glob(sys.argv[1] + '/*.db')\n\
                  with sqlite3.connect(file) as c: print(c.execute(sys.argv[2]).rowcount)";
    let done = Command::new("python3").args(["-c", script]).arg(data).arg(statement).output().expect("python3 runs");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(out.trim(), "1", "{statement}: {err}");
}

async fn reconcile(data: &Path, arguments: &[&str]) -> CommandOutput {
    run_on(data, &[&["reconcile"], arguments].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_counters_are_found_and_repaired_also_beside_a_server() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path();
    let server = GailouProcess::start(data).await;
    let by = ann();
    let root = server.post(&by, "article/books", "root").await;
    server.reply(&by, &root, "reply").await;
    for n in 0..3 {
        server.like(&member(100 + n), &root).await;
    }
    let liked = id(&root).to_owned();
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    assert_eq!(reconcile(data, &[]).await.last_line(), "1 subjects, 0 differences, 0 repaired");
    let changes = [
        (format!("UPDATE comment SET likes = 9 WHERE id = {liked}"), "likes"),
        (format!("UPDATE comment SET dislikes = 1 WHERE id = {liked}"), "dislikes"),
        (format!("UPDATE comment SET replies = 5 WHERE id = {liked}"), "below"),
        ("UPDATE subject SET roots = 7".to_owned(), "roots"),
        ("UPDATE subject SET comments = 70".to_owned(), "visible comments"),
        (format!("UPDATE root_rank SET hot = 5 WHERE id = {liked}"), "its rank row is wrong"),
        (format!("DELETE FROM reply_rank WHERE root_id = {liked}"), "its rank row is missing"),
        (format!("UPDATE comment SET flags = flags | 32 WHERE id = {liked}"), "its row of the review queue is wrong"),
        (
            format!("INSERT INTO reply_rank (root_id, hot, id) VALUES ({liked}, 5, {liked})"),
            "a rank row is superfluous",
        ),
    ];
    for (statement, name) in changes {
        change_row(data, &statement);
        let found = reconcile(data, &[]).await;
        assert_eq!(found.code, Some(1), "{statement}: {}{}", found.stdout, found.stderr);
        assert!(found.stdout.contains(name), "{name} is missing in {}", found.stdout);
        let repaired = reconcile(data, &["--repair"]).await;
        assert_eq!(repaired.code, Some(0), "{statement}: {}{}", repaired.stdout, repaired.stderr);
        assert!(repaired.stdout.contains("(repaired)"), "{}", repaired.stdout);
        assert_eq!(reconcile(data, &[]).await.code, Some(0));
    }
    // A part of the subjects: by their slots, and by days.
    change_row(data, "UPDATE subject SET roots = 7");
    let slot = SubjectKey::new("article", "books").expect("a subject").slot().get();
    let other = (slot + 1) % 1_024;
    assert_eq!(reconcile(data, &["--slots", &slot.to_string()]).await.code, Some(1));
    let found = reconcile(data, &["--slots", &other.to_string(), "--repair"]).await;
    assert_eq!(found.last_line(), "0 subjects, 0 differences, 0 repaired");
    assert_eq!(
        reconcile(data, &["--sample", "1", "--repair"]).await.last_line(),
        "1 subjects, 1 differences, 1 repaired"
    );
    // The command works beside a running server, which then answers the right counts.
    change_row(data, &format!("UPDATE comment SET likes = 9 WHERE id = {liked}"));
    let server = GailouProcess::start(data).await;
    assert_eq!(reconcile(data, &[]).await.code, Some(1));
    assert_eq!(reconcile(data, &["--repair"]).await.code, Some(0));
    let page = server.page("/v1/subjects/article/books/comments").await;
    assert_eq!((&page["data"][0]["likes"], &page["data"][0]["replies"]), (&json!(3), &json!(1)));
    assert_eq!(page["subject"]["comments"], 2);
}
