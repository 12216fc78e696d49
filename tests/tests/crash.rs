//! The real program is killed in the middle of its work: what it acknowledged is there, once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{Client, DEADLINE, Program, Who, id, ids, who};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const SUBJECT: &str = "article/crash";
const CLIENTS: u64 = 32;

/// A post that was sent, and the comment it made when the answer arrived.
#[derive(Debug, Clone)]
struct Post {
    key: String,
    body: Value,
    made: Option<String>,
}

/// What one client did and knows.
#[derive(Debug)]
struct Actor {
    me: Who,
    rng: StdRng,
    posts: Vec<Post>,
    /// What it may think of a comment: one state, or two where an answer never came.
    likes: BTreeMap<String, BTreeSet<bool>>,
}

/// Comments to answer and to like: the first fifty that were acknowledged.
type Targets = Arc<Mutex<Vec<String>>>;

async fn send(client: &Client, me: &Who, post: &Post) -> Option<String> {
    let call = client.call(&format!("POST /v1/subjects/{SUBJECT}/comments")).by(me).key(&post.key).json(&post.body);
    let answer = call.attempt().await.ok()?;
    assert_eq!(answer.status, 201, "{}", answer.text);
    Some(id(&answer.json).to_owned())
}

/// Works until the server is gone.
async fn work(client: &Client, actor: &mut Actor, targets: &Targets, round: usize) {
    loop {
        let known = targets.lock().unwrap().clone();
        let target = (!known.is_empty()).then(|| known[actor.rng.random_range(0..known.len())].clone());
        match target {
            Some(target) if actor.rng.random_bool(0.5) => {
                let like = actor.rng.random_bool(0.6);
                let states = actor.likes.entry(target.clone()).or_insert_with(|| [false].into());
                states.insert(like);
                let method = if like { "PUT" } else { "DELETE" };
                let call = client.call(&format!("{method} /v1/comments/{target}/like")).by(&actor.me);
                let Ok(answer) = call.attempt().await else { return };
                assert_eq!(answer.status, 200, "{}", answer.text);
                *states = [like].into();
            }
            target => {
                let key = format!("{round}-{}-{}", actor.me.id, actor.posts.len());
                let parent = target.filter(|_| actor.rng.random_bool(0.9));
                let body = json!({"content": key, "parent_id": parent});
                actor.posts.push(Post { key, body, made: None });
                let post = actor.posts.last_mut().unwrap();
                post.made = send(client, &actor.me, post).await;
                let Some(made) = post.made.clone() else { return };
                let mut targets = targets.lock().unwrap();
                if targets.len() < 50 {
                    targets.push(made);
                }
            }
        }
    }
}

/// Every listed comment, after checking that floors have no gaps and counts are what lists show.
async fn everything(client: &Client) -> Vec<Value> {
    let path = format!("/v1/subjects/{SUBJECT}/comments?sort=old&limit=100");
    let subject = client.page(&path).await["subject"].clone();
    let roots = client.walk(&path).await;
    let threads = stream::iter(roots.clone()).map(|root| async move {
        let replies = client.walk(&format!("/v1/comments/{}/replies?sort=old&limit=100", id(&root))).await;
        let floors: Vec<_> = replies.iter().map(|c| c["floor"].as_u64().unwrap()).collect();
        assert_eq!(floors, (1..=replies.len() as u64).collect::<Vec<_>>(), "under {}", id(&root));
        assert_eq!(root["replies"], replies.len(), "under {}", id(&root));
        for reply in &replies {
            let below = |c: &&Value| c["path"].as_array().unwrap().contains(&reply["id"]) && c["id"] != reply["id"];
            assert_eq!(reply["replies"], replies.iter().filter(below).count(), "{}", id(reply));
        }
        replies
    });
    let replies: Vec<Vec<Value>> = threads.buffered(8).collect().await;
    let floors: Vec<_> = roots.iter().map(|c| c["floor"].as_u64().unwrap()).collect();
    assert_eq!(floors, (1..=roots.len() as u64).collect::<Vec<_>>());
    let all: Vec<_> = roots.iter().cloned().chain(replies.into_iter().flatten()).collect();
    assert_eq!((&subject["roots"], &subject["comments"]), (&json!(roots.len()), &json!(all.len())));
    all
}

async fn check(client: &Client, actors: &mut [Actor], targets: &Targets) {
    // What was acknowledged is there before anything is sent again.
    let before: BTreeSet<_> = ids(&everything(client).await).into_iter().collect();
    for post in actors.iter().flat_map(|a| &a.posts).filter(|p| p.made.is_some()) {
        assert!(before.contains(post.made.as_ref().unwrap()), "acknowledged and lost: {post:?}");
    }
    // Sent again with the same key, the unknown ones are there once.
    for actor in actors.iter_mut() {
        for post in actor.posts.iter_mut().filter(|p| p.made.is_none()) {
            post.made = Some(send(client, &actor.me, post).await.expect("the server is there"));
        }
    }
    // A page may stay in memory for a moment.
    let total = actors.iter().map(|a| a.posts.len()).sum::<usize>();
    gailou_tests::until(|| client.page("/v1/subjects/article/crash"), |s| s["comments"] == total).await;
    let all = everything(client).await;
    let made: BTreeMap<&str, &Value> = all.iter().map(|c| (id(c), c)).collect();
    assert_eq!(made.len(), all.len(), "some comments are listed twice");
    let texts: BTreeSet<_> = all.iter().map(|c| c["content"].as_str().unwrap()).collect();
    assert_eq!((texts.len(), all.len()), (total, total), "a request was carried out twice, or never");
    for post in actors.iter().flat_map(|a| &a.posts) {
        let comment = made[post.made.as_ref().unwrap().as_str()];
        assert_eq!((&comment["content"], &comment["parent_id"]), (&post.body["content"], &post.body["parent_id"]));
    }
    // Likes are what was acknowledged last, and counted.
    let targets = targets.lock().unwrap().clone();
    let mut likes: BTreeMap<String, u64> = BTreeMap::new();
    for actor in actors.iter_mut() {
        let call = client.call(&format!("GET /v1/me/overlay?ids={}", targets.join(","))).by(&actor.me);
        let overlay = call.send().await.expect(200);
        for target in &targets {
            let thinks = overlay["data"][target]["reaction"] == "like";
            let may = actor.likes.entry(target.clone()).or_insert_with(|| [false].into());
            assert!(may.contains(&thinks), "{} on {target}: {thinks}, may be {may:?}", actor.me.id);
            *may = [thinks].into();
            *likes.entry(target.clone()).or_default() += u64::from(thinks);
        }
    }
    for (target, likes) in likes {
        assert_eq!(made[target.as_str()]["likes"], likes, "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_nothing_is_doubled() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let targets = Targets::default();
    let actor = |n| Actor {
        me: who(1_000 + n, "M", "member"),
        rng: StdRng::seed_from_u64(n),
        posts: vec![],
        likes: BTreeMap::new(),
    };
    let mut actors: Vec<Actor> = (0..CLIENTS).map(actor).collect();
    for round in 0..3 {
        let server = Program::start(&data).await;
        let client = (*server).clone();
        let moment = Duration::from_millis(rand::rng().random_range(200..1_200));
        let killed = async {
            tokio::time::sleep(moment).await;
            server.kill();
        };
        tokio::join!(killed, join_all(actors.iter_mut().map(|actor| work(&client, actor, &targets, round))));
        let server = Program::start(&data).await;
        check(&server, &mut actors, &targets).await;
        server.kill();
    }
    let total = actors.iter().map(|a| a.posts.len()).sum::<usize>();
    assert!(total > 100, "only {total} posts: this proves little");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_what_is_in_flight() {
    let directory = tempfile::tempdir().unwrap();
    let server = Program::start(directory.path()).await;
    let ann = who(7, "Ann", "member");
    // An idle connection must not hold it up.
    server.post(&ann, SUBJECT, "before").await;
    let mut stream = TcpStream::connect(server.base().trim_start_matches("http://")).await.unwrap();
    let body = json!({"content": "in flight"}).to_string();
    let head = format!(
        "POST /v1/subjects/{SUBJECT}/comments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nExpect: 100-continue\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        ann.token,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut goes_on = [0; 25];
    timeout(DEADLINE, stream.read_exact(&mut goes_on)).await.unwrap().unwrap();
    assert_eq!(&goes_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.terminate();
    // It takes no one new, once the signal has arrived.
    let refused = async || TcpStream::connect(server.base().trim_start_matches("http://")).await.is_err();
    assert!(gailou_tests::until(refused, |refused| *refused).await);
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert_eq!(server.ended().await, Some(0));

    let server = Program::start(directory.path()).await;
    let all = server.walk(&format!("/v1/subjects/{SUBJECT}/comments?sort=old")).await;
    assert_eq!(all.iter().map(|c| &c["content"]).collect::<Vec<_>>(), ["before", "in flight"]);
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
}
