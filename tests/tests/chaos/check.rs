//! After a round: what the cluster shows against what its clients were told.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{Client, id};
use serde_json::Value;

use crate::fleet::Fleet;
use crate::load::{Actor, Round, reaction};
use crate::oracle::{Deleted, Fate, Post, Shown, Verdict, judge, wrong_floors};

/// Calls at the same time.
const AT_ONCE: usize = 16;

/// What a round has shown to be wrong.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
    pub(crate) wrong_states: usize,
    /// Everything that is wrong, in words.
    pub(crate) problems: Vec<String>,
}

impl Findings {
    fn say(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    fn take(&mut self, at: &str, Verdict { lost, doubled, strange }: Verdict) {
        self.lost = self.lost.max(lost.len());
        self.doubled = self.doubled.max(doubled.len());
        for (what, which) in [("lost", lost), ("doubled", doubled), ("not to be there", strange)] {
            if !which.is_empty() {
                let first: Vec<_> = which.iter().take(5).collect();
                self.say(format!("{at}: {} {what}: {first:?}", which.len()));
            }
        }
    }
}

/// Everything that can be compared, when all is healed and written.
pub(crate) async fn check(fleet: &Fleet, round: &Round, actors: &mut [Actor]) -> Findings {
    let mut findings = Findings::default();
    let clients = fleet.clients();
    // What was acknowledged is there before anything is sent again.
    let shown = everything(&clients[0], round, "old").await;
    findings.take("before", judge(&posts(actors), &shown_of(&shown)));
    send_again(&clients, round, actors, &mut findings).await;
    if let Err(problem) = fleet.caught_up().await {
        findings.say(problem);
    }
    let mut listed = Vec::new();
    for (client, sort) in clients.iter().cycle().zip(["old", "new", "hot"]) {
        listed = everything(client, round, sort).await;
        findings.take(&format!("by {sort}"), judge(&posts(actors), &shown_of(&listed)));
    }
    let comments = by_id(&clients[1], &listed, &posts(actors), &mut findings).await;
    floors(&comments, &mut findings);
    reactions(&clients, actors, &comments, fleet, &mut findings).await;
    idempotency(fleet, round, actors, &mut findings);
    for (arguments, last) in [(&["reconcile"][..], None), (&["dlq", "list"], Some("0 dead letters"))] {
        let ran = fleet.command(arguments).await;
        if ran.code != Some(0) || last.is_some_and(|last| ran.last() != last) {
            findings.say(format!("gailou {}: {:?}\n{}{}", arguments.join(" "), ran.code, ran.out, ran.err));
        }
    }
    findings.problems.extend(round.strange.lock().expect("nobody panicked").drain(..));
    findings
}

fn posts(actors: &[Actor]) -> Vec<Post> {
    actors.iter().flat_map(|actor| actor.posts.iter().cloned()).collect()
}

fn shown_of(comments: &[Value]) -> Vec<Shown> {
    let text = |comment: &Value| comment["content"].as_str().unwrap_or_default().to_owned();
    comments.iter().map(|comment| Shown { id: id(comment).to_owned(), text: text(comment) }).collect()
}

/// Every comment that lists show: roots of each subject, and what stands under each root.
async fn everything(client: &Client, round: &Round, sort: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for subject in &round.subjects {
        let roots = client.walk(&format!("/v1/subjects/{subject}/comments?sort={sort}&limit=100")).await;
        let answered: Vec<_> =
            roots.iter().filter(|root| root["replies"] != 0).map(|root| id(root).to_owned()).collect();
        let replies = stream::iter(answered).map(|root| async move {
            client.walk(&format!("/v1/comments/{root}/replies?sort={sort}&limit=100")).await
        });
        all.extend(roots);
        all.extend(replies.buffered(AT_ONCE).collect::<Vec<_>>().await.into_iter().flatten());
    }
    all
}

/// Sent again with the same key, what was unknown is there once.
async fn send_again(clients: &[Client; 2], round: &Round, actors: &mut [Actor], findings: &mut Findings) {
    for actor in actors {
        for n in 0..actor.posts.len() {
            if actor.posts[n].fate != Fate::Unknown {
                continue;
            }
            let mut post = actor.posts[n].clone();
            actor.try_post(clients, round, &mut post).await;
            if post.fate == Fate::Unknown {
                findings.say(format!("{} is not taken although all is well", post.key));
            }
            actor.posts[n] = post;
        }
    }
}

/// Every acknowledged comment by its id: listed, or deleted, or known by another id.
async fn by_id(client: &Client, listed: &[Value], posts: &[Post], findings: &mut Findings) -> Vec<Value> {
    let mut comments: BTreeMap<String, Value> =
        listed.iter().map(|comment| (id(comment).to_owned(), comment.clone())).collect();
    let missing = posts.iter().filter_map(|post| match &post.fate {
        Fate::Made(id) if !comments.contains_key(id) => Some((post, id.clone())),
        _ => None,
    });
    let missing: Vec<_> = missing.collect();
    let answers = stream::iter(missing)
        .map(|(post, id)| async move { (post, client.call(&format!("GET /v1/comments/{id}")).send().await) });
    for (post, answer) in answers.buffered(AT_ONCE).collect::<Vec<_>>().await {
        let is_deleted = answer.json["state"] == "deleted";
        let right = answer.status == 200
            && if is_deleted { post.deleted != Deleted::No } else { answer.json["content"] == post.key.as_str() };
        if right {
            comments.insert(id(&answer.json).to_owned(), answer.json);
        } else {
            findings.say(format!("{post:?} is answered {} {}", answer.status, answer.text));
        }
    }
    comments.into_values().collect()
}

/// Floors count from 1 in each list, with those of deleted comments.
fn floors(comments: &[Value], findings: &mut Findings) {
    let mut given: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for comment in comments {
        let is_root = comment["root_id"] == comment["id"];
        let list = if is_root { comment["subject"].to_string() } else { comment["root_id"].to_string() };
        match comment["floor"].as_u64() {
            Some(floor) => given.entry(list).or_default().push(floor),
            None => findings.say(format!("no floor: {comment}")),
        }
    }
    for (list, floors) in given {
        if let Some(wrong) = wrong_floors(&floors) {
            findings.say(format!("{list}: {wrong}"));
        }
    }
}

/// What members think is what they were told last; answers and rows count it right.
async fn reactions(
    clients: &[Client; 2],
    actors: &mut [Actor],
    comments: &[Value],
    fleet: &Fleet,
    findings: &mut Findings,
) {
    let mut counted: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (actor, client) in actors.iter_mut().zip(clients.iter().cycle()) {
        let asked: Vec<String> = actor.thoughts.keys().cloned().collect();
        for ids in asked.chunks(400) {
            let path = format!("GET /v1/me/overlay?ids={}", ids.join(","));
            let overlay = client.call(&path).by(&actor.me).send().await.expect(200);
            for id in ids {
                let found = reaction(&overlay["data"][id]["reaction"]);
                let thought = actor.thoughts.get_mut(id).expect("it was asked for");
                let may = thought.may().clone();
                if !thought.found(found) {
                    findings.wrong_states += 1;
                    findings.say(format!("{} thinks {found:?} of {id}, may think {may:?}", actor.me.id));
                }
                let counts = counted.entry(id.clone()).or_default();
                match found {
                    Some("like") => counts.0 += 1,
                    Some(_) => counts.1 += 1,
                    None => {}
                }
            }
        }
    }
    let pair = |a: &str, b: &str| (a.parse().unwrap_or(u64::MAX), b.parse().unwrap_or(u64::MAX));
    let rows: BTreeMap<String, (u64, u64)> = fleet
        .rows("SELECT id, likes, dislikes FROM comment_{n}")
        .into_iter()
        .map(|row| (row[0].clone(), pair(&row[1], &row[2])))
        .collect();
    for comment in comments {
        let id = id(comment);
        let counted = counted.get(id).copied().unwrap_or_default();
        let row = rows.get(id).copied();
        if row != Some(counted) {
            findings.say(format!("the row of {id} counts {row:?}, its members {counted:?}"));
        }
        let answer = (comment["likes"].as_u64(), comment["dislikes"].as_u64());
        if answer != (Some(counted.0), Some(counted.1)) && comment["state"] != "deleted" {
            findings.say(format!("{id} is answered with {answer:?}, its members count {counted:?}"));
        }
    }
}

/// No key made two comments.
fn idempotency(fleet: &Fleet, round: &Round, actors: &[Actor], findings: &mut Findings) {
    let members: BTreeSet<&str> = actors.iter().map(|actor| actor.me.id.as_str()).collect();
    let rows = fleet.rows("SELECT author_id, content FROM comment_{n} JOIN content_{n} USING (id)");
    let mut texts = BTreeSet::new();
    for row in rows.iter().filter(|row| members.contains(row[0].as_str())) {
        if !texts.insert(row[1].as_str()) {
            findings.doubled += 1;
            findings.say(format!("{} has two rows", row[1]));
        }
    }
    if texts.is_empty() {
        findings.say(format!("no rows of {:?}", round.subjects));
    }
}
