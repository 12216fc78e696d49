//! The program is killed or stopped while it writes: every acknowledged write is there exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{
    ApiClient, GailouProcess, POLL_TIMEOUT, TestMember, ann, assert_floors_have_no_gap, comments_path, id, ids, member,
    poll_until,
};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const TEST_SUBJECT: &str = "article/crash";
const CLIENT_COUNT: u64 = 32;
/// How often the server is killed.
const KILL_COUNT: usize = 3;
/// Comments that get replies and likes.
const MAX_TARGETS: usize = 50;
/// The posts after which the test means something.
const MIN_POSTS: usize = 100;

/// A post that was sent, and the id of its comment if the response arrived.
#[derive(Debug, Clone)]
struct SentPost {
    key: String,
    body: Value,
    acknowledged_id: Option<String>,
}

/// One member, with everything that it has sent.
#[derive(Debug)]
struct WritingMember {
    me: TestMember,
    rng: StdRng,
    posts: Vec<SentPost>,
    /// Whether it likes a comment: one possible state, or two after a request without a response.
    likes: BTreeMap<String, BTreeSet<bool>>,
}

/// Comments to reply to and to like: the first [`MAX_TARGETS`] that were acknowledged.
type Targets = Arc<Mutex<Vec<String>>>;

async fn send(client: &ApiClient, me: &TestMember, post: &SentPost) -> Option<String> {
    let request = client.request(&format!("POST {}", comments_path(TEST_SUBJECT))).by(me).idempotency_key(&post.key);
    let answer = request.json(&post.body).try_send().await.ok()?;
    assert_eq!(answer.status, 201, "{}", answer.text);
    Some(id(&answer.json).to_owned())
}

/// Writes until the server is gone.
async fn write_until_killed(client: &ApiClient, member: &mut WritingMember, targets: &Targets, round: usize) {
    loop {
        let known = targets.lock().unwrap().clone();
        let target = (!known.is_empty()).then(|| known[member.rng.random_range(0..known.len())].clone());
        match target {
            Some(target) if member.rng.random_bool(0.5) => {
                let like = member.rng.random_bool(0.6);
                let states = member.likes.entry(target.clone()).or_insert_with(|| [false].into());
                states.insert(like);
                let method = if like { "PUT" } else { "DELETE" };
                let call = client.request(&format!("{method} /v1/comments/{target}/like")).by(&member.me);
                let Ok(answer) = call.try_send().await else { return };
                assert_eq!(answer.status, 200, "{}", answer.text);
                *states = [like].into();
            }
            target => {
                let key = format!("{round}-{}-{}", member.me.id, member.posts.len());
                let parent = target.filter(|_| member.rng.random_bool(0.9));
                let body = json!({"content": key, "parent_id": parent});
                member.posts.push(SentPost { key, body, acknowledged_id: None });
                let post = member.posts.last_mut().unwrap();
                post.acknowledged_id = send(client, &member.me, post).await;
                let Some(id) = post.acknowledged_id.clone() else { return };
                let mut targets = targets.lock().unwrap();
                if targets.len() < MAX_TARGETS {
                    targets.push(id);
                }
            }
        }
    }
}

/// Every listed comment, after a check of floors and counts.
async fn list_everything(client: &ApiClient) -> Vec<Value> {
    let path = format!("{}?sort=old&limit=100", comments_path(TEST_SUBJECT));
    let subject = client.page(&path).await["subject"].clone();
    let roots = client.walk(&path).await;
    let threads = stream::iter(roots.clone()).map(|root| async move {
        let replies = client.walk(&format!("/v1/comments/{}/replies?sort=old&limit=100", id(&root))).await;
        assert_floors_have_no_gap(id(&root), &replies);
        assert_eq!(root["replies"], replies.len(), "below {}", id(&root));
        for reply in &replies {
            let below = |c: &&Value| c["path"].as_array().unwrap().contains(&reply["id"]) && c["id"] != reply["id"];
            assert_eq!(reply["replies"], replies.iter().filter(below).count(), "{}", id(reply));
        }
        replies
    });
    let replies: Vec<Vec<Value>> = threads.buffered(8).collect().await;
    assert_floors_have_no_gap("the roots", &roots);
    let all: Vec<_> = roots.iter().cloned().chain(replies.into_iter().flatten()).collect();
    assert_eq!((&subject["roots"], &subject["comments"]), (&json!(roots.len()), &json!(all.len())));
    all
}

async fn check(client: &ApiClient, members: &mut [WritingMember], targets: &Targets) {
    // Acknowledged posts are listed before any request is repeated.
    let before: BTreeSet<_> = ids(&list_everything(client).await).into_iter().collect();
    for post in members.iter().flat_map(|a| &a.posts).filter(|p| p.acknowledged_id.is_some()) {
        assert!(before.contains(post.acknowledged_id.as_ref().unwrap()), "lost after its acknowledgement: {post:?}");
    }
    // A repetition with the same key decides the posts without a response.
    for member in members.iter_mut() {
        for post in member.posts.iter_mut().filter(|p| p.acknowledged_id.is_none()) {
            post.acknowledged_id = Some(send(client, &member.me, post).await.expect("a response"));
        }
    }
    // A page may stay in memory for a quarter of a second.
    let total = members.iter().map(|a| a.posts.len()).sum::<usize>();
    poll_until(|| client.page("/v1/subjects/article/crash"), |s| s["comments"] == total).await;
    let all = list_everything(client).await;
    let by_id: BTreeMap<&str, &Value> = all.iter().map(|c| (id(c), c)).collect();
    assert_eq!(by_id.len(), all.len(), "some comments are listed twice");
    let texts: BTreeSet<_> = all.iter().map(|c| c["content"].as_str().unwrap()).collect();
    assert_eq!((texts.len(), all.len()), (total, total), "a request was executed twice, or never");
    for post in members.iter().flat_map(|a| &a.posts) {
        let comment = by_id[post.acknowledged_id.as_ref().unwrap().as_str()];
        assert_eq!((&comment["content"], &comment["parent_id"]), (&post.body["content"], &post.body["parent_id"]));
    }
    // Each like is what was acknowledged last, and is counted.
    let targets = targets.lock().unwrap().clone();
    let mut likes: BTreeMap<String, u64> = BTreeMap::new();
    for member in members.iter_mut() {
        let ids: Vec<&str> = targets.iter().map(String::as_str).collect();
        let overlay = client.overlay(&member.me, &ids).await;
        for target in &targets {
            let likes_it = overlay["data"][target]["reaction"] == "like";
            let may = member.likes.entry(target.clone()).or_insert_with(|| [false].into());
            assert!(may.contains(&likes_it), "{} on {target}: {likes_it}, may be {may:?}", member.me.id);
            *may = [likes_it].into();
            *likes.entry(target.clone()).or_default() += u64::from(likes_it);
        }
    }
    for (target, likes) in likes {
        assert_eq!(by_id[target.as_str()]["likes"], likes, "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_kill_9_exactly_once() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let targets = Targets::default();
    let new_member = |n| WritingMember {
        me: member(1_000 + n),
        rng: StdRng::seed_from_u64(n),
        posts: vec![],
        likes: BTreeMap::new(),
    };
    let mut members: Vec<WritingMember> = (0..CLIENT_COUNT).map(new_member).collect();
    for round in 0..KILL_COUNT {
        let server = GailouProcess::start(&data).await;
        let client = (*server).clone();
        // A random moment of the work of 32 clients.
        let moment = Duration::from_millis(rand::rng().random_range(200..1_200));
        let killed = async {
            tokio::time::sleep(moment).await;
            server.kill();
        };
        tokio::join!(
            killed,
            join_all(members.iter_mut().map(|member| write_until_killed(&client, member, &targets, round)))
        );
        let server = GailouProcess::start(&data).await;
        check(&server, &mut members, &targets).await;
        server.kill();
    }
    let total = members.iter().map(|a| a.posts.len()).sum::<usize>();
    assert!(total > MIN_POSTS, "only {total} posts: this proves too little");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_waits_for_requests_in_flight_and_accepts_no_new_ones() {
    let directory = tempfile::tempdir().unwrap();
    let server = GailouProcess::start(directory.path()).await;
    let ann = ann();
    // The idle connection of this request must not delay the stop.
    server.post(&ann, TEST_SUBJECT, "before").await;
    let mut stream = TcpStream::connect(server.base().trim_start_matches("http://")).await.unwrap();
    let body = json!({"content": "in flight"}).to_string();
    let head = format!(
        "POST /v1/subjects/{TEST_SUBJECT}/comments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nExpect: 100-continue\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        ann.token,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut interim_response = [0; 25];
    timeout(POLL_TIMEOUT, stream.read_exact(&mut interim_response)).await.unwrap().unwrap();
    assert_eq!(&interim_response, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.terminate();
    // After the signal it accepts no connection.
    let refused = async || TcpStream::connect(server.base().trim_start_matches("http://")).await.is_err();
    assert!(poll_until(refused, |refused| *refused).await);
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(POLL_TIMEOUT, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert_eq!(server.wait_for_exit().await, Some(0));

    let server = GailouProcess::start(directory.path()).await;
    let all = server.walk(&format!("/v1/subjects/{TEST_SUBJECT}/comments?sort=old")).await;
    assert_eq!(all.iter().map(|c| &c["content"]).collect::<Vec<_>>(), ["before", "in flight"]);
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
}
