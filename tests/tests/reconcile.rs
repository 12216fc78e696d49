//! The reconciler of the embedded program finds and repairs what was made wrong behind its back.

use std::path::Path;
use std::process::Command;

use gailou_tests::{Program, Ran, gailou, id, ran, who};
use serde_json::json;

/// Changes the file of a stopped server.
fn sql(data: &Path, statement: &str) {
    let script = "import glob, sqlite3, sys\n\
                  file, = glob.glob(sys.argv[1] + '/*.db')\n\
                  with sqlite3.connect(file) as c: print(c.execute(sys.argv[2]).rowcount)";
    let done = Command::new("python3").args(["-c", script]).arg(data).arg(statement).output().expect("python3 runs");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(out.trim(), "1", "{statement}: {err}");
}

async fn reconcile(data: &Path, arguments: &[&str]) -> Ran {
    let mut command = gailou(["reconcile", "--data"]);
    command.arg(data).args(arguments);
    ran(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_counters_in_the_file_are_found_and_repaired() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path();
    let server = Program::start(data).await;
    let by = who(7, "Ann", "member");
    let root = server.post(&by, "article/books", "root").await;
    server.reply(&by, &root, "reply").await;
    for n in 0..3 {
        server.like(&who(100 + n, "M", "member"), &root).await;
    }
    let liked = id(&root).to_owned();
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    assert_eq!(reconcile(data, &[]).await.last(), "1 subjects, 0 differences, 0 repaired");
    let wrongs = [
        (format!("UPDATE comment SET likes = 9 WHERE id = {liked}"), "likes"),
        (format!("UPDATE comment SET dislikes = 1 WHERE id = {liked}"), "dislikes"),
        (format!("UPDATE comment SET replies = 5 WHERE id = {liked}"), "below"),
        ("UPDATE subject SET roots = 7".to_owned(), "roots"),
        ("UPDATE subject SET comments = 70".to_owned(), "visible comments"),
    ];
    for (statement, named) in wrongs {
        sql(data, &statement);
        let found = reconcile(data, &[]).await;
        assert_eq!(found.code, Some(1), "{statement}: {}{}", found.out, found.err);
        assert!(found.out.contains(named), "{named} in {}", found.out);
        let repaired = reconcile(data, &["--repair"]).await;
        assert_eq!(repaired.code, Some(0), "{statement}: {}{}", repaired.out, repaired.err);
        assert!(repaired.out.contains("(repaired)"), "{}", repaired.out);
        assert_eq!(reconcile(data, &[]).await.code, Some(0));
    }
    // Found and repaired beside a server as well, and then it is answered right.
    sql(data, &format!("UPDATE comment SET likes = 9 WHERE id = {liked}"));
    let server = Program::start(data).await;
    assert_eq!(reconcile(data, &[]).await.code, Some(1));
    assert_eq!(reconcile(data, &["--repair"]).await.code, Some(0));
    let page = server.page("/v1/subjects/article/books/comments").await;
    assert_eq!((&page["data"][0]["likes"], &page["data"][0]["replies"]), (&json!(3), &json!(1)));
    assert_eq!(page["subject"]["comments"], 2);
}
