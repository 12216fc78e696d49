//! Refused keys, ids, limits, sorts and cursors.

use gailou_shared::cursor::{Cursor, CursorKey, CursorList, WalkPosition};
use gailou_shared::rank::Sort;
use gailou_tests::id;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{RefusalTestBed, invalid, refusal};

/// The difference of two ids of one slot that are issued a second apart: 22 bits are below the
/// milliseconds, and 2^10 ms are about a second.
const A_SECOND_LATER: u64 = 1 << 32;

/// The status line and the rest of the answer to a request that no client library has changed.
async fn send_raw(base: &str, line: &str) -> String {
    let address = base.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("{line} HTTP/1.1\r\nhost: origin\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

/// The edge answers these alike, because a proxy or a URL parser would make another path of them.
#[tokio::test(flavor = "multi_thread")]
async fn dot_segment_is_400_in_every_spelling() {
    let bed = RefusalTestBed::new().await;
    for key in ["..", ".", "%2e%2E", ".%2e", "a%2f..%2fb", "%5c..", "x%2F."] {
        for line in [format!("GET /v1/subjects/article/{key}"), format!("POST /v1/subjects/article/{key}/comments")] {
            let answer = send_raw(bed.origin.base(), &line).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{line}: {answer}");
            assert!(
                answer.contains("\"code\":\"invalid_request\"") && answer.contains("\"field\":\"path\""),
                "{answer}"
            );
        }
    }
    for key in ["a%2Fb", "a.b", "..a", "...", "%2e%2ea", "a%2F...%2Fb"] {
        let answer = send_raw(bed.origin.base(), &format!("GET /v1/subjects/article/{key}")).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{key}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_key_id_or_parameter_is_400_and_unknown_id_is_404() {
    let bed = RefusalTestBed::new().await;
    let mut cases = Vec::new();
    let too_long = "k".repeat(513);
    for key in [too_long.as_str(), "a%00b", "a%0Ab", "%7F", "%FF", "%C3%28", &"%E6%A5%BC".repeat(171)] {
        for line in [
            format!("GET /v1/subjects/article/{key}"),
            format!("GET /v1/subjects/article/{key}/comments"),
            format!("POST /v1/subjects/article/{key}/comments"),
            format!("PUT /v1/admin/subjects/article/{key}"),
            format!("GET /t/article/{key}"),
        ] {
            let call = bed.request(&line).by(&bed.admin);
            let call = if line.starts_with('P') { call.json(&json!({"content": "x"})) } else { call };
            cases.push(invalid(line, call, ["key"]));
        }
    }
    for subjects in [
        "",
        "?subject=",
        "?subject=article",
        "?subject=article/",
        "?subject=article/%00",
        "?subject=article/%FF",
        &format!("?subject=article/{too_long}"),
    ] {
        cases.push(invalid(subjects, bed.request(&format!("GET /v1/counts{subjects}")), ["subject"]));
    }
    let many: String = (0..101).map(|n| format!("subject=article/{n}&")).collect();
    cases.push(invalid("101 subjects", bed.request(&format!("GET /v1/counts?{many}")), ["subject"]));

    let comment = |id: &str| {
        vec![
            format!("GET /v1/comments/{id}"),
            format!("GET /v1/comments/{id}/replies"),
            format!("GET /v1/comments/{id}/tree"),
            format!("GET /v1/comments/{id}/ancestors"),
            format!("GET /v1/comments/{id}/context"),
            format!("PATCH /v1/comments/{id}"),
            format!("DELETE /v1/comments/{id}"),
            format!("PUT /v1/comments/{id}/like"),
            format!("DELETE /v1/comments/{id}/like"),
            format!("PUT /v1/comments/{id}/dislike"),
            format!("DELETE /v1/comments/{id}/dislike"),
            format!("PUT /v1/comments/{id}/pin"),
            format!("DELETE /v1/comments/{id}/pin"),
            format!("POST /v1/admin/comments/{id}/decision"),
        ]
    };
    let send = |line: &str| bed.request(line).by(&bed.admin).json(&json!({"content": "x", "action": "hide"}));
    for wrong in
        ["abc", "0", "00", "01", "-1", "1.0", "+1", "1e3", "9223372036854775808", "99999999999999999999", "%20", "null"]
    {
        for line in comment(wrong) {
            cases.push(invalid(&line, send(&line), ["id"]));
        }
        cases.push(invalid(wrong, bed.request(&format!("GET /v1/members/{wrong}/comments")), ["id"]));
    }
    for unknown in ["1", "9223372036854775807", &(id(&bed.root).parse::<u64>().unwrap() + A_SECOND_LATER).to_string()] {
        for line in comment(unknown) {
            cases.push(refusal(&line, send(&line), 404, "comment_not_found"));
        }
    }
    let (root, list) = (id(&bed.root), "GET /v1/subjects/article/e/comments");
    for wrong in ["0", "101", "-1", "abc", "", "1.5", "1e1", "%2B5", "0x10", "99999999999999999999999"] {
        for path in [
            list,
            &format!("GET /v1/comments/{root}/replies"),
            &format!("GET /v1/comments/{root}/tree"),
            "GET /v1/members/7/comments",
        ] {
            if wrong == "101" && path.ends_with("tree") {
                continue;
            }
            let line = format!("{path}?limit={wrong}");
            cases.push(invalid(&line, bed.request(&line), ["limit"]));
        }
        if wrong != "101" {
            let line = format!("GET /v1/comments/{root}/tree?depth={wrong}");
            cases.push(invalid(&line, bed.request(&line), ["depth"]));
        }
    }
    let line = format!("GET /v1/comments/{root}/tree?depth=0&limit=0");
    cases.push(invalid(&line, bed.request(&line), ["depth", "limit"]));
    for wrong in ["", "HOT", "random", "hot,new", "%FF"] {
        let line = format!("{list}?sort={wrong}");
        cases.push(invalid(&line, bed.request(&line), ["sort"]));
    }
    for wrong in ["top", "best", "replies", "controversial", "x"] {
        let line = format!("GET /v1/comments/{root}/replies?sort={wrong}");
        cases.push(invalid(&line, bed.request(&line), ["sort"]));
    }
    cases.push(invalid("both", bed.request(&format!("{list}?sort=x&limit=0")), ["limit", "sort"]));
    let ids: Vec<_> = (1..=401).map(|n| n.to_string()).collect();
    for ids in ["abc".to_owned(), "1,,x".into(), "0".into(), "1;2".into(), ids.join(",")] {
        cases.push(invalid(&ids, bed.request(&format!("GET /v1/me/overlay?ids={ids}")).by(&bed.ann), ["ids"]));
    }
    // RFC 9110, 5.5: a header may have other bytes than visible ASCII.
    for key in ["", " ", "a b", "楼", &"k".repeat(129)] {
        cases.push(invalid(
            format!("key {key:?}"),
            bed.post().idempotency_key(key).json(&json!({"content": "x"})),
            ["Idempotency-Key"],
        ));
    }
    bed.check(cases).await;
    // The longest key and the longest content of four-byte characters are accepted.
    let key = "%E6%A5%BC".repeat(170) + "ab";
    bed.request(&format!("POST /v1/subjects/article/{key}/comments"))
        .by(&bed.ann)
        .json(&json!({"content": "😀".repeat(5_000)}))
        .send()
        .await
        .expect(201);
    assert_eq!(bed.origin.page(&format!("/v1/subjects/article/{key}")).await["comments"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cursor_of_another_list_sort_or_origin_is_400() {
    let bed = RefusalTestBed::new().await;
    for n in 0..3 {
        bed.origin.post(&bed.bob, "article/e", &format!("root {n}")).await;
        bed.origin.post(&bed.bob, "video/2", &format!("root {n}")).await;
        bed.origin.reply(&bed.bob, &bed.root, &format!("reply {n}")).await;
    }
    let next = async |path: &str| bed.origin.page(path).await["page"]["next"].as_str().expect("a cursor").to_owned();
    let (root, reply) = (id(&bed.root), id(&bed.reply));
    let list = "/v1/subjects/article/e/comments";
    let hot = next(&format!("{list}?limit=1")).await;
    let new = next(&format!("{list}?limit=1&sort=new")).await;
    let other = next("/v1/subjects/video/2/comments?limit=1").await;
    let replies = next(&format!("/v1/comments/{root}/replies?limit=1")).await;
    let member = next("/v1/members/8/comments?limit=1").await;
    let tree = bed.origin.page(&format!("/v1/comments/{root}/tree?limit=1")).await;
    let tree = tree["data"]["more"]["cursor"].as_str().expect("a cursor").to_owned();
    let forged = {
        let cursor = Cursor {
            list: CursorList::Member(8u64.to_string().parse().unwrap()),
            sort: Sort::New,
            epoch: 1,
            at: WalkPosition::After(1 << 60),
        };
        CursorKey::new(b"another secret").encode(&cursor)
    };
    let flipped = |at: usize| {
        let mut bytes = hot.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let lists = [
        list.to_owned(),
        format!("{list}?sort=new"),
        format!("/v1/comments/{root}/replies"),
        format!("/v1/comments/{root}/replies?sort=old"),
        format!("/v1/comments/{root}/tree"),
        "/v1/members/8/comments".into(),
    ];
    let mut cases = Vec::new();
    let mut add = |path: &str, cursor: &str| {
        let join = if path.contains('?') { '&' } else { '?' };
        let line = format!("GET {path}{join}cursor={cursor}");
        cases.push(refusal(&line, bed.request(&line), 400, "bad_cursor"));
    };
    for path in &lists {
        for cursor in [
            "",
            "x",
            "AAAA",
            "%00",
            "%E6%A5%BC",
            &"A".repeat(100),
            &"A".repeat(300),
            &forged,
            &format!("{hot}A"),
            &hot[..hot.len() - 1],
        ] {
            add(path, cursor);
        }
        for at in [0, 3, 14, hot.len() / 2, hot.len() - 1] {
            add(path, &flipped(at));
        }
        add(path, &other);
    }
    for (path, cursors) in [
        (list.to_owned(), vec![&replies, &member, &tree]),
        (format!("{list}?sort=new"), vec![&hot]),
        (format!("{list}?sort=hot"), vec![&new]),
        (format!("{list}?sort=top"), vec![&hot, &new]),
        (format!("/v1/comments/{root}/replies"), vec![&hot, &new, &member, &tree]),
        (format!("/v1/comments/{root}/replies?sort=old"), vec![&replies]),
        (format!("/v1/comments/{reply}/replies"), vec![&replies]),
        (format!("/v1/comments/{root}/tree"), vec![&hot, &new, &replies, &member]),
        (format!("/v1/comments/{reply}/tree"), vec![&tree]),
        ("/v1/members/8/comments".into(), vec![&hot, &new, &replies, &tree]),
        ("/v1/members/7/comments".into(), vec![&member]),
    ] {
        for cursor in cursors {
            add(&path, cursor);
        }
    }
    bed.check(cases).await;
    // Each cursor is valid for its own list, with its sort and without.
    for (path, cursor) in [
        (list.to_owned(), &hot),
        (format!("{list}?sort=hot"), &hot),
        (list.to_owned(), &new),
        (format!("/v1/comments/{root}/replies"), &replies),
        (format!("/v1/comments/{root}/tree"), &tree),
        ("/v1/members/8/comments".into(), &member),
    ] {
        let join = if path.contains('?') { '&' } else { '?' };
        bed.origin.page(&format!("{path}{join}cursor={cursor}")).await;
    }
}
