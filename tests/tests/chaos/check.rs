//! After a round: compares what the cluster shows with the responses that its clients got.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{ApiClient, POLL_TIMEOUT, id, poll_until};
use serde_json::Value;

use crate::chaos_client::{ChaosClient, ChaosRound, RETRY_INTERVAL, parse_reaction};
use crate::chaos_cluster::ChaosCluster;
use crate::oracle::{
    DeletionState, ListedComment, PostOutcome, PostRecord, WalkDifferences, compare, find_denied, find_floor_error,
};

/// How many requests are open at the same time.
const CONCURRENT_REQUESTS: usize = 16;

/// Everything that is wrong after a round.
#[derive(Debug, Default)]
pub(crate) struct RoundFindings {
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
    pub(crate) wrong_states: usize,
    /// 404s for acknowledged comments, also during the fault.
    pub(crate) not_found: usize,
    /// A sentence for each error.
    pub(crate) problems: Vec<String>,
}

impl RoundFindings {
    fn report(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    fn add(&mut self, walk: &str, WalkDifferences { lost, doubled, unexpected }: WalkDifferences) {
        self.lost = self.lost.max(lost.len());
        self.doubled = self.doubled.max(doubled.len());
        for (what, which) in [("lost", lost), ("doubled", doubled), ("unexpected", unexpected)] {
            if !which.is_empty() {
                let first: Vec<_> = which.iter().take(5).collect();
                self.report(format!("{walk}: {} {what}: {first:?}", which.len()));
            }
        }
    }
}

/// Likes and dislikes of a comment.
type CountedReactions = (u64, u64);

/// Compares everything, after the fault has ended and the jobs have caught up. What an origin may still
/// serve from memory is polled.
pub(crate) async fn check_round(
    cluster: &ChaosCluster,
    round: &ChaosRound,
    members: &mut [ChaosClient],
) -> RoundFindings {
    let mut findings = RoundFindings::default();
    // A breaker that the fault has opened refuses for some seconds more.
    let clients = cluster.clients().map(|client| client.repeating_refused_reads());
    // Acknowledged posts are listed before any request is repeated.
    let (_, differences) = poll_walk(&clients[0], round, "old", &posts(members)).await;
    findings.add("before repetitions", differences);
    repeat_unknown(&clients, round, members, &mut findings).await;
    if let Err(problem) = cluster.wait_until_caught_up().await {
        findings.report(problem);
    }
    let posts = posts(members);
    for (client, sort) in clients.iter().cycle().zip(["old", "new", "hot"]) {
        let (_, differences) = poll_walk(client, round, sort, &posts).await;
        findings.add(&format!("by {sort}"), differences);
    }
    let counts = check_reactions(cluster, &clients, members, &mut findings).await;
    let check_comments = async || {
        let mut problems = Vec::new();
        let listed = list_everything(&clients[1], round, "old").await;
        let comments = fetch_unlisted(&clients[1], &listed, &posts, &mut problems).await;
        check_floors(&comments, &mut problems);
        check_counts(&comments, &counts, cluster, &mut problems);
        problems
    };
    findings.problems.extend(poll_until(check_comments, Vec::is_empty).await);
    check_idempotency(cluster, round, members, &mut findings);
    for (arguments, last) in [(&["reconcile"][..], None), (&["dlq", "list"], Some("0 dead letters"))] {
        let output = cluster.run(arguments).await;
        if output.code != Some(0) || last.is_some_and(|last| output.last_line() != last) {
            findings.report(format!(
                "gailou {}: {:?}\n{}{}",
                arguments.join(" "),
                output.code,
                output.stdout,
                output.stderr
            ));
        }
    }
    findings.problems.extend(round.unexplained.lock().expect("no panic").drain(..));
    let denied = find_denied(&posts, &round.not_found.lock().expect("no panic"));
    findings.not_found = denied.len();
    findings.problems.extend(denied);
    findings
}

fn posts(members: &[ChaosClient]) -> Vec<PostRecord> {
    members.iter().flat_map(|member| member.posts.iter().cloned()).collect()
}

fn listed_of(comments: &[Value]) -> Vec<ListedComment> {
    let text = |comment: &Value| comment["content"].as_str().unwrap_or_default().to_owned();
    comments.iter().map(|comment| ListedComment { id: id(comment).to_owned(), text: text(comment) }).collect()
}

/// Walks over all lists until they have every post as expected; the last walk and its differences.
async fn poll_walk(
    client: &ApiClient,
    round: &ChaosRound,
    sort: &str,
    posts: &[PostRecord],
) -> (Vec<Value>, WalkDifferences) {
    let walk = async || {
        let listed = list_everything(client, round, sort).await;
        let differences = compare(posts, &listed_of(&listed));
        (listed, differences)
    };
    poll_until(walk, |(_, differences)| *differences == WalkDifferences::default()).await
}

/// Every listed comment: the roots of each subject and everything below them.
async fn list_everything(client: &ApiClient, round: &ChaosRound, sort: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for subject in &round.subjects {
        let roots = client.walk(&format!("/v1/subjects/{subject}/comments?sort={sort}&limit=100")).await;
        let with_replies: Vec<_> =
            roots.iter().filter(|root| root["replies"] != 0).map(|root| id(root).to_owned()).collect();
        let replies = stream::iter(with_replies).map(|root| async move {
            client.walk(&format!("/v1/comments/{root}/replies?sort={sort}&limit=100")).await
        });
        all.extend(roots);
        all.extend(replies.buffered(CONCURRENT_REQUESTS).collect::<Vec<_>>().await.into_iter().flatten());
    }
    all
}

/// Repeats each post with an unknown outcome, with the same key. A breaker refuses for some seconds after a fault.
async fn repeat_unknown(
    clients: &[ApiClient; 2],
    round: &ChaosRound,
    members: &mut [ChaosClient],
    findings: &mut RoundFindings,
) {
    for member in members {
        for n in 0..member.posts.len() {
            if member.posts[n].outcome != PostOutcome::Unknown {
                continue;
            }
            let mut post = member.posts[n].clone();
            let began = Instant::now();
            while post.outcome == PostOutcome::Unknown && began.elapsed() < POLL_TIMEOUT {
                member.try_post(clients, round, &mut post).await;
                if post.outcome == PostOutcome::Unknown {
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
            if post.outcome == PostOutcome::Unknown {
                findings.report(format!("{} is not accepted without a fault", post.key));
            }
            member.posts[n] = post;
        }
    }
}

/// The listed comments, and each acknowledged comment that is not listed: it must be deleted, or have
/// another id.
async fn fetch_unlisted(
    client: &ApiClient,
    listed: &[Value],
    posts: &[PostRecord],
    problems: &mut Vec<String>,
) -> Vec<Value> {
    let mut comments: BTreeMap<String, Value> =
        listed.iter().map(|comment| (id(comment).to_owned(), comment.clone())).collect();
    let missing = posts.iter().filter_map(|post| match &post.outcome {
        PostOutcome::Acknowledged(id) if !comments.contains_key(id) => Some((post, id.clone())),
        _ => None,
    });
    let missing: Vec<_> = missing.collect();
    let answers = stream::iter(missing)
        .map(|(post, id)| async move { (post, client.request(&format!("GET /v1/comments/{id}")).send().await) });
    for (post, answer) in answers.buffered(CONCURRENT_REQUESTS).collect::<Vec<_>>().await {
        let is_deleted = answer.json["state"] == "deleted";
        let is_expected = answer.status == 200
            && if is_deleted {
                post.deletion != DeletionState::No
            } else {
                answer.json["content"] == post.key.as_str()
            };
        // Without a floor it is no row: it was lost, and only known to have been acknowledged.
        if post.may_be_lost && (answer.status != 200 || answer.json["floor"].is_null()) {
            continue;
        }
        if is_expected {
            comments.insert(id(&answer.json).to_owned(), answer.json);
        } else {
            problems.push(format!("{post:?} is answered {} {}", answer.status, answer.text));
        }
    }
    comments.into_values().collect()
}

/// Checks that floors count from 1 in each list, those of deleted comments included.
fn check_floors(comments: &[Value], problems: &mut Vec<String>) {
    let mut floors_of: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for comment in comments {
        let is_root = comment["root_id"] == comment["id"];
        let list = if is_root { comment["subject"].to_string() } else { comment["root_id"].to_string() };
        match comment["floor"].as_u64() {
            Some(floor) => floors_of.entry(list).or_default().push(floor),
            None => problems.push(format!("no floor: {comment}")),
        }
    }
    for (list, floors) in floors_of {
        if let Some(error) = find_floor_error(&floors) {
            problems.push(format!("{list}: {error}"));
        }
    }
}

/// Checks that each reaction is a possible one; the counts of all reactions by comment. A comment that was published
/// twice has a second id, by which it can be liked and asked for as by its own.
async fn check_reactions(
    cluster: &ChaosCluster,
    clients: &[ApiClient; 2],
    members: &mut [ChaosClient],
    findings: &mut RoundFindings,
) -> BTreeMap<String, CountedReactions> {
    let aliases = cluster.query("SELECT id, comment_id FROM alias_{n}");
    let own_ids: BTreeMap<&str, &str> = aliases.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let mut counted: BTreeMap<String, CountedReactions> = BTreeMap::new();
    for (member, client) in members.iter_mut().zip(clients.iter().cycle()) {
        let asked: Vec<String> = member.reactions.keys().cloned().collect();
        let mut by_own_id: BTreeMap<&str, Vec<(&str, Option<&'static str>)>> = BTreeMap::new();
        for ids in asked.chunks(400) {
            let requested: Vec<&str> = ids.iter().map(String::as_str).collect();
            let overlay = client.overlay(&member.me, &requested).await;
            for id in requested {
                let found = parse_reaction(&overlay["data"][id]["reaction"]);
                by_own_id.entry(own_ids.get(id).copied().unwrap_or(id)).or_default().push((id, found));
            }
        }
        for (own_id, answers) in by_own_id {
            let mut requests = Vec::new();
            let mut is_possible = false;
            for (id, found) in &answers {
                let reactions = member.reactions.get_mut(*id).expect("the key of this request");
                requests.push((reactions.possible().clone(), reactions.requests().to_vec()));
                is_possible |= reactions.resolve(*found);
            }
            if !is_possible || answers.iter().any(|(_, found)| *found != answers[0].1) {
                findings.wrong_states += 1;
                let member = &member.me.id;
                findings.report(format!("{member} has {answers:?} on {own_id}, possible is {requests:?}"));
            }
            let counts = counted.entry(own_id.to_owned()).or_default();
            match answers[0].1 {
                Some("like") => counts.0 += 1,
                Some(_) => counts.1 += 1,
                None => {}
            }
        }
    }
    counted
}

/// Checks that responses and rows count the reactions.
fn check_counts(
    comments: &[Value],
    counted: &BTreeMap<String, CountedReactions>,
    cluster: &ChaosCluster,
    problems: &mut Vec<String>,
) {
    let pair = |a: &str, b: &str| (a.parse().unwrap_or(u64::MAX), b.parse().unwrap_or(u64::MAX));
    let rows: BTreeMap<String, CountedReactions> = cluster
        .query("SELECT id, likes, dislikes FROM comment_{n}")
        .into_iter()
        .map(|row| (row[0].clone(), pair(&row[1], &row[2])))
        .collect();
    for comment in comments {
        let id = id(comment);
        let counted = counted.get(id).copied().unwrap_or_default();
        let row = rows.get(id).copied();
        if row != Some(counted) {
            problems.push(format!("the row of {id} counts {row:?}, its members have {counted:?}"));
        }
        let answer = (comment["likes"].as_u64(), comment["dislikes"].as_u64());
        if answer != (Some(counted.0), Some(counted.1)) && comment["state"] != "deleted" {
            problems.push(format!("the response for {id} counts {answer:?}, its members have {counted:?}"));
        }
    }
}

/// Checks that no key made two rows.
fn check_idempotency(
    cluster: &ChaosCluster,
    round: &ChaosRound,
    members: &[ChaosClient],
    findings: &mut RoundFindings,
) {
    let members: BTreeSet<&str> = members.iter().map(|member| member.me.id.as_str()).collect();
    let rows = cluster.query("SELECT author_id, content FROM comment_{n} JOIN content_{n} USING (id)");
    let mut texts = BTreeSet::new();
    for row in rows.iter().filter(|row| members.contains(row[0].as_str())) {
        if !texts.insert(row[1].as_str()) {
            findings.doubled += 1;
            findings.report(format!("{} has two rows", row[1]));
        }
    }
    if texts.is_empty() {
        findings.report(format!("no rows of {:?}", round.subjects));
    }
}
