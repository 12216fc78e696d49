//! Bodies: what is no JSON, wrong fields, wrong types, too much.

use gailou_tests::{Call, id};
use serde_json::{Value, json};

use crate::{Row, World, invalid, row};

#[tokio::test(flavor = "multi_thread")]
async fn bodies() {
    let w = World::new().await;
    let json_type = |call: Call| call.header("content-type", "application/json");
    let mut rows = Vec::new();
    // What is no JSON object is the field `body`.
    for (name, body) in [
        ("nothing", b"".to_vec()),
        ("half an object", br#"{"content":"x""#.to_vec()),
        ("a list", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("text", br#""content""#.to_vec()),
        ("two objects", br#"{"content":"x"}{}"#.to_vec()),
        ("broken UTF-8", b"{\"content\":\"\xff\xfe\"}".to_vec()),
        ("UTF-16", b"{\x00\"\x00}\x00".to_vec()),
        ("half a surrogate pair", br#"{"content":"\ud83d"}"#.to_vec()),
        ("a byte order mark", b"\xef\xbb\xbf{\"content\":\"x\"}".to_vec()),
        ("a raw control character", b"{\"content\":\"a\x00b\"}".to_vec()),
        ("10,000 levels", [b"[".repeat(10_000), b"]".repeat(10_000)].concat()),
        ("NaN", br#"{"content":"x","parent_id":NaN}"#.to_vec()),
    ] {
        let lines = [
            ("POST /v1/subjects/article/e/comments".to_owned(), &w.ann),
            (format!("PATCH /v1/comments/{}", id(&w.root)), &w.ann),
            ("POST /v1/guests".into(), &w.ann),
            (format!("POST /v1/admin/comments/{}/decision", id(&w.root)), &w.moderator),
            ("PUT /v1/admin/subjects/article/e".into(), &w.admin),
        ];
        for (line, by) in lines {
            rows.push(invalid(
                format!("{line}: {name}"),
                json_type(w.call(&line).by(by)).bytes(body.clone()),
                ["body"],
            ));
        }
    }
    // Each wrong field is named.
    let long = "楼".repeat(5_001);
    for (body, fields) in [
        (json!({}), vec!["content"]),
        (json!({"content": null}), vec!["content"]),
        (json!({"content": 7}), vec!["content"]),
        (json!({"content": ["x"]}), vec!["content"]),
        (json!({"content": ""}), vec!["content"]),
        (json!({"content": " \n\t\u{200b}\u{feff}"}), vec!["content"]),
        (json!({"content": "a\u{0}b"}), vec!["content"]),
        (json!({"content": "a\u{1b}[31mb"}), vec!["content"]),
        (json!({"content": "a\u{85}b"}), vec!["content"]),
        (json!({"content": long}), vec!["content"]),
        (json!({"content": "x", "parent_id": 5}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "abc"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": ""}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "0"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "01"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "-1"}), vec!["parent_id"]),
        (json!({"content": "x", "parent_id": "9223372036854775808"}), vec!["parent_id"]),
        (json!({"content": "x", "mentions": "7"}), vec!["mentions"]),
        (json!({"content": "x", "mentions": [7]}), vec!["mentions"]),
        (json!({"content": "x", "mentions": ["ann"]}), vec!["mentions"]),
        (json!({"content": "x", "mentions": (1..=21).map(|n| n.to_string()).collect::<Vec<_>>()}), vec!["mentions"]),
        (json!({"content": "x", "visibility": "all"}), vec!["visibility"]),
        (json!({"content": "x", "visibility": 1}), vec!["visibility"]),
        (json!({"content": "x", "media": "1"}), vec!["media"]),
        (json!({"content": "x", "media": ["1"]}), vec!["media"]),
        (
            json!({"content": "", "parent_id": 5, "mentions": {}, "visibility": "", "media": 1}),
            vec!["content", "parent_id", "mentions", "visibility", "media"],
        ),
    ] {
        let line: String = body.to_string().chars().take(80).collect();
        rows.push(Row { fields: Some(fields), ..row(line, w.post().json(&body), 400, "invalid_request") });
    }
    let edit = |body: Value| w.call(&format!("PATCH /v1/comments/{}", id(&w.root))).by(&w.ann).json(&body);
    for content in [json!(null), json!(1), json!(""), json!("a\u{0}"), json!(long)] {
        rows.push(invalid(
            format!("edit {}", &content.to_string()[..1]),
            edit(json!({"content": content})),
            ["content"],
        ));
    }
    for name in [json!(null), json!(1), json!(""), json!("\u{200b}"), json!("a\nb"), json!("x".repeat(65))] {
        rows.push(invalid(format!("guest {name}"), w.call("POST /v1/guests").json(&json!({"name": name})), ["name"]));
    }
    let decide =
        |body: Value| w.call(&format!("POST /v1/admin/comments/{}/decision", id(&w.root))).by(&w.moderator).json(&body);
    rows.push(invalid("no action", decide(json!({})), ["action"]));
    rows.push(invalid("an unknown action", decide(json!({"action": "burn"})), ["action"]));
    rows.push(invalid("a reason that is no text", decide(json!({"action": "hide", "reason": 5})), ["reason"]));
    rows.push(invalid("both", decide(json!({"action": 1, "reason": "x".repeat(1_001)})), ["action", "reason"]));
    let subject = |body: Value| w.call("PUT /v1/admin/subjects/article/e").by(&w.admin).json(&body);
    rows.push(invalid("state", subject(json!({"state": "ajar"})), ["state"]));
    rows.push(invalid("owner", subject(json!({"owner_id": 7})), ["owner_id"]));
    rows.push(invalid("title", subject(json!({"title": 7})), ["title"]));
    rows.push(invalid("url", subject(json!({"url": "a\nb"})), ["url"]));
    rows.push(invalid("mode", subject(json!({"mode": "spiral"})), ["mode"]));
    // Size before type before content; the token before all of them.
    let big = |n: usize| format!("{{\"content\":\"{}\"}}", "x".repeat(n - 14)).into_bytes();
    assert_eq!(big(65_536).len(), 65_536);
    let lines = [
        ("POST /v1/subjects/article/e/comments".to_owned(), &w.ann),
        (format!("PATCH /v1/comments/{}", id(&w.root)), &w.ann),
        ("POST /v1/guests".into(), &w.ann),
        (format!("POST /v1/admin/comments/{}/decision", id(&w.root)), &w.moderator),
        ("PUT /v1/admin/subjects/article/e".into(), &w.admin),
    ];
    for (line, by) in lines {
        let call = || w.call(&line).by(by);
        rows.push(row(format!("{line}: too large"), json_type(call()).bytes(big(65_537)), 413, "body_too_large"));
        rows.push(row(
            format!("{line}: too large, no length"),
            json_type(call()).chunked(&big(65_537)),
            413,
            "body_too_large",
        ));
        rows.push(row(
            format!("{line}: too large, text"),
            call().header("content-type", "text/plain").bytes(big(65_537)),
            413,
            "body_too_large",
        ));
        rows.push(row(format!("{line}: no type"), call().bytes("{"), 415, "unsupported_media_type"));
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "text/json", "application"]
        {
            rows.push(row(
                format!("{line}: {kind}"),
                call().header("content-type", kind).bytes("{"),
                415,
                "unsupported_media_type",
            ));
        }
    }
    rows.push(invalid("65,536 bytes are taken", json_type(w.post()).bytes(big(65_536)), ["content"]));
    let bare = || w.call("POST /v1/subjects/article/e/comments");
    rows.push(row("no token, too large", json_type(bare()).bytes(big(65_537)), 401, "token_missing"));
    rows.push(row("no token, no type", bare().bytes("{"), 401, "token_missing"));
    rows.push(row(
        "no type, wrong id",
        w.call("PATCH /v1/comments/abc").by(&w.ann).bytes("{"),
        415,
        "unsupported_media_type",
    ));
    w.check(rows).await;
}
