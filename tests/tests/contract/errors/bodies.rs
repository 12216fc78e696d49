//! Refused bodies: invalid JSON, wrong fields, wrong types, too many bytes.

use gailou_tests::{ApiRequest, id};
use serde_json::{Value, json};

use super::{RefusalCase, RefusalTestBed, invalid, refusal};

#[tokio::test(flavor = "multi_thread")]
async fn wrong_body_is_400_413_or_415_and_names_its_fields() {
    let bed = RefusalTestBed::new().await;
    let json_type = |call: ApiRequest| call.header("content-type", "application/json");
    let mut cases = Vec::new();
    // A body that is not a JSON object is an error of the field `body`.
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
            ("POST /v1/subjects/article/e/comments".to_owned(), &bed.ann),
            (format!("PATCH /v1/comments/{}", id(&bed.root)), &bed.ann),
            ("POST /v1/guests".into(), &bed.ann),
            (format!("POST /v1/admin/comments/{}/decision", id(&bed.root)), &bed.moderator),
            ("PUT /v1/admin/subjects/article/e".into(), &bed.admin),
        ];
        for (line, by) in lines {
            cases.push(invalid(
                format!("{line}: {name}"),
                json_type(bed.request(&line).by(by)).bytes(body.clone()),
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
        cases.push(RefusalCase {
            fields: Some(fields),
            ..refusal(line, bed.post().json(&body), 400, "invalid_request")
        });
    }
    let edit = |body: Value| bed.request(&format!("PATCH /v1/comments/{}", id(&bed.root))).by(&bed.ann).json(&body);
    for content in [json!(null), json!(1), json!(""), json!("a\u{0}"), json!(long)] {
        cases.push(invalid(
            format!("edit {}", &content.to_string()[..1]),
            edit(json!({"content": content})),
            ["content"],
        ));
    }
    for name in [json!(null), json!(1), json!(""), json!(" "), json!("a\nb"), json!("x".repeat(65))] {
        cases.push(invalid(
            format!("guest {name}"),
            bed.request("POST /v1/guests").json(&json!({"name": name})),
            ["name"],
        ));
    }
    let decide = |body: Value| {
        bed.request(&format!("POST /v1/admin/comments/{}/decision", id(&bed.root))).by(&bed.moderator).json(&body)
    };
    cases.push(invalid("no action", decide(json!({})), ["action"]));
    cases.push(invalid("an unknown action", decide(json!({"action": "burn"})), ["action"]));
    cases.push(invalid("a reason that is no text", decide(json!({"action": "hide", "reason": 5})), ["reason"]));
    cases.push(invalid("both", decide(json!({"action": 1, "reason": "x".repeat(1_001)})), ["action", "reason"]));
    let subject = |body: Value| bed.request("PUT /v1/admin/subjects/article/e").by(&bed.admin).json(&body);
    cases.push(invalid("state", subject(json!({"state": "ajar"})), ["state"]));
    cases.push(invalid("owner", subject(json!({"owner_id": 7})), ["owner_id"]));
    cases.push(invalid("title", subject(json!({"title": 7})), ["title"]));
    cases.push(invalid("url", subject(json!({"url": "a\nb"})), ["url"]));
    cases.push(invalid("mode", subject(json!({"mode": "spiral"})), ["mode"]));
    // The token is checked first, then the size, then the type, then the content.
    let big = |n: usize| format!("{{\"content\":\"{}\"}}", "x".repeat(n - 14)).into_bytes();
    assert_eq!(big(65_536).len(), 65_536);
    let lines = [
        ("POST /v1/subjects/article/e/comments".to_owned(), &bed.ann),
        (format!("PATCH /v1/comments/{}", id(&bed.root)), &bed.ann),
        ("POST /v1/guests".into(), &bed.ann),
        (format!("POST /v1/admin/comments/{}/decision", id(&bed.root)), &bed.moderator),
        ("PUT /v1/admin/subjects/article/e".into(), &bed.admin),
    ];
    for (line, by) in lines {
        let call = || bed.request(&line).by(by);
        cases.push(refusal(format!("{line}: too large"), json_type(call()).bytes(big(65_537)), 413, "body_too_large"));
        cases.push(refusal(
            format!("{line}: too large, no length"),
            json_type(call()).chunked_body(&big(65_537)),
            413,
            "body_too_large",
        ));
        cases.push(refusal(
            format!("{line}: too large, text"),
            call().header("content-type", "text/plain").bytes(big(65_537)),
            413,
            "body_too_large",
        ));
        cases.push(refusal(format!("{line}: no type"), call().bytes("{"), 415, "unsupported_media_type"));
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "text/json", "application"]
        {
            cases.push(refusal(
                format!("{line}: {kind}"),
                call().header("content-type", kind).bytes("{"),
                415,
                "unsupported_media_type",
            ));
        }
    }
    cases.push(invalid("65,536 bytes are taken", json_type(bed.post()).bytes(big(65_536)), ["content"]));
    let bare = || bed.request("POST /v1/subjects/article/e/comments");
    cases.push(refusal("no token, too large", json_type(bare()).bytes(big(65_537)), 401, "token_missing"));
    cases.push(refusal("no token, no type", bare().bytes("{"), 401, "token_missing"));
    cases.push(refusal(
        "no type, wrong id",
        bed.request("PATCH /v1/comments/abc").by(&bed.ann).bytes("{"),
        415,
        "unsupported_media_type",
    ));
    bed.check(cases).await;
}
