//! Refusals by the rules of threads, roles and the word filter.

use gailou_tests::{TestMember, id};
use serde_json::{Value, json};

use super::{RefusalTestBed, refusal};

#[tokio::test(flavor = "multi_thread")]
async fn request_against_the_rules_has_the_code_of_its_rule() {
    let bed = RefusalTestBed::new().await;
    let comment = |what: &Value, more: &str| format!("/v1/comments/{}{more}", id(what));
    let mut cases = Vec::new();
    let text = json!({"content": "x"});
    // Parents that take no reply.
    for (name, parent) in [
        ("unknown", json!("1")),
        ("of another subject", bed.elsewhere["id"].clone()),
        ("deleted", bed.deleted["id"].clone()),
        ("a tombstone", bed.tombstone["id"].clone()),
        ("held", bed.held["id"].clone()),
        ("hidden", bed.hidden["id"].clone()),
    ] {
        let call = bed.post().json(&json!({"content": "x", "parent_id": parent}));
        cases.push(refusal(format!("a parent that is {name}"), call, 404, "parent_not_found"));
    }
    let own = bed
        .request("POST /v1/subjects/article/e/comments")
        .by(&bed.bob)
        .json(&json!({"content": "x", "parent_id": bed.own["id"]}));
    cases.push(refusal("a parent that only its author sees", own, 404, "parent_not_found"));
    // Subjects that take no comment.
    for subject in ["article/closed", "article/hidden"] {
        let call = || bed.request(&format!("POST /v1/subjects/{subject}/comments"));
        cases.push(refusal(subject, call().by(&bed.ann).json(&text), 409, "subject_closed"));
        let reply = json!({"content": "x", "parent_id": bed.closed["id"]});
        cases.push(refusal(format!("a reply in {subject}"), call().by(&bed.ann).json(&reply), 409, "subject_closed"));
    }
    // Members who may not post.
    let club = || bed.request("POST /v1/subjects/club/1/comments").json(&text);
    cases.push(refusal("level 3 of 9", club().by(&bed.ann), 403, "level_too_low"));
    cases.push(refusal("a guest", club().by(&bed.guest), 403, "guests_not_allowed"));
    // Terms of the word filter.
    cases.push(refusal(
        "a new comment with a word",
        bed.post().json(&json!({"content": "a FORBIDDEN-word !"})),
        422,
        "content_rejected",
    ));
    let edit = |what: &Value, by: &TestMember| bed.request(&format!("PATCH {}", comment(what, ""))).by(by).json(&text);
    let call = bed
        .request(&format!("PATCH {}", comment(&bed.root, "")))
        .by(&bed.ann)
        .json(&json!({"content": "forbidden-word"}));
    cases.push(refusal("an edit with a word", call, 422, "content_rejected"));
    // Edits.
    for by in [&bed.bob, &bed.moderator, &bed.admin, &bed.guest] {
        cases.push(refusal(format!("{} edits", by.name), edit(&bed.root, by), 403, "forbidden"));
    }
    let call = edit(&bed.own, &bed.bob);
    cases.push(refusal("another edits what only its author sees", call, 404, "comment_not_found"));
    cases.push(refusal("after 15 minutes", edit(&bed.old, &bed.ann), 409, "edit_window_over"));
    for (name, what) in
        [("deleted", &bed.deleted), ("a tombstone", &bed.tombstone), ("held", &bed.held), ("hidden", &bed.hidden)]
    {
        cases.push(refusal(format!("edits what is {name}"), edit(what, &bed.ann), 404, "comment_not_found"));
        for (method, mark) in [("PUT", "like"), ("DELETE", "like"), ("PUT", "dislike"), ("DELETE", "dislike")] {
            let call = bed.request(&format!("{method} {}", comment(what, &format!("/{mark}")))).by(&bed.bob);
            cases.push(refusal(format!("{method} {mark} on what is {name}"), call, 404, "comment_not_found"));
        }
        let call = bed.request(&format!("PUT {}", comment(what, "/pin"))).by(&bed.moderator);
        cases.push(refusal(format!("pins what is {name}"), call, 404, "comment_not_found"));
    }
    // Comments that are invisible to others.
    for (name, what) in [("held", &bed.held), ("for its author alone", &bed.own)] {
        for more in ["", "/replies", "/tree", "/ancestors", "/context"] {
            cases.push(refusal(
                format!("reads {more} of what is {name}"),
                bed.request(&format!("GET {}", comment(what, more))),
                404,
                "comment_not_found",
            ));
        }
        let call = bed.request(&format!("PUT {}", comment(what, "/like"))).by(&bed.bob);
        cases.push(refusal(format!("likes what is {name}"), call, 404, "comment_not_found"));
    }
    // Deletes, pins, decisions, subjects.
    for by in [&bed.bob, &bed.guest] {
        let name = &by.name;
        cases.push(refusal(
            format!("{name} deletes"),
            bed.request(&format!("DELETE {}", comment(&bed.root, ""))).by(by),
            403,
            "forbidden",
        ));
        for method in ["PUT", "DELETE"] {
            cases.push(refusal(
                format!("{name} pins"),
                bed.request(&format!("{method} {}", comment(&bed.reply, "/pin"))).by(by),
                403,
                "forbidden",
            ));
        }
        for action in ["approve", "delete", "feature"] {
            let call = bed
                .request(&format!("POST /v1/admin/comments/{}/decision", id(&bed.root)))
                .by(by)
                .json(&json!({"action": action}));
            cases.push(refusal(format!("{name} decides {action}"), call, 403, "forbidden"));
        }
        cases.push(refusal(
            format!("{name} on a subject"),
            bed.request("PUT /v1/admin/subjects/article/e").by(by).json(&json!({})),
            403,
            "forbidden",
        ));
    }
    cases.push(refusal(
        "its author pins",
        bed.request(&format!("PUT {}", comment(&bed.root, "/pin"))).by(&bed.ann),
        403,
        "forbidden",
    ));
    bed.check(cases).await;

    // The response names the categories, never the terms.
    let refused = bed.post().json(&json!({"content": "forbidden-word"})).send().await;
    assert!(
        refused.json["errors"].to_string().contains("ad") && !refused.text.contains("forbidden"),
        "{}",
        refused.text
    );
    // A key belongs to its first successful request.
    bed.post().idempotency_key("k").json(&json!({"content": ""})).send().await.expect(400);
    bed.post().idempotency_key("k").json(&text).send().await.expect(201);
    let call = |line: &str, body: Value| {
        refusal(
            "another request with the key",
            bed.request(line).by(&bed.ann).idempotency_key("k").json(&body),
            422,
            "idempotency_mismatch",
        )
    };
    bed.check(vec![
        call("POST /v1/subjects/article/e/comments", json!({"content": "y"})),
        call("POST /v1/subjects/article/e/comments", json!({"content": "x", "parent_id": null})),
        call("POST /v1/subjects/article/other/comments", text),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn type_with_a_shorter_limit_refuses_longer_content() {
    let bed = RefusalTestBed::new().await;
    let club = |content: &str| {
        bed.request("POST /v1/subjects/club/1/comments").by(&bed.admin).json(&json!({"content": content}))
    };
    assert_eq!(club("12345678901").send().await.expect(400)["errors"][0]["field"], "content");
    let comment = club("1234567890").send().await.expect(201);
    let edited = bed.origin.edit(&bed.admin, &comment, "12345678901").await;
    assert_eq!(edited.status, 400, "the limit of an edit is that of a new comment: {}", edited.text);
}
