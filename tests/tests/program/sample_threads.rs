//! Threads of a real site, imported and walked: every comment is where its file has it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gailou_tests::{GailouProcess, comments_path, replies_path, sample_file};
use serde_json::{Value, json};

use super::run_on;

/// The length of the longest chain of replies in the file, its root included.
fn longest_chain(lines: &[Value]) -> usize {
    let parents: BTreeMap<&str, &str> =
        lines.iter().filter_map(|line| Some((line["id"].as_str()?, line["parent"].as_str()?))).collect();
    let depth = |line: &Value| std::iter::successors(line["id"].as_str(), |id| parents.get(id).copied()).count();
    lines.iter().map(depth).max().expect("the file has lines")
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_sample_threads_are_complete_and_in_order() {
    let path = sample_file("real-threads.jsonl", "threads.jsonl");
    let text = std::fs::read_to_string(&path).expect("the sample is readable");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let directory = tempfile::tempdir().unwrap();
    let output = run_on(directory.path(), &["import", path.to_str().unwrap(), "--strict"]).await;
    let summary: Value = serde_json::from_str(output.last_line()).unwrap();
    let expected = (Some(0), &json!(lines.len()), &json!(0));
    assert_eq!((output.code, &summary["imported"], &summary["bad"]), expected, "{}", output.stderr);
    let subjects: BTreeSet<&str> = lines.iter().map(|line| line["subject"].as_str().unwrap()).collect();
    let server = GailouProcess::start(directory.path()).await;
    let mut deepest = 0;
    for subject in subjects {
        let path = comments_path(&subject.replacen(':', "/", 1));
        let of_subject = |line: &&Value| line["subject"] == subject;
        let mut expected: Vec<&Value> = lines.iter().filter(of_subject).filter(|line| line["root"].is_null()).collect();
        expected.sort_by_key(|line| line["created_at"].as_u64().unwrap());
        let old = server.walk(&format!("{path}?sort=old&limit=7")).await;
        let listed = |c: &Value| (c["content"].clone(), c["likes"].as_u64().unwrap_or(0), c["author"]["name"].clone());
        let in_file = |l: &&Value| (l["content"].clone(), l["likes"].as_u64().unwrap_or(0), l["author"].clone());
        assert_eq!(
            old.iter().map(listed).collect::<Vec<_>>(),
            expected.iter().map(in_file).collect::<Vec<_>>(),
            "{subject}"
        );
        let mut top = server.walk(&format!("{path}?sort=top&limit=9")).await;
        assert!(top.is_sorted_by_key(|comment| Reverse(comment["likes"].as_u64())), "{subject}");
        top.sort_by_key(|comment| comment["floor"].as_u64());
        assert_eq!(top.len(), old.len(), "{subject}");
        let mut all = old.len();
        for root in &old {
            let replies = server.walk(&format!("{}?sort=old", replies_path(root))).await;
            assert!(replies.is_sorted_by_key(|comment| comment["created_at"].as_u64()), "{subject}");
            deepest = replies.iter().map(|c| c["path"].as_array().unwrap().len()).fold(deepest, usize::max);
            assert_eq!(root["replies"], replies.len());
            all += replies.len();
        }
        assert_eq!(all, lines.iter().filter(of_subject).count(), "{subject}");
        assert_eq!(server.page(path.trim_end_matches("/comments")).await["comments"], all, "{subject}");
    }
    assert_eq!(deepest, longest_chain(&lines), "the longest chain of the file");
}
