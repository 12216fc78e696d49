//! The audit log is complete: each change by `/v1/admin/` leaves one entry, with its verb and who made it.

use std::collections::BTreeSet;

use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestOrigin, admin, ann, bob, id, poll_until};
use serde_json::{Value, json};

const SUBJECT: &str = "article/audited";

/// The operations that change nothing that stays: a comment is reserved for a minute, a term is tried, and a delivery
/// that the webhook is owed is sent once more.
const UNAUDITED: [&str; 3] = [
    "POST /v1/admin/queue/lease",
    "POST /v1/admin/webhooks/{id}/deliveries/{delivery}/retry",
    "POST /v1/admin/words/test",
];

/// Makes changes and looks for their entries.
struct AuditedOrigin {
    origin: TestOrigin,
    /// The operations that were called, as the OpenAPI document has them.
    called: BTreeSet<String>,
}

impl AuditedOrigin {
    async fn entries(&self) -> Vec<Value> {
        let page = self.origin.request("GET /v1/admin/audit?limit=100").by(&admin()).send().await.expect(200);
        page["data"].as_array().expect("a list").clone()
    }

    /// Calls an operation, and checks that it leaves one entry with this verb. `at` are the values of its path. The answer.
    async fn change(&mut self, operation: &str, at: &[&str], body: &Value, action: &str) -> Value {
        self.origin.wait_until_persisted().await;
        let before: BTreeSet<_> = self.entries().await.iter().map(|entry| id(entry).to_owned()).collect();
        self.called.insert(operation.to_owned());
        let mut values = at.iter();
        let parts = operation.split('/').map(|part| match part.starts_with('{') {
            true => values.next().expect("a value for each part"),
            false => part,
        });
        let call = parts.collect::<Vec<_>>().join("/");
        let answer = self.origin.request(&call).by(&admin()).json(body).send().await;
        assert!((200..300).contains(&answer.status), "{operation}: {} {}", answer.status, answer.text);
        self.origin.wait_until_persisted().await;
        let after = poll_until(|| self.entries(), |entries| entries.len() > before.len()).await;
        let new: Vec<_> = after.iter().filter(|entry| !before.contains(id(entry))).collect();
        let [entry] = &*new else { panic!("{operation} leaves one entry: {new:?}") };
        assert_eq!(entry["action"], action, "{operation}: {entry}");
        assert_eq!(entry["actor"]["id"], admin().id.to_string(), "{operation}: {entry}");
        answer.json
    }

    /// The newest text that the word filter refused.
    async fn refuse(&self, text: &str) -> String {
        self.origin.try_post(&ann(), SUBJECT, &json!({"content": text})).await.expect(422);
        let read = async || {
            let page = self.origin.request("GET /v1/admin/rejected").by(&admin()).send().await.expect(200);
            page["data"][0].clone()
        };
        let kept = poll_until(read, |entry| entry["content"] == text).await;
        id(&kept).to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_by_the_admin_calls_leaves_one_entry() {
    let origin = TestOrigin::start_with(|config| config.webhooks.allow_private = true).await;
    let comment = origin.post(&ann(), SUBJECT, "one").await;
    let another = origin.post(&ann(), SUBJECT, "two").await;
    let (one, two) = (id(&comment), id(&another));
    let mut audited = AuditedOrigin { origin, called: BTreeSet::new() };

    let hide = json!({"action": "hide", "reason": "off topic"});
    let hidden = audited.change("POST /v1/admin/comments/{id}/decision", &[one], &hide, "hide").await;
    let audit = hidden["audit_id"].as_str().expect("its entry").to_owned();
    audited.change("POST /v1/admin/audit/{id}/undo", &[&audit], &json!({}), "undo").await;
    let feature = json!({"ids": [two], "action": "feature"});
    audited.change("POST /v1/admin/decisions", &[], &feature, "feature").await;
    audited.change("POST /v1/admin/comments/{id}/block-network", &[one], &json!({}), "settings").await;
    let rules = json!({"rules": {"blocked": {"hashed_networks": null}}});
    audited.change("PATCH /v1/admin/settings", &[], &rules, "settings").await;

    let line =
        json!({"subject": "article:moved", "id": "1", "author": "Ann", "content": "x", "created_at": 1_600_000_000});
    audited.change("POST /v1/admin/import", &[], &line, "import").await;
    let title = json!({"title": "T"});
    audited.change("PUT /v1/admin/subjects/{type}/{key}", &["article", "audited"], &title, "subject").await;

    let term = |text: &str| json!({"term": text, "category": "ad", "action": "block"});
    audited.change("PUT /v1/admin/words", &[], &json!({"data": [term("casino")]}), "words").await;
    audited.change("PATCH /v1/admin/words", &[], &json!({"add": [term("lotto")]}), "words").await;
    audited.origin.load_terms(&[("casino", TermAction::Block)]).await;
    for (operation, action) in
        [("POST /v1/admin/rejected/{id}/accept", "accept"), ("DELETE /v1/admin/rejected/{id}", "drop")]
    {
        let refused = audited.refuse(&format!("a casino to {action}")).await;
        audited.change(operation, &[&refused], &json!({}), action).await;
    }

    let webhook = json!({"url": "http://127.0.0.1:9/hook", "events": ["comment.created"]});
    let made = audited.change("POST /v1/admin/webhooks", &[], &webhook, "add_webhook").await;
    audited.change("DELETE /v1/admin/webhooks/{id}", &[id(&made)], &json!({}), "remove_webhook").await;

    let [of_ann, of_bob] = [ann(), bob()].map(|member| member.id.to_string());
    audited.change("PUT /v1/admin/members/{id}", &[&of_ann], &json!({"note": "kind"}), "note").await;
    audited.change("DELETE /v1/admin/members/{id}", &[&of_bob], &json!({}), "erase").await;

    let document = audited.origin.get("/openapi.json").await.expect(200);
    let paths = document["paths"].as_object().expect("paths").iter();
    let operations = paths.filter(|(path, _)| path.starts_with("/v1/admin/")).flat_map(|(path, methods)| {
        let changing = methods.as_object().expect("methods").keys().filter(|method| *method != "get");
        changing.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    let expected = audited.called.iter().cloned().chain(UNAUDITED.map(str::to_owned)).collect();
    assert_eq!(operations.collect::<BTreeSet<_>>(), expected);
}
