//! `gailou export`: what it writes can be imported elsewhere.

use std::collections::BTreeMap;
use std::path::Path;

use gailou_tests::{GailouProcess, ann, bob, comments_on, id, moderator};
use serde_json::Value;

use super::{run_on, write_file};

/// The exported comments by subject and id.
pub(super) async fn export(data: &Path) -> BTreeMap<String, Value> {
    let output = run_on(data, &["export"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let line = |line: &str| {
        let comment: Value = serde_json::from_str(line).unwrap();
        (format!("{} {}", comment["subject"], comment["id"]), comment)
    };
    output.stdout.lines().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn export_imported_elsewhere_is_the_same_and_imported_again_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (data, copy, third) = (directory.path().join("a"), directory.path().join("b"), directory.path().join("c"));
    let server = GailouProcess::start(&data).await;
    let (ann, bob, moderator) = (ann(), bob(), moderator());
    for subject in ["article/one", "topic/%E6%A5%BC", "post/7"] {
        let root = server.post(&ann, subject, "root \"quoted\"\n**bold**").await;
        let reply = server.reply(&bob, &root, "reply").await;
        let deep = server.reply(&ann, &reply, "deep").await;
        server.reply(&bob, &deep, "deeper").await;
        let lone_root = server.post(&bob, subject, "alone").await;
        server.like(&bob, &root).await;
        server.set_flag(&ann, "PUT", id(&reply), "dislike").await.expect(200);
        server.set_flag(&moderator, "PUT", id(&root), "pin").await.expect(200);
        server.edit(&ann, &deep, "edited").await.expect(200);
        server.delete(&bob, &reply).await;
        server.delete(&bob, &lone_root).await;
    }
    let exported = run_on(&data, &["export"]).await;
    assert_eq!((exported.code, exported.stdout.lines().count()), (Some(0), 15), "{}", exported.stderr);
    let lines = write_file(directory.path(), "out.jsonl", &exported.stdout);
    let first = export(&data).await;
    drop(server);
    for to in [&copy, &third] {
        let output = run_on(to, &["import", &lines, "--strict"]).await;
        assert_eq!(
            (output.code, output.last_line()),
            (Some(0), r#"{"imported":15,"skipped":0,"reparented":0,"bad":0}"#),
            "{}",
            output.stderr
        );
        assert_eq!(export(to).await, first);
    }
    // An import of existing comments changes nothing.
    let output = run_on(&data, &["import", &lines]).await;
    assert_eq!(output.last_line(), r#"{"imported":0,"skipped":15,"reparented":0,"bad":0}"#, "{}", output.stderr);
    assert_eq!(export(&data).await, first);
    // Readers see the same threads.
    let (old, new) = (GailouProcess::start(&data).await, GailouProcess::start(&copy).await);
    for subject in ["article/one", "topic/%E6%A5%BC", "post/7"] {
        let visible = async |server: &GailouProcess| {
            let page = server.page(&format!("/v1/subjects/{subject}/comments?sort=old")).await;
            let fields =
                ["content", "html", "floor", "level", "likes", "dislikes", "replies", "state", "flags", "created_at"];
            let visible_fields = |c: &Value| fields.map(|name| c[name].clone());
            let roots: Vec<_> = comments_on(&page).iter().map(visible_fields).collect();
            let mut replies = Vec::new();
            for root in comments_on(&page) {
                replies.extend(
                    server
                        .walk(&format!("/v1/comments/{}/replies?sort=old", id(root)))
                        .await
                        .iter()
                        .map(visible_fields),
                );
            }
            (page["subject"]["roots"].clone(), page["subject"]["comments"].clone(), roots, replies)
        };
        assert_eq!(visible(&old).await, visible(&new).await, "{subject}");
    }
}
