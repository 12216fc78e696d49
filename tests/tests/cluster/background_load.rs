//! Members who post, reply, like and read while a test does something to the cluster.
//!
//! A write without an acknowledgement is repeated with the same key until it has one. Afterwards the
//! expected state is known exactly, and [`BackgroundLoad::check`] compares it with what is listed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_tests::{ApiClient, ApiRequest, ApiResponse, comments_path, id, member, poll_until, replies_path};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

/// The time after which a write that is repeated counts as lost.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// How old the counts of a page may be, beside what its build takes: a page is kept for 250 ms, and what it is built of, too.
const MAX_AGE_OF_COUNTS: Duration = Duration::from_millis(600);
/// The pause before a write is repeated.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// The writes after which a check means something.
const MIN_WRITES: u64 = 50;

/// A comment that was acknowledged.
#[derive(Debug, Clone)]
struct PostedComment {
    id: String,
    text: String,
    subject: usize,
    root: Option<String>,
    acknowledged_at: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct BackgroundLoad {
    subjects: Vec<String>,
    /// Whether every read must succeed, with no count below what was acknowledged before.
    checks_reads: bool,
    stop: AtomicBool,
    acknowledged_writes: AtomicU64,
    posted: Mutex<Vec<PostedComment>>,
    /// The times at which the likes of each comment were acknowledged.
    likes: Mutex<BTreeMap<String, Vec<Instant>>>,
    /// The longest time that a read took: so long the build of a page may have taken that others are answered with.
    slowest_read: Mutex<Duration>,
    /// For each subject the time of the last acknowledged like, and the longest time without one.
    pauses: Mutex<Vec<(Option<Instant>, Duration)>>,
    problems: Mutex<Vec<String>>,
}

impl BackgroundLoad {
    pub(crate) fn new(subjects: Vec<String>) -> Self {
        let pauses = Mutex::new(vec![(None, Duration::ZERO); subjects.len()]);
        Self { subjects, pauses, ..Self::default() }
    }

    /// The same load, which checks its reads as well.
    pub(crate) fn checking_reads(self) -> Self {
        Self { checks_reads: true, ..self }
    }

    /// Runs `meanwhile` under the load of so many members, who complete their last request after it.
    pub(crate) async fn run_during<T>(
        &self,
        clients: &[ApiClient],
        members: u64,
        meanwhile: impl Future<Output = T>,
    ) -> T {
        self.stop.store(false, Ordering::SeqCst);
        let work = join_all((0..members).map(|member| self.work(clients, member)));
        let meanwhile = async {
            let outcome = meanwhile.await;
            self.stop.store(true, Ordering::SeqCst);
            outcome
        };
        tokio::join!(meanwhile, work).0
    }

    fn report(&self, problem: String) {
        self.problems.lock().expect("no panic").push(problem);
    }

    fn random_comment(&self, rng: &mut StdRng) -> Option<PostedComment> {
        self.posted.lock().expect("no panic").choose(rng).cloned()
    }

    /// How many likes of a comment were acknowledged at least `min_age` ago.
    fn acknowledged_likes(&self, id: &str, min_age: Duration) -> u64 {
        let likes = self.likes.lock().expect("no panic");
        likes.get(id).map_or(0, |likes| likes.iter().filter(|at| at.elapsed() >= min_age).count() as u64)
    }

    /// Waits until the members have made so many more writes.
    pub(crate) async fn wait_for_writes(&self, count: u64) {
        let target = self.acknowledged_writes.load(Ordering::SeqCst) + count;
        let written = poll_until(async || self.acknowledged_writes.load(Ordering::SeqCst), |n| *n >= target).await;
        assert!(written >= target, "{written} of {target} writes were acknowledged");
    }

    /// The longest time without an acknowledged like in one of the subjects, since the last call.
    pub(crate) fn take_longest_pause(&self) -> Duration {
        let mut pauses = self.pauses.lock().expect("no panic");
        let longest = pauses.iter().map(|(_, longest)| *longest).max().unwrap_or_default();
        pauses.fill((Some(Instant::now()), Duration::ZERO));
        longest
    }

    fn note_like(&self, subject: usize) {
        let (last, longest) = &mut self.pauses.lock().expect("no panic")[subject];
        let now = Instant::now();
        *longest = last.map_or(*longest, |last| (now - last).max(*longest));
        *last = Some(now);
    }

    async fn work(&self, clients: &[ApiClient], member: u64) {
        let mut rng = StdRng::seed_from_u64(member);
        let mut number = 0;
        while !self.stop.load(Ordering::SeqCst) {
            number += 1;
            let client = clients.choose(&mut rng).expect("one");
            match (rng.random_range(0..100), self.random_comment(&mut rng)) {
                (0..35, target) => self.post(clients, &mut rng, member, number, target).await,
                (35..80, Some(target)) => {
                    self.like(clients, &mut rng, &target, 1_000_000 * (member + 1) + number).await
                }
                (_, Some(target)) => self.read(client, &target).await,
                (_, None) => self.post(clients, &mut rng, member, number, None).await,
            }
        }
    }

    async fn post(
        &self,
        clients: &[ApiClient],
        rng: &mut StdRng,
        author: u64,
        number: u64,
        target: Option<PostedComment>,
    ) {
        let me = member(1_000 + author);
        let parent = target.filter(|_| rng.random_bool(0.5));
        let subject = parent.as_ref().map_or_else(|| rng.random_range(0..self.subjects.len()), |parent| parent.subject);
        let text = format!("{author}-{number}");
        let body = json!({"content": text, "parent_id": parent.as_ref().map(|parent| &parent.id)});
        let line = format!("POST {}", comments_path(&self.subjects[subject]));
        let send = |client: &ApiClient| client.request(&line).by(&me).idempotency_key(&text).json(&body);
        let Some(response) = self.send_until_acknowledged(clients, rng, parent.as_ref(), send).await else { return };
        let root = parent.map(|parent| parent.root.unwrap_or(parent.id));
        let acknowledged_at = Instant::now();
        let comment = PostedComment { id: id(&response.json).to_owned(), text, subject, root, acknowledged_at };
        self.posted.lock().expect("no panic").push(comment);
    }

    /// Likes the comment as a member who has liked nothing before.
    async fn like(&self, clients: &[ApiClient], rng: &mut StdRng, target: &PostedComment, member_id: u64) {
        let me = member(member_id);
        let line = format!("PUT /v1/comments/{}/like", target.id);
        let before = self.acknowledged_likes(&target.id, Duration::ZERO);
        let send = |client: &ApiClient| client.request(&line).by(&me);
        let Some(response) = self.send_until_acknowledged(clients, rng, Some(target), send).await else { return };
        if response.json["reaction"] != "like" || response.json["likes"].as_u64() < Some(before + 1) {
            self.report(format!("a like after {before} acknowledged ones was answered {}", response.text));
        }
        self.likes.lock().expect("no panic").entry(target.id.clone()).or_default().push(Instant::now());
        self.note_like(target.subject);
        if self.checks_reads {
            let overlay = clients[0].request(&format!("GET /v1/me/overlay?ids={}", target.id)).by(&me).try_send().await;
            let reaction = overlay.as_ref().map(|overlay| &overlay.json["data"][&target.id]["reaction"]);
            if !matches!(reaction, Ok(reaction) if *reaction == "like") {
                self.report(format!("after the like of {member_id} the overlay of {} is {overlay:?}", target.id));
            }
        }
    }

    async fn read(&self, client: &ApiClient, target: &PostedComment) {
        let path = format!("GET /v1/comments/{}", target.id);
        let list = format!("GET /v1/subjects/{}/comments?sort=new&limit=20", self.subjects[target.subject]);
        let started = Instant::now();
        let (comment, list) = tokio::join!(client.request(&path).try_send(), client.request(&list).try_send());
        if !self.checks_reads {
            return;
        }
        let took = started.elapsed();
        let slowest = {
            let mut slowest = self.slowest_read.lock().expect("no panic");
            *slowest = took.max(*slowest);
            *slowest
        };
        let before = self.acknowledged_likes(&target.id, took + MAX_AGE_OF_COUNTS + slowest);
        match (comment, list) {
            (Ok(comment), Ok(list)) if (comment.status, list.status) == (200, 200) => {
                if comment.json["likes"].as_u64() < Some(before) {
                    self.report(format!("{before} likes were acknowledged, but it is {}", comment.text));
                }
            }
            failed => self.report(format!("a read failed: {failed:?}")),
        }
    }

    /// Repeats the request until it is acknowledged.
    async fn send_until_acknowledged(
        &self,
        clients: &[ApiClient],
        rng: &mut StdRng,
        target: Option<&PostedComment>,
        request: impl Fn(&ApiClient) -> ApiRequest,
    ) -> Option<ApiResponse> {
        let started = Instant::now();
        loop {
            let problem = match request(clients.choose(rng).expect("a client")).try_send().await {
                Ok(response) if response.status < 300 => {
                    self.acknowledged_writes.fetch_add(1, Ordering::SeqCst);
                    return Some(response);
                }
                Ok(response) if response.status != 503 => {
                    let age = target.map(|comment| comment.acknowledged_at.elapsed());
                    let took = started.elapsed();
                    self.report(format!("refused after {took:?}, its target is {age:?} old: {}", response.text));
                    return None;
                }
                Ok(response) => response.text,
                Err(error) => error.to_string(),
            };
            if started.elapsed() > ACKNOWLEDGEMENT_TIMEOUT {
                self.report(format!("not acknowledged after {ACKNOWLEDGEMENT_TIMEOUT:?}: {problem}"));
                return None;
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Checks that everything acknowledged is listed once, with the right counts, and that floors
    /// have no gaps.
    pub(crate) async fn check(&self, client: &ApiClient) {
        let differences = poll_until(|| self.find_differences(client), Vec::is_empty).await;
        let problems = std::mem::take(&mut *self.problems.lock().expect("no panic"));
        let all: Vec<String> = problems.into_iter().chain(differences).collect();
        let first: Vec<&String> = all.iter().take(10).collect();
        assert!(all.is_empty(), "{} problems: {first:#?}", all.len());
        let writes = self.acknowledged_writes.load(Ordering::SeqCst);
        assert!(writes > MIN_WRITES, "only {writes} writes: this proves too little");
    }

    async fn find_differences(&self, client: &ApiClient) -> Vec<String> {
        let mut differences = Vec::new();
        let mut shown: BTreeMap<String, Value> = BTreeMap::new();
        for subject in &self.subjects {
            let path = format!("{}?sort=old&limit=100", comments_path(subject));
            let page = client.page(&path).await;
            let counts = page["subject"].clone();
            let roots = client.walk_from(&path, page).await;
            let mut all = roots.len();
            differences.extend(find_floor_gap(subject, &roots));
            for root in roots {
                let path = format!("{}?sort=old&limit=100", replies_path(&root));
                let replies = if root["replies"] == 0 { vec![] } else { client.walk(&path).await };
                differences.extend(find_floor_gap(&path, &replies));
                if root["replies"] != replies.len() {
                    differences.push(format!("{} replies are listed below {root}", replies.len()));
                }
                all += replies.len();
                for comment in replies.into_iter().chain([root]) {
                    if let Some(doubled) = shown.insert(id(&comment).to_owned(), comment) {
                        differences.push(format!("listed twice: {doubled}"));
                    }
                }
            }
            if counts["comments"] != all {
                differences.push(format!("{all} comments are listed, and the counts are {counts}"));
            }
        }
        let posted = self.posted.lock().expect("no panic").clone();
        if posted.len() != shown.len() {
            differences.push(format!("{} were acknowledged, {} are listed", posted.len(), shown.len()));
        }
        for comment in posted {
            let likes = self.acknowledged_likes(&comment.id, Duration::ZERO);
            let listed = shown.get(&comment.id);
            if !listed.is_some_and(|c| c["content"] == comment.text.as_str() && c["likes"] == likes) {
                differences.push(format!("{comment:?} with {likes} likes is listed as {listed:?}"));
            }
        }
        differences
    }
}

/// Floors of a list by `sort=old` that do not count from 1 without a gap.
fn find_floor_gap(list: &str, comments: &[Value]) -> Option<String> {
    let floors: Vec<u64> = comments.iter().filter_map(|comment| comment["floor"].as_u64()).collect();
    let has_no_gap = floors.len() == comments.len() && floors.iter().zip(1..).all(|(floor, n)| *floor == n);
    (!has_no_gap).then(|| format!("floors of {list}: {floors:?}"))
}
