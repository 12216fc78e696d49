//! `gailou restore` of an embedded backup with the settings of a cluster, and of a cluster's backup into a data directory:
//! the installation grows and comes back, and nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gailou::domain::growth::{ColumnSource, GROWN_TABLES, GrownTable, RowPlace};
use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{
    CommandOutput, FilledInstallation, GailouProcess, TestMember, admin, ann, bob, comments_path, gailou_command, id,
    ids, member, moderator, poll_until, run_command,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::backup::{SLOT_OF_EACH, png, run, run_successfully, start};
use crate::test_bed::{ClusterTestBed, subjects_in};

/// What signs in: the tables that no test of the program fills by the API, and those that do not grow.
const SIGN_IN_ROWS: &str = "
    INSERT INTO account (id, name, role, created_at) VALUES (900, 'Sue', 2, 1);
    INSERT INTO identity (digest, account_id, created_at) VALUES (randomblob(32), 900, 1);
    INSERT INTO passkey (account_id, id, credential, name, record, created_at) VALUES (900, 1, x'0102', 'key', '{}', 1);
    INSERT INTO member_contact (id, email, notify, language) VALUES (900, 'sue@example.org', 1, 'de');
    INSERT INTO refresh_family (account_id, id, digest, created_at, used_at) VALUES (900, 1, randomblob(32), 1, 1);
    INSERT INTO sign_in_link (digest, record, created_at) VALUES (randomblob(32), '{}', 1);
    INSERT INTO event (id, at, comment_id, kind, queued_at) SELECT id, created_at, id, 3, created_at FROM comment LIMIT 1;";

/// A data directory, and the folder of its backup.
struct EmbeddedInstallation {
    directory: tempfile::TempDir,
}

impl EmbeddedInstallation {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn backup(&self) -> String {
        self.path("backup").to_str().unwrap().to_owned()
    }

    /// Makes a backup; its summary.
    async fn back_up(&self) -> Value {
        let mut command = gailou_command(["backup", &self.backup(), "--data"]);
        command.arg(self.path("data"));
        let done = run_command(command).await;
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        serde_json::from_str(done.last_line()).unwrap()
    }

    /// Changes the tables of the backup, and its manifest accordingly.
    fn change_backup(&self, statement: &str, change: impl Fn(&mut Value)) {
        let file = self.path("backup/gailou.db");
        Connection::open(&file).unwrap().execute_batch(statement).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let path = self.path("backup/manifest.json");
        let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for listed in manifest["files"].as_array_mut().unwrap() {
            if listed["name"] == "gailou.db" {
                let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                (listed["bytes"], listed["sha256"]) = (json!(bytes.len()), json!(hash));
            }
        }
        change(&mut manifest);
        std::fs::write(path, manifest.to_string()).unwrap();
    }
}

/// The columns of a table that are copied as they are, or by an expression. Versions jump ahead.
fn copied_columns(table: &GrownTable) -> Vec<(&'static str, &'static str)> {
    let columns = table.columns().filter_map(|(column, source)| match source {
        ColumnSource::Expression(expression) if column != "version" => Some((column, expression)),
        _ => None,
    });
    columns.collect()
}

/// Which rows are compared: the version of the words jumps ahead, too.
fn compared_rows(table: &GrownTable) -> &'static str {
    if table.to == "setting" { "name <> 'words_version'" } else { "1 = 1" }
}

/// The rows of an embedded table as those of a cluster, as text.
fn embedded_rows(copy: &Connection, table: &GrownTable) -> Vec<String> {
    let literal = |(_, value): &(_, &str)| {
        format!(
            "CASE typeof({value}) WHEN 'null' THEN 'NULL' WHEN 'integer' THEN CAST({value} AS TEXT) ELSE hex({value}) END"
        )
    };
    let row = copied_columns(table).iter().map(literal).collect::<Vec<_>>().join(" || ',' || ");
    let (from, only) = (table.from, table.only.unwrap_or("1 = 1"));
    let text = format!("SELECT {row} FROM {from} WHERE {only} AND {}", compared_rows(table));
    let mut statement = copy.prepare(&text).unwrap();
    let mut rows = statement.query_map([], |r| r.get(0)).unwrap().collect::<Result<Vec<String>, _>>().unwrap();
    rows.sort_unstable();
    rows
}

fn cluster_rows(bed: &ClusterTestBed, table: &GrownTable) -> Vec<String> {
    let (suffix, number) = if let RowPlace::TablesOf(_) = table.place { ("_{n}", "_0") } else { ("", "") };
    let numeric = bed.sql(
        0,
        &format!(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() \
             AND table_name = '{}{number}' AND data_type LIKE '%int'",
            table.to
        ),
    );
    let numeric: BTreeSet<&str> = numeric.lines().collect();
    let literal = |(column, _): &(&str, _)| {
        let text =
            if numeric.contains(column) { format!("CAST(`{column}` AS CHAR)") } else { format!("HEX(`{column}`)") };
        format!("IFNULL({text}, 'NULL')")
    };
    let row = copied_columns(table).iter().map(literal).collect::<Vec<_>>().join(", ");
    let rows = format!("SELECT CONCAT_WS(',', {row}) FROM {}{suffix} WHERE {}", table.to, compared_rows(table));
    let mut rows: Vec<String> = bed.query(&rows).into_iter().map(|row| row.join("\t")).collect();
    rows.sort_unstable();
    rows
}

/// Imports a comment from elsewhere; the report.
async fn import(server: &GailouProcess, subject: &str) -> Value {
    let subject = subject.replace('/', ":");
    let line =
        json!({"subject": subject, "id": "disqus/7", "author": "Eve", "content": "moved", "created_at": 1_600_000_000});
    let answer = server.request("POST /v1/admin/import").by(&admin()).bytes(line.to_string()).send().await;
    serde_json::from_str(answer.text.lines().last().unwrap()).unwrap()
}

/// What only some installations have: an imported comment, a member without a trace, a guest who is a member, mentions, a
/// muted member, the key of a request. The lines that ask for them.
async fn add_more(server: &GailouProcess, subject: &str) -> Vec<(String, TestMember)> {
    assert_eq!(import(server, subject).await["imported"], 1);
    let guest = server.register_guest("Gus Gooseberry").await;
    let comment = server.post(&guest, subject, "by a guest").await;
    server.like(&guest, &comment).await;
    let merge = json!({"guest_token": guest.token});
    server.request("POST /v1/me/merge").by(&member(40)).json(&merge).send().await.expect(200);
    let erased = member(41);
    let forgotten = server.post(&erased, subject, "to be forgotten").await;
    server.reply(&bob(), &forgotten, "an answer that stays").await;
    server.request("DELETE /v1/me").by(&erased).send().await.expect(204);
    let body = json!({"content": "look, Bob", "mentions": ["8"]});
    let post = format!("POST /v1/subjects/{subject}/comments");
    server.request(&post).by(&ann()).idempotency_key("once").json(&body).send().await.expect(201);
    let muted = json!({"muted_until": 4_000_000_000_000_u64});
    server.request("PUT /v1/admin/members/20").by(&admin()).json(&muted).send().await.expect(200);
    let text = async |comment: &Value| server.get(&format!("/v1/comments/{}", id(comment))).await.text;
    let moved = poll_until(|| text(&comment), |text| !text.contains("Gus Gooseberry")).await;
    let gone = poll_until(|| text(&forgotten), |text| !text.contains("to be forgotten")).await;
    assert!(!moved.contains("Gus Gooseberry") && !gone.contains("to be forgotten"), "{moved} {gone}");
    let mut lines = vec![("/v1/me".to_owned(), guest), ("/v1/me".to_owned(), erased)];
    for by in [member(40), bob()] {
        lines.extend(["/v1/me/export", "/v1/me/notifications"].map(|path| (path.to_owned(), by.clone())));
    }
    lines.extend(["20", "40", "41"].map(|id| (format!("/v1/admin/members/{id}"), admin())));
    lines
}

async fn ask(server: &GailouProcess, lines: &[(String, TestMember)]) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    for (path, by) in lines {
        let mut answer = server.request(&format!("GET {path}")).by(by).send().await;
        answer.json.as_object_mut().map(|fields| fields.remove("trace_id"));
        said.insert(format!("{path} by {}", by.id), format!("{} {}", answer.status, answer.json));
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_installation_grows_into_a_cluster_with_everything_that_it_has() {
    if !available() {
        return;
    }
    let embedded = EmbeddedInstallation::new();
    let server = GailouProcess::start(&embedded.path("data")).await;
    let subjects = subjects_in(SLOT_OF_EACH.into_iter());
    let mut filled = FilledInstallation::fill(&server, &subjects, &png()).await;
    let lines = add_more(&server, &subjects[0]).await;
    filled.begin_walk(&server).await;
    let (before, members_before) = (filled.read(&server).await, ask(&server, &lines).await);
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    Connection::open(embedded.path("data/gailou.db")).unwrap().execute_batch(SIGN_IN_ROWS).unwrap();
    let summary = embedded.back_up().await;

    let bed = ClusterTestBed::without_databases(shared(), &[]);
    let media = embedded.path("media");
    let restored = run_successfully(&bed, &media, &["restore", &embedded.backup()]).await;
    assert_eq!(serde_json::from_str::<Value>(&restored).unwrap(), summary);
    let again = run(&bed, &media, &["restore", &embedded.backup()]).await;
    assert!(again.code == Some(1) && again.stderr.contains("is not empty"), "{}", again.stderr);
    let copy = embedded.path("copy.db");
    std::fs::copy(embedded.path("backup/gailou.db"), &copy).unwrap();
    let copy = Connection::open(copy).unwrap();
    for table in &GROWN_TABLES {
        let rows = embedded_rows(&copy, table);
        assert!(!rows.is_empty(), "nothing was written to {}", table.from);
        assert_eq!(cluster_rows(&bed, table), rows, "{}", table.to);
    }
    for table in ["refresh_family_{n}", "sign_in_link_{n}", "index_queue"] {
        assert_eq!(bed.count(&format!("FROM {table}")), 0, "{table}");
    }

    run_successfully(&bed, &media, &["migrate"]).await;
    run_successfully(&bed, &media, &["shard", "verify", "--texts"]).await;
    let counts = come_back(&bed, &media, &embedded.path("back")).await;
    for kind in ["subjects", "comments", "reactions", "members", "pictures"] {
        assert!(counts[kind].as_u64() > Some(0) && counts[kind] == summary[kind], "{kind}: {counts} {summary}");
    }
    let rows = Connection::open(embedded.path("back/gailou.db")).unwrap();
    for table in GROWN_TABLES.iter().filter(|table| !table.is_derived()) {
        assert_eq!(embedded_rows(&rows, table), embedded_rows(&copy, table), "{}", table.from);
    }
    drop(rows);
    let back = GailouProcess::start(&embedded.path("back")).await;
    check_same(&before, &filled.read(&back).await);
    assert_eq!(ask(&back, &lines).await, members_before);
    filled.check_walk(&back).await;
    let newest = back.page(&format!("{}?sort=new", comments_path(&subjects[0]))).await["data"][0].clone();
    let next = back.post(&ann(), &subjects[0], "embedded again").await;
    assert_eq!(next["floor"].as_u64(), newest["floor"].as_u64().map(|floor| floor + 1));
    drop(back);

    let (origin, job) = tokio::join!(start(&bed, &media, "serve"), start(&bed, &media, "job"));
    check_same(&before, &filled.read(&origin).await);
    assert_eq!(ask(&origin, &lines).await, members_before);
    filled.check_walk(&origin).await;
    check_life_goes_on(&bed, &origin, &subjects[0]).await;

    // With what the log has brought meanwhile.
    bed.wait_until_persisted().await;
    let (mut lived, members_lived) = (filled.read(&origin).await, ask(&origin, &lines).await);
    // What a process has counted of the last moments it stores when it stops.
    lived.retain(|line, _| !line.contains("/v1/admin/stats"));
    for process in [origin, job] {
        process.terminate();
        assert_eq!(process.wait_for_exit().await, Some(0));
    }
    come_back(&bed, &media, &embedded.path("back-later")).await;
    let back = GailouProcess::start(&embedded.path("back-later")).await;
    check_same(&lived, &filled.read(&back).await);
    assert_eq!(ask(&back, &lines).await, members_lived);
}

/// Compares what two servers have said. A search is another engine in a cluster, and its index is made again embedded.
fn check_same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    for (line, said) in before {
        if !line.contains("q=root") {
            assert_eq!(&after[line], said, "{line}");
        }
    }
}

/// Restores a backup of the cluster into this data directory; the summary.
async fn come_back(bed: &ClusterTestBed, media: &Path, data: &Path) -> Value {
    let backup = data.with_extension("backup").to_str().unwrap().to_owned();
    run_successfully(bed, media, &["backup", &backup]).await;
    let mut command = gailou_command(["restore", &backup, "--data"]);
    command.arg(data);
    let restored = run_command(command).await;
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    serde_json::from_str(restored.last_line()).unwrap()
}

/// Ids, floors, counts, keys of requests and the change feed go on where they were.
async fn check_life_goes_on(bed: &ClusterTestBed, origin: &GailouProcess, subject: &str) {
    let path = comments_path(subject);
    let newest = origin.page(&format!("{path}?sort=new")).await["data"][0].clone();
    bed.wait_for_jobs(origin).await;
    let imported = import(origin, subject).await;
    assert_eq!((&imported["imported"], &imported["skipped"]), (&json!(0), &json!(1)), "it was imported before");
    let body = json!({"content": "look, Bob", "mentions": ["8"]});
    let post = format!("POST /v1/subjects/{subject}/comments");
    let repeated = origin.request(&post).by(&ann()).idempotency_key("once").json(&body).send().await;
    assert_eq!(id(&repeated.json), id(&newest), "it was written before: {}", repeated.text);
    let next = origin.post(&ann(), subject, "in the cluster").await;
    assert!(id(&next).parse::<u64>().unwrap() > id(&newest).parse().unwrap());
    let reply = origin.reply(&bob(), &newest, "an answer").await;
    let (liker, likes) = (member(77), newest["likes"].as_u64().unwrap());
    assert_eq!(origin.like(&liker, &newest).await["likes"], likes + 1);
    bed.wait_until_persisted().await;
    origin.edit(&ann(), &next, "edited in the cluster").await.expect(200);
    origin.decide(&moderator(), &reply, "hide").await.expect(200);
    let listed = ids(&origin.walk(&format!("{path}?sort=new")).await);
    assert_eq!(listed[..2], [id(&next), id(&newest)]);
    let stored = origin.poll_comment(&next, |comment| !comment["floor"].is_null()).await;
    assert_eq!(stored["floor"].as_u64(), newest["floor"].as_u64().map(|floor| floor + 1));
    let path = format!("/v1/comments/{}", id(&newest));
    let counted = poll_until(|| origin.get(&path), |answer| answer.json["likes"] == likes + 1).await;
    assert_eq!(counted.json["likes"], likes + 1);
    // The edge has seen smaller versions than any of these.
    let feed = poll_until(
        || async { origin.get("/v1/edge/changes?day=1").await.json },
        |feed| feed["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row[0] == reply["id"])),
    )
    .await;
    let rows = feed["rows"].as_array().unwrap();
    let version = rows.iter().find(|row| row[0] == reply["id"]).and_then(|row| row[1].as_str()?.parse::<u64>().ok());
    assert!(version > Some(1 << 40), "{feed}");
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn growth_that_fails_in_the_middle_leaves_databases_that_every_command_refuses() {
    if !available() {
        return;
    }
    let embedded = EmbeddedInstallation::new();
    let server = GailouProcess::start(&embedded.path("data")).await;
    server.post(&ann(), "article/1", "a comment").await;
    drop(server);
    embedded.back_up().await;
    let unplaced =
        "INSERT INTO root_rank (subject, id, likes, dislikes, replies, created_at) VALUES (77, 1, 1, 1, 1, 1)";
    embedded.change_backup(unplaced, |_| ());
    let bed = ClusterTestBed::without_databases(shared(), &[]);
    let restore = ["restore", &embedded.backup()];
    let failed = bed.run(&restore).await;
    assert!(failed.code == Some(1) && failed.stderr.contains("a row without a subject"), "{}", failed.stderr);
    assert!(bed.count("FROM comment_{n}") > 0, "it was in the middle");
    for command in [&["migrate"][..], &["export"], &["serve", "--bind", "127.0.0.1:0"]] {
        let refused = bed.run(command).await;
        assert!(refused.code == Some(1) && refused.stderr.contains("has not ended"), "{command:?}: {}", refused.stderr);
    }
    let again = bed.run(&restore).await;
    assert!(again.code == Some(1) && again.stderr.contains("is not empty"), "{}", again.stderr);
    // As it is said: drop them, and begin again.
    bed.for_each_database("DROP DATABASE");
    embedded.change_backup("DELETE FROM root_rank WHERE subject = 77", |_| ());
    bed.run_successfully(&restore).await;
    bed.run_successfully(&["migrate"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_that_a_cluster_cannot_take_is_refused_before_anything_is_made() {
    if !available() {
        return;
    }
    let embedded = EmbeddedInstallation::new();
    let run_embedded = async |arguments: &[&str]| -> CommandOutput {
        let mut command = gailou_command(arguments);
        command.arg("--data").arg(embedded.path("data")).env_remove("GAILOU_TOKEN_SECRET");
        run_command(command).await
    };
    let backup = embedded.backup();
    run_embedded(&["token", "--sub", "7", "--name", "Ann"]).await;
    assert_eq!(run_embedded(&["backup", &backup]).await.code, Some(0));
    let bed = ClusterTestBed::without_databases(shared(), &[]);
    let migration = std::cell::Cell::new(Value::Null);
    embedded.change_backup("", |manifest| migration.set(manifest["tables"]["migration"].take()));
    let migration = migration.take();
    let older = json!(migration.as_u64().unwrap() - 1);
    let cases = [
        (json!(999), "its tables have migration 999, of gailou"),
        (older, "run `gailou migrate` there, and restore a backup of that"),
    ];
    for (number, part) in cases {
        embedded.change_backup("", |manifest| manifest["tables"]["migration"] = number.clone());
        let refused = bed.run(&["restore", &backup]).await;
        assert!(refused.code == Some(1) && refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    embedded.change_backup("", |manifest| manifest["tables"]["migration"] = migration.clone());
    let file = Path::new(&backup).join("gailou.db");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[1..]).unwrap();
    let refused = bed.run(&["restore", &backup]).await;
    assert!(refused.code == Some(1) && refused.stderr.contains("gailou.db is damaged"), "{}", refused.stderr);
    std::fs::write(&file, bytes).unwrap();
    for database in [0, 1] {
        let found = bed.servers.sql(database, &format!("SHOW DATABASES LIKE '{}'", bed.name));
        assert_eq!(found, "", "nothing is made");
    }
    // The configuration of a cluster has another secret than the one that was made in the data directory.
    let restored = bed.run(&["restore", &backup]).await;
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert!(restored.stderr.contains("token_secret: GAILOU_TOKEN_SECRET must be the same"), "{}", restored.stderr);
    bed.run_successfully(&["migrate"]).await;
}
