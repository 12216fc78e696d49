//! Topics of Discourse. The file is written as its serializers say.

use super::{Written, check};
use crate::importers::{Export, LeftOut, System};

#[test]
fn discourse() {
    check(
        System::Discourse,
        "discourse.json",
        r#"
blog.example/2020/hello 5/2 - Ann +3-0 1588348800500 edited first **floor**||[a cat](https://forum.example/uploads/cat-full.png)
blog.example/2020/hello 5/3 5/2 bob +0-0 1588348860000 a reply
blog.example/2020/hello 5/6 5/2 bob +0-0 1588349040000 deleted 
blog.example/2020/hello 5/7 5/3 Cat +0-0 1588349100000 an answer to what is hidden
blog.example/t/a-topic-of-its-own/6 6/1 - Ann +1-0 1588349160000 a question
blog.example/t/a-topic-of-its-own/6 6/2 6/1 bob +0-0 1588349220000 an answer as `raw`
BAD post "6/3": "soon" is no time
BAD topic 3 of the file: missing field `post_stream`
BAD topic 6: 2 of its 5 posts are not in the file; `?print=true` has them
"#,
        &[(LeftOut::NotApproved, 1), (LeftOut::Page, 1), (LeftOut::Private, 1), (LeftOut::Notice, 1)],
    );
}

#[test]
fn topics_of_discourse_are_one_or_an_array_or_one_a_line() {
    let topic = |id: u8, number: u8, cooked: &str| {
        let post = format!(
            r#"{{"id":{id}{number},"created_at":"2020-05-01T16:00:00Z","cooked":"{cooked}","post_number":{number}}}"#
        );
        format!(r#"{{"id":{id},"slug":"a","post_stream":{{"posts":[{post}]}}}}"#)
    };
    let page = "<p>x</p>\\n<hr>\\n<small>一 <a href='https://blog.example/a'>https://blog.example/a</a></small>\\n";
    let blog = "<p><small>From <a href='https://blog.example/b'>b</a></small><br>x</p>";
    let own = "<p>x</p><hr><p><a href='https://e.example/'>mine</a></p>";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("topics.json");
    for (text, subjects) in [
        (topic(1, 1, own), &["/t/a/1"][..]),
        (format!("[{},{}]", topic(1, 1, own), topic(2, 2, "x")), &["/t/a/1", "/t/a/2"]),
        (format!("{}\n{}\n", topic(1, 1, page), topic(1, 2, "x")), &["blog.example/a"]),
        (format!("{}{}", topic(1, 1, blog), topic(1, 2, "x")), &["blog.example/b"]),
    ] {
        std::fs::write(&file, &text).unwrap();
        let mut written = Written::default();
        Export::new(System::Discourse, file.clone(), "article", None, "").unwrap().read(&mut written).unwrap();
        let found: Vec<&str> = written.text.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(found, subjects, "{text}");
    }
}
