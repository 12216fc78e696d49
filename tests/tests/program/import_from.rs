//! `gailou import --from`: exports of other systems, beside a server and without one.

use std::path::Path;

use gailou_tests::{GailouProcess, comments_on, replies_path};
use serde_json::Value;

use super::{run_on, write_file};

/// The path of an export in `tests/data/exports`.
fn exported_by(system: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/exports");
    folder.join(system).to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn export_of_disqus_is_looked_at_and_then_imported_once() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let file = exported_by("disqus.xml");
    let dry = run_on(&data, &["import", "--from", "disqus", &file, "--dry-run"]).await;
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    let page = "article/blog.example/2020/hello\t3\thttp://www.blog.example/2020/hello/?utm_source=feed";
    let lines: Vec<&str> = dry.stdout.lines().collect();
    assert_eq!(lines, [page, r#"{"subjects":1,"comments":3,"left_out":1,"bad":1}"#]);
    assert_eq!(dry.stderr, "post \"104\": its thread \"99\" is not in the file\nleft out: 1 spam\n");
    assert!(!data.exists(), "nothing is written");

    let strict = run_on(&data, &["import", "--from", "disqus", &file, "--strict"]).await;
    assert_eq!((strict.code, strict.stdout.as_str(), data.exists()), (Some(1), "", false), "{}", strict.stderr);
    for report in
        [r#"{"imported":3,"skipped":0,"reparented":0,"bad":0}"#, r#"{"imported":0,"skipped":3,"reparented":0,"bad":0}"#]
    {
        let output = run_on(&data, &["import", "--from", "disqus", &file]).await;
        assert_eq!((output.code, output.last_line()), (Some(0), report), "{}", output.stderr);
        assert_eq!(output.stderr, dry.stderr);
    }
    let server = GailouProcess::start(&data).await;
    let page = server.page("/v1/subjects/article/blog.example%2F2020%2Fhello/comments?sort=old").await;
    let subject = [&page["subject"]["title"], &page["subject"]["url"]];
    assert_eq!(subject, ["Hello & welcome", "http://www.blog.example/2020/hello/?utm_source=feed"]);
    let roots = comments_on(&page);
    assert_eq!(
        (&roots[0]["author"]["name"], roots.len()),
        (&Value::from("Ann & Co"), 1),
        "a deleted one without answers is not shown"
    );
    let html = roots[0]["html"].as_str().unwrap();
    assert!(
        html.contains("<strong>floor</strong> 第一层楼") && html.contains("href=\"https://e.example/?a=1&amp;b=2\"")
    );
    let replies = server.page(&replies_path(&roots[0])).await;
    assert_eq!(replies["data"][0]["content"], "an answer to spam");
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_run_says_what_of_each_export_would_be_imported() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let valine = std::fs::read(exported_by("valine.json")).unwrap();
    let results = serde_json::from_slice::<Value>(&valine).unwrap()["results"].take();
    let lines: String = results.as_array().unwrap().iter().map(|comment| format!("{comment}\n")).collect();
    let about = r##"#filetype:JSON-streaming {"type":"Class","class":"Comment"}"##;
    let leancloud = write_file(directory.path(), "Comment.0.jsonl", &format!("{about}\n{lines}"));
    let hello = "article/blog.example/2020/hello";
    for (system, file, subjects, counts) in [
        (
            "commento",
            exported_by("commento-3.json"),
            vec![format!("{hello}\t4\thttps://blog.example/2020/hello/")],
            r#"{"subjects":1,"comments":4,"left_out":2,"bad":1}"#,
        ),
        (
            "waline",
            leancloud,
            vec![format!("{hello}\t2\t/2020/hello/")],
            r#"{"subjects":1,"comments":2,"left_out":0,"bad":0}"#,
        ),
        (
            "waline",
            exported_by("waline-server.json"),
            vec![format!("{hello}\t5\t/2020/hello/"), "article/blog.example/about.html\t1\t/about.html".to_owned()],
            r#"{"subjects":2,"comments":6,"left_out":2,"bad":0}"#,
        ),
        (
            "twikoo",
            exported_by("twikoo-server.json"),
            vec![
                format!("{hello}\t5\thttps://blog.example/2020/hello/"),
                "article/blog.example/about.html\t1\thttps://blog.example/about.html".to_owned(),
            ],
            r#"{"subjects":2,"comments":6,"left_out":1,"bad":0}"#,
        ),
        (
            "discourse",
            exported_by("discourse.json"),
            vec![
                format!("{hello}\t4\thttps://blog.example/2020/hello/"),
                "article/blog.example/t/a-topic-of-its-own/6\t2\t/t/a-topic-of-its-own/6".to_owned(),
            ],
            r#"{"subjects":2,"comments":6,"left_out":4,"bad":3}"#,
        ),
    ] {
        let dry = run_on(&data, &["import", "--from", system, &file, "--site", "blog.example", "--dry-run"]).await;
        let lines: Vec<&str> = dry.stdout.lines().collect();
        let expected: Vec<&str> = subjects.iter().map(String::as_str).chain([counts]).collect();
        assert_eq!((dry.code, lines), (Some(0), expected), "{file}: {}", dry.stderr);
    }
    assert!(!data.exists(), "nothing is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn export_is_imported_by_the_server_that_runs_with_rules_for_addresses() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let rules =
        write_file(directory.path(), "map.tsv", "https://blog.example/2020/*\tarticle/*\n/about\ttopic/about\n");
    let server = GailouProcess::start(&data).await;
    let arguments = ["import", "--from", "isso", "--site", "blog.example", "--map", &rules];
    let output = run_on(&data, &[&arguments[..], &[&exported_by("isso.db")]].concat()).await;
    let report = r#"{"imported":9,"skipped":0,"reparented":0,"bad":0}"#;
    assert_eq!((output.code, output.last_line()), (Some(0), report), "{}", output.stderr);
    let page = server.page("/v1/subjects/article/hello/comments?sort=old").await;
    let texts: Vec<&str> = comments_on(&page).iter().map(|comment| comment["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first **floor** 第一层楼", "`code` without a name", "will be gone", ""]);
    assert_eq!(page["data"][0]["likes"], 1);
    assert_eq!(server.page("/v1/subjects/topic/about/comments").await["subject"]["comments"], 2);
    drop(server);
    let lines = run_on(&data, &["export"]).await.stdout;
    assert_eq!(lines.lines().filter(|line| !line.contains("\"title\"")).count(), 9, "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_use_is_refused_before_anything_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let rules = write_file(directory.path(), "map.tsv", "no tab\n");
    for (arguments, code, message) in [
        (vec!["import", "--from", "disqus", "-"], 2, "must be a file and not standard input"),
        (vec!["import", "--from", "disqus", "x.xml", "--map", &rules], 2, "line 1 of the map: needs an address, a tab"),
        (vec!["import", "--from", "disqus", "x.xml", "--map", "nowhere.tsv"], 2, "cannot read nowhere.tsv"),
        (vec!["import", "--from", "usenet", "x"], 2, "invalid value 'usenet'"),
        (vec!["import", "x.jsonl", "--dry-run"], 2, "--from <FROM>"),
        (vec!["import", "--from", "disqus", "nowhere.xml"], 1, "cannot open the file nowhere.xml"),
    ] {
        let output = run_on(&data, &arguments).await;
        assert_eq!(output.code, Some(code), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(message), "{arguments:?}: {}", output.stderr);
    }
}
