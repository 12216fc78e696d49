//! How the program starts: its ready line, its lock, its refusals, its tokens and its word filter.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use axum::Router;
use axum::http::header::DATE;
use axum::routing::{get, post};
use gailou_tests::{GailouProcess, SmtpReceiver, TestMember, admin, ann, gailou_command, id, run_command};
use rusqlite::Connection;
use serde_json::json;
use tokio::net::TcpListener;

use super::{command_on, run_on, write_file};

#[tokio::test(flavor = "multi_thread")]
async fn data_directory_and_port_belong_to_one_server() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("made/when/missing");
    let server = GailouProcess::start(&data).await;
    let address = server.ready_line.strip_prefix("gailou listening on http://127.0.0.1:").expect("the ready line");
    assert_ne!(address.parse::<u16>().expect("a port"), 0);
    assert_eq!(server.get("/healthz").await.status, 200);
    assert_eq!(server.get("/readyz").await.expect(200)["dependencies"]["store"], "ok");
    // Calls to dependencies are measured.
    server.post(&ann(), "article/1", "text").await;
    server.page("/v1/subjects/article/1/comments").await;
    let metrics = server.get("/metrics").await.text;
    for (dependency, operation) in
        [("journal", "append"), ("sqlite", "persist"), ("sqlite", "list_floors"), ("page_cache", "build")]
    {
        let count = format!(
            "gailou_dependency_duration_seconds_count{{dependency=\"{dependency}\",operation=\"{operation}\"}} "
        );
        assert!(metrics.contains(&count), "{count} is missing in {metrics}");
    }
    assert!(metrics.contains("gailou_pool_wait_seconds_count{pool=\"sqlite\"} "), "{metrics}");
    // A second server on the same directory does not start.
    let second = run_on(&data, &["--bind", "127.0.0.1:0"]).await;
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""), "{}", second.stderr);
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
    // The lock ends with its process, also when the process is killed.
    server.kill();
    let server = GailouProcess::start(&data).await;
    // A second server on the same port does not start.
    let port = server.base().trim_start_matches("http://");
    let taken = run_on(&directory.path().join("other"), &["--bind", port]).await;
    assert_eq!(taken.code, Some(1), "{}", taken.stderr);
}

/// Arguments, variables, the exit code, and a part of the message.
type RefusedStart<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], i32, &'a str);

#[tokio::test(flavor = "multi_thread")]
async fn wrong_argument_variable_or_file_is_named_in_the_message() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let unknown = write_file(directory.path(), "a.toml", "audiance = \"x\"\n");
    let broken = write_file(directory.path(), "b.toml", "bind = \n");
    let table: [RefusedStart<'_>; 19] = [
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
        (&["--bind", "[::]:0"], &[("GAILOU_TOKEN_SECRET", "short")], 2, "GAILOU_TOKEN_SECRET"),
        (&[], &[("GAILOU_MYSQL_URLS", "mysql://x")], 2, "GAILOU_MYSQL_URLS"),
        (&[], &[("GAILOU_REDIS_URLS", "redis://x"), ("GAILOU_KAFKA_BROKERS", "x:1")], 2, "GAILOU_MYSQL_URLS"),
        (&["import", "/nowhere.jsonl"], &[], 1, "/nowhere.jsonl"),
    ];
    for (arguments, variables, code, part) in table {
        let mut command = command_on(&data, arguments);
        command.envs(variables.iter().copied());
        let output = run_command(command).await;
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(code), ""),
            "{arguments:?} {variables:?}: {}",
            output.stderr
        );
        assert!(output.stderr.contains(part), "{arguments:?} {variables:?} does not name {part}: {}", output.stderr);
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_accepts_only_tokens_of_its_own_secret() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let secret = "0123456789abcdef0123456789abcdef";
    let mut command = command_on(&data, &["--bind", "0.0.0.0:0"]);
    command.env("GAILOU_TOKEN_SECRET", secret).env("GAILOU_RULES__GUESTS", "off");
    let server = GailouProcess::spawn(command).await;
    assert!(server.ready_line.starts_with("gailou listening on http://0.0.0.0:"));
    let stranger = ann();
    let mut command = gailou_command(["token", "--sub", "7", "--name", "Ann"]);
    command.env("GAILOU_TOKEN_SECRET", secret);
    let ann = TestMember { token: run_command(command).await.last_line().to_owned(), ..stranger.clone() };
    let body = json!({"content": "x"});
    assert_eq!(server.try_post(&stranger, "post/1", &body).await.expect(401)["code"], "token_invalid");
    server.try_post(&ann, "post/1", &body).await.expect(201);
    let guest = server.request("POST /v1/guests").json(&json!({"name": "g"})).send().await;
    assert_eq!(guest.expect(403)["code"], "guests_not_allowed");
}

#[tokio::test(flavor = "multi_thread")]
async fn first_start_makes_a_secret_that_no_other_user_can_read() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let without_secret = |arguments: &[&str]| {
        let mut command = command_on(&data, arguments);
        command.env_remove("GAILOU_TOKEN_SECRET");
        command
    };
    let server = GailouProcess::spawn(without_secret(&["--bind", "0.0.0.0:0"])).await;
    let printed = run_command(without_secret(&["token", "--sub", "7", "--name", "Ann"])).await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let signed = TestMember { token: printed.last_line().to_owned(), ..ann() };
    server.try_post(&signed, "post/1", &json!({"content": "x"})).await.expect(201);
    let forged = server.try_post(&ann(), "post/1", &json!({"content": "x"})).await;
    assert_eq!(forged.expect(401)["code"], "token_invalid", "another secret");
    // Everything in the directory is closed to other users.
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let files: Vec<_> = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let owners = if file.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&file) & !owners, 0, "{} has mode {:o}", file.display(), mode(&file));
    }
    // The secret is the same after a restart, and doctor names files that others may read.
    server.kill();
    let server = GailouProcess::spawn(without_secret(&["--bind", "127.0.0.1:0"])).await;
    server.try_post(&signed, "post/1", &json!({"content": "y"})).await.expect(201);
    let doctor = async || run_command(without_secret(&["doctor"])).await.stdout;
    assert!(doctor().await.contains("other users cannot read"), "{}", doctor().await);
    std::fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(data.join("gailou.db"), Permissions::from_mode(0o644)).unwrap();
    let findings = doctor().await;
    assert!(findings.contains("gailou.db (files that others can open: 1): chmod -R go= "), "{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_asked_of_the_server_at_the_configured_address() {
    let directory = tempfile::tempdir().unwrap();
    let server = GailouProcess::spawn(command_on(&directory.path().join("data"), &["--bind", "0.0.0.0:0"])).await;
    let address = server.ready_line.rsplit('/').next().expect("an address").to_owned();
    let mut command = gailou_command(["health"]);
    command.env("GAILOU_BIND", &address);
    let lives = run_command(command).await;
    assert_eq!(lives.code, Some(0), "{}", lives.stderr);
    assert_eq!(lives.stdout, format!("ok: {} lives\n", address.replace("0.0.0.0", "127.0.0.1")));
    server.kill();
    let dead = run_command(gailou_command(["health", "--bind", &address])).await;
    assert_eq!((dead.code, dead.stdout.as_str()), (Some(1), ""));
    assert!(dead.stderr.contains("does not answer"), "{}", dead.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn help_and_version_exit_with_0() {
    for arguments in [["--help"], ["--version"]] {
        assert_eq!(run_command(gailou_command(arguments)).await.code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_the_command_has_its_name_role_and_level() {
    let directory = tempfile::tempdir().unwrap();
    let server = GailouProcess::start(directory.path()).await;
    let output =
        run_command(gailou_command(["token", "--sub", "7", "--name", "Ann 楼", "--role", "moderator", "--level", "5"]))
            .await;
    assert_eq!((output.code, output.stdout.lines().count()), (Some(0), 1), "{}", output.stderr);
    let ann = TestMember { token: output.last_line().to_owned(), ..ann() };
    let comment = server.post(&ann, "post/1", "x").await;
    assert_eq!(
        comment["author"],
        json!({"id": "7", "name": "Ann 楼", "avatar": null, "level": 5, "guest": false, "role": "moderator"})
    );
    server.set_flag(&ann, "PUT", id(&comment), "pin").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn loaded_terms_are_effective_at_once_and_survive_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    // The path may be longer than the address of a socket.
    let data = data.join("d".repeat(150));
    let terms = write_file(directory.path(), "terms.tsv", "# comment\nbadword\tabuse\tblock\n兼职\tad\n");
    let server = GailouProcess::start(&data).await;
    let ann = ann();
    server.post(&ann, "post/1", "badword 兼职").await;
    let output = run_on(&data, &["words", "load", &terms]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let log = server.request("GET /v1/admin/audit?action=words").by(&admin()).send().await.expect(200);
    let [entry] = log["data"].as_array().unwrap().as_slice() else { panic!("one entry: {log}") };
    assert_eq!((&entry["before"], &entry["after"]), (&json!({"version": 0}), &json!({"count": 2})));
    assert_eq!(
        server.try_post(&ann, "post/1", &json!({"content": "badword"})).await.expect(422)["code"],
        "content_rejected"
    );
    assert_eq!(server.try_post(&ann, "post/1", &json!({"content": "兼-职"})).await.status, 202);
    // A file with an invalid line changes nothing.
    let broken = write_file(directory.path(), "broken.tsv", "good\tad\nno category\n");
    let output = run_on(&data, &["words", "load", &broken]).await;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    server.post(&ann, "post/1", "good").await;
    server.kill();
    let server = GailouProcess::start(&data).await;
    assert_eq!(server.try_post(&ann, "post/1", &json!({"content": "badword"})).await.status, 422);
    for command in ["migrate", "doctor"] {
        let output = run_on(&data, &[command]).await;
        assert_eq!(output.code, Some(0), "{command}: {} {}", output.stdout, output.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_asks_the_service_that_knows_members() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let row = async |url: Option<String>| {
        let variables: Vec<_> = url.iter().map(|url| ("GAILOU_ACCOUNTS__URL", url.as_str())).collect();
        doctor_rows(&data, &variables, "accounts").await.remove(0)
    };
    assert!(row(None).await.starts_with("ok accounts none: accounts.url is not set"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, answering_accounts()).await });
    let url = |path: &str| Some(format!("http://{address}/{path}?secret=hidden"));
    assert_eq!(row(url("members")).await, format!("ok accounts http://{address}/members answers who members are"));
    let wrong = row(url("elsewhere")).await;
    assert!(wrong.starts_with(&format!("warning accounts http://{address}/elsewhere: it answered 404")), "{wrong}");
    server.abort();
    let _ = server.await;
    let away = row(url("members")).await;
    assert!(away.starts_with(&format!("warning accounts http://{address}/members: ")), "{away}");
}

#[tokio::test(flavor = "multi_thread")]
async fn site_that_may_not_write_is_in_the_log_and_in_the_doctors_table() {
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let mut command = command_on(&data, &["--bind", "127.0.0.1:0"]);
    command.env("GAILOU_SITES", "https://blog.example");
    let server = GailouProcess::spawn_logging(command, std::fs::File::create(&log).unwrap()).await;
    let doctor = async || doctor_rows(&data, &[], "sites").await.remove(0);
    assert_eq!(doctor().await, "ok sites pages of https://blog.example may write");
    let guest =
        |site: &'static str| server.request("POST /v1/guests").header("origin", site).json(&json!({"name": "g"}));
    guest("https://blog.example").send().await.expect(201);
    for _ in 0..2 {
        let refused = guest("https://other.example").send().await.expect(403);
        assert_eq!(refused["code"], "site_not_allowed");
    }
    let row = doctor().await;
    assert!(row.starts_with("warning sites ") && row.contains("https://other.example (2 times)"), "{row}");
    let lines = std::fs::read_to_string(&log).unwrap();
    assert_eq!(lines.matches("Refused a page of https://other.example").count(), 1, "{lines}");
}

/// The rows of a table of `gailou doctor` that begin so, each with single spaces.
async fn doctor_rows(data: &Path, variables: &[(&str, &str)], what: &str) -> Vec<String> {
    let mut command = command_on(data, &["doctor"]);
    command.envs(variables.iter().copied());
    let output = run_command(command).await;
    assert_eq!(output.code, Some(0), "{} {}", output.stdout, output.stderr);
    let rows = output.stdout.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
    rows.filter(|row| row.split_once(' ').is_some_and(|(_, row)| row.starts_with(what))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_whether_mails_go_out_and_what_is_plain() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    drop(GailouProcess::start(&data).await);
    let disk = doctor_rows(&data, &[], "disk").await;
    assert!(disk.len() == 1 && disk[0].ends_with(" MiB free"), "{disk:?}");
    let pictures = format!("file://{}", directory.path().join("pictures").display());
    let disk = doctor_rows(&data, &[("GAILOU_MEDIA__URL", &pictures)], "disk (pictures)").await;
    assert!(disk.len() == 1 && disk[0].ends_with(" MiB free"), "{disk:?}");
    let [none] = &doctor_rows(&data, &[], "mail").await[..] else { panic!("one row") };
    assert_eq!(none, "ok mail none: mail.url is not set; no mail is sent");
    assert_eq!(doctor_rows(&data, &[], "public").await, ["ok public address none: this machine alone reads here"]);

    let mailbox = SmtpReceiver::start().await;
    let url = mailbox.url();
    let mails = [("GAILOU_MAIL__URL", url.as_str())];
    let row = &doctor_rows(&data, &mails, "mail").await[0];
    assert!(row.starts_with("warning mail the mail server takes mails, but members are mailed nothing"), "{row}");
    let row = &doctor_rows(&data, &mails, "public").await[0];
    assert!(row.starts_with("warning public address set GAILOU_PUBLIC_URL"), "{row}");
    let named = [mails[0], ("GAILOU_PUBLIC_URL", "https://comments.example.invalid")];
    assert_eq!(doctor_rows(&data, &named, "mail").await, ["ok mail the mail server takes mails"]);
    let plain = [mails[0], ("GAILOU_PUBLIC_URL", "http://comments.example.invalid")];
    let row = &doctor_rows(&data, &plain, "public").await[0];
    assert!(row.starts_with("warning public address http://comments.example.invalid is plain"), "{row}");
    drop(mailbox);
    let row = &doctor_rows(&data, &named, "mail").await[0];
    assert!(row.starts_with("warning mail the mail server: "), "{row}");

    let open = [
        ("GAILOU_MAIL__URL", "smtp://mail.example.invalid:25?tls=opportunistic"),
        ("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "true"),
    ];
    let rows = doctor_rows(&data, &open, "connections").await;
    assert!(rows[0].starts_with("warning connections mail.url allows mails without encryption"), "{rows:?}");
    assert!(rows[1].starts_with("warning connections webhooks.allow_private is on"), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn program_serves_demo_element_console_and_documents_and_the_demo_can_end() {
    let directory = tempfile::tempdir().unwrap();
    let status_of = async |server: &GailouProcess, path: &str| server.get(path).await.status;
    let server = GailouProcess::start(&directory.path().join("with")).await;
    for path in ["/", "/demo.js", "/gailou.js", "/gailou/element.js", "/console", "/docs", "/docs/accounts"] {
        assert_eq!(status_of(&server, path).await, 200, "{path}");
    }
    assert_eq!(status_of(&server, "/docs/nothing").await, 404);
    let data = directory.path().join("without");
    let mut command = command_on(&data, &["--bind", "127.0.0.1:0"]);
    command.env("GAILOU_DEMO", "false");
    let server = GailouProcess::spawn(command).await;
    for path in ["/", "/index", "/index.html", "/demo.js", "/demo.css"] {
        assert_eq!(status_of(&server, path).await, 404, "{path}");
    }
    for path in ["/gailou.js", "/console", "/docs", "/openapi.json"] {
        assert_eq!(status_of(&server, path).await, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_asks_the_address_of_the_worker_and_compares_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let path = system_that_says(directory.path(), "");
    let doctor = async |url: &str| {
        let secret = "an edge's secret of 32 bytes or more";
        let edge = [("GAILOU_EDGE__URL", url), ("GAILOU_EDGE_SECRET", secret), ("PATH", &path)];
        let rows = doctor_rows(&data, &edge, "").await.into_iter();
        rows.filter(|row| matches!(row.split(' ').nth(1), Some("reachable" | "clock"))).collect::<Vec<_>>()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let late = || async { ([(DATE, "Sun, 06 Nov 1994 08:49:37 GMT")], "{}") };
    let server = tokio::spawn(async move { axum::serve(listener, Router::new().route("/healthz", get(late))).await });
    let rows = doctor(&url).await;
    assert_eq!(rows[0], format!("ok reachable {url} answers"));
    assert!(
        rows[1].starts_with("warning clock ") && rows[1].contains(&format!(" s ahead of that of {url}")),
        "{rows:?}"
    );
    server.abort();
    let _ = server.await;
    let rows = doctor(&url).await;
    assert!(rows[0].starts_with(&format!("warning reachable {url} does not answer")), "{rows:?}");
    assert!(rows.len() == 2 && rows[1].starts_with("warning clock compared with nothing"), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_asks_the_address_of_readers_and_does_not_take_the_own_clock_for_another_one() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = GailouProcess::start(&directory.path().join("proxied")).await;
    let url = server.base().to_owned();
    let public = [("GAILOU_PUBLIC_URL", url.as_str())];
    assert_eq!(doctor_rows(&data, &public, "reachable").await, [format!("ok reachable {url} answers")]);
    for (said, expected) in [
        ("", "warning clock compared with nothing"),
        ("yes", "ok clock kept by a server of time"),
        ("no", "warning clock no server of time keeps it"),
    ] {
        let path = system_that_says(directory.path(), said);
        for variables in [&[("PATH", path.as_str())][..], &[("PATH", path.as_str()), public[0]]] {
            let rows = doctor_rows(&data, variables, "clock").await;
            assert!(rows.len() == 1 && rows[0].starts_with(expected), "{said} {variables:?}: {rows:?}");
        }
    }
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    let row = doctor_rows(&data, &public, "reachable").await.remove(0);
    assert!(row.starts_with(&format!("warning reachable {url} does not answer this machine: ")), "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_warns_of_a_comment_from_the_future() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = GailouProcess::start(&data).await;
    server.post(&ann(), "post/1", "x").await;
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    let row = doctor_rows(&data, &[], "clock").await.remove(0);
    assert!(!row.contains("future"), "{row}");
    // As if the clock had been a day ahead.
    let database = Connection::open(data.join("gailou.db")).unwrap();
    database.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    assert_eq!(database.execute("UPDATE comment SET id = id + (86400000 << 22)", []).unwrap(), 1);
    drop(database);
    let row = doctor_rows(&data, &[], "clock").await.remove(0);
    assert!(row.starts_with("warning clock the newest comment is 863"), "{row}");
    assert!(row.contains(" s in the future, and new ones have its time until then"), "{row}");
}

/// A `PATH` whose `timedatectl` says this of the clock of the system.
fn system_that_says(directory: &Path, said: &str) -> String {
    let script = format!("#!/bin/sh\n[ \"$*\" = \"show --property=NTPSynchronized --value\" ] && echo {said}\n");
    let program = write_file(directory, "timedatectl", &script);
    std::fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap())
}

/// A service that knows no member.
fn answering_accounts() -> Router {
    Router::new().route("/members", post(|| async { r#"{"data":{}}"# }))
}
