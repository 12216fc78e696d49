//! Changed weights: the server listens at once and ranks comments again while it answers, `gailou migrate` finishes
//! that, and a killed server leaves the rest to the next one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use gailou_tests::{
    CommandOutput, GailouProcess, ann, comments_on, id, ids, member, poll_until, replies_path, run_command,
};
use serde_json::Value;

use super::command_on;

/// Replies that are inserted into the file: ranking them takes seconds.
const INSERTED_REPLY_COUNT: u64 = 20_000;

/// Weights by which the order of replies is that of their likes, and of their ids.
const WEIGHTS_BY_LIKES: [(&str, &str); 2] =
    [("GAILOU_TYPES__ARTICLE__WEIGHTS__LIKE", "900"), ("GAILOU_TYPES__ARTICLE__WEIGHTS__HALF_LIFE_HOURS", "none")];
const OTHER_WEIGHTS: [(&str, &str); 1] = [("GAILOU_TYPES__ARTICLE__WEIGHTS__LIKE", "20")];

/// Runs Python on the database file of a data directory; what it prints.
fn run_script(data: &Path, script: &str, arguments: &[&str]) -> String {
    let begin = "import glob, json, sqlite3, struct, sys\n\
                 file, = glob.glob(sys.argv[1] + '/*.db')\n\
                 db = sqlite3.connect(file, timeout=20)\n";
    let mut python = Command::new("python3");
    let done = python.arg("-c").arg(format!("{begin}{script}")).arg(data).args(arguments).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

/// Inserts copies of a reply with likes of their own, below the same root, whose ids are lower than any that was given.
fn insert_replies(data: &Path, reply: &str) {
    let script = "
count, reply = int(sys.argv[2]), int(sys.argv[3])
names = [row[1] for row in db.execute('PRAGMA table_info(comment)')]
template = dict(zip(names, db.execute('SELECT * FROM comment WHERE id = ?', [reply]).fetchone()))
root, floors = template['root_id'], db.execute('SELECT floors FROM comment WHERE id = ?', [template['root_id']]).fetchone()[0]
insert = f'INSERT INTO comment ({\",\".join(names)}) VALUES ({\",\".join(\"?\" * len(names))})'
with db:
    for n in range(1, count + 1):
        id, likes = root - (n << 22), n * 7919 % 10000
        row = {**template, 'id': id, 'path': template['path'][:8] + struct.pack('>Q', id), 'floor': floors + n,
               'likes': likes, 'base_likes': likes}
        db.execute(insert, [row[name] for name in names])
        db.execute('INSERT INTO content (id, content, html) VALUES (?, ?, ?)', [id, 'copy', '<p>copy</p>'])
        db.execute('INSERT INTO reply_rank (root_id, hot, id) VALUES (?, ?, ?)', [root, n, id])
    db.execute('UPDATE comment SET floors = floors + ?1, replies = replies + ?1 WHERE id = ?2', [count, root])
    db.execute('UPDATE subject SET comments = comments + ?', [count])
";
    run_script(data, script, &[&INSERTED_REPLY_COUNT.to_string(), reply]);
}

/// How many rows the walk over the ranks has read; `None` when it is at its end.
fn walked(data: &Path) -> Option<u64> {
    let script = "row = db.execute(\"SELECT value FROM setting WHERE name = 'rank_progress'\").fetchone()\n\
                  print(json.loads(row[0])['walked'] if row else '')";
    run_script(data, script, &[]).parse().ok()
}

async fn start(data: &Path, weights: &[(&str, &str)]) -> GailouProcess {
    let mut command = command_on(data, &["--bind", "127.0.0.1:0"]);
    command.env("GAILOU_LIMITS", "off").envs(weights.iter().copied());
    GailouProcess::spawn(command).await
}

async fn run_with(data: &Path, weights: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    let mut command = command_on(data, arguments);
    command.envs(weights.iter().copied());
    run_command(command).await
}

/// The number in a line of the output that ends so.
fn number_before(output: &CommandOutput, end: &str) -> u64 {
    let line = output.stdout.lines().find_map(|line| line.strip_suffix(end));
    line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{}{}", output.stdout, output.stderr))
}

/// The ids of all replies by `hot`, each of them once.
async fn walk_replies(server: &GailouProcess, root: &Value) -> Vec<Value> {
    let all = server.walk(&format!("{}?sort=hot&limit=100", replies_path(root))).await;
    assert_eq!(BTreeSet::from_iter(ids(&all)).len(), all.len(), "a reply is shown twice");
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_weights_rank_again_while_the_server_answers_also_after_a_kill() {
    let ranked_end = " comments were ranked again for changed weights";
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path();
    let server = start(data, &[]).await;
    let by = ann();
    let root = server.post(&by, "article/books", "root").await;
    let reply = server.reply(&by, &root, "reply").await;
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    insert_replies(data, id(&reply));
    // It listens before the comments are ranked, and answers by what there is.
    let server = start(data, &WEIGHTS_BY_LIKES).await;
    assert!(walked(data).is_some(), "it listens before the end");
    let first = server.page(&format!("{}?sort=hot&limit=100", replies_path(&root))).await;
    let first = comments_on(&first);
    assert_eq!(BTreeSet::from_iter(ids(first)).len(), 100, "a reply is shown twice");
    server.like(&member(100), &first[0]).await;
    server.reply(&by, &root, "reply").await;
    let before = poll_until(async || walked(data), |rows| rows.is_none_or(|rows| rows > 0)).await;
    server.kill();
    let before = before.expect("it is killed before the end");
    // The next one goes on, and the command beside it.
    let server = start(data, &WEIGHTS_BY_LIKES).await;
    let after = walked(data).expect("some rows are left");
    assert!(after >= before, "{after} rows, and {before} before the kill");
    server.reply(&by, &root, "reply").await;
    let count = INSERTED_REPLY_COUNT as usize + 3;
    let (all, migrated) = tokio::join!(walk_replies(&server, &root), run_with(data, &[], &["migrate"]));
    assert_eq!(all.len(), count);
    assert!(number_before(&migrated, ranked_end) >= INSERTED_REPLY_COUNT, "{}", migrated.stdout);
    let again = run_with(data, &[], &["migrate"]).await;
    assert!(again.stdout.starts_with("no comment has to be ranked again\n"), "{}", again.stdout);
    let likes = |comments: &[Value]| -> Vec<u64> { comments.iter().map(|c| c["likes"].as_u64().unwrap()).collect() };
    let is_ranked = |comments: &Vec<Value>| likes(&comments[..1_000]).is_sorted_by(|a, b| a >= b);
    let all = poll_until(async || walk_replies(&server, &root).await, is_ranked).await;
    assert!(is_ranked(&all) && all.len() == count);
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    let reconciled = run_with(data, &WEIGHTS_BY_LIKES, &["reconcile"]).await;
    assert_eq!(reconciled.last_line(), "1 subjects, 0 differences, 0 repaired", "{}", reconciled.stdout);
    // Without a server, the command ranks by its own settings.
    let former = run_with(data, &OTHER_WEIGHTS, &["reconcile"]).await;
    assert!(former.code == Some(1) && former.stdout.contains("`gailou migrate`"), "{}", former.stdout);
    let migrated = run_with(data, &OTHER_WEIGHTS, &["migrate"]).await;
    assert!(number_before(&migrated, ranked_end) >= INSERTED_REPLY_COUNT, "{}", migrated.stdout);
    let reconciled = run_with(data, &OTHER_WEIGHTS, &["reconcile"]).await;
    assert_eq!(reconciled.last_line(), "1 subjects, 0 differences, 0 repaired", "{}", reconciled.stdout);
}
