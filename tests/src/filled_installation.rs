//! An installation with something of every kind, and everything that the API says of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    ApiClient, ApiRequest, ApiResponse, TestMember, admin, ann, bob, comments_path, id, ids, member, moderator,
    poll_until, with_cursor,
};

/// Fields that a restored installation may answer otherwise: what grows with every version, what is made for a call, and
/// since when a receiver has not answered.
const CHANGING_FIELDS: [&str; 6] = ["cursor", "epoch", "failing_since", "next", "trace_id", "version"];
/// Comments of a page from which a cursor is taken.
const PAGE_LIMIT: usize = 2;

/// What was written.
#[derive(Debug)]
pub struct FilledInstallation {
    subjects: Vec<String>,
    comments: Vec<String>,
    pictures: Vec<String>,
    members: Vec<TestMember>,
    /// The second page of a ranked list, and the ids on the pages from there on.
    walk: (String, Vec<String>),
}

impl FilledInstallation {
    /// Writes comments of all states, reactions, reports, a picture, words, settings and standings, on the first subject and
    /// a little on the others.
    pub async fn fill(client: &ApiClient, subjects: &[String], picture: &[u8]) -> Self {
        let subject = subjects[0].as_str();
        let words = json!({"add": [
            {"term": "holdme", "category": "ad", "action": "review"},
            {"term": "maskme", "category": "ad", "action": "mask"},
            {"term": "blockme", "category": "ad", "action": "block"},
        ]});
        accepted(client.request("PATCH /v1/admin/words").by(&moderator()).json(&words)).await;
        let settings = json!({"names": {"reserved": ["Chief"]}, "rules": {"report_threshold": 2}});
        accepted(client.request("PATCH /v1/admin/settings").by(&admin()).json(&settings)).await;
        let guest = client.register_guest("Passer-by").await;
        let mut comments = Vec::new();
        let root = client.post(&ann(), subject, "the root").await;
        let mut threads = vec![root.clone()];
        for n in 0..6 {
            threads.push(client.post(&member(20 + n), subject, &format!("root {n}")).await);
        }
        for other in &subjects[1..] {
            threads.push(client.post(&bob(), other, "elsewhere").await);
        }
        let reply = reply(client, &bob(), &root, "a reply").await;
        let masked = client.post(&guest, subject, "you maskme").await;
        let held = publish(client, &bob(), subject, json!({"content": "holdme please"}), 202).await;
        let edited = client.post(&ann(), subject, "first text").await;
        for text in ["second text", "third text"] {
            let line = format!("PATCH /v1/comments/{}", id(&edited));
            accepted(client.request(&line).by(&ann()).json(&json!({"content": text}))).await;
        }
        let held_edit = client.post(&ann(), subject, "shown meanwhile").await;
        let line = format!("PATCH /v1/comments/{}", id(&held_edit));
        accepted(client.request(&line).by(&ann()).json(&json!({"content": "holdme later"}))).await;
        let tombstone = client.post(&bob(), subject, "deleted below").await;
        let below = self::reply(client, &ann(), &tombstone, "a child").await;
        accepted(client.request(&format!("DELETE /v1/comments/{}", id(&tombstone))).by(&bob())).await;
        let [hidden, rejected, featured] = ["hidden", "rejected", "featured"];
        for (text, action) in [(hidden, "hide"), (rejected, "reject"), (featured, "feature")] {
            let comment = client.post(&member(30), subject, text).await;
            let line = format!("POST /v1/admin/comments/{}/decision", id(&comment));
            let body = json!({"action": action, "reason": "because"});
            accepted(client.request(&line).by(&moderator()).json(&body)).await;
            comments.push(comment);
        }
        accepted(client.request(&format!("PUT /v1/comments/{}/pin", id(&threads[1]))).by(&moderator())).await;
        for (n, comment) in threads.iter().enumerate() {
            for by in 0..n as u64 {
                let kind = if by == 3 { "dislike" } else { "like" };
                accepted(client.request(&format!("PUT /v1/comments/{}/{kind}", id(comment))).by(&member(20 + by)))
                    .await;
            }
        }
        for by in [bob(), member(31)] {
            let line = format!("POST /v1/comments/{}/reports", id(&threads[2]));
            accepted(client.request(&line).by(&by).json(&json!({"reason": "spam", "note": "look"}))).await;
        }
        let refused = client.try_post(&member(32), subject, &json!({"content": "blockme"})).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        let media = upload(client, picture).await;
        let shown = publish(client, &ann(), subject, json!({"content": "look", "media": [media["id"]]}), 201).await;
        let standing = json!({"note": "a friend of the house", "friends": ["7"], "level": 9});
        accepted(client.request("PUT /v1/admin/members/8").by(&admin()).json(&standing)).await;
        let titled = json!({"title": "Books", "url": "https://books.example/1", "owner_id": "99"});
        accepted(client.request(&format!("PUT /v1/admin/subjects/{subject}")).by(&admin()).json(&titled)).await;
        accepted(client.request(&format!("PUT /v1/subjects/{subject}/watch")).by(&ann())).await;
        // The last: it is sent nothing that would still be tried.
        let webhook = json!({"url": "https://hooks.example/gailou", "events": ["comment.created"]});
        accepted(client.request("POST /v1/admin/webhooks").by(&admin()).json(&webhook)).await;
        comments.extend(threads);
        comments.extend([reply, masked, held, edited, held_edit, tombstone, below, shown]);
        Self {
            subjects: subjects.to_vec(),
            comments: ids(&comments),
            pictures: vec![media["url"].as_str().expect("an address").to_owned()],
            members: vec![ann(), bob(), guest, member(20), member(30), member(32)],
            walk: (String::new(), vec![]),
        }
    }

    /// Takes a cursor and what it leads to.
    pub async fn begin_walk(&mut self, client: &ApiClient) {
        let path = format!("{}?sort=hot&limit={PAGE_LIMIT}", comments_path(&self.subjects[0]));
        let first = client.page(&path).await;
        let next = with_cursor(&path, first["page"]["next"].as_str().expect("a cursor"));
        let rest = ids(&client.walk(&next).await);
        assert!(rest.len() > PAGE_LIMIT, "{rest:?}");
        self.walk = (next, rest);
    }

    /// Checks that the cursor leads to the same.
    pub async fn check_walk(&self, client: &ApiClient) {
        let (next, rest) = &self.walk;
        assert_eq!(&ids(&client.walk(next).await), rest);
    }

    /// Everything that the API says, by the line of each request, once it says so twice.
    pub async fn read(&self, client: &ApiClient) -> BTreeMap<String, String> {
        let last = std::cell::RefCell::new(BTreeMap::new());
        poll_until(
            || async {
                let now = self.read_once(client).await;
                let is_same = *last.borrow() == now;
                *last.borrow_mut() = now;
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                is_same
            },
            |is_same| *is_same,
        )
        .await;
        last.into_inner()
    }

    async fn read_once(&self, client: &ApiClient) -> BTreeMap<String, String> {
        let mut said = BTreeMap::new();
        for (path, by) in self.questions() {
            let mut request = client.request(&format!("GET {path}"));
            if let Some(by) = &by {
                request = request.by(by);
            }
            let ApiResponse { status, text, mut json, .. } = request.try_send().await.expect("an answer");
            remove_changing_fields(&mut json);
            let body = if json.is_null() { without_addresses(&text, client.base()) } else { json.to_string() };
            let name = by.map_or(path.clone(), |by| format!("{path} by {}", by.name));
            said.insert(name, format!("{status} {body}"));
        }
        said
    }

    fn questions(&self) -> Vec<(String, Option<TestMember>)> {
        let mut all = Vec::new();
        for subject in &self.subjects {
            for path in ["", "/feed.atom", "/search?q=root"] {
                all.push((format!("/v1/subjects/{subject}{path}"), None));
            }
            all.push((format!("/t/{subject}"), None));
            for sort in ["hot", "new", "old", "top", "best", "replies", "controversial"] {
                all.push((format!("{}?sort={sort}", comments_path(subject)), None));
            }
        }
        for comment in &self.comments {
            for list in ["", "/replies?sort=new", "/tree", "/ancestors", "/context"] {
                all.push((format!("/v1/comments/{comment}{list}"), None));
            }
            for list in ["history", "reports"] {
                all.push((format!("/v1/admin/comments/{comment}/{list}"), Some(moderator())));
            }
        }
        all.extend(self.pictures.iter().map(|url| (url.clone(), None)));
        for member in &self.members {
            all.push((format!("/v1/me/overlay?ids={}", self.comments.join(",")), Some(member.clone())));
            for path in ["", "/export", "/notifications", "/watches", "/friends/comments"] {
                all.push((format!("/v1/me{path}"), Some(member.clone())));
            }
            all.push((format!("/v1/members/{}/comments", member.id), None));
            all.push((format!("/v1/admin/members/{}", member.id), Some(admin())));
        }
        let counted: Vec<String> = self.subjects.iter().map(|subject| format!("subject={subject}")).collect();
        all.push((format!("/v1/counts?{}", counted.join("&")), None));
        all.extend(["latest", "latest.atom"].map(|path| (format!("/v1/{path}"), None)));
        for list in ["comments?q=root", "queue", "audit", "rejected", "subjects", "members", "words", "stats?step=day"]
        {
            all.push((format!("/v1/admin/{list}"), Some(moderator())));
        }
        all.extend(["settings", "export", "webhooks"].map(|path| (format!("/v1/admin/{path}"), Some(admin()))));
        all
    }
}

/// A page or a feed without what changes in its addresses: where the server listens, and cursors.
fn without_addresses(text: &str, base: &str) -> String {
    let mut parts = text.split("after=");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| !matches!(c, '"' | '&' | '<')));
    rest.fold(first, |page, part| page + "after=" + part).replace(base, "")
}

fn remove_changing_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !CHANGING_FIELDS.contains(&name.as_str()));
            fields.values_mut().for_each(remove_changing_fields);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_changing_fields),
        _ => {}
    }
}

/// Sends a request until it is accepted: in a cluster a comment may be no row yet.
async fn accepted(request: ApiRequest) -> Value {
    let send = || async { request.try_clone().expect("a body").try_send().await.expect("an answer") };
    let answer = poll_until(send, |answer| answer.status < 300).await;
    assert!(answer.status < 300, "{} {}", answer.status, answer.text);
    answer.json
}

async fn publish(client: &ApiClient, by: &TestMember, subject: &str, body: Value, status: u16) -> Value {
    let line = format!("POST /v1/subjects/{subject}/comments");
    client.request(&line).by(by).json(&body).send().await.expect(status)
}

async fn reply(client: &ApiClient, by: &TestMember, parent: &Value, content: &str) -> Value {
    let subject = &parent["subject"];
    let text = |name: &str| subject[name].as_str().expect("a field of the subject").to_owned();
    let line = format!("POST /v1/subjects/{}/{}/comments", text("type"), text("key"));
    accepted(client.request(&line).by(by).json(&json!({"content": content, "parent_id": parent["id"]}))).await
}

async fn upload(client: &ApiClient, picture: &[u8]) -> Value {
    let boundary = "a-boundary";
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n"
    );
    let body = [head.as_bytes(), picture, format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
    let kind = format!("multipart/form-data; boundary={boundary}");
    let request = client.request("POST /v1/media").by(&ann()).header("content-type", &kind).bytes(body);
    request.send().await.expect(201)
}
