//! `gailou import`: valid and invalid lines, repetition, concurrent writers, and a kill half-way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_tests::{
    CommandOutput, GailouProcess, assert_floors_have_no_gap, comments_on, id, member, moderator, poll_until,
    replies_path, run_command,
};
use rand::Rng as _;
use serde_json::{Value, json};

use super::export::export;
use super::{command_on, run_on, write_file};

async fn import(data: &Path, file: &Path) -> CommandOutput {
    run_on(data, &["import", file.to_str().unwrap()]).await
}

/// A valid line with these fields changed.
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

/// Valid and invalid lines, in an order in which replies come before their parents.
const IMPORTED_LINES: &str = r#"{"subject":"article:a:b","id":"r2","root":null,"parent":null,"author":"zoe","content":"second","likes":3,"created_at":1700000200}
{"subject":"article:a:b","id":"r1","root":null,"parent":null,"author":"yan","author_id":"77","author_level":4,"author_role":"admin","content":"first","likes":1,"dislikes":2,"created_at":1700000100000,"pinned":true}
not json
{"subject":"article:a:b","id":"c1","root":"r1","parent":"r1","author":"zoe","content":"","created_at":1700000300}
{"subject":"article:a:b","id":"c2","root":"r1","parent":"c1","author":"yan","content":"deeper","created_at":1700000400,"edited_at":1700000500}
{"subject":"article:a:b","id":"c3","root":"r1","parent":"gone","author":"yan","content":"reparented","created_at":1700000350}
{"subject":"article:a:b","id":"c4","root":"missing","parent":"gone","author":"yan","content":"an orphan","created_at":1700000350}
{"subject":"nope:1","id":"x","root":null,"parent":null,"author":"yan","content":"x","created_at":1700000350}
{"subject":"article:a:b","id":"r3","root":null,"parent":null,"author":"yan","content":"gone","created_at":1700000600,"deleted":true}
{"subject":"article:a:b","id":"c5","root":"r3","parent":"r3","author":"zoe","content":"under a tombstone","created_at":1700000700}
"#;

async fn check_imported(data: &Path) {
    let server = GailouProcess::start(data).await;
    let page = server.page("/v1/subjects/article/a:b/comments?sort=old").await;
    let text = |of: &Value| {
        of.as_array().unwrap().iter().map(|c| c["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(text(&page["data"]), ["first", "second", ""]);
    let roots = comments_on(&page);
    assert_eq!(roots.iter().map(|c| c["floor"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        (&roots[0]["likes"], &roots[0]["dislikes"], &roots[0]["created_at"]),
        (&json!(1), &json!(2), &json!(1_700_000_100_000_u64))
    );
    assert_eq!(
        roots[0]["author"],
        json!({"id": "77", "name": "yan", "avatar": null, "level": 4, "guest": false, "role": "admin"})
    );
    assert_eq!((&roots[0]["flags"], &roots[2]["author"]), (&json!(["pinned"]), &json!(null)));
    assert_eq!((&page["subject"]["roots"], &page["subject"]["comments"]), (&json!(2), &json!(6)));
    let path = format!("/v1/comments/{}/replies?sort=old", id(&roots[0]));
    let replies = server.page(&path).await["data"].clone();
    assert_eq!(text(&replies), ["", "reparented", "deeper"], "floors follow created_at");
    assert_eq!((&replies[1]["parent_id"], &replies[2]["parent_id"]), (&roots[0]["id"], &replies[0]["id"]));
    assert_eq!((&replies[2]["edited_at"], &replies[2]["flags"]), (&json!(1_700_000_500_000_u64), &json!(["edited"])));
    // An author without an id gets one outside the range of tokens.
    let zoe = replies[0]["author"]["id"].as_str().unwrap();
    assert!(zoe == roots[1]["author"]["id"] && zoe.parse::<u64>().unwrap() >= 3 << 61, "{zoe}");
}

#[tokio::test(flavor = "multi_thread")]
async fn import_skips_invalid_lines_and_known_comments_and_strict_imports_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let threads = write_file(directory.path(), "threads.jsonl", IMPORTED_LINES);
    let strict = run_on(&data, &["import", &threads, "--strict"]).await;
    assert_eq!(strict.code, Some(1), "{}", strict.stderr);
    assert_eq!(export(&data).await, BTreeMap::new(), "--strict has written to the tables");
    let first = run_on(&data, &["import", &threads]).await;
    assert_eq!(
        (first.code, first.last_line()),
        (Some(0), r#"{"imported":7,"skipped":0,"reparented":1,"bad":3}"#),
        "{}",
        first.stderr
    );
    for output in [&strict, &first] {
        let lines = output.stderr.lines().filter(|l| l.starts_with("line ") && l.contains(": "));
        let named: BTreeSet<_> = lines.map(|l| l.split(':').next().unwrap()).collect();
        assert_eq!(named, ["line 3", "line 7", "line 8"].into(), "{}", output.stderr);
    }
    let before = export(&data).await;
    assert_eq!(before.len(), 7);
    check_imported(&data).await;
    let second = run_on(&data, &["import", &threads]).await;
    let last: Value = serde_json::from_str(second.last_line()).unwrap();
    assert_eq!(
        (second.code, &last["imported"], &last["skipped"], &last["bad"]),
        (Some(0), &json!(0), &json!(7), &json!(3))
    );
    assert_eq!(export(&data).await, before);
    // A later import of the same subject gets the next floors, whatever the age of its comments.
    let late = write_file(
        directory.path(),
        "late.jsonl",
        "{\"subject\":\"article:a:b\",\"id\":\"r0\",\"root\":null,\"parent\":null,\"author\":\"x\",\"content\":\"zeroth\",\"created_at\":1600000000}\n",
    );
    // An import beside a running server, from standard input, is visible at once.
    let server = GailouProcess::start(&data).await;
    let mut command = command_on(&data, &["import", "-"]);
    command.stdin(std::fs::File::open(late).unwrap());
    let output = run_command(command).await;
    assert_eq!(
        (output.code, output.last_line()),
        (Some(0), r#"{"imported":1,"skipped":0,"reparented":0,"bad":0}"#),
        "{}",
        output.stderr
    );
    let page = server.page("/v1/subjects/article/a:b/comments?sort=new").await;
    assert_eq!((&page["data"][0]["content"], &page["data"][0]["floor"]), (&json!("zeroth"), &json!(4)));
    let exported = run_on(&data, &["export", "--subject", "article/a:b"]).await;
    assert_eq!((exported.code, exported.stdout.lines().count()), (Some(0), 8), "{}", exported.stderr);
    // What changed something is in the audit log.
    let log = server.request("GET /v1/admin/audit?action=import").by(&moderator()).send().await.expect(200);
    let counts: Vec<_> = log["data"].as_array().unwrap().iter().map(|entry| &entry["after"]).collect();
    let expected = [
        json!({"imported": 1, "skipped": 0, "reparented": 0, "bad": 0}),
        json!({"imported": 7, "skipped": 0, "reparented": 1, "bad": 3}),
    ];
    assert_eq!(counts, expected.iter().collect::<Vec<_>>());
    assert_eq!(log["data"][0]["target"], json!({"kind": "import", "id": ""}));
    assert_eq!(log["data"][0]["actor"]["name"], "operator");
    let none = run_on(&data, &["export", "--subject", "article/other"]).await;
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""), "{}", none.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_line_is_named_with_its_number() {
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
        line(&json!({"author_role": "king"})),
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
    // One valid line, then the invalid ones.
    let mut text = format!("{good}\n").into_bytes();
    for line in &bad {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    let file = directory.path().join("bad.jsonl");
    std::fs::write(&file, text).unwrap();
    let data = directory.path().join("data");
    for run in [["--strict"].as_slice(), &[]] {
        let mut command = command_on(&data, &["import", file.to_str().unwrap()]);
        command.args(run);
        let output = run_command(command).await;
        assert_eq!(output.code, Some(if run.is_empty() { 0 } else { 1 }), "{}", output.stderr);
        let named: BTreeSet<usize> = output
            .stderr
            .lines()
            .filter_map(|l| l.strip_prefix("line ")?.split_once(": "))
            .map(|(number, reason)| {
                assert!(!reason.trim().is_empty());
                number.parse().unwrap()
            })
            .collect();
        let missing: Vec<_> =
            (2..bad.len() + 2).filter(|n| !named.contains(n)).map(|n| String::from_utf8_lossy(&bad[n - 2])).collect();
        assert!(missing.is_empty() && !named.contains(&1), "accepted: {missing:#?}\n{}", output.stderr);
        if run.is_empty() {
            let last: Value = serde_json::from_str(output.last_line()).unwrap();
            assert_eq!(last, json!({"imported": 1, "skipped": 0, "reparented": 0, "bad": bad.len()}));
        }
    }
}

/// `count` lines of one subject: roots with chains of three replies, the newest first.
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

/// Checks that each comment is listed once, that floors have no gaps, and that counts are right.
async fn check_listed_once(server: &GailouProcess, expected: usize) {
    let old = server.walk("/v1/subjects/article/many/comments?sort=old&limit=100").await;
    assert_floors_have_no_gap("the roots", &old);
    let mut texts: Vec<String> = old.iter().map(|c| c["content"].as_str().unwrap().to_owned()).collect();
    for root in &old {
        let path = format!("{}?sort=old", replies_path(root));
        let replies = if root["replies"] == 0 { vec![] } else { server.walk(&path).await };
        assert_floors_have_no_gap(&path, &replies);
        assert_eq!(root["replies"], replies.len());
        texts.extend(replies.iter().map(|c| c["content"].as_str().unwrap().to_owned()));
    }
    assert_eq!(texts.len(), expected);
    assert_eq!(texts.into_iter().collect::<BTreeSet<_>>().len(), expected, "a comment is listed twice");
    let subject = server.page("/v1/subjects/article/many").await;
    assert_eq!((&subject["comments"], &subject["roots"]), (&json!(expected), &json!(old.len())));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_imports_beside_writers_lose_and_double_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let files = ["a", "b"].map(|name| {
        let file = directory.path().join(name);
        std::fs::write(&file, many(1_200, name)).unwrap();
        file
    });
    let server = GailouProcess::start(&data).await;
    let writers = join_all((0..4).map(|w| {
        let server = &server;
        async move {
            for n in 0..50 {
                server.post(&member(100 + w), "article/many", &format!("w{w} {n}")).await;
            }
        }
    }));
    let (a, b, _) = tokio::join!(import(&data, &files[0]), import(&data, &files[1]), writers);
    for output in [a, b] {
        assert_eq!(
            (output.code, output.last_line()),
            (Some(0), r#"{"imported":1200,"skipped":0,"reparented":0,"bad":0}"#),
            "{}",
            output.stderr
        );
    }
    poll_until(|| server.page("/v1/subjects/article/many"), |s| s["comments"] == 2_600).await;
    check_listed_once(&server, 2_600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_import_is_completed_by_the_next_run() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file) = (directory.path().join("data"), directory.path().join("many.jsonl"));
    std::fs::write(&file, many(6_000, "k")).unwrap();
    for _ in 0..3 {
        let mut command = command_on(&data, &["import", file.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A random moment: the next run must be able to continue from any state.
        tokio::time::sleep(Duration::from_millis(rand::rng().random_range(20..600))).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let output = import(&data, &file).await;
    let last: Value = serde_json::from_str(output.last_line()).unwrap();
    let sum = last["imported"].as_u64().unwrap() + last["skipped"].as_u64().unwrap();
    assert_eq!((output.code, sum, &last["bad"]), (Some(0), 6_000, &json!(0)), "{}", output.stderr);
    check_listed_once(&GailouProcess::start(&data).await, 6_000).await;
}
