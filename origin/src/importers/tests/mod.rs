//! Exports of every system, as the lines that an import gets. That of Isso, and those of `server_exports`, were made by the
//! programs; the others are written as their documentation and their programs say.

mod discourse;
mod server_exports;

use std::fmt::Write as _;
use std::sync::Mutex;

use super::*;

/// What is read, as text.
#[derive(Default)]
struct Written {
    text: String,
    subjects: String,
}

impl ExportReader for Written {
    fn line(&mut self, _: &str, line: &ImportLine) -> anyhow::Result<()> {
        let ImportLine {
            subject,
            id,
            parent,
            author,
            content,
            likes,
            dislikes,
            created_at,
            edited_at,
            deleted,
            pinned,
            held,
            pictures: _,
            ..
        } = line;
        let foreign = |id: &str| id.split_once(' ').unwrap_or(("", id)).1.to_owned();
        let (id, parent, key) = (foreign(id), parent.as_deref().map_or("-".into(), foreign), subject.key());
        let mut marks = String::new();
        for (is_set, mark) in
            [(edited_at.is_some(), "edited "), (*deleted, "deleted "), (*pinned, "pinned "), (*held, "held ")]
        {
            marks.push_str(if is_set { mark } else { "" });
        }
        let (name, content) = (&author.name, content.replace('\n', "|"));
        writeln!(self.text, "{key} {id} {parent} {name} +{likes}-{dislikes} {created_at} {marks}{content}")?;
        Ok(())
    }

    fn subject(&mut self, description: &SubjectDescription) -> anyhow::Result<()> {
        let SubjectDescription { subject, title, url } = description;
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        Ok(writeln!(self.subjects, "{} {} {}", subject.key(), shown(url), shown(title))?)
    }

    fn bad(&mut self, what: &str, reason: &str) -> anyhow::Result<()> {
        Ok(writeln!(self.text, "BAD {what}: {reason}")?)
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/exports").join(name)
}

fn export(system: System, file: PathBuf) -> Export {
    Export::new(system, file, "article", Some("https://blog.example"), "").unwrap()
}

fn check(system: System, name: &str, expected: &str, left_out: &[(LeftOut, u64)]) {
    let mut written = Written::default();
    let report = export(system, fixture(name)).read(&mut written).unwrap();
    assert_eq!(written.text.trim_end(), expected.trim(), "{name}");
    let (lines, bad) = (expected.trim().lines().count() as u64, expected.matches("BAD").count() as u64);
    assert_eq!(report, ExportReport { comments: lines - bad, left_out: left_out.iter().copied().collect(), bad });
}

#[test]
fn disqus() {
    check(
        System::Disqus,
        "disqus.xml",
        r#"
blog.example/2020/hello 100 - Ann & Co +0-0 1364817600000 first **floor** 第一层楼||with [a link](https://e.example/?a=1&b=2)
blog.example/2020/hello 102 100 Bob +0-0 1364817720000 an answer to spam
blog.example/2020/hello 103 - Cat +0-0 1364817780000 deleted taken back
BAD post "104": its thread "99" is not in the file
"#,
        &[(LeftOut::Spam, 1)],
    );
}

#[test]
fn wordpress() {
    check(
        System::Wordpress,
        "wordpress.xml",
        r#"
blog.example/2020/hello 1 - Ann +0-0 1364817600000 first **floor**||a second paragraph  |and a line
blog.example/2020/hello 3 1 Bob +0-0 1364817720000 an answer to what waits
BAD comment "5": "0000-00-00 00:00:00" is no time
"#,
        &[(LeftOut::NotApproved, 1), (LeftOut::Pingback, 1)],
    );
}

#[test]
fn remark42() {
    check(
        System::Remark42,
        "remark42.json",
        r#"
blog.example/2020/hello a1 - Ann +2-1 1588348800500 edited pinned first **floor**
blog.example/2020/hello a2 a1 Bob +0-2 1588348860000 a reply
blog.example/2020/hello a3 a2 deleted +0-0 1588348920000 deleted 
BAD line 5: EOF while parsing a value at line 1 column 17
"#
        .trim_end(),
        &[],
    );
}

#[test]
fn artalk() {
    check(
        System::Artalk,
        "artalk.artrans",
        r#"
blog.example/2020/hello 1 - Ann +6-1 1635425415000 pinned first **floor**
blog.example/2020/hello 3 1 Bob +0-0 1635425535000 an answer to what waits
BAD comment 4 of the file: invalid type: integer `7`, expected a string
"#,
        &[(LeftOut::NotApproved, 1)],
    );
}

#[test]
fn waline_and_valine() {
    check(
        System::Waline,
        "waline.json",
        r#"
blog.example/2020/hello 1 - Ann +3-0 1672567200000 pinned first **floor**
blog.example/2020/hello 3 1 Bob +0-0 1672567320000 an answer to spam
blog.example/2020/hello 4 1 Cat +0-0 1672567380000 its parent is not in the file
BAD comment 5 of the file: missing field `url`
"#,
        &[(LeftOut::Spam, 1)],
    );
    check(
        System::Waline,
        "valine.json",
        r#"
blog.example/2020/hello 5b34de5fee920a003ba49a4a - Ann +0-0 1530191935412 first *floor*
blog.example/2020/hello 5b34de5fee920a003ba49a4b 5b34de5fee920a003ba49a4a Bob +0-0 1530191995412 [@Ann](#5b34de5fee920a003ba49a4a) a reply
"#,
        &[],
    );
}

/// Valine's database writes a line about the file before a comment a line.
#[test]
fn leancloud() {
    let check = |name: &str, about: &str, expected: &str| {
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(fixture(name)).unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("Comment.0.jsonl");
        let comments = json["results"].as_array().unwrap().iter().map(|comment| format!("{comment}\n"));
        std::fs::write(&file, format!("{about}\n{}", comments.collect::<String>())).unwrap();
        let mut written = Written::default();
        let read = export(System::Waline, file).read(&mut written);
        assert_eq!(read.map_or_else(|error| error.to_string(), |report| report.comments.to_string()), expected);
    };
    check("valine.json", r##"#filetype:JSON-streaming {"type":"Class","class":"Comment"}"##, "2");
    let refusal = "the file has the views of pages, and the comments are the class Comment";
    check("valine.json", r##"#filetype:JSON-streaming {"type": "Class", "class": "Counter"}"##, refusal);
}

#[test]
fn isso() {
    check(
        System::Isso,
        "isso.db",
        r#"
blog.example/2020/hello 1 - Ann +1-0 1795909435799 first **floor** 第一层楼
blog.example/2020/hello 2 1 Bob +0-0 1795909435860 a reply||> first
blog.example/2020/hello 3 - Anonymous +0-0 1795909435910 `code` without a name
blog.example/2020/hello 4 - Cat +0-0 1795909435975 will be gone
blog.example/2020/hello 5 4 Ann +0-0 1795909436063 an answer to what is gone
blog.example/about 6 - Dan +0-0 1795909436153 another page
blog.example/2020/hello 7 - Anonymous +0-0 1795909455208 deleted 
blog.example/2020/hello 8 7 Ann +0-0 1795909455228 an answer to what was deleted
blog.example/about 9 - Dan +0-0 1795909455260 edited edited rightly
"#,
        &[],
    );
}

#[test]
fn twikoo() {
    check(
        System::Twikoo,
        "twikoo.json",
        r#"
blog.example/2020/hello 62a1 - Ann +2-0 1654000000000 pinned first **floor**
blog.example/2020/hello 62a2 62a1 Bob +0-0 1654000060000 an answer [:a:](https://cdn.example/a.png)
BAD comment "62a4": "soon" is no time
"#,
        &[(LeftOut::Spam, 1)],
    );
}

#[test]
fn commento() {
    check(
        System::Commento,
        "commento.json",
        r#"
blog.example/2020/hello c1 - Ann +2-0 1551434400123 first **floor**
blog.example/2020/hello c2 c1 Anonymous +0-1 1551434460000 a reply
blog.example/2020/hello c4 c2 Bob +0-0 1551434580000 deleted 
"#
        .trim_end_matches('\n'),
        &[(LeftOut::NotApproved, 1)],
    );
}

#[test]
fn comentario() {
    check(
        System::Commento,
        "commento-3.json",
        r#"
blog.example/2020/hello k1 - Ann +2-0 1677664800123 edited pinned first **floor** [a cat](https://e.example/cat.png)
blog.example/2020/hello k2 k1 Guest +0-1 1677664860000 a reply
blog.example/2020/hello k3 k1 Bob +0-0 1677664920000 deleted 
blog.example/2020/hello k6 k1 Bob +0-0 1677665100000 an answer to what was rejected
BAD comment "k7": its page "p9" is not in the file
"#,
        &[(LeftOut::NotApproved, 1), (LeftOut::Spam, 1)],
    );
}

#[test]
fn comentario_before_its_version_3_has_both_fields_of_an_address() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("export.json");
    let comment =
        r#"{"commentHex":"c1","host":"blog.example","path":"/a","url":"","creationDate":"2023-03-01T10:00:00Z"}"#;
    std::fs::write(&file, format!(r#"{{"version":1,"comments":[{comment}],"commenters":[]}}"#)).unwrap();
    let mut written = Written::default();
    Export::new(System::Commento, file, "article", None, "").unwrap().read(&mut written).unwrap();
    assert_eq!(written.text.trim_end(), "blog.example/a c1 - Anonymous +0-0 1677664800000");
}

#[test]
fn discussions() {
    check(
        System::Discussions,
        "discussions.json",
        r#"
blog.example/2020/hello DC_1 - ann +3-0 1643709600000 edited first **floor**
blog.example/2020/hello DC_2 DC_1 Anonymous +0-0 1643709660000 a reply of a ghost
blog.example/2020/hello DC_3 - bob +0-0 1643709720000 deleted 
"#
        .trim_end_matches('\n'),
        &[],
    );
}

#[test]
fn subject_is_described_once_by_its_title_and_address() {
    let check = |system: System, name: &str, expected: &str| {
        let mut written = Written::default();
        export(system, fixture(name)).read(&mut written).unwrap();
        assert_eq!(written.subjects.trim_end(), expected, "{name}");
    };
    let hello = "blog.example/2020/hello https://blog.example/2020/hello/";
    check(
        System::Disqus,
        "disqus.xml",
        "blog.example/2020/hello http://www.blog.example/2020/hello/?utm_source=feed Hello & welcome",
    );
    check(System::Wordpress, "wordpress.xml", &format!("{hello} Hello"));
    check(System::Remark42, "remark42.json", &format!("{hello} Hello"));
    check(System::Artalk, "artalk.artrans", &format!("{hello} Hello"));
    for (system, name) in [(System::Waline, "waline.json"), (System::Commento, "commento.json")] {
        check(system, name, &format!("{hello} -"));
    }
    check(System::Discussions, "discussions.json", &format!("{hello} -"));
    check(System::Commento, "commento-3.json", &format!("{hello} Hello"));
    check(
        System::Discourse,
        "discourse.json",
        &format!(
            "{hello} Hello\nblog.example/t/a-topic-of-its-own/6 https://blog.example/t/a-topic-of-its-own/6 A topic"
        ),
    );
}

#[test]
fn title_that_is_known_later_is_handed_out_then() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("export");
    let check = |system: System, text: &str, expected: &str| {
        std::fs::write(&file, text).unwrap();
        let mut written = Written::default();
        Export::new(system, file.clone(), "article", None, "").unwrap().read(&mut written).unwrap();
        assert_eq!(written.subjects.trim_end(), expected, "{text}");
    };
    let artran = |id: u8, title: &str| {
        format!(
            r#"{{"id":"{id}","created_at":"2021-10-28 12:50:15","nick":"A","page_key":"https://e.example/a","page_title":"{title}"}}"#
        )
    };
    let artrans: Vec<String> = ["", "", "A title", "Another"].iter().zip(1..).map(|(t, n)| artran(n, t)).collect();
    let expected = "e.example/a https://e.example/a -\ne.example/a https://e.example/a A title";
    check(System::Artalk, &format!("[{}]", artrans.join(",")), expected);
    let discussion = |title: &str| {
        let comment = r#"{"id":"1","createdAt":"2022-02-01T10:00:00Z"}"#;
        format!(r#"[{{"title":"{title}","comments":{{"nodes":[{comment}]}}}}]"#)
    };
    check(System::Discussions, &discussion("Hello, world"), "/Hello, world - Hello, world");
    check(System::Discussions, &discussion("hello"), "");
    check(System::Discussions, &discussion("https://e.example/a"), "e.example/a https://e.example/a -");
    let thread = r#"[{"id":"/a","title":"A title","comments":[{"id":1,"created":"2022-02-01 10:00:00","text":"x"}]}]"#;
    check(System::Isso, thread, "/a - A title");
}

#[test]
fn what_waits_is_taken_where_it_is_asked_for_and_nothing_answers_it() {
    for (system, name, held, answer) in [
        (System::Wordpress, "wordpress.xml", " held ", "3 1 Bob"),
        (System::Artalk, "artalk.artrans", "2 1 Bob +0-0 1635425475000 held waits", "3 1 Bob"),
        (System::Commento, "commento.json", "c3 - Bob +0-0 1551434520000 held waits", "c4 c2 Bob"),
        (System::Commento, "commento-3.json", "k4 - Ann +0-0 1677664980000 held waits", "k6 k1 Bob"),
        (System::Discourse, "discourse.json", "5/5 5/3 bob +0-0 1588348980000 held reported", "5/7 5/3 Cat"),
        (System::Waline, "waline-server.json", "8 1 Fay +0-0 1795940314000 held waits", "6 1 Bob"),
    ] {
        let mut written = Written::default();
        let export = Export { takes_held: true, ..export(system, fixture(name)) };
        let report = export.read(&mut written).unwrap();
        assert!(written.text.contains(held) && written.text.contains(answer), "{}", written.text);
        assert_eq!(report.left_out.get(&LeftOut::NotApproved), None);
        assert_eq!(written.text.matches("held").count(), 1);
    }
}

#[test]
fn each_reading_says_how_far_it_is() {
    for (system, name) in [(System::Disqus, "disqus.xml"), (System::Waline, "waline.json"), (System::Isso, "isso.db")] {
        let said = Arc::new(Mutex::new(Vec::new()));
        let mut export = export(system, fixture(name));
        let progress = said.clone();
        export.show_progress(Arc::new(move |done, total| progress.lock().unwrap().push((done, total))));
        export.read(&mut Written::default()).unwrap();
        let (said, bytes) = (said.lock().unwrap(), std::fs::metadata(fixture(name)).unwrap().len());
        assert!(said.iter().all(|(done, total)| *done <= bytes && *total == bytes), "{name}: {said:?}");
        let ends = said.windows(2).filter(|two| two[0].0 < bytes && two[1].0 == bytes).count();
        let first = usize::from(said.first().is_some_and(|(done, _)| *done == bytes));
        assert_eq!(said.is_empty(), system == System::Isso, "{name}");
        assert!(system == System::Isso || ends + first >= 1, "{name}: {said:?}");
    }
}

#[test]
fn same_person_is_one_member_whatever_the_system() {
    struct Authors(BTreeMap<String, Author>);
    impl ExportReader for Authors {
        fn line(&mut self, _: &str, line: &ImportLine) -> anyhow::Result<()> {
            self.0.insert(format!("{} {}", line.author.name, line.id), line.author.clone());
            Ok(())
        }

        fn subject(&mut self, _: &SubjectDescription) -> anyhow::Result<()> {
            Ok(())
        }

        fn bad(&mut self, _: &str, _: &str) -> anyhow::Result<()> {
            Ok(())
        }
    }
    let mut authors = Authors(BTreeMap::new());
    for (system, name) in [
        (System::Wordpress, "wordpress.xml"),
        (System::Isso, "isso.db"),
        (System::Disqus, "disqus.xml"),
        (System::Twikoo, "twikoo.json"),
    ] {
        let export = Export { avatars: Some("https://c.example/v1/avatars/".into()), ..export(system, fixture(name)) };
        export.read(&mut authors).unwrap();
    }
    let of = |name: &str| authors.0[name].id;
    let avatar = |name: &str| authors.0[name].avatar.clone();
    let hash = "e153509271c7c6a06a11823fce8a8da6fb95cc3da0e2edc78707af9e2fdb7ba4";
    assert_eq!(avatar("Ann wordpress 1"), avatar("Ann isso 5"));
    assert_eq!(avatar("Ann twikoo 62a1"), Some(format!("https://c.example/v1/avatars/{hash}")));
    let md5 = "https://c.example/v1/avatars/6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b";
    assert_eq!((avatar("Bob twikoo 62a2").as_deref(), avatar("Dan isso 6")), (Some(md5), None));
    let (ann, bob) = (of("Ann wordpress 1"), of("Bob wordpress 3"));
    assert_eq!((ann, bob), (of("Ann isso 5"), of("Bob isso 2")), "by their addresses, in small letters");
    assert_eq!(bob, of("Bob disqus 102"));
    assert_ne!(of("Ann & Co disqus 100"), MemberId::imported("Ann & Co"), "by the name of the account");
    assert_eq!(of("Cat isso 4"), MemberId::imported("Cat"), "by the name where nothing else is known");
}

#[test]
fn file_of_another_kind_is_refused() {
    for (system, name) in [
        (System::Disqus, "wordpress.xml"),
        (System::Wordpress, "disqus.xml"),
        (System::Remark42, "waline.json"),
        (System::Artalk, "commento.json"),
        (System::Commento, "twikoo.json"),
        (System::Isso, "disqus.xml"),
        (System::Discussions, "commento.json"),
        (System::Discourse, "commento-3.json"),
        (System::Discourse, "twikoo.json"),
        (System::Disqus, "isso.db"),
    ] {
        export(system, fixture(name)).read(&mut Written::default()).unwrap_err();
    }
    assert!(export(System::Isso, "/nowhere".into()).read(&mut Written::default()).is_err());
}

#[test]
fn damaged_file_is_read_as_far_as_it_can_be_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for system in System::value_variants() {
        let name = std::fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap().file_name());
        let name = name.map(|name| name.into_string().unwrap()).find(|name| name.starts_with(system.name())).unwrap();
        let whole = std::fs::read(fixture(&name)).unwrap();
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                match random.u8(..3) {
                    0 => bytes[at] = random.u8(..),
                    1 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let file = directory.path().join(&name);
            std::fs::write(&file, bytes).unwrap();
            let mut written = Written::default();
            if let Ok(report) = export(*system, file).read(&mut written) {
                let bad = written.text.lines().filter(|line| line.starts_with("BAD")).count() as u64;
                assert_eq!(report.bad, bad, "what cannot be read is named");
            }
        }
    }
}
