//! The search index and the process: what a kill leaves, and `gailou reindex`.

use std::fs;
use std::path::{Path, PathBuf};

use gailou_tests::{GailouProcess, ann, comments_on, poll_until};
use serde_json::json;

use super::run_on;

const SEARCH: &str = "/v1/subjects/article/books/search?q=findme";

/// Waits until a search finds so many comments; while an index is built, it is answered with 503.
async fn expect_found(server: &GailouProcess, count: usize) {
    let found = |page: &serde_json::Value| page["data"].as_array().map(Vec::len);
    let search = || async { server.request(&format!("GET {SEARCH}")).try_send().await.expect("an answer").json };
    let page = poll_until(search, |page| found(page) == Some(count)).await;
    assert_eq!(found(&page), Some(count), "{page}");
}

/// The folders of the index that answers.
fn index_folders(data: &Path) -> Vec<PathBuf> {
    fs::read_dir(data.join("search")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn index_follows_the_rows_through_kills_and_loss() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path();
    let server = GailouProcess::start(data).await;
    server.post(&ann(), "article/books", "findme one").await;
    expect_found(&server, 1).await;
    // Acknowledged, and perhaps not indexed yet.
    server.post(&ann(), "article/books", "findme two").await;
    server.kill();
    let server = GailouProcess::start(data).await;
    expect_found(&server, 2).await;
    server.kill();
    fs::remove_dir_all(data.join("search")).unwrap();
    let server = GailouProcess::start(data).await;
    expect_found(&server, 2).await;
    let [index] = index_folders(data).try_into().expect("one index");
    for entry in fs::read_dir(&index).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|name| name == "term") {
            fs::write(path, "damaged").unwrap();
        }
    }
    server.kill();
    let server = GailouProcess::start(data).await;
    expect_found(&server, 2).await;
    assert_ne!(index_folders(data), [index]);
}

#[tokio::test(flavor = "multi_thread")]
async fn reindex_builds_another_index_beside_a_server_and_without_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path();
    let server = GailouProcess::start(data).await;
    let root = server.post(&ann(), "article/books", "findme").await;
    expect_found(&server, 1).await;
    let before = index_folders(data);
    let done = run_on(data, &["reindex"]).await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(done.last_line().starts_with("the search index v1-") && done.last_line().ends_with(" is built"));
    let after = index_folders(data);
    assert!(after.len() == 1 && after != before, "{before:?} {after:?}");
    expect_found(&server, 1).await;
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    assert_eq!(run_on(data, &["reindex"]).await.code, Some(0));
    assert_ne!(index_folders(data), after);
    let server = GailouProcess::start(data).await;
    expect_found(&server, 1).await;
    let page = server.get("/v1/subjects/article/books/comments").await.expect(200);
    assert_eq!((comments_on(&page).len(), &page["data"][0]["id"]), (1, &root["id"]));
    assert_eq!(server.get(SEARCH).await.expect(200)["data"][0]["highlight"], json!("<mark>findme</mark>"));
}
