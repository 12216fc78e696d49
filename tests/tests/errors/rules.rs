//! What the rules of threads and roles refuse.

use gailou_tests::{Who, id};
use serde_json::{Value, json};

use crate::{World, row};

#[tokio::test(flavor = "multi_thread")]
async fn rules() {
    let w = World::new().await;
    let comment = |what: &Value, more: &str| format!("/v1/comments/{}{more}", id(what));
    let mut rows = Vec::new();
    let text = json!({"content": "x"});
    // Parents that cannot be answered.
    for (name, parent) in [
        ("unknown", json!("1")),
        ("of another subject", w.elsewhere["id"].clone()),
        ("deleted", w.deleted["id"].clone()),
        ("a tombstone", w.tombstone["id"].clone()),
        ("held", w.held["id"].clone()),
        ("hidden", w.hidden["id"].clone()),
    ] {
        let call = w.post().json(&json!({"content": "x", "parent_id": parent}));
        rows.push(row(format!("a parent that is {name}"), call, 404, "parent_not_found"));
    }
    let own = w
        .call("POST /v1/subjects/article/e/comments")
        .by(&w.bob)
        .json(&json!({"content": "x", "parent_id": w.own["id"]}));
    rows.push(row("a parent that only its author sees", own, 404, "parent_not_found"));
    // Subjects that take nothing.
    for subject in ["article/closed", "article/hidden"] {
        let call = || w.call(&format!("POST /v1/subjects/{subject}/comments"));
        rows.push(row(subject, call().by(&w.ann).json(&text), 409, "subject_closed"));
        let reply = json!({"content": "x", "parent_id": w.closed["id"]});
        rows.push(row(format!("a reply in {subject}"), call().by(&w.ann).json(&reply), 409, "subject_closed"));
    }
    // Members who may not post.
    let club = || w.call("POST /v1/subjects/club/1/comments").json(&text);
    rows.push(row("level 3 of 9", club().by(&w.ann), 403, "level_too_low"));
    rows.push(row("a guest", club().by(&w.guest), 403, "guests_not_allowed"));
    // Words.
    rows.push(row(
        "a new comment with a word",
        w.post().json(&json!({"content": "a FORBIDDEN-word !"})),
        422,
        "content_rejected",
    ));
    let edit = |what: &Value, by: &Who| w.call(&format!("PATCH {}", comment(what, ""))).by(by).json(&text);
    let call =
        w.call(&format!("PATCH {}", comment(&w.root, ""))).by(&w.ann).json(&json!({"content": "forbidden-word"}));
    rows.push(row("an edit with a word", call, 422, "content_rejected"));
    // Edits.
    for by in [&w.bob, &w.moderator, &w.admin, &w.guest] {
        rows.push(row(format!("{} edits", by.name), edit(&w.root, by), 403, "forbidden"));
    }
    rows.push(row("after 15 minutes", edit(&w.old, &w.ann), 409, "edit_window_over"));
    for (name, what) in
        [("deleted", &w.deleted), ("a tombstone", &w.tombstone), ("held", &w.held), ("hidden", &w.hidden)]
    {
        rows.push(row(format!("edits what is {name}"), edit(what, &w.ann), 404, "comment_not_found"));
        for (method, mark) in [("PUT", "like"), ("DELETE", "like"), ("PUT", "dislike"), ("DELETE", "dislike")] {
            let call = w.call(&format!("{method} {}", comment(what, &format!("/{mark}")))).by(&w.bob);
            rows.push(row(format!("{method} {mark} on what is {name}"), call, 404, "comment_not_found"));
        }
        let call = w.call(&format!("PUT {}", comment(what, "/pin"))).by(&w.moderator);
        rows.push(row(format!("pins what is {name}"), call, 404, "comment_not_found"));
    }
    // What strangers cannot even see.
    for (name, what) in [("held", &w.held), ("for its author alone", &w.own)] {
        for more in ["", "/replies", "/tree", "/ancestors", "/context"] {
            rows.push(row(
                format!("reads {more} of what is {name}"),
                w.call(&format!("GET {}", comment(what, more))),
                404,
                "comment_not_found",
            ));
        }
        let call = w.call(&format!("PUT {}", comment(what, "/like"))).by(&w.bob);
        rows.push(row(format!("likes what is {name}"), call, 404, "comment_not_found"));
    }
    // Deletes, pins, decisions, subjects.
    for by in [&w.bob, &w.guest] {
        let name = &by.name;
        rows.push(row(
            format!("{name} deletes"),
            w.call(&format!("DELETE {}", comment(&w.root, ""))).by(by),
            403,
            "forbidden",
        ));
        for method in ["PUT", "DELETE"] {
            rows.push(row(
                format!("{name} pins"),
                w.call(&format!("{method} {}", comment(&w.reply, "/pin"))).by(by),
                403,
                "forbidden",
            ));
        }
        for action in ["approve", "delete", "feature"] {
            let call = w
                .call(&format!("POST /v1/admin/comments/{}/decision", id(&w.root)))
                .by(by)
                .json(&json!({"action": action}));
            rows.push(row(format!("{name} decides {action}"), call, 403, "forbidden"));
        }
        rows.push(row(
            format!("{name} on a subject"),
            w.call("PUT /v1/admin/subjects/article/e").by(by).json(&json!({})),
            403,
            "forbidden",
        ));
    }
    rows.push(row(
        "its author pins",
        w.call(&format!("PUT {}", comment(&w.root, "/pin"))).by(&w.ann),
        403,
        "forbidden",
    ));
    w.check(rows).await;

    // The categories are named, never the terms.
    let refused = w.post().json(&json!({"content": "forbidden-word"})).send().await;
    assert!(
        refused.json["errors"].to_string().contains("ad") && !refused.text.contains("forbidden"),
        "{}",
        refused.text
    );
    // A key belongs to its first request; a refusal is not remembered.
    w.post().key("k").json(&json!({"content": ""})).send().await.expect(400);
    w.post().key("k").json(&text).send().await.expect(201);
    let call = |line: &str, body: Value| {
        row("another request with the key", w.call(line).by(&w.ann).key("k").json(&body), 422, "idempotency_mismatch")
    };
    w.check(vec![
        call("POST /v1/subjects/article/e/comments", json!({"content": "y"})),
        call("POST /v1/subjects/article/e/comments", json!({"content": "x", "parent_id": null})),
        call("POST /v1/subjects/article/other/comments", text),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_may_have_a_tighter_length() {
    let w = World::new().await;
    let club =
        |content: &str| w.call("POST /v1/subjects/club/1/comments").by(&w.admin).json(&json!({"content": content}));
    assert_eq!(club("12345678901").send().await.expect(400)["errors"][0]["field"], "content");
    let comment = club("1234567890").send().await.expect(201);
    let edited = w.site.edit(&w.admin, &comment, "12345678901").await;
    assert_eq!(edited.status, 400, "an edit may be longer than a new comment: {}", edited.text);
}
