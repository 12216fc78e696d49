//! `gailou import` where it is hard: bad lines of every kind, beside writers, and killed half-way.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use gailou_tests::{Program, Ran, gailou, id, ran, who};
use rand::Rng as _;
use serde_json::{Value, json};

fn on(data: &Path, arguments: &[&str]) -> Command {
    let mut command = gailou(arguments);
    command.arg("--data").arg(data);
    command
}

async fn import(data: &Path, file: &Path) -> Ran {
    ran(on(data, &["import", file.to_str().unwrap()])).await
}

/// A good line with these fields changed.
fn line(change: &Value) -> String {
    let mut line = json!({"subject": "article:bad", "id": "x", "root": null, "parent": null, "author": "yan",
        "content": "x", "created_at": 1_700_000_000});
    for (name, value) in change.as_object().unwrap() {
        line[name] = value.clone();
    }
    line.to_string()
}

fn without(name: &str) -> String {
    let mut line: Value = serde_json::from_str(&line(&json!({}))).unwrap();
    line.as_object_mut().unwrap().remove(name);
    line.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_lines_are_named_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let good = line(&json!({"id": "good", "likes": 5}));
    let bad: Vec<Vec<u8>> = [
        "{".to_owned(),
        "[]".into(),
        "7".into(),
        without("subject"),
        without("id"),
        without("author"),
        without("content"),
        without("created_at"),
        line(&json!({"subject": "article"})),
        line(&json!({"subject": "article:"})),
        line(&json!({"subject": ":x"})),
        line(&json!({"subject": 7})),
        line(&json!({"subject": "nope:1"})),
        line(&json!({"subject": format!("article:{}", "k".repeat(513))})),
        line(&json!({"subject": "article:a\u{0}b"})),
        line(&json!({"id": 7})),
        line(&json!({"id": ""})),
        line(&json!({"content": 7})),
        line(&json!({"content": null})),
        line(&json!({"author": 7})),
        line(&json!({"author_id": "abc"})),
        line(&json!({"author_id": "0"})),
        line(&json!({"author_level": -1})),
        line(&json!({"author_level": 300})),
        line(&json!({"likes": -1})),
        line(&json!({"likes": 1.5})),
        line(&json!({"likes": "5"})),
        line(&json!({"dislikes": []})),
        line(&json!({"created_at": "yesterday"})),
        line(&json!({"created_at": -5})),
        line(&json!({"edited_at": "x"})),
        line(&json!({"deleted": "yes"})),
        line(&json!({"pinned": 1})),
        line(&json!({"parent": 7, "root": "good"})),
        line(&json!({"parent": "gone", "root": "gone"})),
    ]
    .into_iter()
    .map(String::into_bytes)
    .chain([b"{\"subject\":\"article:bad\xff\"}".to_vec(), b"\0".to_vec()])
    .collect();
    // One good line, then the bad ones.
    let mut text = format!("{good}\n").into_bytes();
    for line in &bad {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    let file = directory.path().join("bad.jsonl");
    std::fs::write(&file, text).unwrap();
    let data = directory.path().join("data");
    for run in [["--strict"].as_slice(), &[]] {
        let mut command = on(&data, &["import", file.to_str().unwrap()]);
        command.args(run);
        let got = ran(command).await;
        assert_eq!(got.code, Some(if run.is_empty() { 0 } else { 1 }), "{}", got.err);
        let named: BTreeSet<usize> = got
            .err
            .lines()
            .filter_map(|l| l.strip_prefix("line ")?.split_once(": "))
            .map(|(number, reason)| {
                assert!(!reason.trim().is_empty());
                number.parse().unwrap()
            })
            .collect();
        let missing: Vec<_> =
            (2..bad.len() + 2).filter(|n| !named.contains(n)).map(|n| String::from_utf8_lossy(&bad[n - 2])).collect();
        assert!(missing.is_empty() && !named.contains(&1), "taken for good: {missing:#?}\n{}", got.err);
        if run.is_empty() {
            let last: Value = serde_json::from_str(got.last()).unwrap();
            assert_eq!(last, json!({"imported": 1, "skipped": 0, "reparented": 0, "bad": bad.len()}));
        }
    }
}

/// `count` lines of one subject: roots and short chains, oldest last.
fn many(count: usize, name: &str) -> String {
    let mut text = String::new();
    for n in 0..count {
        let is_root = n % 4 == 0;
        let root = format!("{name}{}", n - n % 4);
        let comment = json!({"subject": "article:many", "id": format!("{name}{n}"), "root": (!is_root).then_some(&root),
            "parent": (!is_root).then(|| format!("{name}{}", n - 1)), "author": format!("user{}", n % 50),
            "content": format!("{name}{n}"), "likes": n % 7, "created_at": 1_700_000_000 - n});
        text.push_str(&comment.to_string());
        text.push('\n');
    }
    text
}

/// Everything is there once, floors have no gaps, counts are right.
async fn check(server: &Program, expected: usize) {
    let old = server.walk("/v1/subjects/article/many/comments?sort=old&limit=100").await;
    let floors: Vec<_> = old.iter().map(|c| c["floor"].as_u64().unwrap()).collect();
    assert_eq!(floors, (1..=old.len() as u64).collect::<Vec<_>>());
    let mut texts: Vec<String> = old.iter().map(|c| c["content"].as_str().unwrap().to_owned()).collect();
    for root in &old {
        let path = format!("/v1/comments/{}/replies?sort=old", id(root));
        let replies = if root["replies"] == 0 { vec![] } else { server.walk(&path).await };
        let floors: Vec<_> = replies.iter().map(|c| c["floor"].as_u64().unwrap()).collect();
        assert_eq!(floors, (1..=replies.len() as u64).collect::<Vec<_>>());
        assert_eq!(root["replies"], replies.len());
        texts.extend(replies.iter().map(|c| c["content"].as_str().unwrap().to_owned()));
    }
    assert_eq!(texts.len(), expected);
    assert_eq!(texts.into_iter().collect::<BTreeSet<_>>().len(), expected, "some are there twice");
    let subject = server.page("/v1/subjects/article/many").await;
    assert_eq!((&subject["comments"], &subject["roots"]), (&json!(expected), &json!(old.len())));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_runs_beside_writers() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let files = ["a", "b"].map(|name| {
        let file = directory.path().join(name);
        std::fs::write(&file, many(1_200, name)).unwrap();
        file
    });
    let server = Program::start(&data).await;
    let writers = join_all((0..4).map(|w| {
        let server = &server;
        async move {
            for n in 0..50 {
                server.post(&who(100 + w, "M", "member"), "article/many", &format!("w{w} {n}")).await;
            }
        }
    }));
    let (a, b, _) = tokio::join!(import(&data, &files[0]), import(&data, &files[1]), writers);
    for got in [a, b] {
        assert_eq!(
            (got.code, got.last()),
            (Some(0), r#"{"imported":1200,"skipped":0,"reparented":0,"bad":0}"#),
            "{}",
            got.err
        );
    }
    gailou_tests::until(|| server.page("/v1/subjects/article/many"), |s| s["comments"] == 2_600).await;
    check(&server, 2_600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_was_killed_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file) = (directory.path().join("data"), directory.path().join("many.jsonl"));
    std::fs::write(&file, many(6_000, "k")).unwrap();
    for _ in 0..3 {
        let mut command = on(&data, &["import", file.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(rand::rng().random_range(20..600))).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let got = import(&data, &file).await;
    let last: Value = serde_json::from_str(got.last()).unwrap();
    let sum = last["imported"].as_u64().unwrap() + last["skipped"].as_u64().unwrap();
    assert_eq!((got.code, sum, &last["bad"]), (Some(0), 6_000, &json!(0)), "{}", got.err);
    check(&Program::start(&data).await, 6_000).await;
}
