//! The client for Rust (`packages/rust`), against an origin and behind a proxy that fails.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use futures_util::future::join_all;
use gailou_client::wire::Comment;
use gailou_client::{
    Client, ClientError, CommentWalk, ListOptions, Member, NewPost, RetryPolicy, Role, Sort, SubjectKey, TokenOptions,
    sign_member_token,
};
use gailou_tests::{TOKEN_SECRET, TestOrigin, ann, bob, comments_path, member};
use serde_json::json;

use crate::fault_proxy::{FaultProxy, ProxyFault};

/// What the client does in every test, but sooner.
const FAST_RETRIES: RetryPolicy = RetryPolicy {
    max_retries: 4,
    first_wait: Duration::from_millis(1),
    max_wait: Duration::from_secs(60),
    attempt_timeout: Duration::from_secs(20),
};

/// A slash and other characters that a path cannot hold.
fn subject() -> SubjectKey {
    SubjectKey::new("article", "client/1 ?").expect("a subject")
}

/// The path of the list of [`subject`].
fn list_path() -> String {
    comments_path("article/client%2F1%20%3F")
}

fn reader(base: &str) -> Client {
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    Client::with_http(base, http).expect("an address").with_retry_policy(FAST_RETRIES)
}

fn sign(secret: &str) -> String {
    let member = Member {
        id: "7".parse().expect("an id"),
        name: "Ann".into(),
        avatar: Some("/ann.png".into()),
        level: 3,
        role: Role::Moderator,
    };
    sign_member_token(secret, &member, &TokenOptions::default()).expect("a token")
}

fn writer(base: &str) -> Client {
    reader(base).with_token(sign(TOKEN_SECRET))
}

async fn contents(mut list: CommentWalk) -> Result<Vec<String>, ClientError> {
    let mut contents = Vec::new();
    while let Some(comment) = list.next().await? {
        contents.push(comment.content);
    }
    Ok(contents)
}

fn oldest_first(page_size: usize) -> ListOptions {
    ListOptions { sort: Sort::Old, page_size }
}

/// Waits until what clients have posted is in the lists: the barrier of an origin covers all that is in the broker when the
/// origin's own client has written something.
async fn wait_until_listed(origin: &TestOrigin) {
    origin.post(&bob(), "article/other", "a write").await;
    origin.wait_until_persisted().await;
}

fn code(error: &ClientError) -> (u16, &str) {
    let problem = error.problem().unwrap_or_else(|| panic!("no refusal: {error:?}"));
    (problem.status, &problem.code)
}

#[tokio::test(flavor = "multi_thread")]
async fn member_of_a_signed_token_is_the_author_and_a_wrong_field_is_named() {
    let origin = TestOrigin::start().await;
    let client = writer(origin.base());
    let comment = client.post(&subject(), &NewPost::new("Hello")).await.expect("a comment");
    let author = comment.author.as_ref().expect("an author");
    assert_eq!((author.id.get(), &*author.name, author.level), (7, "Ann", 3));
    assert_eq!((author.avatar.as_deref(), author.guest), (Some("/ann.png"), false));
    assert_eq!(serde_json::to_value(author.role).expect("a role"), "moderator");
    assert_eq!((comment.subject.key.as_str(), comment.parent_id), (subject().key(), None));

    let reply = client.post(&subject(), &NewPost::reply(comment.id, "Hello yourself")).await.expect("a reply");
    assert_eq!((reply.parent_id, reply.root_id), (Some(comment.id), comment.id));
    wait_until_listed(&origin).await;
    let replies = contents(client.replies(comment.id, ListOptions::default())).await.expect("replies");
    assert_eq!(replies, ["Hello yourself"]);

    let error = client.post(&subject(), &NewPost::new(" ")).await.expect_err("a blank text");
    assert_eq!(code(&error), (400, "invalid_request"));
    let problem = error.problem().expect("a problem");
    let fields: Vec<&str> = problem.errors.iter().map(|error| &*error.field).collect();
    assert!(fields == ["content"] && !problem.detail.is_empty(), "{problem:?}");
    let forged = reader(origin.base()).with_token(sign("another secret of more than 32 bytes"));
    let error = forged.post(&subject(), &NewPost::new("Hello")).await.expect_err("a forged token");
    assert_eq!(code(&error), (401, "token_invalid"));
    let error = reader(origin.base()).post(&subject(), &NewPost::new("Hello")).await.expect_err("no token");
    assert_eq!(code(&error), (401, "token_missing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn list_of_several_pages_is_read_to_its_end_with_every_comment_once() {
    let origin = TestOrigin::start().await;
    let client = reader(origin.base());
    assert_eq!(contents(client.comments(&subject(), ListOptions::default())).await.expect("no comment"), [""; 0]);
    let posted: BTreeSet<String> = (0..230).map(|number| format!("Comment {number}")).collect();
    let author = member(100);
    let post = async |text: &String| {
        let request = origin.request(&format!("POST {}", list_path())).by(&author);
        request.json(&json!({"content": text})).send().await.expect(201);
    };
    for texts in posted.iter().collect::<Vec<_>>().chunks(23) {
        join_all(texts.iter().map(|text| post(text))).await;
    }
    origin.wait_until_persisted().await;
    origin.expire_snapshots();
    for sort in [Sort::Old, Sort::New, Sort::Hot] {
        let options = ListOptions { sort, ..ListOptions::default() };
        let listed = contents(client.comments(&subject(), options)).await.expect("a list");
        assert_eq!((listed.len(), listed.into_iter().collect::<BTreeSet<_>>()), (posted.len(), posted.clone()));
    }
    let stream = client.comments(&subject(), oldest_first(40)).into_stream();
    let listed: Vec<Comment> = stream.try_collect().await.expect("a list");
    let floors: Vec<_> = listed.iter().filter_map(|comment| comment.floor).collect();
    assert_eq!(floors, (1..=230).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_cursor_starts_the_list_again_past_the_caches_without_a_comment_twice() {
    let origin = TestOrigin::start().await;
    let proxy = FaultProxy::start(origin.base()).await;
    let texts: Vec<String> = (0..5).map(|number| format!("Comment {number}")).collect();
    for text in &texts {
        writer(origin.base()).post(&subject(), &NewPost::new(text)).await.expect("a comment");
    }
    wait_until_listed(&origin).await;
    let client = reader(proxy.base());
    let list = || client.comments(&subject(), oldest_first(2));
    let expired = || ProxyFault::Refused(ProxyFault::answer(410, "cursor_expired", ""));

    // The second page breaks and is unavailable before its cursor expires.
    proxy.plan([ProxyFault::Forwarded, ProxyFault::Dropped, ProxyFault::refused(503), expired()]);
    assert_eq!(contents(list()).await.expect("a list"), texts);
    let heads = proxy.heads();
    assert_eq!(heads.len(), 7, "{heads:?}");
    let target = |head: &String| head.lines().next().unwrap_or_default().to_owned();
    assert!(target(&heads[3]).contains("&cursor=") && target(&heads[4]) == target(&heads[0]), "{heads:?}");
    let is_past_caches = |head: &String| head.contains("\r\ncache-control: no-cache");
    assert_eq!(heads.iter().position(is_past_caches), Some(4));
    assert!(heads[4..].iter().all(is_past_caches), "{heads:?}");

    // A list whose cursors always expire ends with the refusal, after three restarts.
    proxy.plan((0..4).flat_map(|_| [ProxyFault::Forwarded, expired()]));
    let mut comments = list();
    let mut read = Vec::new();
    let error = loop {
        match comments.next().await {
            Ok(comment) => read.push(comment.expect("no end").content),
            Err(error) => break error,
        }
    };
    assert_eq!((code(&error), proxy.heads().len()), ((410, "cursor_expired"), 8));
    assert_eq!(read, texts[..2]);

    // A call after one that failed goes on where the list was.
    proxy.plan([ProxyFault::Forwarded, ProxyFault::refused(500)]);
    let mut comments = list();
    let mut read = Vec::new();
    let mut failures = 0;
    loop {
        match comments.next().await {
            Ok(Some(comment)) => read.push(comment.content),
            Ok(None) => break,
            Err(_) => failures += 1,
        }
    }
    assert_eq!((read, failures), (texts, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn post_over_faults_is_one_comment() {
    let origin = TestOrigin::start().await;
    let proxy = FaultProxy::start(origin.base()).await;
    let client = writer(proxy.base());
    let replaced = || ProxyFault::AnswerReplaced(ProxyFault::answer(502, "unavailable", ""));
    let plans = [
        vec![ProxyFault::refused(503), ProxyFault::AnswerLost, ProxyFault::Dropped, replaced()],
        vec![ProxyFault::AnswerCut, ProxyFault::AnswerLost, ProxyFault::refused(504), ProxyFault::refused(429)],
        vec![replaced(), replaced(), ProxyFault::AnswerCut, ProxyFault::Dropped],
    ];
    let mut posted = Vec::new();
    for (number, plan) in plans.into_iter().enumerate() {
        let attempts = plan.len() + 1;
        proxy.plan(plan);
        let comment = client.post(&subject(), &NewPost::new(format!("Comment {number}"))).await.expect("a comment");
        let heads = proxy.heads();
        let keys: BTreeSet<_> = heads.iter().filter_map(|head| head.split("\r\nidempotency-key: ").nth(1)).collect();
        let keys: BTreeSet<_> = keys.iter().filter_map(|rest| rest.lines().next()).collect();
        assert_eq!((heads.len(), keys.len()), (attempts, 1), "{heads:?}");
        posted.push(comment.id);
    }
    // Each call is a comment of its own, unless the caller says which one it repeats.
    let post = NewPost::new("Again");
    for key in ["one", "two", "one", "two"] {
        posted.push(client.post_with_key(&subject(), &post, key).await.expect("a comment").id);
    }
    assert_eq!(posted[3..5], posted[5..]);
    posted.truncate(5);
    wait_until_listed(&origin).await;
    let listed: Vec<Comment> =
        client.comments(&subject(), oldest_first(100)).into_stream().try_collect().await.expect("a list");
    assert_eq!(listed.iter().map(|comment| comment.id).collect::<Vec<_>>(), posted);
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_respect_retry_after_and_end() {
    let origin = TestOrigin::start().await;
    let proxy = FaultProxy::start(origin.base()).await;
    let client = writer(proxy.base());
    let post = async || client.post(&subject(), &NewPost::new("Hello")).await;
    let limited =
        |seconds: u64| ProxyFault::Refused(ProxyFault::answer(429, "rate_limited", &format!("Retry-After: {seconds}")));

    proxy.plan([limited(1)]);
    let began = Instant::now();
    post().await.expect("a comment");
    assert!(began.elapsed() >= Duration::from_secs(1) && proxy.heads().len() == 2, "{:?}", began.elapsed());

    proxy.plan([limited(61)]);
    let error = post().await.expect_err("too long a wait");
    assert_eq!((code(&error), proxy.heads().len()), ((429, "rate_limited"), 1));
    assert!(matches!(error, ClientError::Refused { retry_after, .. } if retry_after.as_secs() == 61), "{error:?}");

    proxy.plan((0..9).map(|_| ProxyFault::refused(503)));
    assert_eq!(code(&post().await.expect_err("no time")), (503, "unavailable"));
    assert_eq!(proxy.heads().len(), 1 + FAST_RETRIES.max_retries);

    proxy.plan((0..9).map(|_| ProxyFault::Dropped));
    assert!(matches!(post().await, Err(ClientError::NoAnswer(_))));
    assert_eq!(proxy.heads().len(), 1 + FAST_RETRIES.max_retries);

    for status in [301, 400, 401, 403, 404, 409, 413, 415, 422, 500] {
        proxy.plan([ProxyFault::refused(status)]);
        assert_eq!(code(&post().await.expect_err("a refusal")).0, status);
        assert_eq!(proxy.heads().len(), 1, "{status}");
    }
    proxy.plan([ProxyFault::Refused("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<h1>".into())]);
    assert!(matches!(post().await, Err(ClientError::Shape(_))));
    // What was refused is not there.
    wait_until_listed(&origin).await;
    assert_eq!(contents(client.comments(&subject(), ListOptions::default())).await.expect("a list"), ["Hello"]);
    assert_eq!(origin.page(&list_path()).await["data"][0]["author"]["id"], ann().id.as_str());
}
