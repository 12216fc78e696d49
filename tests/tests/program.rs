//! The program: its ready line, its exit codes, what it refuses, and its commands, also beside a
//! running server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gailou_tests::{Program, Ran, gailou, id, ran, who};
use serde_json::{Value, json};

/// The program on this data.
fn on(data: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = gailou(arguments);
    command.arg("--data").arg(data);
    command
}

async fn run(data: &Path, arguments: &[&str]) -> Ran {
    ran(on(data, arguments)).await
}

fn file(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// An export, comment by comment, in an order of its own.
async fn export(data: &Path) -> BTreeMap<String, Value> {
    let Ran { code, out, err } = run(data, &["export"]).await;
    assert_eq!(code, Some(0), "{err}");
    let line = |line: &str| {
        let comment: Value = serde_json::from_str(line).unwrap();
        (format!("{} {}", comment["subject"], comment["id"]), comment)
    };
    out.lines().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_and_locked() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("made/when/missing");
    let server = Program::start(&data).await;
    let address = server.ready.strip_prefix("gailou listening on http://127.0.0.1:").expect("the ready line");
    assert_ne!(address.parse::<u16>().expect("a port"), 0);
    assert_eq!(server.get("/healthz").await.status, 200);
    assert_eq!(server.get("/readyz").await.expect(200)["dependencies"]["store"], "ok");
    // The directory has an owner.
    let second = run(&data, &["--bind", "127.0.0.1:0"]).await;
    assert_eq!((second.code, second.out.as_str()), (Some(1), ""), "{}", second.err);
    assert!(second.err.contains("in use"), "{}", second.err);
    // It goes with its owner, even when that is killed.
    server.kill();
    let server = Program::start(&data).await;
    // So is the port.
    let port = server.base().trim_start_matches("http://");
    let taken = run(&directory.path().join("other"), &["--bind", port]).await;
    assert_eq!(taken.code, Some(1), "{}", taken.err);
}

/// Arguments, variables, the exit code, and what the complaint names.
type Refused<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], i32, &'a str);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let unknown = file(directory.path(), "a.toml", "audiance = \"x\"\n");
    let broken = file(directory.path(), "b.toml", "bind = \n");
    let secret = "0123456789abcdef0123456789abcdef";
    let table: [Refused<'_>; 20] = [
        (&["--nonsense"], &[], 2, "--nonsense"),
        (&["dance"], &[], 2, "dance"),
        (&["import"], &[], 2, "FILE"),
        (&["token"], &[], 2, "--sub"),
        (&["token", "--sub", "4611686018427387904", "--name", "x"], &[], 2, "--sub"),
        (&["token", "--sub", "7", "--name", "x", "--role", "root"], &[], 2, "root"),
        (&["token", "--sub", "7", "--name", "x", "--ttl", "2592001"], &[], 2, "--ttl"),
        (&[], &[("GAILOU_LIMIT", "off")], 2, "GAILOU_LIMIT"),
        (&[], &[("GAILOU_LIMITS", "sometimes")], 2, "GAILOU_LIMITS"),
        (&[], &[("GAILOU_TYPES__VIDEO__MODUS", "flat")], 2, "GAILOU_TYPES__VIDEO__MODUS"),
        (&[], &[("GAILOU_BIND", "nowhere")], 2, "GAILOU_BIND"),
        (&["--bind", "nowhere"], &[], 2, "--bind"),
        (&["--config", &unknown], &[], 2, "audiance"),
        (&["--config", &broken], &[], 2, "b.toml"),
        (&["--config", "/nowhere.toml"], &[], 2, "/nowhere.toml"),
        (&["--bind", "0.0.0.0:0"], &[], 2, "GAILOU_TOKEN_SECRET"),
        (&["--bind", "[::]:0"], &[("GAILOU_TOKEN_SECRET", "short")], 2, "GAILOU_TOKEN_SECRET"),
        (&[], &[("GAILOU_MYSQL_URLS", "mysql://x")], 2, "GAILOU_MYSQL_URLS"),
        (&[], &[("GAILOU_REDIS_URLS", "redis://x"), ("GAILOU_KAFKA_BROKERS", "x:1")], 2, "GAILOU_MYSQL_URLS"),
        (&["import", "/nowhere.jsonl"], &[], 1, "/nowhere.jsonl"),
    ];
    for (arguments, variables, code, named) in table {
        let mut command = on(&data, arguments);
        command.envs(variables.iter().copied());
        let got = ran(command).await;
        assert_eq!((got.code, got.out.as_str()), (Some(code), ""), "{arguments:?} {variables:?}: {}", got.err);
        assert!(got.err.contains(named), "{arguments:?} {variables:?} does not name {named}: {}", got.err);
        assert!(!got.err.contains("panicked"), "{}", got.err);
    }
    // With a secret it may listen everywhere, and knows its own tokens alone.
    let mut command = on(&data, &["--bind", "0.0.0.0:0"]);
    command.env("GAILOU_TOKEN_SECRET", secret).env("GAILOU_AUTH__GUESTS", "false");
    let server = Program::spawn(command).await;
    assert!(server.ready.starts_with("gailou listening on http://0.0.0.0:"));
    let development = who(7, "Ann", "member");
    let mut command = gailou(["token", "--sub", "7", "--name", "Ann"]);
    command.env("GAILOU_TOKEN_SECRET", secret);
    let ann = gailou_tests::Who { token: ran(command).await.last().to_owned(), ..development.clone() };
    let body = json!({"content": "x"});
    assert_eq!(server.try_post(&development, "post/1", &body).await.expect(401)["code"], "token_invalid");
    server.try_post(&ann, "post/1", &body).await.expect(201);
    let guest = server.call("POST /v1/guests").json(&json!({"name": "g"})).send().await;
    assert_eq!(guest.expect(403)["code"], "guests_not_allowed");
    for arguments in [["--help"], ["--version"]] {
        assert_eq!(ran(gailou(arguments)).await.code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_usable() {
    let directory = tempfile::tempdir().unwrap();
    let server = Program::start(directory.path()).await;
    let got = ran(gailou(["token", "--sub", "7", "--name", "Ann 楼", "--role", "moderator", "--level", "5"])).await;
    assert_eq!((got.code, got.out.lines().count()), (Some(0), 1), "{}", got.err);
    let ann = gailou_tests::Who { token: got.last().to_owned(), ..who(7, "Ann", "member") };
    let comment = server.post(&ann, "post/1", "x").await;
    assert_eq!(comment["author"], json!({"id": "7", "name": "Ann 楼", "avatar": null, "level": 5}));
    server.mark(&ann, "PUT", id(&comment), "pin").await.expect(200);
}

const THREADS: &str = r#"{"subject":"article:a:b","id":"r2","root":null,"parent":null,"author":"zoe","content":"second","likes":3,"created_at":1700000200}
{"subject":"article:a:b","id":"r1","root":null,"parent":null,"author":"yan","author_id":"77","author_level":4,"content":"first","likes":1,"dislikes":2,"created_at":1700000100000,"pinned":true}
not json
{"subject":"article:a:b","id":"c1","root":"r1","parent":"r1","author":"zoe","content":"","created_at":1700000300}
{"subject":"article:a:b","id":"c2","root":"r1","parent":"c1","author":"yan","content":"deeper","created_at":1700000400,"edited_at":1700000500}
{"subject":"article:a:b","id":"c3","root":"r1","parent":"gone","author":"yan","content":"reparented","created_at":1700000350}
{"subject":"article:a:b","id":"c4","root":"nobody","parent":"gone","author":"yan","content":"an orphan","created_at":1700000350}
{"subject":"nope:1","id":"x","root":null,"parent":null,"author":"yan","content":"x","created_at":1700000350}
{"subject":"article:a:b","id":"r3","root":null,"parent":null,"author":"yan","content":"gone","created_at":1700000600,"deleted":true}
{"subject":"article:a:b","id":"c5","root":"r3","parent":"r3","author":"zoe","content":"under a tombstone","created_at":1700000700}
"#;

async fn check_imported(data: &Path) {
    let server = Program::start(data).await;
    let page = server.page("/v1/subjects/article/a:b/comments?sort=old").await;
    let text = |of: &Value| {
        of.as_array().unwrap().iter().map(|c| c["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(text(&page["data"]), ["first", "second", ""]);
    let roots = page["data"].as_array().unwrap();
    assert_eq!(roots.iter().map(|c| c["floor"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        (&roots[0]["likes"], &roots[0]["dislikes"], &roots[0]["created_at"]),
        (&json!(1), &json!(2), &json!(1_700_000_100_000_u64))
    );
    assert_eq!(roots[0]["author"], json!({"id": "77", "name": "yan", "avatar": null, "level": 4}));
    assert_eq!((&roots[0]["flags"], &roots[2]["author"]), (&json!(["pinned"]), &json!(null)));
    assert_eq!((&page["subject"]["roots"], &page["subject"]["comments"]), (&json!(2), &json!(6)));
    let path = format!("/v1/comments/{}/replies?sort=old", id(&roots[0]));
    let replies = server.page(&path).await["data"].clone();
    assert_eq!(text(&replies), ["", "reparented", "deeper"], "floors follow created_at");
    assert_eq!((&replies[1]["parent_id"], &replies[2]["parent_id"]), (&roots[0]["id"], &replies[0]["id"]));
    assert_eq!((&replies[2]["edited_at"], &replies[2]["flags"]), (&json!(1_700_000_500_000_u64), &json!(["edited"])));
    // A name without an id is one member, outside the tokens' range.
    let zoe = replies[0]["author"]["id"].as_str().unwrap();
    assert!(zoe == roots[1]["author"]["id"] && zoe.parse::<u64>().unwrap() >= 3 << 61, "{zoe}");
}

#[tokio::test(flavor = "multi_thread")]
async fn import_takes_what_is_good() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let threads = file(directory.path(), "threads.jsonl", THREADS);
    let strict = run(&data, &["import", &threads, "--strict"]).await;
    assert_eq!(strict.code, Some(1), "{}", strict.err);
    assert_eq!(export(&data).await, BTreeMap::new(), "--strict has written something");
    let first = run(&data, &["import", &threads]).await;
    assert_eq!(
        (first.code, first.last()),
        (Some(0), r#"{"imported":7,"skipped":0,"reparented":1,"bad":3}"#),
        "{}",
        first.err
    );
    for got in [&strict, &first] {
        let lines = got.err.lines().filter(|l| l.starts_with("line ") && l.contains(": "));
        let named: BTreeSet<_> = lines.map(|l| l.split(':').next().unwrap()).collect();
        assert_eq!(named, ["line 3", "line 7", "line 8"].into(), "{}", got.err);
    }
    let before = export(&data).await;
    assert_eq!(before.len(), 7);
    check_imported(&data).await;
    let second = run(&data, &["import", &threads]).await;
    let last: Value = serde_json::from_str(second.last()).unwrap();
    assert_eq!(
        (second.code, &last["imported"], &last["skipped"], &last["bad"]),
        (Some(0), &json!(0), &json!(7), &json!(3))
    );
    assert_eq!(export(&data).await, before);
    // More of the same subject stands after what is there, whatever its age.
    let late = file(
        directory.path(),
        "late.jsonl",
        "{\"subject\":\"article:a:b\",\"id\":\"r0\",\"root\":null,\"parent\":null,\"author\":\"x\",\"content\":\"zeroth\",\"created_at\":1600000000}\n",
    );
    // Beside a running server, from standard input too, and seen at once.
    let server = Program::start(&data).await;
    let mut command = on(&data, &["import", "-"]);
    command.stdin(std::fs::File::open(late).unwrap());
    let got = ran(command).await;
    assert_eq!(
        (got.code, got.last()),
        (Some(0), r#"{"imported":1,"skipped":0,"reparented":0,"bad":0}"#),
        "{}",
        got.err
    );
    let page = server.page("/v1/subjects/article/a:b/comments?sort=new").await;
    assert_eq!((&page["data"][0]["content"], &page["data"][0]["floor"]), (&json!("zeroth"), &json!(4)));
    let exported = run(&data, &["export", "--subject", "article/a:b"]).await;
    assert_eq!((exported.code, exported.out.lines().count()), (Some(0), 8), "{}", exported.err);
    let none = run(&data, &["export", "--subject", "article/other"]).await;
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""), "{}", none.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_comes_back_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (data, copy, third) = (directory.path().join("a"), directory.path().join("b"), directory.path().join("c"));
    let server = Program::start(&data).await;
    let (ann, bob, moderator) = (who(7, "Ann", "member"), who(8, "Bob", "member"), who(50, "M", "moderator"));
    for subject in ["article/one", "topic/%E6%A5%BC", "post/7"] {
        let root = server.post(&ann, subject, "root \"quoted\"\n**bold**").await;
        let reply = server.reply(&bob, &root, "reply").await;
        let deep = server.reply(&ann, &reply, "deep").await;
        server.reply(&bob, &deep, "deeper").await;
        let alone = server.post(&bob, subject, "alone").await;
        server.like(&bob, &root).await;
        server.mark(&ann, "PUT", id(&reply), "dislike").await.expect(200);
        server.mark(&moderator, "PUT", id(&root), "pin").await.expect(200);
        server.edit(&ann, &deep, "edited").await.expect(200);
        server.delete(&bob, &reply).await;
        server.delete(&bob, &alone).await;
    }
    let exported = run(&data, &["export"]).await;
    assert_eq!((exported.code, exported.out.lines().count()), (Some(0), 15), "{}", exported.err);
    let lines = file(directory.path(), "out.jsonl", &exported.out);
    let first = export(&data).await;
    drop(server);
    for to in [&copy, &third] {
        let got = run(to, &["import", &lines, "--strict"]).await;
        assert_eq!(
            (got.code, got.last()),
            (Some(0), r#"{"imported":15,"skipped":0,"reparented":0,"bad":0}"#),
            "{}",
            got.err
        );
        assert_eq!(export(to).await, first);
    }
    // Into itself it changes nothing.
    let got = run(&data, &["import", &lines]).await;
    assert_eq!(got.last(), r#"{"imported":0,"skipped":15,"reparented":0,"bad":0}"#, "{}", got.err);
    assert_eq!(export(&data).await, first);
    // The threads look the same.
    let (old, new) = (Program::start(&data).await, Program::start(&copy).await);
    for subject in ["article/one", "topic/%E6%A5%BC", "post/7"] {
        let shown = async |server: &Program| {
            let page = server.page(&format!("/v1/subjects/{subject}/comments?sort=old")).await;
            let fields =
                ["content", "html", "floor", "level", "likes", "dislikes", "replies", "state", "flags", "created_at"];
            let face = |c: &Value| fields.map(|name| c[name].clone());
            let roots: Vec<_> = page["data"].as_array().unwrap().iter().map(face).collect();
            let mut replies = Vec::new();
            for root in page["data"].as_array().unwrap() {
                replies
                    .extend(server.walk(&format!("/v1/comments/{}/replies?sort=old", id(root))).await.iter().map(face));
            }
            (page["subject"]["roots"].clone(), page["subject"]["comments"].clone(), roots, replies)
        };
        assert_eq!(shown(&old).await, shown(&new).await, "{subject}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_take_effect_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    // A path too long for a socket's address must not matter.
    let data = data.join("d".repeat(150));
    let words = file(directory.path(), "words.tsv", "# comment\nbadword\tabuse\tblock\n兼职\tad\n");
    let server = Program::start(&data).await;
    let ann = who(7, "Ann", "member");
    server.post(&ann, "post/1", "badword 兼职").await;
    let got = run(&data, &["words", "load", &words]).await;
    assert_eq!(got.code, Some(0), "{}", got.err);
    assert_eq!(
        server.try_post(&ann, "post/1", &json!({"content": "badword"})).await.expect(422)["code"],
        "content_rejected"
    );
    assert_eq!(server.try_post(&ann, "post/1", &json!({"content": "兼-职"})).await.status, 202);
    // A file with a bad line changes nothing.
    let broken = file(directory.path(), "broken.tsv", "good\tad\nno category\n");
    let got = run(&data, &["words", "load", &broken]).await;
    assert_eq!(got.code, Some(1), "{}", got.err);
    server.post(&ann, "post/1", "good").await;
    // They outlive the server.
    server.kill();
    let server = Program::start(&data).await;
    assert_eq!(server.try_post(&ann, "post/1", &json!({"content": "badword"})).await.status, 422);
    for command in ["migrate", "doctor"] {
        let got = run(&data, &[command]).await;
        assert_eq!(got.code, Some(0), "{command}: {} {}", got.out, got.err);
    }
}

/// Threads as they are out there, where they lie beside the repository.
#[tokio::test(flavor = "multi_thread")]
async fn real_threads_come_in_whole() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/real-threads.jsonl"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "there is no {}: the real threads must be beside the repository",
            path.display()
        );
        eprintln!("skipped: there is no {}", path.display());
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let got = run(directory.path(), &["import", path.to_str().unwrap(), "--strict"]).await;
    let last: Value = serde_json::from_str(got.last()).unwrap();
    assert_eq!((got.code, &last["imported"], &last["bad"]), (Some(0), &json!(254), &json!(0)), "{}", got.err);
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let subjects: BTreeSet<&str> = lines.iter().map(|l| l["subject"].as_str().unwrap()).collect();
    let server = Program::start(directory.path()).await;
    let mut deepest = 0;
    for subject in subjects {
        let (kind, key) = subject.split_once(':').unwrap();
        let mut expected: Vec<&Value> =
            lines.iter().filter(|l| l["subject"] == subject && l["root"].is_null()).collect();
        expected.sort_by_key(|l| l["created_at"].as_u64().unwrap());
        let old = server.walk(&format!("/v1/subjects/{kind}/{key}/comments?sort=old&limit=7")).await;
        let face = |c: &Value| (c["content"].clone(), c["likes"].as_u64().unwrap_or(0), c["author"]["name"].clone());
        let file_face = |l: &&Value| (l["content"].clone(), l["likes"].as_u64().unwrap_or(0), l["author"].clone());
        assert_eq!(
            old.iter().map(face).collect::<Vec<_>>(),
            expected.iter().map(file_face).collect::<Vec<_>>(),
            "{subject}"
        );
        let mut top: Vec<_> = server.walk(&format!("/v1/subjects/{kind}/{key}/comments?sort=top&limit=9")).await;
        assert!(top.is_sorted_by_key(|c| std::cmp::Reverse(c["likes"].as_u64())), "{subject}");
        top.sort_by_key(|c| c["floor"].as_u64());
        assert_eq!(top.len(), old.len(), "{subject}");
        let mut all = old.len();
        for root in &old {
            let replies = server.walk(&format!("/v1/comments/{}/replies?sort=old", id(root))).await;
            assert!(replies.is_sorted_by_key(|c| c["created_at"].as_u64()), "{subject}");
            deepest = replies.iter().map(|c| c["path"].as_array().unwrap().len()).fold(deepest, usize::max);
            assert_eq!(root["replies"], replies.len());
            all += replies.len();
        }
        assert_eq!(all, lines.iter().filter(|l| l["subject"] == subject).count(), "{subject}");
        assert_eq!(server.page(&format!("/v1/subjects/{kind}/{key}")).await["comments"], all, "{subject}");
    }
    assert_eq!(deepest, 8, "the longest chain of the file");
}
